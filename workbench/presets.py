"""Scenarios to open a lab with: the examples, clusters and job mixes of the five papers.

Numbers that a paper states are marked with where it does; everything else (tagged `ours`) is chosen so that a lab opens
quickly: job counts in particular are far below the papers'. Speeds are the built-in ones (`datasets/README.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from workbench.errors import InputError
from workbench.job import median_size, requirement_set
from workbench.scenario import Scenario
from workbench.throughput import Scaling
from workbench.traces import builtin
from workbench.traces.cluster_spec import parse_cluster
from workbench.traces.deadlines import SOFT_STEPS
from workbench.traces.hadar import GPU_HOURS as HADAR_GPU_HOURS
from workbench.traces.hadar import MODELS as HADAR_MODELS
from workbench.traces.hadar import PLAN as HADAR_PLAN
from workbench.traces.synthetic import Workload, draw_arrivals, draw_gangs, draw_short, generate

Data = dict[str, Any]
HOUR = 3600.0
POWER = Scaling(law="power", efficiency=0.9)  # ours: fills the odd numbers of GPUs that elastic jobs may run on


class Preset(NamedTuple):
    """A preset's name, its description in one line, and what builds it; of: the preset of which it is a variant."""

    name: str
    description: str
    build: Callable[[], Data]
    of: str | None = None


_PRESETS: dict[str, Preset] = {}


def preset(name: str) -> Scenario:
    """The scenario of that name; raises InputError naming those there are."""
    if not is_preset(name):
        listed = ", ".join(
            f"{known} ({', '.join(variants(known))})" if variants(known) else known for known, _ in presets()
        )
        raise InputError("preset", name, f"one of: {listed}")
    return _built(name)


def is_preset(name: Any) -> bool:
    """Whether there is a preset or a variant of one of that name."""
    return isinstance(name, str) and name in _PRESETS


def presets() -> list[tuple[str, str]]:
    """Name and description of every preset but the variants of others, in reading order."""
    return [(found.name, found.description) for found in _PRESETS.values() if found.of is None]


def variants(name: str) -> list[str]:
    """Names of a preset's variants (other job mixes on the same cluster), or of those it is one of; most have none."""
    base = (_PRESETS[name].of or name) if is_preset(name) else name
    return [found.name for found in _PRESETS.values() if found.of == base]


@cache
def _built(name: str) -> Scenario:
    found = _PRESETS[name]
    return Scenario.from_dict({**found.build(), "name": name, "description": found.description}, f"preset {name}")


def _preset(build: Callable[[], Data]) -> Callable[[], Data]:
    """Register a function as the preset of its name; its docstring is the description."""
    description = " ".join((build.__doc__ or "").split())
    _PRESETS[build.__name__] = Preset(build.__name__, description, build)
    return build


def _plan(*schedulers: str) -> list[Data]:
    return [{"scheduler": name} for name in schedulers]


def _streams(seed: int, count: int) -> list[np.random.Generator]:
    return [np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(count)]


def _nodes(*groups: tuple[str, str, int, int] | tuple[str, str, int, int, float]) -> list[Data]:
    """Node groups from (name, type, nodes, GPUs each[, speed])."""
    keys = ("name", "accelerator", "count", "gpus", "speed")
    return [dict(zip(keys, group, strict=False)) for group in groups]


def _cluster(nodes: Sequence[Data], network_gbps: float | None = None) -> Data:
    types = dict.fromkeys(node["accelerator"] for node in nodes)
    network = {} if network_gbps is None else {"network_gbps": network_gbps}
    return {"accelerators": [builtin.accelerator(t) for t in types], "nodes": list(nodes), **network}


# --- to start with ----------------------------------------------------------------------------------------------------


@_preset
def start_here() -> Data:
    """Three jobs on two V100 and one K80 for about three hours: more GPUs asked for than there are (ours)."""
    cluster = _cluster(_nodes(("fast", "v100", 1, 2), ("slow", "k80", 1, 1)))
    work = Workload.build(cluster, "gavel", reference="v100")
    jobs = [
        work.job("vision", "ResNet-50 (batch size 64)", 2, 1.5 * HOUR, 0.0),
        work.job("game", "A3C", 1, 1.0 * HOUR, 600.0),
        work.job("translation", "Transformer (batch size 64)", 1, 1.0 * HOUR, 1800.0),
    ]
    return {**work.scenario(jobs), "plan": _plan("gavel.max_min_fairness", "las", "fifo")}


