"""What is asked of a solver: which one, when to stop, who listens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

SolverName = Literal["highs", "glpk"]
DEFAULT: SolverName = "highs"
Method = Literal["auto", "simplex", "ipm", "interior"]


class SolveProgress(NamedTuple):
    """How far a mixed-integer solve is: seconds so far, best objective, bound, relative gap (None: none yet), nodes."""

    seconds: float
    incumbent: float | None
    bound: float | None
    gap: float | None
    nodes: int


@dataclass(frozen=True)
class Solver:
    """Which solver, and when to stop.

    time_limit_s: seconds of wall time; gap: relative gap at which a mixed-integer solve may stop; node_limit: nodes of
    the search tree (HiGHS only); method for problems without integers: `simplex` and `ipm` end in a vertex, `interior`
    stays inside the optimal face; presolve: None: as the formulation asks (`without_presolve`), which is on unless it
    does; tolerance: how far rows, bounds and whole numbers may be off (HiGHS only; None: its
    own, 1e-7, or 1e-6 with integers); start: begin from the values the variables have (HiGHS, with integers);
    on_progress, on_log: called as the solve goes on (GLPK: its log, when it is done); cancel: asked often, true stops
    the solve.
    """

    name: SolverName = DEFAULT
    time_limit_s: float | None = None
    gap: float = 0.0
    node_limit: int | None = None
    method: Method = "auto"
    presolve: bool | None = None
    tolerance: float | None = None
    start: bool = False
    on_progress: Callable[[SolveProgress], None] | None = None
    on_log: Callable[[str], None] | None = None
    cancel: Callable[[], bool] | None = None

    @property
    def presolves(self) -> bool:
        """Whether presolve is on."""
        return self.presolve is not False

    @property
    def keeps(self) -> bool:
        """Whether a programme can be a `KeptProgramme` in it."""
        return self.name == "highs"

    def without_presolve(self) -> Solver:
        """What a formulation that presolve serves badly asks for: off, unless it was chosen to be on."""
        return replace(self, presolve=False) if self.presolve is None else self

    def to_within(self, tolerance: float) -> Solver:
        """What a formulation asks for whose rows must be kept closer than usual: unless a tolerance was chosen."""
        return replace(self, tolerance=tolerance) if self.tolerance is None else self
