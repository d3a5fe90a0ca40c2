"""Knobs of Hadar's rounds, shared by the scheduler `hadar` and the formulation `hadar.round`, and what they say."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.baselines.mechanisms.rounds import ROUND_S as ANY_ROUND_S
from workbench.papers.hadar.utility import UTILITY as ANY_UTILITY
from workbench.papers.hadar.utility import Utility
from workbench.scheduling.contract import Knobs
from workbench.scheduling.knob import Knob

ROUND_S = replace(ANY_ROUND_S, help="Length of a round and of a slot: L; the paper found 90 s to 360 s best")
UTILITY = replace(
    ANY_UTILITY,
    default="neg_jct",
    help=f"{ANY_UTILITY.help}. The paper does not say with which it ran; `neg_jct` (ours) asks for the smallest mean "
    "JCT. Steps / JCT prefers long jobs: the later a job is, the less another round costs it",
    source="ours",
)
HORIZON_S = Knob(
    "horizon_s",
    None,
    "End of the slotted time: T. A job that could not be done by then even alone is an error, one that waits too long "
    "is worth nothing and gets what is left over. None: the longest job of the queue on its slowest type after the "
    "time that the whole cluster needs for the queue's work, renewed each round",
    "s",
    "paper",
    minimum=0.0,
    optional=True,
)
ETA = Knob(
    "eta",
    None,
    "Scales the lowest price, (7). None: the smallest for which D_0 is no more than half of OPT_lower. By (7), "
    "an empty cluster could refuse a job from 1/4 down, where the lowest price eats up the utility of a job that ends "
    "with T; at least 1/2 (ours), so that it does not either for a job whose communication doubles its cost",
    source="paper",
    minimum=0.5,
    optional=True,
)
PAYOFF = Knob(
    "payoff",
    "remaining_rounds",
    "What a job pays for: its GPUs in all rounds until it is done (3a), or in this round only",
    source="paper",
    kind="str",
    choices=("remaining_rounds", "one_round"),
)
COMMUNICATION = Knob(
    "communication_cost",
    0.1,
    "What each server beyond the fewest that could hold the gang adds to its cost, as a part of the price of its GPUs",
    minimum=0.0,
    maximum=100.0,
)
MIXED = Knob("mixed_types", True, "A gang may have GPUs of several types, at the slowest one's speed", "", "paper",
             kind="bool")  # fmt: skip
IDLE_GPUS = Knob(
    "idle_gpus",
    "fill",
    "GPUs that nobody would pay for are filled with jobs that wait, for nothing, or left idle as Algorithm 2 has it "
    "(Fig. 3 has few of them idle)",
    kind="str",
    choices=("fill", "leave"),
)
KNOBS = (ROUND_S, UTILITY, HORIZON_S, ETA, PAYOFF, COMMUNICATION, MIXED)


@dataclass(frozen=True)
class Rules:
    """Values of the knobs, see `KNOBS`."""

    slot_s: float
    utility: Utility
    horizon_s: float | None = None
    eta: float | None = None
    one_round: bool = False
    communication: float = 0.1
    mixed: bool = True

    @classmethod
    def of(cls, knobs: Knobs) -> Rules:
        """What settled knobs say."""
        return cls(
            slot_s=float(knobs["round_s"]),
            utility=Utility(str(knobs["utility"])),
            horizon_s=knobs["horizon_s"],
            eta=knobs["eta"],
            one_round=knobs["payoff"] == "one_round",
            communication=float(knobs["communication_cost"]),
            mixed=bool(knobs["mixed_types"]),
        )
