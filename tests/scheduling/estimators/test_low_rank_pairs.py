"""Gavel's estimator of pairs: completion, fingerprints, what it learns, and what a run with it comes to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pytest import approx

import workbench
from tests.baselines.mechanisms.support import make
from workbench.base.errors import InputError
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.synthetic import generate
from workbench.scheduling.estimators.by_name import ESTIMATORS, maker
from workbench.scheduling.estimators.low_rank_pairs import LowRank, factorise
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.estimators.speed_error import pair_errors
from workbench.scheduling.snapshot import LearningBelief, Observation

JOBS = {name: Job(name=name, model=name, steps=1) for name in "abcd"}


def shared(scenario: Scenario) -> Scenario:
    """The scenario with GPUs that may be shared."""
    return Scenario.from_dict({**scenario.to_dict(), "core": {"space_sharing": True}})


@pytest.fixture(scope="module")
def built_in() -> Scenario:
    """26 models on three types with the built-in speeds of pairs."""
    return shared(generate("v100=1x4,p100=1x4,k80=1x4", 50, seed=3, arrivals="poisson", mean_gap_s=4000.0))


def four_models(busy: dict[str, float], **more: Any) -> Scenario:
    """Models on one type, alone at 10 steps/s; beside another one each keeps 1 - busy of it."""
    pairs = [
        {"model": one, "with_model": two, "accelerator": "t"}
        | {"steps_per_s": 10 * (1 - busy[two]), "with_steps_per_s": 10 * (1 - busy[one])}
        for one in busy
        for two in busy
        if one <= two
    ]
    jobs = [{"name": name, "model": name, "steps": 10_000} for name in busy]
    rows = [{"model": name, "accelerator": "t", "steps_per_s": 10} for name in busy]
    data = make({"n": ("t", 1)}, []).to_dict()
    return Scenario.from_dict(
        {**data, "jobs": jobs, "throughputs": rows, "colocated": pairs, "core": {"space_sharing": True}, **more}
    )


# --- completion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_matrix_of_low_rank_is_found_again_from_most_of_its_entries(seed: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    true = 1.0 + rng.normal(size=(40, rank)) @ rng.normal(size=(rank, 30))
    known = rng.random(true.shape) < 0.7
    found = factorise(true, known, rank + 1).complete(true, known)
    assert (found[known] == true[known]).all()
    apart = np.sqrt(np.mean((found - true)[~known] ** 2))
    of_mean = np.sqrt(np.mean((true.mean(axis=0) - true)[~known] ** 2))
    assert apart < 0.4 * of_mean


def test_a_full_matrix_is_left_alone_and_an_unknown_row_becomes_the_mean() -> None:
    values = np.array([[1.0, 2.0], [3.0, 6.0]])
    factors = factorise(values, np.ones((2, 2), dtype=bool), 1)
    assert factors.complete(values, np.ones((2, 2), dtype=bool)).tolist() == values.tolist()
    assert factors.complete(np.zeros((1, 2)), np.zeros((1, 2), dtype=bool))[0].tolist() == approx([2.0, 4.0])


def test_a_gap_of_a_matrix_of_rank_one_is_filled_by_hand() -> None:
    """Rows are multiples of (1, 2, 3), from -1 to 1; the first one's third entry must be -3, but for the ridge."""
    values = np.outer(np.linspace(-1.0, 1.0, 41), [1.0, 2.0, 3.0])
    known = np.ones(values.shape, dtype=bool)
    known[0, 2] = False
    assert factorise(values, known, 1).complete(values, known)[0, 2] == approx(-3.0, rel=0.02)


# --- estimates --------------------------------------------------------------------------------------------------------


def test_all_pairs_profiled_are_the_true_speeds(built_in: Scenario) -> None:
    assert pair_errors(built_in, LowRank(built_in, profiled=1.0)).mean() == approx(0.0, abs=1e-12)
    assert pair_errors(built_in, Oracle(built_in)).mean() == 0.0


def test_the_error_shrinks_with_what_is_profiled(built_in: Scenario) -> None:
    """From nothing, where each job is like the most average one, to everything; the mean over five draws."""
    parts = (0.0, 0.05, 0.25, 0.5, 1.0)
    errors = [
        np.mean([pair_errors(built_in, LowRank(built_in, part, seed=n)).mean() for n in range(5)]) for part in parts
    ]
    assert errors == sorted(errors, reverse=True) and errors[0] > 0.05 and errors[2] < 0.2 * errors[0]


