"""Gavel's policies as schedulers: a formulation made a policy that divides time, rounds by the paper's mechanism.

Of a sum under (2) job_time and (3) capacity alone, whoever has a share of a type is worth at least as much there, per
GPU of its gang, as whoever has no share at all: otherwise time taken from the one and given to the other adds to it.
What a GPU of a type adds to the sum in a job's hands is therefore recorded (`per_gpu`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.baselines.mechanisms.placed_types import placed_types
from workbench.baselines.mechanisms.priority import PolicyAnswer, SharePolicy
from workbench.baselines.mechanisms.share_scheduler import ShareScheduler
from workbench.papers.gavel.formulations import fifo, max_throughput, min_cost, min_cost_slo, shortest_job_first
from workbench.papers.gavel.formulations.allocation import DividedTime, ShareFormulation, check
from workbench.papers.gavel.formulations.finish_time_fairness import FinishTimeFairness, remember
from workbench.papers.gavel.formulations.makespan import Makespan
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.papers.gavel.formulations.water_filling import Hierarchical, HierarchicalInstance, WaterFilling
from workbench.papers.gavel.instance import AllocationInstance, StepsInstance, able, seen
from workbench.papers.gavel.knobs import PARTITIONS
from workbench.scheduling.contract import MODEL, Formulation, Knobs, Route, Scheduler, StatedAnswer, StatedProblem
from workbench.scheduling.decision import PlacedType, Shares, Unit
from workbench.scheduling.knob import Value
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.schema import WORTH_ON

NOBODY = np.zeros(0)

Combine = Callable[[Iterable[float]], float]
"""From the parts' objectives to that of the whole: min, max or sum."""

_Data = Callable[[Snapshot, Knobs, IntArray, Any], tuple[AllocationInstance, Any]]

Numbers = Callable[[Any, Knobs], Mapping[str, FloatArray]]


@dataclass(frozen=True)
class FormulationPolicy:
    """A formulation as a policy that divides time (`mechanisms.priority.SharePolicy`).

    By its model or by its assembly (knob `model`): the same programmes, solved and read by the same steps, so that the
    run is the same; the report of each decision says by which.

    data: the data of the jobs at some positions, and the policy's memory for the next time; signals: names of the
    numbers by job that are recorded beside the shares; combine: how the objectives of parts of the cluster make that of
    the whole, if it can be divided `by_parts`; numbers: more numbers by job to record, which the policy goes by
    (NaN where a job has none).
    """

    formulation: Any
    data: _Data
    signals: tuple[str, ...] = ()
    combine: Combine | None = None
    numbers: Numbers | None = None

    def __call__(self, snapshot: Snapshot, knobs: Knobs, memory: Any) -> PolicyAnswer:
        data, memory = self.data(snapshot, knobs, able(snapshot, knobs), memory)
        allocate = self._as_stated if self.formulation.own else self.formulation.allocate
        found = allocate(data, knobs) if self.combine is None else by_parts(data, knobs, allocate, self.combine)
        signals = {name: data.given(found.by_job.get(name, NOBODY)) for name in self.signals}
        if self.numbers is not None:
            signals |= {name: data.given(values) for name, values in self.numbers(data, knobs).items()}
        kinds = placed_types(snapshot.cluster, knobs)
        solved = found.solved if data.jobs else replace(found.solved, objective=None)
        return PolicyAnswer(_shares(data, found.shares, kinds), solved, memory, signals)

    def route(self, knobs: Knobs) -> Route:
        """Of parts of the cluster it is the programme of each."""
        return Route("same programme", self.formulation.name)

    def stated(self, snapshot: Snapshot, knobs: Knobs, memory: Any) -> StatedProblem | None:
        """The problem whose shares it answers; None where parts of the cluster have one each."""
        data, _ = self.data(snapshot, knobs, able(snapshot, knobs), memory)
        if self.combine is not None and min(int(knobs["partitions"]), len(data.jobs)) > 1:
            return None
        return StatedProblem(self.formulation, data, knobs)

    def answered_by(self, answer: StatedAnswer) -> SharePolicy | None:
        """The same with shares as `answer` finds them, if they can be kept; None where shares are no variable."""
        if type(self.formulation).found is not ShareFormulation.found:
            return None

        def policy(snapshot: Snapshot, knobs: Knobs, memory: Any) -> PolicyAnswer:
            data, memory = self.data(snapshot, knobs, able(snapshot, knobs), memory)
            values = answer(StatedProblem(self.formulation, data, knobs))
            shares = check(data, self.formulation.shares(values, data), self.formulation.name)
            return PolicyAnswer(_shares(data, shares, placed_types(snapshot.cluster, knobs)), memory=memory)

        return policy

    def _as_stated(self, data: AllocationInstance, knobs: Knobs) -> DividedTime:
        """By the formulation's Pyomo model."""
        found = self.formulation.run(data, knobs)
        rows = [list(row.values()) for row in found.values["allocation"].values()]
        shares = np.array(rows, dtype=float).reshape(len(data.units), len(data.types))
        by_job = {name: found.values[name] for name in self.signals}
        return DividedTime(shares, found, {name: _column(data, values) for name, values in by_job.items()})

    def by(self, formulation: Formulation[Any]) -> FormulationPolicy:
        """The policy by another formulation of the same instance, solved as stated; what is known of the paper's sums
        alone (`combine`, `numbers`) is not said of it."""
        return replace(self, formulation=formulation, combine=None, numbers=None)


