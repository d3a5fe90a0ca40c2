"""The scheduler `hadar`: by hand, every knob on random scenarios, reasons and signals, bad input, brute force."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import given as gpus_of
from tests.baselines.mechanisms.support import look, make, on, scenarios
from workbench.analysis.charts import price_course
from workbench.analysis.contract_rules.schedulers import Watched
from workbench.base.errors import InputError
from workbench.papers.hadar.algorithms.dual_subroutine import allocate
from workbench.papers.hadar.formulations.utility import NAMED, Utility
from workbench.papers.hadar.instance import HadarQueue
from workbench.papers.hadar.knobs import HadarRules
from workbench.papers.hadar.scheduler import Hadar
from workbench.scenario.presets import preset
from workbench.scenario.scenario import ScenarioError
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.memory import plain
from workbench.scheduling.placement import FreeGpus
from workbench.session.api import simulate, solve
from workbench.simulation.loop import run_loop as run_of

HADAR = Hadar()


def decide(scenario, snapshot=None, **knobs):
    """The decision at the start, or for a snapshot."""
    settled = HADAR.settle(knobs)
    memory = HADAR.start(scenario, settled)
    return HADAR.decide(snapshot or look(scenario), memory, settled, np.random.default_rng(0))[0]


def test_the_job_that_is_worth_more_gets_the_fast_type():
    """j1 gains 1440 - 720 by the fast type, j0 360 - 180."""
    scenario = make({"f": ("fast", 1), "s": ("slow", 1)}, [{"steps": 360}, {"steps": 720}], {"fast": 2.0, "slow": 0.5})
    decision = decide(scenario)
    assert gpus_of(decision) == {"j0": {"s": 1}, "j1": {"f": 1}}
    assert decision.why["j1"].code == "positive_payoff"


def test_by_default_a_running_job_moves_to_a_faster_type_and_pays_the_restart():
    scenario = make(
        {"f": ("fast", 1), "s": ("slow", 1)},
        [{"steps": 3600}],
        {"fast": 1.0, "slow": 0.25},
        core={"restart": {"restart_s": 10.0}},
    )
    snapshot = look(scenario, leases=[on("j0", s=1)], attained={"j0": 60.0})
    decision = decide(scenario, snapshot)
    assert gpus_of(decision) == {"j0": {"f": 1}} and decision.preempt == {"j0"}
    kept = decide(scenario, snapshot, reschedule="waiting")
    assert kept.assign == () and kept.preempt == frozenset()


def test_a_job_does_not_move_for_less_than_its_restart():
    """It would be done a second sooner on another, equal server; it stays, and nothing is assigned anew."""
    scenario = make({"a": ("t", 1), "b": ("t", 1)}, [{"steps": 720}], core={"restart": {"restart_s": 10.0}})
    decision = decide(scenario, look(scenario, leases=[on("j0", b=1)], attained={"j0": 60.0}))
    assert decision.assign == () and decision.preempt == frozenset()
    assert decision.why["j0"].code == "stays"


def test_the_memory_says_the_same_after_a_round_trip_through_json():
    scenario = make({"a": ("t", 2)}, [{}, {"gpus": 2}], core={"restart": {"restart_s": 10.0, "law": "log2"}})
    memory = HADAR.start(scenario, HADAR.settle({}))
    read = json.loads(json.dumps(plain(memory)))
    assert dict(read["restarts"]["seconds"]) == memory.restarts.by_gang == {1: 10.0, 2: 20.0}
    with pytest.raises(KeyError):  # a gang that the memory does not know is no gang without a restart
        HadarQueue.from_snapshot(look(scenario), [0, 1], HadarRules(360.0, Utility("count")), {1: 10.0})


class Told(Oracle):
    """A belief that is told speeds in steps/s of one GPU by type, and takes note after so many measurements."""

    def __init__(self, scenario, first, then, after):
        super().__init__(scenario)
        self.now, self.then, self.after = first, then, after

    def learn(self, observations):
        self.after -= bool(observations)
        if self.after == 0:
            self.now = self.then

    def speeds(self, jobs, placement="consolidated"):
        return jobs.gpus[:, None] * np.array([[self.now[kind] for kind in self._table.cluster.types]])

    def on_nodes(self, job, gpus):
        return min(self.now[node.removesuffix("-0")] * sum(gpus.values()) for node in gpus)


@pytest.mark.parametrize(("after", "moves"), [(3, True), (99, False)])
def test_a_speed_that_is_learnt_is_a_change(after, moves):
    """j0 is on a, believed the faster one; after three rounds b is known to be: decided on again, and it moves."""
    scenario = make({"a": ("a", 1), "b": ("b", 1)}, [{"steps": 3600}], {"a": 1.0, "b": 4.0})
    belief = Told(scenario, {"a": 1.0, "b": 0.5}, {"a": 1.0, "b": 4.0}, after)
    run = run_of(scenario, Watched(HADAR), {}, belief=belief)
    decided = run.decisions.loc[run.decisions["status"] != "", "time_s"].tolist()
    assert decided == ([0.0, 1080.0] if moves else [0.0])
    assert run.jobs["finish_s"].tolist() == [1080.0 + (3600 - 1080) / 4 if moves else 3600.0]


def test_the_solution_is_what_real_servers_got():
    """Three gangs of 2 fit on two nodes of 3 by their number: the last is placed on both, in a second selection."""
    scenario = make({"a": ("t", 3), "b": ("t", 3)}, [{"gpus": 2}, {"gpus": 2}, {"gpus": 2}])
    decision = decide(scenario)
    solution = decision.solved
    assert solution.passes == 2 and solution.status == "feasible"
    assert solution.objective == pytest.approx(sum(decision.signals["payoff"].values()))
    assert solution.bound > solution.objective
    assert solution.gap == pytest.approx((solution.bound - solution.objective) / solution.objective)
    whole = decide(scenario.replace(jobs=scenario.jobs[:2])).solved
    assert (whole.status, whole.passes, whole.gap) == ("optimal", 1, 0.0)
    assert whole.objective == pytest.approx(whole.bound)


def test_a_round_by_the_linear_programme_says_so():
    scenario = make({"a": ("t", 3)}, [{}, {"steps": 2000}])
    for knobs, status in (({}, "feasible"), ({"prices": "start_of_round"}, "optimal")):
        decision = decide(scenario, method="lp", **knobs)
        assert decision.solved.status == status
        assert ("linear programme" in decision.why["j0"].text) == (status == "feasible")
    assert "linear programme" not in decide(scenario).why["j0"].text


def test_weights_and_rewards_matter_to_the_utilities_that_read_them():
    about = {name: HADAR.about(HADAR.settle({"utility": name})) & {"weight", "rewards"} for name in NAMED}
    assert about == {**{name: set() for name in NAMED}, "linear": {"weight"}, "step": {"rewards"}}


def test_a_lease_that_ends_is_renewed():
    scenario = make({"a": ("t", 2)}, [{}, {}])
    ended = [on("j0", 360.0, a=1)]
    for who in ("all", "waiting"):
        decision = decide(scenario, look(scenario, 360.0, ended=ended), reschedule=who)
        assert gpus_of(decision) == {"j0": {"a": 1}, "j1": {"a": 1}}


def test_a_gang_may_mix_types():
    scenario = make({"f": ("fast", 1), "s": ("slow", 1)}, [{"gpus": 2}])
    assert gpus_of(decide(scenario)) == {"j0": {"f": 1, "s": 1}}


def test_two_consolidated_gangs_are_not_put_on_fragments():
    """Two nodes of 3: gangs of 2, 2 and 2 fit by their number, but the third only spread over both."""
    scenario = make({"a": ("t", 3), "b": ("t", 3)}, [{"gpus": 2}, {"gpus": 2}, {"gpus": 2}])
    placed = gpus_of(decide(scenario))
    assert sorted(len(gpus) for gpus in placed.values()) == [1, 1, 2]


def test_a_price_too_high_makes_a_job_wait():
    """At the start a GPU costs little; with three of four held it costs more than the small job is worth."""
    scenario = make({"a": ("t", 4)}, [{"gpus": 3, "steps": 3 * 360 * 1000}, {"steps": 360}])
    snapshot = look(scenario, leases=[on("j0", a=3)])
    decision = decide(scenario, snapshot, reschedule="waiting", utility="neg_jct", horizon_s=360 * 1001)
    assert gpus_of(decision) == {"j1": {"a": 1}}
    # Alone in the queue it sets the prices itself; with a rival worth more it is refused.
    rich = make({"a": ("t", 4)}, [{"gpus": 3, "steps": 3e6}, {"steps": 360}, {"steps": 360 * 20, "weight": 1e6}])
    snapshot = look(rich, leases=[on("j0", a=3)])
    decision = decide(rich, snapshot, reschedule="waiting", utility="linear")
    assert gpus_of(decision) == {"j2": {"a": 1}}
    assert decision.why["j1"].code == "payoff_not_positive"


def test_gpus_that_nobody_pays_for_are_filled_or_left_idle():
    """A GPU is free, but the price of a type of which j2 wants two is beyond j1; j2 does not fit."""
    jobs = [{"gpus": 3, "steps": 3e6}, {"steps": 360}, {"gpus": 2, "steps": 360 * 20, "weight": 1e6}]
    scenario = make({"a": ("t", 4)}, jobs)
    snapshot = look(scenario, leases=[on("j0", a=3)])
    knobs = {"reschedule": "waiting", "utility": "linear"}
    left = decide(scenario, snapshot, **knobs, idle_gpus="leave")
    assert gpus_of(left) == {} and left.why["j1"].code == "payoff_not_positive"
    assert left.signals["utility"]["j1"] > 0 >= left.signals["payoff"]["j1"], "what it would be worth is recorded too"
    filled = decide(scenario, snapshot, **knobs)
    assert gpus_of(filled) == {"j1": {"a": 1}}
    assert filled.why["j1"].code == "left_over" and "would cost more" in filled.why["j1"].text
    assert filled.signals["payoff"]["j1"] == filled.signals["utility"]["j1"] > 0


def test_by_default_nothing_is_decided_until_the_queue_changes():
    """Two jobs of 2 and 20 rounds on two GPUs: decided on at the start and when the first is done, not in between."""
    scenario = make({"a": ("t", 2)}, [{"steps": 720}, {"steps": 7200}])
    assert decide(scenario).next_s == math.inf
    assert simulate(scenario, "hadar").decisions["time_s"].tolist() == [0.0, 720.0]
    every = simulate(scenario, "hadar", reschedule="all").decisions["time_s"].tolist()
    assert every == [360.0 * slot for slot in range(20)]


def test_the_horizon_is_the_longest_run_after_the_work_of_the_queue():
    """1440 at 2 x 1 + 2 x 0.5 steps/s and 2 x 720 at twice that: 720 s, 2 slots; slowest run 1440 / 0.5 s, 8 slots."""
    scenario = make(
        {"f": ("fast", 2), "s": ("slow", 2)}, [{"steps": 1440}, {"gpus": 2, "steps": 720}], {"fast": 1.0, "slow": 0.5}
    )
    queue = HadarQueue.from_snapshot(look(scenario), range(2), HadarRules(360.0, Utility("neg_jct")))
    assert queue.terms.horizon == 10.0 and queue.last.tolist() == [10.0, 10.0]


def test_reasons_and_signals():
    scenario = make({"a": ("t", 2)}, [{"steps": 720}, {"gpus": 2, "steps": 1}, {"gpus": 2, "steps": 2}])
    snapshot = look(scenario, leases=[on("j0", a=1)])
    decision = decide(scenario, snapshot, reschedule="waiting")
    assert decision.assign == () and decision.next_s == math.inf
    assert {name: reason.code for name, reason in decision.why.items()} == {"j1": "no_room", "j2": "no_room"}
    decision = decide(scenario, utility="effective_throughput")
    assert set(decision.signals) == {"payoff", "utility", "price of t"}
    assert decision.why["j0"].code == "positive_payoff"
    assert decision.signals["payoff"]["j0"] == decision.why["j0"].facts["payoff"]
    assert decision.signals["payoff"]["j0"] <= decision.signals["utility"]["j0"]
    assert decision.solved.status == "optimal"


def test_course_of_prices_of_a_run():
    """Both GPUs held: the highest price, U_j / W_j = 1; when the shorter job is done, one is held: less than that."""
    run = simulate(make({"a": ("t", 2)}, [{"steps": 1000}, {"steps": 2000}]), "hadar", utility="count")
    course = price_course(run.signals)
    assert course["type"].unique().tolist() == ["t"]
    assert not course.duplicated(["time_s", "type"]).any()
    at = course.set_index("time_s")["price"]
    assert at[0.0] == pytest.approx(1.0)
    assert 0 < at[at.index[-1]] < 1.0


@given(
    scenarios(),
    st.fixed_dictionaries(
        {
            "reschedule": st.sampled_from(["on_change", "all", "waiting"]),
            "idle_gpus": st.sampled_from(["fill", "leave"]),
            "prices": st.sampled_from(["within_round", "start_of_round"]),
            "method": st.sampled_from(["auto", "dp", "lp"]),
            "utility": st.sampled_from(["effective_throughput", "neg_jct", "count", "step", "linear"]),
            "payoff": st.sampled_from(["remaining_rounds", "one_round"]),
            "mixed_types": st.just(True),
            "round_s": st.sampled_from([60.0, 360.0]),
            "communication_cost": st.sampled_from([0.0, 0.1, 3.0]),
            "eta": st.sampled_from([None, 0.5, 4.0]),
        }
    ),
)
def test_with_any_knobs_everybody_finishes_and_answers_repeat(scenario, knobs):
    try:
        run = run_of(scenario, Watched(HADAR), knobs)
    except InputError as error:
        assert error.where == "eta" and knobs["eta"] == 0.5  # a price would fall with the GPUs taken
        return
    assert run.jobs["finish_s"].notna().all()


def test_a_job_that_earns_nothing_moves_to_a_faster_gpu_that_falls_free():
    """j1 earns on the fast GPU until 300 s; then j0 does the rest of its 10,000 steps at 10 steps/s, not at 1."""
    jobs = [{"steps": 10_000}, {"steps": 3000, "rewards": [[600.0, 5.0]]}]
    scenario = make({"s": ("slow", 1), "f": ("fast", 1)}, jobs, {"slow": 1.0, "fast": 10.0})
    run = simulate(scenario, "hadar", utility="step", round_s=300.0)
    assert run.jobs["finish_s"].tolist() == [300.0 + 9700.0 / 10.0, 300.0]


def test_of_equal_jobs_the_first_goes_first():
    run = simulate(make({"a": ("t", 1)}, [{"steps": 360}] * 3), "hadar")
    assert run.jobs["finish_s"].tolist() == [360.0, 720.0, 1080.0]


def best_of(snapshot, queue, prices):
    """The largest sum of payoffs by trying every way to put jobs on nodes, at the prices of the start."""
    belief, names = snapshot.belief, snapshot.nodes.names
    free, kinds = snapshot.nodes.free.tolist(), snapshot.nodes.kind.tolist()
    rules = HadarRules(360.0, Utility("effective_throughput"))

    def ways(job):
        for split in itertools.product(*(range(n + 1) for n in free)):
            if sum(split) == job.gpus:
                yield split

    def payoff(row, split):
        gpus = {names[i]: n for i, n in enumerate(split) if n}
        job = queue.view.jobs[row]
        speed = belief.on_nodes(job, gpus)
        if speed <= 0:
            return -1.0
        needed = max(1.0, math.ceil(queue.view.steps_left[row] / speed / 360.0 - 1e-9))
        sizes = np.cumsum(sorted(snapshot.nodes.gpus[queue.speed[row][snapshot.nodes.kind] > 0])[::-1])
        extra = max(0, len(gpus) - int(np.searchsorted(sizes, job.gpus)) - 1)
        cost = needed * (1 + rules.communication * extra) * sum(n * prices[kinds[i]] for i, n in enumerate(split))
        return job.steps / (queue.elapsed[row] + needed) - cost

    def search(row, left):
        if row == len(queue):
            return 0.0
        best = search(row + 1, left)
        for split in ways(queue.view.jobs[row]):
            if all(n <= have for n, have in zip(split, left, strict=True)):
                value = payoff(row, split)
                if value > 0:
                    rest = tuple(have - n for n, have in zip(split, left, strict=True))
                    best = max(best, value + search(row + 1, rest))
        return best

    return search(0, tuple(free))


@st.composite
def tiny(draw):
    """Up to four jobs on up to three nodes of one or two types, at most 6 GPUs."""
    nodes = {
        f"n{i}": (draw(st.sampled_from(["fast", "slow"])), draw(st.integers(1, 2)))
        for i in range(draw(st.integers(1, 3)))
    }
    total = sum(size for _, size in nodes.values())
    jobs = [
        {"gpus": draw(st.integers(1, min(3, total))), "steps": draw(st.integers(1, 4000))}
        for _ in range(draw(st.integers(1, 4)))
    ]
    return make(nodes, jobs, {"fast": 2.0, "slow": 0.5})


@given(tiny())
def test_against_every_way_to_place_the_jobs(scenario):
    """The selection counts GPUs by type: it is no worse than any real placement; what it places keeps its payoff."""
    snapshot = look(scenario)
    rules = HadarRules(360.0, Utility("effective_throughput"))
    queue = HadarQueue.from_snapshot(snapshot, range(len(snapshot.jobs)), rules)
    found = allocate(snapshot, queue, FreeGpus(snapshot.nodes), rules, "start_of_round")
    prices = queue.bounds.price(np.zeros(len(snapshot.types)))
    best = best_of(snapshot, queue, prices)
    assert found.first.objective >= best - 1e-6 * max(1.0, best)
    if found.iterations == 1:  # every option lay as it said
        real = sum(chosen.payoff for chosen in found.chosen.values())
        assert real == pytest.approx(best, rel=1e-6, abs=1e-6)


def test_jobs_past_their_last_deadline_run_on_what_is_left():
    scenario = make({"a": ("t", 2)}, [{"rewards": [[100.0, 5.0]]}, {"rewards": [[1e6, 5.0]], "steps": 720}])
    decision = decide(scenario, utility="step")
    assert decision.why["j0"].code == "left_over" and decision.why["j1"].code == "positive_payoff"
    assert set(gpus_of(decision)) == {"j0", "j1"}


@pytest.mark.parametrize("slot_s", [0, -360, "zero"])
def test_a_slot_that_is_no_time_is_refused(slot_s):
    with pytest.raises(InputError, match="round_s"):
        simulate(preset("hadar_example"), "hadar", round_s=slot_s)


def test_a_horizon_too_short_for_a_job_alone_is_refused_at_the_start():
    scenario = make({"a": ("t", 1)}, [{"steps": 3600}, {"steps": 3600, "arrival_s": 1000.0}])
    needs = r"horizon_s: got 4000.*at least 4600 s: job j1, which arrives at 1000 s, needs 10 rounds of 360 s"
    with pytest.raises(InputError, match=needs):
        HADAR.start(scenario, HADAR.settle({"horizon_s": 4000}))
    with pytest.raises(InputError, match=needs):
        solve(scenario, "hadar.round", horizon_s=4000, at=1000.0)
    HADAR.start(scenario, HADAR.settle({"horizon_s": 4600}))
    alone = make({"a": ("t", 1)}, [{"steps": 3600}])
    assert simulate(alone, "hadar", horizon_s=3600).jobs["finish_s"].tolist() == [3600.0]


@pytest.mark.parametrize("idle_gpus", ["fill", "leave"])
@pytest.mark.parametrize("utility", ["neg_jct", "effective_throughput", "count"])
def test_a_job_that_waits_past_the_horizon_is_worth_nothing_and_gets_what_is_left_over(utility, idle_gpus):
    """Each job could be done by 5000 s, but not one after the other."""
    scenario = make({"a": ("t", 1)}, [{"steps": 3600}, {"steps": 3960}])
    knobs = {"utility": utility, "idle_gpus": idle_gpus, "horizon_s": 5000}
    run = simulate(scenario, "hadar", knobs)
    assert run.jobs["finish_s"].tolist() == [3600.0, 7560.0]
    started = run.events[(run.events["event"] == "start") & (run.events["job"] == "j1")]
    assert started["reason"].str.startswith("it can earn nothing, however soon it ends").all()


@pytest.mark.parametrize("job", [{"gpus": 3}, {}])
def test_jobs_that_can_run_nowhere_are_refused(job):
    with pytest.raises(ScenarioError, match="can run nowhere"):
        simulate(make({"a": ("t", 2)}, [job], {"t": 1.0 if job else 0.0}), "hadar")


def test_a_utility_that_increases_is_refused():
    scenario = make({"a": ("t", 1)}, [{"steps": 360}])
    rising = Utility("mine", lambda jct, jobs: jct)
    with pytest.raises(InputError, match="does not increase"):
        HadarQueue.from_snapshot(look(scenario), [0], HadarRules(360.0, rising, horizon_s=36000.0))
