"""One change at a time, in a statement's line or in the functions that build its model: each has to be told.

Statements: signs, numbers, factors, indices, sets of sums, what a line is for all of, bounds, kinds, the sense. Models:
coefficients, signs, indices, bounds, relations, kinds and rows left out of the model that was built.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from tests.analysis.contract_rules.random_models import Model
from workbench.analysis.contract_rules.proof import compared
from workbench.analysis.contract_rules.symbol_meaning import Meaning
from workbench.scheduling.notation import Equation, equations, tokens


class Mutant(NamedTuple):
    """Where, what is said there instead, and whether that is told."""

    where: str
    change: str
    told: Callable[[], bool]

    def __str__(self) -> str:
        return f"{self.where}: {self.change}"


# ---- statements ----

_TURNED = {"<=": (">=", "="), ">=": ("<=", "="), "=": ("<=", ">="), "<": ("<=", ">"), ">": (">=", "<")}
_TURNED |= {"+": ("-",), "-": ("+",), "/": ("*",), "notin": ("in",), "max": ("min",), "min": ("max",)}
_TURNED |= {"integer": ("",), "free": (">= 0",), "binary": ("free",), "not": ("",)}


def of_line(line: Equation, letters: frozenset[str], symbols: frozenset[str]) -> Iterator[Equation]:
    """The line with one change each. letters, symbols: what could be written there instead."""
    if line.sense:
        yield line._replace(sense=_TURNED[line.sense][0])
    for text in _changed(line.formula, letters, symbols, False):
        yield line._replace(formula=text)
    for text in _changed(line.forall, letters, symbols, True):
        yield line._replace(forall=text)


def _changed(text: str, letters: frozenset[str], symbols: frozenset[str], binds: bool) -> Iterator[str]:
    words = tokens(text)
    for place, word in enumerate(words):
        for other in _instead(word, letters, symbols, binds):
            yield " ".join([*words[:place], other, *words[place + 1 :]]).strip()
    for place, word in enumerate(words):  # a condition, or a set that letters are taken from, left out
        if word == "if" or (word == "in" and binds):
            rest = next((n for n in range(place, len(words)) if words[n] == ","), len(words))
            yield " ".join([*words[:place], *words[rest:]])


def _instead(word: str, letters: frozenset[str], symbols: frozenset[str], binds: bool) -> Iterator[str]:
    if word in _TURNED:
        yield from _TURNED[word]
    elif word.isdigit():
        yield str(int(word) + 1)
    elif word.startswith("sum_{"):
        inner = word[5:-1]
        changed = [each for each in _changed(inner, letters, symbols, True) if len(each) > 1]
        yield from (f"sum_{{{each}}}" for each in changed)
        [first, *_] = re.findall(r"[a-z]", inner)
        yield f"sum_{first}"
    elif word[0].isalpha() and "_" in word and not word.startswith("sum_"):
        head, below = word.split("_", 1)
        yield from (f"{head}_{each}" for each in _indices(below, letters))
        yield from (f"{other}_{below}" for other in symbols if other != head)
        if not binds:
            yield "1"
    elif word in letters and len(word) == 1:
        yield from (other for other in letters if other != word)


def _indices(below: str, letters: frozenset[str]) -> Iterator[str]:
    """Indices with one exchanged for another letter, or for the next one."""
    if below.startswith("{"):
        yield from (f"{{{below[1:-1].replace('-', '+', 1)}}}", f"{{{below[1:-1].replace('+', '-', 1)}}}")
        return
    for place, letter in enumerate(below):
        for other in letters - {letter}:
            yield below[:place] + other + below[place + 1 :]
        if letter.isalpha():
            index = [*below]
            index[place] = f"{letter}+1"
            yield f"{{{','.join(index)}}}"


def statement_mutants(models: list[Model]) -> Iterator[Mutant]:
    """Every change of every line of the statements of some models, told if it is by one of them."""
    stated: dict[str, list[Model]] = {}
    for each in models:
        stated.setdefault(_of(each.statement), []).append(each)
    for module, held in stated.items():
        meanings = [Meaning(each.model, each.knobs, each.number) for each in held]
        lines = equations(held[0].statement)
        letters = frozenset(itertools.chain(*(re.findall(r"\b[a-z]\b", line.forall) for line in lines)))
        for line in lines:
            heads = frozenset(word.split("_")[0] for word in _symbols(line.formula))
            for other in dict.fromkeys(of_line(line, letters, heads)):
                if other != line and " ".join(tokens(other.formula)) + other.forall + other.sense != _plain(line):
                    text = f"{other.sense} {other.formula}  for all {other.forall}".strip()
                    yield Mutant(f"{module}, {line.part}", text, _told_by(other, meanings))


def _of(statement: Any) -> str:
    return str(
        getattr(statement, "NAME", None) or getattr(statement, "name", None) or statement.__name__.split(".")[-1]
    )


def _plain(line: Equation) -> str:
    return " ".join(tokens(line.formula)) + line.forall + line.sense


def _symbols(text: str) -> list[str]:
    return [word for word in tokens(text) if "_" in word and word[0].isalpha() and not word.startswith("sum_")]


def _told_by(line: Equation, meanings: list[Meaning]) -> Callable[[], bool]:
    return lambda: any(next(compared(line, meaning), None) is not None for meaning in meanings)


# ---- models ----


def model_mutants(models: list[Model]) -> Iterator[Mutant]:
    """Changes of the first and last row, variable and objective of every part of a model for each statement."""
    for each in {_of(each.statement): each for each in models}.values():
        meaning = Meaning(each.model, each.knobs, each.number)
        every = each.model.component_data_objects(pyo.Var)
        variables = [one for one in every if one.lb is None or one.lb != one.ub]
        for line in equations(each.statement):
            part = each.model.component(line.part)
            keys = [] if part is None else list(part.keys())  # limits of another form of Hops's
            for key in dict.fromkeys([*keys[:1], *keys[-1:]]):
                for change, do, undo in _changes(part[key], variables):
                    yield Mutant(
                        f"{_of(each.statement)}, {part[key].name}", change, _told_with(line, meaning, do, undo)
                    )


def _changes(data: Any, variables: list[Any]) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """What is changed, how, and how it is as before."""
    if isinstance(data, pyo.Var().ctype._ComponentDataClass):
        low, high, domain = data.lb, data.ub, data.domain
        yield "lower bound", lambda: data.setlb((low or 0) + 0.25), lambda: data.setlb(low)
        yield "upper bound", lambda: data.setub(0.75 * high if high else 0.25), lambda: data.setub(high)
        other = pyo.Integers if data.is_continuous() else pyo.Reals
        yield "kind", lambda: _domain(data, other, low, high), lambda: _domain(data, domain, low, high)
        return
    expression = data.expr
    if isinstance(data, pyo.Expression().ctype._ComponentDataClass):
        yield "coefficient", lambda: data.set_value(expression + variables[0]), lambda: data.set_value(expression)
        return
    if hasattr(data, "sense"):
        sense = data.sense
        yield "sense", lambda: data.set_sense(-sense), lambda: data.set_sense(sense)
        yield "coefficient", lambda: data.set_value(expression + variables[0]), lambda: data.set_value(expression)
        return
    low, body, high = data.to_bounded_expression(evaluate_bounds=True)
    found = generate_standard_repn(body)
    free, used = {id(each) for each in variables}, {id(each) for each in found.linear_vars}
    pairs = zip(found.linear_vars, found.linear_coefs, strict=True)
    first, by = next(((each, by) for each, by in pairs if id(each) in free), (None, 0.0))
    other = next((each for each in variables if id(each) not in used), None)
    if first is None:
        return  # nothing in it can move
    if other is None:
        other = 0.0
    for change, row in (
        ("sign", (low, body - 2 * by * first, high)),
        ("coefficient", (low, body + first, high)),
        ("index", (low, body - by * first + by * other, high)),
        ("bound", (None if low is None else low + 1, body, None if high is None else high + 1)),
        ("relation", (high, body, low) if low != high else (low, body, None)),
    ):
        yield change, lambda row=row: data.set_value(row), lambda: data.set_value(expression)
    yield "quantifier", data.deactivate, data.activate


def _domain(variable: Any, domain: Any, low: Any, high: Any) -> None:
    variable.domain = domain
    variable.setlb(low)
    variable.setub(high)


def _told_with(line: Equation, meaning: Meaning, do: Callable[[], Any], undo: Callable[[], Any]) -> Callable[[], bool]:
    def told() -> bool:
        do()
        try:
            return next(compared(line, Meaning(meaning.model, meaning.knobs, 1)), None) is not None
        finally:
            undo()

    return told
