"""Schedulers that a session declares from a plain function, and the checks that stand in for a shipped one's tests.

What is wrong is said where it is written: name, knobs, times and arguments when the scheduler is declared, a memory
that cannot be saved when `decide` first returns it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from workbench.base.code_digest import digest
from workbench.base.errors import NOTHING, InputError, within
from workbench.base.text import is_name
from workbench.scheduling.contract import Knobs, Memory, Scheduler, Timing
from workbench.scheduling.decision import Decision, FoundValue, InvalidDecision
from workbench.scheduling.declared_room import checked_uses
from workbench.scheduling.knob import Knob, checked_knobs
from workbench.scheduling.memory import plain
from workbench.scheduling.snapshot import Snapshot

Decide = Callable[[Snapshot, Memory, Knobs, np.random.Generator], tuple[Decision, Memory]]

USE = '@workbench.scheduler("a name") above the function'
ARGUMENTS = "decide(snapshot, memory, knobs, rng)"
_NAME = re.compile(r"\w(?:[\w .-]*\w)?")


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the decorator is told about a scheduler."""

    name: str
    knobs: tuple[Knob, ...]
    timing: Timing
    uses: frozenset[str]

    @classmethod
    def checked(cls, name: Any, knobs: Any, round_s: Any, causes: Any, uses: Any) -> Self:
        """Raises InputError for anything that cannot be."""
        check_name("scheduler", name)
        where = f"scheduler {name}"
        with within(where):
            timing = Timing(round_s, causes)
        if round_s is None and not timing.causes:
            expected = "at least one where there are no rounds, as arrival and completion"
            raise InputError(f"{where}, causes", NOTHING, expected)
        return cls(name, checked_knobs(where, knobs), timing, checked_uses(where, uses))


def check_name(noun: str, name: Any) -> None:
    """Raise InputError for a name that an own scheduler or formulation (noun) cannot have."""
    if callable(name):
        raise InputError(f"@workbench.{noun}", name, USE.replace("scheduler", noun))
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not is_name(name):
        expected = "a text of 1 to 200 letters, digits, _ . - and spaces, with no space, . or - at its ends"
        raise InputError(f"{noun} name", name, expected)


class FromFunction(Scheduler):
    """A scheduler whose `decide` is a plain function, as written in a notebook cell."""

    def __init__(self, declared: Declaration, function: Decide) -> None:
        where = f"scheduler {declared.name}"
        if not callable(function):
            raise InputError(where, function, USE)
        try:
            inspect.signature(function).bind(None, None, None, None)
        except TypeError:
            raise InputError(where, f"{_name_of(function)}{inspect.signature(function)}", ARGUMENTS) from None
        self.name = declared.name
        self.title = ((function.__doc__ or "").strip() or declared.name).splitlines()[0].rstrip(".")
        self.knobs = declared.knobs
        self.uses = Scheduler.uses | declared.uses
        self._function = function
        self._timing = declared.timing

    def timing(self, knobs: Knobs) -> Timing:
        return self._timing

    def code(self) -> str:
        return digest(self._function)

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        answer = self._function(snapshot, memory, knobs, rng)
        if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], Decision):  # else the core refuses
            after = answer[1]
            try:
                after is memory or plain(after)
            except InputError as error:
                found = FoundValue(error.where, error.value)
                raise InvalidDecision(self.name, snapshot.now_s, None, found, error.expected) from None
        return answer


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", function))
