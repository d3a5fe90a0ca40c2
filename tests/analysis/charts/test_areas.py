"""Logical clusters over time, stacked: sizes that add up, and who holds GPUs for what."""

from __future__ import annotations

import pandas as pd
import pytest

from workbench.analysis.charts import logical_clusters, to_svg

SIZES = pd.DataFrame(
    [
        (0.0, "spot", 12.0),
        (0.0, "profiling", 4.0),
        (0.0, "guaranteed", 0.0),
        (600.0, "guaranteed", 8.0),
        (600.0, "spot", 4.0),
        (900.0, "profiling", 2.0),
        (900.0, "spot", 6.0),
    ],
    columns=["time_s", "cluster", "gpus"],
)


def test_areas_stand_on_each_other_and_a_size_holds_until_it_changes() -> None:
    areas = logical_clusters(SIZES, gpus=16, end_s=1200.0).data["logical_clusters"]
    assert list(dict.fromkeys(areas["cluster"])) == ["profiling", "guaranteed", "spot"], "from the bottom to the top"
    at = {time: part.set_index("cluster")[["low", "high"]].T.to_dict("list") for time, part in areas.groupby("time_s")}
    assert at[0.0] == {"profiling": [0, 4], "guaranteed": [4, 4], "spot": [4, 16]}
    assert at[600.0] == {"profiling": [0, 4], "guaranteed": [4, 12], "spot": [12, 16]}
    assert at[900.0] == at[1200.0] == {"profiling": [0, 2], "guaranteed": [2, 10], "spot": [10, 16]}


def test_with_very_many_changes_means_of_bins_keep_the_gpu_time() -> None:
    many = pd.DataFrame(
        [
            (float(t), cluster, float((t * k) % 7))
            for t in range(5000)
            for k, cluster in ((3, "spot"), (5, "guaranteed"))
        ],
        columns=["time_s", "cluster", "gpus"],
    )
    drawing = logical_clusters(many, gpus=16, end_s=5000.0)
    areas = drawing.data["logical_clusters"]
    assert areas.groupby("cluster").size().max() <= 2001 and "means over bins" in drawing.named()["title"]["subtitle"]
    for cluster, part in areas.groupby("cluster"):
        seconds = part["time_s"].diff().shift(-1).fillna(0.0)
        assert (part["gpus"] * seconds).sum() == pytest.approx(many[many["cluster"] == cluster]["gpus"].sum())
    spot = areas[areas["cluster"] == "spot"]
    assert (spot["high"] - spot["low"]).tolist() == pytest.approx(spot["gpus"].tolist())


def test_nothing_to_show_is_said() -> None:
    assert "Nothing ran" in to_svg(logical_clusters(SIZES.head(0), gpus=4, end_s=10.0))
