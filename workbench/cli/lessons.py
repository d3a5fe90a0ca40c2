"""Commands for teachers: `lessons` copies the lessons, for students without solutions; `grade` judges their notebooks.

`grade` runs each notebook in a process of its own, with limits of time and memory, that reads what the workbench
consists of and writes into a folder that is removed (`widgets/lessons/sandbox.py`).
"""

from __future__ import annotations

import argparse
import ast
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from workbench.base.errors import InputError, Words
from workbench.base.files import parse_json, write_text
from workbench.cli import inputs
from workbench.cli.arguments import Commands, Parser, add_command, add_force
from workbench.cli.output import Answer

GRADER = (sys.executable, "-m", "widgets.lessons.grading")
LESSONS = "[01][0-9]_*.ipynb"
TEACHERS = ("solution", "because")
"""Arguments of an `Exercise` that only teachers see."""
DEFINES = "Exercise("
STUDENT = re.compile(r"Exercise\.student\([^)\n]*\)")
COLUMNS = ("notebook", "student", "solved", "exercises", "which", "reason")


def add_commands(commands: Commands[Parser]) -> None:
    """Declare the commands of this file."""
    lessons = add_command(commands, "lessons", "copy the lessons, for students without solutions")
    lessons.add_argument("folder", metavar="DIR", help="where they go; made if it is not there")
    lessons.add_argument("--for", dest="who", choices=("students", "teachers"), required=True, help="whose copies")
    lessons.add_argument("--from", dest="source", metavar="DIR", help="the lessons (default: the project's)")
    add_force(lessons)
    lessons.set_defaults(command=copy_lessons)
    grade = add_command(commands, "grade", "judge the exercises of students' notebooks, each in a process of its own")
    grade.add_argument("notebooks", metavar="NOTEBOOK", nargs="+", help="as students saved them")
    grade.add_argument("-o", "--output", metavar="FILE", required=True, help="a table of grades (CSV)")
    grade.add_argument("--seed", default="0", help="of hidden instances, kept from students (default: %(default)s)")
    grade.add_argument("--lesson", metavar="FILE", help="the teacher's notebook, whose checks take the students' place")
    help = "how long a notebook may run, on the clock and on the processor (default: 5 min)"
    grade.add_argument("--limit", metavar="TIME", type=inputs.seconds("--limit"), default=300.0, help=help)
    add_force(grade)
    grade.set_defaults(command=grade_notebooks)


# ---- lessons ----


def copy_lessons(args: argparse.Namespace) -> Answer:
    """Write a copy of each lesson, stripped of outputs; teachers' have their solutions, and the pages for teachers."""
    project, folder = Path(__file__).parents[2], Path(args.folder)
    source = Path(args.source) if args.source else project / "notebooks"
    pages = sorted(source.glob(LESSONS))
    if not pages:
        raise InputError("--from", str(source), "a folder with lessons, notebooks such as 01_gavel.ipynb")
    texts = {page.name: _copied(page, for_students=args.who == "students") for page in pages}
    if args.who == "teachers":
        texts |= {page.name: page.read_text("utf-8") for page in sorted((source.parent / "docs/teaching").glob("*.md"))}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_text(folder / name, text, force=args.force)
    written = [str(folder / name) for name in texts]
    return Answer({"folder": str(folder), "files": written}, lambda: "\n".join(written))


def _copied(page: Path, *, for_students: bool) -> str:
    notebook = read_notebook(page)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
            if for_students:
                cell["source"] = without_solutions("".join(cell["source"]))
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def without_solutions(source: str) -> str:
    """A cell without what only teachers see, and without the functions and values that only that used."""
    if DEFINES not in source:
        return source
    tree = ast.parse(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    asked = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == DEFINES.rstrip("(")]
    cut: list[ast.AST] = [word for call in asked for word in call.keywords if word.arg in TEACHERS]
    inner = {id(node) for word in cut for node in ast.walk(word)}
    read = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    used = {node.id for node in read if id(node) not in inner}
    only = {node.id for word in cut for node in ast.walk(word) if isinstance(node, ast.Name)} - used
    cut += [node for node in tree.body if _made(node) & only and _made(node) <= only]
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    text = source.encode()
    for node in sorted(cut, key=lambda node: -getattr(node, "lineno", 0) * 10_000 - getattr(node, "col_offset", 0)):
        place: Any = node
        begin = starts[place.lineno - 1] + place.col_offset
        end = starts[place.end_lineno - 1] + place.end_col_offset
        rest = re.match(rb"\s*,[ \t]*\n?|[ \t]*\n?", text[end:])
        before = text[:begin].rstrip(b" \t") if text[:begin].rstrip(b" \t").endswith(b"\n") else text[:begin]
        text = before + text[end + (rest.end() if rest else 0) :]
    return text.decode()


def _made(node: ast.stmt) -> set[str]:
    """The names that a function or an assignment gives something to."""
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else []
    return {found.id for target in targets for found in ast.walk(target) if isinstance(found, ast.Name)}


def read_notebook(path: Path) -> Any:
    """The JSON of a notebook; raises InputError for a file that is none."""
    try:
        notebook = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(str(path), Words(str(error)), "a notebook (nbformat 4)") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(
        isinstance(c, dict) and {"cell_type", "source"} <= c.keys() for c in cells
    ):
        raise InputError(str(path), Words("JSON without cells"), "a notebook (nbformat 4)")
    return notebook


# ---- grade ----


