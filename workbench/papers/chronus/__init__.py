"""Chronus: leases for jobs with deadlines, guaranteed once admitted, placed consolidated (Gao et al.)."""

from workbench.papers.chronus import explain
from workbench.papers.chronus.formulations.leases import LeaseSelection
from workbench.papers.chronus.scheduler import Chronus
from workbench.scheduling.declared_room import Room

ROOM = Room(
    name="chronus",
    title="Chronus",
    citation="Chronus: A Novel Deadline-aware Scheduler for Deep Learning Training Jobs (Gao and others, SoCC 2021)",
    notebook="06_chronus",
    formulations=(LeaseSelection(),),
    schedulers=(Chronus(),),
    explanations={"chronus": explain.explain},
    studies=explain.STUDIES,
    symbols={
        "a job": "leases i",
        "a span of time": "leases k",
        "GPUs that there are": "leases M_kh",
        "GPUs that a job takes": "leases g_ih",
        "work that is left": "leases RL_i",
        "deadline": "leases DL_ip",
        "what completing is worth": "leases V_ip",
        "whether a job gets it (decided)": "leases x_ik",
        "completion (follows)": "leases s_ip",
    },
    example="chronus_small",
    picture="leases",
)
