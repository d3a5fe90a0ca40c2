"""Many runs on grids of knobs, each kept as soon as it has ended, so that a sweep goes on where it was stopped;
how far it is, and how long the rest will take."""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from workbench.analysis.comparison import Contender, Contenders
from workbench.analysis.metrics import METRICS, summary
from workbench.analysis.sweeps.runs_to_make import RunOptions, Sources, SweepRun, Vary, runs_to_make
from workbench.analysis.sweeps.store import Measured, Store
from workbench.base.errors import InputError, Words, WorkbenchError, told_of_arguments, why
from workbench.scheduling.contract import Scheduler
from workbench.session.api import Window
from workbench.session.many_runs import RunRequest, check_workers, do, executor_at, outcomes
from workbench.session.registry import is_own
from workbench.simulation.saved_run import knobs_as_json
from workbench.version import VERSION

AHEAD = 2
"""Tasks handed to an executor for each run that it can make at a time: the next one waits there already."""
_ONE_AT_A_TIME = threading.Lock()
"""An executor may use threads; what schedulers and solvers keep from one solve to the next is one per process."""


@told_of_arguments
def sweep(
    scenario: Sources,
    schedulers: Contender | Contenders | None = None,
    *,
    vary: Vary | None = None,
    seeds: Iterable[int] | None = None,
    store: str | Path | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    dask: str | None = None,
    window: Window | None = None,
    until_s: float | None = None,
    belief: str | None = None,
    out: str | Path | None = None,
    retry_failed: bool = False,
    on_progress: Callable[[SweepProgress], None] | None = None,
) -> pd.DataFrame:
    """Make every run of a grid and measure it: a tidy table, one row a run (its columns:
    `workbench.analysis.sweeps.sweeping`).

    scenario: one, or `{label: scenario}`, or pairs (label, scenario); schedulers: as for `workbench.compare`, or one;
    vary: `{knob: values}`, every combination, or a list of `{knob: value}`; a scheduler without a knob is not varied by
    it. seeds: default each scenario's; window, until_s: as for `workbench.simulate`; belief: as for `compare`.

    store: an SQLite file that keeps each run's measures as soon as it has ended, under its
    `workbench.simulation.run.run_key`. Runs that it has already are not made again, also those that failed, unless
    `retry_failed`. Of runs that differ in their seed alone the first is made, and is the answer of all unless it drew
    random numbers (not with `out`). So a sweep that was stopped, whatever stopped it, goes on when it is called again.
    Sweeps may share a store, one after the other: while one makes runs, others may read what is kept, and are refused
    if they had to make more. out: a folder, which all processes must reach, where each whole run is saved under its
    key. on_progress: called at the begin and as runs end.

    workers: how many of our own; 1 (default) is this process; with more, a script needs the usual `if __name__ ==
    "__main__":`. executor: any of `concurrent.futures`, which is left open; workers then says how many runs it makes
    at a time (default: the processors here). dask: the address of a Dask cluster,
    with TLS (`tls://`) unless it is on this machine. The result does not depend on these.
    Schedulers and formulations declared in this session run here, after the others; a digest of their code is a part of
    the key.

    Raises InputError and ScenarioError before anything is run; what `Store` raises; WorkbenchError if another sweep
    writes the store, or a worker ends. A run that fails for a stated reason is a row with status `failed`. Memory holds
    measures, never whole runs.
    """
    ends = _checked(RunOptions(belief, until_s, window))
    runs = runs_to_make(scenario, _entries(schedulers), vary, seeds, ends)
    _check_place(workers, executor, dask)
    if on_progress is not None and not callable(on_progress):
        raise InputError("on_progress", on_progress, "a function of a workbench.analysis.sweeps.SweepProgress")
    folder = None if out is None else _folder(out)
    with Store(store) as kept, contextlib.ExitStack() as stack:

        def missing() -> dict[str, SweepRun]:
            """The runs to make, by key."""
            return {run.key: run for run in runs if not _is_known(run, kept, folder, retry_failed)}

        todo = missing()
        if todo:
            stack.enter_context(kept.alone())
            todo = missing()  # another sweep may have ended in between
        wanted = len({run.key for run in runs})
        tally = Tally(wanted, wanted - len(todo), on_progress)
        if todo:
            make = partial(measure, folder=folder, version=VERSION)
            alike = dict[tuple[str, ...], list[SweepRun]]()
            for run in todo.values():
                alike.setdefault(_but_seed(run, folder), []).append(run)
            firsts, others = [its[0] for its in alike.values()], [run for its in alike.values() for run in its[1:]]
            for some, own in product((firsts, others), (False, True)):
                planned = [run for run in some if run.key in todo and is_own(run.scheduler) == own]
                place = (1, None, None) if own or not planned else (workers, executor, dask)
                for number, outcome in stack.enter_context(
                    _started(_requests(planned, ends), make, len(planned), *place)
                ):
                    run = planned[number]
                    its = alike[_but_seed(run, folder)]
                    for each in its if its[0] is run and outcome.drew is False else [run]:
                        kept.keep(each.key, _facts(each, ends), outcome)
                        tally.count(outcome.status)
                        del todo[each.key]
        return results(runs, kept)


