"""The registry: finds what papers and baselines offer, and holds the schedulers that a session declares itself.

A room is a package or module under `workbench/papers/` or `workbench/baselines/`, or a package of its own that an
installed distribution names as an entry point of the group `workbench.papers` (the room's name = the module). Each sets
`ROOM = Room(...)` (`workbench.scheduling.declared_room`); nothing else is edited to add one. A room that cannot be used
is left out, and `skipped_rooms` says why. What a formulation and a scheduler are is in `workbench.scheduling.contract`.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import pkgutil
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import workbench.baselines
import workbench.papers
from workbench.base.error_origin import at_line, line_of
from workbench.base.errors import (
    MOST_OF_OURS,
    NOTHING,
    InputError,
    Words,
    WorkbenchError,
    one_of,
    raised,
    shorten,
    told_of_arguments,
)
from workbench.base.text import on_one_line
from workbench.scheduling.contract import Formulation, Mechanism, Scheduler, require_named
from workbench.scheduling.decision import Cause
from workbench.scheduling.declared_room import Room, Study
from workbench.scheduling.knob import Knob
from workbench.session.own_scheduler import Decide, Declaration, FromFunction, check_name
from workbench.simulation.job_at_time import Explainer
from workbench.simulation.run import Run

Written = TypeVar("Written", bound=Callable[..., Any])
KINDS = "a function mine(m, data) with a base, a function mine(data) with a mechanism, or a class without a base"
ENTRY_POINTS = "workbench.papers"
"""The group under which a package of its own names its room."""


class _Place(NamedTuple):
    """Where a room is: its name, its module, and the distribution that brings it if it is not ours."""

    name: str
    module: str
    outside: str = ""

    @property
    def origin(self) -> str:
        """Whose it is: the distribution, or the module of one of ours."""
        return self.outside or self.module


_OWN: dict[str, Scheduler] = {}
"""Schedulers that this session declared itself, also by a formulation."""
_OWN_FORMULATIONS: dict[str, Formulation[Any]] = {}
"""Formulations that it declared."""
_DEFINED: defaultdict[str, deque[Scheduler]] = defaultdict(lambda: deque(maxlen=100))
"""The latest definitions of each of these schedulers, the newest last: an old run is explained by its own."""
_UNSCHEDULED: dict[str, WorkbenchError] = {}
"""Those of them that no scheduler goes by, with the reason."""


@told_of_arguments
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
    if name in {found.name for room in _rooms_of(name) for found in room.schedulers}:
        raise InputError("scheduler name", name, "a name that no shipped scheduler has")

    def register(function: Decide) -> Decide:
        _define(name, FromFunction(declared, function))
        _OWN_FORMULATIONS.pop(name, None)
        return function

    return register


@told_of_arguments
def formulation(
    name: str, *, base: str | Formulation[Any] | None = None, mechanism: str | None = None
) -> Callable[[Written], Written]:
    """Make an own model a name like any other, for `solve`, `simulate`, `compare`, `sweep` and every lab.

    Above a function with a base: the base's model, changed after it has been built. `mine(m, data)` gets the unsolved
    Pyomo model m, with the parts that the base's page states, and the base's instance; it adds parts, replaces them
    (`m.part.deactivate()`, then another), or only deactivates them. Each part's `doc=` says what it is, of an objective
    that takes the place of the paper's also its unit, behind `|`.

        @workbench.formulation("capped", base="gavel.max_min_fairness")
        def capped(m, data):
            "The job vision has at most .3 of a type"

            @m.Constraint(m.JOBS, m.TYPES, doc="(ours) a cap on one job's shares")
            def cap(m, job, kind):
                return m.share[job, kind] <= 0.3 if job == "vision" else pyo.Constraint.Skip

    A run solves it again and again, for the jobs that are there then: a job that has finished is in no model, so rules
    go over m.JOBS, as here. Above a class without a base: a `Formulation`, mostly a subclass of a shipped one.

    The scheduler that goes by the base then goes by this formulation too, under this name; where an algorithm of the
    paper decides, and no formulation, `solve` alone takes it. Its numbers are taken as they are: equal jobs are not
    merged, times not scaled, and only the model is solved, never a faster assembly. The same name again replaces the
    earlier one (cells are run again); runs that were made keep the old one, as their key says (`Run.code`). It exists
    in this process alone: runs of it are made here, also beside other processes.

    Raises InputError for a name that cannot be or that is shipped, an unknown base, and what is no such function or
    class; later, in one sentence, for a model that cannot be (`workbench.session.own_formulation`).
    """
    check_name("formulation", name)
    if name in {found.name for room in _rooms_of(name) for found in _offered(room)}:
        raise InputError("formulation name", name, "a name that nothing shipped has")
    start = None if base is None else find_formulation(base, f"formulation {name}, base")
    by: type[Mechanism] | None = None
    if mechanism is not None:
        known = mechanisms()
        if mechanism not in [*known]:
            raise unknown_name(f"formulation {name}, mechanism", mechanism, known)
        by = known[mechanism]

    def register(written: Written) -> Written:
        from workbench.session.own_formulation import changed, new_model, subclassed

        is_class = isinstance(written, type) and issubclass(written, Formulation)
        if start is not None and by is None and not is_class:
            found = changed(name, start, written)
            if not found.at_once(found.settle({})):
                expected = (
                    "one whose model is solved once, as it stands: there several are solved in turn, or times are "
                    "counted in a unit that suits the jobs"
                )
                raise InputError(f"formulation {name}, base", start.name, expected)
        elif start is None and is_class:
            found = subclassed(name, written)  # type: ignore[arg-type]
        elif start is None and by is not None:
            found = new_model(name, written, by)
        else:
            kind, has = (
                "class" if is_class else "function",
                ["without" if each is None else "with" for each in (start, by)],
            )
            got = Words(f"a {kind} {has[0]} a base, {has[1]} a mechanism") if callable(written) else written
            raise InputError(f"formulation {name}", got, KINDS)
        _OWN_FORMULATIONS[name] = found
        _OWN.pop(name, None)
        _UNSCHEDULED.pop(name, None)
        try:
            _define(name, by.scheduler(found) if by is not None else _scheduler_of(found).with_formulation(found))
        except InputError as error:
            _UNSCHEDULED[name] = error
        return written

    return register


def _define(name: str, scheduler: Scheduler) -> None:
    _OWN[name] = scheduler
    _DEFINED[name].append(scheduler)


def _scheduler_of(formulation: Formulation[Any]) -> Scheduler:
    """The shipped scheduler that goes by the formulation that an own one is made of."""
    kinds: list[Any] = [kind for kind in type(formulation).__mro__ if issubclass(kind, Formulation) and not kind.own]
    shipped = {kind.name for kind in kinds if "name" in vars(kind)}
    every = [each for room in rooms() for each in room.schedulers]
    found = [each for each in every if each.formulation in shipped] or [each for each in every if each.name in shipped]
    if not found:
        shared = {each.formulation for each in every}
        bases = [each for room in rooms() for each in room.formulations if each.name in shared]
        names = ", ".join(sorted(each.name for each in bases if each.at_once(each.settle({}))))
        got = Words(f"a formulation of {' and '.join(sorted(shipped))}, by which no run goes")
        routes = [
            each.route(each.settle({})) for name in shipped for room in _rooms_of(name) for each in room.schedulers
        ]
        why = next((route.sentence for route in routes if route.formulation in shipped), "no scheduler decides by it")
        expected = f"workbench.solve alone ({why.rstrip('.')}); runs go by those of {names}"
        raise InputError(f"scheduler {formulation.name}", got, expected)
    return found[0]


def rooms() -> tuple[Room, ...]:
    """Every room: the papers in alphabetical order, those from outside, then the baselines. Imports them all."""
    return (*paper_rooms(), *_usable(_baselines()))


def paper_rooms() -> tuple[Room, ...]:
    """The papers in alphabetical order, then those of packages of their own. Imports them all."""
    return (*_usable(_papers()), *_usable(_outside()))


def skipped_rooms() -> dict[str, str]:
    """Rooms that cannot be used, each with the reason: it cannot be imported, or its declaration is wrong.

    One whose name another room has is told with where it is from: `gavel of dlsched-mine`.
    """
    found = [(place, _load(place)) for place in (*_papers(), *_outside(), *_baselines())]
    used = {place.name for place, room in found if isinstance(room, Room)}
    return {
        f"{place.name} of {place.origin}" if place.name in used else place.name: reason
        for place, reason in found
        if isinstance(reason, str)
    }


def _usable(places: Iterable[_Place]) -> Iterator[Room]:
    return (room for room in map(_load, places) if isinstance(room, Room))


@cache
def _papers() -> tuple[_Place, ...]:
    names = {info.name for info in pkgutil.iter_modules(workbench.papers.__path__)}
    for folder in map(Path, workbench.papers.__path__):  # one without an __init__.py is told, not passed over
        names |= {path.parent.name for path in folder.glob("*/*.py")}
    return tuple(_Place(name, f"workbench.papers.{name}") for name in sorted(names))


@cache
def _baselines() -> tuple[_Place, ...]:
    found = pkgutil.iter_modules(workbench.baselines.__path__)
    return tuple(_Place(info.name, f"workbench.baselines.{info.name}") for info in found if info.name != "mechanisms")


@cache
def _outside() -> tuple[_Place, ...]:
    """What installed distributions name, by name; each once, as a distribution may be on the path twice."""
    found = importlib.metadata.entry_points(group=ENTRY_POINTS)
    named = {_Place(each.name, each.value, each.dist.name if each.dist else "a package") for each in found}
    return tuple(sorted(named))


@cache
def _load(place: _Place) -> Room | str:
    """The room, or why it cannot be used, with the line of its author's code where there is one."""
    try:
        _refuse_taken_name(place)
        with contextlib.redirect_stdout(sys.stderr):  # standard output may be for one JSON value
            room = getattr(importlib.import_module(place.module), "ROOM", None)
        if not isinstance(room, Room):
            expected = "ROOM = Room(...), from workbench.scheduling.declared_room"
            raise InputError(f"{place.module}, ROOM", NOTHING if room is None else room, expected)
        if room.name != place.name:
            raise InputError(f"room {room.name}, name", room.name, f"{place.name}, as it is found by")
        _refuse_taken(place, room)
    except WorkbenchError as error:
        return at_line(on_one_line(str(error)), line_of(error, place.module))
    except (Exception, SystemExit) as error:
        return at_line(shorten(raised(error), MOST_OF_OURS), line_of(error, place.module))
    return room


