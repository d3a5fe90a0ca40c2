"""What completing by a deadline is worth (section 3.3.1, Fig. 3).

A reward is a falling step function of the completion time: `(deadline, reward)` steps, and the smallest reward after
the last deadline. Strict: one step; soft: several; best effort: none, so that it is constant. Completing exactly at a
deadline counts as meeting it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workbench.base.errors import InputError
from workbench.scenario.rewards import HIGHEST, LOWEST, SOFT_STEPS, Steps


@dataclass(frozen=True, slots=True)
class Reward:
    """steps: `(deadline in s after arrival, reward)`, none for best effort; lowest: the reward after the last deadline.

    Raises InputError, naming `owner`, for deadlines that are not after the arrival or do not rise, and for rewards that
    increase with time, that are below the lowest one, or are not finite.
    """

    steps: Steps = ()
    lowest: float = LOWEST
    owner: str = "rewards"

    def __post_init__(self) -> None:
        check_steps(self.owner, self.steps, self.lowest)
        for deadline_s, _ in self.steps:
            if deadline_s <= 0:
                raise InputError(f"{self.owner}, deadline", deadline_s, "a number of seconds after the arrival, > 0")

    @classmethod
    def strict(cls, deadline_s: float, highest: float = HIGHEST, lowest: float = LOWEST) -> Reward:
        """One deadline; after it the lowest reward."""
        return cls(((deadline_s, highest),), lowest)

    @classmethod
    def soft(cls, first_s: float, lowest: float = LOWEST) -> Reward:
        """Section 4.1: deadlines at 1, 1.1, 1.2 and 1.5 times the first one, worth 100, 80, 50 and 20."""
        return cls(tuple((first_s * factor, reward) for factor, reward in SOFT_STEPS), lowest)

    @property
    def highest(self) -> float:
        """The reward of the first deadline, the lowest one without any."""
        return self.steps[0][1] if self.steps else self.lowest

    def of(self, completion_s: float) -> float:
        """The reward of completing so many seconds after the arrival; infinite: never."""
        return next((reward for deadline_s, reward in self.steps if completion_s <= deadline_s), self.lowest)


def check_steps(owner: str, steps: Iterable[Sequence[float]], lowest: float) -> None:
    """Raise InputError for steps that are no falling reward: deadlines rise, rewards do not, none is below `lowest`."""
    if not math.isfinite(lowest):
        raise InputError(f"{owner}, lowest reward", lowest, "a finite number")
    before, worth = -math.inf, math.inf
    for step in steps:
        if len(step) != 2 or not all(math.isfinite(number) for number in step):
            raise InputError(f"{owner}, step", list(step), "a (deadline in s, reward) pair of finite numbers")
        deadline_s, reward = step
        if deadline_s <= before:
            raise InputError(f"{owner}, deadline", deadline_s, f"deadlines that rise: above {before:g} s")
        if reward > worth:
            raise InputError(f"{owner}, reward", reward, f"rewards that do not increase with time: at most {worth:g}")
        before, worth = deadline_s, reward
    if worth < lowest:
        raise InputError(f"{owner}, reward", worth, f"at least the reward of a miss, {lowest:g}")
