r"""Which jobs have which leases on which GPUs: (1)-(6) with several accelerator types or a range of GPUs (section 7).

max   sum_i V_0 + sum_i sum_p sum_o (V_ip - V_0) s_iop                               (1, ours)        total_reward
s.t.  sum_i sum_o g_ioh x_iok <= M_kh                               for all k, h     (3, 6, erratum)  capacity
      sum_{k<=DL_ip} x_iok >= RL_io sum_{r<=p} s_ior, = if p = L_i  for all i, o, p  (4, erratum)     leases_by_deadline
      sum_p sum_o s_iop <= 1, = if i in A                           for all i        (5, erratum)     one_deadline
      x_iok in {0, 1}                                               for all i, o, k  (2)              lease
      s_iop in {0, 1}                                               for all i, o, p  (2)              hit

(ours) The paper announces a binary for the kind of GPU and one for each number of GPUs in a range, and prints no model.
Here an option o of job i is both (`JobOptions`): `RL_io` leases do its work at the speed it has so, and take `g_ioh` of
limit h. `s_iop` says that it hits deadline p as o, so that with (5) a job has one option in a plan. Limits are those of
the pieces of each pool of nodes. With one option for each job and one pool, rows and columns are those of `leases`,
whose errata hold here too.

Weaker than it could be: a plan in which a job's leases are on GPUs of several kinds is left out. It would move the job
within the plan; when the next plan is made all options are open again.
"""

from __future__ import annotations

import numpy as np

from workbench.base.arrays import IntArray
from workbench.base.errors import InputError
from workbench.papers.chronus.algorithms.lease_plan import LeasePlan
from workbench.papers.chronus.instance import NAME, ChronusInstance
from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers import SolverFailedError

MOST_VARIABLES = 200_000
"""A larger model would take longer to make than anyone waits for, and longer still to solve."""


DEADLINES = """i,p | deadlines of each job, the earliest first
r | another deadline
L_i | number of the job's last deadline | | last"""


def variables(data: ChronusInstance) -> int:
    """How many variables the model has."""
    steps = np.array([len(by) for by in data.by], dtype=np.int64)
    own = np.maximum(0, np.minimum(data.last, data.leases) - data.first + 1) + steps
    return int(own[data.every.job].sum())


def labels(data: ChronusInstance) -> list[tuple[str, str]]:
    """(options,) job and name of each option: its pool and GPUs."""
    every = data.every
    parts = zip(every.job.tolist(), every.pool.tolist(), every.gpus.tolist(), strict=True)
    return [(data.jobs[job], f"{data.pools[pool].name} {gpus}".strip()) for job, pool, gpus in parts]


