"""A statement's formulas as trees: `t <= z_m / (w_m P_m) * throughput(m, X)` for all `m in R`.

Plain text as in `notation`, read by recursive descent:

clauses   = clause, clause, ...          clause  = relation [integer | binary | free] [if conditions]; a sign alone,
            `x <= 1, = if i in G`, takes the place of the sign before it where the conditions hold
relation  = sum <= sum <= ...            also =, <, >, >=, !=, `in` and `notin` a set
sum       = term + term - term ...       term    = factors side by side or with *; `/` takes the factor on each side
factor    = atom [^ atom]                atom    = number, symbol, call(sum, ...), (sum), {sum, ...}, and
            sum_m, sum_{m in R, m != k}, sum_{m: w_m > 0}, whose body is the rest of its term
bindings  = binding, binding, ...        binding = m, m in R, (i, j) in N, or conditions such as u <= t - p_rk
conditions = relation and relation and not word ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

from workbench.scheduling.notation import Unreadable, tokens


class Number(NamedTuple):
    """A number."""

    value: float


class Identifier(NamedTuple):
    """A symbol: `T^m_kj` has base T, above m, below (k, j), each index a tree; args of a call, else None."""

    text: str
    base: str
    above: str
    below: tuple[Tree, ...]
    args: tuple[Tree, ...] | None = None


class Operation(NamedTuple):
    """`left sign right`; sign: + - * / ^."""

    sign: str
    left: Tree
    right: Tree


class Sum(NamedTuple):
    """A sum of `body` over bindings."""

    over: tuple[Binding, ...]
    body: Tree


class TupleOrSet(NamedTuple):
    """A tuple `(i, j)`, or a set `{0, 1}`; open: it ends in `...`."""

    items: tuple[Tree, ...]
    open: bool = False


T = TypeVar("T")
Tree: TypeAlias = "Number | Identifier | Operation | Sum | TupleOrSet"


class Relation(NamedTuple):
    """`sides[0] signs[0] sides[1] ...`; a word (`relaxed`) has one side and no sign, `= if i in G` a sign and no side.

    negated: `not` before.
    """

    sides: tuple[Tree, ...]
    signs: tuple[str, ...]
    negated: bool = False


class Clause(NamedTuple):
    """A relation, the kind of number that it asks for (integer, binary, free or ""), and when it holds."""

    relation: Relation
    kind: str
    conditions: tuple[Relation, ...]


class Binding(NamedTuple):
    """Letters and where they come from: a set (None: that of the letter), or a relation that mentions one new letter,
    or a condition on letters already there."""

    letters: tuple[str, ...]
    within: Tree | None
    relation: Relation | None = None


SIGNS = ("<=", ">=", "!=", "<", ">", "=", "in", "notin")
KINDS = ("integer", "binary", "free")
_WORDS = (*SIGNS, *KINDS, "if", "and", "not")


def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a row, bound or definition. Raises Unreadable, whose text says where."""
    reader = _Reader(text)
    return reader.to_end(reader.listed(reader.clause))


def objective(text: str) -> Tree:
    """The tree of an objective."""
    reader = _Reader(text)
    return reader.to_end(reader.sum())


