"""Hare's evaluation (sections 2.2 and 7)."""

from reproduction.hare.changes import figure_4, reasons
from reproduction.hare.settings import SIZES, Size
from reproduction.hare.simulated import (
    figure_14,
    figure_15,
    figure_16,
    figure_17,
    figure_18,
    figure_19,
)
from reproduction.hare.switches import figure_7, table_3
from reproduction.hare.testbed import figure_12, figure_13

TITLE = "Hare"
FIGURES = (
    figure_4,
    figure_7,
    table_3,
    figure_12,
    figure_13,
    figure_14,
    figure_15,
    figure_16,
    figure_17,
    figure_18,
    figure_19,
    reasons,
)

__all__ = ["FIGURES", "SIZES", "TITLE", "Size"]
