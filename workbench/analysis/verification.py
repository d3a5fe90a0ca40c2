"""The measures of a run a second time: loops over its tables as a text book has them, nothing shared with the first.

What the core counted itself (a job's wait, its restarts, busy GPUs after a decision ...) is not taken from its counters
but found in the timeline and the events (declared in `workbench/analysis/metrics/declared.py`). What these do not tell
is believed: steps done, verdicts, GPUs in use where decisions share a time, at the end, with jobs running at 0, of
tasks.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from workbench.scenario.job import Job
from workbench.scenario.rewards import LOWEST
from workbench.simulation.run import Run

COMPUTES = ("run", "profile")
NOT_HELD = ("sync", "down")
SAME_S = 1e-6
"""Done so little after its deadline, a job was in time."""
TIE = 1e-9
"""Share of a round by which a time may miss its boundary."""

CLOSE = 1e-7
"""Share by which a measure may differ by rounding."""

Span = tuple[float, float]


@dataclass
class JobLife:
    """What the timeline and the events tell of one job. s: seconds; left_s: infinity for a job that is still there."""

    job: Job
    verdict: str
    first_start_s: float = math.nan
    finish_s: float = math.nan
    left_s: float = math.inf
    held: list[Span] = field(default_factory=list)
    held_gpu_s: float = 0.0
    run_gpu_s: float = 0.0
    steps_run: float = 0.0
    steps_lost: float = 0.0
    cost_usd: float = 0.0
    restarting: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))
    starts: list[tuple[float, str]] = field(default_factory=list)
    lost_at_s: list[float] = field(default_factory=list)
    profiles: list[Span] = field(default_factory=list)
    verdicts_s: list[float] = field(default_factory=list)
    moves: int = 0
    renewals: int = 0
    present: float = math.nan

    @property
    def finished(self) -> bool:
        return not math.isnan(self.finish_s)

    @property
    def refused(self) -> bool:
        return self.verdict == "refused" and not self.finished

    @property
    def steps(self) -> float:
        """Steps that it had to do in this run."""
        return self.job.steps - self.job.steps_done

    @property
    def jct_s(self) -> float:
        return self.finish_s - self.job.arrival_s

    @property
    def restarts(self) -> int:
        """Starts in whose place the timeline has a restart."""
        return sum(any(a <= at_s < b for a, b in self.restarting[unit]) for at_s, unit in self.starts)

    def wait_s(self, end_s: float) -> float:
        """Seconds of its life in this run without any GPU."""
        return max(min(self.left_s, end_s) - self.job.arrival_s, 0.0) - covered(self.held)


class OccupiedCluster(NamedTuple):
    """The cluster after a decision."""

    busy: int
    up: int
    waiting: int
    changed: bool


def rederived(run: Run) -> dict[str, float]:
    """Every measure of the whole run by name, NaN where unknown; also `mean_jct_by_class_s of CLASS`."""
    lives = list(_lives(run).values())
    speeds = _Speeds(run)
    _count_present(lives, run.end_s)
    return {
        **_of_cluster(run, lives, speeds),
        **_of_faults(run, lives),
        **_of_rounds(run, lives),
        **_of_jobs(run, lives, speeds),
        **_of_slos(run, lives),
        **_by_class(lives),
    }


def _lives(run: Run) -> dict[str, JobLife]:
    said = zip(run.jobs["job"], run.jobs["verdict"], run.jobs["steps_done"], run.jobs["renewals"], strict=True)
    recorded = {job: (verdict, done, renewals) for job, verdict, done, renewals in said}
    lives = {job.name: JobLife(job, recorded[job.name][0]) for job in run.scenario.jobs}
    prices = {each.name: each.price_per_hour for each in run.scenario.cluster.accelerators}
    for row in _rows(run.timeline):
        pair = bool(row.with_job)
        for name, steps in ((row.job, row.steps), (row.with_job, row.with_steps)):
            if name and row.kind not in NOT_HELD:
                price = prices[row.accelerator]
                usd = math.nan if price is None else (row.end_s - row.start_s) / 3600 * price
                _hold(lives[name], row.kind, row.unit, (row.start_s, row.end_s), steps, usd / 2 if pair else usd)
    for row in _rows(run.events):
        if row.job:
            _happen(lives[row.job], row.event, row.time_s, row.unit)
    for name, life in lives.items():
        _, done, renewals = recorded[name]
        life.steps_lost = life.job.steps_done + life.steps_run - done
        if run.detail is not None:  # then renewals are events of the first decisions only
            life.renewals = renewals
        begun_s = [start_s for start_s, _ in [*life.held, *life.starts]]  # a start may be taken back at once
        life.first_start_s = min(begun_s, default=math.nan)
        if life.finished:
            life.left_s = life.finish_s
        elif life.refused:
            life.left_s = life.verdicts_s[-1] if life.verdicts_s else run.end_s
    return lives


def _hold(life: JobLife, kind: str, unit: str, span: Span, steps: float, usd: float) -> None:
    """One GPU for a stretch of time."""
    seconds = span[1] - span[0]
    life.held.append(span)
    life.held_gpu_s += seconds
    life.cost_usd += usd
    if kind in COMPUTES:
        life.run_gpu_s += seconds
        life.steps_run += steps
    if kind == "restart":
        life.restarting[unit].append(span)
    if kind == "profile":
        life.profiles.append(span)


def _happen(life: JobLife, event: str, time_s: float, unit: str) -> None:
    if event == "finish":
        life.finish_s = time_s
    elif event == "verdict":
        life.verdicts_s.append(time_s)
    elif event == "preempt":
        life.lost_at_s.append(time_s)
    elif event == "renew":
        life.renewals += 1
    elif event in ("start", "move"):
        life.starts.append((time_s, unit))
        life.moves += event == "move"


def _rows(table: pd.DataFrame) -> Iterator[Any]:
    yield from table.itertuples(index=False)


def covered(spans: Iterable[Span]) -> float:
    """Seconds in which at least one of the spans holds."""
    total, until_s = 0.0, -math.inf
    for start_s, end_s in sorted(spans):
        total += max(end_s - max(start_s, until_s), 0.0)
        until_s = max(until_s, end_s)
    return total


def _over_s(run: Run, lives: Sequence[JobLife]) -> float:
    """When there was nothing more to do, or the run's end."""
    last_s = max((life.left_s for life in lives), default=math.inf)
    return last_s if last_s < math.inf else run.end_s


