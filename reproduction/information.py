"""What it is worth to know speeds better: schedulers on the same jobs, each told by several estimators."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

import pandas as pd

from reproduction.figure import Entry, PaperFigure, Plot, chart_of
from reproduction.results import KeptResults
from workbench.analysis.metrics.confidence import ratio_interval
from workbench.base.errors import InputError, counted

SERVERS, TYPES, LAYERED = "single servers", "types", "three layers"
BOOTSTRAPPED, PMI, LOW_RANK, NOTHING = "bootstrapped", "PMI", "low rank", "nothing"
ESTIMATORS: Mapping[str, str] = {
    SERVERS: "nodes",
    TYPES: "oracle",
    LAYERED: "layered:seed=0",
    BOOTSTRAPPED: "scaled",
    PMI: "pmi",
    LOW_RANK: "low_rank:references=13,profiled=0.25,seed=0",
}
"""Half of Gavel's 26 models are references, so that the other half must be recognised by what is profiled; which, is
the same in all seeds, whose intervals do not hold that chance, nor that of the loading times that three layers see."""
SEVERAL = "each by several estimators; errors are drawn for each seed, what low rank and three layers see once for all"
LAYERS = "three layers, the loading times that they see drawn once for all seeds"
ERRORS = (0.3, 1.0)
"""ours: standard deviations of the logarithm of the error of each model's speed on a type; tiny has the first."""
WHY = "Estimators are ours but for Gavel's, HadarE's, Hops's and Sia's; errors are never corrected."
UNVARIED = ("errors of speeds are never corrected while jobs run",)
Told = Mapping[tuple[str, str], float]
"""A measure by line and by what it was told."""


def beliefs(names: Iterable[str], size: str, seed: int) -> dict[str, str]:
    """By what is told the estimator: those of these names, then types with `ERRORS` of a size; seed: which errors."""
    errors = ERRORS[:1] if size == "tiny" else ERRORS
    noisy = {f"{TYPES}, error {sd:g}": f"noisy:sd={sd},seed={seed}" for sd in errors}
    return {**{name: ESTIMATORS[name] for name in names}, **noisy}


def rows(measure: str, found: Told, best: str, source: str = "ours", why: str = WHY) -> list[Entry]:
    """A measure by what is told, over that of who is told `best`, line by line."""
    return [
        Entry(f"{measure}, {line}, told {told} / told {best}", "1", None, value / found[line, best], why, source)
        for (line, told), value in found.items()
        if told != best
    ]


def errors_panel(found: Told, best: str) -> Plot:
    """Mean JCT against the error of what is told, over that of who is told `best`."""
    ratios = {key: (value / found[key[0], best],) * 3 for key, value in found.items()}
    return _panel(ratios, best)


def worth(name: str, results: KeptResults | None = None) -> PaperFigure:
    """What is kept of an exhibit `*.information`: every measure with its 95 % interval over seeds, and the curve.

    The curve is of the authors' data where there are some. Raises InputError where nothing is kept of it.
    """
    kept = (results or KeptResults()).read(name)
    if kept.empty:
        raise InputError("exhibit", name, "one whose results are kept")
    lines, ratios, best, drawn = [], {}, TYPES, min(kept["size"])
    for (size, measure), of in kept.groupby(["size", "measure"], sort=False):
        mean, *ends = ratio_interval(of["ours"])
        low, high = (mean, mean) if math.isnan(ends[0]) else ends
        said = f"{counted(len(of), 'seed')}, 95 % interval {low:.3f} to {high:.3f}."
        lines.append(Entry(str(measure), "1", None, mean, said, f"size {size}"))
        part = re.fullmatch("(?:mean )?JCT, (.+), told (.+) / told (.+)", str(measure))
        if part and size == drawn:
            best = part[3]
            ratios[part[1], part[2]] = mean, low, high
    exact = {(line, best): (1.0, 1.0, 1.0) for line, _ in ratios}
    return PaperFigure(
        "What is known", f"What is kept of {name}", tuple(lines), {"a": _panel({**exact, **ratios}, best)}
    )


def _panel(ratios: Mapping[tuple[str, str], tuple[float, float, float]], best: str) -> Plot:
    """ratios: by line and by what it is told the mean, from where to where, over that of who is told `best`.

    Who is told nothing is a line that no error moves: who is told so much wrong that its own is above it would be
    better off without.
    """
    at = {TYPES: 0.0, **{told: float(told.split()[-1]) for _, told in ratios if told.startswith(f"{TYPES}, error ")}}
    points = [(line, at[told], *found) for (line, told), found in ratios.items() if told in at]
    points += [
        (f"{line}, told {NOTHING}", x, *found)
        for (line, told), found in ratios.items()
        if told == NOTHING
        for x in at.values()
    ]
    frame = pd.DataFrame(points, columns=["line", "x", "y", "low", "high"]).sort_values(["line", "x"], kind="stable")
    x_title = "Error of speeds (standard deviation of the logarithm)"
    return chart_of(frame, "What errors cost", x_title, f"Mean JCT over that of who is told {best}")
