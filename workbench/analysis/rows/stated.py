"""A stated problem solved as it stands: its programme, its solution, and the limits by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.base.errors import InputError, Words, one_of
from workbench.base.rounding import short_number
from workbench.scheduling.contract import Result, StatedProblem
from workbench.scheduling.solvers import Point, Solver, SolveReport
from workbench.scheduling.solvers.limits import SENSES, LimitRows
from workbench.session.replay import stated_at
from workbench.simulation.run import Run

if TYPE_CHECKING:
    from workbench.scheduling.solvers.compile import Compiled

AGREES = 1e-6
"""Two objectives that differ by less, relative, are one."""
MOST_TERMS, AT_EACH_END = 8, 3
"""Terms of a sum that a row shows in full, and of a longer one at each end."""
_NAME = re.compile(r"\s*(.*?)(?:\s+(<=|>=|=))?\s*")
"""A row as it is asked for: its name, and its sense where it is given."""


@dataclass(frozen=True, eq=False)
class SolvedStatement:
    """A problem's stated model, solved. at_s: of the decision, None for a `Result`; note: what to bear in mind."""

    problem: StatedProblem
    model: Any
    compiled: Compiled
    point: Point
    at_s: float | None = None
    note: str = ""

    @cached_property
    def limits(self) -> LimitRows:
        """Rows and bounds."""
        return LimitRows.of(self.compiled.programme, self.point)

    @cached_property
    def tags(self) -> dict[str, str]:
        """The paper's tag of each part of the model."""
        from workbench.scheduling.notation import tags

        return tags(self.model)

    @property
    def solver(self) -> Solver:
        """How it was solved."""
        return solver_of(self.problem)

    @property
    def objective(self) -> str:
        """The name of the objective's part; empty where there is none."""
        found = self.compiled.objective
        return "" if found is None else str(found.parent_component().local_name)

    @cached_property
    def owners(self) -> tuple[Any, ...]:
        """The constraint or variable of each limit."""
        every = (*self.compiled.rows, *self.compiled.columns)
        return tuple(every[each] for each in self.limits.owner.tolist())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """`part[index]` of each limit."""
        return tuple(str(each.name) for each in self.owners)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The part of the model of each limit."""
        return tuple(str(each.parent_component().local_name) for each in self.owners)

    def index(self, number: int) -> str:
        """A limit's index in its part; empty for a part without one."""
        return self.names[number].removeprefix(self.parts[number])[1:-1]

    def find(self, name: str) -> tuple[int, ...]:
        """Numbers of the limits called `part`, `part[index]`, or `part[index] <=` where it has two sides.

        Raises InputError with the nearest names.
        """
        given = _NAME.fullmatch(name if isinstance(name, str) else "")
        asked, sense = given.groups() if given else ("", None)
        wanted = next((sign for sign, text in SENSES.items() if text == sense), None)
        here = [
            number
            for number, (part, full) in enumerate(zip(self.parts, self.names, strict=True))
            if asked in (part, full) and (not sense or self.limits.sense[number] == wanted)
        ]
        if not here:
            known = [*dict.fromkeys(self.parts), *dict.fromkeys(self.names)]
            raise InputError(
                "row", name, f"{asked} without a sense, or its own" if asked in known else one_of(asked, known)
            )
        return tuple(here)

    def text(self, number: int) -> str:
        """A limit in numbers, as the programme has it: variables on the left, the number on the right."""
        limits = self.limits
        matrix = self._by_row
        terms = list(zip(*matrix[number], strict=True))
        shown = [
            _term(value, str(self.compiled.columns[column].name), first=not n)
            for n, (column, value) in enumerate(terms)
        ]
        if len(shown) > MOST_TERMS:
            left = len(shown) - 2 * AT_EACH_END
            shown = [*shown[:AT_EACH_END], f"+ ... {left} more ...", *shown[-AT_EACH_END:]]
        return f"{' '.join(shown)} {SENSES[int(limits.sense[number])]} {short_number(limits.right.item(number), 6)}"

    @cached_property
    def _by_row(self) -> list[tuple[list[int], list[float]]]:
        matrix = self.limits.matrix
        column = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
        order = np.lexsort((column, matrix.indices))
        ends = np.searchsorted(matrix.indices[order], np.arange(matrix.shape[0] + 1))
        columns, values = column[order].tolist(), matrix.data[order].tolist()
        return [(columns[a:b], values[a:b]) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def solver_of(problem: StatedProblem) -> Solver:
    """How a problem is solved, as `Formulation.run` does."""
    return problem.formulation.options(problem.knobs, problem.solver or Solver())


def _term(value: float, name: str, first: bool) -> str:
    sign = "- " if value < 0 else "" if first else "+ "
    number = "" if abs(value) == 1 else f"{short_number(abs(value), 6)} "
    return f"{sign}{number}{name}"


def solved(found: Result | Run, at: float | None = None) -> SolvedStatement:
    """The statement behind a result, or behind the decision that is in force at a time of a run.

    Raises InputError where nothing states it: a result that carries no problem, an answer that is not that of the one
    programme that is stated, a decision by an algorithm; and the errors of `workbench.scheduling.solvers`.
    """
    if isinstance(found, Run):
        made = stated_at(found, at)
        return solve_statement(made.problem, made.objective, made.gap, made.at_s)
    if not isinstance(found, Result):
        raise InputError("rows, of", found, "a run (workbench.simulate) or a result of workbench.solve")
    if at is not None:
        raise InputError("at", at, "no time: a result is of one time (`workbench.solve(..., at=)`)")
    if found.problem is None:
        raise InputError("result", found, "one that workbench.solve gave: it carries what was solved")
    several = len(found.iterations) > 1
    note = f"rows of the first of {len(found.iterations)} programmes that were solved in turn" if several else ""
    return solve_statement(found.problem, found.objective, found.gap, note=note)


def unsolved(problem: StatedProblem) -> SolvedStatement:
    """A problem's statement without a solution: what it comes to is NaN."""
    model, compiled = compiled_of(problem)
    nowhere = Point(np.full(len(compiled.columns), np.nan), None, None, SolveReport("", None))
    return SolvedStatement(problem, model, compiled, nowhere)


def compiled_of(problem: StatedProblem) -> tuple[Any, Compiled]:
    """The model of a problem, and its programme."""
    from workbench.scheduling.solvers.compile import compile_model

    model = problem.formulation.build(problem.data, problem.knobs)
    return model, compile_model(model)


def solve_statement(
    problem: StatedProblem, objective: float | None, gap: float | None, at_s: float | None = None, note: str = ""
) -> SolvedStatement:
    """Solved as it stands; objective: what it must come to, within the gap that it was found to."""
    from workbench.scheduling.solvers.compile import load

    name = problem.formulation.name
    if problem.formulation.trivial(problem.data, problem.knobs) is not None:
        raise InputError(f"rows of {name}", Words("nothing to decide"), "a time at which some job may be given GPUs")
    model, compiled = compiled_of(problem)
    point = problem.formulation.solve(compiled.programme, problem.data, problem.knobs, solver_of(problem))
    value: float | None = point.solved.value
    if compiled.programme.mixed:  # solved in units that suit the solver; and there are no duals that must add up
        load(model, compiled, point)
        value = problem.formulation.read(model, problem.data, problem.knobs).objective
    within = AGREES + (gap or 0.0) + (point.solved.gap or 0.0)
    if objective is None or value is None or abs(value - objective) > within * max(1.0, abs(objective)):
        shown = ["none" if each is None else short_number(each, 6) for each in (objective, value)]
        got = Words(f"an objective of {shown[0]}; the one programme that it states gives {shown[1]}")
        expected = "an answer that is that programme's: this one comes from several in turn, or from an algorithm"
        raise InputError(f"rows of {name}", got, expected)
    return SolvedStatement(problem, model, compiled, point, at_s, note)
