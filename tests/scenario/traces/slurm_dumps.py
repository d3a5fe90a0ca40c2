"""Dumps of a small Slurm site; `queued` has a scheduler of its own, which owes nothing to ours."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import NamedTuple

BEGIN = datetime(2024, 3, 4, 8, 0, 0)
HEADER = (
    "JobID|User|Account|Partition|QOS|Submit|Eligible|Start|End|Elapsed|Timelimit|State|Reason|NNodes|NodeList|"
    "AllocTRES|ReqTRES|Constraints|Reservation|Priority|Flags|SubmitLine"
)
NODES = """\
NodeName=a[1-2] Gres=gpu:a100:8 CPUs=64 RealMemory=512000 Feature=a100 Weight=20
NodeName=v1 Gres=gpu:v100:4 CPUs=32 RealMemory=256000 Feature=v100
NodeName=m1 Gres=gpu:a100:1,gpu:a100_1g.5gb:7 CPUs=32 RealMemory=256000
NodeName=c1 CPUs=64 RealMemory=256000
PartitionName=big Nodes=a[1-2] MaxTime=1-00:00:00 PriorityTier=5 AllowAccounts=bio,chem
PartitionName=small Nodes=v1,m1 MaxTime=04:00:00 PriorityTier=1
PartitionName=cpu Nodes=c1 MaxTime=04:00:00
SwitchName=r1 Level=0 Nodes=a[1-2]
"""


class Ran(NamedTuple):
    """One job of a dump, times in seconds from BEGIN."""

    name: str
    submit_s: int
    start_s: int
    run_s: int
    tres: str = "gres/gpu:a100=8,gres/gpu=8"
    host: str = "a1"
    partition: str = "big"
    state: str = "COMPLETED"
    user: str = "ada"
    submit_line: str = "sbatch run.sh"
    eligible_s: int | None = None


def when(seconds: int) -> str:
    return (BEGIN + timedelta(seconds=seconds)).isoformat()


def clock(seconds: int) -> str:
    return f"{seconds // 86400}-{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def row(job: Ran) -> str:
    """A line of `sacct -P` with all that is read."""
    going = job.state == "RUNNING"
    eligible = job.submit_s if job.eligible_s is None else job.eligible_s
    cells = (
        *(job.name, job.user, "bio", job.partition, "normal", when(job.submit_s), when(eligible), when(job.start_s)),
        *("Unknown" if going else when(job.start_s + job.run_s), clock(job.run_s), "04:00:00", job.state, "None", "1"),
        *(job.host, f"billing=8,cpu=8,{job.tres},mem=64G,node=1".replace(",,", ","), "", "", "", "100", "SchedMain"),
        job.submit_line,
    )
    return "|".join(cells)


def dump(*jobs: Ran) -> str:
    return "\n".join([HEADER, *map(row, jobs)]) + "\n"


def limited(count: int, seed: int = 0) -> list[Ran]:
    """Jobs of 8 GPUs on two nodes, first come first served but one at a time of a user; most are user a's."""
    rng, now, waiting, found = random.Random(seed), 0, list[Ran](), list[Ran]()
    for number in range(count):
        now += rng.randrange(1, 1400)
        waiting.append(Ran(str(number), now, 0, rng.randrange(300, 1800), user=rng.choice("aaabc")))
    runs: dict[str, Ran] = {}  # by node
    ends, at = [job.submit_s for job in waiting], 0
    while waiting:
        at = min(time for time in ends if time > at)
        runs = {host: job for host, job in runs.items() if job.start_s + job.run_s > at}
        for job in [job for job in waiting if job.submit_s <= at]:
            host = next((host for host in ("a1", "a2") if host not in runs), None)
            if host is not None and job.user not in {other.user for other in runs.values()}:
                runs[host] = job._replace(start_s=at, host=host)
                found.append(runs[host])
                waiting.remove(job)
                ends.append(at + job.run_s)
    return sorted(found, key=lambda job: job.submit_s)


def queued(count: int, seed: int = 0) -> list[Ran]:
    """Jobs of 8 GPUs on two nodes, first come, first served, at a load of nearly 1."""
    rng, free, found, now = random.Random(seed), {"a1": 0, "a2": 0}, [], 0
    for number in range(count):
        now += rng.randrange(1, 1100)
        host = min(free, key=lambda name: free[name])
        start, run = max(now, free[host]), rng.randrange(60, 1900)
        free[host] = start + run
        found.append(Ran(str(number), now, start, run, host=host, user=rng.choice("abc")))
    return found
