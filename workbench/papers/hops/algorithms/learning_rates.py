"""Learning rates of elastic jobs (Hops, section 2.2): a gang of another size trains on another global batch.

The batch of a GPU stays as it is, so the global batch grows with the gang, and the learning rate with it: in proportion
(Goyal et al., 2017) or with its square root (Krizhevsky, 2014). A user may also give a rate for every size.
"""

from __future__ import annotations

import math
from typing import Literal

RateScaling = Literal["linear", "square_root"]


def learning_rate(rate: float, reference_gpus: int, gpus: int, rule: RateScaling = "linear") -> float:
    """A rate that was chosen for one size of gang, for another one."""
    ratio = gpus / reference_gpus
    return rate * (ratio if rule == "linear" else math.sqrt(ratio))
