"""The knobs of a plan, of the queue, the profiler and the rounds of Hops, and what `lambda` and `gap` say."""

from __future__ import annotations

import math
from typing import Literal, get_args

from workbench.base.errors import InputError
from workbench.base.round_times import LONGEST_ROUND_S, ROUND_HELP
from workbench.papers.hops.algorithms.configurations import SIGMA
from workbench.papers.hops.algorithms.learning_rates import RateScaling
from workbench.scheduling.contract import Knobs
from workbench.scheduling.knob import Knob

Priority = Literal["latency_ratio", "ftf", "las", "sjf", "srtf"]

PRIORITY = Knob(
    "priority",
    "latency_ratio",
    "What puts a job ahead in the queue: waiting over expected run time, finish-time fairness, or least attained "
    "service, shortest job, shortest remaining time",
    source="paper",
    choices=get_args(Priority),
    main=True,
)
REFRESH_S = Knob(
    "refresh_s",
    30.0,
    "Time between two sortings of the queue; 0: sorted at every decision",
    "s",
    "paper",
    minimum=0.0,
    maximum=LONGEST_ROUND_S,
)

RULE = Knob(
    "learning_rate",
    "linear",
    "How the learning rate follows the size of an elastic job: in proportion, or with its square root; recorded as the "
    "signal learning_rate, over that of the job's smallest size",
    source="paper",
    choices=get_args(RateScaling),
)

DECISION_S = Knob(
    "decision_s",
    6.0,
    "Seconds for which jobs go on as before while a first plan for 512 GPUs is made; grows with the square of the "
    "GPUs; 0: none",
    "s",
    minimum=0.0,
    maximum=LONGEST_ROUND_S,
)

ITERATIONS = Knob(
    "profile_iterations",
    30,
    "Iterations of a new job on each type before it may be scheduled (the paper: 10 to 50); 0: none",
    source="paper",
    kind="int",
    minimum=0,
    maximum=1_000_000,
)
START_S = Knob(
    "profile_start_s",
    20.0,
    "Seconds before the first iteration of a profile: with them most models are done within a minute, as in the paper",
    "s",
    minimum=0.0,
    maximum=LONGEST_ROUND_S,
)
ROUND_S = Knob("round_s", 300.0, ROUND_HELP, "s", minimum=1.0, maximum=LONGEST_ROUND_S, main=True)
REPLAN = Knob("replan", True, "Plan again within a round while GPUs are idle", source="paper")
ADJUST = Knob(
    "adjust", True, "Let less sensitive jobs into the window of later plans of a round (section 3.6)", source="paper"
)
OVERLAP = Knob(
    "overlap", False, "A round carries out what was planned when the one before it began (section 4.7)", source="paper"
)
TIME_LIMIT_S = Knob(
    "time_limit_s",
    None,
    "Wall time of one plan, after which the best found so far counts (runs may then differ); none: no limit",
    "s",
    minimum=0.001,
    optional=True,
)
PLANS = (REPLAN, ADJUST, OVERLAP, DECISION_S, TIME_LIMIT_S)

LARGE, GAP, LARGE_GAP = 1000, 0.01, 0.05
"""Up to so many idle GPUs a plan may be 1 % off the best, above them 5 % (4.7; 3.6 prints 0.05 % and 5 % at once)."""
SMALL = 300
"""Up to so many configurations `form=auto` takes the printed model."""

LAMBDA = Knob(
    "lambda",
    1.0,
    "What priority counts against throughput; a larger one lets more of it go for whoever comes first by priority: 0 "
    "throughput alone, 1 weights are the priorities, inf the higher priority always comes first",
    source="paper",
    minimum=0.0,
    main=True,
)
FORM = Knob(
    "form",
    "auto",
    "The printed model of single servers, the aggregated one of interchangeable servers, or (auto) the printed one for "
    f"up to {SMALL} configurations and the aggregated one above",
    choices=("auto", "printed", "aggregated"),
)
TOLERANCE = Knob(
    "gap",
    None,
    f"How far from the best a plan may be, relative to its value, below 1; none: {GAP:g}, and {LARGE_GAP:g} above "
    f"{LARGE} idle GPUs; a gap above 0 given to the solver itself goes before",
    source="paper",
    minimum=0.0,
    maximum=1.0,
    optional=True,
)
SENSITIVE = Knob(
    "sigma",
    SIGMA,
    "Sensitivity above which a job is not distributed over servers",
    source="paper",
    minimum=0.0,
)
SIZES = Knob(
    "most_sizes",
    8,
    "Sizes that an elastic job may be given, at equal intervals of those its user chose",
    source="paper",
    kind="int",
    minimum=1,
    maximum=1000,
)
WINDOW = Knob("service_window", True, "Plan the service window alone (otherwise the whole queue)", source="paper")
SPEED_CLASSES = Knob(
    "speed_classes",
    3,
    "Servers of a type are told apart by speed in so many classes at most (ours); none: each server by itself",
    kind="int",
    minimum=1,
    maximum=100,
    optional=True,
)
START = Knob("start", True, "The solver starts from the GPUs that jobs had until now")
PLAN = (LAMBDA, FORM, TOLERANCE, SENSITIVE, SIZES, WINDOW, SPEED_CLASSES, START)


def power_of(knobs: Knobs) -> float:
    """The power of the weights, lambda; raises InputError for one below 0."""
    power = float(knobs.get("lambda", LAMBDA.default))
    if not power >= 0:
        raise InputError("knob lambda", power, LAMBDA.expected())
    return power


def gap_of(knobs: Knobs, gpus: int, asked: float = 0.0) -> float:
    """The relative gap for a plan of so many idle GPUs; asked: the solver's own, which goes before if it is above 0.

    Raises InputError for a gap outside [0, 1).
    """
    for where, gap in (("knob gap", knobs.get("gap")), ("gap of the solver", asked)):
        if gap is not None and (math.isnan(gap) or not 0 <= gap < 1):
            raise InputError(where, gap, "a number from 0 to below 1")
    given = asked or knobs.get("gap")
    if given is not None:
        return float(given)
    return GAP if gpus <= LARGE else LARGE_GAP
