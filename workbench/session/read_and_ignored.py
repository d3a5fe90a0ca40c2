"""What a scheduler reads of what a scenario sets, and what it ignores; what it is about and a scenario has none of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.declared_room import READ_BY_SOME
from workbench.scheduling.estimators import by_name
from workbench.session.api import load
from workbench.session.registry import find_scheduler, scheduler_named

Reading = Literal["reads", "with other knobs", "ignores"]


def ignored(scenario: Scenario | str | Path, scheduler: str | Scheduler, belief: str | None = None) -> tuple[str, ...]:
    """What a scenario sets and the scheduler does not read (its `uses`): `weight` of a job, `entities.policy`, ...

    What stands at its default, or as the built-in tables have it for that model or type, counts as not set. Attributes
    are among them (`attributes.lora_rank`, `nodes.attributes.rack`). belief: the
    estimator by name that tells the scheduler speeds; what that reads is not ignored.
    """
    scenario, found = load(scenario), find_scheduler(scheduler)
    uses = found.uses | by_name.maker(by_name.belief_of(found, belief)).estimator.reads
    return tuple(name for name in properties_set(scenario) if name not in uses)


def properties_set(scenario: Scenario | str | Path) -> tuple[str, ...]:
    """What a scenario sets of that which only some schedulers read, named as in `ignored`."""
    scenario = load(scenario)
    parts = {
        "": scenario.jobs,
        "entities": scenario.entities,
        "models": scenario.models,
        "accelerators": scenario.cluster.accelerators,
        "cluster": (scenario.cluster,),
    }
    found = (
        f"{part}.{field}".lstrip(".")
        for part, fields in READ_BY_SOME.items()
        for field in fields
        if any(_is_set(part, record, field) for record in parts[part])
    )
    return (*found, *scenario.attributes)


def reading(
    scenario: Scenario | str | Path,
    scheduler: str | Scheduler,
    given: Mapping[str, Any] | None = None,
    belief: str | None = None,
) -> dict[str, Reading]:
    """Of each property of `properties_set` whether the scheduler, with these knobs, `reads` or `ignores` it.

    `with other knobs`: it would with others. belief: as for `ignored`.
    """
    found = find_scheduler(scheduler)
    unused = set(ignored(scenario, found, belief))
    idle = found.uses - found.about(found.settle(given or {}))
    return {
        name: "ignores" if name in unused else "with other knobs" if name in idle else "reads"
        for name in properties_set(scenario)
    }


POINT: Mapping[str, str] = {
    "rewards": "no job has a deadline (`rewards`): there are no SLOs to meet",
    "entity": "no job belongs to an entity (`entity`): each is one by itself",
}
"""What only schedulers that are about it read of the jobs, and what it means if no job has it."""


def lacking(scenario: Scenario | str | Path, name: str, knobs: Mapping[str, Any]) -> tuple[str, ...]:
    """What a scheduler or formulation is about and the scenario has none of, a sentence each.

    name: of either (a formulation's is its scheduler's); knobs: settled ones.
    """
    scenario = load(scenario)
    found = scheduler_named(name)
    uses = frozenset() if found is None else found.about({**found.settle({}), **knobs})
    said = [
        sentence
        for field, sentence in POINT.items()
        if field in uses and scenario.jobs and all(getattr(job, field) is None for job in scenario.jobs)
    ]
    packs = knobs.get("space_sharing", False) or (found is not None and found.packs)
    if packs and not _may_share(scenario):
        said.append("no two jobs may share their GPUs: `core.space_sharing` is off, or `colocated` has none of them")
    return tuple(said)


def _may_share(scenario: Scenario) -> bool:
    """Whether the core lets jobs share, and two of them have speeds for it."""
    there = Counter((job.model, job.gpus) for job in scenario.jobs)
    return scenario.core.space_sharing and any(
        min(row.steps_per_s, row.with_steps_per_s) > 0
        and there[row.model, row.gpus] > 0
        and there[row.with_model, row.gpus] > (row.model == row.with_model)
        for row in scenario.colocated
    )


def _is_set(part: str, record: BaseModel, field: str) -> bool:
    """Whether a record holds another value than the default, and than the built-in tables."""
    value = getattr(record, field)
    if value == type(record).model_fields[field].default:
        return False
    return all(value != row.get(field) for row in _built_in(part, record))


def _built_in(part: str, record: Any) -> list[dict[str, Any]]:
    from workbench.scenario.traces import builtin

    if part == "accelerators":
        return [builtin.accelerator(record.name)]
    return builtin.facts(record.name) if part == "models" else []
