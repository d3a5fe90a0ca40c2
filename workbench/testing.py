"""What every formulation, scheduler and room must keep, as one check for its tests: `workbench.testing.check(ROOM)`.

All that is wrong is told at once, each with where it is, what was found and what was expected. Nothing here needs a
testing library; the shipped papers and baselines are held to the same function.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib.util
import inspect
import io
import json
import logging
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyomo.environ as pyo

from workbench.base.errors import NOTHING, InputError, Problem, ScenarioError, Words, WorkbenchError, one_of
from workbench.scenario.job import Job
from workbench.scenario.presets import is_preset, presets
from workbench.scenario.scenario import Scenario
from workbench.scheduling import notation
from workbench.scheduling.contract import Formulation, Knobs, Memory, Result, Scheduler, Timing
from workbench.scheduling.decision import Decision
from workbench.scheduling.room import Room
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import Solver, SolverName, solve_model
from workbench.session.api import READ_BY_SOME, load, snapshot_at, time_of_solve
from workbench.session.registry import rooms
from workbench.simulation.job_at_time import Explained, JobAtTime
from workbench.simulation.loop import simulate
from workbench.simulation.stop import Until

SMALL = "start_here"
"""The built-in scenario on which a formulation without a room is built, and every scheduler runs."""
LIMITED = Solver(time_limit_s=60, gap=0.05)
LATEST_S = 200_000.0
"""A run of a check ends then, finished or not."""
TOLERANCE = 1e-6
"""How far, relative, a recomputed objective may be from the model's."""
WALL_TIMES = ("build_s", "solve_s")
_SYMBOL = re.compile(r"\S+( \S+)?")
_PARTS = (pyo.Set, pyo.Param, pyo.Var, pyo.Constraint, pyo.Objective)
_SHOWN = (pyo.Var, pyo.Objective, pyo.Constraint, pyo.Expression)
_KNOBS_OF_ALL = ("preset", "space_sharing")
"""Knobs that choose others, or need a scenario that has pairs."""


class ContractError(ScenarioError):
    """A formulation, scheduler or room breaks its contract. `problems` lists how, the first is the error's own."""


def check(offered: Formulation[Any] | Scheduler | Room, scenario: Scenario | str | None = None) -> None:
    """Raise ContractError with all that is wrong with a formulation, a scheduler, or a room and all that it offers.

    scenario: where a formulation is built and solved and a scheduler runs (also a file or `preset:NAME`); by default
    the `example` of the room for formulations, and two small scenarios, one with failures and restarts, for schedulers.
    """
    found = list(_wrong(offered, scenario))
    if found:
        raise ContractError(found)


def _wrong(offered: Any, scenario: Scenario | str | None) -> Iterator[Problem]:
    if isinstance(offered, Room) and not is_preset(offered.example):
        expected = one_of(offered.example, (name for name, _ in presets()))
        yield Problem(f"room {offered.name}, example", offered.example, expected)
        return
    if isinstance(offered, Room):
        yield from _wrong_room(offered)
        for each in (*offered.formulations, *offered.schedulers):
            named = scenario is None and isinstance(each, Formulation)
            yield from _wrong(each, f"preset:{offered.example}" if named else scenario)
        return
    if isinstance(offered, type) or not isinstance(offered, (Formulation, Scheduler)):
        made = f": {offered.__name__}()" if isinstance(offered, type) else ""
        if isinstance(offered, str) or (callable(offered) and not made):
            made = "; `workbench.find_scheduler(NAME)` and `find_formulation(NAME)` give those that have a name"
        yield Problem("check", offered, f"an instance of a Formulation, Scheduler or Room{made}")
        return
    declared = [*_wrong_declaration(offered)]
    yield from declared
    if declared:
        return
    if isinstance(offered, Formulation):
        yield from _wrong_formulation(offered, load(scenario or f"preset:{_example(offered)}"))
    else:
        for world in [load(scenario)] if scenario is not None else [load(f"preset:{SMALL}"), _with_failures()]:
            yield from _wrong_scheduler(offered, world)


def _example(formulation: Formulation[Any]) -> str:
    """The example of the room that offers a formulation of this name."""
    return next((room.example for room in rooms() if formulation.name in {f.name for f in room.formulations}), SMALL)


