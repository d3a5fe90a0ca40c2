"""What it is worth to know speeds better (sections 1 and 2.1): the three schedulers, each told by every estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pandas as pd

from reproduction.figure import Figure, Panel, Row, cell
from reproduction.hops.lines import SIA, table, three
from reproduction.hops.physical import workload
from reproduction.hops.settings import Size
from workbench.analysis.charts.curves import curve

SERVERS, TYPES, BOOTSTRAPPED = "single servers", "types", "bootstrapped"
BELIEFS = {SERVERS: "servers", TYPES: "oracle", "three layers": "layered", BOOTSTRAPPED: "bootstrapped"}
ERRORS = (0.3, 1.0)
"""ours: standard deviations of the logarithm of the error of each model's speed on a type."""


Measures = Mapping[tuple[str, str], float]
"""By line and by what it was told."""


@cache
def measures(size: Size) -> Mapping[str, Measures]:
    """Makespan and mean JCT (h)."""
    told = {**BELIEFS, **{_error(sd): f"noisy:sd={sd},seed={size.seed}" for sd in _errors(size)}}
    found: dict[str, dict[tuple[str, str], float]] = {"makespan": {}, "JCT": {}}
    for line in three(size):
        numbers = table({name: replace(line, belief=belief).run(workload(size)) for name, belief in told.items()})
        for measure, of in found.items():
            of.update({(line.name, name): cell(numbers, name, measure) for name in told})
    return found


def information(size: Size) -> Figure:
    """Makespan and mean JCT by what is told, over those of who is told the speed of every single server."""
    found = measures(size)
    cause = "The paper blames the crude first guidance, without a number; here all else is equal."
    why = "Estimators are ours but for Sia's and Hops's; errors are never corrected."
    rows = [
        Row(f"{measure}, {SIA}, told {BOOTSTRAPPED} / told {TYPES}", "1", None,
            of[SIA, BOOTSTRAPPED] / of[SIA, TYPES], cause, "1")
        for measure, of in found.items()
    ] + [
        Row(f"{measure}, {line}, told {told} / told {SERVERS}", "1", None, value / of[line, SERVERS], why, "ours")
        for measure, of in found.items()
        for (line, told), value in of.items()
        if told != SERVERS
    ]  # fmt: skip
    jct, errors = found["JCT"], ((TYPES, 0.0), *((_error(sd), sd) for sd in _errors(size)))
    points = [
        (line, sd, jct[line, told] / jct[line, SERVERS]) for line in dict.fromkeys(key[0] for key in jct)
        for told, sd in errors
    ]  # fmt: skip
    options = {
        "title": "What errors cost", "x_title": "Error of speeds (standard deviation of the logarithm)",
        "y_title": f"Mean JCT over that of who is told {SERVERS}",
    }  # fmt: skip
    panel = Panel(pd.DataFrame(points, columns=["line", "x", "y"]), curve, options)
    return Figure("What is known", "What it is worth to know speeds better", tuple(rows), {"a": panel})


def _errors(size: Size) -> tuple[float, ...]:
    return ERRORS[:1] if size.name == "tiny" else ERRORS


def _error(sd: float) -> str:
    return f"{TYPES}, error {sd:g}"
