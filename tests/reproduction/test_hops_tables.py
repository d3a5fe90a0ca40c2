"""The tables for students, by hand and against the plans they tell of."""

import numpy as np
import pandas as pd
import pytest

from reproduction.hops.tables import (
    configurations_of,
    frontier,
    gain_matrix,
    queue_table,
    sizes_by_lambda,
)
from tests.papers.hops.plan_support import job, random_round, scenario
from workbench.base.errors import InputError
from workbench.papers.hops.instance import HopsInstance, JobConfigurations
from workbench.papers.hops.lessons.two_jobs import two_jobs
from workbench.papers.hops.scheduler import Hops
from workbench.scenario.presets import preset
from workbench.session.api import snapshot_at

KNOBS = Hops().settle({})


def table_1():
    """The gain matrix of the paper's Table 1, from throughputs 10 times as large."""
    rows = {"job 1": (10, 18, 26), "job 2": (20, 10, 30, 41), "job 3": (12, 16, 10), "job 4": (10, 18, 32)}
    return HopsInstance.of(
        {f"s{i}": 8 for i in range(4)},
        [
            JobConfigurations(name, float(i), [({f"s{j}": i + 1}, float(speed)) for j, speed in enumerate(speeds)])
            for i, (name, speeds) in enumerate(rows.items(), start=1)
        ],
    )


def test_gain_matrix_is_table_1_of_the_paper():
    expected = [[1, 1.8, 2.6, np.nan], [2, 1, 3, 4.1], [1.2, 1.6, 1, np.nan], [1, 1.8, 3.2, np.nan]]
    found = gain_matrix(table_1())
    assert found.columns.tolist() == [f"config {i}" for i in range(1, 5)]
    np.testing.assert_allclose(found.to_numpy(), expected)


def test_weights_by_lambda_by_hand():
    """Priorities 1 to 4, none below 0: no bias."""
    expected = {0.0: [1, 1, 1, 1], 1.0: [0.25, 0.5, 0.75, 1.0], 2.0: [1 / 16, 1 / 4, 9 / 16, 1.0]}
    for power, scaled in expected.items():
        np.testing.assert_allclose(table_1().weights(power).scaled, scaled)


def test_queue_table_by_hand():
    """Nobody has waited at 0 s: the order is the list's. 4 GPUs: b reaches them and is the last inside."""
    made = scenario([job("a", sizes=(2,)), job("b", sizes=(3,)), job("c", sizes=(1, 2))])
    found = queue_table(snapshot_at(made), KNOBS)
    assert found["job"].tolist() == ["a", "b", "c"]
    assert found["least_gpus"].tolist() == [2, 3, 1] and found["summed_gpus"].tolist() == [2, 5, 6]
    assert found["window"].tolist() == [True, True, False]
    assert found["sensitivity"].tolist() == [2.0, 2.0, 2.0] and found["sensitive"].all()
    assert found["adjusted"].tolist() == [True, True, False], "nobody is less sensitive than the rest"
    assert not queue_table(snapshot_at(made), {**KNOBS, "window": False})["window"].eq(False).any()


def test_configurations_of_a_job_by_hand():
    """Two servers of 2, sizes 1 and 2 at as many steps/s; sensitive (2 > 1.4): aggregated ones alone."""
    made = scenario([job("a", sizes=(1, 2))])
    found = configurations_of(snapshot_at(made), "a", KNOBS)
    assert found["gpus"].tolist() == [1, 1, 2, 2] and set(found["kind"]) == {"aggregated"}
    assert found["gain"].tolist() == [1.0, 1.0, 2.0, 2.0]
    assert found["learning_rate_linear"].tolist() == [1.0, 1.0, 2.0, 2.0]
    np.testing.assert_allclose(found["learning_rate_square_root"], [1.0, 1.0, 2**0.5, 2**0.5])
    scaled = configurations_of(snapshot_at(made), "a", KNOBS, rates={2: 0.1})
    assert scaled["learning_rate_linear"].tolist() == [0.05, 0.05, 0.1, 0.1]
    chosen = configurations_of(snapshot_at(made), "a", KNOBS, rates={1: 0.1, 2: 0.3})
    for rule in ("linear", "square_root"):
        assert chosen[f"learning_rate_{rule}"].tolist() == [0.1, 0.1, 0.3, 0.3], "as the user says"
    with pytest.raises(InputError, match="learning rates: got 3"):
        configurations_of(snapshot_at(made), "a", KNOBS, rates={3: 0.1})
    spread = configurations_of(snapshot_at(made), "a", {**KNOBS, "sigma": 2.0})
    last = spread[spread["kind"] == "distributed"]
    assert last["gpus"].tolist() == []
    large = scenario([job("a", sizes=(3,))])
    only = configurations_of(snapshot_at(large), "a", {**KNOBS, "sigma": 2.0})
    assert only[["kind", "servers"]].to_numpy().tolist() == [["distributed", 2]] * len(only) and len(only) >= 1
    with pytest.raises(InputError, match="nobody"):
        configurations_of(snapshot_at(made), "nobody", KNOBS)


