"""First in, first out: jobs start in the order of their arrival and keep their GPUs until they are done.

Not preemptive: a job stays on the type it started on even when a faster one becomes free (`srtf` and `las` move jobs).
The first job that does not fit blocks those behind it (knob `blocking`), or only those that would delay it (knob
`backfill`: EASY, `workbench.baselines.mechanisms.backfill`; the signal `shadow_s` says when it is to start). Without
`heterogeneity_aware` a job's type is drawn among those with room (as the authors' code does), for the cluster's order
may be that of speed.

With the preset `authors` the greedy choice is made anew at most every 1920 s and passes as shares of 0 or 1 through the
rounds of Gavel's simulator (its policy `fifo_perf`): a running job may be moved to another type; without
`heterogeneity_aware` (`fifo`) it keeps the one that was drawn. As in that code only a job whose gang has room on no
type at all blocks the line; one that has room only on types on which it cannot run is passed.

With `space_sharing` (`fifo_packed`) those still in line then share the GPUs of jobs that run alone, each with the one
with which the two do most, as long as that is more than 1.5 of what one does alone; the first who finds nobody ends it.
(code): a job that blocks the line is left out of this.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from workbench.base.errors import InputError
from workbench.base.labels import listed
from workbench.baselines.mechanisms import line_decision
from workbench.baselines.mechanisms.backfill import LIMIT, Lasts, easy, require_limits
from workbench.baselines.mechanisms.explain import arrival, by_order, verb
from workbench.baselines.mechanisms.line import Rule, by_arrival, fill
from workbench.baselines.mechanisms.line_scheduler import PRESET, THROUGH, LineScheduler, in_rounds
from workbench.baselines.mechanisms.priority import PolicyAnswer
from workbench.baselines.mechanisms.priority.explain import NoShare, explainer
from workbench.baselines.mechanisms.share_scheduler import require_sharing
from workbench.baselines.mechanisms.trial import Trial
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory, Timing
from workbench.scheduling.decision import Decision, Shares, Unit
from workbench.scheduling.declared_room import Room
from workbench.scheduling.knob import Knob, Value
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.job_at_time import Explained, JobAtTime

if TYPE_CHECKING:
    import pandas as pd

AWARE = line_decision.aware(
    "Start a job on the fastest type that has room (otherwise its type is drawn among those that have). It stays on "
    "that type even if a faster one becomes free: FIFO is not preemptive (aware, through gavel_rounds, it may move)"
)
BLOCKING = Knob("blocking", True, "Nobody passes a job that does not fit", source="code")
SPACE_SHARING = Knob(
    "space_sharing",
    False,
    "Let those in line share the GPUs of jobs that run, where the pair gains much (through gavel_rounds)",
    source="code",
)
LIMIT_S = f"attributes.{LIMIT}"
BACKFILL = Knob(
    "backfill",
    "none",
    "Jobs behind the first that does not fit start if they do not delay it (EASY), as far as is known: by how long a "
    "job takes at its believed speed, or by its attribute limit_s, its user's limit (without one by its speed)",
    choices=("none", "speeds", "limits"),
    main=True,
)
RULES = {
    (aware, blocking): Rule(preemptive=False, blocking=blocking, aware=aware, steady=True)
    for aware in (False, True)
    for blocking in (False, True)
}
MUCH = 1.5
"""What the normalised speeds of a pair must sum to at least, strictly (code: `packing_threshold`)."""

Kinds = dict[str, int]
"""Types by job, in the order in which they were given."""


class Fifo(LineScheduler):
    """In the order of arrival; not preemptive, so nobody moves to a faster type."""

    name = "fifo"
    title = "First in, first out (usual, jobs keep their GPUs)"
    knobs = (PRESET, AWARE, BLOCKING, line_decision.ROUND_S, THROUGH, SPACE_SHARING, BACKFILL)
    uses = LineScheduler.uses | {LIMIT_S}
    leftovers = "none"

    def settle(self, given: Knobs) -> dict[str, Value]:
        knobs = super().settle(given)
        if knobs["space_sharing"] and not in_rounds(knobs):
            raise InputError("knob space_sharing", True, "false, or through=gavel_rounds (preset=authors) with it")
        alone = {"blocking": True, "heterogeneity_aware": True, "through": "queue"}
        for name, value in alone.items() if knobs["backfill"] != "none" else ():
            if knobs[name] != value:
                raise InputError("knob backfill", knobs["backfill"], f"none, or {name}={value} with it")
        return knobs

    def about(self, knobs: Knobs) -> frozenset[str]:
        return self.uses if knobs["backfill"] == "limits" else self.uses - {LIMIT_S}

    def timing(self, knobs: Knobs) -> Timing:
        return replace(super().timing(knobs), only_waiting=not in_rounds(knobs))

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        require_sharing(scenario, knobs)
        if knobs["backfill"] == "limits":
            require_limits(scenario)
        return super().start(scenario, knobs)

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        if knobs["backfill"] == "none":
            return super().decide(snapshot, memory, knobs, rng)
        lasts = Lasts(snapshot, memory, by_limits=knobs["backfill"] == "limits")
        signals: dict[str, dict[str, float]] = {}  # none where nobody is to start: such a decision need not be read

        def choose(rows: Sequence[int], rule: Rule, trial: Trial) -> list[tuple[int, int]]:
            chosen, reserved = easy(rows, rule, trial, lasts)
            lasts.starts([row for row, _ in chosen])
            if reserved is not None and reserved.shadow_s < math.inf:
                signals["shadow_s"] = {snapshot.jobs.now[reserved.row].name: reserved.shadow_s}
            return chosen

        decision = line_decision.serve(snapshot, by_arrival, RULES[True, True], signals, choose=choose)
        return decision, lasts.running

    def serve(self, snapshot: Snapshot, knobs: Knobs, rng: np.random.Generator) -> Decision:
        aware = bool(knobs["heterogeneity_aware"])
        choose = fill if aware else partial(fill, draw=rng)
        return line_decision.serve(snapshot, by_arrival, RULES[aware, bool(knobs["blocking"])], {}, choose=choose)

    def shares(self, snapshot: Snapshot, knobs: Knobs, memory: Memory, rng: np.random.Generator) -> PolicyAnswer:
        return greedy(snapshot, knobs, memory, rng)


def greedy(snapshot: Snapshot, knobs: Knobs, memory: Kinds | None, rng: np.random.Generator) -> PolicyAnswer:
    """Share 1 of its type for every job that starts on the empty cluster, and with `space_sharing` for every pair.

    memory: the types that were drawn before, which stay.
    """
    jobs, left = snapshot.jobs, snapshot.capacity.tolist()
    drawn = {} if knobs["heterogeneity_aware"] else _kept(snapshot, memory or {}, left)
    line = iter([row for row, name in enumerate(jobs.names) if name not in drawn])
    kinds = drawn | dict(_started(snapshot, knobs, line, left, rng))
    held: dict[Unit, int] = {str(name): kind for name, kind in kinds.items()}
    if knobs["space_sharing"]:
        _pack(snapshot, line, held)
    pairs = [unit for unit in held if not isinstance(unit, str)]
    units: tuple[Unit, ...] = (*jobs.names, *pairs)
    values = np.zeros((len(units), len(snapshot.types)))
    at: dict[Unit, int] = {unit: row for row, unit in enumerate(units)}
    for unit, kind in held.items():
        values[at[unit], kind] = 1.0
    return PolicyAnswer(Shares(units, snapshot.types, values), memory=kinds)


def _kept(snapshot: Snapshot, memory: Kinds, left: list[int]) -> Kinds:
    """Those of the types drawn before whose GPUs are still there; takes the GPUs from `left`."""
    jobs, found = snapshot.jobs, {}
    for name, kind in memory.items():
        gang = int(jobs.gpus[jobs.at[name]]) if name in jobs.at else 0
        if 0 < gang <= left[kind]:
            left[kind] -= gang
            found[name] = kind
    return found


def _started(
    snapshot: Snapshot, knobs: Knobs, line: Iterator[int], left: list[int], rng: np.random.Generator
) -> Iterator[tuple[str, int]]:
    """(job, type) down the line, until a job whose gang has room on no type; equally fast types go by name."""
    jobs, speed = snapshot.jobs, snapshot.belief.speeds(snapshot.jobs)
    by_name = sorted(range(len(left)), key=lambda kind: snapshot.types[kind])
    while any(left) and (row := next(line, None)) is not None:
        gang = int(jobs.gpus[row])
        kinds = [kind for kind in by_name if left[kind] >= gang]
        if not kinds and knobs["blocking"]:
            return
        if not kinds:
            continue
        aware = knobs["heterogeneity_aware"]
        kind = max(kinds, key=lambda kind: speed[row, kind]) if aware else kinds[int(rng.integers(len(kinds)))]
        if speed[row, kind] > 0:
            left[kind] -= gang
            yield jobs.names[row], kind


def _pack(snapshot: Snapshot, line: Iterator[int], held: dict[Unit, int]) -> None:
    """Put those still in line with jobs that hold GPUs alone; the pairs come last in `held`."""
    jobs, belief = snapshot.jobs, snapshot.belief

    def together(unit: Unit, row: int) -> float:
        other = jobs.at[unit] if isinstance(unit, str) else row
        if other == row or jobs.gpus[other] != jobs.gpus[row]:
            return 0.0
        pair, kind = [jobs.jobs[other], jobs.jobs[row]], snapshot.types[held[unit]]
        rates = belief.pair(pair[0], pair[1], kind) or (0.0, 0.0)
        alone = [belief.steps_per_s(job, kind, job.gpus) for job in pair]
        return sum(rate / one for rate, one in zip(rates, alone, strict=True) if rate > 0)

    for row in line:
        best = max(held, key=lambda unit: together(unit, row), default=None)
        if best is None or together(best, row) <= MUCH:
            return
        first, last = sorted((jobs.at[str(best)], row))
        held[jobs.names[first], jobs.names[last]] = held.pop(best)


def _not_started(job_at: JobAtTime, block: pd.DataFrame) -> NoShare | None:
    """Who comes before a job to which the greedy choice gives no share, and blocks the line or has the GPUs."""
    order, made_s = arrival(job_at), float(block["time_s"].iloc[0])
    ahead = [name for name in order.values if order.before(name, job_at.job) and order.values[name] <= made_s]
    kinds = {name: kind for unit, kind in zip(block["unit"], block["accelerator"], strict=True)
             for name in unit.split(" + ")}  # fmt: skip
    rule = "The share of a job is 1 if it starts, by arrival, on the cluster without any job, and 0 if it does not."
    head = _head(job_at, sorted(ahead, key=lambda name: order.place(name) or 0), kinds)
    if head is not None and job_at.run.knobs["blocking"]:
        sentence = f"its share of time is 0: {head} came before it and finds no room, and nobody passes it"
        return NoShare(sentence, (rule,), order=order)
    started = [name for name in ahead if name in kinds]
    if not started:
        return None
    had = f"{listed(started)} came before it and {verb('take', started)} GPUs that it could use"
    return NoShare(f"its share of time is 0: by arrival {had}", (rule,), order=order)


def _head(job_at: JobAtTime, line: list[str], kinds: dict[str, str]) -> str | None:
    """The first down the line whose gang has room on no type of the nodes that are up, once those before it started."""
    left = dict(job_at.up)
    for name in line:
        gang = replace(job_at, job=name).spec.gpus
        if name in kinds:
            left[kinds[name]] -= gang
        elif all(gang > gpus for gpus in left.values()):
            return name
    return None


_explain_shares = explainer(_not_started)


def _explain(job_at: JobAtTime) -> Explained:
    """By arrival; through Gavel's rounds by priority."""
    if job_at.run.knobs["through"] == "gavel_rounds":
        return _explain_shares(job_at)
    blocking, fills = bool(job_at.run.knobs["blocking"]), job_at.run.knobs["backfill"] != "none"
    passing = "nobody passes a job that does not fit" if blocking else "who does not fit is passed"
    if fills:
        passing = "who stands behind the first that does not fit starts if that is not expected to delay it"
    rule = f"Jobs start in the order of their arrival and keep their GPUs; {passing}."
    passed = "this job is expected to delay it" if fills else "nobody passes it"
    return by_order(job_at, arrival(job_at), rule, keeps=True, blocking=blocking, passed=passed)


ROOM = Room(
    name="fifo",
    title="First in, first out",
    schedulers=(Fifo(),),
    explanations={"fifo": _explain},
)
