"""Controls for what holds for every scheduler alike: restart overhead, space sharing, seed."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as w

from workbench.errors import InputError
from workbench.units import EXPECTED, format_duration, parse_duration

SHARING = "Two jobs may share a GPU"
"""The label of the control for `core.space_sharing`."""
STYLE = {"description_width": "10em"}
WIDE = {"width": "97%"}


class CorePanel:
    """Edits `core` and `seed` of a scenario. changed: called after every change that a person made."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._core: dict[str, Any] = {}
        self._quiet = False
        common = {"continuous_update": False, "style": STYLE, "layout": WIDE}
        self._restart = w.Text(description="Restart", **common)
        self._restart.tooltip = "Time lost when a job that has run before starts again elsewhere or after a pause"
        self._sharing = w.Checkbox(description=SHARING, indent=False, layout=WIDE)
        self._sharing.tooltip = "Only pairs with a measured throughput, and only under schedulers that use them"
        self._seed = w.Text(value="0", description="Seed", **common)
        self._seed.tooltip = "Number that all random draws begin with: the same seed gives the same run"
        self._errors = {"restart": w.HTML(), "seed": w.HTML()}
        self._restart.add_class("wb-core-restart")
        self._seed.add_class("wb-core-seed")
        head = w.HTML("<p class='wb-note'>For every scheduler alike:</p>")
        parts = [self._restart, self._errors["restart"], self._sharing, self._seed, self._errors["seed"]]
        self.box = w.VBox([head, *parts])

        def on_value(_: Any) -> None:
            self._show_errors()
            if not self._quiet:
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
            self._seed.value = str(seed or 0)
        finally:
            self._quiet = False

    def keep(self, core: Mapping[str, Any] | None) -> None:
        """Take over what is not shown here (a node's outages follow its name)."""
        self._core = dict(core or {})

    def parts(self) -> dict[str, Any]:
        """`core` and `seed` as the scenario has them; raises InputError saying what is expected."""
        restart = {**self._core.get("restart", {}), "restart_s": self._restart_s()}
        core = {**self._core, "restart": restart, "space_sharing": self._sharing.value}
        return {"core": core, "seed": self._seed_number()}

    def _restart_s(self) -> float:
        text = self._restart.value.strip()
        try:
            seconds = parse_duration(text)
        except ValueError:
            raise InputError("Restart", text, EXPECTED) from None
        if seconds < 0:
            raise InputError("Restart", text, "a duration of at least 0 s")
        return seconds

    def _seed_number(self) -> int:
        text = self._seed.value.strip()
        if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) < 2**63):
            raise InputError("Seed", text, "a whole number from 0 to 2^63 - 1")
        return int(text)

    def _show_errors(self) -> None:
        for name, read in (("restart", self._restart_s), ("seed", self._seed_number)):
            try:
                read()
                self._errors[name].value = ""
            except InputError as error:
                text = html.escape(f"expected {error.expected}")
                self._errors[name].value = f"<div class='wb-control-error' role='alert'>{text}</div>"
