"""The button that takes a file: what it hands on, and what the page refuses before sending it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser_support import (
    Problems,
    Server,
    browser_test,
    open_notebook,
    run_all_cells,
    shot,
    wait_for_text,
    write_notebook,
)
from widgets.parts.files import MOST_BYTES, Upload

CELL = """
from widgets import WhatIfLab

WhatIfLab("preset:start_here", "las")
"""
TRACE = """job_id,user,gpu_num,state,submit_time,duration
j1,ann,1,COMPLETED,2020-04-01 00:00:00,3600
"""
ABOVE_LIMIT_BYTES = 12_000_000
"""More than a Jupyter server takes in one message: sent, it would end the connection to the kernel."""


@pytest.fixture
def heard() -> list[Any]:
    return []


@pytest.fixture
def button(heard: list[Any]) -> Upload:
    return Upload("Open", "a file", heard.extend, lambda *told: heard.append(told), expected="use convert")


def test_a_file_is_handed_on_without_its_folder(button: Upload, heard: list[Any]) -> None:
    button._handle_custom_msg({"kind": "file", "name": "../../x.csv"}, [b"abc"])
    assert [(found["name"], bytes(found["content"])) for found in heard] == [("x.csv", b"abc")]


def test_a_file_that_was_not_sent_is_told_with_its_size_and_what_to_do(button: Upload, heard: list[Any]) -> None:
    button._handle_custom_msg({"kind": "too_large", "name": "year.csv", "bytes": 12_345_678}, [])
    assert heard == [("year.csv", "got 12.3 MB; expected at most 8 MB here; use convert")]
    assert button.most_bytes == MOST_BYTES


def test_a_file_that_the_browser_cannot_read_is_told(button: Upload, heard: list[Any]) -> None:
    button._handle_custom_msg({"kind": "unreadable", "name": "gone.csv", "why": "NotFoundError"}, [])
    assert heard == [("gone.csv", "got NotFoundError; expected a file that the browser can read")]


def choose(page: Page, button: str, path: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.locator(button).click()
    chooser.value.set_files(path)


@browser_test
def test_a_trace_too_large_is_refused_in_words_and_the_page_goes_on(
    page: Page, lab_server: Server, problems: Problems, tmp_path: Path
) -> None:
    open_notebook(page, lab_server, write_notebook(lab_server, "upload.ipynb", CELL))
    run_all_cells(page)
    wait_for_text(page, ".wb-what-if .wb-status", "Set, not run")
    large, small = tmp_path / "year.csv", tmp_path / "week.csv"
    large.write_bytes(b"x" * ABOVE_LIMIT_BYTES)
    small.write_text(TRACE)
    choose(page, ".wb-upload-open", large)
    wait_for_text(page, ".wb-trace-said", r"year.csv: got 12.0 MB; expected at most 8 MB here; workbench convert")
    choose(page, ".wb-what-if .wb-upload", large)
    wait_for_text(page, ".wb-filed", r"year.csv: got 12.0 MB; expected at most 8 MB here; open a larger one")
    shot(page, "upload-refused")
    page.locator(".wb-trace-format select").select_option("helios")
    page.locator(".wb-what-if").get_by_placeholder("v100=8x4, k80=4x8").fill("v100=1x4")
    page.keyboard.press("Tab")
    choose(page, ".wb-upload-open", small)
    wait_for_text(page, ".wb-trace-said", r"Opened week.csv: 1 of 1 row kept")
    middle = tmp_path / "middle.csv"
    middle.write_text(TRACE + "".join(f"k{i},ann,1,FAILED,2020-04-01 00:00:00,3600\n" for i in range(160_000)))
    assert 7_000_000 < middle.stat().st_size < MOST_BYTES
    choose(page, ".wb-upload-open", middle)
    wait_for_text(page, ".wb-trace-said", r"Reading middle.csv|Opened middle.csv")
