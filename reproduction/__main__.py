"""`python -m reproduction run gavel.fig8 --size full`: computes exhibits and keeps the results; `check` computes a part
of what is kept anew, `table` shows all, and `gap gavel.fig20` what each cause of a difference is worth."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from reproduction.causes import gap
from reproduction.exhibits import Exhibit, findings, over_seeds, verdict
from reproduction.registry import chosen, exhibits, size_name, sizes_of
from reproduction.results import FOLDER, KeptResults, commit
from reproduction.runner import MOST, Cell, compute, cpu_s, decides_none, kept_cells, otherwise, run, wanted
from reproduction.table import counts, rows, seeds_at, told_gap, told_outcomes, told_seeds, told_verdict
from workbench.base.errors import InputError, WorkbenchError, counted
from workbench.cli.output import aligned, say, short, silence


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code (0 done, 1 failed, 2 bad input)."""
    args = _parser().parse_args(argv)
    try:
        code = int(args.action(args))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever reads it has had enough
        silence()
        return 0
    except InputError as error:
        say(f"error: {error}")
        return 2
    except WorkbenchError as error:
        say(f"error: {error}")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="run, check, table or gap")
    run_it = actions.add_parser("run", help="compute what is not finished, and keep it; finished seeds are not redone")
    run_it.add_argument(
        "names",
        nargs="*",
        metavar="EXHIBIT",
        help="gavel.fig8, or a paper: gavel; default: all; above small those whose verdict is not another size's",
    )
    run_it.add_argument(
        "--size",
        help="tiny (seconds), small (minutes), middle, full (hours), of Chronus also days, or with their "
        "data authors, authors_half, authors_twice, authors_thrice, authors_steady, authors_whole; default: tiny",
    )
    run_it.add_argument("--seeds", type=int, default=MOST, help=f"at most so many, 1 to {MOST}; default: {MOST}")
    run_it.add_argument("--workers", type=int, default=2, help="how many; default: 2")
    run_it.set_defaults(action=_run)
    check = actions.add_parser("check", help="compute one seed of each kept result anew: does it come out the same?")
    check.add_argument("names", nargs="*", metavar="EXHIBIT", help="as of run; default: all")
    check.set_defaults(action=_check)
    show = actions.add_parser(
        "table", help="all exhibits with their verdicts; of those named scale and each claim with its interval"
    )
    show.add_argument("names", nargs="*", metavar="EXHIBIT", help="as of run; default: all")
    show.add_argument(
        "--json", action="store_true", help="with each claim at each size that is kept, command and commit"
    )
    show.set_defaults(action=_table)
    why = actions.add_parser("gap", help="how much each cause moves a measure that is not the paper's")
    why.add_argument("names", nargs="+", metavar="EXHIBIT", help="one whose causes are declared")
    why.set_defaults(action=_gap)
    for each in (run_it, check, show, why):
        each.add_argument("--out", type=Path, default=FOLDER, help="where results are kept; default: the project's")
    return parser


def _run(args: argparse.Namespace) -> int:
    for name, least, most in (("workers", 1, 64), ("seeds", 1, MOST)):
        if not least <= getattr(args, name) <= most:
            raise InputError(name, getattr(args, name), f"a whole number from {least} to {most}")
    names, size, results = chosen(tuple(args.names)), size_name(args.size), KeptResults(args.out)
    beside = [name for name in names if not args.names and decides_none(name, size, results)]
    names = tuple(name for name in names if name not in beside)

    open_ = {name: wanted(name, size, results, args.seeds) for name in names}

    def left() -> str:
        found = [name for name in names if open_[name]]
        return f"Left: {counted(len(found), 'exhibit')} {' '.join(found[:8])}{' ...' if len(found) > 8 else ''}"

    def told(cell: Cell) -> None:
        open_[cell.name] = wanted(cell.name, size, results, args.seeds)
        say(f"{cell.name}, seed {cell.seed}: kept. {left()}")

    others = f" Left out: {counted(len(beside), 'exhibit')} whose verdict another size has." if beside else ""
    say(f"Size {size}. {left()}.{others}")
    run(names, size, results, args.workers, args.seeds, told)
    for name in names:
        sys.stdout.write(_shown(name, size, results))
    return 0


def _check(args: argparse.Namespace) -> int:
    """Exit code 1 if something comes out otherwise or cannot be computed, as without the authors' files; what comes out
    the same is noted with the commit of today, at which it is not computed again."""
    results, at, wrong, computed = KeptResults(args.out), commit(), 0, cache(compute)
    done = set(results.notes().itertuples(index=False, name=None))
    cells = {name: kept_cells(name, results) for name in chosen(tuple(args.names))}
    for name in (name for name, found in cells.items() if not found and args.names):
        sys.stdout.write(f"{name}: not checked, nothing is kept of it\n")
    for cell in (cell for found in cells.values() for cell in found):
        if (cell.name, cell.size, cell.commit, at) in done and "+" not in at:
            sys.stdout.write(f"{cell.name}, size {cell.size}, commit {cell.commit}: the same at {at} before\n")
            continue
        kept = results.read(cell.name).query("size == @cell.size")
        try:
            again = computed(cell._replace(commit=""))  # once for all commits
            found = otherwise(cell.name, kept, again)
        except WorkbenchError as error:
            wrong, told = wrong + 1, f"not computed: {error}"
        else:
            wrong += bool(found)
            results.note(cell.name, cell.size, cell.commit, "" if found else at)
            told = (
                "; ".join([f"{len(found)} of {kept['measure'].nunique()} measures differ", *found])
                if found
                else "the same"
            )
        sys.stdout.write(f"{cell.name}, size {cell.size}, seed {cell.seed}, commit {cell.commit}: {told}\n")
    return 1 if wrong else 0


