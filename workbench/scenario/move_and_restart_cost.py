"""What it costs a job to start again, elsewhere or after a pause, for every scheduler alike."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from workbench.scenario.frozen import MOST_RESTART_S, Frozen


class Restart(Frozen):
    """Seconds lost when a job that has run before starts again elsewhere or after a pause.

    fixed: restart_s; log2: restart_s x (1 + log2 GPUs). A job's first start is free (ours).
    """

    law: Literal["fixed", "log2"] = "fixed"
    restart_s: Annotated[float, Field(strict=True, ge=0, le=MOST_RESTART_S)] = 0.0

    def seconds(self, gpus: int) -> float:
        """What one restart on so many GPUs costs."""
        return self.restart_s * (1.0 + math.log2(gpus) if self.law == "log2" else 1.0)
