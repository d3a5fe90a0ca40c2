"""The numbers of a built model: which entries of its parameters a row is made of, and another in the place of one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from workbench.base.errors import InputError, Words
from workbench.scheduling.model_notes import notes
from workbench.scheduling.modelling import pyo, renumber
from workbench.scheduling.notation import meaning, symbol_lines
from workbench.scheduling.solvers import Programme
from workbench.scheduling.solvers.compile import compile_model


class ModelNumber(NamedTuple):
    """An entry of a parameter, and what the parameter means."""

    value: Any
    says: str


def number_of(model: Any, part: str, index: Any) -> ModelNumber:
    """The entry of a parameter at an index, None for one without indices."""
    found = model.component(part)
    fields = next(iter(symbol_lines(found)), [])
    return ModelNumber(pyo.value(found[index]), fields[1] if len(fields) > 1 else meaning(found))


def set_number(parameter: pyo.Param, index: Any, number: Any) -> None:
    """Give a parameter of a built model another number at an index, None for one without indices: bounds, expressions,
    objective and rows are made anew by their rules, all else stays as it is (what was worked out from the number before
    the model was built, too).

    For the function of `workbench.formulation`, before it changes rows. Raises InputError for what is no parameter or
    index of it, for what is no number, and where rows were changed by hand before, which would be lost.
    """
    if not isinstance(parameter, pyo.Param):
        raise InputError("parameter", parameter, "a parameter of the model, such as m.weight")
    model: Any = parameter.model()
    where = f"formulation {model.name}, {parameter.local_name}"
    if index not in parameter:
        raise InputError(where, index, an_index_of(parameter))
    value = pyo.value(number, exception=False)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(where, number, "a number")
    before = compile_model(model).programme
    _make_anew(model)
    if not _alike(before, compile_model(model).programme):
        got = Words("a number changed after rows or bounds were")
        raise InputError(where, got, "numbers first: rows are made anew with them, and would lose what was changed")
    whole = isinstance(pyo.value(parameter[index]), int) and value == int(value)  # a rule may count by it
    new = int(value) if whole else float(value)
    if parameter.mutable:
        parameter[index] = new
    elif parameter.is_indexed():
        renumber(parameter, {**dict(parameter.items()), index: new})
    else:
        parameter._value = new  # there is no public way, as for `modelling.parameter`
    try:
        _make_anew(model)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise InputError(where, number, f"one that the rules of the model can work with ({error})") from error
    noted = notes(model)
    noted.other_numbers, noted.stated = True, objective_terms(model)


def an_index_of(part: Any) -> str:
    """What is expected where a part has no such index."""
    known = f"one of the {len(part):,} indices of {part.local_name}, such as {next(iter(part), None)!r}"
    return f"{known}; a job that has finished is in no model (`if job in m.JOBS`, or a rule over m.JOBS)"


def _make_anew(model: pyo.ConcreteModel) -> None:
    """Bounds, expressions, objective and rows by their rules, with the numbers that parameters have now."""
    for part in model.component_objects(pyo.Var, descend_into=False):
        for index in part if part._rule_bounds is not None else ():
            part[index].lower, part[index].upper = part._rule_bounds(model, index)
    for part in model.component_objects((pyo.Expression, pyo.Objective, pyo.Constraint), descend_into=False):
        if part.active:
            part.clear()
            part._constructed = False  # as Pyomo (6.10) says of `reconstruct`, which it no longer has
            part.construct()


def _alike(one: Programme, other: Programme) -> bool:
    """Whether two programmes have the same rows, columns and numbers."""
    pairs = [
        (getattr(one, name), getattr(other, name)) for name in ("cost", "lower", "upper", "row_lower", "row_upper")
    ]
    pairs += [(getattr(one.matrix, name), getattr(other.matrix, name)) for name in ("indptr", "indices", "data")]
    return one.maximise == other.maximise and all(np.array_equal(*pair) for pair in pairs)


def objective_terms(model: pyo.ConcreteModel) -> tuple[tuple[Any, Any, Any], ...]:
    """The active objectives, what they are of, and their senses."""
    return tuple((each, each.expr, each.sense) for each in objectives(model))


def objectives(model: pyo.ConcreteModel) -> list[Any]:
    """Those that are active."""
    return list(model.component_data_objects(pyo.Objective, active=True))


def note_numbers(model: Any, owner: Any, seen: dict[tuple[str, Any], None]) -> None:
    """Note the entries that the rule of a row, bound, objective or expression reads, and of the expressions in it."""
    part = owner.parent_component()
    rule = part._rule_bounds if isinstance(part, pyo.Var) else part._rule
    if rule is None:
        return
    rule(_Watched(model, seen), owner.index())
    if not isinstance(part, pyo.Var):
        for each in _named(owner.expr):
            note_numbers(model, each, seen)


def _named(expression: Any) -> Iterator[Any]:
    """The named expressions in an expression, not those within them."""
    left = [expression]
    while left:
        here = left.pop()
        if hasattr(here, "is_named_expression_type") and here.is_named_expression_type():
            yield here
        elif hasattr(here, "is_expression_type") and here.is_expression_type():
            left += here.args


class _Watched:
    """A model that notes which entries of its parameters are read."""

    def __init__(self, model: Any, seen: dict[tuple[str, Any], None]) -> None:
        self._model, self._seen = model, seen

    def __getattr__(self, name: str) -> Any:
        part = getattr(self._model, name)
        if not isinstance(part, pyo.Param):
            return part
        if part.is_indexed():
            return _WatchedNumbers(part, self._seen)
        self._seen[name, None] = None
        return part


class _WatchedNumbers:
    """An indexed parameter of such a model."""

    def __init__(self, part: Any, seen: dict[tuple[str, Any], None]) -> None:
        self._part, self._seen = part, seen

    def __getitem__(self, index: Any) -> Any:
        self._seen[self._part.local_name, index] = None
        return self._part[index]

    def __contains__(self, index: Any) -> bool:
        return index in self._part

    def __iter__(self) -> Iterator[Any]:
        return iter(self._part)

    def __len__(self) -> int:
        return len(self._part)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)
