"""One question at a time to the labs' process, for a page that waits for its answer and may cancel it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from widgets.work.process import process_work
from widgets.work.workplace import Message
from workbench.base.errors import WorkbenchError


class PageRequest:
    """A newer question takes the place of the one before, whose answer is no longer told.

    hear: told the answer, why there is none, or None when it was cancelled.
    """

    def __init__(self, hear: Callable[[Message | WorkbenchError | None], None]) -> None:
        self._hear_answer = hear
        self._number = 0
        self.busy = False

    def ask(self, request: Message) -> None:
        """Ask the labs' process; what it does for an older question of this page is stopped."""
        self.drop()
        self.busy = True
        process_work().submit(request, partial(self._hear, self._number), self)

    def cancel(self) -> None:
        """Stop, and tell that it was cancelled, if an answer is still to come."""
        if self.busy:
            self.drop()
            self._hear_answer(None)

    def drop(self) -> None:
        """Stop without a word: nobody wants the answer any more."""
        self._number += 1
        if self.busy:
            self.busy = False
            process_work().cancel(self)

    def _hear(self, number: int, message: Message) -> None:
        if number != self._number or message["kind"] == "progress":
            return
        self.busy = False
        if message["kind"] == "cancelled":
            self._hear_answer(None)
        else:
            self._hear_answer(message if message["kind"] == "done" else WorkbenchError.from_json(message))
