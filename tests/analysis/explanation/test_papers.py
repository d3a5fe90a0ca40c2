"""Per paper and baseline, a small case whose reason is worked out by hand."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest

import workbench
from tests.analysis.explanation.explain_support import facts, scenario
from workbench.analysis.explanation.compose import not_faster
from workbench.session import replay

TWO = [{"name": "one"}, {"name": "two"}]


def test_gavel_who_has_had_more_than_its_share_waits_for_who_has_had_nothing() -> None:
    """Two equal jobs own half of the GPU each; `one` had the first round, so its priority is 0.5 / 1."""
    run = workbench.simulate(scenario(TWO), "gavel.max_min_fairness", round_s=360)
    first, second = workbench.explain(run, "two", 0.0), workbench.explain(run, "one", 360.0)
    none = "(no time there with these shares)"
    assert first.binding == f"on v100 one, as far behind as it is {none}, was chosen, listed before it in the scenario"
    assert (
        "A priority is infinite while a job with a share has had no time on the type since shares were computed."
        in first.sentences
    )
    assert "Equal priorities go by the time that is owed, then by share, then by arrival." in first.sentences
    assert "it is number 1 of 2: no time on v100 with these shares, the same as one." in first.reason
    assert [one.comes for one in first.competitors] == ["equal"]
    assert first.text().endswith("\n∞: a job with a share that has had no time on the type since shares were computed.")
    assert first.shown_competitors()["Priority on the type where it is highest"].tolist() == ["∞", "∞"]
    table = second.shown_competitors()
    assert table.iloc[0].tolist() == ["one", "(this job)", "", "", "", "0.5", ""], "its own number, to compare with"
    assert [*table["Job"]] == ["one", "two"]
    assert second.binding == f"on v100 two {none} came before it, further behind its share than it is (priority 0.5)"
    assert facts(second)["priority on v100"] == 0.5
    assert facts(second)["share of time on v100"] == pytest.approx(0.5)
    assert facts(second)["part of the time received"] == pytest.approx(1.0)
    assert (
        "By priority on the type where it is highest (the highest first) it is number 2 of 2: 0.5 on v100."
        in second.sentences
    )
    assert any("the shares of all jobs add up to 1 GPU of v100 (equation 3)" in each for each in second.sentences)
    assert workbench.explain(run, "two", 360.0).binding.startswith("it was far enough behind its share of v100")


def test_gavel_a_job_alone_has_its_gpus_as_nobody_else_is_there() -> None:
    run = workbench.simulate("preset:start_here", "gavel.max_min_fairness")
    assert workbench.explain(run, "vision", 7800.0).binding == "it is the only job that is there"


def test_gavel_between_equal_priorities_what_is_owed_decides_and_is_said() -> None:
    """On the K80 game had 6 min without a share of it before 30 min; translation came then."""
    run = workbench.simulate("preset:start_here", "gavel.max_min_fairness")
    told = workbench.explain(run, "game", 2340.0).binding
    assert told.endswith("(by 30 min translation was owed nothing and game had 6 min more than its share)")
    assert "∞" not in workbench.explain(run, "vision", 1440.0).text(), "nothing is told of what is not there"


def test_gavel_the_shares_before_a_job_came_are_not_its_own() -> None:
    run = workbench.simulate(scenario([{"name": "one"}, {"name": "two", "arrival_s": 100.0}]), "gavel.max_min_fairness")
    early, asked = workbench.explain(run, "two", 200.0), workbench.explain(run, "two", 360.0)
    assert "no share of time yet: the shares in force, of 0 s, are from before it came" in early.reason
    assert early.binding.startswith("the scheduler has not been asked since it came")
    assert [*early.shown_competitors()["Job"]] == ["one"], "without a number of its own there is none to compare"
    assert "Its shares: 0.5 of its time on v100." in asked.reason


def test_gavel_who_runs_on_what_others_left_did_not_get_it_by_priority() -> None:
    """Some gangs have shares of V100 alone; whoever waits for them is given the T4 that nobody has a share of."""
    run = workbench.simulate("preset:hare_testbed", "gavel.max_min_fairness", until_s=2500.0)
    found = workbench.explain(run, "job-0", 2160.0)
    assert "on t4-0 x 2" in found.sentences[0] and "Its shares: 0.261 of its time on v100." in found.reason
    assert found.binding == "GPUs that no job with a share of them used"


def test_gavel_a_policy_of_cost_leaves_gpus_idle_and_says_so() -> None:
    run = workbench.simulate("preset:hadar_simulated", "gavel.min_cost_slo", until_s=6500.0, refresh_s=None)
    found = workbench.explain(run, "job-19", 6120.0)
    assert "Its shares: 1 of its time on v100." in found.reason and "5 of 20 p100, 8 of 20 k80" in found.reason
    idle = "p100 and k80 stay free, as nobody has GPUs without a share of them (knob Leftovers: none)"
    assert found.binding.endswith(idle)
    given = workbench.simulate("preset:hadar_simulated", "gavel.min_cost_slo", until_s=6500.0, leftovers="all")
    assert not any(workbench.explain(given, job, 6120.0).binding.endswith(idle) for job in given.jobs["job"])


def test_gavel_a_job_alone_is_limited_by_its_own_time() -> None:
    run = workbench.simulate(scenario([{"name": "one"}], gpus=2), "gavel.max_min_fairness")
    said = workbench.explain(run, "one", 100.0).reason
    assert "its shares add up to all of its time (equation 2)" in said and "equation 3" not in said


def test_hadar_the_shorter_job_outbids_the_longer_one_by_its_utility() -> None:
    """Utility is T + 1 - JCT in rounds: 5 rounds against 20, less 5 and 20 times the price of the empty cluster. With
    its one GPU taken, a type costs its highest price, the best utility per GPU of the gang (6)."""
    jobs = [{"name": "short", "steps": 1800.0}, {"name": "long", "steps": 7200.0}]
    run = workbench.simulate(scenario(jobs), "hadar", round_s=360)
    lost, won = workbench.explain(run, "long", 0.0), workbench.explain(run, "short", 0.0)
    best = float(facts(won)["utility"])
    price = (best - float(facts(won)["payoff"])) / 5
    assert "payoff" in facts(won) and facts(won)["price of its GPUs until it is done"] == pytest.approx(5 * price)
    assert facts(lost)["utility"] == pytest.approx(best - 15)
    assert facts(lost)["price of the GPUs that it would have"] == pytest.approx(20 * price)
    assert float(facts(lost)["payoff"]) == pytest.approx(best - 15 - 20 * price)
    assert facts(lost)["price of v100"] == pytest.approx(best)
    worths = [f"its payoff of {facts(each)['payoff']:.3g} is " for each in (lost, won)]
    assert (
        lost.binding == f"{worths[0]}not taken, as on the GPUs that there are the payoffs add up to more without it (8)"
    )
    assert lost.next_start_s == 1800.0
    assert won.binding.startswith(f"{worths[1]}among those")
    assert "jobs are chosen together, not in the order of it" in lost.reason, "a larger payoff comes before none"
    assert [(one.job, one.comes) for one in lost.competitors] == [("short", "")]
    assert list(lost.shown_competitors())[-1] == "Payoff"


def test_hadar_a_gang_without_room_is_held_by_the_capacity() -> None:
    jobs = [{"name": "small", "steps": 1800.0}, {"name": "big", "steps": 7200.0, "gpus": 2, "arrival_s": 300.0}]
    run = workbench.simulate(scenario(jobs, gpus=2), "hadar", round_s=360, reschedule="waiting")
    found = workbench.explain(run, "big", 400.0)
    assert found.binding == "there were too few free GPUs on which its gang runs (8, s.t.)"
    assert "free of the types on which it runs: 1 of 2 v100: too few" in found.reason and found.next_start_s == 1800.0


def test_hadare_copies_of_the_first_job_are_on_both_nodes() -> None:
    run = workbench.simulate(scenario(TWO, nodes=2), "hadare")
    found, other = workbench.explain(run, "two", 0.0), workbench.explain(run, "one", 0.0)
    assert found.binding.startswith("other jobs' copies are worth more")
    assert facts(found)["copies"] == 0 and facts(other)["copies"] == 2
    assert "2 copies (ids 2, 4): 1,800 training steps on a-0 (payoff " in other.reason
    worth = run.signals[(run.signals["decision"] == 0) & (run.signals["signal"] == "payoff")].set_index("job")["value"]
    assert other.binding.endswith(f"the largest payoff: its 2 copies, together {worth['one']:.3g}, were among these")
    assert f"; its own was {worth['two']:.3g} when the last of these was given out" in found.reason
    single = workbench.simulate(scenario(TWO, nodes=2), "hadare", forks=1)
    assert workbench.explain(single, "one", 0.0).binding.endswith(
        "the largest payoff: its copy, 0.943, was among these"
    )
    why = "left over by those that lack steps in this round, and no other job gains more time there"
    for knobs, job, at_s, said in (
        ({}, "language", 2880.0, f"payoff: 1 of its 2 copies, 3.95, was among these; the node of the other was {why}"),
        ({"payoff": "remaining", "overhead_s": 60.0}, "language", 3240.0, f"the node was {why}"),
    ):  # nobody paid for a node that was left over, as the reason says
        mixed = workbench.explain(workbench.simulate("preset:hops_example", "hadare", knobs), job, at_s)
        assert mixed.binding.endswith(said) and "fast-0 (left over" in mixed.reason


@pytest.mark.parametrize(
    ("payoff", "words"),
    [
        ("remaining", "the part of the job's steps left that the copy does in the round."),
        ("work", "the seconds that the whole cluster would need for the steps that the copy does in the round."),
        ("balanced", "over the fourth root of those that it would need for the job's steps left."),
    ],
)
def test_hadare_says_what_a_copy_is_worth(payoff: str, words: str) -> None:
    run = workbench.simulate(scenario(TWO, nodes=2), "hadare", payoff=payoff)
    said = workbench.explain(run, "one", 0.0).reason.partition("copies with the largest payoff: ")[2]
    assert words in said and said.index(words) + len(words) == said.index(".") + 1


def test_hops_one_gpu_makes_a_service_window_of_one_job() -> None:
    jobs = [{"name": name} for name in ("one", "two", "three")]
    run = workbench.simulate(scenario(jobs), "hops", profile_iterations=0)
    inside, outside = workbench.explain(run, "one", 10.0), workbench.explain(run, "three", 10.0)
    assert (facts(inside)["place"], facts(inside)["window"]) == (1, 1)
    assert (facts(outside)["place"], facts(outside)["window"]) == (3, 0)
    assert outside.binding.endswith("it is outside the service window (§3.6)")
    assert (
        inside.binding == "it is part of the plan with the largest gain (11), weighted by priority: its weight is 0.01"
    )
    alone = workbench.simulate(scenario(jobs), "hops", {"lambda": 0.0}, profile_iterations=0)
    assert workbench.explain(alone, "one", 10.0).binding.endswith("(11), whatever the priorities (lambda 0)")
    later = workbench.explain(run, "one", 310.0)
    assert later.state == "waiting" and facts(later)["latency ratio"] == 0.0, "two has waited: its ratio is higher"


def test_hare_a_task_waits_for_the_tasks_before_it_on_its_gpu() -> None:
    run = workbench.simulate(scenario(TWO), "hare")
    found = workbench.explain(run, "two", 100.0)
    assert found.binding.startswith("a GPU runs one task at a time") and found.next_start_s == 3600.0
    assert "starts on a-0/0 at 1 h, after 30 tasks of others on that GPU: one #0.0" in found.reason
    assert "it is number 2 of 2" in found.reason


def test_hare_between_two_rounds_a_job_waits_for_its_own_tasks() -> None:
    """A task computes 10 s and synchronises 5 s; at 12 s round 0 synchronises, and its GPUs are free meanwhile."""
    rows = [
        {"model": "m", "accelerator": "v100", "gpus": n, "steps_per_s": rate, "sync_s": 5.0}
        for n, rate in ((1, 0.1), (2, 2 / 15))
    ]
    jobs = [{"name": "one", "gpus": 2, "steps": 20.0}]
    run = workbench.simulate(scenario(jobs, gpus=2, throughputs=rows), "hare")
    found = workbench.explain(run, "one", 12.0)
    assert found.state == "synchronising" and found.binding.startswith("tasks of a round start only")
    assert facts(found)["tasks computed"] == 2
    assert workbench.explain(run, "one", 16.0).binding.startswith("its tasks were next")


SLO = [
    {"name": "calm", "steps": 2400.0, "rewards": [[9000.0, 100.0]]},
    {"name": "urgent", "steps": 2400.0, "rewards": [[2500.0, 100.0]]},
    {"name": "late", "steps": 2400.0, "rewards": [[2500.0, 100.0]]},
    {"name": "spare"},
]
"""One GPU, leases of 1200 s: by 2500 s there are two, which `urgent` needs, so that `late` finds none; `calm` can wait
until 9000 s."""


@pytest.fixture(scope="module")
def chronus() -> workbench.Run:
    return workbench.simulate(scenario(SLO), "chronus", profile=False)


def test_chronus_a_refusal_a_later_lease_and_what_is_left_for_best_effort(chronus: workbench.Run) -> None:
    refused = workbench.explain(chronus, "late", 0.0)
    assert (
        refused.binding.startswith("beside the jobs that are guaranteed already")
        and "cannot be guaranteed" in refused.reason
    )
    urgent = workbench.explain(chronus, "urgent", 1500.0)
    assert urgent.state == "running" and "the plan has this lease for it" in urgent.binding
    waits = workbench.explain(chronus, "calm", 1500.0)
    assert waits.binding.startswith("the plan meets its deadline with later leases")
    assert "guaranteed: the plan has its next lease in 15 min." in waits.reason
    assert facts(waits)["deadline worth 100, in"] == 7500.0
    spare = workbench.explain(chronus, "spare", 1500.0)
    assert spare.binding.startswith("the GPUs that SLO leases leave are too few")
    assert "By remaining time among best-effort jobs" in spare.reason and "number 2 of 2: 1 h" in spare.reason
    assert [one.job for one in spare.competitors if one.comes == "before"] == ["late"]


def test_las_who_has_had_least_comes_first() -> None:
    run = workbench.simulate(scenario(TWO), "las", round_s=360)
    found = workbench.explain(run, "one", 400.0)
    assert "By attained service (the lowest first) it is number 2 of 2: 360 GPU-s." in found.sentences
    assert found.binding == "by attained service two comes before it and holds GPUs that it could use"


def test_srtf_who_is_done_first_comes_first() -> None:
    jobs = [{"name": "long"}, {"name": "short", "steps": 600.0, "arrival_s": 300.0}]
    run = workbench.simulate(scenario(jobs), "srtf", round_s=300)
    found = workbench.explain(run, "long", 400.0)
    assert "since 5 min (jobs before it in line took its GPUs)" in found.sentences[0]
    assert "it is number 2 of 2: 55 min" in found.reason and found.next_start_s == 900.0


def test_tiresias_who_has_had_much_stands_in_the_second_queue() -> None:
    jobs = [{"name": "old"}, {"name": "new", "arrival_s": 700.0}]
    run = workbench.simulate(scenario(jobs), "tiresias", round_s=360, threshold_gpu_s=500.0)
    found = workbench.explain(run, "old", 800.0)
    assert facts(found)["queue"] == 2 and facts(found)["attained service at the last decision"] == 720.0
    assert found.binding == "by place in line new comes before it and holds GPUs that it could use"


def test_yarn_a_used_up_quota_keeps_a_job_from_free_gpus() -> None:
    entities = [{"name": "a", "quota_gpus": 1}, {"name": "b", "quota_gpus": 1}]
    jobs = [{"name": "one", "entity": "a"}, {"name": "two", "entity": "a"}]
    run = workbench.simulate(scenario(jobs, gpus=2, entities=entities), "yarn_cs", queues="entities")
    found = workbench.explain(run, "two", 60.0)
    assert found.binding == "the quota of its queue (a): 1 of 1 GPUs are in use by one"
    assert "free of the types on which it runs: 1 of 2 v100: enough in number" in found.reason


def test_edf_the_earlier_deadline_comes_first_and_best_effort_last() -> None:
    jobs = [{"name": "late", "rewards": [[20000.0, 1.0]]}, {"name": "soon", "rewards": [[9000.0, 1.0]]}, {"name": "be"}]
    run = workbench.simulate(scenario(jobs), "edf")
    found = workbench.explain(run, "late", 60.0)
    assert "By deadline (the lowest first) it is number 2 of 3: 5 h 33 min." in found.sentences
    assert found.binding.endswith("are held by soon, and who has a deadline and runs keeps its GPUs")
    last = workbench.explain(run, "be", 60.0)
    assert last.binding.endswith("are held by soon, and GPUs are taken only for a deadline to meet")
    assert {one.job: one.comes for one in last.competitors} == {"soon": "before", "late": "before"}


def test_fifo_and_sched_homo_and_the_matchings_say_their_rule() -> None:
    for name, rule in (
        ("fifo", "in the order of their arrival"),
        ("sched_homo", "Jobs start in this order"),
        ("allox", "completion times add up to least"),
        ("sched_allox", "Each job has one GPU to itself"),
    ):
        run = workbench.simulate(scenario([{"name": "one"}, {"name": "two", "steps": 7200.0}]), name)
        found = workbench.explain(run, "two", 60.0)
        assert found.state == "waiting" and rule in found.reason and found.binding, name


def test_what_an_own_objective_decided_is_not_told_by_the_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    @workbench.formulation("mine", base="hadar.round")
    def mine(m: Any, data: Any) -> None:
        m.total_payoff.deactivate()
        worth = {key: m.payoff[key] + (1000 if key[0] == "J3" else 0) for key in m.OPTIONS}
        terms = sum(worth[key] * m.choose[key] for key in m.OPTIONS)
        m.favour = pyo.Objective(expr=terms, sense=pyo.maximize, doc="(ours) J3 first | utility")

    run = workbench.simulate("preset:hadar_example", "mine", until_s=300.0)
    best = 'the best answer by the objective of mine, "J3 first" (favour)'
    for job, binding in (("J3", f"it is in {best}"), ("J1", f"{best}, is without it")):
        told = workbench.explain(run, job, 10.0)
        assert told.binding == binding and "add up to m" not in told.text()
    decided, rows = run.decisions.iloc[0], workbench.rows(run, 10.0)
    assert decided["objective"] == decided["bound"] == pytest.approx(1054.961) == rows.attrs["objective"]
    links = workbench.chain(run, "v100-0/0", 10.0, again=False).links
    first = 'mine has an objective in the place of the paper\'s (8): "J3 first" (favour).'
    assert f"Of J3: it is in {best}." in links[-1].text
    assert links[0].text == f"{first} Numbers of the links are the paper's."

    @workbench.formulation("slow", base="mine")
    def slow(m: Any, data: Any) -> None:
        m.one = pyo.Constraint(expr=sum(m.choose.values()) <= 1, doc="(ours) one at a time")

    placed = workbench.simulate("preset:hadar_example", "slow", until_s=300.0).decisions.iloc[0]
    assert placed["status"] == "feasible" and placed[["objective", "bound"]].isna().all(), "by several models in turn"

    @workbench.formulation("mine", base="hadar.round")
    def dear(m: Any, data: Any) -> None:
        workbench.set_number(m.payoff, next(iter(m.OPTIONS)), 999.0)

    told = workbench.explain(workbench.simulate("preset:hadar_example", "mine", until_s=300.0), "J1", 10.0)
    assert told.binding.startswith("it is in the best answer by the objective of mine,")
    assert "mine has other numbers in the paper's model (8)" in told.text() and "add up to m" not in told.text()

    @workbench.formulation("mine", base="hops.round")
    def most(m: Any, data: Any) -> None:
        m.weighted_gain.deactivate()
        m.most = pyo.Objective(expr=sum(m.choose.values()), sense=pyo.maximize, doc="(ours) most jobs | jobs")

    run = workbench.simulate("preset:hops_example", "mine", until_s=1600.0)
    assert not_faster(run, "images", 10.0).says.endswith(": it is profiled before it enters the queue.")
    told, best = (
        workbench.explain(run, "images", 1500.0),
        'the best answer by the objective of mine, "most jobs" (most)',
    )
    assert told.binding == f"it is in {best}"
    assert not_faster(run, "images", 1500.0).says.endswith(f"; {best}, has it where it is.")
    assert "Each plan is made for the head of the queue" in told.text(), "what is true whatever the objective"

    @workbench.formulation("mine", base="gavel.max_min_fairness")
    def time_in_all(m: Any, data: Any) -> None:
        m.worst_job.deactivate()
        m.own = pyo.Objective(expr=sum(m.share.values()), sense=pyo.maximize, doc="time in all | 1")

    run = workbench.simulate("preset:start_here", "mine", until_s=2800.0)
    told, made = workbench.explain(run, "vision", 2700.0), list[Any]()
    for kept in ('"time in all" (own)', "Its shares: ", "furthest behind: priority", "Limits that the shares meet: "):
        assert kept in told.text()
    monkeypatch.setattr(
        replay, "simulate", lambda *given, **more: made.append(given) or workbench.simulate(*given, **more)
    )
    assert "is idle at 45 min" in workbench.chain(run, "fast-0/1", 2700.0, again=False).summary
    assert len(made) == 1, "once for all jobs that it tells of"