def _come_and_go(lives: Sequence[JobLife], end_s: float) -> list[tuple[float, int]]:
    """Times and changes of the number of jobs that are present, in order."""
    came = [(life.job.arrival_s, 1) for life in lives if life.job.arrival_s <= end_s]
    return sorted(came + [(life.left_s, -1) for life in lives if life.left_s < math.inf])


def _count_present(lives: Sequence[JobLife], end_s: float) -> None:
    """The n of finish-time fairness: the mean number of jobs present over each one's life, itself included.

    It is the job-seconds of the life divided by its length; at_s[i] is followed by count[i] jobs.
    """
    at_s, count, job_s = [-math.inf], [0], [0.0]
    for time_s, change in _come_and_go(lives, end_s):
        since_s = time_s - at_s[-1] if count[-1] else 0.0
        job_s.append(job_s[-1] + count[-1] * since_s)
        at_s.append(time_s)
        count.append(count[-1] + change)

    def until(time_s: float) -> float:
        i = bisect_right(at_s, time_s) - 1
        return job_s[i] + (count[i] * (time_s - at_s[i]) if count[i] else 0.0)

    for life in lives:
        from_s, to_s = life.job.arrival_s, min(life.left_s, end_s)
        if to_s > from_s:
            life.present = (until(to_s) - until(from_s)) / (to_s - from_s)
        else:
            life.present = max(count[bisect_right(at_s, from_s) - 1], 1)


