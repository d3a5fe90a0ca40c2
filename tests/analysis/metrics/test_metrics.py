"""Measures of runs small enough to work out by hand, and what must hold for every run."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.simulation.support import with_tables
from workbench.analysis.metrics import (
    HEADLINE,
    METRICS,
    PER_JOB,
    as_json,
    check,
    metric,
    per_job,
    run_page,
    summary,
    table,
    throughput_over_time,
    warnings,
)
from workbench.analysis.metrics.jobs import Speeds
from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import convert
from workbench.scenario.traces.cluster_spec import parse_cluster
from workbench.scheduling.contract import Scheduler, Timing
from workbench.scheduling.decision import Assignment, Cause, Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run
from workbench.simulation.stop import Stop, Until, WindowFinished

FOREVER = math.inf
CARDS = {"accelerators": [{"name": "v100", "price_per_hour": 3.6}, {"name": "k80", "price_per_hour": 0.36}]}
NODE = {"name": "a", "accelerator": "v100", "gpus": 2}


class Scripted(Scheduler):
    """Decides what a script says at its times, and nothing at other completions and arrivals."""

    name = title = "scripted"

    def __init__(self, script: Mapping[float, Decision], causes: frozenset[Cause] = frozenset({"completion"})) -> None:
        self.script, self.causes = script, causes

    def timing(self, knobs: Mapping[str, Any]) -> Timing:
        return Timing(None, self.causes)

    def decide(
        self, snapshot: Snapshot, memory: Any, knobs: Mapping[str, Any], rng: np.random.Generator
    ) -> tuple[Decision, Any]:
        later = [time for time in self.script if time > snapshot.now_s]
        found = self.script.get(snapshot.now_s, Decision())
        return dataclasses.replace(found, next_s=min(later, default=None)), None


class Rounds(Scheduler):
    """Each round, shuffled jobs take nodes that have room; some jobs sit out at random. With `lazy`, FIFO that asks to
    be left out (`skip`) until something happens."""

    name = title = "rounds"

    def __init__(self, round_s: float, lazy: bool = False, skip: bool = True) -> None:
        self.round_s, self.lazy, self.skip = round_s, lazy, lazy and skip

    def settle(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"round_s": self.round_s}

    def timing(self, knobs: Mapping[str, Any]) -> Timing:
        return Timing(self.round_s)

    def decide(
        self, snapshot: Snapshot, memory: Any, knobs: Mapping[str, Any], rng: np.random.Generator
    ) -> tuple[Decision, Any]:
        free = dict(zip(snapshot.nodes.names, snapshot.nodes.free.tolist(), strict=True))
        fresh = []
        for job in [snapshot.jobs.jobs[i] for i in rng.permutation(len(snapshot.jobs))]:
            if job.name in snapshot.leases or (not self.lazy and rng.random() < 0.3):
                continue
            node = next((name for name, gpus in free.items() if gpus >= job.gpus), None)
            if node is not None:
                free[node] -= job.gpus
                until = FOREVER if self.lazy else snapshot.now_s + self.round_s
                fresh.append(Assignment(job.name, {node: job.gpus}, until))
        return Decision(tuple(fresh), next_s=FOREVER if self.skip else None), None


def scenario(jobs: list[dict[str, Any]], **rest: Any) -> Scenario:
    """Two V100s on node a-0 (1 USD per 1000 s), two K80s on b-0 (a tenth of it)."""
    data: dict[str, Any] = {
        "cluster": {**CARDS, "nodes": [NODE, {"name": "b", "accelerator": "k80", "gpus": 2}]},
        "jobs": jobs,
        "throughputs": [
            {"model": "m", "accelerator": "v100", "gpus": 1, "steps_per_s": 10},
            {"model": "m", "accelerator": "v100", "gpus": 2, "steps_per_s": 20},
            {"model": "m", "accelerator": "k80", "gpus": 1, "steps_per_s": 2},
            {"model": "m", "accelerator": "k80", "gpus": 2, "steps_per_s": 4},
            {"model": "fast_only", "accelerator": "v100", "gpus": 1, "steps_per_s": 10},
        ],
        "core": {"restart": {"restart_s": 10}},
    }
    return Scenario.from_dict({**data, **rest})


def job(name: str, steps: float, gpus: int = 1, **rest: Any) -> dict[str, Any]:
    return {"name": name, "model": "m", "steps": steps, "gpus": gpus, **rest}


def assign(*wanted: tuple[Any, dict[str, int], float], **rest: Any) -> Decision:
    return Decision(tuple(Assignment(unit, gpus, until) for unit, gpus, until in wanted), **rest)


def run_of(s: Scenario, script: Mapping[float, Decision], stop: Stop | None = None, **rest: Any) -> Run:
    run = run_loop(s, Scripted(script, **rest), stop=stop)
    assert check(run) == []
    return run


@pytest.fixture(scope="module")
def three() -> Run:
    """j0 runs 0-60 s, is suspended for j2 (60-70), comes back at 100, pays 10 s, ends at 150; j1 runs 0-500 on K80s."""
    jobs = [job("j0", 1000), job("j1", 2000, 2), job("j2", 100, arrival_s=50, weight=2.0)]
    script = {
        0: assign(("j0", {"a-0": 1}, 60), ("j1", {"b-0": 2}, FOREVER)),
        60: assign(("j2", {"a-0": 1}, FOREVER)),
        100: assign(("j0", {"a-0": 1}, FOREVER)),
    }
    return run_of(scenario(jobs), script)


def test_per_job(three: Run) -> None:
    found = per_job(three).set_index("job")
    expected = {
        "jct_s": [150, 500, 20],
        "first_start_s": [0, 0, 60],
        "wait_s": [40, 0, 10],
        # Half of the GPUs each: j0 1000 x (.5/10 + .5/2) = 300 s, j1 2000 x (.5/20 + .5/4) = 300 s, j2 30 s.
        "finish_time_fairness": [150 / 300, 500 / 300, 20 / 30],
        "latency_ratio": [40 / 300, 0, 10 / 30],
        "preemptions": [1, 0, 0],
        "restarts": [1, 0, 0],
        "moves": [0, 0, 0],
        "cost_usd": [0.110, 0.100, 0.010],
        "attained_s": [110, 1000, 10],
        "weight": [1, 1, 2],
        "gpus": [1, 2, 1],
    }
    for name, values in expected.items():
        assert found[name].tolist() == pytest.approx(values), name
    assert list(found.reset_index().columns) == PER_JOB.names


def test_summary(three: Run) -> None:
    found = summary(three)
    expected = {
        "mean_jct_s": 670 / 3,
        "median_jct_s": 150,
        "p99_jct_s": 150 + 0.98 * 350,
        "max_jct_s": 500,
        "makespan_s": 500,
        "utilisation": 1110 / 2000,
        "gru": 1110 / 2000,
        "cru": (110 + 500) / 1000,
        "allocated": 1120 / 2000,
        "steps_per_s": 3100 / 500,
        "normalised_throughput": (1000 / 10 + 2000 / 20 + 100 / 10) / 500,
        "fragments_gpus": (1 + 2) / 5,  # decisions at 0, 60, 70, 100, 150: j0 waits after 60 and 70
        "changed_rounds": 3 / 5,
        "rounds": 5,
        "decisions": 5,
        "jobs": 3,
        "jobs_finished": 3,
        "jobs_unfinished": 0,
        "jobs_refused": 0,
        "preemptions": 1,
        "restarts": 1,
        "moves": 0,
        "cost_usd": 0.22,
        "mean_first_start_s": 10 / 3,
        "mean_wait_s": 50 / 3,
        "median_wait_s": 10,
        "p95_wait_s": 10 + 0.9 * 30,
        "max_wait_s": 40,
        "max_finish_time_fairness": 5 / 3,
        "mean_latency_ratio": (40 / 300 + 1 / 3) / 3,
        "mean_attained_s": 1120 / 3,
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value), name
    assert found.mean_jct_by_class_s == {"1 GPU": 85, "2 GPUs": 500}
    assert not found.saturated and found.window is None


def test_over_time(three: Run) -> None:
    found = throughput_over_time(three)
    assert found["time_s"].tolist() == [0, 60, 70, 110, 150, 500]
    assert found["value"].tolist() == pytest.approx([1.2, 1.2, 0.2, 1.2, 0.2, 0])


def test_window_measures_these_jobs_only(three: Run) -> None:
    found = summary(three, window=(1, 2))
    assert found["mean_jct_s"] == 260 and found["jobs"] == found["jobs_finished"] == 2
    assert found["preemptions"] == 0 and found["cost_usd"] == pytest.approx(0.11)
    assert found["utilisation"] == summary(three)["utilisation"]
    assert found.mean_jct_by_class_s == {"1 GPU": 20, "2 GPUs": 500}
    assert summary(three, window=(0, 2))["mean_jct_s"] == summary(three)["mean_jct_s"]


def test_window_goes_by_arrival_not_by_position() -> None:
    jobs = [job("late", 10, arrival_s=5), job("early", 100)]
    run = run_of(scenario(jobs), {0: assign(("early", {"a-0": 1}, FOREVER)), 5: assign(("late", {"a-0": 1}, FOREVER))})
    assert summary(run, window=(0, 0))["mean_jct_s"] == 10
    assert summary(run, window=(1, 1))["mean_jct_s"] == 1


@pytest.mark.parametrize("window", [(-1, 1), (2, 1), (0, 3)])
def test_window_out_of_range(three: Run, window: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="last < 3"):
        summary(three, window=window)


def test_unfinished_jobs_are_missing_and_counted() -> None:
    jobs = [job("j0", 100), job("j1", 2000, 2), job("never", 1)]
    s = scenario(jobs)
    run = run_of(s, {0: assign(("j0", {"a-0": 1}, FOREVER), ("j1", {"b-0": 2}, FOREVER))}, Until(100))
    found = per_job(run).set_index("job")
    assert found["jct_s"].isna().tolist() == [False, True, True]
    assert found["first_start_s"].isna().tolist() == [False, False, True]
    assert found["wait_s"].tolist() == [0, 0, 100] and found["latency_ratio"].isna().tolist() == [False, True, True]
    assert found["cost_usd"].tolist() == pytest.approx([0.01, 0.02, 0])
    whole = summary(run)
    assert (whole["mean_wait_s"], whole["mean_first_start_s"]) == (pytest.approx(100 / 3), 0)
    assert whole["mean_jct_s"] == 10 and math.isnan(whole["makespan_s"])
    assert (whole["jobs_finished"], whole["jobs_unfinished"]) == (1, 2)
    assert whole["utilisation"] == pytest.approx((10 + 200) / 400) and not whole.saturated
    measured = summary(run, window=(0, 1))
    assert measured.saturated and math.isnan(measured["mean_jct_s"]) and math.isnan(measured["max_wait_s"])
    assert as_json(measured)["mean_jct_s"] is None and as_json(measured)["saturated"] is True
    assert set(table(measured).set_index("metric")["value"][["mean_jct_s", "max_latency_ratio"]]) == {"saturated"}
    assert not summary(run, window=(0, 0)).saturated


def test_steady_state_stop_leaves_the_window_finished() -> None:
    jobs = [job(f"j{i}", 100, arrival_s=20 * i) for i in range(6)]
    script = {20 * i: assign((f"j{i}", {"a-0": 1}, FOREVER)) for i in range(6)}
    run = run_of(scenario(jobs), script, WindowFinished(1, 3))
    found = summary(run, window=(1, 3))
    assert found["mean_jct_s"] == 10 and not found.saturated


def test_nothing_happened() -> None:
    run = run_of(scenario([]), {})
    found = summary(run)
    assert per_job(run).empty and found["jobs"] == found["rounds"] == 0
    assert {value for value in as_json(found).values() if isinstance(value, float)} <= {0.0}
    assert throughput_over_time(run).to_numpy().tolist() == [[0, 0]]
    said = table(found).set_index("metric")["value"]
    assert said["changed_rounds"] == "does not apply" and (said == "unknown").sum() == len(HEADLINE) - 5


def test_nobody_runs() -> None:
    run = run_of(scenario([job("j0", 100)]), {0: Decision(), 50: Decision()}, Until(40))
    found = summary(run)
    assert math.isnan(found["mean_jct_s"]) and found["utilisation"] == 0 and found["cost_usd"] == 0
    assert found["fragments_gpus"] == 4


def test_size_class_and_entity() -> None:
    jobs = [job("s", 100, size_class="S"), job("x", 200, size_class="XL"), job("none", 100, 2)]
    where = {0: assign(("s", {"a-0": 1}, FOREVER), ("x", {"a-0": 1}, FOREVER), ("none", {"b-0": 2}, FOREVER))}
    found = summary(run_of(scenario(jobs), where))
    assert found.mean_jct_by_class_s == {"S": 10, "XL": 20, "no class": 25}


def test_elastic_job_is_held_against_its_share_of_the_cluster() -> None:
    """4 GPUs; the elastic job has them all for 10 s, in the second half of which another one waits: n = 1.5."""
    s = scenario(
        [job("e", 300, 4, gpu_choices=[1, 2, 4]), job("f", 50, arrival_s=5)],
        cluster={
            "accelerators": [{"name": "v100"}],
            "nodes": [{"name": "a", "accelerator": "v100", "gpus": 4}],
        },
        throughputs=[
            {"model": "m", "accelerator": "v100", "gpus": n, "steps_per_s": v} for n, v in [(1, 10), (2, 18), (4, 30)]
        ],
    )
    run = run_of(s, {0: assign(("e", {"a-0": 4}, FOREVER)), 10: assign(("f", {"a-0": 1}, FOREVER))})
    life = per_job(run)
    assert life["finish_time_fairness"].tolist() == pytest.approx([10 / (300 / 18), 10 / 5])  # 4/1.5 GPUs: a gang of 2
    # Hops (9): 30/4 steps/s per GPU x the mean size 7/3
    assert life["latency_ratio"].tolist() == pytest.approx([0, 5 / 5])
    assert np.isnan(summary(run)["cost_usd"]) and as_json(summary(run))["cost_usd"] is None  # no price given


def test_types_without_a_speed_are_left_out() -> None:
    s = scenario([{"name": "j", "model": "fast_only", "steps": 100, "arrival_s": 0}])
    run = run_of(s, {0: Decision(), 30: assign(("j", {"a-0": 1}, FOREVER))})
    found = per_job(run)
    assert found["finish_time_fairness"].tolist() == [40 / 10]
    assert found["latency_ratio"].tolist() == [30 / 10]


def test_progress_before_the_scenario_counts_for_nothing() -> None:
    s = scenario([job("j", 1000, steps_done=900, attained_s=45)])
    run = run_of(s, {0: assign(("j", {"a-0": 1}, FOREVER))})
    found = per_job(run)
    assert found["finish_time_fairness"].tolist() == pytest.approx([10 / (100 * 0.3)])
    assert found["attained_s"].tolist() == [55] and found["cost_usd"].tolist() == pytest.approx([0.01])


@pytest.fixture(scope="module")
def pair() -> Run:
    """x and y share one V100 for 20 s, at 8 and 5 steps/s; then y goes on alone at 10."""
    rows = [{"model": "m", "with_model": "fast_only", "accelerator": "v100", "steps_per_s": 8, "with_steps_per_s": 5}]
    jobs = [job("x", 160), {"name": "y", "model": "fast_only", "steps": 200}]
    s = scenario(jobs, colocated=rows, core={"space_sharing": True})
    return run_of(s, {0: assign((("x", "y"), {"a-0": 1}, FOREVER))})


def test_a_pair_shares_its_cost_and_its_slot(pair: Run) -> None:
    found = per_job(pair).set_index("job")
    assert found["jct_s"].tolist() == [20, 30]
    assert found["cost_usd"].tolist() == pytest.approx([0.010, 0.020])
    assert found["attained_s"].tolist() == [20, 30]
    whole = summary(pair)
    assert whole["utilisation"] == pytest.approx(30 / (4 * 30))
    assert whole["cost_usd"] == pytest.approx(0.03)
    assert throughput_over_time(pair)["value"].tolist() == pytest.approx([1.3, 1.0, 0.0])


def test_copies_of_a_job_count_once() -> None:
    """Two copies, 100 and 10 steps of 110: 10 s and 5 s, then the second one holds its node until the first ends."""
    gpus = (({"a-0": 1}, 100), ({"b-0": 1}, 10))
    decision = Decision(tuple(Assignment(("j", i), on, 20, steps=steps) for i, (on, steps) in enumerate(gpus)))
    run = run_of(scenario([job("j", 110)]), {0: decision})
    found = summary(run)
    assert found["cru"] == pytest.approx((10 + 5) / 20) and found["allocated"] == pytest.approx((10 + 10) / 40)


def test_refused_jobs_are_neither_finished_nor_unfinished() -> None:
    s = scenario([job("in", 100), job("out", 100)])
    run = run_of(s, {0: assign(("in", {"a-0": 1}, FOREVER)), 5: Decision(verdicts={"out": "refused"})})
    found = summary(run, window=(0, 1))
    assert (found["jobs_finished"], found["jobs_refused"], found["jobs_unfinished"]) == (1, 1, 0)
    assert found["makespan_s"] == found["mean_jct_s"] == 10 and not found.saturated


def test_lost_steps_and_downtime() -> None:
    outage = [{"node": "a-0", "from_s": 5, "to_s": 30}]
    s = scenario([job("j", 100)], core={"faults": {"list": outage}, "restart": {"restart_s": 0}})
    run = run_of(s, {0: assign(("j", {"a-0": 1}, FOREVER)), 40: assign(("j", {"a-0": 1}, FOREVER))})
    found = summary(run)
    assert found["makespan_s"] == 50 and found["utilisation"] == pytest.approx(15 / 200)
    assert found["steps_per_s"] == pytest.approx(150 / 50)  # 50 of them lost
    assert per_job(run)["wait_s"].tolist() == [35] and found["preemptions"] == 1


def test_first_arrival_later_than_zero() -> None:
    """Gavel's utilisation and makespan count from 0, Hadar's ratios from the first arrival."""
    run = run_of(scenario([job("j", 100, arrival_s=30)]), {30: assign(("j", {"a-0": 1}, FOREVER))})
    found = summary(run)
    assert found["makespan_s"] == 40 and found["utilisation"] == pytest.approx(10 / 160)
    assert found["gru"] == pytest.approx(1 / 4) and found["cru"] == pytest.approx(1 / 2)


def test_rounds_left_out_count_as_rounds() -> None:
    """Gangs of 2 on 3 GPUs, 45 s each, rounds of 10 s: 0-45, 50-95, 100-145. Asking each time changes no measure."""
    s = scenario([job(f"j{i}", 900, 2) for i in range(3)], cluster={**CARDS, "nodes": [NODE | {"gpus": 3}]})
    lazy, eager = (summary(run_loop(s, Rounds(10.0, lazy=True, skip=skip))) for skip in (True, False))
    assert lazy["makespan_s"] == 145 and lazy["rounds"] == 15
    assert lazy["fragments_gpus"] == pytest.approx(10 / 15) and lazy["changed_rounds"] == pytest.approx(3 / 15)
    assert (lazy["decisions"], eager["decisions"]) == (3, 15)
    assert {**lazy, "decisions": 15, "cost_usd": 0} == {**eager, "cost_usd": 0}


def test_an_empty_cluster_has_no_rounds() -> None:
    jobs = [job("j0", 200, 2), job("j1", 200, 2, arrival_s=1000)]
    run = run_loop(scenario(jobs, cluster={**CARDS, "nodes": [NODE]}), Rounds(4.0, lazy=True))
    assert summary(run)["decisions"] == 2 and summary(run)["rounds"] == 6  # 0, 4, 8 and 1000, 1004, 1008


def test_json_and_table(three: Run) -> None:
    found = as_json(summary(three))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [*found] == [*(m.name for m in METRICS), "mean_jct_by_class_s", "window", "saturated", "warnings", "decided"]
    assert found["jobs_finished"] == 3 and isinstance(found["jobs_finished"], int)
    short = table(summary(three)).set_index("metric")
    assert short.loc["mean_jct_s"].tolist() == ["Mean JCT", "3 min 43 s", ""]
    assert short.loc["utilisation"].tolist() == ["Utilisation", "55.5", "%"]
    assert short.loc["cost_usd"].tolist() == ["Cost", "0.22", "USD"]
    assert short.loc["jobs_finished"].tolist() == ["Jobs finished", "3", ""]
    assert table(summary(three), [m.name for m in METRICS])["metric"].tolist() == [m.name for m in METRICS]


def test_metrics_are_declared_once_and_with_units() -> None:
    names = [m.name for m in METRICS]
    assert len(set(names)) == len(names) and set(HEADLINE) <= set(names)
    for m in METRICS:
        assert m.label and m.definition and m.unit and m.source and m.better in ("lower", "higher", "")
        endings = {"_s": "s", "_usd": "USD", "_gpus": "GPUs"}
        for ending, unit in endings.items():
            if m.name.endswith(ending) and "attained" not in m.name and "per_s" not in m.name:
                assert m.unit in (unit, f"{unit} x weight"), m.name
    assert metric("mean_jct_s").unit == "s"


CLUSTER = st.lists(st.tuples(st.sampled_from(["v100", "k80"]), st.integers(1, 3)), min_size=1, max_size=4)
JOBS = st.lists(
    st.tuples(st.integers(1, 900), st.integers(1, 2), st.integers(0, 300), st.sampled_from(["", "S", "L"])), max_size=8
)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    nodes = [("v100", 2), *draw(CLUSTER)]
    wanted = draw(JOBS)
    jobs = [
        job(f"j{i}", steps, gpus, arrival_s=arrival, size_class=size or None)
        for i, (steps, gpus, arrival, size) in enumerate(wanted)
    ]
    s = scenario(
        jobs,
        cluster={
            **CARDS,
            "nodes": [{"name": f"n{i}", "accelerator": t, "gpus": g} for i, (t, g) in enumerate(nodes)],
        },
        core={
            "restart": {"restart_s": draw(st.sampled_from([0, 7]))},
            "checkpoint_s": draw(st.sampled_from([None, 20])),
            "faults": {"list": [{"node": "n0-0", "from_s": 25, "to_s": 61.5}]} if draw(st.booleans()) else {},
        },
    )
    stop = Until(draw(st.integers(1, 400))) if draw(st.booleans()) else None
    return run_loop(s, Rounds(draw(st.sampled_from([10.0, 33.3]))), seed=draw(st.integers(0, 9)), stop=stop)


def integral(time_s: np.ndarray, value: np.ndarray) -> float:
    return float((np.diff(time_s) * value[:-1]).sum())


@given(runs())
def test_every_run(run: Run) -> None:
    assert check(run) == []
    found, jobs = summary(run), per_job(run)
    for name in ("utilisation", "gru", "cru", "allocated", "changed_rounds"):
        assert math.isnan(found[name]) or -1e-9 <= found[name] <= 1 + 1e-9, name
    assert not found["allocated"] < found["gru"] - 1e-9
    assert found["jobs"] == found["jobs_finished"] + found["jobs_unfinished"]
    assert jobs["cost_usd"].sum() == pytest.approx(found["cost_usd"])
    finished = jobs[jobs["finish_s"].notna()]
    assert (finished["wait_s"] >= finished["first_start_s"] - finished["arrival_s"] - 1e-6).all()
    assert (finished["jct_s"] > finished["wait_s"]).all()
    ran = run.timeline[run.timeline["kind"] == "run"]
    flow = throughput_over_time(run)
    fastest = dict(zip(run.jobs["job"], Speeds(run.scenario).fastest(), strict=True))
    done = (ran["steps"] / ran["job"].map(fastest)).sum()
    assert integral(flow["time_s"].to_numpy(), flow["value"].to_numpy()) == pytest.approx(done, abs=1e-6)
    as_json(found)


@given(runs(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(run: Run, random: Any) -> None:
    order = list(range(len(run.timeline)))
    random.shuffle(order)
    other = with_tables(run, timeline=run.timeline.iloc[order].reset_index(drop=True))
    assert check(other) == []
    a, b = summary(run), summary(other)
    assert {k: v for k, v in a.items() if v == v} == pytest.approx({k: v for k, v in b.items() if v == v})


@pytest.mark.parametrize(("trace", "cluster"), [("gt_n120_l0_s0", "12:12:12"), ("minimize_makespan", "8:16:24")])
def test_gavels_definitions(shared: Path, trace: str, cluster: str) -> None:
    """The authors' own numbers for the same schedule (their heterogeneity-aware FIFO), measured our way."""
    runs = json.loads((shared / "cases" / "gavel" / "runs.json").read_text())["runs"]
    theirs = next(r for r in runs if (r["trace"], r["policy"]) == (f"{trace}.trace", "fifo_perf"))
    assert theirs["cluster"] == cluster
    spec = ",".join(f"{t}={n}x1" for t, n in zip(("v100", "p100", "k80"), cluster.split(":"), strict=True))
    folder = shared / "data" / "gavel"
    s, _ = convert("gavel", folder / f"{trace}.trace", folder / "simulation_throughputs.json", parse_cluster(spec))
    run = run_loop(s, find_scheduler("fifo"), {"preset": "authors", "heterogeneity_aware": True})
    assert check(run) == []
    found, names = summary(run), ("mean_jct_s", "median_jct_s", "p99_jct_s", "makespan_s", "utilisation")
    keys = ("avg_jct_s", "median_jct_s", "p99_jct_s", "end_time_s", "utilization")
    assert [found[name] for name in names] == pytest.approx([theirs[key] for key in keys], rel=1e-6)


