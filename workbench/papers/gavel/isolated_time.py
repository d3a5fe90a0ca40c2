"""The time that jobs would have needed by themselves for the steps they have done (t^iso_m, Gavel section 4.2).

It starts at 0 and grows whenever shares are computed: by the steps done since the last time, divided by the isolated
throughput then in force, which changes with the number of jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from workbench.scenario.throughput import FloatArray


class Account(NamedTuple):
    """A job at the last computation: its isolated time so far, steps left, and isolated throughput in steps/s."""

    isolated_s: float
    steps_left: float
    steps_per_s: float


@dataclass(frozen=True)
class IsolatedTime:
    """The accounts of all jobs seen so far and not finished."""

    accounts: Mapping[str, Account] = field(default_factory=dict)

    def until_now(self, jobs: Sequence[str], steps_left: FloatArray) -> FloatArray:
        """(jobs,) seconds by itself, with the steps done since the last computation; 0 for a job not seen before."""
        total_s = np.zeros(len(jobs))
        for row, (job, left) in enumerate(zip(jobs, steps_left.tolist(), strict=True)):
            before = self.accounts.get(job)
            if before is not None:
                total_s[row] = before.isolated_s + max(0.0, before.steps_left - left) / before.steps_per_s
        return total_s

    def after(
        self, jobs: Sequence[str], isolated_s: FloatArray, steps_left: FloatArray, steps_per_s: FloatArray
    ) -> IsolatedTime:
        """The accounts after a computation for these jobs; others keep theirs."""
        rows = zip(isolated_s.tolist(), steps_left.tolist(), steps_per_s.tolist(), strict=True)
        new = {job: Account(*row) for job, row in zip(jobs, rows, strict=True)}
        return IsolatedTime({**self.accounts, **new})

    def only(self, jobs: Sequence[str]) -> IsolatedTime:
        """Without the jobs that are no longer there."""
        return IsolatedTime({job: self.accounts[job] for job in jobs if job in self.accounts})
