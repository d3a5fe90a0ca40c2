"""SenseTime's traces of Helios: `cluster_log.csv` of one of its clusters, one job a row.

Columns: job_id, user, vc, gpu_num, cpu_num, node_num, state, submit_time, start_time, end_time, duration, queue. Times
are `YYYY-MM-DD HH:MM:SS`, local and without a zone; duration (end_time - start_time) is in seconds. When a job started,
its virtual cluster, CPUs, nodes and state are its attributes. About half of the jobs ask for no GPU. Jobs that did not
complete ran as long as they did; one that is only suspended is dropped.

The trace names no models (`workbench.scenario.traces.timed` says which a job gets). All jobs are best effort.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.dropped_rows import ConversionSummary, Drops
from workbench.scenario.traces.slurm_site import texts
from workbench.scenario.traces.timed import TimedRow, assemble, dated, gpu_count, name_problem, started, time_problem
from workbench.scenario.traces.trace_file import TraceCut, number, read_table, read_time

FORMAT = "helios"
COLUMNS = ("job_id", "user", "gpu_num", "state", "submit_time", "duration")
"""The columns that are read."""
OPTIONAL = ("start_time", "vc", "cpu_num", "node_num")
TRACE = f"a Helios trace: CSV with the columns {', '.join(COLUMNS)}"
ENDED = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL")
STATES = (*ENDED, "SUSPENDED")


def convert(
    source: str | Path, throughputs: str | Path | None, cut: TraceCut, keep: Sequence[str] = ()
) -> tuple[Scenario, ConversionSummary]:
    """A scenario from a trace and a cluster (see `workbench.scenario.traces.Loader`); there is no file of throughputs.

    Jobs are called `job-ID` and keep user, GPUs and run time. from_s and to_s are seconds after the first submission.
    """
    cut.check_without_speeds(FORMAT, throughputs)
    drops = Drops(tuple(keep))
    rows, first = dated(list(read_trace(source, drops)))
    return assemble(source, FORMAT, rows, drops, cut, [], ENDED[0], first=first)


def read_trace(source: str | Path, drops: Drops) -> Iterable[TimedRow]:
    """The jobs that can be read, arrivals from `trace_file.EPOCH`; the others go to `drops`.

    Raises InputError if there is no header with the columns.
    """
    return drops.sift(read_table(source, TRACE, COLUMNS, drops, optional=OPTIONAL).rows, _row)


def _row(line: int, cells: Mapping[str, str]) -> TimedRow | str:
    """The job of one line, or the reason why it is none."""
    gpus = gpu_count("gpu_num", number(cells["gpu_num"]))
    if isinstance(gpus, str):
        return gpus
    state = cells["state"]
    if state not in STATES:
        return f"state none of {', '.join(STATES)}"
    if state not in ENDED:
        return f"not ended: {state}"
    submitted_s, duration_s = read_time(cells["submit_time"], " "), number(cells["duration"])
    if submitted_s is None:
        return "submit_time is not YYYY-MM-DD HH:MM:SS, 1990 to 2099"
    if duration_s is None:
        return "duration is not a finite number"
    if duration_s == 0:
        return "run time 0: it never ran"
    problem = (
        name_problem("job_id", cells["job_id"]) or name_problem("user", cells["user"]) or time_problem(0.0, duration_s)
    )
    name = f"job-{cells['job_id']}"
    counts = {"cpus": number(cells.get("cpu_num", "")), "nodes": number(cells.get("node_num", ""))}
    facts = {key: value for key, value in counts.items() if value} | texts("partition", cells.get("vc", ""))
    start_s = read_time(cells.get("start_time", ""), " ")
    return problem or TimedRow(
        line,
        name,
        None,
        gpus,
        submitted_s,
        duration_s,
        cells["user"],
        ended=state,
        times=started(submitted_s, start_s, duration_s),
        facts={**facts, "state": state},
    )
