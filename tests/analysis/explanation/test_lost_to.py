"""Whom a waiting job is said to have lost to, held against the scheduler itself: it is asked again without them."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import numpy as np
import pytest

import workbench
from tests.analysis.explanation.asked_again import watch
from tests.analysis.explanation.explain_support import scenario
from workbench.baselines.mechanisms.priority import priorities
from workbench.baselines.mechanisms.priority.explain import by_type, shares_now
from workbench.scenario.faults import Outage
from workbench.simulation.job_at_time import JobAtTime

LINES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("fifo", {}),
    ("fifo", {"blocking": False}),
    ("las", {}),
    ("srtf", {}),
    ("tiresias", {}),
    ("edf", {}),
    ("genie", {}),
    ("sched_homo", {}),
    ("yarn_cs", {}),
    ("allox", {}),
)
MOMENTS = 5
"""So many of a run's decisions, about, are looked at."""


def world(seed: int) -> workbench.Scenario:
    """A few jobs of one to four GPUs, some with deadlines, on eight GPUs of one or two types."""
    draw = random.Random(seed)
    kinds = ("v100", "k80")[: 1 + seed % 2]
    jobs: list[dict[str, Any]] = []
    for number in range(draw.randint(5, 9)):
        job = {"name": f"j{number}", "model": "m", "steps": float(draw.choice([300, 900, 2400, 6000]))}
        job |= {"arrival_s": float(draw.choice([0, 0, 100, 360, 777])), "gpus": draw.choice([1, 1, 2, 4])}
        if draw.random() < 0.5:
            job["rewards"] = [[float(draw.choice([900, 2500, 6000, 20000])), 100.0]]
        jobs.append(job)
    speeds = [
        {"model": "m", "accelerator": kind, "gpus": n, "steps_per_s": n * speed}
        for kind, speed in zip(kinds, (1.0, 0.4), strict=False)
        for n in (1, 2, 4)
    ]
    nodes = [{"name": kind, "accelerator": kind, "gpus": 2, "count": 2} for kind in kinds]
    cluster = {"accelerators": [{"name": kind} for kind in kinds], "nodes": nodes}
    return workbench.Scenario.from_dict(
        {"format": "workbench-scenario/1", "cluster": cluster, "jobs": jobs, "throughputs": speeds}
    )


@pytest.mark.parametrize(("name", "knobs"), LINES, ids=lambda each: str(each))
def test_without_whom_it_lost_to_it_runs_and_beside_them_alone_it_waits(name: str, knobs: dict[str, Any]) -> None:
    checked = 0
    for seed in (0, 1):
        watched = watch(world(seed), name, knobs)
        last = {call.snapshot.now_s: call for call in watched.calls if call.snapshot.now_s < watched.run.end_s}
        for at_s, call in list(last.items())[:: max(1, len(last) // MOMENTS)]:
            everyone = set(call.snapshot.jobs.names)
            for job in call.snapshot.jobs.names:
                found = workbench.explain(watched.run, job, at_s)
                if found.state != "waiting":
                    continue
                before = {one.job for one in found.competitors if one.comes == "before"}
                named = set(re.findall(r"\bj\d+\b", found.binding)) - {job}
                where = f"{job} at {at_s} of world {seed}: {found.reason}"
                assert job in watched.again(call, before | named), where
                blocks = "nobody passes it" in found.binding or " more " in found.binding or name == "allox"
                assert blocks or job not in watched.again(call, everyone - named - {job}), where
                checked += 1
    assert checked > 3


@pytest.mark.parametrize("name", ["gavel.max_min_fairness", "gavel.water_filling", "gavel.hierarchical"])
def test_gavel_at_the_same_shares_it_runs_without_whom_it_lost_to_by_priority(name: str) -> None:
    """Those who hold the GPUs, and those who wait for them with no lower a priority; beside these it does not run.

    At the same shares: a policy that is asked without them computes new ones, at which others may come first.
    """
    checked = 0
    for seed in (0, 2):
        watched = watch(world(seed), name)
        last = {call.snapshot.now_s: call for call in watched.calls if call.snapshot.now_s < watched.run.end_s}
        for at_s, call in list(last.items())[:: max(1, len(last) // MOMENTS)]:
            for job in call.snapshot.jobs.names:
                found = workbench.explain(watched.run, job, at_s)
                said = " ".join([found.binding, *(each for each in found.sentences if each.startswith("For "))])
                if found.state == "waiting":
                    named = set(re.findall(r"\bj\d+\b", said)) - {job}
                    if " more" in said:
                        named |= {one.job for one in found.competitors if one.comes in ("before", "equal")}
                    assert named and not watched.picked_again(call, job, ())
                    assert watched.picked_again(call, job, named), f"{job} at {at_s}: {found.reason}"
                    checked += 1
    assert checked > 10


@pytest.mark.parametrize("name", ["gavel.max_min_fairness", "isolated"])
def test_gavels_priorities_by_type_are_those_of_the_mechanism(name: str) -> None:
    checked = 0
    for seed in (0, 1):
        watched = watch(world(seed), name)
        following = list(zip(watched.calls, watched.calls[1:], strict=False))
        for call, after in following:
            plan, true = after.memory.plan, priorities(after.memory, watched.run.knobs)
            for job in call.snapshot.jobs.names:
                job_at = JobAtTime(watched.run, job, call.snapshot.now_s)
                order, block = job_at.order("priority", "", "", "highest"), shares_now(job_at)
                assert order is not None and block is not None
                found = by_type(job_at, block, order.values)
                assert found is not None
                for column, kind in enumerate(plan.types):
                    own = float(true[plan.units.index(job), column])
                    assert math.isclose(found[kind].get(job, 0.0), own, rel_tol=1e-6)
                    checked += bool(np.isfinite(own) and own > 0)
    assert checked > 10


@pytest.mark.parametrize("name", ["srtf", "allox"])
def test_who_waits_before_it_is_named_beside_who_runs_before_it(name: str) -> None:
    """One GPU, three jobs that take longer and longer: without the first the second runs, and the third still waits."""
    jobs = [{"name": job, "steps": steps} for job, steps in (("short", 600.0), ("long", 1200.0), ("longest", 6000.0))]
    watched = watch(scenario(jobs), name)
    found = workbench.explain(watched.run, "longest", 0.0)
    assert "short" in found.binding and found.binding.endswith(", and long waits before it too")
    if name == "srtf":
        assert watched.again(watched.calls[0], {"short"}) == {"long"}
        assert watched.again(watched.calls[0], {"short", "long"}) == {"longest"}


def test_nobody_is_blamed_where_the_nodes_that_are_up_are_too_few() -> None:
    """`big` loses its node of 3 GPUs; on the 2 that `small` holds it would not run without it either."""
    given = workbench.preset("hadar_example")
    faults = given.core.faults.model_copy(update={"list": (Outage(node="p100-0", from_s=1000.0, to_s=6000.0),)})
    given = given.replace(core=given.core.model_copy(update={"faults": faults}))
    watched = watch(given, "fifo")
    big, small, last = (job.name for job in given.jobs)
    found = workbench.explain(watched.run, big, 1080.0)
    assert found.binding == "no type on which it runs has 3 GPUs on nodes that are up"
    call = next(call for call in watched.calls if call.snapshot.now_s == 1080.0)
    assert big not in watched.again(call, {small, last})
