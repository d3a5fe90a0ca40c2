"""Gavel's mechanism by hand, and what it promises: over many rounds everybody receives the share intended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given as with_random
from hypothesis import strategies as st

import workbench
from tests.baselines.mechanisms.support import given, look, make, on
from workbench.base.errors import InputError
from workbench.baselines.mechanisms import priority
from workbench.baselines.mechanisms.priority import PolicyAnswer
from workbench.baselines.mechanisms.priority.picking import pick_in_turn
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Assignment, Decision, Shares, Unit, members
from workbench.scheduling.knob import settle
from workbench.scheduling.snapshot import Snapshot

RNG = np.random.default_rng(0)


class Fixed:
    """A policy that gives the shares it was made with, `{unit: (share per type)}`, to those that are there."""

    def __init__(self, shares: Mapping[Unit, tuple[float, ...]]) -> None:
        self.shares = shares
        self.asked: list[float] = []

    def __call__(self, snapshot: Snapshot, knobs: Mapping[str, Any], memory: Any) -> PolicyAnswer:
        self.asked.append(snapshot.now_s)
        units = [u for u in self.shares if all(n in snapshot.jobs.at for n in members(u))]
        values = np.array([self.shares[u] for u in units], dtype=float).reshape(len(units), len(snapshot.types))
        return PolicyAnswer(Shares(tuple(units), snapshot.types, values), None, (memory or 0) + 1)


def knobs(**given: Any) -> dict[str, Any]:
    return settle(priority.KNOBS, given, "test")


def decide(
    snapshot: Snapshot, memory: priority.PriorityMemory | None, policy: Fixed, **given: Any
) -> tuple[Decision, priority.PriorityMemory]:
    return priority.decide(snapshot, memory or priority.start(snapshot.types), knobs(**given), RNG, policy)


TWO = {"a": ("fast", 1), "b": ("slow", 1)}


def test_priority_is_share_over_part_of_the_time() -> None:
    scenario = make(TWO, [{}, {}], {"fast": 2.0, "slow": 1.0})
    policy = Fixed({"j0": (0.75, 0.25), "j1": (0.25, 0.75)})
    first, memory = decide(look(scenario), None, policy)
    assert given(first) == {"j0": {"a": 1}, "j1": {"b": 1}}  # nobody has run: infinite, the larger share first
    assert np.isinf(first.signals["priority"]["j0"])
    ended = first.assign
    second = look(scenario, 360.0, ended=ended, attained={"j0": 360.0, "j1": 360.0})
    decision, memory = decide(second, memory, policy)
    assert memory.time_s.tolist() == [[360.0, 0.0], [0.0, 360.0]]
    assert priority.priorities(memory, knobs()).tolist() == [[0.75, np.inf], [np.inf, 0.75]]
    assert given(decision) == {"j0": {"b": 1}, "j1": {"a": 1}}  # each on the type where it has not been
    third = look(scenario, 720.0, ended=decision.assign, attained={"j0": 720.0, "j1": 720.0})
    decision, memory = decide(third, memory, policy)
    # f = 1/2 everywhere: priorities 1.5 and 0.5
    assert priority.priorities(memory, knobs()).tolist() == [[1.5, 0.5], [0.5, 1.5]]
    assert given(decision) == {"j0": {"a": 1}, "j1": {"b": 1}}
    assert policy.asked == [0.0]


def test_initial_time_of_half_a_round() -> None:
    scenario = make(TWO, [{}, {}])
    policy = Fixed({"j0": (0.75, 0.25), "j1": (0.25, 0.75)})
    _, memory = decide(look(scenario), None, policy, initial_time=0.5)
    assert priority.priorities(memory, knobs()).tolist() == [[1.5, 0.5], [0.5, 1.5]]


def test_a_gang_must_fit_and_others_pass_it() -> None:
    scenario = make({"a": ("t", 3)}, [{"gpus": 2}, {"gpus": 2}, {}])
    policy = Fixed({"j0": (0.9,), "j1": (0.8,), "j2": (0.1,)})
    decision, _ = decide(look(scenario), None, policy, initial_time=0.5)
    assert given(decision) == {"j0": {"a": 2}, "j2": {"a": 1}}


def test_ties_by_deficit_then_share_then_order() -> None:
    scenario = make({"a": ("t", 1)}, [{}, {}, {}])
    _, memory = decide(look(scenario), None, Fixed({"j0": (0.3,), "j1": (0.3,), "j2": (0.3,)}))
    order = [0]

    def best(memory: priority.PriorityMemory) -> int:
        return priority.pick(memory, priority.priorities(memory, knobs()), order, knobs()).units[0]

    assert best(memory) == 0
    larger = replace(memory, plan=replace(memory.plan, share=np.array([[0.3], [0.4], [0.4]])))
    assert best(larger) == 1
    assert best(replace(larger, plan=replace(larger.plan, deficit_s=np.array([[1.0], [1.0], [5.0]])))) == 2


def test_highest_of_all_or_type_by_type() -> None:
    scenario = make(TWO, [{}])
    shares = {"j0": (0.2, 0.8)}
    assert given(decide(look(scenario), None, Fixed(shares), initial_time=0.5)[0]) == {"j0": {"b": 1}}
    by_type = decide(look(scenario), None, Fixed(shares), initial_time=0.5, pick="by_type")[0]
    assert given(by_type) == {"j0": {"a": 1}}
    named = decide(look(scenario), None, Fixed(shares), pick="by_type", type_order="k80, slow")[0]
    assert given(named) == {"j0": {"b": 1}}


@pytest.mark.parametrize("order", ["zz", "slow, zz", "slow, slow", "v100, slow, v100"])
@pytest.mark.parametrize("shuffle", ["never", "always"])
def test_an_order_of_types_that_cannot_be(order: str, shuffle: str) -> None:
    """Only the types of the authors' own order may be missing from the cluster (`preset=authors` runs on any)."""
    with pytest.raises(InputError, match=r"knob type_order: got '(zz|slow|v100)'; expected types of the cluster"):
        decide(look(make(TWO, [{}])), None, Fixed({"j0": (0.2, 0.8)}), type_order=order, shuffle_types=shuffle)


