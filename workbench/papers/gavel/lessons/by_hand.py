"""Max-min fairness drawn by hand: jobs are put into rounds of GPUs, and judged by Gavel's rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.scheduling.snapshot import Snapshot


class RoundsByHand:
    """The problem of one snapshot: in each of `columns` rounds each GPU is a job's or idle.

    A piece is a job for one round on one GPU; a gang takes as many pieces as it has GPUs, of one type.
    Raises InputError for fewer rounds than one.
    """

    column = "one round"
    once = False

    def __init__(self, at: Snapshot, rounds: int) -> None:
        if rounds < 1:
            raise InputError("rounds", rounds, "a whole number of rounds >= 1")
        self._formulation = MaxMinFairness()
        self._knobs = self._formulation.settle({})
        self._data = self._formulation.data(at, self._knobs)
        capacity = self._data.capacity.astype(int).tolist()
        self._kinds = [kind for kind, count in enumerate(capacity) for _ in range(count)]
        names = [self._data.types[kind] for kind in self._kinds]
        self.lanes = [f"{name} {i}" if names.count(name) > 1 else name for i, name in enumerate(names)]
        self.columns, self.pieces = rounds, list(self._data.jobs)
        self.jobs = self.pieces
        self.lengths = [[1] * len(self.lanes) for _ in self.pieces]

    @cached_property
    def best(self) -> float:
        """The level of the optimum, t."""
        return float(self._formulation.run(self._data, self._knobs).objective or 0.0)

    def judge(self, placed: Sequence[tuple[int, int, int]]) -> tuple[dict[int, str], list[str]]:
        """What is broken, by position in `placed`, and the level of what is drawn. placed: (piece, lane, column)."""
        broken: dict[int, str] = {}
        cell = Counter((lane, at) for _, lane, at in placed)
        rounds: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
        for job, lane, at in placed:
            rounds[job, at][self._kinds[lane]] += 1
        for number, (job, lane, at) in enumerate(placed):
            held, gang = rounds[job, at], int(self._data.gang[job])
            name, when = self.pieces[job], f"in round {at + 1}"
            if len(held) > 1:
                broken[number] = f"(2) {name} is on two types {when}: a job runs at most all of the time."
            elif cell[lane, at] > 1:
                broken[number] = f"(3) {self.lanes[lane]} has {cell[lane, at]} jobs {when}: no more than there are."
            elif held.total() != gang:
                broken[number] = f"(3) {name} has {held.total()} GPUs {when}, and its gang z is {gang}."
            elif not self._data.speed[job, self._kinds[lane]]:
                broken[number] = f"(1) {name} cannot run on {self.lanes[lane]}."
        return broken, [] if broken else self._said(placed)

    def _said(self, placed: Sequence[tuple[int, int, int]]) -> list[str]:
        share = np.zeros(self._data.speed.shape)
        for job, lane, _ in placed:
            share[job, self._kinds[lane]] += 1 / (self.columns * self._data.gang[job])
        speed = (share * self._data.speed).sum(axis=1)
        level = float(self._formulation.objective(self._data, share, self._knobs) or 0.0)
        made = ", ".join(f"{name} {rate:.2f}" for name, rate in zip(self.pieces, speed.tolist(), strict=True))
        gap = 1 - level / self.best
        end = "That is the optimum." if gap < 1e-9 else f"That is {gap:.0%} below the optimum."
        return [f"Steps per second: {made}.", f"The level t of the job that is worst off is {level:.3f}. {end}"]
