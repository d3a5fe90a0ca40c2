"""Jobs that a policy cannot tell apart form one class, which shrinks its linear programme and changes no optimum.

Without pairs, jobs with equal numbers are equal. With pairs, equal jobs must also have equally many equal pairs with
each class: classes are split until they do (colour refinement). Such classes may be averaged over in any linear
programme that is built from these numbers alone. Source: Grohe, Kersting, Mladenov, Selman, "Dimension Reduction via
Colour Refinement" (ESA 2014).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.papers.gavel.instance import AllocationInstance
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray

Hashes = npt.NDArray[np.uint64]


class Classing(NamedTuple):
    """Classes in the order of their first members, and groups of equal pairs likewise.

    first, members: (classes,) position of a member, and how many there are; member: (jobs,) class of each job; group:
    (pairs,) group of each pair; pair: (groups,) position of one of its pairs.
    """

    first: IntArray
    members: IntArray
    member: IntArray
    group: IntArray
    pair: IntArray


def classes(data: AllocationInstance, keys: FloatArray) -> Classing:
    """The coarsest classes of jobs with equal keys (jobs x n) and equal pairs."""
    order: dict[bytes, int] = {}
    member = np.array([order.setdefault(key.tobytes(), len(order)) for key in keys], dtype=np.int64)
    if not len(data.pairs):
        none = np.zeros(0, dtype=np.int64)
        first = np.searchsorted(np.maximum.accumulate(member), np.arange(len(order)))
        return Classing(first, np.bincount(member), member, none, none)
    if len(order) == len(member):
        return one_each(data)
    one, two = data.pairs.T
    there, back = _hash(data.pair_speed), _hash(data.pair_speed[:, ::-1])
    while True:
        member, before = _split(member, one, two, there, back), member.max()
        if member.max() == before:
            break
    turned = member[one] > member[two]
    speeds = np.where(member[one] == member[two], np.minimum(there, back), np.where(turned, back, there))
    low, high = np.minimum(member[one], member[two]), np.maximum(member[one], member[two])
    group = _numbered(_mix(speeds ^ _mix((low * len(member) + high).astype(np.uint64))))
    pair, _ = _first_and_count(group)
    return Classing(*_first_and_count(member), member, group, pair)


def one_each(data: AllocationInstance) -> Classing:
    """Every job and every pair by itself."""
    jobs, pairs = np.arange(len(data.jobs)), np.arange(len(data.pairs))
    return Classing(jobs, np.ones(len(jobs), dtype=np.int64), jobs, pairs, pairs)


def _split(member: IntArray, one: IntArray, two: IntArray, there: Hashes, back: Hashes) -> IntArray:
    """Split the classes by the multiset of (class of the other, speeds) over each job's pairs."""
    colour = _mix(np.arange(len(member), dtype=np.uint64) + np.uint64(1))[member]
    seen = np.zeros(len(member), dtype=np.uint64)
    np.add.at(seen, one, _mix(there ^ colour[two]))
    np.add.at(seen, two, _mix(back ^ colour[one]))
    return _numbered(_mix(seen ^ colour))


def _numbered(labels: Hashes) -> IntArray:
    """Numbers from 0 in the order in which labels first appear."""
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[which]


def _first_and_count(numbers: IntArray) -> tuple[IntArray, IntArray]:
    _, first, count = np.unique(numbers, return_index=True, return_counts=True)
    return first, count


def _hash(speeds: FloatArray) -> Hashes:
    """(pairs,) 64 bits for each pair's speeds, equal for equal ones."""
    bits = np.ascontiguousarray(speeds.reshape(len(speeds), -1) + 0.0).view(np.uint64)
    found = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        found = _mix(found ^ column)
    return found


def _mix(numbers: Hashes) -> Hashes:
    """Scatter the bits of 64-bit numbers (the finaliser of SplitMix64, after an odd step)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
