"""`workbench.testing.check` finds what is wrong: each rule is broken once, in a package that is right as written."""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import logging
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, cast

import numpy as np
import pyomo.environ as pyo
import pytest

import workbench
from tests.package_support import skeleton
from workbench.baselines.las import Las
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.scheduling.contract import Route, Timing
from workbench.scheduling.decision import Assignment, Decision
from workbench.scheduling.knob import Knob
from workbench.simulation.job_at_time import Explained
from workbench.testing import ContractError, check, same_programme

SMALL = "preset:start_here"
FORMULATION, INSTANCE, KNOBS = "formulations/max_min_share.py", "instance.py", "knobs.py"


def told(offered: Any, *expected: str, more: bool = False) -> None:
    """The check shows nothing and raises one error, whose problems are these and no others, each on a line.

    more: others may follow from them.
    """
    with contextlib.redirect_stdout(io.StringIO()) as shown, pytest.raises(ContractError) as caught:
        shows = logging.StreamHandler(shown)  # as Pyomo's own does, which under pytest is silent
        logging.getLogger("pyomo").addHandler(shows)
        try:
            check(offered)
        finally:
            logging.getLogger("pyomo").removeHandler(shows)
    assert not shown.getvalue() and "\\n" not in str(caught.value)
    problems = [str(problem) for problem in caught.value.problems]
    for each in expected:
        assert any(re.search(each, problem) for problem in problems), problems
    assert more or len(problems) == len(expected), problems


