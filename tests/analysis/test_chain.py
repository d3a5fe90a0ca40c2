"""The chain of a bar: the first scene, every scheduler's links, what is called a cause, and how often it is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import workbench
from tests.simulation.support import make
from workbench.analysis import chain as module
from workbench.analysis import decided_anew
from workbench.analysis.chain import Chain
from workbench.analysis.one_decision import one_decision
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.priority import PolicyAnswer, picking
from workbench.scheduling.decision import Shares
from workbench.session.replay import replay
from workbench.simulation.job_at_time import JobAtTime
from workbench.simulation.run import Run
from workbench.simulation.slot_at_time import SlotAtTime
from workbench.simulation.stop import RunCancelledError

FAIR = "gavel.max_min_fairness"
LINKS = {
    FAIR: ("share", "rank", "placement"),
    "hadar": ("price", "payoff", "choice"),
    "hops": ("gain and weight", "plan"),
    "hare": ("order", "task", "slot"),
    "hadare": ("work", "payoff", "copies", "choice"),
    "chronus": ("promise", "lease", "placement"),
    "fifo": ("order", "choice"),
    "las": ("order", "choice"),
}


TRIED = {"cause", "binding, not decisive"}


@cache
def run_of(scheduler: str) -> Run:
    return workbench.simulate("preset:start_here", scheduler)


@cache
def first_scene() -> Chain:
    return workbench.chain(run_of(FAIR), "fast-0/1", 45 * 60)


def test_the_row_that_decides_where_a_job_runs_is_a_cause_of_its_chain() -> None:
    """Of a job that runs; where the job is not there, and where rules decide, there is none."""
    found = module.decisive_row(run_of(FAIR), "game", 2700.0)
    assert found is not None and found.row == "epigraph[vision]" and found.text.startswith(f"{found.row} (")
    assert found.row in workbench.chain(run_of(FAIR), "slow-0/0", 2700.0).causes
    then = "game would run on 1 v100 of fast-0, and nobody would have slow-0/0 (k80)"
    done, others = found.text.split(
        f": taken away from 30 min on, and the problem solved again, {then}. Of the others, each tried alone, "
    )
    assert done.endswith("(no job falls below the common level t)"), "what the job itself would get"
    verdicts = {row.row: row.verdict for row in found.rows}
    also, none, needed = others.split("; ")
    assert also == "epigraph[translation] would change it too" and verdicts["epigraph[translation]"] == "cause"
    assert none == "without epigraph[game] all can stay as it is (binding, not decisive)"
    unkept = needed.removeprefix("no run can do without ").removesuffix(" (binding, not decisive)")
    assert {*unkept.replace(" and ", ", ").split(", ")} == {"capacity[v100]", "job_time[game]", "job_time[translation]"}
    assert verdicts["epigraph[game]"] == verdicts["capacity[v100]"] == "binding, not decisive"
    of_gpu = module.decisive_row(run_of(FAIR), "", 2700.0, "fast-0/1")
    assert of_gpu is not None and of_gpu.text in first_scene().links[0].text, "in the words of its chain"
    other = module.decisive_row(run_of(FAIR), "translation", 2700.0)
    assert other is not None and other.row == "", "without a row it may have the other slot: it stays where it is"
    assert (
        "from 30 min on and the problem solved again: translation stays on 1 v100 of fast-0. No run can" in other.text
    )
    assert module.decisive_row(run_of(FAIR), "translation", 60.0) is None
    assert module.decisive_row(run_of("las"), "game", 2700.0) is None
    asked = iter([False, False, True])
    with pytest.raises(RunCancelledError, match="given up"):
        module.decisive_row(run_of(FAIR), "translation", 2700.0, given_up=lambda: next(asked))


def test_the_row_that_keeps_a_job_waiting_would_let_it_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 16 min vision waits, while game runs on a V100: were game not to be as far as others, vision would run."""
    run = run_of(FAIR)
    found = module.decisive_row(run, "vision", 972.0)
    assert found is not None and found.row == "epigraph[game]"
    tried = decided_anew.DecidedAnew._with

    def unkept(asked: Any, statement: Any, row: str, by: float, near: bool = True) -> SlotAtTime | None:
        if near:
            return tried(asked, statement, row, by)
        raise InputError("row", row, "an answer of the solver that a run can keep")

    with monkeypatch.context() as patched:
        patched.setattr(decided_anew.DecidedAnew, "_with", unkept)
        assert module.decisive_row(run, "vision", 972.0) == found, "the nearest answer can be kept"
    assert "taken away from 12 min on, and the problem solved again, vision would run on 2 v100 of f" in found.text
    own = module.decisive_row(workbench.simulate("preset:gavel_example", FAIR), "job 0", 360.0)
    assert own is not None and own.row == "epigraph[job 0]", "the job's own promise, made weaker: why it runs then"
    assert (
        "job 0 would run on 1 v100 of v100-0, as its turn would come later: by then it would have had GPUs for 0 s, "
        "not for 6 min. Of" in own.text
    )
    none = module.decisive_row(workbench.simulate("preset:hops_example", "hops"), "language", 677.0)
    assert none is not None and none.row == ""
    assert none.text == (
        "no row alone. Each that binds was loosened or taken away from 10 min on and the problem solved again: "
        "language still waits. No run can do without one_configuration[text], capacity[slow-0] and capacity[fast-0] "
        "(binding, not decisive), as nobody could keep what is given out then; the problem alone would have, without "
        "capacity[slow-0], choose[language,3] 1 in place of 0"
    ), "as the page says of the row when it is switched off"


