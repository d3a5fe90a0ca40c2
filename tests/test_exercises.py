"""The exercises of the notebooks: each has its answer, folded; the numbers of the first notebook's are computed."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

import workbench
from tests.test_notebooks import EXERCISE, FAIR, changed
from workbench.simulation.run import Run

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("[01][0-9]_*.ipynb"))
NUMBERED = re.compile(r"^(\d+)\. ", re.MULTILINE)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_every_exercise_has_a_folded_answer(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    if checked := sum(cell.source.count(EXERCISE) for cell in notebook.cells if cell.cell_type == "code"):
        assert checked >= 2  # tests/test_notebooks.py holds each to its solution
        return
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    (source,) = [text for text in cells if "## Exercises" in text]
    questions, _, answers = source.partition("## Exercises")[2].partition("<details><summary>Answers</summary>\n\n")
    assert answers.rstrip().endswith("\n\n</details>"), "folded, with the empty lines that Markdown needs inside"
    numbers = NUMBERED.findall(questions)
    assert len(numbers) >= 2 and numbers == NUMBERED.findall(answers) == [str(i + 1) for i in range(len(numbers))]


def minutes(run: Run) -> dict[str, int]:
    """When each job ends, in whole minutes."""
    return {job: round(end / 60) for job, end in zip(run.jobs["job"], run.jobs["finish_s"], strict=True)}


def mean(run: Run) -> int:
    """The mean JCT in whole minutes."""
    return round(workbench.summary(run)["mean_jct_s"] / 60)


def test_the_answers_of_the_first_notebook() -> None:
    fair = workbench.simulate("preset:start_here", FAIR)
    steps = {job.name: job.steps for job in workbench.preset("start_here").jobs}
    assert steps == {"vision": 139_698, "game": 28_775, "translation": 64_188}
    assert steps["vision"] / 25.87 == pytest.approx(5400, abs=1)
    assert minutes(fair) == {"vision": 162, "game": 93, "translation": 112} and mean(fair) == 109
    assert minutes(fair)["vision"] / 90 == pytest.approx(1.8)

    fifo = workbench.simulate("preset:start_here", "fifo")
    first = fifo.timeline.groupby("job").first()
    assert first.loc["game", "accelerator"] == "k80" and first.loc["game", "start_s"] == 12 * 60
    assert first.loc["translation", "accelerator"] == "v100" and first.loc["translation", "start_s"] == 90 * 60
    assert steps["game"] / 3.996 == pytest.approx(120 * 60, abs=2)
    assert steps["translation"] / 17.83 == pytest.approx(60 * 60, abs=2)
    assert minutes(fifo) == {"vision": 90, "game": 132, "translation": 150}

    blind = workbench.simulate("preset:start_here", FAIR, heterogeneity_aware=False)
    assert blind.end_s == fair.end_s and mean(blind) == 119
    later = {job: minutes(blind)[job] - minutes(fair)[job] for job in steps}
    assert later == {"vision": 0, "game": 9, "translation": 22}
    for run, part in ((fair, 1 / 3), (blind, 1 / 2)):  # while both are there
        slow = run.shares[(run.shares["time_s"] == 1800) & (run.shares["accelerator"] == "k80")]
        assert slow["share"].tolist() == pytest.approx([part, part], abs=1e-6)

    heavy = workbench.simulate(changed("start_here", jobs__0__weight=3.0), FAIR)
    assert minutes(heavy)["vision"] == 144 and mean(heavy) == 126
    assert minutes(heavy)["game"] - minutes(fair)["game"] == 27
    assert minutes(heavy)["translation"] - minutes(fair)["translation"] == 41
