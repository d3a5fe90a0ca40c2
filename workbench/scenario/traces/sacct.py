"""Slurm's accounting: `sacct -a -X --parsable2 --format=JobID,User,Submit,Start,End,Elapsed,State,AllocTRES,ReqTRES`.

Cells stand between `|`, the first line names the columns, in any order, more of them do no harm. JobID, Submit and
State must be there, AllocTRES or ReqTRES, and Elapsed or else Start and End; User may be. End tells when the log ends.

- GPUs are `gres/gpu=N`, or the sum of `gres/gpu:type=N` where that is missing; of AllocTRES, else of ReqTRES. Jobs
  without any are dropped. A job whose GPUs are all of one named type ran on that type.
- Slices of a GPU (MIG: `gres/gpu:a100_1g.5gb=1`) and shards (`gres/shard=2`) are not GPUs: such jobs are dropped.
- Job steps (`123.batch`, `123.0`) are dropped; array tasks (`123_4`) and parts of heterogeneous jobs (`123+1`) are
  jobs.
- Times are `YYYY-MM-DDTHH:MM:SS`, local and without a zone; `Unknown` and `None` are none. Elapsed is `[D-]HH:MM:SS`
  and leaves out suspensions.
- A job that has not ended (`RUNNING`, `PENDING`, ...) is dropped: nobody knows its run time.

Jobs are as recorded: each runs as long as in the log on the type where it ran, and on no other (see
`workbench.scenario.traces.timed`). All are best effort.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.base.errors import InputError, Words
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.report import Drops, Report
from workbench.scenario.traces.rows import moment, read_table, source_name
from workbench.scenario.traces.timed import Cut, TimedRow, assemble, dated, gpu_count, name_problem, time_problem

FORMAT = "sacct"
COLUMNS = ("JobID", "Submit", "State")
TRES = ("AllocTRES", "ReqTRES")
SPAN = ("Start", "End")
OPTIONAL = (*TRES, "Elapsed", *SPAN, "User")
TRACE = (
    "Slurm's accounting as `sacct --parsable2` prints it, first the names of the columns (no -n), "
    "with JobID, Submit, State, Elapsed, AllocTRES, ReqTRES"
)
INSTEAD = {"AllocGRES": "AllocTRES", "ReqGRES": "ReqTRES", "ElapsedRaw": "Elapsed"}
"""Columns that are not read, and what to ask sacct for in their place."""
DATES = "is not YYYY-MM-DDTHH:MM:SS, 1990 to 2099 (SLURM_TIME_FORMAT=standard before sacct prints it so)"
SLICE = "a MIG slice, a part of a GPU, which is not simulated: leave GPUs that are cut up out of the cluster"
SHARD = "a shard (gres/shard), a part of a GPU, which is not simulated: leave GPUs that are shared out of the cluster"
ENDED = (
    "COMPLETED",
    "BOOT_FAIL",
    "CANCELLED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "TIMEOUT",
)
GOING_ON = (
    "COMPLETING",
    "CONFIGURING",
    "PENDING",
    "REQUEUED",
    "RESIZING",
    "REVOKED",
    "RUNNING",
    "STOPPED",
    "SUSPENDED",
)
_ELAPSED = re.compile(r"(?:(\d{1,6})-)?(?:(\d\d):)?(\d\d):(\d\d)", re.ASCII)
_GPU = re.compile(r"gres/gpu(?::([^=,]{1,100}))?=(\d{1,9})", re.ASCII)
_SLICE = re.compile(r"gres/gpu:[^=,]*\d+g\.\d+gb.*", re.ASCII | re.IGNORECASE)
_SHARD = re.compile(r"gres/shard(?::[^=,]*)?(?:=0*[1-9].*)?", re.ASCII)
_GPUS_MEANT = re.compile(r"gres/gpu(?![a-z])", re.ASCII)
"""Also where no number follows; not `gres/gpumem` and `gres/gpuutil`."""


def convert(
    source: str | Path,
    throughputs: str | Path | None,
    cluster: Mapping[str, Any] | None,
    from_s: float | None = None,
    to_s: float | None = None,
    sample: int | None = None,
    seed: int = 0,
    keep: Sequence[str] = (),
) -> tuple[Scenario, Report]:
    """A scenario from accounting data and a cluster (see `workbench.scenario.traces.Loader`); there is no file of
    throughputs.

    Jobs are called `job-ID` and keep user, GPUs and run time. from_s and to_s are seconds after the first submission.
    """
    cut = Cut(cluster, from_s, to_s, sample, seed)
    cut.check(FORMAT, throughputs)
    drops = Drops(tuple(keep))
    rows, notes = dated(list(read_log(source, drops)))
    return assemble(source, FORMAT, rows, drops, cut, notes, ENDED[0], recorded=True)


def read_log(source: str | Path, drops: Drops) -> Iterable[TimedRow]:
    """The jobs that can be read, arrivals from `rows.EPOCH`; the others go to `drops`.

    Raises InputError if there is no header with the columns.
    """
    header, rows = read_table(source, TRACE, COLUMNS, drops, "|", OPTIONAL, quoted=False)
    if not set(TRES) & set(header):
        raise InputError(source_name(source), Words(f"neither {' nor '.join(TRES)}"), _expected(header))
    if "Elapsed" not in header and not set(SPAN) <= set(header):
        raise InputError(source_name(source), Words(f"neither Elapsed nor {' and '.join(SPAN)}"), _expected(header))
    return drops.sift(rows, _row)


def _expected(header: Sequence[str]) -> str:
    """What the table should be, and what to ask for in the place of columns that are not read."""
    hints = [f"{INSTEAD[name]} in the place of {name}" for name in header if name in INSTEAD]
    return "; ".join([TRACE, *hints])


def gpus_of(tres: str) -> tuple[int, str | None] | None:
    """GPUs in a list of resources, and their type where it names one; None where it has none.

    `billing=8,cpu=8,gres/gpu=2,gres/gpu:v100=2,node=1` are 2 GPUs of type v100.
    """
    found = [match for part in tres.split(",") if (match := _GPU.fullmatch(part.strip()))]
    typed = {match[1].lower(): int(match[2]) for match in found if match[1] is not None}
    plain = [int(match[2]) for match in found if match[1] is None]
    count = plain[0] if plain else sum(typed.values())
    return (count, next(iter(typed)) if len(typed) == 1 else None) if count else None


def elapsed_s(text: str) -> float | None:
    """Seconds of `[D-]HH:MM:SS` or `MM:SS`; None for anything else."""
    match = _ELAPSED.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _state(cells: Mapping[str, str]) -> str:
    """The first word: what follows says by whom (`CANCELLED by 1000`)."""
    return cells["State"].partition(" ")[0]


def _row(line: int, cells: Mapping[str, str]) -> TimedRow | str:
    """The job of one line, or the reason why it is none."""
    job, state = cells["JobID"], _state(cells)
    if "." in job:
        return "a job step, not a job"
    if state in GOING_ON:
        return f"not ended: {state}"
    if state not in ENDED:
        return "State is none that sacct knows"
    found = _gpus(cells)
    if isinstance(found, str):
        return found
    submitted_s, duration_s = moment(cells["Submit"], "T"), _duration_s(cells)
    if submitted_s is None:
        return f"Submit {DATES}"
    if isinstance(duration_s, str):
        return duration_s
    gpus, ran_on = gpu_count("number of GPUs", found[0]), found[1]
    if isinstance(gpus, str):
        return gpus
    user = cells.get("User") or None
    problem = (
        name_problem("JobID", job) or (name_problem("User", user) if user else None) or time_problem(0.0, duration_s)
    )
    end_s = moment(cells.get("End", ""), "T")
    return problem or TimedRow(
        line, f"job-{job}", None, gpus, submitted_s, duration_s, user, ran_on=ran_on, ended=state, end_s=end_s
    )


def _gpus(cells: Mapping[str, str]) -> tuple[int, str | None] | str:
    """As `gpus_of`, from the first column that has GPUs, or why there are none; parts of GPUs are none."""
    parts = {name: [part.strip() for part in cells.get(name, "").split(",")] for name in TRES}
    for reason, pattern in ((SLICE, _SLICE), (SHARD, _SHARD)):
        if any(pattern.fullmatch(part) for each in parts.values() for part in each):
            return reason
    for name in TRES:
        if any(_GPUS_MEANT.match(part) and not _GPU.fullmatch(part) for part in parts[name]):
            return f"the number of GPUs in {name} cannot be read"
        if (found := gpus_of(cells.get(name, ""))) is not None:
            return found
    return "0 GPUs"


def _duration_s(cells: Mapping[str, str]) -> float | str:
    """How long a job ran, or why nobody can say."""
    if "Elapsed" in cells:
        found = elapsed_s(cells["Elapsed"])
        if found is None:
            return "Elapsed is not [D-]HH:MM:SS"
    else:
        start_s, end_s = (moment(cells[name], "T") for name in SPAN)
        if start_s is None or end_s is None:
            return f"Start or End {DATES}"
        found = end_s - start_s
    return found or "run time 0: it never ran"
