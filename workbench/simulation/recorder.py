"""Collects what happens and turns it into the tables of a run."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import FloatArray, IntArray
from workbench.scheduling.decision import Decision, PlacedType, Reason, Shares, Task, Unit, unit_name
from workbench.simulation.nodes import SlotSet
from workbench.simulation.schema import DECISIONS, EVENTS, NUMBERS, TableColumns

Nothing = -1
NONE = (0.0, 0.0)
NOT_SOLVED: tuple[Any, ...] = ("", np.nan, np.nan, np.nan, np.nan, np.nan, "algorithm")

GPUS_CHANGE = frozenset({"start", "move", "preempt"})
"""Events at which a job has other GPUs than before (or none); a profile ends without one, and its interval tells."""
FOLD = 250
"""What so many decisions record, and so many intervals, are kept as they come before they go into columns."""
TEXTS = ("unit", "job", "with_job", "kind")
PARTS = ("start_s", "end_s", "steps", "with_steps")
"""Of an interval, after its slots."""
CODES = {"int": "q", "float": "d", "bool": "b"}


class Rows:
    """Rows of a table: `fresh`, cell after cell as they come; folded into columns, whose numbers take 8 bytes each."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self.fresh: list[Any] = []
        self._kinds = [*kinds]
        self.folded: list[Any] = [array(CODES[kind]) if kind in CODES else [] for kind in self._kinds]

    def fold(self) -> list[Any]:
        """Put the fresh ones into the columns; returns these."""
        fresh, width = self.fresh, len(self.folded)
        for i, column in enumerate(self.folded if fresh else ()):
            (column.extend if type(column) is list else column.fromlist)(fresh[i::width])
        fresh.clear()
        return self.folded

    def columns(self) -> Iterator[npt.NDArray[Any]]:
        """Column after column of those that are folded, over the memory in which they are kept."""
        for kind, cells in zip(self._kinds, self.folded, strict=True):
            yield np.frombuffer(cells, NUMBERS[kind]) if kind in CODES else np.fromiter(cells, object, len(cells))


class SignalRows(NamedTuple):
    """The rows of one signal of one decision: jobs and their values."""

    decision: int
    time_s: float
    signal: str
    jobs: tuple[str, ...]
    values: array[float]


class ShareRows(NamedTuple):
    """The rows of the shares of one decision: positions of units and placed types, whose names follow, and shares."""

    decision: int
    time_s: float
    units: list[str]
    kinds: Sequence[tuple[str, str]]
    unit: IntArray
    kind: IntArray
    share: FloatArray

    @classmethod
    def of(cls, shares: Shares, decision: int, time_s: float) -> ShareRows:
        """The shares that are not 0."""
        units = [unit_name(unit) for unit in shares.units]
        kinds = [(kind.accelerator, kind.placement or "") for kind in shares.kinds or map(PlacedType, shares.types)]
        unit, kind = np.nonzero(shares.values)
        return cls(decision, time_s, units, kinds, unit, kind, shares.values[unit, kind].astype(float))


