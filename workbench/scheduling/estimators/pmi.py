"""HadarE's estimate of throughputs before anything has been measured (section V-A, equation (10)).

throughput = PMI x batch_size x pcie_scaling / (model_weight x dataset_size)     (10)
PMI = TFLOPS / sqrt(VRAM in GB)

The paper describes PMI in words only, as TFLOPS over VRAM "in a square root fashion". Weights of models and sizes of
data sets are on the scale S, M, L, XL, of which it gives no numbers: 1, 2, 3, 4 (ours).

- (10) has no unit: it compares nodes and models. What has been measured gives it one (ours): estimates of a model are
  multiplied by the mean of measured over estimated steps/s where that model ran, those of a model that never ran by the
  mean over all models that did, and before the first measurement they stand as they are.
- It is for one GPU. A gang of n is estimated at n times that, whatever the nodes (ours).
- What was measured of a model and number of GPUs on a node replaces the estimate there; on other nodes of that type its
  mean over the nodes where it ran does (ours).
- Where a job cannot run at all is known, as its memory is. Jobs that share GPUs are not estimated: none may.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from workbench.base.errors import InputError
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.oracle import GangEstimator
from workbench.scheduling.snapshot import Observation

SCALE: Mapping[str, float] = {"S": 1.0, "M": 2.0, "L": 3.0, "XL": 4.0}
"""Numbers of model weights and data set sizes (ours)."""
NEEDED = "a number > 0: the throughput estimate needs it"


def performance_memory_index(tflops: float, memory_gb: float) -> float:
    """PMI, from a GPU's TFLOPS with tensor cores and its VRAM in GB."""
    for name, value in (("tflops", tflops), ("memory_gb", memory_gb)):
        if not (math.isfinite(value) and value > 0):
            raise InputError(name, value, "a number > 0")
    return tflops / math.sqrt(memory_gb)


def estimate(pmi: float, batch_size: float, pcie_scaling: float, model_weight: float, dataset_size: float) -> float:
    """(10), of one GPU; raises InputError for a value that is not above 0."""
    given = {
        "pmi": pmi,
        "batch_size": batch_size,
        "pcie_scaling": pcie_scaling,
        "model_weight": model_weight,
        "dataset_size": dataset_size,
    }
    for name, value in given.items():
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"throughput estimate, {name}", value, "a number > 0")
    return pmi * batch_size * pcie_scaling / (model_weight * dataset_size)


class Key(NamedTuple):
    """What was measured: a model on so many GPUs of a node."""

    model: str
    gpus: int
    node: str


class Pmi(GangEstimator):
    """The belief by (10), which learns what is measured. It needs a new one for every run.

    Raises InputError for a scenario that does not tell what (10) asks of its accelerator types and its jobs' models.
    """

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        models = _models(scenario)
        self._single = {
            (name, kind): estimate(pmi, batch_size, pcie_scaling, weight, size)
            for kind, (pmi, pcie_scaling) in _accelerators(scenario).items()
            for name, (batch_size, weight, size) in models.items()
        }
        self._measured: dict[Key, tuple[float, float]] = {}
        self._of_type: dict[tuple[str, int, str], float] = {}
        self._ratio: dict[str, float] = {}
        self._mean_ratio = 1.0

    def learn(self, observations: Sequence[Observation]) -> None:
        """Put the mean of what was measured, weighted by its seconds, in place of estimates."""
        for seen in observations:
            if isinstance(seen.unit, tuple) and isinstance(seen.unit[1], str):
                continue  # what two jobs that share their GPUs do says nothing of one alone
            if len(seen.gpus) > 1:
                continue  # nor does what a gang does on several nodes of one of them
            [(node, gpus)] = seen.gpus.items()
            key = Key(self._jobs[seen.job].model, gpus, node)
            total, seconds = self._measured.get(key, (0.0, 0.0))
            self._measured[key] = (total + seen.steps_per_s * seen.seconds, seconds + seen.seconds)
        self._summarise()

    def _summarise(self) -> None:
        """Means by type, and how measured speeds compare with (10)."""
        by_type: dict[tuple[str, int, str], list[float]] = {}
        by_model: dict[str, list[float]] = {}
        for key, (total, seconds) in self._measured.items():
            kind, speed = self._types[key.node], total / seconds
            by_type.setdefault((key.model, key.gpus, kind), []).append(speed)
            by_model.setdefault(key.model, []).append(speed / (self._single[key.model, kind] * key.gpus))
        self._of_type = {key: float(np.mean(found)) for key, found in by_type.items()}
        self._ratio = {model: float(np.mean(found)) for model, found in by_model.items()}
        self._mean_ratio = float(np.mean(list(self._ratio.values()))) if self._ratio else 1.0

    def _gang(self, job: Job, kind: str, gpus: int) -> float:
        measured = self._of_type.get((job.model, gpus, kind))
        if measured is not None:
            return measured
        return self._single[job.model, kind] * gpus * self._ratio.get(job.model, self._mean_ratio)

    def _on_node(self, job: Job, node: str, gpus: int) -> float:
        if (job.model, gpus, node) in self._measured:
            total, seconds = self._measured[Key(job.model, gpus, node)]
            return total / seconds
        return super()._on_node(job, node, gpus)


def _accelerators(scenario: Scenario) -> dict[str, tuple[float, float]]:
    """PMI and PCIe scaling of the accelerator types with nodes, which must say what (10) asks of them."""
    found: dict[str, tuple[float, float]] = {}
    for i, a in enumerate(scenario.cluster.accelerators):
        if a.name not in scenario.cluster.types:
            continue
        where = f"cluster.accelerators[{i}] ({a.name})"
        if a.tflops is None:
            raise InputError(f"{where}.tflops", None, NEEDED)
        if a.memory_gb is None:
            raise InputError(f"{where}.memory_gb", None, NEEDED)
        found[a.name] = performance_memory_index(a.tflops, a.memory_gb), a.pcie_scaling
    return found


def _models(scenario: Scenario) -> dict[str, tuple[float, float, float]]:
    """Batch size, weight and size of the data set of the jobs' models, which must say what (10) asks of them."""
    known = {model.name: (i, model) for i, model in enumerate(scenario.models)}
    found: dict[str, tuple[float, float, float]] = {}
    for name in dict.fromkeys(job.model for job in scenario.jobs):
        if name not in known:
            raise InputError("models", list(known), f"an entry for {name}: the throughput estimate needs its facts")
        i, model = known[name]
        where = f"models[{i}] ({name})"
        if model.batch_size is None:
            raise InputError(f"{where}.batch_size", None, NEEDED)
        for field, value in (("size_class", model.size_class), ("dataset_class", model.dataset_class)):
            if value not in SCALE:
                expected = "one of " + ", ".join(SCALE) + ": the throughput estimate needs it"
                raise InputError(f"{where}.{field}", value, expected)
        found[name] = float(model.batch_size), SCALE[str(model.size_class)], SCALE[str(model.dataset_class)]
    return found
