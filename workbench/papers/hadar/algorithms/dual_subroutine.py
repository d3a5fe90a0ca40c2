"""The dual subroutine (Algorithm 2): which jobs of the queue run from this round on, and on which GPUs.

`allocate` does it at size: the options of every job (`find_alloc`), the selection with the largest sum of payoffs by
dynamic programming or, with too many states, by the linear programme (`selection`), then real servers (`place_gpus`).
GPUs by type do not say on how many servers they lie: a job whose GPUs turn out to lie on other servers than its option
said is asked again with those that are left, as are all others, until nobody is chosen any more.

(erratum) Lines 16-21 compare the costs of running a job and of passing it over and return the cheaper. Prices are
positive, so nobody would ever run. Here the larger sum of payoffs wins.

Prices within a round: (5) is per server and type in the paper. Here the GPUs of a type have one price, by how many of
all its GPUs are held: a function of the state that servers aggregated by type have, so that the dynamic programme is
exact for it. Where every type has one server the two are the same.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.papers.hadar.algorithms.find_alloc import AllocationOptions, FreeServers, find, worth
from workbench.papers.hadar.algorithms.prices import PriceBounds, price
from workbench.papers.hadar.algorithms.selection import MOST_CELLS, TOLERANCE, Knapsack, Selection, exact, relaxed
from workbench.papers.hadar.formulations.utility import Utility
from workbench.papers.hadar.instance import HadarQueue
from workbench.papers.hadar.knobs import HadarRules
from workbench.scheduling.placement import FreeGpus, Gpus
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import relative_gap
from workbench.scheduling.solvers.solve_report import SolveReport

_Prices = Literal["within_round", "start_of_round"]
_Method = Literal["auto", "dp", "lp"]
_Choose = Callable[[HadarQueue, Knapsack], Selection]
"""How an own formulation selects, at the prices of the round's start."""


@dataclass(frozen=True, eq=False)
class ChosenOption:
    """What a job got: its GPUs, and the option they came from.

    stay: it keeps the GPUs it has; speed: steps/s; rounds: until it is done; utility: U_j then; cost: at the prices of
    its turn; left_over: it took GPUs that nobody would pay for, at no cost.
    """

    gpus: Gpus
    stay: bool
    speed: float
    rounds: float
    utility: float
    cost: float
    left_over: bool = False

    @property
    def payoff(self) -> float:
        return self.utility - self.cost


@dataclass(frozen=True, eq=False)
class RoundAllocation:
    """The round. chosen: by position in the queue; best: (jobs,) largest payoff at the prices of the round's start,
    -inf without an option; best_utility: (jobs,) the utility of that option, 0 without one; held: (types,) GPUs held in
    the end; first: the first selection, before real servers; iterations: selections of which anybody was placed, at
    least 1; other_prices: whether the linear programme decided, by the prices of the round's start, although those
    within the round were asked for."""

    chosen: Mapping[int, ChosenOption]
    best: FloatArray
    best_utility: FloatArray
    held: IntArray
    first: Selection
    build_s: float
    solve_s: float
    iterations: int
    other_prices: bool = False

    @property
    def solution(self) -> SolveReport:
        """The sum of payoffs of those that were placed, against the first selection's bound.

        The bound is of GPUs counted by type. With more selections than one it is feasible only, and where jobs placed
        later pay so much less than in the order of arrival that it exceeds the bound, that is no bound: None. By an own
        objective: what the model that chose comes to, None where its choice is not what was placed.
        """
        placed = math.fsum(chosen.payoff for chosen in self.chosen.values() if not chosen.left_over)
        bound = self.first.bound
        value: float | None = placed
        slack = TOLERANCE * max(1.0, abs(placed))
        if bound is not None and placed > bound + slack:
            bound = None
        as_chosen = self.iterations == 1 and abs(placed - self.first.objective) <= slack
        if self.first.own is not None:
            value, bound = (self.first.own, self.first.bound) if as_chosen else (None, None)
        status = self.first.status if as_chosen else "feasible"
        gap = self.first.gap if as_chosen else relative_gap(placed, bound)
        return SolveReport(
            status,
            value,
            bound=bound,
            gap=gap,
            build_s=self.build_s,
            solve_s=self.solve_s,
            passes=self.iterations,
            made_by="model" if self.first.method == "model" else "algorithm",
        )


def problem(
    options: AllocationOptions, jobs: int, free: IntArray, bounds: PriceBounds, prices: _Prices = "within_round"
) -> Knapsack:
    """The knapsack of a round; prices count the GPUs that are not free as held."""
    if prices == "start_of_round":
        value = options.payoff(bounds.price(bounds.capacity - free))
        return Knapsack(jobs, free, options.job, options.gpus, value, options.charge)
    curve = tuple(
        price(bounds.least[kind], bounds.most[kind], total, total - np.arange(left + 1))
        for kind, (total, left) in enumerate(zip(bounds.capacity.tolist(), free.tolist(), strict=True))
    )
    return Knapsack(jobs, free, options.job, options.gpus, options.utility, options.charge, curve)


