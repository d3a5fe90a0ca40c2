"""The optimisation problem behind a scheduler: equations, symbols, size of the model, Pyomo source."""

from __future__ import annotations

import html
import re
from typing import Any

import ipywidgets as w
import pandas as pd

from widgets.tables import html_table
from widgets.work import Message

NONE = "This scheduler follows a rule and solves no optimisation problem."


class FormulationPage:
    """A page that is filled when somebody looks at it; `stale` says that it shows another problem."""

    def __init__(self) -> None:
        self._statement = w.HTMLMath()
        self._statement.add_class("wb-statement")
        self._rest = w.HTML()
        self.box = w.VBox([self._statement, self._rest])
        self.stale = True

    def say(self, text: str) -> None:
        """Show a sentence instead of a problem."""
        self._statement.value = f"<p class='wb-note'>{html.escape(text)}</p>"
        self._rest.value = ""

    def hear(self, message: Message) -> None:
        """Show the answer to a `describe` request."""
        if message["kind"] == "error":
            error = message["error"]
            self.say(f"{error['where']}: got {error['value']}; expected {error['expected']}")
        elif message["kind"] == "done":
            self.stale = False
            self._show(message)

    def _show(self, found: Message) -> None:
        self._statement.value = markdown_to_html(found["statement"])
        symbols = pd.DataFrame(found["symbols"])
        source = f"<pre class='wb-source'>{html.escape(found['source'])}</pre>"
        self._rest.value = (
            f"<h4>Symbols</h4>{html_table(symbols)}"
            f"<h4>Size of the model at the last arrival</h4><p>{html.escape(found['size'])}</p>"
            f"<details><summary>Pyomo source</summary>{source}</details>"
        )


def markdown_to_html(text: str) -> str:
    """The Markdown of `workbench.notation.render`: bold, code, display maths and paragraphs."""
    parts = re.split(r"(\$\$.*?\$\$)", text, flags=re.DOTALL)
    return "".join(f"<div>{html.escape(p)}</div>" if p.startswith("$$") else _prose(p) for p in parts)


def _prose(text: str) -> str:
    safe = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text.strip()), flags=re.DOTALL)
    safe = re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
    return "".join(f"<p>{block}</p>" for block in re.split(r"\n\s*\n", safe) if block)


def describe_request(formulation: str, scenario: dict[str, Any], knobs: dict[str, Any]) -> dict[str, Any]:
    """The request that this page needs answered."""
    return {"kind": "describe", "formulation": formulation, "scenario": scenario, "knobs": knobs}
