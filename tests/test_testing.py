"""`workbench.testing.check` of formulations: each rule is broken once, in a package that is right as written."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyomo.environ as pyo
import pytest

import workbench
from tests.package_support import skeleton
from workbench.baselines.las import Las
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.scheduling.contract import Formulation
from workbench.testing import ContractError, check, same_programme

SMALL = "preset:start_here"
LINE = re.compile(r" \(\S+:\d+\)")
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
        assert any(re.search(each, text) for told in problems for text in (told, LINE.sub("", told))), problems
    if isinstance(offered, Formulation):
        assert all(LINE.search(told) or "declaration" in told or "nothing printed" in told for told in problems), (
            problems
        )
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
    "solves": (
        FORMULATION,
        "        return m\n",
        "        pyo.SolverFactory('appsi_highs').solve(m)\n        return m\n",
        "values of a solve",
    ),
    "holds_an_object": (
        FORMULATION,
        "        return m\n",
        "        m.box = pyo.Param(initialize=object(), within=pyo.Any)\n        return m\n",
        "box: got nothing; expected doc= symbol",
    ),
    "sup": (FORMULATION, "(?m)^max ", "sup ", "docstring: got .*; expected one objective, max or min"),
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
        "        # no time. (open)\n        time = m\n        time.name\n"
        "        m.noise = pyo.Param(initialize=np.random.rand())\n        return m\n",
        "random state: np.random.rand; exp",
    ),
    "drawn_elsewhere": (
        FORMULATION,
        r"(?s)(class MaxMinShare.*?kind in m.TYPES\)) <= 1\n",
        r"def noise():\n    return np.random.rand()\n\n\n\1 <= 1 + noise()\n",
        "build: got another model when built again; expected the same for the same data and knobs",
    ),
    "none": (
        FORMULATION,
        "        return m\n",
        "        self.again = not getattr(self, 'again', False)\n        return m if self.again else None\n",
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
    told(formulation, *WRONG[name][3:])
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
        (lambda: check(), "check: got no argument offered; expected check\\(offered\\)"),  # type: ignore[call-arg]
        (lambda: check(Las(), []), "scenario: got .*; expected a Scenario, the name"),  # type: ignore[arg-type]
        (lambda: check(MaxMinFairness(), {}), "scenario: got {}; expected a Scenario"),  # type: ignore[arg-type]
        (lambda: same_programme("gavel.max_min_fairness", None), "fairness, data: got None; .*AllocationInstance"),
        (lambda: same_programme("gavel.fifo", MaxMinFairness), "fifo, data: got <class.*; expected a Scenario"),
        (lambda: same_programme("gavel.nothing", None), "formulation: got 'gavel.nothing'; expected one of"),
        (lambda: same_programme(None, SMALL), "formulation: got None; expected one of"),  # type: ignore[arg-type]
        (lambda: same_programme(Las(), SMALL), "formulation: got <Scheduler las.*; expected one of"),  # type: ignore[arg-type]
        (lambda: same_programme(MaxMinFairness, SMALL), r"an instance of the class: MaxMinFairness\(\)"),  # type: ignore[arg-type]
        (lambda: same_programme("gavel.fifo", SMALL, []), r"knobs of gavel.fifo: got \[\]; expected {knob: value}"),  # type: ignore[arg-type]
        (
            lambda: same_programme("gavel.fifo"),
            "same_programme: got no argument data; expected same_programme\\(formulation, data\\)",
        ),  # type: ignore[call-arg]
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
