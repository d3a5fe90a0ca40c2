"""The knobs of Gavel's mechanism, and their values in the authors' simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.baselines.mechanisms import rounds
from workbench.scheduling.knob import Knob

KNOBS = (
    *rounds.KNOBS,
    Knob(
        "recompute_s",
        0.0,
        "Least time between two computations of the shares (one at 0 s does not count)",
        "s",
        "paper",
        minimum=0.0,
    ),
    Knob(
        "refresh_s",
        None,
        "Compute the shares anew after this time even if the jobs are the same (none: never; 0: in every round, "
        "the default of policies with SLOs, whose steps and time left move)",
        "s",
        "paper",
        minimum=0.0,
        optional=True,
    ),
    Knob(
        "priority_over",
        "time_by_type",
        "What a share is divided by: the part of the time given out on the type so far that went to the job (section "
        "5), or the rounds that the job itself has had there (section 3.2, Fig. 4), which keeps closer to the shares "
        "of a job alone on its types",
        source="paper",
        choices=("time_by_type", "rounds_of_job"),
    ),
    Knob(
        "initial_time",
        0.0,
        "Time that every job starts with on every type (0: first priority to whoever has not run yet)",
        "rounds",
        "paper",
        minimum=0.0,
        maximum=100.0,
    ),
    Knob(
        "pick",
        "highest",
        "Pick the highest priority of all, or type by type in the order of type_order",
        source="paper",
        choices=("highest", "by_type"),
    ),
    Knob(
        "type_order",
        "",
        "Order of the types, separated by commas (types not named follow in the cluster's order)",
    ),
    Knob(
        "shuffle_types",
        "never",
        "Draw the order of the types anew each round: never, if the policy does not know the types' speeds, or always",
        source="code",
        choices=("never", "agnostic", "always"),
    ),
    Knob(
        "shuffle_seed",
        None,
        "Seed of Python's generator for those orders, as in the authors' simulator (theirs is the run's seed + 5); "
        "none: they come from the run's own seed",
        source="code",
        kind="int",
        minimum=0,
        optional=True,
    ),
    Knob(
        "leftovers",
        "all",
        "Who may take GPUs that no job with a share of them uses: all; the jobs the shares were computed for, "
        "where later ones only keep others off (the authors' simulator); none, so that GPUs which a policy "
        "leaves idle stay idle and jobs without a share wait (the default of Gavel's policies of cost)",
        source="paper",
        choices=("all", "known", "none"),
    ),
    Knob(
        "inherit",
        True,
        "What a pair had of shares goes to the member that is left; otherwise it has none until they are computed anew "
        "(the authors' simulator)",
    ),
    Knob(
        "placement",
        "consolidate",
        "Nodes for a new placement: the fewest, or nodes in order",
        source="paper",
        choices=("consolidate", "fill"),
    ),
)

AUTHORS_ORDER = ("v100", "p100", "k80")

AUTHORS: Mapping[str, Any] = {
    "whole_steps": True,
    "round_end": "last_job",
    "recompute_s": 1920.0,
    "refresh_s": None,
    "priority_over": "time_by_type",
    "initial_time": 0.5,
    "pick": "by_type",
    "type_order": ",".join(AUTHORS_ORDER),
    "shuffle_types": "agnostic",
    "shuffle_seed": 5,
    "leftovers": "known",
    "inherit": False,
    "placement": "fill",
}
"""The knobs above as in the authors' simulator.

(ours): of a pair, the job with less to do in a round ends with its own last step; there both end with the pair's.
"""
