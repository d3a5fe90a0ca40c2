"""The model and its assembly as arrays are one programme, entry by entry."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.papers.gavel.support import DATA, TWO, plain
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness, assemble
from workbench.testing import ContractError, same_programme


@given(DATA, st.booleans())
def test_max_min_fairness(data, aware):
    same_programme("gavel.max_min_fairness", plain(data), {"heterogeneity_aware": aware})


def other_weights(data):
    return assemble(replace(data, weight=data.weight * (1 + 1e-15)))


def other(**changed):
    return lambda data: replace(assemble(data), **changed)


def more(part, at):
    def change(data):
        found = assemble(data)
        numbers = getattr(found, part).copy()
        numbers[at] += 1
        return replace(found, **{part: numbers})

    return change


@pytest.mark.parametrize(
    "wrong, said",
    [
        (
            other_weights,
            "coefficient of share[a,v100] in epigraph[a]: got -1.9999999999999978",
        ),
        (other(maximise=False), "maximise: got False"),
        (other(name="x"), "name: got 'x'"),
        (other(integer=np.ones(5, dtype=bool)), "integer of share[a,v100]: got True"),
        (other(columns={"level": np.arange(1)}), "columns of share: got nothing"),
        (more("upper", 3), "upper of share[b,k80]: got 1.0; expected the model's, 0.0"),
        (more("row_upper", 2), "row_upper of capacity[v100]: got 3.0; expected the model's, 2.0"),
        (more("cost", -1), "cost of level: got 2.0; expected the model's, 1.0"),
    ],
)
def test_the_first_difference_is_told_by_row_and_column(wrong, said):
    class Wrong(MaxMinFairness):
        def assemble(self, data, knobs):
            return wrong(data)

    with pytest.raises(ContractError) as told:
        same_programme(Wrong(), plain(TWO))
    assert said in str(told.value)
    assert str(told.value).startswith("gavel.max_min_fairness, assemble, ")
