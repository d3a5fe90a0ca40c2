"""The last round (section V-A): the beta fastest nodes of the round before finish up, 1 <= beta <= n.

A round is the last one if every job is believed to end in it. A job's nodes are then ordered: first those whose copies
did all they were told in the round before, the quickest first, then the others by throughput. The paper leaves beta
open: here (ours) it is the number of nodes with which the job ends soonest, restarts and the consolidation of several
copies included; of equals the smallest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.scheduling.knob import Knob

LAST_ROUND = Knob(
    "last_round",
    "fastest",
    "In the last round a job runs on the fastest nodes of the round before with which it ends soonest, or on all nodes",
    source="paper",
    kind="str",
    choices=("fastest", "all"),
)


class Candidate(NamedTuple):
    """A node that a job may finish up on: steps/s of a copy, seconds of a restart there, its place in the last round.

    place: 0 for the copy that was done first, None if it was not done or not there.
    """

    node: int
    steps_per_s: float
    restart_s: float
    place: int | None


def finishing(candidates: Sequence[Candidate], steps_left: float, overhead_s: float) -> list[int]:
    """The nodes on which a job finishes up, the first ones of the order in the module's text."""
    line = sorted(candidates, key=lambda c: (c.place is None, c.place or 0, -c.steps_per_s))
    best, best_s = len(line), float("inf")
    for beta in range(1, len(line) + 1):
        those = line[:beta]
        run_s = steps_left / sum(c.steps_per_s for c in those)
        end_s = run_s + max(c.restart_s for c in those) + (overhead_s if beta > 1 else 0.0)
        if end_s < best_s * (1 - 1e-12):
            best, best_s = beta, end_s
    return [c.node for c in line[:best]]
