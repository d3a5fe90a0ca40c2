"""Gavel's programmes put together as arrays: what `allocation.lay_out` states, and the rows that a policy adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import FloatArray, IntArray
from workbench.papers.gavel.instance import AllocationInstance
from workbench.scheduling.solvers import Columns, Programme


@dataclass(frozen=True)
class Variable:
    """A variable beside `share`: its name, how many columns it has, their limits."""

    name: str
    lower: float = -np.inf
    upper: float = np.inf
    size: int = 1


class Assembly:
    """A policy's programme put together as arrays: what `lay_out` states, and the rows that a policy adds.

    It reads the same arrays of the instance as the model and does the same arithmetic in the same order, so that it is
    the programme to the bit (`workbench.testing.same_programme`). Columns are in the order in which its variables are
    given, `share` among them.

    whole: as in `lay_out`, by the name of the variable. The first rows are (2) job_time and (3) capacity.
    """

    def __init__(
        self, data: AllocationInstance, before: Sequence[Variable] = (), after: Sequence[Variable] = (), whole: str = ""
    ) -> None:
        self.data = data
        most = (np.where(data.allowed, np.inf, 0.0) if whole else data.limit).ravel()
        self.columns: dict[str, IntArray] = {}
        share = ("share", np.zeros(len(most)), most)
        parts = [*map(_limits, before), share, *map(_limits, after)]
        start = 0
        for name, low, _ in parts:
            self.columns[name] = np.arange(start, start + len(low))
            start += len(low)
        self.lower = np.concatenate([low for _, low, _ in parts])
        self.upper = np.concatenate([high for _, _, high in parts])
        self.rows: dict[str, IntArray] = {}
        self._entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._limits: list[tuple[FloatArray, FloatArray]] = []
        self._lay_out(whole)

    def share(self, combination: IntArray, kind: IntArray) -> IntArray:
        """Columns of `share`."""
        found: IntArray = self.columns["share"][0] + combination * len(self.data.types) + kind
        return found

    def _lay_out(self, whole: str) -> None:
        data, types, jobs = self.data, len(self.data.types), len(self.data.jobs)
        share, count = self.columns["share"], data.count
        paired = share[jobs * types :]
        time = np.concatenate([np.repeat(np.arange(jobs), types), *(np.repeat(m, types) for m in data.pairs.T)])
        accelerator = np.tile(data.accelerator_of, len(data.unit_gang))
        rows = (time, np.concatenate([share, paired]), 1.0), (accelerator, share, np.repeat(data.unit_gang, types))
        for name, row, most in zip(("job_time", "capacity"), rows, (count, data.capacity), strict=True):
            if whole:
                stretched = (np.arange(len(most)), self.columns[whole], -most)
                self.add(name, row, stretched, upper=np.zeros(len(most)))
            else:
                self.add(name, row, upper=most)

    def column(self, variable: Variable) -> IntArray:
        """Its columns."""
        return self.columns[variable.name]

    def throughput(self, factor: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Entries of `factor_m throughput(m, X)`, a row for each job; factor: (jobs,)."""
        e = self.data.entries
        return e.job, self.share(e.combination, e.kind)[e.entry], factor[e.job] * e.steps_per_s

    def worth(self, factor: FloatArray) -> tuple[IntArray, FloatArray]:
        """Columns and costs of `sum_m factor_m throughput(m, X)`; factor: (jobs,), or (jobs x types) by placed type."""
        e, share = self.data.entries, self.columns["share"]
        kind = e.kind[e.entry]
        by_entry = (factor[e.job, kind] if factor.ndim > 1 else factor[e.job]) * e.steps_per_s
        place = (e.combination * len(self.data.types) + e.kind)[e.entry]
        return share, np.bincount(place, by_entry, minlength=len(share)).astype(float)

    def slo(self, floor: FloatArray, *spare: tuple[Any, Any, Any], whole: str = "") -> None:
        """Add `throughput / floor >= whole` for each job with a floor, (jobs,) steps/s; spare: more entries."""
        wanted = np.flatnonzero(floor > 0)
        row = np.full(len(floor), -1)
        row[wanted] = np.arange(len(wanted))
        sign = -1.0 if whole else 1.0
        of, column, value = self.throughput(sign / np.where(floor > 0, floor, 1.0))
        used = row[of] >= 0
        needs = (row[of[used]], column[used], value[used])
        if whole:
            self.add("slo", needs, (np.arange(len(wanted)), self.columns[whole], 1.0), upper=np.zeros(len(wanted)))
        else:
            self.add("slo", needs, *spare, lower=np.ones(len(wanted)))

    def add(
        self,
        name: str,
        *entries: tuple[Any, Any, Any],
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        equal: npt.ArrayLike | None = None,
    ) -> None:
        """Add the rows of a constraint: entries (row counted from 0, column, value) and limits."""
        lower, upper = (lower, upper) if equal is None else (equal, equal)
        size = len(np.asarray(upper if lower is None else lower))
        start = sum(len(low) for low, _ in self._limits)
        self.rows[name] = np.arange(start, start + size)
        for each in entries:
            row, column, value = np.broadcast_arrays(*each)
            self._entries.append((row + start, column, value))
        self._limits.append((_side(lower, size, -np.inf), _side(upper, size, np.inf)))

    def programme(self, cost: tuple[Any, Any], name: str, *, maximise: bool) -> Programme:
        """The programme; cost: columns and their costs; name: the model's."""
        costs = np.zeros(len(self.lower))
        costs[cost[0]] = cost[1]
        row, column, value = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        there = value != 0
        lower, upper = (np.concatenate(parts) for parts in zip(*self._limits, strict=True))
        return Programme(
            cost=costs,
            matrix=Columns.of(row[there], column[there], value[there], (len(lower), len(self.lower))),
            row_lower=lower,
            row_upper=upper,
            lower=self.lower,
            upper=self.upper,
            maximise=maximise,
            name=name,
            columns=self.columns,
            rows=self.rows,
            made_by="assembly",
        )


def _limits(variable: Variable) -> tuple[str, FloatArray, FloatArray]:
    return variable.name, np.full(variable.size, variable.lower), np.full(variable.size, variable.upper)


def _side(limit: npt.ArrayLike | None, size: int, absent: float) -> FloatArray:
    return np.full(size, absent) if limit is None else np.asarray(limit, dtype=float)
