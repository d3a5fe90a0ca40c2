"""The command sweep: grids of knobs x seeds x schedulers, kept run by run."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.base.errors import InputError, counted
from workbench.cli.arguments import FOR_ALL, Commands, Parser, add_belief, add_command, add_set
from workbench.cli.inputs import called, labelled, names, read_scenario, require_jobs, seconds, seeds, whole
from workbench.cli.output import Answer, aligned, known_as, say, short
from workbench.cli.simulate import CLEAR_LINE, watched
from workbench.cli.solve import MOST_ROWS

if TYPE_CHECKING:
    import pandas as pd

    from workbench.analysis.sweeps import SweepProgress
    from workbench.scenario.scenario import Scenario

BAR = 24
"""Characters of the bar of progress."""

DESCRIPTION = """Run schedulers with every combination of the knobs that --vary names and every seed. Each run is kept
in the store as soon as it has ended: the same command again goes on where it was stopped, and makes no run twice. One
sweep at a time writes a store. A run that fails is kept too, and not tried again without --retry-failed."""


def add_commands(commands: Commands[Parser]) -> None:
    """Declare the command."""
    parser = add_command(
        commands, "sweep", "run a grid of knobs, seeds and schedulers; goes on when stopped", DESCRIPTION
    )
    help = "a file, - for standard input, or preset:NAME; several are swept one after the other"
    parser.add_argument("scenarios", metavar="SCENARIO", nargs="+", help=help)
    help = "names between commas, or LABEL=NAME to call one otherwise or have it twice; default: the scenario's"
    parser.add_argument("--scheduler", "--schedulers", metavar="A,B", dest="schedulers", type=names, help=help)
    help = "a knob and its values, any number of times; schedulers without the knob are not varied by it"
    parser.add_argument("--vary", metavar="KNOB=V1,V2", action="append", default=[], help=help)
    add_set(parser, "[SCHEDULER:]KNOB=VALUE")
    parser.add_argument("--seeds", metavar="0:3", type=seeds, help="0:3 is 0, 1, 2; default: the scenario's")
    parser.add_argument("--store", metavar="FILE", help="the SQLite file that keeps the runs (default: none)")
    parser.add_argument("--workers", metavar="N", type=whole("--workers", 1), help="processes, default 1")
    help = "a Dask cluster by its scheduler's address, such as tls://10.0.0.5:8786, in place of workers"
    parser.add_argument("--dask", metavar="ADDRESS", help=help)
    parser.add_argument("--retry-failed", action="store_true", help="try runs again that failed before")
    add_belief(parser, FOR_ALL)
    parser.add_argument("--until", metavar="S", type=seconds("--until"), help="end then: seconds, or `2 h`")
    parser.add_argument("--out", metavar="DIR", help="save every whole run in this folder, each under its key")
    parser.set_defaults(command=sweep)


def sweep(args: argparse.Namespace) -> Answer:
    """Every run of a grid."""
    from workbench.analysis.sweeps import sweep as run_all
    from workbench.scheduling.estimators.by_name import belief_of_all
    from workbench.session.registry import find_scheduler

    vary = _vary(args.vary)
    scenarios = _scenarios(args.scenarios)
    entries = _entries(args.schedulers, args.settings, vary)
    labels = known_as(entries or {})
    began = time.perf_counter()
    with _reporting(args) as reports:
        found = run_all(
            scenarios,
            entries,
            vary=vary,
            seeds=args.seeds,
            store=args.store,
            workers=args.workers,
            dask=args.dask,
            until_s=args.until,
            belief=args.belief,
            out=args.out,
            retry_failed=args.retry_failed,
            on_progress=reports.append if not watched(args.json) else _shown(reports),
        )
    wall_s = time.perf_counter() - began
    for error, group in found[found["status"] == "failed"].groupby("error", sort=False):
        say(f"failed: {counted(len(group), 'run')}: {error}")
    scheduler_of = _scheduler_of(scenarios, entries)
    belief = belief_of_all([find_scheduler(name) for name in scheduler_of.values()], args.belief)
    data = {
        **_counts(found, reports[-1]),
        "store": args.store,
        "wall_s": wall_s,
        "belief": belief,
        "runs": _rows(found, scheduler_of),
    }
    failed = int((found["status"] == "failed").any())
    said = f"\n\nSpeeds known: {belief}"
    return Answer(data, lambda: _text(found, reports[-1], wall_s, args.store, labels) + said, failed)


def _scenarios(texts: Sequence[str]) -> Scenario | list[tuple[str, Scenario]]:
    """One scenario, or several labelled by where they came from."""
    for text in texts:
        if texts.count(text) > 1:
            raise InputError("SCENARIO", text, "each scenario once")
    read = [(called(text), read_scenario(text)) for text in texts]
    for text, scenario in read:
        require_jobs(scenario, text)
    return read[0][1] if len(read) == 1 else read


def _vary(given: Sequence[str]) -> dict[str, list[str]]:
    """Reads `knob=v1,v2` each; the schedulers say which values they take."""
    found: dict[str, list[str]] = {}
    for text in given:
        knob, equals, values = (part.strip() for part in text.partition("="))
        listed = [value.strip() for value in values.split(",")]
        if not equals or not knob or not all(listed):
            raise InputError("--vary", text, "knob=value,value")
        if knob in found:
            raise InputError("--vary", text, f"{knob} once, its values between commas")
        found[knob] = listed
    return found


def _entries(
    schedulers: list[str] | None, given: list[str], vary: dict[str, list[str]]
) -> dict[str, tuple[str, dict[str, str]]] | None:
    """The schedulers with their fixed knobs, or None for the scenario's as they stand."""
    if schedulers is None:
        if given:
            raise InputError("--set", given[0], "--scheduler with it (a scenario's have knobs of their own)")
        return None
    found = labelled(schedulers, given)
    for text in given:
        knob = text.partition("=")[0].rpartition(":")[2].strip()
        if knob in vary:
            raise InputError("--set", text, f"another knob: --vary gives {knob} its values")
    return found