def grade_notebooks(args: argparse.Namespace) -> Answer:
    """Judge each notebook, and write a row for each."""
    inputs.check_targets({"--output": args.output}, force=args.force, read=args.notebooks)
    lesson = None if args.lesson is None else _code(read_notebook(Path(args.lesson)))
    with _leaving_nothing():
        found = [_graded(Path(name), lesson, args) for name in args.notebooks]
        rows = [_row(Path(name), each) for name, each in zip(args.notebooks, _again(found, lesson, args), strict=True)]
    written = io.StringIO()
    table = csv.DictWriter(written, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    write_text(Path(args.output), written.getvalue(), force=args.force)
    lines = [
        f"{row['notebook']}: {row['solved']} of {row['exercises']}{'; ' if row['reason'] else ''}{row['reason']}"
        for row in rows
    ]
    return Answer({"output": args.output, "grades": rows}, lambda: "\n".join(lines))


@contextmanager
def _leaving_nothing() -> Iterator[None]:
    """While this lasts, SIGTERM and SIGHUP unwind as Ctrl-C does: else a notebook's process and folder would stay.

    One that whoever started this has ignored (`nohup`) stays ignored; outside the main thread Python allows none.
    """

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    main = threading.current_thread() is threading.main_thread()
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if main and hasattr(signal, name)]
    taken = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _cell(value: Any) -> Any:
    """A value as a cell of a table: text that a spreadsheet would take for a formula is text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _code(notebook: Any) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _graded(path: Path, lesson: list[str] | None, args: argparse.Namespace) -> dict[str, Any]:
    """What the process says that runs a student's notebook."""
    try:
        cells = _code(read_notebook(path))
        return _run(args, cells=cells if lesson is None else _checked(cells, lesson))
    except InputError as error:
        return {"reason": str(error)}


def _again(found: list[dict[str, Any]], lesson: list[str] | None, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The same, with answers that are data judged by the teacher's lesson, in a process without students' code."""
    ran = [each for each in found if "reason" not in each]
    if lesson is None or not ran:
        yield from found
        return
    data = [
        (each["student"], {name: one["answered"] for name, one in each["exercises"].items() if one["answered"]})
        for each in ran
    ]
    told = _run(args, cells=lesson, answers=data)
    if "reason" in told:
        raise InputError("--lesson", Words(told["reason"]), "a lesson that runs")
    judged = iter(told["judged"])
    for each in found:
        if "reason" not in each:
            for name, right in next(judged).items():
                each["exercises"][name]["solved"] = right
        yield each


def _row(path: Path, found: dict[str, Any]) -> dict[str, Any]:
    row = {"notebook": path.name, "student": "", "solved": 0, "exercises": 0, "which": "", "reason": ""}
    if "reason" in found:
        return {**row, "reason": found["reason"]}
    solved = [name for name, each in found["exercises"].items() if each["solved"]]
    own = {"student": found["student"], "solved": len(solved), "exercises": len(found["exercises"])}
    return {**row, **own, "which": "; ".join(solved), "reason": found["failed"]}


def _checked(cells: list[str], lesson: list[str]) -> list[str]:
    """The student's cells with the teacher's exercises in the place of theirs; the student's name stays."""
    theirs = [source for source in lesson if DEFINES in source]
    if sum(DEFINES in source for source in cells) != len(theirs):
        raise InputError("the notebook", Words("other cells with exercises"), f"the {len(theirs)} of the lesson")
    following = iter(theirs)
    return [_named(next(following), source) if DEFINES in source else source for source in cells]


def _named(teachers: str, students: str) -> str:
    name = STUDENT.search(students)
    return teachers if name is None else STUDENT.sub(lambda _: name[0], teachers)


def _run(args: argparse.Namespace, **asked: Any) -> dict[str, Any]:
    """What the process says that runs the cells and is asked this; the reason if it says nothing in time."""
    request = json.dumps({**asked, "seed": args.seed, "cpu_s": max(1, round(args.limit))})
    with tempfile.TemporaryDirectory(prefix="workbench-grade-") as scratch:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG", "VIRTUAL_ENV") if name in os.environ}
        own = dict.fromkeys(("HOME", "IPYTHONDIR", "XDG_CACHE_HOME", "MPLCONFIGDIR", "TMPDIR"), scratch)
        process = subprocess.Popen(
            GRADER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=scratch,
            env={**kept, **own, "PYTHONSAFEPATH": "1", "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(request.encode(), timeout=args.limit)
        except subprocess.TimeoutExpired:
            return {"reason": f"still runs after {args.limit:g} s"}
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
    if process.returncode == -signal.SIGXCPU:
        return {"reason": f"still runs after {args.limit:g} s of a processor"}
    try:
        found: dict[str, Any] = parse_json(said.decode())
    except ValueError:
        found = {}
    if _is_told(found):
        return found
    from workbench.base.processes import how_ended

    return {"reason": how_ended(process.returncode) if process.returncode else "it ended itself"}


def _is_told(found: Any) -> bool:
    """Whether this is what `widgets/lessons/grading.py` tells: a notebook can write something else in its place."""
    if not isinstance(found, dict):
        return False
    if "reason" in found or "judged" in found:
        return isinstance(found.get("reason", ""), str)
    each = found.get("exercises")
    return (
        isinstance(found.get("student"), str)
        and isinstance(found.get("failed"), str)
        and isinstance(each, dict)
        and all(isinstance(one, dict) and {"solved", "answered"} <= one.keys() for one in each.values())
        and all(isinstance(one["answered"], (str, type(None))) for one in each.values())
    )
