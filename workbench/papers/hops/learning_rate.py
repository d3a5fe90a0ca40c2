"""Learning rates of elastic jobs (Hops, section 2.2): a gang of another size trains on another global batch.

The batch of a GPU stays as it is, so the global batch grows with the gang, and the learning rate with it: in proportion
(Goyal et al., 2017) or with its square root (Krizhevsky, 2014). A user may also give a rate for every size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from workbench.base.errors import InputError
from workbench.scheduling.knob import Knob

Rule = Literal["linear", "square_root"]

RULE = Knob(
    "learning_rate",
    "linear",
    "How the learning rate follows the size of an elastic job: in proportion, or with its square root; recorded as the "
    "signal learning_rate, over that of the job's smallest size",
    source="paper",
    kind="str",
    choices=get_args(Rule),
)


def learning_rates(sizes: Iterable[int], given: Mapping[int, float], rule: Rule = "linear") -> dict[int, float]:
    """The learning rate of each size of a requirement set, from those a user gave.

    given: `{GPUs: rate}` of every size, taken as they are, or of one size, scaled by the rule. Raises InputError for
    anything between, rates that are not above 0, and sizes or rules that there are not.
    """
    wanted = list(sizes)
    for size, rate in given.items():
        if size not in wanted:
            raise InputError("learning rates", size, f"a size of the requirement set, one of {wanted}")
        if not (math.isfinite(rate) and rate > 0):
            raise InputError(f"learning rates, {size} GPUs", rate, "a finite number > 0")
    if rule not in get_args(Rule):
        raise InputError("learning rates, rule", rule, "one of " + ", ".join(get_args(Rule)))
    if set(given) == set(wanted):
        return {size: float(given[size]) for size in wanted}
    if len(given) != 1:
        raise InputError("learning rates", sorted(given), f"a rate of one size, or of all {len(wanted)}")
    [(reference, rate)] = given.items()
    return {size: scaled(rate, reference, size, rule) for size in wanted}


def scaled(rate: float, reference_gpus: int, gpus: int, rule: Rule = "linear") -> float:
    """A rate that was chosen for one size of gang, for another one."""
    ratio = gpus / reference_gpus
    return rate * (ratio if rule == "linear" else math.sqrt(ratio))
