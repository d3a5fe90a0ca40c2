"""Shortens the wait for the first chart: imported before anything that imports Altair.

Altair imports jsonschema, and that builds a parser of internationalised addresses (`rfc3987_syntax`, which JupyterLab's
own dependencies bring along) which takes two seconds and which no chart needs. jsonschema does without it when it is
not there; here it is not there while jsonschema is being imported.
"""

from __future__ import annotations

import importlib
import sys

_SLOW = "rfc3987_syntax"

if "jsonschema" not in sys.modules and _SLOW not in sys.modules:
    sys.modules[_SLOW] = None  # type: ignore[assignment]
    try:
        importlib.import_module("jsonschema")
    finally:
        del sys.modules[_SLOW]
