"""What is done as widgets are loaded: a shorter wait for the first chart, and errors in words on a dashboard.

As an extension of IPython it imports what every lab needs, then starts the labs' process and has the page load Vega,
while its reader has not yet come to the first cell: so do the kernels of `make lab` (tools/jupyter/kernels). Elsewhere
the first lab does.
"""

from __future__ import annotations

import contextlib
import gc
import html
import importlib
import sys
from collections.abc import Iterator
from typing import Any

from widgets.parts.files import on_dashboard
from workbench.base.errors import WorkbenchError

OF_EVERY_LAB = ("widgets.lab.lab", "widgets.lab.drawings", "widgets.lessons.guess")
PROCESS = "widgets.work.process"
PROGRAMS = "widgets.parts.assets"


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
