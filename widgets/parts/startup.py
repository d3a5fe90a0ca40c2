"""What is done as widgets are loaded: a shorter wait for the first chart, one thread for all that pages say, and errors
in words on a dashboard.

As an extension of IPython it imports what every lab needs, then starts the labs' process and has the page load Vega,
while its reader has not yet come to the first cell: so do the kernels of `make lab` (tools/jupyter/kernels). Elsewhere
the first lab does.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import html
import importlib
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from widgets.parts.files import on_dashboard
from workbench.base.errors import WorkbenchError

OF_EVERY_LAB = ("widgets.lab.lab", "widgets.lab.drawings", "widgets.lessons.guess")
PROCESS = "widgets.work.process"
PROGRAMS = "widgets.parts.assets"
END_S = 1.0
"""For so long at most a subshell may answer what waits, before it ends; no other message is heard meanwhile."""
STILL_S = 0.05
"""When nothing has waited or ended for so long, what is left waits for something else."""


@contextlib.contextmanager
def quick_imports() -> Iterator[None]:
    """Imports without the garbage collector, which would go a dozen times through all that they make: a fifth less.

    Nor does it go through what was imported ever after, which would hold up a picture for a tenth of a second.
    """
    before, known = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > known:
            gc.freeze()
        if before:
            gc.enable()


def load_ipython_extension(shell: Any) -> None:
    """What IPython calls."""
    with quick_imports():
        for module in OF_EVERY_LAB:
            importlib.import_module(module)
        from workbench.session.registry import rooms

        rooms()
    importlib.import_module(PROCESS).process_work()
    importlib.import_module(PROGRAMS).carrier()


def hear_in_one_thread() -> None:
    """From now on what pages say to widgets is heard on the kernel's own event loop, where cells run and answers come.

    JupyterLab (4.6) sends it to a subshell, a thread with a loop of its own, and ipykernel (7.4) hears it there once a
    widget has been told something because of such a message: two threads would then draw in the same lab.
    """
    with contextlib.suppress(ImportError):
        from IPython.core.getipython import get_ipython

        kernel = getattr(get_ipython(), "kernel", None)
        handlers = getattr(kernel, "shell_handlers", {})
        for kind in {"comm_open", "comm_msg", "comm_close"} & handlers.keys():
            handlers[kind] = partial(_hear, kernel, handlers[kind])


async def _hear(kernel: Any, handle: Callable[..., Any], stream: Any, ident: Any, message: dict[str, Any]) -> None:
    """Handle a message on the kernel's loop, as one that names no subshell: by that name answers to it are routed."""
    message["header"].pop("subshell_id", None)

    async def heard() -> None:
        found = handle(stream, ident, message)
        if inspect.isawaitable(found):  # `widgets` was loaded anew
            await found

    loop, here = kernel.io_loop.asyncio_loop, asyncio.get_running_loop()
    if here is loop:
        await heard()
        return
    waiting = _waiting(threading.current_thread(), here)
    done: asyncio.Future[None] = here.create_future()

    def tell(found: concurrent.futures.Future[None]) -> None:
        if not done.done():
            # Not cancelled itself: ipykernel (7.4) would leave the message without an answer, and the page waiting.
            error = RuntimeError("cancelled") if found.cancelled() else found.exception()
            done.set_result(None) if error is None else done.set_exception(error)

    def then(found: concurrent.futures.Future[None]) -> None:
        with contextlib.suppress(RuntimeError):  # the subshell has gone, and its loop is closed
            here.call_soon_threadsafe(tell, found)

    waiting.add(done)
    asyncio.run_coroutine_threadsafe(heard(), loop).add_done_callback(then)
    try:
        await done
    finally:
        waiting.discard(done)


def _waiting(thread: Any, here: asyncio.AbstractEventLoop) -> set[asyncio.Future[None]]:
    """What the messages of a subshell wait for: when it is to end, nothing longer.

    A task that waits as its thread ends (ipykernel 7.4: a notebook was closed) is ended by the collector of garbage in
    another thread, which then answers in the name of that task's message: a page waits for ever for its cell.
    """
    if not hasattr(thread, "wb_waiting"):
        thread.wb_waiting, stop = set(), thread.stop

        def unanswered() -> list[asyncio.Future[None]]:
            return [each for each in thread.wb_waiting if not each.done()]

        async def end() -> None:
            until_s = time.monotonic() + END_S
            try:
                while (others := asyncio.all_tasks() - {asyncio.current_task()}) and time.monotonic() < until_s:
                    for each in unanswered():
                        each.set_result(None)
                    ended, _ = await asyncio.wait(others, timeout=STILL_S, return_when=asyncio.FIRST_COMPLETED)
                    if not ended and not unanswered():
                        break
            finally:
                stop()  # or the thread that waits for this one hears no message any more

        thread.stop = lambda: asyncio.run_coroutine_threadsafe(end(), here)
    found: set[asyncio.Future[None]] = thread.wb_waiting
    return found


def show_errors_in_words() -> None:
    """From now on a cell that ends in a `WorkbenchError` shows what it says; elsewhere than on a dashboard nothing."""
    if not on_dashboard():
        return
    with contextlib.suppress(ImportError):
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
        if shell is not None:
            shell.set_custom_exc((WorkbenchError,), _show)


def _show(shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: Any = None) -> None:
    from IPython.display import HTML, display

    said = html.escape(str(error)).replace("\n", "<br>")
    display(HTML(f"<p class='wb-error' role='alert' style='color:#c62828'>{said}</p>"))
