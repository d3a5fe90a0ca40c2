"""FIND_ALLOC: which allocations a job may choose from, their speed, servers and cost; and their real servers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.hadar.optimality import price_table
from tests.baselines.mechanisms.support import look, make, on, scenarios
from tests.calls import calls_at_most
from workbench.base.errors import InputError
from workbench.papers.hadar.algorithms import dual_subroutine
from workbench.papers.hadar.algorithms.find_alloc import MOST_SPLITS, FreeServers, find, shapes, splits, worth
from workbench.papers.hadar.algorithms.prices import FLOOR, price, price_bounds, utility_bounds
from workbench.papers.hadar.formulations.utility import NAMED, Utility, UtilityJobs
from workbench.papers.hadar.instance import HadarQueue
from workbench.papers.hadar.knobs import UTILITY, HadarRules
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
    with calls_at_most(1_200):
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


# Utilities: values by hand, never rising, refused when they are wrong

JOBS = UtilityJobs(("a", "b"), [12.0, 6.0], [1.0, 2.5], (((2.0, 5.0), (4.0, 1.0)), None), horizon=6.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("effective_throughput", [[12, 6, 4], [6, 3, 2]]),
        ("neg_jct", [[6, 5, 4], [6, 5, 4]]),
        ("linear", [[6, 5, 4], [15, 12.5, 10]]),
        ("count", [[1, 1, 1], [1, 1, 1]]),
        ("step", [[5, 5, 1], [0, 0, 0]]),
    ],
)
def test_values_by_hand(name, expected):
    assert Utility(name).values([[1, 2, 3], [1, 2, 3]], JOBS).tolist() == expected


def test_some_jobs_are_worth_what_they_are_among_all():
    jobs = UtilityJobs(("a", "b", "c"), [12.0, 6.0, 9.0], [1.0, 2.5, 2.0], (None, ((2.0, 5.0),), None), 6.0, slot=2.0)
    some = jobs.take(np.array([2, 1]))
    assert (some.names, some.horizon, some.slot) == (("c", "b"), 6.0, 2.0)
    for name in NAMED:
        assert Utility(name).values([1, 2], some).tolist() == Utility(name).values([9, 2, 1], jobs)[[2, 1]].tolist()


def test_one_time_for_each_job():
    assert Utility("neg_jct").values([1, 6], JOBS).tolist() == [6, 1]


def test_seconds_in_place_of_slots():
    """With every time 360 times as long, slots and horizon too, neg_jct is 360 times as much."""
    in_s = UtilityJobs(JOBS.names, JOBS.work, JOBS.weight, JOBS.rewards, 6 * 360.0, 360.0)
    found = Utility("neg_jct").values([360.0, 6 * 360.0], in_s)
    assert found.tolist() == [6 * 360, 360]


def test_a_job_that_is_never_done_or_past_the_horizon_is_worth_nothing():
    for name in NAMED:
        assert Utility(name).values([math.inf, math.inf], JOBS).tolist() == [0, 0]
    assert Utility("neg_jct").values([8, 1e9], JOBS).tolist() == [0, 0]


@given(
    name=st.sampled_from(sorted(NAMED)),
    times=st.lists(st.floats(0.01, 1e4), min_size=1, max_size=8, unique=True).map(sorted),
)
def test_no_named_utility_rises_with_time(name, times):
    found = Utility(name).table([times, times], JOBS)
    assert (found >= 0).all() and (np.diff(found, axis=1) <= 1e-9).all()


def test_the_knob_lists_every_name():
    assert UTILITY.choices == tuple(NAMED)
    assert UTILITY.check(UTILITY.default) == UTILITY.default


def test_a_users_own_function_and_staircase():
    squared = Utility("squared", lambda jct, jobs: jobs.weight[:, None] / jct**2)
    assert squared.table([[1, 2], [1, 2]], JOBS).tolist() == [[1, 0.25], [2.5, 0.625]]
    stairs = Utility.steps([(1, 3), (2, 1)])
    assert stairs.table([[1, 1.5, 2, 3]] * 2, JOBS).tolist() == [[3, 1, 1, 0]] * 2


def test_a_utility_that_increases_with_time_is_refused_and_names_the_job():
    rising = Utility("rising", lambda jct, jobs: np.where(jobs.weight[:, None] > 1, jct, 1.0))
    with pytest.raises(InputError, match="job b, utility rising: got '1 at 1, 2 at 2'"):
        rising.table([[1, 2], [1, 2]], JOBS)
    with pytest.raises(InputError, match="does not increase"):
        Utility.steps([(1, 1), (2, 3)]).table([[1, 2], [1, 2]], JOBS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Utility("fast"), "utility: got 'fast'"),
        (lambda: Utility.steps([]), "rising numbers, at least one"),
        (lambda: Utility.steps([(2, 1), (1, 1)]), "rising numbers"),
        (lambda: Utility("count").values([0, 1], JOBS), "job a, completion time: got 0.0"),
        (lambda: Utility("count").values([1.0], JOBS), "2 rows"),
        (lambda: Utility("x", lambda jct, jobs: -jct).values([1, 1], JOBS), "job a, utility x: got -1.0"),
        (lambda: Utility("x", lambda jct, jobs: jct * np.nan).values([1, 1], JOBS), "job a, utility x: got nan"),
        (lambda: Utility("x", lambda jct, jobs: jct[:1]).values([1, 1], JOBS), "utility x: got \\(1, 1\\)"),
        (lambda: UtilityJobs(("a",), [0.0], [1.0], (None,), 6.0), "job a, work: got 0.0"),
        (lambda: UtilityJobs(("a",), [1.0], [np.nan], (None,), 6.0), "job a, weight: got nan"),
        (lambda: UtilityJobs(("a",), [1.0], [1.0], (), 6.0), "1, one for each job"),
        (lambda: UtilityJobs(("a",), [1.0], [1.0], (None,), 0.0), "utility, horizon: got 0.0"),
        (lambda: UtilityJobs(("a",), [1.0], [1.0], (None,), 6.0, -1.0), "utility, slot: got -1.0"),
    ],
)
def test_wrong_input_says_where(make, message):
    with pytest.raises(InputError, match=message):
        make()


# Prices (5)-(7): by hand, limits, default eta, floor, and the guarantee that an empty cluster takes somebody

PART = st.floats(0.0, 1.0)


def test_price_is_geometric_between_its_bounds():
    assert price(0.5, 8.0, 4, [0, 1, 2, 3, 4]).tolist() == pytest.approx([0.5, 1.0, 2.0, 4.0, 8.0])


def test_a_type_without_gpus_has_the_highest_price():
    assert price([1.0, 1.0], [9.0, 9.0], [0, 2], [0, 0]).tolist() == [9.0, 1.0]


@pytest.mark.parametrize(
    ("least", "most", "held"), [(0.0, 1.0, 0), (2.0, 1.0, 0), (1.0, np.inf, 0), (1.0, 2.0, -1), (1.0, 2.0, 5)]
)
def test_prices_without_sense_are_refused(least, most, held):
    with pytest.raises(InputError, match="price"):
        price(least, most, 4, held)


def test_a_price_beyond_the_largest_number_is_refused():
    with pytest.raises(InputError, match="ratio Umax / Umin below 1e308"):
        price(5e-318, 5.0, 4, [0, 1])


def test_bounds_by_hand():
    """Effective throughput, T = 10: U(4) = 10 and 5, U(10) = 4 and 2, both gangs need 4 slots on either type."""
    least, most = utility_bounds([10, 5], [4, 2], [4, 4], [2, 1], [[True], [True]], 1.0)
    assert most.tolist() == [5.0]
    assert least.tolist() == [0.125]


def test_bounds_of_a_type_are_over_the_jobs_that_run_there():
    """Job 0: 8 / 2 = 4 and 4 / (2 x 2) / 4 = 1/4; job 1: 3 / 1 and 3 / (1 x 1) / 4. Nobody runs on the third type."""
    runs = [[True, False, False], [True, True, False]]
    least, most = utility_bounds([8, 3], [4, 3], [2, 1], [2, 1], runs, 1.0)
    assert most.tolist() == [4.0, 3.0, 4.0]
    assert least.tolist() == [0.25, 0.75, 0.25]


def test_default_eta_is_the_smallest_with_the_initial_dual_at_half_the_optimum():
    """B = min(4 / 8, 2 / 4) = 1/2, T c B / (2 OPT_lower) = 10 x 6 x 0.5 / 4 = 7.5."""
    found = price_bounds([10, 5], [4, 2], [4, 4], [2, 1], [[True], [True]], [6], 10.0)
    assert found.eta == pytest.approx(7.5)
    assert found.optimum_lower == 2.0
    assert found.initial_dual == pytest.approx(1.0)
    assert found.initial_dual == pytest.approx(10 * 6 * float(found.price([0])[0]))
    assert found.alpha == pytest.approx(np.log(5.0 / (0.125 / 7.5)))


def test_alpha_is_at_least_one():
    found = price_bounds([1.0], [1.0], [1.0], [1.0], [[True]], [1], 1.0, 0.5)
    assert found.most / found.least == pytest.approx(2.0)
    assert found.alpha == 1.0


def test_a_utility_of_zero_at_the_horizon_is_raised_to_the_floor():
    found = price_bounds([10.0, 4.0], [0.0, 4.0], [1.0, 1.0], [1.0, 1.0], [[True], [True]], [2], 3.0)
    assert found.optimum_lower == pytest.approx(10.0 * FLOOR)
    assert found.least[0] > 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"best": [], "last": [], "longest": [], "gang": [], "runs": np.zeros((0, 1), bool)}, "no jobs"),
        ({"best": [0.0]}, "utility > 0"),
        ({"best": [np.inf]}, "utility > 0"),
        ({"last": [9.0]}, "no more for a later"),
        ({"longest": [0.0]}, "slots > 0"),
        ({"eta": 1e-9}, "at least 0.125"),
    ],
)
def test_bad_numbers_are_refused(changed, said):
    good = {"best": [2.0], "last": [1.0], "longest": [1.0], "gang": [1.0], "runs": [[True]], "capacity": [1]}
    with pytest.raises(InputError, match=said):
        price_bounds(**{**good, "slots": 2.0, **changed})


@given(
    st.lists(st.tuples(st.floats(0.01, 1e6), PART, st.integers(1, 9), PART, st.integers(1, 8)), min_size=1, max_size=6),
    st.lists(st.integers(0, 40), min_size=1, max_size=3),
)
def test_the_initial_dual_is_at_most_half_and_prices_are_in_order(jobs, capacity):
    best, part, longest, _, gang = (np.array(column, dtype=float) for column in zip(*jobs, strict=True))
    runs = np.ones((len(jobs), len(capacity)), dtype=bool)
    slots = float(longest.max()) + 1.0
    found = price_bounds(best, best * part, longest, gang, runs, capacity, slots)
    assert found.initial_dual <= found.optimum_lower / 2 * (1 + 1e-9)
    assert (found.least > 0).all() and (found.least <= found.most).all()


def test_table_to_draw():
    found = price_bounds([8.0], [4.0], [2.0], [2.0], [[True, True]], [4, 1], 4.0)
    table = price_table(found, ("v100", "k80"))
    assert table.groupby("type", sort=False)["held"].max().to_dict() == {"v100": 4, "k80": 1}
    v100 = table[table["type"] == "v100"]["price"]
    assert v100.is_monotonic_increasing
    assert v100.iloc[0] == found.least[0] and v100.iloc[-1] == pytest.approx(found.most[0])
