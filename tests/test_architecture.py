"""Imports go one way, and a few habits that keep the rooms apart (DESIGN.md), read from the sources."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for folder in ("workbench", "widgets") for path in (ROOT / folder).rglob("*.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb")) if (ROOT / "notebooks").is_dir() else []
MOST_LINES = 600

LEAVES = {
    "arrays",
    "boundaries",
    "card",
    "errors",
    "frozen",
    "labels",
    "units",
    "version",
    "files",
    "knob",
    "cluster",
    "job",
    "processes",
    "rewards",
    "rounding",
    "schema",
    "text",
}
SCENARIO = LEAVES | {"throughput", "scenario"}
DECISION = SCENARIO | {"decision", "shares", "solvers", "notation"}
CONTRACT = DECISION | {"contract"}
HELPERS = CONTRACT | {"placement", "queues", "estimators"}
TELLING = {"run", "moment"}
"""What a paper's explanations of a finished run are written with."""
ALLOWED: dict[str, set[str]] = {
    **dict.fromkeys(LEAVES, LEAVES),
    "throughput": LEAVES,
    "scenario": LEAVES | {"throughput"},
    "presets": SCENARIO | {"traces"},
    "traces": SCENARIO | {"presets"},
    "decision": SCENARIO,
    "shares": SCENARIO | {"decision"},
    "contract": DECISION,
    "own_scheduler": CONTRACT,
    "solvers": SCENARIO,
    "notation": SCENARIO | {"solvers"},
    "placement": DECISION,
    "queues": DECISION,
    "estimators": HELPERS,
    "mechanisms": HELPERS | TELLING,
    "papers": HELPERS | TELLING | {"mechanisms"},
    "baselines": HELPERS | TELLING | {"mechanisms"},
    "moment": DECISION | {"run"},
    "run_key": LEAVES,
    "run": DECISION | {"run_key"},
    "simulation": DECISION | {"run", "estimators"},
    "metrics": DECISION | {"run"},
    "verification": SCENARIO | {"run"},
    "charts": DECISION | {"run", "metrics"},
}
"""What each room may import beside itself."""
ABOVE: dict[str, set[str]] = {
    "data": set(),
    "api": set(),
    "batch": {"api"},
    "comparison": {"api", "batch"},
    "sweeps": {"api", "batch", "comparison"},
    "explanation": {"api"},
    "symbols": {"api"},
    "page": set(),
    "report": {"page"},
    "whatif": {"api", "batch", "page", "report"},
    "reproduction": {"api"},
    "worker": {"api", "batch", "whatif"},
}
"""Rooms above all of these: which of each other they may import."""
WIDGETS = ("parts", "editors", "work", "lab", "pages", "what_if_lab", "compare_lab")
"""Rooms of the widgets, each may import those before it."""
TOP = {"", "__main__", "cli", "version"}
"""Who may import everything, as every `__main__` may."""

MAY_IMPORT = {
    "pyomo": ("workbench/papers/", "workbench/baselines/", "workbench/solvers/", "workbench/notation.py"),
    "highspy": ("workbench/solvers/",),
    "altair": ("workbench/charts/",),
    "pooch": ("workbench/data.py",),
    "sklearn": ("workbench/papers/hadar/hadare/training.py",),
    "ipywidgets": ("widgets/",),
    "anywidget": ("widgets/",),
    "traitlets": ("widgets/",),
    "widgets": ("widgets/",),
}


def where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


MODULES = {module_of(path) for path in SOURCES}


def imports(path: Path) -> Iterator[str]:
    """Full names of the modules that a file imports, wherever in the file, but for type checking only."""
    only_types = {
        id(child)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree(path)):
        if id(node) in only_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{where(path)}: a relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else str(node.module)


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@pytest.mark.parametrize("path", SOURCES, ids=where)
def test_imports_go_one_way(path: Path) -> None:
    module = module_of(path)
    mine = room(module)
    if mine in TOP or module.endswith(".__main__"):
        return
    for found in imports(path):
        if found.split(".")[0] != "workbench" or module.split(".")[0] != "workbench":
            continue
        other = room(found)
        if mine in ABOVE:
            assert other in {mine, "version", *ALLOWED, *ABOVE[mine]}, f"{where(path)} imports {found}"
            continue
        if module == "workbench.papers.paper" and other in ("papers", "baselines", "own_scheduler"):
            continue  # the registry finds the rooms, and keeps a session's own schedulers
        assert other == mine or other in ALLOWED[mine], f"{where(path)} imports {found}"