@contextlib.contextmanager
def _telling(where: str, expected: str, told: list[Problem]) -> Iterator[None]:
    """Whatever is raised inside becomes a problem: of ours with its own words."""
    try:
        yield
    except ScenarioError as error:
        told += [Problem(f"{where}, {each.where}", each.value, each.expected) for each in error.problems]
    except WorkbenchError as error:
        told.append(Problem(f"{where}, {error.where}", error.value, error.expected))
    except Exception as error:
        told.append(Problem(where, Words(f"{type(error).__name__}: {error}"), expected))


# ---- what is declared ----


def _wrong_declaration(offered: Formulation[Any] | Scheduler) -> Iterator[Problem]:
    """Name, title, knobs and presets: the room's own checks, and what they do not see."""
    name = getattr(offered, "name", None)
    room = name.split(".")[0] if isinstance(name, str) and name.isascii() and name.split(".")[0].isidentifier() else "x"
    told: list[Problem] = []
    with _telling("declaration", "a declaration", told):
        if isinstance(offered, Formulation):
            Room(name=room.lower(), formulations=(offered,))
        else:
            Room(name=room.lower(), schedulers=(offered,))
        where = f"{offered.name}, knobs"
        for knob in offered.knobs:
            if not knob.help:
                yield Problem(f"{where}, {knob.name}", NOTHING, "help: a sentence on what it does")
            if knob.name == "round_s" and knob.maximum == math.inf:
                yield Problem(f"{where}, round_s", math.inf, "a maximum: no round is endless")
        for name, values in offered.presets.items():
            settled = offered.settle({"preset": name})
            for key, value in values.items():
                if settled[key] != offered.settle({key: value})[key]:
                    yield Problem(f"{where}, preset {name}, {key}", settled[key], f"{value}, as the preset says")
        json.dumps(offered.settle({}))
        try:
            offered.settle({"no such knob": 1})
        except InputError:
            pass
        else:
            yield Problem(where, "no such knob", "settle({...}) refuses a knob that is not declared")
    yield from told


def _wrong_room(room: Room) -> Iterator[Problem]:
    """Its picture, symbols and explanations."""
    where = f"room {room.name}"
    if importlib.util.find_spec(f"workbench.analysis.charts.{room.picture}") is None:
        yield Problem(f"{where}, picture", room.picture, "a chart: a module of workbench.analysis.charts")
    told: list[Problem] = []
    known: set[str] = set()
    with _telling(f"{where}, symbols", "models whose symbols can be read", told):
        for formulation in room.formulations if room.symbols else ():
            model = formulation.build(*_posed(formulation, load(f"preset:{room.example}")))
            known |= {f"{formulation.name} {symbol}" for symbol in notation.symbols(model)["symbol"]}
        for idea, named in room.letters().items():
            for each in named:
                if each not in known:
                    yield Problem(f"{where}, symbols, {idea}", each, "a symbol of that formulation's model")
    for scheduler in room.schedulers:
        if scheduler.name not in room.explanations:
            yield Problem(f"{where}, explanations", NOTHING, f"a function for {scheduler.name}")
            continue
        with _telling(f"{where}, explanations, {scheduler.name}", "an Explained", told):
            run = simulate(load(f"preset:{SMALL}"), scheduler, stop=Until(LATEST_S))
            for job, part in ((job, part) for job in run.jobs["job"] for part in (0.0, 0.3, 1.0)):
                found = room.explanations[scheduler.name](JobAtTime(run, job, part * run.end_s))
                if not isinstance(found, Explained):
                    raise InputError("answer", found, "an Explained")
    yield from told


# ---- a formulation ----


def _posed(formulation: Formulation[Any], scenario: Scenario, **changed: Any) -> tuple[Any, Knobs]:
    """Data and knobs at the instant of the scenario at which the formulation is solved."""
    knobs = {**formulation.settle({}), **changed}
    at_s = time_of_solve(scenario, formulation)
    return formulation.data(snapshot_at(scenario, at_s, offline=formulation.offline), knobs), knobs


