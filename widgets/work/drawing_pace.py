"""Drawing that keeps up with answers: they may come faster than a page can be drawn, and Cancel must still be heard;
and what is worked out after a picture, as the next may be asked for already."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

REST_S, MOST_S = 0.12, 0.5
"""What can wait begins when nothing was asked for so long, and at the latest so long after it was asked for first."""
GAP_S = 0.02
"""Between two of its steps: long enough for a message to come through, whose answer goes first."""


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


class LaterSteps:
    """Does what can wait, a step at a time: between two of them whatever the event loop has to do comes first.

    Asked again before it has begun it waits anew, but no longer than MOST_S in all; asked while it is at it, it goes on
    and then does all of it once more. Without a running loop, where nothing could come later, it is all done at once.
    failed: told what a step raises; rest_s, most_s: s, in the place of REST_S and MOST_S.
    """

    def __init__(
        self,
        steps: Sequence[Callable[[], None]],
        failed: Callable[[Exception], None],
        rest_s: float = REST_S,
        most_s: float = MOST_S,
    ) -> None:
        self._steps, self._failed, self._rest_s, self._most_s = steps, failed, rest_s, most_s
        self._to_do: list[Callable[[], None]] = []
        self._again = False
        self._due_s = 0.0
        self._next: asyncio.TimerHandle | None = None

    def ask(self) -> None:
        """Do all the steps, soon."""
        now_s = time.monotonic()
        if self._to_do and len(self._to_do) < len(self._steps):
            self._again = True
            return
        if not self._to_do:
            self._due_s = now_s + self._most_s
        self._wait_no_more()
        self._to_do = list(self._steps)
        self._in(max(0.0, min(self._rest_s, self._due_s - now_s)))

    def flush(self) -> None:
        """Do now what is still to be done."""
        self._wait_no_more()
        if self._again:
            self._to_do, self._again = list(self._steps), False
        while self._to_do:
            self._do()

    def _in(self, wait_s: float) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
        else:
            self._next = loop.call_later(wait_s, self._step)

    def _step(self) -> None:
        self._wait_no_more()
        self._do()
        if self._next is not None:  # asked by the step itself
            return
        if self._to_do:
            self._in(GAP_S)
        elif self._again:
            self._again = False
            self.ask()

    def _do(self) -> None:
        step, *self._to_do = self._to_do
        try:
            step()
        except Exception as error:
            self._to_do, self._again = [], False
            self._failed(error)
            raise

    def _wait_no_more(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None
