"""What a run looks like: Gantt with playback, metrics, charts, tables. One selection links them all."""

from __future__ import annotations

import html
from collections.abc import Callable
from types import ModuleType

import ipywidgets as w
import pandas as pd

from widgets.admission_page import AdmissionPage
from widgets.chart_page import ROWS_SHOWN, ChartPage
from widgets.reward_editor import RewardEditor, Rewards
from widgets.startup import import_jsonschema, quick_imports
from widgets.tables import html_table
from widgets.tried import Trials
from workbench import metrics
from workbench.estimators.registry import DEFAULT
from workbench.run import Run
from workbench.schema import TABLES
from workbench.units import format_duration

FRAME_MS = 250
MOST_FRAMES = 120
"""Playback of more decisions than this takes several at a time."""
CHARTS = {
    "Tasks": ("tasks", "tasks"),
    "Leases": ("leases", "leases"),
    "Rewards": ("rewards", "rewards"),
    "Clusters": ("logical clusters", "clusters"),
    "Plan": ("plan", "plan"),
    "Window": ("service window", "window"),
    "Gains": ("gains", "gains"),
    "Allocation": ("allocation", "allocation"),
    "Received": ("time received", "received"),
    "JCT": ("completion times", "jct"),
    "Fairness": ("fairness", "fairness"),
    "Latency": ("latency ratio", "latency"),
    "GPUs in use": ("GPUs in use", "used"),
    "Queue": ("queue", "queue"),
    "Fragments": ("fragments", "fragments"),
    "Prices": ("prices", "prices"),
    "Signals": ("signals", "signals"),
    "Entities": ("entities", "entities"),
    "Estimator": ("errors of the estimator", "estimator"),
    "Trade-off": ("trade-off", "tradeoff"),
}
"""The tabs with a chart: what it is called on its buttons, and in the names of its files."""
OF_JOB, OF_TIME = ("Received", "Gains"), ("Plan", "Window", "Allocation")
"""The charts of the selected job, and those of the time that playback has come to."""
TOGETHER, FEW = "all on one axis", 2
"""How to see all signals at once, which is how up to so many are shown at first."""


