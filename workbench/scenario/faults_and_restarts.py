"""What goes wrong and what moving costs, for every scheduler alike: restarts, outages of nodes, checkpoints."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from workbench.scenario.frozen import (
    LEAST_MTBF_S,
    MOST_RESTART_S,
    MOST_S,
    Frozen,
    Name,
    PositiveSeconds,
    Seconds,
)


class Restart(Frozen):
    """Seconds lost when a job that has run before starts again elsewhere or after a pause.

    fixed: restart_s; log2: restart_s x (1 + log2 GPUs). A job's first start is free (ours).
    """

    law: Literal["fixed", "log2"] = "fixed"
    restart_s: Annotated[float, Field(strict=True, ge=0, le=MOST_RESTART_S)] = 0.0

    def seconds(self, gpus: int) -> float:
        """What one restart on so many GPUs costs."""
        return self.restart_s * (1.0 + math.log2(gpus) if self.law == "log2" else 1.0)


class Outage(Frozen):
    """A node that is down from `from_s` (inclusive) to `to_s`; drain: what runs there goes on, and nothing starts."""

    node: Name
    from_s: Seconds
    to_s: PositiveSeconds
    drain: Annotated[bool, Field(strict=True)] = False


class Faults(Frozen):
    """Outages: listed, and drawn per node with exponential times between failures (mean) and of repair (mean)."""

    mtbf_s: Annotated[float, Field(strict=True, ge=LEAST_MTBF_S, le=MOST_S)] | None = None
    mttr_s: PositiveSeconds | None = None
    list: tuple[Outage, ...] = ()


class Core(Frozen):
    """What holds for every scheduler alike.

    checkpoint_s: a fault loses the steps since the last whole multiple of it in the current run of the job; None: all
    steps since the job's last start.
    """

    restart: Restart = Restart()
    space_sharing: Annotated[bool, Field(strict=True)] = False
    checkpoint_s: PositiveSeconds | None = None
    faults: Faults = Faults()
