"""The optimisation problem behind a scheduler: each equation beside its code, rows with numbers at a time of the run,
symbols, size of the model, Pyomo source; where an algorithm decides, its decision job by job and the exact answer."""

from __future__ import annotations

import html
import io
import keyword
import math
import re
import token
import tokenize
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets as w
import numpy as np
import pandas as pd

from widgets.editors.mistakes import refusal
from widgets.editors.setting_history import RowSetting
from widgets.lab.highlight import About
from widgets.lab.results import drawings
from widgets.lab.rows_panel import Light, RowsPanel
from widgets.lab.words import MEANT, OF_ALL, hinted, told
from widgets.parts.button import button
from widgets.parts.chart_page import ROWS_SHOWN
from widgets.parts.html_table import as_read, html_table
from widgets.parts.picture import Picture
from widgets.work.workplace import Message
from workbench.analysis.exact import TIME_LIMIT_S
from workbench.analysis.rows.stated import SolvedStatement
from workbench.base.errors import WorkbenchError
from workbench.base.labels import label_of, with_unit
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.notation import values
from workbench.session.registry import find_scheduler, is_own, rooms
from workbench.simulation.run import Run

NONE = "For what this scheduler decides no optimisation problem is stated."
KINDS = {token.STRING: "string", token.NUMBER: "number", tokenize.COMMENT: "comment"}
NO_MEANINGS: Mapping[str, str] = {}
TEX = re.compile(r" ?\\(?:left|right)\b ?|\\(?:math(?:rm|it)|text)?|[${}]")
"""What a symbol has in it only to be typeset."""
PART = re.compile(r"\bm\.(\w+)")
INVALID = "Correct what is marked in Set-up first: the size of the problem depends on it."
ALGORITHM, KEPT = "algorithm", "kept"
PRICED = ": utility per GPU and round, once all below is decided; each paid its cost / (GPUs x rounds)"
MOST_SIGNALS = 5
"""Columns of what it went by."""


