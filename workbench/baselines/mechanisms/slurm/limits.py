"""Slurm's limits: who may start beside what runs, and the reason that squeue gives where not
(slurm.schedmd.com/resource_limits.html, 22.05).

A limit of the partition's QOS comes before that of the job's QOS (OverPartQOS: after), then the association of the
user, then the accounts above it. Of limits of one name for one resource only the first holds a job back, so a QOS may
let more than an association does; but of groups (Grp...) those of all associations do, and what a job holds counts
everywhere. MaxTRESPU, MaxJobsPU (of a user), MaxTRESPA, MaxJobsPA (of an account) and GrpTRES, GrpJobs (of all) count
the jobs that run in that QOS; GrpTRESRunMins counts resources x minutes that are left to the limits of jobs that run;
MaxTRES, MaxTRESPerNode and MaxWall (the time limit) are of each job alone, which can never start beyond them. A job
that the log saw run although it asks for more than a limit lets alone is not held to it (ours: the limit was another
one then), but to what a what-if sets.

A limit of one type (`gres/gpu:a100`) counts the GPUs of that type on which jobs run, whatever they asked for; it holds
back only jobs that asked for the type, as Slurm's documentation says (resource_limits.html, "Specific Limits Over
GRES").
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from workbench.base.units import format_duration
from workbench.baselines.mechanisms.slurm.asks import UNLIMITED_S, Ask, Partition
from workbench.baselines.mechanisms.slurm.free import GpusByNode, RunningJob
from workbench.baselines.mechanisms.slurm.site import Association, Caps, SlurmSite
from workbench.scheduling.decision import Reason

NOUNS = {"cpu": "Cpu", "mem": "Memory", "node": "Node", "billing": "Billing"}
"""What reasons call resources; others are GRES."""
IRREGULAR = (
    (r"(Grp|QOSMax|AssocMax)(Cpu|Node)(|PerUser|PerJob)$", r"\1\2\3Limit"),
    (r"GrpMemory$", "GrpMemLimit"),
    (r"CpuRunMinutes$", "CPURunMinutesLimit"),
    (r"^(Assoc.*)Memory", r"\1Mem"),
)
"""Reasons of what had limits before there was GRES (slurm_protocol_defs.c, job_reason_string)."""
UNITS = {"cpu": "CPUs", "mem": "MB of memory", "node": "nodes", "gres/gpu": "GPUs"}
OF_A_JOB = ("MaxTRES", "MaxTRESPerNode", "MaxWall")
THROTTLE = "ArrayTaskThrottle"
UNKNOWN = Reason("", "")
"""Stands for a reason that was not looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """One limit: its name and number, of which resource (empty: of running jobs), whose jobs it counts, and squeue's
    reason. key: what it is counted by; as_set: whether a what-if set it."""

    key: str
    name: str
    most: float
    resource: str
    whose: str
    code: str
    as_set: bool

    @property
    def type(self) -> str:
        """Of GPUs of which type it is; empty: it is of no type."""
        return self.resource.removeprefix("gres/gpu:") if self.resource.startswith("gres/gpu:") else ""

    @property
    def by_minutes(self) -> bool:
        """Whether it is of resources x minutes to the limits of what runs."""
        return self.name == "GrpTRESRunMins"

    def amount(self, ask: Ask, left_s: float) -> float:
        """What a job asks for, which runs for at most so many seconds more."""
        if self.name == "MaxWall":
            return ask.limit_s / 60.0 if ask.limit_s < UNLIMITED_S else 0.0
        count = ask.tres.get(self.resource, 0.0) if self.resource else 1.0
        if self.name == "MaxTRESPerNode":
            return count / ask.tres["node"]
        return count * max(left_s, 0.0) / 60.0 if self.by_minutes else count

    def reason(self, used: float, more: float) -> Reason:
        """Why a job may not start."""
        if self.name == THROTTLE:
            text = f"{used:g} tasks of its array {self.whose} run, at most {self.most:g} may (%{self.most:g})"
            return Reason(self.code, text, {"running tasks": used, "limit": self.most})
        what = UNITS.get(self.resource, f"{self.resource.removeprefix('gres/gpu:')} GPUs")
        unit = f"{what} x minutes" if self.by_minutes else what if self.resource else "running jobs"
        if self.name in OF_A_JOB:
            unit = "minutes" if self.name == "MaxWall" else unit
            text = f"{self.name} of {self.whose}: at most {self.most:g} {unit}, and it asks for {more:g}"
            return Reason(self.code, text, {"limit": self.most, "asked for": more})
        text = f"{self.name} of {self.whose}: {used:g} of {self.most:g} {unit} are taken, and it asks for {more:g}"
        return Reason(self.code, text, {"taken": used, "limit": self.most, "asked for": more})