WRONG = {
    "no_row": (
        FORMULATION,
        r"      t free  .*\n",
        "",
        "level: got nothing; expected a line of the docstring that ends in",
    ),
    "tag": (
        FORMULATION,
        r"(?s)X_jk <= 1 (.*)\(ours\) t is no",
        r"X_jk <= 2 \1(7) t is no",
        r"epigraph: got '\(7\)'; expected \(ours\), as the docstring",
        r"job_time\[.* expected what the docstring says: left - right <= 0",
    ),
    "no_tag": (
        FORMULATION,
        r"\(ours\) no more",
        "no more",
        "capacity: got nothing; expected doc= that begins with a tag",
    ),
    "no_part": (
        FORMULATION,
        r"( +)t free  .*\n",
        r"\g<0>\1Z <= 1   (9)   gone\n",
        "gone: got nothing; expected a part",
    ),
    "solves": (FORMULATION, "        return m\n", "        solve_model(m)\n        return m\n", "values of a solve"),
    "prints": (
        FORMULATION,
        "        return m\n",
        "        print('!'); print('!'); import warnings; warnings.warn('?')\n        return m\n",
        r"build: got ! \?; expected nothing printed",
    ),
    "typo": (
        FORMULATION,
        r"m\.share\[",
        "m.shaer[",
        r"build .*: got AttributeError: 'ConcreteModel' object has no attribute 'shaer'; expected an unsolved model",
    ),
    "no_knob": (
        FORMULATION,
        r'knobs\["most_share"\]',
        'knobs["mst_share"]',
        r"build, knobs of .*: got 'mst_share'; expected one of most_share \(did you mean most_share\?\)",
    ),
    "loud": (
        FORMULATION,
        r"return \w+.from_snapshot\(snapshot\)",
        "print('!')\n        return WrongLoudInstance.from_snapshot(snapshot)",
        r"wrong_loud.max_min_share: got !; expected nothing printed",
    ),
    "unordered": (
        FORMULATION,
        "initialize=data.jobs",
        "initialize=set(data.jobs)",
        "fundamentally unordered data source",
    ),
    "random": (
        FORMULATION,
        "        return m\n",
        "        import random\n        return m\n",
        "got a clock, file or random state: random; expected only",
    ),
    "clock": (
        FORMULATION,
        "        return m\n",
        "        # no time. (open)\n        time = m\n        time.name\n        np.random.rand()\n        return m\n",
        "random state: np.random.rand; exp",
    ),
    "none": (
        FORMULATION,
        "        return m\n",
        "        return None\n",
        "build, answer: got None; expected a pyomo ConcreteModel",
    ),
    "unread": (
        FORMULATION,
        r"return _result\(data, shares\)",
        "return None",
        "answer: got None; expected a workbench.Result",
    ),
    "unstated": (
        FORMULATION,
        r"(?s)^\"\"\".*?\"\"\"",
        '"""Nothing."""',
        "docstring: got nothing; expected lines such as",
    ),
    "aimless": (
        FORMULATION,
        r"(?s)        @m.Objective.*?level\n",
        "",
        "worst_job: got nothing; expected a part of the model",
    ),
    "no_data": (
        FORMULATION,
        r"return \w+.from_snapshot\(snapshot\)",
        "return None",
        "data: got .*NoneType.*; expected a frozen",
    ),
    "a_dict": (
        FORMULATION,
        r"return \w+.from_snapshot\(snapshot\)",
        "return {'jobs': 1}",
        "data: got <class 'dict'>; expected a frozen dataclass",
    ),
    "least": (
        FORMULATION,
        "sense=pyo.maximize",
        "sense=pyo.minimize",
        r"objective: got \['min'\]; expected one active objective, max as in the docstring",
    ),
    "raises": (
        FORMULATION,
        "        return m\n",
        "        return m.nothing\n",
        r"build .*raises/wrong_raises/formulations/max_min_share.py:\d+\): got AttributeError",
    ),
    "wrong": (
        FORMULATION,
        r"worst = float",
        "worst = 2 * float",
        "objective: got .* where the model has .*; expected the model's at the same",
    ),
    "best": (
        FORMULATION,
        r"sum\(axis=1\)\.min\(\)\)",
        "sum(axis=1).max())",
        "objective away from the optimum with highs: got .*; expected the model's at the same",
    ),
    "sense": (
        FORMULATION,
        '"max", "1", {"all',
        '"min", "1", {"all',
        "sense: got 'min'; expected max, as in the docstring",
    ),
    "unit": (FORMULATION, '"max", "1", {"all', '"max", "", {"all', "unit: got nothing; expected the objective's unit"),
    "json": (
        FORMULATION,
        '{"allocation": alloc',
        '{"x": {1}, "allocation": alloc',
        "values: got TypeError: Object of type set .* what JSON can hold",
    ),
    "letter": (
        FORMULATION,
        r"c_k \| GPUs",
        "g_j | GPUs",
        "symbols: got 'g_j'; expected one meaning",
    ),
    "no_unit": (FORMULATION, r"gang \| GPUs", "gang", r"gang: got .*; expected doc= symbol \| meaning \| unit"),
    "renamed": (
        FORMULATION,
        r"def capacity\(m",
        "def capcity(m",
        "capcity: got 'capcity'; expected capacity, as the docstring says",
    ),
    "twice_as_many": (
        FORMULATION,
        r"<= m\.gpus\[kind\]",
        "<= 2 * m.gpus[kind]",
        r"capacity\[v100\]: got left - right <= 0, .*; expected what the docstring says",
    ),
    "small": (FORMULATION, r"m\.JOBS", "m.jobs", "jobs: got 'jobs'; expected CAPITALS"),
    "crowded": (
        FORMULATION,
        "def trivial",
        "def other",
        r"(?s)without jobs \(.*answer where nobody is there",
    ),
    "hidden": (FORMULATION, r"m\.level = (pyo.*)\n", r"m.add_component('level', \1)\n", "level: got not in the source"),
    "title": (FORMULATION, 'title = ".*"', 'title = ""', "title: got ''; expected a few words"),
    "writeable": (INSTANCE, r"fixed\((shaped\(.*\))\)\)", r"\1)", *["an array that can be written into"] * 3),
    "chance": (
        INSTANCE,
        r"fixed\((shaped\(.*\))\)\)",
        r"fixed(\1 * np.random.rand()))",
        "data: got other numbers when asked again; expected the same",
    ),
    "thawed": (
        INSTANCE,
        "frozen=True, ",
        "",
        "data: got WrongThawedInstance whose fields can be set; expected @dataclass",
    ),
    "at_its_default": (FORMULATION, "most if pace", "1 if pace", r"share\[.*got 0 to 1; expected what .* 0 to 0\.505"),
    "no_help": (KNOBS, '"Largest .*?"', '""', "knob most_share, help: got nothing; expected a sentence"),
}
"""Of a package by name: the file, what is replaced by what, and what is told of it."""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("packages")
    with pytest.MonkeyPatch.context() as patch:
        for name, (path, right, wrong, *_) in WRONG.items():
            changed = skeleton(f"wrong_{name}", folder) / f"wrong_{name}" / path
            text, count = re.subn(right, wrong, changed.read_text(encoding="utf-8"))
            assert count, name
            text = text.replace("import SolverFailedError", "import SolverFailedError, solve_model")
            changed.write_text(text, encoding="utf-8")
            patch.syspath_prepend(folder / f"wrong_{name}")
        yield folder


@pytest.mark.parametrize("name", WRONG)
def test_a_formulation_that_breaks_a_rule(packages: Path, name: str) -> None:
    if name in ("title", "no_help"):  # told by the declaration already
        with pytest.raises(workbench.InputError, match=WRONG[name][3]):
            importlib.import_module(f"wrong_{name}")
        return
    [formulation] = importlib.import_module(f"wrong_{name}").ROOM.formulations
    told(formulation, *WRONG[name][3:], more=name == "unordered")
    if name in ("typo", "no_knob", "json", "chance", "twice_as_many"):  # met by the scheduler again
        told(importlib.import_module(f"wrong_{name}").ROOM, *WRONG[name][3:])


