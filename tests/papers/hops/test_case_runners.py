"""The runners of reference cases: on random cases of the schema, whose answers are found by trying everything on the
raw numbers, on unusual ones by hand, and on wrong answers, which they must not accept."""

import copy
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases.hops import RUNNERS

SEEDS = st.integers(0, 2**32 - 1)


def case(kind, instance, expect, **options):
    return {"kind": kind, "instance": instance, "options": options, "expect": {"status": "optimal", **expect}}


def verdict(found):
    step = found["options"].get("step")
    return RUNNERS[f"{found['kind']}/{step}" if step else found["kind"]](found, {})


def optimise(servers, jobs, power=1.0, bias="paper"):
    """A case with its answer: every choice of every job is tried."""
    instance = {
        "servers": servers,
        "jobs": [
            {"priority": p, "configs": [{"alloc": alloc, "throughput": speed} for alloc, speed in configs]}
            for p, configs in jobs
        ],
    }
    priority = [p for p, _ in jobs]
    given = bias if bias != "paper" else 0.0 if min(priority, default=1.0) > 0 else abs(min(priority)) + 0.01
    worth = []
    for choice in itertools.product(*([None, *range(len(configs))] for _, configs in jobs)):
        used = dict.fromkeys(servers, 0)
        gains = []
        for spot, (_, configs) in zip(choice, jobs, strict=True):
            gains.append(0.0 if spot is None else configs[spot][1] / min(speed for _, speed in configs))
            for server, gpus in (configs[spot][0] if spot is not None else {}).items():
                used[server] += gpus
        if all(used[server] <= idle for server, idle in servers.items()):
            if power == "inf":
                ranks = sorted(set(priority), reverse=True)
                found = [round(sum(g for g, p in zip(gains, priority, strict=True) if p == rank), 9) for rank in ranks]
            else:
                found = sum((p + given) ** power * g for p, g in zip(priority, gains, strict=True))
            worth.append((found, list(choice)))
    best = max(found for found, _ in worth)
    ties = [choice for found, choice in worth if np.allclose(found, best, rtol=1e-9, atol=1e-9)]
    expect = {"n_optimal": len(ties), "optimal_choices": ties, "objective": None if power == "inf" else best}
    if power == "inf":
        expect["lexicographic_gains_by_priority"] = best
    return case("optimise", instance, expect, **{"lambda": power, "bias": bias, "rel_gap": 0})


def random_optimise(seed):
    """Configurations on one server or several, some larger than what is idle, some listed twice."""
    rng = np.random.default_rng(seed)
    servers = {str(i): int(rng.integers(0, 5)) for i in range(int(rng.integers(1, 5)))}
    jobs = []
    for _ in range(int(rng.integers(0, 5))):
        configs = []
        for _ in range(int(rng.integers(0, 5))):
            where = rng.choice(list(servers), size=int(rng.integers(1, min(len(servers), 3) + 1)), replace=False)
            configs.append(({str(s): int(rng.integers(1, 6)) for s in where}, round(float(rng.uniform(1, 30)), 2)))
        if configs and rng.random() < 0.2:
            configs.append((configs[0][0], round(float(rng.uniform(1, 30)), 2)))
        jobs.append((float(rng.choice([-1.5, 0.0, 0.2, 1.0, 1.0, 3.0])), configs))
    return optimise(servers, jobs, power=[0.0, 0.5, 1.0, 2.0, 7.0, "inf"][int(rng.integers(6))])


@given(seed=SEEDS)
def test_random_rounds_have_the_best_of_all_choices_and_no_other_answer_is_taken(seed):
    made = random_optimise(seed)
    found = verdict(made)
    assert found["ok"], (made, found)
    wrong = copy.deepcopy(made)
    expect = wrong["expect"]
    if expect["objective"] is None:
        expect["lexicographic_gains_by_priority"] = [*expect["lexicographic_gains_by_priority"], 1.0]
    else:
        expect["objective"] += 0.01 * max(1.0, expect["objective"])
    assert not verdict(wrong)["ok"]
    if made["expect"]["n_optimal"] == 1 and made["instance"]["jobs"]:
        other = copy.deepcopy(made)
        other["expect"]["optimal_choices"] = [[99 for _ in made["instance"]["jobs"]]]
        assert not verdict(other)["ok"]


ON = {"0": 2}
PAIR = [({"0": 1}, 10.0), ({"0": 2}, 18.0)]


