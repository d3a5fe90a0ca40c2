"""Knobs of Hare: of rounds, of Algorithm 1, of what switches cost, and of the formulations."""

from __future__ import annotations

from workbench.baselines.mechanisms.task_rounds import MOST_ROUNDS, STEPS_PER_ROUND
from workbench.scheduling.knob import Knob

ROUND_KNOBS = (MOST_ROUNDS, STEPS_PER_ROUND)
ASSIGNMENT = Knob(
    "assignment",
    "earliest_finish",
    "Which GPU a task takes: where it has synchronised first, or the one that is free first whatever its speed (the "
    "paper's line 12)",
    choices=("earliest_finish", "earliest_available"),
    main=True,
)
INSERTION = Knob(
    "insertion",
    False,
    "A task may start in a gap before tasks that are placed already",
)
RELAXATION = Knob(
    "relaxation",
    "fluid",
    "Where the starts come from that tasks are ordered by: all GPUs as one machine, in milliseconds (ours), or "
    "Hare_Sched_RL solved with (9) linearised (the paper; small problems only, it says up to which size)",
    choices=("fluid", "hare_sched_rl"),
)
SYNCHRONISATION = Knob(
    "synchronisation",
    "relaxed",
    "Whether the tasks of a round run when and where there is room (relaxed scale-fixed, Hare's), or start together, "
    "each on a GPU of its own (scale-fixed), or are as many as there are GPUs for them just then (scale-adaptive): a "
    "smaller round does fewer steps, so more rounds follow, of as many steps in all (Fig. 4). Training at another "
    "scale may need more epochs, and nobody can say how many, so the paper does not use it",
    source="paper",
    choices=("relaxed", "scale_fixed", "scale_adaptive"),
)
PROFILE_STEPS = Knob(
    "profile_steps",
    0,
    "Steps that a new job is profiled for on each type, before its tasks are scheduled; not where its model was before "
    "(section 3, which says no number)",
    "steps",
    kind="int",
    minimum=0,
    maximum=1_000_000_000,
)
SWITCHING = Knob(
    "switching",
    "hare",
    "What a GPU's switch to another job's task costs: the columns of the paper's Table 3, switch_s, or nothing",
    source="paper",
    choices=("hare", "pipeswitch", "default", "custom", "free"),
    main=True,
)
SWITCH_S = Knob(
    "switch_s", 0.01, "Seconds of a switch, with switching=custom", "s", kind="float", minimum=0.0, maximum=1e6
)
SPECULATIVE_MEMORY = Knob(
    "speculative_memory",
    True,
    "With switching=hare: models of the latest tasks stay on a GPU while the next task has room (hits, section 4)",
    source="paper",
)
EARLY_CLEANING = Knob(
    "early_cleaning",
    True,
    "With switching=hare: memory is freed during the backward pass, so that the next model is loaded sooner "
    "(section 4)",
    source="paper",
)
SWITCHING_KNOBS = (SWITCHING, SWITCH_S, SPECULATIVE_MEMORY, EARLY_CLEANING)
SYMMETRY_CUTS = Knob(
    "cuts",
    True,
    "Break symmetries, and look for schedules no worse than a known one only (ours); the optimum stays the same",
)
THEN_MAKESPAN = Knob(
    "then_makespan",
    False,
    "Of the best schedules the one that ends first, by a second solve",
)
WHOLE = Knob(
    "whole",
    True,
    "Each task is on one GPU, as the paper has it; otherwise tasks may be split: a weaker bound, found faster",
    source="paper",
    main=True,
)
CUTS = Knob("cuts", True, "No start is earlier than its job could come to it alone on all GPUs (ours)")
TANGENTS = Knob(
    "tangents",
    24,
    "Tangents to the square in (9) for each GPU (ours): more of them, a slightly better bound",
    kind="int",
    minimum=1,
    maximum=1000,
)
STEP_S = Knob(
    "step_s",
    None,
    "Step of the time grid (none: the longest of which all times are multiples, unless that takes more than five times "
    "as many steps as `slots`; else as short as `slots` allow)",
    unit="s",
    minimum=1e-6,
    maximum=1e8,
    optional=True,
    main=True,
)
SLOTS = Knob(
    "slots",
    80,
    "Steps of the time grid, if its step is not given and times have none in common",
    unit="slots",
    kind="int",
    minimum=2,
    maximum=10_000,
)
ROUNDING = Knob(
    "rounding",
    "both",
    "Times that are no multiples of the step (ours): rounded up (a feasible schedule), down (a bound), or one after "
    "the other",
    choices=("both", "up", "down"),
)
INTERVALS = Knob(
    "intervals",
    24,
    "Intervals of time (ours); more of them, a better bound",
    kind="int",
    minimum=2,
    maximum=1000,
    main=True,
)
