"""A schedule drawn by hand: pieces are put on GPUs, what breaks a row is red and says which, and the score follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import ipywidgets as w
import traitlets
from IPython.display import display

from widgets.parts.assets import Scripted, program, style
from workbench.analysis.charts.theme import job_colours
from workbench.base.errors import InputError

Placed = tuple[int, int, int]
"""A piece, its lane, its first column: numbers from 0."""


class ByHand(Protocol):
    """What is drawn. lanes: names of GPUs; columns: how many, each `column`; pieces: names, and of each its job, and
    how many columns it takes on each lane; once: whether a piece is put once only; judge: what is broken, by position,
    and sentences on the score.
    """

    lanes: list[str]
    columns: int
    column: str
    pieces: list[str]
    jobs: list[str]
    lengths: list[list[int]]
    once: bool

    def judge(self, placed: Sequence[Placed]) -> tuple[dict[int, str], list[str]]:
        """See above."""


class Board(Scripted):
    """The page's part: what can be put where, what has been, and what is said of it. All text is text."""

    _esm = program(Path(__file__).parent / "draw.js")
    _css = style()

    lanes = traitlets.List(traitlets.Unicode()).tag(sync=True)
    columns = traitlets.Int().tag(sync=True)
    column = traitlets.Unicode().tag(sync=True)
    pieces = traitlets.List(traitlets.Dict(), help="name, colour, lengths by lane").tag(sync=True)
    once = traitlets.Bool().tag(sync=True)
    placed = traitlets.List(traitlets.List(traitlets.Int()), help="piece, lane, column each").tag(sync=True)
    broken = traitlets.Dict(help="Sentences by position in placed.").tag(sync=True)
    said = traitlets.List(traitlets.Unicode()).tag(sync=True)
    answers = traitlets.Bool(help="Whether there is an answer to be shown.").tag(sync=True)


class Draw:
    """Draw a schedule yourself; at the end of a cell it shows itself.

    problem: `RoundsByHand` of Gavel's lessons, `TasksByHand` of Hare's, or any `ByHand`. answer: returns what is shown
    below when somebody who has drawn something asks for the paper's answer; it is not called before.
    A piece is chosen, and put with a click; a click on it takes it away. Keys: arrows move the place, space puts and
    takes away, Page Down and Page Up choose the next piece.
    """

    def __init__(self, problem: ByHand, answer: Callable[[], Any] | None = None) -> None:
        self.problem, self.answer = problem, answer
        colours = job_colours(dict.fromkeys(problem.jobs))
        facts = zip(problem.pieces, problem.jobs, problem.lengths, strict=True)
        pieces = [{"name": name, "colour": colours[job], "lengths": own} for name, job, own in facts]
        shape = {"lanes": problem.lanes, "columns": problem.columns, "column": problem.column, "once": problem.once}
        self.board = Board(pieces=pieces, answers=answer is not None, **shape)
        self.picture = w.Output()
        self.widget = w.VBox([self.board, self.picture])
        self.board.observe(lambda _: self._judge(), "placed")
        self.board.on_msg(lambda _, content, buffers: self._show())

    @property
    def placed(self) -> list[Placed]:
        """What is drawn."""
        return [(piece, lane, at) for piece, lane, at in self.board.placed]

    def put(self, placed: Sequence[Placed]) -> None:
        """Draw this in the place of what is drawn; raises InputError for what does not fit on the board."""
        for each in placed:
            if not self._fits(each):
                raise InputError("Draw", each, "a piece, a lane and a column of the board, as (0, 0, 0)")
        if self.problem.once and len({piece for piece, *_ in placed}) < len(placed):
            raise InputError("Draw", list(placed), "each piece once")
        self.board.placed = [list(each) for each in placed]

    def _fits(self, each: Any) -> bool:
        if not isinstance(each, list | tuple) or len(each) != 3 or not all(type(number) is int for number in each):
            return False
        piece, lane, at = each
        there = 0 <= piece < len(self.problem.pieces) and 0 <= lane < len(self.problem.lanes) and at >= 0
        return bool(there and at + self.problem.lengths[piece][lane] <= self.problem.columns)

    def _judge(self) -> None:
        broken, said = self.problem.judge(self.placed)
        with self.board.hold_sync():
            self.board.broken, self.board.said = {str(number): text for number, text in broken.items()}, said

    def _show(self) -> None:
        if self.answer is None or not self.placed or not self.board.answers:
            return
        shown = self.answer()
        if live := getattr(shown, "widget", None):
            self.widget.children = [self.board, live]
        else:
            with self.picture:
                display(shown)
        self.board.answers = False

    def _repr_mimebundle_(self, **given: Any) -> Mapping[str, Any]:
        live: Mapping[str, Any] = self.widget._repr_mimebundle_(**given) or {}
        return {**live, "text/plain": f"A schedule to be drawn: {', '.join(self.problem.pieces)}"}
