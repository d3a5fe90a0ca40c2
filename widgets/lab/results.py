"""What a run looks like: Gantt with playback, metrics, charts, tables. One selection links them all."""

from __future__ import annotations

import html
from collections.abc import Callable
from types import ModuleType

import ipywidgets as w
import pandas as pd

from widgets.editors.reward_editor import RewardEditor, Rewards
from widgets.lab.admission_page import AdmissionPage
from widgets.lab.explain_page import ExplainPage
from widgets.lab.trials import Trials
from widgets.parts.chart_page import ROWS_SHOWN, ChartPage
from widgets.parts.html_table import html_table
from widgets.parts.playback import Playback, rounds_of
from widgets.parts.startup import quick_imports
from widgets.work.work import Workplace
from workbench.analysis import metrics
from workbench.base.errors import counted
from workbench.base.units import format_duration
from workbench.scheduling.estimators.registry import DEFAULT
from workbench.simulation.run import Run
from workbench.simulation.schema import TABLES

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
OF_JOB, OF_TIME = ("Received", "Gains"), ("Plan", "Window", "Allocation", "Explain")
"""The tabs of the selected job, and those of the time that playback has come to."""
PLAYED = ("Tasks", "Leases")
"""The tabs with a schedule, which playback goes through as it does through the Gantt chart."""
WITH_PLAYBACK = (*PLAYED, *OF_TIME, "Admission")
"""The tabs that its controls are for, where one panel is presented at a time."""
TOGETHER, FEW = "all on one axis", 2
"""How to see all signals at once, which is how up to so many of one magnitude are shown at first."""


