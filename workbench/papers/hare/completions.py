"""What a schedule of tasks comes to, however its rounds are made: sums over the completion times of its jobs."""

from __future__ import annotations

import abc

from workbench.papers.hare.instance import Instance
from workbench.scenario.throughput import FloatArray


class Completions(abc.ABC):
    """The measures of completion times. instance: the jobs."""

    instance: Instance

    @property
    @abc.abstractmethod
    def completion_s(self) -> FloatArray:
        """(jobs,) C_n: when each one's last round has synchronised."""

    @property
    def objective(self) -> float:
        """The objective of Hare_Sched, sum of w_n C_n, in s x weight."""
        return float(self.instance.weight @ self.completion_s)

    @property
    def weighted_jct_s(self) -> float:
        """Sum of w_n (C_n - a_n), in s x weight."""
        return float(self.instance.weight @ (self.completion_s - self.instance.arrival_s))

    @property
    def makespan_s(self) -> float:
        """When the last job completes; 0 without jobs."""
        return float(self.completion_s.max(initial=0.0))
