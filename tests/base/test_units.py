"""Durations: what people may write, what they are shown, and that nothing is lost between the two."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.units import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90 s", 90),
        ("5 min", 300),
        ("5m", 300),
        ("2 h 30 min", 9000),
        ("2h30min", 9000),
        ("2 hours, 30 minutes", 9000),
        ("1.5 h", 5400),
        ("3 d", 259200),
        ("1 week", 604800),
        ("250 ms", 0.25),
        (".5 s", 0.5),
        ("1e3", 1000),
        ("1:30:00", 5400),
        ("0:00:01.5", 1.5),
        ("  7\u00a0d ", 604800),
        ("-5 min", -300),
        ("\u22125 min", -300),
        ("0", 0),
    ],
)
def test_accepted_spellings(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", " ", "soon", "5 parsecs", "2 h 30", "h", "1,5 h", "5 min 5 min", "nan", "inf", "1e999", "--5", "1:75:00"],
)
def test_rejected_text_says_what_is_expected(text: str) -> None:
    with pytest.raises(ValueError, match="a duration such as 90 s, 5 min, 2 h 30 min"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.25, "0.25 s"),
        (90, "1 min 30 s"),
        (5400, "1 h 30 min"),
        (5400.1, "1 h 30 min 0.1 s"),
        (86400, "1 d"),
        (864000, "10 d"),
        (1_000_000, "11 d 13 h 46 min 40 s"),
        (-300, "-5 min"),
        (math.nan, ""),
        (math.inf, "\u221e"),
        (-math.inf, "-\u221e"),
        (1e300, "1e+300 s"),
    ],
)
def test_exact_text(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "parts", "text"),
    [
        (1_000_000, 2, "11 d 14 h"),
        (1_000_000, 3, "11 d 13 h 47 min"),
        (86399.9, 2, "1 d"),
        (3725.4567, 3, "1 h 2 min 5 s"),
        (3725.4567, 2, "1 h 2 min"),
        (12.34567, 2, "12.3 s"),
        (59.999, 3, "1 min"),
        (0.000123456, 1, "0.000123 s"),
        (-0.0, 2, "0 s"),
    ],
)
def test_readable_text_rounds_the_last_unit(seconds: float, parts: int, text: str) -> None:
    assert format_duration(seconds, parts=parts) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_exact_text_reads_back(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


def test_a_number_alone_is_in_the_unit_that_is_told() -> None:
    assert [parse_duration("45"), parse_duration("45", unit="min"), parse_duration("45 s", unit="h")] == [45, 2700, 45]
