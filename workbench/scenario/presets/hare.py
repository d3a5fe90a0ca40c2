"""Hare: the examples of Figs. 1 and 4, the testbed of section 7.1, the 160 GPUs of section 7.3 and their variations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from workbench.base.errors import InputError
from workbench.scenario.presets.catalogue import Data, Preset, add, register
from workbench.scenario.presets.parts import cluster_of, entries_of, streams
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.synthetic import Workload, draw_arrivals

KINDS = ("CV", "NLP", "Speech", "Rec.")
# Hare Table 2: each class is a quarter of the jobs.
CLASSES = (
    ("VGG19 (Cifar10)", "ResNet50 (Cifar100)", "Inception V3 (Cifar100)"),
    ("Bert_base (SQuAD)", "Transformer (WMT16)"),
    ("DeepSpeech (ComVoice)",),
    ("FastGCN (Cora)", "GraphSAGE (Cora)"),
)
QUARTERS = (0.25, 0.25, 0.25, 0.25)
LEVELS = {"low": ("v100",), "middle": ("v100", "k80"), "high": ("v100", "t4", "k80", "m60")}
"""Section 7.3 (Fig. 16): the types of each level of heterogeneity. In equal parts: ours, the paper does not say."""
NETWORK_GBPS = 25.0  # paper: 7.1
GPUS, JOBS = 160, 200  # paper: 7.3
COUNTS = (100, 200, 300)  # paper: 7.3 (Fig. 15)
MOST_GPUS, MOST_JOBS = 1000, 1000  # ours: what the page that varies them can wait for
PER_NODE = 8  # ours
WINDOW_S = 720.0  # ours: all jobs arrive within about so long, however many there are
MINUTES = (3.0, 20.0)  # ours: on V100s
# ours: the paper says that NLP jobs are heavier and those of recognition lighter, but not by how much
MINUTES_OF = ((3.0, 20.0), (10.0, 30.0), (3.0, 20.0), (1.0, 6.0))
SCHEDULERS = entries_of("hare", "gavel.fifo", "srtf", "sched_homo", "sched_allox")  # paper: 7.1


@register
def hare_example() -> Data:
    """Hare, Fig. 1: three jobs of rounds of two tasks on three GPUs; the table of times is reconstructed."""
    # The text has no table: these seconds per task give the totals it states, 10.5, 9 and 8.5 s.
    kinds, rounds = ("GPU1", "GPU2", "GPU3"), {"J1": 1, "J2": 1, "J3": 2}
    seconds = {"J1": (1.5, 2.5, 1.5), "J2": (1.5, 2.0, 2.5), "J3": (0.5, 1.0, 1.5)}
    return {
        "cluster": _one_each(kinds),
        "jobs": [
            {"name": n, "model": f"model of {n}", "steps": 2 * rounds[n], "gpus": 1, "tasks_per_round": 2}
            for n in rounds
        ],
        "throughputs": [
            {"model": f"model of {n}", "accelerator": kind, "gpus": 1, "steps_per_s": 1 / s}
            for n, times in seconds.items()
            for kind, s in zip(kinds, times, strict=True)
        ],
        "schedulers": SCHEDULERS,
    }


def _one_each(kinds: Sequence[str]) -> Data:
    """A cluster of one GPU of each type."""
    nodes = [{"name": f"node{i}", "accelerator": kind, "gpus": 1} for i, kind in enumerate(kinds, start=1)]
    return {"accelerators": [{"name": kind} for kind in kinds], "nodes": nodes}


@register
def hare_synchronisation() -> Data:
    """Hare, Fig. 4: a job of three tasks comes while all three GPUs are busy; its times are reconstructed."""
    # The figure has no numbers. i1, i2 and i3 hold a GPU each; their weights keep them first where all is known ahead.
    kinds, sync_s = ("GPU1", "GPU2", "GPU3"), 0.5
    alone = [
        *zip(("i1", "i2", "i3"), kinds, (1.0, 2.0, 4.0), strict=True),
        *zip("nnn", kinds, (1.0, 1.5, 1.5), strict=True),
    ]
    rows = [{"model": job, "accelerator": kind, "gpus": 1, "steps_per_s": 1 / s} for job, kind, s in alone]
    rows += [
        {"model": "n", "accelerator": kind, "gpus": 3, "steps_per_s": 3 / (s + sync_s), "sync_s": sync_s}
        for job, kind, s in alone
        if job == "n"
    ]
    coming = {"name": "n", "model": "model of n", "steps": 3, "gpus": 1, "tasks_per_round": 3, "arrival_s": 0.5}
    return {
        "cluster": _one_each(kinds),
        "jobs": [
            *({"name": i, "model": f"model of {i}", "steps": 1, "gpus": 1, "weight": 10} for i in ("i1", "i2", "i3")),
            coming,
        ],
        "throughputs": [{**row, "model": f"model of {row['model']}"} for row in rows],
        "schedulers": SCHEDULERS[:1],
    }


@register
def hare_testbed() -> Data:
    """Hare, section 7.1: 8 V100, 4 T4, 1 K80, 2 M60 on 4 machines, 25 Gbit/s; 24 jobs, a quarter of each class."""
    # Four machines are the paper's; gangs of 1, 2 or 4 tasks, 3 to 20 minutes, weights 1 to 3 and the gap are ours.
    counts = {"v100": 8, "t4": 4, "k80": 1, "m60": 2}
    return _workload(counts, 24, QUARTERS, [MINUTES] * 4, WINDOW_S, 6)


@register
def hare_160() -> Data:
    """Hare, section 7.3: 160 GPUs of four types in equal parts (ours), 25 Gbit/s; 200 jobs of Table 2's classes."""
    return _hare_160(JOBS)


