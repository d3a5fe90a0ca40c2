"""Quantities that are constant between changes: exact sums over time, thinned exactly where there are too many."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
MOST_POINTS = 2000


def at_change(times_s: Floats, values: Floats, end_s: float, most: int = MOST_POINTS) -> tuple[Floats, Floats, float]:
    """A step function with at most `most` steps: times, values from then on, and the width of a bin in seconds.

    times_s rise; values[i] holds from times_s[i] to times_s[i + 1], the last to end_s. With more than `most` steps the
    span is cut into `most` equal bins and each gets its exact mean over time, so that the area stays what it was;
    otherwise nothing changes and the bin is 0.
    """
    if len(times_s) <= most or end_s <= times_s[0]:
        return times_s, values, 0.0
    edges = np.linspace(times_s[0], end_s, most + 1)
    area = np.concatenate(([0.0], np.cumsum(values * np.diff(np.append(times_s, end_s)))))
    at_edges = np.interp(edges, np.append(times_s, end_s), area)
    width = float(edges[1] - edges[0])
    return edges[:-1], np.diff(at_edges) / width, width


def held_gpus(
    timeline: pd.DataFrame, end_s: float | None = None, most: int = MOST_POINTS
) -> tuple[pd.DataFrame, float]:
    """GPUs held over time by type: columns time_s, accelerator, gpus (from then on), and the width of a bin in seconds.

    Held: a unit has the slot, whether it runs, restarts, switches, profiles, consolidates or holds it idle;
    synchronisation that overlaps the next task does not count again. Types come in order of first appearance, every
    type at every time. Exact unless the bin is above 0 (then exact means of the bins).
    """
    used = timeline[(timeline["unit"] != "") & (timeline["kind"] != "sync")]
    types = list(timeline["accelerator"].unique())
    if used.empty:
        return pd.DataFrame({"time_s": [], "accelerator": [], "gpus": []}).astype({"accelerator": "str"}), 0.0
    start, end = used["start_s"].to_numpy(float), used["end_s"].to_numpy(float)
    times = np.unique(np.concatenate([[0.0], start, end]))
    last = max(float(times[-1]), end_s or 0.0)
    tables, width = [], 0.0
    for accelerator in types:
        of_type = used["accelerator"].to_numpy() == accelerator
        change = np.zeros(len(times))
        np.add.at(change, np.searchsorted(times, start[of_type]), 1.0)
        np.add.at(change, np.searchsorted(times, end[of_type]), -1.0)
        at, gpus, width = at_change(times, np.cumsum(change), last, most)
        tables.append(pd.DataFrame({"time_s": at, "accelerator": accelerator, "gpus": gpus}))
    table = pd.concat(tables, ignore_index=True)
    return table.astype({"accelerator": "str"}), width
