"""Making the runs of a sweep: here, in processes of our own, or on an executor. Only measures come back, not runs."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from workbench.analysis.metrics import summary
from workbench.analysis.sweeps.planning import Ends
from workbench.analysis.sweeps.store import Measured
from workbench.base.errors import Words, WorkbenchError, why
from workbench.base.processes import Pool
from workbench.scenario.scenario import Scenario
from workbench.session.batch import RunRequest, do
from workbench.version import VERSION

_ONE_AT_A_TIME = threading.Lock()
"""An executor may use threads; what schedulers and solvers keep from one solve to the next is one per process."""


@dataclass(frozen=True)
class Task:
    """One run, as it travels. scenario: JSON text; folder: where to save the whole run; version: of who asks."""

    key: str
    scenario: str
    scheduler: str
    knobs: Mapping[str, Any]
    seed: int
    ends: Ends
    folder: Path | None = None
    version: str = VERSION


def measure(task: Task) -> tuple[str, Measured]:
    """Make a run: its key and what it came to, a stated failure (any WorkbenchError) included.

    Raises WorkbenchError where this process has another version of the workbench, or the run cannot be saved.
    """
    if task.version != VERSION:
        expected = f"workbench {task.version}, as where the sweep was started"
        raise WorkbenchError("workers", Words(f"workbench {VERSION}"), expected)
    with _ONE_AT_A_TIME:
        began = time.perf_counter()
        request = RunRequest(_scenario(task.scenario), task.scheduler, task.knobs, task.seed, **task.ends.given())
        try:
            run = do(request)
            found = summary(run, task.ends.window)
        except WorkbenchError as error:
            return task.key, Measured("failed", str(error), {}, time.perf_counter() - began)
        wall_s = time.perf_counter() - began
        if task.folder is not None:
            run.save(task.folder / task.key, force=True)
        return task.key, Measured("done", "", dict(found), wall_s)


@lru_cache(maxsize=4)
def _scenario(text: str) -> Scenario:
    """Read once for the runs that follow each other on it."""
    return Scenario.from_json(text)


Ended = Generator[tuple[str, Measured], None, None]
"""Key and outcome of each run as soon as it has ended. Tasks are taken one by one, when there is room for them."""


def run_here(tasks: Iterable[Task]) -> Ended:
    """One after the other in this process."""
    for task in tasks:
        yield measure(task)


def run_in_processes(tasks: Iterable[Task], workers: int) -> Ended:
    """In processes of our own, which end with it."""
    with Pool(workers) as pool, contextlib.closing(pool.answers(measure, tasks)) as answers:
        for _, ended in answers:
            yield ended


def run_on(executor: Executor, tasks: Iterable[Task], ahead: int) -> Ended:
    """On an executor, which is left open; at most `ahead` tasks are with it at a time.

    Raises WorkbenchError if it breaks down or throws tasks away, after those that had ended were told.
    """
    left = iter(tasks)
    waiting = {executor.submit(measure, task) for task in islice(left, ahead)}
    try:
        while waiting:
            ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            waiting |= {executor.submit(measure, task) for task in islice(left, len(ended))}
            yield from _results(ended)
    except (BrokenExecutor, CancelledError) as error:
        found = why(error) if str(error) else Words("an executor that has thrown tasks away")
        raise WorkbenchError("workers", found, "to end after their last task (is there memory enough?)") from error
    finally:
        for future in waiting:
            future.cancel()


def _results(ended: Iterable[Future[tuple[str, Measured]]]) -> Iterator[tuple[str, Measured]]:
    """Results, those that are errors last."""
    for future in sorted(ended, key=lambda future: future.cancelled() or future.exception() is not None):
        yield future.result()
