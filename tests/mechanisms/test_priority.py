"""Gavel's mechanism by hand, and what it promises: over many rounds everybody receives the share intended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given as with_random
from hypothesis import strategies as st

from tests.mechanisms.support import given, look, make, on
from workbench.decision import Assignment, Decision, Shares, Snapshot, Unit, members
from workbench.errors import InputError
from workbench.knob import settle
from workbench.mechanisms import priority
from workbench.mechanisms.priority import Allocated, Memory

RNG = np.random.default_rng(0)


class Fixed:
    """A policy that gives the shares it was made with, `{unit: (share per type)}`, to those that are there."""

    def __init__(self, shares: Mapping[Unit, tuple[float, ...]]) -> None:
        self.shares = shares
        self.asked: list[float] = []

    def __call__(self, snapshot: Snapshot, knobs: Mapping[str, Any], memory: Any) -> Allocated:
        self.asked.append(snapshot.now_s)
        units = [u for u in self.shares if all(n in snapshot.jobs.at for n in members(u))]
        values = np.array([self.shares[u] for u in units], dtype=float).reshape(len(units), len(snapshot.types))
        return Allocated(Shares(tuple(units), snapshot.types, values), None, (memory or 0) + 1)


def knobs(**given: Any) -> dict[str, Any]:
    return settle(priority.KNOBS, given, "test")


def decide(snapshot: Snapshot, memory: Memory | None, policy: Fixed, **given: Any) -> tuple[Decision, Memory]:
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
    assert priority.priorities(memory).tolist() == [[0.75, np.inf], [np.inf, 0.75]]
    assert given(decision) == {"j0": {"b": 1}, "j1": {"a": 1}}  # each on the type where it has not been
    third = look(scenario, 720.0, ended=decision.assign, attained={"j0": 720.0, "j1": 720.0})
    decision, memory = decide(third, memory, policy)
    # f = 1/2 everywhere: priorities 1.5 and 0.5
    assert priority.priorities(memory).tolist() == [[1.5, 0.5], [0.5, 1.5]]
    assert given(decision) == {"j0": {"a": 1}, "j1": {"b": 1}}
    assert policy.asked == [0.0]


def test_initial_time_of_half_a_round() -> None:
    scenario = make(TWO, [{}, {}])
    policy = Fixed({"j0": (0.75, 0.25), "j1": (0.25, 0.75)})
    _, memory = decide(look(scenario), None, policy, initial_time=0.5)
    assert priority.priorities(memory).tolist() == [[1.5, 0.5], [0.5, 1.5]]


def test_a_gang_must_fit_and_others_pass_it() -> None:
    scenario = make({"a": ("t", 3)}, [{"gpus": 2}, {"gpus": 2}, {}])
    policy = Fixed({"j0": (0.9,), "j1": (0.8,), "j2": (0.1,)})
    decision, _ = decide(look(scenario), None, policy, initial_time=0.5)
    assert given(decision) == {"j0": {"a": 2}, "j2": {"a": 1}}


def test_ties_by_deficit_then_share_then_order() -> None:
    scenario = make({"a": ("t", 1)}, [{}, {}, {}])
    _, memory = decide(look(scenario), None, Fixed({"j0": (0.3,), "j1": (0.3,), "j2": (0.3,)}))
    order = [0]

    def best(memory: Memory) -> int:
        return priority.pick(memory, priority.priorities(memory), order, knobs()).units[0]

    assert best(memory) == 0
    larger = replace(memory, plan=replace(memory.plan, share=np.array([[0.3], [0.4], [0.4]])))
    assert best(larger) == 1
    assert best(replace(larger, deficit_s=np.array([[1.0], [1.0], [5.0]]))) == 2


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


def test_shares_are_computed_when_jobs_or_workers_change_but_not_too_often() -> None:
    scenario = make({"a": ("t", 2), "b": ("t", 1)}, [{}, {"arrival_s": 100}, {"arrival_s": 800}])
    policy = Fixed({f"j{i}": (0.5,) for i in range(3)})
    memory: Memory | None = None
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
    assert memory.deficit_s.ravel().tolist() == pytest.approx([0.75 * 360 - 360, 0.25 * 360, 0.0])
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
    pair = {"model": "m", "with_model": "m", "accelerator": "t", "steps_per_s": 0.6, "with_steps_per_s": 0.5}
    scenario = make({"a": ("t", 2)}, [{}, {}, {}], colocated=[pair], core={"space_sharing": True})
    policy = Fixed({("j0", "j1"): (0.9,), "j0": (0.5,), "j1": (0.4,), "j2": (0.3,)})
    decision, memory = decide(look(scenario), None, policy, initial_time=0.5)
    assert given(decision) == {("j0", "j1"): {"a": 1}, "j2": {"a": 1}}
    assert memory.plan.speed[0, 0] == 0.6 and memory.plan.other[0, 0] == 0.5
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
    for _ in range(200):  # rows at most 1, columns exactly the workers
        shares *= gpus / shares.sum(axis=0)
        shares /= np.maximum(1.0, shares.sum(axis=1))[:, None]
    nodes = {f"n{k}": (f"t{k}", gpus) for k in range(kinds)}
    scenario = make(nodes, [{"steps": 10**9} for _ in range(count)])
    policy = Fixed({f"j{i}": tuple(row) for i, row in enumerate(shares.tolist())})
    memory: Memory | None = None
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
