"""`workbench.testing.check` of schedulers and rooms, and wrong declarations: each rule is broken once."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pytest

import workbench
from tests.package_support import skeleton
from tests.test_testing import told
from workbench.baselines.las import Las
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.scheduling.contract import Route, Timing
from workbench.scheduling.decision import Assignment, Decision
from workbench.scheduling.knob import Knob
from workbench.simulation.job_at_time import Explained
from workbench.testing import check


@dataclass(frozen=True)
class Kept:
    """A memory of what JSON cannot hold."""

    value: Any


class Mine(Las):
    """Right as it stands."""

    name, title = "mine", "Mine"

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        return super().decide(snapshot, memory, knobs, rng)


class Writes(Mine):
    """Into the snapshot."""

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        snapshot.nodes.free.setflags(write=True)
        snapshot.nodes.free[0] -= 1
        return super().decide(snapshot, memory, knobs, rng)


class Moody(Mine):
    """Another answer each time."""

    calls = 0

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        self.calls += 1
        answer, after = super().decide(snapshot, memory, knobs, rng)
        return (answer, after) if self.calls % 2 else (workbench.Decision(), after)


class Remembers(Mine):
    """Something, from the beginning."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def start(self, scenario: Any, knobs: Any) -> Any:
        return Kept(self.value)

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        return super().decide(snapshot, None, knobs, rng)[0], memory


class Scribbles(Mine):
    """Into its memory."""

    def start(self, scenario: Any, knobs: Any) -> Any:
        return {"calls": 0}

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        memory["calls"] += 1
        return super().decide(snapshot, None, knobs, rng)[0], memory


class Idle(Mine):
    """Never gives anybody anything."""

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        return workbench.Decision(), memory


class Half(Mine):
    """Answers with a decision alone."""

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        return workbench.Decision()


class Asks(Mine):
    """For what it does not declare."""

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        snapshot.jobs.jobs[0].attributes.get("rank")
        return super().decide(snapshot, memory, knobs, rng)


class Requires(Mine):
    """What no job has, and it does not declare: told in two ways, by a line that is one."""

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        for job in snapshot.jobs.jobs:
            job.attributes["rank"]
        return super().decide(snapshot, memory, knobs, rng)


class Crowds(Mine):
    """All on the first node, which is full, or else down."""

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        jobs, first = snapshot.jobs, snapshot.nodes.names[0]
        gangs = zip(jobs.names, jobs.gpus.tolist(), strict=True)
        return Decision(assign=tuple(Assignment(name, {first: g}, snapshot.now_s + 99) for name, g in gangs)), memory


class Both(Moody):
    """Another mistake in each scenario, no line of which raises."""

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        answer = super().decide(snapshot, memory, knobs, rng)
        return answer if "game" in snapshot.jobs.names or "vision" in snapshot.jobs.names else answer[0]


class Loud(Mine):
    """Says what it does."""

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        print("deciding")
        return super().decide(snapshot, memory, knobs, rng)


class Falls(Mine):
    """Where a job is called three."""

    line = 0

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        if "three" in snapshot.jobs.names:
            raise KeyError("three")
        return super().decide(snapshot, memory, knobs, rng)


Falls.line = Falls.decide.__code__.co_firstlineno + 2
HERE = "tests/test_testing_schedulers.py"
READ_ONLY = rf"mine, decide, at .* s \({HERE}:\d+\): got a write into an array that is read-only, .*; expected a copy"


def changed(**fields: Any) -> Any:
    """Mine with other fields."""
    return type("Mine", (Mine,), fields)()


