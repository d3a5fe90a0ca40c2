"""Why a job of a run was guaranteed or not: its verdict, what would have been accepted, who stands in the way."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as w

from widgets.editors.reward_editor import Rewards
from widgets.parts.button import button
from widgets.parts.chart_page import ChartPage
from widgets.parts.status_line import StatusLine
from widgets.work.study_request import StudyRequest
from workbench.analysis import metrics
from workbench.analysis.explanation.admission import (
    STUDY,
    arrival_of,
    has_verdicts,
    jobs_asked_about,
    question,
    rewards_of,
    sentences,
    verdict_s,
)
from workbench.base.errors import InputError
from workbench.scenario.rewards import moved
from workbench.simulation.run import Run

MARGIN_S = 1.0
"""A deadline is set so much later than the earliest that would do, whatever rounding does."""


class AdmissionPage:
    """The verdict on a job, explained, for runs with verdicts. edited: told new rewards by job."""

    def __init__(self, edited: Callable[[Rewards], None]) -> None:
        self._edited = edited
        self._run: Run | None = None
        self._found: Mapping[str, Any] | None = None
        self._shown: tuple[int, str] | None = None
        text, hint = (
            "Set the earliest deadline",
            "Move this job's deadlines so that the last one is the earliest that would be accepted",
        )
        self._accept = button(text, "admission-accept", self._set_deadline, hint, icon="check")
        self._said, self._verdict = StatusLine(), w.HTML()
        self._verdict.add_class("wb-verdict")
        self._verdict.add_class("wb-admission-told")
        self.page = ChartPage("admission", "admission")
        row = w.HBox([self._accept, self._said])
        row.add_class("wb-tools")
        self.box = w.VBox([self._verdict, row, self.page.box])
        self._asked = StudyRequest(STUDY, self._said, lambda _, found: self._on_found(found), lambda: "")

    # Showing ---------------------------------------------------------------------------------------------------------

    def show_run(self, run: Run) -> None:
        """Take another run."""
        self._run, self._shown = run, None
        self.box.layout.display = "none"

    def show(self, job: str | None) -> None:
        """Explain the verdict on a job, if another one is shown; nothing where the question is of no job."""
        run = self._run
        if run is None or job is None or not has_verdicts(run):
            self.box.layout.display = "none"
            return
        self.box.layout.display = None
        if self._shown == (id(run), job):
            return
        self._shown, self._found = (id(run), job), None
        self._accept.disabled, self._verdict.value = True, ""
        try:
            asked, why = question(run, job) if job in jobs_asked_about(run) else None, f"{job} asked for no guarantee."
        except InputError as error:
            asked, why = None, f"What would have been accepted is not known: that needs {error.expected}."
        for part in (self._accept, self.page.box):
            part.layout.display = "none" if asked is None else None
        if asked is None:
            self._verdict.value = f"<p>{html.escape(why)}</p>"
        else:
            self._asked.ask([(run.scenario, asked)])

    def _on_found(self, found: Mapping[str, Any]) -> None:
        run = self._run
        if run is None or self._shown != (id(run), found["job"]):
            return
        self._found = found
        self._accept.disabled = found["earliest_s"] is None
        self._verdict.value = told_of(run, found)
        from workbench.analysis import charts

        self.page.show(charts.admission(**pictured(run, found)), found["job"])

    def _set_deadline(self) -> None:
        """Move the deadlines of the job as far as it takes."""
        found, run = self._found, self._run
        if found is None or run is None or found["earliest_s"] is None:
            return
        job = str(found["job"])
        last_s = float(found["earliest_s"]) - arrival_of(run, job) + MARGIN_S
        self._edited({job: moved(tuple(rewards_of(run, job)), last_s)})


# What is asked and shown ----------------------------------------------------------------------------------------------


def told_of(run: Run, found: Mapping[str, Any]) -> str:
    """The explanation in words, as HTML, the verdict in bold."""
    verdict, *rest = (html.escape(sentence) for sentence in sentences(run, found))
    job = str(found["job"])
    bold = html.escape(f"{job}: {run.jobs.set_index('job')['verdict'][job].replace('_', ' ')}")
    return "".join(f"<p>{line}</p>" for line in (f"<b>{bold}</b>{verdict.removeprefix(bold)}", *rest))


def pictured(run: Run, found: Mapping[str, Any]) -> dict[str, Any]:
    """What the chart shows: the job, the jobs in its way, and what they had."""
    job = str(found["job"])
    verdict = str(run.jobs.set_index("job")["verdict"][job]).replace("_", " ")
    return {
        "timeline": run.timeline,
        "jobs": run.jobs,
        "rewards": {name: rewards_of(run, name) for name in (job, *found["in_the_way"])},
        "job": job,
        "in_the_way": list(found["in_the_way"]),
        "verdict_s": verdict_s(run, job),
        "earliest_s": None if found["guaranteed"] else found["earliest_s"],
        "lease_s": float(found["lease_s"]),
        "end_s": run.end_s,
        "broken_s": metrics.broken_s(run),
        "title": f"{job}: {verdict}",
    }
