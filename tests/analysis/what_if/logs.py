"""A log that is long enough to be drawn, in blocks of an hour."""

import workbench
from workbench.scenario.scenario import Scenario

HOURS = [0, 1800, 3700, 7300, 7300, 10_800, 11_000]


def of_hours(*more_s: float, like: int = 0) -> Scenario:
    """Jobs within three hours and a little more: the last hour has 200 s. like: which job of `start_here`."""
    scenario = workbench.preset("start_here")
    job = scenario.jobs[like]
    jobs = [job.model_copy(update={"name": f"j{i}", "arrival_s": float(at)}) for i, at in enumerate([*HOURS, *more_s])]
    return scenario.replace(jobs=jobs)
