"""Rounds: how many each decision stood for, as a scheduler may be left out while nothing can change; when they end."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import counted
from workbench.scheduling.decision import in_sequences
from workbench.simulation.intervals import over_s, presence
from workbench.simulation.run import Run

if TYPE_CHECKING:
    import pandas as pd


def rounds_of(run: Run) -> FloatArray:
    """1 if a round began with the decision, and 1 more per boundary up to the next decision at which jobs were present.

    A round begins with its first decision; later ones within it (plans made again) stand for no round of their own.
    Boundaries are the multiples of the knob `round_s`; without that knob, or if the decisions of rounds are not at
    such times (rounds that end with their last job), nothing was left out and every decision is one round.
    """
    time = run.cells.column("decisions", "time_s")
    round_s = _round_s(run, time)
    if round_s is None:
        return np.ones(len(time))
    own = np.diff(np.floor(time / round_s + 1e-9), prepend=-1.0) > 0
    times, count = presence(run)
    empty = np.append(times[count <= 0], np.inf)
    until = np.minimum(np.append(time[1:], over_s(run)), empty[np.searchsorted(empty, time, side="right")])
    first = np.floor(time / round_s + 1e-9) + 1
    last = np.ceil(until / round_s - 1e-9) - 1
    skipped: FloatArray = np.maximum(last - first + 1, 0.0)
    return own + skipped


def changed_rounds(run: Run) -> int:
    """Rounds with a decision after which some unit's GPUs differ from those before."""
    time = run.cells.column("decisions", "time_s")[run.cells.column("decisions", "changed")]
    round_s = _round_s(run, run.cells.column("decisions", "time_s"))
    return len(time) if round_s is None else len(np.unique(np.floor(time / round_s + 1e-9)))


def who_decided(run: Run, how: str = "") -> str:
    """Who made the decisions, in a line: `42 rounds: 3 problems solved, 39 kept the shares`.

    Problems that one decision solved in turn count as one; how: what is said behind those that were solved.
    """
    made = Counter(run.cells.column("decisions", "made_by").tolist())
    stated, assembled, ruled, kept = (made[maker] for maker in ("model", "assembly", "algorithm", "kept"))
    what = "round" if run.cells.count("decisions") == int(rounds_of(run).sum()) else "decision"
    parts = [
        f"{counted(stated, 'problem')} solved by the Pyomo model{how}" if stated else "",
        f"{counted(assembled, 'problem')} solved{how}" if assembled else "",
        f"{ruled} by an algorithm" if ruled else "",
        f"{kept} kept the {'shares' if run.cells.count('shares') else 'plan'}" if kept else "",
    ]
    return f"{counted(sum(made.values()), what)}: {', '.join(filter(None, parts))}" if made else "no decisions"


def stops_s(timeline: pd.DataFrame, decisions: pd.DataFrame | None, end_s: float) -> FloatArray:
    """When a picture of a run shows something new, in seconds and in order: the ends of its rounds, and `end_s`.

    A round ends with the next decision. Where one decision plans all (task sequences), and without decisions, the
    ends are those at which an interval of the timeline begins or ends.
    """
    if decisions is None or in_sequences(timeline):
        found = timeline[["start_s", "end_s"]].to_numpy(dtype=float).ravel()
    else:
        found = decisions["time_s"].to_numpy(dtype=float)[1:]
    times: FloatArray = np.unique(np.append(found, end_s))
    return times[(times > 0) & (times <= end_s)]


def _round_s(run: Run, time: FloatArray) -> float | None:
    """Seconds of a round, None unless rounds begin at multiples of the knob `round_s`."""
    round_s = run.knobs.get("round_s")
    if isinstance(round_s, bool) or not isinstance(round_s, int | float) or not 0 < round_s < np.inf:
        return None
    regular = time[run.cells.column("decisions", "cause") == "round"]
    off = np.abs(regular - np.rint(regular / round_s) * round_s)
    return float(round_s) if len(regular) and (off <= 1e-9 * np.maximum(regular, round_s)).all() else None