def parts_of(jobs: int, count: int) -> list[IntArray]:
    """Positions of the jobs in each of at most `count` parts, rising; as equal in number as can be, always the same."""
    dealt = np.random.default_rng(count).permutation(jobs)
    return [np.sort(part) for part in np.array_split(dealt, max(min(count, jobs), 1)) if len(part)]


def by_parts(
    data: AllocationInstance,
    knobs: Knobs,
    allocate: Callable[[AllocationInstance, Knobs], DividedTime],
    combine: Combine,
) -> DividedTime:
    """Large clusters by random parts (POP, Narayanan et al., SOSP 2021): jobs dealt out at random, each of the
    `knobs["partitions"]` parts of the cluster divided by itself; with the objective that this has as a whole.

    Every part has 1/k of each type's GPUs, so P_m and isolated throughputs stay what they were. The allocation keeps
    all limits; its objective is at best that of the whole. Pairs of jobs in different parts are lost.
    """
    if min(int(knobs["partitions"]), len(data.jobs)) < 2:
        return allocate(data, knobs)
    parts = parts_of(len(data.jobs), int(knobs["partitions"]))
    found = [allocate(data.only(rows, 1 / len(parts)), knobs) for rows in parts]
    shares = np.zeros((len(data.units), len(data.types)))
    by_job = {name: np.zeros(len(data.jobs)) for name in found[0].by_job}
    spot = {tuple(sorted(pair)): len(data.jobs) + n for n, pair in enumerate(data.pairs.tolist())}
    for rows, part in zip(parts, found, strict=True):
        shares[rows] = part.shares[: len(rows)]
        inside = data.only(rows).pairs
        for pair, values in zip(rows[inside].tolist(), part.shares[len(rows) :], strict=True):
            shares[spot[tuple(sorted(pair))]] = values
        for name, values in part.by_job.items():
            by_job[name][rows] = values
    reports = [part.solved for part in found]
    solved = replace(
        reports[0],
        objective=combine(report.value for report in reports),
        bound=None,
        gap=None,
        build_s=sum(report.build_s for report in reports),
        solve_s=sum(report.solve_s for report in reports),
        passes=sum(report.passes for report in reports),
    )
    return DividedTime(shares, solved, by_job)


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


def _shares(data: AllocationInstance, values: FloatArray, kinds: tuple[PlacedType, ...]) -> Shares:
    """Shares of the jobs and of those pairs that have one: most pairs have none."""
    jobs = len(data.jobs)
    pairs = np.flatnonzero(values[jobs:].any(axis=1))
    units: tuple[Unit, ...] = (*data.jobs, *((data.jobs[a], data.jobs[b]) for a, b in data.pairs[pairs].tolist()))
    return Shares(units, data.types, np.concatenate([values[:jobs], values[jobs + pairs]]), kinds)


