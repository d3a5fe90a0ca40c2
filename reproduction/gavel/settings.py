"""Sizes of the reproduction, and the clusters and traces of Gavel's evaluation (section 7.1) from the built-in data.

Rates are stated for the paper's 108 GPUs. Full has a third of them, small a ninth with 30 measured jobs; authors is the
same with the authors' measured speeds, as is authors_thrice on 36 GPUs, whose curves over loads are of a cluster that
has just filled: jobs 200 to 450, from half of the load that a line sustains that goes by speeds' mean over types to
past it. In authors_steady and authors_whole, on 36 GPUs and on 108, jobs are measured where the authors' program does
(code), in proportion to the GPUs, at every second rate of its grid from a middle load on (code: 0 to 6 jobs/h of one
GPU in 16 points, 0 to 3 of several in 11). Tiny draws jobs of 1 to 4 h, of which a dozen reach a steady state. What
neither the paper nor the program says is (ours): the rates of other sizes, nodes of four GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from reproduction.line import Line
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import convert
from workbench.scenario.traces.cluster_spec import parse_cluster
from workbench.scenario.traces.gavel import TraceRow, pair_rows, read_throughputs, speed_rows
from workbench.scenario.traces.public import fetch
from workbench.scenario.traces.synthetic import Durations, generate

PAPER_GPUS = 108  # paper: 7.1
HOUR = 3600.0
PROGRAM_FIRST, PROGRAM_MEASURED = 4000, 1000
"""code: of the paper's 108 GPUs which jobs are measured (EXPERIMENTS.md of the authors' program: `-s 4000 -e 5000`)."""


@dataclass(frozen=True)
class GavelSize:
    """How large a reproduction is.

    cluster: simulated, equally many GPUs of each type; physical: the cluster of Table 3; small: of Fig. 14.
    durations: law of the jobs' lengths; seeds: of the traces of a point.
    warm, measured, trailing: jobs of a trace before, in and after the measured window.
    single, multiple: arrival rates in jobs per hour per 108 GPUs.
    physical_jobs, physical_measured: of Table 3.
    batches: jobs of Fig. 19 on 108 GPUs (code: 100 to 700).
    cost_jobs, cost_per_day: of the cost policies, those that come in a day on 108 GPUs (ours: few enough that each job
    finds the type it wants); jobs, shared_jobs: of Fig. 12; rounds_s: of Fig. 13.
    entity_jobs: of Figs. 11 and 21 (the paper: 6 jobs for each entity).
    measured_speeds: the authors' measurements in place of the built-in speeds, and their traces in Table 3.
    rivals: lines in place of those of their names, where a baseline can be had in several ways. often: how many times
    as often as ours shares are computed anew where that is seldom (7.3 cost with SLOs; Fig. 19 with pairs).
    """

    name: str
    cluster: str
    seeds: range
    warm: int
    measured: int
    trailing: int
    single: tuple[float, ...]
    multiple: tuple[float, ...]
    batches: tuple[int, ...]
    cost_jobs: int
    jobs: tuple[int, ...]
    shared_jobs: tuple[int, ...]
    rounds_s: tuple[float, ...]
    entity_jobs: int = 6
    physical: str = "v100=2x4,p100=4x4,k80=6x4"
    physical_jobs: int = 100
    physical_measured: int = 25
    small: str = "v100=1x4,p100=1x4,k80=1x4"
    durations: Durations = "gandiva"
    measured_speeds: bool = False
    cost_per_day: float = 8.0
    rivals: tuple[Line, ...] = ()
    often: float = 1.0

    @property
    def window(self) -> tuple[int, int]:
        """First and last measured job of a trace, by arrival."""
        return self.warm, self.warm + self.measured - 1


SIZES = {
    size.name: size
    for size in (
        GavelSize(
            name="tiny",
            cluster="v100=1x4,p100=1x4,k80=1x4",
            physical="v100=1x2,p100=1x4,k80=1x6",
            durations="short",
            seeds=range(1),
            warm=2,
            measured=4,
            trailing=40,
            single=(16.0, 28.0),
            multiple=(8.0, 14.0),
            physical_jobs=10,
            physical_measured=4,
            batches=(36, 90),
            cost_jobs=10,
            jobs=(16, 64),
            shared_jobs=(16, 32),
            rounds_s=(360.0, 2880.0),
            entity_jobs=4,
        ),
        GavelSize(
            name="small",
            cluster="v100=1x4,p100=1x4,k80=1x4",
            seeds=range(3),
            warm=15,
            measured=30,
            trailing=115,
            single=(2.0, 4.0),
            multiple=(1.0, 2.0),
            batches=(360, 700),
            cost_jobs=50,
            jobs=(32, 128),
            shared_jobs=(32, 64),
            rounds_s=(360.0, 2880.0),
        ),
        GavelSize(
            name="middle",
            cluster="v100=2x4,p100=2x4,k80=2x4",
            seeds=range(2),
            warm=80,
            measured=100,
            trailing=400,
            single=(2.0, 3.0, 4.0),
            multiple=(1.0, 1.6, 2.2),
            batches=(360, 700),
            cost_jobs=150,
            jobs=(32, 128, 512),
            shared_jobs=(32, 64, 128),
            rounds_s=(360.0, 1440.0, 2880.0),
        ),
        GavelSize(
            name="full",
            cluster="v100=3x4,p100=3x4,k80=3x4",
            seeds=range(3),
            warm=250,
            measured=250,
            trailing=900,
            single=(2.5, 3.3, 4.1),
            multiple=(1.2, 1.7, 2.2),
            batches=(100, 300, 500, 700),
            cost_jobs=500,
            jobs=(32, 128, 512, 2048),
            shared_jobs=(32, 128, 512),
            rounds_s=(360.0, 720.0, 1440.0, 2880.0),
        ),
    )
}


SIZES["authors"] = replace(SIZES["small"], name="authors", measured_speeds=True)
SIZES["authors_thrice"] = replace(
    SIZES["authors"],
    name="authors_thrice",
    cluster="v100=3x4,p100=3x4,k80=3x4",
    warm=200,
    measured=250,
    trailing=800,
    single=(2.5, 3.5, 4.5, 5.5),
    multiple=(1.6, 2.2, 2.8, 3.4),
    batches=(100, 400, 700),
)
SIZES |= {
    name: replace(
        SIZES["authors_thrice"],
        name=name,
        cluster=f"v100={nodes}x4,p100={nodes}x4,k80={nodes}x4",
        warm=PROGRAM_FIRST * nodes // 9,
        measured=PROGRAM_MEASURED * nodes // 9,
        trailing=1000 * nodes,
        single=(2.4, 3.2, 4.0, 4.8, 5.6),
        multiple=(1.2, 1.8, 2.4, 3.0),
    )
    for name, nodes in (("authors_steady", 3), ("authors_whole", 9))  # of each type
}


@cache
def measured(cluster: str) -> dict[str, list[dict[str, Any]]]:
    """`throughputs` and `colocated` of all models that the authors measured, on a cluster's types."""
    tables = read_throughputs(fetch("gavel_throughputs"))
    types = list(dict.fromkeys(str(node["accelerator"]) for node in parse_cluster(cluster)["nodes"]))
    kinds = dict.fromkeys(kind for name in types for kind in tables[name].alone)
    rows = [TraceRow(0, 0, model, gpus, 1.0, 1.0, None, 0.0) for model, gpus in kinds]
    return {"throughputs": list(speed_rows(rows, tables, types)), "colocated": list(pair_rows(rows, tables, types, []))}


