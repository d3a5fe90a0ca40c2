"""The slider over the numbers that what is changed of a row can become, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Sequence

import ipywidgets as w

from workbench.analysis.rows.edit import Edit, NumberEdit
from workbench.base.rounding import short_number

STEPS = 20
"""From a right side to either end of its slider, which is as far off as it is large, at least 1; from nothing to a
number of the model. The field beside it takes any number."""
MORE = 4
"""To what more than a whole number its slider goes, at least."""


def is_unchanged(edit: Edit) -> bool:
    """Whether the number is as it was."""
    return edit.after is not None and math.isclose(edit.after, edit.before, abs_tol=1e-12)


def number_slider(numbers: Sequence[float], name: str) -> w.SelectionSlider:
    """One over these; name: for a screen reader."""
    found = w.SelectionSlider(
        options=[(written(number), number) for number in numbers],
        description=name,
        readout=False,
        continuous_update=True,
        layout={"width": "8em"},
    )
    found.add_class("wb-row-right")
    return found


def written(value: float) -> str:
    """A number as people read it, and as it is typed."""
    return short_number(value).replace(",", "")


def offered_numbers(edit: Edit) -> list[float]:
    """The numbers that the slider of what is dragged has, that which it is among them; rising."""
    before = edit.before
    if isinstance(edit, NumberEdit) and edit.whole:
        low, high = round(min(before, 1.0)), round(before + max(MORE, before))
        return sorted({before, *map(float, range(low, high + 1, math.ceil((high - low) / (2 * STEPS))))})
    if isinstance(edit, NumberEdit) and before:
        numbers = sorted(before * (place / STEPS) for place in range(1, 2 * STEPS + 1))
    else:
        far = max(1.0, abs(before))
        numbers = [before + far * (place / STEPS) for place in range(-STEPS, STEPS + 1)]
    return [number if number == before else float(f"{number:.12g}") for number in numbers]
