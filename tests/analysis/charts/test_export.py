"""Files: pictures, a page that needs no network, and the numbers."""

from __future__ import annotations

import io
import json
import re
import struct
from pathlib import Path

import pandas as pd
import pytest
from chart_tables import CLUSTER, HOSTILE, everything, interval, jobs_named, timeline
from IPython.core.formatters import DisplayFormatter

from workbench.analysis.charts import Drawing, gantt, save, to_csv, to_html, to_png, to_svg
from workbench.base.errors import InputError

SCHEMA = "https://vega.github.io/schema/vega-lite/"
"""The name of the language in a specification; nothing fetches it."""


@pytest.fixture(scope="module")
def drawing() -> Drawing:
    return gantt(*everything(), cluster=CLUSTER)


def hostile() -> Drawing:
    finish: dict[str, float | None] = dict.fromkeys(HOSTILE, 60.0)
    return gantt(
        timeline(*(interval("a-0", 0, n, 60 * i, 60 * i + 60) for i, n in enumerate(HOSTILE))), jobs_named(finish)
    )


def png_width(content: bytes) -> int:
    return int(struct.unpack(">I", content[16:20])[0])


def test_png_has_two_pixels_per_pixel(drawing: Drawing) -> None:
    once, twice = to_png(drawing, scale=1.0), to_png(drawing)
    assert once.startswith(b"\x89PNG\r\n")
    assert png_width(twice) == pytest.approx(2 * png_width(once), abs=2)
    assert png_width(once) > 960


def test_svg_names_units_and_nodes(drawing: Drawing) -> None:
    svg = to_svg(drawing)
    for text in ("Time (min)", "v100", "a-0", "j0", "restart"):
        assert f">{text}<" in svg


def test_html_loads_nothing_and_carries_its_data(drawing: Drawing) -> None:
    page = to_html(drawing)
    ours = page.split('<script type="module">')
    around = ours[0] + ours[2]
    assert not re.search(r"""https?:|\bsrc=|\bhref=|@import|url\(""", around.replace(SCHEMA, ""))
    assert not re.search(r"""\b(from|import)\s*\(?\s*["']https?:""", page)
    found = re.search(r"const spec = (\{.*\});\n", page)
    assert found is not None
    assert json.loads(found.group(1)) == drawing.spec("container")


def test_html_is_safe_with_any_name() -> None:
    page = to_html(hostile())
    assert "<script>alert(1)" not in page
    assert page.count("<script") == page.count("</script>") == 2
    assert "\u2028" not in page.split("const spec")[1]


def test_csv_reads_back(drawing: Drawing) -> None:
    table = pd.read_csv(io.StringIO(to_csv(drawing)), keep_default_na=False)
    assert list(table.columns) == list(drawing.table.columns)
    assert len(table) == len(drawing.table)
    assert set(HOSTILE) <= set(pd.read_csv(io.StringIO(to_csv(hostile())))["job"])


@pytest.mark.parametrize("suffix", [".png", ".SVG", ".html", ".csv"])
def test_save_by_suffix_and_never_over_a_file(tmp_path: Path, drawing: Drawing, suffix: str) -> None:
    path = tmp_path / f"chart{suffix}"
    save(drawing, path)
    first = path.read_bytes()
    assert len(first) > 100
    with pytest.raises(InputError, match="exists"):
        save(drawing, path)
    save(drawing, str(path), force=True)
    assert path.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_save_says_which_formats_there_are(tmp_path: Path, drawing: Drawing) -> None:
    with pytest.raises(InputError, match=r"\.png, \.svg, \.html, \.csv"):
        save(drawing, tmp_path / "chart.gif")
    assert list(tmp_path.iterdir()) == []


def test_a_drawing_shows_itself_as_a_picture(drawing: Drawing) -> None:
    shown, told = DisplayFormatter().format(drawing)
    assert shown["image/png"].startswith(b"\x89PNG") and told["needs_background"] == "light"
    assert 2 * told["image/png"]["width"] == int.from_bytes(shown["image/png"][16:20], "big")
