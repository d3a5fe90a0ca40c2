"""A lab: edit cluster, jobs and knobs on the left, solve, and watch the rounds on the right.

Every paper's lab has this shape. It is built from what the paper's room declares (schedulers, knobs, formulations);
nothing here knows a paper.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import math
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import ipywidgets as w
import pandas as pd

from widgets import words
from widgets.belief_choice import BeliefChoice
from widgets.core_panel import CorePanel
from widgets.editors import Editors
from widgets.formulation_page import INVALID, NONE, FormulationPage, describe_request
from widgets.knob_panel import KnobPanel
from widgets.results import Results, drawings
from widgets.scenario_file import FILE, ScenarioFile
from widgets.scheduler_choice import SchedulerChoice
from widgets.setting import History, Setting, jsonable
from widgets.side_page import beside, pages_of
from widgets.solve_bar import SolveBar
from widgets.thread_work import ThreadWork
from widgets.vary_page import VaryPage
from widgets.work import Message, Work, process_work
from workbench.api import PRESET, check_plan, load
from workbench.errors import InputError, WorkbenchError
from workbench.estimators.registry import maker
from workbench.papers.paper import Room, find_scheduler, formulations, is_own, rooms, schedulers
from workbench.presets import preset, presets, variants
from workbench.run import Run
from workbench.scenario import Plan, Scenario

CSS = (Path(__file__).parent / "lab.css").read_text(encoding="utf-8")
SMALL_S = 5.0
"""A change is solved at once when the last solve took less than this."""
PATIENCE_S = 3.0
"""Work on what was set before is stopped for a new request when it has taken longer than this."""
EDITED = "Edited, not solved."
LOADED = "Loaded, not solved yet."
IDLE_S = 0.1
"""After so long without anything to do the charts' libraries are loaded."""


