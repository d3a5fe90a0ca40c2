"""Runs are what tests/golden/digests.json says, and tools/golden tells what is not."""

import importlib.util
import json
import subprocess
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[1] / "tools"


@pytest.fixture(scope="module")
def golden() -> ModuleType:
    spec = importlib.util.spec_from_file_location("golden", TOOLS / "golden.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


PRESETS = ["gavel_example", "hadar_example", "hare_example", "hops_example", "chronus_small"]


@pytest.mark.parametrize("preset", ["start_here", *(pytest.param(p, marks=pytest.mark.long) for p in PRESETS)])
def test_runs_are_as_committed(preset: str) -> None:
    done = subprocess.run([TOOLS / "golden", "--preset", preset], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    held = sum(map(len, json.loads((TOOLS.parent / "tests/golden/digests.json").read_text())[preset].values()))
    assert held > 30 and done.stdout == f"{held} of {held} tables are equal\n"


def test_a_changed_digest_is_told(
    golden: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key, gone, new = (("hare_example", "las", name) for name in ("jobs", "events", "refused"))
    said = {"hare_example": {"las": {"jobs": "0" * 16, "events": "0" * 16}}, "start_here": {"las": {"jobs": "0" * 16}}}
    (tmp_path / "digests.json").write_text(json.dumps(said))
    monkeypatch.setattr(golden, "DIGESTS", tmp_path / "digests.json")
    table = {"job": ["a"], "finish_s": ["1"]}
    monkeypatch.setattr(golden, "runs", lambda trees, presets: [{key: table, new: {"error": ["InputError"]}}])
    assert golden.main(["--preset", "hare_example"]) == 1
    told = [" ".join([*each, "differs"]) for each in (key, gone, new)]
    assert capsys.readouterr().out.splitlines() == [*told, "0 of 3 tables are equal"]
    said["hare_example"]["las"] = {"jobs": golden.digest(key, table), "refused": "InputError"}
    golden.DIGESTS.write_text(json.dumps(said))
    assert golden.main(["--preset", "hare_example"]) == 0


def test_rows_order_columns_and_the_ninth_digit_count(golden: ModuleType, tmp_path: Path) -> None:
    def read(text: str) -> dict[str, list[str]]:
        (tmp_path / "jobs.csv").write_text(text)
        return golden._read(tmp_path / "jobs.csv")

    key, first = ("p", "s", "jobs"), read("job,x,solve_s\na,0.1234567891,1\nb,-0.0,2\n")
    assert first == {"job": ["a", "b"], "x": ["0.123456789", "0"]}
    assert golden.digest(key, first) == golden.digest(key, read("job,x,solve_s\na,0.1234567894,7\nb,0,2\n"))
    for other in (
        "job,x\nb,0\na,0.123456789\n",
        "job,x\na,0.12345678\nb,0\n",
        "job,y\na,0.123456789\nb,0\n",
        "job,x\n",
    ):
        assert golden.digest(key, first) != golden.digest(key, read(other))


def test_differences_are_told_by_column(golden: ModuleType) -> None:
    old = {"time_s": ["0", "1"], "status": ["", "optimal"]}
    gained = {"time_s": ["0", "1"], "status": ["kept", "optimal"], "made_by": ["model", ""]}
    assert golden.difference(old, dict(old)) == golden.difference(old, gained, gains=True) == ""
    assert golden.difference(old, gained) == "a new column made_by; 1 of 2 rows: status (1)"
    assert golden.difference(gained, old, gains=True) == "no column made_by now; 1 of 2 rows: status (1)"
    longer = {"status": ["", "optimal", ""], "time_s": ["0", "2", "3"]}
    assert golden.difference(old, longer) == "columns in another order; 2 of 2 rows (now 3): time_s (2), status (1)"
    assert golden.difference(None, old) == "only now" and golden.difference(old, None) == "only before"


def test_names_of_an_older_commit_are_read_as_todays(
    golden: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def saved(command: list[str], **_: object) -> None:
        assert command[-2] == "old_preset"
        into = Path(command[-1]) / "old_name"
        into.mkdir()
        (into / "choices.csv").write_text("was,time_s\n1,2\n")

    renames = {
        "schedulers": {"old_name": "las"},
        "presets": {"old_preset": "start_here"},
        "tables": {"choices": "decisions"},
        "columns": {"choices.was": "decisions.decision"},
    }
    monkeypatch.setattr(golden.subprocess, "run", saved)
    found = golden.tables_of(tmp_path, "start_here", renames)
    assert found == {("start_here", "las", "decisions"): {"decision": ["1"], "time_s": ["2"]}}


def test_a_preset_that_an_older_commit_has_not_is_named_and_left_out(
    golden: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key, new = ("start_here", "las", "jobs"), ("hops_example", "las", "jobs")
    table = {"job": ["a"]}
    monkeypatch.setattr(golden, "tree_of", lambda commit: nullcontext(Path()))
    monkeypatch.setattr(golden, "PRESETS", ("start_here", "hops_example"))
    monkeypatch.setattr(golden, "runs", lambda trees, presets: [{key: table}, {key: table, new: table}])
    assert golden.main(["--against", "abc"]) == 0
    assert capsys.readouterr().out == "hops_example: not in abc, not compared\n1 of 1 tables are equal\n"
