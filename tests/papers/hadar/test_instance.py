"""Slotted data: from a scenario, by hand, refused when it is wrong; slots that are enough; limits of a plan."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.hadar.optimality import first_come
from tests.baselines.mechanisms.support import look, make
from tests.papers.hadar.p1_support import random_instance
from workbench.base.errors import InputError
from workbench.papers.hadar.formulations.offline import SlotPlan, nothing
from workbench.papers.hadar.instance import HadarInstance, slots_needed
from workbench.scenario.presets import preset
from workbench.scheduling.solvers import SolverFailedError
from workbench.session.api import snapshot_at

KNOBS = {"slot_s": 100.0, "slots": 10, "utility": "neg_jct"}
NODES = {"a": ("v100", 2), "b": ("k80", 1)}


def test_the_papers_example_in_slots_of_six_minutes():
    data = HadarInstance.from_snapshot(
        snapshot_at(preset("hadar_example"), 0.0, offline=True), {**KNOBS, "slot_s": 360.0}
    )
    assert data.capacity.tolist() == [2, 3, 1] and data.gang.tolist() == [3, 2, 2]
    assert np.allclose(data.rate, [[40, 20, 30], [5, 15, 5], [10, 2, 20]])
    assert data.work.tolist() == [80, 30, 50] and data.arrival.tolist() == [0, 0, 0]
    assert data.least_slots.tolist() == [3, 2, 5] and data.unit == "slots"


def test_jobs_to_come_arrive_with_the_next_slot_and_keep_their_deadlines():
    jobs = [{"steps": 500, "arrival_s": arrival_s, "rewards": [[400, 7], [900, 2]]} for arrival_s in (0, 100, 150, 700)]
    scenario = make(NODES, jobs, {"v100": 2.0, "k80": 1.0})
    data = HadarInstance.from_snapshot(snapshot_at(scenario, 0.0, offline=True), {**KNOBS, "utility": "step"})
    assert data.jobs == ("j0", "j1", "j2", "j3")
    assert data.arrival.tolist() == [0, 1, 2, 7]
    assert data.rate[0].tolist() == [200, 100]
    # j2 arrives at 150 s, so that its deadlines are at 550 s and 1050 s: slots that end by 500 s and by 1000 s.
    assert data.utility[2].tolist() == [0, 0, 7, 7, 7, 2, 2, 2, 2, 2]


def test_a_job_that_has_waited_keeps_its_age():
    scenario = make(NODES, [{"steps": 500, "arrival_s": 0}])
    data = HadarInstance.from_snapshot(look(scenario, 250.0, left={"j0": 300.0}), KNOBS)
    assert data.arrival.tolist() == [-2] and data.first.tolist() == [0] and data.start_s == 250.0
    assert data.work.tolist() == [300] and data.utility[0, 0] == 10 + 1 - 3


def test_a_node_that_is_down_has_no_gpus():
    data = HadarInstance.from_snapshot(look(make(NODES, [{}]), down=["a-0"]), KNOBS)
    assert data.capacity.tolist() == [0, 1]
    assert data.usable.tolist() == [[False, True]]


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), jobs=st.integers(1, 5), types=st.integers(1, 3))
def test_the_slots_by_default_are_enough_for_every_job_that_can_run(seed, jobs, types):
    given_ = random_instance(seed, jobs, types, 4)
    slots = slots_needed(given_.capacity, given_.arrival, given_.gang, given_.work, given_.rate)
    fields = {name: getattr(given_, name) for name in ("capacity", "arrival", "gang", "work", "rate")}
    data = HadarInstance.made(slots=slots, **fields)
    done = first_come(data).done
    assert (done[data.best_rate > 0] >= 0).all()
    assert done.max() + 1 == slots or (done < 0).all()


def test_slots_needed_counts_long_jobs_and_late_arrivals_without_a_loop_over_slots():
    assert slots_needed([1], [0, 10**6], [1, 1], [1e9, 5.0], [[1.0], [1.0]]) == 10**9 + 5
    assert slots_needed([1], [4], [1], [2.0], [[1.0]]) == 6
    assert slots_needed([1], [], [], [], []) == 1


def test_the_slowest_type_needs_enough_gpus_as_fast():
    data = HadarInstance.made([2, 3], 4, [0], [3], [5], [[10, 4]])
    assert data.usable.tolist() == [[False, True]] and data.best_rate.tolist() == [4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"jobs": ("a", "a")}, "P1, jobs"),
        ({"slots": 0}, "P1, slots: got 0; expected a whole number >= 1"),
        ({"slots": 1.5}, "P1, slots"),
        ({"slot_s": 0.0}, "P1, slot_s"),
        ({"start_s": -1.0}, "P1, start_s"),
        ({"capacity": [-1]}, "type r, capacity: got -1.0"),
        ({"capacity": [1, 1]}, "P1, capacity"),
        ({"arrival": [0, 0.5]}, "job b, arrival: got 0.5"),
        ({"gang": [0, 1]}, "job a, gang: got 0.0"),
        ({"gang": [1, 1.5]}, "job b, gang: got 1.5"),
        ({"work": [1, 0]}, "job b, work: got 0.0"),
        ({"work": [1, np.inf]}, "job b, work: got inf"),
        ({"rate": [[1], [-1]]}, "job b, rate on r: got -1.0"),
        ({"rate": [[1], [np.nan]]}, "job b, rate on r: got nan"),
        ({"utility": [[1, 1], [-1, -1]]}, "job b, utility in slot 0: got -1.0"),
        ({"utility": [[1, 1], [1, 2]]}, "job b, utility: got '1 at 1, 2 at 2'; expected a utility that does not inc"),
    ],
)
def test_wrong_numbers_name_job_and_field(change, message):
    good = {"jobs": ("a", "b"), "types": ("r",), "capacity": [1], "slots": 2, "arrival": [0, 0], "gang": [1, 1]}
    good |= {"work": [1, 1], "rate": [[1], [1]], "utility": [[2, 1], [2, 1]]}
    HadarInstance(**good)
    with pytest.raises(InputError, match=message):
        HadarInstance(**{**good, **change})


def test_utilities_before_the_arrival_are_not_looked_at():
    HadarInstance(("a",), ("r",), [1], 3, [1], [1], [1], [[1]], [[0, 2, 1]])


@pytest.mark.parametrize(
    ("gpus", "message"),
    [
        ([[[2], [0]], [[1], [0]]], "at most"),
        ([[[1], [0]], [[0], [0]]], "0 or 2 GPUs for job j0"),
        ([[[0], [0]], [[1], [0]]], "no slot before job j1"),
    ],
)
def test_a_plan_that_breaks_a_limit_is_refused(gpus, message):
    data = HadarInstance.made([2], 2, [0, 1], [2, 1], [1, 1], [[1], [1]])
    with pytest.raises(SolverFailedError, match=message):
        SlotPlan(data, gpus)
    assert nothing(data).objective == 0.0


def test_a_plan_on_a_type_where_a_job_cannot_run_is_refused():
    data = HadarInstance.made([1, 1], 1, [0], [1], [1], [[1, 0]])
    with pytest.raises(SolverFailedError, match="a rate above 0"):
        SlotPlan(data, [[[0, 1]]])


def test_a_trimmed_plan_ends_with_the_work():
    data = HadarInstance.made([1], 4, [0, 0], [1, 1], [2, 9], [[1], [1]])
    plan = SlotPlan(data, [[[1], [1], [1], [0]], [[0], [0], [0], [1]]]).trimmed
    assert plan.gpus[:, :, 0].tolist() == [[1, 1, 0, 0], [0, 0, 0, 0]]
    assert plan.done.tolist() == [1, -1] and plan.objective == 3.0