class Lab:
    """The lab of one paper, opened on a scenario (default: `start_here`), a file, or the preset that `scenario` names.

    scheduler: the name of the one to open with, with its knobs in the scenario's plan if it is there; default: the
    first of the plan that is the paper's.
    scenario, run, solution: what the tables say, the last simulation, and its last recorded decision, as objects.
    """

    def __init__(self, paper: str, scenario: Scenario | str | Path | None = None, scheduler: str | None = None) -> None:
        process_work()  # it warms up while the person still reads
        room = _room(paper)
        self._start = _opened("start_here" if scenario is None else scenario)
        self._start_with = None if scheduler is None else find_scheduler(scheduler).name
        self._thread = ThreadWork()
        self._number = 0
        self._asked: Setting | None = None
        self._asked_at = 0.0
        self._run: Run | None = None
        self._shown: Setting | None = None
        self._summary = ""
        self._history = History()
        self._valid = False
        self._wall_s = math.inf
        self._showing = False
        self._choice = SchedulerChoice(room, self._on_scheduler)
        self._editors = Editors(self._on_change)
        self._knobs = KnobPanel(self._on_change)
        self._core = CorePanel(self._on_change)
        self._belief = BeliefChoice(self._on_change)
        self._bar = SolveBar(self.solve, self._cancel)
        self._results = Results(self._on_pick, self._editors.set_rewards)
        self._vary = VaryPage(self._check, self._varies)
        self._varied = ThreadWork()
        self._results.add_page("Vary", self._vary.box, self._vary.opened)
        self._formulation = FormulationPage(self._describe)
        self._results.add_page("Formulation", self._formulation.box, self._describe)
        self._file = ScenarioFile(self._to_save, self.open, words.what_is_wrong)
        self._pages = [make(self) for make in pages_of(room.name)]
        self._build(room.title)
        self._open(self._start, self._start_with)
        _when_idle(drawings)

    # What a notebook may ask for -------------------------------------------------------------------------------------

    @property
    def scenario(self) -> Scenario:
        """The scenario as the tables have it; raises ScenarioError while a cell is wrong."""
        self._core.keep(self._editors.part("core"))
        self._editors.change(**self._core.parts())
        return self._editors.read()

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
        return self._belief.belief

    @property
    def state(self) -> str:
        """What the status line says in one word: ready, edited, invalid, working, done, failed or cancelled."""
        return self._bar.state

    @property
    def status(self) -> str:
        """What the status line says."""
        return self._bar.text

    def open(self, scenario: Scenario) -> None:
        """Show another scenario; Undo comes back, Reset then returns to this one."""
        self._open(scenario)
        self._start, self._start_with = scenario, None

    def set(self, scheduler: str | None = None, *, belief: str | None = None, **knobs: Any) -> None:
        """Choose a scheduler and set knobs from code; a knob `preset` sets the others that are not named here.

        belief: the estimator that tells the scheduler speeds (`layered`, `low_rank:profiled=0.5`; `oracle`: the truth).
        """
        told = self.belief if belief is None else maker(belief).text
        found = find_scheduler(scheduler or self.scheduler)
        kept = {} if found.name != self.scheduler or "preset" in knobs else self._knobs.values(but=knobs)
        settled = found.settle({**kept, **knobs})
        with self._quietly():
            self._choice.choose(found.name)
            self._knobs.show(found, settled)
            self._belief.choose(told)
        self._on_change()

    def solve(self) -> None:
        """Solve and simulate in the background; the charts follow when it is done."""
        setting = self._check()
        if setting is None or setting == self._asked:
            return
        own = is_own(setting.scheduler)
        self._number += 1
        if self._asked is not None and time.monotonic() - self._asked_at > PATIENCE_S:
            self._stop()
        self._asked, self._asked_at = setting, time.monotonic()
        self._bar.busy = True
        note = " in this notebook (Cancel takes effect between rounds)" if own else ""
        self._bar.say("working", f"Solving with {self._choice.scheduler.title}{note} ...")
        request = {
            "kind": "simulate",
            "scenario": setting.scenario.to_dict(),
            "scheduler": setting.scheduler,
            "knobs": jsonable(setting.knobs),
            "belief": setting.belief,
        }
        work: Work = self._thread if own else process_work()
        work.submit(request, partial(self._hear, self._number), self)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.widget)

    # Layout ----------------------------------------------------------------------------------------------------------

    def _build(self, title: str) -> None:
        self._presets = w.Dropdown(
            options=_preset_names(), value="", layout=w.Layout(width="13em"), tooltip="Open a preset"
        )
        self._presets.observe(lambda change: self._on_preset(change["new"]), "value")
        self._undo = _button("Undo", "undo", "Back to before the last change", self._on_undo)
        self._redo = _button("Redo", "repeat", "Do again what was undone", self._on_redo)
        reset = _button("Reset", "refresh", "Back to the scenario that was opened last", self._on_reset)
        heading = w.HTML(f"<h2>{html.escape(title)} lab</h2>")
        self._about = w.HTML()
        self._about.add_class("wb-about")
        top = w.HBox([heading, self._presets, *self._file.controls, self._undo, self._redo, reset, self._file.said])
        top.add_class("wb-top")
        left, right = self._left(), w.VBox([self._bar.box, self._results.box])
        left.add_class("wb-left")
        right.add_class("wb-right")
        body = w.HBox([left, right])
        body.add_class("wb-body")
        style = w.HTML(f"<style>{CSS}</style>", layout=w.Layout(display="none"))
        self.widget = w.VBox([style, top, self._about, beside(body, self._pages)])
        self.widget.add_class("wb-lab")

    def _left(self) -> w.VBox:
        self._note, self._also = w.HTML(), w.HTML()
        tabs = w.Tab(
            [
                self._editors.cluster,
                self._editors.jobs,
                self._editors.tables["throughputs"],
                w.VBox([self._knobs.rest, self._core.box, self._belief.box, self._also]),
            ],
            titles=("Cluster", "Jobs", "Throughputs", "Knobs"),
        )
        self._editors.tables["jobs"].followed = self._on_row
        return w.VBox([self._choice.widget, self._knobs.main, self._note, tabs])

    # Changes ---------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _quietly(self) -> Iterator[None]:
        """Controls set here are not somebody's edits."""
        before, self._showing = self._showing, True
        try:
            yield
        finally:
            self._showing = before

    def _open(self, scenario: Scenario, scheduler: str | None = None) -> None:
        """Show a scenario with the scheduler of that name; it is solved when somebody asks.

        Without a name: the first entry of its plan that is this paper's. A plan of one entry, as Save writes it, is
        taken whatever it names; else the paper's first scheduler. Raises ScenarioError for a plan that cannot be.
        """
        check_plan(scenario)
        self._presets.options = _preset_names(scenario.name)
        names = {found.name for found in schedulers()}
        if scheduler is not None:
            names = {scheduler}
        elif len(scenario.plan) != 1:
            names = {name for name in names if self._choice.is_of_the_paper(name)}
        first = Plan(scheduler=scheduler or self._choice.first)
        plan = next((p for p in scenario.plan if p.scheduler in names), first)
        self._show(Setting(scenario, plan.scheduler, find_scheduler(plan.scheduler).settle(plan.knobs)))
        self._wall_s = math.inf
        self._on_change("ready", LOADED)

    def _show(self, setting: Setting) -> None:
        """Put a setting into the controls."""
        with self._quietly():
            self._editors.show(setting.scenario)
            self._core.show(self._editors.part("core"), self._editors.part("seed"))
            self._choice.choose(setting.scheduler)
            self._knobs.show(self._choice.scheduler, setting.knobs)
            self._belief.choose(setting.belief)
        self._about.value = words.about(setting.scenario)
        self._also.value = words.also(setting.scenario)

    def _on_scheduler(self) -> None:
        """Another scheduler, or the same one written anew: what it did is old then."""
        if self._showing:
            return
        if self._knobs.scheduler is not None and self._knobs.scheduler.name == self._choice.name:
            self._shown = None
        with self._quietly():
            self._knobs.show(self._choice.scheduler)
        self._on_change()

    def _check(self) -> Setting | None:
        """What the controls say; None, with the reason in the status, if something is wrong."""
        try:
            setting = Setting(self.scenario, self.scheduler, self._knobs.values(), self.belief)
        except WorkbenchError as error:
            self._valid = False
            self._bar.say("invalid", words.what_is_wrong(error))
            return None
        self._valid = True
        return setting

    def _on_change(self, state: str = "edited", text: str = EDITED) -> None:
        """Something was edited: check it, remember it, and solve it at once if that is quick.

        state, text: what the status says if it is not solved at once.
        """
        if self._showing:
            return
        setting = self._check()
        if setting is None:
            self._history.departed()
        else:
            self._formulation.stale |= self._history.remember(setting)
            self._results.rewards.show_scenario(setting.scenario)
            left_out = self._editors.left_out
            self._note.value = words.ignored_note(self._choice.scheduler, setting.scenario, setting.belief, left_out)
        self._undo.disabled = not self._history.past and (self._valid or self._history.present is None)
        self._redo.disabled = not (self._valid and self._history.future)
        if setting is None:
            self._results.outdated(self._run is not None)
        elif setting == self._asked:
            self._bar.say("working", "Solving what is set ...")
        elif self._asked is None and setting == self._shown:
            self._results.outdated(False)
            self._bar.say("done", self._summary)
        else:
            self._results.outdated(self._run is not None)
            if self._run is not None and self._wall_s < SMALL_S:
                self.solve()
            else:
                self._bar.say(state, text)

    def _on_undo(self) -> None:
        """Back by one step; while something is wrong, back to the last setting that was right."""
        self._go_to(self._history.undo() if self._valid else self._history.present)

    def _on_redo(self) -> None:
        self._go_to(self._history.redo() if self._valid else None)

    def _go_to(self, setting: Setting | None) -> None:
        if setting is not None:
            self._formulation.stale = True
            self._show(setting)
            self._on_change()

    def _on_reset(self) -> None:
        self._open(self._start, self._start_with)

    def _on_preset(self, name: str) -> None:
        if name:
            self._presets.value = ""
            self._file.name.value = FILE
            self.open(preset(name))

    def _to_save(self) -> Scenario:
        """The scenario with what is set as the first entry of its plan."""
        scenario = self.scenario
        now = {"scheduler": self.scheduler, "knobs": jsonable(self._knobs.values())}
        others = [plan.model_dump() for plan in scenario.plan if plan.scheduler != self.scheduler]
        return scenario.replace(plan=[now, *others])

    # Selection -------------------------------------------------------------------------------------------------------

    def _on_pick(self, job: str | None) -> None:
        """A job was selected in a chart: mark its row."""
        names = [row.get("name") for row in self._editors.tables["jobs"].rows]
        self._editors.tables["jobs"].selected = names.index(job) if job in names else -1

    def _on_row(self, index: int) -> None:
        """A person follows a row of the jobs: that job is selected in the charts, or let go if it was."""
        table = self._editors.tables["jobs"]
        job = str(table.rows[index].get("name"))
        self._results.select(None if job == self._results.selected else job)
        if self._run is None:
            table.message = "Solve first: then the charts show where this job runs."
        elif self._results.selected == job:
            table.message = f"The charts follow {job}."
        else:
            table.message = "The charts follow no job." if job in set(self._run.jobs["job"]) else f"{job} did not run."

    # Work ------------------------------------------------------------------------------------------------------------

    def _cancel(self) -> None:
        if self._asked is not None and is_own(self._asked.scheduler):
            self._bar.say("working", "Cancelling before the next round ...")
        self._stop()

    def _stop(self) -> None:
        """Drop all that this lab asked for."""
        self._thread.cancel(self)
        process_work().cancel(self)

    def _varies(self, scheduler: str) -> Work:
        """Who works for the page Vary, beside what the lab itself has asked for."""
        return self._varied if is_own(scheduler) else process_work()

    def _describe(self) -> None:
        """Fill the page of the formulation, if it shows another one."""
        known = {found.name: found for found in formulations()}
        offered = [known[name] for name in _formulations_of(self.scheduler) if name in known]
        self._formulation.offer([(found.title, found.name) for found in offered], self.scheduler)
        name, present = self._formulation.name, self._history.present
        if name is None:
            self._formulation.say(NONE)
        elif not self._valid or present is None:
            self._formulation.say(INVALID)
        elif self._formulation.stale:
            request = describe_request(name, present.scenario.to_dict(), jsonable(present.knobs))
            self._formulation.wait()
            process_work().submit(request, self._formulation.hear, self)

    def _hear(self, number: int, message: Message) -> None:
        """What the worker says about a request; about one that was replaced since, nobody wants to know."""
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
            self._summary = words.done(message["run"], self._wall_s)
            try:
                errors = message["errors"]
                self._results.show(message["run"], message["belief"], None if errors is None else pd.DataFrame(errors))
            except Exception as error:
                self._bar.say("failed", f"Solved (see lab.run), but not drawn: {error!r}")
                raise
            self._on_solved("done", self._summary)
        elif kind == "cancelled":
            self._wall_s = math.inf
            self._on_solved("cancelled", "Cancelled." + (" The charts show the run before." if self._run else ""))
        else:
            self._on_solved("failed", words.told(message["error"]))

    def _on_solved(self, state: str, text: str) -> None:
        """The work has ended; what was edited since has the last word."""
        same = self._history.present == self._shown
        self._results.outdated(self._run is not None and not (self._valid and same))
        if not self._valid:
            return
        if state == "done" and not same:
            self._bar.say("edited", "Edited since, not solved.")
        else:
            self._bar.say(state, text)


