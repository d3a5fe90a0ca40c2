"""GENIE: elastic jobs with deadlines by least laxity, each with as few GPU-seconds as its deadline allows.

A waiting job with a deadline has the laxity

    L_i = d_i - now - min over (type, size) of the remaining run time

which is how long it can still wait. Those with a laxity of at least 0 come first, the least first. Each takes, of the
types and of the sizes that its user chose (`gpu_choices`; others have one), where there is room for it and it would be
done in time, the one with the fewest GPU-seconds, the faster of equals. Best-effort jobs come last, and with them those
that can no longer be in time, all by arrival: at the size asked for, or if it runs nowhere the one with the fewest
GPU-seconds, on the fastest type that has room. Nobody is preempted or resized, jobs that do not fit are passed.
Source: Chen et al., GENIE (TPDS 2019), as Chronus has it in section 4.3: elastic, least laxity, best effort last.
(ours): run times are believed speeds, not GENIE's own prediction model; placements are on the fewest nodes; the size
by GPU-seconds; what becomes of late jobs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.units import clock
from workbench.baselines.mechanisms import line_decision
from workbench.baselines.mechanisms.explain import by_order
from workbench.scheduling.contract import Knobs, Memory
from workbench.scheduling.decision import Assignment, Decision, PerJob, Reason
from workbench.scheduling.declared_room import Room
from workbench.scheduling.job_orders import due_s, places
from workbench.scheduling.placement import Gpus, Request, place, runs_spread
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.job_at_time import Explained, JobAtTime, Order

ROUND_S = replace(line_decision.ROUND_S, default=60.0)


class Ways(NamedTuple):
    """The ways in which waiting jobs may run: (ways,) row of the job, type, GPUs, and remaining run time in seconds."""

    row: IntArray
    kind: IntArray
    gpus: IntArray
    run_s: FloatArray

    def take(self, chosen: IntArray | BoolArray) -> Ways:
        """Some of them, in that order."""
        return Ways(self.row[chosen], self.kind[chosen], self.gpus[chosen], self.run_s[chosen])

    def shortest_s(self, count: int) -> FloatArray:
        """(count,) shortest run time of the job in each row, infinite for those that run nowhere."""
        found = np.full(count, np.inf)
        np.minimum.at(found, self.row, self.run_s)
        return found


class Genie(line_decision.InLine):
    """Least laxity first, elastic, not preemptive."""

    name = "genie"
    title = "GENIE: elastic jobs by least laxity"
    knobs = (ROUND_S,)
    uses = frozenset({"arrival_s", "steps", "gpus", "gpu_choices", "rewards"})

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        jobs = snapshot.jobs
        kept = line_decision.kept(snapshot)[0]
        stay = tuple(Assignment(unit, gpus, math.inf) for unit, gpus in kept.items())
        waiting = np.flatnonzero([name not in snapshot.leases and name not in kept for name in jobs.names])
        if not len(waiting):
            return Decision(assign=stay, next_s=math.inf), None
        ways = ways_of(snapshot, waiting)
        slack_s = due_s(jobs.jobs) - snapshot.now_s
        slo = np.isfinite(slack_s)
        laxity_s = np.full(len(jobs), np.inf)
        laxity_s[slo] = slack_s[slo] - ways.shortest_s(len(jobs))[slo]
        timely = slo & (laxity_s >= 0)
        line = waiting[np.argsort(places(~timely, np.where(timely, laxity_s, 0.0))[waiting])]
        placed = _serve(snapshot, line.tolist(), offers(snapshot, ways, slack_s, timely))
        shown = waiting[slo[waiting]]
        decision = Decision(
            assign=(*stay, *(Assignment(name, gpus, math.inf) for name, gpus in placed.items())),
            signals={"laxity_s": PerJob([jobs.names[row] for row in shown.tolist()], laxity_s[shown])},
            why=_reasons(snapshot, placed, laxity_s, timely),
            next_s=None if timely[waiting].any() else math.inf,
        )
        return decision, None


def ways_of(snapshot: Snapshot, rows: IntArray) -> Ways:
    """Types and sizes on which these jobs are believed to run, their gangs on the fewest nodes."""
    jobs, speeds = snapshot.jobs, snapshot.speeds()
    rigid = np.array([len(jobs.jobs[row].sizes) == 1 for row in rows.tolist()], dtype=bool)
    spot, kind = np.nonzero(speeds[rows[rigid]] > 0)
    row = rows[rigid][spot]
    found = [(row, kind, jobs.gpus[row], speeds[row, kind])]
    elastic = [way for each in rows[~rigid].tolist() for way in _elastic(snapshot, each)]
    if elastic:
        found.append(tuple(np.array(column) for column in zip(*elastic, strict=True)))  # type: ignore[arg-type]
    row, kind, gpus, speed = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return Ways(row, kind, gpus, jobs.steps_left[row] / speed)


def _elastic(snapshot: Snapshot, row: int) -> list[tuple[int, int, int, float]]:
    """(row, type, GPUs, steps/s) of a job at each of its sizes."""
    job, belief = snapshot.jobs.jobs[row], snapshot.belief
    found = []
    for kind, name in enumerate(snapshot.types):
        for gpus in job.sizes:
            nodes = snapshot.cluster.fewest_nodes(name, gpus)
            speed = belief.steps_per_s(job, name, gpus, "consolidated", nodes) if nodes is not None else 0.0
            if speed > 0:
                found.append((row, kind, gpus, speed))
    return found


def offers(snapshot: Snapshot, ways: Ways, slack_s: FloatArray, timely: BoolArray) -> dict[int, list[tuple[int, int]]]:
    """(type, GPUs) that each waiting job (row) would take, best first; slack_s: (jobs,) seconds to the deadline."""
    asked = ways.gpus == snapshot.jobs.gpus[ways.row]
    has_asked = np.zeros(len(snapshot.jobs), dtype=bool)
    has_asked[ways.row[asked]] = True
    mine = np.where(timely[ways.row], ways.run_s <= slack_s[ways.row], asked | ~has_asked[ways.row])
    left = ways.take(mine)
    by_time = has_asked[left.row] & ~timely[left.row]
    first = np.where(by_time, left.run_s, left.gpus * left.run_s)
    left = left.take(np.lexsort((left.run_s, first, left.row)))
    found: dict[int, list[tuple[int, int]]] = {}
    for row, kind, gpus in zip(left.row.tolist(), left.kind.tolist(), left.gpus.tolist(), strict=True):
        found.setdefault(row, []).append((kind, gpus))
    return found


def _serve(snapshot: Snapshot, line: Sequence[int], wanted: dict[int, list[tuple[int, int]]]) -> dict[str, Gpus]:
    """Give free GPUs down the line; those who get some are then placed together, large gangs first, if all fit so."""
    free_gpus, accept, names = line_decision.kept(snapshot)[1], runs_spread(snapshot), snapshot.jobs.names
    left = free_gpus.left(len(snapshot.types))
    chosen, refused = list[Request](), False
    one_by_one: dict[str, Gpus] = {}
    for row in line:
        if not any(left):
            break
        for kind, gpus in wanted.get(row, ()):
            if gpus > left[kind]:
                continue
            request = Request(names[row], kind, gpus)
            found = place([request], free_gpus, accept=accept)
            if found:
                chosen.append(request)
                one_by_one[names[row]] = found[names[row]]
                left[kind] -= gpus
                break
            refused = True
    together = {str(unit): gpus for unit, gpus in place(chosen, line_decision.kept(snapshot)[1], accept=accept).items()}
    return together if len(together) == len(chosen) and not refused else one_by_one


def _reasons(snapshot: Snapshot, placed: dict[str, Gpus], laxity_s: FloatArray, timely: BoolArray) -> dict[str, Reason]:
    """Why those who start do."""
    why: dict[str, Reason] = {}
    for name, gpus in placed.items():
        row, total = snapshot.jobs.at[name], sum(gpus.values())
        if timely[row]:
            text = f"{clock(laxity_s[row])} of laxity, {total} GPUs are done in time with the fewest GPU-seconds"
            why[name] = Reason("laxity", text, {"laxity_s": float(laxity_s[row]), "gpus": float(total)})
        else:
            why[name] = Reason(
                "leftover", f"{total} GPUs that no job which can be in time takes", {"gpus": float(total)}
            )
    return why


def _explain(job_at: JobAtTime) -> Explained:
    """The line of waiting jobs: those that can be in time by laxity, all others behind them by arrival."""
    rule = (
        "Waiting jobs that can still meet their deadlines go first, the least laxity first; then the others by "
        "arrival. Nobody loses GPUs."
    )
    at_s, laxity_s = job_at.signals("laxity_s") or (job_at.at_s, {})
    line = {job: laxity_s[job] if laxity_s.get(job, -1.0) >= 0 else math.inf for job in job_at.waiting}
    label = "laxity (how long it can still wait)"
    return by_order(job_at, Order(label, "s", line, "lowest", at_s, job_at.by_arrival), rule, keeps=True)


ROOM = Room(
    name="genie",
    title="GENIE",
    schedulers=(Genie(),),
    explanations={"genie": _explain},
)
