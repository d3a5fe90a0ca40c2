"""Chronus's trace files: CSV with a header, one job a row, all times in minutes, rows in any order.

Columns: job_id, user, num_gpu, submit_time, iterations, model_name, duration, interval, expect_time_list,
expect_value_list, best_effort, job_type (strict, soft, best). Deadlines count from the submission; they and their
rewards are joined by `-`; a best-effort row carries a dummy of both. Iterations and interval (of their reports) are not
read: iterations per minute differ a thousandfold between jobs of one model, the authors' simulator counts time.

Where no reward of a file is above 10, as in the authors' files (10-8-5-2), they are taken times 10: the paper's 100,
80, 50 and 20, with a miss worth 1 (section 4.1).

A job that is resumed pays what the authors' simulator charges, `RESTART`, under every scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from workbench.scenario.frozen import MOST_S
from workbench.scenario.move_and_restart_cost import Restart
from workbench.scenario.rewards import Steps
from workbench.scenario.scenario import Core, Scenario
from workbench.scenario.traces.dropped_rows import ConversionSummary, Drops
from workbench.scenario.traces.timed import TimedRow, assemble, gpu_count, models, name_problem, time_problem
from workbench.scenario.traces.trace_file import TraceCut, number, read_table

FORMAT = "chronus"
COLUMNS = (
    "job_id",
    "user",
    "num_gpu",
    "submit_time",
    "model_name",
    "duration",
    "expect_time_list",
    "expect_value_list",
    "best_effort",
    "job_type",
)
"""The columns that are read."""
TRACE = f"a Chronus trace: CSV with the columns {', '.join(COLUMNS)}"
MODELS = {
    "alexnet": "AlexNet",
    "inception_v3": "InceptionNet",
    "mobilenet_v2": "MobileNet",
    "resnet101": "ResNet",
    "vgg16": "VGG16",
}
"""The built-in model for each of the authors' (ours: the nearest of the same family)."""
RESTART = Restart(law="log2", restart_s=30.0)
"""code: what the authors' simulator charges for each resume."""
MINUTE_S = 60.0
LARGEST_TENTH, TENTHS = 10.0, 10.0


def convert(
    source: str | Path, throughputs: str | Path | None, cut: TraceCut, keep: Sequence[str] = ()
) -> tuple[Scenario, ConversionSummary]:
    """A scenario from a trace and a cluster (see `workbench.scenario.traces.Loader`); there is no file of throughputs.

    Jobs are called `job-ID` and keep GPUs, user, run time and rewards; from_s and to_s are seconds.
    """
    cut.check_without_speeds(FORMAT, throughputs)
    drops = Drops(tuple(keep))
    read = list(read_trace(source, drops))
    notes = ["times are read as minutes, deadlines from the submission on; iterations and interval are not read"]
    largest = max((reward for row in read for _, reward in row.rewards or ()), default=0.0)
    if 0 < largest <= LARGEST_TENTH:
        read = [_times_ten(row) for row in read]
        notes.append(f"rewards are taken times {TENTHS:g}: the paper's largest is 100, the file's {largest:g}")
    notes.append(f"each restart costs {RESTART.restart_s:g} s x (1 + log2 GPUs), as in the authors' simulator")
    scenario, summary = assemble(source, FORMAT, read, drops, cut, notes)
    return scenario.replace(core=Core(restart=RESTART)), summary


def read_trace(source: str | Path, drops: Drops) -> Iterable[TimedRow]:
    """The rows that can be read, rewards as in the file; the others go to `drops`.

    Raises InputError if there is no header with the columns.
    """
    known = {**MODELS, **{name.lower(): name for name in models()}}
    return drops.sift(read_table(source, TRACE, COLUMNS, drops).rows, lambda line, cells: _row(line, cells, known))


def _row(line: int, cells: Mapping[str, str], known: Mapping[str, str]) -> TimedRow | str:
    """The job of one line, or the reason why it is none."""
    gpus = gpu_count("num_gpu", number(cells["num_gpu"]))
    if isinstance(gpus, str):
        return gpus
    values = {name: number(cells[name]) for name in ("submit_time", "duration", "best_effort")}
    submit, duration, best_effort = values.values()
    if submit is None or duration is None or best_effort is None:
        return f"{next(name for name, value in values.items() if value is None)} is not a finite number"
    model = known.get(cells["model_name"].lower())
    if model is None:
        return "no built-in speeds of its model_name"
    arrival_s, duration_s = submit * MINUTE_S, duration * MINUTE_S
    problem = (
        name_problem("job_id", cells["job_id"])
        or name_problem("user", cells["user"])
        or time_problem(arrival_s, duration_s)
    )
    rewards = problem or _rewards(cells, best_effort)
    if isinstance(rewards, str):
        return rewards
    name = f"job-{cells['job_id']}"
    return TimedRow(line, name, model, gpus, arrival_s, duration_s, cells["user"], rewards or None)


def _rewards(cells: Mapping[str, str], best_effort: float) -> Steps | str:
    """The steps of a row, none for best effort, or what is wrong with them."""
    kind = cells["job_type"].lower()
    if kind not in ("strict", "soft", "best") or best_effort not in (0, 1):
        return "job_type not strict, soft or best, or best_effort not 0 or 1"
    if (kind == "best") != (best_effort == 1):
        return "job_type and best_effort disagree"
    if kind == "best":
        return ()
    deadlines, rewards = (_numbers(cells[name]) for name in ("expect_time_list", "expect_value_list"))
    if deadlines is None or rewards is None or len(deadlines) != len(rewards):
        return "deadlines and rewards are not equally many numbers of at least 0"
    checks = [
        (kind == "strict" and len(deadlines) != 1, "a strict job with several deadlines"),
        (deadlines[0] <= 0, "a deadline not after the arrival"),
        (deadlines != sorted(set(deadlines)), "deadlines that do not rise"),
        (deadlines[-1] * MINUTE_S > MOST_S, f"a deadline over {MOST_S:g} s"),
        (rewards != sorted(rewards, reverse=True), "rewards that increase with time"),
    ]
    for wrong, reason in checks:
        if wrong:
            return reason
    return tuple((deadline * MINUTE_S, reward) for deadline, reward in zip(deadlines, rewards, strict=True))


def _numbers(text: str) -> list[float] | None:
    """The numbers of a list joined by `-`; None if it is none (a sign is an empty number)."""
    found = [number(part) for part in text.split("-")]
    return [value for value in found if value is not None] if None not in found else None


def _times_ten(row: TimedRow) -> TimedRow:
    steps = tuple((deadline_s, reward * TENTHS) for deadline_s, reward in row.rewards or ())
    return replace(row, rewards=steps or None)
