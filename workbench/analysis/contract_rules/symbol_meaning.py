"""What a statement's symbols mean in a model: `doc=` of its parts says which letter, symbol or set is which.

- A set of one dimension, `m | active jobs`, is what the letter m runs over; further letters below it run over the same.
- `i,p | deadlines of each job` says letters of a set of pairs: for a job i, p runs over its deadlines.
- `R | jobs whose weight is above 0`, `O_j | allocations of job j` and `E | pairs (k, j)` are sets of a formula: all of
  the set, what follows j in it, its pairs.
- `T^m_kj | speed | steps/s` is a part by its indices in this order; an upper letter counts if the part has one more.
- A fourth field names an attribute of the model that is no part of Pyomo: `C_m | combinations of m | | inside` is
  `m.inside[m]`, a dictionary, set or number.

What the model has no variable or number for counts as 0, and a set it does not have as empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from pyomo.repn import generate_standard_repn

from workbench.analysis.contract_rules.formula import (
    Binding,
    Identifier,
    Number,
    Operation,
    Relation,
    Sum,
    Tree,
    TupleOrSet,
    objective,
)
from workbench.base.arrays import FloatArray
from workbench.scheduling.modelling import pyo
from workbench.scheduling.notation import Unreadable, symbol_lines

AtPoints = FloatArray
"""A value at each of the random points."""
POINTS = 2
"""Random points at which everything is compared."""


Env = Mapping[str, tuple[Any, str | None]]
"""The value and the sort of each letter that is bound."""


class Letter(NamedTuple):
    """Of what set it is, and its values in order; beside those of the letters before it in a set of tuples."""

    sort: str
    before: tuple[str, ...]
    rows: tuple[tuple[tuple[Any, ...], Any], ...]

    def values(self, env: Env) -> list[Any]:
        """The values: where the letters before it are bound, those that go with them."""
        fits = all(each in env for each in self.before)
        beside = tuple(env[each][0] for each in self.before) if fits else ()
        return list(dict.fromkeys(value for row, value in self.rows if not fits or row == beside))


class Symbol(NamedTuple):
    """The sorts of its indices, and what it is at an index (None: nothing there). part: the variable, or None."""

    sorts: tuple[str | None, ...]
    at: Callable[[Any], Any]
    part: Any
    args: tuple[str, ...]


_ORDER = {"<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater, "=": np.equal, "!=": np.not_equal}


class Meaning:
    """The symbols of a model, and values of trees at `POINTS` random points of its variables.

    knobs: words of conditions (`if relaxed`) are their names.
    """

    def __init__(self, model: pyo.ConcreteModel, knobs: Mapping[str, Any], seed: int = 0) -> None:
        self.model, self.knobs = model, knobs
        rng = np.random.default_rng(seed)
        self.point: dict[int, AtPoints] = {}
        for variable in model.component_data_objects(pyo.Var):
            low, high = variable.bounds
            fixed = variable.value if variable.fixed else low if low is not None and low == high else None
            self.point[id(variable)] = rng.uniform(0.2, 3.0, POINTS) if fixed is None else np.full(POINTS, float(fixed))
        self._known: dict[int, AtPoints] = {}
        self.letters: dict[str, Letter] = {}
        self.symbols: dict[tuple[str, str, int], list[Symbol]] = {}
        parts = [(part, lines) for part in model.component_objects(descend_into=False) if (lines := symbol_lines(part))]
        for part, lines in sorted(parts, key=lambda each: each[0].dim() if isinstance(each[0], pyo.Set) else 99):
            self._declare(part, lines)

    # ---- what is declared ----

    def _declare(self, part: Any, lines: list[list[str]]) -> None:
        last = ""
        for number, (text, *more) in enumerate(lines):
            name = more[2] if len(more) > 2 else ""
            held = getattr(self.model, name) if name else part if not number else None
            if held is part and isinstance(part, pyo.Set) and text.replace(",", "").islower() and "_" not in text:
                last = self._letters_of(part, text.split(","))
            elif len(text) == 1 and text.islower() and last and not name:
                self.letters[text] = self.letters[last]
            elif not number or name or self._spelled_again(text, lines[0][0]):
                self._symbol(text, part if held is None else held)

    def _letters_of(self, part: Any, letters: list[str]) -> str:
        """The letters of a set; the last one stands for all that is left of its tuples."""
        rows = [each if isinstance(each, tuple) else (each,) for each in part]
        for place, letter in enumerate(letters):
            rest = place == len(letters) - 1
            values = tuple((row[:place], _single(row[place:]) if rest else row[place]) for row in rows)
            sort = f"{part.local_name}[{place}]"
            self.letters.setdefault(letter, Letter(sort, tuple(letters[:place]), values))
        return letters[-1]

    def _spelled_again(self, text: str, first: str) -> bool:
        """Whether a line says a part's symbol with other letters: `z_m` after `z_k`."""
        one, other = _name(text), _name(first)
        return one is not None and other is not None and one[1:3] == other[1:3] and len(one.below) == len(other.below)

    def _symbol(self, text: str, held: Any) -> None:
        name = _name(text)
        if name is None:
            return
        called = () if name.args is None else tuple(each.text for each in name.args if isinstance(each, Identifier))
        below = tuple(each.text for each in name.below if isinstance(each, Identifier))
        if called:
            below, called = called[: held.dim()], called[held.dim() :]
        indices = held.dim() if hasattr(held, "dim") and len(held) else len(below)
        above = name.above
        if isinstance(held, (pyo.Param, pyo.Var, pyo.Expression)):
            if indices == 0:
                name, above, below = name._replace(base=text), "", ()
            elif len(below) == indices - 1 and len(above) == 1:
                above, below = "^", (above, *below)
        count = len(below) - (above == "^")
        sorts = tuple(self.letters[each].sort if each in self.letters else None for each in below)
        part = held if isinstance(held, pyo.Var) else None
        self.symbols.setdefault((name.base, above, count), []).append(Symbol(sorts, self._getter(held), part, called))

    def _getter(self, held: Any) -> Callable[[Any], Any]:
        if isinstance(held, pyo.Set):
            return lambda key: [_single(row[len(key) :]) for row in map(_tuple, held) if row[: len(key)] == key]
        if isinstance(held, (pyo.Var, pyo.Param, pyo.Expression)):
            return lambda key: self._at(held, _single(key) if key else None)
        if isinstance(held, Mapping):
            return lambda key: held.get(_single(key))
        return lambda key: held

    def _at(self, part: Any, key: Any) -> Any:
        if key not in part:
            return None
        found = part[key]
        if isinstance(part, pyo.Var):
            return self.point[id(found)]
        if not isinstance(part, pyo.Expression):
            return float(pyo.value(found))
        if id(found) not in self._known:
            self._known[id(found)] = self.sum(found)
        return self._known[id(found)]

    def sum(self, expression: Any) -> AtPoints:
        """A linear expression of the model at the points."""
        found = generate_standard_repn(expression, quadratic=False)
        if not found.is_linear():
            raise Unreadable("not linear")
        terms = zip(found.linear_coefs, found.linear_vars, strict=True)
        values = (coefficient * self.point[id(variable)] for coefficient, variable in terms)
        return sum(values, start=np.full(POINTS, float(found.constant)))

    # ---- trees ----

    def number(self, tree: Tree, env: Env) -> Any:
        """The value of a tree; raises Unreadable for what has none."""
        if isinstance(tree, Number):
            return tree.value
        if isinstance(tree, Operation):
            return _compute(tree.sign, self.number(tree.left, env), self.number(tree.right, env))
        if isinstance(tree, Sum):
            return sum((self.number(tree.body, found) for found in self.bound(tree.over, env)), start=0.0)
        if isinstance(tree, TupleOrSet):
            raise Unreadable("a list where a number is expected")
        if tree.args is not None and tree.base in ("min", "max"):
            return (np.minimum if tree.base == "min" else np.maximum).reduce([self.number(a, env) for a in tree.args])
        found = self.held(tree, env)
        if found is None:
            return 0.0
        if isinstance(found, (str, tuple, list, set, frozenset, dict, bool)):
            raise Unreadable(f"{tree.text} is no number")
        return found

    def held(self, name: Identifier, env: Env) -> Any:
        """What a symbol is at its indices; None where there is nothing."""
        if name.text in env:
            return env[name.text][0]
        symbol, key = self.resolved(name, env)
        return symbol.at(key)

    def resolved(self, name: Identifier, env: Env) -> tuple[Symbol, tuple[Any, ...]]:
        """The symbol of a name and the values of its indices."""
        below, above = name.below, name.above
        if name.args is not None:
            below = tuple(each for each in name.args if isinstance(each, Identifier) and each.text in env)
            others = tuple(each.text for each in name.args if isinstance(each, Identifier) and each.text not in env)
        if (name.text, "", 0) in self.symbols and name.args is None:
            found, below = self.symbols[name.text, "", 0], ()
        elif (name.base, above, len(below)) in self.symbols:
            found = self.symbols[name.base, above, len(below)]
        elif len(above) == 1 and (name.base, "^", len(below)) in self.symbols:
            found, below = self.symbols[name.base, "^", len(below)], (Identifier(above, above, "", ()), *below)
        else:
            raise Unreadable(f"{name.text}: doc= of no part says what it is")
        key, sorts = zip(*(self._index(each, env) for each in below), strict=True) if below else ((), ())
        fitting = [each for each in found if all(a == b for a, b in zip(each.sorts, sorts, strict=False) if a and b)]
        if len(fitting) != 1 and len({id(each.part) for each in fitting}) != 1:
            raise Unreadable(f"{name.text}: indices over other sets than those of {name.base}")
        if name.args is not None and others != fitting[0].args:
            raise Unreadable(f"{name.text}({', '.join(others)}): {', '.join(fitting[0].args)} is meant")
        return fitting[0], tuple(part for each in key for part in _tuple(each))

    def _index(self, tree: Tree, env: Env) -> tuple[Any, str | None]:
        """The value and the sort of an index: of `l - 1` those of l."""
        if isinstance(tree, Identifier):
            if tree.text in env:
                return env[tree.text]
            return self.held(tree, env), None
        if isinstance(tree, Number):
            return int(tree.value), None
        if not isinstance(tree, Operation):
            raise Unreadable("an index that is none")
        value = self.number(tree, env)
        first = self._index(tree.left, env)[1]
        return int(value), first

    def items(self, tree: Tree, env: Env) -> list[Any]:
        """The members of a set."""
        if isinstance(tree, TupleOrSet):
            return [self.number(each, env) for each in tree.items]
        found = self.held(tree, env) if isinstance(tree, Identifier) else 0
        if found is None:
            return []
        if not isinstance(found, (tuple, list, set, frozenset, range, dict)):
            raise Unreadable(f"{getattr(tree, 'text', tree)} is no set")
        return list(found)

    def holds(self, relation: Relation, env: Env) -> bool:
        """Whether a condition is true."""
        return self._holds(relation, env) != relation.negated

    def _holds(self, relation: Relation, env: Env) -> bool:
        sides, signs = relation.sides, relation.signs
        if not signs:
            [word] = sides
            if not isinstance(word, Identifier) or word.text not in self.knobs:
                raise Unreadable(f"{getattr(word, 'text', word)} is no knob")
            return bool(self.knobs[word.text])
        for left, sign, right in zip(sides, signs, sides[1:], strict=False):
            if sign in ("in", "notin"):
                each = left.items if isinstance(left, TupleOrSet) else (left,)
                value = _single(tuple(self._index(one, env)[0] for one in each))
                if (value in self.items(right, env)) != (sign == "in"):
                    return False
            elif not np.all(_ORDER[sign](self.number(left, env), self.number(right, env))):
                return False
        return True

    # ---- letters ----

    def bound(self, over: Iterable[Binding], env: Env) -> Iterator[Env]:
        """Every way to bind the letters, one binding after the other."""
        first, *rest = over
        for found in self._bind(first, env):
            if rest:
                yield from self.bound(rest, found)
            else:
                yield found

    def _bind(self, binding: Binding, env: Env) -> Iterator[Env]:
        letters = binding.letters
        if binding.relation is None and len(letters) == 1 and letters[0] in env and binding.within is not None:
            binding = Binding((), None, Relation((Identifier(letters[0], letters[0], "", ()), binding.within), ("in",)))
        if binding.relation is not None:
            there = () if "in" in binding.relation.signs else dict.fromkeys(_letters(binding.relation))
            fresh = [each for each in there if each not in env and self._free(each)]
            if len(fresh) > 1:
                raise Unreadable(f"{', '.join(fresh)}: one new letter at a time")
            for found in self._bind(Binding((fresh[0],), None), env) if fresh else (env,):
                if self.holds(binding.relation, found):
                    yield found
            return
        if any(each in env for each in letters):
            raise Unreadable(f"{', '.join(letters)}: bound twice")
        known = [self.letters.get(each) for each in letters]
        if binding.within is not None:
            values = [_tuple(each) if len(letters) > 1 else (each,) for each in self.items(binding.within, env)]
        elif len(known) == 1 and known[0] is not None:
            values = [(each,) for each in known[0].values(env)]
        else:
            raise Unreadable(f"{', '.join(letters)}: doc= of no set says what it runs over")
        for row in values:
            pairs = zip(letters, row, known, strict=True)
            yield {**env, **{letter: (value, each.sort if each else None) for letter, value, each in pairs}}

    def _free(self, letter: str) -> bool:
        return letter in self.letters or (letter, "", 0) not in self.symbols


