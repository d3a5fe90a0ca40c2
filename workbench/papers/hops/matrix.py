"""The integer programmes of one plan as sparse matrices, tested equal to the Pyomo models that state them.

`printed.build` and `aggregated.build` are the statements; these are what the scheduler solves, as they are made faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workbench.papers.hops.aggregation import Aggregate
from workbench.papers.hops.configurations import Layout
from workbench.papers.hops.instance import RoundData, RoundPlan, shape_of
from workbench.papers.hops.lifting import lift
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray
from workbench.scheduling.solvers import Columns, Programme


@dataclass(frozen=True, eq=False)
class Printed:
    """One binary for each configuration; rows (12) of each job, then (13) of each server."""

    data: RoundData

    @property
    def job(self) -> IntArray:
        """(binaries,) whose each is."""
        return self.data.job

    @property
    def gain(self) -> FloatArray:
        """(binaries,) G_ij."""
        return self.data.gain

    def programme(self) -> Programme:
        """The limits, without an objective."""
        data, columns = self.data, len(self.data.job)
        configuration, server, gpus = data.consumption()
        rows = len(data.jobs) + len(data.servers)
        return Programme(
            cost=np.zeros(columns),
            matrix=Columns.of(
                np.concatenate([data.job, len(data.jobs) + server]),
                np.concatenate([np.arange(columns), configuration]),
                np.concatenate([np.ones(columns), gpus]),
                (rows, columns),
            ),
            row_lower=np.full(rows, -np.inf),
            row_upper=np.concatenate([np.ones(len(data.jobs)), data.idle]),
            lower=np.zeros(columns),
            upper=np.ones(columns),
            integer=np.ones(columns, dtype=bool),
            maximise=True,
            name="hops_round",
        )

    def plan(self, values: FloatArray, previous: Mapping[int, Layout]) -> RoundPlan:
        """What the jobs get; `previous` plays no part, as configurations name their servers."""
        return self.data.plan(np.flatnonzero(values > 0.5).tolist())

    def start(self, layouts: Mapping[int, Layout]) -> FloatArray:
        """(columns,) values to begin from: an earlier plan's; jobs that are not in it get nothing."""
        data = self.data
        number = {layout: i for i, layout in enumerate(data.layouts)}
        wanted = np.full(len(data.jobs), -1)
        for row, layout in layouts.items():
            wanted[row] = number.get(layout, -1)
        values: FloatArray = (wanted[data.job] == data.layout).astype(float)
        return values


@dataclass(frozen=True, eq=False)
class Aggregated:
    """One binary for each job's shape, then an integer for each cut; rows (12), pieces (13), servers of each group."""

    aggregate: Aggregate

    @property
    def data(self) -> RoundData:
        """The round."""
        return self.aggregate.data

    @property
    def job(self) -> IntArray:
        """(binaries,) whose each is."""
        return self.aggregate.job

    @property
    def gain(self) -> FloatArray:
        """(binaries,) G_ic."""
        return self.aggregate.gain

    def programme(self) -> Programme:
        """The limits, without an objective."""
        every = self.aggregate
        choices, jobs, pieces = len(every.job), len(self.data.jobs), len(every.pieces)
        used, chosen, needed = every.used
        supplied, cut, given = every.supplied
        group = np.array([spot for spot, _ in every.cuts], dtype=np.int64)
        columns, rows = choices + len(group), jobs + pieces + len(every.groups)
        cuts = choices + np.arange(len(group))
        limits = [np.ones(jobs), np.zeros(pieces), every.number]
        return Programme(
            cost=np.zeros(columns),
            matrix=Columns.of(
                np.concatenate([every.job, jobs + used, jobs + supplied, jobs + pieces + group]),
                np.concatenate([np.arange(choices), chosen, choices + cut, cuts]),
                np.concatenate([np.ones(choices), needed, -given, np.ones(len(group))]),
                (rows, columns),
            ),
            row_lower=np.full(rows, -np.inf),
            row_upper=np.concatenate(limits),
            lower=np.zeros(columns),
            upper=np.concatenate([np.ones(choices), every.number[group]]),
            integer=np.ones(columns, dtype=bool),
            maximise=True,
            name="hops_round_aggregated",
        )

    def plan(self, values: FloatArray, previous: Mapping[int, Layout]) -> RoundPlan:
        """What the jobs get, where they were before if that can be."""
        every, choices = self.aggregate, len(self.aggregate.job)
        taken = {int(every.job[choice]): choice for choice in np.flatnonzero(values[:choices] > 0.5).tolist()}
        return lift(every, taken, np.rint(values[choices:]).astype(int).tolist(), previous)

    def start(self, layouts: Mapping[int, Layout]) -> FloatArray:
        """(columns,) values to begin from: the shapes of an earlier plan; how servers are cut is left open."""
        every, data = self.aggregate, self.data
        wanted = np.full(len(data.jobs), -1)
        for row, layout in layouts.items():
            wanted[row] = data.shapes.get(shape_of(layout, data.pools), -1)
        known = (wanted[every.job] == every.shape).astype(float)
        return np.concatenate([known, np.full(len(every.cuts), np.nan)])
