"""The rows of the problem behind a decision, in numbers: one is picked, its right side or a number in it dragged, or it
is switched off, and the whole schedule follows; as code it is a cell."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event
from typing import Any, NamedTuple

import ipywidgets as w

from widgets.editors.mistakes import refusal
from widgets.editors.setting_history import RowSetting
from widgets.lab import rows_text
from widgets.lab.highlight import About, Highlight
from widgets.lab.row_slider import is_unchanged, number_slider, offered_numbers, written
from widgets.lab.rows_text import BESIDE, MEANINGS, WEIGHT, FoundRows, cell, found_at, head, notes, texts, variables
from widgets.lab.words import NO_ROW, TRYING, decisive_html
from widgets.parts.button import button
from widgets.parts.copy_button import CopyButton
from widgets.parts.one_in_sight import OneInSight
from widgets.parts.row_list import RowList
from widgets.work.drawing_pace import LaterSteps
from widgets.work.thread import aside
from workbench.analysis.chain import DecisiveRow, decisive_row
from workbench.analysis.decided_anew import UNTRIED, TriedRow
from workbench.analysis.rows.edit import Edit, NumberEdit, RowEdit, gpus_of, jobs_of, left_without, numbers_of
from workbench.analysis.rows.relax_and_without import RowChange
from workbench.analysis.rows.stated import SolvedStatement
from workbench.base.errors import WorkbenchError
from workbench.base.labels import listed
from workbench.base.units import format_duration
from workbench.simulation.job_at_time import HOLDS, JobAtTime
from workbench.simulation.run import Run

MOST_JOBS = 10
"""Runs of more jobs are not solved again on the page."""
MOVES = "What moves"
"""Where a text of a change begins to say which variables do: folded, so that the rest is seen at once."""
UNCHANGED = "# Nothing is changed yet: drag or type another number, or switch the row off.\n"
"""In the place of a cell that would do nothing."""
DROPPED = "The changed row is as it was ({}); Undo brings the change back."
GONE = "The changed row is not in this run, which is as it was ({}); Undo goes back."
HINT = "<p class='wb-note'>What a change does to this decision and to the schedule is said here.</p>"
SWITCH = "Below, a row is changed from the start of the run, which may come to something else"
"""Beside what a row does that is changed from a decision on."""
RIGHT = "Right side"
AT_REST_S = 0.3
"""A number that was not changed for so long, s, is not dragged: rows are tried, which is ten solves or more."""
UNSOLVED = "No rows with numbers: no problem was solved for this decision."
NUMBER = itertools.count(1)
"""Labs of a kernel have formulations of their own names."""

Light = Callable[[Highlight], None]


class EditAnswer(NamedTuple):
    """What a change does to the decision, who has nothing in it any more, and the run, or why none can have it."""

    change: RowChange
    nothing: Sequence[str]
    run: Run | WorkbenchError


class RowsPanel:
    """Its rows are those of the run that is drawn, at the time that is asked for; the row that is changed is one of a
    decision of the run as it was.

    light: told what the row that is picked is about; changed: told which change a person has made, None for none;
    edited: told the run to look at and what it is compared with, None for the run as it was; solved: told the problem
    whose rows are shown."""

    def __init__(
        self,
        light: Light,
        changed: Callable[[RowSetting | None], None],
        edited: Callable[[Run, Run | None, str], None],
        solved: Callable[[SolvedStatement], None],
    ) -> None:
        self._light, self._changed, self._edited, self._solved = light, changed, edited, solved
        self._has: RowSetting | None = None
        self._wanted: RowSetting | None = None
        self._name = f"edited_{next(NUMBER)}"
        self._of: tuple[Run, float] | None = None
        self._drawn: Run | None = None  # with a changed row, in the place of the one asked about
        self._seen: FoundRows | None = None  # what is listed
        self._found: FoundRows | None = None  # of which one can be changed: of the run as it was
        self._row = ""  # the one that is picked, by its name with its sense
        self._rowing = False
        self._asked: Edit | None = None
        self._numbers: dict[str, NumberEdit] = {}
        self._solving = False
        self._quiet = self._taking = False
        # While a number is dragged the picture follows it, rows now and then; which of them decides is tried at rest.
        # What these raise is raised, too.
        self._listing = LaterSteps([self._ask], lambda _: None, AT_REST_S)
        self._trying = LaterSteps([self._try_rows], lambda _: None, AT_REST_S, math.inf)
        self._given_up = Event()
        self._names: list[str] = []
        self._rows: list[list[str]] = []
        self._about: About | None = None
        self._marked: tuple[int, About | None] | None = None
        self._head, self._decisive, self._notes, self._said = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        self._list = RowList(meanings=MEANINGS, label="Rows with numbers")
        self._list.observe(lambda _: self._on_pick(), "picked")
        self._make_tray()
        self.box = w.VBox([self._decisive, self._head, self._tray, self._list, self._notes])
        self.box.add_class("wb-rows")

    def _make_tray(self) -> None:
        self._what = w.Dropdown(options=[RIGHT], layout={"width": "11em"}, tooltip="What the slider changes")
        self._what.add_class("wb-row-what")
        self._what.observe(lambda _: self._on_what(), "value")
        # A slider for each number, over a list: one whose ends move says the number that it is pushed to.
        self._right, self._slides = number_slider([0.0], RIGHT), OneInSight()
        self._sliders: dict[tuple[tuple[float, ...], str], w.SelectionSlider] = {}
        self._value, self._refused = 0.0, ""
        self._number = w.Text(continuous_update=False, layout={"width": "5em"}, tooltip="Any number can be typed")
        self._number.add_class("wb-row-number")
        self._number.observe(lambda _: self._on_typed(), "value")
        self._on = w.Checkbox(description="in force", indent=False, layout={"width": "6.5em"})
        self._on.add_class("wb-row-on")
        self._back = button("As it was", "row-back", lambda: self._set(self._as_it_is()), icon="undo")
        self._as_code = w.ToggleButton(description="As code", icon="code", layout={"width": "auto"})
        self._as_code.tooltip = "A cell whose formulation does the same, and a comparison with what decides now"
        self._as_code.add_class("wb-row-as-code")
        self._code = w.Textarea(layout={"width": "97%", "display": "none"})
        self._code.add_class("wb-row-code")
        self._copy = CopyButton(layout={"display": "none"})
        w.link((self._code, "value"), (self._copy, "text"))
        w.link((self._code.layout, "display"), (self._copy.layout, "display"))
        self._on.observe(lambda _: self._on_change(), "value")
        self._as_code.observe(lambda _: self._show_code(), "value")
        self._which = w.HTML()
        tools = w.HBox([self._which, self._on, self._what, self._slides, self._number, self._back, self._as_code])
        tools.add_class("wb-tools")
        self._tray = w.VBox([tools, self._said, self._code, self._copy])
        self._tray.add_class("wb-row-tray")
        self._tray.layout.display = "none"

    # Rows ------------------------------------------------------------------------------------------------------------

    @property
    def drawn(self) -> Run | None:
        """The run with a changed row; None while none is."""
        return self._drawn

    def show(self, run: Run, at_s: float, about: About | None = None) -> None:
        """Show the rows of the decision in force at a time of a run, or of what it is with the changed row, solved
        again aside, those of a job marked; the newest question counts."""
        before, same, self._about = self._of, about == self._about, about
        if before is not None and before[0] is run and before[1] == at_s:
            if not same:
                self.mark(about)
            return
        if before is not None and before[0] is not run:
            self._drawn = None
            self._let_go()
        self._of = (run, at_s)
        if len(run.jobs) > MOST_JOBS:
            self._say(f"Rows with numbers stand here for up to {MOST_JOBS} jobs; workbench.rows has those of any run.")
            return
        self._ask()

    def _looked(self) -> tuple[Run, float] | None:
        """Of what run and time the rows are to be found: first those of which one is to be changed."""
        if self._of is None or self._wanted is not None:
            return self._of and self._wanted and (self._of[0], self._wanted.at_s)
        return self._drawn or self._of[0], self._of[1]

    def _ask(self) -> None:
        """Find the rows of what is looked at, unless they are known; what is being found is not stopped."""
        looked, found = self._looked(), self._found
        if looked is None or self._rowing:
            return
        if found is not None and found.run is looked[0] and found.at_s == looked[1]:
            self._fill(found)
            return
        self._rowing = True
        changed = looked[0] is self._drawn
        aside(lambda: found_at(*looked, changed), lambda found: self._hear(found, looked))

    def _hear(self, found: FoundRows | WorkbenchError, of: tuple[Run, float]) -> None:
        self._rowing = False
        looked = self._looked()
        if looked is None or looked[0] is not of[0] or looked[1] != of[1]:
            self._listing.ask()
        elif isinstance(found, WorkbenchError):
            why = str(found.value) if found.where.startswith("rows beside ") else refusal(found)
            self._say(UNSOLVED if found.where.startswith("rows of ") else f"No rows with numbers: {why}.")
        else:
            self._fill(found)

    def _as_before(self) -> bool:
        """The run as it was is drawn again. Returns whether another one was."""
        was, self._drawn = self._drawn is not None, None
        if was or self._seen is not self._found:
            self._ask()
        return was

    def _say(self, text: str) -> None:
        self._seen = None
        if self._drawn is None:
            self._found = None
            self._let_go()
        self._head.value = f"<p class='wb-note'>{html.escape(text)}</p>"
        self._decisive.value = self._notes.value = ""
        self._rows, self._names, self._quiet = [], [], True
        self._list.show([], [], 0, -1)
        self._quiet = False

    def _fill(self, found: FoundRows) -> None:
        """List rows; the one that is picked stays if it is among them. Those of the run as it was can be changed."""
        base, changed = self._found, self._drawn is not None and found.run is self._drawn
        if base is not None and changed:  # in the same order, so that nothing jumps while a number is dragged
            place = {name: at for at, name in enumerate(base.names)}
            order = sorted(zip(found.names, found.order, strict=True), key=lambda row: place.get(row[0], len(place)))
            found = found._replace(order=[number for _, number in order])
        heads, self._rows = texts(found)
        self._names = found.names
        if base is not None and changed and not self._on.value and self._row not in self._names:
            above = {*base.names[: base.names.index(self._row)]}
            at = sum(name in above for name in self._names)
            was = texts(base)[1][base.names.index(self._row)]
            self._names.insert(at, self._row)
            self._rows.insert(at, [*was[:2], "taken away", "", "", ""])
        self._seen, self._marked, self._quiet = found, None, True
        self._notes.value = notes(found)
        self._list.meanings = {**variables(found), **MEANINGS}
        at = self._names.index(self._row) if self._row and self._row in self._names else -1
        self._list.show(heads, self._rows, numbers=3, picked=at)
        self._quiet = False
        anew = not changed and self._asked is None and found is not base
        if anew:
            self._found = found
        self.mark(self._about)
        name = base.statement.name if base is not None and changed else found.statement.name
        self._solved(replace(found.statement, name=name))
        if self._wanted is not None:
            self._take_up(self._wanted)
        elif changed:
            self._point_out()
        elif anew and self._row:
            self._show_picked()

    # Changes ---------------------------------------------------------------------------------------------------------

    def come_to(self, run: Run, wanted: RowSetting | None, about: About | None) -> None:
        """Have the change of a row of a run that was made before, or none: nobody is told."""
        here = self._of is not None and self._of[0] is run
        self._wanted = None  # what was to be come to before is not found yet
        if wanted == self._has and (wanted is None or here):
            return
        self._has = None
        if wanted is None and here:
            self._set(self._as_it_is())
            return
        if not here:
            self._drawn = self._of = None
            self._let_go()
        self._wanted = wanted
        if here:
            self._ask()
        elif wanted is not None:
            self.show(run, wanted.at_s, about)

    def _take_up(self, wanted: RowSetting) -> None:
        """Pick the row of a change, and bring slider and switch to it."""
        found, edit, self._wanted = self._found, wanted.edit, None
        if found is None or wanted.row not in found.names:  # of a job that this run does not have, or written anew
            self._drawn = None
            if self._of is not None:
                self._edited(self._of[0], None, GONE.format(edit.words))
            return
        self._row, self._has, self._taking = wanted.row, wanted, True
        self._show_picked()
        if isinstance(edit, NumberEdit):
            self._quiet, self._what.value = True, edit.about
            self._quiet = False
            self._set(self._as_it_is())
        if edit.after is None:
            self._on.value = False
        else:
            self._take(edit.after, written(edit.after))
        self._taking = False
        self._ask()

    def _tell(self, now: RowSetting | None) -> None:
        """A person has changed a row, or has it as it was."""
        if not self._taking and now != self._has:
            self._has = now
            self._changed(now)

    def _drop(self) -> None:
        """Another row or number is to be changed, or none: that which was is as it was, which is said."""
        dropped, self._asked = self._has, None
        self._tell(None)
        if self._as_before() and dropped is not None and self._of is not None:
            self._edited(self._of[0], None, DROPPED.format(dropped.edit.words))

    def mark(self, about: About | None) -> None:
        """Point out the rows of a job; of a job or a GPU also the one that decides."""
        self._about = about
        found = self._seen
        if found is None or self._marked == (id(found), about):
            return
        self._marked = (id(found), about)
        job = about if isinstance(about, str) else None
        numbers = {name: number for name, number in zip(found.names, found.order, strict=True) if number is not None}
        mine = [] if job is None else [
            place for place, name in enumerate(self._names)
            if name in numbers and job in jobs_of(found.statement, numbers[name], found.run)
        ]  # fmt: skip
        of_job = "" if job is None else f"marked: the rows of {job}" if mine else rows_text.in_none(found, job)
        self._head.value = head(found, of_job, found.run is self._drawn)
        self._decisive.value = self._decisive_now()
        self._list.rows, self._list.marked = self._rows, mine
        self._trying.ask()

    def _decisive_now(self) -> str:
        """What is said of the row that decides before any was tried, as HTML; empty where nothing is asked."""
        found, about = self._seen, self._about
        if self._found is not None and self._found.beside:
            return f"<p class='wb-note'>{BESIDE}</p>"
        if found is None or about is None:
            return ""
        when = format_duration(found.at_s, parts=2)
        if isinstance(about, str) and JobAtTime(found.run, about, found.at_s).state not in (*HOLDS, "waiting"):
            return decisive_html(f"{about} is not there at {when}", "")
        return decisive_html(TRYING, f" for {about if isinstance(about, str) else about[1]} at {when}")

    def _try_rows(self) -> None:
        """Find out aside which of the rows decides where the job runs, or that it waits; or who has the GPU."""
        seen, about = self._seen, self._about
        if seen is None or about is None or self._solving or TRYING not in self._decisive.value:
            return  # while a number is dragged nothing else is worked out
        job, gpu = (about, "") if isinstance(about, str) else ("", about[1])
        where = f" for {job or gpu} at {format_duration(seen.at_s, parts=2)}"

        self._given_up.set()
        given_up = self._given_up = Event()

        def hear(found: DecisiveRow | WorkbenchError | None) -> None:
            if self._seen is not seen or self._about != about or given_up.is_set():
                return
            said = refusal(found) if isinstance(found, WorkbenchError) else NO_ROW if found is None else found.text
            if isinstance(found, DecisiveRow):
                self._say_which(found.rows)
                said += f". {SWITCH}" if any(row.verdict == "cause" for row in found.rows) else ""
            self._decisive.value = decisive_html(said, where, seen.run.scheduler)

        aside(lambda: decisive_row(seen.run, job, seen.at_s, gpu, given_up.is_set), hear)

    def _say_which(self, tried: Sequence[TriedRow]) -> None:
        """Say in each constraint that was tried whether it is decisive."""
        words = {"cause": "decisive", "binding, not decisive": "not decisive"}
        said = {row.row: f"yes, {UNTRIED if row.what == UNTRIED else words[row.verdict]}" for row in tried}
        here = [said.get(name.rpartition(" ")[0], "") for name in self._names]
        self._list.rows = [[*row[:-1], which or row[-1]] for which, row in zip(here, self._rows, strict=True)]

    # One row ---------------------------------------------------------------------------------------------------------

    def _picked(self) -> int | None:
        """The number of the limit that is picked, among those that can be changed."""
        found = self._found
        return None if found is None or self._row not in found.names else found.order[found.names.index(self._row)]

    def _on_pick(self) -> None:
        if self._quiet:
            return
        at = self._list.picked
        self._row = self._names[at] if 0 <= at < len(self._names) else ""
        self._drop()
        if not self._rowing:  # else it is shown once the run as it was has it
            self._show_picked()

    def _show_picked(self) -> None:
        """Show what can be changed of the row that is picked, and point out what it is about."""
        number, found = self._picked(), self._found
        if number is None or found is None:
            self._let_go()
            return
        self._point_out()
        self._offer(numbers_of(found.statement, number))
        self._tray.layout.display = None
        self._set(self._as_it_is())
        # Named once its slider is there: before, that of another row would be dragged, and nobody would hear it.
        name, says = found.statement.names[number], found.statement.says(number)
        self._which.value = f"<b>{html.escape(name)}</b> {html.escape(says)}"

    def _point_out(self) -> None:
        """Point out what the row that is picked is about, and when the decision holds whose rows are listed."""
        number, found, seen = self._picked(), self._found, self._seen
        if number is not None and found is not None and seen is not None:
            of, run = found.statement, found.run
            self._light(Highlight(jobs_of(of, number, run), gpus_of(of, number, run), seen.in_force, of.names[number]))

    def _offer(self, numbers: Sequence[NumberEdit]) -> None:
        """What can be dragged of a row: first its right side, then the numbers in it, a weight before others."""
        first = sorted(numbers, key=lambda edit: not edit.says.startswith(WEIGHT))
        self._numbers = {each.about: each for each in reversed(first)}
        self._quiet, self._what.options = True, [RIGHT, *reversed(self._numbers)]
        self._what.value, self._quiet = RIGHT, False

    def _on_what(self) -> None:
        """The slider is for another number: what was changed before is as it was."""
        if not self._quiet:
            self._drop()
            self._set(self._as_it_is())

    def let_go(self) -> None:
        """No row is picked, as after Escape: one that was changed is as it was."""
        self._row = ""
        self._drop()
        self._let_go()

    def _let_go(self) -> None:
        """No row is picked, and none is to be."""
        self._tray.layout.display, self._said.value, self._asked = "none", "", None
        self._has = self._wanted = None
        self._row = ""
        self._as_code.value = False
        if self._list.picked != -1:
            self._quiet, self._list.picked = True, -1
            self._quiet = False
        self._light(Highlight())

    def _as_it_is(self) -> Edit | None:
        """What can be dragged, as it is."""
        number, found = self._picked(), self._found
        if number is None or found is None:
            return None
        chosen = self._numbers.get(str(self._what.value))
        return chosen or RowEdit.of(found.statement, number, found.statement.limits.right.item(number))

    def _edit(self) -> Edit | None:
        """What slider and switch say."""
        found = self._as_it_is()
        return found and replace(found, after=self._value if self._on.value else None)

    def _set(self, edit: Edit | None) -> None:
        """Bring slider and switch to what they are for, and ask."""
        if edit is None:
            return
        key = offered, name = tuple(offered_numbers(edit)), str(self._what.value)
        if key not in self._sliders:
            self._sliders[key] = number_slider(offered, name)
            self._sliders[key].observe(self._on_slid, "value")
        self._quiet, self._right = True, self._sliders[key]
        self._right.value = edit.before
        self._slides.show(self._right)
        self._value, self._number.value = edit.before, written(edit.before)
        self._on.value, self._on.disabled = edit.after is not None, isinstance(edit, NumberEdit)
        self._quiet = False
        self._on_change()

    def _on_slid(self, change: Any) -> None:
        """A number was chosen, unless from a slider that is out of sight by now."""
        if change["owner"] is self._right:
            self._take(change["new"], written(change["new"]))

    def _on_typed(self) -> None:
        """A number was typed: any, also beyond the ends of the slider, which goes to the nearest of its own."""
        edit = self._as_it_is()
        if self._quiet or edit is None:
            return
        whole, text = isinstance(edit, NumberEdit) and edit.whole, self._number.value.strip()
        try:
            value = edit.before if text == written(edit.before) else float(text)
            if not math.isfinite(value) or (whole and not value.is_integer()):
                raise ValueError
        except ValueError:
            expected = f"expected a {'whole ' if whole else ''}number, got {text!r}"
            self._said.value = f"<p class='wb-note' role='alert'>{html.escape(expected)}</p>"
            return
        self._take(value, text)

    def _take(self, value: float, text: str) -> None:
        """The number is another; slider and field, which has the text, both show it."""
        if self._quiet:
            return
        self._quiet, self._value = True, float(value)
        self._number.value = text
        self._right.value = min((number for _, number in self._right.options), key=lambda each: abs(each - value))
        self._quiet = False
        self._on_change()

    def _on_change(self) -> None:
        """The row has another right side, or is switched."""
        if self._quiet:
            return
        self._right.disabled = self._number.disabled = not self._on.value
        self._given_up.set()
        self._trying.ask()
        edit = self._edit()
        found = self._found
        if edit is None or found is None:
            return
        unchanged, self._refused = is_unchanged(edit), ""
        self._tell(None if unchanged else RowSetting(found.at_s, self._row, edit))
        if unchanged:
            self._asked, self._said.value = None, HINT
            if not self._taking and self._as_before():
                self._edited(found.run, None, "")
        else:
            self._asked = edit
            if not self._solving:
                self._solve(edit)
        self._show_code()

    def _solve(self, edit: Edit) -> None:
        found, name = self._found, self._name
        if found is not None:
            self._solving = True
            aside(lambda: _answer(found, edit, name), lambda answer: self._hear_edit(answer, edit, found))

    def _hear_edit(self, answer: EditAnswer | WorkbenchError, edit: Edit, found: FoundRows) -> None:
        """What came of a change; while it is dragged every answer is shown, and the newest is asked for next."""
        self._solving = False
        if self._asked is None or self._found is None:
            return
        if self._found is not found:  # another one is shown by now, and its change waits
            self._solve(self._asked)
            return
        if isinstance(answer, WorkbenchError):
            self._said.value = f"<p class='wb-note'>{html.escape(refusal(answer))}</p>"
        else:
            said, _, moves = rows_text.of_decision(answer.change).partition(f" {MOVES}: ")
            said += f" {listed(answer.nothing)} would have no share at all." if answer.nothing else ""
            lines, self._refused, when = [], "", format_duration(found.in_force[0], parts=2)
            if isinstance(answer.run, WorkbenchError):
                self._refused = rows_text.refused(answer.run)
                lines = [self._refused, "The schedule is again the one without a change."]
            elif answer.run.timeline.equals(found.run.timeline):
                binds = isinstance(edit, RowEdit) and self._binds()
                lines = ["In the whole run no bar moves: binding, not decisive." if binds else "No bar moves."]
            else:
                lines = rows_text.of_run(edit, answer.change, found)
            told = [*filter(None, [" ".join(lines)]), f"In the decision at {when} alone: {said}"]
            shown = "".join(f"<p>{html.escape(each)}</p>" for each in told)
            folded = f"<details><summary>{MOVES}</summary><p>{html.escape(moves)}</p></details>" if moves else ""
            self._said.value = shown + folded
            self._show_code()
            if not isinstance(answer.run, WorkbenchError):
                self._drawn = answer.run
                self._edited(answer.run, found.run, f"In every decision of the run, from its start: {edit.words}.")
                self._listing.ask()
            elif self._as_before():
                self._edited(found.run, None, "")
        if self._asked is not edit:
            self._solve(self._asked)
        else:
            self._trying.ask()

    def _binds(self) -> bool:
        number, found = self._picked(), self._found
        return number is not None and found is not None and bool(found.statement.limits.met[number])

    def _show_code(self) -> None:
        edit = self._edit()
        self._as_code.disabled = bool(self._refused)  # what no run keeps is no cell to take along
        shown = self._as_code.value and not self._refused and edit is not None and self._found is not None
        self._code.layout.display = None if shown else "none"
        if shown and edit is not None and self._found is not None:
            self._code.value = UNCHANGED if is_unchanged(edit) else cell(edit, self._found.run)


def _answer(found: FoundRows, edit: Edit, name: str) -> EditAnswer:
    change, then = edit.change(found.statement)
    nothing = left_without(found.statement, then, found.run)
    try:
        return EditAnswer(change, nothing, edit.simulated(found.run, name))
    except WorkbenchError as error:
        return EditAnswer(change, nothing, error)
