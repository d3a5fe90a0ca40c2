"""The presets by name; a module of this package registers its own when it is imported."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeVar

from workbench.base.errors import InputError, one_of
from workbench.scenario.scenario import Scenario

Data = dict[str, Any]
Builder = TypeVar("Builder", bound=Callable[..., Data])


class Preset(NamedTuple):
    """A preset's name, its description in one line, and what builds it; of: the preset of which it is a variant."""

    name: str
    description: str
    build: Callable[[], Data]
    of: str | None = None


_PRESETS: dict[str, Preset] = {}


def register(build: Builder) -> Builder:
    """Register a function as the preset of its name; its docstring is the description."""
    add(Preset(build.__name__, " ".join((build.__doc__ or "").split()), build))
    return build


def add(preset: Preset) -> None:
    """Register a preset of any name."""
    _PRESETS[preset.name] = preset


def preset(name: str) -> Scenario:
    """The scenario of that name; raises InputError naming those there are."""
    if not is_preset(name):
        raise InputError("preset", name, one_of(name, _PRESETS))
    return _built(name)


def is_preset(name: Any) -> bool:
    """Whether there is a preset or a variant of one of that name."""
    return isinstance(name, str) and name in _PRESETS


def presets() -> list[tuple[str, str]]:
    """Name and description of every preset but the variants of others, in reading order."""
    return [(found.name, found.description) for found in _PRESETS.values() if found.of is None]


def variants(name: str) -> list[str]:
    """Names of a preset's variants (other job mixes on the same cluster), or of those it is one of; most have none."""
    base = (_PRESETS[name].of or name) if is_preset(name) else name
    return [found.name for found in _PRESETS.values() if found.of == base]


@cache
def _built(name: str) -> Scenario:
    found = _PRESETS[name]
    return Scenario.from_dict({**found.build(), "name": name, "description": found.description}, f"preset {name}")
