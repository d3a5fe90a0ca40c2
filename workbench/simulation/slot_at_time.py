"""One GPU of a run at one time: who holds it, or since when it is idle, and which jobs could have it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError, one_of
from workbench.simulation.job_at_time import JobAtTime, checked_time
from workbench.simulation.run import Run


@dataclass(frozen=True, eq=False)
class SlotAtTime:
    """A GPU, `node/slot` (slots of a node count from 0), at `at_s`.

    Raises InputError for what is no run, and for a GPU or time that it does not have.
    """

    run: Run
    gpu: str
    at_s: float
    accelerator: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "at_s", checked_time(self.run, self.at_s))
        nodes = self.run.scenario.cluster.each_node
        known = {f"{node.name}/{slot}": node.accelerator for node in nodes for slot in range(node.gpus)}
        if self.gpu not in known:
            raise InputError("gpu", self.gpu, f"{one_of(self.gpu, known)}, a node and the number of its GPU from 0")
        object.__setattr__(self, "accelerator", known[self.gpu])

    @cached_property
    def rows(self) -> IntArray:
        """The positions of the intervals of its timeline, a task's synchronisation apart, in order."""
        node, _, slot = self.gpu.rpartition("/")
        cells = self.run.cells
        mine = cells.rows("timeline", "node", "slot").get((node, int(slot)), np.empty(0, dtype=np.int64))
        mine = mine[cells.column("timeline", "kind")[mine] != "sync"]
        found: IntArray = mine[cells.column("timeline", "start_s")[mine].argsort(kind="stable")]
        return found

    @cached_property
    def _times_s(self) -> tuple[FloatArray, FloatArray]:
        """When they start and end."""
        start_s, end_s = (self.run.cells.column("timeline", name)[self.rows] for name in ("start_s", "end_s"))
        return start_s, end_s

    @cached_property
    def now(self) -> dict[str, Any] | None:
        """The interval that contains now, None while nobody has it."""
        start_s, end_s = self._times_s
        rows = self.rows[(start_s <= self.at_s) & (end_s > self.at_s)]
        if not len(rows):
            return None
        return {name: column[rows[0]] for name, column in self.run.cells.columns("timeline").items()}

    @property
    def unit(self) -> str:
        """Who has it: a job, a pair, a copy or a task; empty if nobody has."""
        return "" if self.now is None else str(self.now["unit"])

    @property
    def job(self) -> str:
        """The job, the first of a pair; empty if nobody has it."""
        return "" if self.now is None else str(self.now["job"])

    def has(self, job: str) -> bool:
        """Whether a job has it, alone or in a pair."""
        return self.now is not None and job in (self.now["job"], self.now["with_job"])

    @property
    def is_down(self) -> bool:
        """Whether its node is down."""
        return self.now is not None and self.now["kind"] == "down"

    @cached_property
    def could(self) -> tuple[str, ...]:
        """The jobs that are there, fit its type and do not have it: those that wait first."""
        names = JobAtTime(self.run, self.run.scenario.jobs[0].name, self.at_s).present if self.run.scenario.jobs else ()
        able = [name for name in names if name != self.job and self._fits(self.of(name))]
        return tuple(sorted(able, key=lambda name: self.of(name).state != "waiting"))

    def _fits(self, job_at: JobAtTime) -> bool:
        return job_at.needs.get(self.accelerator, math.inf) <= job_at.up[self.accelerator]

    def of(self, job: str) -> JobAtTime:
        """A job at that time."""
        return JobAtTime(self.run, job, self.at_s)

    @cached_property
    def _like(self) -> dict[str, str]:
        """What a node is but for its name, by name."""
        nodes = self.run.scenario.cluster.each_node
        return {node.name: repr(node.model_copy(update={"name": ""})) for node in nodes}

    def held_alike(self, job: str) -> list[tuple[str, int]]:
        """What a node is but for its name, and how many of its GPUs a job has, of each node where it has any."""
        return sorted((self._like[node], gpus) for node, gpus in self.of(job).held.items())

    def busy_alike(self) -> int:
        """How many GPUs of nodes like its own, but for their names, somebody has."""
        mine, bars = self._like[self.gpu.rpartition("/")[0]], self.run.timeline
        now = bars[(bars["start_s"] <= self.at_s) & (bars["end_s"] > self.at_s) & (bars["kind"] != "sync")]
        return sum(self._like[node] == mine for node in now["node"])
