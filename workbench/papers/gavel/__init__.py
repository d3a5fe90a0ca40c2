"""Gavel: heterogeneity-aware scheduling policies (Narayanan et al., OSDI 2020)."""

from workbench.papers.gavel.bottleneck import Bottleneck
from workbench.papers.gavel.fifo import Fifo
from workbench.papers.gavel.finish_time_fairness import FinishTimeFairness
from workbench.papers.gavel.hierarchical import Hierarchical
from workbench.papers.gavel.makespan import Makespan
from workbench.papers.gavel.max_min_fairness import MaxMinFairness
from workbench.papers.gavel.max_throughput import MaxThroughput
from workbench.papers.gavel.min_cost import MinCost
from workbench.papers.gavel.min_cost_slo import MinCostSlo
from workbench.papers.gavel.scheduler import EXPLAIN, SCHEDULERS
from workbench.papers.gavel.shortest_job_first import ShortestJobFirst
from workbench.papers.gavel.water_filling import WaterFilling

TITLE = "Gavel"
FORMULATIONS = (
    MaxMinFairness(),
    Makespan(),
    FinishTimeFairness(),
    Fifo(),
    ShortestJobFirst(),
    MaxThroughput(),
    MinCost(),
    MinCostSlo(),
    WaterFilling(),
    Hierarchical(),
    Bottleneck(),
)

__all__ = ["EXPLAIN", "FORMULATIONS", "SCHEDULERS", "TITLE"]
