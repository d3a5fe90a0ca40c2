"""Units, the views of a snapshot, and what an invalid decision says."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.support import make
from workbench.base.errors import InputError
from workbench.scheduling.decision import Assignment, Decision, InvalidDecision, Unit, is_copy, members, unit_name
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.knob import Knob, Value, settle
from workbench.scheduling.placement import FreeGpus, Request, place
from workbench.scheduling.snapshot import NodeView
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
        ("nodes", "attributes", r"expected cluster\.each_node\[row\]\.attributes"),
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


# Knobs: what may be given for one, in Python and as text, and what is refused in which words

ROUND = Knob("round_s", 360.0, "Length of a round", "s", minimum=1.0, maximum=1e9)
NEVER = Knob("refresh_s", None, "Least time", "s", minimum=0.0, optional=True)
AWARE = Knob("aware", True, "Knows speeds")
COUNT = Knob("count", 3, "How many", kind="int", minimum=0)
FACTOR = Knob("factor", 1.5, "A factor")
WORD = Knob("word", "a", "A word")


@pytest.mark.parametrize(
    ("knob", "given", "found"),
    [
        (ROUND, 60, 60.0),
        (ROUND, "60", 60.0),
        (ROUND, "2 h 30 min", 9000.0),
        (ROUND, "1:00:00", 3600.0),
        (NEVER, "none", None),
        (NEVER, "Inf", math.inf),
        (NEVER, "2 d", 172800.0),
        *((AWARE, text, True) for text in ("true", "yes", "on", "1", " On ", "TRUE")),
        *((AWARE, text, False) for text in ("false", "no", "off", "0", "NO")),
        (COUNT, "1", 1),
        (COUNT, "2.0", 2),
        (FACTOR, "1", 1.0),
        (WORD, "yes", "yes"),
        (WORD, "2 h", "2 h"),
    ],
)
def test_what_is_taken(knob: Knob, given: Any, found: Value) -> None:
    checked = knob.check(given)
    assert checked == found and type(checked) is type(found)


@pytest.mark.parametrize(
    ("knob", "given", "expected"),
    [
        (ROUND, "inf", "a number >= 1 and <= 1,000,000,000 s, or a duration such as 2 h 30 min"),
        (ROUND, math.inf, "<= 1,000,000,000 s"),
        (ROUND, math.nan, ">= 1"),
        (ROUND, "0.5 s", ">= 1"),
        (ROUND, "2 parsecs", "a duration such as 2 h 30 min"),
        (ROUND, "yes", "a number"),
        (ROUND, True, "a number"),
        (NEVER, "-5 min", "a number >= 0 s, or a duration such as 2 h 30 min or none"),
        (AWARE, "2", "true or false"),
        (AWARE, "maybe", "true or false"),
        (AWARE, 1, "true or false"),
        (COUNT, "1.5", "a whole number >= 0"),
        (COUNT, "on", "a whole number"),
        (COUNT, "inf", "a whole number"),
        (FACTOR, "2 h", "a number"),
        (FACTOR, [1], "a number"),
        (WORD, "\ud800", "text"),
        (WORD, 3, "text"),
    ],
)
def test_what_is_refused(knob: Knob, given: Any, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        knob.check(given)
    assert caught.value.where == f"knob {knob.name}" and expected in caught.value.expected


def test_unknown_names_and_no_mapping() -> None:
    with pytest.raises(InputError, match="knobs of mine: got 'no'; expected one of word, count"):
        settle([WORD, COUNT], {"no": 1}, "mine")
    with pytest.raises(InputError, match=r"knobs of mine: got 3; expected \{knob: value\}"):
        settle([WORD], 3, "mine")  # type: ignore[arg-type]


def test_reading_a_knob_that_is_not_declared() -> None:
    """In `build` or `decide`; what was settled is else a dict, also where it was sent to another process."""
    found = pickle.loads(pickle.dumps(settle([Knob("cap", 2, "A cap")], {}, "mine")))
    assert found == {"cap": 2} and found.get("cup") is None
    with pytest.raises(InputError, match=r"knobs of mine: got .cup.; expected .*cap"):
        found["cup"]


# Choosing nodes

STYLES = ("consolidate", "fill", "spread")


def view(sizes: list[int], kinds: list[int] | None = None, free: list[int] | None = None) -> NodeView:
    kind = np.array(kinds or [0] * len(sizes))
    names = tuple(f"n{i}" for i in range(len(sizes)))
    return NodeView(names, kind, np.array(sizes), np.array(sizes if free is None else free), np.ones(len(sizes), bool))


def test_consolidate_takes_the_fullest_node_that_holds_the_gang() -> None:
    room = FreeGpus(view([8, 8, 8], free=[8, 3, 2]))
    assert room.consolidate(0, 2) == {"n2": 2}
    assert room.consolidate(0, 2) == {"n1": 2}
    assert room.consolidate(0, 2) == {"n0": 2}
    assert room.free == [6, 1, 0]


def test_consolidate_over_several_nodes_takes_the_fewest_and_a_snug_last_one() -> None:
    room = FreeGpus(view([4, 4, 4, 4], free=[1, 4, 3, 2]))
    assert room.consolidate(0, 6) == {"n1": 4, "n3": 2}
    assert room.free == [1, 0, 3, 0]


def test_fill_takes_nodes_in_order() -> None:
    room = FreeGpus(view([2, 2, 2]))
    assert room.fill(0, 3) == {"n0": 2, "n1": 1}
    assert room.fill(0, 2) == {"n1": 1, "n2": 1}


def test_spread_takes_one_gpu_of_each_of_the_emptiest() -> None:
    room = FreeGpus(view([4, 2, 3]))
    assert room.spread(0, 4) == {"n0": 2, "n1": 1, "n2": 1}


@pytest.mark.parametrize("style", STYLES)
def test_too_few_gpus_take_nothing(style: str) -> None:
    room = FreeGpus(view([2, 2], kinds=[0, 1]))
    assert room.find(style, 0, 3) is None  # type: ignore[arg-type]
    assert room.free == [2, 2]


def test_keep_needs_every_former_gpu_of_the_right_type_and_number() -> None:
    room = FreeGpus(view([4, 4], kinds=[0, 1]))
    assert not room.keep(1, 2, {"n0": 2})
    assert not room.keep(0, 3, {"n0": 2})
    assert not room.keep(0, 2, {"gone": 2})
    assert room.keep(0, 3, {"n0": 3})
    assert not room.keep(0, 2, {"n0": 2})


def test_large_gangs_first_and_who_can_stay_stays() -> None:
    requests = [Request("small", 0, 1, {"n0": 1}), Request("new", 0, 2), Request("large", 0, 2, {"n1": 2})]
    assert place(requests, FreeGpus(view([2, 2])), "fill") == {"large": {"n1": 2}, "new": {"n0": 2}}
    kept = place(requests, FreeGpus(view([2, 2])), "fill", keep_first=True)
    assert kept == {"small": {"n0": 1}, "large": {"n1": 2}}


def test_what_a_unit_does_not_accept_is_given_back() -> None:
    requests = [Request("wide", 0, 3), Request("narrow", 0, 2)]
    placed = place(requests, FreeGpus(view([2, 2])), accept=lambda unit, gpus: False)
    assert placed == {"narrow": {"n0": 2}}


@given(st.data())
def test_never_more_than_is_free_and_always_the_whole_gang_on_one_type(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=8))
    kinds = data.draw(st.lists(st.integers(0, 2), min_size=len(sizes), max_size=len(sizes)))
    nodes = view(sizes, kinds)
    requests = []
    for i in range(data.draw(st.integers(0, 10))):
        kind, gpus = data.draw(st.integers(0, 2)), data.draw(st.integers(1, 6))
        previous = {f"n{data.draw(st.integers(0, len(sizes) - 1))}": gpus} if data.draw(st.booleans()) else None
        requests.append(Request(f"j{i}", kind, gpus, previous))
    style = data.draw(st.sampled_from(STYLES))
    first = data.draw(st.booleans())
    placed = place(requests, FreeGpus(nodes), style, keep_first=first)  # type: ignore[arg-type]
    assert placed == place(requests, FreeGpus(nodes), style, keep_first=first)  # type: ignore[arg-type]
    used = dict.fromkeys(nodes.names, 0)
    for request in requests:
        for node, count in placed.get(request.unit, {}).items():
            used[node] += count
            assert kinds[int(node[1:])] == request.kind and count > 0
        assert sum(placed.get(request.unit, {}).values()) in (0, request.gpus)
    assert all(used[node] <= size for node, size in zip(nodes.names, sizes, strict=True))
    for request in requests:  # who waits would not have fitted
        if request.unit not in placed:
            free = sum(s - used[f"n{i}"] for i, s in enumerate(sizes) if kinds[i] == request.kind)
            assert free < request.gpus
