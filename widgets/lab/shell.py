"""The shell that the three labs share: the line at the top with the way back and forth between settings, Solve, Cancel
and the status below it, and what is done whenever a control changes.
"""

from __future__ import annotations

import asyncio
import html
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

import ipywidgets as w

from widgets.editors.mistakes import what_is_wrong
from widgets.editors.scenario_file import FILE, ScenarioFile
from widgets.editors.scenario_tables import Editors
from widgets.editors.setting_history import AnySetting, QuietControls, SettingHistory
from widgets.parts.button import button
from widgets.parts.lazy_widgets import unseen
from widgets.parts.presenter import Panel, Presenter
from widgets.parts.status_line import StatusLine
from widgets.work.workplace import Message
from workbench.base.errors import InputError, WorkbenchError
from workbench.base.units import format_duration
from workbench.scenario.presets import preset, presets, variants
from workbench.scenario.scenario import Scenario
from workbench.session.api import PRESET, load

if TYPE_CHECKING:
    from workbench.analysis.charts import Drawing

REST_S = 2.0
"""A lab that has shown the same for so long is worth a picture: not each step of a slider."""
Seen = Callable[[], tuple["Sequence[Drawing]", str]]
CSS = (Path(__file__).parent / "lab.css").read_text(encoding="utf-8")


class LabShell(ABC, Generic[AnySetting]):
    """What every lab does: what is set can be run, undone and saved, and a line says whether it is what is shown.

    A lab says what is its own: how a setting is read from its controls and put into them, what is shown of it, what
    can be presented. EDITED: what the status says of a setting that was not run.
    """

    _whole: w.VBox
    _tables: Editors | None = None
    EDITED: str

    def __init__(self, title: str, bar: SolveBar, more: Sequence[w.Widget] = ()) -> None:
        self._bar, self._title = bar, title
        self._quiet = QuietControls()
        self._asked: AnySetting | None = None
        self._shown: AnySetting | None = None
        self._summary = ""
        self._still = StillPicture(title, self._seen)
        bar.on_done = self._still.changed
        self._frame = LabFrame[AnySetting](
            title,
            open=self.open,
            save=self._to_save,
            reset=self._reset,
            go_to=self._go_to,
            panels=self._panels,
            keep=self._keep,
            more=[bar.solve, *more],
        )

    # What a notebook may ask for -------------------------------------------------------------------------------------

    @property
    def widget(self) -> w.VBox:
        """What a page shows of it."""
        self._whole.open()
        return self._whole

    @property
    def state(self) -> str:
        """What the status line says in one word: ready, edited, invalid, working, done, failed or cancelled."""
        return self._bar.state

    @property
    def status(self) -> str:
        """What the status line says."""
        return self._bar.text

    @abstractmethod
    def open(self, scenario: Scenario) -> None:
        """Show another scenario; Undo comes back, Reset then returns to this one."""

    def _ipython_display_(self) -> None:
        from IPython.display import display

        self._still.display()
        if self._still.hide not in self.widget.children:  # it is seen for the first time
            self.widget.children = (*self.widget.children, self._still.hide)
            self._frame.begin()
            self._begin()
        display({**(self.widget._repr_mimebundle_() or {}), "text/plain": self._title}, raw=True)
        self._still.fill()

    # What is a lab's own ---------------------------------------------------------------------------------------------

    @abstractmethod
    def _read(self) -> AnySetting:
        """What the controls say; raises WorkbenchError if something is wrong."""

    @abstractmethod
    def _show(self, setting: AnySetting) -> None:
        """Put a setting into the controls."""

    @abstractmethod
    def _to_save(self) -> Scenario:
        """The scenario for a file; raises WorkbenchError while something is wrong."""

    @abstractmethod
    def _reset(self) -> None:
        """Open again what was opened last."""

    @abstractmethod
    def _panels(self) -> list[Panel]:
        """What can be presented, in the order in which a lecture has it."""

    @abstractmethod
    def _keep(self) -> Callable[[], None]:
        """What opens the tabs again that are open now."""

    @abstractmethod
    def _seen(self) -> tuple[Sequence[Drawing], str]:
        """The charts that stand for it in a saved notebook, none before there is a run, and its numbers as HTML."""

    @abstractmethod
    def _outdated(self, old: bool) -> None:
        """Say that what is shown, if anything is, was made before the last change; or that it was not."""

    @abstractmethod
    def _say_working(self, setting: AnySetting) -> None:
        """Say how far what is set is, which is being run."""

    def _heard(self, setting: AnySetting | None, other: bool) -> None:
        """What else follows the controls; setting: None while something is wrong; other: it is not as it was."""

    def _begin(self) -> None:
        """It is seen from now on: what a cell has set before is how it opens, not a change."""

    def _wrong(self, error: WorkbenchError) -> str:
        """What is wrong, in the words of the controls."""
        return what_is_wrong(error)

    def _is_as(self, setting: AnySetting, other: AnySetting | None) -> bool:
        """Whether both ask for the same."""
        return setting == other

    def _say_done(self) -> None:
        """What is set is what is shown."""
        self._outdated(False)
        self._bar.say("done", self._summary)

    def _take(self, state: str, text: str) -> None:
        """What is set is neither shown nor being run; state, text: for the status."""
        self._outdated(True)
        self._bar.say(state, text)

    # Changes ---------------------------------------------------------------------------------------------------------

    def _check(self) -> AnySetting | None:
        """What the controls say; None, with the reason in the status, if something is wrong."""
        try:
            return self._read()
        except WorkbenchError as error:
            self._bar.say("invalid", self._wrong(error))
            return None

    def _but_wrong(self) -> AnySetting | None:
        """What the controls say with wrong cells of the tables as they last were; None if that is wrong too."""
        if self._tables is None:
            return None
        try:
            with self._tables.but_wrong():
                return self._read()
        except WorkbenchError:
            return None

    def _go_to(self, setting: AnySetting) -> None:
        self._show(setting)
        self._on_change()

    def _on_change(self, state: str = "edited", text: str = "") -> None:
        """Something was edited: check it, remember it, and say whether it is what is shown.

        state, text: what the status says if it is neither that nor being run.
        """
        if self._quiet:
            return
        setting = self._check()
        self._heard(setting, self._frame.heard(setting or self._but_wrong(), setting is not None))
        if setting is None:
            self._outdated(True)
        elif self._asked is not None and self._is_as(setting, self._asked):
            self._say_working(setting)
        elif self._asked is None and self._is_as(setting, self._shown):
            self._say_done()
        else:
            self._take(state, text or self.EDITED)