# --- Gavel ------------------------------------------------------------------------------------------------------------


@_preset
def gavel_example() -> Data:
    """Gavel, section 4.1: one V100, one K80, three jobs of (4, 1), (3, 1), (2, 1) steps/s; two hours each (ours)."""
    speeds = {"job 0": (4.0, 1.0), "job 1": (3.0, 1.0), "job 2": (2.0, 1.0)}
    return {
        "cluster": parse_cluster("v100=1x1,k80=1x1"),
        "jobs": [{"name": name, "model": f"model of {name}", "steps": 2 * HOUR * v} for name, (v, _) in speeds.items()],
        "throughputs": [
            {"model": f"model of {name}", "accelerator": accelerator, "steps_per_s": speed}
            for name, pair in speeds.items()
            for accelerator, speed in zip(("v100", "k80"), pair, strict=True)
        ],
        "plan": _plan("gavel.max_min_fairness", "isolated", "las"),
    }


@_preset
def gavel_physical() -> Data:
    """Gavel, sections 7.1-7.2: 8 V100, 16 P100, 24 K80; 50 jobs of 1-4 h at the start (the paper: 100 jobs)."""
    # Nodes of 4 GPUs are ours: the paper does not say how its 48 GPUs are spread. Under 5 s to load or save a
    # checkpoint is the paper's (7.5).
    made = generate("v100=2x4,p100=4x4,k80=6x4", 50, seed=1, multi_gpu=True, durations="short", reference="v100")
    restart = {"core": {"restart": {"law": "fixed", "restart_s": 5.0}}}
    return {**made.to_dict(), **restart, "plan": _plan("gavel.max_min_fairness", "las", "fifo")}


@_preset
def gavel_simulated() -> Data:
    """Gavel, section 7.1: 36 V100, 36 P100, 36 K80; 60 jobs, continuous-multiple, one every 10 min (ours)."""
    made = generate(
        "v100=9x4,p100=9x4,k80=9x4", 60, seed=2, arrivals="poisson", mean_gap_s=600.0, multi_gpu=True, reference="v100"
    )
    return {**made.to_dict(), "plan": _plan("gavel.max_min_fairness", "las", "fifo")}


@_preset
def gavel_sharing() -> Data:
    """Gavel, section 7.6: 12 GPUs that jobs may share in pairs; 40 jobs of one GPU, one every 75 min (ours)."""
    # The paper says neither how many GPUs of each type there are nor when jobs come.
    made = generate("v100=1x4,p100=1x4,k80=1x4", 40, seed=2, arrivals="poisson", mean_gap_s=4500.0, reference="v100")
    sharing = {"scheduler": "gavel.max_min_fairness", "knobs": {"space_sharing": True}}
    plan = [sharing, *_plan("gavel.max_min_fairness", "gandiva")]
    return {**made.to_dict(), "core": {"space_sharing": True}, "plan": plan}


# --- Hadar and HadarE -------------------------------------------------------------------------------------------------

HADAR_LEAST_GPU_HOURS = 0.1  # ours: the smallest job of size S
# HadarE V-B. M-10 and M-12 differ from M-8 in the number of MM only.
HADARE_MIXES = {
    "M-1": ("MM",),
    "M-3": ("LT", "MM", "MM"),
    "M-4": ("IC", "LM", "LT", "MM"),
    "M-5": ("IC", "LM", "LT", "RS", "MM"),
    "M-8": ("IC", "LM", "LT", "RS", *["MM"] * 4),
    "M-10": ("IC", "LM", "LT", "RS", *["MM"] * 6),
    "M-12": ("IC", "LM", "LT", "RS", *["MM"] * 8),
}
HADARE_HOURS = {"S": 0.5, "M": 1.0, "L": 1.5, "XL": 2.0}  # ours: hours on a V100 by the size of the data set
TEN_SECONDS = {"restart": {"law": "fixed", "restart_s": 10.0}}  # paper: Hadar IV: a checkpoint and restart