def build(data: ChronusInstance) -> pyo.ConcreteModel:
    """Return the unsolved mixed-integer programme.

    Raises InputError for a model that would have more than `MOST_VARIABLES` variables.
    """
    if variables(data) > MOST_VARIABLES:
        found = f"{variables(data)} variables for {len(data.every)} options in {data.leases} leases"
        raise InputError(NAME, found, f"at most {MOST_VARIABLES}: fewer jobs, longer leases, or form=master")
    every, names = data.every, labels(data)
    rows = every.job.tolist()
    own = {
        name: range(int(data.first[row]), min(int(data.last[row]), data.leases) + 1)
        for name, row in zip(names, rows, strict=True)
    }
    by = {(job, p): int(k) for job, ks in zip(data.jobs, data.by, strict=True) for p, k in enumerate(ks, start=1)}
    steps = {name: range(1, len(data.by[row]) + 1) for name, row in zip(names, rows, strict=True)}
    mine: dict[str, list[tuple[str, str]]] = {job: [] for job in data.jobs}
    for name in names:
        mine[name[0]].append(name)
    several = len(data.pools) > 1
    limits = [
        f"{data.pools[pool].name} {size}" if several else str(size)
        for size, pool in zip(data.sizes, data.pool_of or (0,) * len(data.sizes), strict=True)
    ]

    m = pyo.ConcreteModel("chronus_leases_on_types")
    m.guaranteed = {job for job, sure in zip(data.jobs, data.guaranteed.tolist(), strict=True) if sure}
    m.last = {job: len(ks) for job, ks in zip(data.jobs, data.by, strict=True)}
    m.JOBS = pyo.Set(initialize=data.jobs, doc="i | jobs with deadlines\nA | guaranteed jobs | | guaranteed")
    m.LEASES = pyo.Set(initialize=range(1, data.leases + 1), doc="k | leases, from the start of the plan")
    m.LIMITS = pyo.Set(initialize=limits, doc="h | limits: a pool of nodes and a size of pieces there")
    m.OPTIONS = pyo.Set(dimen=2, initialize=names, doc="i,o | options of each job: a pool and a number of GPUs")
    m.DEADLINES = pyo.Set(dimen=2, initialize=list(by), doc=DEADLINES)
    m.OWN = pyo.Set(
        dimen=3,
        initialize=[(*name, k) for name in names for k in own[name]],
        doc="i,o,k | leases of each job and option",
    )
    m.HITS = pyo.Set(
        dimen=3,
        initialize=[(*name, p) for name in names for p in steps[name]],
        doc="i,o,p | deadlines of each job and option",
    )

    m.reward = pyo.Param(
        m.DEADLINES,
        initialize={
            (job, p): float(v) for job, vs in zip(data.jobs, data.rewards, strict=True) for p, v in enumerate(vs, 1)
        },
        doc="V_ip | reward of completing by a deadline | 1",
    )
    m.miss_reward = pyo.Param(initialize=data.miss_reward, doc="V_0 | reward of a miss | 1")
    m.needed = pyo.Param(
        m.OPTIONS,
        initialize=dict(zip(names, data.needed_as.tolist(), strict=True)),
        doc="RL_io | leases needed | leases",
    )
    m.by = pyo.Param(m.DEADLINES, initialize=by, doc="DL_ip | leases that end by a deadline | leases")
    m.gang = pyo.Param(
        m.OPTIONS,
        m.LIMITS,
        initialize={(*name, h): int(every.held[o, c]) for o, name in enumerate(names) for c, h in enumerate(limits)},
        doc="g_ioh | GPUs of a gang that count towards a limit | GPUs",
    )
    m.free = pyo.Param(
        m.LEASES,
        m.LIMITS,
        initialize={(k, h): int(data.free[k - 1, c]) for k in m.LEASES for c, h in enumerate(limits)},
        doc="M_kh | free GPUs that count towards a limit | GPUs",
    )
    m.lease = pyo.Var(m.OWN, domain=pyo.Binary, doc="(2) x_iok | whether a job has a lease, as an option | 1")
    m.hit = pyo.Var(
        m.HITS,
        domain=pyo.Binary,
        doc="(2) s_iop | whether a job hits a deadline as an option, and none before it | 1\n"
        "s_ior | the same of deadline r | 1",
    )

    @m.Objective(sense=pyo.maximize, doc="(1, ours) the sum of the jobs' rewards")
    def total_reward(m):
        gained = ((m.reward[i, p] - m.miss_reward) * m.hit[i, o, p] for i, o, p in m.HITS)
        return m.miss_reward * len(data.jobs) + pyo.quicksum(gained)

    able: dict[int, list[tuple[str, str]]] = {k: [] for k in m.LEASES}
    for i, o, k in m.OWN:
        able[k].append((i, o))

    @m.Constraint(m.LEASES, m.LIMITS, doc="(3, 6, erratum) no more GPUs than a lease has")
    def capacity(m, k, h):
        users = [name for name in able[k] if m.gang[(*name, h)]]
        if not users:
            return pyo.Constraint.Skip
        return pyo.quicksum(m.gang[(*name, h)] * m.lease[(*name, k)] for name in users) <= m.free[k, h]

    @m.Constraint(m.HITS, doc="(4, erratum) whoever hits a deadline has all leases by then, and no more in all")
    def leases_by_deadline(m, i, o, p):
        had = pyo.quicksum(m.lease[i, o, k] for k in own[i, o] if k <= m.by[i, p])
        owed = m.needed[i, o] * pyo.quicksum(m.hit[i, o, r] for r in steps[i, o] if r <= p)
        return had - owed == 0 if p == m.last[i] else had - owed >= 0

    @m.Constraint(m.JOBS, doc="(5, erratum) a job hits one deadline as one option, or none unless it is guaranteed")
    def one_deadline(m, i):
        terms = [m.hit[(*name, p)] for name in mine[i] for p in steps[name]]
        if not terms:
            return pyo.Constraint.Skip
        return pyo.quicksum(terms) == 1 if i in m.guaranteed else pyo.quicksum(terms) <= 1

    return m


def read_plan(model: pyo.ConcreteModel, data: ChronusInstance) -> LeasePlan:
    """The plan of a solved model, its limits checked, shifted to the left; its instance has the options chosen.

    Raises SolverFailedError if it is worth less than the model's objective says.
    """
    at = {name: option for option, name in enumerate(labels(data))}
    chosen, has = np.array(data.in_force), np.zeros((len(data.jobs), data.leases), dtype=bool)
    for (job, option, k), variable in model.lease.items():
        if variable.value > 0.5:
            row = int(data.every.job[at[job, option]])
            chosen[row], has[row, k - 1] = at[job, option], True
    plan = LeasePlan(data.running(chosen), has)
    stated = pyo.value(model.total_reward)
    if plan.objective < stated - 1e-5 * max(1.0, abs(stated)):
        raise SolverFailedError(NAME, f"a plan worth {plan.objective:g}", f"the {stated:g} of its objective")
    return plan.shifted_left


def begin_from(model: pyo.ConcreteModel, plan: LeasePlan) -> None:
    """Give the variables the values of a plan, for a solver that takes a start."""
    data = plan.instance
    at = {name: option for option, name in enumerate(labels(data))}
    row_of: IntArray = data.every.job
    for (job, option, k), variable in model.lease.items():
        own = at[job, option]
        row = int(row_of[own])
        variable.set_value(int(data.in_force[row] == own and plan.has[row, k - 1]))
    for (job, option, p), variable in model.hit.items():
        own = at[job, option]
        row = int(row_of[own])
        variable.set_value(int(data.in_force[row] == own and plan.step[row] == p - 1))
