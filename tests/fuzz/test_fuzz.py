"""Random worlds under every scheduler: each run keeps every rule, or ends in a stated failure. Never anything else.

`WORKBENCH_FUZZ_WORLDS` sets how many worlds the long test has (default 1000); `tests/fuzz/tally.py` says more of them.
"""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

import numpy as np
import pytest

from tests.fuzz import explanations, measuring
from tests.fuzz.measuring import check_numbers
from tests.fuzz.trials import built_in, check_run, random_value, trial
from tests.fuzz.worlds import world
from tests.simulation.support import with_tables
from workbench.analysis.explanation import Competitor, Explanation, explain
from workbench.analysis.metrics.summary import Summary, summary
from workbench.scenario.scenario import Scenario
from workbench.scheduling.knob import Knob
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run

QUICK = 516
"""The world of the quick test; something was found in it once, as in others of the long one."""
BLOCK = 10
BLOCKS = range(int(os.environ.get("WORKBENCH_FUZZ_WORLDS", "1000")) // BLOCK)


def broken(*numbers: int) -> list[str]:
    """What is wrong with the runs of some worlds under every scheduler."""
    found = (trial(number, name) for number in numbers for name in built_in())
    return [f"world {bug.world}, {bug.scheduler} {dict(bug.knobs)}: {bug.text}" for bug in found if bug.kind == "bug"]


def test_every_scheduler_keeps_the_rules_or_says_why_not() -> None:
    assert broken(QUICK) == []


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (1006, "gavel.water_filling"),
        (70, "genie"),
        (127, "gavel.makespan"),
        (227, "gavel.makespan"),
        (587, "gavel.min_cost_slo"),
        (324, "chronus"),
        (666, "yarn_cs"),
        (686, "gavel.min_cost_slo"),
        (1031, "gavel.makespan"),
        (1037, "gavel.min_cost_slo"),
    ],
)
def test_a_run_in_which_something_was_found_once(number: int, name: str) -> None:
    found = trial(number, name)
    assert found.kind in ("finished", "cut"), found.text


@pytest.mark.long
@pytest.mark.parametrize("block", BLOCKS)
def test_every_scheduler_keeps_the_rules_in_many_worlds(block: int) -> None:
    assert broken(*range(BLOCK * block, BLOCK * (block + 1))) == []


def test_worlds_have_all_that_a_scenario_may_have() -> None:
    worlds = [world(number) for number in range(200)]
    jobs = [job for made in worlds for job in made.jobs]
    assert any(job.gpu_choices for job in jobs) and any(job.tasks_per_round for job in jobs)
    assert any(job.rewards and len(job.rewards) > 1 for job in jobs) and any(job.steps_done for job in jobs)
    assert any(job.entity for job in jobs) and len({job.weight for job in jobs}) > 2
    assert any(made.running for made in worlds) and any(made.colocated for made in worlds)
    assert any(made.core.faults.list for made in worlds) and any(made.core.faults.mtbf_s for made in worlds)
    assert any(made.core.restart.law == "log2" for made in worlds) and any(made.core.checkpoint_s for made in worlds)
    assert any(row.nodes for made in worlds for row in made.throughputs)
    assert any(row.steps_per_s == 0 for made in worlds for row in made.throughputs)
    assert world(7) == world(7) != world(8)


def some_run() -> Run:
    """A run with faults under a scheduler that moves jobs."""
    number = next(n for n in range(100) if world(n).core.faults.mtbf_s and len(world(n).jobs) > 4)
    return run_loop(world(number), find_scheduler("srtf"))


def test_the_check_finds_a_run_that_breaks_a_rule() -> None:
    """A whole run passes; with steps added, an interval on a busy slot, or an outage gone it does not."""
    run = some_run()
    check_run(run)
    ran = run.timeline.index[run.timeline["kind"] == "run"][0]
    down = run.timeline.index[run.timeline["kind"] == "down"]
    assert len(down)
    for column, value in (("steps", 1e6), ("end_s", run.end_s * 2), ("node", "elsewhere")):
        wrong = run.timeline.copy()
        wrong.loc[ran, column] = value
        with pytest.raises((AssertionError, KeyError)):
            check_run(with_tables(run, timeline=wrong))
    longer = run.timeline.copy()
    longer.loc[down, "end_s"] -= 1e-3 * (longer.loc[down, "end_s"] - longer.loc[down, "start_s"])
    with pytest.raises(AssertionError):
        check_run(with_tables(dataclasses.replace(run, scenario=_listed_only(run.scenario, run)), timeline=longer))


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "synchronising"},
        {"next_start_s": 1.5},
        {"sentences": ("It is not said where.",)},
        {"facts": ()},
        {"competitors": (Competitor("j0", "holds", "99 t0", 0.0, 1.0, 1.0, ""),)},
    ],
)
def test_the_check_of_explanations_finds_what_is_not_so(wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """An explanation passes as it is, and with one field wrong it does not."""
    run, times = some_run(), [np.random.default_rng(seed) for seed in range(8)]
    for rng in times:
        explanations.check_explanations(run, rng)

    def explained(run: Run, job: str, at_s: float) -> Explanation:
        return dataclasses.replace(explain(run, job, at_s), **wrong)

    monkeypatch.setattr(explanations, "explain", explained)
    with pytest.raises((AssertionError, KeyError)):
        for rng in times:
            explanations.check_explanations(run, rng)


@pytest.mark.parametrize(
    ("table", "column", "value"), [("timeline", "end_s", math.inf), ("jobs", "waited_s", math.nan)]
)
def test_the_check_of_numbers_finds_what_cannot_be(table: str, column: str, value: float) -> None:
    run = some_run()
    check_numbers(run)
    wrong = run.table(table).copy()
    wrong.loc[wrong.index[0], column] = value
    with pytest.raises(AssertionError, match=f"{table}.{column} is {value}"):
        check_numbers(with_tables(run, **{table: wrong}))


@pytest.mark.parametrize(("name", "value"), [("utilisation", 0.5), ("mean_jct_s", math.nan), ("makespan_s", math.inf)])
def test_the_check_of_numbers_finds_a_wrong_metric(name: str, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def summed(run: Run) -> Summary:
        found = summary(run)
        return dataclasses.replace(found, found={**found, name: value})

    monkeypatch.setattr(measuring, "summary", summed)
    with pytest.raises(AssertionError, match=name):
        measuring.check_numbers(some_run())


def _listed_only(scenario: Scenario, run: Run) -> Scenario:
    """The scenario with the outages of a run as a list, in place of drawn ones."""
    down = run.timeline[(run.timeline["kind"] == "down") & (run.timeline["slot"] == 0)]
    listed = [
        {"node": node, "from_s": start_s, "to_s": end_s}
        for node, start_s, end_s in zip(down["node"], down["start_s"], down["end_s"], strict=True)
    ]
    core = {**scenario.core.model_dump(mode="json"), "faults": {"list": listed}}
    return scenario.replace(core=core)


def test_random_knobs_are_legal() -> None:
    rng = np.random.default_rng(0)
    knobs: list[Knob] = [knob for name in built_in() for knob in find_scheduler(name).knobs]
    for knob in knobs:
        for _ in range(20):
            knob.check(random_value(knob, rng))


def test_a_trial_is_repeated_by_its_number() -> None:
    assert trial(2, "srtf") == trial(2, "srtf")
