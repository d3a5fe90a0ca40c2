"""Sizes of the reproduction, and the clusters and traces of Gavel's evaluation (section 7.1) from the built-in data.

Full is the paper's setting with the cluster and the arrival rates at a third, so that an hour on two cores is enough;
rates are stated for the paper's 108 GPUs. Tiny draws jobs of 1 to 4 h, of which a dozen reach a steady state. What the
paper does not print is (ours): the rates, nodes of four GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.cluster_spec import parse_cluster
from workbench.scenario.traces.synthetic import Durations, generate

PAPER_GPUS = 108  # paper: 7.1
HOUR = 3600.0


@dataclass(frozen=True)
class Size:
    """How large a reproduction is.

    cluster: simulated, equally many GPUs of each type; physical: the cluster of Table 3; small: of Fig. 14.
    durations: law of the jobs' lengths; seeds: how many traces per point.
    warm, measured, trailing: jobs of a trace before, in and after the measured window.
    single, multiple: arrival rates in jobs per hour per 108 GPUs.
    physical_jobs, physical_measured: of Table 3.
    batches: jobs of Fig. 19; shared_batches: those that are also run with space sharing.
    cost_jobs: of the cost policies; jobs, shared_jobs: of Fig. 12; rounds_s: of Fig. 13.
    hierarchy_seeds, entity_jobs: of Figs. 11 and 21 (the paper: 6 jobs for each entity).
    """

    name: str
    cluster: str
    physical: str
    small: str
    durations: Durations
    seeds: int
    warm: int
    measured: int
    trailing: int
    single: tuple[float, ...]
    multiple: tuple[float, ...]
    physical_jobs: int
    physical_measured: int
    batches: tuple[int, ...]
    shared_batches: tuple[int, ...]
    cost_jobs: int
    jobs: tuple[int, ...]
    shared_jobs: tuple[int, ...]
    rounds_s: tuple[float, ...]
    hierarchy_seeds: int
    entity_jobs: int

    @property
    def window(self) -> tuple[int, int]:
        """First and last measured job of a trace, by arrival."""
        return self.warm, self.warm + self.measured - 1


SIZES = {
    size.name: size
    for size in (
        Size(
            name="tiny",
            cluster="v100=1x4,p100=1x4,k80=1x4",
            physical="v100=1x2,p100=1x4,k80=1x6",
            small="v100=1x4,p100=1x4,k80=1x4",
            durations="short",
            seeds=1,
            warm=2,
            measured=4,
            trailing=40,
            single=(16.0, 28.0),
            multiple=(8.0, 14.0),
            physical_jobs=10,
            physical_measured=4,
            batches=(4, 10),
            shared_batches=(4, 10),
            cost_jobs=10,
            jobs=(16, 64),
            shared_jobs=(16, 32),
            rounds_s=(360.0, 2880.0),
            hierarchy_seeds=1,
            entity_jobs=4,
        ),
        Size(
            name="middle",
            cluster="v100=2x4,p100=2x4,k80=2x4",
            physical="v100=2x4,p100=4x4,k80=6x4",
            small="v100=1x4,p100=1x4,k80=1x4",
            durations="gandiva",
            seeds=2,
            warm=80,
            measured=100,
            trailing=400,
            single=(2.0, 3.0, 4.0),
            multiple=(1.0, 1.6, 2.2),
            physical_jobs=100,
            physical_measured=25,
            batches=(50, 100),
            shared_batches=(50, 100),
            cost_jobs=150,
            jobs=(32, 128, 512),
            shared_jobs=(32, 64, 128),
            rounds_s=(360.0, 1440.0, 2880.0),
            hierarchy_seeds=2,
            entity_jobs=6,
        ),
        Size(
            name="full",
            cluster="v100=3x4,p100=3x4,k80=3x4",
            physical="v100=2x4,p100=4x4,k80=6x4",
            small="v100=1x4,p100=1x4,k80=1x4",
            durations="gandiva",
            seeds=3,
            warm=250,
            measured=250,
            trailing=900,
            single=(2.5, 3.3, 4.1),
            multiple=(1.2, 1.7, 2.2),
            physical_jobs=100,
            physical_measured=25,
            batches=(100, 200, 300),
            shared_batches=(100, 200),
            cost_jobs=500,
            jobs=(32, 128, 512, 2048),
            shared_jobs=(32, 128, 512),
            rounds_s=(360.0, 720.0, 1440.0, 2880.0),
            hierarchy_seeds=3,
            entity_jobs=6,
        ),
    )
}


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
) -> Scenario:
    """Jobs that keep arriving; per_hour: of a cluster with `gpus` GPUs, scaled to this one's."""
    made = generate(
        cluster,
        jobs,
        seed,
        arrivals="poisson",
        mean_gap_s=HOUR / (per_hour * gpus_of(cluster) / gpus),
        multi_gpu=multi_gpu,
        priority_share=priority_share,
        durations=durations,
        reference="v100",
    )
    return sharing(made)


def static(cluster: str, jobs: int, seed: int, *, multi_gpu: bool = True, durations: Durations = "gandiva") -> Scenario:
    """Jobs that are all there at the start."""
    return sharing(generate(cluster, jobs, seed, multi_gpu=multi_gpu, durations=durations, reference="v100"))


def gpus_of(cluster: str) -> int:
    """GPUs of a cluster written `v100=2x4,...`."""
    return sum(int(node.get("count", 1)) * int(node["gpus"]) for node in parse_cluster(cluster)["nodes"])
