"""A job under min_cost_slo meets the deadline that its programme promises; a run that strays from X says so."""

import pytest

import workbench

GIVEN = workbench.Scenario.from_dict(
    {
        "cluster": {
            "accelerators": [{"name": "v100", "price_per_hour": 3.0}, {"name": "k80", "price_per_hour": 0.45}],
            "nodes": [{"name": "v", "accelerator": "v100", "gpus": 1}, {"name": "k", "accelerator": "k80", "gpus": 1}],
        },
        "jobs": [{"name": "j", "model": "m", "steps": 18000, "rewards": [[7200, 1.0]]}],
        "throughputs": [
            {"model": "m", "accelerator": name, "gpus": 1, "steps_per_s": speed}
            for name, speed in (("v100", 5.0), ("k80", 1.0))
        ],
    }
)
"""2.5 steps/s are needed: 3/8 of the time on the V100, 5/8 on the K80, which is cheaper a step."""
ONCE = {"refresh_s": None}


@pytest.mark.parametrize(
    ("knobs", "finish_s", "on_k80_s", "warns"),
    [
        (ONCE, 16560.0, 45 * 360.0, True),  # f is 1 on both types once each has had a round: the larger share wins
        (
            {},
            7920.0,
            15 * 360.0,
            False,
        ),  # shares anew each round, deficits decide: two rounds late, as rounds are whole
        (
            {**ONCE, "priority_over": "rounds_of_job"},
            7056.0,
            12 * 360.0,
            False,
        ),  # 7.6 rounds on the V100, 12 on the K80
    ],
    ids=["section 5, once", "section 5", "section 3.2, once"],
)
def test_received_time_follows_the_shares_or_a_warning_says_where_not(knobs, finish_s, on_k80_s, warns):
    run = workbench.simulate(GIVEN, "gavel.min_cost_slo", **knobs)
    first = run.shares[run.shares["decision"] == 0].set_index("accelerator")["share"]
    assert first.to_dict() == pytest.approx({"v100": 0.375, "k80": 0.625})
    assert run.jobs["finish_s"][0] == pytest.approx(finish_s, abs=0.5)
    rows = run.timeline[run.timeline["accelerator"] == "k80"]
    assert (rows["end_s"] - rows["start_s"]).sum() == pytest.approx(on_k80_s)
    said = workbench.summary(run).warnings
    assert bool(said) is warns
    assert not warns or "j ran on v100 for 2.17 % of its time, its share was 37.5 %" in said[0]


def test_shares_that_no_rounds_can_keep_are_warned_of_and_turns_are_not():
    """Two V100 for a job of one GPU with a share of 1 and one of two with 1/2: they are never in one round."""
    given = workbench.preset("start_here")
    assert workbench.summary(workbench.simulate(given, "gavel.max_min_fairness")).warnings == ()
    (said,) = workbench.summary(workbench.simulate(given, "gavel.max_throughput")).warnings
    assert "translation ran on v100 for 66.7 % of its time, its share was 100 %" in said


def test_both_jobs_of_a_pair_have_its_time():
    given = workbench.preset("gavel_sharing")
    run = workbench.simulate(given, "gavel.max_min_fairness", space_sharing=True)
    assert (run.timeline["with_job"] != "").any() and workbench.summary(run).warnings == ()
