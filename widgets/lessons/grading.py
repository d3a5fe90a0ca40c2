"""The process that runs one student's notebook and judges its exercises: `python -m widgets.lessons.grading`.

Standard input has one JSON object: `cells`, the sources; `seed`, the teacher's, of hidden instances; `cpu_s`. What is
written is one JSON object: `student`, for each exercise by name whether it is `solved`, what is `said` and what was
`answered`, if that is data, and which cell `failed` first; or the `reason` why the notebook was ended. The working
directory is the only place that a notebook may write to.

A notebook and its checks share this process, and what a notebook does to its checks is not noticed here. So answers
that are data are judged again where no student's code runs: asked with the teacher's `cells` and `answers`, for each
student the name and what was answered, it writes as `judged` whether each is right. An answer that is an object (a
model, a function) can only be judged beside the code that made it.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import sys
from collections.abc import Hashable
from pathlib import Path
from typing import Any, NoReturn

from widgets.lessons import sandbox
from widgets.lessons.exercise import Exercise, plain
from widgets.parts import assets
from widgets.work import process
from widgets.work.workplace import Hear, Message

LONGEST = 10_000
"""Characters of an answer that is judged again."""
HIDDEN = 3
"""Instances that only the teacher's seed makes, for each exercise whose answer holds for every instance."""


class NoWork:
    """Where labs of a graded page would compute: nothing is."""

    def submit(self, request: Message, hear: Hear, asker: Hashable = None) -> None:
        """Nobody looks."""

    def cancel(self, asker: Hashable = None) -> None:
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
    vars(assets)["vega_bundle"] = bytes  # nobody sees a chart: to make its programs would take two seconds
    importlib.import_module("pyomo.environ")  # makes a lock, which the system keeps outside
    sandbox.limit(asked["cpu_s"])
    sandbox.close(Path.cwd(), lambda reason: tell({"reason": reason}))
    failed = ""
    for number, cell in enumerate(asked["cells"], 1):
        ran = shell.run_cell(cell, silent=True)
        error = ran.error_before_exec or ran.error_in_exec
        if error is not None and not failed:
            failed = f"code cell {number} ended in {type(error).__name__}: {error}"
    if "answers" in asked:
        tell({"judged": [again(student, answered, asked["seed"]) for student, answered in asked["answers"]]})
    judged = {}
    for name, each in Exercise.on_page.items():
        solved, said = judge(each, each.answered, Exercise.whose(), asked["seed"])
        judged[name] = {"solved": solved, "said": said, "answered": data_of(each.answered)}
    tell({"student": Exercise.whose(), "exercises": judged, "failed": failed})


def judge(exercise: Exercise, value: Any, student: str, seed: str) -> tuple[bool, str]:
    """Whether an answer is right for the student's own instance, and hidden ones where it must hold; what is said."""
    cases = [exercise.made(student)]
    if exercise.every:
        cases += [exercise.made(f"{seed}/{number}") for number in range(HIDDEN)]
    found = (True, "")
    for case in cases:
        found = exercise.judged(value, case)
        if not found[0]:
            break
    return found


def again(student: str, answered: dict[str, str], seed: str) -> dict[str, bool]:
    """Whether a student's answers, by exercise, are right, by the exercises of this process."""
    known = {name: text for name, text in answered.items() if name in Exercise.on_page}
    right = {
        name: judge(Exercise.on_page[name], ast.literal_eval(text), student, seed)[0] for name, text in known.items()
    }
    return dict.fromkeys(answered, False) | right


def data_of(value: Any) -> str | None:
    """A value as `ast.literal_eval` reads it; None for what is no data, or long."""
    try:
        value = None if value is ... else plain(value)
        text = repr(value)
        return text if len(text) < LONGEST and ast.literal_eval(text) == value else None
    except Exception:
        return None


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
