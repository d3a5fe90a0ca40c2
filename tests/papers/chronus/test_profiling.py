"""The profiler: its formula, its line and quotas by hand, its capacity, and what ends in it.

A gang that was profiled on fewer GPUs than it asks for, and then gets a lease.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import workbench
from tests.baselines.mechanisms.support import look, make
from tests.papers.chronus.test_scheduler import PAPER, cluster, job
from workbench.papers.chronus.algorithms import profiling
from workbench.papers.chronus.algorithms.clusters import NodesUp, pick, split
from workbench.papers.chronus.algorithms.profiling import Profiler, RunningProfile, WaitingProfile
from workbench.papers.chronus.scheduler import Chronus
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run


def settled(**given: Any) -> dict[str, Any]:
    return dict(Chronus().settle({**PAPER, **given}))


def starts(run: Any) -> list[float]:
    """When the jobs, in their order, were profiled first."""
    profiles = run.timeline[run.timeline["kind"] == "profile"]
    return profiles.groupby("job")["start_s"].min().reindex(run.jobs["job"]).tolist()


def test_the_time_of_an_iteration_on_n_nodes():
    """t_1 = 2 s, t_2 = 2.5 s: each doubling of the nodes costs another 0.5 s."""
    assert [profiling.iteration_s(2.0, 2.5, nodes) for nodes in (1, 2, 4, 8)] == [2.0, 2.5, 3.0, 3.5]


def table(gpus: int, rates: dict[int, float]) -> Scenario:
    return Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "t"}],
                "nodes": [{"name": "n", "accelerator": "t", "gpus": 2, "count": 8}],
            },
            "jobs": [{"name": "j0", "model": "m", "steps": 1000, "gpus": gpus}],
            "throughputs": [
                {"model": "m", "accelerator": "t", "gpus": size, "steps_per_s": rate} for size, rate in rates.items()
            ],
        }
    )


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        (4, 1.6),  # two nodes: measured as it is
        (8, 8 / 3.0),  # four nodes: t_1 = 2 / 1, t_2 = 4 / 1.6 = 2.5, t_4 = 3 s, in which 8 steps are done
        (16, 16 / 3.5),
    ],
)
def test_speeds_of_large_gangs_follow_from_one_and_two_nodes(gpus, expected):
    scenario = table(gpus, {2: 1.0, 4: 1.6, 8: 7.0, 16: 9.0})
    snapshot = look(scenario)
    measured = float(snapshot.speeds()[0, 0])
    found = profiling.estimated_speed(scenario.jobs[0], "t", measured, 2, snapshot.belief)
    assert found == pytest.approx(expected)


def test_without_speeds_on_one_and_two_nodes_the_gang_is_taken_as_it_is():
    scenario = table(8, {8: 7.0})
    assert profiling.estimated_speed(scenario.jobs[0], "t", 7.0, 2, look(scenario).belief) == 7.0


def test_noise_multiplies_the_runtime_and_never_turns_it_around():
    rng = np.random.default_rng(0)
    drawn = np.array([profiling.error_factor(settled(runtime_noise=0.4), rng) for _ in range(4000)])
    assert drawn.min() >= profiling.LEAST_FACTOR
    assert abs(drawn.mean() - 1) < 0.03 and abs(drawn.std() - 0.4) < 0.03
    assert profiling.error_factor(settled(), rng) == 1.0


def test_submission_control_holds_a_users_jobs_back_to_later_intervals():
    """8 GPUs each, 24 in an interval of 300 s: of five jobs of one user two wait for the next; the other's does not."""
    knobs = settled()
    mine = [WaitingProfile(f"j{number}", 0, 8, "u") for number in range(5)]
    line = Profiler((0,), (0,), (0,)).entered([*mine, WaitingProfile("k", 0, 8, "v")], 10.0, knobs)
    assert [one.job for one in line.line] == ["j0", "j1", "j2", "k"]
    assert [one.job for one in line.held] == ["j3", "j4"]
    assert line.next_s(10.0, knobs) == 300.0
    assert [one.job for one in line.entered([], 299.0, knobs).held] == ["j3", "j4"]
    assert [one.job for one in line.entered([], 300.0, knobs).line] == ["j0", "j1", "j2", "k", "j3", "j4"]
    free = Profiler((0,), (0,), (0,)).entered(mine, 10.0, settled(submission_gpus=None))
    assert not free.held


