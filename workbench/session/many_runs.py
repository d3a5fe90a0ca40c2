"""The one runner of many runs: what each is asked to be, and what came of it, a run or why there is none.

Runs are made in this process, in processes of our own, on an executor, or on a Dask cluster by the address of its
scheduler (`executor_at`; needs `distributed`, the extra `dask`). Who reaches an open port of a Dask cluster runs code
as you: its tasks are pickled functions. So a scheduler that other machines can reach must speak TLS, with certificates
as the configuration of Dask names them (`distributed.comm.tls`).
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from workbench.base.errors import InputError, Words, WorkbenchError, mistake, why
from workbench.base.processes import Processes
from workbench.base.text import is_loopback
from workbench.scenario.scenario import Scenario
from workbench.session.api import Window, simulate
from workbench.session.deciding_time import Charge
from workbench.session.registry import is_own
from workbench.simulation.loop import Observer
from workbench.simulation.run import Run

Outcome = Run | WorkbenchError
"""A run, or the stated failure that stands in its place."""
Made = TypeVar("Made")
DASK = "the address of a Dask scheduler that answers, such as tls://10.0.0.5:8786 or, here, tcp://127.0.0.1:8786"
ANSWER_S = 20.0
"""How long to wait for the first answer of a Dask cluster."""


@dataclass(frozen=True)
class RunRequest:
    """The arguments of `workbench.simulate`, for whoever makes the run. It can be pickled.

    scheduler, belief: by name; until_s: s; window: first and last job that is measured, by number in order of arrival;
    detail: how many decisions are recorded in detail; charge_decisions: see there.
    """

    scenario: Scenario
    scheduler: str
    knobs: Mapping[str, Any]
    seed: int
    belief: str | None = None
    until_s: float | None = None
    window: Window | None = None
    detail: int | None = None
    charge_decisions: Charge | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return RunRequest, (self.scenario, *self.rest())

    def rest(self) -> tuple[Any, ...]:
        """All but the scenario."""
        return self.scheduler, dict(self.knobs), *(getattr(self, field.name) for field in fields(self)[3:])


class Makes(Protocol):
    """Who makes runs and tells of each as it ends, as `Processes` do."""

    def answers(
        self, make: Callable[..., Made], requests: Iterable[RunRequest], /
    ) -> Generator[tuple[int, Made], None, None]:
        """Number of a request and what `make` made of it; make may be handed observers of the run behind it."""


def do(request: RunRequest, observers: Iterable[Observer] = ()) -> Run:
    """Make the run; raises what `workbench.simulate` does, a mistake in own code as a WorkbenchError."""
    try:
        return simulate(
            request.scenario,
            request.scheduler,
            request.knobs,
            seed=request.seed,
            until_s=request.until_s,
            window=request.window,
            observers=observers,
            belief=request.belief,
            detail=request.detail,
            charge_decisions=request.charge_decisions,
        )
    except Exception as error:
        if isinstance(error, WorkbenchError) or not is_own(request.scheduler):
            raise
        raise WorkbenchError(f"scheduler {request.scheduler}", mistake(error), "no mistake in its code") from error


def attempt(request: RunRequest, observers: Iterable[Observer] = ()) -> Outcome:
    """Make the run, or return the stated failure (any WorkbenchError). Other exceptions, faults of ours, are raised."""
    try:
        return do(request, observers)
    except WorkbenchError as error:
        return error


def outcomes(
    requests: Iterable[RunRequest],
    make: Callable[[RunRequest], Made],
    *,
    workers: int = 1,
    kept: Makes | None = None,
    executor: Executor | None = None,
    ahead: int = 1,
) -> Generator[tuple[int, Made], None, None]:
    """Number of a request and what `make` made of it, as each ends; requests are taken when somebody is free for them.

    workers: how many, which end with it (with 1 they are made here, in turn); kept, executor: what is there
    already and stays, in place of these; at most `ahead` requests are with an executor at a time. For these `make` must
    be picklable. Nothing is under way any more when it is closed.

    Raises what `make` raises; WorkbenchError if a process ended, or the executor breaks down or throws tasks away.
    """
    if executor is not None:
        yield from _on(executor, make, requests, ahead)
    elif kept is not None:
        yield from kept.answers(make, requests)
    elif workers > 1:
        with Processes(workers, once=Scenario) as own:
            yield from own.answers(make, requests)
    else:
        for number, request in enumerate(requests):
            yield number, make(request)


def run_all(
    requests: Sequence[RunRequest],
    workers: int = 1,
    on_outcome: Callable[[int, Outcome], None] | None = None,
    *,
    kept: Makes | None = None,
) -> list[Outcome]:
    """The outcome of each request, in their order, which does not depend on the number of workers.

    workers: how many (from 1; with 1 the runs are made here, one after the other); on_outcome is called here with a
    request's number as soon as it has ended; kept: those that are there already, in place of new ones. Schedulers
    declared in this process are run here, after the others. Of requests that differ in their seed alone the first is
    made, and is the answer of all unless it drew random numbers. A script with several workers needs the usual
    `if __name__ == "__main__":`.

    Raises InputError for `workers`, WorkbenchError if a process was ended (out of memory, say), and what is no stated
    failure: a mistake in a shipped scheduler.
    """
    check_workers(workers)
    found: dict[int, Outcome] = {}
    with contextlib.closing(each_outcome(requests, workers, kept)) as ended:
        for number, outcome in ended:
            found[number] = outcome
            if on_outcome is not None:
                on_outcome(number, outcome)
    return [found[number] for number in range(len(requests))]


def each_outcome(
    requests: Sequence[RunRequest], workers: int = 1, kept: Makes | None = None
) -> Generator[tuple[int, Outcome], None, None]:
    """Number and outcome of each request as it ends, as `run_all` makes them; none is held on to here."""
    first, told = _first_alike(requests), set[int]()
    for others in (False, True):  # those alike to one that drew, or failed
        numbers = [i for i, its in enumerate(first) if i not in told and (others or its == i)]
        with contextlib.closing(_made(requests, numbers, workers, kept)) as ended:
            for number, outcome in ended:
                alike = isinstance(outcome, Run) and not outcome.drew
                for each in (i for i, its in enumerate(first) if i == number or (alike and its == number)):
                    told.add(each)
                    yield each, replace(outcome, seed=requests[each].seed) if isinstance(outcome, Run) else outcome


def _first_alike(requests: Sequence[RunRequest]) -> list[int]:
    """Of each request the first that differs from it in the seed alone; not of a session's own scheduler, nor where
    measured times count."""
    known: dict[tuple[object, ...], int] = {}
    found = []
    for number, request in enumerate(requests):
        alike = not is_own(request.scheduler) and request.charge_decisions is None
        rest = (request.scheduler, str(sorted(request.knobs.items())), str(request.rest()[3:]))
        key = (id(request.scenario), *rest) if alike else (number,)
        found.append(known.setdefault(key, number))
    return found


def _made(
    requests: Sequence[RunRequest], numbers: Sequence[int], workers: int, kept: Makes | None
) -> Generator[tuple[int, Outcome], None, None]:
    """Some of the requests, as each ends."""
    several = kept is not None or workers > 1
    away = [number for number in numbers if several and not is_own(requests[number].scheduler)]
    if kept is None and len(away) < 2:
        away = []
    here = [number for number in numbers if number not in away]
    away_ended = outcomes([requests[i] for i in away], attempt, workers=min(workers, len(away)), kept=kept)
    in_turn = outcomes([requests[i] for i in here], attempt)
    for some, ended in ((away, away_ended), (here, in_turn)):
        with contextlib.closing(ended):
            for i, outcome in ended if some else ():
                if isinstance(outcome, Run):
                    outcome = replace(outcome, scenario=requests[some[i]].scenario)
                yield some[i], outcome


def check_workers(workers: int) -> None:
    """Raise InputError unless it is a number of workers."""
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


def _on(
    executor: Executor, make: Callable[[RunRequest], Made], requests: Iterable[RunRequest], ahead: int
) -> Iterator[tuple[int, Made]]:
    """On an executor, which is left open."""
    left = enumerate(requests)
    waiting: dict[Future[Made], int] = {}

    def give(count: int) -> None:
        for number, request in islice(left, count):
            waiting[executor.submit(make, request)] = number

    try:
        give(ahead)
        while waiting:
            ended = wait(waiting, return_when=FIRST_COMPLETED).done
            done = [(future, waiting.pop(future)) for future in ended]
            give(len(done))
            for future, number in sorted(done, key=lambda each: _is_error(each[0])):
                yield number, future.result()
    except (BrokenExecutor, CancelledError) as error:
        found = why(error) if str(error) else Words("an executor that has thrown tasks away")
        raise WorkbenchError("workers", found, "to end after their last task (is there memory enough?)") from error
    finally:
        for future in waiting:
            future.cancel()


def _is_error(future: Future[Any]) -> bool:
    """Whether there is no result; these are told last."""
    return future.cancelled() or future.exception() is not None


@contextlib.contextmanager
def executor_at(address: str) -> Iterator[tuple[Executor, int]]:
    """An executor on the cluster and the number of its threads; disconnected at the end, which leaves the cluster.

    Raises InputError where nobody answers; WorkbenchError where `distributed` is not installed, the cluster has no
    worker, or workers ended while they had a task.
    """
    distributed = _library()
    if not isinstance(address, str) or not address.strip():
        raise InputError("dask", address, DASK)
    _check_secure(address)
    try:
        distributed.comm.resolve_address(address)  # a client of an address that is none waits for it to the end
        client = distributed.Client(address, timeout=ANSWER_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"dask {address}", why(error), DASK) from None
    with client:
        threads = sum(client.nthreads().values())
        if threads == 0:
            raise WorkbenchError(f"dask {address}", Words("a cluster without workers"), "at least one worker")
        try:
            yield _OnDask(client), threads
        except distributed.KilledWorker as error:
            found = Words(f"workers that ended while they had a task: {error}")
            raise WorkbenchError(f"dask {address}", found, "workers with memory enough") from None


class _OnDask(Executor):
    """The executor of a client; a scenario goes to the cluster once for the requests that follow each other on it."""

    def __init__(self, client: Any) -> None:
        self._client, self._executor = client, client.get_executor()
        self._last: tuple[Scenario | None, Any] = (None, None)

    def submit(self, make: Callable[..., Made], request: RunRequest, /) -> Future[Made]:  # type: ignore[override]
        """Make what `make` makes of a request."""
        if self._last[0] is not request.scenario:
            # under a name of its own: by its contents it might be what the cluster is just forgetting of a sweep before
            self._last = request.scenario, self._client.scatter(request.scenario, broadcast=True, hash=False)
        found: Future[Made] = self._executor.submit(_make_there, make, self._last[1], *request.rest())
        return found


def _make_there(make: Callable[[RunRequest], Made], scenario: Scenario, *rest: Any) -> Made:
    return make(RunRequest(scenario, *rest))


def _check_secure(address: str) -> None:
    """Raise InputError for an address on another machine without TLS: tasks and answers are pickled code."""
    scheme, _, rest = address.rpartition("://")
    if (scheme or "tcp") not in ("tcp", "ws", "ucx") or is_loopback(urlsplit(f"//{rest}").hostname or ""):
        return
    expected = "tls://..., as who reaches an open port runs code as you (certificates: distributed.comm.tls in Dask)"
    raise InputError("dask", address, expected)


def _library() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        found = Words("no package distributed")
        raise WorkbenchError("dask", found, "`pip install dlsched-workbench[dask]`") from None
