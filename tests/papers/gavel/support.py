"""What the tests of Gavel's policies share: random instances, isolated throughputs, and their programme for scipy.

The programme is written from the paper, dense, without the code that it tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from workbench.base.arrays import FloatArray
from workbench.papers.gavel.algorithms import equal_jobs
from workbench.papers.gavel.formulations.allocation import DividedTime, ShareFormulation
from workbench.papers.gavel.formulations.finish_time_fairness import FinishTimeInstance
from workbench.papers.gavel.formulations.min_cost import PricedInstance
from workbench.papers.gavel.formulations.min_cost_slo import SloInstance
from workbench.papers.gavel.instance import AllocationInstance, StepsInstance
from workbench.scheduling.contract import Formulation, Result
from workbench.scheduling.solvers import Solver

PLAIN = ("jobs", "types", "speed", "weight", "gang", "capacity")
EXTENDED = (*PLAIN, "pairs", "pair_speed", "accelerators", "accelerator")

TWO = SloInstance(
    ("a", "b"), ("v100", "k80"), [[4.0, 1.0], [3.0, 0.0]], [1.0, 2.0], [1, 2], [2, 4],
    price=[2.0, 0.5], steps=[100.0, 60.0], slo_s=[50.0, np.inf],
)  # fmt: skip
"""b runs on v100 only and has 2 GPUs, weight 2 and no SLO."""

PAPER = SloInstance(
    ("job 0", "job 1", "job 2"), ("v100", "k80"), [[4, 1], [3, 1], [2, 1]], [1, 1, 1], [1, 1, 1], [1, 1],
    price=[2.0, 0.5], steps=[400, 240, 200], slo_s=[np.inf] * 3,
)  # fmt: skip
"""Gavel, section 4.1: one V100, one K80; prices and steps are ours. P = (2.5, 2, 1.5)."""


def random_data(seed: int, pairs: bool = True) -> SloInstance:
    """Repeated jobs, gangs, types where some cannot run, pairs, two placed types on one accelerator; SLOs of some."""
    rng = np.random.default_rng(seed)
    kinds, count = int(rng.integers(1, 4)), int(rng.integers(1, 7))
    accelerator_of = [0, 0, 1, 2][: int(rng.integers(1, 5))]
    accelerators = max(accelerator_of) + 1
    speed = rng.uniform(0.5, 20, (kinds, len(accelerator_of))) * (rng.random((kinds, len(accelerator_of))) < 0.8)
    speed[:, -1] = rng.uniform(0.5, 20, kinds)
    together = rng.uniform(0.3, 1.0, (kinds, kinds, len(accelerator_of))) * (
        rng.random((kinds, kinds, len(accelerator_of))) < 0.8
    )
    gang, pick = rng.choice([1, 2, 4], kinds), rng.integers(0, kinds, count)
    who = [(a, b) for a in range(count) for b in range(a) if pairs and gang[pick[a]] == gang[pick[b]]]
    who = [pair for pair in who if rng.random() < 0.8]
    part = np.array([(together[pick[a], pick[b]], together[pick[b], pick[a]]) for a, b in who])
    alone = np.array([(speed[pick[a]], speed[pick[b]]) for a, b in who])
    steps = rng.uniform(50, 500, kinds)[pick]
    return SloInstance(
        tuple(f"j{i}" for i in range(count)),
        tuple(f"t{j}" for j in range(len(accelerator_of))),
        speed[pick],
        rng.choice([0.5, 1, 3], count),
        gang[pick],
        rng.integers(1, 9, accelerators),
        pairs=np.array(who, dtype=np.int64).reshape(-1, 2),
        pair_speed=(part * alone).reshape(len(who), 2, len(accelerator_of)),
        accelerators=tuple(f"a{i}" for i in range(accelerators)),
        accelerator=np.array(accelerator_of),
        price=rng.uniform(0.2, 3, accelerators),
        steps=steps,
        slo_s=np.where(rng.random(count) < 0.5, steps / rng.uniform(0.1, 8, count), np.inf),
    )


DATA = st.integers(0, 2**32 - 1).map(random_data)


@pytest.fixture
def merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal jobs are merged however few there are."""
    monkeypatch.setattr(equal_jobs, "MANY", 0)


MERGED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def plain(data: SloInstance) -> AllocationInstance:
    """The same without prices, steps and SLOs."""
    return AllocationInstance(**_fields(data))


def priced(data: SloInstance) -> PricedInstance:
    """The same without steps and SLOs."""
    return PricedInstance(**_fields(data), price=data.price)


