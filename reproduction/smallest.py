"""Claims that fail, each by its smallest counterexample: fewest jobs, then fewest GPUs, then the smallest numbers.

A search goes through all instances in that order and ends at the first one in which the claim does not hold. In how
many it held before is a measure, and of how many nothing is known. What an instance is and what is looked at stands
with each claim: `hare/lemma_2.py`, `hadar/theorem2.py`, `hops/starving.py`, `chronus/guarantee.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from reproduction.figure import Entry, PaperFigure
from workbench.scenario.scenario import Scenario


class Looked(NamedTuple):
    """An instance that was looked at. value: what the claim bounds, NaN where it says nothing of the instance; example:
    what breaks it, empty where it holds."""

    jobs: int
    gpus: int
    value: float
    example: str


def smallest(name: str, title: str, claim: str, source: str, looked: Iterable[Looked]) -> PaperFigure:
    """The first that breaks the claim, as rows, of which the first one is of what the claim bounds; raises LookupError
    where none does."""
    before = list[float]()
    for each in looked:
        if each.example:
            break
        before.append(each.value)
    else:
        raise LookupError(f"{name}: none of {len(before)} instances breaks it")
    jobs, gpus, value, example = each
    passed = sum(map(math.isnan, before))
    rows = [
        Entry(claim, "1", None, value, f"{example}.", source),
        Entry("jobs of the smallest counterexample", "jobs", None, float(jobs), f"{example}.", "ours"),
        Entry("GPUs of the smallest counterexample", "GPUs", None, float(gpus), f"{example}.", "ours"),
        Entry("instances in which it held before", "instances", None, float(len(before) - passed),
            "All smaller ones.", "ours"),
    ]  # fmt: skip
    if passed:
        unknown = "The search cannot tell of them: a smaller counterexample is not ruled out."
        rows.insert(-1, Entry("smaller instances not looked at", "instances", None, float(passed), unknown, "ours"))
    return PaperFigure(name, title, tuple(rows))


def one_gpu(minutes: tuple[int, ...], arrivals: tuple[int, ...], **others: Any) -> Scenario:
    """Jobs of one GPU on one GPU, a step a minute; others: of the scenario, or by job as lists."""
    rewards = others.pop("rewards", [None] * len(minutes))
    jobs = [
        {"name": f"job {i}", "model": "m", "steps": float(length), "arrival_s": 60.0 * at, "rewards": reward}
        for i, (length, at, reward) in enumerate(zip(minutes, arrivals, rewards, strict=True))
    ]
    data = {
        "cluster": {"accelerators": [{"name": "v100"}], "nodes": [{"name": "n", "accelerator": "v100", "gpus": 1}]},
        "jobs": jobs,
        "throughputs": [{"model": "m", "accelerator": "v100", "steps_per_s": 1 / 60}],
        **others,
    }
    return Scenario.from_dict(data, "smallest")
