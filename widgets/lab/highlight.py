"""What is pointed out in picture and tables: what a row of a problem is about, or jobs found by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

About = str | tuple[str, str]
"""What is asked about: a job by its name, or a GPU, `("gpu", "node/slot")`."""


class Highlight(NamedTuple):
    """jobs: None for those of the selected one; gpus: types and nodes; rounds_s: from and to; name: of what it is."""

    jobs: Sequence[str] | None = None
    gpus: Sequence[str] = ()
    rounds_s: tuple[float, float] | None = None
    name: str = ""

    def rows(self, frame: pd.DataFrame) -> list[int]:
        """The rows of a table of a run that are about one of the jobs, GPUs or, where they name none, rounds: of what
        has a time those within the rounds."""
        if self.jobs is None:
            return []
        jobs, gpus = {*self.jobs}, {*self.gpus}
        named = {"job": jobs, "unit": jobs, "node": gpus, "accelerator": gpus}
        known = {name: about for name, about in named.items() if name in frame}
        timed = not {"start_s", "time_s"}.isdisjoint(frame.columns)

        def lit(row: Mapping[Any, Any]) -> bool:
            return self._within(row) and (any(row[name] in about for name, about in known.items()) if known else timed)

        return [at for at, row in enumerate(frame.to_dict("records")) if lit(row)]

    def _within(self, row: Mapping[Any, Any]) -> bool:
        if self.rounds_s is None:
            return True
        start_s, end_s = self.rounds_s
        if "start_s" in row:
            return bool(row["start_s"] < end_s and row.get("end_s", row["start_s"]) > start_s)
        return "time_s" not in row or bool(start_s <= row["time_s"] < end_s)
