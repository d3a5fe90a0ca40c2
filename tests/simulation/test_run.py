"""A run on disk: a folder that is read back exactly, or an error that names the file."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.simulation.support import Scripted, greedy, make
from workbench.base.errors import InputError
from workbench.base.units import format_duration
from workbench.cli import main
from workbench.scheduling.decision import Assignment, Decision, Reason, Shares
from workbench.scheduling.solvers.solve_report import SolveReport
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run
from workbench.simulation.schema import TABLES, Table

ODD = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp")), max_size=12)


def a_run(reason: str = "", name: str = "j0") -> Run:
    def answer(snapshot: object) -> Decision:
        return Decision(
            assign=(Assignment(name, {"n-0": 1}, 1e9),),
            why={name: Reason("code", reason)},
            signals={"priority": {name: 0.1 + 0.2}, "price": {name: float("inf")}},
            shares=Shares((name,), ("t",), np.array([[1 / 3]])),
            solved=SolveReport("optimal", 1e300, gap=1e-17, build_s=0.25, solve_s=0.5, made_by="model"),
        )

    scenario = make([{"steps": 10 / 3, "name": name}])
    return run_loop(scenario, Scripted(answer, None, {"arrival"}))


def same_cells(a: Run, b: Run) -> None:
    for table in TABLES:
        pd.testing.assert_frame_equal(a.table(table.name), b.table(table.name), check_exact=True)


def test_records_that_become_columns_on_the_way_give_the_same_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = workbench.preset("start_here")
    at_the_end = workbench.simulate(scenario, "srtf")
    monkeypatch.setattr("workbench.simulation.recorder.FOLD", 1)
    same_cells(workbench.simulate(scenario, "srtf"), at_the_end)


def test_threads_that_read_a_table_at_once_read_the_same() -> None:
    """It is made once, whether arrays or the frame are asked for first; a copy is of frames."""
    expected = workbench.simulate("preset:gavel_example", "fifo")
    same_cells(pickle.loads(pickle.dumps(expected)), expected)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(4):
            run = workbench.simulate("preset:gavel_example", "fifo")
            with ThreadPoolExecutor(4) as pool:
                arrays = pool.map(run.cells.column, ["timeline"] * 4, ["start_s"] * 4)
                frames = [*pool.map(run.table, ["timeline"] * 4)]
                read = [*arrays, *(frame["start_s"].to_numpy() for frame in frames)]
            assert all(frame is run.timeline for frame in frames)
            assert {column.tobytes() for column in read} == {expected.timeline["start_s"].to_numpy().tobytes()}
    finally:
        sys.setswitchinterval(before)


def test_a_table_whose_making_is_stopped_can_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As somebody stops a cell that reads it; what arrays are read cannot be written to."""
    expected = workbench.simulate("preset:gavel_example", "fifo")
    run = workbench.simulate("preset:gavel_example", "fifo")

    def stop(table: Table, columns: object) -> None:
        raise KeyboardInterrupt

    for table in TABLES:
        with monkeypatch.context() as patch:
            patch.setattr(Table, "arrays", stop)
            with pytest.raises(KeyboardInterrupt):
                run.table(table.name)
        assert not run.cells.column(table.name, table.names[0]).flags.writeable
    same_cells(run, expected)
    for name in ("timelin", "time line"):
        with pytest.raises(InputError, match=r"expected .*timeline"):
            run.table(name)


@given(ODD | st.text("\"', ;", max_size=5))
def test_any_text_comes_back(reason: str) -> None:
    import tempfile

    run = a_run(reason)
    with tempfile.TemporaryDirectory() as folder:
        run.save(Path(folder) / "r")
        back = Run.load(Path(folder) / "r")
    assert back == run
    same_cells(run, back)


@pytest.mark.parametrize("name", ["nan", "NA", "None", "1", "1.0", "true", " a ", 'a"b', "a,b", "ünï", "j + 1", "#"])
def test_names_that_look_like_something_else_are_kept_in_a_folder_and_in_a_message(name: str, tmp_path: Path) -> None:
    if " + " in name:
        name = "j+1"
    run = a_run(name=name)
    run.save(tmp_path / "r")
    same_cells(run, Run.load(tmp_path / "r"))
    same_cells(run, Run.from_message(json.loads(json.dumps(run.as_message(), allow_nan=False))))


