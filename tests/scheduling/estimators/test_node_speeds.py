"""What jobs that run alone show of the nodes they run on."""

from __future__ import annotations

from pytest import approx

from workbench.scheduling.estimators.node_speeds import NodeSpeeds, nodes_of
from workbench.scheduling.snapshot import Observation


def ten(seen: Observation) -> float:
    """Every job is believed to do ten steps/s."""
    return 10.0


def test_nodes_are_as_fast_as_jobs_alone_are_there_weighted_by_the_time() -> None:
    first = [Observation("a", "a", {"n": 1}, 4.0, 30.0), Observation("b", "b", {"n": 1}, 6.0, 10.0)]
    speeds = NodeSpeeds().learnt(first, ten)
    assert speeds.of(("n",)) == approx((4 * 30 + 6 * 10) / 40 / 10)
    later = speeds.learnt([Observation("c", "c", {"n": 2}, 8.0, 40.0)], ten)
    assert later.of(("n",)) == approx((4 * 30 + 6 * 10 + 8 * 40) / 80 / 10)
    assert speeds.of(("n",)) == approx(0.45), "what was known before stays as it was"


def test_where_no_job_was_alone_nodes_are_as_fast_as_believed() -> None:
    pair = Observation("a", ("a", "b"), {"n": 1}, 4.0, 30.0)
    copy = Observation("a", ("a", 0), {"n": 1}, 4.0, 30.0)
    assert NodeSpeeds().learnt([pair, copy], ten).of(("n",)) == 1.0
    nowhere = NodeSpeeds().learnt([Observation("a", "a", {"n": 1}, 4.0, 30.0)], lambda seen: 0.0)
    assert nowhere == NodeSpeeds()


def test_a_gang_goes_at_its_slowest_node_unless_it_was_measured_on_all_of_them() -> None:
    one = [Observation("a", "a", {"m": 1}, 5.0, 9.0), Observation("a", "a", {"n": 1}, 20.0, 9.0)]
    speeds = NodeSpeeds().learnt(one, ten)
    assert speeds.of(("m", "n")) == approx(0.5) and speeds.of(("n", "o")) == 1.0
    both = speeds.learnt([Observation("b", "b", {"n": 1, "m": 1}, 7.0, 9.0)], ten)
    assert both.of(nodes_of({"n": 2, "m": 1})) == approx(0.7) and both.of(("m",)) == approx(0.5)
