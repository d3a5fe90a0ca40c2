"""What Hare compares itself with (section 7.1), on the same instances: schedulers of whole jobs.

They see jobs as they arrive. A job of theirs holds its GPUs while it synchronises, too, and each of its tasks of a
round has a GPU of its own, but for `sched_allox`.

- `gavel_fifo`: in the order of arrival, nobody passes; on the fastest GPUs that are idle, until the job is done.
- `srtf`: the shortest remaining time on its fastest GPUs first, decided whenever a round ends or a job comes, so that a
  job may be preempted between rounds; who does not fit is passed (ours).
- `sched_homo`: by falling weight over time, where times are the means over all GPUs; on any idle GPUs, in their order,
  until the job is done; who does not fit is passed (ours).
- `sched_allox`: one GPU for each job, where its tasks go one after the other. Whenever a job comes or ends, those that
  wait are matched to GPUs and places in line, as AlloX does: the job that is k-th from the end of a line delays k jobs
  by its time. Who is first on a GPU that is idle begins and stays.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping

import numpy as np

from workbench.base.arrays import IntArray
from workbench.baselines.mechanisms.allox_lines import first_in_line
from workbench.papers.hare.algorithms.schedule import TaskSchedule
from workbench.papers.hare.algorithms.synchronisation import enough
from workbench.papers.hare.instance import HareInstance


class _Builder:
    """A schedule as it grows: busy_until_s by GPU, and the tasks placed so far."""

    def __init__(self, instance: HareInstance) -> None:
        self.data = instance
        self.both = instance.train_s + instance.sync_s
        self.busy_s = np.array(instance.free_s, dtype=float)
        self.gpu = np.full(instance.task_count, -1, dtype=np.int64)
        self.start_s = np.zeros(instance.task_count)
        self.next_round = instance.job_round[:-1].tolist()

    def idle(self, job: int, now_s: float) -> IntArray:
        """GPUs that are idle and can run a job, in their order."""
        return np.flatnonzero((self.busy_s <= now_s) & self.data.runs[job])

    def left(self, job: int) -> int:
        """Rounds of a job that have not begun."""
        return int(self.data.job_round[job + 1]) - int(self.next_round[job])

    def round(self, job: int, gpus: IntArray, now_s: float) -> float:
        """Begin a job's next round, its tasks on these GPUs; returns when it has synchronised."""
        data, r = self.data, int(self.next_round[job])
        first, width, part = int(data.round_task[r]), int(data.round_tasks[r]), float(data.round_part[r])
        self.gpu[first : first + width], self.start_s[first : first + width] = gpus[:width], now_s
        end_s = now_s + float(self.both[job, gpus[:width]].max()) * part
        return self._ended(job, r, end_s, gpus)

    def in_turn(self, job: int, gpu: int, now_s: float) -> float:
        """Begin a job's next round, its tasks one after the other on one GPU; returns when it has synchronised."""
        data, r = self.data, int(self.next_round[job])
        first, width, part = int(data.round_task[r]), int(data.round_tasks[r]), float(data.round_part[r])
        each_s = float(data.train_s[job, gpu]) * part
        self.gpu[first : first + width] = gpu
        self.start_s[first : first + width] = now_s + each_s * np.arange(width)
        end_s = now_s + width * each_s + float(data.sync_s[job, gpu]) * part
        return self._ended(job, r, end_s, np.array([gpu]))

    def _ended(self, job: int, r: int, end_s: float, gpus: IntArray) -> float:
        if self.data.round_number[r] == 0:
            end_s = max(end_s, float(self.data.barrier_s[job]))
        self.next_round[job] = r + 1
        self.busy_s[gpus] = end_s
        return end_s

    def schedule(self) -> TaskSchedule:
        """What has been placed."""
        return TaskSchedule(self.data, self.gpu, self.start_s)


def gavel_fifo(instance: HareInstance, blocking: bool = True) -> TaskSchedule:
    """First in, first out, on the fastest idle GPUs; blocking: nobody passes who does not fit. Raises InputError for
    more tasks in a round than GPUs."""
    line = np.argsort(instance.arrival_s, kind="stable").tolist()
    return _whole_jobs(instance, line, blocking=blocking, fastest=True)


