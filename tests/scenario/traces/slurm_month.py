"""Weeks of a Slurm site, as its programs print them, from a scheduler that owes nothing to ours.

Its rules in short: each minute in which something has changed the queue is put in order by age, fair share (2^-(U/S),
half-life a week; U: a user's part of all usage, and an eighth, the user's part of its account's shares, of what the
others there have used, S: the part of all shares), size and QOS; down it each job starts that fits and that no limit of
its account or QOS holds back; the first one of each partition that does not fit is promised the nodes that will be free
first by time limits, and nobody may start on these who could run into that (EASY).
"""

from __future__ import annotations

import heapq
import math
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.scenario.traces.slurm_dumps import HEADER, clock, when

DAY_S = 86400
TYPES = {"a100": 0.48, "h100": 0.32, "v100": 0.2}
"""Part of the nodes, each of 8 GPUs; a partition each, `long` on the second half of a100's."""
ACCOUNTS = {"bio": 10, "chem": 10, "lang": 30, "phys": 15, "robo": 15, "vision": 20}
USERS = {account: [f"{account}{i}" for i in range(1, 9)] for account in ACCOUNTS}
CAPPED = {"lang": 1.15, "bio": 1.15}
"""Accounts with a GrpTRES, as a multiple of what their jobs need on average; who is above others has 1."""
MOST_OF_USER = 0.08
LONGEST_S = {"long": 7 * DAY_S}


@dataclass(frozen=True)
class Rules:
    """What else a site has. every_s: how often its scheduler looks at the queue; most_jobs: by account, how many of a
    user run at once (MaxJobs); together: the accounts below another, which has a GrpTRES for all of them;
    last: partitions whose jobs come after those of all others."""

    every_s: int = 60
    most_jobs: Mapping[str, int] = field(default_factory=dict)
    together: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    last: tuple[str, ...] = ()

    def above(self, account: str) -> str:
        """The account above one; empty: the root."""
        return next((name for name, below in self.together.items() if account in below), "")


PLAIN = Rules()
CONFIG = """\
ClusterName = month
AccountingStorageEnforce = associations,limits,qos
PriorityType = priority/multifactor
PriorityDecayHalfLife = 7-00:00:00
PriorityCalcPeriod = 00:05:00
PriorityFavorSmall = No
PriorityFlags = NO_FAIR_TREE
PriorityMaxAge = 7-00:00:00
PriorityWeightAge = 1000
PriorityWeightFairShare = 10000
PriorityWeightJobSize = 1000
PriorityWeightPartition = 0
PriorityWeightQOS = 2000
SchedulerParameters = batch_sched_delay={every_s},sched_interval={every_s},bf_interval={every_s},bf_window=10080,\
bf_resolution=300,bf_max_job_test=1000,bf_job_part_count_reserve=1
SchedulerType = sched/backfill
SelectType = select/cons_tres
SelectTypeParameters = CR_CORE_MEMORY
"""


@dataclass(slots=True)
class Asked:
    """One job; times in seconds from the begin."""

    number: int
    user: str
    account: str
    partition: str
    qos: str
    gpus: int
    submit_s: int
    run_s: int
    limit_s: int
    start_s: int = -1
    hosts: list[str] = field(default_factory=list)