class Recorder:
    """Append-only lists, one per column of a table; of `timeline` an entry is for all slots of a unit.

    accelerator_of: type of each node, in cluster order; detail: how many decisions keep shares, signals and reasons;
    decisions: how many are recorded; in_detail: whether the next one still is so.
    """

    def __init__(self, accelerator_of: Mapping[str, str], detail: int | None = None) -> None:
        self._accelerator_of = accelerator_of
        self._detail = math.inf if detail is None else detail
        self.decisions, self.in_detail = 0, self._detail > 0
        self._intervals, self._entries = Rows(["slots", *["str"] * len(TEXTS), *["float"] * len(PARTS)]), 0
        self._calls = Rows(column.dtype for column in DECISIONS.columns[1 : -len(NOT_SOLVED)])  # from time_s to changed
        self._solved: dict[int, tuple[Any, ...]] = {}  # the cells behind those, of the calls with a report
        self._shares: list[ShareRows] = []
        self._signals: list[SignalRows] = []
        self._events = Rows(column.dtype for column in EVENTS.columns)
        self._last_shares: Shares | None = None
        self._reasons: list[tuple[int, float, str, str, str]] = []
        self._last_why: Mapping[str, Reason] = {}
        self._changed: set[str] = set()  # whose GPUs came or went since the decision before

    def interval(
        self,
        row: int,
        slots: SlotSet,
        unit: Unit | Task | None,
        jobs: tuple[str, ...],
        kind: str,
        start_s: float,
        end_s: float,
        steps: Sequence[float] = NONE,
    ) -> int:
        """Record that `slots` did `kind` for a unit; returns the number of the row of `timeline`, one for all of them.

        row: the unit's latest one on the same slots, extended if the new interval continues it; else Nothing.
        jobs: of the unit, two for a pair, none where nobody holds them.
        """
        if row != Nothing:
            _, _, _, _, kinds, _, ends, *done = self._intervals.fold()
            if ends[row] == start_s and kinds[row] == kind:
                ends[row] = end_s
                for column, more in zip(done, steps, strict=True):
                    column[row] += more
                return row
        self._changed.update(jobs)
        name = "" if unit is None else unit_name(unit)
        first, second = jobs[0] if jobs else "", jobs[1] if len(jobs) > 1 else ""
        self._intervals.fresh += (slots, name, first, second, kind, start_s, end_s, steps[0], steps[1])
        number = self._entries
        self._entries = number + 1
        if not number % FOLD:
            self._intervals.fold()
        return number

    def event(
        self, time_s: float, event: str, job: str = "", unit: str = "", where: str = "", reason: str = ""
    ) -> None:
        """Record an event."""
        if event in GPUS_CHANGE:
            self._changed.add(job)
        self._events.fresh += (time_s, event, job, unit, where, reason)

    def renewals(self, time_s: float, renewed: Iterable[tuple[str, Unit]]) -> None:
        """Record that leases are renewed: jobs and their units."""
        cells = self._events.fresh
        for job, unit in renewed:
            cells += (time_s, "renew", job, unit_name(unit), "", "")

    def decision(self, row: tuple[Any, ...], decision: Decision) -> None:
        """Record a call of the scheduler: `row` holds the columns from time_s to changed."""
        number, found = self.decisions, decision.solved
        self.decisions = number + 1
        self._calls.fresh += row
        if not number % FOLD:
            self._calls.fold()
            self._events.fold()
        if found is not None:
            numbers = (found.objective, found.bound, found.gap)
            said = (np.nan if v is None else v for v in numbers)
            self._solved[number] = (found.status, *said, found.build_s, found.solve_s, found.made_by)
        if not self.in_detail:
            self._changed.clear()
            return
        self.in_detail = number + 1 < self._detail
        time_s: float = row[0]
        if decision.shares is not None and not _same_shares(decision.shares, self._last_shares):
            self._last_shares = decision.shares
            self._shares.append(ShareRows.of(decision.shares, number, time_s))
        for signal, values in decision.signals.items():
            column = array("d", map(float, values.values()))
            self._signals.append(SignalRows(number, time_s, signal, tuple(values), column))
        self._note_reasons(number, time_s, decision.why)

    def _note_reasons(self, number: int, time_s: float, why: Mapping[str, Reason]) -> None:
        """Keep the reasons that the decision before did not give in the same words, or gave for other GPUs."""
        before, changed = self._last_why, self._changed
        for job, reason in why.items():
            same = before.get(job)
            if same is None or same.text != reason.text or same.code != reason.code or job in changed:
                self._reasons.append((number, time_s, job, reason.code, reason.text))
        self._last_why = dict(why)
        changed.clear()

    def tables(self) -> dict[str, Callable[[], TableColumns | Iterable[Sequence[Any]]]]:
        """What gives the columns or rows of every table but `jobs`; each holds only what its own is made of."""
        decisions, calls, solved, events = self.decisions, self._calls, self._solved, self._events
        calls.fold()
        events.fold()
        slots, *rest = self._intervals.fold()
        texts, numbers = rest[: len(TEXTS)], dict(zip(PARTS, rest[len(TEXTS) :], strict=True))
        shares, signals, reasons = self._shares, self._signals, self._reasons
        self._intervals, self._calls, self._solved, self._events = Rows(()), Rows(()), {}, Rows(())
        self._shares, self._signals, self._reasons = [], [], []
        accelerator_of = self._accelerator_of
        return {
            "timeline": lambda: _timeline_columns(accelerator_of, slots, texts, numbers),
            "decisions": lambda: _decision_columns(decisions, calls, solved),
            "events": lambda: _event_columns(events),
            "shares": lambda: share_columns(shares),
            "signals": lambda: _signal_columns(signals),
            "reasons": lambda: reasons,
        }


