"""Jobs at another rate of arrivals, by hand."""

from __future__ import annotations

import pytest

from workbench.base.errors import InputError
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.rate import at_rate


def arriving(*times_s: float) -> Scenario:
    made = preset("start_here")
    jobs = [made.jobs[0].model_copy(update={"name": f"j{i}", "arrival_s": at}) for i, at in enumerate(times_s)]
    return made.replace(jobs=jobs)


def test_gaps_are_scaled_and_the_first_arrival_stays() -> None:
    """Three gaps in 900 s are 12 an hour; at 6 an hour they take 1,800 s."""
    found = at_rate(arriving(100.0, 400.0, 1000.0, 400.0), 6)
    assert [job.arrival_s for job in found.jobs] == pytest.approx([100.0, 700.0, 1900.0, 700.0])


def test_the_same_rate_changes_nothing() -> None:
    made = preset("hops_64")
    arrivals = [job.arrival_s for job in made.jobs]
    rate = (len(arrivals) - 1) / (max(arrivals) - min(arrivals)) * 3600
    same = at_rate(made, rate)
    assert [job.arrival_s for job in same.jobs] == pytest.approx(arrivals)
    assert [job.steps for job in same.jobs] == [job.steps for job in made.jobs]


@pytest.mark.parametrize("rate", [0, -1.0, float("inf"), float("nan"), True, "6"])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(InputError, match="per_hour"):
        at_rate(arriving(0.0, 1.0), rate)


@pytest.mark.parametrize("times", [(), (5.0,), (5.0, 5.0)])
def test_jobs_that_come_at_once_have_no_rate(times: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="different times"):
        at_rate(arriving(*times), 1.0)
