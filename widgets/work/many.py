"""Many runs at once for a lab: in its own processes, told as each ends, with the time that is left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from widgets.editors.mistakes import refusal
from widgets.editors.setting_history import jsonable
from widgets.work.process import process_work
from widgets.work.thread import ThreadWork
from widgets.work.workplace import Message
from workbench.base.errors import WorkbenchError
from workbench.base.units import format_duration
from workbench.scenario.scenario import Scenario
from workbench.session.api import check_window
from workbench.session.many_runs import Outcome, RunRequest
from workbench.session.registry import is_own

MOST_WORKERS = 8
"""Processes at most: each holds about 150 MB before it begins."""


class BatchProgress(NamedTuple):
    """How far it is. left_s: an estimate, s; None before the first run has ended."""

    ended: int
    total: int
    left_s: float | None

    def __str__(self) -> str:
        left = f", about {format_duration(max(self.left_s, 1.0), parts=1)} left" if self.left_s else ""
        return f"{self.ended} of {self.total} runs{left}"


class ManyWork:
    """One batch of runs at a time. Schedulers written in the notebook run in a thread, one after the other.

    on_outcome: told a request's number with its run or the reason why there is none, as each ends; on_end: told once
    `done`, `cancelled` or `failed`, with what to say of a failure of the whole.
    """

    def __init__(self, on_outcome: Callable[[int, Outcome], None], on_end: Callable[[str, str], None]) -> None:
        self._on_outcome, self._on_end = on_outcome, on_end
        self._thread = ThreadWork()
        self._batch = 0
        self._requests: tuple[RunRequest, ...] = ()
        self._ended: set[int] = set()
        self._own: list[int] = []
        self._began_s = 0.0
        self._busy = self._away = False

    @property
    def busy(self) -> bool:
        """Whether runs are still to come."""
        return self._busy

    @property
    def far(self) -> BatchProgress:
        """How far the batch is."""
        ended, total = len(self._ended), len(self._requests)
        passed_s = time.monotonic() - self._began_s
        left_s = passed_s / ended * (total - ended) if ended and self._busy else None
        return BatchProgress(ended, total, left_s)

    def warm(self) -> None:
        """Start the labs' process, so that the first batch need not wait for it."""
        process_work()

    def submit(self, requests: Sequence[RunRequest]) -> None:
        """Make these runs; a batch that is being made is cancelled and no longer told of.

        Raises InputError for a window that names jobs there are not.
        """
        for request in requests:
            check_request(request)
        self._stop()
        self._requests, self._ended, self._began_s = tuple(requests), set(), time.monotonic()
        away = [number for number, request in enumerate(requests) if not is_own(request.scheduler)]
        self._own = [number for number, request in enumerate(requests) if is_own(request.scheduler)]
        self._busy, self._away = True, bool(away)
        if away:
            many = _many([requests[number] for number in away])
            process_work().submit(many, partial(self._hear, self._batch, away), self)
        self._next_own(self._batch)

    def cancel(self) -> None:
        """Stop; runs that have ended stay."""
        if self._busy:
            self._stop()
            self._on_end("cancelled", "")

    def _stop(self) -> None:
        self._batch += 1
        was_busy, self._busy = self._busy, False
        if was_busy:
            process_work().cancel(self)
            self._thread.cancel()

    # Answers ---------------------------------------------------------------------------------------------------------

    def _hear(self, batch: int, away: Sequence[int], message: Message) -> None:
        """Of the processes."""
        if batch != self._batch:
            return
        if message["kind"] == "progress":
            self._outcome(away[int(message["number"])], message)
        elif message["kind"] == "done":
            self._away = False
            self._end_if_done()
        else:
            self._stop()
            self._on_end("failed", refusal(WorkbenchError.from_json(message)) if "error" in message else "stopped")

    def _next_own(self, batch: int) -> None:
        """Begin the next run in the thread; without one, the batch may have ended."""
        if not self._own:
            self._end_if_done()
            return
        number = self._own.pop(0)
        self._thread.submit(_alone(self._requests[number]), partial(self._hear_own, batch, number))

    def _hear_own(self, batch: int, number: int, message: Message) -> None:
        if batch != self._batch or message["kind"] == "progress":
            return
        self._outcome(number, message)
        if batch == self._batch:
            self._next_own(batch)

    def _outcome(self, number: int, message: Message) -> None:
        self._ended.add(number)
        if "run" in message:
            self._on_outcome(number, replace(message["run"], scenario=self._requests[number].scenario))
        else:
            self._on_outcome(number, WorkbenchError.from_json(message))

    def _end_if_done(self) -> None:
        if self._busy and not self._away and len(self._ended) == len(self._requests):
            self._busy = False
            self._on_end("done", "")


def check_request(request: RunRequest) -> None:
    """Raise InputError if it cannot be asked: a window of jobs that are not there."""
    if request.window is not None:
        check_window(request.scenario, request.window)


def workers() -> int:
    """As many processes as this process may use cores, MOST_WORKERS at most."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


def _many(requests: Sequence[RunRequest]) -> dict[str, Any]:
    """The request to the labs' process; each scenario is sent once."""
    scenarios: dict[int, Scenario] = {id(request.scenario): request.scenario for request in requests}
    place = {identity: place for place, identity in enumerate(scenarios)}
    asked = [{**_asked(request), "scenario": place[id(request.scenario)]} for request in requests]
    sent = [scenario.to_dict() for scenario in scenarios.values()]
    return {"kind": "many", "workers": workers(), "scenarios": sent, "requests": asked}


def _alone(request: RunRequest) -> dict[str, Any]:
    """The request to the thread."""
    return {"kind": "simulate", **_asked(request), "scenario": request.scenario.to_dict()}


def _asked(request: RunRequest) -> dict[str, Any]:
    return {
        "scheduler": request.scheduler,
        "knobs": jsonable(request.knobs),
        "seed": request.seed,
        "belief": request.belief,
        "until_s": request.until_s,
        "window": request.window,
        "detail": request.detail,
    }
