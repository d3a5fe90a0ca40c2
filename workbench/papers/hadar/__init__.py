"""Hadar and HadarE: task-level heterogeneity-aware scheduling by prices, and forked copies of jobs (Sultana et al.)."""

from workbench.papers.hadar import explain
from workbench.papers.hadar.formulations.dual import Dual
from workbench.papers.hadar.formulations.offline import Offline
from workbench.papers.hadar.formulations.round import HadarRound
from workbench.papers.hadar.formulations.schedules import HadarSchedules
from workbench.papers.hadar.scheduler import Hadar, HadarE
from workbench.scheduling.declared_room import Room

ROOM = Room(
    name="hadar",
    title="Hadar",
    citation="Resource Heterogeneity-Aware and Utilization-Enhanced Scheduling for Deep Learning Clusters "
    "(Sultana and others)",
    notebook="02_hadar",
    formulations=(Offline(), HadarSchedules(), Dual(), HadarRound()),
    schedulers=(Hadar(), HadarE()),
    explanations={"hadar": explain.hadar, "hadare": explain.hadare},
    estimators=("pmi",),
    symbols={
        "a job": "offline j",
        "a type of GPU": "offline r",
        "a span of time": "offline t",
        "a way to run a job": "round O_j",
        "GPUs that there are": "offline c_r",
        "GPUs that a job takes": "offline W_j; round w_jor",
        "speed": "offline X_jb",
        "work that is left": "offline EN_j",
        "arrival": "offline a_j",
        "what completing is worth": "offline U_jt",
        "price of a GPU": "dual k_rt",
        "what a job gains": "dual mu_j; round mu_jo",
        "whether a job gets it (decided)": "round y_jo; offline z_jtb",
        "completion (follows)": "offline f_jt",
    },
    example="hadar_example",
)