class FormulationPage:
    """A page that is filled when somebody looks at it; `stale` says that it shows another problem.

    chosen: called when another of several formulations is to be shown; solve: when the exact problem is to be solved;
    light, changed, edited: as `RowsPanel` has them.
    """

    def __init__(
        self,
        chosen: Callable[[], None],
        solve: Callable[[], None],
        light: Light,
        changed: Callable[[RowSetting | None], None],
        edited: Callable[[Run, Run | None, str], None],
    ) -> None:
        self._route, self._steps, self._found, self._states = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        self._exact_of: object = None
        self._solved: SolvedStatement | None = None
        hint = f"The problem that the algorithm is for, of all jobs; at most {TIME_LIMIT_S:g} s"
        self._exact = button("Solve the exact problem", "exact", solve, hint, layout={"width": "16em"})
        self._found.add_class("wb-exact-found")
        self._which = w.Dropdown(description="Formulation", style={"description_width": "7em"})
        self._which.layout.display, self._which.layout.width = "none", "97%"
        self._statement = w.HTMLMath()
        self._statement.add_class("wb-statement")
        self.rows = RowsPanel(light, changed, edited, self._hear_rows)
        self._found_symbols: pd.DataFrame | None = None
        self._values = w.HTMLMath()
        self._values.add_class("wb-symbol-values")
        self._symbols = w.HTMLMath()
        self._symbols.add_class("wb-symbols")
        self._rest = w.HTML()
        self._picture: Picture | None = None
        self._run: Run | None = None
        self._beside = w.VBox([self._exact, self._found])
        decided = w.HBox([self._steps, self._beside])
        decided.add_class("wb-decided")
        self.box = w.VBox(
            [
                *(self._route, decided, self.rows.box, self._states, self._which),
                *(self._statement, self._symbols, self._rest, self._values),
            ]
        )
        self.box.add_class("wb-formulation")
        self.stale = True
        self._for = ""
        self._quiet = False

        def on_choice(_: Any) -> None:
            self.stale = True
            if not self._quiet:
                chosen()

        self._which.observe(on_choice, "value")

    def offer(self, options: list[tuple[str, str]], scheduler: str) -> None:
        """Offer these formulations; another scheduler begins with the first."""
        if list(self._which.options) == options and self._for == scheduler:
            return
        self._for, self._quiet, self.stale = scheduler, True, True
        self._which.options = options
        self._which.value = options[0][1] if options else None
        self._which.layout.display = None if len(options) > 1 else "none"
        self._quiet = False

    def decides(self, scheduler: Scheduler, knobs: Mapping[str, Any]) -> None:
        """Say what decides, above the statement if that does; the exact problem is offered where one is stated for the
        algorithm."""
        route = scheduler.route(knobs)
        said = f"<p class='wb-note'>{html.escape(told(route))}</p>"
        by_rule = route.kind == "algorithm"
        self._route.value, self._states.value = (said, "") if by_rule else ("", said)
        self._exact.layout.display = None if type(scheduler).exact is not Scheduler.exact else "none"

    def show_run(self, run: Run, at_s: float, about: About | None) -> None:
        """Show what the decision in force at a time of a run, or of what it is with a changed row, was made of: an
        algorithm's steps, a programme's rows, those of a job marked."""
        self._run = run
        self.rows.show(run, at_s, about)
        self._steps.value = steps(self.rows.drawn or run, at_s, about)

    def forget(self) -> None:
        """What was solved is of other jobs or knobs than those set now."""
        self._found.value, self._exact_of, self._exact.disabled = "", None, False
        self._hide_plan()

    @property
    def wants_exact(self) -> bool:
        """Whether an exact problem could be shown, and none was asked for."""
        return self._exact_of is None and self._exact.layout.display is None

    def ask_exact(self, of: object) -> None:
        """The exact problem of these jobs and knobs is being solved."""
        self._exact_of, self._exact.disabled = of, True
        self._hide_plan()
        self._found.value = "<p class='wb-note'>Simulating, then solving the exact problem ...</p>"

    def hear_exact(self, of: object, message: Message) -> None:
        """Show the answer to an `exact` request, if nobody has asked another one since."""
        if of is not self._exact_of:
            return
        if message["kind"] == "done":
            text = [message["sentence"], f"Not in the problem: {message['leaves_out']}."]
            rows = pd.DataFrame(message["schedule"])
            plan = "" if rows.empty else html_table(as_read(rows.head(ROWS_SHOWN)))
            folded = f"<details><summary>Its plan in numbers</summary>{plan}</details>" if plan else ""
            if plan and self._run is not None:
                self._draw_plan(self._run, message["schedule"])
            self._found.value = "".join(f"<p>{html.escape(line)}</p>" for line in text) + folded
        elif message["kind"] in ("error", "cancelled"):
            said, self._exact.disabled = "Cancelled.", False
            if message["kind"] == "error":
                error = WorkbenchError.from_json(message)
                stated = not error.where.startswith("exact problem of ")
                said = refusal(error) if stated else f"No exact problem beside it: {error.value}."
                self._exact.layout.display = None if stated else "none"
            self._found.value = f"<p class='wb-note'>{html.escape(said)}</p>"

    def _draw_plan(self, run: Run, rows: Sequence[Mapping[str, Any]]) -> None:
        if self._picture is None:
            self._picture = Picture("Plan of the exact problem")
            self._picture.view.add_class("wb-view-exact")
            self._beside.children = (self._exact, self._picture, self._found)
        self._picture.show(drawings().exact_plan(run, rows), selected=None)
        self._picture.layout.display = None

    def _hide_plan(self) -> None:
        if self._picture is not None:
            self._picture.layout.display = "none"

    @property
    def name(self) -> str | None:
        """The formulation to show."""
        return None if self._which.value is None else str(self._which.value)

    def say(self, text: str) -> None:
        """Show a sentence instead of a problem."""
        self._statement.value = f"<p class='wb-note'>{html.escape(text)}</p>"
        self._symbols.value = self._values.value = self._rest.value = ""
        self.stale = True

    def wait(self) -> None:
        """Say that the answer will come, unless an earlier one can stay until then."""
        if not self._rest.value:
            self.say("Building the model ...")

    def hear(self, message: Message) -> None:
        """Show the answer to a `describe` request."""
        if message["kind"] == "error":
            self.say(refusal(WorkbenchError.from_json(message)))
        elif message["kind"] == "cancelled":
            self.say("Cancelled. Open this page again to see it.")
        elif message["kind"] == "done":
            self.stale = False
            self._show(message)

    def _hear_rows(self, solved: SolvedStatement) -> None:
        """The rows of a decision are there: symbols have its values, if it is of the problem that is shown."""
        self._solved = solved
        if self._found_symbols is not None and solved.name == self.name:
            pairs = zip(solved.compiled.columns, solved.point.values.tolist(), strict=True)
            self._values.value = _values(self._found_symbols, values(solved.model, pairs))

    def _show(self, found: Message) -> None:
        symbols = pd.DataFrame(found["symbols"])
        symbols["size"] = symbols["size"].astype("str").where(symbols["part"] != "", "")
        parts = [*filter(None, symbols["part"])]
        meanings: dict[str, str] = {}
        for symbol, meaning, part in symbols[["symbol", "meaning", "part"]].itertuples(index=False):
            meanings[part] = "\n".join(filter(None, [meanings.get(part), f"{TEX.sub('', symbol)}: {meaning}"]))
        equations = side_by_side(found["equations"], meanings) if found["equations"] else None
        self._statement.value = markdown_to_html(found["statement"], equations)
        said = "<p class='wb-note'>Point at a symbol, here or in the code: its values, and where it stands.</p>"
        table = html_table(symbols, rows=[f"wb-part-{part}" if part else "" for part in symbols["part"]])
        self._symbols.value = f"<h4>Symbols</h4>{said}{table}{_links(parts)}"
        self._found_symbols, self._values.value = symbols, _values(symbols, found["values"])
        if self._solved is not None:
            self._hear_rows(self._solved)
        source = f"<pre class='wb-source' tabindex='0'>{html.escape(found['source'])}</pre>"
        self._rest.value = (
            f"<h4>Size of the model at the last arrival</h4><p>{html.escape(found['size'])}</p>"
            f"<details><summary>Pyomo source</summary>{source}</details>"
        )


