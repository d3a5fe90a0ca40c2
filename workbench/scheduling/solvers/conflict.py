"""Which rows of an infeasible programme cannot hold together: a set from which none can be left out.

QuickXplain (Junker, AAAI 2004) over the rows: halves are left out as long as the rest still has no point, so that k of
n rows are found with about k log2(n / k) questions of feasibility. It is for linear and mixed-integer programmes alike.
The limits of the columns, and that some are whole, always hold. The set is irreducible: without any one of its rows
the others can hold. There may be other such sets, and smaller ones.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.base.errors import Words
from workbench.scheduling.solvers.errors import InfeasibleError, SolveError, TimeLimitError
from workbench.scheduling.solvers.options import Solver
from workbench.scheduling.solvers.programme import Programme
from workbench.scheduling.solvers.solve import solve_matrix
from workbench.scheduling.solvers.solve_report import PROVEN

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from workbench.scheduling.contract import StatedProblem
    from workbench.scheduling.solvers.compile import Compiled

LIMIT_S = 10.0
"""Seconds of wall time after which what has been found by then is told."""
MOST_NAMED = 8
"""Rows that a message names; the JSON has all."""


class Row(NamedTuple):
    """A constraint: its part of the model and index, `capacity[v100]`, and the part's doc, tag first (or the row)."""

    name: str
    text: str


@dataclass(frozen=True)
class Conflict:
    """Rows that cannot hold together within the limits of the variables; minimal: whether none can be left out."""

    rows: tuple[Row, ...]
    minimal: bool

    def sentence(self) -> str:
        """In words, for the message of an error."""
        shown = "; ".join(f"{name}: {text}" for name, text in self.rows[:MOST_NAMED])
        left = len(self.rows) - MOST_NAMED
        more = f"; and {left} more" if left > 0 else ""
        rest = "" if self.minimal else " (time ran out: fewer of them may be enough)"
        if self.minimal and len(self.rows) == 1:
            return f"no values of the variables meet this row: {shown}"
        return f"these rows cannot hold together{rest}: {shown}{more}"


class ConflictError(InfeasibleError):
    """No point satisfies all constraints, and these are the ones to blame.

    stated: what was solved, by `workbench.solve` or in a run by an own model, for `workbench.rows`; it does not leave
    the process. at_s: of the decision that went on without it, None where nothing did.
    """

    stated: StatedProblem | None = None
    at_s: float | None = None

    def __init__(self, error: InfeasibleError, conflict: Conflict, before: str = "") -> None:
        sentence = before + (conflict.sentence() if error.is_plain else f"{error.value}: {conflict.sentence()}")
        super().__init__(error.where, Words(sentence))
        self.conflict = conflict

    def __reduce__(self) -> tuple[Any, ...]:
        make, (kind, args, state) = super().__reduce__()
        return make, (kind, args, {name: value for name, value in state.items() if name != "stated"})

    def as_json(self) -> dict[str, object]:
        """The error with all rows."""
        rows = [row._asdict() for row in self.conflict.rows]
        return {**super().as_json(), "conflict": {"rows": rows, "minimal": self.conflict.minimal}}


def conflict_rows(
    programme: Programme, solver: Solver | None = None, limit_s: float = LIMIT_S
) -> tuple[list[int], bool] | None:
    """Numbers of rows that cannot hold together, rising, and whether none can be left out; None for a feasible one.

    limit_s: after so many seconds whatever is still in doubt is kept, so that the rows are in conflict in any case.
    Raises TimeLimitError if not even the programme's being infeasible is found by then.
    """
    asked = _RowsTogether(programme, solver or Solver(), time.monotonic() + limit_s)
    every = list(range(len(programme.row_lower)))
    if not asked.excludes(every):
        if asked.unsure:
            raise TimeLimitError(programme.name, f"{limit_s:g} s")
        return None
    if asked.excludes([]):
        return [], True
    return sorted(_needed(asked, [], False, every)), not asked.unsure


