"""The generator: its distributions, its options, and that the seed fixes everything."""

import numpy as np
import pytest

from workbench.base.errors import InputError, ScenarioError
from workbench.scenario.cluster import Accelerator, Cluster, NodeGroup
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.synthetic import draw_arrivals, draw_durations, draw_gangs, draw_short, generate

CLUSTER = "v100=9x4,p100=9x4,k80=9x4"
MANY = 50_000
# Five standard deviations of a share estimated from MANY draws, at its widest.
SHARE = 5 * 0.5 / MANY**0.5


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_durations_follow_gandivas_law() -> None:
    minutes = draw_durations(rng(), MANY) / 60
    assert minutes.min() >= 10**1.5
    assert minutes.max() <= 10**4
    assert np.mean(minutes < 10**3) == pytest.approx(0.8, abs=SHARE)
    # Uniform in the exponent on both sides: the medians lie in the middle of the ranges.
    assert np.median(np.log10(minutes[minutes < 10**3])) == pytest.approx(2.25, abs=0.02)
    assert np.median(np.log10(minutes[minutes >= 10**3])) == pytest.approx(3.5, abs=0.03)


def test_short_durations_are_whole_hours() -> None:
    hours, counts = np.unique(draw_short(rng(), MANY) / 3600, return_counts=True)
    assert hours.tolist() == [1, 2, 3, 4]
    assert counts / MANY == pytest.approx(0.25, abs=SHARE)


def test_gangs_are_of_the_published_sizes() -> None:
    sizes, counts = np.unique(draw_gangs(rng(), MANY), return_counts=True)
    assert sizes.tolist() == [1, 2, 4, 8]
    assert counts / MANY == pytest.approx([0.70, 0.10, 0.15, 0.05], abs=SHARE)


def test_arrivals_are_a_poisson_process() -> None:
    arrivals = draw_arrivals(rng(), MANY, 120.0)
    gaps = np.diff(arrivals)
    assert arrivals[0] == 0
    assert gaps.min() >= 0
    assert gaps.mean() == pytest.approx(120.0, rel=5 / MANY**0.5)
    assert gaps.std() == pytest.approx(120.0, rel=0.05)
    assert draw_arrivals(rng(), 0, 1.0).tolist() == []


def test_the_seed_fixes_everything() -> None:
    options = {"jobs": 40, "arrivals": "poisson", "multi_gpu": True, "priority_share": 0.2, "slo": True}
    one, two, other = (generate(CLUSTER, seed=seed, **options) for seed in (3, 3, 4))  # type: ignore[arg-type]
    assert one == two
    assert one.to_json() == two.to_json()
    assert one.jobs != other.jobs
    assert one.seed == 3


def test_an_option_leaves_the_other_draws_alone() -> None:
    plain, gangs = generate(CLUSTER, 60, seed=5), generate(CLUSTER, 60, seed=5, multi_gpu=True, slo=True)
    assert [job.model for job in plain.jobs] == [job.model for job in gangs.jobs]
    same = [(a, b) for a, b in zip(plain.jobs, gangs.jobs, strict=True) if b.gpus == 1]
    assert len(same) > 20
    assert all(a.steps == b.steps for a, b in same)
    # More jobs only add jobs.
    longer = generate(CLUSTER, 90, seed=5, arrivals="poisson")
    shorter = generate(CLUSTER, 60, seed=5, arrivals="poisson")
    assert longer.jobs[:60] == shorter.jobs


def test_steps_are_the_duration_times_the_reference_speed() -> None:
    scenario = generate(CLUSTER, 200, seed=1, durations="short", reference="p100")
    for job in scenario.jobs:
        hours = job.steps / scenario.table.row(job.model, "p100", job.gpus) / 3600
        assert hours == pytest.approx(round(hours), abs=1e-3)
        assert 1 <= round(hours) <= 4


def test_the_default_reference_is_the_fastest_type() -> None:
    scenario = generate("k80=1x1,v100=1x1", 50, seed=1, durations="short")
    hours = [job.steps / scenario.table.row(job.model, "v100", 1) / 3600 for job in scenario.jobs]
    assert hours == pytest.approx([round(h) for h in hours], abs=1e-3)


