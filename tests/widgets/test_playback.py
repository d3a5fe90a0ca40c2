"""Playback: which times it goes through, what the charts are told, and where it stands afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import ipywidgets
import pytest

import workbench
from widgets.lab.results import Results
from widgets.parts.playback import MOST_FRAMES, Playback, rounds_of
from widgets.parts.vega_view import VegaView


@pytest.fixture(autouse=True)
def fresh_kernel() -> Iterator[None]:
    yield
    ipywidgets.Widget.close_all()


def test_every_chart_is_told_the_end_of_the_round_and_keeps_its_other_parameters() -> None:
    views, told = [VegaView(params={"other": 7}), VegaView()], []
    playback = Playback(views, lambda: told.append(playback.until_s))
    playback.show([10.0, 25.0, 60.0])
    assert (playback.number, playback.last, playback.until_s, playback.label) == (2, 2, None, "up to 1 min")
    assert views[0].params == {"other": 7, "until": None} and views[1].params == {"until": None}
    playback.number = 0
    assert views[0].params == {"other": 7, "until": 10.0} and views[1].params == {"until": 10.0}
    playback.number = 1
    playback.number = 2
    assert told == [None, 10.0, 25.0, None] and playback.label == "up to 1 min"


def test_a_new_run_is_shown_whole_and_playing_stops() -> None:
    view = VegaView()
    playback = Playback([view])
    playback.show([1.0, 2.0, 3.0])
    playback.number, playback.playing = 1, True
    playback.show([5.0, 9.0])
    assert not playback.playing and playback.number == playback.last == 1 and view.params == {"until": None}
    playback.show([4.0])
    assert playback.until_s is None and playback.label == "up to 4 s" and playback.last == 0


def test_other_charts_can_follow_and_begin_where_it_stands() -> None:
    first, second = VegaView(), VegaView()
    playback = Playback([first])
    playback.show([1.0, 2.0])
    playback.number = 0
    playback.follow(second)
    assert second.params == {"until": 1.0}
    playback.number = 1
    assert second.params == {"until": None} and first.params == {"until": 1.0}


def test_many_rounds_are_taken_several_at_a_time_and_few_one_by_one() -> None:
    playback = Playback()
    playback.show(range(1, 20))
    assert playback.step == 1
    playback.show(range(1, 10_001))
    frames = playback.last / playback.step
    assert playback.step > 1 and MOST_FRAMES / 2 < frames <= MOST_FRAMES


def test_in_a_lab_every_schedule_follows() -> None:
    own = {page: (ipywidgets.VBox(), lambda: None) for page in ("Model", "Vary")}

    def no(error: Exception) -> None:
        raise error

    results = Results(
        lambda _: None,
        lambda _: None,
        lambda _: pytest.fail("nothing is asked"),
        "gantt",
        (),
        own,
        ipywidgets.HTML(),
        lambda: None,
        no,
        lambda: None,
        lambda job, weight: None,
    )
    results.show(workbench.simulate(workbench.preset("start_here"), "gavel.max_min_fairness"))
    results.playback.number = 0
    schedules = [results._gantt, results.admission.page]
    assert [page.view.params for page in schedules] == [{"until": results.playback.until_s}] * 2


def test_the_rounds_of_several_runs_are_all_of_theirs_up_to_the_longest_end() -> None:
    scenario = workbench.preset("start_here")
    runs = [workbench.simulate(scenario, name) for name in ("gavel.max_min_fairness", "fifo")]
    times_s = rounds_of(*runs)
    assert times_s == sorted(set(times_s)) and times_s[-1] == max(run.end_s for run in runs)
    longest_s = max(run.end_s for run in runs)
    known = {time for run in runs for time in [*run.decisions["time_s"][1:], run.end_s]}
    assert set(times_s) == {time for time in known if time <= longest_s} and 0.0 not in times_s
    assert rounds_of(runs[0])[-1] == runs[0].end_s
