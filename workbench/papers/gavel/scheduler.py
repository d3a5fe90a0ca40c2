"""Gavel's policies as schedulers: a formulation made a policy that divides time, rounds by the paper's mechanism.

Of a sum under (2) job_time and (3) capacity alone, whoever has a share of a type is worth at least as much there, per
GPU of its gang, as whoever has no share at all: otherwise time taken from the one and given to the other adds to it.
What a GPU of a type adds to the sum in a job's hands is therefore recorded (`per_gpu`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from workbench.baselines.mechanisms.priority import Allocated, SharePolicy
from workbench.baselines.mechanisms.share_scheduler import ShareScheduler
from workbench.baselines.mechanisms.worker_types import worker_types
from workbench.papers.gavel.algorithms.pop import Combine, by_parts
from workbench.papers.gavel.algorithms.water_filling_phases import allocate
from workbench.papers.gavel.formulations import (
    fifo,
    finish_time_fairness_assembly,
    makespan_assembly,
    max_throughput,
    min_cost,
    min_cost_assembly,
    min_cost_slo,
    shortest_job_first,
)
from workbench.papers.gavel.formulations.allocation import ShareFormulation, check
from workbench.papers.gavel.formulations.assembly import SolvedShares
from workbench.papers.gavel.formulations.finish_time_fairness import FinishTimeFairness, FinishTimeInstance, remember
from workbench.papers.gavel.formulations.hierarchical import NAME, Hierarchical, known, spread
from workbench.papers.gavel.formulations.levels import HierarchicalInstance
from workbench.papers.gavel.formulations.makespan import Makespan
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.papers.gavel.formulations.max_min_fairness_assembly import allocate as max_min_fairness
from workbench.papers.gavel.formulations.water_filling import WaterFilling
from workbench.papers.gavel.instance import AllocationInstance, PricedInstance, SloInstance, StepsInstance, able, seen
from workbench.papers.gavel.knobs import PARTITIONS
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import MODEL, Answer, Formulation, Knobs, Route, Scheduler, StatedProblem
from workbench.scheduling.decision import Shares, Unit, WorkerType
from workbench.scheduling.knob import Value
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.schema import WORTH_ON

Data = Callable[[Snapshot, Knobs, npt.NDArray[np.int64], Any], tuple[AllocationInstance, Any]]

Allocate = Callable[[Any, Knobs], SolvedShares]

Numbers = Callable[[Any, Knobs], Mapping[str, FloatArray]]


SMALLER = "its matrix merges equal jobs and leaves out limits that others imply, and may end at another optimal vertex"


@dataclass(frozen=True)
class FormulationPolicy:
    """A formulation as a policy that divides time (`mechanisms.priority.SharePolicy`).

    data: the data of the jobs at some positions, and the policy's memory for the next time; allocate: the sparse
    matrix, if there is one; signals: names of the numbers by job that are recorded beside the shares; combine: how the
    objectives of parts of the cluster make that of the whole, if it can be divided by parts (`pop`); numbers: more
    numbers by job to record, which the policy goes by (NaN where a job has none).
    """

    formulation: Formulation[Any]
    data: Data
    allocate: Allocate | None = None
    signals: tuple[str, ...] = ()
    combine: Combine | None = None
    numbers: Numbers | None = None

    def __call__(self, snapshot: Snapshot, knobs: Knobs, memory: Any) -> Allocated:
        data, memory = self.data(snapshot, knobs, able(snapshot, knobs), memory)
        stated = knobs.get("model") == "pyomo" or self.allocate is None
        allocate = self.allocate if self.allocate is not None and not stated else self._as_stated
        found = allocate(data, knobs) if self.combine is None else by_parts(data, knobs, allocate, self.combine)
        signals = {name: data.given(found.by_job[name]) for name in self.signals}
        if self.numbers is not None:
            signals |= {name: data.given(values) for name, values in self.numbers(data, knobs).items()}
        kinds = worker_types(snapshot.cluster, knobs)
        solved = replace(found.solved, made_by="model" if stated else "assembly")
        solved = solved if data.jobs else replace(solved, objective=None)
        return Allocated(_shares(data, found.shares, kinds), solved, memory, signals)

    def route(self, knobs: Knobs) -> Route:
        """By the stated model, or by a matrix that is smaller than what the model states."""
        if self.allocate is None or knobs.get("model") == "pyomo":
            return Route("same programme", self.formulation.name)
        return Route("other route", self.formulation.name, SMALLER)

    def stated(self, snapshot: Snapshot, knobs: Knobs, memory: Any) -> StatedProblem:
        """The problem whose shares it answers."""
        data, _ = self.data(snapshot, knobs, able(snapshot, knobs), memory)
        return StatedProblem(self.formulation, data, knobs)

    def answered_by(self, answer: Answer) -> SharePolicy | None:
        """The same with shares as `answer` finds them, whatever limits they keep; None where shares are no variable."""
        if type(self.formulation).found is not ShareFormulation.found:
            return None

        def policy(snapshot: Snapshot, knobs: Knobs, memory: Any) -> Allocated:
            data, memory = self.data(snapshot, knobs, able(snapshot, knobs), memory)
            values = answer(StatedProblem(self.formulation, data, knobs))
            shares = np.clip(values["share"].reshape(len(data.units), len(data.types)), 0.0, None)
            return Allocated(_shares(data, shares, worker_types(snapshot.cluster, knobs)), memory=memory)

        return policy

    def _as_stated(self, data: AllocationInstance, knobs: Knobs) -> SolvedShares:
        """By the formulation's Pyomo model."""
        found = self.formulation.run(data, knobs)
        rows = [list(row.values()) for row in found.values["allocation"].values()]
        shares = np.array(rows, dtype=float).reshape(len(data.units), len(data.types))
        by_job = {name: found.values[name] for name in self.signals}
        return SolvedShares(shares, found, {name: _column(data, values) for name, values in by_job.items()})

    def by(self, formulation: Formulation[Any]) -> FormulationPolicy:
        """The policy by another formulation of the same instance, solved as stated; what is known of the paper's sums
        alone (`combine`, `numbers`) is not said of it."""
        return replace(self, formulation=formulation, allocate=None, combine=None, numbers=None)


