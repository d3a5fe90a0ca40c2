"""The gain matrix as a table: read back from a run's signals, the best of each size, what jobs have run at."""

from __future__ import annotations

import pandas as pd
from chart_tables import interval, timeline

from workbench.analysis.charts import configurations_had, gain_matrix, gains_table, is_gain, to_svg

SIGNALS = pd.DataFrame(
    [
        ("priority", "a", 1.0),
        ("gain of 1 x a on b on 1", "a", 1.0),
        ("gain of 2 x a on b on 1", "a", 1.5),
        ("gain of 2 x v100 on 2", "a", 1.25),
        ("gain of 2 x v100 on 1", "a", 3.0),
        ("gain of 2 x v100 on 1", "c", 1.0),
        ("gain", "a", 9.0),
    ],
    columns=["signal", "job", "value"],
).assign(decision=0)


def test_a_name_is_read_back_whatever_the_type_is_called() -> None:
    assert is_gain(SIGNALS).tolist() == [False] + [True] * 5 + [False]
    assert gains_table(SIGNALS).to_numpy().tolist() == [
        ["a", "a on b", 1, 1, 1.0],
        ["a", "a on b", 2, 1, 1.5],
        ["a", "v100", 2, 2, 1.25],
        ["a", "v100", 2, 1, 3.0],
        ["c", "v100", 2, 1, 1.0],
    ]


def test_what_was_recorded_last_of_a_job_counts() -> None:
    later = pd.DataFrame([("gain of 4 x v100 on 1", "a", 6.0)], columns=["signal", "job", "value"]).assign(decision=3)
    found = gains_table(pd.concat([SIGNALS, later], ignore_index=True)).to_numpy().tolist()
    assert found == [["c", "v100", 2, 1, 1.0], ["a", "v100", 4, 1, 6.0]]


def cells(drawing: object) -> list[list[object]]:
    found: list[list[object]] = drawing.data["cells"][["name", "gpus", "gain"]].to_numpy().tolist()  # type: ignore[attr-defined]
    return found


def test_of_each_size_the_best_counts() -> None:
    drawing = gain_matrix(gains_table(SIGNALS))
    assert drawing.named() == drawing.chart.to_dict(validate=True) and to_svg(drawing).startswith("<svg")
    assert cells(drawing) == [["a", 1, 1.0], ["a", 2, 3.0], ["c", 2, 1.0]]
    assert drawing.data["cells"]["kind"].tolist() == ["a on b, 1 server", "v100, 1 server", "v100, 1 server"]
    assert drawing.data["sizes"]["text"].tolist() == ["1", "2"]
    assert len(drawing.table) == 5, "the numbers behind it are all of them"


def test_of_one_job_each_type_and_number_of_servers_has_a_row() -> None:
    drawing = gain_matrix(gains_table(SIGNALS), selected="a")
    assert cells(drawing) == [
        ["a on b, 1 server", 1, 1.0],
        ["a on b, 1 server", 2, 1.5],
        ["v100, 1 server", 2, 3.0],
        ["v100, 2 servers", 2, 1.25],
    ]
    assert "Gain of a by number of GPUs, type and servers" in drawing.named()["title"]["text"]
    assert cells(gain_matrix(gains_table(SIGNALS), selected="gone")) == cells(gain_matrix(gains_table(SIGNALS)))


TIMELINE = timeline(
    interval("a-0", 0, "a", 0, 100, gpus=2),
    interval("a-1", 0, "a", 0, 100, gpus=2),
    interval("b-0", 0, "c", 0, 50),
    interval("a-0", 0, "a", 100, 110, "restart"),
    interval("a-0", 0, "a", 110, 400),
    interval("a-0", 0, "c #0", 400, 420, "profile"),
)


def test_what_jobs_have_run_at_with_the_longest_first() -> None:
    assert configurations_had(TIMELINE).to_numpy().tolist() == [
        ["a", "v100", 1, 1, 290.0],
        ["a", "v100", 2, 2, 100.0],
        ["c", "k80", 1, 1, 50.0],
    ]


def test_what_was_had_is_framed() -> None:
    """Also where its gain was not recorded (a on 1 v100), but not where the table has no such row or column."""
    had = configurations_had(TIMELINE)
    whole, one = (gain_matrix(gains_table(SIGNALS), selected=job, had=had) for job in (None, "a"))
    assert sorted(whole.data["frames"].to_numpy().tolist()) == [["a", 0, 0], ["a", 0, 1], ["c", 1, 0]]
    names, frames = one.data["names"].set_index("row")["text"], one.data["frames"]
    assert [(names[row], column) for row, column in zip(frames["row"], frames["column"], strict=True)] == [
        ("v100, 1 server", 0),
        ("v100, 2 servers", 1),
    ]
    alone = gain_matrix(gains_table(SIGNALS), selected="c", had=had)
    assert alone.data["frames"].empty, "c ran on 1 k80"
    assert "framed" in whole.named()["title"]["subtitle"]


def test_without_gains_the_chart_says_so() -> None:
    drawing = gain_matrix(gains_table(SIGNALS.head(1)))
    assert drawing.data["message"]["text"].tolist() == ["No gains"] and to_svg(drawing).startswith("<svg")
