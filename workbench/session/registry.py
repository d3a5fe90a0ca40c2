"""The registry: finds what papers and baselines offer, and holds the schedulers that a session declares itself.

A room is a package under `workbench/papers/` whose `__init__` sets `TITLE`, `FORMULATIONS` and `SCHEDULERS`; a baseline
is a module under `workbench/baselines/` that sets `FORMULATIONS` or `SCHEDULERS`. Nothing else is edited to add one.
A room may also set `STUDIES`: what pages of its lab show besides a run, by name; and `EXPLAIN`: by scheduler, what
says why a job of a run had what it had at a time (`workbench.simulation.job_at_time`).
What a formulation and a scheduler are is in `workbench.scheduling.contract`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import workbench.baselines
import workbench.papers
from workbench.base.errors import InputError, one_of
from workbench.scheduling.contract import Formulation, Scheduler
from workbench.scheduling.decision import Cause, Snapshot
from workbench.scheduling.knob import Knob
from workbench.session.own_scheduler import Decide, Declaration, FromFunction
from workbench.simulation.job_at_time import Explainer

Study = Callable[[Snapshot, Mapping[str, Any]], dict[str, Any]]
"""From all jobs, known ahead, and what was chosen on a page, to what it shows, as JSON has it."""


@dataclass(frozen=True)
class Room:
    """A paper or a baseline: its title and what it offers."""

    name: str
    title: str
    formulations: tuple[Formulation[Any], ...] = ()
    schedulers: tuple[Scheduler, ...] = ()
    studies: Mapping[str, Study] = field(default_factory=dict)
    explainers: Mapping[str, Explainer] = field(default_factory=dict)


_OWN: dict[str, FromFunction] = {}
"""Schedulers that this session declared itself."""


def scheduler(
    name: str,
    *,
    knobs: Iterable[Knob] = (),
    round_s: float | None = 360.0,
    causes: Iterable[Cause] = (),
    uses: Iterable[str] = (),
) -> Callable[[Decide], Decide]:
    """Make a function a scheduler that stands in every list: `@workbench.scheduler("mine")` above `decide`.

    decide(snapshot, memory, knobs, rng) returns (Decision, memory); memory is None at first, then what JSON can hold.
    knobs: what it lets others set; round_s: asked at every multiple of it, None: no rounds; causes: also on these;
    uses: what it reads of a scenario beyond arrival, steps and GPUs (`Scheduler.uses`), attributes above all.
    The same name again replaces the earlier one (cells are run again). Raises InputError for a name that cannot be or
    that a shipped scheduler has, for knobs, times or causes that are none, and for a function with other arguments.
    """
    declared = Declaration.checked(name, knobs, round_s, causes, uses)
    if name in {found.name for room in rooms() for found in room.schedulers}:
        raise InputError("scheduler name", name, "a name that no shipped scheduler has")

    def register(function: Decide) -> Decide:
        _OWN[name] = FromFunction(declared, function)
        return function

    return register


@cache
def rooms() -> tuple[Room, ...]:
    """Every room: the papers in alphabetical order, then the baselines. Imports them all."""
    return (*paper_rooms(), *(_room(workbench.baselines, name) for name in _names(workbench.baselines)))


def paper_rooms() -> tuple[Room, ...]:
    """The papers in alphabetical order. Imports them all."""
    return tuple(_room(workbench.papers, name) for name in _names(workbench.papers))


def _names(package: ModuleType) -> list[str]:
    """Of the rooms in a package: a paper is a package of its own, a baseline a module."""
    packages = package is workbench.papers
    return [info.name for info in pkgutil.iter_modules(package.__path__) if info.ispkg == packages]


def _room(package: ModuleType, name: str) -> Room:
    module = importlib.import_module(f"{package.__name__}.{name}")
    formulations = tuple(getattr(module, "FORMULATIONS", ()))
    schedulers = tuple(getattr(module, "SCHEDULERS", ()))
    studies, explainers = dict(getattr(module, "STUDIES", {})), dict(getattr(module, "EXPLAIN", {}))
    return Room(name, getattr(module, "TITLE", name), formulations, schedulers, studies, explainers)


def _room_of(name: str) -> Room | None:
    """The room a name belongs to by its first word, so that one scheduler does not import every paper."""
    first = name.split(".")[0]
    for package in (workbench.papers, workbench.baselines):
        if first in _names(package):
            return _room(package, first)
    return None


def find_scheduler(name: str | Scheduler, where: str = "scheduler") -> Scheduler:
    """The scheduler of that name; raises InputError that says where it stands and lists the names there are.

    A scheduler itself is returned as it is.
    """
    if isinstance(name, Scheduler):
        return name
    if isinstance(name, str):
        if name in _OWN:
            return _OWN[name]
        near = _room_of(name)
        for room in (near,) if near is not None else rooms():
            for found in room.schedulers:
                if found.name == name:
                    return found
    raise InputError(where, name, one_of(name, (found.name for found in schedulers())))


def find_formulation(name: str | Formulation[Any]) -> Formulation[Any]:
    """The formulation of that name, or as it is; raises InputError that lists the names there are."""
    if isinstance(name, Formulation):
        return name
    if isinstance(name, str):
        near = _room_of(name)
        for room in (near,) if near is not None else rooms():
            for found in room.formulations:
                if found.name == name:
                    return found
    raise InputError("formulation", name, one_of(name, (found.name for found in formulations())))


def find_study(name: str) -> Study:
    """The study of that name; raises InputError that lists the names there are."""
    found = {each: study for room in rooms() for each, study in room.studies.items()}
    if name not in found:
        raise InputError("study", name, one_of(name, found))
    return found[name]


def find_explainer(name: str) -> Explainer | None:
    """What explains a scheduler's runs beyond their tables; None for one declared in a session."""
    near = _room_of(name)
    searched = (near,) if near is not None else rooms()
    return next((room.explainers[name] for room in searched if name in room.explainers), None)


def is_own(name: str) -> bool:
    """Whether a scheduler was declared in this session (it exists in this process only)."""
    return name in _OWN


def schedulers() -> tuple[Scheduler, ...]:
    """Every scheduler, own ones last."""
    return (*(found for room in rooms() for found in room.schedulers), *_OWN.values())


def formulations() -> tuple[Formulation[Any], ...]:
    """Every formulation."""
    return tuple(found for room in rooms() for found in room.formulations)
