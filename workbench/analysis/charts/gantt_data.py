"""The tables that a Gantt chart draws: bars, rows, marks, the grid of rounds, the key."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.gantt_bars import (
    GREY,
    SEVERAL,
    WIDEST_PX,
    blocks,
    job_bars,
    lists_of,
    merged,
    rows_together,
    thinned,
)
from workbench.base.arrays import FloatArray
from workbench.base.errors import counted

By = Literal["slot", "job"]
Colour = Literal["job", "type", "model", "entity", "size", "outcome"]
OUTCOMES = ("finished", "finished, preempted before", "not finished", "refused")

MOST_HEIGHT_PX = 600.0
ROW_PX = 28.0
MOST_ROUNDS = 200
MOST_LABELS = 4000
MOST_NUMBERED = 400
"""Of more GPUs the numbers of slots are not written."""
MANY_ROWS, MANY_JOBS = 12, 10
"""A chart of more has an overview, and is zoomed along its rows too."""
MOST_GROUPS = 12
"""Of more colours the key has the first."""
LEAST_LABEL_PX = 10
"""The smallest label in a bar, and the lowest bar that has one."""
MANY_MARKS = 150
"""With more marks of preemption than this they are drawn thin."""
JOB_PX, NODE_PX, TYPE_PX = 170.0, 150.0, 120.0
"""The widest labels of jobs, nodes and types; longer ones are cut with an ellipsis."""
PIECES = {
    "run": "run",
    "restart": "restart",
    "switch": "switch of task",
    "profile": "profiling",
    "consolidate": "consolidation",
    "hold": "held idle",
    "sync": "synchronisation",
    "down": "node down",
    SEVERAL: "several short bars",
}
BAR_COLUMNS = [
    *("where", "accelerator", "unit", "job", "with_job", "model", "kind", "start_s", "end_s", "gpus", "steps"),
    *("y0", "y1", "fill", "stroke", "label", "em", "ink"),
]
OVERLAID = ("restart", "switch")
UNNAMED = {*OVERLAID, "sync", SEVERAL}
DASHED = ("profile", "down")


TOP_PX, LINE_PX, KEY_PX = 16, 21, (400, 640, 900)
"""The key: centre of its lowest line above the plot, distance of lines, widths of the chart for which it is broken into
lines, of which the widest that there is room for counts; pixels."""


class Frame(NamedTuple):
    """What the layers of one chart share: rows, pixels per row, seconds per unit of the axis, left margin."""

    rows: int
    row_px: float
    unit: theme.TimeUnit
    by: By
    many: bool = False

    @property
    def height(self) -> float:
        """Height of the plot, pixels."""
        return self.rows * self.row_px


def time_span(timeline: pd.DataFrame, jobs: pd.DataFrame, end_s: float | None) -> tuple[float, float]:
    """From 0 or the first arrival to the last end, seconds."""
    starts = np.concatenate([timeline["start_s"].to_numpy(float), jobs["arrival_s"].to_numpy(float)])
    ends = np.concatenate([starts, timeline["end_s"].to_numpy(float), jobs["finish_s"].to_numpy(float)])
    last = end_s if end_s is not None else float(np.nanmax(ends)) if np.isfinite(ends).any() else 0.0
    first = float(np.nanmin(starts)) if len(starts) else 0.0
    first = 0.0 if first < 0.2 * last else first  # a cut-out of a long trace begins where it begins
    return first, last if last > first else first + 1.0


def corners(span: tuple[float, float], frame: Frame) -> pd.DataFrame:
    """The two corners that fix the scales, in the unit of the axis and in rows."""
    times = [time_s / frame.unit.seconds for time_s in span]
    return pd.DataFrame({"t": times, "row": [0, frame.rows], "last": [False, True]})


class Colours(NamedTuple):
    """What bars are coloured by: the group of each job (None: the type of the GPU), and the colour of each group."""

    of: dict[str, str] | None
    fill: dict[str, str]

    @classmethod
    def by(cls, colour: Colour, jobs: pd.DataFrame, types: dict[str, str]) -> Colours:
        """Groups in the order of the scenario; sizes and outcomes in their own."""
        if colour == "type":
            return cls(None, types)
        found = {
            "job": lambda: jobs["job"],
            "model": lambda: _families(jobs["model"]),
            "entity": lambda: jobs["entity"].where(jobs["entity"] != "", "no entity"),
            "size": lambda: jobs["gpus"].map(lambda n: counted(int(n), "GPU")),
            "outcome": lambda: _outcomes(jobs),
        }[colour]()
        order = found[jobs["gpus"].argsort(kind="stable")] if colour == "size" else found
        names = OUTCOMES if colour == "outcome" else order.unique()
        return cls(dict(zip(jobs["job"], found, strict=True)), theme.job_colours(names))

    def painted(self, bars: pd.DataFrame) -> pd.DataFrame:
        """Bars with their group and with fill and outline by kind; what lies on top comes last."""
        group = bars["accelerator"] if self.of is None else bars["job"].map(self.of)
        return _painted(bars.assign(group=group), group.map(self.fill))


def _families(models: pd.Series[Any]) -> pd.Series[Any]:
    """The models; of more than the key can name without what stands in brackets, as batch sizes do."""
    return models if models.nunique() <= MOST_GROUPS else models.str.replace(r" \(.*\)$", "", regex=True)


def _outcomes(jobs: pd.DataFrame) -> pd.Series[Any]:
    """What became of each job, one of OUTCOMES."""
    done, refused = jobs["finish_s"].notna(), jobs["verdict"] == "refused"
    which = np.select([refused, ~done, jobs["preemptions"] > 0], [3, 2, 1], 0)
    return pd.Series([OUTCOMES[i] for i in which], index=jobs.index, dtype="str")


def slot_bars(timeline: pd.DataFrame, slots: pd.DataFrame, colours: Colours, frame: Frame) -> pd.DataFrame:
    """Bars of the view by slot: blocks of neighbouring slots, halves for pairs."""
    bars = blocks(merged(timeline), slots)
    gap = bar_gap(frame.row_px)
    top, bottom = bars["row"] + gap, bars["last_row"] + 1 - gap
    where = [f"{node} slot {slots}" for node, slots in zip(*lists_of(bars, "node", "slots"), strict=True)]
    bars = bars.assign(y0=top, y1=bottom, where=pd.Series(where, dtype="str", index=bars.index))
    pair = bars["with_job"] != ""
    if not pair.any():
        return colours.painted(bars)
    both = bars[pair]
    lower = both.assign(job=both["with_job"], with_job=both["job"], steps=both["with_steps"], y0=both["row"] + 0.5)
    bars.loc[pair, "y1"] = bars.loc[pair, "row"] + 0.5
    bars = pd.concat([bars, lower], ignore_index=True)
    return colours.painted(bars)


def job_rows_bars(timeline: pd.DataFrame, jobs: pd.DataFrame, colours: Colours, frame: Frame) -> pd.DataFrame:
    """Bars of the view by job: copies that overlap are stacked."""
    bars = job_bars(timeline, jobs["job"].tolist())
    gap = bar_gap(frame.row_px)
    height = (1 - 2 * gap) / np.maximum(bars["parts"], 1)
    top = bars["row"] + gap + bars["part"] * height
    bars = bars.assign(y0=top, y1=top + height)
    return colours.painted(bars)


def bar_gap(row_px: float) -> float:
    """The part of a row left free above and below its bar."""
    return 0.06 if row_px >= 10 else 0.0


def _painted(bars: pd.DataFrame, base: pd.Series[Any]) -> pd.DataFrame:
    """Fill and outline by kind; what lies on top comes last."""
    pairs = list(zip(base.fillna(theme.WARN).to_numpy(object).tolist(), *lists_of(bars, "kind"), strict=True))
    paint = {pair: _paint(*pair) for pair in set(pairs)}
    found = [paint[pair] for pair in pairs]
    bars = bars.assign(
        fill=pd.Series([fill for fill, _ in found], index=bars.index, dtype="str"),
        stroke=pd.Series([stroke for _, stroke in found], index=bars.index, dtype="str"),
    )
    thin = bars["kind"] == "sync"
    if thin.any():
        bars.loc[thin, "y0"] = bars["y1"] - 0.25 * (bars["y1"] - bars["y0"])
    order = np.lexsort((bars["start_s"].to_numpy(float), np.array([kind in OVERLAID for _, kind in pairs])))
    return bars.iloc[order].reset_index(drop=True)


def _paint(colour: str, kind: str) -> tuple[str, str]:
    looks = {
        "restart": (theme.INK, theme.INK),
        "switch": ("#777777", "#777777"),
        "profile": (theme.tint(colour, 0.6), theme.INK),
        "consolidate": (theme.tint(colour, 0.35), theme.INK),
        "hold": (theme.PAPER, colour),
        "sync": (theme.shade(colour, 0.35), theme.PAPER),
        "down": ("#f4d4d6", theme.WARN),
        SEVERAL: (GREY, theme.PAPER),
    }
    return looks.get(kind, (colour, theme.PAPER))


def models(jobs: pd.DataFrame) -> dict[str, str]:
    """The model of each job."""
    return dict(zip(jobs["job"], jobs["model"], strict=True))


def labelled(bars: pd.DataFrame, jobs: pd.DataFrame, span: tuple[float, float], frame: Frame) -> pd.DataFrame:
    """Add model, label and its width in units of its size.

    No label where it cannot fit in any plot up to WIDEST_PX, however close one may come where there are many rows.
    """
    model, texts = models(jobs), _texts(bars, frame.by)
    kinds, fills, names = lists_of(bars, "kind", "fill", "job")
    start_s, end_s, y0, y1 = (bars[name].to_numpy(float) for name in ("start_s", "end_s", "y0", "y1"))
    wide = (end_s - start_s) / (span[1] - span[0]) * WIDEST_PX
    em = np.array([theme.text_px(text, 1.0) for text in texts])
    fits = frame.many | ((y1 - y0) * frame.row_px >= LEAST_LABEL_PX) & (wide >= em * LEAST_LABEL_PX + 6)
    shown = fits & np.array([kind not in UNNAMED for kind in kinds], dtype=bool)
    if int(shown.sum()) > MOST_LABELS:
        shown &= pd.Series(np.where(shown, wide, -1.0)).rank(method="first", ascending=False).to_numpy() <= MOST_LABELS
    label = [text if seen else "" for text, seen in zip(texts, shown.tolist(), strict=True)]
    ink = [theme.text_on(fill) if text else "" for fill, text in zip(fills, label, strict=True)]
    return bars.assign(
        model=pd.Series([model.get(job, "") for job in names], dtype="str", index=bars.index),
        label=pd.Series(label, dtype="str", index=bars.index),
        em=np.where(shown, np.round(em, 2), 0),
        ink=pd.Series(ink, dtype="str", index=bars.index),
    )


def _texts(bars: pd.DataFrame, by: By) -> list[str]:
    """What each bar would be called."""
    if by == "job":
        return [f"{kind} × {held}" for kind, held in zip(*lists_of(bars, "accelerator", "held"), strict=True)]
    columns = zip(*lists_of(bars, "kind", "job", "with_job", "unit"), strict=True)
    return [
        "down" if kind == "down" else str(unit if " #" in unit and not other else job)
        for kind, job, other, unit in columns
    ]


def slot_rows(slots: pd.DataFrame, types: dict[str, str], frame: Frame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Labels and lanes of the rows, in three columns (type, node, slot), and the lines between them."""
    if slots.empty:
        return _rows([]), pd.DataFrame({"row": [], "weight": [], "over": []})
    extent = {"first": ("row", "min"), "count": ("row", "size")}
    nodes = slots.groupby(["accelerator", "node"], sort=False).agg(**extent).reset_index()
    kinds = slots.groupby("accelerator", sort=False).agg(**extent).reset_index()
    place = nodes.groupby("accelerator", sort=False).cumcount()
    rest = nodes.groupby("accelerator", sort=False)["node"].transform("size") - 1 - place
    found = [
        _row("node", first, count, str(node), place=at, rest=more, node=node, accelerator=accelerator)
        for (accelerator, node, first, count), at, more in zip(nodes.itertuples(index=False), place, rest, strict=True)
    ]
    for accelerator, first, count in kinds.itertuples(index=False):
        found.append(_row("type", first, count, str(accelerator), types[accelerator], accelerator=accelerator))
    if slot_numbers(slots):
        for row, _, slot, _ in slots.itertuples(index=False):
            found.append(_row("slot", row, 1, str(slot)))
    inner = [(row, 0.5, True) for row in slots["row"][1:]] if frame.row_px >= 6 or len(slots) <= MOST_NUMBERED else []
    single = len(nodes) == len(slots) or frame.row_px * len(slots) / len(nodes) < 5
    edges = [] if single else [(first, 1.0, False) for first in nodes["first"][1:]]
    outer = [(first, 2.0, False) for first in kinds["first"][1:]]
    return _rows(found), pd.DataFrame([*inner, *edges, *outer], columns=["row", "weight", "over"])


