"""Print a table of every budget: what it costs on this machine, how that grows, and what others need for the same.

`python -m benchmarks --only WORD...` runs the benchmarks whose name contains every WORD, `--json` prints the rows as
JSON. Beside each row stands the CPU time of a lean FIFO loop in the same process, which the machine's speed slows as
much, and where there is one the figure of a peer, a constant whose origin is told below. A budget that is not met where
docs/speed.md shows why by a profile and a bound is told as `bound shown`. Exit code 1 if another is missed, 2 if no
benchmark has such a name.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.case import Case
from benchmarks.cases import CASES
from workbench.scenario.traces.public import VARIABLE

ROW = "{:<46} {:>8} {:>9} {:>9} {:>9} {:>8} {:>7} {:>8} {:>10}  {}"
HEAD = ("benchmark", "size", "CPU s", "wall s", "budget s", "peak MB", "growth", "x lean", "peer s", "")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks that are asked for, one process each."""
    chosen, as_json = chosen_cases(argv)
    if not as_json:
        print(ROW.format(*HEAD))
    rows = [row for case in chosen for row in run(case, quiet=as_json)]
    late = [(f"{row['name']} {row['size']}", row.get("bounded")) for row in rows if row["missed"]]
    missed, bounded = ([name for name, shown in late if bool(shown) is kind] for kind in (False, True))
    if as_json:
        print(json.dumps(rows, indent=1))
    else:
        for origin in dict.fromkeys(f"{row['peer']}: {row['peer_origin']}" for row in rows if row["peer"]):
            print(origin)
        for what, names in (("missed", missed), ("not met, bound shown in docs/speed.md", bounded)):
            print(f"{len(names)} budgets {what}" + (f": {', '.join(names)}" if names else ""))
    return 1 if missed else 0


def chosen_cases(argv: Sequence[str] | None = None) -> tuple[list[Case], bool]:
    """The benchmarks whose name contains every word, and whether JSON is asked for; ends the program with code 2 if
    there is none."""
    names = "benchmarks:\n" + "\n".join(f"  {case.name}" for case in CASES)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure the budgets on this machine.",
        epilog=names,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    only = "only benchmarks whose name contains every WORD"
    parser.add_argument("--only", metavar="WORD", nargs="+", default=[], help=only)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    given = parser.parse_args(argv)
    chosen = [case for case in CASES if all(word in case.name for word in given.only)]
    if not chosen:
        parser.error(f"no benchmark's name contains: {' '.join(given.only)}\n{names}")
    return chosen, given.json


def run(case: Case, *, quiet: bool = False) -> list[dict[str, Any]]:
    """Measure one case over its sizes. Growth is the exponent of CPU time, in lean loops, in size."""
    if case.missing():
        what = f"{case.name}: not measured, needs {' and '.join(case.missing())} in the folder that {VARIABLE} names"
        print(what, file=sys.stderr if quiet else sys.stdout)
        return []
    rows: list[dict[str, Any]] = []
    for size, budget in case.budgets.items():
        command = [sys.executable, "-m", "benchmarks.measure", case.name, str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{case.name} {size} failed:\n{done.stderr}", file=sys.stderr)
            rows.append({"name": case.name, "size": size, "missed": True, "peer": "", "failed": True})
            continue
        rows.append(row_of(case, size, budget, json.loads(done.stdout.splitlines()[-1]), rows))
        if not quiet:
            _show(rows[-1])
    return rows


def row_of(
    case: Case, size: int, budget_s: float | None, cost: dict[str, Any], before: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """What a size cost beside what it may cost, what the sizes before cost, and what a peer needs."""
    times = cost["cpu_s"] / cost["lean_s"]
    smaller = [row for row in before if not row.get("failed")]
    growth = None
    if smaller:
        last = smaller[-1]
        growth = math.log(times / last["x_lean"]) / math.log(size / last["size"])
    over = case.most_growth is not None and size == max(case.budgets) and smaller
    needed_s = cost["wall_s"] if case.elsewhere else min(cost["cpu_s"], cost["wall_s"])  # others only add to both
    late = (
        (budget_s is not None and needed_s > budget_s)
        or cost["peak_mb"] > case.peak_mb
        or bool(over and times / smaller[0]["x_lean"] > case.most_growth)
        or (case.most_lean is not None and size == max(case.budgets) and times > case.most_lean)
        or cost["cpu_s"] < case.busy * (os.cpu_count() or 1) * cost["wall_s"]
    )
    peer = case.peers.get(size)
    told = {"peer": peer.who, "peer_s": [peer.least_s, peer.most_s], "peer_origin": peer.origin} if peer else {}
    shown = peer.shown if peer else ""
    return {
        "name": case.name,
        "size": size,
        **cost,
        "budget_s": budget_s,
        "budget_mb": case.peak_mb,
        "busy": case.busy,
        "growth": growth,
        "x_lean": times,
        **{"peer": "", "peer_s": None, "peer_origin": "", "peer_shown": shown, **told},
        "missed": late,
        "bounded": case.bounded,
    }


def _show(row: dict[str, Any]) -> None:
    numbers = [f"{row[name]:.3f}" for name in ("cpu_s", "wall_s")]
    numbers += ["-" if row["budget_s"] is None else f"{row['budget_s']:g}", f"{row['peak_mb']:.0f}"]
    numbers += ["" if row["growth"] is None else f"{row['growth']:.2f}", f"{row['x_lean']:.3g}", row["peer_shown"]]
    said = (
        (("bound shown " if row["bounded"] else "MISSED ") if row["missed"] else "")
        + f"{row['cpu_s'] / row['wall_s'] / (os.cpu_count() or 1):.0%} busy" * bool(row["busy"])
        + row["note"]
        + (f"; {row['peer']}" if row["peer"] else "")
    )
    print(ROW.format(row["name"], row["size"], *numbers, said), flush=True)


if __name__ == "__main__":
    sys.exit(main())
