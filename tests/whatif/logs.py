"""A log that is long enough to be drawn, in blocks of an hour."""

import workbench
from workbench.scenario import Scenario

HOURS = [0, 1800, 3700, 7300, 7300, 10_800, 11_000]


def of_hours(*more_s: float) -> Scenario:
    """Jobs within three hours and a little more: the last one is as long as 200 s."""
    scenario = workbench.preset("start_here")
    job = scenario.jobs[0]
    jobs = [job.model_copy(update={"name": f"j{i}", "arrival_s": float(at)}) for i, at in enumerate([*HOURS, *more_s])]
    return scenario.replace(jobs=jobs)
