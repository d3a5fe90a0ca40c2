"""Hops's evaluation (sections 4.2 to 4.7)."""

from reproduction.hops.ablation import figure_13
from reproduction.hops.physical import figure_9, figure_10, reasons, table_3
from reproduction.hops.planning import figure_14, figure_15
from reproduction.hops.settings import SIZES, Size
from reproduction.hops.simulated import figure_11, figure_12, table_4

TITLE = "Hops"
FIGURES = (
    table_3,
    figure_9,
    reasons,
    figure_10,
    table_4,
    figure_11,
    figure_12,
    figure_13,
    figure_14,
    figure_15,
)

__all__ = ["FIGURES", "SIZES", "TITLE", "Size"]
