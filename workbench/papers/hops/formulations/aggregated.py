r"""The integer programme of one plan over interchangeable servers: shapes and cuts (ours, for Hops, section 3.6).

max   sum_i sum_c W_i G_ic X_ic                                            (11)    weighted_gain
s.t.  sum_c X_ic <= 1                                       for all i      (12)    one_configuration
      sum_i sum_c u_vkc X_ic <= sum_g sum_q a_vkq n_gq       for all v, k   (13)    pieces
      sum_q n_gq <= N_g                                     for all g      (ours)  servers
      X_ic in {0, 1}                                        for all i, c   (11)    choose
      0 <= n_gq <= N_g integer                              for all g, q   (ours)  cut

c is a shape: how many pieces of k GPUs a configuration takes of the servers v, which are interchangeable (one type, one
speed). `N_g` servers of group g have equally many idle GPUs, and `n_gq` of them are cut by pattern q, which gives
`a_vkq` pieces. W_i and the gain are those of the printed model. (ours): that one knows single servers and has a binary
for each configuration; here there is one for each shape. A distributed configuration's servers need not be neighbours,
so the optimum is never below the printed one, and equal to it where every configuration is on one server.
"""

from __future__ import annotations

from workbench.papers.hops.algorithms.aggregation import Aggregate
from workbench.papers.hops.instance import one_each
from workbench.scheduling.model_notes import notes
from workbench.scheduling.modelling import parameter, pyo


def build(data: Aggregate, power: float) -> pyo.ConcreteModel:
    """Return the unsolved integer programme; power: lambda, finite."""
    m = lay_out(data)
    jobs = data.data.jobs
    weights = data.data.weights(power)
    weight = dict(zip(jobs, weights.scaled.tolist(), strict=True))
    m.weight = parameter(m.JOBS, numbers=weight, doc="W_i | weight (prior_i + bias)^lambda, over the largest | 1")

    @m.Objective(sense=pyo.maximize, doc="(11) throughput gain, weighted by priority")
    def weighted_gain(m):
        return pyo.quicksum(m.weight[i] * m.gain[i, c] * m.choose[i, c] for i, c in m.CHOICES)

    notes(m).scale = weights.scale
    return m


def lay_out(data: Aggregate) -> pyo.ConcreteModel:
    """The sets, the shapes and their limits, without an objective."""
    m = pyo.ConcreteModel("hops_round_aggregated")
    jobs = data.data.jobs
    keys = [(jobs[row], c) for row, c in zip(data.job.tolist(), data.shape.tolist(), strict=True)]
    ways = [(group, q) for q, (group, _) in enumerate(data.cuts)]
    m.JOBS = pyo.Set(initialize=jobs, doc="i | jobs of the service window")
    m.CHOICES = pyo.Set(dimen=2, initialize=keys, doc="i,c | shapes of each job")
    m.GROUPS = pyo.Set(initialize=range(len(data.groups)), doc="g | servers alike in all, idle GPUs too")
    m.CUTS = pyo.Set(dimen=2, initialize=ways, doc="g,q | patterns to cut a server of a group by")

    gain = dict(zip(keys, data.gain.tolist(), strict=True))
    m.gain = parameter(m.CHOICES, numbers=gain, doc="G_ic | throughput over the job's smallest | 1")
    taken: dict[tuple[int, int], list[tuple[tuple[str, int], int]]] = {piece: [] for piece in data.pieces}
    for row, choice, times in zip(*(part.tolist() for part in data.used), strict=True):
        taken[data.pieces[row]].append((keys[choice], times))
    served = [piece for piece in data.pieces if taken[piece]]
    m.PIECES = pyo.Set(dimen=2, initialize=served, doc="v,k | pieces of k GPUs of the servers v that some shape takes")
    needs = {(*piece, c): times for piece, users in taken.items() for (_, c), times in users}
    m.needed = parameter(numbers=needs, doc="u_vkc | pieces that a shape takes | 1")
    given: dict[tuple[int, int], list[tuple[tuple[int, int], int]]] = {piece: [] for piece in data.pieces}
    for row, cut, times in zip(*(part.tolist() for part in data.supplied), strict=True):
        given[data.pieces[row]].append((ways[cut], times))
    gives = {(*piece, q): times for piece, makers in given.items() for (_, q), times in makers}
    m.given = parameter(numbers=gives, doc="a_vkq | pieces that a pattern gives | 1")
    m.number = parameter(m.GROUPS, numbers=dict(enumerate(data.number.tolist())), doc="N_g | servers | 1")
    m.choose = pyo.Var(m.CHOICES, domain=pyo.Binary, doc="(11) X_ic | whether a job gets a shape | 1")
    m.cut = pyo.Var(
        m.CUTS,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, group, q: (0, m.number[group]),
        doc="(ours) n_gq | servers cut by a pattern | 1",
    )
    of_job: dict[str, list[tuple[str, int]]] = {job: [] for job in jobs}
    for key in keys:
        of_job[key[0]].append(key)
    of_group: dict[int, list[tuple[int, int]]] = {group: [] for group in range(len(data.groups))}
    for way in ways:
        of_group[way[0]].append(way)

    @m.Constraint(m.JOBS, doc="(12) a job gets at most one configuration")
    def one_configuration(m, i):
        return pyo.quicksum(m.choose[key] for key in of_job[i]) <= 1 if of_job[i] else pyo.Constraint.Skip

    @m.Constraint(m.PIECES, doc="(13) no more pieces are taken than cut")
    def pieces(m, v, k):
        supply = pyo.quicksum(times * m.cut[way] for way, times in given[v, k])
        return pyo.quicksum(times * m.choose[key] for key, times in taken[v, k]) <= supply

    @m.Constraint(m.GROUPS, doc="(ours) a server is cut once")
    def servers(m, group):
        return pyo.quicksum(m.cut[way] for way in of_group[group]) <= m.number[group]

    return m


def read(model: pyo.ConcreteModel, data: Aggregate) -> tuple[dict[int, int], list[int]]:
    """Of a solved model the choice (position) of each job that gets one, and how often each pattern is used."""
    taken = [choice for choice, variable in enumerate(model.choose.values()) if variable.value > 0.5]
    one_each(data.job[taken].tolist(), data.data.jobs)
    return {int(data.job[choice]): choice for choice in taken}, [round(part.value) for part in model.cut.values()]
