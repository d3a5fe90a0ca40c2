"""Hops's profiler: what it costs, its queue, and that the core runs its profiles without doing a job's steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from pytest import approx

import workbench
from tests.baselines.mechanisms.support import look, make
from workbench.analysis.metrics import check
from workbench.base.errors import InputError
from workbench.papers.hops.algorithms.profiler import Probe, ProfileQueue, RunningProbe, probes, start_profiles
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.synthetic import generate
from workbench.scheduling.contract import Scheduler, Timing
from workbench.scheduling.decision import Assignment, Decision
from workbench.scheduling.placement import FreeGpus
from workbench.scheduling.snapshot import Snapshot

SPEEDS = {"t": 1.0, "u": 2.0}
NODES = {"a": ("t", 2), "b": ("t", 2), "c": ("u", 1)}


def probes_of(scenario: Scenario, iterations: int = 30, start_s: float = 20.0) -> list[tuple[Probe, ...]]:
    snapshot = look(scenario)
    return [probes(job, snapshot.belief, snapshot.cluster, iterations, start_s) for job in snapshot.jobs.jobs]


def test_probes_by_hand() -> None:
    """30 iterations at 1 and at 2 a second, each after 20 s: 50 and 35 s, side by side in 50 s."""
    [made] = probes_of(make(NODES, [{}], SPEEDS))
    assert made == (Probe("j0", 0, 1, 50.0), Probe("j0", 1, 1, 35.0))


def test_most_models_are_done_within_a_minute() -> None:
    """The paper's words, for the 26 models and three types of the built-in table: all but one, on the slowest type."""
    scenario = generate("v100=1x4,p100=1x4,k80=1x4", 200, seed=3)
    made = {job.model: found for job, found in zip(scenario.jobs, probes_of(scenario), strict=True)}
    slow = {model for model, found in made.items() if max(probe.seconds for probe in found) > 60.0}
    assert len(made) == 26 and slow == {"Transformer (batch size 256)"}
    assert {probe.kind for probe in made[slow.pop()] if probe.seconds > 60.0} == {2}


def test_a_type_on_which_a_job_does_not_run_is_left_out() -> None:
    data = make(NODES, [{}], SPEEDS).to_dict()
    data["throughputs"][0]["steps_per_s"] = 0.0
    assert [found.kind for found in probes_of(Scenario.from_dict(data))[0]] == [1]


def test_a_job_that_does_not_run_on_one_gpu_is_profiled_as_the_smallest_gang_that_does() -> None:
    """Two GPUs do two iterations a second together, one synchronised iteration each second: 30 s after the start."""
    data = make(NODES, [{"gpus": 2}], SPEEDS).to_dict()
    data["throughputs"] = [row for row in data["throughputs"] if row.get("gpus", 1) == 2]
    assert probes_of(Scenario.from_dict(data)) == [(Probe("j0", 0, 2, 50.0),)], "u has no node with two GPUs"


def test_without_iterations_nothing_is_profiled() -> None:
    assert probes_of(make(NODES, [{}], SPEEDS), iterations=0) == [()]
    with pytest.raises(InputError, match="iterations"):
        probes_of(make(NODES, [{}], SPEEDS), iterations=-1)


def test_first_in_first_out_but_nobody_holds_up_another_type() -> None:
    """Five GPUs: three jobs want one of t and one of u, and there is one of u."""
    scenario = make(NODES, [{}, {}, {}], SPEEDS)
    snapshot = look(scenario)
    line = ProfileQueue().entered(probe for made in probes_of(scenario) for probe in made)
    room = FreeGpus(snapshot.nodes)
    started, line = line.begin(room, 300.0)
    assert [(a.unit, dict(a.gpus), a.until_s) for a in started] == [
        (("j0", 0), {"a-0": 1}, 350.0),
        (("j0", 1), {"c-0": 1}, 335.0),
        (("j1", 0), {"a-0": 1}, 350.0),
        (("j2", 0), {"b-0": 1}, 350.0),
    ]
    assert all(a.kind == "profile" and a.steps == 0.0 for a in started)
    assert room.left(2) == [1, 0], "what is idle goes to the jobs that wait"
    assert [probe.job for probe in line.waiting] == ["j1", "j2"] and line.next_s == 350.0
    assert line.jobs == {"j0", "j1", "j2"}
    later = line.at(look(scenario, 350.0, ended=started))
    assert later.jobs == {"j1", "j2"} and later.next_s is None, "j0 has been profiled everywhere"
    soon = line.at(look(scenario, 340.0, leases=started, gone=("j0", "j2")))
    assert soon == ProfileQueue((Probe("j1", 1, 1, 35.0),), (RunningProbe(Probe("j1", 0, 1, 50.0), 350.0),))


def test_a_profile_that_a_failed_node_cuts_off_is_made_again() -> None:
    scenario = make(NODES, [{}], SPEEDS)
    snapshot = look(scenario)
    started, line = ProfileQueue().entered(probes_of(scenario)[0]).begin(FreeGpus(snapshot.nodes), 0.0)
    assert [a.unit for a in started] == [("j0", 0), ("j0", 1)] and line.next_s == 50.0
    cut = line.at(look(scenario, 10.0, leases=started[1:], down=["a-0"]))
    assert [probe.kind for probe in cut.waiting] == [0] and [found.probe.kind for found in cut.running] == [1]
    nowhere = line.at(look(scenario, 10.0, leases=started[:1], down=["c-0"]))
    assert not nowhere.waiting, "no node of type u is up: it holds up nobody"


