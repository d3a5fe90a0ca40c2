"""The two doors, `solve_model` and `solve_matrix`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.scheduling.solvers import glpk, highs
from workbench.scheduling.solvers.errors import InfeasibleError, MissingSolverError, SolverFailedError
from workbench.scheduling.solvers.options import Solver
from workbench.scheduling.solvers.programme import Point, Programme
from workbench.scheduling.solvers.solve_report import PROVEN, SolveReport

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from workbench.scheduling.solvers.compile import Compiled


class SolvedModel(NamedTuple):
    """A model that was solved: its programme, as it was then, the solution, and how."""

    model: Any
    compiled: Compiled
    point: Point
    solver: Solver


Solve = Callable[[Programme], Point]
Stand = Callable[["Compiled", Solve], Point]
"""Who answers in the solver's place: of a compiled model, and what would solve a programme."""

_WATCHED: ContextVar[list[SolvedModel] | None] = ContextVar("models that are solved", default=None)
_STAND: ContextVar[Stand | None] = ContextVar("who answers in the solver's place", default=None)


@contextlib.contextmanager
def watched() -> Iterator[list[SolvedModel]]:
    """The models to which a solution is found within, in turn; what is solved as arrays alone is not among them."""
    found: list[SolvedModel] = []
    token = _WATCHED.set(found)
    try:
        yield found
    finally:
        _WATCHED.reset(token)


@contextlib.contextmanager
def answered_by(stand: Stand) -> Iterator[None]:
    """Within, this answers for every model: what would have been decided with a row changed?"""
    token = _STAND.set(stand)
    try:
        yield
    finally:
        _STAND.reset(token)


def stood_in() -> bool:
    """Whether another answers in the solver's place, whose answers may break a limit."""
    return _STAND.get() is not None


def looked_at() -> bool:
    """Whether somebody watches the models that are solved, or answers for them."""
    return stood_in() or _WATCHED.get() is not None


def answer(model: Any, compiled: Compiled, solver: Solver, solve: Solve) -> Point:
    """The solution of a compiled model, told to whoever watches; solve: what solves its programme."""
    stand = _STAND.get()
    point = solve(compiled.programme) if stand is None else stand(compiled, solve)
    seen = _WATCHED.get()
    if seen is not None:
        seen.append(SolvedModel(model, compiled, point, solver))
    return point


def solve_model(model: pyo.ConcreteModel, solver: Solver | None = None) -> SolveReport:
    """Solve a linear or mixed-integer Pyomo model and load the values into its variables.

    A model with an importing suffix `dual` gets the duals of its constraints. Variables that no constraint and no
    objective mentions, and that have no value, get the allowed value nearest 0. Raises the errors of this room; the
    variables are then as they were.
    """
    from workbench.scheduling.solvers.compile import compile_model, load_point

    solver = solver or Solver()
    began = time.perf_counter()
    compiled = compile_model(model, solver.start)
    build_s = time.perf_counter() - began
    point = answer(model, compiled, solver, partial(solve_matrix, solver=solver))
    load_point(model, compiled, point)
    return replace(point.solved, build_s=build_s)


def solve_matrix(programme: Programme, solver: Solver | None = None) -> Point:
    """Solve a programme given as a matrix; the report says who made it. A programme without columns is answered here.

    Raises InfeasibleError, UnboundedError, TimeLimitError, SolveCancelledError, MissingSolverError or
    SolverFailedError.
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
