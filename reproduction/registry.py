"""The papers whose evaluation is reproduced: every module of this package that lists FIGURES."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import reproduction
from reproduction.figure import Figure
from workbench.base.errors import InputError

VARIABLE = "WORKBENCH_REPRODUCTION_SIZE"
SMALLEST = "tiny"


@dataclass(frozen=True)
class Reproduction:
    """A paper's evaluation. name: of its module; sizes: by name; figures: in the paper's order."""

    name: str
    title: str
    sizes: Mapping[str, Any]
    figures: tuple[Callable[[Any], Figure], ...]


@cache
def reproductions() -> tuple[Reproduction, ...]:
    """All papers, by name."""
    found = []
    for module in sorted(pkgutil.iter_modules(reproduction.__path__), key=lambda entry: entry.name):
        if module.name == "__main__":
            continue
        loaded = importlib.import_module(f"{reproduction.__name__}.{module.name}")
        if hasattr(loaded, "FIGURES"):
            found.append(Reproduction(module.name, loaded.TITLE, loaded.SIZES, tuple(loaded.FIGURES)))
    return tuple(found)


def size_name(name: str | None = None) -> str:
    """The size to run: as given, else the environment's WORKBENCH_REPRODUCTION_SIZE, else `tiny`.

    Raises InputError for one that some paper does not have.
    """
    chosen = name or os.environ.get(VARIABLE) or SMALLEST
    for paper in reproductions():
        if chosen not in paper.sizes:
            where = "size" if name else VARIABLE
            raise InputError(where, chosen, "one of " + ", ".join(paper.sizes))
    return chosen
