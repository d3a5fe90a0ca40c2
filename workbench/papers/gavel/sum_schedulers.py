"""The schedulers of the policies that maximise a sum over the jobs: FIFO, shortest job first, throughput and cost."""

from __future__ import annotations

from workbench.papers.gavel import fifo, max_throughput, min_cost, min_cost_slo, shortest_job_first, slo, steps, worths
from workbench.papers.gavel.matrix import Allocation
from workbench.papers.gavel.policy import forgetful, scheduler
from workbench.papers.gavel.prices import PricedData
from workbench.papers.gavel.view import gather, seen
from workbench.scheduling.contract import Knobs
from workbench.scheduling.knob import Value


def _min_cost(data: PricedData, knobs: Knobs) -> Allocation:
    return min_cost.allocate(seen(data, knobs), knobs)


NO_LEFTOVERS: dict[str, Value] = {"leftovers": "none"}
"""A policy of cost leaves workers idle on purpose, where they cost more for what they do; others must not fill them."""

EACH_ROUND: dict[str, Value] = {"refresh_s": 0.0}
"""With SLOs the steps and the time that are left, and so the speed that is needed, move from round to round."""

SUMS = (
    scheduler(
        fifo.Fifo(),
        fifo.Fifo.title,
        forgetful(gather),
        fifo.allocate,
        authors={"optimum": "interior"},
        numbers=worths.in_line,
    ),
    scheduler(
        shortest_job_first.ShortestJobFirst(),
        shortest_job_first.ShortestJobFirst.title,
        forgetful(steps.gather),
        shortest_job_first.allocate,
        authors={"optimum": "interior"},
        numbers=worths.by_length,
    ),
    scheduler(
        max_throughput.MaxThroughput(),
        max_throughput.MaxThroughput.title,
        forgetful(gather),
        max_throughput.allocate,
        authors={"optimum": "interior"},
        combine=sum,
        numbers=worths.by_throughput,
    ),
    scheduler(
        min_cost.MinCost(),
        min_cost.MinCost.title,
        forgetful(min_cost.gather),
        _min_cost,
        authors={"optimum": "interior"},
        numbers=worths.per_dollar,
        defaults=NO_LEFTOVERS,
    ),
    scheduler(
        min_cost_slo.MinCostSlo(),
        min_cost_slo.MinCostSlo.title,
        forgetful(slo.gather),
        min_cost_slo.allocate,
        uses=frozenset({"rewards"}),
        authors={"optimum": "interior", "infeasible": "drop_all"},
        defaults={"infeasible": "drop", **EACH_ROUND, **NO_LEFTOVERS},
        signals=("slo_dropped",),
        numbers=worths.per_dollar,
    ),
)
