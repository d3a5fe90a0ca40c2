"""What the cost policies know besides speeds: prices, and what an allocation costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.base.errors import InputError
from workbench.papers.gavel.allocation import AllocationData
from workbench.papers.gavel.view import numbers
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import Snapshot

EXPECTED = "a price > 0, in USD per GPU and hour"


@dataclass(frozen=True, eq=False, kw_only=True)
class PricedData(AllocationData):
    """The numbers of an allocation, and price: (accelerators,) USD per GPU and hour, > 0."""

    price: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shaped("price", (len(self.accelerators),))
        for name, price in zip(self.accelerators, self.price.tolist(), strict=True):
            if not (np.isfinite(price) and price > 0):
                raise InputError(f"accelerator {name}, price_per_hour", price, EXPECTED)

    @property
    def type_price(self) -> FloatArray:
        """(types,) USD per GPU and hour of each worker type, which is its accelerator type's."""
        return self.price[self.pool]

    def cost(self, shares: FloatArray) -> float:
        """USD per hour of the GPUs in use under (combinations x types) shares; a pair's GPUs count once."""
        return float(self.used(shares) @ self.price)


def priced(snapshot: Snapshot, knobs: Knobs, rows: npt.ArrayLike | None = None) -> dict[str, Any]:
    """The fields of `PricedData` for a snapshot's jobs, or for those at the positions `rows`.

    Raises InputError that names an accelerator type without a price.
    """
    found = numbers(snapshot, knobs, rows)
    prices = {each.name: each.price_per_hour for each in snapshot.cluster.accelerators}
    names = found.get("accelerators") or found["types"]
    for name in names:
        if prices[name] is None:
            raise InputError(f"accelerator {name}, price_per_hour", None, EXPECTED)
    return {**found, "price": [prices[name] for name in names]}
