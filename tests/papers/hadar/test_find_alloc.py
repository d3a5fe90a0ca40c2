"""FIND_ALLOC: which allocations a job may choose from, their speed, servers and cost; and their real servers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import look, make, on, scenarios
from tests.load import at_most
from workbench.papers.hadar.algorithms import dual_subroutine
from workbench.papers.hadar.algorithms.find_alloc import MOST_SPLITS, FreeServers, find, shapes, splits, worth
from workbench.papers.hadar.formulations.utility import Utility
from workbench.papers.hadar.instance import HadarQueue
from workbench.papers.hadar.knobs import HadarRules
from workbench.scenario.scenario import Scenario
from workbench.scheduling.placement import FreeGpus

RULES = HadarRules(360.0, Utility("effective_throughput"))


def options(scenario, rules=RULES, **rest):
    """Options of every job of a scenario at its start; queue too."""
    snapshot = look(scenario, **rest)
    held = {lease.unit for lease in rest.get("leases", ())}
    rows = [row for row, name in enumerate(snapshot.jobs.names) if name not in held]
    queue = HadarQueue.from_snapshot(snapshot, rows, rules)
    return find(snapshot, queue, FreeServers.of(snapshot, snapshot.nodes.free.tolist()), rules), queue


def listed(found):
    """(GPUs, servers, steps/s, charge) of each option."""
    return [
        (tuple(w), s, v, c)
        for w, s, v, c in zip(
            found.gpus.tolist(), found.servers.tolist(), found.speed.tolist(), found.charge.tolist(), strict=True
        )
    ]


def test_one_server_where_it_fits_and_mixed_types_at_the_bottleneck():
    """Two GPUs: both fast, both slow, or one of each at twice the slow one's speed; a second server costs a tenth."""
    scenario = make({"f": ("fast", 2), "s": ("slow", 2)}, [{"gpus": 2, "steps": 720}], {"fast": 1.0, "slow": 0.5})
    found, _ = options(scenario)
    assert listed(found) == [((2, 0), 1, 2.0, 1.0), ((0, 2), 1, 1.0, 2.0), ((1, 1), 2, 1.0, pytest.approx(2.2))]
    alone, _ = options(scenario, HadarRules(360.0, Utility("count"), mixed=False))
    assert alone.gpus.tolist() == [[2, 0], [0, 2]]


def test_a_gang_is_spread_where_no_server_has_room():
    scenario = make({"a": ("t", 2), "b": ("t", 2)}, [{"gpus": 2, "steps": 720}, {}, {}])
    found, _ = options(scenario, leases=[on("j1", a=1), on("j2", b=1)])
    assert listed(found) == [((2,), 2, 2.0, pytest.approx(1.1))]


def test_a_gang_that_needs_two_servers_pays_for_none_beyond_these():
    found, _ = options(make({"a": ("t", 2), "b": ("t", 2)}, [{"gpus": 3, "steps": 1080}]))
    assert listed(found) == [((3,), 2, 3.0, 1.0)]


def spread_table(unconsolidated):
    """Two servers of two GPUs; a gang of 2 makes 2 steps/s on one and `unconsolidated` on two."""
    rows = [{"model": "m", "accelerator": "t", "gpus": 2, "steps_per_s": 2.0}]
    rows.append({**rows[0], "placement": "unconsolidated", "steps_per_s": unconsolidated})
    return Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "t"}],
                "nodes": [{"name": name, "accelerator": "t", "gpus": 2} for name in "ab"],
            },
            "jobs": [{"name": "j0", "model": "m", "gpus": 2, "steps": 7200}],
            "throughputs": rows,
        }
    )


def test_the_unconsolidated_row_counts_where_the_gang_is_spread():
    snapshot = look(spread_table(1.0))
    queue = HadarQueue.from_snapshot(snapshot, [0], RULES)
    assert listed(find(snapshot, queue, FreeServers.of(snapshot, [2, 2]), RULES)) == [((2,), 1, 2.0, 10.0)]
    assert listed(find(snapshot, queue, FreeServers.of(snapshot, [1, 1]), RULES)) == [
        ((2,), 2, 1.0, pytest.approx(22.0))
    ]


def test_a_gang_that_is_faster_spread_may_be_so():
    found, _ = options(spread_table(4.0))
    assert listed(found) == [((2,), 2, 4.0, pytest.approx(5.5)), ((2,), 1, 2.0, 10.0)]


def test_a_job_that_runs_only_on_three_nodes_gets_three():
    scenario = make(dict.fromkeys("abc", ("t", 2)), [{"gpus": 3, "steps": 1080}], {"t": 0.0}).to_dict()
    scenario["throughputs"] = [{"model": "m", "accelerator": "t", "gpus": 3, "nodes": 3, "steps_per_s": 3.0}]
    found, _ = options(Scenario.from_dict(scenario))
    assert listed(found) == [((3,), 3, 3.0, pytest.approx(1.1))]
    room = FreeGpus(look(Scenario.from_dict(scenario)).nodes)
    assert dual_subroutine.place_gpus(room, np.array([3]), 3) == {"a-0": 1, "b-0": 1, "c-0": 1}


def test_a_restart_is_part_of_the_time_of_a_job_that_has_run_and_not_where_it_stays():
    scenario = make({"a": ("t", 1), "b": ("t", 1)}, [{"steps": 720}])
    snapshot = look(scenario, attained={"j0": 5.0})
    queue = HadarQueue.from_snapshot(snapshot, [0], RULES, {1: 10.0})
    found = find(snapshot, queue, FreeServers.of(snapshot, [1, 1]), RULES, {"j0": {"a-0": 1}})
    assert found.rounds.tolist() == [2.0, pytest.approx(2 + 10 / 360)] and found.stay.tolist() == [True, False]