def _of_cluster(run: Run, lives: Sequence[JobLife], speeds: _Speeds) -> dict[str, float]:
    cluster, end_s = run.scenario.cluster, _over_s(run, lives)
    duration_s = max(end_s - min((life.job.arrival_s for life in lives), default=end_s), 0.0)
    computing_s, held_s, busy = 0.0, 0.0, defaultdict(list)
    for row in _rows(run.timeline):
        if row.kind in COMPUTES:
            computing_s += row.end_s - row.start_s
            busy[row.node].append((row.start_s, row.end_s))
        if row.kind not in NOT_HELD:
            held_s += row.end_s - row.start_s
    stayed = [life.finish_s for life in lives if life.verdict != "refused"]
    return {
        "makespan_s": math.nan if not stayed or any(map(math.isnan, stayed)) else max(stayed),
        "utilisation": _ratio(computing_s, cluster.gpus * end_s),
        "gru": _ratio(computing_s, cluster.gpus * duration_s),
        "cru": _ratio(math.fsum(map(covered, busy.values())), len(cluster.each_node) * duration_s),
        "allocated": _ratio(held_s, cluster.gpus * duration_s),
        "steps_per_s": _ratio(math.fsum(life.steps_run for life in lives), duration_s),
        "normalised_throughput": _ratio(
            math.fsum(life.steps_run / speeds.fastest(life.job) for life in lives), duration_s
        ),
    }


def _of_faults(run: Run, lives: Sequence[JobLife]) -> dict[str, float]:
    faults = run.scenario.core.faults
    if not faults.list and faults.mtbf_s is None:
        return {"availability": math.nan, "lost_work": math.nan}
    down = run.timeline[run.timeline["kind"] == "down"]
    down_s = math.fsum(b - a for a, b in zip(down["start_s"], down["end_s"], strict=True))
    lost_s = math.fsum(life.run_gpu_s * life.steps_lost / life.steps_run for life in lives if life.steps_run)
    return {
        "availability": 1 - _ratio(down_s, run.scenario.cluster.gpus * run.end_s),
        "lost_work": _ratio(lost_s, math.fsum(life.run_gpu_s for life in lives)),
    }


class _Speeds:
    """Seconds per step of a job, mean over types by their GPUs; types on which it has no speed are left out."""

    def __init__(self, run: Run) -> None:
        self._row, self._capacity = run.scenario.table.row, run.scenario.cluster.capacity

    def isolated_s(self, job: Job, present: float) -> float:
        """On 1/n of the cluster: of the sizes that fit into its GPUs the fastest, else the smallest that runs."""
        present_gpus = sum(self._capacity.values()) / present * (1 + TIE)
        fit = [size for size in job.sizes if size <= present_gpus] or [job.sizes[0]]
        found = {}
        for kind in self._capacity:
            best = max(self._speed(job, kind, size) for size in fit)
            larger = (self._speed(job, kind, size) for size in job.sizes if size > fit[-1])
            found[kind] = best or next((speed for speed in larger if speed), 0.0)
        return self._mean_s(found)

    def expected_s(self, job: Job) -> float:
        """Hops (9): the speed per GPU of the gang asked for, times the mean of its sizes."""
        mean = sum(job.sizes) / len(job.sizes)
        return self._mean_s({kind: speed / job.gpus * mean for kind, speed in self._asked(job).items()})

    def fastest(self, job: Job) -> float:
        """Steps/s of the gang asked for on its fastest type."""
        return max(self._asked(job).values())

    def _asked(self, job: Job) -> dict[str, float]:
        """By type; in proportion to the smallest size that runs somewhere where the gang asked for does not."""
        for size in (job.gpus, *job.sizes):
            found = {kind: self._speed(job, kind, size) * job.gpus / size for kind in self._capacity}
            if any(found.values()):
                return found
        return dict.fromkeys(self._capacity, 0.0)

    def _speed(self, job: Job, kind: str, gpus: int) -> float:
        return self._row(job.model, kind, gpus) or self._row(job.model, kind, gpus, "unconsolidated")

    def _mean_s(self, speed: Mapping[str, float]) -> float:
        able = [kind for kind in speed if speed[kind] > 0]
        seconds = math.fsum(self._capacity[kind] / speed[kind] for kind in able)
        return seconds / sum(self._capacity[kind] for kind in able) if able else math.nan