def _wrong_formulation(formulation: Formulation[Any], scenario: Scenario) -> Iterator[Problem]:
    name = formulation.name
    told: list[Problem] = []
    with _telling(f"{name}, docstring", "a statement, line by line", told):
        yield from _wrong_statement(formulation)
    with _telling(f"{name}, data", "the numbers of the problem", told):
        data, knobs = _posed(formulation, scenario)
        yield from _not_frozen(f"{name}, data", data)
        with _telling(f"{name}, build", "an unsolved model", told):
            model, more = _built(formulation, data, knobs)
            yield from more
            yield from _wrong_model(formulation, model)
            yield from _wrong_with_other_knobs(formulation, scenario)
        for solver in get_args(SolverName):
            with _telling(f"{name}, {solver}", "an answer", told):
                yield from _wrong_answer(formulation, data, knobs, dataclasses.replace(LIMITED, name=solver))
    yield from told


def _wrong_statement(formulation: Formulation[Any]) -> Iterator[Problem]:
    """The module's docstring: one objective, first; a line for each part; text that can be typeset."""
    where = f"{formulation.name}, docstring"
    lines = notation.equations(formulation)
    if not lines:
        yield Problem(where, NOTHING, "lines such as `max   t        (4.1)   worst_job`, the objective first")
        return
    if lines[0].sense not in ("max", "min") or any(line.sense for line in lines[1:]):
        yield Problem(
            where, [line.sense for line in lines if line.sense], "one objective, max or min, in the first line"
        )
    names = [line.part for line in lines]
    for part in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield Problem(where, part, "one line for each part")
    shown = notation.render(formulation)
    if "$$" not in shown:
        yield Problem(where, Words("a formula that notation.to_tex cannot read"), "formulas as in the shipped ones")
    text = re.sub(r"\$\$.*?\$\$|\$.*?\$|`.*?`", "", shown, flags=re.DOTALL)
    for raw in re.findall(r"\b[A-Za-z]\w*[_^]\w*", text):
        yield Problem(f"{where}, text", raw, "a symbol that can be typeset, or code between backquotes")
    if re.search(r":\s*(\n\n|$)", text):
        yield Problem(f"{where}, text", Words("a sentence that ends in a colon"), "what it announces, before equations")


def _not_frozen(where: str, data: Any) -> Iterator[Problem]:
    declared: Any = getattr(data, "__dataclass_fields__", None) or getattr(type(data), "model_fields", ())
    fields = list(declared)
    if not fields:
        yield Problem(where, type(data), "a frozen dataclass (or Pydantic model) with the numbers of the problem")
        return
    before = getattr(data, fields[0])
    try:
        setattr(data, fields[0], before)
        yield Problem(where, Words(f"{type(data).__name__} whose fields can be set"), "@dataclass(frozen=True)")
    except (AttributeError, TypeError, ValueError):
        pass
    for field in fields:
        value = getattr(data, field)
        if isinstance(value, np.ndarray) and value.flags.writeable:
            yield Problem(f"{where}, {field}", Words("an array that can be written into"), "read-only (base.arrays)")


def _built(formulation: Formulation[Any], data: Any, knobs: Knobs) -> tuple[pyo.ConcreteModel, list[Problem]]:
    """The model, and what `build` did besides."""
    where, said = f"{formulation.name}, build", io.StringIO()
    log = logging.getLogger("pyomo")
    handler = logging.StreamHandler(said)
    log.addHandler(handler)
    try:
        with contextlib.redirect_stdout(said):
            model = formulation.build(data, knobs)
    finally:
        log.removeHandler(handler)
    found = []
    if not isinstance(model, pyo.ConcreteModel):
        raise InputError("answer", model, "a pyomo ConcreteModel")
    if said.getvalue():
        found.append(Problem(where, Words(said.getvalue().strip()), "nothing printed, no warning (unordered sets?)"))
    if any(not var.stale and not var.fixed for var in model.component_data_objects(pyo.Var)):
        found.append(Problem(where, Words("variables with values of a solve"), "an unsolved model"))
    for part in model.component_objects(pyo.Set):
        if not part.is_constructed() or not all(each.isordered() for each in part.values()):
            found.append(Problem(f"{where}, {part.local_name}", Words("an unordered set"), "a list or tuple in order"))
    if re.search(r"\b(open|random|time\.)\b", inspect.getsource(type(formulation).build)):
        found.append(Problem(where, Words("a clock, file or random state"), "only its data and knobs"))
    return model, found