@_preset
def hadar_example() -> Data:
    """Hadar, Fig. 1: jobs of 3, 2, 2 GPUs and 80, 30, 50 epochs on 2 V100, 3 P100, 1 K80; a step is an epoch."""
    # The matrix is epochs per slot of the whole gang at its slowest type; a slot of 6 minutes is the paper's (IV).
    slot_s = 360.0
    jobs = {"J1": (3, 80, (40, 20, 30)), "J2": (2, 30, (5, 15, 5)), "J3": (2, 50, (10, 2, 20))}
    return {
        "cluster": parse_cluster("v100=1x2,p100=1x3,k80=1x1"),
        "jobs": [{"name": n, "model": f"model of {n}", "steps": e, "gpus": w} for n, (w, e, _) in jobs.items()],
        "throughputs": [
            {"model": f"model of {n}", "accelerator": accelerator, "gpus": w, "steps_per_s": speed / slot_s}
            for n, (w, _, speeds) in jobs.items()
            for accelerator, speed in zip(("v100", "p100", "k80"), speeds, strict=True)
        ],
        "plan": _plan(*HADAR_PLAN),
    }


@_preset
def hadar_simulated() -> Data:
    """Hadar, section IV: 15 nodes, 20 V100, 20 P100, 20 K80; 40 jobs of four sizes at the start (480 in hadar_480)."""
    return _hadar(40, seed=3, reference="v100")


@_preset
def hadar_480() -> Data:
    """Hadar, section IV: 15 nodes, 20 V100, 20 P100, 20 K80; 480 jobs of four sizes (hours on a K80) at the start."""
    # The paper does not say on which type GPU-hours count. Were it the V100, a job of size XL could take longer than
    # the 40 h in which Hadar is done with all of them.
    return _hadar(480, seed=9, reference="k80")


def _hadar(count: int, seed: int, reference: str) -> Data:
    """Jobs of sizes drawn evenly, GPU-hours (on the reference type) evenly within a size; gangs are ours.

    15 nodes and 60 GPUs are the paper's; four GPUs each follows.
    """
    nodes = _nodes(*((t, t, 5, 4) for t in ("v100", "p100", "k80")))
    work = Workload.build(_cluster(nodes, 25.0), "gavel", None, reference)
    classes, inside, models, gangs = _streams(seed, 4)
    sizes = classes.choice(list(HADAR_MODELS), count).tolist()
    jobs = []
    for i, (size, wanted) in enumerate(zip(sizes, draw_gangs(gangs, count).tolist(), strict=True)):
        low, high = HADAR_GPU_HOURS[size]
        model = str(models.choice(HADAR_MODELS[size]))
        gpus = work.gang(model, wanted)
        duration_s = float(inside.uniform(max(low, HADAR_LEAST_GPU_HOURS), high)) * HOUR / gpus
        jobs.append({**work.job(f"job-{i}", model, gpus, duration_s, 0.0), "size_class": size})
    return {**work.scenario(jobs), "seed": seed, "core": TEN_SECONDS, "plan": _plan(*HADAR_PLAN)}


@_preset
def hadar_aws() -> Data:
    """HadarE, section V: AWS, one V100, two K80, two T4; mix M-5 (others: hadar_aws_M-1, -3, -4, -8, -10, -12)."""
    return _hadare(_aws(), HADARE_MIXES["M-5"])


@_preset
def hadar_lab() -> Data:
    """HadarE, section V: Titan RTX, T4, T400, RTX 3090, RTX A2000; mix M-5 (others: hadar_lab_M-1, ..., -12)."""
    return _hadare(_lab(), HADARE_MIXES["M-5"])


def hadare_mix(cluster: str, mix: str = "M-5") -> Scenario:
    """HadarE's workload mix (`M-1` to `M-12`) on its `aws` or its `lab` cluster; also preset `hadar_aws_M-8` and so."""
    if mix not in HADARE_MIXES:
        raise InputError("mix", mix, f"one of: {', '.join(HADARE_MIXES)}")
    if cluster not in HADARE_CLUSTERS:
        raise InputError("cluster", cluster, " or ".join(HADARE_CLUSTERS))
    return preset(f"hadar_{cluster}_{mix}")


def _register_mixes() -> None:
    """Every mix on both clusters, as variants of the two presets with mix M-5."""
    for cluster, nodes in HADARE_CLUSTERS.items():
        for mix, jobs in HADARE_MIXES.items():
            name, what = f"hadar_{cluster}_{mix}", f"HadarE, section V: the {cluster} cluster with workload mix {mix}"
            _PRESETS[name] = Preset(name, what, partial(_hadare_of, nodes, jobs), f"hadar_{cluster}")


