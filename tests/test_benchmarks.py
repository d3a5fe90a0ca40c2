"""`python -m benchmarks`: which benchmarks its words choose."""

import os
from dataclasses import replace

import pytest

from benchmarks.__main__ import chosen_cases, main, row_of, run
from benchmarks.case import Case, Peer
from benchmarks.cases import CASES
from benchmarks.slurm_month import slurm_month
from workbench.analysis.what_if.ask import WhatIfQuestion


def test_words_choose_by_name():
    assert chosen_cases([]) == (list(CASES), False)
    chosen, as_json = chosen_cases(["--only", "max-min", "Pyomo", "--json"])
    assert [case.name for case in chosen] == ["max-min fairness, Pyomo model"] and as_json


def test_a_word_that_no_name_has(capsys):
    with pytest.raises(SystemExit) as ended:
        chosen_cases(["--only", "max-min", "nosuch"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "max-min nosuch" in said and all(case.name in said for case in CASES)


def test_help_lists_the_names(capsys):
    with pytest.raises(SystemExit) as ended:
        chosen_cases(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert all(case.name in said for case in CASES)


ALLOCATIONS = [
    case
    for case in CASES
    if not case.name.startswith(
        ("knob to chart", "first result", "a sweep", "long run", "replay", "fifo event", "a month", "Chronus over")
    )
]


@pytest.mark.parametrize("case", ALLOCATIONS, ids=lambda case: case.name)
def test_an_allocation_is_measured_at_its_smallest_size(case, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # a process costs more than its share of so little work
    assert case.prepare(min(case.budgets))()


def test_days_of_a_slurm_site_are_six_pairs_of_runs(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    asked = []
    monkeypatch.setattr(WhatIfQuestion, "requests", lambda question: asked.append(question) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        slurm_month(60)()
    assert [(len(question.sides), len(question.seeds), question.bootstrap) for question in asked] == [(2, 6, True)]


def test_a_row_has_what_it_may_cost_what_it_grows_by_and_what_a_peer_needs():
    case = Case(
        "x", {64: 1.0, 512: 1.0}, lambda size: lambda: "", peers={512: Peer("p", 2.0, 3.0, "o")}, most_growth=1.3
    )
    cost = {"cpu_s": 0.1, "wall_s": 0.5, "peak_mb": 99.0, "lean_s": 0.05, "note": ""}
    first = row_of(case, 64, 1.0, cost, [])
    assert (first["x_lean"], first["growth"], first["peer"], first["missed"]) == (2.0, None, "", False)
    slower = row_of(case, 512, 1.0, {**cost, "cpu_s": 0.2}, [first])
    assert abs(slower["growth"] - 1 / 3) < 1e-12 and slower["peer_s"] == [2.0, 3.0] and slower["missed"]
    assert not row_of(case, 512, 1.0, {**cost, "cpu_s": 0.2, "lean_s": 0.1}, [first])["missed"]
    assert not row_of(case, 64, 1.0, {**cost, "wall_s": 1.1}, [])["missed"]
    assert row_of(case, 64, 1.0, {**cost, "wall_s": 1.1, "cpu_s": 1.2}, [])["missed"]
    assert row_of(replace(case, elsewhere=True), 64, 1.0, {**cost, "wall_s": 1.1}, [])["missed"]
    assert row_of(case, 64, 1.0, {**cost, "peak_mb": 2001.0}, [])["missed"]
    for busy, missed in ((0.9 / os.cpu_count(), True), (0.1 / os.cpu_count(), False)):  # 0.2 of one core
        assert row_of(replace(case, busy=busy), 64, 1.0, cost, [])["missed"] == missed
    lean = replace(case, most_lean=1.9)
    assert row_of(lean, 512, 1.0, cost, [])["missed"] and not row_of(lean, 64, 1.0, cost, [])["missed"]


def test_a_budget_whose_bound_is_shown_counts_neither_as_met_nor_as_missed(monkeypatch, capsys):
    case = Case("x", {64: 1.0}, lambda size: lambda: "", bounded=True)
    row = row_of(case, 64, 1.0, {"cpu_s": 2.0, "wall_s": 2.0, "peak_mb": 9.0, "lean_s": 0.1, "note": ""}, [])
    monkeypatch.setattr("benchmarks.__main__.run", lambda case, quiet: [row])
    assert row["missed"] and main(["--only", "Sia"]) == 0
    assert capsys.readouterr().out.endswith("0 budgets missed\n1 budgets not met, bound shown in docs/speed.md: x 64\n")
    row["bounded"] = False
    assert main(["--only", "Sia"]) == 1 and "1 budgets missed: x 64\n0 " in capsys.readouterr().out


def test_what_cannot_be_measured_says_what_it_needs(monkeypatch, tmp_path, capsys):
    case = next(case for case in CASES if case.needs)
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    assert run(case) == []
    said = capsys.readouterr().out
    assert "not measured" in said and all(name in said for name in case.needs)
