"""The button that takes a file: what it hands on, and what it is told of a file that the page did not send."""

from __future__ import annotations

from typing import Any

import pytest

from widgets.parts.files import MOST_BYTES, Upload


@pytest.fixture
def received() -> list[Any]:
    return []


@pytest.fixture
def button(received: list[Any]) -> Upload:
    return Upload("Open", "a file", received.extend, lambda *told: received.append(told), expected="use convert")


def test_a_file_is_handed_on_without_its_folder(button: Upload, received: list[Any]) -> None:
    button._handle_custom_msg({"kind": "files", "names": ["../../x.csv", "y"]}, [b"abc", b"d"])
    assert [(found["name"], bytes(found["content"])) for found in received] == [("x.csv", b"abc"), ("y", b"d")]


def test_a_file_that_was_not_sent_is_told_with_its_size_and_what_to_do(button: Upload, received: list[Any]) -> None:
    button._handle_custom_msg({"kind": "too_large", "names": ["year.csv"], "bytes": 12_345_678}, [])
    assert received == [("year.csv", "got 12.3 MB; expected at most 8 MB here; use convert")]
    assert button.most_bytes == MOST_BYTES
    button._handle_custom_msg({"kind": "too_large", "names": ["a", "b"], "bytes": 9e6}, [])
    assert received[1] == ("2 files", "got 9.0 MB; expected at most 8 MB here; use convert")


def test_a_file_that_the_browser_cannot_read_is_told(button: Upload, received: list[Any]) -> None:
    button._handle_custom_msg({"kind": "unreadable", "names": ["gone.csv"], "why": "NotFoundError"}, [])
    assert received == [("gone.csv", "got NotFoundError; expected a file that the browser can read")]
