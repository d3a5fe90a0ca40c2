"""Placed types (Gavel, section 3.1): accelerator types, or each of them twice, for gangs together and for gangs spread.

Both placements of an accelerator type share its GPUs. A gang is *consolidated* on the fewest nodes of the type that
could hold it, and *spread* on any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray, fixed
from workbench.scenario.cluster import Cluster
from workbench.scheduling.decision import PlacedType
from workbench.scheduling.snapshot import JobView, Snapshot


def placed_types(cluster: Cluster, knobs: Mapping[str, Any]) -> tuple[PlacedType, ...]:
    """The accelerator types; with the knob `placement_sensitive`, those with several nodes in both placements."""
    if not knobs.get("placement_sensitive", False):
        return tuple(map(PlacedType, cluster.types))
    nodes = [node.accelerator for node in cluster.each_node]
    together = [PlacedType(name, "consolidated") for name in cluster.types]
    return (*together, *(PlacedType(name, "unconsolidated") for name in cluster.types if nodes.count(name) > 1))


def accelerators_of(kinds: Sequence[PlacedType], types: Sequence[str]) -> IntArray:
    """(placed types,) position of each one's accelerator type, to be read only."""
    return _accelerators_of(tuple(kinds), tuple(types))


@lru_cache(maxsize=32)
def _accelerators_of(kinds: tuple[PlacedType, ...], types: tuple[str, ...]) -> IntArray:
    return fixed(np.array([types.index(kind.accelerator) for kind in kinds], dtype=np.int64))


def speeds(snapshot: Snapshot, jobs: JobView, kinds: Sequence[PlacedType]) -> FloatArray:
    """(jobs x placed types) steps/s of each job's gang as believed; 0 where it cannot run or be so placed."""
    all_of_them = jobs is snapshot.jobs
    known = {
        word: snapshot.speeds(word) if all_of_them else snapshot.belief.speeds(jobs, word)
        for word in dict.fromkeys(kind.word for kind in kinds)
    }
    if kinds and not any(kind.placement for kind in kinds):
        return known["consolidated"][:, accelerators_of(kinds, snapshot.types)]
    found = np.empty((len(jobs), len(kinds)))
    for column, kind in enumerate(kinds):
        found[:, column] = known[kind.word][:, snapshot.types.index(kind.accelerator)]
        if kind.placement is not None:
            found[~_placeable(snapshot, jobs.gpus, kind), column] = 0.0
    return found


def _placeable(snapshot: Snapshot, gangs: IntArray, kind: PlacedType) -> BoolArray:
    """(jobs,) whether the nodes that are up can hold a gang in that placement, were they free."""
    nodes = snapshot.nodes
    mine = nodes.up & (nodes.kind == snapshot.types.index(kind.accelerator))
    held = np.cumsum(np.sort(nodes.gpus[mine])[::-1])

    def can(gang: int) -> bool:
        fewest = snapshot.cluster.fewest_nodes(kind.accelerator, gang)
        if fewest is None or not len(held) or gang > held[-1]:
            return False
        if kind.placement == "consolidated":
            return bool(np.searchsorted(held, gang) < fewest)
        return min(gang, len(held)) > fewest

    sizes, where = np.unique(gangs, return_inverse=True)
    answers: BoolArray = np.array([can(size) for size in sizes.tolist()], dtype=bool)[where]
    return answers
