"""`@workbench.formulation`: a model of one's own by name, wherever a shipped one goes."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.core.base.block import BlockData

import workbench
from tests.analysis.contract_rules.random_models import FORMULATIONS, models
from workbench.analysis.contract_rules.formulations import difference, posed
from workbench.analysis.explanation.admission import admission, has_verdicts, jobs_asked_about
from workbench.analysis.metrics import summary
from workbench.base.code_digest import digest
from workbench.base.errors import InputError
from workbench.papers.chronus.scheduler import Chronus
from workbench.papers.gavel.algorithms import large_programmes
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.papers.hadar.formulations.round import HadarRound, RoundInstance
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hops.formulations.round import HopsRound
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Formulation
from workbench.scheduling.solvers import Method, Solver
from workbench.scheduling.solvers.compile import compile_model
from workbench.session import own_formulation
from workbench.simulation.run import Run
from workbench.testing import check

BASE = "gavel.max_min_fairness"
NOBODY_ELSE = {"leftovers": "none"}


def five_equal_jobs() -> Scenario:
    """Five equal jobs of one GPU each on two GPUs of one type: shares of .4 each, or .3 and .425."""
    job = {"model": "a", "gpus": 1, "steps": 7200}
    return Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "v100", "price_per_hour": 1.0}],
                "nodes": [{"name": "n", "accelerator": "v100", "gpus": 2}],
            },
            "jobs": [{**job, "name": f"job {number}"} for number in range(5)],
            "throughputs": [{"model": "a", "accelerator": "v100", "gpus": 1, "steps_per_s": 1.0}],
        }
    )


def declare(change: Callable[[Any, Any], object], name: str = "mine", base: Any = BASE) -> None:
    workbench.formulation(name, base=base)(change)


def capped(part: float = 0.3) -> Callable[[Any, Any], None]:
    def change(m: Any, data: Any) -> None:
        """A cap on one job."""

        @m.Constraint(m.JOBS, m.TYPES, doc="(ours) a cap on the first job's share")
        def cap(m: Any, job: str, kind: str) -> Any:
            return m.share[job, kind] <= part if job == "job 0" else pyo.Constraint.Skip

    return change


def test_a_cap_on_one_of_five_equal_jobs_solves_runs_and_compares_beside_processes() -> None:
    declare(capped())
    scenario = five_equal_jobs()
    result = workbench.solve(scenario, "mine")
    shares = {job: own["v100"] for job, own in result.values["allocation"].items()}
    assert shares["job 0"] == pytest.approx(0.3) and result.objective == pytest.approx(0.3)
    assert workbench.solve(scenario, BASE).objective == pytest.approx(0.4)
    run = workbench.simulate(scenario, "mine", NOBODY_ELSE)
    first = run.shares.query("decision == 0 and unit == 'job 0'")["share"].sum()
    assert first == pytest.approx(0.3) and run.decisions.loc[0, "made_by"] == "model"
    compared = workbench.compare(scenario, [("mine", NOBODY_ELSE), (BASE, NOBODY_ELSE), "fifo", "las"], workers=2)
    assert not compared.failed and compared.runs[0] == run
    table = workbench.sweep(scenario, ("mine", NOBODY_ELSE), vary={"round_s": [180.0, 360.0]})
    assert table["status"].tolist() == ["done", "done"]
    assert table["mean_jct_s"][1] == pytest.approx(summary(run)["mean_jct_s"])
    at_s = run.timeline.query("unit == 'job 0'")["start_s"][0:1].item()
    told = workbench.explain(run, "job 0", at_s).text()
    assert "Its shares: 0.3 of its time on v100." in told and f"workbench.rows(run, at={at_s:g})" in told
    assert workbench.rows(run, at=at_s).query("part == 'cap' and binding")["index"].tolist() == ["job 0,v100"]
    workbench.formulation("My Cap", base=BASE)(capped())  # a session's names may have capitals and spaces
    check(workbench.find_formulation("My Cap"), scenario)
    check(workbench.find_scheduler("My Cap"), scenario)


def test_what_holds_a_capped_job_down_is_explained() -> None:
    """By its own row, in words and in numbers; of a job that it is not about nothing is said."""
    declare(capped())
    run = workbench.simulate(five_equal_jobs(), "mine", NOBODY_ELSE)
    at_s = float(run.timeline.query("job == 'job 0'")["end_s"].iloc[0]) + 1.0
    found = workbench.explain(run, "job 0", at_s)
    row = '"a cap on the first job\'s share" (cap[job 0,v100]): share[job 0,v100] <= 0.3'
    assert found.state == "waiting" and found.binding.endswith(f"; it meets {row}")
    assert f"Of what mine adds to the paper's, it meets {row}." in found.sentences
    assert not any("cap[" in sentence for sentence in workbench.explain(run, "job 1", at_s).sentences)


def test_it_is_in_the_lists() -> None:
    declare(capped())
    assert workbench.find_scheduler("mine") in workbench.schedulers()
    assert workbench.find_formulation("mine") in workbench.formulations()
    assert workbench.find_formulation("mine").title == "A cap on one job"
    assert {"model", "partitions"}.isdisjoint(knob.name for knob in workbench.find_scheduler("mine").knobs)


@pytest.mark.parametrize(
    ("preset", "base"),
    [
        ("gavel_example", BASE),
        ("gavel_example", "gavel.max_throughput"),  # many equal optima
        ("compare_mixed", BASE),
    ],
)
def test_without_a_change_it_decides_as_its_base(preset: str, base: str) -> None:
    declare(lambda m, data: None, base=base)
    mine, shipped = (workbench.simulate(f"preset:{preset}", name) for name in ("mine", base))
    assert mine.timeline.equals(shipped.timeline)


def test_pairs_that_are_fixed_or_held_above_0_keep_what_they_are_given() -> None:
    """The base leaves pairs out at first, whose share is 0 then."""

    def held(m: Any, data: Any) -> None:
        *_, low, fixed = m.share
        m.share[low].setlb(0.1)
        m.share[fixed].fix(0.05)

    declare(held)
    found = workbench.solve("preset:gavel_sharing", "mine", space_sharing=True)
    assert list(found.values["allocation"].values())[-1] == pytest.approx({"v100": 0, "p100": 0.1, "k80": 0.05})
    whole = workbench.solve("preset:gavel_sharing", "mine", solver=Solver(method="ipm"), space_sharing=True)
    assert found.objective == pytest.approx(whole.objective, rel=1e-7)


def test_shares_that_are_fixed_have_no_part_in_where_a_large_programme_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above so many jobs the base begins from a part of them, by the columns of each."""
    first = int(large_programmes.part_of(40)[0])

    def fixed(m: Any, data: Any) -> None:
        m.share[f"job-{first}", "v100"].fix(0)
        m.more = pyo.Var(m.JOBS, bounds=(0, 1))
        m.cap = pyo.Constraint(m.JOBS, rule=lambda m, job: m.share[job, "p100"] <= 0.3 + m.more[job])

    declare(fixed)
    monkeypatch.setattr(large_programmes, "SIMPLEX_UP_TO", 10)
    methods: tuple[Method, ...] = ("auto", "ipm")
    found, whole = (workbench.solve("preset:gavel_sharing", "mine", solver=Solver(method=each)) for each in methods)
    assert found.objective == pytest.approx(whole.objective)


