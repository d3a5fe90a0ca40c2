"""A lab: turn a knob beside the main picture, and watch the rounds; cluster, jobs and all else are set in a drawer.

Every paper's lab has this shape. It is built from what the paper's room declares (schedulers, knobs, formulations);
nothing here knows a paper.
"""

from __future__ import annotations

import html
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import pandas as pd

from widgets.editors import mistakes
from widgets.editors.knob_panel import Chosen, KnobPanel
from widgets.editors.scheduler_choice import SchedulerChoice
from widgets.editors.setting_history import LabSetting, RowSetting, jsonable
from widgets.lab import words
from widgets.lab.formulation_page import (
    INVALID,
    NONE,
    FormulationPage,
    describe_request,
    exact_request,
    formulations_of,
)
from widgets.lab.highlight import Highlight
from widgets.lab.results import Results, drawings
from widgets.lab.rows_panel import DROPPED
from widgets.lab.scenario_panel import ScenarioPanel
from widgets.lab.scene import Scene
from widgets.lab.scene import check as check_scenes
from widgets.lab.shell import LabShell, SolveBar, kept_open, opened, panels_of, tabs_of, whole
from widgets.lab.side_page import PageChoice, pages_of
from widgets.lab.vary_page import VaryPage
from widgets.parts.lazy_widgets import lazy
from widgets.parts.presenter import Panel
from widgets.work.kernel import MOST_JOBS, KernelWork, is_small
from widgets.work.kernel import PATIENCE_S as HERE_S
from widgets.work.process import process_work
from widgets.work.thread import ThreadWork
from widgets.work.workplace import Message, Workplace, when_idle
from workbench.analysis.metrics.rounds import who_decided
from workbench.base.errors import InputError, WorkbenchError
from workbench.scenario.scenario import Scenario, SchedulerEntry
from workbench.scheduling.declared_room import Room
from workbench.scheduling.estimators import by_name
from workbench.session.api import with_usable_schedulers
from workbench.session.registry import find_scheduler, formulations, is_own, rooms, schedulers, unknown_name
from workbench.simulation.run import Run

if TYPE_CHECKING:
    from workbench.analysis.charts import Drawing

SMALL_S = 5.0
"""A change is solved at once when the run that is shown took less than this, what is being solved has not taken longer
yet, and nothing was cancelled since."""
PATIENCE_S = 3.0
"""Work on what was set before is stopped for a new request when it has taken longer than this."""
TRIAL_S = 0.5
"""For so long a large scenario is tried, to say what a solve costs."""
LOADED = "Loaded, not solved yet."


