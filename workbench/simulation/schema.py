"""Every table's columns: name, meaning, unit. The one place where a column is defined."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, IntArray
from workbench.base.errors import InputError, one_of
from workbench.scheduling.decision import in_sequences

if TYPE_CHECKING:
    import pandas as pd

TableColumns = Mapping[str, Sequence[Any] | npt.NDArray[Any]]
"""Cells by the name of their column."""

BYTES = {"float": "<f8", "int": "<i8", "bool": "?"}
"""How numbers are packed, by dtype."""
NUMBERS: Mapping[str, type] = {"int": np.int64, "float": np.float64, "bool": np.bool_}
"""How tables hold numbers, by dtype."""


def _cells(values: Any, dtype: str) -> Any:
    """A column's cells as an array, texts as objects; raises ValueError for a part of a whole number."""
    if dtype == "str":
        return values if isinstance(values, np.ndarray) else np.fromiter(values, object, len(values))
    found: npt.NDArray[Any] = np.asarray(values, NUMBERS[dtype])
    if found is values:  # whoever made it gives it away; not if it is a view of another, or must not change
        return found.copy() if isinstance(found.base, np.ndarray) or not found.flags.writeable else found
    if dtype == "int" and (found != np.asarray(values)).any():
        raise ValueError("a column of whole numbers has another one")
    return found


class Column(NamedTuple):
    """A column of a table; dtype is `str`, `int`, `float` or `bool`; a float may be missing (NaN), a text empty."""

    name: str
    meaning: str
    unit: str = ""
    dtype: str = "str"


class Table(NamedTuple):
    """A table of a run."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order."""
        return [column.name for column in self.columns]

    def arrays(self, columns: TableColumns | Iterable[Sequence[Any]]) -> dict[str, npt.NDArray[Any]]:
        """Arrays of these columns and types, from columns by name or from rows."""
        if not isinstance(columns, Mapping):
            rows = list(columns)
            columns = {name: [row[i] for row in rows] for i, name in enumerate(self.names)}
        given = dict(columns)
        del columns  # a column given as a list goes when it is in its cells
        return {c.name: _cells(given.pop(c.name), c.dtype) for c in self.columns}

    def frame(self, columns: TableColumns | Iterable[Sequence[Any]]) -> pd.DataFrame:
        """A data frame of them."""
        import pandas as pd  # takes longer to load than a small run

        text = pd.StringDtype(na_value=np.nan)
        found: dict[str, Any] = self.arrays(columns)
        found |= {c.name: pd.array(found[c.name], dtype=text) for c in self.columns if c.dtype == "str"}
        return pd.DataFrame(found, copy=False)  # the columns are its own already

    def packed(self, frame: pd.DataFrame) -> dict[str, Any]:
        """The cells for JSON, column by column: texts as a list, numbers as base64 of their bytes, exact to the bit."""
        return {
            c.name: frame[c.name].tolist()
            if c.dtype == "str"
            else base64.b64encode(frame[c.name].to_numpy(dtype=BYTES[c.dtype]).tobytes()).decode("ascii")
            for c in self.columns
        }

    def unpacked(self, columns: Mapping[str, Any]) -> pd.DataFrame:
        """The data frame of what `packed` gave."""
        found = {
            c.name: columns[c.name]
            if c.dtype == "str"
            else np.frombuffer(bytearray(base64.b64decode(columns[c.name])), BYTES[c.dtype])
            for c in self.columns
        }
        return self.frame(found)

    def digest(self, frame: pd.DataFrame) -> str:
        """SHA-256 of the cells by their types, 64 hexadecimal digits: equal tables have equal ones, however written."""
        found = hashlib.sha256(f"{self.name} {len(frame)}".encode())
        for column in self.columns:
            cells = frame[column.name]
            if column.dtype == "str":
                texts = cells.tolist()
                found.update(np.fromiter(map(len, texts), "<i8", len(texts)).tobytes())
                found.update("".join(texts).encode())
            elif column.dtype == "float":
                numbers = cells.to_numpy(dtype="<f8")
                found.update(np.where(np.isnan(numbers), np.nan, numbers + 0.0).tobytes())  # one NaN, and one 0
            else:
                found.update(cells.to_numpy(dtype="<i8" if column.dtype == "int" else "u1").tobytes())
        return found.hexdigest()


KINDS = ("run", "restart", "switch", "profile", "consolidate", "hold", "sync", "down")

TIMELINE = Table(
    "timeline",
    "one row for each slot and maximal interval of the same unit and kind",
    (
        Column("node", "node"),
        Column("slot", "slot of the node, from 0", "", "int"),
        Column("accelerator", "accelerator type"),
        Column("unit", "job, copy `job #i`, pair `a + b` or task `job #round.number`; empty while down"),
        Column("job", "job (the first one of a pair; empty while down)"),
        Column("with_job", "the other job of a pair, else empty"),
        Column("kind", "run, restart, switch, profile, consolidate, hold, sync or down"),
        Column("start_s", "start", "s", "float"),
        Column("end_s", "end", "s", "float"),
        Column("steps", "this slot's share of the steps done by `job`", "steps", "float"),
        Column("with_steps", "this slot's share of the steps done by `with_job`", "steps", "float"),
        Column("gpus", "GPUs that the unit holds in this interval", "GPUs", "int"),
    ),
)