def _refuse_taken_name(place: _Place) -> None:
    """Raise InputError, before anything is imported, where a room has a name that a room before it has, or one from
    outside an entry point that is no module.
    """
    every = (*_ours(), *_outside())
    if place.name in {other.name for other in every[: every.index(place)]}:
        raise InputError(f"room {place.name} of {place.origin}", place.name, "a name that no other room has")
    if ":" in place.module:
        module = place.module.partition(":")[0]
        expected = f'the module alone, whose ROOM it is: {place.name} = "{module}"'
        raise InputError(f"entry point of {place.outside}", place.module, expected)


def _refuse_taken(place: _Place, room: Room) -> None:
    """Raise InputError where a room offers what another does, or one from outside has no example.

    What a room offers begins with its name, so only rooms whose names it begins with can offer the same; but mechanisms
    and studies may be any word: one from outside has none that a room before it has.
    """
    where, others = f"room {room.name} of {place.origin}", (*_ours(), *(_outside() if place.outside else ()))
    shorter = [other for other in others if place.name.startswith(other.name) and other.name != place.name]
    taken = {each.name for other in _usable(shorter) for each in _offered(other)}
    if place.outside and (room.mechanisms or room.studies):
        before = _usable(others[: others.index(place)])
        taken |= {name for other in before for name in (*other.mechanisms, *other.studies)}
    for name in (*(each.name for each in _offered(room)), *room.mechanisms, *room.studies):
        if name in taken:
            raise InputError(where, name, "names that no other room has")
    if not place.outside:
        return
    from workbench.scenario.presets import is_preset

    if not is_preset(room.example):
        raise InputError(f"{where}, example", room.example, "a built-in scenario (`workbench presets` lists them)")