def _values(symbols: pd.DataFrame, values: Mapping[str, str]) -> str:
    """What each symbol is, of which the one that is pointed at is seen, as HTML."""
    lines = []
    for symbol, meaning, unit, part in symbols[["symbol", "meaning", "unit", "part"]].itertuples(index=False):
        if part in values:
            said = f"{meaning} ({unit})" if unit else meaning
            text = f"<b>{html.escape(symbol)}</b> {html.escape(said)}: {html.escape(values[part])}"
            lines.append(f"<div class='wb-values-{part}'>{text}</div>")
    return f"<div class='wb-values' role='status'>{''.join(lines)}</div>"


def _links(parts: Sequence[str]) -> str:
    """A style that lights up a symbol's places, its equations and its values while it is pointed at."""
    rules = []
    for part in parts:
        pointed = f".wb-formulation:has(.wb-part-{part}:is(:hover, :focus-visible))"
        rules.append(f"{pointed} .wb-part-{part} {{ background: var(--wb-selected); }}")
        rules.append(f"{pointed} .wb-in-{part} {{ box-shadow: -4px 0 0 var(--jp-brand-color1, #1565c0); }}")
        rules.append(f"{pointed} .wb-values-{part} {{ display: block; }}")
    return f"<style>{''.join(rules)}</style>"


def side_by_side(equations: Sequence[Mapping[str, str]], meanings: Mapping[str, str] = NO_MEANINGS) -> str:
    """Each equation with the Python that builds it beside it, as HTML; meanings: what the symbols of each part of the
    model mean, which is marked where it stands: on hover over an equation those in it."""
    return f"<div class='wb-side-by-side'>{''.join(_beside(one, meanings) for one in equations)}</div>"


