"""The charts of a what-if."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING

from workbench.analysis.charts import Drawing, before_after, job_changes
from workbench.analysis.metrics.summary import amount, change_of
from workbench.analysis.what_if.tables import each_difference
from workbench.analysis.what_if.words import interval

if TYPE_CHECKING:
    from workbench.analysis.what_if.ask import WhatIf

DRAWN = ("mean_jct_s", "p99_jct_s", "makespan_s", "utilisation", "mean_cost_usd", "weighted_miss_rate")
"""Measures that are drawn; the table has all."""
MOST_LETTERS = 42


def measures(found: WhatIf) -> Drawing:
    """Bars before and after, with the interval of the difference."""
    rows = found.differences[found.differences["measure"].isin(DRAWN)]
    said = [
        (amount(r.after, r.unit), change_of(r.difference, r.unit), amount(r.before, r.unit))
        for r in each_difference(rows)
    ]
    frame = rows.assign(
        text=[f"{after} ({apart})" for after, apart, _ in said], today_text=[today for *_, today in said]
    )
    spans = [interval(row.low, row.high, row.unit) for row in each_difference(rows)]
    names = {change.text: _short(change.words) for change in found.question.changes}
    if len({*names.values()}) < len(names):  # alike but for what is cut
        names = {change.text: change.words for change in found.question.changes}
    return before_after(frame.assign(interval=spans), names=names)


def by_job(found: WhatIf, change: str) -> Drawing:
    """Each job's difference in completion time under one change (its text)."""
    words = next(one.words for one in found.question.changes if one.text == change)
    rows = found.jobs[found.jobs["change"] == change].drop(columns="change")
    return job_changes(rows, title=f"Job by job, with {_short(words)}")


def _short(words: str) -> str:
    """As much as stands whole over half a page."""
    return shorten(words, MOST_LETTERS, placeholder=" …")
