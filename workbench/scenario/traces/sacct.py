"""Slurm's accounting, in every dialect of `sacct` that has JobID, Submit, State, a run time and resources. Asked for as

    sacct -a -X -D -S 2024-03-01 -E 2024-04-01 --parsable2 --format=COMMAND

all that is read is there (`COMMAND`, below). Cells stand between `|`, the first line names the columns, in any order;
without it (`-n`) `columns` names them. Also read: `-p`, job steps among the jobs (left out), older columns (AllocGRES,
ElapsedRaw, TimelimitRaw), times with zones or in seconds since 1970, and `sacct --json`.

- *Resources.* GPUs are `gres/gpu:type=N`, else `gres/gpu=N` of the type of the nodes where the job ran, of AllocTRES,
  else of ReqTRES. MIG slices (`gres/gpu:a100_1g.5gb`) and shards are types of their own. Jobs without GPUs on nodes
  or in partitions that have some run on CPUs, as the type `cpu`; those of other partitions are left out.
- *Attempts.* With `-D` a requeued job has a row for each attempt: each ran as it did, the last one keeps the name.
- *Times.* A job arrives when it was eligible (Eligible, else Submit): its recorded wait is Start - Eligible. Elapsed is
  its run time, without suspensions. A job that still ran holds its GPUs as long as the log saw it.
- Jobs that never ran (PENDING, or cancelled before) are no jobs of the scenario: nobody knows their run time. Entities
  (`beside`) tell `slurm` who else was in the queue, from when to when, and which jobs left out ran, as they did.

Jobs are as recorded (see `workbench.scenario.traces.timed`), best effort; what else the row says are attributes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from workbench.base.errors import InputError, Words
from workbench.base.files import parse_json
from workbench.base.labels import listed
from workbench.base.text import is_name
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.dropped_rows import ConversionSummary, Drops
from workbench.scenario.traces.slurm_rows import (
    MOST_TASKS,
    TOLD,
    Log,
    as_entities,
    held_to_a_type,
    notes_of,
    observed,
    on_cpus,
    with_types,
)
from workbench.scenario.traces.slurm_site import CPU, JobStart, Site
from workbench.scenario.traces.slurm_text import (
    ENDED,
    GOING_ON,
    OR,
    allotted,
    count,
    first_of,
    from_header,
    given,
    gpus_by_type,
    hosts,
    is_zoned,
    jobs_before_cut,
    json_cells,
    megabytes,
    one_bar_a_column,
    seconds,
    submitted,
    timestamp,
)
from workbench.scenario.traces.timed import (
    Recording,
    TimedRow,
    assemble,
    dated,
    gpu_count,
    name_problem,
    read_ratios,
    time_problem,
)
from workbench.scenario.traces.trace_file import TraceCut, account, read_any, read_table, source_name

FORMAT = "sacct"
COLUMNS = ("JobID", "Submit", "State")
TRES = ("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES")
SPAN = ("Start", "End")
TEXTS = {"Partition": "partition", "Account": "account", "QOS": "qos", "Reason": "reason", "Constraints": "features"}
"""Columns that are attributes of jobs as they stand."""
OPTIONAL = (
    *(*TRES, "Elapsed", "ElapsedRaw", *SPAN, "User", "Eligible", "Timelimit", "TimelimitRaw", "NNodes", "NodeList"),
    *("AllocCPUS", "ReqMem", "Reservation", "Priority", "Flags", "SubmitLine", *TEXTS),
)
COMMAND = (
    "JobID,User,Account,Partition,QOS,Submit,Eligible,Start,End,Elapsed,Timelimit,State,Reason,NNodes,NodeList,"
    "AllocTRES,ReqTRES,Constraints,Reservation,Priority,Flags,SubmitLine"
)
"""All that is read. SubmitLine comes last: it may hold a `|`."""
TRACE = (
    "Slurm's accounting as `sacct --parsable2` prints it, first the names of the columns (or --columns), "
    "with JobID, Submit, State, Elapsed, AllocTRES, ReqTRES; or `sacct --json`"
)
DATES = "is no time of 1990 to 2099 that sacct prints (YYYY-MM-DDTHH:MM:SS, with or without a zone, or seconds)"
WAITING = ("PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD")
AGAIN = ("NODE_FAIL", "PREEMPTED", "REQUEUED")
"""States of an attempt after which a job may wait again."""
APART = "no GPUs, on nodes without any"
OTHER_JOB = "another job with the id of an earlier row"
RAN_ON = "still ran: another row of the job tells more"
NEVER = "run time 0: it never ran"
TICK_S = 60.0
"""Seconds past its limit for which Slurm may let a job run: it looks twice a minute (KillWait, OverTimeLimit aside)."""
_JOB = re.compile(r"(\d+)_(\d+|\[(.*?)(?:%(\d+))?\])", re.ASCII)
_TASK = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::([1-9]\d{0,8}))?)?", re.ASCII)
_THROTTLE = re.compile(r"(?:^|\s)(?:-a|--array)[= ]?\s*[\d,:-]+%(\d{1,6})\b", re.ASCII)
_TASKS = re.compile(r"(?:^|\s)--ntasks-per-node[= ](\d{1,6})\b", re.ASCII)
_OPTIONS = {
    "dependency": re.compile(r"(?:^|\s)(?:-d|--dependency)[= ]\s*([\w:,?+]+)", re.ASCII),
    "nodelist": re.compile(r"(?:^|\s)(?:-w|--nodelist)[= ]\s*(\S+)"),
    "exclude": re.compile(r"(?:^|\s)(?:-x|--exclude)[= ]\s*(\S+)"),
}
_NICE = re.compile(r"(?:^|\s)--nice(?:=(-?\d{1,10}))?(?=\s|$)", re.ASCII)
_PARTITIONS = re.compile(r"(?:^|\s)(?:-p|--partition)[= ]?\s*[\w.-]+,[\w.,-]+", re.ASCII)


def convert(
    source: str | Path,
    throughputs: str | Path | None,
    cut: TraceCut,
    keep: Sequence[str] = (),
    *,
    columns: Sequence[str] = (),
    nodes: Sequence[str | Path] = (),
    limits: Sequence[str | Path] = (),
    shares: Sequence[str | Path] = (),
    config: Sequence[str | Path] = (),
    events: Sequence[str | Path] = (),
    ratios: str | Path | None = None,
) -> tuple[Scenario, ConversionSummary]:
    """A scenario from accounting data (see `workbench.scenario.traces.Loader`); there is no file of throughputs.

    columns: those of a log without a header; nodes, limits, shares, config, events: files as
    `workbench.scenario.traces.slurm_site` reads them; ratios: how fast jobs are on types where they did not run
    (`timed.Ratio`). Without nodes and without a cluster, the cluster is what jobs of the log were
    seen to use. Jobs are called `job-ID`. from_s and to_s are seconds after the first submission.
    """
    log, site, cluster = Log(Drops(tuple(keep))), Site(), cut.cluster
    for path in (*nodes, *limits, *shares, *config, *events):
        site.read(path)
    known_nodes = bool(site.nodes)
    if nodes and cluster is not None:
        raise InputError("cluster", Words("given"), "nothing beside --nodes, which says what the cluster is")
    site.settle()
    known = read_ratios(ratios) if ratios is not None else ()
    ran = list(_attempts(read_log(source, log, columns), log))
    waited = [] if cut.sample else list(_waited(log, ran))
    if cluster is None:
        site.notes += observed(site, [*{row.name: row for row in ran}.values()], known_nodes, source)
        read, queued, cluster = _on_nodes(log, site, ran, waited, source, whole=not cut.sample)
    else:
        log.drops.add_all("0 GPUs", (row.line for row in ran if not row.gpus))
        read, typed = ([row for row in rows if row.gpus] for rows in (ran, waited))
        log.odd["for no GPUs", 0] = len(waited) - len(typed)
        kinds = tuple(dict.fromkeys(str(group.get("accelerator")) for group in cluster.get("nodes", ())))
        queued = [replace(row, ran_on=row.ran_on or kinds) for row in typed]
    first = min((row.times["submit_s"] for row in read), default=0.0)
    inside = (row for row in queued if cut.to_s is None or row.arrival_s - first < cut.to_s)
    beside = [*{row.name: row for row in inside}.values()]  # each once, also of a log that has it twice
    starts = [_start(row) for row in read if "start_s" in row.times]
    rows, zero = dated(read)
    cut = cut._replace(cluster=cluster)
    cut.check_without_speeds(FORMAT, throughputs)
    recording = Recording(
        ratios=known,
        entities=lambda begin_s: [*site.entities(first + begin_s, starts), *as_entities(beside, first + begin_s)],
        outages=lambda begin_s, end_s, names: site.outages(first + begin_s, first + end_s, names),
    )
    scenario, summary = assemble(source, FORMAT, rows, log.drops, cut, [], ENDED[0], recording, zero)
    dropped = log.drops.lines
    kept = [row for row in read if row.line not in dropped]
    log.odd["held to a type", 0] = held_to_a_type(kept, {job.name: job.model for job in scenario.jobs})
    notes = (*summary.notes, *log.notes, *notes_of(log, site, kept, beside))
    return scenario, replace(summary, notes=notes)


def _on_nodes(
    log: Log, site: Site, ran: Sequence[TimedRow], waited: Sequence[TimedRow], source: str | Path, *, whole: bool
) -> tuple[list[TimedRow], list[TimedRow], dict[str, Any]]:
    """The jobs on the site's types, those beside them, and the cluster. ran, waited: in the log; whole: not a sample.

    Raises InputError where no job is left, or no node has GPUs.
    """
    typed, queued = list(with_types(ran, site)), list(with_types(waited, site))
    lost = [str(row.facts.get("partition", "")) for row in queued if not (row.ran_on or row.may)]
    log.odd["nowhere", 0] = sum(not site.of_partition(name) for name in lost)
    log.odd["without GPUs", 0] = len(lost) - log.odd["nowhere", 0]
    apart = {row.line: row for row in typed if not row.gpus and not row.may and not site.types(row.hosts)}
    log.drops.add_all(APART, sorted(apart))
    elsewhere = [row for row in apart.values() if "start_s" in row.times and whole and site.has_rules]
    read = [on_cpus(row) for row in typed if row.line not in apart]
    beside = [on_cpus(row) for row in (*queued, *elsewhere) if row.ran_on or row.may or row.line in apart]
    cpu_only = {host for row in read if row.ran_on == (CPU,) for host in row.hosts if host in site.nodes}
    cpu_only |= {each for host in cpu_only for each in site.nodes[host].partitions}
    if not read:
        account(source_name(source), FORMAT, read, log.drops)
    cluster = site.cluster({host for row in read for host in row.hosts}, cpu_only)
    if not cluster["nodes"]:
        expected = 'nodes with their GPUs: scontrol show nodes, or sinfo -N -o "%N|%P|%G|%c|%m|%f|%T"'
        raise InputError("nodes", Words("none with GPUs"), expected)
    return read, beside, cluster


def log_and_site(paths: Sequence[Path]) -> tuple[Path, list[Path]]:
    """The log among the files of its site, for whoever has them all together; raises InputError unless it is one."""
    logs = [path for path in paths if _is_log(read_any(path, TRACE)[0])]
    if len(logs) != 1:
        found = f"{len(logs)} logs ({listed([path.name for path in logs])})" if logs else "no log"
        raise InputError(f"{len(paths)} files", Words(found), f"one, beside files of its site: {TRACE}")
    return logs[0], [path for path in paths if path != logs[0]]


def _is_log(text: str) -> bool:
    """Whether it has jobs, by the names of its columns or lists."""
    head = text.lstrip()
    if head.startswith("{"):
        return '"jobs"' in head
    return COLUMNS[0] in from_header(head, COLUMNS)[0].lstrip().partition("\n")[0].strip().split("|")


# The table ------------------------------------------------------------------------------------------------------------


def read_log(source: str | Path, log: Log, columns: Sequence[str] = ()) -> Iterable[TimedRow]:
    """The jobs that can be read, times from `trace_file.EPOCH`; one without GPUs has 0. Others go to the log's drops.

    Raises InputError if there is no header with the columns.
    """
    text, odd = read_any(source, TRACE)
    log.notes += [odd] if odd else []
    if text.lstrip().startswith("{"):
        rows: Iterable[tuple[int, Mapping[str, str]]] = _json_rows(source, text, log)
        return log.drops.sift(rows, partial(_row, log))
    if not text.rstrip(" \t").endswith("\n"):
        log.notes.append("the last line has no end: it may have been cut, and its last cell with it")
    text, above = (text, []) if columns else from_header(text, COLUMNS)
    log.drops.add_all("above the names of columns", above)
    table, first = one_bar_a_column(text, columns), 0 if columns else 1  # names that the log lacks are not counted
    header, rows = read_table(source, TRACE, COLUMNS, log.drops, "|", OPTIONAL, quoted=False, text=table, first=first)
    if not set(TRES) & set(header):
        raise InputError(source_name(source), Words(f"neither {' nor '.join(TRES[:2])}"), TRACE)
    if not {"Elapsed", "ElapsedRaw"} & set(header) and not set(SPAN) <= set(header):
        raise InputError(source_name(source), Words(f"neither Elapsed nor {' and '.join(SPAN)}"), TRACE)
    return log.drops.sift(rows, partial(_row, log))


def _json_rows(source: str | Path, text: str, log: Log) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The jobs of `sacct --json` as rows, of a text that was cut those that are whole; line numbers count them."""
    try:
        data = parse_json(text)
    except ValueError as error:
        data = {"jobs": jobs_before_cut(text)}
        if not data["jobs"]:
            raise InputError(source_name(source), Words(str(error)), TRACE) from None
        log.notes.append(
            f"cut or damaged, of its list the first {len(data['jobs'])} jobs are read and none after them: {error}"
        )
    jobs = data.get("jobs") if isinstance(data, dict) else None
    if not isinstance(jobs, list) or not jobs:
        raise InputError(source_name(source), Words("no list `jobs`"), TRACE)
    log.notes.append("line numbers count the jobs of the list")
    for line, job in enumerate(jobs, start=1):
        try:
            yield line, json_cells(job)
        except (AttributeError, KeyError, TypeError):
            log.drops.add("not a job as sacct --json prints it", line)