def _ours() -> tuple[_Place, ...]:
    return (*_papers(), *_baselines())


def _offered(room: Room) -> list[Formulation[Any] | Scheduler]:
    return [*room.formulations, *room.schedulers]


def _rooms_of(name: str) -> Iterator[Room]:
    """The rooms whose name a name begins with: only they can offer it, so that not all are imported."""
    return _usable(place for place in (*_ours(), *_outside()) if name.startswith(place.name))


def skipped_room_of(name: Any) -> str:
    """The room that cannot be used whose name a scheduler's begins with (`hadar` of `hadare`); empty for others."""
    if not isinstance(name, str) or is_own(name) or scheduler_named(name) is not None:
        return ""
    return max((room for room in skipped_rooms() if name.startswith(room)), key=len, default="")


def unknown_name(where: str, name: Any, known: Iterable[str]) -> InputError:
    """The error for a name that nobody has; a room that was skipped may have had it."""
    if isinstance(name, type) and issubclass(name, (Formulation, Scheduler)):
        return InputError(where, name, f"an instance of the class: {name.__name__}()")
    skipped, room = skipped_rooms(), skipped_room_of(name)
    if room:
        return InputError(where, name, f"a room that can be used; {room} cannot: {skipped[room]}")
    missing = f" (without those of {', '.join(skipped)}: `workbench.skipped_rooms()`)" if skipped else ""
    return InputError(where, name, one_of(name, known) + missing)


def find_scheduler(name: str | Scheduler, where: str = "scheduler") -> Scheduler:
    """The scheduler of that name; raises InputError that says where it stands and lists the names there are.

    A scheduler itself is returned as it is.
    """
    if isinstance(name, Scheduler):
        require_named(name, type(name))
        return name
    if isinstance(name, str):
        if name in _UNSCHEDULED:
            raise _UNSCHEDULED[name]
        if (found := scheduler_named(name)) is not None:
            return found
    raise unknown_name(where, name, (each.name for each in schedulers()))


def scheduler_of(run: Run) -> Scheduler:
    """The scheduler that a run was made by; of an own one as it was then, also where its cell has been changed since.

    Raises InputError where this session does not have that definition, and for a name that nobody has.
    """
    if not run.code:
        return find_scheduler(run.scheduler)
    found = definition_of(run)
    if found is not None:
        return found
    got = Words(f"a run of {run.scheduler} as this session does not define it now")
    expected = "one whose cell was run here, with the values that its function reads as they were; set these back, or"
    raise InputError("run", got, f"{expected} simulate again")


def definition_of(run: Run) -> Scheduler | None:
    """The own scheduler that a run was made by, as this session defined it then; None if it did not."""
    return next((found for found in reversed(_DEFINED[run.scheduler]) if found.code() == run.code), None)


def scheduler_named(name: str) -> Scheduler | None:
    """The scheduler of that name; None where there is none, as of a formulation that no scheduler goes by."""
    shipped = (found for room in _rooms_of(name) for found in room.schedulers if found.name == name)
    return _OWN[name] if name in _OWN else next(shipped, None)


def find_formulation(name: str | Formulation[Any], where: str = "formulation") -> Formulation[Any]:
    """The formulation of that name, or as it is; raises InputError that lists the names there are."""
    if isinstance(name, Formulation):
        return name
    if isinstance(name, str):
        for room in _rooms_of(name):
            for found in room.formulations:
                if found.name == name:
                    return found
        if name in _OWN_FORMULATIONS:
            return _OWN_FORMULATIONS[name]
        if (scheduler := scheduler_named(name)) is not None:
            why = scheduler.route(scheduler.settle({})).sentence.rstrip(".")
            raise InputError(where, Words(f"{name}, a scheduler"), f"a formulation ({why[0].lower()}{why[1:]})")
    raise unknown_name(where, name, (found.name for found in formulations()))


def find_study(name: str) -> Study:
    """The study of that name; raises InputError that lists the names there are."""
    found = {each: study for room in rooms() for each, study in room.studies.items()}
    if name not in found:
        raise InputError("study", name, one_of(name, found))
    return found[name]


def find_explainer(name: str, carrier: str = "") -> Explainer | None:
    """What explains the runs of a scheduler beyond their tables; None if nothing. carrier: as `carried_by` says, whose
    explanation it is then: an own scheduler may be called as a mechanism is."""
    who = carrier or name
    found = next((room.explanations[who] for room in _rooms_of(who) if who in room.explanations), None)
    return mechanisms()[carrier].explainer() if found is None and carrier in mechanisms() else found


def mechanisms() -> dict[str, type[Mechanism]]:
    """By name, what carries out own models; raises InputError where a room has one of another's name."""
    from workbench.session.own_mechanisms import MECHANISMS

    found = dict(MECHANISMS)
    for room in rooms():
        for name in {*found} & {*room.mechanisms}:
            raise InputError(f"room {room.name}, mechanisms", name, "names that no other room has")
        found |= room.mechanisms
    return found


def carried_by(name: str) -> str:
    """What carries out an own formulation: a scheduler by name, or a mechanism; empty for all else."""
    return _OWN[name].carried_by if name in _OWN else ""


def is_own(name: str) -> bool:
    """Whether a scheduler or formulation was declared in this session (it exists in this process only)."""
    return name in _OWN or name in _OWN_FORMULATIONS


def schedulers() -> tuple[Scheduler, ...]:
    """Every scheduler, own ones last."""
    return (*(found for room in rooms() for found in room.schedulers), *_OWN.values())


def formulations() -> tuple[Formulation[Any], ...]:
    """Every formulation, own ones last."""
    return (*(found for room in rooms() for found in room.formulations), *_OWN_FORMULATIONS.values())