JOBS = Table(
    "jobs",
    "one row for each job, in the scenario's order",
    (
        Column("job", "job"),
        Column("model", "model"),
        Column("gpus", "GPUs asked for", "GPUs", "int"),
        Column("weight", "weight", "", "float"),
        Column("entity", "entity, else empty"),
        Column("size_class", "class, by size or kind of deadline, else empty"),
        Column("arrival_s", "arrival", "s", "float"),
        Column("first_start_s", "first start, missing if it never ran", "s", "float"),
        Column("finish_s", "completion, missing if unfinished", "s", "float"),
        Column("steps", "steps of the job", "steps", "float"),
        Column("steps_done", "steps done at the end, before the scenario included", "steps", "float"),
        Column("steps_lost", "steps lost to faults", "steps", "float"),
        Column("attained_s", "GPU-seconds held", "GPU-s", "float"),
        Column("run_s", "GPU-seconds of running (no restart, hold or tail)", "GPU-s", "float"),
        Column(
            "waited_s",
            "seconds without GPUs from arrival to completion, to its refusal or to the run's end",
            "s",
            "float",
        ),
        Column("restarts", "times that it paid for a restart or move", "", "int"),
        Column("preemptions", "times that it lost its GPUs before completion", "", "int"),
        Column("moves", "times that a new assignment put it on other GPUs without a pause", "", "int"),
        Column("renewals", "times that an assignment was renewed on the same GPUs", "", "int"),
        Column("verdict", "guaranteed, best_effort or refused; empty if the scheduler gives none"),
    ),
)

DECISIONS = Table(
    "decisions",
    "one row for each call of the scheduler",
    (
        Column("decision", "number of the call, from 0", "", "int"),
        Column("time_s", "time", "s", "float"),
        Column("cause", "why it was asked"),
        Column("active_jobs", "jobs arrived and unfinished", "jobs", "int"),
        Column("waiting_jobs", "active jobs without GPUs after the decision", "jobs", "int"),
        Column("busy_gpus", "GPUs held after the decision", "GPUs", "int"),
        Column("up_gpus", "GPUs on nodes that are up", "GPUs", "int"),
        Column("changed", "whether some unit's GPUs differ from those before", "", "bool"),
        Column("status", "the solver's status, empty if nothing was solved, as where an answer is kept"),
        Column("objective", "objective", "", "float"),
        Column("bound", "bound", "", "float"),
        Column("gap", "relative gap", "", "float"),
        Column("build_s", "wall time to build the model", "s", "float"),
        Column("solve_s", "wall time to solve it", "s", "float"),
        Column("made_by", "who made it: model (as stated), assembly (as a matrix), algorithm or kept (carried over)"),
    ),
)

SHARES = Table(
    "shares",
    "shares of time behind decisions, recorded when they change; zeros left out",
    (
        Column("decision", "number of the call", "", "int"),
        Column("time_s", "time", "s", "float"),
        Column("unit", "job or pair"),
        Column("accelerator", "accelerator type"),
        Column("placement", "consolidated or unconsolidated; empty where the share is for either"),
        Column("share", "share of time", "1", "float"),
    ),
)

PRICE_OF = "price of "
"""A signal of this name and a type's is the type's price, whatever job it was recorded with."""

WORTH_ON = "worth per GPU on "
"""A signal of this name and a type's is what all of a job's time there adds to a policy's sum, per GPU of its gang."""

GAIN_OF = "gain of "
"""A signal of this name and a configuration's (`gain of 4 x v100 on 2`: GPUs, type, servers) is what a job gains by it,
over its slowest one."""

SIGNALS = Table(
    "signals",
    "numbers a scheduler went by: priority, price, weight, level, belief",
    (
        Column("decision", "number of the call", "", "int"),
        Column("time_s", "time", "s", "float"),
        Column("signal", "name of the number"),
        Column("job", "job"),
        Column("value", "value", "", "float"),
    ),
)

EVENTS = Table(
    "events",
    "what happened, in order",
    (
        Column("time_s", "time", "s", "float"),
        Column("event", "arrival, verdict, start, switch, preempt, renew, move, fault, repair, lost_steps or finish"),
        Column("job", "job, empty for a node's event"),
        Column("unit", "unit, empty for a node's event"),
        Column("where", "nodes and GPUs, as `node x GPUs`; the slot that switches, as `node/slot`"),
        Column("reason", "why, in words"),
    ),
)