# A row ----------------------------------------------------------------------------------------------------------------


def _row(log: Log, line: int, cells: Mapping[str, str]) -> TimedRow | str:
    """The job of one line, or the reason why it is none."""
    log.line, job = line, cells["JobID"]
    state = cells["State"].partition(" ")[0]  # what follows says by whom (CANCELLED by 1000)
    match = _JOB.fullmatch(job)
    if match and match[4]:
        log.throttles[match[1]] = int(match[4])
    if "." in job.partition("[")[0]:  # not `3_[1,3,...]`, which sacct cuts so
        return "a job step, not a job"
    if state in WAITING:
        log.waited.append((line, cells))
        return f"not ended: {state}"
    if state not in (*ENDED, *GOING_ON):
        return "State is none that sacct knows"
    found = allotted(cells)
    if isinstance(found, str):
        return found
    kinds, known = found
    submitted_s, duration_s = timestamp(cells["Submit"]), _duration_s(cells)
    if submitted_s is None:
        return f"Submit {DATES}"
    if isinstance(duration_s, str):
        if duration_s == NEVER:
            log.waited.append((line, cells))
        return duration_s
    log.zoned.add(is_zoned(cells["Submit"]))
    log.told.update(column for column in TOLD if cells.get(column))
    gpus = gpu_count("number of GPUs", float(sum(kinds.values()))) if kinds else 0
    if isinstance(gpus, str):
        return gpus
    user = given(cells.get("User"))
    problem = (
        name_problem("JobID", job) or (name_problem("User", user) if user else None) or time_problem(0.0, duration_s)
    )
    if problem:
        return problem
    times = _times(log, cells, submitted_s, duration_s)
    arrival_s = min(times["eligible_s"], times.get("start_s", times["eligible_s"]))
    log.tell("reservation", bool(cells.get("NoName")))
    log.tell("het", "+" in job)
    facts = _facts(cells, log, known)
    where = tuple(log.read(cells, "NodeList", lambda text: hosts(given(text) or "")) or ())
    nodes = float(facts.get("nodes", len(where)))
    if where and nodes != len(where):
        if 0 < gpus < len(where) or known.get("node") == nodes < len(where):  # two against one
            log.tell("ghosts")
            where, _ = (), facts.pop("hosts", None)
        else:
            log.tell("nodes")
            facts["nodes"] = float(len(where))
    log.tell("over limit", duration_s > float(facts.get("limit_s", duration_s)) + TICK_S)
    ran_on = tuple(kind for kind in kinds if kind != "gpu")
    ended = ENDED[0] if state in GOING_ON else state
    row = TimedRow(line, f"job-{job}", None, gpus, arrival_s, duration_s, user)
    return replace(row, ran_on=ran_on, ended=ended, times=times, hosts=where, facts=facts)


