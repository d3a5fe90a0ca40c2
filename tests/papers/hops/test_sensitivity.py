"""Placement sensitivity (10) of Hops, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from pytest import approx

from tests.baselines.mechanisms.support import look, make
from workbench.papers.hops.sensitivity import MOST, sensitivities, sensitivity
from workbench.scenario.scenario import Scenario

NODES = {"a": ("t", 4), "b": ("t", 4), "c": ("u", 4), "d": ("u", 4)}


def rho(
    rows: list[dict[str, Any]],
    nodes: dict[str, tuple[str, int]] | None = None,
    **job: Any,
) -> float:
    data = make(nodes or NODES, [job]).to_dict()
    data["throughputs"] = [{"model": "m", **row} for row in rows]
    snapshot = look(Scenario.from_dict(data))
    [found] = sensitivities(snapshot.jobs, snapshot.belief, snapshot.cluster).tolist()
    return float(found)


def row(kind: str, gpus: int, speed: float, nodes: int | None = None) -> dict[str, Any]:
    word = {} if nodes is None else {"nodes": nodes, "placement": "unconsolidated"}
    return {"accelerator": kind, "gpus": gpus, "steps_per_s": speed, **word}


def test_one_gpu_against_one_on_each_of_two_servers() -> None:
    """10 steps/s alone; two GPUs do 18 on one server, which does not count, and 12 on two: 10 / 6."""
    assert rho([row("t", 1, 10.0), row("t", 2, 18.0), row("t", 2, 12.0, 2)]) == approx(10 / 6)


def test_the_first_type_with_two_servers_on_which_it_runs_counts() -> None:
    both = [row("u", 1, 10.0), row("u", 2, 10.0, 2)]
    assert rho(both) == approx(2.0)
    assert rho([row("t", 1, 10.0), row("t", 2, 20.0, 2), *both]) == approx(1.0)
    lonely = {"a": ("t", 4), "c": ("u", 4), "d": ("u", 4)}
    assert rho([row("t", 1, 10.0), row("t", 2, 20.0, 2), *both], lonely) == approx(2.0), "t has one server only"


def test_a_job_without_a_speed_on_one_or_two_gpus_is_compared_at_its_smallest_sizes() -> None:
    rows = [row("t", 4, 40.0), row("t", 8, 60.0)]
    assert rho(rows, gpus=4, gpu_choices=[4, 8]) == approx(1.0), "the row of 4 holds for two servers too"
    rows = [{**row("t", 4, 40.0), "nodes": 1}, row("t", 8, 60.0)]
    assert rho(rows, gpus=4, gpu_choices=[4, 8]) == approx(10 / 7.5)


def test_who_cannot_be_spread_is_as_sensitive_as_can_be() -> None:
    assert rho([row("t", 1, 10.0)]) == MOST
    assert rho([row("t", 1, 10.0), row("t", 2, 18.0)], {"a": ("t", 4)}) == MOST, "there is one server only"
    assert sensitivity(10.0, 0.0) == MOST
    assert sensitivity(10.0, 0.1) == MOST, "averages stay finite"


@pytest.mark.parametrize(("agg", "dis", "expected"), [(10.0, 10.0, 1.0), (14.0, 10.0, 1.4), (9.0, 10.0, 0.9)])
def test_the_ratio(agg: float, dis: float, expected: float) -> None:
    assert sensitivity(agg, dis) == approx(expected)
