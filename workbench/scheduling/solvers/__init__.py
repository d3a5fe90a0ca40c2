"""Solving: one matrix or one Pyomo model in, a typed answer or a stated error out. No other room names a solver.

Two solvers: HiGHS (`highspy`, the default) and GLPK (the program `glpsol`). Neither ever stands in for the other. One
thread and a fixed seed; a solve that wall time stopped says so in its status.
"""

from workbench.scheduling.solvers.conflict import (
    Conflict,
    ConflictError,
    conflict_of,
    conflict_rows,
    explained,
    of_a_solve,
)
from workbench.scheduling.solvers.errors import (
    InfeasibleError,
    MissingSolverError,
    SolveCancelledError,
    SolveError,
    SolverFailedError,
    TimeLimitError,
    UnboundedError,
    UnkeptError,
)
from workbench.scheduling.solvers.highs import KeptProgramme
from workbench.scheduling.solvers.options import DEFAULT, Method, SolveProgress, Solver, SolverName
from workbench.scheduling.solvers.programme import Columns, Point, Programme, Sparse
from workbench.scheduling.solvers.solve import (
    SolvedModel,
    Stand,
    answer,
    answered_by,
    looked_at,
    solve_matrix,
    solve_model,
    stood_in,
    warm_up,
    watched,
)
from workbench.scheduling.solvers.solve_report import KEPT, PROVEN, SolveReport, relative_gap

__all__ = [
    "DEFAULT",
    "KEPT",
    "PROVEN",
    "Columns",
    "Conflict",
    "ConflictError",
    "InfeasibleError",
    "KeptProgramme",
    "Method",
    "MissingSolverError",
    "Point",
    "Programme",
    "SolveCancelledError",
    "SolveError",
    "SolveProgress",
    "SolveReport",
    "SolvedModel",
    "Solver",
    "SolverFailedError",
    "SolverName",
    "Sparse",
    "Stand",
    "TimeLimitError",
    "UnboundedError",
    "UnkeptError",
    "answer",
    "answered_by",
    "conflict_of",
    "conflict_rows",
    "explained",
    "looked_at",
    "of_a_solve",
    "relative_gap",
    "solve_matrix",
    "solve_model",
    "stood_in",
    "warm_up",
    "watched",
]
