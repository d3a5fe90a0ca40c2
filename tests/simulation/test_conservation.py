"""`check` finds every kind of damage in the tables of a run, and nothing in a sound one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

import workbench
from tests.simulation.support import with_tables
from workbench.analysis.metrics import check
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler, Timing
from workbench.scheduling.decision import Assignment, Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run


class Once(Scheduler):
    """At time 0: j0 alone, j1 as two copies, j2 on two nodes, j3 and j4 as a pair."""

    name = title = "once"

    def timing(self, knobs: Mapping[str, Any]) -> Timing:
        return Timing(None, frozenset({"completion"}))

    def decide(
        self, snapshot: Snapshot, memory: Any, knobs: Mapping[str, Any], rng: np.random.Generator
    ) -> tuple[Decision, Any]:
        if snapshot.now_s > 0:
            return Decision(), None
        wanted = (
            Assignment("j0", {"a-0": 1}, math.inf),
            Assignment(("j1", 0), {"a-0": 1}, math.inf, steps=50),
            Assignment(("j1", 1), {"b-0": 1}, math.inf, steps=50),
            Assignment("j2", {"b-0": 1, "c-0": 1}, math.inf),
            Assignment(("j3", "j4"), {"c-0": 1}, math.inf),
        )
        return Decision(wanted), None


@pytest.fixture(scope="module")
def run() -> Run:
    names = [("j0", 100, 1), ("j1", 100, 1), ("j2", 400, 2), ("j3", 100, 1), ("j4", 100, 1)]
    speeds = [(1, 10.0), (2, 20.0)]
    s = Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "v100"}, {"name": "k80"}],
                "nodes": [
                    *({"name": n, "accelerator": "v100", "gpus": 2} for n in "abc"),
                    {"name": "d", "accelerator": "k80", "gpus": 1},
                ],
            },
            "jobs": [{"name": n, "model": "m", "steps": steps, "gpus": gpus} for n, steps, gpus in names],
            "throughputs": [{"model": "m", "accelerator": "v100", "gpus": n, "steps_per_s": v} for n, v in speeds],
            "colocated": [
                {"model": "m", "with_model": "m", "accelerator": "v100", "steps_per_s": 8, "with_steps_per_s": 8}
            ],
            "core": {"space_sharing": True},
        }
    )
    return run_loop(s, Once())


def row(run: Run, unit: str) -> int:
    """The first row of a unit in the timeline."""
    return int(np.flatnonzero(run.timeline["unit"] == unit)[0])


def put(table: str, column: str, where: str | int, value: Any) -> Callable[[Run], Run]:
    """Damage one cell: of the row of that number, of the unit's first row, or of the job of that name."""

    def damage(run: Run) -> Run:
        frame = run.table(table).copy()
        if isinstance(where, int):
            at = where
        elif table == "timeline":
            at = row(run, where)
        else:
            at = int(np.flatnonzero(frame["job"] == where)[0])
        frame.loc[at, column] = value
        return with_tables(run, **{table: frame})

    return damage


def drop(unit: str) -> Callable[[Run], Run]:
    """Lose the first row of a unit."""
    return lambda run: with_tables(run, timeline=run.timeline.drop(index=row(run, unit)).reset_index(drop=True))


def again(unit: str, /, **changes: Any) -> Callable[[Run], Run]:
    """Repeat the first row of a unit, with changes."""

    def damage(run: Run) -> Run:
        extra = run.timeline.iloc[[row(run, unit)]].assign(**changes)
        return with_tables(run, timeline=pd.concat([run.timeline, extra], ignore_index=True))

    return damage


def test_a_sound_run_has_no_violations(run: Run) -> None:
    assert check(run) == []
    assert {"j0", "j1 #0", "j1 #1", "j2", "j3 + j4"} <= set(run.timeline["unit"])


