"""Gavel's trace and throughput files.

The trace has one job a line and ten columns between tabs: job type, command, working directory, name of the steps
argument, needs a data directory, total steps, scale factor, priority weight, SLO, arrival (s). The throughputs are
JSON, `{type: {"('model', scale)": {"null": steps/s, "('other', scale)": [mine, theirs]}}}`; a type may end in
`_unconsolidated`; zeros mean that it cannot run.

The SLO column is -1 (none) or a multiple of the job's duration: the authors' scheduler multiplies the two, and their
generator draws 1.2, 2 or 10. Durations are not in the file; as in their generator a job lasts steps / throughput on a
V100 (without one: on its fastest type). An SLO above 100 makes no sense as a multiple and is read as seconds (ours).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from workbench.base.errors import InputError, Words, counted
from workbench.scenario.frozen import LEAST_WEIGHT, MOST_GPUS, MOST_S, MOST_WEIGHT
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.cluster_spec import EXPECTED as CLUSTER_EXPECTED
from workbench.scenario.traces.dropped_rows import ConversionSummary, Drops
from workbench.scenario.traces.trace_file import (
    STANDARD,
    TraceCut,
    account,
    in_window,
    number,
    read_json,
    read_text,
    sample_notes,
    sampled,
    source_name,
)

FORMAT = "gavel"
TRACE = "a Gavel trace: one job a line, 10 columns between tabs"
THROUGHPUTS = (
    """Gavel's throughputs, {type: {"('model', scale)": {"null": steps/s, "('other', scale)": [mine, theirs]}}}"""
)
KNOWN_FORMS = {
    7: "the older 7-column form, which has neither working directory nor weights",
    9: "the older 9-column form, which has no working directory",
    10: "Gavel's 10-column form (--from gavel)",
    12: "Shockwave's 12-column form, which adds mode and duration (--from shockwave)",
}
UNCONSOLIDATED = "_unconsolidated"
REFERENCE = "v100"  # the type on which the authors' generator states durations
LARGEST_FACTOR = 100.0
STATIC = "static"  # the mode of a job whose batch size stays
SCHEDULERS = ("gavel.max_min_fairness", "las", "fifo")
_KEY = re.compile(r"\('([^']{1,200})', ([1-9]\d{0,5})\)", re.ASCII)

_Kind = tuple[str, int]  # a model and its number of GPUs


class TraceLayout(NamedTuple):
    """How a trace of this kind is laid out.

    numbers: the columns of total steps, scale factor, priority weight, SLO and arrival, from 0; mode: that of how the
    batch size changes, None if there is none.
    """

    format: str
    expected: str
    width: int
    numbers: tuple[int, int, int, int, int]
    mode: int | None = None


FORM = TraceLayout(FORMAT, TRACE, 10, (5, 6, 7, 8, 9))


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One job of the trace. position: among the rows of the file, from 0; slo: None, or as written; mode: if any."""

    line: int
    position: int
    model: str
    gpus: int
    steps: float
    weight: float
    slo: float | None
    arrival_s: float
    mode: str | None = None

    @property
    def kind(self) -> _Kind:
        """What its speed depends on."""
        return self.model, self.gpus


class TypeSpeeds(NamedTuple):
    """One type's speeds, steps/s: alone, and of pairs as (first, second)."""

    alone: dict[_Kind, float]
    pairs: dict[tuple[_Kind, _Kind], tuple[float, float]]


def convert(source: str | Path, throughputs: str | Path | None, cut: TraceCut) -> tuple[Scenario, ConversionSummary]:
    """A scenario from a trace, its throughputs and a cluster (see `workbench.scenario.traces.Loader`).

    Jobs keep the numbers of their rows; arrivals count from `from_s`, without it from the first one of the file. Speeds
    are kept for the models that occur, on the cluster's types, at every number of GPUs the file knows; pairs only where
    both run, at the numbers of GPUs that occur.
    """
    return convert_form(FORM, source, throughputs, cut)


