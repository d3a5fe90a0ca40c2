"""What to buy next: what one more in the row of each type is worth, worked out when somebody asks."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from typing import Any

import ipywidgets as w
import pandas as pd

from widgets.parts.button import button
from widgets.parts.html_table import html_table
from widgets.parts.status_line import StatusLine
from widgets.work.page_request import PageRequest
from widgets.work.workplace import Message
from workbench.analysis.what_if.marginal import MarginalValues
from workbench.base.errors import WorkbenchError
from workbench.scenario.scenario import Scenario
from workbench.session.registry import formulations

ABOUT = (
    "<b>A question to this formulation, not to today's scheduler.</b> For all jobs of the trace at its last arrival, "
    "with all their steps to do, as if nothing had been scheduled yet. "
    "<b>Dual</b>: slope of the best value in the number of GPUs; <b>one more</b>: what solving again with one more in "
    "the row brings. Above 0 is better. An equal share, by which jobs may be measured, stays that of today's cluster."
)


class BuyingPage:
    """The page with its button. scenario: what is opened now, raises WorkbenchError while there is none."""

    def __init__(self, scenario: Callable[[], Scenario]) -> None:
        self._scenario = scenario
        self.values: MarginalValues | None = None
        self._request = PageRequest(self._hear)
        options = [(found.title, found.name) for found in formulations() if found.values_gpus]
        self.formulation = w.Dropdown(options=options, description="For", style={"description_width": "2.5em"})
        self.formulation.add_class("wb-buy-for")
        hint = "Solve, and once more for each type with one GPU more"
        self.go = button("Work out", "buy", self.work_out, hint, icon="calculator", button_style="primary", layout={})
        stop, hint = self._request.cancel, "Stop working it out"
        self.stop = button("Cancel", "buy-cancel", stop, hint, icon="stop", disabled=True, layout={})
        self.said = StatusLine()
        self.said.add_class("wb-buy-said")
        self._table = w.HTML()
        row = w.HBox([self.formulation, self.go, self.stop])
        row.add_class("wb-tools")
        self.forget()
        self.box = w.VBox([row, self.said, w.HTML(f"<p class='wb-note'>{ABOUT}</p>"), self._table])

    def opened(self) -> None:
        """The page is looked at: work out what it is about, unless somebody has asked already."""
        if not self._asked:
            self.work_out()

    def work_out(self) -> None:
        """Ask for the values; the table follows."""
        try:
            scenario = self._scenario()
        except WorkbenchError as error:
            self._say("bad", str(error))
            return
        self._asked = True
        self._say("", "Solving ...")
        self.go.disabled, self.stop.disabled = True, False
        chosen = self.formulation.value  # None: the rooms of all cannot be used, and the answer says why
        self._request.ask({"kind": "marginal", "formulation": chosen, "scenario": scenario.to_dict()})

    def forget(self) -> None:
        """Another scenario: what was worked out is old."""
        self._request.drop()
        self._asked = False
        self.values, self._table.value, self.go.disabled, self.stop.disabled = None, "", False, True
        self._say("note", "Work out says what one more in the row of each type is worth.")

    def _hear(self, answer: Message | WorkbenchError | None) -> None:
        self.go.disabled, self.stop.disabled = False, True
        if answer is None:
            kept = "the values below are those of before" if self.values is not None else "nothing was worked out yet"
            self._say("", f"Cancelled: {kept}.")
            return
        if isinstance(answer, WorkbenchError):
            self._say("bad", str(answer.problem))
            return
        self.values = MarginalValues.from_json(answer["values"])
        self._say("", self.values.words)
        self._table.value = html_table(_shown(self.values), scrolls=False) + _notes(self.values)

    def _say(self, tone: str, text: str) -> None:
        with self.said.hold_sync():
            self.said.tone, self.said.text = tone, text


def _shown(found: MarginalValues) -> pd.DataFrame:
    """The values under heads with units."""
    unit = f" ({found.unit})" if found.unit != "1" else ""
    rows: list[dict[str, Any]] = [
        {
            "Type": value.accelerator,
            "GPUs": value.gpus,
            "USD/h": value.price_per_hour,
            f"Dual{unit}": value.dual,
            f"One more in the row{unit}": value.one_more,
            "Of it per USD/h": value.one_more_per_usd,
        }
        for value in found.values
    ]
    frame = pd.DataFrame(rows).map(lambda value: float(f"{value:.3g}") if isinstance(value, float) else value)
    return frame.drop(columns=[name for name in frame if _is_empty(frame[name])])


def _notes(found: MarginalValues) -> str:
    """Where a dual and one GPU more differ, the reason: below the table, which is too narrow for sentences."""
    notes = (f"{value.accelerator}: {value.note}" for value in found.values if value.note)
    return "".join(f"<p class='wb-note'>{html.escape(note)}.</p>" for note in notes)


def _is_empty(column: pd.Series[Any]) -> bool:
    return all(isinstance(value, float) and math.isnan(value) for value in column)
