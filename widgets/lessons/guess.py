"""A guess before a run: the question stands alone, and what answers it runs once somebody has guessed."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ipywidgets as w
import traitlets
from IPython.display import HTML, display

from widgets.lessons.prose import ASKS, box, prose
from widgets.parts.assets import Scripted, program, style
from widgets.parts.picture import Picture
from workbench.base.errors import InputError, WorkbenchError
from workbench.base.rounding import short_number

WITHIN = 0.1
"""How far, of its size, a guessed number may be from the answer if the question does not say."""


class GuessBox(Scripted):
    """The choices, the number or the order that is guessed, and what the run says to it. All text is text."""

    _esm = program(Path(__file__).parent / "guess.js")
    _css = style()

    kind = traitlets.Enum(["choice", "number", "order"]).tag(sync=True)
    label = traitlets.Unicode("", help="The question, for a screen reader.").tag(sync=True)
    options = traitlets.List(traitlets.Unicode(), help="The choices, or what is put in order.").tag(sync=True)
    unit = traitlets.Unicode("").tag(sync=True)
    state = traitlets.Enum(["open", "running", "right", "wrong", "failed"], "open").tag(sync=True)
    said = traitlets.List(traitlets.Unicode(), help="The reply, a paragraph each.").tag(sync=True)


def as_widget(shown: Any) -> w.Widget | None:
    """What shows this in the colours of the page: its own widget, or for a drawing one; None for anything else."""
    if (live := getattr(shown, "widget", None)) is not None or shown is None:
        return live
    from workbench.analysis.charts import Drawing

    if not isinstance(shown, Drawing):
        return None
    picture = Picture(shown.label)
    picture.show(shown)
    return picture


class Guess:
    """A question that is guessed first and then answered by a run.

    question: text with `code`, **strong** and $formulas$. answer: returns what is right, and is called once, when
    somebody has guessed: one of `choices`; or `order` as it ought to be; without either a number in `unit`, of which a
    guess may be off by `within` (default: a tenth). because: why, in words, or a function of the answer that says it.
    show: returns what is to be seen then, a picture or a table. Nothing of these is made before.
    The guess is `given`, the answer `found`, each None until then. Raises InputError for choices or an order of fewer
    than two.
    """

    def __init__(
        self,
        question: str,
        answer: Callable[[], Any],
        *,
        choices: Sequence[str] = (),
        order: Sequence[str] = (),
        unit: str = "",
        within: float | None = None,
        because: str | Callable[[Any], str] = "",
        show: Callable[[], Any] | None = None,
    ) -> None:
        if not callable(answer):
            raise InputError("Guess, answer", answer, "a function that returns what is right")
        options = [str(each) for each in choices or order]
        if len(options) == 1 or (choices and order) or len(set(options)) < len(options):
            raise InputError("Guess", options, "at least two different choices, or two in order, or none for a number")
        self.question, self.answer, self.within, self.because, self.show = question, answer, within, because, show
        self.given: Any = None
        self.found: Any = None
        kind = "choice" if choices else "order" if order else "number"
        self.box = GuessBox(
            kind=kind, options=options, unit=unit, label=re.sub(r"[*`$]", "", " ".join(question.split()))
        )
        self.picture = w.Output()
        self.widget = w.VBox([self.box, self.picture])
        self.box.on_msg(lambda _, content, buffers: self.guess(content["guess"]))

    def guess(self, value: Any) -> bool | None:
        """Guess, and have the answer; returns whether it was right, None if there is no answer. The first one counts.

        Raises InputError for what cannot be an answer.
        """
        if self.given is not None:
            return self.box.state == "right"
        self.given = self._read(value)
        self.box.state = "running"
        try:
            self.found = self._read(self.answer())
            said = [self._outcome_html(), self.because(self.found) if callable(self.because) else self.because]
            right = self._is_right()
            shown = None if self.show is None else self.show()
        except WorkbenchError as error:
            self._say("failed", [f"The run gave no answer. {error}"])
            return None
        except Exception as error:
            self._say("failed", [f"The run gave no answer: {type(error).__name__}: {error}"])
            return None
        self._say("right" if right else "wrong", said)
        if live := as_widget(shown):
            self.widget.children = [*self.widget.children, live]
        elif shown is not None:
            with self.picture:
                display(shown)
        return right

    def _say(self, state: str, said: Sequence[str]) -> None:
        with self.box.hold_sync():
            self.box.said = [" ".join(text.split()) for text in said if text]
            self.box.state = state

    def _read(self, value: Any) -> Any:
        """A guess or an answer, as what it must be."""
        options = list(self.box.options)
        if self.box.kind == "choice" and value in options:
            return value
        if self.box.kind == "order" and isinstance(value, list | tuple) and sorted(map(str, value)) == sorted(options):
            return [str(each) for each in value]
        if self.box.kind == "number":
            with contextlib.suppress(TypeError, ValueError):
                if math.isfinite(number := float(value)):
                    return number
            raise InputError("Guess", value, "a number, as 0.5")
        raise InputError("Guess", value, f"{'one of' if self.box.kind == 'choice' else 'all of'} {', '.join(options)}")

    def _is_right(self) -> bool:
        if self.box.kind != "number":
            return bool(self.given == self.found)
        within = WITHIN * abs(self.found) if self.within is None else self.within
        return bool(abs(self.given - self.found) <= within)

    def _outcome_html(self) -> str:
        def word(value: Any) -> str:
            if self.box.kind == "number":
                return f"{short_number(value, 4)} {self.box.unit}".strip()
            return "; ".join(value) if self.box.kind == "order" else str(value)

        return f"You said: {word(self.given)}. The run says: {word(self.found)}."

    def _ipython_display_(self) -> None:
        display(HTML(box(ASKS, "<strong>Guess</strong>", prose(self.question))))
        live = self.widget._repr_mimebundle_() or {}
        display({**live, "text/plain": self.box.label}, raw=True)
