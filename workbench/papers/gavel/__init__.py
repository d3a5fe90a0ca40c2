"""Gavel: heterogeneity-aware scheduling policies (Narayanan et al., OSDI 2020)."""

from workbench.papers.gavel.max_min_fairness import MaxMinFairness
from workbench.papers.gavel.scheduler import SCHEDULERS

TITLE = "Gavel"
FORMULATIONS = (MaxMinFairness(),)

__all__ = ["FORMULATIONS", "SCHEDULERS", "TITLE"]