def _beside(one: Mapping[str, str], meanings: Mapping[str, str]) -> str:
    formula = rf"$\displaystyle {one['tex']}$" if one["tex"] else one["text"]
    name = f"({one['tag']}) {one['part']}"
    label = f"tabindex='0' role='region' aria-label='Equation {html.escape(name)}'"
    code = PART.sub(lambda m: _marked(m[0], m[1], meanings), coloured(one["code"]))
    parts = [part for part in meanings if part in {*PART.findall(one["code"]), one["part"]}]
    where = " ".join(["wb-equations", *(f"wb-in-{part}" for part in parts)])
    said = html.escape("\n".join(meanings[part] for part in parts), quote=True)
    about = f"class='{where}' title='{said}' {label}"
    typeset = f"<div {about}><small>{html.escape(name)}</small><br>{html.escape(formula)}</div>"
    return f"{typeset}<pre class='wb-source' tabindex='0'>{code}</pre>"


def _marked(text: str, part: str, meanings: Mapping[str, str]) -> str:
    return f"<span class='wb-part-{part}'>{text}</span>" if part in meanings else text


def coloured(code: str) -> str:
    """Python as HTML, with its keywords, strings, numbers and comments in spans of the classes `wb-py-...`."""
    lines, found, row, column = code.splitlines(keepends=True), [], 0, 0

    def take(to: tuple[int, int]) -> str:
        nonlocal row, column
        begin, (row, column) = (row, column), to
        between = lines[begin[0] : to[0] + 1]
        if not between:
            return ""
        if len(between) == to[0] - begin[0] + 1:
            between[-1] = between[-1][: to[1]]
        between[0] = between[0][begin[1] :]
        return html.escape("".join(between))

    for each in tokenize.generate_tokens(io.StringIO(code).readline):
        found.append(take((each.start[0] - 1, each.start[1])))
        text = take((each.end[0] - 1, each.end[1]))
        kind = "keyword" if keyword.iskeyword(each.string) else KINDS.get(each.type)
        found.append(f"<span class='wb-py-{kind}'>{text}</span>" if kind and text else text)
    return "".join(found)


def markdown_to_html(text: str, equations: str | None = None) -> str:
    """The Markdown of `workbench.scheduling.notation.render`: bold, code, display maths and paragraphs.

    equations: HTML that stands in the place of display maths.
    """
    parts = re.split(r"(\$\$.*?\$\$)", text, flags=re.DOTALL)
    return "".join((equations or _display(p)) if p.startswith("$$") else _prose(p) for p in parts)


def _display(text: str) -> str:
    """Display maths in a box of its own, which scrolls where the page is too narrow."""
    label = "tabindex='0' role='region' aria-label='Equations'"
    return f"<div class='wb-equations' {label}>{html.escape(text)}</div>"


def _prose(text: str) -> str:
    safe = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text.strip()), flags=re.DOTALL)
    safe = re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
    return "".join(f"<p>{block}</p>" for block in re.split(r"\n\s*\n", safe) if block)


def exact_request(scheduler: str, scenario: dict[str, Any], knobs: dict[str, Any]) -> dict[str, Any]:
    """The request for the exact problem beside the algorithm's run."""
    return {"kind": "exact", "scheduler": scheduler, "scenario": scenario, "knobs": knobs, "time_limit_s": TIME_LIMIT_S}


def describe_request(formulation: str, scenario: dict[str, Any], knobs: dict[str, Any]) -> dict[str, Any]:
    """The request that this page needs answered."""
    return {"kind": "describe", "formulation": formulation, "scenario": scenario, "knobs": knobs}