def _differences(where: str, statement: Any, model: pyo.ConcreteModel) -> Iterator[Problem]:
    """Docstring's `(tag) part_name` against the parts' `doc=`: objective, constraints and decision variables."""
    stated = {line.part: line.tag for line in notation.equations(statement)}
    for part, tag in notation.tags(model).items():
        if not tag:
            yield Problem(f"{where}, {part}", NOTHING, "doc= that begins with a tag: (3), (4.1) or (ours)")
        elif part not in stated:
            yield Problem(f"{where}, {part}", NOTHING, f"a line of the docstring that ends in ({tag})   {part}")
        elif stated[part] != tag:
            yield Problem(f"{where}, {part}", f"({tag})", f"({stated[part]}), as the docstring says")
    for part in stated:
        if part not in notation.tags(model):
            yield Problem(f"{where}, {part}", NOTHING, "a part of the model for the docstring's line")


def _wrong_model(formulation: Formulation[Any], model: pyo.ConcreteModel) -> Iterator[Problem]:
    where = formulation.name
    yield from _differences(where, formulation, model)
    lines = notation.equations(formulation)
    active = list(model.component_data_objects(pyo.Objective, active=True))
    senses = [{pyo.maximize: "max", pyo.minimize: "min"}[each.sense] for each in active]
    if lines and senses != [lines[0].sense]:
        yield Problem(f"{where}, objective", senses, f"one active objective, {lines[0].sense} as in the docstring")
    table = notation.symbols(model)
    for symbol in table.loc[table["symbol"].duplicated(), "symbol"]:
        yield Problem(f"{where}, symbols", symbol, "one meaning for each symbol")
    stated = set(re.findall(r"[A-Za-z]+(?:\^[a-z]+)?_[a-z]+", " ".join(line.formula for line in lines)))
    for symbol in sorted(s for s in stated if s.split("_")[0] not in ("sum", "max", "min")):
        if symbol not in set(table["symbol"]):
            yield Problem(f"{where}, symbols", symbol, "doc= of a set, parameter or variable for it")
    yield from _wrong_parts(where, model, table)
    shown = re.sub(r'""".*?"""', "", notation.source(formulation.statement(formulation.settle({}))), flags=re.DOTALL)
    for part in model.component_objects(_SHOWN, descend_into=False):
        name = part.local_name
        if not re.search(rf"\.{name} = pyo\.|\bdef {name}\(", shown):
            expected = "a part that functions of its room add, reached from `build` by name: a lab shows their source"
            yield Problem(f"{where}, {name}", Words("not in the source that is shown"), expected)


def _wrong_parts(where: str, model: pyo.ConcreteModel, table: pd.DataFrame) -> Iterator[Problem]:
    """Names of parts; symbol, meaning and unit of sets, parameters and variables."""
    rows = {str(row["part"]): row for row in table.to_dict("records")}
    for part in model.component_objects(_PARTS, descend_into=False):
        name, is_set = part.local_name, isinstance(part, pyo.Set)
        if is_set and not part.doc and "_" in name:
            continue  # an index set that Pyomo made itself
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*" if is_set else r"[a-z][a-z0-9_]*", name):
            yield Problem(f"{where}, {name}", name, "CAPITALS" if is_set else "small letters, digits and _")
        if isinstance(part, (pyo.Set, pyo.Param, pyo.Var)):
            row = rows.get(name, {"symbol": "", "meaning": "", "unit": ""})
            if not (_SYMBOL.fullmatch(row["symbol"]) and row["meaning"] and (row["unit"] or is_set)):
                yield Problem(f"{where}, {name}", part.doc or NOTHING, "doc= symbol | meaning | unit")


def _wrong_with_other_knobs(formulation: Formulation[Any], scenario: Scenario) -> Iterator[Problem]:
    """Whatever a knob says, what is said to state the problem has the parts of the model that is built."""
    for knob in formulation.knobs:
        values = [not knob.default] if knob.kind == "bool" else (knob.choices or ()) if knob.kind == "str" else ()
        for value in () if knob.name in _KNOBS_OF_ALL else values:
            data, knobs = _posed(formulation, scenario, **{knob.name: value})
            where = f"{formulation.name} with {knob.name}={value}"
            yield from _differences(where, formulation.statement(knobs), formulation.build(data, knobs))