def test_a_formulation_of_which_python_keeps_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Typed at a prompt or come by standard input: right as it is, and a clock is still found."""
    package = skeleton("typed", tmp_path)
    monkeypatch.syspath_prepend(package)
    text = (package / "typed" / FORMULATION).read_text(encoding="utf-8")
    module = ModuleType("at_a_prompt")
    module.__package__ = f"typed.{Path(FORMULATION).parent}"  # what it imports from beside it is found
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(text, "<stdin>", "exec"), vars(module))
    check(module.MaxMinShare())
    exec(compile(text.replace("return m\n", "np.random.rand(); return m\n"), "<stdin>", "exec"), vars(module))
    told(module.MaxMinShare(), "random state: np.random.rand;")


def test_what_is_no_formulation_or_scheduler() -> None:
    told(Las, r"check: got <class .*Las'>; expected an instance of a Formulation, Scheduler or Room: Las\(\)")
    for each in ("las", None, 3):
        told(each, f"check: got {each!r}; expected an instance")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (lambda: check(), "check: got no offered; expected offered"),  # type: ignore[call-arg]
        (lambda: check(Mine(), []), "scenario: got .*; expected a Scenario, the name"),  # type: ignore[arg-type]
        (lambda: check(MaxMinFairness(), {}), "scenario: got {}; expected a Scenario"),  # type: ignore[arg-type]
        (lambda: same_programme("gavel.max_min_fairness", None), "fairness, data: got None; .*AllocationInstance"),
        (lambda: same_programme("gavel.fifo", MaxMinFairness), "fifo, data: got <class.*; expected a Scenario"),
        (lambda: same_programme("gavel.nothing", None), "formulation: got 'gavel.nothing'; expected one of"),
        (lambda: same_programme(None, SMALL), "formulation: got None; expected one of"),  # type: ignore[arg-type]
        (lambda: same_programme(Mine(), SMALL), "formulation: got <Scheduler mine.*; expected one of"),  # type: ignore[arg-type]
        (lambda: same_programme(MaxMinFairness, SMALL), r"an instance of the class: MaxMinFairness\(\)"),  # type: ignore[arg-type]
        (lambda: same_programme("gavel.fifo", SMALL, []), r"knobs of gavel.fifo: got \[\]; expected {knob: value}"),  # type: ignore[arg-type]
        (lambda: same_programme("gavel.fifo"), "same_programme: got no data; expected formulation, data"),  # type: ignore[call-arg]
        (lambda: same_programme(Falling(), SMALL), r"assemble \(.*\): got AttributeError: .*; expected the programme"),
    ],
)
def test_what_cannot_be_asked_is_told(asked: Callable[[], Any], expected: str) -> None:
    with pytest.raises(workbench.InputError, match=expected):
        asked()


class Falling(MaxMinFairness):
    """Its `assemble` asks for what is not there."""

    def assemble(self, data: Any, knobs: Any) -> Any:
        return data.nothing


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
HERE = "tests/test_testing.py"
READ_ONLY = rf"mine at .* s \({HERE}:\d+\): got a write into an array that is read-only, .*; expected a copy"


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
        (Moody(), [rf"mine at .* s \({HERE}:\d+\): got two answers to one question"]),
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
        (Half(), [r"answer .*: got .*; expected a pair \(Decision, memory\)"]),
        (Asks(), [rf"attributes \({HERE}:\d+\) on three jobs .*: got 'rank'; .* uses = {{\"attributes.rank\"}}"]),
        (Requires(), [rf"attributes \({HERE}:\d+\): got 'rank'; .* uses = {{\"attributes.rank\"}}"]),
        (Crowds(), [rf"decision of mine at .* s, game \({HERE}:\d+\): got 1 GPU on fast-0; expected at most the 0"]),
        (Both(), [r"on start_here .*: got two answers", r"answer on three jobs .*: got .*; expected a pair"]),
        (changed(stated=lambda *_: 3), [rf"mine, stated \({HERE}:\d+\): got 3; expected a StatedProblem, or None"]),
        (changed(exact=lambda *_: {}), [rf"mine, exact \({HERE}:\d+\): got {{}}; expected an ExactProblem"]),
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


def test_what_is_wrong_whatever_a_knob_says_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two active objectives, the second without a tag: one line for each, not one more for every knob."""
    build = MaxMinFairness.build

    def with_another(self: Any, data: Any, knobs: Any) -> Any:
        model = build(self, data, knobs)
        model.other = pyo.Objective(expr=model.level)
        return model

    monkeypatch.setattr(MaxMinFairness, "build", with_another)
    unseen = "share, .* and 3 more: got not in the source"
    told(MaxMinFairness(), "other: got nothing; expected doc= that", "objective: got .*; expected one active", unseen)


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
    alone = replace(room, schedulers=(), explanations={})
    told(replace(alone, example="nowhere"), "room right, example: got 'nowhere'; expected one of")
    told(replace(alone, symbols={"a job": "max_min_share q"}), "symbols, a job: got 'right.max_min_share q'")
    silent = replace(room, formulations=(), symbols={})
    [right] = silent.schedulers
    told(silent, "right, route .*: got 'right.max_min_share'; expected the name of a formulation: one of")
    monkeypatch.setattr(right, "_route", lambda knobs: Route())
    told(silent, r"right, route .*: got decisions made by model, and a route that is an algorithm")
    monkeypatch.setattr(right, "_route", lambda knobs: Route("other route", "isolated", "for a test"))
    told(replace(silent, explanations={}), "explanations: got nothing; expected a function for right")
    policy = right.policy
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
