"""Commands that make scenarios: convert (from a trace), generate (made up, from a seed); and data (public traces)."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.base.errors import InputError, Words, WorkbenchError, counted
from workbench.cli.arguments import Commands, Parser, add_command, add_output
from workbench.cli.inputs import STANDARD, check_targets, choice, number, seconds, whole
from workbench.cli.output import Answer, plain, say
from workbench.cli.simulate import progress_line

if TYPE_CHECKING:
    from workbench.scenario.scenario import Scenario
from dataclasses import asdict

from workbench.cli.output import aligned

ABOUT_DATA = (
    "Download a public trace from its authors, content checked, and print where it is; without NAME list them. "
    "A folder in the environment variable WORKBENCH_DATA takes the place of the network."
)
CLUSTER_HELP = "types as NAME=NODESxGPUS: v100=8x4,k80=2x8 is 8 nodes of 4 V100 and 2 nodes of 8 K80"

FORMATS = "chronus, gavel, helios, philly, sacct, shockwave, swf or tiresias"
SLURM = {
    "--nodes": "what sinfo or scontrol show nodes|partitions prints, in the place of --cluster; may be repeated",
    "--limits": "what sacctmgr -P show assoc or qos prints",
    "--shares": "what sshare -a -l -P prints",
    "--config": "what scontrol show config or reservation prints, or slurm.conf",
    "--events": "what sacctmgr -P show event prints: nodes that were down, drained or not there yet",
}
WORKLOADS = (
    "slo",
    "mix1",
    "mix2",
)  # a test holds both lists equal to those of workbench.scenario.traces, imported when needed


def add_commands(commands: Commands[Parser]) -> None:
    """Declare the commands of this file."""
    parser = add_command(commands, "convert", "make a scenario from a trace")
    parser.add_argument("source", metavar="SOURCE", help="the trace file, or - for standard input")
    parser.add_argument("--from", metavar="FORMAT", required=True, dest="format", help=f"the trace's format: {FORMATS}")
    parser.add_argument(
        "--throughputs", metavar="FILE", help="the file of throughputs that belongs to the trace (gavel, shockwave)"
    )
    parser.add_argument("--cluster", metavar="NODES", help=CLUSTER_HELP)
    parser.add_argument("--from-s", metavar="S", type=seconds("--from-s"), help="keep jobs from then on, the new 0")
    parser.add_argument("--to-s", metavar="S", type=seconds("--to-s"), help="keep jobs that arrive before then")
    parser.add_argument("--sample", metavar="N", type=whole("--sample", 1), help="keep N jobs, drawn with --seed")
    parser.add_argument("--seed", metavar="N", type=whole("--seed"), default=0, help="default 0")
    parser.add_argument(
        "--workload",
        metavar="NAME",
        type=choice("--workload", *WORKLOADS),
        help="draw deadlines as Chronus does: slo (all strict), mix1 or mix2 (default: those of the trace)",
    )
    parser.add_argument(
        "--density",
        metavar="PERCENT",
        type=number("--density"),
        help="remove or copy jobs at random, 80 for 80 %% of them (above 0, at most 200)",
    )
    parser.add_argument(
        "--keep",
        metavar="COLUMNS",
        default="",
        help="columns of the trace that jobs keep as attributes, with commas (chronus, helios, sacct, tiresias)",
    )
    for option, help in SLURM.items():
        parser.add_argument(option, metavar="FILE", action="append", default=[], help=f"{help} (sacct)")
    parser.add_argument("--ratios", metavar="FILE", help="speeds on types where jobs did not run, with ranges (sacct)")
    parser.add_argument(
        "--pseudonyms", metavar="KEYFILE", help="replace names of users, accounts and jobs; a new KEYFILE is made"
    )
    parser.add_argument("--columns", metavar="NAMES", default="", help="those of a log without a header, -n (sacct)")
    _add_sharing(parser)
    parser.add_argument("--report", metavar="FILE", help="write what was kept and dropped, as JSON")
    add_output(parser, required=True)
    parser.set_defaults(command=convert)

    parser = add_command(commands, "generate", "make up a scenario, as Gavel's generator does, from a seed")
    parser.add_argument("--cluster", metavar="NODES", required=True, help=CLUSTER_HELP)
    parser.add_argument("--jobs", metavar="N", type=whole("--jobs", 1), default=120, help="default 120")
    parser.add_argument("--seed", metavar="N", type=whole("--seed"), default=0, help="default 0")
    parser.add_argument(
        "--arrivals",
        metavar="KIND",
        type=choice("--arrivals", "static", "poisson"),
        default="static",
        help="static (all at 0, default) or poisson",
    )
    parser.add_argument(
        "--mean-gap", metavar="S", type=seconds("--mean-gap"), help="between arrivals (poisson), default 15 min"
    )
    parser.add_argument("--multi-gpu", action="store_true", help="gangs of 1, 2, 4 and 8 GPUs (default: 1)")
    parser.add_argument(
        "--durations",
        metavar="LAW",
        type=choice("--durations", "gandiva", "short"),
        default="gandiva",
        help="gandiva (half an hour to a week, default) or short (1 to 4 hours)",
    )
    parser.add_argument(
        "--priority-share",
        metavar="SHARE",
        type=number("--priority-share"),
        default=0.0,
        help="share of jobs with weight 5, default 0",
    )
    parser.add_argument("--slo", action="store_true", help="give every job a deadline")
    parser.add_argument("--group", metavar="NAME", default="gavel", help="the built-in models to draw from (gavel)")
    parser.add_argument("--reference", metavar="TYPE", help="the type on which durations are meant (default: fastest)")
    _add_sharing(parser)
    parser.add_argument("--name", default="", help="the scenario's name")
    add_output(parser, required=True)
    parser.set_defaults(command=generate)

    parser = add_command(commands, "data", "public traces, downloaded from their authors", ABOUT_DATA)
    parser.add_argument("name", metavar="NAME", nargs="?", help="the file to fetch; its path is printed")
    parser.set_defaults(command=data)


def _add_sharing(parser: Parser) -> None:
    help = "let jobs share their GPUs in pairs (`core.space_sharing`)"
    parser.add_argument("--space-sharing", action="store_true", help=help)


def _shared(scenario: Scenario, wanted: bool) -> Scenario:
    """The scenario as it is, or with jobs that may share their GPUs; raises InputError where no speeds say how."""
    if not wanted:
        return scenario
    if not scenario.colocated:
        raise InputError("--space-sharing", Words("no speeds of pairs"), "models or throughputs with pairs (colocated)")
    return scenario.replace(core=scenario.core.model_copy(update={"space_sharing": True}))


def convert(args: argparse.Namespace) -> Answer:
    """A trace as a scenario, and an account of what was kept."""
    from workbench.base.files import write_text
    from workbench.scenario.traces import convert as read_trace
    from workbench.scenario.traces import parse_cluster

    slurm = {option[2:]: getattr(args, option[2:]) for option in SLURM}
    files = [
        args.source,
        args.throughputs,
        args.ratios,
        args.pseudonyms,
        *(path for paths in slurm.values() for path in paths),
    ]
    check_targets({"-o": args.output, "--report": args.report}, force=args.force, read=files)
    scenario, report = read_trace(
        args.format,
        args.source,
        throughputs=args.throughputs,
        cluster=None if args.cluster is None else parse_cluster(args.cluster),
        from_s=args.from_s,
        to_s=args.to_s,
        sample=args.sample,
        seed=args.seed,
        workload=args.workload,
        density_percent=args.density,
        keep=[name.strip() for name in args.keep.split(",") if name.strip()],
        columns=[name.strip() for name in args.columns.split(",") if name.strip()],
        ratios=args.ratios,
        pseudonyms=args.pseudonyms,
        **slurm,
    )
    scenario = _shared(scenario, args.space_sharing)
    say(str(report))
    answer = written(scenario, args.output, force=args.force, report=report.as_json())
    if args.report is not None:
        text = json.dumps(plain(report.as_json()), indent=1, ensure_ascii=False) + "\n"
        try:
            write_text(Path(args.report), text, force=args.force)
        except WorkbenchError:
            if args.output != STANDARD:  # both or neither
                Path(args.output).unlink(missing_ok=True)
            raise
    return answer


def generate(args: argparse.Namespace) -> Answer:
    """A made-up scenario."""
    from workbench.scenario.traces.synthetic import generate as make_up

    check_targets({"-o": args.output}, force=args.force)
    with progress_line(args.json) as tell:
        scenario = make_up(
            args.cluster,
            args.jobs,
            args.seed,
            arrivals=args.arrivals,
            mean_gap_s=args.mean_gap,
            multi_gpu=args.multi_gpu,
            durations=args.durations,
            priority_share=args.priority_share,
            slo=args.slo,
            group=args.group,
            reference=args.reference,
            name=args.name,
            progress=tell,
        )
        scenario = _shared(scenario, args.space_sharing)
        if tell is not None:
            tell(f"writing {counted(args.jobs, 'job')}")
        return written(scenario, args.output, force=args.force)


def written(scenario: Scenario, target: str, *, force: bool, **more: Any) -> Answer:
    """Write a scenario to a file, or make it the answer where the target is standard output."""
    if target == STANDARD:
        return Answer(scenario.to_dict(), scenario.to_json)
    scenario.save(target, force=force)
    facts = {"output": target, "jobs": len(scenario.jobs), "gpus": scenario.cluster.capacity}
    types = ", ".join(f"{gpus} {name}" for name, gpus in scenario.cluster.capacity.items())
    return Answer({**facts, **more}, lambda: f"{target}: {counted(len(scenario.jobs), 'job')} on {types}")


def data(args: argparse.Namespace) -> Answer:
    """The path of one public file, or the list of all."""
    from workbench.scenario.traces.public import ELSEWHERE, FILES, fetch

    if args.name is None:
        known, others = ([asdict(entry) for entry in found.values()] for found in (FILES, ELSEWHERE))
        return Answer({"files": known, "elsewhere": others}, _overview)
    path = str(fetch(args.name))
    entry = FILES[args.name]
    say(f"{entry.what}; licence {entry.licence}; SHA-256 as known")
    return Answer({**asdict(entry), "path": path}, lambda: path)


def _overview() -> str:
    from workbench.scenario.traces.public import ELSEWHERE, FILES

    files = [(f.name, f.format, f.licence, f.what, f"{f.size / 1e6:.2f}") for f in FILES.values()]
    others = [(e.name, e.format, e.what, e.url) for e in ELSEWHERE.values()]
    return "\n".join(
        [
            aligned(("name", "format", "licence", "what it is", "MB"), files, left=4),
            "",
            "To be fetched by hand, then `workbench convert FILE --from FORMAT` (docs/traces.md):",
            "",
            aligned(("name", "format", "what it is", "address"), others, left=4),
        ]
    )
