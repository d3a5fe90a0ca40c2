"""How often Python looks for cycles among the objects that it keeps."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 200_000
"""Objects made and kept before the collector looks for cycles among them (Python's default is 700)."""

_lock = threading.Lock()
_inside: list[tuple[int, int, int]] = []
"""For each that is inside, in whichever thread, the setting that was found by the first."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Collect cycles seldom: what a run records, and what is imported, is kept, and would be searched again and again.

    What is not part of a cycle is freed at once as always. The setting is that of the whole process: the last of those
    inside, who may be threads beside each other, puts it back.
    """
    with _lock:
        before = _inside[0] if _inside else gc.get_threshold()
        _inside.append(before)
        if before[0] > 0:  # at 0 nothing is ever collected
            gc.set_threshold(max(NEW_OBJECTS, before[0]), *before[1:])
    try:
        yield
    finally:
        with _lock:
            _inside.pop()
            if not _inside:
                gc.set_threshold(*before)
