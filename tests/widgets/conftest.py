"""Widgets of a test have no page, and tell their state to none."""

from __future__ import annotations

import pytest
from ipywidgets import Widget


@pytest.fixture
def heard() -> None:
    """Asked for where a test reads what a page is told."""


@pytest.fixture(autouse=True)
def no_page(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """To put each state of a lab's thousand widgets into a message took a quarter of the time of these tests."""
    if "heard" not in request.fixturenames:
        monkeypatch.setattr(Widget, "open", lambda self: None)
