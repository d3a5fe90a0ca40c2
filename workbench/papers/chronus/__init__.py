"""Chronus: leases for jobs with deadlines, guaranteed once admitted, placed consolidated (Gao et al.)."""

from workbench.papers.chronus.leases import Leases

TITLE = "Chronus"
FORMULATIONS = (Leases(),)
SCHEDULERS = ()

__all__ = ["FORMULATIONS", "SCHEDULERS", "TITLE"]
