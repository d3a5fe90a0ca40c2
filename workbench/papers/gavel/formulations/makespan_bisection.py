r"""The smallest makespan by bisection (Gavel, appendix A.1): is there an allocation with which M is kept?

min   0                                                                  (A.1)  any_allocation
s.t.  M / n_m throughput(m, X) >= 1                        for all m     (A.1)  finished
      sum_{k in C_m} sum_j X_kj <= 1                       for all m     (2)    job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a     (3)    capacity
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j  (1)    share
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m     (3.1)  throughput

M is a number here, and any allocation will do. The appendix prints the row of capacity without z_k and c_a (erratum);
section 3.1 has them. (ours): the search begins between the time that some job needs on its fastest type and the
makespan of the isolated allocation, which is known to be possible. The authors' code (knob `bracket`) begins between
100 and 1e6 s, and goes on from there to ten times as much while nothing is possible; where it stops, and so how late
its makespan is within the tolerance, depends on that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from workbench.papers.gavel.formulations.allocation import lay_out
from workbench.papers.gavel.formulations.allocation_assembly import Assembly
from workbench.papers.gavel.instance import StepsInstance, fastest_throughput, isolated_throughput
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import parameter, pyo
from workbench.scheduling.solvers import InfeasibleError, Programme, SolveReport
from workbench.scheduling.solvers.solve_report import report

TOLERANCE = Knob(
    "tolerance",
    1e-6,
    "Relative width of the interval at which a search stops (bisection of the authors' code: 0.05)",
    source="ours",
    minimum=1e-8,
    maximum=1.0,
)

BRACKET = Knob(
    "bracket",
    "isolated",
    "Where a bisection begins: from the fastest job alone to the isolated allocation, or from 100 to 1e6 s as in the "
    "authors' code",
    source="code",
    kind="str",
    choices=("isolated", "authors"),
)

AUTHORS_S = (100.0, 1e6)
"""The authors' bracket in seconds."""

ROUNDING = 1e-9
"""The isolated makespan is this much longer (relative), so that rounding does not make it infeasible."""


class Attempt(NamedTuple):
    """(combinations x types) shares with which a makespan is kept, and the report of the solve."""

    shares: FloatArray
    solved: SolveReport


class FoundMakespan(NamedTuple):
    """The shares of the last makespan that could be kept, and its report; the longest that is known to be too short.

    iterations: of `makespan_s` and `feasible`; seconds are those of all programmes together.
    """

    shares: FloatArray
    too_short_s: float
    last: SolveReport
    seconds: float
    iterations: tuple[Mapping[str, Any], ...]

    @property
    def kept_s(self) -> float:
        """The last makespan that could be kept."""
        return min(float(tried["makespan_s"]) for tried in self.iterations if tried["feasible"])

    def solved(self, makespan_s: float | None) -> SolveReport:
        """The report, for shares with that makespan."""
        assert makespan_s is not None
        found = report(makespan_s, min(self.too_short_s, makespan_s), timed_out=False)
        found = replace(found, solver=self.last.solver, made_by=self.last.made_by)
        return replace(found, solve_s=self.seconds, passes=len(self.iterations))


def build(data: StepsInstance) -> pyo.ConcreteModel:
    """Return the unsolved programme for one makespan."""
    m = lay_out("gavel_makespan_bisection", data)
    m.steps = parameter(m.JOBS, numbers=data.column(data.steps), doc="n_m | steps left | steps")
    m.makespan = pyo.Param(initialize=tried(data), mutable=True, within=pyo.Any, doc="M | makespan | s")

    @m.Objective(sense=pyo.minimize, doc="(A.1) any allocation will do")
    def any_allocation(m):
        return 0.0

    @m.Constraint(m.JOBS, doc="(A.1) every job does all its steps")
    def finished(m, job):
        return m.makespan / m.steps[job] * m.throughput[job] >= 1

    return m


def restate(m: pyo.ConcreteModel, data: StepsInstance) -> None:
    """Let the model of a makespan state another one."""
    from workbench.scheduling.solvers.compile import renewed

    m.makespan.set_value(tried(data))
    renewed(m.finished)


def assemble(data: StepsInstance) -> Programme:
    """The same programme as arrays."""
    rows = Assembly(data)
    rows.add("finished", rows.throughput(tried(data) / data.steps), lower=np.ones(len(data.jobs)))
    return rows.programme(([], []), "gavel_makespan_bisection", maximise=False)


def tried(data: StepsInstance) -> float:
    """The makespan that is tried, in the unit of time of the speeds."""
    return bracket(data)[1] if data.makespan_s is None else data.makespan_s


def bracket(data: StepsInstance) -> tuple[float, float]:
    """A makespan that nothing beats, and one that can be kept, in seconds."""
    low = float((data.steps / fastest_throughput(data)).max())
    return low, float((data.steps / isolated_throughput(data)).max()) * (1.0 + ROUNDING)


def search(
    data: StepsInstance,
    tolerance: float,
    attempt: Callable[[float], Attempt | None],
    begin: str = "isolated",
) -> FoundMakespan:
    """Halve the interval until it is narrower than `tolerance`, relative to the makespan; begin: the knob `bracket`."""
    began = time.perf_counter()
    tried: list[tuple[float, bool]] = []
    best: Attempt | None = None

    def possible(makespan_s: float) -> bool:
        nonlocal best
        found = attempt(makespan_s)
        best = found or best
        tried.append((makespan_s, found is not None))
        return found is not None

    low, high = AUTHORS_S if begin == "authors" else bracket(data)
    if begin == "authors":
        _halve(low, high, tolerance, possible)
        while best is None:  # ends, since the isolated allocation has a makespan
            low, high = high, 10 * high
            _halve(low, high, tolerance, possible)
    elif possible(high):
        _halve(low, high, tolerance, possible)
    if best is None:
        raise InfeasibleError("gavel.makespan", f"the isolated allocation's makespan of {high:g} s cannot be kept")
    iterations = tuple({"makespan_s": makespan_s, "feasible": able} for makespan_s, able in tried)
    too_short_s = max([bracket(data)[0], *(makespan_s for makespan_s, able in tried if not able)])
    return FoundMakespan(best.shares, too_short_s, best.solved, time.perf_counter() - began, iterations)


def _halve(low: float, high: float, tolerance: float, possible: Callable[[float], bool]) -> None:
    """Try the middle of the interval, then of the half that it leaves, until that is narrower than `tolerance`."""
    while high > low * (1.0 + tolerance):
        middle = (low + high) / 2
        low, high = (low, middle) if possible(middle) else (middle, high)
