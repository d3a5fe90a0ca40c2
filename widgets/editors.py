"""Tables for the parts of a scenario: accelerator types, nodes, jobs, throughputs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ipywidgets as w

from widgets.edit_table import Column, EditTable
from workbench.errors import Problem, ScenarioError
from workbench.scenario import Scenario

Row = dict[str, Any]
PLACE = re.compile(r"^(?:\w+: )?(cluster\.accelerators|cluster\.nodes|jobs|throughputs)\[(\d+)\](?:\.(\w+))?")

ACCELERATORS = (
    Column("name", "Type", width=9),
    Column("price_per_hour", "Price", "float", "USD/h", "Price of one GPU for an hour", 0, required=False, width=7),
    Column("memory_gb", "Memory", "float", "GB", "Memory of one GPU", 0, required=False, width=7),
)
NODES = (
    Column("name", "Name", help="Nodes are called name-0, name-1, ...", width=6),
    Column("accelerator", "GPU type", "choice", width=6),
    Column("gpus", "GPUs each", "int", help="GPUs of one node", minimum=1, maximum=1024, width=5),
    Column("count", "Nodes", "int", help="How many such nodes", minimum=1, maximum=100_000, width=5),
    Column("speed", "Speed", "float", "x", "Multiplies the throughput of what runs there", 0, required=False, width=5),
)
JOBS = (
    Column("name", "Job", width=9),
    Column("model", "Model", "choice", width=14),
    Column("arrival_s", "Arrival", "duration", "s", "When it is submitted: 90 s, 2 h 30 min", 0, width=8),
    Column("steps", "Steps", "float", help="Mini-batches over all its workers", minimum=0, width=9),
    Column("gpus", "GPUs", "int", help="The gang: all at once or nothing", minimum=1, width=5),
    Column("weight", "Weight", "float", help="Its share relative to others", minimum=0, width=5),
)
THROUGHPUTS = (
    Column("model", "Model", width=14),
    Column("accelerator", "GPU type", "choice", width=8),
    Column("gpus", "GPUs", "int", minimum=1, width=5),
    Column("placement", "Placement", "choice", choices=("consolidated", "unconsolidated"), width=11),
    Column("steps_per_s", "Throughput", "float", "steps/s", "Of the whole gang; 0 if it cannot run", 0, width=8),
)
DEFAULTS: dict[str, Row] = {
    "cluster.nodes": {"count": 1, "speed": 1.0},
    "jobs": {"arrival_s": 0.0, "gpus": 1, "weight": 1.0},
    "throughputs": {"gpus": 1, "placement": "consolidated"},
}


class Editors:
    """The scenario as tables; `read` gives it back, or says which cells are wrong.

    changed: called after every change that a person made.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        def table(columns: Iterable[Column], caption: str, key: str, template: Row) -> EditTable:
            made = EditTable(list(columns), caption=caption, template={**DEFAULTS.get(key, {}), **template})
            made.changed = lambda _: self._on_change(changed)
            return made

        self.tables: dict[str, EditTable] = {
            "cluster.accelerators": table(ACCELERATORS, "GPU types", "cluster.accelerators", {}),
            "cluster.nodes": table(NODES, "Nodes", "cluster.nodes", {"gpus": 4}),
            "jobs": table(JOBS, "Jobs (paste rows from a spreadsheet)", "jobs", {"steps": 1000.0}),
            "throughputs": table(THROUGHPUTS, "Measured throughputs", "throughputs", {"steps_per_s": 1.0}),
        }
        self._base: dict[str, Any] = {}
        self.problems: tuple[Problem, ...] = ()

    @property
    def cluster(self) -> w.Widget:
        """The tab of the cluster."""
        return w.VBox([self.tables["cluster.nodes"], self.tables["cluster.accelerators"]])

    def show(self, scenario: Scenario) -> None:
        """Put a scenario into the tables."""
        data = scenario.to_dict()
        self._base = {k: v for k, v in data.items() if k not in ("jobs", "throughputs", "cluster")}
        self._base["cluster"] = {k: v for k, v in data["cluster"].items() if k not in ("accelerators", "nodes")}
        rows = {
            "cluster.accelerators": data["cluster"]["accelerators"],
            "cluster.nodes": data["cluster"]["nodes"],
            "jobs": data.get("jobs", []),
            "throughputs": data.get("throughputs", []),
        }
        self._choices(rows["cluster.accelerators"], rows["throughputs"])
        for key, found in rows.items():
            self.tables[key].extra_errors = {}
            self.tables[key].rows = [{**DEFAULTS.get(key, {}), **row} for row in found]
        self.problems = ()

    def change(self, **parts: Any) -> None:
        """Exchange parts of the scenario that have no table (`core`, `seed`)."""
        self._base.update(parts)

    def part(self, name: str) -> Any:
        """A part that has no table, None if it stands at its default."""
        return self._base.get(name)

    def data(self) -> dict[str, Any]:
        """The scenario as plain objects, whether valid or not."""
        rows = {key: [_given(row) for row in table.rows] for key, table in self.tables.items()}
        cluster = {
            "accelerators": rows["cluster.accelerators"],
            "nodes": rows["cluster.nodes"],
            **self._base["cluster"],
        }
        return {**self._base, "cluster": cluster, "jobs": rows["jobs"], "throughputs": rows["throughputs"]}

    def read(self) -> Scenario:
        """The scenario; raises ScenarioError, and shows each problem beside its cell."""
        try:
            unread = [Problem(f"{key}[{place}]", "", text) for key, t in self.tables.items() for place, text in _own(t)]
            scenario = None if unread else Scenario.from_dict(self.data(), "lab")
            problems: tuple[Problem, ...] = tuple(unread)
            if scenario is not None:
                scenario.require_runnable()
        except ScenarioError as error:
            problems = error.problems
        self._mark(problems)
        if problems:
            raise ScenarioError(problems)
        assert scenario is not None
        return scenario

    def _mark(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        found: dict[str, dict[str, str]] = {key: {} for key in self.tables}
        for problem in problems:
            place = PLACE.match(problem.where)
            if place:
                names = [column.name for column in self.tables[place[1]].columns]
                column = place[3] if place[3] in names else names[0]
                found[place[1]][f"{place[2]}.{column}"] = problem.expected
        for key, table in self.tables.items():
            if dict(table.extra_errors) != found[key]:
                table.extra_errors = found[key]

    def _on_change(self, changed: Callable[[], None]) -> None:
        self._choices(self.tables["cluster.accelerators"].rows, self.tables["throughputs"].rows)
        changed()

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


def _with_choices(column: Column, choices: tuple[str, ...]) -> Column:
    return Column(column.name, column.label, "choice", help=column.help, choices=choices, width=column.width)


def _own(table: EditTable) -> Iterable[tuple[str, str]]:
    """Errors that the table found itself: cells that cannot be read."""
    return [(place, text) for place, text in table.errors.items() if place not in table.extra_errors]


def _given(row: Mapping[str, Any]) -> Row:
    """A row without empty cells; whole numbers where the scenario wants them."""
    found = {k: v for k, v in row.items() if v is not None and v != ""}
    return {k: int(v) if k in ("gpus", "count") and _whole(v) else v for k, v in found.items()}


def _whole(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value) and float(value).is_integer()
