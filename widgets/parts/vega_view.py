"""A chart that stays on the page while its data change.

`VegaView` draws an Altair or Vega-Lite chart whose data are named (`alt.NamedData("bars")`). The specification is
sent once; afterwards only data, parameters and the selection travel, and the page replaces them in the chart that is
already there: nothing flickers, nothing piles up. Columns travel as binary arrays.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import ipywidgets
import numpy as np
import pandas as pd
import traitlets

from widgets.parts.assets import VEGA, Scripted, program, style, vega_programs

Spec = dict[str, Any]
EncodedColumn = dict[str, Any]
EncodedTable = dict[str, Any]

_DATA_TRAIT = "_data_"
_MILLISECOND = pd.Timedelta(milliseconds=1)


class _Chart(Protocol):
    """What `VegaView` can draw besides a plain dictionary: anything that writes itself as Vega-Lite."""

    def to_dict(self) -> Spec:
        """Return the Vega-Lite specification."""


class VegaView(Scripted):
    """An interactive chart: shows data, gives back clicks.

    `picked` is what was last clicked: the `pick_fields` of that mark, unless it was empty space, and where by the
    chart's axes, `x` and `y`, unless it was beside the plot; `{}` after Escape, and after a second click at the same
    place on the mark that is selected.
    `selected` is pushed to the chart's parameter named by `selected_param`, `params` to the parameters named by its
    keys; names the chart does not have are ignored, so that one selection may be linked to many charts. Linking is
    done in Python: `on_job`, set `selected` of every chart. `window` is what a chart whose selection `zoom` is bound to
    its scales shows, and what one with a `zoom` that is not has marked: linked, the one is an overview of the other.
    """

    _esm = program(Path(__file__).parent / "vega_view.js", VEGA)
    _css = style()

    picked = traitlets.Dict(help="Fields of the mark last clicked; empty when empty space was.").tag(sync=True)
    pick_fields = traitlets.List(traitlets.Unicode(), ["job"], help="Fields that make up `picked`.").tag(sync=True)
    selected = traitlets.Any(None, allow_none=True, help="Value of the selection parameter.").tag(sync=True)
    selected_param = traitlets.Unicode("selected", help="Name of the selection parameter.").tag(sync=True)
    params = traitlets.Dict(help="Values of other parameters, by name.").tag(sync=True)
    renderer = traitlets.Enum(("canvas", "svg"), "canvas", help="canvas: many marks; svg: sharp and few.").tag(
        sync=True
    )
    aria_label = traitlets.Unicode("Chart", help="What a screen reader says of the chart.").tag(sync=True)
    still = traitlets.Unicode("", help="Class of the pictures that stand on the page until it is drawn.").tag(sync=True)
    window = traitlets.Dict(help="What is seen, from and to by axis (`t`, `row`); empty: all.").tag(sync=True)
    of = traitlets.Unicode("", help="What the data are of; the page notes it with what it has drawn.").tag(sync=True)
    error = traitlets.Unicode("", help="Why the chart could not be drawn, as the page reports it.").tag(sync=True)

    _programs = traitlets.Instance(ipywidgets.Widget).tag(sync=True, **ipywidgets.widget_serialization)
    _spec = traitlets.Dict().tag(sync=True)
    _names = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self, chart: _Chart | Spec | None = None, data: Mapping[str, pd.DataFrame] | None = None, **traits: Any
    ) -> None:
        """Draw `chart` with `data` at once, or stay empty until `show`."""
        super().__init__(_programs=vega_programs(), **traits)
        self._tables: dict[str, pd.DataFrame] = {}
        self._used: list[str] = []
        if chart is not None:
            self.show(chart, data or {})

    def on_job(self, select: Callable[[str | None], None]) -> None:
        """Tell which job's mark was clicked, None for a click on empty space."""
        self.observe(lambda change: select(change["new"].get("job") or None), "picked")

    def show(
        self,
        chart: _Chart | Spec,
        data: Mapping[str, pd.DataFrame] | None = None,
        *,
        selected: Any = traitlets.Undefined,
        of: str = "",
    ) -> None:
        """Show `chart` with the named `data`; what has not changed is not sent again.

        Tables the chart does not name are left out; names it uses without a table are empty. Without `selected` the
        selection stays as it is.
        """
        spec = dict(chart) if isinstance(chart, Mapping) else chart.to_dict()
        tables = data or {}
        with self.hold_sync():
            if spec != self._spec:  # a knob leaves it as it is
                self._used = sorted(data_names(spec))
            for name in self._used:
                self.set_data(name, tables.get(name, pd.DataFrame()))
            if selected is not traitlets.Undefined:
                self.selected = selected
            self._spec, self.of = spec, of

    def set_data(self, name: str, table: pd.DataFrame) -> None:
        """Replace one named table, unless it is the very same, and leave the rest of the chart alone."""
        if self._tables.get(name) is table:
            return
        self._tables[name] = table
        trait, encoded = _DATA_TRAIT + name, encode_table(table)
        if not self.has_trait(trait):
            self.add_traits(**{trait: traitlets.Dict().tag(sync=True)})
            self._names = [*self._names, name]
        setattr(self, trait, encoded)

    @property
    def spec(self) -> Spec:
        """The Vega-Lite specification being shown, without the named tables."""
        return dict(self._spec)


