"""Slurm's limits: who may start beside what runs, and the reason that squeue gives where not
(slurm.schedmd.com/resource_limits.html, 22.05).

A limit of the partition's QOS comes before that of the job's QOS, then the association of the user, then the accounts
above it. MaxTRESPU, MaxJobsPU (of a user), MaxTRESPA, MaxJobsPA (of an account) and GrpTRES, GrpJobs (of all) count the
jobs that run in that QOS; GrpTRESRunMins counts resources x minutes that are left to the limits of jobs that run;
MaxTRES, MaxTRESPerNode and MaxWall (the time limit) are of each job alone, which can never start beyond them. A job
that the log saw run although it asks for more than a limit lets alone is not held to it (ours: the limit was another
one then), but to what a what-if sets.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from workbench.baselines.mechanisms.slurm.free import RunningJob
from workbench.baselines.mechanisms.slurm.site import UNLIMITED_S, Ask, Association, Caps, SlurmSite
from workbench.scheduling.decision import Reason

NOUNS = {"cpu": "Cpu", "mem": "Memory", "node": "Node", "billing": "Billing"}
"""What reasons call resources; others are GRES."""
UNITS = {"cpu": "CPUs", "mem": "MB of memory", "node": "nodes", "gres/gpu": "GPUs"}


OF_A_JOB = ("MaxTRES", "MaxTRESPerNode", "MaxWall")


@dataclass(frozen=True, slots=True)
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
    def by_minutes(self) -> bool:
        """Whether it is of resources x minutes to the limits of what runs."""
        return self.name == "GrpTRESRunMins"

    def amount(self, ask: Ask, left_s: float) -> float:
        """What a job counts for, which runs for at most so many seconds more."""
        if self.name == "MaxWall":
            return ask.limit_s / 60.0 if ask.limit_s < UNLIMITED_S else 0.0
        count = ask.tres.get(self.resource, 0.0) if self.resource else 1.0
        if self.name == "MaxTRESPerNode":
            return count / ask.tres["node"]
        return count * max(left_s, 0.0) / 60.0 if self.by_minutes else count

    def reason(self, used: float, more: float) -> Reason:
        """Why a job may not start."""
        what = UNITS.get(self.resource, f"{self.resource.removeprefix('gres/gpu:')} GPUs")
        unit = f"{what} x minutes" if self.by_minutes else what if self.resource else "running jobs"
        if self.name in OF_A_JOB:
            unit = "minutes" if self.name == "MaxWall" else unit
            text = f"{self.name} of {self.whose}: at most {self.most:g} {unit}, and it asks for {more:g}"
            return Reason(self.code, text, {"limit": self.most, "asked for": more})
        text = f"{self.name} of {self.whose}: {used:g} of {self.most:g} {unit} are taken, and it asks for {more:g}"
        return Reason(self.code, text, {"taken": used, "limit": self.most, "asked for": more})


@dataclass(slots=True, eq=False)
class Ledger:
    """What runs, counted by whatever limits count by. group: of each job, which limits hold back with all others of it;
    of each group, limits: that count it; amounts: what a job adds to each key while it runs (without resources x
    minutes); checks: key, what a job asks for, and the limit of each that may hold it back; beyond:
    jobs that ran although a limit does not let them; by_minutes: whether any is
    of resources x minutes; used: by `Limit.key`; tasks: that run of each array."""

    group: Mapping[str, int]
    limits: Sequence[tuple[Limit, ...]]
    amounts: Sequence[tuple[tuple[str, float], ...]]
    checks: Sequence[tuple[tuple[str, float, Limit], ...]]
    beyond: tuple[str, ...]
    by_minutes: bool
    used: dict[str, float] = field(default_factory=dict)
    tasks: Counter[str] = field(default_factory=Counter)

    @staticmethod
    def of_site(site: SlurmSite) -> Ledger:
        """Of nothing that runs."""
        limits, known, group = all_limits(site), dict[tuple[object, ...], int](), dict[str, int]()
        of_group, amounts, checks, beyond = list[tuple[Limit, ...]](), [], [], list[str]()
        for ask in site.asks.values():
            rules = limits[ask.name]
            asked = tuple([rule.amount(ask, ask.limit_s) for rule in rules])
            key = ask.partition, ask.qos, ask.user, ask.account, ask.array, ask.array_most, ask.ran, asked
            group[ask.name] = known.setdefault(key, len(known))
            if len(known) > len(of_group):
                of_group.append(rules)
                amounts.append(tuple((rule.key, rule.amount(ask, 0.0)) for rule in rules if not rule.by_minutes))
                pairs = [(rule, more) for rule, more in zip(rules, asked, strict=True) if more > 0]
                past = {rule.key for rule, more in pairs if more > rule.most and ask.ran and not rule.as_set}
                checks.append(tuple((rule.key, more, rule) for rule, more in pairs if rule.key not in past))
            beyond += [ask.name] if len(checks[group[ask.name]]) < sum(more > 0 for more in asked) else []
        by_minutes = any(rule.by_minutes for rules in set(of_group) for rule in rules)
        return Ledger(group, of_group, amounts, checks, tuple(beyond), by_minutes)

    def copy(self) -> Ledger:
        """The same, to be changed apart."""
        same = self.group, self.limits, self.amounts, self.checks, self.beyond, self.by_minutes
        return Ledger(*same, self.used.copy(), self.tasks.copy())

    def add(self, ask: Ask, left_s: float) -> None:
        """Count a job that runs for at most so many seconds more."""
        self.count(ask, 1)
        self.add_minutes(ask, left_s)

    def count(self, ask: Ask, sign: int) -> None:
        """Count a job, or (-1) no longer, but for resources x minutes."""
        if ask.array:
            self.tasks[ask.array] += sign
        used = self.used
        for key, amount in self.amounts[self.group[ask.name]]:
            used[key] = used.get(key, 0.0) + sign * amount

    def untouched(self, ask: Ask) -> Callable[[int], bool]:
        """Whether it is nothing to a group that a job starts."""
        if ask.array:
            return lambda group: False
        keys, checks = {rule.key for rule in self.limits[self.group[ask.name]]}, self.checks
        return lambda group: keys.isdisjoint([check[0] for check in checks[group]])

    def add_all_minutes(self, held: Iterable[RunningJob], now_s: float) -> None:
        """Count those that are left to what runs, where a limit counts them."""
        if not self.by_minutes:
            return
        for each in held:
            self.add_minutes(each.ask, each.until_s - now_s)

    def add_minutes(self, ask: Ask, left_s: float) -> None:
        """Count the resources x minutes that are left to a job."""
        if not self.by_minutes:
            return
        for rule in self.limits[self.group[ask.name]]:
            if rule.by_minutes:
                self.used[rule.key] = self.used.get(rule.key, 0.0) + rule.amount(ask, left_s)

    def throttled(self, ask: Ask) -> Reason | None:
        """The reason where an array already runs as many tasks as it may."""
        if not ask.array or self.tasks[ask.array] < ask.array_most:
            return None
        runs, most = self.tasks[ask.array], ask.array_most
        text = f"{runs:g} tasks of its array {ask.array} run, at most {most:g} may (%{most:g})"
        return Reason("JobArrayTaskLimit", text, {"running tasks": float(runs), "limit": most})

    def reason(self, ask: Ask) -> Reason | None:
        """Why a job may not start now; None if it may."""
        used = self.used
        for key, more, rule in self.checks[self.group[ask.name]]:
            taken = 0.0 if rule.name in OF_A_JOB else used.get(key, 0.0)
            if taken + more > rule.most:
                return _said(rule, taken, more)
        return None

    def never(self, ask: Ask) -> Reason | None:
        """Why a job may not start even alone."""
        for _, more, rule in self.checks[self.group[ask.name]]:
            if more > rule.most:
                return rule.reason(0.0, more)
        return None


@lru_cache(maxsize=4096)
def _said(rule: Limit, used: float, more: float) -> Reason:
    """The same is said again and again."""
    return rule.reason(used, more)


def all_limits(site: SlurmSite) -> dict[str, tuple[Limit, ...]]:
    """The limits that count each job, in the order in which they are looked at; none where they are not enforced."""
    known: dict[tuple[str, ...], tuple[Limit, ...]] = {}
    found = {}
    for ask in site.asks.values():
        key = ask.partition, ask.qos, ask.user, ask.account
        if key not in known:
            known[key] = tuple(_rules(site, ask)) if site.enforced else ()
        found[ask.name] = known[key]
    return found


def _rules(site: SlurmSite, ask: Ask) -> Iterator[Limit]:
    """The limits that hold for a job, in Slurm's order."""
    partition = site.partitions.get(ask.partition)
    names = ([partition.qos] if partition else []) + [ask.qos]
    for qos in dict.fromkeys(name for name in names if name in site.qos):
        yield from _of_qos(site.qos[qos], qos, ask)
    if mine := site.users.get((ask.user, ask.account)):
        yield from _of_association(mine, f"its user {ask.user} in account {ask.account}")
    for name in site.above.get(ask.account, ()):
        if name in site.accounts:
            yield from _of_association(site.accounts[name], f"its account {name}")