def test_static_and_continuous() -> None:
    assert {job.arrival_s for job in generate(CLUSTER, 20).jobs} == {0.0}
    arrivals = [job.arrival_s for job in generate(CLUSTER, 500, arrivals="poisson", mean_gap_s=60.0).jobs]
    assert arrivals == sorted(arrivals)
    assert arrivals[0] == 0
    assert arrivals[-1] / 499 == pytest.approx(60.0, rel=0.25)


def test_priorities_and_deadlines() -> None:
    scenario = generate(CLUSTER, 2000, seed=2, priority_share=0.2, slo=True, durations="short")
    weights, counts = np.unique([job.weight for job in scenario.jobs], return_counts=True)
    assert weights.tolist() == [1.0, 5.0]
    assert counts[1] / 2000 == pytest.approx(0.2, abs=0.05)
    factors = []
    for job in scenario.jobs:
        assert job.rewards is not None
        ((deadline_s, reward),) = job.rewards
        hours = round(job.steps / scenario.table.row(job.model, "v100", job.gpus) / 3600)
        factors.append(round(deadline_s / 3600 / hours, 6))
        assert reward == 1.0
    assert set(factors) == {1.2, 2.0, 10.0}


def test_gangs_shrink_to_what_fits() -> None:
    for cluster in ("v100=1x1", "v100=1x2,k80=1x4", CLUSTER):
        generate(cluster, 200, multi_gpu=True).require_runnable()
    assert {job.gpus for job in generate("v100=3x1", 300, multi_gpu=True).jobs} == {1, 2}


def test_own_speeds_and_clusters_of_any_kind() -> None:
    rows = [{"model": "mine", "accelerator": "x", "gpus": n, "steps_per_s": 2.0 * n} for n in (1, 2)]
    plain = {"accelerators": [{"name": "x"}], "nodes": [{"name": "n", "accelerator": "x", "gpus": 4}]}
    made = Cluster(accelerators=(Accelerator(name="x"),), nodes=(NodeGroup(name="n", accelerator="x", gpus=4),))
    for cluster in ("x=1x4", plain, made):
        scenario = generate(cluster, 10, throughputs=rows, multi_gpu=True)
        assert {job.model for job in scenario.jobs} == {"mine"}
        assert scenario.colocated == ()
        scenario.require_runnable()


def test_only_what_the_jobs_use_is_kept() -> None:
    scenario = generate(CLUSTER, 3, seed=1)
    used = {job.model for job in scenario.jobs}
    assert {row.model for row in scenario.throughputs} == used
    assert {model.name for model in scenario.models} == used
    assert {pair.model for pair in scenario.colocated} <= used
    assert Scenario.from_json(scenario.to_json()) == scenario


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"jobs": 0}, "jobs"),
        ({"jobs": True}, "jobs"),
        ({"mean_gap_s": 0}, "mean_gap_s"),
        ({"mean_gap_s": float("nan")}, "mean_gap_s"),
        ({"arrivals": "bursts"}, "arrivals"),
        ({"durations": "forever"}, "durations"),
        ({"priority_share": 1.5}, "priority_share"),
        ({"group": "nobody"}, "group"),
        ({"reference": "tpu"}, "reference"),
        ({"throughputs": []}, "throughputs"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_options(options: dict[str, object], where: str) -> None:
    with pytest.raises(InputError) as caught:
        generate(CLUSTER, **options)  # type: ignore[arg-type]
    assert caught.value.where == where


def test_bad_clusters_and_rows() -> None:
    with pytest.raises(InputError, match=r"cluster: got .tpu.; expected a type on which models of gavel run"):
        generate("tpu=1x1")
    with pytest.raises(ScenarioError, match="generator: cluster"):
        generate({"accelerators": [], "nodes": []})
    with pytest.raises(ScenarioError, match="steps_per_s"):
        generate("x=1x1", throughputs=[{"model": "m", "accelerator": "x", "steps_per_s": -1}])
