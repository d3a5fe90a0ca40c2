"""The notebooks: thin, stripped, they run, and what they say is true."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import workbench
from tests import warm_kernel
from tests.load import at_most
from workbench.scenario.scenario import Scenario

PROJECT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((PROJECT / "notebooks").glob("*.ipynb"))
OWN_RUNS = [path for path in NOTEBOOKS if not path.stem.startswith("reproduce_")]
"""Those of the evaluations are run in tests/reproduction, on the figures that are made there."""
MOST_LINES = 70
OWN_MODEL = "@workbench.formulation("
"""The cell in which a paper's model stands, to be edited: it alone may define a function."""
MOST_SECONDS = 180.0
"""Of CPU, the kernel and all that it starts included; 04 takes most, 36 with its claims."""

CLAIMS = {
    "02_hadar": """
names = ["", " reschedule=all", " utility=effective_throughput"]
(jct, jct_all, jct_throughput), (end, _, end_throughput) = (
    [mean[key]["hadar" + name] / mean[key]["gavel.max_min_fairness"] for name in names]
    for key in ("mean_jct_s", "makespan_s")
)
assert 0.75 < jct < 0.85 and 1.02 < end_throughput < 1.04 < 1.06 < end < 1.08
assert 0.3 < (1 - jct_throughput) / (1 - jct) < 0.8 and 0.95 < jct_all / jct < 1
assert 10 < mean["moves"]["hadar reschedule=all"] / mean["moves"]["hadar"] < 14
assert 0.2 < mean["changed_rounds"]["hadar reschedule=all"] < 0.5
assert (measured["ratio"] > 0.999 * measured["first_come_ratio"]).sum() == 2  # prices no better than nothing
assert early.starts and not early.premise and early.ratio > 60 * early.bound
""",
    "03_hadare": """
ends, means = by_forks["TTD (s)"], by_forks["mean JCT (s)"]
assert means.idxmin() == 2 and means[5] == means[6] == means[7] and ends[5] == ends[7] < ends[4]
dear, long = ([theorem3.cru(checked[case, n]) for n in range(1, 7)] for case in ("2 min", "1 h slots"))
assert max(dear) == dear[0] > max(dear[1:]) and long[0] < long[1] < 0.8
assert max(abs(each - long[1]) for each in long[2:]) < 1e-9
assert theorem3.premise(checked["premise", 5]) and not theorem3.premise(checked["1 h slots", 5])
(_, hadar_s, *ends_s), (fair_jct_s, hadar_jct_s, *jct_s) = ways["makespan_s"], ways["mean_jct_s"]
names = ["balanced", "remaining", "work", "utility"]
assert [names[i] for i in pd.Series(ends_s).argsort()] == ["work", "balanced", "remaining", "utility"]
assert [names[i] for i in pd.Series(jct_s).argsort()] == ["remaining", "balanced", "utility", "work"]
assert 0.2 < (hadar_s - ends_s[1]) / (hadar_s - ends_s[0]) < 0.5 and jct_s[2] > max(fair_jct_s, hadar_jct_s)
whole = blind.jobs["finish_s"].max() / ends[5]
assert 1 < whole < 1.1 and whole < blind.jobs["finish_s"].mean() / means[5] < 1.3
""",
    "04_hops": """
once = metrics.summary(workbench.simulate(scenario, "hops", belief="paper", replan=False))
assert once["max_latency_ratio"] > 3 * worst["hops"]  # exercise 5
rare = metrics.summary(workbench.simulate(scenario, "sia", belief="paper", queue="latency_ratio", round_s=300.0))
assert rare["mean_latency_ratio"] > 1.5 * three["mean_latency_ratio"][names[:2]].max()  # exercise 6
assert rare["max_latency_ratio"] > 2 * worst[names[:2]].max()
""",
    "05_hare": """
assert totals == [*three_jobs.TOTALS_S]
makespans = {way[0]: schedule.makespan_s for way, schedule in three.items() if way[0] in three_jobs.MAKESPANS_S}
assert makespans == three_jobs.MAKESPANS_S
assert three["c: tasks interleaved"].check().completion_s.tolist() == [3, 2.5, 3]
""",
}
"""What the text of a page says beside what its last cell asserts: run behind it, on the values that it has."""


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def names(notebooks: list[Path]) -> list[str]:
    return [path.stem for path in notebooks]


def test_there_are_notebooks() -> None:
    assert {"00_start_here", "01_gavel"} <= set(names(NOTEBOOKS))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names(NOTEBOOKS))
def test_a_notebook_is_thin_and_stripped(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    cells = code(notebook)
    trees = [ast.parse(source) for source in cells]
    own = [source for source in cells if OWN_MODEL in source]
    assert len(own) == (path.stem[:2] in {"01", "02", "03", "04", "05", "06"}), "a paper's model stands in one cell"
    thin = [source for source in cells if source not in own]
    lines = [line for source in thin for line in source.splitlines() if line.strip() and not line.startswith("#")]
    assert len(lines) <= MOST_LINES
    for tree in map(ast.parse, thin):
        held = [
            node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        ]
        assert not held, "logic belongs in the packages"
    assert any(isinstance(node, ast.Assert) for node in trees[-1].body), "the last cell checks what the page claims"
    assert notebook.cells[-1].cell_type == "code" and notebook.cells[0].source.startswith("# ")
    for cell in notebook.cells:
        assert cell.get("outputs", []) == [] and cell.get("execution_count") is None and cell.get("id")
        assert cell.metadata == {}
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert "widgets" not in notebook.metadata and str(PROJECT) not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names(NOTEBOOKS))
def test_what_a_notebook_points_to_exists(path: Path) -> None:
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target
    for name in re.findall(r"`workbench\.([A-Za-z_.]+)[(`]", text):
        found: Any = workbench
        for part in name.split("."):
            found = getattr(found, part)


