"""Minimum makespan: by hand, independent optima, the bisection beside it, properties, both solvers, golden models."""

import dataclasses

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import workbench
from tests.papers.gavel.support import DATA, PAPER, TWO, by_assembly, dense, isolated, random_data, solve_all, stepped
from workbench.base.errors import InputError
from workbench.papers.gavel.formulations.makespan import Makespan, bracket, build_bisection, durations
from workbench.papers.gavel.instance import StepsInstance, seen
from workbench.scheduling import notation
from workbench.scheduling.solvers import Solver, SolverFailedError

POLICY = Makespan()
allocate = by_assembly(POLICY)
AWARE = pytest.mark.parametrize("aware", [True, False])


def reference(data, aware=True):
    """The optimum by scipy: the columns of `dense` in seconds, then M."""
    parts = dense(data, aware)
    columns = parts.throughput.shape[1]
    limits = np.column_stack([parts.limits, -parts.right])
    finished = np.column_stack([-parts.throughput, np.zeros(len(data.jobs))])
    bounds = [(0, None if high > 0 else 0) for _, high in parts.bounds] + [(0, None)]
    found = linprog(
        np.append(np.zeros(columns), 1.0),
        np.vstack([limits, finished]),
        np.concatenate([np.zeros(len(limits)), -data.steps]),
        bounds=bounds,
    )
    return found.fun


@pytest.mark.parametrize("method", ["single", "bisection"])
def test_the_papers_jobs_by_hand(method):
    """One V100 and one K80, speeds (4, 1), (3, 1), (2, 1), steps 400, 240, 200: M = 188 s.

    The V100 helps job 0 most (4 times), job 2 least. Job 2 fills its time: 176 s on the K80 and 12 s on the V100 are
    200 steps in 188 s. The K80's other 12 s go to job 1, which does 228 more in 76 s on the V100; job 0 needs 100 s
    there: 12 + 76 + 100 = 188.
    """
    data = stepped(PAPER)
    if method == "single":
        found = solve_all(POLICY, data, {}, allocate, 188.0)
        x = found.values["allocation"]
        assert [x["job 2"]["k80"] * 188, x["job 2"]["v100"] * 188] == pytest.approx([176, 12])
    else:
        found = POLICY.run(data, {"method": "bisection", "tolerance": 1e-8})
        assert found.objective == pytest.approx(188, rel=1e-7)
    assert found.sense == "min" and found.unit == "s"
    assert max(found.values["duration_s"].values()) == pytest.approx(found.objective)


def test_one_job_takes_its_fastest_type():
    data = StepsInstance(("a",), ("x", "y"), [[3, 7]], [1], [2], [2, 2], steps=[700])
    solve_all(POLICY, data, {}, allocate, 100.0)


def test_a_gang_counts_all_its_gpus():
    """Erratum of A.1: two gangs of 2 on 2 GPUs take turns, 50 s each; the printed row would let both run at once."""
    data = StepsInstance(("a", "b"), ("x",), [[2], [2]], [1, 1], [2, 2], [2], steps=[100, 100])
    solve_all(POLICY, data, {}, allocate, 100.0)


def test_steps_counted_in_powers_of_2_are_the_same_problem_and_leave_speeds_as_jobs_go_on():
    now, later = (dataclasses.replace(stepped(PAPER), steps=[left, 240, 200]).in_units(64.0) for left in (400, 380))
    assert (now.speed == later.speed).all() and now.steps[0] > later.steps[0]
    assert (64.0 * now.steps / now.speed[:, 0] == stepped(PAPER).steps / PAPER.speed[:, 0]).all()
    assert ((now.steps > 0.7) & (now.steps < 1.5)).all()


@given(data=DATA, aware=st.booleans())
def test_optimum_equals_an_independent_one(data, aware):
    solve_all(POLICY, stepped(data), {"heterogeneity_aware": aware}, allocate, reference(data, aware))


