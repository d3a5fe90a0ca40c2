"""Imports go one way, and a few habits that keep the rooms apart (docs/architecture.md), read from the sources."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for folder in ("workbench", "widgets", "reproduction") for path in (ROOT / folder).rglob("*.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb")) if (ROOT / "notebooks").is_dir() else []
MOST_LINES = 600

ROOMS = ("base", "scenario", "scheduling", "simulation", "baselines", "papers", "session", "analysis", "cli")
"""Rooms of the package, each imports those before it."""
WIDGETS = ("parts", "editors", "work", "lessons", "lab", "pages", "what_if_lab", "compare_lab")
"""Rooms of the widgets, each may import those before it."""
MAY_IMPORT = {
    "pyomo": (
        "workbench/papers/",
        "workbench/baselines/",
        "workbench/scheduling/solvers/",
        "workbench/scheduling/modelling.py",
        "workbench/scheduling/notation.py",
        "workbench/session/model_numbers.py",
        "workbench/session/own_formulation.py",
        "workbench/analysis/contract_rules/",
    ),
    "highspy": ("workbench/scheduling/solvers/",),
    "altair": ("workbench/analysis/charts/",),
    "pooch": ("workbench/scenario/traces/public.py",),
    "sklearn": ("reproduction/hadar/averaging.py",),
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


MODULES = {module_of(path) for path in SOURCES}


class Found(NamedTuple):
    """What a file has: imports by full name, wherever in the file; those for type checking only; texts in code, and
    functions called by a plain name, each with its line."""

    imports: frozenset[str]
    for_types: frozenset[str]
    texts: tuple[tuple[str, int], ...]
    calls: tuple[tuple[str, int], ...]


@cache
def found_in(path: Path) -> Found:
    """Read in one walk; no tree is kept, among which garbage would be looked for ever after."""
    taken, texts, calls = (set[str](), set[str]()), list[tuple[str, int]](), list[tuple[str, int]]()
    package = list(path.relative_to(ROOT).parent.parts)
    left: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8"), str(path)), False)]
    while left:
        node, types = left.pop()
        if isinstance(node, ast.Import):
            taken[types].update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level or package[1:2] == ["papers"], f"{where(path)}: a relative import"
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, node.module] if node.module else base)
            for alias in node.names:
                full = f"{module}.{alias.name}"
                taken[types].add(full if full in MODULES else module)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append((node.value, node.lineno))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            calls.append((node.func.id, node.lineno))
        guards = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for child in ast.iter_child_nodes(node):
            left.append((child, types or (guards and child not in getattr(node, "orelse", ()))))
    return Found(frozenset(taken[0]), frozenset(taken[1]), tuple(texts), tuple(calls))


def imports(path: Path) -> frozenset[str]:
    return found_in(path).imports


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


INSIDE = [path for path in SOURCES if room(module_of(path)) in ROOMS]


def test_imports_go_one_way() -> None:
    for path in INSIDE:
        before = (*ROOMS[: ROOMS.index(room(module_of(path))) + 1], "version")
        for found in imports(path) | found_in(path).for_types:
            top = found.split(".")[0]
            assert top not in ("widgets", "reproduction", "benchmarks", "tests"), f"{where(path)} imports {found}"
            assert top != "workbench" or room(found) in before, f"{where(path)} imports {found}"
    up = {where(path) for path in INSIDE for text, _ in found_in(path).texts if re.fullmatch(r"widgets(\.\w+)+", text)}
    assert up == {"workbench/cli/lessons.py"}, "the one way up: a process of its own, `python -m widgets...` (GRADER)"


def test_every_module_has_its_place() -> None:
    """Nine rooms; what stands beside them is what a user types, or must be there."""
    loose = {path.name for path in (ROOT / "workbench").glob("*.py")}
    assert loose == {"__init__.py", "__main__.py", "testing.py", "version.py"}
    assert {path.parent.name for path in (ROOT / "workbench").glob("*/__init__.py")} == set(ROOMS)


def test_no_paper_imports_another_and_no_other_room_below_imports_one() -> None:
    """The registry finds them by name."""
    for path in INSIDE:
        mine = module_of(path).split(".")
        if room(module_of(path)) not in ROOMS[: ROOMS.index("session")]:
            continue
        for found in imports(path):
            other = found.split(".")
            if other[:2] == ["workbench", "papers"] and len(other) > 2:
                assert mine[1] == "papers" and other[2] == mine[2], f"{where(path)} imports {found}"


@pytest.mark.parametrize("library", MAY_IMPORT)
def test_libraries_stay_in_their_rooms(library: str) -> None:
    for path in SOURCES:
        through = {"workbench.scheduling.modelling": "pyomo"}
        if any(through.get(found, found.split(".")[0]) == library for found in imports(path)):
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
        if where(path).startswith("workbench/scheduling/solvers/"):
            continue
        for text, line in found_in(path).texts:
            assert not names.match(text), f"{where(path)}:{line} names {text!r}"


def test_habits() -> None:
    unsafe = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
    for path in SOURCES:
        long = len(path.read_text(encoding="utf-8").splitlines()) > MOST_LINES
        assert not long, f"{where(path)} is longer than {MOST_LINES} lines"
        speaks = where(path).startswith(("workbench/cli", "workbench/__main__.py"))
        for name, line in found_in(path).calls:
            assert name not in ("eval", "exec"), f"{where(path)}:{line} calls {name}"
            assert speaks or name != "print", f"{where(path)}:{line} prints"
        assert not unsafe & {found.split(".")[0] for found in imports(path)}, where(path)


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
        if "@workbench.formulation(" in source or "Exercise(" in source:
            continue  # the cell in which a paper's model stands, to be edited; an exercise
        plain = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!")))
        for node in ast.walk(ast.parse(plain)):
            assert not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef), source
