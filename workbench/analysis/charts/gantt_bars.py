"""From a timeline to bars: merged intervals, blocks of slots, where GPUs were lost; and fewer of them where there are
more than a page can draw, with a note that says what was put together. Plain tables, no drawing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.units import format_duration
from workbench.scenario.cluster import Cluster

SAME_S = 1e-6
"""Times (in seconds) closer than this are one moment; relative above 1 s times 1e-9."""


def lanes(timeline: pd.DataFrame, cluster: Cluster | None = None) -> pd.DataFrame:
    """Every slot of the cluster, types together: columns row, node, slot, accelerator.

    Without a cluster, the slots the timeline knows of: types as they first appear, nodes in natural order.
    """
    if cluster is not None:
        rank = {name: i for i, name in enumerate(cluster.types)}
        found = sorted(cluster.each_node, key=lambda node: rank[node.accelerator])
        nodes = [(node.name, node.accelerator, node.gpus) for node in found]
    else:
        nodes = _nodes_seen(timeline)
    gpus = np.array([count for _, _, count in nodes], dtype=np.int64)
    first = np.cumsum(gpus) - gpus
    return pd.DataFrame(
        {
            "row": np.arange(gpus.sum()),
            "node": np.repeat(np.array([name for name, _, _ in nodes], dtype=object), gpus),
            "slot": np.arange(gpus.sum()) - np.repeat(first, gpus),
            "accelerator": np.repeat(np.array([kind for _, kind, _ in nodes], dtype=object), gpus),
        }
    )


def _nodes_seen(timeline: pd.DataFrame) -> list[tuple[str, str, int]]:
    types = {name: i for i, name in enumerate(timeline["accelerator"].unique())}
    seen = timeline.groupby(["node", "accelerator"], sort=False)["slot"].max().reset_index()
    nodes = list(zip(seen["node"].tolist(), seen["accelerator"].tolist(), (seen["slot"] + 1).tolist(), strict=True))
    return sorted(nodes, key=lambda node: (types[node[1]], natural_order(node[0])))


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """A sort key in which `a-2` comes before `a-10`."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]


def lists_of(frame: pd.DataFrame, *names: str) -> list[list[Any]]:
    """Columns as lists: to go through a column of texts itself takes ten times as long."""
    return [frame[name].to_numpy(object).tolist() for name in names]


def merged(timeline: pd.DataFrame) -> pd.DataFrame:
    """Adjacent intervals of the same unit and kind on the same slot become one; steps add up."""
    if timeline.empty:
        return timeline.copy()
    return _joined_in_time(timeline, ("node", "slot", "unit", "with_job", "kind", "gpus")).reset_index(drop=True)


