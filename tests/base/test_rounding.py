"""Numbers as people read them."""

import math

import pytest

from workbench.base.rounding import short_number


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0, 3, "0"),
        (-0.0, 3, "0"),
        (0.012345, 3, "0.0123"),
        (12.345, 3, "12.3"),
        (-12.345, 3, "-12.3"),
        (999.4, 3, "999"),
        (999.6, 3, "1,000"),
        (1234.6, 3, "1,235"),
        (1234.6, 4, "1,235"),
        (9999.6, 4, "10,000"),
        (12345.6, 4, "12,346"),
        (1_000_000, 6, "1,000,000"),
        (12_345_678, 3, "12,345,678"),
        (2.0, 4, "2"),
        (1e-6, 3, "1e-06"),
        (math.inf, 3, "∞"),
        (-math.inf, 3, "-∞"),
        (math.nan, 3, ""),
    ],
)
def test_as_many_digits_as_asked_and_all_before_the_point(value: float, digits: int, text: str) -> None:
    assert short_number(value, digits) == text


def test_what_is_unknown_is_said_as_the_reader_wants() -> None:
    assert short_number(math.nan, unknown="unknown") == "unknown"
    assert short_number(1.5, unknown="unknown") == "1.5"
