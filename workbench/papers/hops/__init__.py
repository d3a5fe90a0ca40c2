"""Hops: fine-grained heterogeneity, latency-ratio fairness and prior-weighted integer programmes (SoCC 2024)."""

from workbench.papers.hops.explain import EXPLAIN
from workbench.papers.hops.round import Round
from workbench.papers.hops.scheduler import SCHEDULERS

TITLE = "Hops"
FORMULATIONS = (Round(),)

__all__ = ["EXPLAIN", "FORMULATIONS", "SCHEDULERS", "TITLE"]
