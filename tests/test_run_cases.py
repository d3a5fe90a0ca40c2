"""The runner of reference cases, on files made here and on ../shared/cases when it is there."""

import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("run_cases.py")
GAVEL = {
    **dict.fromkeys(("las", "las_agnostic", "isolated", "makespan", "ftf", "fifo"), 6),
    **dict.fromkeys(("max_sum", "cost", "cost_slo", "water_filling_single_level"), 6),
    **dict.fromkeys(("hierarchical_fairness", "hierarchical_fifo", "hierarchical_mixed"), 6),
    **{"las_packed": 5, "allox": 5, "runs": 20, "": 1},
}
"""How many of Gavel's reference cases of each kind must pass."""
AGAIN = {
    "gt_n120_l0_s0.trace": {"gandiva", "min_total_duration", "min_total_duration_perf"},
    "minimize_makespan.trace": {"isolated", "max_min_fairness", "max_min_fairness_perf", "max_sum_throughput_perf"},
}
"""Whole runs of a policy that the authors' code ran on the other trace too, where it takes less time."""
SPEC = importlib.util.spec_from_file_location("run_cases", SCRIPT)
run_cases = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run_cases)


def instance(**changes):
    """The three jobs of Gavel's section 4.1; the optimum is 8/11, see test_max_min_fairness."""
    jobs = [{"id": i, "throughputs": {"v100": 4.0 - i, "k80": 1.0}} for i in range(3)]
    body = {
        "instance": "las-77",
        "cluster_spec": {"k80": 1, "v100": 1},
        "jobs": jobs,
        "exact": {"objective": 8 / 11},
    }
    return {**body, **changes}


def write(folder, data, name="las.json"):
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return str(path)


def lines(capsys):
    printed = capsys.readouterr()
    *rows, last = printed.out.splitlines()
    return [json.loads(row) for row in rows], last, printed.err


def test_a_case_that_passes_with_the_optional_fields_left_out(tmp_path, capsys):
    assert run_cases.main([write(tmp_path, {"instances": [instance()]})]) == 0
    [row], last, _ = lines(capsys)
    assert list(row) == ["id", "ok", "expected", "got", "note"]
    assert (row["id"], row["ok"]) == ("las-77", True)
    assert last == "1 passed, 0 failed, 0 unsupported"


def test_text_ids_missing_speeds_and_no_jobs(tmp_path, capsys):
    header = {"policy": "max_min_fairness_perf"}
    jobs = [{"id": "a b", "throughputs": {"v100": 2.0, "k80": None}}, {"id": "c", "throughputs": {"k80": 1.0}}]
    bodies = [
        instance(instance="x", jobs=jobs, exact={"objective": 2.0}),
        instance(instance="y", jobs=[], exact={"objective": None}),
    ]
    assert run_cases.main([write(tmp_path, {"header": header, "instances": bodies}, "hidden.json")]) == 0
    assert lines(capsys)[1] == "2 passed, 0 failed, 0 unsupported"


def test_failures_and_unsupported_cases(tmp_path, capsys):
    stuck = [{"id": 0, "throughputs": {"v100": 0.0}}]
    bodies = [
        instance(exact={"objective": 1.5}),
        instance(instance="las-78", jobs=stuck),
        instance(instance="las-79", jobs=[{"id": 1}]),
    ]
    other = write(
        tmp_path, {"schema": "dlsched-case/1", "id": "n-1", "paper": "nobody", "kind": "x", "instance": {}}, "n"
    )
    assert run_cases.main([write(tmp_path, {"instances": bodies}), other]) == 1
    rows, last, _ = lines(capsys)
    assert [row["ok"] for row in rows] == [False, False, False, None]
    assert rows[1]["got"] == "invalid_input"
    assert "job 0" in rows[1]["note"]
    assert "'throughputs' is missing" in rows[2]["note"]
    assert rows[3]["note"] == "unsupported: nobody x"
    assert last == "0 passed, 3 failed, 1 unsupported"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "not JSON"),
        ("[1]", "expected a JSON object, got list"),
        ('{"a": 1}', "neither `schema`"),
        ('{"schema": "other/1"}', "expected 'dlsched-case/1'"),
        ('{"schema": "dlsched-case/1", "paper": "hops", "kind": "optimise"}', "'instance' is missing"),
        ('{"instances": 3}', "not iterable"),
    ],
)
def test_a_malformed_file_is_one_line_and_the_others_still_run(tmp_path, capsys, text, complaint):
    good = write(tmp_path, {"instances": [instance()]})
    assert run_cases.main([write(tmp_path, text, "bad.json"), good]) == 2
    _, last, errors = lines(capsys)
    assert complaint in errors
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert last == "1 passed, 0 failed, 0 unsupported"


def test_a_missing_file_and_no_file(tmp_path, capsys):
    assert run_cases.main([str(tmp_path / "none.json")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert run_cases.main([]) == 2


def test_infinite_numbers_are_null(capsys):
    assert run_cases._finite({"a": [float("inf"), 1.0], 2: (float("nan"),)}) == {"a": [None, 1.0], "2": [None]}


def test_every_reference_case(shared, tmp_path):
    """As a script, run elsewhere. Nothing fails; the kinds of case that this version supports all pass.

    Of whole runs one with each policy.
    """
    files = sorted((shared / "cases").glob("*/*.json"))
    whole = json.loads((shared / "cases" / "gavel" / "runs.json").read_text(encoding="utf-8"))
    once = [each for each in whole["runs"] if each["policy"] not in AGAIN[each["trace"]]]
    assert {each["policy"] for each in once} == {each["policy"] for each in whole["runs"]}
    runs = write(tmp_path, {**whole, "runs": once}, "runs.json")
    asked = [runs if path.name == "runs.json" else path for path in files]
    done = subprocess.run([sys.executable, SCRIPT, *asked], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()[:-1]]
    passed = Counter(row["id"].partition(" ")[0].rpartition("-")[0] for row in rows if row["ok"])
    least = Counter(GAVEL) - Counter(runs=len(whole["runs"]) - len(once))
    assert passed >= least, least - passed


@pytest.mark.long
def test_every_whole_run(shared, capsys):
    """Those of a policy on both of the authors' traces."""
    assert run_cases.main([str(shared / "cases" / "gavel" / "runs.json")]) == 0
    assert sum(row["ok"] is True for row in lines(capsys)[0]) == GAVEL["runs"]
