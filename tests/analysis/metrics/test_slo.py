"""Metrics of jobs with deadlines: by hand on runs made by hand, and worked out a second time from the tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from tests.baselines.mechanisms.support import make
from tests.cases.chronus import attained_share
from tests.simulation.support import with_tables
from workbench.analysis.metrics import broken_s, metric, per_job, summary, table
from workbench.analysis.metrics.declared import MAIN_OF_SLOS, OF_SLOS
from workbench.scenario.presets import preset
from workbench.scheduling.contract import Scheduler, Timing
from workbench.scheduling.decision import Assignment, Decision
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run
from workbench.simulation.stop import Until

SOFT = [[100.0, 100.0], [110.0, 80.0], [120.0, 50.0], [150.0, 20.0]]


def run_of(finish_s: list[float | None], rewards: list[Any], verdicts: list[list[str]] | None = None) -> Run:
    """A run in which jobs that all came at 0 finished at these times, with these verdicts one after the other."""
    jobs = [{"rewards": steps} for steps in rewards]
    run = run_loop(make({"n": ("t", len(jobs))}, jobs), find_scheduler("fifo"))
    told = verdicts or [[] for _ in jobs]
    table_of_jobs = run.jobs.assign(
        finish_s=[math.nan if at is None else at for at in finish_s],
        verdict=[said[-1] if said else "" for said in told],
    )
    events = [
        (0.0, "verdict", job, "", "", word) for job, said in zip(run.jobs["job"], told, strict=True) for word in said
    ]
    more = pd.DataFrame(events, columns=run.events.columns)
    return with_tables(run, jobs=table_of_jobs, events=pd.concat([run.events, more]) if events else run.events)


def test_a_guarantee_was_broken_where_another_verdict_than_best_effort_came_first() -> None:
    run = run_of(
        [50.0] * 4, [SOFT] * 4, [["guaranteed"], ["best_effort"], ["guaranteed", "best_effort"], ["guaranteed"]]
    )
    late = run.events.assign(time_s=np.arange(len(run.events), dtype=float))
    of = dict(zip(late["job"] + late["reason"], late["time_s"], strict=True))
    assert broken_s(with_tables(run, events=late)) == {"j2": of["j2best_effort"]}


def test_shares_of_soft_rewards_by_hand() -> None:
    """(9): of 100, 80, 50, 20 and a miss worth 1, over 99; a deadline on its second counts."""
    done = [100.0, 100.1, 120.0, 150.0, 151.0]
    run = run_of(list(done), [SOFT] * 5)
    expected = [1.0, 79 / 99, 49 / 99, 19 / 99, 0.0]
    assert per_job(run)["reward_share"].tolist() == approx(expected)
    found = summary(run)
    assert found["weighted_miss_rate"] == approx(1 - np.mean(expected))
    assert found["weighted_miss_rate"] == approx(1 - attained_share([100, 80, 50, 20, 1]))
    assert found["reward_attained"] == approx(attained_share([100, 80, 50, 20, 1]))
    assert found["slo_violations"] == 1


def test_best_effort_is_left_out_of_misses_and_has_a_jct_of_its_own() -> None:
    strict = [[500.0, 100.0]]
    run = run_of([400.0, 600.0, 700.0, 900.0, 100.0], [strict, strict, None, None, SOFT])
    found = summary(run)
    assert found["weighted_miss_rate"] == approx(1 / 3)
    assert found["strict_miss_rate"] == approx(1 / 2) and found["soft_miss_rate"] == 0
    assert found["best_effort_jct_s"] == 800.0
    assert per_job(run)["reward_share"].isna().tolist() == [False, False, True, True, False]


def test_rewards_of_another_range_count_from_what_a_miss_earns() -> None:
    """A reward of 1 at most, as in Gavel's deadlines: a miss earns 0; of 10 at most: it earns 1; 0 is no reward."""
    steps = [[[500.0, 1.0]], [[500.0, 1.0]], [[100.0, 10.0], [500.0, 5.5]], [[500.0, 0.0]]]
    shares = per_job(run_of([400.0, 600.0, 400.0, 400.0], steps))["reward_share"]
    assert shares.tolist()[:3] == approx([1.0, 0.0, 0.5]) and math.isnan(shares[3])


def test_unfinished_jobs_may_still_be_in_time_and_refused_ones_not() -> None:
    scenario = make({"n": ("t", 2)}, [{"steps": 9000, "rewards": SOFT}] * 2)
    early = run_loop(scenario, find_scheduler("fifo"), stop=Until(105.0))
    assert summary(early)["reward_attained"] == approx(79 / 99) and summary(early)["slo_violations"] == 0
    late = run_loop(scenario, find_scheduler("fifo"), stop=Until(200.0))
    assert summary(late)["reward_attained"] == 0 and summary(late)["slo_violations"] == 2
    refused = summary(run_of([None, 50.0], [SOFT, SOFT], [["refused"], ["guaranteed"]]))
    assert refused["reward_attained"] == approx(0.5) and refused["unguaranteed"] == 1


