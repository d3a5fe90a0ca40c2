"""Everything in a decision is checked where decisions are checked; nothing fails later, in the recorder or in
`save`. Each part of a decision is answered with nonsense of every kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench
from tests.simulation.support import Scripted, make
from workbench.base.errors import InputError
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
from workbench.scheduling.solvers.solve_report import SolveReport
from workbench.simulation.enforced_limits import USUAL_PARTS, parts_of
from workbench.simulation.run import Run
from workbench.simulation.schema import TABLES

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
    assert tuple(map(type, parts_of(Decision()))) == USUAL_PARTS
