"""Where a lab's work is done: in one warm process, which all labs of a kernel share.

This module imports little, so that the process can start, and import what it needs, before the lab imports what that
needs.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Hashable, Sequence
from functools import partial
from typing import IO, Any

from widgets.work.workplace import Deliver, Hear, Message, Queued, Workplace
from workbench.base.processes import how_ended

COMMAND = (sys.executable, "-m", "workbench.cli.lab_process")
END_S = 5.0


class ProcessWork:
    """One warm process for all labs of a kernel; Cancel ends it and warms up a new one."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        """Start `command` (tests pass another one); raises OSError on a host that allows no process."""
        self._command = command
        self._deliver = Deliver()
        self._number = 0
        self._busy: Queued | None = None
        self._waiting: dict[tuple[Hashable, str], Queued] = {}
        self._process: subprocess.Popen[str] | None = None
        self._start()
        atexit.register(self.close)

    def submit(self, request: Message, hear: Hear, asker: Hashable = None) -> None:
        """Do a request, now or when it is its turn."""
        if self._deliver.closed:  # nobody there hears what becomes of its requests
            self._waiting.clear()
            if self._busy is not None:
                self._busy = None
                self._end()
                self._start()
        self._deliver = Deliver()
        self._waiting[asker, request["kind"]] = Queued(request, hear, asker)
        self._next()

    def cancel(self, asker: Hashable = None) -> None:
        """Forget an asker's requests; if one of them is being done, end the process and warm up a new one."""
        dropped = [self._waiting.pop(key) for key in list(self._waiting) if key[0] == asker]
        if self._busy is not None and self._busy.asker == asker:
            dropped.insert(0, self._busy)
            self._busy = None
            self._end()
            self._start()
        for order in dropped:
            order.hear({"kind": "cancelled"})
        self._next()

    def close(self) -> None:
        """End the process."""
        atexit.unregister(self.close)
        self._busy = None
        self._waiting.clear()
        self._end()

    def _start(self) -> None:
        log = tempfile.TemporaryFile()  # noqa: SIM115  without a name: nothing is left behind, whoever is killed
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
                start_new_session=True,  # Interrupt Kernel is not meant for it, and its solvers end with it
            )
        except OSError:
            log.close()
            raise
        self._log = log
        threading.Thread(target=self._pump, args=(self._process,), daemon=True).start()

    def _end(self) -> None:
        """End the process at once, with the solvers that it started: it has nothing to tidy up."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close() if pipe is not None else None
        self._log.close()

    def _pump(self, process: subprocess.Popen[str]) -> None:
        """Hand on each message of the process, and then that it has ended."""
        assert process.stdout is not None
        with contextlib.suppress(ValueError):  # closed while reading
            for line in process.stdout:
                message = _read(line)
                if message is not None:
                    self._deliver(partial(self._hear, message))
        self._deliver(partial(self._ended, process))

    def _hear(self, message: Message) -> None:
        busy = self._busy
        if busy is None or message.get("id") != self._number:
            return
        if message["kind"] != "progress":
            self._busy = None
        try:
            busy.hear(message)
        finally:
            self._next()

    def _ended(self, process: subprocess.Popen[str]) -> None:
        """The process went by itself: tell whoever waits for it, and start a new one."""
        if process is not self._process or self._busy is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
        order, self._busy = self._busy, None
        said = f"{how_ended(process.returncode)}{_last_words(self._log)}"
        self._end()
        self._start()
        text = {"where": "the process that computes", "value": said, "expected": "an answer"}
        order.hear({"kind": "error", "status": "crashed", "error": text})
        self._next()

    def _next(self) -> None:
        """Begin what waits, if nothing is being done."""
        if self._busy is not None or not self._waiting:
            return
        key = min(self._waiting, key=lambda key: key[1] != "simulate")  # the first of equals
        order = self._busy = self._waiting.pop(key)
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._start()
        self._number += 1
        process = self._process
        assert process is not None and process.stdin is not None
        try:
            process.stdin.write(json.dumps({"id": self._number, **order.request}) + "\n")
            process.stdin.flush()
        except OSError:
            self._ended(process)


def _read(line: str) -> Message | None:
    """A message of the labs' process, with its run loaded; None for a line that is none."""
    try:
        message: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    if "run" not in message:
        return message
    from workbench.simulation.run import Run

    return {**message, "run": Run.from_message(message["run"])}


def _last_words(log: IO[bytes]) -> str:
    """The last line that a process which has ended wrote on standard error, if any."""
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").split("\n")
    return next((f" ({line.strip()})" for line in reversed(lines) if line.strip()), "")


_process_work: Workplace | None = None


def process_work() -> Workplace:
    """This kernel's warm process, started when first asked for; the kernel itself on a host that allows none."""
    global _process_work
    if _process_work is None:
        try:
            _process_work = ProcessWork()
        except OSError:
            from widgets.work.kernel import KernelWork

            _process_work = KernelWork()
    return _process_work
