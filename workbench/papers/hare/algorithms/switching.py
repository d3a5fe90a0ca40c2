"""What it costs a GPU to switch from one job's task to another's (sections 2.2.4, 4 and 7.2).

Table 3 of the paper has the mean switching time of eight models under three designs. It is charged when a GPU's next
task is another job's, by the model that comes; a GPU's first task is free, as a job's first start is everywhere (ours).
Models that the table does not name cost the mean of its column (ours).

- `default`: the successor's environment is made after the predecessor's is cleaned; seconds.
- `pipeswitch`: contexts made in advance, the model moved layer by layer while it computes.
- `hare`: with early cleaning and speculative memory besides. The column is the mean with both on. Where memory sizes
  tell hits from misses (`comes`), a hit costs that column, and a miss PipeSwitch's, of which
  early cleaning hides what can be loaded sooner, down to Hare's column (ours).
- `custom`: the same for every switch. `free`: nothing.

A run says of every switch that takes time what it cost and what it found: an event `switch` when it begins, whose
reason reads `hit: 0.00277 s`, `miss: 0.00401 s` or, where early cleaning let the model be loaded beside the task
before, `miss: 0.00301 s, loaded 0.001 s sooner`; `switch_table` of `workbench.simulation.task_sequences` has them as a
table, beside that of tasks.

Speculative memory management (section 4) is about what a GPU still holds when its next task comes. A GPU keeps the
models of the tasks that computed on it last, the latest first, as long as they fit beside the next task, which has
priority. A task whose job's model is still there is a hit: nothing has to be loaded. The sequence of tasks on a GPU is
known, so what it keeps is known too; the times do not matter.

A task needs its model's peak memory (`memory_gb`), of which the model itself stays (`model_gb`). Where one of them, or
the GPU's memory, is not known, neither is whether it is a hit.

Early cleaning (section 4) deletes the intermediate data of each layer when its backward pass is done, so that the next
model can be loaded beside what is left. (ours): the backward pass is the last two thirds of a step, and the memory
falls evenly in it from the peak to the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import Slot, Switch, Task

LoadKind = Literal["same", "first", "hit", "miss", "unknown"]
"""What a task finds on its GPU: its job's own task was the last one, no task was before it, its model is kept, or not,
or that cannot be known. On a GPU that a fault has emptied it is a miss."""
BACKWARD = 2 / 3
"""Part of a step that is its backward pass: it takes about twice as long as the forward pass (ours)."""


class Sizes(NamedTuple):
    """GB of a job's task at its peak, and of the model that stays; None where unknown."""

    memory_gb: float | None
    model_gb: float | None


class ModelsKept(NamedTuple):
    """What a GPU holds: the job of its last task, and the jobs whose models are kept beside that, the latest first;
    kept_gb: of these; emptied: tasks were there, and a fault has left nothing of them."""

    last: str | None = None
    models: tuple[str, ...] = ()
    kept_gb: float = 0.0
    emptied: bool = False


def comes(
    kept: ModelsKept, job: str, sizes: Mapping[str, Sizes], capacity_gb: float | None
) -> tuple[LoadKind, ModelsKept]:
    """What a job's task finds on a GPU that holds `kept`, and what the GPU holds once the task is on it."""
    if kept.last == job:
        return "same", kept
    needed, own = sizes[job]
    if kept.last is None:
        return ("miss" if kept.emptied else "first"), ModelsKept(job)
    if capacity_gb is None or needed is None or own is None:
        return "unknown", ModelsKept(job)
    others, held_gb = kept.models, kept.kept_gb
    hit = job in others
    if hit:
        place = others.index(job)
        others, held_gb = others[:place] + others[place + 1 :], held_gb - own
    now = _kept_beside(job, (kept.last, *others), held_gb, sizes, capacity_gb - needed)
    return ("hit" if hit else "miss"), now


