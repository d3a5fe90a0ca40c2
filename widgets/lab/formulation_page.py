"""The optimisation problem behind a scheduler: each equation beside its code, rows with numbers at a time of the run,
symbols, size of the model, Pyomo source; what decides, and the exact answer where an algorithm does."""

from __future__ import annotations

import html
import io
import keyword
import re
import token
import tokenize
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets as w
import pandas as pd

from widgets.editors.mistakes import refusal
from widgets.lab.rows_panel import Light, RowsPanel
from widgets.parts.chart_page import ROWS_SHOWN
from widgets.parts.html_table import html_table
from widgets.work.work import Message
from workbench.analysis.exact import TIME_LIMIT_S
from workbench.base.errors import WorkbenchError
from workbench.scheduling.contract import Scheduler
from workbench.simulation.run import Run

NONE = "This scheduler follows a rule and solves no optimisation problem."
KINDS = {token.STRING: "string", token.NUMBER: "number", tokenize.COMMENT: "comment"}
INVALID = "Correct what is marked in Set-up first: the size of the problem depends on it."


class FormulationPage:
    """A page that is filled when somebody looks at it; `stale` says that it shows another problem.

    chosen: called when another of several formulations is to be shown; solve: when the exact problem is to be solved;
    light, edited: as `RowsPanel` has them.
    """

    def __init__(
        self,
        chosen: Callable[[], None],
        solve: Callable[[], None],
        light: Light,
        edited: Callable[[Run, Run | None, str], None],
    ) -> None:
        self._route, self._found = w.HTML(), w.HTML()
        self._exact = w.Button(description="Solve the exact problem", layout={"width": "16em"})
        self._exact.tooltip = f"The problem that the algorithm is for, of all jobs; at most {TIME_LIMIT_S:g} s"
        self._exact.add_class("wb-exact")
        self._exact.on_click(lambda _: self._ask(solve))
        self._found.add_class("wb-exact-found")
        self._which = w.Dropdown(description="Formulation", style={"description_width": "7em"})
        self._which.layout.display, self._which.layout.width = "none", "97%"
        self._statement = w.HTMLMath()
        self._statement.add_class("wb-statement")
        self.rows = RowsPanel(light, edited)
        self._symbols = w.HTMLMath()
        self._symbols.add_class("wb-symbols")
        self._rest = w.HTML()
        head = [self._route, self._exact, self._found]
        self.box = w.VBox([*head, self.rows.box, self._which, self._statement, self._symbols, self._rest])
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
        """Say what decides; the exact problem is offered where one is stated for the algorithm."""
        self._route.value = f"<p class='wb-note'>{html.escape(scheduler.route(knobs).sentence)}</p>"
        self._exact.layout.display = None if type(scheduler).exact is not Scheduler.exact else "none"

    def forget(self) -> None:
        """What was solved is of other jobs or knobs than those set now."""
        self._found.value = ""

    def _ask(self, solve: Callable[[], None]) -> None:
        self._found.value = "<p class='wb-note'>Simulating, then solving the exact problem ...</p>"
        solve()

    def hear_exact(self, message: Message) -> None:
        """Show the answer to an `exact` request."""
        if message["kind"] == "done":
            text = [message["sentence"], f"Not in the problem: {message['leaves_out']}."]
            rows = pd.DataFrame(message["schedule"])
            table = "" if rows.empty else html_table(rows.head(ROWS_SHOWN))
            self._found.value = "".join(f"<p>{html.escape(line)}</p>" for line in text) + table
        elif message["kind"] in ("error", "cancelled"):
            said = refusal(WorkbenchError.from_json(message)) if message["kind"] == "error" else "Cancelled."
            self._found.value = f"<p class='wb-note'>{html.escape(said)}</p>"

    @property
    def name(self) -> str | None:
        """The formulation to show."""
        return None if self._which.value is None else str(self._which.value)

    def say(self, text: str) -> None:
        """Show a sentence instead of a problem."""
        self._statement.value = f"<p class='wb-note'>{html.escape(text)}</p>"
        self._symbols.value = self._rest.value = ""
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

    def _show(self, found: Message) -> None:
        equations = side_by_side(found["equations"]) if found["equations"] else None
        self._statement.value = markdown_to_html(found["statement"], equations)
        symbols = pd.DataFrame(found["symbols"])
        symbols["size"] = symbols["size"].astype("str").where(symbols["part"] != "", "")
        self._symbols.value = f"<h4>Symbols</h4>{html_table(symbols)}"
        source = f"<pre class='wb-source' tabindex='0'>{html.escape(found['source'])}</pre>"
        self._rest.value = (
            f"<h4>Size of the model at the last arrival</h4><p>{html.escape(found['size'])}</p>"
            f"<details><summary>Pyomo source</summary>{source}</details>"
        )


def side_by_side(equations: Sequence[Mapping[str, str]]) -> str:
    """Each equation with the Python that builds it beside it, as HTML."""
    return f"<div class='wb-side-by-side'>{''.join(map(_beside, equations))}</div>"


def _beside(one: Mapping[str, str]) -> str:
    formula = rf"$\displaystyle {one['tex']}$" if one["tex"] else one["text"]
    name = f"({one['tag']}) {one['part']}"
    label = f"tabindex='0' role='region' aria-label='Equation {html.escape(name)}'"
    code = f"<pre class='wb-source'>{coloured(one['code'])}</pre>"
    return f"<div class='wb-equations' {label}><small>{html.escape(name)}</small><br>{html.escape(formula)}</div>{code}"


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