def _of_rounds(run: Run, lives: Sequence[JobLife]) -> dict[str, float]:
    """A decision stands for the round that it begins, and for the boundaries passed over until the next one."""
    times_s, round_s = run.decisions["time_s"].tolist(), _round_s(run)
    after, over_s = _after_decisions(run, lives), _over_s(run, lives)
    empty_s = list(_emptied_s(lives, run.end_s))
    total, fragments, changed, before = 0, 0.0, set(), -1
    for n, (time_s, found) in enumerate(zip(times_s, after, strict=True)):
        number, passed = n, 0
        if round_s is not None:
            number = math.floor(time_s / round_s + TIE)
            next_s = times_s[n + 1] if n + 1 < len(times_s) else over_s
            emptied_s = next(iter(empty_s[bisect_right(empty_s, time_s) :][:1]), math.inf)
            passed = max(math.ceil(min(next_s, emptied_s) / round_s - TIE) - 1 - number, 0)
        rounds = (number > before) + passed
        before = number
        total += rounds
        fragments += rounds * max(found.up - found.busy, 0) if found.waiting else 0
        if found.changed:
            changed.add(number)
    return {
        "rounds": total,
        "decisions": len(times_s),
        "fragments_gpus": _ratio(fragments, total),
        "changed_rounds": math.nan if _is_of_tasks(run) else _ratio(len(changed), total),
    }


def _round_s(run: Run) -> float | None:
    """The knob `round_s`, if rounds begin at its multiples."""
    round_s = run.knobs.get("round_s")
    if isinstance(round_s, bool) or not isinstance(round_s, int | float) or not 0 < round_s < math.inf:
        return None
    decided = zip(run.decisions["time_s"], run.decisions["cause"], strict=True)
    begun_s = [time_s for time_s, cause in decided if cause == "round"]
    on_time = all(abs(at - round(at / round_s) * round_s) <= TIE * max(at, round_s) for at in begun_s)
    return float(round_s) if begun_s and on_time else None


def _emptied_s(lives: Sequence[JobLife], end_s: float) -> Iterator[float]:
    """When the last job that was there had gone, once all that happened at the time is counted."""
    changes: Counter[float] = Counter()
    for time_s, change in _come_and_go(lives, end_s):
        changes[time_s] += change
    count = 0
    for time_s in sorted(changes):
        count += changes[time_s]
        if count <= 0:
            yield time_s


def _is_of_tasks(run: Run) -> bool:
    """Whether units are tasks in rounds, `job #round.number`."""
    t = run.timeline
    units = {unit.rpartition(" #") for unit, kind in zip(t["unit"], t["kind"], strict=True) if kind == "run"}
    return bool(units) and all(
        job and [part.isdecimal() for part in last.split(".")] == [True, True] for job, _, last in units
    )


def _after_decisions(run: Run, lives: Sequence[JobLife]) -> list[OccupiedCluster]:
    """The cluster after each decision by the timeline, walking along it.

    Intervals have a length, so the timeline does not tell what was between two decisions at one time, after one at the
    run's end, or before one at time 0 where jobs run already: what the decision itself says stands for these. So it
    does for the GPUs that sequences of tasks have to themselves, which are held also while a task waits for its round.
    """
    d, gpus = run.decisions, run.scenario.cluster.gpus
    columns = d[["busy_gpus", "up_gpus", "waiting_jobs", "changed"]]
    said = [OccupiedCluster(*row) for row in columns.itertuples(index=False, name=None)]
    times_s = d["time_s"].tolist()
    often = Counter(times_s)
    changes, gone = _changes(run), _gone(run)
    order = sorted(changes)
    arrivals_s = sorted(life.job.arrival_s for life in lives)
    left_s = sorted(life.left_s for life in lives)
    busy, down, holding, of_tasks = 0, 0, Counter[str](), _is_of_tasks(run)
    at, found = 0, []
    for time_s, recorded in zip(times_s, said, strict=True):
        while at < len(order) and order[at] <= time_s:
            now = changes[order[at]]
            busy += now.busy
            down += now.down
            holding.update(now.holding)
            at += 1
        if often[time_s] > 1 or time_s >= run.end_s or (time_s == 0 and run.scenario.running):
            found.append(recorded)
            continue
        active = bisect_right(arrivals_s, time_s) - bisect_right(left_s, time_s)
        changed = bool(at and order[at - 1] == time_s and changes[time_s].other(gone[time_s]))
        running = sum(count > 0 for count in holding.values())
        found.append(OccupiedCluster(recorded.busy if of_tasks else busy, gpus - down, active - running, changed))
    return found


class UnitSlot(NamedTuple):
    """A slot of a unit."""

    unit: str
    node: str
    slot: int


