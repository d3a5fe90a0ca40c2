"""Where leases are: guaranteed gangs consolidated, best-effort gangs in order, the profiling cluster left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import make
from tests.papers.chronus.test_scheduler import cluster, job
from workbench.papers.chronus.algorithms.consolidation import place_guaranteed, round_up
from workbench.papers.chronus.algorithms.spot import SpotGpus, SpotRules, serve
from workbench.papers.chronus.scheduler import Chronus
from workbench.simulation.loop import run_loop

RULES = SpotRules("local_search", 100_000, 16)


def pool(free: dict[str, int], idle: dict[str, int] | None = None, outside: tuple[int, ...] = ()) -> SpotGpus:
    """Nodes of 8 GPUs; a gang loses a tenth of its speed with every further node."""
    rest = outside or tuple(sorted(free.values(), reverse=True))
    return SpotGpus(
        free, idle or {}, rest, 8, lambda name, shape: sum(shape) * 0.9 ** len(shape), lambda name, at: True
    )


def served(gangs: dict[str, int], own: SpotGpus, previous=None, rules: SpotRules = RULES):
    return serve(list(gangs), list(gangs.values()), [[0]] * len(gangs), [own], previous or {}, rules)


def test_an_oversize_gang_does_not_take_the_gpus_of_who_comes_before_it():
    """All but two GPUs are the profiling cluster's, whose idle ones are for the larger gangs."""
    own = pool({"a": 2}, {"a": 6, "b": 8}, outside=(2, 0))
    found = served({"first": 1, "large": 5, "whole": 8}, own)
    assert found == {"first": {"a": 1}, "large": {"a": 5}, "whole": {"b": 8}}
    stays = served({"first": 2, "large": 8, "larger": 6}, own, {"large": {"a": 8}})
    assert stays["first"] == {"a": 2} and sum(stays["large"].values()) == 8 and sum(stays["larger"].values()) == 6


@given(
    part=st.integers(1, 7), small=st.lists(st.integers(1, 7), max_size=5), large=st.lists(st.integers(1, 8), max_size=4)
)
def test_who_fits_in_number_is_served_beside_oversize_gangs(part, small, large):
    gangs, room, every = dict[str, int](), part, 16
    for number, gpus in enumerate(gpus for gpus in small if gpus <= part):
        if gpus <= room:
            gangs[f"s{number}"], room, every = gpus, room - gpus, every - gpus
    for number, gpus in enumerate(gpus for gpus in large if gpus > part):
        if gpus <= every:
            gangs[f"l{number}"], every = gpus, every - gpus
    found = served(gangs, pool({"a": part}, {"a": 8 - part, "b": 8}, outside=(part, 0)))
    assert {name: sum(at.values()) for name, at in found.items()} == gangs
    for node in "ab":
        assert sum(at.get(node, 0) for at in found.values()) <= 8


