"""Space sharing: pairs by hand, pruning, merging of equal jobs, sifting, and whole simulations with shared slots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.baselines.mechanisms.support import look, make
from tests.papers.gavel.support import MERGED, by_assembly, fairest, keeps_the_limits, merged  # noqa: F401
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.priority import PolicyAnswer
from workbench.baselines.mechanisms.share_scheduler import ShareScheduler
from workbench.papers.gavel.algorithms import large_programmes
from workbench.papers.gavel.algorithms.equal_jobs import merge
from workbench.papers.gavel.formulations.allocation_assembly import Assembly
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.papers.gavel.instance import AllocationInstance, seen
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Shares, Unit
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import InfeasibleError, Solver
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run
from workbench.simulation.stop import Until

GAVEL = MaxMinFairness()
allocate = by_assembly(GAVEL)
SHARE = {"space_sharing": True}


def data_of(snapshot: Snapshot, **knobs: Any) -> AllocationInstance:
    return AllocationInstance.from_snapshot(snapshot, {**SHARE, **knobs})


def two_models(first: float, second: float, gpus: int = 1, **rest: Any) -> Scenario:
    """Models of 4 and 3 steps/s on one V100, together `first` and `second`; jobs j0 and j1."""
    speeds = {"a": 4.0, "b": 3.0}
    rows = [{"model": m, "accelerator": "v100", "gpus": gpus, "steps_per_s": s} for m, s in speeds.items()]
    pair = {"model": "a", "with_model": "b", "accelerator": "v100", "gpus": gpus}
    jobs = [{"name": f"j{i}", "model": m, "gpus": gpus, "steps": 1000} for i, m in enumerate(speeds)]
    colocated = [{**pair, "steps_per_s": first, "with_steps_per_s": second}]
    core = {"space_sharing": True, "restart": {"law": "fixed", "restart_s": 0}}
    made = {"jobs": jobs, "throughputs": rows, "colocated": colocated, "core": core, **rest}
    return Scenario.from_dict({**make({"n": ("v100", gpus)}, [{}]).to_dict(), **made})


def random_data(seed: int) -> AllocationInstance:
    """Few kinds of jobs, pairs by kind; some pairs missing, some odd ones out; sometimes two placed types of one."""
    rng = np.random.default_rng(seed)
    kinds, types, jobs = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 9))
    speed = rng.uniform(0.5, 20, (kinds, types)) * (rng.random((kinds, types)) < 0.8)
    speed[:, -1] = rng.uniform(0.5, 20, kinds)
    weight, gang = rng.choice([0.5, 1, 3], kinds), rng.choice([1, 2], kinds)
    part = rng.uniform(0.2, 1.0, (kinds, kinds, types)) * (rng.random((kinds, kinds, 1)) < 0.8)
    pick = rng.integers(0, kinds, jobs)
    one, two = np.triu_indices(jobs, 1)
    able = gang[pick[one]] == gang[pick[two]]
    if rng.random() < 0.3:
        able &= rng.random(len(one)) < 0.7
    one, two = one[able], two[able]
    ours, theirs = part[pick[one], pick[two]], part[pick[two], pick[one]]
    both = np.stack([ours * speed[pick[one]], theirs * speed[pick[two]]], axis=1)
    if len(both) and rng.random() < 0.3:
        both[rng.integers(len(both))] *= 0.9
    accelerator_of = np.sort(rng.integers(0, types, types))
    accelerator_of = np.unique(accelerator_of, return_inverse=True)[1] if rng.random() < 0.4 else np.arange(types)
    return AllocationInstance(
        tuple(f"j{i}" for i in range(jobs)),
        tuple(f"t{j}" for j in range(types)),
        speed[pick],
        weight[pick],
        gang[pick],
        rng.integers(1, 5, accelerator_of.max() + 1),
        pairs=np.column_stack([one, two]),
        pair_speed=both,
        accelerators=tuple(f"a{j}" for j in range(accelerator_of.max() + 1)),
        accelerator=accelerator_of,
    )


DATA = st.integers(0, 2**32 - 1).map(random_data)


def test_the_papers_pair_gains_nothing() -> None:
    """Section 3.1: T = (4, 3), together (2.0, 1.5): 2/4 + 1.5/3 = 1, as much as one after the other."""
    found = data_of(look(two_models(2.0, 1.5)))
    assert found.pairs.shape == (0, 2)
    kept = replace(found, pairs=[[0, 1]], pair_speed=[[[2.0], [1.5]]])
    for data in (found, kept):
        assert GAVEL.run(data, {}).objective == pytest.approx(0.5)


@pytest.mark.parametrize("solver", ["highs", "glpk"])
def test_a_pair_that_gains_by_hand(solver: Any) -> None:
    """T = (4, 3), together (3, 2). With x of the time together and 1 - x for job 1 alone, 3/4 x = 2/3 x + 1 - x:
    x = 12/13, and both have 9/13 of their speed alone instead of 1/2."""
    data = data_of(look(two_models(3.0, 2.0)))
    found = GAVEL.run(data, {}, Solver(solver))
    assert found.objective == pytest.approx(9 / 13)
    allocation = {unit: row["v100"] for unit, row in found.values["allocation"].items()}
    assert allocation == pytest.approx({"j0": 0.0, "j1": 1 / 13, "j0 + j1": 12 / 13}, abs=1e-7)
    assert allocate(data).shares[:, 0] == pytest.approx([0, 1 / 13, 12 / 13], abs=1e-7)


def test_the_gpus_of_a_pair_count_once() -> None:
    data = data_of(look(two_models(3.0, 2.0, gpus=2)))
    shares = np.array([[0.25], [0.0], [0.75]])
    assert data.used(shares).tolist() == [2.0]
    assert data.job_time(shares).tolist() == [1.0, 0.75]
    assert data.throughput(shares).tolist() == [0.25 * 4 + 0.75 * 3, 0.75 * 2]


@pytest.mark.usefixtures("merged")
def test_equal_models_are_one_class_and_one_kind_of_pair() -> None:
    pair = {"model": "m", "with_model": "m", "accelerator": "t", "steps_per_s": 0.7, "with_steps_per_s": 0.7}
    scenario = make({"n": ("t", 1)}, [{}, {}, {}], colocated=[pair], core={"space_sharing": True})
    data = data_of(look(scenario))
    assert data.pairs.tolist() == [[0, 1], [0, 2], [1, 2]] and (data.pair_speed == 0.7).all()
    found = merge(data, data)
    assert len(found.small.jobs) == 1 and found.small.pairs.tolist() == [[0, 0]]


def test_members_keep_their_own_speeds_whatever_the_order_of_jobs() -> None:
    scenario = two_models(3.0, 2.0)
    jobs = scenario.to_dict()["jobs"]
    turned = Scenario.from_dict({**scenario.to_dict(), "jobs": jobs[::-1]})
    assert data_of(look(scenario)).pair_speed.tolist() == [[[3.0], [2.0]]]
    assert data_of(look(turned)).pair_speed.tolist() == [[[2.0], [3.0]]]


def test_unequal_gangs_make_no_pair() -> None:
    pair = {"model": "m", "with_model": "m", "accelerator": "t", "steps_per_s": 0.9, "with_steps_per_s": 0.9}
    rows = [pair, {**pair, "gpus": 2, "steps_per_s": 1.8, "with_steps_per_s": 1.8}]
    scenario = make({"n": ("t", 4)}, [{}, {"gpus": 2}, {"gpus": 2}], colocated=rows, core={"space_sharing": True})
    assert data_of(look(scenario)).pairs.tolist() == [[1, 2]]


@pytest.mark.usefixtures("merged")
@MERGED
@given(data=DATA)
def test_merged_equals_unmerged_equals_an_independent_optimum(data: AllocationInstance) -> None:
    expected = fairest(data)
    for optimum in ("vertex", "interior"):
        fast = allocate(data, {"optimum": optimum})
        assert fast.solved.objective == pytest.approx(expected, rel=1e-5 if optimum == "interior" else 1e-6)
        keeps_the_limits(data, fast.shares)
    assert GAVEL.objective(data, allocate(data).shares, {}) == pytest.approx(expected, rel=1e-6)


@pytest.mark.usefixtures("merged")
@MERGED
@given(data=DATA)
def test_agnostic_merged_equals_unmerged(data: AllocationInstance) -> None:
    known = seen(data, {"heterogeneity_aware": False})
    fast = allocate(known)
    assert fast.solved.objective == pytest.approx(fairest(data, aware=False), rel=1e-6)
    assert fast.solved.objective == pytest.approx(GAVEL.run(data, {"heterogeneity_aware": False}).objective, rel=1e-6)
    keeps_the_limits(known, fast.shares)


@pytest.mark.usefixtures("merged")
@MERGED
@given(data=DATA)
def test_equal_jobs_get_equal_throughput(data: AllocationInstance) -> None:
    """However few pairs a group's time is dealt out to."""
    found = merge(data, data.relative())
    got = data.relative().throughput(allocate(data).shares)
    for number, first in enumerate(found.first):
        assert got[found.member == number] == pytest.approx(got[first], rel=1e-6, abs=1e-9)


