"""Jobs of a line move to faster types that are left over: by hand, against theory, and what every move promises."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given as with_random
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import given, look, make, on, scenarios
from workbench.baselines.fifo import Fifo
from workbench.baselines.las import Las
from workbench.baselines.mechanisms import line_decision
from workbench.baselines.mechanisms.line import Rule
from workbench.baselines.srtf import Srtf
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory, Scheduler
from workbench.scheduling.decision import Decision, Unit
from workbench.scheduling.placement import FreeGpus, Gpus, Request, place, runs_spread
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run

TWO = {"v": ("v100", 1), "k": ("k80", 1)}
SPEEDS = {"v100": 2.0, "k80": 1.0}
LONG_AND_SHORT = [{"steps": 3600}, {"steps": 360}]
movers = pytest.mark.parametrize("scheduler", [Srtf(), Las()], ids=["srtf", "las"])


def finish(run: Run) -> dict[str, float]:
    return dict(zip(run.jobs["job"], run.jobs["finish_s"].tolist(), strict=True))


def mean_jct(run: Run) -> float:
    return float((run.jobs["finish_s"] - run.jobs["arrival_s"]).mean())


def restart(restart_s: float, law: str = "fixed") -> dict[str, Any]:
    return {"restart": {"restart_s": restart_s, "law": law}}


def ask(scheduler: Scheduler, scenario: Scenario, snapshot: Snapshot) -> Decision:
    settled = scheduler.settle({})
    return scheduler.decide(snapshot, scheduler.start(scenario, settled), settled, np.random.default_rng(0))[0]


def test_a_completion_frees_a_fast_type_and_the_next_one_moves_there() -> None:
    """j1 is on the V100 to 180 s; j0 has 3600 - 360 steps left at the next round, then 2 a second: 360 + 1620 s."""
    run = run_loop(make(TWO, LONG_AND_SHORT, SPEEDS), Srtf())
    assert finish(run) == {"j0": 1980.0, "j1": 180.0} and mean_jct(run) == 1080.0
    assert run.jobs["moves"].tolist() == [1, 0] and run.jobs["preemptions"].tolist() == [0, 0]
    at_once = run_loop(make(TWO, LONG_AND_SHORT, SPEEDS), Srtf(), {"round_s": 0})
    assert finish(at_once) == {"j0": 180.0 + (3600 - 180) / 2, "j1": 180.0}


def test_las_moves_too() -> None:
    run = run_loop(make(TWO, LONG_AND_SHORT[::-1], SPEEDS), Las())
    assert finish(run) == {"j0": 180.0, "j1": 1980.0}


def test_nobody_moves_under_fifo_or_unaware_of_types() -> None:
    first = make(TWO, LONG_AND_SHORT[::-1], SPEEDS)
    assert finish(run_loop(first, Fifo())) == {"j0": 180.0, "j1": 3600.0}
    for scheduler in (Srtf(), Las()):
        assert finish(run_loop(first, scheduler, {"heterogeneity_aware": False})) == {"j0": 180.0, "j1": 3600.0}


@pytest.mark.parametrize(
    ("core", "gpus", "done_s"),
    [
        (restart(1600), 1, 360 + 1600 + 1620),  # 3240 s where it is, 1620 s and a restart where it could be
        (restart(1640), 1, 3600),
        (restart(820), 2, 360 + 820 + 1620),
        (restart(800, "log2"), 2, 360 + 1600 + 1620),  # two GPUs restart for twice as long
        (restart(820, "log2"), 2, 3600),
    ],
)
def test_a_move_has_to_pay_for_its_restart(core: dict[str, Any], gpus: int, done_s: float) -> None:
    nodes = {"v": ("v100", gpus), "k": ("k80", gpus)}
    jobs = [{"steps": job["steps"] * gpus, "gpus": gpus} for job in LONG_AND_SHORT]
    assert finish(run_loop(make(nodes, jobs, SPEEDS, core=core), Srtf())) == {"j0": done_s, "j1": 180.0}


def only_on_v100(scenario: Scenario, gpus: int) -> Scenario:
    """The same where gangs of that size do not run on the K80."""
    rows = [row for row in scenario.throughputs if (row.accelerator, row.gpus) != ("k80", gpus)]
    return scenario.replace(throughputs=tuple(rows))


def test_nobody_takes_a_fast_type_from_a_job_that_would_then_wait() -> None:
    """j0 needs both V100s; j1 is before it in line and twice as fast there, but has a K80: both run."""
    jobs = [{"steps": 3600, "gpus": 2}, {"steps": 1200, "arrival_s": 10}]
    scenario = only_on_v100(make({"v": ("v100", 2), "k": ("k80", 1)}, jobs, SPEEDS), 2)
    for round_s in (0.0, 10.0):
        srtf, fifo = (run_loop(scenario, scheduler, {"round_s": round_s}) for scheduler in (Srtf(), Fifo()))
        assert finish(fifo) == {"j0": 900.0, "j1": 10.0 + 1200}
        assert finish(srtf) == {"j0": 900.0, "j1": 900.0 + (1200 - 890) / 2}  # a V100 is left over from 900 s on
        assert srtf.jobs["preemptions"].sum() == 0
    leases = [on("j0", v=2), on("j1", k=1)]
    decision = ask(Srtf(), scenario, look(scenario, 20.0, leases=leases))
    assert dict(decision.signals["remaining_s"]) == {"j0": 900.0, "j1": 600.0}
    assert not decision.assign and not decision.preempt


def test_the_first_in_line_moves_and_what_it_leaves_goes_to_the_next() -> None:
    speeds = {"v100": 4.0, "p100": 2.0, "k80": 1.0}
    nodes = {"v": ("v100", 1), "p": ("p100", 1), "k": ("k80", 1)}
    scenario = make(nodes, [{"steps": 1000}, {"steps": 900}], speeds)
    decision = ask(Srtf(), scenario, look(scenario, leases=[on("j0", k=1), on("j1", p=1)]))
    assert given(decision) == {"j1": {"v": 1}, "j0": {"p": 1}} and decision.preempt == {"j0", "j1"}
    assert decision.why["j1"].code == "faster_type" and decision.why["j0"].facts == {"type": "p100"}
    assert decision.next_s == math.inf


def of_models(scenario: Scenario, speeds: Sequence[Mapping[str, float]]) -> Scenario:
    """The same with a model of its own for each job of one GPU: steps/s by type."""
    return scenario.replace(
        jobs=tuple({**job.model_dump(), "model": job.name} for job in scenario.jobs),
        throughputs=tuple(
            {"model": job.name, "accelerator": kind, "gpus": 1, "steps_per_s": speed}
            for job, its in zip(scenario.jobs, speeds, strict=True)
            for kind, speed in its.items()
        ),
    )


@movers
def test_one_who_prefers_what_a_later_one_leaves_gets_it_in_the_same_decision(scheduler: Scheduler) -> None:
    """j0, first in line, is fastest on the P100, which j1 leaves for the V100."""
    rows = [{"v100": 1, "p100": 3, "k80": 1}, {"v100": 9, "p100": 3, "k80": 1}]
    nodes = {"v": ("v100", 1), "p": ("p100", 1), "k": ("k80", 1)}
    scenario = of_models(make(nodes, [{}, {"steps": 9000}]), rows)
    leases = [on("j0", k=1), on("j1", p=1)]
    assert given(ask(scheduler, scenario, look(scenario, leases=leases))) == {"j0": {"p": 1}, "j1": {"v": 1}}


def test_who_waits_gets_what_a_mover_leaves() -> None:
    """j1 runs on K80s alone and is last: it fits once j0 has left one."""
    nodes = {"v": ("v100", 1), "k": ("k80", 2)}
    scenario = make(nodes, [{"steps": 100}, {"steps": 5000, "gpus": 2}], SPEEDS)
    decision = ask(Srtf(), scenario, look(scenario, leases=[on("j0", k=1)]))
    assert given(decision) == {"j0": {"v": 1}, "j1": {"k": 2}} and decision.preempt == {"j0"}
    assert decision.why["j1"].code == "next_in_line"


def test_after_moves_those_who_still_wait_are_looked_at_again_in_the_next_round() -> None:
    """j1 fits when j0 has left a K80 and j2 makes room for it; that is decided one round later, not at a completion."""
    jobs = [{"steps": 1000}, {"steps": 4000, "gpus": 2}, {"steps": 90_000}]
    scenario = make({"v": ("v100", 1), "k": ("k80", 2)}, jobs, SPEEDS)
    leases = [on("j0", k=1), on("j2", k=1)]
    decision = ask(Srtf(), scenario, look(scenario, leases=leases))
    assert given(decision) == {"j0": {"v": 1}} and decision.next_s is None
    after = ask(Srtf(), scenario, look(scenario, leases=[on("j0", v=1), on("j2", k=1)]))
    assert given(after) == {"j1": {"k": 2}} and after.preempt == {"j2"} and after.next_s == math.inf


@movers
def test_a_faster_type_that_is_slower_on_several_nodes_attracts_nobody(scheduler: Scheduler) -> None:
    scenario = make({"v": ("v100", 1), "w": ("v100", 1), "x": ("v100", 2), "k": ("k80", 2)}, [{"gpus": 2}], SPEEDS)
    apart = {"model": "m", "accelerator": "v100", "gpus": 2, "placement": "unconsolidated", "steps_per_s": 1.0}
    scenario = scenario.replace(throughputs=(*scenario.throughputs, apart))
    there = ask(scheduler, scenario, look(scenario, leases=[on("j0", k=2)]))
    assert given(there) == {"j0": {"x": 2}}
    assert not ask(scheduler, scenario, look(scenario, leases=[on("j0", k=2)], down=["x-0"])).assign
    # and who is spread over several nodes is judged by its speed there: 1 step/s on V100s, 2 on K80s
    back = ask(scheduler, scenario, look(scenario, leases=[on("j0", v=1, w=1)], down=["x-0"]))
    assert given(back) == {"j0": {"k": 2}}


def test_who_waits_comes_before_who_runs_on_a_slower_type() -> None:
    """j0 would gain from the free V100, but j1 has no GPU at all, though it is behind in line."""
    scenario = make(TWO, [{"steps": 100}, {"steps": 5000}], SPEEDS)
    decision = ask(Srtf(), scenario, look(scenario, leases=[on("j0", k=1)]))
    assert given(decision) == {"j1": {"v": 1}} and not decision.preempt


def test_a_repaired_node_is_moved_to() -> None:
    core = {"faults": {"list": [{"node": "v-0", "from_s": 0, "to_s": 100}]}}
    scenario = make(TWO, [{"steps": 1000}], SPEEDS, core=core)
    assert finish(run_loop(scenario, Srtf(), {"round_s": 0})) == {"j0": 100.0 + 900 / 2}
    assert finish(run_loop(scenario, Las(), {"round_s": 60})) == {"j0": 120.0 + 880 / 2}


def shortest_on_fastest(steps: list[float], speeds: list[float]) -> float:
    """The least mean JCT of jobs that are all there at 0 and may be moved freely between GPUs of these speeds.

    The shortest always on the fastest (Gonzalez 1977): the order of jobs by what is left never changes.
    """
    left, ranked, now_s, total_s = sorted(steps), sorted(speeds, reverse=True), 0.0, 0.0
    while left:
        lasts_s = left[0] / ranked[0]
        left = [max(some - speed * lasts_s, 0.0) for some, speed in zip(left, ranked + [0.0] * len(left), strict=False)]
        left, now_s = left[1:], now_s + lasts_s
        total_s += now_s
    return total_s / len(steps)


@with_random(st.lists(st.tuples(st.integers(1, 500), st.integers(1, 9)), min_size=1, max_size=5), st.integers(0, 4))
def test_srtf_is_optimal_where_nobody_waits_and_types_differ_in_speed_alone(
    pairs: list[tuple[int, int]], fewer: int
) -> None:
    steps, speeds = [steps for steps, _ in pairs][: max(1, len(pairs) - fewer)], [speed for _, speed in pairs]
    nodes = {f"n{i}": (f"t{i}", 1) for i in range(len(speeds))}
    jobs = [{"steps": count} for count in steps]
    scenario = make(nodes, jobs, {f"t{i}": float(speed) for i, speed in enumerate(speeds)})
    srtf, fifo = (run_loop(scenario, scheduler, {"round_s": 0}) for scheduler in (Srtf(), Fifo()))
    best_s = shortest_on_fastest([float(count) for count in steps], [float(speed) for speed in speeds])
    assert mean_jct(srtf) == pytest.approx(best_s, rel=1e-9)
    assert mean_jct(srtf) <= mean_jct(fifo) * (1 + 1e-9)


def after(snapshot: Snapshot, decision: Decision) -> dict[Unit, Gpus]:
    """Who holds what once a decision is carried out."""
    stay = {unit: lease.gpus for unit, lease in snapshot.leases.items() if unit not in decision.preempt}
    return {**stay, **{a.unit: a.gpus for a in decision.assign}}


def remaining_s(snapshot: Snapshot, unit: Unit, gpus: Gpus, restart_s: Mapping[int, float]) -> float:
    """Believed seconds until a job is done on these GPUs, its restart included if it runs on others."""
    row = snapshot.jobs.at[str(unit)]
    had = {**snapshot.leases, **snapshot.ended}.get(unit)
    pays = had is not None and had.gpus != gpus
    left_s = float(snapshot.jobs.steps_left[row]) / snapshot.belief.on_nodes(snapshot.jobs.jobs[row], gpus)
    return left_s + (restart_s[int(snapshot.jobs.gpus[row])] if pays else 0.0)


class Compared(Srtf):
    """SRTF that checks each of its decisions against the same line in which nobody moves, and counts the moves."""

    def __init__(self) -> None:
        self.moves = 0

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        decision, memory = super().decide(snapshot, memory, knobs, rng)
        still, _ = super().decide(snapshot, None, knobs, rng)
        moved, stayed = after(snapshot, decision), after(snapshot, still)
        assert set(moved) >= set(stayed), "a move put somebody out"
        had = {**snapshot.leases, **snapshot.ended}
        for unit in stayed:
            if unit in had and had[unit].gpus == stayed[unit] != moved[unit]:  # else it starts now, wherever
                before_s, now_s = (remaining_s(snapshot, unit, held[unit], memory.by_gang) for held in (stayed, moved))
                assert now_s < before_s, "a move that does not pay"
                self.moves += 1
        self.nobody_gains(snapshot, moved, memory.by_gang)
        return decision, memory

    def nobody_gains(self, snapshot: Snapshot, held: dict[Unit, Gpus], restart_s: Mapping[int, float]) -> None:
        """No job would be done sooner on GPUs of another type that are left over."""
        for unit, gpus in held.items():
            for kind in range(len(snapshot.types)):
                room = FreeGpus(snapshot.nodes)
                for lease in snapshot.leases.values():
                    room.lend(lease.gpus)
                for those in held.values():
                    assert room.keep(room.kind_of(those), sum(those.values()), those)
                wanted = Request(unit, kind, sum(gpus.values()))
                found = place([wanted], room, accept=runs_spread(snapshot)).get(unit)
                if found is not None and kind != room.kind_of(gpus) and runs_spread(snapshot)(unit, found):
                    elsewhere_s = remaining_s(snapshot, unit, found, restart_s)
                    assert elsewhere_s >= remaining_s(snapshot, unit, gpus, restart_s) * (1 - 1e-6) - 1e-6


@with_random(scenarios(), st.sampled_from([0.0, 20.0, 60.0]))
def test_moves_put_nobody_out_and_each_pays(scenario: Scenario, round_s: float) -> None:
    run_loop(scenario, Compared(), {"round_s": round_s})


def test_the_comparison_sees_the_move_of_the_case_by_hand() -> None:
    compared = Compared()
    run_loop(make(TWO, LONG_AND_SHORT, SPEEDS), compared)
    assert compared.moves == 1


def test_a_line_without_restarts_does_not_move() -> None:
    snapshot = look(make(TWO, [{}], SPEEDS), leases=[on("j0", k=1)])
    rule = Rule(preemptive=True, blocking=False, aware=True, steady=True)
    decision = line_decision.serve(snapshot, lambda rows: rows.astype(float), rule, {})
    assert not decision.assign and decision.next_s == math.inf
