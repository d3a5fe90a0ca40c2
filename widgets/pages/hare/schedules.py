"""Hare's schedules side by side: the toy of Fig. 1 with times to change, and the three synchronisations of Fig. 4."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as w

from widgets.editors.mistakes import what_is_wrong
from widgets.lab.results import drawings
from widgets.lab.side_page import Host, two_columns
from widgets.parts.button import button
from widgets.parts.chart_page import ChartPage
from widgets.parts.edit_table import EditColumn, EditTable, TableRow
from widgets.parts.playback import Playback
from widgets.parts.status_line import StatusLine
from widgets.work.study_request import StudyRequest
from workbench.base.errors import WorkbenchError
from workbench.base.rounding import short_number
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario

LEAST_S, MOST_S = 0.01, 1000.0
ROUNDS = (8, 15, 30, 60)
SHARES = (0.0, 0.1, 0.25, 0.5, 1.0)
SLIDER = {"description_width": "9em"}


class Gantts:
    """Schedules of the same jobs below each other, on one axis of time; one selection links them."""

    def __init__(self, count: int, file: str) -> None:
        self.pages = [ChartPage(f"schedule {'abcdef'[i]}", f"{file}-{'abcdef'[i]}") for i in range(count)]
        for page in self.pages:
            page.view.on_job(self._select)
        self.playback = Playback([page.view for page in self.pages])
        self.tools = tools_of(self.pages)
        self.box = w.VBox([w.HBox([self.playback]), *(page.box for page in self.pages), self.tools])
        self.box.add_class("wb-played")
        self._found: list[Mapping[str, Any]] = []
        self._selected: str | None = None
        self._last = self.pages[-1]

    def clear(self) -> None:
        """Forget what is shown; it stays on the page until something else is there."""
        self._found = []

    def only(self, count: int) -> None:
        """Show so many of the pages."""
        self._last = self.pages[count - 1]
        for number, page in enumerate(self.pages):
            page.box.layout.display = None if number < count else "none"

    def add(self, found: Mapping[str, Any]) -> None:
        """Draw the schedules that an answer has besides those that are there."""
        self._found += found["schedules"]
        charts = drawings().charts
        jobs, end_s = found["jobs"], max(one["makespan_s"] for one in self._found)
        if self._selected not in jobs:
            self._selected = None
        stops: set[float] = set()
        for page, one in zip(self.pages, self._found, strict=False):
            drawing = charts.tasks(
                one["tasks"],
                jobs,
                found["gpus"],
                end_s=end_s,
                title=one["title"],
                note=f"{worth(one, self.weighted)}, ends after {seconds(one['makespan_s'])}",
                compact=True,
                legend=page is self._last,
            )
            page.show(drawing, self._selected)
            stops |= set(drawing.stops)
        self.playback.show(sorted(stops))

    weighted = False

    @property
    def schedules(self) -> Sequence[Mapping[str, Any]]:
        """What is shown."""
        return self._found

    def _select(self, job: str | None) -> None:
        self._selected = job
        for page in self.pages:
            page.view.selected = job


def worth(schedule: Mapping[str, Any], weighted: bool) -> str:
    """A schedule's objective in words."""
    what = "weighted JCT" if weighted else "sum of completion times"
    value = schedule["weighted_jct_s"] if weighted else schedule["objective"]
    return f"{what} {seconds(value)}{' x weight' if weighted else ''}"


def seconds(value: float) -> str:
    """Seconds as text, four digits: schedules are held against each other."""
    return f"{short_number(value, 4)} s"


