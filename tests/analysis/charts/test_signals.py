"""Recorded signals over time, and the parts of entities."""

from __future__ import annotations

import pandas as pd
import pytest
from chart_tables import interval, jobs_named, timeline

from workbench.analysis.charts import entities, signals, to_svg


def recorded(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["signal", "job", "time_s", "value"])


def test_each_line_ends_with_its_job() -> None:
    table = recorded(("rho", "a", 0.0, 1.0), ("rho", "b", 0.0, 2.0), ("rho", "a", 100.0, 1.5))
    drawing = signals(table, jobs_named({"a": 150.0, "b": None}), end_s=200.0)
    drawing.chart.to_dict(validate=True)
    lines = drawing.data["lines"]
    ends = lines.groupby("job").agg(end=("time_s", "max"), value=("value", "last"))
    assert ends["end"].to_dict() == {"a": 150.0, "b": 200.0}
    assert ends["value"].to_dict() == {"a": 1.5, "b": 2.0}
    assert drawing.table.equals(table)


def test_tiny_weights_are_labelled_in_scientific_notation() -> None:
    table = recorded(("weight", "a", 0.0, 0.0), ("weight", "a", 50.0, 4e-8))
    svg = to_svg(signals(table, jobs_named({"a": 100.0}), end_s=100.0))
    assert ">1e-8<" in svg and ">0<" in svg and "0.0000" not in svg
    assert ">1,000<" in to_svg(signals(table.assign(value=[0.0, 4e3]), jobs_named({"a": 100.0}), end_s=100.0))


def test_several_signals_differ_by_pattern_and_many_jobs_have_no_legend() -> None:
    names = {f"j{i}": 10.0 for i in range(30)}
    rows = [(signal, job, 0.0, 1.0) for signal in ("rho", "level") for job in names]
    spec = signals(recorded(*rows), jobs_named(names), end_s=10.0).chart.to_dict(validate=True)
    found = next(layer["encoding"] for layer in spec["layer"] if "strokeDash" in layer["encoding"])
    assert found["strokeDash"]["scale"]["domain"] == ["rho", "level"]
    assert found["color"]["legend"] is None


def test_more_decisions_than_can_be_drawn_are_thinned() -> None:
    table = recorded(*(("rho", "a", float(t), 1.0) for t in range(5000)))
    drawing = signals(table, jobs_named({"a": 5000.0}), end_s=5000.0)
    assert len(drawing.data["lines"]) <= 401
    assert len(drawing.table) == 5000


def test_parts_of_entities_by_hand() -> None:
    """Two GPUs to x's job, then one to each, then one GPU shared by a pair of both."""
    table = timeline(
        interval("a", 0, "p", 0, 100),
        interval("a", 1, "p", 0, 100),
        interval("a", 0, "p", 100, 200),
        interval("a", 1, "q", 100, 200),
        interval("a", 0, "p + q", 200, 300),
    )
    given = jobs_named({"p": 300.0, "q": 300.0}).assign(entity=["x", ""])
    drawing = entities(table, given, end_s=300.0)
    drawing.chart.to_dict(validate=True)
    wide = drawing.table.pivot(index="x", columns="group", values="value")
    assert list(wide.columns) == ["q", "x"]
    assert wide["x"].tolist() == pytest.approx([2, 1, 0.5, 0])
    assert wide["q"].tolist() == pytest.approx([0, 1, 0.5, 0])
