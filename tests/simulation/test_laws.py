"""Laws that hold of every run, whatever a legal scheduler does."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.support import Chance, Habits, check, scenarios
from workbench.scenario.scenario import Scenario
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run
from workbench.simulation.schema import TABLES
from workbench.simulation.stop import Until

EVERYTHING = Habits(copies=0.2, pairs=0.3, profile=0.2, steps=0.2, tail=0.2, verdict=0.1, odd_end=0.3, preempt=0.2)
WORLDS = scenarios(faults=True, sharing=True, start=True)
ASKED = st.sampled_from(
    [
        (60.0, frozenset()),
        (60.0, frozenset({"arrival", "completion"})),
        (60.0, frozenset({"idle", "fault", "repair", "lease_end"})),
        (None, frozenset({"arrival", "completion", "lease_end", "fault", "repair"})),
        (0.1 * 7, frozenset()),
    ]
)


def run_of(scenario: Scenario, asked: Any, until_s: float = 1500.0, habits: Habits = EVERYTHING) -> Run:
    round_s, causes = asked
    habits = Habits(**{**vars(habits), "round_s": round_s, "causes": causes})
    if round_s is None:
        habits.timer = 1.0  # else it may rest with nothing to come
    if round_s is not None and round_s < 1:
        until_s /= 10
    return run_loop(scenario, Chance(habits), stop=Until(until_s))


@given(WORLDS, ASKED)
def test_laws(scenario: Scenario, asked: Any) -> None:
    check(run_of(scenario, asked))


@given(WORLDS, ASKED)
def test_same_inputs_give_equal_runs(scenario: Scenario, asked: Any) -> None:
    assert run_of(scenario, asked) == run_of(scenario, asked)


@given(WORLDS, ASKED)
def test_a_saved_run_reads_back_equal(scenario: Scenario, asked: Any) -> None:
    run = run_of(scenario, asked)
    with tempfile.TemporaryDirectory() as folder:
        run.save(Path(folder) / "saved")
        back = Run.load(Path(folder) / "saved")
    assert back == run
    assert back.key() == run.key()
    for table in TABLES:
        assert list(back.table(table.name).dtypes) == list(run.table(table.name).dtypes)


@given(scenarios(faults=True, sharing=True), ASKED, st.randoms(use_true_random=False))
def test_the_order_of_the_list_matters_only_for_jobs_that_arrive_together(
    scenario: Scenario, asked: Any, random: Any
) -> None:
    apart = [job.model_copy(update={"arrival_s": job.arrival_s + i}) for i, job in enumerate(scenario.jobs)]
    mixed = random.sample(apart, len(apart))
    one, other = (run_of(scenario.replace(jobs=tuple(jobs)), asked) for jobs in (apart, mixed))
    assert one.timeline.equals(other.timeline)
    assert one.events.equals(other.events)
    order = [job.name for job in apart]
    assert one.jobs.equals(other.jobs.set_index("job").loc[order].reset_index()[list(one.jobs.columns)])


@given(WORLDS, ASKED, st.sampled_from([0.0, 1.0, 60.0, 61.5, 333.3]))
def test_until_cuts_a_run_short_and_changes_nothing_before(scenario: Scenario, asked: Any, until_s: float) -> None:
    whole, part = run_of(scenario, asked), run_of(scenario, asked, until_s)
    cut_s = part.end_s
    check(part)
    assert cut_s <= until_s
    before = whole.decisions[whole.decisions.time_s < cut_s]
    assert before.equals(part.decisions[part.decisions.time_s < cut_s])
    if until_s <= whole.end_s and not math.isclose(cut_s, until_s):
        assert asked[0] is not None and asked[0] < 1  # those runs are cut at a tenth
    early = whole.timeline[whole.timeline.end_s < cut_s].reset_index(drop=True)
    assert early.equals(part.timeline[part.timeline.end_s < cut_s].reset_index(drop=True))
