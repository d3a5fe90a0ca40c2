"""The lab on Hops: charts for its queue, plans, gains and fragments, and what was tried set against each other."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import widgets.lab.lab
from tests.widgets.lab.support import Waiter, look_at, solve, titles
from widgets import GavelLab, HopsLab, Lab
from widgets.lab.results import CHARTS, OF_TIME, TOGETHER
from widgets.lab.trials import Trials, TriedRun, names
from workbench.analysis import metrics
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.session.api import simulate

KNOBS = {"profile_iterations": 0, "decision_s": 0.0}


@pytest.fixture(scope="module")
def crowd() -> Scenario:
    """Fourteen of the preset's jobs at once on 3 of its 10 servers: some are beyond the window."""
    made = preset("hops_64")
    cluster = made.cluster.model_dump(mode="json")
    cluster["nodes"] = [{**node, "count": 1} for node in cluster["nodes"][:3]]
    jobs = [job.model_copy(update={"arrival_s": 0.0, "steps": job.steps / 20}) for job in made.jobs[:14]]
    return made.replace(cluster=cluster, jobs=jobs)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, crowd: Scenario) -> Lab:
    """A lab with the crowd solved."""
    monkeypatch.chdir(tmp_path)
    waiter = Waiter()
    monkeypatch.setattr(widgets.lab.lab, "process_work", lambda: waiter)
    monkeypatch.setattr(widgets.lab.lab, "is_small", lambda scenario: False)
    lab = HopsLab(crowd)
    lab.waiter = waiter
    solve(lab, **KNOBS)
    return lab


def test_the_charts_of_the_queue_are_there_for_who_has_one(lab: Lab) -> None:
    assert {"Plan", "Window", "Gains", "Fairness", "Signals"} < set(titles(lab))
    solve(lab, scheduler="sia")
    assert not {"Plan", "Window", "Gains"} & set(titles(lab)) and "Fairness" in titles(lab)


def test_the_window_is_that_of_the_longest_queue_and_follows_the_playback(lab: Lab, crowd: Scenario) -> None:
    drawing = look_at(lab, "Window")
    assert "at 0 s" in drawing.named()["title"]["text"] and set(drawing.table["job"]) == {j.name for j in crowd.jobs}
    least, total = {job.name: job.sizes[0] for job in crowd.jobs}, crowd.cluster.gpus
    summed = 0
    for row in drawing.table.itertuples():
        assert (row.window == 1) == (summed < total), "inside until those before reach the GPUs of the cluster"
        summed += least[row.job]
        assert row.summed_gpus == summed
    results = lab._results
    results.playback.number = results.playback.last - 1
    later = results._pages["Window"].drawing
    assert later is not drawing and len(later.table) < len(drawing.table)


def test_the_plan_has_no_more_gpus_than_there_are_and_what_they_are_worth(lab: Lab, crowd: Scenario) -> None:
    table = look_at(lab, "Plan").table
    assert 0 < table["gpus"].sum() <= crowd.cluster.gpus
    assert table["priority"].is_monotonic_decreasing


def test_weights_times_gains_are_the_objective_of_a_round_with_one_plan(lab: Lab) -> None:
    solve(lab, replan=False)
    table = look_at(lab, "Plan").table
    first = lab.run.decisions.iloc[0]
    assert first["time_s"] == 0.0 and (table["weight"] * table["gain"]).sum() == pytest.approx(first["objective"])


def test_the_error_of_the_layers_shrinks_in_the_chart_of_the_estimator(lab: Lab) -> None:
    """Fig. 7b."""
    assert "Estimator" not in titles(lab)
    solve(lab, belief="layered")
    table = look_at(lab, "Estimator").table
    assert set(table["line"]) == {"layered"} and table["x"].is_monotonic_increasing
    assert 0 < table["y"].iloc[-1] < 0.8 * table["y"].iloc[0]
    solve(lab, belief="oracle")
    assert "Estimator" not in titles(lab)


def test_lambda_moves_the_plan(lab: Lab) -> None:
    """With lambda = 0 the summed gain is at its largest; the gap allows 1 %."""
    gains = {}
    for power in (0.0, 1.0, math.inf):
        solve(lab, **{"lambda": power})
        gains[power] = look_at(lab, "Plan").table["gain"].sum()
    assert gains[0.0] >= 0.99 * max(gains.values())


def test_gains_are_those_of_all_jobs_or_of_the_one_selected(lab: Lab) -> None:
    whole = look_at(lab, "Gains")
    assert set(whole.table["job"]) == set(lab.run.jobs["job"])
    lab._results.select("job-4")
    one = look_at(lab, "Gains")
    assert set(one.table["job"]) == {"job-4"} and "job-4" in one.named()["title"]["text"]
    lab._results.select(None)
    assert look_at(lab, "Gains").table.equals(whole.table)


def test_fairness_is_that_of_the_metrics(lab: Lab) -> None:
    table = look_at(lab, "Fairness").table
    jobs = metrics.per_job(lab.run)
    for name, measure in (("latency ratio", "latency_ratio"), ("finish-time fairness (rho)", "finish_time_fairness")):
        mine = table[table["run"] == name]
        assert mine["value"].tolist() == pytest.approx(sorted(set(jobs[measure])))
        assert mine["share"].iloc[-1] == pytest.approx(1.0)


