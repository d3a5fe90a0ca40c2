"""Panels for notebooks: labs, and the chart view and editable table that they are made of.

`Lab("gavel")` is the lab of a paper; `from widgets import GavelLab` gives it a name of its own, for every paper.
Public names are loaded when first used, as in `workbench`: the process that will do a lab's work starts before that.
"""

import importlib
from typing import TYPE_CHECKING, Any

from widgets.plain_errors import show_errors_in_words
from widgets.startup import quick_imports

if TYPE_CHECKING:
    from widgets.edit_table import Column as Column
    from widgets.edit_table import EditTable as EditTable
    from widgets.lab import Lab as Lab
    from widgets.vega_view import VegaView as VegaView

_MODULES = {"Column": "edit_table", "EditTable": "edit_table", "Lab": "lab", "VegaView": "vega_view"}

__all__ = ["Column", "EditTable", "Lab", "VegaView"]

show_errors_in_words()


def __getattr__(name: str) -> Any:
    """A public name, loaded from its module, or the lab of a paper by its own name."""
    if name not in _MODULES and not name.endswith("Lab"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name.endswith("Lab"):
        from widgets.work import process_work

        process_work()  # imports for itself, beside what follows
    with quick_imports():
        if name in _MODULES:
            return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        from widgets.named_labs import named_lab

        return named_lab(name)


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