def _kept_beside(
    job: str, models: tuple[str, ...], older_gb: float, sizes: Mapping[str, Sizes], free_gb: float
) -> ModelsKept:
    """The latest models as long as they fit into the memory beside a job's task; older_gb: all but the first's."""
    first_gb = sizes[models[0]].model_gb
    if first_gb is not None and first_gb + older_gb <= free_gb:
        return ModelsKept(job, models, first_gb + older_gb)
    held_gb, count = 0.0, 0
    for other in models:
        model_gb = sizes[other].model_gb
        if model_gb is None or held_gb + model_gb > free_gb:
            break  # older ones are not kept either
        held_gb, count = held_gb + model_gb, count + 1
    return ModelsKept(job, models[:count], held_gb)


def hidden_s(step_s: float, before: Sizes, after: Sizes, kept_gb: float, capacity_gb: float | None) -> float:
    """Seconds for which the next model can be loaded while the last step of the task before still computes.

    step_s: seconds of that step; before, after: the two tasks; kept_gb: models kept beside them. 0 where a size is
    unknown, or the next model does not fit until the task is gone.
    """
    if capacity_gb is None or before.memory_gb is None or before.model_gb is None or after.model_gb is None:
        return 0.0
    free_gb = capacity_gb - kept_gb - after.model_gb  # what the task before may still hold
    if free_gb < before.model_gb:
        return 0.0
    if free_gb >= before.memory_gb:
        return step_s
    falls_by = before.memory_gb - before.model_gb
    return BACKWARD * step_s * (free_gb - before.model_gb) / falls_by


def sizes_of(scenario: Scenario) -> dict[str, Sizes]:
    """Sizes of every job's tasks, from the facts of its model."""
    models = {model.name: Sizes(model.memory_gb, model.model_gb) for model in scenario.models}
    return {job.name: models.get(job.model, Sizes(None, None)) for job in scenario.jobs}


class SwitchCost(NamedTuple):
    """One column of Table 3: mean milliseconds of a switch to a model, and the percentage of the task's whole time."""

    default_ms: float
    pipeswitch_ms: float
    hare_ms: float
    default_percent: float
    pipeswitch_percent: float
    hare_percent: float


TABLE_3: Mapping[str, SwitchCost] = {
    "VGG19": SwitchCost(3288.94, 4.01, 2.77, 98.21, 2.40, 1.82),
    "ResNet50": SwitchCost(5961.16, 4.75, 2.04, 97.37, 5.46, 3.71),
    "Inception V3": SwitchCost(7807.43, 5.03, 2.46, 96.99, 2.39, 1.43),
    "Bert_base": SwitchCost(9016.99, 12.57, 5.03, 93.95, 1.99, 1.13),
    "Transformer": SwitchCost(5257.17, 10.34, 5.79, 95.41, 2.03, 1.36),
    "DeepSpeech": SwitchCost(5125.64, 8.91, 4.27, 94.15, 1.59, 1.25),
    "FastGCN": SwitchCost(5327.24, 2.86, 1.83, 98.47, 7.56, 4.53),
    "GraphSAGE": SwitchCost(5213.54, 2.42, 0.96, 98.29, 8.64, 3.36),
}
"""Table 3 of the paper (Chen et al., HPDC 2022)."""


def _plain(model: str) -> str:
    """A model's name without its data set, case and punctuation: `ResNet-50 (Cifar100)` is `resnet50`."""
    return re.sub(r"[^a-z0-9]", "", model.split(" (")[0].lower())


_BY_NAME = {_plain(name): cost for name, cost in TABLE_3.items()}
_MEAN = SwitchCost(*(sum(column) / len(TABLE_3) for column in zip(*TABLE_3.values(), strict=True)))


@cache
def cost_of(model: str) -> SwitchCost:
    """The column of a model, or the mean of all."""
    return _BY_NAME.get(_plain(model), _MEAN)