def test_the_v100_that_stands_idle_at_45_min() -> None:
    found = first_scene()
    assert (found.job, found.asked, found.accelerator) == ("", "vision", "v100")
    assert found.summary.startswith(
        "fast-0/1 (v100) is idle at 45 min: vision needs 2 GPUs of v100 at once, and 1 is left. "
        "Meanwhile game runs on slow-0 (k80), as it had had nothing of its share of k80 since 30 min, when shares "
        "were computed anew, so its turn came there first; "
        "translation runs on fast-0 (v100). Decisive: no job falls below the common level t (vision): with that row "
        "taken away and the shares of time of 30 min computed again, vision would have no GPU, and "
        "translation would have fast-0/1 (v100)."
    )
    assert [link.step for link in found.links] == ["rows", *LINKS[FAIR]]
    told = found.links[0].text.partition("Decisive: ")[2]
    assert told.startswith(
        "epigraph[vision] (no job falls below the common level t): taken away from 30 min on, and the problem solved"
    )
    assert "; no run can do without capacity[v100], job_time[game] and job_time[translation] (binding, not d" in told
    facts = {fact.name: fact.value for link in found.links for fact in link.facts}
    assert facts["share of game on k80"] == pytest.approx(1 / 3)
    assert facts["priority of game on k80"] == np.inf
    assert facts["priority of vision on v100"] == pytest.approx(1.0)
    assert (facts["v100 left"], facts["gang of vision, which waits"]) == (1.0, 2.0)
    assert found.solves <= 12
    assert {*found.causes} == {"epigraph[vision]", "epigraph[translation]"}, "without game's two slots are swapped"
    swapped = workbench.chain(run_of(FAIR), "fast-0/1", 4064.6)  # each row that is tried swaps two slots of fast-0
    assert swapped.causes == () and swapped.summary.endswith("No single row is decisive.")


