"""The copies of a round of HadarE (section V): their ids, which of them run where, and how many steps each is given.

The Job Forker makes copies of a job, each with an id of its own:

    job_ID = max_job_count x i + parent_job_id    for all i = 1 .. forks

`max_job_count` is the most jobs that may be there at once, so that no two copies have the same id. A copy that holds
GPUs is the unit `(job, i)`.

Nodes are given out one after the other, each to where its payoff is largest (`choose`). While a job has steps left that
its chosen copies are not believed to do in this slot, it may want one more node. The payoff of a copy of job j on node
h is, by the knob `payoff`,

- `remaining` (ours): the part of the job's steps left that the copy does in this slot. Short jobs and fast nodes first,
  and a job that ends in this slot takes no more nodes than it needs;
- `work` (ours): the steps that it does in this slot, in seconds of the whole cluster for that job. Every node does what
  it is best at, and jobs end late, all at about the same time;
- `balanced` (ours): `work` over the fourth root of the seconds that the whole cluster needs for the job's steps left
  (to the power 0 that is `work`, to the power 1 `remaining`). The power was chosen on the paper's own mixes, so what it
  does there reproduces nothing; with jobs of other lengths some mixes are done later than under Hadar or Gavel. A job
  whose steps left fill no slot waits longer than by `remaining`, until nodes are left over or others have less to do;
- `utility` (the paper, the default): Hadar's, what the job's utility rises by when it goes on with this copy beside
  those chosen, less the price of its GPUs for the rounds that it then takes. Prices are those of (5) and rise as GPUs
  are given out. A job that can earn nothing any more gets what the others leave.

Nodes that nobody wants so are given, while unfinished jobs have copies left, to the jobs that they make end soonest
(the corollary of Theorem 3: no node is left idle while there is a copy for it).

Jobs that no node can run a copy of, as their gang is larger than every node, cannot be forked (ours, `unforked`). They
run whole, on GPUs of one type on as many nodes as it takes, the one with the least time left first, and keep their GPUs
until they are done.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.line import Rule, fill
from workbench.baselines.mechanisms.trial import Trial
from workbench.papers.hadar.algorithms.prices import PriceBounds, price_bounds
from workbench.papers.hadar.algorithms.tracker import WHOLE, Candidate, finishing, split, whole_steps
from workbench.papers.hadar.formulations.utility import Utility, UtilityJobs
from workbench.papers.hadar.instance import CopyInstance
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import Unit
from workbench.scheduling.placement import FreeGpus, Gpus


def copy_ids(parent_id: int, forks: int, max_job_count: int) -> tuple[int, ...]:
    """The ids of a job's copies 1 .. forks.

    Raises InputError for fewer than one copy, and for a parent id that is not from 0 to max_job_count.
    """
    if forks < 1:
        raise InputError("forks", forks, "a whole number >= 1")
    if max_job_count < 1:
        raise InputError("max_job_count", max_job_count, "a whole number >= 1")
    if not 0 <= parent_id <= max_job_count:
        raise InputError("parent_job_id", parent_id, f"a number from 0 to max_job_count ({max_job_count})")
    return tuple(max_job_count * i + parent_id for i in range(1, forks + 1))


def register(names: Sequence[str], forks: int, max_job_count: int | None = None) -> dict[int, Unit]:
    """The copies of jobs by id, as the Job Tracker registers them; a job's parent id is its position from 0.

    Raises InputError for more jobs than max_job_count (None: their number), whose ids could be the same.
    """
    most = max(len(names), 1) if max_job_count is None else max_job_count
    if len(names) > most:
        raise InputError("knob max_job_count", most, f"at least the number of jobs ({len(names)})")
    return {
        job_id: (name, i)
        for parent, name in enumerate(names)
        for i, job_id in enumerate(copy_ids(parent, forks, most), start=1)
    }


URGENCY = {"work": 0.0, "balanced": 0.25, "remaining": 1.0}
"""By how much each payoff prefers jobs with little time left, as a power of that time (ours)."""
DONE = 1e-9
"""A job whose copies do all but this part of its steps left in the slot wants no more nodes."""

Copy = tuple[int, int]
"""Row of the job, position of the node."""


@dataclass(frozen=True, eq=False)
class NodeRound:
    """The numbers of a round.

    speed, seconds, need: (jobs x nodes) steps/s of a copy, how long it runs in this slot, the GPUs that it holds;
    runs: (jobs x nodes) where a copy may be at all; free: (nodes,) GPUs; steps_left: (jobs,) above 0; most: (jobs,)
    copies of each job that may run.
    """

    speed: FloatArray
    seconds: FloatArray
    need: IntArray
    runs: BoolArray
    free: IntArray
    steps_left: FloatArray
    most: IntArray


@dataclass(eq=False)
class ChosenCopies:
    """The copies chosen so far: their speed together and the steps that they do in the slot, (jobs,), free GPUs.

    payoff: of each copy when it was chosen; nan where it is on a node that was left over. bid: (jobs,) the largest
    payoff of one more copy of each job when there was a node for it last, -inf where there was none.
    """

    round: NodeRound
    rate: FloatArray
    done: FloatArray
    count: IntArray
    free: IntArray
    open: BoolArray
    bid: FloatArray
    payoff: dict[Copy, float] = field(default_factory=dict)

    @classmethod
    def nothing(cls, round_: NodeRound) -> ChosenCopies:
        """No copy yet."""
        jobs = len(round_.steps_left)
        open_ = round_.runs & (round_.need <= round_.free) & (round_.most > 0)[:, None]
        none, count = np.full(jobs, -np.inf), np.zeros(jobs, dtype=np.int64)
        return cls(round_, np.zeros(jobs), np.zeros(jobs), count, round_.free.copy(), open_.copy(), none)

    @property
    def copies(self) -> list[Copy]:
        """In the order in which they were chosen."""
        return list(self.payoff)

    @property
    def missing(self) -> FloatArray:
        """(jobs,) steps left that the chosen copies do not do in this slot."""
        left = self.round.steps_left - self.done
        return np.where(left > DONE * self.round.steps_left, left, 0.0)

    def take(self, job: int, node: int, payoff: float = math.nan) -> None:
        """One more copy."""
        r = self.round
        self.payoff[job, node] = payoff
        self.rate[job] += r.speed[job, node]
        self.done[job] += r.speed[job, node] * r.seconds[job, node]
        self.count[job] += 1
        self.free[node] -= r.need[job, node]
        self.open[job, node] = False
        self.open[:, node] &= r.need[:, node] <= self.free[node]
        if self.count[job] >= r.most[job]:
            self.open[job] = False


class Payoff(Protocol):
    """What one more copy is worth: a gain less a charge, in units of its node's price."""

    def values(self, chosen: ChosenCopies, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """(rows x nodes) gains and charges of some jobs' copies beside those of the job that are chosen."""
        ...

    def price(self, chosen: ChosenCopies) -> FloatArray | None:
        """(nodes,) prices now that some GPUs are given out; None if nothing has a price."""
        ...


@dataclass(frozen=True)
class Part:
    """Steps that a copy does in the slot, over what the whole cluster does in a second and over a power of the seconds
    that it needs for the job's steps left; urgency: that power, from 0 to 1."""

    urgency: float

    def values(self, chosen: ChosenCopies, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """(rows x nodes) gains, and charges of 0."""
        r = chosen.round
        steps = np.minimum(r.speed[rows] * r.seconds[rows], chosen.missing[rows, None])
        scale = r.speed[rows].sum(axis=1) ** (1.0 - self.urgency) * r.steps_left[rows] ** self.urgency
        gain = np.divide(steps, scale[:, None], out=np.zeros(steps.shape), where=scale[:, None] > 0)
        return gain, np.zeros(gain.shape)

    def price(self, chosen: ChosenCopies) -> FloatArray | None:
        """Nothing has a price."""
        return None


@dataclass(frozen=True, eq=False)
class UtilityPayoff:
    """Hadar's payoff. age_s: (jobs,) since arrival; kind: (nodes,) type of each; slot_s: length of a round; bounds: of
    prices, over the jobs that can earn something (None if there are none: GPUs cost nothing then)."""

    utility: Utility
    jobs: UtilityJobs
    age_s: FloatArray
    kind: IntArray
    slot_s: float
    bounds: PriceBounds | None

    def values(self, chosen: ChosenCopies, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """(rows x nodes) what the utility rises by, and GPUs x rounds to pay for."""
        r, jobs = chosen.round, self.jobs.take(rows)
        left, age, rate = r.steps_left[rows, None], self.age_s[rows, None], chosen.rate[rows, None]
        with np.errstate(divide="ignore"):
            alone, together = left / rate, left / (rate + r.speed[rows])
        gain = self.utility.values(age + together, jobs) - self.utility.values(age + alone, jobs)
        rounds: FloatArray = np.where(np.isfinite(together), np.ceil(together / self.slot_s), 0.0)
        return gain, np.multiply(r.need[rows], rounds, dtype=float)

    def price(self, chosen: ChosenCopies) -> FloatArray | None:
        """(5) with the GPUs that are given out in this round."""
        if self.bounds is None:
            return None
        taken = np.zeros(len(self.bounds.capacity), dtype=np.int64)
        np.add.at(taken, self.kind, chosen.round.free - chosen.free)
        of_nodes: FloatArray = self.bounds.price(taken)[self.kind]
        return of_nodes


def utility_payoff(
    round_: NodeRound,
    utility: Utility,
    jobs: UtilityJobs,
    age_s: FloatArray,
    kind: IntArray,
    capacity: IntArray,
    slot_s: float,
) -> UtilityPayoff:
    """Hadar's payoff with its prices (5) to (7), from a copy alone on its fastest and on its slowest node.

    Prices are bounded by the jobs that can still earn something; the others gain nothing and come after them.
    """
    speed = np.where(round_.runs, round_.speed, 0.0)
    fastest, slowest = speed.max(axis=1), np.where(round_.runs, speed, np.inf).min(axis=1)
    able = fastest > 0
    shortest = np.divide(round_.steps_left, fastest, out=np.full(len(able), np.inf), where=able)
    longest = np.divide(round_.steps_left, slowest, out=np.full(len(able), slot_s), where=able)
    gang = np.where(round_.runs, round_.need, 0).max(axis=1)
    types = np.zeros((len(able), len(capacity)), dtype=bool)
    for node, number in enumerate(kind.tolist()):
        types[:, number] |= round_.runs[:, node]
    best = utility.values(age_s + shortest, jobs)
    last = np.minimum(utility.values(np.maximum(jobs.horizon, age_s + longest), jobs), best)
    valued = np.flatnonzero(best > 0)
    bounds = None
    if len(valued):
        longest_slots, slots = np.ceil(longest[valued] / slot_s), np.ceil(jobs.horizon / slot_s)
        bounds = price_bounds(best[valued], last[valued], longest_slots, gang[valued], types[valued], capacity, slots)
    return UtilityPayoff(utility, jobs, age_s, kind, slot_s, bounds)


def choose(round_: NodeRound, payoff: Payoff) -> ChosenCopies:
    """The copies of a round; ties to the first job, then its fastest node."""
    chosen = ChosenCopies.nothing(round_)
    _give(chosen, payoff)
    _give_rest(chosen)
    return chosen


def _give(chosen: ChosenCopies, payoff: Payoff) -> None:
    """Nodes to those who miss steps."""
    gain, charge = payoff.values(chosen, np.arange(len(chosen.count)))
    while True:
        price = payoff.price(chosen)
        table = gain if price is None else gain - charge * price
        wanted = chosen.open & (chosen.missing > 0)[:, None]
        if not wanted.any():
            return
        worth = np.where(wanted, table, -np.inf)
        most = worth.max(axis=1)
        chosen.bid = np.where(most > -np.inf, most, chosen.bid)
        job = int(most.argmax())
        node = int(np.where(worth[job] == most[job], chosen.round.speed[job], -np.inf).argmax())  # ties to the fastest
        chosen.take(job, node, float(table[job, node]))
        gain[[job]], charge[[job]] = payoff.values(chosen, np.array([job]))


def _give_rest(chosen: ChosenCopies) -> None:
    """The nodes left over, one after the other to the job that ends sooner by the most seconds."""
    r = chosen.round
    left = r.steps_left[:, None]
    while chosen.open.any():
        rate = chosen.rate[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            sooner = np.where(rate > 0, left / rate - left / (rate + r.speed), np.inf)
        sooner = np.where(chosen.open, sooner, -np.inf)
        job, node = (int(i) for i in np.unravel_index(int(sooner.argmax()), sooner.shape))
        chosen.take(job, node)


class CopyPlan(NamedTuple):
    """copies: of each job's row, (node, whole steps) each; payoff, bid: as `ChosenCopies` has them."""

    copies: dict[int, list[tuple[int, int]]]
    payoff: Mapping[Copy, float]
    bid: FloatArray


def plan_copies(data: CopyInstance, free: IntArray, knobs: Knobs) -> CopyPlan:
    """Which copies run, and their steps. What would be given no step is left out, and its node given out anew."""
    runs = (data.speed > 0) & data.forked[:, None]
    whole = np.array([whole_steps(left) for left in data.steps_left.tolist()], dtype=np.int64)
    seconds = _useful_seconds(data, knobs)
    while True:
        round_ = NodeRound(
            speed=data.speed,
            seconds=seconds,
            need=data.need,
            runs=runs,
            free=free,
            steps_left=data.steps_left,
            most=np.minimum(data.forks, np.maximum(whole, 1)),
        )
        chosen = choose(round_, _payoff(data, round_, knobs))
        copies = chosen.copies
        fastest = knobs["last_round"] == "fastest" and _is_last(data, round_, copies)
        if fastest:
            copies = _finish_up(data, copies)
        waiting = knobs["split"] == "all_copies" and not fastest
        plan: dict[int, list[tuple[int, int]]] = {}
        for job, node in copies:
            plan.setdefault(job, []).append((node, 0))
        idle: list[Copy] = []
        for job, those in plan.items():
            nodes = [node for node, _ in those]
            steps = _steps(data, job, nodes, max(int(whole[job]), 1), waiting)
            if knobs["dispatch"] == "slot":
                steps = _within_slot(data, job, nodes, steps)
            plan[job] = list(zip(nodes, steps, strict=True))
            idle += [(job, node) for node, count in plan[job] if count == 0]
        if not idle:
            return CopyPlan(plan, chosen.payoff, chosen.bid)
        runs = runs.copy()
        for job, node in idle:
            runs[job, node] = False


def _useful_seconds(data: CopyInstance, knobs: Knobs) -> FloatArray:
    """(jobs x nodes) how long a copy runs in the slot; one that has a fixed portion of the steps left, no longer."""
    if knobs["split"] != "all_copies":
        return data.seconds
    ordered = np.sort(data.speed, axis=1)[:, -data.forks :]
    # Beside a node, the copies are on the fastest others.
    together = ordered.sum(axis=1)[:, None] + np.minimum(data.speed - ordered[:, :1], 0.0)
    portion_s: FloatArray = np.divide(
        data.steps_left[:, None], together, out=np.zeros(together.shape), where=together > 0
    )
    return np.minimum(data.seconds, portion_s)


def _payoff(data: CopyInstance, round_: NodeRound, knobs: Knobs) -> Payoff:
    if knobs["payoff"] != "utility":
        return Part(URGENCY[knobs["payoff"]])
    snapshot, jobs = data.snapshot, data.snapshot.jobs
    age_s = snapshot.now_s - jobs.arrival_s
    slowest = np.where(round_.runs, round_.speed, np.inf).min(axis=1)
    # The horizon T (ours): by then all would be done one after the other, each on its slowest node.
    horizon_s = float((data.steps_left / slowest).sum() + age_s.max() + knobs["round_s"])
    facts = UtilityJobs(
        names=jobs.names,
        work=np.array([job.steps for job in jobs.jobs]),
        weight=jobs.weight,
        rewards=tuple(job.rewards for job in jobs.jobs),
        horizon=horizon_s,
        slot=knobs["round_s"],
    )
    utility = Utility(knobs["utility"])
    return utility_payoff(round_, utility, facts, age_s, snapshot.nodes.kind, snapshot.capacity, knobs["round_s"])


def _is_last(data: CopyInstance, round_: NodeRound, copies: list[Copy]) -> bool:
    """Whether the copies are believed to do all steps left of all jobs in the slot."""
    does = np.zeros(len(data.steps_left))
    for job, node in copies:
        does[job] += round_.speed[job, node] * round_.seconds[job, node]
    return not (does < data.steps_left * (1 - DONE)).any()


def _finish_up(data: CopyInstance, copies: list[Copy]) -> list[Copy]:
    """For the last round, of each job's nodes the fastest."""
    chosen: list[Copy] = []
    for job in dict.fromkeys(job for job, _ in copies):
        first = data.tracker.first_done(data.snapshot.jobs.names[job])
        place = {data.at[node]: number for number, node in enumerate(first)}
        candidates = [
            Candidate(node, float(data.speed[job, node]), float(data.restart_s[job, node]), place.get(node))
            for row, node in copies
            if row == job
        ]
        nodes = finishing(candidates, float(data.steps_left[job]), data.overhead_s)
        chosen += [(job, node) for node in nodes]
    return chosen


def _steps(data: CopyInstance, job: int, nodes: list[int], left: int, waiting: bool) -> list[int]:
    """Whole steps for the copies of a job on some nodes; waiting: the portions of copies that do not run are left."""
    speed = data.speed[job]
    weights = speed[nodes]
    if waiting:
        others = [node for node in np.argsort(-speed, kind="stable").tolist() if node not in nodes and speed[node] > 0]
        weights = speed[[*nodes, *others[: data.forks - len(nodes)]]]
    return [int(count) for count in split(left, weights)[: len(nodes)]]


def _within_slot(data: CopyInstance, job: int, nodes: list[int], steps: list[int]) -> list[int]:
    """No more steps than a copy is believed to do in the slot, but one at least of those that it has."""
    most = np.maximum(np.floor(data.speed[job, nodes] * data.seconds[job, nodes] + WHOLE), 1.0)
    return [min(count, int(limit)) for count, limit in zip(steps, most.tolist(), strict=True)]


def unforked(data: CopyInstance) -> dict[Unit, Gpus]:
    """GPUs of the jobs that cannot be forked: those that run go on, then the others in line."""
    snapshot, names = data.snapshot, data.snapshot.jobs.names
    if data.forked.all():
        return {}
    free_gpus, kept = FreeGpus(snapshot.nodes), dict[Unit, Gpus]()
    for unit, lease in snapshot.ended.items():
        row = snapshot.jobs.at.get(str(unit)) if isinstance(unit, str) else None
        if row is None or data.forked[row] or len({snapshot.nodes.kind[data.at[node]] for node in lease.gpus}) > 1:
            continue
        if free_gpus.keep(free_gpus.kind_of(lease.gpus), sum(lease.gpus.values()), lease.gpus):
            kept[unit] = lease.gpus
    rows = [row for row in np.flatnonzero(~data.forked).tolist() if names[row] not in kept]
    fastest = snapshot.belief.speeds(snapshot.jobs).max(axis=1)
    time_s = np.divide(data.steps_left, fastest, out=np.full(len(names), np.inf), where=fastest > 0)
    rows.sort(key=lambda row: time_s[row])
    trial = Trial(snapshot, free_gpus)
    fill(rows, Rule(preemptive=False, blocking=False, aware=True, steady=False), trial)
    return {**kept, **trial.placed}