def shows_widgets(cell: Any) -> bool:
    return any("application/vnd.jupyter.widget-view+json" in out.get("data", {}) for out in cell.get("outputs", []))


@pytest.fixture(scope="module")
def warm() -> Iterator[Path]:
    """Where the kernels of `warm_kernel` are found."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")])))
        with warm_kernel.serving(OWN_RUNS) as folder:
            yield folder


@pytest.mark.parametrize("path", OWN_RUNS, ids=names(OWN_RUNS))
def test_a_notebook_runs(path: Path, tmp_path: Path, warm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a copy, with the kernel's events pumped after cells that show widgets, so that labs live."""
    shutil.copy(path, tmp_path)
    monkeypatch.setenv("JUPYTER_PATH", str(warm))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    notebook = read(tmp_path / path.name)
    notebook.cells.append(nbformat.v4.new_code_cell(CLAIMS.get(path.stem, "")))
    client = NotebookClient(notebook, timeout=10 * MOST_SECONDS, resources={"metadata": {"path": str(tmp_path)}})

    async def run() -> None:
        async with client.async_setup_kernel():
            for index, cell in enumerate(notebook.cells):
                await client.async_execute_cell(cell, index)
                await asyncio.sleep(0.1 if shows_widgets(cell) else 0)

    with at_most(MOST_SECONDS):
        asyncio.run(run())
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.get("text")
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == [path.name], "a notebook leaves no files"


# ---- what 00_start_here tells people to try ----


def changed(name: str, **paths: Any) -> Scenario:
    """A preset with values exchanged, `jobs__2__weight=2`."""
    data = json.loads(workbench.preset(name).to_json())
    for path, value in paths.items():
        *steps, last = [int(part) if part.isdigit() else part for part in path.split("__")]
        place = data
        for step in steps:
            place = place[step]
        place[last] = value
    return Scenario.from_dict(data)


FAIR = "gavel.max_min_fairness"


def test_start_here_tells_the_truth() -> None:
    before = workbench.simulate("preset:start_here", FAIR)
    vision = before.timeline[before.timeline["job"] == "vision"]
    assert (vision.groupby("start_s")["slot"].count() == 2).all()  # two rows or none
    finish = dict(zip(before.jobs["job"], before.jobs["finish_s"], strict=True))
    heavy = workbench.simulate(changed("start_here", jobs__0__weight=3.0), FAIR)
    after = dict(zip(heavy.jobs["job"], heavy.jobs["finish_s"], strict=True))
    assert after["vision"] < finish["vision"]
    assert after["game"] > finish["game"] and after["translation"] > finish["translation"]
    fifo = workbench.simulate("preset:start_here", "fifo")
    first = fifo.timeline[(fifo.timeline["job"] == "vision") & (fifo.timeline["accelerator"] == "v100")]
    assert len(first) == 2 and first["end_s"].nunique() == 1  # both fast GPUs without a break
    three = workbench.simulate(changed("start_here", cluster__nodes__1__count=3), FAIR)
    assert (three.jobs["finish_s"] != before.jobs["finish_s"]).any()


# ---- the exercises of 01_gavel ----


def solved(scenario: Scenario, **knobs: Any) -> tuple[float | None, Any, dict[str, float]]:
    result = workbench.solve(scenario, FAIR, **knobs)
    return result.objective, workbench.allocation_table(result), dict(result.values["normalized_throughput"])


def test_gavel_without_speeds() -> None:
    level = min(solved(workbench.preset("gavel_example"), heterogeneity_aware=False)[2].values())
    assert level == pytest.approx(2 / 3, abs=1e-6)


def test_gavel_exercise_1() -> None:
    level, shares, _ = solved(changed("gavel_example", cluster__nodes__1__count=2))
    assert level == pytest.approx(1)
    assert shares["v100"].tolist() == pytest.approx([1 / 3] * 3)
    assert shares["k80"].tolist() == pytest.approx([2 / 3] * 3)
    speeds = [(4, 1), (3, 1), (2, 1)]
    now = [v * 1 / 3 + k * 2 / 3 for v, k in speeds]
    then = [8 / 11 * (v + k) / 2 for v, k in speeds]
    assert [round(x, 2) for x in now] == [2.0, 1.67, 1.33]
    assert [round(x, 2) for x in then] == [1.82, 1.45, 1.09]


def test_gavel_exercise_2() -> None:
    _, _, level = solved(changed("gavel_example", jobs__2__weight=2.0))
    assert level["job 2"] == pytest.approx(2 * level["job 0"]) and level["job 0"] == pytest.approx(level["job 1"])


def test_gavel_exercise_3() -> None:
    equal = workbench.preset("gavel_example")
    rows = [row.model_copy(update={"steps_per_s": 2.0}) for row in equal.throughputs]
    level, _, _ = solved(equal.replace(throughputs=rows))
    assert level == pytest.approx(2 / 3)


def test_gavel_exercise_4() -> None:
    run = workbench.simulate("preset:gavel_example", FAIR, round_s=7200.0)
    assert run.timeline.groupby("job")["start_s"].count().tolist() == [1, 1, 1]
    assert set(run.timeline[run.timeline["job"] == "job 2"]["accelerator"]) == {"k80"}
