"""Shortens the wait for the first chart: imports without what they would do besides."""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
from collections.abc import Iterator

_SLOW = "rfc3987_syntax"


@contextlib.contextmanager
def quick_imports() -> Iterator[None]:
    """Imports without the garbage collector, which would go a dozen times through all that they make: a fifth less."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def import_jsonschema() -> None:
    """Import the jsonschema that Altair needs, without a parser that no chart needs.

    With `rfc3987_syntax`, which JupyterLab's own dependencies bring along, jsonschema builds a parser of
    internationalised addresses, for two seconds. It does without it when it is not there; here it is not there while
    jsonschema is being imported.
    """
    if "jsonschema" in sys.modules or _SLOW in sys.modules:
        return
    sys.modules[_SLOW] = None  # type: ignore[assignment]
    try:
        importlib.import_module("jsonschema")
    finally:
        del sys.modules[_SLOW]
