"""The one thing that a what-if changes: a record that is applied to a configuration and can be written as text.

    nodes v100=+8      8 more nodes like the type's first; `v100=+8x4`: of 4 GPUs each; `v100=-2`: the last two go;
                       `v100=+8 in batch,long`: of these partitions
    scheduler srtf     another scheduler; with knobs: `scheduler gavel.max_min_fairness, round_s=720`
    knob round_s=720   another value of a knob of today's scheduler
    restart 2 min      what a restart costs, in seconds or as a duration
    load 1.25          the jobs arrive 1.25 times as fast: every arrival_s is divided by it
    density 120        120 % of the jobs in the same time, see `workbench.scenario.traces.density`
    faults mtbf_s=1 d, mttr_s=1 h             nodes fail at random; `faults none`: they never do
    faults a-0=0:3600, a-1=60:120             outages of single nodes, from and to in seconds
    without rack=r3                           nodes that go, by name, list, wildcard or attribute
    outage gpu[01-04] from 2024-03-04 08:00 to 2024-03-11 08:00     in addition to today's outages; `, drain`
    set qos normal MaxTRESPU=gres/gpu=16      a limit, weight or setting of a Slurm site; `=none` takes it away
    set partition long Policy=shortest        one partition by fifo, shortest (time limit) or smallest (GPUs)
    density 110 and nodes v100=+8             several at once

`parse_change(change.text) == change`. Whatever cannot be applied raises InputError or ScenarioError.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from workbench.analysis.what_if.change import (
    Change,
    Configuration,
    as_float,
    as_seconds,
    as_text,
    in_range,
    pair,
    with_core,
    with_nodes,
)
from workbench.analysis.what_if.site_changes import NodesWithout, OutageOf, SiteSettingTo, partitions_of, together
from workbench.base.errors import InputError, counted
from workbench.base.labels import listed
from workbench.base.units import format_duration
from workbench.scenario.cluster import Cluster, NodeGroup
from workbench.scenario.traces.density import at_density, moved
from workbench.session.registry import find_scheduler

LEAST_LOAD, MOST_LOAD = 0.01, 100.0
MOST_NODES = 100_000
MOST_GPUS = 1024


@dataclass(frozen=True)
class NodesBy(Change):
    """More (count > 0) or fewer (count < 0) nodes of an accelerator type.

    gpus: GPUs of each new node; None: as the type's first node has, with its speed. The last nodes of the type go.
    partitions: those that new nodes are in, with commas between (else the first node's), or that nodes that go are in.
    """

    accelerator: str
    count: int
    gpus: int | None = None
    partitions: str = ""

    kind: ClassVar[str] = "nodes"
    example: ClassVar[str] = "v100=+8, v100=-2, v100=+8x4 (8 nodes of 4 GPUs) or v100=+8 in batch,long"
    _PATTERN: ClassVar[re.Pattern[str]] = re.compile(r"(.+?)\s*=\s*([+-]\d{1,6})(?:x(\d{1,4}))?(?:\s+in\s+(\S+))?")

    def __post_init__(self) -> None:
        whole = isinstance(self.count, int) and not isinstance(self.count, bool)
        if not whole or not 0 < abs(self.count) <= MOST_NODES:
            raise InputError(
                "nodes", self.count, f"how many more (+8) or fewer (-2) nodes, not 0, at most {MOST_NODES:,}"
            )
        gpus: Any = self.gpus
        number = isinstance(gpus, int) and not isinstance(gpus, bool) and 1 <= gpus <= MOST_GPUS
        if gpus is not None and (self.count < 0 or not number):
            raise InputError("nodes", self._rest(), f"GPUs of each new node, 1 to {MOST_GPUS}: {self.example}")

    def applied(self, before: Configuration) -> Configuration:
        """The nodes added to the type's first group that they equal, or taken from its last groups."""
        cluster = before.scenario.cluster
        known = [a.name for a in cluster.accelerators]
        if self.accelerator not in known:
            raise InputError(
                "nodes", self.accelerator, "an accelerator type of the cluster, one of: " + ", ".join(known)
            )
        there = sorted(partitions_of(before.scenario))
        if wrong := [name for name in self.partitions.split(",") if name not in there and self.partitions]:
            raise InputError("nodes", ",".join(wrong), f"partitions of the cluster, of {listed(there, 8) or 'none'}")
        groups = self._added(cluster) if self.count > 0 else self._removed(cluster)
        return with_nodes(before, groups)

    def remarks(self, after: Configuration) -> list[str]:
        """Which partitions new nodes are in, where nobody said."""
        first = next(iter(self._of_type(after.scenario.cluster)), None)
        said = "" if first is None else str(first.attributes.get("partitions", ""))
        if self.count < 0 or self.partitions or first is None or not said:
            return []
        where = f"{'partition' if ',' not in said else 'partitions'} {listed(said.split(','))}"
        name = first.node_names()[0]
        return [f"new nodes are in {where}, as {name} is; `{self.text} in PARTITION,...` puts them elsewhere."]

    def _of_type(self, cluster: Cluster) -> list[NodeGroup]:
        return [group for group in cluster.nodes if group.accelerator == self.accelerator]

    def _added(self, cluster: Cluster) -> tuple[NodeGroup, ...]:
        groups, there = list(cluster.nodes), {node.name for node in cluster.each_node}
        mine, names = self._of_type(cluster), {*self.partitions.split(",")}
        of_them = [group for group in mine if {*str(group.attributes.get("partitions", "")).split(",")} == names]
        alike = of_them if self.partitions else []
        first = next(iter([*alike, *mine]), None)
        if first is None and self.gpus is None:
            raise InputError(
                "nodes", self._rest(), f"GPUs of each node, as there is none of the type yet: {self.example}"
            )
        size = self.gpus or (first.gpus if first is not None else 0)
        speed = 1.0 if first is None else first.speed
        facts = {} if first is None else dict(first.attributes)  # its partitions, rack, CPUs
        facts |= {"partitions": self.partitions} if self.partitions and not alike else {}
        for place, group in enumerate(groups):
            same = (group.accelerator, group.gpus, group.speed, {**group.attributes})
            if same == (self.accelerator, size, speed, facts):
                groups[place] = _with_count(group, group.count + self.count)
                if group.hosts:  # of a log: by the group's title, `gpu-[05-08]-4` would be a list of names to Slurm
                    more = (f"{self.accelerator}-more-{i}" for i in range(1, len(there) + self.count + 1))
                    hosts = (*group.node_names(), *[name for name in more if name not in there][: self.count])
                    groups[place] = groups[place].model_copy(update={"hosts": hosts})
                return tuple(groups)
        taken = {group.name for group in groups}
        made = NodeGroup(
            name=f"{self.accelerator}-more",
            accelerator=self.accelerator,
            gpus=size,
            count=self.count,
            speed=speed,
            attributes=facts,
        )
        while made.name in taken or not there.isdisjoint(made.node_names()):
            made = made.model_copy(update={"name": f"{made.name}+"})
        return (*groups, made)

    def _removed(self, cluster: Cluster) -> tuple[NodeGroup, ...]:
        names = {*self.partitions.split(",")} - {""}
        mine = [g for g in self._of_type(cluster) if names <= {*str(g.attributes.get("partitions", "")).split(",")}]
        there = sum(group.count for group in mine)
        left, kept = -self.count, []
        if left > there or left == len(cluster.each_node):
            raise InputError(
                "nodes",
                self._rest(),
                f"at most the {counted(there, 'node')} of the type{self._where}, and one node left",
            )
        for group in reversed(cluster.nodes):
            gone = min(left, group.count) if group in mine else 0
            left -= gone
            if gone < group.count:
                kept.append(_with_count(group, group.count - gone))
        return tuple(reversed(kept))

    @property
    def words(self) -> str:
        size = "" if self.gpus is None else f" of {counted(self.gpus, 'GPU')}"
        kind = f"{'more' if self.count > 0 else 'fewer'} {self.accelerator} node"
        return counted(abs(self.count), kind) + size + self._where

    @property
    def _where(self) -> str:
        return f" in {listed(self.partitions.split(','))}" if self.partitions else ""

    def _rest(self) -> str:
        size = "" if self.gpus is None else f"x{self.gpus}"
        return f"{self.accelerator}={self.count:+d}{size}" + (f" in {self.partitions}" if self.partitions else "")

    @classmethod
    def parsed(cls, rest: str) -> Change:
        match = cls._PATTERN.fullmatch(rest)
        if match is None:
            raise InputError("nodes", rest, cls.example)
        return cls(match[1], int(match[2]), None if match[3] is None else int(match[3]), match[4] or "")


@dataclass(frozen=True)
class SchedulerTo(Change):
    """Another scheduler, with knobs of its own where they differ from its defaults."""

    scheduler: str
    knobs: Mapping[str, Any] = field(default_factory=dict)

    kind: ClassVar[str] = "scheduler"
    example: ClassVar[str] = "srtf, or gavel.max_min_fairness, round_s=720"

    def __post_init__(self) -> None:
        settled = find_scheduler(self.scheduler).settle(self.knobs)
        object.__setattr__(self, "knobs", {name: settled[name] for name in self.knobs})

    def applied(self, before: Configuration) -> Configuration:
        return Configuration(before.scenario, self.scheduler, self.knobs)

    @property
    def words(self) -> str:
        knobs = ", ".join(f"{name}={as_text(value)}" for name, value in self.knobs.items())
        return f"the scheduler {self.scheduler}" + (f" ({knobs})" if knobs else "")

    def _rest(self) -> str:
        return ", ".join([self.scheduler, *(f"{name}={as_text(value)}" for name, value in self.knobs.items())])

    @classmethod
    def parsed(cls, rest: str) -> Change:
        name, *given = [part.strip() for part in rest.split(",")]
        return cls(name, dict(pair("scheduler", part, cls.example) for part in given))


@dataclass(frozen=True)
class KnobTo(Change):
    """Another value of a knob of today's scheduler; kept as text, which every knob reads."""

    name: str
    value: Any

    kind: ClassVar[str] = "knob"
    example: ClassVar[str] = "round_s=720"

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_text(self.value))

    def applied(self, before: Configuration) -> Configuration:
        settled = find_scheduler(before.scheduler).settle({**before.knobs, self.name: self.value})
        return replace(before, knobs={**before.knobs, self.name: settled[self.name]})

    @property
    def words(self) -> str:
        return f"{self.name} = {self.value}"

    def _rest(self) -> str:
        return f"{self.name}={self.value}"

    @classmethod
    def parsed(cls, rest: str) -> Change:
        return cls(*pair("knob", rest, cls.example))