def select(found: Knapsack, method: _Method = "auto") -> Selection:
    """By dynamic programming, or by the linear programme if asked for or if the states are too many.

    The linear programme has the prices of the round's start: where they rise within the round it solves another
    problem, whose answer is feasible only (`Selection.method` says which way was taken).
    """
    by_states = method == "dp" or (method == "auto" and found.cells <= MOST_CELLS)
    return exact(found) if by_states else relaxed(found)


def allocate(
    snapshot: Snapshot,
    queue: HadarQueue,
    free_gpus: FreeGpus,
    rules: HadarRules,
    prices: _Prices = "within_round",
    method: _Method = "auto",
    held: Mapping[str, Gpus] | None = None,
    fill: bool = False,
    choose: _Choose | None = None,
) -> RoundAllocation:
    """Choose jobs and take their GPUs from `free_gpus`; held: GPUs among them that jobs of the queue have now.

    fill: GPUs that nobody would pay for go, for nothing, to the jobs with the largest sum of utilities (ours).
    Jobs that can earn nothing (utility 0 however soon they end) come last, for nothing, on the rest (ours).
    choose: what selects in the place of `select`.
    """
    chosen: dict[int, ChosenOption] = {}
    best, best_utility = np.full(len(queue), -np.inf), np.zeros(len(queue))
    first: Selection | None = None
    build_s = solve_s = 0.0
    passes = 0
    for passes in itertools.count(1):
        if queue.bounds is None:
            break
        began = time.perf_counter()
        servers = FreeServers.of(snapshot, free_gpus.free)
        options = _open(find(snapshot, queue, servers, rules, held), chosen)
        now = queue.bounds.price(queue.bounds.capacity - servers.total)
        if passes == 1:
            payoff = options.payoff(now)
            np.maximum.at(best, options.job, payoff)
            top = np.flatnonzero(payoff == best[options.job])[::-1]  # of equal ones the first is written last
            best_utility[options.job[top]] = options.utility[top]
        options = worth(options, now)
        if not len(options):
            break
        found = problem(options, len(queue), servers.total, queue.bounds, prices)
        build_s += time.perf_counter() - began
        selection = select(found, method) if choose is None else choose(queue, found)
        solve_s += selection.solve_s
        first = first or selection
        if not _place(queue, free_gpus, options, selection, held or {}, chosen):
            break
    if fill:
        _give_idle(snapshot, queue, free_gpus, rules, method, held or {}, chosen)
    _fill(snapshot, queue, free_gpus, rules, held or {}, chosen)
    total = FreeServers.of(snapshot, free_gpus.free).total
    first = first or Selection(np.zeros(0, dtype=np.int64), np.zeros(0), "optimal", 0.0, 0.0, 0.0, "dp")
    other = prices == "within_round" and first.method == "lp"
    held_now, passes = snapshot.capacity - total, max(passes - 1, 1)
    return RoundAllocation(chosen, best, best_utility, held_now, first, build_s, solve_s, passes, other)


def _open(options: AllocationOptions, chosen: Mapping[int, ChosenOption]) -> AllocationOptions:
    """Options of the jobs that have not been placed."""
    if not chosen:
        return options
    return options.take(np.flatnonzero(~np.isin(options.job, list(chosen))))


def _place(
    queue: HadarQueue,
    free_gpus: FreeGpus,
    options: AllocationOptions,
    selection: Selection,
    held: Mapping[str, Gpus],
    chosen: dict[int, ChosenOption],
    left_over: bool = False,
) -> bool:
    """Give chosen options real servers: who stays first, then one server, then more, large gangs first.

    An option whose servers are gone is left out. left_over: they cost nothing. Returns whether anybody was placed.
    """
    picked = [option for option in selection.choice.tolist() if option >= 0]
    gang = options.gpus.sum(axis=1)
    picked.sort(key=lambda o: (not options.stay[o], int(options.servers[o] > 1), -int(gang[o]), int(options.job[o])))
    before = len(chosen)
    for option in picked:
        job = int(options.job[option])
        gpus = _take(queue, free_gpus, options, option, held)
        if gpus is not None:
            utility = float(options.utility[option])
            chosen[job] = _chosen(options, option, gpus, utility, utility - float(selection.payoff[job]), left_over)
    return len(chosen) > before


def _take(
    queue: HadarQueue, free_gpus: FreeGpus, options: AllocationOptions, option: int, held: Mapping[str, Gpus]
) -> Gpus | None:
    """Take the GPUs of an option; None, and nothing taken, if they lie on other servers than it says."""
    if options.stay[option]:
        own = held[queue.view.names[options.job[option]]]
        return own if keep_gpus(free_gpus, own) else None
    gpus = place_gpus(free_gpus, options.gpus[option], int(options.servers[option]))
    if gpus is not None and len(gpus) != options.servers[option]:
        give_back(free_gpus, gpus)
        return None
    return gpus