@pytest.mark.parametrize(
    "made",
    [
        optimise({"0": 0, "1": 0}, [(1.0, [({"0": 1}, 1.0)])]),  # nothing is idle
        optimise(ON, [(1.0, [({"0": 3}, 1.0), ({"0": 1}, 5.0)])]),  # normalised by one that does not fit
        optimise(ON, [(0.0, PAIR), (0.0, PAIR)]),  # fresh arrivals alone
        optimise(ON, [(-3.0, PAIR), (-3.0, PAIR), (-1.0, PAIR)]),
        optimise(ON, [(1e-12, PAIR), (5.0, PAIR)]),
        optimise(ON, [(1.0, PAIR), (1.0, PAIR)], "inf"),  # one class
        optimise(ON, [(-1.0, PAIR), (0.0, PAIR), (1.0, PAIR)], "inf"),
        optimise(ON, [(2.0, PAIR), (1.5, PAIR)], 200.0),  # weights 25 orders of magnitude apart
        optimise(ON, [(0.5, PAIR), (0.25, PAIR)], 300.0),
        optimise(ON, [(2.0, PAIR), (1.0, PAIR)], 0.5, bias=3.0),
        optimise(ON, [(-2.0, PAIR), (1.0, PAIR)], 2.0, bias=2.5),
        # A high class may be served at one of two places; only one of them leaves room for the second class.
        optimise({"0": 2, "1": 1}, [(2.0, [({"0": 1}, 1.0), ({"1": 1}, 1.0)]), (1.0, [({"0": 2}, 4.0)])], "inf"),
        optimise({"0": 2, "1": 2, "2": 1}, [(1.0, [({"0": 2, "1": 2, "2": 1}, 9.0), ({"2": 1}, 2.0)])]),
        optimise({"a b": 2, "ü": 1}, [(1.0, [({"a b": 2, "ü": 1}, 9.0), ({"ü": 1}, 2.0)])]),  # names of all kinds
    ],
)
def test_unusual_rounds(made):
    assert verdict(made)["ok"], verdict(made)


def test_a_gap_allows_less_but_not_more_than_it_says():
    made = optimise(ON, [(1.0, PAIR), (0.9, PAIR)])
    made["options"]["rel_gap"] = 0.05
    assert verdict(made)["ok"]
    best = made["expect"]["objective"]
    for factor, fine in ((1.04, True), (1.06, False), (0.99, False)):
        made["expect"]["objective"] = best * factor
        assert verdict(made)["ok"] is fine


def test_input_that_is_refused_is_what_a_case_may_expect():
    made = optimise(ON, [(1.0, PAIR)])
    for change in ({"priority": math.nan}, {"configs": [{"alloc": {"9": 1}, "throughput": 1.0}]}):
        broken = copy.deepcopy(made)
        broken["instance"]["jobs"][0].update(change)
        assert not verdict(broken)["ok"]
        broken["expect"] = {"status": "error"}
        assert verdict(broken)["ok"]
    assert not verdict({**made, "expect": {"status": "error"}})["ok"]
    assert verdict({**made, "options": {"bias": -5.0}})["ok"] is None, "a weight below 0: said to be unsupported"


# generate and evaluate ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "instance", "options", "right"),
    [
        ("generate", {"total_gpus": 3, "queue": [{"id": i, "R": [5, 2]} for i in range(3)]}, "window", [0, 1]),
        (
            "generate",
            {"servers": [{"id": 0, "type": "A", "idle": 2, "size": 8}], "job": {"R": [2], "rho": 1.0}},
            "configs",
            [{"0": 2}],
        ),
        (
            "evaluate",
            {"wait": 5, "total_samples": 9, "types": [{"gpus": 1, "throughput_per_gpu": 1}], "R": [1, 2]},
            "priority",
            6.0,
        ),
    ],
)
def test_an_answer_by_hand_is_taken_and_another_is_not(kind, instance, options, right):
    name = {"window": "window", "configs": "configs", "priority": "age"}[options]
    more = {"R_avg": 1.5, "priority": 5 / 6} if options == "priority" else {}
    asked = {"step": options} | ({"sigma": 1.4} if options == "configs" else {})
    for answer, taken in ((right, True), (right * 2, False)):
        found = verdict(case(kind, instance, {**more, name: answer}, **asked))
        assert found["ok"] is taken, found


@pytest.mark.parametrize(
    ("kind", "instance", "options"),
    [
        ("generate", {"total_gpus": 8, "queue": [{"id": 0, "R": []}]}, {"step": "window"}),
        ("generate", {"total_gpus": 0, "queue": [{"id": 0, "R": [1]}]}, {"step": "window"}),
        ("generate", {"servers": [], "job": {"R": []}}, {"step": "configs"}),
        (
            "evaluate",
            {"wait": 1, "total_samples": 0, "types": [{"gpus": 1, "throughput_per_gpu": 1}], "R": [1]},
            {"step": "priority"},
        ),
        (
            "evaluate",
            {"wait": -1, "total_samples": 9, "types": [{"gpus": 1, "throughput_per_gpu": 1}], "R": [1]},
            {"step": "priority"},
        ),
    ],
)
def test_empty_sets_no_gpus_no_work_and_negative_waits_are_refused(kind, instance, options):
    made = case(kind, instance, {}, **options)
    assert not verdict(made)["ok"]
    made["expect"] = {"status": "error"}
    assert verdict(made)["ok"]
