r"""What the first plan of a round is charged for being made (Hops, 4.2 and 4.7), from a model, never wall time.

decision_s = c (GPUs / 512)^2 * (1 up to 1000 GPUs, 1/3 above)                                                   (ours)

GPUs are those that the plan gives out. With c = 6 s this is 0.1 s on 64 GPUs (the paper: below 1 s under 100), 6 s on
512 (within 10 s), 8 s on 1000 (6 s) and 17 s on 1500 (17 s), both at the larger gap, which is 3 times faster. Charged
in whole seconds; later plans of a round, on few GPUs, are not charged.
"""

from __future__ import annotations

import math

from workbench.base.boundaries import LONGEST_ROUND_S
from workbench.papers.hops.knobs import LARGE
from workbench.scheduling.knob import Knob

REFERENCE_GPUS, FASTER = 512, 3.0

DECISION_S = Knob(
    "decision_s",
    6.0,
    "Seconds for which jobs go on as before while a first plan for 512 GPUs is made; grows with the square of the "
    "GPUs; 0: none",
    "s",
    minimum=0.0,
    maximum=LONGEST_ROUND_S,
)


def decision_s(gpus: int, reference_s: float) -> float:
    """Whole seconds that a plan for so many GPUs takes; reference_s: for 512."""
    seconds = reference_s * (gpus / REFERENCE_GPUS) ** 2
    return float(math.floor(seconds if gpus <= LARGE else seconds / FASTER))
