"""The base of every part of a scenario: frozen, no unknown keys, finite numbers, no silent conversions."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

from workbench.base.errors import UnknownNameError, one_of
from workbench.base.text import MOST_LETTERS, UNSEEN, UNSEEN_IN_PROSE, is_name


class Frozen(BaseModel):
    """An immutable, validated record; two records with equal fields are equal."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __hash__(self) -> int:
        """Equal records have equal ones, also with what is kept by name (`attributes`)."""
        values = (getattr(self, name) for name in type(self).model_fields)
        return hash(tuple(frozenset(each.items()) if isinstance(each, dict) else each for each in values))

    def share_names(self) -> None:
        """Keep the set of the fields that were given once for all records with the same: half of a small one's memory,
        which pydantic takes for each anew."""
        names = self.model_fields_set
        object.__setattr__(self, "__pydantic_fields_set__", _GIVEN.setdefault(frozenset(names), names))

    def __dir__(self) -> list[str]:
        """Its own names, without those of pydantic's base."""
        return [name for name in super().__dir__() if name.startswith("_") or name not in _OF_PYDANTIC]


_OF_PYDANTIC = frozenset(dir(BaseModel))
_GIVEN: dict[frozenset[str], set[str]] = {}


Name = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=MOST_LETTERS, pattern=f"^[^{UNSEEN}]+$")]
"""Text on one line without control and bidirectional characters (`workbench.base.text.UNSEEN`)."""
TextLine = Annotated[str, StringConstraints(strict=True, max_length=10_000, pattern=f"^[^{UNSEEN}]*$")]
Text = Annotated[str, StringConstraints(strict=True, max_length=10_000, pattern=f"^[^{UNSEEN_IN_PROSE}]*$")]
"""The same on any number of lines, with tabs."""
Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
LEAST_WEIGHT, MOST_WEIGHT, MOST_WEIGHT_RATIO = 1e-6, 1e6, 1e6
MOST_S, MOST_RESTART_S, LEAST_MTBF_S = 1e10, 1e6, 1.0
"""Times in a scenario are at most 300 years, and so is the run time of a job: rounds are counted one by one, and a
float's digits run out. A restart takes at most eleven days, and a node works a second on average between failures."""
Seconds = Annotated[float, Field(strict=True, ge=0, le=MOST_S)]
PositiveSeconds = Annotated[float, Field(strict=True, gt=0, le=MOST_S)]
MOST_GPUS = 1_000_000
"""Of a cluster, and so of a job."""
LEAST_SPEED, MOST_SPEED = 1e-12, 1e12
MOST_PRICE, MOST_REWARD = 1e6, 1e6
"""Speeds, prices and rewards are such that every measure is a finite number: a million GPUs for 300 years at the
highest price cost 3e18 USD. No step takes 30,000 years. Rewards go into objectives as weights do."""
LEAST_STEPS, MOST_STEPS = 1e-6, MOST_SPEED * MOST_S
"""Of a job: more than what passes for rounding, 1e-12 of a step, and no more than fit into 300 years at any speed."""
MOST_GPU_S = MOST_GPUS * MOST_S
"""GPU-seconds: a million GPUs for 300 years."""


def _not_too_slow(value: float) -> float:
    if 0 < value < LEAST_SPEED:
        raise ValueError(f"0, or a number >= {LEAST_SPEED:g}")
    return value


Speed = Annotated[
    float,
    Field(
        strict=True, ge=0, le=MOST_SPEED, json_schema_extra={"not": {"exclusiveMinimum": 0, "exclusiveMaximum": 1e-12}}
    ),
    AfterValidator(_not_too_slow),
]
"""Steps/s: 0, or from 1e-12 to 1e12."""
Price = Annotated[float, Field(strict=True, ge=0, le=MOST_PRICE)]
StepsToDo = Annotated[float, Field(strict=True, ge=LEAST_STEPS, le=MOST_STEPS)]
StepsDone = Annotated[float, Field(strict=True, ge=0, le=MOST_STEPS)]
GpuSeconds = Annotated[float, Field(strict=True, ge=0, le=MOST_GPU_S)]
Reward = Annotated[float, Field(strict=True, ge=0, le=MOST_REWARD)]
Gigabytes = Annotated[float, Field(strict=True, ge=0, le=1e6)]
"""Of a model: no GPU holds a petabyte."""
Amount = Annotated[float, Field(strict=True, ge=1e-6, le=1e6)]
"""What multiplies or divides: factors of speeds, memory in GB, Gbit/s, TFLOP/s; from a millionth to a million, so that
no time that is worked out from it is 0 or beyond all clocks."""


def _attribute(value: Any) -> float | str:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        return value
    if isinstance(value, str) and is_name(value):
        return value
    raise ValueError(f"a finite number, or text of 1 to {MOST_LETTERS} characters on one line")


ATTRIBUTE_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_ -]{0,59}$"


class AttributeMap(dict[str, Any]):
    """Attributes by name. One that is not there is told with the names that there are (UnknownNameError, a KeyError).

    As a scheduler sees them (`seen`), it may ask for those alone that it declares, whether they are there or not.
    """

    declared: frozenset[str] | None = None
    part = ""

    def seen(self, part: str, declared: frozenset[str]) -> AttributeMap:
        """Those that are declared; part: `models.`, `nodes.`, or nothing for a job's."""
        found = AttributeMap({name: value for name, value in self.items() if name in declared})
        found.declared, found.part = declared, part
        return found

    def __missing__(self, name: Any) -> Any:
        self._require(name)
        declare = "" if self.declared else f'; a scheduler declares what it reads: uses = {{"attributes.{name}"}}'
        raise UnknownNameError(f"{self.part}attributes", name, f"what is set: {one_of(name, self)}{declare}")

    def __contains__(self, name: Any) -> bool:
        self._require(name)
        return super().__contains__(name)

    def get(self, name: Any, default: Any = None) -> Any:
        self._require(name)
        return super().get(name, default)

    def _require(self, name: Any) -> None:
        if self.declared is not None and name not in self.declared:
            known, how = one_of(name, sorted(self.declared)), f'uses = {{"{self.part}attributes.{name}"}}'
            raise UnknownNameError(
                f"{self.part}attributes", name, f"what the scheduler declares: {known}; to declare it: {how}"
            )


_NO_ATTRIBUTES = AttributeMap()
"""Of all records without attributes: of a hundred thousand jobs 9 MB."""


def _named(attributes: dict[str, Any]) -> dict[str, Any]:
    if not attributes:
        return _NO_ATTRIBUTES
    if all(re.fullmatch(ATTRIBUTE_NAME, name) for name in attributes):
        return AttributeMap(attributes)
    raise ValueError("names of 1 to 60 letters, digits, _, - and spaces, no space and no - in front")


Attributes = Annotated[
    dict[str, Annotated[Any, AfterValidator(_attribute), WithJsonSchema({"type": ["number", "string"]})]],
    AfterValidator(_named),
    Field(validate_default=True, json_schema_extra={"propertyNames": {"pattern": ATTRIBUTE_NAME}}),
]
"""Facts that the core knows nothing of, by name, for schedulers that declare them in `uses`: numbers or texts."""
Probability = Annotated[float, Field(strict=True, ge=0, le=1)]
Fraction = Annotated[float, Field(strict=True, gt=0, le=1)]
Weight = Annotated[float, Field(strict=True, ge=LEAST_WEIGHT, le=MOST_WEIGHT)]
"""A weight. Only ratios count; with larger ones in one scenario a solver takes the small weights for rounding."""
