"""What a scheduler may keep from one decision to the next: one rule, for own schedulers and for checks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.base.errors import InputError, Words

MEMORY = "what JSON can hold: None, true or false, numbers, texts, lists, {text: value}; also arrays and dataclasses"
MOST_LEVELS = 50
"""Lists in lists, and so on: what has more holds itself."""
WALL_TIMES = ("build_s", "solve_s")
_KINDS = "biufU"
"""Of arrays: true or false, whole numbers, numbers, texts."""


def plain(value: Any, where: str = "memory", level: int = 0) -> Any:
    """A memory or decision as JSON has it, without wall times; raises InputError if it holds anything else.

    Keys are texts, or the tuples that name units and slots: numbers would come back from JSON as texts. Sets are
    refused but for frozen ones, which are sorted: their order is nobody's.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if level > MOST_LEVELS:
        raise InputError("memory", Words(f"more than {MOST_LEVELS} in one another: it may hold itself"), MEMORY)
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in _KINDS:
        return value.tolist()
    below = level + 1
    if isinstance(value, (tuple, list)) and not hasattr(value, "_asdict"):
        return [plain(item, f"{where}[{i}]", below) for i, item in enumerate(value)]
    if isinstance(value, frozenset):
        return sorted((plain(item, f"{where}, one of it", below) for item in value), key=str)
    if isinstance(value, Mapping):
        wrong = [key for key in value if not isinstance(key, (str, tuple))]
        if wrong:
            raise InputError(f"{where}, a key", wrong[0], f"{MEMORY}; keys may be tuples")
        return {str(key): plain(item, f"{where}[{key!r}]", below) for key, item in value.items()}
    parts: Iterable[tuple[str, Any]]
    if hasattr(value, "_asdict"):
        parts = value._asdict().items()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    else:
        raise InputError(where, value, MEMORY)
    return {key: plain(item, f"{where}.{key}", below) for key, item in parts if key not in WALL_TIMES}


def as_text(value: Any, where: str = "memory") -> str:
    """`plain` as text, for comparing."""
    return json.dumps(plain(value, where), sort_keys=True)
