"""scipy without its statistics, which Pyomo would load with it: two seconds that nothing here has a use for."""

from __future__ import annotations

import sys


def load_scipy() -> None:
    """Import scipy; to be called before any part of it is imported, where that is needed.

    A Pyomo that is there already listens for that import, to load `scipy.stats` beside it; it does not hear of this
    one. What Pyomo itself has of scipy it loads when it uses it. (One that comes later loads them as it comes.)
    """
    if "scipy" in sys.modules:
        return
    listeners = [each for each in sys.meta_path if type(each).__module__ == "pyomo.common.dependencies"]
    sys.meta_path[:] = [each for each in sys.meta_path if each not in listeners]
    try:
        import scipy  # noqa: F401
    finally:
        sys.meta_path[:0] = listeners