def test_the_latency_of_late_is_the_mean_over_the_jobs_that_just_ended(lab: Lab) -> None:
    """(7), summed here job by job."""
    jobs = metrics.per_job(lab.run).assign(finish_s=lab.run.jobs["finish_s"].to_numpy())
    for time_s, value in look_at(lab, "Latency").table[["time_s", "value"]].iloc[:-1].itertuples(index=False):
        of_late = jobs[(jobs["finish_s"] <= time_s) & (jobs["finish_s"] > time_s - 3600.0)]
        assert value == pytest.approx(of_late["latency_ratio"].mean())


def test_fragments_have_a_tab_where_gpus_are_idle_while_jobs_wait(lab: Lab) -> None:
    assert set(look_at(lab, "Fragments").table["series"]) == {"after each decision", "mean of the round"}
    alone = lab.scenario.replace(jobs=lab.scenario.jobs[:1])
    lab.open(alone)
    solve(lab)
    assert "Fragments" not in titles(lab), "one job does not wait"


def test_signals_are_shown_one_at_a_time_unless_they_are_few(lab: Lab) -> None:
    drawing, choice = look_at(lab, "Signals"), lab._results._signal
    assert choice.value == "latency_ratio" and set(drawing.table["signal"]) == {"latency_ratio"}
    assert not {"priority", "place", "window", "let_in"} & set(choice.options)
    assert not any(name.startswith("gain of ") for name in choice.options)
    choice.value = "sensitivity"
    assert set(lab._results._pages["Signals"].drawing.table["signal"]) == {"sensitivity"}
    solve(lab, **{"lambda": 2.0})
    assert choice.value == "sensitivity", "it stays"
    choice.value = TOGETHER
    assert len(set(lab._results._pages["Signals"].drawing.table["signal"])) > 2


def test_what_was_tried_is_set_against_each_other(lab: Lab) -> None:
    assert "Trade-off" not in titles(lab), "one run alone is no trade-off"
    first = lab.run
    solve(lab, **{"lambda": 4.0})
    table = look_at(lab, "Trade-off").table
    assert table["name"].tolist() == ["lambda 1", "lambda 4"]
    for row, run in zip(table.itertuples(), (first, lab.run), strict=True):
        jobs = metrics.per_job(run)
        assert row.x == pytest.approx(jobs["jct_s"].mean() / 3600) and row.y == pytest.approx(
            jobs["latency_ratio"].max()
        )
    solve(lab, **{"lambda": 1.0})
    assert look_at(lab, "Trade-off").table["name"].tolist() == ["lambda 4", "lambda 1"], "the same run counts once"
    solve(lab, scheduler="sia")
    assert look_at(lab, "Trade-off").table["name"].tolist() == [
        "hops, lambda 4, nodes",
        "hops, lambda 1, nodes",
        "sia, oracle",
    ]
    lab._scenario.editors.tables["jobs"].edit(0, "weight", "2")
    solve(lab)
    assert "Trade-off" not in titles(lab), "another scenario begins anew"


def test_names_say_what_differs() -> None:
    def tried(scheduler: str, **knobs: Any) -> TriedRun:
        return TriedRun(scheduler, knobs, {})

    assert names([tried("a", x=1, y=2.0)]) == ["a"]
    assert names([tried("a", x=1, y=2.0), tried("a", x=1, y=math.inf)]) == ["y 2", "y inf"]
    assert names([tried("a", x=1), tried("b", z=3), tried("a", x=2)]) == ["a, x 1", "b", "a, x 2"]
    assert names([tried("a", x=1), TriedRun("a", {"x": 1}, {}, "pmi")]) == ["oracle", "pmi"]
    assert names([tried("a", x=1), TriedRun("a", {"x": 2}, {}, "pmi")]) == ["x 1, oracle", "x 2, pmi"]
    assert names([]) == []


def test_trials_keep_the_last_of_equals(crowd: Scenario) -> None:
    trials, run = Trials(), simulate("preset:start_here", "fifo")
    for measures in ({"n": 1}, {"n": 2}):
        trials.add(run, measures)
    assert [one.measures for one in trials.made] == [{"n": 2}]
    trials.add(run, {"n": 3}, "pmi")
    assert [one.measures for one in trials.made] == [{"n": 2}, {"n": 3}], "with another belief it is another run"


def test_a_slider_for_lambda_goes_to_infinity(lab: Lab) -> None:
    control = lab._knobs._controls["lambda"]
    assert control.slider is not None
    labels = [label for label, _ in control.slider.options]
    assert labels[0] == "0" and labels[-1] == "inf"
    for value in (0.0, 0.5, math.inf):
        control.slider.value = value
        assert lab.knobs["lambda"] == value
    for typed, near in (("0.01", 0.1), ("5", 6.0), ("100", 10.0), ("0", 0.0), ("inf", math.inf)):
        control.widget.value = typed
        assert control.slider.value == near and lab.knobs["lambda"] == float(typed), "what was typed stays"


def test_only_charts_of_a_time_are_drawn_again_by_the_playback(lab: Lab) -> None:
    drawn = {tab: look_at(lab, tab) for tab in titles(lab) if tab in CHARTS}
    lab._results.playback.number = 0
    for tab, before in drawn.items():
        assert (look_at(lab, tab) is not before) == (tab in OF_TIME), tab


def test_other_labs_have_no_charts_of_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    waiter = Waiter()
    monkeypatch.setattr(widgets.lab.lab, "process_work", lambda: waiter)
    monkeypatch.setattr(widgets.lab.lab, "is_small", lambda scenario: False)
    lab = GavelLab()
    lab.solve()
    waiter.answer()
    assert not {"Plan", "Window", "Gains", "Trade-off", "Signals"} & set(titles(lab))
