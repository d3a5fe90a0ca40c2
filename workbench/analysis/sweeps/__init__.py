"""Sweeps: grids of knobs x seeds x schedulers, kept run by run in one file, on processes, an executor or a cluster."""

from workbench.analysis.sweeps.sweeping import SweepProgress, sweep

__all__ = ["SweepProgress", "sweep"]
