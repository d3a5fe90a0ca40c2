"""A table of the run below its picture: one is chosen, with the columns that matter most or all of them."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence

import ipywidgets as w
import pandas as pd

from widgets.lab.before_after import RHO, RHO_MEANT, fairness
from widgets.lab.highlight import Highlight
from widgets.parts.chart_page import ROWS_SHOWN
from widgets.parts.html_table import html_table
from workbench.analysis.explanation.compose import is_elastic
from workbench.base.errors import counted
from workbench.base.labels import head_of
from workbench.base.units import clock
from workbench.simulation.run import Run
from workbench.simulation.schema import TABLES

FIRST: Mapping[str, Sequence[str]] = {
    "jobs": ("job", "gpus", "weight", "finish_s", "waited_s", RHO, "verdict", "arrival_s"),
    "decisions": ("time_s", "cause", "waiting_jobs", "busy_gpus", "made_by", "objective"),
}
"""The columns of wide tables of which FIT are shown until all are asked for; others have all."""
FIT = 7
"""As many as fit beside the measures where a list of files is open, too."""


class RunTable:
    """In `box` the list of tables, the choice of all columns, and the table. asked: called when another is wanted."""

    def __init__(self, asked: Callable[[], None]) -> None:
        names = [(f"{table.name}: {table.meaning}", table.name) for table in TABLES]
        self.which = w.Dropdown(options=names, value="jobs", description="Table", layout=w.Layout(flex="1 1 0"))
        self.which.layout.width, self.which.layout.min_width = "auto", "0"
        self.which.add_class("wb-which")
        self.all = w.ToggleButton(description="All columns", layout=w.Layout(width="auto", flex="0 0 auto"))
        self.all.tooltip = "Show every column of the table, also those that few people ask for"
        self.all.add_class("wb-all-columns")
        self.text = w.HTML()
        self.text.add_class("wb-tables")
        for each in (self.which, self.all):
            each.observe(lambda _: asked(), "value")
        row = w.HBox([self.which, self.all])
        row.add_class("wb-which-row")
        self.box = w.VBox([row, self.text])

    def show(self, run: Run, job: str | None, lit: Highlight, rho: pd.Series[float]) -> None:
        """The chosen table of a run, of a table with jobs only one job's rows if it is selected; rho: of each job,
        which the table of jobs has beside what the run recorded."""
        name = str(self.which.value)
        whole = run.table(name)
        if name == "jobs":
            whole = whole.assign(**{RHO: fairness(rho)})
            if is_elastic(run):
                sizes = {each.name: each.gpu_choices or (each.gpus,) for each in run.scenario.jobs}
                whole = whole.assign(gpus=[" or ".join(map(str, sizes[name])) for name in whole["job"]])
            elif wide := {each.name for each in run.scenario.jobs if (each.tasks_per_round or 1) > 1}:
                each_job = zip(whole["job"], whole["gpus"], strict=True)
                whole = whole.assign(gpus=[f"{gpus} a task" if job in wide else str(gpus) for job, gpus in each_job])
        of_job = job is not None and "job" in whole.columns
        frame = whole[whole["job"] == job] if of_job else whole
        note = f"only {job}" if of_job else ""
        if len(frame) > ROWS_SHOWN:
            note = f"{counted(len(frame), 'row')}{note and ', ' + note}: the first {ROWS_SHOWN} are shown"
        columns = next(table.columns for table in TABLES if table.name == name)
        times = [c.name for c in columns if c.unit == "s"]
        heads = {c.name: head_of(c.name, c.unit).removesuffix(" (s)") for c in columns}
        units = {c.name: f" ({c.unit})" if c.unit and c.name not in times else "" for c in columns}
        meanings = {heads[c.name]: f"{c.meaning}{units[c.name]}" for c in columns}
        meanings[RHO] = RHO_MEANT
        frame = frame.head(ROWS_SHOWN)
        lit_rows = lit.rows(frame)
        frame = frame.drop(columns=[name for name in frame if len(frame) and not any(map(str, frame[name]))])
        first = FIRST.get(name, ())
        self.all.layout.display = None if first else "none"
        if first and not self.all.value:
            said = [name for name in first if name in frame and (name != "weight" or whole[name].nunique() > 1)]
            frame = frame[said[:FIT]]
        times = [name for name in times if name in frame]
        frame = frame.assign(**{name: [clock(each) for each in frame[name]] for name in times})
        if "verdict" in frame:
            frame = frame.assign(verdict=frame["verdict"].str.replace("_", " "))
        if "model" in frame:  # last: it is wide, and what it would push aside is asked for more
            frame = frame.drop(columns="model").assign(model=frame["model"])
        text = html_table(frame.rename(columns=heads), meanings, lit=lit_rows)
        self.text.value = (f"<p class='wb-note'>{html.escape(note)}</p>" if note else "") + text
