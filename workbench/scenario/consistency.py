"""What the parts of a scenario say against each other: names used twice, names of nothing, too much on a node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from workbench.base.errors import Problem, Words, counted, one_of
from workbench.scenario.frozen import MOST_GPUS, MOST_WEIGHT_RATIO
from workbench.scenario.job import Job

if TYPE_CHECKING:
    from workbench.scenario.scenario import Entity, Scenario


def repeated(names: Iterable[object], path: str) -> Iterable[Problem]:
    """A problem for each name that an earlier one is too; path: of the list of what has them."""
    seen: dict[object, int] = {}
    for position, name in enumerate(names):
        if name in seen:
            yield Problem(f"{path}[{position}].name", name, f"a name of its own ({path}[{seen[name]}] has it already)")
        seen.setdefault(name, position)


def _known(value: str, names: Iterable[str], where: str, what: str) -> Iterable[Problem]:
    names = names if isinstance(names, (set, frozenset, dict)) else set(names)
    if value not in names:
        expected = one_of(value, sorted(names)) if names else "but there are none"
        yield Problem(where, value, f"{what}, {expected}")


def inconsistencies(s: Scenario) -> Iterable[Problem]:
    """What the parts of a scenario say against each other."""
    yield from repeated((a.name for a in s.cluster.accelerators), "cluster.accelerators")
    yield from repeated((n.name for n in s.cluster.nodes), "cluster.nodes")
    yield from repeated((j.name for j in s.jobs), "jobs")
    yield from repeated((m.name for m in s.models), "models")
    yield from repeated((e.name for e in s.entities), "entities")
    types = {a.name for a in s.cluster.accelerators}
    for i, group in enumerate(s.cluster.nodes):
        yield from _known(group.accelerator, types, f"cluster.nodes[{i}].accelerator", "a name in cluster.accelerators")
    if sum(group.gpus * group.count for group in s.cluster.nodes) > MOST_GPUS:
        yield Problem("cluster.nodes", Words("too many GPUs"), f"at most {MOST_GPUS} GPUs in all")
        return
    if any(group.hosts for group in s.cluster.nodes):
        yield from repeated((node.name for node in s.cluster.each_node), "nodes, written out")
    yield from _throughput_problems(s, types)
    yield from _weight_problems("jobs", s.jobs)
    yield from _weight_problems("entities", s.entities)
    models = {row.model for row in s.throughputs}
    entities = {e.name for e in s.entities}
    for i, job in enumerate(s.jobs):
        yield from _known(job.model, models, f"jobs[{i}].model", "a model with a row in throughputs")
        if job.entity is not None:
            yield from _known(job.entity, entities, f"jobs[{i}].entity", "a name in entities")
    for i, model in enumerate(s.models):
        yield from _known(model.name, models, f"models[{i}].name", "a model with a row in throughputs")
        if model.load_s is not None and abs(sum(p for p, _, _ in model.load_s) - 1) > 1e-9:
            yield Problem(f"models[{i}].load_s", model.load_s, "probabilities that add up to 1")
        if model.model_gb is not None and model.memory_gb is not None and model.model_gb > model.memory_gb:
            yield Problem(f"models[{i}].model_gb", model.model_gb, f"at most its memory_gb, {model.memory_gb:g} GB")
    yield from _core_problems(s)


def _weight_problems(path: str, weighted: Sequence[Job] | Sequence[Entity]) -> Iterable[Problem]:
    weights = [each.weight for each in weighted]
    if weights and max(weights) > MOST_WEIGHT_RATIO * min(weights):
        where = f"{path}[{weights.index(min(weights))}].weight"
        largest = f"{path}[{weights.index(max(weights))}] has {max(weights):g}"
        yield Problem(where, min(weights), f"at least 1/{MOST_WEIGHT_RATIO:.0f} of the largest weight ({largest})")


def _throughput_problems(s: Scenario, types: set[str]) -> Iterable[Problem]:
    seen: dict[tuple[Any, ...], int] = {}
    models = {row.model for row in s.throughputs}
    for i, row in enumerate(s.throughputs):
        yield from _known(row.accelerator, types, f"throughputs[{i}].accelerator", "a name in cluster.accelerators")
        key = (row.model, row.accelerator, row.gpus, row.placement, row.nodes)
        if key in seen:
            yield Problem(
                f"throughputs[{i}]", row.model, f"one row for each case (throughputs[{seen[key]}] is the same)"
            )
        seen.setdefault(key, i)
    alone = {(row.model, row.accelerator, row.gpus if s.scaling.law == "none" else None) for row in s.throughputs}
    pairs: dict[tuple[Any, ...], int] = {}
    named: set[tuple[Any, ...]] = set()  # a model without rows is in many pairs
    for i, pair in enumerate(s.colocated):
        yield from _known(pair.accelerator, types, f"colocated[{i}].accelerator", "a name in cluster.accelerators")
        for where, model in ((f"colocated[{i}].model", pair.model), (f"colocated[{i}].with_model", pair.with_model)):
            if (model,) not in named:
                yield from _known(model, models, where, "a model with a row in throughputs")
                named.add((model,))
            key_alone = (model, pair.accelerator, pair.gpus if s.scaling.law == "none" else None)
            if model in models and pair.accelerator in types and key_alone not in alone and key_alone not in named:
                named.add(key_alone)
                what = f"{counted(pair.gpus, 'GPU')} of {pair.accelerator}"
                yield Problem(where, model, f"a model with a row in throughputs for {what} alone: its partner may end")
        if pair.model == pair.with_model and pair.steps_per_s != pair.with_steps_per_s:
            same = f"{pair.steps_per_s:g}, as steps_per_s: two jobs of one model and size are alike"
            yield Problem(f"colocated[{i}].with_steps_per_s", pair.with_steps_per_s, same)
        both = tuple(sorted((pair.model, pair.with_model)))
        case = (both, pair.accelerator, pair.gpus, pair.placement)
        if case in pairs:
            yield Problem(
                f"colocated[{i}]", list(both), f"each unordered pair once (colocated[{pairs[case]}] is the same)"
            )
        pairs.setdefault(case, i)


def _core_problems(s: Scenario) -> Iterable[Problem]:
    nodes = {node.name: node for node in s.cluster.each_node}
    jobs = {job.name: job for job in s.jobs}
    used: dict[str, int] = {}
    started: set[str] = set()
    for i, held in enumerate(s.running):
        where = f"running[{i}]"
        yield from _known(held.job, jobs, f"{where}.job", "the name of a job")
        if held.job in started:
            yield Problem(f"{where}.job", held.job, "each job once")
        started.add(held.job)
        if held.job in jobs:
            job, total = jobs[held.job], sum(held.gpus.values())
            if total not in job.sizes:
                yield Problem(f"{where}.gpus", total, f"the job's {counted(job.sizes, 'GPU')}")
            if job.arrival_s > 0:
                yield Problem(f"{where}.job", held.job, f"a job with arrival_s 0 (it arrives at {job.arrival_s:g} s)")
        for name, gpus in held.gpus.items():
            yield from _known(name, nodes, f"{where}.gpus", "the name of a node")
            used[name] = used.get(name, 0) + gpus
            if name in nodes and used[name] > nodes[name].gpus:
                expected = f"at most the {counted(nodes[name].gpus, 'GPU')} of {name} in all"
                yield Problem(f"{where}.gpus", used[name], expected)
    faults = s.core.faults
    if (faults.mtbf_s is None) != (faults.mttr_s is None):
        yield Problem("core.faults", faults.model_dump(exclude={"list"}), "mtbf_s and mttr_s both, or neither")
    for i, outage in enumerate(faults.list):
        where = f"core.faults.list[{i}]"
        yield from _known(outage.node, nodes, f"{where}.node", "the name of a node")
        if outage.to_s <= outage.from_s:
            yield Problem(f"{where}.to_s", outage.to_s, f"a time after from_s ({outage.from_s:g})")
