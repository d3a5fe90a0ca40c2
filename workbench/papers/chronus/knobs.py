"""Knobs of Chronus: of leases, promises and plans, of the profiler, and of placement."""

from __future__ import annotations

from workbench.scenario.rewards import LOWEST
from workbench.scheduling.knob import Knob

MOST_S = 10**8
"""Longest lease, about three years."""
SLO_LEASE_S = Knob(
    "slo_lease_s",
    1200,
    "Length of a lease of guaranteed jobs, T; a multiple of the best-effort lease. A longer one: fewer restarts, and "
    "coarser plans",
    unit="s",
    source="paper",
    kind="int",
    minimum=1,
    maximum=MOST_S,
    main=True,
    usual=(300, 3600, 300),
)
BE_LEASE_S = Knob(
    "be_lease_s",
    300,
    "Length of a lease of best-effort and unguaranteed jobs",
    unit="s",
    source="paper",
    kind="int",
    minimum=1,
    maximum=MOST_S,
)
ROUND_UP = Knob(
    "round_up",
    True,
    "Count gangs rounded up to {1, 2, 4, 8n} (6), so that all can be placed consolidated; off: as asked for (3)",
    source="paper",
    main=True,
)
ALL_GUARANTEED = Knob(
    "all_guaranteed",
    False,
    "Every job must meet one of its deadlines, as (5) is printed: a question of feasibility",
    source="paper",
    main=True,
)
MISS_REWARD = Knob(
    "miss_reward", LOWEST, "Reward of a job that meets none of its deadlines", unit="1", source="paper", minimum=0.0
)
RESERVE_OVERHEAD = Knob(
    "reserve_overhead",
    0,
    "Seconds of each lease kept for resuming when leases are counted; 0 as the paper counts them",
    unit="s",
    kind="int",
    minimum=0,
)
GPU_RANGE = Knob(
    "gpu_range",
    False,
    "A job may run as any of its gpu_choices (section 7, auto-scaling), one of them for a whole plan; off: as its gpus",
)
LEASE_KNOBS = (SLO_LEASE_S, ROUND_UP, ALL_GUARANTEED, MISS_REWARD, RESERVE_OVERHEAD, GPU_RANGE)
FORM = Knob(
    "form",
    "auto",
    "The model as printed, the master in s with lifting, or (auto) the printed one as long as it is small; options: "
    "the model of section 7, which takes the printed one's place where jobs have a choice of GPUs",
    choices=("auto", "printed", "master", "options"),
)
GAP = Knob(
    "gap",
    0.005,
    "Gap to the bound with which a plan is good enough; where auto takes a master with a wider one, the printed model "
    "goes on from it if it can",
    unit="1",
    kind="float",
    minimum=0.0,
    maximum=1.0,
)
PLAN_BY = Knob(
    "plan_by",
    "auto",
    "How leases are planned: the problem (as printed, by the master in s, or auto: the master once it is larger "
    "than a few jobs); feasibility alone "
    "(Fig. 7b); or greedy, the earliest free leases when a job comes",
    source="paper",
    choices=("auto", "printed", "master", "feasibility", "greedy"),
    main=True,
)
NODES = Knob(
    "nodes",
    2000,
    "Nodes of the search tree after which a solve ends with the best plan so far",
    kind="int",
    minimum=0,
    maximum=10_000_000,
)
PLAN_KNOBS = (PLAN_BY, GAP, NODES)
FIRST_LEASE = Knob(
    "first_lease",
    "early",
    "Plans of equal worth: early gives leases as soon as there is room; late gives the one that begins to whom no "
    "later one would do, and leaves the rest of it to best effort (the authors' code, once jobs are refused)",
    source="code",
    choices=("early", "late"),
)
TYPES = Knob(
    "types",
    "programme",
    "On several accelerator types: one problem chooses the type of each guaranteed job; each: a plan for each type "
    "by itself, a job is tried on its fastest first",
    choices=("programme", "each"),
)
PROFILE = Knob(
    "profile",
    True,
    "New jobs are profiled first; off: run times are known when jobs arrive, as in the authors' end-to-end runs",
    source="code",
)
PROFILE_S = Knob(
    "profile_s",
    120,
    "T_profile: the longest that a new job is profiled, and the interval of submission control; the paper's is 300",
    unit="s",
    source="code",
    kind="int",
    minimum=1,
    maximum=MOST_S,
)
PROFILE_GPU_S = Knob(
    "profile_gpu_s",
    30,
    "A job is profiled for at most so long for each of its GPUs; none: T_profile, whatever its GPUs, as in the paper",
    unit="s",
    source="code",
    kind="int",
    minimum=1,
    maximum=MOST_S,
    optional=True,
)
PROFILE_GPUS = Knob(
    "profile_gpus",
    None,
    "GPUs of the profiling cluster, fixed; none: the whole nodes that the jobs of the last hour ask for",
    unit="GPUs",
    source="paper",
    kind="int",
    minimum=0,
    maximum=1_000_000,
    optional=True,
)
HEADROOM = Knob(
    "profile_headroom",
    1.0,
    "Times lambda T_profile that the profiling cluster is to have at least; 1, the paper's bound, is a load of 1",
    unit="1",
    minimum=0.0,
    maximum=100.0,
)
UPDATE_S = Knob(
    "profile_update_s",
    3600,
    "After so long the profiling cluster's GPUs are estimated again, at the next boundary of SLO leases (section 3.2)",
    unit="s",
    source="paper",
    kind="int",
    minimum=1,
    maximum=MOST_S,
)
SUBMISSION_GPUS = Knob(
    "submission_gpus",
    24,
    "GPUs that a user's jobs may be profiled on in each interval of T_profile; none: no submission control",
    unit="GPUs",
    source="paper",
    kind="int",
    minimum=1,
    maximum=1_000_000,
    optional=True,
)
KEEP_PROGRESS = Knob(
    "profile_progress",
    True,
    "Steps done while being profiled count; jobs that end meanwhile end either way",
)
NOISE = Knob(
    "runtime_noise",
    0.0,
    "Standard deviation of the Gaussian error of the profiled runtime, over the runtime (Fig. 6d)",
    unit="1",
    source="paper",
    minimum=0.0,
    maximum=10.0,
)
PROFILE_KNOBS = (
    PROFILE,
    PROFILE_S,
    PROFILE_GPU_S,
    PROFILE_GPUS,
    HEADROOM,
    UPDATE_S,
    SUBMISSION_GPUS,
    KEEP_PROGRESS,
    NOISE,
)
LARGE = Knob(
    "large",
    16,
    "GPUs from which on a best-effort gang is placed on whole nodes",
    unit="GPUs",
    source="paper",
    kind="int",
    minimum=1,
)
SEARCH = Knob(
    "search",
    100_000,
    "Combinations of placements that local search looks at at most, |S| (section 3.4.2); 1: quasi-consolidation alone",
    source="paper",
    kind="int",
    minimum=1,
    maximum=10_000_000,
)
BE_ORDER = Knob(
    "be_order",
    "remaining_time",
    "Best-effort jobs by remaining time (SRTF) or, as the authors' code has it, by remaining time x GPUs",
    source="code",
    choices=("remaining_time", "remaining_gpu_time"),
)
SPARE = Knob(
    "spare",
    "best_effort",
    "Who has GPUs that no SLO lease takes: jobs without a guarantee (the paper), or behind them everyone, guaranteed "
    "jobs between their leases too, the least slack first (the authors' code)",
    source="code",
    choices=("best_effort", "everyone"),
)
BE_PLACEMENT = Knob(
    "be_placement",
    "local_search",
    "How small best-effort gangs are placed: local search, on the fewest nodes (quasi), or consolidated or not at all",
    source="paper",
    choices=("local_search", "quasi", "consolidated"),
)
