"""Schedules drawn by hand, judged by the papers' rows."""

from __future__ import annotations

import pytest

import workbench
from widgets import Draw
from workbench.base.errors import InputError
from workbench.papers.gavel.lessons.by_hand import RoundsByHand
from workbench.papers.hare.formulations.time_indexed import TimeIndexed
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hare.lessons.by_hand import TasksByHand
from workbench.papers.hare.lessons.three_jobs import three_jobs


def of_hare(problem: TasksByHand) -> list[tuple[int, int, int]]:
    """The paper's own optimum, on the board."""
    rows = TimeIndexed().run(three_jobs(), {"step_s": 0.5}).values["tasks"]
    return [(number, problem.lanes.index(row["gpu"]), round(row["start_s"] / 0.5)) for number, row in enumerate(rows)]


def test_gavels_optimum_in_eleven_rounds() -> None:
    problem = RoundsByHand(workbench.snapshot_at("preset:gavel_example"), 11)
    assert (problem.lanes, problem.columns, problem.pieces) == (["v100", "k80"], 11, ["job 0", "job 1", "job 2"])
    # 5 rounds of the V100 each for jobs 0 and 1, one for job 2, which has the K80 otherwise, and job 1 the last.
    v100 = [(0, 0, i) for i in range(5)] + [(1, 0, i) for i in range(5, 10)] + [(2, 0, 10)]
    k80 = [(2, 1, i) for i in range(10)] + [(1, 1, 10)]
    broken, said = problem.judge(v100 + k80)
    assert not broken and "0.727. That is the optimum" in said[1]
    broken, said = problem.judge([(0, 0, 0), (0, 1, 0), (1, 0, 0)])
    assert [broken[0][:3], broken[1][:3], broken[2][:3], said] == ["(2)", "(2)", "(3)", []]
    assert "0.000. That is 100% below" in problem.judge([(0, 0, 0)])[1][1]


def test_a_gang_takes_all_its_gpus() -> None:
    problem = RoundsByHand(workbench.snapshot_at("preset:start_here"), 2)
    assert problem.lanes == ["v100 0", "v100 1", "k80"]
    assert "its gang z is 2" in problem.judge([(0, 0, 0)])[0][0]
    assert not problem.judge([(0, 0, 0), (0, 1, 0)])[0]
    with pytest.raises(InputError, match="rounds"):
        RoundsByHand(workbench.snapshot_at("preset:start_here"), 0)


def test_hares_rows() -> None:
    problem = TasksByHand(three_jobs(), 0.5, 9)
    assert problem.pieces[4:] == ["J3 #0.0", "J3 #0.1", "J3 #1.0", "J3 #1.1"] and problem.lengths[0] == [3, 5, 3]
    assert "Still to put: J1 #0.0" in problem.judge(of_hare(problem)[1:4])[1][0]
    broken, _ = problem.judge([(4, 0, 0), (5, 0, 0), (6, 1, 0)])
    assert broken[1].startswith("(8)") and broken[2].startswith("(7)")
    both, _ = problem.judge([(4, 0, 0), (6, 0, 0)])
    assert both[1].startswith("(7) J3 #1.0 starts before J3 #0.0") and "(8) J3 #1.0 starts while" in both[1]
    with pytest.raises(InputError, match="whole number"):
        TasksByHand(three_jobs(), 0.4, 9)
    with pytest.raises(InputError, match="at most 12"):
        TasksByHand(HareInstance.made([[1.0]], tasks=13), 0.5, 9)


def test_drawing_and_the_papers_answer() -> None:
    asked: list[str] = []
    problem = TasksByHand(three_jobs(), 0.5, 9)
    draw, optimum = Draw(problem, lambda: asked.append("asked")), of_hare(problem)
    draw._show()
    assert not asked, "nothing is given away"
    draw.put(optimum)
    assert draw.placed == optimum and draw.board.broken == {}
    assert draw.board.said[1] == "The sum, by weight, is 8.5 s. That is the optimum."
    draw._show()
    draw._show()
    assert asked == ["asked"] and not draw.board.answers
    draw.put([(4, 0, 0), (6, 0, 0)])
    assert list(draw.board.broken) == ["0", "1"] and draw.board.said == []
    for wrong in ([(0, 1, 8)], [(0, 0)], [(0, 0, 0.5)], "abc", [(True, 0, 0)]):
        with pytest.raises(InputError, match="of the board"):
            draw.put(wrong)
    with pytest.raises(InputError, match="each piece once"):
        draw.put([(0, 0, 0), (0, 1, 0)])
