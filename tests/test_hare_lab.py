"""The lab on Hare: a tab for its tasks, there for runs in sequences only, and its knobs."""

from __future__ import annotations

from pathlib import Path

import pytest

import widgets.lab
from tests.lab.support import Waiter, look_at, solve, titles
from widgets import HareLab, Lab
from workbench.presets import preset


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Lab:
    """A lab with Fig. 1's example solved."""
    monkeypatch.chdir(tmp_path)
    waiter = Waiter()
    monkeypatch.setattr(widgets.lab, "process_work", lambda: waiter)
    lab = HareLab("hare_example")
    lab.waiter = waiter
    solve(lab, switching="free")
    return lab


def test_the_tab_of_tasks_is_there_for_task_sequences_only(lab: Lab) -> None:
    assert {"Tasks", "Signals", "JCT"} <= set(titles(lab))
    solve(lab, scheduler="fifo")
    assert "Tasks" not in titles(lab)


def test_it_shows_every_task_of_the_run_and_the_best_schedule_of_the_example(lab: Lab) -> None:
    table = look_at(lab, "Tasks").table
    made = preset("hare_example")
    asked = {job.name: int(job.steps) for job in made.jobs}
    assert table["job"].value_counts().to_dict() == asked
    ends = table.groupby("job")["synchronised_s"].max()
    assert ends.sum() == pytest.approx(8.5), "the sum of completion times that the text states for (c)"
    starts, barrier = table.query("job == 'J3' and round == 1")["start_s"], table.query("job == 'J3' and round == 0")
    assert starts.min() >= barrier["synchronised_s"].max()


def test_another_assignment_is_another_schedule(lab: Lab) -> None:
    before = look_at(lab, "Tasks").table
    solve(lab, assignment="earliest_available")
    after = look_at(lab, "Tasks").table
    assert not after.equals(before) and after["synchronised_s"].max() > before["synchronised_s"].max()
    assert len(after) == len(before)