class FigureOnePage:
    """Fig. 1: three jobs on three GPUs, scheduled blind to speeds, with a GPU for each job, and interleaved."""

    title = "Fig. 1"

    def __init__(self, host: Host) -> None:
        self._base = preset("hare_example")
        self._gpus = list(self._base.cluster.types)
        self._said = StatusLine()
        self._asked = StudyRequest("hare.figure_1", self._said, lambda _, found: self.gantts.add(found), self._summary)
        self._shown: list[TableRow] | None = None
        columns = [EditColumn("job", "Job", width=4)]
        columns += [
            EditColumn(gpu, gpu, "float", "s", f"Seconds of a task on {gpu}", LEAST_S, MOST_S, width=6)
            for gpu in self._gpus
        ]
        self.table = EditTable(columns, self._reconstructed(), changed=lambda _: self.opened(), max_rows=3)
        self.table.caption = "Seconds of one task"
        self.table.add_class("wb-fixed-rows")
        again = button("Reconstructed times", "again", self._reset, icon="refresh")
        self.gantts = Gantts(3, "figure1")
        text = w.HTML(
            "<p class='wb-note'>J1 and J2 have one round, J3 has two; a round is two tasks. The paper draws the three "
            "schedules without a table of times: <b>these are reconstructed</b>, so that they give the totals of its "
            "text, 10.5, 9 and 8.5 s. Change one and all three follow; (c) is solved to the optimum, which takes a "
            "few seconds. Point at a task to see for which it waits; click one to follow its job.</p>"
        )
        self.box = two_columns([text, self.table, again], [self.gantts.box], self._said)

    def opened(self) -> None:
        """Schedule the times in the table, if they are others than those that are shown."""
        wrong = self._wrong()
        if wrong:
            self._shown = None
            self._asked.refuse(wrong)
        elif self.table.rows != self._shown:
            self._shown = [dict(row) for row in self.table.rows]
            scenario = self._scenario()
            self.gantts.clear()
            self._asked.ask([(scenario, {"optimum": False}), (scenario, {"optimum": True})])

    def _wrong(self) -> str:
        names = [row.get("job") for row in self.table.rows]
        if len(set(names)) != 3:
            return "The table needs three jobs with three names: one was added, removed or renamed."
        return "Correct the times that are marked." if not self.table.valid else ""

    def _scenario(self) -> Scenario:
        names = [job.name for job in self._base.jobs]
        rows = [
            {"model": f"model of {name}", "accelerator": gpu, "gpus": 1, "steps_per_s": 1.0 / row[gpu]}
            for name, row in zip(names, self.table.rows, strict=True)
            for gpu in self._gpus
        ]
        called = dict(zip(names, (str(row["job"]) for row in self.table.rows), strict=True))
        jobs = [job.model_copy(update={"name": called[job.name]}) for job in self._base.jobs]
        return self._base.replace(throughputs=rows, jobs=jobs)

    def _reconstructed(self) -> list[TableRow]:
        speed = self._base.table.row
        return [
            {"job": job.name, **{gpu: 1.0 / speed(job.model, gpu, 1) for gpu in self._gpus}} for job in self._base.jobs
        ]

    def _reset(self) -> None:
        self.table.rows = self._reconstructed()
        self.opened()

    def _summary(self) -> str:
        sums = [one["objective"] for one in self.gantts.schedules]
        saved = 1 - sums[-1] / sums[0]
        said = ", ".join(f"({letter}) {short_number(value, 4)} s" for letter, value in zip("abc", sums, strict=True))
        return f"Sums of completion times: {said}. Interleaving saves {saved:.0%} of (a), on the same GPUs."


