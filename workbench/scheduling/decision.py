"""What a scheduler answers: Decision, its assignments and tasks, and what is recorded with it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError, Words, WorkbenchError, shorten
from workbench.base.text import on_one_line
from workbench.scenario.throughput import Placement
from workbench.scheduling.solvers.solve_report import SolveReport

if TYPE_CHECKING:
    import pandas as pd


Unit = str | tuple[str, int] | tuple[str, str]
"""A job, a copy `(job, i)`, or a pair `(job, job)` that shares all its slots."""

Cause = Literal["round", "arrival", "completion", "idle", "lease_end", "fault", "repair", "timer"]
Kind = Literal["run", "profile"]
Verdict = Literal["guaranteed", "best_effort", "refused"]


NOTHING: Mapping[str, Any] = {}
"""What is not given in a decision, which has a dictionary of its own in its place."""


def members(unit: Unit) -> tuple[str, ...]:
    """Names of the jobs in a unit."""
    if isinstance(unit, str):
        return (unit,)
    return (unit[0], unit[1]) if isinstance(unit[1], str) else (unit[0],)


def is_copy(unit: Unit) -> bool:
    """Whether a unit is one copy `(job, i)` of a job."""
    return not isinstance(unit, str) and not isinstance(unit[1], str)


def unit_name(unit: Unit | Task) -> str:
    """The unit as tables and charts show it: `job`, `job #2` for a copy, `a + b` for a pair, `job #3.1` for task 1 of
    round 3."""
    if isinstance(unit, str):
        return unit
    if isinstance(unit, Task):
        return f"{unit.job} #{unit.round}.{unit.number}"
    return f"{unit[0]} + {unit[1]}" if isinstance(unit[1], str) else f"{unit[0]} #{unit[1]}"


TASK = re.compile(r"^(?P<job>.*) #(?P<round>\d+)\.(?P<task>\d+)$")


def task_parts(units: pd.Series[str]) -> pd.DataFrame:
    """Columns job, round and task, as text, of the names that `unit_name` gives to tasks; missing for other units."""
    return units.astype(str).str.extract(TASK)


def in_sequences(timeline: pd.DataFrame | Mapping[str, Any]) -> bool:
    """Whether a run's timeline, or its columns as arrays, is of tasks in rounds."""
    ran = np.asarray(timeline["unit"])[np.asarray(timeline["kind"]) == "run"]
    return len(ran) > 0 and all(map(TASK.match, ran))  # long timelines of other runs are not read to the end


class Assignment(NamedTuple):
    """GPUs for a unit from now until `until_s`, or until its job completes.

    gpus: `{node: GPUs}`; kind: `profile` measures (its steps count unless `steps` is 0); steps: at most so many steps,
    the GPUs are then held idle until `until_s`; tail_s: seconds of consolidation at the end. The same unit on the same
    GPUs again when it ends is a renewal, on others a move, no new assignment a suspension.
    """

    unit: Unit
    gpus: Mapping[str, int]
    until_s: float
    kind: Kind = "run"
    steps: float | None = None
    tail_s: float = 0.0


class Task(NamedTuple):
    """One GPU's share of one task round of a job (Hare); rounds and tasks count from 0.

    steps: how many of its steps it does before it synchronises, the same for all tasks of a job: coarse rounds.
    together: it starts only at the same time as all other tasks of its round (scale-fixed synchronisation).
    width: how many tasks its round has, at most the job's K; None: K, as all its rounds then have (scale-adaptive
    synchronisation: a smaller round does the steps of fewer tasks, and more rounds follow).
    """

    job: str
    round: int
    number: int
    steps: int = 1
    together: bool = False
    width: int | None = None


class Slot(NamedTuple):
    """One GPU of a node; slots of a node count from 0."""

    node: str
    number: int


class Switch(NamedTuple):
    """A slot's switch to a task: seconds before the task computes, the reason of the event `switch` that is recorded
    then (no event if empty), and what the slot's GPU holds from now on."""

    switch_s: float = 0.0
    reason: str = ""
    held: Any = None


@runtime_checkable
class Switching(Protocol):
    """What it costs slots to switch to tasks (Hare).

    What a GPU holds is kept by the core as it is given, and None on one that has run no task.
    """

    def begin(self, slot: Slot, task: Task, step_s: float, held: Any) -> Switch:
        """The switch to a task, each of whose steps computes for step_s on the slot; asked when it begins."""
        ...

    def fault(self, held: Any) -> Any:
        """What a GPU holds when its node has failed."""
        ...


class Reason(NamedTuple):
    """Why a job got what it got: a short code, a sentence, and the numbers behind it."""

    code: str
    text: str
    facts: Mapping[str, float | str] = {}


