"""A lab: edit cluster, jobs and knobs on the left, solve, and watch the rounds on the right.

Every paper's lab has this shape. It is built from what the paper's room declares (schedulers, knobs, formulations);
nothing here knows a paper.
"""

from __future__ import annotations

import contextlib
import hashlib
import html
import json
import math
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import ipywidgets as w

from widgets.core_panel import CorePanel
from widgets.editors import Editors, spoken
from widgets.formulation_page import INVALID, NONE, FormulationPage, describe_request
from widgets.knob_panel import KnobPanel
from widgets.results import Results
from widgets.solve_bar import SolveBar, StatusLine
from widgets.work import Message, ThreadWork, Work, process_work
from workbench.api import PRESET, ignored, load
from workbench.errors import InputError, ScenarioError, WorkbenchError
from workbench.papers.paper import Room, Scheduler, find_scheduler, formulations, is_own, rooms, schedulers
from workbench.presets import preset, presets
from workbench.run import Run
from workbench.scenario import Scenario
from workbench.units import format_duration

CSS = (Path(__file__).parent / "lab.css").read_text(encoding="utf-8")
FILE = "scenario.json"
STEPS_KEPT = 100
SMALL_S = 2.0
"""A change is solved at once when the last solve took less than this."""
PATIENCE_S = 3.0
"""Work on what was set before is stopped for a new request when it has taken longer than this."""


class Setting(NamedTuple):
    """What a person has set: enough to come back to it."""

    scenario: Scenario
    scheduler: str
    knobs: Mapping[str, Any]


