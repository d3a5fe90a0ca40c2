"""A round's data from servers and jobs, and from a snapshot."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.papers.hops.plan_support import job, scenario
from workbench.base.errors import InputError
from workbench.papers.hops.configurations import Server, generate
from workbench.papers.hops.gathering import gather
from workbench.papers.hops.instance import shape_of
from workbench.papers.hops.listing import Request, list_configurations
from workbench.papers.hops.round import Round
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.registry import maker
from workbench.session.api import snapshot_at, solve

HOPS = Round()


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
    requests = [Request(f"j{row}", sorted(sizes), 1.0, rho) for row, (sizes, rho) in enumerate(jobs)]

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

    data = list_configurations(servers, [0] * 4, [Request("x", (1, 3), 1.0, 1.0)], rate)
    assert asked == [(0, ((0, 1),)), (0, ((0, 1), (0, 2)))]
    assert len(data.job) == 4 + 3


def test_where_a_job_does_not_run_it_has_no_configuration():
    servers = [Server("p", "a", 2, 2), Server("q", "b", 2, 2)]
    data = list_configurations(servers, [0, 1], [Request("x", (2,), 1.0, 1.0)], lambda _, layout: float(layout[0][0]))
    assert [data.named(data.layouts[spot]) for spot in data.layout.tolist()] == [{"q": 2}]


def test_an_empty_requirement_set_names_the_job():
    with pytest.raises(InputError, match="x, requirement set: got 'no size'"):
        list_configurations([], [], [Request("x", (), 1.0, 1.0)], lambda _, layout: 1.0)


def test_a_snapshot_by_hand():
    """At 60 s a has waited 60 s. Its age is 100 steps / (1 per GPU x mean size 1.5) = 66.7 s: latency ratio 0.9."""
    made = scenario([job("a"), job("b", 60.0)])
    data = gather(snapshot_at(made, 60.0), HOPS.settle({}))
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
    inside = gather(snapshot, HOPS.settle({}))
    assert (inside.jobs, inside.outside) == (("a", "b"), ("c", "d"))
    choices = solve(made, "hops.round", at=10.0).values["choices"]
    assert list(choices) == list("abcd") and choices["c"] is choices["d"] is None
    assert gather(snapshot, HOPS.settle({"window": False})).jobs == tuple("abcd")


def test_low_sensitivity_opens_distributed_configurations():
    """rho = 1 / 0.5 = 2: above the paper's 1.4, below 3. Three GPUs are on two servers; one fits on either of them."""
    larger = scenario([job("a", sizes=(1, 3))])
    found = gather(snapshot_at(larger), HOPS.settle({"sigma": 3.0}))
    assert [found.named(found.layouts[spot]) for spot in found.layout.tolist()] == [
        {"n0-0": 1},
        {"n1-0": 1},
        {"n0-0": 2, "n1-0": 1},
    ]
    assert len(gather(snapshot_at(larger), HOPS.settle({})).job) == 2


def test_a_job_too_large_for_one_server_is_distributed_though_sensitive():
    data = gather(snapshot_at(scenario([job("a", sizes=(3, 4))])), HOPS.settle({}))
    assert [data.named(layout) for layout in data.layouts] == [{"n0-0": 2, "n1-0": 1}, {"n0-0": 2, "n1-0": 2}]


def test_no_jobs_and_servers_that_are_down():
    nobody = gather(snapshot_at(scenario([])), HOPS.settle({}))
    assert (nobody.jobs, len(nobody.job)) == ((), 0)
    raw = scenario([job("a", sizes=(1, 2))]).to_dict()
    faults = [{"node": name, "from_s": 0.0, "to_s": 60.0} for name in ("n0-0", "n1-0")]
    for down, expected in ((faults[:1], {"n1-0"}), (faults, set())):
        broken = Scenario.from_dict({**raw, "core": {"faults": {"list": down}}})
        data = gather(snapshot_at(broken, 0.0), HOPS.settle({}))
        assert {data.servers[server] for layout in data.layouts for server, _ in layout} == expected
        assert HOPS.run(data, HOPS.settle({})).status == "optimal"


@pytest.mark.parametrize("name", ["latency_ratio", "ftf", "las", "sjf", "srtf"])
def test_every_priority_gives_a_plan(name):
    made = preset("hops_64")
    found = solve(made, "hops.round", {"priority": name, "model": "aggregated"}, at=3600.0)
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
    data = gather(snapshot, HOPS.settle({"speed_classes": classes}))
    by_server = {
        data.servers[data.layouts[spot][0][0]]: gain for spot, gain in zip(data.layout, data.gain, strict=True)
    }
    assert by_server == pytest.approx({"n0-0": 2.0, "n1-0": 1.0})


def test_the_layered_estimator_is_a_belief_to_plan_by():
    made = preset("hops_64")
    snapshot = snapshot_at(made, 3600.0)
    object.__setattr__(snapshot, "belief", maker("layered")(made))
    data = gather(snapshot, HOPS.settle({}))
    assert len(data.job) > 0
    assert HOPS.run(data, HOPS.settle({"model": "aggregated"})).objective > 0


def test_elastic_sizes_are_thinned_to_the_knob():
    data = gather(snapshot_at(scenario([job("a", sizes=(1, 2, 3, 4))], gpus=4)), HOPS.settle({"most_sizes": 2}))
    assert {sum(gpus for _, gpus in layout) for layout in data.layouts} == {1, 4}
