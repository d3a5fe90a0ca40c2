"""The papers' evaluations at the tiny size: every figure, the table over all, the command."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from reproduction import COLUMNS, Figure, Row, report
from reproduction.__main__ import main
from reproduction.registry import VARIABLE, Reproduction, reproductions, size_name
from reproduction.report import PAGE, TABLE, Done, run_all, table, write
from workbench.base.errors import InputError

SHOWN = (("Gavel", "Fig. 8"), ("Hare", "Fig. 12"), ("Chronus", "Fig. 6a"))


def test_gavel_is_found_with_every_figure_of_its_evaluation(tiny: list[Done]) -> None:
    names = [done.figure.name for done in tiny if done.paper == "Gavel"]
    expected = {"Table 3", "Fig. 1b", "7.3 cost", *(f"Fig. {number}" for number in range(8, 22))}
    assert set(names) == expected and len(names) == len(expected)


def test_every_figure_compares_or_says_why_it_cannot(tiny: list[Done]) -> None:
    for done in tiny:
        assert tuple(done.figure.table.columns) == COLUMNS and done.figure.rows, done.figure.name
        for row in done.figure.rows:
            assert row.measure and row.unit and row.source and row.why.endswith("."), row
        for panel in done.figure.panels.values():
            assert not panel.frame.empty and panel.drawing().label


def test_the_papers_own_numbers_of_table_3_stand_in_the_table(tiny: list[Done]) -> None:
    found = table(tiny)
    assert found[found["figure"] == "Table 3"]["paper"].tolist()[:2] == [3.4, 5.2]
    known = found["ratio"].notna()
    assert (found["ratio"][known] * found["paper"][known] - found["ours"][known]).abs().max() < 1e-9


def test_the_same_size_gives_the_same_numbers(tiny: list[Done]) -> None:
    gavel = next(each for each in reproductions() if each.name == "gavel")
    figures = [done.figure for done in tiny if done.paper == "Gavel"]
    number = next(i for i, figure in enumerate(figures) if figure.name == "Fig. 16")
    pd.testing.assert_frame_equal(gavel.figures[number](gavel.sizes["tiny"]).table, figures[number].table)


def test_without_a_name_every_paper_is_done_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {name: Figure(name, f"of {name}", ()) for name in ("1", "2", "3")}
    papers = (
        Reproduction("a", "First", {"tiny": 1}, (lambda size: made["1"], lambda size: made["2"])),
        Reproduction("b", "Second", {"tiny": 2}, (lambda size: made[str(size + 1)],)),
    )
    monkeypatch.setattr(report, "reproductions", lambda: papers)
    told: list[Done] = []
    found = run_all("tiny", on_done=told.append)
    assert [(done.paper, done.figure) for done in found] == [
        ("First", made["1"]),
        ("First", made["2"]),
        ("Second", made["3"]),
    ]
    assert told == found and run_all("tiny", "b")[0].figure is made["3"]


def test_the_folder_has_the_table_the_page_and_each_panels_numbers(tiny: list[Done], tmp_path: Path) -> None:
    """Of three figures: the pages of the papers draw the others."""
    some = [done for done in tiny if (done.paper, done.figure.name) in SHOWN]
    write(some, tmp_path / "out", "tiny")
    read, page = pd.read_csv(tmp_path / "out" / TABLE), (tmp_path / "out" / PAGE).read_text(encoding="utf-8")
    panels = sum(len(done.figure.panels) for done in some)
    assert len(some) == 3 < panels == page.count("<svg") and len(read) == len(table(some)) and "<table>" in page
    assert (tmp_path / "out" / "gavel-fig-8a.csv").exists() and len(list((tmp_path / "out").iterdir())) == 2 + panels
    with pytest.raises(InputError):
        write(some, tmp_path / "out", "tiny")


def test_a_ratio_needs_both_numbers() -> None:
    rows = (Row("a", "1", 2.0, 3.0, "w.", "s"), Row("b", "1", None, 3.0, "w.", "s"), Row("c", "1", 0.0, 3.0, "w.", "s"))
    found = Figure("F", "t", rows).table["ratio"].tolist()
    assert found[0] == 1.5 and math.isnan(found[1]) and math.isnan(found[2])


def test_a_size_comes_from_the_argument_then_the_environment_then_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert size_name() == "tiny" and size_name("full") == "full"
    monkeypatch.setenv(VARIABLE, "middle")
    assert size_name() == "middle" and size_name("full") == "full"
    monkeypatch.setenv(VARIABLE, "huge")
    with pytest.raises(InputError, match=f"{VARIABLE}.*huge.*tiny, middle, full"):
        size_name()


def test_bad_input_of_the_command_is_one_message(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--size", "huge"]) == 2
    assert "huge" in capsys.readouterr().err
    assert main(["--paper", "none"]) == 2
    with pytest.raises(SystemExit) as stopped:
        main(["--workers", "0"])
    assert stopped.value.code == 2
    capsys.readouterr()
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["--out", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert main(["--out", str(tmp_path / "no" / "such")]) == 2
