"""`workbench.relax` and `workbench.without`: a row moved, or left out; the problem solved again, and the difference.

What a row is worth is not what a GPU in the cluster is worth: all other numbers stay as they are here, also those that
would move with a GPU (what jobs are measured by, for one). `workbench.what_if` asks for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from workbench.analysis.rows.stated import AGREES, AS_GOOD, MOVES, SolvedStatement, called, solved, unsolved
from workbench.base.arrays import FloatArray
from workbench.base.card import card
from workbench.base.errors import InputError, counted
from workbench.base.labels import listed
from workbench.base.rounding import short_number
from workbench.scheduling.contract import Result, StatedProblem
from workbench.scheduling.decision import Shares, members
from workbench.scheduling.solvers import (
    Columns,
    InfeasibleError,
    Point,
    Programme,
    Solver,
    Stand,
    UnboundedError,
    solve_matrix,
)
from workbench.scheduling.solvers.limits import SENSES
from workbench.simulation.run import Run

if TYPE_CHECKING:
    from workbench.scheduling.solvers.compile import Compiled

MOST_SHOWN = 6
"""Variables that a text names."""


class MovedVariable(NamedTuple):
    """A variable that has another value."""

    variable: str
    before: float
    after: float


@dataclass(frozen=True)
class RowChange:
    """What a changed row changes. rows: their names; change: in words; objective, aim, sense: of the problem, by its
    name and in the model's own words.

    before, after: best values, after None where status says `infeasible` or `unbounded`; moved: variables with other
    values, most first (of several best solutions the solver gives one).
    """

    formulation: str
    rows: tuple[str, ...]
    change: str
    objective: str
    aim: str
    sense: str
    status: str
    before: float
    after: float | None
    moved: tuple[MovedVariable, ...]

    @property
    def changes(self) -> bool:
        """Whether the best value is another."""
        before, after = self.before, self.after
        return after is None or abs(before - after) > AGREES * max(1.0, abs(before), abs(after))

    @property
    def table(self) -> pd.DataFrame:
        """The variables that moved: columns variable, before and after."""
        return pd.DataFrame(self.moved, columns=list(MovedVariable._fields))

    def first_of(self, job: str) -> str:
        """The variable of a job that moved most, in words; empty where none did."""
        mine = (each for each in self.moved if job in each.variable.partition("[")[2].rstrip("]").split(","))
        return next((f"{name} {_number(new)} in place of {_number(old)}" for name, old, new in mine), "")

    def as_json(self) -> dict[str, Any]:
        """Its fields, as JSON has them."""
        return {**asdict(self), "moved": [each._asdict() for each in self.moved]}

    def text(self) -> str:
        """In a few sentences."""
        return " ".join([f"{self.change}: {self._difference()}", *self._others()])

    def _difference(self) -> str:
        if self.after is None:
            none = "no point satisfies all constraints" if self.status == "infeasible" else "there is no best value"
            return f"{none} (before: {_number(self.before)})."
        if not self.changes:
            return f"{self.aim} stays {_number(self.before)}."
        better = "better" if (self.after > self.before) == (self.sense == "max") else "worse"
        return f"{self.aim} goes from {' to '.join(_apart(self.before, self.after))}, which is {better}."

    def _others(self) -> list[str]:
        if not self.moved:
            return []
        shown = [f"{name} {' to '.join(_apart(old, new))}" for name, old, new in self.moved[:MOST_SHOWN]]
        left = len(self.moved) - MOST_SHOWN
        more = f", and {counted(left, 'variable')} more" if left > 0 else ""
        return [f"What moves: {', '.join(shown)}{more}."]

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<RowChange: {self.change}: {self._difference()}>"

    def _repr_html_(self) -> str:
        rows = [(name, _number(old), _number(new)) for name, old, new in self.moved]
        return card(f"{self.change}: {self._difference()}", rows, ("Variable", "Before", "After"), [OTHERS_STAY])


OTHERS_STAY = "All other numbers of the problem stay as they are; workbench.what_if changes the cluster itself."


def relax(found: Result | Run, row: str, by: float = 1.0, *, at: float | None = None) -> RowChange:
    """Solve again with a row that asks for less: `<=` a larger right side, `>=` a smaller one, by so much.

    found, at: as for `workbench.rows`; row: `part[index]`, such as `capacity[v100]`, a part for all of its rows, or a
    bound by its variable, with its sense where there are two: `share[game,v100] <=`; by: below 0 tightens it; an
    equality's right side is raised. Raises InputError for a row that is not there, with the nearest names, and what
    `workbench.rows` raises.
    """
    if isinstance(by, bool) or not isinstance(by, (int, float)) or not math.isfinite(by):
        raise InputError("by", by, "a number")
    return changed(solved(found, at), row, float(by))[0]


def without(found: Result | Run, row: str, *, at: float | None = None) -> RowChange:
    """Solve again without a row, or without all rows of a part (`job_time`). Arguments and errors as for `relax`."""
    return changed(solved(found, at), row, math.inf)[0]


def changed(statement: SolvedStatement, row: str, by: float) -> tuple[RowChange, SolvedStatement | None]:
    """`relax` of a problem that has been solved, and the changed one, if it has a solution; by: infinity for
    `without`."""
    numbers = statement.find(row)
    names = tuple(dict.fromkeys(statement.names[number] for number in numbers))
    then = replace(statement.compiled, programme=changed_programme(statement, numbers, by))
    change, found = solved_as(statement, then, names, _in_words(statement, numbers, row, by))
    if math.isinf(by) and (left := _holding(statement, numbers)):
        return replace(change, aim=f"{change.aim}, now without {listed(left)},"), found
    return change, found


def _holding(statement: SolvedStatement, numbers: Sequence[int]) -> list[str]:
    """Those of the rows that hold the objective itself, where that is one variable, as the smallest of several is."""
    cost, matrix = np.flatnonzero(statement.compiled.programme.cost), statement.limits.matrix
    held = matrix.indices[matrix.indptr[cost[0]] : matrix.indptr[cost[0] + 1]].tolist() if len(cost) == 1 else []
    rows = (n for n in numbers if n in held and statement.limits.owner[n] < len(statement.compiled.rows))
    return [statement.names[n] for n in rows]


def solved_as(
    statement: SolvedStatement, compiled: Compiled, rows: tuple[str, ...], change: str
) -> tuple[RowChange, SolvedStatement | None]:
    """What another programme comes to, and solved; rows, change: as of `RowChange`."""
    before, programme = statement.value, compiled.programme
    head: dict[str, Any] = {
        "formulation": statement.name,
        "rows": rows,
        "change": change,
        "objective": statement.objective,
        "aim": statement.aim,
        "sense": "max" if programme.maximise else "min",
        "before": before,
    }
    try:
        point = statement.solve(programme)
    except (InfeasibleError, UnboundedError) as error:
        return RowChange(**head, status=error.status, after=None, moved=()), None
    found = replace(statement, compiled=compiled, point=point)
    then = dict(zip(found.columns, point.values.tolist(), strict=True))
    values = zip(statement.columns, statement.point.values.tolist(), strict=True)
    both = [MovedVariable(name, old, then[name]) for name, old in values if name in then]
    moved = [each for each in both if abs(each.after - each.before) > MOVES * max(1.0, abs(each.before))]
    moved.sort(key=lambda each: -abs(each.after - each.before))
    return RowChange(**head, status=point.solved.status, after=found.value, moved=tuple(moved)), found


def changed_programme(statement: SolvedStatement, numbers: Sequence[int], by: float) -> Programme:
    """The programme with limits that ask for `by` less, or with infinity not at all."""
    programme, limits = statement.compiled.programme, statement.limits
    for number in numbers:
        towards = -by if limits.sense[number] < 0 else by
        programme = limits.moved(programme, number, towards)
    return programme


def answer_with(
    problem: StatedProblem, row: str, by: float, near: Mapping[str, FloatArray] | None = None
) -> Mapping[str, FloatArray]:
    """{variable: values} of a problem's best answer with a row relaxed by so much, or with infinity without it.

    An empty row changes nothing, nor does one that the problem does not have (the job has gone). near: {variable:
    values, NaN where any will do}: of several best answers the nearest to them. Raises the errors of
    `workbench.scheduling.solvers`.
    """
    statement = unsolved(problem)
    at = np.full(len(statement.compiled.columns), math.nan)
    for name, values in (near or {}).items():
        columns = statement.compiled.programme.columns[name]
        at[columns[columns >= 0]] = values[columns >= 0]
    return statement.compiled.programme.values(_with(statement, row, by, at, statement.solve))


def near_shares(problem: StatedProblem, shares: Shares | None) -> Mapping[str, FloatArray]:
    """The shares that were decided, in the order of a problem's variable; NaN for who was not there."""
    if shares is None:
        return {}
    decided = dict(zip(shares.units, shares.values, strict=True))
    there = {name for unit in shares.units for name in members(unit)}
    nothing, any_will_do = np.zeros(len(shares.types)), np.full(len(shares.types), math.nan)
    rows = [decided.get(u, nothing if {*members(u)} <= there else any_will_do) for u in problem.data.units]
    return {"share": np.concatenate(rows) if rows else np.zeros(0)}