def conflict_of(model: pyo.ConcreteModel, solver: Solver | None = None) -> Conflict | None:
    """The same for a Pyomo model, with the names of its constraints; None for one that has a point."""
    from workbench.scheduling.solvers.compile import compile_model

    compiled = compile_model(model)
    found = conflict_rows(compiled.programme, solver)
    if found is None:
        return None
    numbers, minimal = found
    rows = [_row(compiled.rows[number]) for number in numbers]
    return Conflict(tuple(rows or [_crossed(compiled)]), minimal)


def _crossed(compiled: Compiled) -> Row:
    """The variable whose own limits leave it no value, where they alone leave no point."""
    programme = compiled.programme
    whole = False if programme.integer is None else programme.integer
    at = int(np.argmax(programme.lower - np.where(whole, np.floor(programme.upper + PROVEN), programme.upper)))
    text = f"at least {programme.lower[at]:g} and at most {programme.upper[at]:g}"
    return Row(str(compiled.columns[at].name), text)


def explained(
    error: InfeasibleError, model: pyo.ConcreteModel, solver: Solver | None = None, before: str = ""
) -> InfeasibleError:
    """The error of a solve with the rows in conflict, behind what is said before; as it is, if none was solved, or the
    rows cannot be found."""
    if type(error) is not InfeasibleError or not of_a_solve(error):
        return error
    try:
        found = conflict_of(model, solver)
    except SolveError:  # a row of constants that does not hold (the error names it), or no verdict in time
        return error
    return error if found is None else ConflictError(error, found, before)


def of_a_solve(error: InfeasibleError) -> bool:
    """Whether a solver said so, rather than a look at the data."""
    cause = error.__cause__
    return error.is_plain or (isinstance(cause, InfeasibleError) and cause.is_plain)


def _row(constraint: pyo.Constraint) -> Row:
    from pyomo.core.expr.visitor import identify_variables

    doc = constraint.parent_component().doc
    held = [each for each in identify_variables(constraint.expr) if each.fixed and each.value]
    fixed = f" (fixed: {', '.join(f'{each.name} at {each.value:g}' for each in held[:MOST_NAMED])})" if held else ""
    return Row(str(constraint.name), " ".join(str(doc or constraint.expr).split())[:200] + fixed)


class _RowsTogether:
    """Whether some rows of a programme can hold together. unsure: whether some question had no answer in time."""

    def __init__(self, programme: Programme, solver: Solver, end_s: float) -> None:
        self._programme = replace(programme, cost=np.zeros_like(programme.cost), start=None)
        self._solver = replace(solver, gap=0.0, node_limit=None, start=False, on_progress=None, on_log=None)
        self._end_s = end_s
        self.unsure = False

    def excludes(self, rows: Sequence[int]) -> bool:
        """Whether it is proven that no point meets these rows."""
        left_s = self._end_s - time.monotonic()
        if left_s <= 0:
            self.unsure = True
            return False
        kept = np.zeros(len(self._programme.row_lower), dtype=bool)
        kept[list(rows)] = True
        part = replace(
            self._programme,
            row_lower=np.where(kept, self._programme.row_lower, -np.inf),
            row_upper=np.where(kept, self._programme.row_upper, np.inf),
        )
        try:
            solve_matrix(part, replace(self._solver, time_limit_s=left_s))
        except InfeasibleError:
            return True
        except TimeLimitError:
            self.unsure = True
        return False


def _needed(asked: _RowsTogether, kept: list[int], grown: bool, doubtful: list[int]) -> list[int]:
    """The doubtful rows that are needed beside the kept ones; all together are in conflict.

    grown: whether rows have been kept since they alone were last found to hold together.
    """
    if grown and asked.excludes(kept):
        return []
    if len(doubtful) == 1:
        return doubtful
    half = len(doubtful) // 2
    first, second = doubtful[:half], doubtful[half:]
    of_second = _needed(asked, kept + first, True, second)
    of_first = _needed(asked, kept + of_second, bool(of_second), first)
    return of_first + of_second