def blocks(bars: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Bars of a gang on neighbouring slots of a node become one block; columns row and last_row say which rows.

    Pairs stay one bar for each slot, since each of their slots is split.
    """
    nodes, slots, numbers = lists_of(rows, "node", "slot", "row")
    place = dict(zip(zip(nodes, slots, strict=True), numbers, strict=True))
    at = [place.get(key, -1) for key in zip(*lists_of(bars, "node", "slot"), strict=True)]
    bars = bars.assign(row=np.array(at, dtype=np.int64))
    bars = bars[bars["row"] >= 0]
    if bars.empty:
        return bars.assign(last_row=bars["row"], slots=pd.Series(dtype="str"))
    keys = _codes(bars, ("node", "unit", "with_job", "kind", "start_s", "end_s"))
    row = bars["row"].to_numpy(np.int64)
    order = np.lexsort((row, *reversed(keys)))
    keys, row = [key[order] for key in keys], row[order]
    pair = bars["with_job"].to_numpy(object)[order] != ""
    first = np.flatnonzero(np.concatenate(([True], _changes(keys) | (row[1:] != row[:-1] + 1) | pair[1:])))
    count = np.diff(np.append(first, len(row)))
    found = bars.iloc[order[first]].copy()
    for name in ("steps", "with_steps"):
        found[name] = np.add.reduceat(bars[name].to_numpy(float)[order], first)
    found["last_row"] = found["row"] + count - 1
    found["slots"] = _ranges(found["slot"].to_numpy(np.int64), count)
    return found.reset_index(drop=True)


def _ranges(first: IntArray, count: IntArray) -> list[str]:
    return [str(a) if n == 1 else f"{a}–{a + n - 1}" for a, n in zip(first.tolist(), count.tolist(), strict=True)]


def job_bars(timeline: pd.DataFrame, jobs: Sequence[str]) -> pd.DataFrame:
    """One bar for each job and maximal interval of the same unit, kind and type, whatever the slots.

    Columns beside the timeline's: row (of the job), part and parts (bars of a job that overlap in time lie above each
    other: this one is number `part` of `parts`), held (GPUs of this type), where (nodes and GPUs). A pair gives a bar
    to both of its jobs, in the half it has in the view by slot.
    """
    shown = timeline[timeline["job"] != ""]
    if shown.empty:
        return _empty_job_bars(timeline)
    key = ["unit", "job", "with_job", "kind", "accelerator", "start_s", "end_s"]
    nodes = shown.groupby([*key, "node"], sort=False, dropna=False).agg(
        held=("slot", "size"), steps=("steps", "sum"), with_steps=("with_steps", "sum"), gpus=("gpus", "first")
    )
    nodes = nodes.reset_index()
    nodes["where"] = nodes["node"].astype(str) + " × " + nodes["held"].astype(str)
    bars = nodes.groupby(key, sort=False).agg(
        held=("held", "sum"), where=("where", "first"), steps=("steps", "sum"), with_steps=("with_steps", "sum"),
        gpus=("gpus", "first"),
    )  # fmt: skip
    spread = nodes[nodes.duplicated(key, keep=False)]
    if not spread.empty:
        places = spread.groupby(key, sort=False)["where"].agg(", ".join)
        bars.loc[places.index, "where"] = places
    bars = _joined_in_time(bars.reset_index(), ("unit", "with_job", "kind", "accelerator", "where"))
    pairs = bars[bars["with_job"] != ""]
    other = pairs.assign(
        job=pairs["with_job"], with_job=pairs["job"], steps=pairs["with_steps"], with_steps=pairs["steps"], half=1
    )
    bars = pd.concat([bars.assign(half=np.where(bars["with_job"] != "", 0, -1)), other], ignore_index=True)
    row = {job: i for i, job in enumerate(jobs)}
    bars["row"] = np.array([row.get(job, -1) for job in bars["job"]], dtype=np.int64)
    bars = bars[bars["row"] >= 0].sort_values(["row", "start_s", "end_s"], kind="stable").reset_index(drop=True)
    part, parts = _stacked(bars)
    alone = bars["half"].to_numpy() < 0
    bars["part"] = np.where(alone, part, bars["half"])
    bars["parts"] = np.where(alone, parts, 2)
    return bars.drop(columns="half")


def _empty_job_bars(timeline: pd.DataFrame) -> pd.DataFrame:
    extra = {"where": "str", "row": "int64", "part": "int64", "parts": "int64", "held": "int64"}
    return timeline.head(0).assign(**{name: pd.Series(dtype=dtype) for name, dtype in extra.items()})


def _joined_in_time(bars: pd.DataFrame, alike: Sequence[str]) -> pd.DataFrame:
    """Bars that follow each other without a gap and agree in these columns become one; steps add up."""
    keys = _codes(bars, alike)
    start, end = bars["start_s"].to_numpy(float), bars["end_s"].to_numpy(float)
    order = np.lexsort((start, *reversed(keys)))
    start, end, keys = start[order], end[order], [key[order] for key in keys]
    apart = start[1:] > end[:-1] + np.maximum(SAME_S, 1e-9 * np.abs(end[:-1]))
    first = np.flatnonzero(np.concatenate(([True], apart | _changes(keys))))
    found = bars.iloc[order[first]].copy()
    found["end_s"] = np.maximum.reduceat(end, first)
    for name in ("steps", "with_steps"):
        found[name] = np.add.reduceat(bars[name].to_numpy(float)[order], first)
    return found


def _stacked(bars: pd.DataFrame) -> tuple[IntArray, IntArray]:
    """For bars sorted by (row, start): the lowest free level of each, and how many levels its cluster needs."""
    part, parts = np.zeros(len(bars), dtype=np.int64), np.ones(len(bars), dtype=np.int64)
    rows, starts, ends = (bars[name].tolist() for name in ("row", "start_s", "end_s"))
    cluster: list[int] = []
    free_at: list[float] = []
    for i, (row, start, end) in enumerate(zip(rows, starts, ends, strict=True)):
        if not cluster or rows[cluster[-1]] != row or start >= max(free_at) - SAME_S:
            parts[cluster] = len(free_at)
            cluster, free_at = [], []
        level = next((k for k, free in enumerate(free_at) if start >= free - SAME_S), len(free_at))
        free_at[level:] = [end, *free_at[level + 1 :]]
        part[i] = level
        cluster.append(i)
    parts[cluster] = len(free_at)
    return part, parts


def preemptions(timeline: pd.DataFrame, jobs: pd.DataFrame, events: pd.DataFrame | None = None) -> pd.DataFrame:
    """When jobs lost their GPUs before completion: columns job, time_s, reason.

    From the events if there are any; else where an interval of a job ends, before the job's completion and before
    the end of the timeline, and no other one of the job goes on at that moment.
    """
    if events is not None and not events.empty:
        which = events["event"].to_numpy() == "preempt"
        lost = events[which] if which.any() else events.head(0)
        return lost[["job", "time_s", "reason"]].drop_duplicates(["job", "time_s"]).reset_index(drop=True)
    held = timeline[(timeline["unit"] != "") & (timeline["kind"] != "sync")]
    others = held[held["with_job"] != ""]
    names = ("start_s", "end_s")
    by_job = pd.concat([held[["job", *names]], others[["with_job", *names]].rename(columns={"with_job": "job"})])
    if by_job.empty:
        return pd.DataFrame({"job": [], "time_s": [], "reason": []}).astype({"job": "str", "reason": "str"})
    by_job = by_job.drop_duplicates().sort_values(["job", "start_s"], kind="stable")
    horizon = float(by_job["end_s"].max())
    finish = dict(zip(jobs["job"], jobs["finish_s"], strict=True))
    lost_at: list[tuple[str, float, str]] = []
    of, start_s, end_s = (by_job[name].to_numpy() for name in ("job", *names))
    first = np.flatnonzero(np.append(True, of[1:] != of[:-1]))
    for begin, end in itertools.pairwise([*first.tolist(), len(of)]):
        job, until = of[begin], np.maximum.accumulate(end_s[begin:end])
        gap = start_s[begin + 1 : end] > until[:-1] + SAME_S
        ends = [*until[:-1][gap].tolist(), float(until[-1])]
        done = finish.get(job, np.nan)
        last = horizon if np.isnan(done) else min(float(done), horizon)
        lost_at += [(str(job), t, "") for t in ends if t < last - SAME_S]
    return pd.DataFrame(lost_at, columns=["job", "time_s", "reason"])


def thinned(times: Iterable[float], most: int) -> tuple[list[float], int]:
    """Every k-th of the times, so that at most `most` are left, and k."""
    found = sorted(set(times))
    every = max(1, -(-len(found) // most))
    return found[::every], every


def _codes(table: pd.DataFrame, columns: Sequence[str]) -> list[IntArray]:
    found: list[IntArray] = []
    for name in columns:
        values: npt.NDArray[Any] = table[name].to_numpy()
        kind = values.dtype.kind
        if kind in "iu":
            found.append(values.astype(np.int64))
        else:
            found.append(pd.factorize(table[name])[0].astype(np.int64))
    return found


def _changes(keys: Sequence[IntArray]) -> BoolArray:
    changed = np.zeros(len(keys[0]) - 1, dtype=bool)
    for key in keys:
        changed |= key[1:] != key[:-1]
    return changed


MOST_BARS = 25_000
"""A canvas draws so many in about a second."""
MOST_MARKS = 4_000
WIDEST_PX = 2600.0
"""The widest plot that is thought of: what is closer than a pixel of it cannot be told apart."""
SEVERAL = "several"
"""The kind of a bar that stands for bars of different kinds."""
GREY = "#8a929c"
_ALIKE = {"where": "", "accelerator": "", "job": "", "with_job": "", "model": "", "kind": SEVERAL, "held": 0}
_ALIKE |= {"fill": GREY, "stroke": theme.PAPER}
"""Columns that a bar keeps if all that it stands for agree, and what it has otherwise."""


class Thinned(NamedTuple):
    """Bars to draw, and what was done to them in words (empty: nothing)."""

    bars: pd.DataFrame
    note: str


def thinned_bars(bars: pd.DataFrame, span_s: float, row_px: float, most: int = MOST_BARS) -> Thinned:
    """At most `most` bars, or one for each row of pixels if that is more.

    Time is cut into equal pieces; bars shorter than a piece that begin in the same one, on the same row, become one,
    which keeps its colour if they agree in it and is grey otherwise. The piece is the shortest that is enough, of
    those that double from a pixel on. Longer bars stay as they are.
    """
    if len(bars) <= most:
        return Thinned(bars, "")
    bars = _on_pixels(bars, row_px)
    lane = pd.factorize(pd.MultiIndex.from_frame(bars[["y0", "y1"]]))[0].astype(np.int64)
    start, end = bars["start_s"].to_numpy(float), bars["end_s"].to_numpy(float)
    order = np.lexsort((start, lane))
    lane, start, end = lane[order], start[order], end[order]
    short_s = span_s / WIDEST_PX
    first = _firsts(lane, start, end, short_s)
    while len(first) > most and short_s <= span_s:
        short_s *= 2
        first = _firsts(lane, start, end, short_s)
    found = _put_together(bars.iloc[order], first)
    note = f"{len(bars):,} bars drawn as {len(found):,}: neighbours shorter than {format_duration(short_s, parts=1)}"
    return Thinned(found, f"{note} are one, grey if of different jobs")


def _on_pixels(bars: pd.DataFrame, row_px: float) -> pd.DataFrame:
    """Where several rows share a pixel, bars lie on whole pixels."""
    if row_px >= 1:
        return bars
    pixel = np.floor(bars["y0"].to_numpy(float) * row_px + 1e-9)
    return bars.assign(y0=pixel / row_px, y1=(pixel + 1) / row_px)


def _firsts(lane: IntArray, start: FloatArray, end: FloatArray, short_s: float) -> IntArray:
    """Where bars sorted by lane and start begin anew: at a long bar, after one, in the next piece of time."""
    long, piece = end - start >= short_s, np.floor(start / short_s)
    apart = long[1:] | long[:-1] | (lane[1:] != lane[:-1]) | (piece[1:] != piece[:-1])
    return np.flatnonzero(np.concatenate(([True], apart)))


def _put_together(bars: pd.DataFrame, first: IntArray) -> pd.DataFrame:
    """One bar from each of `first` to the next."""
    count = np.diff(np.append(first, len(bars)))
    found = bars.iloc[first].copy()
    found["end_s"] = np.maximum.reduceat(bars["end_s"].to_numpy(float), first)
    for name in ("steps", "with_steps"):
        found[name] = np.add.reduceat(bars[name].to_numpy(float), first)
    for name, otherwise in _ALIKE.items():
        if name in bars:
            codes = pd.factorize(bars[name])[0]
            differ = np.minimum.reduceat(codes, first) != np.maximum.reduceat(codes, first)
            found[name] = found[name].mask(differ, otherwise)
    found.loc[found["fill"] == GREY, "kind"] = SEVERAL
    found["unit"] = found["unit"].mask(count > 1, [f"{n} bars" for n in count])
    return found.sort_values("start_s", kind="stable").reset_index(drop=True)


def thinned_marks(marks: pd.DataFrame, span_s: float, row_px: float) -> pd.DataFrame:
    """Of marks of preemption on one row of pixels the first in each piece of time, at most `MOST_MARKS` of them.

    The pieces are the shortest that are enough, as with bars; other marks stay.
    """
    lost = marks[marks["mark"] == "preempted"]
    row, piece_s, kept = (lost["y0"] * row_px).floordiv(1), span_s / WIDEST_PX, lost
    while len(kept) > MOST_MARKS and piece_s <= span_s:
        kept = lost[~pd.DataFrame({"piece": (lost["time_s"] / piece_s).floordiv(1), "row": row}).duplicated()]
        piece_s *= 2
    return pd.concat([kept, marks[marks["mark"] != "preempted"]], ignore_index=True) if kept is not lost else marks


def rows_together(row_px: float) -> int:
    """How many rows share a pixel."""
    return max(1, int(1 / row_px))