def _times(log: Log, cells: Mapping[str, str], submitted_s: float, duration_s: float) -> dict[str, float]:
    """When it was submitted and eligible, and when it ran."""
    eligible_s, start_s, end_s = (log.read(cells, name, timestamp) for name in ("Eligible", *SPAN))
    found = {"submit_s": submitted_s, "eligible_s": max(eligible_s or submitted_s, submitted_s)}
    log.tell("eligible before submission", eligible_s is not None and eligible_s < submitted_s)
    for name, at_s in (("Eligible", eligible_s), ("Start", start_s)):
        log.tell(name, at_s is None)
    if start_s is not None:
        jumped = end_s is not None and end_s < max(start_s + duration_s - TICK_S, start_s)
        log.tell("ends early", jumped)
        late = end_s is not None and start_s < submitted_s <= end_s - duration_s  # one of three is wrong: Start
        log.tell("start before submission", late)
        found["start_s"] = end_s - duration_s if late and end_s is not None else start_s
        log.tell("start before eligible", start_s < found["eligible_s"] >= found["start_s"])
        end_s = start_s + duration_s if end_s is None or jumped else end_s
    return found if end_s is None else {**found, "end_s": end_s}


def _facts(cells: Mapping[str, str], log: Log, known: Mapping[str, float | None]) -> dict[str, float | str]:
    """What else a row says, as attributes."""
    found: dict[str, Any] = {name: given(cells.get(column)) for column, name in TEXTS.items()}
    found["features"] = found["features"] and found["features"].replace(OR, "|")
    found["state"] = cells["State"].partition(" ")[0]
    limit_s = log.read(cells, "Timelimit", seconds)
    raw = log.read(cells, "TimelimitRaw", lambda text: seconds(text) if text.isalpha() else count(text))
    limit_s = raw * 60.0 if limit_s is None and raw is not None else limit_s
    found["limit_s"] = limit_s if limit_s is not None and limit_s < float("inf") else None
    found["nodes"] = log.read(cells, "NNodes", lambda text: count(text) or None) or known.get("node")
    found["cpus"] = known.get("cpu") or log.read(cells, "AllocCPUS", count)
    found["memory_mb"] = known.get("mem") or _memory_mb(log.read(cells, "ReqMem", megabytes), cells, found)
    found["priority"] = log.read(cells, "Priority", count)
    found["reservation"], found["hosts"] = (first_of(cells, name) for name in ("Reservation", "NodeList"))
    flags = cells.get("Flags", "")
    found["started_by"] = "main" if "SchedMain" in flags else "backfill" if "SchedBackfill" in flags else ""
    found["asked"] = ",".join(kind for kind in gpus_by_type(cells.get("ReqTRES", "")) if kind != "gpu")
    found["billing"] = known.get("billing")
    log.unread["AllocTRES", log.line] += any(known.get(name, 0.0) is None for name in ("cpu", "mem", "node", "billing"))
    command = submitted(cells.get("SubmitLine", "")) or cells.get("Throttle", "")
    if tasks := _TASKS.search(command):
        found["tasks_per_node"] = float(tasks[1])
    found |= {name: match[1] for name, option in _OPTIONS.items() if (match := option.search(command))}
    if nice := _NICE.search(command):
        found["nice"] = float(nice[1] or 100)
    log.tell("partitions", bool(_PARTITIONS.search(command)))
    if match := _JOB.fullmatch(cells["JobID"]):
        found["array"] = match[1]
        if throttle := _THROTTLE.search(command):
            log.throttles.setdefault(match[1], int(throttle[1]))
    return {name: value for name, value in found.items() if isinstance(value, float) or is_name(value)}


