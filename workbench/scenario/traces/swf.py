"""The Standard Workload Format of the Parallel Workloads Archive (SWF 2.2): 18 numbers a line, header lines with `;`.

    1 job   2 submitted (s)   3 wait   4 run time (s)   5 processors   6 CPU time   7 memory
    8 processors asked for   9 time asked for   10 memory asked for   11 status   12 user   13 group
    14 program   15 queue   16 partition   17 job before   18 think time

-1 is unknown. Read are 1, 2, 4, 5 (8 where it is unknown), 11 and 12; 3, 7, 9, 13, 15, 16 and 17 are attributes of the
jobs (start_s, memory_mb, limit_s, account, qos, partition, dependency: it begins after that job's end). Status 0
failed, 1 completed, 5 cancelled, -1 unknown; 2, 3 and 4 are parts of a job that has a line of its own.

Processors become GPUs by one rule (ours): a node of the log is the largest node of the cluster. A log with
q = MaxProcs / MaxNodes processors a node (header) on nodes of g GPUs makes of p processors ceil(p g / q) GPUs. Without
these two header lines, or with q at most 1, a processor is a GPU.

`UnixStartTime` of the header is the date of second 0 (in UTC).

The log names no models (`workbench.scenario.traces.timed` says which a job gets). All jobs are best effort.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from workbench.base.errors import InputError, Words, counted
from workbench.base.text import is_name
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.dropped_rows import ConversionSummary, Drops
from workbench.scenario.traces.timed import (
    TimedRow,
    assemble,
    gpu_count,
    name_problem,
    plain_cluster,
    started,
    time_problem,
)
from workbench.scenario.traces.trace_file import TraceCut, number, read_lines, source_name

FORMAT = "swf"
FIELDS = 18
TRACE = f"a log in the Standard Workload Format: {FIELDS} numbers a line, header lines that begin with ;"
STATES = {-1: "unknown", 0: "failed", 1: "completed", 5: "cancelled"}
PARTS = (2, 3, 4)
_FACT = re.compile(r";\s*(MaxNodes|MaxProcs|UnixStartTime)\s*:\s*(\d{1,10})\b", re.ASCII)
LAST_DATE_S = 4102444800
"""The year 2100, since 1970."""


def convert(source: str | Path, throughputs: str | Path | None, cut: TraceCut) -> tuple[Scenario, ConversionSummary]:
    """A scenario from a log and a cluster (see `workbench.scenario.traces.Loader`); there is no file of throughputs.

    Jobs are called `job-NUMBER`, users `user-NUMBER`; from_s and to_s are seconds as in the log.
    """
    cut.check_without_speeds(FORMAT, throughputs)
    gpus_per_node = max(node.gpus for node in plain_cluster(cut.cluster, source_name(source)).each_node)
    lines = read_lines(source, TRACE)
    facts = header_of(lines)
    gpus_of, rule = processor_rule(facts, gpus_per_node)
    drops = Drops()
    rows = list(read_log(source, lines, gpus_of, drops))
    since_s = facts.get("UnixStartTime", 0)
    first = datetime(1970, 1, 1) + timedelta(seconds=since_s) if 0 < since_s < LAST_DATE_S else None
    return assemble(source, FORMAT, rows, drops, cut, [rule], STATES[1], first=first, begins_with="UnixStartTime")


def header_of(lines: list[tuple[int, str]]) -> dict[str, int]:
    """What the header says, as far as it is read."""
    header = (_FACT.match(text) for _, text in lines if text.startswith(";"))
    return {found[1]: int(found[2]) for found in header if found}


def processor_rule(facts: Mapping[str, int], gpus_per_node: int) -> tuple[Callable[[int], int], str]:
    """GPUs from processors, by the header; and the rule in words."""
    nodes, processors = facts.get("MaxNodes", 0), facts.get("MaxProcs", 0)
    if nodes < 1 or processors <= nodes:
        return int, "a processor of the log is a GPU: its header does not give several processors a node"
    rule = f"a node of the log ({processors / nodes:.4g} processors) is a node of {gpus_per_node} GPUs, rounded up"
    return lambda count: -(-count * gpus_per_node * nodes // processors), rule


def read_log(
    source: str | Path, lines: list[tuple[int, str]], gpus_of: Callable[[int], int], drops: Drops
) -> Iterable[TimedRow]:
    """The jobs that can be read; the others go to `drops`.

    Raises InputError if no line has 18 fields.
    """
    rows = [(line, text.split()) for line, text in lines if not text.startswith(";")]
    if not any(len(fields) == FIELDS for _, fields in rows):
        found = f"{counted(len(rows[0][1]), 'field')} in line {rows[0][0]}" if rows else "no line but header lines"
        raise InputError(source_name(source), Words(found), TRACE)
    return drops.sift(rows, lambda line, fields: _row(line, fields, gpus_of))


def _row(line: int, fields: list[str], gpus_of: Callable[[int], int]) -> TimedRow | str:
    """The job of one line, or the reason why it is none."""
    if len(fields) != FIELDS:
        return f"{counted(len(fields), 'field')} instead of {FIELDS}"
    job, submitted_s, run_s, held, asked, status, user = (number(fields[i]) for i in (0, 1, 3, 4, 7, 10, 11))
    if job is None or submitted_s is None or run_s is None:
        return "job, submission or run time is not a finite number"
    if held is None or asked is None or status is None or user is None:
        return "processors, status or user is not a finite number"
    if status in PARTS:
        return "a part of a job (status 2, 3 or 4), which has a line of its own"
    if status not in STATES:
        return "status none of -1 to 5"
    if run_s in (0, -1):
        return "run time 0 or unknown: it never ran"
    if max(held, asked) <= 0:
        return "processors neither held nor asked for"
    processors = gpu_count("number of processors", held if held > 0 else asked)
    if isinstance(processors, str):
        return processors
    problem = name_problem("job number", fields[0]) or time_problem(submitted_s, run_s)
    called = f"user-{fields[11]}" if user >= 0 else None
    if problem:
        return problem
    gpus, ended = gpus_of(processors), STATES[int(status)]
    wait_s, memory_kb, limit_s = (number(fields[i]) for i in (2, 6, 8))
    facts: dict[str, float | str] = {"state": ended, "cpus": float(processors)}
    if limit_s is not None and limit_s > 0:
        facts["limit_s"] = limit_s
    if memory_kb is not None and memory_kb > 0:
        facts["memory_mb"] = memory_kb / 1024 * processors
    for name, i in (("account", 12), ("qos", 14), ("partition", 15)):
        known = number(fields[i])
        facts |= {} if known is None or known < 0 or not is_name(fields[i]) else {name: fields[i]}
    if (before := number(fields[16]) or -1.0) > 0:
        facts["dependency"] = f"afterany:{before:.0f}"
    times = started(submitted_s, None if wait_s is None or wait_s < 0 else submitted_s + wait_s, run_s)
    return TimedRow(
        line, f"job-{fields[0]}", None, gpus, submitted_s, run_s, called, ended=ended, times=times, facts=facts
    )
