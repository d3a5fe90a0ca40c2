"""Numbers per job that cost nothing until somebody reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property

from workbench.base.arrays import FloatArray


class PerJob(Mapping[str, float]):
    """`{job: number}` over two columns of equal length; for `Decision.signals`, recorded only now and then.

    names, values: the columns, or functions that work them out when they are first read.
    """

    def __init__(
        self, names: Sequence[str] | Callable[[], Sequence[str]], values: FloatArray | Callable[[], FloatArray]
    ) -> None:
        self._named, self._given = names, values

    @cached_property
    def _names(self) -> Sequence[str]:
        return self._named() if callable(self._named) else self._named

    @cached_property
    def _values(self) -> list[float]:
        values: list[float] = (self._given() if callable(self._given) else self._given).tolist()
        return values

    @cached_property
    def _by_name(self) -> dict[str, float]:
        return dict(zip(self._names, self._values, strict=True))

    def __getitem__(self, name: str) -> float:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def values(self) -> ValuesView[float]:
        """The column, without looking each number up by its name."""
        return self._by_name.values()

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"PerJob({self._by_name})"
