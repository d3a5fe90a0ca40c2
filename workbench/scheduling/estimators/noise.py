"""Believed speeds with an error that is drawn (`Noisy`), and the seed of all estimators that draw something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.knob import Knob


def seed_knob(drawn: str) -> Knob:
    """Of an estimator that leaves something to chance; drawn: what, in words."""
    says = f"Which {drawn} are drawn (none: others for each seed of a run)"
    return Knob("seed", None, says, kind="int", minimum=0, maximum=2**63, optional=True)


def check_drawn(knobs: Iterable[Knob], given: Mapping[str, Any]) -> None:
    """The values of a belief's knobs; raises InputError for one that there is not, and for no seed: a belief is one
    draw, and that of a run is chosen by its maker."""
    for knob in knobs:
        if knob.check(given[knob.name]) is None and knob.name == "seed":
            raise InputError("seed", None, "a whole number of at least 0")


NOISE = (
    Knob("sd", 0.2, "Standard deviation of the logarithm of each error", source="ours", minimum=0.0, maximum=3.0),
    seed_knob("errors"),
)


class Noisy(Oracle):
    """The speeds of types times an error for each model and type that nothing corrects (ours): lognormal, median 1.

    Alone, in gangs and beside another job a model has one error on a type.
    """

    def __init__(self, scenario: Scenario, sd: float, seed: int) -> None:
        check_drawn(NOISE, {"sd": sd, "seed": seed})
        kinds = sorted({(row.model, row.accelerator) for row in scenario.throughputs})
        drawn = np.random.default_rng(seed).standard_normal(len(kinds))
        error = dict(zip(kinds, np.exp(sd * drawn).tolist(), strict=True))
        alone = [
            row.model_copy(update={"steps_per_s": row.steps_per_s * error[row.model, row.accelerator]})
            for row in scenario.throughputs
        ]
        beside = [
            row.model_copy(
                update={
                    "steps_per_s": row.steps_per_s * error[row.model, row.accelerator],
                    "with_steps_per_s": row.with_steps_per_s * error[row.with_model, row.accelerator],
                }
            )
            for row in scenario.colocated
        ]
        super().__init__(scenario.replace(throughputs=alone, colocated=beside))