@given(gangs=st.lists(st.integers(1, 24), max_size=12), nodes=st.integers(1, 5), part=st.integers(0, 8))
def test_rounded_gangs_that_add_up_are_all_consolidated_also_beside_a_part_of_a_node(gangs, nodes, part):
    """Proposition 1 with one node of which only a part is free, as the profiling cluster leaves it."""
    free = {**{f"n{i}": 8 for i in range(nodes)}, "last": part}
    chosen, room = dict[str, int](), nodes * 8 + part
    for number, gpus in enumerate(gangs):
        if round_up(gpus, 8) <= (room if round_up(gpus, 8) < 8 else room // 8 * 8):
            chosen[f"j{number}"] = gpus
            room -= round_up(gpus, 8)
    placed = place_guaranteed(chosen, free, 8, {}, rounded=True)
    assert placed.keys() == chosen.keys()
    for name, at in placed.items():
        assert sum(at.values()) == chosen[name] and len(at) == -(-chosen[name] // 8)
    for node, gpus in free.items():
        assert sum(at.get(node, 0) for at in placed.values()) <= gpus


def test_gangs_that_stay_keep_their_gpus_and_a_rounded_one_keeps_the_gpus_it_had():
    before = {"a": {"n1": 3}, "b": {"n0": 8}}
    placed = place_guaranteed({"a": 3, "b": 8, "c": 4}, {"n0": 8, "n1": 8}, 8, before, rounded=True)
    assert placed == {"a": {"n1": 3}, "b": {"n0": 8}, "c": {"n1": 4}}


def test_a_gang_that_is_not_rounded_up_waits_if_it_cannot_be_consolidated():
    free = {"n0": 4, "n1": 4}
    gangs = {"a": 3, "b": 3, "c": 2}
    assert place_guaranteed(gangs, free, 4, {}, rounded=False).keys() == {"a", "b"}


def test_best_effort_gangs_that_do_not_fit_are_passed():
    assert served({"a": 6, "b": 4, "c": 2}, pool({"n0": 8})) == {"a": {"n0": 6}, "c": {"n0": 2}}


def test_who_has_a_lease_again_stays_and_the_others_are_placed_around_it():
    placed = served({"new": 8, "old": 2}, pool({"n0": 8, "n1": 8}), {"old": {"n0": 2}})
    assert placed == {"new": {"n1": 8}, "old": {"n0": 2}}


def test_a_large_gang_gets_whole_nodes_even_if_others_have_to_move():
    placed = served({"large": 16, "small": 2}, pool({"n0": 8, "n1": 8, "n2": 8}), {"small": {"n1": 2}})
    assert sorted(placed["large"].values()) == [8, 8] and len(placed["small"]) == 1
    both = served(
        {"large": 16, "small": 2, "other": 2},
        pool({"n0": 8, "n1": 8, "n2": 8}),
        {"small": {"n1": 2}, "other": {"n2": 2}},
    )
    assert sorted(both["large"].values()) == [8, 8] and both["small"].keys() == both["other"].keys()


def test_only_a_gang_too_large_for_the_spot_cluster_may_use_the_profiling_cluster():
    own = pool({"n0": 8, "n1": 6}, {"n1": 2}, (8, 6))
    assert served({"a": 6, "b": 8}, own).keys() == {"a", "b"}
    assert served({"a": 16}, own) == {"a": {"n0": 8, "n1": 8}}
    assert served({"a": 2, "b": 14}, own) == {"a": {"n1": 2}}


@pytest.mark.parametrize(("placement", "expected"), [("consolidated", {"a"}), ("quasi", {"a", "b"})])
def test_consolidation_alone_leaves_a_gang_waiting(placement, expected):
    rules = SpotRules(placement, 100_000, 16)
    assert served({"a": 6, "b": 4}, pool({"n0": 8, "n1": 2}, outside=(8, 8)), rules=rules).keys() == expected


def test_on_several_types_a_job_is_guaranteed_on_its_fastest_and_where_that_is_full_on_the_next():
    jobs = [job(2, 2400, rewards=[[2400, 100]]), job(2, 2400, rewards=[[2400, 100]])]
    scenario = make({"slow": ("k80", 2), "fast": ("v100", 2)}, jobs, {"k80": 1.0, "v100": 2.0})
    run = run_loop(scenario, Chronus(), {"profile": False})
    assert run.jobs["verdict"].tolist() == ["guaranteed", "guaranteed"]
    assert run.jobs["finish_s"].tolist() == [1200.0, 2400.0]


def test_a_short_fault_breaks_no_promise_that_can_still_be_kept():
    """One of two nodes is down at the boundary: one of two jobs waits a lease, and both have a lease to spare."""
    core = {"faults": {"list": [{"node": "n1-0", "from_s": 1100.0, "to_s": 1300.0}]}}
    jobs = [job(4, 2400, rewards=[[4800, 100]]), job(4, 2400, rewards=[[4800, 100]])]
    run = run_loop(cluster(2, 4, jobs, core=core), Chronus(), {"profile": False})
    assert not (run.signals["signal"] == "guarantee_broken").any()
    assert run.jobs["verdict"].tolist() == ["guaranteed", "guaranteed"] and (run.jobs["finish_s"] <= 4800).all()
