"""Measure how the sources are laid out: tools/shape, or tools/shape --json. Nothing is imported, only parsed.

A room is a package directly in workbench/, a loose module any other file there but __init__.py and __main__.py. Where
reproduction/ lies, inside or beside workbench/, it is counted apart, but imports by it count.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("base", "scenario", "scheduling", "simulation", "baselines", "papers", "session", "analysis", "cli")
"""Each imports only those before it, and itself."""
PARTS = ("__init__", "instance", "knobs", "formulations", "algorithms", "scheduler", "explain", "lessons")
"""What a paper's room is made of."""
OUTSIDE = ("widgets", "reproduction", "tests", "benchmarks")
"""What stands beside workbench/, so that no room imports it."""
SMALL = 90


class Source(NamedTuple):
    """A Python file: its path below the root, the name by which it is imported, its numbers of lines and of classes.

    public: name and line of each public class and type alias at its top; taken: module and name (or an empty one) of
    each import, wherever in the file.
    """

    path: Path
    module: str
    lines: int
    classes: int
    public: tuple[tuple[str, int], ...]
    taken: frozenset[tuple[str, str]]

    @property
    def in_reproduction(self) -> bool:
        return "reproduction" in self.path.parts[:2]


@cache
def read(root: Path) -> tuple[Source, ...]:
    """Every Python file of workbench/, widgets/ and reproduction/."""
    folders = (root / name for name in ("workbench", "widgets", "reproduction"))
    return tuple(_source(root, path) for folder in folders for path in sorted(folder.rglob("*.py")))