def _wrong_answer(formulation: Formulation[Any], data: Any, knobs: Knobs, solver: Solver) -> Iterator[Problem]:
    """What `read` gives, whose objective is held to the model's; one that iterates has a `run` of its own instead."""
    where = f"{formulation.name}, answer of {solver.name}"
    sense = notation.equations(formulation)[0].sense
    found: Any
    if type(formulation).run is not Formulation.run:
        found, stated = formulation.run(data, knobs, solver), None
    else:
        model = formulation.build(data, knobs)
        solved = solve_model(model, formulation.options(knobs, solver))
        [active] = model.component_data_objects(pyo.Objective, active=True)
        stated, found = float(pyo.value(active)), formulation.read(model, data, knobs)
        found = found.reported(solved) if isinstance(found, Result) else found
    if not isinstance(found, Result):
        yield Problem(where, found, "a workbench.Result")
        return
    if found.status not in ("optimal", "feasible"):
        yield Problem(f"{where}, status", found.status, "optimal or feasible")
    if found.sense != sense:
        yield Problem(f"{where}, sense", found.sense, f"{sense}, as in the docstring")
    if not found.unit:
        yield Problem(f"{where}, unit", NOTHING, "the objective's unit, 1 if it has none")
    yield from _wrong_objective(where, found, sense, stated)
    text = json.dumps(found.values, allow_nan=False)
    if solver == LIMITED and text != json.dumps(formulation.run(data, knobs, solver).values):
        yield Problem(where, Words("another answer to the same question"), "the same values again")


def _wrong_objective(where: str, found: Result, sense: str, stated: float | None) -> Iterator[Problem]:
    """A number, that of the model at the same values (stated), and no better than the bound."""
    if found.objective is None or not math.isfinite(found.objective):
        yield Problem(f"{where}, objective", found.objective, "a number")
        return
    slack = TOLERANCE * max(1.0, abs(found.objective))
    if stated is not None and abs(found.objective - stated) > slack:
        yield Problem(f"{where}, objective", found.objective, f"the model's at the same values, {stated}")
    better = 0.0 if found.bound is None else (found.bound - found.objective) * (1 if sense == "max" else -1)
    if better < -slack:
        yield Problem(f"{where}, bound", found.bound, f"no worse than the objective, {found.objective}")


# ---- a scheduler ----


def _wrong_scheduler(scheduler: Scheduler, scenario: Scenario) -> Iterator[Problem]:
    name = scheduler.name
    told: list[Problem] = []
    known = {
        *(field for field in Job.model_fields if field != "attributes"),
        *(f"{part}.{field}" for part, fields in READ_BY_SOME.items() if part for field in fields),
    }
    if not isinstance(scheduler.uses, (frozenset, set)) or not all(isinstance(each, str) for each in scheduler.uses):
        yield Problem(f"{name}, uses", scheduler.uses, "a frozenset of texts such as weight, attributes.lora_rank")
        return
    for each in sorted(scheduler.uses):
        if each not in known and not re.fullmatch(r"((models|nodes)\.)?attributes\..+", each):
            yield Problem(f"{name}, uses", each, one_of(each, sorted(known)))
    with _telling(f"{name}, timing", "a Timing", told):
        timing = scheduler.timing(scheduler.settle({}))
        if not isinstance(timing, Timing) or not (timing.round_s is None or 0 < timing.round_s < math.inf):
            yield Problem(f"{name}, timing", timing, "Timing(round_s=seconds > 0, or None)")
    with _telling(f"{name}, start", "its first memory", told):
        knobs = scheduler.settle({})
        if as_text(scheduler.start(scenario, knobs)) != as_text(scheduler.start(scenario, knobs)):
            yield Problem(f"{name}, start", Words("two memories"), "the same memory for the same scenario and knobs")
    with _telling(f"{name}, decide", "a decision", told):
        watched = simulate(scenario, Watched(scheduler), seed=1, stop=Until(LATEST_S))
        if watched != simulate(scenario, scheduler, seed=1, stop=Until(LATEST_S)):
            yield Problem(f"{name}, decide", Words("two runs that differ"), "equal inputs give equal runs")
        for job in watched.jobs.loc[watched.jobs["finish_s"].isna() & watched.jobs["arrival_s"].notna(), "job"]:
            yield Problem(f"{name}, job {job}", Words(f"unfinished after {LATEST_S:g} s"), "every job finishes")
    yield from told


