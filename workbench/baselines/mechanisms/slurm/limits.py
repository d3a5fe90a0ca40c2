"""Slurm's limits: who may start beside what runs, and the reason that squeue gives where not
(slurm.schedmd.com/resource_limits.html, 22.05).

A limit of the partition's QOS comes before that of the job's QOS, then the association of the user, then the accounts
above it. MaxTRESPU, MaxJobsPU (of a user), MaxTRESPA, MaxJobsPA (of an account) and GrpTRES, GrpJobs (of all) count the
jobs that run in that QOS; GrpTRESRunMins counts resources x minutes that are left to the limits of jobs that run;
MaxTRES, MaxTRESPerNode and MaxWall (the time limit) are of each job alone, which can never start beyond them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from workbench.baselines.mechanisms.slurm.free import Held
from workbench.baselines.mechanisms.slurm.site import UNLIMITED_S, Ask, Association, Caps, SlurmSite
from workbench.scheduling.decision import Reason

NOUNS = {"cpu": "Cpu", "mem": "Memory", "node": "Node", "billing": "Billing"}
"""What reasons call resources; others are GRES."""
UNITS = {"cpu": "CPUs", "mem": "MB of memory", "node": "nodes", "gres/gpu": "GPUs"}


OF_A_JOB = ("MaxTRES", "MaxTRESPerNode", "MaxWall")


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: its name and number, of which resource (empty: of running jobs), whose jobs it counts, and squeue's
    reason. key: what it is counted by."""

    key: str
    name: str
    most: float
    resource: str
    whose: str
    code: str

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
    """What runs, counted by whatever limits count by. limits: of each job (`all_limits`); group: of each job, which
    limits hold back with all others of it; by_minutes: whether any is of
    resources x minutes; used: by `Limit.key`; tasks: that run of each array."""

    limits: Mapping[str, tuple[Limit, ...]]
    group: Mapping[str, int]
    by_minutes: bool
    used: dict[str, float] = field(default_factory=dict)
    tasks: Counter[str] = field(default_factory=Counter)

    @staticmethod
    def of_site(site: SlurmSite) -> Ledger:
        """Of nothing that runs."""
        limits, known, group = all_limits(site), dict[tuple[object, ...], int](), dict[str, int]()
        for ask in site.asks.values():
            asked = tuple([rule.amount(ask, ask.limit_s) for rule in limits[ask.name]])
            key = ask.partition, ask.qos, ask.user, ask.account, ask.array, ask.array_most, asked
            group[ask.name] = known.setdefault(key, len(known))
        return Ledger(limits, group, any(rule.by_minutes for rules in set(limits.values()) for rule in rules))

    def copy(self) -> Ledger:
        """The same, to be changed apart."""
        return Ledger(self.limits, self.group, self.by_minutes, self.used.copy(), self.tasks.copy())

    def add(self, ask: Ask, left_s: float) -> None:
        """Count a job that runs for at most so many seconds more."""
        self.count(ask, 1)
        self.add_minutes(ask, left_s)

    def count(self, ask: Ask, sign: int) -> None:
        """Count a job, or (-1) no longer, but for resources x minutes."""
        if ask.array:
            self.tasks[ask.array] += sign
        for rule in self.limits[ask.name]:
            if not rule.by_minutes:
                self.used[rule.key] = self.used.get(rule.key, 0.0) + sign * rule.amount(ask, 0.0)

    def add_all_minutes(self, held: Iterable[Held], now_s: float) -> None:
        """Count those that are left to what runs, where a limit counts them."""
        if not self.by_minutes:
            return
        for each in held:
            self.add_minutes(each.ask, each.until_s - now_s)

    def add_minutes(self, ask: Ask, left_s: float) -> None:
        """Count the resources x minutes that are left to a job."""
        for rule in self.limits[ask.name]:
            if rule.by_minutes:
                self.used[rule.key] = self.used.get(rule.key, 0.0) + rule.amount(ask, left_s)

    def throttled(self, ask: Ask) -> Reason | None:
        """The reason where an array already runs as many tasks as it may."""
        runs, most = self.tasks[ask.array], ask.array_most
        if not ask.array or runs < most:
            return None
        text = f"{runs:g} tasks of its array {ask.array} run, at most {most:g} may (%{most:g})"
        return Reason("JobArrayTaskLimit", text, {"running tasks": float(runs), "limit": most})

    def reason(self, ask: Ask) -> Reason | None:
        """Why a job may not start now; None if it may."""
        for rule in self.limits[ask.name]:
            used, more = self.used.get(rule.key, 0.0) * (rule.name not in OF_A_JOB), rule.amount(ask, ask.limit_s)
            if more > 0 and used + more > rule.most:
                return rule.reason(used, more)
        return None

    def never(self, ask: Ask) -> Reason | None:
        """Why a job may not start even alone."""
        for rule in self.limits[ask.name]:
            if (more := rule.amount(ask, ask.limit_s)) > rule.most:
                return rule.reason(0.0, more)
        return None


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
    name, seen = ask.account, set[str]()
    while name in site.accounts and name not in seen:
        seen.add(name)
        yield from _of_association(site.accounts[name], f"its account {name}")
        name = site.accounts[name].parent


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
        yield Limit(
            f"MaxWall of {whose}", "MaxWall", limits.wall_s / 60.0, "", whose, f"{code}MaxWallDurationPerJobLimit"
        )


def _tres(limits: Caps, name: str, whose: str, code: str) -> Iterator[Limit]:
    for resource, most in limits.tres.get(name, {}).items():
        yield Limit(
            f"{name} {resource} of {whose}", name, most, resource, whose, code.format(NOUNS.get(resource, "GRES"))
        )


def _jobs(limits: Caps, name: str, whose: str, code: str) -> Iterator[Limit]:
    if name in limits.jobs:
        yield Limit(f"{name} of {whose}", name, limits.jobs[name], "", whose, code)
