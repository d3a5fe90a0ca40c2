r"""Which jobs have which leases: the mixed-integer programme (1)-(6) of Chronus's selector (section 3.3.4).

max   sum_i V_0 + sum_i sum_p (V_ip - V_0) s_ip                                (1, ours)        total_reward
s.t.  sum_i g_ih x_ik <= M_kh                                    for all k, h  (3, 6, erratum)  capacity
      sum_{k<=DL_ip} x_ik >= RL_i sum_{r<=p} s_ir, = if p = L_i  for all i, p  (4, erratum)     leases_by_deadline
      sum_p s_ip <= 1, = if i in A                               for all i     (5, erratum)     one_deadline
      x_ik in {0, 1}                                             for all i, k  (2)              lease
      s_ip in {0, 1}                                             for all i, p  (2)              hit

Job i needs `RL_i` leases in all, and by its deadline p there are `DL_ip` of them. `s_ip` says that p is the deadline
it hits, which is worth `V_ip`; a miss is worth `V_0`. There are variables for leases from a job's arrival to its last
deadline.

(erratum) (3) and (6) are printed with the runtime where the GPUs of the gang are meant. `g_ih` is the gang as asked for
(3), or rounded up so that all jobs of a lease can be placed consolidated (6); the second index is for nodes that are no
power of two: one limit for each size h of pieces, see `round_up`, and h = 1 alone otherwise.

(erratum) (4) is printed with a product of variables, and leaves leases after the deadline free. The rows here are
linear and equivalent: whoever hits deadline p or an earlier one has all leases by p; at the last p they are equalities,
so that no job has more leases than it needs, and one that misses has none.

(erratum) (5) is printed as an equality, with which one job too many makes the plan infeasible. It is one for jobs that
are guaranteed already; others may miss, which is worth the least reward, `V_0` (Fig. 3): (1, ours) has it.

Where jobs have options, on clusters of several types of GPUs or with a range of GPUs (section 7),
`leases_with_options` states the model; with one option each it is the same as here.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.chronus import knobs
from workbench.papers.chronus.algorithms.lease_plan import LeasePlan, lift, nothing, still_holds
from workbench.papers.chronus.formulations import leases_with_options, master
from workbench.papers.chronus.instance import NAME, ChronusInstance, check_guaranteed
from workbench.papers.chronus.knobs import FORM, GAP
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.modelling import pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import Solver, SolveReport, SolverFailedError, solve_model
from workbench.scheduling.solvers.solve_report import report

SMALL = 1500
"""Variables up to which `auto` solves the printed model at once."""
MEDIUM = 3000
"""Variables up to which `auto` goes on with the printed model where the master's gap is too wide."""
MOST_VARIABLES = leases_with_options.MOST_VARIABLES
"""A larger model would take longer to make than anyone waits for, and longer still to solve."""


def variables(data: ChronusInstance) -> int:
    """How many variables the printed model has, or that of section 7 where jobs have options."""
    if data.options is not None:
        return leases_with_options.variables(data)
    rows = zip(data.first.tolist(), data.last.tolist(), data.by, strict=True)
    return sum(max(0, min(last, data.leases) - first + 1) + len(by) for first, last, by in rows)


