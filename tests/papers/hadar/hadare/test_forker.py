"""Ids of copies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import InputError
from workbench.papers.hadar.hadare.forker import FORKS, copy_ids, register


def test_ids_by_hand() -> None:
    assert copy_ids(3, 4, 10) == (13, 23, 33, 43)
    assert register(["a", "b"], 2) == {2: ("a", 1), 4: ("a", 2), 3: ("b", 1), 5: ("b", 2)}
    assert register(["a"], 2, 100) == {100: ("a", 1), 200: ("a", 2)}


@given(st.integers(1, 12), st.integers(1, 8), st.integers(0, 5))
def test_no_two_copies_have_the_same_id(jobs: int, forks: int, more: int) -> None:
    assert len(register([f"j{i}" for i in range(jobs)], forks, jobs + more)) == jobs * forks


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="forks: got 0"):
        copy_ids(0, 0, 1)
    with pytest.raises(InputError, match="max_job_count: got 0"):
        copy_ids(0, 1, 0)
    with pytest.raises(InputError, match="parent_job_id: got 11"):
        copy_ids(11, 1, 10)
    with pytest.raises(InputError, match="at least the number of jobs"):
        register(["a", "b", "c"], 1, 2)
    with pytest.raises(InputError, match="knob forks: got 0"):
        FORKS.check(0)
