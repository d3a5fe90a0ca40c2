"""Hadar and HadarE: task-level heterogeneity-aware scheduling by prices, and forked copies of jobs (Sultana et al.)."""

from workbench.papers.hadar.dual import Dual
from workbench.papers.hadar.explain import EXPLAIN
from workbench.papers.hadar.hadare.scheduler import HadarE
from workbench.papers.hadar.offline import Offline
from workbench.papers.hadar.round import Round
from workbench.papers.hadar.scheduler import Hadar
from workbench.papers.hadar.schedules import Schedules

TITLE = "Hadar"
FORMULATIONS = (
    Offline(),
    Schedules(),
    Dual(),
    Round(),
)
SCHEDULERS = (Hadar(), HadarE())

__all__ = ["EXPLAIN", "FORMULATIONS", "SCHEDULERS", "TITLE"]
