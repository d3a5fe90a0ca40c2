"""The two doors, `solve_model` and `solve_matrix`."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.scheduling.solvers import glpk, highs
from workbench.scheduling.solvers.errors import InfeasibleError, MissingSolverError, SolverFailedError
from workbench.scheduling.solvers.options import Solver
from workbench.scheduling.solvers.programme import Point, Programme
from workbench.scheduling.solvers.report import PROVEN, SolveReport

if TYPE_CHECKING:
    import pyomo.environ as pyo


def solve_model(model: pyo.ConcreteModel, solver: Solver | None = None) -> SolveReport:
    """Solve a linear or mixed-integer Pyomo model and load the values into its variables.

    A model with an importing suffix `dual` gets the duals of its constraints. Variables that no constraint and no
    objective mentions, and that have no value, get the allowed value nearest 0. Raises the errors of this room; the
    variables are then as they were.
    """
    from workbench.scheduling.solvers.compile import compile_model, load

    solver = solver or Solver()
    began = time.perf_counter()
    compiled = compile_model(model, solver.start)
    build_s = time.perf_counter() - began
    point = solve_matrix(compiled.programme, solver)
    load(model, compiled, point)
    return replace(point.solved, build_s=build_s)


def solve_matrix(programme: Programme, solver: Solver | None = None) -> Point:
    """Solve a programme given as a matrix; the report says who made it. A programme without columns is answered here.

    Raises InfeasibleError, UnboundedError, TimeLimitError, CancelledError, MissingSolverError or SolverFailedError.
    """
    point = _solve(programme, solver or Solver())
    return replace(point, solved=replace(point.solved, made_by=programme.made_by))


def _solve(programme: Programme, solver: Solver) -> Point:
    if not len(programme.cost):
        return _without_columns(programme)
    if getattr(programme.matrix, "format", "csc") != "csc":
        raise SolverFailedError(programme.name, "a matrix that is not stored by columns", "`Columns`, or a `csc_array`")
    limits = (programme.row_lower, programme.row_upper, programme.lower, programme.upper)
    if np.isnan(np.concatenate((programme.cost, [programme.offset], programme.matrix.data, *limits))).any():
        raise SolverFailedError(programme.name, "a coefficient or limit that is not a number", "numbers")
    if solver.name == "highs":
        return highs.solve(programme, solver)
    if solver.name == "glpk":
        return glpk.solve(programme, solver)
    raise MissingSolverError(solver.name, "highs or glpk")


def warm_up() -> None:
    """Import now what the first solve would wait for: the default solver, if it is there."""
    with contextlib.suppress(MissingSolverError):
        highs.library()


def _without_columns(programme: Programme) -> Point:
    if (programme.row_lower > PROVEN).any() or (programme.row_upper < -PROVEN).any():
        raise InfeasibleError(programme.name)
    value = programme.offset
    solved = SolveReport("optimal", value, bound=value, gap=0.0, solver="none needed")
    return Point(np.zeros(0), np.zeros(len(programme.row_lower)), np.zeros(0), solved)