def test_speeds_alone_are_known(built_in: Scenario) -> None:
    view = workbench.snapshot_at(built_in).jobs
    assert (LowRank(built_in, profiled=0.0).speeds(view) == Oracle(built_in).speeds(view)).all()


def test_a_job_that_was_never_a_reference_is_taken_for_one_like_it() -> None:
    """c behaves like a and d like b; with two references drawn, everybody is taken for the one like it or itself."""
    scenario = four_models({"a": 0.1, "b": 0.6, "c": 0.1, "d": 0.6})
    likes = {"a": {"a", "c"}, "c": {"a", "c"}, "b": {"b", "d"}, "d": {"b", "d"}}
    seen = set()
    for seed in range(20):
        belief = LowRank(scenario, profiled=1.0, references=2, seed=seed)
        drawn = {belief.reference(name) for name in likes}
        if len(drawn) == 2 and all(belief.reference(name) in likes[name] for name in likes):
            seen.add(frozenset(drawn))
            assert belief.pair(JOBS["c"], JOBS["d"], "t") == approx((4.0, 9.0))
    assert len(seen) >= 2


def test_a_pair_and_its_mirror_image_agree(built_in: Scenario) -> None:
    belief = LowRank(built_in, profiled=0.1)
    for row in built_in.colocated[::37]:
        one, two = (Job(name=name, model=name, steps=1) for name in (row.model, row.with_model))
        found, mirrored = belief.pair(one, two, row.accelerator), belief.pair(two, one, row.accelerator)
        assert found is not None and mirrored is not None
        assert found == approx(mirrored[::-1], rel=1e-12)


def test_who_may_not_share_is_known() -> None:
    scenario = four_models({"a": 0.1, "b": 0.6, "c": 0.1})
    rows = [row for row in scenario.to_dict()["colocated"] if (row["model"], row["with_model"]) != ("a", "b")]
    rows[0]["steps_per_s"] = rows[0]["with_steps_per_s"] = 0.0
    belief = LowRank(Scenario.from_dict({**scenario.to_dict(), "colocated": rows}))
    assert belief.pair(JOBS["a"], JOBS["b"], "t") is None and belief.pair(JOBS["b"], JOBS["a"], "t") is None
    assert belief.pair(JOBS["a"], JOBS["a"], "t") == (0.0, 0.0)
    assert belief.pair(JOBS["a"], JOBS["c"], "t") is not None


def test_the_order_of_questions_and_other_beliefs_change_nothing(built_in: Scenario) -> None:
    rows = built_in.colocated[::53]

    def ask(order: int) -> dict[tuple[str, str, str], Any]:
        belief = LowRank(built_in, profiled=0.1, seed=4)
        return {
            (row.model, row.with_model, row.accelerator): belief.pair(
                Job(name="x", model=row.model, steps=1), Job(name="y", model=row.with_model, steps=1), row.accelerator
            )
            for row in rows[::order]
        }

    assert ask(1) == ask(-1)


def test_unconsolidated_rows_of_pairs_are_estimated_as_such() -> None:
    scenario = four_models({"a": 0.1, "b": 0.6})
    data = scenario.to_dict()
    spread = [{**row, "placement": "unconsolidated", "steps_per_s": 1.0} for row in data["colocated"]]
    belief = LowRank(Scenario.from_dict({**data, "colocated": [*data["colocated"], *spread[1:2]]}), profiled=1.0)
    assert belief.pair(JOBS["a"], JOBS["b"], "t") == approx((4.0, 9.0))
    assert belief.pair(JOBS["a"], JOBS["b"], "t", "unconsolidated") == approx((1.0, 9.0))
    assert belief.pair(JOBS["a"], JOBS["a"], "t", "unconsolidated") == approx((9.0, 9.0))


# --- learning ---------------------------------------------------------------------------------------------------------


