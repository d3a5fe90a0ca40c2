"""Changes of a site by its operators' names: nodes, racks and partitions that go or are down for a time, limits and
weights; and several changes at once. Texts as in `workbench.analysis.what_if.changes`.

NODES are names, Slurm's lists of them, wildcards, or attributes: `gpu[01-04], h100-*, rack=r3, partition=long`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import ClassVar

from workbench.analysis.what_if.change import Change, Configuration, as_seconds, pair, with_nodes
from workbench.base.errors import InputError, counted
from workbench.base.labels import listed
from workbench.base.units import format_duration
from workbench.baselines.mechanisms.slurm.asks import says
from workbench.baselines.mechanisms.slurm.site import (
    AS_SET,
    COUNT_LIMITS,
    DEFAULTS,
    POLICIES,
    TRES_LIMITS,
    backfills,
    config_of,
    enforces,
    read_settings,
    schedules,
)
from workbench.scenario.cluster import Node
from workbench.scenario.faults import Outage
from workbench.scenario.scenario import Entity, Scenario
from workbench.scenario.traces.slurm_site import texts
from workbench.scenario.traces.slurm_text import hosts, resources
from workbench.scenario.traces.slurm_values import SPANS, readable, span_s, takes
from workbench.scenario.traces.timed import ANY
from workbench.scenario.traces.trace_file import number
from workbench.session.registry import find_scheduler

NODES = "gpu[01-04], h100-*, rack=r3 or partition=long"
PLURAL = {"partition": "partitions", "feature": "features"}
"""Attributes of nodes that are lists, by the word for one of them."""
OF_BACKFILL = tuple(name for name in DEFAULTS if name.islower())
"""Settings that stand within SchedulerParameters."""
OF_MAIN = ("default_queue_depth", "partition_job_depth", "batch_sched_delay")
"""Those of them by which the main scheduler alone goes."""
OF_GROUP, OF_ONE = ("GrpTRES", "GrpJobs", "GrpTRESRunMins"), ("MaxTRES", "MaxTRESPerNode", "MaxWall")
SET = {
    "config": (*DEFAULTS, "SchedulerType"),
    "partition": ("PriorityTier", "PriorityJobFactor", "MaxTime", "DefaultTime", "MaxNodes", "QoS", "Policy"),
    "qos": ("Priority", "UsageFactor", *OF_GROUP, *OF_ONE, "MaxTRESPU", "MaxTRESPA", "MaxJobsPU", "MaxJobsPA"),
    "account": ("Share", *OF_GROUP),  # of one job, and MaxJobs, are its users' default, which `sacctmgr` prints of them
    "user": ("Share", *OF_GROUP, *OF_ONE, "MaxJobs"),
}
"""What can be set, by kind of entity: no more than `workbench.baselines.mechanisms.slurm` goes by."""
LIMITS = frozenset({*TRES_LIMITS, *COUNT_LIMITS, "MaxWall"})
WEIGHED = {
    **{
        "Priority": "PriorityWeightQOS",
        "PriorityJobFactor": "PriorityWeightPartition",
        "PriorityMaxAge": "PriorityWeightAge",
    },
    **dict.fromkeys(("Share", "PriorityDecayHalfLife", "FairShareDampeningFactor"), "PriorityWeightFairShare"),
}
"""What counts in priority by a weight alone."""
LONG = {
    "MaxTRESPerUser": "MaxTRESPU",
    "MaxTRESPerAccount": "MaxTRESPA",
    "MaxTRESPerJob": "MaxTRES",
    "MaxJobsPerUser": "MaxJobsPU",
    "MaxJobsPerAccount": "MaxJobsPA",
    "MaxWallDurationPerJob": "MaxWall",
    "FairShare": "Share",
}
"""What sacctmgr takes too for some of them; it looks at no capitals."""
RESOURCES = "resources that the scheduler slurm counts, as gres/gpu=16,cpu=64 (also mem, node, billing, gres/gpu:TYPE)"
COUNTED = ("cpu", "mem", "node", "billing", "gres/gpu")


def _expected(name: str, text: str) -> str:
    """What a setting's value is to be, where a text is none; whatever slurm could not read would be no limit."""
    if name in TRES_LIMITS:
        known = all(each in COUNTED or each.startswith("gres/gpu:") for each in resources(text) or [""])
        return "" if known and readable(name, text) else RESOURCES
    if name == "Policy":
        return "" if text in POLICIES else f"one of {', '.join(POLICIES)}"
    if name == "QoS":
        return "" if text else "a name"
    return "" if readable(name, text) else takes(name)


