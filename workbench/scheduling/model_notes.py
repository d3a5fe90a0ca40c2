"""What is known of a built model beside its parts: what `build`, a session and a reader tell each other of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class ModelNotes:
    """Of one model.

    scale: a unit of its objective in those of the result, as models may be solved in what suits a solver; stated: its
    active objectives, what they are of and their senses, before a session changed any; own_objective: whether its
    objective may be another than the one that the reader computes anew; other_numbers: whether `set_number` gave it
    any; in_turn: whether it was solved for parts of the objective one after the other, in other units.
    """

    scale: float = 1.0
    stated: tuple[tuple[Any, Any, Any], ...] = ()
    own_objective: bool = False
    other_numbers: bool = False
    in_turn: bool = False


def notes(model: Any) -> ModelNotes:
    """Those of a Pyomo model, with which they stay."""
    if not hasattr(model, "_notes"):
        model._notes = ModelNotes()
    found: ModelNotes = model._notes
    return found
