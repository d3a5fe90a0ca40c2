"""What the files of a Slurm site add to the rows of its log, the rows to what the files leave out, and what is told of
both."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from workbench.base.errors import InputError, Words, counted
from workbench.base.labels import listed
from workbench.base.text import is_name
from workbench.base.units import format_duration
from workbench.scenario.traces.cluster_spec import EXPECTED as CLUSTER
from workbench.scenario.traces.dropped_rows import Drops, without_lines
from workbench.scenario.traces.slurm_site import CPU, SeenNode, Site
from workbench.scenario.traces.slurm_text import GOING_ON, given
from workbench.scenario.traces.timed import TimedRow
from workbench.scenario.traces.trace_file import EPOCH, source_name

AROUND, BACK_S, MOST_TOLD = 5, 600.0, 3
"""Jobs before and after a place where a clock may have been set back, by at least so much; places that are told."""
GAP_S = 30 * 86400.0
"""From this on a time without submissions and starts is told."""
TOLD = {name: name for name in ("Start", "Eligible", "User", "Account", "Partition", "QOS", "NodeList")}
TOLD |= {"SubmitLine": "SubmitLine (dependencies, --nice, --nodelist)"}
"""Columns without which waits, limits or dependencies are not known, in words."""
MOST_TASKS = 20
"""Of an array that waits: backfill looks at no more (bf_max_job_array_resv)."""
Found = TypeVar("Found")


@dataclass(slots=True)
class Log:
    """What is counted while rows are read, odd and unread by line (0: of none): rows that are dropped count once."""

    drops: Drops
    throttles: dict[str, int] = field(default_factory=dict)
    zoned: set[bool] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    line: int = 0
    odd: Counter[tuple[str, int]] = field(default_factory=Counter)
    unread: Counter[tuple[str, int]] = field(default_factory=Counter)
    told: set[str] = field(default_factory=set)
    waited: list[tuple[int, Mapping[str, str]]] = field(default_factory=list)

    def read(self, cells: Mapping[str, str], column: str, reader: Callable[[str], Found | None]) -> Found | None:
        """What a cell says; nothing, which is counted by its column, where it says something that nobody can read."""
        text = cells.get(column, "")
        found = reader(text)
        self.unread[column, self.line] += not found and found != 0 and given(text) is not None
        return found

    def tell(self, what: str, some: int = 1) -> None:
        """Count something of the row that is read."""
        self.odd[what, self.line] += some


def observed(site: Site, rows: Sequence[TimedRow], given_nodes: bool, source: str | Path) -> Iterator[str]:
    """Fill in what the files do not say of the nodes where jobs ran: the most that jobs held at once.

    Raises InputError where the log does not say on which nodes jobs ran, and no file says which there are.
    """
    changes, known = dict[str, list[tuple[float, int, str, float]]](), {*site.nodes}
    for row in rows:
        for host in row.hosts:
            facts = site.nodes.setdefault(host, SeenNode())
            partition = str(row.facts.get("partition", ""))
            if partition and not any(facts.partitions) and not given_nodes:
                facts.partitions = [partition]
            elif partition and partition not in facts.partitions and not given_nodes:
                facts.partitions.append(partition)
            if len(row.ran_on) > 1:
                continue  # nobody knows which node had how many of which type
            each = -(-row.gpus // len(row.hosts))
            kind = row.ran_on[0] if row.ran_on else "gpu"
            cpus = float(row.facts.get("cpus", 0.0)) / len(row.hosts)
            begin = row.times.get("start_s", row.arrival_s)
            for sign, at_s in ((1, begin), (-1, begin + row.duration_s)):
                changes.setdefault(host, []).append((at_s, sign * each, kind, sign * cpus))
    if not site.nodes:
        expected = (
            f"--nodes with what sinfo or scontrol prints, the column NodeList in the log, or --cluster: {CLUSTER}"
        )
        raise InputError(f"{source_name(source)}, nodes", Words("none known"), expected)
    seen = [host for host in changes if not site.nodes[host].gres and not site.nodes[host].cpus]
    lacking = [host for host in changes if not site.nodes[host].gres]
    for host in lacking:
        facts, now, most = site.nodes[host], Counter[str](), Counter[str]()
        cpus = held = 0.0
        for _, gpus, kind, used in sorted(changes[host]):
            now[kind] += gpus
            most[kind] = max(most[kind], now[kind])
            held += used
            cpus = max(cpus, held)
        facts.gres = {kind: number for kind, number in most.items() if number}
        facts.cpus = facts.cpus or int(cpus)
    more = [host for host in seen if given_nodes and host not in known]
    if more:
        gpus = sum(sum(site.nodes[host].gres.values()) for host in more)
        yield (
            f"{counted(len(more), 'node')} of the log that no file has ({listed(more, 3)}) beside its {len(known)}: "
            f"{counted(gpus, 'GPU')} more, as jobs held them at once; gone since, or a NodeList that is wrong?"
        )
    guessed = [host for host in seen if host in known] if given_nodes else lacking
    if any(site.nodes[host].gres for host in guessed):
        yield f"{counted(len(guessed), 'node')} with the GPUs that jobs of the log held at once: no file says how many"


def with_types(rows: Iterable[TimedRow], site: Site) -> Iterator[TimedRow]:
    """The rows; one without a type has those of the nodes where it ran, else those of its partition."""
    may: dict[str, tuple[str, ...]] = {}
    for row in rows:
        partition = str(row.facts.get("partition", ""))
        if partition not in may:
            may[partition] = site.types(site.of_partition(partition))
        found = row.ran_on or (site.types(row.hosts) or may[partition] if row.gpus else ())
        ran_on = row.ran_on or tuple(kind for kind in found if "g." not in kind) or found
        yield replace(row, ran_on=ran_on, may=may[partition])


def on_cpus(row: TimedRow) -> TimedRow:
    """A job without GPUs holds CPUs; one that does not say how many holds one."""
    if row.gpus:
        return row
    return replace(row, gpus=max(int(float(row.facts.get("cpus", 1.0))), 1), ran_on=(CPU,))


def as_entities(rows: Iterable[TimedRow], begin_s: float) -> list[dict[str, Any]]:
    """Jobs that never ran, or elsewhere, as entities, those that were still there at the begin; times from it."""
    found = dict[str, dict[str, Any]]()
    for row in rows:
        times = {name: at_s - begin_s for name, at_s in row.times.items() if at_s < math.inf}
        if times.get("end_s", 1.0) > 0 and all(map(is_name, (row.name, row.user or "-", *row.ran_on))):
            facts = {"kind": "beside", "name": row.name, "gpus": float(row.gpus), "types": ",".join(row.ran_on)}
            facts |= {"user": row.user} if row.user else {}
            found[row.name] = {"name": f"beside {row.name}", "attributes": {**row.facts, **facts, **times}}
    return list(found.values())


def gaps(rows: Sequence[TimedRow]) -> Iterator[str]:
    """Where nothing was submitted and nothing began for long: by a clock that jumped a log may last for years."""
    times_s = sorted({at_s for row in rows for name in ("submit_s", "start_s") if (at_s := row.times.get(name))})
    for before_s, after_s in pairwise(times_s):
        if after_s - before_s > GAP_S:
            since, until = (f"{EPOCH + timedelta(seconds=at_s):%Y-%m-%d %H:%M}" for at_s in (before_s, after_s))
            yield f"no job was submitted or began from {since} to {until}: two logs, or a clock that jumped?"


def set_back(rows: Sequence[TimedRow]) -> Iterator[str]:
    """Where a controller's ids rise and Submit falls, by the middle of five jobs before and of five after it: one job
    alone may have been requeued, with a later Submit."""
    first_s = dict[int, float]()
    for row in rows:
        if match := re.match(r"job-(\d+)", row.name, re.ASCII):
            first_s[int(match[1])] = min(row.times["submit_s"], first_s.get(int(match[1]), math.inf))
    ids = sorted(first_s)
    times_s = np.array([first_s[each] for each in ids])
    if len(ids) < 2 * AROUND:
        return
    middle_s, usual_s = np.median(sliding_window_view(times_s, AROUND), axis=1), np.median(np.diff(times_s))
    falls_s = middle_s[:-AROUND] - middle_s[AROUND:]
    falls_s[falls_s > 0] += AROUND * usual_s
    most_s = np.array([falls_s[max(at - AROUND, 0) : at + AROUND + 1].max() for at in range(len(falls_s))])
    places = np.flatnonzero((falls_s > BACK_S) & (falls_s == most_s)).tolist()
    for at in places[:MOST_TOLD]:
        job = ids[at + AROUND]
        by, when = format_duration(float(falls_s[at]), parts=2), EPOCH + timedelta(seconds=first_s[job])
        told = f"from about job {job} on ({when:%Y-%m-%d %H:%M}) ids rise and Submit is {by} earlier"
        yield f"{told}: a clock set back, or two logs?"
    if len(places) > MOST_TOLD:
        yield f"ids rise and Submit falls {counted(len(places) - MOST_TOLD, 'more time')}"


def held_to_a_type(rows: Sequence[TimedRow], models: Mapping[str, str]) -> int:
    """How many jobs asked for no type of GPU, in partitions whose jobs ran on several. models: of the jobs that are
    kept; those that run on other types too, by a ratio, name them (` x 1.8`)."""
    ran_on = dict[object, set[tuple[str, ...]]]()
    for row in rows:
        ran_on.setdefault(row.facts.get("partition"), set()).add(row.ran_on)
    mixed = {name for name, types in ran_on.items() if len(types - {(CPU,)}) > 1}
    held = [row for row in rows if "asked" not in row.facts and row.ran_on not in ((CPU,), ())]
    return sum(row.facts.get("partition") in mixed and " x " not in models.get(row.name, " x ") for row in held)


def notes_of(log: Log, site: Site, rows: Sequence[TimedRow], beside: Sequence[TimedRow]) -> Iterator[str]:
    """What an operator should know of the log. rows: the jobs of the scenario; beside: those that only slurm knows."""
    ran = {row.line for row in beside if "start_s" in row.times}  # slurm knows these, and those that wait in its queue
    odd = without_lines(log.odd, log.drops.lines - ran)
    unread = without_lines(log.unread, log.drops.lines - {row.line for row in beside})
    going = sum(row.facts["state"] in GOING_ON for row in rows)
    elsewhere = sum("start_s" in row.times for row in beside)
    waited = len(beside) - elsewhere
    on_cpus = sum(row.ran_on == (CPU,) for row in rows)
    kinds = [
        set(re.findall(r"[a-z]+|[?]", str(row.facts.get("dependency", "")))) - {"afterok", "afterany"} for row in rows
    ]
    ids = [
        (re.match(r"job-(\d+)", row.name), re.findall(r":(\d+)", str(row.facts.get("dependency", "")))) for row in rows
    ]
    later = sum(any(int(other) >= int(own[1]) for other in others) for own, others in ids if own)
    otherwise = f"for others by {listed(sorted(set().union(*kinds)))}: eligible when the log says, whatever changes"
    counts = (
        (going, "job", "still ran: they hold their GPUs as long as the log saw them, how much longer is unknown"),
        (on_cpus, "job", f"without GPUs: on the type {CPU}, whose slots are CPUs; measures count them as GPUs"),
        (odd["held to a type"], "job", "asked for no type, wait for the one where they ran: longer (--ratios)"),
        (waited, "job", "never started in the log: slurm has them in its queue as long as that had, and starts none"),
        (odd["held"], "line", "of jobs that never started, held or never eligible as far as the log says: in no queue"),
        (odd["unread"], "line", "of jobs that never started whose number of GPUs cannot be read: in no queue"),
        (odd["for no GPUs"], "job", "never started, asked for no GPUs: in no queue"),
        (odd["nowhere"], "job", "never started, of partitions without nodes in the files: in no queue"),
        (odd["without GPUs"], "job", "never started, of partitions without GPUs in the files: in no queue"),
        (odd["tasks"], "task", f"of arrays that never started beyond the first {MOST_TASKS} of each: not in it"),
        (odd["cut arrays"], "array", "never started whose list of tasks sacct cut (`...`): those it names are in it"),
        (odd["unread arrays"], "array", "never started with tasks that cannot be read: these are not in it"),
        (elsewhere, "job", "on nodes that are left out: slurm counts them in limits and fair share as they ran"),
        (odd["partitions"], "job", "named several partitions: held to the one where they ran"),
        (sum(map(bool, kinds)), "job", f"waited {otherwise}"),
        (later, "job", "named themselves, or jobs of larger numbers, to wait for: they wait for none of these"),
        (odd["earlier attempts"], "earlier attempt", "of requeued jobs, each a job of its own that ran as it did"),
        (
            sum(row.facts["state"] == "PREEMPTED" for row in rows),
            "run",
            "ended by preemption, which slurm here has not",
        ),
        (odd["eligible before submission"], "job", "eligible before submission (a clock jumped): since submission"),
        (odd["start before eligible"], "job", "started before they were eligible (a clock jumped): waited 0 s"),
        (odd["start before submission"], "job", "started before submission (a clock jumped): at End less the run time"),
        (odd["ends early"], "job", "ended sooner than the run time allows (a clock jumped): it counts, not End"),
        (odd["Start"] * ("Start" in log.told), "job", "began nobody knows when: there is no wait to compare"),
        (odd["Eligible"] * ("Eligible" in log.told), "job", "eligible nobody knows when: since submission"),
        (odd["nodes"], "job", "with another number of nodes in NNodes than in NodeList, which counts"),
        (
            odd["ghosts"],
            "job",
            "on more nodes by NodeList than NNodes or its GPUs: NNodes counts, where it ran is unknown",
        ),
        (sum(not row.user for row in rows), "job", "of nobody: no limit of a user holds them, and no share is theirs"),
        (
            sum("partition" not in row.facts for row in rows) * ("Partition" in log.told),
            "job",
            "of no partition, which may run anywhere",
        ),
        (odd["het"], "part", "of heterogeneous jobs (12+0): each a job of its own; Slurm starts them together"),
        (odd["reservation"], "job", "of a reservation whose name sacct --json does not print: as if they named none"),
        (odd["over limit"], "job", "ran over a minute longer than the time limit, kept as they ran"),
    )
    yield from (f"{counted(some, noun)} {text}" for some, noun, text in counts if some)
    yield from (*gaps(rows), *set_back(rows))
    if lacking := [words for column, words in TOLD.items() if column not in log.told]:
        yield f"the log says nothing of {listed(lacking, len(lacking))}"
    if not site.has_rules:
        yield (
            "no file says what limits, priorities and backfill are (--limits, --config): under slurm no limit holds, "
            "and first come is first served"
        )
    if cells := [f"{column} ({some})" for column, some in unread.items() if some]:
        yield f"cells that cannot be read, as if they were empty: {listed(cells)}"
    if True in log.zoned:
        yield "times have a zone: dates and hours are UTC's here, also those of a question"
    if len(log.zoned) > 1:
        yield "times with and without a zone in one log: those without count as UTC"
    if site.zoned and log.zoned and site.zoned != log.zoned:
        yield "times with a zone in one file and without in another: those without count as UTC"
    partitions, reservations = (
        Counter(str(row.facts[name]) for row in rows if row.facts.get(name)) for name in ("partition", "reservation")
    )
    yield from site.unknown(partitions, reservations)
    several = {"user": "users", "account": "accounts", "qos": "QOS"}
    for kind, whom in several.items():  # counted, not named: names may be pseudonyms elsewhere
        known = {names[0] for each, *names in site.entries if each == kind}
        whose = [row.user if kind == "user" else row.facts.get(kind) for row in rows] if known else []
        if some := sum(bool(name) and name not in known for name in whose):
            yield f"{counted(some, 'job')} of {whom} that no file has: no limit of theirs holds"
    yield from site.notes
