"""Hops's throughput estimator (sections 3.2, 3.3 and 3.5, Figs. 3 and 7): a database of three layers, read top down.

For every job and accelerator type there is a database:

1. *Entity*: steps/s per GPU measured on a server, by number of GPUs (aggregated, on one server) and by number of
   servers (distributed).
2. *Type*: the same over all servers of the type.
3. *Theory*: the basic times of an iteration, as a few iterations on one GPU of the type show them (the profiler). The
   formula (1) to (5) makes a throughput of them (`workbench.scheduling.estimators.iteration`).

A configuration is looked up for each of its servers, the entity layer first, then the type, then the theory; the gang
goes at its slowest server:

config_throughput = min_i throughput_i * sum_i d_i   (3.5)

What runs is measured and recorded in the two upper layers. Loading times fluctuate: they are recorded too, so that the
mixture (3) in the third layer comes nearer to the true one.

(ours): a scenario tells steps/s of a job, its loading times (`models.load_s`; where there are none, loading is part of
the computation) and sizes, not the basic times of an iteration: they are found from the smallest gang that runs there,
and (3) from as many draws as the profiler sees loads. What a gang over several servers does is a lower bound for each
of them, the slow one holds up the others: the entity layer keeps it by group of servers, and the best group tells of
the server. A gang over several types says nothing of one of them. Jobs of one model count as the same job submitted
again (knob `history`); each job by itself is the paper's. A server on which a job has no record counts as fast as its
type, as in the paper, or as fast as other jobs are there (knob `transfer`,
`workbench.scheduling.estimators.node_speeds`). Whether a job runs in a place at all is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError, Problem, ScenarioError, within
from workbench.scenario.job import Job
from workbench.scenario.scenario import Model, Scenario
from workbench.scenario.throughput import Placement
from workbench.scheduling.estimators.iteration import (
    Formula,
    Modules,
    Pattern,
    communication_s,
    iteration_s,
    modules_of,
    steps_per_s,
)
from workbench.scheduling.estimators.loading import Loading, LoadRecord
from workbench.scheduling.estimators.node_speeds import NodeNames, NodeSpeeds, nodes_of
from workbench.scheduling.estimators.noise import check_drawn, seed_knob
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.knob import Knob
from workbench.scheduling.snapshot import JobView, Observation

KNOBS = (
    Knob(
        "iterations",
        30,
        "Iterations for which a new job is profiled on each type (the paper: 10 to 50)",
        source="paper",
        kind="int",
        minimum=1,
        maximum=1_000_000,
    ),
    Knob(
        "pattern",
        1,
        "What overlaps: 1 communication with the backward pass and data loading with both, 2 only the former",
        source="paper",
        kind="int",
        choices=(1, 2),
    ),
    Knob(
        "waiting",
        True,
        "Count the mean wait for the GPU whose data comes last (otherwise no GPU waits)",
    ),
    Knob(
        "mean_only",
        False,
        "Put the means of the loading times into the formula, instead of taking the mean of its values",
    ),
    Knob("update", True, "Count the update of the weights in pattern 2 too (the paper prints it in 1 only)"),
    Knob(
        "history",
        "model",
        "Whose measurements tell of a job: those of all jobs of its model, or its own alone (the paper)",
        choices=("model", "job"),
    ),
    Knob(
        "distributed",
        "nodes",
        "Distributed throughput is kept by number of nodes, or by number of nodes and GPUs (ours)",
        source="paper",
        choices=("nodes", "nodes_and_gpus"),
    ),
    Knob(
        "transfer",
        False,
        "Let what any job shows of a server's speed tell of the others there too, where they have no record on it",
    ),
    seed_knob("loading times"),
)

_Layer = Literal["entity", "type", "theory"]
_Key = tuple[int, int]
"""Nodes and GPUs; in the distributed table by nodes the GPUs are 0."""


class LookUp(NamedTuple):
    """What the database says of a job on one server. layer: where it was found; steps_per_s: per GPU."""

    layer: _Layer
    steps_per_s: float


@dataclass
class _Mean:
    """A mean of steps/s per GPU, weighted by the seconds over which it was measured."""

    steps: float = 0.0
    seconds: float = 0.0

    def add(self, steps_per_s: float, seconds: float) -> None:
        self.steps += steps_per_s * seconds
        self.seconds += seconds

    @property
    def steps_per_s(self) -> float:
        return self.steps / self.seconds


@dataclass
class _Database:
    """What is known of a job on one accelerator type.

    modules: the third layer, with the loading times measured so far; loading: the true ones, from which more are drawn.
    """

    modules: Modules
    loading: Loading
    record: LoadRecord
    rng: np.random.Generator
    kinds: dict[_Key, dict[NodeNames, _Mean]] = field(default_factory=dict)
    entities: dict[str, dict[_Key, dict[NodeNames, _Mean]]] = field(default_factory=dict)
    theory: dict[_Key, float] = field(default_factory=dict)

    def load(self, loads: int) -> None:
        """Measure so many more loads."""
        if loads and self.loading.fluctuates:
            self.record = self.record.drawn(self.loading, loads, self.rng)
            self.modules = self.modules._replace(loading=self.record.loading())
            self.theory.clear()

    def note(self, key: _Key, nodes: NodeNames, steps_per_s: float, seconds: float) -> None:
        """Record steps/s per GPU in both upper layers."""
        mean = self.kinds.setdefault(key, {}).setdefault(nodes, _Mean())
        mean.add(steps_per_s, seconds)
        for node in nodes:
            self.entities.setdefault(node, {}).setdefault(key, {})[nodes] = mean

    def on_server(self, key: _Key, node: str) -> float | None:
        """The entity layer: of the groups that a server was in, the one that it held up least."""
        groups = self.entities.get(node, {}).get(key)
        return max(mean.steps_per_s for mean in groups.values()) if groups else None

    def on_type(self, key: _Key, speed: Callable[[NodeNames], float]) -> float | None:
        """The type layer: the mean over all groups, each over the speed of its servers."""
        groups = self.kinds.get(key)
        if not groups:
            return None
        steps = sum(mean.steps / speed(nodes) for nodes, mean in groups.items())
        return steps / sum(mean.seconds for mean in groups.values())


class Layered(Oracle):
    """The belief of Hops's estimator; the keywords are its knobs. It learns, so every run takes a new one.

    Raises ScenarioError where a job may run on several GPUs and the sizes or bandwidths that communication depends on
    are missing.
    """

    def __init__(
        self,
        scenario: Scenario,
        iterations: int = 30,
        pattern: Pattern = 1,
        waiting: bool = True,
        mean_only: bool = False,
        update: bool = True,
        history: Literal["model", "job"] = "model",
        distributed: Literal["nodes", "nodes_and_gpus"] = "nodes",
        transfer: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(scenario)
        given = {
            "iterations": iterations,
            "pattern": pattern,
            "waiting": waiting,
            "mean_only": mean_only,
            "update": update,
            "history": history,
            "distributed": distributed,
            "transfer": transfer,
            "seed": seed,
        }
        check_drawn(KNOBS, given)
        _require_facts(scenario)
        self._cluster = scenario.cluster
        self._iterations, self._pattern, self._seed = iterations, pattern, seed
        self._formula = Formula(update, mean_only, waiting)
        self._own_history, self._by_gpus = history == "job", distributed == "nodes_and_gpus"
        self._facts = {model.name: model for model in scenario.models}
        self._links = {a.name: a.link_gbps for a in scenario.cluster.accelerators}
        self._jobs = {job.name: job for job in scenario.jobs}
        self._types = {node.name: node.accelerator for node in scenario.cluster.each_node}
        models = dict.fromkeys(row.model for row in scenario.throughputs)
        self._number = {name: i for i, name in enumerate(self._jobs if self._own_history else models)}
        self._sizes = _sizes(scenario)
        self._transfer, self._servers = transfer, NodeSpeeds()
        self._databases: dict[tuple[str, str], _Database] = {}
        self._believed: dict[tuple[str, str, int, Placement], list[float]] = {}

    def speeds(self, jobs: JobView, placement: Placement = "consolidated") -> FloatArray:
        """(jobs x types) steps/s of each job's gang on one type."""
        rows = []
        for job, gpus in zip(jobs.jobs, jobs.gpus.tolist(), strict=True):
            key = (self._owner(job), job.model, gpus, placement)
            if key not in self._believed:
                types = self._cluster.types
                self._believed[key] = [self.steps_per_s(job, name, gpus, placement) for name in types]
            rows.append(self._believed[key])
        return np.array(rows, dtype=float).reshape(len(rows), len(self._cluster.types))

    def steps_per_s(
        self,
        job: Job,
        accelerator: str,
        gpus: int,
        placement: Placement = "consolidated",
        nodes: int | None = None,
    ) -> float:
        """Steps/s of a job on `gpus` GPUs of one type, which server it may be."""
        self._require_type(accelerator)
        count = self._nodes(accelerator, gpus, placement) if nodes is None else nodes
        if super().steps_per_s(job, accelerator, gpus, placement, count) <= 0:
            return 0.0
        return gpus * self._read(job, accelerator, gpus, count, None).steps_per_s

    def on_nodes(self, job: Job, gpus: Mapping[str, int]) -> float:
        """Steps/s of a job's gang on `{node: GPUs}`: as many times the slowest server's as it has GPUs (3.5)."""
        self._require_nodes(gpus)
        if super().on_nodes(job, gpus) <= 0:
            return 0.0
        return sum(gpus.values()) * min(found.steps_per_s for found in self.look_up(job, gpus).values())

    def look_up(self, job: Job, gpus: Mapping[str, int]) -> dict[str, LookUp]:
        """What the database says of each server of a configuration `{node: GPUs}`, and in which layer it was found."""
        self._require_nodes(gpus)
        total, nodes = sum(gpus.values()), len(gpus)
        return {node: self._read(job, self._types[node], total, nodes, node) for node in gpus}

    def modules(self, job: Job, accelerator: str) -> Modules:
        """The third layer: basic times of an iteration of a job on a type, with the loading times seen so far."""
        return self._database(job, accelerator).modules

    def learn(self, observations: Sequence[Observation]) -> None:
        """Record what was measured of jobs that ran on one type, and the loading times that came by."""
        alone = [seen for seen in observations if isinstance(seen.unit, str) and len(self._kinds(seen)) == 1]
        if self._transfer:
            self._servers = self._servers.learnt(alone, self._expected)
        for seen in alone:
            gpus, nodes = sum(seen.gpus.values()), nodes_of(seen.gpus)
            database = self._database(self._jobs[seen.job], self._kinds(seen).pop())
            database.note(self._key(gpus, len(nodes)), nodes, seen.steps_per_s / gpus, seen.seconds)
            database.load(int(seen.steps_per_s * seen.seconds))
        if alone:
            self._believed.clear()

    def _kinds(self, seen: Observation) -> set[str]:
        return {self._types[node] for node in seen.gpus}

    def _expected(self, seen: Observation) -> float:
        """Steps/s that the theory expects of what was measured, on servers of no particular speed."""
        job, gpus = self._jobs[seen.job], sum(seen.gpus.values())
        [kind] = self._kinds(seen)
        return gpus * self._theory(self._database(job, kind), job, kind, gpus, len(seen.gpus))

    def _read(self, job: Job, accelerator: str, gpus: int, nodes: int, node: str | None) -> LookUp:
        """Top down: server (where one is meant), type, theory."""
        database, key = self._database(job, accelerator), self._key(gpus, nodes)
        there = database.on_server(key, node) if node is not None else None
        if there is not None:
            return LookUp("entity", there)
        if self._transfer and node is not None:
            speed, of = self._servers.of((node,)), self._servers.of
        else:
            speed, of = 1.0, _as_fast_as_any
        usual = database.on_type(key, of)
        if usual is not None:
            return LookUp("type", speed * usual)
        return LookUp("theory", speed * self._theory(database, job, accelerator, gpus, nodes))

    def _theory(self, database: _Database, job: Job, accelerator: str, gpus: int, nodes: int) -> float:
        """Steps/s per GPU by (1) to (5), with the loading times as they are known."""
        if (nodes, gpus) not in database.theory:
            exchange_s = self._communication_s(job.model, accelerator, gpus, nodes)
            length_s = iteration_s(database.modules, gpus, exchange_s, self._formula)
            database.theory[nodes, gpus] = steps_per_s(length_s)
        return database.theory[nodes, gpus]

    def _key(self, gpus: int, nodes: int) -> _Key:
        """The place in the tables: aggregated by GPUs, distributed by nodes."""
        return (nodes, gpus if nodes == 1 or self._by_gpus else 0)

    def _nodes(self, accelerator: str, gpus: int, placement: Placement) -> int:
        """How many nodes a placement is on: the fewest, or one more (ours), two at least of a gang that mixes types."""
        fewest = self._cluster.fewest_nodes(accelerator, gpus)
        if fewest is None:
            return min(gpus, 2)
        return min(gpus, fewest + (placement == "unconsolidated"))

    def _owner(self, job: Job) -> str:
        owner = job.name if self._own_history else job.model
        if owner not in self._number:
            raise InputError("belief layered", owner, "a job of the scenario, or a model with a row in throughputs")
        return owner

    def _require_type(self, accelerator: str) -> None:
        """Raise InputError for a type without a bandwidth: one that the cluster does not list."""
        if accelerator not in self._links:
            raise InputError("belief layered, accelerator", accelerator, "one of " + ", ".join(self._links))

    def _require_nodes(self, gpus: Mapping[str, int]) -> None:
        """Raise InputError for a node that the cluster has not."""
        for node in gpus.keys() - self._types.keys():
            raise InputError("belief layered, node", node, "one of " + ", ".join(self._types))

    def _database(self, job: Job, accelerator: str) -> _Database:
        self._require_type(accelerator)
        key = (self._owner(job), accelerator)
        if key not in self._databases:
            self._databases[key] = self._profiled(job.model, *key)
        return self._databases[key]

    def _profiled(self, model: str, owner: str, accelerator: str) -> _Database:
        """The database as the profiler leaves it: the basic times, and so many loads for each GPU."""
        facts = self._facts.get(model, Model(name=model))
        loading = Loading.of(facts.load_s)
        gpus, speed = self._smallest_gang(model, accelerator)
        nodes = self._nodes(accelerator, gpus, "consolidated")
        with within(f"{model} on {accelerator}"):
            exchange_s = self._communication_s(model, accelerator, gpus, nodes)
            modules = modules_of(gpus / speed, loading, gpus, exchange_s, self._pattern, self._formula)
        seed = np.random.SeedSequence([self._seed, self._number[owner], self._cluster.types.index(accelerator)])
        database = _Database(modules, loading, LoadRecord.empty(len(loading.probability)), np.random.default_rng(seed))
        database.load(self._iterations * gpus)
        return database

    def _smallest_gang(self, model: str, accelerator: str) -> tuple[int, float]:
        """GPUs and steps/s of the smallest gang that has a speed on a type, on the fewest nodes."""
        for gpus in self._sizes[model]:
            nodes = self._nodes(accelerator, gpus, "consolidated")
            speed = self._table.row(model, accelerator, gpus, "consolidated", nodes)
            if speed > 0:
                return gpus, speed
        raise InputError(
            f"throughputs of {model} on {accelerator}", 0, "a speed > 0 of one of its sizes, to profile it"
        )

    def _communication_s(self, model: str, accelerator: str, gpus: int, nodes: int) -> float:
        facts = self._facts.get(model)
        parameters_gb = facts.parameters_gb if facts is not None else None
        if gpus > 1 and parameters_gb is None:
            raise InputError(f"models: {model}.parameters_gb", None, "GB of parameters, which its GPUs exchange")
        link, network = self._links[accelerator], self._cluster.network_gbps
        return communication_s(parameters_gb or 0.0, gpus, nodes, link, network)


