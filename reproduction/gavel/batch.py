"""Table 3 (the physical cluster, simulated) and Fig. 19 (makespan of a batch of jobs)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproduction.figure import Entry, PaperFigure, chart_of
from reproduction.gavel.load import DATA, LAS, PAIRS
from reproduction.gavel.settings import HOUR, PAPER_GPUS, GavelSize, authors_trace, continuous, gpus_of, static
from reproduction.gavel.sweep import measured, windowed
from reproduction.line import Line, rivalled
from workbench.scenario.scenario import Scenario

ROUND = {"round_s": 1200.0}  # paper: 7.1, 20 minutes on the physical cluster
MAKESPAN = "gavel.makespan"
PHYSICAL_GPUS = 48  # paper: 7.1
PHYSICAL_PER_HOUR = 3.3  # ours: keeps the 48 GPUs well used, as the paper says without a rate
REPEAT_S = 7200.0  # ours: with thousands of pairs the shares are computed anew every two hours only
AWARE, AGNOSTIC, SHARED, GANDIVA = "Gavel", "agnostic makespan", "Gavel with space sharing", "Gandiva"
FIFO, FIFO_AWARE, FIFO_EVENTS = "FIFO", "FIFO told speeds", "FIFO told speeds, event by event"
# code: FIFO is their policy `fifo`, by the labels of scheduler/notebooks/figures/evaluation/makespan.ipynb


def table_3(size: GavelSize) -> PaperFigure:
    """The two traces of the physical cluster; the paper's numbers are those of its simulation."""
    window = (size.physical_measured, 2 * size.physical_measured - 1)
    lines = (
        Line("Gavel", LAS, ROUND),
        Line("LAS", LAS, {**ROUND, "heterogeneity_aware": False}),
        Line("makespan", MAKESPAN, ROUND),
        Line(GANDIVA, "gandiva", ROUND),
    )
    *arrivals, best, packed = rivalled(lines, size.rivals)
    found = []
    for seed in size.seeds:
        arriving, batch = _traces(size, window[1] + 1 + 10 * size.physical_measured, seed)
        # the authors' jobs come within hours: all of them to their end, also when none come any more
        runs = [line.run(arriving) if size.measured_speeds else windowed(line, arriving, window) for line in arrivals]
        jct_h = [float(measured(run, window)["jct_h"].mean(skipna=False)) for run in runs]
        found.append([*jct_h, _makespan_h(best, batch), _makespan_h(packed, batch)])
    aware_h, las_h, gavel_h, gandiva_h = np.mean(found, axis=0).tolist()
    why = "The paper does not print its traces: rates and jobs of 1 to 4 h on a V100 are ours."
    if size.measured_speeds:
        why = "The authors' traces, which do not say of which 25 jobs the mean is; here of those from the 26th on."
    source = "Table 3, simulation"
    rows: tuple[Entry, ...] = (
        Entry("mean JCT, Gavel's LAS", "h", 3.4, aware_h, why, source),
        Entry("mean JCT, agnostic LAS", "h", 5.2, las_h, why, source),
        Entry("mean JCT, agnostic / Gavel", "1", 5.2 / 3.4, las_h / aware_h, why, source),
        Entry("makespan, Gavel", "h", 17.9, gavel_h, why, source),
        Entry("makespan, Gandiva's packing", "h", 21.9, gandiva_h, why, source),
        Entry("makespan, Gandiva / Gavel", "1", 21.9 / 17.9, gandiva_h / gavel_h, f"A ratio: {PAIRS}.", source),
    )
    if size.measured_speeds:
        whole = (0, len(arriving.jobs) - 1)
        own, las = (_over_windows(measured(run, whole)["jct_h"], size.physical_measured) for run in runs)
        ratio = las / own
        rows += tuple(
            Entry(f"mean JCT, agnostic / Gavel, {word} over all windows of {size.physical_measured} jobs", "1", None,
                float(value), "Whichever jobs in a row the paper's mean is of.", source)
            for word, value in (("least", ratio.min()), ("greatest", ratio.max()))
        )  # fmt: skip
    return PaperFigure("Table 3", "Physical cluster, simulated", rows)


def _over_windows(values: pd.Series[float], count: int) -> np.ndarray:
    """The mean of so many values in a row, from each on."""
    return np.convolve(values.to_numpy(dtype=float), np.ones(count) / count, "valid")


