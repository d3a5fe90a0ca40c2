"""A verdict explained afterwards: the earliest deadline that would do and the jobs in the way, counted by hand.

4 GPUs, leases of 10 min. Job `old` is guaranteed, needs two leases on 3 GPUs and has three until its deadline.
"""

from __future__ import annotations

from typing import Any

import pytest

from workbench.base.errors import InputError
from workbench.papers.chronus.algorithms.cycle import BEST_EFFORT, GUARANTEED
from workbench.papers.chronus.explain import admission_again
from workbench.papers.chronus.scheduler import Chronus
from workbench.scenario.scenario import Scenario
from workbench.session.api import snapshot_at

LEASE_S = 600


SCENARIO: dict[str, Any] = {
    "format": "workbench-scenario/1",
    "cluster": {
        "accelerators": [{"name": "v100"}],
        "nodes": [{"name": "n", "accelerator": "v100", "gpus": 4, "count": 1}],
    },
    "jobs": [
        {"name": "old", "model": "m", "steps": 1200, "gpus": 3, "rewards": [[1800, 100]]},
        {"name": "new", "model": "m", "steps": 600, "gpus": 2, "arrival_s": 60, "rewards": [[600, 100], [1140, 20]]},
        {"name": "free", "model": "m", "steps": 600, "gpus": 1, "arrival_s": 60},
    ],
    "throughputs": [{"model": "m", "accelerator": "v100", "gpus": gpus, "steps_per_s": 1.0} for gpus in (1, 2, 3)],
}


def ask(
    scenario: dict[str, Any] = SCENARIO,
    knobs: dict[str, Any] | None = None,
    remaining_s: dict[str, float] | None = None,
    **changed: Any,
) -> dict[str, Any]:
    """The explanation of `new`'s verdict at 10 min, when `old` is to begin."""
    settled = Chronus().settle({"slo_lease_s": LEASE_S, **(knobs or {})})
    given = {
        "job": "new",
        "at_s": 600.0,
        "later": [],
        "holding": [],
        "signals": {
            "queue": {"old": GUARANTEED, "new": BEST_EFFORT},
            "remaining_s": {"old": 1200.0, "new": 600.0} if remaining_s is None else remaining_s,
            "plan_gpus": {"old": 4.0},
            "plan_gpus_later": {"old": 4.0},
        },
        "knobs": settled,
        **changed,
    }
    return admission_again(snapshot_at(Scenario.from_dict(scenario), 0.0, offline=True), given)


def test_the_job_in_the_way_and_the_earliest_lease_behind_it() -> None:
    """From 10 min on: `old` has leases 1 and 2 (its deadline is 20 min away), so `new` could have lease 3."""
    found = ask()
    assert not found["guaranteed"] and found["in_the_way"] == ["old"]
    assert found["start_s"] == 600.0 and found["earliest_s"] == 600.0 + 3 * LEASE_S


def test_without_the_job_in_the_way_it_is_guaranteed_in_the_lease_that_its_last_deadline_leaves() -> None:
    """`new` may take until 60 + 1140 = 1200 s, the end of lease 1."""
    found = ask(later=["old"])
    assert found["guaranteed"] and found["leases"] == {"new": [1]} and found["in_the_way"] == []


def test_what_a_running_job_does_until_the_next_boundary_counts() -> None:
    """Asked at 5 min, `old` running: 900 s are left now and 600 s at the boundary, one lease instead of two."""
    left = {"old": 900.0, "new": 600.0}
    found = ask(at_s=300.0, remaining_s=left, holding=["old"])
    assert found["start_s"] == 600.0 and found["leases"] == {"old": [2], "new": [1]}
    assert not ask(at_s=300.0, remaining_s=left)["guaranteed"], "at rest it would still need both"
    assert ask(at_s=300.0, remaining_s={"old": 300.0, "new": 600.0}, holding=["old"])["leases"] == {"new": [1]}
    both = ask(at_s=300.0, remaining_s={"old": 300.0, "new": 900.0}, holding=["old", "new"])
    assert not both["guaranteed"], "who is asked about is no guaranteed job, whatever it holds"


def test_gangs_count_rounded_up_as_in_the_run() -> None:
    """A gang of 3 takes 4 GPUs: a job of one GPU fits beside it only if gangs are counted as asked for."""
    slim = {**SCENARIO, "jobs": [SCENARIO["jobs"][0], {**SCENARIO["jobs"][1], "gpus": 1}]}
    assert not ask(slim)["guaranteed"] and ask(slim, {"round_up": False})["guaranteed"]


def test_what_cannot_be_explained_is_an_error() -> None:
    with pytest.raises(InputError, match="nobody"):
        ask(job="nobody", remaining_s={"old": 1.0, "nobody": 1.0})
    with pytest.raises(InputError, match="recorded in detail"):
        ask(signals={"queue": {}})
    with pytest.raises(InputError, match="free"):
        ask(job="free", remaining_s={"old": 1.0, "free": 1.0})
    cluster = {
        "accelerators": [{"name": "v100"}, {"name": "k80"}],
        "nodes": [*SCENARIO["cluster"]["nodes"], {"name": "b", "accelerator": "k80", "gpus": 4, "count": 1}],
    }
    with pytest.raises(InputError, match=r"2 types.*one accelerator type"):
        ask({**SCENARIO, "cluster": cluster})


def test_where_nodes_differ_in_size_gangs_count_as_asked_for_as_in_the_run() -> None:
    """3 and 1 of 4 GPUs: rounded up they would be 5."""
    nodes = [{"name": "a", "accelerator": "v100", "gpus": 3}, {"name": "b", "accelerator": "v100", "gpus": 1}]
    slim = {**SCENARIO, "jobs": [SCENARIO["jobs"][0], {**SCENARIO["jobs"][1], "gpus": 1}]}
    assert ask({**slim, "cluster": {**SCENARIO["cluster"], "nodes": nodes}})["guaranteed"]