def _memory_mb(each: float | None, cells: Mapping[str, str], facts: Mapping[str, float | None]) -> float | None:
    """ReqMem: in all, or `4000Mc` for a CPU, `62.5Gn` for a node."""
    times = {"c": facts["cpus"], "n": facts["nodes"]}.get(cells.get("ReqMem", "")[-1:], 1.0)
    return None if each is None or not times else each * times


def _duration_s(cells: Mapping[str, str]) -> float | str:
    """How long a job ran, or why nobody can say."""
    if cells.get("ElapsedRaw"):
        found = count(cells["ElapsedRaw"])
        if found is None:
            return "ElapsedRaw is not a number of seconds"
    elif "Elapsed" in cells:
        found = seconds(cells["Elapsed"])
        if found is None or found == float("inf"):
            return "Elapsed is not [D-]HH:MM:SS"
    else:
        start_s, end_s = (timestamp(cells.get(name, "")) for name in SPAN)
        if start_s is None or end_s is None:
            return f"Start or End {DATES}"
        found = end_s - start_s
    return found or NEVER


# All rows -------------------------------------------------------------------------------------------------------------


def _attempts(rows: Iterable[TimedRow], log: Log) -> Iterator[TimedRow]:
    """The rows, those of one job as its attempts: the last keeps the name and knows how many came before.

    Rows of a job that started at one time are the same attempt, and still have one name. Of jobs that share an id, as a
    controller gives them out anew, the first counts. All tasks of an array come with the first that was eligible: where
    a throttle tells Eligible of the others, they were in the queue before (squeue: JobArrayTaskLimit). An attempt comes
    no earlier than the one before it ended, where both still have the first one's Submit and Eligible.
    """
    starts, comes = dict[str, dict[float, float]](), dict[tuple[object, float], float]()
    rows = list(_of_last_export(list(_of_first_jobs(list(rows), log)), log))
    for row in rows:
        starts.setdefault(row.name, {})[row.times.get("start_s", 0.0)] = _end_s(row)
        if (array := row.facts.get("array")) in log.throttles:
            at_s = comes.setdefault((array, row.times["submit_s"]), row.arrival_s)
            comes[array, row.times["submit_s"]] = min(at_s, row.arrival_s)
    order = {name: sorted(found) for name, found in starts.items()}
    for row in rows:
        most = log.throttles.get(row.name.removeprefix("job-").partition("_")[0])
        name, more = row.name, {"array_most": float(most)} if most and "array" in row.facts else {}
        number = order[name].index(start_s := row.times.get("start_s", 0.0)) + 1
        if number < len(order[name]):
            name, more = f"{name} (attempt {number})", {**more, "attempt": float(number)}
            log.odd["earlier attempts", row.line] += 1
        elif number > 1:
            more = {**more, "restarts": number - 1.0}
        arrival_s, times = comes.get((row.facts.get("array"), row.times["submit_s"]), row.arrival_s), row.times
        if number > 1 and arrival_s < (ended_s := min(starts[row.name][order[row.name][number - 2]], start_s)):
            arrival_s, times = ended_s, {**times, "eligible_s": ended_s}
        yield replace(row, name=name, arrival_s=arrival_s, times=times, facts={**row.facts, **more}) if more else row


