"""Hare's objective is shown where weights say something; rounds that change are none of a run in task sequences."""

from __future__ import annotations

import math

import pytest

from workbench import compare, simulate, summary
from workbench.analysis.metrics import HEADLINE, MAIN, METRICS, Summary, table
from workbench.cli.simulate import _measures
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario


def weighted(*weights: float) -> Scenario:
    base = preset("hare_example")
    jobs = [job.model_copy(update={"weight": weight}) for job, weight in zip(base.jobs, weights, strict=True)]
    return base.replace(jobs=jobs)


def test_the_total_weighted_jct_is_shown_where_a_weight_is_not_one() -> None:
    found = summary(simulate(weighted(3.0, 1.0, 2.0), "hare", switching="free"))
    shown = table(found).set_index("metric").loc["weighted_jct_s"]
    jct = simulate(weighted(3.0, 1.0, 2.0), "hare", switching="free").jobs["finish_s"].to_numpy()
    assert found["weighted_jct_s"] == pytest.approx(jct @ [3.0, 1.0, 2.0])  # all arrive at 0
    assert shown["unit"] == "s x weight" and float(shown["value"]) == pytest.approx(found["weighted_jct_s"], rel=1e-2)


def test_it_is_not_shown_where_it_is_the_sum_of_jcts() -> None:
    plain = summary(simulate(weighted(1.0, 1.0, 1.0), "hare", switching="free"))
    assert plain["weighted_jct_s"] == pytest.approx(plain["mean_jct_s"] * 3)
    assert table(plain)["metric"].tolist() == list(HEADLINE)


def test_jobs_apart_are_in_counts_and_costs_and_not_in_averages() -> None:
    run = simulate("preset:chronus_small", "chronus")
    whole, jobs = summary(run), run.jobs.set_index("job")
    apart = {"tune", next(job.name for job in run.scenario.jobs if not job.rewards)}
    found = summary(run, apart=apart)
    same = "jobs", "jobs_finished", "jobs_unfinished", "jobs_refused", "preemptions", "restarts", "moves", "cost_usd"
    slos = "slo_violations", "weighted_miss_rate", "guaranteed", "renewals", "suspensions"
    assert all(found[name] == whole[name] or math.isnan(whole[name]) for name in (*same, *slos))
    jct_s = (jobs["finish_s"] - jobs["arrival_s"]).dropna().drop(list(apart))
    assert found["weighted_jct_s"] == pytest.approx(jct_s.sum()) and found["mean_jct_s"] == pytest.approx(jct_s.mean())
    left = [job.name for job in run.scenario.jobs if not job.rewards and job.name not in apart]
    assert found["best_effort_jct_s"] == pytest.approx(jct_s[left].mean())
    assert "weighted_jct_s" not in table(found)["metric"].tolist(), "no job has a weight"


def test_a_comparison_has_it_for_all_schedulers() -> None:
    found = compare(weighted(3.0, 1.0, 2.0), ["hare", "fifo"])
    assert list(found.table.columns) == ["scheduler", "belief", "seed", *MAIN, "weighted_jct_s"]
    assert "Total weighted JCT" in found._repr_html_() and "s x weight" in found._repr_html_()
    equal = compare(weighted(1.0, 1.0, 1.0), ["hare", "fifo"])
    assert "weighted_jct_s" not in equal.table.columns


def test_a_run_in_task_sequences_has_no_share_of_rounds_that_change() -> None:
    runs = [summary(simulate(weighted(1.0, 1.0, 1.0), name)) for name in ("hare", "fifo")]
    assert math.isnan(runs[0]["changed_rounds"]) and 0 < runs[1]["changed_rounds"] <= 1


def test_a_comparison_on_the_command_line_has_the_same_rows_for_all() -> None:
    """Also with something behind a value, and with a scheduler that leaves jobs unfinished."""
    plain = {each.name: 1.0 for each in METRICS} | {"mean_jct_s": 10.0, "jobs_finished": 3.0, "weighted_jct_s": 30.0}
    assert "weighted JCT" not in _measures({"a": Summary(plain, {})}, {"a": {"weighted_jct_s": " ± 3"}})
    each = {"a": Summary(plain | {"weighted_jct_s": 50.0}, {}), "b": Summary(plain | {"weighted_jct_s": math.nan}, {})}
    (row,) = [
        line for line in _measures(each, {"a": {"weighted_jct_s": " ± 3"}}).splitlines() if "weighted JCT" in line
    ]
    assert row.split("JCT")[1].split() == ["50", "s", "x", "weight", "±", "3", "unknown"]