def forgetful(instance: type[AllocationInstance]) -> _Data:
    """The data of a policy that remembers nothing."""

    def data(snapshot: Snapshot, knobs: Knobs, rows: IntArray, memory: Any) -> tuple[AllocationInstance, Any]:
        return instance.from_snapshot(snapshot, knobs, rows), None

    return data


def scheduler(
    formulation: ShareFormulation[Any],
    title: str,
    data: _Data,
    uses: frozenset[str] = frozenset(),
    authors: dict[str, Value] | None = None,
    defaults: Mapping[str, Value] | None = None,
    signals: tuple[str, ...] = (),
    combine: Combine | None = None,
    numbers: Numbers | None = None,
) -> ShareScheduler:
    """The scheduler of a formulation, with the same name and knobs; defaults: those that differ in a simulation."""
    policy = FormulationPolicy(formulation, data, signals, combine, numbers)
    knobs = (*formulation.knobs, MODEL, *((PARTITIONS,) if combine is not None else ()))
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
    for accelerator, name in enumerate(data.accelerators):
        best = value[:, data.accelerator_of == accelerator].max(axis=1, initial=-np.inf)
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


def per_dollar(data: min_cost.PricedInstance, knobs: Knobs) -> Mapping[str, FloatArray]:
    """The policies of cost: steps/s per dollar; of the ratio, too, whose every GPU is paid."""
    known = seen(data, knobs)
    return per_gpu(known, min_cost.worth(known, max_throughput.value(known, knobs)))


NO_LEFTOVERS: dict[str, Value] = {"leftovers": "none"}
"""A policy of cost leaves GPUs idle on purpose, where they cost more for what they do; others must not fill them."""

EACH_ROUND: dict[str, Value] = {"refresh_s": 0.0}
"""With SLOs the steps and the time that are left, and so the speed that is needed, move from round to round."""

BY_PRICES: dict[str, Value] = {"bottleneck": "prices"}
"""The fastest way, which a simulation takes many times."""

INTERIOR: dict[str, Value] = {"optimum": "interior"}
"""The optimum of the authors' code."""

SCHEDULERS = (
    scheduler(
        MaxMinFairness(),
        "Gavel: max-min fairness (least attained service)",
        forgetful(AllocationInstance),
        uses=frozenset({"weight"}),
        authors=INTERIOR,
        combine=min,
    ),
    scheduler(
        Makespan(),
        "Gavel: minimum makespan",
        forgetful(StepsInstance),
        authors={**INTERIOR, "reference": "v100", "method": "bisection", "tolerance": 0.05, "bracket": "authors"},
        combine=max,
    ),
    scheduler(
        FinishTimeFairness(),
        "Gavel: finish-time fairness (Themis)",
        remember,
        authors={**INTERIOR, "reference": "v100"},
        signals=("rho",),
    ),
    scheduler(
        fifo.FirstInFirstOut(),
        fifo.FirstInFirstOut.title,
        forgetful(AllocationInstance),
        authors=INTERIOR,
        numbers=in_line,
    ),
    scheduler(
        shortest_job_first.ShortestJobFirst(),
        shortest_job_first.ShortestJobFirst.title,
        forgetful(StepsInstance),
        authors=INTERIOR,
        numbers=by_length,
    ),
    scheduler(
        max_throughput.MaxThroughput(),
        max_throughput.MaxThroughput.title,
        forgetful(AllocationInstance),
        authors=INTERIOR,
        combine=sum,
        numbers=by_throughput,
    ),
    scheduler(
        min_cost.MinCost(),
        min_cost.MinCost.title,
        forgetful(min_cost.PricedInstance),
        authors=INTERIOR,
        numbers=per_dollar,
        defaults=NO_LEFTOVERS,
    ),
    scheduler(
        min_cost_slo.MinCostSlo(),
        min_cost_slo.MinCostSlo.title,
        forgetful(min_cost_slo.SloInstance),
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
        uses=frozenset({"weight"}),
        authors=INTERIOR,
        defaults=BY_PRICES,
        signals=("levels",),
    ),
    scheduler(
        Hierarchical(),
        "Gavel: hierarchical fairness over entities",
        forgetful(HierarchicalInstance),
        uses=frozenset({"weight", "entity", "entities.weight", "entities.policy"}),
        authors=INTERIOR,
        defaults=BY_PRICES,
        signals=("levels",),
    ),
)
