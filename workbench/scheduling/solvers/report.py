"""What a solve says of itself: status, objective, bound, gap, times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Status = Literal["optimal", "feasible", "time_limit"]

PROVEN = 1e-6
"""A gap below this (relative, absolute for small objectives) is a proof of optimality, a wider one is not."""


@dataclass(frozen=True)
class Solved:
    """What a solve found.

    status: optimal (proven to a gap of 1e-6), feasible (stopped by the gap or the node limit that was asked
    for, or cancelled) or time_limit; bound: best value not excluded, gap: relative to the objective, None if unknown;
    build_s: seconds to make the matrix, solve_s: seconds of the solver; solver: name and version; nodes, iterations.
    """

    status: Status
    objective: float
    bound: float | None = None
    gap: float | None = None
    solver: str = ""
    build_s: float = 0.0
    solve_s: float = 0.0
    nodes: int = 0
    iterations: int = 0


def report(objective: float, bound: float | None, timed_out: bool) -> Solved:
    """The report of a solve that has a feasible point."""
    if bound is not None and not math.isfinite(bound):
        bound = None
    if bound is not None and abs(bound - objective) <= PROVEN * max(1.0, abs(objective)):
        status: Status = "optimal"
    else:
        status = "time_limit" if timed_out else "feasible"
    return Solved(status, objective, bound, relative_gap(objective, bound))


def relative_gap(objective: float, bound: float | None) -> float | None:
    """|bound - objective| / |objective|; 0 if they are equal, None if the bound or the ratio is unknown."""
    if bound is None or not math.isfinite(bound):
        return None
    apart = abs(bound - objective)
    if apart <= 1e-9:
        return 0.0
    return apart / abs(objective) if objective else None
