"""What the tests of the core share: small scenarios, a random but legal scheduler, and the laws every run keeps."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import workbench
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler, Timing
from workbench.scheduling.decision import Assignment, Decision, Unit, Verdict, is_copy, members
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.run import Run
from workbench.simulation.schema import KINDS, TABLES, TIMELINE, WALL_TIMES, Cells

ROUND_S = 60.0


def with_tables(run: Run, **tables: pd.DataFrame) -> Run:
    """The same run but for these tables: to try what is said of one."""
    return replace(run, cells=Cells({table.name: run.table(table.name) for table in TABLES} | tables))


def make(jobs: list[dict[str, Any]], gpus: Mapping[str, int] | int = 1, rate: float = 1.0, **rest: Any) -> Scenario:
    """A scenario on one type: nodes `{group: GPUs}` of one node each, `rate` steps/s per GPU for model `m`."""
    groups = {"n": gpus} if isinstance(gpus, int) else gpus
    most = sum(groups.values())
    return Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "t"}],
                "nodes": [{"name": name, "accelerator": "t", "gpus": count} for name, count in groups.items()],
            },
            "jobs": [{"name": f"j{i}", "model": "m", **job} for i, job in enumerate(jobs)],
            "throughputs": [
                {"model": "m", "accelerator": "t", "gpus": n, "steps_per_s": rate * n} for n in range(1, most + 1)
            ],
            **rest,
        }
    )


class Scripted(Scheduler):
    """A scheduler from a function of the snapshot; keeps every snapshot's time and cause in `calls`."""

    name = "scripted"
    title = "Scripted"

    def __init__(
        self,
        answer: Callable[[Snapshot], Decision],
        round_s: float | None = ROUND_S,
        causes: Iterable[str] = (),
        offline: bool = False,
    ) -> None:
        self.answer, self.offline = answer, offline
        self._timing = Timing(round_s, frozenset(causes))  # type: ignore[arg-type]
        self.calls: list[tuple[float, str]] = []
        self.decisions: list[tuple[float, Decision]] = []

    def timing(self, knobs: Mapping[str, Any]) -> Timing:
        return self._timing

    def decide(
        self, snapshot: Snapshot, memory: Any, knobs: Mapping[str, Any], rng: np.random.Generator
    ) -> tuple[Decision, Any]:
        self.calls.append((snapshot.now_s, snapshot.cause))
        decision = self.answer(snapshot)
        self.decisions.append((snapshot.now_s, decision))
        return decision, memory


def script(steps: Mapping[float, Decision], **timing: Any) -> Scripted:
    """A scheduler that gives the decision written down for a time, else an empty one."""
    return Scripted(lambda snapshot: steps.get(snapshot.now_s, Decision()), **timing)


def give(unit: Unit, gpus: Mapping[str, int], until_s: float = math.inf, **rest: Any) -> Decision:
    """A decision of one assignment."""
    return Decision(assign=(Assignment(unit, gpus, until_s, **rest),))


def greedy(round_s: float | None = None, causes: Iterable[str] = ("arrival", "completion")) -> Scripted:
    """FIFO without preemption or head-of-line blocking, on the first free GPUs of one type."""

    def answer(snapshot: Snapshot) -> Decision:
        free = dict(zip(snapshot.nodes.names, snapshot.nodes.free.tolist(), strict=True))
        busy = {name for unit in snapshot.leases for name in members(unit)}
        assign = []
        for job in snapshot.jobs.jobs:
            if job.name not in busy and sum(free.values()) >= job.gpus:
                assign.append(Assignment(job.name, first_fit(free, job.gpus), math.inf))
        return Decision(assign=tuple(assign))

    return Scripted(answer, round_s, causes)


def first_fit(free: dict[str, int], gpus: int) -> dict[str, int]:
    """Take `gpus` GPUs from `free`, in order."""
    taken: dict[str, int] = {}
    for node in free:
        count = min(free[node], gpus - sum(taken.values()))
        if count > 0:
            taken[node] = count
            free[node] -= count
    return taken


def rows(run: Run, job: str | None = None) -> list[tuple[Any, ...]]:
    """(node, slot, unit, kind, start_s, end_s) of the timeline, for one job or for all."""
    t = run.timeline
    if job is not None:
        t = t[(t.job == job) | (t.with_job == job)]
    columns = ["node", "slot", "unit", "kind", "start_s", "end_s"]
    return [tuple(row) for row in t[columns].itertuples(index=False)]


