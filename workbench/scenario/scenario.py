"""Everything that goes into a run: cluster, jobs, throughputs and the core's settings, in one JSON file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, cast

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, ValidationError, WithJsonSchema

from workbench.base.card import card
from workbench.base.errors import InputError, Problem, ScenarioError, Words, counted, shorten, why
from workbench.base.files import NotJsonError, parse_json, write_text
from workbench.base.labels import listed
from workbench.base.rounding import short_number
from workbench.base.text import is_seen
from workbench.base.units import format_duration
from workbench.scenario.cluster import Cluster, NodeGroup
from workbench.scenario.consistency import inconsistencies
from workbench.scenario.faults import Faults
from workbench.scenario.frozen import (
    MOST_GPUS,
    MOST_S,
    Attributes,
    Count,
    Frozen,
    Gigabytes,
    GpuSeconds,
    Name,
    PositiveSeconds,
    Probability,
    Seconds,
    Text,
    TextLine,
    Weight,
)
from workbench.scenario.job import Job
from workbench.scenario.move_and_restart_cost import Restart
from workbench.scenario.throughput import ColocatedRow, Placement, Scaling, ThroughputRow, Throughputs

if TYPE_CHECKING:
    import pandas as pd

WHOLE = {"gpus", "count", "nodes", "tasks_per_round"}
"""Columns of data frames that hold whole numbers."""
ATTRIBUTE = "attributes."
"""What a column of a data frame with one attribute begins with."""
FORMAT: Final = "workbench-scenario/1"
MOST_JOBS = 400_000
"""Jobs of a scenario. While it is validated each takes 1 kB, with a user, two deadlines and two attributes 2.2 kB: so
many stay below 600 MB, or below 1 GB."""
JOBS_HERE = "\x00"
"""No text of a scenario: control characters are refused."""


class Model(Frozen):
    """Facts of a model: sizes in GB (`memory_gb` peak, `model_gb` what stays on the GPU), data loading as a mixture of
    normals `(probability, mean s, standard deviation s)`."""

    name: Name
    parameters_gb: Gigabytes | None = None
    model_gb: Gigabytes | None = None
    memory_gb: Gigabytes | None = None
    batch_size: Count | None = None
    size_class: Name | None = None
    dataset_class: Name | None = None
    load_s: tuple[tuple[Probability, Seconds, Seconds], ...] | None = None
    attributes: Attributes = {}


class Entity(Frozen):
    """A group of users that shares the cluster by weight (1e-6 to 1e6), with a policy among its own jobs; or, with its
    attributes alone, whatever else jobs share a limit by: a partition, a quality of service, a reservation."""

    name: Name
    weight: Weight = 1.0
    policy: Literal["fairness", "fifo"] = "fairness"
    quota_gpus: Annotated[int, Field(strict=True, ge=0, le=MOST_GPUS)] | None = None
    attributes: Attributes = {}


class Running(Frozen):
    """What holds GPUs at the start: `{node: GPUs}` of a job."""

    job: Name
    gpus: dict[Name, Count] = Field(min_length=1)


def _knob_value(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if is_seen(value):
        return value
    raise ValueError("true, false, a finite number, null, or text on one line without bidirectional characters")


def _date(text: str) -> str:
    expected = "a date and time without a zone, from 1900 to 2200, as 2024-03-01T08:00:00"
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(expected) from None
    if found.tzinfo is not None or not 1900 <= found.year <= 2200:
        raise ValueError(expected)
    return found.isoformat(timespec="seconds")


KnobValue = Annotated[
    Any, AfterValidator(_knob_value), WithJsonSchema({"type": ["boolean", "number", "string", "null"]})
]


class SchedulerEntry(Frozen):
    """A scheduler with knobs that a lab or a comparison opens with."""

    scheduler: Name
    knobs: dict[Name, KnobValue] = {}


class Recorded(Frozen):
    """What the log of a converted scenario shows, for runs to be compared with (`workbench.analysis.metrics.warnings`).

    end_s: when its last job had ended; ends_known: the log says so, else no job can have ended later than that if none
    had to wait; gpu_s: GPU-seconds that its jobs held.
    """

    end_s: PositiveSeconds
    ends_known: Annotated[bool, Field(strict=True)]
    gpu_s: GpuSeconds


KEY = "^[0-9a-f]{64}$"


class Calibrated(Frozen):
    """Of what the note on calibration is the verdict: a scheduler with its default knobs (code: `Scheduler.code` of one
    that a session wrote), and `Scenario.key` then."""

    scheduler: Name
    code: str = ""
    key: Annotated[str, Field(pattern=KEY)]


class Core(Frozen):
    """What holds for every scheduler alike.

    checkpoint_s: a fault loses the steps since the last whole multiple of it in the current run of the job; None: all
    steps since the job's last start.
    """

    restart: Restart = Restart()
    space_sharing: Annotated[bool, Field(strict=True)] = False
    checkpoint_s: PositiveSeconds | None = None
    faults: Faults = Faults()


class Scenario(Frozen):
    """Every input of a run. Frozen, validated, equal when equal; `save` and `load` keep it exactly.

    notes: where it comes from and what was assumed, sentence by sentence; shown on every page made from it. recorded:
    of the jobs and the cluster as they were converted; `replace` leaves it out with others. calibrated: of what the
    note on calibration is the verdict (`workbench.analysis.calibration`). begins: the date of second 0, in its log's
    zone, as 2024-03-01T08:00:00.
    """

    format: Literal["workbench-scenario/1"] = FORMAT
    name: TextLine = ""
    description: Text = ""
    notes: tuple[Text, ...] = ()
    recorded: Recorded | None = None
    calibrated: Calibrated | None = None
    begins: Annotated[str, AfterValidator(_date)] | None = None
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = 0
    cluster: Cluster
    jobs: tuple[Job, ...]
    throughputs: tuple[ThroughputRow, ...]
    colocated: tuple[ColocatedRow, ...] = ()
    models: tuple[Model, ...] = ()
    entities: tuple[Entity, ...] = ()
    running: tuple[Running, ...] = ()
    scaling: Scaling = Scaling()
    core: Core = Core()
    schedulers: tuple[SchedulerEntry, ...] = ()

    @classmethod
    def from_dict(cls, data: Any, source: str = "scenario") -> Self:
        """Validate a plain object.

        Raises ScenarioError naming `source`, path, value and what was expected.
        """
        if not isinstance(data, Mapping):
            raise ScenarioError([Problem(source, data, "an object as `workbench schema` describes")])
        jobs = data.get("jobs")
        if isinstance(jobs, (list, tuple)) and len(jobs) > MOST_JOBS:
            expected = f"at most {MOST_JOBS:,}: jobs of a shorter time, or a sample of them"
            raise ScenarioError([Problem(f"{source}: jobs", Words(f"{len(jobs):,} jobs"), expected)])
        try:
            scenario = cls.model_validate(data)
        except ValidationError as error:
            raise ScenarioError(_problems(error, source)) from None
        problems = list(inconsistencies(scenario))
        if problems:
            raise ScenarioError([Problem(f"{source}: {p.where}", p.value, p.expected) for p in problems])
        return scenario

    @classmethod
    def from_json(cls, text: str, source: str = "scenario") -> Self:
        """Read a scenario from JSON text; duplicate keys, NaN and infinities are errors."""
        if not isinstance(text, str):
            raise InputError(source, text, "JSON text")
        return cls.from_dict(_parsed(text, source), source)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a scenario file."""
        if not isinstance(path, (str, Path)):
            raise InputError("path", path, "the name of a scenario file")
        return cls.from_dict(read_json(Path(path)), str(path))

    @classmethod
    def from_frames(
        cls,
        nodes: pd.DataFrame,
        jobs: pd.DataFrame,
        throughputs: pd.DataFrame,
        *,
        accelerators: pd.DataFrame | None = None,
        **rest: Any,
    ) -> Self:
        """A scenario from data frames whose columns are the JSON keys, an attribute's `attributes.NAME`; missing values
        (NaN) count as not given.

        Accelerator types default to those that `nodes` and `throughputs` name, in order of appearance; nodes must then
        be of types that `throughputs` name. Raises InputError and ScenarioError.
        """
        for name, frame in {"nodes": nodes, "jobs": jobs, "throughputs": throughputs}.items():
            if not hasattr(frame, "columns"):
                raise InputError(name, frame, "a data frame")
        for name, frame, model in (
            ("nodes", nodes, NodeGroup),
            ("jobs", jobs, Job),
            ("throughputs", throughputs, ThroughputRow),
        ):
            _require_values(name, frame, model)
        node_rows, rows = _records(nodes), _records(throughputs)
        if accelerators is None:
            known = list(dict.fromkeys(row.get("accelerator") for row in rows))
            for number, row in enumerate(node_rows):
                if known and "accelerator" in row and row["accelerator"] not in known:
                    expected = "a type that throughputs name: " + ", ".join(map(str, known))
                    raise InputError(f"nodes[{number}].accelerator", row["accelerator"], expected)
            found = [row.get("accelerator") for row in [*node_rows, *rows]]
            types: list[dict[str, Any]] = [{"name": name} for name in dict.fromkeys(found)]
        else:
            types = _records(accelerators)
        cluster = {"accelerators": types, "nodes": node_rows}
        if "network_gbps" in rest:
            cluster["network_gbps"] = rest.pop("network_gbps")
        return cls.from_dict({"cluster": cluster, "jobs": _records(jobs), "throughputs": rows, **rest}, "data frames")

    def headline(self) -> str:
        """Name, cluster and number of jobs in a line."""
        jobs, models = counted(len(self.jobs), "job"), counted(len({job.model for job in self.jobs}), "model")
        name = shorten(self.name, 60) if self.name else "unnamed"
        return f"{name}: {jobs} of {models} on {self._cluster_text(4)}, seed {self.seed}"

    def _cluster_text(self, most: int) -> str:
        gpus = listed((f"{count} {name}" for name, count in self.cluster.capacity.items()), most)
        return f"{gpus} ({counted(sum(group.count for group in self.cluster.nodes), 'node')})"

    def __repr__(self) -> str:
        return f"<Scenario {self.headline()}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        sizes = {size for job in self.jobs for size in job.sizes}
        arrivals = [format_duration(job.arrival_s, parts=2) for job in (self.jobs[i] for i in self.order)]
        rows = [("Cluster", self._cluster_text(12))]
        if self.jobs:
            gpus = "1 GPU" if sizes == {1} else f"{min(sizes)} to {max(sizes)} GPUs"
            when = " to ".join(dict.fromkeys((arrivals[0], arrivals[-1])))
            rows.append(("Jobs", f"{len(self.jobs)}, {gpus} each, arriving at {when}"))
        rows.append(("Models", listed(dict.fromkeys(job.model for job in self.jobs), 8) or "none"))
        if self.schedulers:
            rows.append(("Schedulers", listed((entry.scheduler for entry in self.schedulers), 6)))
        notes = (f"Note: {text}" for text in self.notes)
        return card(f"Scenario {self.headline()}", rows, mind=[self.description, *notes])

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields exchanged, validated again."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        if not {"jobs", "cluster"}.isdisjoint(changes):
            fields["recorded"] = None
        return type(self).from_dict({**fields, **changes})

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that are set, as `Scheduler.uses` names them: `attributes.lora_rank` of jobs,
        `models.attributes.family`, `nodes.attributes.rack`, `entities.attributes.MaxJobs`."""
        parts: Mapping[str, Iterable[Job | Model | NodeGroup | Entity]]
        parts = {"": self.jobs, "models.": self.models, "nodes.": self.cluster.nodes, "entities.": self.entities}
        found = ((part, name) for part, records in parts.items() for each in records for name in each.attributes)
        return tuple(f"{part}attributes.{name}" for part, name in dict.fromkeys(found))

    def seen_by(self, uses: Collection[str]) -> Self:
        """The same scenario with the attributes alone that a scheduler declares; it may ask for no others
        (`AttributeMap`)."""
        if not self.attributes and not any(ATTRIBUTE in name for name in uses):
            return self

        def declared(part: str, found: tuple[Any, ...]) -> tuple[Any, ...]:
            prefix = f"{part}attributes."
            names = frozenset(name.removeprefix(prefix) for name in uses if name.startswith(prefix))
            return tuple(each.model_copy(update={"attributes": each.attributes.seen(part, names)}) for each in found)

        parts = {name: getattr(self.cluster, name) for name in Cluster.model_fields}
        cluster = Cluster(**{**parts, "nodes": declared("nodes.", self.cluster.nodes)})
        parts = {name: getattr(self, name) for name in type(self).model_fields}
        changed = {"cluster": cluster, "jobs": declared("", self.jobs), "models": declared("models.", self.models)}
        changed["entities"] = declared("entities.", self.entities)
        return cast("Self", self.model_construct(**{**parts, **changed}))

    def to_dict(self) -> dict[str, Any]:
        """Plain objects; fields that stand at their default are left out."""
        return {"format": FORMAT, **self.model_dump(mode="json", exclude_defaults=True)}

    def to_json(self) -> str:
        """The scenario as indented JSON text that `from_json` reads back to an equal scenario."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the scenario atomically; raises InputError if the file exists and `force` is not set."""
        write_text(Path(path), self.to_json(), force=force)

    def key(self) -> str:
        """SHA-256 of the canonical JSON of what a result depends on: without name, description, notes, schedulers,
        its date, what was recorded and calibrated."""
        without = {"name", "description", "notes", "schedulers", "recorded", "calibrated", "begins", "jobs"}
        canonical = partial(json.dumps, sort_keys=True, separators=(",", ":"))
        data = canonical(self.model_dump(mode="json", exclude=without) | {"jobs": [JOBS_HERE]})
        before, after = data.split(canonical(JOBS_HERE))
        found = hashlib.sha256(before.encode())
        for number, job in enumerate(self.jobs):  # all of them as text at once take more memory than the scenario
            found.update(("," * (number > 0) + canonical(job.model_dump(mode="json"))).encode())
        found.update(after.encode())
        return found.hexdigest()

    @cached_property
    def table(self) -> Throughputs:
        """The throughput look-up of this scenario."""
        return Throughputs(self.cluster, self.throughputs, self.colocated, self.scaling)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Positions of the jobs sorted by (arrival, position)."""
        return tuple(np.argsort([job.arrival_s for job in self.jobs], kind="stable").tolist())

    def require_runnable(self, source: str = "") -> None:
        """Raise ScenarioError naming every job that can run nowhere on this cluster, or for longer than `MOST_S`, and
        every one that holds GPUs at the start (`running`) on which it cannot run.

        source: what the messages begin with, where the scenario came from.
        """
        begin = f"{source}: " if source else ""
        can: dict[tuple[str, tuple[int, ...]], bool] = {}
        most: dict[tuple[str, tuple[int, ...]], float] = {}
        problems = []
        for position, job in enumerate(self.jobs):
            key = (job.model, job.sizes)
            if key not in can:
                can[key], most[key] = self._can_run(job), self._most_steps_per_s(job)
            if not can[key]:
                where = f"{counted(job.sizes, 'GPU')} in the cluster"
                expected = f"{where} on which {job.model} has a throughput > 0; job {job.name} can run nowhere"
                problems.append(Problem(f"{begin}jobs[{position}].gpus", job.gpu_choices or job.gpus, expected))
            elif job.steps - job.steps_done > MOST_S * most[key] > 0:
                within = f"steps that take at most {short_number(MOST_S)} s"
                expected = f"{within} at {most[key]:g} steps/s, its largest throughput"
                problems.append(Problem(f"{begin}jobs[{position}].steps", job.steps, expected))
        model_of = {job.name: job.model for job in self.jobs} if self.running else {}
        for position, held in enumerate(self.running):
            if self.table.on_nodes(model_of[held.job], held.gpus) <= 0:
                expected = f"nodes on which {held.job} ({model_of[held.job]}) has a throughput > 0"
                problems.append(Problem(f"{begin}running[{position}].gpus", dict(held.gpus), expected))
        if problems:
            raise ScenarioError(problems)

    def _most_steps_per_s(self, job: Job) -> float:
        """The largest steps/s of a job's gang on one type; 0 if the table has only rows for numbers of nodes."""
        words: tuple[Placement, ...] = ("consolidated", "unconsolidated")
        cases = [(name, size, word) for name in self.cluster.types for size in job.sizes for word in words]
        return max([self.table.row(job.model, *case) for case in cases], default=0.0)

    def _can_run(self, job: Job) -> bool:
        """Whether some size has a speed on a type with enough GPUs, or mixed over types that all have a speed."""
        for size in job.sizes:
            types = [name for name in self.cluster.types if self.table.can_run(job.model, name, size)]
            if sum(self.cluster.capacity[name] for name in types) >= size:
                return True
        return False


