"""A knob: one parameter of a formulation or scheduler, declared once, used by panels, command line and docs."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from workbench.base.card import card
from workbench.base.errors import NOTHING, InputError, Words, one_of, require_fields
from workbench.base.labels import label_of, with_unit
from workbench.base.rounding import short_number
from workbench.base.text import is_seen
from workbench.base.units import format_duration, parse_duration

Value = bool | int | float | str | None

WORDS: Mapping[str, Value] = {"none": None, "not set": None, "null": None, "inf": math.inf}
TRUTHS: Mapping[str, Value] = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
"""What may be typed for true and false."""

TAKEN = (
    *("scenario", "scheduler", "given", "seed", "until_s", "window", "observers", "belief", "detail"),
    *("charge_decisions", "knobs"),
)
"""Arguments of `simulate`, where knobs are given by name too: no scheduler or formulation has a knob of such a name.
Written again, as `simulate` is of a later room, which this one may not import; a test holds the two together."""


@dataclass(frozen=True, slots=True, repr=False)
class Knob:
    """One declared parameter.

    kind: by default bool or str if the default is one, else float; choices: the values allowed; minimum, maximum:
    inclusive range of a number (`math.inf` allowed as a value where the maximum is infinite); unit: as shown to people,
    with `s` a duration such as `2 h 30 min` may be typed; source: the `paper`, the authors' `code`, or `ours`; main:
    always in sight in a lab; optional: None is a value; usual: what a lab's slider offers of a number, first, last and
    step.
    """

    name: str
    default: Value
    help: str
    unit: str = ""
    source: Literal["paper", "code", "ours"] = "ours"
    choices: tuple[Value, ...] | None = None
    minimum: float = -math.inf
    maximum: float = math.inf
    kind: Literal["bool", "int", "float", "str", ""] = ""
    optional: bool = False
    main: bool = False
    usual: tuple[float, float, float] | None = None

    def __new__(cls, *given: Any, **by_name: Any) -> Self:
        require_fields("knob", cls, given, by_name)
        return object.__new__(cls)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise InputError("knob", self.name, "a name of letters, digits and _")
        if self.kind == "":
            of = type(self.default).__name__
            object.__setattr__(self, "kind", of if of in ("bool", "str") else "float")
        if self.kind not in ("bool", "int", "float", "str"):
            raise InputError(f"knob {self.name}, kind", self.kind, "bool, int, float or str")
        for part, needed in (("help", str), ("unit", str), ("optional", bool), ("main", bool)):
            if not isinstance(getattr(self, part), needed):
                expected = "text" if needed is str else "True or False"
                raise InputError(f"knob {self.name}, {part}", getattr(self, part), expected)
        if not self.help:
            raise InputError(f"knob {self.name}, help", NOTHING, "a sentence on what it does")
        if self.source not in ("paper", "code", "ours"):
            raise InputError(f"knob {self.name}, source", self.source, "paper, code or ours")
        for part in ("minimum", "maximum"):
            if not _has_kind(getattr(self, part), "float"):
                raise InputError(f"knob {self.name}, {part}", getattr(self, part), "a number")
        if self.minimum > self.maximum:
            raise InputError(f"knob {self.name}, maximum", self.maximum, f"no less than the minimum, {self.minimum}")
        if self.choices is not None and not (isinstance(self.choices, tuple) and self.choices):
            raise InputError(f"knob {self.name}, choices", self.choices, 'a tuple of values: ("a", "b")')
        usual: Any = () if self.usual is None else self.usual
        if self.usual is not None and not (
            isinstance(usual, tuple) and len(usual) == 3 and all(_has_kind(each, "float") for each in usual)
        ):
            raise InputError(f"knob {self.name}, usual", usual, "a tuple of three numbers: (first, last, step)")
        try:
            object.__setattr__(self, "default", self.check(self.default))
        except InputError as error:
            raise InputError(f"knob {self.name}, default", self.default, error.expected) from None

    def __repr__(self) -> str:
        return f"<Knob {self.name}: {self.expected()}; default {self.default_text}>"

    def _repr_html_(self) -> str:
        rows = [("Values", self.expected()), ("Default", self.default_text), ("Source", self.source)]
        return card(f"Knob {self.name}: {self.help}", rows)

    @property
    def default_text(self) -> str:
        """Its default, as it may be typed."""
        words: dict[Any, str] = {True: "true", False: "false", None: "none"}
        if isinstance(self.default, bool | None):
            return words[self.default]
        if isinstance(self.default, str):
            return self.default
        if self.unit == "s":
            return format_duration(self.default)
        return with_unit(short_number(self.default, 6), self.unit)

    def check(self, value: Any) -> Value:
        """The value, converted to the knob's kind.

        Raises InputError if it has another kind or lies outside the range or the choices.
        """
        if isinstance(value, str) and self.kind != "str":
            value = self._parse(value)
        if value is None and self.optional:
            return None
        ok = _has_kind(value, self.kind)
        if ok and self.choices is not None:
            ok = value in self.choices
        elif ok and self.kind in ("int", "float"):
            ok = self.minimum <= value <= self.maximum
        if not ok:
            raise InputError(f"knob {self.name}", value, self.expected())
        if self.kind == "float":
            return float(value)
        return int(value) if self.kind == "int" else value

    def _parse(self, text: str) -> Any:
        """A value typed on the command line; what cannot be read is returned as it is, for `check` to refuse."""
        words = {**WORDS, **TRUTHS} if self.kind == "bool" else WORDS
        if text.strip().lower() in words:
            return words[text.strip().lower()]
        try:
            number = parse_duration(text) if self.unit == "s" else float(text)
        except ValueError:
            return text
        return int(number) if self.kind == "int" and number.is_integer() else number

    @property
    def label(self) -> str:
        """Its name as a control has it: `SLO lease`, with its unit where that is not seconds and not said."""
        return label_of(self.name, self.unit)

    def expected(self) -> str:
        """The values allowed, in words."""
        none = " or none" if self.optional else ""
        if self.choices is not None:
            return "one of " + ", ".join(str(choice) for choice in self.choices) + none
        if self.kind == "bool":
            return "true or false" + none
        if self.kind == "str":
            return "text" + none
        noun = "a whole number" if self.kind == "int" else "a number"
        bounds = [f">= {short_number(self.minimum, 6)}"] if self.minimum > -math.inf else []
        bounds += [f"<= {short_number(self.maximum, 6)}"] if self.maximum < math.inf else []
        typed = ", or a duration such as 2 h 30 min" if self.unit == "s" else ""
        unit = "" if self.unit == "1" else self.unit
        return " ".join(part for part in (noun, " and ".join(bounds), unit) if part) + typed + none


def _has_kind(value: Any, kind: str) -> bool:
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "str":
        return is_seen(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return False
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return False
    return kind == "float" or isinstance(value, int) or float(value).is_integer()


def checked_knobs(where: str, given: Any) -> tuple[Knob, ...]:
    """The knobs that a scheduler or formulation declares; raises InputError for what is none, or a name used twice."""
    knobs = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    for knob in knobs:
        if not isinstance(knob, Knob):
            raise InputError(f"{where}, knobs", knob, 'workbench.Knob("name", default, "what it does")')
        if sum(other.name == knob.name for other in knobs) > 1:
            raise InputError(f"{where}, knobs", knob.name, "each name once")
        if knob.name in TAKEN:
            raise InputError(f"{where}, knobs", knob.name, f"no name of an argument of simulate: {', '.join(TAKEN)}")
    return knobs


NO_KNOB = "no knob: it has none"


class Settled(dict[str, Value]):
    """The value of each declared knob; reading one that is not declared, or writing, raises InputError."""

    def __init__(self, owner: str, values: Mapping[str, Value]) -> None:
        super().__init__(values)
        self.owner = owner

    def __missing__(self, name: str) -> Value:
        raise InputError(f"knobs of {self.owner}", name, one_of(name, self) if self else NO_KNOB)

    def _refuse(self, *given: Any, **by_name: Any) -> Any:
        raise InputError(f"knobs of {self.owner}", Words("written into"), "a copy: knobs | {name: value}")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return Settled, (self.owner, dict(self))

    def __or__(self, values: Mapping[str, Any]) -> Settled:  # type: ignore[override]
        """With these in the place of its own, which are not checked."""
        return Settled(self.owner, {**self, **values})

    __ior__ = __or__  # type: ignore[assignment]


def settle(
    knobs: Iterable[Knob],
    given: Mapping[str, Any],
    owner: str,
    presets: Mapping[str, Mapping[str, Value]] | None = None,
) -> Settled:
    """Every knob's value in declaration order: as given, else of the preset that knob `preset` names, else default.

    Raises InputError for a name that `owner` does not declare, or a value it does not take.
    """
    declared = {knob.name: knob for knob in knobs}
    if not isinstance(given, Mapping):
        raise InputError(f"knobs of {owner}", given, "{knob: value}")
    for name in given:
        if name not in declared:
            raise InputError(f"knobs of {owner}", name, one_of(name, declared) if declared else NO_KNOB)
    chosen = (presets or {}).get(str(given.get("preset")), {})
    found = {**{name: knob.default for name, knob in declared.items()}, **chosen, **given}
    return Settled(owner, {name: declared[name].check(value) for name, value in found.items()})
