"""The base of every part of a scenario: frozen, no unknown keys, finite numbers, no silent conversions."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class Frozen(BaseModel):
    """An immutable, validated record; two records with equal fields are equal."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


Name = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
Positive = Annotated[float, Field(strict=True, gt=0)]
NonNegative = Annotated[float, Field(strict=True, ge=0)]
Fraction = Annotated[float, Field(strict=True, gt=0, le=1)]