def test_leftovers() -> None:
    scenario = make({"a": ("t", 2)}, [{}, {}, {"arrival_s": 100}])
    policy = Fixed({"j0": (1.0,), "j1": (0.0,), "j2": (0.5,)})
    assert set(given(decide(look(scenario), None, policy)[0])) == {"j0", "j1"}
    assert set(given(decide(look(scenario), None, policy, leftovers="none")[0])) == {"j0"}
    # j1 has finished, j2 has come since the shares were computed
    first, memory = decide(look(scenario, 1.0), None, policy, recompute_s=1e9)
    for leftovers, expected in (("all", {"j0", "j2"}), ("known", {"j0"})):
        later = look(scenario, 360.0, gone=["j1"], ended=[a for a in first.assign if a.unit != "j1"])
        decision, _ = decide(later, memory, policy, recompute_s=1e9, leftovers=leftovers)
        assert set(given(decision)) == expected


def test_shares_are_computed_when_jobs_or_gpus_change_but_not_too_often() -> None:
    scenario = make({"a": ("t", 2), "b": ("t", 1)}, [{}, {"arrival_s": 100}, {"arrival_s": 800}])
    policy = Fixed({f"j{i}": (0.5,) for i in range(3)})
    memory: priority.PriorityMemory | None = None
    for now_s in (0.0, 360.0, 720.0, 1080.0, 1440.0):  # one at 0 s does not start the interval
        _, memory = decide(look(scenario, now_s), memory, policy, recompute_s=1000.0)
    assert policy.asked == [0.0, 360.0, 1440.0]
    _, memory = decide(look(scenario, 1800.0, down=["b-0"]), memory, policy, recompute_s=1000.0)
    assert policy.asked[-1] == 1800.0
    _, memory = decide(look(scenario, 2160.0, down=["b-0"]), memory, policy, refresh_s=300.0)
    assert policy.asked[-1] == 2160.0
    assert memory is not None and memory.policy == 5


def test_deficits_carry_over_when_shares_are_computed() -> None:
    scenario = make({"a": ("t", 1)}, [{}, {}, {"arrival_s": 300}])
    policy = Fixed({"j0": (0.75,), "j1": (0.25,), "j2": (0.1,)})
    first, memory = decide(look(scenario), None, policy, initial_time=0.5)
    second = look(scenario, 360.0, ended=first.assign, attained={"j0": 360.0})
    _, memory = decide(second, memory, policy, initial_time=0.5)
    assert memory.plan.deficit_s.ravel().tolist() == pytest.approx([0.75 * 360 - 360, 0.25 * 360, 0.0])
    assert memory.time_s.ravel().tolist() == [180.0] * 3 and memory.total_s.tolist() == [540.0]


