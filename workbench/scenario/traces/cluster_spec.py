"""Clusters written on one line, `v100=8x4,k80=2x8`, and the types' public facts."""

from __future__ import annotations

import re
from typing import Any

from workbench.base.errors import InputError
from workbench.scenario.traces import builtin

EXPECTED = (
    "types as NAME=NODESxGPUS, separated by commas (v100=8x4: 8 nodes of 4 GPUs); at most 999,999 nodes of 9,999 GPUs"
)
_PART = re.compile(r"([A-Za-z][\w.\-]{0,63})=([1-9]\d{0,5})x([1-9]\d{0,3})")


def parse_cluster(text: str) -> dict[str, Any]:
    """The `cluster` of a scenario from a line such as `v100=8x4,k80=2x8`; the order of types is the order written.

    A type may come twice with nodes of another size. Types of `datasets/accelerators.csv` get their facts and prices.
    Raises InputError.
    """
    parts = [part.strip() for part in text.split(",")]
    types: list[str] = []
    nodes: list[dict[str, Any]] = []
    for part in parts:
        match = _PART.fullmatch(part)
        if match is None:
            raise InputError(f"cluster {text!r}", part, EXPECTED)
        name, count, gpus = match[1], int(match[2]), int(match[3])
        group = name if name not in types else f"{name}.{sum(n['accelerator'] == name for n in nodes) + 1}"
        if name not in types:
            types.append(name)
        nodes.append({"name": group, "accelerator": name, "gpus": gpus, "count": count})
    return {"accelerators": [builtin.accelerator(name) for name in types], "nodes": nodes}
