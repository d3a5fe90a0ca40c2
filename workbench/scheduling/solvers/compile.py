"""Pyomo model -> programme -> values of the model's variables.

Pyomo's own compiler to a matrix (`LinearStandardFormCompiler`) loads all of scipy, which takes longer than most solves.
"""

from __future__ import annotations

import gc
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, compress, count, repeat
from typing import Any

import numpy as np
from pyomo.common.errors import InvalidConstraintError
from pyomo.network import Port
from pyomo.repn.util import categorize_valid_components

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers.errors import InfeasibleError, SolverFailedError
from workbench.scheduling.solvers.programme import Columns, Point, Positions, Programme
from workbench.scheduling.solvers.solve_report import PROVEN
from workbench.scheduling.solvers.sums import (
    EXPECTED,
    VALUES,
    LinearRow,
    LinearSum,
    Reader,
    linear,
    of_relation,
    revised,
)

KNOWN = {
    *(pyo.Block, pyo.Constraint, pyo.Objective, pyo.Var, pyo.Param, pyo.Expression, pyo.Set, pyo.RangeSet),
    *(pyo.Suffix, pyo.ExternalFunction, pyo.BuildAction, pyo.BuildCheck, Port),
}
ORDER = pyo.SortComponents.deterministic


@dataclass(frozen=True, eq=False)
class Compiled:
    """A programme, the variable of each column, the constraint of each row, and the objective, if there is one.

    For other numbers of the same model (`again`), or one with parts of it: found: each row with its sum; position: of
    the columns, by the `id` of their variables; reader: what found the sums.
    """

    programme: Programme
    columns: list[Any]
    objective: Any | None
    found: list[LinearRow]
    position: Mapping[int, int]
    reader: Reader

    @cached_property
    def rows(self) -> list[Any]:
        """The constraint of each row."""
        return [row.constraint for row in self.found]


