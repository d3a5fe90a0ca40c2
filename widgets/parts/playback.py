"""Playback of a run round by round: play, pause and scrub, for whatever charts follow it.

The charts keep their specification; a frame changes their parameter `until` only (see
`workbench.analysis.charts.gantt`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import ipywidgets as w
import numpy as np
import traitlets

from widgets.parts.assets import Scripted, program, style
from widgets.parts.vega_view import VegaView
from workbench.analysis.metrics.rounds import stops_s
from workbench.base.units import format_duration
from workbench.simulation.run import Run

FRAME_MS = 250
"""Between two rounds at normal speed."""
LEAST_FRAME_MS = 100
"""Faster than this a page cannot draw thousands of bars: several rounds are taken at a time instead."""
CALM_FRAME_MS = 500
"""As fast as it goes for people whose system asks for less motion."""
MOST_FRAMES = 120
"""At normal speed, playback of more rounds than this takes several at a time."""
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SECONDS = "s"
UNTIL = "until"
"""The parameter of the charts that is set: seconds, or None for the whole run."""


class Playback(Scripted):
    """Buttons, a slider over the rounds and a choice of speed, with the time that is shown.

    views: the charts that follow; moved: called after every step and at the end of a `show`.
    Keys, while the focus is here or on a chart in the same element of class `wb-played`: space plays and pauses, left
    and right go a round back or on, Home and End to the first and the last. In a lab that is presented all but left and
    right, which turn its panels, also while the focus is nowhere.
    """

    _esm = program(Path(__file__).parent / "playback.js")
    _css = style()

    number = traitlets.Int(0, help="Index of the round that is shown.").tag(sync=True)
    last = traitlets.Int(0, help="Index of the last round.").tag(sync=True)
    step = traitlets.Int(1, help="Rounds a frame at normal speed.").tag(sync=True)
    label = traitlets.Unicode("", help="The time that is shown, in words.").tag(sync=True)
    speed = traitlets.Float(1.0, help="Times normal speed, one of `speeds`.").tag(sync=True)
    playing = traitlets.Bool(False, help="Whether it is going on by itself.").tag(sync=True)
    speeds = traitlets.List(traitlets.Float(), list(SPEEDS)).tag(sync=True)
    frame_ms = traitlets.Int(FRAME_MS).tag(sync=True)
    least_frame_ms = traitlets.Int(LEAST_FRAME_MS).tag(sync=True)
    calm_frame_ms = traitlets.Int(CALM_FRAME_MS).tag(sync=True)

    def __init__(self, views: Iterable[VegaView] = (), moved: Callable[[], None] | None = None) -> None:
        super().__init__(layout=w.Layout(flex="1 1 24em"))
        self._views = tuple(views)
        self._moved = moved
        self._times_s: Sequence[float] = ()
        self._clock = SECONDS
        self._setting_up = False
        self.add_class("wb-playback")
        self.observe(lambda _: self._push(), "number")

    def show(self, times_s: Sequence[float], clock: str = SECONDS, *, keep: bool = False) -> None:
        """Play these times, in increasing order, the last of them the end of the run; that is where it stands then.

        clock: what they count if it is not seconds, as `Drawing.clock` says it; keep: these are the same schedules and
        more, so it goes on where it is: at the time that is shown, or at the end if it stands there.
        """
        shown_s = self.until_s if keep else None
        self._times_s, self._clock = tuple(float(time_s) for time_s in times_s), clock
        last = max(len(self._times_s) - 1, 0)
        self._setting_up = True
        with self.hold_sync():
            self.step = 1 + last // MOST_FRAMES
            self.last = last
            self.number = last if shown_s is None else max(bisect_right(self._times_s, shown_s) - 1, 0)
            self.playing = self.playing and shown_s is not None
            self._setting_up = False
            self._push()

    def follow(self, *views: VegaView) -> None:
        """These charts follow from now on, and no others."""
        self._views = views
        self._push()

    def reach(self, time_s: float) -> None:
        """Go on to the end of the round in which a time lies, unless it is shown."""
        if self.until_s is not None and self.until_s <= time_s:
            self.number = min(bisect_right(self._times_s, time_s), self.last)

    @property
    def until_s(self) -> float | None:
        """The time that is shown; None at the end, where everything is."""
        return None if self.number >= len(self._times_s) - 1 else self._times_s[max(self.number, 0)]

    def _push(self) -> None:
        if self._setting_up:
            return
        until_s = self.until_s
        shown_s = self._times_s[-1] if until_s is None and self._times_s else until_s
        self.label = "" if shown_s is None else f"up to {self._in_words(shown_s)}"
        for view in self._views:
            view.params = {**view.params, UNTIL: until_s}
        if self._moved is not None:
            self._moved()

    def _in_words(self, time: float) -> str:
        return format_duration(time, parts=2) if self._clock == SECONDS else f"{time:g} {self._clock}"


def rounds_of(*runs: Run) -> list[float]:
    """When the rounds of runs end, and the runs (see `stops_s`), in seconds and in order: what `show` takes."""
    times_s = np.concatenate([stops_s(run.timeline, run.decisions, run.end_s) for run in runs])
    return [float(time_s) for time_s in np.unique(times_s)]