def stepped(data: SloInstance) -> StepsInstance:
    """The same without prices and SLOs."""
    return StepsInstance(**_fields(data), steps=data.steps)


def _fields(data: AllocationInstance) -> dict[str, Any]:
    return {name: getattr(data, name) for name in EXTENDED}


class Dense(NamedTuple):
    """`limits x <= right`, bounds; gained: (jobs x types x columns) throughput of a job on a type; cost: USD/h."""

    limits: FloatArray
    right: FloatArray
    bounds: list[tuple[float, float]]
    gained: FloatArray
    cost: FloatArray

    @property
    def throughput(self) -> FloatArray:
        """(jobs x columns)."""
        return self.gained.sum(axis=1)

    def best(
        self, gain: FloatArray, floor: FloatArray | None = None, bounds: list[tuple[float, float]] | None = None
    ) -> Any:
        """scipy's answer to the largest `gain x`; floor: (jobs,) least throughput."""
        limits, right = self.limits, self.right
        if floor is not None:
            limits, right = np.vstack([limits, -self.throughput]), np.concatenate([right, -floor])
        return linprog(-gain, limits, right, bounds=bounds or self.bounds)


def dense(data: PricedInstance, aware: bool = True) -> Dense:
    """The programme's parts; not aware: each job's mean speed over the accelerators where it can run, by their GPUs.

    A member of a pair has that speed times the mean of what it keeps of its speeds alone, over the pair's accelerators.
    Of an accelerator with two placed types the first counts, the others only for jobs that run on no first one.
    """
    jobs, types = data.speed.shape
    units = [(m,) for m in range(jobs)] + [tuple(pair) for pair in data.pairs.tolist()]
    accelerator_of = np.asarray(data.accelerator)

    def known(speeds: FloatArray, able: FloatArray) -> FloatArray:
        if aware or not able.any():
            return speeds * able
        on = {accelerator_of[j]: j for j in reversed(range(types))}  # the first placed type of each accelerator
        counted = [j for j in sorted(on.values()) if able[j]] or np.flatnonzero(able).tolist()
        mean = sum(speeds[j] * data.capacity[accelerator_of[j]] for j in counted) / sum(
            data.capacity[accelerator_of[j]] for j in counted
        )
        return mean * able

    gained = np.zeros((jobs, types, len(units), types))
    time, used = np.zeros((jobs, len(units), types)), np.zeros((len(data.capacity), len(units), types))
    cost, most = np.zeros((len(units), types)), np.zeros((len(units), types))
    for k, unit in enumerate(units):
        speeds = [data.speed[m] if len(unit) == 1 else data.pair_speed[k - jobs, i] for i, m in enumerate(unit)]
        able = np.all([speed > 0 for speed in speeds], axis=0) & (data.capacity[accelerator_of] > 0)
        for m, speed in zip(unit, speeds, strict=True):
            time[m, k] = 1
            if aware or len(unit) == 1:
                seen = known(speed, able)
            else:  # what it keeps of its speeds alone, on average
                alone = data.speed[m] > 0
                kept = np.divide(speed, data.speed[m], out=np.zeros(types), where=alone)
                seen = known(kept, able) * known(data.speed[m], alone & (data.capacity[accelerator_of] > 0)).max()
            for j in range(types):
                gained[m, j, k, j] = seen[j]
        for j in range(types):
            used[accelerator_of[j], k, j] = data.gang[unit[0]]
            cost[k, j] = data.gang[unit[0]] * data.price[accelerator_of[j]]
        most[k] = able
    columns = len(units) * types
    limits = np.vstack([time.reshape(jobs, columns), used.reshape(-1, columns)])
    right = np.concatenate([np.ones(jobs), data.capacity])
    bounds = [(0.0, float(high)) for high in most.ravel()]
    return Dense(limits, right, bounds, gained.reshape(jobs, types, columns), cost.ravel())


def equal_share(data: PricedInstance, aware: bool = True) -> FloatArray:
    """(jobs,) P_m, placed type by placed type; of two on one accelerator the first with a speed."""
    if not aware:
        return dense(data, False).throughput[:, : data.speed.size].max(axis=1)
    found = []
    for m in range(len(data.jobs)):
        on = np.zeros(len(data.capacity))
        for j in reversed(range(len(data.types))):
            if data.speed[m, j] > 0:
                on[np.asarray(data.accelerator)[j]] = data.speed[m, j]
        found.append(on @ data.capacity / data.capacity.sum())
    return np.array(found)


Allocate = Callable[..., DividedTime]


