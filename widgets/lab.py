"""A lab: edit cluster, jobs and knobs on the left, solve, and watch the rounds on the right.

Every paper's lab has this shape. It is built from what the paper's room declares (schedulers, knobs, formulations);
nothing here knows a paper.
"""

from __future__ import annotations

import contextlib
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import ipywidgets as w

from widgets.core_panel import CorePanel
from widgets.editors import Editors
from widgets.formulation_page import NONE, FormulationPage, describe_request
from widgets.knob_panel import KnobPanel
from widgets.results import Results
from widgets.solve_bar import SolveBar
from widgets.work import Message, ThreadWork, Work, process_work, take_run
from workbench.errors import InputError, ScenarioError, WorkbenchError
from workbench.papers.paper import Room, Scheduler, find_scheduler, formulations, is_own, rooms, schedulers
from workbench.presets import preset, presets
from workbench.run import Run
from workbench.scenario import Scenario
from workbench.units import format_duration

CSS = (Path(__file__).parent / "lab.css").read_text(encoding="utf-8")
STEPS_KEPT = 100
SMALL_S = 2.0
"""A change is solved at once when the last solve took less than this."""


class Setting(NamedTuple):
    """What a person has set: enough to come back to it."""

    scenario: str
    scheduler: str
    knobs: dict[str, Any]


