"""Figs. 14 to 19 to drag: more GPUs or jobs, other types, mix, network or batches, for Hare and the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import ipywidgets as w
import pandas as pd

from widgets.lab.results import drawings
from widgets.lab.side_page import Host, two_columns
from widgets.pages.hare.bounds import claim_text
from widgets.pages.hare.schedules import SLIDER, tools_of
from widgets.parts.button import button
from widgets.parts.chart_page import ChartPage
from widgets.parts.playback import Playback
from widgets.parts.status_line import StatusLine
from widgets.work.study_request import StudyRequest
from workbench.base.rounding import short_number
from workbench.papers.hare.algorithms.studies import HARE, QUICK, SCHEMES
from workbench.papers.hare.algorithms.vary import at_bandwidth, at_batch
from workbench.scenario.presets.hare import KINDS, LEVELS, hare_workload
from workbench.scenario.scenario import Scenario

HOUR = 3600.0
MEASURE = "Weighted JCT (h x weight)"
BOUND = "Bound (interval LP)"
GPUS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 160)
JOBS = (12, 24, 36, 48, 72, 100, 150, 200, 300)
SHARE = (0.25, 0.4, 0.55, 0.7, 0.85)
GBPS = (5.0, 10.0, 15.0, 20.0, 25.0, 40.0)
BATCHES = (0.25, 0.5, 1.0, 2.0, 4.0)
SEEDS = (0, 99)
FAST = 64 * 100
"""GPUs x jobs up to which the whole figure is drawn as one drags; beyond, on the button."""
NEAR = 5
"""Numbers of GPUs and jobs in a figure: so many of those offered, around the one that is set."""


class HareSetting(NamedTuple):
    """What the controls say. share: of the jobs of type `kind`, the other types share the rest equally."""

    gpus: int = 16
    jobs: int = 24
    level: str = "high"
    kind: str = KINDS[0]
    share: float = 0.25
    gbps: float = 25.0
    batch: float = 1.0
    seed: int = 7

    def scenario(self) -> Scenario:
        """The cluster and its jobs."""
        rest = (1.0 - self.share) / (len(KINDS) - 1)
        shares = [self.share if kind == self.kind else rest for kind in KINDS]
        made = hare_workload(self.gpus, self.jobs, self.level, shares, self.seed)
        made = at_bandwidth(made, self.gbps) if self.gbps != made.cluster.network_gbps else made
        return at_batch(made, self.batch) if self.batch != 1.0 else made


class Figure(NamedTuple):
    """A figure of section 7.3: which control it varies, over what, and how the axis is called."""

    title: str
    field: str
    values: tuple[Any, ...]
    axis: str


FIGURES = {
    "14": Figure("Fig. 14: number of GPUs", "gpus", GPUS, "GPUs"),
    "15": Figure("Fig. 15: number of jobs", "jobs", JOBS, "Jobs"),
    "16": Figure("Fig. 16: heterogeneity", "level", tuple(LEVELS), "Types of GPUs (1: V100, 2: + K80, 4: + T4, M60)"),
    "17": Figure("Fig. 17: mix of jobs", "share", SHARE, "Share of one type of job (%)"),
    "18": Figure("Fig. 18: bandwidth", "gbps", GBPS, "Bandwidth (Gbit/s)"),
    "19": Figure("Fig. 19: batch size", "batch", BATCHES, "Batch size (times the default)"),
}


class WeightedJctPage:
    """Weighted JCT of Hare and of what it is compared with, all offline, as the setting is dragged."""

    title = "Figs. 14-19: weighted JCT"

    def __init__(self, host: Host) -> None:
        self._host = host
        self._said = StatusLine()
        self._asked = StudyRequest("hare.weighted_jct", self._said, self._add, self._summary)
        self._shown: tuple[Any, ...] | None = None
        self._points: list[Any] = []
        self._values: dict[int, Mapping[str, float]] = {}
        self._now: Mapping[str, Any] = {}
        self._bound: Mapping[str, Any] = {}
        self._quiet = False
        self.controls = self._make_controls()
        self.figure = w.Dropdown(options=[(f.title, n) for n, f in FIGURES.items()], description="Figure", style=SLIDER)
        self.show = w.Dropdown(options=list(SCHEMES), value=HARE, description="Schedule drawn", style=SLIDER)
        for control, name in ((self.figure, "figure"), (self.show, "show")):
            control.layout.width = "97%"
            control.add_class(f"wb-what-{name}")
            control.observe(lambda _: self.opened(), "value")
        hint = "For every value; with so many GPUs and jobs that takes a while"
        self.whole = button("Draw the figure", "what-whole", lambda: self._ask(whole=True), hint, icon="line-chart")
        hint = "Make these jobs and GPUs the lab's scenario, to simulate it with every scheduler"
        open_it = button("Open in the lab", "what-open", self._open, hint, icon="external-link")
        reset = button("Reset", "what-reset", self._reset, icon="refresh")
        self.bars, self.curve = ChartPage("weighted JCT", "what-bars"), ChartPage("figure", "what-curve")
        self.gantt = ChartPage("schedule", "what-schedule")
        self._note = w.HTML()
        buttons = w.HBox([self.whole, open_it, reset])
        buttons.add_class("wb-tools")
        text = w.HTML(
            "<p class='wb-note'>Jobs of Table 2 that arrive within about 12 minutes, and all scheduled as whole jobs "
            "or tasks with the same times. Hare knows all jobs ahead, as in the paper; switches are free. Lengths, "
            "weights, arrivals and the parts of the types are ours.</p>"
        )
        self.playback = Playback([self.gantt.view])
        pages = [self.bars, self.curve, self.gantt]
        self._schedule = w.VBox([w.HBox([self.playback]), self.gantt.box])
        self._schedule.add_class("wb-played")
        controls = [*self.controls.values(), self.figure, self.show, buttons, text, self._note]
        charts = [self.bars.box, self.curve.box, self._schedule, tools_of(pages)]
        self.box = two_columns(controls, charts, self._said)

    def _make_controls(self) -> dict[str, Any]:
        def slider(options: Any, name: str, value: Any, tooltip: str) -> Any:
            found = w.SelectionSlider(options=options, value=value, description=name, style=SLIDER)
            found.tooltip = tooltip
            return found

        first = HareSetting()
        controls: dict[str, Any] = {
            "gpus": slider(GPUS, "GPUs", first.gpus, "In equal parts of each type (Fig. 14)"),
            "jobs": slider(JOBS, "Jobs", first.jobs, "All within about 12 minutes (Fig. 15)"),
            "level": w.Dropdown(
                options=[(f"{level}: {', '.join(kinds)}", level) for level, kinds in LEVELS.items()],
                value=first.level,
                description="Heterogeneity",
                style=SLIDER,
            ),
            "kind": w.Dropdown(options=KINDS, value=first.kind, description="Type of job", style=SLIDER),
            "share": slider([(f"{s:.0%}", s) for s in SHARE], "Its share", first.share, "Others equally (Fig. 17)"),
            "gbps": slider([(f"{g:g}", g) for g in GBPS], "Gbit/s", first.gbps, "Between nodes (Fig. 18)"),
            "batch": slider([(f"{b:g} B0", b) for b in BATCHES], "Batch size", first.batch, "Fig. 19"),
            "seed": w.BoundedIntText(value=first.seed, min=SEEDS[0], max=SEEDS[1], description="Seed", style=SLIDER),
        }
        for name, control in controls.items():
            control.layout.width = "97%"
            control.add_class(f"wb-what-{name}")
            control.observe(lambda _: self.opened(), "value")
        return controls

    @property
    def chosen(self) -> HareSetting:
        """What the controls say."""
        return HareSetting(**{name: control.value for name, control in self.controls.items()})

    def opened(self) -> None:
        """Schedule what is set, if it is something else than what is shown; the whole figure if that is quick."""
        if not self._quiet and self._wanted() != self._shown:
            self._ask(whole=self.chosen.gpus * self.chosen.jobs <= FAST)

    def _wanted(self) -> tuple[Any, ...]:
        return (*self.chosen, self.figure.value, self.show.value)

    def _ask(self, *, whole: bool) -> None:
        self._shown = self._wanted()
        chosen, figure = self.chosen, FIGURES[self.figure.value]
        here = getattr(chosen, figure.field)
        others = [value for value in _near(figure, here) if value != here] if whole else []
        self._points, self._values = [here, *others], {}
        now = chosen.scenario()
        rest: list[tuple[Scenario, Mapping[str, Any]]] = [
            (chosen._replace(**{figure.field: value}).scenario(), {}) for value in others
        ]
        self.whole.layout.display = "none" if whole else None
        self._bound = {}
        self._asked.ask([(now, {"show": self.show.value}), *rest, (now, {"bound": True})])

    def _add(self, number: int, found: Mapping[str, Any]) -> None:
        if number == len(self._points):
            self._bound = found
            self._draw_bars()
            return
        self._values[number] = {name: value / HOUR for name, value in found["values"].items()}
        if number == 0:
            self._now = found
            self._draw_bars()
            self._draw_schedule()
        if len(self._values) == len(self._points):
            self._draw_figure()

    def _draw_bars(self) -> None:
        found = self._now
        title = f"{len(found['jobs'])} jobs on {len(found['gpus'])} GPUs, {found['tasks']:,} tasks"
        bounds = {BOUND: max(self._bound["bound"], 0.0) / HOUR} if self._bound else {}
        drawing = drawings().charts.bound(bounds, self._values[0], x_title=MEASURE, title=title)
        self.bars.show(drawing, None)

    def _draw_schedule(self) -> None:
        charts, found = drawings().charts, self._now
        missing = [f"{name} cannot: {why}" for name, why in found["cannot"].items()]
        one = found["schedule"]
        self._note.value = "".join(f"<p class='wb-note'>{text}</p>" for text in missing)
        self._schedule.layout.display = None if one else "none"
        if one:
            jct_h = short_number(one["weighted_jct_s"] / HOUR, 4)
            name = f"{one['title']}: tasks by GPU, weighted JCT {jct_h} h x weight"
            drawing = charts.tasks(one["tasks"], found["jobs"], found["gpus"], title=name)
            self.gantt.show(drawing, None)
            self.playback.show(drawing.stops)

    def _draw_figure(self) -> None:
        figure = FIGURES[self.figure.value]
        places = [_place(figure, value) for value in self._points]
        rows = [
            {"line": name, "x": place, "y": self._values[number][name]}
            for name in SCHEMES
            for number, place in sorted(enumerate(places), key=lambda pair: pair[1])
            if name in self._values[number]
        ]
        title = figure.title + (f", {self.chosen.kind}" if figure.field == "share" else "")
        drawing = drawings().charts.curve(
            pd.DataFrame(rows), title=title, x_title=figure.axis, y_title=MEASURE, height=170
        )
        self.curve.show(drawing, None)

    def _summary(self) -> str:
        values = self._values[0]
        worse = [name for name in values if name != HARE]
        said = ", ".join(f"{name} {short_number(values[name] / values[HARE])}x" for name in worse)
        few = "" if len(self._points) > 1 else " Press Draw the figure for the other values."
        return f"Weighted JCT over Hare's: {said}. {claim_text(self._bound, QUICK)}{few}"

    def _open(self) -> None:
        self._host.open(self.chosen.scenario())
        self._asked.say("done", "Opened: it is the scenario of the lab now.")

    def _reset(self) -> None:
        self._quiet = True
        for name, value in HareSetting()._asdict().items():
            self.controls[name].value = value
        self._quiet = False
        self.opened()


def _near(figure: Figure, here: Any) -> tuple[Any, ...]:
    """The values of a figure: all of them, or of many those around the one that is set."""
    values = figure.values
    first = max(0, min(values.index(here) - NEAR // 2, len(values) - NEAR))
    return values[first : first + NEAR] if figure.field in ("gpus", "jobs") else values


def _place(figure: Figure, value: Any) -> float:
    """Where a value stands on the axis: levels by their number of types, shares in per cent."""
    if figure.field == "level":
        return float(len(LEVELS[value]))
    return 100.0 * value if figure.field == "share" else float(value)
