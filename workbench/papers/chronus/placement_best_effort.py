"""Where best-effort and unguaranteed gangs go (section 3.4.2): large ones on whole nodes, small ones by local search.

Gangs of 16 GPUs or more that round up to whole nodes get nodes that are entirely free, in the order of the list; one
for which there are too few waits. Then the others are placed, those first in the list as long as there are GPUs for
them, also on what a large gang leaves of its last node (ours: rounded up, it would hold that too).
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.papers.chronus.placement_search import Placed, Speed, local_search
from workbench.papers.chronus.round_up import round_up
from workbench.scheduling.knob import Knob

LARGE = Knob(
    "large",
    16,
    "GPUs from which on a best-effort gang is placed on whole nodes",
    unit="GPUs",
    source="paper",
    kind="int",
    minimum=1,
)


def place_best_effort(
    gangs: Mapping[str, int],
    free: Mapping[str, int],
    node_gpus: int,
    speed: Speed,
    most: int = 100_000,
    large: int = 16,
) -> Placed:
    """`{node: GPUs}` of the gangs for which there is room, see `local_search`; the reward is that of all of them.

    gangs: in the order in which they are served, the shortest first; large: from how many GPUs on.
    """
    left, placed, reward = dict(free), dict[str, Mapping[str, int]](), 0.0
    whole = {name for name, gpus in gangs.items() if gpus >= large and round_up(gpus, node_gpus) % node_gpus == 0}
    for name in (name for name in gangs if name in whole):
        empty = [node for node, gpus in left.items() if gpus == node_gpus][: -(-gangs[name] // node_gpus)]
        if len(empty) * node_gpus >= gangs[name]:
            last = gangs[name] - (len(empty) - 1) * node_gpus
            placed[name] = {**dict.fromkeys(empty[:-1], node_gpus), empty[-1]: last}
            reward += gangs[name]
            for node, count in placed[name].items():
                left[node] -= count
    room, small = sum(left.values()), dict[str, int]()
    for name, gpus in gangs.items():
        if name not in whole and gpus <= room:
            small[name] = gpus
            room -= gpus
    found = local_search(small, left, node_gpus, speed, most)
    every = {**placed, **found.gpus}
    return Placed({name: every[name] for name in gangs if name in every}, reward + found.reward, found.searched)
