"""The numbers of one plan: guaranteed jobs and those that would be, in leases from a boundary on (section 3.3.4).

A plan begins at a boundary of SLO leases; lease k = 1, 2, ... All times count from there: what is left of the runtime
(R_i), deadlines (D_pi) and arrivals. RL_i and DL_pi are these in leases. A job may run from the first lease that begins
at or after its arrival. What a lease offers and what a gang takes are counted for pieces of each size h, see
`round_up`; without rounding up, or on nodes of a power of two, h = 1 stands alone.

On clusters of several types of GPUs, and where a range of GPUs is open, jobs have `options`, and there are limits for
each pool of nodes. The numbers of each job are then those of the option that is in force.

`from_snapshot` reads one from what a scheduler sees: the jobs with deadlines, from the next boundary of SLO leases on.
The runtime left is that of a consolidated gang as believed, less what leases in force will do up to the boundary.

Section 3.1 has one accelerator type and one size of nodes. On other clusters (section 7, ours) a job has an option for
each pool of alike nodes on whose type it runs, and, where `gpu_range` is on, for each of its `gpu_choices` there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray, fixed
from workbench.base.errors import InputError, counted
from workbench.papers.chronus.algorithms.terms import (
    AskedJob,
    AskedRun,
    Choice,
    JobOptions,
    NodePool,
    check_lengths,
    check_plan_steps,
    first_lease,
    first_of,
    leases_before,
    leases_needed,
    limits_of,
    next_boundary,
    offered,
    seconds_up,
    taken_in,
    whole_steps,
)
from workbench.papers.chronus.knobs import GPU_RANGE
from workbench.scenario.rewards import LOWEST, Steps
from workbench.scenario.throughput import Placement
from workbench.scheduling.contract import Knobs
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import InfeasibleError

NAME = "chronus.leases"
Leases = Mapping[str, tuple[int, ...]]
"""The leases, from 1, of each job that has some."""


@dataclass(frozen=True, eq=False)
class ChronusInstance:
    """One instance of (1)-(6). Arrays are read-only.

    lease_s: T, seconds; sizes: the powers h; capacity: (rows x sizes) M_kh, GPUs in pieces of at least h, the last row
    holds for all later leases; gpus: (jobs,) G_i as asked for; held: (jobs x sizes) g_ih, GPUs taken in pieces of at
    least h; runtime_s: (jobs,) R_i, whole seconds left; arrival_s: (jobs,) 0 or less for who is there; steps: of each
    job `(D_pi, V_pi)`, deadlines in whole seconds, below 0 if over; miss_reward: V_0; guaranteed: (jobs,) must meet one
    of its deadlines; reserved_s: seconds of each lease kept for resuming; start_s: when the plan begins; previous: the
    last plan in leases of this one, if there is one. pools: of nodes; pool_of: the pool of each column of limits;
    options: what jobs may run as, None if all have one option, in the only pool; chosen: (jobs,) the options in force.
    step_numbers: (steps x 2) D_pi and V_pi of all jobs.
    Raises InputError naming job and field: names that repeat, numbers missing, not whole or out of range, deadlines
    before the arrival, rewards that increase with time or are below the reward of a miss.
    """

    jobs: tuple[str, ...]
    lease_s: int
    sizes: tuple[int, ...]
    capacity: IntArray
    gpus: IntArray
    held: IntArray
    runtime_s: IntArray
    arrival_s: IntArray
    steps: tuple[Steps, ...]
    guaranteed: BoolArray
    miss_reward: float = LOWEST
    reserved_s: int = 0
    start_s: float = 0.0
    previous: Leases = field(default_factory=dict)
    pools: tuple[NodePool, ...] = (NodePool(),)
    pool_of: tuple[int, ...] = ()
    options: JobOptions | None = None
    chosen: IntArray | None = None
    step_numbers: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        check_lengths(self.lease_s, self.reserved_s)
        if not math.isfinite(self.start_s):
            raise InputError("start of the plan", self.start_s, "a finite time in s")
        if len(set(self.jobs)) < len(self.jobs):
            raise InputError("jobs of the plan", list(self.jobs), "names that differ")
        rows, columns = len(self.jobs), len(self.sizes)
        self._take("capacity", (max(1, len(np.asarray(self.capacity))), columns), 0)
        self._take("gpus", (rows,), 1)
        self._take("held", (rows, columns), 0)
        self._take("runtime_s", (rows,), 1)
        self._take("arrival_s", (rows,), None)
        guaranteed = np.array(self.guaranteed, dtype=bool).reshape(rows)
        guaranteed.setflags(write=False)
        object.__setattr__(self, "guaranteed", guaranteed)
        if len(self.steps) != rows:
            raise InputError("steps of the plan", len(self.steps), f"those of {rows} jobs")
        aimless = [row for row, steps in enumerate(self.steps) if guaranteed[row] and not steps]
        if aimless:
            raise InputError(f"job {self.jobs[aimless[0]]}, steps", [], "a deadline, as it is guaranteed")
        numbers = check_plan_steps(self.jobs, self.steps, self.arrival_s, self.miss_reward)
        object.__setattr__(self, "step_numbers", fixed(numbers))

    def _take(self, name: str, shape: tuple[int, ...], least: int | None) -> None:
        """Make a field a read-only array of that shape, its numbers checked."""
        array = np.array(getattr(self, name), dtype=float)
        array = array.reshape(shape) if array.size == 0 and 0 in shape else array
        if array.shape != shape:
            raise InputError(f"plan, {name}", array.shape, f"an array of shape {shape}")
        bad = ~np.isfinite(array) | (array != np.rint(array)) | (np.abs(array) > 1e12)
        bad |= array < (-math.inf if least is None else least)
        if bad.any():
            spot = tuple(np.argwhere(bad)[0].tolist())
            owner = "plan" if name == "capacity" else f"job {self.jobs[spot[0]]}"
            limit = "" if least is None else f" >= {least}"
            raise InputError(f"{owner}, {name}", float(array[spot]), f"a whole number{limit}")
        whole = array.astype(np.int64)
        whole.setflags(write=False)
        object.__setattr__(self, name, whole)

    @classmethod
    def made(
        cls,
        gpus: int | Sequence[int],
        lease_s: int,
        asked: Sequence[AskedJob],
        *,
        node_gpus: int | None = None,
        miss_reward: float = LOWEST,
        names: Sequence[str] | None = None,
        reserved_s: int = 0,
        start_s: float = 0.0,
        previous: Leases | None = None,
    ) -> ChronusInstance:
        """An instance by hand: jobs `j0`, `j1`, ..., as they ask for GPUs.

        gpus: of the cluster, in every lease or lease by lease; node_gpus: round up to gangs that are friendly on such
        nodes (6).
        """
        free = np.atleast_1d(np.asarray(gpus, dtype=np.int64))
        gangs = np.array([job.gpus for job in asked], dtype=np.int64)
        sizes, capacity = offered(node_gpus, free)
        held = taken_in(node_gpus, gangs, sizes)
        return cls(
            jobs=tuple(names) if names is not None else tuple(f"j{row}" for row in range(len(asked))),
            lease_s=lease_s,
            sizes=sizes,
            capacity=capacity,
            gpus=gangs,
            held=held,
            runtime_s=np.array([job.runtime_s for job in asked]),
            arrival_s=np.array([job.arrival_s for job in asked]),
            steps=tuple(tuple((float(step[0]), float(step[1])) for step in job.steps) for job in asked),
            guaranteed=np.array([job.guaranteed for job in asked], dtype=bool),
            miss_reward=miss_reward,
            reserved_s=reserved_s,
            start_s=start_s,
            previous=previous or {},
            pools=(NodePool("", node_gpus),),
        )

    @classmethod
    def pooled(
        cls,
        pools: Mapping[NodePool, int | Sequence[int]],
        lease_s: int,
        asked: Sequence[AskedJob],
        *,
        names: Sequence[str] | None = None,
        miss_reward: float = LOWEST,
        reserved_s: int = 0,
        start_s: float = 0.0,
        previous: Leases | None = None,
        running: Mapping[str, Choice] | None = None,
    ) -> ChronusInstance:
        """An instance on pools of nodes; asked: jobs with their options, `runs`.

        pools: GPUs of each, in every lease or lease by lease; running: what jobs run as in the last plan. That option
        is in force where a job still has it, else the one that needs the fewest leases, of these the fewest GPUs.
        """
        check_lengths(lease_s, reserved_s)
        own, names = tuple(pools), tuple(names) if names is not None else tuple(f"j{i}" for i in range(len(asked)))
        parts = [np.atleast_1d(np.asarray(free, dtype=np.int64)) for free in pools.values()]
        rows = max((len(part) for part in parts), default=1)
        free = np.column_stack([part[np.minimum(np.arange(rows), len(part) - 1)] for part in parts])
        found = limits_of(own, free)
        runs = [
            (row, run) for row, job in enumerate(asked) for run in job.runs or (AskedRun(0, job.gpus, job.runtime_s),)
        ]
        job, pool, gpus, runtime_s = np.array([(row, *run) for row, run in runs], dtype=np.int64).reshape(-1, 4).T
        options = JobOptions(job, pool, gpus, found.held(own, pool, gpus), runtime_s)
        kept = [
            (running or {}).get(names[row]) == Choice(own[run.pool].accelerator, own[run.pool].node_gpus, run.gpus)
            for row, run in runs
        ]
        needed = leases_needed(runtime_s, lease_s - reserved_s)
        never: BoolArray = np.all(np.any(options.held[:, None, :] > found.capacity[None, :, :], axis=2), axis=1)
        chosen = first_of(job, len(asked), ~np.array(kept, dtype=bool), never, needed, gpus)
        alone = len(own) == 1 and len(runs) == len(asked)
        return cls(
            jobs=names,
            lease_s=lease_s,
            sizes=found.sizes,
            capacity=found.capacity,
            gpus=gpus[chosen],
            held=options.held[chosen],
            runtime_s=runtime_s[chosen],
            arrival_s=np.array([one.arrival_s for one in asked]),
            steps=tuple(tuple((float(step[0]), float(step[1])) for step in one.steps) for one in asked),
            guaranteed=np.array([one.guaranteed for one in asked], dtype=bool),
            miss_reward=miss_reward,
            reserved_s=reserved_s,
            start_s=start_s,
            previous=previous or {},
            pools=own,
            pool_of=found.pool,
            options=None if alone else options,
            chosen=None if alone else chosen,
        )

    @cached_property
    def every(self) -> JobOptions:
        """The options of all jobs; the numbers of the jobs themselves where each has one."""
        if self.options is not None:
            return self.options
        rows = np.arange(len(self.jobs))
        return JobOptions(rows, np.zeros(len(rows), dtype=np.int64), self.gpus, self.held, self.runtime_s)

    @cached_property
    def in_force(self) -> IntArray:
        """(jobs,) the option that the numbers of each job are of."""
        return fixed(np.array(np.arange(len(self.jobs)) if self.chosen is None else self.chosen, dtype=np.int64))

    @cached_property
    def pool(self) -> IntArray:
        """(jobs,) number of the pool of the option in force."""
        return fixed(np.array(self.every.pool[self.in_force]))

    def running(self, chosen: IntArray) -> ChronusInstance:
        """The same instance with other options in force; chosen: (jobs,) their numbers."""
        if self.options is None or (chosen == self.in_force).all():
            return self
        own = self.options
        return replace(
            self,
            chosen=np.array(chosen, dtype=np.int64),
            gpus=own.gpus[chosen],
            held=own.held[chosen],
            runtime_s=own.runtime_s[chosen],
        )

    def choice(self, row: int) -> Choice:
        """What a job runs as with the option in force."""
        pool = self.pools[int(self.pool[row])]
        return Choice(pool.accelerator, pool.node_gpus, int(self.gpus[row]))

    @cached_property
    def needed_as(self) -> IntArray:
        """(options,) RL_io: leases that the work left takes with each option."""
        return fixed(leases_needed(self.every.runtime_s, self.lease_s - self.reserved_s))

    @cached_property
    def needed(self) -> IntArray:
        """(jobs,) RL_i; with `reserved_s` only the rest of a lease counts."""
        return fixed(leases_needed(self.runtime_s, self.lease_s - self.reserved_s))

    @cached_property
    def first(self) -> IntArray:
        """(jobs,) the first lease that a job may have."""
        return fixed(first_lease(self.arrival_s, self.lease_s))

    @cached_property
    def job_step(self) -> IntArray:
        """(jobs + 1,) number of each job's first step, over all jobs; the last entry: how many there are."""
        return fixed(np.concatenate([[0], np.cumsum(list(map(len, self.steps)))]).astype(np.int64))

    @cached_property
    def step_job(self) -> IntArray:
        """(steps,) the job of each."""
        return fixed(np.repeat(np.arange(len(self.jobs)), np.diff(self.job_step)))

    @cached_property
    def step_by(self) -> IntArray:
        """(steps,) DL_pi: the leases that end by each deadline, 0 if none does."""
        return fixed(np.maximum(leases_before(self.step_numbers[:, 0], self.lease_s), 0))

    @cached_property
    def by(self) -> tuple[IntArray, ...]:
        """Of each job (steps,) DL_pi."""
        return tuple(self.step_by[begin:end] for begin, end in pairwise(self.job_step.tolist()))

    @cached_property
    def last(self) -> IntArray:
        """(jobs,) the last lease that a job may have: by its last deadline; 0 without any."""
        found = np.zeros(len(self.jobs), dtype=np.int64)
        found[self.step_job] = self.step_by  # the last one stays
        return fixed(found)

    @cached_property
    def leases(self) -> int:
        """How many leases the plan looks at: to the last deadline of a job that could meet it."""
        able = self.possible
        return int(self.last[able].max(initial=0))

    @cached_property
    def free(self) -> IntArray:
        """(leases x sizes) M_kh of leases 1, 2, ..."""
        return fixed(self.capacity[np.minimum(np.arange(self.leases), len(self.capacity) - 1)])

    @cached_property
    def _fits_alone(self) -> BoolArray:
        """(options x rows of capacity) whether a job fits beside nobody."""
        fits: BoolArray = np.all(self.every.held[:, None, :] <= self.capacity[None, :, :], axis=2)
        return fits

    @cached_property
    def fits(self) -> BoolArray:
        """(jobs,) whether the cluster ever has the GPUs of a job, with one option at least."""
        return self._some(np.any(self._fits_alone, axis=1))

    @cached_property
    def open_as(self) -> IntArray:
        """(options,) leases from the arrival to the last deadline that have the GPUs of a job."""
        own, job = np.arange(len(self.every)), self.every.job
        rows = self._fits_alone.shape[1]
        before = np.hstack([np.zeros((len(own), 1), dtype=np.int64), np.cumsum(self._fits_alone[:, :-1], axis=1)])

        def until(lease: IntArray) -> IntArray:
            """Of leases 1, 2, ..., `lease`; those from the last row on are all alike."""
            later = np.where(self._fits_alone[:, -1], np.maximum(0, lease - (rows - 1)), 0)
            found: IntArray = before[own, np.minimum(lease, rows - 1)] + later
            return found

        first, last = self.first[job], self.last[job]
        return fixed(np.where(last < first, 0, until(last) - until(first - 1)))

    @cached_property
    def possible_as(self) -> BoolArray:
        """(options,) whether a job alone could meet its last deadline."""
        possible: BoolArray = self.open_as >= self.needed_as
        return possible

    @cached_property
    def possible(self) -> BoolArray:
        """(jobs,) whether a job alone could meet its last deadline, with one option at least."""
        return self._some(self.possible_as)

    def _some(self, options: BoolArray) -> BoolArray:
        """(jobs,) whether something holds of one of a job's options."""
        return np.bincount(self.every.job[options], minlength=len(self.jobs)) > 0

    @cached_property
    def rewards(self) -> tuple[FloatArray, ...]:
        """Of each job (steps,) V_pi."""
        return tuple(self.step_numbers[begin:end, 1] for begin, end in pairwise(self.job_step.tolist()))

    @cached_property
    def lost_to_rounding(self) -> tuple[str, ...]:
        """Jobs that would meet their last deadline on an empty cluster, but not in whole leases (RL > DL)."""
        return tuple(
            name
            for row, name in enumerate(self.jobs)
            if self.steps[row]
            and max(0, int(self.arrival_s[row])) + int(self.runtime_s[row]) <= self.steps[row][-1][0]
            and self.last[row] - self.first[row] + 1 < self.needed[row]
            and self.fits[row]
        )

    def with_jobs(
        self, rows: Sequence[int] | IntArray | BoolArray, *, guaranteed: bool | None = None
    ) -> ChronusInstance:
        """The instance of some of the jobs; guaranteed: all of them, or none (None: as they are)."""
        everybody = np.arange(len(self.jobs))
        chosen = everybody[np.asarray(rows)] if len(rows) else everybody[:0]
        if np.array_equal(chosen, everybody) and (guaranteed is None or (self.guaranteed == guaranteed).all()):
            return self
        certain = self.guaranteed[chosen] if guaranteed is None else np.full(len(chosen), guaranteed)
        return self._of(chosen, tuple(self.steps[row] for row in chosen.tolist()), certain)

    def with_deadline(self, row: int, lease: int) -> ChronusInstance:
        """The instance in which a job has one deadline only, at the end of that lease."""
        own = ((float(max(lease * self.lease_s, int(self.arrival_s[row]))), max(self._best(row), self.miss_reward)),)
        steps = (*self.steps[:row], own, *self.steps[row + 1 :])
        return self._of(np.arange(len(self.jobs)), steps, self.guaranteed)

    def with_last_deadlines(self) -> ChronusInstance:
        """The instance in which every job has its last deadline only."""
        return self._of(np.arange(len(self.jobs)), tuple(steps[-1:] for steps in self.steps), self.guaranteed)

    def with_guarantee(
        self, job: str, previous: Leases, choices: Mapping[str, Choice] | None = None
    ) -> ChronusInstance:
        """The instance in which that job is guaranteed too, and that plan is the last one; choices: its options."""
        certain = np.array(self.guaranteed)
        certain[self.jobs.index(job)] = True
        return replace(self.as_in(choices or {}), guaranteed=certain, previous=previous)

    def as_in(self, choices: Mapping[str, Choice]) -> ChronusInstance:
        """The instance with the options of a plan in force, where jobs have them."""
        if self.options is None:
            return self
        chosen = np.array(self.in_force)
        for option, row in enumerate(self.options.job.tolist()):
            pool = self.pools[int(self.options.pool[option])]
            own = Choice(pool.accelerator, pool.node_gpus, int(self.options.gpus[option]))
            if choices.get(self.jobs[row]) == own:
                chosen[row] = option
        return self.running(chosen)

    def _best(self, row: int) -> float:
        return self.steps[row][0][1] if self.steps[row] else self.miss_reward

    def _of(self, rows: IntArray, steps: tuple[Steps, ...], guaranteed: BoolArray) -> ChronusInstance:
        names = tuple(self.jobs[row] for row in rows.tolist())
        options, chosen = None, None
        if self.options is not None:
            options = self.options.of(rows)
            begin = np.searchsorted(self.options.job, rows)
            chosen = np.searchsorted(options.job, np.arange(len(rows))) + self.in_force[rows] - begin
        return replace(
            self,
            jobs=names,
            gpus=self.gpus[rows],
            held=self.held[rows],
            runtime_s=self.runtime_s[rows],
            arrival_s=self.arrival_s[rows],
            steps=steps,
            guaranteed=guaranteed,
            previous={name: self.previous[name] for name in names if name in self.previous},
            options=options,
            chosen=chosen,
        )

    def why_not(self, row: int) -> str:
        """Why a job cannot meet its last deadline even alone."""
        if not self.fits[row]:
            own = np.flatnonzero(np.array(self.pool_of or (0,) * len(self.sizes)) == self.pool[row])[0]
            most, taken = int(self.capacity[:, own].max()), int(self.held[row, own])
            rounded = f", rounded up to {taken}," if taken != self.gpus[row] else ""
            pool = "the cluster" if len(self.pools) == 1 else self.pools[int(self.pool[row])].name
            return f"its {self.gpus[row]} GPUs{rounded} are more than the {most} of {pool}"
        needed, there = counted(int(self.needed[row]), "lease"), self.open_as[self.in_force[row]]
        at_best = "" if self.options is None else " at best"
        return f"it needs {needed}{at_best} and has {there} before its last deadline"

    @classmethod
    def from_snapshot(
        cls,
        snapshot: Snapshot,
        knobs: Knobs,
        previous: Leases | None = None,
        running: Mapping[str, Choice] | None = None,
    ) -> ChronusInstance:
        """The unfinished jobs with deadlines on all nodes that are up.

        A job that will be done by the boundary is left out; one still to come may run from its arrival on. previous:
        the last plan in leases of this one; running: what jobs run as in it. Raises InputError for a job that runs on
        no type that could hold it, and for rewards that do not fit their range.
        """
        lease_s = int(knobs["slo_lease_s"])
        start_s = next_boundary(snapshot.now_s, lease_s)
        left = _steps_left(snapshot, start_s)
        rows = [row for row, job in enumerate(snapshot.jobs.jobs) if job.rewards is not None and left[row] > 0]
        pools = _pools(snapshot, bool(knobs["round_up"]))
        sure, ranges = bool(knobs["all_guaranteed"]), bool(knobs.get("gpu_range", GPU_RANGE.default))
        asked = []
        for row in rows:
            job = snapshot.jobs.jobs[row]
            steps = whole_steps(job.rewards or (), job.arrival_s - start_s)
            runs = [
                AskedRun(pool, gpus, max(1, int(seconds_up(left[row] / speed))))
                for pool, gpus, speed in _speeds(snapshot, row, tuple(pools), ranges)
                if speed > 0
            ]
            arrival_s = max(0, int(seconds_up(job.arrival_s - start_s)))
            asked.append(AskedJob(job.gpus, 1, steps, arrival_s, sure, runs or _too_large(snapshot, row)))
        return cls.pooled(
            pools,
            lease_s,
            asked,
            names=[snapshot.jobs.jobs[row].name for row in rows],
            miss_reward=float(knobs["miss_reward"]),
            reserved_s=int(knobs["reserve_overhead"]),
            start_s=start_s,
            previous=previous,
            running=running,
        )


