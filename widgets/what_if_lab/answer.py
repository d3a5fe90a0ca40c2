"""What came of a change: sentences, every measure before and after, and two charts."""

from __future__ import annotations

import html

import ipywidgets as w
import pandas as pd

from widgets.parts.chart_page import ChartPage
from widgets.parts.tables import html_table
from workbench.analysis.whatif import WhatIf
from workbench.analysis.whatif.differences import rows_of
from workbench.analysis.whatif.words import compared, heads


class AnswerPages:
    """box: the answer as a whole; jobs: job by job."""

    def __init__(self) -> None:
        self._said, self._table, self._old = w.HTML(), w.HTML(), w.HTML()
        self._old.add_class("wb-outdated")
        self._measures = ChartPage("the measures", "measures")
        self._jobs = ChartPage("the jobs", "jobs")
        self.box = w.VBox([self._old, self._said, self._table, self._measures.box])
        self.jobs = self._jobs.box
        self.show(None)

    def show(self, found: WhatIf | None) -> None:
        """Show the answer; without one, what to do for it."""
        for page in (self._measures, self._jobs):
            page.box.layout.display = "none" if found is None else None
        self.outdated(False)
        if found is None:
            self._said.value = "<p class='wb-note'>Set what is to be different, and press Run.</p>"
            self._table.value = ""
            return
        from workbench.analysis.whatif import pictures

        said = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in found.conclusions)
        self._said.value = f"<ul class='wb-conclusions'>{said}</ul>"
        self._table.value = html_table(paired_frame(found), scrolls=False)
        self._measures.show(pictures.measures(found), None)
        self._jobs.show(pictures.by_job(found, found.plan.changes[0].text), None)

    def outdated(self, old: bool) -> None:
        """Say that the answer is to what was set before the last change."""
        self._old.value = "<p class='wb-note'>The answer to what was set before your last change.</p>" if old else ""


def paired_frame(found: WhatIf) -> pd.DataFrame:
    """Every measure before and after as people read it."""
    return pd.DataFrame(map(compared, rows_of(found.differences)), columns=heads(found.plan.level))
