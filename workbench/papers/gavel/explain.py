"""What Gavel's policies say of a job at a time; of one without a share of time also whose it is, and by what order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.base.labels import listed
from workbench.baselines.mechanisms.explain import arrival
from workbench.baselines.mechanisms.priority.explain import FULL, NoShare, explainer, given_out
from workbench.papers.gavel.formulations import fifo, max_throughput, min_cost, min_cost_slo, shortest_job_first
from workbench.papers.gavel.formulations.water_filling import HIERARCHICAL
from workbench.papers.gavel.scheduler import DURATION
from workbench.simulation.job_at_time import TIE, Explainer, Fact, JobAtTime, Order
from workbench.simulation.schema import WORTH_ON

if TYPE_CHECKING:
    import pandas as pd

NONE = "its share of time is 0"

OF_POLICY: Mapping[str, str] = {
    fifo.NAME: "place in line (1 for the last to come) x speed there / speed on its fastest type / GPUs",
    shortest_job_first.NAME: "place in line (1 for the longest) x speed there / speed on its fastest type / GPUs",
    max_throughput.NAME: "what its steps/s there count / GPUs",
    min_cost.NAME: "what its steps/s there count / price of a GPU / GPUs",
    min_cost_slo.NAME: "what its steps/s there count / price of a GPU / GPUs",
}
"""What a job is worth per GPU of a type, by policy."""


def _of_sum(job_at: JobAtTime, block: pd.DataFrame) -> NoShare | None:
    """Who has the GPUs in a policy's largest sum: jobs that are worth more per GPU, whatever their place in line."""
    worth = _worths(job_at)
    if not worth:
        return _literal(job_at)
    policy, taken = job_at.run.scheduler, given_out(job_at, block)
    holders = {kind: _holders(job_at, block, kind) for kind in worth}
    idle = [kind for kind in worth if taken[kind] < job_at.up[kind] * (1 - FULL)]
    idle = idle if job_at.run.knobs.get("objective") == "ratio" else []
    outbid = [_outbid(kind, worth[kind], job_at.job, holders[kind]) for kind in worth if kind not in idle]
    parts = [f"a GPU is worth, {'; '.join(outbid)}"] if outbid else []
    parts += [f"its worth of {_number(worth[kind][job_at.job])} per GPU of {kind} {LOWERS}" for kind in idle]
    sentences = [f"Worth of a GPU with a job: {OF_POLICY[policy]}."]
    order = _order(job_at, worth)
    passed = dict.fromkeys(name for kind in worth for name in holders[kind] if order.before(job_at.job, name))
    if passed and policy in IN_LINE:
        comes = "comes after it, but is" if len(passed) == 1 else "come after it, but are"
        sentences.append(f"By {order.label} {listed(passed)} {comes} worth more per GPU.")
    having = {name for unit in block["unit"] for name in unit.split(" + ")}
    line = [
        name
        for name in job_at.waiting
        if name not in {*having, job_at.job} and any(_no_less(values, name, job_at.job) for values in worth.values())
    ]
    if line:
        sentences.append(f"Without a share too, but worth no less on some type: {listed(line)}.")
    if policy == min_cost_slo.NAME:
        sentences.append("Who has an SLO is first given what that needs, whatever it is worth.")
    facts = [Fact(f"{WORTH_ON}{kind}", values[job_at.job]) for kind, values in worth.items()]
    return NoShare(f"{NONE}: {'; '.join(parts)}", tuple(sentences), tuple(facts), order)


def _no_less(worth: Mapping[str, float], one: str, other: str) -> bool:
    return one in worth and (worth[one] > worth[other] or math.isclose(worth[one], worth[other], rel_tol=TIE))