@dataclass(frozen=True)
class RestartTo(Change):
    """Another cost of a restart in seconds; the law (fixed, or growing with the GPUs) stays."""

    restart_s: float

    kind: ClassVar[str] = "restart"
    example: ClassVar[str] = "seconds or a duration, as 30 or 2 min"

    def __post_init__(self) -> None:
        object.__setattr__(self, "restart_s", in_range("restart", self.restart_s, 0.0, math.inf, self.example))

    def applied(self, before: Configuration) -> Configuration:
        return with_core(before, restart={"restart_s": self.restart_s})

    @property
    def words(self) -> str:
        return f"restarts that cost {format_duration(self.restart_s)}"

    def _rest(self) -> str:
        return format_duration(self.restart_s)

    @classmethod
    def parsed(cls, rest: str) -> Change:
        return cls(as_seconds("restart", rest, cls.example))


@dataclass(frozen=True)
class LoadTo(Change):
    """The same jobs, arriving `factor` times as fast: every arrival is divided by it. Deadlines count from arrival."""

    factor: float

    kind: ClassVar[str] = "load"
    example: ClassVar[str] = f"a factor from {LEAST_LOAD:g} to {MOST_LOAD:g}, as 1.25"

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", in_range("load", self.factor, LEAST_LOAD, MOST_LOAD, self.example))

    def applied(self, before: Configuration) -> Configuration:
        jobs = before.scenario.jobs
        if not any(job.arrival_s for job in jobs):
            raise InputError("load", self.factor, "a trace whose jobs do not all arrive at time 0 (density adds jobs)")
        sooner = [moved(job, job.arrival_s / self.factor) for job in jobs]
        return replace(before, scenario=before.scenario.replace(jobs=sooner))

    @property
    def words(self) -> str:
        return f"jobs that arrive {self.factor:g} times as fast"

    def _rest(self) -> str:
        return as_text(self.factor)

    @classmethod
    def parsed(cls, rest: str) -> Change:
        return cls(as_float("load", rest, cls.example))


