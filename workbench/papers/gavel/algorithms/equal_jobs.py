"""Jobs that a policy cannot tell apart form one class, which shrinks its linear programme and changes no optimum.

Without pairs, jobs with equal numbers are equal. With pairs, equal jobs must also have equally many equal pairs with
each class: classes are split until they do (colour refinement). Such classes may be averaged over in any linear
programme that is built from these numbers alone. Source: Grohe, Kersting, Mladenov, Selman, "Dimension Reduction via
Colour Refinement" (ESA 2014).

`merge` says who is equal. Whichever way a programme is solved, equal jobs get equal parts of what it gives them
together: of all its optima that one favours nobody. Of more than MANY jobs the programme itself is that of a smaller
instance, in which one job stands for all that equal it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import FloatArray, IntArray
from workbench.papers.gavel.instance import AllocationInstance, Merged

Hashes = npt.NDArray[np.uint64]
Data = TypeVar("Data", bound=AllocationInstance)

MANY = 50
"""Up to so many jobs a programme has rows for every one; of more, equal ones are merged before it is stated."""


class JobClasses(NamedTuple):
    """Classes in the order of their first members, and groups of equal pairs likewise.

    first, members: (classes,) position of a member, and how many there are; member: (jobs,) class of each job; group:
    (pairs,) group of each pair; pair: (groups,) position of one of its pairs.
    """

    first: IntArray
    members: IntArray
    member: IntArray
    group: IntArray
    pair: IntArray


@dataclass(frozen=True, eq=False)
class MergedInstance(Generic[Data]):
    """An instance, the smaller one in which each job stands for equal ones, and which; the same one if none is equal.

    posed: the one of both whose programme is solved; first: (smaller instance's jobs,) position of one of them in the
    instance; member: (jobs,) position in the smaller one; group: (pairs,) that of each pair among the smaller one's.
    """

    data: Data
    small: Data
    posed: Data
    first: IntArray
    member: IntArray
    group: IntArray

    @classmethod
    def none(cls, data: Data) -> MergedInstance[Data]:
        """Every job for itself."""
        jobs = np.arange(len(data.jobs))
        return cls(data, data, data, jobs, jobs, np.arange(len(data.pairs)))

    def each(self) -> MergedInstance[Data]:
        """The same, by the programme that has every job: the middle of a face of optima is another where fewer stand
        for all."""
        return replace(self, posed=self.data)

    def numbers(self, found: FloatArray) -> FloatArray:
        """(jobs,) numbers of the jobs, from those of the instance that was posed."""
        return found if self.posed is self.data else found[self.member]

    def shares(self, found: FloatArray) -> FloatArray:
        """(combinations x types) shares, equal for equal jobs, from those of the instance that was posed."""
        if self.small is self.data:
            return found
        data, small = self.data, self.small
        if self.posed is data:
            each, found = found, np.zeros((len(small.units), len(small.types)))
            np.add.at(found, np.concatenate([self.member, len(small.jobs) + self.group]), each)
        shares = np.zeros((len(data.jobs) + len(data.pairs), len(data.types)))
        shares[: len(data.jobs)] = (found[: len(small.jobs)] / small.count[:, None])[self.member]
        self._deal(found[len(small.jobs) :], shares)
        return shares

    def _deal(self, time: FloatArray, shares: FloatArray) -> None:
        """Deal the time of each group of pairs out to its pairs, so that each member of a class has equal parts.

        As few pairs run as can be.
        """
        data, small, groups = self.data, self.small, np.flatnonzero(time.any(axis=1)).tolist()
        if not groups:
            return
        of_class = [np.flatnonzero(self.member == number) for number in range(len(small.jobs))]
        for group in groups:
            spots = np.flatnonzero(self.group == group)
            left, right = small.pairs[group].tolist()
            alike = bool((small.pair_speed[group, 0] == small.pair_speed[group, 1]).all())
            most = _most(len(of_class[left]), len(of_class[right]), left == right)
            if len(spots) < most or (left == right and not alike):
                shares[len(data.jobs) + spots] += time[group] / len(spots)
                continue
            at = {
                frozenset(pair): len(data.jobs) + spot
                for spot, pair in zip(spots.tolist(), data.pairs[spots].tolist(), strict=True)
            }
            here, there = of_class[left].tolist(), of_class[right].tolist()
            for first, second, part in _ring(here) if left == right else _meet(here, there):
                shares[at[frozenset((first, second))]] += part * time[group]


def merge(data: Data, seen: AllocationInstance, *keys: npt.ArrayLike) -> MergedInstance[Data]:
    """Merge the jobs that are equal in what a policy reads; the smaller instance is posed if they are more than MANY.

    That are speeds, gangs and weights of `seen` (the data, in the policy's units), and `keys`, each (jobs,) or (jobs x
    n). Exact where the programme is linear: averaging the shares of equal jobs changes neither limits nor a concave
    objective.
    """
    jobs = len(data.jobs)
    columns = [np.asarray(key, dtype=float) for key in (seen.speed, seen.weight, seen.gang, *keys)]
    first, count, member, group, pair = job_classes(seen, np.column_stack(columns))
    if len(first) == jobs:
        return MergedInstance.none(data)
    names = data.units
    units = (*(names[row] for row in first.tolist()), *(names[jobs + row] for row in pair.tolist()))
    small = data.with_numbers(
        jobs=units[: len(first)],
        pairs=member[data.pairs[pair]],
        pair_speed=data.pair_speed[pair],
        fair=None if data.fair is None else data.fair[first],
        merged=Merged(count.astype(float), units),
        **{name: getattr(data, name)[first] for name in ("speed", "weight", "gang", *data.by_job())},
    )
    return MergedInstance(data, small, small if jobs > MANY else data, first, member, group)


def unweighted(data: Data) -> Data:
    """The data without weights, for policies in which they play no part."""
    return data.with_numbers(weight=np.ones(len(data.jobs)))


def _most(left: int, right: int, same: bool) -> int:
    """How many pairs two classes of those sizes have, or one class with itself."""
    return left * (left - 1) // 2 if same else left * right


def _meet(left: list[int], right: list[int]) -> list[tuple[int, int, float]]:
    """Pairs of two classes and their parts of 1, such that all members of a class get equal parts."""
    found, i, j = [], 0, 0
    here, there = 1.0 / len(left), 1.0 / len(right)
    while i < len(left) and j < len(right):
        part = min(here, there)
        found.append((left[i], right[j], part))
        here, there = here - part, there - part
        if here <= 1e-12:
            i, here = i + 1, 1.0 / len(left)
        if there <= 1e-12:
            j, there = j + 1, 1.0 / len(right)
    return found


def _ring(jobs: list[int]) -> list[tuple[int, int, float]]:
    """Pairs of members of one class and their parts of 1, such that all members get equal parts."""
    if len(jobs) == 2:
        return [(jobs[0], jobs[1], 1.0)]
    return [(job, jobs[(spot + 1) % len(jobs)], 1.0 / len(jobs)) for spot, job in enumerate(jobs)]


def job_classes(data: AllocationInstance, keys: FloatArray) -> JobClasses:
    """The coarsest classes of jobs with equal keys (jobs x n) and equal pairs."""
    order: dict[bytes, int] = {}
    member = np.array([order.setdefault(key.tobytes(), len(order)) for key in keys], dtype=np.int64)
    if not len(data.pairs):
        none = np.zeros(0, dtype=np.int64)
        first = np.searchsorted(np.maximum.accumulate(member), np.arange(len(order)))
        return JobClasses(first, np.bincount(member), member, none, none)
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
    return JobClasses(*_first_and_count(member), member, group, pair)


def one_each(data: AllocationInstance) -> JobClasses:
    """Every job and every pair by itself."""
    jobs, pairs = np.arange(len(data.jobs)), np.arange(len(data.pairs))
    return JobClasses(jobs, np.ones(len(jobs), dtype=np.int64), jobs, pairs, pairs)


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
