"""The same trace with fewer or more jobs in the same time (Chronus 5.4, Fig. 9c to 9f: densities of 80 to 160 %).

Below 100 % jobs are removed at random; above, jobs drawn at random are injected once more (paper: Chronus 5.4). A copy
arrives with its original (ours: the paper does not say when), so that bursts stay where they are.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from workbench.base.errors import InputError
from workbench.scenario.frozen import AttributeMap
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.trace_file import check_seed

MOST_PERCENT = 200.0
TIMES = ("submit_s", "eligible_s", "start_s", "end_s")
"""Attributes of a log's jobs that are times."""
_STREAM = 2


def at_density(scenario: Scenario, percent: float, seed: int = 0) -> Scenario:
    """The scenario with `percent` of its jobs, above 0 and at most 200; a count that is not whole is rounded.

    Copies are named `name.2` and stand at the end of the list. No job is drawn twice; of one seed the jobs left at 80 %
    are the same in every call. Raises InputError for another percentage, and where no job would be left.
    """
    check_seed(seed)
    check_density(percent)
    jobs = scenario.jobs
    wanted = round(len(jobs) * percent / 100.0)
    if wanted == 0:
        raise InputError("density", percent, f"a percentage that leaves at least one of {len(jobs)} jobs")
    order = np.random.default_rng([_STREAM, seed]).permutation(len(jobs)).tolist()
    if wanted > len(jobs):
        return scenario.replace(jobs=[*jobs, *_copies(jobs, sorted(order[: wanted - len(jobs)]))])
    left = [jobs[position] for position in sorted(order[:wanted])]
    names = {job.name for job in left}
    return scenario.replace(jobs=left, running=[held for held in scenario.running if held.job in names])


def check_density(percent: float | None) -> None:
    """Raise InputError for a percentage that is none or out of range; None is no density at all."""
    if percent is None:
        return
    if isinstance(percent, bool) or not isinstance(percent, (int, float)) or not 0 < percent <= MOST_PERCENT:
        raise InputError("density", percent, f"a percentage above 0 and at most {MOST_PERCENT:g}")


def _copies(jobs: tuple[Job, ...], positions: list[int]) -> list[Job]:
    """New jobs like those at the positions; a copy has made no progress yet."""
    taken = {job.name for job in jobs}
    made = []
    for position in positions:
        fresh = {"name": numbered(jobs[position].name, taken), "steps_done": 0.0, "attained_s": 0.0}
        made.append(jobs[position].model_copy(update=fresh))
    return made


def moved(job: Job, arrival_s: float, name: str | None = None) -> Job:
    """The job at another time, and by another name; what its log says of times moves with it."""
    later_s = arrival_s - job.arrival_s
    facts = {key: value + later_s for key, value in job.attributes.items() if key in TIMES and value is not None}
    more = {"attributes": AttributeMap({**job.attributes, **facts})} if facts else {}
    return job.model_copy(update={"name": name or job.name, "arrival_s": arrival_s, **more})


def numbered(name: str, taken: Container[str]) -> str:
    """A name for a copy of a job: `name.2`, or the first number after that which is not taken."""
    number = 2
    while f"{name}.{number}" in taken:
        number += 1
    return f"{name}.{number}"