def row(run: Run, job: str) -> Any:
    """The row of a job in the jobs table."""
    return run.jobs.set_index("job").loc[job]


def events(run: Run, job: str = "") -> list[tuple[float, str]]:
    """(time, event) of a job, or of the nodes."""
    mine = run.events[run.events.job == job]
    return list(zip(mine.time_s, mine.event, strict=True))


# A random but legal scheduler ----------------------------------------------------------------------------------------


def equal_runs(scenario: Any, scheduler: str, **told: Any) -> list[set[str]]:
    """A run by the assembly and one by the stated model have equal tables, but for wall times; who decided in each.

    A scenario that one of them refuses for want of prices, the other refuses in the same words: nobody decides.
    """
    runs, refused = [], []
    for model in ("assembly", "pyomo"):
        try:
            runs.append(workbench.simulate(scenario, scheduler, **told, model=model))
        except workbench.InputError as error:
            refused.append(str(error))
    if refused:
        assert refused[0] == refused[-1] and "price_per_hour" in refused[0] and not runs
        return []
    made = [set(run.decisions["made_by"]) for run in runs]
    for table in TABLES:
        one, other = (run.table(table.name).drop(columns=list(WALL_TIMES), errors="ignore") for run in runs)
        if table.name == "decisions":
            other["made_by"] = other["made_by"].replace("model", "assembly")
        assert one.equals(other), f"{scheduler}, {table.name}"
    return made


@dataclass
class Habits:
    """How often a random scheduler does what (probabilities)."""

    preempt: float = 0.1
    renew: float = 0.7
    extend: float = 0.1
    start: float = 0.8
    copies: float = 0.0
    pairs: float = 0.0
    profile: float = 0.0
    steps: float = 0.0
    tail: float = 0.0
    odd_end: float = 0.2
    verdict: float = 0.0
    timer: float = 0.1
    round_s: float | None = ROUND_S
    causes: frozenset[str] = frozenset()


@dataclass
class Chance(Scheduler):
    """Legal decisions drawn at random from the generator that the core hands over; kept for a replay."""

    habits: Habits
    decisions: list[tuple[float, Decision]] = field(default_factory=list)
    name = "chance"
    title = "Chance"

    def timing(self, knobs: Mapping[str, Any]) -> Timing:
        return Timing(self.habits.round_s, self.habits.causes)  # type: ignore[arg-type]

    def decide(
        self, snapshot: Snapshot, memory: Any, knobs: Mapping[str, Any], rng: np.random.Generator
    ) -> tuple[Decision, Any]:
        decision = _Draw(snapshot, rng, self.habits).decision()
        self.decisions.append((snapshot.now_s, decision))
        return decision, memory


