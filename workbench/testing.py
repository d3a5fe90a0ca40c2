"""What every formulation, scheduler and room must keep, as one check for its tests: `workbench.testing.check(ROOM)`.

All that is wrong is told at once, each with where it is, what was found and what was expected. Nothing here needs a
testing library; the shipped papers and baselines are held to the same function.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from workbench.analysis.contract_rules.formulations import difference, posed, wrong_formulation
from workbench.analysis.contract_rules.problems import collecting, heard
from workbench.analysis.contract_rules.schedulers import LATEST_S, with_failures, wrong_scheduler
from workbench.base.errors import NOTHING, InputError, Problem, ScenarioError, Words, one_of, told_of_arguments
from workbench.scenario.presets import is_preset, presets
from workbench.scenario.scenario import Scenario
from workbench.scheduling import notation
from workbench.scheduling.contract import Formulation, Knobs, Scheduler, require_named
from workbench.scheduling.declared_room import NAME, Room, check_declared, require_function
from workbench.scheduling.solvers import Programme
from workbench.session.api import SCENARIO, load
from workbench.session.registry import find_formulation, formulations, is_own, rooms
from workbench.simulation.job_at_time import Explained, JobAtTime
from workbench.simulation.loop import run_loop
from workbench.simulation.stop import Until

SMALL = "start_here"
"""The built-in scenario on which a formulation without a room is built, and every scheduler runs."""


class ContractError(ScenarioError):
    """A formulation, scheduler or room breaks its contract. `problems` lists how, the first is the error's own."""


@told_of_arguments
def check(offered: Formulation[Any] | Scheduler | Room, scenario: Scenario | str | None = None) -> None:
    """Raise ContractError with all that is wrong with a formulation, a scheduler, or a room and all that it offers.

    scenario: where a formulation is built and solved and a scheduler runs (also a file or `preset:NAME`); by default
    the `example` of the room for formulations, and two small scenarios, one with failures and restarts, for schedulers.
    What is printed meanwhile is not shown, and is wrong.
    """
    if found := _wrong(offered, scenario):
        raise ContractError(found)


def _wrong(offered: Any, scenario: Scenario | str | None, ours: Sequence[str] = ()) -> list[Problem]:
    """ours: names of the formulations of the room that offers it."""
    problems: list[Problem] = []
    name = getattr(offered, "name", None)
    with heard(name if isinstance(name, str) else "check", problems):
        problems += _wrong_offered(offered, scenario, ours)
    return problems


def _wrong_offered(offered: Any, scenario: Scenario | str | None, ours: Sequence[str]) -> Iterator[Problem]:
    if isinstance(offered, Room) and not is_preset(offered.example):
        expected = one_of(offered.example, (name for name, _ in presets()))
        yield Problem(f"room {offered.name}, example", offered.example, expected)
        return
    if isinstance(offered, Room):
        yield from _wrong_room(offered, scenario)
        return
    if isinstance(offered, type) or not isinstance(offered, (Formulation, Scheduler)):
        made = f": {offered.__name__}()" if isinstance(offered, type) and not inspect.isabstract(offered) else ""
        if isinstance(offered, str) or (callable(offered) and not made):
            made = "; `workbench.find_scheduler(NAME)` and `find_formulation(NAME)` give those that have a name"
        yield Problem("check", offered, f"an instance of a Formulation, Scheduler or Room{made}")
        return
    declared = [*_wrong_declaration(offered)]
    yield from declared
    if declared:
        return
    if isinstance(offered, Formulation):
        yield from wrong_formulation(offered, load(f"preset:{_example(offered)}" if scenario is None else scenario))
    else:
        worlds = [load(f"preset:{SMALL}"), with_failures()] if scenario is None else [load(scenario)]
        yield from wrong_scheduler(offered, worlds, [*ours, *(each.name for each in formulations())])


def _example(formulation: Formulation[Any]) -> str:
    """The example of the room that offers a formulation, or the one that it is made of."""
    kinds = [kind for kind in type(formulation).__mro__ if not getattr(kind, "own", True)]
    return next((room.example for room in rooms() if {type(f) for f in room.formulations} & {*kinds}), SMALL)


def _wrong_declaration(offered: Formulation[Any] | Scheduler) -> Iterator[Problem]:
    """Name, title, knobs and presets: the room's own checks, and what they do not see."""
    name = getattr(offered, "name", None)
    if not isinstance(name, str) or not (is_own(name) or NAME.fullmatch(name)):
        expected = "a name such as mine, or room.mine (small letters, digits and _)"
        got = NOTHING if name is None else Words("a function") if callable(name) else name
        yield Problem(f"declaration of {type(offered).__name__}, name", got, expected)
        return
    problems = list[Problem]()
    with collecting("declaration", "a declaration", problems):
        check_declared(offered)
        base = Scheduler if isinstance(offered, Scheduler) else Formulation
        for part, method in vars(base).items():
            if inspect.isfunction(method) and getattr(type(offered), part) is not method:
                asked = [each for each in inspect.signature(method).parameters.values() if each.default is each.empty]
                expected = f"{part}({', '.join(each.name for each in asked[1:])})"
                require_function(f"{offered.name}, {part}", getattr(offered, part), len(asked) - 1, expected)
        where = f"{offered.name}, knobs"
        for knob in offered.knobs:
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
    yield from problems


