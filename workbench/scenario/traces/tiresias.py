"""Tiresias's trace files: CSV with a header, one job a row, all times in seconds.

Columns: job_id, num_gpu, submit_time, iterations, model_name, duration, interval. Iterations and interval (to the next
submission) are not read: the authors' simulator counts time. Chronus's traces have these columns too, in minutes. All
jobs are best effort.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from workbench.base.errors import InputError, Words
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.dropped_rows import ConversionSummary, Drops
from workbench.scenario.traces.timed import TimedRow, assemble, gpu_count, models, name_problem, time_problem
from workbench.scenario.traces.trace_file import TraceCut, number, read_table, source_name

FORMAT = "tiresias"
COLUMNS = ("job_id", "num_gpu", "submit_time", "model_name", "duration")
"""The columns that are read."""
TRACE = f"a Tiresias trace: CSV with the columns {', '.join(COLUMNS)}"
MODELS = {
    **dict.fromkeys(("vgg11", "vgg16", "vgg19"), "VGG16"),
    **dict.fromkeys(("resnet50", "resnet101", "resnet152"), "ResNet"),
    **dict.fromkeys(("googlenet", "inception3", "inception4"), "InceptionNet"),
    "alexnet": "AlexNet",
}
"""The built-in model for each of the authors' (ours: the nearest of the same family)."""


def convert(
    source: str | Path, throughputs: str | Path | None, cut: TraceCut, keep: Sequence[str] = ()
) -> tuple[Scenario, ConversionSummary]:
    """A scenario from a trace and a cluster (see `workbench.scenario.traces.Loader`); there is no file of throughputs.

    Jobs are called `job-ID` and keep GPUs and run time; from_s and to_s are seconds as in the file.
    """
    cut.check_without_speeds(FORMAT, throughputs)
    drops = Drops(tuple(keep))
    read = list(read_trace(source, drops))
    return assemble(
        source, FORMAT, read, drops, cut, ["times are read as seconds; iterations and interval are not read"]
    )


def read_trace(source: str | Path, drops: Drops) -> Iterable[TimedRow]:
    """The jobs that can be read; the others go to `drops`. Raises InputError if there is no header with the columns."""
    header, rows = read_table(source, TRACE, COLUMNS, drops)
    if "expect_time_list" in header:
        raise InputError(source_name(source), Words("a column expect_time_list"), f"{TRACE}; this is one of Chronus's")
    known = {**MODELS, **{name.lower(): name for name in models()}}
    return drops.sift(rows, lambda line, cells: _row(line, cells, known))


def _row(line: int, cells: Mapping[str, str], known: Mapping[str, str]) -> TimedRow | str:
    """The job of one line, or the reason why it is none."""
    gpus = gpu_count("num_gpu", number(cells["num_gpu"]))
    if isinstance(gpus, str):
        return gpus
    arrival_s, duration_s = number(cells["submit_time"]), number(cells["duration"])
    if arrival_s is None or duration_s is None:
        return "submit_time or duration is not a finite number"
    model = known.get(cells["model_name"].lower())
    if model is None:
        return "no built-in speeds of its model_name"
    problem = name_problem("job_id", cells["job_id"]) or time_problem(arrival_s, duration_s)
    return problem or TimedRow(line, f"job-{cells['job_id']}", model, gpus, arrival_s, duration_s)
