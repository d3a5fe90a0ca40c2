"""The exercises of the lessons, their plans for teachers, and the index of concepts."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from tests.test_notebooks import EXERCISE

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("[01][0-9]_*.ipynb"))
TEACHING = Path(__file__).resolve().parents[1] / "docs" / "teaching"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_every_lesson_has_exercises(path: Path) -> None:
    """That each has its answer is held behind the page, in tests/test_notebooks.py."""
    cells = nbformat.read(path, as_version=4).cells
    assert sum(cell.source.count(EXERCISE) for cell in cells if cell.cell_type == "code") >= 2
    assert not any("<details>" in cell.source for cell in cells), "it would stay in the students' copy"


def headings(path: Path) -> str:
    """All headings of a page."""
    texts = (cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
    return "\n".join(line.lstrip("# ") for text in texts for line in text.splitlines() if line.startswith("#"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_every_lesson_has_a_plan_for_teachers(path: Path) -> None:
    plan = (TEACHING / f"{path.stem}.md").read_text(encoding="utf-8")
    scenes = re.findall(r"^\| (\d+) \| ([^|]+) \|", plan, re.MULTILINE)
    assert sum(int(minutes) for minutes, _ in scenes) == 60
    assert [section for _, section in scenes if section not in headings(path).splitlines()] == []


def test_the_index_of_concepts() -> None:
    rows = re.findall(
        r"^\| [^|`]+ \| (`[^|]+`) \| ([^|]+) \|$", (TEACHING / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) > 12
    for lessons, where in rows:
        pages = [path for path in NOTEBOOKS if f"`{path.stem}`" in lessons]
        assert len(pages) == lessons.count("`") / 2 and pages
        assert where.startswith("the rows") or any(h in where for h in "\n".join(map(headings, pages)).splitlines()), (
            where
        )
