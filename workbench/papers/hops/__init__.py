"""Hops: fine-grained heterogeneity, latency-ratio fairness and prior-weighted integer programmes (SoCC 2024)."""

from workbench.papers.hops.round import Round
from workbench.papers.hops.scheduler import SCHEDULERS
from workbench.papers.hops.telling import EXPLAIN

TITLE = "Hops"
FORMULATIONS = (Round(),)

__all__ = ["EXPLAIN", "FORMULATIONS", "SCHEDULERS", "TITLE"]
