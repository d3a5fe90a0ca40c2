"""Gandiva's packing: pairs are tried when jobs want too many GPUs, kept if they gain, else split."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pytest import approx

import workbench
from tests.baselines.mechanisms.support import look, make
from workbench.baselines.gandiva import Packing, TriedPair, divided, explored, judged, overloaded, unpacked, without
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.node_speeds import NodeSpeeds
from workbench.scheduling.snapshot import Observation, Snapshot

RNG = np.random.default_rng


def pack(
    rates: dict[tuple[str, str], float], jobs: list[dict[str, Any]], gpus: int = 1, sharing: bool = True
) -> Scenario:
    """Models at 10 steps/s alone; rates: what each member of a pair of models does together."""
    models = sorted({job["model"] for job in jobs})
    most = max(job.get("gpus", 1) for job in jobs)
    return Scenario.from_dict(
        {
            **make({"n": ("t", gpus)}, []).to_dict(),
            "jobs": [{"name": f"j{i}", "steps": 36_000, **job} for i, job in enumerate(jobs)],
            "throughputs": [
                {"model": m, "accelerator": "t", "gpus": n, "steps_per_s": 10} for m in models for n in (1, most)[:most]
            ],
            "colocated": [
                {"model": a, "with_model": b, "accelerator": "t", "gpus": n, "steps_per_s": r, "with_steps_per_s": r}
                for (a, b), r in rates.items()
                for n in (1, most)[:most]
            ],
            "core": {"space_sharing": sharing},
        }
    )


GOOD = pack({("a", "a"): 8.0}, [{"model": "a"}, {"model": "a"}])
IN_VAIN = TriedPair(0.9, ("n-0",))
BAD = pack({("a", "a"): 4.0}, [{"model": "a"}, {"model": "a"}])


def seen(snapshot: Snapshot, rate: float, pair: tuple[str, str] = ("j0", "j1")) -> Snapshot:
    """The snapshot after a pair ran for a minute."""
    return replace(snapshot, observe=lambda: tuple(Observation(job, pair, {"n-0": 1}, rate, 60.0) for job in pair))


def test_a_pair_that_gains_halves_the_time_of_two_jobs_less_what_it_costs() -> None:
    """Each does 8 of its 10 steps/s: both end after 36,000 / 8 = 4500 s, not after 3600 and 7200 s of dividing time."""
    run = workbench.simulate(GOOD, "gandiva")
    assert run.jobs["finish_s"].tolist() == approx([4500, 4500])
    assert set(run.timeline["unit"]) == {"j0 + j1"}


def test_a_pair_that_does_not_gain_runs_one_round_and_is_never_tried_again() -> None:
    """A round of 360 s at 4 steps/s each leaves 34,560 steps, 3456 s or 9.6 rounds, for each alone, by turns.

    The GPU idles for the last 0.4 of the round in which the first one ends: 360 + 2 * 3456 + 144 = 7416 s.
    """
    run = workbench.simulate(BAD, "gandiva")
    together = run.timeline[run.timeline["unit"] == "j0 + j1"]
    assert set(together["start_s"]) == {0.0} and set(together["end_s"]) == {360.0}
    assert run.jobs["finish_s"].max() == approx(7416)


def test_nobody_shares_where_all_fit_or_sharing_is_off() -> None:
    roomy = pack({("a", "a"): 8.0}, [{"model": "a"}, {"model": "a"}], gpus=2)
    off = pack({("a", "a"): 8.0}, [{"model": "a"}, {"model": "a"}], sharing=False)
    for scenario in (roomy, off):
        assert set(workbench.simulate(scenario, "gandiva").timeline["unit"]) == {"j0", "j1"}
    assert not overloaded(look(roomy)) and overloaded(look(off))


def test_a_pair_is_split_when_all_jobs_fit_again() -> None:
    jobs = [{"model": "a"}, {"model": "a"}, {"model": "a", "steps": 7200}]
    run = workbench.simulate(pack({("a", "a"): 9.0}, jobs, gpus=2), "gandiva")
    last = run.jobs["finish_s"].sort_values().iloc[0]
    assert set(run.timeline[run.timeline["start_s"] > last + 360]["unit"]) <= {"j0", "j1"}


def test_jobs_pair_up_at_random_and_the_generator_decides() -> None:
    scenario = pack({("a", "a"): 8.0}, [{"model": "a"} for _ in range(8)])
    snapshot = look(scenario)
    drawn = {explored(Packing(), snapshot, RNG(seed)).trial for seed in range(10)}
    assert len(drawn) > 3
    assert explored(Packing(), snapshot, RNG(3)) == explored(Packing(), snapshot, RNG(3))
    for trial in drawn:
        names = [name for pair in trial for name in pair]
        assert len(trial) == 4 and len(set(names)) == 8 and all(a < b for a, b in trial)


def test_who_is_not_paired() -> None:
    """Other numbers of GPUs, no row for the two models, tried in vain before, and who is in a pair already."""
    jobs = [{"model": "a"}, {"model": "b"}, {"model": "a", "gpus": 2}]
    snapshot = look(pack({("a", "a"): 8.0}, jobs, gpus=2))
    assert explored(Packing(), snapshot, RNG(0)) == Packing()
    four = look(pack({("a", "a"): 8.0}, [{"model": "a"} for _ in range(4)]))
    kept = Packing(kept=(("j0", "j1"),), split={("j2", "j3"): IN_VAIN})
    assert explored(kept, four, RNG(0)) == kept


@pytest.mark.parametrize(("rate", "stays"), [(5.1, True), (5.0, False), (4.0, False)])
def test_a_trial_is_judged_by_what_was_measured(rate: float, stays: bool) -> None:
    trial = Packing(trial=(("j0", "j1"),))
    found = judged(trial, seen(look(GOOD), rate), NodeSpeeds())
    in_vain = Packing(split={("j0", "j1"): TriedPair(2 * rate / 10, ("n-0",))})
    assert found == (Packing(kept=trial.trial) if stays else in_vain)
    assert judged(trial, look(GOOD), NodeSpeeds()) == trial, "it has not run yet"
    again = judged(Packing(kept=trial.trial), seen(look(GOOD), rate), NodeSpeeds())
    assert again == (Packing(kept=trial.trial) if stays else in_vain)


def test_a_pair_is_judged_beside_what_jobs_alone_do_on_its_nodes() -> None:
    """Members at 4 of 10 steps/s: in vain on a node of speed 1, not on one where a job alone does 5, nor a kept one."""
    slow, fast = NodeSpeeds({("n-0",): (30.0, 60.0)}), NodeSpeeds({("n-0",): (120.0, 60.0)})
    trial = Packing(trial=(("j0", "j1"),))
    in_vain = judged(trial, seen(look(GOOD), 4.0), NodeSpeeds())
    assert set(in_vain.split) == {("j0", "j1")}
    assert judged(trial, seen(look(GOOD), 4.0), slow) == Packing(kept=trial.trial)
    assert judged(in_vain, look(GOOD), slow) == Packing(), "it may be tried again"
    assert judged(in_vain, look(GOOD), fast) == in_vain
    assert judged(Packing(kept=trial.trial), seen(look(GOOD), 8.0), fast).kept == ()


def test_on_slow_nodes_a_pair_that_gains_is_found_after_a_round_of_each_alone() -> None:
    """Two nodes at half the speed, pairs of an a and a b at 8 of 10 steps/s: 4 there, which looks like a loss.

    Each a is tried with each b, for a round each; then all are alone for at most two, which shows the speed of the
    nodes, and all pairs return. 36,000 / 4 = 9000 s, and no more than those rounds beyond it.
    """
    jobs = [{"model": "ab"[i % 2]} for i in range(4)]
    data = pack({("a", "b"): 8.0}, jobs).to_dict()
    data["cluster"]["nodes"] = [{"name": "n", "accelerator": "t", "gpus": 1, "count": 2, "speed": 0.5}]
    run = workbench.simulate(Scenario.from_dict(data), "gandiva", round_s=60)
    assert 9000 <= run.jobs["finish_s"].max() <= 9000 + 4 * 60


def test_pairs_of_jobs_that_have_gone_are_forgotten() -> None:
    packing = Packing((("j0", "j1"),), (("j2", "j3"),), {("j0", "j2"): IN_VAIN, ("j1", "j3"): IN_VAIN})
    scenario = pack({("a", "a"): 8.0}, [{"model": "a"} for _ in range(4)])
    left = without(packing, look(scenario, gone=["j1"]))
    assert left == Packing((), (("j2", "j3"),), {("j0", "j2"): IN_VAIN})
    assert unpacked(left) == Packing(split={("j0", "j2"): IN_VAIN})


def test_units_divide_time_equally() -> None:
    """Three units, a pair and two jobs, on one GPU: a third each."""
    scenario = pack({("a", "a"): 8.0}, [{"model": "a"} for _ in range(4)])
    shares = divided(Packing(trial=(("j1", "j3"),)), look(scenario))
    assert shares.units == (("j1", "j3"), "j0", "j2")
    assert shares.values.tolist() == approx(np.full((3, 1), 1 / 3))


def test_equal_seeds_equal_runs() -> None:
    jobs = [{"model": "ab"[i % 2], "steps": 5000 * (i + 1), "arrival_s": 300.0 * i} for i in range(8)]
    scenario = pack({("a", "a"): 8.0, ("a", "b"): 4.0, ("b", "b"): 6.0}, jobs, gpus=2)
    runs = [workbench.simulate(scenario, "gandiva", seed=seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert all(run.jobs["finish_s"].notna().all() for run in runs)


def test_the_authors_rounds_finish_too() -> None:
    jobs = [{"model": "a", "arrival_s": 500.0 * i} for i in range(6)]
    run = workbench.simulate(pack({("a", "a"): 8.0}, jobs, gpus=2), "gandiva", preset="authors")
    assert run.jobs["finish_s"].notna().all() and run.timeline["unit"].str.contains(" + ", regex=False).any()
