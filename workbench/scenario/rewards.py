"""What a completion by a deadline is worth (Chronus, sections 3.3.1 and 4.1, equation (9))."""

from __future__ import annotations

import math

from workbench.base.errors import InputError

HIGHEST, LOWEST = 100.0, 1.0
"""Range of rewards, (9): of the first deadline, and of a miss; section 7 leaves it to the operator."""
SOFT_STEPS = ((1.0, 100.0), (1.1, 80.0), (1.2, 50.0), (1.5, 20.0))
"""Section 4.1: a soft job's deadlines as multiples of its first one, and their rewards; a strict job has the first."""

Steps = tuple[tuple[float, float], ...]
"""`(deadline in s after arrival, reward)`, deadlines rising; none for best effort."""


def strict(first_s: float) -> Steps:
    """One deadline, worth the highest reward."""
    return ((first_s, HIGHEST),)


def soft(first_s: float) -> Steps:
    """Section 4.1: deadlines at 1, 1.1, 1.2 and 1.5 times the first one, to the ms, worth 100, 80, 50 and 20."""
    return tuple((first_s if factor == 1 else round(first_s * factor, 3), reward) for factor, reward in SOFT_STEPS)


def moved(steps: Steps, last_s: float) -> Steps:
    """The steps with the last deadline that is worth something there, the others in proportion.

    Without any: a strict one. Raises InputError for a deadline that is not above 0.
    """
    if not 0 < last_s < math.inf:
        raise InputError("deadline", last_s, "a number of seconds after the arrival, > 0")
    before = max((deadline for deadline, reward in steps if reward > 0), default=0.0)
    if before <= 0:
        return strict(last_s)
    return tuple((last_s if deadline == before else deadline * last_s / before, reward) for deadline, reward in steps)
