"""Hare_Sched drawn by hand: tasks are put on GPUs, and judged by the paper's rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.hare.algorithms.schedule import TaskSchedule
from workbench.papers.hare.formulations.time_indexed import TimeIndexed
from workbench.papers.hare.instance import HareInstance

MOST_TASKS = 12


class TasksByHand:
    """The problem of a small instance on a grid of time: every task is put once, on one GPU, at a multiple of `step_s`.

    Raises InputError for more than 12 tasks, and for tasks that do not last whole steps.
    """

    once = True

    def __init__(self, instance: HareInstance, step_s: float, columns: int) -> None:
        if instance.task_count > MOST_TASKS:
            raise InputError("tasks by hand", instance.task_count, f"at most {MOST_TASKS}")
        train_s = instance.train_s[instance.task_job]
        if not np.allclose(train_s / step_s, np.round(train_s / step_s)):
            raise InputError("step_s", step_s, "a step of which every task lasts a whole number")
        self.instance, self.step_s, self.columns = instance, step_s, columns
        self.column = f"{step_s:g} s"
        self.lanes = [gpu.name for gpu in instance.gpus]
        self.jobs = [instance.jobs[job] for job in instance.task_job.tolist()]
        self._round = instance.round_number[instance.task_round].tolist()
        numbers = zip(self.jobs, self._round, instance.task_number.tolist(), strict=True)
        self.pieces = [f"{job} #{number}.{task}" for job, number, task in numbers]
        self.lengths = np.round(train_s / step_s).astype(int).tolist()

    @cached_property
    def best(self) -> float:
        """The smallest sum of weighted completion times on this grid."""
        exact = TimeIndexed()
        return float(exact.run(self.instance, exact.settle({"step_s": self.step_s})).objective or 0.0)

    def judge(self, placed: Sequence[tuple[int, int, int]]) -> tuple[dict[int, str], list[str]]:
        """What is broken, by position in `placed`, and the sum of what is drawn. placed: (piece, lane, column)."""
        broken: dict[int, str] = {}
        for number, (task, lane, at) in enumerate(placed):
            said: dict[str, str] = {}  # one sentence for each equation
            for other, gpu, begin in placed:
                length = self.lengths[other][gpu]
                if other != task and gpu == lane and begin <= at < begin + length:
                    said["(8)"] = f"(8) {self.pieces[task]} starts while {self.pieces[other]} is on {self.lanes[lane]}."
                if self.jobs[other] == self.jobs[task] and self._round[other] < self._round[task]:
                    sync = float(self.instance.sync_s[self.instance.task_job[other], gpu]) / self.step_s
                    if at < begin + length + sync - 1e-9:
                        said["(7)"] = f"(7) {self.pieces[task]} starts before {self.pieces[other]} has synchronised."
            if said:
                broken[number] = " ".join(said[equation] for equation in sorted(said))
        if broken:
            return broken, []
        if missing := [name for task, name in enumerate(self.pieces) if task not in {each[0] for each in placed}]:
            return {}, [f"(5) Every task must have a GPU. Still to put: {', '.join(missing)}."]
        return {}, self._said(placed)

    def _said(self, placed: Sequence[tuple[int, int, int]]) -> list[str]:
        where = {task: (lane, at * self.step_s) for task, lane, at in placed}
        gpu, start_s = zip(*(where[task] for task in range(len(self.pieces))), strict=True)
        schedule = TaskSchedule(self.instance, np.array(gpu), np.array(start_s)).check("drawn by hand")
        ends = zip(self.instance.jobs, schedule.completion_s.tolist(), strict=True)
        gap = schedule.objective / self.best - 1
        end = "That is the optimum." if gap < 1e-9 else f"That is {gap:.0%} above the optimum."
        completions = ", ".join(f"{job} after {at:g} s" for job, at in ends)
        return [f"They end: {completions}.", f"The sum, by weight, is {schedule.objective:g} s. {end}"]