class Check(NamedTuple):
    """Of a group of jobs: what a limit counts by (a place in `Ledger.used`), and what one of them asks for."""

    key: int
    more: float
    most: float
    limit: Limit


class Group(NamedTuple):
    """Jobs that limits hold back together. checks: in Slurm's order, by_minutes: those of resources x minutes; amounts:
    what one adds to what is used, but for these; of_type: what counts the GPUs of a type that it holds (key, type,
    whether by minutes); past: whether it ran beyond a limit."""

    checks: tuple[Check, ...]
    by_minutes: tuple[tuple[int, Limit], ...]
    amounts: tuple[tuple[int, float], ...]
    of_type: tuple[tuple[int, str, bool], ...]
    checked: frozenset[int]
    counted: frozenset[int]
    past: bool


@dataclass(slots=True, eq=False)
class Ledger:
    """What runs, counted by whatever limits count by. group: of each job the name of its group; checking: of each
    key the groups that it may hold back; beyond: jobs that ran although a limit does not let them; minutes: keys of
    resources x minutes; types: of each node; used: of each key; held: why those of a group may not start now (None:
    they may), as far as it was asked since one of their keys changed."""

    group: Mapping[str, str]
    groups: Mapping[str, Group]
    checking: tuple[frozenset[str], ...]
    beyond: tuple[str, ...]
    minutes: frozenset[int]
    types: tuple[str, ...]
    used: list[float]
    held: dict[str, Reason | None] = field(default_factory=dict)

    @staticmethod
    def of_site(site: SlurmSite) -> Ledger:
        """Of nothing that runs."""
        limits, known, at = all_limits(site), dict[tuple[object, ...], str](), dict[str, int]()
        groups, group = dict[str, Group](), dict[str, str]()
        throttled = {ask.array for ask in site.asks.values() if ask.array_most < math.inf}
        for ask in site.asks.values():
            rules = limits[ask.name]
            asked = tuple([rule.amount(ask, ask.limit_s) for rule, _ in rules])
            key = ask.partition, ask.qos, ask.user, ask.account, ask.array, ask.array_most, ask.ran, asked
            group[ask.name] = known.setdefault(key, str(len(known)))
            if len(known) > len(groups):
                pairs = [(rule, more, holds) for (rule, holds), more in zip(rules, asked, strict=True)]
                if ask.array and ask.array in throttled:
                    name = f"{THROTTLE} {ask.array}"
                    limit = Limit(name, THROTTLE, ask.array_most, "", ask.array, "JobArrayTaskLimit", False)
                    pairs.insert(0, (limit, 1.0, True))
                every = [Check(at.setdefault(rule.key, len(at)), more, rule.most, rule) for rule, more, _ in pairs]
                hold = zip(every, pairs, strict=True)
                checks = [check for check, (_, more, holds) in hold if holds and more > 0]
                past = {check.key for check in checks if check.more > check.most and ask.ran and not check.limit.as_set}
                counts = [check for check in every if check.limit.name not in OF_A_JOB]
                of_type = [
                    (check.key, check.limit.type, check.limit.by_minutes) for check in counts if check.limit.type
                ]
                counts = [check for check in counts if not check.limit.type and check.more > 0]
                amounts = [(check.key, check.more) for check in counts if not check.limit.by_minutes]
                groups[group[ask.name]] = Group(
                    tuple(check for check in checks if check.key not in past),
                    tuple((check.key, check.limit) for check in counts if check.limit.by_minutes),
                    tuple(amounts),
                    tuple(of_type),
                    frozenset(check.key for check in checks),
                    frozenset(key for key, _ in amounts),
                    bool(past),
                )
        beyond = tuple(name for name, its in group.items() if groups[its].past)
        minutes = {key for each in groups.values() for key, _ in each.by_minutes}
        minutes |= {key for each in groups.values() for key, _, by_minutes in each.of_type if by_minutes}
        checking = [set[str]() for _ in at]
        for name, each in groups.items():
            for place in each.checked:
                checking[place].add(name)
        return Ledger(
            group=group,
            groups=groups,
            checking=tuple(map(frozenset, checking)),
            beyond=beyond,
            minutes=frozenset(minutes),
            types=site.types,
            used=[0.0] * len(at),
        )

    def copy(self) -> Ledger:
        """The same, to be changed apart."""
        found = copy(self)
        found.used, found.held = self.used.copy(), self.held.copy()
        return found

    def add(self, ask: Ask, gpus: GpusByNode, left_s: float) -> None:
        """Count a job that runs for at most so many seconds more, with these GPUs of each node."""
        self.count(ask, gpus.items(), 1)
        self.add_minutes(ask, gpus.items(), left_s)

    def count(self, ask: Ask, gpus: Iterable[tuple[int, int]], sign: int) -> None:
        """Count a job, or (-1) no longer, but for resources x minutes. gpus: of each node."""
        used, group = self.used, self.groups[self.group[ask.name]]
        for key, amount in group.amounts:
            used[key] += sign * amount
        self._forget(group.counted)
        if group.of_type:
            self._count_types(group, gpus, sign, None)

    def _count_types(self, group: Group, gpus: Iterable[tuple[int, int]], sign: int, left_s: float | None) -> None:
        """Count GPUs by the type of the nodes where they are; left_s: by minutes."""
        held = Counter[str]()
        for node, count in gpus:
            held[self.types[node]] += count
        keys = [(key, held[type]) for key, type, by_minutes in group.of_type if by_minutes == (left_s is not None)]
        for key, count in keys:
            self.used[key] += sign * count * (1.0 if left_s is None else max(left_s, 0.0) / 60.0)
        self._forget(frozenset(key for key, count in keys if count))

    def _forget(self, changed: frozenset[int]) -> None:
        """What is used of some keys has changed."""
        held = self.held
        for key in changed:
            for group in held.keys() & self.checking[key]:
                del held[group]

    def add_all_minutes(self, held: Iterable[RunningJob], calculated_s: float) -> None:
        """Count those that were left to what runs when priorities were last calculated: then Slurm takes off what has
        run (priority_multifactor.c, its decay thread; priority/basic never does)."""
        if self.minutes:
            for each in held:
                self.add_minutes(each.ask, each.gpus, each.until_s - max(each.since_s, calculated_s))

    def add_minutes(self, ask: Ask, gpus: Iterable[tuple[int, int]], left_s: float) -> None:
        """Count the resources x minutes that are left to a job."""
        group = self.groups[self.group[ask.name]]
        if by_minutes := group.by_minutes:
            for key, limit in by_minutes:
                self.used[key] += limit.amount(ask, left_s)
            self._forget(frozenset(key for key, _ in by_minutes))
        if self.minutes and group.of_type:
            self._count_types(group, gpus, 1, left_s)

    def without_minutes(self) -> Ledger:
        """The same, no resources x minutes counted."""
        if not self.minutes:
            return self
        found = self.copy()
        for key in self.minutes:
            found.used[key] = 0.0
        found._forget(self.minutes)
        return found

    def reason(self, ask: Ask) -> Reason | None:
        """Why a job may not start now; None if it may."""
        group = self.group[ask.name]
        found = self.held.get(group, UNKNOWN)
        if found is UNKNOWN:
            used, found = self.used, None
            for key, more, most, limit in self.groups[group].checks:
                if used[key] + more > most:
                    found = _said(limit, used[key], more)
                    break
            self.held[group] = found
        return found

    def never(self, ask: Ask) -> Reason | None:
        """Why a job may not start even alone."""
        checks = self.groups[self.group[ask.name]].checks
        return next((limit.reason(0.0, more) for _, more, most, limit in checks if more > most), None)


