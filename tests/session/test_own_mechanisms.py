"""New models: each of the four mechanisms carries out what a whole model of the session says."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import workbench
from tests.session.test_own_formulation import five_equal_jobs
from workbench.base.errors import InputError
from workbench.papers.hare.algorithms.schedule import InvalidSchedule
from workbench.papers.hare.formulations.exact import Exact
from workbench.session.registry import find_explainer, mechanisms
from workbench.simulation.stop import Stalled
from workbench.testing import check


def shares(snapshot: Any) -> Any:
    """The summed steps/s, no job below a tenth of its time."""
    speeds, jobs = snapshot.belief.speeds(snapshot.jobs), snapshot.jobs
    m = pyo.ConcreteModel()
    m.JOBS, m.TYPES = pyo.Set(initialize=jobs.names), pyo.Set(initialize=snapshot.types)
    m.share = pyo.Var(m.JOBS, m.TYPES, bounds=(0, 1))
    speed = {(job, kind): float(speeds[i, k]) for i, job in enumerate(m.JOBS) for k, kind in enumerate(m.TYPES)}
    m.total = pyo.Objective(
        expr=sum(speed[key] * m.share[key] for key in speed), sense=pyo.maximize, doc="(ours) all of it | steps/s"
    )
    m.job_time = pyo.Constraint(m.JOBS, rule=lambda m, job: sum(m.share[job, kind] for kind in m.TYPES) <= 1)
    m.least = pyo.Constraint(m.JOBS, rule=lambda m, job: sum(m.share[job, kind] for kind in m.TYPES) >= 0.1)
    gang, gpus = (
        dict(zip(jobs.names, jobs.gpus.tolist(), strict=True)),
        dict(zip(snapshot.types, snapshot.capacity.tolist(), strict=True)),
    )

    @m.Constraint(m.TYPES)
    def capacity(m, kind):  # type: ignore[no-untyped-def]
        return sum(gang[job] * m.share[job, kind] for job in m.JOBS) <= gpus[kind]

    return m


def plan(snapshot: Any) -> Any:
    """As many jobs as fit, each on nodes of the first type."""
    jobs, nodes = snapshot.jobs, snapshot.nodes
    m = pyo.ConcreteModel()
    m.JOBS, m.NODES = pyo.Set(initialize=jobs.names), pyo.Set(initialize=nodes.names)
    m.gpus = pyo.Var(m.JOBS, m.NODES, domain=pyo.NonNegativeIntegers)
    m.runs = pyo.Var(m.JOBS, domain=pyo.Binary)
    m.count = pyo.Objective(expr=sum(m.runs[job] for job in m.JOBS), sense=pyo.maximize)
    gang = dict(zip(jobs.names, jobs.gpus.tolist(), strict=True))
    free = {name: int(nodes.free[i]) * int(nodes.up[i] and nodes.kind[i] == 0) for i, name in enumerate(nodes.names)}
    m.whole = pyo.Constraint(m.JOBS, rule=lambda m, j: sum(m.gpus[j, n] for n in m.NODES) == gang[j] * m.runs[j])
    m.room = pyo.Constraint(m.NODES, rule=lambda m, n: sum(m.gpus[j, n] for j in m.JOBS) <= free[n])
    return m


def all_at_once(snapshot: Any) -> Any:
    """Every job, whatever there is."""
    m = plan(snapshot)
    m.room.deactivate()
    return m


def leases(snapshot: Any) -> Any:
    """One job at a time, for 500 s each, in their order."""
    waiting = [job for job in snapshot.jobs.names if job not in snapshot.leases]
    m = pyo.ConcreteModel()
    begin = np.int64(500) if snapshot.leases else 0
    keys = [(job, begin + 500 * k, 500) for job in waiting for k in range(len(waiting))]
    m.KEYS = pyo.Set(dimen=3, initialize=keys)
    m.lease = pyo.Var(m.KEYS, domain=pyo.Binary)
    place = {job: i + 1 for i, job in enumerate(waiting)}
    m.order = pyo.Objective(expr=sum(m.lease[key] * key[1] / place[key[0]] for key in m.KEYS))
    m.once = pyo.Constraint(waiting, rule=lambda m, j: sum(m.lease[key] for key in keys if key[0] == j) == 1)
    starts = sorted({key[1] for key in keys})
    m.one = pyo.Constraint(starts, rule=lambda m, s: sum(m.lease[key] for key in keys if key[1] == s) <= 1)
    return m


def order(data: Any) -> Any:
    """Every task on the first GPU, those with larger numbers first, as far as rounds allow."""
    m = pyo.ConcreteModel()
    tasks = range(data.task_count)
    m.start, m.assign = pyo.Var(tasks, bounds=(0, None)), pyo.Var(tasks, [0], domain=pyo.Binary)
    rank = {i: float(data.round_number[data.task_round[i]] * 100 - data.task_job[i]) for i in tasks}
    m.total = pyo.Objective(expr=sum(m.start[i] for i in tasks))
    m.on = pyo.Constraint(tasks, rule=lambda m, i: m.assign[i, 0] == 1)
    m.at = pyo.Constraint(tasks, rule=lambda m, i: m.start[i] >= 100 + rank[i])
    return m


STEPS = {
    "shares": ("share", "rank", "placement"),
    "plan": ("plan",),
    "leases": ("lease", "placement"),
    "order": ("order", "task", "slot"),
}
MODELS = {"shares": shares, "plan": plan, "leases": leases, "order": order}


def test_there_are_four_and_each_says_its_contract() -> None:
    assert tuple(mechanisms()) == tuple(MODELS)
    for found in mechanisms().values():
        assert all(f"`{part}[" in (found.__doc__ or "") for part in found.variables) and "Values:" in str(found.__doc__)


@pytest.mark.parametrize("mechanism", MODELS)
def test_a_new_model_runs_and_keeps_what_the_shipped_ones_keep(mechanism: str) -> None:
    workbench.formulation("mine", mechanism=mechanism)(MODELS[mechanism])
    scenario = five_equal_jobs()
    run = workbench.simulate(scenario, "mine")
    assert run.jobs["finish_s"].notna().all()
    assert "model" in set(run.decisions["made_by"]) and run.code
    assert workbench.find_scheduler("mine").route({}).formulation == "mine"
    check(workbench.find_formulation("mine"), scenario)
    check(workbench.find_scheduler("mine"), scenario)
    assert not workbench.compare(scenario, ["mine", "fifo"], workers=2).failed
    assert set(run.decisions["made_by"]) <= {"model", "kept"}
    table = workbench.rows(run, 100.0)
    assert table.attrs["formulation"] == "mine" and table["binding"].any()
    chain = workbench.chain(run, "n-0/0", 100.0)
    assert [link.step for link in chain.links] == ["rows", *STEPS[mechanism]]
    assert chain.rows and chain.job
    assert mechanism != "leases" or "its lease is to start at 8 min 20 s" in set(run.reasons["text"])


def test_an_own_scheduler_called_as_a_mechanism_is_not_explained_by_it() -> None:
    @workbench.scheduler("shares")
    def first_come(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        give = [(job, {"n-0": 1}) for job in snapshot.jobs.names[:1]]
        return workbench.Decision(tuple(workbench.Assignment(*each, snapshot.now_s + 360) for each in give)), None

    run = workbench.simulate(five_equal_jobs(), "shares")
    assert find_explainer("shares") is None and find_explainer("mine", carrier="shares") is not None
    assert "priority" not in workbench.explain(run, "job 1", 0.0).text()


def test_shares_are_those_of_the_model() -> None:
    workbench.formulation("mine", mechanism="shares")(shares)
    found = workbench.solve(five_equal_jobs(), "mine")
    assert found.objective == pytest.approx(2.0) and found.unit == "steps/s" and found.sense == "max"
    run = workbench.simulate(five_equal_jobs(), "mine")
    first = run.shares.query("decision == 0").set_index("unit")["share"]
    assert first.to_dict() == pytest.approx({job: own["v100"] for job, own in found.values["allocation"].items()})


def test_leases_follow_each_other_and_one_job_holds_gpus_at_a_time() -> None:
    workbench.formulation("mine", mechanism="leases")(leases)
    rows = workbench.simulate(five_equal_jobs(), "mine").timeline.query("kind == 'run'").sort_values("start_s")
    assert (rows["start_s"].to_numpy()[1:] >= rows["end_s"].to_numpy()[:-1] - 1e-9).all()
    assert rows["unit"].head(2).tolist() == ["job 0", "job 1"]


def test_the_order_of_the_tasks_is_that_of_their_starts() -> None:
    workbench.formulation("mine", mechanism="order")(order)
    run = workbench.simulate(five_equal_jobs(), "mine", most_rounds=1)
    rows = run.timeline.query("kind == 'run'").sort_values("start_s")
    assert rows["unit"].tolist() == [f"job {n} #0.0" for n in (4, 3, 2, 1, 0)] and set(rows["slot"]) == {0}


def without_a_part(snapshot: Any) -> Any:
    m = shares(snapshot)
    m.del_component(m.job_time)
    m.del_component(m.least)
    m.del_component(m.capacity)
    return m


def below_0(snapshot: Any) -> Any:
    m = shares(snapshot)
    m.least.deactivate()
    next(iter(m.share.values())).fix(-0.2)
    return m


def unnamed(snapshot: Any) -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.goal = pyo.Objective(expr=m.x)
    return m


def full(snapshot: Any) -> Any:
    m = pyo.ConcreteModel()
    keys = [(job, 0, 100) for job in snapshot.jobs.names]
    m.lease = pyo.Var(keys, domain=pyo.Binary)
    m.goal = pyo.Objective(expr=sum(m.lease.values()), sense=pyo.maximize)
    return m


def leased(*key: Any) -> Any:
    def model(snapshot: Any) -> Any:
        m = pyo.ConcreteModel()
        m.lease = pyo.Var([key], domain=pyo.Binary)
        m.goal = pyo.Objective(expr=sum(m.lease.values()), sense=pyo.maximize)
        return m

    return model


def of_two_gpus_more(data: Any) -> Any:
    m = order(data)
    m.del_component(m.assign)
    m.del_component(m.on)
    m.assign = pyo.Var(range(data.task_count), [3], bounds=(1, 1))
    return m


def without_a_start(data: Any) -> Any:
    m = order(data)
    m.at.deactivate()
    m.del_component(m.start)
    m.start = pyo.Var(range(data.task_count - 1), bounds=(0, None))
    m.total.set_value(sum(m.start.values()))
    return m


def of_jobs_alone(snapshot: Any) -> Any:
    m = pyo.ConcreteModel()
    m.gpus = pyo.Var(snapshot.jobs.names, domain=pyo.Binary)
    m.goal = pyo.Objective(expr=sum(m.gpus.values()), sense=pyo.maximize)
    return m


@pytest.mark.parametrize(
    ("mechanism", "model", "says"),
    [
        ("shares", without_a_part, "formulation mine, the GPUs of a type in use, of all of them: got 2.5; expected at"),
        ("shares", below_0, "formulation mine, a share of job 0: got -0.2; expected at least 0"),
        ("shares", unnamed, "got a model without a variable share; expected `shares`: a variable `share"),
        ("shares", lambda snapshot: 3, "formulation mine: got 3; expected a pyomo ConcreteModel"),
        (
            "plan",
            of_jobs_alone,
            "formulation mine: got a variable gpus with the index 'job 0'; expected `plan`: a variable `gpus[job",
        ),
        ("plan", all_at_once, "formulation mine, GPUs of n-0 in use: got 5; expected at most 2"),
        (
            "leases",
            full,
            "formulation mine, a lease of job 2: got now, for 1 GPU; expected one for which GPUs are free",
        ),
        (
            "leases",
            leased("job 0", 0, 0),
            "formulation mine, length of a lease of job 0: got 0.0; expected seconds > 0",
        ),
        ("leases", leased("job 9", 50, 100), "formulation mine, lease: got 'job 9'; expected a job that is there"),
        *(
            (
                "leases",
                leased("job 0", start_s, 100),
                f"start of a lease of job 0: got {start_s}; expected seconds from 0",
            )
            for start_s in (math.nan, -5.0, math.inf)
        ),
        (
            "leases",
            leased("job 0", "now", 100),
            "formulation mine, a lease of job 0: got ['now', 100]; expected two nu",
        ),
        ("order", of_two_gpus_more, "formulation mine, task 0: got 3; expected a task and a GPU that are there"),
        ("order", without_a_start, "formulation mine: got Index '149' is not valid for indexed component 'start'; ex"),
    ],
)
def test_what_cannot_be_carried_out_is_one_sentence(mechanism: str, model: Any, says: str) -> None:
    workbench.formulation("mine", mechanism=mechanism)(model)
    for act in (workbench.simulate, workbench.solve):
        with pytest.raises(InputError) as told:
            act(five_equal_jobs(), "mine")  # type: ignore[operator]
        assert says in str(told.value) and "\n" not in str(told.value)


def test_a_share_of_a_type_with_too_few_gpus_for_the_gang_is_told() -> None:
    @workbench.formulation("mine", mechanism="shares")
    def mine(snapshot: Any) -> Any:
        m = pyo.ConcreteModel()
        m.share = pyo.Var(snapshot.jobs.names, snapshot.types, bounds=(0, 0.5))
        m.all = pyo.Objective(expr=m.share["vision", "v100"] + m.share["vision", "k80"], sense=pyo.maximize)
        return m

    [told] = workbench.solve("preset:start_here", "mine").warnings
    assert told == "mine: vision has a share of 0.5 of k80, of no use: its gang of 2 has no room on 1 GPU."


def test_what_cannot_be_declared() -> None:
    with pytest.raises(InputError, match="formulation mine, mechanism: got 'rounds'; expected one of shares, plan"):
        workbench.formulation("mine", mechanism="rounds")
    with pytest.raises(InputError, match=r"a function mine\(data\) with a mechanism"):
        workbench.formulation("mine", base="hops.round", mechanism="plan")(plan)
    with pytest.raises(InputError, match=r"mine\(data\), which returns a Pyomo model"):
        workbench.formulation("mine", mechanism="plan")(lambda: None)


@pytest.mark.parametrize(("mechanism", "model"), [("plan", plan), ("leases", full)])
def test_what_runs_nothing_is_told_by_solve_and_by_the_run_that_stalls(mechanism: str, model: Any) -> None:
    @workbench.formulation("mine", mechanism=mechanism)
    def mine(snapshot: Any) -> Any:
        m = model(snapshot)
        next(m.component_data_objects(pyo.Objective)).sense = pyo.minimize
        return m

    [told] = workbench.solve(five_equal_jobs(), "mine").warnings
    assert told == "mine: no job has GPUs, the best by its objective (min) is to run nothing."
    with pytest.raises(Stalled, match=r", by mine \(optimal, min 0\): got 'job 0, job 1"):
        workbench.simulate(five_equal_jobs(), "mine")


def test_a_class_with_a_mechanism() -> None:
    @workbench.formulation("mine", mechanism="plan")
    class Mine(workbench.Formulation[Any]):
        """One job at a time."""

        def data(self, snapshot: Any, knobs: Any) -> Any:
            return snapshot

        def build(self, data: Any, knobs: Any) -> Any:
            return plan(data)

        def read(self, model: Any, data: Any, knobs: Any) -> Any:
            first = next(job for job in data.jobs.names)
            node = data.nodes.names[0]
            return workbench.Result("feasible", 1.0, "max", "1", {"plan": {first: {node: 1}}})

    run = workbench.simulate(five_equal_jobs(), "mine")
    assert run.end_s == pytest.approx(5 * 7200) and np.isfinite(run.decisions["objective"]).any()


@pytest.mark.parametrize(
    ("mechanism", "values", "says"),
    [
        ("shares", {}, "formulation mine, values: got {}; expected allocation {job: {type: share}}"),
        ("shares", {"allocation": {"job 0": 0.5}}, "expected allocation {job: {type: share}}"),
        ("shares", {"allocation": {"job 9": {"v100": 0.5}}}, "share of job 9: got 'v100'; expected a job and a type"),
        ("shares", {"allocation": {"job 0": {"tpu": 0.5}}}, "share of job 0: got 'tpu'; expected a job and a type"),
        ("shares", {"allocation": {"job 9": {}}}, "allocation: got 'job 9'; expected jobs that are there"),
        ("shares", {"allocation": [1, 2]}, "expected allocation {job: {type: share}}"),
        ("shares", {"allocation": None}, "expected allocation {job: {type: share}}"),
        ("shares", None, "formulation mine, values: got None; expected {name: value}"),
        ("plan", {"plan": {"job 0": 1}}, "expected plan {job: {node: GPUs}}"),
        ("leases", {"leases": [["job 0", 0.0]]}, "expected leases, a list of [job, start_s, length_s]"),
        (
            "leases",
            {"leases": [["job 0", math.nan, 60.0]]},
            "start of a lease of job 0: got nan; expected seconds from",
        ),
        ("leases", {"leases": [["job 0", -1e-9, 0.0]]}, "length of a lease of job 0: got 0.0; expected seconds > 0"),
        ("order", {"tasks": [{"gpu": "n-9/0", "start_s": 0.0}]}, "expected tasks, a list of {gpu, start_s} for each"),
    ],
)
def test_what_a_class_with_a_mechanism_says_is_looked_at(mechanism: str, values: Any, says: str) -> None:
    class Mine(workbench.Formulation[Any]):
        """Values of its own."""

        def data(self, snapshot: Any, knobs: Any) -> Any:
            return mechanisms()[mechanism].data(snapshot, knobs)

        def build(self, data: Any, knobs: Any) -> Any:
            return MODELS[mechanism](data)

        def read(self, model: Any, data: Any, knobs: Any) -> Any:
            return workbench.Result("feasible", 1.0, "max", "1", values)

    workbench.formulation("mine", mechanism=mechanism)(Mine)
    with pytest.raises(InputError) as told:
        workbench.simulate(five_equal_jobs(), "mine")
    assert says in str(told.value)


def test_an_order_of_a_class_that_keeps_no_limit_is_refused() -> None:
    @workbench.formulation("mine", mechanism="order")
    class Mine(Exact):
        """The first task starts before it is there."""

        def run(self, data: Any, knobs: Any, solver: Any = None) -> Any:
            found = super().run(data, knobs, solver)
            first, *others = found.values["tasks"]
            return replace(found, values={"tasks": [{**first, "start_s": start_s}, *others]})

    for start_s in (math.nan, -5.0):
        with pytest.raises(InvalidSchedule, match=f"mine, job J1, round 0, task 0: got {start_s}; expected"):
            workbench.simulate("preset:hare_example", "mine")
