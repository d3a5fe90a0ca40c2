"""The policies by water filling as schedulers: on one level, and over entities."""

from __future__ import annotations

from dataclasses import replace

from workbench.papers.gavel.allocation import AllocationData, check
from workbench.papers.gavel.entities import HierarchicalData
from workbench.papers.gavel.hierarchical import NAME, Hierarchical, collect, known
from workbench.papers.gavel.matrix import Allocation
from workbench.papers.gavel.partition import spread
from workbench.papers.gavel.policy import forgetful, scheduler
from workbench.papers.gavel.view import gather, seen
from workbench.papers.gavel.water_filling import WaterFilling
from workbench.papers.gavel.water_filling_matrix import allocate
from workbench.scheduling.contract import Knobs


def _water_filling(data: AllocationData, knobs: Knobs) -> Allocation:
    return allocate(HierarchicalData.single(seen(data, knobs)), str(knobs["optimum"]))


def _hierarchical(data: HierarchicalData, knobs: Knobs) -> Allocation:
    found = allocate(known(data, knobs), str(knobs["optimum"]))
    if knobs["heterogeneity_aware"]:
        return found
    return replace(found, shares=check(data, spread(data, found.shares), NAME))


WATER = (
    scheduler(
        WaterFilling(),
        "Gavel: max-min fairness with water filling",
        forgetful(gather),
        _water_filling,
        uses=frozenset({"weight"}),
        authors={"optimum": "interior"},
        signals=("levels",),
    ),
    scheduler(
        Hierarchical(),
        "Gavel: hierarchical fairness over entities",
        forgetful(collect),
        _hierarchical,
        uses=frozenset({"weight", "entity", "entities.weight", "entities.policy"}),
        authors={"optimum": "interior"},
        signals=("levels",),
    ),
)
