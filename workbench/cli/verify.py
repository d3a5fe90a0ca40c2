"""The command `verify`: whether a saved run's measures come out again by another way, and its tables add up."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from workbench.cli.arguments import Commands, Parser, add_command
from workbench.cli.output import Answer, aligned, short

if TYPE_CHECKING:
    from workbench.simulation.run import Run

CONSERVATION = "conservation"
"""What the list calls the check that the tables add up (`workbench.analysis.metrics.check`)."""


def add_commands(commands: Commands[Parser]) -> None:
    """Declare the command of this file."""
    about = (
        "Work out every measure of a saved run a second time, by plain loops over its timeline and events that share "
        "nothing with the first way, and check that its tables add up. The exit code is 1 if anything disagrees."
    )
    parser = add_command(commands, "verify", "work out a saved run's measures again by another way", about)
    parser.add_argument("run", metavar="RUN", help="the folder of a saved run")
    parser.set_defaults(command=verify)


def verify(args: argparse.Namespace) -> Answer:
    """Compare, and say what agrees."""
    from workbench.simulation.run import Run

    agree, disagree = compared(Run.load(args.run))
    return Answer({"agree": agree, "disagree": disagree}, lambda: _text(agree, disagree), int(bool(disagree)))


def compared(run: Run) -> tuple[list[str], list[dict[str, Any]]]:
    """Names of the measures that both ways give, and those that differ with both values; what does not add up too."""
    from workbench.analysis.metrics import check, summary
    from workbench.analysis.metrics.declared import OF_SLOS
    from workbench.analysis.verification import rederived, same

    found = summary(run)
    by_class = {f"mean_jct_by_class_s of {name}": value for name, value in found.mean_jct_by_class_s.items()}
    again, agree, disagree = rederived(run), [], []
    for name, value in {**found, **by_class}.items():
        other = again.get(name, math.nan)
        if same(value, other) and (name in again or name in OF_SLOS):  # those are left out where there are no SLOs
            agree.append(name)
        else:
            disagree.append({"name": name, "summary": value, "again": other})
    violations = check(run)
    disagree += [{"name": f"{CONSERVATION}: {each.rule}", **each._asdict()} for each in violations]
    return agree if violations else [*agree, CONSERVATION], disagree


def _text(agree: list[str], disagree: list[dict[str, Any]]) -> str:
    lines = [f"agree ({len(agree)}): {', '.join(agree)}"]
    rows = [[each["name"], short(each["summary"]), short(each["again"])] for each in disagree if "again" in each]
    if rows:
        lines += ["", "disagree:", aligned(["measure", "summary", "worked out again"], rows)]
    broken = [each for each in disagree if "rule" in each]
    lines += [f"{each['name']}: {each['where']}: got {each['found']}; expected {each['expected']}" for each in broken]
    return "\n".join(lines)
