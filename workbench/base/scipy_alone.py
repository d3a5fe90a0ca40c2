"""scipy without its statistics, which Pyomo would load with it: two seconds that nothing here has a use for."""

from __future__ import annotations

import sys


def load_scipy() -> None:
    """Import scipy; to be called before any part of it is imported, where that is needed.

    Pyomo listens for that import to load `scipy.stats` beside it, and loads it itself if scipy is there first. So the
    listener is there before scipy, and does not hear of it. What Pyomo itself has of scipy it loads when it uses it.
    """
    if "scipy" in sys.modules:
        return
    from pyomo.common.dependencies import DeferredImportCallbackFinder

    listeners = [each for each in sys.meta_path if isinstance(each, DeferredImportCallbackFinder)]
    others = [each for each in sys.meta_path if each not in listeners]
    sys.meta_path[:] = others
    try:
        import scipy  # noqa: F401
    finally:
        sys.meta_path[:0] = listeners
