"""Traces that say how long a job ran, not how fast: its steps are its run time x its speed.

*As recorded* (`sacct`, and every trace without models on a cluster with a type that no group of built-in models knows
together with the others): a job does 1 step/s for each second that it ran, on the types where it ran and on no other,
unless a table says how much faster or slower it is elsewhere (`Ratio`). A job for which the trace names no type runs as
long on any. One that ran or waited at the begin is in the scenario in mid-life (`running`, `steps_done`).

*With built-in speeds* (the others). Model: the one that the trace names; without a name one of the job's size class is
drawn (`draw_models`). Speeds: those of Chronus's models; a trace without names takes, on a cluster
with other types, the models of the first group that knows them all (`GROUPS`). The run time is meant on the cluster's
fastest type, the gang on the fewest nodes: there a job runs as long as in the trace, to a step. Numbers of GPUs that
the tables lack follow a power law (ours: each doubling keeps 0.9 of the ideal speed-up).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError, counted
from workbench.base.units import format_duration
from workbench.scenario.cluster import Cluster
from workbench.scenario.frozen import MOST_GPUS, MOST_S
from workbench.scenario.job import NOT_ALONE, RewardStep
from workbench.scenario.scenario import Recorded, Scenario
from workbench.scenario.throughput import Scaling, ThroughputRow, Throughputs
from workbench.scenario.traces import builtin
from workbench.scenario.traces.dropped_rows import ConversionSummary, Drops
from workbench.scenario.traces.hadar import GPU_HOURS, HOUR
from workbench.scenario.traces.synthetic import SCHEDULERS as SCHEDULERS_OF_TYPES
from workbench.scenario.traces.synthetic import Workload
from workbench.scenario.traces.trace_file import (
    EPOCH,
    OUTSIDE,
    TraceCut,
    account,
    in_window,
    number,
    read_table,
    sample_notes,
    sampled,
    source_name,
)

GROUP = "chronus"
GROUPS = (GROUP, "gavel", "hadar", "hops")
"""Groups of built-in models with all size classes, in the order in which they are tried."""
SCALING = Scaling(law="power", efficiency=0.9)
ANY = "recorded"
"""The model of jobs that run as recorded on any type; `recorded on T` is that of those that ran on T."""
NOT_GPUS = ("cpu", "shard")
"""Types on which no job runs that does not name them."""
BEFORE = "over before the log begins"
"""Why a row is left out where nobody asked for a window; by a clock that jumped one may stand so."""
FEW = 20
"""Of arrivals: no rate follows from fewer."""
SCHEDULERS: tuple[dict[str, Any], ...] = (
    {"scheduler": "chronus"},
    {"scheduler": "edf"},
    {"scheduler": "three_sigma"},
    {"scheduler": "genie"},
    {"scheduler": "tiresias"},
    {"scheduler": "themis"},
    {"scheduler": "yarn_cs", "knobs": {"queues": "slo"}},
)
"""paper: Chronus and whom it compares itself with, section 4.3."""
MOST_LETTERS = 190


@dataclass(frozen=True, slots=True)
class TimedRow:
    """One job of a trace. model: a built-in one, or None; rewards as in a scenario; ran_on: its types as the trace has
    them, none where it may have run on any; ended: in which state; times: by the name of an attribute, `start_s` and
    `end_s` among them where the trace tells; hosts: the nodes where it ran; facts: attributes of the job; may: the
    types that its partition has, none where nobody knows."""

    line: int
    name: str
    model: str | None
    gpus: int
    arrival_s: float
    duration_s: float
    user: str | None = None
    rewards: tuple[RewardStep, ...] | None = None
    ran_on: tuple[str, ...] = ()
    ended: str | None = None
    times: Mapping[str, float] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    facts: Mapping[str, float | str] = field(default_factory=dict)
    may: tuple[str, ...] = ()

    @property
    def kind(self) -> tuple[str, int]:
        """What its speed depends on, once it has a model."""
        if self.model is None:
            raise ValueError(f"{self.name} has no model yet")
        return self.model, self.gpus

    @property
    def end_s(self) -> float | None:
        """When it ended, where the trace tells."""
        return self.times.get("end_s")

    def goes_on(self, at_s: float) -> bool:
        """Whether it ran at a time, or had arrived and ran later."""
        start_s = self.times.get("start_s")
        return start_s is not None and self.arrival_s < at_s < start_s + self.duration_s

    def done_s(self, at_s: float) -> float:
        """Seconds for which it had run at a time; less than its run time."""
        since = at_s - self.times.get("start_s", at_s)
        return min(max(since, 0.0), self.duration_s - min(1.0, self.duration_s / 2))


@dataclass(frozen=True, slots=True)
class Ratio:
    """How fast jobs run on another type: `ratio` times as fast as recorded, surely from low to high. Its user vouches
    for it, and every answer leads with it.

    by: the attribute that tells which jobs (`partition`, `user`, `account`, ...), name: its value, `*` for any; ran_on,
    to: types.
    """

    by: str
    name: str
    ran_on: str
    to: str
    ratio: float
    low: float
    high: float

    def holds(self, row: TimedRow) -> bool:
        """Whether it is about a job: not about one that asked for a type, or whose partition lacks this one."""
        value = row.user if self.by == "user" else row.facts.get(self.by)
        if self.ran_on not in row.ran_on or self.to in row.ran_on or "asked" in row.facts:
            return False
        if row.may and self.to not in row.may:
            return False
        return self.name in ("*", str(value))


ASSUMED = "assumed, not recorded"
"""How notes of ratios begin."""
RATIO_COLUMNS = tuple(each.name for each in fields(Ratio))
RATIOS = f"CSV with the columns {', '.join(RATIO_COLUMNS)}, a type in ran_on and to, 0 < low <= ratio <= high"


def read_ratios(path: str | Path) -> list[Ratio]:
    """The rows of a CSV table, of several for a job and a type the first holds; raises InputError for one that is none:
    a ratio that is left out would be another answer.
    """
    drops, found = Drops(), []
    for line, cells in read_table(path, RATIOS, RATIO_COLUMNS, drops).rows:
        ratio, low, high = (number(cells[name]) or 0.0 for name in RATIO_COLUMNS[4:])
        one_type = "*" not in (cells["ran_on"], cells["to"])
        if not (1e-3 <= low <= ratio <= high <= 1e3 and all(cells[name] for name in RATIO_COLUMNS[:4]) and one_type):
            raise InputError(f"{source_name(path)}, line {line}", ",".join(cells.values()), RATIOS)
        found.append(Ratio(cells["by"], cells["name"], cells["ran_on"], cells["to"], ratio, low, high))
    if drops.result() or not found:
        raise InputError(source_name(path), "; ".join(map(str, drops.result())) or "no rows", RATIOS)
    return found


def _nothing(*given: Any) -> list[dict[str, Any]]:
    return []


@dataclass(frozen=True, slots=True)
class Recording:
    """What is known besides the jobs of a trace that runs as recorded.

    entities: of the scenario, from its begin (in the trace's time);
    outages: also from the end and the names of its nodes.
    """

    ratios: Sequence[Ratio] = ()
    entities: Callable[[float], list[dict[str, Any]]] = _nothing
    outages: Callable[[float, float, Sequence[str]], list[dict[str, Any]]] = _nothing


def models() -> list[str]:
    """The built-in models that a row may name."""
    return [str(row["name"]) for row in builtin.models(GROUP)]


def plain_cluster(cluster: Mapping[str, Any] | None, source: str) -> Cluster:
    """The cluster alone; raises ScenarioError if it is none."""
    return Scenario.from_dict({"cluster": dict(cluster or {}), "jobs": [], "throughputs": []}, source).cluster


def time_problem(arrival_s: float, duration_s: float) -> str | None:
    """Why these cannot be a job's times; None if they can."""
    if not 0 <= arrival_s <= MOST_S:
        return f"submitted before 0 or after {MOST_S:g} s"
    if not 0 < duration_s <= MOST_S:
        return f"run time not above 0 or over {MOST_S:g} s"
    return None


def name_problem(what: str, text: str) -> str | None:
    """Why a text cannot name a job or a user; None if it can."""
    if not text:
        return f"no {what}"
    if len(text) > MOST_LETTERS or not text.isprintable() or NOT_ALONE.search(text):
        return f"{what} over {MOST_LETTERS} letters, not printable, or with ' + ' or ' #1'"
    return None


def gpu_count(what: str, gpus: float | None) -> int | str:
    """A job's number of GPUs, or why this cannot be one."""
    if gpus is None:
        return f"{what} is not a finite number"
    if gpus == 0:
        return "0 GPUs"
    if gpus != int(gpus) or not 1 <= gpus <= MOST_GPUS:
        return f"{what} not a whole number from 1 to {MOST_GPUS}"
    return int(gpus)


def started(submitted_s: float, start_s: float | None, duration_s: float) -> dict[str, float]:
    """The times of a job that was eligible when it was submitted; start_s: None where the trace does not tell."""
    found = {"submit_s": submitted_s, "eligible_s": submitted_s}
    return found if start_s is None else {**found, "start_s": start_s, "end_s": start_s + duration_s}


def dated(rows: Sequence[TimedRow]) -> tuple[list[TimedRow], datetime | None]:
    """Rows whose arrivals count from `trace_file.EPOCH`, counted from the first one; and the date of that one."""
    if not rows:
        return [], None
    begin_s = min(row.times.get("submit_s", row.arrival_s) for row in rows)
    found = [
        replace(row, arrival_s=row.arrival_s - begin_s, times={n: at_s - begin_s for n, at_s in row.times.items()})
        for row in rows
    ]
    return found, EPOCH + timedelta(seconds=begin_s)


def assemble(
    source: str | Path,
    format: str,
    read: Sequence[TimedRow],
    drops: Drops,
    cut: TraceCut,
    notes: Sequence[str],
    well: str | None = None,
    recorded: Recording | None = None,
    first: datetime | None = None,
    begins_with: str = "its first submission",
) -> tuple[Scenario, ConversionSummary]:
    """The scenario and the summary of the rows that could be read; those not kept go to `drops`.

    well: the state of a job that ended well, where the trace tells states; first: the date of second 0, and begins_with
    what that is; recorded: jobs run as recorded whatever the cluster's types, with what else is known. Jobs stand in
    order of arrival. Raises InputError for a cluster that is none, for one on which no named model has built-in speeds,
    and where no job is left.
    """
    called = source_name(source)
    cluster = plain_cluster(cut.cluster, called)
    named = bool(read) and all(row.model is not None for row in read)
    group = GROUP if named else None if recorded else _group(cluster.types)
    if group is None:
        recorded = recorded or Recording()
        read, work = _recorded(cut.cluster or {}, cluster, read, recorded.ratios)
    else:
        work = Workload.build(dict(cut.cluster or {}), group, scaling=SCALING)
        read = _with_models(read, group, work, cut.seed)
    rows = sorted(_once(read, drops), key=lambda row: row.arrival_s)
    begin_s, cut_off = _begin(rows, cut, recorded is not None, first is not None)
    early = [row for row in rows if recorded is not None and row.goes_on(begin_s)]
    able = list(_fitting([*early, *_later(rows, early, begin_s, cut, drops)], work, drops))
    kept = sampled(able, cut.sample, cut.seed, drops)
    summary = account(called, format, kept, drops)
    name = Path(called)
    told_ends = all(row.end_s is not None for row in kept)
    speeds = "as recorded" if group is None else "built-in speeds"
    data = {
        **work.scenario([_job(row, work, begin_s, drops.kept.get(row.line, {}), group is None) for row in kept]),
        "name": name.stem,
        "description": f"{len(kept)} jobs of the {format} trace {name.name}, {speeds}",
        "seed": cut.seed,
        "recorded": _recorded_of(kept, begin_s) if group is None or told_ends else None,
        "begins": first and (first + timedelta(seconds=begin_s)).isoformat(timespec="seconds"),
        "schedulers": list(SCHEDULERS) if group == GROUP else [{"scheduler": name} for name in SCHEDULERS_OF_TYPES],
    }
    zero = [] if first is None else [f"time 0 of the file is {begins_with}, {first:%Y-%m-%d %H:%M:%S}"]
    all_notes = [*_order_notes(read), *zero, *notes, *_ended_notes(kept, well), *sample_notes(len(able), cut.sample)]
    all_notes += drops.notes()
    if cut.from_s is None and cut_off is None and begin_s > 0:
        all_notes.append(f"arrivals count from the file's first one, which is at {begin_s:.15g} s there")
    if group is None:
        recorded = recorded or Recording()
        summary = replace(summary, assumed=tuple(_ratio_notes(kept, recorded.ratios)))
        all_notes += [*_recorded_notes(kept), *_set_going(data, kept, cluster, begin_s, cut_off)]
        _add_site(data, recorded, cluster, begin_s, begin_s + _recorded_of(kept, begin_s).end_s)
    else:
        all_notes += [] if named else _drawn_notes(kept, group)
        all_notes += _speed_notes(kept, work)
    return Scenario.from_dict(data, called), replace(summary, notes=tuple(all_notes))


def _begin(rows: Sequence[TimedRow], cut: TraceCut, recorded: bool, dated: bool) -> tuple[float, float | None]:
    """The second at which the scenario begins; the same where that is where the log was cut out of a longer one, else
    None.
    """
    if cut.from_s is not None:
        return cut.from_s, None
    cut_off = _first_second(rows) if recorded else None
    if cut_off is not None:
        return cut_off, cut_off
    return rows[0].arrival_s if rows and not (recorded and dated) else 0.0, None


def _later(
    rows: Sequence[TimedRow], early: Sequence[TimedRow], begin_s: float, cut: TraceCut, drops: Drops
) -> Sequence[TimedRow]:
    """Those in the window, without those that are there from the begin; the others go to `drops`."""
    lines = {row.line for row in early}
    left = [row for row in rows if row.line not in lines]
    return list(in_window(left, begin_s, cut.to_s, drops, BEFORE if cut.from_s is None else OUTSIDE))


def _add_site(data: dict[str, Any], recorded: Recording, cluster: Cluster, begin_s: float, end_s: float) -> None:
    """What else is known of the time from the begin to the end: entities, and when nodes were down."""
    data["entities"] = recorded.entities(begin_s)
    if outages := recorded.outages(begin_s, end_s, [node.name for node in cluster.each_node]):
        data["core"] = {"faults": {"list": outages}}


def _first_second(rows: Sequence[TimedRow]) -> float | None:
    """When a log begins that was cut out of a longer one; None for one that has its jobs from the first on.

    No job of a log ends before it begins. Of a log that was cut, the jobs that were submitted before the first one
    ended are those alone that were still there: fewer than half of as many as come later in so much time (ours).
    """
    ends = [row.times["start_s"] + row.duration_s for row in rows if "start_s" in row.times]
    first = min(ends, default=0.0)
    before, after = (sum((row.arrival_s < first) == early for row in rows) for early in (True, False))
    if after < FEW or rows[-1].arrival_s <= first:
        return None
    usual = after / (rows[-1].arrival_s - first) * (first - rows[0].arrival_s)
    return first if usual >= FEW and before < usual / 2 else None


def _set_going(
    data: dict[str, Any], kept: Sequence[TimedRow], cluster: Cluster, begin_s: float, cut_off: float | None
) -> Iterator[str]:
    """Put the jobs that ran at the begin on their GPUs; the notes tell how many these are and where they stand."""
    free = {node.name: node.gpus for node in cluster.each_node}
    kinds = {node.name: node.accelerator for node in cluster.each_node}
    running, guessed, homeless = [], 0, 0
    ran = [row for row in kept if row.times.get("start_s", begin_s) < begin_s]
    for row in sorted(ran, key=lambda row: not row.hosts):
        gpus = _where(row, free)
        if gpus is None or any(free[node] < count for node, count in gpus.items()):
            gpus, guessed = _anywhere(row, free, kinds), guessed + 1
        if sum(gpus.values()) < row.gpus:
            homeless += 1
            continue
        for node, count in gpus.items():
            free[node] -= count
        running.append({"job": row.name, "gpus": gpus})
    data["running"] = running
    waiting = sum(row.arrival_s < begin_s for row in kept) - len(ran)
    if cut_off is not None:
        after = format_duration(cut_off, parts=2)
        yield f"the log begins in mid-life, {after} after its first submission: no job ended before"
    if ran or waiting:
        yield f"at the begin {counted(len(ran), 'job')} ran, part of their run time behind them, and {waiting} waited"
    if guessed:
        yield f"{guessed} of these ran where the log does not say how many GPUs of each node: on the first free ones"
    if homeless:
        yield f"{homeless} of these find no free GPUs in the cluster at the begin: they wait"


def _where(row: TimedRow, free: Mapping[str, int]) -> dict[str, int] | None:
    """GPUs of each node where a job ran, if the log tells them, or None."""
    each, over = divmod(row.gpus, len(row.hosts) or row.gpus + 1)
    suffixes = ("", *(f"/{kind}" for kind in row.ran_on))
    found = [next((f"{host}{end}" for end in suffixes[::-1] if f"{host}{end}" in free), None) for host in row.hosts]
    names = [name for name in found if name is not None]
    return dict.fromkeys(names, each) if names and not over and len(names) == len(found) else None


def _anywhere(row: TimedRow, free: Mapping[str, int], kinds: Mapping[str, str]) -> dict[str, int]:
    """The first free GPUs of a job's types, on one node if one has enough."""
    able = [name for name, left in free.items() if left and _may(row, kinds[name])]
    able = [name for name in able if free[name] >= row.gpus][:1] or able
    found: dict[str, int] = {}
    for name in able:
        found[name] = min(free[name], row.gpus - sum(found.values()))
        if sum(found.values()) == row.gpus:
            break
    return found


def _may(row: TimedRow, kind: str) -> bool:
    return kind in row.ran_on if row.ran_on else kind not in NOT_GPUS


def _recorded_of(kept: Sequence[TimedRow], begin_s: float) -> Recorded:
    """What the trace shows of the jobs that are kept; where it does not tell ends, as if no job had waited."""
    ends = [max(row.arrival_s + row.duration_s, row.end_s or 0.0) for row in kept]  # clocks may jump: none ends earlier
    known = all(row.end_s is not None for row in kept)
    gpu_s = sum(row.gpus * (row.duration_s - row.done_s(begin_s)) for row in kept)
    return Recorded(end_s=max(ends) - begin_s, ends_known=known, gpu_s=gpu_s)


def _group(types: Sequence[str]) -> str | None:
    """The first group with built-in speeds on all types."""
    return next((group for group in GROUPS if set(types) <= set(builtin.types(group))), None)


def _recorded(
    plain: Mapping[str, Any], cluster: Cluster, rows: Sequence[TimedRow], ratios: Sequence[Ratio]
) -> tuple[list[TimedRow], Workload]:
    """The rows with a model each, which does 1 step/s where the job ran; types of rows are named as the cluster writes
    them (`A100` for `a100`).

    Raises InputError where two types of the cluster differ in case alone.
    """
    known = {name.casefold(): name for name in cluster.types}
    if len(known) < len(cluster.types):
        raise InputError("cluster, types", ", ".join(cluster.types), "types that differ in more than case")
    speeds: dict[tuple[str, int, str], dict[str, Any]] = {}
    found = []
    for row in rows:
        ran_on = tuple(known.get(name.casefold(), name) for name in row.ran_on)
        row = replace(row, ran_on=ran_on)
        elsewhere = {ratio.to: ratio.ratio for ratio in reversed(ratios) if ratio.holds(row)}
        model = ANY if not ran_on else f"{ANY} on {' or '.join(ran_on)}"
        model += "".join(f", {kind} x {ratio:g}" for kind, ratio in sorted(elsewhere.items()))
        found.append(replace(row, model=model))
        together = sum(cluster.capacity.get(name, 0) for name in ran_on)
        for name in cluster.types:
            most = together if name in ran_on else cluster.capacity[name]
            rate = 1.0 if _may(row, name) else elsewhere.get(name, 0.0)
            if rate > 0 and row.gpus <= most:
                key = (model, row.gpus, name)
                speeds[key] = {"model": model, "accelerator": name, "gpus": row.gpus, "steps_per_s": rate}
    checked = [ThroughputRow.model_validate(row) for row in speeds.values()]
    models = tuple(dict.fromkeys(row.model for row in checked))
    table = Throughputs(cluster, checked)
    return found, Workload(dict(plain), list(speeds.values()), None, table, cluster.types[0], models, Scaling())


def as_recorded(scenario: Scenario) -> Scenario:
    """The scenario of a log without what `--ratios` assumed: jobs run on the types where they ran, as long as there."""
    assumed = {job.model for job in scenario.jobs if job.model.startswith(f"{ANY} on ") and ", " in job.model}
    if not assumed:
        return scenario
    data, rows = scenario.to_dict(), dict[tuple[Any, ...], dict[str, Any]]()
    for row in data["throughputs"]:
        model, *elsewhere = row["model"].split(", ") if row["model"] in assumed else [row["model"]]
        if row["accelerator"] not in [each.rpartition(" x ")[0] for each in elsewhere]:
            rows[model, row.get("gpus"), row["accelerator"]] = {**row, "model": model}
    jobs = [
        {**job, "model": job["model"].partition(", ")[0]} if job["model"] in assumed else job for job in data["jobs"]
    ]
    return Scenario.from_dict({**data, "throughputs": [*rows.values()], "jobs": jobs})


def _with_models(read: Sequence[TimedRow], group: str, work: Workload, seed: int) -> list[TimedRow]:
    """The rows, each with a model. One is drawn for every row, so that what others name does not shift the draws."""
    class_of = {row["name"]: row["size_class"] for row in builtin.models(group, work.models)}
    drawn = draw_models(np.array([row.gpus * row.duration_s for row in read]), class_of, seed)
    pairs = zip(read, drawn, strict=True)
    return [row if row.model is not None else replace(row, model=model) for row, model in pairs]


def _once(rows: Sequence[TimedRow], drops: Drops) -> Iterator[TimedRow]:
    """The first row of each name."""
    names: set[str] = set()
    for row in rows:
        if row.name in names:
            drops.add("job id of an earlier row", row.line)
        else:
            names.add(row.name)
            yield row


def _fitting(rows: Sequence[TimedRow], work: Workload, drops: Drops) -> Iterator[TimedRow]:
    capacity = work.speeds.cluster.capacity
    for row in rows:
        most = sum(capacity.get(name, 0) for name in row.ran_on) if row.ran_on else max(capacity.values())
        if lacking := [name for name in row.ran_on if name not in capacity]:
            drops.add(f"ran on {', '.join(lacking)}, which the cluster lacks", row.line)
        elif row.gpus > most:
            drops.add("more GPUs than any type of the cluster has", row.line)
        elif not row.ran_on and not work.fits(*row.kind):
            drops.add("no type of the cluster runs its model on so many GPUs", row.line)
        else:
            yield row


def _job(
    row: TimedRow, work: Workload, begin_s: float, kept: Mapping[str, float | str], recorded: bool
) -> dict[str, Any]:
    times = {name: at_s - begin_s for name, at_s in row.times.items()}
    more = {"user": row.user, "rewards": row.rewards, "attributes": {**times, **row.facts, **kept}}
    model, gpus = row.kind
    if not recorded:
        return {**work.job(row.name, model, gpus, row.duration_s, row.arrival_s - begin_s), **more}
    job = {"name": row.name, "model": model, "gpus": gpus, "arrival_s": max(row.arrival_s - begin_s, 0.0), **more}
    done_s = row.done_s(begin_s)
    return {**job, "steps": row.duration_s, "steps_done": done_s, "attained_s": done_s * gpus}


def _order_notes(read: Sequence[TimedRow]) -> Iterator[str]:
    early = sum(later.arrival_s < row.arrival_s for row, later in pairwise(read))
    if early:
        yield f"not in order of arrival: {counted(early, 'job')} before the one above; sorted here"


def _ended_notes(kept: Sequence[TimedRow], well: str | None) -> Iterator[str]:
    """A note on jobs that ended in another state than `well`, if there are any."""
    ended = Counter(row.ended for row in kept if row.ended != well)
    if states := ", ".join(f"{count} {state}" for state, count in ended.items()):
        yield f"jobs that did not end well ran as long as they did and are read like others: {states}"


def _drawn_notes(kept: Sequence[TimedRow], group: str) -> Iterator[str]:
    counts = Counter(size_classes(np.array([row.gpus * row.duration_s for row in kept])))
    sizes = ", ".join(f"{size} {counts[size]}" for size in CLASSES)
    yield f"no models in the trace: drawn from those of {group.capitalize()} by size class (jobs: {sizes})"


def _ratio_notes(kept: Sequence[TimedRow], ratios: Sequence[Ratio]) -> Iterator[str]:
    """What does not come from the log."""
    for ratio in ratios:
        some = counted(sum(ratio.holds(row) for row in kept), "job")
        who = "any" if ratio.name == "*" else f"{ratio.by} {ratio.name}"
        yield (
            f"{ASSUMED}: {some} ({who}) may also run on {ratio.to}, {ratio.ratio:g} times as fast as on "
            f"{ratio.ran_on} (surely {ratio.low:g} to {ratio.high:g}; runs are at {ratio.ratio:g})"
        )


def _recorded_notes(kept: Sequence[TimedRow]) -> Iterator[str]:
    ran = Counter(" or ".join(row.ran_on) for row in kept)
    anywhere = ran.pop("", 0)
    if names := ", ".join(f"{name} ({count})" for name, count in ran.items()):
        yield f"jobs run as long as recorded, on the type where they ran and on no other: {names}"
    if anywhere:
        some = counted(anywhere, "job")
        yield f"{some} with no single type in the trace: may run on any, as long as recorded on each"


def _speed_notes(kept: Sequence[TimedRow], work: Workload) -> Iterator[str]:
    yield f"a job's steps are its run time x the built-in speed of its model on {work.reference}"
    types = work.speeds.cluster.types
    known = [name for name in types if work.speeds.matrix(work.models, [1] * len(work.models), types=[name]).any()]
    if others := ", ".join(name for name in known if name != work.reference):
        yield f"run times on {others} are not recorded: they follow from the built-in speeds"
    if idle := ", ".join(name for name in types if name not in known):
        yield f"no job runs on {idle}: there are no built-in speeds of its models"
    listed = {row["gpus"] for row in work.rows}
    odd = sum(row.gpus not in listed for row in kept)
    if odd:
        yield f"{counted(odd, 'job')} with a number of GPUs that the built-in speeds lack: a power law fills it"
    hopeless = sum(row.rewards is not None and row.rewards[-1][0] < row.duration_s for row in kept)
    if hopeless:
        yield f"{counted(hopeless, 'job')} with the last deadline before the run time is over, kept"


CLASSES = tuple(GPU_HOURS)
"""Size classes by GPU time, GPUs x run time, with Hadar's bounds (section IV-A): up to 1 GPU-hour S, up to 10 M, up to
50 L, above XL (ours: Hadar leaves gaps at 50 to 60 and over 100)."""
BOUNDS = tuple(high for _, high in GPU_HOURS.values())[:-1]
"""GPU-hours up to which a job belongs to each class but the last."""
_STREAM = 3


def size_classes(gpu_time_s: FloatArray) -> list[str]:
    """The size class of each job, from its GPU time in GPU-seconds."""
    found = np.searchsorted(np.asarray(BOUNDS), np.asarray(gpu_time_s) / HOUR, side="left")
    return [CLASSES[which] for which in found.tolist()]


def draw_models(gpu_time_s: FloatArray, class_of: Mapping[str, str], seed: int) -> list[str]:
    """A model for each job, from its GPU time in GPU-seconds.

    class_of: the size class of each model there is, in order. Of the models of a
    job's class each is as likely as the other; a class without a model draws from all. A draw depends on the seed and
    the job's position alone.
    """
    of_class: dict[str, Sequence[str]] = {
        size: [model for model, its in class_of.items() if its == size] or list(class_of) for size in CLASSES
    }
    draws = np.random.default_rng([_STREAM, seed]).random(len(gpu_time_s)).tolist()
    pairs = zip(size_classes(gpu_time_s), draws, strict=True)
    return [of_class[size][int(draw * len(of_class[size]))] for size, draw in pairs]
