"""How a run and a comparison look at the end of a notebook cell: what was run, and its main measures with units."""

from __future__ import annotations

import html
from collections.abc import Iterable

import pandas as pd

from workbench.metrics.declared import MAIN, metric
from workbench.metrics.summary import Summary, summary, table, with_known
from workbench.run import Run


def run_page(run: Run) -> str:
    """A run as HTML: one line, and its main measures."""
    shown = table(summary(run))[["label", "value", "unit"]]
    names = "timeline, jobs, decisions, shares, signals, events"
    return _page(run.headline(), shown.set_axis(["Metric", "Value", "Unit"], axis="columns"), f"Data frames: {names}.")


def comparison_page(names: Iterable[tuple[str, int]], found: Iterable[Summary]) -> str:
    """Runs side by side as HTML: one row for each, named by scheduler and seed, with the main measures."""
    rows = list(zip(names, found, strict=True))
    seeds = len({seed for (_, seed), _ in rows}) > 1
    main = with_known(MAIN, [measures for _, measures in rows])
    columns = ["Scheduler", *(["Seed"] if seeds else []), *(metric(name).label for name in main)]
    cells = [[name, *([str(seed)] if seeds else []), *_values(measures, main)] for (name, seed), measures in rows]
    schedulers = len({name for (name, _), _ in rows})
    head = f"{schedulers} schedulers, {len(rows)} runs"
    more = "In numbers: table (these), measures (all), mean(), spread(), ratios(); runs has the runs."
    return _page(head, pd.DataFrame(cells, columns=columns), more)


def _values(found: Summary, names: tuple[str, ...]) -> list[str]:
    return [f"{value} {unit}".strip() for value, unit in table(found, names)[["value", "unit"]].itertuples(index=False)]


def _page(head: str, frame: pd.DataFrame, more: str) -> str:
    text = frame.to_html(index=False, border=0)
    return f"<p>{html.escape(head)}</p>{text}<p>{html.escape(more)}</p>"


Run.page = staticmethod(run_page)
