"""Speeds of gangs, scaled as on another type: what Sia calls bootstrapped (SOSP 2023, section 3.2), and Hops crude
(section 1).

speed_B(n) = speed_B(n_0) / speed_A(n_0) x speed_A(n)                                     (Sia 3.2)

A job is profiled on each type with the fewest GPUs on which it runs, n_0, which is 1 for most. A gang is taken to scale
perfectly until one of the job has been measured: from then on gangs on other types B are taken to scale as that on A
did, and what was measured on a type itself replaces the estimate there.

(ours): where another number of GPUs was measured, the nearest one says how gangs scale, on the type itself if it can,
else the mean over types; nodes of a type are alike and where a gang stands does not matter; jobs that share GPUs are
not estimated, none may. Where a job cannot run at all is known, as its memory is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.oracle import GangEstimator
from workbench.scheduling.snapshot import Observation


class ScaledAcrossTypes(GangEstimator):
    """The belief of Sia's estimator. It learns, so every run takes a new one."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self._most = {name: int(count) for name, count in _gpus(scenario).items()}
        self._profiles: dict[tuple[str, str], tuple[int, float]] = {}
        self._measured: dict[str, dict[tuple[str, int], tuple[float, float]]] = {}

    def learn(self, observations: Sequence[Observation]) -> None:
        """Put the mean of what was measured of a job, weighted by its seconds, in place of estimates."""
        for seen in observations:
            kinds = {self._types[node] for node in seen.gpus}
            if len(kinds) > 1 or (isinstance(seen.unit, tuple) and isinstance(seen.unit[1], str)):
                continue  # neither a gang on several types nor a pair says what it does on one type alone
            mine, key = self._measured.setdefault(seen.job, {}), (kinds.pop(), sum(seen.gpus.values()))
            total, seconds = mine.get(key, (0.0, 0.0))
            mine[key] = (total + seen.steps_per_s * seen.seconds, seconds + seen.seconds)

    def _profile(self, job: Job, kind: str) -> tuple[int, float]:
        """The fewest GPUs of a type on which a job runs, and its speed there; (1, 0) where it does on none."""
        key = job.model, kind
        if key not in self._profiles:
            able = ((n, self._table.row(job.model, kind, n)) for n in range(1, self._most[kind] + 1))
            self._profiles[key] = next((found for found in able if found[1] > 0), (1, 0.0))
        return self._profiles[key]

    def _gang(self, job: Job, kind: str, gpus: int) -> float:
        measured = self._measured.get(job.name, {})
        if (kind, gpus) in measured:
            total, seconds = measured[kind, gpus]
            return total / seconds
        least, speed = self._profile(job, kind)
        return speed * gpus / least * (self._efficiency(job, kind, gpus) if gpus > least else 1.0)

    def _efficiency(self, job: Job, kind: str, gpus: int) -> float:
        """How much of perfect scaling a gang keeps, by what was measured of the job; 1 before anything was."""
        found: dict[str, dict[int, float]] = {}
        for (at, count), (total, seconds) in self._measured.get(job.name, {}).items():
            least, speed = self._profile(job, at)
            if count > least and speed > 0:
                found.setdefault(at, {})[count] = total / seconds / (speed * count / least)
        own = [found[kind]] if kind in found else list(found.values())
        kept = [of[min(of, key=lambda count: (abs(count - gpus), count))] for of in own]
        return float(np.mean(kept)) if kept else 1.0


def _gpus(scenario: Scenario) -> Mapping[str, int]:
    """GPUs of each type."""
    found = dict.fromkeys(scenario.cluster.types, 0)
    for node in scenario.cluster.each_node:
        found[node.accelerator] += node.gpus
    return found