def read_json(path: Path) -> Any:
    """What a scenario file says, not validated yet; raises InputError where it cannot be read or is not JSON."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), why(error), "a readable scenario file (UTF-8 JSON)") from None
    return _parsed(text, str(path))


def _parsed(text: str, source: str) -> Any:
    try:
        return parse_json(text)
    except NotJsonError as error:
        expected = "a finite number, null, or nothing under this key (JSON has no NaN and no infinities)"
        place = f"{source}: {error.path}".removesuffix(": ")
        raise ScenarioError([Problem(place, Words(error.word), expected)]) from None
    except ValueError as error:
        raise ScenarioError([Problem(source, why(error), "a JSON object as `workbench schema` describes")]) from None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file."""
    schema = Scenario.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Workbench scenario"}


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dicts of plain Python values; missing values are left out."""
    columns = {str(name): [_plain(value) for value in frame[name].tolist()] for name in frame.columns}
    for name in WHOLE & set(columns):  # pandas makes floats of whole numbers where one is missing
        columns[name] = [int(v) if isinstance(v, float) and v.is_integer() else v for v in columns[name]]
    rows = zip(*columns.values(), strict=True) if columns else ()
    given = ({k: v for k, v in zip(columns, row, strict=True) if v is not None} for row in rows)
    return [_nested(row) for row in given]


def _nested(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its columns `attributes.lora_rank` under one key `attributes`."""
    found = {name.removeprefix(ATTRIBUTE): value for name, value in row.items() if name.startswith(ATTRIBUTE)}
    rest = {name: value for name, value in row.items() if not name.startswith(ATTRIBUTE)}
    return {**rest, "attributes": {**rest.get("attributes", {}), **found}} if found else row