@dataclass(frozen=True)
class DensityTo(Change):
    """`percent` of the jobs in the same time; seed: which are drawn."""

    percent: float
    seed: int = 0

    kind: ClassVar[str] = "density"
    example: ClassVar[str] = "a percentage above 0 and at most 200, as 120, or with a seed: 120, seed=1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "percent", in_range("density", self.percent, math.ulp(0.0), 200.0, self.example))

    def applied(self, before: Configuration) -> Configuration:
        return replace(before, scenario=at_density(before.scenario, self.percent, self.seed))

    @property
    def words(self) -> str:
        return f"{self.percent:g} % of the jobs in the same time"

    def _rest(self) -> str:
        return as_text(self.percent) + (f", seed={self.seed}" if self.seed else "")

    @classmethod
    def parsed(cls, rest: str) -> Change:
        percent, *more = [part.strip() for part in rest.split(",")]
        given = dict(pair("density", part, cls.example) for part in more)
        if given.keys() - {"seed"} or not str(given.get("seed", "0")).isdecimal():
            raise InputError("density", rest, cls.example)
        return cls(as_float("density", percent, cls.example), int(given.get("seed", 0)))


@dataclass(frozen=True)
class FaultsTo(Change):
    """Node failures in place of today's: drawn with these means, or listed as (node, from_s, to_s); neither: none."""

    mtbf_s: float | None = None
    mttr_s: float | None = None
    outages: tuple[tuple[str, float, float], ...] = ()

    kind: ClassVar[str] = "faults"
    example: ClassVar[str] = "mtbf_s=1 d, mttr_s=1 h; or node=from:to in seconds, as a-0=0:3600; or none"

    def __post_init__(self) -> None:
        if (self.mtbf_s is None) != (self.mttr_s is None):
            raise InputError("faults", self._rest(), "both mtbf_s and mttr_s")

    def applied(self, before: Configuration) -> Configuration:
        listed = [{"node": node, "from_s": begin, "to_s": end} for node, begin, end in self.outages]
        faults = {"mtbf_s": self.mtbf_s, "mttr_s": self.mttr_s, "list": listed}
        return with_core(before, faults=faults)

    @property
    def words(self) -> str:
        parts = []
        if self.mtbf_s is not None and self.mttr_s is not None:
            every, repair = (format_duration(seconds, parts=2) for seconds in (self.mtbf_s, self.mttr_s))
            parts.append(f"nodes that fail every {every} on average and take {repair} to repair")
        if self.outages:
            parts.append(counted(len(self.outages), "listed outage"))
        return f"{' and '.join(parts)} instead of today's failures" if parts else "no node failures"

    def _rest(self) -> str:
        means = [("mtbf_s", self.mtbf_s), ("mttr_s", self.mttr_s)]
        parts = [f"{name}={format_duration(seconds)}" for name, seconds in means if seconds is not None]
        parts += [f"{node}={as_text(begin)}:{as_text(end)}" for node, begin, end in self.outages]
        return ", ".join(parts) or "none"

    @classmethod
    def parsed(cls, rest: str) -> Change:
        if rest == "none":
            return cls()
        means: dict[str, float] = {}
        outages = []
        for part in (part.strip() for part in rest.split(",")):
            name, value = pair("faults", part, cls.example)
            if name in ("mtbf_s", "mttr_s"):
                means[name] = as_seconds("faults", value, cls.example)
                continue
            begin, colon, end = value.partition(":")
            if not colon:
                raise InputError("faults", part, cls.example)
            outages.append((name, as_float("faults", begin, cls.example), as_float("faults", end, cls.example)))
        return cls(**means, outages=tuple(outages))


_OF_SITE, _OF_CORE = (NodesBy, NodesWithout, OutageOf, SiteSettingTo), (RestartTo, LoadTo, DensityTo, FaultsTo)
KINDS: Mapping[str, type[Change]] = {kind.kind: kind for kind in (*_OF_SITE, SchedulerTo, KnobTo, *_OF_CORE)}
"""Every kind of change by the first word of its text."""


def parse_change(text: str) -> Change:
    """Read a change; raises InputError that says what is expected of its kind."""
    kinds = ", ".join(KINDS)
    if not isinstance(text, str):
        raise InputError("change", text, f"a text that begins with one of: {kinds}")
    if len(parts := text.split(" and ")) > 1:
        return together(parse_change(part) for part in parts)
    kind, _, rest = text.strip().partition(" ")
    if kind not in KINDS:
        raise InputError("change", text, f"a text that begins with one of: {kinds}")
    if not rest.strip():
        raise InputError("change", text, f"{kind} and {KINDS[kind].example}")
    return KINDS[kind].parsed(rest.strip())


def _with_count(group: NodeGroup, count: int) -> NodeGroup:
    return NodeGroup.model_validate({**group.model_dump(), "count": count})
