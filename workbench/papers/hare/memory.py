"""Speculative memory management and early cleaning (section 4): what a GPU still holds when its next task comes.

A GPU keeps the models of the tasks that computed on it last, the latest first, as long as they fit beside the next
task, which has priority. A task whose job's model is still there is a hit: nothing has to be loaded. The sequence of
tasks on a GPU is known, so what it keeps is known too; the times do not matter.

A task needs its model's peak memory (`memory_gb`), of which the model itself stays (`model_gb`). Where one of them, or
the GPU's memory, is not known, neither is whether it is a hit.

Early cleaning deletes the intermediate data of each layer when its backward pass is done, so that the next model can
be loaded beside what is left. (ours): the backward pass is the last two thirds of a step, and the memory falls evenly
in it from the peak to the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from workbench.scenario.scenario import Scenario

Load = Literal["same", "first", "hit", "miss", "unknown"]
"""What a task finds on its GPU: its job's own task was the last one, no task was before it, its model is kept, or not,
or that cannot be known. On a GPU that a fault has emptied it is a miss."""

BACKWARD = 2 / 3
"""Part of a step that is its backward pass: it takes about twice as long as the forward pass (ours)."""


class Sizes(NamedTuple):
    """GB of a job's task at its peak, and of the model that stays; None where unknown."""

    memory_gb: float | None
    model_gb: float | None


class Kept(NamedTuple):
    """What a GPU holds: the job of its last task, and the jobs whose models are kept beside that, the latest first;
    kept_gb: of these; emptied: tasks were there, and a fault has left nothing of them."""

    last: str | None = None
    models: tuple[str, ...] = ()
    kept_gb: float = 0.0
    emptied: bool = False


def comes(kept: Kept, job: str, sizes: Mapping[str, Sizes], capacity_gb: float | None) -> tuple[Load, Kept]:
    """What a job's task finds on a GPU that holds `kept`, and what the GPU holds once the task is on it."""
    if kept.last == job:
        return "same", kept
    needed, own = sizes[job]
    if kept.last is None:
        return ("miss" if kept.emptied else "first"), Kept(job)
    if capacity_gb is None or needed is None or own is None:
        return "unknown", Kept(job)
    others, held_gb = kept.models, kept.kept_gb
    hit = job in others
    if hit:
        place = others.index(job)
        others, held_gb = others[:place] + others[place + 1 :], held_gb - own
    now = _kept_beside(job, (kept.last, *others), held_gb, sizes, capacity_gb - needed)
    return ("hit" if hit else "miss"), now


def _kept_beside(
    job: str, models: tuple[str, ...], older_gb: float, sizes: Mapping[str, Sizes], room_gb: float
) -> Kept:
    """The latest models as long as they fit into the room beside a job's task; older_gb: all but the first's."""
    first_gb = sizes[models[0]].model_gb
    if first_gb is not None and first_gb + older_gb <= room_gb:
        return Kept(job, models, first_gb + older_gb)
    held_gb, count = 0.0, 0
    for other in models:
        model_gb = sizes[other].model_gb
        if model_gb is None or held_gb + model_gb > room_gb:
            break  # older ones are not kept either
        held_gb, count = held_gb + model_gb, count + 1
    return Kept(job, models[:count], held_gb)


def replay(
    jobs: Iterable[str], sizes: Mapping[str, Sizes], capacity_gb: float | None, kept: Kept | None = None
) -> tuple[list[Load], Kept]:
    """What each task of a GPU's sequence finds, by the jobs of its tasks in turn, and what the GPU holds in the end."""
    now, loads = kept or Kept(), list[Load]()
    for job in jobs:
        load, now = comes(now, job, sizes, capacity_gb)
        loads.append(load)
    return loads, now


def hidden_s(step_s: float, before: Sizes, after: Sizes, kept_gb: float, capacity_gb: float | None) -> float:
    """Seconds for which the next model can be loaded while the last step of the task before still computes.

    step_s: seconds of that step; before, after: the two tasks; kept_gb: models kept beside them. 0 where a size is
    unknown, or the next model does not fit until the task is gone.
    """
    if capacity_gb is None or before.memory_gb is None or before.model_gb is None or after.model_gb is None:
        return 0.0
    room = capacity_gb - kept_gb - after.model_gb  # what the task before may still hold
    if room < before.model_gb:
        return 0.0
    if room >= before.memory_gb:
        return step_s
    falls_by = before.memory_gb - before.model_gb
    return BACKWARD * step_s * (room - before.model_gb) / falls_by


def sizes_of(scenario: Scenario) -> dict[str, Sizes]:
    """Sizes of every job's tasks, from the facts of its model."""
    models = {model.name: Sizes(model.memory_gb, model.model_gb) for model in scenario.models}
    return {job.name: models.get(job.model, Sizes(None, None)) for job in scenario.jobs}
