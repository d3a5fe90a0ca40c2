"""What a comparison looks like: Gantts on one time axis, measures, differences, distributions; one selection."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import ipywidgets as w
import pandas as pd

from widgets.compare_lab.outcomes import Outcomes
from widgets.compare_lab.tables import Titled, best_line, decides_table, in_lines, measures_table, reads_table
from widgets.compare_lab.two_schedulers import DifferencePage
from widgets.lab.results import PAGES, drawings
from widgets.lab.shell import tabs_of
from widgets.parts.chart_page import ChartPage
from widgets.parts.playback import Playback, rounds_of
from workbench.analysis import metrics
from workbench.analysis.comparison import Comparison
from workbench.analysis.metrics import metric
from workbench.analysis.metrics.declared import Metric
from workbench.base.units import format_duration
from workbench.simulation.run import Run

if TYPE_CHECKING:
    from workbench.analysis.charts import Drawing

GANTT_PX = 240.0, 96.0
"""Most height of one Gantt, of one or two and of more: several are to be seen at once."""
NOTHING = "Nothing is compared yet. Press Compare: each scheduler of the list runs, and what they do stands here."
VARY = (
    "Runs each (in Set-up) says how many runs every scheduler makes, and what they differ in; a point is their mean, "
    "with its spread."
)


class CompareResults:
    """The right side of the lab.

    picked: told the name of the selected job, or None; pages: the five of every lab; about: what the first begins with.
    """

    def __init__(self, picked: Callable[[str | None], None], about: w.Widget) -> None:
        self._picked, self._about = picked, about
        self._outcomes: Outcomes | None = None
        self._found: Comparison | None = None
        self._selected: str | None = None
        self._gantts: dict[str, ChartPage] = {}
        self._drawn: dict[str, tuple[object, ...]] = {}
        self._drawn_gantts: dict[str, tuple[object, ...]] = {}
        self._keys: dict[str, frozenset[str]] = {}
        self._followed: tuple[Outcomes, int] | None = None
        self._against_chosen: str | None = None
        self._version = 0
        self._setting_up = False
        self._note, self._none, self._measures, self._decides, self._reads, self._job, self._best = (
            w.HTML() for _ in range(7)
        )
        self._job.add_class("wb-job")
        self._note.add_class("wb-outdated")
        self._best.add_class("wb-gains")
        self._jct, self._latency = ChartPage("completion times", "jct"), ChartPage("latency ratio", "latency")
        self._difference = DifferencePage(self.select)
        self._trade_off = TradeOffPage()
        self._make()

    def _make(self) -> None:
        self._by = w.ToggleButtons(
            options=[("By GPU", "slot"), ("By job", "job")], tooltips=["One row for each GPU", "One row for each job"]
        )
        self._by.style.button_width = "5.5em"
        self._by.add_class("wb-by")
        self._by.observe(lambda _: self._draw(), "value")
        self._seed = w.Dropdown(description="Seed", layout=w.Layout(width="9em"), style={"description_width": "3em"})
        self._seed.add_class("wb-seed")
        self._seed.observe(lambda _: self._on_seed(), "value")
        self._against = w.Dropdown(description="Against", layout=w.Layout(width="24em"))
        self._against.style.description_width = "4.5em"
        self._against.tooltip = "The scheduler to which the others' ratios are, seed by seed"
        self._against.add_class("wb-against")
        self._against.observe(lambda _: self._on_against(), "value")
        self.playback = Playback()
        self._export = w.ToggleButton(icon="download", layout=w.Layout(width="3.4em"), tooltip="Numbers and export")
        self._export.add_class("wb-exports")
        self._export.observe(lambda _: self._show_tools(), "value")
        self._own_axes = w.ToggleButton(description="Own time axes", icon="arrows-h", layout=w.Layout(width="auto"))
        self._own_axes.tooltip = "Each schedule over its own length, where one run is so long that it squeezes the rest"
        self._own_axes.add_class("wb-own-axes")
        self._own_axes.observe(lambda _: self._draw(), "value")
        self.playback.layout.flex = "1 1 34em"  # in a line of its own where the slider would have no room
        tools = w.HBox([self._by, self._own_axes, self._seed, self._export, self.playback])
        tools.add_class("wb-tools")
        self._stack = w.VBox()
        self._stack.add_class("wb-gantts")
        self._played = w.VBox([tools, self._best, self._job, self._stack])
        self._played.add_class("wb-played")
        self._charts = w.VBox([self._jct.box, self._latency.box])
        seeds = w.HTML(f"<p class='wb-note'>{html.escape(VARY)}</p>")
        boxes = (
            w.VBox([self._played, self._about]),
            w.VBox([self._decides, self._reads]),
            self._difference.box,
            w.VBox([self._against, self._measures, self._charts]),
            w.VBox([seeds, self._trade_off.box]),
        )
        self.pages = tabs_of(dict(zip(PAGES, boxes, strict=True)), "wb-pages")
        self.pages.observe(lambda _: self._draw(), "selected_index")
        for page in (self._jct, self._latency):
            page.view.on_job(self.select)
        self.box = w.VBox([self._note, self._none, self.pages])
        self.box.add_class("wb-results")
        self._against.layout.display = "none"
        self._show_what_there_is()

    # Showing ---------------------------------------------------------------------------------------------------------

    def begin(self, outcomes: Outcomes) -> None:
        """New runs are being made: what there was goes, the selection stays if its job is still there."""
        self._outcomes, self._found = outcomes, None
        self._version += 1
        self._drawn, self._drawn_gantts = {}, {}
        if self._selected not in {job.name for job in outcomes.setting.scenario.jobs}:
            self._selected = None
        before, self._setting_up = self._seed.value, True
        self._seed.options = outcomes.seeds
        self._seed.value = before if before in outcomes.seeds else outcomes.seeds[0]
        self._seed.layout.display = None if len(outcomes.seeds) > 1 else "none"
        self._setting_up = False
        self._stack_up(outcomes)
        asked = dict(zip((case.label for case in outcomes.cases), outcomes.setting.requests(), strict=True))
        self._decides.value = decides_table(asked, outcomes.titled)
        self._reads.value = reads_table(outcomes.setting.scenario, asked, outcomes.titled)
        self.outdated(False)
        self.refresh()

    def refresh(self) -> None:
        """Something more has come of the runs."""
        if self._outcomes is None:
            return
        self._version += 1
        self._found = self._outcomes.comparison() if self._outcomes.runs else None
        self._offer_against(self._outcomes)
        self._measures.value = measures_table(self._outcomes, self._found, self._against.value)
        self._best.value = best_line(self._outcomes, self._found)
        self._show_what_there_is()
        if self._selected is not None and self._selected not in (self.jobs or {self._selected}):
            self.select(None)  # another seed has other jobs
        self._follow()
        self._difference.offer(self._runs(), self._outcomes.titled)
        self._trade_off.offer(self._found, len(self._outcomes.seeds), self._outcomes.titled)
        self._draw()

    @property
    def seen(self) -> tuple[list[Drawing], str]:
        """The schedules that are shown, and the measures as HTML."""
        pages = [self._gantts[label] for label in self._runs() if label in self._gantts]
        return [page.drawing for page in pages if page.drawing is not None], self._measures.value

    def outdated(self, old: bool) -> None:
        """Say that the charts show what was compared before the last change."""
        text = "The charts show the comparison before your last change." if old else ""
        self._note.value = f"<p class='wb-note'>{text}</p>" if text else ""

    def _show_what_there_is(self) -> None:
        """No chart of the comparison before, or of another seed, stays where there is no run to draw."""
        there = bool(self._runs())
        for box in (self._played, self._difference.box, self._charts):
            box.layout.display = None if there else "none"
        self._trade_off.box.layout.display = None if self._found is not None else "none"
        said = "" if there else NOTHING
        if not there and self._outcomes is not None:
            self._job.value = ""
            said = f"{self._titled('No run to show yet')}; the page Measures says how each scheduler stands."
        self._none.value = f"<p class='wb-note'>{said}</p>" if said else ""

    def _runs(self) -> dict[str, Run]:
        return {} if self._outcomes is None else self._outcomes.runs_of(int(self._seed.value))

    def _offer_against(self, outcomes: Outcomes) -> None:
        """The schedulers that have a run: the first of the list, whichever ended first, or the one that was chosen."""
        labels = () if self._found is None else self._found.labels
        chosen, self._setting_up = self._against_chosen, True
        self._against.options = [(outcomes.titled(label), label) for label in labels]
        first = next((label for label in outcomes.labels if label in labels), None)
        self._against.value = chosen if chosen in labels else first
        self._against.layout.display = None if len(labels) > 1 and len(outcomes.seeds) > 1 else "none"
        self._setting_up = False

    def _on_against(self) -> None:
        if not self._setting_up and self._outcomes is not None:
            self._against_chosen = self._against.value
            self._measures.value = measures_table(self._outcomes, self._found, self._against.value)

    def _on_seed(self) -> None:
        if not self._setting_up:
            self.refresh()

    def _stack_up(self, outcomes: Outcomes) -> None:
        """A place for each Gantt, in the order of the list, whichever run ends first."""
        for place, label in enumerate(outcomes.labels):
            if label not in self._gantts:
                page = self._gantts[label] = ChartPage(
                    f"Gantt of {label}", f"gantt-{re.sub(r'[^a-z0-9]+', '-', label)}"
                )
                page.view.on_job(self.select)
            self._gantts[label].box.layout.order = str(place)
        self._stack.children = [page.box for page in self._gantts.values()]
        self._stack.layout.grid_auto_rows = f"minmax({GANTT_PX[len(outcomes.labels) > 2] + 60:g}px, auto)"

    def _follow(self) -> None:
        """A Gantt for each run with the seed that is shown, and playback over the rounds of all."""
        runs, outcomes = self._runs(), self._outcomes
        coming = outcomes.labels if outcomes and outcomes.waits else ()  # each has its place, so that none moves
        self._show_tools()
        for label, page in self._gantts.items():
            page.box.layout.visibility = None if label in runs else "hidden"
            page.box.layout.display = None if label in runs or label in coming else "none"
        before, self._followed = self._followed, (outcomes, int(self._seed.value)) if outcomes else None
        self.playback.show(rounds_of(*runs.values()) if runs else [], keep=before == self._followed)
        self.playback.follow(*(self._gantts[label].view for label in runs))

    # Drawing ---------------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Fill the open page, if it shows something else."""
        name = PAGES[self.pages.selected_index or 0]
        wanted = (self._version, self._by.value, self._own_axes.value)
        if not self._runs() or self._setting_up or self._drawn.get(name) == wanted:
            return
        draw = {
            "Schedule": self._draw_gantts,
            "Why": self._difference.draw,
            "Measures": self._draw_charts,
            "Vary": self._trade_off.draw,
        }.get(name)
        if draw is not None:
            draw()
        self._drawn[name] = wanted

    def _show_tools(self) -> None:
        """Numbers and export below each Gantt, or more of them in sight."""
        for page in self._gantts.values():
            page.tools.layout.display = None if self._export.value else "none"

    def _draw_gantts(self) -> None:
        charts, runs, outcomes = drawings().charts, self._runs(), self._outcomes
        assert outcomes is not None
        longest_s, keyed = max(run.end_s for run in runs.values()), frozenset[str]()
        for label, run in runs.items():
            end_s, before = run.end_s if self._own_axes.value else longest_s, keyed
            wanted = (id(run), end_s, self._by.value, before)  # those of runs that have ended before stay as they are
            if self._drawn_gantts.get(label) == wanted:
                keyed |= self._keys[label]
                continue
            drawing = charts.gantt(
                run.timeline,
                run.jobs,
                run.decisions,
                run.events,
                by=self._by.value,
                cluster=run.scenario.cluster,
                end_s=end_s,
                max_height=GANTT_PX[len(outcomes.labels) > 2],
                title=in_lines(outcomes.titled(label)),
                keyed=before,
            )
            self._keys[label] = frozenset(drawing.data["key"]["text"])
            keyed |= self._keys[label]
            self._gantts[label].show(replace(drawing, overview=None), self._selected)
            self._drawn_gantts[label] = wanted
        self._show_job()

    def _draw_charts(self) -> None:
        titled: Titled = str if self._outcomes is None else self._outcomes.titled
        tables = {titled(label): run.jobs for label, run in self._runs().items()}
        self._jct.show(drawings().charts.jct_cdf(tables, title=self._titled("Job completion time")), self._selected)
        values = {titled(label): metrics.per_job(run)["latency_ratio"] for label, run in self._runs().items()}
        title = self._titled("Latency ratio")
        drawing = drawings().charts.cdf(values, title=title, x_title="Latency ratio (time without GPUs / run time)")
        self._latency.show(drawing, self._selected)

    def _titled(self, text: str) -> str:
        return f"{text}, seed {self._seed.value}" if len(self._seed.options) > 1 else text

    # Selection -------------------------------------------------------------------------------------------------------

    @property
    def selected(self) -> str | None:
        """The job that is selected."""
        return self._selected

    @property
    def jobs(self) -> set[str] | None:
        """The jobs of the runs that are shown; None while there is none."""
        runs = self._runs().values()
        return {job for run in runs for job in run.jobs["job"]} if runs else None

    def select(self, job: str | None) -> None:
        """Select a job in every chart, or nothing."""
        if job not in (self.jobs or set()):
            job = None
        if job == self._selected:
            return
        self._selected = job
        for page in self._gantts.values():
            page.view.selected = job
        self._difference.select(job)
        self._show_job()
        self._picked(job)

    def _show_job(self) -> None:
        """One line about the selected job: how long it took with each scheduler."""
        if self._selected is None:
            self._job.value = "<p class='wb-note'>Click a bar to follow a job through all schedules.</p>"
            return
        facts, outcomes = [], self._outcomes
        assert outcomes is not None
        for label, run in self._runs().items():
            row = run.jobs[run.jobs["job"] == self._selected].iloc[0]
            unfinished = pd.isna(row["finish_s"])
            took = "not finished" if unfinished else format_duration(row["finish_s"] - row["arrival_s"], parts=2)
            facts.append(f"{outcomes.titled(label)}: {took}")
        text = html.escape("; ".join(facts))
        self._job.value = f"<p><b>{html.escape(self._selected)}</b>, JCT with {text}.</p>"


