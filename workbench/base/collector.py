"""How often Python looks for cycles among the objects that it keeps."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 200_000
"""Objects made and kept before the collector looks for cycles among them (Python's default is 700)."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Collect cycles seldom: what a run records, and what is imported, is kept, and would be searched again and again.

    What is not part of a cycle is freed at once as always. The setting is that of the whole process.
    """
    before = gc.get_threshold()
    if before[0] > 0:  # at 0 nothing is ever collected
        gc.set_threshold(max(NEW_OBJECTS, before[0]), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