ENDLESS = tuple(replace(knob, maximum=np.inf) if knob.name == "round_s" else knob for knob in Las.knobs)


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        (changed(title=""), ["declaration, scheduler mine, title: got ''"]),
        (changed(name=None), ["declaration of Mine, name: got nothing; expected a name such as mine, or room.mine"]),
        (
            changed(name=lambda self: "mine"),
            ["of Mine, name: got a function; expected a name such as mine"],
        ),
        (changed(ways="method"), ["scheduler mine, ways: got 'method'; expected a set of knobs by name"]),
        (changed(stated=3), ["scheduler mine, stated: got 3; expected a method"]),
        (changed(formulation=MaxMinFairness), ["mine, formulation: got <class .*; expected a formulation's name"]),
        (changed(name="My own"), ["declaration of Mine, name: got 'My own'; expected a name such as mine"]),
        (changed(knobs=ENDLESS), ["mine, knobs, round_s: got inf; expected a maximum"]),
        (changed(presets={"a": {"haste": 1}}), ["preset a: got 'haste'; expected one of"]),
        (changed(belief="hearsay"), ["declaration, scheduler mine, belief: got 'hearsay'; expected one of oracle"]),
        (changed(packs="no"), ["scheduler mine, packs: got 'no'; expected True or False"]),
        (changed(uses=frozenset({"haste"})), ["mine, uses: got 'haste'; expected one of"]),
        (changed(timing=lambda self, knobs: None), [rf"mine, timing \({HERE}:\d+\): got None; expected Timing"]),
        (
            changed(timing=lambda self, knobs: Timing(-1)),
            [rf"round_s \({HERE}:\d+\): got -1; expected seconds"],
        ),
        (
            changed(timing=lambda self, knobs: Timing(9, cast("Any", "lunch"))),
            ["causes .*: got 'lunch'; expected a list of"],
        ),
        (Writes(), [rf"snapshot \({HERE}:\d+\): got written into; expected copies of its arrays"]),
        (changed(decide=lambda self, snapshot, *rest: snapshot.jobs.gpus.__setitem__(0, 3)), [READ_ONLY]),
        (changed(decide=lambda self, *rest: np.broadcast_to(np.zeros(1), 3).__setitem__(0, 1)), [READ_ONLY]),
        (
            changed(route=lambda self, knobs: Route("same programme", "hops.round")),
            [rf"mine, route \({HERE}:\d+\): got decisions made by algorithm alone"],
        ),
        (
            changed(formulation="hops.round", route=lambda self, knobs: Route("algorithm", "hops.round", "by rules")),
            [rf"mine, route \({HERE}:\d+\): got hops.round where another formulation is .*; expected self.instead"],
        ),
        (changed(route=lambda self, knobs: "rules"), [rf"mine, route \({HERE}:\d+\): got 'rules'; expected Route"]),
        (
            changed(route=lambda self, knobs: Route("same programme", "no.such")),
            [rf"mine, route \({HERE}:\d+\): got 'no.such'; expected the name of a formulation: one of"],
        ),
        (
            changed(turn=itertools.count(1), timing=lambda self, knobs: Timing(float(next(self.turn)))),
            [rf"mine, timing \({HERE}:\d+\): got two answers; expected one for the same knobs"],
        ),
        (
            changed(decide=lambda self, snapshot, memory, knobs, rng: knobs.__setitem__("round_s", 3)),
            [rf"knobs of mine \({HERE}:\d+\): got written into; expected a copy: knobs"],
        ),
        (
            changed(knobs=(), timing=lambda *_: Timing(), start=lambda self, scenario, knobs: knobs["no_such"]),
            [rf"knobs of mine \({HERE}:\d+\): got 'no_such'; expected no knob: it has none"],
        ),
        (Moody(), [rf"mine, decide, at .* s \({HERE}:\d+\): got two answers to one question"]),
        (Remembers(object()), [r"memory.value .*: got <object"]),
        (Remembers({1, 2}), [r"memory.value .*: got {1, 2}; expected what JSON can hold"]),
        (Remembers({1: 2}), [r"memory.value, a key .*: got 1; expected what JSON can hold"]),
        (Scribbles(), ["memory .*: got written into; expected a new value"]),
        (
            Idle(),
            ["got vision, game and translation unfinished after 200000 s; expected every job finishes"],
        ),
        (
            changed(
                decide=lambda self, *rest: (Decision(assign=(Assignment("vision", cast("Any", {0: 1}), 9.0),)), None)
            ),
            [r"s, answer.assign\[0\].gpus, a key .*: got 0; expected what JSON can hold"],
        ),
        (
            changed(decide=lambda self, snapshot: None),
            [r"decide: got a function\(snapshot\); expected decide\(snapshot, mem"],
        ),
        (Half(), [r"mine, decide, at 0 s, answer .*: got .*; expected a pair \(Decision, memory\)"]),
        (Asks(), [rf"attributes \({HERE}:\d+\) on three jobs .*: got 'rank'; .* uses = {{\"attributes.rank\"}}"]),
        (Requires(), [rf"attributes \({HERE}:\d+\): got 'rank'; .* uses = {{\"attributes.rank\"}}"]),
        (
            Crowds(),
            [rf"mine, decide, at .* s, game \({HERE}:\d+\): got 1 GPU on fast-0; expected at most the 0"],
        ),
        (Both(), [r"on start_here .*: got two answers", r"answer on three jobs .*: got .*; expected a pair"]),
        (changed(stated=lambda *_: 3), [rf"mine, stated \({HERE}:\d+\): got 3; expected a StatedProblem, or None"]),
        (changed(exact=lambda *_: {}), [rf"mine, exact \({HERE}:\d+\): got {{}}; expected an ExactProblem"]),
        (
            changed(exact=lambda _, snapshot, *rest: [job.attributes["rank"] for job in snapshot.jobs.jobs]),
            [rf"mine, exact.*attributes \({HERE}:\d+\): got 'rank'; .* uses = {{\"attributes.rank\"}}"],
        ),
        (Loud(), ["mine: got deciding; expected nothing printed, no warning$"]),
        (
            Falls(),
            [rf"mine, decide \({HERE}:{Falls.line}\) on three jobs with a failure: got KeyError: 'three'"],
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_scheduler_that_breaks_a_rule(scheduler: Any, expected: list[str]) -> None:
    """Once for both scenarios, with the line of its code; with the scenario, where it is only in one."""
    told(scheduler, *expected)


class Scaled(NamedTuple):
    """A policy whose shares are so many times those of its problem."""

    policy: Any
    times: float

    def __call__(self, snapshot: Any, knobs: Any, memory: Any = None) -> Any:
        found = self.policy(snapshot, knobs, memory)
        values = np.minimum(1.0, self.times * found.shares.values)
        return found._replace(shares=replace(found.shares, values=values))

    def stated(self, snapshot: Any, knobs: Any, memory: Any = None) -> Any:
        return self.policy.stated(snapshot, knobs, memory)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (lambda: Route("model", "a.b"), "route, kind: got 'model'; expected one of same programme"),  # type: ignore[arg-type]
        (lambda: Route("same programme"), "route, formulation: got nothing"),
        (lambda: Route("other route", "a.b"), "route, reason: got nothing"),
        (lambda: Explained(sentences="As it is."), "sentences: got 'As it is.'; expected a tuple"),  # type: ignore[arg-type]
        (lambda: Knob("a", 1.0, "A.", minimum="0"), "knob a, minimum: got '0'; expected a number"),  # type: ignore[arg-type]
        (lambda: Knob("a", "x", "A.", kind="str", choices="xy"), "knob a, choices: got 'xy'; expected a tuple"),  # type: ignore[arg-type]
        (lambda: Knob("a", 1.0, "A.", unit=3), "knob a, unit: got 3; expected text"),  # type: ignore[arg-type]
        (lambda: Knob("a", 1.0, "A.", main="no"), "knob a, main: got 'no'; expected True or False"),  # type: ignore[arg-type]
        (lambda: Knob("a", 1.0, "A.", source="me"), "knob a, source: got 'me'; expected paper, code or ours"),  # type: ignore[arg-type]
        (lambda: Knob("a", 1.0, "A.", usual=3), r"knob a, usual: got 3; expected a tuple of three numbers"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_declaration_is_told_where_it_is_made(declared: Callable[[], Any], expected: str) -> None:
    with pytest.raises(workbench.InputError, match=expected):
        declared()


def test_a_room_that_breaks_a_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skeleton("right", tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "right")
    room = importlib.import_module("right").ROOM
    check(Mine())
    check(room)
    [right] = room.schedulers
    policy = right.policy
    monkeypatch.setattr(right, "policy", lambda *given: policy(*given))  # which states nothing
    told(room, r"right, stated .*: got None; expected the StatedProblem of right.max_min_share")
    monkeypatch.setattr(right, "policy", policy)
    alone = replace(room, schedulers=(), explanations={})
    told(replace(alone, example="nowhere"), "room right, example: got 'nowhere'; expected one of")
    told(replace(alone, symbols={"a job": "max_min_share q"}), "symbols, a job: got 'right.max_min_share q'")
    silent = replace(room, formulations=(), symbols={})
    told(silent, "right, route .*: got 'right.max_min_share'; expected the name of a formulation: one of")
    monkeypatch.setattr(right, "_route", lambda knobs: Route())
    told(silent, r"right, route .*: got decisions made by model, and a route that is an algorithm")
    monkeypatch.setattr(right, "_route", lambda knobs: Route("other route", "isolated", "for a test"))
    told(replace(silent, explanations={}), "explanations: got nothing; expected a function for right")
    for times, expected in (
        (0.5, "shares .*where its answer is .*right.max_min_share has"),
        (3.0, "no more than are up"),
    ):
        monkeypatch.setattr(right, "policy", Scaled(policy, times))
        told(silent, f"right, decide, .*{expected}")
    monkeypatch.setattr(right, "policy", policy)
    told(replace(silent, explanations={"right": lambda job_at: Explained()}), "sentences: got nothing; expected why")
    told(
        replace(silent, explanations={"right": lambda job_at: 3}), "explanations, right, answer: got 3; expected an Exp"
    )