def _outbid(kind: str, worth: Mapping[str, float], job: str, holders: list[str]) -> str:
    """That others have all GPUs of a type. holders: jobs and pairs, of which only jobs have a worth of their own."""
    own = worth[job]
    for_slo = {name for name in holders if name in worth and not _no_less(worth, name, job)}
    equal = any(name in worth and _no_less(worth, job, name) for name in holders if name not in for_slo)
    paired = any(name not in worth for name in holders)

    def shown(name: str) -> str:
        if name not in worth:
            return name
        return f"{name} ({_number(worth[name])}{', for its SLO' if name in for_slo else ''})"

    than = "no more" if equal or paired else "less"
    return f"on {kind}, {_number(own)} with it, {than} than with {listed(map(shown, holders), 3)}"


def _order(job_at: JobAtTime, worth: Mapping[str, Mapping[str, float]]) -> Order:
    """The line of a policy that serves one; else what jobs are worth on the type on which this one is worth most."""
    if job_at.run.scheduler == fifo.NAME:
        return arrival(job_at)
    lengths = _lengths(job_at)
    if lengths is not None:
        return lengths
    best = max(worth, key=lambda kind: worth[kind][job_at.job])
    found = job_at.order(WORTH_ON + best, WORTH_ON + best, "", "highest")
    assert found is not None
    return found


def _lengths(job_at: JobAtTime) -> Order | None:
    """The line of shortest job first; None of another policy."""
    return job_at.order(DURATION, "time left on its fastest type", "s", "lowest", job_at.by_arrival)


def _literal(job_at: JobAtTime) -> NoShare | None:
    """Shortest job first as printed: of the M programmes one counts, that of the shortest job."""
    order = _lengths(job_at)
    if order is None or job_at.job not in order.values:
        return None
    first = min(order.values, key=lambda name: order.place(name) or 0)
    sentence = f"{NONE}: as printed (literal) the policy serves one job, {first}; others get what the solver leaves"
    return NoShare(sentence, order=order)


def _of_entities(job_at: JobAtTime, block: pd.DataFrame) -> NoShare | None:
    """The jobs before it in its entity, if that serves its own first come, first served."""
    entity = next((each for each in job_at.run.scenario.entities if each.name == job_at.spec.entity), None)
    if entity is None or entity.policy != "fifo":
        return None
    line, of = arrival(job_at), {job.name: job.entity for job in job_at.run.scenario.jobs}
    having = {name for unit in block["unit"] for name in unit.split(" + ")}
    mine = {name: value for name, value in line.values.items() if of[name] == entity.name}
    ahead = [name for name in mine if line.before(name, job_at.job)]
    served = [name for name in ahead if name in having]
    rule = f"Entity {entity.name} gives all of its weight to the first of its jobs that can still rise, by arrival."
    order = line._replace(label=f"arrival in entity {entity.name}", values=mine)
    binding = (
        f"{NONE}: in entity {entity.name} {listed(served or ahead)} came before it, and left it nothing to rise on"
    )
    return NoShare(binding, (rule,), order=order) if ahead else None


LOWERS = "would lower the ratio of all throughput to all cost"

IN_LINE = frozenset({fifo.NAME, shortest_job_first.NAME})
"""The policies that serve a line."""


def _worths(job_at: JobAtTime) -> dict[str, Mapping[str, float]]:
    """Worth per GPU by type and job, on types that the job could use."""
    signals = {kind: job_at.signals(WORTH_ON + kind) for kind in job_at.usable if kind not in job_at.too_small}
    return {kind: found[1] for kind, found in signals.items() if found is not None and job_at.job in found[1]}


def _holders(job_at: JobAtTime, block: pd.DataFrame, kind: str) -> list[str]:
    """The jobs and pairs that are there and have a share of a type."""
    units = dict.fromkeys(block.loc[block["accelerator"] == kind, "unit"])
    return [unit for unit in units if set(unit.split(" + ")) <= set(job_at.present)]


def _number(value: float) -> str:
    return f"{value:.3g}"


EQUATIONS = ("equation 2", "equation 3")
EXPLAIN = explainer(tags=EQUATIONS)
EXPLAINERS: Mapping[str, Explainer] = {
    **dict.fromkeys(OF_POLICY, explainer(_of_sum, EQUATIONS)),
    HIERARCHICAL: explainer(_of_entities, EQUATIONS),
}
"""By policy, those that may give a job no share; of all others `EXPLAIN`."""
