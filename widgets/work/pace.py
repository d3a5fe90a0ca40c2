"""Drawing that keeps up with answers: they may come faster than a page can be drawn, and Cancel must still be heard."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


class Paced:
    """Calls `act` for whoever asks, at once or, while its last call is not long ago, a little later for all together.

    Between two calls as much time is left to the event loop as the first took. Without a running loop, where nothing
    could come later, it is always at once.
    """

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._free_s = 0.0
        self._later: asyncio.TimerHandle | None = None

    def ask(self) -> None:
        """Call it, now or soon."""
        if self._later is not None:
            return
        wait_s = self._free_s - time.monotonic()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            wait_s = 0.0
        if wait_s > 0:
            self._later = loop.call_later(wait_s, self.now)
        else:
            self.now()

    def flush(self) -> None:
        """Call it now if that is still to come."""
        if self._later is not None:
            self.now()

    def now(self) -> None:
        """Call it, for all who have asked so far."""
        if self._later is not None:
            self._later.cancel()
            self._later = None
        began_s = time.monotonic()
        self._act()
        self._free_s = 2 * time.monotonic() - began_s
