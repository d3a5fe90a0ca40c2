"""Commands that describe: list, presets, validate, schema."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import jsonschema
import pytest

import workbench
from workbench.base.errors import InputError
from workbench.cli.inputs import seconds, seeds
from workbench.cli.output import plain, short
from workbench.scenario.presets import presets
from workbench.scenario.traces import public
from workbench.session.registry import formulations, schedulers

KNOB_KEYS = ["name", "default", "kind", "optional", "unit", "choices", "minimum", "maximum", "help", "source"]


def test_list(cli, ask):
    found = ask("list")
    own = {f.name for f in formulations() if f.own}  # of other tests in this process
    assert {(e["name"], e["kind"]) for e in found} >= {
        *((f.name, "formulation") for f in formulations() if f.name not in own),
        *((s.name, "scheduler") for s in schedulers() if s.name not in own and not s.name.startswith("test-")),
    }
    for entry in found:
        assert list(entry) == ["name", "kind", "title", "paper", "offline", "uses", "knobs"]
        assert all(list(knob) == KNOB_KEYS for knob in entry["knobs"])
    by_name = {(e["name"], e["kind"]): e for e in found}
    assert by_name["gavel.max_min_fairness", "scheduler"]["paper"] == "gavel"
    assert by_name["fifo", "scheduler"]["paper"] is None
    assert "steps" in by_name["fifo", "scheduler"]["uses"]
    code, out, _ = cli("list")
    assert code == 0 and all(entry["name"] in out for entry in found)
    assert max(map(len, out.splitlines())) < 160


def test_list_one(cli, ask, refused):
    knobs = {k["name"]: k for e in ask("list", "las") for k in e["knobs"]}
    _, out, _ = cli("list", "las")
    for name, knob in knobs.items():
        assert name in out and knob["help"] in out
    assert refused("list", "lass")[:2] == (2, "invalid_input")


def test_presets(cli, ask, tmp_path):
    known = ask("presets")["presets"]
    assert [row["name"] for row in known] == [name for name, _ in presets()]
    assert {"hadar_aws_M-8", "hadar_lab_M-12"} < {name for row in known for name in row["variants"]}
    assert ask("presets", "hadar_aws_M-8") == workbench.preset("hadar_aws_M-8").to_dict()
    assert "start_here" in cli("presets")[1]
    made = workbench.preset("start_here")
    assert workbench.Scenario.from_json(cli("presets", "start_here")[1]) == made
    assert ask("presets", "start_here") == made.to_dict()
    target = tmp_path / "s.json"
    answer = ask("presets", "start_here", "-o", target)
    assert answer == {"output": str(target), "jobs": 3, "gpus": {"v100": 2, "k80": 1}}
    assert workbench.load(target) == made


def test_validate(cli, ask):
    found = ask("validate", "preset:gavel_physical")
    assert found["status"] == "valid"
    assert (found["jobs"], found["nodes"]) == (50, 12)
    assert found["gpus"] == {"v100": 8, "p100": 16, "k80": 24}
    assert found["key"] == workbench.preset("gavel_physical").key()
    assert "50" in cli("validate", "preset:gavel_physical")[1]


def test_schema_describes_the_files(ask):
    schema = ask("schema")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(ask("presets", "hops_64"), schema)


def test_version_and_help(cli):
    assert cli("--version")[:2] == (0, f"workbench {workbench.__version__}\n")
    code, out, _ = cli("simulate", "--help")
    assert code == 0 and "--scheduler" in out


def test_validate_tells_when_jobs_arrive(cli, ask):
    found = ask("validate", "preset:start_here")
    assert (found["first_arrival_s"], found["last_arrival_s"]) == (0, 1800)
    _, out, _ = cli("validate", "preset:start_here")
    assert "first arrival  0 s" in out and "last arrival   30 min" in out


# `workbench data`: the list, a path that a shell can use, and clear refusals


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of one's own with one file in it."""
    content = b"some trace\n"
    entry = dataclasses.replace(public.FILES["gavel_makespan"], sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(public.FILES, "gavel_makespan", entry)
    monkeypatch.setenv(public.VARIABLE, str(tmp_path))
    (tmp_path / "minimize_makespan.trace").write_bytes(content)
    return tmp_path


def test_the_list(cli, ask):
    code, out, err = cli("data")
    assert (code, err) == (0, "")
    for name in (*public.FILES, *public.ELSEWHERE):
        assert f"\n{name} " in f"\n{out}"
    listed = ask("data")
    assert [entry["name"] for entry in listed["files"]] == list(public.FILES)
    assert [entry["url"] for entry in listed["elsewhere"]] == [entry.url for entry in public.ELSEWHERE.values()]


def test_stdout_has_the_path_alone_so_that_a_shell_can_use_it(cli, ask, folder):
    path = str(folder / "minimize_makespan.trace")
    code, out, err = cli("data", "gavel_makespan")
    assert (code, out) == (0, path + "\n")
    assert "licence MIT" in err
    assert ask("data", "gavel_makespan")["path"] == path


def test_what_is_not_there_or_not_offered(cli, folder):
    code, out, err = cli("data", "chronus_philly_mix2")
    assert (code, out) == (1, "")
    assert "WORKBENCH_DATA: got no such file there" in err and public.FILES["chronus_philly_mix2"].url in err
    for name in ("helios", "nope"):
        code, out, err = cli("data", name)
        assert (code, out) == (2, "")
        assert "one of gavel_makespan, gavel_max_min_fairness" in err


# How typed values are read and found ones printed


def test_seeds():
    assert seeds("0:3") == [0, 1, 2]
    assert seeds("7") == [7]
    assert seeds("1,5:7") == [1, 5, 6]


def test_seconds():
    read = seconds("--until")
    assert [read(text) for text in ("90", "2 h", "1 h 30 min", "0", "1e3")] == [90, 7200, 5400, 0, 1000]
    with pytest.raises(InputError, match="--until"):
        read("nan")


def test_plain_is_json():
    import numpy as np

    found = plain({1: float("inf"), "a": (np.float64("nan"), np.int64(2), [np.array([1.5, -np.inf])], True, None)})
    assert found == {"1": None, "a": [None, 2, [[1.5, None]], True, None]}
    assert json.dumps(found, allow_nan=False)
    assert isinstance(plain(np.bool_(True)), bool)


def test_short():
    assert [short(x) for x in (None, float("nan"), 3, 0.12345, 123456.7, True)] == [
        "-",
        "-",
        "3",
        "0.1235",
        "123,457",
        "True",
    ]
