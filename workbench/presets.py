"""Scenarios to open a lab with: the examples, clusters and job mixes of the five papers.

Numbers that a paper states are marked with where it does; everything else (tagged `ours`) is chosen so that a lab opens
quickly: job counts in particular are far below the papers'. Speeds are the built-in ones (`datasets/README.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from workbench.errors import InputError
from workbench.scenario import Scenario
from workbench.throughput import Scaling
from workbench.traces import builtin
from workbench.traces.cluster_spec import parse_cluster
from workbench.traces.synthetic import Workload, draw_arrivals, draw_gangs, draw_short, generate

Data = dict[str, Any]
HOUR = 3600.0
POWER = Scaling(law="power", efficiency=0.9)  # ours: fills the odd numbers of GPUs that elastic jobs may run on


class Preset(NamedTuple):
    """A preset's name, its description in one line, and what builds it."""

    name: str
    description: str
    build: Callable[[], Data]


_PRESETS: dict[str, Preset] = {}


def preset(name: str) -> Scenario:
    """The scenario of that name; raises InputError naming those there are."""
    if not isinstance(name, str) or name not in _PRESETS:
        raise InputError("preset", name, f"one of: {', '.join(_PRESETS)}")
    return _built(name)


def presets() -> list[tuple[str, str]]:
    """Name and description of every preset, in reading order."""
    return [(found.name, found.description) for found in _PRESETS.values()]


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

# Hadar Table II: the model of each size; Hadar IV-A: GPU-hours of each size.
HADAR_MODELS = {
    "S": ("ResNet-18 (batch size 64)",),
    "M": ("CycleGAN",),
    "L": ("LSTM (batch size 20)", "Transformer (batch size 64)"),
    "XL": ("ResNet-50 (batch size 64)",),
}
HADAR_GPU_HOURS = {"S": (0.1, 1.0), "M": (1.0, 10.0), "L": (10.0, 50.0), "XL": (60.0, 100.0)}
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
        "plan": _plan("gavel.max_min_fairness", "fifo", "srtf"),
    }


@_preset
def hadar_simulated() -> Data:
    """Hadar, section IV: 15 nodes, 20 V100, 20 P100, 20 K80; 40 jobs of four sizes at the start (the paper: 480)."""
    # 15 nodes and 60 GPUs are the paper's; four GPUs each follows. Shares of sizes and gangs are ours.
    work = Workload.build(
        _cluster(_nodes(*((t, t, 5, 4) for t in ("v100", "p100", "k80"))), 25.0), "gavel", None, "v100"
    )
    classes, inside, models, gangs = _streams(3, 4)
    jobs = []
    for i, (size, wanted) in enumerate(zip(classes.choice(list(HADAR_MODELS), 40), draw_gangs(gangs, 40), strict=True)):
        low, high = HADAR_GPU_HOURS[str(size)]
        model = str(models.choice(HADAR_MODELS[str(size)]))
        gpus = work.gang(model, int(wanted))
        duration_s = float(inside.uniform(low, high)) * HOUR / gpus
        jobs.append({**work.job(f"job-{i}", model, gpus, duration_s, 0.0), "size_class": str(size)})
    return {
        **work.scenario(jobs),
        "seed": 3,
        "core": TEN_SECONDS,
        "plan": _plan("gavel.max_min_fairness", "las", "srtf"),
    }


def hadare_mix(cluster: str, mix: str = "M-5") -> Scenario:
    """HadarE's workload mix (`M-1` to `M-12`) on its `aws` or its `lab` cluster."""
    if mix not in HADARE_MIXES:
        raise InputError("mix", mix, f"one of: {', '.join(HADARE_MIXES)}")
    if cluster not in ("aws", "lab"):
        raise InputError("cluster", cluster, "aws or lab")
    description = f"HadarE, section V: the {cluster} cluster with workload mix {mix}"
    data = _hadare(_aws() if cluster == "aws" else _lab(), HADARE_MIXES[mix])
    return Scenario.from_dict({**data, "name": f"hadar_{cluster}_{mix}", "description": description}, "hadare_mix")


@_preset
def hadar_aws() -> Data:
    """HadarE, section V: AWS, five nodes with one V100, two K80, two T4; mix M-5 of five jobs, 30 min to 2 h (ours)."""
    return _hadare(_aws(), HADARE_MIXES["M-5"])


