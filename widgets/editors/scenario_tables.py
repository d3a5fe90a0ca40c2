"""Tables for the parts of a scenario: accelerator types, nodes, jobs, entities, throughputs."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import ipywidgets as w

from widgets.parts.edit_table import EditColumn, EditTable, TableRow
from workbench.base.errors import Problem, ScenarioError, shorten
from workbench.scenario.consistency import repeated
from workbench.scenario.rewards import HIGHEST, Steps, moved
from workbench.scenario.scenario import Scenario


def names_of(table: EditTable) -> dict[int, str]:
    """The name of each row by its number; none for a row without a name, or with one that another row has too."""
    names = [str(row.get("name") or "") for row in table.rows]
    seen = Counter(names)
    return {number: name for number, name in zip(table.numbers, names, strict=True) if name and seen[name] == 1}


def renamed_rows(table: EditTable, column: str, new: Mapping[str, str]) -> int:
    """Exchange names in a column; how many cells changed. Undo within the table takes it back."""
    rows = [{**row, column: new[row[column]]} if row.get(column) in new else row for row in table.rows]
    count = sum(a is not b for a, b in zip(rows, table.rows, strict=True))
    if count:
        table.checkpoint()
        table.rows = rows
    return count


def renamed_parts(parts: Mapping[str, Any], key: str, new: Mapping[str, str]) -> tuple[dict[str, Any], int]:
    """The parts of a scenario that have no table with the names of a table's rows exchanged, and how many were.

    key: the table. Nodes of a row called `a` are called `a`, or `a-0`, `a-1`.
    """
    count = 0

    def named(name: str) -> str:
        nonlocal count
        stem, dash, number = name.rpartition("-") if key == "cluster.nodes" and name not in new else (name, "", "")
        count += stem in new
        return f"{new[stem]}{dash}{number}" if stem in new else name

    found = dict(parts)
    if key == "cluster.accelerators" and "colocated" in parts:
        found["colocated"] = [{**row, "accelerator": named(row["accelerator"])} for row in parts["colocated"]]
    if key == "jobs" and "running" in parts:
        found["running"] = [{**row, "job": named(row["job"])} for row in parts["running"]]
    if key == "cluster.nodes" and "running" in parts:
        found["running"] = [
            {**row, "gpus": {named(name): gpus for name, gpus in row["gpus"].items()}} for row in parts["running"]
        ]
    faults = parts.get("core", {}).get("faults", {})
    if key == "cluster.nodes" and faults.get("list"):
        outages = [{**row, "node": named(row["node"])} for row in faults["list"]]
        found["core"] = {**parts["core"], "faults": {**faults, "list": outages}}
    return found, count


NAMES = {
    "cluster.accelerators": "GPU types",
    "cluster.nodes": "Nodes",
    "jobs": "Jobs",
    "entities": "Entities",
    "throughputs": "Throughputs",
}
OTHER = re.compile(r"[\w.]+\[(\d+)\] has it already")
PLACE = re.compile(r"^(?:lab: )?(cluster\.accelerators|cluster\.nodes|jobs|entities|throughputs)\[(\d+)\](?:\.(\w+))?")
ACCELERATORS = (
    EditColumn("name", "Type", width=9),
    EditColumn("price_per_hour", "Price", "float", "USD/h", "Price of one GPU for an hour", 0, required=False, width=7),
    EditColumn("memory_gb", "Memory", "float", "GB", "Memory of one GPU", 0, required=False, width=7),
)
NODES = (
    EditColumn("name", "Name", help="Nodes are called name-0, name-1, ...", width=7),
    EditColumn("accelerator", "GPU type", "choice", width=6),
    EditColumn("gpus", "GPUs each", "int", help="In one node, which Nodes counts", minimum=1, maximum=1024, width=5),
    EditColumn("count", "Nodes", "int", help="One more brings all its GPUs", minimum=1, maximum=100_000, width=5),
    EditColumn("speed", "Speed", "float", "x", "Multiplies the throughput of what runs there", required=False, width=5),
)
JOBS = (
    EditColumn("name", "Job", width=9),
    EditColumn("model", "Model", "choice", width=8.5),
    EditColumn("gpus", "GPUs", "int", help="The gang: all at once or nothing", minimum=1, width=3.8),
    EditColumn("weight", "Weight", "float", help="Its share relative to others", width=5),
    EditColumn("arrival_s", "Arrival", "duration", "s", "When it is submitted: 90 s, 2 h 30 min", 0, width=7),
    EditColumn("steps", "Steps", "float", help="Mini-batches over all its GPUs", width=7),
    EditColumn(
        "deadline_s", "Deadline", "duration", "s", "After its arrival; empty: none", 0, required=False, width=5.5
    ),
    EditColumn("entity", "Entity", help="One of the entities below; empty: none", required=False, width=6),
)
ENTITIES = (
    EditColumn("name", "Entity", width=8),
    EditColumn("weight", "Weight", "float", help="Its part of the cluster relative to others", width=5),
    EditColumn("policy", "Policy", "choice", help="Among its own jobs", choices=("fairness", "fifo"), width=7),
)
THROUGHPUTS = (
    EditColumn("model", "Model", width=21),
    EditColumn("accelerator", "GPU type", "choice", width=5),
    EditColumn("gpus", "GPUs", "int", minimum=1, width=3.5),
    EditColumn("steps_per_s", "Throughput", "float", "steps/s", "Of the whole gang; 0 if it cannot run", 0, width=6.5),
    EditColumn("placement", "Placement", "choice", choices=("consolidated", "unconsolidated"), width=9),
)
DEFAULTS: dict[str, TableRow] = {
    "cluster.nodes": {"count": 1, "speed": 1.0},
    "jobs": {"arrival_s": 0.0, "gpus": 1, "weight": 1.0},
    "entities": {"weight": 1.0, "policy": "fairness"},
    "throughputs": {"gpus": 1, "placement": "consolidated"},
}
SHOWN_IN = {"rewards": "deadline_s", "steps_done": "steps", "gpu_choices": "gpus"}
"""Columns of fields of a scenario's row that have no column of their name."""
REFERENCES = {
    "cluster.accelerators": (("cluster.nodes", "accelerator"), ("throughputs", "accelerator")),
    "entities": (("jobs", "entity"),),
}
"""The columns of other tables that hold the names of a table's rows."""


