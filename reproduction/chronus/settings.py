"""Sizes of the reproduction of Chronus, its clusters and its traces.

The Helios trace is not public in the form that the paper used, the Philly one is: the size `authors` cuts its jobs out
of their `trace_job_Philly_MIX2.csv` (`workbench data chronus_philly_mix2`). All other jobs are drawn here. Deadlines
and kinds of jobs are drawn as in section 4.1, on all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from reproduction.line import Line
from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.scenario import traces
from workbench.scenario.job import Job
from workbench.scenario.presets.chronus import POWER
from workbench.scenario.presets.parts import HOUR, cluster_of, node_groups, streams
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.chronus import RESTART
from workbench.scenario.traces.deadlines import with_deadlines
from workbench.scenario.traces.density import at_density
from workbench.scenario.traces.public import fetch
from workbench.scenario.traces.synthetic import Workload

NODE_GPUS = 8
CORE = {"restart": RESTART.model_dump()}
USERS = 11  # of the Philly file
SHORT_SHARE = 5735 / (5735 + 6599)
"""paper: Table 1, jobs of Short among all of Helios."""
DAYS = 14.0
LEAST_S, MOST_SIGMAS = 900.0, 2.0
"""ours: no job runs for less than so long (those are of Short), nor has a run time further out than so."""
SHORT_S = (60.0, 200.0)
"""ours: seconds that short jobs run, all within T_profile."""


@dataclass(frozen=True)
class Trace:
    """How jobs are drawn, as many in a day on a node as in Table 1 (the rest is ours).

    nodes, jobs: of the paper's cluster, in 14 days; gangs, shares: GPUs of a job; sigma: of log-normal run times, those
    of gangs of 4 and more `longer` times as long, scaled so that all GPU time is `load` of the cluster's while jobs
    arrive; batch: jobs that a user submits at once, on average.
    """

    name: str
    nodes: int
    jobs: int
    gangs: tuple[int, ...]
    shares: tuple[float, ...]
    sigma: float
    longer: float
    batch: float
    load: float


HELIOS = Trace("H", 96, 6599, (1, 2, 4, 8, 16), (0.5, 0.12, 0.14, 0.2, 0.04), 1.0, 1.0, 4.0, 1.4)
"""ours: Fig. 5 has no numbers; above 1, as the cluster is empty at first and jobs run on when none come any more."""
PHILLY = Trace("P", 120, 30940, (1, 2, 4, 8, 16), (0.915, 0.007, 0.041, 0.033, 0.004), 1.0, 10.0, 4.0, 1.8)
"""Sizes, and how much longer gangs run, about as in the authors' file, whose load is 1.17 in 14 days."""
TRACES = {trace.name: trace for trace in (HELIOS, PHILLY)}
DAY = 24 * HOUR
SLICE_DAYS, EVERY_DAYS = 1.0, 4.0
"""ours: of the authors' file each seed gets jobs of one day, four days after those of the one before."""
SLICES = len({seed * EVERY_DAYS % DAYS for seed in range(round(DAYS))})
"""Days that there are of these; the seeds of a day draw other jobs of it."""
HOSTILE = {2: 3, 4: 3, 8: 7, 16: 12}
"""ours: sizes that are hostile to consolidation (section 3.4), of a job that has the friendly one."""


@dataclass(frozen=True)
class ChronusSize:
    """How large a reproduction is.

    seeds: of every point; clusters: trace, nodes, jobs at a density of 100 %, and how many times as many of them come
    in a day on a node as in Table 1, that run for so much less (ours: a run costs what its days cost); densities: in %;
    sizes: of the profiling cluster in Fig. 6, as shares of all GPUs; noise: of Fig. 6d; lease_min: of Fig. 7a; hostile:
    of Fig. 8; scales: of Fig. 7d, times nodes and jobs; public: whether Philly jobs come from the authors' file; coded:
    whether Chronus gives leases in Figs. 7 and 9 as the authors' program does (`lines.CODED`); rivals: lines in place
    of those of their names, where a baseline can be had in several ways; days_nodes: of the authors' first days;
    profiler: knobs beside the paper's in Fig. 6; batch: see `WorkloadSetting`, there.
    """

    name: str
    seeds: range
    clusters: tuple[tuple[str, int, int, float], ...]
    densities: tuple[int, ...]
    sizes: tuple[float, ...]
    noise: tuple[float, ...]
    lease_min: tuple[int, ...]
    hostile: tuple[float, ...]
    scales: tuple[int, ...] = (1, 2, 4)
    public: bool = False
    coded: bool = False
    rivals: tuple[Line, ...] = ()
    days_nodes: int = 10
    profiler: tuple[tuple[str, Any], ...] = ()
    batch: float = 0.0

    @property
    def traces(self) -> tuple[str, ...]:
        """H, or H and P."""
        return tuple(name for name, *_ in self.clusters)