class Lab:
    """The lab of one paper, opened on a scenario (default: `start_here`, or the preset that `scenario` names).

    scenario, run, solution: what the tables say, the last simulation, and its last recorded decision, as objects.
    """

    def __init__(self, paper: str, scenario: Scenario | str | None = None) -> None:
        self._room = _room(paper)
        self._work: Work | None = None
        self._run: Run | None = None
        self._past: list[Setting] = []
        self._present: Setting | None = None
        self._wall_s = float("inf")
        self._showing = False
        self._editors = Editors(self._on_change)
        self._knobs = KnobPanel(self._on_change)
        self._core = CorePanel(self._on_change)
        self._bar = SolveBar(self.solve, self._cancel)
        self._results = Results(self._on_pick)
        self._formulation = FormulationPage()
        self._results.add_page("Formulation", self._formulation.box, self._describe)
        self._build()
        self._start = preset(scenario) if isinstance(scenario, str) else scenario or preset("start_here")
        self._open(self._start)
        self._warm()

    # What a notebook may ask for -------------------------------------------------------------------------------------

    @property
    def scenario(self) -> Scenario:
        """The scenario as the tables have it; raises ScenarioError while a cell is wrong."""
        if not self._core.check():
            raise InputError("core.restart", "what stands there", "a duration >= 0")
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
        """Every knob's value."""
        return self._knobs.values()

    def open(self, scenario: Scenario) -> None:
        """Show another scenario; Undo comes back."""
        self._start = scenario
        self._open(scenario)

    def set(self, scheduler: str | None = None, **knobs: Any) -> None:
        """Choose a scheduler and set knobs from code."""
        if scheduler is not None:
            self._choose.value = find_scheduler(scheduler).name
        self._knobs.set(self._scheduler.settle({**self._knobs.values(), **knobs}))
        self._on_change()

    def solve(self) -> None:
        """Solve and simulate in the background; the charts follow when it is done."""
        try:
            scenario, knobs = self.scenario, self._knobs.values()
        except WorkbenchError as error:
            self._invalid(error)
            return
        name = self._scheduler.name
        request = {"kind": "simulate", "scenario": scenario.to_dict(), "scheduler": name, "knobs": _jsonable(knobs)}
        self._bar.say("working", f"Solving with {self._scheduler.title} ...")
        self._work = ThreadWork() if is_own(name) else process_work()
        self._work.submit(request, self._hear)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.widget)

    # Layout ----------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        names = [("Presets ...", "")] + [(name.replace("_", " "), name) for name, _ in presets()]
        self._presets = w.Dropdown(options=names, value="", layout=w.Layout(width="13em"), tooltip="Open a preset")
        self._presets.observe(lambda change: self._on_preset(change["new"]), "value")
        self._file = w.Text(value="scenario.json", layout=w.Layout(width="11em"), tooltip="File to save to")
        self._file.add_class("wb-file")
        save = _button("Save", "save", "Save the scenario to this file", self._save)
        self._upload = w.FileUpload(accept=".json", description="Load", multiple=False, tooltip="Open a scenario file")
        self._upload.layout.width = "91px"
        self._upload.add_class("wb-upload")
        self._upload.observe(self._on_upload, "value")
        self._undo = _button("Undo", "undo", "Back to before the last change", self._on_undo)
        reset = _button("Reset", "refresh", "Back to what the lab was opened with", lambda: self._open(self._start))
        title = w.HTML(f"<h2>{html.escape(self._room.title)} lab</h2>")
        top = w.HBox([title, self._presets, self._file, save, self._upload, self._undo, reset])
        top.add_class("wb-top")
        left, right = self._left(), w.VBox([self._bar.box, self._results.box])
        left.add_class("wb-left")
        right.add_class("wb-right")
        body = w.HBox([left, right])
        body.add_class("wb-body")
        self.widget = w.VBox([w.HTML(f"<style>{CSS}</style>", layout=w.Layout(display="none")), top, body])
        self.widget.add_class("wb-lab")

    def _left(self) -> w.VBox:
        style = {"description_width": "7em"}
        self._choose = w.Dropdown(
            options=self._offer(), description="Scheduler", style=style, layout=w.Layout(width="97%")
        )
        self._choose.add_class("wb-scheduler")
        self._choose.observe(lambda _: self._on_scheduler(), "value")
        self._note = w.HTML()
        tabs = w.Tab(
            [
                self._editors.cluster,
                self._editors.tables["jobs"],
                self._editors.tables["throughputs"],
                w.VBox([self._knobs.rest, self._core.box]),
            ],
            titles=("Cluster", "Jobs", "Throughputs", "Knobs"),
        )
        return w.VBox([self._choose, self._knobs.main, self._note, tabs])

    def _offer(self) -> list[tuple[str, str]]:
        """The paper's own schedulers first, then all others, those written in the notebook included."""
        own = [s.name for s in self._room.schedulers]
        found = sorted(schedulers(), key=lambda s: s.name not in own)
        return [(s.title, s.name) for s in found]

    @property
    def _scheduler(self) -> Scheduler:
        return find_scheduler(self._choose.value)

    # Changes ---------------------------------------------------------------------------------------------------------

    def _open(self, scenario: Scenario) -> None:
        plan = scenario.plan[0] if scenario.plan else None
        own = [s.name for s in self._room.schedulers]
        wanted = [p for p in scenario.plan if p.scheduler in own] or ([plan] if plan is not None else [])
        names = {s.name for s in schedulers()}
        chosen = next((p for p in wanted if p.scheduler in names), None)
        name = chosen.scheduler if chosen else own[0]
        self._show(Setting(scenario.to_json(), name, dict(chosen.knobs) if chosen else {}))
        self._on_change()

    def _show(self, setting: Setting) -> None:
        """Put a setting into the controls."""
        self._showing = True
        try:
            self._editors.show(Scenario.from_json(setting.scenario, "lab"))
            self._core.show(self._editors.part("core"), self._editors.part("seed"))
            self._choose.options = self._offer()
            self._choose.value = setting.scheduler
            self._knobs.show(self._scheduler, setting.knobs)
        finally:
            self._showing = False

    def _on_scheduler(self) -> None:
        if not self._showing:
            self._knobs.show(self._scheduler)
            self._on_change()

    def _on_change(self) -> None:
        """Something was edited: check it, remember it, and solve it at once if that is quick."""
        if self._showing:
            return
        try:
            scenario, knobs = self.scenario, self._knobs.values()
        except WorkbenchError as error:
            self._invalid(error)
            return
        self._note.value = _ignored(self._scheduler, scenario)
        setting = Setting(scenario.to_json(), self._choose.value, knobs)
        if setting == self._present:
            return
        if self._present is not None:
            self._past = [*self._past[-STEPS_KEPT:], self._present]
        self._present = setting
        self._undo.disabled = not self._past
        self._results.outdated(self._run is not None)
        self._formulation.stale = True
        if self._run is not None and self._wall_s < SMALL_S:
            self.solve()
        else:
            self._bar.say("edited", "Edited, not solved.")

    def _invalid(self, error: WorkbenchError) -> None:
        more = len(error.problems) - 1 if isinstance(error, ScenarioError) else 0
        text = f"{error.where.removeprefix('lab: ')}: expected {error.expected}"
        self._bar.say("invalid", text + (f" (and {more} more)" if more else ""))

    def _on_undo(self) -> None:
        if self._past:
            setting, self._present = self._past.pop(), None
            self._show(setting)
            self._on_change()
            self._undo.disabled = not self._past

    def _on_preset(self, name: str) -> None:
        if name:
            self._presets.value = ""
            self.open(preset(name))

    def _on_upload(self, change: Mapping[str, Any]) -> None:
        for found in change["new"]:
            with contextlib.suppress(UnicodeDecodeError):
                text = bytes(found["content"]).decode("utf-8")
                try:
                    self.open(Scenario.from_json(text, found["name"]))
                except WorkbenchError as error:
                    self._bar.say("failed", str(error).splitlines()[0])
                continue
            self._bar.say("failed", f"{found['name']}: not UTF-8 text; expected a scenario file")

    def _save(self) -> None:
        name = self._file.value.strip() or "scenario.json"
        try:
            plan = [{"scheduler": self._choose.value, "knobs": _jsonable(self._knobs.values())}]
            self.scenario.replace(plan=plan).save(name)
        except WorkbenchError as error:
            self._bar.say("failed", str(error).splitlines()[0])
            return
        self._bar.say(self._bar.state, f"Saved to {name}.")

    def _on_pick(self, job: str | None) -> None:
        """A job was selected in a chart: mark its row."""
        names = [row.get("name") for row in self._editors.tables["jobs"].rows]
        self._editors.tables["jobs"].selected = names.index(job) if job in names else -1

    # Work ------------------------------------------------------------------------------------------------------------

    def _warm(self) -> None:
        """Start the process that will do the work while the person still reads."""
        self._work = process_work()

    def _cancel(self) -> None:
        if self._work is not None:
            self._work.cancel()

    def _describe(self) -> None:
        """Fill the page of the formulation, if it shows another one."""
        name = self._scheduler.name
        if name not in {found.name for found in formulations()}:
            self._formulation.say(NONE)
        elif self._formulation.stale and self._bar.state not in ("working", "invalid"):
            request = describe_request(name, self.scenario.to_dict(), _jsonable(self._knobs.values()))
            process_work().submit(request, self._formulation.hear)

    def _hear(self, message: Message) -> None:
        kind = message["kind"]
        if kind == "progress":
            self._bar.progress(message)
        elif kind == "cancelled":
            self._bar.say("cancelled", "Cancelled. The charts show the run before.")
        elif kind == "error":
            error = message["error"]
            self._bar.say("failed", f"{error['where']}: got {error['value']}; expected {error['expected']}")
        else:
            self._done(take_run(message), float(message["wall_s"]))

    def _done(self, run: Run, wall_s: float) -> None:
        self._run, self._wall_s = run, wall_s
        self._bar.say("done", _summary(run, wall_s))
        self._results.show(run)


