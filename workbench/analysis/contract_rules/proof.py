"""Whether a statement's lines say what a model is: every row, bound and the objective at random points, every index."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from workbench.analysis.contract_rules import formula
from workbench.analysis.contract_rules.formula import Clause, Identifier, Number, TupleOrSet
from workbench.analysis.contract_rules.symbol_meaning import AtPoints, Env, Meaning, as_bound
from workbench.scheduling.modelling import pyo
from workbench.scheduling.notation import Equation, Unreadable, equations

TOLERANCE = 1e-9
"""Relative to the largest of the numbers that are compared (at least 1)."""


class Mismatch(NamedTuple):
    """Where a line and its part differ: `capacity['v100']`, what the model says and what the line says."""

    where: str
    model: str
    line: str


class TurnedDifference(NamedTuple):
    """`left - right` at the points, turned so that it is at most 0; exact: it is 0, whatever its sign."""

    value: AtPoints
    exact: bool

    def same(self, other: TurnedDifference) -> bool:
        """Whether two rows are one."""
        turned = self.exact and _close(self.value, -other.value)
        return self.exact == other.exact and (turned or _close(self.value, other.value))

    @property
    def idle(self) -> bool:
        """Whether it has no variable and holds."""
        worst = np.abs(self.value).max() if self.exact else self.value.max()
        return _close(self.value.min(), self.value.max()) and bool(worst <= TOLERANCE)

    def __str__(self) -> str:
        return f"left - right {'=' if self.exact else '<='} 0, {self.value[0]:.9g} at a random point"


class Bounds(NamedTuple):
    """Of a variable."""

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}{', whole' if self.whole else ''}"


def differences(statement: Any, model: pyo.ConcreteModel, knobs: Mapping[str, Any], seed: int = 0) -> list[Mismatch]:
    """What the lines of a statement (see `notation.equations`) say otherwise than the model built with these knobs.

    A line that cannot be read is one. Of each line the first difference is told.
    """
    meaning = Meaning(model, knobs, seed)
    found = (next(compared(line, meaning), None) for line in equations(statement))
    return [each for each in found if each is not None]


def compared(line: Equation, meaning: Meaning) -> Iterator[Mismatch]:
    """The differences of one line; it ends with the first thing that cannot be read."""
    part = meaning.model.component(line.part)
    try:
        if isinstance(part, pyo.Objective):
            yield from _objective(line, part, meaning)
        elif isinstance(part, pyo.Constraint):
            yield from _rows(line, part, meaning)
        elif isinstance(part, pyo.Var):
            yield from _bounds(line, part, meaning)
        elif isinstance(part, pyo.Expression):
            yield from _definitions(line, part, meaning)
        else:
            yield Mismatch(line.part, "no such part", line.formula)
    except Unreadable as error:
        yield Mismatch(line.part, "a part", f"cannot be read: {error}")


def _objective(line: Equation, part: Any, meaning: Meaning) -> Iterator[Mismatch]:
    sense = "max" if part.sense == pyo.maximize else "min"
    if sense != line.sense:
        yield Mismatch(line.part, sense, line.sense or "no objective")
    said = np.broadcast_to(meaning.number(formula.objective(line.formula), {}), 2)
    here = meaning.sum(part)
    if line.forall or not _close(here, said):
        yield Mismatch(line.part, f"{here[0]:.9g} at a random point", f"{said[0]:.9g}")


def _rows(line: Equation, part: Any, meaning: Meaning) -> Iterator[Mismatch]:
    stated, seen = formula.clauses(line.formula), set()
    for key, env in _indices(line, part, meaning):
        said = [row for each in _in_force(stated, meaning, env) for row in _said(each, meaning, env)]
        held = list(_held(part[key], meaning)) if key in part and part[key].active else []
        seen.add(key)
        if not held and all(row.idle for row in said):
            continue
        if len(said) != len(held) or not all(any(row.same(other) for other in held) for row in said):
            yield Mismatch(_at(line.part, key), _listed(held), _listed(said))
    yield from _unsaid(line, part, seen)


def _definitions(line: Equation, part: Any, meaning: Meaning) -> Iterator[Mismatch]:
    [stated], seen = formula.clauses(line.formula), set()
    for key, env in _indices(line, part, meaning):
        symbol = stated.relation.sides[0]
        if stated.relation.signs != ("=",) or not isinstance(symbol, Identifier):
            raise Unreadable(f"{line.formula}: a definition is symbol = value")
        seen.add(key)
        here, said = (np.broadcast_to(meaning.number(each, env), 2) for each in stated.relation.sides)
        if meaning.resolved(symbol, env)[1] != _key(key) or not _close(here, said):
            yield Mismatch(_at(line.part, key), f"{here[0]:.9g} at a random point", f"{said[0]:.9g}")
    yield from _unsaid(line, part, seen)


def _unsaid(line: Equation, part: Any, seen: set[Any]) -> Iterator[Mismatch]:
    """Indices of a part that the line is not for."""
    for key in part:
        if key not in seen:
            yield Mismatch(_at(line.part, key), "is there", f"not for all {line.forall or 'of these'}")


def _indices(line: Equation, part: Any, meaning: Meaning) -> Iterator[tuple[Any, Env]]:
    """The index in the part and the letters, for all that a line is for. Letters that the index does not have come
    first: `for all r, i in D_r` may be for i alone."""
    over, conditions = formula.bindings(line.forall)
    letters = list(dict.fromkeys(letter for each in over for letter in each.letters))
    for env in meaning.bound(over, {}) if over else ({},):
        if all(meaning.holds(each, env) for each in conditions):
            flat = tuple(value for each in letters or env for value in _key(env[each][0]))
            wanted = part.dim() if len(part) else len(flat)
            if len(flat) < wanted:
                raise Unreadable(f"for all {line.forall}: {wanted} indices are expected")
            flat = flat[len(flat) - wanted :]
            yield (None if not flat else flat[0] if len(flat) == 1 else flat), env


def _in_force(stated: tuple[Clause, ...], meaning: Meaning, env: Env) -> list[Clause]:
    """The clauses whose conditions hold; a sign alone has changed the one before it."""
    found: list[Clause] = []
    for clause in stated:
        if not _applies(clause, meaning, env):
            continue
        if clause.relation.sides:
            found.append(clause)
        elif not found or len(found[-1].relation.signs) != 1:
            raise Unreadable("a sign alone stands behind the one it replaces")
        else:
            found[-1] = found[-1]._replace(relation=found[-1].relation._replace(signs=clause.relation.signs))
    return found


def _applies(clause: Clause, meaning: Meaning, env: Env) -> bool:
    return all(meaning.holds(each, env) for each in clause.conditions)


def _said(clause: Clause, meaning: Meaning, env: Env) -> Iterator[TurnedDifference]:
    sides, signs = clause.relation.sides, clause.relation.signs
    if not signs or clause.kind or not set(signs) <= {"<=", ">=", "="}:
        raise Unreadable("a row has <=, >= or =")
    values = [np.broadcast_to(np.asarray(meaning.number(each, env), dtype=float), 2) for each in sides]
    for left, sign, right in zip(values, signs, values[1:], strict=False):
        yield TurnedDifference(right - left if sign == ">=" else left - right, sign == "=")


def _held(row: Any, meaning: Meaning) -> Iterator[TurnedDifference]:
    low, body, high = row.to_bounded_expression(evaluate_bounds=True)
    value = meaning.sum(body)
    if low is not None and low == high:
        yield TurnedDifference(value - low, True)
        return
    if low is not None:
        yield TurnedDifference(low - value, False)
    if high is not None:
        yield TurnedDifference(value - high, False)


def _bounds(line: Equation, part: Any, meaning: Meaning) -> Iterator[Mismatch]:
    stated, said = formula.clauses(line.formula), {}
    for key, env in _indices(line, part, meaning):
        said[key] = Bounds()
        for clause in stated:
            if _applies(clause, meaning, env):
                said[key] = _tightened(said[key], clause, (part, _key(key)), meaning, env)
    for key, variable in part.items():
        low, high = variable.bounds
        here = Bounds(
            -math.inf if low is None else low, math.inf if high is None else high, not variable.is_continuous()
        )
        if key not in said:
            yield Mismatch(_at(line.part, key), "is there", f"not for all {line.forall or 'of these'}")
        elif here.whole != said[key].whole or not (_same(here.low, said[key].low) and _same(here.high, said[key].high)):
            yield Mismatch(_at(line.part, key), str(here), str(said[key]))


def _tightened(bounds: Bounds, clause: Clause, owner: tuple[Any, Any], meaning: Meaning, env: Env) -> Bounds:
    """The bounds with those of a clause, which speaks of the variable itself and of numbers."""
    sides, signs, kind = clause.relation.sides, clause.relation.signs, clause.kind
    spots = [spot for spot, each in enumerate(sides) if isinstance(each, Identifier) and _is(each, owner, meaning, env)]
    if len(spots) != 1 or (not signs and not kind):
        raise Unreadable("a bound is for the line's own variable: 0 <= x_i <= 1, x_i in {0, 1}, x_i integer, x_i free")
    [spot] = spots
    if signs == ("in",):
        return _within(sides[1])
    low, high, whole = bounds
    for place, sign in enumerate(signs):
        if sign not in ("<=", ">=", "=") or place not in (spot - 1, spot):
            raise Unreadable(f"{sign} in a bound")
        other = as_bound(meaning.number(sides[place] if place < spot else sides[place + 1], env))
        above = (sign == "<=") == (place == spot)
        low = max(low, other) if sign == "=" or not above else low
        high = min(high, other) if sign == "=" or above else high
    if kind == "binary":
        return Bounds(0.0, 1.0, True)
    return Bounds(low, high, whole or kind == "integer")


def _within(tree: Any) -> Bounds:
    items = tree.items if isinstance(tree, TupleOrSet) else ()
    numbers = [each.value for each in items if isinstance(each, Number)]
    if not numbers or len(numbers) < len(items):
        raise Unreadable("a variable is in {0, 1} or {0, 1, 2, ...}")
    if numbers != list(range(int(numbers[0]), int(numbers[0]) + len(numbers))):
        raise Unreadable("whole numbers one after the other are expected")
    return Bounds(numbers[0], math.inf if tree.open else numbers[-1], True)


def _is(name: Identifier, owner: tuple[Any, Any], meaning: Meaning, env: Env) -> bool:
    if name.text in env:
        return False
    symbol, key = meaning.resolved(name, env)
    return symbol.part is owner[0] and key == owner[1]


def _key(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _at(part: str, key: Any) -> str:
    return f"{part}[{', '.join(map(str, _key(key)))}]" if key is not None else part


def _listed(rows: list[TurnedDifference]) -> str:
    return "; ".join(map(str, rows)) or "no row"


def _same(one: float, other: float) -> bool:
    return one == other or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _close(one: Any, other: Any) -> bool:
    size = max(1.0, float(np.abs(one).max()), float(np.abs(other).max()))
    return bool(np.abs(np.subtract(one, other)).max() <= TOLERANCE * size)
