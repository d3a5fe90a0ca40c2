"""Hops: the clusters of sections 4.2 and 4.3 with elastic jobs, and the arrival rates of 4.6."""

from __future__ import annotations

from functools import partial

import numpy as np

from workbench.scenario.job import median_size, requirement_set
from workbench.scenario.presets.catalogue import Data, Preset, add, register
from workbench.scenario.presets.parts import HOUR, cluster_of, node_groups, streams
from workbench.scenario.throughput import Scaling
from workbench.scenario.traces import builtin
from workbench.scenario.traces.synthetic import Workload

POWER = Scaling(law="power", efficiency=0.9)  # ours: fills the odd numbers of GPUs that elastic jobs may run on

GPU_HOURS = {"S": (0.2, 1.0), "M": (1.0, 10.0), "L": (10.0, 50.0), "XL": (50.0, 80.0)}  # paper: 4.2; 0.2, 80 ours
SIZES = {  # ours: what the smallest and the largest choice are drawn from; the paper says 1 to 16
    "S": ((1,), (2, 4)),
    "M": ((1, 2), (4, 8)),
    "L": ((2, 4), (8, 16)),
    "XL": ((4, 8), (16,)),
}
MOST_CHOICES = 8  # paper: 4.2
REFERENCE = "titanxp"  # ours: the paper does not say on which type GPU-hours count
RATES = (30, 60, 100, 120, 300, 600, 1200)  # paper: jobs per hour, 100 in 4.3, the others in 4.6
JOBS = 500  # paper: 4.3
RESTART = {"restart": {"law": "fixed", "restart_s": 10.0}}  # ours
SCHEDULERS = (  # paper: 4.2
    {"scheduler": "hops"},
    {"scheduler": "sia", "knobs": {"queue": "latency_ratio"}},
    {"scheduler": "gavel.max_min_fairness"},
)
# ours: the hosts with the slower CPU and less memory, those of 4.2 with the faster one, the newest of 4.3
SLOW_HOST, HOST, NEW_HOST = 0.9, 1.0, 1.05
# ours: a data set that does not fit into memory is loaded at two speeds (Fig. 7a); probability, then mean and standard
# deviation as parts of an iteration on the fastest type
UNSTABLE, HIT, MISS = "ImageNet", (0.8, 0.1, 0.02), (0.2, 0.8, 0.1)


# ours: name, model, sizes, GPU-hours on the fastest type, minutes of arrival
EXAMPLE = (
    ("language", "GPT-2 Medium (Wiktext)", (1, 2), 0.6, 0),
    ("images", "ResNet50 (ImageNet)", (1, 2), 0.5, 0),
    ("vision", "ViT (Food-101)", (1, 2), 0.4, 0),
    ("speech", "Wav2vec (Common language)", (1, 2), 0.2, 5),
    ("text", "DistilBert (IMDb)", (1, 2), 0.2, 5),
)


@register
def hops_example() -> Data:
    """Hops in small: five elastic jobs on four GPUs of one type, two of them in a server at 0.6 of its speed (ours)."""
    # Chosen for its size, so that a lab can follow a slider, and so that the two things that the paper adds are seen:
    # lambda moves the schedule, and so does knowing servers and not only types. How other schedulers fare on it was no
    # ground for choosing it.
    nodes = node_groups(("slow", "rtx3090", 1, 2, 0.6), ("fast", "rtx3090", 1, 2, HOST))
    work = Workload.build(cluster_of(nodes, 100.0), "hops", None, None, POWER)
    jobs = []
    for name, model, choices, hours, minutes in EXAMPLE:
        gpus = median_size(choices)
        job = work.job(name, model, gpus, hours * HOUR / gpus, 60.0 * minutes)
        jobs.append({**job, "gpu_choices": list(choices)})
    return {**work.scenario(jobs), "core": RESTART, "schedulers": list(SCHEDULERS)}