def _of_qos(limits: Caps, qos: str, ask: Ask) -> Iterator[Limit]:
    name = f"QOS {qos}"
    user, account = f"{name} for its user {ask.user}", f"{name} for its account {ask.account}"
    yield from _tres(limits, "GrpTRES", name, "QOSGrp{}")
    yield from _jobs(limits, "GrpJobs", name, "QOSGrpJobsLimit")
    yield from _tres(limits, "GrpTRESRunMins", name, "QOSGrp{}RunMinutes")
    yield from _tres(limits, "MaxTRESPU", user, "QOSMax{}PerUser")
    yield from _jobs(limits, "MaxJobsPU", user, "QOSMaxJobsPerUserLimit")
    yield from _tres(limits, "MaxTRESPA", account, "QOSMax{}PerAccount")
    yield from _jobs(limits, "MaxJobsPA", account, "MaxJobsPerAccount")
    yield from _of_a_job(limits, name, "QOS")


def _of_association(account: Association, whose: str) -> Iterator[Limit]:
    jobs = "MaxJobs" if account.user else "GrpJobs"  # MaxJobs of an account is its users' default
    yield from _tres(account.limits, "GrpTRES", whose, "AssocGrp{}")
    yield from _jobs(account.limits, jobs, whose, f"Assoc{jobs}Limit")
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
        yield Limit(f"{name} {resource} of {whose}", name, most, resource, whose, said, name in limits.as_set)


def _jobs(limits: Caps, name: str, whose: str, code: str) -> Iterator[Limit]:
    if name in limits.jobs:
        yield Limit(f"{name} of {whose}", name, limits.jobs[name], "", whose, code, name in limits.as_set)