class SynchronisationPage:
    """Fig. 4: scale-fixed, relaxed scale-fixed and scale-adaptive synchronisation of the same jobs."""

    title = "Fig. 4: synchronisation"

    def __init__(self, host: Host) -> None:
        self._host = host
        self._said = StatusLine()
        self._asked = StudyRequest("hare.three_ways", self._said, lambda _, found: self._add(found), self._summary)
        self._shown: tuple[Any, ...] | None = None
        self._missing = w.HTML()
        options = [("Fig. 4's (reconstructed)", "hare_synchronisation"), ("Fig. 1's", "hare_example")]
        self.jobs = w.Dropdown(
            options=[*options, ("of the lab", "")], description="Jobs", style=SLIDER, layout={"width": "97%"}
        )
        self.jobs.add_class("wb-sync-jobs")
        self.more = w.SelectionSlider(
            options=[(f"+{share:.0%}", share) for share in SHARES],
            value=0.0,
            description="Adaptive's work",
            style=SLIDER,
            layout={"width": "97%"},
        )
        self.more.tooltip = "More steps that a scale-adaptive job needs once a round was smaller: nobody knows (ours)"
        self.more.add_class("wb-sync-more")
        self.rounds = w.SelectionSlider(
            options=ROUNDS, value=30, description="Most rounds a job", style=SLIDER, layout={"width": "97%"}
        )
        self.rounds.tooltip = "As many steps as that takes form one scheduled round"
        for control in (self.jobs, self.more, self.rounds):
            control.observe(lambda _: self.opened(), "value")
        self.gantts = Gantts(3, "synchronisation")
        self.gantts.weighted = True
        text = w.HTML(
            "<p class='wb-note'>A round of three tasks, and a free GPU now, the others later. <b>Scale-fixed</b> waits "
            "until there are three; <b>relaxed scale-fixed</b> (Hare) runs two of them on the first, one after the "
            "other; <b>scale-adaptive</b> makes smaller rounds, one after the other, and may need more of them to "
            "train as well (the slider; the paper does not use it). The strip below a task is its synchronising, a "
            "dashed line the barrier of a round, a full one the end of a job.</p>"
        )
        controls = [self.jobs, self.more, self.rounds, self._missing, text]
        self.box = two_columns(controls, [self.gantts.box], self._said)

    def opened(self) -> None:
        """Schedule what is chosen, if it is something else than what is shown."""
        try:
            scenario = preset(self.jobs.value) if self.jobs.value else self._host.scenario
        except WorkbenchError as error:
            self._shown = None
            self._asked.refuse(f"In the drawer Set-up: {what_is_wrong(error)}")
            return
        given = {"more_work": self.more.value, "most_rounds": self.rounds.value}
        wanted = (scenario.key(), *given.values())
        if wanted != self._shown:
            self._shown = wanted
            self.gantts.clear()
            self._asked.ask([(scenario, given)])

    def _add(self, found: Mapping[str, Any]) -> None:
        self._missing.value = left_out_list(found["cannot"])
        self.gantts.only(len(found["schedules"]))
        self.gantts.add(found)

    def _summary(self) -> str:
        *fixed, relaxed, adaptive = (one["weighted_jct_s"] for one in self.gantts.schedules)
        first = f"scale-fixed {short_number(fixed[0] / relaxed)}x and " if fixed else "scale-fixed cannot be, "
        text = f"Weighted JCT: {first}scale-adaptive {short_number(adaptive / relaxed)}x relaxed"
        return f"{text}, all jobs known ahead. {self._most_moved()}"

    def _most_moved(self) -> str:
        """The job to which it matters most, in words."""
        ends = [one["completion_s"] for one in self.gantts.schedules]
        job = max(ends[0], key=lambda name: max(end[name] for end in ends) - min(end[name] for end in ends))
        return f"{job} is complete after {', '.join(seconds(end[job]) for end in ends)}."


def tools_of(pages: Sequence[ChartPage]) -> w.HBox:
    """A button that shows the pages' tables and files, which take room that charts need."""
    shown = w.ToggleButton(description="Numbers and files", icon="table", layout=w.Layout(width="auto"))
    shown.tooltip = "The numbers behind each chart, and its export"
    shown.add_class("wb-tools-toggle")

    def toggle(_: Any) -> None:
        for page in pages:
            page.tools.layout.display = None if shown.value else "none"

    shown.observe(toggle, "value")
    toggle(None)
    return w.HBox([shown])


def left_out_list(cannot: Mapping[str, str]) -> str:
    """What is missing, and why, as HTML."""
    rows = "".join(f"<li><b>{html.escape(name)}</b>: {html.escape(why)}</li>" for name, why in cannot.items())
    return f"<p class='wb-note'>Not here:</p><ul class='wb-note wb-missing'>{rows}</ul>" if rows else ""