class HeldOnGpu(NamedTuple):
    """What a GPU holds, and the seconds of one step of its last task."""

    kept: ModelsKept = ModelsKept()
    step_s: float = 0.0


class PaidSwitch(NamedTuple):
    """A switch: seconds, what the task finds, and the seconds by which early cleaning let its model be loaded sooner,
    before the switch begins."""

    switch_s: float
    load: LoadKind
    sooner_s: float = 0.0

    @property
    def note(self) -> str:
        """As events say it; empty for one that takes no time."""
        sooner = f", loaded {self.sooner_s:.9g} s sooner" if self.sooner_s else ""
        return f"{self.load}: {self.switch_s:.9g} s{sooner}" if self.switch_s else ""


@dataclass(frozen=True)
class Switches:
    """What switches cost with some knobs (`workbench.scheduling.decision.Switching`).

    model, sizes: of each job; memory_gb: of the GPUs of each node, None if unknown.
    """

    knobs: Knobs
    model: Mapping[str, str]
    sizes: Mapping[str, Sizes]
    memory_gb: Mapping[str, float | None]

    @classmethod
    def of(cls, scenario: Scenario, knobs: Knobs) -> Switches:
        """Between the jobs of a scenario."""
        of_type = {each.name: each.memory_gb for each in scenario.cluster.accelerators}
        memory = {node.name: of_type[node.accelerator] for node in scenario.cluster.each_node}
        return cls(knobs, {job.name: job.model for job in scenario.jobs}, sizes_of(scenario), memory)

    def begin(self, slot: Slot, task: Task, step_s: float, held: HeldOnGpu | None) -> Switch:
        """See `Switching`."""
        paid, kept = self.next(held or HeldOnGpu(), task.job, self.memory_gb[slot.node])
        return Switch(paid.switch_s, paid.note, HeldOnGpu(kept, step_s))

    def fault(self, held: HeldOnGpu) -> HeldOnGpu:
        """Nothing is left."""
        return HeldOnGpu(ModelsKept(emptied=True))

    def next(self, held: HeldOnGpu, job: str, capacity_gb: float | None) -> tuple[PaidSwitch, ModelsKept]:
        """What a switch to a job's task on a GPU costs, and what the GPU keeps then."""
        kept = held.kept
        if kept.last == job:
            return PaidSwitch(0.0, "same"), kept
        hare = self.knobs["switching"] == "hare"
        load: LoadKind = "first" if kept.last is None and not kept.emptied else "miss"
        now = ModelsKept(job)
        if hare and self.knobs["speculative_memory"]:
            load, now = comes(kept, job, self.sizes, capacity_gb)
        if load == "first":
            return PaidSwitch(0.0, load), now
        return (self._hare(load, held, job, capacity_gb) if hare else PaidSwitch(self._flat_s(job), load)), now

    def _flat_s(self, job: str) -> float:
        """Seconds of a switch with a design that keeps nothing."""
        cost = cost_of(self.model[job])
        flat = {"free": 0.0, "custom": float(self.knobs["switch_s"]), "default": cost.default_ms / 1e3}
        return flat.get(str(self.knobs["switching"]), cost.pipeswitch_ms / 1e3)

    def _hare(self, load: LoadKind, held: HeldOnGpu, job: str, capacity_gb: float | None) -> PaidSwitch:
        cost, kept, early = cost_of(self.model[job]), held.kept, bool(self.knobs["early_cleaning"])
        hare_s, miss_s = cost.hare_ms / 1e3, cost.pipeswitch_ms / 1e3
        if load == "hit" or (load == "unknown" and early):
            return PaidSwitch(hare_s, load)
        if not early or kept.last is None:
            return PaidSwitch(miss_s, load)
        hidden = hidden_s(held.step_s, self.sizes[kept.last], self.sizes[job], kept.kept_gb, capacity_gb)
        sooner_s = min(hidden, miss_s - hare_s)
        return PaidSwitch(miss_s - sooner_s, load, sooner_s)
