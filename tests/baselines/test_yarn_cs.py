"""YARN-CS: first in, first out within quotas, by hand, and against FIFO where there is one queue."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given as with_random

from tests.baselines.mechanisms.support import OneType, given, look, make, on, scenarios
from workbench.base.errors import InputError
from workbench.baselines.fifo import Fifo
from workbench.baselines.yarn_cs import QueueQuotas, YarnCs
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.session.read_and_ignored import ignored, lacking
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run

RNG = np.random.default_rng(0)
SLO: dict[str, Any] = {"rewards": [[100.0, 1.0]]}
A, B = {"entity": "a"}, {"entity": "b"}


def entities(a: int | None, b: int | None, weight: float = 1.0) -> dict[str, Any]:
    found: list[dict[str, Any]] = [{"name": "a", "quota_gpus": a}, {"name": "b", "quota_gpus": b, "weight": weight}]
    return {"entities": [{key: value for key, value in each.items() if value is not None} for each in found]}


def quotas(scenario: Scenario, **knobs: object) -> dict[str, int]:
    found = YarnCs().start(scenario, YarnCs().settle({"elastic": True, **knobs}))
    assert isinstance(found, QueueQuotas)
    return dict(zip(found.names, found.gpus, strict=True))


def finish(run: Run) -> dict[str, float]:
    return dict(zip(run.jobs["job"], run.jobs["finish_s"].tolist(), strict=True))


def test_one_queue_blocks_behind_its_head() -> None:
    jobs = [{"steps": 100}, {"steps": 100, "gpus": 2}, {"steps": 50}]
    scenario = make({"n": ("t", 2)}, jobs)
    knobs = {"round_s": 0.0}
    # j0 0-100 beside an idle GPU; j1 100-150; j2 150-200. Unblocked, j2 runs beside j0.
    assert finish(run_loop(scenario, YarnCs(), knobs)) == {"j0": 100.0, "j1": 150.0, "j2": 200.0}
    passed = run_loop(scenario, YarnCs(), {**knobs, "blocking": False})
    assert finish(passed) == {"j0": 100.0, "j1": 150.0, "j2": 50.0}


@with_random(scenarios(most_types=1))
def test_one_queue_is_unaware_fifo_where_there_is_no_type_to_draw(scenario: Scenario) -> None:
    for blocking in (True, False):
        yarn = run_loop(scenario, YarnCs(), {"blocking": blocking})
        fifo = run_loop(scenario, Fifo(), {"blocking": blocking, "heterogeneity_aware": False})
        assert yarn.jobs.equals(fifo.jobs) and yarn.timeline.equals(fifo.timeline)


def test_static_quotas_leave_gpus_idle_and_elastic_ones_lend_them() -> None:
    jobs = [{**A, "steps": 100}, {**A, "steps": 100}, {**A, "steps": 100}, {**B, "steps": 100, "arrival_s": 50}]
    scenario = make({"n": ("t", 3)}, jobs, **entities(2, 1))
    static = run_loop(scenario, YarnCs(), {"queues": "entities", "round_s": 0.0})
    assert finish(static) == {"j0": 100.0, "j1": 100.0, "j2": 200.0, "j3": 150.0}
    # j2 borrows b's GPU; b's own job waits until one comes back: nobody is pre-empted
    elastic = run_loop(scenario, YarnCs(), {"queues": "entities", "round_s": 0.0, "elastic": True})
    assert finish(elastic) == {"j0": 100.0, "j1": 100.0, "j2": 100.0, "j3": 200.0}
    assert elastic.jobs["preemptions"].sum() == 0


def test_the_head_of_one_queue_does_not_block_another() -> None:
    jobs = [{**A, "gpus": 2}, {**A, "gpus": 2}, {**B}, {**B}]
    snapshot = look(make({"n": ("t", 4)}, jobs, **entities(2, 2)))
    knobs = YarnCs().settle({"queues": "entities"})
    memory = QueueQuotas(("a", "b"), (2, 2))
    decision, _ = YarnCs().decide(snapshot, memory, knobs, RNG)
    assert given(decision) == {"j0": {"n": 2}, "j2": {"n": 1}, "j3": {"n": 1}}


def test_the_queue_that_uses_least_of_its_quota_goes_first_and_held_gpus_count() -> None:
    scenario = make({"n": ("t", 3)}, [{**A}, {**A}, {**B, "arrival_s": 5}], **entities(2, 2))
    knobs = YarnCs().settle({"queues": "entities"})
    snapshot = look(scenario, 10.0, leases=[on("j0", n=1)])
    full = look(scenario, 10.0, leases=[on("j0", n=2)])
    memory = QueueQuotas(("a", "b"), (2, 2))
    assert given(YarnCs().decide(snapshot, memory, knobs, RNG)[0]) == {"j1": {"n": 1}, "j2": {"n": 1}}
    # one GPU is left, a uses half of its quota, b nothing
    assert given(YarnCs().decide(full, memory, knobs, RNG)[0]) == {"j2": {"n": 1}}


def test_quotas_of_entities() -> None:
    nodes = {"n": ("t", 10)}
    assert quotas(make(nodes, [A, B], **entities(7, 3)), queues="entities") == {"a": 7, "b": 3}
    assert quotas(make(nodes, [A, B], **entities(4, None)), queues="entities") == {"a": 4, "b": 6}
    # by weight 1 : 2, of 10: 3.33 and 6.67, the GPU left over to the larger remainder
    assert quotas(make(nodes, [A, B], **entities(None, None, 2.0)), queues="entities") == {"a": 3, "b": 7}
    # jobs of no entity share what is left, too
    found = quotas(make(nodes, [A, {}], **entities(4, None, 2.0)), queues="entities")
    assert found == {"a": 4, "b": 4, "jobs of no entity": 2}
    assert quotas(make(nodes, [{}]), queues="entities") == {"jobs of no entity": 10}
    assert quotas(make(nodes, [A, B], **entities(7, 3))) == {"all jobs": 10}


def test_quotas_of_slo_jobs_are_their_share_of_the_jobs() -> None:
    scenario = make({"n": ("t", 8)}, [SLO, SLO, SLO, {}])
    assert quotas(scenario, queues="slo") == {"slo": 6, "best effort": 2}
    assert quotas(scenario, queues="slo", slo_share=0.5) == {"slo": 4, "best effort": 4}
    assert quotas(scenario.replace(jobs=()), queues="slo") == {"slo": 0, "best effort": 8}


def test_a_quota_of_slo_jobs_has_room_for_its_largest_gang() -> None:
    """Of 8 GPUs best effort would have 2: its gang of 4 could never start. Whoever says a share means it."""
    jobs = [{**SLO, "gpus": 2}, {**SLO, "gpus": 2}, SLO, {"gpus": 4}]
    scenario = make({"n": ("t", 8)}, jobs)
    assert quotas(scenario, queues="slo") == {"slo": 4, "best effort": 4}
    assert run_loop(scenario, YarnCs(), {"queues": "slo"}).jobs["finish_s"].notna().all()
    with pytest.raises(InputError, match="gpus of job j3: got 4"):
        run_loop(scenario, YarnCs(), {"queues": "slo", "slo_share": 0.75})
    few = make({"n": ("t", 8)}, [{**SLO, "gpus": 4}, {}, {}, {}])
    assert quotas(few, queues="slo") == {"slo": 4, "best effort": 4}
    both = make({"n": ("t", 4)}, [{**SLO, "gpus": 3}, {"gpus": 3}])
    assert quotas(both, queues="slo") == {"slo": 2, "best effort": 2}  # there is no room for both
    with pytest.raises(InputError, match="elastic"):
        run_loop(both, YarnCs(), {"queues": "slo"})


def test_slo_quota_by_hand() -> None:
    """Half of the jobs have deadlines, so one GPU of two is theirs, although best-effort jobs came first."""
    jobs = [{"steps": 100}, {"steps": 100}, {"steps": 100, **SLO}, {"steps": 100, **SLO}]
    run = run_loop(make({"n": ("t", 2)}, jobs), YarnCs(), {"queues": "slo", "round_s": 0.0})
    assert finish(run) == {"j0": 100.0, "j1": 200.0, "j2": 100.0, "j3": 200.0}


def test_a_gang_larger_than_its_quota_is_refused_where_it_would_wait_for_ever() -> None:
    scenario = make({"n": ("t", 4)}, [{**A, "gpus": 3}, {**B}], **entities(2, 2))
    with pytest.raises(InputError, match=r"gpus of job j0: got 3; expected at most 2 GPUs.*elastic"):
        run_loop(scenario, YarnCs(), {"queues": "entities"})
    elastic = run_loop(scenario, YarnCs(), {"queues": "entities", "elastic": True})
    assert elastic.jobs["finish_s"].notna().all()


def test_quotas_beyond_the_cluster_are_refused() -> None:
    scenario = make({"n": ("t", 4)}, [A, B], **entities(3, 2))
    with pytest.raises(InputError, match="quota_gpus in all: got 5; expected at most the cluster's 4 GPUs"):
        run_loop(scenario, YarnCs(), {"queues": "entities"})
    for knobs in ({"queues": "two"}, {"slo_share": 1.5}, {"elastic": 2}):
        with pytest.raises(InputError):
            YarnCs().settle(knobs)


class WithinQuotas(OneType):
    """Watched, and no queue holds more than its quota, nor is anybody pre-empted."""

    def check(self, snapshot: Snapshot, decision: Decision) -> None:
        super().check(snapshot, decision)
        assert not decision.preempt
        held: dict[str | None, int] = {}
        for unit, gpus in [
            *((u, lease.gpus) for u, lease in snapshot.leases.items()),
            *(a[:2] for a in decision.assign),
        ]:
            mine = snapshot.jobs.jobs[snapshot.jobs.at[str(unit)]].entity
            held[mine] = held.get(mine, 0) + sum(gpus.values())
        for entity in snapshot.entities:
            assert held.get(entity.name, 0) <= (entity.quota_gpus or 0)


@with_random(scenarios())
def test_nobody_exceeds_a_static_quota(scenario: Scenario) -> None:
    """Jobs in two entities in turn, whose quotas are just enough for their largest gangs or half of the cluster."""
    jobs = tuple(job.model_copy(update={"entity": "ab"[i % 2]}) for i, job in enumerate(scenario.jobs))
    least = [max([0, *(job.gpus for job in jobs[i::2])]) for i in range(2)]
    if sum(least) > scenario.cluster.gpus:
        return
    split = scenario.replace(
        jobs=jobs, entities=[{"name": name, "quota_gpus": gpus} for name, gpus in zip("ab", least, strict=True)]
    )
    run = run_loop(split, WithinQuotas(YarnCs()), {"queues": "entities"})
    assert run.jobs["finish_s"].notna().all()


def test_what_a_scenario_lacks_depends_on_the_queues() -> None:
    scenario = make({"n": ("t", 4)}, [{}])
    assert lacking(scenario, "yarn_cs", {}) == ()
    assert "deadline" in lacking(scenario, "yarn_cs", {"queues": "slo"})[0]
    assert "entity" in lacking(scenario, "yarn_cs", {"queues": "entities"})[0]
    assert ignored(make({"n": ("t", 4)}, [A, B], **entities(3, 1)), "yarn_cs") == ()
