"""The papers whose evaluation is reproduced: every package here that lists EXHIBITS."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import reproduction
from reproduction.exhibits import Exhibit
from reproduction.figure import PaperFigure
from workbench.base.errors import InputError, one_of

VARIABLE = "WORKBENCH_REPRODUCTION_SIZE"
SMALLEST = "tiny"


@dataclass(frozen=True)
class Reproduction:
    """A paper's evaluation. name: of its module; sizes: by name; exhibits: in the paper's order; page: functions as
    theirs, of what its page shows that is no row of its size; belief: that of its exhibits but where they say."""

    name: str
    title: str
    sizes: Mapping[str, Any]
    exhibits: tuple[Exhibit, ...]
    page: tuple[Callable[[Any], PaperFigure], ...]
    belief: str = ""

    @property
    def figures(self) -> tuple[Callable[[Any], PaperFigure], ...]:
        """What has the smallest size: functions from a size to a figure."""
        every = (each.compute for each in self.exhibits if each.has(SMALLEST))
        return (*(compute for compute in every if compute is not None), *self.page)


@cache
def reproductions() -> tuple[Reproduction, ...]:
    """All papers, by name."""
    found = []
    for module in sorted(pkgutil.iter_modules(reproduction.__path__), key=lambda entry: entry.name):
        if not module.ispkg:
            continue
        loaded = importlib.import_module(f"{reproduction.__name__}.{module.name}")
        if hasattr(loaded, "EXHIBITS"):
            page = getattr(loaded, "PAGE", ())
            told = tuple(replace(each, belief=each.belief or loaded.BELIEF) for each in loaded.EXHIBITS)
            found.append(Reproduction(module.name, loaded.TITLE, loaded.SIZES, told, page, loaded.BELIEF))
    return tuple(found)


@cache
def exhibits() -> Mapping[str, Exhibit]:
    """All exhibits by their full names, as `gavel.fig8`, in the order of the papers."""
    return {f"{paper.name}.{each.name}": each for paper in reproductions() for each in paper.exhibits}


def sizes_of(name: str) -> Mapping[str, Any]:
    """The sizes of an exhibit's paper by name, built-in data first, each the nearer to the paper the later."""
    return next(each.sizes for each in reproductions() if each.name == name.split(".")[0])


def chosen(names: tuple[str, ...]) -> tuple[str, ...]:
    """Full names of exhibits, of those given (a paper's name: all of its); all, if none is given. InputError."""
    found: list[str] = []
    for name in names or tuple(paper.name for paper in reproductions()):
        of_paper = [full for full in exhibits() if full.split(".")[0] == name]
        if not of_paper and name not in exhibits():
            raise InputError("exhibit", name, one_of(name, exhibits()))
        found += of_paper or [name]
    return tuple(dict.fromkeys(found))


def size_name(name: str | None = None) -> str:
    """The size to run: as given, else the environment's WORKBENCH_REPRODUCTION_SIZE, else `tiny`.

    Raises InputError for one that no paper has.
    """
    chosen = name or os.environ.get(VARIABLE) or SMALLEST
    known = dict.fromkeys(size for paper in reproductions() for size in paper.sizes)
    if chosen not in known:
        raise InputError("size" if name else VARIABLE, chosen, "one of " + ", ".join(known))
    return chosen
