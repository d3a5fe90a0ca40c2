"""Knobs of P1 to P3, of the rounds of `hadar` and of HadarE, and what those of a round say (`HadarRules`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.baselines.mechanisms.rounds import ROUND_S as ANY_ROUND_S
from workbench.papers.hadar.formulations.utility import NAMED, Utility
from workbench.scheduling.contract import Knobs
from workbench.scheduling.knob import Knob

UTILITY = Knob(
    "utility",
    "effective_throughput",
    "What a job is worth by its completion time (JCT): its steps / JCT, the time from its JCT to the horizon (plain, "
    "or times its weight), 1, or its rewards (0 for a job without rewards). Default: neg_jct in "
    "hadar and hadar.round, steps / JCT (the paper's example) elsewhere",
    source="paper",
    choices=tuple(NAMED),
    main=True,
)

SLOT_S = Knob(
    "slot_s",
    360.0,
    "Length of a time slot; a job arrives with the first slot that begins after it does",
    unit="s",
    source="paper",
    minimum=1.0,
    maximum=1e8,
    main=True,
)
SLOTS = Knob(
    "slots",
    None,
    "Time slots in all, T (none: enough for every job to complete, see `slots_needed`)",
    unit="slots",
    source="ours",
    kind="int",
    minimum=1,
    maximum=1_000_000,
    optional=True,
    main=True,
)
SLOT_KNOBS = (SLOT_S, SLOTS, UTILITY)

ROUND_S = replace(ANY_ROUND_S, help=f"{ANY_ROUND_S.help}. Also of a slot: L; the paper found 90 s to 360 s best")
ROUND_UTILITY = replace(
    UTILITY,
    default="neg_jct",
    help=f"{UTILITY.help}. The paper does not say with which it ran; `neg_jct` (ours) asks for the smallest mean "
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
    choices=("remaining_rounds", "one_round"),
)
COMMUNICATION = Knob(
    "communication_cost",
    0.1,
    "What each server beyond the fewest that could hold the gang adds to its cost, as a part of the price of its GPUs "
    "(Algorithm 2, line 27; how much is ours)",
    minimum=0.0,
    maximum=100.0,
)
MIXED = Knob(
    "mixed_types", True, "A gang may have GPUs of several types, at the slowest one's speed (Algorithm 2)", "", "paper"
)
IDLE_GPUS = Knob(
    "idle_gpus",
    "fill",
    "GPUs that nobody would pay for are filled with jobs that wait, for nothing, or left idle as Algorithm 2 has it "
    "(Fig. 3 has few of them idle)",
    choices=("fill", "leave"),
)
ROUND_KNOBS = (ROUND_S, ROUND_UTILITY, HORIZON_S, ETA, PAYOFF, COMMUNICATION, MIXED)


@dataclass(frozen=True)
class HadarRules:
    """Values of the knobs, see `ROUND_KNOBS`."""

    slot_s: float
    utility: Utility
    horizon_s: float | None = None
    eta: float | None = None
    one_round: bool = False
    communication: float = 0.1
    mixed: bool = True

    @classmethod
    def of(cls, knobs: Knobs) -> HadarRules:
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


PRICES = Knob(
    "prices",
    "within_round",
    "Prices rise with every job taken in a round (jobs in the order of arrival), or are those of its start. A round "
    "decided by the linear problem has those of its start",
    "",
    "paper",
    choices=("within_round", "start_of_round"),
)
METHOD = Knob(
    "method",
    "auto",
    "How a round is decided: exactly by dynamic programming over free GPUs, by the linear problem made whole, or by "
    "the first unless the round has too many states for it",
    choices=("auto", "dp", "lp"),
)
RESCHEDULE = Knob(
    "reschedule",
    "on_change",
    "Who is decided on in a round: all jobs if one came or ended, or a node or a believed speed changed since the last "
    "one; all jobs in any case; or only those that wait, while the others keep their GPUs until they are done",
    "",
    "paper",
    choices=("on_change", "all", "waiting"),
    main=True,
)

FORKS = Knob(
    "forks",
    None,
    "Copies of each job, so on how many nodes it may run at once (none: as many as there are nodes)",
    source="paper",
    kind="int",
    minimum=1,
    maximum=1_000_000,
    optional=True,
    main=True,
    usual=(1, 6, 1),
)
MAX_JOB_COUNT = Knob(
    "max_job_count",
    None,
    "Most jobs that may be there at once, for the ids of copies (section V; none: all jobs of the scenario)",
    source="paper",
    kind="int",
    minimum=1,
    maximum=1_000_000_000,
    optional=True,
)

COPY_PAYOFF = Knob(
    "payoff",
    "utility",
    "What nodes are given out by: Hadar's utility less the price (utility, the paper), or (ours) the work that a copy "
    "does in the slot (work: all nodes at what they are best at), the part of its job's steps left (remaining: short "
    "jobs first), or between these two (balanced)",
    choices=("utility", "balanced", "remaining", "work"),
    main=True,
)
COPY_UTILITY = replace(UTILITY, help=f"With payoff=utility only. {UTILITY.help}", main=False)

OVERHEAD_S = Knob(
    "overhead_s",
    10.0,
    "Aggregation and consolidation at the end of a round, for a job of which several copies ran",
    "s",
    minimum=0.0,
    maximum=1e6,
)

SPLIT = Knob(
    "split",
    "running",
    "Whose throughputs a job's steps left are split by: of the copies that run in the round, or of all its copies, so "
    "that the portions of those that do not run wait",
    source="ours",
    choices=("running", "all_copies"),
)
DISPATCH = Knob(
    "dispatch",
    "remaining",
    "What is split in a round (section V): all steps left (a copy does as many as the slot lets it), or no more "
    "than what a slot is believed to suffice for, so that a copy ends with a whole step",
    source="paper",
    choices=("remaining", "slot"),
)

LAST_ROUND = Knob(
    "last_round",
    "fastest",
    "In the last round (section V) a job runs on the fastest nodes of the round before with which it ends "
    "soonest, or on all nodes",
    source="paper",
    choices=("fastest", "all"),
)