@pytest.mark.parametrize("seed", range(12))
def test_the_frontier_has_its_most_gain_at_lambda_0(seed):
    data = random_round(seed, least_idle=1)
    found = frontier(data, [0.0, 1.0, 2.0, np.inf], {"gap": 0.0})
    assert found["gain"].iloc[0] >= found["gain"].max() - 1e-6
    assert found["priority_served"].dropna().between(0.0, 1.0 + 1e-9).all()
    assert pd.isna(found["objective"].iloc[3])
    if data.able.any():
        classes = data.priority[data.able]
        first = found["first_waiting"].iloc[3]
        assert pd.isna(first) or 1.0 <= first <= len(classes)


def test_the_frontier_of_a_crowded_moment_moves_with_lambda():
    """Two GPUs. a (first) gains 1 on both, b and c 1 on one each: lambda 0 serves b and c, infinity a first."""
    data = HopsInstance.of(
        {"s": 2},
        [
            JobConfigurations("a", 9.0, [({"s": 2}, 1.0)]),
            JobConfigurations("b", 2.0, [({"s": 1}, 1.0)]),
            JobConfigurations("c", 1.0, [({"s": 1}, 1.0)]),
        ],
    )
    found = frontier(data, [0.0, 1.0, np.inf], {"gap": 0.0}).set_index("lambda")
    assert found["gain"].tolist() == [2.0, 1.0, 1.0]
    np.testing.assert_allclose(found["priority_served"], [0.25, 0.75, 0.75])
    assert found["first_waiting"].tolist() == [1.0, 2.0, 2.0] and found["gpus"].tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("data", "turn"), [(two_jobs(), np.log(1.6) / np.log(3)), (two_jobs(2.0), np.log(1.6) / np.log(1.5))]
)
def test_sizes_turn_at_the_lambda_found_by_hand(data, turn):
    """0.5 * 3^lambda > 0.8 * (priority of b)^lambda: a gets the second GPU."""
    found = sizes_by_lambda(data, [0.0, turn - 0.02, turn + 0.02, np.inf], {"gap": 0.0})
    assert found.columns.tolist() == ["a", "b"] and found.index.name == "lambda"
    assert found.to_numpy().tolist() == [[1, 2], [1, 2], [2, 1], [2, 1]]


def test_with_room_for_all_lambda_changes_no_size():
    assert (sizes_by_lambda(two_jobs(gpus=4), [0.0, 1.0, np.inf], {"gap": 0.0}) == 2).all(axis=None)


def test_a_job_that_waits_has_size_0():
    options = [JobConfigurations("first", 2.0, [({"s": 1}, 1.0)]), JobConfigurations("second", 1.0, [({"s": 1}, 1.0)])]
    assert sizes_by_lambda(HopsInstance.of({"s": 1}, options), [1.0], {"gap": 0.0}).to_numpy().tolist() == [[1, 0]]


def test_frontier_of_the_papers_cluster():
    made = preset("hops_64")
    found = frontier(HopsInstance.from_snapshot(snapshot_at(made, 9000.0), KNOBS), [0.0, 1.0, np.inf], KNOBS)
    assert len(found) == 3 and (found["gpus"] <= 64).all() and (found["gain"] > 0).all()
