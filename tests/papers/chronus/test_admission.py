"""Admission: against trying every plan; nobody guaranteed is dropped; the earliest deadline; who stands in the way."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from tests.papers.chronus.plan_support import LEASE_S, brute_force, instances
from workbench.base.errors import InputError
from workbench.papers.chronus.algorithms import admission
from workbench.papers.chronus.algorithms.admission import admit, admit_all, feasible
from workbench.papers.chronus.algorithms.lease_plan import of_leases
from workbench.papers.chronus.algorithms.terms import AskedJob
from workbench.papers.chronus.instance import ChronusInstance
from workbench.scheduling.solvers import Solver, TimeLimitError


def can_all(data: ChronusInstance, rows) -> bool:
    """Whether some of the jobs can all be guaranteed, by trying every plan."""
    return brute_force(data.with_jobs(sorted(rows), guaranteed=True)) is not None


@given(data=instances())
def test_feasible_is_what_trying_everything_says(data):
    answer = feasible(data)
    assert answer.known
    assert (answer.plan is not None) == can_all(data, range(len(data.jobs)))
    if answer.plan is not None:
        assert answer.plan.has.any(axis=1).all()


@given(data=instances())
def test_each_verdict_is_right_and_nobody_guaranteed_is_dropped(data):
    verdicts = admit_all(data, data.jobs)
    sure: list[int] = []
    for row, verdict in enumerate(verdicts):
        assert verdict.guaranteed == can_all(data, [*sure, row])
        if verdict.guaranteed:
            sure.append(row)
            kept = data.with_jobs(sure, guaranteed=True)
            assert of_leases(kept, verdict.leases).has.any(axis=1).all()


@given(data=instances(jobs=4))
def test_the_earliest_deadline_is_the_first_that_would_have_been_accepted(data):
    sure: list[int] = []
    for row, verdict in enumerate(admit_all(data, data.jobs)):
        if verdict.guaranteed:
            sure.append(row)
            continue
        rows = sorted([*sure, row])
        own = data.with_jobs(rows, guaranteed=True)
        spot = rows.index(row)
        leases = range(1, 16)
        accepted = [lease for lease in leases if brute_force(own.with_deadline(spot, lease)) is not None]
        assert verdict.earliest_lease == min(accepted, default=None)
        if accepted:
            assert verdict.earliest_s == verdict.earliest_lease * LEASE_S


@given(data=instances(jobs=5, leases=4))
def test_of_the_jobs_in_the_way_none_can_be_spared(data):
    for row, verdict in enumerate(admit_all(data, data.jobs)):
        others = [data.jobs.index(name) for name in verdict.in_the_way]
        if verdict.guaranteed or verdict.how == "alone":
            assert not others
            continue
        assert others and not can_all(data, [*others, row])
        for spared in others:
            assert can_all(data, [other for other in [*others, row] if other != spared])


def test_a_refusal_by_hand():
    """The cluster is promised for two leases; a third job of all GPUs is done by the third lease, no earlier."""
    first = [AskedJob(8, 1200, [(2400, 100)], guaranteed=True), AskedJob(8, 1200, [(2400, 100)], guaranteed=True)]
    data = ChronusInstance.made(8, 1200, [*first, AskedJob(8, 1200, [(2400, 100)])], start_s=6000.0)
    verdict = admit(data, "j2")
    assert not verdict.guaranteed and verdict.how == "demand"
    assert (verdict.earliest_lease, verdict.earliest_s) == (3, 9600)
    assert verdict.in_the_way == ("j0", "j1")
    assert verdict.why == "no plan meets a deadline of every guaranteed job with 2 guaranteed jobs in the way"


def test_a_job_that_no_deadline_helps():
    data = ChronusInstance.made(8, 1200, [AskedJob(9, 1200, [(2400, 100)])])
    verdict = admit(data, "j0")
    assert (verdict.guaranteed, verdict.earliest_s, verdict.in_the_way) == (False, None, ())
    assert verdict.why == "its 9 GPUs are more than the 8 of the cluster"


def test_a_job_too_long_for_its_deadline_alone():
    verdict = admit(ChronusInstance.made(8, 1200, [AskedJob(8, 2400, [(2399, 100)])]), "j0")
    assert verdict.why == "it needs 2 leases and has 1 before its last deadline"
    assert (verdict.earliest_lease, verdict.earliest_s) == (2, 2400)


def test_rounding_alone_can_refuse_a_job():
    asked = [AskedJob(5, 1200, [(1200, 100)], guaranteed=True), AskedJob(3, 1200, [(1200, 100)])]
    assert admit(ChronusInstance.made(8, 1200, asked), "j1").guaranteed
    verdict = admit(ChronusInstance.made(8, 1200, asked, node_gpus=8), "j1")
    assert not verdict.guaranteed and verdict.in_the_way == ("j0",)


def test_others_that_are_not_guaranteed_play_no_part():
    asked = [AskedJob(8, 1200, [(1200, 100)]), AskedJob(8, 1200, [(1200, 100)])]
    assert admit(ChronusInstance.made(8, 1200, asked), "j1").leases == {"j1": (1,)}


def test_a_soft_job_is_guaranteed_one_of_its_deadlines():
    asked = [AskedJob(8, 1200, [(1200, 100)], guaranteed=True), AskedJob(8, 1200, [(1200, 100), (2400, 20)])]
    assert admit(ChronusInstance.made(8, 1200, asked), "j1").leases == {"j0": (1,), "j1": (2,)}


def test_a_solver_without_an_answer_is_a_refusal_that_says_so(monkeypatch):
    """Three jobs of 2 GPUs on 3, in two leases: only the printed model can tell, and it is stopped."""

    def stopped(model, solver):
        raise TimeLimitError("chronus.leases", "0 s")

    data = ChronusInstance.made(
        3, 1200, [AskedJob(2, 1200, [(2400, 100)], guaranteed=True)] * 2 + [AskedJob(2, 1200, [(2400, 1)])]
    )
    assert admit(data, "j2").how == "model"
    monkeypatch.setattr(admission, "solve_model", stopped)
    verdict = admit(data, "j2", Solver(time_limit_s=0.0))
    assert not verdict.guaranteed and verdict.how == "limit"
    assert verdict.why == "within its limit the solver found neither a plan nor that there is none"
    assert verdict.earliest_lease == 3


def test_bad_questions():
    data = ChronusInstance.made(8, 1200, [AskedJob(8, 1200, []), AskedJob(8, 2400, [(1200, 100)], guaranteed=True)])
    with pytest.raises(InputError, match="admission, job: got 'x'"):
        admit(data, "x")
    with pytest.raises(InputError, match="job j0, rewards"):
        admit(data, "j0")
    asked = replace(data, steps=(((1200.0, 5.0),), data.steps[1]), runtime_s=np.array([1200, 2400]))
    with pytest.raises(InputError, match=r"guaranteed job j1: got .it needs 2 leases and has 1"):
        admit(asked, "j0")


def test_who_stands_in_the_way_does_so_alone_and_others_may_do_so_too():
    """Either of two jobs of a GPU is enough to refuse one of both GPUs: one is named, and without it the other is."""
    at_once = [(LEASE_S, 100)]
    asked = [
        AskedJob(1, LEASE_S, at_once, 0, True),
        AskedJob(1, LEASE_S, at_once, 0, True),
        AskedJob(2, LEASE_S, at_once),
    ]
    data = ChronusInstance.made(2, LEASE_S, asked, names=["a", "b", "new"])
    (named,) = admit(data, "new").in_the_way
    (other,) = {"a", "b"} - {named}
    rows = [data.jobs.index(job) for job in (other, "new")]
    assert admit(data.with_jobs(rows), "new").in_the_way == (other,)
    assert admit(data.with_jobs([2]), "new").guaranteed