def stand_in(statement: SolvedStatement, row: str, by: float, near: bool = True) -> Stand:
    """What answers for a model like a statement's with a row relaxed, or without it: of several best answers by the
    nearest to the statement's own, or by the solver's. Models of another shape are solved as they are."""
    at = statement.point.values if near else np.full(len(statement.columns), math.nan)

    def answered(compiled: Compiled, solve: Callable[[Programme], Point]) -> Point:
        if replace(statement, compiled=compiled).columns != statement.columns:
            return solve(compiled.programme)
        return _with(replace(statement, compiled=compiled), row, by, at, solve)

    return answered


def _with(
    statement: SolvedStatement, row: str, by: float, near: FloatArray, solve: Callable[[Programme], Point]
) -> Point:
    numbers = statement.find(row) if row in {*statement.names, *statement.parts} else ()
    programme = changed_programme(statement, numbers, by)
    best = solve(programme)
    return best if np.isnan(near).all() else _nearest(programme, best, near, statement.solver)


def _nearest(programme: Programme, best: Point, near: FloatArray, solver: Solver) -> Point:
    """Of the answers that are as good as the best that was found, up to its gap, one as near as can be.

    Nearest by the sum of |x - near| over the columns with a number there: d >= x - near, d >= near - x.
    """
    known = np.flatnonzero(~np.isnan(near))
    rows, columns = programme.matrix.shape
    count, cost = len(known), np.flatnonzero(programme.cost)
    apart = columns + np.arange(count)
    below, above = rows + np.arange(count), rows + count + np.arange(count)
    last = rows + 2 * count
    better = 1.0 if programme.maximise else -1.0
    entries = [
        (programme.matrix.indices, np.repeat(np.arange(columns), np.diff(programme.matrix.indptr)),
         programme.matrix.data),
        (below, apart, np.ones(count)), (below, known, np.ones(count)),
        (above, apart, np.ones(count)), (above, known, -np.ones(count)),
        (np.full(len(cost), last), cost, better * programme.cost[cost]),
    ]  # fmt: skip
    row, column, value = (np.concatenate([each[spot] for each in entries]) for spot in range(3))
    worth = better * float(programme.cost @ best.values)
    least = worth - (AS_GOOD + (best.solved.gap or 0.0)) * max(1.0, abs(worth))
    whole = None if programme.integer is None else np.append(programme.integer, np.zeros(count, dtype=bool))
    found = solve_matrix(
        replace(
            programme,
            cost=np.append(np.zeros(columns), np.ones(count)),
            matrix=Columns.of(row, column, value, (last + 1, columns + count)),
            row_lower=np.concatenate([programme.row_lower, near[known], -near[known], [least]]),
            row_upper=np.concatenate([programme.row_upper, np.full(2 * count + 1, math.inf)]),
            lower=np.append(programme.lower, np.zeros(count)),
            upper=np.append(programme.upper, np.full(count, math.inf)),
            integer=whole, maximise=False, offset=0.0, start=None, columns={}, rows={},
        ),
        solver,
    ).values[:columns]  # fmt: skip
    for limit in (programme.lower, programme.upper, near):  # a share of 1e-8 would have a rank of its own
        found = np.where(np.abs(found - limit) <= MOVES, limit, found)
    return replace(best, values=found)  # duals go with every best answer


def _in_words(statement: SolvedStatement, numbers: Sequence[int], row: str, by: float) -> str:
    """What is done to which rows."""
    limits = statement.limits
    several, first = f", {counted(len(numbers), 'row')}" if len(numbers) > 1 else "", numbers[0]
    names = called(statement.says(first), f"{row if several or math.isinf(by) else statement.names[first]}{several}")
    if math.isinf(by):
        return f"Without {names}"
    old, sense = limits.right.item(first), limits.sense.item(first)
    was, now = _apart(old, old - by if sense < 0 else old + by)
    if several:
        return f"With {names} each {'relaxed' if by >= 0 else 'tightened'} by {_number(abs(by))}"
    return f"With {names} {SENSES[sense]} {now} in place of {was}"


def _number(value: float) -> str:
    return short_number(value, 4)


def _apart(old: float, new: float) -> tuple[str, str]:
    """Both, in as many digits as tell them apart."""
    pairs = ((short_number(old, digits), short_number(new, digits)) for digits in range(4, 18))
    return next(pair for pair in pairs if pair[0] != pair[1] or old == new)
