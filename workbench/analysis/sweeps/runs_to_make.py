"""The runs that a sweep asks for: scenarios x schedulers x points of the knobs x seeds, each with its key."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from workbench.analysis.comparison import ComparisonCase, Contenders, list_cases
from workbench.analysis.metrics import METRICS
from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.estimators.by_name import belief_of, belief_of_all
from workbench.session.api import Window, check_window, load, with_usable_schedulers
from workbench.session.registry import find_scheduler
from workbench.simulation.run import run_key

Label = str | int | float
Source = Scenario | str | Path
Sources = Source | Mapping[Label, Source] | Iterable[tuple[Label, Source]]
"""A scenario, or several with a label each: `{0.5: a, 0.9: b}`, or pairs, in which a label may come again."""

Vary = Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]]
"""Every combination of these values, `{knob: values}`, or a list of points, `{knob: value}` each."""

RESERVED = frozenset({"scenario", "scheduler", "seed", "status", "error", "wall_s", *(found.name for found in METRICS)})
"""Columns of the table of results: a knob of such a name cannot be varied."""


@dataclass(frozen=True)
class SweepRun:
    """A run of a sweep, by what varies and its key in the store. label: the scenario's; entry: the scheduler's label,
    else its name, with its knobs where that would not do; knobs: all of them; varied: of these the ones that vary;
    belief: the estimator that tells it speeds; scenario_key: `Scenario.key()`; key: `run_key`."""

    label: Label
    scenario: Scenario
    scenario_key: str
    entry: str
    scheduler: str
    knobs: Mapping[str, Any]
    varied: Mapping[str, Any]
    seed: int
    belief: str
    key: str


@dataclass(frozen=True)
class RunOptions:
    """What holds for every run of a sweep: the arguments of `workbench.simulate` beside knobs and seed."""

    belief: str | None = None
    until_s: float | None = None
    window: Window | None = None

    def given(self) -> dict[str, Any]:
        """The arguments by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def runs_to_make(
    sources: Sources, schedulers: Contenders | None, vary: Vary | None, seeds: Iterable[int] | None, ends: RunOptions
) -> list[SweepRun]:
    """Every run, in the order of scenarios, schedulers, points and seeds; raises InputError for what cannot be."""
    points = _points(vary)
    entries = schedulers if schedulers is None or isinstance(schedulers, (str, Mapping)) else list(schedulers)
    chosen = seeds if seeds is None or not isinstance(seeds, Iterable) else list(seeds)
    planned = []
    for label, scenario in _scenarios(sources):
        scenario.require_runnable()
        if ends.window is not None:
            check_window(scenario, ends.window)
        scenario = with_usable_schedulers(scenario) if entries is None else scenario
        planned.append((label, scenario, list_cases(scenario, entries, chosen)))
    belief = belief_of_all([find_scheduler(case.scheduler) for _, _, cases in planned for case in cases], ends.belief)
    ends = replace(ends, belief=belief)
    found = [run for label, scenario, cases in planned for run in _runs(label, scenario, cases, points, ends)]
    _require_known(points, (run.scheduler for run in found))
    return found


def _scenarios(sources: Sources) -> Iterator[tuple[Label, Scenario]]:
    if isinstance(sources, (Scenario, str, Path)):
        scenario = load(sources)
        yield scenario.name, scenario
        return
    expected = "a scenario, {label: scenario} or a list of (label, scenario)"
    if not isinstance(sources, Iterable):
        raise InputError("scenario", sources, expected)
    pairs = list(sources.items() if isinstance(sources, Mapping) else sources)
    if not pairs:
        raise InputError("scenario", pairs, "at least one")
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], (str, int, float)):
            raise InputError("scenario", pair, expected)
        yield pair[0], load(pair[1])


def _points(vary: Any) -> list[dict[str, Any]]:
    """The points as `{knob: value}`; of a grid, the last knob changes fastest."""
    if vary is None:
        return [{}]
    if isinstance(vary, Mapping):
        values = {knob: _values(knob, given) for knob, given in vary.items()}
        points = [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]
    elif isinstance(vary, Iterable) and not isinstance(vary, str):
        points = list(vary)
    else:
        points = [vary]
    if not points:
        raise InputError("vary", points, "at least one point")
    for point in points:
        if not isinstance(point, Mapping):
            raise InputError("vary", point, "{knob: [value, ...]} or a list of {knob: value}")
        for knob in point:
            if knob in RESERVED:
                raise InputError("vary", knob, "a knob; the table of results has another column of that name")
    return [dict(point) for point in points]


def _values(knob: str, given: Any) -> list[Any]:
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise InputError(f"vary: {knob}", given, "a list of values")
    found = list(given)
    if not found:
        raise InputError(f"vary: {knob}", found, "at least one value")
    return found


def _runs(
    label: Label,
    scenario: Scenario,
    cases: Sequence[ComparisonCase],
    points: Sequence[Mapping[str, Any]],
    ends: RunOptions,
) -> Iterator[SweepRun]:
    scenario_key = scenario.key()
    for entry in dict.fromkeys(case.label for case in cases):
        group = [case for case in cases if case.label == entry]
        scheduler = find_scheduler(group[0].scheduler)
        for varied in _own_points(scheduler, group[0].knobs, points):
            knobs = scheduler.settle({**group[0].knobs, **varied})
            for case in group:
                own = replace(ends, belief=belief_of(scheduler, ends.belief)).given()
                key = run_key(scenario_key, scheduler.name, knobs, case.seed, **own, code=scheduler.code())
                names = (label, scenario, scenario_key, entry, scheduler.name)
                yield SweepRun(*names, knobs, varied, case.seed, own["belief"], key)


def _own_points(
    scheduler: Scheduler, fixed: Mapping[str, Any], points: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The points with the knobs that the scheduler has, each once; at least the one without any."""
    names = {knob.name for knob in scheduler.knobs}
    found: dict[tuple[tuple[str, Any], ...], dict[str, Any]] = {}
    for point in points:
        mine = {knob: value for knob, value in point.items() if knob in names}
        for knob in mine:
            if knob in fixed:
                raise InputError(f"vary: {knob}", fixed[knob], f"a knob that is not also fixed for {scheduler.name}")
        settled = scheduler.settle(mine)
        checked = {knob: settled[knob] for knob in mine}
        as_items = tuple(sorted(checked.items()))
        if as_items in found and len(mine) == len(point):
            raise InputError("vary", mine, "each point once")
        found.setdefault(as_items, checked)
    return list(found.values())


def _require_known(points: Sequence[Mapping[str, Any]], names: Iterable[str]) -> None:
    """Raise InputError for a knob that none of the schedulers has."""
    schedulers = dict.fromkeys(names)
    known = {knob.name for name in schedulers for knob in find_scheduler(name).knobs}
    for point in points:
        for knob in point:
            if knob not in known:
                expected = f"a knob that one of these has: {', '.join(schedulers)}; they have " + ", ".join(
                    sorted(known)
                )
                raise InputError("vary", knob, expected)