def test_options_after_a_given_horizon_are_none():
    """On the slow type the job would take 4 rounds, the horizon is after 2."""
    scenario = make({"f": ("fast", 1), "s": ("slow", 1)}, [{"steps": 720}], {"fast": 1.0, "slow": 0.5})
    found, _ = options(scenario, HadarRules(360.0, Utility("neg_jct"), horizon_s=720.0))
    assert found.gpus.tolist() == [[1, 0]]


def test_a_job_that_would_be_late_on_the_gpus_it_has_has_no_option_to_keep_them():
    scenario = make({"f": ("fast", 1), "s": ("slow", 1)}, [{"steps": 720}], {"fast": 1.0, "slow": 0.5})
    snapshot, held = look(scenario, attained={"j0": 5.0}), {"j0": {"s-0": 1}}
    for horizon_s, stay in ((720.0, [False]), (1440.0, [True, False, False])):
        rules = HadarRules(360.0, Utility("count"), horizon_s=horizon_s)
        queue = HadarQueue.from_snapshot(snapshot, [0], rules, {1: 0.0})
        found = find(snapshot, queue, FreeServers.of(snapshot, [1, 1]), rules, held)
        assert found.stay.tolist() == stay


def test_rows_say_who_is_asked_for():
    scenario = make({"a": ("t", 2)}, [{}, {}, {"gpus": 2}])
    snapshot = look(scenario)
    queue = HadarQueue.from_snapshot(snapshot, range(3), RULES)
    found = find(snapshot, queue, FreeServers.of(snapshot, [2]), RULES, {"j0": {"a-0": 1}}, np.array([1, 2]))
    assert found.job.tolist() == [1, 2]


def test_worth_keeps_one_of_the_options_with_equal_gpus():
    found, _ = options(spread_table(4.0))
    assert worth(found, np.array([1.0])).servers.tolist() == [2]
    assert len(worth(found, np.array([1e9]))) == 0


def test_gangs_with_too_many_ways_are_divided_among_two_types():
    scenario = make({f"n{kind}": (f"t{kind}", 16) for kind in range(4)}, [{}])
    servers = FreeServers.of(look(scenario), [16] * 4)
    few, many = shapes(3, servers, True), shapes(16, servers, True)
    assert len(few) == 4 + 16 and all(sum(shape.gpus) == 3 for shape in few)
    assert all(np.count_nonzero(shape.gpus) <= 2 for shape in many)
    assert len(many) <= 4 + MOST_SPLITS


def test_a_gang_larger_than_all_free_gpus_has_no_ways_at_once():
    """Listing all compositions of 64 into up to six parts took most of a minute."""
    scenario = make({f"n{kind}": (f"t{kind}", 2) for kind in range(6)}, [{}])
    with at_most(1.0):
        assert shapes(64, FreeServers.of(look(scenario), [2] * 6), True) == []


@given(st.integers(0, 8), st.lists(st.integers(0, 4), max_size=4), st.integers(0, 2), st.booleans())
def test_splits_are_all_tuples_of_the_product_with_that_sum(total, most, least, rising):
    found = list(splits(total, most, least, rising=rising))
    every = [each for each in itertools.product(*(range(least, n + 1) for n in most)) if sum(each) == total]
    assert found == sorted(every, reverse=not rising)


@given(scenarios(), st.sampled_from(["effective_throughput", "neg_jct", "count"]))
def test_every_option_can_be_put_on_real_servers_at_the_speed_it_says(scenario, utility):
    snapshot = look(scenario, now_s=400.0)
    rules = HadarRules(60.0, Utility(utility))
    queue = HadarQueue.from_snapshot(snapshot, range(len(snapshot.jobs)), rules)
    found = find(snapshot, queue, FreeServers.of(snapshot, snapshot.nodes.free.tolist()), rules)
    assert set(found.job.tolist()) == set(range(len(queue)))
    for option in range(len(found)):
        job = queue.view.jobs[found.job[option]]
        gpus = dual_subroutine.place_gpus(FreeGpus(snapshot.nodes), found.gpus[option], int(found.servers[option]))
        assert gpus is not None and sum(gpus.values()) == job.gpus
        assert len(gpus) == found.servers[option]
        assert snapshot.belief.on_nodes(job, gpus) == pytest.approx(found.speed[option])
        assert found.payoff(np.zeros(len(snapshot.types)))[option] == found.utility[option] > 0


def test_taking_and_giving_back_leaves_the_room_as_it_was():
    snapshot = look(make({"a": ("t", 2), "b": ("u", 2)}, [{}]))
    room = FreeGpus(snapshot.nodes)
    assert dual_subroutine.place_gpus(room, np.array([1, 3]), 2) is None and room.free == [2, 2]
    taken = dual_subroutine.place_gpus(room, np.array([1, 1]), 2)
    assert taken == {"a-0": 1, "b-0": 1} and room.free == [1, 1]
    assert not dual_subroutine.keep_gpus(room, {"a-0": 1, "b-0": 2}) and room.free == [1, 1]
    dual_subroutine.give_back(room, taken)
    assert dual_subroutine.keep_gpus(room, {"a-0": 2, "b-0": 1}) and room.free == [0, 1]
