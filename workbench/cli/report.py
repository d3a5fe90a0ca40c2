"""The command `report`: one HTML page about a saved run, or about a change to it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.base.errors import InputError, Words
from workbench.cli.arguments import Commands, Parser, add_command, add_force
from workbench.cli.inputs import WORKERS, a_scheduler, check_targets, number, paying, require_jobs, seeds, whole
from workbench.cli.output import Answer, aligned, say

if TYPE_CHECKING:
    from workbench.analysis.what_if import WhatIf
    from workbench.simulation.run import Run

CHANGE = "nodes v100=+8"
OF_A_CHANGE = ("seeds", "bootstrap", "level", "workers", "demand")
"""Options that say how a change is compared."""


def add_commands(commands: Commands[Parser]) -> None:
    """Declare the command."""
    about = (
        "One self-contained HTML page about a saved run (`workbench simulate ... --out DIR`). With --change the run is "
        "made again with one thing changed, and the page is about the paired difference. A change is one of: nodes "
        "v100=+8, nodes v100=-2, without gpu[01-04], rack=r3, outage h100-* from 2024-03-04 08:00 to 2024-03-11 08:00, "
        "set qos normal MaxTRESPU=gres/gpu=16, scheduler srtf, knob round_s=720, restart 2 min, load 1.25, "
        "density 120, faults mtbf_s=1 d, mttr_s=1 h; or several with ` and ` between."
    )
    parser = add_command(commands, "report", "one page to mail about a run, or about a change to it", about)
    parser.add_argument("run", metavar="RUN", help="the folder of a saved run")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the page to write, FILE.html")
    help = f"what if this were different, as `{CHANGE}`; may come several times"
    parser.add_argument("--change", metavar="CHANGE", action="append", default=[], help=help)
    help = "as --change 'scheduler NAME'; FILE.py:NAME is one that a file of yours declares, as the run's may be"
    parser.add_argument("--scheduler", metavar="NAME", type=a_scheduler, help=help)
    help = "one pair of runs for each; default: the run's, under slurm as many as calibrate has phases"
    parser.add_argument("--seeds", metavar="0:3", type=seeds, help=help)
    help = "draw the log anew, by days, for each pair but the first (default: only the seed differs)"
    parser.add_argument("--bootstrap", action="store_true", default=None, help=help)
    help = "of the confidence intervals, default 0.95"
    parser.add_argument("--level", metavar="L", type=number("--level"), help=help)
    help = "both sides also with so many percent of the jobs in the same time, or none (of a slurm log default 110,125)"
    parser.add_argument("--demand", metavar="P,P", type=percents, help=help)
    parser.add_argument("--workers", metavar="N", type=whole("--workers", 1), help=WORKERS)
    add_force(parser)
    parser.set_defaults(command=report)


def percents(text: str) -> tuple[float, ...]:
    """Percentages with commas between, or none."""
    return () if text == "none" else tuple(number("--demand")(part) for part in text.split(","))


def report(args: argparse.Namespace) -> Answer:
    """Write the page, and say what it says."""
    from workbench.analysis import page
    from workbench.analysis.calibration.note import assumed, notes_under
    from workbench.analysis.run_report import save_report
    from workbench.simulation.run import Run

    page.check_name(args.output)  # before the runs of a change, which may take long
    check_targets({"-o": args.output}, force=args.force)
    if not Path(args.run).is_dir():
        expected = "the folder of a saved run (`workbench simulate ... --out DIR`)"
        raise InputError(args.run, Words("no folder"), expected)
    run = Run.load(args.run)
    require_jobs(run.scenario, args.run)
    given = {name: getattr(args, name) for name in OF_A_CHANGE if getattr(args, name) is not None}
    data = {"run": args.run, "out": args.output}
    changes = [*args.change, *([f"scheduler {args.scheduler}"] if args.scheduler not in (None, run.scheduler) else [])]
    if changes:
        found = _changed(run, changes, given)
        found.report(args.output, force=args.force)
        _tell_if_other(run, found)
        said = [*found.conclusions, *_waits(found)]
        tables = {name: getattr(found, name).to_dict("records") for name in ("differences", "waits", "demand")}
        data |= {"changes": changes, **tables, "conclusions": found.conclusions}
        data["warnings"] = found.warnings
    elif given:
        expected = f"a change to compare with, as --change '{CHANGE}'"
        raise InputError(f"--{next(iter(given))}", Words("no --change"), expected)
    else:
        data["warnings"] = save_report(run, args.output, force=args.force).warnings
        said = [*assumed(run.scenario), run.headline(), *(f"Warning: {text}" for text in data["warnings"])]
    data["notes"] = notes_under(run)
    size = Path(args.output).stat().st_size
    data["bytes"] = size
    return Answer(data, lambda: "\n".join([*said, f"written to {args.output} ({size / 1024:.0f} KB)"]))


def _waits(found: WhatIf) -> list[str]:
    """Waits by partition and user as a table for each change; nothing for one group of jobs alone."""
    from workbench.analysis.what_if.words import WAIT_HEADS, trusted, waited

    return [
        f"\nWaits, with {change.words}{trusted(found, number)}:\n{aligned(WAIT_HEADS, rows)}\n"
        for number, change in enumerate(found.question.changes)
        if (rows := waited(found, change))
    ]


def _tell_if_other(run: Run, found: WhatIf) -> None:
    """A run that was saved by another version may come out otherwise now."""
    same_seed = [again for again in found.runs[0] if again.seed == run.seed and again.scenario == run.scenario]
    if same_seed and same_seed[0].detail == run.detail and same_seed[0] != run:
        say(
            "note: made again, the run differs from the saved one, which another version or a window ended otherwise; "
            "the page has both sides as made now"
        )


def _changed(run: Run, changes: Sequence[str], given: Mapping[str, Any]) -> WhatIf:
    """The what-if about a saved run; given: the other arguments of `what_if`."""
    from workbench.analysis.what_if import Configuration, parse_change, what_if
    from workbench.analysis.what_if.ask import usual_demand, usual_seeds
    from workbench.simulation.run import OWN

    if run.belief == OWN:
        raise InputError("RUN", Words("a belief of the session that made it"), "a run with a belief by name")
    if run.charge_decisions is not None:
        raise InputError("RUN", Words("decisions that take time"), "a run whose decisions take none")
    scenario, scheduler = run.scenario, run.scheduler
    usual = {"seeds": usual_seeds(scenario, scheduler, run.seed), "demand": usual_demand(scenario, scheduler)}
    options = {**usual, **given}
    others = options["demand"]
    runs = (1 + len(changes)) * len(options["seeds"]) * (1 + len(others))
    options.setdefault("workers", paying(len(run.scenario.jobs), runs))
    today = Configuration(run.scenario, run.scheduler, run.knobs)
    for text in changes:
        try:
            parse_change(text).applied(today)
        except InputError as error:
            where = "" if error.where == "change" else f": {error.where.removeprefix('scenario: ')}"
            raise InputError(f"--change '{text}'{where}", error.value, error.expected) from None
    if others and "demand" not in given:
        told = " and ".join(f"{percent:g}" for percent in others)
        say(f"{runs} runs, two in three of them with {told} % of the jobs (--demand none leaves these out)")
    return what_if(run.scenario, run.scheduler, changes, run.knobs, belief=run.belief, until_s=run.until_s, **options)