def _hare_160(count: int) -> Data:
    return _workload(_split(GPUS, LEVELS["high"]), count, QUARTERS, MINUTES_OF, WINDOW_S, 7)


def _register_counts() -> None:
    """The numbers of jobs of Fig. 15, as variants."""
    for count in COUNTS:
        what = f"Hare, section 7.3: 160 GPUs of four types in equal parts (ours), 25 Gbit/s; {count} jobs of Table 2"
        add(Preset(f"hare_160_{count}", what, partial(_hare_160, count), "hare_160"))


_register_counts()


def hare_workload(
    gpus: int = GPUS,
    jobs: int = JOBS,
    level: str = "high",
    shares: Sequence[float] = QUARTERS,
    seed: int = 7,
) -> Scenario:
    """Section 7.3's cluster and jobs in another size or mix (Figs. 14 to 17); 160 and 200 are `hare_160`.

    level: of heterogeneity, one of `LEVELS`; shares: of the jobs of each of `KINDS`, in any unit. All jobs arrive
    within about 12 minutes, however many there are. Raises InputError.
    """
    _whole("gpus", gpus, 1, MOST_GPUS)
    _whole("jobs", jobs, 1, MOST_JOBS)
    if level not in LEVELS:
        raise InputError("level", level, "one of " + ", ".join(LEVELS))
    part = np.array([float(share) for share in shares])
    if len(part) != len(KINDS) or not np.isfinite(part).all() or part.min() < 0 or part.sum() <= 0:
        raise InputError("shares", list(shares), f"{len(KINDS)} numbers >= 0, not all 0: of {', '.join(KINDS)}")
    data = _workload(_split(gpus, LEVELS[level]), jobs, part.tolist(), MINUTES_OF, WINDOW_S, seed)
    what = f"{jobs} jobs of Hare's Table 2 on {gpus} GPUs, heterogeneity {level} ({', '.join(LEVELS[level])})"
    return Scenario.from_dict({**data, "name": f"hare_{gpus}_{jobs}", "description": what}, "hare_workload")


def _whole(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(name, value, f"a whole number from {least} to {most}")


def _split(gpus: int, kinds: Sequence[str]) -> dict[str, int]:
    """So many GPUs in equal parts, what is left over going to the first types."""
    counts = {kind: gpus // len(kinds) + (i < gpus % len(kinds)) for i, kind in enumerate(kinds)}
    return {kind: count for kind, count in counts.items() if count}


def _workload(
    counts: dict[str, int],
    jobs: int,
    shares: Sequence[float],
    minutes: Sequence[tuple[float, float]],
    window_s: float,
    seed: int,
) -> Data:
    """Jobs of Table 2's classes on nodes of up to eight GPUs; minutes: on V100s, of each class."""
    nodes = [node for kind, count in counts.items() for node in _nodes(kind, count)]
    work = Workload.build(cluster_of(nodes, NETWORK_GBPS), "hare", None, "v100")
    pick, scale, length, weight, gaps = streams(seed, 5)
    arrivals, made = draw_arrivals(gaps, jobs, window_s / jobs), []
    for i, kind in enumerate(_kinds(shares, jobs)):
        model = str(pick.choice(CLASSES[kind]))
        tasks, duration_s = int(scale.choice([1, 2, 4])), float(length.uniform(*minutes[kind])) * 60
        job = work.job(f"job-{i}", model, tasks, duration_s, float(arrivals[i]))
        tasks = job["gpus"]
        steps = tasks * max(1, round(job["steps"] / tasks))
        made.append({**job, "steps": steps, "tasks_per_round": tasks, "weight": float(weight.integers(1, 4))})
    return {**work.scenario(made), "seed": seed, "schedulers": SCHEDULERS}


def _nodes(kind: str, count: int) -> list[Data]:
    whole, rest = divmod(count, PER_NODE)
    groups = [{"name": kind, "accelerator": kind, "count": whole, "gpus": PER_NODE}] if whole else []
    return groups + ([{"name": f"{kind}-rest" if whole else kind, "accelerator": kind, "gpus": rest}] if rest else [])


def _kinds(shares: Sequence[float], count: int) -> list[int]:
    """The class of each job: always the one that is furthest behind its share, the first of equals."""
    part, given = np.array(shares) / sum(shares), np.zeros(len(shares))
    found = []
    for i in range(count):
        behind = np.round(part * (i + 1) - given, 9)
        found.append(int(behind.argmax()))
        given[found[-1]] += 1
    return found