@register
def hops_64(seed: int = 4) -> Data:
    """Hops, section 4.2: 64 GPUs in 10 servers of three types; 25 elastic jobs within 2.5 h as in the paper."""
    nodes = node_groups(
        ("sugon-1080ti", "gtx1080ti", 2, 8),
        ("sugon-xp", "titanxp", 4, 8),
        ("sugon-3090", "rtx3090", 2, 4, SLOW_HOST),
        ("tigerway-3090", "rtx3090", 2, 4, HOST),
    )
    return _hops(nodes, 25, 2.5 * HOUR, seed)


@register
def hops_512() -> Data:
    """Hops, section 4.3: 512 GPUs in 64 servers of five kinds; 100 elastic jobs in 1 h (500 in 5 h: hops_512_100)."""
    return hops_512_jobs(100, 100)


def _register_rates() -> None:
    """The paper's 500 jobs at each of its arrival rates, as variants of the preset with fewer jobs."""
    for rate in RATES:
        name, section = f"hops_512_{rate}", "4.3" if rate == 100 else "4.6"
        what = f"Hops, section {section}: 512 GPUs in 64 servers of five kinds; 500 elastic jobs, {rate} an hour"
        add(Preset(name, what, partial(hops_512_jobs, JOBS, rate), "hops_512"))


def hops_512_jobs(count: int, per_hour: int, seed: int = 5) -> Data:
    """The cluster of section 4.3 with so many jobs, so many an hour."""
    nodes = node_groups(
        ("sugon-1080ti", "gtx1080ti", 16, 8),
        ("sugon-xp", "titanxp", 16, 8),
        ("sugon-3090", "rtx3090", 16, 8, SLOW_HOST),
        ("tigerway-8g", "rtx3090", 8, 8, HOST),
        ("tigerway-10g", "rtx3090", 8, 8, NEW_HOST),
    )
    return _hops(nodes, count, count / per_hour * HOUR, seed)


def _hops(nodes: list[Data], count: int, window_s: float, seed: int) -> Data:
    """Jobs drawn evenly over Hops's models (Table 2; Fig. 8 is not in numbers), at random times of a window.

    Up to 8 sizes from 1 to 16 GPUs at equal steps between two bounds (2.2); `gpus` is their median, as for Gavel in
    4.2. Random times of a window are a Poisson process of which the number of arrivals is known.
    """
    work = Workload.build(cluster_of(nodes, 100.0), "hops", None, REFERENCE, POWER)
    classes = {row["name"]: row["size_class"] for row in builtin.models("hops")}
    pick, ends, inside, times = streams(seed, 4)
    arrivals = np.sort(times.uniform(0.0, window_s, count))
    jobs = []
    for i, model in enumerate(pick.choice(list(work.models), count).tolist()):
        kind = classes[model]
        low, high = GPU_HOURS[kind]
        smallest, largest = (int(ends.choice(bounds)) for bounds in SIZES[kind])
        choices = list(requirement_set(smallest, largest, MOST_CHOICES))
        gpus = median_size(choices)
        duration_s = float(inside.uniform(low, high)) * HOUR / gpus
        job = work.job(f"job-{i}", model, gpus, duration_s, float(arrivals[i]))
        jobs.append({**job, "gpus": gpus, "gpu_choices": choices, "size_class": kind})
    data = {**work.scenario(jobs), "seed": seed, "core": RESTART, "schedulers": list(SCHEDULERS)}
    data["models"] = [{**row, **_loading(work, row["name"])} for row in data["models"]]
    return data


def _loading(work: Workload, model: str) -> Data:
    """The loading times of a model whose data set is loaded at two speeds."""
    if UNSTABLE not in model:
        return {}
    iteration_s = 1.0 / float(work.speeds.matrix([model], [1]).max())
    return {"load_s": [[p, round(mean * iteration_s, 6), round(sd * iteration_s, 6)] for p, mean, sd in (HIT, MISS)]}


_register_rates()
