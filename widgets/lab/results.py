"""What a run looks like: the main picture with playback, and five pages below it. One selection links them all."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import pandas as pd

from widgets.editors.reward_editor import RewardEditor, Rewards
from widgets.editors.setting_history import jsonable
from widgets.lab import words
from widgets.lab.admission_page import AdmissionPage
from widgets.lab.before_after import BeforeAfter
from widgets.lab.explain_page import ExplainPage
from widgets.lab.highlight import About, Highlight
from widgets.lab.run_table import RunTable
from widgets.lab.trials import Trials
from widgets.parts.button import button
from widgets.parts.chart_page import ChartPage
from widgets.parts.lazy_widgets import unseen
from widgets.parts.one_in_sight import OneInSight
from widgets.parts.playback import Playback, rounds_of
from widgets.parts.startup import quick_imports
from widgets.work.drawing_pace import LaterSteps
from widgets.work.workplace import Workplace, when_idle
from workbench.analysis import metrics
from workbench.scheduling.estimators.by_name import DEFAULT
from workbench.simulation.run import Run
from workbench.simulation.slot_at_time import SlotAtTime

if TYPE_CHECKING:
    from workbench.analysis.charts import Drawing

PAGES = ("Schedule", "Model", "Why", "Measures", "Vary")
"""The pages of every lab, in this order."""
CHARTS = {
    "JCT": ("completion times", "jct"),
    "Rewards": ("rewards", "rewards"),
    "Clusters": ("logical clusters", "clusters"),
    "Plan": ("plan", "plan"),
    "Window": ("service window", "window"),
    "Gains": ("gains", "gains"),
    "Allocation": ("allocation", "allocation"),
    "Received": ("time received", "received"),
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
"""The charts of the page Measures: what each is called on its buttons, and in the names of its files."""
OF_JOB, OF_TIME = ("Received", "Gains"), ("Plan", "Window", "Allocation")
"""The charts of the selected job, and those of the time that playback has come to."""
PICTURE = "Schedule in numbers"
"""What the main picture is called among the charts, where its numbers and its export are."""
PICTURES = {"tasks": "Tasks", "leases": "Leases"}
"""The main pictures besides the Gantt chart, by the names that rooms declare; a run may have nothing to show in one."""
BY = {"By GPU": "slot", "By job": "job"}
"""The rows of the Gantt chart."""
COLOURS = [
    ("Own colours", "own"),
    *((f"By {name}", name) for name in ("job", "type", "model", "entity", "size", "outcome")),
]
"""What its bars are coloured by: by default jobs by GPU, types by job."""
HINTS = {
    "By GPU": "One row for each GPU",
    "By job": "One row for each job",
    "Tasks": "Each task, and the barriers of rounds",
    "Leases": "The leases of each job, and its deadlines",
}
BY_SLOT = ("By GPU", "Tasks")  # the pictures with a row for each GPU
CLICK = {True: "Click a bar, or an empty place, to ask why.", False: "Click a bar to ask why."}
"""What is said where no job is selected, in the pictures with a row for each GPU and in others."""
TOGETHER, FEW = "all on one axis", 2
"""How to see all signals at once, which is how up to so many of one magnitude are shown at first."""


class Results:
    """The right side of a lab, in the order in which it is seen: the names of the pages, `stage`, which is the main
    picture with its playback, and the page that is open.

    picked: told the name of the selected job, or None; rewarded: told new rewards of jobs, which a person made here;
    work: who works for a scheduler of that name; picture: as rooms declare it; about: what the page Schedule ends
    with; own: the pages that are the lab's own, each with what is called when somebody looks at it; beside: what stands
    beside the names of the pages; told: called when a run's numbers stand beside its picture, which comes first;
    failed: told what went wrong with them; let_go: called when what a row is about is to be pointed out no more;
    weighed: told another weight of a job, which a person wants to try.
    """

    def __init__(
        self,
        picked: Callable[[str | None], None],
        rewarded: Callable[[Rewards], None],
        work: Callable[[str], Workplace],
        picture: str,
        about: Sequence[w.Widget],
        own: Mapping[str, tuple[w.Box, Callable[[], None]]],
        beside: w.Widget,
        told: Callable[[], None],
        failed: Callable[[Exception], None],
        let_go: Callable[[], None],
        weighed: Callable[[str, float], None],
    ) -> None:
        self._picked, self._row_let_go = picked, let_go
        self._picture = PICTURES.get(picture, "By GPU")
        self.rewards = RewardEditor(rewarded, self.select)
        self.admission = AdmissionPage(rewarded)
        self.explained = ExplainPage(self.select, self._on_typed, work, weighed)
        self._run: Run | None = None
        self._measured: tuple[Run, metrics.Summary, pd.Series[float]] | None = None
        self._selected: str | None = None
        self._lit = Highlight()
        self._mind: list[str] = []
        self._words = ""
        self._tried = True
        steps = (self._measure, self._tell, self._tell_pages, self._offer_charts, self._draw_page, told)
        ahead = (lambda: when_idle(self._see["Model"]), lambda: when_idle(self._see["Why"]))  # while nobody waits
        self._later = LaterSteps((*steps, *ahead), failed)
        self._setting_up = False
        self._shown = 0
        self._drawn: dict[str, tuple[object, ...]] = {}
        self._trials = Trials()
        self.compared = BeforeAfter(lambda: self._draw_picture())
        self._pictures: dict[tuple[int, str, str | None], tuple[Run, Drawing]] = {}  # a run that is held keeps its id
        self._belief = DEFAULT
        self._errors: pd.DataFrame | None = None
        self._gantt = ChartPage("the schedule", "gantt")
        self._gantt.view.observe(lambda change: self._on_pick(change["new"]), "picked")
        self._note, self._job = w.HTML(), w.HTML()
        self._job.add_class("wb-job")
        self._note.add_class("wb-outdated")
        self._make_charts()
        self.stage = self._make_stage()
        self._fill: dict[str, Callable[[], None]] = {
            "Schedule": self._show_table,
            "Why": self._explain,
            "Measures": self._draw_chart,
            **{page: opened for page, (_, opened) in own.items()},
        }
        numbers = w.HBox([self.compared.short, self._table.box])
        numbers.add_class("wb-beside")
        boxes: dict[str, w.Box] = {
            "Schedule": w.VBox([numbers, *about]),
            "Why": w.VBox([self.explained.box, self.admission.box]),
            "Measures": self._make_measures(),
            **{page: box for page, (box, _) in own.items()},
        }
        self._see: dict[str, Callable[[], None]] = {name: unseen(box) for name, box in boxes.items()}
        self._see[PAGES[0]]()
        # The picture stands between the names of the pages and the page, also for the keyboard: lab.css shows the page.
        self.pages = w.Tab([w.Box() for _ in PAGES], titles=PAGES)
        self.pages.add_class("wb-pages")
        self.pages.observe(lambda _: self._on_page(), "selected_index")
        page = w.VBox([boxes[name] for name in PAGES])
        page.add_class("wb-contents")
        self.box = w.VBox([self.pages, beside, self.stage, page])
        for name in ("wb-results", "wb-staged", "wb-played"):
            self.box.add_class(name)

    # Parts -----------------------------------------------------------------------------------------------------------

    def _make_stage(self) -> w.VBox:
        self._by = w.ToggleButtons(options=[*BY], tooltips=[HINTS[name] for name in BY])
        self._by.style.button_width = "5.5em"
        self._by.add_class("wb-by")
        self._by.observe(lambda _: self._draw_picture(), "value")
        self._by.observe(lambda _: self._set_lit(), "value")
        self._by.observe(lambda _: self._show_job() if self._selected is None else None, "value")
        self.playback = Playback([self._gantt.view, self.admission.page.view], self._on_time)
        self._find = w.Combobox(placeholder="Find a job", continuous_update=False, layout=w.Layout(width="9em"))
        self._find.add_class("wb-find")
        self._find.observe(lambda _: self._found(), "value")
        self._colour = w.Dropdown(options=COLOURS, layout=w.Layout(width="8.5em"), tooltip="What bars are coloured by")
        self._colour.add_class("wb-colour")
        self._colour.observe(lambda _: self._draw_picture(), "value")
        self._hits, self._key = w.HTML(), w.HTML()
        self._many = w.HBox([self._find, self._hits, self._colour], layout=w.Layout(display="none"))
        about = self.explained.choice  # of the page Model, which has no room for it
        self._tools = w.HBox([self._by, about, self.playback, self._many])
        self._tools.add_class("wb-tools")
        picture = w.VBox([self._gantt.picture])
        picture.add_class("wb-picture")
        self._shaded = button("", "shaded", self._let_go, "Let it go", icon="times")
        self._shaded.layout.display = "none"
        self._key.add_class("wb-key")
        said = w.HBox([*self.compared.line, self._shaded, self._note, self._key, self._job])
        said.add_class("wb-said")
        stage = w.VBox([self._tools, picture, said])
        stage.add_class("wb-stage")
        self._tools.layout.visibility = "hidden"
        return stage

    def _make_charts(self) -> None:
        self._pages: dict[str, ChartPage] = {}
        self._boxes: dict[str, w.Widget] = {PICTURE: self._gantt.tools}
        self._table = RunTable(lambda: self._draw_page())
        self._signal = w.Dropdown(options=[TOGETHER], description="Signal", layout=w.Layout(width="20em"))
        self._signal.add_class("wb-signal")
        self._signal.observe(lambda _: self._draw_page(), "value")

    def _make_measures(self) -> w.HBox:
        """The numbers, and beside them the chart that is chosen."""
        self._lists: dict[tuple[str, ...], w.Dropdown] = {}
        self._listed, self._charts = OneInSight(), OneInSight()
        self._list_charts(("JCT",), "JCT")
        numbers = w.VBox([self.compared.measures, self.compared.jobs])
        charts = w.VBox([self._listed, self._charts])
        numbers.add_class("wb-metrics")
        charts.add_class("wb-page-charts")
        found = w.HBox([numbers, charts])
        found.add_class("wb-page")
        return found

    def _list_charts(self, charts: tuple[str, ...], chosen: str) -> None:
        """Offer these. A list of its own for each choice of charts: a page says the number of what a person has chosen,
        which means the list that was in sight then."""
        if charts not in self._lists:
            found = w.Dropdown(options=charts, value=chosen, description="Chart", layout=w.Layout(width="20em"))
            found.add_class("wb-chart-which")
            found.observe(lambda change: self._choose_chart(change["new"]), "value")
            self._lists[charts] = found
        self._chart = self._lists[charts]
        self._chart.value = chosen
        self._listed.show(self._chart)

    def _choose_chart(self, name: str) -> None:
        """A chart was chosen, perhaps from the list that was there until just now."""
        if name in self._chart.options:
            self._chart.value = name
        self._draw_page()

    def _chart_box(self, name: str) -> w.Widget:
        """What the page Measures has below the choice of that chart, made when it is first chosen: a lab has twenty
        charts, of which few are looked at, and the first picture does not wait for the others."""
        if name not in self._boxes:
            page = self._pages[name] = ChartPage(*CHARTS[name])
            page.view.on_job(self.select)
            above = {"Signals": [self._signal], "Rewards": [self.rewards.box]}.get(name, [])
            self._boxes[name] = w.VBox([*above, page.box])
        return self._boxes[name]

    def _there(self, names: Iterable[str]) -> list[str]:
        """Those pictures and charts in which the run has something to show."""
        looks, look = drawings(), self._look()
        return [name for name in names if name not in looks.ONLY_WITH or looks.ONLY_WITH[name](look)]

    def _offer_pictures(self) -> None:
        """Offer those that the run has; what is open stays if it has it."""
        pictures = [*self._there(PICTURES.values()), *BY]
        before, self._setting_up = self._by.value if self._shown > 1 else self._picture, True
        if list(self._by.options) != pictures:
            self._by.options, self._by.tooltips = pictures, [HINTS[name] for name in pictures]
        self._by.value = before if before in pictures else "By GPU"
        self._setting_up = False

    def _offer_charts(self) -> None:
        """Offer those that the run has, beside those tried before; what is open stays if it has it."""
        charts = (*self._there(CHARTS), PICTURE)
        if self._chart.options != charts:
            before = self._chart.value
            self._list_charts(charts, before if before in charts else charts[0])

    # Showing a run ---------------------------------------------------------------------------------------------------

    def show(self, run: Run, belief: str = DEFAULT, errors: pd.DataFrame | None = None, note: str = "") -> None:
        """Show a run; the selection stays if its job is still there. Only what is in sight is drawn, the picture first.

        belief: the estimator by name that the run was made with; errors: of it, as it learnt (`ErrorLog.table`); note:
        what else is to be minded of it.
        """
        self._belief, self._errors, self._tried = belief, errors, True
        self._look_at(run, None, note)

    def look_at(self, run: Run, before: Run | None, note: str) -> None:
        """Look at what a run would be otherwise, noted so, against what it is; playback and its time stay."""
        self._tried = False
        self.explained.stay()
        self._look_at(run, before, note, keep=True)

    def _look_at(self, run: Run, before: Run | None, note: str, keep: bool = False) -> None:
        """Show a run in the picture, and soon in numbers."""
        self._run, self._words = run, note
        self._shown += 1
        if self._selected is not None and self._selected not in set(run.jobs["job"]):
            self._selected = None
        self._setting_up = True
        self.playback.show(rounds_of(run), keep=keep)
        self._setting_up = False
        self.compared.run(run, before)
        self._offer_pictures()
        self._draw_picture()
        self._tools.layout.visibility = "visible"
        self._later.ask()

    def _measure(self) -> None:
        """The run's numbers, once."""
        run = self._run
        assert run is not None
        if self._measured is not None and self._measured[0] is run:
            return
        measures = metrics.summary(run)
        self._measured = run, measures, metrics.per_job(run)["finish_time_fairness"]
        if self._tried:
            self._trials.add(run, measures, self._belief)

    def _tell(self) -> None:
        """The numbers in sight, and what to mind of the run."""
        self._measure()  # another run may have come since
        assert self._measured is not None
        _, measures, rho = self._measured
        self.compared.show(measures, rho)
        self._mind = [
            *([self._words] if self._words else []),
            *(f"Warning: {text}" for text in measures.warnings),
        ]
        self.outdated(False)
        self._show_job()

    def _tell_pages(self) -> None:
        """What is not in sight learns of the run."""
        run, looks = self._run, drawings()
        assert run is not None
        for own in (self.rewards, self.admission, self.explained):
            own.show_run(run)
        self.explained.played(self.playback.until_s, moved=False)
        names = looks.signal_names(run)
        self._offer_signals(names, together=len(names) <= FEW and looks.signals_alike(run))

    def outdated(self, old: bool) -> None:
        """What to mind of the run: that it is from before the last change, its warnings."""
        lines = [*(["The charts show the run before your last change."] if old else []), *self._mind]
        self._note.value = "".join(f"<p class='wb-note'>{html.escape(line)}</p>" for line in lines)

    def _on_pick(self, picked: Mapping[str, Any]) -> None:
        """A click in the picture: its job is selected, and the pages Model and Why have the GPU, or the job, then."""
        job, drawing = picked.get("job") or None, self._gantt.drawing
        if self._run is None or drawing is None or drawing.axis_s is None or "x" not in picked:
            self.select(job)
            return
        at_s = min(max(picked["x"] * drawing.axis_s, 0.0), self._run.end_s)
        gpu = drawings().gpu_at(self._run, picked["y"]) if self._by.value in BY_SLOT else ""
        here = SlotAtTime(self._run, gpu, at_s).now if gpu else None
        self.select(job or (str(here["job"]) or None if here is not None else None))  # a line may stand on the bar
        self._show_job(words.held(self._run, gpu, at_s) if here is not None else "")
        job = self._selected or ""
        self.explained.look_at(job, gpu, at_s)
        if (job or gpu) and self.opened != "Model":  # which is about it too
            self.open("Why")
        self._draw_page()

    @property
    def selected(self) -> str | None:
        """The job that is selected."""
        return self._selected

    @property
    def about(self) -> About | None:
        """What the pages Why and Model are about: a job, the selected one if there is one, or a GPU."""
        return self.explained.about

    def select(self, job: str | None) -> None:
        """Select a job of the run everywhere, or nothing."""
        if self._run is None or (job is not None and job not in set(self._run.jobs["job"])):
            job = None
        if job == self._selected and self._lit.jobs is None:
            return
        self._selected, self._lit = job, Highlight()
        self._set_lit()
        for page in (self._gantt, self.admission.page, *self._pages.values()):
            page.view.selected = job
            if job is None:
                page.view.picked = {}  # a click where the last one was is another
        self.rewards.select(job)
        self.explained.select(job)
        self._show_job()
        self._draw_page()
        self._picked(job)

    def light(self, lit: Highlight) -> None:
        """Point out bars, rows of types and nodes, and rounds in the picture, and what is of these in the tables."""
        if lit.jobs is None and self._lit.jobs is None:
            return
        self._lit = lit
        self._gantt.view.selected = self._pointed
        self._set_lit()
        if self.opened == "Schedule":
            self._show_table()

    @property
    def _pointed(self) -> str | list[str] | None:
        """What the picture points out: on the page Why, which is about a job, no row's jobs."""
        return self._selected if self._lit.jobs is None or self.opened == "Why" else list(self._lit.jobs)

    def _set_lit(self) -> None:
        lit, shows = self._lit, self._lit.jobs is not None and self.opened != "Why"
        rounds = list(lit.rounds_s) if shows and lit.rounds_s is not None else None
        gpus = (list(lit.gpus) or None) if shows else None
        self._gantt.view.params = {**self._gantt.view.params, "gpus": gpus, "rounds": rounds}
        self._shaded.description = f"Pointed out: {lit.name}"
        self._shaded.layout.display = None if shows else "none"
        key = ["framed: its decision"] if lit.rounds_s is not None else []
        key += [f"tinted: {', '.join(lit.gpus)}"] if lit.gpus and self._by.value == "By GPU" else []
        key += ["faded: other jobs"] if self._run is not None and 0 < len(lit.jobs or ()) < len(self._run.jobs) else []
        self._key.value = f"<p class='wb-note'>{html.escape('; '.join(key))}</p>" if shows and key else ""
        self.compared.light(lit)

    def _let_go(self) -> None:
        """Point out nothing; the job that is selected stays."""
        selected, self._find.value = self._selected, ""
        self._row_let_go()
        self.light(Highlight())
        self.select(selected)

    @property
    def titles(self) -> tuple[str, ...]:
        """The pictures and charts in which the run has something to show."""
        self._later.flush()
        return (*self._by.options, *self._chart.options)

    @property
    def seen(self) -> tuple[list[Drawing], str]:
        """The main picture, none before the first run, and what is said of it with its measures, as HTML."""
        self._later.flush()
        about, drawing = self.compared, self._gantt.drawing
        said = "".join((about.said.value if about.before else "", self._note.value, about.measures.value))
        return ([], "") if drawing is None else ([drawing], said)

    @property
    def opened(self) -> str:
        """The page that is open."""
        return PAGES[self.pages.selected_index or 0]

    def open(self, name: str) -> None:
        """Open a page; or a picture, or a chart on the page Measures, if the run has it."""
        self._later.flush()
        if name in PAGES:
            self.pages.selected_index = PAGES.index(name)
        elif name in self._by.options:
            self._by.value = name
            self.open("Schedule")
        elif name in self._chart.options:
            self._chart.value = name
            self.open("Measures")

    def _look(self, **more: Any) -> Any:
        return drawings().ChartContext(
            self._run, tried=self._trials.made, belief=self._belief, errors=self._errors, **more
        )

    def _draw_picture(self) -> None:
        if self._run is None or self._setting_up:
            return
        by, looks = str(self._by.value), drawings()
        axis_s = looks.kept_axis_s(self._gantt.drawing, self._run.end_s)
        drawing = self._compared_drawing(self._run, by, axis_s)
        self._offer_many(drawing)
        self._gantt.show(drawing, self._pointed, of=json.dumps(jsonable(self._run.knobs)))

    def _offer_many(self, drawing: Drawing) -> None:
        """Find and colours, where the picture is too dense to be read whole."""
        self._many.layout.display = "none" if drawing.overview is None else None
        if drawing.overview is not None and self._run is not None:
            self._find.options = self._run.jobs["job"].tolist()

    def _found(self) -> None:
        """Select the job of that name, else point out those whose names have the text in them."""
        text, self._hits.value = str(self._find.value).strip(), ""
        names = self._run.jobs["job"].tolist() if self._run is not None else []
        found = [name for name in names if text.casefold() in name.casefold()]
        if not text or text in names or len(found) == 1:
            self.light(Highlight())
            self.select(None if not text else text if text in names else found[0])
        else:
            self.light(Highlight(found or None, name=f"jobs with {text} in the name"))
            many = f"{len(found)} jobs have" if found else "No job has"
            self._hits.value = f"<p class='wb-note'>{many} {html.escape(text)} in the name.</p>"

    def _compared_drawing(self, run: Run, by: str, axis_s: float | None) -> Drawing:
        """The main picture, with the outlines of what the run is compared with."""
        looks, before = drawings(), self.compared.before
        colour = None if self._colour.value == "own" else self._colour.value

        def drawn(of: Run, end_s: float | None = None, ghost: Drawing | None = None) -> Drawing:
            if by in BY:
                found: Drawing = looks.gantt(of, BY[by], colour, end_s, ghost, axis_s)
            else:
                found = looks.PAGES[by](self._look(axis_s=axis_s, before=ghost)._replace(run=of))
            return found

        if before is None or (by not in BY and not looks.ONLY_WITH[by](self._look()._replace(run=before))):
            drawing = drawn(run)
            self._pictures = {(id(run), by, colour): (run, drawing)}
            return drawing
        known = self._pictures.get((id(before), by, colour))
        ghost = known[1] if known else drawn(before)
        drawing = drawn(run, max(run.end_s, before.end_s), ghost)
        self._pictures = {(id(run), by, colour): (run, drawing), (id(before), by, colour): (before, ghost)}
        return drawing

    def _on_time(self) -> None:
        """Playback has come to another time."""
        if self._setting_up:
            return
        self.explained.played(self.playback.until_s)
        if self.opened in ("Why", "Model") or self._chart.value in OF_TIME:
            self._draw_page()

    def _on_typed(self) -> None:
        """A time was typed on the page Why: the picture shows as much as has it, and a line there."""
        self._setting_up = True  # playback does not set the time in turn
        self.playback.reach(self.explained.at_s)
        self._setting_up = False
        self._show_job()  # no more of the bar that was clicked, at another time
        self._draw_page()

    def _on_page(self) -> None:
        """Another page is open."""
        self._later.flush()
        self._gantt.view.selected = self._pointed
        self._set_lit()
        try:
            self._draw_page()
        finally:
            self._see[self.opened]()

    def _draw_page(self) -> None:
        """Fill the open page, if it shows something else."""
        if not self._setting_up:
            self._fill[self.opened]()
            self._mark_time()

    def _mark_time(self) -> None:
        """The line in the picture stands at the time that the open page is about, else where playback does."""
        about = self._run is not None and self.opened in ("Model", "Why")
        at_s, params = self.explained.at_s if about else None, self._gantt.view.params
        if params.get("at") != at_s:
            self._gantt.view.params = {**params, "at": at_s}

    def _explain(self) -> None:
        self.explained.opened()
        self.admission.show(self.explained.job)

    def _draw_chart(self) -> None:
        """Draw the chart that is chosen on the page Measures."""
        if self._run is None:
            return
        name = str(self._chart.value)
        self._charts.show(self._chart_box(name))
        if name not in self._pages:
            return
        job = self._selected if name in OF_JOB else None
        until_s = self.playback.until_s if name in OF_TIME else None
        signal = None if self._signal.value == TOGETHER else self._signal.value
        wanted = (self._shown, job, until_s, signal)
        if self._drawn.get(name) == wanted:
            return
        look = self._look(job=job, at_s=until_s, signal=signal)
        self._pages[name].show(drawings().PAGES[name](look), self._selected)
        self._drawn[name] = wanted

    def _offer_signals(self, names: list[str], together: bool) -> None:
        """The choice of the chart Signals; what was chosen stays if it is there. together: all are shown at first."""
        before, self._setting_up = self._signal.value, True
        self._signal.options = [TOGETHER, *names]
        first = TOGETHER if together else names[0]
        self._signal.value = before if before in names else first
        self._signal.layout.display = None if len(names) > 1 else "none"
        self._setting_up = False

    def _show_job(self, here: str = "") -> None:
        """One line about the selected job; here: the bar that was clicked."""
        if self._run is None or self._selected is None:
            click = f"<p class='wb-note'>{CLICK[self._by.value in BY_SLOT]}</p>"
            self._job.value = click if self._run is not None else ""
            return
        said = words.of_job(self._run, self._selected, here)
        self._job.value = f"<p><b>{html.escape(self._selected)}</b>: {html.escape(said)}.</p>"

    def _show_table(self) -> None:
        if self._run is not None:
            self._measure()
            assert self._measured is not None
            self._table.show(self._run, self._selected, self._lit, self._measured[2])


def drawings() -> ModuleType:
    """`widgets.lab.drawings`, imported when it is first needed."""
    with quick_imports():
        from widgets.lab import drawings as found
    return found