def _timeline_columns(
    accelerator_of: Mapping[str, str],
    held: Sequence[SlotSet],
    texts: Sequence[Sequence[str]],
    numbers: Mapping[str, array[float]],
) -> TableColumns:
    """One row per slot and maximal interval, ordered by (start, node, slot).

    Of the entries: the slots that were held, the four texts, and `start_s`, `end_s`, `steps`, `with_steps`.
    """
    counts = np.fromiter(map(len, held), np.int64, len(held))
    entry = np.repeat(np.arange(len(counts)), counts)
    slots = [*dict.fromkeys(chain.from_iterable(held))]
    spot = dict(zip(slots, range(len(slots)), strict=True))
    at = np.fromiter(map(spot.__getitem__, chain.from_iterable(held)), np.int64, len(entry))
    width = np.maximum(counts, 1)
    t = {name: np.frombuffer(column) for name, column in numbers.items()}
    t = {name: (column / width if name.endswith("steps") else column)[entry] for name, column in t.items()}

    def same(one: int, other: int) -> bool:
        one, other = entry.item(one), entry.item(other)
        return counts.item(one) == counts.item(other) and all(column[one] == column[other] for column in texts)

    t = _merge(t, at, same)
    place = dict(zip(accelerator_of, range(len(accelerator_of)), strict=True))
    node = np.array([place[slot.node] for slot in slots], dtype=np.int64)
    number = np.array([slot.number for slot in slots], dtype=np.int64)
    shown = at[t["recorded"]]
    order = np.lexsort((t["recorded"], number[shown], node[shown], t["start_s"]))
    recorded, shown = t.pop("recorded")[order], shown[order]
    names = np.array([[slot.node, accelerator_of[slot.node]] for slot in slots], dtype=object).reshape(-1, 2)
    of = entry[recorded]
    rows = of.tolist()
    return {
        "node": names[shown, 0],
        "slot": number[shown],
        "accelerator": names[shown, 1],
        **{name: [*map(column.__getitem__, rows)] for name, column in zip(TEXTS, texts, strict=True)},
        **{name: column[order] for name, column in t.items()},
        "gpus": counts[of],
    }


def _decision_columns(decisions: int, calls: Rows, solved: Mapping[int, Sequence[Any]]) -> TableColumns:
    names, cells = DECISIONS.names, list(calls.columns())
    columns: dict[str, Any] = dict(zip(names[1:], cells, strict=False))
    for i, name in enumerate(names[len(cells) + 1 :]):
        column = np.full(decisions, NOT_SOLVED[i], dtype=object if isinstance(NOT_SOLVED[i], str) else float)
        for number, report in solved.items():
            column[number] = report[i]
        columns[name] = column
    return {"decision": range(decisions), **columns}


def _event_columns(events: Rows) -> TableColumns:
    columns = list(events.columns())
    order = np.argsort(columns[0], kind="stable")
    return dict(zip(EVENTS.names, (column[order] for column in columns), strict=True))


def _merge(
    t: dict[str, npt.NDArray[Any]], at: IntArray, same: Callable[[int, int], bool]
) -> dict[str, npt.NDArray[Any]]:
    """Make rows of the same slot that touch one, where both say the `same` of it: a job that moves may keep a slot.
    at: the slot of each; `recorded` is the first of them."""
    t["recorded"] = np.arange(len(at))
    order = np.lexsort((t["start_s"], at))
    slot, start_s, end_s = at[order], t["start_s"][order], t["end_s"][order]
    goes_on = np.zeros(len(at), dtype=bool)
    goes_on[1:] = (slot[1:] == slot[:-1]) & (start_s[1:] == end_s[:-1])
    for row in np.flatnonzero(goes_on).tolist():
        goes_on[row] = same(order.item(row - 1), order.item(row))
    if not goes_on.any():
        return t
    begins = np.flatnonzero(~goes_on)
    how = {"recorded": np.minimum, "start_s": np.minimum, "end_s": np.maximum, "steps": np.add, "with_steps": np.add}
    return {name: how[name].reduceat(column[order], begins) for name, column in t.items()}


def _signal_columns(blocks: Sequence[SignalRows]) -> TableColumns:
    sizes = [len(block.jobs) for block in blocks]
    return {
        **_when(blocks, sizes),
        "signal": np.repeat(np.array([block.signal for block in blocks], dtype=object), sizes),
        "job": np.fromiter(chain.from_iterable(block.jobs for block in blocks), object, sum(sizes)),
        "value": np.fromiter(chain.from_iterable(block.values for block in blocks), float, sum(sizes)),
    }


def share_columns(blocks: Sequence[ShareRows]) -> TableColumns:
    """The columns of the table `shares`."""
    kinds = [block.kinds[i] for block in blocks for i in block.kind.tolist()]
    return {
        **_when(blocks, [len(block.share) for block in blocks]),
        "unit": [block.units[i] for block in blocks for i in block.unit.tolist()],
        "accelerator": [accelerator for accelerator, _ in kinds],
        "placement": [placement for _, placement in kinds],
        "share": list(chain.from_iterable(block.share.tolist() for block in blocks)),
    }


def _when(blocks: Sequence[SignalRows | ShareRows], sizes: Sequence[int]) -> dict[str, npt.NDArray[Any]]:
    """The columns `decision` and `time_s` of blocks with so many rows."""
    return {
        "decision": np.repeat(np.array([block.decision for block in blocks], dtype=np.int64), sizes),
        "time_s": np.repeat(np.array([block.time_s for block in blocks], dtype=float), sizes),
    }


def _same_shares(a: Shares, b: Shares | None) -> bool:
    if a is b:
        return True
    return b is not None and a.units == b.units and a.types == b.types and np.array_equal(a.values, b.values)
