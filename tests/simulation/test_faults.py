"""Faults: what is drawn against theory, and what a failure takes, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.simulation.support import check, events, greedy, make, row
from workbench.analysis.metrics.summary import summary
from workbench.scenario.scenario import Scenario
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop
from workbench.simulation.nodes import NodeChanges
from workbench.simulation.run import Run

MTBF_S, MTTR_S = 1000.0, 250.0


def drawn(nodes: int, **faults: Any) -> Scenario:
    """Nodes of one GPU each that fail on average every MTBF_S."""
    found = {"mtbf_s": MTBF_S, "mttr_s": MTTR_S, **faults}
    return make([{"steps": 1.0}], {f"n{i}": 1 for i in range(nodes)}, core={"faults": found})


def outages(scenario: Scenario, until_s: float, seed: int = 0) -> dict[int, list[tuple[float, bool]]]:
    """Of each node the changes of its state up to a time: when, and whether it is up then."""
    found: dict[int, list[tuple[float, bool]]] = {i: [] for i in range(len(scenario.cluster.each_node))}
    for change in NodeChanges(scenario, seed).until(until_s):
        found[change.node].append((change.time_s, change.up))
    return found


def lengths(changes: list[tuple[float, bool]], up: bool) -> list[float]:
    """How long a node was up, or down, each time; it is up at 0."""
    times, states = [0.0, *(time_s for time_s, _ in changes)], [True, *(state for _, state in changes)]
    return [after - before for before, after, state in zip(times, times[1:], states, strict=False) if state == up]


def test_times_between_failures_and_of_repair_are_exponential_with_the_means_given() -> None:
    """The mean of n draws is within 4 sigma / sqrt(n), and their distribution function is near 1 - exp(-t / mean)."""
    found = outages(drawn(20), 400_000.0)
    for up, mean_s in ((True, MTBF_S), (False, MTTR_S)):
        seconds = np.sort(np.concatenate([lengths(changes, up) for changes in found.values()]))
        count = len(seconds)
        assert count > 5000
        assert abs(seconds.mean() - mean_s) < 4 * mean_s / math.sqrt(count)
        furthest = np.abs(np.arange(1, count + 1) / count - (1 - np.exp(-seconds / mean_s))).max()
        assert furthest < 1.95 / math.sqrt(count)  # Kolmogorov and Smirnov at 0.1 %


def test_availability_is_mtbf_over_mtbf_and_mttr() -> None:
    """A run's share of time up, as measured from its timeline; the standard error here is about 0.005."""
    scenario = drawn(10).replace(jobs=[{"name": "j", "model": "m", "arrival_s": 400_000.0, "steps": 1.0}])
    run = run_loop(scenario, greedy())
    check(run)
    assert summary(run)["availability"] == pytest.approx(MTBF_S / (MTBF_S + MTTR_S), abs=0.02)


def test_a_node_more_leaves_the_outages_of_the_others_alone_and_another_seed_does_not() -> None:
    few, more = outages(drawn(2), 50_000.0), outages(drawn(3), 50_000.0)
    assert few == {node: more[node] for node in few} and more[2]
    assert outages(drawn(2), 50_000.0, seed=1) != few


def test_a_node_that_comes_before_others_leaves_their_outages_alone() -> None:
    core = {"faults": {"mtbf_s": MTBF_S, "mttr_s": MTTR_S}}
    both = outages(make([{"steps": 1.0}], {"more": 1, "other": 1}, core=core), 20_000.0, seed=3)
    alone = outages(make([{"steps": 1.0}], {"other": 1}, core=core), 20_000.0, seed=3)
    assert both[1] == alone[0] != both[0]


def test_a_node_is_down_while_any_of_its_outages_lasts() -> None:
    listed = [{"node": "n-0", "from_s": 10.0, "to_s": 30.0}, {"node": "n-0", "from_s": 20.0, "to_s": 50.0}]
    listed += [{"node": "n-0", "from_s": 50.0, "to_s": 60.0}]
    found = outages(make([{"steps": 1.0}], core={"faults": {"list": listed}}), 100.0)[0]
    assert [change for change in found if change[0] not in (50.0,)] == [(10.0, False), (60.0, True)]


@pytest.mark.parametrize(
    ("checkpoint_s", "lost", "finish_s"),
    [
        (None, 70.0, 210.0),  # from 110 s all 100 steps again
        (30.0, 10.0, 150.0),  # the checkpoint of 60 s: 40 are left
        (70.0, 0.0, 140.0),
        (71.0, 70.0, 210.0),
        (1e-308, 0.0, 140.0),  # more checkpoints than a float can count
    ],
)
def test_a_failure_takes_the_steps_since_the_last_checkpoint(
    checkpoint_s: float | None, lost: float, finish_s: float
) -> None:
    """100 steps at 1 step/s on the only GPU, which is away from 70 s to 110 s."""
    faults = {"list": [{"node": "n-0", "from_s": 70.0, "to_s": 110.0}]}
    scenario = make([{"steps": 100.0}], core={"faults": faults, "checkpoint_s": checkpoint_s})
    run = run_loop(scenario, greedy(causes=("arrival", "completion", "repair")))
    check(run)
    found = row(run, "j0")
    assert (found.steps_lost, found.finish_s) == (lost, finish_s)
    measured = summary(run)
    assert measured["lost_work"] == pytest.approx(lost / (100.0 + lost))
    assert measured["availability"] == pytest.approx(1 - 40.0 / finish_s)
    assert math.isnan(summary(run_loop(make([{"steps": 1.0}]), greedy()))["availability"])


@pytest.mark.parametrize("name", ["fifo", "srtf", "las", "gavel.max_min_fairness", "tiresias"])
def test_a_scheduler_in_rounds_is_told_at_the_next_one_and_uses_no_node_that_is_down(name: str) -> None:
    """Node a fails at 100 s and is back at 500 s: the round at 120 s moves its job to b; nobody is on a till 500."""
    faults = {"list": [{"node": "a-0", "from_s": 100.0, "to_s": 500.0}]}
    scenario = make([{"steps": 1000.0}], {"a": 1, "b": 1}, core={"faults": faults, "checkpoint_s": 10.0})
    run: Run = run_loop(scenario, find_scheduler(name), {"round_s": 60.0})
    check(run)
    held = run.timeline[run.timeline.kind == "run"]
    assert not ((held.node == "a-0") & (held.end_s > 100.0) & (held.start_s < 500.0)).any()
    assert held[held.start_s >= 100.0].start_s.min() == 120.0
    assert (100.0, "fault") in events(run) and (500.0, "repair") in events(run)
    down = run.timeline[run.timeline.kind == "down"]
    assert down[["node", "start_s", "end_s"]].values.tolist() == [["a-0", 100.0, 500.0]]