REASONS = Table(
    "reasons",
    "what the scheduler said of a job when it decided, recorded when that changes",
    (
        Column("decision", "number of the call", "", "int"),
        Column("time_s", "time", "s", "float"),
        Column("job", "job"),
        Column("code", "the reason in a word: outbid, no_room ..."),
        Column("text", "the reason in words"),
    ),
)

TABLES = (TIMELINE, JOBS, DECISIONS, SHARES, SIGNALS, EVENTS, REASONS)
WALL_TIMES = ("build_s", "solve_s")
_BY_NAME = {table.name: table for table in TABLES}
_MAKING = RLock()
"""Held while a table is made, so that it is made once."""


class Cells:
    """The tables of one run as data frames and as arrays, each made when it is first read and kept.

    tables: all of TABLES by name, each a data frame, or what gives the columns and may be asked again where it was
    stopped. What is read of few rows takes microseconds of an array and milliseconds of a data frame; arrays need no
    pandas. They cannot be written to; a frame that is written to changes what is read later: change a copy. Raises
    InputError if a table is missing or of another name.
    """

    def __init__(
        self, tables: Mapping[str, pd.DataFrame | Callable[[], TableColumns | Iterable[Sequence[Any]]]]
    ) -> None:
        if tables.keys() != _BY_NAME.keys():
            raise InputError("tables", sorted(tables), f"{', '.join(_BY_NAME)}, each once")
        self._makers = {name: given for name, given in tables.items() if callable(given)}
        self._arrays: dict[str, dict[str, npt.NDArray[Any]]] = {}  # of tables without a frame
        self._frames = {name: given for name, given in tables.items() if not callable(given)}
        self._columns: dict[tuple[str, str], npt.NDArray[Any]] = {}
        self._rows: dict[tuple[str, ...], dict[Any, IntArray]] = {}

    def __reduce__(self) -> tuple[type[Cells], tuple[dict[str, pd.DataFrame]]]:
        return Cells, ({table.name: self.frame(table.name) for table in TABLES},)

    def frame(self, table: str) -> pd.DataFrame:
        """A table; raises InputError if there is none of that name."""
        if table not in _BY_NAME:
            raise InputError("table", table, one_of(table, _BY_NAME))
        with _MAKING:
            if table not in self._frames:
                self._frames[table] = _BY_NAME[table].frame(self._made(table))
                del self._arrays[table]
            return self._frames[table]

    def _made(self, table: str) -> dict[str, npt.NDArray[Any]]:
        if table not in self._arrays:
            self._arrays[table] = _BY_NAME[table].arrays(self._makers[table]())
            del self._makers[table]  # and not before: whoever stops it here may ask again
        return self._arrays[table]

    def column(self, table: str, name: str) -> npt.NDArray[Any]:
        """A column, (rows,): numbers by their type, texts as objects."""
        found = self._columns.get((table, name))
        if found is None:
            with _MAKING:
                if table in self._frames:
                    cells = self._frames[table][name]
                    found = cells.to_numpy() if cells.dtype.kind in "ifb" else cells.to_numpy(dtype=object)
                else:
                    found = self._made(table)[name].view()
                    found.flags.writeable = False
            self._columns[table, name] = found
        return found

    def columns(self, table: str) -> dict[str, npt.NDArray[Any]]:
        """All of them by name."""
        return {name: self.column(table, name) for name in _BY_NAME[table].names}

    def count(self, table: str) -> int:
        """Its rows."""
        return len(self.column(table, _BY_NAME[table].names[0]))

    def rows(self, table: str, *names: str) -> Mapping[Any, IntArray]:
        """The positions of the rows by their value in one column, or by their values in several, in order."""
        found = self._rows.get((table, *names))
        if found is None:
            by = self.frame(table).groupby(list(names) if len(names) > 1 else names[0], sort=False)
            found = {value: np.asarray(rows, dtype=np.int64) for value, rows in by.indices.items()}
            self._rows[(table, *names)] = found
        return found

    def of_job(self, job: str) -> IntArray:
        """The positions of the intervals of the timeline that are of a job, alone or in a pair, in order."""
        none = np.empty(0, dtype=np.int64)
        alone, paired = (self.rows("timeline", name).get(job, none) for name in ("job", "with_job"))
        return np.union1d(alone, paired) if len(paired) else alone

    @cached_property
    def taken(self) -> BoolArray:
        """(rows of the timeline,) whether a slot is taken: its node is not down, and nobody needs it to synchronise."""
        kind = self.column("timeline", "kind")
        found: BoolArray = (kind != "down") & (kind != "sync")
        return found

    @cached_property
    def place(self) -> dict[str, int]:
        """The position of each job in the table `jobs`."""
        return {str(name): place for place, name in enumerate(self.column("jobs", "job"))}

    @cached_property
    def tasks(self) -> bool:
        """Whether the jobs are tasks in sequences (Hare)."""
        return in_sequences(self.columns("timeline"))
