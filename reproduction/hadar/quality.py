"""Does averaging forked copies still train? The nearest that we have to Table IV (section VI-C)."""

from __future__ import annotations

import pandas as pd

from reproduction.figure import Entry, PaperFigure, chart_of
from reproduction.hadar.averaging import ALONE, FORKED, AveragingOutcome, TrainingSetting, experiment
from reproduction.hadar.settings import HadarSize

STEPS, TIME = "equal steps", "equal time"
SHOWN = 0.3  # learning rate of the chart, one of every size


def table_4(size: HadarSize) -> PaperFigure:
    """Accuracy on test images of a small network, each way at the learning rate that is best for it."""
    outcomes = {
        rate: experiment(TrainingSetting(steps=size.steps, learning_rate=rate), size.seeds)
        for rate in size.learning_rates
    }
    of = ["comparison", "way"]
    means = pd.concat([outcome.ends.groupby(of)["accuracy"].mean() for outcome in outcomes.values()])
    best = 100 * means.groupby(of).max()
    other = "A network of one hidden layer on 8 x 8 digits, not ResNet-18 on CIFAR-10: only the sign compares."
    model = "The paper's models and data are out of reach of a CPU; see the rows above."
    rows = (
        Entry("accuracy, forked (paper: images)", "%", 91.62, float(best[STEPS, FORKED]), other, "Table IV"),
        Entry("accuracy, one node (paper: images)", "%", 87.34, float(best[STEPS, ALONE]), other, "Table IV"),
        Entry("forked less one node, equal steps (paper: images)", "points", 91.62 - 87.34,
            float(best[STEPS, FORKED] - best[STEPS, ALONE]),
            "Each way has its own best learning rate here; the paper gives neither rates nor a spread over seeds.",
            "Table IV"),
        Entry("forked less one node, equal time", "points", None, float(best[TIME, FORKED] - best[TIME, ALONE]),
            "The paper does not compare at equal time; forking has then done more steps.", "Table IV"),
        Entry("accuracy forked less not, language translation", "points", 54.69 - 52.41, float("nan"), model,
            "Table IV"),
        Entry("error forked / not, recommendation", "1", 38.7 / 40.3, float("nan"), model, "Table IV"),
        Entry("error forked / not, language modelling", "1", 4.31 / 4.46, float("nan"), model, "Table IV"),
        Entry("error forked / not, weather", "1", 0.025 / 0.028, float("nan"), model, "Table IV"),
    )  # fmt: skip
    title = f"Accuracy while training, learning rate {SHOWN:g}, mean and range over seeds"
    panel = chart_of(_course(outcomes[SHOWN]), title, "Simulated time (s)", "Accuracy (%)")
    return PaperFigure("Table IV", "Quality of forked training", rows, {"a": panel})


def _course(outcome: AveragingOutcome) -> pd.DataFrame:
    """Accuracy at the end of each round: line, x (s), y, low, high (%)."""
    rounds = outcome.course.groupby(["way", "round"], sort=False)
    accuracy = 100 * rounds["accuracy"].agg(["mean", "min", "max"])
    table = accuracy.assign(x=rounds["time_s"].mean()).reset_index()
    return table.rename(columns={"way": "line", "mean": "y", "min": "low", "max": "high"})[
        ["line", "x", "y", "low", "high"]
    ]
