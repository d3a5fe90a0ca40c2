"""Every limit that a decision breaks: it is refused with names and numbers, and nothing of it is carried out."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench
from tests.simulation.support import Scripted, give, make
from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import (
    Assignment,
    Decision,
    InvalidDecision,
    PlacedType,
    Reason,
    Shares,
    Slot,
    Switch,
    Task,
)  # fmt: skip
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.solvers.solve_report import SolveReport
from workbench.simulation.enforced_limits import USUAL_PARTS
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run
from workbench.simulation.schema import TABLES
from workbench.simulation.state import State

A, B = {"a-0": 1}, {"b-0": 1}


def world() -> Scenario:
    """Two nodes of 2 and 1 GPUs, a third of a type on which nothing runs; j0, j1, j2 there, j3 (2 GPUs), j4 later."""
    data = make([{"steps": 100.0}] * 3, {"a": 2, "b": 1}).to_dict()
    data["jobs"] += [{"name": "j3", "model": "m", "steps": 100.0, "gpus": 2}]
    data["jobs"] += [{"name": "j4", "model": "m", "steps": 100.0, "arrival_s": 500.0}]
    data["cluster"]["accelerators"].append({"name": "slow"})
    data["cluster"]["nodes"].append({"name": "c", "accelerator": "slow", "gpus": 2})
    data["core"] = {"faults": {"list": [{"node": "b-0", "from_s": 60.0, "to_s": 1000.0}]}}
    return Scenario.from_dict(data)


def at_60() -> State:
    """A state at 60 s: j0 holds a-0 until 200 s, j1's assignment on a-0 ends now, b-0 has just failed."""
    state = State(world(), "bad", Oracle(world()))
    state.snapshot("round")
    state.apply(Decision(assign=(Assignment("j0", A, 200.0), Assignment("j1", A, 60.0))), "round")
    state.advance(60.0)
    return state


def picture(state: State) -> Any:
    """All that a decision may change, to compare."""
    book = state.book
    arrays = [v.copy() for v in vars(book).values() if isinstance(v, np.ndarray)]
    arrays += [state.nodes.idle.copy(), state.nodes.up.copy()]
    leases = {
        unit: (lease.assignment, lease.until_s, lease.slots, lease.mark_s, lease.caps)
        for unit, lease in (*state.leasing.leases.items(), *state.leasing.ended.items())
    }
    free = copy.deepcopy(state.nodes.slots._free)
    return arrays, leases, free, list(state.recorder._events.fresh), state.recorder.decisions, list(book.verdict)


def one(unit: Any, gpus: Mapping[str, Any], until_s: float = 120.0, **rest: Any) -> Decision:
    return give(unit, gpus, until_s, **rest)


def both(*assignments: Assignment, **rest: Any) -> Decision:
    return Decision(assign=assignments, **rest)