def test_what_is_measured_replaces_the_estimate_of_that_pair_only() -> None:
    scenario = four_models({"a": 0.1, "b": 0.6, "c": 0.3, "d": 0.5})
    belief = LowRank(scenario, profiled=0.0)
    before = {name: belief.pair(JOBS["a"], JOBS[name], "t") for name in "abcd"}
    unit, gpus = ("a", "b"), {"n-0": 1}
    belief.learn([Observation("a", unit, gpus, 4.0, 60.0), Observation("b", unit, gpus, 9.0, 60.0)])
    assert belief.pair(JOBS["a"], JOBS["b"], "t") == approx((4.0, 9.0))
    assert belief.pair(JOBS["b"], JOBS["a"], "t") == approx((9.0, 4.0))
    assert {name: belief.pair(JOBS["a"], JOBS[name], "t") for name in "acd"} == {name: before[name] for name in "acd"}
    belief.learn([Observation("a", unit, gpus, 1.0, 30.0)])
    assert belief.pair(JOBS["a"], JOBS["b"], "t") == approx((3.0, 9.0)), "the mean over 60 s and 30 s"


def test_what_is_measured_on_a_slow_node_is_put_right_once_a_job_ran_alone_there() -> None:
    """a beside b at 2 steps/s on a node that turns out to be half as fast, and at 5 on another: 4 for 60 s, 5 for 20 s.

    So it does not matter which was measured first, and pairs on other nodes stay as they are.
    """
    data = four_models({"a": 0.1, "b": 0.6}).to_dict()
    data["cluster"]["nodes"] = [{"name": "n", "accelerator": "t", "gpus": 1, "count": 2}]
    unit = ("a", "b")
    pairs = [Observation("a", unit, {"n-0": 1}, 2.0, 60.0), Observation("a", unit, {"n-1": 1}, 5.0, 20.0)]
    alone = [Observation("b", "b", {"n-0": 1}, 5.0, 30.0)]
    for first, second in ((pairs, alone), (alone, pairs)):
        belief = LowRank(Scenario.from_dict(data), profiled=1.0)
        belief.learn(first)
        found = belief.pair(JOBS["a"], JOBS["b"], "t")
        assert found is not None and found[0] == approx(2.75 if first is pairs else 4.0)
        belief.learn(second)
        assert belief.pair(JOBS["a"], JOBS["b"], "t") == approx(((4 * 60 + 5 * 20) / 80, 9.0))


def test_on_slow_nodes_pairs_that_gain_are_split_for_no_more_than_a_few_rounds() -> None:
    """Two nodes at half the speed, four jobs of 4000 steps at 1 step/s; pairs at 0.8, so 4000 / 0.4 = 10,000 s."""
    rows = [{"model": name, "accelerator": "t", "steps_per_s": 1} for name in "ab"]
    pair = {"model": "a", "with_model": "b", "accelerator": "t", "steps_per_s": 0.8, "with_steps_per_s": 0.8}
    data = {
        "jobs": [{"name": f"j{i}", "model": "ab"[i % 2], "steps": 4000} for i in range(4)],
        "cluster": {
            "accelerators": [{"name": "t"}],
            "nodes": [{"name": "n", "accelerator": "t", "gpus": 1, "count": 2, "speed": 0.5}],
        },
        "throughputs": rows,
        "colocated": [pair],
        "core": {"space_sharing": True},
    }
    scenario, options = Scenario.from_dict(data), {"space_sharing": True, "round_s": 100, "refresh_s": 100.0}
    oracle = workbench.simulate(scenario, "gavel.max_min_fairness", **options)
    learning = workbench.simulate(scenario, "gavel.max_min_fairness", **options, belief="low_rank")
    assert oracle.jobs["finish_s"].tolist() == approx([10_000] * 4)
    assert 10_000 <= learning.jobs["finish_s"].max() <= 10_200


def test_single_jobs_and_copies_teach_nothing_of_pairs() -> None:
    scenario = four_models({"a": 0.1, "b": 0.6})
    belief = LowRank(scenario, profiled=0.0)
    before = belief.pair(JOBS["a"], JOBS["b"], "t")
    belief.learn([Observation("a", "a", {"n-0": 1}, 5.0, 9.0), Observation("a", ("a", 1), {"n-0": 1}, 5.0, 9.0)])
    assert belief.pair(JOBS["a"], JOBS["b"], "t") == before


def test_the_error_shrinks_in_a_run_and_the_core_is_what_teaches(built_in: Scenario) -> None:
    made: list[LowRank] = []

    def poor(scenario: Scenario) -> LowRank:
        made.append(LowRank(scenario, profiled=0.05, rank=1, references=5))
        return made[-1]

    before = pair_errors(built_in, poor(built_in)).mean()
    run = workbench.simulate(built_in, "gavel.max_min_fairness", space_sharing=True, belief=poor, detail=0)
    assert run.jobs["finish_s"].notna().all()
    assert pair_errors(built_in, made[-1]).mean() < 0.95 * before


