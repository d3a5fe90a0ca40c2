"""Where a run of ours leaves that of the authors' simulator, round by round, and why.

The shares of their linear programmes are not unique: their solver stops inside the face of optima, ours at a vertex. So
the first thing to look at in the first round that differs are the shares, and whether both reach the same objective.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from reproduction.gavel.settings import sharing
from workbench.base.errors import InputError
from workbench.base.files import parse_json
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import convert
from workbench.scenario.traces.public import VARIABLE
from workbench.session.api import simulate
from workbench.simulation.run import Run

_Shares = Mapping[tuple[str, str], float]
SAME_S = 1e-3
"""Rounds that begin so near to each other, in s, begin together; their log has all digits."""


class RoundDifference(NamedTuple):
    """The first round that differs. theirs, ours: (job's number, type, GPUs) of who runs; share: the largest difference
    between the shares that hold then, ours less theirs, of `job` on `type`; level_theirs, level_ours: the least
    normalised throughput under these shares, which the policy maximises."""

    round: int
    start_s: float
    theirs: frozenset[tuple[str, str, int]]
    ours: frozenset[tuple[str, str, int]]
    share: float
    job: str
    type: str
    level_theirs: float
    level_ours: float

    def __str__(self) -> str:
        alike = abs(self.level_ours - self.level_theirs) <= 1e-6 * max(self.level_ours, self.level_theirs)
        why = "the same objective: another point among the optima" if alike else "another objective"
        return (
            f"round {self.round} at {self.start_s:.0f} s: theirs alone {sorted(self.theirs - self.ours)}, ours alone "
            f"{sorted(self.ours - self.theirs)}; job {self.job} has {self.share:+.3f} of its time on {self.type} with "
            f"{why} (least level {self.level_theirs:.6g}, ours {self.level_ours:.6g})"
        )


def first_difference(case: Path, data: Path | None = None) -> RoundDifference | None:
    """Of a log of the authors' max-min fairness (`sim_rounds_*.json`); None if every round has the same jobs on the
    same types. data: the folder of their traces and throughputs, by default `gavel` in the one that WORKBENCH_DATA
    names. Raises InputError without either, and for a file that is no such log."""
    data = data or _given()
    log = parse_json(case.read_text(encoding="utf-8"))
    if not isinstance(log, dict) or not {"header", "rounds"} <= log.keys():
        raise InputError(str(case), log, "a log of rounds: an object with header and rounds")
    scenario = _scenario(log["header"], data)
    run = simulate(scenario, "gavel.max_min_fairness", {"preset": "authors", "round_s": log["header"]["round_s"]})
    numbers = {job.name: str(i) for i, job in enumerate(scenario.jobs)}
    for row in log["rounds"]:
        theirs = frozenset((str(each["job"]), each["worker_type"], len(each["workers"])) for each in row["assigned"])
        ours = _running(run, float(row["start"]), numbers)
        if theirs != ours and theirs:  # in a round without jobs they only compute shares
            return _difference(log, run, numbers, row, theirs, ours)
    return None


def _given() -> Path:
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise InputError(VARIABLE, folder, "the folder that has the authors' files in `gavel`, or data=")
    return Path(folder) / "gavel"


def _difference(
    log: Mapping[str, Any],
    run: Run,
    numbers: Mapping[str, str],
    row: Mapping[str, Any],
    theirs: frozenset[tuple[str, str, int]],
    ours: frozenset[tuple[str, str, int]],
) -> RoundDifference:
    start_s = float(row["start"])
    last = [each for each in log["allocations"] if each["time"] <= start_s + SAME_S][-1]["allocation"]
    stated = {(job, kind): float(share) for job, shares in last.items() for kind, share in shares.items()}
    found = _shares(run.shares, start_s, numbers)
    apart = {key: found.get(key, 0.0) - stated.get(key, 0.0) for key in {*stated, *found}}
    job, kind = max(sorted(apart), key=lambda key: abs(apart[key]))
    levels = (_level(log, shares) for shares in (stated, found))
    return RoundDifference(row["round"], start_s, theirs, ours, apart[job, kind], job, kind, *levels)


def _scenario(header: Mapping[str, Any], data: Path) -> Scenario:
    gpus = int(header["gpus_per_server"])
    counts = zip(("v100", "p100", "k80"), map(int, header["cluster"].split(":")), strict=True)
    nodes = [{"name": kind, "accelerator": kind, "gpus": gpus, "count": count // gpus} for kind, count in counts]
    nodes.sort(key=lambda node: str(node["name"]))  # as their code has them
    cluster = {"accelerators": [{"name": node["name"]} for node in nodes], "nodes": nodes}
    return sharing(convert("gavel", data / header["trace"], data / "simulation_throughputs.json", cluster)[0])


def _running(run: Run, at_s: float, numbers: Mapping[str, str]) -> frozenset[tuple[str, str, int]]:
    """Who runs just after a time."""
    table = run.timeline[run.timeline["kind"] == "run"]
    now = table[(table["start_s"] <= at_s + SAME_S) & (table["end_s"] > at_s + SAME_S)]
    gpus = Counter(zip(now["job"].astype(str), now["accelerator"].astype(str), strict=True))
    return frozenset((numbers[job], kind, count) for (job, kind), count in gpus.items())


def _shares(table: pd.DataFrame, at_s: float, numbers: Mapping[str, str]) -> _Shares:
    """The shares that hold at a time, those of one job alone."""
    known = table[table["time_s"] <= at_s + SAME_S]
    now = known[known["time_s"] == known["time_s"].max()]
    return {
        (numbers[str(unit)], str(kind)): float(share)
        for unit, kind, share in zip(now["unit"], now["accelerator"], now["share"], strict=True)
        if str(unit) in numbers
    }


def _level(log: Mapping[str, Any], shares: _Shares) -> float:
    """The least of sum_j T_mj X_mj / P_m over the jobs; P_m: throughput under an equal share (all weights are 1)."""
    counts = dict(zip(("v100", "p100", "k80"), map(int, log["header"]["cluster"].split(":")), strict=True))
    whole, levels = sum(counts.values()), list[float]()
    for job in log["jobs"]:
        speed, name = job["throughputs"], str(job["id"])
        if any(owner == name for owner, _ in shares):
            equal = sum(speed[kind] * count for kind, count in counts.items()) / whole
            got = sum(speed[kind] * shares.get((name, kind), 0.0) for kind in counts)
            levels.append(job["scale_factor"] * got / equal)
    return min(levels)