def build(data: ChronusInstance) -> pyo.ConcreteModel:
    """Return the unsolved mixed-integer programme.

    Raises InputError for a model that would have more than `MOST_VARIABLES` variables.
    """
    if variables(data) > MOST_VARIABLES:
        found = f"{variables(data)} variables for {len(data.jobs)} jobs in {data.leases} leases"
        raise InputError(NAME, found, f"at most {MOST_VARIABLES}: fewer jobs, longer leases, or form=master")
    rows = range(len(data.jobs))
    own = {data.jobs[i]: range(int(data.first[i]), min(int(data.last[i]), data.leases) + 1) for i in rows}
    by = {(data.jobs[i], p): int(lease) for i in rows for p, lease in enumerate(data.by[i].tolist(), start=1)}
    steps = {data.jobs[i]: range(1, len(data.by[i]) + 1) for i in rows}

    m = pyo.ConcreteModel("chronus_leases")
    m.guaranteed = {data.jobs[i] for i in rows if data.guaranteed[i]}
    m.last = {data.jobs[i]: len(data.by[i]) for i in rows}
    m.JOBS = pyo.Set(initialize=data.jobs, doc="i | jobs with deadlines\nA | guaranteed jobs | | guaranteed")
    m.LEASES = pyo.Set(initialize=range(1, data.leases + 1), doc="k | leases, from the start of the plan")
    m.SIZES = pyo.Set(initialize=data.sizes, doc="h | sizes of pieces of a node that have a limit")
    m.DEADLINES = pyo.Set(dimen=2, initialize=list(by), doc=leases_with_options.DEADLINES)
    m.OWN = pyo.Set(dimen=2, initialize=[(i, k) for i in data.jobs for k in own[i]], doc="i,k | leases of each job")

    m.reward = pyo.Param(
        m.DEADLINES,
        initialize={(data.jobs[i], p): float(v) for i in rows for p, v in enumerate(data.rewards[i], start=1)},
        doc="V_ip | reward of completing by a deadline | 1",
    )
    m.miss_reward = pyo.Param(initialize=data.miss_reward, doc="V_0 | reward of a miss | 1")
    m.needed = pyo.Param(
        m.JOBS, initialize=dict(zip(data.jobs, data.needed.tolist(), strict=True)), doc="RL_i | leases needed | leases"
    )
    m.by = pyo.Param(m.DEADLINES, initialize=by, doc="DL_ip | leases that end by a deadline | leases")
    m.gang = pyo.Param(
        m.JOBS,
        m.SIZES,
        initialize={(data.jobs[i], h): int(data.held[i, c]) for i in rows for c, h in enumerate(data.sizes)},
        doc="g_ih | GPUs of a gang in pieces of h or more | GPUs",
    )
    m.free = pyo.Param(
        m.LEASES,
        m.SIZES,
        initialize={(k, h): int(data.free[k - 1, c]) for k in m.LEASES for c, h in enumerate(data.sizes)},
        doc="M_kh | free GPUs in pieces of h or more | GPUs",
    )
    m.lease = pyo.Var(m.OWN, domain=pyo.Binary, doc="(2) x_ik | whether a job has a lease | 1")
    m.hit = pyo.Var(
        m.DEADLINES,
        domain=pyo.Binary,
        doc="(2) s_ip | whether a job hits a deadline, and none before it | 1\ns_ir | the same of deadline r | 1",
    )

    @m.Objective(sense=pyo.maximize, doc="(1, ours) the sum of the jobs' rewards")
    def total_reward(m):
        gained = ((m.reward[i, p] - m.miss_reward) * m.hit[i, p] for i, p in m.DEADLINES)
        return m.miss_reward * len(data.jobs) + pyo.quicksum(gained)

    able: dict[int, list[str]] = {k: [] for k in m.LEASES}
    for i, k in m.OWN:
        able[k].append(i)

    @m.Constraint(m.LEASES, m.SIZES, doc="(3, 6, erratum) no more GPUs than a lease has")
    def capacity(m, k, h):
        users = [i for i in able[k] if m.gang[i, h]]
        if not users:
            return pyo.Constraint.Skip
        return pyo.quicksum(m.gang[i, h] * m.lease[i, k] for i in users) <= m.free[k, h]

    @m.Constraint(m.DEADLINES, doc="(4, erratum) whoever hits a deadline has all leases by then, and no more in all")
    def leases_by_deadline(m, i, p):
        had = pyo.quicksum(m.lease[i, k] for k in own[i] if k <= m.by[i, p])
        owed = m.needed[i] * pyo.quicksum(m.hit[i, r] for r in steps[i] if r <= p)
        return had - owed == 0 if p == m.last[i] else had - owed >= 0

    @m.Constraint(m.JOBS, doc="(5, erratum) a job hits one deadline, or none unless it is guaranteed")
    def one_deadline(m, i):
        if not steps[i]:
            return pyo.Constraint.Skip
        once = pyo.quicksum(m.hit[i, p] for p in steps[i])
        return once == 1 if i in m.guaranteed else once <= 1

    return m


def read_plan(model: pyo.ConcreteModel, data: ChronusInstance, *, shift: bool = True) -> LeasePlan:
    """The plan of a solved model, its limits checked, shifted to the left unless rows might forbid it.

    Raises SolverFailedError if it is worth less than the model's objective says.
    """
    at = {name: row for row, name in enumerate(data.jobs)}
    has = np.zeros((len(data.jobs), data.leases), dtype=bool)
    for (job, k), variable in model.lease.items():
        has[at[job], k - 1] = variable.value > 0.5
    plan = LeasePlan(data, has)
    stated = pyo.value(model.total_reward)
    if plan.objective < stated - 1e-5 * max(1.0, abs(stated)):
        raise SolverFailedError(NAME, f"a plan worth {plan.objective:g}", f"the {stated:g} of its objective")
    return plan.shifted_left if shift else plan


def begin_from(model: pyo.ConcreteModel, plan: LeasePlan) -> None:
    """Give the variables the values of a plan, for a solver that takes a start."""
    data = plan.instance
    at = {name: row for row, name in enumerate(data.jobs)}
    for (job, k), variable in model.lease.items():
        variable.set_value(int(plan.has[at[job], k - 1]))
    for (job, p), variable in model.hit.items():
        variable.set_value(int(plan.step[at[job]] == p - 1))