DAMAGE = [
    ("known", put("timeline", "slot", "j0", 2)),
    ("known", put("timeline", "node", "j0", "elsewhere")),
    ("known", put("timeline", "accelerator", "j0", "k80")),
    ("known", put("timeline", "kind", "j0", "sleep")),
    ("known", put("timeline", "job", "j0", "nobody")),
    ("known", put("timeline", "with_job", "j3 + j4", "nobody")),
    ("known", put("timeline", "unit", "j0", "")),
    ("inside the run", put("timeline", "end_s", "j0", 1e6)),
    ("inside the run", put("timeline", "start_s", "j0", -1.0)),
    ("inside the run", put("timeline", "end_s", "j0", 0.0)),
    ("inside the run", put("timeline", "end_s", "j0", math.nan)),
    ("one unit per slot", put("timeline", "slot", "j0", 1)),
    ("one unit per slot", again("j0", kind="hold", steps=0.0)),
    ("one unit per slot", again("j0", kind="down", unit="", job="", steps=0.0, start_s=9.0, end_s=11.0)),
    ("whole gang", drop("j2")),
    ("whole gang", put("timeline", "end_s", "j2", 5.0)),
    ("whole gang", put("timeline", "gpus", "j0", 2)),
    ("size of the gang", again("j0", gpus=2, node="d-0", accelerator="k80")),
    ("one unit per job", again("j0", unit="j0 #0", node="d-0", accelerator="k80")),
    ("one unit per job", again("j3 + j4", unit="j4", job="j4", with_job="", node="d-0", accelerator="k80")),
    ("arrival and finish", put("jobs", "arrival_s", "j0", 3.0)),
    ("arrival and finish", put("jobs", "finish_s", "j4", 9.0)),
    ("arrival and finish", again("j0", kind="sync", steps=0.0, start_s=9.0, end_s=12.0)),
    ("steps", put("timeline", "steps", "j0", 99.0)),
    ("steps", put("timeline", "with_steps", "j3 + j4", 0.0)),
    ("steps", put("timeline", "steps", "j0", -100.0)),
    ("steps", put("jobs", "steps_lost", "j0", 5.0)),
    ("steps", put("jobs", "steps_done", "j0", 90.0)),
    ("steps", put("jobs", "steps_done", "j0", 110.0)),
    ("steps", put("jobs", "steps_done", "j0", math.nan)),
    ("time", put("jobs", "attained_s", "j0", 11.0)),
    ("time", put("jobs", "run_s", "j4", 1.0)),
    ("time", put("timeline", "kind", "j0", "hold")),
    ("order of times", put("jobs", "first_start_s", "j0", 30.0)),
    ("order of times", put("jobs", "first_start_s", "j0", math.nan)),
    ("order of times", put("jobs", "finish_s", "j2", 1e6)),
    ("decisions", put("decisions", "time_s", 1, -1.0)),
    ("decisions", put("decisions", "busy_gpus", 0, 8)),
    ("decisions", put("decisions", "up_gpus", 0, 99)),
    ("decisions", put("decisions", "waiting_jobs", 0, 6)),
]


@pytest.mark.parametrize(("rule", "damage"), DAMAGE)
def test_damage_is_found(run: Run, rule: str, damage: Callable[[Run], Run]) -> None:
    found = check(damage(run))
    assert rule in {violation.rule for violation in found}, found
    assert all(str(violation).startswith(violation.rule) and violation.expected for violation in found)


def test_synchronisation_may_overlap_the_next_task(run: Run) -> None:
    assert check(again("j0", kind="sync", steps=0.0, start_s=5.0, end_s=10.0)(run)) == []


def test_at_most_so_many_findings_for_a_rule(run: Run) -> None:
    broken = with_tables(run, timeline=run.timeline.assign(node="elsewhere"))
    assert sum(violation.rule == "known" for violation in check(broken, most=2)) == 2


@pytest.mark.parametrize("scheduler", ["gavel.max_min_fairness", "isolated", "las"])
@pytest.mark.parametrize("preset", ["start_here", "gavel_physical", "hops_64", "chronus_96x8"])
def test_presets_add_up(preset: str, scheduler: str) -> None:
    """Among them gangs that move and keep some of their slots (hops_64): their rows do not end together."""
    run = workbench.simulate(workbench.preset(preset), scheduler)
    assert check(run) == []
    assert run.jobs["finish_s"].notna().all()
