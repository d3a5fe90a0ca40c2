"""Slurm's multifactor priority: who comes first (slurm.schedmd.com/priority_multifactor.html, fair_tree.html; 22.05).

    priority = PriorityWeightAge       x min(1, (now - eligible) / PriorityMaxAge)
             + PriorityWeightFairShare x F
             + PriorityWeightJobSize   x (nodes / all nodes + CPUs / all CPUs) / 2 (PriorityFavorSmall: 1 less that;
               SMALL_RELATIVE_TO_TIME: the larger of the two, by the minutes of its limit)
             + PriorityWeightPartition x PriorityJobFactor / the largest one
             + PriorityWeightQOS       x Priority of the QOS / the largest one
             + PriorityWeightTRES      x what it asks for / what its partition has, of each resource
             - its --nice

*Fair Tree.* Among the children of one account, LevelFS = S / U, of what each was promised (shares) and has used
(usage), both as parts of their sum. Walking down the tree, always the child with the largest LevelFS first, the users
are ranked; F = rank from below / number of users, equal LevelFS have equal ranks, their children being ranked together.

*The older way* (PriorityFlags=NO_FAIR_TREE). F = 2^(-U / S / FairShareDampeningFactor), of a user S the part of all
shares and U that of all usage: U = own + (U of the account - own) x part of the account's shares.

*Fairshare=parent.* A user is the first of its account in the tree, and has its account's F in the older way; children
of such an account are ranked as those of the account above.

*Usage.* Every PriorityCalcPeriod what was used so far decays, by (1 - .693 / PriorityDecayHalfLife) a second, and what
jobs held since then (billing x seconds x UsageFactor of their QOS) is added, to the user and the accounts above; of
jobs that have ended since only where limits are enforced (acct_policy.c, _adjust_limit_usage: else nothing is told of
their end).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from workbench.baselines.mechanisms.slurm.asks import Ask
from workbench.baselines.mechanisms.slurm.site import SlurmSite

User = tuple[str, str]
"""A user in an account."""
PRIORITY, TIER = 32, 128
"""Bits of a place in the queue below those of a priority, of a partition's tier."""


class Standing(NamedTuple):
    """The parts of a priority that time does not change, as `sprio -l` has them; turn: what orders the queue beside
    priority: jobs of reservations before all, by partition tier, then (below 2^32) who was submitted first."""

    job_size: float
    partition: float
    qos: float
    tres: float
    turn: int


def kept_after(site: SlurmSite, span_s: float) -> float:
    """The part of a usage that is left after a time; all of it where PriorityDecayHalfLife is 0."""
    half_life_s = site.settings["PriorityDecayHalfLife"]
    left: float = max(1.0 - 0.693 / half_life_s, 0.0) ** span_s if half_life_s else 1.0
    return left


def decayed(
    site: SlurmSite,
    usage: Mapping[User, float],
    held: Iterable[tuple[Ask, float]],
    span_s: float,
    whole: Mapping[User, float] = MappingProxyType({}),
) -> dict[User, float]:
    """The usage of each user after `span_s` seconds, in which jobs ran for so many seconds each. whole: what a second
    of the jobs uses that ran all the time."""
    left, of_span = kept_after(site, span_s), dict[float, float]()
    found = {user: used * left for user, used in usage.items()}
    for ask, ran_s in held:
        if ran_s not in of_span:
            of_span[ran_s] = ran_s * kept_after(site, ran_s)
        found[ask.who] = found.get(ask.who, 0.0) + ask.uses * of_span[ran_s]
    for who, used in whole.items():
        found[who] = found.get(who, 0.0) + used * span_s * left
    return found


def fair_shares(site: SlurmSite, usage: Mapping[User, float]) -> dict[User, float]:
    """F of each user in each account, from 0 to 1; empty where the site says nothing of shares."""
    if not site.fair_tree:
        return _fair_by_usage(site, usage)
    children, promised = site.children, site.promised
    used, level = _used(site, usage), dict[str | User, float]()
    for below in children.values():
        together = sum([used.get(node, 0.0) for node in below])
        for node in below:
            part = used.get(node, 0.0) / together if together else 0.0
            level[node] = 0.0 if not promised[node] else math.inf if part == 0 else promised[node] / part
    count, ranks = len(site.users), dict[User, float]()
    rank = left = count

    def walk(nodes: Sequence[str | User], tied: bool) -> None:
        """Rank the users below, best first; tied: the first of them has the rank of who came last."""
        nonlocal rank, left
        before: float | None = None
        for value in sorted({level[node] for node in nodes}, reverse=True):
            below = list[str | User]()
            for node in [node for node in nodes if level[node] == value]:
                if isinstance(node, tuple):  # users come before accounts that are as good
                    rank = rank if tied or before == value else left
                    ranks[node] = rank / count
                    left, tied, before = left - 1, False, value
                else:
                    below += children.get(node, ())
            if below:  # of accounts that are as good together
                walk(below, tied or before == value)
                tied, before = False, value

    walk(children.get("root", ()), False)
    return ranks


