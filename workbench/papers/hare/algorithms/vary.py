"""The same scenario on another network or with other batches (Figs. 18 and 19), for whoever schedules it.

A synchronised step of a gang of n takes n / r(n) seconds: T^c to compute and T^s to synchronise, which is `sync_s` or
what is left of it beside 1 / r(1). (ours, as the paper gives no formula)

- `at_bandwidth`: T^s is divided by chosen / stated Gbit/s between nodes.
- `at_batch`: a step computes b batches of the size stated, T^c times b, and a job has steps / b; T^s stays as it is.
  Memory is taken to stay as well.

Rows of one GPU have nothing to synchronise, unless they say so.
"""

from __future__ import annotations

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import ThroughputRow

MOST = 1e6
"""Largest and, inverted, smallest factor."""


def at_bandwidth(scenario: Scenario, gbps: float) -> Scenario:
    """The scenario with so many Gbit/s between its nodes.

    Raises InputError unless it states its network, and for a bandwidth out of range.
    """
    stated = scenario.cluster.network_gbps
    if stated is None:
        raise InputError("cluster.network_gbps", None, "the bandwidth to which the scenario's speeds belong")
    factor = _checked("gbps", gbps, stated) / stated
    rows = [_row(scenario, row, 1.0, 1.0 / factor) for row in scenario.throughputs]
    cluster = scenario.cluster.model_copy(update={"network_gbps": float(gbps)})
    return scenario.replace(cluster=cluster.model_dump(mode="json"), throughputs=rows)


def at_batch(scenario: Scenario, factor: float) -> Scenario:
    """The scenario with batches `factor` times as large. Raises InputError for a factor out of range."""
    factor = _checked("batch", factor, 1.0)
    rows = [_row(scenario, row, factor, 1.0) for row in scenario.throughputs]
    jobs = [
        {**job.model_dump(mode="json"), "steps": job.steps / factor, "steps_done": job.steps_done / factor}
        for job in scenario.jobs
    ]
    models = [
        {
            **model.model_dump(mode="json"),
            "batch_size": None if model.batch_size is None else max(1, round(model.batch_size * factor)),
        }
        for model in scenario.models
    ]
    return scenario.replace(throughputs=rows, jobs=jobs, models=models)


def _checked(name: str, value: float, reference: float) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 1 / MOST <= value / reference <= MOST:
        raise InputError(name, value, f"a number from {reference / MOST:g} to {reference * MOST:g}")
    return float(value)


def _row(scenario: Scenario, row: ThroughputRow, compute: float, sync: float) -> dict[str, object]:
    """A row whose steps compute and synchronise so many times as long."""
    data = row.model_dump(mode="json")
    if row.steps_per_s <= 0:
        return data
    whole_s = row.gpus / row.steps_per_s
    sync_s = row.sync_s
    if sync_s is None:
        alone = scenario.table.row(row.model, row.accelerator, 1)
        sync_s = max(0.0, whole_s - 1.0 / alone) if row.gpus > 1 and alone > 0 else 0.0
    else:
        data["sync_s"] = sync * sync_s
    compute_s = max(whole_s - sync_s, 0.0)
    seconds = compute * compute_s + sync * min(sync_s, whole_s)
    data["steps_per_s"] = row.gpus / seconds
    return data
