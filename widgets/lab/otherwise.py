"""When a job would have run with one more node, or alone: asked of a worker, with Cancel."""

from __future__ import annotations

import html
from collections.abc import Callable

import ipywidgets as w

from widgets.editors.mistakes import told
from widgets.editors.setting import jsonable
from widgets.parts.status_line import StatusLine
from widgets.work.work import Message, Workplace
from workbench.analysis.explanation.more import Otherwise
from workbench.base.errors import InputError
from workbench.simulation.run import Run

ALONE = "without the other jobs"


class OtherwiseRow:
    """A choice, a button, and the answer below.

    work: who works for a scheduler of that name; question: for one more node of a type, or for the job alone (None).
    """

    def __init__(self, work: Callable[[str], Workplace], question: Callable[[str | None], Otherwise]) -> None:
        self._work, self._question = work, question
        self._asked: Otherwise | None = None
        self._number = 0
        self._with = w.Dropdown(
            options=[(ALONE, None)],
            description="And",
            layout=w.Layout(width="19em"),
            style={"description_width": "2em"},
        )
        self._with.tooltip = "The node comes up at the time above, with as many GPUs as the job asks for"
        self._ask = w.Button(description="When would it run?", icon="play", layout=w.Layout(width="auto"))
        self._ask.tooltip = "Simulate again and see; it takes as long as the run did"
        self._cancel = w.Button(description="Cancel", icon="stop", disabled=True, layout=w.Layout(width="6.5em"))
        for widget, name in ((self._with, "with"), (self._ask, "ask"), (self._cancel, "stop")):
            widget.add_class(f"wb-explain-{name}")
        self._said, self._answer = StatusLine(), w.HTML()
        self._answer.add_class("wb-verdict")
        self._answer.add_class("wb-explain-otherwise")
        self._ask.on_click(lambda _: self.ask())
        self._cancel.on_click(lambda _: self.cancel())
        row = w.HBox([self._with, self._ask, self._cancel, self._said])
        row.add_class("wb-tools")
        self.box = w.VBox([row, self._answer])

    def show_run(self, run: Run) -> None:
        """Offer the types of another run; what was asked of the run before is no longer wanted."""
        self.forget()
        kinds = run.scenario.cluster.types
        before = self._with.value
        self._with.options = [*((f"with one more node of {kind}", kind) for kind in kinds), (ALONE, None)]
        self._with.value = before if before in kinds else kinds[0]

    def forget(self) -> None:
        """Another job, time or run is looked at: stop, and show no answer."""
        self._number += 1
        self.cancel()
        self._asked = None
        self._ask.disabled, self._cancel.disabled = False, True
        self._answer.value = ""
        self._say("", "")

    def ask(self) -> None:
        """Simulate what was chosen."""
        try:
            asked = self._question(self._with.value)
        except (InputError, ValueError) as error:
            expected = error.expected if isinstance(error, InputError) else f"a time of the run: {error}"
            self._say("bad", f"Expected {expected}")
            return
        self._number += 1
        self._asked, self._answer.value = asked, ""
        self._ask.disabled, self._cancel.disabled = True, False
        self._say("", "Simulating again ...")
        run, number = asked.run, self._number
        request = {
            "kind": "simulate",
            "scenario": asked.scenario.to_dict(),
            "scheduler": run.scheduler,
            "knobs": jsonable(run.knobs),
            "seed": run.seed,
            "until_s": asked.until_s,
            "belief": run.belief,
        }
        self._work(run.scheduler).submit(request, lambda message: self._hear(number, message), self)

    def cancel(self) -> None:
        """Stop what is being simulated."""
        if self._asked is not None:
            self._work(self._asked.run.scheduler).cancel(self)

    def _hear(self, number: int, message: Message) -> None:
        asked = self._asked
        if number != self._number or asked is None:
            return
        if message["kind"] == "progress":
            self._say("", f"Simulating again ... {message['finished']} of {message['jobs']} jobs finished")
            return
        self._asked = None
        self._ask.disabled, self._cancel.disabled = False, True
        if message["kind"] == "done":
            text = asked.answered(message["run"], float(message["wall_s"])).text()
            self._answer.value = f"<p><b>{html.escape(text)}</b></p>"
            self._say("", "")
        elif message["kind"] == "cancelled":
            self._say("", "Cancelled.")
        else:
            self._say("bad", told(message["error"]))

    def _say(self, tone: str, text: str) -> None:
        with self._said.hold_sync():
            self._said.tone, self._said.text = tone, text
