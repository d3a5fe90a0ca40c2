r"""One plan of Hops: the integer programme of section 3.6, a binary for each configuration (`hops.round`).

max   sum_i sum_j W_i G_ij X_ij                                       (11)           weighted_gain
s.t.  sum_j X_ij <= 1                                  for all i      (12)           one_configuration
      sum_i sum_j Consume_ijt X_ij <= S_t              for all t      (13, erratum)  capacity
      X_ij in {0, 1}                                   for all i, j   (11)           choose

`W_i = (prior_i + bias)^lambda`, here over the largest of the jobs that have a configuration, which changes no optimum
and suits a solver's tolerances. bias is 0 if all priorities are positive, else |min| + 0.01. `G_ij` is the throughput
of job i in its configuration j over the smallest of all its configurations (before any are left out). lambda = 0
maximises the summed gain alone, lambda = inf serves one priority class after the other (`lexicographic`).
(erratum): (13) is printed with a sum over j alone; servers are shared, so it sums over the jobs too. The knob `form`
chooses between this and the model of interchangeable servers, `aggregated`, the one for large clusters.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.papers.hops.algorithms.aggregation import Aggregate, aggregate, lift
from workbench.papers.hops.algorithms.round_plan import NAME, Form, form_of, nobody, result, stopping
from workbench.papers.hops.formulations import aggregated, lexicographic, lexicographic_aggregated
from workbench.papers.hops.formulations.lexicographic import in_paper_units, levels, priority_classes
from workbench.papers.hops.formulations.round_assembly import AggregatedAssembly, PrintedAssembly, assemble
from workbench.papers.hops.instance import HopsInstance, RoundPlan
from workbench.papers.hops.knobs import FORM, PLAN, PRIORITY, START, power_of
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.model_notes import notes
from workbench.scheduling.modelling import parameter, pyo, renumber
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import Programme, Solver, solve_model


def build(data: HopsInstance, power: float) -> pyo.ConcreteModel:
    """Return the unsolved integer programme; power: lambda, finite."""
    m = lay_out(data)
    doc = "W_i | weight (prior_i + bias)^lambda, over the largest | 1"
    m.weight = parameter(m.JOBS, numbers=_weight(data, power), doc=doc)

    @m.Objective(sense=pyo.maximize, doc="(11) throughput gain, weighted by priority")
    def weighted_gain(m):
        return pyo.quicksum(m.weight[i] * m.gain[i, j] * m.choose[i, j] for i, j in m.CONFIGURATIONS)

    notes(m).scale = data.weights(power).scale
    return m


def lay_out(data: HopsInstance) -> pyo.ConcreteModel:
    """The sets, the configurations and their limits, without an objective."""
    m = pyo.ConcreteModel("hops_round")
    m.takes = []
    gain, use, idle = _add_numbers(m, data)
    m.JOBS = pyo.Set(initialize=data.jobs, doc="i | jobs of the service window")
    m.CONFIGURATIONS = pyo.Set(dimen=2, initialize=list(gain), doc="i,j | configurations of each job")
    m.SERVERS = pyo.Set(initialize=data.servers, doc="t | servers")

    m.gain = parameter(m.CONFIGURATIONS, numbers=gain, doc="G_ij | throughput over the job's smallest | 1")
    m.consume = parameter(pyo.SetOf(m.takes), numbers=use, doc="Consume_ijt | GPUs that a configuration takes | GPUs")
    m.idle = parameter(m.SERVERS, numbers=idle, doc="S_t | idle GPUs | GPUs")
    m.choose = pyo.Var(m.CONFIGURATIONS, domain=pyo.Binary, doc="(11) X_ij | whether a job gets a configuration | 1")

    @m.Constraint(m.JOBS, doc="(12) a job gets at most one configuration")
    def one_configuration(m, i):
        return pyo.quicksum(m.choose[key] for key in m.of_job[i]) <= 1 if m.of_job[i] else pyo.Constraint.Skip

    @m.Constraint(m.SERVERS, doc="(13, erratum) a server's GPUs are given out once")
    def capacity(m, t):
        if not m.on_server[t]:
            return pyo.Constraint.Skip
        return pyo.quicksum(m.consume[i, j, t] * m.choose[i, j] for i, j in m.on_server[t]) <= m.idle[t]

    return m


def _weight(data: HopsInstance, power: float) -> dict[str, float]:
    return dict(zip(data.jobs, data.weights(power).scaled.tolist(), strict=True))


def _add_numbers(m: pyo.ConcreteModel, data: HopsInstance) -> tuple[dict[Any, Any], ...]:
    """The numbers of `gain`, `consume` and `idle`; gives the model what its rules look up: the configurations of each
    job, and on each server."""
    keys = [(data.jobs[row], j) for row, j in zip(data.job.tolist(), data.number.tolist(), strict=True)]
    entries = list(zip(*(part.tolist() for part in data.consumption()), strict=True))
    use = {(*keys[configuration], data.servers[server]): gpus for configuration, server, gpus in entries}
    m.of_job, m.on_server = {job: [] for job in data.jobs}, {server: {} for server in data.servers}
    for key in keys:
        m.of_job[key[0]].append(key)
    for (job, j, server), gpus in use.items():
        m.on_server[server][job, j] = gpus
    m.takes[:] = use
    idle = dict(zip(data.servers, data.idle.tolist(), strict=True))
    return dict(zip(keys, data.gain.tolist(), strict=True)), use, idle


def restate(m: pyo.ConcreteModel, data: HopsInstance, power: float) -> None:
    """Let the model of another round on the same servers state this one."""
    from workbench.scheduling.solvers.restating import linear, renewed

    had, held, was_idle = m.of_job, m.on_server, m.idle.extract_values()
    gain, use, idle = _add_numbers(m, data)
    for key in set(m.choose) - gain.keys():
        del m.choose[key]
    for part, members in ((m.JOBS, data.jobs), (m.CONFIGURATIONS, gain)):
        part.clear()
        part.update(members)
    weight, notes(m).scale = _weight(data, power), data.weights(power).scale
    for part, numbers in ((m.gain, gain), (m.consume, use), (m.idle, idle), (m.weight, weight)):
        renumber(part, numbers)
    terms = ((weight[key[0]] * each, m.choose[key]) for key, each in gain.items())  # Pyomo makes what is missing
    m.weighted_gain.set_value(linear(terms))  # as the rule does
    renewed(m.one_configuration, same={job for job in data.jobs if m.of_job[job] == had.get(job)})
    stays = (t for t in data.servers if m.on_server[t] == held[t] and idle[t] == was_idle[t])
    renewed(m.capacity, same=set(stays))


def read(model: pyo.ConcreteModel, data: HopsInstance) -> RoundPlan:
    """What the jobs get in a solved model."""
    return data.plan(spot for spot, variable in enumerate(model.choose.values()) if variable.value > 0.5)


class HopsRound(Formulation[HopsInstance]):
    """Who gets which GPUs until the round ends."""

    name = NAME
    title = "Hops: prior-weighted plan of a round"
    knobs = (*PLAN, PRIORITY)
    ways = frozenset({FORM.name})
    reading = (
        "The objective is the sum over the jobs of (priority + bias)^lambda x gain, the bias being 0 where all "
        "priorities are above 0; weight is that power. gain is the throughput "
        "of the choice over the smallest among the job's configurations, 0 for a job that waits. With lambda = inf "
        "there is no objective: gains_by_class has the summed gain of each priority, the highest first."
    )

    def data(self, snapshot: Snapshot, knobs: Knobs) -> HopsInstance:
        """The service window of the queue of all unfinished jobs, on the GPUs that are free now."""
        return HopsInstance.from_snapshot(snapshot, knobs)

    def statement(self, knobs: Knobs, data: Any = None) -> Any:
        """The model that the knobs name; `auto` builds the printed one."""
        by_class = np.isinf(power_of(knobs))
        if _stated(knobs) == "aggregated":
            return lexicographic_aggregated if by_class else aggregated
        return lexicographic if by_class else self

    def build(self, data: HopsInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model that the knobs name (`auto`: the printed one); with lambda = inf the first class's."""
        return build_form(data, _stated(knobs), knobs)

    def assemble(self, data: HopsInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        return assemble(
            PrintedAssembly(data) if _stated(knobs) == "printed" else AggregatedAssembly(aggregate(data)),
            power_of(knobs),
        )

    def read(self, model: pyo.ConcreteModel, data: HopsInstance, knobs: Knobs) -> Result:
        """The choices of a solved model, on real servers, checked against (12) and (13)."""
        if hasattr(model, "cut"):
            every = aggregate(data)
            return result(data, lift(every, *aggregated.read(model, every)), power_of(knobs), "aggregated")
        return result(data, read(model, data), power_of(knobs), "printed")

    def trivial(self, data: HopsInstance, knobs: Knobs) -> Result | None:
        """No configurations, no choices."""
        return result(data, {}, power_of(knobs), form_of(data, knobs)) if nobody(data) else None

    def run(self, data: HopsInstance, knobs: Knobs, solver: Solver | None = None) -> Result:
        """Build, solve, read; with lambda = inf `iterations` list what each priority class got."""
        stop = stopping(solver or Solver(), data, knobs)
        if nobody(data):
            return super().run(data, knobs, stop)
        power, began = power_of(knobs), time.perf_counter()
        order = levels(data, power)
        model = self.build(data, knobs) if self.own else build_form(data, form_of(data, knobs), knobs)
        build_s = time.perf_counter() - began
        if data.previous and knobs.get("start", START.default):
            _start(model, data)
            stop = replace(stop, start=True)
        noted = notes(model)
        if noted.own_objective or (noted.other_numbers and not np.isinf(power)):
            report = solve_model(model, stop)  # as it stands: the priorities of the data do not come to it
            return self.read(model, data, knobs).reported(report, build_s)
        # by its levels, mostly one: also an own model with the paper's objective and other rows
        if len(order) > 1 and not np.isinf(power):
            lexicographic.prepare(model)
        steps, solved = lexicographic.serve(model, data, order, stop)
        noted.in_turn = True
        found = self.read(model, data, knobs)
        solved = in_paper_units(solved, found.objective, order, data)
        return found.reported(solved, build_s, (step._asdict() for step in steps) if len(steps) > 1 else ())


def _start(model: pyo.ConcreteModel, data: HopsInstance) -> None:
    """Give the choices the values that jobs have had until now; how servers are cut is left open."""
    twin = AggregatedAssembly(aggregate(data)) if hasattr(model, "cut") else PrintedAssembly(data)
    for variable, value in zip(model.choose.values(), twin.start(data.previous).tolist(), strict=False):
        variable.set_value(value)


def _stated(knobs: Knobs) -> Form:
    return "aggregated" if knobs.get("form") == "aggregated" else "printed"


def build_form(data: HopsInstance, form: Form, knobs: Knobs) -> pyo.ConcreteModel:
    """The unsolved model of that form; with lambda = inf the first class's."""
    every: Aggregate | None = aggregate(data) if form == "aggregated" else None
    power = power_of(knobs)
    if not np.isinf(power):
        return build(data, power) if every is None else aggregated.build(every, power)
    first = [data.jobs[row] for rows in priority_classes(data.priority)[:1] for row in rows.tolist()]
    return lexicographic.build(lay_out(data), first) if every is None else lexicographic_aggregated.build(every, first)
