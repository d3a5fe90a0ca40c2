"""How fast nodes are, as jobs that run alone on them show: measured steps/s over those believed of their type.

A scheduler is not told the speeds of nodes. Two jobs that share a slow node are both slow, and nothing in their speeds
says whether the node or the partner is to blame: what is measured of a pair means something only beside what a job
does alone on the same nodes (Gandiva compares a job before and after packing, Xiao et al., OSDI 2018). Until some job
has run alone there, nodes count as fast as their type is believed to be; so keep what was measured, and divide by
`NodeSpeeds.of` when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from workbench.scheduling.snapshot import Observation

NodeNames = tuple[str, ...]


@dataclass(frozen=True)
class NodeSpeeds:
    """What was measured of jobs alone. alone: {nodes: (sum of measured over believed steps/s x seconds, seconds)}."""

    alone: Mapping[NodeNames, tuple[float, float]] = field(default_factory=dict)

    def of(self, nodes: NodeNames) -> float:
        """Speed of a gang on these nodes over the one believed; of nodes never measured together, the slowest one's."""
        if nodes in self.alone or len(nodes) == 1:
            total, seconds = self.alone.get(nodes, (1.0, 1.0))
            return total / seconds
        return min(self.of((node,)) for node in nodes)

    def learnt(self, observations: Iterable[Observation], believed: Callable[[Observation], float]) -> NodeSpeeds:
        """With what was measured of jobs alone, where they are believed to run; believed: steps/s there."""
        alone = dict(self.alone)
        for seen in observations:
            expected = believed(seen) if isinstance(seen.unit, str) else 0.0
            if expected > 0:
                total, seconds = alone.get(nodes_of(seen.gpus), (0.0, 0.0))
                ratio = seen.steps_per_s / expected
                alone[nodes_of(seen.gpus)] = (total + ratio * seen.seconds, seconds + seen.seconds)
        return NodeSpeeds(alone)


def nodes_of(gpus: Mapping[str, int]) -> NodeNames:
    """The nodes of `{node: GPUs}`, in order of their names."""
    return tuple(sorted(gpus))