@dataclass(frozen=True)
class NodesWithout(Change):
    """Some nodes are not there. What ran on them at the begin waits; listed outages of theirs go with them."""

    nodes: str

    kind: ClassVar[str] = "without"
    example: ClassVar[str] = NODES

    def applied(self, before: Configuration) -> Configuration:
        gone = set(chosen(before.scenario, self.nodes))
        groups = []
        for group in before.scenario.cluster.nodes:
            names = group.node_names()
            left = tuple(name for name in names if name not in gone)
            kept = {"hosts": left, "count": len(left)} if len(left) < len(names) else {}
            groups += [group.model_copy(update=kept)] if left else []
        if not groups:
            raise InputError("nodes", self.nodes, "one node left at least")
        after = with_nodes(before, groups)
        for kind in set(before.scenario.cluster.types) - set(after.scenario.cluster.types):
            if alone := sum(job.model == f"{ANY} on {kind}" for job in before.scenario.jobs):
                expected = f"{kind} nodes left, or an outage ({OutageOf.example}), in which they wait"
                raise InputError("nodes", self.nodes, f"{expected}: {counted(alone, 'job')} ran on {kind} alone")
        lost = sorted(
            partitions_of(before.scenario) - partitions_of(after.scenario)
        )  # else their jobs would run anywhere
        empty = [{"name": f"partition {name}", "attributes": {"kind": "partition", "name": name}} for name in lost]
        known = {each.name for each in after.scenario.entities}
        more = [Entity.model_validate(each) for each in empty if each["name"] not in known]
        if not more:
            return after
        return replace(after, scenario=after.scenario.replace(entities=[*after.scenario.entities, *more]))

    @property
    def words(self) -> str:
        return f"{self.nodes} gone"

    def _rest(self) -> str:
        return self.nodes

    @classmethod
    def parsed(cls, rest: str) -> Change:
        return cls(rest)


@dataclass(frozen=True)
class OutageOf(Change):
    """Some nodes are down for a time, in addition to today's outages. begin, end: dates (as 2024-03-04 08:00, where the
    scenario says when it begins) or times since its begin; drain: what runs there goes on, and nothing starts."""

    nodes: str
    begin: str
    end: str
    drain: bool = False

    kind: ClassVar[str] = "outage"
    example: ClassVar[str] = "rack=r3 from 2024-03-04 08:00 to 2024-03-11 08:00, or NODES from 2 d to 9 d, drain"
    _PATTERN: ClassVar[re.Pattern[str]] = re.compile(r"(.+?)\s+from\s+(.+?)\s+to\s+(.+?)(\s*,\s*drain)?")

    def applied(self, before: Configuration) -> Configuration:
        scenario = before.scenario
        from_s, to_s = (_since_begin(scenario, text) for text in (self.begin, self.end))
        if not 0 <= from_s < to_s:
            raise InputError("outage", self._rest(), "a begin at or after the scenario's, and an end after it")
        if scenario.recorded is not None and scenario.recorded.ends_known and from_s >= scenario.recorded.end_s:
            end_s = scenario.recorded.end_s
            end = date_of(scenario, end_s) or format_duration(end_s, parts=2)
            raise InputError("outage", self._rest(), f"a begin before the log's end, {end}: else nothing changes")
        faults = scenario.core.faults
        more = [Outage(node=name, from_s=from_s, to_s=to_s, drain=self.drain) for name in chosen(scenario, self.nodes)]
        longer = faults.model_copy(update={"list": (*faults.list, *more)})
        core = scenario.core.model_copy(update={"faults": longer})
        return replace(before, scenario=scenario.replace(core=core, recorded=None))  # no longer as it was logged

    @property
    def words(self) -> str:
        return f"{self.nodes} {'drained' if self.drain else 'down'} from {self.begin} to {self.end}"

    def _rest(self) -> str:
        return f"{self.nodes} from {self.begin} to {self.end}{', drain' if self.drain else ''}"

    @classmethod
    def parsed(cls, rest: str) -> Change:
        match = cls._PATTERN.fullmatch(rest)
        if match is None:
            raise InputError("outage", rest, cls.example)
        return cls(match[1], match[2], match[3], match[4] is not None)