class LeaseSelection(Formulation[ChronusInstance]):
    """Which jobs have which leases."""

    name = NAME
    title = "Chronus: leases for jobs with deadlines"
    knobs = (*knobs.LEASE_KNOBS, FORM, GAP)
    ways = frozenset({FORM.name, GAP.name})
    reading = (
        "The objective is the sum of reward over the jobs with deadlines; a job that meets none has the reward of a "
        "miss and no leases (null). leases count from 1 at the next boundary, deadline is the one met, in leases."
    )

    def data(self, snapshot: Snapshot, knobs: Knobs) -> ChronusInstance:
        """The unfinished jobs with deadlines, from the next boundary of leases on."""
        return ChronusInstance.from_snapshot(snapshot, knobs)

    def statement(self, knobs: Knobs, data: Any = None) -> Any:
        """The model that the knobs name; `auto` builds the printed one. Where jobs have options it is
        `leases_with_options`."""
        if getattr(data, "options", None) is not None:
            return leases_with_options
        return {"master": master, "options": leases_with_options}.get(str(knobs.get("form")), self)

    def build(self, data: ChronusInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model that the knobs name (`auto`: the printed one); where jobs have options, section 7's."""
        if data.options is not None or knobs.get("form") == "options":
            return leases_with_options.build(data)
        return master.build(data) if knobs.get("form") == "master" else build(data)

    def read(self, model: pyo.ConcreteModel, data: ChronusInstance, knobs: Knobs) -> Result:
        """The plan of a solved model, checked; of the master, its deadlines lifted to whole leases.

        Raises SolverFailedError if a guaranteed job has no leases even so.
        """
        if hasattr(model, "OPTIONS"):
            return leases_with_options.read_plan(model, data).result
        if hasattr(model, "lease"):
            return read_plan(model, data, shift=not self.own).result
        plan = lift(data, master.target(model, data))
        if plan is None:
            raise SolverFailedError(NAME, "deadlines for which no whole leases were found", "form=printed")
        return plan.shifted_left.result

    def trivial(self, data: ChronusInstance, knobs: Knobs) -> Result | None:
        """No job can meet a deadline: nothing to plan. Raises InfeasibleError if one has to."""
        check_guaranteed(data)
        return None if data.possible.any() else nothing(data).result

    def run(self, data: ChronusInstance, knobs: Knobs, solver: Solver | None = None) -> Result:
        """The plan with its bound: printed model, or master with lifting, as the knob `form` says.

        The last plan is where both begin. `auto` lets the printed model go on from the master's plan where its gap is
        wider than the knob `gap` and the model not too large; where lifting cannot keep the guarantees, the printed
        model answers.
        """
        if self.trivial(data, knobs) is not None:
            nobody = super().run(data, knobs, solver)
            return replace(nobody, bound=nobody.objective, gap=0.0)
        if self.own:
            return super().run(data, knobs, solver)
        solver, form = solver or Solver(), str(knobs.get("form", FORM.default))
        kept = still_holds(data, data.previous) if data.previous else None
        if form in ("printed", "options") or (form == "auto" and variables(data) <= SMALL):
            return _printed(data, solver, kept, options=form == "options")
        found = master.solve(data, solver)
        enough = max(solver.gap, float(knobs.get("gap", GAP.default)))
        gap = found.solved.gap
        good = form == "master" or (gap is not None and gap <= enough) or variables(data) > MEDIUM
        if found.plan is not None and good:
            return found.plan.result.reported(found.solved)
        return _printed(data, replace(solver, gap=enough), found.plan or kept, found.solved)


def _printed(
    data: ChronusInstance,
    solver: Solver,
    start: LeasePlan | None,
    before: SolveReport | None = None,
    *,
    options: bool = False,
) -> Result:
    """The printed model's answer; before: the report of the master that came first, whose bound holds too.

    options: that of section 7's model, as always where jobs have options.
    """
    began = time.perf_counter()
    options = options or data.options is not None
    model = leases_with_options.build(data) if options else build(data)
    if start is not None:
        (leases_with_options.begin_from if options else begin_from)(model, start)
    build_s = time.perf_counter() - began
    solved = solve_model(model, replace(solver, start=solver.start or start is not None))
    plan = (leases_with_options.read_plan if options else read_plan)(model, data)
    bounds = [one.bound for one in (solved, before) if one is not None and one.bound is not None]
    again = report(plan.objective, min(bounds, default=None), solved.status == "time_limit")
    if before is not None:
        build_s += before.build_s
        solved = replace(solved, solve_s=solved.solve_s + before.solve_s)
    reported = replace(solved, status=again.status, objective=again.objective, bound=again.bound, gap=again.gap)
    return plan.result.reported(reported, build_s)
