"""The contract of a paper's room (Formulation, Scheduler) and the registry that finds the rooms.

A room is a package under `workbench/papers/` whose `__init__` sets `TITLE`, `FORMULATIONS` and `SCHEDULERS`; a baseline
is a module under `workbench/baselines/` that sets `FORMULATIONS` or `SCHEDULERS`. Nothing else is edited to add one.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_args

import numpy as np

import workbench.baselines
import workbench.papers
from workbench.decision import Cause, Decision, Snapshot
from workbench.errors import InputError
from workbench.knob import Knob, Value, settle
from workbench.scenario import Scenario

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from workbench.solvers import Solver

Data = TypeVar("Data")
Knobs = Mapping[str, Any]
Memory = Any
"""A scheduler's own frozen value: None, or a frozen dataclass of numbers, texts, arrays, tuples and mappings."""


@dataclass(frozen=True)
class Result:
    """What a formulation found, in the words of the command line.

    status: optimal | feasible | time_limit; objective: recomputed from the values, not the solver's word; bound, gap:
    None if unknown; seconds of wall time; values: `allocation {job: {type: share}}` and the like.
    """

    status: str
    objective: float | None
    sense: str
    unit: str
    values: Mapping[str, Any]
    bound: float | None = None
    gap: float | None = None
    solver: str = ""
    build_s: float = 0.0
    solve_s: float = 0.0
    iterations: tuple[Mapping[str, Any], ...] = ()


