"""What is raised or printed inside a check becomes a problem of it, with the line of its author's code."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from workbench.base.error_origin import at_line, line_of
from workbench.base.errors import Problem, ScenarioError, Words, WorkbenchError, raised
from workbench.base.text import on_one_line

Place = TypeVar("Place", bound=str)


@contextlib.contextmanager
def collecting(where: str, expected: str, problems: list[Problem]) -> Iterator[None]:
    """Whatever is raised inside becomes a problem: of ours with its own words. So does `sys.exit`."""
    try:
        yield
    except ScenarioError as error:
        problems += [Problem(at_line(f"{where}, {each.where}", line_of(error)), *each[1:]) for each in error.problems]
    except WorkbenchError as error:
        problems.append(Problem(at_line(f"{where}, {error.where}", line_of(error)), error.value, error.expected))
    except (Exception, SystemExit) as error:
        problems.append(Problem(at_line(where, line_of(error)), raised(error), expected))


@contextlib.contextmanager
def heard(where: str, problems: list[Problem]) -> Iterator[None]:
    """What is printed inside, warned of, or logged by Pyomo, is not shown; each line of it is told once, as a problem
    where there is no other."""
    said, logged, log = io.StringIO(), io.StringIO(), logging.getLogger("pyomo")
    before, passed_on = log.handlers, log.propagate
    log.handlers, log.propagate = [logging.StreamHandler(logged)], False
    try:
        with contextlib.redirect_stdout(said), warnings.catch_warnings(record=True) as warned:
            yield
    finally:
        log.handlers, log.propagate = before, passed_on
    said.writelines(f"{each.message}\n" for each in warned)
    found = Words(on_one_line(" ".join(dict.fromkeys(f"{said.getvalue()}{logged.getvalue()}".splitlines()))))
    if found and not problems:
        asked = " (unordered sets?)" if logged.getvalue() else ""
        problems.append(Problem(where, found, f"nothing printed, no warning{asked}"))


def once(problems: Mapping[Place, Sequence[Problem]], word: str) -> list[Problem]:
    """What was told of several runs, each kind of problem once; with the run's name, after a word, if not of all.

    Of one kind are problems that are the same but for times, jobs and values; those that one line of its author's code
    met in different runs; and limits that its decisions break.
    """
    found: dict[tuple[str, str], list[tuple[Place, Problem]]] = {}
    for run, of_run in problems.items():
        origins = {_origin(of_kind[0][1]): kind for kind, of_kind in found.items()}
        for each in of_run:
            kind = (re.sub(TIME, "", each.where), each.expected)
            kind = kind if kind in found else origins.get(_origin(each) or "none", kind)
            found.setdefault(kind, []).append((run, each))
    runs = [(dict.fromkeys(run for run, _ in each), each[0][1]) for each in found.values()]
    return [
        first if len(names) == len(problems) else first._replace(where=f"{first.where} {word} {', '.join(names)}")
        for names, first in runs
    ]


TIME = r" at \S+ s\b.*?(?= \(|$)"


def _origin(problem: Problem) -> str:
    """What two problems of different runs have in common that are one mistake; empty where nothing says so."""
    return line_in(problem) or (re.sub(TIME, "", problem.where) if ", decision at " in problem.where else "")


def line_in(problem: Problem) -> str:
    """`(file:line)` in where it is; empty without."""
    return "".join(re.findall(r"\(\S+:\d+\)", problem.where))
