"""Panels for notebooks: labs, and the chart view and editable table that they are made of.

`Lab("gavel")` is the lab of a paper; `from widgets import GavelLab` gives it a name of its own, for every paper.
"""

from typing import Any

from widgets.startup import quick_imports

with quick_imports():
    from widgets.edit_table import Column, EditTable
    from widgets.lab import Lab
    from widgets.named_labs import named_lab
    from widgets.plain_errors import show_errors_in_words
    from widgets.vega_view import VegaView

show_errors_in_words()

__all__ = ["Column", "EditTable", "Lab", "VegaView"]


def __getattr__(name: str) -> Any:
    return named_lab(name)
