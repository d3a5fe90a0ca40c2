r"""Max-min fairness over normalised throughput (Gavel, section 4.1), also known as least attained service (LAS).

max   t                                                                (4.1)   worst_job
s.t.  sum_j X_mj <= 1                                   for all m      (2)     job_time
      sum_m z_m X_mj <= c_j                             for all j      (3)     capacity
      t <= z_m / (w_m P_m) * sum_j T_mj X_mj            for all m      (ours)  epigraph
      0 <= X_mj <= 1, X_mj = 0 if T_mj = 0              for all m, j   (1)     share
      t free                                                           (ours)  level

P_m = sum_j T_mj c_j / sum_k c_k is the throughput under an equal share of every worker (X_equal; in proportion to the
workers, whatever the number of jobs). T_mj is the speed of the whole gang of z_m workers.
(ours): the paper maximises a minimum; t makes it linear. The paper writes T_mj = -inf for a job that cannot run on a
type; here X_mj is 0 there and T_mj takes no part. Heterogeneity-agnostic: T_mj = P_m = 1, shares of time alone count.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyomo.environ as pyo

from workbench.decision import BoolArray, Snapshot
from workbench.errors import InputError
from workbench.knob import Knob
from workbench.papers.paper import Formulation, Knobs, Result
from workbench.shares import equal_share
from workbench.solvers import Solver, SolverFailedError
from workbench.throughput import FloatArray

TOLERANCE = 1e-6
"""How far a solver may overstep a limit, relative to the limit (at least 1)."""


@dataclass(frozen=True, eq=False)
class FairnessData:
    """The numbers of one allocation.

    speed: (jobs x types) steps/s of the whole gang, 0 where it cannot run; weight, gang: (jobs,) weight and GPUs;
    workers: (types,) GPUs. Raises InputError that names the job or type: for a number that is missing, not finite or
    out of range, and for a job that can run nowhere.
    """

    jobs: tuple[str, ...]
    types: tuple[str, ...]
    speed: FloatArray
    weight: FloatArray
    gang: FloatArray
    workers: FloatArray

    def __post_init__(self) -> None:
        shapes = {"speed": (len(self.jobs), len(self.types)), "weight": (len(self.jobs),), "gang": (len(self.jobs),)}
        for field, shape in {**shapes, "workers": (len(self.types),)}.items():
            array = np.array(getattr(self, field), dtype=float)
            if array.size == 0 and 0 in shape:
                array = array.reshape(shape)
            if array.shape != shape:
                raise InputError(f"fairness data, {field}", array.shape, f"an array of shape {shape}")
            array.setflags(write=False)
            object.__setattr__(self, field, array)
        for field, names in (("jobs", self.jobs), ("types", self.types)):
            if len(set(names)) < len(names):
                raise InputError(f"fairness data, {field}", names, "names that differ")
        self._check("speed", self.speed >= 0, "a number of steps/s >= 0")
        self._check("weight", self.weight > 0, "a number > 0")
        self._check("gang", self.gang >= 1, "a number of GPUs >= 1")
        self._check("workers", self.workers >= 0, "a number of GPUs >= 0")
        stuck = ~self.can_run.any(axis=1)
        if stuck.any():
            row = int(np.flatnonzero(stuck)[0])
            found = dict(zip(self.types, self.speed[row].tolist(), strict=True))
            raise InputError(f"job {self.jobs[row]}, speed", found, "a type with workers on which the job can run")

    def _check(self, field: str, good: BoolArray, expected: str) -> None:
        array: npt.NDArray[Any] = getattr(self, field)
        bad = np.argwhere(~(good & np.isfinite(array)))
        if len(bad):
            spot = tuple(bad[0].tolist())
            where = f"type {self.types[spot[0]]}" if field == "workers" else f"job {self.jobs[spot[0]]}"
            on = f" on {self.types[spot[1]]}" if len(spot) > 1 else ""
            raise InputError(f"{where}, {field}{on}", float(array[spot]), expected)

    @property
    def can_run(self) -> BoolArray:
        """(jobs x types) whether the job has a speed there and there are workers."""
        return (self.speed > 0) & (self.workers > 0)[None, :]

    @property
    def equal(self) -> FloatArray:
        """(jobs,) P_m, steps/s under an equal share of every worker."""
        return self.speed @ equal_share(self.workers)

    def value(self, heterogeneity_aware: bool) -> FloatArray:
        """(jobs x types) `z_m T_mj / (w_m P_m)`: what a job's time on a type adds to its value in the objective."""
        scale = (self.gang / self.weight)[:, None]
        if not heterogeneity_aware:
            return np.broadcast_to(scale, self.speed.shape)
        return scale * self.speed / self.equal[:, None]

    def table(self, values: npt.NDArray[Any]) -> dict[tuple[str, str], float]:
        """{(job, type): value} of (jobs x types) values."""
        return dict(zip(itertools.product(self.jobs, self.types), values.ravel().tolist(), strict=True))

    def column(self, values: npt.NDArray[Any]) -> dict[str, float]:
        """{job: value} of (jobs,) values."""
        return dict(zip(self.jobs, values.tolist(), strict=True))


