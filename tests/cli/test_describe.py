"""Commands that describe: list, presets, validate, schema."""

import jsonschema

import workbench
from workbench.scenario.presets import presets
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