def test_what_would_make_it_run_is_where_it_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A little above the weight that is named, which was tried itself, vision is there, a little below it is not."""
    shown, tried = decided_anew.shown_with, set()

    def noted(since: int, job: str, name: str, factor: float):
        tried.add(factor)
        return shown(since, job, name, factor)

    monkeypatch.setattr(decided_anew, "shown_with", noted)
    found = workbench.chain(run_of(FAIR), "fast-0/1", 2700.0)
    assert found.weight in tried
    assert found.otherwise == (
        "vision would have both v100 then with a weight of 1.96 in place of 1, found by trying, from the decision of "
        "30 min on, all before as it was; in the whole run it may come out otherwise."
    )
    lower = workbench.chain(run_of(FAIR), "slow-0/0", 2160.0, job="game").otherwise
    assert "would have slow-0/0 then with a weight of 0.441 in place of 1" in lower
    assert "as it was, as its shares of time would be 0.0414 on v100 and 0.959 on k80, not 0.667 on v1" in lower
    for weight, there in ((2.0, True), (1.9, False)):

        def see(number, snapshot, weight=weight):
            row = snapshot.jobs.at.get("vision")
            if snapshot.now_s < 1800 or row is None:
                return snapshot
            weights = snapshot.jobs.weight.copy()
            weights[row] = weight
            return replace(snapshot, jobs=replace(snapshot.jobs, weight=weights))

        again = replay(run_of(FAIR), 2700.0, see=see).run
        assert (SlotAtTime(again, "fast-0/1", 2700.0).job == "vision") is there


def test_the_price_at_which_it_would_run_is_the_one_by_hand() -> None:
    """Both are worth 1, and pay for 10 and 11 rounds of the GPU: with 10/11 of the price they are even."""
    run = workbench.simulate(make([{"steps": 3600.0}, {"steps": 3960.0}]), "hadar", utility="count")
    found = workbench.chain(run, "n-0/0", 100.0)
    assert (found.job, found.asked) == ("j0", "j1")
    said, part = found.otherwise.split(" to pay only ")
    since = " from the decision of 0 s on, all before as it was."
    assert said == "j1 would have n-0/0 then had it" and part.endswith(f" % of the price{since}")
    assert float(part.split()[0]) == pytest.approx(100 * 10 / 11, rel=0.01) and found.solves <= 12


def test_a_cause_is_tried_by_another_way() -> None:
    """Without epigraph[vision] each of two optima of the rest, by hand, puts somebody on the idle V100; no run can
    do without capacity[v100], as any optimum of the rest gives out more V100s than there are."""
    row = next(row for row in first_scene().rows if row.row == "epigraph[vision]")
    assert (row.verdict, row.what) == ("cause", "without it") and row.then
    owner = workbench.find_scheduler(FAIR)
    # game alone on a V100 all of the time has 1.2, which nobody needs to be below
    for vision, translation in ((0.0, 1.0), (0.07, 0.86)):
        shares = np.array([[vision, 0.0], [1.0, 0.0], [translation, 0.0]])

        def policy(snapshot, knobs, memory, shares=shares):
            kept = [["vision", "game", "translation"].index(name) for name in snapshot.jobs.names]
            return PolicyAnswer(Shares(snapshot.jobs.names, snapshot.types, shares[kept]))

        other = type(owner)(FAIR, "by hand", policy)
        again = replay(run_of(FAIR), 2700.0, choose=lambda number, other=other: owner if number < 4 else other).run
        assert SlotAtTime(again, "fast-0/1", 2700.0).job


def test_a_row_that_changes_nothing_is_not_decisive() -> None:
    found = workbench.chain(run_of(FAIR), "slow-0/0", 45 * 60)
    verdicts = {row.row: row.verdict for row in found.rows}
    assert verdicts["epigraph[game]"] == "binding, not decisive"
    assert "epigraph[game]" not in found.causes and found.job == "game"
    text = next(link.text for link in found.links if link.step == "rows")
    assert "without epigraph[game] all can stay as it is (binding, not decisive)" in text
    two = workbench.load("preset:start_here").to_dict()
    next(node for node in two["cluster"]["nodes"] if node["name"] == "slow")["count"] = 2
    like_slow = workbench.simulate(workbench.Scenario.from_dict(two), FAIR)
    swapped = module.decisive_row(like_slow, "game", 2340.0)
    assert swapped is not None and {row.row: row.verdict for row in swapped.rows}["epigraph[game]"] != "cause"


@pytest.mark.parametrize("scheduler", sorted(LINKS))
def test_links_of_every_scheduler(scheduler: str) -> None:
    run = run_of(scheduler)
    for gpu in ("fast-0/1", "slow-0/0"):
        found = workbench.chain(run, gpu, 2700.0, again=False)
        assert tuple(link.step for link in found.links) == LINKS[scheduler]
        assert all(link.text and link.facts for link in found.links if link.step not in ("promise", "lease"))
        json.dumps(found.as_json(), allow_nan=False)


def test_numbers_of_a_link_say_of_what_and_of_when_they_are() -> None:
    """Of four rounds that units had on v100 since 30 min game had one; Hops's plan of 5 min left vision out, which has
    a GPU since a later one; Chronus last told what vision has left at 2 h 20 min."""
    rank = workbench.chain(run_of(FAIR), "slow-0/0", 3231.0, again=False).links[1]
    assert rank.text.startswith(
        "Rank in the round of 48 min, larger first, share of time / its part of the time given out on the type so far: "
        "1. game on v100: 2.67 (0.667 / 0.25); "
    )
    hops = workbench.chain(workbench.simulate("preset:hops_example", "hops"), "fast-0/1", 514.1, again=False)
    assert hops.links[0].text == (
        "(11) gain (0: not chosen) x weight W_i in the plan of 5 min: language 1 x 0.01; images 1 x 0.01; "
        "vision 0 x 0.01."
    )
    assert "vision 1, 0 of 4 left" in hops.links[1].text
    lease = workbench.chain(run_of("chronus"), "fast-0/0", 9175.9, again=False).links[1]
    assert lease.text.startswith("Its leases: remaining run time at 2 h 20 min: 54 min. What decided: ")
    assert [tuple(fact) for fact in lease.facts] == [("remaining run time at 2 h 20 min", pytest.approx(3240.0), "s")]


@pytest.mark.parametrize("knobs", [{}, {"pick": "by_type"}, {"priority_over": "rounds_of_job"}])
def test_ranks_are_in_the_order_of_choice(knobs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """That in which Algorithm 1 goes through them, ties included; what decided a tie is said."""
    chosen, in_order = dict[int, list[str]](), picking._in_order

    def noted(memory, priority, order, knobs):
        found = in_order(memory, priority, order, knobs)
        known = zip(*found, strict=True)
        plan = memory.plan
        queue = [f"{plan.units[unit]} on {plan.types[kind]}" for unit, kind in known if priority[unit, kind] > 0]
        chosen[memory.rounds] = queue
        return found

    monkeypatch.setattr(picking, "_in_order", noted)
    run, asked = workbench.simulate("preset:start_here", FAIR, **knobs), 0
    for decision, at in run.decisions.set_index("decision")["time_s"].iloc[::2].items():
        for link in workbench.chain(run, "fast-0/0", at + 1.0, again=False).links:
            if link.step == "rank":
                assert [fact.name.removeprefix("priority of ") for fact in link.facts] == chosen[decision]
                asked += 1
    assert asked >= 10
    if not knobs:
        text = workbench.chain(run, "fast-0/0", 3554.5, again=False).links[1].text
        assert (
            "1. game on v100: 2 (0.667 / 0.333); 2. vision on v100: 2 (0.333 / 0.167), behind the one before: " in text
        )
        assert "by 30 min that one had 6 min less than its share of v100, this one had 1 min 12 s less than" in text
        assert text.endswith("that one was owed nothing of k80, this one had 6 min more than its share.")


def test_hadars_prices_and_payoffs_add_up() -> None:
    """Both of the time when a job was chosen; prices once all were, which nobody paid, stand behind the choice."""
    run = workbench.simulate("preset:hadar_example", "hadar")
    price, payoff, choice = workbench.chain(run, "v100-0/1", 455.4, again=False).links
    utility = {"J1": 28.0, "J2": 29.0, "J3": 26.0}
    for (_, paid, _), (name, worth, _) in zip(price.facts, payoff.facts, strict=True):
        assert paid + worth == pytest.approx(utility[name.removeprefix("payoff of ")])
    assert "J1 28 - 0.0275 = 27.9725" in payoff.text and "once all were chosen" in choice.text


def test_hares_chain_has_the_time_that_a_task_takes() -> None:
    run = run_of("hare")
    bar = next(bar for bar in run.timeline.itertuples() if bar.kind == "run")
    found = workbench.chain(run, f"{bar.node}/{bar.slot}", (bar.start_s + bar.end_s) / 2, again=False)
    facts = {fact.name: fact.value for link in found.links for fact in link.facts}
    assert facts[f"T^c of {bar.job} on {bar.accelerator}"] == pytest.approx(bar.end_s - bar.start_s)
    idle = workbench.chain(workbench.simulate("preset:hare_example", "hare"), "node2-0/0", 3.24, again=False).summary
    # a task takes 2 s there, which was free from 2.5 s on
    assert (
        "none of its tasks is left to begin; task J2 #0.1 would end there at 4.5 s at the soonest, not at 4 s; task J2 "
        in idle
    )
    assert idle.endswith("J2 #0.0 would end there at 4.5 s at the soonest, not at 3.5 s.")
    slower = workbench.chain(workbench.simulate("preset:hops_example", "hare"), "slow-0/0", 600.0, again=False)
    assert any("T^c, in s, on nodes of speed 1: " in link.text for link in slower.links)


@pytest.mark.parametrize("scheduler", ["hadar", "hare", "chronus"])
def test_what_would_make_it_run_is_asked_twelve_times_at_most(scheduler: str, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(decided_anew, "replay", lambda *args, **more: asked.append(more) or replay(*args, **more))
    found = workbench.chain(run_of(scheduler), "slow-0/0", 2700.0)
    assert found.solves == len(asked) - 1 <= 12  # the first is the run itself
    tried = {"hadar": "1, 50 or 90 % of its price; ", "hare": "% of its steps left", "chronus": "times its wait"}
    assert found.brings or tried[scheduler] in found.otherwise


def test_less_or_more_of_a_weight_may_bring_a_job() -> None:
    """By runs of changed scenarios: job 0 is there with a weight of 1.3 and not with 1 or 1.7, game with any below."""
    run = workbench.simulate("preset:gavel_example", FAIR, until_s=12000.0)
    found = workbench.chain(run, "v100-0/0", 11642.6)
    assert (found.asked, found.brings) == ("job 0", True) and found.solves <= 12
    less = workbench.chain(run_of(FAIR), "slow-0/0", 3415.0)
    assert (less.asked, less.brings) == ("game", True) and less.weight is not None and less.weight < 1


def test_a_cause_is_one_whichever_best_answer_is_taken() -> None:
    """With nobody to ask for game's least, of several best answers the nearest to the old one gives it the K80, and
    the solver's does not."""
    found = workbench.chain(run_of(FAIR), "slow-0/0", 5179.6)
    assert {row.row: row.verdict for row in found.rows}["epigraph[game]"] == "binding, not decisive"


