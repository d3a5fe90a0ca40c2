"""Hops: fine-grained heterogeneity, latency-ratio fairness and prior-weighted integer programmes (SoCC 2024)."""

from workbench.papers.hops import explain
from workbench.papers.hops.formulations.round import HopsRound
from workbench.papers.hops.scheduler import Hops
from workbench.scheduling.declared_room import Room

ROOM = Room(
    name="hops",
    title="Hops",
    citation="Hops: Fine-grained heterogeneous sensing, efficient and fair Deep Learning cluster scheduling system "
    "(Wang and others, SoCC 2024)",
    notebook="04_hops",
    formulations=(HopsRound(),),
    schedulers=(Hops(),),
    explanations={"hops": explain.explain},
    estimators=("layered",),
    symbols={
        "a job": "round i",
        "a single server or GPU": "round t",
        "a way to run a job": "round i,j",
        "GPUs that there are": "round S_t",
        "GPUs that a job takes": "round Consume_ijt",
        "speed": "round G_ij",
        "weight or priority": "round W_i",
        "whether a job gets it (decided)": "round X_ij",
    },
    example="hops_example",
)