@dataclass
class _Change:
    """What begins and ends at one time: GPUs held and down, jobs' GPUs, and which slots of which units."""

    busy: int = 0
    down: int = 0
    holding: Counter[str] = field(default_factory=Counter)
    began: set[UnitSlot] = field(default_factory=set)
    ended: set[UnitSlot] = field(default_factory=set)

    def other(self, gone: tuple[set[str], set[str]]) -> bool:
        """Whether units have other slots than before, but for jobs that finished and nodes that failed then.

        Half of a pair that goes on alone where the other has finished has what it had.
        """
        jobs, nodes = gone
        left = {each for each in self.ended if jobs & set(_members(each.unit))}
        failed = {each.unit for each in self.ended if each.node in nodes}
        ended = {each for each in self.ended - left if each.unit not in failed}
        alone = {each._replace(unit=half) for each in left for half in each.unit.split(" + ")}
        return bool((self.began - alone) ^ ended)


def _members(unit: str) -> list[str]:
    """Jobs of a unit by its name: `job`, a copy `job #1`, a pair `a + b`."""
    return [name for half in unit.split(" + ") for name in (half, half.rpartition(" #")[0])]


def _changes(run: Run) -> dict[float, _Change]:
    changes: dict[float, _Change] = defaultdict(_Change)
    for row in _rows(run.timeline):
        start, end = changes[row.start_s], changes[row.end_s]
        if row.kind == "down":
            start.down += 1
            end.down -= 1
        elif row.kind != "sync":
            start.busy += 1
            end.busy -= 1
            held = UnitSlot(row.unit, row.node, row.slot)
            start.began.add(held)
            end.ended.add(held)
            for name in (row.job, row.with_job):
                if name:
                    start.holding[name] += 1
                    end.holding[name] -= 1
    return changes


