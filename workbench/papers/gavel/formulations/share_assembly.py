"""A policy's programme put together as arrays: what `lay_out` states, and the rows that a policy adds.

It reads the same arrays of the instance as the model and does the same arithmetic in the same order, so that it is the
programme to the bit (`workbench.testing.same_programme`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.papers.gavel.instance import AllocationInstance
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray
from workbench.scheduling.solvers import Columns, Programme

Limits = tuple[npt.ArrayLike, npt.ArrayLike]


@dataclass(frozen=True)
class Variable:
    """A variable beside `share`: its name, how many columns it has, their limits."""

    name: str
    lower: float = -np.inf
    upper: float = np.inf
    size: int = 1


class Assembly:
    """A programme being put together: columns in the order in which its variables are given, `share` among them.

    whole: as in `lay_out`, by the name of the variable. The first rows are (2) job_time and (3) capacity.
    """

    def __init__(
        self, data: AllocationInstance, before: Sequence[Variable] = (), after: Sequence[Variable] = (), whole: str = ""
    ) -> None:
        self.data = data
        most = np.where(data.allowed, np.inf if whole else 1.0, 0.0).ravel()
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
        data, types = self.data, len(self.data.types)
        share, jobs = self.columns["share"], len(data.jobs)
        time = np.concatenate([np.repeat(np.arange(jobs), types), *(np.repeat(m, types) for m in data.pairs.T)])
        paired = share[jobs * types :]
        pool = np.tile(data.pool, len(data.unit_gang))
        if not whole:
            self.add("job_time", (time, np.concatenate([share, paired]), 1.0), upper=np.ones(jobs))
            self.add("capacity", (pool, share, np.repeat(data.unit_gang, types)), upper=data.workers)

    def column(self, variable: Variable) -> IntArray:
        """Its columns."""
        return self.columns[variable.name]

    def throughput(self, factor: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Entries of `factor_m throughput(m, X)`, a row for each job; factor: (jobs,)."""
        e = self.data.entries
        return e.job, self.share(e.combination, e.kind)[e.entry], factor[e.job] * e.steps_per_s

    def add(
        self,
        name: str,
        *entries: tuple[Any, Any, Any],
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
    ) -> None:
        """Add the rows of a constraint: entries (row counted from 0, column, value) and limits."""
        size = len(np.asarray(upper if lower is None else lower))
        start = sum(len(low) for low, _ in self._limits)
        self.rows[name] = np.arange(start, start + size)
        for each in entries:
            row, column, value = np.broadcast_arrays(*each)
            self._entries.append((row + start, column, value))
        self._limits.append((_side(lower, size, -np.inf), _side(upper, size, np.inf)))

    def programme(self, cost: tuple[Any, Any], name: str, *, maximise: bool) -> Programme:
        """The programme; cost: columns and their costs; name: of the model."""
        costs = np.zeros(len(self.lower))
        costs[cost[0]] = cost[1]
        row, column, value = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        lower, upper = (np.concatenate(parts) for parts in zip(*self._limits, strict=True))
        return Programme(
            cost=costs,
            matrix=Columns.of(row, column, value, (len(lower), len(self.lower))),
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
