"""A what-if against the runs that it is made of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import workbench
from tests.analysis.what_if.logs import of_hours
from workbench.analysis.metrics.summary import change_of
from workbench.analysis.what_if import NodesBy, ask, concluded, what_if
from workbench.analysis.what_if.tables import each_difference, sooner_and_later
from workbench.analysis.what_if.words import usd_per_hour, verdict
from workbench.base.errors import InputError, ScenarioError, Words, WorkbenchError
from workbench.base.units import format_duration
from workbench.session.many_runs import RunRequest, do
from workbench.simulation.loop import Observer
from workbench.simulation.run import Run

SMALL = "preset:start_here"


def row(found: Any, measure: str, change: str | None = None) -> Any:
    return next(r for r in each_difference(found.differences) if r.measure == measure and change in (None, r.change))


def test_the_differences_are_those_of_the_runs_side_by_side() -> None:
    """Against `simulate` and `summary`, each draw made by hand."""
    from workbench.analysis.what_if import drawn

    scenario = of_hours()
    found = what_if(scenario, "las", "scheduler srtf", seeds=range(4), bootstrap=True)
    jct: dict[str, list[float]] = {"las": [], "srtf": []}
    for seed in range(4):
        for name, values in jct.items():
            run = workbench.simulate(drawn(scenario, seed) if seed else scenario, name, seed=seed)
            values.append(workbench.summary(run)["mean_jct_s"])
    apart = np.subtract(jct["srtf"], jct["las"])
    mean_jct = row(found, "mean_jct_s")
    assert (mean_jct.before, mean_jct.after, mean_jct.difference) == (jct["las"][0], jct["srtf"][0], apart[0])
    half = 4.302653 * apart[1:].std(ddof=1)  # t of 2 degrees at 95 %
    assert mean_jct.high - mean_jct.difference == pytest.approx(half, rel=1e-6)
    assert row(found, "mean_cost_usd").unit == "USD" and row(found, "mean_cost_usd").pairs == 4


def test_utilisation_is_no_verdict_with_other_gpus_or_other_jobs() -> None:
    """More GPUs are used less by the same jobs, and more load fills them: neither is worse or better by itself."""
    found = what_if(SMALL, "las", ["nodes v100=+1", "load 1.25", "scheduler fifo"])
    for measure in ("utilisation", "cru"):
        nodes, policy = row(found, measure, "nodes v100=+1"), row(found, measure, "scheduler fifo")
        assert (nodes.better, policy.better) == ("", "higher")
        assert verdict(nodes._replace(low=-0.2, high=-0.1)) == "different"
        assert row(found, measure, "load 1.25").better == ""
        assert verdict(policy._replace(difference=-0.15, low=-0.2, high=-0.1)) == "worse"
    assert row(found, "mean_jct_s", "nodes v100=+1").better == "lower"


def test_jobs_are_paired_by_name_within_a_seed() -> None:
    found = what_if(SMALL, "fifo", "nodes v100=+1")
    before, after = (runs[0].jobs.set_index("job") for runs in found.runs)
    for line in found.jobs.itertuples():
        assert line.before_s == before.loc[line.job, "finish_s"] - before.loc[line.job, "arrival_s"]
        assert line.after_s == after.loc[line.job, "finish_s"] - after.loc[line.job, "arrival_s"]
    assert len(found.jobs) == 3 and sum(sooner_and_later(found.jobs)) == 3
    more = " ".join(what_if("preset:start_here", "las", "nodes v100=+4x2").conclusions)
    assert "At most 4 of the 10 GPUs of v100 are ever in use at once." in more, (
        "vision has two, game and translation one"
    )


def test_more_gpus_that_are_slower_draw_jobs_that_end_later() -> None:
    """`b` waits 1 h for the fast GPU, and ends after 2 h; first come, first served it has the slow one for 4 h."""
    nodes = [{"name": name, "accelerator": name, "gpus": 1} for name in ("fast", "slow")]
    jobs = [{"name": name, "model": "m", "steps": 3600.0} for name in "ab"]
    speeds = {"fast": 1.0, "slow": 0.25}
    rows = [{"model": "m", "accelerator": name, "gpus": 1, "steps_per_s": each} for name, each in speeds.items()]
    cluster = {"accelerators": [{"name": name} for name in speeds], "nodes": nodes[:1]}
    scenario = workbench.Scenario.from_dict({"cluster": cluster, "jobs": jobs, "throughputs": rows})
    said = " ".join(what_if(scenario, "fifo", "nodes slow=+1x1").conclusions)
    assert "1 job without GPUs of slow today has some then; done later of these: 1." in said


def test_several_changes_are_each_compared_with_today() -> None:
    changes = ["nodes v100=+1", "scheduler srtf", "load 0.5"]
    together = what_if("preset:gavel_sharing", "las", changes[1:])
    alone = what_if("preset:gavel_sharing", "las", changes[2])
    of_it = together.differences[together.differences["change"] == changes[2]].reset_index(drop=True)
    assert of_it.equals(alone.differences)


def test_equal_runs_of_all_seeds_have_no_interval_and_say_so() -> None:
    found = what_if(SMALL, "las", "scheduler srtf", seeds=range(3))
    assert row(found, "mean_jct_s").pairs == 1 and math.isnan(row(found, "mean_jct_s").low)
    assert any("nothing random plays a part" in said for said in found.conclusions)


def test_faults_drawn_by_seed_give_an_interval() -> None:
    found = what_if("preset:gavel_physical", "las", "faults mtbf_s=8 h, mttr_s=1 h", seeds=range(3))
    mean_jct = row(found, "mean_jct_s")
    assert mean_jct.pairs == 3 and mean_jct.low < mean_jct.difference < mean_jct.high
    assert mean_jct.difference > 0 and len({run.end_s for run in found.runs[1]}) == 3


@pytest.mark.parametrize(
    ("change", "bootstrap", "expected"),
    [
        ("nodes v100=+1", False, [0, 0]),
        ("nodes v100=+1", True, [0, 1, 2] * 2),
        ("faults mtbf_s=8 h, mttr_s=1 h", False, [0, 0, 1, 2]),
    ],
)
def test_each_side_runs_once_unless_its_runs_can_differ(
    change: str, bootstrap: bool, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By jobs drawn anew, or by failures drawn on that side."""
    made: list[int] = []

    def counted(request: RunRequest, observers: Iterable[Observer]) -> Run:
        made.append(request.seed)
        return do(request, observers)

    monkeypatch.setattr("workbench.session.many_runs.do", counted)
    found = what_if(of_hours(), "fifo", change, seeds=range(3), bootstrap=bootstrap)
    assert made == expected and [[run.seed for run in side] for side in found.runs] == [[0, 1, 2]] * 2


