"""The commands `explain`, `chain`, `rows` and `exact`: why it was so, by which rows, and how near the best."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.base.errors import NOTHING, InputError, Words
from workbench.cli.arguments import A_SCHEDULER, ITS_OWN, Commands, Parser, add_belief, add_command, add_set
from workbench.cli.inputs import a_scheduler, read_scenario, require_jobs, seconds, settings, whole
from workbench.cli.output import Answer, aligned, short

if TYPE_CHECKING:
    from workbench.simulation.run import Run

RUN_FILE = "run.json"
ONLY_TO_SIMULATE = ("scheduler", "seed", "settings", "belief")


def add_commands(commands: Commands[Parser]) -> None:
    """Declare the commands of this file."""
    about = "a paper's algorithm beside the optimum of the problem that it is for, or a bound if time runs out"
    parser = add_command(commands, "exact", about)
    _add_run(parser)
    help = "seconds after which the solver stops and its bound is shown (default: 20)"
    parser.add_argument("--time-limit", metavar="S", dest="time_limit_s", type=seconds("--time-limit"), help=help)
    parser.set_defaults(command=exact)

    parser = _of_a_run(commands, "explain", "why a job ran, waited or moved at a time, and what it lost to")
    parser.add_argument("--job", metavar="NAME", required=True, help="a job of the scenario")
    help = "also simulate again with one more node from that time on, and say when the job would then have run"
    parser.add_argument("--more", action="store_true", help=help)
    help = "the same with a node of this accelerator type (default: the one on which the job is fastest)"
    parser.add_argument("--more-type", metavar="TYPE", dest="accelerator", help=help)
    help = "also simulate without the other jobs, and say when the job would then have run"
    parser.add_argument("--alone", action="store_true", help=help)
    parser.set_defaults(command=explain)

    parser = _of_a_run(commands, "chain", "why a GPU has the job it has at a time, or none, link by link")
    parser.add_argument("--gpu", metavar="NODE/N", required=True, help="a node and the number of its GPU from 0")
    parser.add_argument("--job", metavar="NAME", help="who else might be there; default: the first that could")
    help = "only what the run recorded: do not simulate again to try rows, and to find what would change it"
    parser.add_argument("--recorded", action="store_true", help=help)
    parser.set_defaults(command=chain)

    parser = _of_a_run(commands, "rows", "the rows, with numbers, of the programme behind what is in force at a time")
    parser.set_defaults(command=rows)


def _of_a_run(commands: Commands[Parser], name: str, about: str) -> Parser:
    """A command about one time of a run."""
    parser = add_command(commands, name, about)
    _add_run(parser)
    help = "the time, in seconds or as `2 h`"
    parser.add_argument("--at", metavar="S", type=seconds("--at"), required=True, help=help)
    return parser


def chain(args: argparse.Namespace) -> Answer:
    """Simulate, or read a run, and follow a GPU back."""
    from workbench.analysis.chain import chain as followed

    found = followed(_run(args), args.gpu, args.at, job=args.job, again=not args.recorded)
    return Answer(found.as_json(), found.text)


def rows(args: argparse.Namespace) -> Answer:
    """Simulate, or read a run, and show the rows."""
    from workbench.analysis.rows import rows as found_rows

    table = found_rows(_run(args), args.at)
    data = {**table.attrs, "rows": table.to_dict("records")}
    shown = ["row", "slack", "dual", "left_rate", "right_rate", "binding"]

    def text() -> str:
        cells = [[short(cell) for cell in row] for row in table[shown].astype(object).to_numpy().tolist()]
        head = f"{table.attrs['formulation']}, decided at {table.attrs['at_s']:g} s"
        return "\n".join([head, aligned(shown, cells), *table.attrs["notes"]])

    return Answer(data, text)


def _add_run(parser: Parser) -> None:
    """Declare a saved run, or what to simulate."""
    help = "a scenario (a file, - for standard input, or preset:NAME), or the folder of a saved run"
    parser.add_argument("source", metavar="SCENARIO|RUN", help=help)
    parser.add_argument("--scheduler", metavar="NAME", type=a_scheduler, help=f"{A_SCHEDULER}; a saved run has its own")
    add_set(parser, "KNOB=VALUE")
    parser.add_argument("--seed", metavar="N", type=whole("--seed"), help="default: the scenario's")
    add_belief(parser, ITS_OWN)


def exact(args: argparse.Namespace) -> Answer:
    """Simulate, or read a run, and solve the problem that its algorithm is for."""
    from workbench.analysis.exact import TIME_LIMIT_S
    from workbench.analysis.exact import exact as solved_beside

    limit_s = TIME_LIMIT_S if args.time_limit_s is None else args.time_limit_s
    found = solved_beside(_run(args), time_limit_s=limit_s)
    left_out = f"\nNot in the problem: {found.leaves_out}."
    rows = "" if found.schedule.empty else f"\n\n{found.schedule.to_string(index=False)}"
    return Answer(found.as_json(), lambda: f"{found.sentence}{left_out}{rows}")


def explain(args: argparse.Namespace) -> Answer:
    """Simulate, or read a run, and explain."""
    from workbench.analysis.explanation import admission, alone, one_more
    from workbench.analysis.explanation import explain as explained
    from workbench.session.registry import find_scheduler

    run = _run(args)
    if args.more or args.accelerator or args.alone:
        find_scheduler(run.scheduler, f"{args.source}: scheduler")
    found = explained(run, args.job, args.at)
    verdict = admission(run, args.job, args.at)
    more = one_more(run, args.job, args.at, accelerator=args.accelerator) if args.more or args.accelerator else None
    by_itself = alone(run, args.job) if args.alone else None
    data = {
        **found.as_json(),
        "admission": list(verdict),
        "one_more": None if more is None else more.as_json(),
        "alone": None if by_itself is None else by_itself.as_json(),
    }
    parts = [found.text(), "\n".join(verdict), *(one.text() for one in (more, by_itself) if one is not None)]
    return Answer(data, lambda: "\n\n".join(part for part in parts if part))


def _run(args: argparse.Namespace) -> Run:
    from workbench.session.api import simulate
    from workbench.simulation.run import Run

    if (Path(args.source) / RUN_FILE).is_file():
        given = [name for name in ONLY_TO_SIMULATE if getattr(args, name) not in (None, [])]
        if given:
            option = "--set" if given[0] == "settings" else f"--{given[0]}"
            raise InputError(option, getattr(args, given[0]), "no such option with a saved run, which has its own")
        run = Run.load(args.source)
        require_jobs(run.scenario, args.source)
        return run
    if Path(args.source).is_dir():
        raise InputError(args.source, Words(f"a folder without {RUN_FILE}"), "a scenario, or the folder of a saved run")
    scenario = read_scenario(args.source)
    require_jobs(scenario, args.source)
    if args.scheduler is None:
        raise InputError(
            "--scheduler", NOTHING, "the scheduler to simulate (`workbench list`), or a saved run's folder"
        )
    return simulate(scenario, args.scheduler, settings(args.settings), seed=args.seed, belief=args.belief)
