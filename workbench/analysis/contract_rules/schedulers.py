"""What a scheduler must keep: pure decisions, whole declarations, and jobs that finish."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from types import SimpleNamespace
from typing import Any

import numpy as np

from workbench.analysis.contract_rules.problems import collecting, line_in, once
from workbench.base.error_origin import at_line, is_users, line_of_code
from workbench.base.errors import InputError, Problem, Words, one_of
from workbench.base.labels import listed
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import NO_EXACT, ExactProblem, Knobs, Memory, Route, Scheduler, StatedProblem, Timing
from workbench.scheduling.decision import Decision
from workbench.scheduling.memory import as_text
from workbench.scheduling.snapshot import Snapshot
from workbench.session.api import snapshot_at
from workbench.simulation.loop import run_loop
from workbench.simulation.stop import Until

TIMING = "Timing(round_s=seconds > 0, or None)"
ROUTE = 'Route("same programme", FORMULATION), or of another kind'
STATED = "a StatedProblem, or None where an algorithm decides"
UNDECLARED = {"attributes": {"declared by nobody": 1}}
"""With an attribute in a scenario, one that a scheduler does not declare cannot be asked for."""
SAME_SHARE = 1e-6
"""How far a share may be from the one that was found."""
LATEST_S = 200_000.0
"""A run of a check ends then, finished or not."""


def wrong_scheduler(scheduler: Scheduler, worlds: Sequence[Scenario], formulations: Iterable[str]) -> list[Problem]:
    """All that is wrong with a scheduler, run on each of some scenarios: once, with the scenario where it is only one.

    Each with `file:line` of its author's code, of the method that is concerned where nothing was raised. formulations:
    names of those that its route may name.
    """
    problems = _wrong_told(scheduler, "timing", Timing, TIMING) + _wrong_told(scheduler, "route", Route, ROUTE)
    if not problems:
        named, known = scheduler.route(scheduler.settle({})).formulation, [*formulations]
        if named and named not in known:
            where = at_line(f"{scheduler.name}, route", _line(scheduler, "route"))
            problems = [Problem(where, named, f"the name of a formulation: {one_of(named, known)}")]
    if problems:
        return problems
    told = once({world.name or "the scenario": _wrong_in(scheduler, world) for world in worlds}, "on")
    found = [each._replace(where=each.where.replace(", decide, decision at ", ", decide, at ")) for each in told]
    lines = {method: _line(scheduler, method) for method in ("start", "decide")}
    return [each if line_in(each) else each._replace(where=at_line(each.where, lines[_method(each)])) for each in found]


def _method(problem: Problem) -> str:
    return "start" if ", start" in problem.where else "decide"


def _wrong_told(scheduler: Scheduler, method: str, kind: type[Timing | Route], expected: str) -> list[Problem]:
    """That its timing or route is no such thing, or another when asked again."""
    where, problems = f"{scheduler.name}, {method}", list[Problem]()
    with collecting(where, expected, problems):
        told, again = (getattr(scheduler, method)(scheduler.settle({})) for _ in range(2))
        line = _line(scheduler, method)
        if not isinstance(told, kind):
            problems.append(Problem(at_line(where, line), told, expected))
        elif told != again:
            problems.append(Problem(at_line(where, line), Words("two answers"), "one for the same knobs"))
    return problems


def _wrong_in(scheduler: Scheduler, scenario: Scenario) -> list[Problem]:
    """What is wrong with its first memory, or else with its decisions."""
    name, knobs, problems = scheduler.name, scheduler.settle({}), list[Problem]()
    with collecting(f"{name}, start", "its first memory", problems):
        if as_text(scheduler.start(scenario, knobs)) != as_text(scheduler.start(scenario, knobs)):
            problems.append(Problem(f"{name}, start", Words("two memories"), "one for the same scenario and knobs"))
    if not problems:
        with collecting(f"{name}, decide", "a decision", problems):
            eye = Watched(scheduler)
            watched = run_loop(scenario, eye, seed=1, stop=Until(LATEST_S))
            if watched != run_loop(scenario, scheduler, seed=1, stop=Until(LATEST_S)):
                problems.append(
                    Problem(f"{name}, decide", Words("two runs that differ"), "equal inputs give equal runs")
                )
            with collecting(f"{name}, route", ROUTE, problems):
                problems += _wrong_route(scheduler, knobs, {*watched.decisions["made_by"]})
            unlike = _wrong_problems(scheduler, knobs, eye, snapshot_at(scenario, 0.0, offline=True))
            problems += unlike or _wrong_shares(scheduler, knobs, eye.solved)
            jobs = watched.jobs
            left = jobs.loc[jobs["finish_s"].isna() & jobs["arrival_s"].notna(), "job"]
            if len(left):
                found = Words(f"{listed(left)} unfinished after {LATEST_S:g} s")
                problems.append(Problem(f"{name}, decide", found, "every job finishes"))
    again = re.compile(rf" of {re.escape(name)}(?= at )|, by {re.escape(name)}\b")  # the name, which stands in front
    return [each._replace(where=each.where[: len(name)] + again.sub("", each.where[len(name) :])) for each in problems]


def _wrong_route(scheduler: Scheduler, knobs: Knobs, made_by: Set[str]) -> Iterator[Problem]:
    """That by its route a programme decides, or none, and by its decisions the other; an `other route`: either. Or that
    its route is the same where it solves an own formulation."""
    kind, solved = scheduler.route(knobs).kind, sorted(made_by & {"model", "assembly"})
    where = at_line(f"{scheduler.name}, route", _line(scheduler, "route"))
    if kind == "algorithm" and solved:
        found = Words(f"decisions made by {listed(solved)}, and a route that is an algorithm")
        yield Problem(where, found, 'Route("same programme", FORMULATION), or "other route"')
    if kind == "same programme" and not solved:
        found = Words(f"decisions made by {listed(sorted(made_by))} alone, and a route that is the same programme")
        yield Problem(where, found, "the report of the solve with the decision, or another route")
    if scheduler.formulation:
        own: Any = SimpleNamespace(name="own", title="Own")  # asked for these alone
        told = scheduler.with_formulation(own).route(knobs).formulation
        if told != own.name:
            found = Words(f"{told or 'none'} where another formulation is solved in its place")
            yield Problem(where, found, "self.instead.name, unless self.instead is None")


def _wrong_problems(scheduler: Scheduler, knobs: Knobs, eye: Watched, offline: Snapshot) -> list[Problem]:
    """That what it says is solved, or is the problem of a whole run, is no such thing; offline: all jobs at 0 s."""
    problems, route = list[Problem](), scheduler.route(knobs)
    asked: list[tuple[str, Any, str, Callable[[], Any]]] = [
        ("exact", ExactProblem, "an ExactProblem", lambda: scheduler.exact(offline, knobs, LATEST_S))
    ]
    if eye.asked is not None:
        seen = eye.asked
        asked.append(("stated", StatedProblem | None, STATED, lambda: scheduler.stated(*seen, knobs)))
    for method, kind, expected, answer in asked:
        where = f"{scheduler.name}, {method}"
        with collecting(where, expected, problems):
            try:
                found = answer()
            except InputError as error:
                if method == "exact" and error.where == NO_EXACT.format(scheduler.name):
                    continue  # no problem of a whole run is stated, which is no mistake
                raise
            if not isinstance(found, kind):
                problems.append(Problem(at_line(where, _line(scheduler, method)), found, expected))
            elif found is None and eye.solved and not scheduler.instead and route.kind == "same programme":
                wanted = f"the StatedProblem of {route.formulation} that `decide` solves, or another route"
                problems.append(Problem(at_line(where, _line(scheduler, "route")), None, wanted))
    return problems


def _wrong_shares(
    scheduler: Scheduler, knobs: Knobs, solved: tuple[Snapshot, Memory, Decision] | None
) -> Iterator[Problem]:
    """Shares of a decision that are not those of the problem that it says is solved (`stated`)."""
    if solved is None or solved[2].shares is None:
        return
    shares = solved[2].shares
    problem = scheduler.stated(solved[0], solved[1], knobs)
    if problem is None:
        return
    where = f"{scheduler.name}, decide, shares at {solved[0].now_s:g} s"
    allocation = problem.formulation.run(problem.data, problem.knobs).values.get("allocation", {})
    for unit, row in zip(shares.units, shares.values.tolist(), strict=True):
        for kind, share in zip(shares.types, row, strict=True):
            right = allocation.get(unit, {}).get(kind, share)
            if abs(right - share) > SAME_SHARE:
                found = Words(f"{share:.6g} for {unit} on {kind}, where its answer is {right:.6g}")
                yield Problem(where, found, f"the shares that {problem.formulation.name} has")
                return


def _line(scheduler: Scheduler, method: str) -> str:
    """`file:line` of a method, or of the function of somebody's own that the scheduler was made of."""
    made_of = [each for each in vars(scheduler).values() if inspect.isfunction(each) and is_users(each.__module__)]
    return line_of_code(next(iter(made_of), getattr(type(scheduler), method)))