def test_rows_of_a_new_model_that_no_run_can_do_without_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    @workbench.formulation("all_of_it", mechanism="shares")
    def all_of_it(snapshot):
        """As much of the time of all as there is."""
        m = pyo.ConcreteModel()
        m.share = pyo.Var(snapshot.jobs.names, snapshot.types, bounds=(0, 1))
        m.most = pyo.Objective(expr=sum(m.share.values()), sense=pyo.maximize)
        m.time = pyo.Constraint(snapshot.jobs.names, rule=lambda m, job: sum(m.share[job, :]) <= 1)
        gangs = dict(zip(snapshot.jobs.names, snapshot.jobs.gpus.tolist(), strict=True))
        limits = dict(zip(snapshot.types, snapshot.capacity.tolist(), strict=True))
        m.gpus = pyo.Constraint(
            snapshot.types, rule=lambda m, kind: sum(n * m.share[job, kind] for job, n in gangs.items()) <= limits[kind]
        )
        return m

    run = workbench.simulate("preset:start_here", "all_of_it", until_s=4000.0)
    verdicts = {row.row: (row.verdict, row.what) for row in workbench.chain(run, "fast-0/0", 3000.0).rows}
    assert verdicts["time[game]"] == ("binding, not decisive", decided_anew.UNKEPT)
    assert not any("not tried" in said for said in verdicts.values())
    for each in (module, decided_anew):
        monkeypatch.setattr(each, "MOST_ROWS", 0)
    none = workbench.chain(run, "fast-0/0", 3000.0)
    assert {(row.verdict, row.what) for row in none.rows} == {("binding, not decisive", "not tried")}
    assert {fact.value for fact in none.links[0].facts} == {"binding, not decisive as far as is known: not tried"}