class NamedTable(EditTable):
    """A table whose rows have a name of their own: new rows and copies get one that is free."""

    stem = "row"

    def duplicate(self, row: int) -> None:
        """Put a copy of a row below it, under the next free name."""
        name = self._free(str(self.rows[row].get("name") or self.stem))
        self._insert(row + 1, {**self.rows[row], "name": name}, "Duplicated as")

    def _new_row(self) -> TableRow:
        last = str(self.rows[-1].get("name") or self.stem) if self.rows else self.stem
        return {**super()._new_row(), "name": self._free(last)}

    def _free(self, name: str) -> str:
        """`job-8` after `job-7`, `job-2` after `job`."""
        taken = {row.get("name") for row in self.rows}
        found = re.fullmatch(r"(.*?)(\d*)", name, re.DOTALL)
        assert found is not None
        stem, number = (found[1], int(found[2]) + 1) if found[2] else (f"{name}-", 2)
        return next(free for i in itertools.count(number) if (free := f"{stem}{i}") not in taken)


class Editors:
    """The scenario as tables; `read` gives it back, or says which cells are wrong.

    changed: called after every change that a person made; left_out: what the scenario lost with removed rows, in words.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        def table(
            columns: Iterable[EditColumn], caption: str, key: str, template: TableRow, stem: str = ""
        ) -> EditTable:
            made = (NamedTable if stem else EditTable)(
                list(columns), caption=caption, template={**DEFAULTS.get(key, {}), **template}
            )
            if isinstance(made, NamedTable):
                made.stem = stem
            made.changed = lambda _: self._on_change(key, changed)
            return made

        self.tables: dict[str, EditTable] = {
            "cluster.accelerators": table(ACCELERATORS, "GPU types", "cluster.accelerators", {}, "gpu"),
            "cluster.nodes": table(NODES, "Nodes", "cluster.nodes", {"gpus": 4}, "node"),
            "jobs": table(
                JOBS,
                "Jobs (paste from a spreadsheet, in this order or with headings)",
                "jobs",
                {"steps": 1000.0},
                "job",
            ),
            "entities": table(ENTITIES, "Entities: groups of jobs that share the cluster", "entities", {}, "entity"),
            "throughputs": table(THROUGHPUTS, "Measured throughputs", "throughputs", {"steps_per_s": 1.0}),
        }
        self.tables["jobs"].follow = "Follow"
        self.tables["jobs"].follow_help = "Follow this job in the charts, or let it go"
        self._base: dict[str, Any] = {"cluster": {}}
        self._names: dict[str, dict[int, str]] = {}
        self._kept: tuple[dict[str, Any], Scenario] | None = None  # what was read last, and from what
        # Rows by their numbers, wrong cells as they were when right last.
        self._right: dict[str, dict[int, TableRow]] = {}
        self._but_wrong = False
        self.left_out = ""

    @property
    def cluster(self) -> w.Widget:
        """The tab of the cluster."""
        return w.VBox([self.tables["cluster.nodes"], self.tables["cluster.accelerators"]])

    @property
    def jobs(self) -> w.Widget:
        """The tab of the jobs."""
        return w.VBox([self.tables["jobs"], self.tables["entities"]])

    def show(self, scenario: Scenario) -> None:
        """Put a scenario into the tables; rows that stay as they are are left alone."""
        data = scenario.to_dict()
        self._base = {k: v for k, v in data.items() if k not in ("jobs", "entities", "throughputs", "cluster")}
        self._base["cluster"] = {k: v for k, v in data["cluster"].items() if k not in ("accelerators", "nodes")}
        rows = {
            "cluster.accelerators": data["cluster"]["accelerators"],
            "cluster.nodes": data["cluster"]["nodes"],
            "jobs": [_with_deadline(row) for row in data.get("jobs", [])],
            "entities": data.get("entities", []),
            "throughputs": data.get("throughputs", []),
        }
        self._choices(rows["cluster.accelerators"], rows["throughputs"])
        for key, found in rows.items():
            table = self.tables[key]
            table.extra_errors = {}
            full = [{**DEFAULTS.get(key, {}), **row} for row in found]
            if full != table.rows:
                table.rows = full
            self._names[key] = names_of(table)

    def change(self, **parts: Any) -> None:
        """Exchange parts of the scenario that have no table (`core`, `seed`)."""
        self._base.update(parts)

    def set_rewards(self, rewards: Mapping[str, Steps | None]) -> None:
        """Give jobs other rewards, as a person's edit of their rows: one step back for the table's Undo and the lab's.

        None: best effort, without a deadline. Names that no row has are left out.
        """
        table = self.tables["jobs"]
        table.checkpoint()
        table.rows = [
            _rewarded(row, rewards[str(name)]) if (name := row.get("name")) in rewards else row for row in table.rows
        ]
        if table.changed is not None:
            table.changed(table)

    def part(self, name: str) -> Any:
        """A part that has no table, None if it stands at its default."""
        return self._base.get(name)

    def data(self) -> dict[str, Any]:
        """The scenario as plain objects, whether valid or not.

        What has no table and belongs to a row that was removed goes with it (`left_out` says so); Undo brings both
        back.
        """
        rows = {key: [_given(row) for row in self._rows(key).values()] for key in self.tables}
        cluster = {
            "accelerators": rows["cluster.accelerators"],
            "nodes": rows["cluster.nodes"],
            **self._base["cluster"],
        }
        tied = self._tied(rows)
        jobs = [_with_rewards(row) for row in rows["jobs"]]
        more = {"jobs": jobs, "entities": rows["entities"], "throughputs": rows["throughputs"]}
        return {**self._base, **tied, "cluster": cluster, **more}

    @contextlib.contextmanager
    def but_wrong(self) -> Iterator[None]:
        """Read wrong cells as they were when right last, and no row that was wrong ever since it is there."""
        self._but_wrong = True
        try:
            yield
        finally:
            self._but_wrong = False

    def _rows(self, key: str) -> dict[int, TableRow]:
        table = self.tables[key]
        rows = dict(zip(table.numbers, table.rows, strict=True))
        if not self._but_wrong:
            return rows
        right = self._right.get(key, {})
        for at, _, column in (place.partition(".") for place in table.errors):
            number = table.numbers[int(at)]
            if number in right:
                rows[number] = {**rows[number], column: right[number].get(column)}
            else:
                rows.pop(number, None)
        return rows

    def _tied(self, rows: Mapping[str, list[TableRow]]) -> dict[str, Any]:
        """The parts that name rows, without what names a row that is gone."""
        types = {row.get("name") for row in rows["cluster.accelerators"]}
        jobs = {row.get("name") for row in rows["jobs"]}
        nodes = {row.get("name") for row in rows["cluster.nodes"]}
        nodes |= {host for row in rows["cluster.nodes"] for host in row.get("hosts") or ()}

        def there(held: TableRow) -> bool:
            return held["job"] in jobs and all({name, name.rpartition("-")[0]} & nodes for name in held["gpus"])

        kept = {
            "colocated": [pair for pair in self._base.get("colocated", []) if pair["accelerator"] in types],
            "running": [held for held in self._base.get("running", []) if there(held)],
        }
        words = {"colocated": "co-located pairs of GPU types", "running": "starting places of jobs or nodes"}
        lost = {key: len(self._base.get(key, [])) - len(found) for key, found in kept.items()}
        parts = [f"{count} {words[key]}" for key, count in lost.items() if count]
        self.left_out = f"Left out: {' and '.join(parts)} that are no longer there." if parts else ""
        return {key: found for key, found in kept.items() if key in self._base}

    def read(self) -> Scenario:
        """The scenario; raises ScenarioError, and shows each problem beside its cell."""
        if self._but_wrong:
            scenario = _runnable(self.data())
            self._right = {key: self._rows(key) for key in self.tables}
            return scenario
        unread = [problem for key, table in self.tables.items() for problem in _own(key, table)]
        if unread:
            again = self._repeated()
            self._mark(again)
            raise ScenarioError([*unread, *again])
        problems: tuple[Problem, ...] = ()
        data = self.data()
        if self._kept is None or self._kept[0] != data:  # more than a knob was turned
            try:
                self._kept = data, _runnable(data)
            except ScenarioError as error:
                found = {problem.where.removeprefix("lab: ") for problem in error.problems}
                problems = (*error.problems, *(problem for problem in self._repeated() if problem.where not in found))
        self._mark(problems)
        if problems:
            raise ScenarioError(problems)
        assert self._kept is not None
        self._right = {key: self._rows(key) for key in self.tables}
        return self._kept[1]

    def _repeated(self) -> tuple[Problem, ...]:
        """Names that two rows of a table have; a scenario finds them once each cell for itself is right."""
        names = {key: (row.get("name") or at for at, row in enumerate(t.rows)) for key, t in self.tables.items()}
        return tuple(problem for key, of in names.items() for problem in repeated(of, key))

    def _mark(self, problems: tuple[Problem, ...]) -> None:
        found: dict[str, dict[str, str]] = {key: {} for key in self.tables}
        for problem in problems:
            place = PLACE.match(problem.where)
            if place:
                names = [column.name for column in self.tables[place[1]].columns]
                field = SHOWN_IN.get(place[3], place[3])
                column = field if field in names else names[0]
                found[place[1]][f"{place[2]}.{column}"] = f"expected {_in_rows(problem.expected)}"
        for key, table in self.tables.items():
            if dict(table.extra_errors) != found[key]:
                table.extra_errors = found[key]

    def _on_change(self, key: str, changed: Callable[[], None]) -> None:
        self._rename(key)
        self._choices(self.tables["cluster.accelerators"].rows, self.tables["throughputs"].rows)
        changed()

    def _rename(self, key: str) -> None:
        """Carry a row's new name to what names the row, and say in how many places."""
        table = self.tables[key]
        before, now = self._names.get(key, {}), names_of(table)
        self._names[key] = {number: now.get(number) or before.get(number, "") for number in table.numbers}
        new = {before[n]: name for n, name in now.items() if before.get(n) and name != before[n]}
        new = {old: name for old, name in new.items() if old not in now.values() or old in new.values()}
        if not new:
            return
        count = sum(renamed_rows(self.tables[other], column, new) for other, column in REFERENCES.get(key, ()))
        self._base, tied = renamed_parts(self._base, key, new)
        if count + tied:
            table.message = f"Renamed in {count + tied} other places too."

    def _choices(self, accelerators: Iterable[Mapping[str, Any]], throughputs: Iterable[Mapping[str, Any]]) -> None:
        """Offer the names that other tables define."""
        types = tuple(dict.fromkeys(str(row["name"]) for row in accelerators if row.get("name")))
        models = tuple(dict.fromkeys(str(row["model"]) for row in throughputs if row.get("model")))
        self._offer("cluster.nodes", "accelerator", types)
        self._offer("throughputs", "accelerator", types)
        self._offer("jobs", "model", models)

    def _offer(self, key: str, name: str, choices: tuple[str, ...]) -> None:
        table = self.tables[key]
        columns = [c if c.name != name else _with_choices(c, choices) for c in table.columns]
        if columns != list(table.columns):
            table.columns = columns
        if choices and table.template.get(name) not in choices:
            table.template = {**table.template, name: choices[0]}