def _hadare_of(cluster: Callable[[], Data], mix: Iterable[str]) -> Data:
    return _hadare(cluster(), mix)


def _aws() -> Data:
    return _cluster(_nodes(("p3", "v100", 1, 1), ("p2", "k80", 2, 1), ("g4dn", "t4", 2, 1)), 10.0)


def _lab() -> Data:
    return _cluster(_nodes(*((t, t, 1, 1) for t in ("titanrtx", "t4", "t400", "rtx3090", "a2000"))), 10.0)


def _hadare(cluster: Data, mix: Iterable[str]) -> Data:
    """The jobs of a mix; a job has the same number of steps on both clusters, by its speed on AWS's V100."""
    facts = {row["name"].split(":")[0]: row for row in builtin.models("hadar")}
    speed = {row["model"]: row["steps_per_s"] for row in builtin.throughputs("hadar", ["v100"])}
    work = Workload.build(cluster, "hadar")
    jobs = []
    for i, short in enumerate(mix):
        model, size = facts[short]["name"], facts[short]["dataset_class"]
        steps = round(speed[model] * HADARE_HOURS[size] * HOUR)
        jobs.append({"name": f"{short}-{i}", "model": model, "steps": steps, "size_class": size})
    return {**work.scenario(jobs), "core": TEN_SECONDS, "plan": _plan(*HADAR_PLAN)}


HADARE_CLUSTERS: dict[str, Callable[[], Data]] = {"aws": _aws, "lab": _lab}
_register_mixes()


# --- Hops -------------------------------------------------------------------------------------------------------------

HOPS_GPU_HOURS = {"S": (0.2, 1.0), "M": (1.0, 10.0), "L": (10.0, 50.0), "XL": (50.0, 80.0)}  # paper: 4.2; 0.2, 80 ours
HOPS_SIZES = {  # ours: what the smallest and the largest choice are drawn from; the paper says 1 to 16
    "S": ((1,), (2, 4)),
    "M": ((1, 2), (4, 8)),
    "L": ((2, 4), (8, 16)),
    "XL": ((4, 8), (16,)),
}
HOPS_MOST_CHOICES = 8  # paper: 4.2
HOPS_REFERENCE = "titanxp"  # ours: the paper does not say on which type GPU-hours count
HOPS_RATES = (30, 60, 100, 120, 300, 600, 1200)  # paper: jobs per hour, 100 in 4.3, the others in 4.6
HOPS_JOBS = 500  # paper: 4.3
HOPS_RESTART_S = 10.0  # ours
HOPS_PLAN = (  # paper: 4.2
    {"scheduler": "hops"},
    {"scheduler": "sia", "knobs": {"queue": "latency_ratio"}},
    {"scheduler": "gavel.max_min_fairness"},
)
# ours: the hosts with the slower CPU and less memory, those of 4.2 with the faster one, the newest of 4.3
SLOW_HOST, HOST, NEW_HOST = 0.9, 1.0, 1.05
# ours: a data set that does not fit into memory is loaded at two speeds (Fig. 7a); probability, then mean and standard
# deviation as parts of an iteration on the fastest type
UNSTABLE, HIT, MISS = "ImageNet", (0.8, 0.1, 0.02), (0.2, 0.8, 0.1)


@_preset
def hops_64() -> Data:
    """Hops, section 4.2: 64 GPUs in 10 servers of three types; 25 elastic jobs within 2.5 h as in the paper."""
    nodes = _nodes(
        ("sugon-1080ti", "gtx1080ti", 2, 8),
        ("sugon-xp", "titanxp", 4, 8),
        ("sugon-3090", "rtx3090", 2, 4, SLOW_HOST),
        ("tigerway-3090", "rtx3090", 2, 4, HOST),
    )
    return _hops(nodes, 25, 2.5 * HOUR, seed=4)


@_preset
def hops_512() -> Data:
    """Hops, section 4.3: 512 GPUs in 64 servers of five kinds; 100 elastic jobs in 1 h (500 in 5 h: hops_512_100)."""
    return _hops_512(100, 100)


