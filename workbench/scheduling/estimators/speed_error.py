"""How far a belief's speeds of gangs and pairs are from the true ones, and how that changes in a run.

Hops's Fig. 7b: with more and more measurements the gap between predicted and actual throughput closes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError
from workbench.scenario.cluster import Node
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import Placement
from workbench.scheduling.snapshot import Belief, JobView, LearningBelief, Observation

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["calls", "observations", "measured_s", "error", "largest_error"]
SELDOM = 1.1
"""A log of a run of any length has a row when there have been so many times the calls of the row before."""
Errors = Callable[[Scenario, Belief], FloatArray]
"""The relative errors of a belief's speeds, of whatever kind."""


def configurations(scenario: Scenario, size: int) -> Iterator[dict[str, int]]:
    """`{node: GPUs}` of a gang on each node that holds it, and from each node over the next ones of its type.

    Over several nodes each is filled before the next is begun.
    """
    for kind in scenario.cluster.types:
        nodes = [node for node in scenario.cluster.each_node if node.accelerator == kind]
        for first, node in enumerate(nodes):
            if node.gpus >= size:
                yield {node.name: size}
            elif (over := _over(nodes[first:], size)) is not None:
                yield over
            if node.gpus >= size > 1 and first + 1 < len(nodes):
                yield {node.name: size - 1, nodes[first + 1].name: 1}


def speed_errors(scenario: Scenario, belief: Belief) -> FloatArray:
    """|believed - true| / true of the `configurations` of every size of the first job of each model.

    Those on which the job cannot run are left out. Raises InputError if none is left.
    """
    errors = []
    for job in {job.model: job for job in reversed(scenario.jobs)}.values():
        for size in job.sizes:
            for gpus in configurations(scenario, size):
                true = scenario.table.on_nodes(job.model, gpus)
                if true > 0:
                    errors.append(abs(belief.on_nodes(job, gpus) - true) / true)
    if not errors:
        raise InputError("jobs", len(scenario.jobs), "at least one with a speed > 0 on some nodes")
    return np.array(errors)


def pair_errors(scenario: Scenario, belief: Belief) -> FloatArray:
    """|believed - true| / true of both members of each of the scenario's pairs that may share (`colocated`).

    On types of which the cluster has no node nobody shares.
    """
    errors: list[float] = []
    for row in scenario.colocated:
        true = np.array([row.steps_per_s, row.with_steps_per_s])
        if true.min() <= 0 or row.accelerator not in scenario.cluster.types:
            continue
        one, two = (Job(name=name, model=name, steps=1, gpus=row.gpus) for name in (row.model, row.with_model))
        believed = belief.pair(one, two, row.accelerator, row.placement)
        errors += (np.abs(np.array(believed or (0.0, 0.0)) - true) / true).tolist()
    return np.array(errors)


class ErrorLog:
    """Makes beliefs for runs and notes their errors as they learn: `simulate(..., belief=ErrorLog(maker("layered")))`.

    table: one row for each belief as it is made and after each call of `learn` (every: only each so many calls; None:
    ever more seldom, `SELDOM`), with the calls, observations and seconds of measurements until then, the mean error and
    the largest. errors: of which speeds; no row where there are none.
    """

    def __init__(
        self, maker: Callable[[Scenario], Belief], every: int | None = 1, errors: Errors = speed_errors
    ) -> None:
        if every is not None and every < 1:
            raise InputError("every", every, "at least 1 call of learn")
        self.maker, self._every, self._errors = maker, every, errors
        self._rows: list[tuple[int, int, float, float, float]] = []

    def __call__(self, scenario: Scenario) -> Belief:
        """A belief for a run, watched."""
        belief = self.maker(scenario)
        if not isinstance(belief, LearningBelief):
            raise InputError("belief", belief, "one that learns: the error of another one does not change")
        return _Watched(belief, self._every, lambda: self._errors(scenario, belief), self._rows.append)

    def table(self) -> pd.DataFrame:
        """The errors so far, columns: `COLUMNS`."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=COLUMNS)


class _Watched:
    """A belief that learns, and tells its error each time it has."""

    def __init__(
        self,
        belief: LearningBelief,
        every: int | None,
        errors: Callable[[], FloatArray],
        note: Callable[[tuple[int, int, float, float, float]], None],
    ) -> None:
        self._belief, self._every, self._errors, self._note = belief, every, errors, note
        self._calls, self._observations, self._measured_s = 0, 0, 0.0
        self._next = 0
        self._tell()

    def learn(self, observations: Sequence[Observation]) -> None:
        self._belief.learn(observations)
        self._calls += 1
        self._observations += len(observations)
        self._measured_s += sum(seen.seconds for seen in observations)
        if self._calls == self._next:
            self._tell()

    def _tell(self) -> None:
        """Note the errors, and set the call after which that is done next."""
        calls = self._calls
        self._next = max(calls + 1, math.ceil(calls * SELDOM)) if self._every is None else calls + self._every
        errors = self._errors()
        if errors.size:
            self._note((calls, self._observations, self._measured_s, float(errors.mean()), float(errors.max())))

    def speeds(self, jobs: JobView, placement: Placement = "consolidated") -> FloatArray:
        return self._belief.speeds(jobs, placement)

    def steps_per_s(
        self,
        job: Job,
        accelerator: str,
        gpus: int,
        placement: Placement = "consolidated",
        nodes: int | None = None,
    ) -> float:
        return self._belief.steps_per_s(job, accelerator, gpus, placement, nodes)

    def on_nodes(self, job: Job, gpus: Mapping[str, int]) -> float:
        return self._belief.on_nodes(job, gpus)

    def pair(
        self, job: Job, other: Job, accelerator: str, placement: Placement = "consolidated"
    ) -> tuple[float, float] | None:
        return self._belief.pair(job, other, accelerator, placement)


def _over(nodes: Sequence[Node], size: int) -> dict[str, int] | None:
    """A gang on the nodes in turn, each filled; None if they cannot hold it."""
    taken: dict[str, int] = {}
    for node in nodes:
        taken[node.name] = min(node.gpus, size)
        size -= taken[node.name]
        if size == 0:
            return taken
    return None