def test_nobody_below_the_registry_imports_it() -> None:
    """Papers, baselines and mechanisms know the contract (`workbench.contract`), not who else there is."""
    for path in SOURCES:
        if room(module_of(path)) in ALLOWED and module_of(path) != "workbench.papers.paper":
            assert "workbench.papers.paper" not in imports(path), f"{where(path)} imports the registry"


def test_every_module_has_its_place() -> None:
    """A new module stands in one of the lists above."""
    found = {room(module_of(path)) for path in SOURCES if where(path).startswith("workbench/")}
    assert found <= {*ALLOWED, *ABOVE, *TOP} and {*ALLOWED, *ABOVE} <= found


def test_no_paper_imports_another_and_no_baseline_imports_a_paper() -> None:
    for path in SOURCES:
        parts = module_of(path).split(".")
        if parts[:2] not in (["workbench", "papers"], ["workbench", "baselines"]) or len(parts) < 3:
            continue
        for found in imports(path):
            other = found.split(".")
            if other[:2] == ["workbench", "papers"] and len(other) > 2 and other[2] != "paper":
                assert parts[1] == "papers" and other[2] == parts[2], f"{where(path)} imports {found}"


@pytest.mark.parametrize("library", MAY_IMPORT)
def test_libraries_stay_in_their_rooms(library: str) -> None:
    for path in SOURCES:
        if any(found.split(".")[0] == library for found in imports(path)):
            assert where(path).startswith(MAY_IMPORT[library]), f"{where(path)} imports {library}"


def test_rooms_of_the_widgets_import_one_way() -> None:
    for path in SOURCES:
        own = room(module_of(path))
        if not where(path).startswith("widgets/") or own == "":
            continue
        above = WIDGETS[WIDGETS.index(own) + 1 :]
        found = {module for module in imports(path) if module.startswith("widgets.")}
        assert not {module for module in found if room(module) in above}, where(path)


def test_only_solvers_names_a_solver() -> None:
    """A solver's name in code (not in prose) stands in solvers/; the command line and knobs take names from there."""
    names = re.compile(r"^(highs|highspy|appsi_highs|glpk|glpsol|gurobi|cplex|cbc|scip)$", re.IGNORECASE)
    for path in SOURCES:
        if where(path).startswith("workbench/solvers/"):
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not names.match(node.value), f"{where(path)}:{node.lineno} names {node.value!r}"


@pytest.mark.parametrize("path", SOURCES, ids=where)
def test_habits(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES, f"{where(path)} is longer than {MOST_LINES} lines"
    speaks = where(path).startswith(("workbench/cli", "workbench/__main__.py"))
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("eval", "exec"), f"{where(path)}:{node.lineno} calls {node.func.id}"
            assert speaks or node.func.id != "print", f"{where(path)}:{node.lineno} prints"
    unsafe = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
    assert not unsafe & {found.split(".")[0] for found in imports(path)}, where(path)


def test_importing_the_project_stays_light() -> None:
    """`import workbench` loads neither charts nor solvers nor widgets."""
    heavy = ["altair", "pyomo", "highspy", "ipywidgets", "anywidget", "sklearn", "widgets"]
    code = f"import sys, workbench; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.strip() == "[]"


def test_no_package_marker_among_tests_and_data() -> None:
    for folder in ("tests", "datasets"):
        assert not list((ROOT / folder).rglob("__init__.py"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=where)
def test_notebooks_are_thin_and_stripped(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for cell in code:
        assert not cell["outputs"] and cell["execution_count"] is None, "outputs are stripped before a commit"
        source = "".join(cell["source"])
        plain = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!")))
        for node in ast.walk(ast.parse(plain)):
            assert not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef), source
