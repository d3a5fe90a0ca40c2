"""Chronus: leases for jobs with deadlines, guaranteed once admitted, placed consolidated (Gao et al.)."""

from workbench.papers.chronus.admission_study import STUDIES
from workbench.papers.chronus.explain import EXPLAIN
from workbench.papers.chronus.leases import Leases
from workbench.papers.chronus.scheduler import Chronus

TITLE = "Chronus"
FORMULATIONS = (Leases(),)
SCHEDULERS = (Chronus(),)

__all__ = ["EXPLAIN", "FORMULATIONS", "SCHEDULERS", "STUDIES", "TITLE"]
