"""The what-if lab: open a trace, say what is run today, change one thing, and see the paired difference."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import ipywidgets as w

from widgets.editors.knob_panel import KnobPanel
from widgets.editors.scheduler_choice import short_titles
from widgets.editors.setting_history import LabSetting, jsonable
from widgets.lab.results import PAGES
from widgets.lab.shell import LabShell, SolveBar, kept_open, opened, panels_of, require_up_to, tabs_of, whole
from widgets.lab.vary_page import VaryPage
from widgets.lab.words import about, noted
from widgets.parts.button import button
from widgets.parts.files import Download
from widgets.parts.lazy_widgets import lazy, unseen
from widgets.parts.presenter import Panel
from widgets.what_if_lab.answer import AnswerPages
from widgets.what_if_lab.buying import BuyingPage
from widgets.what_if_lab.calibration import CalibrationPage
from widgets.what_if_lab.change_form import ChangeForm
from widgets.what_if_lab.trace import TraceChoice
from widgets.work.kernel import KernelWork, is_small
from widgets.work.many import ManyWork
from widgets.work.process import process_work
from widgets.work.thread import ThreadWork, aside
from widgets.work.workplace import Workplace, when_idle
from workbench.analysis.bootstrap import block_s
from workbench.analysis.what_if import Change, Configuration, WhatIf, WhatIfQuestion, concluded, parse_change
from workbench.analysis.what_if.ask import SLURM, usual_demand, usual_seeds
from workbench.base.errors import InputError, WorkbenchError, counted
from workbench.base.labels import listed
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.session.api import with_usable_schedulers
from workbench.session.many_runs import Outcome
from workbench.session.registry import find_scheduler, is_own

if TYPE_CHECKING:
    from workbench.analysis.charts import Drawing


class WhatIfSetting(NamedTuple):
    """Today's scenario, scheduler and knobs; the change; how many pairs of runs, and whether the log is drawn anew
    for each.
    """

    scenario: Scenario
    scheduler: str
    knobs: Mapping[str, Any]
    change: Change
    pairs: int
    bootstrap: bool

    def question(self) -> WhatIfQuestion:
        """The runs to make; raises InputError and ScenarioError for a change that cannot be made."""
        today = Configuration(self.scenario, self.scheduler, self.knobs)
        demand = usual_demand(self.scenario, self.scheduler)
        return WhatIfQuestion(today, (self.change,), tuple(range(self.pairs)), self.bootstrap, demand=demand)


OWN_CSS = (Path(__file__).parent / "what_if.css").read_text(encoding="utf-8")
PAIRS, MOST_PAIRS = 5, 30
UNASKED_JOBS = 500
"""Up to so many the pages Model and Vary begin when they are opened: a second or two, where a process does it."""
DEFAULT = "las"
"""Today's scheduler where nobody says another."""
DRAWN, TOO_SHORT = "days of the log, drawn anew", "(too short a log)"
Today = tuple[str, Mapping[str, Any]]
"""A scheduler with its knobs."""
WIDE = {"width": "97%"}
STYLE = {"description_width": "7.5em"}
NARROW = {"description_width": "5.5em"}


