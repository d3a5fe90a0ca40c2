"""Labs and papers: a paper that gains something needs no edit in the widgets."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import widgets
import workbench
from tests.widgets.lab.support import Waiter
from widgets import GavelLab, Lab
from widgets.editors.scheduler_choice import short_titles, titles
from workbench.papers import gavel
from workbench.scenario.presets import is_preset
from workbench.session import registry

PAPERS = r"gavel|hadar|hops|\bhare$|chronus"


def test_nothing_in_the_widgets_knows_a_paper() -> None:
    """Names of papers stand in documentation at most; CONTRIBUTING.md promises that a paper needs no edit here."""
    room = Path(widgets.__file__).parent
    for path in sorted(set(room.rglob("*.py")) - set((room / "pages").rglob("*.py"))):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documented = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
                if is_preset(node.value):  # what a lab opens with
                    continue
                assert not re.search(PAPERS, node.value.lower()), f"{path.name}: {node.value}"


@pytest.fixture
def grown(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Ten schedulers and formulations more in a paper's room; their names."""
    names = [f"gavel.more_{i}" for i in range(10)]
    titled = [{"name": name, "title": f"More, number {name[-1]}"} for name in names]
    room = gavel.ROOM
    models = [type("More", (type(room.formulations[0]),), given)() for given in titled]
    rules = [copy.copy(room.schedulers[0]) for _ in names]
    for rule, given in zip(rules, titled, strict=True):
        vars(rule).update(given)
    more = replace(room, formulations=(*room.formulations, *models), schedulers=(*room.schedulers, *rules))
    monkeypatch.setattr(gavel, "ROOM", more)
    registry._load.cache_clear()
    yield names
    monkeypatch.undo()
    registry._load.cache_clear()


def test_what_a_room_gains_appears_in_its_lab(work: Waiter, grown: list[str]) -> None:
    lab = GavelLab()
    own = len(gavel.ROOM.schedulers)
    titles = [title for title, _ in lab._choice.widget.options]
    assert len(set(titles)) == len(titles), "each has a title of its own"
    names = [name for _, name in lab._choice.widget.options]
    assert names[own - 9 : own + 1] == grown, "the paper's come first, `fifo` beside its own of that name"
    lab._choice.widget.value = grown[4]
    assert lab.scheduler == grown[4] and lab._choice.widget.tooltip == f"More, number 4 ({grown[4]})"
    assert lab.state == "edited"
    lab._results.open("Model")
    lab.solve()
    work.answer()
    lab._describe()
    offered = [name for _, name in lab._formulation._which.options]
    assert offered[0] == grown[4] and set(grown) < set(offered)


def test_two_schedulers_of_one_title_show_their_names() -> None:
    """As of a cell that was copied."""

    def decide(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        """Mine."""

    for name in ("one", "two"):
        workbench.scheduler(name)(decide)
    assert {("Mine (one)", "one"), ("Mine (two)", "two")} < set(titles()) & set(short_titles())


def test_names_of_labs_come_from_the_papers() -> None:
    assert GavelLab is widgets.GavelLab and issubclass(GavelLab, Lab) and GavelLab.__name__ == "GavelLab"
    with pytest.raises(AttributeError, match=r"NobodyLab.*; labs: CompareLab, .*sweep a knob: page Vary"):
        _ = widgets.NobodyLab
    with pytest.raises(ImportError):
        from widgets import Nothing  # noqa: F401
