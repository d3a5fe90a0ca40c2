"""Pyomo as formulations write models in it: `pyo` is `pyomo.environ`, imported when something of it is first used.

A scheduler that solves an assembly, or none, need not wait for it.
"""

from __future__ import annotations

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

__all__ = ["pyo"]
