"""Why a job of a run was guaranteed or not: its verdict, what would have been accepted, who stands in the way."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as w
import pandas as pd

from widgets.chart_page import ChartPage
from widgets.reward_editor import Rewards
from widgets.solve_bar import StatusLine
from widgets.study import Asked
from workbench.rewards import Steps, moved
from workbench.run import Run
from workbench.units import format_duration

STUDY = "admission"
SIGNALS = ("queue", "remaining_s", "plan_gpus", "plan_gpus_later")
"""What a run has to have recorded to be asked about."""
GUARANTEED_QUEUE = 1.0
MARGIN_S = 1.0
"""A deadline is set so much later than the earliest that would do, whatever rounding does."""


def is_explained(run: Run) -> bool:
    """Whether a run has verdicts, and recorded what they were given by."""
    return bool((run.jobs["verdict"] != "").any()) and set(SIGNALS) <= set(run.signals["signal"])


class AdmissionPage:
    """Choose a job, see its verdict explained. picked: told which was chosen; edited: told new rewards by job."""

    def __init__(self, picked: Callable[[str], None], edited: Callable[[Rewards], None]) -> None:
        self._picked, self._edited = picked, edited
        self._run: Run | None = None
        self._found: Mapping[str, Any] | None = None
        self._shown: tuple[int, str] | None = None
        self._quiet = False
        self._job = w.Dropdown(description="Job", layout=w.Layout(width="22em"), style={"description_width": "2em"})
        self._job.add_class("wb-admission-job")
        self._job.observe(lambda change: self._on_job(change["new"]), "value")
        self._accept = w.Button(description="Set the earliest deadline", icon="check", layout=w.Layout(width="auto"))
        self._accept.add_class("wb-admission-accept")
        self._accept.tooltip = "Move this job's deadlines so that the last one is the earliest that would be accepted"
        self._accept.on_click(lambda _: self._set_deadline())
        self._said, self._told = StatusLine(), w.HTML()
        self._told.add_class("wb-verdict")
        self._told.add_class("wb-admission-told")
        self.page = ChartPage("admission", "admission")
        row = w.HBox([self._job, self._accept])
        row.add_class("wb-tools")
        self.box = w.VBox([row, self._said, self._told, self.page.box])
        self._asked = Asked(STUDY, self._said, lambda _, found: self._on_found(found), lambda: "")

    # Showing ---------------------------------------------------------------------------------------------------------

    def show_run(self, run: Run) -> None:
        """Offer the jobs of another run; the chosen one stays if it has a verdict in this one too."""
        self._run, self._shown = run, None
        asked_about = [job for job in _with_verdicts(run) if _rewards(run, job)]
        verdicts = dict(zip(run.jobs["job"], run.jobs["verdict"], strict=True))
        options = [(f"{job}: {verdicts[job].replace('_', ' ')}", job) for job in asked_about]
        refused = next((job for job in asked_about if verdicts[job] != "guaranteed"), None)
        before, self._quiet = self._job.value, True
        self._job.options = options
        self._job.value = before if before in asked_about else refused or (asked_about[0] if asked_about else None)
        self._quiet = False

    def select(self, job: str | None) -> None:
        """Choose a job that was selected elsewhere."""
        if self._run is not None and job in [name for _, name in self._job.options]:
            self._quiet = True
            self._job.value = job
            self._quiet = False

    def opened(self) -> None:
        """Explain the chosen job, if the page shows another one."""
        job, run = self._job.value, self._run
        if run is None or job is None or not is_explained(run):
            self._told.value = "<p>No job of this run with a deadline has a verdict.</p>"
            return
        if self._shown == (id(run), job):
            return
        self._shown, self._found = (id(run), job), None
        self._accept.disabled = True
        self._asked.ask([(run.scenario, question(run, job))])

    def _on_job(self, job: str | None) -> None:
        if not self._quiet and job is not None:
            self._picked(job)
            self.opened()

    def _on_found(self, found: Mapping[str, Any]) -> None:
        run = self._run
        if run is None or found["job"] != self._job.value:
            return
        self._found = found
        self._accept.disabled = found["earliest_s"] is None
        self._told.value = told_of(run, found)
        from workbench import charts

        self.page.show(charts.admission(**pictured(run, found)), found["job"])

    def _set_deadline(self) -> None:
        """Move the deadlines of the job as far as it takes."""
        found, run = self._found, self._run
        if found is None or run is None or found["earliest_s"] is None:
            return
        job = str(found["job"])
        last_s = float(found["earliest_s"]) - _arrival_s(run, job) + MARGIN_S
        self._edited({job: moved(tuple(_rewards(run, job)), last_s)})


# What is asked and shown ----------------------------------------------------------------------------------------------


def question(run: Run, job: str) -> dict[str, Any]:
    """What the study is asked about a job of a run: what the scheduler knew when it gave its verdict."""
    events = run.events[run.events["event"] == "verdict"].drop_duplicates("job")
    own = events.index[events["job"] == job][0]
    at_s = float(events.loc[own, "time_s"])
    later = set(events.loc[(events["time_s"] == at_s) & (events.index > own), "job"])
    now = run.signals[run.signals["time_s"] == at_s]
    queue = now[now["signal"] == "queue"]
    sure = [
        name
        for name, value in zip(queue["job"], queue["value"], strict=True)
        if value == GUARANTEED_QUEUE and name != job and name not in later
    ]
    left = now[now["signal"] == "remaining_s"].set_index("job")["value"].to_dict()
    cluster = now.drop_duplicates("signal").set_index("signal")["value"]
    runs = run.timeline[run.timeline["kind"].isin(["run", "restart"])]
    holding = set(runs.loc[(runs["start_s"] <= at_s) & (runs["end_s"] > at_s), "job"])
    return {
        "job": job,
        "guaranteed": sure,
        "at_s": at_s,
        "remaining_s": {name: float(left[name]) for name in (*sure, job)},
        "running": [name for name in sure if name in holding],
        "gpus": [int(cluster["plan_gpus"]), int(cluster["plan_gpus_later"])],
        "knobs": {name: value for name, value in run.knobs.items() if not _is_infinite(value)},
    }


def told_of(run: Run, found: Mapping[str, Any]) -> str:
    """The explanation in words, as HTML."""
    job = str(found["job"])
    verdict = str(run.jobs.set_index("job")["verdict"][job])
    reasons = run.events[(run.events["event"] == "verdict") & (run.events["job"] == job)]["reason"].tolist()
    lines = [f"<b>{html.escape(job)}: {verdict.replace('_', ' ')}</b>. {_sentence(reasons[0])}"]
    lines += [_sentence(reason) for reason in reasons[1:]]
    arrival_s, last_s = _arrival_s(run, job), _rewards(run, job)[-1][0]
    if found["guaranteed"] and verdict != "guaranteed" and len(reasons) == 1:
        lines.append("With all leases planned anew it would have been guaranteed; this way of planning does not try.")
    asked, first = _verdict_s(run, job), float(found["start_s"])
    lines.append(
        f"The verdict was given {_clock(asked - arrival_s)} after the arrival, from which its deadlines count; "
        f"its leases of {_clock(found['lease_s'])} could begin {_clock(first - arrival_s)} after the arrival."
    )
    if not found["guaranteed"]:
        lines.append(_earliest(found["earliest_s"], arrival_s, last_s))
        names = [html.escape(name) for name in found["in_the_way"]]
        if names:
            lines.append(f"In the way: <b>{', '.join(names)}</b>. Without any one of them it could be guaranteed.")
    return "".join(f"<p>{line}</p>" for line in lines)


def _earliest(earliest_s: float | None, arrival_s: float, last_s: float) -> str:
    if earliest_s is None:
        return "No deadline would do: the cluster never has its GPUs."
    return (
        f"The earliest deadline that would be accepted: <b>{_clock(earliest_s - arrival_s)}</b> after its arrival "
        f"(its last one is {_clock(last_s)})."
    )


def _clock(seconds: float) -> str:
    return format_duration(float(seconds), parts=2)


def pictured(run: Run, found: Mapping[str, Any]) -> dict[str, Any]:
    """What the chart shows: the job, the jobs in its way, and what they had."""
    job = str(found["job"])
    verdict = str(run.jobs.set_index("job")["verdict"][job]).replace("_", " ")
    return {
        "timeline": run.timeline,
        "jobs": run.jobs,
        "rewards": {name: _rewards(run, name) for name in (job, *found["in_the_way"])},
        "job": job,
        "in_the_way": list(found["in_the_way"]),
        "verdict_s": _verdict_s(run, job),
        "earliest_s": None if found["guaranteed"] else found["earliest_s"],
        "lease_s": float(found["lease_s"]),
        "end_s": run.end_s,
        "title": f"{job}: {verdict}",
    }


def _verdict_s(run: Run, job: str) -> float:
    """When a job had its first verdict."""
    own = (run.events["event"] == "verdict") & (run.events["job"] == job)
    return float(run.events.loc[own, "time_s"].iloc[0])


def _sentence(text: str) -> str:
    return html.escape(text[:1].upper() + text[1:].rstrip(".") + ".")


def _with_verdicts(run: Run) -> list[str]:
    return run.jobs.loc[run.jobs["verdict"] != "", "job"].tolist()


def _rewards(run: Run, job: str) -> Steps:
    found: pd.DataFrame = run.jobs
    place = found["job"].tolist().index(job)
    return run.scenario.jobs[place].rewards or ()


def _arrival_s(run: Run, job: str) -> float:
    return float(run.jobs.set_index("job")["arrival_s"][job])


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)
