"""A plan's data from servers and jobs, and from a snapshot; gain, bias, weights and priority classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases.hops import generate
from tests.papers.hops.plan_support import job, scenario
from workbench.base.errors import InputError
from workbench.papers.hops.algorithms.configurations import Server
from workbench.papers.hops.algorithms.gains import gains
from workbench.papers.hops.formulations.lexicographic import priority_classes, tiers
from workbench.papers.hops.formulations.round import HopsRound
from workbench.papers.hops.instance import HopsInstance, JobRequest, bias, list_configurations, shape_of, weights
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.by_name import maker
from workbench.session.api import snapshot_at, solve

HOPS = HopsRound()


JOBS = st.tuples(st.sets(st.integers(1, 7), min_size=1, max_size=3), st.sampled_from([1.0, 2.0]))


@given(
    idle=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5)), max_size=5),
    jobs=st.lists(
        st.tuples(st.sets(st.integers(1, 7), min_size=1, max_size=3), st.sampled_from([1.0, 2.0])), max_size=4
    ),
)
def test_every_job_gets_what_generate_gives_it(idle, jobs):
    servers = [Server(f"s{i}", kind, free, 5) for i, (kind, free) in enumerate(idle)]
    pools = ["ab".index(server.kind) for server in servers]
    requests = [JobRequest(f"j{row}", sorted(sizes), 1.0, rho) for row, (sizes, rho) in enumerate(jobs)]

    def rate(row, layout):
        return (row + 1.0) * sum(gpus for _, gpus in layout) / len(layout) / (1 + pools[layout[0][0]])

    data = list_configurations(servers, pools, requests, rate)
    for row, request in enumerate(requests):
        mine = np.flatnonzero(data.job == row)
        found = [data.layouts[spot] for spot in data.layout[mine].tolist()]
        assert sorted(found) == sorted(generate(servers, request.sizes, request.rho))
        assert data.throughput[mine] == pytest.approx([rate(row, layout) for layout in found])
        assert [data.number[spot] for spot in mine] == list(range(1, len(mine) + 1))


def test_throughput_is_asked_for_once_for_each_job_and_shape():
    servers = [Server(f"s{i}", "a", 2, 2) for i in range(4)]
    asked = []

    def rate(row, layout):
        asked.append((row, shape_of(layout, [0] * 4)))
        return 1.0

    data = list_configurations(servers, [0] * 4, [JobRequest("x", (1, 3), 1.0, 1.0)], rate)
    assert asked == [(0, ((0, 1),)), (0, ((0, 1), (0, 2)))]
    assert len(data.job) == 4 + 3


def test_where_a_job_does_not_run_it_has_no_configuration():
    servers = [Server("p", "a", 2, 2), Server("q", "b", 2, 2)]
    data = list_configurations(
        servers, [0, 1], [JobRequest("x", (2,), 1.0, 1.0)], lambda _, layout: float(layout[0][0])
    )
    assert [data.named(data.layouts[spot]) for spot in data.layout.tolist()] == [{"q": 2}]


def test_an_empty_requirement_set_names_the_job():
    with pytest.raises(InputError, match="x, requirement set: got 'no size'"):
        list_configurations([], [], [JobRequest("x", (), 1.0, 1.0)], lambda _, layout: 1.0)


def test_a_snapshot_by_hand():
    """At 60 s a has waited 60 s. Its age is 100 steps / (1 per GPU x mean size 1.5) = 66.7 s: latency ratio 0.9."""
    made = scenario([job("a"), job("b", 60.0)])
    data = HopsInstance.from_snapshot(snapshot_at(made, 60.0), HOPS.settle({}))
    assert data.jobs == ("a", "b")
    assert data.priority == pytest.approx([0.9, 0.0])
    assert data.idle.tolist() == [2, 2]
    listed = [data.named(data.layouts[spot]) for spot in data.layout[data.job == 0].tolist()]
    assert listed == [{"n0-0": 1}, {"n1-0": 1}, {"n0-0": 2}, {"n1-0": 2}]
    assert data.gain[data.job == 0] == pytest.approx([1, 1, 2, 2])
    found = solve(made, "hops.round", at=60.0)
    assert found.objective == pytest.approx(0.91 * 2 + 0.01 * 2)
    assert sorted(found.values["choices"]) == ["a", "b"]


def test_jobs_beyond_the_window_are_left_out_unless_it_is_off():
    made = scenario([job(name, float(i), (2,)) for i, name in enumerate("abcd")])
    snapshot = snapshot_at(made, 10.0)
    inside = HopsInstance.from_snapshot(snapshot, HOPS.settle({}))
    assert (inside.jobs, inside.outside) == (("a", "b"), ("c", "d"))
    choices = solve(made, "hops.round", at=10.0).values["choices"]
    assert list(choices) == list("abcd") and choices["c"] is choices["d"] is None
    assert HopsInstance.from_snapshot(snapshot, HOPS.settle({"service_window": False})).jobs == tuple("abcd")


def test_low_sensitivity_opens_distributed_configurations():
    """rho = 1 / 0.5 = 2: above the paper's 1.4, below 3. Three GPUs are on two servers; one fits on either of them."""
    larger = scenario([job("a", sizes=(1, 3))])
    found = HopsInstance.from_snapshot(snapshot_at(larger), HOPS.settle({"sigma": 3.0}))
    assert [found.named(found.layouts[spot]) for spot in found.layout.tolist()] == [
        {"n0-0": 1},
        {"n1-0": 1},
        {"n0-0": 2, "n1-0": 1},
    ]
    assert len(HopsInstance.from_snapshot(snapshot_at(larger), HOPS.settle({})).job) == 2


