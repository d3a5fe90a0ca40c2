"""The functions a notebook begins with: load a scenario, solve one formulation on it, simulate one scheduler."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from workbench.decision import Snapshot
from workbench.errors import InputError
from workbench.estimators.oracle import Oracle
from workbench.papers.paper import Result, find_formulation, find_scheduler, formulations, schedulers
from workbench.run import Run
from workbench.scenario import Scenario
from workbench.simulation.loop import simulate as run_loop
from workbench.simulation.observers import Observer
from workbench.simulation.state import State
from workbench.simulation.stop import AllFinished, Stop, Until, WindowFinished
from workbench.solvers import DEFAULT, Solver, SolverName

__all__ = [
    "allocation_table",
    "formulations",
    "ignored",
    "later_arrivals",
    "load",
    "schedulers",
    "simulate",
    "simulate_with",
    "snapshot_at",
    "solve",
    "solve_with",
    "time_of_solve",
]

PRESET = "preset:"
READ_BY_SOME = ("gpu_choices", "weight", "entity", "rewards", "tasks_per_round")
"""Properties of a job that only some schedulers read; each has a default that means `as if there were none`."""

Window = tuple[int, int]
"""First and last job that is measured, by number in order of arrival, from 0, both included."""


def load(source: Scenario | str | Path) -> Scenario:
    """The scenario of a file or of `preset:NAME`; a scenario is returned as it is.

    Raises InputError, and ScenarioError naming file, path, value and what was expected.
    """
    if isinstance(source, Scenario):
        return source
    if isinstance(source, str) and source.startswith(PRESET):
        from workbench.presets import preset

        return preset(source.removeprefix(PRESET))
    return Scenario.load(source)


def simulate(
    scenario: Scenario | str | Path,
    scheduler: str,
    /,
    *,
    seed: int | None = None,
    until_s: float | None = None,
    window: Window | None = None,
    observers: Iterable[Observer] = (),
    detail: int | None = None,
    **knobs: Any,
) -> Run:
    """Run a scheduler on a scenario (also a file or `preset:NAME`) until every job has finished.

    seed defaults to the scenario's; until_s, window: end at that time, or when the jobs from number first to last (by
    arrival) have finished; detail: how many decisions are recorded with their shares and signals (None: all).
    A knob that bears the name of one of these goes through `simulate_with`.

    Raises InputError, ScenarioError (jobs that can run nowhere), InvalidDecision, Stalled and a solver's errors.
    """
    return simulate_with(
        load(scenario), scheduler, knobs, seed=seed, until_s=until_s, window=window, observers=observers, detail=detail
    )


def simulate_with(
    scenario: Scenario,
    scheduler: str,
    knobs: Mapping[str, Any],
    *,
    seed: int | None = None,
    until_s: float | None = None,
    window: Window | None = None,
    observers: Iterable[Observer] = (),
    detail: int | None = None,
) -> Run:
    """`simulate` with the knobs in a mapping."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63):
        raise InputError("seed", seed, "a whole number from 0 to 2^63 - 1")
    stop = _stop(scenario, until_s, window)
    found = find_scheduler(scheduler)
    return run_loop(scenario, found, knobs, seed=seed, stop=stop, observers=observers, detail=detail)


def solve(
    scenario: Scenario | str | Path,
    formulation: str,
    /,
    *,
    at: float | None = None,
    solver: str | Solver = DEFAULT,
    time_limit_s: float | None = None,
    gap: float | None = None,
    **knobs: Any,
) -> Result:
    """Solve a formulation once, for the jobs that have arrived by `at` (`snapshot_at` says what it sees).

    at: seconds; default: the last arrival, and 0 for an offline formulation, which also sees the jobs to come.
    solver: highs, glpk or a `workbench.Solver`; time_limit_s, gap: when to stop, in its place.

    Raises InputError, ScenarioError, and the errors of `workbench.solvers` (infeasible, unbounded, ...).
    """
    return solve_with(load(scenario), formulation, knobs, at=at, solver=solver, time_limit_s=time_limit_s, gap=gap)


def solve_with(
    scenario: Scenario,
    formulation: str,
    knobs: Mapping[str, Any],
    *,
    at: float | None = None,
    solver: str | Solver = DEFAULT,
    time_limit_s: float | None = None,
    gap: float | None = None,
) -> Result:
    """`solve` with the knobs in a mapping."""
    found = find_formulation(formulation)
    settled = found.settle(knobs)
    options = _solver(solver, time_limit_s, gap)
    scenario.require_runnable()
    snapshot = snapshot_at(scenario, time_of_solve(scenario, formulation, at), offline=found.offline)
    return found.run(found.data(snapshot, settled), settled, options)


