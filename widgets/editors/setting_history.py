"""What a person has set in a lab, the way back and forth between settings, and when controls are set by nobody."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.by_name import DEFAULT

if TYPE_CHECKING:
    from workbench.analysis.rows.edit import Edit


class QuietControls:
    """True inside `with quiet():`, where what controls tell is not to be heard; such blocks may be nested."""

    def __init__(self) -> None:
        self._depth = 0

    def __bool__(self) -> bool:
        return self._depth > 0

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Set controls."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1


STEPS_KEPT = 100
AnySetting = TypeVar("AnySetting", bound=tuple[Any, ...])


class RowSetting(NamedTuple):
    """A row of the problem behind a decision that a person has changed. at_s: when that is in force; row: by its name,
    with its sense."""

    at_s: float
    row: str
    edit: Edit


class LabSetting(NamedTuple):
    """What a person has set in a paper's lab: enough to come back to it. belief: an estimator by name, with knobs; row:
    what is changed in every decision of the run that the others give."""

    scenario: Scenario
    scheduler: str
    knobs: Mapping[str, Any]
    belief: str = DEFAULT
    row: RowSetting | None = None

    def request(self, as_it_is: bool = False) -> dict[str, Any]:
        """What a process has to know to run it; as_it_is: it is this one and takes a scenario itself."""
        return {
            "scenario": self.scenario if as_it_is else self.scenario.to_dict(),
            "scheduler": self.scheduler,
            "knobs": jsonable(self.knobs),
            "belief": self.belief,
        }


class SettingHistory(Generic[AnySetting]):
    """Settings that were right, one after the other; `present` is the last of them, or where undo has come to.

    valid: whether the controls hold the present; if not, something in them is wrong. What was set in one drag is one
    step.
    """

    def __init__(self) -> None:
        self.present: AnySetting | None = None
        self.past: list[AnySetting] = []
        self.future: list[AnySetting] = []
        self.valid = False
        self._drag = 0

    def heard(self, setting: AnySetting | None, drag: int = 0) -> bool:
        """What the controls hold now, None while something is wrong. Returns whether it is another right setting.

        drag: the number of the drag that it is of; 0: of none.
        """
        self.valid = setting is not None
        if setting is None:
            self.future = []  # what was undone before a mistake is not what a redo would mean now
            return False
        if setting == self.present:
            return False
        if self.present is not None and not (drag and drag == self._drag):
            self.past = [*self.past[1 - STEPS_KEPT :], self.present]
        self.present, self.future, self._drag = setting, [], drag
        return True

    @property
    def can_undo(self) -> bool:
        """Whether `undo` leads anywhere."""
        return bool(self.past) or (not self.valid and self.present is not None)

    @property
    def can_redo(self) -> bool:
        """Whether `redo` leads anywhere."""
        return self.valid and bool(self.future)

    def undo(self) -> AnySetting | None:
        """The setting before; while something is wrong, the last that was right; None if there is none."""
        return self._travel(self.past, self.future) if self.valid else self.present

    def redo(self) -> AnySetting | None:
        """The setting that was undone last; None if there is none, or while something is wrong."""
        return self._travel(self.future, self.past) if self.valid else None

    def _travel(self, source: list[AnySetting], target: list[AnySetting]) -> AnySetting | None:
        if not source or self.present is None:
            return None
        self._drag = 0
        target.append(self.present)
        self.present = source.pop()
        return self.present


def jsonable(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Knob values as JSON has them (infinity as text, which a knob reads back)."""
    return {k: "inf" if v == float("inf") else v for k, v in json.loads(json.dumps(dict(knobs), default=str)).items()}