class Lab:
    """The lab of one paper, opened on a scenario (default: `start_here`), a file, or the preset that `scenario` names.

    scenario, run, solution: what the tables say, the last simulation, and its last recorded decision, as objects.
    """

    def __init__(self, paper: str, scenario: Scenario | str | Path | None = None) -> None:
        self._room = _room(paper)
        self._start = _opened("start_here" if scenario is None else scenario)
        self._thread = ThreadWork()
        self._number = 0
        self._asked: Setting | None = None
        self._asked_at = 0.0
        self._run: Run | None = None
        self._shown: Setting | None = None
        self._summary = ""
        self._past: list[Setting] = []
        self._present: Setting | None = None
        self._valid = False
        self._wall_s = math.inf
        self._showing = False
        self._known_files: dict[Path, str] = {}
        self._editors = Editors(self._on_change)
        self._knobs = KnobPanel(self._on_change)
        self._core = CorePanel(self._on_change)
        self._bar = SolveBar(self.solve, self._cancel)
        self._results = Results(self._on_pick)
        self._formulation = FormulationPage(self._describe)
        self._results.add_page("Formulation", self._formulation.box, self._describe)
        self._build()
        self._open(self._start)
        process_work()  # it warms up while the person still reads
        _LABS.add(self)
        _watch_cells()

    # What a notebook may ask for -------------------------------------------------------------------------------------

    @property
    def scenario(self) -> Scenario:
        """The scenario as the tables have it; raises ScenarioError while a cell is wrong."""
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
        return str(self._choose.value)

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
        self._start = scenario

    def set(self, scheduler: str | None = None, **knobs: Any) -> None:
        """Choose a scheduler and set knobs from code; a knob `preset` sets the others that are not named here."""
        found = find_scheduler(scheduler or self.scheduler)
        kept = {} if found.name != self.scheduler or "preset" in knobs else self._knobs.values(but=knobs)
        settled = found.settle({**kept, **knobs})
        with self._quietly():
            self._choose_from_all(found.name)
            self._knobs.show(found, settled)
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
        self._bar.say("working", f"Solving with {self._scheduler.title}{note} ...")
        request = {
            "kind": "simulate",
            "scenario": setting.scenario.to_dict(),
            "scheduler": setting.scheduler,
            "knobs": _jsonable(setting.knobs),
        }
        work: Work = self._thread if own else process_work()
        work.submit(request, partial(self._hear, self._number), self)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.widget)

    # Layout ----------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        names = [("Presets ...", "")] + [(name.replace("_", " "), name) for name, _ in presets()]
        self._presets = w.Dropdown(options=names, value="", layout=w.Layout(width="13em"), tooltip="Open a preset")
        self._presets.observe(lambda change: self._on_preset(change["new"]), "value")
        self._file = w.Text(value=FILE, layout=w.Layout(width="11em"), tooltip="Name of the file to save to")
        self._file.add_class("wb-file")
        save = _button("Save", "save", "Save scenario, scheduler and knobs to this file", self._save)
        self._upload = w.FileUpload(accept=".json", description="Load", multiple=False, tooltip="Open a scenario file")
        self._upload.layout.width = "91px"
        self._upload.add_class("wb-upload")
        self._upload.observe(lambda change: self._on_upload(change["new"]), "value")
        self._undo = _button("Undo", "undo", "Back to before the last change", self._on_undo)
        reset = _button("Reset", "refresh", "Back to the scenario that was opened last", self._on_reset)
        title = w.HTML(f"<h2>{html.escape(self._room.title)} lab</h2>")
        self._filed = StatusLine()
        self._filed.add_class("wb-filed")
        self._about = w.HTML()
        self._about.add_class("wb-about")
        top = w.HBox([title, self._presets, self._file, save, self._upload, self._undo, reset, self._filed])
        top.add_class("wb-top")
        left, right = self._left(), w.VBox([self._bar.box, self._results.box])
        left.add_class("wb-left")
        right.add_class("wb-right")
        body = w.HBox([left, right])
        body.add_class("wb-body")
        style = w.HTML(f"<style>{CSS}</style>", layout=w.Layout(display="none"))
        self.widget = w.VBox([style, top, self._about, body])
        self.widget.add_class("wb-lab")

    def _left(self) -> w.VBox:
        style = {"description_width": "10em"}
        self._choose = w.Dropdown(
            options=self._offer(), description="Scheduler", style=style, layout=w.Layout(width="97%")
        )
        self._choose.add_class("wb-scheduler")
        self._choose.observe(lambda _: self._on_scheduler(), "value")
        self._note, self._also = w.HTML(), w.HTML()
        tabs = w.Tab(
            [
                self._editors.cluster,
                self._editors.tables["jobs"],
                self._editors.tables["throughputs"],
                w.VBox([self._knobs.rest, self._core.box, self._also]),
            ],
            titles=("Cluster", "Jobs", "Throughputs", "Knobs"),
        )
        self._editors.tables["jobs"].observe(lambda change: self._on_row(change["new"]), "selected")
        return w.VBox([self._choose, self._knobs.main, self._note, tabs])

    def _offer(self) -> list[tuple[str, str]]:
        """The paper's own schedulers first, then all others, those written in the notebook included."""
        own = [s.name for s in self._room.schedulers]
        found = sorted(schedulers(), key=lambda s: s.name not in own)
        return [(s.title, s.name) for s in found]

    def _choose_from_all(self, name: str) -> None:
        """Offer what there is by now, and choose one."""
        offer = self._offer()
        if list(self._choose.options) != offer:
            self._choose.options = offer
        self._choose.value = name

    @property
    def _scheduler(self) -> Scheduler:
        return find_scheduler(self.scheduler)

    # Changes ---------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _quietly(self) -> Iterator[None]:
        """Controls set here are not somebody's edits."""
        before, self._showing = self._showing, True
        try:
            yield
        finally:
            self._showing = before

    def _open(self, scenario: Scenario) -> None:
        """Show a scenario with the first entry of its plan that is this paper's; it is solved when somebody asks.

        A plan of one entry, as Save writes it, is taken whatever it names; else the paper's first scheduler.
        """
        own, names = [s.name for s in self._room.schedulers], {s.name for s in schedulers()}
        only = len(scenario.plan) == 1
        plans = [p for p in scenario.plan if p.scheduler in own or (only and p.scheduler in names)]
        name, given = (plans[0].scheduler, plans[0].knobs) if plans else (own[0], {})
        self._show(Setting(scenario, name, find_scheduler(name).settle(given)))
        self._wall_s = math.inf
        self._on_change()

    def _show(self, setting: Setting) -> None:
        """Put a setting into the controls."""
        with self._quietly():
            self._editors.show(setting.scenario)
            self._core.show(self._editors.part("core"), self._editors.part("seed"))
            self._choose_from_all(setting.scheduler)
            self._knobs.show(self._scheduler, setting.knobs)
        self._about.value = _about(setting.scenario)
        self._also.value = _also(setting.scenario)

    def _on_scheduler(self) -> None:
        if not self._showing:
            self._knobs.show(self._scheduler)
            self._on_change()

    def _check(self) -> Setting | None:
        """What the controls say; None, with the reason in the status, if something is wrong."""
        try:
            setting = Setting(self.scenario, self.scheduler, self._knobs.values())
        except WorkbenchError as error:
            self._valid = False
            self._bar.say("invalid", self._wrong(error))
            return None
        self._valid = True
        return setting

    def _on_change(self) -> None:
        """Something was edited: check it, remember it, and solve it at once if that is quick."""
        if self._showing:
            return
        setting = self._check()
        if setting is not None:
            self._remember(setting)
            self._note.value = _ignored(self._scheduler, setting.scenario, self._editors.left_out)
        self._undo.disabled = not self._past and (self._valid or self._present is None)
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
                self._bar.say("edited", "Edited, not solved.")

    def _remember(self, setting: Setting) -> None:
        if setting == self._present:
            return
        if self._present is not None:
            self._past = [*self._past[1 - STEPS_KEPT :], self._present]
        self._present = setting
        self._formulation.stale = True

    def _wrong(self, error: WorkbenchError) -> str:
        """What is wrong, and where, in the words of the panel."""
        problems = error.problems if isinstance(error, ScenarioError) else (error.problem,)
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return spoken(problems[0]) + more

    def _on_undo(self) -> None:
        """Back by one step; while something is wrong, back to the last setting that was right."""
        if self._valid and self._past:
            self._present = self._past.pop()
        elif self._valid or self._present is None:
            return
        self._show(self._present)
        self._on_change()

    def _on_reset(self) -> None:
        self._open(self._start)

    def _on_preset(self, name: str) -> None:
        if name:
            self._presets.value = ""
            self._file.value = FILE
            self.open(preset(name))

    def refresh_offer(self) -> None:
        """Offer the schedulers that were written since; if the chosen one was written anew, what it did is old."""
        again = self._knobs.scheduler is not self._scheduler
        if list(self._choose.options) == self._offer() and not again:
            return
        with self._quietly():
            self._choose_from_all(self.scheduler)
            if again:
                self._knobs.show(self._scheduler)
        if again:
            self._shown = None
            self._on_change()

    # Files -----------------------------------------------------------------------------------------------------------

    def _on_upload(self, files: Iterable[Mapping[str, Any]]) -> None:
        for found in list(files):
            content, name = bytes(found["content"]), str(found["name"])
            try:
                self.open(Scenario.from_json(content.decode("utf-8"), name))
            except UnicodeDecodeError:
                self._say_filed(f"{name}: not UTF-8 text; expected a scenario file", bad=True)
            except WorkbenchError as error:
                self._say_filed(str(error).splitlines()[0], bad=True)
            else:
                self._file.value = name
                self._known_files[Path(name).absolute()] = _digest(content)
                self._say_filed(f"Loaded {name}.")
        if files:
            self._upload.value = ()  # the same file may be loaded again

    def _save(self) -> None:
        """Write the file; one that the lab itself saved or loaded is replaced if nobody changed it since."""
        path = Path(self._file.value.strip() or FILE).expanduser().absolute()
        path = path if path.suffix else path.with_suffix(".json")
        try:
            scenario = self.scenario
            now = {"scheduler": self.scheduler, "knobs": _jsonable(self._knobs.values())}
            others = [plan.model_dump() for plan in scenario.plan if plan.scheduler != self.scheduler]
            ours = self._known_files.get(path) == _digest_of(path)
            scenario.replace(plan=[now, *others]).save(path, force=ours)
        except InputError as error:
            taken = error.where == str(path) and path.exists()
            text = f"{path} exists and is not from this lab; type another name" if taken else self._wrong(error)
            self._say_filed(f"Not saved: {text}.", bad=True)
            return
        self._known_files[path] = _digest_of(path)
        self._say_filed(f"Saved to {path}.")

    def _say_filed(self, text: str, bad: bool = False) -> None:
        self._filed.tone = "bad" if bad else "note"
        self._filed.text = text

    # Selection -------------------------------------------------------------------------------------------------------

    def _on_pick(self, job: str | None) -> None:
        """A job was selected in a chart: mark its row."""
        names = [row.get("name") for row in self._editors.tables["jobs"].rows]
        self._editors.tables["jobs"].selected = names.index(job) if job in names else -1

    def _on_row(self, index: int) -> None:
        """A row of the jobs was entered: show that job in the charts."""
        rows = self._editors.tables["jobs"].rows
        if 0 <= index < len(rows):
            self._results.select(str(rows[index].get("name")))

    # Work ------------------------------------------------------------------------------------------------------------

    def _cancel(self) -> None:
        if self._asked is not None and is_own(self._asked.scheduler):
            self._bar.say("working", "Cancelling before the next round ...")
        self._stop()

    def _stop(self) -> None:
        """Drop all that this lab asked for."""
        self._thread.cancel(self)
        process_work().cancel(self)

    def _describe(self) -> None:
        """Fill the page of the formulation, if it shows another one."""
        known = {found.name: found for found in formulations()}
        offered = [known[name] for name in _formulations_of(self.scheduler) if name in known]
        self._formulation.offer([(found.title, found.name) for found in offered], self.scheduler)
        name = self._formulation.name
        if name is None:
            self._formulation.say(NONE)
        elif not self._valid or self._present is None:
            self._formulation.say(INVALID)
        elif self._formulation.stale:
            knobs = _jsonable(self._present.knobs)
            request = describe_request(name, self._present.scenario.to_dict(), knobs)
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
            self._summary = _summary(message["run"], self._wall_s)
            try:
                self._results.show(message["run"])
            except Exception as error:
                self._bar.say("failed", f"Solved (see lab.run), but not drawn: {error!r}")
                raise
            self._on_solved("done", self._summary)
        elif kind == "cancelled":
            self._wall_s = math.inf
            self._on_solved("cancelled", "Cancelled." + (" The charts show the run before." if self._run else ""))
        else:
            told = message["error"]
            self._on_solved("failed", f"{told['where']}: got {told['value']}; expected {told['expected']}")

    def _on_solved(self, state: str, text: str) -> None:
        """The work has ended; what was edited since has the last word."""
        self._results.outdated(self._run is not None and not (self._valid and self._present == self._shown))
        if not self._valid:
            return
        if state == "done" and self._present != self._shown:
            self._bar.say("edited", "Edited since, not solved.")
        else:
            self._bar.say(state, text)


