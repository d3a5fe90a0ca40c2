"""Work of a second or so that the panel should not wait for: done in a thread, its answer handed to the event loop.

Beside `widgets.work.question`, which asks the worker: what is measured here are runs that this process holds already,
and sending them to another one takes longer than measuring them.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import TypeVar

from widgets.work.work import deliver_on_loop
from workbench.base.errors import Words, WorkbenchError

Answer = TypeVar("Answer")


def aside(work: Callable[[], Answer], hear: Callable[[Answer | WorkbenchError], None]) -> None:
    """Do the work; `hear` is told its answer or the stated failure. A failure of ours is told as one, and printed."""
    deliver = deliver_on_loop()

    def do() -> None:
        try:
            answer: Answer | WorkbenchError = work()
        except WorkbenchError as error:
            answer = error
        except Exception as error:
            traceback.print_exc()
            answer = WorkbenchError("what-if lab", Words(repr(error)), "no such failure (please report it)")
        deliver(lambda: hear(answer))

    threading.Thread(target=do, daemon=True).start()
