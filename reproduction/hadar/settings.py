"""Sizes of the reproduction, and the scenarios of Hadar's and HadarE's evaluation.

Section IV (simulation): full is the paper's 480 jobs on 60 GPUs, preset `hadar_480`, and authors the same jobs with
the speeds that Gavel's authors measured, as the paper has it; middle and tiny take its first jobs and fewer nodes, with
about as many jobs for each GPU.

Section VI (five nodes): the presets `hadar_aws_M-1` to `hadar_lab_M-12`. The paper prints neither how long their jobs
are nor how fast, so each seed draws both anew, by model, within what the papers print: lengths in the order of the
sizes of Table III, and how much faster than a K80 a V100 is, between 2 and 10 times (Gavel, Fig. 1a), which the other
types follow. Then the steps of all jobs are scaled by one number, so that Gavel takes for mix M-5 on AWS what the
paper says; all else follows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.optimize import brentq

from reproduction.gavel.settings import measured
from reproduction.hadar.averaging import TrainingSetting
from reproduction.line import Line
from workbench.scenario.presets import HADARE_MIXES, hadare_mix
from workbench.scenario.presets.hadar import HADARE_HOURS, hadar_480
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.cluster_spec import parse_cluster
from workbench.scenario.traces.hadar import CLUSTER, REFERENCE
from workbench.scenario.traces.synthetic import Workload

HOUR = 3600.0
SLOT_S = 360.0  # paper: IV, six minutes
CLUSTERS: Mapping[str, str] = {"aws": "AWS", "lab": "lab"}
M_5 = "M-5"
GAVEL_S = 4200.0
"""paper: VI-C, what Gavel takes for mix M-5 on AWS, to which lengths are calibrated: it is not reproduced."""
SCALES = (0.02, 2.0)
"""ours: between these the scale of lengths is looked for."""
GAINS = (2.0, 10.0)
"""Gavel, Fig. 1a: how many times as fast as a K80 a V100 is."""
MEASURED = {"LSTM (batch size 20)": "LM (batch size 20)"}
"""How Gavel's authors call a model where they call it otherwise. ours: the batch sizes are those of the built-in models
at every size, as the paper names none."""
HOURS = 0.25
"""ours: a drawn length, in hours on a V100 before it is scaled, is this far from that of its size at most."""


@dataclass(frozen=True)
class HadarSize:
    """How large a reproduction is.

    jobs, nodes: of section IV, nodes of four GPUs for each of three types; rounds_s: lengths of a round; decided:
    numbers of jobs in Fig. 5.
    mixes: of section VI; slots_s: of Figs. 11 and 12; steps, learning_rates: of the training experiment.
    seeds: of the training experiment; seed: of the jobs of section IV, 0 those of the preset, and of what is drawn in
    section VI; length: of the jobs there, over what is calibrated; belief: the estimator that tells all schedulers
    speeds, None: what their papers say; payoff: of HadarE; measured_speeds: in section IV Gavel's authors' measurements
    in place of the built-in speeds; rivals: lines in place of those of their names, where a baseline can be had in
    several ways.
    """

    name: str
    jobs: int
    nodes: int
    decided: tuple[int, ...]
    steps: int
    seeds: range
    rounds_s: tuple[float, ...] = (720.0, 360.0, 180.0, 90.0, 45.0)
    mixes: tuple[str, ...] = tuple(HADARE_MIXES)
    slots_s: tuple[float, ...] = (90.0, 180.0, 360.0, 540.0)
    learning_rates: tuple[float, ...] = (0.1, 0.3, 1.0)
    seed: int = 0
    length: float = 1.0
    belief: str | None = None
    payoff: str = "utility"
    measured_speeds: bool = False
    rivals: tuple[Line, ...] = ()


SIZES = {
    size.name: size
    for size in (
        HadarSize(
            name="tiny",
            jobs=20,
            nodes=1,
            rounds_s=(720.0, 360.0, 90.0, 45.0),
            decided=(32, 128),
            mixes=("M-1", "M-3", "M-5"),
            slots_s=(90.0, 360.0, 540.0),
            steps=200,
            learning_rates=(0.3, 1.0),
            seeds=range(2),
        ),
        HadarSize(
            name="middle",
            jobs=160,
            nodes=2,
            decided=(32, 128, 512),
            steps=900,
            seeds=range(3),
        ),
        HadarSize(
            name="full",
            jobs=480,
            nodes=5,
            decided=(32, 128, 512, 2048),
            steps=TrainingSetting().steps,
            seeds=range(5),
        ),
    )
}
SIZES["authors"] = replace(SIZES["full"], name="authors", measured_speeds=True)
DRAWN = tuple(name for name, size in SIZES.items() if not size.measured_speeds)
"""Of what has no speeds of Gavel's authors."""


