"""Hadar's and HadarE's evaluation (sections IV and VI)."""

from workbench.reproduction.hadar.physical import figure_8, figure_9, figure_10
from workbench.reproduction.hadar.quality import table_4
from workbench.reproduction.hadar.scalability import figure_5
from workbench.reproduction.hadar.settings import SIZES, Size
from workbench.reproduction.hadar.slots import figure_11, figure_12
from workbench.reproduction.hadar.trace import changed_rounds, figure_3, figure_4, round_length

TITLE = "Hadar"
FIGURES = (
    figure_3,
    figure_4,
    figure_5,
    changed_rounds,
    round_length,
    figure_8,
    figure_9,
    figure_10,
    table_4,
    figure_11,
    figure_12,
)

__all__ = ["FIGURES", "SIZES", "TITLE", "Size"]
