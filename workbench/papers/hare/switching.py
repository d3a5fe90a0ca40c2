"""What it costs a GPU to switch from one job's task to another's (sections 2.2.4, 4 and 7.2).

Table 3 of the paper has the mean switching time of eight models under three designs. It is charged when a GPU's next
task is another job's, by the model that comes; a GPU's first task is free, as a job's first start is everywhere (ours).
Models that the table does not name cost the mean of its column (ours).

- `default`: the successor's environment is made after the predecessor's is cleaned; seconds.
- `pipeswitch`: contexts made in advance, the model moved layer by layer while it computes.
- `hare`: with early cleaning and speculative memory besides. The column is the mean with both on. Where memory sizes
  tell hits from misses (`workbench.papers.hare.memory`), a hit costs that column, and a miss PipeSwitch's, of which
  early cleaning hides what can be loaded sooner, down to Hare's column (ours).
- `custom`: the same for every switch. `free`: nothing.

A run says of every switch that takes time what it cost and what it found: an event `switch` when it begins, whose
reason reads `hit: 0.00277 s`, `miss: 0.00401 s` or, where early cleaning let the model be loaded beside the task
before, `miss: 0.00301 s, loaded 0.001 s sooner`. `workbench.papers.hare.tasks` has them as tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from workbench.papers.hare.memory import Kept, Load, Sizes, comes, hidden_s, sizes_of
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import Slot, Switch, Task
from workbench.scheduling.knob import Knob

SWITCHING = Knob(
    "switching",
    "hare",
    "What a GPU's switch to another job's task costs: the columns of the paper's Table 3, switch_s, or nothing",
    source="paper",
    kind="str",
    choices=("hare", "pipeswitch", "default", "custom", "free"),
    main=True,
)
SWITCH_S = Knob(
    "switch_s", 0.01, "Seconds of a switch, with switching=custom", "s", kind="float", minimum=0.0, maximum=1e6
)
SPECULATIVE_MEMORY = Knob(
    "speculative_memory",
    True,
    "With switching=hare: models of the latest tasks stay on a GPU while the next task has room (hits)",
    source="paper",
    kind="bool",
)
EARLY_CLEANING = Knob(
    "early_cleaning",
    True,
    "With switching=hare: memory is freed during the backward pass, so that the next model is loaded sooner",
    source="paper",
    kind="bool",
)
KNOBS = (SWITCHING, SWITCH_S, SPECULATIVE_MEMORY, EARLY_CLEANING)


class Cost(NamedTuple):
    """One column of Table 3: mean milliseconds of a switch to a model, and the percentage of the task's whole time."""

    default_ms: float
    pipeswitch_ms: float
    hare_ms: float
    default_percent: float
    pipeswitch_percent: float
    hare_percent: float


TABLE_3: Mapping[str, Cost] = {
    "VGG19": Cost(3288.94, 4.01, 2.77, 98.21, 2.40, 1.82),
    "ResNet50": Cost(5961.16, 4.75, 2.04, 97.37, 5.46, 3.71),
    "Inception V3": Cost(7807.43, 5.03, 2.46, 96.99, 2.39, 1.43),
    "Bert_base": Cost(9016.99, 12.57, 5.03, 93.95, 1.99, 1.13),
    "Transformer": Cost(5257.17, 10.34, 5.79, 95.41, 2.03, 1.36),
    "DeepSpeech": Cost(5125.64, 8.91, 4.27, 94.15, 1.59, 1.25),
    "FastGCN": Cost(5327.24, 2.86, 1.83, 98.47, 7.56, 4.53),
    "GraphSAGE": Cost(5213.54, 2.42, 0.96, 98.29, 8.64, 3.36),
}
"""Table 3 of the paper (Chen et al., HPDC 2022)."""


def _plain(model: str) -> str:
    """A model's name without its data set, case and punctuation: `ResNet-50 (Cifar100)` is `resnet50`."""
    return re.sub(r"[^a-z0-9]", "", model.split(" (")[0].lower())


_BY_NAME = {_plain(name): cost for name, cost in TABLE_3.items()}
_MEAN = Cost(*(sum(column) / len(TABLE_3) for column in zip(*TABLE_3.values(), strict=True)))


@cache
def cost_of(model: str) -> Cost:
    """The column of a model, or the mean of all."""
    return _BY_NAME.get(_plain(model), _MEAN)


NOTE = r"^(?P<load>\w+): (?P<switch_s>\S+) s(?:, loaded (?P<sooner_s>\S+) s sooner)?$"
"""The reason of an event `switch`."""


class Held(NamedTuple):
    """What a GPU holds, and the seconds of one step of its last task."""

    kept: Kept = Kept()
    step_s: float = 0.0


class Paid(NamedTuple):
    """A switch: seconds, what the task finds, and the seconds by which early cleaning let its model be loaded sooner,
    before the switch begins."""

    switch_s: float
    load: Load
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
        memory = {node.name: of_type[node.accelerator] for node in scenario.cluster.machines}
        return cls(knobs, {job.name: job.model for job in scenario.jobs}, sizes_of(scenario), memory)

    def begin(self, slot: Slot, task: Task, step_s: float, held: Held | None) -> Switch:
        """See `Switching`."""
        paid, kept = self.next(held or Held(), task.job, self.memory_gb[slot.node])
        return Switch(paid.switch_s, paid.note, Held(kept, step_s))

    def fault(self, held: Held) -> Held:
        """Nothing is left."""
        return Held(Kept(emptied=True))

    def next(self, held: Held, job: str, capacity_gb: float | None) -> tuple[Paid, Kept]:
        """What a switch to a job's task on a GPU costs, and what the GPU keeps then."""
        kept = held.kept
        if kept.last == job:
            return Paid(0.0, "same"), kept
        hare = self.knobs["switching"] == "hare"
        load: Load = "first" if kept.last is None and not kept.emptied else "miss"
        now = Kept(job)
        if hare and self.knobs["speculative_memory"]:
            load, now = comes(kept, job, self.sizes, capacity_gb)
        if load == "first":
            return Paid(0.0, load), now
        return (self._hare(load, held, job, capacity_gb) if hare else Paid(self._flat_s(job), load)), now

    def _flat_s(self, job: str) -> float:
        """Seconds of a switch with a design that keeps nothing."""
        cost = cost_of(self.model[job])
        flat = {"free": 0.0, "custom": float(self.knobs["switch_s"]), "default": cost.default_ms / 1e3}
        return flat.get(str(self.knobs["switching"]), cost.pipeswitch_ms / 1e3)

    def _hare(self, load: Load, held: Held, job: str, capacity_gb: float | None) -> Paid:
        cost, kept, early = cost_of(self.model[job]), held.kept, bool(self.knobs["early_cleaning"])
        hare_s, miss_s = cost.hare_ms / 1e3, cost.pipeswitch_ms / 1e3
        if load == "hit" or (load == "unknown" and early):
            return Paid(hare_s, load)
        if not early or kept.last is None:
            return Paid(miss_s, load)
        hidden = hidden_s(held.step_s, self.sizes[kept.last], self.sizes[job], kept.kept_gb, capacity_gb)
        sooner_s = min(hidden, miss_s - hare_s)
        return Paid(miss_s - sooner_s, load, sooner_s)