def test_a_job_larger_than_the_quota_is_let_in_alone():
    line = Profiler((0,), (0,), (0,)).entered(
        [WaitingProfile("a", 0, 32, "u"), WaitingProfile("b", 0, 1, "u")], 0.0, settled()
    )
    assert [one.job for one in line.line] == ["a"] and [one.job for one in line.held] == ["b"]


def test_the_capacity_is_lambda_times_t_profile():
    """90 GPUs asked for in an hour are 0.025 GPUs per second: 7.5 GPUs for 300 s, 0.75 for 30 s each."""
    new = [WaitingProfile(f"j{number}", 0, 1, "") for number in range(90)]
    asked = Profiler((0,), (0,), (0,)).entered(new, 0.0, settled())
    short = Profiler((0,), (0,), (0,)).entered(new, 0.0, settled(profile_gpu_s=30))
    assert short.wanted(3600.0, settled(profile_gpu_s=30)) == (1,)
    assert asked.wanted(3600.0, settled()) == (8,)
    assert asked.wanted(3600.0, settled(profile_headroom=2.0)) == (15,)
    assert not asked.is_due(3599.0, settled()) and asked.is_due(3600.0, settled())
    assert not asked.is_due(3600.0, settled(profile_gpus=5))


def test_a_fixed_profiling_cluster_is_shared_by_the_types():
    assert profiling.first_profiler([6, 2], settled(profile_gpus=5)).capacity == (4, 1)


def test_first_come_first_served_in_a_fixed_cluster():
    """Two GPUs for profiles: a and b together, then c, which needs both, then d, though it would fit before."""
    jobs = [job(1, 900), job(1, 900, 10.0), job(2, 900, 20.0), job(1, 900, 30.0)]
    run = run_loop(cluster(1, 8, jobs), Chronus(), {**PAPER, "profile_gpus": 2})
    assert starts(run) == [0.0, 10.0, 310.0, 610.0]


def test_short_jobs_end_in_the_profiler_and_make_room_at_once():
    jobs = [job(2, 100), job(2, 900, 10.0)]
    for progress in (True, False):
        run = run_loop(cluster(1, 8, jobs), Chronus(), {**PAPER, "profile_gpus": 2, "profile_progress": progress})
        assert run.jobs["finish_s"].iloc[0] == 100.0 and run.jobs["verdict"].tolist() == ["", "best_effort"]
        assert starts(run) == [0.0, 100.0]
        done_s = run.jobs["finish_s"].iloc[1]
        assert done_s == (600.0 + 600.0 if progress else 600.0 + 900.0)


@pytest.mark.parametrize(("deadline_s", "expected"), [(20_000.0, 2400.0), (4800.0, 3900.0)])
def test_the_profiling_cluster_grows_for_a_gang_in_line_where_promises_can_wait(deadline_s, expected):
    """Two jobs hold both nodes for three SLO leases from 1200 s on, and end at 3900 s; the third comes at 1300 s.

    It cannot be profiled until then, unless one of the others can do with later leases: then from the next boundary on.
    """
    jobs = [job(4, 3000, 0.0, [[deadline_s, 100.0]])] * 2 + [job(4, 900, 1300.0)]
    run = run_loop(cluster(2, 4, jobs), Chronus(), PAPER)
    assert run.jobs["verdict"].tolist() == ["guaranteed", "guaranteed", "best_effort"]
    assert starts(run) == [0.0, 0.0, expected]
    assert run.jobs["finish_s"].iloc[:2].max() <= deadline_s
    sizes = run.signals[run.signals["signal"] == "profiling_gpus"].groupby("time_s")["value"].first()[:3599.0]
    assert sizes[sizes > 1].to_dict() == ({0.0: 4.0, 2400.0: 4.0} if expected == 2400.0 else {0.0: 4.0})