def test_deadlines_are_asked_of_who_is_told_them_and_only_no_answer_counts_as_none(monkeypatch) -> None:
    """One GPU, leases of 1200 s, the first two promised: then the shorter job goes before one whose deadline was too
    early for a promise. Due at 6000 s, 5.94 times as far off, that one has leases 3 to 5."""
    jobs = [
        {"name": "one", "steps": 2400.0, "rewards": [[2400.0, 10.0]]},
        {"name": "three", "steps": 1200.0, "arrival_s": 50.0},
        {"name": "two", "steps": 3600.0, "arrival_s": 60.0, "rewards": [[1000.0, 10.0]]},
    ]
    run = workbench.simulate(make(jobs), "chronus", {"slo_lease_s": 1200, "profile": False})
    found = workbench.chain(run, "n-0/0", 2700.0)
    assert (found.job, found.asked) == ("three", "two") and found.solves <= 12
    assert found.otherwise.startswith("two would have n-0/0 then had it come with deadlines 5.9")

    def broken(*given, **more):
        if more.get("see") is not None:
            raise InputError("snapshot", 3, "another")
        return replay(*given, **more)

    monkeypatch.setattr(decided_anew, "replay", broken)
    with pytest.raises(InputError, match="snapshot"):
        workbench.chain(run, "n-0/0", 2700.0)