def _as_fast_as_any(nodes: NodeNames) -> float:
    return 1.0


def _sizes(scenario: Scenario) -> dict[str, list[int]]:
    """The gangs that each model may be profiled as, the smallest first."""
    sizes: dict[str, set[int]] = {row.model: {1} for row in scenario.throughputs}
    for row in scenario.throughputs:
        sizes[row.model].add(row.gpus)
    for job in scenario.jobs:
        sizes[job.model].update(job.sizes)
    return {model: sorted(found) for model, found in sizes.items()}


def _require_facts(scenario: Scenario) -> None:
    """Raise ScenarioError naming every fact of communication that a gang of several GPUs needs and nobody gave."""
    gangs = dict.fromkeys(job.model for job in scenario.jobs if max(job.sizes) > 1)
    if not gangs:
        return
    cluster, facts = scenario.cluster, {model.name: model for model in scenario.models}
    problems = [
        Problem(f"models: {name}.parameters_gb", None, "GB of parameters: belief layered works out communication by it")
        for name in gangs
        if name not in facts or facts[name].parameters_gb is None
    ]
    several = {node.accelerator for node in cluster.each_node if node.gpus > 1}
    problems += [
        Problem(f"cluster.accelerators: {a.name}.link_gbps", None, "Gbit/s inside a node, for belief layered")
        for a in cluster.accelerators
        if a.name in several and a.link_gbps is None
    ]
    if len(cluster.each_node) > 1 and cluster.network_gbps is None:
        expected = "Gbit/s between nodes, for belief layered (as in preset:hops_64)"
        problems.append(Problem("cluster.network_gbps", None, expected))
    if problems:
        raise ScenarioError(problems)