def _source(root: Path, path: Path) -> Source:
    text, below = path.read_text(encoding="utf-8"), path.relative_to(root)
    parts = below.with_suffix("").parts
    package = parts[:-1]
    module = ".".join(package if parts[-1] == "__init__" else parts)
    tree = ast.parse(text, str(below))
    classes = 0
    taken = set[tuple[str, str]]()
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            taken.update((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            origin = ".".join([*base, node.module] if node.module else base)
            taken.update((origin, alias.name) for alias in node.names)
        elif isinstance(node, ast.ClassDef):
            classes += 1
        left += () if isinstance(node, ast.expr) else ast.iter_child_nodes(node)  # none lies in an expression
    public = tuple((name, node.lineno) for node in tree.body if (name := _type(node))[:1] not in {"", "_"})
    return Source(below, module, len(text.splitlines()), classes, public, frozenset(taken))


def _type(node: ast.stmt) -> str:
    """Name of the class or type alias that a statement makes, or an empty one. A `TypeVar` stands for any type."""
    match node:
        case ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            maker = node.value.func if isinstance(node.value, ast.Call) else None
            alias = name.lstrip("_")[:1].isupper() and not name.isupper()
            return name if alias and not (isinstance(maker, ast.Name) and maker.id == "TypeVar") else ""
    return ""


def imports(source: Source, modules: frozenset[str]) -> set[str]:
    """Full names of the modules that a file imports, those for type checking only too.

    `from package import name` is the module package.name if there is one, else the package that re-exports the name.
    """
    return {full if (full := f"{origin}.{name}") in modules else origin for origin, name in source.taken}


def _room(module: str) -> str:
    """Name of a module's room, or its own if it is loose; of workbench itself an empty one."""
    return module.partition(".")[2].partition(".")[0]


def violations(root: Path = ROOT) -> list[str]:
    """Rooms that are not in the order, and imports against it.

    A loose module stands as high as the highest room that it reaches; workbench itself, whose names come from
    everywhere, as high as the last.
    """
    sources = [source for source in read(root) if source.path.parts[0] == "workbench"]
    modules = frozenset(source.module for source in sources)
    wanted = {source: sorted(imports(source, modules)) for source in sources}
    rooms, papers = set(rooms_of(root)), {("workbench", "papers", paper) for paper in papers_of(root)}
    told = [f"workbench/{room}: unknown room" for room in sorted(rooms - {*ROOMS})]
    loose = {s.module: found for s, found in wanted.items() if _room(s.module) not in {"", *rooms}}

    @cache
    def height(module: str) -> int:
        reached, front = {module}, {module}
        while front:
            front = {m for each in front for m in loose.get(each, ())} - reached
            reached |= front
        through = {"cli" if m == "workbench" else _room(m) for m in reached if m.split(".")[0] == "workbench"}
        return max((ROOMS.index(room) for room in through & {*ROOMS}), default=0)

    for source, found in wanted.items():
        room = _room(source.module)
        for module in found if room in ROOMS and room in rooms else ():
            outside = module.split(".")[0] in OUTSIDE
            mine, other = (tuple(name.split(".")[:3]) for name in (source.module, module))
            if outside or height(module) > ROOMS.index(room) or ({mine, other} <= papers and mine != other):
                told.append(f"{source.path.as_posix()} imports {module}")
    return told


def _folders(folder: Path) -> list[str]:
    inside = folder.iterdir() if folder.is_dir() else ()
    return sorted(each.name for each in inside if each.is_dir() and any(each.rglob("*.py")))


def rooms_of(root: Path = ROOT) -> list[str]:
    """Names of the rooms, in their order, then the unknown ones."""
    found = _folders(root / "workbench")
    return sorted(found, key=lambda room: (ROOMS.index(room) if room in ROOMS else len(ROOMS), room))


def papers_of(root: Path = ROOT) -> tuple[str, ...]:
    """Names of the papers' rooms."""
    return tuple(_folders(root / "workbench" / "papers"))


def parts_of(paper: str, root: Path = ROOT) -> dict[str, bool]:
    """Names of the parts of a paper's room, and whether each belongs to the skeleton."""
    folder = root / "workbench" / "papers" / paper
    return {name: name in PARTS for name in sorted({*_folders(folder), *(p.stem for p in folder.glob("*.py"))})}


def shape(root: Path = ROOT) -> dict[str, Any]:
    """All measures by name. Of reproduction/ only lines and names used twice are counted, not modules and classes."""
    everything = read(root)
    modules = frozenset(source.module for source in everything)
    importers: dict[str, set[str]] = defaultdict(set)
    for source in everything:
        for found in imports(source, modules) - {source.module}:
            importers[found].add(source.module)
    ours = [source for source in everything if not source.in_reproduction]
    places: dict[str, list[str]] = defaultdict(list)
    for source in everything:
        for name, line in source.public:
            places[name].append(f"{source.path.as_posix()}:{line}")
    small = [s for s in ours if s.path.name != "__init__.py" and s.lines < SMALL and len(importers[s.module]) == 1]
    loose = {path.stem for path in (root / "workbench").glob("*.py")} - {"__init__", "__main__"}
    return {
        "rooms": rooms_of(root),
        "loose_modules": sorted(loose),
        "modules": sum(source.path.name != "__init__.py" for source in ours),
        "small_with_one_importer": {s.path.as_posix(): next(iter(importers[s.module])) for s in small},
        "classes": sum(source.classes for source in ours),
        "names_used_twice": {name: at for name, at in sorted(places.items()) if len(at) > 1},
        "violations": violations(root),
        "paper_parts": {paper: parts_of(paper, root) for paper in papers_of(root)},
        "lines": {
            "workbench and widgets": sum(source.lines for source in ours),
            "tests": sum(len(path.read_text("utf-8").splitlines()) for path in (root / "tests").rglob("*.py")),
            "reproduction": sum(source.lines for source in everything if source.in_reproduction),
        },
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="tools/shape", description=__doc__)
    parser.add_argument("--json", action="store_true", help="as JSON")
    found = shape()
    if parser.parse_args().json:
        print(json.dumps(found, indent=1))
        return
    for name, value in found.items():
        print(f"{value if isinstance(value, int) else len(value):6} {name.replace('_', ' ')}")
        for key in () if isinstance(value, int) else value:
            print(f"{'':9}{key}{_text(value[key]) if isinstance(value, dict) else ''}")


def _text(value: Any) -> str:
    if isinstance(value, dict):
        value = [part if fits else f"{part} (no part of the skeleton)" for part, fits in value.items()]
    return f": {', '.join(value) if isinstance(value, list) else value}"


if __name__ == "__main__":
    main()
