"""How long tasks take by a belief (Hare): seconds of one step of a job's task on each type of GPU.

A step computes for 1/r(1) and then synchronises for sync_s or max(0, K/r(K) - 1/r(1)), where r(n) is the believed speed
of a gang of n in steps/s and K the parallel tasks of a round (`workbench.scenario.throughput.TaskTimes`).
"""

from __future__ import annotations

from typing import NamedTuple

from workbench.baselines.mechanisms.coarsening import parallel_tasks
from workbench.scenario.job import Job
from workbench.scenario.throughput import TaskTimes
from workbench.scheduling.snapshot import Snapshot


class Note(NamedTuple):
    """Times of a model that are not what its rows say: `clamped` or `from_gang` on these types."""

    model: str
    tasks: int
    note: str
    types: tuple[str, ...]

    def __str__(self) -> str:
        where = f"{self.model} in rounds of {self.tasks} on {', '.join(self.types)}"
        if self.note == "clamped":
            return f"{where}: a gang is faster than its GPUs one by one; no time to synchronise is left"
        return f"{where}: no speed of a GPU alone; a task computes as long as a gang takes for its step"


class BelievedTimes:
    """Seconds of a job's tasks on each type, as believed; asked once for each model, K and sizes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[tuple[str, int, tuple[int, ...], str], TaskTimes] = {}

    def of(self, job: Job, kind: str) -> TaskTimes:
        """Seconds of one step on a GPU of a type."""
        tasks = parallel_tasks(job)
        key = (job.model, tasks, job.sizes, kind)
        if key not in self._known:
            belief, fewest = self._snapshot.belief, self._snapshot.cluster.fewest_nodes

            def steps_per_s(gpus: int) -> float:
                found = belief.steps_per_s(job, kind, gpus, "consolidated", fewest(kind, gpus))
                return found or belief.steps_per_s(job, kind, gpus, "unconsolidated")

            listed = self._snapshot.synchronisation_s.get((job.model, kind, tasks))
            self._known[key] = TaskTimes.of(steps_per_s, tasks, job.sizes, listed)
        return self._known[key]

    def notes(self) -> tuple[Note, ...]:
        """What is not as the rows say, by model, K and kind of note."""
        types: dict[tuple[str, int, str], dict[str, None]] = {}
        for (model, tasks, _, kind), found in self._known.items():
            if found.note:
                types.setdefault((model, tasks, found.note), {})[kind] = None
        return tuple(Note(*key, tuple(kinds)) for key, kinds in types.items())
