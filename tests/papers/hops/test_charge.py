"""What a plan is charged: the stated model at the paper's sizes, and in a run, by hand."""

import pytest

from tests.papers.hops.plan_support import job, scenario
from workbench.base.errors import InputError
from workbench.papers.hops.charge import decision_s
from workbench.session.api import simulate


def test_the_model_at_the_sizes_of_the_paper():
    """Section 4.7: below 1 s under 100 GPUs, within 10 s up to 500, about 6 and 17 s at 1000 and 1500 with 5 %."""
    assert decision_s(64, 6.0) == 0.0
    assert decision_s(512, 6.0) == 6.0
    assert 6.0 <= decision_s(1024, 6.0) <= 8.0
    assert decision_s(1504, 6.0) == 17.0
    assert decision_s(1504, 0.0) == 0.0


def starts(run, name):
    rows = run.timeline[(run.timeline["unit"] == name) & (run.timeline["kind"] == "run")]
    return sorted(set(rows["start_s"]))


# Seconds for which a plan of these 2 GPUs is charged: c (2 / 512)^2 = 50.
C = 50.0 * 256**2
FREE = {"profile_iterations": 0}


def test_until_the_plan_is_made_jobs_go_on_as_before():
    """One server of 2, equal jobs. a waits 50 s for its first plan, so at 300 s it is still ahead of b, which waited
    10 s; at 600 s b is ahead, and gets the server at 650 s, when that plan has been made. Uncharged, a has not waited
    at all, and b has the server at 300 s."""
    made = scenario([job("a", sizes=(2,), steps=4000.0), job("b", 290.0, (2,), 4000.0)], speeds=(1.0,))
    free = simulate(made, "hops", FREE, decision_s=0.0, until_s=800.0)
    paid = simulate(made, "hops", FREE, decision_s=C, until_s=800.0)
    assert (starts(free, "a")[0], starts(free, "b")[0]) == (0.0, 300.0)
    assert (starts(paid, "a")[0], starts(paid, "b")[0]) == (50.0, 650.0)
    held = paid.timeline[(paid.timeline["unit"] == "a") & (paid.timeline["kind"] == "run")]
    assert held["end_s"].tolist() == [650.0] * 2, "a has kept the GPUs while the plan was made"


def test_a_charge_longer_than_a_round_ends_with_it():
    made = scenario([job("a", sizes=(2,), steps=400.0)], speeds=(1.0,))
    run = simulate(made, "hops", FREE, decision_s=100 * C)
    assert starts(run, "a")[0] == 300.0


def test_with_overlap_nothing_is_charged():
    made = scenario([job("a", sizes=(2,), steps=400.0)], speeds=(1.0,))
    assert starts(simulate(made, "hops", FREE, decision_s=C, overlap=True), "a")[0] == 0.0


def test_what_needs_no_new_plan_is_not_charged():
    """a alone has its best from 50 s on; at 300 s the problem is the one solved before."""
    made = scenario([job("a", sizes=(2,), steps=1400.0)], speeds=(1.0,))
    run = simulate(made, "hops", FREE, decision_s=C)
    assert run.decisions["time_s"].tolist() == [0.0, 50.0, 300.0, 600.0]
    assert run.jobs["finish_s"].tolist() == [pytest.approx(750.0)]


@pytest.mark.parametrize("name, value", [("decision_s", -1.0), ("profile_iterations", -1), ("profile_start_s", -1.0)])
def test_bad_charges_are_refused(name, value):
    made = scenario([job("a", sizes=(2,))], speeds=(1.0,))
    with pytest.raises(InputError, match=name):
        simulate(made, "hops", {name: value})
