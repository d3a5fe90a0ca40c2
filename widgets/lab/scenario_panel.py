"""A scenario as a person edits it: its tables, what the core does, and what schedulers believe of speeds."""

from __future__ import annotations

import html
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import ipywidgets as w

from widgets.editors.core_panel import CorePanel
from widgets.editors.knob_panel import KnobPanel
from widgets.editors.scenario_tables import Editors
from widgets.lab import words
from widgets.lab.highlight import Highlight
from widgets.parts.edit_table import EditTable
from workbench.base.errors import NOTHING, InputError
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.by_name import DEFAULT, ESTIMATORS, Estimator, Maker, maker

BELIEF = "Speeds known by"
"""The label of the control for the estimator."""
STYLE = {"description_width": "12em"}
KEPT = "Not part of the scenario's file."


class BeliefChoice:
    """A drop-down list of estimators, below it the knobs of the one that is chosen.

    changed: called after every change that a person made.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._quiet = False
        self.widget = w.Dropdown(
            options=[(found.title, found.name) for found in ESTIMATORS],
            value=DEFAULT,
            description=BELIEF,
            style=STYLE,
            layout=w.Layout(width="97%"),
        )
        self.widget.tooltip = f"What the scheduler goes by; jobs always run at the true speeds. {KEPT}"
        self.widget.add_class("wb-belief")
        self._help = w.HTML()
        self._knobs = KnobPanel(changed)
        self.box = w.VBox([self.widget, self._help, self._knobs.main, self._knobs.rest])
        self.widget.observe(self._on_choice, "value")
        self._offer()

    @property
    def belief(self) -> str:
        """The estimator by name, with the knobs that are not at their defaults; raises InputError for a wrong knob."""
        return Maker(self._estimator, self._knobs.values()).text

    def choose(self, belief: str) -> None:
        """Show an estimator by name, with its knobs; `changed` is not called. Raises InputError for one there is not.

        A knob that is not named is at its default.
        """
        made = maker(belief)
        before, self._quiet = self._quiet, True
        try:
            self.widget.value = made.estimator.name
        finally:
            self._quiet = before
        self._offer()
        self._knobs.set(made.knobs)

    @property
    def _estimator(self) -> Estimator:
        return next(found for found in ESTIMATORS if found.name == self.widget.value)

    def _on_choice(self, _: Any) -> None:
        if not self._quiet:
            self._offer()
            self._changed()

    def _offer(self) -> None:
        """The help and the knobs of the estimator that is chosen."""
        found = self._estimator
        self._knobs.show(found)
        self._knobs.rest.layout.display = None if found.knobs else "none"
        self._help.value = f"<p class='wb-note'>{html.escape(found.help)}</p>"


class JobSelection(Protocol):
    """Charts with one selected job."""

    @property
    def selected(self) -> str | None:
        """The job that is selected."""
        ...

    def select(self, job: str | None) -> None:
        """Select a job, or nothing."""
        ...


class ScenarioPanel:
    """The controls; `about` says what is open, `also` what it holds beside the controls.

    changed: called after every edit; followed: told the number of a row of the jobs that a person follows.
    """

    def __init__(self, changed: Callable[[], None], followed: Callable[[int], None]) -> None:
        self.editors = Editors(changed)
        self.core = CorePanel(changed)
        self.belief = BeliefChoice(changed)
        self.about, self.also = w.HTML(), w.HTML()
        self.about.add_class("wb-about")
        self.jobs.followed = followed

    @property
    def jobs(self) -> EditTable:
        """The table of the jobs."""
        return self.editors.tables["jobs"]

    @property
    def tabs(self) -> dict[str, w.Widget]:
        """The tables by the titles of their tabs."""
        tables = self.editors
        return {"Cluster": tables.cluster, "Jobs": tables.jobs, "Throughputs": tables.tables["throughputs"]}

    @property
    def scenario(self) -> Scenario:
        """The scenario as the controls have it; raises ScenarioError while a cell is wrong."""
        self.core.keep(self.editors.part("core"))
        self.editors.change(**self.core.parts())
        return self.editors.read()

    @property
    def to_run(self) -> Scenario:
        """The same, to be run; raises InputError for a table without jobs as well: a run would have nothing to show."""
        scenario = self.scenario
        if not scenario.jobs:
            raise InputError("Jobs", NOTHING, "at least one job in the table")
        return scenario

    def show(self, scenario: Scenario, belief: str) -> None:
        """Put a scenario and an estimator into the controls."""
        self.editors.show(scenario)
        self.core.show(self.editors.part("core"), self.editors.part("seed"))
        self.belief.choose(belief)
        self.about.value, self.also.value = words.about(scenario) + words.noted(scenario.notes), words.also(scenario)

    def mark(self, job: str | None) -> None:
        """Mark the row of a job that was selected in a chart."""
        names = [row.get("name") for row in self.jobs.rows]
        self.jobs.selected = names.index(job) if job in names else -1

    def light(self, lit: Highlight) -> None:
        """Point out the rows of jobs, of GPU types and of groups of nodes."""
        jobs, gpus = {*(lit.jobs or ())}, {*lit.gpus}
        for key, columns, about in (
            ("jobs", ("name",), jobs),
            ("cluster.nodes", ("accelerator",), gpus),
            ("cluster.accelerators", ("name",), gpus),
        ):
            table = self.editors.tables[key]
            table.lit = [
                at for at, row in enumerate(table.rows)
                if any(row.get(column) in about for column in columns) or (key == "cluster.nodes" and _of(row, gpus))
            ]  # fmt: skip

    def follow(self, index: int, charts: JobSelection, ran: Collection[str] | None, first: str) -> None:
        """Select the job of a row in the charts, or let it go if it was selected.

        ran: the jobs of the runs, None without a run; first: what to press for one.
        """
        job = str(self.jobs.rows[index].get("name"))
        charts.select(None if job == charts.selected else job)
        if ran is None:
            self.jobs.message = f"{first} first: then the charts show where this job runs."
        elif charts.selected == job:
            self.jobs.message = f"The charts follow {job}."
        else:
            self.jobs.message = "The charts follow no job." if job in ran else f"{job} did not run."


def _of(row: Mapping[str, Any], nodes: set[str]) -> bool:
    """Whether one of the nodes is of a group: it has the group's name, or that and a number."""
    name = str(row.get("name"))
    return any(node == name or node.rpartition("-")[0] == name for node in nodes)
