"""Steps per second of a job on a placement: table look-up, scaling law, node speeds, co-located pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.scenario.cluster import Cluster
from workbench.scenario.frozen import Count, Fraction, Frozen, Name, Seconds, Speed

Placement = Literal["consolidated", "unconsolidated"]
ROUNDING = 1e-12
"""Part of a step that is not one: steps left are sums of rounded numbers."""


class ThroughputRow(Frozen):
    """Measured speed of a gang of `gpus` on one accelerator type.

    steps_per_s: of the whole gang, 0 where it cannot run; nodes: the row holds for exactly that many nodes; sync_s:
    seconds of one synchronisation of the gang.
    """

    model: Name
    accelerator: Name
    gpus: Count = 1
    placement: Placement = "consolidated"
    nodes: Count | None = None
    steps_per_s: Speed
    sync_s: Seconds | None = None


class ColocatedRow(Frozen):
    """Measured speeds of two jobs of `gpus` GPUs each that share all their slots; each unordered pair once.

    Two jobs of one model are alike: both speeds are the same.
    """

    model: Name
    with_model: Name
    accelerator: Name
    gpus: Count = 1
    placement: Placement = "consolidated"
    steps_per_s: Speed
    with_steps_per_s: Speed


class Scaling(Frozen):
    """How to fill GPU counts that the table lacks.

    none: they cannot run. power: r(n) = r(k) (n/k)^(1 + log2 efficiency) from the largest listed count k below n, else
    the smallest above it; each doubling keeps `efficiency` of the ideal speed-up, 1 is linear scaling.
    """

    law: Literal["none", "power"] = "none"
    efficiency: Fraction = 0.9

    def extend(self, known: Mapping[int, float], gpus: int) -> float:
        """Steps/s at `gpus` GPUs from the listed counts, 0 if the law is none or nothing is listed."""
        if self.law == "none" or not known:
            return 0.0
        below = [count for count in known if count < gpus]
        near = max(below) if below else min(known)
        return float(known[near] * (gpus / near) ** (1.0 + math.log2(self.efficiency)))


class TaskTimes(NamedTuple):
    """Seconds that one step of a task takes on a GPU of a type (Hare): computing, inf where it cannot run, and then
    synchronising.

    note: `clamped` where a gang is faster than its GPUs one by one, so that no time is left to synchronise;
    `from_gang` where a GPU alone has no speed, so that computing includes the synchronisation of the gang.
    """

    compute_s: float
    sync_s: float
    note: Literal["", "clamped", "from_gang"] = ""

    @classmethod
    def of(
        cls, steps_per_s: Callable[[int], float], tasks: int, sizes: Sequence[int], listed_s: float | None
    ) -> TaskTimes:
        """From r(n), the steps/s of a gang of n: 1/r(1), and `listed_s` or else max(0, K/r(K) - 1/r(1)).

        tasks: K of a round; sizes: of the job's gangs; listed_s: what is measured of one synchronisation.
        """
        alone, gang = steps_per_s(1), steps_per_s(tasks)
        if alone <= 0:
            known = next((size / rate for size in (tasks, *sizes) if (rate := steps_per_s(size)) > 0), math.inf)
            return cls(known, 0.0, "from_gang" if known < math.inf else "")
        if listed_s is not None or gang <= 0:
            return cls(1.0 / alone, listed_s or 0.0)
        rest_s = tasks / gang - 1.0 / alone
        return cls(1.0 / alone, max(0.0, rest_s), "clamped" if rest_s < -1e-9 / alone else "")


@dataclass(frozen=True, slots=True)
class TaskRounds:
    """How a job is divided into task rounds of tasks (Hare): how many, the steps of each task, but in the last
    round, where each does an equal part of what is left."""

    count: int
    steps_each: int
    last_steps: float

    @classmethod
    def of(cls, steps: float, tasks: int, steps_each: int) -> TaskRounds:
        """Of a job with so many steps left, in rounds of `tasks` tasks."""
        count = max(math.ceil(steps / (tasks * steps_each) * (1 - ROUNDING)), 1)
        return cls(count, steps_each, steps / tasks - (count - 1) * steps_each)

    def steps(self, number: int) -> float:
        """Steps of one task of a round."""
        return float(self.steps_each) if number < self.count - 1 else self.last_steps

    def whole_steps(self, number: int) -> int:
        """The same, a part of a step counted as one: what computing and synchronising take time for."""
        return max(math.ceil(self.steps(number) * (1 - ROUNDING)), 1)


class Throughputs:
    """Speeds of every model on one cluster. All results are steps/s of the whole gang; 0 means it cannot run there."""

    def __init__(
        self,
        cluster: Cluster,
        rows: Iterable[ThroughputRow],
        colocated: Iterable[ColocatedRow] = (),
        scaling: Scaling | None = None,
    ) -> None:
        self.cluster = cluster
        self.scaling = scaling or Scaling()
        self._rows: dict[tuple[str, str, Placement, int | None], dict[int, float]] = {}
        self._sync: dict[tuple[str, str, int], float] = {}
        for row in rows:
            table = self._rows.setdefault((row.model, row.accelerator, row.placement, row.nodes), {})
            table[row.gpus] = row.steps_per_s
            if row.sync_s is not None:
                self._sync[row.model, row.accelerator, row.gpus] = row.sync_s
        self._pairs: dict[tuple[str, str, str, int, Placement], tuple[float, float]] = {}
        for pair in colocated:
            key = (pair.accelerator, pair.gpus, pair.placement)
            self._pairs[pair.model, pair.with_model, *key] = (pair.steps_per_s, pair.with_steps_per_s)
            if pair.with_model != pair.model:
                self._pairs[pair.with_model, pair.model, *key] = (pair.with_steps_per_s, pair.steps_per_s)
        self._nodes = {node.name: node for node in cluster.each_node}
        self._class_of = {node.name: (node.accelerator, node.speed) for node in cluster.each_node}
        self._alone = {node: frozenset([those]) for node, those in self._class_of.items()}
        self._gangs: dict[tuple[str, int, int, frozenset[tuple[str, float]], bool], float] = {}

    def row(
        self,
        model: str,
        accelerator: str,
        gpus: int,
        placement: Placement = "consolidated",
        nodes: int | None = None,
    ) -> float:
        """Steps/s on one type: the row of exactly `nodes` nodes, then of the word, then the consolidated one."""
        tables: list[tuple[Placement, int | None]] = [(placement, None), ("consolidated", None)]
        if nodes is not None:  # a row for so many nodes holds whatever word it carries
            tables = [(placement, nodes), ("consolidated", nodes), ("unconsolidated", nodes), *tables]
        for word, count in tables:
            table = self._rows.get((model, accelerator, word, count), {})
            if gpus in table:
                return table[gpus]
        for word, count in tables:
            table = self._rows.get((model, accelerator, word, count), {})
            if table:
                return self.scaling.extend(table, gpus)
        return 0.0

    def _gang(self, model: str, accelerator: str, gpus: int, placement: Placement) -> float:
        nodes = self.cluster.fewest_nodes(accelerator, gpus) if placement == "consolidated" else None
        return self.row(model, accelerator, gpus, placement, nodes)

    def can_run(self, model: str, accelerator: str, gpus: int) -> bool:
        """Whether a gang of `gpus` has a speed on a type: on the fewest nodes, or spread over more where there are.

        A gang that the type alone cannot hold may mix types: then any row of the model for so many GPUs counts.
        """
        fewest = self.cluster.fewest_nodes(accelerator, gpus)
        if fewest is None:
            words: tuple[Placement, ...] = ("consolidated", "unconsolidated")
            return any(self.row(model, accelerator, gpus, word) > 0 for word in words)
        most = min(gpus, sum(node.accelerator == accelerator for node in self.cluster.each_node))
        spread = range(fewest + 1, most + 1)
        return self._gang(model, accelerator, gpus, "consolidated") > 0 or any(
            self.row(model, accelerator, gpus, "unconsolidated", nodes) > 0 for nodes in spread
        )

    def sync_s(self, model: str, accelerator: str, gpus: int) -> float | None:
        """Seconds of one synchronisation, None where the table does not say."""
        return self._sync.get((model, accelerator, gpus))

    @property
    def synchronisation_s(self) -> Mapping[tuple[str, str, int], float]:
        """Seconds of one synchronisation by (model, type, GPUs), where the table says so."""
        return MappingProxyType(self._sync)

    def task_times(self, model: str, accelerator: str, tasks: int, sizes: Sequence[int]) -> TaskTimes:
        """Seconds of a step of one of `tasks` parallel tasks on a GPU of a type, a node's speed left aside."""

        def steps_per_s(gpus: int) -> float:
            found = self._gang(model, accelerator, gpus, "consolidated")
            return found or self.row(model, accelerator, gpus, "unconsolidated")

        return TaskTimes.of(steps_per_s, tasks, sizes, self.sync_s(model, accelerator, tasks))

    def matrix(
        self,
        models: Sequence[str],
        gpus: Sequence[int],
        placement: Placement = "consolidated",
        types: Sequence[str] | None = None,
    ) -> FloatArray:
        """(jobs x types) steps/s of gang `gpus[i]` of `models[i]`; types default to the cluster's.

        A consolidated gang is on the fewest nodes that could hold it: a row for exactly so many nodes counts first.
        """
        types = self.cluster.types if types is None else types
        known: dict[tuple[str, int], list[float]] = {}
        rows = []
        for key in zip(models, gpus, strict=True):
            if key not in known:
                known[key] = [self._gang(key[0], name, int(key[1]), placement) for name in types]
            rows.append(known[key])
        return np.array(rows, dtype=float).reshape(len(rows), len(types))

    def word(self, accelerator: str, gpus: int, nodes: int) -> Placement:
        """Whether a gang of `gpus` on `nodes` nodes is on the fewest nodes of that type that could hold it."""
        fewest = self.cluster.fewest_nodes(accelerator, gpus)
        return "consolidated" if fewest is not None and nodes <= fewest else "unconsolidated"

    def on_nodes(self, model: str, placed: Mapping[str, int], *, node_speeds: bool = True) -> float:
        """Steps/s of a gang on `{node: GPUs}`: n x its slowest GPU, min over nodes of row(type, n)/n x node speed."""
        if not placed:
            return 0.0
        # What matters of a node is its type and speed: the same gang is looked up once for each such set of nodes.
        if len(placed) == 1:  # as most are
            ((node, gpus),) = placed.items()
            classes = self._alone[node]
        else:
            gpus, classes = sum(placed.values()), frozenset(map(self._class_of.__getitem__, placed))
        key = (model, gpus, len(placed), classes, node_speeds)
        found = self._gangs.get(key)
        if found is None:
            found = self._gangs[key] = self._slowest(*key)
        return found

    def _slowest(
        self, model: str, gpus: int, nodes: int, classes: Iterable[tuple[str, float]], node_speeds: bool
    ) -> float:
        return min(
            self.row(model, accelerator, gpus, self.word(accelerator, gpus, nodes), nodes)
            * (speed if node_speeds else 1.0)
            for accelerator, speed in classes
        )

    def pair_row(
        self, model: str, with_model: str, accelerator: str, gpus: int, placement: Placement = "consolidated"
    ) -> tuple[float, float] | None:
        """Steps/s of both members of a co-located pair; None if they may not share."""
        for word in (placement, "consolidated"):
            found = self._pairs.get((model, with_model, accelerator, gpus, word))
            if found is not None:
                return found
        return None

    def pair_on_nodes(self, model: str, with_model: str, placed: Mapping[str, int]) -> tuple[float, float] | None:
        """Steps/s of both members of a pair on `{node: GPUs}`, each at its slowest node; None if they may not share."""
        gpus, nodes = sum(placed.values()), len(placed)
        slowest = (math.inf, math.inf)
        for name in placed:
            node = self._nodes[name]
            word = self.word(node.accelerator, gpus, nodes)
            rates = self.pair_row(model, with_model, node.accelerator, gpus, word)
            if rates is None:
                return None
            slowest = (min(slowest[0], rates[0] * node.speed), min(slowest[1], rates[1] * node.speed))
        return slowest if placed else None