def test_a_run_without_jobs(tmp_path: Path) -> None:
    run = run_loop(make([]), greedy())
    run.save(tmp_path / "r")
    back = Run.load(tmp_path / "r")
    assert back == run
    same_cells(run, back)


def test_equality_looks_at_inputs_and_tables_but_not_at_wall_times() -> None:
    run, again = a_run(), a_run()
    again.decisions["build_s"] += 1.0
    assert run == again and run != "run"
    again.decisions["objective"] = 1.0
    assert run != again
    assert run != a_run("another reason")
    with pytest.raises(TypeError):
        hash(run)


def test_the_key_depends_on_what_the_result_depends_on() -> None:
    scenario = make([{"steps": 10.0}])
    runs = [run_loop(s, greedy(), seed=seed) for s, seed in ((scenario, 0), (scenario, 1))]
    assert runs[0].key() != runs[1].key()
    renamed = run_loop(scenario.replace(name="other", description="text"), greedy(), seed=0)
    assert renamed.key() == runs[0].key()
    assert run_loop(make([{"steps": 11.0}]), greedy()).key() != runs[0].key()


def test_saving_does_not_overwrite_unless_told_to(tmp_path: Path) -> None:
    run = a_run()
    run.save(tmp_path / "r")
    with pytest.raises(InputError, match="force"):
        run.save(tmp_path / "r")
    a_run("new").save(tmp_path / "r", force=True)
    assert Run.load(tmp_path / "r") == a_run("new")
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_save_that_fails_leaves_the_old_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = a_run()
    run.save(tmp_path / "r")
    new = a_run("new")

    def broken(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", broken)
    with pytest.raises(OSError, match="disk full"):
        new.save(tmp_path / "r", force=True)
    assert Run.load(tmp_path / "r") == run
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("run.json", None),
        ("run.json", "{"),
        ("run.json", "[]"),
        ("run.json", '{"format": "other"}'),
        ("run.json", '{"format": "workbench-run/1", "seed": 1, "seed": 2}'),
        ("scenario.json", None),
        ("scenario.json", "{}"),
        ("timeline.csv", None),
        ("timeline.csv", ""),
        ("timeline.csv", "a,b\n1,2\n"),
        ("jobs.csv", "HEAD\nj0,m,many,1.0,,,0,0,0,1,1,0,0,0,0,0,0,0,0,\n"),
        ("jobs.csv", "HEAD\nj0,m,1,heavy,,,0,0,0,1,1,0,0,0,0,0,0,0,0,\n"),
        ("jobs.csv", "HEAD\nj0,m\n"),
        ("decisions.csv", "HEAD\n0,0.0,round,1,0,1,1,perhaps,,,,,,\n"),
    ],
)
def test_what_is_missing_or_malformed_is_named(file: str, text: str | None, tmp_path: Path) -> None:
    a_run().save(tmp_path / "r")
    path = tmp_path / "r" / file
    if text is None:
        path.unlink()
    else:
        head = path.read_text(encoding="utf-8").splitlines()[0]
        path.write_text(text.replace("HEAD", head), encoding="utf-8")
    with pytest.raises(InputError, match=file):
        Run.load(tmp_path / "r")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("format", "workbench-run/5"),  # the belief nodes was servers
        ("scheduler", ["fifo"]),
        ("knobs", None),
        ("knobs", {"round_s": {"number": "many"}}),
        ("knobs", {"round_s": [360.0]}),
        ("seed", True),
        ("end_s", "soon"),
        ("belief", None),
        ("until_s", "never"),
        ("window", -1),
        ("window", [1]),
        ("detail", 1.5),
    ],
)
def test_what_a_run_was_made_with_is_checked(name: str, value: object, tmp_path: Path) -> None:
    a_run().save(tmp_path / "r")
    path = tmp_path / "r" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {name: value}), encoding="utf-8")
    with pytest.raises(InputError, match="an older version" if name == "format" else f"run.json: {name}"):
        Run.load(tmp_path / "r")


def test_the_same_run_in_another_process_with_another_hash_seed() -> None:
    """Nothing depends on the order of a set of names."""
    code = (
        "import hashlib\n"
        "from tests.simulation.support import Chance, Habits, make\n"
        "from workbench.simulation.loop import run_loop\n"
        "from workbench.simulation.stop import Until\n"
        "jobs = [{'steps': 90.0 + i, 'arrival_s': 10.0 * i} for i in range(12)]\n"
        "habits = Habits(preempt=0.5, copies=0.3, verdict=0.2, odd_end=0.5)\n"
        "run = run_loop(make(jobs, {'a': 3, 'b': 2}), Chance(habits), stop=Until(900.0))\n"
        "text = run.timeline.to_csv() + run.events.to_csv() + run.jobs.to_csv()\n"
        "print(hashlib.sha256(text.encode()).hexdigest())\n"
    )
    root = Path(__file__).parents[2]
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True, text=True, check=True, cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(found) == 1


