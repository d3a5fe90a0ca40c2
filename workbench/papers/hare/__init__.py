"""Hare: jobs as rounds of tasks that synchronise, tasks of different jobs interleaved on each GPU (Chen et al.)."""

from workbench.papers.hare.exact import Exact
from workbench.papers.hare.explain import EXPLAIN
from workbench.papers.hare.interval_lp import IntervalLP
from workbench.papers.hare.relaxed import Relaxation
from workbench.papers.hare.scheduler import Hare
from workbench.papers.hare.studies import STUDIES
from workbench.papers.hare.time_indexed import TimeIndexed
from workbench.papers.hare.time_indexed_lp import TimeIndexedLP

TITLE = "Hare"
FORMULATIONS = (Exact(), Relaxation(), TimeIndexed(), TimeIndexedLP(), IntervalLP())
SCHEDULERS = (Hare(),)

__all__ = ["EXPLAIN", "FORMULATIONS", "SCHEDULERS", "STUDIES", "TITLE"]