def test_a_saved_run_measures_the_same(three: Run, tmp_path: Path) -> None:
    three.save(tmp_path / "run")
    back = Run.load(tmp_path / "run")
    assert summary(back) == summary(three) and check(back) == []
    pd.testing.assert_frame_equal(per_job(back), per_job(three))


def test_slo_violations_by_hand() -> None:
    """The SLO is the last deadline with a reward above 0; what is unfinished violates it once it is over."""
    jobs = [
        job("in time", 200, 2, rewards=[[1e5, 1.0]]),
        job("late", 200, 2, rewards=[[1.0, 1.0], [1e5, 0.0]]),
        job("soft", 200, 2, rewards=[[1.0, 5.0], [1e5, 1.0]]),
        job("best effort", 200, 2),
    ]
    cluster = {**CARDS, "nodes": [NODE]}
    run = run_loop(scenario(jobs, cluster=cluster), Rounds(4.0, lazy=True))
    found = summary(run)
    assert (found["slo_violations"], found["slo_violation_rate"]) == (1, pytest.approx(1 / 3))
    assert {"slo_violations", "slo_violation_rate"} <= set(table(found)["metric"])
    assert math.isnan(summary(run, (3, 3))["slo_violations"])
    # Stopped while nobody is done: the one whose deadline is over, not those with time left.
    cut = summary(run_loop(scenario(jobs, cluster=cluster), Rounds(4.0, lazy=True), stop=Until(5.0)))
    assert cut["jobs_finished"] == 0 and cut["slo_violations"] == 1
    none = summary(run_loop(scenario(jobs[3:], cluster=cluster), Rounds(4.0, lazy=True)))
    assert math.isnan(none["slo_violation_rate"]) and "SLO violations" not in set(table(none)["label"])


def test_warnings_and_notes_stand_where_a_run_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Escaped, and without an influence on what the run is."""
    scenario = workbench.preset("start_here")
    noted = scenario.replace(notes=("from <b>a log</b>",))
    assert noted.key() == scenario.key() and Scenario.from_json(noted.to_json()) == noted
    run = workbench.simulate(noted, "fifo")
    assert summary(run).warnings == ()
    monkeypatch.setattr(warnings, "strayed", lambda run: (f"{run.scheduler} <i>",))
    found = summary(run)
    assert found.warnings == ("fifo <i>",) and as_json(found)["warnings"] == ["fifo <i>"]
    page = run_page(run)
    assert "<p>Warning: fifo &lt;i&gt;</p><p>Note: from &lt;b&gt;a log&lt;/b&gt;</p>" in page