def _register_rates() -> None:
    """The paper's 500 jobs at each of its arrival rates, as variants of the preset with fewer jobs."""
    for rate in HOPS_RATES:
        name, section = f"hops_512_{rate}", "4.3" if rate == 100 else "4.6"
        what = f"Hops, section {section}: 512 GPUs in 64 servers of five kinds; 500 elastic jobs, {rate} an hour"
        _PRESETS[name] = Preset(name, what, partial(_hops_512, HOPS_JOBS, rate), "hops_512")


def _hops_512(count: int, per_hour: int) -> Data:
    nodes = _nodes(
        ("sugon-1080ti", "gtx1080ti", 16, 8),
        ("sugon-xp", "titanxp", 16, 8),
        ("sugon-3090", "rtx3090", 16, 8, SLOW_HOST),
        ("tigerway-8g", "rtx3090", 8, 8, HOST),
        ("tigerway-10g", "rtx3090", 8, 8, NEW_HOST),
    )
    return _hops(nodes, count, count / per_hour * HOUR, seed=5)


def _hops(nodes: list[Data], count: int, window_s: float, seed: int) -> Data:
    """Jobs drawn evenly over Hops's models (Table 2; Fig. 8 is not in numbers), at random times of a window.

    Up to 8 sizes from 1 to 16 GPUs at equal steps between two bounds (2.2); `gpus` is their median, as for Gavel in
    4.2. Random times of a window are a Poisson process of which the number of arrivals is known.
    """
    work = Workload.build(_cluster(nodes, 100.0), "hops", None, HOPS_REFERENCE, POWER)
    classes = {row["name"]: row["size_class"] for row in builtin.models("hops")}
    pick, ends, inside, times = _streams(seed, 4)
    arrivals = np.sort(times.uniform(0.0, window_s, count))
    jobs = []
    for i, model in enumerate(pick.choice(list(work.models), count).tolist()):
        kind = classes[model]
        low, high = HOPS_GPU_HOURS[kind]
        smallest, largest = (int(ends.choice(bounds)) for bounds in HOPS_SIZES[kind])
        choices = list(requirement_set(smallest, largest, HOPS_MOST_CHOICES))
        gpus = median_size(choices)
        duration_s = float(inside.uniform(low, high)) * HOUR / gpus
        job = work.job(f"job-{i}", model, gpus, duration_s, float(arrivals[i]))
        jobs.append({**job, "gpus": gpus, "gpu_choices": choices, "size_class": kind})
    core = {"restart": {"law": "fixed", "restart_s": HOPS_RESTART_S}}
    data = {**work.scenario(jobs), "seed": seed, "core": core, "plan": list(HOPS_PLAN)}
    data["models"] = [{**row, **_loading(work, row["name"])} for row in data["models"]]
    return data


def _loading(work: Workload, model: str) -> Data:
    """The loading times of a model whose data set is loaded at two speeds."""
    if UNSTABLE not in model:
        return {}
    iteration_s = 1.0 / float(work.speeds.matrix([model], [1]).max())
    return {"load_s": [[p, round(mean * iteration_s, 6), round(sd * iteration_s, 6)] for p, mean, sd in (HIT, MISS)]}


_register_rates()


# --- Hare -------------------------------------------------------------------------------------------------------------

# Hare Table 2: each class is a quarter of the jobs.
HARE_CLASSES = (
    ("VGG19 (Cifar10)", "ResNet50 (Cifar100)", "Inception V3 (Cifar100)"),
    ("Bert_base (SQuAD)", "Transformer (WMT16)"),
    ("DeepSpeech (ComVoice)",),
    ("FastGCN (Cora)", "GraphSAGE (Cora)"),
)


@_preset
def hare_example() -> Data:
    """Hare, Fig. 1: three jobs of rounds of two tasks on three GPUs; the table of times is reconstructed."""
    # The text has no table: these seconds per task give the totals it states, 10.5, 9 and 8.5 s.
    kinds, rounds = ("GPU1", "GPU2", "GPU3"), {"J1": 1, "J2": 1, "J3": 2}
    seconds = {"J1": (1.5, 2.5, 1.5), "J2": (1.5, 2.0, 2.5), "J3": (0.5, 1.0, 1.5)}
    return {
        "cluster": {
            "accelerators": [{"name": kind} for kind in kinds],
            "nodes": [{"name": f"node{i}", "accelerator": kind, "gpus": 1} for i, kind in enumerate(kinds, start=1)],
        },
        "jobs": [
            {"name": n, "model": f"model of {n}", "steps": 2 * rounds[n], "gpus": 1, "tasks_per_round": 2}
            for n in rounds
        ],
        "throughputs": [
            {"model": f"model of {n}", "accelerator": kind, "gpus": 1, "steps_per_s": 1 / s}
            for n, times in seconds.items()
            for kind, s in zip(kinds, times, strict=True)
        ],
        "plan": _plan("fifo", "srtf"),
    }