class Results:
    """The right side of a lab.

    picked: told the name of the selected job, or None; rewarded: told new rewards of jobs, which a person made here;
    work: who works for a scheduler of that name.
    """

    def __init__(
        self,
        picked: Callable[[str | None], None],
        rewarded: Callable[[Rewards], None],
        work: Callable[[str], Workplace],
    ) -> None:
        self._picked = picked
        self.rewards = RewardEditor(rewarded, self.select)
        self.admission = AdmissionPage(self.select, rewarded)
        self.explained = ExplainPage(self.select, work)
        self._run: Run | None = None
        self._selected: str | None = None
        self._mind: list[str] = []
        self._setting_up = False
        self._opened: dict[str, Callable[[], None]] = {
            "Admission": self.admission.opened,
            "Explain": self.explained.opened,
        }
        self._shown = 0
        self._drawn: dict[str, tuple[object, ...]] = {}
        self._trials = Trials()
        self._belief = DEFAULT
        self._errors: pd.DataFrame | None = None
        self._gantt = ChartPage("Gantt", "gantt")
        self._gantt.view.on_job(self.select)
        self._metrics, self._note, self._job = w.HTML(), w.HTML(), w.HTML()
        self._job.add_class("wb-job")
        self._note.add_class("wb-outdated")
        self._tabs = self._make_tabs()
        self._tools = self._make_tools()
        self.box = w.VBox([self._note, self._tools, self._gantt.box, self._job, self._tabs])
        self.box.add_class("wb-results")
        self.box.add_class("wb-played")
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
        played = [self._gantt, *(self._pages[tab] for tab in PLAYED), self.admission.page]
        self.playback = Playback([page.view for page in played], self._on_time)
        tools = w.HBox([self._by, self.playback])
        tools.add_class("wb-tools")
        return tools

    def _make_tabs(self) -> w.Tab:
        self._pages = {tab: ChartPage(name, file) for tab, (name, file) in CHARTS.items()}
        for page in self._pages.values():
            page.view.on_job(self.select)
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
            "Explain": self.explained.box,
            "Admission": self.admission.box,
            **charts,
            "Tables": w.VBox([self._which, self._table]),
        }
        tabs = w.Tab([*self._bar.values()], titles=tuple(self._bar))
        tabs.add_class("wb-result-tabs")
        tabs.observe(lambda _: self._draw_tab(), "selected_index")
        return tabs

    def _choose_tabs(self, run: Run) -> None:
        """Leave out the tabs in which the run has nothing to show; the open one stays open if it is still there."""
        look = drawings().Look(run, tried=self._trials.made, belief=self._belief, errors=self._errors)
        only_with = drawings().ONLY_WITH
        names = tuple(name for name in self._bar if name not in only_with or only_with[name](look))
        if names == self._tabs.titles:
            return
        open_tab = self.opened
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
        self._setting_up = True
        self.playback.show(rounds_of(run))
        self._setting_up = False
        measures = metrics.summary(run)
        self._mind = [f"Warning: {text}" for text in measures.warnings]
        self.outdated(False)
        self._draw_gantt()
        self._trials.add(run, measures, belief)
        for own in (self.rewards, self.admission, self.explained):
            own.show_run(run)
        self._choose_tabs(run)
        looks = drawings()
        names = looks.signal_names(run)
        self._offer_signals(names, together=len(names) <= FEW and looks.signals_alike(run))
        self._metrics.value = html_table(_short(metrics.table(measures)), scrolls=False)
        self._show_job()
        self._draw_tab()
        for part in self._parts:
            part.layout.display = None

    def outdated(self, old: bool) -> None:
        """What to mind of the run: that it is from before the last change, its warnings."""
        lines = [*(["The charts show the run before your last change."] if old else []), *self._mind]
        self._note.value = "".join(f"<p class='wb-note'>{html.escape(line)}</p>" for line in lines)

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
        self.explained.select(job)
        self._show_job()
        self._draw_tab()
        self._picked(job)

    def add_page(self, title: str, page: w.Widget, opened: Callable[[], None]) -> None:
        """One more tab, at the end; `opened` is called when somebody looks at it."""
        self._bar[title] = page
        self._tabs.children, self._tabs.titles = [*self._bar.values()], tuple(self._bar)
        self._opened[title] = opened

    @property
    def titles(self) -> tuple[str, ...]:
        """The tabs that the run has something to show in."""
        return tuple(self._tabs.titles)

    @property
    def opened(self) -> str:
        """The tab that is open."""
        return str(self._tabs.titles[self._tabs.selected_index or 0])

    def open(self, tab: str) -> None:
        """Open a tab, if the run has it."""
        if tab in self.titles:
            self._tabs.selected_index = self.titles.index(tab)

    def _draw_gantt(self) -> None:
        if self._run is None:
            return
        self._gantt.show(drawings().gantt(self._run, self._by.value), self._selected)

    def _on_time(self) -> None:
        """Playback has come to another time."""
        self.explained.played(self.playback.until_s)
        if self.opened in OF_TIME:
            self._draw_tab()

    def _draw_tab(self) -> None:
        """Fill the open tab, if it shows something else."""
        name = self.opened
        if self._run is None or self._setting_up:
            return
        if name in WITH_PLAYBACK:
            self._tools.add_class("wb-with-tab")
        else:
            self._tools.remove_class("wb-with-tab")
        if name == "Tables":
            self._show_table()
        if name in self._opened:
            self._opened[name]()
        if name not in self._pages:
            return
        job = self._selected if name in OF_JOB else None
        until_s = self.playback.until_s if name in OF_TIME else None
        signal = None if self._signal.value == TOGETHER else self._signal.value
        wanted = (self._shown, job, until_s, signal)
        if self._drawn.get(name) == wanted:
            return
        self._drawn[name] = wanted
        looks = drawings()
        look = looks.Look(self._run, job, until_s, signal, self._trials.made, self._belief, self._errors)
        self._pages[name].show(looks.PAGES[name](look), self._selected)

    def _offer_signals(self, names: list[str], together: bool) -> None:
        """The choice of the tab Signals; what was chosen stays if the run has it. together: at first all are shown."""
        before, self._setting_up = self._signal.value, True
        self._signal.options = [TOGETHER, *names]
        first = TOGETHER if together else names[0]
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
        facts = [str(row["model"]), counted(row["gpus"], "GPU"), f"arrived at {_time(row['arrival_s'])}", took]
        facts += [f"without GPUs for {_time(row['waited_s'])}", f"lost its GPUs {counted(row['preemptions'], 'time')}"]
        facts += [f"moved {counted(row['moves'], 'time')}"]
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
    """`widgets.lab.drawings`, imported when it is first needed."""
    with quick_imports():
        from widgets.lab import drawings as found
    return found


def _short(table: pd.DataFrame) -> pd.DataFrame:
    return table[["label", "value", "unit"]].set_axis(["Metric", "Value", "Unit"], axis="columns")


def _time(seconds: float) -> str:
    return format_duration(float(seconds), parts=2)
