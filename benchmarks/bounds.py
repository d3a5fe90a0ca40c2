"""Where the time of a benchmark goes, and what of it every answer of the same run would need: a bound.

`python -m benchmarks.bounds "WORDS" [SIZE]` runs the one benchmark whose name contains the words, at its largest size
unless told, and looks where it is once in a millisecond of CPU time: what went by is the innermost part's of PARTS.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

from benchmarks.__main__ import chosen_cases
from benchmarks.case import Case, Work

LOOK_S = 0.001
PARTS = {
    "HiGHS": r"highs:.*_run$|highs:_pass$",
    "checks": r"enforced_limits:(?!Checker\.answer)|state:State\.(_check|_sort_out|_free_after)",
    "starts": r"leasing:Leasing\.(start|renew)",
    "ends": r"state:State\._(finish|suspend)|leasing:Leasing\.(close|end_due)|jobbook:JobBook\.(done_by|leave)",
    "records and tables": r"recorder:|jobbook:JobBook\.columns|schema:|run:",
    "carrying out, else": r"state:State\.(apply|go_on)",
    "what is seen": r"state:State\.snapshot|snapshot:",
    "deciding": r".*:.*\.decide$",
    "the way to the next event": r"loop:Clock\.|state:State\.advance",
}
"""Parts of a run by the functions (`module:name`) in which it is then."""
KEPT = ("HiGHS", "checks", "starts", "ends", "records and tables")
"""What every answer of the same run needs: its programmes solved, its starts and ends checked and recorded."""


@cache
def _part(code: CodeType) -> str | None:
    name = f"{Path(code.co_filename).stem}:{code.co_qualname}"
    return next((part for part, names in PARTS.items() if re.match(names, name)), None)


def sampled(work: Work) -> Counter[str]:
    """CPU seconds of each part of some work."""
    parts: Counter[str] = Counter()
    last = time.process_time()

    def look(_: int, frame: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.process_time()
        while frame is not None and _part(frame.f_code) is None:
            frame = frame.f_back
        parts["else" if frame is None else str(_part(frame.f_code))] += last - before  # type: ignore[assignment]

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, LOOK_S, LOOK_S)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return parts


def told(case: Case, size: int, parts: Counter[str]) -> str:
    """The profile, and what the budget leaves for the parts that another answer might save."""
    whole, kept = sum(parts.values()), sum(parts[part] for part in KEPT)
    lines = [f"{case.name}, {size}: {whole:.2f} CPU s while looked at"]
    lines += [f"{seconds / whole:6.1%}  {part}" for part, seconds in parts.most_common()]
    lines.append(f"Every answer of the same run needs {' + '.join(KEPT)}: {kept / whole:.1%}, {kept:.2f} s")
    return "\n".join(lines)


def main() -> None:
    """Profile the benchmark that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bounds", description=__doc__)
    parser.add_argument("words", help="of the name of one benchmark")
    parser.add_argument("size", nargs="?", type=int, help="default: its largest")
    asked = parser.parse_args()
    (case, *others), _ = chosen_cases(["--only", asked.words])
    if others:
        sys.exit(f"one benchmark at a time, not {len(others) + 1}: {', '.join(each.name for each in [case, *others])}")
    if case.missing():
        sys.exit(f"{case.name} needs {' and '.join(case.missing())}")
    size = asked.size or max(case.budgets)
    work = case.prepare(size)
    if case.repeats > 1:  # what is imported at first is not measured there
        work()
    print(told(case, size, sampled(work)))


if __name__ == "__main__":
    main()