def nodes_of(nodes: int) -> dict[str, list[str]]:
    """The nodes of each partition."""
    found = {kind: [f"{kind}-{i:03}" for i in range(1, int(nodes * part) + 1)] for kind, part in TYPES.items()}
    return {**found, "long": found["a100"][len(found["a100"]) // 2 :]}


def kind_of(partition: str) -> str:
    """The type of a partition's nodes."""
    return "a100" if partition == "long" else partition


def caps(jobs: list[Asked], rules: Rules = PLAIN) -> dict[str, int]:
    """The most GPUs at once of accounts that have a limit."""
    span_s, found = max(job.submit_s for job in jobs), {}
    for name, below in {**{name: (name,) for name in CAPPED}, **rules.together}.items():
        its = [job for job in jobs if job.account in below]
        need = sum(job.gpus * job.run_s for job in its) / span_s
        found[name] = max([int(CAPPED.get(name, 1.0) * need), *(job.gpus for job in its)])
    return found


def demand(jobs: int, days: int, nodes: int, load: float, seed: int) -> list[Asked]:
    """Jobs by submission: bursts of one user, more by day and on weekdays; run times so that all make up the load."""
    rng, found = random.Random(seed), list[Asked]()
    users = [(account, user) for account in ACCOUNTS for user in USERS[account]]
    weights = [rng.expovariate(1.0) for _ in users]
    while len(found) < jobs:
        at = rng.uniform(0, days * DAY_S)
        if rng.random() > (1.0 if at % DAY_S > DAY_S / 3 else 0.3) * (1.0 if at // DAY_S % 7 < 5 else 0.5):
            continue
        account, user = rng.choices(users, weights)[0]
        partition = rng.choices(["a100", "h100", "v100", "long"], [40, 30, 20, 10])[0]
        gpus = rng.choices([1, 2, 4, 8, 16, 32, 64], [46, 14, 14, 16, 6, 3, 1])[0]
        gpus = min(gpus, 2 ** int(math.log2(MOST_OF_USER * 8 * nodes)), 8 if partition == "long" else 64)
        hours = rng.lognormvariate(0.5 if partition != "long" else 2.0, 1.2)
        for _ in range(min(1 + int(rng.expovariate(0.4)), jobs - len(found))):
            run_s = min(int(3600 * hours * rng.uniform(0.5, 1.5)) + 30, LONGEST_S.get(partition, DAY_S))
            limit_s = min(math.ceil(run_s * rng.uniform(1.05, 4) / 900) * 900, LONGEST_S.get(partition, DAY_S))
            qos = "high" if rng.random() < 0.1 else "normal"
            found.append(Asked(0, user, account, partition, qos, gpus, int(at) + rng.randrange(60), run_s, limit_s))
    pools = {pool: [job for job in found if kind_of(job.partition) == pool] for pool in TYPES}
    scales = {}
    for pool, its in pools.items():
        wanted = load * int(nodes * TYPES[pool]) * 8 * days * DAY_S
        scales[pool] = wanted / max(sum(job.gpus * job.run_s for job in its), 1)
    for job in found:
        scale = scales[kind_of(job.partition)]
        job.run_s = max(min(int(job.run_s * scale), LONGEST_S.get(job.partition, DAY_S)), 30)
        job.limit_s = max(math.ceil(job.run_s / 900) * 900, min(math.ceil(job.limit_s * scale / 900) * 900, 7 * DAY_S))
        job.limit_s = min(job.limit_s, LONGEST_S.get(job.partition, DAY_S))
    found.sort(key=lambda job: job.submit_s)
    for number, job in enumerate(found, start=1000):
        job.number = number
    return found


def schedule(jobs: list[Asked], nodes: int, rules: Rules = PLAIN) -> list[Asked]:
    """Give each job its start and its nodes."""
    inside = nodes_of(nodes)
    free = {host: 8 for hosts in inside.values() for host in hosts}
    all_gpus, half_life = 8 * len(free), 7 * DAY_S
    most, every_s = caps(jobs, rules), rules.every_s
    above = {account: rules.above(account) for account in ACCOUNTS}
    of_user, mine = int(MOST_OF_USER * all_gpus), dict.fromkeys([*ACCOUNTS, *above.values()], 0)
    users: dict[tuple[str, str], int] = {}
    running = Counter[str]()
    usage, counted_s = dict.fromkeys([user for names in USERS.values() for user in names], 0.0), 0
    shares = {u: share / sum(ACCOUNTS.values()) / 8 for a, share in ACCOUNTS.items() for u in USERS[a]}
    queue, ends, at, coming = list[Asked](), list[tuple[int, int, Asked]](), 0, 0
    fair = dict.fromkeys(usage, 1.0)
    while coming < len(jobs) or queue:
        times = [jobs[coming].submit_s] if coming < len(jobs) else []
        times += [ends[0][0]] if ends else []
        at = max(at + every_s, math.ceil(min(times) / every_s) * every_s)
        while ends and ends[0][0] <= at:
            _, _, job = heapq.heappop(ends)
            usage[job.user] += job.gpus * (job.start_s + job.run_s - max(counted_s, job.start_s))
            for host in job.hosts:
                free[host] += job.gpus // len(job.hosts)
            for account in {job.account, above[job.account]}:
                mine[account] -= job.gpus
            users[job.user, job.qos] -= job.gpus
            running[job.user] -= 1
        while coming < len(jobs) and jobs[coming].submit_s <= at:
            queue.append(jobs[coming])
            coming += 1
        if at - counted_s >= 300:
            kept = 0.5 ** ((at - counted_s) / half_life)
            usage = {user: used * kept for user, used in usage.items()}
            for _, _, job in ends:
                usage[job.user] += job.gpus * (at - max(counted_s, job.start_s))
            total, counted_s = sum(usage.values()) or 1.0, at
            its = {account: sum(usage[user] for user in names) for account, names in USERS.items()}
            for below in rules.together.values():
                used_s, parts = sum(its[a] for a in below), sum(ACCOUNTS[a] for a in below)
                its |= {a: its[a] + (used_s - its[a]) * ACCOUNTS[a] / parts for a in below}
            used = {u: usage[u] + (its[a] - usage[u]) / len(USERS[a]) for a in ACCOUNTS for u in USERS[a]}
            fair = {user: 2 ** (-used[user] / total / shares[user]) for user in usage}
        order = sorted(
            queue,
            key=lambda job: (
                job.partition in rules.last,
                -int(
                    1000 * min((counted_s - job.submit_s) / (7 * DAY_S), 1)
                    + 10000 * fair[job.user]
                    + 1000 * (max(job.gpus // 8, 1) + job.gpus / 16) / len(free) / 2
                    + (2000 if job.qos == "high" else 0)
                ),
                job.number,
            ),
        )
        promised: dict[str, tuple[int, set[str]]] = {}
        for job in order:
            if any(mine[a] + job.gpus > most.get(a, all_gpus) for a in (job.account, above[job.account])):
                continue
            if job.qos == "normal" and users.get((job.user, job.qos), 0) + job.gpus > of_user:
                continue
            if running[job.user] >= rules.most_jobs.get(job.account, len(jobs)):
                continue
            each, count = min(job.gpus, 8), max(job.gpus // 8, 1)
            barred = {host for time_s, hosts in promised.values() if at + job.limit_s > time_s for host in hosts}
            fit = [host for host in inside[job.partition] if free[host] >= each and host not in barred]
            if len(fit) >= count:
                job.start_s, job.hosts = at, _chosen(fit, count, free)
                for host in job.hosts:
                    free[host] -= each
                for account in {job.account, above[job.account]}:
                    mine[account] += job.gpus
                users[job.user, job.qos] = users.get((job.user, job.qos), 0) + job.gpus
                running[job.user] += 1
                heapq.heappush(ends, (at + job.run_s, job.number, job))
                queue.remove(job)
            elif job.partition not in promised:
                promised[job.partition] = _promise(job, each, count, inside[job.partition], free, ends, at)
    return jobs


def _chosen(fit: list[str], count: int, free: Mapping[str, int]) -> list[str]:
    """As select/cons_tres has it: of the rows of neighbours that are long enough the one with the fewest free CPUs, and
    in it the node with the fewest, or the first ones; where none is long enough, the one with the most first."""
    rows: list[list[str]] = []
    for host in fit:
        if rows and int(rows[-1][-1][-3:]) + 1 == int(host[-3:]):
            rows[-1].append(host)
        else:
            rows.append([host])
    cpus = {host: 32 + 4 * free[host] for host in fit}
    found: list[str] = []
    while len(found) < count:
        left = count - len(found)
        row = min(
            rows, key=lambda row: (len(row) < left, sum(map(cpus.__getitem__, row)) * (1 if len(row) >= left else -1))
        )
        rows.remove(row)
        found += [min(row, key=cpus.__getitem__)] if left == 1 else row[:left]
    return found


def _promise(
    job: Asked,
    each: int,
    count: int,
    inside: list[str],
    free: dict[str, int],
    ends: list[tuple[int, int, Asked]],
    at: int,
) -> tuple[int, set[str]]:
    """When by the limits of what runs a job finds its nodes, and which."""
    left = {host: free[host] for host in inside}
    fit = [host for host in inside if left[host] >= each]
    for _, _, runs in sorted(ends, key=lambda end: end[2].start_s + end[2].limit_s):
        if len(fit) >= count:
            break
        for host in runs.hosts:
            if host in left:
                before = left[host]
                left[host] += runs.gpus // len(runs.hosts)
                if before < each <= left[host]:
                    fit.append(host)
        at = max(at, runs.start_s + runs.limit_s)
    return at, {*fit[-count:]}


def written(
    folder: Path, jobs: list[Asked], nodes: int, hidden: frozenset[str] = frozenset(), rules: Rules = PLAIN
) -> dict[str, list[Path]]:
    """The files of the site, as `convert` takes them; hidden: accounts whose limits no file tells."""
    inside = nodes_of(nodes)
    total = 8 * sum(len(inside[kind]) for kind in TYPES)
    rows = [HEADER]
    for job in jobs:
        tres = f"billing={job.gpus},cpu={4 * job.gpus},gres/gpu:{job.hosts[0][:4]}={job.gpus},gres/gpu={job.gpus},"
        tres += f"mem={32 * job.gpus}G,node={len(job.hosts)}"
        begun = (when(job.submit_s), when(job.submit_s), when(job.start_s), when(job.start_s + job.run_s))
        cells = (job.number, job.user, job.account, job.partition, job.qos, *begun, clock(job.run_s))
        rest = (clock(job.limit_s), "COMPLETED", "None", len(job.hosts), ",".join(job.hosts), tres, tres)
        rows.append("|".join(map(str, (*cells, *rest, "", "", "", "", "sbatch job.sh"))))
    lines = [f"NodeName={host} Gres=gpu:{kind}:8 CPUs=64 RealMemory=512000" for kind in TYPES for host in inside[kind]]
    for name, hosts in inside.items():
        lines.append(f"PartitionName={name} Nodes={','.join(hosts)} MaxTime={clock(LONGEST_S.get(name, DAY_S))}")
        lines[-1] += f" PriorityTier={1 if name in rules.last else 5}" if rules.last else ""
    for kind in TYPES:
        racks = [inside[kind][i : i + 20] for i in range(0, len(inside[kind]), 20)]
        lines += [f"SwitchName={kind}-r{i} Level=0 Nodes={','.join(rack)}" for i, rack in enumerate(racks, start=1)]
    most = {name: cap for name, cap in caps(jobs, rules).items() if name not in hidden}
    assoc = ["Cluster|Account|User|Share|GrpTRES|MaxJobs|ParentName", "month|root||1|||"]
    for name, below in rules.together.items():
        cap, share = f"gres/gpu={most[name]}" if name in most else "", sum(ACCOUNTS[a] for a in below)
        assoc.append(f"month| {name}||{share}|{cap}||root")
    for account, share in ACCOUNTS.items():
        cap = f"gres/gpu={most[account]}" if account in most else ""
        assoc.append(f"month| {account}||{share}|{cap}||{rules.above(account) or 'root'}")
        count = rules.most_jobs.get(account, "") if account not in hidden else ""
        assoc += [f"month|  {account}|{user}|1||{count}|" for user in USERS[account]]
    qos = ["Name|Priority|GraceTime|UsageFactor|MaxTRESPU"]
    qos += [f"normal|0|00:00:00|1.000000|gres/gpu={int(MOST_OF_USER * total)}", "high|100|00:00:00|1.000000|"]
    texts = {
        "sacct": rows,
        "nodes": lines,
        "assoc": assoc,
        "qos": qos,
        "config": [CONFIG.format(every_s=rules.every_s)],
    }
    paths = {name: folder / f"{name}.txt" for name in texts}
    for name, text in texts.items():
        paths[name].write_text("\n".join(text) + "\n")
    return {
        "log": [paths["sacct"]],
        "nodes": [paths["nodes"]],
        "limits": [paths["assoc"], paths["qos"]],
        "config": [paths["config"]],
    }
