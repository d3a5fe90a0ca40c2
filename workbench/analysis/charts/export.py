"""Charts as files: PNG, SVG, self-contained HTML, and the numbers as CSV. No network is needed, now or later."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from pathlib import Path

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import VEGA_LITE, Drawing
from workbench.base.errors import InputError
from workbench.base.files import write_bytes
from workbench.base.text import for_spreadsheet

SUFFIXES = (".png", ".svg", ".html", ".csv")


def save(
    drawing: Drawing, path: str | Path, *, force: bool = False, width: float = theme.WIDTH_PX, scale: float = 2.0
) -> None:
    """Write a chart in the format that the suffix names; the file appears whole or not at all.

    width: of the plot in pixels (HTML fills its window instead); scale: pixels of a PNG per pixel of the plot.
    Raises InputError on another suffix, or if the file exists and `force` is not set.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(str(path), suffix, "a name that ends in " + ", ".join(SUFFIXES))
    if suffix == ".png":
        content = to_png(drawing, width=width, scale=scale)
    elif suffix == ".svg":
        content = to_svg(drawing, width=width).encode("utf-8")
    elif suffix == ".html":
        content = to_html(drawing).encode("utf-8")
    else:
        content = to_csv(drawing).encode("utf-8")
    write_bytes(path, content, force=force)


def to_png(drawing: Drawing, *, width: float = theme.WIDTH_PX, scale: float = 2.0) -> bytes:
    """The chart as a PNG; scale: pixels of the picture per pixel of the plot."""
    import vl_convert

    return vl_convert.vegalite_to_png(json.dumps(drawing.spec(width)), VEGA_LITE, scale=scale)


def to_svg(drawing: Drawing, *, width: float = theme.WIDTH_PX) -> str:
    """The chart as an SVG document; the same chart always gives the same text."""
    numbers: dict[str, str] = {}

    def renumbered(match: re.Match[str]) -> str:  # Vega counts on from the last drawing of the process
        return match.group(1) + numbers.setdefault(match.group(2), f"part{len(numbers)}")

    import vl_convert

    svg = vl_convert.vegalite_to_svg(json.dumps(drawing.spec(width)), VEGA_LITE)
    return re.sub(r"""(\bid="|url\(#)((?:clip|gradient_)\d+)""", renumbered, svg)


def to_csv(drawing: Drawing) -> str:
    """The numbers behind the chart, for people."""
    return for_spreadsheet(drawing.table).to_csv(index=False, lineterminator="\n")


def to_html(drawing: Drawing) -> str:
    """A page that shows the chart as wide as its window, with tooltips and selection by click, and loads nothing."""
    spec = drawing.spec("container")
    title = html.escape(drawing.label)
    return _PAGE.format(title=title, programs=_programs(), spec=_in_script(json.dumps(spec)), paper=theme.PAPER)


def _in_script(text: str) -> str:
    r"""JSON that may stand inside a script element: `<` and what ends a line become `\u` escapes."""
    escapes: dict[str, str | int | None] = {
        "<": "\\u003c",
        ">": "\\u003e",
        "&": "\\u0026",
        "\u2028": "\\u2028",
        "\u2029": "\\u2029",
    }
    return text.translate(str.maketrans(escapes))


@cache
def _programs() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that sets `window.vegaEmbed`."""
    import vl_convert

    source = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    return source.replace("</script", "<\\/script").replace("<!--", "<\\!--")


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>body {{ margin: 1em; background: {paper}; }} #chart {{ width: 100%; }}</style>
</head>
<body>
<div id="chart" role="figure" aria-label="{title}"></div>
<script type="module">
{programs}
</script>
<script type="module">
const spec = {spec};
const {{ view }} = await window.vegaEmbed("#chart", spec, {{ actions: false, renderer: "canvas" }});
if ((spec.params ?? []).some((param) => param.name === "selected")) {{
  view.addEventListener("click", (event, item) => {{
    const job = item?.datum?.job || null;
    view.signal("selected", job === view.signal("selected") ? null : job).run();
  }});
}}
</script>
</body>
</html>
"""