def _runnable(data: Mapping[str, Any]) -> Scenario:
    scenario = Scenario.from_dict(data, "lab")
    scenario.require_runnable()
    return scenario


def _with_choices(column: EditColumn, choices: tuple[str, ...]) -> EditColumn:
    return EditColumn(column.name, column.label, "choice", help=column.help, choices=choices, width=column.width)


def _own(key: str, table: EditTable) -> Iterable[Problem]:
    """Errors that the table found itself: cells that cannot be read."""
    for place, text in table.errors.items():
        row, _, column = place.partition(".")
        if text != table.extra_errors.get(place):
            yield Problem(f"{key}[{row}].{column}", table.rows[int(row)].get(column), text)


def spoken(problem: Problem) -> str:
    """A problem in the words of the tables: `Jobs, row 3, GPUs: must be at least 1`."""
    place = PLACE.match(problem.where)
    expected = _in_rows(problem.expected)
    if not place:
        return f"{problem.where.removeprefix('lab: ')}: got {shorten(problem.value, 40)}; expected {expected}"
    columns = {"cluster.accelerators": ACCELERATORS, "cluster.nodes": NODES, "jobs": JOBS, "entities": ENTITIES}
    found = {**columns, "throughputs": THROUGHPUTS}[place[1]]
    field = SHOWN_IN.get(place[3], place[3])
    label = next((f", {c.label}" for c in found if c.name == field), f", {field}" if field else "")
    says = expected if expected.startswith(("must", "expected", "required")) or " is no" in expected else ""
    return f"{NAMES[place[1]]}, row {int(place[2]) + 1}{label}: {says or f'expected {expected}'}"