def _drawn(measured_speeds: bool, cluster: str, jobs: int, seed: int, **options: Any) -> Scenario:
    """`generate` with built-in or with the authors' speeds, and GPUs that two jobs may share."""
    if not measured_speeds:
        return sharing(generate(cluster, jobs, seed, reference="v100", **options))
    table = measured(cluster)
    made = generate(cluster, jobs, seed, reference="v100", throughputs=table["throughputs"], **options)
    used = {job.model for job in made.jobs}
    pairs = [row for row in table["colocated"] if row["model"] in used and row["with_model"] in used]
    return sharing(made.replace(colocated=pairs))


def sharing(scenario: Scenario) -> Scenario:
    """The scenario with GPUs that two jobs may share; who does not use it is not affected."""
    return scenario.replace(core=scenario.core.model_copy(update={"space_sharing": True}))


def continuous(
    cluster: str,
    jobs: int,
    per_hour: float,
    seed: int,
    *,
    gpus: int = PAPER_GPUS,
    multi_gpu: bool = False,
    priority_share: float = 0.0,
    durations: Durations = "gandiva",
    measured_speeds: bool = False,
) -> Scenario:
    """Jobs that keep arriving; per_hour: of a cluster with `gpus` GPUs, scaled to this one's."""
    return _drawn(
        measured_speeds,
        cluster,
        jobs,
        seed,
        arrivals="poisson",
        mean_gap_s=HOUR / (per_hour * gpus_of(cluster) / gpus),
        multi_gpu=multi_gpu,
        priority_share=priority_share,
        durations=durations,
    )