_PAUSED = threading.Lock()


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Without Python's search for garbage, which looks at every object of a large model again and again as it grows.

    Pyomo's own `PauseGC` fails where two threads build models at a time; of these, only the first one counts.
    """
    first = _PAUSED.acquire(blocking=False)
    pauses = first and gc.isenabled()
    if pauses:
        gc.disable()
    try:
        yield
    finally:
        if pauses:
            gc.enable()
        if first:
            _PAUSED.release()


def built(
    build: Callable[[], pyo.ConcreteModel], start: bool = False, last: Compiled | None = None
) -> tuple[pyo.ConcreteModel, Compiled]:
    """A model as `build` makes it, and what it compiles to, see `compile_model`."""
    with _nothing_collected():
        model = build()
        return model, compile_model(model, start, last)


def again(change: Callable[[], object], model: pyo.ConcreteModel, compiled: Compiled) -> Compiled:
    """What a model compiles to when `change` has given it other numbers: only rows that are new are looked through.

    A parameter that changes may stand in the limits of the rows that stay; those in whose sum it stands are to be made
    anew (`restating.renewed`). Variables, objective and named expressions stay as they are.
    """
    with _nothing_collected():
        change()
        listed = _listed(model)
        parts = _parts(listed, pyo.Constraint)
        found = _constraints(model, listed, parts, compiled.reader, compiled.found, limits=True)
        before, position = compiled.programme, compiled.position
        entries = _entries((row.sum for row in found), position)
        if entries is None or not (entries.used(len(position)) | (before.cost != 0)).all():
            return compile_model(model)  # other columns
        programme = replace(before, **_rows(parts, found, entries, len(position)))
        return replace(compiled, programme=programme, found=found)


def compile_model(model: pyo.ConcreteModel, start: bool = False, last: Compiled | None = None) -> Compiled:
    """The programme of a linear model: one row per active constraint that mentions a variable that is not fixed.

    Columns are the variables with a coefficient other than 0, in the order in which the model declares them. last: what
    a model compiled to whose variables, rows, terms and named expressions, some of them, are in this one, unchanged.
    Raises InfeasibleError for a constraint of constants that does not hold, SolverFailedError for what is not linear,
    and InputError for what is no model.
    """
    if not isinstance(model, pyo.ConcreteModel):
        raise InputError("model", model, "a pyomo ConcreteModel, as `build` returns")
    try:
        listed = _listed(model)
        objective = _objective(model, listed)
        reader = Reader(None if last is None else last.reader)
        value = LinearSum({}, 0.0) if objective is None else linear(model, objective, objective.expr, reader)
        parts = _parts(listed, pyo.Constraint)
        found = _constraints(model, listed, parts, reader, [] if last is None else last.found)
        reader.before = {}
    except (InvalidConstraintError, ValueError) as error:
        text = " ".join(str(error).split())
        is_value = "non-finite" in text or "value is currently" in text
        raise SolverFailedError(model.name, text, VALUES if is_value else EXPECTED) from error
    variables = _parts(listed, pyo.Var)
    every = list(chain.from_iterable(variables.values()))
    position, sums = _numbered(every), (value, *(row.sum for row in found))
    entries = _entries(sums, position)
    if entries is None:  # some variable of a deactivated or foreign block
        if last is not None:
            return compile_model(model, start)  # which meets them all
        every += [variable for at, variable in reader.variables.items() if at not in position]
        position = _numbered(every)
        entries = _entries(sums, position)
        assert entries is not None
    used, columns = entries.used(len(every)), every
    if not used.all():
        columns = list(compress(every, used.tolist()))
        position = _numbered(columns)
        entries = replace(entries, column=(np.cumsum(used) - 1)[entries.column])
    cost, entries = entries.first(len(columns))
    values = [variable.value for variable in columns] if start else []
    programme = Programme(
        cost=cost,
        maximise=objective is not None and objective.sense == pyo.maximize,
        offset=value.constant,
        start=_limits(values, math.nan) if start else None,
        name=model.name,
        columns=_positions(variables, used),
        made_by="model",
        **_domains(columns, position, last),
        **_rows(parts, found, entries, len(columns)),
    )
    return Compiled(programme, columns, objective, found, position, reader)


def _domains(columns: list[Any], position: Mapping[int, int], last: Compiled | None) -> dict[str, Any]:
    """What a programme says of its columns, at these positions; those of the programme before are looked up."""
    before = {} if last is None else last.position
    at = np.fromiter(map(before.get, position, repeat(-1)), dtype=np.int64, count=len(columns))
    new = np.flatnonzero(at < 0)
    came = [columns[i] for i in new.tolist()]
    bounds = [variable.bounds for variable in came]
    found = {
        "lower": _limits([low for low, _ in bounds], -math.inf),
        "upper": _limits([high for _, high in bounds], math.inf),
        "integer": np.array([not variable.is_continuous() for variable in came], dtype=bool),
    }
    if last is None or len(came) == len(columns):
        return found
    old: dict[str, Any] = {name: getattr(last.programme, name)[at] for name in found}
    for name, values in found.items():
        old[name][new] = values
    return old


@dataclass(frozen=True, eq=False)
class _Entries:
    """The coefficients of rows, row by row: how many each has, and of each its column and its value."""

    sizes: IntArray
    column: IntArray
    value: FloatArray

    def used(self, columns: int) -> BoolArray:
        """(columns,) whether some row has each."""
        found: BoolArray = np.bincount(self.column, minlength=columns) > 0
        return found

    def first(self, columns: int) -> tuple[FloatArray, _Entries]:
        """The first row, (columns,), and the others."""
        size, dense = self.sizes[0], np.zeros(columns)
        dense[self.column[:size]] = self.value[:size]
        return dense, _Entries(self.sizes[1:], self.column[size:], self.value[size:])


def _entries(sums: Iterable[LinearSum], numbered: Mapping[int, int]) -> _Entries | None:
    """A row for each sum; numbered: the columns, by the `id` of their variables; None where there is one of another."""
    terms = [each.terms for each in sums]
    sizes = np.fromiter(map(len, terms), dtype=np.int64, count=len(terms))
    count = int(sizes.sum())
    try:
        column = np.fromiter(map(numbered.__getitem__, chain.from_iterable(terms)), dtype=np.int64, count=count)
    except KeyError:
        return None
    return _Entries(sizes, column, np.fromiter(chain.from_iterable(map(dict.values, terms)), dtype=float, count=count))


def _rows(parts: Mapping[str, list[Any]], found: list[LinearRow], entries: _Entries, columns: int) -> dict[str, Any]:
    """What a programme says of its rows; parts: all constraints of the model."""
    return {
        "matrix": Columns.by_rows(entries.sizes, entries.column, entries.value, columns),
        "row_lower": _limits([row.low for row in found], -math.inf),
        "row_upper": _limits([row.high for row in found], math.inf),
        "rows": _positions(parts, _are_rows(parts, found)),
    }


def values_of(model: pyo.ConcreteModel) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """{variable: the values of a solved model in the order of its index}, as `Programme.values` has them."""
    parts = _parts(_listed(model), pyo.Var).items()
    return {name: np.array([each.value for each in part], dtype=float) for name, part in parts}


_Listed = Mapping[Any, list[Any]]
"""The components of each kind, those out of action too, in the order in which they are declared."""


def _listed(model: pyo.ConcreteModel) -> _Listed:
    """By one walk in the place of one for each kind. Raises SolverFailedError for what is no part of a programme."""
    found: dict[Any, list[Any]] = {}
    flat = pyo.Block not in model._ctypes  # which most are; the walk takes longer than all else here
    for block in (model,) if flat else model.block_data_objects(sort=ORDER):
        for part in block.component_map().values():
            found.setdefault(part.ctype, []).append(part)
    if not found.keys() <= KNOWN:
        _check_components(model)
    return found


def _active(listed: _Listed, kind: Any) -> list[Any]:
    """The components of a kind that are in action, as is every block that they are in."""

    def acts(part: Any) -> bool:
        return part is None or (part.active and acts(part.parent_block()))

    return [part for part in listed.get(kind, ()) if acts(part)]


def _parts(listed: _Listed, kind: Any) -> dict[str, list[Any]]:
    """What is in each part of a kind, in the order of its index."""
    return {part.name: members(part) for part in listed.get(kind, ())}


def members(part: Any) -> list[Any]:
    """`part.values(ORDER)` in half the time: Pyomo's own asks for each member by a function of Python."""
    try:
        return list(map(part._data.__getitem__, part.keys(ORDER)))
    except KeyError:  # one that Pyomo makes when it is asked for
        return list(part.values(ORDER))


