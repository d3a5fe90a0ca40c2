"""The policies by water filling as schedulers: on one level, and over entities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.contract import Knobs
from workbench.decision import Snapshot
from workbench.papers.gavel.allocation import AllocationData, check
from workbench.papers.gavel.entities import HierarchicalData
from workbench.papers.gavel.hierarchical import NAME, Hierarchical, collect, known
from workbench.papers.gavel.matrix import Allocation
from workbench.papers.gavel.partition import spread
from workbench.papers.gavel.policy import scheduler
from workbench.papers.gavel.view import numbers, seen
from workbench.papers.gavel.water_filling import WaterFilling
from workbench.papers.gavel.water_filling_matrix import allocate


def _plain(snapshot: Snapshot, knobs: Knobs, rows: npt.NDArray[np.int64], memory: Any) -> tuple[AllocationData, Any]:
    return AllocationData(**numbers(snapshot, knobs, rows)), None


def _water_filling(data: AllocationData, knobs: Knobs) -> Allocation:
    return allocate(HierarchicalData.single(seen(data, knobs)), str(knobs["optimum"]))


def _of_entities(
    snapshot: Snapshot, knobs: Knobs, rows: npt.NDArray[np.int64], memory: Any
) -> tuple[HierarchicalData, Any]:
    return collect(snapshot, knobs, rows), None


def _hierarchical(data: HierarchicalData, knobs: Knobs) -> Allocation:
    found = allocate(known(data, knobs), str(knobs["optimum"]))
    if knobs["heterogeneity_aware"]:
        return found
    return replace(found, shares=check(data, spread(data, found.shares), NAME))


WATER = (
    scheduler(
        WaterFilling(),
        "Gavel: max-min fairness with water filling",
        _plain,
        _water_filling,
        uses=frozenset({"weight"}),
        authors={"optimum": "interior"},
        signals=("levels",),
    ),
    scheduler(
        Hierarchical(),
        "Gavel: hierarchical fairness over entities",
        _of_entities,
        _hierarchical,
        uses=frozenset({"weight", "entity", "entities.weight", "entities.policy"}),
        authors={"optimum": "interior"},
        signals=("levels",),
    ),
)