def time_of_solve(scenario: Scenario, formulation: str, at: float | None = None) -> float:
    """The time at which `solve` looks: as given, else 0 for an offline formulation and the last arrival for others."""
    return _time(scenario, at, find_formulation(formulation).offline)


def _time(scenario: Scenario, at: float | None, offline: bool) -> float:
    if at is None:
        return 0.0 if offline else max((job.arrival_s for job in scenario.jobs), default=0.0)
    if isinstance(at, bool) or not isinstance(at, (int, float)) or not 0 <= at < math.inf:
        raise InputError("at", at, "seconds from 0")
    return float(at)


def later_arrivals(scenario: Scenario, at_s: float) -> int:
    """How many jobs arrive after a time."""
    return sum(job.arrival_s > at_s for job in scenario.jobs)


def snapshot_at(scenario: Scenario, at_s: float | None = None, *, offline: bool = False) -> Snapshot:
    """What a scheduler would see at a time if nothing has been scheduled yet; default: as for `solve`.

    Jobs that have arrived by `at_s` have waited since, with the steps and GPU-seconds that the scenario says they had;
    later ones are left out, or listed in `future` if `offline`. Nodes that are down then (also by a drawn fault) are
    down. What the scenario has `running` appears, as assignments that end now, at time 0 only: later it would depend
    on a scheduler, so those GPUs then count as free and their jobs as waiting.
    """
    at_s = _time(scenario, at_s, offline)
    state = State(scenario, "snapshot", Oracle(scenario), scenario.seed)
    if at_s > 0:
        state.release_ended()
        state.advance(at_s)
    return state.snapshot("round", future=offline)


def allocation_table(result: Result) -> pd.DataFrame:
    """The shares of time that a formulation found: one row per job (a pair is `a + b`), one column per type."""
    if "allocation" not in result.values:
        raise InputError("result", sorted(result.values), "the result of a formulation that gives an allocation")
    return pd.DataFrame.from_dict(dict(result.values["allocation"]), orient="index").rename_axis("job")


def ignored(scenario: Scenario, scheduler: str) -> tuple[str, ...]:
    """Properties that some job of the scenario sets and that the scheduler does not read."""
    uses = find_scheduler(scheduler).uses
    unread = [name for name in READ_BY_SOME if name not in uses]
    default = {name: type(scenario.jobs[0]).model_fields[name].default for name in unread} if scenario.jobs else {}
    return tuple(name for name in default if any(getattr(job, name) != default[name] for job in scenario.jobs))


def _solver(solver: str | Solver, time_limit_s: float | None, gap: float | None) -> Solver:
    if isinstance(solver, str) and solver not in get_args(SolverName):
        raise InputError("solver", solver, "one of " + ", ".join(get_args(SolverName)))
    if time_limit_s is not None and not 0 < time_limit_s < math.inf:
        raise InputError("time limit", time_limit_s, "seconds above 0")
    if gap is not None and not 0 <= gap < math.inf:
        raise InputError("gap", gap, "a number from 0")
    options = Solver(name=solver) if isinstance(solver, str) else solver  # type: ignore[arg-type]
    options = options if time_limit_s is None else replace(options, time_limit_s=time_limit_s)
    return options if gap is None else replace(options, gap=gap)


def _stop(scenario: Scenario, until_s: float | None, window: Window | None) -> Stop:
    rules: list[Stop] = []
    if until_s is not None:
        if not 0 <= until_s < math.inf:
            raise InputError("until", until_s, "seconds from 0")
        rules.append(Until(until_s))
    if window is not None:
        check_window(scenario, window)
        rules.append(WindowFinished(*window))
    return _Earliest(rules) if len(rules) > 1 else (rules or [AllFinished()])[0]


def check_window(scenario: Scenario, window: Window) -> None:
    """Raise InputError unless the window names jobs that there are."""
    last = len(scenario.jobs) - 1
    ok = len(window) == 2 and all(isinstance(n, int) and not isinstance(n, bool) for n in window)
    if not ok or not 0 <= window[0] <= window[1] <= last:
        raise InputError("window", window, f"(first, last) job by arrival, 0 <= first <= last <= {last}")


class _Earliest:
    """Ends as soon as one of several rules does."""

    def __init__(self, rules: Iterable[Stop]) -> None:
        self._rules = tuple(rules)

    def latest_s(self) -> float:
        return min(rule.latest_s() for rule in self._rules)

    def __call__(self, state: State) -> bool:
        return any(rule(state) for rule in self._rules)