def test_guarantees_kept_broken_taken_back_and_refused() -> None:
    verdicts = [
        ["guaranteed"],  # kept
        ["guaranteed"],  # broken
        ["guaranteed", "best_effort"],  # taken back, and late
        ["best_effort"],  # never had one, and late
        ["best_effort", "guaranteed"],  # only later, kept
        ["best_effort"],  # best effort without rewards is no job with an SLO
    ]
    done: list[float | None] = [100.0, 200.0, 200.0, 200.0, 100.0, 300.0]
    found = summary(run_of(done, [*[SOFT] * 5, None], verdicts))
    assert (found["guaranteed"], found["unguaranteed"], found["broken_guarantees"]) == (4, 1, 2)
    assert found["unguaranteed_miss_rate"] == 1.0


def test_unknown_without_deadlines_or_verdicts() -> None:
    plain = summary(run_of([100.0], [None]))
    assert all(math.isnan(plain[name]) for name in OF_SLOS)
    assert not set(MAIN_OF_SLOS) & set(table(plain)["metric"])
    without_verdicts = summary(run_of([100.0, 100.0], [SOFT, None]))
    assert math.isnan(without_verdicts["guaranteed"]) and math.isnan(without_verdicts["mean_profiling_delay_s"])
    shown = set(table(without_verdicts)["metric"])
    assert {"weighted_miss_rate", "best_effort_jct_s"} <= shown and "unguaranteed" not in shown
    names = ["guaranteed", "soft_miss_rate", "mean_profiling_delay_s"]
    said = table(without_verdicts, [*names, "strict_miss_rate"])["value"].tolist()
    assert said[:3] == ["does not apply", "0.0", "no such job"] and said[3] == "no such job"
    assert all(metric(name).definition for name in OF_SLOS)


class Leases(Scheduler):
    """Profiles for 50 s, then leases of 100 s on the same GPU with a pause after the second."""

    name, title = "leases", "leases by a timetable"

    def timing(self, knobs: Any) -> Timing:
        return Timing(50.0)

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        kind = {50.0: "profile", 200.0: "run", 300.0: "run", 450.0: "run", 550.0: "run"}.get(snapshot.now_s)
        until_s = snapshot.now_s + (50.0 if kind == "profile" else 100.0)
        return Decision(assign=(Assignment("j0", {"n-0": 1}, until_s, kind),) if kind else ()), None


def test_leases_and_profiles_of_a_timetable() -> None:
    """Profile 50-100, whose end is no suspension; 200-300 renewed to 400, suspended; 450-550, renewed; done at 600."""
    run = run_loop(make({"n": ("t", 1)}, [{"steps": 400, "rewards": [[9000.0, 100.0]]}]), Leases())
    assert run.jobs["finish_s"].tolist() == [600.0]
    found = summary(run)
    assert (found["renewals"], found["suspensions"], found["preemptions"]) == (2, 1, 2)
    assert found["mean_profiling_delay_s"] == found["max_profiling_delay_s"] == 50.0


def test_every_number_again_from_the_tables_of_a_run_of_chronus() -> None:
    scenario = preset("chronus_example")
    run = run_loop(scenario, find_scheduler("chronus"))
    found, rows = summary(run), {row.job: row for row in run.jobs.itertuples()}
    earned = []
    for job in scenario.jobs:
        if job.rewards is not None:
            after_s = rows[job.name].finish_s - rows[job.name].arrival_s
            earned.append(max([reward for at, reward in job.rewards if after_s <= at + 1e-6], default=1.0))
    assert found["weighted_miss_rate"] == approx(1 - (np.array(earned) - 1).mean() / 99)
    plain = [rows[job.name].finish_s - rows[job.name].arrival_s for job in scenario.jobs if job.rewards is None]
    assert found["best_effort_jct_s"] == approx(np.mean(plain))
    profiles = run.timeline[run.timeline["kind"] == "profile"]
    delays = profiles.groupby("job")["start_s"].min() - run.jobs.set_index("job")["arrival_s"]
    assert found["mean_profiling_delay_s"] == approx(delays.dropna().mean())
    assert found["max_profiling_delay_s"] == approx(delays.max())
    assert found["renewals"] == (run.events["event"] == "renew").sum()
    ended = {(row.job, row.end_s) for row in profiles.itertuples()}
    lost = [(row.job, row.time_s) for row in run.events.itertuples() if row.event == "preempt"]
    assert found["suspensions"] == sum(pair not in ended for pair in lost) < len(lost)


@pytest.mark.parametrize("name", ["edf", "genie", "themis", "three_sigma"])
def test_baselines_have_misses_but_no_guarantees(name: str) -> None:
    found = summary(run_loop(preset("chronus_example"), find_scheduler(name)))
    assert 0 < found["weighted_miss_rate"] < 1 and math.isnan(found["broken_guarantees"])