def by_assembly(formulation: ShareFormulation[Any], **always: Any) -> Allocate:
    """Its shares by its assembly: of data, knobs and a solver."""

    def allocate(data: Any, knobs: Mapping[str, Any] | None = None, solver: Solver | None = None) -> DividedTime:
        return formulation.allocate(data, {**always, **(knobs or {}), "model": "assembly"}, solver)

    return allocate


def solve_all(
    formulation: Formulation[Any], data: Any, knobs: Mapping[str, Any], allocate: Allocate, expected: float
) -> Result:
    """Both solvers on the model and the assembly agree with `expected` and keep the limits; returns HiGHS's result."""
    wanted = pytest.approx(expected, rel=1e-6, abs=1e-9)
    results = [formulation.run(data, knobs, Solver(name)) for name in ("highs", "glpk")]
    for found in results:
        assert found.status == "optimal"
        assert found.objective == wanted
        keeps_the_limits(data, table(found, data))
    for optimum in ("vertex", "interior"):
        fast = allocate(data, {**knobs, "optimum": optimum})
        assert fast.solved.status == "optimal"
        assert fast.solved.objective == wanted
        keeps_the_limits(data, fast.shares)
    return results[0]


def table(found: Result, data: AllocationInstance) -> FloatArray:
    """(combinations x types) shares of a result."""
    rows = [list(row.values()) for row in found.values["allocation"].values()]
    return np.array(rows, dtype=float).reshape(-1, len(data.types))


def keeps_the_limits(data: AllocationInstance, shares: FloatArray) -> None:
    """Assert (1), (2) and (3), column by column."""
    columns = shares.reshape(-1)
    parts = dense(PricedInstance(**_fields(data), price=np.ones(len(data.capacity))))
    assert (columns >= 0).all()
    assert (columns <= np.array([high for _, high in parts.bounds]) + 1e-6).all()
    assert (parts.limits @ columns <= parts.right + 1e-5).all()


def fairest(data: AllocationInstance, aware: bool = True) -> float:
    """The optimum of max-min fairness by scipy: the columns of `dense`, then the level."""
    priced_at_one = PricedInstance(**_fields(data), price=np.ones(len(data.capacity)))
    parts, equal = dense(priced_at_one, aware), equal_share(priced_at_one, aware)
    gained = parts.throughput * (data.gang / data.weight / equal)[:, None]
    limits = np.block([[parts.limits, np.zeros((len(parts.limits), 1))], [-gained, np.ones((len(gained), 1))]])
    right = np.concatenate([parts.right, np.zeros(len(gained))])
    level = np.append(np.zeros(gained.shape[1]), -1.0)
    return float(-linprog(level, limits, right, bounds=[*parts.bounds, (None, None)]).fun)


def finish_data(data: SloInstance, elapsed_s: Any = 0.0, isolated_s: Any = 0.0) -> FinishTimeInstance:
    """The same with times by job, or one time for all."""
    every = np.ones(len(data.jobs))
    times = {"elapsed_s": every * elapsed_s, "isolated_s": every * isolated_s}
    return FinishTimeInstance(**_fields(data), steps=data.steps, **times)


def isolated(data: SloInstance, aware: bool = True) -> FloatArray:
    """(jobs,) throughput with 1/M of the cluster, written from the paper; of two placements the faster one."""
    gained, types = dense(data, aware).gained, len(data.types)
    found = []
    for m in range(len(data.jobs)):
        best = np.zeros(len(data.capacity))
        for j in range(types):
            accelerator_of = int(np.asarray(data.accelerator)[j])
            best[accelerator_of] = max(best[accelerator_of], gained[m, j, m * types + j])
        owned = data.capacity / len(data.jobs) / data.gang[m]
        found.append(best @ owned / max(1.0, owned.sum()))
    return np.array(found)


def better(data: AllocationInstance, shares: FloatArray) -> tuple[float, FloatArray]:
    """By how much all normalised throughput can grow if no job's falls (section 4.4), and shares with which it does.

    The allocation in question is Pareto efficient if that is 0.
    """
    parts = dense(PricedInstance(**_fields(data), price=np.ones(len(data.capacity))))
    had = data.normalised(shares)
    found = parts.best((parts.throughput / data.equal[:, None]).sum(axis=0), had * data.equal * (1 - 1e-9))
    assert found.status == 0, found.message
    return -found.fun - had.sum(), found.x.reshape(-1, len(data.types))


def levels(result: Any) -> Any:
    return np.array(list(result.values["levels"].values()))
