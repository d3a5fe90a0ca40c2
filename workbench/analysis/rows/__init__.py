"""The rows of a solved problem with their numbers; one row relaxed, or left out, and what that changes."""

from workbench.analysis.rows.change import RowChange, relax, without
from workbench.analysis.rows.table import rows

__all__ = ["RowChange", "relax", "rows", "without"]