def test_a_unit_that_lost_its_node_is_charged_what_it_held() -> None:
    scenario = make({"a": ("t", 1), "b": ("t", 2)}, [{}, {"gpus": 2}])
    policy = Fixed({"j0": (1.0,), "j1": (1.0,)})
    first, memory = decide(look(scenario), None, policy)
    later = look(scenario, 360.0, ended=[a for a in first.assign if a.unit == "j0"], attained={"j0": 360, "j1": 200})
    booked = priority.book(memory, later)
    assert booked.time_s.ravel().tolist() == [360.0, 100.0]
    assert booked.total_s.tolist() == [460.0]


def test_finished_jobs_stay_in_the_sum_until_the_next_computation() -> None:
    scenario = make({"a": ("t", 2)}, [{"steps": 36}, {}])
    policy = Fixed({"j0": (0.5,), "j1": (0.5,)})
    first, memory = decide(look(scenario, 1.0), None, policy, recompute_s=1e9)
    later = look(scenario, 360.0, gone=["j0"], ended=[a for a in first.assign if a.unit == "j1"], attained={"j1": 359})
    _, memory = decide(later, memory, policy, recompute_s=1e9)
    assert memory.plan.units == ("j1",)
    assert memory.total_s.tolist() == [359.0 + 36.0]


def test_pairs_conflict_with_their_members() -> None:
    pair = {"model": "m", "with_model": "m", "accelerator": "t", "steps_per_s": 0.6, "with_steps_per_s": 0.6}
    scenario = make({"a": ("t", 2)}, [{}, {}, {}], colocated=[pair], core={"space_sharing": True})
    policy = Fixed({("j0", "j1"): (0.9,), "j0": (0.5,), "j1": (0.4,), "j2": (0.3,)})
    decision, memory = decide(look(scenario), None, policy, initial_time=0.5)
    assert given(decision) == {("j0", "j1"): {"a": 1}, "j2": {"a": 1}}
    assert memory.plan.speed[0, 0] == 0.6 and memory.plan.other[0, 0] == 0.6
    later = look(scenario, 360.0, gone=["j1"], ended=[a for a in decision.assign if a.unit == "j2"])
    decision, memory = decide(later, memory, policy, initial_time=0.5)
    assert memory.plan.units == ("j0", "j2")


def test_who_can_stay_stays_and_only_changes_are_explained() -> None:
    scenario = make({"a": ("t", 1), "b": ("t", 1)}, [{}, {}, {}])
    policy = Fixed({"j0": (0.9,), "j1": (0.8,), "j2": (0.0,)})
    ended = [on("j0", b=1), on("j2", a=1)]
    decision, _ = decide(look(scenario, ended=ended), None, policy, initial_time=0.5)
    assert given(decision) == {"j0": {"b": 1}, "j1": {"a": 1}}
    assert set(decision.why) == {"j1", "j2"} and decision.why["j2"].code == "outranked"


def test_gangs_stay_off_nodes_where_they_cannot_run_apart() -> None:
    scenario = make({"a": ("t", 2), "b": ("t", 2)}, [{}, {}, {"gpus": 2}])
    split = {"model": "m", "accelerator": "t", "gpus": 2, "placement": "unconsolidated", "steps_per_s": 0}
    scenario = scenario.replace(throughputs=(*scenario.throughputs, split))
    ended = [on("j0", a=1), on("j1", b=1)]
    decision, _ = decide(look(scenario, ended=ended), None, Fixed({"j0": (0.9,), "j1": (0.9,), "j2": (0.1,)}))
    assert given(decision) == {"j2": {"a": 2}, "j0": {"b": 1}, "j1": {"b": 1}}


def test_whole_steps_and_the_last_job() -> None:
    scenario = make({"a": ("t", 2)}, [{"steps": 5000}, {"steps": 100}], {"t": 0.123})
    policy = Fixed({"j0": (1.0,), "j1": (1.0,)})
    decision, _ = decide(look(scenario), None, policy, whole_steps=True, round_end="last_job")
    first, second = decision.assign
    assert first.steps == 44 and second.steps == 44  # floor(360 x 0.123)
    assert first.until_s == decision.next_s == 44 / 0.123
    decision, _ = decide(look(scenario, left={"j0": 10.0, "j1": 5.0}), None, policy, whole_steps=True)
    assert [a.steps for a in decision.assign] == [None, None] and decision.assign[0].until_s == 360.0


