"""Whether the tables of a run add up: nothing twice, nothing lost, nothing outside of its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.simulation.intervals import Intervals, left_s, time_held
from workbench.simulation.run import Run

CLOSE = 1e-6
"""Sums may differ by this share of what they are compared with (rounding of floating point numbers)."""


class Violation(NamedTuple):
    """A rule that a run breaks. where: the table's row or the job."""

    rule: str
    where: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.where}: got {self.found}; expected {self.expected}"


def check(run: Run, most: int = 20) -> list[Violation]:
    """What is wrong with a run, at most `most` findings for each rule; empty if all is well.

    Rules: known, inside the run, one unit per slot, whole gang, size of the gang, one unit per job, arrival and finish,
    steps, time, order of times, decisions.
    """
    tables = _Tables(run)
    return [violation for rule in RULES for violation, _ in zip(rule(tables), range(most), strict=False)]


class _Tables:
    """A run's timeline as numbers, and words for its rows."""

    def __init__(self, run: Run) -> None:
        self.run, self.i = run, Intervals.of(run)
        self.slack_s = 1e-9 * max(1.0, run.end_s)
        self.down = self.i.is_kind("down")
        self.late = self.i.is_kind("sync")

    def row(self, n: int) -> str:
        """What a row of the timeline says, in short."""
        t = self.run.timeline
        node, slot, kind, unit = (str(t[name].iat[n]) for name in ("node", "slot", "kind", "unit"))
        return f"timeline row {n} ({node}/{slot} {kind} {unit} {self.i.start[n]:g}-{self.i.end[n]:g} s)"

    def names(self) -> Any:
        """Names of the jobs."""
        return self.run.jobs["job"].to_numpy(dtype=object)

    def job(self, n: int) -> str:
        """A row of the jobs, with whose it is."""
        return f"jobs row {n} ({self.names()[n]})"


_Rule = Callable[[_Tables], Iterator[Violation]]


def _known(c: _Tables) -> Iterator[Violation]:
    """Rows name jobs, slots, types and kinds that exist: no node has more GPUs than it has."""
    i, t = c.i, c.run.timeline
    unit, other = t["unit"].to_numpy(dtype=object), t["with_job"].to_numpy(dtype=object)
    types = np.array([*c.run.scenario.cluster.types, ""], dtype=object)
    wrong = (
        ("slot", i.slot < 0, "a slot of a node of the cluster"),
        ("accelerator", types[i.accelerator] != t["accelerator"].to_numpy(dtype=object), "the node's type"),
        ("kind", i.kind < 0, "a kind of the schema"),
        ("job", (i.job < 0) != c.down, "a job of the scenario, none while down"),
        ("with_job", (i.other < 0) != (other == ""), "a job of the scenario, or none"),
        ("unit", (unit == "") != c.down, "a unit, none while down"),
    )
    for column, rows, expected in wrong:
        for n in np.flatnonzero(rows).tolist():
            yield Violation("known", c.row(n), f"{column} {t[column].iat[n]!r}", expected)


def _inside(c: _Tables) -> Iterator[Violation]:
    """Intervals have a length and lie between time 0 and the run's end."""
    i = c.i
    good = (i.start >= 0) & (i.end > i.start) & (i.end <= c.run.end_s + c.slack_s)
    for n in np.flatnonzero(~good).tolist():
        yield Violation("inside the run", c.row(n), f"{i.start[n]:g} to {i.end[n]:g} s", f"0 to {c.run.end_s:g} s")


def _one_unit_per_slot(c: _Tables) -> Iterator[Violation]:
    """No slot does two things at once; only `sync` may overlap (a pair is one row)."""
    rows = np.flatnonzero(~c.late & (c.i.slot >= 0))
    for n, before in _overlaps(c, Pieces(rows, c.i.start[rows], c.i.end[rows], rows), c.i.slot[rows]):
        yield Violation("one unit per slot", c.row(n), f"also {c.row(before)}", "one unit at a time")


class Pieces(NamedTuple):
    """Stretches of time: a row of the timeline that each is taken from, start and end in s, how many rows lie there."""

    row: IntArray
    start: FloatArray
    end: FloatArray
    rows: IntArray


def _overlaps(c: _Tables, pieces: Pieces, group: IntArray) -> Iterator[tuple[int, int]]:
    """Rows of pieces, neighbours in order of start within their group, that overlap."""
    order = np.lexsort((pieces.end, pieces.start, group))
    row, start, end, group = pieces.row[order], pieces.start[order], pieces.end[order], group[order]
    bad = (group[1:] == group[:-1]) & (start[1:] < end[:-1] - c.slack_s)
    for n in np.flatnonzero(bad).tolist():
        yield int(row[n + 1]), int(row[n])


