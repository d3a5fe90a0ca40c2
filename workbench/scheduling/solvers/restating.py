"""A model that takes on the numbers of the next decision: it is kept, and what changes in it is stated anew."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import Any

from pyomo.core.expr.numeric_expr import LinearExpression, MonomialTermExpression, ProductExpression, SumExpression
from pyomo.core.expr.relational_expr import InequalityExpression

from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers.compile import Compiled, again, built
from workbench.scheduling.solvers.solve import looked_at

_mine = threading.local()  # last: key, model, and what it compiled to


def restated(
    key: Any,
    build: Callable[[], pyo.ConcreteModel],
    restate: Callable[[pyo.ConcreteModel], bool | None],
    start: bool = False,
    rows_alone: Callable[[pyo.ConcreteModel], bool] = lambda model: False,
) -> tuple[pyo.ConcreteModel, Compiled]:
    """As `built`, but unless somebody looks at the models, the last one takes on the numbers of this one if it was made
    in the same thread with an equal key.

    restate: says False if it cannot, before it has changed anything; rows_alone: whether it changes no more than
    `compile.again` looks at.
    """
    if looked_at():
        return built(build, start)
    last = vars(_mine).pop("last", None)  # which is gone if `restate` is broken off
    before: Any = last[1:] if last and last[0] == key else (None, None)
    model, compiled = before
    if model is not None and rows_alone(model):
        found = model, again(lambda: restate(model), model, compiled)
    else:
        found = built(lambda: build() if model is None or restate(model) is False else model, start, compiled)
    _mine.last = key, *found
    return found


def renewed(
    *parts: pyo.Constraint | pyo.Objective, same: Container[Any] = (), by: Callable[[Any], Any] | None = None
) -> None:
    """Make constraints and objectives anew by their rules, with the numbers that their sets and parameters have now.

    same: indices at which nothing has changed, which stay as they are; by: what the rule comes to at an index, sooner.
    """
    for part in parts:
        rule = by or partial(part.rule, part.parent_block())
        before, skip = dict(part._data), pyo.Constraint.Skip  # `items` goes by a set that may have lost some of them
        for index in part.index_set():
            row = before.pop(index, None)
            if index in same:
                continue
            found = rule(index)
            if row is not None and found is not skip:
                row.set_value(found)
            elif row is not None or found is not skip:  # Pyomo looks for a row to take away
                part[index] = found
        for index in before:
            del part[index]


def linear(terms: Iterable[tuple[float, Any]]) -> LinearExpression:
    """The sum of numbers times variables that a rule would come to, in a quarter of the time: Pyomo's operators look
    at what they are given."""
    return LinearExpression([MonomialTermExpression(each) for each in terms])


def weighted(terms: Iterable[tuple[float, Any]]) -> SumExpression:
    """As `linear`, of numbers times named expressions."""
    return SumExpression([ProductExpression(each) for each in terms])


def at_least(rest: Any, factor: float, expression: Any) -> InequalityExpression:
    """As `linear`, `factor * expression >= rest`, of a named expression."""
    return InequalityExpression((rest, ProductExpression((factor, expression))), False)
