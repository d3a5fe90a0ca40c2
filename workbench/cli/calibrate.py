"""The command `calibrate`: whether a log's scenario, run under Slurm as it was configured, waits as it did."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.base.units import clock
from workbench.cli.arguments import Commands, Parser, add_command, add_scenario
from workbench.cli.inputs import WORKERS, a_scheduler, paying, whole
from workbench.cli.output import Answer, aligned, say

if TYPE_CHECKING:
    import pandas as pd

    from workbench.analysis.calibration.calibrate import Calibration
    from workbench.scenario.scenario import Scenario


def add_commands(commands: Commands[Parser]) -> None:
    """Declare the command of this file."""
    about = (
        "Run a scheduler on a log as it was and hold the waits (start minus eligible) against the recorded ones, by "
        "partition, user, size and hour, on parts held back, and against three naive rivals. The verdict becomes the "
        "scenario's first note, which later answers show."
    )
    parser = add_command(commands, "calibrate", "hold simulated waits against those of a log", about)
    add_scenario(parser)
    parser.add_argument("--scheduler", metavar="NAME", type=a_scheduler, default="slurm", help="default: slurm")
    help = "runs with Slurm's clocks elsewhere; default 8, of more than 4,000 jobs 4, than 15,000 jobs 1"
    parser.add_argument("--phases", metavar="N", type=whole("--phases", 1), help=help)
    parser.add_argument("--workers", metavar="N", type=whole("--workers", 1), help=WORKERS)
    help = "write the scenario with the verdict here (default: in its place, where SCENARIO is a file)"
    parser.add_argument("-o", "--output", metavar="FILE", help=help)
    parser.set_defaults(command=calibrate)


def calibrate(args: argparse.Namespace) -> Answer:
    """Calibrate, and keep the verdict."""
    from workbench.analysis.calibration.calibrate import calibrate as calibrated
    from workbench.analysis.calibration.calibrate import usual_phases
    from workbench.cli.inputs import read_scenario

    scenario = read_scenario(args.scenario)
    jobs = len(scenario.jobs)
    workers = args.workers or paying(jobs, (args.phases or usual_phases(jobs)) + 1)
    found = calibrated(scenario, args.scheduler, phases=args.phases, workers=workers)
    target = args.output or (args.scenario if Path(args.scenario).is_file() else None)
    if target is not None:
        found.kept(scenario).save(target, force=True)
        say(f"{target}: the verdict is its first note")
    return Answer(found.as_json(), lambda: _text(found, scenario))


def _text(found: Calibration, scenario: Scenario) -> str:
    from workbench.analysis.calibration.calibrate import GROUPS, TITLE
    from workbench.analysis.what_if.site_changes import date_of

    lines = [found.note(), ""]
    count = len(found.runs)
    runs = "one run" if count == 1 else f"{count} runs together, Slurm's clocks elsewhere in each"
    held = clock(found.waits["held_s"].mean())
    lines += [f"Waits from eligible to start; simulated: {runs}. From submission to eligible: {held} on average."]
    for group in GROUPS:
        lines += ["", _table(found.by(group).head(40), group)]
    fits = {found.scheduler: found.held_back, **{TITLE[name]: fit for name, fit in found.rivals.items()}}
    rows = [
        [name, *(f"{value:.2f}" for value in (fit.median_error, fit.rank_correlation, fit.mean_error))]
        for name, fit in fits.items()
    ]
    lines += [
        "",
        "On the parts held back (error of partition medians, rank correlation over users, error of the mean):",
    ]
    lines += [aligned(["", "median error", "rank", "mean error"], rows)]
    folds = [
        [row["from"], row["to"], str(row["jobs"]), f"{row['median_error']:.2f}", f"{row['rank_correlation']:.2f}"]
        for row in found.folds.to_dict("records")
    ]
    lines += ["", aligned(["part held back, from", "to", "jobs", "median error", "rank"], folds)]
    for told in filter(None, (found.makespan.text(), found.told_fit())):
        lines += ["", told]
    for said in found.told_experiments(lambda at_s: date_of(scenario, at_s) or clock(at_s)):
        lines += ["", said]
    lines += ["", "Quantiles of waits, recorded and simulated:", _quantiles(found)]
    far = found.unexplained()
    if len(far):
        cells = [[str(value) if isinstance(value, (str, int)) else f"{value:.0f}" for value in row]
                for row in far.itertuples(index=False)]  # fmt: skip
        lines += ["", "Not explained by what the files say:", aligned(list(far.columns), cells)]
    return "\n".join(lines)


def _quantiles(found: Calibration) -> str:
    from workbench.analysis.calibration.calibrate import QUANTILES

    rows = []
    for partition, its in found.quantiles().groupby("partition"):
        pairs = zip(its["recorded_s"], its["simulated_s"], strict=True)
        told = ((clock(one), clock(other)) for one, other in pairs)
        rows.append([str(partition), *(f"{one} | {other}" for one, other in told)])
    return aligned(["partition", *(f"{100 * part:g} %" for part in QUANTILES)], rows)


def _table(table: pd.DataFrame, group: str) -> str:
    names = [f"{name}_{what}_s" for what in ("median", "mean", "p95") for name in ("recorded", "simulated")]
    rows = [
        [str(row[group]), str(row["jobs"]), *(clock(row[name]) for name in names)] for row in table.to_dict("records")
    ]
    header = [group, "jobs", "median", "simulated", "mean", "simulated", "p95", "simulated"]
    return aligned(header, rows)