class Formulation(ABC, Generic[Data]):
    """An optimisation problem of a paper as a readable Pyomo model.

    The module's docstring states it equation by equation; `build` gives the parts the same names and tags.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    knobs: ClassVar[tuple[Knob, ...]] = ()
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {}
    offline: ClassVar[bool] = False

    @abstractmethod
    def data(self, snapshot: Snapshot, knobs: Knobs) -> Data:
        """The numbers of the problem, frozen; they can be built by hand just as well."""

    @abstractmethod
    def build(self, data: Data, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""

    @abstractmethod
    def read(self, model: pyo.ConcreteModel, data: Data, knobs: Knobs) -> Result:
        """The solved model's values, objective recomputed from them and feasibility checked."""

    def trivial(self, data: Data, knobs: Knobs) -> Result | None:
        """The answer where no solver is needed (no jobs), else None."""
        return None

    def options(self, knobs: Knobs, solver: Solver) -> Solver:
        """The solver's options as the knobs want them."""
        return solver

    def run(self, data: Data, knobs: Knobs, solver: Solver | None = None) -> Result:
        """Build, solve, read; a formulation that iterates has its own. Raises the errors of `workbench.solvers`."""
        from workbench.solvers import Solver, solve_model

        nothing = self.trivial(data, knobs)
        if nothing is not None:
            return replace(nothing, status="optimal", solver="none needed")
        began = time.perf_counter()
        model = self.build(data, knobs)
        build_s = time.perf_counter() - began
        solved = solve_model(model, self.options(knobs, solver or Solver()))
        return replace(
            self.read(model, data, knobs),
            status=solved.status,
            bound=solved.bound,
            gap=solved.gap,
            solver=solved.solver,
            build_s=build_s + solved.build_s,
            solve_s=solved.solve_s,
        )

    def settle(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """Every knob's value, see `workbench.knob.settle`."""
        return settle(self.knobs, given, self.name, self.presets)


@dataclass(frozen=True, slots=True)
class Timing:
    """When a scheduler is asked: at every multiple of `round_s` (None: no rounds), and on these causes."""

    round_s: float | None = None
    causes: frozenset[Cause] = frozenset()


class Scheduler(ABC):
    """Turns snapshots into decisions. `decide` is pure: same snapshot, memory, knobs and generator, same answer.

    uses: the properties of a job that it reads (the others are reported as ignored); views: names of charts that show
    its inner life; presets: named sets of knob values, chosen by a knob called `preset`.
    """

    name: str
    title: str
    knobs: tuple[Knob, ...] = ()
    presets: Mapping[str, Mapping[str, Value]] = {}
    uses: frozenset[str] = frozenset({"arrival_s", "steps", "gpus"})
    views: tuple[str, ...] = ()
    offline: bool = False

    @abstractmethod
    def timing(self, knobs: Knobs) -> Timing:
        """When it wants to be asked."""

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        """The memory before the first decision."""
        return None

    @abstractmethod
    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        """The decision at `snapshot.now_s` and the memory for the next one."""

    def settle(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """Every knob's value, see `workbench.knob.settle`."""
        return settle(self.knobs, given, self.name, self.presets)


@dataclass(frozen=True)
class Room:
    """A paper or a baseline: its title and what it offers."""

    name: str
    title: str
    formulations: tuple[Formulation[Any], ...] = ()
    schedulers: tuple[Scheduler, ...] = ()


Decide = Callable[[Snapshot, Memory, Knobs, np.random.Generator], tuple[Decision, Memory]]


class _FromFunction(Scheduler):
    """A scheduler whose `decide` is a plain function, as written in a notebook cell."""

    def __init__(self, name: str, function: Decide, knobs: Iterable[Knob], timing: Timing) -> None:
        self.name = name
        self.title = (function.__doc__ or name).strip().splitlines()[0]
        self.knobs = tuple(knobs)
        self._function = function
        self._timing = timing

    def timing(self, knobs: Knobs) -> Timing:
        return self._timing

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        return self._function(snapshot, memory, knobs, rng)


@dataclass
class _Own:
    """Schedulers that this session declared itself."""

    schedulers: dict[str, Scheduler] = field(default_factory=dict)


_OWN = _Own()


def scheduler(
    name: str,
    *,
    knobs: Iterable[Knob] = (),
    round_s: float | None = 360.0,
    causes: Iterable[Cause] = (),
) -> Callable[[Decide], Decide]:
    """Make a function a scheduler that stands in every list: `@workbench.scheduler("mine")` above `decide`.

    The same name again replaces the earlier one (cells are run again); a shipped name raises InputError.
    """
    if name in {found.name for room in rooms() for found in room.schedulers}:
        raise InputError("scheduler name", name, "a name that no shipped scheduler has")
    if round_s is not None and not 0 < round_s < math.inf:
        raise InputError(f"scheduler {name}, round_s", round_s, "seconds > 0, or None for no rounds")
    wrong = set(causes) - set(get_args(Cause)) if not isinstance(causes, str) else {causes}
    if wrong:
        raise InputError(f"scheduler {name}, causes", sorted(wrong), "a list of " + ", ".join(get_args(Cause)))
    timing = Timing(round_s, frozenset(causes))

    def register(function: Decide) -> Decide:
        _OWN.schedulers[name] = _FromFunction(name, function, knobs, timing)
        return function

    return register


@cache
def rooms() -> tuple[Room, ...]:
    """Every room: the papers in alphabetical order, then the baselines. Imports them all."""
    papers = [
        _room(workbench.papers, info.name) for info in pkgutil.iter_modules(workbench.papers.__path__) if info.ispkg
    ]
    others = [_room(workbench.baselines, info.name) for info in pkgutil.iter_modules(workbench.baselines.__path__)]
    return (*papers, *others)


def _room(package: ModuleType, name: str) -> Room:
    module = importlib.import_module(f"{package.__name__}.{name}")
    formulations = tuple(getattr(module, "FORMULATIONS", ()))
    schedulers = tuple(getattr(module, "SCHEDULERS", ()))
    return Room(name, getattr(module, "TITLE", name), formulations, schedulers)


def _room_of(name: str) -> Room | None:
    """The room a name belongs to by its first word, so that one scheduler does not import every paper."""
    first = name.split(".")[0]
    for package in (workbench.papers, workbench.baselines):
        if any(info.name == first and info.name != "paper" for info in pkgutil.iter_modules(package.__path__)):
            return _room(package, first)
    return None


def find_scheduler(name: str) -> Scheduler:
    """The scheduler of that name; raises InputError that lists the names there are."""
    if name in _OWN.schedulers:
        return _OWN.schedulers[name]
    near = _room_of(name)
    for room in (near,) if near is not None else rooms():
        for found in room.schedulers:
            if found.name == name:
                return found
    raise InputError("scheduler", name, "one of " + ", ".join(found.name for found in schedulers()))


def find_formulation(name: str) -> Formulation[Any]:
    """The formulation of that name; raises InputError that lists the names there are."""
    near = _room_of(name)
    for room in (near,) if near is not None else rooms():
        for found in room.formulations:
            if found.name == name:
                return found
    raise InputError("formulation", name, "one of " + ", ".join(found.name for found in formulations()))


def is_own(name: str) -> bool:
    """Whether a scheduler was declared in this session (it exists in this process only)."""
    return name in _OWN.schedulers


def schedulers() -> tuple[Scheduler, ...]:
    """Every scheduler, own ones last."""
    return (*(found for room in rooms() for found in room.schedulers), *_OWN.schedulers.values())


def formulations() -> tuple[Formulation[Any], ...]:
    """Every formulation."""
    return tuple(found for room in rooms() for found in room.formulations)