def with_failures() -> Scenario:
    """Three jobs of 1 to 3 GPUs on two types; one cannot run on the second, a node fails, restarts cost time."""
    rates = (("a", "fast", 1, 4.0), ("a", "slow", 1, 1.0), ("b", "fast", 2, 5.0), ("b", "slow", 2, 3.0))
    rows = [*rates, ("c", "fast", 3, 2.0), ("c", "slow", 3, 0.0)]
    return Scenario.from_dict(
        {
            "name": "three jobs with a failure",
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
                {"name": "three", "model": "c", "gpus": 3, "steps": 600, "arrival_s": 100.5, **UNDECLARED},
            ],
            "throughputs": [
                {"model": model, "accelerator": kind, "gpus": gpus, "steps_per_s": rate}
                for model, kind, gpus, rate in rows
            ],
            "core": {
                "restart": {"restart_s": 5.0},
                "faults": {"list": [{"node": "f-0", "from_s": 30.0, "to_s": 430.0}]},
            },
        }
    )


class Watched(Scheduler):
    """A scheduler that asks another one twice; raises InputError where answers differ or anything was written into."""

    def __init__(self, inner: Scheduler) -> None:
        self.inner = inner
        self.asked: tuple[Snapshot, Memory] | None = None
        self.solved: tuple[Snapshot, Memory, Decision] | None = None
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
        at = f"at {snapshot.now_s:g} s"
        before, seen, again = as_text(memory), _arrays(snapshot), copy.deepcopy(rng)
        written = InputError(f"{at}, snapshot", Words("written into"), "copies of its arrays: free = nodes.free.copy()")
        try:
            answer = self.inner.decide(snapshot, memory, knobs, rng)
            other = self.inner.decide(snapshot, memory, knobs, again)
        except Exception as error:
            if _arrays(snapshot) != seen:
                raise written from error  # which may be why it failed
            if type(error) is ValueError and "read-only" in str(error):  # numpy's, of any array
                tried = Words("a write into an array that is read-only, as all of the snapshot are")
                raise InputError(at, tried, "a copy: free = nodes.free.copy()") from error
            raise
        if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], Decision):
            raise InputError(f"{at}, answer", answer, "a pair (Decision, memory)")
        if as_text(memory) != before:
            raise InputError(f"{at}, memory", Words("written into"), "a new value")
        if _arrays(snapshot) != seen:
            raise written
        if as_text(answer[0], f"{at}, answer") != as_text(other[0]) or as_text(answer[1]) != as_text(other[1]):
            expected = "one: nothing but the snapshot, memory, knobs and generator counts"
            raise InputError(at, Words("two answers to one question"), expected)
        _require_gpus(f"{at}, shares", snapshot, answer[0])
        self.check(snapshot, answer[0])
        self.asked = snapshot, memory
        if answer[0].solved is not None and _units(answer[0]) > (0 if self.solved is None else _units(self.solved[2])):
            self.solved = (snapshot, memory, answer[0])
        return answer

    def check(self, snapshot: Snapshot, decision: Decision) -> None:
        """What else every decision must keep, for a test's own class; nothing here."""


