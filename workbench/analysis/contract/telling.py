"""What is raised inside a check becomes a problem of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from workbench.base.errors import Problem, ScenarioError, Words, WorkbenchError


@contextlib.contextmanager
def telling(where: str, expected: str, told: list[Problem]) -> Iterator[None]:
    """Whatever is raised inside becomes a problem: of ours with its own words."""
    try:
        yield
    except ScenarioError as error:
        told += [Problem(f"{where}, {each.where}", each.value, each.expected) for each in error.problems]
    except WorkbenchError as error:
        told.append(Problem(f"{where}, {error.where}", error.value, error.expected))
    except Exception as error:
        told.append(Problem(where, Words(f"{type(error).__name__}: {error}"), expected))