def _with_failures() -> Scenario:
    """Three jobs of 1 to 3 GPUs on two types; one cannot run on the second, a node fails, restarts cost time."""
    rates = (("a", "fast", 1, 4.0), ("a", "slow", 1, 1.0), ("b", "fast", 2, 5.0), ("b", "slow", 2, 3.0))
    rows = [*rates, ("c", "fast", 3, 2.0), ("c", "slow", 3, 0.0)]
    return Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "fast", "price_per_hour": 2.0}, {"name": "slow", "price_per_hour": 1.0}],
                "nodes": [
                    {"name": "f", "accelerator": "fast", "gpus": 2, "count": 2},
                    {"name": "s", "accelerator": "slow", "gpus": 2},
                ],
            },
            "jobs": [
                {"name": "one", "model": "a", "gpus": 1, "steps": 2000},
                {"name": "two", "model": "b", "gpus": 2, "steps": 1500, "arrival_s": 10.0, "weight": 2.0},
                {"name": "three", "model": "c", "gpus": 3, "steps": 600, "arrival_s": 100.5},
            ],
            "throughputs": [
                {"model": model, "accelerator": kind, "gpus": gpus, "steps_per_s": rate}
                for model, kind, gpus, rate in rows
            ],
            "core": {
                "restart": {"restart_s": 5.0},
                "faults": {"list": [{"node": "f-0", "from_s": 30.0, "to_s": 130.0}]},
            },
        }
    )


class Watched(Scheduler):
    """A scheduler that asks another one twice; raises InputError where answers differ or anything was written into."""

    def __init__(self, inner: Scheduler) -> None:
        self.inner = inner
        self.name, self.title, self.uses, self.offline = inner.name, inner.title, inner.uses, inner.offline

    def settle(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return self.inner.settle(given)

    def timing(self, knobs: Knobs) -> Timing:
        return self.inner.timing(knobs)

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        return self.inner.start(scenario, knobs)

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        at = f"{self.name} at {snapshot.now_s:g} s"
        before, seen, again = as_text(memory), _arrays(snapshot), copy.deepcopy(rng)
        answer = self.inner.decide(snapshot, memory, knobs, rng)
        other = self.inner.decide(snapshot, memory, knobs, again)
        if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], Decision):
            raise InputError(f"{at}, answer", answer, "a pair (Decision, memory)")
        if as_text(memory) != before:
            raise InputError(f"{at}, memory", Words("written into"), "a new value")
        if _arrays(snapshot) != seen:
            raise InputError(f"{at}, snapshot", Words("written into"), "copies of its arrays: free = nodes.free.copy()")
        if as_text(answer[0]) != as_text(other[0]) or as_text(answer[1]) != as_text(other[1]):
            expected = "one: nothing but the snapshot, memory, knobs and generator counts"
            raise InputError(at, Words("two answers to one question"), expected)
        self.check(snapshot, answer[0])
        return answer

    def check(self, snapshot: Snapshot, decision: Decision) -> None:
        """What else every decision must keep, for a test's own class; nothing here."""


def _arrays(snapshot: Snapshot) -> list[bytes]:
    """Everything in a snapshot that could be written into."""
    views: list[Any] = [snapshot.nodes, snapshot.jobs]
    found = [getattr(view, field.name) for view in views for field in dataclasses.fields(view)]
    held = [as_text(dict(snapshot.leases)).encode(), as_text(dict(snapshot.ended)).encode()]
    return [item.tobytes() for item in found if isinstance(item, np.ndarray)] + held


def plain(value: Any, where: str = "memory") -> Any:
    """A memory or decision as JSON has it, without wall times; raises InputError if it holds anything else.

    Keys are texts, or the tuples that name units and slots: numbers would come back from JSON as texts. Sets are
    refused but for frozen ones, which are sorted: their order is nobody's.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (tuple, list)) and not hasattr(value, "_asdict"):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    if isinstance(value, Mapping):
        wrong = [key for key in value if not isinstance(key, (str, tuple))]
        if wrong:
            raise InputError(f"{where}, a key", wrong[0], "a text")
        return {str(key): plain(item, f"{where}[{key!r}]") for key, item in value.items()}
    parts: Iterable[tuple[str, Any]]
    if hasattr(value, "_asdict"):
        parts = value._asdict().items()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    else:
        raise InputError(where, value, "what JSON can hold, arrays, tuples and frozen dataclasses of it")
    return {key: plain(item, f"{where}.{key}") for key, item in parts if key not in WALL_TIMES}


def as_text(value: Any) -> str:
    """`plain` as text, for comparing."""
    return json.dumps(plain(value), sort_keys=True)