class GavelLab(Lab):
    """The lab of Gavel."""

    def __init__(self, scenario: Scenario | str | None = None) -> None:
        super().__init__("gavel", scenario)


def _room(paper: str) -> Room:
    found = {room.name: room for room in rooms() if room.schedulers}
    if paper not in found:
        raise InputError("lab", paper, "one of " + ", ".join(found))
    return found[paper]


def _button(text: str, icon: str, tooltip: str, act: Any) -> w.Button:
    button = w.Button(description=text, icon=icon, tooltip=tooltip, layout=w.Layout(width="7em"))
    button.on_click(lambda _: act())
    button.add_class(f"wb-{text.lower()}")
    return button


def _ignored(scheduler: Scheduler, scenario: Scenario) -> str:
    """Which properties of the jobs the scheduler does not read, though they are set."""
    defaults = {"weight": 1.0, "rewards": None, "entity": None, "gpu_choices": None}
    unread = {name: default for name, default in defaults.items() if name not in scheduler.uses}
    unused = [n for n, default in unread.items() if any(getattr(job, n) != default for job in scenario.jobs)]
    if not unused:
        return ""
    return f"<p class='wb-note'>{html.escape(scheduler.title)} does not read: {', '.join(unused)}.</p>"


def _jsonable(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Knob values as JSON has them (infinity as text, which a knob reads back)."""
    return {k: "inf" if v == float("inf") else v for k, v in json.loads(json.dumps(dict(knobs), default=str)).items()}


def _summary(run: Run, wall_s: float) -> str:
    """What was done, in words, with solver status, time and gap."""
    solved = run.decisions[run.decisions["status"] != ""]
    text = f"Done: {len(run.decisions)} decisions, {format_duration(run.end_s, parts=2)} simulated in {wall_s:.2f} s"
    if solved.empty:
        return text + "."
    worst, gaps = sorted(set(solved["status"]))[-1], solved["gap"].dropna()
    gap = f", largest gap {gaps.max():.2%}" if len(gaps) and gaps.max() > 0 else ""
    seconds = solved["solve_s"].sum() + solved["build_s"].sum()
    return f"{text}; {len(solved)} problems solved ({worst}{gap}) in {seconds:.2f} s."
