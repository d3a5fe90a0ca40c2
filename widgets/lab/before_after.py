"""The run that is shown against the one before it, or one that was pinned: every measure, every job, and who pays."""

from __future__ import annotations

import html
import math
import time
import weakref
from collections.abc import Callable, Sequence

import ipywidgets as w
import pandas as pd

from widgets.editors.knob_panel import said
from widgets.lab.highlight import Highlight
from widgets.parts.button import button
from widgets.parts.html_table import html_table
from workbench.analysis import metrics
from workbench.analysis.metrics import Summary
from workbench.analysis.metrics.declared import MARK, all_best, metric
from workbench.analysis.metrics.summary import amount, change_of
from workbench.base.errors import counted
from workbench.base.labels import unit_beside
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.session.registry import scheduler_of
from workbench.simulation.run import Run

REST_S = 1.0
"""A run that was in sight for so long is what the next is compared with, but for those of a slider's way."""
MOST_KEPT = 5
"""Runs of which it is known what they were compared with, should Undo come back to them."""
SHORT = ("mean_jct_s", "makespan_s", "weighted_miss_rate", "mean_wait_s", "utilisation", "preemptions")
"""The measures beside the picture, those of them that the run has."""
MOVED = ("restarts", "moves")
"""Measures that stand at the end where there are some: what checkpoints and migrations a schedule takes."""
SPELT = {"Mean JCT": "Mean completion time (JCT)"}
PIN, BEFORE, THIS = "Pin this run", "Before", "This run"
ALONE = "Show this run alone, without outlines and differences"
ROUNDING = 1e-9
"""Measures that differ by less, or by such a part, are equal."""
NONE = "Change something: the run before stays as thin outlines."
BETTER = f"This run, less what was before; {MARK} stands beside the better of both"
RHO, WORST = "Fairness \N{GREEK SMALL LETTER RHO}", "max_finish_time_fairness"
"""Of each job, and the largest among the measures, which names its job."""
RHO_MEANT = next(column.meaning for column in metrics.PER_JOB.columns if column.name == "finish_time_fairness")


