"""Sched_Allox, as Hare compares itself with it: one dedicated GPU for each job, matched as AlloX does.

AlloX's jobs are of one GPU (Le et al., EuroSys 2020), so here the K tasks of a round run one after the other on the
job's GPU, and then the round synchronises there (Chen et al., HPDC 2022, section 7.1): K T^c + T^s a step, with Hare's
K, T^c and T^s (`workbench.baselines.mechanisms.task_rounds`). Whenever a job comes or ends, or a node fails or comes
back, those that wait are matched to GPUs and places in line (`workbench.baselines.mechanisms.allox_lines`). Who is
first on a GPU that is idle begins and keeps it until it is done; if its node fails, it waits again. It goes by lengths
and not by weights, and to begin costs nothing (ours).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from workbench.base.errors import InputError, Words
from workbench.base.labels import listed
from workbench.base.units import clock
from workbench.baselines.mechanisms.allox_lines import Place, first_of, matched
from workbench.baselines.mechanisms.task_rounds import (
    MOST_ROUNDS,
    STEPS_PER_ROUND,
    BelievedTimes,
    RoundsLeft,
    rounds_left,
)
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory, Scheduler, Timing
from workbench.scheduling.decision import Decision, Reason, Slot, Task
from workbench.scheduling.declared_room import Room
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.job_at_time import HOLDS, Explained, Fact, JobAtTime


@dataclass(frozen=True)
class SchedAlloxMemory:
    """The scheduler's memory: the slot of each job that has begun and keeps it."""

    slot_of: Mapping[str, Slot] = field(default_factory=dict)


class SchedAllox(Scheduler):
    """Not preemptive: a job runs on one GPU, and nobody else runs there until it is done."""

    name = "sched_allox"
    title = "Sched_Allox (one dedicated GPU for each job, least mean completion time)"
    knobs = (MOST_ROUNDS, STEPS_PER_ROUND)
    uses = frozenset({"arrival_s", "steps", "gpus", "tasks_per_round", "models.memory_gb", "accelerators.memory_gb"})

    def timing(self, knobs: Knobs) -> Timing:
        return Timing(None, frozenset({"arrival", "completion", "fault", "repair"}))

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        return SchedAlloxMemory()

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        now = _Now(snapshot, knobs)
        held = {name: slot for name, slot in memory.slot_of.items() if name in snapshot.jobs.at and slot in now.kind_of}
        waiting = [job for job in snapshot.jobs.jobs if job.name not in held and now.left(job) is not None]
        able = [job for job in waiting if now.runs_up(job)]
        down = {job.name for job in waiting} - {job.name for job in able}
        why = {name: Reason("stranded", "the nodes on which it runs are down") for name in sorted(down)}
        idle = set(now.kind_of) - set(held.values())
        if not any(now.seconds(job, kind) < math.inf for kind in {now.kind_of[slot] for slot in idle} for job in able):
            return Decision(why=why), SchedAlloxMemory(held)
        line = now.lines(able, held)
        fresh = {able[place.job].name: now.slots[place.gpu] for place in first_of(line) if now.slots[place.gpu] in idle}
        tasks = {slot: snapshot.tasks.waiting[slot] for slot in held.values() if slot in snapshot.tasks.waiting}
        tasks |= {slot: now.tasks(name) for name, slot in fresh.items()}
        why |= {name: now.reason(name, slot) for name, slot in fresh.items()}
        why |= {able[place.job].name: now.behind(able, place) for place in line if able[place.job].name not in fresh}
        signals = {"place_from_end": {able[place.job].name: float(place.from_end) for place in line}}
        return Decision(sequences=tasks, signals=signals, why=why), SchedAlloxMemory({**held, **fresh})


