"""Whose code an error comes from: file and line of what is neither ours nor a library's."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping
from types import CodeType
from typing import Any

from workbench.base.errors import WorkbenchError, raised

OURS = "workbench"
LIBRARIES = frozenset({"altair", "numpy", "pandas", "pydantic", "pyomo", "scipy", "threadpoolctl", "widgets"})
"""Those through which code of a room is called back."""


def is_users(module: Any) -> bool:
    """Whether a module of that name is somebody's own: a room's package, a script, a notebook."""
    top = str(module).partition(".")[0]
    return top == "__main__" or (top != OURS and top not in LIBRARIES and top not in sys.stdlib_module_names)


def line_of(error: BaseException, within: str | None = None) -> str:
    """`file:line` of the innermost frame that is somebody's own; empty without one.

    Of a file that cannot be compiled it is the line that is wrong. within: a package of ours that counts as well.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return _shown(error.filename, error.lineno or 0)
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [(frame, line) for frame, line in frames if _is_own(_module(frame.f_globals), within)]
    return _shown(own[-1][0].f_code.co_filename, own[-1][1]) if own else ""


def _module(names: Mapping[str, Any]) -> str:
    """By its own name where it runs as `python -m`; a script or a notebook is `__main__`."""
    return str(getattr(names.get("__spec__"), "name", None) or names.get("__name__"))


def _is_own(module: str, within: str | None) -> bool:
    return is_users(module) or (within is not None and f"{module}.".startswith(f"{within}."))


def line_of_code(function: Any) -> str:
    """`file:line` where a function or class is written; empty for what has no source of its own."""
    code = getattr(function, "__code__", None)
    return _shown(code.co_filename, code.co_firstlineno) if isinstance(code, CodeType) else ""


def at_line(text: str, line: str) -> str:
    """A text with `file:line` if there is one."""
    return f"{text} ({line})" if line else text


def fault(error: Exception, asked: str) -> WorkbenchError:
    """What nobody stated: a mistake in a room's or a user's code, with its line, or one of ours, which is printed.

    It is ours if ours is the innermost frame but for libraries', whoever called it.
    """
    line = line_of(error, "workbench.papers") or line_of(error, "workbench.baselines")
    ours = not line or line != line_of(error, OURS)
    if ours:
        traceback.print_exception(error)
    expected = "no such failure (please report it)" if ours else "no mistake in its code"
    return WorkbenchError(at_line(asked, line), raised(error), expected)


def _shown(file: str, line: int) -> str:
    """Relative to the working directory where the file is below it."""
    below = os.path.relpath(file) if os.path.isabs(file) and os.path.splitdrive(file)[0] == "" else file
    return f"{file if below.startswith(os.pardir) else below}:{line}"