def _waited(log: Log, read: Sequence[TimedRow]) -> Iterator[TimedRow]:
    """The jobs that were eligible and never ran, each task of an array by itself; a held one (Priority 0), and one that
    was gone before it was eligible, was not in the queue. read: those that ran, by another row perhaps these too."""
    began = {
        (row.name, row.times["submit_s"]): row.times["start_s"]
        for row in read
        if "start_s" in row.times and row.facts["state"] not in AGAIN
    }
    for line, cells in log.waited:
        log.line = line
        found, since_s, job = allotted(cells), timestamp(cells.get("Eligible", "")), cells["JobID"].partition("%")[0]
        until_s = timestamp(cells.get("End", ""))
        until_s = math.inf if until_s is None else until_s
        if isinstance(found, str) or since_s is None or cells.get("Priority") == "0" or until_s <= since_s:
            log.odd["unread" if isinstance(found, str) else "held", 0] += 1
            continue
        kinds, known = found
        facts = _facts(cells, log, known)
        facts.pop("dependency", None)  # eligible when the log says
        if most := log.throttles.get(job.partition("_")[0]):
            facts["array_most"] = float(most)
        ran_on, times = tuple(kind for kind in kinds if kind != "gpu"), {"eligible_s": since_s, "end_s": until_s}
        times["submit_s"] = timestamp(cells["Submit"]) or since_s
        one = TimedRow(line, job, None, int(sum(map(float, kinds.values()))), since_s, 0.0, given(cells.get("User")))
        for name in (f"job-{task}" for task in _tasks(job, log)):
            if began.get((name, times["submit_s"]), -math.inf) < since_s:
                yield replace(one, name=name, ran_on=ran_on, times=times, facts=facts)


