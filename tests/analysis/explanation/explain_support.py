"""Small clusters on which what a scheduler does can be followed by hand."""

from __future__ import annotations

from typing import Any

import workbench


def scenario(jobs: list[dict[str, Any]], gpus: int = 1, nodes: int = 1, **more: Any) -> workbench.Scenario:
    """Nodes `a-0` ... of v100; a gang of n does n steps a second."""
    sizes = sorted({job.get("gpus", 1) for job in jobs} | {1, gpus})
    rows = [{"model": "m", "accelerator": "v100", "gpus": n, "steps_per_s": float(n)} for n in sizes]
    return workbench.Scenario.from_dict(
        {
            "format": "workbench-scenario/1",
            "cluster": {
                "accelerators": [{"name": "v100"}],
                "nodes": [{"name": "a", "accelerator": "v100", "gpus": gpus, "count": nodes}],
            },
            "jobs": [{"model": "m", "steps": 3600.0, **job} for job in jobs],
            "throughputs": rows,
            **more,
        }
    )


def facts(explanation: workbench.Explanation) -> dict[str, float | str]:
    """Values of the facts by name."""
    return {fact.name: fact.value for fact in explanation.facts}
