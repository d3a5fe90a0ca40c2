"""The look-up rules of throughputs, one by one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import ScenarioError
from workbench.scenario.cluster import Accelerator, Cluster, NodeGroup
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import ColocatedRow, Scaling, ThroughputRow, Throughputs


def make_cluster() -> Cluster:
    return Cluster(
        accelerators=(Accelerator(name="v100"), Accelerator(name="k80"), Accelerator(name="idle")),
        nodes=(
            NodeGroup(name="big", accelerator="v100", gpus=4, count=2),
            NodeGroup(name="small", accelerator="v100", gpus=2, count=1),
            NodeGroup(name="old", accelerator="k80", gpus=2, count=2, speed=0.5),
        ),
    )


def speed(accelerator: str, gpus: int, steps_per_s: float, **rest: object) -> ThroughputRow:
    return ThroughputRow.model_validate(
        {"model": "m", "accelerator": accelerator, "gpus": gpus, "steps_per_s": steps_per_s, **rest}
    )


def table(*rows: ThroughputRow, colocated: tuple[ColocatedRow, ...] = (), **scaling: object) -> Throughputs:
    return Throughputs(make_cluster(), rows, colocated, Scaling.model_validate(scaling))


def test_a_missing_row_and_a_zero_cannot_run() -> None:
    speeds = table(speed("v100", 1, 4.0), speed("k80", 1, 0.0))
    assert speeds.row("m", "v100", 1) == 4.0
    assert speeds.row("m", "k80", 1) == 0.0
    assert speeds.row("m", "v100", 2) == 0.0
    assert speeds.row("m", "idle", 1) == 0.0
    assert speeds.row("other", "v100", 1) == 0.0


def test_exact_nodes_come_before_the_word_and_the_word_before_consolidated() -> None:
    speeds = table(
        speed("v100", 4, 10.0),
        speed("v100", 4, 7.0, placement="unconsolidated"),
        speed("v100", 4, 5.0, placement="unconsolidated", nodes=3),
    )
    assert speeds.row("m", "v100", 4) == 10.0
    assert speeds.row("m", "v100", 4, "unconsolidated") == 7.0
    assert speeds.row("m", "v100", 4, "unconsolidated", nodes=2) == 7.0
    assert speeds.row("m", "v100", 4, "unconsolidated", nodes=3) == 5.0


def test_a_row_for_exact_nodes_holds_whatever_word_it_carries() -> None:
    speeds = table(speed("v100", 4, 10.0), speed("v100", 4, 6.0, nodes=2))
    assert speeds.on_nodes("m", {"big-0": 2, "big-1": 2}) == 6.0
    assert speeds.on_nodes("m", {"big-0": 4}) == 10.0


def test_the_consolidated_row_stands_in_for_a_missing_unconsolidated_one() -> None:
    assert table(speed("v100", 4, 10.0)).row("m", "v100", 4, "unconsolidated", nodes=4) == 10.0


def test_unconsolidated_may_be_faster_or_impossible() -> None:
    speeds = table(
        speed("v100", 2, 3.0),
        speed("v100", 2, 4.0, placement="unconsolidated"),
        speed("k80", 2, 3.0),
        speed("k80", 2, 0.0, placement="unconsolidated"),
    )
    assert speeds.row("m", "v100", 2, "unconsolidated") == 4.0
    assert speeds.row("m", "k80", 2, "unconsolidated") == 0.0


def test_consolidated_means_the_fewest_nodes_that_could_hold_the_gang() -> None:
    speeds = table()
    assert speeds.word("v100", 4, 1) == "consolidated"
    assert speeds.word("v100", 4, 2) == "unconsolidated"
    assert speeds.word("v100", 8, 2) == "consolidated"
    assert speeds.word("v100", 9, 3) == "consolidated"
    assert speeds.word("v100", 11, 3) == "unconsolidated"


def test_a_gang_on_one_type_runs_at_its_row_times_the_node_speed() -> None:
    speeds = table(speed("v100", 4, 10.0), speed("v100", 4, 6.0, placement="unconsolidated"), speed("k80", 2, 3.0))
    assert speeds.on_nodes("m", {"big-0": 4}) == 10.0
    assert speeds.on_nodes("m", {"big-0": 2, "big-1": 2}) == 6.0
    assert speeds.on_nodes("m", {"old-0": 2}) == 1.5
    assert speeds.on_nodes("m", {"old-0": 2}, node_speeds=False) == 3.0
    assert speeds.on_nodes("m", {}) == 0.0


def test_a_mixed_gang_runs_at_n_times_its_slowest_gpu() -> None:
    speeds = table(speed("v100", 3, 9.0), speed("k80", 3, 6.0))
    # A V100 GPU does 9/3, a K80 GPU 6/3 x 0.5: three times the slower one.
    assert speeds.on_nodes("m", {"big-0": 2, "old-0": 1}) == pytest.approx(3 * (6.0 / 3 * 0.5))
    assert speeds.on_nodes("m", {"big-0": 2, "old-0": 1}, node_speeds=False) == pytest.approx(6.0)


def test_a_mixed_gang_cannot_run_where_one_type_cannot() -> None:
    assert table(speed("v100", 3, 9.0)).on_nodes("m", {"big-0": 2, "old-0": 1}) == 0.0


def test_no_scaling_law_by_default() -> None:
    assert table(speed("v100", 2, 8.0)).row("m", "v100", 4) == 0.0


def test_the_power_law_starts_from_the_largest_count_below() -> None:
    speeds = table(speed("v100", 1, 4.0), speed("v100", 2, 7.0), law="power", efficiency=0.9)
    assert speeds.row("m", "v100", 8) == pytest.approx(7.0 * (2 * 0.9) ** 2)
    assert speeds.row("m", "v100", 3) == pytest.approx(7.0 * 1.5 ** (1 + math.log2(0.9)))
    assert speeds.row("m", "v100", 2) == 7.0


def test_the_power_law_goes_down_where_nothing_smaller_is_listed() -> None:
    speeds = table(speed("v100", 4, 16.0), law="power", efficiency=1.0)
    assert speeds.row("m", "v100", 1) == pytest.approx(4.0)


def test_the_power_law_does_not_invent_a_model_or_a_type() -> None:
    speeds = table(speed("v100", 1, 4.0), law="power")
    assert speeds.row("m", "k80", 1) == 0.0
    assert speeds.row("other", "v100", 1) == 0.0


def test_an_exact_consolidated_row_comes_before_the_law_on_unconsolidated_rows() -> None:
    rows = (speed("v100", 2, 7.0, placement="unconsolidated"), speed("v100", 4, 10.0))
    assert table(*rows, law="power").row("m", "v100", 4, "unconsolidated") == 10.0


@given(st.integers(1, 64), st.floats(0.5, 1.0))
def test_a_doubling_keeps_the_efficiency(gpus: int, efficiency: float) -> None:
    speeds = table(speed("v100", 1, 3.0), law="power", efficiency=efficiency)
    once, twice = speeds.row("m", "v100", gpus), speeds.row("m", "v100", 2 * gpus)
    assert twice == pytest.approx(2 * efficiency * once)


def test_pairs_are_symmetric() -> None:
    pair = ColocatedRow(model="a", with_model="b", accelerator="v100", steps_per_s=2.0, with_steps_per_s=1.5)
    speeds = table(colocated=(pair,))
    assert speeds.pair_row("a", "b", "v100", 1) == (2.0, 1.5)
    assert speeds.pair_row("b", "a", "v100", 1) == (1.5, 2.0)
    assert speeds.pair_row("a", "a", "v100", 1) is None
    assert speeds.pair_row("a", "b", "k80", 1) is None
    assert speeds.pair_row("a", "b", "v100", 2) is None


def test_a_pair_falls_back_on_its_consolidated_row_and_takes_the_slowest_node() -> None:
    pairs = (
        ColocatedRow(model="a", with_model="b", accelerator="v100", gpus=2, steps_per_s=4.0, with_steps_per_s=3.0),
        ColocatedRow(model="a", with_model="b", accelerator="k80", gpus=2, steps_per_s=2.0, with_steps_per_s=2.0),
    )
    speeds = table(colocated=pairs)
    assert speeds.pair_row("a", "b", "v100", 2, "unconsolidated") == (4.0, 3.0)
    assert speeds.pair_on_nodes("a", "b", {"big-0": 1, "old-0": 1}) == (1.0, 1.0)
    assert speeds.pair_on_nodes("a", "c", {"big-0": 1, "old-0": 1}) is None


def test_a_pair_of_one_model_with_itself() -> None:
    pair = ColocatedRow(model="a", with_model="a", accelerator="v100", steps_per_s=2.0, with_steps_per_s=2.0)
    assert table(colocated=(pair,)).pair_row("a", "a", "v100", 1) == (2.0, 2.0)


def test_the_matrix_is_jobs_by_types_in_the_clusters_order() -> None:
    speeds = table(speed("v100", 1, 4.0), speed("k80", 1, 1.0), speed("v100", 2, 7.0))
    assert speeds.matrix(["m", "m"], [1, 2]).tolist() == [[4.0, 1.0], [7.0, 0.0]]
    assert speeds.matrix([], []).shape == (0, 2)


def test_synchronisation_is_told_where_the_table_says_it() -> None:
    speeds = table(speed("v100", 2, 7.0, sync_s=0.1), speed("v100", 4, 7.0))
    assert speeds.sync_s("m", "v100", 2) == 0.1
    assert speeds.sync_s("m", "v100", 4) is None


def test_a_consolidated_gang_takes_the_row_of_its_number_of_nodes() -> None:
    """Two nodes of one GPU: the fewest nodes that hold two GPUs are two, and the row for two nodes is its speed."""
    data = {
        "cluster": {
            "accelerators": [{"name": "t"}],
            "nodes": [{"name": "n", "accelerator": "t", "gpus": 1, "count": 2}],
        },
        "jobs": [{"name": "j", "model": "m", "steps": 10, "gpus": 2}],
        "throughputs": [{"model": "m", "accelerator": "t", "gpus": 2, "nodes": 2, "steps_per_s": 3}],
    }
    scenario = Scenario.from_dict(data)
    assert scenario.table.matrix(["m"], [2]).tolist() == [[3.0]]
    scenario.require_runnable()
    data["throughputs"] = [
        {"model": "m", "accelerator": "t", "gpus": 2, "placement": "unconsolidated", "steps_per_s": 3}
    ]
    with pytest.raises(ScenarioError, match="can run nowhere"):  # no placement of two GPUs here is unconsolidated
        Scenario.from_dict(data).require_runnable()