@given(data=DATA)
def test_pairs_that_do_not_gain_change_nothing(data: AllocationInstance) -> None:
    """The pruning rule: a pair counts where its normalised speeds sum to more than 1."""
    alone = data.speed[data.pairs]
    part = np.divide(data.pair_speed, alone, out=np.zeros_like(alone), where=alone > 0)
    gains = part.sum(axis=1, keepdims=True) > 1
    kept = gains[:, 0].any(axis=1)
    pruned = replace(data, pairs=data.pairs[kept], pair_speed=np.where(gains, data.pair_speed, 0.0)[kept])
    assert fairest(pruned) == pytest.approx(fairest(data), rel=1e-6)


@given(data=DATA)
def test_sifting_finds_the_same_optimum(data: AllocationInstance) -> None:
    whole = allocate(data, solver=Solver(method="simplex"))
    sifted = allocate(data)
    assert sifted.solved.objective == pytest.approx(whole.solved.objective, rel=1e-6)
    keeps_the_limits(data, whole.shares)


def many(jobs: int, kinds: int, seed: int = 3) -> AllocationInstance:
    """Jobs of some kinds on three types, every two of which may share."""
    rng = np.random.default_rng(seed)
    speed, part = rng.uniform(1, 10, (kinds, 3)), rng.uniform(0.4, 0.9, (kinds, kinds, 3))
    pick = rng.permutation(np.arange(jobs) % kinds)
    one, two = np.triu_indices(jobs, 1)
    both = [part[pick[a], pick[b]] * speed[pick[a]] for a, b in ((one, two), (two, one))]
    names = tuple(f"j{i}" for i in range(jobs))
    capacity = [jobs // 8] * 3
    ones = np.ones(jobs)
    pairs, pair_speed = np.column_stack([one, two]), np.stack(both, axis=1)
    return AllocationInstance(
        names, ("x", "y", "z"), speed[pick], ones, ones, capacity, pairs=pairs, pair_speed=pair_speed
    )


def test_many_equal_jobs_are_few_classes_and_run_few_pairs() -> None:
    data = many(120, 5)
    for known in (data, seen(data, {"heterogeneity_aware": False})):
        small = merge(known, known.relative()).small
        assert (len(small.jobs), len(small.pairs)) == (5, 15)
        fast = allocate(known)
        keeps_the_limits(known, fast.shares)
        assert np.count_nonzero(fast.shares[120:].any(axis=1)) <= 15 * 2 * 24
        assert np.array_equal(fast.shares, allocate(known).shares)


def test_different_jobs_are_sifted() -> None:
    jobs = large_programmes.SIFT_BY_SIMPLEX_UP_TO + 4
    data = many(jobs, jobs)
    assert merge(data, data).small is data
    whole = allocate(data, solver=Solver(method="ipm"))
    assert allocate(data).solved.objective == pytest.approx(whole.solved.objective, rel=1e-7)


def test_a_programme_that_needs_its_pairs_is_solved_with_them() -> None:
    """Both jobs are to have 2/3 of their speed alone: only together they can. At 3/4 nobody can."""
    data, late = data_of(look(two_models(3.0, 2.0))), np.array([False, False, True])
    for level, possible in ((2 / 3, True), (3 / 4, False)):
        rows = Assembly(data)
        rows.add("needs", rows.throughput(np.ones(2)), lower=level * np.array([4.0, 3.0]))
        programme = rows.programme((rows.columns["share"], 1.0), "test", maximise=False)
        if possible:
            point = large_programmes.solve(programme, 2, late, Solver())
            assert point.solved.objective <= 1 + 1e-9 and point.values[-1] > 0
        else:
            with pytest.raises(InfeasibleError):
                large_programmes.solve(programme, 2, late, Solver())


def test_jobs_that_lose_nothing_keep_their_gpus_to_themselves() -> None:
    """Two GPUs for two jobs: both have all of their time alone, though sharing one GPU would be as good for the worst.

    Together each has 1 of 1 step/s, so that a pair all of the time is optimal as well.
    """
    pair = {"model": "m", "with_model": "m", "accelerator": "t", "steps_per_s": 1.0, "with_steps_per_s": 1.0}
    scenario = make({"n": ("t", 2)}, [{}, {}], colocated=[pair], core={"space_sharing": True})
    data = data_of(look(scenario))
    assert len(data.pairs) == 1
    assert allocate(data).shares[:, 0].tolist() == pytest.approx([1.0, 1.0, 0.0])


def test_without_permission_or_speeds_the_knob_is_an_error() -> None:
    scheduler = find_scheduler("gavel.max_min_fairness")
    off = make({"n": ("t", 1)}, [{}, {}])
    with pytest.raises(InputError, match=r"core\.space_sharing"):
        run_loop(off, scheduler, SHARE)
    bare = make({"n": ("t", 1)}, [{}, {}], core={"space_sharing": True})
    with pytest.raises(InputError, match="colocated"):
        run_loop(bare, scheduler, SHARE)


FIG_6: dict[Unit, tuple[float, float, float]] = {
    "job 0": (0.0, 0.4, 0.0),
    "job 1": (0.0, 0.2, 0.2),
    "job 2": (0.4, 0.2, 0.4),
    ("job 0", "job 1"): (0.6, 0.0, 0.0),
}
"""Shares of time on V100, P100, K80 with space sharing (section 5 draws such a case; the numbers are ours)."""


class Fixed:
    """A policy that always answers with the shares above."""

    def __call__(self, snapshot: Snapshot, knobs: Mapping[str, Any], memory: Any) -> PolicyAnswer:
        return PolicyAnswer(Shares(tuple(FIG_6), snapshot.types, np.array(list(FIG_6.values()))))


def test_rounds_as_in_figure_6() -> None:
    """Ten rounds: every combination has its share to within a round, and in no round does a job run twice."""
    speeds = {"v100": (4.0, 3.0, 2.0), "p100": (2.0, 2.0, 1.5), "k80": (1.0, 1.0, 1.0)}
    rows = [
        {"model": f"m{i}", "accelerator": kind, "steps_per_s": speed}
        for kind, row in speeds.items()
        for i, speed in enumerate(row)
    ]
    pair = {"model": "m0", "with_model": "m1", "accelerator": "v100", "steps_per_s": 3.2, "with_steps_per_s": 2.4}
    jobs = [{"name": f"job {i}", "model": f"m{i}", "steps": 10**6} for i in range(3)]
    made = {"jobs": jobs, "throughputs": rows, "colocated": [pair], "core": {"space_sharing": True}}
    cluster = make({kind: (kind, 1) for kind in speeds}, [{}]).to_dict()
    scheduler = ShareScheduler("fig 6", "As in Fig. 6", Fixed())
    run = run_loop(Scenario.from_dict({**cluster, **made}), scheduler, {"leftovers": "none"}, stop=Until(3600.0))
    rounds: dict[tuple[Unit, str], float] = defaultdict(float)
    for row in run.timeline.itertuples():
        unit = (row.job, row.with_job) if row.with_job else row.job
        rounds[unit, row.accelerator] += (row.end_s - row.start_s) / 360.0
    for unit, shares in FIG_6.items():
        for kind, share in zip(speeds, shares, strict=True):
            assert rounds[unit, kind] == pytest.approx(10 * share, abs=1.0 if share else 0.0)
    for start_s in np.arange(0.0, 3600.0, 360.0) + 1.0:
        now = run.timeline[(run.timeline["start_s"] <= start_s) & (start_s < run.timeline["end_s"])]
        there = [name for name in [*now["job"], *now["with_job"]] if name]
        assert len(there) == len(set(there)) <= 3


def shared_by_time(run: Run) -> dict[tuple[str, str], float]:
    """Seconds that each pair ran together, by the names in the timeline."""
    rows = run.timeline[(run.timeline["with_job"] != "") & (run.timeline["kind"] == "run")]
    rows = rows.assign(seconds=rows["end_s"] - rows["start_s"])
    found: dict[tuple[str, str], float] = rows.groupby(["job", "with_job"])["seconds"].sum().to_dict()
    return found


def test_the_formulation_names_pairs() -> None:
    found = workbench.solve(two_models(3.0, 2.0), "gavel.max_min_fairness", space_sharing=True)
    assert found.objective == pytest.approx(9 / 13)
    assert found.values["allocation"]["j0 + j1"] == {"v100": pytest.approx(12 / 13)}


def test_two_jobs_share_a_slot_to_the_end() -> None:
    """Together 3.2 and 2.4 steps/s of 4 and 3: 0.8 of the speed alone; 3200 and 2400 steps take 1000 s, not 1600."""
    jobs = [{"name": "j0", "model": "a", "steps": 3200}, {"name": "j1", "model": "b", "steps": 2400}]
    scenario = two_models(3.2, 2.4, jobs=jobs)
    scheduler = find_scheduler("gavel.max_min_fairness")
    run = run_loop(scenario, scheduler, SHARE)
    assert run.jobs["finish_s"].tolist() == pytest.approx([1000.0, 1000.0])
    assert shared_by_time(run) == {("j0", "j1"): pytest.approx(1000.0)}
    assert run_loop(scenario, scheduler, {"round_s": 400.0}).jobs["finish_s"].max() == pytest.approx(800 + 800)
    assert run_loop(scenario, scheduler, SHARE) == run


def test_the_last_one_goes_on_alone() -> None:
    """j0 needs 500 s together; j1 has then 2400 - 1200 steps left, 400 s alone."""
    jobs = [{"name": "j0", "model": "a", "steps": 1600}, {"name": "j1", "model": "b", "steps": 2400}]
    run = run_loop(two_models(3.2, 2.4, jobs=jobs), find_scheduler("gavel.max_min_fairness"), SHARE)
    assert run.jobs["finish_s"].tolist() == pytest.approx([500.0, 900.0])


@given(seed=st.integers(0, 10**6))
def test_runs_with_pairs_keep_the_rules(seed: int) -> None:
    """At most two jobs on a slot at once and only listed pairs; all finish; agnostic too; equal when repeated."""
    rng = np.random.default_rng(seed)
    models = [f"m{i}" for i in range(int(rng.integers(1, 4)))]
    rows, pairs = [], []
    for gpus in (1, 2):
        for kind in ("x", "y"):
            for i, model in enumerate(models):
                rows.append(
                    {"model": model, "accelerator": kind, "gpus": gpus, "steps_per_s": float(rng.integers(1, 9))}
                )
                for other in models[i:]:
                    if rng.random() < 0.7:
                        both = rng.uniform(0.3, 5.0, 2).tolist()
                        speeds = {"steps_per_s": both[0], "with_steps_per_s": both[model != other]}
                        pairs.append({"model": model, "with_model": other, "accelerator": kind, "gpus": gpus, **speeds})
    if not pairs:
        return
    jobs = [
        {
            "name": f"j{i}",
            "model": models[int(rng.integers(len(models)))],
            "gpus": int(rng.integers(1, 3)),
            "steps": int(rng.integers(100, 5000)),
            "arrival_s": float(rng.choice([0, 100, 360, 1000])),
        }
        for i in range(int(rng.integers(2, 8)))
    ]
    made = {"jobs": jobs, "throughputs": rows, "colocated": pairs, "core": {"space_sharing": True}}
    scenario = Scenario.from_dict({**make({"a": ("x", 2), "b": ("y", 2)}, [{}]).to_dict(), **made})
    knobs = {**SHARE, "heterogeneity_aware": bool(rng.random() < 0.7)}
    scheduler = find_scheduler("gavel.max_min_fairness")
    run = run_loop(scenario, scheduler, knobs)
    assert run.jobs["finish_s"].notna().all()
    assert run == run_loop(scenario, scheduler, knobs)
    model_of = {job.name: job.model for job in scenario.jobs}
    listed = {frozenset((pair["model"], pair["with_model"])) for pair in pairs}
    slots = run.timeline.sort_values("start_s").groupby(["node", "slot"])
    for _, rows_of in slots:
        assert (rows_of["start_s"].to_numpy()[1:] >= rows_of["end_s"].to_numpy()[:-1] - 1e-9).all()
    for job, other in shared_by_time(run):
        assert frozenset((model_of[job], model_of[other])) in listed
