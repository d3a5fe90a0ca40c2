"""Gavel: heterogeneity-aware scheduling policies (Narayanan et al., OSDI 2020)."""

from workbench.papers.gavel.explain import EXPLAIN, EXPLAINERS
from workbench.papers.gavel.formulations.bottleneck import Bottleneck
from workbench.papers.gavel.formulations.fifo import FirstInFirstOut
from workbench.papers.gavel.formulations.finish_time_fairness import FinishTimeFairness
from workbench.papers.gavel.formulations.makespan import Makespan
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.papers.gavel.formulations.max_throughput import MaxThroughput
from workbench.papers.gavel.formulations.min_cost import MinCost
from workbench.papers.gavel.formulations.min_cost_slo import MinCostSlo
from workbench.papers.gavel.formulations.shortest_job_first import ShortestJobFirst
from workbench.papers.gavel.formulations.water_filling import Hierarchical, WaterFilling
from workbench.papers.gavel.scheduler import SCHEDULERS
from workbench.scheduling.declared_room import Room

ROOM = Room(
    name="gavel",
    title="Gavel",
    citation="Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads "
    "(Narayanan and others, OSDI 2020)",
    notebook="01_gavel",
    formulations=(
        MaxMinFairness(),
        Makespan(),
        FinishTimeFairness(),
        FirstInFirstOut(),
        ShortestJobFirst(),
        MaxThroughput(),
        MinCost(),
        MinCostSlo(),
        WaterFilling(),
        Hierarchical(),
        Bottleneck(),
    ),
    schedulers=SCHEDULERS,
    explanations={each.name: EXPLAINERS.get(each.name, EXPLAIN) for each in SCHEDULERS},
    estimators=("low_rank",),
    symbols={
        "a job": "max_min_fairness m",
        "a type of GPU": "max_min_fairness j",
        "a way to run a job": "max_min_fairness k",
        "jobs that share GPUs": "max_min_fairness C_m",
        "GPUs that there are": "max_min_fairness c_a",
        "GPUs that a job takes": "max_min_fairness z_m",
        "speed": "max_min_fairness T^m_kj",
        "work that is left": "finish_time_fairness n_m",
        "deadline": "min_cost_slo SLO_m",
        "weight or priority": "max_min_fairness w_m",
        "price of a GPU": "min_cost_slo p_j",
        "share of time (decided)": "max_min_fairness X_kj",
        "the worst-off job (follows)": "max_min_fairness t",
    },
    example="start_here",
)