def _letters(relation: Relation) -> Iterator[str]:
    left: list[Any] = list(relation.sides)
    while left:
        tree = left.pop(0)
        if isinstance(tree, Identifier):
            if len(tree.text) == 1 and tree.text.islower():
                yield tree.text
            left += [*tree.below, *(tree.args or ())]
        elif isinstance(tree, Operation):
            left += [tree.left, tree.right]
        elif isinstance(tree, TupleOrSet):
            left += tree.items


def _name(text: str) -> Identifier | None:
    """A symbol of `doc=`; None for what is no single one, such as `n_m / SLO_m`."""
    try:
        found = objective(text)
    except Unreadable:
        return None
    return found if isinstance(found, Identifier) else None


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _single(key: tuple[Any, ...]) -> Any:
    return key[0] if len(key) == 1 else key


def _compute(sign: str, left: Any, right: Any) -> Any:
    if isinstance(left, str) or isinstance(right, str):
        raise Unreadable(f"{left!r} {sign} {right!r}: no numbers")
    if sign == "/" and not np.all(right):
        raise Unreadable("a division by 0")
    if sign == "^":
        return left**right
    return {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[sign](left, right)


def as_bound(value: Any) -> float:
    """A bound, the same at all points."""
    found = np.broadcast_to(np.asarray(value, dtype=float), POINTS)
    if not math.isclose(found.min(), found.max(), rel_tol=1e-12):
        raise Unreadable("a bound that depends on a variable")
    return float(found[0])