def _but_seed(run: SweepRun, folder: Path | None) -> tuple[str, ...]:
    """What a run shares with those that differ in their seed alone; nothing, where each is to be saved, and of a
    session's own scheduler."""
    if folder is not None or is_own(run.scheduler):
        return (run.key,)
    return run.scenario_key, run.scheduler, json.dumps(knobs_as_json(run.knobs), sort_keys=True), run.belief


def _is_known(run: SweepRun, kept: Store, folder: Path | None, retry_failed: bool) -> bool:
    """Whether there is nothing to do for it."""
    status = kept.status(run.key)
    if status == "done":
        return folder is None or (folder / run.key).is_dir()
    return status == "failed" and not retry_failed


def measure(request: RunRequest, folder: Path | None = None, version: str = VERSION) -> Measured:
    """Make a run: what it came to, a stated failure (any WorkbenchError) included. Only measures come back.

    folder: where to save the whole run, under its key; version: of who asks. Raises WorkbenchError where this process
    has another version of the workbench, or the run cannot be saved.
    """
    if version != VERSION:
        expected = f"workbench {version}, as where the sweep was started"
        raise WorkbenchError("workers", Words(f"workbench {VERSION}"), expected)
    with _ONE_AT_A_TIME:
        began = time.perf_counter()
        try:
            run = do(request)
            found = summary(run, request.window)
        except WorkbenchError as error:
            return Measured("failed", str(error), {}, time.perf_counter() - began)
        wall_s = time.perf_counter() - began
        if folder is not None:
            run.save(folder / run.key(), force=True)
        return Measured("done", "", dict(found), wall_s, run.drew)


@contextlib.contextmanager
def _started(
    requests: Iterable[RunRequest],
    make: Callable[[RunRequest], Measured],
    count: int,
    workers: int | None,
    executor: Executor | None,
    dask: str | None,
) -> Iterator[Generator[tuple[int, Measured], None, None]]:
    """The runs as they end, wherever they are made; nothing is under way any more at the end."""
    with contextlib.ExitStack() as stack:
        at_a_time = workers or os.cpu_count() or 1
        if dask is not None:
            executor, threads = stack.enter_context(executor_at(dask))
            at_a_time = workers or threads
        ended = outcomes(requests, make, workers=min(workers or 1, count), executor=executor, ahead=AHEAD * at_a_time)
        yield stack.enter_context(contextlib.closing(ended))


def _requests(runs: Iterable[SweepRun], ends: RunOptions) -> Iterator[RunRequest]:
    for run in runs:
        yield RunRequest(run.scenario, run.scheduler, run.knobs, run.seed, run.belief, ends.until_s, ends.window)


def _facts(run: SweepRun, ends: RunOptions) -> dict[str, str | int | float | None]:
    """What a row of the store says of a run beside its outcome."""
    return {
        "scenario": run.scenario_key,
        "scheduler": run.scheduler,
        "knobs": json.dumps(knobs_as_json(run.knobs), allow_nan=False),
        "seed": run.seed,
        "belief": run.belief,
        "until_s": ends.until_s,
        "jobs_window": None if ends.window is None else json.dumps(ends.window),
        "version": VERSION,
    }


