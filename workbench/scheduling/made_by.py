"""Who made a decision, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

MadeBy = Literal["model", "assembly", "algorithm", "kept"]
"""The stated Pyomo model, its programme as a matrix put together without it, an algorithm, or an earlier decision."""
SAID: Mapping[MadeBy, str] = {
    "model": "A problem was solved.",
    "assembly": "A problem was solved.",
    "algorithm": "An algorithm decided.",
    "kept": "The answer of an earlier decision was carried over.",
}
"""For somebody who reads an explanation."""
