"""The queue of Hops summed from its head, against its service window and the GPUs of the cluster."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.bars_in_rows import MOST_ROWS, present, row_bars, row_layers, row_px, row_texts
from workbench.analysis.charts.drawing import Drawing, drawn, faded, marks, message, message_layer, unchecked
from workbench.analysis.charts.series import latest

INSIDE, LATER, LET_IN, OUTSIDE = "service window", "window of a later plan", "let in onto fragments", "outside"
COLOURS = {INSIDE: theme.PALETTE[0], LATER: theme.PALETTE[4], LET_IN: theme.PALETTE[1], OUTSIDE: "#c9ced6"}
QUEUE_SIGNALS = ("place", "window", "let_in")
"""What a scheduler with such a queue records of the jobs in it, at each decision that looks at the queue: `place` from
1, `window` and, of jobs that were, `let_in`."""
MARK = " *"
"""Behind the sensitivity of a sensitive job: it is kept on one server."""


@unchecked
def service_window(queue: pd.DataFrame, *, gpus: int, title: str = "Service window of the queue") -> Drawing:
    """Draw the smallest requests of a queue, summed from its head, against the GPUs of the cluster.

    queue: one row for each job from the head on, columns job, least_gpus, summed_gpus, window (number of the plan in
    whose window it is, or true; 0 or false: in none), adjusted (let in behind the window), sensitivity, sensitive,
    latency_ratio. Parameter `selected` as in `gantt`.
    """
    table = queue.reset_index(drop=True)
    table["who"] = [_who(*row) for row in zip(table["window"], table["adjusted"], strict=True)]
    shown = table.head(MOST_ROWS)
    rows = len(shown)
    bars = shown.assign(row=np.arange(rows), low=shown["summed_gpus"] - shown["least_gpus"])
    columns = {
        "Sensitivity": [
            "" if pd.isna(rho) else f"{rho:.3f}{MARK if hot else '  '}"
            for rho, hot in zip(shown["sensitivity"], shown["sensitive"], strict=True)
        ],
        "Latency ratio": [f"{ratio:.3g}" for ratio in shown["latency_ratio"]],
    }
    opacity = faded()
    bar = row_bars(
        marks("bars"),
        rows,
        "who",
        present(COLOURS, shown["who"]),
        x=alt.X(
            "low:Q",
            title="Smallest requests, summed (GPUs)",
            scale=alt.Scale(zero=True, nice=False),
            axis=alt.Axis(format=",~r", tickMinStep=1, grid=False),
        ),
        x2="summed_gpus:Q",
        opacity=opacity,
        tooltip=[
            alt.Tooltip("job:N", title="Job"),
            alt.Tooltip("who:N", title="Is"),
            alt.Tooltip("least_gpus:Q", title="Smallest request (GPUs)"),
            alt.Tooltip("summed_gpus:Q", title="Summed (GPUs)"),
            alt.Tooltip("sensitivity:Q", title="Sensitivity", format=".3f"),
            alt.Tooltip("latency_ratio:Q", title="Latency ratio", format=".3f"),
        ],
    )
    total = marks("total")
    end = [
        total.mark_rule(color=theme.INK, strokeDash=[6, 4], strokeWidth=1.5).encode(x="gpus:Q"),
        total.mark_text(align="right", baseline="bottom", dy=-6).encode(x="gpus:Q", y=alt.value(0), text="text:N"),
    ]
    return drawn(
        bar,
        *end,
        *row_layers(opacity),
        message_layer(),
        data={
            "bars": bars,
            "total": pd.DataFrame({"gpus": [gpus], "text": [f"{gpus} GPUs"]}).head(rows),
            **row_texts(shown["job"].tolist(), columns),
            "message": message("" if rows else "Nobody waits"),
        },
        table=table,
        label=f"{title}: the jobs of the queue, their smallest requests summed, and who is inside the window.",
        title=title,
        subtitle=_window_subtitle(table),
        height=round(row_px(rows) * max(rows, 4), 2),
        params={"selected": None},
    )


def queue_at(signals: pd.DataFrame, least: dict[str, int], sigma: float, at_s: float) -> pd.DataFrame:
    """The queue of the last plan up to a time, as `service_window` takes it.

    signals: of a run that records place and window; least: the smallest request of each job; sigma: from which
    sensitivity on a job is sensitive.
    """
    before = signals[signals["time_s"] <= at_s]
    places = before[before["signal"] == "place"]
    places = places[places["decision"] == places["decision"].max()].sort_values("value", kind="stable")
    names = places["job"].tolist()
    now = before[before["decision"] == (places["decision"].iloc[0] if len(places) else -1)]

    def of(signal: str) -> pd.Series[float]:
        return now[now["signal"] == signal].set_index("job")["value"].reindex(names)

    rho = latest(before, "sensitivity").reindex(names)
    table = pd.DataFrame(
        {
            "place": np.arange(1, len(names) + 1),
            "job": names,
            "least_gpus": [least[name] for name in names],
            "window": of("window").fillna(0).astype(int).tolist(),
            "adjusted": of("let_in").fillna(0).gt(0).tolist(),
            "sensitivity": rho.tolist(),
            "sensitive": rho.gt(sigma).tolist(),
            "latency_ratio": of("latency_ratio").tolist(),
        }
    )
    table.insert(3, "summed_gpus", table["least_gpus"].cumsum())
    return table


def longest_queue_s(signals: pd.DataFrame) -> float:
    """The time of the first plan with as many jobs in the queue as any has."""
    waiting = signals[signals["signal"] == "place"].groupby("time_s")["job"].nunique()
    return float(waiting.index.to_numpy(float)[int(waiting.to_numpy().argmax())])


def _who(window: float, adjusted: bool) -> str:
    if window:
        return INSIDE if window == 1 else LATER
    return LET_IN if adjusted else OUTSIDE


def _window_subtitle(table: pd.DataFrame) -> str:
    """What the adjustment compares, and what the mark means; nothing without sensitivities."""
    known = table.dropna(subset=["sensitivity"])
    inside = known[known["who"] == INSIDE]
    if inside.empty:
        return ""
    notes = [f"mean sensitivity {inside['sensitivity'].mean():.2f} inside"]
    if len(known) == len(table):
        notes.append(f"{known['sensitivity'].mean():.2f} in the whole queue")
    if known["sensitive"].any():
        notes.append("*: sensitive, kept on one server")
    if len(table) > MOST_ROWS:
        notes.append(f"the first {MOST_ROWS} of {len(table)} jobs")
    return "; ".join(notes)
