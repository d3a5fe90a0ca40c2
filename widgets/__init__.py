"""Panels for notebooks: labs, a run's schedule with playback, guesses and exercises, and the parts they are made of.

`Lab("gavel")` is the lab of a paper; `from widgets import GavelLab` gives it a name of its own, for every paper
(`GoodputFairLab` of a room goodput_fair).
Public names are loaded when first used, as in `workbench`: the process that will do a lab's work starts before that.
"""

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

from widgets.parts.startup import hear_in_one_thread, quick_imports, show_errors_in_words

if TYPE_CHECKING:
    from widgets.compare_lab import CompareLab as CompareLab
    from widgets.lab.lab import Lab as Lab
    from widgets.lab.scene import Scene as Scene
    from widgets.lessons.draw import Draw as Draw
    from widgets.lessons.exercise import Exercise as Exercise
    from widgets.lessons.guess import Guess as Guess
    from widgets.parts.edit_table import EditColumn as EditColumn
    from widgets.parts.edit_table import EditTable as EditTable
    from widgets.parts.gantt_view import GanttView as GanttView
    from widgets.parts.vega_view import VegaView as VegaView
    from widgets.what_if_lab import WhatIfLab as WhatIfLab

_MODULES = {
    "CompareLab": "compare_lab",
    "Draw": "lessons.draw",
    "EditColumn": "parts.edit_table",
    "EditTable": "parts.edit_table",
    "Exercise": "lessons.exercise",
    "GanttView": "parts.gantt_view",
    "Guess": "lessons.guess",
    "Lab": "lab.lab",
    "Scene": "lab.scene",
    "VegaView": "parts.vega_view",
    "WhatIfLab": "what_if_lab",
}

__all__ = [*_MODULES]

hear_in_one_thread()
show_errors_in_words()


def __getattr__(name: str) -> Any:
    """A public name, loaded from its module, or the lab of a paper by its own name."""
    if name not in _MODULES and not name.endswith("Lab"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name.endswith("Lab"):
        from widgets.work.process import process_work

        process_work()  # imports for itself, beside what follows
    with quick_imports():
        if name in _MODULES:
            return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        return _named_lab(name)


@cache
def _named_lab(name: str) -> type:
    """The class called `name`, of a paper with a formulation and a scheduler: its room's name as Python names classes,
    and `Lab`: `GavelLab`, and of a room goodput_fair `GoodputFairLab`.

    Raises AttributeError if there is no such paper, and InputError with the reason if its room was left out.
    """
    from widgets.lab.lab import Lab
    from workbench.session.registry import skipped_rooms, unknown_name

    papers = _papers()
    if name not in papers:
        for room in skipped_rooms():
            if name == _lab_of(room):
                raise unknown_name("lab", room, papers)
        labs = ", ".join([*(each for each in __all__ if each.endswith("Lab")), *papers])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; labs: {labs} (sweep a knob: page Vary)")
    paper = papers[name]

    def __init__(self: Lab, scenario: Any = None, scheduler: str | None = None, knobs: Any = ()) -> None:
        Lab.__init__(self, paper, scenario, scheduler, knobs)

    return type(name, (Lab,), {"__doc__": f"The lab of {paper}.", "__init__": __init__, "__module__": __name__})


def _lab_of(room: str) -> str:
    return "".join(word.capitalize() for word in room.split("_")) + "Lab"


def _papers() -> dict[str, str]:
    """Names of labs, and of the rooms that they are of."""
    from workbench.session.registry import rooms

    return {_lab_of(room.name): room.name for room in rooms() if room.schedulers and room.formulations}


def __dir__() -> list[str]:
    """The public names, the papers' labs among them."""
    return [*__all__, *_papers()]
