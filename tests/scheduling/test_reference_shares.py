"""The two reference divisions, and `isolated` as a formulation with the same answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import InputError
from workbench.baselines.isolated import Isolated, IsolatedInstance
from workbench.scheduling.reference_shares import equal_share, isolated_share
from workbench.scheduling.solvers import Solver, SolverFailedError, solve_model

COUNTS = st.lists(st.integers(0, 40), min_size=1, max_size=4).filter(any)
GANGS = st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=6)


def test_equal_share_of_the_papers_example():
    """Gavel, section 4.1: with 1 V100 and 1 K80, X_equal = [0.5, 0.5]; otherwise in proportion to the GPUs."""
    assert equal_share([1, 1]).tolist() == [0.5, 0.5]
    assert equal_share([3, 1]).tolist() == [0.75, 0.25]
    assert equal_share([0, 0]).tolist() == [0, 0]


def test_isolated_share_by_hand():
    """3 jobs, 3 + 6 capacity: a third is 1 + 2 GPUs, more than all of the time of one GPU; half of it for 2 GPUs."""
    got = isolated_share([3, 6], [1, 2, 8])
    assert got == pytest.approx(np.array([[1 / 3, 2 / 3], [1 / 3, 2 / 3], [1 / 8, 2 / 8]]))
    assert isolated_share([3, 6], []).shape == (0, 2)


@given(capacity=COUNTS, gangs=GANGS)
def test_isolated_share_keeps_every_limit_and_the_proportions(capacity, gangs):
    shares = isolated_share(capacity, gangs)
    assert (shares >= 0).all()
    assert (shares.sum(axis=1) <= 1 + 1e-12).all()
    assert (np.array(gangs) @ shares <= np.array(capacity) + 1e-9).all()
    assert shares / shares.sum(axis=1)[:, None] == pytest.approx(np.tile(equal_share(capacity), (len(gangs), 1)))


@pytest.mark.parametrize("name", ["highs", "glpk"])
@given(capacity=COUNTS, gangs=GANGS)
def test_the_formulation_has_the_closed_form_as_its_only_optimum(name, capacity, gangs):
    jobs, types = tuple(f"job {i}" for i in range(len(gangs))), tuple(f"type {i}" for i in range(len(capacity)))
    data = IsolatedInstance(jobs, types, gangs, capacity)
    found = Isolated().run(data, {}, Solver(name))
    got = [[found.values["allocation"][job][kind] for kind in types] for job in jobs]
    assert np.array(got) == pytest.approx(isolated_share(capacity, gangs), abs=1e-9)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(found.bound)


def test_without_jobs_or_gpus():
    assert Isolated().run(IsolatedInstance((), ("k80",), [], [2]), {}).values == {"allocation": {}}
    assert Isolated().run(IsolatedInstance(("a",), ("k80",), [1], [0]), {}).values == {"allocation": {"a": {"k80": 0}}}


def test_a_model_that_was_changed_is_not_read_as_isolated():
    data = IsolatedInstance(("a", "b"), ("k80",), [1, 1], [2])
    model = Isolated().build(data, {})
    model.owned["a"].setub(0.5)
    solve_model(model)
    with pytest.raises(SolverFailedError):
        Isolated().read(model, data, {})


@pytest.mark.parametrize(
    ("gang", "capacity", "named"),
    [([0], [1], "a, gang"), ([1], [-1], "k80, capacity"), ([float("nan")], [1], "a, gang"), ([1, 2], [1], "gang")],
)
def test_bad_numbers_are_named(gang, capacity, named):
    with pytest.raises(InputError, match=named):
        IsolatedInstance(("a",), ("k80",), gang, capacity)
