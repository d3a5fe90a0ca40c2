"""Lease terms (section 3.3.3): two lengths on one clock, and times counted in leases.

Leases of a plan count from 1; lease k runs from (k - 1) T to k T after the boundary where the plan starts. Times are
whole seconds: runtimes are rounded up, deadlines down, and a deadline exactly on a boundary counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.base.errors import InputError
from workbench.scheduling.decision import IntArray
from workbench.scheduling.knob import Knob

MOST_S = 10**8
"""Longest lease, about three years."""

SLO_LEASE_S = Knob(
    "slo_lease_s",
    1200,
    "Length of a lease of guaranteed jobs, T; a multiple of the best-effort lease",
    unit="s",
    source="paper",
    kind="int",
    minimum=1,
    maximum=MOST_S,
    main=True,
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
ROUNDING_S = 1e-6
"""By how much a time that was computed may be beside the whole second that is meant."""


@dataclass(frozen=True, slots=True)
class Terms:
    """slo_s, be_s: seconds in a lease of guaranteed jobs and in one of the others.

    Raises InputError for lengths that are not whole seconds above 0, and for an SLO lease that is no multiple of the
    best-effort lease.
    """

    slo_s: int = 1200
    be_s: int = 300

    def __post_init__(self) -> None:
        check_lease("SLO lease", self.slo_s)
        check_lease("best-effort lease", self.be_s)
        if self.slo_s % self.be_s:
            raise InputError("SLO lease", self.slo_s, f"a multiple of the best-effort lease, {self.be_s} s")

    @property
    def ratio(self) -> int:
        """Best-effort leases in an SLO lease."""
        return self.slo_s // self.be_s


def check_lease(where: str, lease_s: object) -> int:
    """The length of a lease; raises InputError if it is not a whole number of seconds above 0."""
    if isinstance(lease_s, bool) or not isinstance(lease_s, (int, np.integer)) or not 0 < lease_s <= MOST_S:
        raise InputError(where, lease_s, f"a whole number of seconds from 1 to {MOST_S}")
    return int(lease_s)


def seconds_up(time_s: npt.ArrayLike) -> IntArray:
    """Times rounded up to whole seconds, rounding of numbers allowed for."""
    return np.ceil(np.asarray(time_s, dtype=float) - ROUNDING_S).astype(np.int64)


def seconds_down(time_s: npt.ArrayLike) -> IntArray:
    """Times rounded down to whole seconds, rounding of numbers allowed for."""
    return np.floor(np.asarray(time_s, dtype=float) + ROUNDING_S).astype(np.int64)


def leases_needed(runtime_s: npt.ArrayLike, lease_s: int) -> IntArray:
    """RL: leases that whole seconds of running take."""
    return -(-np.asarray(runtime_s, dtype=np.int64) // lease_s)


def leases_before(deadline_s: npt.ArrayLike, lease_s: int) -> IntArray:
    """DL: leases that end by a deadline in whole seconds; below 1 for one that no lease meets."""
    return np.asarray(deadline_s, dtype=np.int64) // lease_s


def first_lease(arrival_s: npt.ArrayLike, lease_s: int) -> IntArray:
    """The first lease that begins at or after an arrival, 1 for who is there."""
    return np.maximum(leases_needed(arrival_s, lease_s), 0) + 1


def next_boundary(now_s: float, lease_s: int) -> float:
    """The first boundary of leases at or after a time; the clock starts at 0."""
    return float(max(0, int(leases_needed(seconds_up(now_s), lease_s))) * lease_s)
