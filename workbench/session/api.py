"""The functions a notebook begins with: load a scenario, solve one formulation on it, simulate one scheduler."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from workbench.base.errors import InputError, Problem, ScenarioError, WorkbenchError
from workbench.baselines.mechanisms.share_scheduler import ShareScheduler, require_sharing
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Formulation, Result, Route, Scheduler, StatedProblem, slips
from workbench.scheduling.estimators import by_name
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.estimators.speed_error import ErrorLog
from workbench.scheduling.snapshot import Belief, LearningBelief, Snapshot
from workbench.scheduling.solvers import (
    DEFAULT,
    ConflictError,
    InfeasibleError,
    Solver,
    SolveReport,
    SolverName,
    explained,
    of_a_solve,
)
from workbench.scheduling.solvers import solve_model as solve_plainly
from workbench.session.deciding_time import Charge, Charged, checked
from workbench.session.registry import (
    find_formulation,
    find_scheduler,
    formulations,
    schedulers,
    skipped_room_of,
    skipped_rooms,
)
from workbench.simulation.fluid import Fluid, flow
from workbench.simulation.loop import Observer, run_loop
from workbench.simulation.run import OWN, Run
from workbench.simulation.state import State
from workbench.simulation.stop import Stop, stop_rule

if TYPE_CHECKING:
    import pandas as pd
    import pyomo.environ as pyo


__all__ = [
    "Run",
    "allocation_table",
    "formulations",
    "ideal",
    "later_arrivals",
    "load",
    "route",
    "schedulers",
    "simulate",
    "snapshot_at",
    "solve",
    "solve_model",
    "time_of_solve",
    "with_usable_schedulers",
]


PRESET = "preset:"
WITHOUT = "Left out of its schedulers:"
"""So a note begins on schedulers that were left out of a scenario."""
SCENARIO = "a Scenario, the name of a file, or preset:NAME"
Beliefs = str | Belief | Callable[[Scenario], Belief]
"""What a scheduler believes about speeds: an estimator by name (`low_rank`, `low_rank:profiled=0.5`), a belief, or what
makes one for a scenario (an estimator that learns: anew each run)."""

Window = tuple[int, int]
"""First and last job that is measured, by number in order of arrival, from 0, both included."""


def load(source: Scenario | str | Path) -> Scenario:
    """The scenario of a file or of `preset:NAME`; a scenario is returned as it is.

    Raises InputError, and ScenarioError naming file, path, value and what was expected.
    """
    if isinstance(source, Scenario):
        return source
    if not isinstance(source, (str, Path)) or not str(source).strip():
        raise InputError("scenario", source, SCENARIO)
    if isinstance(source, str) and source.startswith(PRESET):
        from workbench.scenario.presets import preset

        return preset(source.removeprefix(PRESET))
    if not Path(source).exists():
        _refuse_missing(str(source))
    return Scenario.load(source)


def _refuse_missing(name: str) -> None:
    """Raise InputError if what is no file is the bare name of a preset."""
    from workbench.scenario.presets import is_preset

    if is_preset(name):
        raise InputError("scenario", name, f'a file; the built-in scenario is preset("{name}") or "preset:{name}"')


def simulate(
    scenario: Scenario | str | Path,
    scheduler: str | Scheduler,
    given: Mapping[str, Any] | None = None,
    /,
    *,
    seed: int | None = None,
    until_s: float | None = None,
    window: Window | None = None,
    observers: Iterable[Observer] = (),
    belief: Beliefs | None = None,
    detail: int | None = None,
    charge_decisions: Charge | None = None,
    **knobs: Any,
) -> Run:
    """Run a scheduler (by name, or itself) on a scenario (also a file or `preset:NAME`) until every job has finished.

    Knobs by name, or as a mapping in third place (`{"lambda": 0.5}`: a word of Python's). seed defaults to the
    scenario's; until_s, window: end at that time, or when the jobs from number first to last (by arrival) have
    finished; belief: the speeds that the scheduler is told, default: what its paper says it knows (`oracle`: the true
    ones of types, most; `nodes`: of each single node too, Hops; `low_rank`: Gavel's estimator of pairs, with knobs
    `low_rank:profiled=0.5`; `pmi`: HadarE's (10); `layered`: Hops's; `scaled`: Sia's); detail: how many
    decisions are recorded with their shares and signals (None: all); charge_decisions: simulated seconds that each
    decision takes, or `measured`, the wall time it takes here (`workbench.session.deciding_time`); by default none, but
    what a scheduler's own knobs say.

    Raises InputError, ScenarioError (jobs that can run nowhere), InvalidDecision, Stalled and a solver's errors.
    """
    scenario = load(scenario)
    found = find_scheduler(scheduler)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63):
        raise InputError("seed", seed, "a whole number from 0 to 2^63 - 1")
    if detail is not None and (isinstance(detail, bool) or not isinstance(detail, int) or detail < 0):
        raise InputError("detail", detail, "a whole number from 0, or None")
    run = run_loop(
        scenario,
        found if charge_decisions is None else Charged(found, charge_decisions),
        _joined(found.name, given, knobs),
        seed=seed,
        stop=_stop(scenario, until_s, window),
        observers=_observers(observers),
        belief=_belief(scenario, found, belief, seed),
        detail=detail,
    )
    named = _named(found, belief)
    return replace(
        run,
        belief=named,
        drew=run.drew or (named != OWN and by_name.maker(named).draws),
        until_s=until_s,
        window=window,
        charge_decisions=None if charge_decisions is None else checked(charge_decisions),
        code=found.code(),
    )


def ideal(
    scenario: Scenario | str | Path,
    scheduler: str | Scheduler,
    given: Mapping[str, Any] | None = None,
    /,
    *,
    belief: Beliefs | None = None,
    **knobs: Any,
) -> Fluid:
    """Run a scheduler that divides time in the fluid limit: every job gets exactly its shares at every moment.

    What its rounds would come to if they were infinitely short and cost nothing; knobs of rounds and placement have no
    part in it. Other arguments as for `simulate`. Raises InputError for a scheduler that divides no time, naming those
    that do, and if no job that waits has a share; ScenarioError; a solver's errors.
    """
    scenario = load(scenario)
    found = find_scheduler(scheduler)
    if not isinstance(found, ShareScheduler):
        dividing = ", ".join(each.name for each in schedulers() if isinstance(each, ShareScheduler))
        raise InputError("scheduler", scheduler, f"one that divides time into shares: {dividing}")
    settled = found.settle(_joined(found.name, given, knobs))
    require_sharing(scenario, settled)
    return flow(scenario, found.policy, settled, _belief(scenario, found, belief))


def solve(
    scenario: Scenario | str | Path,
    formulation: str | Formulation[Any],
    given: Mapping[str, Any] | None = None,
    /,
    *,
    at: float | None = None,
    solver: str | Solver = DEFAULT,
    time_limit_s: float | None = None,
    gap: float | None = None,
    **knobs: Any,
) -> Result:
    """Solve a formulation once, for the jobs that have arrived by `at` (`snapshot_at` says what it sees).

    Knobs by name, or as a mapping in third place, where one may bear the name of an argument. at: seconds; default: the
    last arrival, and 0 for an offline formulation, which also sees the jobs to come. solver: highs, glpk or a
    `workbench.Solver`; time_limit_s, gap: when to stop, in its place.

    Raises InputError, ScenarioError, and the errors of `workbench.scheduling.solvers` (infeasible, unbounded, ...).
    """
    scenario = load(scenario)
    found = find_formulation(formulation)
    settled = found.settle(_joined(found.name, given, knobs))
    options = _solver(solver, time_limit_s, gap)
    require_sharing(scenario, settled)
    scenario.require_runnable()
    snapshot = snapshot_at(scenario, _time(scenario, at, found.offline), offline=found.offline)
    problem = StatedProblem(found, found.data(snapshot, settled), settled, options)
    try:
        with slips() as said:
            result = found.run(problem.data, settled, options)
        return replace(result, problem=problem, warnings=(*result.warnings, *filter(None, said.values())))
    except InfeasibleError as error:
        raise _with_conflict(error, problem) from error


def _with_conflict(error: InfeasibleError, problem: StatedProblem) -> InfeasibleError:
    """The error with the rows that cannot hold together, where the model that the formulation states can be built."""
    if not of_a_solve(error):
        return error
    try:
        model = problem.formulation.build(problem.data, problem.knobs)
    except WorkbenchError:  # too large to be stated: it was solved without
        return error
    found = explained(error, model, problem.solver)
    if isinstance(found, ConflictError):
        found.stated = problem
    return found


def solve_model(model: pyo.ConcreteModel, solver: Solver | None = None) -> SolveReport:
    """Solve a Pyomo model and load the values into its variables, see `workbench.scheduling.solvers.solve_model`.

    Raises the errors of `workbench.scheduling.solvers`; an infeasible model's names rows that cannot hold together.
    """
    try:
        return solve_plainly(model, solver)
    except InfeasibleError as error:
        raise explained(error, model, solver) from error


def _joined(owner: str, given: Mapping[str, Any] | None, named: Mapping[str, Any]) -> Mapping[str, Any]:
    """Knobs given as a mapping and by name; each once."""
    if given is None:
        return named
    if not isinstance(given, Mapping):
        raise InputError(f"knobs of {owner}", given, "{knob: value}")
    for name in named:
        if name in given:
            raise InputError(f"knobs of {owner}", name, "each knob once")
    return {**given, **named}


def time_of_solve(scenario: Scenario, formulation: str | Formulation[Any], at: float | None = None) -> float:
    """The time at which `solve` looks: as given, else 0 for an offline formulation and the last arrival for others."""
    return _time(scenario, at, find_formulation(formulation).offline)


def _time(scenario: Scenario, at: float | None, offline: bool) -> float:
    if at is None:
        return 0.0 if offline else max((job.arrival_s for job in scenario.jobs), default=0.0)
    return _number("at", at, "seconds from 0", lambda value: value >= 0)


def _number(where: str, value: Any, expected: str, fits: Callable[[float], bool]) -> float:
    """A finite number that fits; raises InputError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or not fits(value):
        raise InputError(where, value, expected)
    return float(value)


def later_arrivals(scenario: Scenario, at_s: float) -> int:
    """How many jobs arrive after a time."""
    return sum(job.arrival_s > at_s for job in scenario.jobs)


def snapshot_at(scenario: Scenario | str | Path, at_s: float | None = None, *, offline: bool = False) -> Snapshot:
    """What a scheduler would see at a time if nothing has been scheduled yet; default: as for `solve`.

    Jobs that have arrived by `at_s` have waited since, with the steps and GPU-seconds that the scenario says they had;
    later ones are left out, or listed in `future` if `offline`. Nodes that are down then (also by a drawn fault) are
    down. What the scenario has `running` appears, as assignments that end now, at time 0 only: later it would depend
    on a scheduler, so those GPUs then count as free and their jobs as waiting.
    """
    scenario = load(scenario)
    at_s = _time(scenario, at_s, offline)
    state = State(scenario, "snapshot", Oracle(scenario), scenario.seed)
    if at_s > 0:
        state.release_ended()
        state.advance(at_s)
    return state.snapshot("round", future=offline).keep()


def allocation_table(result: Result) -> pd.DataFrame:
    """The shares of time that a formulation found: one row per job (a pair is `a + b`), one column per type."""
    import pandas as pd

    expected = "the result of a formulation that gives an allocation"
    if not isinstance(result, Result):
        raise InputError("result", result, expected)
    if "allocation" not in result.values:
        raise InputError("result", sorted(result.values), expected)
    return pd.DataFrame.from_dict(dict(result.values["allocation"]), orient="index").rename_axis("job")


def route(scheduler: str | Scheduler, given: Mapping[str, Any] | None = None, /, **knobs: Any) -> Route:
    """How a scheduler comes to its decisions, with these knobs: by the programme a formulation states, or otherwise."""
    found = find_scheduler(scheduler)
    return found.route(found.settle(_joined(found.name, given, knobs)))


def with_usable_schedulers(scenario: Scenario, source: str = "scenario") -> Scenario:
    """The scenario; schedulers of rooms that cannot be used are left out of it, with a note that says why.

    Raises ScenarioError for others that are not there, and for knobs that they do not take.
    """
    without = {entry.scheduler: room for entry in scenario.schedulers if (room := skipped_room_of(entry.scheduler))}
    if problems := list(_scheduler_problems(scenario, source, without)):
        raise ScenarioError(problems)
    if not without:
        return scenario
    notes = [
        f"{WITHOUT} {', '.join(name for name in without if without[name] == room)}: {room} cannot be used: {reason}"
        for room, reason in skipped_rooms().items()
        if room in without.values()
    ]
    usable = [entry for entry in scenario.schedulers if entry.scheduler not in without]
    return scenario.replace(schedulers=usable, notes=[*notes, *scenario.notes])


def _scheduler_problems(scenario: Scenario, source: str, skipped: Collection[str]) -> Iterator[Problem]:
    for i, entry in enumerate(scenario.schedulers):
        if entry.scheduler in skipped:
            continue
        where = f"{source}: schedulers[{i}]"
        try:
            found = find_scheduler(entry.scheduler, f"{where}.scheduler")
        except InputError as error:
            yield error.problem._replace(expected=f"{error.expected}, or one of your own, declared before")
            continue
        for name, value in entry.knobs.items():
            try:
                found.settle({name: value})
            except InputError as error:
                yield Problem(f"{where}.knobs.{name}", value if error.value != name else name, error.expected)


def _solver(solver: str | Solver, time_limit_s: float | None, gap: float | None) -> Solver:
    if not isinstance(solver, Solver) and solver not in get_args(SolverName):
        raise InputError("solver", solver, "one of " + ", ".join(get_args(SolverName)) + ", or a workbench.Solver")
    options = solver if isinstance(solver, Solver) else Solver(name=solver)  # type: ignore[arg-type]
    if time_limit_s is not None:
        limit_s = _number("time_limit", time_limit_s, "seconds above 0", lambda value: value > 0)
        options = replace(options, time_limit_s=limit_s)
    if gap is not None:
        options = replace(options, gap=_number("gap", gap, "a number from 0", lambda value: value >= 0))
    return options


def _observers(given: Any) -> tuple[Observer, ...]:
    expected = "a list of observers (with a method on_decision)"
    if not isinstance(given, Iterable):
        raise InputError("observers", given, expected)
    found = tuple(given)
    for observer in found:
        if not callable(getattr(observer, "on_decision", None)):
            raise InputError("observers", observer, expected)
    return found


def _named(scheduler: Scheduler, given: Beliefs | None) -> str:
    """How a run keeps its belief: an estimator (or its log) by name, another object as OWN."""
    made = given.maker if isinstance(given, ErrorLog) else given
    name = made.text if isinstance(made, by_name.Maker) else made
    return by_name.belief_of(scheduler, name) if name is None or isinstance(name, str) else OWN


def _belief(scenario: Scenario, scheduler: Scheduler, given: Any, seed: int | None = None) -> Belief:
    """The belief as it is, or as its maker makes it for the scenario and the run's seed."""
    if given is None or isinstance(given, str):
        given = by_name.maker(by_name.belief_of(scheduler, given))
    if isinstance(given, by_name.Maker):
        made: Any = given(scenario, seed)
    else:
        made = given(scenario) if callable(given) and not _is_belief(given) else given
    if made is given and isinstance(made, LearningBelief):
        raise InputError(
            "belief", made, "what makes one (a name, class or function): it learns, so each run has its own"
        )
    if not _is_belief(made):
        expected = (
            "an object with the methods "
            + ", ".join(BELIEF)
            + " (workbench.scheduling.snapshot.Belief), or what makes one"
        )
        raise InputError("belief", made, expected)
    return made  # type: ignore[no-any-return]


BELIEF = tuple(name for name in vars(Belief) if not name.startswith("_"))


def _is_belief(value: Any) -> bool:
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in BELIEF)


def _stop(scenario: Scenario, until_s: float | None, window: Window | None) -> Stop:
    if until_s is not None:
        until_s = _number("until", until_s, "seconds from 0", lambda value: value >= 0)
    if window is not None:
        check_window(scenario, window)
    return stop_rule(until_s, window)


def check_window(scenario: Scenario, window: Window) -> None:
    """Raise InputError unless the window names jobs that there are."""
    last = len(scenario.jobs) - 1
    ok = isinstance(window, (tuple, list)) and len(window) == 2
    ok = ok and all(isinstance(n, int) and not isinstance(n, bool) for n in window)
    if not ok or not 0 <= window[0] <= window[1] <= last:
        raise InputError("window", window, f"(first, last) job by arrival, 0 <= first <= last <= {last}")
