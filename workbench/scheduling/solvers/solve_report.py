"""What a solve says of itself: status, objective, bound, gap, times, who made the decision (and in a sentence)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Literal

PROVEN = 1e-6
"""A gap below this (relative, absolute for small objectives) is a proof of optimality, a wider one is not."""


@dataclass(frozen=True)
class SolveReport:
    """What a solve found; a row of a run's `decisions` where a scheduler's decision carries it.

    status: optimal (proven to a gap of 1e-6), feasible (stopped by the gap or the node limit that was asked
    for, or cancelled) or time_limit, empty if nothing was solved; objective: None if there is none; bound: best value
    not excluded, gap: relative to the objective, None if unknown; solver: name and version; build_s, solve_s: seconds
    of wall time to make the matrix and of the solver; nodes of the search tree; passes: iterations of the solver, or
    programmes that an algorithm solved in turn; made_by: who found it.
    """

    status: str
    objective: float | None
    _: KW_ONLY
    bound: float | None = None
    gap: float | None = None
    solver: str = ""
    build_s: float = 0.0
    solve_s: float = 0.0
    nodes: int = 0
    passes: int = 0
    made_by: MadeBy = "algorithm"

    @property
    def value(self) -> float:
        """The objective, NaN if there is none."""
        return math.nan if self.objective is None else self.objective


KEPT = SolveReport("", None, made_by="kept")
"""Nothing was solved: an earlier answer is carried over."""


def report(objective: float, bound: float | None, timed_out: bool) -> SolveReport:
    """The report of a solve that has a feasible point."""
    if bound is not None and not math.isfinite(bound):
        bound = None
    if bound is not None and abs(bound - objective) <= PROVEN * max(1.0, abs(objective)):
        status = "optimal"
    else:
        status = "time_limit" if timed_out else "feasible"
    return SolveReport(status, objective, bound=bound, gap=relative_gap(objective, bound))


def relative_gap(objective: float, bound: float | None) -> float | None:
    """|bound - objective| / |objective|; 0 if they are equal, None if the bound or the ratio is unknown."""
    if bound is None or not math.isfinite(bound):
        return None
    apart = abs(bound - objective)
    if apart <= 1e-9:
        return 0.0
    return apart / abs(objective) if objective else None


MadeBy = Literal["model", "assembly", "algorithm", "kept"]
"""The stated Pyomo model, its programme as a matrix put together without it, an algorithm, or an earlier decision."""
SAID: Mapping[MadeBy, str] = {
    "model": "A problem was solved.",
    "assembly": "A problem was solved.",
    "algorithm": "An algorithm decided.",
    "kept": "The answer of an earlier decision was carried over.",
}
"""For somebody who reads an explanation."""