def beyond(ask: Ask, partition: Partition) -> Reason:
    """Why a job can never start that asks for more than its partition lets one have."""
    whose = f"partition {ask.partition}'s {ask.beyond}"
    if ask.beyond == "MaxNodes":
        return Reason("PartitionNodeLimit", f"its {ask.nodes} nodes are beyond {partition.most_nodes:g}, {whose}")
    return Reason("PartitionTimeLimit", f"its limit is beyond {format_duration(ask.limit_s, parts=2)}, {whose}")


@lru_cache(maxsize=4096)
def _said(limit: Limit, used: float, more: float) -> Reason:
    """The same is said again and again."""
    return limit.reason(used, more)


Rules = tuple[tuple[Limit, bool], ...]
"""The limits that count a job, in the order in which they are looked at, and whether each may hold it back."""


def all_limits(site: SlurmSite) -> dict[str, Rules]:
    """The limits of each job; none where they are not enforced."""
    known: dict[tuple[str, ...], Rules] = {}
    found = {}
    for ask in site.asks.values():
        key = ask.partition, ask.qos, ask.user, ask.account
        if key not in known:
            known[key] = tuple(_rules(site, ask)) if site.enforced else ()
        found[ask.name] = known[key]
    return found


def _rules(site: SlurmSite, ask: Ask) -> Iterator[tuple[Limit, bool]]:
    """The limits that count a job, in Slurm's order; of those of one name for one resource the first holds it back."""
    partition = site.partitions.get(ask.partition)
    names = ([partition.qos] if partition else []) + [ask.qos]
    if ask.qos in site.over_partition:
        names.reverse()
    known = set[tuple[str, str]]()
    for qos in dict.fromkeys(name for name in names if name in site.qos):
        rules = [*_of_qos(site.qos[qos], qos, ask)]
        yield from ((rule, (rule.name, rule.resource) not in known) for rule in rules)
        known |= {(rule.name, rule.resource) for rule in rules}
    if known & {("MaxJobsPU", ""), ("MaxJobsPA", "")}:
        known.add(("MaxJobs", ""))
    mine = site.users.get((ask.user, ask.account))
    rules = [*_of_association(mine, f"its user {ask.user} in account {ask.account}")] if mine else []
    for name in site.above.get(ask.account, ()):
        if name in site.accounts:
            rules += _of_association(site.accounts[name], f"its account {name}")
    for rule in rules:
        yield rule, (rule.name, rule.resource) not in known
        if not rule.name.startswith("Grp"):  # of what a group may hold the tightest counts, of others the nearest
            known.add((rule.name, rule.resource))


