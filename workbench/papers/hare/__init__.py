"""Hare: jobs as rounds of tasks that synchronise, tasks of different jobs interleaved on each GPU (Chen et al.)."""

from workbench.papers.hare import explain
from workbench.papers.hare.algorithms.studies import STUDIES
from workbench.papers.hare.formulations.exact import Exact
from workbench.papers.hare.formulations.interval_lp import IntervalLP
from workbench.papers.hare.formulations.relaxed import Relaxation
from workbench.papers.hare.formulations.time_indexed import TimeIndexed
from workbench.papers.hare.formulations.time_indexed_lp import TimeIndexedLP
from workbench.papers.hare.scheduler import Hare, OrderMechanism
from workbench.scheduling.declared_room import Room

ROOM = Room(
    name="hare",
    title="Hare",
    citation="Hare: Exploiting Inter-job and Intra-job Parallelism of Distributed Machine Learning on Heterogeneous "
    "GPUs (Chen and others, HPDC 2022)",
    notebook="05_hare",
    formulations=(Exact(), Relaxation(), TimeIndexed(), TimeIndexedLP(), IntervalLP()),
    schedulers=(Hare(),),
    explanations={"hare": explain.explain},
    studies=STUDIES,
    mechanisms={"order": OrderMechanism},
    symbols={
        "a job": "exact n",
        "a task, a part of a job": "exact i",
        "a type of GPU": "interval_lp k",
        "a single server or GPU": "exact m",
        "a span of time": "interval_lp l",
        "GPUs that there are": "interval_lp c_k",
        "time of a task": "exact T^c_im",
        "time to synchronise": "exact T^s_im",
        "work that is left": "interval_lp W_n",
        "arrival": "exact a_n",
        "weight or priority": "exact w_n",
        "whether a job gets it (decided)": "exact y_im",
        "when it starts (decided)": "exact x_i",
        "completion (follows)": "exact C_n",
    },
    example="hare_example",
    picture="tasks",
)
