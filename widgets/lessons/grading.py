"""The process that runs one student's notebook and judges its exercises: `python -m widgets.lessons.grading`.

Standard input has one JSON object: `cells`, the sources; `seed`, the teacher's, of hidden instances; `cpu_s`. What is
written is one JSON object: `student`, for each exercise by name whether it is `solved` and what is `said`, and which
cell `failed` first; or the `reason` why the notebook was ended. The working directory is the only place that a
notebook may write to.

A notebook and its checks share this process. What a notebook does to its own checks is not noticed here; the teacher's
lesson, if it is given, takes their place (`workbench grade --lesson`).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Hashable
from pathlib import Path
from typing import Any, NoReturn

from widgets.lessons import sandbox
from widgets.lessons.exercise import Exercise
from widgets.work import process
from widgets.work.work import Hear, Message

HIDDEN = 3
"""Instances that only the teacher's seed makes, for each exercise whose answer holds for every instance."""


class NoWork:
    """Where labs of a graded page would compute: nothing is."""

    def submit(self, request: Message, hear: Hear, line: Hashable = None) -> None:
        """Nobody looks."""

    def cancel(self, line: Hashable = None) -> None:
        """There is nothing."""


def main() -> NoReturn:
    """Run the notebook that standard input has."""
    asked = json.load(sys.stdin)
    answers = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)

    def tell(found: dict[str, Any]) -> NoReturn:
        os.write(answers, json.dumps(found).encode())
        os._exit(0)

    shell = _shell()
    process._process_work = NoWork()
    importlib.import_module("pyomo.environ")  # makes a lock, which the system keeps outside
    sandbox.limit(asked["cpu_s"])
    sandbox.close(Path.cwd(), lambda reason: tell({"reason": reason}))
    failed = ""
    for number, cell in enumerate(asked["cells"], 1):
        ran = shell.run_cell(cell, silent=True)
        error = ran.error_before_exec or ran.error_in_exec
        if error is not None and not failed:
            failed = f"code cell {number} ended in {type(error).__name__}: {error}"
    judged = {name: judge(each, asked["seed"]) for name, each in Exercise.on_page.items()}
    tell({"student": Exercise.whose(), "exercises": judged, "failed": failed})


def judge(exercise: Exercise, seed: str) -> dict[str, Any]:
    """Whether what was answered is right for the student's own instance, and for hidden ones where it must hold."""
    cases = [exercise.case]
    if exercise.every:
        cases += [exercise.made(f"{seed}/{number}") for number in range(HIDDEN)]
    for case in cases:
        solved, said = exercise.judged(exercise.answered, case)
        if not solved:
            return {"solved": False, "said": said}
    return {"solved": True, "said": said}


def _shell() -> Any:
    """IPython without history, displays and tracebacks."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell: Any = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.display_formatter.active_types = []
    shell.display_formatter.ipython_display_formatter.enabled = False
    shell.showtraceback = lambda *given, **more: None
    return shell


if __name__ == "__main__":
    main()