def _numbered(found: Iterable[Any]) -> dict[int, int]:
    """Their numbers, by their `id`."""
    return dict(zip(map(id, found), count(), strict=False))


def _positions(parts: Mapping[str, list[Any]], used: BoolArray) -> Positions:
    """Where what is in parts is among that of it which is used, -1 if it is not; used: part after part."""
    place, start, found = np.where(used, np.cumsum(used) - 1, -1), 0, {}
    for name, part in parts.items():
        found[name] = place[start : start + len(part)]
        start += len(part)
    return found


def _are_rows(parts: Mapping[str, list[Any]], found: list[LinearRow]) -> BoolArray:
    """Which constraints of a model are among the rows found, which are in the same order."""
    count = sum(map(len, parts.values()))
    if count == len(found):
        return np.ones(count, dtype=bool)
    rows = {id(row.constraint) for row in found}
    return np.fromiter((id(each) in rows for each in chain.from_iterable(parts.values())), dtype=bool, count=count)


def load_point(model: pyo.ConcreteModel, compiled: Compiled, point: Point) -> None:
    """Put a solution into the model's variables, and the duals into its suffix `dual` if it has one."""
    values, whole = point.values, compiled.programme.integer
    if whole is not None:
        values = np.where(whole, np.round(values), values)
    for column, value in zip(compiled.columns, values.tolist(), strict=True):
        column.set_value(value, skip_validation=True)
        column.stale = False
    for variable in model.component_data_objects(pyo.Var, active=True):
        if variable.value is None:
            low, high = variable.bounds
            nearest = max(-math.inf if low is None else low, min(0.0, math.inf if high is None else high))
            variable.set_value(nearest, skip_validation=True)
    suffix = model.component("dual")
    if point.duals is not None and isinstance(suffix, pyo.Suffix) and suffix.import_enabled():
        suffix.clear()
        suffix.update(zip(compiled.rows, point.duals.tolist(), strict=True))


def _check_components(model: pyo.ConcreteModel) -> None:
    _, unknown = categorize_valid_components(model, active=True, sort=ORDER, valid=KNOWN)
    if unknown:
        names = ", ".join(part.name for parts in unknown.values() for part in parts)
        raise SolverFailedError(model.name, f"parts that are no linear constraints: {names}", EXPECTED)


def _objective(model: pyo.ConcreteModel, listed: _Listed) -> Any | None:
    objectives = [each for part in _active(listed, pyo.Objective) for each in members(part) if each.active]
    if len(objectives) > 1:
        names = ", ".join(objective.name for objective in objectives)
        raise SolverFailedError(model.name, f"several objectives: {names}", "one active objective")
    return objectives[0] if objectives else None


def _constraints(
    model: pyo.ConcreteModel,
    listed: _Listed,
    parts: Mapping[str, list[Any]],
    reader: Reader,
    last: list[LinearRow],
    limits: bool = False,
) -> list[LinearRow]:
    """Each constraint that has a limit; parts: all of the model; last: rows found before, some of which, or of whose
    terms, may be here; limits: whether the limits of those may be others."""
    rows: list[LinearRow] = []
    before = {id(row.constraint): row for row in last}
    members_of = [parts[part.name] for part in _active(listed, pyo.Constraint)]
    for constraint in chain.from_iterable(members_of):
        if not constraint.active:
            continue
        row, relation, known = before.get(id(constraint)), constraint.expr, None
        if row is not None:
            same = row[1] is relation
            if same and not limits:
                rows.append(row)
                continue
            known = row.sum if same else revised(row, relation, reader)
        low, high, part = of_relation(relation, reader, known)
        if part is None:
            low, body, high = constraint.to_bounded_expression(evaluate_bounds=True)
            if low is None and high is None:
                continue
            part = known or linear(model, constraint, body, reader)
        low = None if low is None else low - part.constant
        high = None if high is None else high - part.constant
        if part.terms:
            rows.append(LinearRow(constraint, relation, part, low, high))
            continue
        slack = PROVEN * max(1.0, abs(part.constant))
        if not ((low is None or low <= slack) and (high is None or high >= -slack)):
            raise InfeasibleError(model.name, f"constraint {constraint.name} holds no free variable and does not hold")
    return rows


def _limits(values: list[float | None], absent: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([absent if value is None else value for value in values], dtype=float)
