"""Gavel's evaluation (section 7 and appendix A.2)."""

from reproduction.gavel.batch import figure_19, table_3
from reproduction.gavel.cost import section_7_3_cost
from reproduction.gavel.estimator import figure_14
from reproduction.gavel.hierarchy import figure_11, figure_21
from reproduction.gavel.load import figure_8, figure_9, figure_10, figure_16, figure_17, figure_18, figure_20
from reproduction.gavel.pairs import figure_1b, figure_15
from reproduction.gavel.rounds import figure_13
from reproduction.gavel.runtime import figure_12
from reproduction.gavel.settings import SIZES, Size

TITLE = "Gavel"
FIGURES = (
    figure_1b,
    table_3,
    figure_8,
    figure_9,
    figure_10,
    section_7_3_cost,
    figure_11,
    figure_12,
    figure_13,
    figure_14,
    figure_15,
    figure_16,
    figure_17,
    figure_18,
    figure_19,
    figure_20,
    figure_21,
)

__all__ = ["FIGURES", "SIZES", "TITLE", "Size"]
