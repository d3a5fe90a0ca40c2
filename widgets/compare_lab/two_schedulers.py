"""Two schedulers against each other: which jobs are done sooner with which, when the schedules part, and why."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping

import ipywidgets as w
import pandas as pd

from widgets.compare_lab.tables import in_lines, job_table
from widgets.lab.reasons import ReasonsBeside
from widgets.lab.results import drawings
from widgets.parts.chart_page import ChartPage
from widgets.parts.html_table import html_table
from workbench.analysis.metrics import diverged_s, gains, job_differences
from workbench.base.errors import counted
from workbench.base.units import format_duration
from workbench.simulation.run import Run


class DifferencePage:
    """Why a job has what it has with each, a chart of the differences, sorted, and a table.

    select: told the job that was clicked.
    """

    def __init__(self, select: Callable[[str | None], None]) -> None:
        self._runs: Mapping[str, Run] = {}
        self._titled: Callable[[str], str] = str
        self._selected: str | None = None
        self._setting_up = False
        self._chosen: tuple[str, str] | None = None
        self._which = [self._choice(text) for text in ("From", "to")]
        self._said, self._table = w.HTML(), w.HTML()
        self._said.add_class("wb-difference-said")
        self._page = ChartPage("differences in JCT", "difference")
        self._page.view.on_job(select)
        self._reasons = ReasonsBeside(select)
        tools = w.HBox(self._which)
        tools.add_class("wb-tools")
        self.box = w.VBox([tools, self._said, self._reasons.box, self._page.box, self._table])

    def _choice(self, text: str) -> w.Dropdown:
        layout = w.Layout(flex="1 1 17em", max_width="34em", min_width="0")
        found = w.Dropdown(description=text, layout=layout, style={"description_width": "3em"})
        found.add_class(f"wb-difference-{text.lower()}")
        found.observe(lambda _: self._on_choice(), "value")
        return found

    def _on_choice(self) -> None:
        for choice in self._which:
            choice.tooltip = str(choice.value or "")  # whole, where the box is too narrow for it
        if not self._setting_up:
            self._chosen = self._shown()
            self.draw()

    def _shown(self) -> tuple[str, str]:
        return str(self._which[0].value), str(self._which[1].value)

    def offer(self, runs: Mapping[str, Run], titled: Callable[[str], str]) -> None:
        """Offer the schedulers that have a run: the first two of the list, whichever ended first.

        What a person chose comes back as soon as both have a run.
        """
        self._runs, self._titled, self._setting_up = runs, titled, True
        labels = list(runs)
        wanted = self._chosen if self._chosen is not None and set(self._chosen) <= set(labels) else None
        for place, choice in enumerate(self._which):
            choice.options = [(titled(label), label) for label in labels]
            if labels:
                choice.value = wanted[place] if wanted is not None else labels[min(place, len(labels) - 1)]
        self._setting_up = False

    def select(self, job: str | None) -> None:
        """Mark a job."""
        self._selected = job
        self._page.view.selected = job
        self._reasons.select(job)

    def draw(self) -> None:
        """Draw what is chosen."""
        first, second = self._shown()
        if first not in self._runs or second not in self._runs:
            return
        if not self._said.value:
            self._said.value = "<p class='wb-note'>Asking why ...</p>"
        found = job_differences(self._runs[first], self._runs[second])
        both = found.dropna(subset=["difference_s"])
        names = (self._titled(first), self._titled(second))
        drawing = drawings().charts.job_changes(both, title=in_lines(f"JCT from {names[0]} to {names[1]}"))
        self._page.show(drawing, self._selected)
        self._said.value = f"<p>Seed {self._runs[first].seed}: {html.escape(said(found, *names))}</p>"
        self._reasons.show((self._runs[first], self._runs[second]), names, found)
        ordered = found.sort_values("difference_s", kind="stable")
        self._table.value = html_table(job_table(ordered, names))


def said(found: pd.DataFrame, first: str, second: str) -> str:
    """How many are sooner where, who gains and who pays, and when the schedules part; found: of `job_differences`."""
    counts = found["sooner"].value_counts()
    after, before, same = (int(counts.get(which, 0)) for which in ("after", "before", "same"))
    apart_s = diverged_s(found)
    parts = [f"{counted(after, 'job')} done sooner with {second}, {before} with {first}, {same} at the same time."]
    parts.append(f"With {second}: {gains(found)}")
    if math.isnan(apart_s):
        parts.append("Every job holds as many GPUs of the same types at every moment: the schedules never part.")
    else:
        first_apart = ", ".join(found[found["diverged_s"] <= apart_s]["job"].astype("str").head(3))
        parts.append(f"The schedules part at {format_duration(apart_s, parts=2)} ({first_apart}).")
    return " ".join(parts)
