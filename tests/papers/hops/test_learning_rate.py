"""Learning rates of the sizes of an elastic job."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pytest import approx

from workbench.base.errors import InputError
from workbench.papers.hops.learning_rate import learning_rates, scaled


def test_linear_scaling_by_hand() -> None:
    """Goyal et al.: 0.1 for 256 images on 8 GPUs, so 3.2 for 8192 on 256."""
    assert learning_rates([8, 256], {8: 0.1}) == approx({8: 0.1, 256: 3.2})


def test_square_root_scaling_by_hand() -> None:
    assert learning_rates([1, 4, 16], {4: 0.02}, "square_root") == approx({1: 0.01, 4: 0.02, 16: 0.04})


def test_rates_of_every_size_are_taken_as_they_are() -> None:
    assert learning_rates([1, 2], {2: 0.5, 1: 0.1}) == {1: 0.1, 2: 0.5}


@pytest.mark.parametrize("rule", ["linear", "square_root"])
def test_scaling_there_and_back_changes_nothing(rule: Any) -> None:
    assert scaled(scaled(0.1, 2, 16, rule), 16, 2, rule) == approx(0.1)


@pytest.mark.parametrize(
    ("sizes", "given", "rule", "where"),
    [
        ([1, 2], {3: 0.1}, "linear", "learning rates"),
        ([1, 2, 4], {1: 0.1, 2: 0.2}, "linear", "learning rates"),
        ([1, 2], {}, "linear", "learning rates"),
        ([1, 2], {1: 0.0}, "linear", "learning rates, 1 GPUs"),
        ([1, 2], {1: math.nan}, "linear", "learning rates, 1 GPUs"),
        ([1, 2], {1: 0.1}, "cubic", "learning rates, rule"),
    ],
)
def test_bad_rates_are_refused(sizes: list[int], given: dict[int, float], rule: Any, where: str) -> None:
    with pytest.raises(InputError) as error:
        learning_rates(sizes, given, rule)
    assert error.value.where == where
