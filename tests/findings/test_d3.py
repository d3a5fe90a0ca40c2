"""D3: a job under min_cost_slo meets the deadline that its programme promises; a run that strays from X says so."""

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
ONCE = {"refresh_s": None, "priority_over": "time_by_type"}


@pytest.mark.parametrize(
    ("knobs", "finish_s", "on_k80", "warns"),
    [
        (ONCE, 16560.0, 16200.0, True),  # f is 1 on both types once each has had a round: the larger share wins
        (
            {**ONCE, "priority_over": "rounds_of_job"},
            7056.0,
            12 * 360.0,
            False,
        ),  # 7.6 rounds on the V100, 12 on the K80
        ({}, 7200.0, None, False),  # shares anew each round: no later than the deadline
    ],
)
def test_received_time_follows_the_shares_or_a_warning_says_where_not(knobs, finish_s, on_k80, warns):
    run = workbench.simulate(GIVEN, "gavel.min_cost_slo", **knobs)
    first = run.shares[run.shares["decision"] == 0].set_index("accelerator")["share"]
    assert first.to_dict() == pytest.approx({"v100": 0.375, "k80": 0.625})
    assert (
        run.jobs["finish_s"][0] == pytest.approx(finish_s, abs=0.5) if on_k80 else run.jobs["finish_s"][0] <= finish_s
    )
    rows = run.timeline[run.timeline["accelerator"] == "k80"]
    assert on_k80 is None or (rows["end_s"] - rows["start_s"]).sum() == pytest.approx(on_k80)
    said = workbench.summary(run).warnings
    assert bool(said) is warns
    assert not warns or "j had GPUs of v100 for 0.022 of its time where its share was 0.37" in said[0]
