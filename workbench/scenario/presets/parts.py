"""What the papers' presets are built of: nodes, clusters, schedulers, and streams of random numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.scenario.presets.catalogue import Data
from workbench.scenario.traces import builtin

HOUR = 3600.0


def entries_of(*schedulers: str) -> list[Data]:
    """What a lab opens with: these schedulers with their default knobs."""
    return [{"scheduler": name} for name in schedulers]


def streams(seed: int, count: int) -> list[np.random.Generator]:
    """Independent streams of random numbers, so that changing one draw leaves the others as they were."""
    return [np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(count)]


def node_groups(*groups: tuple[str, str, int, int] | tuple[str, str, int, int, float]) -> list[Data]:
    """Node groups from (name, type, nodes, GPUs each[, speed])."""
    keys = ("name", "accelerator", "count", "gpus", "speed")
    return [dict(zip(keys, group, strict=False)) for group in groups]


def cluster_of(nodes: Sequence[Data], network_gbps: float | None = None) -> Data:
    """A cluster of node groups, its types as the built-in table has them."""
    types = dict.fromkeys(node["accelerator"] for node in nodes)
    network = {} if network_gbps is None else {"network_gbps": network_gbps}
    return {"accelerators": [builtin.accelerator(t) for t in types], "nodes": list(nodes), **network}