class _Draw:
    def __init__(self, snapshot: Snapshot, rng: np.random.Generator, habits: Habits) -> None:
        self.s, self.rng, self.habits = snapshot, rng, habits
        self.free = dict(zip(snapshot.nodes.names, snapshot.nodes.free.tolist(), strict=True))
        self.type_of = {node.name: node.accelerator for node in snapshot.cluster.each_node}
        self.jobs = {job.name: job for job in snapshot.jobs.jobs}
        self.units: dict[str, list[Unit]] = {}
        self.assign: list[Assignment] = []

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def decision(self) -> Decision:
        preempt = {unit for unit in self.s.leases if self.chance(self.habits.preempt)}
        for unit in preempt:
            for node, gpus in self.s.leases[unit].gpus.items():
                self.free[node] += gpus
        for unit, old in self.s.leases.items():
            if unit not in preempt:
                self._hold(unit)
                if self.chance(self.habits.extend):
                    self._repeat(old._replace(until_s=max(old.until_s, self._end())))
        for unit, old in self.s.ended.items():
            up = all(self.s.nodes.up[self.s.nodes.names.index(node)] for node in old.gpus)
            fits = all(self.free[node] >= gpus for node, gpus in old.gpus.items())
            free = all(is_copy(other) and is_copy(unit) for name in members(unit) for other in self._units(name))
            if up and fits and free and self.chance(self.habits.renew):
                for node, gpus in old.gpus.items():
                    self.free[node] -= gpus
                self._hold(unit)
                self._repeat(old._replace(until_s=self._end()))
        for name in [str(name) for name in self.rng.permutation(list(self.jobs))]:
            if self.chance(self.habits.start):
                self._start(self.jobs[name])
        later = self.s.now_s + float(self.rng.choice([7.0, 60.0, 500.0]))
        return Decision(
            assign=tuple(self.assign),
            preempt=frozenset(preempt),
            verdicts=self._verdicts(),
            next_s=later if self.chance(self.habits.timer) else None,
        )

    def _units(self, name: str) -> list[Unit]:
        return self.units.get(name, [])

    def _hold(self, unit: Unit) -> None:
        for name in members(unit):
            self.units.setdefault(name, []).append(unit)

    def _end(self) -> float:
        round_s = self.habits.round_s or ROUND_S
        number = math.floor(self.s.now_s / round_s) + 1
        boundary = (number if number * round_s > self.s.now_s else number + 1) * round_s
        if self.chance(self.habits.odd_end):
            return float(self.rng.choice([self.s.now_s + 13.0, boundary + 17.5, boundary + 3 * round_s]))
        return boundary

    def _limits(self, a: Assignment) -> Assignment:
        if is_copy(a.unit) or self.chance(self.habits.steps):
            a = a._replace(steps=float(self.rng.choice([0.0, 5.0, 40.0, 1000.0])))
        if len(members(a.unit)) == 1 and self.chance(self.habits.tail):
            a = a._replace(tail_s=min(4.0, a.until_s - self.s.now_s))
        return a

    def _repeat(self, a: Assignment) -> None:
        self.assign.append(self._limits(a._replace(steps=None, tail_s=0.0)))

    def _start(self, job: Job) -> None:
        holding = self._units(job.name)
        if any(not is_copy(unit) for unit in holding):
            return
        if self.chance(self.habits.copies):
            self._start_copies(job, {unit[1] for unit in holding if not isinstance(unit, str)})
        elif holding:
            return
        elif self.chance(self.habits.pairs):
            self._start_pair(job)
        else:
            size = int(self.rng.choice(job.sizes))
            kind = "profile" if self.chance(self.habits.profile) else "run"
            gpus = self._room(size)
            if gpus and self.s.belief.on_nodes(job, gpus) > 0:
                self._take(Assignment(job.name, gpus, self._end(), kind))  # type: ignore[arg-type]

    def _start_copies(self, job: Job, numbers: set[Any]) -> None:
        for number, node in enumerate(self.s.nodes.names):
            gpus = {node: min(job.gpus, self.free[node])}
            if number not in numbers and gpus[node] and self.s.belief.on_nodes(job, gpus) > 0 and self.chance(0.7):
                self._take(Assignment((job.name, number), gpus, self._end()))

    def _start_pair(self, job: Job) -> None:
        others = [other for other in self.jobs.values() if other.name != job.name and not self._units(other.name)]
        gpus = self._room(job.gpus)
        if not others or not gpus:
            return
        other = others[int(self.rng.integers(len(others)))]
        rates = [self.s.belief.pair(job, other, self.type_of[node]) for node in gpus]
        if other.gpus == job.gpus and all(rate is not None and min(rate) > 0 for rate in rates):
            self._take(Assignment((job.name, other.name), gpus, self._end()))

    def _room(self, size: int) -> dict[str, int]:
        free = {str(node): self.free[str(node)] for node in self.rng.permutation(list(self.free))}
        return first_fit(free, size) if sum(free.values()) >= size else {}

    def _take(self, a: Assignment) -> None:
        for node, gpus in a.gpus.items():
            self.free[node] -= gpus
        self._hold(a.unit)
        self.assign.append(self._limits(a))

    def _verdicts(self) -> dict[str, Verdict]:
        found: dict[str, Verdict] = {}
        for name in self.jobs:
            if self.chance(self.habits.verdict):
                choices: list[Verdict] = ["guaranteed", "best_effort"]
                if not any(name in members(a.unit) for a in self.assign):
                    choices.append("refused")
                found[name] = choices[int(self.rng.integers(len(choices)))]
        return found


# Random scenarios ----------------------------------------------------------------------------------------------------