def _tasks(job: str, log: Log) -> list[str]:
    """The first tasks of a job that waits, `3_[1,5-7]` (no `%4`; sacct may cut it: `,...]`), or itself; counts those
    beyond, and arrays with tasks that nobody can read (`x`, `5-1`), each once."""
    number, _, text = job.partition("_[")
    if not text:
        return [job]
    found, more, odd = list[str](), 0, set[str]()
    for part in text.rstrip("]").split(","):
        match = _TASK.fullmatch(part)
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1, int(match[3] or 1)) if match else ()
        if numbers:
            found += [f"{number}_{task}" for task in numbers[: MOST_TASKS - len(found)]]
            more += len(numbers)
        else:
            odd.add("cut arrays" if part == "..." else "unread arrays")
    log.odd.update((what, 0) for what in odd)
    log.odd["tasks", 0] += more - len(found)
    return found


def _of_first_jobs(rows: list[TimedRow], log: Log) -> Iterator[TimedRow]:
    """The rows that are of the first job with their id, in whatever order they stand: of its user, where both are
    known, and submitted at the time of its latest attempt so far, or again when that had ended; others are dropped."""
    latest, others = dict[str, TimedRow](), set[int]()
    for at in sorted(range(len(rows)), key=lambda at: _submit_s(rows[at])):
        if (last := latest.setdefault((row := rows[at]).name, row)) is not row:
            again = _submit_s(row) >= _end_s(last) - TICK_S or _submit_s(row) == _submit_s(last)
            if not again or (last.user and row.user and last.user != row.user):
                others.add(at)
                continue
            latest[row.name] = replace(max(last, row, key=_end_s), user=last.user or row.user)
    for at, row in enumerate(rows):
        if at in others:
            log.drops.add(OTHER_JOB, row.line)
        else:
            yield row


def _of_last_export(rows: list[TimedRow], log: Log) -> Iterator[TimedRow]:
    """The rows but those of jobs that still ran, of which another row tells the end or more: a log of two exports."""
    most_s = dict[tuple[str, float], float]()
    for row in rows:
        key = row.name, row.times.get("start_s", 0.0)
        most_s[key] = max(most_s.get(key, 0.0), _seen_s(row))
    for row in rows:
        if _seen_s(row) < most_s[row.name, row.times.get("start_s", 0.0)]:
            log.drops.add(RAN_ON, row.line)
        else:
            yield row


def _seen_s(row: TimedRow) -> float:
    """For how long the log saw it run; infinity where it saw its end."""
    return row.duration_s if row.facts["state"] in GOING_ON else math.inf


def _submit_s(row: TimedRow) -> float:
    return row.times["submit_s"]


def _end_s(row: TimedRow) -> float:
    return row.times.get("end_s", row.times["submit_s"])


def _start(row: TimedRow) -> JobStart:
    """When and where a job of the log began."""
    at_s, limit_s = row.times["start_s"], float(row.facts.get("limit_s", row.duration_s))
    return JobStart(at_s, at_s + limit_s, row.hosts, str(row.facts.get("reservation", "")))