SIZES = {
    size.name: size
    for size in (
        ChronusSize(
            "tiny", range(1), (("H", 4, 16, 8.0),), (100, 120), (0.1, 0.4), (0.0, 1.0), (20, 60), (0.6,), (1, 2)
        ),
        ChronusSize(
            "small",
            range(3),
            (("H", 5, 25, 8.0), ("P", 4, 40, 2.0)),
            (80, 160),
            (0.02, 0.4),
            (0.0, 0.4),
            (5, 20, 60),
            (0.0, 0.6),
            (1, 2),
        ),
        ChronusSize(
            "middle",
            range(3),
            (("H", 8, 50, 8.0), ("P", 5, 60, 2.0)),
            (80, 100, 160),
            (0.02, 0.1, 0.4),
            (0.0, 0.4, 1.0),
            (5, 20, 60),
            (0.0, 0.6),
        ),
        ChronusSize(
            "full",
            range(3),
            (("H", 16, 120, 8.0), ("P", 10, 120, 2.0)),
            (80, 100, 120, 160),
            (0.01, 0.02, 0.05, 0.1, 0.2),
            (0.0, 0.2, 0.4, 1.0),
            (5, 10, 20, 30, 60, 120),
            (0.0, 0.3, 0.6),
            (1, 2, 4, 6, 8),
        ),
    )
}
SIZES["days"] = replace(
    SIZES["full"],
    name="days",
    clusters=(("H", 12, 90, 1.0), ("P", 10, 120, 1.0)),  # jobs as long as the paper's
    densities=(80, 160),
    noise=(0.0, 0.2, 0.4),
    lease_min=(5, 20, 60, 120),
)
for name, nodes in (("authors_half", 5), ("authors", 10), ("authors_twice", 20)):
    of_file = (("P", nodes, 12 * nodes, 2.0),)
    SIZES[name] = replace(SIZES["full"], name=name, clusters=of_file, public=True, days_nodes=nodes)


@dataclass(frozen=True)
class WorkloadSetting:
    """One workload, but for the seed.

    faster: see `ChronusSize`; jobs: at a density of 100 %; short: whether those of Short are mixed in; hostile: share
    of the jobs with several GPUs that get a size that is hostile to consolidation; batch: in place of the trace's, 0:
    its own; public: from the authors' file.
    """

    trace: str
    nodes: int
    jobs: int
    faster: float
    workload: str = "mix2"
    density: int = 100
    short: bool = False
    hostile: float = 0.0
    batch: float = 0.0
    public: bool = False

    @property
    def window_s(self) -> float:
        """The time in which its jobs arrive, where they are drawn."""
        trace = TRACES[self.trace]
        return self.jobs * trace.nodes / (trace.jobs * self.nodes) * DAYS * DAY / self.faster

    def scenario(self, seed: int) -> Scenario:
        """Cluster and jobs."""
        plain = _from_file(self, seed) if self.public else drawn(self, seed)
        made = with_deadlines(plain, self.workload, seed)
        if self.short:
            made = made.replace(jobs=[_as_short(job) for job in made.jobs])
        return made if self.density == 100 else at_density(made, self.density, seed)


OF_FILES = {"workload", "density"}
"""What the jobs of a file can be given."""


def at(size: ChronusSize, trace: str | None = None, *, from_file: bool = True, **others: Any) -> WorkloadSetting:
    """A workload on a size's part of the paper's cluster; trace: by default the size's first one; from_file: where the
    size has a file of it, else drawn there too. Raises InputError for what jobs of a file cannot be given."""
    trace = trace or size.traces[0]
    found = next(WorkloadSetting(*cluster, **others) for cluster in size.clusters if cluster[0] == trace)
    public = from_file and size.public and trace == "P"
    if public and (wrong := sorted(others.keys() - OF_FILES)):
        raise InputError(
            f"jobs at size {size.name}", ", ".join(wrong), f"one of {sorted(OF_FILES)}, as a file has them"
        )
    return replace(found, public=public)


def origin(setting: WorkloadSetting) -> str:
    """Where the jobs of a workload come from, for a row."""
    where = f"{setting.nodes} nodes of {NODE_GPUS} GPUs"
    if setting.public:
        return f"Single days of the authors' Philly file, jobs sampled as there are nodes, {where}"
    rate = "" if setting.faster == 1 else f", {setting.faster:g} times as many a day and as short as Table 1 has them"
    hours = f"within {setting.window_s / HOUR:.1f} h on an empty cluster"
    return f"{setting.jobs} jobs drawn as {setting.trace}{rate}, {hours}, {where}"


SHORT = "short-"
"""Begin of the names of the jobs of Short."""


def is_short(name: str) -> bool:
    """Whether a job is of Short, by its name."""
    return name.startswith(SHORT)


def _as_short(job: Job) -> Job:
    return job.model_copy(update={"rewards": None}) if is_short(job.name) else job


