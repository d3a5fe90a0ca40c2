"""Every sign, number, index, bound and quantifier of statements and models counts: changed, it is told.

Those that say the same as before are explained below; all others must be told.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.analysis.contract_rules.mutants import Mutant, model_mutants, statement_mutants
from tests.analysis.contract_rules.random_models import FORMULATIONS, each_way

DRAWN = 60
MOST_EXPLAINED = 0.03
EXPLAINED = {
    r"throughput.*sum_k sum_j T\^m_kj": "T^m_kj is there for k in C_m only",
    r"_kj <= 0 if \( k , j \) notin E": "shares are at least 0 as it is",
    r"hadar.offline, \w+: .*for all j , t$": "before a job arrives nothing of it exists, and both sides are 0",
    r"hadar.offline, complete": "before a job arrives nothing of it exists",
    r"hadar.(schedules|round|dual), \w+: .*(sum_[so] |for all j , [so]$)": "s and o are those of job j: `j,s`, `j,o`",
    r"hare.exact, assign: .*for all i , m$": "there is no y_im for other m",
    r"hare.time_indexed(_lp)?, finished: .*for all r , t$": "there is no F_rt for other t",
    r"gavel.bottleneck, (can_rise|rises): .*(for all m$|sum_m b_m)": "there is no b_m for other m",
    r"build_ratio, slo": "gavel.min_cost has no SLOs; gavel.min_cost_slo, which has this statement too, tells it",
}
"""What says the same as before, as a pattern, and why."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Pyomo's messages on models that cannot be built are not of interest."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def statements() -> list[Mutant]:
    """Every changed line."""
    return [each for formulation in FORMULATIONS for each in statement_mutants(each_way(formulation, 4))]


def models() -> list[Mutant]:
    """Every changed model."""
    return [each for formulation in FORMULATIONS for each in model_mutants(each_way(formulation, 4))]


def untold(mutants: list[Mutant]) -> tuple[int, list[str]]:
    """How many are explained, and those that are neither told nor explained."""
    silent = [str(each) for each in mutants if not each.told()]
    bare = [each for each in silent if not any(re.search(pattern, each) for pattern in EXPLAINED)]
    return len(silent) - len(bare), bare


def test_drawn_changes_of_statements_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    seed = 0 if os.environ.get("CI") else int(time.time())
    every = statements()
    with capsys.disabled():
        print(f"\n{DRAWN} of {len(every)} changes of statements, seed {seed}")
    drawn = np.random.default_rng(seed).choice(len(every), DRAWN, replace=False)
    assert untold([every[spot] for spot in drawn])[1] == []


@pytest.mark.long
@pytest.mark.parametrize("changes", [statements, models])
def test_every_change_is_told_or_explained(
    changes: Callable[[], list[Mutant]], capsys: pytest.CaptureFixture[str]
) -> None:
    every = changes()
    explained, bare = untold(every)
    with capsys.disabled():
        told = len(every) - explained - len(bare)
        print(f"\n{changes.__name__}: {len(every)} changes, {told} told, {explained} explained")
    assert bare == []
    assert explained <= MOST_EXPLAINED * len(every)