def test_a_job_too_large_for_one_server_is_distributed_though_sensitive():
    data = HopsInstance.from_snapshot(snapshot_at(scenario([job("a", sizes=(3, 4))])), HOPS.settle({}))
    assert [data.named(layout) for layout in data.layouts] == [{"n0-0": 2, "n1-0": 1}, {"n0-0": 2, "n1-0": 2}]


def test_no_jobs_and_servers_that_are_down():
    nobody = HopsInstance.from_snapshot(snapshot_at(scenario([])), HOPS.settle({}))
    assert (nobody.jobs, len(nobody.job)) == ((), 0)
    raw = scenario([job("a", sizes=(1, 2))]).to_dict()
    faults = [{"node": name, "from_s": 0.0, "to_s": 60.0} for name in ("n0-0", "n1-0")]
    for down, expected in ((faults[:1], {"n1-0"}), (faults, set())):
        broken = Scenario.from_dict({**raw, "core": {"faults": {"list": down}}})
        data = HopsInstance.from_snapshot(snapshot_at(broken, 0.0), HOPS.settle({}))
        assert {data.servers[server] for layout in data.layouts for server, _ in layout} == expected
        assert HOPS.run(data, HOPS.settle({})).status == "optimal"


@pytest.mark.parametrize("name", ["latency_ratio", "ftf", "las", "sjf", "srtf"])
def test_every_priority_gives_a_plan(name):
    made = preset("hops_64")
    found = solve(made, "hops.round", {"priority": name, "form": "aggregated"}, at=3600.0)
    assert found.status in ("optimal", "feasible")
    assert any(found.values["choices"].values())


@pytest.mark.parametrize("classes", [None, 3])
def test_servers_known_by_their_own_speed(classes):
    """A layered belief that has measured a slow server: classes and single servers both tell it apart."""
    made = scenario([job("a", sizes=(2,)), job("b", sizes=(2,))], speeds=(1.0, 0.5))
    snapshot = snapshot_at(made)

    class Seen(type(snapshot.belief)):
        def on_nodes(self, asked, gpus):
            return super().on_nodes(asked, gpus) * min(0.5 if name == "n1-0" else 1.0 for name in gpus)

    object.__setattr__(snapshot, "belief", Seen(made))
    data = HopsInstance.from_snapshot(snapshot, HOPS.settle({"speed_classes": classes}))
    by_server = {
        data.servers[data.layouts[spot][0][0]]: gain for spot, gain in zip(data.layout, data.gain, strict=True)
    }
    assert by_server == pytest.approx({"n0-0": 2.0, "n1-0": 1.0})


