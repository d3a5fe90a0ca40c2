"""Rows of an infeasible programme that cannot hold together: minimal by brute force, named, and in the errors."""

import itertools
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest

import workbench
from workbench.scheduling.solvers import (
    Columns,
    ConflictError,
    InfeasibleError,
    Programme,
    Solver,
    SolverFailedError,
    TimeLimitError,
    conflict_of,
    conflict_rows,
    solve_matrix,
)


def programme(seed: int, mixed: bool) -> Programme:
    """Six rows over four columns from -3 to 3, with small whole coefficients; few of them have a point."""
    rng = np.random.default_rng(seed)
    rows, columns = 6, 4
    dense = rng.integers(-2, 3, (rows, columns)).astype(float)
    dense[rng.random((rows, columns)) < 0.4] = 0.0
    at_least = rng.random(rows) < 0.5
    limit = rng.integers(-3, 6, rows).astype(float) + (0.5 if mixed else 0.0)
    i, j = np.nonzero(dense)
    return Programme(
        cost=rng.integers(-2, 3, columns).astype(float),
        matrix=Columns.of(i, j, dense[i, j], (rows, columns)),
        row_lower=np.where(at_least, limit, -np.inf),
        row_upper=np.where(at_least, np.inf, -limit / 2),
        lower=np.full(columns, -3.0),
        upper=np.full(columns, 3.0),
        integer=np.full(columns, mixed),
        name=f"random {seed}",
    )


def has_a_point(whole: Programme, rows) -> bool:
    kept = np.isin(np.arange(len(whole.row_lower)), list(rows))
    part = replace(
        whole,
        cost=np.zeros(len(whole.cost)),
        row_lower=np.where(kept, whole.row_lower, -np.inf),
        row_upper=np.where(kept, whole.row_upper, np.inf),
    )
    try:
        solve_matrix(part)
    except InfeasibleError:
        return False
    return True


@pytest.mark.parametrize("mixed", [False, True], ids=["linear", "whole"])
def test_the_rows_are_in_conflict_and_none_can_be_left_out_by_brute_force(mixed: bool) -> None:
    sizes = []
    for seed in range(60):
        whole = programme(seed, mixed)
        found = conflict_rows(whole)
        every = range(len(whole.row_lower))
        if found is None:
            assert has_a_point(whole, every), seed
            continue
        rows, minimal = found
        assert minimal and rows == sorted(set(rows)) and not has_a_point(whole, rows), seed
        for size in range(len(rows)):
            for fewer in itertools.combinations(rows, size):
                assert has_a_point(whole, fewer), f"{seed}: {fewer} of {rows} are in conflict already"
        sizes.append(len(rows))
    assert len(sizes) >= 15 and set(sizes) >= {1, 2, 3}, sizes


def clash(count: int = 20) -> pyo.ConcreteModel:
    """Jobs x GPUs: capacity 3 for all, job 2 wants 2 of them and job 5 as well; the other rows can always hold."""
    m = pyo.ConcreteModel("clash")
    m.JOBS = pyo.Set(initialize=range(count))
    m.x = pyo.Var(m.JOBS, bounds=(0, 4))
    m.capacity = pyo.Constraint(expr=sum(m.x[j] for j in m.JOBS) <= 3, doc="(3) GPUs given out")
    m.wants = pyo.Constraint(m.JOBS, rule=lambda m, j: m.x[j] >= (2 if j in (2, 5) else 0), doc="(2) what a job wants")
    m.most = pyo.Constraint(m.JOBS, rule=lambda m, j: m.x[j] <= 3)
    m.total = pyo.Objective(expr=sum(m.x[j] for j in m.JOBS), sense=pyo.maximize)
    return m


@pytest.mark.parametrize("name", ["highs", "glpk"])
def test_rows_are_named_by_part_index_and_tag(name) -> None:
    found = conflict_of(clash(), Solver(name=name))
    assert found is not None and found.minimal
    rows = {(row.name, row.text) for row in found.rows}
    assert rows == {
        ("capacity", "(3) GPUs given out"),
        ("wants[2]", "(2) what a job wants"),
        ("wants[5]", "(2) what a job wants"),
    }


def test_the_public_solve_says_which_rows_of_a_model_cannot_hold_together() -> None:
    with pytest.raises(ConflictError, match=r"clash: got these rows cannot hold together: capacity: \(3\)") as caught:
        workbench.solve_model(clash())
    told = caught.value.as_json()
    assert told["status"] == "infeasible" and len(told["conflict"]["rows"]) == 3 and told["conflict"]["minimal"] is True


def test_a_row_that_nothing_meets_is_named_alone() -> None:
    m = pyo.ConcreteModel("alone")
    m.x = pyo.Var(bounds=(0, 1))
    m.most = pyo.Constraint(expr=m.x >= 2, doc="(ours) too much")
    m.aim = pyo.Objective(expr=m.x)
    with pytest.raises(ConflictError, match=r"no values of the variables meet this row: most: \(ours\) too much"):
        workbench.solve_model(m)