class LabFrame(Generic[AnySetting]):
    """The line at the top: presets, the drawer, Undo, Redo, Reset, Solve, Present; in the drawer the scenario's file.

    open: told the scenario of a preset or a file; save: the scenario for a file, raises WorkbenchError while something
    is wrong; reset: opens again what was opened last; go_to: puts a setting into the controls; panels, keep: as
    `Presenter` has them; more: controls that only this lab has.
    """

    def __init__(
        self,
        title: str,
        *,
        open: Callable[[Scenario], None],
        save: Callable[[], Scenario],
        reset: Callable[[], None],
        go_to: Callable[[AnySetting], None],
        panels: Callable[[], Sequence[Panel]],
        keep: Callable[[], Callable[[], None]],
        more: Sequence[w.Widget] = (),
    ) -> None:
        self._open, self._go_to = open, go_to
        self.history: SettingHistory[AnySetting] = SettingHistory()
        self.file = ScenarioFile(save, open, what_is_wrong)
        self.presenter = Presenter(panels, keep)
        self.presets = w.Dropdown(
            options=preset_names(),
            value="",
            layout=w.Layout(width="auto", flex="1 1 6em", min_width="6em", max_width="11em"),
            tooltip="Open a preset scenario",
        )
        self.presets.observe(lambda change: self._on_preset(change["new"]), "value")
        self.undo = button("Undo", "undo", self._on_undo, "Back to before the last change", icon="undo")
        self.redo = button("Redo", "redo", self._on_redo, "Do again what was undone", icon="repeat")
        self.reset = button("Reset", "reset", reset, "Back to the scenario that was opened last", icon="refresh")
        heading = w.HTML(f"<h2>{html.escape(title)}</h2>")
        self.setup = w.ToggleButton(description="Set-up", icon="sliders", layout=w.Layout(width="auto"))
        self.setup.tooltip = "The drawer with all that can be set, and the scenario's file"
        self.setup.add_class("wb-set-up")
        controls = [self.presets, self.setup, self.undo, self.redo, self.reset]
        self.top = w.HBox([heading, *controls, *more, self.presenter.bar, self.file.said])
        self.top.add_class("wb-top")

    def sides(self, left: Sequence[w.Widget], right: w.VBox, *, open: bool) -> w.HBox:
        """The drawer with what is set and the scenario's file, on the left, and what came of it, on the right.

        open: whether the drawer is open at first.
        """
        file = w.HBox(self.file.controls)
        file.add_class("wb-tools")
        drawer = w.VBox([*left, file])
        drawer.add_class("wb-left")
        right.add_class("wb-right")

        see = unseen(drawer)

        def fold(_: Any = None) -> None:
            drawer.layout.display = None if self.setup.value else "none"
            if self.setup.value:
                see()

        self.setup.observe(fold, "value")
        self.setup.value = open
        fold()
        body = w.HBox([drawer, right])
        body.add_class("wb-body")
        return body

    def begin(self) -> None:
        """What is set now is what there is nothing to undo of."""
        self.history.past, self.undo.disabled = [], self.history.valid

    def heard(self, right: AnySetting | None, valid: bool = True) -> bool:
        """What of the controls is right, None if that is no setting; valid: that is all. Returns whether it is new."""
        other = self.history.heard(right, self.presenter.bar.drag)
        if not valid:
            self.history.heard(None)
        self.undo.disabled, self.redo.disabled = not self.history.can_undo, not self.history.can_redo
        return other

    def offer_presets(self, scenario: Scenario) -> None:
        """Offer the presets, with the variants of the one that is open."""
        self.presets.options = preset_names(scenario.name)

    def _on_undo(self) -> None:
        self._travel(self.history.undo())

    def _on_redo(self) -> None:
        self._travel(self.history.redo())

    def _travel(self, setting: AnySetting | None) -> None:
        if setting is not None:
            self._go_to(setting)

    def _on_preset(self, name: str) -> None:
        if name:
            self.presets.value = ""
            self.file.name.value = FILE
            self._open(preset(name))