@pytest.mark.long
def test_the_answer_does_not_depend_on_the_number_of_workers() -> None:
    ended: list[tuple[int, int]] = []
    one = what_if(SMALL, "las", "nodes k80=+1", seeds=[0, 1], bootstrap=True, on_run=lambda *made: ended.append(made))
    two = what_if(SMALL, "las", "nodes k80=+1", seeds=[0, 1], bootstrap=True, workers=2)
    assert one.differences.equals(two.differences) and one.jobs.equals(two.jobs)
    assert ended == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_sentences_say_what_the_table_says() -> None:
    found = what_if(of_hours(), "fifo", "nodes v100=+2", seeds=range(4), bootstrap=True)
    mean_jct = row(found, "mean_jct_s")
    assert verdict(mean_jct) == "better" and mean_jct.high < 0
    said = next(text for text in found.conclusions if "mean JCT" in text)
    assert said.startswith("With 2 more v100 nodes: mean JCT goes from") and change_of(mean_jct.difference, "s") in said
    assert "95 % interval" in said and "over 4 pairs" in said
    sooner, by_s = sooner_and_later(found.jobs)[0], -found.jobs["difference_s"].clip(upper=0).sum()
    by = f", by {format_duration(by_s / sooner, parts=2)} on average, "
    assert f"{sooner} of {len(of_hours().jobs)} jobs are done sooner{by}" in " ".join(found.conclusions)
    assert "Each job averaged over 4 pairs, " in " ".join(found.conclusions)
    most = found.jobs.loc[found.jobs["difference_s"].idxmin()]
    assert f"same time. {most['job']} ({format_duration(-most['difference_s'], parts=2)} sooner)" in " ".join(
        found.conclusions
    )
    today = usd_per_hour(of_hours().cluster)
    assert any(f"cost {today + 4 * 2.48:.2f} USD/h, today {today:.2f}" in text for text in found.conclusions)


def test_a_cluster_without_prices_says_that_the_cost_is_not_known() -> None:
    scenario = workbench.preset("start_here")
    free = [a.model_copy(update={"price_per_hour": None}) for a in scenario.cluster.accelerators]
    unpriced = scenario.replace(cluster=scenario.cluster.model_copy(update={"accelerators": tuple(free)}).model_dump())
    found = what_if(unpriced, "las", "scheduler srtf")
    assert "cost_usd" not in found.differences["measure"].tolist()
    assert any("cost is not known" in text for text in found.conclusions)


