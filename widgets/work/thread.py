"""Work in a thread of the kernel: of what was written in the notebook and exists nowhere else, or what is soon done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import TypeVar

from widgets.work.workplace import Deliver, Hear, Message, Queued
from workbench.base.error_origin import fault
from workbench.base.errors import WorkbenchError, mistake
from workbench.cli.lab_process import described, simulated, stop_of
from workbench.simulation.stop import CancelFlag


class ThreadWork:
    """Simulates in a thread, or describes, what exists in this kernel only. Cancel takes effect between rounds."""

    def __init__(self) -> None:
        self._deliver = Deliver()
        self._flag: CancelFlag | None = None
        self._waiting: Queued | None = None

    def submit(self, request: Message, hear: Hear, asker: Hashable = None) -> None:
        """Do a request; what is being done ends before its next round."""
        self._deliver = Deliver()
        if self._flag is not None:
            self._flag.cancel()
            self._waiting = Queued(request, hear, asker)
            return
        self._flag = CancelFlag(stop_of(request))
        try:
            threading.Thread(target=self._work, args=(request, hear, self._flag), daemon=True).start()
        except RuntimeError:  # a host that allows no threads
            self._work(request, hear, self._flag)

    def cancel(self, asker: Hashable = None) -> None:
        """Ask the thread to end."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.hear({"kind": "cancelled"})
        if self._flag is not None:
            self._flag.cancel()

    def _work(self, request: Message, hear: Hear, flag: CancelFlag) -> None:
        began = time.perf_counter()

        def tell(message: Message) -> None:
            self._deliver(lambda: hear(message))

        try:
            done = described(request) if request["kind"] == "describe" else simulated(request, flag, tell)._asdict()
            answer: Message = {"kind": "done", **done, "wall_s": time.perf_counter() - began}
        except WorkbenchError as error:
            answer = {"kind": "cancelled"} if error.status == "cancelled" else {"kind": "error", **error.as_json()}
        except (Exception, SystemExit) as error:  # a mistake in the user's own function: shown, not raised in a thread
            asked = "formulation" if request["kind"] == "describe" else "scheduler"
            text = {
                "where": f"{asked} {request[asked]}",
                "value": mistake(error),
                "expected": "no mistake in its code",
            }
            answer = {"kind": "error", "status": "internal", "error": text}
        self._deliver(lambda: self._finish(answer, hear))

    def _finish(self, answer: Message, hear: Hear) -> None:
        self._flag = None
        waiting, self._waiting = self._waiting, None
        try:
            hear(answer)
        finally:
            if waiting is not None:
                self.submit(*waiting)


Answer = TypeVar("Answer")


def aside(work: Callable[[], Answer], hear: Callable[[Answer | WorkbenchError], None]) -> None:
    """Do the work; `hear` is told its answer or the stated failure. A failure of ours is told as one, and printed."""
    deliver = Deliver()

    def do() -> None:
        try:
            answer: Answer | WorkbenchError = work()
        except WorkbenchError as error:
            answer = error
        except Exception as error:
            answer = fault(error, "lab")
        deliver(lambda: hear(answer))

    try:
        threading.Thread(target=do).start()  # the process ends after it: a solver that is cut off aborts
    except RuntimeError:  # a host that allows no threads
        do()
