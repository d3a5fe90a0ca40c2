"""What completing by a deadline is worth (section 3.3.1, Fig. 3), and the weighted deadline miss rate (9).

A reward is a falling step function of the completion time: `(deadline, reward)` steps, and the smallest reward after
the last deadline. Strict: one step; soft: several; best effort: none, so that it is constant. Completing exactly at a
deadline counts as meeting it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError

HIGHEST, LOWEST = 100.0, 1.0
"""Range of rewards, (9); section 7 leaves it to the operator."""
SOFT = ((1.0, 100.0), (1.1, 80.0), (1.2, 50.0), (1.5, 20.0))
"""Section 4.1: deadlines of a soft job as multiples of its first one, and their rewards."""

Steps = tuple[tuple[float, float], ...]


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
        return cls(tuple((first_s * factor, reward) for factor, reward in SOFT), lowest)

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


def attained_share(rewards: npt.ArrayLike, lowest: float = LOWEST, highest: float = HIGHEST) -> float:
    """(9) as printed: the mean of (reward - lowest) / (highest - lowest) over the jobs with an SLO; nan without jobs.

    Raises InputError for a range that is empty and for rewards outside it.
    """
    if not (math.isfinite(lowest) and math.isfinite(highest) and lowest < highest):
        raise InputError("range of rewards", (lowest, highest), "two finite numbers, the lowest below the highest")
    values = np.asarray(rewards, dtype=float)
    outside = ~((values >= lowest) & (values <= highest))
    if outside.any():
        raise InputError("rewards", float(values[outside][0]), f"numbers from {lowest:g} to {highest:g}")
    return float(((values - lowest) / (highest - lowest)).mean()) if values.size else math.nan


def weighted_miss_rate(rewards: npt.ArrayLike, lowest: float = LOWEST, highest: float = HIGHEST) -> float:
    """wDMR: 0 if every job has the highest reward, 1 if all miss; nan without jobs.

    (erratum) (9) as printed is the share of the reward that is attained, `attained_share`; the rate of misses is 1
    minus it, which is how the paper's figures are to be read.
    """
    return 1.0 - attained_share(rewards, lowest, highest)
