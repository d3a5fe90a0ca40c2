"""Chronus: leases for jobs with deadlines, guaranteed once admitted, placed consolidated (Gao et al.)."""

from workbench.papers.chronus.explaining import STUDIES
from workbench.papers.chronus.leases import Leases
from workbench.papers.chronus.scheduler import Chronus
from workbench.papers.chronus.telling import EXPLAIN

TITLE = "Chronus"
FORMULATIONS = (Leases(),)
SCHEDULERS = (Chronus(),)

__all__ = ["EXPLAIN", "FORMULATIONS", "SCHEDULERS", "STUDIES", "TITLE"]