def whole(*rows: w.Widget, css: str = "", name: str = "") -> w.VBox:
    """A lab from its rows. css: style beside that of all labs; name: a class of its own."""
    style = w.HTML(f"<style>{CSS}{css}</style>", layout=w.Layout(display="none"))
    found = w.VBox([style, *rows])
    for each in filter(None, ("wb-lab", "wb-instrument", name)):
        found.add_class(each)
    return found


def tabs_of(pages: Mapping[str, w.Widget], name: str) -> w.Tab:
    """A row of tabs by their titles, each made in the page when it is first opened; name: its class."""
    boxes = [page if isinstance(page, w.Box) else w.VBox([page]) for page in pages.values()]
    see = [unseen(box) for box in boxes]
    tabs = w.Tab(boxes, titles=tuple(pages))
    tabs.add_class(name)
    tabs.observe(lambda change: see[change["new"]](), "selected_index")
    see[0]()
    return tabs


def panels_of(pages: w.Tab) -> list[Panel]:
    """A panel for each page."""
    return [Panel(title, "result", partial(_open, pages, number)) for number, title in enumerate(pages.titles)]


def kept_open(pages: w.Tab) -> Callable[[], None]:
    """What opens the page again that is open now."""
    return partial(_open, pages, pages.selected_index)


def _open(pages: w.Tab, number: int | None) -> None:
    pages.selected_index = number


TONES = {"invalid": "bad", "failed": "bad", "ready": "note", "edited": "note"}


