"""A job as its user submits it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, ValidationInfo, model_validator

from workbench.base.errors import InputError
from workbench.scenario.frozen import (
    Attributes,
    Count,
    Frozen,
    GpuSeconds,
    Name,
    Reward,
    Seconds,
    StepsDone,
    StepsToDo,
    Weight,
)

NOT_ALONE = re.compile(r" \+ | #\d+(\.\d+)?$")
"""How a pair, a copy and a task of jobs are written, which no job may be called."""


def _alone(name: str) -> str:
    if NOT_ALONE.search(name):
        raise ValueError("a job name without ' + ' or ' #1' (so pairs, copies and tasks of jobs are written)")
    return name


def median_size(sizes: Sequence[int]) -> int:
    """The median of the sizes that a user chose; of the two in the middle of an even number the smaller one (ours).

    What a scheduler for gangs of one size runs an elastic job as where Hops compares itself with it (section 4.2).
    """
    return sorted(sizes)[(len(sizes) - 1) // 2]


def requirement_set(least: int, most: int, number: int) -> tuple[int, ...]:
    """At most `number` sizes at equal intervals from `least` to `most`, both included: what a user who names only the
    bounds is offered as `gpu_choices` (Hops, section 2.2: R of R_min, R_max and R_num).

    Rounded to whole GPUs, halves up; with `number` 1 the smallest alone. Raises InputError for bounds that are none.
    """
    for name, value, low in (("R_min", least, 1), ("R_max", most, least), ("R_num", number, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise InputError(f"requirement set, {name}", value, f"a whole number from {low}")
    steps = max(min(number, most - least + 1) - 1, 1)
    return tuple(least + (2 * (most - least) * i + steps) // (2 * steps) for i in range(min(number, most - least + 1)))


def _rising(sizes: tuple[int, ...]) -> tuple[int, ...]:
    if not sizes or list(sizes) != sorted(set(sizes)):
        raise ValueError("numbers of GPUs, rising, each once, at least one")
    return sizes


JobName = Annotated[Name, AfterValidator(_alone)]
RewardStep = tuple[Seconds, Reward]


def _falling(rewards: tuple[RewardStep, ...] | None, info: ValidationInfo) -> tuple[RewardStep, ...] | None:
    if rewards is None:
        return None
    owner = f"job {info.data.get('name')}"
    deadlines, values = [deadline_s for deadline_s, _ in rewards], [reward for _, reward in rewards]
    if not deadlines or deadlines != sorted(set(deadlines)):
        raise ValueError(f"{owner}: rewards as [deadline_s, reward] pairs with rising deadlines, at least one")
    if deadlines[0] <= 0:
        raise ValueError(f"{owner}: rewards with deadlines above 0 s after the arrival")
    if values != sorted(values, reverse=True):
        raise ValueError(f"{owner}: rewards that do not increase with the deadline: later is not worth more")
    return rewards


def _below_steps(steps_done: float, info: ValidationInfo) -> float:
    if steps_done >= (steps := info.data.get("steps", math.inf)):
        raise ValueError(f"steps_done below steps ({steps:g})")
    return steps_done


def _with_gpus(sizes: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
    if (gpus := info.data.get("gpus", sizes[0])) not in sizes:
        raise ValueError(f"gpu_choices to contain gpus ({gpus})")
    return sizes


_Rewards = Annotated[tuple[RewardStep, ...] | None, AfterValidator(_falling)]


class Job(Frozen):
    """One training job.

    arrival_s: seconds from the start of the scenario; steps: one GPU's mini-batches over all GPUs (a gang of n
    that synchronises once has done n steps); steps_done and attained_s (GPU-seconds): progress before the scenario
    begins; gpus: the gang; gpu_choices: the gangs an elastic job may run as (a scheduler that does not read them takes
    `gpus`); weight: from 1e-6 to 1e6; rewards: `(deadline in s after arrival, reward)` steps that do not
    increase, None for a best-effort job; tasks_per_round: parallel tasks of one task round; attributes: facts
    that only schedulers which declare them see (`Scheduler.uses`).
    """

    name: JobName
    model: Name
    user: Name | None = None
    arrival_s: Seconds = 0.0
    steps: StepsToDo
    steps_done: Annotated[StepsDone, AfterValidator(_below_steps)] = 0.0
    attained_s: GpuSeconds = 0.0
    gpus: Count = 1
    gpu_choices: Annotated[tuple[Count, ...], AfterValidator(_rising), AfterValidator(_with_gpus)] | None = None
    weight: Weight = 1.0
    entity: Name | None = None
    rewards: _Rewards = None
    tasks_per_round: Count | None = None
    size_class: Name | None = None
    attributes: Attributes = {}

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.share_names()
        return self

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of GPUs that the job may run on."""
        return self.gpu_choices or (self.gpus,)

    @property
    def deadline_s(self) -> float:
        """Seconds after its arrival by which it is to be done, its SLO: the last reward above 0; inf without one."""
        return max((deadline for deadline, reward in self.rewards or () if reward > 0), default=math.inf)
