"""Try many worlds and say what came of them: `python -m tests.fuzz.tally --first 0 --worlds 100 --seconds 600`.

Prints a line for each bug and each new kind of stated failure, then how many trials of each scheduler ended how; exits
with 1 if there was a bug. Any trial is repeated by `--first N --worlds 1 --schedulers NAME`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from tests.fuzz.trials import Outcome, built_in, trial


def outcomes(numbers: Iterable[int], names: Iterable[str]) -> Iterator[Outcome]:
    """What came of each world under each scheduler."""
    chosen = tuple(names)
    for number in numbers:
        for name in chosen:
            yield trial(number, name)


def kind_of(outcome: Outcome) -> str:
    """A stated failure's kind: its text without numbers and names."""
    text = re.sub(r"[^\s:]*\d[^\s:]*", "#", outcome.text.splitlines()[-1] if outcome.text else "")
    return f"{outcome.kind} {text[:160]}".strip()


def main() -> int:
    """Try the worlds that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--schedulers", default=",".join(built_in()))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no trial after so many")
    given = parser.parse_args()
    until = time.monotonic() + given.seconds
    seen: set[str] = set()
    ends: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes(range(given.first, given.first + given.worlds), given.schedulers.split(",")):
        ends[outcome.scheduler, outcome.kind] += 1
        kind = f"{outcome.scheduler} {kind_of(outcome)}"
        if outcome.text and (outcome.kind == "bug" or kind not in seen):
            seen.add(kind)
            print(json.dumps(outcome._asdict(), default=str), flush=True)
        if time.monotonic() > until:
            print(f"stopped in world {outcome.world}")
            break
    for (name, kind), count in sorted(ends.items()):
        print(f"{count:6d}  {name:28s} {kind}")
    return int(any(kind == "bug" for _, kind in ends))


if __name__ == "__main__":
    sys.exit(main())