_LABS: weakref.WeakSet[Lab] = weakref.WeakSet()


@cache
def _watch_cells() -> None:
    """After every cell the labs look for schedulers that it declared."""
    with contextlib.suppress(ImportError):
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
        if shell is not None:
            shell.events.register("post_run_cell", _refresh_offers)


def _refresh_offers(_: Any = None) -> None:
    for lab in list(_LABS):
        lab.refresh_offer()


class GavelLab(Lab):
    """The lab of Gavel."""

    def __init__(self, scenario: Scenario | str | Path | None = None) -> None:
        super().__init__("gavel", scenario)


def _opened(source: Scenario | str | Path) -> Scenario:
    """A scenario, also by the name of a preset or of a file."""
    if isinstance(source, str) and not source.startswith(PRESET) and not Path(source).suffix:
        return preset(source)
    return load(source)


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


def _ignored(scheduler: Scheduler, scenario: Scenario, left_out: str) -> str:
    """Which properties of the jobs the scheduler does not read, though they are set; and what was left out."""
    unused = ignored(scenario, scheduler.name)
    told = [f"{scheduler.title} does not read: {', '.join(unused)}."] if unused else []
    return "".join(f"<p class='wb-note'>{html.escape(text)}</p>" for text in [*told, left_out] if text)