def convert_form(
    form: TraceLayout, source: str | Path, throughputs: str | Path | None, cut: TraceCut
) -> tuple[Scenario, ConversionSummary]:
    """`convert` for a trace that is laid out in another way."""
    if throughputs is None:
        raise InputError("throughputs", None, THROUGHPUTS)
    cluster, from_s, to_s, sample, seed = cut
    if cluster is None:
        raise InputError("cluster", None, CLUSTER_EXPECTED)
    if str(source) == str(throughputs) == STANDARD:
        raise InputError("throughputs", STANDARD, "a file, when the trace comes from standard input")
    cut.check()
    called = source_name(source)
    drops, notes = Drops(), list[str]()
    read = list(read_trace(source, drops, form))
    tables = read_throughputs(throughputs)
    _require_types(tables, cluster)
    kept = in_window(read, from_s, to_s, drops)
    able = _runnable(kept, tables, cluster, drops)
    kept = sampled(able, sample, seed, drops)
    summary = account(called, form.format, kept, drops)
    notes += [*sample_notes(len(able), sample), *_slo_notes(kept), *_mode_notes(kept)]
    begin_s = min(row.arrival_s for row in read) if from_s is None else from_s
    if from_s is None and begin_s > 0:
        notes.append(f"arrivals count from the file's first one, which is at {begin_s:.15g} s there")
    name, speeds = (Path(source_name(path)) for path in (source, throughputs))
    data = {
        "name": name.stem,
        "description": f"{len(kept)} jobs of {form.format.capitalize()}'s trace {name.name}, speeds of {speeds.name}",
        "seed": seed,
        "cluster": dict(cluster),
        "jobs": [_job(row, tables, begin_s) for row in kept],
        "throughputs": list(speed_rows(kept, tables, _types(cluster))),
        "colocated": list(pair_rows(kept, tables, _types(cluster), notes)),
        "schedulers": [{"scheduler": name} for name in SCHEDULERS],
    }
    notes += _type_notes(tables, _types(cluster))
    return Scenario.from_dict(data, called), replace(summary, notes=tuple(notes))