def test_profiles_begin_on_gpus_that_were_idle_before_the_round() -> None:
    """a was busy until now; of the two probes on t one fits on b's free GPU, the other takes one of a."""
    scenario = make({"a": ("t", 1), "b": ("t", 1)}, [{}, {}, {}])
    snapshot = look(scenario, ended=[Assignment("j2", {"a-0": 1}, 0.0)])
    line = ProfileQueue().entered(probe for made in probes_of(scenario)[:2] for probe in made)
    started, _ = start_profiles(line, snapshot, {})
    assert [(a.unit, dict(a.gpus)) for a in started] == [(("j0", 0), {"b-0": 1}), (("j1", 0), {"a-0": 1})]
    fewer, left = start_profiles(line, snapshot, {"a-0": 1})
    assert [a.unit for a in fewer] == [("j0", 0)] and left.jobs == {"j0", "j1"}


def test_a_gang_that_would_be_split_over_nodes_waits() -> None:
    snapshot = look(make(NODES, [{}]), leases=[Assignment("j0", {"a-0": 1}, 9.0), Assignment("x", {"b-0": 1}, 9.0)])
    room = FreeGpus(snapshot.nodes)
    line = ProfileQueue((Probe("j1", 0, 2, 50.0), Probe("j2", 0, 1, 50.0)))
    started, line = line.begin(room, 0.0)
    assert [a.unit for a in started] == [("j2", 0)] and line.jobs == {"j1", "j2"}
    assert room.left(2) == [1, 1]


class _ProfileThenRun(Scheduler):
    """Profiles every job when it comes, then gives each the first free node of two GPUs for good."""

    name = "profile_then_run"
    title = "Profile, then run"

    def timing(self, knobs: Mapping[str, Any]) -> Timing:
        return Timing(300.0)

    def start(self, scenario: Scenario, knobs: Mapping[str, Any]) -> tuple[ProfileQueue, frozenset[str]]:
        return ProfileQueue(), frozenset()

    def decide(
        self,
        snapshot: Snapshot,
        memory: tuple[ProfileQueue, frozenset[str]],
        knobs: Mapping[str, Any],
        rng: np.random.Generator,
    ) -> tuple[Decision, tuple[ProfileQueue, frozenset[str]]]:
        line, known = memory
        new = [job for job in snapshot.jobs.jobs if job.name not in known]
        made = (probe for job in new for probe in probes(job, snapshot.belief, snapshot.cluster, 30, 20.0))
        line = line.at(snapshot).entered(made)
        room = FreeGpus(snapshot.nodes)
        assign, line = line.begin(room, snapshot.now_s)
        for job in snapshot.jobs.jobs:
            if job.name not in line.jobs and job.name not in snapshot.leases:
                gpus = room.consolidate(0, job.gpus)
                if gpus is not None:
                    assign = (*assign, Assignment(job.name, gpus, float("inf")))
        after = (line, known | frozenset(job.name for job in new))
        return Decision(assign=assign, next_s=line.next_s), after


def test_the_core_runs_profiles_side_by_side_and_they_do_no_steps() -> None:
    scenario = make({"a": ("t", 2), "c": ("u", 1)}, [{"gpus": 2, "steps": 1000}], SPEEDS)
    run = workbench.simulate(scenario, _ProfileThenRun())
    profiles = run.timeline[run.timeline["kind"] == "profile"]
    assert sorted(zip(profiles["unit"], profiles["start_s"], profiles["end_s"], strict=True)) == [
        ("j0 #0", 0.0, 50.0),
        ("j0 #1", 0.0, 35.0),
    ]
    assert profiles["steps"].sum() == 0.0
    assert run.jobs["finish_s"].tolist() == approx([50.0 + 1000 / 2])
    assert run.jobs["attained_s"].tolist() == approx([85.0 + 2 * 500.0])


def test_a_profile_is_no_run_of_its_job() -> None:
    """Its end is no preemption, and the first run after it neither a restart nor a move; the next start is both."""
    scenario = make({"a": ("t", 1), "b": ("t", 1)}, [{"steps": 100}]).replace(
        core={"restart": {"law": "fixed", "restart_s": 7.0}}
    )
    script = {
        0.0: Assignment(("j0", 0), {"a-0": 1}, 50.0, "profile", 0.0),
        60.0: Assignment("j0", {"b-0": 1}, 100.0),
        100.0: Assignment("j0", {"a-0": 1}, float("inf")),
    }
    run = workbench.simulate(scenario, _Script(script))
    rows = run.timeline[["kind", "start_s", "end_s"]]
    assert sorted(rows.itertuples(index=False, name=None), key=lambda found: found[1]) == [
        ("profile", 0.0, 50.0),
        ("run", 60.0, 100.0),
        ("restart", 100.0, 107.0),
        ("run", 107.0, 167.0),
    ]
    assert run.events["event"].tolist() == ["arrival", "start", "start", "move", "finish"]
    found = run.jobs.iloc[0]
    assert (found["restarts"], found["moves"], found["preemptions"]) == (1, 1, 0)
    assert (found["first_start_s"], found["waited_s"]) == (0.0, 10.0)
    assert check(run) == []


class _Script(Scheduler):
    """Gives one assignment at each of its times."""

    name = title = "script"

    def __init__(self, script: Mapping[float, Assignment]) -> None:
        self._script = script

    def timing(self, knobs: Mapping[str, Any]) -> Timing:
        return Timing(None, frozenset())

    def start(self, scenario: Scenario, knobs: Mapping[str, Any]) -> None:
        return None

    def decide(
        self, snapshot: Snapshot, memory: None, knobs: Mapping[str, Any], rng: np.random.Generator
    ) -> tuple[Decision, None]:
        later = min((time_s for time_s in self._script if time_s > snapshot.now_s), default=float("inf"))
        given = self._script.get(snapshot.now_s)
        return Decision(assign=() if given is None else (given,), next_s=later), None
