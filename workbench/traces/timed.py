"""Traces that say how long a job ran, not how fast: its steps are its run time x the speed of its model.

Speeds are the built-in ones of Chronus's models. The run time is meant on the cluster's fastest type, the gang on the
fewest nodes: there a job runs as long as in the trace, to a step. Numbers of GPUs that the tables lack follow a power
law (ours: each doubling keeps 0.9 of the ideal speed-up).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from workbench.errors import InputError, counted
from workbench.frozen import MOST_S
from workbench.job import Reward
from workbench.scenario import Scenario
from workbench.throughput import Scaling
from workbench.traces import builtin
from workbench.traces.cluster_spec import EXPECTED as CLUSTER_EXPECTED
from workbench.traces.report import Drops, Report
from workbench.traces.rows import account, check_cut, in_window, sampled, source_name
from workbench.traces.synthetic import Workload

GROUP = "chronus"
SCALING = Scaling(law="power", efficiency=0.9)
PLAN: tuple[dict[str, Any], ...] = (
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
    """One job of a trace; rewards as in a scenario, model one of the built-in ones."""

    line: int
    name: str
    model: str
    gpus: int
    arrival_s: float
    duration_s: float
    user: str | None = None
    rewards: tuple[Reward, ...] | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The cluster and which jobs to keep, as `workbench.traces.Loader` has them."""

    cluster: Mapping[str, Any] | None
    from_s: float | None
    to_s: float | None
    sample: int | None
    seed: int

    def check(self, format: str, throughputs: str | Path | None) -> None:
        """Raise InputError for what can be refused before the file is read."""
        if throughputs is not None:
            expected = f"no file of speeds: a {format} trace has none, the built-in ones are taken"
            raise InputError("throughputs", str(throughputs), expected)
        if self.cluster is None:
            raise InputError("cluster", None, CLUSTER_EXPECTED)
        check_cut(self.from_s, self.to_s, self.sample, self.seed)


def models() -> list[str]:
    """The built-in models that a row may have."""
    return [str(row["name"]) for row in builtin.models(GROUP)]


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
    if len(text) > MOST_LETTERS or not text.isprintable() or " + " in text:
        return f"{what} over {MOST_LETTERS} letters, not printable, or with ' + '"
    return None


def assemble(
    source: str | Path, format: str, read: Sequence[TimedRow], drops: Drops, cut: Cut, notes: Sequence[str]
) -> tuple[Scenario, Report]:
    """The scenario and the report of the rows that could be read; those not kept go to `drops`.

    Jobs stand in order of arrival. Raises InputError for a cluster that is none or has types without built-in speeds,
    and where no job is left.
    """
    called = source_name(source)
    work = _workload(called, dict(cut.cluster or {}))
    rows = sorted(_once(read, drops), key=lambda row: row.arrival_s)
    kept = in_window(rows, cut.from_s, cut.to_s, drops)
    kept = list(_fitting(kept, work, drops))
    kept = sampled(kept, cut.sample, cut.seed, drops)
    report = account(called, format, kept, drops)
    begin_s = rows[0].arrival_s if cut.from_s is None else cut.from_s
    name = Path(called)
    data = {
        **work.scenario([_job(row, work, begin_s) for row in kept]),
        "name": name.stem,
        "description": f"{len(kept)} jobs of the {format} trace {name.name}, built-in speeds",
        "seed": cut.seed,
        "plan": list(PLAN),
    }
    told = (*_order_notes(read), *notes, *_notes(kept, work, begin_s if cut.from_s is None else 0.0))
    return Scenario.from_dict(data, called), replace(report, notes=told)


def _workload(called: str, cluster: dict[str, Any]) -> Workload:
    plain = Scenario.from_dict({"cluster": cluster, "jobs": [], "throughputs": []}, called)
    known = builtin.types(GROUP)
    for name in plain.cluster.types:
        if name not in known:
            raise InputError("cluster, type", name, f"types with built-in speeds of these models: {', '.join(known)}")
    return Workload.build(cluster, GROUP, scaling=SCALING)


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
    for row in rows:
        if work.fits(row.model, row.gpus):
            yield row
        else:
            drops.add("more GPUs than any type of the cluster has", row.line)


def _job(row: TimedRow, work: Workload, begin_s: float) -> dict[str, Any]:
    job = work.job(row.name, row.model, row.gpus, row.duration_s, row.arrival_s - begin_s)
    return {**job, "user": row.user, "rewards": row.rewards}


def _order_notes(read: Sequence[TimedRow]) -> Iterator[str]:
    early = sum(later.arrival_s < row.arrival_s for row, later in pairwise(read))
    if early:
        yield f"not in order of arrival: {counted(early, 'job')} before the one above; sorted here"


def _notes(kept: Sequence[TimedRow], work: Workload, begin_s: float) -> Iterator[str]:
    if begin_s > 0:
        yield f"arrivals count from the file's first one, which is at {begin_s:.15g} s there"
    yield f"a job's steps are its run time x the built-in speed of its model on {work.reference}"
    listed = {row["gpus"] for row in work.rows}
    odd = sum(row.gpus not in listed for row in kept)
    if odd:
        yield f"{counted(odd, 'job')} with a number of GPUs that the built-in speeds lack: a power law fills it"
    hopeless = sum(row.rewards is not None and row.rewards[-1][0] < row.duration_s for row in kept)
    if hopeless:
        yield f"{counted(hopeless, 'job')} with the last deadline before the run time is over, kept"
