"""The bootstrap draws days, so that draws are about what the log is, and today is the log itself."""

from collections import Counter

import numpy as np
import pytest

import workbench
from workbench.analysis.what_if import WhatIf, what_if
from workbench.scenario.scenario import Scenario

DAY_S, DAYS = 86_400.0, 7


def bursty(seed: int) -> Scenario:
    """A week on 8 GPUs: short jobs of four users in daytime, and on some days an array of 15 to 35 long ones."""
    rng, jobs = np.random.default_rng(seed), []
    for day in range(DAYS):
        for user in range(4):
            for _ in range(rng.poisson(3)):
                jobs.append((f"u{user}", day * DAY_S + rng.uniform(8, 20) * 3600, rng.lognormal(7.5, 1.0), 1))
        if rng.random() < 0.55:
            user, at, each_s = f"a{rng.integers(3)}", day * DAY_S + rng.uniform(9, 18) * 3600, rng.lognormal(9.2, 0.5)
            jobs += [(user, at, each_s * rng.uniform(0.8, 1.2), 2) for _ in range(rng.integers(15, 35))]
    names = ("user", "arrival_s", "steps", "gpus")
    rows = [dict(zip(names, job, strict=True)) for job in sorted(jobs, key=lambda job: job[1])]
    return Scenario.from_dict(
        {
            "cluster": {"accelerators": [{"name": "v100"}], "nodes": [{"name": "n", "accelerator": "v100", "gpus": 8}]},
            "jobs": [{"name": f"job-{i}", "model": "m", **row} for i, row in enumerate(rows)],
            "throughputs": [{"model": "m", "accelerator": "v100", "gpus": gpus, "steps_per_s": 1.0} for gpus in (1, 2)],
        }
    )


@pytest.fixture(scope="module")
def found() -> WhatIf:
    return what_if(bursty(2), "fifo", "nodes v100=+1", seeds=range(6), bootstrap=True)


def test_today_is_the_log_and_draws_lie_around_it(found: WhatIf) -> None:
    """Drawn job by job all draws had less waiting than the log: the arrays were gone."""
    own = workbench.simulate(bursty(2), "fifo")
    row = found.differences.set_index("measure").loc["mean_jct_s"]
    assert row["before"] == workbench.summary(own)["mean_jct_s"]
    drawn = [workbench.summary(run)["mean_jct_s"] for run in found.runs[0] if run.scenario.jobs != own.scenario.jobs]
    assert min(drawn) < row["before"] < max(drawn)
    assert row["low"] < row["difference"] == row["after"] - row["before"] < row["high"]


def test_what_a_user_sends_in_a_day_and_arrays_stay_together(found: WhatIf) -> None:
    def days(scenario: Scenario) -> list[Counter[tuple[str | None, int]]]:
        begin_s = bursty(2).jobs[0].arrival_s
        kept: list[Counter[tuple[str | None, int]]] = [Counter() for _ in range(DAYS)]
        for job in scenario.jobs:
            kept[int((job.arrival_s - begin_s) // DAY_S)][job.user, job.gpus] += 1
        return kept

    own, drawn = days(bursty(2)), [days(run.scenario) for run in found.runs[0]]
    assert all(day in own for each in drawn for day in each[: DAYS - 1])
    assert len({tuple(own.index(day) for day in each[: DAYS - 1]) for each in drawn}) > 3


def test_names_stay_what_they_are_but_for_copies(found: WhatIf) -> None:
    known = {job.name for job in bursty(2).jobs}
    for run in found.runs[0]:
        names = [job.name for job in run.scenario.jobs]
        assert len(set(names)) == len(names) and {name.split(".")[0] for name in names} == known & set(names)


def test_a_page_with_an_interval_says_what_it_leaves_out(found: WhatIf) -> None:
    said = [text for text in found.conclusions if "leave out" in text]
    assert len(said) == 1 and all(word in said[0] for word in ("other months", "users react", "errors"))


def test_a_log_too_short_to_draw_has_no_interval_and_says_so() -> None:
    short = what_if("preset:start_here", "las", "nodes v100=+1", seeds=range(3), bootstrap=True)
    assert short.differences["low"].isna().all() and any("too short a log" in text for text in short.conclusions)