def _when_idle(act: Any) -> None:
    """Do something when the kernel's event loop has had nothing to do; without a loop it is left to the first use."""
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop().call_later(IDLE_S, act)


def _opened(source: Scenario | str | Path) -> Scenario:
    """A scenario, also by the name of a preset or of a file."""
    if isinstance(source, str) and not source.startswith(PRESET) and not Path(source).suffix:
        return preset(source)
    return load(source)


def _preset_names(shown: str = "") -> list[tuple[str, str]]:
    """Every preset, and below the one that is shown its variants: the list stays short."""
    names = [("Presets ...", "")]
    for name, _ in presets():
        names.append((name.replace("_", " "), name))
        if shown in (name, *variants(name)):
            names += [("\N{EN SPACE}" + each.replace("_", " "), each) for each in variants(name)]
    return names


def _room(paper: str) -> Room:
    found = {room.name: room for room in rooms() if room.schedulers}
    if paper not in found:
        raise InputError("lab", paper, "one of " + ", ".join(found))
    return found[paper]


def _button(text: str, icon: str, tooltip: str, act: Any) -> w.Button:
    button = w.Button(description=text, icon=icon, tooltip=tooltip, layout=w.Layout(width="6.4em"))
    button.on_click(lambda _: act())
    button.add_class(f"wb-{text.lower()}")
    return button


def _formulations_of(scheduler: str) -> list[str]:
    """The formulations of the scheduler's room, its namesake first."""
    room = next((room for room in rooms() if scheduler in {s.name for s in room.schedulers}), None)
    names = [found.name for found in room.formulations] if room is not None else []
    return sorted(names, key=lambda name: name != scheduler)
