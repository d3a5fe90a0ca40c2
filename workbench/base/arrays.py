"""Arrays of numbers as a formulation's data holds them: of the shape that was promised, and read-only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.errors import InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Array = TypeVar("Array", bound=npt.NDArray[Any])


def fixed(array: Array) -> Array:
    """The same array, from now on read-only."""
    array.setflags(write=False)
    return array


def by_name(names: Sequence[str], values: npt.NDArray[Any]) -> dict[str, Any]:
    """{name: value}, in the order of the names."""
    return dict(zip(names, values.tolist(), strict=True))


def shaped(values: npt.ArrayLike, shape: tuple[int, ...], where: str) -> FloatArray:
    """A copy of some numbers as an array of that shape; one without numbers may be written in any shape.

    Raises InputError at `where` for another shape.
    """
    array = np.array(values, dtype=float)
    if array.size == 0 and 0 in shape:
        array = array.reshape(shape)
    if array.shape != shape:
        raise InputError(where, array.shape, f"an array of shape {shape}")
    return array
