"""HiGHS, through its Python library `highspy`."""

from __future__ import annotations

import importlib
import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.arrays import IntArray
from workbench.scheduling.solvers import glpk
from workbench.scheduling.solvers.errors import (
    InfeasibleError,
    MissingSolverError,
    SolveCancelledError,
    SolverFailedError,
    TimeLimitError,
    UnboundedError,
)
from workbench.scheduling.solvers.options import SolveProgress, Solver
from workbench.scheduling.solvers.programme import Point, Programme, Sparse
from workbench.scheduling.solvers.solve_report import relative_gap, report

DUAL, PRIMAL = 1, 4
"""HiGHS's numbers of the two simplex methods."""

QUICK_ENTRIES = 1000
"""A linear programme with no more is solved in a few milliseconds, of which listening would cost a sixth."""
FEW = 64
"""Columns of a programme of whole numbers up to which HiGHS's feasibility jump is left out."""


def library() -> Any:
    """The module `highspy`; raises MissingSolverError."""
    try:
        return importlib.import_module("highspy")
    except ImportError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Ctrl-C while its module of C began is no missing package
            raise error.__cause__ from None
        instead = "glpk" if glpk.is_there() else ""
        raise MissingSolverError("highs", "the package highspy, `pip install highspy`", instead) from error


def solve(programme: Programme, solver: Solver) -> Point:
    """Solve; raises the errors of `workbench.scheduling.solvers`."""
    highspy = library()
    with _lent(highspy, solver) as highs:
        return _solve(highs, highspy, programme, solver)


_mine = threading.local()


@contextmanager
def _lent(highspy: Any, solver: Solver) -> Iterator[Any]:
    """A `Highs` without model and options: making one takes as long as a small solve, so each thread keeps its own.

    A solve that ends with an error, or that a listener began while another was under way, leaves none behind. One with
    a time limit has its own: a clock that has run counts for linear programmes, and not for mixed ones.
    """
    if solver.time_limit_s is not None:
        yield highspy.Highs()
        return
    highs = vars(_mine).pop("highs", None)
    highs = highspy.Highs() if highs is None else highs
    yield highs
    highs.clear()
    _mine.highs = highs


def _solve(highs: Any, highspy: Any, programme: Programme, solver: Solver) -> Point:
    began = time.perf_counter()
    _set_options(highs, programme, solver)
    _pass(highs, highspy, programme)
    if programme.start is not None and programme.mixed:
        known = np.flatnonzero(~np.isnan(programme.start))
        highs.setSolution(len(known), known.astype(np.int32), programme.start[known])
    raised = _listen(highs, highspy, programme, solver, began)
    _run(highs, highspy, raised)
    state = highs.getModelStatus()
    if state == highspy.HighsModelStatus.kUnboundedOrInfeasible:
        # Presolve cannot tell which of the two it is.
        return solve(programme, replace(solver, presolve=False))
    if state == highspy.HighsModelStatus.kUnknown and solver.method == "interior":
        # The interior point stopped short of its tolerance; crossover and simplex finish the job.
        return solve(programme, replace(solver, method="ipm"))
    if state == highspy.HighsModelStatus.kInfeasible and solver.method in ("interior", "ipm") and not programme.mixed:
        # At the edge of what is possible, where there is no interior, the interior point takes rounding for this.
        return solve(programme, replace(solver, method="simplex"))
    return _point(highs, highspy, programme, solver, time.perf_counter() - began)


