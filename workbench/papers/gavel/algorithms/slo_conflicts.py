"""Deadlines as least throughputs, and what to do where they cannot all be met.

The deadline of a job is the last of its `rewards` that is worth something; without one it has no SLO.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from workbench.base.errors import Words
from workbench.papers.gavel.algorithms.sifting import solve
from workbench.papers.gavel.formulations.assembly import Assembly, Variable
from workbench.papers.gavel.instance import SloInstance, fastest_throughput
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray, IntArray
from workbench.scheduling.knob import Knob
from workbench.scheduling.solvers import InfeasibleError, Point, Programme, SolveError, Solver

SHORT = 1e-9
"""A row that falls short by less (relative) counts as met; the rest is rounding."""

INFEASIBLE = Knob(
    "infeasible",
    "raise",
    "Where the SLOs cannot all be met: raise an error that names the jobs, drop the SLOs that fall short, or drop all "
    "SLOs (the authors' code)",
    source="ours",
    kind="str",
    choices=("raise", "drop", "drop_all"),
)

Found = TypeVar("Found")


class SloConflictError(InfeasibleError):
    """SLOs that cannot be met; jobs: whose they are."""

    def __init__(self, name: str, jobs: tuple[str, ...], detail: str) -> None:
        expected = "SLOs that can be met together (or knob infeasible=drop, which leaves out those that fall short)"
        SolveError.__init__(self, f"{name}, SLOs of {', '.join(jobs)}", Words(detail), expected)
        self.jobs = jobs


def attempt(
    data: SloInstance, infeasible: str, name: str, solve: Callable[[BoolArray], Found]
) -> tuple[Found, BoolArray]:
    """What `solve` finds without the SLOs of some jobs, and which those are: none if all can be met.

    data: as the policy sees them; infeasible: the knob. Raises SloConflictError.
    """
    wanted, lost = np.isfinite(data.slo_s), hopeless(data)
    dropped = np.zeros(len(data.jobs), dtype=bool)
    if lost.any():
        if infeasible == "raise":
            raise missed_or_too_fast(data, lost, name)
        dropped = lost if infeasible == "drop" else wanted
    while True:
        try:
            return solve(dropped), dropped
        except InfeasibleError as error:
            left = data.without(dropped)
            if not (left.floor > 0).any():
                raise
            if infeasible == "raise":
                raise _together(left, conflict(left, name), name) from error
            dropped = dropped | short(left, name) if infeasible == "drop" else wanted


def hopeless(data: SloInstance) -> BoolArray:
    """(jobs,) whose SLO cannot be met whatever the others do: missed, or too fast for every type."""
    return data.floor > fastest_throughput(data) * (1.0 + SHORT)


def short(data: SloInstance, name: str) -> BoolArray:
    """(jobs,) whose SLOs to drop so that the others can be met.

    Those that fall short where the sum of what is missing, as parts of each job's own need, is as small as can be.
    """
    rows, missing, _ = _elastic(data, name)
    dropped = np.zeros(len(data.jobs), dtype=bool)
    dropped[rows[missing > min(SHORT, float(missing.max()) / 2)]] = True
    return dropped


def conflict(data: SloInstance, name: str) -> IntArray:
    """Positions of jobs whose SLOs cannot be met together, while without any one of them the others can.

    data: with SLOs that cannot all be met. Found by leaving out one after the other (deletion filter), among the rows
    that the least shortfall's duals point at: those alone are infeasible already.
    """
    rows, _, weight = _elastic(data, name)
    core = rows[weight > SHORT]
    if _can_be_met(data, core, name):
        core = rows
    for row in core.tolist():
        fewer = core[core != row]
        if not _can_be_met(data, fewer, name):
            core = fewer
    return core


def _elastic(data: SloInstance, name: str) -> tuple[IntArray, FloatArray, FloatArray]:
    """Positions of the jobs with an SLO, by which part of its need each falls short, and its row's dual."""
    floor = data.floor
    rows = np.flatnonzero(floor > 0)
    short = Variable("short", lower=0.0, size=len(rows))
    lp = Assembly(data, after=[short])
    columns = lp.column(short)
    lp.slo(floor, (np.arange(len(rows)), columns, 1.0))
    point = _solved(data, lp.programme((columns, 1.0), name, maximise=False))
    duals = np.ones(len(rows)) if point.duals is None else np.abs(point.duals[lp.rows["slo"]])
    return rows, point.values[columns], duals


def _can_be_met(data: SloInstance, rows: IntArray, name: str) -> bool:
    floor = np.zeros(len(data.jobs))
    floor[rows] = data.floor[rows]
    lp = Assembly(data)
    lp.slo(floor)
    try:
        _solved(data, lp.programme(([], []), name, maximise=True))
    except InfeasibleError:
        return False
    return True


def _solved(data: SloInstance, programme: Programme) -> Point:
    late = np.arange(len(programme.cost)) // len(data.types) >= len(data.jobs)
    late[data.limit.size :] = False
    return solve(programme, len(data.jobs), late, Solver())


def missed_or_too_fast(data: SloInstance, lost: BoolArray, name: str) -> SloConflictError:
    """The error for SLOs of which each is lost by itself."""
    said = []
    for row in np.flatnonzero(lost).tolist():
        if data.missed[row]:
            said.append(f"{data.jobs[row]} missed its deadline {-data.slo_s[row]:g} s ago")
            continue
        most = data.entries.steps_per_s[data.entries.job == row].max()
        said.append(f"{data.jobs[row]} needs {data.floor[row]:.6g} steps/s and does at most {most:.6g}")
    return SloConflictError(name, _names(data, np.flatnonzero(lost)), "; ".join(said))


def _together(data: SloInstance, rows: IntArray, name: str) -> SloConflictError:
    needs = ", ".join(f"{data.jobs[row]} needs {data.floor[row]:.6g}" for row in rows.tolist())
    what = "deadlines that cannot all be met" if len(rows) > 1 else "a deadline that cannot be met"
    return SloConflictError(name, _names(data, rows), f"{what}: {needs} steps/s")


def _names(data: SloInstance, rows: IntArray) -> tuple[str, ...]:
    return tuple(data.jobs[row] for row in rows.tolist())