def _traces(size: GavelSize, jobs: int, seed: int) -> tuple[Scenario, Scenario]:
    """The continuous and the static trace; the authors' where their speeds are used."""
    if size.measured_speeds:
        return authors_trace("gavel_max_min_fairness"), authors_trace("gavel_makespan")
    arriving = continuous(
        size.physical, jobs, PHYSICAL_PER_HOUR, seed, gpus=PHYSICAL_GPUS, multi_gpu=True, durations="short"
    )
    return arriving, static(size.physical, size.physical_jobs, seed, durations="short")


def figure_19(size: GavelSize) -> PaperFigure:
    """Makespan of static-multiple against the number of jobs."""
    lines = (
        Line(FIFO, "fifo", {"preset": "authors", "heterogeneity_aware": False}),
        Line(FIFO_AWARE, "fifo", {"preset": "authors"}),
        Line(FIFO_EVENTS, "fifo"),
        Line(GANDIVA, "gandiva"),
        Line(AGNOSTIC, MAKESPAN, {"heterogeneity_aware": False}),
        Line(AWARE, MAKESPAN),
        Line(SHARED, MAKESPAN, {"space_sharing": True, "recompute_s": REPEAT_S / size.often}),
    )
    found = [
        (line.name, jobs, seed, _makespan_h(line, _batch(size, jobs, seed)))
        for jobs in size.batches
        for seed in size.seeds
        for line in rivalled(lines, size.rivals)
    ]
    runs = pd.DataFrame(found, columns=["line", "x", "seed", "makespan_h"])
    points = runs.groupby(["line", "x"], sort=False)["makespan_h"].agg(["mean", "std"]).reset_index()
    spread = points["std"].fillna(0.0)
    points = points.assign(y=points["mean"], low=points["mean"] - spread, high=points["mean"] + spread)
    at = points.set_index(["line", "x"])["y"]
    rows: list[Entry] = []
    for jobs in sorted(size.batches):
        most = jobs == max(size.batches)
        of = "most jobs" if most else f"{jobs} jobs on {PAPER_GPUS} GPUs"
        over = {line.name: float(at[line.name, jobs] / at[AWARE, jobs]) for line in lines}
        rows += (
            Entry(f"makespan, FIFO / Gavel, {of}", "1", 2.5 if most else None, over[FIFO],
                "Their policy `fifo` (code: of that figure), which draws a type that has room; told speeds: rows below."
                f" Here {DATA}, on {gpus_of(size.cluster)} GPUs with as many jobs for each.", "7.3"),
            Entry(f"makespan, Gandiva / Gavel, {of}", "1", 1.4 if most else None, over[GANDIVA],
                f"Random packing against none; {PAIRS}.", "7.3"),
            Entry(f"makespan saved by space sharing, {of}", "%", 8.0 if most else None, 100 * (1 - over[SHARED]),
                f"With pairs the shares are computed anew only every two hours, and {PAIRS}.",
                "7.3 (when the number of jobs is high)"),
        )  # fmt: skip
    rows += (
        Entry("makespan, agnostic / Gavel, most jobs", "1", None, over[AGNOSTIC],
            "The paper shows the curve without a number.", "A.2"),
        *(Entry(f"makespan, {name} / Gavel, most jobs", "1", None, over[name],
            "Not in the paper's figure: the fastest type that has room.", "A.2") for name in (FIFO_AWARE, FIFO_EVENTS)),
    )  # fmt: skip
    title = "Makespan of jobs of 1 to 8 GPUs, all there at the start"
    drawn = points[["line", "x", "y", "low", "high"]]
    panel = chart_of(drawn, title, f"Jobs on {PAPER_GPUS} GPUs", "Makespan (h)")
    return PaperFigure("Fig. 19", title, tuple(rows), {"a": panel})


def _batch(size: GavelSize, jobs: int, seed: int) -> Scenario:
    """jobs: on the paper's cluster."""
    here = round(jobs * gpus_of(size.cluster) / PAPER_GPUS)
    return static(size.cluster, here, seed, durations=size.durations, measured_speeds=size.measured_speeds)


def _makespan_h(line: Line, scenario: Scenario) -> float:
    run = line.run(scenario)
    return float(run.jobs["finish_s"].max(skipna=False)) / HOUR