def bindings(text: str) -> tuple[tuple[Binding, ...], tuple[Relation, ...]]:
    """What a row is for all of, and the conditions after `if`."""
    reader = _Reader(text)
    found = reader.listed(reader.binding, ":") if text and not text.startswith("if ") else ()
    return reader.to_end((found, reader.conditions()))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.left = text, tokens(text)

    def to_end(self, found: T) -> T:
        if self.left:
            self.fail(f"{self.left[0]!r} is not expected here")
        return found

    def fail(self, why: str) -> None:
        raise Unreadable(f"{self.text!r}: {why}")

    def next(self) -> str:
        return self.left[0] if self.left else ""

    def take(self, *expected: str) -> str:
        """The next token; "" if it is none of those expected, which then stays."""
        if self.left and (not expected or self.left[0] in expected):
            return self.left.pop(0)
        return ""

    def must(self, expected: str) -> None:
        if not self.take(expected):
            self.fail(f"{expected!r} is missing before {' '.join(self.left) or 'the end'!r}")

    def listed(self, one: Callable[[], T], *separators: str) -> tuple[T, ...]:
        found = [one()]
        while self.take(",", *separators):
            found.append(one())
        return tuple(found)

    def clause(self) -> Clause:
        alone = self.take("<=", ">=", "=")
        relation = Relation((), (alone,)) if alone else self.relation()
        return Clause(relation, self.take(*KINDS), self.conditions())

    def conditions(self) -> tuple[Relation, ...]:
        if not self.take("if"):
            return ()
        found = [self.condition()]
        while self.take("and"):
            found.append(self.condition())
        return tuple(found)

    def condition(self) -> Relation:
        negated = bool(self.take("not"))
        return self.relation()._replace(negated=negated)

    def relation(self) -> Relation:
        sides, signs = [self.sum()], []
        while sign := self.take(*SIGNS):
            signs.append(sign)
            sides.append(self.sum())
        return Relation(tuple(sides), tuple(signs))

    def binding(self) -> Binding:
        found = self.relation()
        first = found.sides[0]
        letters = first.items if isinstance(first, TupleOrSet) else (first,)
        names = tuple(each.text for each in letters if isinstance(each, Identifier) and len(each.text) == 1)
        if len(names) == len(letters) and found.signs in ((), ("in",)):
            return Binding(names, found.sides[1] if found.signs else None)
        return Binding((), None, found)

    def sum(self) -> Tree:
        tree = Operation("-", Number(0.0), self.term()) if self.take("-") else self.term()
        while sign := self.take("+", "-"):
            tree = Operation(sign, tree, self.term())
        return tree

    def term(self) -> Tree:
        tree = self.quotient()
        while self.next() == "*" or self._begins():
            self.take("*")
            tree = Operation("*", tree, self.quotient())
        return tree

    def _begins(self) -> bool:
        token = self.next()
        return bool(token) and token not in _WORDS and (token[0].isalnum() or token == "(")

    def quotient(self) -> Tree:
        tree = self.power()
        while self.take("/"):
            if isinstance(tree, Sum) or self.next().startswith("sum_"):
                self.fail("a sum in a fraction needs parentheses")
            tree = Operation("/", tree, self.power())
        return tree

    def power(self) -> Tree:
        tree = self.atom()
        return Operation("^", tree, self.atom()) if self.take("^") else tree

    def atom(self) -> Tree:
        token = self.take()
        if token in ("(", "{"):
            return self._several(token)
        if token[:1].isdigit():
            return Number(float(token))
        if not token[:1].isalpha() or token in _WORDS:
            self.fail(f"{token or 'the end'!r} where a number or symbol is expected")
        if token.startswith("sum_"):
            return Sum(_inner(token[4:]), self.term())
        if not token.endswith("("):
            return _name(token)
        args = self.listed(self.sum)
        self.must(")")
        return _name(token[:-1])._replace(args=args)

    def _several(self, opening: str) -> Tree:
        items: list[Tree] = [self.sum()]
        more = False
        while self.take(","):
            more = bool(self.take("..."))
            if not more:
                items.append(self.sum())
        self.must({"(": ")", "{": "}"}[opening])
        return items[0] if opening == "(" and len(items) == 1 else TupleOrSet(tuple(items), more)


def _inner(text: str) -> tuple[Binding, ...]:
    """What a sum runs over: `m`, or what stands in its braces."""
    return bindings(text[1:-1] if text.startswith("{") else text)[0]


def _name(token: str) -> Identifier:
    head, _, below = token.partition("_")
    base, _, above = head.partition("^")
    if below.startswith("{"):
        reader = _Reader(below[1:-1])
        return Identifier(token, base, above, reader.to_end(reader.listed(reader.sum)))
    index: list[Tree] = [Number(float(each)) if each.isdigit() else Identifier(each, each, "", ()) for each in below]
    return Identifier(token, base, above, tuple(index))
