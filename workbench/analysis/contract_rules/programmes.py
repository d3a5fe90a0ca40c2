"""Where a programme put together as arrays is not the one that its model compiles to."""

from __future__ import annotations

import numpy as np

from workbench.base.errors import NOTHING, Problem
from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers import Programme, Sparse
from workbench.scheduling.solvers.compile import compile_model


def difference(model: pyo.ConcreteModel, assembled: Programme) -> Problem | None:
    """The first difference between a programme and the one that a model compiles to."""
    compiled = compile_model(model)
    stated = compiled.programme
    columns, rows = ([each.name for each in parts] for parts in (compiled.columns, compiled.rows))
    for kind, names, own in (("columns", columns, assembled.columns), ("rows", rows, assembled.rows)):
        here = getattr(stated, kind)
        for name in dict.fromkeys((*here, *own)):
            if name not in own or name not in here or not np.array_equal(here[name], own[name]):
                return Problem(f"{kind} of {name}", own.get(name, NOTHING), f"the model's, {here.get(name, 'none')}")
        at = 0 if kind == "rows" else 1
        if assembled.matrix.shape[at] != len(names):
            return Problem(kind, assembled.matrix.shape[at], f"the model's {len(names)}")
    both = (assembled, stated)
    for part in ("name", "maximise", "offset"):
        if getattr(assembled, part) != getattr(stated, part):
            return Problem(part, getattr(assembled, part), f"the model's, {getattr(stated, part)}")
    for part in ("integer", "cost", "lower", "upper", "row_lower", "row_upper"):
        names = rows if part.startswith("row_") else columns
        nothing = np.zeros(len(names), dtype=bool)
        found, expected = ((nothing if each is None else each).tolist() for each in (getattr(p, part) for p in both))
        for name, value, wanted in zip(names, found, expected, strict=True):
            if value != wanted:
                return Problem(f"{part} of {name}", value, f"the model's, {wanted!r}")
    return _entries_apart(stated.matrix, assembled.matrix, rows, columns)


def _entries_apart(stated: Sparse, assembled: Sparse, rows: list[str], columns: list[str]) -> Problem | None:
    """The first coefficient that differs, column by column."""
    for column, name in enumerate(columns):
        here, own = (
            dict(zip(of.indices[spot].tolist(), of.data[spot].tolist(), strict=True))
            for of in (stated, assembled)
            for spot in [slice(of.indptr[column], of.indptr[column + 1])]
        )
        for row in sorted({*here, *own}):
            if here.get(row) != own.get(row):
                where = f"coefficient of {name} in {rows[row]}"
                return Problem(where, own.get(row, NOTHING), f"the model's, {here.get(row, 'none')!r}")
    return None