def test_a_message_names_eight_rows_at_most_and_the_json_all() -> None:
    m = pyo.ConcreteModel("chain")
    m.STEPS = pyo.RangeSet(0, 11)
    m.x = pyo.Var(m.STEPS)
    m.next = pyo.Constraint(m.STEPS, rule=lambda m, i: m.x[(i + 1) % 12] >= m.x[i] + 1, doc="(ours) always more")
    m.any = pyo.Objective(expr=m.x[0])
    with pytest.raises(ConflictError, match=r"next\[7\].*; and 4 more") as caught:
        workbench.solve_model(m)
    assert "next[8]" not in str(caught.value) and len(caught.value.as_json()["conflict"]["rows"]) == 12


def test_a_row_without_doc_is_shown_itself() -> None:
    m = pyo.ConcreteModel("plain")
    m.x = pyo.Var(bounds=(0, 1))
    m.high = pyo.Constraint(expr=m.x >= 2)
    with pytest.raises(ConflictError, match=r"high: 2 *<= *x"):
        workbench.solve_model(m)


def test_limits_of_variables_alone_are_no_rows() -> None:
    whole = replace(programme(0, True), lower=np.full(4, 0.4), upper=np.full(4, 0.6))
    assert conflict_rows(whole) == ([], True)
    m = pyo.ConcreteModel("narrow")
    m.free = pyo.Var(bounds=(0.4, 0.5))
    m.x = pyo.Var(bounds=(0.4, 0.6), domain=pyo.Integers)
    m.row = pyo.Constraint(expr=m.free + m.x <= 5)
    m.any = pyo.Objective(expr=m.x)
    with pytest.raises(ConflictError, match=r"no values .* meet this row: x: at least 0.4 and at most 0.6"):
        workbench.solve_model(m)


def test_out_of_time_the_rows_are_still_in_conflict_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.scheduling.solvers import conflict
    from workbench.scheduling.solvers.compile import compile_model

    whole = compile_model(clash()).programme
    asked = iter([True, False])  # the programme itself, and that it is not the limits of the columns; then no answer

    def excludes(self, rows):
        answer = next(asked, None)
        self.unsure = self.unsure or answer is None
        return bool(answer)

    monkeypatch.setattr(conflict._RowsTogether, "excludes", excludes)
    rows, minimal = conflict_rows(whole)
    assert not minimal and not has_a_point(whole, rows)
    assert "fewer of them may be enough" in conflict.Conflict((conflict.Row("a", "b"),), minimal).sentence()
    monkeypatch.undo()
    with pytest.raises(TimeLimitError):
        conflict_rows(whole, limit_s=0.0)


def test_what_is_no_linear_model_or_holds_no_variable_stays_its_own_error() -> None:
    m = pyo.ConcreteModel("constant")
    m.x, m.p = pyo.Var(bounds=(0, 1)), pyo.Param(initialize=1, mutable=True)
    m.never = pyo.Constraint(expr=m.p * 1 >= 2)
    m.any = pyo.Objective(expr=m.x)
    with pytest.raises(InfeasibleError, match="constraint never holds no free variable") as caught:
        workbench.solve_model(m)
    assert not isinstance(caught.value, ConflictError)
    m.never.deactivate()
    m.square = pyo.Constraint(expr=m.x * m.x >= 2)
    with pytest.raises(SolverFailedError):
        workbench.solve_model(m)


def one_gpu(jobs) -> workbench.Scenario:
    """One GPU on which each of these jobs does a step a second."""
    return workbench.Scenario.from_dict(
        {
            "format": "workbench-scenario/1",
            "cluster": {"accelerators": [{"name": "v100"}], "nodes": [{"name": "a", "accelerator": "v100", "gpus": 1}]},
            "jobs": [{"model": "m", **job} for job in jobs],
            "throughputs": [{"model": "m", "accelerator": "v100", "gpus": 1, "steps_per_s": 1.0}],
        }
    )


def test_a_formulation_says_which_of_its_rows_cannot_hold_together() -> None:
    """Two jobs of one lease each before the same deadline, after the first lease, on one GPU."""
    jobs = [{"name": name, "steps": 1200.0, "rewards": [[1300.0, 100.0]]} for name in ("one", "two")]
    with pytest.raises(ConflictError) as caught:
        workbench.solve(one_gpu(jobs), "chronus.leases", all_guaranteed=True)
    names = [row.name for row in caught.value.conflict.rows]
    assert caught.value.conflict.minimal and any(name.startswith("capacity") for name in names)
    assert {name.split("[")[0] for name in names} <= {"capacity", "leases_by_deadline", "one_deadline"}
    assert all("one" in " ".join(names) and "two" in " ".join(names) for _ in names)


def test_what_a_formulation_says_already_is_kept_beside_the_rows() -> None:
    jobs = [{"name": name, "steps": 1000.0} for name in ("one", "two")]
    with pytest.raises(
        ConflictError, match="cannot all complete in 3 slots: these rows cannot hold together"
    ) as caught:
        workbench.solve(one_gpu(jobs), "hadar.offline", slot_s=500, slots=3, require_all=True)
    assert caught.value.as_json()["conflict"]["minimal"]
