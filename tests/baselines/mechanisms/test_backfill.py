"""EASY backfilling by hand, and against a slow simulation of its own by counts of GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench
from workbench import InputError, Run, Scenario, explain


def world(jobs: list[dict[str, Any]], nodes: list[dict[str, Any]] | None = None) -> Scenario:
    """Jobs that do a step a second on any number of GPUs; by default on one node of four."""
    nodes = nodes or [{"name": "n", "accelerator": "v100", "gpus": 4}]
    types = list(dict.fromkeys(node["accelerator"] for node in nodes))
    rows = [{"model": "m", "accelerator": t, "gpus": g, "steps_per_s": 1.0} for t in types for g in (1, 2, 3, 4, 6, 8)]
    spread = [{**row, "placement": "unconsolidated"} for row in rows if row["gpus"] > 1]
    made = [{"name": f"j{i}", "model": "m", **job} for i, job in enumerate(jobs)]
    cluster = {"accelerators": [{"name": t} for t in types], "nodes": nodes}
    return Scenario.from_dict({"cluster": cluster, "jobs": made, "throughputs": rows + spread})


def job(gpus: int, run_s: float, arrival_s: float = 0.0, limit_s: float | None = None) -> dict[str, Any]:
    given = {"gpus": gpus, "steps": run_s, "arrival_s": arrival_s}
    return given if limit_s is None else {**given, "attributes": {"limit_s": limit_s}}


def ran(scenario: Scenario, backfill: str = "limits") -> Run:
    return workbench.simulate(scenario, "fifo", backfill=backfill, round_s=0)


def starts(run: Run) -> list[float]:
    found: list[float] = run.jobs["first_start_s"].tolist()
    return found


def shadows(run: Run) -> list[tuple[float, str, float]]:
    told = run.signals[run.signals["signal"] == "shadow_s"]
    return list(zip(told["time_s"].tolist(), told["job"].tolist(), told["value"].tolist(), strict=True))


def test_who_ends_by_the_shadow_time_starts_and_who_does_not_waits() -> None:
    """j1 needs all four when j0 ends at 100 s: j2 (100 s) ends just then, j3 (10 s later) would delay it."""
    scenario = world([job(3, 100), job(4, 50), job(1, 110), job(1, 100)])
    assert starts(ran(scenario, "none")) == [0, 100, 150, 150]
    run = ran(scenario, "speeds")
    assert starts(run) == [0, 100, 150, 0]
    assert shadows(run)[0] == (0.0, "j1", 100.0)


def test_who_ends_later_may_have_the_extra_gpus_alone() -> None:
    """At 100 s three of four are free for j1, which wants two: one is extra, and j2 has it, so that j3 waits."""
    scenario = world([job(2, 100), job(3, 50), job(1, 500), job(1, 500)])
    assert starts(ran(scenario, "speeds")) == [0, 100, 0, 150]
    one_less = world([job(2, 100), job(4, 50), job(1, 500), job(1, 500)])
    assert starts(ran(one_less, "speeds")) == [0, 100, 150, 150]


def test_several_ends_make_the_shadow_time() -> None:
    """j2 wants four: three are free at 60 s when j1 ends (with the idle one), four at 100 s with j0."""
    run = ran(world([job(1, 100), job(2, 60), job(4, 10), job(1, 90), job(1, 110)]), "speeds")
    assert shadows(run)[0] == (0.0, "j2", 100.0)
    assert starts(run) == [0, 0, 100, 0, 110]


def test_a_limit_that_is_too_long_keeps_others_out_and_one_too_short_delays_the_first() -> None:
    long = world([job(3, 100, limit_s=100), job(4, 50, limit_s=50), job(1, 90, limit_s=200)])
    assert starts(ran(long)) == [0, 100, 150] and starts(ran(long, "speeds")) == [0, 100, 0]
    short = world([job(3, 100, limit_s=100), job(4, 50, limit_s=50), job(1, 300, limit_s=90)])
    assert starts(ran(short)) == [0, 300, 0] and starts(ran(short, "speeds")) == [0, 100, 150]


def test_who_runs_beyond_its_limit_may_end_at_any_time() -> None:
    """From 50 s on j0 is over its limit: j1's shadow time is now, and j2 that arrives at 60 s would delay it."""
    run = ran(world([job(3, 100, limit_s=50), job(4, 50, limit_s=50), job(1, 10, arrival_s=60, limit_s=10)]))
    assert starts(run) == [0, 100, 150]
    assert shadows(run) == [(0.0, "j1", 50.0), (60.0, "j1", 60.0)]


