"""The tables for students, by hand and against the plans they tell of."""

import numpy as np
import pytest

from tests.papers.hops.plan_support import job, scenario
from workbench.papers.hops.instance import HopsInstance, JobConfigurations
from workbench.papers.hops.lessons.tables import queue_table, sizes_by_lambda
from workbench.papers.hops.lessons.two_jobs import two_jobs
from workbench.papers.hops.scheduler import Hops
from workbench.session.api import snapshot_at

KNOBS = Hops().settle({})


def table_1():
    """The jobs of the paper's Table 1, throughputs 10 times as large."""
    rows = {"job 1": (10, 18, 26), "job 2": (20, 10, 30, 41), "job 3": (12, 16, 10), "job 4": (10, 18, 32)}
    return HopsInstance.of(
        {f"s{i}": 8 for i in range(4)},
        [
            JobConfigurations(name, float(i), [({f"s{j}": i + 1}, float(speed)) for j, speed in enumerate(speeds)])
            for i, (name, speeds) in enumerate(rows.items(), start=1)
        ],
    )


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
    assert not queue_table(snapshot_at(made), {**KNOBS, "service_window": False})["window"].eq(False).any()


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