class PolicyScheduler(ShareScheduler):
    """One of Gavel's policies."""

    policy: FormulationPolicy
    ways = frozenset({MODEL.name, PARTITIONS.name})

    def with_formulation(self, formulation: Formulation[Any]) -> Scheduler:
        found: Any = super().with_formulation(formulation)
        found.policy = self.policy.by(formulation)
        return cast(Scheduler, found)


def _column(data: AllocationInstance, values: Mapping[str, float]) -> FloatArray:
    """(jobs,) values, NaN for a job without one."""
    return np.array([values.get(job, np.nan) for job in data.jobs], dtype=float)


def _shares(data: AllocationInstance, values: FloatArray, kinds: tuple[WorkerType, ...]) -> Shares:
    """Shares of the jobs and of those pairs that have one: most pairs have none."""
    jobs = len(data.jobs)
    pairs = np.flatnonzero(values[jobs:].any(axis=1))
    units: tuple[Unit, ...] = (*data.jobs, *((data.jobs[a], data.jobs[b]) for a, b in data.pairs[pairs].tolist()))
    return Shares(units, data.types, np.concatenate([values[:jobs], values[jobs + pairs]]), kinds)


def forgetful(instance: type[AllocationInstance]) -> Data:
    """The data of a policy that remembers nothing."""

    def data(
        snapshot: Snapshot, knobs: Knobs, rows: npt.NDArray[np.int64], memory: Any
    ) -> tuple[AllocationInstance, Any]:
        return instance.from_snapshot(snapshot, knobs, rows), None

    return data


