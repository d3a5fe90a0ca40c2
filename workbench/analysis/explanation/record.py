"""An explanation: sentences, a small table of facts, and the jobs that it won or lost against."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pandas as pd

from workbench.base.card import folded
from workbench.base.rounding import short_number
from workbench.base.units import clock
from workbench.simulation.job_at_time import Comes, Fact, JobState

MOST_SHOWN = 12
"""Competitors that a table for people shows; `competitors` and the JSON have all."""


class Competitor(NamedTuple):
    """Another job that wanted the same GPUs.

    role: it holds GPUs of a type that the job could use, or waits too; gpus: held, as `2 v100`; since_s, until_s: of
    what it holds (NaN while it waits); value: what the scheduler orders jobs by; comes: where that puts it, before or
    after the job, or equal where nothing is known to decide between them (empty where there is no such number).
    """

    job: str
    role: Literal["holds", "waits"]
    gpus: str
    since_s: float
    until_s: float
    value: float
    comes: Comes


@dataclass(frozen=True)
class Explanation:
    """Why a job had what it had at a time.

    summary: what it did and what decided, in one sentence; sentences: what happened and why, the first one says what it
    did; binding: the constraint or rule that decided;
    next_start_s: when it next got GPUs in the run, None if it did not; order: what the competitors' values are; value:
    the job's own (NaN: none); infinite: whose value is infinite.
    """

    scheduler: str
    job: str
    at_s: float
    state: JobState
    summary: str
    sentences: tuple[str, ...]
    binding: str
    facts: tuple[Fact, ...]
    competitors: tuple[Competitor, ...]
    order: str
    value: float
    infinite: str
    next_start_s: float | None

    @property
    def reason(self) -> str:
        """The sentences as one text."""
        return " ".join(self.sentences)

    def facts_table(self) -> pd.DataFrame:
        """The facts: columns Fact, Value and Unit, all text."""
        rows = [(fact.name, *_as_read(fact.value, fact.unit)) for fact in self.facts]
        return pd.DataFrame(rows, columns=["Fact", "Value", "Unit"], dtype=str)

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON has it; unknown numbers are None."""
        return {
            "scheduler": self.scheduler,
            "job": self.job,
            "at_s": self.at_s,
            "state": self.state,
            "summary": self.summary,
            "sentences": list(self.sentences),
            "binding": self.binding,
            "facts": [{"name": f.name, "value": _finite(f.value), "unit": f.unit} for f in self.facts],
            "order": self.order,
            "competitors": [{k: _finite(v) for k, v in one._asdict().items()} for one in self.competitors],
            "next_start_s": self.next_start_s,
        }

    def shown_competitors(self) -> pd.DataFrame:
        """The job itself where they are put in order, and the first competitors, as texts; without those no rows."""
        valued = any(not math.isnan(one.value) for one in self.competitors)
        more = [self.order[:1].upper() + self.order[1:]] if valued else []
        ordered = any(one.comes for one in self.competitors)
        more += ["Comes"] if ordered else []
        rows = []
        if valued and not math.isnan(self.value):
            rows.append([self.job, "(this job)", "", "", "", _shown(self.value), *[""] * ordered])
        for one in self.competitors[:MOST_SHOWN]:
            row = [one.job, one.role, one.gpus, clock(one.since_s), clock(one.until_s)]
            said = [_shown(one.value), COMES[one.comes]]
            rows.append([*row, *said[: len(more)]])
        return pd.DataFrame(rows, columns=["Job", "Then", "GPUs", "Since", "Until", *more], dtype=str)

    def about_competitors(self) -> str:
        """What the table of competitors is."""
        left = len(self.competitors) - MOST_SHOWN
        more = f" (the first {MOST_SHOWN} of {len(self.competitors)})" if left > 0 else ""
        return f"Who else wanted these GPUs then{more}:"

    def about_values(self) -> str:
        """What an infinite number in the table of competitors is; empty where there is none."""
        shown = [self.value, *(one.value for one in self.competitors[:MOST_SHOWN])]
        return f"{_shown(math.inf)}: {self.infinite}." if self.infinite and any(map(math.isinf, shown)) else ""

    def text(self) -> str:
        """For a terminal: sentences, facts and competitors."""
        lines = [*self.sentences]
        if self.facts:
            lines += ["", *_aligned(self.facts_table())]
        if self.competitors:
            lines += ["", self.about_competitors(), *_aligned(self.shown_competitors())]
            lines += [self.about_values()] if self.about_values() else []
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Explanation: {self.summary}>"

    def _repr_html_(self) -> str:
        parts = ["<div>", *(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences)]
        if self.facts:
            parts.append(folded("The numbers", _html_table(self.facts_table())))
        if self.competitors:
            inside = _html_table(self.shown_competitors()) + html.escape(self.about_values())
            parts.append(folded(self.about_competitors().rstrip(":"), inside))
        return "".join([*parts, "</div>"])


COMES: Mapping[Comes, str] = {"": "", "before": "before it", "after": "after it", "equal": "equal to it"}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _as_read(value: float | str, unit: str) -> tuple[str, str]:
    """A value and its unit, seconds as people say them; a unit may say more in brackets: `s (round)`."""
    if not isinstance(value, str) and unit.partition(" (")[0] == "s":
        return clock(value), unit.removeprefix("s").strip()
    return _shown(value), unit


def _shown(value: float | str) -> str:
    """A text, or a number for people."""
    return value if isinstance(value, str) else short_number(value)


def _aligned(table: pd.DataFrame) -> list[str]:
    rows = [list(table.columns), *table.to_numpy().tolist()]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _html_table(table: pd.DataFrame) -> str:
    """A table whose cells are all text, escaped."""
    return table.to_html(index=False, border=0, na_rep="")