def slot_numbers(slots: pd.DataFrame) -> bool:
    """Whether the numbers of slots are shown, as soon as there is room."""
    return len(slots) <= MOST_NUMBERED and bool((slots["slot"] > 0).any())


def job_rows(jobs: pd.DataFrame, frame: Frame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows and separating lines of the view by job."""
    together = rows_together(frame.row_px)
    names = jobs["job"].tolist()
    found = [
        _row("job", row, together, names[row], place=row // together, rest=len(names), job=names[row])
        for row in range(0, len(names), together)
    ]
    return _rows(found), pd.DataFrame({"row": [], "weight": [], "over": []})


def _row(
    column: str,
    row: int,
    count: int,
    text: str,
    colour: str = "",
    node: str = "",
    accelerator: str = "",
    job: str = "",
    place: int = 0,
    rest: int = 0,
) -> dict[str, Any]:
    """place, rest: how many rows of the same kind come before and after; of those too low for a name every k-th has
    one, as many as fit."""
    return {
        "column": column,
        "y0": float(row),
        "y1": float(row + count),
        "text": text,
        "colour": colour,
        "node": node,
        "accelerator": accelerator,
        "job": job,
        "place": place,
        "rest": rest,
    }


def _rows(found: list[dict[str, Any]]) -> pd.DataFrame:
    columns = ["column", "y0", "y1", "text", "colour", "node", "accelerator", "job", "place", "rest"]
    return pd.DataFrame(found, columns=columns)


def names_px(jobs: pd.DataFrame) -> float:
    """Room that the names of the view by job need left of the plot."""
    return 10 + min(max((theme.text_px(str(name)) for name in jobs["job"]), default=0.0), JOB_PX)


NO_MARKS = pd.DataFrame({"mark": [], "job": [], "time_s": [], "y0": [], "y1": [], "reason": []}).astype(
    {"mark": "str", "job": "str", "reason": "str"}
)


def lost_at(bars: pd.DataFrame, lost: pd.DataFrame) -> pd.DataFrame:
    """A mark at the end of each bar that was cut short."""
    if lost.empty:
        return NO_MARKS
    when: dict[tuple[str, int], tuple[float, str]] = {}
    for job, time_s, reason in zip(lost["job"], lost["time_s"], lost["reason"], strict=True):
        when.setdefault((job, round(time_s * 1e3)), (time_s, reason))
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for job, kind, end_s, y0, y1 in zip(*lists_of(bars, "job", "kind", "end_s", "y0", "y1"), strict=True):
        at = (job, round(end_s * 1e3))
        if job and kind != "sync" and at in when:
            found.setdefault((*at, y0, y1), ("preempted", job, when[at][0], y0, y1, when[at][1]))
    return pd.DataFrame([*found.values()], columns=NO_MARKS.columns) if found else NO_MARKS


def life_marks(jobs: pd.DataFrame, frame: Frame) -> pd.DataFrame:
    """Arrival, completion, and the line of life between them, of one job where several share a pixel."""
    together = rows_together(frame.row_px)
    row, jobs = np.arange(0, len(jobs), together, dtype=float), jobs.iloc[::together]
    base = pd.DataFrame({"job": jobs["job"].to_numpy(), "y0": row, "y1": row + 1, "reason": ""})
    arrived = base.assign(mark="arrived", time_s=jobs["arrival_s"].to_numpy(float))
    finished = base.assign(mark="finished", time_s=jobs["finish_s"].to_numpy(float)).dropna(subset=["time_s"])
    return pd.concat([arrived, finished], ignore_index=True)


def round_grid(decisions: pd.DataFrame | None, end_s: float) -> tuple[pd.DataFrame, int]:
    """Times of rounds before the end, thinned to MOST_ROUNDS, and how many rounds a line stands for."""
    if decisions is None or decisions.empty:
        return pd.DataFrame({"time_s": pd.Series(dtype="float64")}), 0
    asked = np.unique(decisions["time_s"].to_numpy(float)[(decisions["cause"] == "round").to_numpy()])
    times, every = _with_rounds_left_out(asked, end_s) or thinned(asked.tolist(), MOST_ROUNDS)
    return pd.DataFrame({"time_s": pd.Series(times, dtype="float64")}), every if times else 0


def _with_rounds_left_out(asked: FloatArray, end_s: float) -> tuple[list[float], int] | None:
    """A scheduler may be left out of rounds in which it would change nothing: if all gaps are multiples of the least,
    that is the length of a round, and the rounds between and after are there too. Thinned, for there may be millions;
    None where there are no others."""
    gaps = np.diff(asked)
    if not len(gaps):
        return None
    count = gaps / gaps.min()
    if not np.allclose(count, np.round(count), rtol=0, atol=1e-6):
        return None
    rounds = math.ceil((max(end_s, asked[-1]) - asked[0]) / gaps.min())
    if rounds <= len(asked):
        return None
    every = -(-rounds // MOST_ROUNDS)
    return (asked[0] + gaps.min() * np.arange(0, rounds, every)).tolist(), every


def key_table(
    bars: pd.DataFrame,
    marks: pd.DataFrame,
    every: int,
    colours: Colours,
    frame: Frame,
    left_px: float = 0.0,
    keyed: Collection[str] = (),
) -> pd.DataFrame:
    """What the signs mean, in lines above the plot: only those that occur. left_px: room left of the plot; keyed: the
    texts of those that stand elsewhere.

    Broken into lines for several widths; each row is for plots from from_px to less than to_px wide.
    """
    by = frame.by
    neutral = "#9aa3ad"
    items: list[tuple[str, str, str, str]] = []
    seen = set(bars["group"].unique())
    used = [name for name in colours.fill if name in seen]
    if len(colours.fill) <= 8 or colours.fill.keys() != set((colours.of or {}).keys()):  # else too many jobs to name
        items += [("box", name, colours.fill[name], theme.PAPER) for name in used[:MOST_GROUPS]]
        items += [("", f"and {len(used) - MOST_GROUPS} more", "", "")] if len(used) > MOST_GROUPS else []
    present = set(bars["kind"])
    pieces = [kind for kind in PIECES if kind in present and kind != "run"]
    items += [("dashed" if kind in DASHED else "box", PIECES[kind], *_paint(neutral, kind)) for kind in pieces]
    if by == "job" and (bars["with_job"] != "").any():
        items.append(("half", "shares its GPUs", neutral, theme.PAPER))
    if by == "slot" and (bars["with_job"] != "").any():
        items.append(("split", "split: jobs share a GPU", neutral, theme.PAPER))
    have = set(marks["mark"])
    items += [(sign, sign, "", "") for sign in ("preempted", "arrived", "finished") if sign in have]
    if every:
        items.append(("round", "round" if every == 1 else f"{every} rounds each", theme.LANE, theme.LANE))
    items = [item for item in items if item[1] not in keyed]
    keys = [_key_lines(items, line_px, left_px) for line_px in KEY_PX]
    first = [n for n, key in enumerate(keys) if n == 0 or key != keys[n - 1]]
    ends = [*(KEY_PX[n] - left_px if n else 0.0 for n in first), math.inf]
    rows = [(*row, *ends[at : at + 2]) for at, n in enumerate(first) for row in keys[n]]
    return pd.DataFrame(rows, columns=["sign", "text", "fill", "stroke", "px", "py", "from_px", "to_px"])


def _key_lines(items: list[tuple[str, str, str, str]], line_px: float, left_px: float) -> list[tuple[Any, ...]]:
    """The signs with their places, in lines of line_px."""
    found, x, line = [], 0.0, 0
    for sign, text, fill, stroke in items:
        text = text if len(text) <= 24 else text[:23] + "…"
        if x + 20 + theme.text_px(text) > line_px:
            x, line = 0.0, line + 1
        if sign == "split":
            found.append(("upper", "", theme.tint(fill, 0.6), stroke, x - left_px, line))
        found.append(("half" if sign == "split" else sign, text, fill, stroke, x - left_px, line))
        x += 20 + theme.text_px(text) + 18
    return [(*row, float(-TOP_PX - LINE_PX * (line - at))) for *row, at in found]


def behind(bars: pd.DataFrame, jobs: pd.DataFrame) -> pd.DataFrame:
    """The numbers behind the chart, of every bar whether drawn or put together."""
    if "model" not in bars:
        bars = bars.assign(model=bars["job"].map(models(jobs)).fillna("").astype("str"))
    order = np.lexsort((bars["where"].to_numpy(object), bars["start_s"].to_numpy(float)))
    return bars[BAR_COLUMNS[:11]].iloc[order].reset_index(drop=True)