def _in_rows(expected: str) -> str:
    """What is expected, with another row of the same table by its number there: `row 1` for `jobs[0]`."""
    return OTHER.sub(lambda found: f"row {int(found[1]) + 1} has it already", expected)


def _deadline(row: Mapping[str, Any]) -> float | None:
    """The last reward above 0 of a job's row (`Job.deadline_s`)."""
    return max((deadline for deadline, reward in row.get("rewards") or () if reward > 0), default=None)


def _rewarded(row: TableRow, steps: Steps | None) -> TableRow:
    """A row of the table with other rewards."""
    kept = {name: value for name, value in row.items() if name not in ("rewards", "deadline_s")}
    found = {**kept, "rewards": [list(step) for step in steps] if steps else None}
    return {**found, "deadline_s": _deadline(found)}


def _with_deadline(row: TableRow) -> TableRow:
    """A job of a scenario as a row of the table."""
    deadline_s = _deadline(row)
    return row if deadline_s is None else {**row, "deadline_s": deadline_s}


def _with_rewards(row: TableRow) -> TableRow:
    """A row of the table as a job: another deadline moves all steps in proportion, none makes it best-effort."""
    deadline_s = row.get("deadline_s")
    given = {name: value for name, value in row.items() if name != "deadline_s"}
    if deadline_s == _deadline(row):
        return given
    if deadline_s is None:
        return {**given, "rewards": None}
    before = tuple((float(at), float(reward)) for at, reward in row.get("rewards") or ())
    usable = isinstance(deadline_s, (int, float)) and 0 < deadline_s < math.inf
    return {**given, "rewards": moved(before, deadline_s) if usable else [[deadline_s, HIGHEST]]}


def _given(row: Mapping[str, Any]) -> TableRow:
    """A row without empty cells; whole numbers where the scenario wants them."""
    found = {k: v for k, v in row.items() if v is not None and v != ""}
    return {k: int(v) if k in ("gpus", "count") and _whole(v) else v for k, v in found.items()}


def _whole(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value) and float(value).is_integer()
