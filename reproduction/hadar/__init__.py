"""Hadar's and HadarE's evaluation (sections IV and VI)."""

from reproduction.hadar.physical import figure_8, figure_9, figure_10
from reproduction.hadar.quality import table_4
from reproduction.hadar.scalability import figure_5
from reproduction.hadar.settings import SIZES, Size
from reproduction.hadar.slots import figure_11, figure_12
from reproduction.hadar.trace import changed_rounds, figure_3, figure_4, round_length

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