def test_jobs_that_a_change_adds_are_in_no_pair() -> None:
    found = what_if(SMALL, "las", "density 200")
    assert len(found.jobs) == 3 and len(found.runs[1][0].jobs) == 6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"change": []}, "at least one change"),
        ({"change": ["load 2", "load 2.0"]}, "each change once"),
        ({"change": 3}, "change: got 3"),
        ({"change": "scheduler srtf", "seeds": []}, "at least one"),
        ({"change": "scheduler srtf", "seeds": 3}, "a list of whole numbers"),
        ({"change": "scheduler srtf", "knobs": 3}, "knobs of las: got 3"),
        ({"change": "scheduler srtf", "on_run": 3}, "a function"),
        ({"change": "scheduler srtf", "bootstrap": "trace"}, "True"),
        ({"change": "scheduler srtf", "level": 95}, "between 0 and 1"),
        ({"change": "scheduler srtf", "workers": 0}, "a whole number from 1"),
        ({"change": "scheduler srtf", "knobs": {"lambda": 1}}, "lambda"),
        ({"change": "nodes v100=-1", "scheduler": "nobody"}, "nobody"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(arguments: dict[str, Any], said: str) -> None:
    given = {"scheduler": "las", **arguments}
    with pytest.raises(InputError, match=said):
        what_if("preset:gavel_sharing", given.pop("scheduler"), given.pop("change"), **given)


def test_a_scenario_without_jobs_is_refused() -> None:
    with pytest.raises(InputError, match="at least one job to compare"):
        what_if(workbench.preset("start_here").replace(jobs=[]), "las", "nodes v100=+1")


def test_a_change_under_which_a_job_can_run_nowhere_is_refused() -> None:
    scenario = workbench.preset("gavel_example")
    on_v100 = [row for row in scenario.throughputs if row.accelerator == "v100"]
    with pytest.raises(InputError, match="can run nowhere"):
        ask(scenario.replace(throughputs=on_v100), "fifo", "nodes v100=-1")


def test_a_run_that_failed_is_named() -> None:
    question = ask(SMALL, "las", NodesBy("v100", 1))
    run = workbench.simulate(SMALL, "las")
    with pytest.raises(WorkbenchError, match=r"nodes v100=\+1, seed 0: solver: got no answer"):
        concluded(question, [run, WorkbenchError("solver", Words("no answer"), "one")])


def test_one_pair_tells_the_difference_and_judges_nothing() -> None:
    found = what_if(SMALL, "las", "nodes v100=+1")
    assert {verdict(line) for line in each_difference(found.differences)} <= {"no interval", "equal"}
    said = next(text for text in found.conclusions if "mean JCT" in text)
    assert said.endswith("in one pair of runs, which shows no interval.")
    assert "better" not in said and "worse" not in said


def test_what_utilisation_counts_is_said_where_nodes_fail() -> None:
    """With one node down for the whole run, one job of one GPU on the other computes its part of all GPU time."""
    note = "count the GPUs of a node that is down as there and idle"
    assert not any(note in said for said in what_if(SMALL, "las", "scheduler fifo").conclusions)
    found = what_if(SMALL, "las", "faults mtbf_s=1 d, mttr_s=1 h")
    assert any(note in said for said in found.conclusions)
    assert any(note in said for said in what_if(found.runs[1][0].scenario, "las", "scheduler fifo").conclusions)
    one = workbench.preset("start_here").to_dict()
    jobs = [{**one["jobs"][0], "gpus": 1, "arrival_s": 0.0}]
    down = {"faults": {"list": [{"node": "slow-0", "from_s": 0.0, "to_s": 1e9}]}}
    alone = workbench.Scenario.from_dict({**one, "jobs": jobs, "core": down}, "test")
    share = workbench.summary(workbench.simulate(alone, "las"))["utilisation"]
    assert share == pytest.approx(1 / alone.cluster.gpus, rel=0.05)


def test_a_plan_says_what_it_is_in_a_line():
    question = ask("preset:start_here", "las", ["nodes v100=+1", "load 1.5"], seeds=range(3))
    assert repr(question) == "<WhatIfQuestion: <las on start_here>; nodes v100=+1; load 1.5; 3 pairs>"


def test_a_change_with_which_a_job_can_run_nowhere_is_named() -> None:
    wide = workbench.Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "v100"}],
                "nodes": [{"name": "n", "accelerator": "v100", "gpus": 4, "count": 2}],
            },
            "throughputs": [{"model": "m", "accelerator": "v100", "gpus": 8, "steps_per_s": 1.0}],
            "jobs": [{"name": "wide", "model": "m", "gpus": 8, "steps": 10}],
        }
    )
    with pytest.raises(ScenarioError, match=r"with nodes v100=-1: .*jobs\[0\]"):
        what_if(wide, "fifo", "nodes v100=-1")
