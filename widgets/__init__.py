"""Panels for notebooks: labs, and the chart view and editable table that they are made of."""

import widgets.startup  # isort: skip  # noqa: F401
from widgets.edit_table import Column, EditTable
from widgets.lab import GavelLab, Lab
from widgets.vega_view import VegaView

__all__ = ["Column", "EditTable", "GavelLab", "Lab", "VegaView"]
