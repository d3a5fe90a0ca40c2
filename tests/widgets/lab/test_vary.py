"""A setting varied in a lab: which runs are made, in what order, what is drawn, and what happens on the way."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.widgets.lab.support import Waiter
from widgets import GavelLab, Lab
from widgets.editors.setting_history import LabSetting
from widgets.lab.vary_page import (
    ALL_SOFT,
    ALL_STRICT,
    REWARDS,
    SCHEDULER,
    differing,
    offered_by,
    suggested,
    value_now,
    variants_of,
)
from workbench import preset, simulate
from workbench.analysis import metrics
from workbench.analysis.metrics import as_json
from workbench.base.errors import InputError, shorten
from workbench.session.registry import find_scheduler

FAIR = "gavel.max_min_fairness"
SETTING = LabSetting(preset("start_here"), "srtf", find_scheduler("srtf").settle({}))


class Measurer(Waiter):
    """Answers requests of the page as the labs' process does."""

    def measure(self, number: int = -1) -> None:
        request, hear = self.asked[number]
        assert request["kind"] == "measure"
        hear({"kind": "progress", "now_s": 1.0, "finished": 1, "jobs": 3, "decisions": 1})
        from workbench.cli.lab_process import simulated
        from workbench.simulation.stop import AllFinished

        run = simulated(request, AllFinished(), hear).run
        hear({"kind": "done", "measures": as_json(metrics.summary(run)), "jct_s": metrics.jct_s(run).tolist()})


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Measurer:
    import widgets.lab.lab

    waiter = Measurer()
    monkeypatch.setattr(widgets.lab.lab, "process_work", lambda: waiter)
    monkeypatch.setattr(widgets.lab.lab, "is_small", lambda scenario: False)
    return waiter


@pytest.fixture
def lab(work: Measurer) -> Lab:
    lab = GavelLab()
    lab.set("srtf")
    lab.solve()
    work.answer()
    lab._results.open("Vary")
    return lab


def vary(lab: Lab, what: str, values: str) -> Any:
    page = lab._vary
    page._what.value = what
    page._values.value = values
    page.run()
    return page


def test_each_value_is_run_with_everything_else_as_it_is_set(lab: Lab, work: Measurer) -> None:
    page = vary(lab, "round_s", "6 min, 30 min")
    assert work.asked[-1][0]["knobs"]["round_s"] == 360.0 and "1 of 2" in page._said.text
    work.measure()
    assert work.asked[-1][0]["knobs"]["round_s"] == 1800.0 and "2 of 2" in page._said.text
    work.measure()
    assert page._said.text == "2 of 2 runs made." and page._cancel.disabled and not page._run.disabled
    assert page.page.box.layout.display is None
    page._what.value = SCHEDULER
    assert page.page.box.layout.display == "none" and page._said.text.startswith("Run makes one run for each value")
    table = page.page.drawing.table
    assert table["value"].tolist() == ["6 min", "30 min"]
    for value, round_s in zip(table["mean_jct_s"], (360.0, 1800.0), strict=True):
        run = simulate("preset:start_here", "srtf", round_s=round_s)
        assert value == pytest.approx(metrics.summary(run)["mean_jct_s"])


def test_the_lab_itself_stays_as_it_is(lab: Lab, work: Measurer) -> None:
    run, knobs = lab.run, lab.knobs
    vary(lab, "round_s", "6 min")
    work.measure()
    assert lab.run is run and lab.knobs == knobs and lab.state == "done"


def test_cancel_keeps_what_is_done(lab: Lab, work: Measurer) -> None:
    page = vary(lab, "round_s", "6 min, 30 min, 1 h")
    work.measure()
    page.cancel()
    assert page._said.text.startswith("Cancelled. 1 of 3") and page.page.drawing.table["value"].tolist() == ["6 min"]
    assert not page._run.disabled
    page.run()
    assert work.asked[-1][0]["knobs"]["round_s"] == 360.0, "it begins anew"


def test_a_value_that_fails_is_told_and_the_others_are_run(lab: Lab, work: Measurer) -> None:
    page = vary(lab, "round_s", "6 min, 30 min")
    work.asked[-1][1]({"kind": "error", "status": "error", "error": {"where": "srtf", "value": 1, "expected": "two"}})
    work.measure()
    assert "1 of 2 runs made. 6 min: srtf: got 1; expected two" in page._said.text and page._said.tone == "bad"
    assert page.page.drawing.table["value"].tolist() == ["30 min"]


@pytest.mark.parametrize("values", ["", "6 min, soon", "-3, 6 min, soon", ",".join(str(i) for i in range(1, 20))])
def test_values_that_cannot_be_are_refused_before_anything_runs(lab: Lab, work: Measurer, values: str) -> None:
    asked = len(work.asked)
    page = vary(lab, "round_s", values)
    wrong = values.replace("6 min, ", "")  # each as it was typed
    assert len(work.asked) == asked and page._said.tone == "bad"
    assert page._said.text.startswith(f"Values: got {shorten(wrong)}; expected")