def test_estimates_come_near_the_true_speeds_in_mean_jct(built_in: Scenario) -> None:
    """Fig. 14: sharing with estimates is within 5 % of sharing with the true speeds, and better than not sharing."""
    crowded = shared(generate("v100=1x2,p100=1x2,k80=1x2", 24, seed=2, arrivals="poisson", mean_gap_s=5000.0))

    def jct(**options: Any) -> float:
        run = workbench.simulate(crowded, "gavel.max_min_fairness", detail=0, **options)
        return float(workbench.summary(run)["mean_jct_s"])

    alone, oracle = jct(), jct(space_sharing=True)
    estimated = jct(space_sharing=True, belief="low_rank")
    assert oracle < 0.97 * alone
    assert estimated == approx(oracle, rel=0.05) and estimated < alone


# --- names and bad input ----------------------------------------------------------------------------------------------


def test_estimators_have_names(built_in: Scenario) -> None:
    assert [estimator.name for estimator in ESTIMATORS] == [
        "oracle",
        "nodes",
        "noisy",
        "low_rank",
        "scaled",
        "pmi",
        "layered",
    ]
    assert isinstance(maker("oracle")(built_in), Oracle) and not isinstance(maker("oracle")(built_in), LearningBelief)
    made = maker("low_rank: profiled=0.5, references=7, seed=2")(built_in)
    assert isinstance(made, LowRank) and isinstance(made, LearningBelief)
    assert (
        pair_errors(built_in, made).mean() == pair_errors(built_in, LowRank(built_in, 0.5, references=7, seed=2)).mean()
    )
    errors = [pair_errors(built_in, maker("low_rank:references=7")(built_in, seed)).mean() for seed in (1, 2, 2)]
    assert errors[0] != errors[1] == errors[2] and maker("low_rank").draws  # others for each seed of a run


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("nobody", "belief"),
        ("oracle:rank=2", "knobs of belief oracle"),
        ("low_rank:rank=0", "knob rank"),
        ("low_rank:profiled", "belief"),
        ("low_rank:rank=2,rank=3", "belief"),
        ("low_rank:profiled=1.5", "knob profiled"),
    ],
)
def test_names_and_knobs_that_there_are_not(text: str, where: str) -> None:
    with pytest.raises(InputError) as error:
        workbench.simulate("preset:start_here", "fifo", belief=text)
    assert error.value.where == where


def test_an_estimator_that_learns_is_made_for_each_run(built_in: Scenario) -> None:
    with pytest.raises(InputError, match="each run has its own"):
        workbench.simulate(built_in, "fifo", belief=LowRank(built_in))


def test_a_pair_of_models_without_a_speed_alone_is_named() -> None:
    data = four_models({"a": 0.1, "b": 0.6}).to_dict()
    data["throughputs"] = [{**row, "steps_per_s": 0.0 if row["model"] == "b" else 10.0} for row in data["throughputs"]]
    belief = LowRank(Scenario.from_dict(data))
    with pytest.raises(InputError, match="b alone, 1 GPUs of t"):
        belief.pair(JOBS["a"], JOBS["b"], "t")


def test_pairs_on_a_type_of_which_there_is_no_node_play_no_part() -> None:
    data = four_models({"a": 0.1, "b": 0.6}).to_dict()
    alone = LowRank(Scenario.from_dict(data)).pair(JOBS["a"], JOBS["b"], "t")
    data["cluster"]["accelerators"].append({"name": "none"})
    data["throughputs"] += [{**row, "accelerator": "none"} for row in data["throughputs"]]
    data["colocated"] += [
        {**row, "accelerator": "none", "steps_per_s": 1.0, "with_steps_per_s": 1.0} for row in data["colocated"]
    ]
    scenario = Scenario.from_dict(data)
    belief = LowRank(scenario)
    assert alone is not None and belief.pair(JOBS["a"], JOBS["b"], "t") == approx(alone)
    assert pair_errors(scenario, belief).mean() == approx(pair_errors(four_models({"a": 0.1, "b": 0.6}), belief).mean())