@given(data=DATA, aware=st.booleans(), solver=st.sampled_from(["highs", "glpk"]))
@example(data=random_data(1146), aware=False, solver="highs")  # with HiGHS's own tolerance 6e-7 too short passed
def test_the_bisection_finds_the_same(data, aware, solver):
    """As Pyomo model and as matrix, to its tolerance; what it tries is listed and halves the interval."""
    data, tolerance = stepped(data), 1e-5
    knobs = {"heterogeneity_aware": aware, "method": "bisection", "tolerance": tolerance}
    single = POLICY.run(data, {"heterogeneity_aware": aware}).objective
    found = POLICY.run(data, knobs, Solver(solver))
    for objective_s, bound in ((found.objective, found.bound), _ends(allocate(data, knobs))):
        assert single * (1 - 1e-7) <= objective_s <= single * (1 + tolerance)
        assert single * (1 - tolerance) <= bound <= single * (1 + 1e-7)
    tried = found.iterations
    assert tried[0]["feasible"] and all(set(row) == {"makespan_s", "feasible"} for row in tried)
    for row in tried:
        assert row["feasible"] == (row["makespan_s"] >= single) or row["makespan_s"] == pytest.approx(single, rel=1e-6)


def _ends(allocation):
    keeps_the_limits_of(allocation)
    return allocation.solved.objective, allocation.solved.bound


def keeps_the_limits_of(allocation):
    assert (allocation.shares >= 0).all() and (allocation.shares <= 1 + 1e-9).all()


@AWARE
def test_the_bracket_holds_the_optimum(aware):
    for seed in range(40):
        data = random_data(seed)
        known = seen(stepped(data), {"heterogeneity_aware": aware})
        low, high = bracket(known)
        assert low * (1 - 1e-9) <= reference(data, aware) <= high
        assert high == pytest.approx((data.steps / isolated(data, aware)).max())


def test_the_bisection_stops_when_the_interval_is_narrow_enough():
    """Between 100 s (job 0 and job 2 on the V100 alone) and 240 s (job 0 on thirds of both): 170 s is too short."""
    found = POLICY.run(stepped(PAPER), {"method": "bisection", "tolerance": 1.0})
    assert [row["feasible"] for row in found.iterations] == [True, False]
    assert [row["makespan_s"] for row in found.iterations] == pytest.approx([240, 170])
    assert found.bound == pytest.approx(170)
    assert found.status == "feasible" and found.gap > 1e-3


def test_the_statement_of_the_bisection_and_its_model_say_the_same():
    data = stepped(PAPER)
    stated = {line.part: line.tag for line in notation.equations(build_bisection)}
    assert stated == notation.tags(POLICY.build(data, {"method": "bisection"}))
    assert "$$" in notation.render(build_bisection)


@AWARE
def test_jobs_of_very_different_lengths(aware):
    """From one step to a thousand million: the programmes stay exact."""
    rng = np.random.default_rng(5)
    steps = 10.0 ** rng.uniform(0, 9, 12)
    speed = rng.uniform(1, 10, (12, 2))
    data = StepsInstance(tuple(map(str, range(12))), ("x", "y"), speed, np.ones(12), np.ones(12), [3, 2], steps=steps)
    knobs = {"heterogeneity_aware": aware}
    single = POLICY.run(data, knobs)
    assert allocate(data, knobs).solved.objective == pytest.approx(single.objective, rel=1e-7)
    assert POLICY.run(data, {**knobs, "method": "bisection"}).objective == pytest.approx(single.objective, rel=2e-6)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("tiny", [1e-2, 1e-6, 1e-15])
def test_a_job_of_next_to_nothing_beside_an_endless_one(tiny, scale):
    """One GPU, 1 step/s each: all one after the other, 1e9 + 100 steps and the tiny rest."""
    steps = np.array([1e9, tiny, 100.0]) * scale
    data = StepsInstance(("a", "b", "c"), ("x",), np.ones((3, 1)), np.ones(3), np.ones(3), [1], steps=steps)
    expected = pytest.approx(steps.sum(), rel=1e-6)
    for solver in ("highs", "glpk"):
        found = POLICY.run(data, {}, Solver(solver))
        assert (found.objective, found.bound, found.status) == (expected, expected, "optimal")
    assert POLICY.run(data, {"method": "bisection"}).objective == pytest.approx(steps.sum(), rel=3e-6)
    for optimum in ("vertex", "interior"):
        assert allocate(data, {"optimum": optimum}).solved.objective == expected
        found = allocate(data, {"optimum": optimum, "method": "bisection"})
        assert found.solved.objective == pytest.approx(steps.sum(), rel=3e-6)