@contextlib.contextmanager
def _reporting(args: argparse.Namespace) -> Iterator[list[SweepProgress]]:
    """Where reports of progress go; the line on a terminal is gone at the end, and Ctrl-C says what is kept."""
    reports: list[SweepProgress] = []
    try:
        try:
            yield reports
        finally:
            if watched(args.json):
                print(CLEAR_LINE, end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if reports and args.store is not None:
            last = reports[-1]
            say(f"{last.ended} of {counted(last.runs, 'run')} are in {args.store}: the same command goes on from there")
        raise


def _shown(reports: list[SweepProgress]) -> Callable[[SweepProgress], None]:
    def tell(progress: SweepProgress) -> None:
        reports.append(progress)
        print(CLEAR_LINE + line(progress), end="", file=sys.stderr, flush=True)

    return tell


def line(progress: SweepProgress) -> str:
    """SweepProgress on one line: a bar, how many runs have ended, the time left."""
    from workbench.base.units import format_duration

    done = BAR * progress.ended // progress.runs if progress.runs else BAR
    parts = [f"[{'#' * done}{'.' * (BAR - done)}] {progress.ended} of {counted(progress.runs, 'run')}"]
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    if progress.left_s:
        parts.append(f"{format_duration(progress.left_s, parts=2)} left")
    return ", ".join(parts)


def _counts(found: pd.DataFrame, last: SweepProgress) -> dict[str, int]:
    failed = int((found["status"] == "failed").sum())
    return {"rows": len(found), "kept": last.kept, "made": last.done + last.failed, "failed": failed}


def _conditions(found: pd.DataFrame) -> list[str]:
    """The columns up to the seed."""
    return list(found.columns[: found.columns.get_loc("seed")])


def _scheduler_of(
    scenarios: Scenario | list[tuple[str, Scenario]], entries: Mapping[str, tuple[str, Any]] | None
) -> dict[str, str]:
    """The scheduler that each label stands for."""
    from workbench.analysis.comparison import list_cases

    if entries is not None:
        return {label: name for label, (name, _) in entries.items()}
    every = [scenario for _, scenario in scenarios] if isinstance(scenarios, list) else [scenarios]
    return {case.label: case.scheduler for scenario in every for case in list_cases(scenario)}


def _rows(found: pd.DataFrame, scheduler_of: Mapping[str, str]) -> list[dict[str, Any]]:
    """A run each: what it was made with, and its measures. The table has labels in its column `scheduler`."""
    from workbench.analysis.metrics import METRICS

    measures, knobs = [metric.name for metric in METRICS], _conditions(found)[2:]
    return [
        {
            "scenario": row["scenario"],
            "label": row["scheduler"],
            "scheduler": scheduler_of[row["scheduler"]],
            "knobs": {knob: row[knob] for knob in knobs},
            "seed": row["seed"],
            "status": row["status"],
            **({"error": row["error"]} if row["status"] == "failed" else {}),
            "wall_s": row["wall_s"],
            "metrics": {name: row[name] for name in measures},
        }
        for row in found.to_dict("records")
    ]


def _text(found: pd.DataFrame, last: SweepProgress, wall_s: float, store: str | None, labels: Sequence[str]) -> str:
    from workbench.analysis.metrics import MAIN

    counts = _counts(found, last)
    head = f"{counted(len(found), 'run')}: {counts['made']} made in {wall_s:.2f} s, {counts['kept']} from the store"
    if counts["failed"]:
        head += f", {counts['failed']} failed"
    conditions = [name for name in _conditions(found) if name != "scenario" or found[name].nunique() > 1]
    columns = [*conditions, "seed", *MAIN]
    few = found.head(MOST_ROWS)
    rows = [[short(row[name]) for name in columns] for row in few.to_dict("records")]
    left = len(found) - len(few)
    more = [f"... and {counted(left, 'more run')} (--json prints all)"] if left else []
    kept = [] if store is None else ["", f"kept in {store}"]
    return "\n".join([head, *labels, "", aligned(columns, rows, left=conditions.index("scheduler") + 1), *more, *kept])
