"""Sizes of the reproduction, and the scenarios of Hadar's and HadarE's evaluation.

Section IV (simulation): full is the paper's 480 jobs on 60 GPUs, preset `hadar_480`; middle and tiny take its first
jobs and fewer nodes, with about as many jobs for each GPU.

Section VI (five nodes): the presets `hadar_aws_M-1` to `hadar_lab_M-12`. The paper does not print how long their jobs
are, and how long they are against a slot matters for its utilisation. So the steps of all jobs are scaled by one number
(`SCALE`), chosen so that Gavel takes for mix M-5 on AWS what the paper says; all else follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reproduction.hadar.averaging import TrainingSetting
from reproduction.line import Line
from workbench.scenario.presets import HADARE_MIXES, hadare_mix
from workbench.scenario.presets.hadar import hadar_480
from workbench.scenario.scenario import Scenario

HOUR = 3600.0
SLOT_S = 360.0  # paper: IV, six minutes
CLUSTERS: Mapping[str, str] = {"aws": "AWS", "lab": "lab"}
M_5 = "M-5"
SCALE = 0.27
"""ours: Gavel then takes about 4,200 s for mix M-5 on AWS (paper: VI-C), which is calibrated and not reproduced."""


@dataclass(frozen=True)
class HadarSize:
    """How large a reproduction is.

    jobs, nodes: of section IV, nodes of four GPUs for each of three types; round_jobs, round_nodes: the same for the
    sweep over rounds_s, lengths of a round; decided: numbers of jobs in Fig. 5.
    mixes: of section VI; slots_s: of Figs. 11 and 12; steps, learning_rates: of the training experiment.
    seeds: of the training experiment; seed: of the jobs of section IV, 0 those of the preset.
    scale: of the steps of the jobs of section VI; belief: the estimator that tells all schedulers speeds, None: what
    their papers say; payoff: of HadarE; slowest: of a job's speed on its fastest type the share that it has at least
    on each type where it runs, in Figs. 3 and 4; rivals: lines in place of those of their names, where a baseline can
    be had in several ways.
    """

    name: str
    jobs: int
    nodes: int
    round_jobs: int
    round_nodes: int
    decided: tuple[int, ...]
    steps: int
    seeds: range
    rounds_s: tuple[float, ...] = (720.0, 360.0, 180.0, 90.0, 45.0)
    mixes: tuple[str, ...] = tuple(HADARE_MIXES)
    slots_s: tuple[float, ...] = (90.0, 180.0, 360.0, 540.0)
    learning_rates: tuple[float, ...] = (0.1, 0.3, 1.0)
    seed: int = 0
    scale: float = SCALE
    belief: str | None = None
    payoff: str = "utility"
    slowest: float = 0.0
    rivals: tuple[Line, ...] = ()


SIZES = {
    size.name: size
    for size in (
        HadarSize(
            name="tiny",
            jobs=20,
            nodes=1,
            round_jobs=10,
            round_nodes=1,
            rounds_s=(720.0, 360.0, 90.0),
            decided=(32, 128),
            mixes=("M-1", "M-3", "M-5"),
            slots_s=(90.0, 360.0),
            steps=200,
            learning_rates=(0.3, 1.0),
            seeds=range(2),
        ),
        HadarSize(
            name="middle",
            jobs=160,
            nodes=2,
            round_jobs=80,
            round_nodes=1,
            decided=(32, 128, 512),
            steps=900,
            seeds=range(3),
        ),
        HadarSize(
            name="full",
            jobs=480,
            nodes=5,
            round_jobs=160,
            round_nodes=2,
            decided=(32, 128, 512, 2048),
            steps=TrainingSetting().steps,
            seeds=range(5),
        ),
    )
}


def simulated(jobs: int, nodes: int, seed: int = 0, slowest: float = 0.0) -> Scenario:
    """Section IV: the first jobs of `hadar_480` whose gang fits one type, on so many nodes of each type.

    slowest: see `HadarSize`.
    """
    whole = Scenario.from_dict(hadar_480(9 + seed), "hadar_480")
    groups = [{**group.model_dump(mode="json"), "count": nodes} for group in whole.cluster.nodes]
    cluster = {**whole.to_dict()["cluster"], "nodes": groups}
    most = min(nodes * group.gpus for group in whole.cluster.nodes)
    fastest: dict[tuple[str, int, str], float] = {}
    for row in whole.throughputs:
        of = row.model, row.gpus, row.placement
        fastest[of] = max(fastest.get(of, 0.0), row.steps_per_s)
    rows = [
        row.model_copy(
            update={"steps_per_s": max(row.steps_per_s, slowest * fastest[row.model, row.gpus, row.placement])}
        )
        if row.steps_per_s
        else row
        for row in whole.throughputs
    ]
    kept = [job for job in whole.jobs if job.gpus <= most][:jobs]
    return whole.replace(cluster=cluster, jobs=kept, throughputs=rows)


def physical(cluster: str, mix: str, scale: float = SCALE) -> Scenario:
    """Section VI: a mix on the `aws` or the `lab` cluster, its jobs' steps scaled."""
    found = hadare_mix(cluster, mix)
    return found.replace(jobs=[job.model_copy(update={"steps": round(scale * job.steps)}) for job in found.jobs])


def trace_scale(size: HadarSize) -> str:
    """Of section IV."""
    return _scale(size.jobs, size.nodes)


def length_scale(size: HadarSize) -> str:
    """Of its sweep over lengths of a round."""
    return _scale(size.round_jobs, size.round_nodes)


def _scale(jobs: int, nodes: int) -> str:
    made = f"{jobs} jobs on {12 * nodes} GPUs; the paper 480 on 60"
    return made if jobs == 480 else f"{made}, with as many jobs for each GPU: smaller, as many seeds"


def nodes_scale(size: HadarSize) -> str:
    """Of section VI."""
    mixes = f"{len(size.mixes)} mixes of jobs on five nodes of each cluster, of the paper's 7"
    return f"{mixes}; one set of lengths and speeds, ours: but for twice the lengths (gap) no other was tried"
