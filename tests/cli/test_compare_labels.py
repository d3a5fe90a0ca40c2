"""`compare` and `sweep` with labels (`old=las,new=srtf`), and with runs of which some have failed."""

import json
import re

import numpy as np
import pytest
from scipy import stats

import workbench
from workbench.analysis.comparison import list_cases
from workbench.base.errors import InputError

SMALL = workbench.preset("start_here")


def odd_seeds_only(snapshot, memory, knobs, rng):
    """Nothing at all, and for about half of the seeds a decision that the core refuses."""
    node, job = snapshot.nodes.names[0], snapshot.jobs.names[0]
    if rng.random() < 0.5:
        return workbench.Decision(assign=(workbench.Assignment(job, {node: 99}, snapshot.now_s + 60),)), memory
    return workbench.Decision(), memory


@pytest.fixture(scope="module", autouse=True)
def declared(own_of_module):
    workbench.scheduler("test-labels-odd-seeds-only", round_s=60)(odd_seeds_only)


LABELLED = ("compare", "preset:start_here", "--schedulers", "old=las, new=srtf", "--set", "new:round_s=300")


def test_labels_name_the_columns_and_a_line_says_what_they_are(cli):
    code, out, _ = cli(*LABELLED)
    lines = out.splitlines()
    assert code == 0 and lines[1:3] == ["old is las", "new is srtf round_s=300"]
    assert lines[4].split() == ["old", "new"]


def test_labels_are_in_the_json_with_the_schedulers_names(ask):
    found = ask(*LABELLED)
    assert [(run["label"], run["scheduler"]) for run in found["runs"]] == [("old", "las"), ("new", "srtf")]
    assert list(found["mean"]) == ["old", "new"] and found["ratios_to"] == "old"
    assert found["runs"][1]["knobs"]["round_s"] == 300