def _require_values(name: str, frame: pd.DataFrame, model: type[BaseModel]) -> None:
    """Raise InputError where a data frame has a column that may not be left out, but no value in it."""
    for column, field in model.model_fields.items():
        if field.is_required() and column in frame.columns:
            for number, value in enumerate(frame[column].tolist()):
                if _plain(value) is None:
                    raise InputError(f"{name}[{number}].{column}", value, "a value")


def _plain(value: Any) -> Any:
    import pandas as pd  # takes a second to load, and a scenario from a file has no use for it

    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    missing = value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)
    return None if missing else value


_EXPECTED = {
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dict_type": "an object",
    "tuple_type": "a list",
    "string_type": "text",
    "string_sub_type": "text",
    "string_unicode": "text that can be written as UTF-8 (no half of a surrogate pair)",
    "string_too_short": "text of at least {min_length} character",
    "string_too_long": "text of at most {max_length} characters",
    "string_pattern_mismatch": "text without control and bidirectional characters (line ends in descriptions only)",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "finite_number": "a finite number",
    "greater_than": "a number > {gt}",
    "greater_than_equal": "a number >= {ge}",
    "less_than": "a number < {lt}",
    "less_than_equal": "a number <= {le}",
    "literal_error": "one of {expected}",
    "too_short": "a list or object with at least {min_length} in it (it has {actual_length})",
    "too_long": "a list with at most {max_length} in it (it has {actual_length})",
    "extra_forbidden": "no such key (see `workbench schema`)",
}
"""What was expected, by the validator's kind of finding and with its numbers."""


def _problems(error: ValidationError, source: str) -> list[Problem]:
    """The validator's findings in our words, one for each place."""
    found, every = [], error.errors(include_url=False)
    for item in every:
        if item["type"] == "too_short" and any(other["loc"][:-1][: len(item["loc"])] == item["loc"] for other in every):
            continue  # it counts without those that are wrong
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in item["loc"]).lstrip(".")
        found.append(Problem(f"{source}: {path}" if path else source, item["input"], _expected(item)))
    return found


def _expected(item: Mapping[str, Any]) -> str:
    if item["type"] == "missing":
        last = item["loc"][-1]
        return f"the key {last!r}" if isinstance(last, str) else f"a value at position {last} of the list"
    if item.get("ctx", {}).get("pattern") == KEY:
        return "a scenario's key, 64 digits from 0 to f"
    if item["type"] in _EXPECTED:
        found = item.get("ctx", {}).items()
        numbers = {name: short_number(value, 6) if isinstance(value, (int, float)) else value for name, value in found}
        return _EXPECTED[item["type"]].format(**numbers)
    return str(item["msg"]).removeprefix("Value error, ")  # one of our own validators