def _shown(name: str, size: str, results: KeptResults) -> str:
    """The result of an exhibit at a size as a small table."""
    exhibit, table = exhibits()[name], results.read(name)
    if not exhibit.has(size):
        return f"{name}: {exhibit.reason or f'not computed at the size {size}'}\n"
    cells = table[table["size"] == size]
    found = findings(exhibit, cells)
    others = cells.loc[~cells["measure"].isin([each.measure for each in found])]
    made, spans, drawn = seeds_at(exhibit, cells), exhibit.spans_at(size), cells["seed"].nunique()
    lines = [
        [each.measure, each.unit, each.claim, short(each.ours), short(each.low), short(each.high),
         each.outcome + (f", known in {each.seeds} of {drawn} seeds" if each.seeds < drawn and not spans else "")]
        for each in found
    ] + [
        _unjudged(exhibit, rows, cells["seed"].nunique()) for _, rows in others.groupby("measure", sort=False)
    ]  # fmt: skip
    seeds = counted(made, "seed") if isinstance(made, int) else made
    seeds += f", draws of {spans} spans" if spans else ""
    head = f"{name}, size {size}, {seeds}: {verdict(exhibit, found)} (speeds: {exhibit.belief})\n"
    head += f"{exhibit.scale(sizes_of(name)[size])}\n" if cells.size else ""
    return head + aligned(["measure", "unit", "paper", "ours", "low", "high", "outcome"], lines, left=3) + "\n\n"


def _unjudged(exhibit: Exhibit, rows: pd.DataFrame, seeds: int) -> list[str]:
    """The line of a measure that no claim is about; seeds: that there are, in each of which it has to be known."""
    measure, unit, size, paper = (rows[name].iloc[0] for name in ("measure", "unit", "size", "paper"))
    made = rows.set_index("seed")["ours"]
    found = over_seeds(exhibit, made, size, exhibit.is_ratio(measure))[:3] if made.count() == seeds else [math.nan] * 3
    return [measure, unit, "" if math.isnan(paper) else short(float(paper)), *map(short, found), ""]


def _gap(args: argparse.Namespace) -> int:
    """Computed once, and shown from then on; anew in another folder (`--out`)."""
    results = KeptResults(args.out)
    for name in args.names:
        found = results.gap(name)
        if found is None:
            began, at = cpu_s(), commit()
            found = gap(name)
            results.add_gap(name, found, cpu_s() - began, at)
        shown = rows(results, name)[0]["gap"]
        lines = [
            [*map(str, words), *(short(math.nan if each is None else each) for each in numbers)]
            for *words, numbers in ((each["measure"], each["cause"], [*each.values()][2:]) for each in shown["lines"])
        ]
        text = aligned(["measure", "cause", "from ours", "low", "high", "from all"], lines, left=2)
        sys.stdout.write(f"{name}, {told_gap(shown)}\n{text}\n\n")
    return 0


OUTCOMES = """holds: as the paper says, numbers within a tenth, ratios also about as far from 1;
direction: a ratio on the paper's side of 1, not near;
open: the interval over seeds does not tell; fails: none of these."""


def _table(args: argparse.Namespace) -> int:
    results = KeptResults(args.out)
    found = rows(results, *args.names)
    if args.json:
        sys.stdout.write(json.dumps(found, indent=1, allow_nan=False) + "\n")
        return 0
    names = ["id", "verdict", "settings", "machine_s", "claims", "seeds"]
    lines = [
        [row["id"], told_verdict(row), *("" if row[name] is None else str(row[name]) for name in names[2:4]),
         told_outcomes(row), told_seeds(row)]
        for row in found
    ]  # fmt: skip
    sys.stdout.write(aligned(names, lines, left=len(names)) + f"\n{counts(found)}\n")
    for row in found if args.names else ():
        sys.stdout.write(f"\n{row['paper']}\n")
        if not row["size"]:
            sys.stdout.write(f"{row['reason'] or row['no_again']}\n")
            continue
        sys.stdout.write(f"Of size {row['size']}: {row['why_size']}\n{_shown(row['id'], row['size'], results)}")
        parted = f"python -m reproduction gap {row['id']}" if row["gap"] else row["no_gap"]
        told = {"Where the difference is from": parted, "Not varied, so may be a reason": "; ".join(row["unvaried"])}
        sys.stdout.write("".join(f"{name}: {text}\n" for name, text in told.items() if text))
    sys.stdout.write(f"\n{OUTCOMES}\n" if args.names else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
