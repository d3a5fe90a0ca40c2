"""What a scenario says of a Slurm site: its settings, partitions, limits and reservations (entities), its nodes, and
what each job asks for (attributes), as `workbench.scenario.traces.sacct` writes them.

What is not said is as Slurm's documentation has it by default (slurm.conf(5), release 22.05).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray
from workbench.base.errors import InputError, Words
from workbench.baselines.mechanisms.slurm.asks import JOB, Ask, Partition, ask_of, failed_of, says, wait_for_arrays
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.slurm_site import CPU
from workbench.scenario.traces.slurm_text import hosts, resources
from workbench.scenario.traces.slurm_values import is_yes, parameters, readable, span_s, takes

NODE = ("partitions", "cpus", "memory_mb", "weight", "features", "features 2", "features 3")
TRES_LIMITS = ("GrpTRES", "GrpTRESRunMins", "MaxTRES", "MaxTRESPerNode", "MaxTRESPU", "MaxTRESPA")
COUNT_LIMITS = ("GrpJobs", "MaxJobs", "MaxJobsPU", "MaxJobsPA")
SETTINGS = (
    *("PriorityCalcPeriod", "PriorityDecayHalfLife", "PriorityFavorSmall", "PriorityMaxAge"),
    *("PriorityWeightAge", "PriorityWeightFairShare", "PriorityWeightJobSize", "PriorityWeightPartition"),
    *("PriorityWeightQOS", "PriorityWeightTRES", "SchedulerParameters", "AccountingStorageEnforce"),
    *("SchedulerParameters 2", "SchedulerParameters 3", "PriorityType", "PriorityFlags", "FairShareDampeningFactor"),
    *("SchedulerType", "SelectTypeParameters"),
)
AS_SET = "as_set"
"""Names of what a what-if has set in an entity, lower than it was; of resources each (`MaxTRES gres/gpu`)."""
ENTITY = (
    *("kind", "name", "nodes", "cpus", "account", "parent", "user", "Share", "RawShares", "RawUsage", "Priority"),
    *("UsageFactor",),
    *("PriorityTier", "PriorityJobFactor", "MaxTime", "DefaultTime", "MaxNodes", "QoS", "State", "Policy", "Flags"),
    *("Nodes", "start_s", "end_s", "known_s"),
    *TRES_LIMITS,
    *COUNT_LIMITS,
    "MaxWall",
    AS_SET,
    *SETTINGS,
    "NodesChosen",
    *JOB,
    "gpus",
    "types",
)
"""Attributes of entities that are read; the last of those that stand for jobs (`beside`)."""
RULES: Mapping[str, int] = {"the tightest fit": 1, "the emptiest node": -1, "the first node": 0}
"""How else than Slurm a site may choose nodes (NodesChosen, ours): by so many times the free GPUs, then in order."""
Machines = BoolArray
"""Whether each machine of a site is one of some (machines,)."""
_Key = str | tuple[str, str]
"""Of an association: an account, or a user of one."""
POLICIES = {"fifo": "since_s", "shortest": "limit_s", "smallest": "gpus"}
"""What a partition's jobs can be in order by in place of priority (ours): who came first, time limit, GPUs."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Of an association, a quality of service or a partition's one: most resources and jobs, by Slurm's name; the
    longest limit of a job (MaxWall); as_set: which of them a what-if set."""

    tres: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    jobs: Mapping[str, float] = field(default_factory=dict)
    wall_s: float = math.inf
    as_set: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Association:
    """An account, or a user in one (then `account` is that); shares (nan: its parent's) and usage so far."""

    name: str
    parent: str
    user: str = ""
    shares: float = 1.0
    usage: float = 0.0
    limits: Caps = Caps()

    @property
    def by_parent(self) -> bool:
        """Whether it has its parent's shares (Fairshare=parent)."""
        return math.isnan(self.shares)


@dataclass(frozen=True, slots=True)
class KeptNodes:
    """Nodes kept from start_s to end_s (scenario time) for jobs that name it; nobody minds it before known_s."""

    name: str
    nodes: frozenset[str]
    start_s: float
    end_s: float
    known_s: float

    @property
    def edges_s(self) -> tuple[float, float, float]:
        """When what it keeps from others changes."""
        return self.known_s, self.start_s, self.end_s


@dataclass(frozen=True, slots=True, eq=False)
class SlurmSite:
    """A whole site. settings: seconds and numbers by name; enforced: whether limits hold; counts_ends: whether usage
    since the last PriorityCalcPeriod counts of jobs that end (`priority`); over_time: whether job sizes are divided by
    time limits (SMALL_RELATIVE_TO_TIME); by_priority: or first come, first served (priority/basic);
    fair_tree: or the older way (NO_FAIR_TREE); backfills: or the main scheduler alone (sched/builtin, bf_interval=-1);
    schedules: whether the main scheduler runs (sched_interval=-1: never);
    over_partition: QOS whose limits come before those of a partition's; rule: one of RULES, or empty;
    no_reserve: QOS for whose jobs backfill keeps no nodes; machine: of each core node which machine it is part
    of; types: of each its GPUs' type; inside: the machines of each partition, and of each `Ask.kind`;
    tres_weight: PriorityWeightTRES; tres: what each machine has, by resource (machines,); before: jobs that
    others wait for; failed: those that none can follow by afterok; children: accounts and users below each account;
    promised: the part of its siblings' shares that each has; above: each account, and those above it; beside: jobs
    that never started in the log, or ran on other machines, and the types on which they could; turns: when they came
    or began (False), and left (True)."""

    settings: Mapping[str, float]
    enforced: bool
    counts_ends: bool
    favors_small: bool
    over_time: bool
    by_priority: bool
    fair_tree: bool
    backfills: bool
    schedules: bool
    partitions: Mapping[str, Partition]
    qos: Mapping[str, Caps]
    qos_priority: Mapping[str, float]
    over_partition: frozenset[str]
    no_reserve: frozenset[str]
    rule: str
    accounts: Mapping[str, Association]
    users: Mapping[tuple[str, str], Association]
    reservations: tuple[KeptNodes, ...]
    machines: tuple[str, ...]
    machine: tuple[int, ...]
    types: tuple[str, ...]
    all_nodes: float
    all_cpus: float
    cpus: tuple[float, ...]
    memory_mb: tuple[float, ...]
    weight: tuple[float, ...]
    inside: Mapping[str, Machines]
    tres_weight: Mapping[str, float]
    tres: Mapping[str, FloatArray]
    asks: Mapping[str, Ask]
    before: frozenset[str]
    failed: frozenset[str]
    children: Mapping[str, tuple[_Key, ...]]
    promised: Mapping[_Key, float]
    above: Mapping[str, tuple[str, ...]]
    beside: Mapping[str, Sequence[str]]
    turns: Sequence[tuple[float, bool, str]]

    def __post_init__(self) -> None:
        if not (self.backfills or self.schedules):
            off = "neither backfill (sched/builtin, bf_interval=-1, backfill=off) nor the main scheduler"
            given = Words(f"{off} (sched_interval=-1)")
            raise InputError("config: SchedulerParameters", given, "one of them to run: else no job starts")

    @property
    def looks_s(self) -> list[float]:
        """How often, in seconds, each of the two schedulers looks, of those that run."""
        run = {"bf_interval": self.backfills, "sched_interval": self.schedules}
        return [max(self.settings[name], 1.0) for name, is_on in run.items() if is_on]

    def machines_of(self, partition: str) -> Machines:
        """Those of a partition: none of one that is declared and has no nodes; all, where nothing says which."""
        if partition in self.inside:
            return self.inside[partition]
        return np.full(len(self.machines), partition not in self.partitions or not self.inside)


DEFAULTS = {
    "PriorityCalcPeriod": 300.0,
    "PriorityDecayHalfLife": 7 * 86400.0,
    "PriorityMaxAge": 7 * 86400.0,
    "FairShareDampeningFactor": 1.0,
    "PriorityWeightAge": 0.0,
    "PriorityWeightFairShare": 0.0,
    "PriorityWeightJobSize": 0.0,
    "PriorityWeightPartition": 0.0,
    "PriorityWeightQOS": 0.0,
    "bf_interval": 30.0,
    "bf_window": 1440.0,
    "bf_resolution": 60.0,
    "bf_max_job_test": 500.0,
    "bf_max_job_user": 0.0,
    "bf_max_job_part": 0.0,
    "bf_max_job_array_resv": 20.0,
    "bf_job_part_count_reserve": 0.0,
    "bf_min_age_reserve": 0.0,
    "bf_window_linear": 0.0,
    "sched_interval": 60.0,
    "batch_sched_delay": 3.0,
    "default_queue_depth": 100.0,
    "partition_job_depth": 0.0,
}
DURATIONS = ("PriorityCalcPeriod", "PriorityDecayHalfLife", "PriorityMaxAge")


def read_site(scenario: Scenario) -> SlurmSite:
    """The site of a scenario; without entities one partition of all nodes, and no limits."""
    entries: dict[str, list[Mapping[str, Any]]] = {}
    for entity in scenario.entities:
        if kind := entity.attributes.get("kind"):
            entries.setdefault(str(kind), []).append(entity.attributes)
    config = config_of(scenario)
    nodes = _nodes_of(scenario)
    machines = nodes.names
    found = {str(each["name"]): partition_of(each) for each in entries.get("partition", [])}
    qos = {str(each["name"]): each for each in entries.get("qos", [])}
    reservations = tuple(_reservation(each) for each in entries.get("reservation", []))
    kept = {each.name for each in reservations}
    beside = [_beside(each) for each in entries.get("beside", [])]
    found |= _several(found, (str(job.attributes.get("partition", "")) for job in beside))
    jobs = [*scenario.jobs, *beside]
    comes = {job.name: i for i, job in enumerate(sorted(jobs, key=lambda job: job.arrival_s))}
    asks = {job.name: ask_of(job, found, kept, qos, comes[job.name]) for job in jobs}
    wait_for_arrays(asks)
    accounts = {str(each["account"]): _account(each) for each in entries.get("account", [])}
    users = {(str(each["user"]), str(each["account"])): _account(each) for each in entries.get("user", [])}
    children, promised = _shares_of(accounts, users)
    enforced = enforces(config)
    counted = str(config.get("SelectTypeParameters", "CR_CORE_MEMORY")).upper()
    counts_cpus = any(unit in counted for unit in ("CPU", "CORE", "SOCKET"))
    free = (math.inf,) * len(machines)  # what jobs ask for is not taken from anybody
    rule = str(config.get("NodesChosen", ""))
    if rule and rule not in RULES:
        raise InputError(f"config {config['name']}: NodesChosen", rule, f"one of {', '.join(RULES)}")
    return SlurmSite(
        settings=_settings(config),
        enforced=enforced,
        counts_ends=enforced,
        over_time=says(config, "PriorityFlags", "SMALL_RELATIVE_TO_TIME"),
        favors_small=is_yes(config.get("PriorityFavorSmall", "no")),
        by_priority=not says(config, "PriorityType", "basic"),
        fair_tree=not says(config, "PriorityFlags", "NO_FAIR_TREE"),
        backfills=backfills(config),
        schedules=schedules(config),
        partitions=found,
        qos={name: limits_of(each) for name, each in qos.items()},
        qos_priority={name: float(each.get("Priority", 0.0)) for name, each in qos.items()},
        over_partition=frozenset(name for name, each in qos.items() if says(each, "Flags", "OverPartQOS")),
        no_reserve=frozenset(name for name, each in qos.items() if says(each, "Flags", "NoReserve")),
        rule=rule,
        accounts=accounts,
        users=users,
        reservations=reservations,
        machines=machines,
        machine=nodes.where,
        types=tuple(node.accelerator.lower() for node in scenario.cluster.each_node),
        all_nodes=float(config.get("nodes", len(machines))),
        all_cpus=float(config.get("cpus", sum(nodes.cpus))),
        cpus=nodes.cpus if counts_cpus else free,
        memory_mb=nodes.memory_mb if "MEMORY" in counted else free,
        weight=nodes.weight,
        inside=_areas(jobs, asks, nodes, found),
        tres_weight={
            name: value for name, value in resources(",".join(_listed(config, "PriorityWeightTRES"))).items() if value
        },
        tres=nodes.tres,
        asks=asks,
        before=frozenset(name for ask in asks.values() for _, name in ask.after),
        failed=failed_of(jobs, asks),
        children=children,
        promised=promised,
        above={name: tuple(_above(accounts, name)) for name in accounts},
        beside={job.name: str(job.attributes["types"]).lower().split(",") for job in beside},
        turns=sorted(turn for job in beside for turn in _turns(job.name, dict(job.attributes))),
    )


class _Nodes(NamedTuple):
    """The machines of a cluster, and where: of each core node; inside: those of each partition; features: of each."""

    names: tuple[str, ...]
    where: tuple[int, ...]
    cpus: tuple[float, ...]
    memory_mb: tuple[float, ...]
    weight: tuple[float, ...]
    inside: Mapping[str, set[int]]
    features: Mapping[int, Set[str]]
    tres: dict[str, FloatArray]


def _nodes_of(scenario: Scenario) -> _Nodes:
    machines, facts, inside, features = dict[str, int](), list[tuple[float, ...]](), dict[str, set[int]](), {}
    where, gpus = list[int](), Counter[tuple[str, int]]()
    for node in scenario.cluster.each_node:
        name, attributes = node.name.partition("/")[0], node.attributes
        if name not in machines:
            machines[name] = len(machines)
            known = (("cpus", math.inf), ("memory_mb", math.inf), ("weight", 1.0))
            facts.append(tuple(float(attributes.get(each, default)) for each, default in known))
            for partition in str(attributes.get("partitions", "")).split(","):
                inside.setdefault(partition, set()).add(machines[name])
            said = (str(attributes.get(each, "")).split(",") for each in NODE if each.startswith("features"))
            features[machines[name]] = {word for words in said for word in words}
        where.append(machines[name])
        gpus["gres/gpu", machines[name]] += node.gpus if node.accelerator != CPU else 0
        gpus[f"gres/gpu:{node.accelerator.lower()}", machines[name]] += node.gpus
    cpus, memory_mb, weight = zip(*facts, strict=True)
    tres = {name: np.zeros(len(machines)) for name, _ in gpus}
    for (name, at), number in gpus.items():
        tres[name][at] = number
    tres |= {"cpu": np.array(cpus), "mem": np.array(memory_mb), "node": np.ones(len(machines))}
    return _Nodes(tuple(machines), tuple(where), cpus, memory_mb, weight, inside, features, tres)


def _areas(
    jobs: Sequence[Job], asks: Mapping[str, Ask], nodes: _Nodes, partitions: Mapping[str, Partition]
) -> dict[str, Machines]:
    """The machines of each partition, and of each `Ask.kind`."""
    every = np.arange(len(nodes.names))
    areas = {name: np.isin(every, [*each]) for name, each in nodes.inside.items() if name}
    for job in jobs:
        area, partition = asks[job.name].kind[2], asks[job.name].partition
        if "," in partition and (its := [areas[name] for name in partition.split(",") if name in areas]):
            areas[partition] = np.any(its, axis=0)
        if area != partition and area not in areas:
            of_partition = areas.get(partition, np.full(len(every), partition not in partitions or not nodes.inside))
            may = of_partition & _bound(job.attributes, nodes.names, nodes.features)
            areas[area] = may if may.sum() >= max(asks[job.name].nodes, 1) else of_partition
    return areas


def _turns(name: str, facts: Mapping[str, Any]) -> Iterator[tuple[float, bool, str]]:
    """When a job beside the scenario's comes to wait, or begins to run, and leaves."""
    from_s, end_s = facts.get("start_s", facts["eligible_s"]), facts.get("end_s", math.inf)
    if end_s < from_s:
        raise InputError(f"beside {name}: end_s", end_s, f"no time before {from_s:g}, when it came")
    yield from ((from_s, False, name), (end_s, True, name))


def _beside(record: Mapping[str, Any]) -> Job:
    """A job that was in the log's queue and never started, or ran on machines that are not the scenario's.

    Raises InputError where one of its facts is missing or of another kind.
    """
    facts = dict(record)
    for key in ("name", "types", "gpus", "eligible_s", *(key for key in ("start_s", "end_s") if key in facts)):
        given, text = facts.get(key), key in ("name", "types")
        if not isinstance(given, str if text else (int, float)):
            raise InputError(f"beside {facts.get('name')}: {key}", given, "a text" if text else "a number")
    if facts["gpus"] < 1 or not float(facts["gpus"]).is_integer():
        raise InputError(f"beside {facts['name']}: gpus", facts["gpus"], "a whole number of at least 1")
    since_s, on = max(facts["eligible_s"], 0.0), str(facts["types"]).replace(",", " or ")
    name = f"{facts['name']} ({'elsewhere' if 'start_s' in facts else 'never started'})"
    job = {"name": name, "model": f"recorded on {on}", "gpus": int(facts["gpus"])}
    job |= {"arrival_s": since_s, "steps": 1.0, "user": facts.get("user"), "attributes": facts}
    return Job.model_validate(job)


def _shares_of(
    accounts: Mapping[str, Association], users: Mapping[tuple[str, str], Association]
) -> tuple[dict[str, tuple[_Key, ...]], dict[_Key, float]]:
    """Who is ranked below each account, and which part of its shares each of them is promised."""
    every: dict[_Key, Association] = dict([*accounts.items(), *users.items()])
    children: dict[str, list[_Key]] = {}
    for key, one in every.items():
        if one.parent and (one.user or not one.by_parent):
            children.setdefault(_ranked_below(one, accounts), []).append(key)
    shares = {
        name: sum([every[key].shares for key in below if not every[key].by_parent]) for name, below in children.items()
    }
    promised = {
        key: math.inf if every[key].by_parent else every[key].shares / (shares[name] or 1.0)
        for name, below in children.items()
        for key in below
    }
    return {name: tuple(below) for name, below in children.items()}, promised


def _above(accounts: Mapping[str, Association], name: str) -> Iterator[str]:
    """An account and those above it, as far as they are known."""
    seen: set[str] = set()
    while name and name not in seen:
        seen.add(name)
        yield name
        name = accounts[name].parent if name in accounts else ""


def _ranked_below(one: Association, accounts: Mapping[str, Association]) -> str:
    """The account among whose children it is ranked: the first above that has shares of its own (Fairshare=parent)."""
    above = _above(accounts, one.parent)
    return next((name for name in above if name not in accounts or not accounts[name].by_parent), one.parent)


def _bound(job: Mapping[str, Any], machines: Sequence[str], features: Mapping[int, Set[str]]) -> Machines:
    """The machines that a job may have by --constraint, --nodelist and --exclude; counts of features (`a*2`) are left
    out, and lists of fewer nodes than it needs."""
    may = np.ones(len(machines), bool)
    if text := str(job.get("features", "")):
        may &= _with_features(re.findall(r"[&|()]|[^&|()]+", re.sub(r"\*\d+", "", text).translate(BRACKETS)), features)
    listed, excluded = ({*hosts(str(job.get(name, "")))} for name in ("nodelist", "exclude"))
    if listed and len(listed) >= float(job.get("nodes", 1.0)):
        may &= np.isin(machines, [*listed])
    return may & ~np.isin(machines, [*excluded])


BRACKETS = str.maketrans("[],", "()&")


def _with_features(words: list[str], features: Mapping[int, Set[str]]) -> Machines:
    """The machines that meet an expression, read from left to right as Slurm does; takes the words that it reads."""
    found, both = np.ones(len(features), bool), True
    while words and (word := words.pop(0)) != ")":
        if word in "&|":
            both = word == "&"
            continue
        its = _with_features(words, features) if word == "(" else np.array([word in has for has in features.values()])
        found = found & its if both else found | its
    return found


def read_settings(scenario: Scenario) -> dict[str, float]:
    """The `settings` of a scenario's site, without a look at its jobs."""
    return _settings(config_of(scenario))


def config_of(scenario: Scenario) -> Mapping[str, Any]:
    """What `scontrol show config` says, where the scenario has it."""
    facts = (entity.attributes for entity in scenario.entities)
    return next((each for each in facts if each.get("kind") == "config"), {})


def enforces(config: Mapping[str, Any]) -> bool:
    """Whether limits hold; they do where nobody says (ours). 2 is an older word for limits (1: for associations)."""
    name = "AccountingStorageEnforce"
    return name not in config or any(says(config, name, word) for word in ("limits", "safe", "all", "2"))


def backfills(config: Mapping[str, Any]) -> bool:
    """Whether backfill runs."""
    return not says(config, "SchedulerType", "builtin") and _runs(config, "bf_interval")


def schedules(config: Mapping[str, Any]) -> bool:
    """Whether the main scheduler runs."""
    return _runs(config, "sched_interval")


def _settings(config: Mapping[str, Any]) -> dict[str, float]:
    """All of DEFAULTS, as the site has them; raises InputError for a value that Slurm does not take (logs are converted
    without such)."""
    found = dict(DEFAULTS)
    for name in DEFAULTS:
        value = config.get(name) if name in SETTINGS else None
        if value is not None:
            if not readable(name, str(value)):
                raise InputError(f"config: {name}", value, takes(name))
            found[name] = (span_s(value) or 0.0) if name in DURATIONS else float(value)
    for name, text, amount in parameters(_listed(config, "SchedulerParameters")):
        if amount is None:
            raise InputError(f"config: SchedulerParameters: {name}", text, takes(name))
        found[name] = amount if amount >= 0 else DEFAULTS[name]
    return found


def _runs(config: Mapping[str, Any], name: str) -> bool:
    """Whether what runs every so often (bf_interval, sched_interval) does: -1 means never."""
    return all((each, value) != (name, -1.0) for each, _, value in parameters(_listed(config, "SchedulerParameters")))


def _listed(record: Mapping[str, Any], name: str) -> list[str]:
    """The parts of a list, which may be in several attributes (`name 2`)."""
    keys = [key for key in ENTITY if key.partition(" ")[0] == name]
    return [part for key in keys for part in str(record.get(key, "")).split(",") if part]


def partition_of(record: Mapping[str, Any]) -> Partition:
    """One partition by its attributes."""
    longest, default = (span_s(record.get(name, "")) for name in ("MaxTime", "DefaultTime"))
    qos = str(record.get("QoS", ""))
    tier, factor = (float(record.get(name, 1.0)) for name in ("PriorityTier", "PriorityJobFactor"))
    policy = str(record.get("Policy", ""))
    if policy and policy not in POLICIES:
        raise InputError(f"partition {record['name']}: Policy", policy, f"one of {', '.join(POLICIES)}")
    longest_s, default_s = longest or math.inf, default or longest or math.inf
    most_nodes = most if isinstance(most := record.get("MaxNodes"), (int, float)) else math.inf
    limits = {"longest_s": longest_s, "default_s": default_s, "most_nodes": most_nodes}
    return Partition(str(record["name"]), tier, factor, qos=qos, policy=policy, as_set=_as_set(record), **limits)


def _several(partitions: Mapping[str, Partition], lists: Iterable[str]) -> dict[str, Partition]:
    """The partitions of jobs that never started and may have several (`big,small`), each list as one: of the highest
    tier, with the largest MaxTime and MaxNodes (ours; Slurm has the job in the queue of each)."""
    found = dict[str, Partition]()
    for names in {text for text in lists if "," in text}:
        if its := [partitions[name] for name in names.split(",") if name in partitions]:
            longest_s, nodes = max(each.longest_s for each in its), max(each.most_nodes for each in its)
            first = max(its, key=lambda each: each.tier)
            found[names] = replace(first, name=names, longest_s=longest_s, most_nodes=nodes)
    return found


def limits_of(record: Mapping[str, Any]) -> Caps:
    """The limits of one entity; resources by name, `gres/gpu` among them."""
    tres = {
        name: {key: value for key, value in resources(str(record[name])).items() if value is not None}
        for name in TRES_LIMITS
        if name in record
    }
    jobs = {name: float(record[name]) for name in COUNT_LIMITS if name in record}
    wall = record.get("MaxWall", "UNLIMITED")
    wall_s = span_s(wall)
    if wall_s is None:
        raise InputError(
            f"{record['kind']} {record['name']}: MaxWall", wall, "minutes, or [days-]hours:minutes:seconds"
        )
    return Caps(tres, jobs, wall_s, _as_set(record))


def _as_set(record: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(str(record.get(AS_SET, "")).split(","))


def _account(record: Mapping[str, Any]) -> Association:
    user = str(record.get("user", ""))
    parent = str(record["account"]) if user else str(record.get("parent", "root"))
    share = record.get("Share", record.get("RawShares", 1.0))
    return Association(
        user or str(record["account"]),
        "" if not user and record["account"] == "root" else parent,
        user,
        float(share) if isinstance(share, (int, float)) else math.nan if share == "parent" else 1.0,
        float(record.get("RawUsage", 0.0)),
        limits_of(record),
    )


def _reservation(record: Mapping[str, Any]) -> KeptNodes:
    names = frozenset(hosts(str(record.get("Nodes", ""))))
    start_s, end_s, known_s = (float(record.get(name, 0.0)) for name in ("start_s", "end_s", "known_s"))
    return KeptNodes(str(record["name"]), names, start_s, end_s, known_s)
