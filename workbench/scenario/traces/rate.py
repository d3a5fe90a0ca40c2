"""The same jobs at another load: their arrivals nearer to each other, or further apart."""

from __future__ import annotations

import math

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario


def at_rate(scenario: Scenario, per_hour: float) -> Scenario:
    """The scenario with its jobs arriving at another mean rate: every gap between arrivals is scaled alike.

    per_hour: jobs after the first one, over the hours between the first arrival and the last. The first arrival stays.
    Raises InputError for a rate that is not above 0, and for jobs that all arrive at once.
    """
    if isinstance(per_hour, bool) or not isinstance(per_hour, (int, float)) or not 0 < per_hour < math.inf:
        raise InputError("per_hour", per_hour, "a number of jobs an hour above 0")
    arrivals = [job.arrival_s for job in scenario.jobs]
    first_s = min(arrivals, default=0.0)
    span_s = max(arrivals, default=0.0) - first_s
    if span_s == 0:
        raise InputError("jobs", len(arrivals), "at least two that arrive at different times")
    factor = (len(arrivals) - 1) / per_hour * 3600.0 / span_s
    jobs = [job.model_copy(update={"arrival_s": first_s + (job.arrival_s - first_s) * factor}) for job in scenario.jobs]
    return scenario.replace(jobs=jobs)
