"""A decision of an algorithm, job by job: what it went by for each, and why."""

from __future__ import annotations

import html
import math

import numpy as np
import pandas as pd

from widgets.lab.lit import About
from widgets.lab.words import MEANT, hinted
from widgets.parts.html_table import html_table
from workbench.base.labels import label_of
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.simulation.run import Run

ALGORITHM, KEPT = "algorithm", "kept"
PRICED = ": utility per GPU and round, once all below is decided"
MOST_SIGNALS = 5
"""Columns of what it went by."""


def steps(run: Run, at_s: float, about: About | None = None) -> str:
    """The last decision up to a time that was not carried over, as HTML, the row of a job marked; empty where a
    programme made it."""
    decisions = run.decisions
    made = decisions["made_by"].to_numpy(object)
    known = np.flatnonzero((decisions["time_s"].to_numpy(float) <= at_s) & (made != KEPT))
    if not len(known) or made[known[-1]] != ALGORITHM:
        return ""
    number = int(known[-1])
    table, whole = _table(run, int(decisions["decision"].iloc[number]))
    when = format_duration(float(decisions["time_s"].iloc[number]), parts=2)
    head = f"<h4>Decided at {html.escape(when)}, job by job</h4>"
    whole += PRICED if "Price" in whole else ""
    said = f"<p class='wb-note'>{hinted(whole)}</p>" if whole else ""
    meanings = {name: MEANT[name.lower()] for name in table.columns if name.lower() in MEANT}
    if table.empty:
        return f"{head}{said}<p class='wb-note'>It gave no reasons.</p>"
    return head + said + html_table(table, meanings, lit=[at for at, job in enumerate(table["Job"]) if job == about])


def _table(run: Run, decision: int) -> tuple[pd.DataFrame, str]:
    """A row for each job, in the order in which the algorithm recorded what it went by; and what that was of no single
    job."""
    reasons = run.reasons[run.reasons["decision"] == decision]
    signals = run.signals[run.signals["decision"] == decision]
    order = dict.fromkeys([*signals["job"], *reasons["job"]])  # reasons are recorded only where they changed
    columns: dict[str, dict[str, float]] = {}
    for signal, job, value in zip(signals["signal"], signals["job"], signals["value"], strict=True):
        columns.setdefault(signal, {})[job] = value
    alone = [signal for signal, of in columns.items() if len(of) == 1 < len(order)]  # told with the first job, of all
    of_all = {signal: next(iter(columns.pop(signal).values())) for signal in alone}
    whole = ", ".join(f"{_head(signal)} {_value(signal, value)}" for signal, value in of_all.items() if value)
    shown = dict(sorted(columns.items(), key=lambda item: -len(item[1]))[:MOST_SIGNALS])
    said: dict[str, list[str]] = {}
    for job, text in zip(reasons["job"], reasons["text"], strict=True):
        said.setdefault(job, []).append(text)
    rows = [
        [
            job,
            *(_value(signal, of.get(job, math.nan)) for signal, of in shown.items()),
            "; ".join(said.get(job, [])),
        ]
        for job in order
    ]
    return pd.DataFrame(rows, columns=["Job", *map(_head, shown), "What was decided, and why"]), whole


def _head(signal: str) -> str:
    return label_of(signal, "s") if signal.endswith("_s") else label_of(signal)


def _value(signal: str, value: float) -> str:
    if signal.endswith("_s") and not math.isnan(value):
        return "now" if value == 0 and signal.startswith("next_") else format_duration(value, parts=2)
    if math.isnan(value):
        return "\N{EN DASH}"  # recorded of other jobs only, as Hadar's utility of those that were chosen
    return ("\N{INFINITY}" if value > 0 else "-\N{INFINITY}") if math.isinf(value) else short_number(value)
