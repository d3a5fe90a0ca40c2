"""What it is worth to know speeds better (sections 1 and 2.1): the three schedulers, each told by every estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from reproduction.figure import Entry, PaperFigure, cell
from reproduction.hops.lines import SIA, table, three
from reproduction.hops.physical import workload
from reproduction.hops.settings import HopsSize
from reproduction.information import BOOTSTRAPPED, LAYERED, SERVERS, TYPES, Told, beliefs, errors_panel, rows


@cache
def measures(size: HopsSize) -> Mapping[str, Told]:
    """Makespan and mean JCT (h)."""
    told = beliefs((SERVERS, TYPES, LAYERED, BOOTSTRAPPED), size.name, size.seed)
    found: dict[str, dict[tuple[str, str], float]] = {"makespan": {}, "JCT": {}}
    for line in three(size):
        numbers = table({name: replace(line, belief=belief).run(workload(size)) for name, belief in told.items()})
        for measure, of in found.items():
            of.update({(line.name, name): cell(numbers, name, measure) for name in told})
    return found


def information(size: HopsSize) -> PaperFigure:
    """Makespan and mean JCT by what is told, over those of who is told the speed of every single server."""
    found = measures(size)
    cause = "The paper blames the crude first guidance, without a number; here all else is equal."
    made = [
        Entry(f"{measure}, {SIA}, told {BOOTSTRAPPED} / told {TYPES}", "1", None,
            of[SIA, BOOTSTRAPPED] / of[SIA, TYPES], cause, "1")
        for measure, of in found.items()
    ] + [row for measure, of in found.items() for row in rows(measure, of, SERVERS)]  # fmt: skip
    panel = errors_panel(found["JCT"], SERVERS)
    return PaperFigure("What is known", "What it is worth to know speeds better", tuple(made), {"a": panel})