def _segments(c: _Tables) -> Pieces:
    """Each unit's time cut wherever one of its rows of the same kind begins or ends, with the rows that lie there.

    After a move a slot that the unit kept has one row while the others have two: rows of a gang need not end together.
    """
    import pandas as pd

    held, i = np.flatnonzero(c.i.held), c.i
    units, _ = pd.factorize(c.run.timeline["unit"].to_numpy(dtype=object)[held])
    times, at = np.unique(np.concatenate([i.start[held], i.end[held]]), return_inverse=True)
    group = (units * (i.kind.max(initial=0) + 1) + i.kind[held]) * len(times)
    first, last = group + at[: len(held)], group + at[len(held) :]
    edges = np.unique(np.concatenate([first, last]))
    low, high = np.searchsorted(edges, first), np.searchsorted(edges, last)
    length = np.maximum(high - low, 0)
    row = np.repeat(held, length)
    cut = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length) + np.repeat(low, length)
    piece, where, count = np.unique(cut, return_index=True, return_counts=True)
    return Pieces(row[where], times[edges[piece] % len(times)], times[edges[piece + 1] % len(times)], count)


def _whole_gang(c: _Tables) -> Iterator[Violation]:
    """A unit's rows at a time are as many as it holds GPUs."""
    pieces = _segments(c)
    bad = pieces.rows != c.i.gpus[pieces.row]
    for n, count in zip(pieces.row[bad].tolist(), pieces.rows[bad].tolist(), strict=True):
        yield Violation("whole gang", c.row(n), f"{count} slots", f"{c.i.gpus[n]} GPUs")


def _size_of_gang(c: _Tables) -> Iterator[Violation]:
    """What runs has one of its job's sizes; a copy at most the gang."""
    jobs, i = c.run.scenario.jobs, c.i
    copies = _copies(c)
    rows = np.flatnonzero(i.is_kind("run") & (i.job >= 0))
    _, code = np.unique(2 * i.gpus[rows] + copies[rows], return_inverse=True)
    for member in (i.job, i.other):
        some = member[rows] >= 0
        keys = member[rows][some] * (code.max(initial=0) + 1) + code[some]
        _, first = np.unique(keys, return_index=True)
        for n in rows[some][first].tolist():
            job, gpus = jobs[int(member[n])], int(i.gpus[n])
            allowed = range(1, job.gpus + 1) if copies[n] else job.sizes
            if gpus not in allowed:
                sizes = f"1 to {job.gpus}" if copies[n] else " or ".join(map(str, job.sizes))
                yield Violation("size of the gang", c.row(n), f"{gpus} GPUs", f"{sizes} GPUs for {job.name}")


def _copies(c: _Tables) -> BoolArray:
    """Rows of copies `job #i`."""
    names = np.append(c.names(), "")
    unit = c.run.timeline["unit"].to_numpy(dtype=object)
    found: BoolArray = (c.i.job >= 0) & (c.i.other < 0) & (unit != names[c.i.job])
    return found


def _one_unit_per_job(c: _Tables) -> Iterator[Violation]:
    """A job is in one unit at a time; only copies of it may run together."""
    pieces = _segments(c)
    paired = np.flatnonzero(c.i.other[pieces.row] >= 0)
    both = Pieces(*(np.concatenate([column, column[paired]]) for column in pieces))
    copies, jobs = _copies(c), np.concatenate([c.i.job[pieces.row], c.i.other[pieces.row][paired]])
    for n, before in _overlaps(c, both, jobs):
        if not (copies[n] and copies[before]):
            yield Violation("one unit per job", c.row(n), f"also {c.row(before)}", "one unit at a time")


def _arrival_and_finish(c: _Tables) -> Iterator[Violation]:
    """No job holds GPUs or synchronises before it arrives or after it has gone."""
    arrival, gone = c.run.jobs["arrival_s"].to_numpy(dtype=float), left_s(c.run)
    names = c.names()
    for member in (c.i.job, c.i.other):
        rows = np.flatnonzero(member >= 0)
        jobs = member[rows]
        early = c.i.start[rows] < arrival[jobs] - c.slack_s
        late = c.i.end[rows] > gone[jobs] + c.slack_s
        for n in rows[early | late].tolist():
            job = member[n]
            expected = f"between {names[job]}'s arrival {arrival[job]:g} s and end {gone[job]:g} s"
            yield Violation("arrival and finish", c.row(n), f"{c.i.start[n]:g} to {c.i.end[n]:g} s", expected)


