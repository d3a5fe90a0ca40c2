"""Computing exhibits: which seeds are wanted, and two processes that compute them one by one."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from reproduction.exhibits import AUTHORS, RUNS, findings, spread
from reproduction.registry import SMALLEST, exhibits, sizes_of
from reproduction.results import KeptResults, commit
from workbench.base.processes import Processes

FEWEST, ENOUGH, MOST = 3, 10, 30
WIDTH = 0.05
"""ours: seeds are added until the interval of each claim reaches no further than this share of its mean, or `MOST`;
where a claim is open at that width, all of `MOST`: who ended where it came out well would find what is not there. One
that is the same in each of few seeds whose other measures differ has no width to go by yet. Over spans of a trace more
seeds are more draws of each span: they make it no narrower than the spans lie apart. `ENOUGH`: see `ranked`; what
`MOST` would take is told then."""

QUICK = (SMALLEST, "small")
"""Sizes of seconds to minutes."""

ROUNDED = 1e-5
"""Of a number that `KeptResults` has, the share that it rounds away, twice over."""


class Cell(NamedTuple):
    """What one process computes at a time: an exhibit by its full name, at a size, for a seed."""

    name: str
    size: str
    seed: int
    commit: str


def run(
    names: Sequence[str],
    size: str,
    results: KeptResults,
    workers: int = 2,
    most: int = MOST,
    told: Callable[[Cell], None] = lambda cell: None,
) -> None:
    """Compute what is wanted still of the exhibits of these names at a size, and keep it seed by seed.

    told: is called for each seed that has been kept.
    """
    at = commit()
    while True:
        cells = [Cell(name, size, seed, at) for name in names for seed in wanted(name, size, results, most)]
        if not cells:
            return

        def keep(number: int, rows: pd.DataFrame, cells: Sequence[Cell] = cells) -> None:
            results.add(cells[number].name, rows)
            told(cells[number])

        with Processes(min(workers, len(cells))) as made:
            made.map(compute, cells, keep)


def wanted(name: str, size: str, results: KeptResults, most: int = MOST) -> list[int]:
    """The seeds to compute next: the first ones, then one at a time until the intervals are narrow, then all if a claim
    is open still."""
    exhibit, done = exhibits()[name], results.seeds(name, size)
    if not exhibit.has(size) or size not in sizes_of(name):
        return []
    count = most if exhibit.seeded else min(most, RUNS) if exhibit.timed else 1
    left = [seed for seed in range(count) if seed not in done]
    if not exhibit.seeded or not left:
        return left
    if left[0] < FEWEST:
        return [seed for seed in left if seed < FEWEST]
    kept = results.read(name).query("size == @size")
    alike = kept.groupby("measure")["ours"].nunique(dropna=False).eq(1).all()
    for count in range(FEWEST, len(done) + 1):  # the fewest with narrow intervals, as if there were no more yet
        found = [each for each in findings(exhibit, kept[kept["seed"].isin(done[:count])]) if each.seeds]
        if all(
            (alike or each.low < each.high) and each.high - each.low <= 2 * WIDTH * abs(each.ours) for each in found
        ):
            return left if any(each.outcome == "open" for each in found) else []
    return left[:1]


def ranked(name: str, results: KeptResults, done: str = "") -> list[str]:
    """Sizes at which an exhibit is kept, the first of which has its verdict: of those that do not stand `beside` those
    that have all the seeds that are wanted, or `ENOUGH`, else `FEWEST`; of these the nearest to the paper. done: a
    size, as if it had all."""
    kept = [size for size in sizes_of(name) if size != SMALLEST and (size == done or results.seeds(name, size))]
    rank = {size: (_beside(name, size), size != done and _lacks(name, size, results)) for size in reversed(kept)}
    return sorted(rank, key=rank.__getitem__)


STANDING = (
    f"with {ENOUGH} seeds, or all that are wanted",
    f"with {FEWEST} seeds, as none has {ENOUGH}",
    f"of those kept, as none has {FEWEST} seeds",
)
"""By how much the best of them lacks."""


def why_first(name: str, results: KeptResults) -> str:
    """Why an exhibit's verdict is of the size that it is, by the rule of `ranked`."""
    first, *others = ranked(name, results)
    if not others:
        few = f", and of it fewer than {ENOUGH} seeds" if _lacks(name, first, results) else ""
        return f"no other is kept{few}"
    seeds = f" {STANDING[_lacks(name, first, results)]}" if exhibits()[name].seeded else ""
    named = exhibits()[name].beside
    but = "the authors' data" if named == AUTHORS else f"size {named}"
    beside = f"; beside, deciding nothing: {but}" if _beside(name, others[-1]) else ""
    return f"nearest to the paper{seeds}{beside}"


