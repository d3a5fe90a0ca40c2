"""Many runs at once: each request's outcome, whoever makes it and whatever becomes of the others."""

import multiprocessing
import pickle
from collections.abc import Iterable
from types import MappingProxyType

import pytest

import workbench
from workbench.base.errors import InputError, WorkbenchError
from workbench.base.processes import Processes
from workbench.scheduling.decision import InvalidDecision
from workbench.session.many_runs import RunRequest, attempt, do, run_all
from workbench.simulation.loop import Observer
from workbench.simulation.run import Run

SMALL = workbench.preset("start_here")


@pytest.fixture(autouse=True)
def nobody_is_left():
    before = set(multiprocessing.active_children())
    yield
    assert set(multiprocessing.active_children()) <= before


@pytest.fixture
def greedy(own):
    @workbench.scheduler("test-batch-greedy", round_s=60)
    def decide(snapshot, memory, knobs, rng):
        """Gives away more than there is."""
        job = snapshot.jobs.jobs[0]
        return workbench.Decision(assign=(workbench.Assignment(job.name, {"slow-0": 99}, snapshot.now_s + 60),)), memory

    return "test-batch-greedy"


def request(scheduler: str = "fifo", **rest) -> RunRequest:
    return RunRequest(**{"scenario": SMALL, "scheduler": scheduler, "knobs": {}, "seed": 3, **rest})


def test_a_request_is_a_call_of_simulate():
    asked = request("srtf", knobs={"round_s": 60}, belief="pmi", window=(0, 1), detail=2)
    expected = workbench.simulate(SMALL, "srtf", round_s=60, seed=3, belief="pmi", window=(0, 1), detail=2)
    assert do(asked) == expected
    assert do(request(until_s=100)).end_s == 100


def test_a_request_is_the_same_when_it_has_travelled():
    asked = request(
        "las", knobs=MappingProxyType({"round_s": 60}), belief="oracle", until_s=50.0, detail=1, charge_decisions=30.0
    )
    assert pickle.loads(pickle.dumps(asked)) == asked


def test_a_failing_request_becomes_its_outcome_and_the_others_go_on(greedy):
    asked = [request("nobody"), request(), request(greedy), request(knobs={"no": 1}), request("las")]
    heard = {}
    found = run_all(asked, 1, heard.__setitem__)
    assert heard == dict(enumerate(found))
    assert [type(each) for each in found] == [InputError, Run, InvalidDecision, InputError, Run]
    assert "nobody" in str(found[0]) and "99" in str(found[2])
    assert found[1] == workbench.simulate(SMALL, "fifo", seed=3)


def test_the_number_of_workers_does_not_matter(greedy):
    asked = [request("nobody"), request(), request(greedy), request("las"), request(seed=4)]
    heard = {}
    several, one = run_all(asked, 2, heard.__setitem__), run_all(asked)
    assert heard == dict(enumerate(several))
    failed = [(each.where, each.value) for each in several if isinstance(each, WorkbenchError)]
    assert failed == [(each.where, each.value) for each in one if isinstance(each, WorkbenchError)]
    assert [each for each in several if isinstance(each, Run)] == [each for each in one if isinstance(each, Run)]
    assert all(each.scenario is SMALL for each in several if isinstance(each, Run))


@pytest.mark.parametrize("random", [False, True])
def test_a_run_that_draws_nothing_is_made_once_for_all_seeds(random: bool, monkeypatch: pytest.MonkeyPatch):
    """What is drawn here are the times between failures of nodes."""
    scenario = SMALL.replace(core={"faults": {"mtbf_s": 4000, "mttr_s": 600}}) if random else SMALL
    asked = [request(name, scenario=scenario, seed=seed) for name in ("fifo", "las") for seed in (0, 1, 2)]
    made = []

    def counted(each: RunRequest, observers: Iterable[Observer]) -> Run:
        made.append(each.seed)
        return do(each, observers)

    monkeypatch.setattr("workbench.session.many_runs.do", counted)
    heard = {}
    found = run_all(asked, 1, heard.__setitem__)
    assert len(made) == (6 if random else 2)
    assert found == [workbench.simulate(each.scenario, each.scheduler, seed=each.seed) for each in asked]
    assert [run.seed for run in found] == [0, 1, 2] * 2 and heard == dict(enumerate(found))


def test_a_pool_serves_one_batch_after_the_other():
    with Processes(2) as kept:
        first = run_all([request(), request("nobody")], kept=kept)
        second = run_all([request("las")], kept=kept)
        assert kept.alive
    assert first[0] == attempt(request()) and second == [attempt(request("las"))]
    assert isinstance(first[1], InputError)


def test_a_mistake_in_ones_own_scheduler_is_its_outcome_and_ends_no_other(own):
    @workbench.scheduler("test-batch-wrong")
    def decide(snapshot, memory, knobs, rng):
        """Divides by zero."""
        return 1 // 0

    for workers in (1, 2):
        wrong, *others = run_all([request("test-batch-wrong"), request(), request("las")], workers)
        assert "test-batch-wrong: got ZeroDivisionError: " in str(wrong) and "of decide); expected no mistake" in str(
            wrong
        )
        assert others == [attempt(request()), attempt(request("las"))]


@pytest.mark.parametrize("workers", [0, True, 1.5, "2"])
def test_the_number_of_workers_is_a_whole_number(workers):
    with pytest.raises(InputError, match="workers"):
        run_all([request()], workers)


def test_nothing_asked_is_nothing_found():
    assert run_all([], 3) == []