def test_the_layered_estimator_is_a_belief_to_plan_by():
    made = preset("hops_64")
    snapshot = snapshot_at(made, 3600.0)
    object.__setattr__(snapshot, "belief", maker("layered")(made))
    data = HopsInstance.from_snapshot(snapshot, HOPS.settle({}))
    assert len(data.job) > 0
    assert HOPS.run(data, HOPS.settle({"form": "aggregated"})).objective > 0


def test_elastic_sizes_are_thinned_to_the_knob():
    data = HopsInstance.from_snapshot(
        snapshot_at(scenario([job("a", sizes=(1, 2, 3, 4))], gpus=4)), HOPS.settle({"most_sizes": 2})
    )
    assert {sum(gpus for _, gpus in layout) for layout in data.layouts} == {1, 4}


@pytest.mark.parametrize(
    ("priority", "expected"), [([2.0, 1.0], 0.0), ([0.0, 1.0], 0.01), ([-0.5, 3.0], 0.51), ([-1.0], 1.01), ([], 0.0)]
)
def test_the_bias_makes_every_weight_positive(priority, expected):
    assert bias(np.array(priority)) == pytest.approx(expected)


def test_weights_are_powers_over_the_largest_that_can_get_something():
    priority, able = np.array([1.0, 4.0, 2.0]), np.array([True, True, True])
    assert weights(priority, 2.0, able).scaled == pytest.approx([1 / 16, 1.0, 1 / 4])
    assert weights(priority, 2.0, able).plain == pytest.approx([1.0, 16.0, 4.0])
    assert weights(priority, 2.0, ~able).plain == pytest.approx([1.0, 1.0, 1.0])
    some = weights(priority, 2.0, np.array([True, False, True]))
    assert (some.scaled[2], some.scale) == (1.0, 4.0)
    assert weights(priority, 0.0, able).plain == pytest.approx([1.0, 1.0, 1.0])
    assert weights(np.zeros(2), 3.0, able[:2]).plain == pytest.approx([1e-6, 1e-6])
    assert weights(np.zeros(0), 1.0, able[:0]).plain.shape == (0,)


@pytest.mark.parametrize(
    ("priority", "power"), [([100.0], 1000.0), ([1e-3], 1000.0), ([1e200, 1e201], 1.535), ([0.5, 1e3], 100.0)]
)
def test_a_power_that_no_number_holds_is_refused(priority, power):
    """Nor one that overflows of a job that can get nothing, by itself or over the others."""
    with pytest.raises(InputError, match="lambda"):
        weights(np.array(priority), power, np.array([True, False][: len(priority)]))


def test_a_weight_too_small_for_a_number_is_refused():
    """(1e-9 / 1)^60 = 1e-540; of a job that can get nothing it does not matter."""
    priority = np.array([1.0, 1e-9])
    with pytest.raises(InputError, match="knob lambda: got 60"):
        weights(priority, 60.0, np.array([True, True]))
    assert weights(priority, 60.0, np.array([True, False])).scaled.tolist() == [1.0, 0.0]
    assert (weights(priority, 30.0, np.array([True, True])).scaled > 0).all()


def test_tiers_part_weights_that_a_solver_cannot_weigh():
    able = np.array([True, True, True, False, True])
    found = tiers(np.array([1e-9, 1.0, 0.5, 1.0, 2e-9]), able)
    assert [rows.tolist() for rows in found] == [[1, 2], [0, 4]]
    assert tiers(np.zeros(0), able[:0]) == []


def test_the_papers_table_of_gains():
    """Table 1, job 2: 2, 1, 3, 4.1 times its slowest configuration."""
    job = np.array([0, 0, 0, 1, 1, 1, 1])
    throughput = np.array([10.0, 18.0, 26.0, 20.0, 10.0, 30.0, 41.0])
    assert gains(job, throughput, 2) == pytest.approx([1, 1.8, 2.6, 2, 1, 3, 4.1])


def test_classes_go_from_the_highest_priority_down_and_ties_are_one():
    found = priority_classes(np.array([1.0, 3.0, 1.0 + 1e-12, 2.0]))
    assert [rows.tolist() for rows in found] == [[1], [3], [0, 2]]
    assert priority_classes(np.zeros(0)) == []
