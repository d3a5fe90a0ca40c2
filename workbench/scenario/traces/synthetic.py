"""Made-up workloads: Gavel's generator, from a seed.

Durations follow Gandiva's law as Gavel uses it, 60 x 10^U(1.5, 3) s with probability 0.8 and 60 x 10^U(3, 4) s else
(Gavel 7.1 and the authors' code); a job's steps are its duration times its speed on a reference type. Each property is
drawn from a random stream of its own, so that changing one option leaves the other draws as they were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.scenario.cluster import Cluster
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import Scaling, Throughputs
from workbench.scenario.traces import builtin
from workbench.scenario.traces.cluster_spec import parse_cluster
from workbench.scenario.traces.trace_file import check_seed

Durations = Literal["gandiva", "short"]
Arrivals = Literal["static", "poisson"]

GANGS, GANG_SHARES = (1, 2, 4, 8), (0.70, 0.10, 0.15, 0.05)  # code: Gavel; the paper says 70 / 25 / 5 % for 1 / 2-4 / 8
SLO_FACTORS = (1.2, 2.0, 10.0)  # paper: Gavel 7.3
HIGH_PRIORITY = 5.0  # code: Gavel, for 20 % of the jobs
MEAN_GAP_S = 900.0  # ours
MOST_JOBS = 1_000_000
EVERY = 10_000
"""Jobs after which progress is told."""
SCHEDULERS = ("gavel.max_min_fairness", "las", "fifo")


def generate(
    cluster: str | Mapping[str, Any] | Cluster,
    jobs: int = 120,
    seed: int = 0,
    arrivals: Arrivals = "static",
    mean_gap_s: float | None = None,
    multi_gpu: bool = False,
    durations: Durations = "gandiva",
    priority_share: float = 0.0,
    slo: bool = False,
    group: str = "gavel",
    throughputs: Sequence[Mapping[str, Any]] | None = None,
    reference: str | None = None,
    name: str = "",
    progress: Callable[[str], None] | None = None,
) -> Scenario:
    """A scenario with `jobs` made-up jobs on a cluster (`v100=8x4` or as in a scenario file).

    arrivals: all at 0, or a Poisson process whose first job arrives at 0 and whose gaps average `mean_gap_s` (900);
    multi_gpu: gangs of 1, 2, 4 and 8 (70, 10, 15, 5 %), lowered to what the model and the cluster can run;
    durations: Gandiva's law, or "short", 1 to 4 whole hours as in Gavel's traces for the physical cluster;
    priority_share: share of jobs with weight 5; slo: deadlines of 1.2, 2 or 10 x the duration, reward 1;
    group: the built-in models to draw from; throughputs: rows to use instead of them;
    reference: the type on which durations are meant (default: the fastest over all models, ties by position);
    progress: is told in words how far it is.
    Raises InputError.
    """
    check_seed(seed)
    _check(jobs, mean_gap_s, arrivals, durations, priority_share)
    gap_s = MEAN_GAP_S if mean_gap_s is None else float(mean_gap_s)
    plain = _plain_cluster(cluster)
    table = Workload.build(plain, group, throughputs, reference)
    streams = [np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(6)]
    models = [table.models[i] for i in streams[0].integers(len(table.models), size=jobs)]
    length_s = draw_durations(streams[1], jobs) if durations == "gandiva" else draw_short(streams[1], jobs)
    wanted = draw_gangs(streams[2], jobs) if multi_gpu else np.ones(jobs, dtype=np.int64)
    start_s = draw_arrivals(streams[3], jobs, gap_s) if arrivals == "poisson" else np.zeros(jobs)
    high = streams[4].random(jobs) < priority_share
    factors = streams[5].choice(SLO_FACTORS, size=jobs)
    made = []
    tell = progress or (lambda text: None)
    for i, model in enumerate(models):
        if i % EVERY == 0:
            tell(f"{i} of {jobs} jobs made up")
        job = table.job(f"job-{i}", model, int(wanted[i]), float(length_s[i]), float(start_s[i]))
        if high[i]:
            job["weight"] = HIGH_PRIORITY
        if slo:
            job["rewards"] = [[round(float(factors[i] * length_s[i]), 3), 1.0]]
        made.append(job)
    tell(f"checking {jobs} jobs")
    what = f"{jobs} made-up jobs, {'all at the start' if arrivals == 'static' else f'one every {gap_s:g} s'}"
    return Scenario.from_dict(
        {"name": name or f"generated-{seed}", "description": what, "seed": seed, **table.scenario(made)}, "generator"
    )


def draw_durations(rng: np.random.Generator, count: int) -> FloatArray:
    """Gandiva's law: seconds, from 60 x 10^1.5 (32 min) to 60 x 10^4 (a week)."""
    pick, place = rng.random((count, 2)).T
    exponents = np.where(pick < 0.8, 1.5 + 1.5 * place, 3.0 + place)
    return np.asarray(60.0 * 10.0**exponents, dtype=np.float64)


