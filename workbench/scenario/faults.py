"""What goes wrong, for every scheduler alike: outages of nodes, listed, or drawn as a run goes on
(`NodeChanges` in `simulation/nodes.py`)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from workbench.scenario.frozen import LEAST_MTBF_S, MOST_S, Frozen, Name, PositiveSeconds, Seconds


class Outage(Frozen):
    """A node that is down from `from_s` (inclusive) to `to_s`.

    drain: what runs there goes on, to the end of its round with a scheduler that hands out the GPUs that are up anew in
    every round, and nothing starts.
    """

    node: Name
    from_s: Seconds
    to_s: PositiveSeconds
    drain: Annotated[bool, Field(strict=True)] = False


class Faults(Frozen):
    """Outages: listed, and drawn per node with exponential times between failures (mean) and of repair (mean)."""

    mtbf_s: Annotated[float, Field(strict=True, ge=LEAST_MTBF_S, le=MOST_S)] | None = None
    mttr_s: PositiveSeconds | None = None
    list: tuple[Outage, ...] = ()
