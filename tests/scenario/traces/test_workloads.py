"""Deadlines, workloads and job densities of any trace, as in Chronus's sections 4.1 and 5.4."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from workbench.base.errors import InputError
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import builtin, convert, parse_cluster
from workbench.scenario.traces.deadlines import WORKLOADS, DeadlineMix, draw_rewards, runtimes, with_deadlines
from workbench.scenario.traces.density import at_density
from workbench.scenario.traces.synthetic import generate
from workbench.scenario.traces.timed import GROUPS, draw_models, size_classes
from workbench.session.registry import find_scheduler


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
    node = made.cluster.each_node[0].name
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


# Models for jobs of traces that name none

HOUR = 3600.0
CLASS_OF = {"a": "S", "b": "S", "c": "M", "d": "L", "e": "XL", "f": "M"}


def test_size_classes_by_gpu_hours() -> None:
    hours = np.array([1e-6, 1.0, 1.001, 10.0, 10.001, 50.0, 55.0, 60.0, 100.0, 1e6])
    assert size_classes(hours * HOUR) == ["S", "S", "M", "M", "L", "L", "XL", "XL", "XL", "XL"]


def test_each_model_of_the_class_is_as_likely() -> None:
    drawn = Counter(draw_models(np.full(10_000, 0.5 * HOUR), CLASS_OF, seed=3))
    assert set(drawn) == {"a", "b"}
    assert abs(drawn["a"] - 5000) < 4 * 50, "four standard deviations of a fair coin"
    assert draw_models(np.array([60 * HOUR]), {"a": "S"}, seed=0) == ["a"], "a class without a model draws from all"


def test_a_draw_depends_on_seed_and_position_alone() -> None:
    hours = np.full(50, 5.0)
    one = draw_models(hours * HOUR, CLASS_OF, seed=1)
    assert one == draw_models(hours * HOUR, CLASS_OF, seed=1) != draw_models(hours * HOUR, CLASS_OF, seed=2)
    assert one[:20] == draw_models(hours[:20] * HOUR, CLASS_OF, seed=1)
    hours[7] = 0.5
    changed = draw_models(hours * HOUR, CLASS_OF, seed=1)
    assert [i for i in range(50) if one[i] != changed[i]] == [7]


def test_every_group_that_is_drawn_from_has_all_classes() -> None:
    for group in GROUPS:
        assert {row["size_class"] for row in builtin.models(group)} == {"S", "M", "L", "XL"}


def log(folder: Path, jobs: int = 200) -> Path:
    """Jobs of half an hour to 80 hours on 1 to 8 GPUs."""
    lines = [
        f"{i} {60 * i} 0 {1800 * (1 + i % 160)} {(1, 2, 4, 8)[i % 4]} " + "-1 " * 5 + "1 " * 8 for i in range(jobs)
    ]
    (folder / "log.swf").write_text("\n".join(lines))
    return folder / "log.swf"


@pytest.mark.parametrize(
    ("cluster", "group"),
    [
        ("v100=8x8", "chronus"),
        ("v100=8x8,p100=4x8,k80=4x8", "gavel"),
        ("v100=8x8,t4=4x8", "hadar"),
        ("rtx3090=8x8,gtx1080ti=4x8", "hops"),
    ],
)
def test_a_cluster_of_other_types_draws_from_models_that_know_them(tmp_path: Path, cluster: str, group: str) -> None:
    """A job lasts its run time on the fastest type; its model is one of its size class; its plan can be carried out."""
    scenario, _ = convert("swf", log(tmp_path), throughputs=None, cluster=parse_cluster(cluster), seed=5)
    class_of = {row["name"]: row["size_class"] for row in builtin.models(group)}
    on = scenario.cluster.types[0]
    speeds = scenario.table.matrix(
        [job.model for job in scenario.jobs], [job.gpus for job in scenario.jobs], types=[on]
    )
    run_s = np.array([job.steps for job in scenario.jobs]) / speeds[:, 0]
    wanted_s = np.array([1800.0 * (1 + int(job.name.removeprefix("job-")) % 160) for job in scenario.jobs])
    assert run_s == pytest.approx(wanted_s, rel=1e-2)
    gpu_time_s = wanted_s * [job.gpus for job in scenario.jobs]
    assert [class_of[job.model] for job in scenario.jobs] == size_classes(gpu_time_s)
    assert Scenario.from_json(scenario.to_json()) == scenario
    for entry in scenario.schedulers:
        find_scheduler(entry.scheduler).settle(entry.knobs)


def test_on_types_that_no_group_knows_together_jobs_run_as_recorded(tmp_path: Path) -> None:
    scenario, report = convert("swf", log(tmp_path), throughputs=None, cluster=parse_cluster("v100=1x8,gtx1080ti=1x8"))
    sizes = [job.gpus for job in scenario.jobs]
    assert (scenario.table.matrix([job.model for job in scenario.jobs], sizes) == 1.0).all()
    assert [job.steps for job in scenario.jobs] == [1800.0 * (1 + i % 160) for i in range(200)]
    assert any("200 jobs with no single type in the trace" in note for note in report.notes)
