"""What a run looks like: Gantt with playback, metrics, charts, tables. One selection links them all."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path

import ipywidgets as w
import pandas as pd

from widgets.tables import html_table
from widgets.vega_view import VegaView
from workbench import charts, metrics
from workbench.charts import Drawing
from workbench.errors import WorkbenchError
from workbench.run import Run
from workbench.schema import TABLES
from workbench.units import format_duration

ROWS_SHOWN = 200
FRAME_MS = 250
FORMATS = ("png", "svg", "html", "csv")
SHARES = "No shares of time: this scheduler does not work with them."


class Results:
    """The right side of a lab. picked: told the name of the selected job, or None."""

    def __init__(self, picked: Callable[[str | None], None]) -> None:
        self._picked = picked
        self._run: Run | None = None
        self._selected: str | None = None
        self._times: list[float] = []
        self._drawing: Drawing | None = None
        self._opened: dict[str, Callable[[], None]] = {}
        self._gantt = _view("Gantt chart", "gantt")
        self._gantt.observe(lambda change: self.select(change["new"].get("job") or None), "picked")
        self._metrics, self._note, self._job = w.HTML(), w.HTML(), w.HTML()
        self._job.add_class("wb-job")
        self._tabs = self._make_tabs()
        self._tools = self._make_tools()
        self.box = w.VBox([self._note, self._tools, self._gantt, self._job, self._tabs])
        self.box.add_class("wb-results")
        for part in (self._tools, self._gantt, self._tabs):
            part.layout.display = "none"

    # Parts -----------------------------------------------------------------------------------------------------------

    def _make_tools(self) -> w.HBox:
        self._by = w.ToggleButtons(
            options=[("By GPU", "slot"), ("By job", "job")], tooltips=["One row for each GPU", "One row for each job"]
        )
        self._by.style.button_width = "5.5em"
        self._by.add_class("wb-by")
        self._by.observe(lambda _: self._draw_gantt(), "value")
        self._play = w.Play(min=0, max=0, interval=FRAME_MS, tooltip="Play the rounds one after the other")
        self._round = w.IntSlider(min=0, max=0, readout=False, layout=w.Layout(width="14em"), tooltip="Show up to here")
        self._round.add_class("wb-round")
        w.jslink((self._play, "value"), (self._round, "value"))
        self._round.observe(lambda change: self._show_until(change["new"]), "value")
        self._time = w.HTML()
        self._format = w.Dropdown(options=FORMATS, layout=w.Layout(width="5em"), tooltip="Format of the export")
        export = w.Button(description="Export", icon="download", tooltip="Write the Gantt chart to a file beside this")
        export.layout.width = "7em"
        export.add_class("wb-export")
        export.on_click(lambda _: self._export())
        tools = w.HBox([self._by, self._play, self._round, self._time, self._format, export])
        tools.add_class("wb-tools")
        return tools

    def _make_tabs(self) -> w.Tab:
        self._views: dict[str, tuple[VegaView, Callable[[Run], Drawing | None]]] = {
            "Allocation": (_view("Allocation", "allocation"), self._allocation),
            "Received": (_view("Received", "received"), self._received),
            "JCT": (_view("Job completion times", "jct"), lambda run: charts.jct_cdf(run.jobs)),
            "GPUs in use": (_view("GPUs in use", "used"), _utilisation),
            "Queue": (_view("Jobs in the cluster", "queue"), lambda run: charts.queue(run.decisions, end_s=run.end_s)),
        }
        self._empty = {name: w.HTML() for name in self._views}
        self._which = w.Dropdown(options=[table.name for table in TABLES], description="Table")
        self._which.observe(lambda _: self._show_table(), "value")
        self._table = w.HTML()
        pages = [w.VBox([view, self._empty[name]]) for name, (view, _) in self._views.items()]
        tabs = w.Tab(
            [self._metrics, *pages, w.VBox([self._which, self._table])], titles=("Metrics", *self._views, "Tables")
        )
        tabs.observe(lambda _: self._draw_tab(), "selected_index")
        return tabs

    # Showing a run ---------------------------------------------------------------------------------------------------

    def show(self, run: Run) -> None:
        """Show a run; the selection stays if its job is still there."""
        self._run = run
        if self._selected is not None and self._selected not in set(run.jobs["job"]):
            self._selected = None
        self._times = [*run.decisions["time_s"].tolist()[1:], run.end_s]
        last = max(len(self._times) - 1, 0)
        self._play.max = self._round.max = last
        self._round.value = last
        self.outdated(False)
        self._draw_gantt()
        self._metrics.value = html_table(_short(metrics.table(metrics.summary(run))))
        self._show_job()
        self._draw_tab()
        for part in (self._tools, self._gantt, self._tabs):
            part.layout.display = None

    def outdated(self, old: bool) -> None:
        """Say that the charts show a run from before the last change."""
        text = "The charts show the run before your last change." if old else ""
        self._note.value = f"<p class='wb-note'>{text}</p>" if text else ""

    def select(self, job: str | None) -> None:
        """Select a job everywhere, or nothing."""
        if job == self._selected:
            return
        self._selected = job
        for view in (self._gantt, *(view for view, _ in self._views.values())):
            view.selected = job
        self._show_job()
        if self._tabs.titles[self._tabs.selected_index or 0] == "Received":
            self._draw_tab()
        self._picked(job)

    def add_page(self, title: str, page: w.Widget, opened: Callable[[], None]) -> None:
        """One more tab, at the end; `opened` is called when somebody looks at it."""
        titles = (*self._tabs.titles, title)
        self._tabs.children = (*self._tabs.children, page)
        self._tabs.titles = titles
        self._opened[title] = opened

    def _draw_gantt(self) -> None:
        if self._run is None:
            return
        run = self._run
        self._drawing = charts.gantt(
            run.timeline, run.jobs, run.decisions, run.events,
            by=self._by.value, cluster=run.scenario.cluster, end_s=run.end_s,
        )  # fmt: skip
        self._put(self._gantt, self._drawing)
        self._show_until(self._round.value)

    def _put(self, view: VegaView, drawing: Drawing) -> None:
        view.aria_label = drawing.label
        view.show(drawing.chart, drawing.data, selected=self._selected)

    def _show_until(self, number: int) -> None:
        """Hide what comes after the end of a round (playback)."""
        if not self._times:
            return
        at_end, until_s = number >= len(self._times) - 1, self._until_s()
        self._gantt.params = {"until": None if at_end else until_s}
        self._time.value = f"<span class='wb-note'>up to {_time(until_s)}</span>"
        if self._tabs.titles[self._tabs.selected_index or 0] == "Allocation":
            self._draw_tab()

    def _until_s(self) -> float:
        return self._times[min(int(self._round.value), len(self._times) - 1)]

    def _draw_tab(self) -> None:
        """Draw the chart of the open tab only."""
        name = self._tabs.titles[self._tabs.selected_index or 0]
        if self._run is None:
            return
        if name == "Tables":
            self._show_table()
        if name in self._opened:
            self._opened[name]()
        if name not in self._views:
            return
        view, draw = self._views[name]
        drawing = draw(self._run)
        view.layout.display = "none" if drawing is None else None
        self._empty[name].value = f"<p class='wb-note'>{SHARES}</p>" if drawing is None else ""
        if drawing is not None:
            self._put(view, drawing)

    def _allocation(self, run: Run) -> Drawing | None:
        """The shares in force at the time that playback has come to."""
        if run.shares.empty:
            return None
        at_s = self._until_s()
        title = f"Share of time on each type, at {_time(at_s)}"
        found = charts.shares_at(run.shares, at_s=at_s)
        return charts.allocation(found, accelerators=run.scenario.cluster.types, title=title)

    def _received(self, run: Run) -> Drawing | None:
        if run.shares.empty:
            return None
        table = charts.received_table(run.shares, run.timeline, run.decisions, end_s=run.end_s)
        return charts.received(table, self._selected)

    def _show_job(self) -> None:
        """One line about the selected job."""
        if self._run is None or self._selected is None:
            self._job.value = "<p class='wb-note'>Click a bar to follow a job.</p>" if self._run is not None else ""
            return
        jobs = self._run.jobs
        row = next(iter(jobs[jobs["job"] == self._selected].to_dict("records")))
        unfinished = pd.isna(row["finish_s"])
        took = "not finished" if unfinished else f"took {_time(row['finish_s'] - row['arrival_s'])}"
        gang = f"{row['gpus']} GPU{'s' if row['gpus'] > 1 else ''}"
        facts = [str(row["model"]), gang, f"arrived at {_time(row['arrival_s'])}", took]
        facts += [f"waited {_time(row['waited_s'])}", f"lost its GPUs {row['preemptions']} times"]
        facts += [f"moved {row['moves']} times"]
        self._job.value = f"<p><b>{html.escape(self._selected)}</b>: {html.escape(', '.join(facts))}.</p>"

    def _show_table(self) -> None:
        if self._run is None:
            return
        frame = self._run.table(str(self._which.value))
        if self._selected is not None and "job" in frame.columns:
            frame = frame[frame["job"] == self._selected]
        note = f"{len(frame)} rows" + (f", the first {ROWS_SHOWN} shown" if len(frame) > ROWS_SHOWN else "")
        note += f" (only {self._selected})" if self._selected is not None and "job" in frame.columns else ""
        self._table.value = f"<p class='wb-note'>{html.escape(note)}</p>" + html_table(frame.head(ROWS_SHOWN))

    def _export(self) -> None:
        """Write the Gantt chart under a name that is still free."""
        if self._drawing is None:
            return
        suffix = str(self._format.value)
        path = next(p for i in range(1, 10_000) if not (p := Path(f"gantt-{i}.{suffix}")).exists())
        try:
            charts.save(self._drawing, path)
            self._time.value = f"<span class='wb-note'>Written to {path}.</span>"
        except WorkbenchError as error:
            self._time.value = f"<span class='wb-bad'>{html.escape(str(error))}</span>"


def _view(label: str, name: str) -> VegaView:
    view = VegaView(aria_label=label, layout=w.Layout(width="100%"))
    view.add_class(f"wb-view-{name}")
    return view


def _utilisation(run: Run) -> Drawing:
    return charts.utilisation(run.timeline, cluster=run.scenario.cluster, end_s=run.end_s)


def _short(table: pd.DataFrame) -> pd.DataFrame:
    return table[["label", "value", "unit"]].set_axis(["Metric", "Value", "Unit"], axis="columns")


def _time(seconds: float) -> str:
    return format_duration(float(seconds), parts=2)
