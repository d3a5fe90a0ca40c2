"""What the tests of schedulers share: snapshots made by hand, small random scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from workbench.analysis.contract_rules.schedulers import Watched
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Assignment, Cause, Decision, Unit
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.snapshot import JobView, NodeView, Snapshot


def make(
    nodes: Mapping[str, tuple[str, int]],
    jobs: Sequence[Mapping[str, Any]],
    speeds: Mapping[str, float] | None = None,
    **rest: Any,
) -> Scenario:
    """A scenario: nodes `{name: (type, GPUs)}`; jobs as in a file, named j0, j1, ... of model m if not said otherwise.

    speeds: steps/s per GPU of model m on each type (default 1), growing linearly with the gang.
    """
    types = list(dict.fromkeys(kind for kind, _ in nodes.values()))
    speeds = speeds or dict.fromkeys(types, 1.0)
    most = max([1, *(job.get("gpus", 1) for job in jobs)])
    rows = [
        {"model": "m", "accelerator": kind, "gpus": n, "steps_per_s": speeds[kind] * n}
        for kind in types
        for n in range(1, most + 1)
    ]
    return Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": kind} for kind in types],
                "nodes": [{"name": name, "accelerator": kind, "gpus": n} for name, (kind, n) in nodes.items()],
            },
            "jobs": [{"name": f"j{i}", "model": "m", "steps": 1000, **job} for i, job in enumerate(jobs)],
            "throughputs": rows,
            **rest,
        }
    )


def look(
    scenario: Scenario,
    now_s: float = 0.0,
    *,
    leases: Sequence[Assignment] = (),
    ended: Sequence[Assignment] = (),
    down: Sequence[str] = (),
    gone: Sequence[str] = (),
    left: Mapping[str, float] | None = None,
    attained: Mapping[str, float] | None = None,
    cause: Cause = "round",
) -> Snapshot:
    """A snapshot of a scenario made by hand; gone: jobs that have finished."""
    machines = {node.name.removesuffix("-0"): node for node in scenario.cluster.each_node}
    free = np.array([node.gpus for node in machines.values()])
    names = [node.name for node in machines.values()]
    for lease in leases:
        for name, count in lease.gpus.items():
            free[names.index(name)] -= count
    up = np.array([name not in down for name in names])
    order = [i for i in scenario.order if scenario.jobs[i].arrival_s <= now_s and scenario.jobs[i].name not in gone]
    jobs = tuple(scenario.jobs[i] for i in order)
    taken = {lease.unit: sum(lease.gpus.values()) for lease in (*leases, *ended)}
    view = JobView(
        jobs=jobs,
        position=np.array(order, dtype=np.int64),
        steps_left=np.array([(left or {}).get(job.name, job.steps) for job in jobs], dtype=float),
        attained_s=np.array([(attained or {}).get(job.name, 0.0) for job in jobs], dtype=float),
        waited_s=np.zeros(len(jobs)),
        restarts=np.zeros(len(jobs), dtype=np.int64),
        held=np.array([taken.get(job.name, 0) for job in jobs], dtype=np.int64),
        gpus=np.array([job.gpus for job in jobs], dtype=np.int64),
        arrival_s=np.array([job.arrival_s for job in jobs], dtype=float),
        weight=np.array([job.weight for job in jobs], dtype=float),
    )
    kinds = np.array([scenario.cluster.types.index(node.accelerator) for node in machines.values()], dtype=np.int64)
    sizes = np.array([node.gpus for node in machines.values()])
    return Snapshot(
        now_s=now_s,
        cause=cause,
        cluster=scenario.cluster,
        types=scenario.cluster.types,
        nodes=NodeView(tuple(names), kinds, sizes, np.where(up, free, 0), up),
        jobs=view,
        leases={lease.unit: lease for lease in leases},
        ended={lease.unit: lease for lease in ended},
        finished={},
        belief=Oracle(scenario),
        entities=scenario.entities,
    )


def on(unit: Unit, until_s: float = float("inf"), **gpus: int) -> Assignment:
    """An assignment; `on("j0", a=2)` gives it two GPUs of node a-0."""
    return Assignment(unit, {f"{name}-0": count for name, count in gpus.items()}, until_s)


def given(decision: Decision) -> dict[Unit, dict[str, int]]:
    """`{unit: {node: GPUs}}` of a decision, without the -0 of node names."""
    return {a.unit: {name.removesuffix("-0"): count for name, count in a.gpus.items()} for a in decision.assign}


class OneType(Watched):
    """Watched, and every gang complete on one type."""

    def check(self, snapshot: Snapshot, decision: Decision) -> None:
        kind = dict(zip(snapshot.nodes.names, snapshot.nodes.kind.tolist(), strict=True))
        for a in decision.assign:
            job = snapshot.jobs.jobs[snapshot.jobs.at[str(a.unit)]]
            assert sum(a.gpus.values()) == job.gpus
            assert len({kind[node] for node in a.gpus}) == 1


@st.composite
def scenarios(draw: st.DrawFn, most_types: int = 3) -> Scenario:
    """Up to so many types, eight jobs, types on which some cannot run, restarts, and nodes that fail for a while."""
    types = [f"t{i}" for i in range(draw(st.integers(1, most_types)))]
    sizes = {kind: draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)) for kind in types}
    nodes = [
        {"name": f"{kind}{i}", "accelerator": kind, "gpus": size}
        for kind in types
        for i, size in enumerate(sizes[kind])
    ]
    rows, jobs = [], []
    for i in range(draw(st.integers(1, 8))):
        home = draw(st.sampled_from(types))
        gang = draw(st.integers(1, sum(sizes[home])))
        for kind in types:
            rate = draw(st.sampled_from([0.5, 1.0, 2.0, 7.0] if kind == home else [0.0, 0.5, 1.0, 3.0]))
            rows.append({"model": f"m{i}", "accelerator": kind, "gpus": gang, "steps_per_s": rate})
        jobs.append(
            {
                "name": f"j{i}",
                "model": f"m{i}",
                "gpus": gang,
                "arrival_s": draw(st.sampled_from([0.0, 10.0, 60.0, 100.5, 400.0])),
                "steps": draw(st.integers(1, 2000)),
                "weight": draw(st.sampled_from([1.0, 2.0])),
            }
        )
    core: dict[str, Any] = {"restart": {"restart_s": draw(st.sampled_from([0.0, 5.0]))}}
    if draw(st.booleans()):
        node = draw(st.sampled_from(nodes))["name"]
        start = draw(st.sampled_from([0.0, 30.0, 60.0, 90.0]))
        core["faults"] = {"list": [{"node": f"{node}-0", "from_s": start, "to_s": start + 100.0}]}
    accelerators = [{"name": kind, "price_per_hour": 1.0 + i} for i, kind in enumerate(types)]
    cluster = {"accelerators": accelerators, "nodes": nodes}
    return Scenario.from_dict({"cluster": cluster, "jobs": jobs, "throughputs": rows, "core": core})
