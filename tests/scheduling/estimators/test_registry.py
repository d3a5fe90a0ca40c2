"""Estimators by name: what makes them, how that is written, and which of them have a course of errors."""

from __future__ import annotations

from typing import Any

import pytest

import workbench
from workbench.base.errors import InputError
from workbench.scenario.presets import preset
from workbench.scheduling.estimators.pair_error import pair_error, pair_errors
from workbench.scheduling.estimators.registry import DEFAULT, ESTIMATORS, Maker, maker
from workbench.scheduling.estimators.speed_error import ErrorLog
from workbench.scheduling.snapshot import LearningBelief


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("oracle", "oracle"),
        (" low_rank: rank = 10 ", "low_rank"),
        ("low_rank:seed=3,references=none,profiled=0.5", "low_rank:profiled=0.5,seed=3"),
        ("low_rank:references=7", "low_rank:references=7"),
        ("layered:transfer=yes,history=job", "layered:history=job,transfer=true"),
    ],
)
def test_a_maker_is_written_with_the_knobs_that_were_changed(text: str, written: str) -> None:
    made = maker(text)
    assert made.text == written and maker(written) == made


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_knob_reads_back(estimator: Any) -> None:
    for knob in estimator.knobs:
        for value in [*(knob.choices or ()), True, False, 1, 7, 0.25, "job"]:
            try:
                made = Maker(estimator, estimator.settle({knob.name: value}))
            except InputError:
                continue
            assert maker(made.text) == made, made.text


@pytest.mark.parametrize("text", [None, 3, "", ":", ["oracle"]])
def test_what_is_no_name_is_refused(text: Any) -> None:
    with pytest.raises(InputError, match="one of oracle, servers, noisy, low_rank, bootstrapped, pmi, layered"):
        maker(text)


@pytest.mark.parametrize("name", ["noisy", "low_rank", "layered"])
def test_a_belief_is_one_draw_and_says_that_a_seed_is_missing(name: str) -> None:
    made, scenario = maker(name), preset("hops_64")
    assert made.draws and made(scenario)
    with pytest.raises(InputError, match="seed: got None; expected a whole number"):
        made.estimator.make(scenario, **made.knobs)


def test_those_that_learn_have_a_log() -> None:
    scenario = preset("hops_64")
    assert maker(DEFAULT).log() is None
    for estimator in ESTIMATORS:
        made = maker(estimator.name)
        assert isinstance(made(scenario), LearningBelief) == (made.log() is not None), estimator.name


def test_a_log_ever_more_seldom_has_rows_of_the_full_one() -> None:
    scenario = preset("hops_64")
    few, every = maker("pmi").log(), ErrorLog(maker("pmi"))
    assert few is not None
    runs = [workbench.simulate(scenario, "srtf", belief=log, until_s=6 * 3600.0) for log in (few, every)]
    assert runs[0] == runs[1] == workbench.simulate(scenario, "srtf", belief="pmi", until_s=6 * 3600.0)
    seldom, full = few.table(), every.table()
    calls = seldom["calls"].tolist()
    assert calls[:12] == [*range(12)] and calls[12:14] == [13, 15], "a tenth more, rounded up"
    assert len(calls) < 0.7 * len(full)
    assert seldom.equals(full[full["calls"].isin(calls)].reset_index(drop=True))


def test_errors_of_pairs_are_none_where_there_are_no_pairs() -> None:
    alone, paired = preset("start_here").replace(colocated=[]), preset("gavel_physical")
    made = maker("low_rank:profiled=0.05")
    assert pair_errors(alone, made(alone)).size == 0
    errors = pair_errors(paired, made(paired))
    assert errors.mean() == pair_error(paired, made(paired)) > 0
    log = made.log()
    assert log is not None
    workbench.simulate(alone, "las", belief=log)
    assert log.table().empty
