"""`CompareLab`: one scenario, any schedulers, the same core and seeds; their schedules and measures side by side."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from widgets.compare_lab.entries import SchedulerList
from widgets.compare_lab.outcomes import CompareSetting, Outcomes
from widgets.compare_lab.results import CompareResults
from widgets.compare_lab.tables import FOR_ALL
from widgets.editors.setting_history import jsonable
from widgets.lab.results import drawings
from widgets.lab.scenario_panel import ScenarioPanel
from widgets.lab.shell import LabShell, SolveBar, kept_open, opened, panels_of, require_up_to, tabs_of, whole
from widgets.parts.lazy_widgets import lazy
from widgets.parts.presenter import Panel
from widgets.work.drawing_pace import Paced
from widgets.work.kernel import is_small
from widgets.work.many import ManyWork
from widgets.work.workplace import when_idle
from workbench.analysis.bootstrap import check_bootstrap, other_jobs_said
from workbench.analysis.comparison import Comparison, Contender, list_cases
from workbench.base.errors import InputError, Words, counted
from workbench.base.units import format_duration
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.by_name import ESTIMATORS, PAPER, belief_of_all
from workbench.session.api import with_usable_schedulers
from workbench.session.many_runs import Outcome
from workbench.session.registry import find_scheduler, paper_rooms

if TYPE_CHECKING:
    from workbench.analysis.charts import Drawing

OWN_CSS = (Path(__file__).parent / "compare.css").read_text(encoding="utf-8")
FIRST = "start_here"
MOST_SEEDS = 30
LOADED = "Press Compare."
NOTHING_ELSE = ""
DIFFER_IN = (("their jobs, drawn anew", True), ("the seed alone", False))
"""What the runs of a scheduler differ in, and whether that is the bootstrap."""


class CompareLab(LabShell[CompareSetting]):
    """Compares schedulers on a scenario (default: `start_here`), a file, or the preset that `scenario` names.

    schedulers: names or (name, knobs) as for `workbench.compare`; default: the scenario's, without a scenario one of
    each paper. Up to ten jobs are compared as they are opened.
    scenario, comparison: what the tables say, and what was compared last, as objects.
    """

    EDITED = "Edited, not compared."

    @lazy()
    def __init__(
        self, scenario: Scenario | str | Path | None = None, schedulers: Sequence[Contender] | None = None
    ) -> None:
        self._work = ManyWork(self._on_outcome, self._on_end)
        self._work.warm()
        self._start = opened(FIRST if scenario is None else scenario)
        if scenario is None and schedulers is None:
            schedulers = _one_of_each_paper()
        self._start_with = schedulers
        self._outcomes: Outcomes | None = None
        self._began_s = 0.0
        bar = SolveBar(self.compare, self._work.cancel, "Compare", "Run every scheduler on this scenario")
        super().__init__("Compare lab", bar)
        self._list = SchedulerList(self._on_change)
        self._scenario = ScenarioPanel(self._on_change, self._on_row)
        self._tables = self._scenario.editors
        self._results = CompareResults(self._scenario.mark, self._scenario.about)
        self._drawing = Paced(self._results.refresh)
        self._build()
        self.open(self._start, schedulers)
        when_idle(drawings)

    # What a notebook may ask for -------------------------------------------------------------------------------------

    @property
    def scenario(self) -> Scenario:
        """The scenario as the tables have it; raises ScenarioError while a cell is wrong."""
        return self._scenario.scenario

    @property
    def comparison(self) -> Comparison:
        """What was compared last, or so far; raises InputError if nothing was yet."""
        if self._outcomes is None or not (self._outcomes.runs or self._outcomes.failures):
            raise InputError("lab.comparison", None, "runs (press Compare first)")
        return self._outcomes.comparison()

    @property
    def schedulers(self) -> list[tuple[str, dict[str, Any]]]:
        """The schedulers on the list, each with the knobs that are not at their defaults."""
        return self._list.entries

    def open(self, scenario: Scenario, schedulers: Sequence[Contender] | None = None) -> None:
        """Show another scenario, with its own or these schedulers; Undo comes back, Reset then returns to it.

        Raises InputError and ScenarioError for schedulers or knobs there are not.
        """
        scenario = with_usable_schedulers(scenario)
        entries = _entries(scenario, schedulers or scenario.schedulers or _one_of_each_paper())
        belief = belief_of_all([find_scheduler(name) for name, _ in entries])
        self._show(CompareSetting(scenario, entries, int(self._seeds.value), (belief,), bool(self._differ.value)))
        self._start, self._start_with = scenario, schedulers
        self._on_change("ready", LOADED)
        when_idle(self._compare_small)

    def _compare_small(self) -> None:
        """Compare what was opened, if that is quick and nobody has set anything since."""
        present = self._frame.history.present
        if self.state == "ready" and present is not None and is_small(present.scenario):
            self.compare()

    def set(
        self,
        schedulers: Sequence[Contender] | None = None,
        *,
        seeds: int | None = None,
        belief: str | Sequence[str] | None = None,
        bootstrap: bool | None = None,
    ) -> None:
        """Choose schedulers, the number of seeds and the estimator of all from code; with two each runs with both.

        bootstrap: whether seeds differ in their jobs too, as in `workbench.compare`.
        """
        check_bootstrap(bool(self._differ.value) if bootstrap is None else bootstrap)
        entries = None if schedulers is None else _entries(self.scenario, schedulers)
        if seeds is not None:
            require_up_to(MOST_SEEDS, "seeds", seeds)
        with self._quiet():
            if entries is not None:
                self._list.show(entries)
            if seeds is not None:
                self._seeds.value = seeds
            if bootstrap is not None:
                self._differ.value = bootstrap
            if belief is not None:
                self._choose((belief,) if isinstance(belief, str) else tuple(belief))
        self._on_change()

    def _choose(self, beliefs: tuple[str, ...]) -> None:
        """Show one estimator, or two; raises InputError for others."""
        if not 1 <= len(beliefs) <= 2:
            raise InputError("belief", list(beliefs), "an estimator, or two of them")
        told = belief_of_all([], beliefs[-1])
        self._scenario.belief.choose(beliefs[0])
        self._beside.options = _offered(told)
        self._beside.value = told if len(beliefs) > 1 else NOTHING_ELSE

    def compare(self) -> None:
        """Make the runs in the background; they appear as they end."""
        setting = self._check()
        if setting is None or (self._asked is not None and self._is_as(setting, self._asked)):
            return
        outcomes = Outcomes(setting)
        self._outcomes, self._began_s = outcomes, time.monotonic()
        self._asked, self._shown = setting, None
        self._results.begin(outcomes)
        self._frame.presenter.refresh()
        self._bar.busy = True
        self._bar.far(0.0)
        self._bar.say("working", f"{self._counted(outcomes)}: starting ...")
        self._work.submit(setting.requests())

    # Layout ----------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        body = self._frame.sides([self._drawer()], w.VBox([self._results.box, self._bar.box]), open=False)
        self._whole = whole(self._frame.top, body, css=OWN_CSS, name="wb-compare")

    def _drawer(self) -> w.Tab:
        self._seeds = w.BoundedIntText(
            value=1, min=1, max=MOST_SEEDS, description="Runs each", layout=w.Layout(width="13em"),
            style={"description_width": "7.5em"},
        )  # fmt: skip
        self._seeds.tooltip = "Each scheduler runs so often, all with the same seeds: the scenario's and those after it"
        self._seeds.add_class("wb-seeds")
        self._seeds.observe(lambda _: self._on_change(), "value")
        self._differ = w.Dropdown(
            options=DIFFER_IN, description="They differ in", layout=w.Layout(width="97%"),
            style={"description_width": "7.5em"},
        )  # fmt: skip
        self._differ.add_class("wb-differ-in")
        self._differ.observe(lambda _: self._on_change(), "value")
        self._said_drawn = w.HTML()
        panel = self._scenario
        self._beside = w.Dropdown(
            options=_offered(), value=NOTHING_ELSE, description="Beside it", layout=w.Layout(width="97%"),
            style={"description_width": "12em"},
        )  # fmt: skip
        self._beside.tooltip = "Each scheduler runs with both: what it is worth to it to know more"
        self._beside.add_class("wb-beside")
        self._beside.observe(lambda _: self._on_change(), "value")
        tabs = {
            "Schedulers": w.VBox([self._seeds, self._differ, self._list.box, self._said_drawn]),
            **panel.tabs,
            FOR_ALL: w.VBox([panel.core.box, panel.belief.box, self._beside, panel.also]),
        }
        self._tabs = tabs_of(tabs, "wb-editors")
        return self._tabs

    # Presenting ------------------------------------------------------------------------------------------------------

    def _panels(self) -> list[Panel]:
        panels = panels_of(self._results.pages)
        return panels if self._outcomes is not None else panels[:1]  # which says what to do

    def _keep(self) -> Callable[[], None]:
        return kept_open(self._results.pages)

    def _seen(self) -> tuple[Sequence[Drawing], str]:
        return self._results.seen

    # Changes ---------------------------------------------------------------------------------------------------------

    def _reset(self) -> None:
        self.open(self._start, self._start_with)

    def _show(self, setting: CompareSetting) -> None:
        with self._quiet():
            self._scenario.show(setting.scenario, setting.beliefs[0])
            self._choose(setting.beliefs)
            self._list.show(setting.entries)
            self._seeds.value, self._differ.value = setting.seeds, setting.bootstrap
            self._frame.offer_presets(setting.scenario)

    def _read(self) -> CompareSetting:
        entries = tuple(self._list.entries)
        scenario, told = self._scenario.to_run, (self._scenario.belief.belief, str(self._beside.value))
        beliefs = tuple(dict.fromkeys(name for name in told if name != NOTHING_ELSE))
        setting = CompareSetting(scenario, entries, int(self._seeds.value), beliefs, bool(self._differ.value))
        setting.cases()
        return setting

    def _is_as(self, setting: CompareSetting, other: CompareSetting | None) -> bool:
        return setting.is_as(other)

    def _heard(self, setting: CompareSetting | None, other: bool) -> None:
        """What differs between several runs is said below their number."""
        several = setting is not None and setting.seeds > 1
        self._differ.disabled = self._seeds.value == 1
        text = other_jobs_said(setting.scenario) if setting is not None and several and setting.bootstrap else ""
        self._said_drawn.value = f"<p class='wb-note'>{html.escape(text)}</p>" if text else ""

    def _outdated(self, old: bool) -> None:
        self._results.outdated(old and self._outcomes is not None)

    def _say_working(self, setting: CompareSetting) -> None:
        self._outdated(False)
        self._say_far()

    def _to_save(self) -> Scenario:
        """The scenario with these schedulers as its own."""
        entries = [{"scheduler": name, "knobs": jsonable(knobs)} for name, knobs in self._list.entries]
        return self.scenario.replace(schedulers=entries)

    def _on_row(self, index: int) -> None:
        """A person follows a row of the jobs."""
        self._scenario.follow(index, self._results, self._results.jobs, "Compare")

    # Work ------------------------------------------------------------------------------------------------------------

    def _on_outcome(self, number: int, found: Outcome) -> None:
        """A run has ended."""
        if self._outcomes is None:
            return
        self._outcomes.take(number, found)
        if self._bar.state == "working":
            self._say_far()
        self._drawing.ask()

    def _on_end(self, state: str, text: str) -> None:
        """All runs have ended, one way or another."""
        outcomes = self._outcomes
        if outcomes is None:
            return
        self._asked, self._bar.busy = None, False
        made, failed, total = len(outcomes.runs), len(outcomes.failures), len(outcomes.cases)
        took = format_duration(round(time.monotonic() - self._began_s, 1), parts=1)
        self._summary = {
            "done": f"Done: {self._counted(outcomes)} in {took}" + (f"; {failed} failed." if failed else "."),
            "cancelled": f"Cancelled: {made} of {total} runs made.",
        }.get(state, text)
        edited = self._bar.state in ("edited", "invalid")
        outcomes.over = True
        if state == "done":
            self._shown = outcomes.setting
            self._drawing.flush()
        else:
            self._drawing.now()
        if not edited:
            self._bar.say(state, self._summary)
        elif self._bar.state == "edited":
            self._on_change("edited", "Edited since, not compared.")

    def _say_far(self) -> None:
        """How many runs have ended, and about how long the others take."""
        far = self._work.far
        self._bar.far(far.ended / max(far.total, 1))
        self._bar.say("working", f"Comparing: {far}")

    def _counted(self, outcomes: Outcomes) -> str:
        return f"{counted(len(outcomes.labels), 'scheduler')}, {counted(len(outcomes.cases), 'run')}"


def _entries(scenario: Scenario, schedulers: Sequence[Contender]) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Names with knobs; raises InputError for what cannot be compared, and for labels, which the list does not show."""
    if isinstance(schedulers, Mapping):
        raise InputError("schedulers", Words("labels"), "a list: labels are for workbench.compare")
    return tuple((case.scheduler, case.knobs) for case in list_cases(scenario, schedulers, [0]))


def _offered(told: str = NOTHING_ELSE) -> list[tuple[str, str]]:
    """What may be told beside the estimator of all: nothing, what papers say, another one; told: one with knobs."""
    every = [("Nothing else", NOTHING_ELSE), ("What each scheduler's paper says", PAPER)]
    every += [(found.title, found.name) for found in ESTIMATORS]
    return every if told in {name for _, name in every} else [*every, (told, told)]


def _one_of_each_paper() -> list[str]:
    """What is compared where a scenario names none: each paper's first scheduler."""
    return [room.schedulers[0].name for room in paper_rooms() if room.schedulers]