def test_gangs_do_not_wait_for_hours_where_the_estimate_is_smaller_than_they_are():
    """The preset asks for a few GPUs on average and has gangs of 8: nobody waits for longer than two SLO leases."""
    run = run_loop(preset("chronus_example"), Chronus(), {"plan_by": "feasibility"})
    jobs = run.jobs
    assert (jobs["first_start_s"] - jobs["arrival_s"]).max() <= 2400.0


def test_a_profiling_cluster_that_is_enough_has_the_gang_on_one_node_or_on_two():
    nodes = NodesUp.of(look(make({"a": ("t", 8), "b": ("t", 8), "c": ("t", 2)}, [{}])))
    assert [nodes.enough(0, gpus) for gpus in (0, 1, 2, 3, 8, 10, 16, 17)] == [0, 2, 2, 10, 10, 10, 18, 0]
    one = NodesUp.of(look(make({"a": ("t", 8)}, [{}])))
    assert [one.enough(0, gpus) for gpus in (1, 3, 8, 9)] == [1, 3, 8, 0] and one.at_least(0, 3) == 3


def test_large_gangs_are_profiled_on_two_nodes():
    run = run_loop(cluster(4, 2, [job(8, 900)]), Chronus(), {})
    profile = run.timeline[run.timeline["kind"] == "profile"]
    assert len(profile) == 4 and profile["node"].nunique() == 2


def test_a_profile_that_a_fault_cuts_off_is_made_again():
    core = {"faults": {"list": [{"node": "n0-0", "from_s": 100.0, "to_s": 150.0}]}}
    run = run_loop(cluster(1, 2, [job(2, 900), job(1, 900, 400.0)], core=core), Chronus(), PAPER)
    first = run.timeline[(run.timeline["kind"] == "profile") & (run.timeline["job"] == "j0")]
    assert sorted(set(first["start_s"])) == [0.0, 300.0] and run.jobs["finish_s"].notna().all()


def test_the_profiling_cluster_is_the_last_gpus_and_nobody_else_gets_them():
    scenario = cluster(3, 4, [job(1, 10)])
    snapshot = look(scenario)
    nodes = NodesUp.of(snapshot)
    assert nodes.reserved(0, 6) == {"n2-0": 4, "n1-0": 2}
    free = split(snapshot, nodes, (6,), ())[0]
    assert free.own == {"n2-0": 4, "n1-0": 2}
    assert free.others == {"n0-0": 4, "n1-0": 2, "n2-0": 0}
    assert nodes.covering(0, {"n1-0": 1}) == 8 and nodes.covering(0, {"n0-0": 1}) == 9 and nodes.covering(0, {}) == 0
    assert nodes.could_hold(0, 4, (6,)) and not nodes.could_hold(0, 8, (6,)) and nodes.could_hold(0, 8, (8,))


def test_profiles_take_one_node_where_they_fit_on_one():
    assert pick({"a": 3, "b": 2}, 2, 4) == {"b": 2}
    assert pick({"a": 2, "b": 2}, 3, 4) is None
    assert pick({"a": 4, "b": 3, "c": 4}, 7, 4) == {"a": 4, "c": 3}
    assert pick({"a": 4, "b": 2}, 8, 4) is None


def test_who_is_done_is_known_and_who_lost_the_gpus_is_first_again():
    scenario = make({"a": ("t", 4)}, [{}, {}, {}])
    line = Profiler(
        (0,),
        (0,),
        (0,),
        running=tuple(
            RunningProfile(WaitingProfile(f"j{i}", 0, 1, ""), until_s, True)
            for i, until_s in enumerate((5.0, 20.0, 20.0))
        ),
        line=(WaitingProfile("k", 0, 1, ""),),
    )
    snapshot = look(scenario, 10.0, leases=[])
    later, known = line.at(snapshot)
    assert known == ("j0",) and [one.job for one in later.line] == ["j1", "j2", "k"] and not later.running
    assert math.isclose(line.next_s(4.0, settled()) or 0.0, 5.0)


SHORT = {"slo_lease_s": 40, "be_lease_s": 10, "profile_s": 10, "reserve_overhead": 5}


