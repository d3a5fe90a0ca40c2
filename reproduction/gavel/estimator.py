"""Space sharing with estimated speeds of pairs: Fig. 14 (section 7.6)."""

from __future__ import annotations

from reproduction.figure import Entry, PaperFigure
from reproduction.gavel.load import EDGE, LAS, PAIRS
from reproduction.gavel.settings import GavelSize
from reproduction.gavel.sweep import Load, gain, load_panel, points, sweep
from reproduction.information import ESTIMATORS, LOW_RANK
from reproduction.line import Line
from workbench.scheduling.estimators.by_name import maker
from workbench.scheduling.estimators.speed_error import pair_errors

ALONE, ORACLE, ESTIMATED = "no sharing", "sharing, true speeds", "sharing, estimated speeds"


def figure_14(size: GavelSize) -> PaperFigure:
    """LAS on 12 GPUs without sharing, with the true and with estimated speeds of pairs."""
    lines = [
        Line(ALONE, LAS),
        Line(ORACLE, LAS, {"space_sharing": True}),
        Line(ESTIMATED, LAS, {"space_sharing": True}, ESTIMATORS[LOW_RANK]),
    ]
    load = Load(size.small, size.single)
    table = points(sweep(load, lines, size), "jct_h")
    scenario = load.scenario(size, load.per_hour[0], 0)
    error = float(pair_errors(scenario, maker(ESTIMATORS[LOW_RANK])(scenario)).mean())
    rows = (
        Entry(f"mean JCT, {ESTIMATED} / {ORACLE}, {EDGE}", "1", None, gain(table, ESTIMATED, ORACLE),
            "The paper says a very small difference, without a number.", "7.6"),
        Entry(f"mean JCT, {ALONE} / {ORACLE}, {EDGE}", "1", None, gain(table, ALONE, ORACLE),
            f"The paper shows the curves without a number; {PAIRS}.", "7.6"),
        Entry("mean relative error of the estimated speeds of pairs, before any is measured", "1", None, error,
            "The paper gives no number; half of the models here are no references.", "7.6"),
    )  # fmt: skip
    title = "Least attained service on 12 GPUs"
    return PaperFigure("Fig. 14", title, rows, {"a": load_panel(table, title)})
