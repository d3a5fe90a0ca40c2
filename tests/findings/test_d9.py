"""The profiling cluster has whole nodes and holds the largest gang in line; profiles last as in the authors' code."""

from __future__ import annotations

import pytest

from tests.baselines.mechanisms.support import look
from tests.papers.chronus.test_profiling import starts
from tests.papers.chronus.test_scheduler import cluster, job
from workbench.papers.chronus.algorithms.clusters import NodesUp
from workbench.papers.chronus.scheduler import Chronus
from workbench.simulation.loop import simulate
from workbench.simulation.run import Run


def sizes(run: Run) -> dict[float, float]:
    """The GPUs of the profiling cluster, at each time at which they were told."""
    told = run.signals[run.signals["signal"] == "profiling_gpus"]
    return dict(told.groupby("time_s")["value"].first().items())


@pytest.mark.parametrize(
    ("gpus", "expected"), [(0, 0), (1, 8), (5, 8), (6, 8), (8, 8), (9, 16), (16, 16), (17, 24), (99, 24)]
)
def test_the_bound_is_rounded_up_to_whole_nodes_and_one_is_left(gpus: int, expected: int) -> None:
    nodes = NodesUp.of(look(cluster(4, 8, [job(1, 10)])))
    assert nodes.at_least(0, gpus) == expected


def test_an_estimate_of_a_few_gpus_is_a_whole_node_and_a_gang_of_8_does_not_wait_for_it() -> None:
    """One GPU asked for every 200 s, 30 s each: 0.15 GPUs. Spot jobs hold all else when the gang of 8 comes."""
    long = [job(8, 20_000), job(8, 20_000), job(8, 20_000)]
    small = [job(1, 20, 200.0 * k) for k in range(1, 36)]
    run = simulate(cluster(4, 8, [*long, *small, job(8, 900, 7201.0)]), Chronus(), {})
    assert sizes(run)[3600.0] == 8 and starts(run)[-1] == 7201.0


def test_the_cluster_is_never_smaller_than_the_largest_gang_in_line_needs() -> None:
    """A gang of 16 comes to a profiling cluster of one node: at the next SLO boundary there are two."""
    long = [job(8, 20_000), job(8, 20_000), job(8, 20_000)]
    small = [job(1, 20, 200.0 * k) for k in range(1, 36)]
    run = simulate(cluster(4, 8, [*long, *small, job(16, 900, 7201.0)]), Chronus(), {"be_lease_s": 1200})
    told = sizes(run)
    assert told[7200.0] == 8 and told[8400.0] == 16 and starts(run)[-1] == 8400.0


@pytest.mark.parametrize(("gpus", "lasts_s"), [(1, 30.0), (2, 60.0), (4, 120.0), (8, 120.0), (16, 120.0)])
def test_a_profile_lasts_at_most_120_s_and_30_s_for_each_gpu(gpus: int, lasts_s: float) -> None:
    scenario = cluster(2, 8, [job(gpus, 900)])
    for knobs, expected in (({}, lasts_s), ({"profile_s": 300, "profile_gpu_s": None}, 300.0)):
        run = simulate(scenario, Chronus(), knobs)
        first = run.timeline[run.timeline["kind"] == "profile"]
        assert set(first["start_s"]) == {0.0} and set(first["end_s"]) == {expected}


def test_profile_off_means_that_run_times_are_known() -> None:
    """Fifteen minutes that must be done after 20: a profile and its wait for a boundary would make it late."""
    scenario = cluster(1, 8, [job(8, 900, 0.0, [[1200.0, 100.0]])])
    run = simulate(scenario, Chronus(), {"profile": "off"})
    assert set(run.timeline["kind"]) == {"run"} and run.jobs["verdict"].tolist() == ["guaranteed"]
    assert simulate(scenario, Chronus(), {"profile": "on"}).jobs["verdict"].tolist() == ["best_effort"]