EFFICIENCY = ("mean_jct_s", "makespan_s", "p99_jct_s", "utilisation", "cost_usd")
FAIRNESS = ("max_finish_time_fairness", "mean_finish_time_fairness", "max_latency_ratio", "weighted_miss_rate")


class TradeOffPage:
    """A chart of two measures, mean over the seeds, with their spread."""

    def __init__(self) -> None:
        self._found: Comparison | None = None
        self._seeds = 1
        self._named: Titled = str
        self._setting_up = False
        self._x, self._y = self._choice("Efficiency", EFFICIENCY), self._choice("Fairness", FAIRNESS)
        self._page = ChartPage("trade-off", "tradeoff")
        tools = w.HBox([self._x, self._y])
        tools.add_class("wb-tools")
        self.box = w.VBox([tools, self._page.box])

    def _choice(self, text: str, names: tuple[str, ...]) -> w.Dropdown:
        options = [(metric(name).label, name) for name in names]
        found = w.Dropdown(
            options=options, description=text, layout=w.Layout(width="22.5em"), style={"description_width": "5em"}
        )
        found.add_class(f"wb-{text.lower()}")
        found.observe(lambda _: self.draw(), "value")
        return found

    def offer(self, found: Comparison | None, seeds: int, titled: Titled) -> None:
        """The runs there are; seeds: how many of each scheduler there are to be, said where there are fewer."""
        self._found, self._seeds, self._named = found, seeds, titled

    def draw(self) -> None:
        """Draw what is chosen."""
        if self._found is None:
            return
        charts, (x, y) = drawings().charts, (metric(str(choice.value)) for choice in (self._x, self._y))
        means, spread = self._found.mean(), self._found.spread()
        per = [charts.theme.time_unit(float(means[m.name].max())) if m.unit == "s" else None for m in (x, y)]
        by = [1.0 if unit is None else unit.seconds for unit in per]
        frame = pd.DataFrame(
            {
                "name": self._names(),
                "x": (means[x.name] / by[0]).to_numpy(),
                "y": (means[y.name] / by[1]).to_numpy(),
                "x_spread": (spread[x.name] / by[0]).to_numpy(),
                "y_spread": (spread[y.name] / by[1]).to_numpy(),
            }
        )
        titles = [
            _titled(measure, None if unit is None else unit.name) for measure, unit in zip((x, y), per, strict=True)
        ]
        drawing = charts.scatter(
            frame,
            title="Efficiency against fairness",
            x_title=titles[0],
            y_title=titles[1],
            better=(x.better, y.better),
        )
        self._page.show(drawing, None)

    def _names(self) -> list[str]:
        """The schedulers, with the number of runs where some are missing."""
        runs = {} if self._found is None else self._found.ended()["runs"].to_dict()
        every = [(self._named(str(label)), n) for label, n in runs.items()]
        return [f"{name} ({n} of {self._seeds} runs)" if n < self._seeds else name for name, n in every]


def _titled(measure: Metric, unit: str | None) -> str:
    """A measure with its unit."""
    shown = unit or {"1": "", "share": "share of 1"}.get(measure.unit, measure.unit)
    return f"{measure.label} ({shown})" if shown else measure.label