@dataclass(frozen=True)
class SiteSettingTo(Change):
    """A limit, weight or setting of a site (`SET`). of: `qos normal`, `account bio`, `user ada` (in all accounts) or
    `user ada of vision`, `partition long`, `config`; value: as Slurm writes it; `none` takes it away.
    Policy of a partition (ours): its jobs are in order by `POLICIES` in place of priority."""

    of: str
    name: str
    value: str

    kind: ClassVar[str] = "set"
    example: ClassVar[str] = "qos normal MaxTRESPU=gres/gpu=16, partition long PriorityTier=5 or config bf_interval=60"

    def __post_init__(self) -> None:
        kind = self.of.partition(" ")[0]
        if kind not in SET:
            raise InputError("set", self.of, f"one of {', '.join(SET)}, and its name")
        if self.name not in SET[kind]:
            others = [each for each, names in SET.items() if self.name in names]
            where = f"; {self.name} is of a {' or '.join(others)}" if others else ""
            raise InputError(f"set {self.of}", self.name, f"one of {', '.join(SET[kind])}{where}")
        expected = "" if self.value == "none" else _expected(self.name, self.value)
        if expected:
            raise InputError(f"set {self.of} {self.name}", self.value, f"{expected}, or none")

    def applied(self, before: Configuration) -> Configuration:
        scenario = before.scenario
        key = "SchedulerParameters" if self.name in OF_BACKFILL else self.name
        if f"entities.attributes.{key}" not in find_scheduler(before.scheduler).uses:
            raise InputError(
                "set", self._rest(), f"a scheduler that reads {key}, as slurm; {before.scheduler} does not"
            )
        names = [each.name for each in scenario.entities]
        of = self.of.lower()
        found = {name for name in names if _is(self.of, name)} or {name for name in names if _is(of, name.lower())}
        if not found:
            kind = self.of.partition(" ")[0]
            there = (
                listed((name for name in names if name.startswith(f"{kind} ")), 8) or "none, as no file tells of one"
            )
            raise InputError("set", self.of, f"an entity of the scenario: {there}")
        entities = [self._with(each, key) if each.name in found else each for each in scenario.entities]
        return replace(before, scenario=scenario.replace(entities=entities, recorded=None))

    def remarks(self, after: Configuration) -> list[str]:
        """Of a user in several accounts, that each may have as much; why nothing depends on what is set."""
        kind, _, name = self.of.partition(" ")
        mine = [each.attributes for each in after.scenario.entities if _is(self.of.lower(), each.name.lower())]
        said = []
        if kind == "user" and len(mine) > 1 and self.name != "Share" and self.value != "none":
            accounts = listed(str(each.get("account")) for each in mine)
            said.append(f"in each of the accounts {accounts}, as Slurm has it; `user {name} of ACCOUNT` is one.")
        why = self._no_limits(after) if self.name in LIMITS else self._no_weight(after)
        return [*said, f"that changes nothing: {why}."] if why else said

    def _no_limits(self, after: Configuration) -> str:
        """Why no limit holds; empty where limits do."""
        if not after.knobs.get("limits", True):
            return "the knob limits is off"
        config = config_of(after.scenario)
        said = config.get("AccountingStorageEnforce")
        return "" if enforces(config) else f"by AccountingStorageEnforce ({said}) no limit holds on this site"

    def _no_weight(self, after: Configuration) -> str:
        """Why priority or backfill does not depend on it; empty where it does."""
        settings, config = read_settings(after.scenario), config_of(after.scenario)
        if (
            self.name.startswith("bf_")
            and self.value != "-1"
            and not (backfills(config) and after.knobs.get("backfill", True))
        ):
            return "backfill does not run"
        if self.name in OF_MAIN and not schedules(config):
            return "the main scheduler does not run"
        if says(config, "PriorityType", "basic") and (self.name in WEIGHED or self.name.startswith("PriorityWeight")):
            return f"by PriorityType ({config['PriorityType']}) who came first is first"
        weight = WEIGHED.get(self.name, "")
        return f"{weight} is 0" if weight and not settings[weight] else ""

    def _with(self, entity: Entity, key: str) -> Entity:
        attributes = dict(entity.attributes)
        was_set = {name for name in str(attributes.pop(AS_SET, "")).split(",") if name}
        others = {name for name in was_set if name.partition(" ")[0] != key}
        if self.name in OF_BACKFILL:
            names = [name for name in attributes if name.partition(" ")[0] == key]  # a long list is in several
            parts = [part for name in names for part in str(attributes.pop(name)).split(",")]
            parts = [part for part in parts if part.strip().partition("=")[0].lower() != self.name]
            parts += [] if self.value == "none" else [f"{self.name}={self.value}"]
            attributes |= texts(key, ",".join(parts))
        elif self.value == "none":
            attributes.pop(key, None)
        else:
            attributes[key] = _plain(self.value)
            was, now = _caps(key, entity.attributes.get(key)), _caps(key, attributes[key])
            less = {name for name, most in now.items() if most < was.get(name, math.inf)}
            others |= less | (was_set & now.keys())  # who ran beyond the file's is not held to more
        attributes |= {AS_SET: ",".join(sorted(others))} if others else {}
        return Entity.model_validate({**dict(entity), "attributes": attributes})

    @property
    def words(self) -> str:
        return f"{self.name} of {self.of} = {self.value}"

    def _rest(self) -> str:
        return f"{self.of} {self.name}={self.value}"

    @classmethod
    def parsed(cls, rest: str) -> Change:
        left, value = pair("set", rest, cls.example)
        of, _, name = left.rpartition(" ")
        kind, blank, which = of.strip().partition(" ")
        kind = kind.lower()
        known = {each.lower(): each for names in SET.values() for each in names}
        known |= {each.lower(): short for each, short in LONG.items()}
        return cls(f"{kind}{blank}{which}", known.get(name.lower(), name), value)


