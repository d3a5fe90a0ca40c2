"""A lesson in JupyterLab: guesses by keyboard, exercises and their folds, also in the dark."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser_support import Problems, Server, browser_test, comes_true, run_notebook, shot

GUESSES = """
import pandas as pd
from widgets import Exercise, Guess
from IPython.display import display
display(Guess("Who ends **first** under `fifo`?", lambda: "vision", choices=["vision", "<b>game</b>"],
              because="`vision` came *first*.", show=lambda: pd.DataFrame({"ends": [90]}, index=["vision"])))
display(Guess("After how many minutes?", lambda: 90.0, unit="min", within=5))
display(Guess("Put them in order.", lambda: ["b", "c", "a"], order=["a", "b", "c"]))
"""
EXERCISE = """
Exercise.on_page.clear()  # of other notebooks of this kernel
Exercise.student("Ada <i>")
level = Exercise("What level $t = \\\\frac{8}{11}$ <script>x</script>?", lambda answer, n: answer == 2 * n,
                 case=lambda rng: rng.randint(2, 9), wrong={1: "That is **one**."}, hint="Add `n` to itself.",
                 solution=lambda n: 2 * n, because="Twice $n$.")
display(level, level.answer(), level.answer(1), level.answer(2 * level.case), Exercise.progress())
"""

DRAW = """
import workbench
from widgets import Draw
from workbench.papers.gavel.lessons.by_hand import RoundsByHand
Draw(RoundsByHand(workbench.snapshot_at("preset:gavel_example"), 11), lambda: "as the paper has it")
"""


@browser_test
def test_a_schedule_is_drawn_with_clicks_and_keys(page: Page, lab_server: Server, problems: Problems) -> None:
    run_notebook(page, lab_server, "draw.ipynb", DRAW)
    draw = page.locator(".wb-draw")
    expect(draw.locator(".wb-draw-answer")).to_be_disabled()
    draw.locator(".wb-draw-track").first.click(position={"x": 5, "y": 5})
    board, bars = draw.locator(".wb-draw-board"), draw.locator(".wb-draw-bar")
    for key in ("PageDown", "ArrowRight", " ", "ArrowDown", " "):
        board.press(key)
    expect(bars).to_have_count(3)
    expect(draw.locator(".wb-draw-wrong")).to_contain_text("(2) job 1 is on two types in round 2")
    assert draw.locator("[data-broken]").count() == 2
    shot(page, "draw")
    board.press(" ")
    expect(draw.locator(".wb-draw-said")).to_contain_text("That is 100% below the optimum.")
    draw.locator(".wb-draw-answer").click()
    page.get_by_text("as the paper has it", exact=False).last.wait_for()


@browser_test
def test_a_lesson_asks_and_answers_by_keyboard(page: Page, lab_server: Server, problems: Problems) -> None:
    run_notebook(page, lab_server, "lesson.ipynb", GUESSES, EXERCISE)
    forms = page.locator("form.wb-guess")
    expect(forms).to_have_count(3)
    choice, number, order = (forms.nth(i) for i in range(3))
    expect(choice.locator(".wb-guess-send")).to_be_disabled()
    choice.locator("input").first.click()
    choice.locator("input").first.press("ArrowDown")
    choice.locator("input").last.press("Enter")
    comes_true(page, "document.querySelector('form.wb-guess').dataset.state === 'wrong'")
    expect(choice.locator(".wb-guess-reply")).to_contain_text("You said: <b>game</b>. The run says: vision.")
    assert choice.locator(".wb-guess-reply :is(code, em)").all_text_contents() == ["vision", "first"]
    page.locator(".jp-OutputArea-output table").first.wait_for()
    number.locator("input").fill("88")
    number.locator("input").press("Enter")
    expect(number.locator(".wb-guess-reply")).to_contain_text("✓ You said: 88 min. The run says: 90 min.")
    for _ in range(2):
        order.get_by_title("a: later").press("ArrowDown")
    order.locator(".wb-guess-send").press("Enter")
    expect(order.locator(".wb-guess-reply")).to_contain_text("✓ You said: b; c; a.")
    shot(page, "guesses")
    lesson = page.locator(".wb-lesson")
    solution = lesson.locator("summary", has_text="Solution")
    solution.press("Enter")
    expect(lesson.locator("pre")).to_be_visible()
    expect(lesson.get_by_text("1 of 1 exercise solved")).to_be_visible()
    solution.scroll_into_view_if_needed()
    shot(page, "exercise")
