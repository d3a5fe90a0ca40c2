"""Hare's lower bounds against Algorithm 1 on the lab's own jobs, and the measured ratio beside the paper's claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets as w

from widgets.editors.mistakes import what_is_wrong
from widgets.lab.results import drawings
from widgets.lab.side_page import Host, two_columns
from widgets.pages.hare.schedules import ROUNDS, SLIDER, left_out_list
from widgets.parts.chart_page import ChartPage
from widgets.parts.status_line import StatusLine
from widgets.work.study_request import StudyRequest
from workbench.base.errors import WorkbenchError
from workbench.base.rounding import short_number
from workbench.papers.hare.algorithms.studies import BOUNDS, OURS


class BoundsPage:
    """How far Algorithm 1 can be from the best there is, for the jobs of the lab, all known ahead."""

    title = "Bounds"

    def __init__(self, host: Host) -> None:
        self._host = host
        self._said = StatusLine()
        self._asked = StudyRequest("hare.against_bounds", self._said, lambda _, found: self._show(found), self._summary)
        self._shown: tuple[Any, ...] | None = None
        self._parts: list[Mapping[str, Any]] = []
        self.rounds = w.SelectionSlider(
            options=ROUNDS, value=30, description="Most rounds a job", style=SLIDER, layout={"width": "97%"}
        )
        self.rounds.observe(lambda _: self.opened(), "value")
        self.rounds.add_class("wb-bound-rounds")
        self._missing = w.HTML()
        self.page = ChartPage("bounds", "bounds")
        text = w.HTML(
            "<p class='wb-note'>No schedule of these jobs is below any of the lower bounds. What lies between the best "
            "bound (the dashed line) and the lowest schedule is not known: the bound may be weak, or the schedule. The "
            "objective is the sum of weight x completion time, with all jobs known ahead and free switches. The page "
            "Model solves the problem itself.</p>"
        )
        self.box = two_columns([self.rounds, text, self._missing], [self.page.box], self._said)

    def opened(self) -> None:
        """Solve for the lab's jobs, if they are others than those that are shown."""
        try:
            scenario = self._host.scenario
        except WorkbenchError as error:
            self._shown = None
            self._asked.refuse(f"In the drawer Set-up: {what_is_wrong(error)}")
            return
        wanted = (scenario.key(), self.rounds.value)
        if wanted != self._shown:
            self._shown = wanted
            self._parts = []
            given = {"most_rounds": self.rounds.value}
            self._asked.ask([(scenario, {**given, "which": which}) for which in (None, *BOUNDS)])

    def _show(self, found: Mapping[str, Any]) -> None:
        self._parts.append(found)
        charts = drawings().charts
        title = f"{len(found['jobs'])} jobs, {found['tasks']:,} tasks, {len(found['gpus'])} GPUs"
        drawing = charts.bound(
            self._all("bounds"), self._all("schedules"), x_title="Sum of weight x completion time (s)", title=title
        )
        self.page.show(drawing, None)
        self._missing.value = left_out_list(self._all("cannot"))

    def _all(self, field: str) -> dict[str, Any]:
        """Of all that has come so far."""
        return {name: value for part in self._parts for name, value in part[field].items()}

    def _summary(self) -> str:
        bounds = self._all("bounds")
        best = max(bounds, key=lambda name: bounds[name])
        measured = self._all("schedules")[OURS] / bounds[best] if bounds[best] > 0 else None
        return claim_text({**self._parts[0], "measured": measured}, best)


def claim_text(found: Mapping[str, Any], bound: str) -> str:
    """The measured ratio beside the claim, in words; bound: the name of what it is measured against."""
    if found["measured"] is None:
        return "The bound is 0: there is no ratio."
    return (
        f"Measured: Algorithm 1 (earliest finish) is at most {short_number(found['measured'])} times the optimum, by "
        f"the bound of the {bound}. "
        f"Claimed: \u03b1(2 + \u03b1) = {found['claimed']:.4g}, \u03b1 = {found['alpha']:.3g}."
    )
