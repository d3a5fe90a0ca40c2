"""Controls for what holds for every scheduler alike: restart overhead, faults and checkpoints, space sharing, seed."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as w

from workbench.base.errors import InputError
from workbench.base.units import EXPECTED, format_duration, parse_duration, typed_over
from workbench.scenario.frozen import LEAST_MTBF_S, MOST_RESTART_S, MOST_S

SHARING = "Two jobs may share a GPU"
"""The label of the control for `core.space_sharing`."""
STYLE = {"description_width": "12em"}
WIDE = {"width": "97%"}


class CorePanel:
    """Edits `core` and `seed` of a scenario. changed: called after every change that a person made.

    Empty fields mean: no drawn faults, no checkpoints. Listed outages have no control and are kept.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._core: dict[str, Any] = {}
        self._quiet = False
        self._restart = _field("Restart", "Time lost when a job that has run before starts again elsewhere or later")
        self._mtbf = _field(
            "Time between failures", "Mean time that a node works until it fails, drawn at random; empty: none fails"
        )
        self._mttr = _field("Time to repair", "Mean time until a node that failed is back, drawn at random")
        self._checkpoint = _field(
            "Checkpoint every", "A failure takes the steps since the last checkpoint; empty: all since the job's start"
        )
        self._sharing = w.Checkbox(description=SHARING, indent=False, layout=WIDE)
        self._sharing.tooltip = "Only pairs with a measured throughput, and only under schedulers that use them"
        self._seed = _field("Seed", "Number that all random draws begin with: the same seed gives the same run")
        self._seed.value = "0"
        self._texts = {
            "restart": self._restart,
            "mtbf": self._mtbf,
            "mttr": self._mttr,
            "checkpoint": self._checkpoint,
            "seed": self._seed,
        }
        self._errors = {name: w.HTML() for name in self._texts}
        for name, control in self._texts.items():
            control.add_class(f"wb-core-{name}")
        shown = {name: [control, self._errors[name]] for name, control in self._texts.items()}
        head = w.HTML("<p class='wb-note'>For every scheduler alike:</p>")
        faults = [part for name in ("mtbf", "mttr", "checkpoint") for part in shown[name]]
        self.box = w.VBox([head, *shown["restart"], *faults, self._sharing, *shown["seed"]])

        def on_value(change: Mapping[str, Any]) -> None:
            control, text = change["owner"], change["new"]
            if not self._quiet and control not in (self._seed, self._sharing):
                control.value = typed_over(text, change["old"])
            if control.value == text:  # else heard again
                self._show_errors()
                if not self._quiet:
                    changed()

        for control in (*self._texts.values(), self._sharing):
            control.observe(on_value, "value")

    def show(self, core: Mapping[str, Any] | None, seed: int | None) -> None:
        """Show the settings of a scenario (None: their defaults)."""
        self._quiet = True
        try:
            self._core = dict(core or {})
            faults = self._core.get("faults", {})
            self._restart.value = format_duration(float(self._core.get("restart", {}).get("restart_s", 0.0)))
            self._mtbf.value = _written(faults.get("mtbf_s"))
            self._mttr.value = _written(faults.get("mttr_s"))
            self._checkpoint.value = _written(self._core.get("checkpoint_s"))
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
        faults = {**self._core.get("faults", {}), "mtbf_s": self._mtbf_s(), "mttr_s": self._mttr_s()}
        core = {**self._core, "restart": restart, "faults": faults, "checkpoint_s": self._checkpoint_s()}
        return {"core": {**core, "space_sharing": self._sharing.value}, "seed": self._seed_number()}

    def _restart_s(self) -> float:
        return _seconds(self._restart, f"from 0 s to {MOST_RESTART_S:g} s", lambda s: 0 <= s <= MOST_RESTART_S)

    def _mtbf_s(self) -> float | None:
        if not self._mtbf.value.strip():
            return None
        expected = f"from {LEAST_MTBF_S:g} s to {MOST_S:g} s, or nothing"
        return _seconds(self._mtbf, expected, lambda s: LEAST_MTBF_S <= s <= MOST_S)

    def _mttr_s(self) -> float | None:
        """Given if nodes fail, and only then."""
        if not self._mttr.value.strip():
            if self._mtbf.value.strip():
                raise InputError(self._mttr.description, "", "a mean time to repair, since nodes fail")
            return None
        if not self._mtbf.value.strip():
            raise InputError(self._mttr.description, self._mttr.value, "nothing, or a time between failures too")
        return _seconds(self._mttr, f"above 0 s, at most {MOST_S:g} s", lambda s: 0 < s <= MOST_S)

    def _checkpoint_s(self) -> float | None:
        if not self._checkpoint.value.strip():
            return None
        return _seconds(self._checkpoint, f"above 0 s, at most {MOST_S:g} s, or nothing", lambda s: 0 < s <= MOST_S)

    def _seed_number(self) -> int:
        text = self._seed.value.strip()
        if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) < 2**63):
            raise InputError(self._seed.description, text, "a whole number from 0 to 2^63 - 1")
        return int(text)

    def _show_errors(self) -> None:
        reading: dict[str, Callable[[], object]] = {
            "restart": self._restart_s,
            "mtbf": self._mtbf_s,
            "mttr": self._mttr_s,
            "checkpoint": self._checkpoint_s,
            "seed": self._seed_number,
        }
        for name, read in reading.items():
            try:
                read()
                self._errors[name].value = ""
            except InputError as error:
                text = html.escape(f"expected {error.expected}")
                self._errors[name].value = f"<div class='wb-control-error' role='alert'>{text}</div>"


def _field(label: str, tooltip: str) -> w.Text:
    control = w.Text(description=label, continuous_update=False, style=STYLE, layout=WIDE)
    control.tooltip = tooltip
    return control


def _written(seconds: float | None) -> str:
    return "" if seconds is None else format_duration(float(seconds))


def _seconds(control: w.Text, expected: str, fits: Callable[[float], bool]) -> float:
    """The duration that a control holds; raises InputError naming its label."""
    text = control.value.strip()
    try:
        seconds = parse_duration(text)
    except ValueError:
        raise InputError(control.description, text, EXPECTED) from None
    if not fits(seconds):
        raise InputError(control.description, text, f"a duration {expected}")
    return seconds
