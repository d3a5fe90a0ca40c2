"""How busy the machine is, for tests of wall-clock time."""

from __future__ import annotations

import os


def crowding() -> float:
    """How many processes want to run for each core, and at least 1: so much longer may a step take than its budget."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