@with_random(st.integers(0, 10**6), st.sampled_from(["highest", "by_type"]), st.sampled_from([0.0, 0.5]))
def test_over_many_rounds_everybody_receives_its_share(seed: int, pick: str, initial: float) -> None:
    """Single GPUs and shares that fill the cluster: after n rounds nobody is more than a few rounds off (section 5)."""
    rng = np.random.default_rng(seed)
    kinds, gpus = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    count = kinds * gpus + int(rng.integers(0, 5))
    shares = rng.random((count, kinds))
    for _ in range(200):  # rows at most 1, columns exactly the GPUs
        shares *= gpus / shares.sum(axis=0)
        shares /= np.maximum(1.0, shares.sum(axis=1))[:, None]
    nodes = {f"n{k}": (f"t{k}", gpus) for k in range(kinds)}
    scenario = make(nodes, [{"steps": 10**9} for _ in range(count)])
    policy = Fixed({f"j{i}": tuple(row) for i, row in enumerate(shares.tolist())})
    memory: priority.PriorityMemory | None = None
    ended: tuple[Assignment, ...] = ()
    rounds = 100
    for number in range(rounds):
        attained = {f"j{i}": 1e9 + number * 360.0 for i in range(count)}
        decision, memory = decide(
            look(scenario, number * 360.0, ended=ended, attained=attained),
            memory,
            policy,
            pick=pick,
            initial_time=initial,
        )
        ended = decision.assign
    assert memory is not None
    received = (memory.time_s - initial * 360.0) / 360.0
    assert np.abs(received - shares * rounds).max() < 0.15 * rounds


def test_a_round_without_a_step_makes_the_next_one_twice_as_long() -> None:
    scenario = make({"a": ("t", 1)}, [{"steps": 1}], {"t": 2.0})
    policy, memory, now_s, attained = Fixed({"j0": (1.0,)}), None, 0.0, 0.0
    ended: tuple[Assignment, ...] = ()
    lengths = []
    for left in (1.0, 1.0, 1.0, 0.5):
        snapshot = look(scenario, now_s, ended=ended, left={"j0": left}, attained={"j0": attained})
        decision, memory = decide(snapshot, memory, policy, whole_steps=True, round_end="last_job")
        assert decision.next_s is not None and decision.assign[0].until_s == decision.next_s
        lengths.append(decision.next_s - now_s)
        attained, now_s, ended = attained + lengths[-1], decision.next_s, decision.assign
    assert lengths == [0.5, 1.0, 2.0, 0.5]


def test_a_round_in_which_a_node_failed_does_not_make_the_next_one_longer() -> None:
    """The job lost its GPUs, and all that it had done."""
    scenario = make({"a": ("t", 1)}, [{"steps": 1000}], {"t": 1.0})
    policy, memory, lengths = Fixed({"j0": (1.0,)}), None, []
    for now_s in (0.0, 360.0, 720.0):
        snapshot = look(scenario, now_s, left={"j0": 1000.0}, attained={"j0": now_s / 4})
        decision, memory = decide(snapshot, memory, policy, whole_steps=True, round_end="last_job")
        assert decision.next_s is not None
        lengths.append(decision.next_s - now_s)
    assert lengths == [360.0, 360.0, 360.0]


def _cut_up(sizes: Sequence[int]) -> Snapshot:
    """Two nodes of four GPUs, and gangs of these sizes that cannot run apart."""
    scenario = make({"a": ("t", 4), "b": ("t", 4)}, [{"gpus": size} for size in sizes])
    apart = [
        {"model": "m", "accelerator": "t", "gpus": size, "placement": "unconsolidated", "steps_per_s": 0}
        for size in {*sizes} - {1}
    ]
    return look(scenario.replace(throughputs=(*scenario.throughputs, *apart)))


@pytest.mark.parametrize("leftovers", ["all", "known", "none"])
def test_who_finds_no_nodes_leaves_them_to_the_next_that_fits(leftovers: str) -> None:
    """Two gangs of three leave a GPU on each node: not enough for the gang of two that is next, but for two jobs."""
    policy = Fixed({"j0": (0.9,), "j1": (0.9,), "j2": (0.8,), "j3": (0.3,), "j4": (0.3,)})
    snapshot = _cut_up([3, 3, 2, 1, 1])
    decision, memory = decide(snapshot, None, policy, initial_time=0.5, leftovers=leftovers)
    assert given(decision) == {"j0": {"a": 3}, "j1": {"b": 3}, "j3": {"a": 1}, "j4": {"b": 1}}
    assert [memory.plan.units[i] for i in memory.ran.unit] == ["j0", "j1", "j3", "j4"]