def read_trace(source: str | Path, drops: Drops, form: TraceLayout = FORM) -> Iterable[TraceRow]:
    """The rows that can be read; the others go to `drops`. Raises InputError for another form of the file."""
    lines = read_text(source, form.expected).split("\n")
    rows = [(i, line.rstrip("\r").split("\t")) for i, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise InputError(source_name(source), Words("an empty file"), form.expected)
    usual = Counter(len(cells) for _, cells in rows).most_common(1)[0][0]
    if usual in KNOWN_FORMS and usual != form.width:
        where = f"{source_name(source)}, line {rows[0][0]}"
        raise InputError(where, Words(f"{usual} columns"), f"{form.expected}; this is {KNOWN_FORMS[usual]}")
    numbered = ((line, (position, cells)) for position, (line, cells) in enumerate(rows))
    return drops.sift(numbered, lambda line, row: _row(line, *row, form))


def _row(line: int, position: int, cells: list[str], form: TraceLayout) -> TraceRow | str:
    """The job of one line, or the reason why it is none."""
    if len(cells) != form.width:
        return f"{counted(len(cells), 'column')} instead of {form.width}"
    model = cells[0].strip()
    values = [number(cells[column]) for column in form.numbers]
    for name, value in zip(("total steps", "scale factor", "priority weight", "SLO", "arrival"), values, strict=True):
        if value is None:
            return f"{name} is not a finite number"
    steps, gpus, weight, slo, arrival_s = (value for value in values if value is not None)
    checks = [
        (not model, "no job type"),
        (steps <= 0, "total steps not above 0"),
        (gpus != int(gpus) or not 1 <= gpus <= MOST_GPUS, f"scale factor not a whole number from 1 to {MOST_GPUS}"),
        (not LEAST_WEIGHT <= weight <= MOST_WEIGHT, f"priority weight not from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"),
        (slo <= 0 and slo != -1, "SLO neither -1 nor above 0"),
        (not 0 <= arrival_s <= MOST_S, f"arrival not from 0 to {MOST_S:g} s"),
    ]
    for wrong, reason in checks:
        if wrong:
            return reason
    mode = None if form.mode is None else cells[form.mode].strip()
    return TraceRow(line, position, model, int(gpus), steps, weight, slo if slo > 0 else None, arrival_s, mode)


def read_throughputs(path: str | Path) -> dict[str, TypeSpeeds]:
    """Speeds by type, `..._unconsolidated` types included. Raises InputError naming file and path."""
    data = read_json(path, THROUGHPUTS)
    if not isinstance(data, dict) or not data:
        raise InputError(source_name(path), data, THROUGHPUTS)
    return {name: _table(f"{source_name(path)}: {name}", kinds) for name, kinds in data.items()}


def _table(where: str, kinds: Any) -> TypeSpeeds:
    table = TypeSpeeds({}, {})
    for text, speeds in _object(where, kinds).items():
        kind = _kind(where, text)
        inner = f'{where}."{text}"'
        for other, value in _object(inner, speeds).items():
            if other == "null":
                table.alone[kind] = _speed(f"{inner}.null", value)
            else:
                table.pairs[kind, _kind(inner, other)] = _two_speeds(f'{inner}."{other}"', value)
    return table


def _object(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(where, value, "an object")
    return value


def _kind(where: str, text: str) -> _Kind:
    match = _KEY.fullmatch(text)
    if match is None:
        raise InputError(where, text, """a key such as "('ResNet-50 (batch size 32)', 1)" """.strip())
    return match[1], int(match[2])


def _speed(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise InputError(where, value, "steps/s, a finite number of at least 0")
    return float(value)


def _two_speeds(where: str, value: Any) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise InputError(where, value, "two speeds in steps/s, [mine, theirs]")
    return _speed(f"{where}[0]", value[0]), _speed(f"{where}[1]", value[1])


def _runnable(
    rows: list[TraceRow], tables: dict[str, TypeSpeeds], cluster: Mapping[str, Any], drops: Drops
) -> list[TraceRow]:
    """The rows whose kind the tables know and some of the cluster's types can run."""
    capacity = _capacity(cluster)
    listed = {kind for table in tables.values() for kind in table.alone}
    able: dict[_Kind, int] = {}
    for name, gpus in capacity.items():
        for kind in {kind for table in _both(tables, name) for kind, speed in table.alone.items() if speed > 0}:
            able[kind] = able.get(kind, 0) + gpus
    kept = []
    for row in rows:
        if row.kind not in listed:
            drops.add("no throughput for its job type and scale factor", row.line)
        elif able.get(row.kind, 0) < row.gpus:
            drops.add("the cluster cannot run it", row.line)
        else:
            kept.append(row)
    return kept


def _require_types(tables: dict[str, TypeSpeeds], cluster: Mapping[str, Any]) -> None:
    """Raise InputError for a type of the cluster that the throughputs lack."""
    for name in _capacity(cluster):
        if name not in tables:
            known = ", ".join(key for key in tables if not key.endswith(UNCONSOLIDATED))
            raise InputError("cluster, type", name, f"types that the throughputs have: {known}")


def _both(tables: dict[str, TypeSpeeds], name: str) -> Iterator[TypeSpeeds]:
    for key in (name, name + UNCONSOLIDATED):
        if key in tables:
            yield tables[key]


def _types(cluster: Mapping[str, Any]) -> list[str]:
    return list(_capacity(cluster))


def _capacity(cluster: Mapping[str, Any]) -> dict[str, int]:
    """GPUs of each type; the cluster is validated with the scenario, so only its shape matters here."""
    counts: dict[str, int] = {}
    try:
        for group in cluster["nodes"]:
            count = int(group["gpus"]) * int(group.get("count", 1))
            counts[group["accelerator"]] = counts.get(group["accelerator"], 0) + count
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("cluster", dict(cluster), "accelerators and nodes as in a scenario file") from None
    return counts


def _duration_s(row: TraceRow, tables: dict[str, TypeSpeeds]) -> float:
    """Seconds that the job lasts on the reference type."""
    speeds = {name: table.alone.get(row.kind, 0.0) for name, table in tables.items()}
    return row.steps / (speeds.get(REFERENCE) or max(speeds.values()))


def _job(row: TraceRow, tables: dict[str, TypeSpeeds], from_s: float) -> dict[str, Any]:
    job: dict[str, Any] = {"name": f"job-{row.position}", "model": row.model, "arrival_s": row.arrival_s - from_s}
    job |= {"steps": row.steps, "gpus": row.gpus, "weight": row.weight}
    if row.slo is not None:
        deadline_s = row.slo if row.slo > LARGEST_FACTOR else row.slo * _duration_s(row, tables)
        job["rewards"] = [[deadline_s, 1.0]]
    return job


def speed_rows(rows: list[TraceRow], tables: dict[str, TypeSpeeds], types: list[str]) -> Iterator[dict[str, Any]]:
    """The `throughputs` of a scenario, for the models that occur."""
    names = dict.fromkeys(row.model for row in rows)
    for name, accelerator, word, table in _placed(names, tables, types):
        for kind, speed in table.alone.items():
            if kind[0] == name and (kind[1] > 1 or word == "consolidated"):
                row = {"model": name, "accelerator": accelerator, "gpus": kind[1], "placement": word}
                yield row | {"steps_per_s": speed}


def _placed(
    names: Collection[str], tables: dict[str, TypeSpeeds], types: list[str]
) -> Iterator[tuple[str, str, str, TypeSpeeds]]:
    """Every model on every type in both placements that the file has; one GPU is always consolidated."""
    for name in names:
        for accelerator in types:
            for word, suffix in (("consolidated", ""), ("unconsolidated", UNCONSOLIDATED)):
                if accelerator + suffix in tables:
                    yield name, accelerator, word, tables[accelerator + suffix]


def pair_rows(
    rows: list[TraceRow], tables: dict[str, TypeSpeeds], types: list[str], notes: list[str]
) -> Iterator[dict[str, Any]]:
    """The `colocated` of a scenario, for models and numbers of GPUs that occur; what is left out goes to `notes`."""
    kinds = {row.kind for row in rows}
    odd = lonely = 0
    for accelerator in types:
        alone = {kind for table in _both(tables, accelerator) for kind in table.alone}
        for word, suffix in (("consolidated", ""), ("unconsolidated", UNCONSOLIDATED)):
            pairs = tables[accelerator + suffix].pairs if accelerator + suffix in tables else {}
            seen: set[tuple[_Kind, _Kind]] = set()
            for (one, other), speeds in pairs.items():
                if one not in kinds or other not in kinds or one[1] != other[1] or (other, one) in seen:
                    continue
                seen.add((one, other))
                if one not in alone or other not in alone:
                    lonely += 1
                    continue
                odd += not _agree(speeds, pairs.get((other, one)))
                if min(speeds) > 0 and (one[1] > 1 or word == "consolidated"):
                    row = {"model": one[0], "with_model": other[0], "accelerator": accelerator, "gpus": one[1]}
                    yield row | {"placement": word, "steps_per_s": speeds[0], "with_steps_per_s": speeds[1]}
    if lonely:
        notes.append(f"{lonely} co-located pairs are left out: one of the two has no throughput alone on that type")
    if odd:
        notes.append(f"{odd} co-located pairs differ from their mirrored entry or have none: the first one is kept")


def _agree(speeds: tuple[float, float], mirrored: tuple[float, float] | None) -> bool:
    """Whether both entries of a pair say the same, to a millionth."""
    if mirrored is None:
        return False
    return all(abs(a - b) <= 1e-6 * max(a, b) for a, b in zip(speeds, reversed(mirrored), strict=True))


def _slo_notes(rows: list[TraceRow]) -> Iterator[str]:
    factors = sum(row.slo is not None and row.slo <= LARGEST_FACTOR for row in rows)
    seconds = sum(row.slo is not None and row.slo > LARGEST_FACTOR for row in rows)
    if factors:
        yield f"{factors} SLOs are read as multiples of the job's duration on {REFERENCE}"
    if seconds:
        yield f"{seconds} SLOs above {LARGEST_FACTOR:g} are read as seconds after arrival"


def _mode_notes(rows: list[TraceRow]) -> Iterator[str]:
    modes = Counter(row.mode for row in rows if row.mode not in (None, "", STATIC))
    if modes:
        counts = ", ".join(f"{count} {mode}" for mode, count in modes.items())
        yield f"jobs whose batch size would change keep that of their job type: {counts}"


def _type_notes(tables: dict[str, TypeSpeeds], types: list[str]) -> Iterator[str]:
    left = [name for name in tables if name.removesuffix(UNCONSOLIDATED) not in types]
    if left:
        yield f"speeds of types that the cluster lacks are left out: {', '.join(left)}"
    unknown = [name for name in types if name not in tables and name + UNCONSOLIDATED not in tables]
    if unknown:
        yield f"no throughput on {', '.join(unknown)}: no job can run there"
    yield "speeds are kept for the models that occur, pairs for those and the scale factors that occur"
