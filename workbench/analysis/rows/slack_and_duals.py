"""`workbench.rows`: every row of a solved problem in numbers, with slack, dual and what is binding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.rows.stated import SolvedStatement, solved, unsolved
from workbench.base.errors import InputError, Words
from workbench.base.labels import listed
from workbench.scheduling.contract import Result
from workbench.scheduling.solvers import ConflictError, TimeLimitError, solve_matrix
from workbench.scheduling.solvers.limits import SENSES, LimitRows, Rates
from workbench.simulation.run import Run

COLUMNS = (
    *("part", "tag", "index", "row", "left", "sense", "right", "slack", "dual"),
    *("left_rate", "right_rate", "left_range", "right_range", "binding"),
)
RATED_ENTRIES = 30_000
"""Rates cost four small programmes a row: so many numbers of the programme, in all, may be solved again for them."""
MOST_RATED = 100
"""Rows that have rates, at most: constraints come before bounds."""
MOST_LISTED = 8
"""Rows that a note names."""


def rows(found: Result | Run | ConflictError, at: float | None = None) -> pd.DataFrame:
    """The rows of a solved problem with their numbers: constraints in the model's order, then the variables' bounds.

    found: a result of `workbench.solve`, or a run, whose decision in force at `at` seconds is stated and solved again
    (the latest one that solved anything); or the error of an infeasible solve, or of a run by an infeasible own
    formulation: then the rows in conflict, `left` NaN, as of a decision whose own model had no plan.

    Columns: part, tag and index of the row in the model; row: in numbers, a long sum cut in the middle; left, sense,
    right; slack: |left - right|; dual: change of the objective per unit of `right`; left_rate, right_rate: that change
    where `right` becomes less, and more, each exact within left_range or right_range (NaN: not asked; where the rates
    differ the dual is not unique: it is one number between them); binding: slack below 1e-7. Over all rows dual x right
    adds up to the objective; its constant is a row too.
    Of an integer problem dual and rates are NaN, and a column `price_of_relaxed` has the duals of the same problem
    with fractions allowed (NaN if its own time runs out). `attrs`: formulation, objective, its unit (`dual` is in that
    per unit of `right`), sense, at_s of the decision, and notes. Where several programmes are solved in turn and the
    first has not the answer (finish-time fairness, water filling, a makespan by bisection, lambda infinite), the rows
    are the last one's, which decided.

    Raises InputError for what states no rows (`workbench.chain` then tells the algorithm's own steps) and for a time
    that the run does not have; a solver's errors.
    """
    if isinstance(found, ConflictError):
        return _in_conflict(found)
    try:
        return statement_rows(solved(found, at))
    except InputError as error:
        if isinstance(error.__cause__, ConflictError):  # the decision's own model had no plan
            return _in_conflict(error.__cause__)
        raise


def statement_rows(statement: SolvedStatement) -> pd.DataFrame:
    """`rows` of a problem that has been solved."""
    limits = statement.limits
    rates = _rates(statement)
    numbers = range(len(limits.sense))
    dual = np.full(len(limits.sense), math.nan) if limits.dual is None else limits.dual * statement.scale
    named = _named(statement, limits)
    table = pd.DataFrame(
        {
            **named,
            "row": [statement.text(number) for number in numbers],
            "left": limits.left,
            "sense": [SENSES[sense] for sense in limits.sense.tolist()],
            "right": limits.right,
            "slack": limits.slack,
            "dual": dual,
            **{
                name: np.array([rates[number][spot] if number in rates else math.nan for number in numbers])
                for spot, name in enumerate(("left_rate", "right_rate", "left_range", "right_range"))
            },
            "binding": limits.met,
        }
    )[list(COLUMNS)]
    if statement.compiled.programme.mixed:
        table["price_of_relaxed"] = _relaxed(statement)
    if statement.compiled.programme.offset:
        table = pd.concat([table, _constant(statement, table)], ignore_index=True)
    late = statement.compiled.programme.mixed and bool(table["price_of_relaxed"].isna().all())
    table.attrs.update(_about(statement, rates, late))
    return table


def _named(statement: SolvedStatement, limits: LimitRows) -> dict[str, list[str]]:
    """Part, tag and index of each limit."""
    parts = list(statement.parts)
    index = [statement.index(number) for number in range(len(parts))]
    return {"part": parts, "tag": [statement.tags.get(part, "") for part in parts], "index": index}


def _rates(statement: SolvedStatement) -> dict[int, Rates]:
    """By limit its rates, of as many as there is time for; the rates of a limit that is not met are 0 up to its slack.

    Constraints come first, then bounds.
    """
    limits = statement.limits
    if limits.dual is None:
        return {}
    found: dict[int, Rates] = {}
    most = min(MOST_RATED, RATED_ENTRIES // max(1, len(limits.matrix.data)))
    for number in np.flatnonzero(limits.tight).tolist()[:most]:
        rates, scale = limits.rates(number, statement.solver), statement.scale
        found[number] = rates._replace(left=rates.left * scale, right=rates.right * scale)
    for number in np.flatnonzero(~limits.tight).tolist():
        slack, sense = limits.slack.item(number), limits.sense.item(number)
        found[number] = Rates(0.0, 0.0, slack if sense > 0 else math.inf, slack if sense < 0 else math.inf)
    return found


def _relaxed(statement: SolvedStatement) -> np.ndarray[Any, Any]:
    """Duals of the same programme with fractions allowed, at its limits, which are those of the programme; NaN where
    its own time runs out.

    How close rows must be kept is asked for integers' sake (`Solver.to_within`); here the solver's own will do.
    """
    relaxed = replace(statement.compiled.programme, integer=None, start=None)
    try:
        dual = LimitRows.of(relaxed, solve_matrix(relaxed, replace(statement.solver, tolerance=None))).dual
    except TimeLimitError:
        dual = None
    return np.full(len(statement.owners), math.nan) if dual is None else dual * statement.scale


def _constant(statement: SolvedStatement, table: pd.DataFrame) -> pd.DataFrame:
    """The number in the objective that no variable changes, as a row."""
    constant = statement.compiled.programme.offset * statement.scale
    name = statement.objective
    row: dict[str, Any] = dict.fromkeys(table.columns, math.nan) | {
        "part": name, "tag": statement.tags.get(name, ""), "index": "constant", "row": f"{constant:g} = {constant:g}",
        "left": constant, "sense": "=", "right": constant, "slack": 0.0, "binding": True,
        "dual": math.nan if statement.limits.dual is None else 1.0,
    }  # fmt: skip
    if "price_of_relaxed" in row and table["price_of_relaxed"].notna().all():
        row["price_of_relaxed"] = 1.0
    return pd.DataFrame([row])


def _about(statement: SolvedStatement, rates: Mapping[int, Rates], late: bool) -> dict[str, Any]:
    """What stands beside the table. late: the problem with fractions allowed was not solved in time."""
    limits, programme = statement.limits, statement.compiled.programme
    notes = [statement.note] if statement.note else []
    if programme.mixed:
        of_relaxed = "was not solved in time" if late else "gives the price of relaxed"
        notes.append(f"a problem in whole numbers has no duals; the one with fractions allowed {of_relaxed}")
    elif len(rates) < len(limits.sense):
        notes.append(f"{len(limits.sense) - len(rates)} of {len(limits.sense)} rows were not asked for their rates")
    rounded = listed((statement.names[number] for number in np.flatnonzero(limits.tight & ~limits.met)), MOST_LISTED)
    notes += [f"met but for rounding, which is above 1e-7 in numbers of this size: {rounded}"] if rounded else []
    several = listed((statement.names[number] for number, found in rates.items() if not found.unique), MOST_LISTED)
    notes += [f"the dual is not unique, the two rates differ: {several}"] if several else []
    if statement.unit not in ("", "1") and not programme.mixed:
        notes.append(f"dual and rates are in {statement.unit} per unit of right")
    return {
        "formulation": statement.name,
        "objective": statement.value,
        "unit": statement.unit,
        "sense": "max" if programme.maximise else "min",
        "at_s": statement.at_s,
        "notes": notes,
    }


def _in_conflict(error: ConflictError) -> pd.DataFrame:
    """The rows of an infeasible problem that cannot hold together."""
    if error.stated is None:
        expected = "the error itself that workbench.solve, or a run by an own formulation, raised in this process"
        raise InputError("error", Words("one without its problem"), expected)
    statement = unsolved(error.stated)
    names = {row.name for row in error.conflict.rows}
    limits = statement.limits
    kept = [number for number, name in enumerate(statement.names) if name in names]
    named = {name: [values[number] for number in kept] for name, values in _named(statement, limits).items()}
    table = pd.DataFrame(
        {
            **named,
            "row": [statement.text(number) for number in kept],
            "left": math.nan,
            "sense": [SENSES[limits.sense.item(number)] for number in kept],
            "right": limits.right[kept],
        }
    )
    notes = [error.conflict.sentence()]
    table.attrs.update(formulation=error.stated.formulation.name, objective=None, unit="", at_s=error.at_s, notes=notes)
    return table
