"""Colours, units and words that all charts share."""

from __future__ import annotations

import itertools
import json

import altair as alt
import pandas as pd
import pytest
import vl_convert

from workbench.analysis.charts import theme


def test_jobs_have_stable_colours_by_place() -> None:
    names = [f"job {i}" for i in range(50)]
    colours = theme.job_colours(names)
    assert [colours[name] for name in names[:7]] == list(theme.PALETTE)
    assert len({colours[name] for name in names[:21]}) == 21
    assert colours["job 0"] == colours["job 21"]
    assert theme.job_colours(names[:5]) == {name: colours[name] for name in names[:5]}


@pytest.mark.parametrize("palette", [theme.PALETTE, theme.TYPE_PALETTE, theme.SERIES_PALETTE])
def test_text_is_readable_on_every_colour(palette: tuple[str, ...]) -> None:
    for colour in theme.job_colours(map(str, range(21))).values():
        assert theme.contrast(theme.text_on(colour), colour) >= 4.5
    for colour in palette:
        assert theme.contrast(theme.text_on(colour), colour) >= 4.5


def test_neighbours_in_the_palette_differ_without_colour_vision() -> None:
    # Machado et al. (2009), deuteranopia, on linear light.
    matrix = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))

    def seen(colour: str) -> tuple[float, ...]:
        light = [(int(colour[i : i + 2], 16) / 255) ** 2.2 for i in (1, 3, 5)]
        return tuple(max(sum(w * x for w, x in zip(row, light, strict=True)), 0) ** (1 / 2.2) for row in matrix)

    for palette in (theme.PALETTE, theme.TYPE_PALETTE, theme.SERIES_PALETTE):
        for a, b in itertools.pairwise(palette):
            assert sum((x - y) ** 2 for x, y in zip(seen(a), seen(b), strict=True)) ** 0.5 > 0.2, (a, b)


def test_type_is_large_enough_for_a_lecture_hall() -> None:
    config = theme.config()
    assert config["axis"]["labelFontSize"] >= 13
    assert config["axis"]["titleFontSize"] >= 14
    assert config["legend"]["labelFontSize"] >= 13
    assert config["background"] == "#ffffff"


def test_series_differ_in_colour_and_in_pattern() -> None:
    colours, dashes = theme.series_look(["a", "b", "c", "d", "e"])
    assert len(set(colours)) == 5 and len({tuple(dash) for dash in dashes}) == 5


def test_no_series_has_the_colour_of_a_job_or_a_type() -> None:
    series, _ = theme.series_look([f"scheduler {i}" for i in range(13)])
    parts = [int(theme.LIT[i : i + 2], 16) for i in (1, 3, 5)]
    assert max(parts) - min(parts) < 16, "rows that are pointed out are grey, as no job is, be it faded"
    others = {*theme.job_colours(map(str, range(21))).values(), *theme.TYPE_PALETTE}
    assert len(set(series)) == 13 and not others & set(series)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (12.5, "12.5 s"),
        (60, "1 min"),
        (90, "1 min 30 s"),
        (9000, "2 h 30 min"),
        (90061, "1 d 1 h 1 min 1 s"),
    ],
)
def test_durations_in_tooltips(seconds: float, text: str) -> None:
    chart = (
        alt.Chart(pd.DataFrame({"t": [seconds]}))
        .transform_calculate(said=theme.duration_expr("datum.t"))
        .mark_text()
        .encode(text="said:N")
    )
    assert f">{text}</text>" in vl_convert.vegalite_to_svg(json.dumps(chart.to_dict()), "6.4")


def test_a_type_has_one_colour_whatever_else_a_cluster_has() -> None:
    two, three = theme.type_colours(["v100", "k80"]), theme.type_colours(["p100", "tpu", "k80", "v100"])
    assert two["k80"] == three["k80"] and two["v100"] == three["v100"] and len(set(three.values())) == 4
