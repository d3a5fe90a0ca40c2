"""Estimators by name: what makes them, how that is written, and which of them have a course of errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import workbench
from reproduction.hops.lines import three
from reproduction.hops.settings import SIZES
from workbench.base.errors import InputError
from workbench.scenario.presets import preset
from workbench.scheduling.estimators.by_name import DEFAULT, ESTIMATORS, Maker, maker
from workbench.scheduling.estimators.speed_error import ErrorLog, pair_errors
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
    with pytest.raises(InputError, match="one of oracle, nodes, noisy, low_rank, scaled, pmi, layered"):
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
    assert errors.mean() > 0
    log = made.log()
    assert log is not None
    workbench.simulate(alone, "las", belief=log)
    assert log.table().empty


# Hops is told the speeds of single servers, its rivals what their papers say; who is told what is said

JOBS = [{"name": f"j{n}", "model": "m", "gpus": 1, "steps": 1200.0} for n in range(2)]
SCENARIO = workbench.Scenario.from_dict(
    {
        "format": "workbench-scenario/1",
        "cluster": {
            "accelerators": [{"name": "v100"}],
            "nodes": [
                {"name": "slow", "accelerator": "v100", "gpus": 2, "speed": 0.25},
                {"name": "fast", "accelerator": "v100", "gpus": 2},
            ],
        },
        "jobs": JOBS,
        "throughputs": [{"model": "m", "accelerator": "v100", "gpus": 1, "steps_per_s": 1.0}],
    }
)
"""Two jobs, and of two nodes of a type the first at a quarter of the speed."""
KNOBS = {"profile_iterations": 0, "decision_s": 0.0}


def nodes_of(run: workbench.Run) -> set[str]:
    return set(run.timeline[run.timeline["kind"] == "run"]["node"])


def test_hops_knows_single_servers_by_default() -> None:
    """Whoever knows servers takes the fast node alone, where both jobs fit; who knows types cannot tell them apart."""
    run = workbench.simulate(SCENARIO, "hops", KNOBS)
    assert run.belief == "nodes" and {name.rsplit("-", 1)[0] for name in nodes_of(run)} == {"fast"}
    of_types = workbench.simulate(SCENARIO, "hops", KNOBS, belief="oracle")
    assert of_types.belief == "oracle" and of_types.end_s > 2 * run.end_s
    assert workbench.Run.belief == "oracle" == workbench.simulate(SCENARIO, "sia").belief


def test_the_reproduction_gives_each_what_its_paper_says() -> None:
    told = {line.name: line.run(SCENARIO).belief for line in three(SIZES["tiny"])}
    assert told == {"Hops": "nodes", "Sia": "oracle", "Gavel": "oracle"}


@pytest.mark.parametrize(
    ("schedulers", "belief", "told"),
    [
        (["hops", "sia"], None, {"hops": "oracle", "sia": "oracle"}),
        (["hops", "sia"], "nodes", {"hops": "nodes", "sia": "nodes"}),
        (["hops", "sia"], "paper", {"hops": "nodes", "sia": "oracle"}),
        (["hops"], None, {"hops": "nodes"}),
    ],
)
def test_a_comparison_tells_all_the_same_unless_asked(
    schedulers: list[str], belief: str | None, told: Mapping[str, Any]
) -> None:
    entries = [(name, KNOBS if name == "hops" else {}) for name in schedulers]
    found = workbench.compare(SCENARIO, entries, belief=belief)
    assert found.beliefs == told and found.table["belief"].tolist() == list(told.values())
    assert "Speeds known" in found._repr_html_()
    swept = workbench.sweep(SCENARIO, entries, belief=belief)
    assert swept["makespan_s"].tolist() == found.measures["makespan_s"].tolist()


def test_the_command_line_says_who_was_told_what(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from workbench.cli import main

    SCENARIO.save(tmp_path / "s.json")
    argv = ["compare", str(tmp_path / "s.json"), "--schedulers", "hops,sia"]
    assert main([*argv, "--belief", "paper"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Speeds known"))
    assert row.split()[2:] == ["nodes", "oracle"]
    assert main(argv) == 0 and "Speeds known: oracle (" in capsys.readouterr().out
