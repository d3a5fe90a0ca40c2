"""Shortens the wait for the first chart: imported before anything that imports Altair.

Altair imports jsonschema, and that builds a parser of internationalised addresses (`rfc3987_syntax`, which JupyterLab's
own dependencies bring along) which takes two seconds and which no chart needs. jsonschema does without it when it is
not there; here it is not there while jsonschema is being imported.
"""

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


if "jsonschema" not in sys.modules and _SLOW not in sys.modules:
    sys.modules[_SLOW] = None  # type: ignore[assignment]
    try:
        importlib.import_module("jsonschema")
    finally:
        del sys.modules[_SLOW]