def static(
    cluster: str,
    jobs: int,
    seed: int,
    *,
    multi_gpu: bool = True,
    durations: Durations = "gandiva",
    measured_speeds: bool = False,
) -> Scenario:
    """Jobs that are all there at the start."""
    return _drawn(measured_speeds, cluster, jobs, seed, multi_gpu=multi_gpu, durations=durations)


def authors_trace(name: str, nodes_of: int = 4) -> Scenario:
    """One of the authors' traces of their physical cluster, with their speeds, on 8 V100, 16 P100 and 24 K80 (7.1);
    nodes_of: GPUs of a node."""
    counts = {"v100": 8, "p100": 16, "k80": 24}
    cluster = parse_cluster(",".join(f"{kind}={count // nodes_of}x{nodes_of}" for kind, count in counts.items()))
    return sharing(convert("gavel", fetch(name), fetch("gavel_throughputs"), cluster)[0])


def gpus_of(cluster: str) -> int:
    """GPUs of a cluster written `v100=2x4,...`."""
    return sum(int(node.get("count", 1)) * int(node["gpus"]) for node in parse_cluster(cluster)["nodes"])


SMALLER = "smaller, so that many seeds fit a few hours of two cores"


def simulated_scale(size: GavelSize) -> str:
    """Of a figure over loads."""
    gpus, last = gpus_of(size.cluster), PROGRAM_FIRST + PROGRAM_MEASURED
    jobs = f"jobs {size.warm:,} to {size.warm + size.measured:,} measured"
    theirs = f"the authors' program has {PROGRAM_FIRST:,} to {last:,} on {PAPER_GPUS} GPUs"
    return f"{gpus} GPUs, {jobs}; {theirs}{'' if gpus == PAPER_GPUS else f': {SMALLER}'}"


def physical_scale(size: GavelSize) -> str:
    """Of Table 3."""
    return f"{gpus_of(size.physical)} GPUs; the paper 48, of {size.physical_jobs} jobs there at once or coming"


def cost_scale(size: GavelSize) -> str:
    """Of the cost policies."""
    return f"{size.cost_jobs} jobs on {gpus_of(size.cluster)} GPUs; the paper 500 on {PAPER_GPUS}: {SMALLER}"


def batch_scale(size: GavelSize) -> str:
    """Of Fig. 19."""
    gpus = gpus_of(size.cluster)
    jobs = " and ".join(str(round(jobs * gpus / PAPER_GPUS)) for jobs in size.batches)
    return f"{jobs} jobs on {gpus} GPUs; the paper 100 to 700 on {PAPER_GPUS}: {SMALLER}"


def entities_scale(size: GavelSize) -> str:
    """Of Figs. 11 and 21."""
    return f"{3 * size.entity_jobs} jobs on 9 GPUs; the paper 18 on 9"
