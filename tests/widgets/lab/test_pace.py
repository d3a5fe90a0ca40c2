"""Drawing that keeps up with answers: the event loop is heard between two drawings, and the last answer is drawn."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

import pytest

from tests.widgets.lab.support import until
from widgets.work.drawing_pace import LaterSteps, Paced

DRAWING_S = 0.05


class Drawer:
    """Counts what has come when it is drawn, which takes a while, and notes from when to when.

    It is also a clock that only drawing moves, for tests in which the rest must take no time on any machine.
    """

    def __init__(self) -> None:
        self.come = 0
        self.drawn: list[int] = []
        self.times_s: list[tuple[float, float]] = []
        self.now_s = 1.0

    def __call__(self) -> None:
        began_s = time.monotonic()
        time.sleep(DRAWING_S)
        self.drawn.append(self.come)
        self.times_s.append((began_s, time.monotonic()))
        self.now_s += DRAWING_S

    def monotonic(self) -> float:
        return self.now_s


def test_many_answers_at_once_are_drawn_twice_and_the_last_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    drawer = Drawer()
    monkeypatch.setattr("widgets.work.drawing_pace.time", drawer)

    async def answers() -> None:
        paced = Paced(drawer)
        for _ in range(100):
            drawer.come += 1
            paced.ask()
        assert drawer.drawn == [1]
        await until(lambda: len(drawer.drawn) > 1)
        await asyncio.sleep(4 * DRAWING_S)

    asyncio.run(answers())
    assert drawer.drawn == [1, 100]


def test_as_much_time_is_left_to_others_as_drawing_takes() -> None:
    drawer = Drawer()

    async def answers() -> None:
        paced = Paced(drawer)
        while len(drawer.drawn) < 4:
            paced.ask()
            await asyncio.sleep(0)

    asyncio.run(answers())
    for (began_s, ended_s), (next_s, _) in pairwise(drawer.times_s):
        assert next_s - ended_s >= 0.95 * (ended_s - began_s)  # the clocks of the two stand a moment apart


def test_what_is_still_to_come_is_drawn_when_asked_for_and_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawer = Drawer()
    monkeypatch.setattr("widgets.work.drawing_pace.time", drawer)

    async def answers() -> None:
        paced = Paced(drawer)
        for _ in range(3):
            drawer.come += 1
            paced.ask()
        paced.flush()
        paced.flush()
        await asyncio.sleep(4 * DRAWING_S)

    asyncio.run(answers())
    assert drawer.drawn == [1, 3]


def test_without_an_event_loop_every_answer_is_drawn() -> None:
    drawer = Drawer()
    paced = Paced(drawer)
    for _ in range(3):
        drawer.come += 1
        paced.ask()
    assert drawer.drawn == [1, 2, 3]


def test_what_can_wait_comes_step_by_step_between_messages_and_all_again_when_asked_again() -> None:
    done: list[str] = []
    again = ["once"]

    async def story() -> None:
        def message(loop: asyncio.AbstractEventLoop, turns: int) -> None:
            """What comes from a page goes through the loop several times before it is heard."""
            if turns:
                loop.call_soon(message, loop, turns - 1)
            else:
                done.append("message")
                later.ask()

        def first() -> None:
            done.append("first")
            if again:
                again.pop()
                message(asyncio.get_running_loop(), 5)

        later = LaterSteps((first, lambda: done.append("second")), lambda error: None)
        later.ask()
        assert not done, "nothing at once where a loop runs"
        await until(lambda: done.count("second") == 2)
        assert done == ["first", "message", "second", "first", "second"]
        later.ask()
        later.flush()
        assert done[5:] == ["first", "second"], "what is wanted now is done now"

    asyncio.run(story())
    LaterSteps((lambda: done.append("alone"),), lambda error: None).ask()
    assert done[-1] == "alone", "without a loop at once"


def test_a_step_that_fails_is_told_and_ends_the_others() -> None:
    done: list[object] = []

    def wrong() -> None:
        raise ValueError("no")

    later = LaterSteps((wrong, lambda: done.append("after")), done.append)
    with pytest.raises(ValueError, match="no"):
        later.ask()
    assert [str(each) for each in done] == ["no"]
    later.flush()
    assert len(done) == 1
