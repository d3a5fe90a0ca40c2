"""Several types of GPUs and ranges of GPUs: against trying every plan, the printed model where there is one option."""

from __future__ import annotations

import io
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyomo.repn.plugins.lp_writer import LPWriter
from pyomo.repn.tests.lp_diff import load_and_compare_lp_baseline

import workbench
from tests.papers.chronus.plan_support import LEASE_S, instances
from workbench.papers.chronus.algorithms.admission import admit, admit_all, feasible
from workbench.papers.chronus.algorithms.lease_plan import carried_on
from workbench.papers.chronus.algorithms.terms import AskedJob, AskedRun, Choice, NodePool
from workbench.papers.chronus.formulations import leases, leases_with_options, master
from workbench.papers.chronus.formulations.leases import LeaseSelection
from workbench.papers.chronus.instance import ChronusInstance
from workbench.scheduling.solvers import InfeasibleError, Solver
from workbench.session.api import snapshot_at

FORMULATION = LeaseSelection()


KNOBS = FORMULATION.settle({})


FAST, SLOW = NodePool("v100"), NodePool("k80")


@st.composite
def typed_instances(draw, jobs=3, leases=4):
    """Up to three jobs on two types, rounded up or not, with one to three options each."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    sizes = draw(st.sampled_from([(None, None), (8, 4), (6, 8)]))
    pools = {NodePool("v100", sizes[0]): int(rng.integers(1, 9)), NodePool("k80", sizes[1]): int(rng.integers(1, 9))}
    asked = []
    for _ in range(draw(st.integers(1, jobs))):
        late = int(rng.integers(0, LEASE_S + 1)) if rng.random() < 0.3 else 0
        deadlines = sorted(set(rng.integers(late + 1, leases * LEASE_S + 1, rng.integers(1, 3)).tolist()))
        rewards = sorted(rng.integers(2, 101, len(deadlines)).tolist(), reverse=True)
        places = sorted({(int(rng.integers(2)), int(rng.integers(1, 7))) for _ in range(rng.integers(1, 4))})
        runs = [AskedRun(pool, gpus, int(rng.integers(1, leases * LEASE_S * 2 // 3))) for pool, gpus in places]
        asked.append(AskedJob(1, 1, list(zip(deadlines, rewards, strict=True)), late, runs=runs))
    return ChronusInstance.pooled(pools, LEASE_S, asked)


def brute_force(data):
    """The optimum by trying every option and every set of leases of every job; None without a plan that is allowed."""
    best = None
    every = data.every

    def place(row, used, earned):
        nonlocal best
        if row == len(data.jobs):
            best = earned if best is None else max(best, earned)
            return
        if not data.guaranteed[row]:
            place(row + 1, used, earned + data.miss_reward)
        able = [
            k
            for k in range(1, int(max((d for d, _ in data.steps[row]), default=0)) // LEASE_S + 1)
            if (k - 1) * LEASE_S >= data.arrival_s[row]
        ]
        for option in np.flatnonzero(every.job == row).tolist():
            number = -(-int(every.runtime_s[option]) // LEASE_S)
            for own in itertools.combinations(able, number):
                after = dict(used)
                for k in own:
                    after[k] = after.get(k, np.zeros(len(data.sizes), dtype=int)) + every.held[option]
                    if (after[k] > data.capacity[0]).any():
                        break
                else:
                    reward = next(r for deadline, r in data.steps[row] if own[-1] * LEASE_S <= deadline)
                    place(row + 1, after, earned + reward)

    place(0, {}, 0.0)
    return best


def run(data, model="auto", **options):
    return FORMULATION.run(data, {**KNOBS, "form": model}, Solver(**options))


def sure(data):
    return replace(data, guaranteed=np.ones(len(data.jobs), dtype=bool))


@given(data=typed_instances())
def test_the_optimum_is_that_of_trying_everything(data):
    found = run(data)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(brute_force(data), abs=1e-6)


@given(data=typed_instances())
def test_with_all_guaranteed_the_optimum_and_the_question_whether_there_is_a_plan(data):
    data, answer = sure(data), feasible(data)
    expected = brute_force(data)
    assert answer.known and (answer.plan is not None) == (expected is not None)
    if expected is None:
        with pytest.raises(InfeasibleError):
            run(data)
    else:
        assert run(data).objective == pytest.approx(expected, abs=1e-6)


@given(data=typed_instances(jobs=4))
def test_the_master_bounds_the_optimum_and_its_plan_keeps_the_limits(data):
    if not data.possible.any():
        return
    best, found = brute_force(data), master.solve(data)
    assert found.linear >= found.bound - 1e-6 and found.bound >= best - 1e-6
    assert found.plan.objective <= best + 1e-6  # `LeasePlan` itself checks the limits of the options it has


@given(data=typed_instances())
def test_each_verdict_is_right_on_two_types_too(data):
    kept: list[int] = []
    for row, verdict in enumerate(admit_all(data, data.jobs)):
        rows = sorted([*kept, row])
        assert verdict.guaranteed == (brute_force(data.with_jobs(rows, guaranteed=True)) is not None)
        if verdict.guaranteed:
            kept.append(row)
            assert set(verdict.choices) == {data.jobs[own] for own in kept}


@given(data=instances())
def test_on_one_type_with_one_option_it_is_the_printed_model_row_by_row(data):
    """The same LP file but for names (Pyomo numbers rows and columns in their order), and the same optimum."""
    texts = [text_of(build(data)) for build in (leases.build, leases_with_options.build)]
    assert texts[0] == texts[1].replace("_leases_on_types", "_leases")
    assert run(data, "printed").objective == pytest.approx(run(data, "options").objective, abs=1e-6)


def text_of(model):
    """The LP file of a model with numbers for names."""
    written = io.StringIO()
    LPWriter().write(model, written, symbolic_solver_labels=False)
    return written.getvalue()


def test_lp_diff_says_the_same_of_two_jobs(tmp_path):
    asked = [AskedJob(8, 3600, [(4800, 100), (6000, 80)]), AskedJob(4, 1200, [(2400, 100)])]
    data = ChronusInstance.made(8, 1200, asked, names=["long", "short"])
    paths = [tmp_path / "printed.lp", tmp_path / "typed.lp"]
    for path, build in zip(paths, (leases.build, leases_with_options.build), strict=True):
        model = build(data)
        model.name = "leases"
        model.write(str(path))
    expected, got = load_and_compare_lp_baseline(str(paths[0]), str(paths[1]))
    assert got == expected


def test_a_homogeneous_cluster_has_no_options():
    data = ChronusInstance.pooled({FAST: 8}, 1200, [AskedJob(8, 1200, [(1200, 100)]), AskedJob(4, 600, [(1200, 100)])])
    assert data.options is None and data.pools == (FAST,)
    assert run(data).objective == 101 and "choice" not in run(data).values


def test_the_job_in_a_hurry_gets_the_fast_type():
    """Both would be faster on the 4 V100; only one has to be."""
    runs = [AskedRun(0, 4, 1200), AskedRun(1, 4, 2400)]
    asked = [AskedJob(4, 1, [(2400, 100)], runs=runs), AskedJob(4, 1, [(1200, 100)], runs=runs)]
    data = ChronusInstance.pooled({FAST: 4, SLOW: 4}, 1200, asked)
    found = run(data)
    assert found.objective == 200
    assert found.values["choice"]["j1"] == {"accelerator": "v100", "node_gpus": None, "gpus": 4}
    assert run(replace(data, capacity=data.capacity * [1, 0])).objective == 200  # one after the other
    assert run(replace(data, capacity=data.capacity * [0, 1])).objective == 101


def test_a_range_of_gpus_lets_a_job_shrink_beside_another():
    """As 8 GPUs it takes one lease, as 4 two; beside a job of 4 GPUs it meets its deadline as 4."""
    wide = AskedJob(8, 1, [(2400, 100)], runs=[AskedRun(0, 4, 2400), AskedRun(0, 8, 1200)])
    other = AskedJob(4, 1, [(2400, 100)], runs=[AskedRun(0, 4, 2400)])
    data = ChronusInstance.pooled({FAST: 8}, 1200, [wide, other])
    assert run(data).objective == 200
    assert run(data).values["choice"]["j0"]["gpus"] == 4
    assert run(data.with_jobs([0])).values["leases"]["j0"] in ([1], [1, 2])


def test_the_last_plan_and_what_jobs_run_as_go_on():
    runs = [AskedRun(0, 4, 1200), AskedRun(1, 4, 3600)]
    asked = [AskedJob(4, 1, [(6000, 100)], runs=runs), AskedJob(4, 1, [(1200, 100)], runs=runs)]
    data = sure(ChronusInstance.pooled({FAST: 4, SLOW: 4}, 1200, asked, previous={"j0": (1, 2, 3)}))
    kept = replace(data.as_in({"j0": Choice("k80", None, 4)}), previous={"j0": (1, 2, 3), "j1": (1,)})
    assert kept.needed.tolist() == [3, 1]
    assert feasible(kept).how == "room"
    assert carried_on({"j0": (1, 2, 3)}) == {"j0": (1, 2)}
    verdict = admit(replace(data, guaranteed=np.array([True, False])), "j1")
    assert verdict.guaranteed and verdict.choices["j1"] == Choice("v100", None, 4)


def test_a_gang_that_no_pool_holds_and_why():
    data = ChronusInstance.pooled(
        {FAST: 4, SLOW: 6}, 1200, [AskedJob(8, 1, [(1200, 100)], runs=[AskedRun(0, 8, 60), AskedRun(1, 8, 90)])]
    )
    found = run(data)
    assert found.objective == 1
    assert found.values["cannot_meet"] == {"j0": "its 8 GPUs are more than the 4 of v100"}


@pytest.mark.parametrize("name", ["gavel_example", "hadar_example", "hops_64", "hare_example"])
def test_any_scenario_of_the_other_papers_runs_with_deadlines(name):
    """Every job gets a deadline of four times its time on the fastest type; all leases are on nodes that exist."""
    base = workbench.preset(name)
    jobs = []
    for job in base.jobs:
        fastest = max(base.table.row(job.model, kind, job.gpus) for kind in base.cluster.types)
        steps = ((4.0 * job.steps / fastest + 2400.0, 100.0),) if fastest > 0 else ((1e5, 100.0),)
        jobs.append(job.model_copy(update={"rewards": steps, "arrival_s": 0.0}))
    scenario = base.replace(jobs=tuple(jobs[:12]))
    found = workbench.solve(scenario, "chronus.leases", gap=0.05)
    assert found.objective > len(scenario.jobs)
    assert found.bound is None or found.bound >= found.objective - 1e-6
    for choice in found.values.get("choice", {}).values():
        assert choice is None or choice["accelerator"] in base.cluster.types


def test_the_options_of_a_snapshot_are_its_types_and_with_the_knob_its_sizes():
    base = workbench.preset("gavel_example")
    job = base.jobs[0].model_copy(update={"rewards": ((1e6, 100.0),), "arrival_s": 0.0})
    data = ChronusInstance.from_snapshot(snapshot_at(base.replace(jobs=(job,)), 0.0), KNOBS)
    named = {data.pools[pool].accelerator for pool in data.every.pool.tolist()}
    able = {kind for kind in base.cluster.types if base.table.row(job.model, kind, job.gpus) > 0}
    assert named == able and len(able) > 1
    for pool, runtime_s in zip(data.every.pool.tolist(), data.every.runtime_s.tolist(), strict=True):
        speed = base.table.row(job.model, data.pools[pool].accelerator, job.gpus)
        assert runtime_s == int(np.ceil(job.steps / speed - 1e-6))


def test_a_range_counts_only_with_its_knob():
    base = workbench.preset("hops_64")
    job = next(job for job in base.jobs if len(job.sizes) > 1)
    job = job.model_copy(update={"rewards": ((1e7, 100.0),), "arrival_s": 0.0})
    snapshot = snapshot_at(base.replace(jobs=(job,)), 0.0)
    fixed, ranged = (
        ChronusInstance.from_snapshot(snapshot, KNOBS),
        ChronusInstance.from_snapshot(snapshot, {**KNOBS, "gpu_range": True}),
    )
    assert set(fixed.every.gpus.tolist()) == {job.gpus}
    assert set(ranged.every.gpus.tolist()) > {job.gpus} and set(ranged.every.gpus.tolist()) <= set(job.sizes)


def test_300_jobs_on_three_types_have_a_plan_and_its_gap():
    """Beyond the size at which the model is solved: the heuristic with its bound."""
    rng = np.random.default_rng(0)
    pools = {NodePool("v100", 8): 256, NodePool("p100", 4): 256, NodePool("k80", 4): 256}
    asked = []
    for _ in range(300):
        gpus, base_s = int(rng.choice([1, 2, 4, 8, 16])), int(rng.integers(3600, 36000))
        runs = [AskedRun(pool, gpus, int(base_s * slow)) for pool, slow in enumerate((1.0, 1.8, 4.0))]
        first_s = base_s * rng.uniform(1.2, 3.0)
        steps = [(int(first_s * late), worth) for late, worth in ((1.0, 100), (1.1, 80), (1.2, 50), (1.5, 20))]
        asked.append(AskedJob(gpus, 1, steps, runs=runs))
    data = ChronusInstance.pooled(pools, 1200, asked)
    found = master.solve(data)
    assert found.plan is not None and found.solved.gap < 0.02
    assert {data.pools[pool].accelerator for pool in found.plan.instance.pool.tolist()} == {"v100", "p100", "k80"}