def test_run_again_the_cell_registers_anew_and_runs_keep_the_old() -> None:
    scenario = five_equal_jobs()
    runs = []
    for part in (0.3, 0.2, 0.3):
        declare(capped(part))
        runs.append(workbench.simulate(scenario, "mine", NOBODY_ELSE))
    assert runs[0].code == runs[2].code != runs[1].code
    assert runs[0].key() == runs[2].key() != runs[1].key()
    assert runs[0] == runs[2] != runs[1]
    assert workbench.simulate(scenario, BASE).code == ""


def test_the_digest_sees_what_a_function_reads() -> None:
    cell = "def change(m, data):\n    for row in range(1):\n        helper(m, most[row])\n"
    keys = []
    for most, helper, said in ((0.3, "m", ""), (0.3, "m", "  # said"), (0.2, "m", ""), (0.3, "m.level", "")):
        space: dict[str, Any] = {"most": [most]}
        exec(f"def helper(m, most):\n    return {helper}{said}\n{cell}", space)
        declare(space["change"])
        keys.append(workbench.find_formulation("mine").code())
    assert keys[0] == keys[1] and len(set(keys)) == 3


def test_a_variable_called_as_a_part_of_the_model_is_not_what_a_function_reads(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook says `share = run.shares` sooner or later."""
    names: dict[str, Any] = {}
    exec("def change(m, data):\n    m.share.doc = data.jobs[0]", names)
    before = digest(names["change"])
    names["share"] = 1
    assert digest(names["change"]) == before
    exec("def other(m, data):\n    m.share.doc = share", names)
    before, names["share"] = digest(names["other"]), 2
    assert digest(names["other"]) != before
    (tmp_path / "its_helpers.py").write_text("CAP = 1\ndef rule(): return 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "its_numbers.py").write_text("CAP = 1\n")
    inside = "def change():\n import its_helpers\n return its_helpers.CAP"
    exec(inside, names)
    digest(names["change"])
    assert "its_helpers" not in sys.modules, "nothing is imported for a key"
    exec("def change():\n import __main__, its_made\n return __main__.CAP, its_made.CAP", names)
    monkeypatch.setitem(sys.modules, "its_made", types.ModuleType("its_made"))
    digest(names["change"])  # has no file, and no specification
    for text in (
        "def change():\n from plain.its_numbers import CAP\n return CAP",
        "def change():\n from plain import its_numbers\n return its_numbers.CAP",
        "import plain.its_numbers\ndef change(): return plain.its_numbers.CAP",
    ):
        exec(f"import plain.its_numbers\n{text}", names)
        before = digest(names["change"])
        sys.modules["plain.its_numbers"].CAP += 1  # type: ignore[attr-defined]
        assert digest(names["change"]) != before, text
    for text in ("import its_helpers as h\ndef change(): return h.CAP", f"import its_helpers\n{inside}"):
        exec(text, names)
        before = digest(names["change"])
        helpers = sys.modules["its_helpers"]
        helpers.CAP += 1  # type: ignore[attr-defined]
        assert digest(names["change"]) != before
        before, helpers.rule = digest(names["change"]), None  # type: ignore[attr-defined]
        assert digest(names["change"]) == before, "it is not read"


def test_a_store_tells_versions_apart(tmp_path: Any) -> None:
    found = []
    for part in (0.3, 0.2, 0.3):
        declare(capped(part))
        found.append(workbench.sweep(five_equal_jobs(), ("mine", NOBODY_ELSE), store=tmp_path / "runs.db"))
    assert found[0].equals(found[2])
    with contextlib.closing(sqlite3.connect(tmp_path / "runs.db")) as kept:
        assert kept.execute("SELECT COUNT(*) FROM runs").fetchone() == (2,)


def test_an_edit_of_an_edit() -> None:
    declare(capped())

    def total(m: Any, data: Any) -> None:
        m.worst_job.deactivate()
        m.all_jobs = pyo.Objective(
            expr=sum(m.throughput[job] for job in m.JOBS), sense=pyo.maximize, doc="(ours) all of it | steps/s"
        )

    declare(total, "more", "mine")
    found = workbench.solve(five_equal_jobs(), "more")
    assert found.objective == pytest.approx(2.0) and found.unit == "steps/s"
    assert found.values["allocation"]["job 0"]["v100"] <= 0.3 + 1e-9
    before = workbench.find_formulation("more").code()
    declare(capped(0.1))
    declare(total, "more", "mine")
    assert workbench.find_formulation("more").code() != before
    assert workbench.simulate("preset:gavel_example", "las").code == ""


def test_a_subclass(monkeypatch: pytest.MonkeyPatch) -> None:
    @workbench.formulation("mine")
    class Mine(MaxMinFairness):
        """Half of the time at most."""

        def build(self, data: Any, knobs: Any) -> Any:
            m = super().build(data, knobs)
            m.half = pyo.Constraint(m.JOBS, rule=lambda m, job: m.share[job, "v100"] <= 0.35, doc="(ours) at most")
            return m

    scenario = five_equal_jobs()
    assert workbench.solve(scenario, "mine").objective == pytest.approx(0.35)
    run = workbench.simulate(scenario, "mine", NOBODY_ELSE)
    assert run.decisions.loc[0, "objective"] == pytest.approx(0.35), "not by the inherited assembly"
    assert workbench.find_scheduler("mine").title == "Half of the time at most" and isinstance(Mine(), MaxMinFairness)

    @workbench.formulation("mine")
    class Two(HopsRound):
        """Two jobs at most."""

        def build(self, data: Any, knobs: Any) -> Any:
            m = super().build(data, knobs)
            m.two = pyo.Constraint(expr=sum(m.choose.values()) <= 2, doc="(ours) two at most")
            return m

    def two(m: Any, data: Any) -> None:
        m.two = pyo.Constraint(expr=sum(m.choose.values()) <= 2)

    declare(two, "changed", "hops.round")
    one, other = (workbench.solve("preset:hops_example", name) for name in ("mine", "changed"))
    assert one.objective == other.objective and one.warnings == (), "in the units of the paper"
    run = workbench.simulate("preset:hops_example", "mine", until_s=300.0)
    assert "(11)" in workbench.explain(run, run.timeline["job"].iloc[0], 100.0).binding, "by the paper's objective"

    @workbench.formulation("mine")
    class All(Mine):
        """All time together."""

        def build(self, data: Any, knobs: Any) -> Any:
            m = super().build(data, knobs)
            m.del_component(m.worst_job)
            m.del_component(m.epigraph)
            m.total = pyo.Constraint(expr=m.level <= 100 * sum(m.share.values()), doc="(ours) all time together")
            m.goal = pyo.Objective(expr=m.level, sense=pyo.maximize, doc="(ours) of a GPU | %")
            return m

    models, whole = list[Any](), MaxMinFairness.build
    monkeypatch.setattr(MaxMinFairness, "build", lambda *given: models.append(whole(*given)) or models[-1])
    solved = workbench.solve(scenario, "mine")
    assert solved.objective == pytest.approx(35 * 5) and solved.unit == "%", "the same terms, and yet its own"
    assert len(models) == 1, "the base's is built within its own alone"


def test_an_objective_by_which_nothing_runs_is_told() -> None:
    def turned(m: Any, data: Any) -> None:
        m.scale = pyo.Var(bounds=(2, 2))  # a name as good as any
        m.worst_job.deactivate()
        m.least = pyo.Objective(expr=sum(m.throughput[job] for job in m.JOBS), doc="(ours) turned round | steps/s")

    declare(turned)
    solved = workbench.solve(five_equal_jobs(), "mine")
    [told] = solved.warnings
    assert solved.objective == 0
    assert told == "mine: no job has a share, the best by its objective (min) is to run nothing."
    [told] = summary(workbench.simulate(five_equal_jobs(), "mine")).warnings
    assert told.startswith("mine: no job ever had a share")


def test_a_change_that_changes_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value is no bound, and a misspelt name is about no job; real changes of every kind are not told."""
    key = "job 0", "v100"

    def value(m: Any, data: Any) -> None:
        if key in m.share:  # until the job has ended
            m.share[key] = 0.3

    def nobody(m: Any, data: Any) -> None:
        m.cap = pyo.Constraint(
            m.JOBS, rule=lambda m, job: m.share[job, "v100"] <= 0.3 if job == "jbo 0" else pyo.Constraint.Skip
        )

    nothing = (
        "mine changes nothing of gavel.max_min_fairness here: it adds no row, and no bound or objective is another."
    )
    for change, says in (
        (lambda m, data: None, nothing),
        (nobody, nothing),
        (value, "mine: share[job 0,v100] was given the value 0.3, which holds it to nothing; .fix(0.3) would."),
    ):
        declare(change)
        assert workbench.solve(five_equal_jobs(), "mine").warnings == (says,)
        run = workbench.simulate(five_equal_jobs(), "mine")
        assert summary(Run.from_message(run.as_message())).warnings[:1] == (says,)
    declare(lambda m, data: m.share[key].fix(0.3))
    workbench.formulation("on mine", base="mine")(lambda m, data: None)
    assert workbench.solve(five_equal_jobs(), "on mine").warnings == (
        nothing.replace("mine", "on mine", 1).replace("gavel.max_min_fairness", "mine"),
    )
    for real in (
        lambda m, data: m.share[key].fix(0.3),
        lambda m, data: m.share[key].setub(0.3),
        lambda m, data: m.job_time["job 0"].deactivate(),
        lambda m, data: m.capacity["v100"].set_value(sum(m.share.values()) <= 1),
        lambda m, data: m.worst_job.set_value(2 * m.level),
        lambda m, data: workbench.set_number(m.weight, "job 0", 2 * m.weight["job 0"]),
    ):
        declare(real)
        told = workbench.solve(five_equal_jobs(), "mine")  # of twice the level: that the other values are of the level
        assert [each for each in told.warnings if "0.8, is the model's" not in each] == []
        assert bool(told.warnings) == (told.objective == pytest.approx(0.8))

    compared: list[Any] = []
    monkeypatch.setattr(own_formulation, "_slip", lambda *each: compared.append(each) or "")
    declare(capped())
    assert len(workbench.simulate(five_equal_jobs(), "mine", NOBODY_ELSE).decisions) > 2
    assert len(compared) == 1, "once a model is another, none is compared"


# --- What cannot be ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
def test_another_number_gives_the_model_that_is_built_of_it(
    formulation: Formulation[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each parameter's first entry, against the model whose parameter has had the number since it was declared."""
    [drawn] = models(formulation, 0, 1)
    declare = BlockData.add_component

    def built(part: str = "", index: Any = None, number: float = 0.0) -> pyo.ConcreteModel:
        def with_number(self: Any, name: str, component: Any) -> None:
            declare(self, name, component)
            if name == part and isinstance(component, pyo.Param):
                numbers = {**{key: pyo.value(component[key]) for key in component}, index: number}
                over = [component.index_set()] if component.is_indexed() else []
                mutable, doc = component.mutable, component.doc
                self.del_component(component)
                declare(self, name, pyo.Param(*over, initialize=numbers, within=pyo.Any, mutable=mutable, doc=doc))

        monkeypatch.setattr(BlockData, "add_component", with_number)
        model = formulation.build(drawn.data, drawn.knobs)
        monkeypatch.setattr(BlockData, "add_component", declare)
        return model

    plain, changed = compile_model(built()).programme, 0
    for parameter in [each for each in built().component_objects(pyo.Param) if len(each)]:
        index = next(iter(parameter))
        number = pyo.value(parameter[index]) * 2 + 1
        model = built()
        workbench.set_number(model.component(parameter.local_name), index, number)
        wanted = built(parameter.local_name, index, number)
        assert difference(wanted, compile_model(model).programme) is None, f"{parameter.local_name}[{index}]"
        changed += difference(wanted, plain) is not None
    assert changed or formulation.name == "isolated", "no number does anything"


def test_a_number_of_the_model_is_another_in_solve_and_in_a_run() -> None:
    """A job that counts four times has all its time, the others the rest, and the level goes by it."""

    def heavier(m: Any, data: Any) -> None:
        if "job 0" in m.weight:
            workbench.set_number(m.weight, "job 0", m.weight["job 0"] * 4)

    declare(heavier)
    scenario = five_equal_jobs()
    result = workbench.solve(scenario, "mine")
    shares = {job: own["v100"] for job, own in result.values["allocation"].items()}
    assert shares["job 0"] == pytest.approx(1.0) and shares["job 1"] == pytest.approx(0.25)
    assert result.objective == pytest.approx(0.25), "of a job that counts 4 a share of 1 is a level of .25"
    table = workbench.rows(result)
    assert table.query("part == 'epigraph' and index == 'job 0'")["row"].item().count("0.25 ") == 1
    run = workbench.simulate(scenario, "mine", NOBODY_ELSE)
    assert run.shares.query("decision == 0 and unit == 'job 0'")["share"].sum() == pytest.approx(1.0)


def test_an_own_objective_counts_also_where_the_base_solves_for_parts_of_its_own_in_turn() -> None:
    def change(m: Any, data: Any) -> None:
        """How many jobs are placed."""
        for objective in list(m.component_objects(pyo.Objective)):
            objective.deactivate()
        m.mine = pyo.Objective(expr=sum(m.choose.values()), sense=pyo.maximize, doc="(ours) how many | jobs")

    declare(change, base="hops.round")
    found = workbench.solve("preset:hops_example", "mine", {"lambda": "inf"})
    assert (found.objective, found.unit, found.sense, found.bound) == (4.0, "jobs", "max", 4.0)


def test_other_rows_behind_the_paper_s_objective_are_what_it_is_worth() -> None:
    """The level by twice each job's time, where the paper's reader knows the paper's rows."""

    def by_time(m: Any, data: Any) -> None:
        m.epigraph.deactivate()
        own = [m.level <= 2 * sum(m.share[job, kind] for kind in m.TYPES) for job in m.JOBS]
        m.by_time = pyo.Constraint(m.JOBS, rule=lambda m, job: own[list(m.JOBS).index(job)], doc="(ours) by time")

    declare(by_time)
    found = workbench.solve(five_equal_jobs(), "mine")
    assert (found.objective, found.bound) == (pytest.approx(0.8), pytest.approx(0.8))
    assert "0.8, is the model's" in found.warnings[0] and "comes to 0.4 here" in found.warnings[0]
    assert workbench.simulate(five_equal_jobs(), "mine").decisions.loc[0, "objective"] == pytest.approx(0.8)
    check(workbench.find_formulation("mine"))


def test_what_number_cannot_be() -> None:
    model = workbench.find_formulation(BASE)
    data, knobs = posed(model, five_equal_jobs())
    m = model.build(data, knobs)
    for given, says in (
        ((m.share, ("job 0", "v100"), 1.0), "a parameter of the model, such as m.weight"),
        ((m.weight, "job 9", 1.0), r"weight: got 'job 9'; expected one of the 5 indices of weight, such as 'job 0'; a"),
        ((m.weight, "job 0", "much"), "weight: got 'much'; expected a number"),
        ((m.weight, "job 0", 0), r"weight: got 0; expected one that the rules .*division"),
    ):
        with pytest.raises(InputError, match=says):
            workbench.set_number(*given)
    m = model.build(data, knobs)
    m.capacity["v100"].set_value((None, m.capacity["v100"].body, 1.5))
    with pytest.raises(InputError, match="numbers first"):
        workbench.set_number(m.weight, "job 0", 2.0)


def test_a_run_is_explained_by_the_definition_that_made_it() -> None:
    """Also once its cell has been changed and run again; where that definition is gone, it is said."""
    declare(capped(0.2))
    old = workbench.simulate(five_equal_jobs(), "mine", NOBODY_ELSE)
    declare(capped(0.1))
    for part, run in ((0.2, old), (0.1, workbench.simulate(five_equal_jobs(), "mine", NOBODY_ELSE))):
        found = workbench.rows(run, at=0.0)
        assert found.loc[found["part"] == "cap", "right"].tolist() == [part]
    with pytest.raises(
        InputError, match="got a run of mine as this session does not define it now; expected one whose cell"
    ):
        workbench.rows(replace(old, code="another"), at=0.0)
    gone = "Which rows of mine it met is not told: this session does not define it now as it did then."
    job = old.jobs["job"].iloc[0]
    said = [gone in workbench.explain(run, job, 0.0).sentences for run in (old, replace(old, code="another"))]
    assert said == [False, True]


# --- The other papers -------------------------------------------------------------------------------------------------


def test_hadar_by_another_formulation() -> None:
    """Two options by hand: payoff 3 on two GPUs, 2 on one. Who takes one GPU at most has the second; in a run no job
    gets what its rows forbid."""

    def one_gpu(m: Any, data: Any) -> None:
        @m.Constraint(m.OPTIONS, doc="(ours) one GPU at most")
        def single(m: Any, job: str, option: int) -> Any:
            taken = sum(m.gpus[j, o, kind] for j, o, kind in m.gpus if (j, o) == (job, option))
            return m.choose[job, option] * (taken - 1) <= 0 if taken > 1 else pyo.Constraint.Skip

    declare(one_gpu, base="hadar.round")
    found: Any = workbench.find_formulation("mine")
    data = RoundInstance.of([2], [[([2], 3.0), ([1], 2.0)]])
    knobs = found.settle({})
    assert isinstance(found, HadarRound) and HadarRound().run(data, HadarRound().settle({})).objective == 3.0
    assert found.run(data, knobs).values["option"] == {"job 0": 1} and not found.run(data, knobs).warnings
    declare(lambda m, data: workbench.set_number(m.payoff, ("job 0", 1), 9.0), base="hadar.round")
    dear = workbench.find_formulation("mine").run(data, knobs)
    assert dear.objective == 9.0 and dear.values["payoff"] == {"job 0": 2.0}
    assert "the objective, 9, is the model's; the other values are by" in dear.warnings[0]
    assert "of the paper, which comes to 2 here" in dear.warnings[0]

    def no_p100(m: Any, data: Any) -> None:
        @m.Constraint(m.OPTIONS, doc="(ours) no P100")
        def without(m: Any, job: str, option: int) -> Any:
            return m.choose[job, option] == 0 if (job, option, "p100") in m.gpus else pyo.Constraint.Skip

    declare(no_p100, base="hadar.round")
    runs = [workbench.simulate("preset:hadar_example", name, idle_gpus="leave") for name in ("mine", "hadar")]
    assert "model" in set(runs[0].decisions["made_by"])
    used = [set(run.timeline.query("kind == 'run'")["accelerator"]) for run in runs]
    assert "p100" in used[1] - used[0] and runs[0].jobs["finish_s"].notna().all()


def test_without_a_change_hadar_decides_as_by_start_prices() -> None:
    declare(lambda m, data: None, base="hadar.round")
    mine = workbench.simulate("preset:hadar_example", "mine")
    assert summary(mine)["mean_jct_s"] == summary(workbench.simulate("preset:hadar_example", "hadar"))["mean_jct_s"]


def test_hare_carries_the_order_out() -> None:
    """Two jobs of one task on one GPU: the shorter goes first, unless the other has to."""

    def longer_first(m: Any, data: Any) -> None:
        m.order = pyo.Constraint(expr=m.before[1, 0] == 1, doc="(ours) the second job first")

    declare(longer_first, base="hare.exact")
    found: Any = workbench.find_formulation("mine")
    data = HareInstance.made(np.array([[1.0], [3.0]]), np.zeros((2, 1)))
    shipped = workbench.find_formulation("hare.exact")
    assert shipped.run(data, shipped.settle({})).objective == pytest.approx(1 + 4)
    assert found.run(data, found.settle({})).objective == pytest.approx(3 + 4)

    def all_late(m: Any, data: Any) -> None:
        m.late = pyo.Constraint(m.TASKS, rule=lambda m, i: m.start[i] >= 3)

    declare(all_late, base="hare.exact")
    [told] = workbench.solve("preset:hare_example", "mine").warnings
    assert "the model's answer is worth 17.5 s x weight" in told and "as it can: worth 8.5 s x weight; rows th" in told
    declare(lambda m, data: workbench.set_number(m.weight, 0, 7.0), base="hare.exact")
    [told] = workbench.solve("preset:hare_example", "mine").warnings
    assert "the objective, 17.5, is the model's" in told and "comes to 8.5 here" in told
    declare(lambda m, data: m.one_after_other.deactivate(), base="hare.exact")
    at_once: Any = workbench.find_formulation("mine")
    result = at_once.run(data, at_once.settle({}))
    assert result.objective == pytest.approx(1 + 3) and result.values["completion_s"] == {"J1": 1.0, "J2": 4.0}
    [told] = result.warnings
    assert "lets task 0 of round 0 of J2 start at 0 s" in told and "starts at 1 s: worth 5 s x weight" in told
    [told] = summary(workbench.simulate("preset:hare_example", "mine")).warnings
    assert told.startswith("mine: the model lets task ")


def test_chronus_promises_by_another_formulation() -> None:
    def nobody(m: Any, data: Any) -> None:
        @m.Constraint(m.DEADLINES, doc="(ours) nobody meets a deadline")
        def never(m: Any, job: str, deadline: int) -> Any:
            return m.hit[job, deadline] == 0

    declare(nobody, base="chronus.leases")
    assert workbench.route("mine").kind == "algorithm"
    run = workbench.simulate("preset:chronus_example", "mine", until_s=4000)
    verdicts = run.jobs["verdict"]
    assert "guaranteed" not in set(verdicts) and "best_effort" in set(verdicts)
    [job, *_] = jobs_asked_about(run)
    assert has_verdicts(run) and f"{job}: best effort." in admission(run, job, 4000.0)[0]
    asked, [told] = int((run.decisions["made_by"] == "model").sum()), summary(run).warnings
    assert asked and told == f"mine was asked in {asked} decisions whom to guarantee, and had no plan with any job."
    subclass = type("Mine", (Chronus,), {"name": "mine.subclass"})()
    assert has_verdicts(workbench.simulate("preset:chronus_example", subclass, until_s=4000))
    assert not has_verdicts(replace(run, knobs={})), "of no scheduler of a room that can be asked"
    at_s = float(run.decisions.loc[run.decisions["made_by"] == "model", "time_s"].iloc[-1])
    refused = workbench.rows(run, at_s)  # those in conflict, as nobody has a plan
    assert set(refused["part"]) == {"one_deadline", "never"} and refused["left"].isna().all()
    assert refused.attrs["at_s"] == at_s and "cannot hold together" in refused.attrs["notes"][0]
    with pytest.raises(InputError, match="rows of mine: got a model without a plan: these rows cannot hold together"):
        workbench.without(run, "never", at=at_s)
    assert workbench.simulate("preset:chronus_example", "chronus", until_s=4000).jobs["verdict"].eq("guaranteed").any()