def test_who_comes_first_finds_nodes_whatever_the_size_of_its_gang() -> None:
    """Large gangs are placed first where that does for all; not here, so the gang of two comes before a gang of three.

    Else it would wait for ever, however high its priority.
    """
    policy = Fixed({"j0": (0.8,), "j1": (0.8,), "j2": (0.9,), "j3": (0.3,), "j4": (0.3,)})
    decision, _ = decide(_cut_up([3, 3, 2, 1, 1]), None, policy, initial_time=0.5)
    assert given(decision) == {"j2": {"b": 2}, "j0": {"a": 3}, "j3": {"a": 1}, "j4": {"b": 1}}


def test_later_jobs_only_keep_others_off_where_units_are_placed_in_turn() -> None:
    """Three GPUs; j0 finds no nodes, j1 is not known: with `known` it takes a GPU without being placed, j3 is left."""
    scenario = make({"a": ("t", 3)}, [{"gpus": 2}, {}, {"gpus": 2}, {}])
    policy = Fixed({"j0": (0.9,), "j1": (0.8,), "j2": (0.7,), "j3": (0.6,)})
    _, memory = decide(look(scenario), None, policy, initial_time=0.5)
    memory = replace(memory, plan=replace(memory.plan, known=np.array([True, False, True, True])))
    for leftovers, asked, picked in (("all", [0, 1, 2], [1, 2]), ("known", [0, 2], [2])):
        seen: list[int] = []

        def find(unit: int, kind: int, seen: list[int] = seen) -> int | None:
            seen.append(unit)
            return None if unit == 0 else kind

        found = pick_in_turn(memory, priority.priorities(memory, knobs()), [0], knobs(leftovers=leftovers), find)
        assert (seen, found.units, found.kinds) == (asked, picked, [0] * len(picked))


@with_random(st.lists(st.integers(1, 4), min_size=1, max_size=9), st.integers(0, 10**6))
def test_the_first_always_runs_and_nobody_who_fits_is_left(sizes: list[int], seed: int) -> None:
    """Gangs that each need one node: whoever waits is larger than what is free on any node."""
    shares = np.random.default_rng(seed).permutation(len(sizes)) / len(sizes) + 0.05
    policy = Fixed({f"j{i}": (share,) for i, share in enumerate(shares.tolist())})
    found = given(decide(_cut_up(sizes), None, policy, initial_time=0.5)[0])
    free = {"a": 4, "b": 4}
    for unit, gpus in found.items():
        [(node, count)] = gpus.items()
        assert count == sizes[int(str(unit)[1:])]
        free[node] -= count
    assert min(free.values()) >= 0 and f"j{shares.argmax()}" in found
    assert all(size > max(free.values()) for i, size in enumerate(sizes) if f"j{i}" not in found)


def _three_gangs_of_two_nodes() -> Scenario:
    """The case above as a run: weights in proportion to the gangs, so that all are to have equal time."""
    jobs = [(3, 9.0, 3000), (3, 9.0, 3000), (2, 6.0, 2000), (1, 1.0, 2000), (1, 1.0, 2000)]
    rows = [
        {"model": "m", "accelerator": "t", "gpus": n, "placement": word, "steps_per_s": speed}
        for n in (1, 2, 3)
        for word, speed in (("consolidated", n), ("unconsolidated", 0 if n > 1 else 1))
    ]
    base = make({"a": ("t", 4), "b": ("t", 4)}, [{"gpus": n, "weight": w, "steps": s} for n, w, s in jobs])
    return Scenario.from_dict({**base.to_dict(), "throughputs": rows})


def test_no_gpu_is_idle_while_a_job_that_fits_waits_and_nobody_starves() -> None:
    """8 GPUs, 10 of them wanted. Gangs of 3, 3 and 2 in two nodes of 4: two of them at a time, the single jobs always.

    In every three rounds each gang runs in two, so those of 1000 s of work alone end after about 1500 s, the others
    after 2000 s.
    """
    run = workbench.simulate(_three_gangs_of_two_nodes(), "gavel.max_min_fairness", round_s=100)
    ends = run.jobs.set_index("job")["finish_s"]
    assert ends[["j3", "j4"]].tolist() == [2000.0, 2000.0]
    assert ends[["j0", "j1", "j2"]].between(1400, 1500).all()


