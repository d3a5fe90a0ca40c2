"""The three ways to synchronise a round (section 2.2.3, Fig. 4), so that their schedules can be compared.

- `relaxed` (relaxed scale-fixed, Hare's): a round has a fixed number of tasks, and they run when and where there is
  room, also one after the other on one GPU.
- `scale_fixed`: they start together (`workbench.papers.hare.together`).
- `scale_adaptive`: a round has as many tasks as there are GPUs (`workbench.papers.hare.adaptive`). How much longer a
  job then trains nobody knows; it is for comparison, and no choice of the scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.knob import Knob
from workbench.papers.hare.adaptive import AdaptiveSchedule, place_adaptive
from workbench.papers.hare.algorithm import algorithm_1, middle_s, safe_order
from workbench.papers.hare.fluid import fluid_start_s
from workbench.papers.hare.instance import Instance
from workbench.papers.hare.schedule import Schedule
from workbench.papers.hare.together import place_together
from workbench.throughput import FloatArray

SYNCHRONISATION = Knob(
    "synchronisation",
    "relaxed",
    "Whether the tasks of a round run when and where there is room (relaxed scale-fixed, Hare's), or start together, "
    "each on a GPU of its own (scale-fixed)",
    source="paper",
    kind="str",
    choices=("relaxed", "scale_fixed"),
)


def schedules(
    instance: Instance, start_s: FloatArray | None = None, more_work: float = 0.0
) -> Mapping[str, Schedule | AdaptiveSchedule]:
    """The schedule of each way, from the same starts x^ (tasks,) of a relaxation; None: the fluid ones.

    Raises InputError for a job with more tasks in a round than GPUs that can run it, which cannot be scale-fixed.
    """
    begin = fluid_start_s(instance) if start_s is None else start_s
    return {
        "relaxed": algorithm_1(instance, begin),
        "scale_fixed": place_together(instance, safe_order(instance, middle_s(instance, begin))),
        "scale_adaptive": place_adaptive(instance, begin, more_work),
    }
