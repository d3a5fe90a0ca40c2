"""The three ways to synchronise a round (section 2.2.3, Fig. 4), so that their schedules can be compared.

- `relaxed` (relaxed scale-fixed, Hare's): a round has a fixed number of tasks, and they run when and where there is
  room, also one after the other on one GPU.
- `scale_fixed`: they start together (`workbench.papers.hare.together`).
- `scale_adaptive`: a round has as many tasks as there are GPUs (`workbench.papers.hare.adaptive`). How much longer a
  job then trains nobody knows, so the paper does not use it; the scheduler keeps a job's steps as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.papers.hare.adaptive import AdaptiveSchedule, place_adaptive
from workbench.papers.hare.algorithm import algorithm_1, middle_s, safe_order
from workbench.papers.hare.fluid import fluid_start_s
from workbench.papers.hare.instance import Instance
from workbench.papers.hare.schedule import Schedule
from workbench.papers.hare.together import place_together
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.knob import Knob

SYNCHRONISATION = Knob(
    "synchronisation",
    "relaxed",
    "Whether the tasks of a round run when and where there is room (relaxed scale-fixed, Hare's), or start together, "
    "each on a GPU of its own (scale-fixed), or are as many as there are GPUs for them just then (scale-adaptive): a "
    "smaller round does fewer steps, so more rounds follow, of as many steps in all (Fig. 4). Training at another "
    "scale may need more epochs, and nobody can say how many, so the paper does not use it",
    source="paper",
    kind="str",
    choices=("relaxed", "scale_fixed", "scale_adaptive"),
)


def schedules(
    instance: Instance, start_s: FloatArray | None = None, more_work: float = 0.0, *, scale_fixed: bool = True
) -> Mapping[str, Schedule | AdaptiveSchedule]:
    """The schedule of each way, from the same starts x^ (tasks,) of a relaxation; None: the fluid ones.

    scale_fixed: that way, too. Raises InputError for a job with more tasks in a round than GPUs that can run it, which
    cannot be scale-fixed (`together.enough`).
    """
    begin = fluid_start_s(instance) if start_s is None else start_s
    found: dict[str, Schedule | AdaptiveSchedule] = {"relaxed": algorithm_1(instance, begin)}
    if scale_fixed:
        found["scale_fixed"] = place_together(instance, safe_order(instance, middle_s(instance, begin)))
    return {**found, "scale_adaptive": place_adaptive(instance, begin, more_work)}