def test_a_gang_profiled_on_one_gpu_has_its_lease_on_all_that_it_asks_for() -> None:
    """It comes while the only node is down, waits to be profiled on one GPU, and is from 150 to 160 s.

    Its lease begins at 160 s, when the profile ends, on the same node: with both GPUs, not with the one of the profile.
    """
    spent = [(6.0, 1, 7.0), (6.0, 1, 7.0), (10.0, 1, 12.0), (20.0, 2, 12.0), (5.0, 1, 6.0)]
    jobs = [
        {"name": f"j{i}", "model": "m", "steps": steps, "gpus": gpus, "rewards": [[deadline_s, 100.0]]}
        for i, (steps, gpus, deadline_s) in enumerate(spent)
    ]
    late = {"name": "late", "model": "m", "steps": 80.0, "gpus": 2, "arrival_s": 40.0, "rewards": [[160.0, 100.0]]}
    speeds = [{"model": "m", "accelerator": "a", "gpus": n, "steps_per_s": float(n)} for n in (1, 2)]
    scenario = workbench.Scenario.from_dict(
        {
            "format": "workbench-scenario/1",
            "cluster": {
                "accelerators": [{"name": "a"}],
                "nodes": [{"name": "n", "accelerator": "a", "gpus": 2, "count": 1}],
            },
            "jobs": [*jobs, late],
            "throughputs": speeds,
            "scaling": {"law": "none"},
            "core": {
                "restart": {"restart_s": 0.0},
                "faults": {"list": [{"node": "n-0", "from_s": 15.0, "to_s": 130.0}]},
            },
        }
    )
    run = workbench.simulate(scenario, "chronus", SHORT)
    own = run.timeline[run.timeline["job"] == "late"]
    assert own.groupby("kind")["slot"].nunique().to_dict() == {"profile": 1, "run": 2}
    assert set(own.loc[own["kind"] == "run", "start_s"]) == {160.0}
    assert run.jobs["finish_s"].notna().all()


# --- The profiling cluster has whole nodes and holds the largest gang in line; profiles last as in the authors' code.


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
    run = run_loop(cluster(4, 8, [*long, *small, job(8, 900, 7201.0)]), Chronus(), {})
    assert sizes(run)[3600.0] == 8 and starts(run)[-1] == 7201.0


def test_the_cluster_is_never_smaller_than_the_largest_gang_in_line_needs() -> None:
    """A gang of 16 comes to a profiling cluster of one node: at the next SLO boundary there are two."""
    long = [job(8, 20_000), job(8, 20_000), job(8, 20_000)]
    small = [job(1, 20, 200.0 * k) for k in range(1, 36)]
    run = run_loop(cluster(4, 8, [*long, *small, job(16, 900, 7201.0)]), Chronus(), {"be_lease_s": 1200})
    told = sizes(run)
    assert told[7200.0] == 8 and told[8400.0] == 16 and starts(run)[-1] == 8400.0


@pytest.mark.parametrize(("gpus", "lasts_s"), [(1, 30.0), (2, 60.0), (4, 120.0), (8, 120.0), (16, 120.0)])
def test_a_profile_lasts_at_most_120_s_and_30_s_for_each_gpu(gpus: int, lasts_s: float) -> None:
    scenario = cluster(2, 8, [job(gpus, 900)])
    for knobs, expected in (({}, lasts_s), ({"profile_s": 300, "profile_gpu_s": None}, 300.0)):
        run = run_loop(scenario, Chronus(), knobs)
        first = run.timeline[run.timeline["kind"] == "profile"]
        assert set(first["start_s"]) == {0.0} and set(first["end_s"]) == {expected}


def test_profile_off_means_that_run_times_are_known() -> None:
    """Fifteen minutes that must be done after 20: a profile and its wait for a boundary would make it late."""
    scenario = cluster(1, 8, [job(8, 900, 0.0, [[1200.0, 100.0]])])
    run = run_loop(scenario, Chronus(), {"profile": "off"})
    assert set(run.timeline["kind"]) == {"run"} and run.jobs["verdict"].tolist() == ["guaranteed"]
    assert run_loop(scenario, Chronus(), {"profile": "on"}).jobs["verdict"].tolist() == ["best_effort"]
