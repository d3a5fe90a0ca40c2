"""The rows of a solved problem with their numbers; one row relaxed, or left out, and what that changes."""

from workbench.analysis.rows.relax_and_without import RowChange, relax, without
from workbench.analysis.rows.slack_and_duals import rows

__all__ = ["RowChange", "relax", "rows", "without"]