def _lacks(name: str, size: str, results: KeptResults) -> int:
    """Which of `STANDING` a size has."""
    seeds = len(results.seeds(name, size))
    if seeds >= ENOUGH or not wanted(name, size, results):
        return 0
    return 2 if exhibits()[name].seeded and seeds < FEWEST else 1


def _beside(name: str, size: str) -> bool:
    named = exhibits()[name].beside
    return bool(named) and size.startswith(named)


def decides_none(name: str, size: str, results: KeptResults) -> bool:
    """Whether what is computed at a size changes no verdict, as another has it that lacks nothing; or takes hours, and
    is not begun, where such a one that is no more `beside` is there."""
    kept = ranked(name, results)
    if size in (*QUICK, *kept[:1]) or not kept or size not in sizes_of(name) or not exhibits()[name].has(size):
        return False
    alike = _beside(name, size) == _beside(name, kept[0])
    behind = ranked(name, results, size)[0] != size or (alike and size not in kept)
    return behind and not _lacks(name, kept[0], results)


def kept_cells(name: str, results: KeptResults) -> list[Cell]:
    """Of what is kept of an exhibit a seed for each size and commit: one that is chosen already for another commit that
    it has measures of, else the one that took least."""
    kept = results.read(name)[["size", "commit", "seed", "cpu_s"]].drop_duplicates()
    found: list[Cell] = []
    for (size, at), of in sorted(kept.groupby(["size", "commit"]), key=lambda each: (len(each[1]), each[0])):
        chosen = of["seed"].isin([cell.seed for cell in found if cell.size == size])
        first = of.assign(other=~chosen).sort_values(["other", "cpu_s", "seed"], kind="stable")
        found.append(Cell(name, str(size), int(first["seed"].iloc[0]), str(at)))
    return found


def otherwise(name: str, kept: pd.DataFrame, again: pd.DataFrame) -> list[str]:
    """Measures of an exhibit at a size that are not the same again, as sentences: of a seed beyond the digits that are
    kept, seconds of a machine beyond the `spread` of all runs, or with a claim that is turned into its opposite."""
    exhibit, told = exhibits()[name], []
    was, now = (rows.set_index("measure")["ours"] for rows in (kept[kept["seed"].isin(again["seed"])], again))
    for measure in was.index.union(now.index, sort=False):
        one, other = was.get(measure, math.nan), now.get(measure, math.nan)
        low, high = spread(kept[kept["measure"] == measure]["ours"].tolist())
        same = low <= other <= high if exhibit.is_timed(measure) else np.isclose(one, other, ROUNDED, 0, equal_nan=True)
        if not (same and measure in was and measure in now):
            told.append(f"{measure}: kept {one:g}, now {other:g}")
    before, after = ({each.measure: each.outcome for each in findings(exhibit, cells)} for cells in (kept, again))
    turned = {"holds": "fails", "fails": "holds"}
    return told + [
        f"{measure}: its claim {before[measure]} as kept, {after[measure]} now"
        for measure in before
        if exhibit.is_timed(measure) and after.get(measure) == turned.get(before[measure], before)
    ]


def at_seed(size: Any, seed: int) -> Any:
    """A size with one seed, whichever way it has them; one without any is what it is."""
    if hasattr(size, "seeds"):
        size = replace(size, seeds=range(seed, seed + 1))
    return replace(size, seed=seed) if hasattr(size, "seed") else size


def compute(cell: Cell) -> pd.DataFrame:
    """The measures of a cell, as `KeptResults` keeps them."""
    exhibit = exhibits()[cell.name]
    assert exhibit.compute is not None
    began = cpu_s()
    found = exhibit.compute(at_seed(sizes_of(cell.name)[cell.size], cell.seed)).table
    took_s = cpu_s() - began
    kept = found[["measure", "unit", "paper", "ours"]]
    return kept.assign(size=cell.size, seed=cell.seed, cpu_s=round(took_s, 1), commit=cell.commit)


def cpu_s() -> float:
    """Of this process and its children that have ended."""
    return sum(os.times()[:4])
