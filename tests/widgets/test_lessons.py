"""Guesses and exercises, without a page."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench
from widgets import Exercise, Guess
from widgets.lessons.prose import prose
from workbench.base.errors import InputError

PROJECT = Path(__file__).resolve().parents[2]
HARM = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def page() -> Iterator[None]:
    """A page of its own."""
    yield
    Exercise.on_page.clear()
    Exercise.student()


def doubled(**more: Any) -> Exercise:
    given: dict[str, Any] = {
        "case": lambda rng: rng.randint(2, 900),
        "wrong": {-1: "Not less.", lambda answer, n: answer == n: f"That is n {HARM}"},
        "hint": "Add n to n.",
        "solution": lambda n: 2 * n,
        "because": "Twice is `+`.",
    }
    return Exercise(lambda n: f"Twice `{n}` {HARM}?", lambda answer, n: answer == 2 * n, **given | more)


def test_an_exercise_replies_to_what_is_answered() -> None:
    one = doubled()
    assert not one.answer().right and "three dots" in one.answer()._repr_html_()
    assert "Solution" not in one.answer()._repr_html_(), "not before a try"
    wrong = one.answer(one.case)
    assert not wrong.right and wrong.said.startswith("That is n")
    assert "<summary" in wrong._repr_html_() and str(2 * one.case) in wrong._repr_html_()
    assert HARM not in wrong._repr_html_() + one._repr_html_() + one.answer(HARM)._repr_html_()
    assert one.answer(-1.0).said == "Not less." and one.answer(-2).said == "Not yet."
    assert one.answer(2 * one.case).right and "<code>+</code>" in one.answer(2 * one.case)._repr_html_()
    assert one.progress() == {"exercise 1": True} and "1 of 1 exercise" in one.progress()._repr_html_()
    for empty in (..., None, " "):
        assert not one.answer(empty).right and "Solution" not in one.answer(empty)._repr_html_()
    several = one.answer(0, 735)
    assert not several.right and "2 values" in several.said and "Solution" not in several._repr_html_()
    assert one.answered is ..., "nothing is graded"
    for value, text in (("x", "Not yet."), ([], "Not yet.")):
        assert one.answer(value).said == text
    failing = Exercise("?", lambda answer: answer > 1, hint="A number.")
    for value, kind in (("x", "a text"), ([2], "a list"), ({2}, "a set"), ({1: 2}, "a dictionary"), (1j, "")):
        said = f"This could not be checked. {f'You answered with {kind}' if kind else 'Is it of the kind'}"
        assert failing.answer(value).said.startswith(said)
    measured = Exercise("?", lambda answer: answer == np.float64(2), hint="A number.")
    assert measured.answer(2).right and "a list" in measured.answer([2]).said
    computed = Exercise("?", lambda answer: answer == 2, hint="A number.", solution=[np.float64(2.5)], name="computed")
    assert "<pre>[2.5]</pre>" in computed.answer(np.float64(1))._repr_html_()
    assert "<code>1.0</code>" in computed.answer(np.float64(1))._repr_html_()
    told = Exercise("?", lambda answer: "Too few." if answer < 3 else True, hint="More.", name="told")
    assert told.answer(2).said == "Too few." and told.answer(3).right


def test_each_student_has_an_instance_and_keeps_it() -> None:
    one = doubled()
    pages = one.case
    Exercise.student("Ada")
    hers = one.case
    assert doubled(name=one.name).case == hers != pages and "Ada" in one._repr_html_()
    Exercise.student("Grace")
    assert len({pages, hers, one.case}) == 3 and one.case == one.case_of(random.Random(f"Grace/{one.name}"))
    assert one.judged(one.solved(one.made("hidden")), one.made("hidden"))[0]


def test_an_exercise_keeps_its_number_when_its_cell_runs_again() -> None:
    for _ in range(2):
        Exercise("One?", bool, hint="x")
        Exercise("Two?", bool, hint="x")
        exec('Exercise(lambda n: f"{n}?", bool, case=lambda rng: 3, hint="x")', {"Exercise": Exercise})
    assert list(Exercise.on_page) == ["exercise 1", "exercise 2", "exercise 3"]


def test_a_guess_comes_before_its_answer() -> None:
    runs: list[str] = []

    def ran() -> str:
        runs.append("ran")
        return "b"

    guess = Guess("Who?", ran, choices=["a", "b"], because=lambda found: f"{found} is.")
    assert not runs and guess.found is None and guess.box.said == [] and guess.box.state == "open"
    with pytest.raises(InputError, match="one of a, b"):
        guess.guess("c")
    assert guess.guess("a") is False and guess.box.said == ["You said: a. The run says: b.", "b is."]
    assert guess.guess("b") is False and runs == ["ran"], "the first one counts"
    assert "<em>Who</em> is 2*x*y" in prose("*Who* is 2*x*y?")
    assert "$T^*$ and $x^*$" in prose("$T^*$ and $x^*$")
    number = Guess("How long?", lambda: 10.0, unit="min", within=2)
    assert number.guess(11.9) and number.box.said == ["You said: 11.9 min. The run says: 10 min."]
    for value in ("abc", "0,5", None, float("nan"), [1]):
        with pytest.raises(InputError, match="a number, as"):
            Guess("How long?", lambda: 10.0).guess(value)
    order = Guess("In which order?", lambda: ["b", "a"], order=["a", "b"])
    with pytest.raises(InputError, match="all of a, b"):
        order.guess(5)
    assert order.guess(["b", "a"]) and order.box.state == "right"
    assert not Guess("How long?", lambda: 10.0, unit="min").guess(11.1)


def test_a_run_without_an_answer_is_told() -> None:
    guess = Guess("How long?", lambda: 1 / 0)
    assert guess.guess(1) is None and "ZeroDivisionError" in guess.box.said[0] and guess.box.state == "failed"
    for given in ({"choices": ["a"]}, {"choices": ["a", "a"]}, {"choices": ["a", "b"], "order": ["a", "b"]}):
        with pytest.raises(InputError, match="at least two"):
            Guess("?", lambda: "a", **given)


def test_the_lesson_in_the_guide_for_contributors() -> None:
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Write a lesson")[2]
    page: dict[str, Any] = {"run": workbench.simulate("preset:start_here", "fifo")}
    first, second = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    exec(first, page)
    exec(second, page)
    equal = page["equal"]
    assert len(second.strip().splitlines()) <= 10 + 1  # and shown
    assert equal.answer(equal.solved(equal.case)).right and not equal.answer(1).right


def test_a_drawing_that_answers_a_guess_is_shown_in_the_colours_of_the_page() -> None:
    drawing = workbench.simulate("preset:start_here", "fifo").gantt()
    guess = Guess("?", lambda: 1, show=lambda: drawing)
    guess.guess(1)
    assert guess.box.state == "right" and guess.widget.children[-1].view.aria_label == drawing.label


def test_a_page_without_code_has_a_field_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widgets.lessons.exercise.on_dashboard", lambda: True)
    one = doubled()
    form = one.answer()
    (field, check), said = form.children[0].children, form.children[1]
    wrong = [(typed, False) for typed in ("0", "...", "0,735")]
    for typed, right in (*wrong, (f" {2 * one.case} ", True), (f"{4 * one.case} / 2", True)):
        field.value = typed
        check.click()
        assert one.right == right and ("✓" in said.value) == right, typed
    field.value = HARM
    check.click()
    assert one.answered == HARM and "<script" not in said.value


def test_a_kernel_of_make_lab_has_imported_what_the_first_lab_needs() -> None:
    """So a first picture does not wait for imports, which are two thirds of what it costs."""
    argv = json.loads((PROJECT / "tools/jupyter/kernels/python3/kernel.json").read_text("utf-8"))["argv"]
    (extension,) = (each.removeprefix("--ext=") for each in argv if each.startswith("--ext="))
    code = f"""
import sys, {extension}
{extension}.load_ipython_extension(None)
from ipywidgets import Widget
from widgets.parts.assets import VegaPrograms, vega_programs
from widgets.work import process
(early,) = (each for each in Widget.get_manager_state()["state"].values() if each["state"].get("digest"))
assert process._process_work is not None and vega_programs().digest == early["state"]["digest"]
before = set(sys.modules)
from widgets import Exercise, GanttView, GavelLab, Guess
assert GavelLab("start_here").run is not None
print(*set(sys.modules) - before)
"""
    late = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    assert len(late.split()) < 12, late