def test_a_solver_that_loses_a_tiny_share_is_told_of():
    """GLPK takes shares below about 1e-9 for 0; a job without a share is never done."""
    data = StepsInstance(("a", "b"), ("x",), [[1], [1]], [1, 1], [1, 1], [1], steps=[1e9, 1e-6])
    with pytest.raises(SolverFailedError, match=r"gavel\.makespan, glpk.*no time for b.*a share for every job"):
        POLICY.run(data, {"method": "bisection"}, Solver("glpk"))


def test_no_time_at_all_has_no_shares():
    """As without the rows of the steps: 0 in place of 0 / 0."""
    nothing = {"share": np.zeros(PAPER.speed.size), "makespan": np.zeros(1)}
    assert POLICY.shares(nothing, PAPER).tolist() == np.zeros(PAPER.speed.shape).tolist()


def test_a_job_that_never_runs_is_never_done():
    data = stepped(PAPER)
    shares = np.array([[1.0, 0], [0, 1], [0, 0]])
    assert durations(data, shares).tolist() == [100, 240, np.inf]
    assert POLICY.objective(data, shares, {}) == np.inf


@pytest.mark.parametrize("method", ["single", "bisection"])
@pytest.mark.parametrize(("presolve", "option"), [(None, "--nopresol"), (False, "--nopresol"), (True, "--presol")])
def test_presolve_is_off_unless_it_is_chosen(method, presolve, option):
    """glpsol repeats its options in its log; what it cannot decide with presolve is asked again without."""
    log: list[str] = []
    POLICY.run(stepped(PAPER), {"method": method}, Solver("glpk", presolve=presolve, on_log=log.append))
    given = [word for line in log for word in line.split() if word in ("--presol", "--nopresol")]
    assert given[0] == option and (presolve or set(given) == {option})


def test_bad_knobs_are_named():
    with pytest.raises(InputError, match="knob method: got 'guess'"):
        POLICY.settle({"method": "guess"})
    with pytest.raises(InputError, match="knob tolerance: got 0"):
        POLICY.settle({"tolerance": 0})
    with pytest.raises(InputError, match="reference: got 'a100'; expected one of v100, k80"):
        POLICY.run(stepped(TWO), {"heterogeneity_aware": False, "reference": "a100"})


def test_an_agnostic_policy_tells_what_is_true_and_what_it_believes():
    """Steps over true speeds with its shares, and over the one speed for all types, whose largest it minimised."""
    scenario = workbench.preset("gavel_example")
    found = workbench.solve(scenario, "gavel.makespan", heterogeneity_aware=False)
    shares, steps = found.values["allocation"], {job.name: job.steps for job in scenario.jobs}
    speed = {"job 0": (4, 1), "job 1": (3, 1), "job 2": (2, 1)}
    for job, (v100, k80) in speed.items():
        on_v100, on_k80 = shares[job]["v100"], shares[job]["k80"]
        true_s, believed_s = found.values["duration_s"][job], found.values["believed_duration_s"][job]
        assert true_s == pytest.approx(steps[job] / (v100 * on_v100 + k80 * on_k80))
        assert believed_s == pytest.approx(steps[job] / ((v100 + k80) / 2 * (on_v100 + on_k80)))
    assert found.objective == pytest.approx(max(found.values["believed_duration_s"].values()))
    assert "believed_duration_s" not in workbench.solve(scenario, "gavel.makespan").values


@pytest.mark.parametrize("aware", [True, False])
def test_a_reference_must_be_a_type(aware):
    with pytest.raises(InputError, match="reference: got 'h100'; expected one of v100, k80"):
        workbench.solve("preset:gavel_example", "gavel.makespan", heterogeneity_aware=aware, reference="h100")
    # The authors' own is passed over where it plays no part, as their order of types is.
    made = workbench.preset("gavel_example").to_json().replace("v100", "a100")
    scenario = workbench.Scenario.from_json(made)
    assert workbench.solve(scenario, "gavel.makespan", reference="v100").status == "optimal"
