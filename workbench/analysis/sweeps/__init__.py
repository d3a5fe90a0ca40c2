"""Sweeps: grids of knobs x seeds x schedulers, kept run by run in one file, on processes, an executor or a cluster."""

from workbench.analysis.sweeps.api import sweep
from workbench.analysis.sweeps.progress import SweepProgress

__all__ = ["SweepProgress", "sweep"]
