"""The command for public traces: data."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from workbench.cli.output import Answer, aligned, say
from workbench.cli.parser import Commands, Parser, add_command

ABOUT = (
    "Download a public trace from its authors, content checked, and print where it is; without NAME list them. "
    "A folder in the environment variable WORKBENCH_DATA takes the place of the network."
)


def add_commands(commands: Commands[Parser]) -> None:
    """Declare the command of this file."""
    parser = add_command(commands, "data", "public traces, downloaded from their authors", ABOUT)
    parser.add_argument("name", metavar="NAME", nargs="?", help="the file to fetch; its path is printed")
    parser.set_defaults(command=data)


def data(args: argparse.Namespace) -> Answer:
    """The path of one public file, or the list of all."""
    from workbench.scenario.data import ELSEWHERE, FILES, fetch

    if args.name is None:
        known, others = ([asdict(entry) for entry in found.values()] for found in (FILES, ELSEWHERE))
        return Answer({"files": known, "elsewhere": others}, _overview)
    path = str(fetch(args.name))
    entry = FILES[args.name]
    say(f"{entry.what}; licence {entry.licence}; SHA-256 as known")
    return Answer({**asdict(entry), "path": path}, lambda: path)


def _overview() -> str:
    from workbench.scenario.data import ELSEWHERE, FILES

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