@_preset
def hadar_lab() -> Data:
    """HadarE, section V: lab, five nodes with a Titan RTX, T4, T400, RTX 3090, RTX A2000; mix M-5 of five jobs."""
    return _hadare(_lab(), HADARE_MIXES["M-5"])


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
    return {**work.scenario(jobs), "core": TEN_SECONDS, "plan": _plan("gavel.max_min_fairness", "las", "fifo")}


# --- Hops -------------------------------------------------------------------------------------------------------------

HOPS_GPU_HOURS = {"S": (0.2, 1.0), "M": (1.0, 10.0), "L": (10.0, 50.0), "XL": (50.0, 80.0)}  # paper: 4.2; 0.2, 80 ours
SLOW_HOST = 0.9  # ours: RTX 3090 in the hosts with the slower CPU and less memory


@_preset
def hops_64() -> Data:
    """Hops, section 4.2: 64 GPUs in 10 servers of three types; 25 elastic jobs within 2.5 h as in the paper."""
    nodes = _nodes(
        ("sugon-1080ti", "gtx1080ti", 2, 8),
        ("sugon-xp", "titanxp", 4, 8),
        ("sugon-3090", "rtx3090", 2, 4, SLOW_HOST),
        ("tigerway-3090", "rtx3090", 2, 4),
    )
    return _hops(nodes, 25, 2.5 * HOUR, (2, 4, 8, 16), seed=4)


@_preset
def hops_512() -> Data:
    """Hops, section 4.3: 512 GPUs in 64 servers of five kinds; 100 elastic jobs within 1 h (the paper: 500 in 5 h)."""
    nodes = _nodes(
        ("sugon-1080ti", "gtx1080ti", 16, 8),
        ("sugon-xp", "titanxp", 16, 8),
        ("sugon-3090", "rtx3090", 16, 8, SLOW_HOST),
        ("tigerway-8g", "rtx3090", 8, 8),
        ("tigerway-10g", "rtx3090", 8, 8),
    )
    return _hops(nodes, 100, 1.0 * HOUR, (8, 16), seed=5)


def _hops(nodes: list[Data], count: int, window_s: float, largest: Sequence[int], seed: int) -> Data:
    """Jobs drawn evenly over Hops's models.

    Sizes of 1 to 16 GPUs, up to 8 choices at equal steps between two bounds (2.2); `gpus` is their median, as for
    Gavel in 4.2. The bounds are ours: 1 to 4 and one of `largest`.
    """
    work = Workload.build(_cluster(nodes, 100.0), "hops", None, "rtx3090", POWER)
    classes = {row["name"]: row["size_class"] for row in builtin.models("hops")}
    pick, ends, inside, gaps = _streams(seed, 4)
    arrivals = draw_arrivals(gaps, count, window_s / count)
    jobs = []
    for i, model in enumerate(pick.choice(list(work.models), count).tolist()):
        low, high = HOPS_GPU_HOURS[classes[model]]
        choices = _choices(int(ends.integers(1, 5)), int(ends.choice(largest)))
        gpus = choices[(len(choices) - 1) // 2]
        duration_s = float(inside.uniform(low, high)) * HOUR / gpus
        job = work.job(f"job-{i}", model, gpus, duration_s, float(arrivals[i]))
        jobs.append({**job, "gpus": gpus, "gpu_choices": choices, "size_class": classes[model]})
    return {**work.scenario(jobs), "seed": seed, "plan": _plan("gavel.max_min_fairness", "las", "srtf")}


def _choices(smallest: int, largest: int, most: int = 8) -> list[int]:
    """At most `most` numbers of GPUs at equal steps between the bounds."""
    largest = max(smallest, largest)
    count = min(most, largest - smallest + 1)
    return sorted({round(float(value)) for value in np.linspace(smallest, largest, count)})


# --- Hare -------------------------------------------------------------------------------------------------------------

# Hare Table 2: each class is a quarter of the jobs.
HARE_CLASSES = (
    ("VGG19 (Cifar10)", "ResNet50 (Cifar100)", "Inception V3 (Cifar100)"),
    ("Bert_base (SQuAD)", "Transformer (WMT16)"),
    ("DeepSpeech (ComVoice)",),
    ("FastGCN (Cora)", "GraphSAGE (Cora)"),
)


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

SOFT_STEPS = ((1.0, 100.0), (1.1, 80.0), (1.2, 50.0), (1.5, 20.0))  # paper: Chronus 4.1, times the first deadline
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