class KeptProgramme:
    """A linear programme kept in HiGHS: its numbers may change, and a solve starts from the last basis.

    For a sequence of programmes that differ little. The first solve is by the solver's method, unless it is told where
    to `begin`, the later ones by the primal simplex, which starts well where a change leaves the last point within the
    limits.
    """

    def __init__(self, programme: Programme, solver: Solver | None = None) -> None:
        self._programme, self._solver = programme, solver or Solver()
        if programme.mixed or not self._solver.keeps:
            found = "columns that must be whole" if programme.mixed else f"the solver {self._solver.name}"
            raise SolverFailedError(programme.name, found, "a linear programme for HiGHS")
        self._solved = False
        self._library = library()
        self._highs = self._library.Highs()
        _set_options(self._highs, programme, self._solver)
        _pass(self._highs, self._library, programme)
        self._raised = _listen(self._highs, self._library, programme, self._solver, time.perf_counter())

    def change(self, programme: Programme) -> None:
        """Another programme with as many rows and columns; the next solve starts from the last basis."""
        before, highs = self._programme, self._highs
        for row, column, value in zip(*_changed(before.matrix, programme.matrix), strict=True):
            highs.changeCoeff(row, column, value)
        rows = np.flatnonzero((before.row_lower != programme.row_lower) | (before.row_upper != programme.row_upper))
        highs.changeRowsBounds(len(rows), rows.astype(np.int32), programme.row_lower[rows], programme.row_upper[rows])
        columns = np.flatnonzero((before.lower != programme.lower) | (before.upper != programme.upper))
        limits = programme.lower[columns], programme.upper[columns]
        highs.changeColsBounds(len(columns), columns.astype(np.int32), *limits)
        costs = np.flatnonzero(before.cost != programme.cost)
        highs.changeColsCost(len(costs), costs.astype(np.int32), programme.cost[costs])
        self._programme = programme

    def basis(self) -> tuple[IntArray, IntArray]:
        """(columns,) and (rows,) HiGHS's numbers of where each ended in the last solve: at a limit, or in the basis."""
        found = self._highs.getBasis()
        columns, rows = (np.array([int(state) for state in part]) for part in (found.col_status, found.row_status))
        return columns, rows

    def begin(self, columns: IntArray, rows: IntArray) -> None:
        """Let the first solve begin from what `basis` may say; HiGHS makes a basis of what is none."""
        states = {number: self._library.HighsBasisStatus(number) for number in {*columns.tolist(), *rows.tolist()}}
        found = self._library.HighsBasis()
        found.col_status, found.row_status = ([states[each] for each in part.tolist()] for part in (columns, rows))
        found.valid = found.alien = True
        self._highs.setBasis(found)
        self._solved = True

    def solve(self) -> Point:
        """Solve, from the basis of the last solve; raises the errors of `workbench.scheduling.solvers`."""
        began = time.perf_counter()
        if self._solved:
            self._highs.setOptionValue("solver", "simplex")
            self._highs.setOptionValue("simplex_strategy", PRIMAL)
        self._run()
        self._solved = True
        states = self._library.HighsModelStatus
        if self._highs.getModelStatus() in (states.kUnknown, states.kUnboundedOrInfeasible, states.kSolveError):
            # The basis it began with led it astray, or presolve left open which of the two it is.
            self._highs.clearSolver()
            self._highs.setOptionValue("presolve", "off")
            self._highs.setOptionValue("simplex_strategy", DUAL)
            self._run()
        point = _point(self._highs, self._library, self._programme, self._solver, time.perf_counter() - began)
        return replace(point, solved=replace(point.solved, made_by=self._programme.made_by))

    def _run(self) -> None:
        if self._solver.time_limit_s is not None:  # the clock of linear programmes is never set back
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + self._solver.time_limit_s)
        _run(self._highs, self._library, self._raised)


def _changed(before: Sparse, after: Sparse) -> tuple[list[int], list[int], list[float]]:
    """Row, column and new value of each entry that differs."""
    height, width = before.shape
    places = [np.repeat(np.arange(width), np.diff(each.indptr)) * height + each.indices for each in (before, after)]
    every, at = np.unique(np.concatenate(places), return_inverse=True)
    old, new = np.zeros(len(every)), np.zeros(len(every))
    old[at[: len(places[0])]], new[at[len(places[0]) :]] = before.data, after.data
    differs = np.flatnonzero(old != new)
    column, row = np.divmod(every[differs], height)
    return row.tolist(), column.tolist(), new[differs].tolist()


def _set_options(highs: Any, programme: Programme, solver: Solver) -> None:
    highs.setOptionValue("output_flag", solver.on_log is not None)
    highs.setOptionValue("log_to_console", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("random_seed", 0)
    highs.setOptionValue("presolve", "choose" if solver.presolves else "off")
    highs.setOptionValue("mip_rel_gap", solver.gap)
    # It takes some 10 ms to begin, ten times as long as the whole search of so few columns.
    highs.setOptionValue("mip_heuristic_run_feasibility_jump", programme.matrix.shape[1] > FEW)
    if solver.tolerance is not None:
        for name in ("primal_feasibility_tolerance", "mip_feasibility_tolerance"):
            highs.setOptionValue(name, solver.tolerance)
    if solver.time_limit_s is not None:
        highs.setOptionValue("time_limit", solver.time_limit_s)
    if solver.node_limit is not None:
        highs.setOptionValue("mip_max_nodes", solver.node_limit)
    if not programme.mixed and solver.method != "auto":
        highs.setOptionValue("solver", "simplex" if solver.method == "simplex" else "ipm")
        highs.setOptionValue("run_crossover", "off" if solver.method == "interior" else "on")


def _pass(highs: Any, highspy: Any, programme: Programme) -> None:
    """Hand a programme over as arrays; a `HighsLp` would be filled number by number."""
    rows, columns = programme.matrix.shape
    matrix = programme.matrix
    whole = np.zeros(columns, dtype=np.int32)
    if programme.mixed and programme.integer is not None:
        whole[programme.integer] = int(highspy.HighsVarType.kInteger)
    status = highs.passModel(
        columns,
        rows,
        len(matrix.data),
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMaximize if programme.maximise else highspy.ObjSense.kMinimize),
        programme.offset,
        programme.cost,
        programme.lower,
        programme.upper,
        programme.row_lower,
        programme.row_upper,
        matrix.indptr,
        matrix.indices,
        matrix.data,
        whole,
    )
    if status == highspy.HighsStatus.kError:
        largest, most = np.abs(matrix.data).max(initial=0.0), highs.getOptionValue("large_matrix_value")[1]
        if largest >= most:
            row = matrix.indices[np.abs(matrix.data).argmax()]
            where = [f" in {part}" for part, places in programme.rows.items() if row in places]
            got = f"a coefficient of {largest:g}{''.join(where)}"
            raise SolverFailedError(programme.name, got, f"coefficients below {most:g}")
        raise SolverFailedError(programme.name, "a matrix that HiGHS refuses", "a valid matrix and lower <= upper")