def test_gpus_held_before_the_scenario_began_count_towards_the_limit() -> None:
    before = {**job(3, 100, limit_s=150), "steps_done": 0, "attained_s": 240.0}
    assert shadows(ran(world([before, job(4, 50), job(1, 60)])))[0] == (0.0, "j1", 70.0)


def test_extra_gpus_are_looked_for_node_by_node() -> None:
    """j2 wants a whole node, and no gang may be spread: it is to have j0's at 60 s, on which j3 would be placed now.

    By counts one GPU is extra then, which is the other node's.
    """
    nodes = [{"name": "n", "accelerator": "v100", "gpus": 4, "count": 2}]
    data = world([job(3, 60), job(3, 100), job(4, 50), job(1, 1000)], nodes).to_dict()
    data["throughputs"] = [row | {"steps_per_s": 0.0} if row.get("placement") == "unconsolidated" else row
                           for row in data["throughputs"]]  # fmt: skip
    run = ran(Scenario.from_dict(data), "speeds")
    assert shadows(run)[0] == (0.0, "j2", 60.0) and starts(run) == [0, 0, 60, 60]


def test_the_first_job_is_promised_the_type_on_which_it_can_start_soonest() -> None:
    """K80s come free at 40 s and V100s at 100 s: j2 is to have K80s, so that j3 may stay on the V100 for long."""
    nodes = [{"name": "a", "accelerator": "v100", "gpus": 4}, {"name": "b", "accelerator": "k80", "gpus": 4}]
    run = ran(world([job(3, 100), job(3, 40), job(4, 10), job(1, 500), job(1, 500)], nodes), "speeds")
    assert shadows(run)[0] == (0.0, "j2", 40.0) and starts(run) == [0, 0, 40, 0, 50]


def test_who_comes_back_elsewhere_after_a_fault_is_expected_to_last_as_long_as_there() -> None:
    """At 50 s a fails and j1 ends: j0 starts anew on b, half as fast, until 250 s, and j3 is to have its GPUs then."""
    nodes = [{"name": "a", "accelerator": "v100", "gpus": 6}, {"name": "b", "accelerator": "k80", "gpus": 4}]
    data = world([job(4, 100), job(3, 25), job(4, 1000, 10), job(4, 50, 70)], nodes).to_dict()
    data["throughputs"] = [row | {"steps_per_s": 0.5 if row["accelerator"] == "k80" else 1.0}
                           for row in data["throughputs"]]  # fmt: skip
    data["core"] = {"faults": {"list": [{"node": "a-0", "from_s": 50.0, "to_s": 60.0}]}}
    assert shadows(ran(Scenario.from_dict(data), "speeds")) == [(10.0, "j2", 50.0), (70.0, "j3", 250.0)]


def test_a_waiting_job_is_told_whom_it_would_delay() -> None:
    run = ran(world([job(3, 100), job(4, 50), job(1, 110)]), "speeds")
    told = explain(run, "j2", 50.0).text()
    assert "j1 waits before it" in told and "expected to delay it" in told and "nobody passes" not in told


@pytest.mark.parametrize("knobs", [{"blocking": False}, {"heterogeneity_aware": False}, {"preset": "authors"}])
def test_what_it_cannot_go_with_is_refused(knobs: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="knob backfill"):
        workbench.simulate("preset:start_here", "fifo", backfill="speeds", **knobs)