def test_a_scheduler_that_comes_twice_has_both_labels(ask):
    found = ask("sweep", "preset:start_here", "--scheduler", "a=fifo,b=fifo", "--set", "b:round_s=60")
    assert [run["label"] for run in found["runs"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("schedulers", "expected"),
    [
        ("old=", "label=scheduler"),
        ("=las", "label=scheduler"),
        ("a:b=las", "a label without :"),
        ("old=las,old=srtf", "once"),
        ("old=las,new=las", "each scheduler once with the same knobs"),
        ("old=nothing_such", "gavel.fifo"),
    ],
)
def test_labels_that_cannot_be_are_one_error(refused, schedulers, expected):
    code, _, told = refused("compare", "preset:start_here", "--schedulers", schedulers)
    assert code == 2 and expected in told


def test_labels_in_python():
    cases = list_cases(SMALL, {"old": "las", "new": ("srtf", {"round_s": 60})})
    assert [(case.label, case.scheduler) for case in cases] == [("old", "las"), ("new", "srtf")]
    for label in ("", 3):
        with pytest.raises(InputError, match="a label"):
            list_cases(SMALL, {label: "las"})
    table = workbench.sweep(SMALL, {"old": "las"}, until_s=60)
    assert table["scheduler"].tolist() == ["old"]


# --- Runs that failed -------------------------------------------------------------------------------------------------


PARTLY = ("compare", "preset:start_here", "--schedulers", "las,odd=test-labels-odd-seeds-only", "--until", "60")


def test_a_mean_over_some_of_the_seeds_says_of_how_many(cli):
    code, out, err = cli(*PARTLY, "--seeds", "0:4")
    made = 4 - err.count("failed: odd")
    assert code == 1 and 1 <= made <= 3
    assert "over 4 seeds; where runs have failed (row Runs), over the others" in out
    (row,) = [line.split() for line in out.splitlines() if line.startswith("Runs")]
    assert row == ["Runs", "4", "of", "4", str(made), "of", "4"]


def test_the_json_says_over_how_many_runs_the_means_and_the_ratios_are(cli):
    _, out, _ = cli(*PARTLY, "--seeds", "0:4", "--json")
    found = json.loads(out)
    made = sum(run["label"] == "odd" for run in found["runs"])
    assert found["ended"] == {"las": {"runs": 4, "of": 4}, "odd": {"runs": made, "of": 4}}
    assert made == 4 - len(found["failed"]) and 1 <= made <= 3
    assert found["ratios"]["odd"]["seeds"] == made and found["ratios"]["las"]["seeds"] == 4


def test_nothing_is_said_where_every_run_has_ended(cli):
    _, out, _ = cli("compare", "preset:start_here", "--schedulers", "las", "--seeds", "0:2", "--until", "60")
    assert "Runs" not in out and "failed" not in out


def test_the_comparison_tells_how_many_runs_have_ended():
    found = workbench.compare(SMALL, ["las", "test-labels-odd-seeds-only"], seeds=range(4), until_s=60)
    ended = found.ended()
    assert ended.loc["las"].tolist() == [4, 4]
    assert ended.loc["test-labels-odd-seeds-only"].tolist() == [4 - len(found.failed), 4]
    assert list(ended.index) == list(found.mean().index)


SEEDS = ("compare", "preset:start_here", "--schedulers", "fifo,las,srtf", "--seeds", "0:4", "--bootstrap")


def test_several_seeds_are_compared_pair_by_pair_and_single_spreads_shown_where_asked(cli, ask):
    """The line of the mean JCT: ratio, interval of two at once recomputed from the runs; ranks add up to 6."""
    runs = ask(*SEEDS)["runs"]
    jct = {label: [run["metrics"]["mean_jct_s"] for run in runs if run["label"] == label] for label in ("fifo", "las")}
    logs = np.log(np.array(jct["las"]) / np.array(jct["fifo"]))
    mean, reach = np.exp(logs.mean()), np.exp(stats.t.ppf(0.9875, 3) * logs.std(ddof=1) / 2)
    _, out, _ = cli(*SEEDS)
    (row,) = [line for line in out.splitlines() if line.startswith("Mean JCT")]
    assert f"x {mean:.2f} ({mean / reach:.2f} to {mean * reach:.2f})" in row
    _, four, _ = cli(*SEEDS[:3], "fifo,las,srtf,hadar", "--seeds", "0:6", "--bootstrap")
    signs = re.findall(r"\(([\d.]+) to ([\d.]+)\)(\*?)", four)
    assert any(sign for *_, sign in signs), "some differ"
    assert all(bool(sign) != (float(low) <= 1 <= float(high)) for low, high, sign in signs)
    ranks = [float(text) for text in re.findall(r"rank ([\d.]+)", row)]
    assert len(ranks) == 3 and sum(ranks) == pytest.approx(6, abs=0.16)
    assert "; behind it the geometric mean ratio to fifo seed by seed, where seeds differ with its 95 %" in out
    assert "±" not in out
    _, asked, _ = cli(*SEEDS, "--spread")
    assert "mean ± standard deviation over 4 seeds" in asked and "rank" not in asked


def test_the_baseline_and_the_measured_jobs_are_those_asked_for(cli, ask, refused):
    """As the Python call has them."""
    asked = (*SEEDS, "--baseline", "srtf", "--window", "1:2")
    found, names = ask(*asked), ("fifo", "las", "srtf")
    known = workbench.compare("preset:start_here", names, seeds=range(4), bootstrap=True, window=(1, 2))
    pairs = known.paired("srtf")
    assert found["ratios_to"] == "srtf" and found["ratios"]["srtf"]["mean_jct_s"] == 1
    assert [(row["scheduler"], row["ratio"]) for row in found["paired"] if row["measure"] == "mean_jct_s"] == [
        tuple(row) for row in pairs.loc[pairs["measure"] == "mean_jct_s", ["scheduler", "ratio"]].to_numpy().tolist()
    ]
    assert "ratio to srtf seed by seed" in cli(*asked)[1]
    assert "--baseline" in refused(*SEEDS, "--baseline", "lass")[2]
    told = ("--belief", "oracle", "--belief", "nodes", "--baseline")
    alone = ("compare", "preset:start_here", "--schedulers", "las", *told)
    assert ask(*alone, "nodes")["ratios_to"] == ask(*alone, "las, nodes")["ratios_to"] == "las, nodes"
    assert "las, oracle, las, nodes" in refused(*alone, "las")[2]  # it is of two
    for text in ("2:1", "3", "a:b", "0:99"):
        assert "--window" in refused(*SEEDS, "--window", text)[2]


def test_a_baseline_without_runs_is_said_and_the_first_stands_in(cli):
    asked = ("compare", "preset:hops_example", "--schedulers", "fifo,gavel.min_cost,las")
    code, out, err = cli(*asked, "--baseline", "gavel.min_cost")
    assert code == 1 and "failed: gavel.min_cost" in err and "Mean JCT" in out
    assert "--baseline gavel.min_cost: none of its runs ended; the others are compared with fifo" in err
