"""The answer of the what-if lab: its sentences, the schedules of today and with the change, measures and jobs."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import ipywidgets as w
import pandas as pd

from widgets.lab.reasons import ReasonsBeside
from widgets.lab.results import drawings
from widgets.parts.chart_page import ChartPage
from widgets.parts.html_table import html_table
from widgets.parts.playback import Playback, rounds_of
from workbench.analysis.calibration.note import assumed
from workbench.analysis.metrics import job_differences
from workbench.analysis.what_if import WhatIf
from workbench.analysis.what_if.tables import each_difference
from workbench.analysis.what_if.words import WAIT_HEADS, cautions, compared, heads, of_jobs, waited
from workbench.base.errors import counted

if TYPE_CHECKING:
    from workbench.analysis.charts import Drawing

GANTT_PX = 130.0
"""Most height of each of the two schedules."""


class AnswerPages:
    """schedule: what follows, and both schedules of the first pair; measures: every one before and after; jobs: job by
    job. Charts are drawn when their page is looked at.
    """

    def __init__(self) -> None:
        self._found: WhatIf | None = None
        self._drawn: set[str] = set()
        self._said, self._table, self._old = w.HTML(), w.HTML(), w.HTML()
        self._old.add_class("wb-outdated")
        self._measures = ChartPage("the measures", "measures")
        self._jobs = ChartPage("the jobs", "jobs")
        self._gantts = [ChartPage("today's schedule", "today"), ChartPage("the schedule with the change", "changed")]
        self.playback = Playback([page.view for page in self._gantts])
        for page in self._gantts:
            page.view.on_job(self.select)
        tools = w.HBox([self.playback])
        tools.add_class("wb-tools")
        self._schedules = w.VBox([tools, *(page.picture for page in self._gantts)])
        self._schedules.add_class("wb-played")
        self.schedule = w.VBox([self._old, self._said, self._schedules])
        self.measures = w.VBox([self._old, self._table, self._measures.box])
        self._reasons = ReasonsBeside(self.select)
        self.jobs = w.VBox([self._old, self._reasons.box, self._jobs.box])
        self.show(None)

    @property
    def seen(self) -> tuple[list[Drawing], str]:
        """The chart of the measures, none before there is an answer, and the answer as HTML."""
        drawing = self._measures.drawing if self._found is not None else None
        return ([] if drawing is None else [drawing]), self._said.value + self._table.value

    def show(self, found: WhatIf | None) -> None:
        """Show the answer; without one, what to do for it."""
        self._found, self._drawn = found, set()
        for box in (self._schedules, self._measures.box, self._jobs.box, self._reasons.box):
            box.layout.display = "none" if found is None else None
        self.outdated(False)
        if found is None:
            self._said.value = "<p class='wb-note'>Set what is to be different, and press Run.</p>"
            self._table.value = "<p class='wb-note'>No answer yet: press Run.</p>"
            return
        led = len(assumed(found.question.today.scenario))
        # a warning, the calibration, or the answer itself, behind what is assumed
        known = cautions(found, 0)
        first, *others = (html.escape(text) for text in found.conclusions[led:] if text not in known)
        answer = next((sentence for sentence in others if sentence.startswith("With ")), "")
        before = "".join(f"{html.escape(text)}</p><p>" for text in known)
        if not first.startswith("With ") and answer:
            others.remove(answer)
            first = f"{first}</p><p>{before}<b>{answer}</b>"
        else:
            first = f"{before}<b>{first}</b>"
        change = found.question.changes[0]
        of_all = of_jobs(found, change)
        others = [each for each in others if each != html.escape(f"With {change.words}: {of_all}")]
        counts, *rest = re.split(r"(?<=\.) ", html.escape(of_all))
        who = f"<p>{counts}</p>"
        if rest:  # names are a click away, so that the schedules are in sight
            who = f"<details class='wb-decisive'><summary>{' '.join([counts, *rest[1:]])}</summary>{rest[0]}</details>"
        lead = "".join(f"<p>{html.escape(text)}</p>" for text in found.conclusions[:led])
        more = "".join(f"<li>{sentence}</li>" for sentence in others)
        folded = f"<details><summary>{counted(len(others), 'more sentence')}</summary><ul>{more}</ul></details>"
        self._said.value = f"<div class='wb-conclusions'>{lead}<p>{first}</p>{who}{folded}</div>"
        waits = waited(found, change)
        more = (
            html_table(
                pd.DataFrame(waits, columns=[head.replace("95th percentile", "95 % up to") for head in WAIT_HEADS]),
                scrolls=False,
            )
            if waits
            else ""
        )
        self._table.value = html_table(paired_frame(found), scrolls=False) + more
        self.draw("Measures")  # it stands for the answer in a saved notebook

    def asked(self, words: str) -> None:
        """A question is being answered, before there was any answer."""
        if self._found is None:
            self._said.value = f"<p class='wb-note'>Being asked, as an example: {html.escape(words)}.</p>"
            self._table.value = "<p class='wb-note'>The answer is on its way.</p>"

    def draw(self, page: str) -> None:
        """Draw what the page of that name shows, if there is an answer and it is not drawn yet."""
        draw = {"Schedule": self._draw_schedules, "Why": self._draw_jobs, "Measures": self._draw_measures}.get(page)
        if self._found is not None and draw is not None and page not in self._drawn:
            self._drawn.add(page)
            draw(self._found)

    def select(self, job: str | None) -> None:
        """Follow a job in both schedules, and why it runs or waits in them."""
        for page in self._gantts:
            page.view.selected = job
        self._reasons.select(job)

    def outdated(self, old: bool) -> None:
        """Say that the answer is to what was set before the last change."""
        self._old.value = "<p class='wb-note'>The answer to what was set before your last change.</p>" if old else ""
        for page in (self.schedule, self.measures, self.jobs):
            (page.add_class if old else page.remove_class)("wb-old")

    def _draw_schedules(self, found: WhatIf) -> None:
        """The first pair's, on one axis of time."""
        charts, runs = drawings().charts, [runs[0] for runs in found.runs[:2]]
        end_s, keyed = max(run.end_s for run in runs), frozenset[str]()
        for page, run, title in zip(self._gantts, runs, ("Today", "With the change"), strict=True):
            drawing = charts.run_gantt(run, end_s=end_s, max_height=GANTT_PX, title=title, keyed=keyed)
            keyed |= frozenset(drawing.data["key"]["text"])  # what the first explains the second need not
            page.show(drawing, None)
        self.playback.show(rounds_of(*runs))

    def _draw_measures(self, found: WhatIf) -> None:
        from workbench.analysis.what_if import pictures

        self._measures.show(pictures.measures(found), None)

    def _draw_jobs(self, found: WhatIf) -> None:
        from workbench.analysis.what_if import pictures

        before, after = (runs[0] for runs in found.runs[:2])
        alike = [*before.jobs["job"]] == [
            *after.jobs["job"]
        ] and before.scenario.cluster.types == after.scenario.cluster.types
        differences = job_differences(before, after) if alike else None
        self._reasons.show((before, after), ("Today", "With the change"), differences)
        self._jobs.show(pictures.by_job(found, found.question.changes[0].text), None)


def paired_frame(found: WhatIf) -> pd.DataFrame:
    """Every measure before and after as people read it; where there is no interval, without the columns about it."""
    frame = pd.DataFrame(map(compared, each_difference(found.differences)), columns=heads(found.question.level))
    *plain, interval, _ = frame.columns
    return frame[plain] if (frame[interval] == "").all() else frame