def _listen(highs: Any, highspy: Any, programme: Programme, solver: Solver, began: float) -> list[BaseException]:
    """Subscribe the listeners. What one of them raises ends the solve and is left in the list returned."""
    raised: list[BaseException] = []
    infinity = highspy.kHighsInf

    def finite(number: float) -> float | None:
        return number if abs(number) < infinity else None

    def progress(out: Any) -> None:
        incumbent, bound = finite(out.mip_primal_bound), finite(out.mip_dual_bound)
        gap = relative_gap(incumbent, bound) if incumbent is not None else None
        seconds = time.perf_counter() - began
        solver.on_progress(SolveProgress(seconds, incumbent, bound, gap, int(out.mip_node_count)))  # type: ignore[misc]

    kinds = highspy.cb.HighsCallbackType
    informing = []
    if solver.on_progress is not None and programme.mixed:
        informing += [kinds.kCallbackMipLogging, kinds.kCallbackMipImprovingSolution]
    if solver.on_log is not None:
        informing.append(kinds.kCallbackLogging)

    def hear(kind: Any, message: str, out: Any, answer: Any, _: Any) -> None:
        try:
            if not informing or kind not in informing:
                if raised or (solver.cancel is not None and solver.cancel()):
                    answer.user_interrupt = True
            elif kind == kinds.kCallbackLogging:
                solver.on_log(message.rstrip("\n"))  # type: ignore[misc]
            else:
                progress(out)
        except BaseException as error:
            raised.append(error)

    highs.setCallback(hear, None)  # what listened before does no longer
    quick = not programme.mixed and len(programme.matrix.data) <= QUICK_ENTRIES
    if quick and solver.cancel is None and not informing:
        return raised
    # Listening also lets Ctrl-C through, which Python otherwise hears of only after the solve.
    for kind in (kinds.kCallbackMipInterrupt, kinds.kCallbackSimplexInterrupt, kinds.kCallbackIpmInterrupt, *informing):
        highs.startCallback(kind)
    return raised


def _run(highs: Any, highspy: Any, raised: Sequence[BaseException]) -> None:
    """Run; where an optimum of what HiGHS has scaled oversteps a limit of what it was given, go on without scaling.

    Raises what a listener raised meanwhile.
    """
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kNotset and not raised:
        # Others have used it in this process with more threads; HiGHS keeps its pool until it is told.
        highspy.Highs.resetGlobalScheduler(True)
        highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kOptimal and highs.getInfo().primal_solution_status == 1:
        scaled = highs.getOptionValue("simplex_scale_strategy")[1]
        highs.setOptionValue("simplex_scale_strategy", 0)
        highs.run()
        highs.setOptionValue("simplex_scale_strategy", scaled)
    if raised:
        raise raised[0]


def _point(highs: Any, highspy: Any, programme: Programme, solver: Solver, solve_s: float) -> Point:
    state, info, states = highs.getModelStatus(), highs.getInfo(), highspy.HighsModelStatus
    if state == states.kInfeasible:
        raise InfeasibleError(programme.name)
    if state == states.kUnbounded:
        raise UnboundedError(programme.name)
    # Without an incumbent the objective is infinite and the values mean nothing.
    feasible = info.primal_solution_status == 2 and math.isfinite(info.objective_function_value)
    timed_out = state == states.kTimeLimit
    if not feasible:
        if state == states.kInterrupt:
            raise SolveCancelledError(programme.name)
        if timed_out or state == states.kSolutionLimit:
            limit = f"{solver.time_limit_s:g} s" if timed_out else f"{solver.node_limit} nodes"
            raise TimeLimitError(programme.name, limit)
        said = f"HiGHS stopped: {highs.modelStatusToString(state)}"
        if state == states.kOptimal:
            said = f"a best point that oversteps a limit by {info.max_primal_infeasibility:.0e}"
        raise SolverFailedError(programme.name, said, "a solution")
    if state not in (states.kOptimal, states.kTimeLimit, states.kSolutionLimit, states.kInterrupt):
        raise SolverFailedError(programme.name, f"HiGHS stopped: {highs.modelStatusToString(state)}", "a solution")
    solution = highs.getSolution()
    values, objective = np.array(solution.col_value), float(info.objective_function_value)
    if programme.mixed:
        bound: float | None = float(info.mip_dual_bound)
    else:
        bound = objective if state == states.kOptimal else None
    solved = replace(
        report(objective, bound, timed_out),
        solver=f"highs {highs.version()}",
        solve_s=solve_s,
        nodes=max(0, int(info.mip_node_count)) if programme.mixed else 0,
        passes=max(0, int(info.simplex_iteration_count)) + max(0, int(info.ipm_iteration_count)),
    )
    if programme.mixed or not solution.dual_valid:
        return Point(values, None, None, solved)
    return Point(values, np.array(solution.row_dual), np.array(solution.col_dual), solved)
