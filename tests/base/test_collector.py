"""The collector's setting while runs are made, by several threads at once."""

from __future__ import annotations

import gc

import pytest

from workbench.base.collector import NEW_OBJECTS, seldom_collected


@pytest.mark.parametrize("first_out", [0, 1])
def test_the_last_one_inside_puts_the_setting_back_whoever_leaves_first(first_out: int) -> None:
    before = gc.get_threshold()
    inside = [seldom_collected(), seldom_collected()]
    for each in inside:
        each.__enter__()
    assert gc.get_threshold()[0] == NEW_OBJECTS
    inside.pop(first_out).__exit__(None, None, None)
    assert gc.get_threshold()[0] == NEW_OBJECTS
    inside.pop().__exit__(None, None, None)
    assert gc.get_threshold() == before
