"""The estimators by name, for the command line and labs: `oracle`, `low_rank`, `low_rank:profiled=0.5`, `layered`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from workbench.decision import Belief
from workbench.errors import InputError
from workbench.estimators import layered, low_rank
from workbench.estimators.layered import Layered
from workbench.estimators.low_rank import LowRank
from workbench.estimators.oracle import Oracle
from workbench.estimators.pmi import Pmi
from workbench.knob import Knob, settle
from workbench.scenario import Scenario


class Estimator(NamedTuple):
    """A kind of belief. make: from a scenario and the knobs, as keywords."""

    name: str
    title: str
    make: Callable[..., Belief]
    knobs: tuple[Knob, ...] = ()


ESTIMATORS = (
    Estimator("oracle", "The true speeds", Oracle),
    Estimator("low_rank", "Gavel's estimator of the speeds of pairs", LowRank, low_rank.KNOBS),
    Estimator("pmi", "HadarE's first estimate of throughputs, replaced by what is measured", Pmi),
    Estimator("layered", "Hops's estimator: servers, types, and a formula", Layered, layered.KNOBS),
)


def maker(text: str) -> Callable[[Scenario], Belief]:
    """What makes the belief `NAME` or `NAME:knob=value,knob=value` for a scenario.

    Raises InputError for a name, a knob or a value that there is not.
    """
    name, _, rest = text.partition(":")
    known = {estimator.name: estimator for estimator in ESTIMATORS}
    if name.strip() not in known:
        raise InputError("belief", text, "one of " + ", ".join(known) + ", and knobs such as low_rank:profiled=0.5")
    found = known[name.strip()]
    given: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in rest.split(","))):
        knob, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or knob in given:
            raise InputError("belief", part, f"knob=value, each knob of {found.name} at most once")
        given[knob] = value
    knobs = settle(found.knobs, given, f"belief {found.name}")
    return lambda scenario: found.make(scenario, **knobs)
