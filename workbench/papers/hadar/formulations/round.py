r"""Hadar's round: which jobs of the queue run, and with which allocation (section III-B and III-C, equation (8)).

max   sum_j sum_{o in O_j} mu_jo y_jo                                   (8)        total_payoff
s.t.  sum_{o in O_j} y_jo <= 1                     for all j            (2b)       one_option
      sum_j sum_{o in O_j} w_jor y_jo <= c_r       for all r            (8, s.t.)  capacity
      0 <= y_jo <= 1, y_jo integer if not relaxed  for all j, o in O_j  (2c)       choose

The paper writes (8) for one job, whose answer is the argmax (4); the subject-to row below it has no number of its own.

Option o of job j takes w_jor GPUs of type r and pays mu_jo, the job's utility when it ends so less the price of its
GPUs in the rounds until then, with the prices of the round's start. c_r GPUs of type r are free: servers are aggregated
by type. (erratum) Algorithm 2 minimises costs in lines 16-21, so that nobody would run; the sum of payoffs is meant.
The printed programme chooses one schedule of all slots for each job; in a round a schedule is an allocation that the
job keeps until it is done.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from workbench.base.arrays import FloatArray, IntArray, fixed, shaped
from workbench.base.errors import InputError
from workbench.papers.hadar.algorithms.find_alloc import FreeServers, find, worth
from workbench.papers.hadar.algorithms.selection import Knapsack
from workbench.papers.hadar.instance import HadarQueue, require_time
from workbench.papers.hadar.knobs import ROUND_KNOBS, HadarRules
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import pyo
from workbench.scheduling.placement import FreeGpus
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import SolverFailedError, UnkeptError

NAME = "hadar.round"
TOLERANCE = 1e-6
RELAXED = Knob("relaxed", False, "Let jobs be chosen in parts: the linear problem")


@dataclass(frozen=True, eq=False)
class RoundInstance:
    """The numbers of a round.

    types: names; capacity: (types,) free GPUs; jobs: names; job: (options,) position of the job, rising; gpus:
    (options x types) GPUs; payoff: (options,) mu_jo; prices: what the payoffs come from, by name, for the result
    (`price`: utility of a GPU a round, by type); charge: (options,) rounds that its GPUs are paid for, if known. Raises
    InputError that names the job and option.
    """

    types: tuple[str, ...]
    capacity: IntArray
    jobs: tuple[str, ...]
    job: IntArray
    gpus: IntArray
    payoff: FloatArray
    prices: Mapping[str, Any] | None = None
    charge: FloatArray | None = None

    def __post_init__(self) -> None:
        options = len(self.job)
        shapes = {"capacity": (len(self.types),), "job": (options,), "gpus": (options, len(self.types))}
        for name, shape in {**shapes, "payoff": (options,)}.items():
            given = shaped(getattr(self, name), shape, f"round, {name}")
            whole = name != "payoff"
            bad = ~np.isfinite(given) | (whole & ((given < 0) | (given != np.rint(given))))
            if bad.any():
                spot = int(np.argwhere(bad)[0][0])
                where = f"type {self.types[spot]}, capacity" if name == "capacity" else f"{self._where(spot)}, {name}"
                raise InputError(where, float(given[bad][0]), f"a {'whole ' if whole else 'finite '}number")
            object.__setattr__(self, name, fixed(given.astype(np.int64) if whole else given))
        if options and ((np.diff(self.job) < 0).any() or self.job[-1] >= len(self.jobs)):
            raise InputError("round, job", self.job.tolist(), f"rising positions below {len(self.jobs)}")

    def _where(self, option: int) -> str:
        """The job and the number of an option, from 0."""
        job = int(np.asarray(self.job)[option])
        number = option - int(np.searchsorted(self.job, job))
        return f"job {self.jobs[job] if job < len(self.jobs) else job}, option {number}"

    @classmethod
    def of(cls, capacity: Sequence[int], options: Sequence[Sequence[tuple[Sequence[int], float]]]) -> Self:
        """From the options of each job, `(GPUs of each type, payoff)`; jobs and types are named by number."""
        job = [number for number, own in enumerate(options) for _ in own]
        return cls(
            types=tuple(f"type {number}" for number in range(len(capacity))),
            capacity=np.array(capacity),
            jobs=tuple(f"job {number}" for number in range(len(options))),
            job=np.array(job, dtype=np.int64),
            gpus=_rows([gpus for own in options for gpus, _ in own], len(capacity)),
            payoff=np.array([payoff for own in options for _, payoff in own], dtype=float),
        )

    @property
    def problem(self) -> Knapsack:
        """The same for the algorithms (`selection`)."""
        return Knapsack(len(self.jobs), self.capacity, self.job, self.gpus, self.payoff, np.zeros(len(self.job)))

    @property
    def keys(self) -> list[tuple[str, int]]:
        """(job, number of the option) of each option."""
        first = np.searchsorted(self.job, self.job)
        return [
            (self.jobs[job], at) for job, at in zip(self.job, (np.arange(len(self.job)) - first).tolist(), strict=True)
        ]


def _rows(gpus: Sequence[Sequence[int]], types: int) -> IntArray:
    for number, row in enumerate(gpus):
        if len(row) != types:
            raise InputError(f"round, GPUs of option {number}", list(row), f"{types} numbers, one for each type")
    return np.array(gpus).reshape(len(gpus), types)


def build(data: RoundInstance, relaxed: bool = False) -> pyo.ConcreteModel:
    """Return the unsolved programme of one round."""
    m = pyo.ConcreteModel("hadar_round")
    keys = data.keys
    own: dict[str, list[tuple[str, int]]] = {job: [] for job in data.jobs}
    for key in keys:
        own[key[0]].append(key)
    taken = {(*keys[option], data.types[kind]): int(data.gpus[option, kind]) for option, kind in np.argwhere(data.gpus)}
    on_type: dict[str, list[tuple[str, int]]] = {kind: [] for kind in data.types}
    for job, option, kind in taken:
        on_type[kind].append((job, option))

    m.JOBS = pyo.Set(initialize=data.jobs, doc="j | jobs in the queue")
    m.OPTIONS = pyo.Set(dimen=2, initialize=keys, doc="j,o | allocations of each job\nO_j | those of job j | | OPTIONS")
    m.TYPES = pyo.Set(initialize=data.types, doc="r | accelerator types")
    m.payoff = pyo.Param(
        m.OPTIONS, initialize=dict(zip(keys, data.payoff.tolist(), strict=True)), doc="mu_jo | payoff | utility"
    )
    m.gpus = pyo.Param(taken.keys(), initialize=taken, doc="w_jor | GPUs of an option | GPUs")
    m.capacity_of = pyo.Param(
        m.TYPES, initialize=dict(zip(data.types, data.capacity.tolist(), strict=True)), doc="c_r | free GPUs | GPUs"
    )
    m.choose = pyo.Var(
        m.OPTIONS,
        domain=pyo.UnitInterval if relaxed else pyo.Binary,
        doc="(2c) y_jo | whether a job gets option o, whose GPUs are its numbers in capacity | 1",
    )

    @m.Objective(sense=pyo.maximize, doc="(8) the payoffs of the jobs that run")
    def total_payoff(m):
        return pyo.quicksum(m.payoff[key] * m.choose[key] for key in keys)

    @m.Constraint(m.JOBS, doc="(2b) a job has one allocation at most")
    def one_option(m, job):
        return pyo.quicksum(m.choose[key] for key in own[job]) <= 1 if own[job] else pyo.Constraint.Skip

    @m.Constraint(m.TYPES, doc="(8, s.t.) the free GPUs of a type")
    def capacity(m, kind):
        if not on_type[kind]:
            return pyo.Constraint.Skip
        return pyo.quicksum(m.gpus[*key, kind] * m.choose[key] for key in on_type[kind]) <= m.capacity_of[kind]

    return m


class HadarRound(Formulation[RoundInstance]):
    """The selection of one round, at the prices of its start."""

    name = NAME
    title = "Hadar: the jobs of a round"
    knobs = (*ROUND_KNOBS, RELAXED)
    reading = (
        "The objective is the sum of the payoffs of the allocations chosen, each times its part with `relaxed`. "
        "Servers are aggregated by type; the scheduler puts the choice on real ones. Only jobs without GPUs are chosen "
        "among, for the GPUs that are free: those that run keep theirs, as in hadar with reschedule=waiting, and a job "
        "that has run before pays for no restart here."
    )

    def data(self, snapshot: Snapshot, knobs: Knobs) -> RoundInstance:
        """The jobs without GPUs and the free GPUs; options with a positive payoff.

        Jobs that hold GPUs are no part of it, and nobody is moved: the round of `hadar` with `reschedule=waiting`. With
        `all` and `on_change` the scheduler also gives out the GPUs held. No restart is counted: a snapshot does not say
        what one costs.
        """
        rules = HadarRules.of(knobs)
        held = {*snapshot.leases, *snapshot.ended}
        free_gpus = FreeGpus(snapshot.nodes)
        rows = [row for row, name in enumerate(snapshot.jobs.names) if name not in held]
        queue = HadarQueue.from_snapshot(snapshot, rows, rules)
        require_time(queue.view.jobs, queue.speed.max(axis=1, initial=0.0), rules)
        servers = FreeServers.of(snapshot, free_gpus.free)
        options = find(snapshot, queue, servers, rules)
        prices: dict[str, Any] = {}
        payoff = np.zeros(0)
        if queue.bounds is not None:
            price = queue.bounds.price(queue.bounds.capacity - servers.total)
            options = worth(options, price)
            payoff = options.payoff(price)
            prices = {
                "price": dict(zip(snapshot.types, price.tolist(), strict=True)),
                "lowest_price": dict(zip(snapshot.types, queue.bounds.least.tolist(), strict=True)),
                "highest_price": dict(zip(snapshot.types, queue.bounds.most.tolist(), strict=True)),
                "eta": queue.bounds.eta,
                "alpha": queue.bounds.alpha,
                "initial_dual": queue.bounds.initial_dual,
                "optimum_lower": queue.bounds.optimum_lower,
            }
        return RoundInstance(
            snapshot.types,
            servers.total,
            queue.view.names,
            options.job,
            options.gpus,
            payoff,
            prices,
            fixed(options.charge.copy()),
        )

    def build(self, data: RoundInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(data, bool(knobs["relaxed"]))

    def read(self, model: pyo.ConcreteModel, data: RoundInstance, knobs: Knobs) -> Result:
        """Who was chosen; raises SolverFailedError for values that break a limit."""
        values = np.array([model.choose[key].value for key in data.keys], dtype=float)
        if not knobs["relaxed"]:
            if (np.abs(values - np.rint(values)) > TOLERANCE).any():
                raise SolverFailedError(NAME, "a choice that is neither 0 nor 1", "whole choices")
            values = np.rint(values)
        return report(data, values)

    def trivial(self, data: RoundInstance, knobs: Knobs) -> Result | None:
        """Without options nobody is chosen."""
        return None if len(data.job) else report(data, np.zeros(0))


def report(data: RoundInstance, values: FloatArray) -> Result:
    """The result of (options,) choices from 0 to 1; raises UnkeptError if they break a limit."""
    used = data.gpus.T @ values
    parts = np.bincount(data.job, values, minlength=len(data.jobs))
    for kind in np.flatnonzero(used > data.capacity + TOLERANCE * np.maximum(1, data.capacity))[:1].tolist():
        raise UnkeptError(NAME, f"{used[kind]:g} GPUs of {data.types[kind]}", f"at most {data.capacity[kind]}")
    for job in np.flatnonzero(parts > 1 + TOLERANCE)[:1].tolist():
        raise UnkeptError(NAME, f"{parts[job]:g} options of {data.jobs[job]}", "at most 1")
    choices: dict[str, dict[str, int] | None] = dict.fromkeys(data.jobs)
    numbers: dict[str, int | None] = dict.fromkeys(data.jobs)
    payoff = dict.fromkeys(data.jobs, 0.0)
    keys = data.keys
    for option in np.flatnonzero(values > TOLERANCE).tolist():
        job, number = keys[option]
        payoff[job] += float(data.payoff[option] * values[option])
        if values[option] > 0.5:
            counts = zip(data.types, data.gpus[option].tolist(), strict=True)
            choices[job], numbers[job] = {kind: count for kind, count in counts if count}, number
    result = {
        "choices": choices,
        "option": numbers,
        "part": dict(zip(data.jobs, parts.tolist(), strict=True)),
        "payoff": payoff,
        **(data.prices or {}),
    }
    objective = math.fsum((data.payoff * values).tolist())
    return Result("feasible", objective, "max", "utility", result)