def test_after_an_edit_the_page_says_that_it_is_old(lab: Lab, work: Measurer) -> None:
    page = vary(lab, "round_s", "6 min")
    work.measure()
    lab.set(round_s=720.0)
    page.opened()
    assert "set before" in page._said.text


def test_another_scheduler_offers_its_own_knobs(lab: Lab) -> None:
    names = [name for _, name in lab._vary._what.options]
    lab.set("gavel.max_min_fairness")
    lab._vary.opened()
    others = [name for _, name in lab._vary._what.options]
    assert names != others and "heterogeneity_aware" in others and others[-1] == SCHEDULER
    assert offered_by(find_scheduler("hops"), preset("hops_example"))[0][1] == "lambda", "the round is everybody's"


def test_answers_to_a_run_that_was_begun_anew_are_not_heard(lab: Lab, work: Measurer) -> None:
    page = vary(lab, "round_s", "6 min, 30 min")
    old = len(work.asked) - 1
    page.run()
    work.measure(old)
    assert page.page.drawing is None
    work.measure()
    assert page.page.drawing.table["value"].tolist() == ["6 min"]


def test_what_is_suggested_can_be_run() -> None:
    for name in ("srtf", "gavel.max_min_fairness", "hadar", "hadare", "hops", "sia", "tiresias"):
        found = find_scheduler(name)
        setting = LabSetting(preset("start_here"), name, found.settle({}))
        for knob in found.knobs:
            if knob.kind != "str" or knob.choices is not None:
                values = suggested(knob.name, setting)
                assert knob.kind == "str" or value_now(knob.name, setting) in values, "what is set is among them"
                assert "_" not in value_now(knob.name, setting) or not knob.choices, "as the knob's list has it"
                made = variants_of(knob.name, ", ".join(values), setting)
                assert [variant.label for variant in made] == values, knob
                assert len({repr(variant.setting.knobs[knob.name]) for variant in made}) == len(values)


def test_a_lease_that_is_no_multiple_of_the_other_is_not_suggested() -> None:
    found = find_scheduler("chronus")
    setting = LabSetting(preset("chronus_small"), "chronus", found.settle({"slo_lease_s": 600}))
    assert suggested("slo_lease_s", setting) == ["5 min", "10 min", "20 min", "40 min"], "nor 2 min 30 s"


def test_rewards_are_made_strict_and_soft_and_schedulers_keep_their_own_knobs() -> None:
    setting = SETTING._replace(scenario=preset("chronus_example"))
    as_set, all_strict, all_soft = (
        v.setting.scenario for v in variants_of(REWARDS, f"as set, {ALL_STRICT}, {ALL_SOFT}", setting)
    )
    assert as_set == setting.scenario
    for mine, strict_one, soft_one in zip(as_set.jobs, all_strict.jobs, all_soft.jobs, strict=True):
        if mine.rewards is None:
            assert strict_one.rewards is None and soft_one.rewards is None
        else:
            assert len(strict_one.rewards) == 1 and len(soft_one.rewards) == 4
            assert strict_one.rewards[0][0] == soft_one.rewards[0][0] == mine.rewards[0][0]
    mine, other = variants_of(SCHEDULER, "srtf, fifo", SETTING._replace(knobs={**SETTING.knobs, "round_s": 99.0}))
    assert mine.setting.knobs["round_s"] == 99.0 and other.setting.knobs == find_scheduler("fifo").settle({})
    fair = SETTING._replace(scheduler=FAIR, knobs=find_scheduler(FAIR).settle({"round_s": 360.0}))
    assert [each.label for each in variants_of("round_s", "12, 90 s", fair)] == ["12 min", "1 min 30 s"], (
        "as in its field"
    )
    assert [each.label for each in variants_of("refresh_s", "600, none", fair)] == ["10 min", "not set"], (
        "none is no unit"
    )
    assert variants_of("refresh_s", "not set", fair)[0].label == "not set", "as a field shows it"
    assert [each.label for each in variants_of("type_order", "v100 k80", fair)] == ["v100 k80"], "nor is no text"
    for what, text in ((REWARDS, "harsh"), (SCHEDULER, "nobody")):
        with pytest.raises(InputError):
            variants_of(what, text, SETTING)


def test_measures_that_do_not_differ_are_not_drawn() -> None:
    names = [m.name for m in metrics.METRICS]
    row = dict.fromkeys(names, 1.0)
    frame = pd.DataFrame([{"value": "a", **row}, {"value": "b", **row, "mean_jct_s": 2.0, "weighted_miss_rate": 3.0}])
    assert differing(frame) == ["weighted_miss_rate", "mean_jct_s"], "those of deadlines come first"
    assert len(differing(frame.head(1))) == 5