class _Now:
    """What a snapshot says of jobs that run on one GPU each. kind_of: type of each slot of a node that is up; slots."""

    def __init__(self, snapshot: Snapshot, knobs: Knobs) -> None:
        self._snapshot, self._knobs, self._times = snapshot, knobs, BelievedTimes(snapshot)
        self._model_gb = {model.name: model.memory_gb or 0.0 for model in snapshot.models}
        self._type_gb = {each.name: each.memory_gb or math.inf for each in snapshot.cluster.accelerators}
        self._left: dict[str, RoundsLeft | None] = {}
        nodes = snapshot.nodes
        self.kind_of = {
            Slot(name, number): snapshot.types[kind]
            for name, kind, gpus, up in zip(
                nodes.names, nodes.kind.tolist(), nodes.gpus.tolist(), nodes.up.tolist(), strict=True
            )
            if up
            for number in range(gpus)
        }
        self.slots = list(self.kind_of)

    def left(self, job: Job) -> RoundsLeft | None:
        """The tasks of a job that have not started, None if all have."""
        if job.name not in self._left:
            jobs = self._snapshot.jobs
            steps = float(jobs.steps_left[jobs.at[job.name]])
            self._left[job.name] = rounds_left(self._snapshot, job, steps, self._knobs)
        return self._left[job.name]

    def seconds(self, job: Job, kind: str) -> float:
        """How long what is left of a job takes on one GPU of a type, infinite where it cannot run."""
        row, times = self.left(job), self._times.of(job, kind)
        if self._model_gb.get(job.model, 0.0) > self._type_gb[kind] or not times.compute_s < math.inf:
            return math.inf
        return 0.0 if row is None else row.in_turn_s(times)

    def runs_up(self, job: Job) -> bool:
        """Whether a job can run on a GPU that is up. Raises InputError if no GPU of the cluster can run it."""
        up = set(self.kind_of.values())
        if any(self.seconds(job, kind) < math.inf for kind in up):
            return True
        down = set(self._snapshot.cluster.capacity) - up
        if any(self.seconds(job, kind) < math.inf for kind in down):
            return False
        runs = [kind for kind in self._snapshot.types if self._times.of(job, kind).compute_s < math.inf]
        if not runs:
            raise InputError(f"job {job.name}", Words("no speed on any GPU"), "a throughput > 0 on at least one type")
        most = max(self._type_gb[kind] for kind in runs)
        expected = f"at most {most:g} GB, the largest memory of the GPUs on which it runs"
        raise InputError(f"job {job.name}, memory_gb of {job.model}", self._model_gb[job.model], expected)

    def lines(self, jobs: list[Job], held: Mapping[str, Slot]) -> list[Place]:
        """Where each job stands in the lines of the slots, if those that hold slots end as believed."""
        kinds = list(dict.fromkeys(self.kind_of.values()))
        busy_s = dict.fromkeys(self.slots, 0.0)
        for name, slot in held.items():
            busy_s[slot] = self._busy_s(name, slot)
        column = [kinds.index(kind) for kind in self.kind_of.values()]
        seconds = np.array([[self.seconds(job, kind) for kind in kinds] for job in jobs])[:, column]
        return matched(seconds, np.array(list(busy_s.values())))

    def _busy_s(self, name: str, slot: Slot) -> float:
        """Seconds until a job that holds a slot is done."""
        now_s, view, jobs = self._snapshot.now_s, self._snapshot.tasks, self._snapshot.jobs
        job = jobs.jobs[jobs.at[name]]
        row, barrier_s = self.left(job), view.barrier_s.get(name, now_s)
        if row is None:
            return max(barrier_s - now_s, 0.0)
        computing = view.computing.get(slot)
        begin_s = max(now_s, row.arrival_s, computing[2] if computing is not None else now_s)
        return begin_s - now_s + self.seconds(job, self.kind_of[slot])

    def tasks(self, name: str) -> tuple[Task, ...]:
        """What is left of a job, one task after the other."""
        row = self._left[name]
        return () if row is None else tuple(row.tasks())

    def reason(self, name: str, slot: Slot) -> Reason:
        """Why a job begins on a slot."""
        jobs, kind = self._snapshot.jobs, self.kind_of[slot]
        seconds = self.seconds(jobs.jobs[jobs.at[name]], kind)
        text = f"first in the line of a GPU of {kind}, where it takes {clock(seconds)}"
        return Reason("first_in_line", text, {"type": kind, "seconds": seconds})

    def behind(self, jobs: list[Job], place: Place) -> Reason:
        """Where a job stands that does not begin now."""
        slot = self.slots[place.gpu]
        seconds = self.seconds(jobs[place.job], self.kind_of[slot])
        text = (
            f"matched to {slot.node}/{slot.number} of {self.kind_of[slot]}, where it takes {clock(seconds)}, as number "
            f"{place.from_end} from the end of its line"
        )
        return Reason("in_line", text, {"type": self.kind_of[slot], "place_from_end": float(place.from_end)})


def _explain(job_at: JobAtTime) -> Explained:
    """The rule of the matching, and the place in line of a job that has not begun."""
    rule = (
        "Each job has one GPU to itself until it is done. Whenever one of the GPUs is idle, those that wait are "
        "matched to GPUs and places in line, so that their completion times add up to least."
    )
    found = job_at.signals("place_from_end")
    place = None if found is None else found[1].get(job_at.job)
    facts = () if place is None else (Fact("place from the end of its line at the last matching", place),)
    if job_at.said is not None and job_at.said.code == "stranded":
        return Explained((rule,), facts, job_at.said.text)
    if job_at.state in HOLDS or job_at.stretch[0] > job_at.row["arrival_s"]:
        return Explained((rule,), facts, "the matching had it first in the line of its GPU, which it keeps")
    held = listed(dict.fromkeys(each.job for each in job_at.others))
    if place is None:
        return Explained((rule,), facts, f"no GPU has been idle since it came: each belongs to a job, here {held}")
    return Explained(
        (rule,), facts, f"the matching has it in the line of a GPU that belongs to a job, here one of {held}"
    )


ROOM = Room(
    name="sched_allox",
    title="Sched_Allox",
    schedulers=(SchedAllox(),),
    explanations={"sched_allox": _explain},
)
