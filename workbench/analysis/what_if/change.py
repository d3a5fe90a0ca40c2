"""What is run today, and what every change of it has: how it is applied, written and read; what reading one takes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from workbench.base.errors import InputError
from workbench.base.units import parse_duration
from workbench.scenario.cluster import Cluster, NodeGroup
from workbench.scenario.scenario import Scenario
from workbench.session.registry import find_scheduler


class Change(ABC):
    """One thing changed. kind: the first word of its text; example: what may follow it."""

    kind: ClassVar[str]
    example: ClassVar[str]

    @abstractmethod
    def applied(self, before: Configuration) -> Configuration:
        """The configuration with the change."""

    def remarks(self, after: Configuration) -> list[str]:
        """What an operator could take otherwise than it is meant, or that changes nothing. after: with the change."""
        return []

    @property
    def text(self) -> str:
        """The change as text that `parse_change` reads back to an equal one."""
        return f"{self.kind} {self._rest()}"

    @property
    @abstractmethod
    def words(self) -> str:
        """The change in words, as they follow `with`."""

    @abstractmethod
    def _rest(self) -> str:
        """The text after its kind."""

    @classmethod
    @abstractmethod
    def parsed(cls, rest: str) -> Change:
        """Read the text after the kind; raises InputError."""


def with_nodes(before: Configuration, groups: Sequence[NodeGroup]) -> Configuration:
    """The configuration with other nodes. What ran at the begin on one that is gone waits; its listed outages go."""
    scenario = before.scenario
    of = scenario.cluster
    cluster = Cluster(accelerators=of.accelerators, nodes=tuple(groups), network_gbps=of.network_gbps)
    there = {node.name for node in cluster.each_node}
    faults = scenario.core.faults
    left = faults.model_copy(update={"list": tuple(each for each in faults.list if each.node in there)})
    core = scenario.core.model_copy(update={"faults": left})
    running = [held for held in scenario.running if there.issuperset(held.gpus)]
    return replace(before, scenario=scenario.replace(cluster=cluster, core=core, running=running))


def with_core(before: Configuration, **changed: Mapping[str, Any]) -> Configuration:
    """The configuration with some values of parts of its core exchanged."""
    core = before.scenario.core.model_dump(mode="json")
    parts = {name: {**core[name], **values} for name, values in changed.items()}
    return replace(before, scenario=before.scenario.replace(core={**core, **parts}))


def pair(where: str, text: str, example: str) -> tuple[str, str]:
    """`name=value`; InputError with the example for anything else."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise InputError(where, text, example)
    return name.strip(), value.strip()


def as_float(where: str, text: str, example: str) -> float:
    """A number; InputError with the example for anything else."""
    try:
        return float(text)
    except ValueError:
        raise InputError(where, text, example) from None


def as_seconds(where: str, text: str, example: str) -> float:
    """Seconds or a duration, in seconds; InputError with the example for anything else."""
    try:
        return parse_duration(text)
    except ValueError:
        raise InputError(where, text, example) from None


def in_range(where: str, value: Any, least: float, most: float, example: str) -> float:
    """A number in a range; InputError with the example for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(where, value, example)
    if not least <= value <= most:
        raise InputError(where, value, example)
    return float(value)


def as_text(value: Any) -> str:
    """A value as text that reads back to it."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


@dataclass(frozen=True, repr=False)
class Configuration:
    """A scenario, a scheduler by name, and the knobs that differ from its defaults.

    Raises InputError for a scheduler that is not known, and for a knob or a value that it does not take.
    """

    scenario: Scenario
    scheduler: str
    knobs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.scenario, Scenario):
            raise InputError("scenario", self.scenario, "a Scenario")
        find_scheduler(self.scheduler).settle(self.knobs)

    def __repr__(self) -> str:
        return f"<{self.scheduler} on {self.scenario.name or 'a scenario without a name'}>"
