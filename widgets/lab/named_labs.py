"""`GavelLab` and its like: a lab for each paper under a name of its own, made from the papers that there are."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from widgets.lab.lab import Lab
from workbench.scenario.scenario import Scenario
from workbench.session.registry import rooms

SUFFIX = "Lab"


@cache
def named_lab(name: str) -> type[Lab]:
    """The class called `name`: a paper's name and `Lab`; raises AttributeError if there is no such paper."""
    paper = name.removesuffix(SUFFIX).lower()
    known = [room.name for room in rooms() if room.schedulers and room.formulations] if name.endswith(SUFFIX) else []
    if paper not in known:
        raise AttributeError(f"module 'widgets' has no attribute {name!r}; labs: {', '.join(map(_named, known))}")

    def __init__(self: Lab, scenario: Scenario | str | Path | None = None, scheduler: str | None = None) -> None:
        Lab.__init__(self, paper, scenario, scheduler)

    return type(name, (Lab,), {"__doc__": f"The lab of {paper}.", "__init__": __init__, "__module__": "widgets"})


def _named(paper: str) -> str:
    return paper.capitalize() + SUFFIX