def test_rows_of_a_run_that_was_made_otherwise_are_tried() -> None:
    """Equal jobs are merged by the default route, which ends at another vertex than the model: the nearest is taken."""
    scenario = make([{"steps": 3600.0} for _ in range(60)], gpus=20)
    run = workbench.simulate(scenario, FAIR, until_s=2000.0)
    found = workbench.chain(run, "n-0/3", 1000.0)
    assert {row.verdict for row in found.rows[: decided_anew.MOST_ROWS]} <= TRIED
    assert "None was tried" not in found.links[0].text


def test_rows_and_waits_of_hops_are_tried() -> None:
    """No run can keep two configurations of translation, of an own model neither; vision's longer wait would count."""
    workbench.formulation("mine", base="hops.round")(lambda m, data: None)
    own = workbench.chain(workbench.simulate("preset:start_here", "mine"), "fast-0/0", 2500.0)
    found = workbench.chain(run_of("hops"), "fast-0/0", 2500.0)
    for each in (found, own):
        assert (each.job, each.causes) == ("translation", ())
        assert (each.rows[0].row, each.rows[0].what) == ("one_configuration[translation]", decided_anew.UNKEPT)
    workbench.formulation("mine", base="hadar.round")(lambda m, data: None)
    hadars = workbench.chain(workbench.simulate("preset:hadar_example", "mine", until_s=200.0), "v100-0/0", 100.0)
    assert {row.row: row.what for row in hadars.rows}["capacity[v100]"] == decided_anew.UNKEPT
    assert found.otherwise.startswith("vision would have both v100 then had it waited 1 h 2 min in place of 5 min")
    still = workbench.chain(run_of("hops"), "fast-0/0", 950.0)
    assert {row.verdict for row in still.rows} <= TRIED - {"cause"}


def test_who_has_it_is_who_the_timeline_says() -> None:
    for scheduler in (FAIR, "hadar", "hare"):
        run = run_of(scheduler)
        rows = run.timeline[run.timeline["kind"] == "run"]
        for time_s in np.linspace(0, run.end_s - 1, 12):
            now = rows[(rows["start_s"] <= time_s) & (rows["end_s"] > time_s)]
            held = {f"{node}/{slot}": job for node, slot, job in zip(now["node"], now["slot"], now["job"], strict=True)}
            for gpu in ("fast-0/0", "fast-0/1", "slow-0/0"):
                found = workbench.chain(run, gpu, float(time_s), again=False)
                assert found.job == held.get(gpu, "")
                assert found.summary.startswith(f"{gpu} ({found.accelerator}) {'has' if found.job else 'is idle'}")
                if not found.job and found.asked:
                    waits = JobAtTime(run, found.asked, float(time_s)).state == "waiting"
                    assert waits == ("no job waits" not in found.summary)


def test_a_gpu_that_was_left_within_a_round_is_idle_until_the_next() -> None:
    run = workbench.simulate("preset:hadar_lab", "hadare")
    left = workbench.chain(run, "rtx3090-0/0", 789.0, again=False).summary
    assert "LT-2 waits: GPUs became free after the last decision, at 12 min; the scheduler is asked next at 18 " in left
    alone = workbench.chain(workbench.simulate("preset:gavel_example", FAIR), "k80-0/0", 14442.0, again=False).summary
    assert alone.startswith("k80-0/0 (k80) is idle at 4 h 42 s: no job waits; job 0 runs on v100-0")


def test_a_run_made_again_is_the_run() -> None:
    run = run_of(FAIR)
    again = replay(run, 2700.0)
    for gpu in ("fast-0/0", "fast-0/1", "slow-0/0"):
        assert SlotAtTime(again.run, gpu, 2700.0).unit == SlotAtTime(run, gpu, 2700.0).unit
    assert again.solved is not None and again.solved.number == 4 and again.since == 4


