"""The profile with a history (section 3): a (model, accelerator) pair seen before is not profiled again.

A new job is profiled in the preparation stage, beside the cluster: `profile_steps` steps on one GPU of each type on
which it runs, all types at a time. It may be scheduled when that is done; what its model took on a type is kept, and
later jobs of the model wait for no profile. The paper says neither how long a profile is nor that it delays a job:
without steps (the default) there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from workbench.scheduling.knob import Knob

PROFILE_STEPS = Knob(
    "profile_steps",
    0,
    "Steps that a new job is profiled for on each type, before its tasks are scheduled; not where its model was before",
    "steps",
    kind="int",
    minimum=0,
    maximum=1_000_000_000,
)


class Pair(NamedTuple):
    """What is profiled: a model on a type of accelerator."""

    model: str
    accelerator: str


@dataclass(frozen=True)
class History:
    """Pairs that have been profiled, each with the time at which its profile was done."""

    done_s: tuple[tuple[Pair, float], ...] = ()

    def profiled(self, model: str, step_s: dict[str, float], steps: int, now_s: float) -> tuple[History, float]:
        """The history with a model's pairs in it, and when all of them are done.

        step_s: seconds of a step on each type on which the model runs.
        """
        known = dict(self.done_s)
        for kind, seconds in step_s.items():
            known.setdefault(Pair(model, kind), now_s + steps * seconds)
        ready_s = max((known[Pair(model, kind)] for kind in step_s), default=now_s)
        return History(tuple(known.items())), max(now_s, ready_s)
