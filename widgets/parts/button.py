"""A button with what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as w


def button(text: str, name: str, act: Callable[[], object], tooltip: str | None = None, **look: Any) -> w.Button:
    """A `w.Button` of the class `wb-NAME`, as wide as its text; look: its icon and what else it takes."""
    found = w.Button(description=text, tooltip=tooltip, **{"layout": {"width": "auto"}, **look})
    found.add_class(f"wb-{name}")
    found.on_click(lambda _: act())
    return found
