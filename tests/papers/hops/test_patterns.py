"""Ways to cut an idle server."""

from hypothesis import given
from hypothesis import strategies as st

from workbench.papers.hops.patterns import count, patterns


def test_eight_gpus_in_all_sizes_are_the_partitions_of_eight():
    assert len(patterns(8, range(1, 9))) == 22


def test_by_hand():
    assert set(patterns(5, [4, 2])) == {(4,), (2, 2)}
    assert patterns(3, [4]) == ((),)
    assert patterns(0, [1]) == ((),)
    assert patterns(4, []) == ((),)


@given(idle=st.integers(0, 14), sizes=st.sets(st.integers(1, 9)))
def test_every_way_fits_is_there_once_and_has_no_room_left(idle, sizes):
    found = patterns(idle, sorted(sizes))
    assert len(set(found)) == len(found) == count(idle, sizes)
    for pattern in found:
        assert set(pattern) <= sizes and sum(pattern) <= idle
        assert not sizes or idle - sum(pattern) < min(sizes)
