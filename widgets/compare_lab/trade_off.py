"""Efficiency against fairness: a point for each scheduler, the measures to choose."""

from __future__ import annotations

import ipywidgets as w
import pandas as pd

from widgets.lab.results import drawings
from widgets.parts.chart_page import ChartPage
from workbench.analysis.comparison import Comparison
from workbench.analysis.metrics import metric
from workbench.analysis.metrics.declared import Metric

EFFICIENCY = ("mean_jct_s", "makespan_s", "p99_jct_s", "utilisation", "cost_usd")
FAIRNESS = ("max_finish_time_fairness", "mean_finish_time_fairness", "max_latency_ratio", "weighted_miss_rate")


class TradeOffPage:
    """A chart of two measures, mean over the seeds, with their spread."""

    def __init__(self) -> None:
        self._found: Comparison | None = None
        self._seeds = 1
        self._setting_up = False
        self._x, self._y = self._choice("Efficiency", EFFICIENCY), self._choice("Fairness", FAIRNESS)
        self._page = ChartPage("trade-off", "tradeoff")
        tools = w.HBox([self._x, self._y])
        tools.add_class("wb-tools")
        self.box = w.VBox([tools, self._page.box])

    def _choice(self, text: str, names: tuple[str, ...]) -> w.Dropdown:
        options = [(metric(name).label, name) for name in names]
        found = w.Dropdown(
            options=options, description=text, layout=w.Layout(width="21em"), style={"description_width": "5.5em"}
        )
        found.add_class(f"wb-{text.lower()}")
        found.observe(lambda _: self.draw(), "value")
        return found

    def offer(self, found: Comparison | None, seeds: int) -> None:
        """The runs there are; seeds: how many of each scheduler there are to be, said where there are fewer."""
        self._found, self._seeds = found, seeds

    def draw(self) -> None:
        """Draw what is chosen."""
        if self._found is None:
            return
        charts, (x, y) = drawings().charts, (metric(str(choice.value)) for choice in (self._x, self._y))
        means, spread = self._found.mean(), self._found.spread()
        per = [charts.theme.time_unit(float(means[m.name].max())) if m.unit == "s" else None for m in (x, y)]
        by = [1.0 if unit is None else unit.seconds for unit in per]
        frame = pd.DataFrame(
            {
                "name": self._names(),
                "x": (means[x.name] / by[0]).to_numpy(),
                "y": (means[y.name] / by[1]).to_numpy(),
                "x_spread": (spread[x.name] / by[0]).to_numpy(),
                "y_spread": (spread[y.name] / by[1]).to_numpy(),
            }
        )
        titles = [
            _titled(measure, None if unit is None else unit.name) for measure, unit in zip((x, y), per, strict=True)
        ]
        drawing = charts.scatter(
            frame,
            title="Efficiency against fairness",
            x_title=titles[0],
            y_title=titles[1],
            better=(x.better, y.better),
        )
        self._page.show(drawing, None)

    def _names(self) -> list[str]:
        """The schedulers, with the number of runs where some are missing."""
        runs = {} if self._found is None else self._found.ended()["runs"].to_dict()
        return [f"{name} ({n} of {self._seeds} runs)" if n < self._seeds else str(name) for name, n in runs.items()]


def _titled(measure: Metric, unit: str | None) -> str:
    """A measure with its unit."""
    shown = unit or {"1": "", "share": "share of 1"}.get(measure.unit, measure.unit)
    return f"{measure.label} ({shown})" if shown else measure.label