class Lab(LabShell[LabSetting]):
    """The lab of one paper, opened on a scenario (default: its room's example), a file, or the preset of that name.

    scheduler: the name of the one to open with, with its knobs in the scenario if it is there; default: the first
    of the scenario's that is the paper's. knobs: those to have in sight instead of the declared ones, by name or as
    `("lambda", 0, 4)` with the ends of the slider. Up to ten jobs are solved in the kernel, while a slider is moved.
    scenario, run, solution: what the tables say, the last simulation, and its last recorded decision, as objects.
    """

    EDITED = "Edited, not solved."

    @lazy()
    def __init__(
        self,
        paper: str,
        scenario: Scenario | str | Path | None = None,
        scheduler: str | None = None,
        knobs: Sequence[Chosen] = (),
    ) -> None:
        process_work()  # it warms up while the person still reads
        room = _room(paper)
        self._start = opened(room.example if scenario is None else scenario)
        self._start_with = None if scheduler is None else find_scheduler(scheduler).name
        self._thread, self._here = ThreadWork(), KernelWork(process_work)
        self._number = 0
        self._row: RowSetting | None = None
        self._dropped = ""
        self._noted: tuple[Scenario, str, str, str] | None = None
        self._asked_at = 0.0
        self._run: Run | None = None
        self._wall_s = math.inf
        self._cancelled = False
        self._scenes: list[Scene] = []
        self._scene: int | None = None
        self._before_scenes: LabSetting | None = None
        super().__init__(f"{room.title} lab", SolveBar(self.solve, self._cancel))
        self._choice = SchedulerChoice(room, self._on_scheduler)
        self._scenario = ScenarioPanel(self._on_change, self._on_row)
        self._tables = self._scenario.editors
        self._knobs = KnobPanel(self._on_change, knobs)
        self._vary = VaryPage(self._to_vary, self._varies)
        self._varied, self._described = ThreadWork(), ThreadWork()
        told = (self._light, self._row_changed, self._edited)
        self._formulation = FormulationPage(self._describe, self._solve_exactly, *told)
        self._pages = [make(self) for make in pages_of(room.name)]
        self._build(room.picture)
        self._open(self._start, self._start_with)
        when_idle(drawings)

    # What a notebook may ask for -------------------------------------------------------------------------------------

    @property
    def scenario(self) -> Scenario:
        """The scenario as the tables have it; raises ScenarioError while a cell is wrong."""
        return self._scenario.scenario

    @property
    def run(self) -> Run:
        """The last simulation; raises InputError if there is none yet."""
        if self._run is None:
            raise InputError("lab.run", None, "a run (press Solve first)")
        return self._run

    @property
    def solution(self) -> Mapping[str, Any]:
        """The last decision that solved a problem, as a row of the run's `decisions`; raises InputError without one."""
        solved = self.run.decisions[self.run.decisions["status"] != ""]
        if solved.empty:
            raise InputError("lab.solution", self.run.scheduler, "a scheduler that solves an optimisation problem")
        return dict(solved.iloc[-1])

    @property
    def knobs(self) -> dict[str, Any]:
        """Every knob's value; raises InputError while one is wrong."""
        return self._knobs.values()

    @property
    def scheduler(self) -> str:
        """The name of the scheduler that is chosen."""
        return self._choice.name

    @property
    def belief(self) -> str:
        """The estimator that tells the scheduler speeds, as `workbench.simulate` takes it; raises InputError while one
        of its knobs is wrong.
        """
        return self._scenario.belief.belief

    def open(self, scenario: Scenario) -> None:
        """Show another scenario; Undo comes back, Reset then returns to this one."""
        self._open(scenario)
        self._start, self._start_with = scenario, None

    def set(self, scheduler: str | None = None, *, belief: str | None = None, **knobs: Any) -> None:
        """Choose a scheduler and set knobs from code; a knob `preset` sets the others that are not named here.

        belief: the estimator that tells the scheduler speeds (`oracle`, `nodes`, `layered`, `low_rank:profiled=0.5`);
        `paper`: what its paper says it knows, as where nothing else was chosen.
        """
        found = find_scheduler(scheduler or self.scheduler)
        if belief is None and not self._is_told_its_own():
            belief = self.belief
        known = by_name.belief_of(found, belief)
        kept = {} if found.name != self.scheduler or "preset" in knobs else self._knobs.values(but=knobs)
        settled = found.settle({**kept, **knobs})
        with self._quiet():
            self._choice.choose(found.name)
            self._knobs.show(found, settled)
            self._scenario.belief.choose(known)
        self._on_change()

    def scenes(self, scenes: Sequence[Scene]) -> None:
        """What Present shows from now on, a step at a time by arrow keys; none: the lab's pages again.

        Leaving sets all as it was. Raises InputError for a scene that names a page, knob or measure that is not there.
        """
        check_scenes(scenes, find_scheduler(self.scheduler), self._knobs.in_sight)
        self._scenes = list(scenes)
        self._frame.presenter.refresh()

    def solve(self) -> None:
        """Solve and simulate in the background; the charts follow when it is done."""
        setting = self._check()
        if setting is not None and not self._is_as(setting, self._asked):
            self._solve(setting)

    def _solve(self, setting: LabSetting) -> None:
        own, live = is_own(setting.scheduler), self._is_live(setting)
        self._number += 1
        if self._asked is not None and time.monotonic() - self._asked_at > PATIENCE_S:
            self._stop()
        self._asked, self._asked_at = setting._replace(row=None), time.monotonic()
        request = {"kind": "simulate", **setting.request(as_it_is=live)}
        work: Workplace = self._thread if own else self._here if live else process_work()
        if not live:
            self._say_solving(setting, own)
        elif not self._frame.presenter.bar.drag:  # nothing blinks while a slider is moved
            self._bar.say("working", "Solving ...")
        work.submit(request, partial(self._hear, self._number), self)
        if live and self._asked is not None:  # it took too long here
            self._say_solving(setting, own)

    def _say_solving(self, setting: LabSetting, own: bool) -> None:
        self._outdated(not self._is_as(setting, self._shown))
        self._bar.busy = True
        note = " in this notebook (Cancel takes effect between rounds)" if own else ""
        self._bar.say("working", f"Solving with {self._choice.scheduler.title}{note} ...")

    # Layout ----------------------------------------------------------------------------------------------------------

    def _build(self, picture: str) -> None:
        self._note, self._said = w.HTML(), w.HTML()
        self._said.add_class("wb-scene")
        panel = self._scenario
        self._beside = PageChoice(self._vary.box, self._open_vary, self._pages)
        own = {
            "Model": (self._formulation.box, self._describe),
            "Vary": (self._beside.box, self._beside.opened),
        }
        about = (panel.about, self._note)
        self._results = Results(
            self._followed,
            panel.editors.set_rewards,
            self._varies,
            picture,
            about,
            own,
            self._bar.box,
            told=self._frame.presenter.refresh,
            failed=self._not_drawn,
            let_go=self._formulation.rows.let_go,
            weighed=self._weighed,
        )
        pages = self._results.pages
        pages.observe(lambda _: self._frame.presenter.come_to(self._results.opened), "selected_index")
        knobs = w.VBox([self._knobs.rest, panel.core.box, panel.belief.box, panel.also])
        tabs = {**panel.tabs, "Knobs": knobs}
        self._tabs = tabs_of(tabs, "wb-editors")
        knobs = w.HBox([self._choice.widget, self._knobs.main])
        knobs.add_class("wb-main-knobs")
        above = (self._frame.top, self._said, knobs, self._choice.left_out)
        self._whole = whole(*above, self._frame.sides([self._tabs], w.VBox([self._results.box]), open=False))

    # Presenting ------------------------------------------------------------------------------------------------------

    def _panels(self) -> list[Panel]:
        if self._scenes:
            told = (shorten(f"{at + 1}. {each.says}", 54, placeholder=" ...") for at, each in enumerate(self._scenes))
            return [Panel(title, "scene", partial(self._enter, number)) for number, title in enumerate(told)]
        return panels_of(self._results.pages)

    def _enter(self, number: int) -> None:
        """Show a scene; what it and those before it set is set when it is come to, not when a run of it ends."""
        scene, before = self._scenes[number], self._before_scenes
        if number != self._scene and before is not None:
            self._scene = number
            self._results.open(scene.page)
            self._knobs.point_out(scene.control)
            settled = dict(before.knobs)
            for each in self._scenes[: number + 1]:
                settled |= find_scheduler(before.scheduler).settle({**settled, **each.knobs})
            self._go_to(LabSetting(before.scenario, before.scheduler, settled, before.belief))
        value_html = self._results.compared.measure_html(scene.number) if scene.number else ""
        self._said.value = f"<p>{html.escape(scene.says)}</p><p class='wb-scene-number'>{value_html}</p>"

    def _keep(self) -> Callable[[], None]:
        opened = kept_open(self._results.pages)
        self._before_scenes = before = self._frame.history.present if self._scenes else None

        def restore() -> None:
            self._scene = None
            if before is not None:  # after scenes all is as it was; else one goes on where the lecture ended
                self._go_to(before)
                opened()

        return restore

    def _seen(self) -> tuple[Sequence[Drawing], str]:
        return self._results.seen

    # Changes ---------------------------------------------------------------------------------------------------------

    def _go_to(self, setting: LabSetting) -> None:
        """Also of what was selected since nothing stays."""
        self._results.select(None)
        self._row = setting.row
        super()._go_to(setting)

    def _open(self, scenario: Scenario, scheduler: str | None = None) -> None:
        """Show a scenario with the scheduler of that name; it is solved at once where changes are.

        Without a name: the first of its schedulers that is this paper's. A single one, as Save writes it, is taken
        whatever it is; else the paper's first scheduler. Raises ScenarioError for schedulers that cannot be.
        """
        scenario = with_usable_schedulers(scenario)
        self._frame.offer_presets(scenario)
        names = {found.name for found in schedulers()}
        if scheduler is not None:
            names = {scheduler}
        elif len(scenario.schedulers) != 1:
            names = {name for name in names if self._choice.is_of_the_paper(name)}
        first = SchedulerEntry(scheduler=scheduler or self._choice.first)
        entry = next((each for each in scenario.schedulers if each.scheduler in names), first)
        self._row, self._dropped = None, ""
        found = find_scheduler(entry.scheduler)
        self._show(LabSetting(scenario, found.name, found.settle(entry.knobs), found.belief))
        self._on_change("ready", LOADED)

    def _reset(self) -> None:
        self._open(self._start, self._start_with)
        self._results.compared.forget()  # what was thrown away is no news

    def _show(self, setting: LabSetting) -> None:
        self._formulation.stale = True
        with self._quiet():
            self._scenario.show(setting.scenario, setting.belief)
            self._choice.choose(setting.scheduler)
            self._knobs.show(self._choice.scheduler, setting.knobs)

    def _on_scheduler(self) -> None:
        """Another scheduler, or the same one written anew: what it did is old then."""
        if self._quiet:
            return
        if self._knobs.scheduler is not None and self._knobs.scheduler.name == self._choice.name:
            self._shown = None
        with self._quiet():
            if self._is_told_its_own():
                self._scenario.belief.choose(self._choice.scheduler.belief)
            self._knobs.show(self._choice.scheduler)
        self._on_change()

    def _is_told_its_own(self) -> bool:
        """Whether the scheduler whose knobs are shown is told speeds as its paper says: nobody chose otherwise."""
        shown = self._knobs.scheduler
        return shown is None or self._scenario.belief.widget.value == find_scheduler(shown.name).belief

    def _read(self) -> LabSetting:
        found = LabSetting(self._scenario.to_run, self.scheduler, self._knobs.values(), self.belief)
        return found._replace(row=self._row) if self._is_as(found, self._frame.history.present) else found

    def _is_as(self, setting: LabSetting, other: LabSetting | None) -> bool:
        """Whether both ask for the same run; a changed row is of one that is there."""
        return other is not None and setting._replace(row=None) == other._replace(row=None)

    def _heard(self, setting: LabSetting | None, other: bool) -> None:
        """The formulation, its changed row, the rewards and what is not read follow."""
        self._formulation.stale |= other
        self._formulation.forget()
        if setting is None:
            return
        if self._row is not None and setting.row is None:  # it was one of another run
            self._dropped, self._row = DROPPED.format(self._row.edit.words), None
        if setting.row is not None:  # it was brought back
            self._dropped = ""
        self._bring_row()
        self._knobs.live(self._is_live(setting))
        about = (setting.scenario, setting.scheduler, setting.belief, self._scenario.editors.left_out)
        if about != self._noted:  # more than a knob was turned
            self._noted = about
            self._results.rewards.show_scenario(setting.scenario)
            self._note.value = words.ignored_note(self._choice.scheduler, setting.scenario, *about[2:])

    def _begin(self) -> None:
        self._results.compared.forget()

    def _outdated(self, old: bool) -> None:
        self._results.outdated(old and self._run is not None)

    def _say_working(self, setting: LabSetting) -> None:
        self._bar.say("working", "Solving what is set ...")

    def _say_done(self) -> None:
        self._cancelled = False
        super()._say_done()

    def _take(self, state: str, text: str) -> None:
        """It is solved at once if that is quick."""
        present = self._frame.history.present
        if present is not None and self._is_quick():
            self._solve(present)
        else:
            super()._take(state, text + words.cost(self._wall_s))
            if present is not None and self._asked is None and math.isinf(self._wall_s):
                when_idle(partial(self._try_cost, present))

    def _try_cost(self, setting: LabSetting) -> None:
        """Find out what the first solve will cost, for the status."""
        if self._asked is None and self._frame.history.present is setting and not is_own(setting.scheduler):
            request = {"kind": "cost", **setting.request(), "limit_s": TRIAL_S}
            process_work().submit(request, partial(self._hear_cost, setting), (self, "cost"))

    def _hear_cost(self, setting: LabSetting, message: Message) -> None:
        waits = self._asked is None and self.state in ("ready", "edited") and math.isinf(self._wall_s)
        if message["kind"] == "done" and waits and self._frame.history.present is setting:
            self._bar.say(self.state, self.status + words.first_cost(message))

    def _is_quick(self) -> bool:
        """Whether a change is solved at once, also one to another scenario."""
        present = self._frame.history.present
        if present is not None and self._is_live(present):
            return True
        waited_s = 0.0 if self._asked is None else time.monotonic() - self._asked_at
        return not self._cancelled and max(self._wall_s, waited_s) < SMALL_S

    def _is_live(self, setting: LabSetting) -> bool:
        """Whether its picture follows a slider while it is moved: it is small, and was not found to take long."""
        if is_own(setting.scheduler) or not is_small(setting.scenario):
            return False
        another = self._shown is None or self._shown.scheduler != setting.scheduler
        return another or not self._here.gave_up or self._wall_s < HERE_S

    def _to_save(self) -> Scenario:
        """The scenario with what is set as the first of its schedulers."""
        scenario = self.scenario
        now = {"scheduler": self.scheduler, "knobs": jsonable(self._knobs.values())}
        others = [each.model_dump() for each in scenario.schedulers if each.scheduler != self.scheduler]
        return scenario.replace(schedulers=[now, *others])

    def _on_row(self, index: int) -> None:
        """A person follows a row of the jobs."""
        ran = None if self._run is None else set(self._run.jobs["job"])
        self._scenario.follow(index, self._results, ran, "Solve")

    def _weighed(self, job: str, weight: float) -> None:
        """A job is to have another weight, as by an edit of its row."""
        names = [row.get("name") for row in self._scenario.jobs.rows]
        if job in names:
            self._scenario.jobs.edit(names.index(job), "weight", f"{weight:g}")
        else:
            self._scenario.jobs.message = f"{job} is no longer in the table."

    def _followed(self, job: str | None) -> None:
        """A job is selected in the results."""
        self._scenario.mark(job)
        self._formulation.rows.mark(self._results.about)

    def _light(self, lit: Highlight) -> None:
        self._results.light(lit)
        self._scenario.light(lit)

    @property
    def _is_seen(self) -> bool:
        """Whether what is set, but for a changed row, is what is shown."""
        present = self._frame.history.present
        return self._asked is None and present is not None and self._is_as(present, self._shown)

    def _bring_row(self) -> None:
        """The page Model has the changed row that is set, if its run is there."""
        if self._run is not None and self._is_seen:
            self._formulation.rows.come_to(self._run, self._row, self._results.about)

    def _row_changed(self, row: RowSetting | None) -> None:
        """A person has changed a row of the page Model, a step like any other; a run that is due will have it."""
        present = self._frame.history.present
        if present is not None and self._frame.history.valid and present.row != row:
            self._row = row
            self._frame.heard(present._replace(row=row))

    def _edited(self, run: Run, before: Run | None, words: str) -> None:
        """A row of the page Model is another in every decision of a run, or as it was; the status says which."""
        self._results.look_at(run, before, words)
        if self.state == "done":
            self._bar.say("done", self._summary if before is None else f"Row changed: {who_decided(run)}.")

    # Work ------------------------------------------------------------------------------------------------------------

    def _cancel(self) -> None:
        if self._asked is not None and is_own(self._asked.scheduler):
            self._bar.say("working", "Cancelling before the next round ...")
        self._stop()

    def _stop(self) -> None:
        """Drop all that this lab asked for."""
        self._thread.cancel(self)
        process_work().cancel(self)

    def _varies(self, scheduler: str) -> Workplace:
        """Who works for the pages Vary and Explain, beside what the lab itself has asked for."""
        return self._varied if is_own(scheduler) else process_work()

    def _to_vary(self) -> LabSetting | None:
        """What is set but for a changed row, which is of one run."""
        setting = self._check()
        return setting and setting._replace(row=None)

    def _open_vary(self) -> None:
        """The page Vary is looked at: of an instance that is solved while a slider moves its first runs are made."""
        live = self._run is not None and self._shown is not None and self._is_live(self._shown)
        self._vary.opened(at_once=live and self._asked is None and not isinstance(process_work(), KernelWork))

    def _describe(self) -> None:
        """Fill the page of the formulation, if it shows another one."""
        known = {found.name: found for found in formulations()}
        offered = [known[name] for name in formulations_of(self.scheduler) if name in known]
        self._formulation.offer([(found.title, found.name) for found in offered], self.scheduler)
        name, history = self._formulation.name, self._frame.history
        if history.valid and history.present is not None:
            self._formulation.decides(find_scheduler(self.scheduler), history.present.knobs)
        if name is None:
            self._formulation.say(NONE)
        elif not history.valid or history.present is None:
            self._formulation.say(INVALID)
        elif self._formulation.stale:
            present = history.present
            request = describe_request(name, present.scenario.to_dict(), jsonable(present.knobs))
            self._formulation.wait()
            work: Workplace = self._described if is_own(name) else process_work()
            work.submit(request, self._formulation.hear, self)
        if self._run is not None and self._results.opened == "Model":
            self._formulation.show_run(self._run, self._results.explained.at_s, self._results.about)
            aside = len(self._run.jobs) <= MOST_JOBS and not isinstance(process_work(), KernelWork)
            if self._is_seen and aside and self._formulation.wants_exact:
                self._solve_exactly()

    def _solve_exactly(self) -> None:
        """Have the exact problem solved that the scheduler's algorithm is for."""
        present = self._frame.history.present
        if not self._frame.history.valid or present is None:
            self._formulation.say(INVALID)
            return
        request = exact_request(present.scheduler, present.scenario.to_dict(), jsonable(present.knobs))
        self._formulation.ask_exact(present)
        process_work().submit(request, partial(self._formulation.hear_exact, present), self)

    def _hear(self, number: int, message: Message) -> None:
        """What the labs' process says about a request; about one that was replaced since, nobody wants to know."""
        if number != self._number:
            return
        kind = message["kind"]
        if kind == "progress":
            self._bar.progress(message)
            return
        asked, self._asked = self._asked, None
        self._bar.busy = False
        if kind == "done":
            self._run, self._shown, self._wall_s = message["run"], asked, float(message["wall_s"])
            self._cancelled = False
            self._knobs.live(asked is not None and self._is_live(asked))
            self._summary = words.done(message["run"], self._wall_s)
            if undone := bool(self._frame.history.future):
                self._results.compared.back_to(asked)
            try:
                errors = message["errors"]
                errors = None if errors is None else pd.DataFrame(errors)
                self._results.compared.drag = self._frame.presenter.bar.drag
                self._results.show(message["run"], message["belief"], errors, self._dropped)
                self._dropped = ""
            except Exception as error:
                self._not_drawn(error)
                raise
            if not undone:
                self._results.compared.keep(asked)
            self._on_solved("done", self._summary)
            self._bring_row()
        elif kind == "cancelled":
            self._cancelled = True
            self._on_solved("cancelled", "Cancelled." + (" The charts show the run before." if self._run else ""))
        else:
            self._on_solved("failed", mistakes.refusal(WorkbenchError.from_json(message)))

    def _not_drawn(self, error: Exception) -> None:
        self._bar.say("failed", f"Solved (see lab.run), but not drawn: {error!r}")

    def _on_solved(self, state: str, text: str) -> None:
        """The work has ended; what was edited since has the last word."""
        valid = self._frame.history.valid
        self._outdated(not (valid and self._is_seen))
        if not valid:
            return
        if state == "done" and not self._is_seen:
            self._bar.say("edited", "Edited since, not solved.")
        else:
            self._bar.say(state, text)


def _room(paper: str) -> Room:
    found = {room.name: room for room in rooms() if room.schedulers}
    if paper not in found:
        raise unknown_name("lab", paper, found)
    return found[paper]