def formulations_of(scheduler: str) -> list[str]:
    """The formulations of the scheduler's room, its namesake first; of an own one its own."""
    if is_own(scheduler):
        return [scheduler]
    room = next((room for room in rooms() if scheduler in {s.name for s in room.schedulers}), None)
    one = find_scheduler(scheduler)
    states = room is not None and one.route(one.settle({})).formulation  # HadarE decides by none of its room's
    names = [found.name for found in room.formulations] if room is not None and states else []
    return sorted(names, key=lambda name: name != scheduler)


def steps(run: Run, at_s: float, about: About | None = None) -> str:
    """The last decision up to a time that was not carried over, as HTML, the row of a job marked; empty where a
    programme made it."""
    decisions = run.decisions
    made = decisions["made_by"].to_numpy(object)
    known = np.flatnonzero((decisions["time_s"].to_numpy(float) <= at_s) & (made != KEPT))
    if not len(known) or made[known[-1]] != ALGORITHM:
        return ""
    number = int(known[-1])
    table, whole = _steps_table(run, int(decisions["decision"].iloc[number]))
    when = format_duration(float(decisions["time_s"].iloc[number]), parts=2)
    head = f"<h4>Decided at {html.escape(when)}, job by job</h4>"
    whole += PRICED if "Price" in whole else ""
    said = f"<p class='wb-note'>{hinted(whole)}</p>" if whole else ""
    meanings = {name: MEANT[name.lower()] for name in table.columns if name.lower() in MEANT}
    if table.empty:
        return f"{head}{said}<p class='wb-note'>It gave no reasons.</p>"
    return head + said + html_table(table, meanings, lit=[at for at, job in enumerate(table["Job"]) if job == about])


def _steps_table(run: Run, decision: int) -> tuple[pd.DataFrame, str]:
    """A row for each job, in the order in which the algorithm recorded what it went by; and what that was of no single
    job."""
    reasons = run.reasons[run.reasons["decision"] == decision]
    signals = run.signals[run.signals["decision"] == decision]
    order = dict.fromkeys([*signals["job"], *reasons["job"]])  # reasons are recorded only where they changed
    columns: dict[str, dict[str, float]] = {}
    for signal, job, value in zip(signals["signal"], signals["job"], signals["value"], strict=True):
        columns.setdefault(signal, {})[job] = value
    alone = [signal for signal, of in columns.items() if signal in OF_ALL or len(of) == 1 < len(order)]  # of all jobs
    of_all = {signal: next(iter(columns.pop(signal).values())) for signal in alone}
    whole = ", ".join(_of_all(signal, value) for signal, value in of_all.items() if value)
    shown = dict(sorted(columns.items(), key=lambda item: -len(item[1]))[:MOST_SIGNALS])
    said: dict[str, list[str]] = {}
    earlier = run.reasons[run.reasons["decision"] <= decision]
    last = earlier.groupby("job")["decision"].transform("max")
    for job, text in earlier.loc[earlier["decision"] == last, ["job", "text"]].itertuples(index=False):
        said.setdefault(job, []).append(text)
    rows = [
        [
            job,
            *(_value(signal, of.get(job, math.nan)) for signal, of in shown.items()),
            "; ".join(said.get(job, [])),
        ]
        for job in order
    ]
    return pd.DataFrame(rows, columns=["Job", *map(_head, shown), "What was decided, and why"]), whole


def _of_all(signal: str, value: float) -> str:
    noun, _, rest = OF_ALL.get(signal, "").partition(" ")
    text = _value(signal, value)
    return f"{with_unit(text, noun)} {rest}" if noun else f"{_head(signal)} {text}"


def _head(signal: str) -> str:
    return label_of(signal, "s") if signal.endswith("_s") else label_of(signal)


def _value(signal: str, value: float) -> str:
    if signal.endswith("_s") and not math.isnan(value):
        return "now" if value == 0 and signal.startswith("next_") else format_duration(value, parts=2)
    if math.isnan(value):
        return "\N{EN DASH}"  # recorded of other jobs only
    return ("\N{INFINITY}" if value > 0 else "-\N{INFINITY}") if math.isinf(value) else short_number(value)
