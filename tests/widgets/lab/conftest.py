"""A lab of a test is alone: in a folder of its own, unknown to other tests' labs, mostly with a process that waits."""

from __future__ import annotations

import weakref
from pathlib import Path

import pytest

import widgets.editors.scheduler_choice
import widgets.lab.explain_page
import widgets.lab.lab
import widgets.lab.reasons
import widgets.lab.rows_panel
from tests.widgets.lab.support import Waiter


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Waiter:
    """What pages would find out aside is left undone; a test that asks for it does it itself."""
    waiter = Waiter()
    monkeypatch.setattr(widgets.lab.lab, "process_work", lambda: waiter)
    monkeypatch.setattr(widgets.lab.lab, "is_small", lambda scenario: False)
    for page in (widgets.lab.explain_page, widgets.lab.reasons, widgets.lab.rows_panel):
        monkeypatch.setattr(page, "aside", lambda work, hear: None)
    return waiter


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def no_other_labs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labs of earlier tests, not collected yet, may show schedulers that have gone with their test."""
    monkeypatch.setattr(widgets.editors.scheduler_choice, "_CHOICES", weakref.WeakSet())