def _about(scenario: Scenario) -> str:
    name = f"<b>{html.escape(scenario.name)}</b>" if scenario.name else ""
    text = ": ".join(filter(None, [name, html.escape(scenario.description)]))
    return f"<p class='wb-note'>{text}</p>" if text else ""


def _also(scenario: Scenario) -> str:
    """What the scenario holds besides the tables and controls: kept as it is, not edited here."""
    core = scenario.core
    counts = {
        "co-located pairs": scenario.colocated,
        "entities": scenario.entities,
        "jobs running at the start": scenario.running,
        "facts of models": scenario.models,
        "listed outages": core.faults.list,
    }
    found = [f"{len(rows)} {name}" for name, rows in counts.items() if rows]
    found += [f"checkpoints every {format_duration(core.checkpoint_s)}"] if core.checkpoint_s else []
    found += [f"a fault every {format_duration(core.faults.mtbf_s)} per node"] if core.faults.mtbf_s else []
    found += [f"scaling law {scenario.scaling.law}"] if scenario.scaling.law != "none" else []
    text = f"Also in this scenario, kept as it is: {', '.join(found)}." if found else ""
    return f"<p class='wb-note'>{html.escape(text)}</p>"


def _formulations_of(scheduler: str) -> list[str]:
    """The formulations of the scheduler's room, its namesake first."""
    room = next((room for room in rooms() if scheduler in {s.name for s in room.schedulers}), None)
    names = [found.name for found in room.formulations] if room is not None else []
    return sorted(names, key=lambda name: name != scheduler)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest_of(path: Path) -> str:
    """The digest of a file; empty if there is none."""
    return _digest(path.read_bytes()) if path.is_file() else ""


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