class SolveBar:
    """The button Solve, which stands in the line at the top, and `box`: what is done, and Cancel while something is.

    state: ready, edited, invalid, working, done, failed or cancelled; on_done: called at each done; busy: something is
    being solved, which may be what was set before the last edit.
    """

    def __init__(
        self,
        solve: Callable[[], None],
        cancel: Callable[[], None],
        does: str = "Solve",
        tooltip: str = "Solve and simulate",
    ) -> None:
        self.solve = button(does, "solve", solve, f"{tooltip} (Alt+S)", icon="play", button_style="primary")
        self.cancel = button("Cancel", "cancel", cancel, "Stop what is running", icon="stop")
        self._bar = w.FloatProgress(min=0.0, max=1.0, layout=w.Layout(width="auto", flex="0 1 8em"))
        self._status = StatusLine(layout=w.Layout(flex="1 1 20em"))
        self._status.add_class("wb-status")
        self.box = w.HBox([self.cancel, self._bar, self._status])
        self.box.add_class("wb-solve-bar")
        self.state, self._busy = "", True
        self.on_done: Callable[[], None] = lambda: None
        self.busy = False
        self.say("ready", f"Press {does}.")

    @property
    def text(self) -> str:
        """What the status says."""
        return str(self._status.text)

    @property
    def busy(self) -> bool:
        """Whether something is being solved."""
        return self._busy

    @busy.setter
    def busy(self, busy: bool) -> None:
        if busy == self._busy:
            return
        self._busy = busy
        self.cancel.disabled = not busy
        self._bar.value = 0.0
        for widget in (self.cancel, self._bar):
            widget.layout.display = None if busy else "none"

    def say(self, state: str, text: str) -> None:
        """Show a state with its text; Solve can be pressed unless the input is wrong."""
        self.state = state
        with self._status.hold_sync():
            self._status.text, self._status.tone, self._status.state = text, TONES.get(state, ""), state
        self.solve.disabled = state == "invalid"
        if state == "done":
            self.on_done()

    def far(self, share: float) -> None:
        """Show how far it is, 0 to 1."""
        self._bar.value = share

    def progress(self, message: Message) -> None:
        """Show how far a simulation is; the text stays if it is about an edit made since."""
        jobs = max(int(message["jobs"]), 1)
        self._bar.value = message["finished"] / jobs
        if self.state == "working":
            time = format_duration(float(message["now_s"]), parts=2)
            finished, decisions = message["finished"], message["decisions"]
            self.say("working", f"{finished} of {jobs} jobs finished at {time}, {decisions} decisions")


def require_up_to(most: int, name: str, number: Any) -> None:
    """Raises InputError for what is no whole number from 1 to `most`."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
        raise InputError(name, number, f"a whole number from 1 to {most}")


def opened(source: Scenario | str | Path) -> Scenario:
    """A scenario, also by the name of a preset or of a file; raises InputError and ScenarioError for none of these."""
    if isinstance(source, str) and not source.startswith(PRESET) and not Path(source).suffix:
        return preset(source)
    return load(source)


def preset_names(shown: str = "") -> list[tuple[str, str]]:
    """Every preset as people read it, with its name; below the one that is shown its variants: the list stays short."""
    names = [("Scenarios", "")]
    for name, _ in presets():
        names.append((name.replace("_", " "), name))
        if shown in (name, *variants(name)):
            names += [("\N{EN SPACE}" + each.replace("_", " "), each) for each in variants(name)]
    return names


class StillPicture:
    """What stands in a saved notebook in the place of a lab: its last picture and numbers, in an output of their own
    above it. The lab itself, where there is a kernel, hides them.

    seen: the charts that a lab shows, and HTML of its numbers. hide: a widget that hides it, to stand in the lab.
    """

    def __init__(self, title: str, seen: Seen) -> None:
        self._title, self._seen = title, seen
        self._name = f"wb-still-{uuid.uuid4().hex}"
        self._output: Any = None
        self._coming: asyncio.TimerHandle | None = None
        self.hide = w.HTML(f"<style>.{self._name} {{ display: none; }}</style>", layout=w.Layout(display="none"))

    def display(self) -> None:
        """Take its place, in the cell that is being run."""
        from IPython.display import HTML, display

        self._output = display(HTML(""), display_id=True)

    def fill(self) -> None:
        """Show what the lab shows now: a picture takes longer than all of a small lab, which is put out before."""
        self._wait_no_more()
        if self._output is not None:
            from IPython.display import HTML

            self._output.update(HTML(self._html()))

    def changed(self) -> None:
        """The lab shows something else; where nothing waits for a while it stays as it is."""
        self._wait_no_more()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._coming = loop.call_later(REST_S, self.fill)

    def _wait_no_more(self) -> None:
        if self._coming is not None:
            self._coming.cancel()
            self._coming = None

    def _html(self) -> str:
        from widgets.parts.gantt_view import picture

        drawings, numbers = self._seen()
        note = "" if drawings else "<p>Nothing had been solved yet.</p>"
        pictures = "".join(picture("", drawing) for drawing in drawings)
        head = f"<p><b>{html.escape(self._title)}</b>, as it was last; run the cell to work with it.</p>"
        return f"<div class='{self._name}'>{head}{note}{pictures}{numbers}</div>"
