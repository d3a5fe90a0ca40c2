"""How typed values are read and found ones printed."""

import json

import pytest

from workbench.base.errors import InputError
from workbench.cli.inputs import seconds, seeds
from workbench.cli.output import plain, short


def test_seeds():
    assert seeds("0:3") == [0, 1, 2]
    assert seeds("7") == [7]
    assert seeds("1,5:7") == [1, 5, 6]


def test_seconds():
    read = seconds("--until")
    assert [read(text) for text in ("90", "2 h", "1 h 30 min", "0", "1e3")] == [90, 7200, 5400, 0, 1000]
    with pytest.raises(InputError, match="--until"):
        read("nan")


def test_plain_is_json():
    import numpy as np

    found = plain({1: float("inf"), "a": (np.float64("nan"), np.int64(2), [np.array([1.5, -np.inf])], True, None)})
    assert found == {"1": None, "a": [None, 2, [[1.5, None]], True, None]}
    assert json.dumps(found, allow_nan=False)
    assert isinstance(plain(np.bool_(True)), bool)


def test_short():
    assert [short(x) for x in (None, float("nan"), 3, 0.12345, 123456.7, True)] == [
        "-",
        "-",
        "3",
        "0.1235",
        "123,457",
        "True",
    ]