def _pair_and_a_late_job() -> Scenario:
    """One GPU; a and b together each at 0.9 of their steps/s, and c, which may share with nobody."""
    speeds = {"a": 4000, "b": 500, "c": 6000}
    base = make({"n": ("t", 1)}, [])
    return Scenario.from_dict(
        {
            **base.to_dict(),
            "jobs": [{"name": name, "model": name, "steps": steps, "arrival_s": 100} for name, steps in speeds.items()],
            "throughputs": [{"model": name, "accelerator": "t", "steps_per_s": 1} for name in speeds],
            "colocated": [
                {"model": "a", "with_model": "b", "accelerator": "t", "steps_per_s": 0.9, "with_steps_per_s": 0.9}
            ],
            "core": {"space_sharing": True},
        }
    )


@pytest.mark.parametrize("recompute_s", [0.0, 1920.0, 5000.0])
@pytest.mark.parametrize("leftovers", ["all", "none"])
def test_who_is_left_of_a_pair_inherits_its_share(recompute_s: float, leftovers: str) -> None:
    """The pair and c take turns, and when b has ended a and c do, whether or not the shares are computed anew.

    b ends in the sixth of the pair's rounds, at 1155.6 s: 500 / 0.9 s of running, from 100 s on, every other round. Of
    its 4000 steps a has then done 500, and 44.4 in what is left of that round; of the other 3455.6 it does 100 every
    other round from 1300 s on, so the 35th, which ends it, is over at 8155.6 s. After a new computation, where times
    start afresh, one of them can run twice running: up to two rounds sooner.
    """
    options = {"space_sharing": True, "round_s": 100, "recompute_s": recompute_s, "leftovers": leftovers}
    run = workbench.simulate(_pair_and_a_late_job(), "gavel.max_min_fairness", **options)
    ends = run.jobs.set_index("job")["finish_s"]
    assert ends["b"] == pytest.approx(1155.6, abs=0.1) and ends["c"] == pytest.approx(10_200)
    assert 7955 < ends["a"] < 8156
    rows = run.timeline[(run.timeline["kind"] == "run") & (run.timeline["start_s"] >= 1200)]
    until_a = rows[rows["start_s"] < ends["a"] - 100]
    assert (until_a["end_s"] - until_a["start_s"]).max() <= 200, "nobody waits for more than two rounds"


def test_times_and_deficits_of_a_pair_go_to_who_is_left_of_it() -> None:
    """Shares 0.4 as a pair and 0.2 alone of a minute of which the pair received all; each begins with half a minute."""
    pair = {"model": "m", "with_model": "m", "accelerator": "t", "steps_per_s": 0.6, "with_steps_per_s": 0.6}
    scenario = make({"a": ("t", 1)}, [{}, {}, {}], colocated=[pair], core={"space_sharing": True})
    policy = Fixed({("j0", "j1"): (0.4,), "j0": (0.1,), "j1": (0.2,), "j2": (0.3,)})
    options = {"round_s": 60, "initial_time": 0.5, "recompute_s": 100.0}
    first, memory = decide(look(scenario, 60.0), None, policy, **options)
    assert given(first) == {("j0", "j1"): {"a": 1}}
    for gone, left in (("j0", "j1"), ("j1", "j0")):
        later = look(scenario, 120.0, gone=[gone], attained={"j0": 60.0, "j1": 60.0})
        after = priority.carry_over(priority.book(memory, later), later)
        alone = {"j0": 0.1, "j1": 0.2}[left]
        assert after.plan.units == (left, "j2")
        assert after.plan.share[0, 0] == pytest.approx(0.4 + alone)
        assert after.time_s[:, 0].tolist() == [60 + 30 + 30, 30] and after.total_s.tolist() == [4 * 30 + 60]
        shared = priority.allocate(after, later, knobs(**options), policy)
        owed = (0.4 + alone) * 60 - 60
        assert shared.plan.deficit_s[:, 0].tolist() == pytest.approx([owed, 0.3 * 60])
    both = look(scenario, 120.0, gone=["j0", "j1"])
    assert priority.carry_over(priority.book(memory, both), both).plan.share.tolist() == [[0.3]]
