"""Hadar (section IV) and HadarE (section V) on their clusters, with HadarE's workload mixes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from workbench.base.errors import InputError
from workbench.scenario.presets.catalogue import Data, Preset, add, preset, register
from workbench.scenario.presets.parts import HOUR, cluster_of, entries_of, node_groups, streams
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import builtin
from workbench.scenario.traces.cluster_spec import parse_cluster
from workbench.scenario.traces.hadar import GPU_HOURS, MODELS, SCHEDULERS
from workbench.scenario.traces.synthetic import Workload, draw_gangs

LEAST_GPU_HOURS = 0.1  # ours: the smallest job of size S
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


@register
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
        "schedulers": entries_of(*SCHEDULERS),
    }


@register
def hadar_simulated() -> Data:
    """Hadar, section IV: 15 nodes, 20 V100, 20 P100, 20 K80; 40 jobs of four sizes at the start (480 in hadar_480)."""
    return _hadar(40, seed=3, reference="v100")


@register
def hadar_480(seed: int = 9) -> Data:
    """Hadar, section IV: 15 nodes, 20 V100, 20 P100, 20 K80; 480 jobs of four sizes (hours on a K80) at the start."""
    # The paper does not say on which type GPU-hours count. Were it the V100, a job of size XL could take longer than
    # the 40 h in which Hadar is done with all of them.
    return _hadar(480, seed, reference="k80")


def _hadar(count: int, seed: int, reference: str) -> Data:
    """Jobs of sizes drawn evenly, GPU-hours (on the reference type) evenly within a size; gangs are ours.

    15 nodes and 60 GPUs are the paper's; four GPUs each follows.
    """
    nodes = node_groups(*((t, t, 5, 4) for t in ("v100", "p100", "k80")))
    work = Workload.build(cluster_of(nodes, 25.0), "gavel", None, reference)
    classes, inside, models, gangs = streams(seed, 4)
    sizes = classes.choice(list(MODELS), count).tolist()
    jobs = []
    for i, (size, wanted) in enumerate(zip(sizes, draw_gangs(gangs, count).tolist(), strict=True)):
        low, high = GPU_HOURS[size]
        model = str(models.choice(MODELS[size]))
        gpus = work.gang(model, wanted)
        duration_s = float(inside.uniform(max(low, LEAST_GPU_HOURS), high)) * HOUR / gpus
        jobs.append({**work.job(f"job-{i}", model, gpus, duration_s, 0.0), "size_class": size})
    return {**work.scenario(jobs), "seed": seed, "core": TEN_SECONDS, "schedulers": entries_of(*SCHEDULERS)}


@register
def hadar_aws() -> Data:
    """HadarE, section V: AWS, one V100, two K80, two T4; mix M-5 (others: hadar_aws_M-1, -3, -4, -8, -10, -12)."""
    return _hadare(_aws(), HADARE_MIXES["M-5"])


@register
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
            add(Preset(name, what, partial(_hadare_of, nodes, jobs), f"hadar_{cluster}"))


def _hadare_of(cluster: Callable[[], Data], mix: Iterable[str]) -> Data:
    return _hadare(cluster(), mix)


def _aws() -> Data:
    return cluster_of(node_groups(("p3", "v100", 1, 1), ("p2", "k80", 2, 1), ("g4dn", "t4", 2, 1)), 10.0)


def _lab() -> Data:
    return cluster_of(node_groups(*((t, t, 1, 1) for t in ("titanrtx", "t4", "t400", "rtx3090", "a2000"))), 10.0)


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
    return {**work.scenario(jobs), "core": TEN_SECONDS, "schedulers": entries_of(*SCHEDULERS)}


HADARE_CLUSTERS: dict[str, Callable[[], Data]] = {"aws": _aws, "lab": _lab}
_register_mixes()