def scheduler(
    formulation: Formulation[Any],
    title: str,
    data: Data,
    allocate: Allocate | None = None,
    uses: frozenset[str] = frozenset(),
    authors: dict[str, Value] | None = None,
    defaults: Mapping[str, Value] | None = None,
    signals: tuple[str, ...] = (),
    combine: Combine | None = None,
    numbers: Numbers | None = None,
) -> ShareScheduler:
    """The scheduler of a formulation, with the same name and knobs; defaults: those that differ in a simulation."""
    more = (*((MODEL,) if allocate is not None else ()), *((PARTITIONS,) if combine is not None else ()))
    policy = FormulationPolicy(formulation, data, allocate, signals, combine, numbers)
    knobs = (*formulation.knobs, *more)
    found = PolicyScheduler(
        formulation.name, title, policy, knobs=knobs, uses=uses, authors=authors, defaults=defaults, route=policy.route
    )
    found.formulation = formulation.name
    return found


DURATION = "duration_s"
"""A signal: remaining steps / steps/s on the job's fastest type, as the policy sees them."""


def per_gpu(data: AllocationInstance, worth: FloatArray) -> dict[str, FloatArray]:
    """{signal: (jobs,) worth per GPU} by accelerator type, NaN where a job cannot run; of two placements the better.

    worth: (jobs x types) what one step/s adds to the sum.
    """
    value = np.where(data.can_run, worth * data.speed / data.gang[:, None], -np.inf)
    found = {}
    for pool, name in enumerate(data.accelerators):
        best = value[:, data.pool == pool].max(axis=1, initial=-np.inf)
        found[WORTH_ON + name] = np.where(np.isfinite(best), best, np.nan)
    return found


def in_line(data: AllocationInstance, knobs: Knobs) -> Mapping[str, FloatArray]:
    """First in, first out: by the place in line."""
    known = seen(data, knobs)
    return per_gpu(known, fifo.worth(known, fifo.places(known)))


def by_length(data: StepsInstance, knobs: Knobs) -> Mapping[str, FloatArray]:
    """Shortest job first: the durations, and by the place in their order; as printed (`literal`) there is no sum."""
    known = seen(data, knobs)
    lengths = {DURATION: known.steps / fifo.fastest(known)}
    if knobs["literal"] or not data.jobs:
        return lengths
    return lengths | per_gpu(known, fifo.worth(known, shortest_job_first.value(known)))


def by_throughput(data: AllocationInstance, knobs: Knobs) -> Mapping[str, FloatArray]:
    """Maximum throughput; parts of the cluster (`partitions`) are sums of their own, which compare nobody else."""
    known = seen(data, knobs)
    return {} if int(knobs["partitions"]) > 1 else per_gpu(known, max_throughput.worth(known, knobs))


def per_dollar(data: PricedInstance, knobs: Knobs) -> Mapping[str, FloatArray]:
    """The policies of cost: steps/s per dollar; of the ratio, too, whose every GPU is paid."""
    known = seen(data, knobs)
    return per_gpu(known, min_cost.worth(known, max_throughput.value(known, knobs)))


def _max_min_fairness(data: AllocationInstance, knobs: Knobs) -> SolvedShares:
    return max_min_fairness(seen(data, knobs), str(knobs["optimum"]))


def _makespan(data: StepsInstance, knobs: Knobs) -> SolvedShares:
    known, optimum = seen(data, knobs), str(knobs["optimum"])
    if knobs["method"] == "bisection":
        return makespan_assembly.bisect(known, float(knobs["tolerance"]), optimum, begin=str(knobs["bracket"]))
    return makespan_assembly.allocate(known, optimum)


def _finish_time_fairness(data: FinishTimeInstance, knobs: Knobs) -> SolvedShares:
    known = seen(data, knobs)
    method, tolerance, optimum = str(knobs["method"]), float(knobs["tolerance"]), str(knobs["optimum"])
    found = finish_time_fairness_assembly.allocate(known, method, tolerance, optimum)
    return replace(found, by_job={"rho": data.rho(found.shares)}) if data.jobs else found