class BeforeAfter:
    """What is compared: in `line` the buttons `pin` and `alone` and the sentence `said`, and tables of measures (a few
    in `short`) and of jobs.

    changed: called when another run is compared with; drag: the number of the drag of a slider that the next run is of,
    0: of none.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._run: Run | None = None
        self._before: Run | None = None
        self._measured: list[tuple[Run, Summary]] = []
        self._lit = Highlight()
        self._took = pd.DataFrame()
        self._rho = pd.Series(dtype=float)
        self._kept: list[tuple[object, Run | None]] = []
        self._since_s = 0.0
        self.drag, self._drag, self._goes_on = 0, 0, False
        self._is_edit, self._edits = False, list[tuple[weakref.ref[Run], str]]()
        self._changed = changed
        self.said, self.short, self.measures, self.jobs = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        self.short.add_class("wb-short")
        self.said.add_class("wb-gains")
        self.pin = w.ToggleButton(description=PIN, icon="thumb-tack", layout=w.Layout(width="auto", flex="0 0 auto"))
        self.pin.tooltip = "Compare with this run until it is let go, not with the run before"
        self.pin.add_class("wb-pin")
        self.pin.observe(lambda change: self._on_pin(change["new"]), "value")
        self.alone = button("", "alone", self._show_alone, ALONE, icon="times")
        self.alone.layout.display = "none"
        self.line = (self.pin, self.alone, self.said)

    @property
    def before(self) -> Run | None:
        """What the run that is shown is compared with; None if that is no other one with the same jobs."""
        run, before = self._run, self._before
        return None if run is None or before is None or before is run or not alike(before, run) else before

    def run(self, run: Run, before: Run | None = None) -> None:
        """The run that is shown from now on, against `before`, the pinned one, the one that stood when a slider was
        taken hold of, or the one that rested before it."""
        now_s, self._is_edit = time.monotonic(), before is not None
        drag, self.drag = self.drag, 0
        self._goes_on, self._drag = drag != 0 and drag == self._drag, drag
        rested = not self._goes_on if drag else self._before is None or now_s - self._since_s >= REST_S
        if before is not None:
            # Its formulation's name has the words of another change later.
            there = (each for each in self._edits if each[0]() is not None)
            self._edits = [*there, (weakref.ref(run), scheduler_of(run).title)]
        if before is not None and not self.pin.value:
            self._before = before
        elif not self.pin.value and rested:
            self._before = self._run
        self._run, self._since_s = run, now_s

    def keep(self, setting: object) -> None:
        """Remember what the run that is shown, made with these settings, is compared with, if that is not pinned."""
        if not self.pin.value:
            kept = self._kept[:-1] if self._goes_on else self._kept  # a drag is one step back
            self._kept = [*kept[1 - MOST_KEPT :], (setting, self.before)]

    def back_to(self, setting: object) -> None:
        """Undo comes back to these settings: the next run is compared with what theirs was compared with."""
        self._run = next((before for kept, before in reversed(self._kept) if kept == setting), None)
        self._since_s = -math.inf

    def show(self, measures: Summary, rho: pd.Series[float]) -> None:
        """Tell of the run, whose measures these are; rho: finish-time fairness of each of its jobs."""
        self._rho = rho
        run, before = self._run, self._before
        assert run is not None
        kept = [(run, measures)]
        if before is not None and before is not run:
            kept.append((before, self._summary(before) or metrics.summary(before)))
        self._measured = kept
        self._tell()

    def _summary(self, run: Run | None) -> Summary | None:
        """The measures of a run, None where they are still to come."""
        return next((measures for each, measures in self._measured if each is run), None)

    def forget(self) -> None:
        """Compare the run that is shown with none."""
        if self._before is not None and not self.pin.value:
            self._before = None
            self._tell()
            self._changed()

    def _show_alone(self) -> None:
        if self.pin.value:
            self._before = None  # first, so that letting go draws once, without outlines
        self.pin.value = False
        self.forget()

    def measure_html(self, name: str) -> str:
        """One measure by its name, with its value before and the difference, as HTML; "" before the first run."""
        now = self._summary(self._run)
        if now is None:
            return ""
        was = self._summary(self.before)
        label, *values = measures_table(was, now, [name]).iloc[0]
        before, value, changed = values if was is not None else ("", *values, "")
        more = f" (before {before}; {changed})" if changed else ""
        return f"{html.escape(label)} <b>{html.escape(value)}</b>{html.escape(more)}"

    def _on_pin(self, pinned: bool) -> None:
        """The run in sight becomes what others are compared with."""
        self.pin.description = "Pinned" if pinned else PIN
        if pinned and self._run is not None:
            self._before = self._run
        self._tell()
        self._changed()

    def _against(self, run: Run, before: Run) -> str:
        """The run that is compared with, by what was otherwise in it; of a changed row the note beside it says that."""
        if self._is_edit and not self.pin.value:
            return "the run before this change"
        edit = next((title for each, title in self._edits if each() is before), "")
        which, was = "the pinned run" if self.pin.value else "the run before", otherwise(run, before, edit)
        return f"{which} ({was})" if was else which

    def _tell(self) -> None:
        run, before = self._run, self.before
        now, was = self._summary(run), self._summary(before)
        if run is None or now is None:
            return
        self.alone.layout.display = "none" if before is None else None
        differences = None if before is None else metrics.completions(before, run)
        if before is None or differences is None:
            text = "Pinned: what comes is compared with this run." if self.pin.value else NONE
            self.said.value = f"<p class='wb-note'>{html.escape(text)}</p>"
        else:
            against = f"<span class='wb-note'>Against {html.escape(self._against(run, before))}:</span>"
            self.said.value = f"<p>{against} {html.escape(metrics.gains(differences))}</p>"
        short = [name for name in SHORT if not math.isnan(now[name])]
        head = {BEFORE: "Pinned run" if self.pin.value else "Run before"}
        spelt = measures_table(was, now, short).replace({"Measure": SPELT}).rename(columns=head)
        if now["moves"] and "preemptions" in short:
            moves = {metric("preemptions").label: f" ({counted(int(now['moves']), 'move')})"}
            spelt[THIS] += spelt["Measure"].map(moves).fillna("")
        names = [
            *metrics.with_known(metrics.HEADLINE, [now]),
            *(name for name in MOVED if now[name] or (was or now)[name]),
        ]
        self.short.value = html_table(spelt, scrolls=False, hints=_meant(now, short))
        every = measures_table(was, now, names).rename(columns=head)
        if not math.isnan(now[WORST]):
            every.loc[every["Measure"] == metric(WORST).label, THIS] += f" ({run.jobs['job'].iloc[self._rho.argmax()]})"
        if was is not None:
            every = _marked(every, names, was, now)
        self.measures.value = html_table(every, {"Difference": BETTER}, scrolls=False, hints=_meant(now, names))
        self._took = jobs_table(run, differences, self._rho).rename(columns=head)
        self.light(self._lit)

    def light(self, lit: Highlight) -> None:
        """Point out the rows of jobs."""
        self._lit = lit
        rows = lit.rows(self._took.rename(columns={"Job": "job"}))
        self.jobs.value = html_table(self._took, {RHO: RHO_MEANT}, lit=rows) if len(self._took) else ""


def alike(before: Run, run: Run) -> bool:
    """Whether two runs can be compared job by job."""
    types = before.scenario.cluster.types == run.scenario.cluster.types
    return types and list(before.jobs["job"]) == list(run.jobs["job"])


def otherwise(run: Run, before: Run, edit: str = "") -> str:
    """What was otherwise in the run before, as its controls had it; edit: the row that was changed in it."""
    found = []
    scheduler = scheduler_of(before)
    if edit or before.scheduler != run.scheduler:
        found.append(edit or scheduler.title)
    both = [knob for knob in scheduler.knobs if knob.name in run.knobs]
    changed = [knob for knob in both if before.knobs[knob.name] != run.knobs[knob.name]]
    found += [f"{knob.label} {said(knob, before.knobs[knob.name])}" for knob in changed]
    was, now = before.scenario, run.scenario
    parts = {
        "cluster": was.cluster != now.cluster,
        "jobs": was.jobs != now.jobs,
        "throughputs": was.throughputs != now.throughputs,
    }
    found += [f"the {name} before" for name, other in parts.items() if other]
    return ", ".join(found)


def measures_table(before: Summary | None, now: Summary, names: Sequence[str] | None = None) -> pd.DataFrame:
    """The measures as people read them; with a run before also its values and the differences.

    names: which, as `metrics.table` takes them.
    """
    found = metrics.table(now, names)
    if before is None:
        values = (found["value"] + " " + found["unit"]).str.strip()
        return pd.DataFrame({"Measure": found["label"], THIS: values})
    rows = []
    for name, value in zip(found["metric"], found["value"], strict=True):
        of = metric(name)
        unit = unit_beside(of.label, of.unit)
        was = of.missing if math.isnan(before[name]) else amount(before[name], unit)
        is_now = str(value) if math.isnan(now[name]) else amount(now[name], unit)
        same = math.isclose(now[name], before[name], rel_tol=ROUNDING, abs_tol=ROUNDING)
        rows.append((of.label, was, is_now, "" if same else change_of(now[name] - before[name], unit)))
    return pd.DataFrame(rows, columns=["Measure", BEFORE, THIS, "Difference"])


def _marked(table: pd.DataFrame, names: Sequence[str], was: Summary, now: Summary) -> pd.DataFrame:
    """The table of these measures with the clearly better of both values marked."""
    texts = [[str(text) for text in row] for row in table[[table.columns[1], THIS]].to_numpy(object)]
    for name, row in zip(metrics.table(now, names)["metric"], texts, strict=True):
        for best in all_best(name, (was[name], now[name]), row):
            row[best] += f" {MARK}"
    return table.assign(**dict(zip(table.columns[1:3], zip(*texts, strict=True), strict=True)))


def _meant(now: Summary, names: Sequence[str]) -> list[str]:
    """The definitions of these measures."""
    return [metric(name).definition for name in metrics.table(now, names)["metric"]]


def jobs_table(run: Run, differences: pd.DataFrame | None, rho: pd.Series[float]) -> pd.DataFrame:
    """Each job's time from arrival to completion, and rho; with `completions` also what the time was before and the
    difference."""
    names = run.jobs["job"].astype(str)
    if differences is None:
        took = run.jobs["finish_s"] - run.jobs["arrival_s"]
        return pd.DataFrame({"Job": names, "JCT": [_time(each) for each in took], RHO: fairness(rho)})
    changes = zip(differences["sooner"], differences["difference_s"], strict=True)
    return pd.DataFrame(
        {
            "Job": names,
            BEFORE: [_time(each) for each in differences["before_s"]],
            THIS: [_time(each) for each in differences["after_s"]],
            "Difference in JCT": ["" if which == "same" else change_of(by_s, "s") for which, by_s in changes],
            RHO: fairness(rho),
        }
    )


def fairness(rho: pd.Series[float]) -> list[str]:
    """The rho of each job as people read it, nothing of one that has not finished."""
    return ["" if math.isnan(each) else short_number(each) for each in rho]


def _time(seconds: float) -> str:
    return "not finished" if math.isnan(seconds) else format_duration(float(seconds), parts=2)
