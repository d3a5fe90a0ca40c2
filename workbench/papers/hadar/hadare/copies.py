"""Which copies run where in a round: nodes are given out one after the other, each to where its payoff is largest.

While a job has steps left that its chosen copies are not believed to do in this slot, it may want one more node. The
payoff of a copy of job j on node h is, by the knob `payoff`,

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
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from workbench.papers.hadar.prices import PriceBounds, price_bounds
from workbench.papers.hadar.utility import UTILITY, Utility, UtilityJobs
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray, IntArray
from workbench.scheduling.knob import Knob

COPY_PAYOFF = Knob(
    "payoff",
    "utility",
    "What nodes are given out by: Hadar's utility less the price (utility, the paper), or (ours) the work that a copy "
    "does in the slot (work: all nodes at what they are best at), the part of its job's steps left (remaining: short "
    "jobs first), or between these two (balanced)",
    kind="str",
    choices=("utility", "balanced", "remaining", "work"),
    main=True,
)
COPY_UTILITY = replace(UTILITY, help=f"With payoff=utility only. {UTILITY.help}", main=False)

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
    """The copies chosen so far: their speed together and the steps that they do in the slot, (jobs,), free GPUs."""

    round: NodeRound
    rate: FloatArray
    done: FloatArray
    count: IntArray
    free: IntArray
    open: BoolArray
    copies: list[Copy] = field(default_factory=list)

    @classmethod
    def nothing(cls, round_: NodeRound) -> ChosenCopies:
        """No copy yet."""
        jobs = len(round_.steps_left)
        open_ = round_.runs & (round_.need <= round_.free) & (round_.most > 0)[:, None]
        return cls(
            round_, np.zeros(jobs), np.zeros(jobs), np.zeros(jobs, dtype=np.int64), round_.free.copy(), open_.copy()
        )

    @property
    def missing(self) -> FloatArray:
        """(jobs,) steps left that the chosen copies do not do in this slot."""
        left = self.round.steps_left - self.done
        return np.where(left > DONE * self.round.steps_left, left, 0.0)

    def take(self, job: int, node: int) -> None:
        """One more copy."""
        r = self.round
        self.copies.append((job, node))
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


def choose(round_: NodeRound, payoff: Payoff) -> list[Copy]:
    """The copies of a round in the order in which they were chosen; ties to the first job, then its fastest node."""
    chosen = ChosenCopies.nothing(round_)
    _give(chosen, payoff)
    _give_rest(chosen)
    return chosen.copies


def _give(chosen: ChosenCopies, payoff: Payoff) -> None:
    """Nodes to those who miss steps."""
    gain, charge = payoff.values(chosen, np.arange(len(chosen.count)))
    while True:
        price = payoff.price(chosen)
        table = gain if price is None else gain - charge * price
        wanted = chosen.open & (chosen.missing > 0)[:, None]
        if not wanted.any():
            return
        job, node = _best(np.where(wanted, table, -np.inf), chosen.round.speed)
        chosen.take(job, node)
        gain[[job]], charge[[job]] = payoff.values(chosen, np.array([job]))


def _best(worth: FloatArray, speed: FloatArray) -> Copy:
    """The first job with the largest payoff, and of its nodes with that payoff the fastest."""
    job = int(worth.max(axis=1).argmax())
    largest = worth[job] == worth[job].max()
    return job, int(np.where(largest, speed[job], -np.inf).argmax())


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
