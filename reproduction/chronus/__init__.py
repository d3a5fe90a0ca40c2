"""Chronus's evaluation (section 5)."""

from reproduction.chronus.allocator import figure_8a, figure_8b
from reproduction.chronus.end_to_end import figure_9ab, figure_9cf, reasons
from reproduction.chronus.first_days import first_days
from reproduction.chronus.profiler import figure_6a, figure_6b, figure_6c, figure_6d
from reproduction.chronus.selector import figure_7a, figure_7b, figure_7c, figure_7d
from reproduction.chronus.settings import SIZES, Size

TITLE = "Chronus"
FIGURES = (
    figure_6a,
    figure_6b,
    figure_6c,
    figure_6d,
    figure_7a,
    figure_7b,
    figure_7c,
    figure_7d,
    figure_8a,
    figure_8b,
    figure_9ab,
    figure_9cf,
    first_days,
    reasons,
)

__all__ = ["FIGURES", "SIZES", "TITLE", "Size"]
