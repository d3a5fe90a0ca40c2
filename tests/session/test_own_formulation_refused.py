"""`@workbench.formulation`: what cannot be, each told in one sentence."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest

import workbench
from tests.session.test_own_formulation import BASE, capped, declare, five_equal_jobs
from workbench.base.errors import InputError, WorkbenchError
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.scheduling.solvers import InfeasibleError, SolverFailedError, UnboundedError
from workbench.session.registry import is_own
from workbench.testing import ContractError, check


def no_objective(m: Any, data: Any) -> None:
    m.worst_job.deactivate()


def two_objectives(m: Any, data: Any) -> None:
    m.more = pyo.Objective(expr=m.level)


def not_linear(m: Any, data: Any) -> None:
    m.square = pyo.Constraint(expr=m.level * m.level <= 1)


def wrong_index(m: Any, data: Any) -> None:
    @m.Constraint(m.JOBS)
    def cap(m: Any, job: str) -> Any:
        return m.share[job, "a100"] <= 1


def missing_part(m: Any, data: Any) -> None:
    m.cap = pyo.Constraint(expr=m.shar["job 0", "v100"] <= 1)


def infeasible(m: Any, data: Any) -> None:
    m.most = pyo.Constraint(expr=m.level >= 5, doc="(ours) five times as fast")


def no_shares(m: Any, data: Any) -> None:
    m.del_component(m.share)


def no_variable(m: Any, data: Any) -> None:
    m.always = pyo.Constraint(expr=1 <= 2)


def too_much(m: Any, data: Any) -> None:
    m.capacity.deactivate()


def another_model(m: Any, data: Any) -> Any:
    return pyo.ConcreteModel()


def the_paper_s_name(m: Any, data: Any) -> None:
    m.capacity = pyo.Constraint(expr=m.level <= 1)


def sets_a_number(m: Any, data: Any) -> None:
    m.weight["job 0"] = 2.0


def number_of_a_stranger(m: Any, data: Any) -> None:
    workbench.set_number(m.weight, "job 9", 2.0)


def no_number(m: Any, data: Any) -> None:
    @m.Constraint(m.JOBS)
    def cap(m: Any, job: str) -> Any:
        return sum(m.share[job, kind] * float("nan") for kind in m.TYPES) <= 1


def no_limit(m: Any, data: Any) -> None:
    m.most = pyo.Constraint(expr=m.level <= float("nan"))


def no_value(m: Any, data: Any) -> None:
    m.cap = pyo.Param(mutable=True)
    m.most = pyo.Constraint(expr=m.level <= m.cap)


def too_large(m: Any, data: Any) -> None:
    m.most = pyo.Constraint(expr=1e300 * m.level <= 1)


def branches_on_a_variable(m: Any, data: Any) -> None:
    m.most = pyo.Constraint(expr=max(m.share[key] for key in m.share) <= 0.3)


def a_rule_without_index(m: Any, data: Any) -> None:
    m.most = pyo.Constraint(m.JOBS, rule=lambda m: m.level <= 1)


def a_rule_without_return(m: Any, data: Any) -> None:
    @m.Constraint()
    def most(m: Any) -> None:
        m.level <= 1  # noqa: B015


def a_text(m: Any, data: Any) -> None:
    @m.Constraint()
    def most(m: Any) -> Any:
        return m.level <= "1"


def a_rule_of_one_set_of_two(m: Any, data: Any) -> None:
    m.most = pyo.Constraint(m.JOBS, m.TYPES, rule=lambda m, job: m.level <= 1)


def reads_a_value(m: Any, data: Any) -> None:
    m.most = pyo.Constraint(m.JOBS, rule=lambda m, job: m.level <= 1 if m.level.value > 0.5 else pyo.Constraint.Skip)


def writes_into_its_data(m: Any, data: Any) -> None:
    data.capacity[0] = 2.0


def divides_by_zero(m: Any, data: Any) -> None:
    m.half = pyo.Constraint(expr=m.level <= 1 / 0)


def for_ever(m: Any, data: Any) -> None:
    m.worst_job.deactivate()
    m.most = pyo.Objective(expr=m.level)


WRONG = [
    (
        another_model,
        InputError,
        "mine: got a function that returns ConcreteModel; expected one that changes the model m",
    ),
    (no_objective, InputError, "formulation mine: got a model without an active objective; expected one"),
    (two_objectives, InputError, "formulation mine: got several active objectives: worst_job, more"),
    (no_shares, InputError, r"mine: got a model without share; expected a model that has it still"),
    (not_linear, SolverFailedError, "mine: got 'nonlinear terms in square'; expected a linear"),
    (wrong_index, InputError, r"Index .*a100.* is not valid.*; expected one of the .* indices of share, such as"),
    (missing_part, InputError, r"no attribute 'shar'; expected a part of the model: .*did you mean share"),
    (
        infeasible,
        InfeasibleError,
        r"gavel.max_min_fairness alone has a solution; with your change these rows .*most: \(ours\) five times as fast",
    ),
    (
        no_variable,
        InputError,
        r"trivial Boolean \(True\) instead of .*Constraint 'always'; expected a relation with a variable in it",
    ),
    (too_much, SolverFailedError, "mine: got 'it would take .* times the GPUs there are of .*expected at most all"),
    (the_paper_s_name, InputError, r"mine: got capacity in .* paper's; expected another name .*capacity\.deactivate"),
    (sets_a_number, InputError, r"mine: got Attempting to set .*immutable.*; expected workbench\.set_number\(m"),
    (number_of_a_stranger, InputError, r"formulation mine, weight: got 'job 9'; .*`if job in m\.JOBS`"),
    (no_number, SolverFailedError, r"mine: got 'the number nan in cap\[.*\]'; expected a finite number for every"),
    (no_limit, SolverFailedError, r"mine: got .*'most' created with .*\(nan\).*; expected a finite number for every"),
    (no_value, SolverFailedError, r"mine: got .*Param value \(cap\).*; expected a finite number for every parameter"),
    (too_large, SolverFailedError, r"mine: got 'a coefficient of 1e\+300 in most'; expected coefficients below"),
    (branches_on_a_variable, InputError, "mine: got Cannot convert .* to bool; expected no `if`, `max`, `min`"),
    (a_rule_without_index, InputError, "mine: got Constraint 'most': Cannot .* def row\\(m, job\\)"),
    (a_rule_without_return, InputError, r"mine: got Constraint 'most': rule returned None; expected a relation after"),
    (a_text, InputError, r"mine: got TypeError: '<=' not .* \(line \d+ of most\); expected numbers where"),
    (
        a_rule_of_one_set_of_two,
        InputError,
        r"expected a rule of the model and an index for each set: def row\(m, job\)",
    ),
    (reads_a_value, InputError, r"'NoneType' and 'float' .*; expected variables themselves in a row: before the solve"),
    (writes_into_its_data, InputError, r"read-only \(line \d+ of writes_into_its_data\); expected a copy of it"),
    (divides_by_zero, InputError, r"mine: got ZeroDivisionError: .* \(line \d+ of divides_by_zero\); expected a fun"),
    (for_ever, UnboundedError, "mine: got 'the objective has no finite optimum; it is minimised'"),
]


@pytest.mark.parametrize(("change", "kind", "says"), WRONG, ids=[change.__name__ for change, _, _ in WRONG])
def test_what_cannot_be_is_told_in_one_sentence(
    change: Any, kind: type[WorkbenchError], says: str, caplog: pytest.LogCaptureFixture
) -> None:
    declare(change)
    for act in (workbench.solve, workbench.simulate):
        with pytest.raises(kind, match=says) as told:
            act(five_equal_jobs(), "mine")  # type: ignore[operator]
        assert "\n" not in str(told.value)
    assert not caplog.records


def test_parts_that_would_be_lost_are_told_when_they_are_declared() -> None:
    """Pyomo says nothing of no brackets and of a bare relation, and keeps the last of two parts of one name."""

    def no_brackets(m: Any, data: Any) -> None:
        @m.Constraint
        def most(m: Any) -> Any:
            return m.level <= 1

    def twice(m: Any, data: Any) -> None:
        m.most = pyo.Constraint(expr=m.level <= 1)

        @m.Constraint()
        def most(m: Any) -> Any:
            return m.level <= 2

    def bare(m: Any, data: Any) -> None:
        for job in m.JOBS:
            m.share[job, "v100"] <= 0.3  # noqa: B015

    for change, says in (
        (bare, r"got m\.share\[job, 'v100'\] <= 0\.3, which is in no .*; expected m\.NAME = pyo\.Constraint\(expr=m"),
        (no_brackets, r"got @m\.Constraint over most; expected @m\.Constraint\(\) or"),
        (twice, r"got two parts called m\.most; expected another name"),
    ):
        with pytest.raises(InputError, match=says):
            declare(change)
    assert not is_own("mine")


def test_where_an_algorithm_decides() -> None:
    for base in ("water_filling", "hierarchical", "makespan", "finish_time_fairness"):
        with pytest.raises(InputError, match=f"base: got 'gavel.{base}'; expected one whose model is solved once"):
            declare(lambda m, data: None, base=f"gavel.{base}")
    assert not is_own("mine")
    declare(lambda m, data: None, base="gavel.bottleneck")
    assert workbench.solve(five_equal_jobs(), "mine").status == "optimal"
    declare(lambda m, data: m.risen.deactivate(), base="gavel.bottleneck")
    with pytest.raises(SolverFailedError, match=r"mine: got 'job . at .*; expected above its level, "):
        workbench.solve(five_equal_jobs(), "mine")
    with pytest.raises(InputError, match=r"scheduler mine: got a formulation of gavel\.bottleneck, by which") as told:
        workbench.simulate(five_equal_jobs(), "mine")
    assert BASE in str(told.value) and "gavel.water_filling" not in str(told.value)


@pytest.mark.parametrize(
    ("base", "why"),
    [("hadar.offline", "Algorithm 2 chooses"), ("allox", "Hungarian"), ("isolated", "closed form"), ("sia", "reduced")],
)
def test_a_base_by_which_no_run_goes(base: str, why: str) -> None:
    declare(lambda m, data: None, base=base)
    says = rf"scheduler mine: got a formulation of {base}, by which no run goes; expected workbench\.solve alone.*{why}"
    with pytest.raises(InputError, match=says):
        workbench.simulate(five_equal_jobs(), "mine")


@pytest.mark.parametrize(
    ("name", "base", "written", "says"),
    [
        (BASE, BASE, capped(), "formulation name: .* a name that nothing shipped has"),
        ("fifo", BASE, capped(), "a name that nothing shipped has"),
        *(
            (name, BASE, capped(), "formulation name: got .*; expected a text of 1 to 200 letters, digits")
            for name in ("a,b", "bad name!", "", "a\nb", "\x1b[31m", " a", "<b>", 3, None)
        ),
        ("mine", "gavel.max_min", capped(), "formulation mine, base: got 'gavel.max_min'; expected"),
        ("mine", "las", capped(), r"mine, base: got las, a scheduler; expected a formulation \(an algorithm decides"),
        ("mine", BASE, lambda m: None, r"expected mine\(m, data\), which changes the model m"),
        ("mine", BASE, 3, r"a function mine\(m, data\) with base=|expected mine\(m, data\)"),
        ("mine", BASE, MaxMinFairness, "without a base"),
        ("mine", None, capped(), "without a base"),
        ("mine", None, workbench.Formulation, "no build, no data"),
    ],
)
def test_declarations_that_cannot_be(name: str, base: Any, written: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        workbench.formulation(name, base=base)(written)


def test_a_class_that_lacks_a_name_or_a_method() -> None:
    """Also where it is made by hand, without a declaration."""
    nameless = type("Nameless", (workbench.Formulation,), {"build": None, "data": None, "read": None})
    with pytest.raises(InputError, match=r'Nameless: got a class without a name; expected name = "room.mine"'):
        nameless()
    nobody = type("Nobody", (workbench.Scheduler,), {"title": "Nobody", "timing": None, "decide": None})
    with pytest.raises(InputError, match=r'scheduler Nobody: got a class without a name; expected name = "room.mine"'):
        nobody()
    forgets = type("Forgets", (nobody,), {"__init__": lambda self: None})
    assert repr(forgets()) == "<Scheduler Nobody>"
    with pytest.raises(InputError, match=r"scheduler Forgets: got a class without a name"):
        workbench.simulate("preset:start_here", forgets())
    idle = type("Idle", (workbench.Scheduler,), {"name": "mine.idle"})
    with pytest.raises(InputError, match=r"Idle: got no decide, no timing; expected .* `help.workbench.Scheduler.`"):
        idle()


def test_check_tells_what_a_formulation_of_ones_own_breaks() -> None:
    declare(no_objective)
    with pytest.raises(ContractError, match="without an active objective"):
        check(workbench.find_formulation("mine"))


def test_two_configurations_of_a_job_cannot_be_kept() -> None:
    """(12): no run can do without it, so it is no cause of who has a GPU."""
    for form in ("printed", "aggregated"):
        made: Any = workbench.find_formulation("hops.round")
        declare(lambda m, data: m.one_configuration.deactivate(), base="hops.round")
        own: Any = workbench.find_formulation("mine")
        scenario = workbench.load("preset:hops_example")
        data = made.data(workbench.snapshot_at(scenario, 600.0), made.settle({}))
        with pytest.raises(
            SolverFailedError, match=r"give \w+ 2 configurations; expected at most one of each job \(12\)"
        ):
            own.run(data, {**own.settle({}), "form": form})
    run = workbench.simulate(scenario, "hops", until_s=1800.0)
    told = workbench.chain(run, "slow-0/1", 1579.21)
    assert told.causes == () and "No run can do without one_configuration[language]" in told.text()


def test_variables_that_have_no_value_are_named() -> None:
    declare(lambda m, data: m.share["job 0", "v100"].setub(-1))
    limits = r"with your change no values .* meet this row: share\[job 0,v100\]: at least 0 and at most"
    with pytest.raises(InfeasibleError, match=limits) as caught:
        workbench.solve(five_equal_jobs(), "mine")
    assert workbench.rows(caught.value)["part"].tolist() == ["share"] * 2
    declare(lambda m, data: m.share["game", "k80"].fix(7))
    with pytest.raises(InfeasibleError, match=r"job_time\[game\]: .* \(fixed: share\[game,k80\] at 7\)"):
        workbench.solve("preset:start_here", "mine")