@pytest.mark.parametrize("limit_s", [0, -1.0, "1h"])
def test_a_limit_is_a_number_of_seconds(limit_s: Any) -> None:
    scenario = world([{**job(1, 10), "attributes": {"limit_s": limit_s}}])
    with pytest.raises(InputError, match=r"job j0, attributes\.limit_s"):
        ran(scenario)
    assert starts(ran(scenario, "speeds")) == [0]


# Against a simulation of its own -------------------------------------------------------------------------------------


def slow(jobs: list[dict[str, Any]], total: int) -> list[float]:
    """Starts under EASY on so many GPUs, by counts alone; everything is worked out anew at every event."""
    start: dict[int, float] = {}
    times = sorted({each["arrival_s"] for each in jobs})
    now = -1.0
    while len(start) < len(jobs):
        ends = [start[i] + jobs[i]["steps"] for i in start]
        now = min(t for t in [*times, *ends] if t > now)
        while True:
            line = [i for i, each in enumerate(jobs) if each["arrival_s"] <= now and i not in start]
            runs = [i for i in start if start[i] + jobs[i]["steps"] > now]
            free = total - sum(jobs[i]["gpus"] for i in runs)
            found = next_start(jobs, line, runs, start, free, now)
            if found is None:
                break
            start[found] = now
    return [start[i] for i in range(len(jobs))]


def next_start(
    jobs: list[dict[str, Any]], line: list[int], runs: list[int], start: dict[int, float], free: int, now: float
) -> int | None:
    """Who starts now: the first if it fits, else the next that does not delay it. Ties of ends are one end."""
    if not line:
        return None
    head = line[0]
    if jobs[head]["gpus"] <= free:
        return head
    due = {i: max(start[i] + jobs[i]["attributes"]["limit_s"], now) for i in runs}
    shadow = min(
        t for t in due.values() if free + sum(jobs[i]["gpus"] for i in runs if due[i] <= t) >= jobs[head]["gpus"]
    )
    extra = free + sum(jobs[i]["gpus"] for i in runs if due[i] <= shadow) - jobs[head]["gpus"]
    for i in line[1:]:
        ends = now + jobs[i]["attributes"]["limit_s"]
        if jobs[i]["gpus"] <= free and (ends <= shadow or jobs[i]["gpus"] <= extra):
            return i
    return None


def drawn(seed: int, exact: bool) -> list[dict[str, Any]]:
    """Whole seconds, so that sums are exact; limits right, or from a half to three times the time."""
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.integers(0, 30, 25)).tolist()
    found = []
    for arrival_s in arrivals:
        run_s = float(rng.integers(1, 200))
        limit_s = run_s if exact else max(1.0, float(round(run_s * rng.choice([0.5, 1.0, 1.0, 1.5, 3.0]))))
        found.append(job(int(rng.choice([1, 1, 2, 3, 4, 6, 8])), run_s, float(arrival_s), limit_s))
    return found


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("nodes", [(8, 1), (2, 4)])
def test_it_starts_whom_a_slow_simulation_by_counts_starts(exact: bool, nodes: tuple[int, int]) -> None:
    gpus, count = nodes
    cluster = [{"name": "n", "accelerator": "v100", "gpus": gpus, "count": count}]
    better = 0
    for seed in range(15):
        jobs = drawn(seed, exact)
        run = ran(world(jobs, cluster))
        assert starts(run) == slow(jobs, gpus * count), seed
        better += run.jobs["finish_s"].sum() < ran(world(jobs, cluster), "none").jobs["finish_s"].sum()
        if exact:  # nobody is kept from the start that it was promised
            first = dict(zip(run.jobs["job"], starts(run), strict=True))
            assert all(first[name] <= shadow_s + 1e-9 for _, name, shadow_s in shadows(run))
    assert better > 7