def _entries(given: Any) -> Any:
    """The schedulers as a list, one of them alone too."""
    alone = isinstance(given, (str, Scheduler)) or (
        isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Mapping)
    )
    return [given] if alone else given


def _checked(ends: RunOptions) -> RunOptions:
    """Raises InputError for an end that cannot be: else every run would fail for it."""
    until_s = ends.until_s
    if until_s is not None and (
        isinstance(until_s, bool) or not isinstance(until_s, (int, float)) or not 0 <= until_s < math.inf
    ):
        raise InputError("until", until_s, "seconds from 0")
    return ends


def _check_place(workers: int | None, executor: Executor | None, dask: str | None) -> None:
    """Raises InputError unless it is clear where runs are made."""
    if workers is not None:
        check_workers(workers)
    if executor is not None and not isinstance(executor, Executor):
        raise InputError("executor", executor, "an executor of concurrent.futures")
    if executor is not None and dask is not None:
        raise InputError("dask", dask, "an executor or a Dask cluster, not both")


def _folder(out: str | Path) -> Path:
    """The folder for whole runs, made if it is not there."""
    if not isinstance(out, (str, Path)) or not str(out).strip():
        raise InputError("out", out, "the name of a folder")
    try:
        Path(out).mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(str(out), why(error), "a folder, or a new name in one that can be written to") from None
    return Path(out).absolute()


def results(runs: Sequence[SweepRun], store: Store) -> pd.DataFrame:
    """One row for each run, in their order.

    Columns: scenario (its label), scheduler (its label: what it was called, else its name, with its knobs
    where that would not do), every knob that varies (missing where a scheduler does not have it), seed, status (done or
    failed), error (empty if done), wall_s, and every measure of `workbench.analysis.metrics` (NaN where unknown). Every
    run must be in the store.
    """
    varied = dict.fromkeys(knob for run in runs for knob in run.varied)
    measures = np.full((len(runs), len(METRICS)), np.nan)
    ends = []
    for row, run in enumerate(runs):
        outcome = store.find(run.key)
        if outcome is None:
            raise LookupError(f"run {run.key} has not ended")
        ends.append((outcome.status, outcome.error, outcome.wall_s))
        measures[row] = [outcome.measures.get(found.name, np.nan) for found in METRICS]
    head = {
        "scenario": [run.label for run in runs],
        "scheduler": [run.entry for run in runs],
        **{knob: [run.varied.get(knob) for run in runs] for knob in varied},
        "seed": [run.seed for run in runs],
        **{name: [end[i] for end in ends] for i, name in enumerate(("status", "error", "wall_s"))},
    }
    return pd.concat([pd.DataFrame(head), pd.DataFrame(measures, columns=[found.name for found in METRICS])], axis=1)


@dataclass(frozen=True)
class SweepProgress:
    """Where a sweep stands.

    runs: different runs that it asks for; kept: of these were in the store; done, failed: ended since it began;
    elapsed_s: wall time since then, s.
    """

    runs: int
    kept: int
    done: int = 0
    failed: int = 0
    elapsed_s: float = 0.0

    @property
    def ended(self) -> int:
        """Runs whose outcome is known, those of the store included."""
        return self.kept + self.done + self.failed

    @property
    def left_s(self) -> float | None:
        """Wall time that the rest takes if it goes on like this; None before the first run has ended."""
        new = self.done + self.failed
        left = self.runs - self.ended
        return 0.0 if left == 0 else self.elapsed_s * left / new if new else None


class Tally:
    """Counts the runs of a sweep as they end, and tells whoever wants to know."""

    def __init__(self, runs: int, kept: int, tell: Callable[[SweepProgress], None] | None) -> None:
        self._began, self._tell = time.monotonic(), tell
        self._now = SweepProgress(runs, kept)
        self._report()

    def count(self, status: Literal["done", "failed"]) -> None:
        """A run has ended."""
        elapsed_s = time.monotonic() - self._began
        self._now = replace(self._now, **{status: getattr(self._now, status) + 1}, elapsed_s=elapsed_s)
        self._report()

    def _report(self) -> None:
        if self._tell is not None:
            self._tell(self._now)