@st.composite
def scenarios(draw: st.DrawFn, *, faults: bool = False, sharing: bool = False, start: bool = False) -> Scenario:
    """Small scenarios: one to three types, up to four nodes, up to six jobs of up to four GPUs."""
    kinds = [f"t{i}" for i in range(draw(st.integers(1, 3)))]
    number = st.integers(1, 3)
    nodes = [
        {"name": f"n{i}", "accelerator": kinds[i % len(kinds)], "gpus": draw(number), "speed": draw(_SPEED)}
        for i in range(draw(st.integers(len(kinds), 4)))
    ]
    total = sum(node["gpus"] for node in nodes)
    jobs = []
    for i in range(draw(st.integers(1, 6))):
        sizes = draw(st.sampled_from([[1], [1], [2], [1, 2], [3], [2, 4]]))
        sizes = [size for size in sizes if size <= total] or [1]
        job = {"name": f"j{i}", "model": draw(st.sampled_from(["a", "b"])), "arrival_s": draw(_ARRIVAL)}
        job |= {"steps": draw(st.sampled_from([1.0, 30.0, 61.0, 240.0, 1000.0])), "gpus": sizes[0]}
        jobs.append(job | ({"gpu_choices": sizes} if len(sizes) > 1 else {}))
    rates = {(model, kind): draw(st.sampled_from([0.25, 0.5, 1.0, 3.0])) for model in "ab" for kind in kinds}
    core: dict[str, Any] = {"restart": {"law": draw(st.sampled_from(["fixed", "log2"])), "restart_s": draw(_RESTART)}}
    data: dict[str, Any] = {
        "seed": draw(st.integers(0, 1000)),
        "cluster": {"accelerators": [{"name": kind} for kind in kinds], "nodes": nodes},
        "jobs": jobs,
        "throughputs": [
            {"model": m, "accelerator": k, "placement": word, "steps_per_s": r * slow}
            for (m, k), r in rates.items()
            for word, slow in (("consolidated", 1.0), ("unconsolidated", 0.75))
        ],
        "scaling": {"law": "power", "efficiency": 1.0},
        "core": core,
    }
    if sharing:
        core["space_sharing"] = True
        data["colocated"] = [
            {"model": m, "with_model": w, "accelerator": k, "gpus": n, "steps_per_s": 0.5, "with_steps_per_s": r}
            for m, w, r in (("a", "b", 0.7), ("a", "a", 0.5))
            for k in kinds
            for n in (1, 2)
        ]
    if faults:
        core["checkpoint_s"] = draw(st.sampled_from([None, 10.0, 25.0]))
        core["faults"] = {"list": draw(st.lists(_outage(len(nodes)), max_size=3))}
        if draw(st.booleans()):
            core["faults"] |= {"mtbf_s": 300.0, "mttr_s": 40.0}
    if start:
        data["running"] = _running(draw, jobs, nodes)
    return Scenario.from_dict(data)


_SPEED = st.sampled_from([1.0, 1.0, 0.5, 1.25])
_ARRIVAL = st.sampled_from([0.0, 0.0, 13.0, 60.0, 75.5, 120.0, 400.0])
_RESTART = st.sampled_from([0.0, 5.0, 10.0, 90.0])


@st.composite
def _outage(draw: st.DrawFn, nodes: int) -> dict[str, Any]:
    start = draw(st.sampled_from([0.0, 30.0, 60.0, 95.0]))
    length = draw(st.sampled_from([1.0, 30.0, 120.0]))
    return {"node": f"n{draw(st.integers(0, nodes - 1))}-0", "from_s": start, "to_s": start + length}


