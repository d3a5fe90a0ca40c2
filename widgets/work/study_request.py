"""A question to the labs' process about whole schedules, asked again as controls move: the newest one counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from widgets.editors.mistakes import refusal
from widgets.parts.status_line import StatusLine
from widgets.work.process import process_work
from widgets.work.workplace import Message
from workbench.base.errors import WorkbenchError
from workbench.scenario.scenario import Scenario

PATIENCE_S = 3.0
"""An older question is stopped for a newer one when it has taken longer than this."""


class StudyRequest:
    """One study of `workbench.session.registry.Room`, for one or several scenarios at a time.

    found: told each answer by its number as it comes; done: told when all are there, returns what to say. said: shows
    that it is being worked on, what went wrong, and in the end what `done` returned.
    """

    def __init__(
        self, study: str, said: StatusLine, found: Callable[[int, Mapping[str, Any]], None], done: Callable[[], str]
    ) -> None:
        self._study, self._said, self._found, self._done = study, said, found, done
        self._number = 0
        self._since: float | None = None

    @property
    def busy(self) -> bool:
        """Whether answers are still to come."""
        return self._since is not None

    def ask(self, each: Sequence[tuple[Scenario, Mapping[str, Any]]]) -> None:
        """Ask about scenarios, with what was chosen for each."""
        self._number += 1
        if self._since is not None and time.monotonic() - self._since > PATIENCE_S:
            process_work().cancel(self)
        self._since = time.monotonic()
        self.say("working", "Working ...")
        asked = [{"scenario": scenario.to_dict(), "given": dict(given)} for scenario, given in each]
        request = {"kind": "study", "study": self._study, "asked": asked}
        process_work().submit(request, partial(self._hear, self._number), self)

    def refuse(self, text: str) -> None:
        """Say what is wrong instead of asking; answers to what was asked before are no longer wanted."""
        self._number += 1
        self._since = None
        self.say("invalid", text)

    def _hear(self, number: int, message: Message) -> None:
        if number != self._number:
            return
        kind = message["kind"]
        try:
            if kind == "progress":
                self._found(int(message["number"]), message["found"])
                return
            self._since = None
            said = self._done() if kind == "done" else ""
        except Exception as error:
            self.refuse(f"Solved, but not drawn: {error!r}")
            raise
        if kind == "done":
            self.say("done", said)
        elif kind == "cancelled":
            self.say("cancelled", "Stopped.")
        else:
            self.say("failed", refusal(WorkbenchError.from_json(message)))

    def say(self, state: str, text: str) -> None:
        """Show a state and its text."""
        with self._said.hold_sync():
            self._said.tone = "bad" if state in ("invalid", "failed") else ""
            self._said.state, self._said.text = state, text
