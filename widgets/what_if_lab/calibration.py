"""Does today's scheduler make jobs wait as the log says? A button, and a page of the answer."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as w
import pandas as pd

from widgets.parts.button import button
from widgets.parts.chart_page import ChartPage
from widgets.parts.html_table import html_table
from widgets.parts.status_line import StatusLine
from widgets.work.page_request import PageRequest
from widgets.work.workplace import Message
from workbench.analysis.calibration.calibrate import Calibration
from workbench.analysis.calibration.note import NOTE, calibration_of, is_recorded
from workbench.analysis.what_if.site_changes import date_of
from workbench.base.errors import WorkbenchError
from workbench.base.units import format_duration
from workbench.scenario.scenario import Scenario
from workbench.session.registry import find_scheduler

WAITS = {"median_s": "Median", "mean_s": "Mean", "p95_s": "95th percentile"}


class CalibrationPage:
    """box: the button and the verdict; page: waits by partition, a scatter, jobs that nothing explains.

    scenario, today: what is opened now, and today's scheduler with its knobs; calibrated: told the scenario with the
    verdict as its first note.
    """

    def __init__(
        self,
        scenario: Callable[[], Scenario],
        today: Callable[[], tuple[str, Mapping[str, Any]]],
        calibrated: Callable[[Scenario], None],
    ) -> None:
        self._scenario, self._today, self._calibrated = scenario, today, calibrated
        self.found: Calibration | None = None
        self._request = PageRequest(self._hear)
        hint = "Run the log as it was, and hold the waits against the recorded ones"
        self.go = button("Calibrate", "calibrate", self.work_out, hint, icon="balance-scale")
        stop, hint = self._request.cancel, "Stop calibrating"
        self.stop = button("Cancel", "calibrate-cancel", stop, hint, icon="stop", disabled=True)
        self.said = StatusLine()
        self.said.add_class("wb-calibrated")
        row = w.HBox([self.go, self.stop])
        row.add_class("wb-tools")
        self.box = w.VBox([row, self.said])
        self._told, self._chart, self._rest = w.HTML(), ChartPage("the waits", "waits"), w.HTML()
        self.page = w.VBox([self._told, self._chart.box, self._rest])
        self.page.add_class("wb-calibration")
        self._show(None)

    def offer(self, scenario: Scenario) -> None:
        """Another scenario: the button is there where the log says when jobs began."""
        self.box.layout.display = None if is_recorded(scenario) else "none"
        note = next((note for note in scenario.notes if note.startswith(NOTE)), "")
        if not self._request.busy:
            holds = note and calibration_of(scenario, *(today := self._today()), find_scheduler(today[0]).code())
            self._say("note", holds or "Not calibrated: nobody knows how far waits are off.")
        if self.found is not None and note != self.found.note():
            self._show(None)

    @staticmethod
    def others(scenario: Scenario) -> list[str]:
        """The notes that do not stand below the button."""
        return [note for note in scenario.notes if not (note.startswith(NOTE) and is_recorded(scenario))]

    def work_out(self) -> None:
        """Ask for it; the page follows."""
        scheduler, _ = self._today()
        self._say("", f"Running the log under {scheduler} ...")
        self.go.disabled, self.stop.disabled = True, False
        self._request.ask({"kind": "calibrate", "scheduler": scheduler, "scenario": self._scenario().to_dict()})

    def _hear(self, answer: Message | WorkbenchError | None) -> None:
        self.go.disabled, self.stop.disabled = False, True
        if answer is None:
            self._say("", "Cancelled.")
        elif isinstance(answer, WorkbenchError):
            self._say("bad", str(answer.problem))
        else:
            self._show(Calibration.from_json(answer["found"]))
            assert self.found is not None
            self._calibrated(self.found.kept(self._scenario()))

    def _show(self, found: Calibration | None) -> None:
        self.found = found
        self._chart.box.layout.display = "none" if found is None else None
        if found is None:
            self._told.value = (
                "<p class='wb-note'>Calibrate, below today's scheduler, holds its waits against a log.</p>"
            )
            self._rest.value = ""
            return
        self._told.value = f"<p>{html.escape(found.note())}</p>" + html_table(_waits(found), scrolls=False)
        self._chart.show(found.drawing(), None)
        fit = f"<p>{html.escape(told)}</p>" if (told := found.told_fit()) else ""
        self._rest.value = fit + _changes(found, self._scenario()) + _unexplained(found)

    def _say(self, tone: str, text: str) -> None:
        with self.said.hold_sync():
            self.said.tone, self.said.text = tone, text


def _waits(found: Calibration) -> pd.DataFrame:
    """A row each of the recorded and the simulated waits of a partition: side by side they are wider than the page."""
    rows = [
        {
            "Partition": row["partition"] if side == "recorded" else "",
            "Jobs": str(row["jobs"]) if side == "recorded" else "",
            "Waits": side,
            **{head: format_duration(row[f"{side}_{name}"], parts=2) for name, head in WAITS.items()},
        }
        for row in found.by("partition").to_dict("records")
        for side in ("recorded", "simulated")
    ]
    return pd.DataFrame(rows)


def _changes(found: Calibration, scenario: Scenario) -> str:
    """What changes of the real cluster did to the waits, recorded and simulated."""
    said = found.told_experiments(lambda at_s: date_of(scenario, at_s) or format_duration(at_s, parts=2))
    told = "".join(f"<li>{html.escape(text)}</li>" for text in said)
    return f"<p>Changes of the cluster inside the log:</p><ul>{told}</ul>" if told else ""


def _unexplained(found: Calibration) -> str:
    far: pd.DataFrame = found.unexplained()
    if not len(far):
        return ""
    for name in ("recorded_s", "simulated_s"):
        far[name] = far[name].round().map(lambda value: format_duration(value, parts=2))
    heads = {"job": "Job", "partition": "Partition", "user": "User", "size": "GPUs"}
    far = far.rename(columns={**heads, "recorded_s": "Wait", "simulated_s": "simulated"})
    return "<p>Not explained by what the files say:</p>" + html_table(far, scrolls=False)