def _require_gpus(where: str, snapshot: Snapshot, decision: Decision) -> None:
    """Raise InputError for shares that take more GPUs of a type than are up; pairs and copies are not counted."""
    gangs: dict[Any, int] = dict(zip(snapshot.jobs.names, snapshot.jobs.gpus.tolist(), strict=True))
    shares = decision.shares
    for kind, up in zip(snapshot.types, snapshot.capacity.tolist(), strict=True):
        if shares is not None and kind in shares.types:
            column = shares.values[:, shares.types.index(kind)].tolist()
            used = sum(gangs.get(unit, 0) * share for unit, share in zip(shares.units, column, strict=True))
            if used > up + SAME_SHARE * max(1.0, up):
                raise InputError(where, Words(f"{used:.6g} GPUs of {kind} where {up:g} are up"), "no more than are up")


def _units(decision: Decision) -> int:
    """That have shares."""
    return 0 if decision.shares is None else len(decision.shares.units)


def _arrays(snapshot: Snapshot) -> list[bytes]:
    """Everything in a snapshot that could be written into."""
    views: list[Any] = [snapshot.nodes, snapshot.jobs]
    found = [getattr(view, field.name) for view in views for field in dataclasses.fields(view)]
    held = [as_text(dict(snapshot.leases)).encode(), as_text(dict(snapshot.ended)).encode()]
    return [item.tobytes() for item in found if isinstance(item, np.ndarray)] + held