def draw_short(rng: np.random.Generator, count: int) -> FloatArray:
    """1, 2, 3 or 4 hours, in seconds (code: Gavel's script for static traces)."""
    return np.asarray(rng.integers(1, 5, size=count) * 3600.0, dtype=np.float64)


def draw_gangs(rng: np.random.Generator, count: int) -> IntArray:
    """Numbers of GPUs at 70, 10, 15 and 5 %."""
    return rng.choice(np.array(GANGS, dtype=np.int64), size=count, p=GANG_SHARES)


def draw_arrivals(rng: np.random.Generator, count: int, mean_gap_s: float) -> FloatArray:
    """Poisson arrivals in s, the first at 0."""
    gaps = rng.exponential(mean_gap_s, size=count)
    return np.asarray(np.concatenate([[0.0], np.cumsum(gaps[:-1])])[:count], dtype=np.float64)


@dataclass(frozen=True)
class Workload:
    """Models to draw from, with their speeds on one cluster."""

    cluster: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    group: str | None
    speeds: Throughputs
    reference: str
    models: tuple[str, ...]
    scaling: Scaling

    @classmethod
    def build(
        cls,
        cluster: Mapping[str, Any],
        group: str,
        rows: Sequence[Mapping[str, Any]] | None = None,
        reference: str | None = None,
        scaling: Scaling | None = None,
    ) -> Workload:
        """The models of `rows` (default: the built-in group) that can run on the cluster."""
        cluster = dict(cluster)
        probe = Scenario.from_dict({"cluster": cluster, "jobs": [], "throughputs": []}, "generator").cluster
        given = rows is not None
        rows = builtin.throughputs(group, probe.types) if rows is None else [dict(row) for row in rows]
        checked = Scenario.from_dict({"cluster": cluster, "jobs": [], "throughputs": rows}, "generator")
        law = scaling or Scaling()
        speeds = Throughputs(probe, checked.throughputs, (), law)
        names = tuple(dict.fromkeys(row.model for row in checked.throughputs))
        able = tuple(name for name in names if speeds.matrix([name], [1]).max(initial=0.0) > 0)
        if not able and not given:
            expected = f"a type on which models of {group} run, one of: {', '.join(builtin.types(group))}"
            raise InputError("cluster", ", ".join(probe.types), expected)
        if not able:
            raise InputError("throughputs", list(names)[:5], f"a model that runs on 1 GPU of: {', '.join(probe.types)}")
        if reference is not None and reference not in probe.types:
            raise InputError("reference", reference, f"a type of the cluster: {', '.join(probe.types)}")
        fastest = reference or _fastest(speeds, able)
        return cls(cluster, rows, None if given else group, speeds, fastest, able, law)

    @cached_property
    def _rates(self) -> dict[tuple[str, int], float]:
        """Speeds found so far: a trace asks for few, thousands of times."""
        return {}

    @cached_property
    def _fits(self) -> dict[tuple[str, int], bool]:
        return {}

    def rate(self, model: str, gpus: int) -> float:
        """Steps/s on the reference type, or on the model's fastest type where it cannot run on that."""
        key = (model, gpus)
        if key not in self._rates:
            speed = float(self.speeds.matrix([model], [gpus], types=[self.reference])[0, 0])
            self._rates[key] = speed or float(self.speeds.matrix([model], [gpus]).max())
        return self._rates[key]

    def fits(self, model: str, gpus: int) -> bool:
        """Whether one type has enough GPUs and a speed for such a gang."""
        if (model, gpus) not in self._fits:
            capacity = self.speeds.cluster.capacity
            able = (capacity[name] >= gpus and self.speeds.row(model, name, gpus) > 0 for name in capacity)
            self._fits[model, gpus] = any(able)
        return self._fits[model, gpus]

    def gang(self, model: str, wanted: int) -> int:
        """The wanted size, halved until it fits."""
        size = wanted
        while size > 1 and not self.fits(model, size):
            size //= 2
        return size

    def job(self, name: str, model: str, wanted: int, duration_s: float, arrival_s: float) -> dict[str, Any]:
        """A job that takes `duration_s` on the reference type."""
        gpus = self.gang(model, wanted)
        steps = max(1.0, round(duration_s * self.rate(model, gpus)))
        return {"name": name, "model": model, "arrival_s": round(arrival_s, 3), "steps": float(steps), "gpus": gpus}

    def scenario(self, jobs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Cluster, jobs, and the speeds and facts of the models that occur.

        Speeds by number of nodes are those of gangs that occur, unless the scaling law has to fill others from them.
        """
        used = {job["model"] for job in jobs}
        sizes = {size for job in jobs for size in (job.get("gpus", 1), *(job.get("gpu_choices") or ()))}
        data: dict[str, Any] = {"cluster": self.cluster, "jobs": list(jobs)}
        listed = {row.get("gpus", 1) for row in self.rows}
        data["throughputs"] = [
            row
            for row in self.rows
            if row["model"] in used and (row.get("nodes") is None or row["gpus"] in sizes or not sizes <= listed)
        ]
        if self.group is not None:
            data["colocated"] = builtin.colocated(self.group, self.speeds.cluster.types, used)
            data["models"] = builtin.models(self.group, used)
        if self.scaling.law != "none":
            data["scaling"] = self.scaling.model_dump()
        data["schedulers"] = [{"scheduler": name} for name in SCHEDULERS]
        return data


def _plain_cluster(cluster: str | Mapping[str, Any] | Cluster) -> dict[str, Any]:
    if isinstance(cluster, str):
        return parse_cluster(cluster)
    return cluster.model_dump(mode="json", exclude_none=True) if isinstance(cluster, Cluster) else dict(cluster)


def _fastest(speeds: Throughputs, models: Sequence[str]) -> str:
    """The type with the highest mean speed, each model's speeds taken relative to its best."""
    matrix = speeds.matrix(list(models), [1] * len(models))
    return speeds.cluster.types[int(np.argmax((matrix / matrix.max(axis=1, keepdims=True)).mean(axis=0)))]


def _check(jobs: int, mean_gap_s: float | None, arrivals: str, durations: str, priority_share: float) -> None:
    if isinstance(jobs, bool) or not isinstance(jobs, int) or not 1 <= jobs <= MOST_JOBS:
        raise InputError("jobs", jobs, f"a whole number from 1 to {MOST_JOBS}")
    if mean_gap_s is not None and not (_is_number(mean_gap_s) and mean_gap_s > 0):
        raise InputError("mean_gap_s", mean_gap_s, "seconds above 0")
    if mean_gap_s is not None and arrivals == "static":
        raise InputError("mean_gap_s", mean_gap_s, "arrivals poisson with it (static jobs all arrive at 0)")
    if arrivals not in ("static", "poisson"):
        raise InputError("arrivals", arrivals, "static or poisson")
    if durations not in ("gandiva", "short"):
        raise InputError("durations", durations, "gandiva or short")
    if not (_is_number(priority_share) and 0 <= priority_share <= 1):
        raise InputError("priority_share", priority_share, "a share from 0 to 1")


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
