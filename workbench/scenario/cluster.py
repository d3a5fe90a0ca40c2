"""What a cluster is made of: accelerator types, nodes of one type each, the network between nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated

from pydantic import Field

from workbench.scenario.frozen import Amount, Attributes, Count, Frozen, Name, Price


class Accelerator(Frozen):
    """An accelerator type. Prices in USD per GPU and hour, memory in GB, link inside a node in Gbit/s."""

    name: Name
    price_per_hour: Price | None = None
    memory_gb: Amount | None = None
    tflops: Amount | None = None
    pcie_scaling: Amount = 1.0
    link_gbps: Amount | None = None


class NodeGroup(Frozen):
    """`count` equal nodes named `name-0`, `name-1`, ...; `speed` multiplies the throughput of what runs on them;
    hosts: their own names, of the first ones if there are fewer; attributes: of each of them, as a job's."""

    name: Name
    accelerator: Name
    gpus: Annotated[int, Field(strict=True, ge=1, le=1024)]
    count: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 1
    speed: Amount = 1.0
    hosts: tuple[Name, ...] = ()
    attributes: Attributes = {}

    def node_names(self) -> list[str]:
        """The names of the group's nodes, in order."""
        own = self.hosts[: self.count]
        return [*own, *(f"{self.name}-{i}" for i in range(len(own), self.count))]


class Node(Frozen):
    """One machine of a cluster, with `gpus` slots of one accelerator type."""

    name: Name
    accelerator: Name
    gpus: Count
    speed: Amount = 1.0
    attributes: Attributes = {}


class Cluster(Frozen):
    """Accelerator types and nodes; order is by position everywhere, never by name."""

    accelerators: tuple[Accelerator, ...] = Field(min_length=1)
    nodes: tuple[NodeGroup, ...] = Field(min_length=1)
    network_gbps: Amount | None = None

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Names of the accelerator types that have at least one node, in the order of `accelerators`."""
        used = {group.accelerator for group in self.nodes}
        return tuple(a.name for a in self.accelerators if a.name in used)

    @cached_property
    def each_node(self) -> tuple[Node, ...]:
        """Every node, groups written out."""
        return tuple(self._machines())

    def _machines(self) -> Iterator[Node]:
        for group in self.nodes:
            for name in group.node_names():
                node = Node(name=name, accelerator=group.accelerator, gpus=group.gpus, speed=group.speed)
                yield node.model_copy(update={"attributes": group.attributes})  # with what may be asked for

    @cached_property
    def capacity(self) -> dict[str, int]:
        """GPUs of each type in `types`."""
        counts = dict.fromkeys(self.types, 0)
        for group in self.nodes:
            counts[group.accelerator] += group.gpus * group.count
        return counts

    @property
    def gpus(self) -> int:
        """GPUs of all types together."""
        return sum(self.capacity.values())

    @cached_property
    def _node_sizes(self) -> dict[str, list[int]]:
        sizes: dict[str, list[int]] = {name: [] for name in self.types}
        for group in self.nodes:
            sizes[group.accelerator] += [group.gpus] * group.count
        return {name: sorted(found, reverse=True) for name, found in sizes.items()}

    @cached_property
    def _fewest(self) -> dict[tuple[str, int], int | None]:
        return {}

    def fewest_nodes(self, accelerator: str, gpus: int) -> int | None:
        """The smallest number of nodes of a type that could hold `gpus` GPUs; None if all of them cannot."""
        key = (accelerator, gpus)
        if key not in self._fewest:
            self._fewest[key] = self._count_nodes(accelerator, gpus)
        return self._fewest[key]

    def _count_nodes(self, accelerator: str, gpus: int) -> int | None:
        held = 0
        for used, size in enumerate(self._node_sizes.get(accelerator, []), start=1):
            held += size
            if held >= gpus:
                return used
        return None