def _of_qos(limits: Caps, qos: str, ask: Ask) -> Iterator[Limit]:
    name = f"QOS {qos}"
    user, account = f"{name} for its user {ask.user}", f"{name} for its account {ask.account}"
    yield from _tres(limits, "GrpTRES", name, "QOSGrp{}")
    yield from _jobs(limits, "GrpJobs", name, "QOSGrpJobsLimit")
    yield from _tres(limits, "GrpTRESRunMins", name, "QOSGrp{}RunMinutes")
    if ask.user:  # jobs that name none are nobody's together
        yield from _tres(limits, "MaxTRESPU", user, "QOSMax{}PerUser")
        yield from _jobs(limits, "MaxJobsPU", user, "QOSMaxJobsPerUserLimit")
    if ask.account:
        yield from _tres(limits, "MaxTRESPA", account, "Max{}PerAccount")
        yield from _jobs(limits, "MaxJobsPA", account, "MaxJobsPerAccount")
    yield from _of_a_job(limits, name, "QOS")


def _of_association(account: Association, whose: str) -> Iterator[Limit]:
    yield from _tres(account.limits, "GrpTRES", whose, "AssocGrp{}")
    yield from _jobs(account.limits, "GrpJobs", whose, "AssocGrpJobsLimit")
    if account.user:  # MaxJobs of an account is its users' default
        yield from _jobs(account.limits, "MaxJobs", whose, "AssocMaxJobsLimit")
    yield from _tres(account.limits, "GrpTRESRunMins", whose, "AssocGrp{}RunMinutes")
    yield from _of_a_job(account.limits, whose, "Assoc")


def _of_a_job(limits: Caps, whose: str, code: str) -> Iterator[Limit]:
    whose = f"{whose} for any job"
    yield from _tres(limits, "MaxTRES", whose, f"{code}Max{{}}PerJob")
    yield from _tres(limits, "MaxTRESPerNode", whose, f"{code}Max{{}}PerNode")
    if limits.wall_s < math.inf:
        code = f"{code}MaxWallDurationPerJobLimit"
        yield Limit(f"MaxWall of {whose}", "MaxWall", limits.wall_s / 60.0, "", whose, code, "MaxWall" in limits.as_set)


def _tres(limits: Caps, name: str, whose: str, code: str) -> Iterator[Limit]:
    for resource, most in limits.tres.get(name, {}).items():
        said = code.format(NOUNS.get(resource, "GRES"))
        for form, instead in IRREGULAR:
            said = re.sub(form, instead, said)
        yield Limit(
            f"{name} {resource} of {whose}", name, most, resource, whose, said, f"{name} {resource}" in limits.as_set
        )


def _jobs(limits: Caps, name: str, whose: str, code: str) -> Iterator[Limit]:
    if name in limits.jobs:
        yield Limit(f"{name} of {whose}", name, limits.jobs[name], "", whose, code, name in limits.as_set)
