"""How well rounds realise the shares: Fig. 13 (section 7.5)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from reproduction.figure import Entry, PaperFigure
from reproduction.gavel.load import EDGE, LAS
from reproduction.gavel.settings import HOUR, GavelSize
from reproduction.gavel.sweep import gain, load_panel, points, single, sweep
from reproduction.line import Line
from workbench.base.units import format_duration
from workbench.scenario.scenario import Scenario
from workbench.session.api import ideal

IDEAL = "ideal: exactly the shares"


def figure_13(size: GavelSize) -> PaperFigure:
    """LAS with rounds of several lengths, and with exactly the shares."""
    lines = [Line(_name(round_s), LAS, {"round_s": round_s}) for round_s in size.rounds_s]
    load = single(size)
    jobs = sweep(load, lines, size)
    ideal = [
        _ideal(load.scenario(size, per_hour, seed), size.window).assign(line=IDEAL, per_hour=per_hour, seed=seed)
        for per_hour in load.per_hour
        for seed in size.seeds
    ]
    table = points(pd.concat([jobs, *ideal], ignore_index=True), "jct_h")
    short, long = (_name(pick(size.rounds_s)) for pick in (min, max))
    rows = (
        Entry(f"mean JCT, rounds of {short} / {IDEAL}, {EDGE}", "1", None, gain(table, short, IDEAL),
            "The paper says almost identical, without a number.", "7.5"),
        Entry(f"mean JCT, rounds of {long} / of {short}, {EDGE}", "1", None,
            gain(table, long, short), "The paper shows that longer rounds cost time, without a number.", "7.5"),
    )  # fmt: skip
    first = table[table["line"] == short]
    both = pd.concat([first, table[table["line"] == IDEAL]], ignore_index=True)
    panels = {
        "a": load_panel(table[table["line"] != IDEAL], "Least attained service, by length of a round"),
        "b": load_panel(both, "Rounds against the ideal"),
    }
    return PaperFigure("Fig. 13", "The mechanism of rounds", rows, panels)


def _name(round_s: float) -> str:
    return format_duration(round_s)


def _ideal(scenario: Scenario, window: tuple[int, int]) -> pd.DataFrame:
    """The measured jobs under exactly their shares; unfinished if they end after the last arrival, as in `sweep`."""
    done = ideal(scenario, LAS)
    first, last = window
    jobs = done.jobs.iloc[list(scenario.order[first : last + 1])]
    finish = jobs["finish_s"].to_numpy(dtype=float)
    late = finish > max(job.arrival_s for job in scenario.jobs)
    jct_h = (finish - jobs["arrival_s"].to_numpy(dtype=float)) / HOUR
    return pd.DataFrame({"job": jobs["job"].to_numpy(), "jct_h": np.where(late, math.nan, jct_h)})