@cache
def drawn(setting: WorkloadSetting, seed: int) -> Scenario:
    """The jobs without deadlines, in the time in which they are the trace's load."""
    trace, count = TRACES[setting.trace], setting.jobs
    batch = setting.batch or trace.batch
    work = Workload.build(_cluster(setting.nodes), "chronus", scaling=POWER)
    size_rng, length, pick, burst, hostile, short = streams(seed, 6)
    window_s = setting.window_s
    gangs = np.minimum(size_rng.choice(trace.gangs, count, p=trace.shares), setting.nodes * NODE_GPUS // 2)
    out = np.clip(length.standard_normal(count), -MOST_SIGMAS, MOST_SIGMAS)
    relative = np.exp(trace.sigma * out) * np.where(gangs >= 4, trace.longer, 1.0)
    asked = float(gangs @ relative)
    lengths = np.maximum(relative * trace.load * setting.nodes * NODE_GPUS * window_s / asked, LEAST_S)
    arrivals, users = _submitted(burst, count, window_s, batch)
    changed = hostile.random(count) < setting.hostile
    wanted = [HOSTILE.get(int(g), int(g)) if change else int(g) for g, change in zip(gangs, changed, strict=True)]
    names = [f"job-{i}" for i in range(count)]
    if setting.short:
        more = round(count * SHORT_SHARE / (1 - SHORT_SHARE))
        names += [f"{SHORT}{i}" for i in range(more)]
        wanted += [int(g) for g in np.minimum(short.choice(trace.gangs, more, p=trace.shares), gangs.max())]
        lengths = np.concatenate([lengths, short.uniform(*SHORT_S, more)])
        at_s, by = _submitted(short, more, window_s, batch)
        arrivals, users = np.concatenate([arrivals, at_s]), np.concatenate([users, by])
    models = pick.choice(list(work.models), len(names)).tolist()
    jobs = [
        {**work.job(*row[:5]), "user": f"user-{row[5]}"}
        for row in zip(names, models, wanted, lengths.tolist(), arrivals.tolist(), users.tolist(), strict=True)
    ]
    return Scenario.from_dict({**work.scenario(jobs), "seed": seed, "core": CORE}, "generator")


def _submitted(rng: np.random.Generator, count: int, window_s: float, batch: float) -> tuple[FloatArray, IntArray]:
    """(count,) arrivals in s and users: batches of one user each, their sizes geometric, at any time of the window."""
    first = rng.random(count) < 1 / batch
    first[0] = True
    number = np.cumsum(first) - 1
    times, users = rng.uniform(0.0, window_s, count), rng.integers(USERS, size=count)
    return times[number], users[number]


def _from_file(setting: WorkloadSetting, seed: int) -> Scenario:
    """The jobs of one day of the authors' file, as many of them as there are nodes of the paper's cluster."""
    path, cluster = fetch("chronus_philly_mix2"), _cluster(setting.nodes)
    from_s = seed * EVERY_DAYS % DAYS * DAY
    cut: dict[str, Any] = {"cluster": cluster, "throughputs": None, "from_s": from_s, "to_s": from_s + SLICE_DAYS * DAY}
    whole, _ = traces.convert("chronus", path, **cut)
    sample = max(1, round(len(whole.jobs) * setting.nodes / TRACES[setting.trace].nodes))
    found, _ = traces.convert("chronus", path, **cut, sample=sample, seed=seed)
    return found


def _cluster(nodes: int) -> dict[str, Any]:
    """Nodes of 8 V100s, as the presets of Chronus have them."""
    return cluster_of(node_groups(("node", "v100", nodes, NODE_GPUS)), 100.0)


DRAWN = tuple(name for name, size in SIZES.items() if not size.public)
"""Sizes of the figures whose workload has Short, or sizes or numbers of jobs that are changed: no file has them."""


def times(setting: WorkloadSetting, scale: int) -> WorkloadSetting:
    """So many times the nodes and the jobs."""
    return replace(setting, nodes=setting.nodes * scale, jobs=setting.jobs * scale)


def paper_scale(trace: Trace) -> str:
    """The paper's own jobs of a trace, and nodes."""
    return f"{trace.jobs:,} in {DAYS:g} days on {trace.nodes}"


def drawn_scale(size: ChronusSize) -> str:
    """Of the figures on all clusters."""
    made = []
    for name, nodes, jobs, faster in size.clusters:
        short = "" if faster == 1 else f", {faster:g} times as short and as many a day as in Table 1,"
        ours = f"{jobs} jobs{short} within {WorkloadSetting(name, nodes, jobs, faster).window_s / HOUR:.0f} h"
        if size.public:
            ours = f"single days of the authors' file, a part of their jobs, the interval over its {SLICES} days"
        made.append(f"{ours} on {nodes} nodes as {name}, the paper {paper_scale(TRACES[name])}")
    return f"{'; '.join(made)}: smaller, as a run costs what its days cost"


def first_scale(size: ChronusSize) -> str:
    """Of the figures on the first cluster only, which the paper has on H_MIX2: "We run the H_MIX2 workload" (5.2)."""
    here = drawn_scale(replace(size, clusters=size.clusters[:1]))
    return here if HELIOS.name in size.traces else f"{here}; the paper's is H_MIX2, {paper_scale(HELIOS)}"
