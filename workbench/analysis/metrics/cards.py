"""How a run and a comparison look at the end of a notebook cell: what was run, and its main measures with units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.analysis.metrics.confidence import ratio_as_read
from workbench.analysis.metrics.declared import MAIN, metric
from workbench.analysis.metrics.summary import Summary, change_of, summary, table, with_known
from workbench.base.card import card
from workbench.base.errors import counted
from workbench.base.labels import listed
from workbench.simulation.run import OWN, Run

if TYPE_CHECKING:
    import pandas as pd

    from workbench.analysis.charts import Drawing

NO_BREAK = "\u00a0"
"""A space at which no line of a narrow column ends: 2 h 30 min."""


def run_page(run: Run) -> str:
    """A run as HTML: one line, what to mind, and its main measures."""
    from workbench.analysis.calibration.note import notes_under

    names = "timeline, jobs, decisions, shares, signals, events, reasons"
    known = "by an object of the session that made it" if run.belief == OWN else run.belief
    more = [f"Speeds known: {known}.", f"Data frames: {names}. As a chart: gantt()."]
    notes = notes_under(run)
    return summary(run).page(run.headline(), more, [*run.conditions, *(f"Note: {text}" for text in notes)])


def comparison_page(
    names: Iterable[tuple[str, str, int]],
    found: Iterable[Summary],
    failed: Iterable[str] = (),
    notes: Iterable[str] = (),
    conditions: Iterable[str] = (),
) -> str:
    """Runs side by side as HTML: one row for each, with scheduler, belief, seed if there are several, main measures.

    names: scheduler, belief and seed of each; failed: of each run that could not be made which it was, and why; notes:
    of the scenario; conditions: what the measures hold for (`Run.conditions`).
    """
    rows = list(zip(names, found, strict=True))
    seeds = len({seed for (_, _, seed), _ in rows}) > 1
    main = with_known(MAIN, [measures for _, measures in rows])
    tables = [table(measures, main) for _, measures in rows]
    heads = [_head(metric(name).label, {found["unit"].iloc[at] for found in tables}) for at, name in enumerate(main)]
    columns = ["Scheduler", "Speeds known", *(["Seed"] if seeds else []), *heads]
    cells = [
        [name, belief, *([str(seed)] if seeds else []), *(value.replace(" ", NO_BREAK) for value in found["value"])]
        for ((name, belief, seed), _), found in zip(rows, tables, strict=True)
    ]
    schedulers = len({name for (name, _, _), _ in rows})
    head = f"{counted(schedulers, 'scheduler')}, {counted(len(rows), 'run')}"
    more = "In numbers: table (these), measures (all), paired(), mean(), spread(), ratios(); runs has the runs."
    mind = warned((name, measures) for (name, _, _), measures in rows)
    mind += [*conditions, *(f"Note: {text}" for text in notes), *(f"Failed: {text}." for text in failed)]
    return card(head, cells, columns, [more], mind)


def pair_as_read(row: Mapping[Any, Any]) -> tuple[str, ...]:
    """A row of `Comparison.paired_as_read`: the mean ratio, or the difference where a seed of the first one has 0, and
    the ends of its interval, none where seeds are alike. Empty of one seed, and where neither ever has any."""
    by_ratio = not math.isnan(row["ratio"])
    kinds = ("ratio", "ratio_low", "ratio_high") if by_ratio else ("difference", "low", "high")
    middle, low, high = (float(row[kind]) for kind in kinds)
    if row["seeds"] == 1 or math.isnan(middle) or (middle == 0.0 and not (by_ratio or low < high)):
        return ()
    unit = found if (found := metric(str(row["measure"])).unit) in ("s", "share") else ""
    told = ratio_as_read(middle, low, high) if by_ratio else [change_of(each, unit) for each in (middle, low, high)]
    return (told[0],) if math.isnan(low) or len({*told}) == 1 else tuple(told)


def words_of_pairs(pairs: pd.DataFrame, label: str) -> dict[str, str]:
    """By metric how a scheduler stands to the first one, of which `Comparison.paired_as_read` tells: `pair_as_read`,
    `*` where they differ, and the mean rank. Of the first one itself its rank: what the others' leave of 1 + 2 + ..."""
    mine = pairs[pairs["scheduler"] == label]
    found: dict[str, str] = {}
    for row in mine.to_dict("records"):
        if told := pair_as_read(row):
            ranked = "" if math.isnan(row["rank"]) else f", rank {row['rank']:.1f}"
            span = f" ({' to '.join(told[1:])}){'' if row['unsure'] else '*'}" if told[1:] else ""
            found[str(row["measure"])] = f"  {'' if math.isnan(row['ratio']) else 'x '}{told[0]}{span}{ranked}"
    count = pairs["scheduler"].nunique()
    if mine.empty and count:
        ranks = pairs.groupby("measure", sort=False)["rank"].agg(["sum", "count"])
        left = (count + 1) * (count + 2) / 2 - ranks["sum"][ranks["count"] == count]
        found = {str(measure): f", rank {rank:.1f}" for measure, rank in left.items()}
    return found


def warned(found: Iterable[tuple[str, Summary]]) -> list[str]:
    """The warnings of runs by name, each once with those that have it."""
    names: dict[str, list[str]] = {}
    for name, measures in found:
        for text in measures.warnings:
            names.setdefault(text, []).append(name)
    return [f"Warning ({listed(dict.fromkeys(who))}): {text}" for text, who in names.items()]


def _head(label: str, units: set[str]) -> str:
    """The label with the unit of its values, if they have one."""
    unit = "".join(units - {""})
    return f"{label} ({unit})" if unit else label


def _draw(run: Run, **options: Any) -> Drawing:
    from workbench.analysis.charts import run_gantt  # takes as long to load as all the rest

    return run_gantt(run, **options)


Run.page = staticmethod(run_page)
Run.draw = staticmethod(_draw)
