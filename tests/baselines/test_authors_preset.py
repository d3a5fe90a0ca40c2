"""Under `preset=authors` Gandiva, FIFO, AlloX and the makespan do as Gavel's authors' simulator; agnostic FIFO."""

import random
from collections import Counter

import numpy as np
import pytest

import workbench
from reproduction.gavel import load
from tests.baselines.mechanisms.support import make
from workbench.base.errors import InputError
from workbench.papers.gavel.formulations.makespan import Makespan
from workbench.papers.gavel.instance import StepsInstance
from workbench.session.registry import find_scheduler

AUTHORS = {"preset": "authors"}


def world(nodes, models, jobs, colocated=()):
    """Jobs on nodes `{type: GPUs}`; models: steps/s by type; colocated: (model, model, type, steps/s, steps/s)."""
    gangs = {int(job.get("gpus", 1)) for job in jobs}
    return workbench.Scenario.from_dict(
        {
            "core": {"space_sharing": True},
            "cluster": {
                "accelerators": [{"name": name} for name in nodes],
                "nodes": [{"name": name, "accelerator": name, "gpus": gpus} for name, gpus in nodes.items()],
            },
            "jobs": [{"name": f"j{i}", "model": "m", "steps": 3600, **job} for i, job in enumerate(jobs)],
            "throughputs": [
                {"model": model, "accelerator": name, "gpus": gang, "steps_per_s": speed}
                for model, speeds in models.items()
                for name, speed in speeds.items()
                for gang in gangs
            ],
            "colocated": [
                {"model": a, "with_model": b, "accelerator": name, "gpus": 1, "steps_per_s": x, "with_steps_per_s": y}
                for a, b, name, x, y in colocated
            ],
        }
    )


def test_a_job_with_room_only_where_it_cannot_run_does_not_block_the_line():
    models = {"m": {"v100": 2.0, "k80": 1.0}, "big": {"v100": 2.0}}
    given = world({"v100": 1, "k80": 1}, models, [{}, {"model": "big"}, {}])
    starts = workbench.simulate(given, "fifo", **AUTHORS).jobs["first_start_s"].tolist()
    assert starts[0] == starts[2] == 0 < starts[1]
    gang = world({"v100": 2, "k80": 1}, models, [{}, {"gpus": 2}, {}])  # with room nowhere it does block
    starts = workbench.simulate(gang, "fifo", **AUTHORS).jobs["first_start_s"].tolist()
    assert starts[0] == 0 < min(starts[1:])


@pytest.mark.parametrize("knobs", [{}, AUTHORS], ids=["queue", "authors"])
def test_agnostic_fifo_draws_the_type(knobs):
    """Of 24 jobs on 24 + 24 equal GPUs some go to each type, others with another seed; who runs stays."""
    given = world({"v100": 24, "k80": 24}, {"m": {"v100": 1.0, "k80": 1.0}}, [{"steps": 7200}] * 24)

    def types(seed):
        run = workbench.simulate(given, "fifo", seed=seed, heterogeneity_aware=False, **knobs)
        assert not run.jobs["moves"].any()
        return run.timeline.drop_duplicates("job").set_index("job")["accelerator"].to_dict()

    assert types(1) == types(1) != types(2)
    assert all(5 <= Counter(types(1).values())[kind] <= 19 for kind in ("v100", "k80"))


def test_fifo_with_packing_fills_gpus_that_are_held_alone():
    """One GPU: the second in line shares it if the two do more than 1.5 times one job's work; else it waits."""
    for rate, shared in ((0.8, True), (0.75, False)):
        given = world({"t": 1}, {"m": {"t": 1.0}}, [{}, {}, {}], [("m", "m", "t", rate, rate)])
        starts = workbench.simulate(given, "fifo", space_sharing=True, **AUTHORS).jobs["first_start_s"].tolist()
        assert (starts[1] == 0) is shared and starts[2] > 0
    with pytest.raises(InputError, match="through=gavel_rounds"):
        find_scheduler("fifo").settle({"space_sharing": True})


def test_gandiva_draws_pairs_by_pythons_generator_and_never_shuffles_types():
    knobs = find_scheduler("gandiva").settle({**AUTHORS, "pair_seed": 3})
    assert knobs["shuffle_types"] == "never"
    given = world({"t": 2}, {"m": {"t": 1.0}}, [{}] * 6, [("m", "m", "t", 0.6, 0.6)])
    generator, left, expected = random.Random(3), list(range(6)), set()
    while left:
        pair = generator.sample(left, 2)
        left = [one for one in left if one not in pair]
        expected.add(" + ".join(f"j{one}" for one in sorted(pair)))
    run = workbench.simulate(given, "gandiva", pair_seed=3, **AUTHORS)
    assert set(run.shares[run.shares["time_s"] == 0]["unit"]) == expected
    assert run.jobs["finish_s"].notna().all()


def test_allox_of_the_authors_keeps_a_match():
    """A fast and a slow GPU: when one job is done the other is matched to its GPU, by the authors' code it is not.

    It runs there nevertheless, as that code gives GPUs without a taker to any job, types in order.
    """
    given = world({"v100": 1, "k80": 1}, {"m": {"v100": 1.5, "k80": 1.0}}, [{"steps": 6000}, {"steps": 4500}])
    run = workbench.simulate(given, "allox", **AUTHORS)
    shares = run.shares[run.shares["unit"] == "j1"]
    assert set(shares["accelerator"]) == {"k80"} and set(shares["share"]) == {1.0}
    assert run.jobs["finish_s"].tolist() == pytest.approx([4000.0, 4000.0 + 500 / 1.5], abs=150)


@pytest.mark.parametrize("steps", [3000.0, 4e6])
def test_the_makespans_bisection_begins_between_100_and_a_million_seconds(steps):
    """One job at 1 step/s: 500,050, 250,075 ... are tried, and where 1e6 s is too short, from there to 1e7 s."""
    one = np.ones(1)
    data = StepsInstance(("j",), ("t",), np.ones((1, 1)), one, one, one, steps=np.array([steps]))
    found = Makespan().run(data, {"method": "bisection", "tolerance": 0.05, "bracket": "authors"})
    tried, brackets = [], [(100.0, 1e6), (1e6, 1e7)]
    for low, high in brackets[: 1 if steps < 1e6 else 2]:
        while 1.05 * low < high:
            tried.append((low + high) / 2)
            low, high = (low, tried[-1]) if tried[-1] >= steps else (tried[-1], high)
    assert [each["makespan_s"] for each in found.iterations] == tried
    assert find_scheduler("gavel.makespan").settle(AUTHORS)["bracket"] == "authors"


def test_figures_16_and_18_run_fifo_itself():
    """Three jobs of 1 GPU pass one of 8 where the programme is run under the name of FIFO; the greedy line waits."""
    lines = load._lines(load.FIFO, preset="authors")
    assert [bool(line.knobs.get("space_sharing")) for line in lines] == [False, False, True]
    jobs = [{"gpus": 2, "steps": 7200}, {"gpus": 8, "steps": 28800}, *[{"steps": 3600}] * 6]
    given = make({"n": ("t", 8)}, jobs)
    for name, passes in ((lines[1].scheduler, False), ("gavel.fifo", True)):
        starts = workbench.simulate(given, name, **lines[1].knobs).jobs["first_start_s"]
        assert bool(starts[2:].min() < starts[1]) is passes
