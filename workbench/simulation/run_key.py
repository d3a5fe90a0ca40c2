"""What tells one run from another: the key under which its results are kept."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from workbench.version import VERSION


def run_key(
    scenario: str,
    scheduler: str,
    knobs: Mapping[str, Any],
    seed: int,
    *,
    belief: str | None = None,
    until_s: float | None = None,
    window: tuple[int, int] | None = None,
) -> str:
    """SHA-256 of all that a run's measures depend on, as 64 hexadecimal digits: runs with the same key are equal.

    scenario: `Scenario.key()`, which leaves out name, description, notes, plan and record; knobs: all of the
    scheduler's, settled; belief: what told it speeds (`Run.belief`); until_s (s), window: as given to
    `workbench.simulate`. Those that are not None are parts of the key, and so is the version of the workbench. The
    code of a scheduler declared in a session is not.
    """
    parts: list[Any] = [scenario, scheduler, knobs_as_json(knobs), seed, VERSION]
    ends = {"belief": belief, "until_s": until_s if until_s is None else float(until_s), "window": window}
    given = {name: value for name, value in ends.items() if value is not None}
    if given:
        parts.append(given)
    return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def knobs_as_json(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Knob values as JSON has them: an infinite number becomes `{"number": "inf"}`."""
    infinite = {name for name, value in knobs.items() if isinstance(value, float) and not math.isfinite(value)}
    return {name: {"number": str(value)} if name in infinite else value for name, value in knobs.items()}
