"""Print a table of every budget: what it costs on this machine, and how the cost grows with size.

`python -m benchmarks [WORD...]` runs only the benchmarks whose name contains every WORD. Exit code 1 if a budget is
missed, 2 if no benchmark has such a name.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.case import Case
from benchmarks.cases import CASES, MEMORY_MB
from workbench.scenario.data import VARIABLE

ROW = "{:<46} {:>8} {:>9} {:>9} {:>9} {:>8} {:>7}  {}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks that are asked for, one process each."""
    chosen = chosen_cases(argv)
    print(ROW.format("benchmark", "size", "CPU s", "wall s", "budget s", "peak MB", "growth", ""))
    missed = [name for case in chosen for name in run(case)]
    print(f"{len(missed)} budgets missed" + (": " + ", ".join(missed) if missed else ""))
    return 1 if missed else 0


def chosen_cases(argv: Sequence[str] | None = None) -> list[Case]:
    """The benchmarks whose name contains every word; ends the program with code 2 if there is none."""
    names = "benchmarks:\n" + "\n".join(f"  {case.name}" for case in CASES)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure the budgets on this machine.",
        epilog=names,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", metavar="WORD", nargs="*", help="only benchmarks whose name contains every WORD")
    words = parser.parse_args(argv).words
    chosen = [case for case in CASES if all(word in case.name for word in words)]
    if not chosen:
        parser.error(f"no benchmark's name contains: {' '.join(words)}\n{names}")
    return chosen


def run(case: Case) -> list[str]:
    """Measure one case over its sizes; returns what missed its budget. Growth is the exponent of wall time in size."""
    if case.missing():
        print(f"{case.name}: not measured, needs {' and '.join(case.missing())} in the folder that {VARIABLE} names")
        return []
    missed, before = [], None
    for size, budget in case.budgets.items():
        command = [sys.executable, "-m", "benchmarks.measure", case.name, str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{case.name} {size} failed:\n{done.stderr}")
            missed.append(f"{case.name} {size}")
            continue
        cost = json.loads(done.stdout.splitlines()[-1])
        late = (budget is not None and cost["wall_s"] > budget) or cost["peak_mb"] > MEMORY_MB
        growth = ""
        if before is not None and before[0] != size:
            growth = f"{math.log(cost['wall_s'] / before[1]) / math.log(size / before[0]):.2f}"
        before = (size, cost["wall_s"])
        shown = "-" if budget is None else f"{budget:g}"
        numbers = (f"{cost['cpu_s']:.3f}", f"{cost['wall_s']:.3f}", shown, f"{cost['peak_mb']:.0f}", growth)
        print(ROW.format(case.name, size, *numbers, ("MISSED " if late else "") + cost["note"]), flush=True)
        if late:
            missed.append(f"{case.name} {size}")
    return missed


if __name__ == "__main__":
    sys.exit(main())
