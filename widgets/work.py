"""Where a lab's work is done: in one warm process, or in a thread for a scheduler written in the notebook.

Answers reach the notebook on the kernel's own event loop, so that a busy page is never entered from another thread.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from workbench.errors import WorkbenchError
from workbench.papers.paper import find_scheduler
from workbench.run import Run
from workbench.scenario import Scenario
from workbench.simulation.loop import simulate
from workbench.simulation.observers import Report
from workbench.simulation.stop import AllFinished, CancelFlag
from workbench.worker import progress_json

Message = Mapping[str, Any]
Hear = Callable[[Message], None]
GRACE_S = 2.0


class Work(Protocol):
    """Does one request at a time; a second one replaces the one that waits."""

    def submit(self, request: Message, hear: Hear) -> None:
        """Do a request; `hear` gets its messages: progress, then done, error or cancelled."""
        ...

    def cancel(self) -> None:
        """Stop what is being done and forget what waits."""
        ...


def _deliver_on_loop() -> Callable[[Callable[[], None]], None]:
    """How to call something on the kernel's event loop; without a running loop it is called at once."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return lambda call: call()

    def deliver(call: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(call)

    return deliver


class ProcessWork:
    """One warm worker process; Cancel ends it and warms up a new one."""

    def __init__(self) -> None:
        self._deliver = _deliver_on_loop()
        self._scratch = tempfile.mkdtemp(prefix="workbench-")
        self._number = 0
        self._busy: tuple[int, Hear] | None = None
        self._waiting: tuple[Message, Hear] | None = None
        self._process: subprocess.Popen[str] | None = None
        atexit.register(self.close)
        self._start()

    def submit(self, request: Message, hear: Hear) -> None:
        """Do a request, now or when the present one is done."""
        if self._busy is not None:
            self._waiting = (request, hear)
            return
        if self._process is None or self._process.poll() is not None:
            self._start()
        self._number += 1
        self._busy = (self._number, hear)
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"id": self._number, **request}) + "\n")
            self._process.stdin.flush()
        except OSError:
            self._ended(self._process)

    def cancel(self) -> None:
        """End the process, and with it the request; a new process warms up."""
        busy, self._busy, self._waiting = self._busy, None, None
        if busy is None:
            return
        self._end()
        self._start()
        busy[1]({"kind": "cancelled"})

    def close(self) -> None:
        """End the process and remove its files."""
        atexit.unregister(self.close)
        self._busy = self._waiting = None
        self._end()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _start(self) -> None:
        command = [sys.executable, "-m", "workbench.worker", tempfile.mkdtemp(dir=self._scratch)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        threading.Thread(target=self._pump, args=(self._process,), daemon=True).start()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close() if pipe is not None else None

    def _pump(self, process: subprocess.Popen[str]) -> None:
        """Hand on each line of the process, and then that it has ended."""
        assert process.stdout is not None
        with contextlib.suppress(ValueError):  # closed while reading
            for line in process.stdout:
                message = json.loads(line)
                self._deliver(partial(self._hear, message))
        self._deliver(lambda: self._ended(process))

    def _hear(self, message: Message) -> None:
        if self._busy is None or message.get("id") != self._busy[0]:
            return
        hear = self._busy[1]
        if message["kind"] != "progress":
            self._busy = None
        hear(message)
        self._next()

    def _ended(self, process: subprocess.Popen[str]) -> None:
        """The process went by itself: tell whoever waits for it, and start a new one."""
        if process is not self._process or self._busy is None:
            return
        hear, code, self._busy = self._busy[1], process.poll(), None
        self._end()
        self._start()
        text = {"where": "worker process", "value": f"ended with code {code}", "expected": "an answer"}
        hear({"kind": "error", "status": "crashed", "error": text})
        self._next()

    def _next(self) -> None:
        if self._busy is None and self._waiting is not None:
            (request, hear), self._waiting = self._waiting, None
            self.submit(request, hear)


class ThreadWork:
    """Simulates in a thread, for schedulers that exist in this kernel only. Cancel takes effect between rounds."""

    def __init__(self) -> None:
        self._deliver = _deliver_on_loop()
        self._flag: CancelFlag | None = None
        self._waiting: tuple[Message, Hear] | None = None

    def submit(self, request: Message, hear: Hear) -> None:
        """Do a request, now or when the present one is done."""
        if self._flag is not None:
            self._waiting = (request, hear)
            return
        self._flag = CancelFlag(AllFinished())
        threading.Thread(target=self._work, args=(request, hear, self._flag), daemon=True).start()

    def cancel(self) -> None:
        """Ask the thread to end."""
        self._waiting = None
        if self._flag is not None:
            self._flag.cancel()

    def _work(self, request: Message, hear: Hear, flag: CancelFlag) -> None:
        began = time.perf_counter()

        def tell(message: Message) -> None:
            self._deliver(lambda: hear(message))

        try:
            run = simulate(
                Scenario.from_dict(request["scenario"], "lab"),
                find_scheduler(request["scheduler"]),
                request.get("knobs", {}),
                stop=flag,
                observers=[Report(lambda progress: tell({"kind": "progress", **progress_json(progress)}))],
            )
            answer: Message = {"kind": "done", "run": run, "wall_s": time.perf_counter() - began}
        except WorkbenchError as error:
            answer = {"kind": "cancelled"} if error.status == "cancelled" else {"kind": "error", **error.as_json()}
        except Exception as error:  # a mistake in the user's own function: shown, not raised in a thread
            text = {"where": f"scheduler {request['scheduler']}", "value": repr(error), "expected": "a decision"}
            answer = {"kind": "error", "status": "internal", "error": text}
        self._deliver(lambda: self._finish(answer, hear))

    def _finish(self, answer: Message, hear: Hear) -> None:
        self._flag = None
        hear(answer)
        if self._waiting is not None:
            (request, again), self._waiting = self._waiting, None
            self.submit(request, again)


def take_run(message: Message) -> Run:
    """The run that a `done` message brings; its folder is removed."""
    found = message["run"]
    if isinstance(found, Run):
        return found
    run = Run.load(found)
    shutil.rmtree(found, ignore_errors=True)
    return run


_process_work: ProcessWork | None = None


def process_work() -> ProcessWork:
    """This kernel's warm process, started when first asked for."""
    global _process_work
    if _process_work is None:
        _process_work = ProcessWork()
    return _process_work