@pytest.mark.parametrize(
    ("scheduler", "gpu", "at", "causes"),
    [
        ("gavel.finish_time_fairness", "slow-0/0", 2340.0, {"finish_time[game]"}),
        ("allox", "fast-0/0", 3600.0, {"places[v100,1]"}),
        ("isolated", "slow-0/0", 2700.0, {"proportions[game,v100]"}),
        ("three_sigma", "fast-0/1", 2700.0, set()),
    ],
)
def test_rows_are_tried_whatever_way_the_optimum_was_found(
    scheduler: str, gpu: str, at: float, causes: set[str]
) -> None:
    """Several programmes in turn, a matching, a closed form, an assembly: the stated rows are tried all the same."""
    found = workbench.chain(run_of(scheduler), gpu, at)
    assert found.rows and {row.verdict for row in found.rows} <= TRIED
    assert causes <= set(found.causes) if causes else not found.causes


def test_a_gpu_of_a_node_that_is_down_and_one_that_nobody_can_use() -> None:
    scenario = workbench.preset("start_here")
    core = {"faults": {"list": [{"node": "slow-0", "from_s": 600.0, "to_s": 1200.0}]}}
    run = workbench.simulate(workbench.Scenario.from_dict({**scenario.to_dict(), "core": core}), FAIR)
    assert workbench.chain(run, "slow-0/0", 900.0).summary == "slow-0/0 (k80) is down at 15 min."
    end = workbench.chain(run_of(FAIR), "slow-0/0", 100.0)
    assert end.asked == "" and end.summary.endswith("alone.")


def test_bad_questions_are_told() -> None:
    run = run_of(FAIR)
    with pytest.raises(InputError, match=r"gpu: got 'fast-0/2'; expected one of fast-0/0.*did you mean"):
        workbench.chain(run, "fast-0/2", 2700.0)
    with pytest.raises(InputError, match="seconds from 0"):
        workbench.chain(run, "fast-0/1", 1e9)
    with pytest.raises(InputError, match=r"job: got 'translatio'.*did you mean translation"):
        workbench.chain(run, "fast-0/1", 2700.0, job="translatio")
    with pytest.raises(InputError, match="belief"):
        workbench.chain(run, "fast-0/1", 2700.0, belief="oracle")


def test_names_are_text_on_the_screen() -> None:
    found = replace(first_scene(), summary="<b>x</b>", otherwise="<i>")
    assert "<b>" not in found._repr_html_() and "<i>" not in found._repr_html_()


def test_who_waits_beside_a_free_gpu_with_room_for_it_is_told_with_the_reason(monkeypatch) -> None:
    run = workbench.simulate("preset:chronus_small", "chronus")
    said = workbench.chain(run, "node-1/2", at=4000, again=False).summary
    assert "rush waits: every new job is profiled first, on the profiling cluster" in said, "with room for it too"
    assert "tune waits likewise" in said and "at once" not in said
    for whys, end in (("xyx", "tune waits: y; try-out waits: x."), ("yxx", "tune waits: x; try-out waits likewise.")):
        each = iter(whys)
        monkeypatch.setattr(module, "_why_not", lambda slot, name, _, each=each: f"{name} waits: {next(each)}")
        assert workbench.chain(run, "node-1/2", at=4000, again=False).summary.endswith(end), "as the one right before"


def test_in_a_decision_who_waits_has_the_reason_that_was_given_last() -> None:
    """Reasons are recorded where they change; one for waiting is not told of who has GPUs now."""
    turns = next(each for each in one_decision(workbench.simulate("preset:hops_example", "hops"), 1082.8).links
                 if each.step == "turns")  # fmt: skip
    assert "images gets slow-0 x 2; " in turns.text and "language waits (it could be chosen, but " in turns.text
    profiled = one_decision(workbench.simulate("preset:chronus_small", "chronus"), 4920)
    assert any(each.step == "turns" and "rush waits." in each.text for each in profiled.links), "was profiled before"
    las = one_decision(workbench.simulate("preset:start_here", "las", detail=1), 1800)
    assert any(each.step == "turns" and "vision waits." in each.text for each in las.links), "reasons of 0 s alone"
