"""Changes: what each does to a setting, its text that reads back, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import workbench
from tests.analysis.what_if.logs import HOURS, of_hours
from workbench.analysis.bootstrap import block_s, left_out, varied
from workbench.analysis.what_if import (
    Change,
    Configuration,
    DensityTo,
    FaultsTo,
    KnobTo,
    LoadTo,
    NodesBy,
    RestartTo,
    SchedulerTo,
    drawn,
    parse_change,
)
from workbench.base.errors import InputError, ScenarioError
from workbench.scenario.scenario import Scenario

CHANGES = (
    NodesBy("v100", 8),
    NodesBy("v100", -1),
    NodesBy("k80", 3, gpus=8),
    SchedulerTo("srtf"),
    SchedulerTo("gavel.max_min_fairness", {"round_s": 720, "heterogeneity_aware": False}),
    KnobTo("round_s", 720),
    KnobTo("round_s", 360.1 + 0.2),
    RestartTo(90),
    RestartTo(0.1 + 0.2),
    LoadTo(1.25),
    LoadTo(1 / 3),
    DensityTo(120),
    DensityTo(80.5, seed=7),
    FaultsTo(),
    FaultsTo(86400.0, 3600.5),
    FaultsTo(outages=(("v100-0", 0.0, 60.0), ("v100-1", 1 / 3, 1e7))),
)


def today(scheduler: str = "gavel.max_min_fairness") -> Configuration:
    return Configuration(workbench.preset("gavel_simulated"), scheduler)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.text)
def test_the_text_of_a_change_reads_back_to_it(change: Change) -> None:
    assert parse_change(change.text) == change
    assert change.words


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.text)
def test_a_change_gives_a_scenario_that_can_be_saved_and_leaves_today_alone(change: Change) -> None:
    setting = today()
    before = setting.scenario.to_json()
    changed = change.applied(setting)
    assert Scenario.from_json(changed.scenario.to_json()) == changed.scenario
    assert setting.scenario.to_json() == before
    no_change = isinstance(change, FaultsTo) and change == FaultsTo()
    assert (changed != setting) is not no_change


def test_nodes_come_and_go_by_type() -> None:
    cluster = today().scenario.cluster
    assert cluster.capacity == {"v100": 36, "p100": 36, "k80": 36}
    assert NodesBy("v100", 2).applied(today()).scenario.cluster.capacity["v100"] == 44
    assert NodesBy("p100", -9).applied(today()).scenario.cluster.types == ("v100", "k80")
    larger = NodesBy("k80", 3, gpus=8).applied(today()).scenario.cluster
    assert larger.capacity["k80"] == 60 and larger.nodes[-1].count == 3
    back = NodesBy("v100", -2).applied(Configuration(NodesBy("v100", 2).applied(today()).scenario, "las")).scenario
    assert back == today().scenario
    twice = NodesBy("k80", 1, gpus=8).applied(Configuration(NodesBy("k80", 3, gpus=8).applied(today()).scenario, "las"))
    assert twice.scenario.cluster.nodes[-1].count == 4


def test_load_divides_every_arrival_and_density_changes_the_number_of_jobs() -> None:
    jobs = today().scenario.jobs
    faster = LoadTo(2.0).applied(today()).scenario.jobs
    assert [job.arrival_s for job in faster] == [job.arrival_s / 2 for job in jobs]
    assert [job.steps for job in faster] == [job.steps for job in jobs]
    assert len(DensityTo(150).applied(today()).scenario.jobs) == 90


def test_core_settings_are_exchanged_one_by_one() -> None:
    base = today().scenario
    mixed = base.replace(core={"restart": {"law": "log2", "restart_s": 5.0}, "checkpoint_s": 60.0})
    core = RestartTo(30).applied(Configuration(mixed, "las")).scenario.core
    assert (core.restart.law, core.restart.restart_s, core.checkpoint_s) == ("log2", 30.0, 60.0)
    failing = FaultsTo(7200.0, 60.0).applied(Configuration(mixed, "las")).scenario.core
    assert (failing.faults.mtbf_s, failing.faults.mttr_s, failing.restart) == (7200.0, 60.0, mixed.core.restart)


def test_a_knob_keeps_the_others_and_a_policy_brings_its_own() -> None:
    setting = Configuration(today().scenario, "gavel.max_min_fairness", {"heterogeneity_aware": False})
    assert KnobTo("round_s", "12 min").applied(setting).knobs == {"heterogeneity_aware": False, "round_s": 720.0}
    assert SchedulerTo("srtf").applied(setting).knobs == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "begins with one of"),
        ("more v100", "begins with one of"),
        ("nodes", "or v100="),
        ("nodes v100=8", "or v100="),
        ("nodes v100=+0", "not 0"),
        ("nodes v100=-1x4", "GPUs of each new node"),
        ("scheduler nobody", "nobody"),
        ("scheduler srtf, round_s", "srtf"),
        ("scheduler srtf, lambda=3", "lambda"),
        ("restart soon", "seconds or a duration"),
        ("restart -5", "seconds or a duration"),
        ("load 0", "a factor"),
        ("load nan", "a factor"),
        ("density 300", "percentage"),
        ("density 50, sed=1", "percentage"),
        ("faults mtbf_s=1 h", "both"),
        ("faults a-0=5", "node=from:to"),
    ],
)
def test_a_text_that_is_none_is_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_change(text)


@pytest.mark.parametrize("gpus", ["4", 0, 2.5, True, 1025])
def test_gpus_of_new_nodes_are_a_whole_number(gpus: Any) -> None:
    with pytest.raises(InputError, match="GPUs of each new node, 1 to 1024"):
        NodesBy("v100", 1, gpus)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (NodesBy("a100", 1), "an accelerator type of the cluster, one of: v100, p100, k80"),
        (NodesBy("v100", -10), "at most the 9 nodes"),
        (KnobTo("lambda", 1), "lambda"),
        (KnobTo("round_s", "soon"), "soon"),
        (FaultsTo(outages=(("nobody-0", 0.0, 5.0),)), "nobody-0"),
    ],
    ids=lambda part: part.text if isinstance(part, Change) else "",
)
def test_what_cannot_be_applied_is_refused_in_words(change: Change, said: str) -> None:
    with pytest.raises((InputError, ScenarioError), match=said):
        change.applied(today())


def test_load_needs_arrivals_to_compress() -> None:
    with pytest.raises(InputError, match="density adds jobs"):
        LoadTo(2.0).applied(Configuration(workbench.preset("gavel_physical"), "las"))


def test_a_bootstrap_draws_blocks_with_replacement() -> None:
    """Each hour of a draw is one of the log's with all its jobs, the rest the first 200 s of one."""
    scenario = of_hours()
    blocks = [tuple((i, at % 3600) for i, at in enumerate(HOURS) if at // 3600 == hour) for hour in range(4)]
    bodies, seen = {job.name: job for job in scenario.jobs}, set()
    for seed in range(30):
        jobs = drawn(scenario, seed).jobs
        assert len({job.name for job in jobs}) == len(jobs)
        for job in jobs:
            body = bodies[job.name.split(".")[0]]
            assert job == body.model_copy(update={"name": job.name, "arrival_s": job.arrival_s})
        for hour in range(4):
            mine = [job for job in jobs if job.arrival_s // 3600 == hour]
            block = tuple((int(job.name.split(".")[0][1:]), job.arrival_s % 3600) for job in mine)
            if hour < 3:
                assert block in blocks[:3]
            else:
                assert block in [tuple(one for one in each if one[1] <= 200) for each in blocks]
            seen.add((hour, block))
    assert len(seen) >= 3 * 3 + 3
    assert drawn(scenario, 5) == drawn(scenario, 5) != drawn(scenario, 6)


def test_blocks_are_days_if_there_are_enough_and_a_short_log_stays_as_it_is() -> None:
    assert [block_s(of_hours(at)) for at in (11_000, 2 * 86_400, 3 * 86_400)] == [3600, 3600, 86_400]
    short = workbench.preset("start_here")
    assert block_s(short) == 0 and drawn(short, 3) is short
    assert "too short a log" in varied(short, True) and "these very jobs" in left_out(short, True)
    assert "3 hours" in varied(of_hours(), True) and "longer than an hour" in left_out(of_hours(), True)


def test_jobs_that_hold_gpus_stay_in_a_bootstrap() -> None:
    scenario = of_hours()
    job, node = scenario.jobs[0], scenario.cluster.each_node[0]
    held = scenario.replace(running=[{"job": job.name, "gpus": {node.name: job.gpus}}])
    for seed in range(5):
        assert drawn(held, seed).jobs[0] == job


def test_failures_are_said_to_be_instead_of_todays() -> None:
    drawn, listed = "mtbf_s=1 d, mttr_s=1 h", "a-0=0:3600"
    fails = "nodes that fail every 1 d on average and take 1 h to repair"
    for text, words in (
        (drawn, f"{fails} instead of today's failures"),
        (listed, "1 listed outage instead of today's failures"),
        (f"{drawn}, {listed}", f"{fails} and 1 listed outage instead of today's failures"),
        ("none", "no node failures"),
    ):
        assert parse_change(f"faults {text}").words == words
