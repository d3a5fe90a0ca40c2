"""Expressions of Pyomo -> sums of numbers times variables, with the arithmetic of Pyomo's own walk in less time."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from pyomo.core.base.expression import ExpressionData, ScalarExpression
from pyomo.core.base.param import ParamData, ScalarParam
from pyomo.core.base.var import ScalarVar, VarData
from pyomo.core.expr.numeric_expr import (
    DivisionExpression,
    LinearExpression,
    MonomialTermExpression,
    NegationExpression,
    NPV_DivisionExpression,
    NPV_NegationExpression,
    NPV_ProductExpression,
    NPV_SumExpression,
    ProductExpression,
    SumExpression,
)
from pyomo.core.expr.relational_expr import EqualityExpression, InequalityExpression
from pyomo.repn import generate_standard_repn
from pyomo.repn.linear import LinearRepnVisitor
from pyomo.repn.util import VarRecorder

from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers.errors import SolverFailedError

NUMBERS: set[Any] = {int, float, np.float64, bool}
CONSTANTS = {
    *NUMBERS,
    *(ParamData, ScalarParam, NPV_DivisionExpression, NPV_NegationExpression, NPV_ProductExpression, NPV_SumExpression),
}
SUMS: set[Any] = {LinearExpression, SumExpression}
PRODUCTS = {ProductExpression, NegationExpression}
VARIABLES = {VarData, ScalarVar}
TERMS = {MonomialTermExpression, *VARIABLES}
NAMED = {ExpressionData, ScalarExpression}
EXPECTED = "a linear or mixed-integer linear model"
VALUES = "a finite number for every parameter, every coefficient and every variable that is fixed"


class LinearSum(NamedTuple):
    """`sum_i terms[i] variable_i + constant`; i: the `id` of a variable."""

    terms: dict[int, float]
    constant: float


class LinearRow(NamedTuple):
    """A constraint, what it says, its sum, and the limits of the sum without its constant, None for none."""

    constraint: Any
    relation: Any
    sum: LinearSum
    low: float | None
    high: float | None


_Scaled = tuple[float, dict[int, float], float]
_Named = tuple[Any, Any, _Scaled]


class Reader:
    """What finds sums. variables: those met, by their `id`; visitor: Pyomo's own; named: `scaled` of the named
    expressions met, by their `id`, with the expression itself, which is kept, and what it stood for; before: those of a
    model before, some of whose expressions may be here; side: the last left side of a row, and its `scaled`."""

    def __init__(self, before: Reader | None = None) -> None:
        self.variables: dict[int, Any] = {}
        self.named: dict[int, _Named] = {}
        self.side: tuple[Any, _Scaled | None] = None, None
        self.before = {} if before is None else before.named

    @cached_property
    def visitor(self) -> LinearRepnVisitor:
        return LinearRepnVisitor({}, var_recorder=VarRecorder(self.variables, None))


class Revised(LinearExpression):  # type: ignore[misc]
    """Another sum without the terms from some places on, so many from each, and with more at its end."""

    __slots__ = ("before", "came", "gone")

    def __init__(self, before: LinearExpression, places: list[int], size: int, came: list[Any]) -> None:
        parts, self.before, self.came, self.gone = before.args, before, came, []  # a list of its own
        for place in reversed(places):
            self.gone += parts[place : place + size]
            del parts[place : place + size]
        if before.__class__ is Revised:
            before.before = None  # or all would be kept
        super().__init__([*parts, *came])


SUMS.add(Revised)


def revised(row: LinearRow, relation: Any, reader: Reader) -> LinearSum | None:
    """The sum of what a row now says, if that is `Revised`; None where it is not, or a variable may be in two terms."""
    (old, limit), (new, most) = row.relation.args, relation.args
    if new.__class__ is not Revised or new.before is not old or limit is not most or row.sum.constant:
        return None
    right = [] if limit.__class__ in CONSTANTS else [limit]
    more = _read(_added(new.came, reader))
    if not TERMS.issuperset(map(type, new.gone + right)) or more is None or more.constant:
        return None
    terms = dict(row.sum.terms)
    if len(terms) != old.nargs() + len(right):
        return None
    for part in new.gone:
        del terms[id(part if part.__class__ in VARIABLES else part.args[1])]
    terms |= more.terms
    return LinearSum(terms, 0.0) if len(terms) == new.nargs() + len(right) else None


def of_relation(
    relation: Any, reader: Reader, known: LinearSum | None
) -> tuple[float | None, float | None, LinearSum | None]:
    """Limits and sum, unless it is known, of a relation of a sum to a number or to another sum, which is taken from it;
    no sum for any other."""
    kind = relation.__class__
    if kind is not InequalityExpression and kind is not EqualityExpression:
        return None, None, None
    left, right = relation.args
    equal = kind is EqualityExpression
    if right.__class__ in CONSTANTS:
        body, number = left, _number(right)
        low, high = (number if equal else None), number
    elif left.__class__ in CONSTANTS:
        body, number = right, _number(left)
        low, high = number, (number if equal else None)
    else:
        return 0.0 if equal else None, 0.0, known or _read(_less(left, right, reader))
    if number is None or not math.isfinite(number):
        return None, None, None
    return low, high, known or _read(scaled(body, reader))


def linear(model: pyo.ConcreteModel, part: Any, expression: Any, reader: Reader) -> LinearSum:
    """By `scaled`; what it does not know, by Pyomo's quicker walk; where that finds no linear sum of numbers, by the
    one that says why."""
    known = _read(scaled(expression, reader))
    if known is not None:
        return known
    quick = reader.visitor.walk_expression(expression)
    terms, constant = quick.linear, quick.constant
    plain = quick.nonlinear is None and quick.multiplier == 1 and type(constant) in NUMBERS
    if plain and NUMBERS.issuperset(map(type, terms.values())):
        odd = [value for value in (*terms.values(), constant) if not math.isfinite(value)]
        if odd:
            raise SolverFailedError(model.name, f"the number {odd[0]} in {part.name}", VALUES)
        return LinearSum({at: value for at, value in terms.items() if value}, float(constant))
    try:
        found = generate_standard_repn(expression, quadratic=False)
    except TypeError as error:  # Pyomo computes with the value None
        raise SolverFailedError(model.name, f"no value for {part.name}: {error}", VALUES) from error
    if not found.is_linear():
        raise SolverFailedError(model.name, f"nonlinear terms in {part.name}", EXPECTED)
    reader.variables.update({id(variable): variable for variable in found.linear_vars})
    return LinearSum(dict(zip(map(id, found.linear_vars), found.linear_coefs, strict=True)), float(found.constant))


def _read(known: _Scaled | None) -> LinearSum | None:
    """The sum; None where there is none, or one of numbers that are not finite."""
    if known is None:
        return None
    factor, terms, constant = known
    if not math.isfinite(factor * (sum(terms.values()) + constant)):
        return None
    if factor != 1.0 or not all(terms.values()):
        terms = {at: factor * value for at, value in terms.items() if value}
    return LinearSum(terms, float(factor * constant))


def scaled(part: Any, reader: Reader) -> _Scaled | None:
    """`(f, terms, constant)` of f times a sum of numbers, parameters, variables and named expressions; None for others.

    With the arithmetic of Pyomo's own walk, in its order, in less time. The reader keeps the variables that it meets,
    and what named expressions are.
    """
    kind = part.__class__
    if kind in CONSTANTS:
        number = _number(part)
        return None if number is None else (1.0, {}, number)
    if kind in SUMS:
        return _added(part.args, reader)
    if kind in PRODUCTS:
        one, other = (-1.0, *part.args) if kind is NegationExpression else part.args
        if other.__class__ in CONSTANTS:
            one, other = other, one
        number = _number(one)
        found = scaled(other, reader) if number else None
        return None if found is None else (found[0] * number, *found[1:])
    if kind is DivisionExpression:
        one, number = part.args[0], _number(part.args[1])
        found = scaled(one, reader) if number else None
        return None if found is None else (found[0] / number, *found[1:])
    if kind in TERMS:
        return _added((part,), reader)
    known = _named(part, reader) if kind in NAMED else None
    return None if known is None else known[2]


def _named(part: Any, reader: Reader) -> _Named | None:
    """A named expression that is linear."""
    at, stands_for = id(part), part.args[0]
    known = reader.named.get(at) or reader.before.get(at)
    if known is None or known[1] is not stands_for:
        sum_ = scaled(stands_for, reader)
        if sum_ is None:
            return None
        known = part, stands_for, sum_
    reader.named[at] = known
    return known


def _weighted(parts: Any, reader: Reader) -> dict[int, float] | None:
    """The terms of a sum of numbers times named expressions without constants, no two with a variable in common; None
    for any other: `_added` looks at each part for what it may be."""
    if {ProductExpression} != set(map(type, parts)):
        return None
    terms: dict[int, float] = {}
    count, before, met = 0, reader.before, reader.named
    for part in parts:
        number, named = part._args_  # of which `args` makes another tuple
        key = id(named)
        known = before.get(key)
        if known is None or known[1] is not named._args_[0]:
            known = _named(named, reader) if named.__class__ in NAMED else None
            if known is None:
                return None
        else:
            met[key] = known
        factor, found, constant = known[2]
        if constant or number.__class__ not in NUMBERS or not number:
            return None
        factor *= number
        for at, value in found.items():
            terms[at] = factor * value
        count += len(found)
    return terms if len(terms) == count else None


def _number(part: Any) -> Any:
    """What a number, a parameter or an expression of these comes to; None for anything else, and without a value."""
    kind = part.__class__
    if kind in NUMBERS:
        return part
    if kind is NPV_ProductExpression:  # Pyomo's walk takes ten times as long
        one, other = map(_number, part.args)
        return None if one is None or other is None else one * other
    if kind is NPV_NegationExpression:
        one = _number(part.args[0])
        return None if one is None else -one
    found = part(exception=False) if kind in CONSTANTS else None
    return found if found.__class__ in NUMBERS else None


def _less(left: Any, right: Any, reader: Reader) -> _Scaled | None:
    """`scaled` of `left - right`."""
    if reader.side[0] is not left:  # which the rows of a rule may share
        reader.side = left, _added(left.args if left.__class__ in SUMS else (left,), reader)
    found = reader.side[1]
    other = None if found is None else scaled(right, reader)
    if found is None or other is None:
        return None
    factor, terms, constant = found[0], dict(found[1]), found[2]
    for at, value in other[1].items():
        terms[at] = terms.get(at, 0.0) - other[0] * value
    return factor, terms, constant - other[0] * other[2]


def _added(parts: Any, reader: Reader) -> _Scaled | None:
    """`scaled` of a sum."""
    weighted = _weighted(parts, reader)
    if weighted is not None:
        return 1.0, weighted, 0.0
    terms: dict[int, float] = {}
    constant = 0.0
    for part in parts:
        kind = part.__class__
        if kind in TERMS:
            alone = kind in VARIABLES
            value, variable = (1.0, part) if alone else part.args
            if value.__class__ not in NUMBERS:
                value = _number(value)
            if value is None or variable.fixed:
                return None
            at = id(variable)
            reader.variables[at] = variable
            terms[at] = terms[at] + value if at in terms else value
            continue
        if kind in NUMBERS:
            constant += part
            continue
        found = scaled(part, reader)
        if found is None:
            return None
        factor, more, other = found
        constant += factor * other
        for at, value in more.items():
            terms[at] = terms[at] + factor * value if at in terms else factor * value
    return 1.0, terms, constant
