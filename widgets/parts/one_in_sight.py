"""Widgets of which one is in sight."""

from __future__ import annotations

from typing import Any

import ipywidgets as w


class OneInSight(w.VBox):
    """What was shown once stays in the page, out of sight.

    To take a child out while the page still makes its view, or in the frame in which it was put in, is an error of
    ipywidgets' (8.1.9): the view comes into a box that has gone, or is told its size.
    """

    children: Any

    def show(self, shown: w.DOMWidget) -> None:
        """Have it in sight instead of the others."""
        for each in self.children:
            if each is not shown:
                each.layout.display = "none"
        shown.layout.display = None
        if shown not in self.children:
            self.children = (*self.children, shown)

    @property
    def shown(self) -> w.DOMWidget | None:
        """What is in sight."""
        return next((each for each in self.children if each.layout.display is None), None)