def simulated(size: HadarSize) -> Scenario:
    """Section IV: the first jobs of `hadar_480` whose gang fits one type, on so many nodes of each type."""
    whole = Scenario.from_dict(hadar_480(9 + size.seed), "hadar_480")
    whole = _measured(whole) if size.measured_speeds else whole
    groups = [{**group.model_dump(mode="json"), "count": size.nodes} for group in whole.cluster.nodes]
    cluster = {**whole.to_dict()["cluster"], "nodes": groups}
    most = min(size.nodes * group.gpus for group in whole.cluster.nodes)
    kept = [job for job in whole.jobs if job.gpus <= most][: size.jobs]
    return whole.replace(cluster=cluster, jobs=kept)


def _measured(drawn: Scenario) -> Scenario:
    """The same jobs with the authors' speeds: as many GPU-hours, which size them, on the reference type; a gang is
    halved until they measured it, as by Gavel's generator (CycleGAN: one GPU)."""
    named = {MEASURED.get(job.model, job.model): job.model for job in drawn.jobs}
    rows = [row | {"model": named[row["model"]]} for row in measured(CLUSTER)["throughputs"] if row["model"] in named]
    ours, theirs = (Workload.build(parse_cluster(CLUSTER), "gavel", each, REFERENCE) for each in (None, rows))
    jobs = []
    for job in drawn.jobs:
        gpus = theirs.gang(job.model, job.gpus)
        length_s = job.gpus / gpus * job.steps / ours.rate(job.model, job.gpus)
        steps = max(1, round(length_s * theirs.rate(job.model, gpus)))
        jobs.append(job.model_copy(update={"gpus": gpus, "steps": steps}))
    return drawn.replace(jobs=jobs, throughputs=rows, colocated=[])


@cache
def physical(cluster: str, mix: str, seed: int = 0, length: float = 1.0) -> Scenario:
    """Section VI: a mix on the `aws` or the `lab` cluster with the lengths and speeds of a seed, calibrated; length:
    see `HadarSize`."""
    return _drawn(cluster, mix, seed, length * _calibrated(seed))


@cache
def _calibrated(seed: int) -> float:
    """The scale of lengths with which Gavel takes `GAVEL_S` for mix M-5 on AWS."""
    gavel = Line("Gavel", "gavel.max_min_fairness")

    def late_s(scale: float) -> float:
        ends_s = gavel.run(_drawn("aws", M_5, seed, scale), round_s=SLOT_S).jobs["finish_s"]
        return float(ends_s.max(skipna=False)) - GAVEL_S

    return float(brentq(late_s, *SCALES, xtol=1e-4))


def _drawn(cluster: str, mix: str, seed: int, scale: float) -> Scenario:
    """A mix with what a seed draws for each model; scale: of all lengths."""
    found, known = hadare_mix(cluster, mix), hadare_mix("aws", M_5)
    speed = {(row.model, row.accelerator): row.steps_per_s for row in known.throughputs}
    draw, part, power = np.random.default_rng([seed, 6]), {}, {}
    for job in known.jobs:
        part[job.model] = 1 + draw.uniform(-HOURS, HOURS) / HADARE_HOURS[str(job.size_class)]
        gain = draw.uniform(math.log(GAINS[0]), math.log(GAINS[1]))
        power[job.model] = gain / math.log(speed[job.model, "v100"] / speed[job.model, "k80"])
    jobs = [job.model_copy(update={"steps": max(1, round(scale * part[job.model] * job.steps))}) for job in found.jobs]
    rows = [
        row.model_copy(update={"steps_per_s": fastest * (row.steps_per_s / fastest) ** power[row.model]})
        for row in found.throughputs
        for fastest in (speed[row.model, "v100"],)
    ]
    return found.replace(jobs=jobs, throughputs=rows)


def trace_scale(size: HadarSize) -> str:
    """Of section IV."""
    speeds = "speeds measured by Gavel's authors, as in the paper" if size.measured_speeds else "speeds of ours"
    made = f"{size.jobs} jobs on {12 * size.nodes} GPUs, {speeds}; the paper 480 on 60"
    return made if size.jobs == 480 else f"{made}, with as many jobs for each GPU: smaller, as many seeds"


def nodes_scale(size: HadarSize) -> str:
    """Of section VI."""
    mixes = f"{len(size.mixes)} mixes of jobs on five nodes of each cluster, of the paper's 7"
    return f"{mixes}; lengths and speeds, which it does not print, drawn anew for each seed"
