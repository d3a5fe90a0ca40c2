"""Coarse rounds (ours): k synchronised steps of a job form one round that is scheduled as a whole.

A job of 100,000 steps has as many rounds; Algorithm 1 and the Gantt chart can do with a few dozen. A task of a coarse
round computes k T^c and then synchronises k T^s. That is optimistic: others use its waiting in one piece that the
barriers of k rounds would cut up, and a GPU that goes back and forth between jobs switches once for k steps. How much
it matters shows in a run with k/2, that is with twice `most_rounds`.
"""

from __future__ import annotations

import math

from workbench.scenario.job import Job
from workbench.scheduling.contract import Knobs
from workbench.scheduling.knob import Knob

MOST_ROUNDS = Knob(
    "most_rounds",
    30,
    "A job is scheduled in at most so many rounds: as many of its synchronised steps as that takes form one. This is "
    "optimistic (tasks of others use waiting in one piece that more barriers would cut up): compare with twice as many",
    kind="int",
    minimum=1,
    maximum=1_000_000,
    main=True,
)
STEPS_PER_ROUND = Knob(
    "steps_per_round",
    None,
    "Synchronised steps that form one scheduled round, k, for every job (none: as few as most_rounds allows)",
    "steps",
    kind="int",
    minimum=1,
    maximum=1_000_000_000,
    optional=True,
)


def parallel_tasks(job: Job) -> int:
    """K, the tasks of one task round."""
    return job.tasks_per_round or job.gpus


def steps_each(job: Job, knobs: Knobs) -> int:
    """k, the steps of one task of a scheduled round. It depends on the job alone, so that it stays for its life."""
    if knobs["steps_per_round"] is not None:
        return int(knobs["steps_per_round"])
    return max(1, math.ceil((job.steps - job.steps_done) / parallel_tasks(job) / int(knobs["most_rounds"])))