def _steps(c: _Tables) -> Iterator[Violation]:
    """Steps run minus steps lost are the steps done; a job that has finished has done them all, no other has."""
    jobs, i = c.run.jobs, c.i
    total, done = jobs["steps"].to_numpy(dtype=float), jobs["steps_done"].to_numpy(dtype=float)
    before = np.array([job.steps_done for job in c.run.scenario.jobs], dtype=float)
    ran = i.by_job(i.steps, i.other_steps, i.job >= 0, len(jobs))
    found = before + ran - jobs["steps_lost"].to_numpy(dtype=float)
    for n in np.flatnonzero((i.steps < 0) | (i.other_steps < 0)).tolist():
        yield Violation("steps", c.row(n), f"{i.steps[n]:g} and {i.other_steps[n]:g} steps", "none below 0")
    yield from _sums(c, "steps", "steps run - steps lost", found, done, total)
    finished = ~np.isnan(jobs["finish_s"].to_numpy(dtype=float))
    yield from _sums(c, "steps", "steps done by its finish", done, np.where(finished, total, done), total)
    for n in np.flatnonzero(done > total * (1 + CLOSE)).tolist():
        yield Violation("steps", c.job(n), f"{done[n]:g} steps done", f"at most {total[n]:g}")


def _time(c: _Tables) -> Iterator[Violation]:
    """GPU-seconds held and run, and seconds without GPUs, are those of the timeline; each job of a pair holds all of
    its GPUs, and a job with several copies or tasks waits while none of them does."""
    jobs, i = c.run.jobs, c.i
    before = np.array([job.attained_s for job in c.run.scenario.jobs], dtype=float)
    held = i.by_job(i.seconds, None, i.held, len(jobs)) + before
    ran = i.by_job(i.seconds, None, i.running, len(jobs))
    scale = np.maximum(held, 1.0)
    yield from _sums(c, "time", "GPU-seconds held", held, jobs["attained_s"].to_numpy(dtype=float), scale)
    yield from _sums(c, "time", "GPU-seconds of running", ran, jobs["run_s"].to_numpy(dtype=float), scale)
    group, begin, until = time_held(i)
    life = np.maximum(np.minimum(left_s(c.run), c.run.end_s) - jobs["arrival_s"].to_numpy(dtype=float), 0.0)
    without = life - np.bincount(group, until - begin, minlength=len(jobs))
    yield from _sums(c, "time", "seconds without GPUs", without, jobs["waited_s"].to_numpy(dtype=float), life)


def _sums(
    c: _Tables, rule: str, what: str, found: FloatArray, expected: FloatArray, scale: FloatArray
) -> Iterator[Violation]:
    """Jobs whose two sums differ by more than rounding."""
    for n in np.flatnonzero(~(np.abs(found - expected) <= CLOSE * scale)).tolist():
        yield Violation(rule, c.job(n), f"{what}: {float(found[n])!r}", repr(float(expected[n])))


def _order_of_times(c: _Tables) -> Iterator[Violation]:
    """Arrival, first start, first interval, completion, end of the run follow each other."""
    jobs, i = c.run.jobs, c.i
    arrival, start, finish = (jobs[n].to_numpy(dtype=float) for n in ("arrival_s", "first_start_s", "finish_s"))
    first = np.full(len(jobs), np.inf)
    for member in (i.job, i.other):
        rows = i.held & (member >= 0)
        np.minimum.at(first, member[rows], i.start[rows])
    pairs = (
        ("arrival", arrival, "first start", start),
        ("first start", start, "completion", finish),
        ("first start", start, "first interval", first),
        ("completion", finish, "the run's end", np.full(len(jobs), c.run.end_s)),
    )
    for early, a, late, b in pairs:
        for n in np.flatnonzero(a > b + c.slack_s).tolist():
            yield Violation("order of times", c.job(n), f"{early} {a[n]:g} s", f"by {late} {b[n]:g} s")
    for n in np.flatnonzero(np.isnan(start) & np.isfinite(first)).tolist():
        yield Violation("order of times", c.job(n), "no first start", f"one by {first[n]:g} s, when it runs")


def _decisions(c: _Tables) -> Iterator[Violation]:
    """Decisions are in order of time within the run, and hold no more GPUs than are up."""
    d, total = c.run.decisions, c.run.scenario.cluster.gpus
    time, busy, up, active, waiting = (
        d[name].to_numpy(dtype=float) for name in ("time_s", "busy_gpus", "up_gpus", "active_jobs", "waiting_jobs")
    )
    back = np.append(False, time[1:] < time[:-1]) | (time < 0) | (time > c.run.end_s + c.slack_s)
    wrong = (
        (back, "time_s", "times that rise within the run"),
        ((busy < 0) | (busy > up), "busy_gpus", "at most the GPUs that are up"),
        ((up < 0) | (up > total), "up_gpus", f"at most {total} GPUs"),
        ((waiting < 0) | (waiting > active), "waiting_jobs", "at most the active jobs"),
    )
    for rows, column, expected in wrong:
        for n in np.flatnonzero(rows).tolist():
            yield Violation("decisions", f"decision {n}", f"{column} {d[column].iat[n]}", expected)


RULES: tuple[_Rule, ...] = (
    _known,
    _inside,
    _one_unit_per_slot,
    _whole_gang,
    _size_of_gang,
    _one_unit_per_job,
    _arrival_and_finish,
    _steps,
    _time,
    _order_of_times,
    _decisions,
)