def _chosen(
    options: AllocationOptions, option: int, gpus: Gpus, utility: float, cost: float, left_over: bool = False
) -> ChosenOption:
    speed, needed = float(options.speed[option]), float(options.rounds[option])
    return ChosenOption(gpus, bool(options.stay[option]), speed, needed, utility, cost, left_over)


def _give_idle(
    snapshot: Snapshot,
    queue: HadarQueue,
    free_gpus: FreeGpus,
    rules: HadarRules,
    method: _Method,
    held: Mapping[str, Gpus],
    chosen: dict[int, ChosenOption],
) -> None:
    """Let jobs that were not chosen have what is left, with the largest sum of utilities."""
    while queue.bounds is not None and any(free_gpus.free):
        servers = FreeServers.of(snapshot, free_gpus.free)
        options = _open(find(snapshot, queue, servers, rules, held), chosen)
        options = worth(options, np.zeros(len(servers.total)))
        found = Knapsack(len(queue), servers.total, options.job, options.gpus, options.utility, options.charge)
        if not len(options) or not _place(
            queue, free_gpus, options, select(found, method), held, chosen, left_over=True
        ):
            break


def _fill(
    snapshot: Snapshot,
    queue: HadarQueue,
    free_gpus: FreeGpus,
    rules: HadarRules,
    held: Mapping[str, Gpus],
    chosen: dict[int, ChosenOption],
) -> None:
    """Give jobs that can earn nothing what makes them end soonest of what is left, in the queue's order; ties stay."""
    worthless = np.flatnonzero(queue.best <= 0)
    if not len(worthless):
        return
    free = replace(rules, utility=Utility("effective_throughput"), horizon_s=None)
    before = -1
    while len(chosen) > before:
        before = len(chosen)
        options = _open(find(snapshot, queue, FreeServers.of(snapshot, free_gpus.free), free, held, worthless), chosen)
        for option in np.lexsort((~options.stay, -options.utility, options.job)).tolist():
            job = int(options.job[option])
            gpus = None if job in chosen else _take(queue, free_gpus, options, option, held)
            if gpus is not None:
                chosen[job] = _chosen(options, option, gpus, 0.0, 0.0, left_over=True)


def place_gpus(free_gpus: FreeGpus, gpus: IntArray, servers: int) -> Gpus | None:
    """GPUs taken from `free_gpus`, by type on the fewest servers, or on exactly `servers` if these are more.

    gpus: (types,) GPUs. Returns None, and takes nothing, if a type has too few. Several types stay on the fewest.
    """
    wanted = [(kind, count) for kind, count in enumerate(gpus.tolist()) if count]
    found: dict[str, int] = {}
    for kind, count in wanted:
        piece = free_gpus.consolidate(kind, count)
        if piece is None:
            give_back(free_gpus, found)
            return None
        found |= piece
    if len(wanted) == 1 and len(found) < servers:
        give_back(free_gpus, found)
        return _wider(free_gpus, *wanted[0], servers)
    return found


def keep_gpus(free_gpus: FreeGpus, gpus: Gpus) -> bool:
    """Take the same GPUs again, of one type or several; returns whether all were free."""
    taken: dict[str, int] = {}
    for node, count in gpus.items():
        if not free_gpus.keep(free_gpus.kind_of({node: count}), count, {node: count}):
            give_back(free_gpus, taken)
            return False
        taken[node] = count
    return True


def give_back(free_gpus: FreeGpus, gpus: Gpus) -> None:
    """Undo a taking of GPUs of one type or several."""
    for node, count in gpus.items():
        free_gpus.give_back(free_gpus.kind_of({node: count}), {node: count})


def _wider(free_gpus: FreeGpus, kind: int, count: int, servers: int) -> Gpus | None:
    """One GPU on each of the emptiest `servers` servers of a type, the rest on these in their order."""
    sizes = [
        (-free, at)
        for at, (free, name) in enumerate(zip(free_gpus.free, free_gpus.names, strict=True))
        if free > 0 and free_gpus.kind_of({name: 1}) == kind
    ]
    chosen = [at for _, at in sorted(sizes)[:servers]]
    if len(chosen) < servers or sum(free_gpus.free[at] for at in chosen) < count:
        return None
    spread, missing = dict.fromkeys(chosen, 1), count - servers
    for at in chosen:
        more = min(free_gpus.free[at] - 1, missing)
        spread[at] += more
        missing -= more
    gpus = {free_gpus.names[at]: n for at, n in spread.items()}
    return gpus if free_gpus.keep(kind, count, gpus) else None
