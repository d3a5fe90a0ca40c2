"""Run one benchmark at one size in a process of its own; print what it cost as one JSON line."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from typing import NamedTuple

import psutil

from benchmarks.case import Case, Work
from benchmarks.cases import CASES

MEGABYTE = 1e6 if sys.platform == "darwin" else 1e3
LEAN_RUNS = 3
"""How often the lean loop runs before the work, and as often after it; the median counts."""


class Cost(NamedTuple):
    """CPU and wall seconds, of each the least of several repeats; peak MB of the whole process; CPU seconds of
    the lean loop, a note."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    lean_s: float
    note: str


def measure(name: str, size: int) -> Cost:
    """Prepare, warm up where asked, and time the work; the fastest repeat counts."""
    case = next(case for case in CASES if case.name == name)
    work, beside = case.prepare(size), _lean_s(case, size)
    times = []
    note = ""
    for _ in range(case.warm + case.repeats):
        cpu, wall = _now_s(case.busy > 0), time.perf_counter()
        done = work()
        times.append((_now_s(case.busy > 0) - cpu, time.perf_counter() - wall))
        note = str(done() if callable(done) else done or "")
    cpu_s, wall_s = (min(seconds) for seconds in zip(*times[case.warm :], strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE
    beside += _lean_s(case, size)
    return Cost(cpu_s, wall_s, peak, statistics.median(beside), note)


def _lean_s(case: Case, size: int) -> list[float]:
    """CPU seconds of the lean loop, whose jobs are gone before the work begins: its memory is not measured."""
    lean = case.lean(size)
    return [_cpu_s(lean) for _ in range(LEAN_RUNS)]


def _cpu_s(work: Work) -> float:
    began = _now_s()
    work()
    return _now_s() - began


def _now_s(beside_it: bool = False) -> float:
    """CPU seconds of this process, of those that it has waited for, and, where asked, of those that work for it still:
    to look for them takes some 2 ms."""
    beside = psutil.Process().children(recursive=True) if beside_it else []
    ended_s = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    return time.process_time() + ended_s + sum(sum(each.cpu_times()[:4]) for each in beside)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))._asdict()))
