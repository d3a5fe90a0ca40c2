"""Deadlines, workloads and job densities of any trace, as in Chronus's sections 4.1 and 5.4."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.base.errors import InputError
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.deadlines import WORKLOADS, DeadlineMix, draw_rewards, runtimes, with_deadlines
from workbench.scenario.traces.density import at_density
from workbench.scenario.traces.synthetic import generate


@pytest.fixture(scope="module")
def made() -> Scenario:
    return generate("v100=20x4,k80=20x4", jobs=2000, seed=3, arrivals="poisson", multi_gpu=True)


def kinds(scenario: Scenario) -> list[float]:
    """Shares of strict, soft and best-effort jobs."""
    steps = [len(job.rewards or ()) for job in scenario.jobs]
    return [steps.count(number) / len(steps) for number in (1, 4, 0)]


@pytest.mark.parametrize(("name", "shares"), [("slo", (1, 0, 0)), ("mix1", (0.7, 0, 0.3)), ("mix2", (0.3, 0.6, 0.1))])
def test_workloads_have_the_shares_of_table_1(made: Scenario, name: str, shares: tuple[float, ...]) -> None:
    found = with_deadlines(made, name, seed=1)
    assert kinds(found) == pytest.approx(shares, abs=0.04)  # four standard deviations of 2,000 draws are 0.044
    assert kinds(found)[shares.index(0)] == 0 if 0 in shares else True
    assert found.replace(jobs=made.jobs) == made, "nothing but rewards changes"


def test_deadlines_lie_between_1_2_and_2_runtimes(made: Scenario) -> None:
    found = with_deadlines(made, "mix2", seed=1)
    runtime_s = runtimes(made)
    pairs = [(job.rewards, runtime) for job, runtime in zip(found.jobs, runtime_s, strict=True) if job.rewards]
    factors = np.array([rewards[0][0] / runtime for rewards, runtime in pairs])
    assert 1.2 <= factors.min() < 1.21 and 1.99 < factors.max() <= 2.0
    assert factors.mean() == pytest.approx(1.6, abs=0.03)
    for rewards, _ in pairs:
        assert [reward for _, reward in rewards] == ([100.0] if len(rewards) == 1 else [100.0, 80.0, 50.0, 20.0])
        assert [d / rewards[0][0] for d, _ in rewards] == pytest.approx([1.0, 1.1, 1.2, 1.5][: len(rewards)])


def test_a_runtime_is_that_of_the_fastest_type() -> None:
    made = preset("start_here")
    for job, runtime_s in zip(made.jobs, runtimes(made), strict=True):
        speeds = [made.table.matrix([job.model], [job.gpus], types=[name])[0, 0] for name in made.cluster.types]
        assert runtime_s == pytest.approx(job.steps / max(speeds))


def test_a_seed_repeats_and_a_job_keeps_its_deadline_in_every_workload(made: Scenario) -> None:
    slo, mix1, again = (with_deadlines(made, name, seed=5) for name in ("slo", "mix1", "mix1"))
    assert mix1 == again != with_deadlines(made, "mix1", seed=6)
    pairs = [(one.rewards, other.rewards) for one, other in zip(slo.jobs, mix1.jobs, strict=True) if other.rewards]
    assert pairs and all(one == other for one, other in pairs)


def test_shares_of_ones_own_and_no_jobs() -> None:
    assert draw_rewards(np.zeros(0), WORKLOADS["mix2"], 0) == []
    assert draw_rewards(np.array([60.0, 5.0]), DeadlineMix(0, 0, 1), 0) == [None, None]
    assert all(len(steps or ()) == 4 for steps in draw_rewards(np.full(50, 9.0), DeadlineMix(0, 1, 0), 0))


@pytest.mark.parametrize(
    "workload", ["mix3", DeadlineMix(0.5, 0.5, 0.5), DeadlineMix(1.5, -0.5, 0.0), DeadlineMix(float("nan"), 0, 1)]
)
def test_a_workload_that_is_none(workload: str | DeadlineMix) -> None:
    with pytest.raises(InputError) as caught:
        with_deadlines(preset("start_here"), workload)
    assert caught.value.where == "workload"


def test_a_job_that_runs_nowhere_has_no_deadline() -> None:
    made = preset("start_here")
    jobs = [made.jobs[0], made.jobs[1].model_copy(update={"gpus": 999})]
    with pytest.raises(InputError, match=r"jobs\[1\].*runtime"):
        with_deadlines(made.replace(jobs=jobs), "slo")


@pytest.mark.parametrize(("percent", "count"), [(80, 1600), (100, 2000), (120, 2400), (140, 2800), (160, 3200)])
def test_densities(made: Scenario, percent: float, count: int) -> None:
    found = at_density(made, percent, seed=4)
    assert len(found.jobs) == len({job.name for job in found.jobs}) == count
    by_name = {job.name: job for job in made.jobs}
    for job in found.jobs:
        original = by_name[job.name.removesuffix(".2")]
        assert job.model_copy(update={"name": original.name}) == original
    kept = [job.name for job in found.jobs if not job.name.endswith(".2")]
    assert kept == [job.name for job in made.jobs if job.name in set(kept)], "the order stays"
    assert len(kept) == min(count, 2000)
    assert found == at_density(made, percent, seed=4)
    assert percent == 100 or found != at_density(made, percent, seed=5)


def test_copies_are_new_jobs_with_names_of_their_own() -> None:
    made = preset("start_here")
    jobs = [
        made.jobs[0].model_copy(update={"name": name, "steps_done": 1.0, "attained_s": 9.0}) for name in ("a", "a.2")
    ]
    found = at_density(made.replace(jobs=jobs, running=()), 200)
    assert [job.name for job in found.jobs] == ["a", "a.2", "a.3", "a.2.2"]
    assert [job.steps_done for job in found.jobs] == [1.0, 1.0, 0.0, 0.0]
    assert [job.attained_s for job in found.jobs] == [9.0, 9.0, 0.0, 0.0]


def test_who_is_removed_no_longer_holds_gpus() -> None:
    made = preset("start_here")
    node = made.cluster.machines[0].name
    jobs = [made.jobs[0].model_copy(update={"name": f"j{i}", "gpus": 1}) for i in range(2)]
    full = made.replace(jobs=jobs, running=[{"job": job.name, "gpus": {node: 1}} for job in jobs])
    found = at_density(full, 50)
    assert [held.job for held in found.running] == [job.name for job in found.jobs]
    assert len(found.jobs) == 1


@pytest.mark.parametrize("percent", [0, -80, 201, float("nan"), float("inf"), True, "80", 1])
def test_a_density_that_is_none(percent: float) -> None:
    with pytest.raises(InputError, match="density"):
        at_density(preset("start_here"), percent)


@pytest.mark.parametrize("seed", [-1, 2**63, True, 0.5])
def test_a_seed_that_is_none(seed: int) -> None:
    for change in (
        lambda: at_density(preset("start_here"), 80, seed),
        lambda: with_deadlines(preset("start_here"), "slo", seed),
    ):
        with pytest.raises(InputError, match="seed"):
            change()
