"""Deadlines as least throughputs, and what to do where they cannot all be met.

The deadline of a job is the last of its `rewards` that is worth something; without one it has no SLO.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.errors import Words
from workbench.papers.gavel.alone import fastest_throughput
from workbench.papers.gavel.matrix import Grid, Rows, solve
from workbench.papers.gavel.prices import PricedData, priced
from workbench.papers.gavel.weighted_sum_matrix import add_floors, limits
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import BoolArray, IntArray, Snapshot
from workbench.scheduling.knob import Knob
from workbench.scheduling.solvers import InfeasibleError, SolveError

SHORT = 1e-9
"""A row that falls short by less (relative) counts as met; the rest is rounding."""

LEAST = 1e-9
"""A need below this part of a job's fastest speed counts as this part: a share of time that costs nobody anything."""

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


@dataclass(frozen=True, eq=False, kw_only=True)
class SloData(PricedData):
    """The numbers of a priced allocation; steps: (jobs,) remaining steps, > 0; slo_s: (jobs,) seconds left to the
    deadline, inf for none, <= 0 if it has passed."""

    steps: FloatArray
    slo_s: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_numbers("steps", self.steps > 0, "a number of steps > 0")
        self.check_numbers("slo_s", self.slo_s > -np.inf, "seconds to the deadline, inf for none", infinite=True)

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        return ("steps", "slo_s")

    @property
    def missed(self) -> BoolArray:
        """(jobs,) whether the deadline has passed."""
        missed: BoolArray = self.slo_s <= 0
        return missed

    @property
    def floor(self) -> FloatArray:
        """(jobs,) `n_m / SLO_m`, steps/s; 0 without an SLO, inf if it has been missed.

        At least `LEAST` of the job's fastest speed: solvers cannot tell numbers apart that differ by more.
        """
        left_s = np.where(self.missed, np.inf, self.slo_s)
        floor: FloatArray = np.where(self.missed, np.inf, self.steps / left_s)
        return np.where(floor > 0, np.maximum(floor, LEAST * fastest_throughput(self)), 0.0)

    def without(self, dropped: BoolArray) -> SloData:
        """The same without the SLOs of some jobs."""
        return replace(self, slo_s=np.where(dropped, np.inf, self.slo_s))


def gather(snapshot: Snapshot, knobs: Knobs, rows: npt.ArrayLike | None = None) -> SloData:
    """The numbers of the jobs at some positions, by default of all."""
    jobs = snapshot.jobs
    chosen = np.arange(len(jobs)) if rows is None else np.asarray(rows, dtype=np.int64)
    wanted = (jobs.jobs[row] for row in chosen.tolist())
    due_s = np.array([job.arrival_s + job.deadline_s for job in wanted], dtype=float)
    return SloData(**priced(snapshot, knobs, rows), steps=jobs.steps_left[chosen], slo_s=due_s - snapshot.now_s)


def attempt(data: SloData, infeasible: str, name: str, solve: Callable[[BoolArray], Found]) -> tuple[Found, BoolArray]:
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


def hopeless(data: SloData) -> BoolArray:
    """(jobs,) whose SLO cannot be met whatever the others do: missed, or too fast for every type."""
    return data.floor > fastest_throughput(data) * (1.0 + SHORT)


def short(data: SloData, name: str) -> BoolArray:
    """(jobs,) whose SLOs to drop so that the others can be met.

    Those that fall short where the sum of what is missing, as parts of each job's own need, is as small as can be.
    """
    rows, missing, _ = _elastic(data, name)
    dropped = np.zeros(len(data.jobs), dtype=bool)
    dropped[rows[missing > min(SHORT, float(missing.max()) / 2)]] = True
    return dropped


def conflict(data: SloData, name: str) -> IntArray:
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


def _elastic(data: SloData, name: str) -> tuple[IntArray, FloatArray, FloatArray]:
    """Positions of the jobs with an SLO, by which part of its need each falls short, and its row's dual."""
    floor = data.floor
    rows = np.flatnonzero(floor > 0)
    lp = Rows(Grid.single(data), more=len(rows))
    first = add_floors(lp, floor, spare=len(lp.grid))
    cost = np.concatenate([np.zeros(len(lp.grid)), np.ones(len(rows))])
    point = solve(lp.programme(cost, name, maximise=False), len(data.jobs))
    duals = np.ones(len(rows)) if point.duals is None else np.abs(point.duals[first : first + len(rows)])
    return rows, point.values[len(lp.grid) :], duals


def _can_be_met(data: SloData, rows: IntArray, name: str) -> bool:
    floor = np.zeros(len(data.jobs))
    floor[rows] = data.floor[rows]
    try:
        solve(limits(data, floor, name), len(data.jobs))
    except InfeasibleError:
        return False
    return True


def missed_or_too_fast(data: SloData, lost: BoolArray, name: str) -> SloConflictError:
    """The error for SLOs of which each is lost by itself."""
    said = []
    for row in np.flatnonzero(lost).tolist():
        if data.missed[row]:
            said.append(f"{data.jobs[row]} missed its deadline {-data.slo_s[row]:g} s ago")
            continue
        most = data.entries.steps_per_s[data.entries.job == row].max()
        said.append(f"{data.jobs[row]} needs {data.floor[row]:.6g} steps/s and does at most {most:.6g}")
    return SloConflictError(name, _names(data, np.flatnonzero(lost)), "; ".join(said))


def _together(data: SloData, rows: IntArray, name: str) -> SloConflictError:
    needs = ", ".join(f"{data.jobs[row]} needs {data.floor[row]:.6g}" for row in rows.tolist())
    what = "deadlines that cannot all be met" if len(rows) > 1 else "a deadline that cannot be met"
    return SloConflictError(name, _names(data, rows), f"{what}: {needs} steps/s")


def _names(data: SloData, rows: IntArray) -> tuple[str, ...]:
    return tuple(data.jobs[row] for row in rows.tolist())
