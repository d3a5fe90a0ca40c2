"""Pyomo as formulations write models in it: `pyo` is `pyomo.environ`, imported when something of it is first used.

A scheduler that solves an assembly, or none, need not wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyomo.environ as pyo
else:

    class _Later:
        def __getattr__(self, name: str) -> Any:
            import pyomo.environ

            found = getattr(pyomo.environ, name)
            setattr(self, name, found)
            return found

    pyo = _Later()


def parameter(*sets: Any, numbers: Mapping[Any, Any], doc: str) -> pyo.Param:
    """A `pyo.Param` over sets, or over the keys of its numbers where none is given.

    The numbers are an instance's, which has checked them: neither they nor their keys are looked at a second time,
    which takes Pyomo as long as all else about a parameter. It has no public way to leave that out: `_data`, where a
    component keeps its members, is Pyomo's own (6.10). `tests/scheduling/test_notation.py` holds what is made so to a
    `pyo.Param`.
    """
    found = pyo.Param(*(sets or (pyo.SetOf(tuple(numbers)),)), within=pyo.Any, doc=doc)
    renumber(found, numbers)
    return found


def renumber(parameter: pyo.Param, numbers: Mapping[Any, Any]) -> None:
    """Give a `parameter` these numbers in the place of those that it has, by keys of the set that it is over."""
    parameter._data.clear()
    parameter._data.update(numbers)


__all__ = ["parameter", "pyo", "renumber"]