def runnable(snapshot: Snapshot) -> FloatArray:
    """(jobs x types) steps/s of each job's gang, 0 where it cannot run or where its gang exceeds the type's workers."""
    speed = snapshot.belief.speeds(snapshot.jobs)
    return np.where(snapshot.jobs.gpus[:, None] <= snapshot.workers[None, :], speed, 0.0)


def data_of(snapshot: Snapshot, rows: npt.ArrayLike | None = None) -> FairnessData:
    """The data of a snapshot's jobs, or of those in `rows` (positions or a mask): a scheduler leaves out stuck ones."""
    chosen = np.arange(len(snapshot.jobs)) if rows is None else np.arange(len(snapshot.jobs))[np.asarray(rows)]
    names = snapshot.jobs.names
    return FairnessData(
        tuple(names[row] for row in chosen.tolist()),
        snapshot.types,
        runnable(snapshot)[chosen],
        snapshot.jobs.weight[chosen],
        snapshot.jobs.gpus[chosen].astype(float),
        snapshot.workers.astype(float),
    )


def build(data: FairnessData, heterogeneity_aware: bool = True) -> pyo.ConcreteModel:
    """Return the unsolved linear programme for one allocation."""
    m = pyo.ConcreteModel("gavel_max_min_fairness")
    speed = data.speed if heterogeneity_aware else np.ones_like(data.speed)
    equal = data.equal if heterogeneity_aware else np.ones(len(data.jobs))

    workers = dict(zip(data.types, data.workers.tolist(), strict=True))
    most = data.table(np.where(data.can_run, 1.0, 0.0))

    m.JOBS = pyo.Set(initialize=data.jobs, doc="m | active jobs")
    m.TYPES = pyo.Set(initialize=data.types, doc="j | accelerator types")

    m.speed = pyo.Param(m.JOBS, m.TYPES, initialize=data.table(speed), doc="T_mj | throughput of the gang | steps/s")
    m.equal = pyo.Param(m.JOBS, initialize=data.column(equal), doc="P_m | throughput under an equal share | steps/s")
    m.weight = pyo.Param(m.JOBS, initialize=data.column(data.weight), doc="w_m | weight | 1")
    m.gang = pyo.Param(m.JOBS, initialize=data.column(data.gang), doc="z_m | scale factor | GPUs")
    m.workers = pyo.Param(m.TYPES, initialize=workers, doc="c_j | workers | GPUs")

    def bounds(m, job, kind):
        return 0, most[job, kind]

    m.share = pyo.Var(m.JOBS, m.TYPES, bounds=bounds, doc="(1) X_mj | share of time on a type | 1")
    m.level = pyo.Var(doc="(ours) t | smallest normalised throughput | 1")

    @m.Objective(sense=pyo.maximize, doc="(4.1) the job that is worst off")
    def worst_job(m):
        return m.level

    @m.Constraint(m.JOBS, doc="(2) a job runs at most all of the time")
    def job_time(m, job):
        return pyo.quicksum(m.share[job, kind] for kind in m.TYPES) <= 1

    @m.Constraint(m.TYPES, doc="(3) no more workers than there are")
    def capacity(m, kind):
        return pyo.quicksum(m.gang[job] * m.share[job, kind] for job in m.JOBS) <= m.workers[kind]

    @m.Constraint(m.JOBS, doc="(ours) t is no more than any job's normalised throughput")
    def epigraph(m, job):
        scale = m.gang[job] / (m.weight[job] * m.equal[job])
        return m.level <= pyo.quicksum(scale * m.speed[job, kind] * m.share[job, kind] for kind in m.TYPES)

    return m