class WhatIfLab(LabShell[WhatIfSetting]):
    """A panel on a scenario (default: `start_here`), a file, or the preset that `scenario` names.

    scheduler: today's; default: the scenario's first, else `las`. answer: the last `workbench.WhatIf`. With up to ten
    jobs the question that it opens with is answered at once.
    """

    EDITED = "Set, not run. Run compares today with the change."

    @lazy()
    def __init__(
        self, scenario: Scenario | str | Path = "start_here", scheduler: str | Scheduler | None = None
    ) -> None:
        self._scenario = self._start = with_usable_schedulers(opened(scenario))
        self._start_with = _first(self._scenario, scheduler)
        self._answer: WhatIf | None = None
        self._outcomes: dict[int, Outcome] = {}
        self._many = ManyWork(self._on_outcome, self._on_end)
        self._many.warm()
        self.trace = TraceChoice(self.open)
        self.buying = BuyingPage(lambda: self._scenario)
        self.calibration = CalibrationPage(lambda: self._scenario, self._today_now, self._on_calibrated)
        self._about = w.HTML()
        self._today = w.Dropdown(options=short_titles(), description="Scheduler", style=NARROW, layout=WIDE)
        self._today.add_class("wb-today")
        self._today.observe(lambda _: self._on_scheduler(), "value")
        self._knobs = KnobPanel(self._on_knobs)
        self._form = ChangeForm(self._on_change, self._today_knobs)
        self._pairs = w.IntSlider(PAIRS, 1, MOST_PAIRS, description="Pairs of runs", style=STYLE, layout=WIDE)
        self._pairs.tooltip = "Each is one run of today and one with the change; more make the interval narrower"
        self._pairs.add_class("wb-pairs")
        differ_in = _differ_in(self._scenario, DEFAULT)
        self._usual = PAIRS
        self._bootstrap = w.Dropdown(options=differ_in, description="They differ in", style=STYLE, layout=WIDE)
        self._bootstrap.add_class("wb-differ-in")
        for control in (self._pairs, self._bootstrap):
            control.observe(lambda _: self._on_change(), "value")
        hint = "The answer as one page to mail: an HTML file that needs nothing else"
        self._report = button("Report", "report", self.report, hint, icon="file-text-o", disabled=True)
        self._download = Download()
        self._pages = AnswerPages()
        self._led = False  # whether calibration opened the page that is open
        self._vary, self._varied = VaryPage(self._to_vary, self._work), ThreadWork()
        bar = SolveBar(self.run, self.cancel, "Run", "Run today and the change, pair by pair")
        super().__init__("What if", bar, more=[self._report, self._download])
        self._build()
        self._reset()
        when_idle(partial(self._run_small, self._frame.history.present))

    # What a notebook may ask for -------------------------------------------------------------------------------------

    @property
    def scenario(self) -> Scenario:
        """The scenario that is open."""
        return self._scenario

    @property
    def answer(self) -> WhatIf:
        """The last answer; raises InputError if there is none yet."""
        if self._answer is None:
            raise InputError("lab.answer", None, "an answer (press Run first)")
        return self._answer

    @property
    def change(self) -> Change:
        """The change as the controls have it; raises InputError while one is wrong."""
        return self._form.change()

    def open(self, scenario: Scenario, scheduler: str | None = None) -> None:
        """Show another scenario. scheduler: today's; else a single one of it, as Save writes it, is; else it stays.

        Undo comes back, Reset then returns to this one. Raises InputError and ScenarioError for one that cannot run.
        """
        scenario = with_usable_schedulers(scenario)
        scenario.require_runnable()
        found = _named(scenario) if len(scenario.schedulers) == 1 else None
        found = found if scheduler is None else (scheduler, {})
        if found is None:
            try:
                found = str(self._today.value), self._knobs.values()
            except InputError:  # one of them cannot be read: its control says so, and the defaults come back
                found = str(self._today.value), {}
        self._open(scenario, *found)
        self._start, self._start_with = scenario, found

    def set(
        self,
        scheduler: str | None = None,
        change: str | Change | None = None,
        *,
        pairs: int | None = None,
        bootstrap: bool | None = None,
        **knobs: Any,
    ) -> None:
        """Set controls from code: today's scheduler with knobs, the change (also as text), the pairs, what varies."""
        found = find_scheduler(scheduler or str(self._today.value))
        given = knobs if found.name != self._today.value else {**self._knobs.values(but=knobs), **knobs}
        settled = found.settle(given)
        if pairs is not None:
            require_up_to(MOST_PAIRS, "pairs", pairs)
        if bootstrap is not None and not isinstance(bootstrap, bool):
            raise InputError("bootstrap", bootstrap, "True (the jobs differ) or False (the seed alone)")
        told_of = parse_change(change) if isinstance(change, str) else change
        with self._quiet():
            self._today.value = found.name
            self._knobs.show(found, settled)
            self._form.offer(self._scenario, found.name)
            self._offer_pairs(self._scenario, found.name)
            if told_of is not None:
                self._form.show(told_of)
            if pairs is not None:
                self._pairs.value = pairs
            if bootstrap is not None:
                self._bootstrap.value = bootstrap
        self._on_knobs()

    def run(self) -> None:
        """Run today and the change in the background; the answer follows when all pairs are done."""
        setting = self._check()
        if setting is None or (self._bar.busy and setting == self._asked):
            return
        try:
            question = setting.question()
            requests = question.requests()
        except WorkbenchError as error:  # a draw of the trace to which the change cannot be applied
            self._bar.say("invalid", str(error.problem))
            return
        self._asked, self._outcomes = setting, {}
        self._bar.busy = True
        self._bar.far(0.0)
        others = listed(f"{each:g}" for each in question.demand)
        more = f", two in three with {others} % of the jobs" if question.demand else ""
        self._bar.say("working", f"Running {counted(len(requests), 'run')}{more}: {setting.change.words} ...")
        self._many.submit(requests)

    def _run_small(self, first: WhatIfSetting | None) -> None:
        """Answer what the lab opened with, if that is quick and nobody has set or asked anything since."""
        same = first is not None and self._frame.history.present is first and self._frame.history.valid
        if same and first is not None and is_small(first.scenario) and self._asked is None and self._answer is None:
            self._pages.asked(first.change.words)
            self.run()

    def cancel(self) -> None:
        """Stop the runs; the last answer stays."""
        if self._many.busy:
            self._many.cancel()
        elif self._bar.busy:  # all runs are made and being measured: what comes of that is no longer wanted
            self._on_end("cancelled", "")

    def report(self) -> None:
        """Give the browser the answer as one HTML page."""
        from workbench.analysis.what_if.report import what_if_report

        text = what_if_report(self.answer, self.buying.values)
        self._download.give("what-if.html", text.encode("utf-8"))
        self._bar.say(self._bar.state, f"Saved as a download, what-if.html ({len(text) / 1024:.0f} KB).")

    # Layout ----------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        rest = w.VBox([self._knobs.rest])
        more, see = w.Accordion([rest], titles=("More knobs",), selected_index=None), unseen(rest)
        more.observe(lambda _: see(), "selected_index")
        left = w.VBox(
            [
                _slot("Log", "1. The jobs and the cluster"),
                self.trace.box,
                self._about,
                _slot("Calibration", "2. Today"),
                self._today,
                self._knobs.main,
                more,
                self.calibration.box,
                _slot("Question", "3. What if this were different?"),
                self._form.box,
                _slot("", "4. How sure?"),
                self._pairs,
                self._bootstrap,
                _slot("Answer", "Run: it stands on the right"),
            ]
        )
        left.add_class("wb-slots")
        answer = self._pages
        boxes = (
            answer.schedule,
            self.buying.box,
            w.VBox([answer.jobs, self.calibration.page]),
            answer.measures,
            self._vary.box,
        )
        self._page_tabs = tabs_of(dict(zip(PAGES, boxes, strict=True)), "wb-pages")
        self._page_tabs.observe(lambda _: self._on_page(), "selected_index")
        results = w.VBox([self._page_tabs])
        results.add_class("wb-results")
        body = self._frame.sides([left], w.VBox([self._bar.box, results]), open=True)
        self._whole = whole(self._frame.top, body, css=OWN_CSS, name="wb-what-if")
        self._frame.file.save_button.tooltip = "Save the scenario with today's scheduler and knobs, without the change"

    def _on_page(self) -> None:
        """Another page is open."""
        page, self._led = PAGES[self._page_tabs.selected_index or 0], False
        self._pages.draw(page)
        quick = len(self._scenario.jobs) <= UNASKED_JOBS and not isinstance(process_work(), KernelWork)
        if page == "Vary":
            self._vary.opened(at_once=quick)
        elif page == "Model" and quick:
            self.buying.opened()

    def _to_vary(self) -> LabSetting | None:
        """What the page Vary makes runs of: today, with each of several values of a knob."""
        try:
            name, knobs = str(self._today.value), self._knobs.values()
        except InputError:
            return None
        return LabSetting(self._scenario, name, knobs, find_scheduler(name).belief)

    def _work(self, scheduler: str) -> Workplace:
        return self._varied if is_own(scheduler) else process_work()

    def _panels(self) -> list[Panel]:
        return [Panel("Question", "editors", lambda: None), *panels_of(self._page_tabs)]

    def _keep(self) -> Callable[[], None]:
        return kept_open(self._page_tabs)

    def _seen(self) -> tuple[Sequence[Drawing], str]:
        return self._pages.seen

    # Changes ---------------------------------------------------------------------------------------------------------

    def _open(self, scenario: Scenario, name: str, knobs: Mapping[str, Any]) -> None:
        self._show_today(scenario, name, knobs)
        self._on_change()

    def _on_calibrated(self, scenario: Scenario) -> None:
        """The verdict is the scenario's first note from now on: it stands on every later answer."""
        self._open(scenario, *self._today_now())
        self._page_tabs.selected_index = PAGES.index("Why")
        self._led = True

    def _reset(self) -> None:
        self._open(self._start, *self._start_with)

    def _show_today(self, scenario: Scenario, name: str, knobs: Mapping[str, Any]) -> None:
        """Put today into the controls; to another scenario the last answer says nothing."""
        other = scenario is not self._scenario
        self._scenario = scenario
        with self._quiet():
            self._today.options = short_titles()
            self._today.value = name
            self._knobs.show(find_scheduler(name), knobs)
            self._form.offer(scenario, name)
            self._frame.offer_presets(scenario)
            self._offer_pairs(scenario, name)
        self.calibration.offer(scenario)
        cluster = ", ".join(f"{gpus} {kind}" for kind, gpus in scenario.cluster.capacity.items())
        jobs = f"<p class='wb-note'>{counted(len(scenario.jobs), 'job')} on {html.escape(cluster)}</p>"
        self._about.value = about(scenario) + jobs + noted(self.calibration.others(scenario))
        if other:
            self.cancel()
            self._answer = self._shown = None
            self._pages.show(None)
            self._report.disabled = True
            self.buying.forget()

    def _show(self, setting: WhatIfSetting) -> None:
        self._show_today(setting.scenario, setting.scheduler, setting.knobs)
        with self._quiet():
            self._form.show(setting.change)
            self._pairs.value, self._bootstrap.value = setting.pairs, setting.bootstrap

    def _today_knobs(self) -> Mapping[str, Any]:
        """What today's knobs are set to; nothing while one cannot be read, which is said beside it."""
        try:
            return self._knobs.values()
        except InputError:
            return {}

    def _today_now(self) -> tuple[str, Mapping[str, Any]]:
        """Today's scheduler and knobs, as the controls have them."""
        return str(self._today.value), self._today_knobs()

    def _on_scheduler(self) -> None:
        if not self._quiet:
            with self._quiet():
                self._knobs.show(find_scheduler(str(self._today.value)))
                self._form.offer(self._scenario, str(self._today.value))
                self._offer_pairs(self._scenario, str(self._today.value))
            self._on_knobs()

    def _offer_pairs(self, scenario: Scenario, scheduler: str) -> None:
        """As many pairs as the command line has, unless somebody set another number, and what they may differ in."""
        usual = len(usual_seeds(scenario, scheduler, 0)) if scheduler == SLURM else PAIRS
        self._pairs.value, self._usual = usual if self._pairs.value == self._usual else self._pairs.value, usual
        drawn_anew, self._bootstrap.options = self._bootstrap.value, _differ_in(scenario, scheduler)
        self._bootstrap.value = drawn_anew

    def _on_knobs(self) -> None:
        if not self._quiet:
            self.calibration.offer(self._scenario)
            self._on_change()

    def _read(self) -> WhatIfSetting:
        setting = WhatIfSetting(
            self._scenario,
            str(self._today.value),
            self._knobs.values(),
            self._form.change(),
            int(self._pairs.value),
            bool(self._bootstrap.value),
        )
        setting.question()
        return setting

    def _wrong(self, error: WorkbenchError) -> str:
        """As it is told, but for a job: there are no tables of the scenario here that would have other words."""
        found = re.fullmatch(r"with .*: jobs\[\d+\]\.gpus", error.where)
        return f"With this change a job needs {error.expected}" if found else str(error.problem)

    def _outdated(self, old: bool) -> None:
        self._pages.outdated(old and self._answer is not None)

    def _say_working(self, setting: WhatIfSetting) -> None:
        self._outdated(setting != self._shown)
        self._bar.say("working", f"{self._many.far}")

    def _take(self, state: str, text: str) -> None:
        """The answer may be to what is set while something else is being run."""
        self._outdated(self._frame.history.present != self._shown)
        super()._take(state, text)

    def _to_save(self) -> Scenario:
        """The scenario with today's scheduler as its only one."""
        now = {"scheduler": str(self._today.value), "knobs": jsonable(self._knobs.values())}
        return self._scenario.replace(schedulers=[now])

    # Answers ---------------------------------------------------------------------------------------------------------

    def _on_outcome(self, number: int, outcome: Outcome) -> None:
        self._outcomes[number] = outcome
        far = self._many.far
        self._bar.far(far.ended / far.total)
        if self._bar.state == "working":
            self._bar.say("working", f"{far}")

    def _on_end(self, state: str, said: str) -> None:
        setting = self._asked
        if state == "done" and setting is not None:
            self._say("working", "Measuring ...")
            outcomes = [self._outcomes[number] for number in range(len(self._outcomes))]
            aside(lambda: concluded(setting.question(), outcomes), lambda answer: self._hear(setting, answer))
            return
        self._asked, self._outcomes = None, {}
        kept = "; what is shown is the answer before." if self._answer is not None else ": no answer yet."
        self._bar.busy = False
        self._say(state, f"Cancelled{kept}" if state == "cancelled" else said)

    def _hear(self, setting: WhatIfSetting, answer: WhatIf | WorkbenchError) -> None:
        if setting is not self._asked:
            return
        self._asked, self._outcomes = None, {}
        self._bar.busy = False
        if isinstance(answer, WorkbenchError):
            self._say("failed", str(answer.problem))
            return
        self._answer, self._shown = answer, setting
        self._summary = f"Done: {counted(setting.pairs, 'pair')} of runs, today and with {setting.change.words}."
        self._pages.show(answer)
        self._report.disabled = False
        if self._led or PAGES[self._page_tabs.selected_index or 0] in ("Model", "Vary"):
            self._page_tabs.selected_index = 0
        self._on_page()
        self._frame.presenter.refresh()
        self._say("done", self._summary)
        self._pages.outdated(self._frame.history.present != setting or not self._frame.history.valid)

    def _say(self, state: str, text: str) -> None:
        """Say how the work goes, unless something was set since, which has the last word."""
        if self._bar.state not in ("edited", "invalid"):
            self._bar.say(state, text)


def _first(scenario: Scenario, scheduler: str | Scheduler | None) -> Today:
    """What to open with: the scheduler that is named, else the scenario's first, else DEFAULT."""
    name = None if scheduler is None else find_scheduler(scheduler).name
    return _named(scenario, name) or (name or DEFAULT, {})


def _named(scenario: Scenario, name: str | None = None) -> Today | None:
    """The first of the scenario's schedulers, or the first of that name."""
    named = (entry for entry in scenario.schedulers if name in (None, entry.scheduler))
    return next(((entry.scheduler, entry.knobs) for entry in named), None)


def _differ_in(scenario: Scenario, scheduler: str) -> tuple[tuple[str, bool], ...]:
    """What pairs may differ in, and whether that is the bootstrap."""
    chance = "Slurm's clocks" if scheduler == SLURM else "the seed"
    return (DRAWN if block_s(scenario) else f"{chance} {TOO_SHORT}", True), (f"{chance} alone", False)


def _slot(name: str, step: str) -> Any:
    """What heads a step; name: of the slot that begins with it, if one does."""
    head = f"<b>{html.escape(name)}</b> &nbsp;" if name else ""
    return w.HTML(f"<h3 class='wb-step'>{head}{html.escape(step)}</h3>")
