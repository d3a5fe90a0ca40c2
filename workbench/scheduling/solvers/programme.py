"""A programme as numbers: its matrix, its limits, a solution of it. Without scipy, which takes a second to load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.scheduling.solvers.solve_report import MadeBy, SolveReport

Positions = Mapping[str, IntArray]
"""Of each part of a model by name, in the order of its index: its columns or rows in the programme, -1 for none."""


class Sparse(Protocol):
    """A sparse matrix stored by columns: `Columns`, or scipy's `csc_array`.

    The entries of column j are number indptr[j] to indptr[j + 1] of `indices` (their rows) and `data` (their values).
    """

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def indptr(self) -> npt.NDArray[Any]: ...

    @property
    def indices(self) -> npt.NDArray[Any]: ...

    @property
    def data(self) -> npt.NDArray[Any]: ...


@dataclass(frozen=True, eq=False)
class Columns:
    """A sparse matrix stored by columns, see `Sparse`."""

    shape: tuple[int, int]
    indptr: npt.NDArray[np.int32]
    indices: npt.NDArray[np.int32]
    data: FloatArray

    @classmethod
    def of(cls, row: npt.ArrayLike, column: npt.ArrayLike, value: npt.ArrayLike, shape: tuple[int, int]) -> Columns:
        """The (rows x columns) matrix with these entries, in any order; entries of one place add up."""
        rows, columns = shape
        row, column = np.asarray(row, dtype=np.int64), np.asarray(column, dtype=np.int64)
        if len(row) and not (row.min() >= 0 and row.max() < rows and column.min() >= 0 and column.max() < columns):
            raise ValueError(f"entries outside a matrix of shape {shape}")
        place = column * rows + row
        order = np.argsort(place, kind="stable")
        place, data = place[order], np.asarray(value, dtype=float)[order]
        again = place[1:] == place[:-1]
        if again.any():
            fresh = np.append(True, ~again)
            order, data = order[fresh], np.bincount(np.cumsum(fresh) - 1, data).astype(float)
        indptr = np.zeros(columns + 1, dtype=np.int32)
        np.cumsum(np.bincount(column[order], minlength=columns), out=indptr[1:])
        return cls(shape, indptr, row[order].astype(np.int32), data)

    @classmethod
    def by_rows(cls, sizes: IntArray, column: IntArray, value: FloatArray, columns: int) -> Columns:
        """The same of entries row by row, each place once; sizes: how many there are in each row."""
        order = np.argsort(column, kind="stable")
        row = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[order]
        indptr = np.zeros(columns + 1, dtype=np.int32)
        np.cumsum(np.bincount(column, minlength=columns), out=indptr[1:])
        return cls((len(sizes), columns), indptr, row, value[order])


@dataclass(frozen=True, eq=False)
class Programme:
    """A linear or mixed-integer programme: the best `cost . x + offset` for the x within its limits.

    Limits: row_lower <= matrix x <= row_upper and lower <= x <= upper, infinite ones `inf`. matrix: (rows x columns)
    sparse; integer: (columns,) bool or None; start: (columns,) values to begin from, NaN where there is none; columns,
    rows: where the model's variables and constraints are, if it states a model; made_by: how it came about, which is
    the report's word too.
    """

    cost: FloatArray
    matrix: Sparse
    row_lower: FloatArray
    row_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray | None = None
    maximise: bool = False
    offset: float = 0.0
    start: FloatArray | None = None
    name: str = "programme"
    columns: Positions = field(default_factory=dict)
    rows: Positions = field(default_factory=dict)
    made_by: MadeBy = "assembly"

    def values(self, point: Point) -> dict[str, FloatArray]:
        """{variable: its values in the order of its index}; 0 for what has no column."""
        padded = np.append(point.values, 0.0)
        return {name: padded[at] for name, at in self.columns.items()}

    def only(self, columns: IntArray) -> Programme:
        """The programme of some of its columns, without their names; the others are 0."""
        matrix = self.matrix
        size = np.diff(matrix.indptr)[columns]
        start = np.concatenate([[0], np.cumsum(size)])
        entry = np.repeat(matrix.indptr[columns] - start[:-1], size) + np.arange(start[-1])
        shape = (matrix.shape[0], len(columns))
        return replace(
            self,
            cost=self.cost[columns],
            matrix=Columns(shape, start.astype(np.int32), matrix.indices[entry], matrix.data[entry]),
            lower=self.lower[columns],
            upper=self.upper[columns],
            integer=None if self.integer is None else self.integer[columns],
            start=None if self.start is None else self.start[columns],
            columns={},
            rows={},
        )

    @property
    def mixed(self) -> bool:
        """Whether some column must be whole."""
        return self.integer is not None and bool(self.integer.any())


@dataclass(frozen=True, eq=False)
class Point:
    """A solution of a programme: values; duals of rows and reduced costs (None with integers); the report.

    A dual is the change of the objective per unit of the row's right-hand side.
    """

    values: FloatArray
    duals: FloatArray | None
    reduced: FloatArray | None
    solved: SolveReport
