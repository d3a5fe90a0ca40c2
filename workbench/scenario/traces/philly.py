"""Microsoft's trace of Philly: `cluster_job_log`, a JSON list of jobs with their attempts.

`{status: Pass|Killed|Failed, vc, jobid, attempts: [{start_time, end_time, detail: [{ip, gpus: [...]}]}],
submitted_time, user}`, times `YYYY-MM-DD HH:MM:SS`, local and without a zone. A job's GPUs are those of its first
attempt, its run time goes from the first start to the last end, attempts that failed and the pauses between included.
Its virtual cluster, first start, state and number of further attempts are its attributes.
A time may be null, empty or "None"; a last end that is missing is a job still running, whose run time nobody knows.

The trace names no models (`workbench.scenario.traces.timed` says which a job gets). All jobs are best effort;
`workbench.scenario.traces.deadlines` gives them deadlines.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.dropped_rows import ConversionSummary, Drops
from workbench.scenario.traces.slurm_site import texts
from workbench.scenario.traces.timed import TimedRow, assemble, dated, name_problem, started, time_problem
from workbench.scenario.traces.trace_file import TraceCut, read_json, read_time, source_name

FORMAT = "philly"
TRACE = "Philly's cluster_job_log: a JSON list of jobs with jobid, submitted_time and attempts"
STATES = ("Pass", "Killed", "Failed")
KEYS = ("jobid", "user", "status", "submitted_time", "attempts")
"""What is read of a job."""
NO_TIME = (None, "", "None")


def convert(source: str | Path, throughputs: str | Path | None, cut: TraceCut) -> tuple[Scenario, ConversionSummary]:
    """A scenario from a log and a cluster (see `workbench.scenario.traces.Loader`); there is no file of throughputs.

    Jobs keep their id, user, GPUs and run time. from_s and to_s are seconds after the log's first submission. A job's
    model is drawn with `seed` and is the same whatever window or sample is kept.
    """
    cut.check_without_speeds(FORMAT, throughputs)
    drops = Drops()
    rows, first = dated(list(read_log(source, drops)))
    notes = ["line numbers count the jobs of the list"]
    return assemble(source, FORMAT, rows, drops, cut, notes, STATES[0], first=first)


def read_log(source: str | Path, drops: Drops) -> Iterable[TimedRow]:
    """The jobs that can be read, arrivals from `trace_file.EPOCH`; the others go to `drops`.

    Raises InputError if the file is no list of objects.
    """
    data = read_json(source, TRACE)
    if not isinstance(data, list) or not data:
        raise InputError(source_name(source), data, TRACE)
    return drops.sift(enumerate(data, start=1), _entry)


def _entry(line: int, job: Any) -> TimedRow | str:
    """One job of the list, or the reason why it is none."""
    if not isinstance(job, dict) or not all(key in job for key in KEYS):
        return f"not an object with {', '.join(KEYS)}"
    if job["status"] not in STATES:
        return f"status none of {', '.join(STATES)}"
    attempts = job["attempts"]
    if not isinstance(attempts, list) or not all(isinstance(attempt, dict) for attempt in attempts):
        return "attempts are not a list of objects"
    problem = name_problem("jobid", _text(job["jobid"])) or name_problem("user", _text(job["user"]))
    if problem:
        return problem
    if not attempts:
        return "no attempts: it never ran"
    if job["submitted_time"] in NO_TIME:
        return "no submitted_time"
    if attempts[0].get("start_time") in NO_TIME:
        return "no start_time of its first attempt"
    if attempts[-1].get("end_time") in NO_TIME:
        return "no end_time of its last attempt: still running"
    said = (job["submitted_time"], attempts[0]["start_time"], attempts[-1]["end_time"])
    submitted_s, start_s, end_s = (read_time(_text(text), " ") for text in said)
    if submitted_s is None or start_s is None or end_s is None:
        return "a time that is not YYYY-MM-DD HH:MM:SS, 1990 to 2099"
    gpus = _gpus(attempts[0].get("detail"))
    if isinstance(gpus, str):
        return gpus
    duration_s, vc = end_s - start_s, job.get("vc")
    times = started(submitted_s, start_s, duration_s)
    facts: dict[str, float | str] = {"state": job["status"], **(texts("partition", vc) if isinstance(vc, str) else {})}
    if len(attempts) > 1:
        facts["restarts"] = len(attempts) - 1.0
    return time_problem(0.0, duration_s) or TimedRow(
        line,
        job["jobid"],
        None,
        gpus,
        submitted_s,
        duration_s,
        job["user"],
        ended=job["status"],
        times=times,
        facts=facts,
    )


def _gpus(detail: Any) -> int | str:
    """GPUs of an attempt over its nodes, or why there are none."""
    if not isinstance(detail, list) or not all(isinstance(node, dict) for node in detail):
        return "detail of its first attempt is not a list of nodes"
    held = [node.get("gpus") for node in detail]
    if not all(isinstance(gpus, list) for gpus in held):
        return "a node without a list of GPUs"
    return sum(len(gpus) for gpus in held if isinstance(gpus, list)) or "0 GPUs"


def _text(value: Any) -> str:
    """A name as it is written; nothing for what is no text."""
    return value if isinstance(value, str) else ""
