"""Slurm's multifactor priority: who comes first (slurm.schedmd.com/priority_multifactor.html, fair_tree.html; 22.05).

    priority = PriorityWeightAge       x min(1, (now - eligible) / PriorityMaxAge)
             + PriorityWeightFairShare x F
             + PriorityWeightJobSize   x (nodes / all nodes + CPUs / all CPUs) / 2 (PriorityFavorSmall: 1 less that)
             + PriorityWeightPartition x PriorityJobFactor / the largest one
             + PriorityWeightQOS       x Priority of the QOS / the largest one
             + PriorityWeightTRES      x what it asks for / what its partition has, of each resource

*Fair Tree.* Among the children of one account, LevelFS = S / U, of what each was promised (shares) and has used
(usage), both as parts of their sum. Walking down the tree, always the child with the largest LevelFS first, the users
are ranked; F = rank from below / number of users, equal LevelFS have equal ranks, their children being ranked together.

*Usage.* Every PriorityCalcPeriod what was used so far decays, by (1 - .693 / PriorityDecayHalfLife) a second, and what
jobs held since then (billing x seconds x UsageFactor of their QOS) is added, to the user and the accounts above.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from workbench.baselines.mechanisms.slurm.site import Ask, SlurmSite

User = tuple[str, str]
"""A user in an account."""


def decayed(
    site: SlurmSite, usage: Mapping[User, float], held: Iterable[tuple[Ask, float]], span_s: float
) -> dict[User, float]:
    """The usage of each user after `span_s` seconds, in which jobs ran for so many seconds each."""
    kept = max(1.0 - 0.693 / max(site.settings["PriorityDecayHalfLife"], 0.693), 0.0)
    left = kept**span_s
    found = {user: used * left for user, used in usage.items()}
    for ask, ran_s in held:
        user = (ask.user, ask.account)
        factor = site.usage_factor.get(ask.qos, 1.0)
        found[user] = found.get(user, 0.0) + ask.billing * ran_s * kept**ran_s * factor
    return found


def fair_shares(site: SlurmSite, usage: Mapping[User, float]) -> dict[User, float]:
    """F of each user in each account, from 0 to 1; empty where the site says nothing of shares."""
    children: dict[str, list[str | User]] = {}
    for name, account in site.accounts.items():
        if account.parent:
            children.setdefault(account.parent, []).append(name)
    for user, account in site.users.items():
        children.setdefault(account.parent, []).append(user)
    used = _used(site, usage)
    count, ranks = len(site.users), dict[User, float]()

    rank = left = count

    def walk(nodes: Sequence[str | User], tied: bool) -> None:
        """Rank the users below, best first; tied: the first of them has the rank of who came last."""
        nonlocal rank, left
        level = _levels(site, nodes, used)
        before: float | None = None
        for value in sorted(set(level.values()), reverse=True):
            equal = [node for node in nodes if level[node] == value]
            for node in equal:
                if isinstance(node, tuple):  # users come before accounts that are as good
                    rank = rank if tied or before == value else left
                    ranks[node] = rank / count
                    left, tied, before = left - 1, False, value
            below = [child for node in equal if isinstance(node, str) for child in children.get(node, [])]
            if below:  # of accounts that are as good together
                walk(below, tied or before == value)
                tied, before = False, value

    walk(children.get("root", []), False)
    return ranks


def _used(site: SlurmSite, usage: Mapping[User, float]) -> dict[str | User, float]:
    """Usage of users and, added up, of accounts."""
    found: dict[str | User, float] = dict(usage.items())
    for (_, name), value in usage.items():
        seen: set[str] = set()
        while name and name not in seen:
            seen.add(name)
            found[name] = found.get(name, 0.0) + value
            name = site.accounts[name].parent if name in site.accounts else ""
    return found


def _levels(site: SlurmSite, nodes: Sequence[str | User], used: Mapping[str | User, float]) -> dict[str | User, float]:
    """LevelFS of each node among its siblings there."""
    mine = [site.users[node] if isinstance(node, tuple) else site.accounts[node] for node in nodes]
    shares, together = dict[str, float](), dict[str, float]()
    for node, each in zip(nodes, mine, strict=True):
        shares[each.parent] = shares.get(each.parent, 0.0) + each.shares
        together[each.parent] = together.get(each.parent, 0.0) + used.get(node, 0.0)
    found = dict[str | User, float]()
    for node, each in zip(nodes, mine, strict=True):
        part = used.get(node, 0.0) / together[each.parent] if together[each.parent] else 0.0
        promised = each.shares / shares[each.parent] if each.shares > 0 else 0.0
        found[node] = 0.0 if not promised else math.inf if part == 0 else promised / part
    return found


def priorities(
    site: SlurmSite, asks: Sequence[Ask], fair: Mapping[User, float], now_s: float
) -> list[dict[str, float]]:
    """The parts of each job's priority, as `sprio -l` has them; `priority` is their sum."""
    weight = site.settings
    factor = max((each.factor for each in site.partitions.values()), default=1.0) or 1.0
    qos = max(site.qos_priority.values(), default=0.0) or 1.0
    nodes, cpus = site.all_nodes, site.all_cpus
    has = {
        (name, partition): float(site.tres[name][site.machines_of(partition)].sum())
        for name in site.tres_weight
        if name in site.tres
        for partition in {ask.partition for ask in asks}
    }
    found = []
    for ask in asks:
        partition = site.partitions.get(ask.partition)
        age = min(max(now_s - ask.since_s, 0.0) / max(weight["PriorityMaxAge"], 1.0), 1.0)
        size = (ask.tres["node"] / nodes + (ask.tres["cpu"] / cpus if cpus < float("inf") else 0.0)) / 2
        parts = {
            "age": weight["PriorityWeightAge"] * age,
            "fair_share": weight["PriorityWeightFairShare"] * fair.get((ask.user, ask.account), 0.0),
            "job_size": weight["PriorityWeightJobSize"] * (1 - size if site.favors_small else size),
            "partition": weight["PriorityWeightPartition"] * (partition.factor / factor if partition else 0.0),
            "qos": weight["PriorityWeightQOS"] * site.qos_priority.get(ask.qos, 0.0) / qos,
            "tres": sum(
                site.tres_weight[name] * ask.tres.get(name, 0.0) / there
                for (name, of), there in has.items()
                if of == ask.partition and 0 < there < math.inf
            ),
        }
        found.append({**parts, "priority": sum(parts.values())})
    return found
