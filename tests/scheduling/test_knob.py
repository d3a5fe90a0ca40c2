"""Knobs: what may be given for one, in Python and as text, and what is refused in which words."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

from workbench.base.errors import InputError
from workbench.scheduling.knob import Knob, Value, settle

ROUND = Knob("round_s", 360.0, "Length of a round", "s", minimum=1.0, maximum=1e9)
NEVER = Knob("refresh_s", None, "Least time", "s", minimum=0.0, optional=True)
AWARE = Knob("aware", True, "Knows speeds")
COUNT = Knob("count", 3, "How many", kind="int", minimum=0)
FACTOR = Knob("factor", 1.5, "A factor")
WORD = Knob("word", "a", "A word")


@pytest.mark.parametrize(
    ("knob", "given", "found"),
    [
        (ROUND, 60, 60.0),
        (ROUND, "60", 60.0),
        (ROUND, "2 h 30 min", 9000.0),
        (ROUND, "1:00:00", 3600.0),
        (NEVER, "none", None),
        (NEVER, "Inf", math.inf),
        (NEVER, "2 d", 172800.0),
        *((AWARE, text, True) for text in ("true", "yes", "on", "1", " On ", "TRUE")),
        *((AWARE, text, False) for text in ("false", "no", "off", "0", "NO")),
        (COUNT, "1", 1),
        (COUNT, "2.0", 2),
        (FACTOR, "1", 1.0),
        (WORD, "yes", "yes"),
        (WORD, "2 h", "2 h"),
    ],
)
def test_what_is_taken(knob: Knob, given: Any, found: Value) -> None:
    checked = knob.check(given)
    assert checked == found and type(checked) is type(found)


@pytest.mark.parametrize(
    ("knob", "given", "expected"),
    [
        (ROUND, "inf", "a number >= 1 and <= 1,000,000,000 s, or a duration such as 2 h 30 min"),
        (ROUND, math.inf, "<= 1,000,000,000 s"),
        (ROUND, math.nan, ">= 1"),
        (ROUND, "0.5 s", ">= 1"),
        (ROUND, "2 parsecs", "a duration such as 2 h 30 min"),
        (ROUND, "yes", "a number"),
        (ROUND, True, "a number"),
        (NEVER, "-5 min", "a number >= 0 s, or a duration such as 2 h 30 min or none"),
        (AWARE, "2", "true or false"),
        (AWARE, "maybe", "true or false"),
        (AWARE, 1, "true or false"),
        (COUNT, "1.5", "a whole number >= 0"),
        (COUNT, "on", "a whole number"),
        (COUNT, "inf", "a whole number"),
        (FACTOR, "2 h", "a number"),
        (FACTOR, [1], "a number"),
        (WORD, "\ud800", "text"),
        (WORD, 3, "text"),
    ],
)
def test_what_is_refused(knob: Knob, given: Any, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        knob.check(given)
    assert caught.value.where == f"knob {knob.name}" and expected in caught.value.expected


def test_unknown_names_and_no_mapping() -> None:
    with pytest.raises(InputError, match="knobs of mine: got 'no'; expected one of word, count"):
        settle([WORD, COUNT], {"no": 1}, "mine")
    with pytest.raises(InputError, match=r"knobs of mine: got 3; expected \{knob: value\}"):
        settle([WORD], 3, "mine")  # type: ignore[arg-type]


def test_reading_a_knob_that_is_not_declared() -> None:
    """In `build` or `decide`; what was settled is else a dict, also where it was sent to another process."""
    found = pickle.loads(pickle.dumps(settle([Knob("cap", 2, "")], {}, "mine")))
    assert found == {"cap": 2} and found.get("cup") is None
    with pytest.raises(InputError, match=r"knobs of mine: got .cup.; expected .*cap"):
        found["cup"]
