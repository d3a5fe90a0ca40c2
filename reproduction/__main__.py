"""`python -m reproduction --size tiny --out DIR`: all figures of all papers, one table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from reproduction.registry import size_name
from reproduction.report import Done, check, run_all, table, write
from workbench.base.errors import InputError, WorkbenchError
from workbench.cli.output import aligned, say, short

WORDS = ("publication", "figure", "measure", "unit")
NUMBERS = ("paper", "ours", "ratio")


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print the table, write the folder; returns the exit code (0 done, 1 failed, 2 bad input)."""
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    parser.add_argument("--size", help="tiny (seconds), middle or full (about an hour on two cores); default: tiny")
    parser.add_argument("--out", type=Path, help="folder for the table and the charts; default: only print")
    parser.add_argument("--paper", help="only this paper")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--force", action="store_true", help="replace the folder")
    args = parser.parse_args(argv)
    if args.workers < 1:
        parser.error(f"argument --workers: got {args.workers}; expected a whole number from 1")
    try:
        size = size_name(args.size)
        if args.out is not None:
            check(args.out, force=args.force)
        done = run_all(size, args.paper, args.workers, _tell)
        if args.out is not None:
            write(done, args.out, size, force=args.force)
    except InputError as error:
        say(f"error: {error}")
        return 2
    except WorkbenchError as error:
        say(f"error: {error}")
        return 1
    sys.stdout.write(as_text(done) + "\n")
    return 0


def as_text(done: list[Done]) -> str:
    """The table in columns, for a terminal."""
    rows = table(done)
    cells = [
        [*(str(row[name]) for name in WORDS), *(short(row[name]) for name in NUMBERS)]
        for row in rows.to_dict("records")
    ]
    return aligned([*WORDS, *NUMBERS], cells, left=len(WORDS))


def _tell(done: Done) -> None:
    say(f"\n{done.paper}, {done.figure.name}, in {done.wall_s:.1f} s:\n{as_text([done])}")


if __name__ == "__main__":
    sys.exit(main())
