"""Units, the views of a snapshot, and what an invalid decision says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.simulation.support import make
from workbench.base.errors import InputError
from workbench.scheduling.decision import Assignment, Decision, InvalidDecision, Unit, is_copy, members, unit_name
from workbench.scheduling.estimators.oracle import Oracle
from workbench.simulation.state import State


@pytest.mark.parametrize(
    ("unit", "names", "copy", "shown"),
    [
        ("a", ("a",), False, "a"),
        (("a", 2), ("a",), True, "a #2"),
        (("a", np.int64(2)), ("a",), True, "a #2"),
        (("a", "b"), ("a", "b"), False, "a + b"),
        (("a", "2"), ("a", "2"), False, "a + 2"),
    ],
)
def test_units(unit: Unit, names: tuple[str, ...], copy: bool, shown: str) -> None:
    assert members(unit) == names and is_copy(unit) == copy and unit_name(unit) == shown


def test_an_invalid_decision_says_who_when_what_and_which_limit() -> None:
    error = InvalidDecision("mine", 360.0, ("a", "b"), {"n-0": 3}, "at most the 2 that are free")
    assert str(error) == "decision of mine at 360 s, a + b: got {'n-0': 3}; expected at most the 2 that are free"
    assert error.as_json()["status"] == "invalid_decision"
    assert InvalidDecision("mine", 0.0, None, 1, "x").where == "decision of mine at 0 s"


@pytest.mark.parametrize("assign", [[], [Assignment("a", {"n-0": 1}, 60.0)], {"a": 1}, None])
def test_what_is_no_tuple_of_assignments_is_told_where_it_is_made(assign: Any) -> None:
    with pytest.raises(InputError, match=r"Decision, assign: got .*; expected a tuple: \(Assignment\(job"):
        Decision(assign)


@pytest.mark.parametrize(
    ("view", "name", "told"),
    [
        ("jobs", "stepsleft", r"JobView: got 'stepsleft'; expected .* \(did you mean steps_left"),
        ("jobs", "attributes", r"expected jobs\.jobs\[row\]\.attributes"),
        ("nodes", "attributes", r"expected cluster\.machines\[row\]\.attributes"),
        ("jobs", "deadline", "JobView: got 'deadline'; expected one of "),
        ("nodes", "fre", r"\(did you mean free"),
    ],
)
def test_a_name_that_a_view_does_not_have_is_told_with_those_it_has(view: str, name: str, told: str) -> None:
    scenario = make([{"steps": 3.0}])
    snapshot = State(scenario, "s", Oracle(scenario), 0).snapshot("round")
    for seen in (snapshot, snapshot.keep()):
        with pytest.raises(AttributeError, match=told):
            getattr(getattr(seen, view), name)
    assert not hasattr(snapshot.jobs, "_repr_mimebundle_")


def test_an_assignment_is_a_plain_value() -> None:
    a = Assignment("a", {"n-0": 1}, 60.0)
    assert a == Assignment("a", {"n-0": 1}, 60.0, "run", None, 0.0)
    assert a._replace(until_s=120.0).until_s == 120.0


def test_views_have_a_row_per_job_and_node() -> None:
    scenario = make([{"steps": 10.0, "arrival_s": 5.0}, {"steps": 20.0, "weight": 2.0}], {"a": 2, "b": 1})
    state = State(scenario, "none", Oracle(scenario))
    state.advance(5.0)
    snapshot = state.snapshot("arrival")
    jobs, nodes = snapshot.jobs, snapshot.nodes
    assert len(jobs) == 2 and jobs.names == ("j1", "j0") and jobs.at == {"j1": 0, "j0": 1}
    assert jobs.weight.tolist() == [2, 1] and jobs.waited_s.tolist() == [5, 0]
    assert nodes.names == ("a-0", "b-0") and nodes.free.tolist() == [2, 1] and snapshot.capacity.tolist() == [3]
    assert snapshot.belief.speeds(jobs).tolist() == [[1.0], [1.0]]
    assert snapshot.observations == ()