@_preset
def hare_testbed() -> Data:
    """Hare, section 7.1: 8 V100, 4 T4, 1 K80, 2 M60 on 4 machines, 25 Gbit/s; 24 jobs, a quarter of each class."""
    # Four machines are the paper's; gangs of 1, 2 or 4 tasks, 3 to 20 minutes, weights 1 to 3 and the gap are ours.
    nodes = _nodes(("v100", "v100", 1, 8), ("t4", "t4", 1, 4), ("k80", "k80", 1, 1), ("m60", "m60", 1, 2))
    work = Workload.build(_cluster(nodes, 25.0), "hare", None, "v100")
    pick, scale, length, weight, gaps = _streams(6, 5)
    arrivals = draw_arrivals(gaps, 24, 30.0)
    jobs = []
    for i in range(24):
        model = str(pick.choice(HARE_CLASSES[i % 4]))
        tasks = int(scale.choice([1, 2, 4]))
        job = work.job(f"job-{i}", model, tasks, float(length.uniform(3, 20)) * 60, float(arrivals[i]))
        tasks = job["gpus"]
        steps = tasks * max(1, round(job["steps"] / tasks))
        jobs.append({**job, "steps": steps, "tasks_per_round": tasks, "weight": float(weight.integers(1, 4))})
    return {**work.scenario(jobs), "seed": 6, "plan": _plan("gavel.max_min_fairness", "fifo", "srtf")}


# --- Chronus ----------------------------------------------------------------------------------------------------------

CHRONUS_GANGS = (1, 2, 4, 8, 16, 32, 64)
CHRONUS_SHARES = (0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.1)  # ours: large gangs, so that few jobs fill the cluster


@_preset
def chronus_96x8() -> Data:
    """Chronus, section 4.1: 96 nodes of 8 GPUs; 80 jobs, strict/soft/best effort 30/60/10 % (the paper: 6,599)."""
    return _chronus(96, 80, seed=7)


@_preset
def chronus_120x8() -> Data:
    """Chronus, section 4.1: 120 nodes of 8 GPUs; 100 jobs, strict/soft/best effort 30/60/10 % (the paper: 30,940)."""
    return _chronus(120, 100, seed=8)


def _chronus(nodes: int, count: int, seed: int) -> Data:
    """MIX2. The paper names no GPU type: V100 is ours. Runtimes of 1 to 4 h within the first two hours are ours."""
    work = Workload.build(_cluster(_nodes(("node", "v100", nodes, 8)), 100.0), "chronus")
    pick, scale, length, kind, deadline, gaps = _streams(seed, 6)
    arrivals = draw_arrivals(gaps, count, 2 * HOUR / count)
    durations = draw_short(length, count)
    wanted = scale.choice(CHRONUS_GANGS, count, p=CHRONUS_SHARES)
    models = pick.choice(list(work.models), count).tolist()
    kinds = kind.choice(["strict", "soft", "best effort"], count, p=[0.3, 0.6, 0.1]).tolist()
    jobs = []
    for i in range(count):
        job = work.job(f"job-{i}", models[i], int(wanted[i]), float(durations[i]), float(arrivals[i]))
        first_s = float(durations[i] * deadline.uniform(1.2, 2.0))  # paper: Chronus 4.1
        job["size_class"] = kinds[i]
        if kinds[i] != "best effort":
            steps = SOFT_STEPS if kinds[i] == "soft" else SOFT_STEPS[:1]
            job["rewards"] = [[round(factor * first_s, 3), reward] for factor, reward in steps]
        jobs.append(job)
    restart = {"restart": {"law": "log2", "restart_s": 30.0}}  # code: Chronus's simulator
    return {**work.scenario(jobs), "seed": seed, "core": restart, "plan": _plan("las", "srtf", "fifo")}