def _gone(run: Run) -> dict[float, tuple[set[str], set[str]]]:
    """Jobs that finished and nodes that failed, by time."""
    found: dict[float, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for row in _rows(run.events):
        if row.event == "finish":
            found[row.time_s][0].add(row.job)
        elif row.event == "fault":
            found[row.time_s][1].add(row.where)
    return found


def _of_jobs(run: Run, lives: Sequence[JobLife], speeds: _Speeds) -> dict[str, float]:
    done = [life for life in lives if life.finished]
    lived = [life for life in lives if not life.refused and life.job.arrival_s < run.end_s]
    begun = [life.first_start_s - life.job.arrival_s for life in lived if not math.isnan(life.first_start_s)]
    columns: dict[str, Sequence[float]] = {
        "jct_s": [life.jct_s for life in done],
        "finish_time_fairness": [
            life.jct_s / (life.steps * speeds.isolated_s(life.job, life.present)) for life in done
        ],
        "latency_ratio": [life.wait_s(run.end_s) / (life.steps * speeds.expected_s(life.job)) for life in done],
        "wait_s": [life.wait_s(run.end_s) for life in lived],
        "preemptions": [len(life.lost_at_s) for life in done],
        "restarts": [life.restarts for life in done],
        "moves": [life.moves for life in done],
        "cost_usd": [life.cost_usd for life in done],
        "attained_s": [life.job.attained_s + life.held_gpu_s for life in done],
    }
    unfinished = [life for life in lives if not life.finished and not life.refused]
    weighted_s = math.fsum(life.job.weight * life.jct_s for life in done)
    found = {
        "jobs": len(lives),
        "jobs_finished": len(done),
        "jobs_unfinished": len(unfinished),
        "jobs_refused": sum(life.refused for life in lives),
        "mean_first_start_s": mean(begun),
        "preemptions": sum(len(life.lost_at_s) for life in lives),
        "restarts": sum(life.restarts for life in lives),
        "moves": sum(life.moves for life in lives),
        "weighted_jct_s": math.nan if unfinished else weighted_s,
        "cost_usd": math.fsum(life.cost_usd for life in lives),
    }
    for name, values in columns.items():
        found |= {
            f"mean_{name}": mean(values),
            f"median_{name}": percentile(values, 50),
            f"p95_{name}": percentile(values, 95),
            f"p99_{name}": percentile(values, 99),
            f"max_{name}": percentile(values, 100),
        }
    return found


def mean(values: Sequence[float]) -> float:
    """Their sum by their number; NaN for none."""
    return math.fsum(values) / len(values) if values else math.nan


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which so many are, on the line between neighbours in order; NaN if one is, or for none."""
    if not values or any(map(math.isnan, values)):
        return math.nan
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = min(math.floor(place), len(ordered) - 1)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _by_class(lives: Sequence[JobLife]) -> dict[str, float]:
    """Mean JCT by size class, by GPUs where no job has one."""
    classes: dict[str, list[float]] = defaultdict(list)
    named = any(life.job.size_class for life in lives)
    for life in lives:
        gpus = f"{life.job.gpus} GPU{'' if life.job.gpus == 1 else 's'}"
        label = (life.job.size_class or "no class") if named else gpus
        classes[label] += [life.jct_s] if life.finished else []
    return {f"mean_jct_by_class_s of {label}": mean(values) for label, values in classes.items()}


def _of_slos(run: Run, lives: Sequence[JobLife]) -> dict[str, float]:
    """Known where some job has rewards above 0; the share of its reward that each one attains is Chronus (9)'s."""
    slo = [life for life in lives if life.job.rewards and life.job.rewards[0][1] > 0]
    if not slo:
        return {}
    share = {life.job.name: _attained(life, run.end_s) for life in slo}
    late = {life.job.name: _late(life, run.end_s) for life in slo}

    def missed(some: Iterable[JobLife]) -> float:
        return 1 - mean([share[life.job.name] for life in some])

    delays_s = [min(a for a, _ in life.profiles) - life.job.arrival_s for life in lives if life.profiles]
    found = {
        "slo_violations": sum(late.values()),
        "slo_violation_rate": sum(late.values()) / len(slo),
        "weighted_miss_rate": missed(slo),
        "reward_attained": 1 - missed(slo),
        "strict_miss_rate": missed(life for life in slo if len(life.job.rewards or ()) == 1),
        "soft_miss_rate": missed(life for life in slo if len(life.job.rewards or ()) > 1),
        "best_effort_jct_s": mean([life.jct_s for life in lives if life.finished and life.job.name not in share]),
        "mean_profiling_delay_s": mean(delays_s),
        "max_profiling_delay_s": max(delays_s, default=math.nan),
        "renewals": sum(life.renewals for life in lives),
        "suspensions": sum(at_s not in {b for _, b in life.profiles} for life in lives for at_s in life.lost_at_s),
    }
    if any(life.verdict for life in slo):
        promised = [life for life in slo if _had_guarantee(life)]
        down = [life for life in slo if life.verdict and not _had_guarantee(life)]
        found |= {
            "guaranteed": len(promised),
            "unguaranteed": len(down),
            "unguaranteed_miss_rate": missed(down),
            "broken_guarantees": sum(late[life.job.name] for life in promised),
        }
    return found


def _attained(life: JobLife, end_s: float) -> float:
    """(reward - lowest) / (highest - lowest), as if an unfinished job were done at the run's end."""
    rewards, highest = life.job.rewards or (), (life.job.rewards or ((0.0, 0.0),))[0][1]
    lowest = LOWEST if highest > LOWEST else 0.0
    spent_s = (life.finish_s if life.finished else end_s) - life.job.arrival_s
    in_time = [reward for deadline_s, reward in rewards if spent_s <= deadline_s + SAME_S and not life.refused]
    return max(in_time[0] - lowest, 0.0) / (highest - lowest) if in_time else 0.0


def _late(life: JobLife, end_s: float) -> bool:
    """Not done by its last deadline with a reward, or by then no more to be done."""
    due_s = life.job.arrival_s + life.job.deadline_s
    if life.finished:
        return life.finish_s > due_s + SAME_S
    return due_s < math.inf and (life.refused or due_s < end_s)


def _had_guarantee(life: JobLife) -> bool:
    """Verdicts are told when they change: the last one, and how many there were, say whether one was a guarantee."""
    verdicts = len(life.verdicts_s)
    least = {"guaranteed": 0, "best_effort": 1, "refused": 2}
    return life.verdict in least and (life.verdict == "guaranteed" or verdicts > least[life.verdict])


def same(value: float, other: float) -> bool:
    """Whether two values of a measure are the same but for rounding, or both unknown."""
    return math.isclose(value, other, rel_tol=CLOSE, abs_tol=TIE) or (math.isnan(value) and math.isnan(other))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan
