"""What a chart sends: columns as bytes, only what changed, and the Vega programs once."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import ipywidgets
import numpy as np
import pandas as pd
import pytest
import traitlets
import vl_convert

from widgets.parts import assets
from widgets.parts.vega_view import VegaView, data_names, encode_column, encode_table

pytestmark = pytest.mark.usefixtures("heard")


@pytest.fixture(autouse=True)
def fresh_kernel() -> Iterator[None]:
    yield
    ipywidgets.Widget.close_all()


@pytest.fixture
def bars() -> pd.DataFrame:
    return pd.DataFrame({"job": ["a", "b", "a"], "start_s": [0.0, 1.5, 3.0], "slot": [0, 1, 2]})


def gantt(height: int = 100) -> alt.Chart:
    selected = alt.param(name="selected", value=None)
    return (
        alt.Chart(alt.NamedData("bars"), height=height)
        .mark_bar()
        .encode(x="start_s:Q", y="slot:O", color="job:N")
        .add_params(selected)
    )


def sent(view: VegaView, action: Any) -> list[str]:
    """Return the names of the synchronised values that an action changes."""
    names: list[str] = []
    view.observe(lambda change: names.append(change["name"]), traitlets.All)
    action()
    view.unobserve_all()
    return [name for name in names if name in view.keys]


def decoded(column: dict[str, Any]) -> list[Any]:
    """Read a column as vega_view.js does."""
    kind, values = column["kind"], column["values"]
    if kind == "json":
        return list(values)
    numbers = np.frombuffer(values, {"i4": "<i4", "text": "<i4", "bool": "u1"}.get(kind, "<f8")).tolist()
    if kind == "text":
        return [None if code < 0 else column["levels"][code] for code in numbers]
    return [bool(x) if kind == "bool" else x if math.isfinite(x) else None for x in numbers]


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        (pd.Series([1, 2, -3]), "i4", [1, 2, -3]),
        (pd.Series([1, 2**40]), "f8", [1, 2**40]),
        (pd.Series([1.5, np.nan, np.inf, -np.inf]), "f8", [1.5, None, None, None]),
        (pd.Series([1, None], dtype="Int64"), "f8", [1, None]),
        (pd.Series([True, False]), "bool", [True, False]),
        (pd.Series(["x", None, "y", "x"]), "text", ["x", None, "y", "x"]),
        (pd.Series(["x", "y"], dtype="category"), "text", ["x", "y"]),
        (pd.Series(["x", pd.NA], dtype="string"), "text", ["x", None]),
        (pd.Series(pd.to_datetime(["1970-01-02", None])), "local", [86_400_000, None]),
        (pd.Series(pd.to_datetime(["1970-01-01T01:00+01:00", None], utc=True)), "utc", [0, None]),
        (pd.Series(pd.to_timedelta(["90s", None])), "f8", [90, None]),
        (pd.Series([1, "a", None, math.nan, np.float64(2.5)], dtype=object), "json", [1, "a", None, None, 2.5]),
        (pd.Series([["a", math.inf], {"k": np.int64(3)}]), "json", [["a", None], {"k": 3}]),
        (pd.Series([pd.Timestamp("2020-01-01"), True], dtype=object), "json", ["2020-01-01T00:00:00", True]),
        (pd.Series([], dtype=object), "text", []),
        (pd.Series([], dtype="int64"), "i4", []),
    ],
)
def test_every_kind_of_column_reads_back(values: pd.Series[Any], kind: str, read: list[Any]) -> None:
    column = encode_column("c", values)
    assert column["kind"] == kind
    assert decoded(column) == read
    json.dumps({key: value for key, value in column.items() if key != "values" or kind == "json"}, allow_nan=False)


def test_table_is_small_on_the_wire() -> None:
    n = 20_000
    table = pd.DataFrame(
        {"slot": np.arange(n), "start_s": np.arange(n) / 7, "job": [f"job {i % 50}" for i in range(n)]}
    )
    encoded = encode_table(table)
    size = sum(len(column["values"]) for column in encoded["columns"])
    assert encoded["rows"] == n
    assert size == n * (4 + 8 + 4)


def test_showing_the_same_chart_again_sends_only_new_data(bars: pd.DataFrame) -> None:
    view = VegaView(gantt(), {"bars": bars, "unused": bars})
    assert view._names == ["bars"]
    assert sent(view, lambda: view.show(gantt(), {"bars": bars})) == []
    assert sent(view, lambda: view.show(gantt(), {"bars": bars.head(2)})) == ["_data_bars"]
    assert sent(view, lambda: view.show(gantt(200), {"bars": bars.head(2)})) == ["_spec"]
    assert sent(view, lambda: view.show(gantt(200), {"bars": bars.head(2)}, selected="a")) == ["selected"]
    assert sent(view, lambda: view.show(gantt(200))) == ["_data_bars"], "a missing table is an empty one"
    assert view.selected == "a"
    assert view.spec["height"] == 200


def test_state_holds_data_as_buffers_and_no_program(bars: pd.DataFrame) -> None:
    view = VegaView(gantt(), {"bars": bars})
    state = view.get_state()
    assert {column["name"] for column in state["_data_bars"]["columns"]} == {"job", "start_s", "slot"}
    assert all(isinstance(column["values"], bytes) for column in state["_data_bars"]["columns"])
    own = len(view._esm) + len(view._css)
    assert own < 40_000, "the Vega programs do not belong into each chart"


def test_programs_are_carried_once_per_kernel(bars: pd.DataFrame) -> None:
    first, second = VegaView(gantt(), {"bars": bars}), VegaView(gantt(), {"bars": bars})
    assert first._programs is second._programs is assets.vega_programs()
    assert b"vega" in gzip.decompress(first._programs.code)
    assert len(first._programs.code) < 400_000
    ipywidgets.Widget.close_all()
    assert VegaView(gantt())._programs is not first._programs


def test_bundle_is_kept_in_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made: list[str] = []
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda *a: made.append("bundle") or "export {};")
    assets.vega_bundle.__wrapped__()
    code = assets.vega_bundle.__wrapped__()
    assert made == ["bundle"]
    (kept,) = (tmp_path / "workbench").iterdir()
    kept.write_bytes(b"damaged")
    assert assets.vega_bundle.__wrapped__() == code
    assert made == ["bundle", "bundle"]


def test_bundle_without_a_writable_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda *a: "export {};")
    assert gzip.decompress(assets.vega_bundle.__wrapped__()) == b"export {};"


def test_names_of_tables_that_a_chart_refers_to() -> None:
    own = {"data": {"name": "inline", "values": [{"data": {"name": "decoy"}}]}}
    spec = {
        "data": {"name": "outer"},
        "layer": [{"data": {"name": "inner"}}, own, {"data": {"name": "shared"}}],
        "transform": [{"lookup": "job", "from": {"data": {"name": "jobs"}, "key": "job"}}],
        "datasets": {"shared": []},
    }
    assert data_names(spec) == {"outer", "inner", "jobs"}


def test_a_chart_built_twice_is_the_same_chart() -> None:
    """`show` redraws when the specification differs: Altair's automatic names must not make it differ."""

    def chart() -> dict[str, Any]:
        pick = alt.selection_point(name="pick", fields=["job"])
        bars = alt.Chart(alt.NamedData("bars")).mark_bar().encode(x="start_s:Q").add_params(pick)
        rule = alt.Chart(alt.NamedData("now")).mark_rule().encode(x="now_s:Q")
        spec: dict[str, Any] = (bars + rule).to_dict()
        return spec

    assert chart() == chart()
    assert data_names(chart()) == {"bars", "now"}


def test_empty_view_waits_for_a_chart(bars: pd.DataFrame) -> None:
    view = VegaView(aria_label="Plan", pick_fields=["job", "slot"], renderer="svg")
    assert view.spec == {}
    view.show(gantt().to_dict(), {"bars": bars})
    assert view.spec["mark"]["type"] == "bar"
    with pytest.raises(traitlets.TraitError):
        view.renderer = "paper"
