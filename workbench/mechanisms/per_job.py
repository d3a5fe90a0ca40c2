"""Numbers per job that cost nothing until somebody reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from workbench.decision import IntArray
from workbench.throughput import FloatArray


class PerJob(Mapping[str, float]):
    """`{job: number}` over two columns of equal length; for `Decision.signals`, recorded only now and then."""

    def __init__(self, names: Sequence[str], values: FloatArray | IntArray) -> None:
        self._names = names
        self._values = values

    @cached_property
    def _table(self) -> dict[str, float]:
        return dict(zip(self._names, map(float, self._values.tolist()), strict=True))

    def __getitem__(self, name: str) -> float:
        return self._table[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"PerJob({self._table})"