def _min_cost(data: PricedInstance, knobs: Knobs) -> SolvedShares:
    return min_cost_assembly.allocate(seen(data, knobs), knobs)


def _water_filling(data: AllocationInstance, knobs: Knobs) -> SolvedShares:
    return allocate(HierarchicalInstance.single(seen(data, knobs)), str(knobs["optimum"]))


def _hierarchical(data: HierarchicalInstance, knobs: Knobs) -> SolvedShares:
    found = allocate(known(data, knobs), str(knobs["optimum"]))
    if knobs["heterogeneity_aware"]:
        return found
    return replace(found, shares=check(data, spread(data, found.shares), NAME))


NO_LEFTOVERS: dict[str, Value] = {"leftovers": "none"}
"""A policy of cost leaves workers idle on purpose, where they cost more for what they do; others must not fill them."""

EACH_ROUND: dict[str, Value] = {"refresh_s": 0.0}
"""With SLOs the steps and the time that are left, and so the speed that is needed, move from round to round."""

INTERIOR: dict[str, Value] = {"optimum": "interior"}
"""The optimum of the authors' code."""

SCHEDULERS = (
    scheduler(
        MaxMinFairness(),
        "Gavel: max-min fairness (least attained service)",
        forgetful(AllocationInstance),
        _max_min_fairness,
        uses=frozenset({"weight"}),
        authors=INTERIOR,
        combine=min,
    ),
    scheduler(
        Makespan(),
        "Gavel: minimum makespan",
        forgetful(StepsInstance),
        _makespan,
        authors={**INTERIOR, "reference": "v100", "method": "bisection", "tolerance": 0.05, "bracket": "authors"},
        combine=max,
    ),
    scheduler(
        FinishTimeFairness(),
        "Gavel: finish-time fairness (Themis)",
        remember,
        _finish_time_fairness,
        authors={**INTERIOR, "reference": "v100"},
        signals=("rho",),
    ),
    scheduler(
        fifo.FirstInFirstOut(),
        fifo.FirstInFirstOut.title,
        forgetful(AllocationInstance),
        fifo.allocate,
        authors=INTERIOR,
        numbers=in_line,
    ),
    scheduler(
        shortest_job_first.ShortestJobFirst(),
        shortest_job_first.ShortestJobFirst.title,
        forgetful(StepsInstance),
        shortest_job_first.allocate,
        authors=INTERIOR,
        numbers=by_length,
    ),
    scheduler(
        max_throughput.MaxThroughput(),
        max_throughput.MaxThroughput.title,
        forgetful(AllocationInstance),
        max_throughput.allocate,
        authors=INTERIOR,
        combine=sum,
        numbers=by_throughput,
    ),
    scheduler(
        min_cost.MinCost(),
        min_cost.MinCost.title,
        forgetful(PricedInstance),
        _min_cost,
        authors=INTERIOR,
        numbers=per_dollar,
        defaults=NO_LEFTOVERS,
    ),
    scheduler(
        min_cost_slo.MinCostSlo(),
        min_cost_slo.MinCostSlo.title,
        forgetful(SloInstance),
        min_cost_slo.allocate,
        uses=frozenset({"rewards"}),
        authors={**INTERIOR, "infeasible": "drop_all"},
        defaults={"infeasible": "drop", **EACH_ROUND, **NO_LEFTOVERS},
        signals=("slo_dropped",),
        numbers=per_dollar,
    ),
    scheduler(
        WaterFilling(),
        "Gavel: max-min fairness with water filling",
        forgetful(AllocationInstance),
        _water_filling,
        uses=frozenset({"weight"}),
        authors=INTERIOR,
        signals=("levels",),
    ),
    scheduler(
        Hierarchical(),
        "Gavel: hierarchical fairness over entities",
        forgetful(HierarchicalInstance),
        _hierarchical,
        uses=frozenset({"weight", "entity", "entities.weight", "entities.policy"}),
        authors=INTERIOR,
        signals=("levels",),
    ),
)