def test_force_spares_what_is_not_ours(tmp_path: Path) -> None:
    """A folder with anything else in it is not replaced, whatever result files lie beside it."""
    a_run("x").save(tmp_path / "r")
    (tmp_path / "r" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="nothing else is overwritten"):
        a_run("y").save(tmp_path / "r", force=True)
    assert (tmp_path / "r" / "thesis.tex").read_text() == "years of work"


def test_a_run_says_what_it_is_in_a_line_and_as_a_page_with_units() -> None:
    run = workbench.simulate("preset:start_here", "gavel.max_min_fairness")
    line = f"gavel.max_min_fairness on start_here, seed 0: 3 of 3 jobs finished, {len(run.decisions)} decisions, "
    line += f"{format_duration(run.end_s, parts=2)} simulated"
    assert repr(run) == f"<Run: {line}>" and run.headline() == line
    page = run._repr_html_()
    assert page is not None and line in page and "Mean JCT" in page and ">%</td>" in page
    assert "&lt;b&gt;" in str(a_named("<b>")._repr_html_()), "names are text, not HTML"
    assert "an unnamed scenario" in repr(a_named(""))


def a_named(name: str) -> Run:
    run = a_run()
    return dataclasses.replace(run, scenario=run.scenario.replace(name=name))


# A saved run of which a part is lost is refused by all who read it, with the file and the table


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with rows in every table."""
    folder = tmp_path_factory.mktemp("f1") / "R"
    workbench.simulate("preset:gavel_example", "gavel.max_min_fairness").save(folder)
    return folder


def altered(saved: Path, folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of the run, with a text replaced once in a file."""
    shutil.copytree(saved, folder)
    text = (folder / file).read_bytes().decode()
    assert old in text
    (folder / file).write_bytes(text.replace(old, new, 1).encode())
    return folder


@pytest.mark.parametrize("table", [table.name for table in TABLES])
def test_a_table_without_its_last_line_is_refused(
    table: str, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(saved, tmp_path / "R")
    lines = (folder / f"{table}.csv").read_bytes().splitlines(keepends=True)
    assert len(lines) > 1, "the run has rows in every table"
    (folder / f"{table}.csv").write_bytes(b"".join(lines[:-1]))
    page = tmp_path / "p.html"
    readers = (["report", folder, "-o", page], ["explain", folder, "--job", "job 0", "--at", "10"], ["verify", folder])
    for argv in readers:
        assert main([str(part) for part in argv]) == 2
        said = capsys.readouterr().err
        assert f"{table}.csv: got another content (the table {table} with" in said and "internal error" not in said
    assert not page.exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("scenario.json", '"steps": 28800.0', '"steps": 28801.0', r"scenario\.json.*the scenario"),
        ("run.json", '"seed": 0', '"seed": 1', r"run\.json: got another content"),
        ("run.json", '"end_s": ', '"end_s": 1', r"run\.json: got another content"),
        ("run.json", '"key": "', '"key": "0', r"run\.json: got another content"),
        ("decisions.csv", "0.0,", "0.5,", "the table decisions"),
    ],
)
def test_another_value_is_refused(file: str, old: str, new: str, said: str, saved: Path, tmp_path: Path) -> None:
    with pytest.raises(workbench.InputError, match=said):
        Run.load(altered(saved, tmp_path / "R", file, old, new))


def test_the_digest_is_of_what_files_say_and_not_of_their_bytes(saved: Path, tmp_path: Path) -> None:
    """Line ends and the layout of JSON may change; a run that is read and saved again has the same digests."""
    run, folder = Run.load(saved), shutil.copytree(saved, tmp_path / "R")
    for path in folder.glob("*.csv"):
        path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    for path in folder.glob("*.json"):
        path.write_text(json.dumps(json.loads(path.read_text())))
    again = Run.load(folder)
    assert again == run
    again.save(tmp_path / "again")
    assert (tmp_path / "again" / "run.json").read_bytes() == (saved / "run.json").read_bytes()
