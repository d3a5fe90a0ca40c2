"""One benchmark: what it is called, what it may cost, and what has to be there to measure it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.scenario.data import VARIABLE

Work = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """One benchmark: `prepare(size)` returns the work to time; what the work returns is shown as a note.

    needs: files below the folder that `WORKBENCH_DATA` names, without which it cannot be measured.
    """

    name: str
    budgets: Mapping[int, float | None]
    prepare: Callable[[int], Work]
    repeats: int = 5
    warm: int = 1
    needs: tuple[str, ...] = ()

    def missing(self) -> list[str]:
        """The files that are not there."""
        return [name for name in self.needs if not (data_folder() / name).is_file()]


def data_folder() -> Path:
    """Where public traces are: the folder that `WORKBENCH_DATA` names, else the current one."""
    return Path(os.environ.get(VARIABLE, ""))