BAD: dict[str, tuple[Decision, str, str]] = {
    "unknown job": (one("x", A), "x", "arrived and not finished"),
    "not arrived": (one("j4", A), "j4", "arrived and not finished"),
    "unknown node": (one("j2", {"z": 1}), "j2", "name of a node"),
    "node down": (one("j2", B), "j2", "up"),
    "too many GPUs": (one("j3", {"a-0": 2}), "j3", "at most the 1"),
    "too many together": (both(Assignment("j1", A, 120.0), Assignment("j2", A, 120.0)), "j2", "at most the 0"),
    "wrong gang": (one("j3", A), "j3", "2 GPUs"),
    "gang too large": (one("j2", {"a-0": 2}), "j2", "1 GPU"),
    "no GPUs": (one("j2", {}), "j2", "at least one GPU"),
    "zero GPUs": (one("j2", {"a-0": 0}), "j2", "whole number"),
    "negative GPUs": (one("j2", {"a-0": -1}), "j2", "whole number"),
    "half a GPU": (one("j2", {"a-0": 0.5}), "j2", "whole number"),
    "a whole float": (one("j2", {"a-0": 1.0}), "j2", "whole number"),
    "GPUs as text": (one("j2", {"a-0": "one"}), "j2", "whole number"),
    "True GPUs": (one("j2", {"a-0": True}), "j2", "whole number"),
    "cannot run there": (one("j2", {"c-0": 1}), "j2", "throughput > 0"),
    "ends now": (one("j2", A, 60.0), "j2", "after now"),
    "end is no number": (one("j2", A, float("nan")), "j2", "after now"),
    "unknown kind": (one("j2", A, kind="rest"), "j2", "run or profile"),
    "negative steps": (one("j2", A, steps=-1.0), "j2", "number >= 0"),
    "endless steps": (one("j2", A, steps=float("inf")), "j2", "number >= 0"),
    "negative tail": (one("j2", A, tail_s=-1.0), "j2", "fit into"),
    "tail too long": (one("j2", A, tail_s=61.0), "j2", "fit into"),
    "renewal with negative steps": (one("j1", A, steps=-1.0), "j1", "number >= 0"),
    "renewal with too long a tail": (one("j1", A, tail_s=61.0), "j1", "fit into"),
    "the same unit twice": (both(Assignment("j2", A, 120.0), Assignment("j2", A, 180.0)), "j2", "once"),
    "two units of a job": (
        both(Assignment("j2", A, 120.0), Assignment(("j2", 0), A, 120.0, steps=1)),
        "j2",
        "one unit",
    ),
    "copy beside its job": (one(("j0", 1), A, steps=1.0), "j0 #1", "one unit"),
    "copy without steps": (one(("j2", 0), A), "j2 #0", "number of steps"),
    "copy over two nodes": (one(("j3", 0), {"a-0": 1, "c-0": 1}, steps=1.0), "j3 #0", "one node"),
    "copy too large": (one(("j2", 0), {"a-0": 2}, steps=1.0), "j2 #0", "one node"),
    "profile too large": (one("j2", {"a-0": 2}, kind="profile"), "j2", "to profile"),
    "pair where none may share": (one(("j1", "j2"), A), "j1 + j2", "space_sharing"),
    "move without preempting": (one("j0", {"c-0": 1}), "j0", "preempt"),
    "sooner end without preempting": (one("j0", A, 120.0), "j0", "preempt"),
    "preempt who holds nothing": (Decision(preempt=frozenset({"j2"})), "j2", "holds GPUs"),
    "preempt who ends anyway": (Decision(preempt=frozenset({"j1"})), "j1", "holds GPUs"),
    "verdict on nobody": (Decision(verdicts={"x": "refused"}), "x", "arrived and not finished"),
    "verdict unknown": (Decision(verdicts={"j2": "maybe"}), "j2", "guaranteed"),  # type: ignore[dict-item]
    "refused and assigned": (both(Assignment("j2", A, 120.0), verdicts={"j2": "refused"}), "j2", "refused"),
    "asks in the past": (Decision(next_s=60.0), "", "after now"),
    "asks at no time": (Decision(next_s=float("nan")), "", "after now"),
    "is quiet until no time": (Decision(quiet_s=float("nan")), "", "a time"),
    "is quiet for ever": (Decision(quiet_s=float("inf")), "", "not infinity"),
    "unit of one": (one(("j2",), A), "", "a pair"),
    "unit of three": (one(("j0", "j1", "j2"), A), "", "a pair"),
    "unit is a number": (one(3, A), "", "a pair"),
    "copy number is a truth": (one(("j2", True), A, steps=1.0), "", "a pair"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_broken_limit_is_named_and_nothing_is_changed(case: str) -> None:
    decision, unit, limit = BAD[case]
    state = at_60()
    before = picture(state)
    with pytest.raises(InvalidDecision) as caught:
        state.apply(decision, "round")
    error = caught.value
    assert "bad at 60 s" in error.where and unit in error.where
    assert limit in error.expected
    assert error.status == "invalid_decision" and error.exit_code == 1
    after = picture(state)
    assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(before[0], after[0], strict=True))
    assert before[1:] == after[1:]


@pytest.mark.parametrize("case", ["too many together", "unknown job"])
def test_a_good_part_beside_a_bad_one_is_not_carried_out(case: str) -> None:
    bad, _, _ = BAD[case]
    state = at_60()
    before = picture(state)
    good = Decision(assign=(Assignment("j0", A, 300.0), *bad.assign), verdicts={"j0": "guaranteed"})
    with pytest.raises(InvalidDecision):
        state.apply(good, "round")
    assert before[1:] == picture(state)[1:]


def test_pairs_have_equal_gangs_and_a_row_of_their_own() -> None:
    scenario = make([{"steps": 10.0}] * 2, 2).to_dict()
    scenario["jobs"] += [{"name": "wide", "model": "m", "steps": 10.0, "gpus": 2}]
    scenario["jobs"] += [{"name": "lonely", "model": "n", "steps": 10.0}]
    scenario["throughputs"].append({"model": "n", "accelerator": "t", "steps_per_s": 1.0})
    scenario["core"] = {"space_sharing": True}
    scenario["colocated"] = [
        {"model": "m", "with_model": "m", "accelerator": "t", "steps_per_s": 1.0, "with_steps_per_s": 1.0}
    ]
    for decision, limit in (
        (one(("j0", "wide"), {"n-0": 1}), "gang of both"),
        (one(("j0", "j0"), {"n-0": 1}), "one unit only"),
        (one(("j0", "lonely"), {"n-0": 1}), "throughput > 0"),
        (one(("j0", "j1"), {"n-0": 1}, tail_s=1.0), "no consolidation of a pair"),
    ):
        with pytest.raises(InvalidDecision, match=limit):
            run_loop(Scenario.from_dict(scenario), Scripted(lambda s, answer=decision: answer))


def test_a_finished_job_gets_nothing() -> None:
    steps = iter([one("j0", {"n-0": 1}, 60.0), one("j0", {"n-0": 1}, 120.0)])
    with pytest.raises(InvalidDecision, match="arrived and not finished"):
        run_loop(make([{"steps": 5.0}, {"steps": 5.0}]), Scripted(lambda s: next(steps)))


def test_numpy_counts_are_counts() -> None:
    run = run_loop(make([{"steps": 5.0}]), Scripted(lambda s: one("j0", {"n-0": np.int64(1)})))
    assert run.jobs.finish_s[0] == 5.0


def test_a_scheduler_that_changes_its_answer_afterwards_does_not_change_the_state() -> None:
    scenario, gpus = make([{"steps": 100.0}], 2), {"n-0": 1}
    state = State(scenario, "spoils", Oracle(scenario))
    state.apply(one("j0", gpus, 60.0), "round")
    gpus["n-0"] = 7
    state.advance(60.0)
    state.release_ended()
    assert state.nodes.idle == [2]


def test_a_view_cannot_change_the_core() -> None:
    scenario = make([{"steps": 100.0}], 2)
    state = State(scenario, "spoils", Oracle(scenario))
    view = state.snapshot("round").nodes
    for array in (view.gpus, view.kind):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
    view.free[0] = view.up[0] = 0
    assert state.nodes.free(state.leasing).tolist() == [2]


ODD: dict[str, tuple[Any, str]] = {
    "nothing": (None, "a pair (Decision, memory)"),
    "a bare decision": (Decision(), "a pair (Decision, memory)"),
    "three": ((Decision(), None, None), "a pair (Decision, memory)"),
    "no decision": (({}, None), "a pair (Decision, memory)"),
    "plain tuples": ((Decision(assign=(("j0", {"n-0": 1}, 9.0),)), None), "an Assignment"),  # type: ignore[arg-type]
    "until is text": ((give("j0", {"n-0": 1}, "x"), None), "a number of seconds"),  # type: ignore[arg-type]
    "until is None": ((give("j0", {"n-0": 1}, None), None), "a number of seconds"),  # type: ignore[arg-type]
    "gpus is a list": ((give("j0", ["n-0"]), None), "{node: GPUs}"),  # type: ignore[arg-type]
    "steps is text": ((give("j0", {"n-0": 1}, steps="x"), None), "a number >= 0"),
    "tail is None": ((give("j0", {"n-0": 1}, tail_s=None), None), "a number of seconds"),
    "a unit is a list": ((give(["j0"], {"n-0": 1}), None), "a pair"),  # type: ignore[arg-type]
    "preempt is a job": ((Decision(preempt="j0"), None), "a set of units"),  # type: ignore[arg-type]
    "preempt of a number": ((Decision(preempt=frozenset({3})), None), "a pair"),  # type: ignore[arg-type]
    "next_s is text": ((Decision(next_s="x"), None), "a time after now"),  # type: ignore[arg-type]
    "quiet_s is text": ((Decision(quiet_s="x"), None), "a time"),  # type: ignore[arg-type]
    "verdicts is a list": ((Decision(verdicts=["j0"]), None), "{job: verdict}"),  # type: ignore[arg-type]
    "a verdict is a list": ((Decision(verdicts={"j0": []}), None), "guaranteed"),  # type: ignore[dict-item]
    "why is text": ((Decision(why={"j0": "so"}), None), "a Reason"),  # type: ignore[dict-item]
    "signals are flat": ((Decision(signals={"x": 1.0}), None), "{job: value}"),  # type: ignore[dict-item]
    "sequences is a list": ((Decision(sequences=[]), None), "{Slot: tuple"),  # type: ignore[arg-type]
    "a slot is a pair": ((Decision(sequences={("n-0", 0): ()}), None), "a Slot"),  # type: ignore[dict-item]
    "a task is text": ((Decision(sequences={Slot("n-0", 0): (Task("j0", "x", 0),)}), None), "a Task"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", ODD)
def test_an_answer_of_the_wrong_shape_is_refused(case: str) -> None:
    answer, expected = ODD[case]

    class Odd(Scripted):
        def decide(self, *_: Any) -> Any:
            return answer

    with pytest.raises(InvalidDecision) as caught:
        run_loop(make([{"steps": 5.0}]), Odd(lambda s: Decision()))
    assert "scripted at 0 s" in caught.value.where and caught.value.__notes__ == ["with 1 job there"]
    assert expected in caught.value.expected


def test_a_scheduler_cannot_change_its_knobs() -> None:
    class Greedy(Scripted):
        def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
            with pytest.raises(InputError, match="written into; expected a copy"):
                knobs["x"] = 1
            return super().decide(snapshot, memory, knobs, rng)

    assert run_loop(make([{"steps": 5.0}]), Greedy(lambda s: one("j0", {"n-0": 1}))).knobs == {}


def test_node_speeds_are_not_shown() -> None:
    data = make([{"steps": 5.0}]).to_dict()
    data["cluster"]["nodes"][0]["speed"] = 0.5
    scenario = Scenario.from_dict(data)
    assert scenario.cluster.each_node[0].speed == 0.5
    shown = State(scenario, "looks", Oracle(scenario)).snapshot("round").cluster
    assert shown.each_node[0].speed == shown.nodes[0].speed == 1.0


# Everything in a decision is checked where decisions are checked; nothing fails later, in the recorder or in

JOB, NODE, TYPE = "j0", "n-0", "t"
HALF = "half \ud800"
HUGE = 10**400


class Odd:
    """An object of no use to anybody."""

    __hash__ = object.__hash__


NONSENSE: tuple[Any, ...] = (
    None, "", JOB, HALF, "turned \u202e", "two\nlines", "y" * 9_999, b"bytes", True, -1, 2.5, HUGE, math.nan, math.inf,
    (JOB, JOB), (JOB, -1), (JOB, HALF), [], {}, {JOB: None}, {HALF: 1.0}, np.array([1.0, 2.0]), np.array([[0.5]]),
    np.array([[None]], dtype=object), Odd(), SolveReport("x", None),
)  # fmt: skip


class Costs:
    """Switching whose switches are what is given."""

    def __init__(self, switch: Any) -> None:
        self._switch = switch

    def begin(self, *_: Any) -> Any:
        return self._switch

    def fault(self, held: Any) -> Any:
        return held


def of(**parts: Any) -> Decision:
    """A decision that runs the job, and has these parts too."""
    return Decision(**{"assign": (Assignment(JOB, {NODE: 1}, math.inf),), **parts})


def assign(**parts: Any) -> Decision:
    return of(assign=(Assignment(**{"unit": JOB, "gpus": {NODE: 1}, "until_s": math.inf, **parts}),))


def share(**parts: Any) -> Decision:
    return of(shares=Shares(**{"units": (JOB,), "types": (TYPE,), "values": np.array([[1.0]]), **parts}))


def tasks(switch: Any = None, slot: Any = None, **parts: Any) -> Decision:
    """The first task as given, the others to the end as they should be."""
    found = [Task(JOB, i, 0) for i in range(3)]
    found[0] = Task(**{"job": JOB, "round": 0, "number": 0, **parts})
    return Decision(
        sequences={Slot(NODE, 0) if slot is None else slot: tuple(found)},
        switching=None if switch is None else Costs(switch),
    )


def keyed(value: Any, build: Callable[[dict[Any, Any]], Decision], item: Any) -> Decision:
    """A mapping with this key; what cannot be one is no answer at all."""
    return build({value: item})


FIELDS: dict[str, Callable[[Any], Decision]] = {
    **{
        name: lambda v, name=name: of(**{name: v})
        for name in (
            *("assign", "preempt", "switching", "verdicts", "shares", "signals", "solved", "why", "next_s", "quiet_s"),
        )
    },
    "an assignment": lambda v: of(assign=(v,)),
    **{
        f"assignment {name}": lambda v, name=name: assign(**{name: v})
        for name in ("unit", "gpus", "until_s", "kind", "steps", "tail_s")
    },
    "a node": lambda v: assign(gpus={v: 1}),
    "GPUs of a node": lambda v: assign(gpus={NODE: v}),
    "a preempted unit": lambda v: of(preempt=frozenset({v})),
    "sequences": lambda v: Decision(sequences=v),
    "a slot": lambda v: tasks(slot=v),
    "a slot's node": lambda v: tasks(slot=Slot(v, 0)),
    "a slot's number": lambda v: tasks(slot=Slot(NODE, v)),
    "the tasks of a slot": lambda v: Decision(sequences={Slot(NODE, 0): v}),
    "a task": lambda v: Decision(sequences={Slot(NODE, 0): (v,)}),
    **{
        f"task {name}": lambda v, name=name: tasks(**{name: v})
        for name in ("job", "round", "number", "steps", "together", "width")
    },
    "a switch": lambda v: tasks(switch=Odd if v is None else v),
    "a switch's seconds": lambda v: tasks(switch=Switch(v)),
    "a switch's reason": lambda v: tasks(switch=Switch(0.5, v)),
    "a verdict's job": lambda v: of(verdicts={v: "guaranteed"}),
    "a verdict": lambda v: of(verdicts={JOB: v}),
    **{f"shares {name}": lambda v, name=name: share(**{name: v}) for name in ("units", "types", "values", "kinds")},
    "a unit of shares": lambda v: share(units=(v,)),
    "a type of shares": lambda v: share(types=(v,)),
    "a placed type": lambda v: share(kinds=(v,)),
    "a placed type's name": lambda v: share(kinds=(PlacedType(v),)),
    "a placed type's placement": lambda v: share(kinds=(PlacedType(TYPE, v),)),
    "a signal's name": lambda v: of(signals={v: {JOB: 1.0}}),
    "a signal": lambda v: of(signals={"x": v}),
    "a signal's job": lambda v: of(signals={"x": {v: 1.0}}),
    "a signal's value": lambda v: of(signals={"x": {JOB: v}}),
    **{
        f"solved {name}": lambda v, name=name: of(solved=SolveReport(**{"status": "", "objective": None, name: v}))
        for name in ("status", "objective", "bound", "gap", "build_s", "solve_s", "made_by")
    },
    "a reason's job": lambda v: of(why={v: Reason("a", "b")}),
    "a reason": lambda v: of(why={JOB: v}),
    "a code": lambda v: of(why={JOB: Reason(v, "b")}),
    "a reason's text": lambda v: of(why={JOB: Reason("a", v)}),
    "facts": lambda v: of(why={JOB: Reason("a", "b", v)}),
    "a fact's name": lambda v: of(why={JOB: Reason("a", "b", {v: 1.0})}),
    "a fact": lambda v: of(why={JOB: Reason("a", "b", {"x": v})}),
}  # fmt: skip


def hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("field", FIELDS)
def test_nonsense_is_refused_where_it_is_answered_or_harmless(field: str, tmp_path: Path) -> None:
    scenario = make([{"steps": 3.0}])
    refused, harmless = 0, []
    for value in NONSENSE:
        try:
            decision = FIELDS[field](value)
        except TypeError:  # no key of a mapping: the scheduler itself could not have answered it
            assert not hashable(value)
            continue
        except InputError as error:  # told where it is made
            assert error.where == "Decision, assign"
            refused += 1
            continue
        try:
            run = workbench.simulate(scenario, Scripted(lambda s, d=decision: d), until_s=600.0)
        except InvalidDecision as error:
            assert error.where.startswith("decision of scripted at ") and len(str(error)) < 1_500
            assert error.expected and "\n" not in str(error) and "\u202e" not in str(error)
            refused += 1
        else:
            harmless.append(run)
            for table in TABLES:
                assert run.table(table.name).to_csv().encode(), value
    if harmless:
        harmless[-1].save(tmp_path / "run")
        assert Run.load(tmp_path / "run").jobs.equals(harmless[-1].jobs)
    assert refused >= len(NONSENSE) // 2


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (of(signals={"x": {JOB: None}}), r"got signals\['x'\]\['j0'\] None; expected a number"),
        (of(signals={"x": {"j9": 1.0}}), r"got a job of signals\['x'\], 'j9'; expected the name of a job"),
        (share(values=np.ones((2, 1))), r"got shares.values of shape \(2, 1\); expected 1 units x 1 types"),
        (share(values=np.array([[math.nan]])), "got shares of j0 on t: nan; expected a share from 0 to 1"),
        (of(solved=SolveReport("ok", "x")), "got solved.objective 'x'; expected a number, or None"),  # type: ignore[arg-type]
        (of(why={JOB: Reason("a", HALF)}), r"got why\['j0'\].text 'half \\ud800'; expected text on one line"),
    ],
)  # fmt: skip
def test_the_error_says_who_when_what_and_what_was_expected(decision: Decision, said: str) -> None:
    with pytest.raises(InvalidDecision, match=f"decision of scripted at 0 s: {said}"):
        workbench.simulate(make([{"steps": 3.0}]), Scripted(lambda s: decision))


def test_the_parts_of_a_plain_decision_need_no_closer_look() -> None:
    assert tuple(map(type, vars(Decision()).values()))[1:-2] == USUAL_PARTS