def sched_homo(instance: HareInstance, fastest: bool = False) -> TaskSchedule:
    """Weighted shortest job first by mean times, blind to which GPU unless `fastest`. Raises InputError as
    `gavel_fifo`."""
    both = np.where(instance.runs, instance.train_s + instance.sync_s, 0.0)
    mean_s = both.sum(axis=1) / np.maximum(instance.runs.sum(axis=1), 1)
    line = np.argsort(mean_s * instance.rounds / instance.weight, kind="stable").tolist()
    return _whole_jobs(instance, line, blocking=False, fastest=fastest)


def srtf(instance: HareInstance) -> TaskSchedule:
    """Shortest remaining time first, preemptive between rounds. Raises InputError as `gavel_fifo`."""
    enough(instance)
    built = _Builder(instance)
    each = [
        float(np.partition(row, width - 1)[width - 1])
        for row, width in zip(built.both, instance.tasks.tolist(), strict=True)
    ]
    ready = instance.arrival_s.tolist()
    events = _Events(instance)
    while events:
        now_s = events.pop()
        here = [job for job, ready_s in enumerate(ready) if ready_s <= now_s and built.left(job)]
        for job in sorted(here, key=lambda job: (each[job] * built.left(job), job)):
            idle = built.idle(job, now_s)
            if len(idle) >= instance.tasks[job]:
                ready[job] = built.round(job, _fastest(built, job, idle), now_s)
                events.push(ready[job])
    return built.schedule()


def sched_allox(instance: HareInstance) -> TaskSchedule:
    """A matching of the jobs that wait to GPUs and places in line, one GPU for each job."""
    built, events = _Builder(instance), _Events(instance)
    parts = np.bincount(
        instance.round_job, instance.round_tasks * instance.round_part, minlength=len(instance.jobs)
    )  # rounds' tasks that compute one after the other, and then each round synchronises
    rounds = np.bincount(instance.round_job, instance.round_part, minlength=len(instance.jobs))
    time_s = parts[:, None] * instance.train_s + rounds[:, None] * instance.sync_s
    while events:
        now_s = events.pop()
        here = [job for job, comes_s in enumerate(instance.arrival_s.tolist()) if comes_s <= now_s and built.left(job)]
        if not here or not any(len(built.idle(job, now_s)) for job in here):
            continue
        for job, gpu in first_in_line(time_s[here], np.maximum(built.busy_s - now_s, 0.0)):
            if built.busy_s[gpu] <= now_s:
                end_s = now_s
                while built.left(here[job]):
                    end_s = built.in_turn(here[job], gpu, end_s)
                events.push(end_s)
    return built.schedule()


class _Events:
    """Moments at which something is decided: jobs come, GPUs become free, rounds or jobs end. Equal ones are one."""

    def __init__(self, instance: HareInstance) -> None:
        self._times: list[float] = sorted({*instance.arrival_s.tolist(), *instance.free_s.tolist()})

    def __bool__(self) -> bool:
        return bool(self._times)

    def push(self, time_s: float) -> None:
        """There is something to decide at a time."""
        heapq.heappush(self._times, time_s)

    def pop(self) -> float:
        """The next moment."""
        time_s = heapq.heappop(self._times)
        while self._times and self._times[0] == time_s:
            heapq.heappop(self._times)
        return time_s


def _whole_jobs(instance: HareInstance, line: list[int], *, blocking: bool, fastest: bool) -> TaskSchedule:
    """Jobs in the order of a line, each on GPUs that it keeps until it is done."""
    enough(instance)
    built, events = _Builder(instance), _Events(instance)
    while events:
        now_s = events.pop()
        for job in [job for job in line if instance.arrival_s[job] <= now_s and built.left(job)]:
            idle = built.idle(job, now_s)
            if len(idle) < instance.tasks[job]:
                if blocking:
                    break
                continue
            gpus = _fastest(built, job, idle) if fastest else idle[: int(instance.tasks[job])]
            end_s = now_s
            while built.left(job):
                end_s = built.round(job, gpus, end_s)
            events.push(end_s)
    return built.schedule()


def _fastest(built: _Builder, job: int, idle: IntArray) -> IntArray:
    """As many of the idle GPUs as a job has tasks, those on which one has synchronised soonest."""
    order = np.argsort(built.both[job, idle], kind="stable")
    return idle[order[: int(built.data.tasks[job])]]


BASELINES: Mapping[str, Callable[[HareInstance], TaskSchedule]] = {
    "Gavel_FIFO": gavel_fifo,
    "SRTF": srtf,
    "Sched_Homo": sched_homo,
    "Sched_Allox": sched_allox,
}
"""By the paper's names."""