def _wrong_room(room: Room, scenario: Scenario | str | None) -> Iterator[Problem]:
    """What is wrong with all that it offers; of what is right, its symbols and explanations."""
    where, of_room = f"room {room.name}", list[Problem]()
    there = f"preset:{room.example}" if scenario is None else scenario
    wrong = {each.name: _wrong(each, there) for each in room.formulations}
    known = {(repr(each.value), each.expected) for problems in wrong.values() for each in problems}
    for each in room.schedulers:  # one that solves a wrong formulation meets the same again
        wrong_in_it = _wrong(each, scenario, [each.name for each in room.formulations])
        problems = [found for found in wrong_in_it if (repr(found.value), found.expected) not in known]
        routed = not any(found.where.startswith(f"{each.name}, route") for found in problems)
        if problems and routed and wrong.get(each.route(each.settle({})).formulation or ""):
            problems = [found for found in problems if not found.where.startswith(f"{each.name}, decide")]
        wrong[each.name] = problems
    for problems in wrong.values():
        yield from problems
    with collecting(f"{where}, symbols", "models whose symbols can be read", of_room):
        of_room += _wrong_symbols(room, [each for each in room.formulations if not wrong[each.name]])
    for scheduler in room.schedulers:
        if scheduler.name not in room.explanations:
            yield Problem(f"{where}, explanations", NOTHING, f"a function for {scheduler.name}")
        elif not any(wrong.values()):
            of_room += _wrong_explanation(f"{where}, explanations, {scheduler.name}", room, scheduler)
    yield from of_room


def _wrong_symbols(room: Room, formulations: Sequence[Formulation[Any]]) -> Iterator[Problem]:
    known = {
        f"{formulation.name} {symbol}"
        for formulation in formulations
        for symbol in notation.symbols(formulation.build(*posed(formulation, load(f"preset:{room.example}"))))["symbol"]
    }
    for idea, named in room.letters().items():
        for each in named:
            if each.partition(" ")[0] in {found.name for found in formulations} and each not in known:
                yield Problem(f"room {room.name}, symbols, {idea}", each, "a symbol of that formulation's model")


def _wrong_explanation(where: str, room: Room, scheduler: Scheduler) -> list[Problem]:
    problems: list[Problem] = []
    with collecting(where, "an Explained", problems):
        run = run_loop(load(f"preset:{SMALL}"), scheduler, stop=Until(LATEST_S))
        for job, part in ((job, part) for job in run.jobs["job"] for part in (0.0, 0.3, 1.0)):
            found: Any = room.explanations[scheduler.name](JobAtTime(run, job, part * run.end_s))
            if not isinstance(found, Explained):
                problems.append(Problem(f"{where}, answer", found, "an Explained"))
                return problems
            if not found.sentences:
                problems.append(Problem(f"{where}, sentences", NOTHING, f"why {job} had what it had"))
                return problems
    return problems


@told_of_arguments
def same_programme(formulation: str | Formulation[Any], data: Any, knobs: Mapping[str, Any] | None = None) -> None:
    """Raise ContractError where a formulation's `assemble` differs from what its model compiles to: in order, sense,
    limits, a coefficient's last bit, or where the parts are; it names row and column as the model does.

    data: the numbers of the problem, as `Formulation.data` gives them, or a scenario that has them (also a file or
    `preset:NAME`); knobs: those that are not the default. Raises InputError for what is none of these.
    """
    found = find_formulation(formulation)
    require_named(found, type(found))
    settled: Knobs = found.settle({} if knobs is None else knobs)
    if isinstance(data, (str, Path, Scenario)):
        data, settled = posed(found, load(data), **settled)
    elif not isinstance(data, kind := _numbers_of(found)):
        raise InputError(f"{found.name}, data", data, f"{SCENARIO}, or the {kind.__name__} that it makes of one")
    problems = list[Problem]()
    with collecting(f"{found.name}, assemble", "the programme that its model states", problems):
        assembled = found.assemble(data, settled)
        if isinstance(assembled, Programme):
            different = difference(found.build(data, settled), assembled)
            problems += [different._replace(where=f"{found.name}, assemble, {different.where}")] if different else []
        else:
            got = NOTHING if assembled is None else assembled
            problems.append(Problem(f"{found.name}, assemble", got, "a Programme"))
    if problems:
        raise ContractError(problems)


def _numbers_of(formulation: Formulation[Any]) -> type[Any]:
    """The class of its instance, as its declaration says: `class Mine(Formulation[MineInstance])`."""
    bases = [base for kind in type(formulation).__mro__ for base in getattr(kind, "__orig_bases__", ())]
    return next((each for base in bases for each in get_args(base) if isinstance(each, type)), object)
