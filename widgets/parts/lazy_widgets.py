"""Widgets that a page is told of when it first has to draw them.

A lab has some seven hundred widgets, layouts and styles among them, of which a third is in sight at first. ipywidgets
(8.1) tells pages of each as it is made and of every change since, a message each, which costs the kernel, the server
and the page alike. Those made within `lazy` are told, as they are by then, when one that is told refers to them.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ipywidgets import Box, Widget

_untold: weakref.WeakSet[Widget] = weakref.WeakSet()
_open, _model_id = Widget.open, Widget.model_id


class _Here(threading.local):
    """Of each thread its own. Not of a context: what a lab has done once the loop is idle would have it too."""

    holding = False


_here = _Here()


@contextlib.contextmanager
def lazy(hold: bool = True) -> Iterator[None]:
    """No page is told of widgets that this thread makes in here before it needs them; hold: or at once."""
    before, _here.holding = _here.holding, hold
    try:
        yield
    finally:
        _here.holding = before


def unseen(box: Box) -> Callable[[], None]:
    """Keep what is in a box from the page until the returned function is called: somebody looks at it."""
    inside, box.children = box.children, ()

    def see() -> None:
        nonlocal inside
        if inside:
            box.children, inside = inside, ()

    return see


def _tell(widget: Any) -> None:
    """In the place of `Widget.open`, which ipywidgets calls for each that is made."""
    if _here.holding:
        _untold.add(widget)
    else:
        _untold.discard(widget)
        _open(widget)


def _named(widget: Any) -> str:
    """In the place of `Widget.model_id`, by which one that is told refers to others."""
    if widget in _untold:
        with lazy(hold=False):
            widget.open()
    return str(_model_id.fget(widget))


Widget.open, Widget.model_id = _tell, property(_named)
