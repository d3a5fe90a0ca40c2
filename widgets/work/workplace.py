"""What does a lab's requests, and how answers come back.

Answers reach the notebook on the kernel's own event loop, so that a busy page is never entered from another thread.
Where no loop runs (a plain script), they come from the thread that reads them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple, Protocol

Message = Mapping[str, Any]
Hear = Callable[[Message], None]

IDLE_S = 0.1
"""So long the event loop must have had nothing to do for what can wait."""


class Workplace(Protocol):
    """Does one request at a time. An asker is whoever asks, one for each lab.

    A request replaces the one of its asker and kind that still waits, and no other; simulations go first.
    """

    def submit(self, request: Message, hear: Hear, asker: Hashable = None) -> None:
        """Do a request; `hear` gets its messages: progress, then done, error or cancelled. Replaced ones get none."""
        ...

    def cancel(self, asker: Hashable = None) -> None:
        """Stop what is being done for an asker and forget what waits for it; each is told `cancelled`."""
        ...


class Queued(NamedTuple):
    """A request with whom to tell."""

    request: Message
    hear: Hear
    asker: Hashable


class Deliver:
    """Calls something on the event loop that runs where it is made; without a running loop at once."""

    def __init__(self) -> None:
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    @property
    def closed(self) -> bool:
        """Whether the loop is, so that nobody listens any more."""
        return self._loop is not None and self._loop.is_closed()

    def __call__(self, call: Callable[[], object]) -> None:
        if self._loop is None:
            call()
            return
        with contextlib.suppress(RuntimeError):  # closed
            self._loop.call_soon_threadsafe(call)


def when_idle(act: Callable[[], object]) -> None:
    """Do something soon, when the kernel has answered its messages; without a loop it is left to the first use."""
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop().call_later(IDLE_S, act)