def _running(draw: st.DrawFn, jobs: list[dict[str, Any]], nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    free = {f"{node['name']}-0": node["gpus"] for node in nodes}
    held = []
    for job in jobs:
        if job["arrival_s"] == 0 and sum(free.values()) >= job["gpus"] and draw(st.booleans()):
            held.append({"job": job["name"], "gpus": first_fit(free, job["gpus"])})
    return held


# The laws ------------------------------------------------------------------------------------------------------------


def check(run: Run, *, tasks: bool = False) -> None:
    """Assert everything that must hold of any run; tasks: of one that runs sequences, where gangs are not together."""
    for table in TABLES:
        frame = run.table(table.name)
        assert list(frame.columns) == table.names
        for column in table.columns:
            kind = {"str": "str", "int": "int64", "float": "float64", "bool": "bool"}[column.dtype]
            assert frame[column.name].dtype == kind, (table.name, column.name)
    assert TIMELINE.names[0] == "node"
    _check_slots(run)
    if not tasks:
        _check_gangs(run)
        _check_speeds(run)
    _check_jobs(run)
    _check_events(run)
    _check_decisions(run)


def _check_slots(run: Run) -> None:
    t, nodes = run.timeline, {node.name: node for node in run.scenario.cluster.each_node}
    assert set(t.kind) <= set(KINDS)
    assert (t.start_s >= 0).all() and (t.end_s > t.start_s).all() and (t.end_s <= run.end_s).all()
    assert (t.steps >= 0).all() and (t.with_steps >= 0).all()
    assert t.start_s.is_monotonic_increasing
    assert ((t.unit == "") == (t.kind == "down")).all()
    for (name, slot), mine in t[t.kind != "sync"].groupby(["node", "slot"]):
        assert 0 <= slot < nodes[name].gpus
        assert set(mine.accelerator) == {nodes[name].accelerator}
        before, after = mine.iloc[:-1], mine.iloc[1:]
        assert (before.end_s.to_numpy() <= after.start_s.to_numpy()).all(), "a slot is booked twice"
        for a, b in zip(before.itertuples(), after.itertuples(), strict=True):
            same = (a.unit, a.kind, a.gpus) == (b.unit, b.kind, b.gpus)
            assert not (same and a.end_s == b.start_s), "rows not merged"


def _check_gangs(run: Run) -> None:
    """At every moment all slots of a unit do the same, and they are its gang."""
    jobs = {job.name: job for job in run.scenario.jobs}
    for job_at in _moments(run):
        gang, kind = job_at.rows, job_at.kind
        assert {len(gang)} == {found.gpus for found in gang}, "a gang is not together"
        if kind == "run" and "#" not in job_at.unit:
            for name in {gang[0].job, gang[0].with_job} - {""}:
                assert len(gang) in jobs[name].sizes


def _check_speeds(run: Run) -> None:
    """Steps are the true speed on these nodes times the seconds of running (at most, where something cuts them)."""
    jobs, table = {job.name: job for job in run.scenario.jobs}, run.scenario.table
    possible: dict[tuple[str, str], list[float]] = {}
    blur_s = 2 * float(np.spacing(run.end_s))  # two times are known no better: much, late in a run, for a tiny job
    blurred: dict[tuple[str, str], float] = defaultdict(float)
    for job_at in _moments(run):
        if job_at.kind in ("run", "profile"):
            placed = Counter(found.node for found in job_at.rows)
            first, other = jobs[job_at.rows[0].job], jobs.get(job_at.rows[0].with_job)
            rates: Any = (table.on_nodes(first.model, placed), 0.0)
            if other is not None:
                rates = table.pair_on_nodes(first.model, other.model, placed)
            so_far = possible.setdefault((job_at.unit, job_at.kind), [0.0, 0.0])
            so_far[0] += rates[0] * job_at.seconds
            so_far[1] += rates[1] * job_at.seconds
            blurred[job_at.unit, job_at.kind] += max(rates) * blur_s
    for (unit, kind), most in possible.items():
        mine = run.timeline[(run.timeline.unit == unit) & (run.timeline.kind == kind)]
        for done, limit in zip((mine.steps.sum(), mine.with_steps.sum()), most, strict=True):
            blur = blurred[unit, kind]
            assert done <= limit * (1 + 1e-9) + 1e-9 + blur
            exact = kind == "run" and " + " not in unit
            assert not exact or math.isclose(done, limit, rel_tol=1e-9, abs_tol=1e-6 + blur), (done, limit)


class Moment(NamedTuple):
    """A stretch of time in which a unit's rows do not change."""

    unit: str
    kind: str
    seconds: float
    rows: list[Any]


def _moments(run: Run) -> Iterator[Moment]:
    units: dict[str, list[Any]] = {}
    for found in run.timeline.itertuples(index=False):
        if found.kind not in ("down", "sync"):
            units.setdefault(found.unit, []).append(found)
    for unit, mine in units.items():  # in order of their starts
        edges = sorted({time_s for found in mine for time_s in (found.start_s, found.end_s)})
        waiting, now = iter([*mine, None]), []
        following = next(waiting)
        for start_s, end_s in itertools.pairwise(edges):
            now = [found for found in now if found.end_s > start_s]
            while following is not None and following.start_s <= start_s:
                now.append(following)
                following = next(waiting)
            if now:
                assert len({found.kind for found in now}) == 1, "a gang is not together"
                yield Moment(unit, now[0].kind, end_s - start_s, now)


def _check_jobs(run: Run) -> None:
    assert list(run.jobs.job) == [job.name for job in run.scenario.jobs]
    for job, r in zip(run.scenario.jobs, run.jobs.itertuples(index=False), strict=True):
        t = run.timeline[(run.timeline.job == job.name) | (run.timeline.with_job == job.name)]
        steps = t.steps[t.job == job.name].sum() + t.with_steps[t.with_job == job.name].sum()
        near = {"rel_tol": 1e-9, "abs_tol": 1e-6 * max(1.0, job.steps)}
        assert math.isclose(job.steps_done + steps - r.steps_lost, r.steps_done, **near), "steps are not conserved"
        end_s = t.end_s.max()
        t = t[t.kind != "sync"]  # holds no GPU
        seconds = t.end_s - t.start_s
        assert math.isclose(job.attained_s + seconds.sum(), r.attained_s, rel_tol=1e-9, abs_tol=1e-6)
        assert math.isclose(seconds[t.kind.isin(["run", "profile"])].sum(), r.run_s, rel_tol=1e-9, abs_tol=1e-6)
        assert r.restarts >= 0 and r.preemptions >= 0 and r.waited_s >= 0 and r.steps_lost >= 0
        out_s = _left_s(run, job, r)
        present_s = max(out_s - job.arrival_s, 0.0)
        assert math.isclose(r.waited_s + _held_s(t), present_s, rel_tol=1e-9, abs_tol=1e-6), "time is not conserved"
        if math.isnan(r.finish_s):
            assert r.steps_done <= r.steps  # all done, but not yet consolidated
        else:
            assert r.steps_done == r.steps
            assert job.arrival_s <= r.first_start_s <= r.finish_s <= run.end_s
            # A job whose consolidation was broken off has no steps left: the next assignment completes it at once.
            last = t.kind.iloc[int(t.end_s.argmax())] if len(t) else ""
            assert not len(t) or end_s == r.finish_s or (last == "consolidate" and end_s < r.finish_s)
        if job.name in {held.job for held in run.scenario.running} and not math.isnan(r.first_start_s):
            assert not len(t) or r.first_start_s <= t.start_s.min()  # it held GPUs at 0, even if nobody let it go on
        elif len(t):
            assert t.start_s.min() == r.first_start_s


def _left_s(run: Run, job: Job, r: Any) -> float:
    """When a job left the system: completion, refusal, or the end of the run."""
    if not math.isnan(r.finish_s):
        return float(r.finish_s)
    if r.verdict == "refused":
        mine = run.events[(run.events.job == job.name) & (run.events.event == "verdict")]
        return float(mine.time_s.max())
    return run.end_s


def _held_s(t: pd.DataFrame) -> float:
    """Seconds in which at least one slot is held (copies overlap)."""
    held, until_s = 0.0, -math.inf
    for start_s, end_s in sorted(zip(t.start_s, t.end_s, strict=True)):
        held += max(end_s - max(start_s, until_s), 0.0)
        until_s = max(until_s, end_s)
    return held


def _check_events(run: Run) -> None:
    e, jobs = run.events, run.jobs
    assert e.time_s.is_monotonic_increasing, "events out of order"
    count = {str(name): int(number) for name, number in e.event.value_counts().items()}
    assert count.get("finish", 0) == jobs.finish_s.notna().sum()
    assert count.get("preempt", 0) == jobs.preemptions.sum()
    assert count.get("move", 0) == jobs.moves.sum()
    assert count.get("renew", 0) == jobs.renewals.sum()
    lost = set(e.job[e.event == "lost_steps"])
    assert lost == set(jobs.job[jobs.steps_lost > 0])


def _check_decisions(run: Run) -> None:
    d = run.decisions
    assert list(d.decision) == list(range(len(d)))
    assert d.time_s.is_monotonic_increasing
    assert (d.busy_gpus <= d.up_gpus).all() and (d.up_gpus <= run.scenario.cluster.gpus).all()
    assert (d.waiting_jobs <= d.active_jobs).all()
