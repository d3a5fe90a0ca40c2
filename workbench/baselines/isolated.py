r"""The isolated allocation: every job owns 1/M of each type's GPUs (Gavel, section 4.1; the authors' `isolated`).

max   sum_m s_m                                                  (ours)  owned_share
s.t.  X_mj = s_m c_j / (M z_m)                    for all m, j   (ours)  proportions
      sum_j X_mj <= 1                             for all m      (2)     job_time
      0 <= s_m <= 1                               for all m      (ours)  owned
      0 <= X_mj <= 1                              for all m, j   (1)     share

M is the number of jobs. (ours): the allocation is a closed form,
`workbench.scheduling.reference_shares.isolated_share`; as a linear programme it reads like its neighbours: each job
uses as much of what it owns as fits into all of its time. The optimum is unique. It needs no capacity row, since the
shares of all jobs together are at most the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray, fixed, shaped
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.priority import PolicyAnswer
from workbench.baselines.mechanisms.priority.explain import explain
from workbench.baselines.mechanisms.share_scheduler import ShareScheduler
from workbench.scheduling.contract import Formulation, Knobs, Result, Route, StatedProblem
from workbench.scheduling.decision import Shares
from workbench.scheduling.declared_room import Room
from workbench.scheduling.modelling import pyo
from workbench.scheduling.reference_shares import isolated_share
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import SolveReport, SolverFailedError, solve_model, stood_in


@dataclass(frozen=True, eq=False)
class IsolatedInstance:
    """The numbers of one allocation.

    gang: (jobs,) GPUs per job; capacity: (types,) GPUs. Raises InputError that names the job or type.
    """

    jobs: tuple[str, ...]
    types: tuple[str, ...]
    gang: FloatArray
    capacity: FloatArray

    def __post_init__(self) -> None:
        for field, names, least in (("gang", self.jobs, 1.0), ("capacity", self.types, 0.0)):
            array = shaped(getattr(self, field), (len(names),), f"isolated data, {field}")
            for name, value in zip(names, array.tolist(), strict=True):
                if not (np.isfinite(value) and value >= least):
                    raise InputError(f"{name}, {field}", value, f"a number of GPUs >= {least:g}")
            object.__setattr__(self, field, fixed(array))


def build(data: IsolatedInstance) -> pyo.ConcreteModel:
    """Return the unsolved linear programme for one allocation."""
    m = pyo.ConcreteModel("isolated")
    gang = dict(zip(data.jobs, data.gang.tolist(), strict=True))
    gpus = dict(zip(data.types, data.capacity.tolist(), strict=True))

    m.JOBS = pyo.Set(initialize=data.jobs, doc="m | active jobs")
    m.TYPES = pyo.Set(initialize=data.types, doc="j | accelerator types")

    m.jobs = pyo.Param(initialize=len(data.jobs), doc="M | number of jobs | 1")
    m.gang = pyo.Param(m.JOBS, initialize=gang, doc="z_m | scale factor | GPUs")
    m.gpus = pyo.Param(m.TYPES, initialize=gpus, doc="c_j | GPUs of a type | GPUs")

    m.share = pyo.Var(m.JOBS, m.TYPES, bounds=(0, 1), doc="(1) X_mj | share of time on a type | 1")
    m.owned = pyo.Var(m.JOBS, bounds=(0, 1), doc="(ours) s_m | part of its own GPUs that a job uses | 1")

    @m.Objective(sense=pyo.maximize, doc="(ours) use what is owned")
    def owned_share(m):
        return pyo.quicksum(m.owned[job] for job in m.JOBS)

    @m.Constraint(m.JOBS, m.TYPES, doc="(ours) equally much of what it owns on every type")
    def proportions(m, job, kind):
        return m.share[job, kind] == m.owned[job] * m.gpus[kind] / (m.jobs * m.gang[job])

    @m.Constraint(m.JOBS, doc="(2) a job runs at most all of the time")
    def job_time(m, job):
        return pyo.quicksum(m.share[job, kind] for kind in m.TYPES) <= 1

    return m


class Isolated(Formulation[IsolatedInstance]):
    """Each job's own 1/M of the cluster."""

    name = "isolated"
    title = "Isolated: every job owns 1/M of each type"

    def data(self, snapshot: Snapshot, knobs: Knobs) -> IsolatedInstance:
        """The arrived jobs and the GPUs that are up."""
        gang = np.asarray(snapshot.jobs.gpus, dtype=float)
        return IsolatedInstance(snapshot.jobs.names, snapshot.types, gang, np.asarray(snapshot.capacity, dtype=float))

    def build(self, data: IsolatedInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(data)

    def read(self, model: pyo.ConcreteModel, data: IsolatedInstance, knobs: Knobs) -> Result:
        """Shares of the solved model; raises SolverFailedError unless they are those of the closed form."""
        shares = _shares(model, data)
        apart = np.abs(shares - isolated_share(data.capacity, data.gang)).max(initial=0.0)
        if not apart <= 1e-6:
            raise SolverFailedError(self.name, f"shares {apart:g} off", "c_j / (M z_m), at most all of a job's time")
        return _result(data, shares)

    def trivial(self, data: IsolatedInstance, knobs: Knobs) -> Result | None:
        """No jobs own nothing."""
        return None if data.jobs else _result(data, np.zeros((0, len(data.types))))


def _shares(model: pyo.ConcreteModel, data: IsolatedInstance) -> FloatArray:
    """(jobs x types) those of a solved model."""
    values = [variable.value for variable in model.share.values()]
    return np.array(values, dtype=float).reshape(len(data.jobs), len(data.types))


def _as_stated(data: IsolatedInstance) -> FloatArray:
    """The shares by the model, whose limits are not held against them."""
    model = build(data)
    solve_model(model)
    return _shares(model, data)


def _result(data: IsolatedInstance, shares: FloatArray) -> Result:
    owned = np.minimum(1.0, (shares.sum(axis=1) * len(data.jobs) * data.gang) / max(data.capacity.sum(), 1.0))
    rows: list[Any] = shares.tolist()
    allocation = {job: dict(zip(data.types, row, strict=True)) for job, row in zip(data.jobs, rows, strict=True)}
    return Result("feasible", float(owned.sum()), "max", "1", {"allocation": allocation})


class IsolatedPolicy:
    """The closed form as shares for Gavel's mechanism; the model where it is asked what a changed row would bring."""

    def __call__(self, snapshot: Snapshot, knobs: Knobs, memory: Any = None) -> PolicyAnswer:
        data = Isolated().data(snapshot, {})
        values = _as_stated(data) if stood_in() else isolated_share(snapshot.capacity, snapshot.jobs.gpus)
        found = SolveReport("", _result(data, values).objective)
        return PolicyAnswer(Shares(snapshot.jobs.names, snapshot.types, values), found)

    def stated(self, snapshot: Snapshot, knobs: Knobs, memory: Any) -> StatedProblem:
        """The problem whose optimum the closed form is."""
        return StatedProblem(Isolated(), Isolated().data(snapshot, {}), {})


ROUTE = Route("other route", Isolated.name, "its optimum has a closed form")
ROOM = Room(
    name="isolated",
    title="Isolated",
    formulations=(Isolated(),),
    schedulers=(ShareScheduler(Isolated.name, Isolated.title, IsolatedPolicy(), route=lambda knobs: ROUTE),),
    explanations={"isolated": explain},
)