def check(data: FairnessData, shares: FloatArray) -> FloatArray:
    """The shares, with what rounding left outside [0, 1] cut off; raises SolverFailedError if a limit is broken.

    shares: (jobs x types).
    """
    limits = (
        ("a share below 0", (-shares).max(initial=0.0), 0.0),
        ("a share where the job cannot run", np.abs(shares[~data.can_run]).max(initial=0.0), 0.0),
        ("a job's time", shares.sum(axis=1).max(initial=0.0), 1.0),
        ("workers in use", ((data.gang @ shares) / np.maximum(data.workers, 1.0)).max(initial=0.0), 1.0),
    )
    for what, most, limit in limits:
        if not most <= limit + TOLERANCE:
            raise SolverFailedError("gavel.max_min_fairness", f"{what}: {most:g}", f"at most {limit:g}")
    return np.where(data.can_run, np.clip(shares, 0.0, 1.0), 0.0)


def objective(data: FairnessData, shares: FloatArray, heterogeneity_aware: bool = True) -> float | None:
    """`min_m z_m sum_j T_mj X_mj / (w_m P_m)` of (jobs x types) shares; None without jobs."""
    if not data.jobs:
        return None
    return float((data.value(heterogeneity_aware) * shares).sum(axis=1).min())


class MaxMinFairness(Formulation[FairnessData]):
    """Shares of time that make the worst-off job as well off as can be."""

    name = "gavel.max_min_fairness"
    title = "Gavel: max-min fairness"
    knobs = (
        Knob(
            "heterogeneity_aware",
            True,
            "Compare jobs by their speeds (otherwise by their shares of time alone)",
            source="paper",
            kind="bool",
            main=True,
        ),
        Knob(
            "optimum",
            "vertex",
            "Which of the many optimal allocations: a vertex of the optimal face, or a point in its interior",
            source="code",
            kind="str",
            choices=("vertex", "interior"),
        ),
    )

    def data(self, snapshot: Snapshot, knobs: Knobs) -> FairnessData:
        """The arrived jobs; a type on which a job's gang does not fit is one on which it cannot run."""
        return data_of(snapshot)

    def build(self, data: FairnessData, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(data, bool(knobs.get("heterogeneity_aware", True)))

    def read(self, model: pyo.ConcreteModel, data: FairnessData, knobs: Knobs) -> Result:
        """Shares and normalised throughput (`sum_j T_mj X_mj / P_m`, true speeds in both forms) of the solved model."""
        values = np.array([variable.value for variable in model.share.values()], dtype=float)
        return self._result(data, values.reshape(data.speed.shape), knobs)

    def trivial(self, data: FairnessData, knobs: Knobs) -> Result | None:
        """No jobs, no shares."""
        return None if data.jobs else self._result(data, np.zeros(data.speed.shape), knobs)

    def options(self, knobs: Knobs, solver: Solver) -> Solver:
        """A point in the interior of the optimal face comes from an interior point method without crossover."""
        wanted = knobs.get("optimum") == "interior" and solver.method == "auto"
        return replace(solver, method="interior") if wanted else solver

    def _result(self, data: FairnessData, values: FloatArray, knobs: Knobs) -> Result:
        shares = check(data, values)
        throughput = (data.speed * shares).sum(axis=1) / np.where(data.equal > 0, data.equal, 1.0)
        rows = shares.tolist()
        return Result(
            status="feasible",
            objective=objective(data, shares, bool(knobs.get("heterogeneity_aware", True))),
            sense="max",
            unit="1",
            values={
                "allocation": {job: dict(zip(data.types, rows[i], strict=True)) for i, job in enumerate(data.jobs)},
                "normalized_throughput": data.column(throughput),
            },
        )
