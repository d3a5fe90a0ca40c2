"""Controls that the program sets are nobody's edits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Quiet:
    """True inside `with quiet():`, where what controls tell is not to be heard; such blocks may be nested."""

    def __init__(self) -> None:
        self._depth = 0

    def __bool__(self) -> bool:
        return self._depth > 0

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Set controls."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
