"""What speeds are like, built-in or as the authors measured them: by type and per dollar (Fig. 1), of pairs that share
a GPU (Fig. 15)."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from reproduction.figure import Entry, PaperFigure, Plot, cell
from reproduction.gavel.settings import GavelSize, measured
from workbench.analysis.charts.heat_maps import heat_map
from workbench.scenario.traces import builtin

TYPES = ("v100", "p100", "k80")
ONE_EACH = ",".join(f"{kind}=1x1" for kind in TYPES)
RESNET, A3C = "ResNet-50 (batch size 64)", "A3C"
GIVEN = "The built-in table takes the gain of a V100 over a K80 from the paper's Fig. 1a and list prices of 2020."
MEASURED = "The authors' measurements; the paper does not say of which batch size."


def figure_1a(size: GavelSize) -> PaperFigure:
    """Speedups of a V100 over a K80, as the authors measured them; of ResNet-50 at all of their batch sizes."""
    speed = _alone(size)
    others = (name for name in map(str, speed.index) if name.startswith("ResNet-50 ") and name != RESNET)
    beside = tuple(
        Entry(f"V100 over K80, steps/s, {name}", "1", None, cell(speed, name, "v100") / cell(speed, name, "k80"),
            MEASURED, "ours")
        for name in others
    )  # fmt: skip
    return PaperFigure("Fig. 1a", "Throughput by type", (*_over_k80(speed, MEASURED), *beside))


def _over_k80(speed: pd.DataFrame, why: str) -> tuple[Entry, ...]:
    return tuple(
        Entry(f"V100 over K80, steps/s, {model}", "1", paper, cell(speed, model, "v100") / cell(speed, model, "k80"),
            why, "1, Fig. 1a")
        for model, paper in ((RESNET, 10.0), (A3C, 2.0))
    )  # fmt: skip


def figure_1b(size: GavelSize) -> PaperFigure:
    """Throughput per dollar of each model on each type; the same at every size with built-in speeds."""
    speed = _alone(size)
    price = pd.Series({name: builtin.accelerator(name)["price_per_hour"] for name in TYPES})
    per_dollar = speed / price
    relative = per_dollar.div(per_dollar.max(axis=1), axis=0)
    relative = relative.where(relative > 0)  # 0: does not fit in memory
    rows = (
        *_over_k80(speed, MEASURED if size.measured_speeds else GIVEN),
        *(
            Entry(f"V100 over K80, steps per dollar, {model} (paper: {says} 1)", "1", None,
                cell(per_dollar, model, "v100") / cell(per_dollar, model, "k80"),
                "The paper names the better type without a number.", "Fig. 1b, 7.3")
            for model, says in ((RESNET, "above"), (A3C, "below"))
        ),
    )  # fmt: skip
    title = "Throughput per dollar, relative to the model's best type"
    options = {"title": title, "row_title": "Model", "column_title": "Type", "value_title": "Relative to the best (1)"}
    frame = relative.rename_axis("row").reset_index().melt("row", var_name="column")
    return PaperFigure("Fig. 1b", title, rows, {"b": Plot(frame, heat_map, options)})


def figure_15(size: GavelSize) -> PaperFigure:
    """Normalised throughput of pairs on one P100; the same at every size with built-in speeds."""
    alone = _alone(size)["p100"]
    names = [str(name) for name in alone.index]
    found = {}
    for pair in _pairs(size):
        a, b = str(pair["model"]), str(pair["with_model"])
        found[a, b] = pair["steps_per_s"] / alone[a]
        found[b, a] = pair["with_steps_per_s"] / alone[b]
    cells = [(a, b, found.get((a, b), math.nan)) for a in names for b in names]
    frame = pd.DataFrame(cells, columns=["row", "column", "value"])
    sums = pd.Series({(a, b): found[a, b] + found[b, a] for a, b in found if names.index(a) <= names.index(b)})
    possible = len(names) * (len(names) + 1) // 2
    why = "The paper shows colours without numbers"
    why += "." if size.measured_speeds else "; the built-in pairs are made from how busy each model keeps a GPU."
    rows = (
        Entry("pairs that fit in memory", "%", None, 100 * len(sums) / possible, why, "Fig. 15"),
        Entry("pairs that gain (sum above 1)", "%", None, 100 * float((sums > 1).mean()), why, "Fig. 15"),
        Entry("largest sum of normalised throughputs", "1", None, float(sums.max()), why, "Fig. 15"),
    )
    title = "Two models on one P100"
    options = {
        "title": title,
        "row_title": "Model",
        "column_title": "Runs beside",
        "value_title": "Throughput over that alone (1)",
    }
    return PaperFigure("Fig. 15", title, rows, {"a": Plot(frame, heat_map, options)})


def builtin_models() -> list[str]:
    """The 26 configurations of Table 2."""
    return [str(row["name"]) for row in builtin.models("gavel")]


def _alone(size: GavelSize) -> pd.DataFrame:
    """Steps/s on one GPU, (models x types)."""
    given = measured(ONE_EACH)["throughputs"] if size.measured_speeds else builtin.throughputs("gavel", TYPES)
    rows = pd.DataFrame(given)
    one = rows[(rows["gpus"] == 1) & (rows["placement"] == "consolidated")]
    wide = one.pivot(index="model", columns="accelerator", values="steps_per_s")[list(TYPES)]
    return wide if size.measured_speeds else wide.loc[builtin_models()]  # in the order of Table 2


def _pairs(size: GavelSize) -> list[dict[str, Any]]:
    """The pairs of jobs of one GPU that share a P100."""
    if not size.measured_speeds:
        return list(builtin.colocated("gavel", ["p100"]))
    return [row for row in measured(ONE_EACH)["colocated"] if row["accelerator"] == "p100" and row["gpus"] == 1]