class Results:
    """The right side of a lab.

    picked: told the name of the selected job, or None; rewarded: told new rewards of jobs, which a person made here.
    """

    def __init__(self, picked: Callable[[str | None], None], rewarded: Callable[[Rewards], None]) -> None:
        self._picked = picked
        self.rewards = RewardEditor(rewarded, self.select)
        self.admission = AdmissionPage(self.select, rewarded)
        self._run: Run | None = None
        self._selected: str | None = None
        self._times: list[float] = []
        self._setting_up = False
        self._opened: dict[str, Callable[[], None]] = {"Admission": self.admission.opened}
        self._shown = 0
        self._drawn: dict[str, tuple[object, ...]] = {}
        self._trials = Trials()
        self._belief = DEFAULT
        self._errors: pd.DataFrame | None = None
        self._gantt = ChartPage("Gantt", "gantt")
        self._gantt.view.observe(lambda change: self.select(change["new"].get("job") or None), "picked")
        self._metrics, self._note, self._job = w.HTML(), w.HTML(), w.HTML()
        self._job.add_class("wb-job")
        self._note.add_class("wb-outdated")
        self._tabs = self._make_tabs()
        self._tools = self._make_tools()
        self.box = w.VBox([self._note, self._tools, self._gantt.box, self._job, self._tabs])
        self.box.add_class("wb-results")
        self._parts = (self._tools, self._gantt.box, self._tabs)
        for part in self._parts:
            part.layout.display = "none"

    # Parts -----------------------------------------------------------------------------------------------------------

    def _make_tools(self) -> w.HBox:
        self._by = w.ToggleButtons(
            options=[("By GPU", "slot"), ("By job", "job")], tooltips=["One row for each GPU", "One row for each job"]
        )
        self._by.style.button_width = "5.5em"
        self._by.add_class("wb-by")
        self._by.observe(lambda _: self._draw_gantt(), "value")
        self._play = w.Play(min=0, max=0, interval=FRAME_MS, tooltip="Play the rounds one after the other")
        self._play.show_repeat = False
        self._round = w.IntSlider(min=0, max=0, readout=False, layout=w.Layout(width="9em"), tooltip="Show up to here")
        self._round.add_class("wb-round")
        w.jslink((self._play, "value"), (self._round, "value"))
        self._round.observe(lambda change: self._show_until(change["new"]), "value")
        self._time = w.HTML()
        tools = w.HBox([self._by, self._play, self._round, self._time])
        tools.add_class("wb-tools")
        return tools

    def _make_tabs(self) -> w.Tab:
        self._pages = {tab: ChartPage(name, file) for tab, (name, file) in CHARTS.items()}
        for page in self._pages.values():
            page.view.observe(lambda change: self.select(change["new"].get("job") or None), "picked")
        names = [(f"{table.name}: {table.meaning}", table.name) for table in TABLES]
        self._which = w.Dropdown(options=names, description="Table", layout=w.Layout(width="97%"))
        self._which.add_class("wb-which")
        self._which.observe(lambda _: self._show_table(), "value")
        self._table = w.HTML()
        self._signal = w.Dropdown(options=[TOGETHER], description="Signal", layout=w.Layout(width="20em"))
        self._signal.add_class("wb-signal")
        self._signal.observe(lambda _: self._draw_tab(), "value")
        charts = {name: page.box for name, page in self._pages.items()}
        charts["Signals"] = w.VBox([self._signal, self._pages["Signals"].box])
        charts["Rewards"] = w.VBox([self.rewards.box, self._pages["Rewards"].box])
        self._bar: dict[str, w.Widget] = {
            "Metrics": self._metrics,
            "Admission": self.admission.box,
            **charts,
            "Tables": w.VBox([self._which, self._table]),
        }
        tabs = w.Tab([*self._bar.values()], titles=tuple(self._bar))
        tabs.observe(lambda _: self._draw_tab(), "selected_index")
        return tabs

    def _choose_tabs(self, run: Run) -> None:
        """Leave out the tabs in which the run has nothing to show; the open one stays open if it is still there."""
        look = drawings().Look(run, tried=self._trials.made, belief=self._belief, errors=self._errors)
        only_with = drawings().ONLY_WITH
        names = tuple(name for name in self._bar if name not in only_with or only_with[name](look))
        if names == self._tabs.titles:
            return
        open_tab = self._open_tab
        self._setting_up = True
        self._tabs.selected_index = None
        self._tabs.children = [self._bar[name] for name in names]
        self._tabs.titles = names
        self._tabs.selected_index = names.index(open_tab) if open_tab in names else 0
        self._setting_up = False

    # Showing a run ---------------------------------------------------------------------------------------------------

    def show(self, run: Run, belief: str = DEFAULT, errors: pd.DataFrame | None = None) -> None:
        """Show a run; the selection stays if its job is still there. Only the chart of the open tab is drawn.

        belief: the estimator by name that the run was made with; errors: of it, as it learnt (`ErrorLog.table`).
        """
        self._run, self._belief, self._errors = run, belief, errors
        self._shown += 1
        if self._selected is not None and self._selected not in set(run.jobs["job"]):
            self._selected = None
        self._times = [*run.decisions["time_s"].tolist()[1:], run.end_s]
        last = max(len(self._times) - 1, 0)
        self._setting_up = True
        self._play.max = self._round.max = last
        self._play.step = 1 + last // MOST_FRAMES
        self._round.value = last
        self._setting_up = False
        self.outdated(False)
        self._draw_gantt()
        measures = metrics.summary(run)
        self._trials.add(run, measures.values, belief)
        for own in (self.rewards, self.admission):
            own.show_run(run)
        self._choose_tabs(run)
        self._offer_signals(drawings().signal_names(run))
        self._metrics.value = html_table(_short(metrics.table(measures)), scrolls=False)
        self._show_job()
        self._draw_tab()
        for part in self._parts:
            part.layout.display = None

    def outdated(self, old: bool) -> None:
        """Say that the charts show a run from before the last change."""
        text = "The charts show the run before your last change." if old else ""
        self._note.value = f"<p class='wb-note'>{text}</p>" if text else ""

    @property
    def selected(self) -> str | None:
        """The job that is selected."""
        return self._selected

    def select(self, job: str | None) -> None:
        """Select a job of the run everywhere, or nothing."""
        if self._run is None or (job is not None and job not in set(self._run.jobs["job"])):
            job = None
        if job == self._selected:
            return
        self._selected = job
        for page in (self._gantt, *self._pages.values()):
            page.view.selected = job
        self.rewards.select(job)
        self.admission.select(job)
        self._show_job()
        self._draw_tab()
        self._picked(job)

    def add_page(self, title: str, page: w.Widget, opened: Callable[[], None]) -> None:
        """One more tab, at the end; `opened` is called when somebody looks at it."""
        self._bar[title] = page
        self._tabs.children, self._tabs.titles = [*self._bar.values()], tuple(self._bar)
        self._opened[title] = opened

    @property
    def _open_tab(self) -> str:
        return str(self._tabs.titles[self._tabs.selected_index or 0])

    def _draw_gantt(self) -> None:
        if self._run is None:
            return
        self._gantt.show(drawings().gantt(self._run, self._by.value), self._selected)
        self._show_until(self._round.value)

    def _show_until(self, number: int) -> None:
        """Hide what comes after the end of a round (playback)."""
        if not self._times or self._setting_up:
            return
        at_end, until_s = number >= len(self._times) - 1, self._until_s()
        self._gantt.view.params = {"until": None if at_end else until_s}
        self._time.value = f"<span class='wb-note'>up to {_time(until_s)}</span>"
        if self._open_tab in OF_TIME:
            self._draw_tab()

    def _until_s(self) -> float:
        return self._times[min(int(self._round.value), len(self._times) - 1)]

    def _draw_tab(self) -> None:
        """Fill the open tab, if it shows something else."""
        name = self._open_tab
        if self._run is None or self._setting_up:
            return
        if name == "Tables":
            self._show_table()
        if name in self._opened:
            self._opened[name]()
        if name not in self._pages:
            return
        at_end = name not in OF_TIME or self._round.value >= len(self._times) - 1
        job, until_s = self._selected if name in OF_JOB else None, None if at_end else self._until_s()
        signal = None if self._signal.value == TOGETHER else self._signal.value
        wanted = (self._shown, job, until_s, signal)
        if self._drawn.get(name) == wanted:
            return
        self._drawn[name] = wanted
        looks = drawings()
        look = looks.Look(self._run, job, until_s, signal, self._trials.made, self._belief, self._errors)
        self._pages[name].show(looks.PAGES[name](look), self._selected)

    def _offer_signals(self, names: list[str]) -> None:
        """The choice of the tab Signals; what was chosen stays if the run has it."""
        before, self._setting_up = self._signal.value, True
        self._signal.options = [TOGETHER, *names]
        first = TOGETHER if len(names) <= FEW else names[0]
        self._signal.value = before if before in names else first
        self._signal.layout.display = None if len(names) > 1 else "none"
        self._setting_up = False

    def _show_job(self) -> None:
        """One line about the selected job."""
        if self._run is None or self._selected is None:
            self._job.value = "<p class='wb-note'>Click a bar to follow a job.</p>" if self._run is not None else ""
            return
        jobs = self._run.jobs
        row = next(iter(jobs[jobs["job"] == self._selected].to_dict("records")))
        unfinished = pd.isna(row["finish_s"])
        took = "not finished" if unfinished else f"took {_time(row['finish_s'] - row['arrival_s'])}"
        facts = [str(row["model"]), _count(row["gpus"], "GPU"), f"arrived at {_time(row['arrival_s'])}", took]
        facts += [f"waited {_time(row['waited_s'])}", f"lost its GPUs {_count(row['preemptions'], 'time')}"]
        facts += [f"moved {_count(row['moves'], 'time')}"]
        self._job.value = f"<p><b>{html.escape(self._selected)}</b>: {html.escape(', '.join(facts))}.</p>"

    def _show_table(self) -> None:
        if self._run is None:
            return
        name = str(self._which.value)
        frame = self._run.table(name)
        if self._selected is not None and "job" in frame.columns:
            frame = frame[frame["job"] == self._selected]
        note = f"{len(frame)} rows" + (f", the first {ROWS_SHOWN} shown" if len(frame) > ROWS_SHOWN else "")
        note += f" (only {self._selected})" if self._selected is not None and "job" in frame.columns else ""
        columns = next(table.columns for table in TABLES if table.name == name)
        meanings = {c.name: f"{c.meaning} ({c.unit})" if c.unit else c.meaning for c in columns}
        text = html_table(frame.head(ROWS_SHOWN), meanings)
        self._table.value = f"<p class='wb-note'>{html.escape(note)}</p>" + text


def drawings() -> ModuleType:
    """`widgets.drawings`, imported when it is first needed."""
    with quick_imports():
        import_jsonschema()
        from widgets import drawings as found
    return found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _short(table: pd.DataFrame) -> pd.DataFrame:
    return table[["label", "value", "unit"]].set_axis(["Metric", "Value", "Unit"], axis="columns")


def _time(seconds: float) -> str:
    return format_duration(float(seconds), parts=2)