def data_names(spec: Spec) -> set[str]:
    """Return the names of the tables that a specification refers to and does not carry itself."""
    return {name for name in _referred(spec) if name not in spec.get("datasets", {})}


def _referred(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        source = node.get("data")
        if isinstance(source, Mapping) and isinstance(source.get("name"), str) and not _carries_rows(source):
            yield source["name"]
        for key, child in node.items():
            if key not in ("datasets", "values"):
                yield from _referred(child)
    elif isinstance(node, list):
        for child in node:
            yield from _referred(child)


def _carries_rows(source: Mapping[str, Any]) -> bool:
    return any(key in source for key in ("values", "url", "sequence", "sphere", "graticule"))


def encode_table(table: pd.DataFrame) -> EncodedTable:
    """Return a table as `{"rows": n, "columns": [...]}` with binary columns where their type allows it."""
    return {"rows": len(table), "columns": [encode_column(str(name), column) for name, column in table.items()]}


def encode_column(name: str, column: pd.Series[Any]) -> EncodedColumn:
    """Return one column in the form `vega_view.js` reads.

    Numbers are 64-bit floats, or 32-bit integers where they all fit; times are milliseconds since 1970 (`utc` when
    the column has a time zone, else `local`: the clock time is shown as it stands); durations are seconds; text is a
    list of the different values and one code per row. Whatever is missing or infinite becomes null. Anything else
    travels as a JSON list.
    """
    if column.dtype == np.float64:
        return {"name": name, "kind": "f8", "values": column.to_numpy().tobytes()}
    if isinstance(column.dtype, pd.StringDtype) and (texts := _encode_texts(column)):
        return {"name": name, **texts}
    if pd.api.types.is_bool_dtype(column) and not column.isna().any():
        return {"name": name, "kind": "bool", "values": column.to_numpy(bool).tobytes()}
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column):
        return {"name": name, **_encode_numbers(column)}
    if pd.api.types.is_datetime64_any_dtype(column):
        zoned = isinstance(column.dtype, pd.DatetimeTZDtype)
        utc = column.dt.tz_convert("UTC").dt.tz_localize(None) if zoned else column
        milliseconds = (utc - pd.Timestamp(0)) / _MILLISECOND
        return {"name": name, "kind": "utc" if zoned else "local", "values": _floats(milliseconds)}
    if pd.api.types.is_timedelta64_dtype(column):
        return {"name": name, "kind": "f8", "values": _floats(column.dt.total_seconds())}
    if texts := _encode_texts(column):
        return {"name": name, **texts}
    return {"name": name, "kind": "json", "values": [_plain(value) for value in column]}


def _encode_numbers(column: pd.Series[Any]) -> EncodedColumn:
    whole = pd.api.types.is_integer_dtype(column) and not column.isna().any()
    if whole and (column.empty or -(2**31) <= column.min() <= column.max() < 2**31):
        return {"kind": "i4", "values": column.to_numpy("<i4").tobytes()}
    return {"kind": "f8", "values": _floats(column)}


def _floats(column: pd.Series[Any]) -> bytes:
    return column.to_numpy("<f8", na_value=math.nan).tobytes()


def _encode_texts(column: pd.Series[Any]) -> EncodedColumn | None:
    """Encode a column of strings (and missing values); None when anything else is among them."""
    try:
        codes, levels = pd.factorize(column.to_numpy(object), use_na_sentinel=True)
    except TypeError:  # lists and dictionaries cannot be told apart by hash
        return None
    if not all(isinstance(level, str) for level in levels):
        return None
    return {"kind": "text", "levels": [str(level) for level in levels], "values": codes.astype("<i4").tobytes()}


def _plain(value: Any) -> Any:
    """Return `value` in JSON's types, null for what is missing, infinite or not a time."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (Sequence, np.ndarray, set, frozenset)) and not isinstance(value, (str, bytes)):
        return [_plain(item) for item in value]
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    return str(value)
