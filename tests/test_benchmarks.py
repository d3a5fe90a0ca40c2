"""`python -m benchmarks`: which benchmarks its words choose."""

import pytest

from benchmarks.__main__ import chosen_cases, run
from benchmarks.cases import CASES


def test_words_choose_by_name():
    assert chosen_cases([]) == list(CASES)
    chosen = chosen_cases(["max-min", "Pyomo"])
    assert [case.name for case in chosen] == ["max-min fairness, Pyomo model"]


def test_a_word_that_no_name_has(capsys):
    with pytest.raises(SystemExit) as ended:
        chosen_cases(["max-min", "nosuch"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "max-min nosuch" in said and all(case.name in said for case in CASES)


def test_help_lists_the_names(capsys):
    with pytest.raises(SystemExit) as ended:
        chosen_cases(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert all(case.name in said for case in CASES)


ALLOCATIONS = [case for case in CASES if not case.name.startswith(("knob to chart", "long run", "replay"))]


@pytest.mark.parametrize("case", ALLOCATIONS, ids=lambda case: case.name)
def test_an_allocation_is_measured_at_its_smallest_size(case):
    assert case.prepare(min(case.budgets))()


def test_what_cannot_be_measured_says_what_it_needs(monkeypatch, tmp_path, capsys):
    case = next(case for case in CASES if case.needs)
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    assert run(case) == []
    said = capsys.readouterr().out
    assert "not measured" in said and all(name in said for name in case.needs)
