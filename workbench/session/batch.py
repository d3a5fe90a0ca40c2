"""Many runs at once: what each is asked to be, and what came of it, a run or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from workbench.base.errors import InputError, WorkbenchError
from workbench.base.processes import Pool
from workbench.scenario.scenario import Scenario
from workbench.session.api import Window, simulate
from workbench.session.registry import is_own
from workbench.simulation.run import Run

Outcome = Run | WorkbenchError
"""A run, or the stated failure that stands in its place."""


@dataclass(frozen=True)
class RunRequest:
    """One run to make: the arguments of `workbench.simulate`. It can be pickled: the scenario travels as JSON text.

    scheduler, belief: by name; until_s: s; window: first and last job that is measured, by number in order of arrival;
    detail: how many decisions are recorded in detail.
    """

    scenario: Scenario
    scheduler: str
    knobs: Mapping[str, Any]
    seed: int
    belief: str | None = None
    until_s: float | None = None
    window: Window | None = None
    detail: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        rest = [getattr(self, field.name) for field in fields(self)[3:]]
        return _unpacked, (self.scenario.to_json(), self.scheduler, dict(self.knobs), *rest)


def _unpacked(scenario: str, *rest: Any) -> RunRequest:
    return RunRequest(Scenario.from_json(scenario), *rest)


def do(request: RunRequest) -> Run:
    """Make the run; raises what `workbench.simulate` does."""
    return simulate(
        request.scenario,
        request.scheduler,
        request.knobs,
        seed=request.seed,
        until_s=request.until_s,
        window=request.window,
        belief=request.belief,
        detail=request.detail,
    )


def attempt(request: RunRequest) -> Outcome:
    """Make the run, or return the stated failure (any WorkbenchError). Other exceptions are raised."""
    try:
        return do(request)
    except WorkbenchError as error:
        return error


def run_all(
    requests: Sequence[RunRequest],
    workers: int = 1,
    on_outcome: Callable[[int, Outcome], None] | None = None,
    *,
    pool: Pool | None = None,
) -> list[Outcome]:
    """The outcome of each request, in their order, which does not depend on the number of workers.

    workers: processes (from 1; with 1 the runs are made here, one after the other); on_outcome is called here with a
    request's number as soon as it has ended; pool: processes that are there already, in place of new ones. Schedulers
    declared in this process are run here, after the others. A script that uses processes needs the usual
    `if __name__ == "__main__":`.

    Raises InputError for `workers`, WorkbenchError if a process was ended (out of memory, say), and what is no stated
    failure: a mistake in a scheduler.
    """
    check_workers(workers)
    outcomes: dict[int, Outcome] = {}

    def ended(number: int, outcome: Outcome) -> None:
        if isinstance(outcome, Run):
            outcome = replace(outcome, scenario=requests[number].scenario)
        outcomes[number] = outcome
        if on_outcome is not None:
            on_outcome(number, outcome)

    several = pool is not None or workers > 1
    away = [number for number, request in enumerate(requests) if several and not is_own(request.scheduler)]
    if pool is None and len(away) < 2:
        away = []
    if away:
        _in_processes([requests[number] for number in away], workers, pool, lambda i, found: ended(away[i], found))
    for number in sorted(set(range(len(requests))) - set(away)):
        ended(number, attempt(requests[number]))
    return [outcomes[number] for number in range(len(requests))]


def check_workers(workers: int) -> None:
    """Raise InputError unless it is a number of processes."""
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError("workers", workers, "a whole number from 1")


def checked_seeds(seeds: Iterable[int]) -> tuple[int, ...]:
    """The seeds; raises InputError unless there is at least one whole number from 0, each once."""
    if not isinstance(seeds, Iterable):
        raise InputError("seeds", seeds, "a list of whole numbers from 0, each once")
    chosen = tuple(seeds)
    if not chosen:
        raise InputError("seeds", [], "at least one")
    for seed in chosen:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63 or chosen.count(seed) > 1:
            raise InputError("seeds", seed, "whole numbers from 0, each once")
    return chosen


def _in_processes(
    requests: Sequence[RunRequest], workers: int, pool: Pool | None, ended: Callable[[int, Outcome], None]
) -> None:
    if pool is not None:
        pool.map(attempt, requests, ended)
        return
    with Pool(min(workers, len(requests))) as own:
        own.map(attempt, requests, ended)
