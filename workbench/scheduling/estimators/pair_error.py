"""How far a belief's speeds of pairs are from the true ones."""

from __future__ import annotations

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.snapshot import Belief


def pair_errors(scenario: Scenario, belief: Belief) -> FloatArray:
    """|believed - true| / true of both members of each of the scenario's pairs that may share (`colocated`).

    On types of which the cluster has no node nobody shares.
    """
    errors: list[float] = []
    for row in scenario.colocated:
        true = np.array([row.steps_per_s, row.with_steps_per_s])
        if true.min() <= 0 or row.accelerator not in scenario.cluster.types:
            continue
        one, two = (Job(name=name, model=name, steps=1, gpus=row.gpus) for name in (row.model, row.with_model))
        believed = belief.pair(one, two, row.accelerator, row.placement)
        errors += (np.abs(np.array(believed or (0.0, 0.0)) - true) / true).tolist()
    return np.array(errors)