class PlacedType(NamedTuple):
    """What shares of time are shares of: the GPUs of a type, for gangs on the fewest nodes or on more (None: either).

    The two placements of one accelerator type are two placed types with the same GPUs (Gavel, section 3.1).
    """

    accelerator: str
    placement: Placement | None = None

    @property
    def name(self) -> str:
        """As tables and charts show it: `v100`, or `v100 spread` for gangs on more nodes than they need."""
        return f"{self.accelerator} spread" if self.placement == "unconsolidated" else self.accelerator

    @property
    def word(self) -> Placement:
        """The placement whose speeds count: consolidated if there is a choice."""
        return self.placement or "consolidated"


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of time behind a decision: `values[i, j]` of `units[i]` on type `types[j]`.

    kinds: the placed types behind `types`, empty where they are accelerator types.
    """

    units: tuple[Unit, ...]
    types: tuple[str, ...]
    values: FloatArray
    kinds: tuple[PlacedType, ...] = ()


@dataclass(frozen=True, init=False)
class Decision:
    """A scheduler's answer.

    assign: new, renewed and moved assignments; units not named keep the leases they have, and lose those that end now.
    preempt: leases to end at once. sequences: tasks per slot (Hare), switching: what they cost (None:
    nothing). verdicts: admission. shares, signals (`{signal: {job: value}}`), solved (how it was computed; a
    formulation's Result is one) and why are recorded, not executed. next_s: ask again at this time at the latest;
    quiet_s: arrivals and completions are no cause to ask before it (a time, not infinity); asked for another, or with
    no job there, the scheduler is told of them sooner.
    Raises InputError where assign is no tuple; all else is checked when it is answered (`InvalidDecision`).
    """

    assign: tuple[Assignment, ...]
    preempt: frozenset[Unit]
    sequences: Mapping[Slot, tuple[Task, ...]] | None
    switching: Switching | None
    verdicts: Mapping[str, Verdict]
    shares: Shares | None
    signals: Mapping[str, Mapping[str, float]]
    solved: SolveReport | None
    why: Mapping[str, Reason]
    next_s: float | None
    quiet_s: float

    def __init__(  # what a frozen class does itself takes twice as long
        self,
        assign: tuple[Assignment, ...] = (),
        preempt: frozenset[Unit] = frozenset(),
        sequences: Mapping[Slot, tuple[Task, ...]] | None = None,
        switching: Switching | None = None,
        verdicts: Mapping[str, Verdict] = NOTHING,
        shares: Shares | None = None,
        signals: Mapping[str, Mapping[str, float]] = NOTHING,
        solved: SolveReport | None = None,
        why: Mapping[str, Reason] = NOTHING,
        next_s: float | None = None,
        quiet_s: float = -math.inf,
    ) -> None:
        if type(assign) is not tuple:
            raise InputError("Decision, assign", assign, "a tuple: (Assignment(job, {node: GPUs}, until_s),)")
        given = {
            "assign": assign,
            "preempt": preempt,
            "sequences": sequences,
            "switching": switching,
            "verdicts": {} if verdicts is NOTHING else verdicts,
            "shares": shares,
            "signals": {} if signals is NOTHING else signals,
            "solved": solved,
            "why": {} if why is NOTHING else why,
            "next_s": next_s,
            "quiet_s": quiet_s,
        }
        object.__setattr__(self, "__dict__", given)


GOES_ON = Decision(next_s=math.inf)
"""All goes on, and nothing need be decided before something happens."""

BLOCKED = Decision(next_s=math.inf)
"""The same, and whoever comes waits behind those who wait: who is asked only where jobs wait is not asked at it."""


class FoundValue:
    """A place and the value that stands there, as errors show it."""

    def __init__(self, where: str, value: Any) -> None:
        self._where, self._value = where, value

    def __repr__(self) -> str:
        return f"{self._where} {self._value!r}"


class InvalidDecision(WorkbenchError):
    """A decision that breaks a limit; it is never repaired silently."""

    status = "invalid_decision"

    def __init__(self, scheduler: str, at_s: float, unit: Unit | None, value: Any, limit: str) -> None:
        who = "" if unit is None else ", " + shorten(Words(on_one_line(unit_name(unit))))
        super().__init__(f"decision of {scheduler} at {at_s:g} s{who}", value, limit)


class PerJob(Mapping[str, float]):
    """`{job: number}` over two columns of equal length; for `Decision.signals`, recorded only now and then.

    names, values: the columns, or functions that work them out when they are first read.
    """

    def __init__(
        self, names: Sequence[str] | Callable[[], Sequence[str]], values: FloatArray | Callable[[], FloatArray]
    ) -> None:
        self._named, self._given = names, values

    @cached_property
    def _names(self) -> Sequence[str]:
        return self._named() if callable(self._named) else self._named

    @cached_property
    def _values(self) -> list[float]:
        values: list[float] = (self._given() if callable(self._given) else self._given).tolist()
        return values

    @cached_property
    def _by_name(self) -> dict[str, float]:
        return dict(zip(self._names, self._values, strict=True))

    def __getitem__(self, name: str) -> float:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def values(self) -> ValuesView[float]:
        """The column, without looking each number up by its name."""
        return self._by_name.values()

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"PerJob({self._by_name})"