def check_guaranteed(data: ChronusInstance) -> None:
    """Raise InfeasibleError if a guaranteed job would miss its last deadline even alone."""
    stuck = np.flatnonzero(data.guaranteed & ~data.possible)
    if len(stuck):
        row = int(stuck[0])
        raise InfeasibleError(NAME, f"guaranteed job {data.jobs[row]} cannot meet a deadline: {data.why_not(row)}")


def _pools(snapshot: Snapshot, rounded: bool) -> dict[NodePool, int]:
    """The pools with the GPUs of their nodes that are up, types and sizes of nodes in the order of the cluster."""
    found: dict[NodePool, int] = {}
    nodes = snapshot.nodes
    for kind, gpus, up in zip(nodes.kind.tolist(), nodes.gpus.tolist(), nodes.up.tolist(), strict=True):
        pool = NodePool(snapshot.types[kind], gpus if rounded else None)
        found[pool] = found.get(pool, 0) + (gpus if up else 0)
    return found


def _speeds(
    snapshot: Snapshot, row: int, pools: tuple[NodePool, ...], ranges: bool
) -> Iterator[tuple[int, int, float]]:
    """Number of the pool, GPUs and steps/s of each option of a job, on as few nodes of the pool as hold it."""
    job = snapshot.jobs.jobs[row]
    for number, pool in enumerate(pools):
        for gpus in job.sizes if ranges else (job.gpus,):
            fewest = snapshot.cluster.fewest_nodes(pool.accelerator, gpus)
            nodes = fewest if pool.node_gpus is None else -(-gpus // pool.node_gpus)
            if fewest is None or nodes is None:
                continue
            if gpus == job.gpus and nodes == fewest:
                yield number, gpus, float(snapshot.speeds()[row, snapshot.types.index(pool.accelerator)])
            else:
                word: Placement = "consolidated" if nodes <= fewest else "unconsolidated"
                yield number, gpus, snapshot.belief.steps_per_s(job, pool.accelerator, gpus, word, nodes)


def _too_large(snapshot: Snapshot, row: int) -> list[AskedRun]:
    """The option, never possible, of a job that no type could hold; raises InputError for one that a type could."""
    job = snapshot.jobs.jobs[row]
    holding = [name for name in snapshot.types if snapshot.cluster.fewest_nodes(name, job.gpus) is not None]
    if holding:
        expected = f"a speed above 0 on {' or '.join(holding)}"
        raise InputError(f"job {job.name}, steps/s of {job.gpus} GPUs", 0.0, expected)
    return [AskedRun(0, job.gpus, 1)]


def _steps_left(snapshot: Snapshot, until_s: float) -> FloatArray:
    """(jobs,) steps left at a time to come, if leases in force run as believed."""
    left = np.array(snapshot.jobs.steps_left)
    for row, job in enumerate(snapshot.jobs.jobs):
        lease = snapshot.leases.get(job.name)
        if lease is not None and lease.kind == "run":
            seconds = min(lease.until_s, until_s) - snapshot.now_s
            left[row] -= max(0.0, seconds) * snapshot.belief.on_nodes(job, lease.gpus)
    return left