@dataclass(frozen=True)
class SeveralChanges(Change):
    """Several changes, one after the other; their texts with ` and ` between."""

    changes: tuple[Change, ...]

    kind: ClassVar[str] = "together"
    example: ClassVar[str] = "two changes or more, with ` and ` between"

    def applied(self, before: Configuration) -> Configuration:
        for change in self.changes:
            before = change.applied(before)
        return before

    def remarks(self, after: Configuration) -> list[str]:
        return [f"{change.words}: {text}" for change in self.changes for text in change.remarks(after)]

    @property
    def text(self) -> str:
        return " and ".join(change.text for change in self.changes)

    @property
    def words(self) -> str:
        return " and ".join(change.words for change in self.changes)

    def _rest(self) -> str:
        return self.text

    @classmethod
    def parsed(cls, rest: str) -> Change:
        raise InputError("change", rest, cls.example)


def chosen(scenario: Scenario, text: str) -> list[str]:
    """The nodes that a text means, in the cluster's order; raises InputError for a part that means none."""
    patterns = [part.strip() for part in hosts(text)]
    machines = scenario.cluster.each_node
    for pattern in patterns or [text]:
        if not patterns or not any(_is_one(node, pattern) for node in machines):
            raise InputError("nodes", pattern, f"nodes of the cluster, as {NODES}; {_there(machines, pattern)}")
    return [node.name for node in machines if any(_is_one(node, pattern) for pattern in patterns)]


def _there(machines: Sequence[Node], pattern: str) -> str:
    """What could have been meant: values of the attribute that a pattern names, else nodes."""
    key, equals, _ = pattern.partition("=")
    if not equals:
        return f"there are {listed((node.name for node in machines), 6)}"
    said = (str(node.attributes.get(PLURAL.get(key, key), "")) for node in machines)
    values = dict.fromkeys(part for text in said for part in text.split(",") if part)
    if values:
        return f"{key} may be {listed(values, 6)}"
    return f"no node says its {key}" + (" (scontrol show topology does)" if key == "rack" else "")


def _is_one(node: Node, pattern: str) -> bool:
    """Whether a pattern means a node: `rack=r3` by an attribute, else by its name (of its machine: before `/`)."""
    key, equals, value = pattern.partition("=")
    if equals:
        said = node.attributes.get(PLURAL.get(key, key), "")
        return any(fnmatchcase(part, value) for part in str(said).split(",") if part)
    return any(fnmatchcase(name, pattern) for name in {node.name, node.name.partition("/")[0]})


def partitions_of(scenario: Scenario) -> set[str]:
    """Those that some node is in."""
    said = (str(group.attributes.get("partitions", "")) for group in scenario.cluster.nodes)
    return {name for text in said for name in text.split(",") if name}


def _since_begin(scenario: Scenario, text: str) -> float:
    """A date, or a time since the scenario's begin, in seconds since that."""
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return as_seconds("outage", text, OutageOf.example)
    if scenario.begins is None:
        raise InputError("outage", text, "a time since the begin, as 2 d: the scenario does not say when it begins")
    if date.tzinfo is not None:
        raise InputError("outage", text, f"a date without a zone, as the log's: {scenario.begins}")
    return (date - datetime.fromisoformat(scenario.begins)).total_seconds()


def date_of(scenario: Scenario, at_s: float) -> str:
    """The date of a time of a scenario, to the minute; empty where it does not say when it begins."""
    if scenario.begins is None or not math.isfinite(at_s):
        return ""
    return f"{datetime.fromisoformat(scenario.begins) + timedelta(seconds=at_s):%Y-%m-%d %H:%M}"


def _is(of: str, name: str) -> bool:
    """Whether an entity is meant."""
    user = of.startswith("user ") and " of " not in of
    return name == of or (of == "config" and name.startswith("config ")) or (user and name.startswith(f"{of} of "))


def _caps(name: str, value: float | str | None) -> dict[str, float]:
    """The numbers of a limit, of resources by name; none where it lets all."""
    if name in TRES_LIMITS:
        return {f"{name} {key}": most for key, most in resources(str(value or "")).items() if most is not None}
    if value is None or name not in (*LIMITS, "MaxTime", "MaxNodes"):
        return {}
    most = span_s(value) if name in SPANS else number(str(value))
    return {} if most is None else {name: most}


def _plain(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def together(changes: Iterable[Change]) -> Change:
    """One change of several; of one, itself."""
    found = tuple(changes)
    return found[0] if len(found) == 1 else SeveralChanges(found)
