"""The pages `reproduce_*`, on the figures that the other tests of this folder read: they run, and what they say is
true."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import nbformat
import pytest

from reproduction import PaperFigure
from reproduction.registry import Reproduction, reproductions

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def parts(source: str) -> tuple[CodeType, CodeType | None]:
    """A cell, and apart the expression at its end, which a notebook shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    shown = compile(ast.Expression(last.value), source, "eval") if isinstance(last, ast.Expr) else None
    return compile(tree, source, "exec"), shown


def test_every_paper_has_its_page() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("reproduce_*")} == {
        f"reproduce_{each.name}" for each in reproductions()
    }


@pytest.mark.parametrize("paper", reproductions(), ids=lambda paper: paper.name)
def test_what_a_page_concludes_has_no_number_typed_in(paper: Reproduction) -> None:
    """Numbers of ours stand in the cells that compute and in the table of what is kept, which change with them; a
    measure's name, in italics, may have one."""
    page = nbformat.read(NOTEBOOKS / f"reproduce_{paper.name}.ipynb", as_version=4)
    (said,) = [cell.source for cell in page.cells if cell.source.startswith("## What to notice")]
    assert (
        re.findall(r"[^\n]*\d(?: ?%| (?:times|h|s|min|points)\b)[^\n]*", re.sub(r"(?<!\*)\*[^*\n]+\*(?!\*)", "", said))
        == []
    )
    assert f'Evidence("{paper.name}")' in "".join(cell.source for cell in page.cells)


@pytest.mark.parametrize("paper", reproductions(), ids=lambda paper: paper.name)
def test_a_page_runs(
    paper: Reproduction,
    evaluated: Callable[[str], list[PaperFigure]],
    monkeypatch: pytest.MonkeyPatch,
    recwarn: pytest.WarningsRecorder,
) -> None:
    """Its cells in turn, each figure being what its function gave before; every figure is asked for and shown."""
    package = importlib.import_module(f"reproduction.{paper.name}")
    figures = evaluated(paper.name)
    for function, figure in zip(paper.figures, figures, strict=True):
        assert getattr(package, function.__name__) is function
        monkeypatch.setattr(package, function.__name__, lambda size, figure=figure: figure)
    recwarn.clear()
    page = nbformat.read(NOTEBOOKS / f"reproduce_{paper.name}.ipynb", as_version=4)
    found: dict[str, Any] = {}
    shown: list[Any] = []
    for cell in page.cells:
        if cell.cell_type == "code":
            body, last = parts(cell.source)
            exec(body, found)
            if last is not None:
                shown.append(eval(last, found))
    assert all(one._repr_html_() for one in shown if hasattr(one, "_repr_html_"))
    assert [figure.name for figure in figures if not any(figure is one for one in shown)] == []
    assert [str(each.message) for each in recwarn] == []
