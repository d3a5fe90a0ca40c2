"""Controls for what holds for every scheduler alike: restart overhead, space sharing, seed."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as w

from workbench.units import format_duration, parse_duration

STYLE = {"description_width": "7em"}
WIDE = w.Layout(width="97%")


class CorePanel:
    """Edits `core` and `seed` of a scenario. changed: called after every change that a person made."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._core: dict[str, Any] = {}
        self._quiet = False
        self._restart = w.Text(description="Restart", continuous_update=False, style=STYLE, layout=WIDE)
        self._restart.tooltip = "Time lost when a job that has run before starts again elsewhere or after a pause"
        self._sharing = w.Checkbox(description="Two jobs may share a GPU", indent=False, layout=WIDE)
        self._seed = w.BoundedIntText(min=0, max=2**31 - 1, description="Seed", style=STYLE, layout=WIDE)
        self._error = w.HTML()
        self._restart.add_class("wb-core-restart")
        head = w.HTML("<p class='wb-note'>For every scheduler alike:</p>")
        self.box = w.VBox([head, self._restart, self._error, self._sharing, self._seed])

        def on_value(_: Any) -> None:
            if self.check() and not self._quiet:
                changed()

        for control in (self._restart, self._sharing, self._seed):
            control.observe(on_value, "value")

    def show(self, core: Mapping[str, Any] | None, seed: int | None) -> None:
        """Show the settings of a scenario (None: their defaults)."""
        self._quiet = True
        try:
            self._core = dict(core or {})
            self._restart.value = format_duration(float(self._core.get("restart", {}).get("restart_s", 0.0)))
            self._sharing.value = bool(self._core.get("space_sharing", False))
            self._seed.value = seed or 0
        finally:
            self._quiet = False

    def check(self) -> bool:
        """Whether every control can be read; otherwise say beside it what is expected."""
        problem = ""
        try:
            if parse_duration(self._restart.value) < 0:
                problem = "a duration >= 0"
        except ValueError as error:
            problem = str(error)
        note = f"<div class='wb-error-note' role='alert'>{html.escape(problem)}</div>"
        self._error.value = note if problem else ""
        return not problem

    def parts(self) -> dict[str, Any]:
        """`core` and `seed` as the scenario has them; call it only when `check` is true."""
        restart = {**self._core.get("restart", {}), "restart_s": parse_duration(self._restart.value)}
        core = {**self._core, "restart": restart, "space_sharing": self._sharing.value}
        return {"core": core, "seed": int(self._seed.value)}