def _fair_by_usage(site: SlurmSite, usage: Mapping[User, float]) -> dict[User, float]:
    """F of each user, the older way."""
    used, total = _used(site, usage), sum(usage.values()) or 1.0
    damping = max(site.settings["FairShareDampeningFactor"], 1.0)
    parts: dict[str | User, tuple[float, float]] = {}  # of all shares and, as it counts, of all usage
    found, above = dict[User, float](), ["root"]
    while above:
        account = above.pop()
        for key in site.children.get(account, ()):
            part, own = site.promised[key], used.get(key, 0.0) / total
            shares, its = parts.get(account, (1.0, 1.0))
            if part == math.inf:  # Fairshare=parent
                part, own = shares, its
            elif account != "root":
                part, own = shares * part, own + (its - own) * part
            if isinstance(key, str):
                parts[key] = part, own
                above.append(key)
            else:
                found[key] = 2 ** -(own / part / damping) if part else 0.0
    return found


def _used(site: SlurmSite, usage: Mapping[User, float]) -> dict[str | User, float]:
    """Usage of users and, added up, of accounts."""
    found: dict[str | User, float] = dict(usage.items())
    for (_, account), value in usage.items():
        for name in site.above.get(account, (account,)):
            found[name] = found.get(name, 0.0) + value
    return found


def standing(site: SlurmSite) -> dict[str, Standing]:
    """What of each job's place in the queue time does not change."""
    weight, asks = site.settings, site.asks.values()
    tiers = {tier: i for i, tier in enumerate(sorted({_before_priority(ask) for ask in asks}))}
    ranks = {ask.name: i for i, ask in enumerate(sorted(asks, key=lambda ask: (ask.number, ask.name)))}
    factor = max((each.factor for each in site.partitions.values()), default=1.0) or 1.0
    qos = max(site.qos_priority.values(), default=0.0) or 1.0
    nodes, cpus = site.all_nodes, site.all_cpus
    has = {
        (name, partition): float(site.tres[name][site.machines_of(partition)].sum())
        for name in site.tres_weight
        if name in site.tres
        for partition in {ask.partition for ask in asks}
    }
    found = {}
    for ask in asks:
        partition = site.partitions.get(ask.partition)
        of_nodes, of_cpus = ask.tres["node"] / nodes, ask.tres["cpu"] / cpus if cpus < math.inf else 0.0
        size = max(of_nodes, of_cpus) * 60.0 / ask.limit_s if site.over_time else (of_nodes + of_cpus) / 2
        found[ask.name] = Standing(
            weight["PriorityWeightJobSize"] * (1 - size if site.favors_small else size),
            weight["PriorityWeightPartition"] * (partition.factor / factor if partition else 0.0),
            weight["PriorityWeightQOS"] * site.qos_priority.get(ask.qos, 0.0) / qos,
            sum(
                site.tres_weight[name] * ask.tres.get(name, 0.0) / there
                for (name, of), there in has.items()
                if of == ask.partition and 0 < there < math.inf
            ),
            (tiers[_before_priority(ask)] << TIER) + ranks[ask.name],
        )
    return found


def _before_priority(ask: Ask) -> tuple[bool, float]:
    return not ask.reservation, -ask.tier


def changing(
    site: SlurmSite, asks: Sequence[Ask], fair: Mapping[User, float], now_s: float
) -> list[tuple[float, float]]:
    """The parts of each job's priority that time changes: age, fair share."""
    of_age, of_share = site.settings["PriorityWeightAge"], site.settings["PriorityWeightFairShare"]
    longest_s = max(site.settings["PriorityMaxAge"], 1.0)
    full_s = now_s - longest_s
    return [
        (
            0.0
            if ask.since_s >= now_s
            else of_age
            if ask.since_s <= full_s
            else of_age * ((now_s - ask.since_s) / longest_s),
            of_share * fair.get(ask.who, 0.0),
        )
        for ask in asks
    ]


def priorities(
    site: SlurmSite, asks: Sequence[Ask], fair: Mapping[User, float], now_s: float, stand: Mapping[str, Standing]
) -> dict[str, float]:
    """The priority of each job. stand: `standing` of the site."""
    if not site.by_priority:
        return dict.fromkeys([ask.name for ask in asks], 0.0)
    found = {}
    for ask, (age, share) in zip(asks, changing(site, asks, fair, now_s), strict=True):
        size, partition, qos, tres, _ = stand[ask.name]
        found[ask.name] = age + share + size + partition + qos + tres - ask.nice
    return found


def queue_place(priority: float, stand: Standing) -> int:
    """What orders the queue: the smaller, the earlier."""
    return stand.turn - (int(priority) << PRIORITY)
