"""What the tracker hears, and who finishes up in the last round."""

from __future__ import annotations

from workbench.papers.hadar.hadare.last_round import Candidate, finishing
from workbench.papers.hadar.hadare.tracker import Given, Report, Tracker, aggregate
from workbench.scheduling.decision import Observation


def test_reports_are_summed_by_job() -> None:
    tracker = Tracker({"a": 0, "b": 1}, 2).give(
        [Given("a", 1, "x", 1, 100), Given("a", 2, "y", 1, 50), Given("b", 1, "z", 1, 7)], [], ["a", "b", "c"]
    )
    assert tracker.started == ("a", "b")
    heard = tracker.hear(
        [
            Observation("a", ("a", 1), {"x": 1}, 2.0, 50.0),
            Observation("a", ("a", 2), {"y": 1}, 0.5, 40.0),
            Observation("a", ("a", 2), {"y": 1}, 0.5, 10.0),
            Observation("c", "c", {"w": 1}, 3.0, 10.0),
        ]
    )
    assert heard.reports == (
        Report("a", 1, "x", 100.0, 50.0, True),
        Report("a", 2, "y", 25.0, 50.0, False),
        Report("b", 1, "z", 0.0, 0.0, False),
    )
    assert aggregate(heard.reports) == {"a": 125.0, "b": 0.0}
    assert heard.first_done("a") == ["x"]


def test_the_quickest_of_the_last_round_finishes_up_alone_where_that_is_sooner() -> None:
    quick, slow, new = Candidate(0, 2.0, 0.0, 1), Candidate(1, 2.0, 0.0, 0), Candidate(2, 9.0, 30.0, None)
    # 4 steps: 2 s on the one that was done first; together 1 s, but 10 s of consolidation.
    assert finishing([quick, slow, new], 4.0, 10.0) == [1]
    assert finishing([quick, slow, new], 4.0, 0.0) == [1, 0]
    # 4000 steps: 2000 s alone, 1000 s with both, 307.7 s and a restart with all.
    assert finishing([quick, slow, new], 4000.0, 10.0) == [1, 0, 2]


def test_those_who_were_not_there_come_by_throughput_and_only_as_far_as_it_helps() -> None:
    line = [Candidate(0, 1.0, 0.0, None), Candidate(1, 4.0, 0.0, None), Candidate(2, 2.0, 0.0, None)]
    assert finishing(line, 100.0, 0.0) == [1, 2, 0]
    assert finishing(line, 100.0, 5.0) == [1, 2, 0]  # 25; 21.67; 19.29 s
    assert finishing(line, 100.0, 12.0) == [1]  # 25; 28.67; 26.29 s
    assert finishing(line[:1] * 3, 0.0, 0.0) == [0]  # equals: the fewest
