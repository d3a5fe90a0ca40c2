"""`workbench.explain`: one job of a run at one time, explained."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from workbench.analysis.explanation import course
from workbench.analysis.explanation.record import Competitor, Explanation
from workbench.analysis.rows.stated import SolvedStatement, called, shipped_base, solved
from workbench.base.errors import InputError
from workbench.base.labels import listed
from workbench.base.rounding import short_number
from workbench.base.units import clock, format_duration
from workbench.scenario.cluster import Node
from workbench.scheduling.model_notes import notes
from workbench.scheduling.notation import equations
from workbench.session.registry import carried_by, definition_of, find_explainer, scheduler_of
from workbench.simulation.job_at_time import HOLDS, TIE, Comes, Explained, Fact, JobAtTime, Link, Order
from workbench.simulation.run import Run

CAPACITY = "the number of free GPUs"
NOT_CHOSEN = "the scheduler's choice: GPUs were free, and it gave the job none"
NOT_RECORDED = "not known: the run has not recorded what the scheduler's decision went by (`detail`)"
PLAN, LEASES = "plan", "leases"
"""The mechanisms of new models whose steps no scheduler explains."""


def explain(run: Run, job: str, at: float) -> Explanation:
    """Why a job of a run ran, waited or moved at a time in seconds.

    It goes by what the run recorded: a run with `detail` has reasons and numbers of its first decisions only, and later
    on it is told that there are none. Raises InputError for a job or a time that the run does not have.
    """
    job_at = replace(JobAtTime(run, job, at), elastic=is_elastic(run), mixed=is_mixed(run))
    return Explanation(
        scheduler=run.scheduler,
        job=job_at.job,
        at_s=job_at.at_s,
        state=job_at.state,
        **_composed(job_at),
        next_start_s=job_at.next_start_s,
    )


def is_elastic(run: Run) -> bool:
    """Whether the scheduler may choose the size of a gang; of one that is not shipped nobody knows: it may."""
    shipped = find_explainer(run.scheduler) is not None
    return not shipped or "gpu_choices" in scheduler_of(run).about(run.knobs)


def is_mixed(run: Run) -> bool:
    """Whether the scheduler may give a job GPUs of several types at once, as Hadar a gang and HadarE its copies."""
    mixes = bool(run.knobs.get("mixed_types", False)) or "forks" in run.knobs
    return mixes or find_explainer(run.scheduler) is None


def explained(job_at: JobAtTime, statement: SolvedStatement | None) -> Explained:
    """What is told of a job at a time, with links also where its scheduler tells none.

    statement: as `own_statement` has it.
    """
    carrier = carried_by(job_at.run.scheduler)
    job_at = replace(job_at, elastic=is_elastic(job_at.run), mixed=is_mixed(job_at.run))
    found = _of_its_room(job_at, statement)
    if found.links:
        return found
    order = found.order
    names = [] if order is None else sorted(order.values, key=lambda name: order.place(name) or 0)
    placed, said = job_at.placement(), job_at.said
    why = found.binding or ("the scheduler chose" if said is None else said.text)
    if carrier == LEASES:
        start, end = (format_duration(time_s, parts=2) for time_s in job_at.stretch)
        lease = f"{job_at.job} has its lease from {start} to {end}" if job_at.state in HOLDS else why
        return replace(found, links=(Link("lease", f"{lease}.", ()), placed))
    choice = Link("plan" if carrier == PLAN else "choice", f"{placed.text} Of {job_at.job}: {why}.", placed.facts)
    if not names or order is None:
        return replace(found, links=(choice,))
    facts = tuple(Fact(f"{order.label} of {name}", order.values[name], order.unit) for name in names)
    ordered = ", ".join(f"{name} {short_number(order.values[name])}" for name in names)
    how = f"the {order.first} first" if order.first else "all chosen together"
    return replace(found, links=(Link("order", f"By {order.label}, {how}: {ordered}.", facts), choice))


def _composed(job_at: JobAtTime) -> dict[str, Any]:
    sentences = [course.headline(job_at)]
    if job_at.state in ("not_arrived", "finished"):
        parts = [*sentences, *course.afterwards(job_at)]
        told: dict[str, Any] = {"summary": sentences[0], "sentences": tuple(parts), "binding": ""}
        return told | {"facts": tuple(course.facts(job_at))} | _NOBODY
    name = job_at.run.scheduler
    carrier, statement = carried_by(name), own_statement(job_at.run, job_at.at_s)
    explained = _of_its_room(job_at, statement)
    if not job_at.recorded:
        explained = Explained(gang=explained.gang)
    sentences += course.begun(job_at)
    binding = explained.binding
    if job_at.state == "waiting":
        text, short = course.capacity(job_at)
        sentences += [text] if explained.gang else []
        short &= job_at.recorded or explained.gang
        otherwise = NOT_CHOSEN if job_at.recorded else NOT_RECORDED
        binding = course.undecided(job_at) or binding or (CAPACITY if short else otherwise)
    said = job_at.said
    if said is not None and not any(s.endswith((f": {said.text}.", f"({said.text}).")) for s in sentences):
        sentences.append(f"The scheduler's reason, given at {clock(said.at_s)}: {said.text}.")
    sentences += [sentence for sentence in explained.sentences if sentence not in sentences]
    if explained.order is not None:
        sentences += _place(job_at, explained.order)
    if carrier and job_at.run.code and definition_of(job_at.run) is None:
        sentences.append(
            f"Which rows of {name} it met is not told: this session does not define it now as it did then."
        )
    elif carrier:
        shown = f"workbench.rows(run, at={job_at.at_s:g})"
        sentences.append(f"What is planned is the answer of the formulation {name}: {shown} says which rows it meets.")
        added = [] if statement is None else _added_rows(statement, job_at.job)
        if added:
            sentences.append(f"Of what {name} adds to the paper's, it meets {listed(added)}.")
            binding += f"; it meets {listed(added)}" if binding else ""
    if not job_at.recorded:
        sentences.append(course.unrecorded(job_at))
    if binding:
        sentences.append(f"What decided: {binding}.")
    sentences += course.afterwards(job_at)
    return {
        "summary": course.in_short(job_at, binding),
        "sentences": tuple(sentences),
        "binding": binding,
        "facts": (*course.facts(job_at), *explained.facts),
        "competitors": _competitors(job_at, explained.order),
        "order": "" if explained.order is None else _titled(explained.order),
        "value": math.nan if explained.order is None else explained.order.values.get(job_at.job, math.nan),
        "infinite": "" if explained.order is None else explained.order.infinite,
    }


def own_statement(run: Run, at_s: float) -> SolvedStatement | None:
    """What a session's formulation stated in the decision of a time; None without one, or where nothing was solved by
    then. Simulates the run again up to then."""
    if not carried_by(run.scheduler) or definition_of(run) is None:
        return None
    try:
        return solved(run, at_s)
    except InputError:
        return None  # or the run cannot be made again


def _of_its_room(job_at: JobAtTime, statement: SolvedStatement | None) -> Explained:
    """What a scheduler's room tells of a job; of an own objective in the place of the paper's, that it decided, in
    the place of what is told of the paper's."""
    explainer = find_explainer(job_at.run.scheduler, carried_by(job_at.run.scheduler))
    found = Explained() if explainer is None else explainer(job_at)
    base = None if statement is None else shipped_base(scheduler_of(job_at.run).instead)
    noted = None if statement is None else notes(statement.model)
    if statement is None or base is None or noted is None or not (noted.own_objective or noted.other_numbers):
        return found
    tag = next(each.tag for each in equations(base.statement(job_at.run.knobs)) if each.sense)
    best = f"the best answer by the objective of {job_at.run.scheduler}, {statement.aim}"
    here = f"it is in {best}" if job_at.state in HOLDS else f"{best}, is without it"

    def by_own(said: str, instead: str = here) -> str:
        return instead if f"({tag})" in said else said

    binding = by_own(found.binding)
    has = "an objective in the place of the paper's" if noted.own_objective else "other numbers in the paper's model"
    says = f"{job_at.run.scheduler} has {has} ({tag}): {statement.aim}."
    links = tuple(each._replace(text=each.text.replace(found.binding, binding)) for each in found.links)
    return replace(
        found,
        sentences=(says, *(each for each in found.sentences if f"({tag})" not in each)),
        binding=binding,
        links=(Link("objective", f"{says} Numbers of the links are the paper's."), *links) if links else (),
        not_on={kind: by_own(said, f"{best}, has it where it is") for kind, said in found.not_on.items()},
    )


def _added_rows(statement: SolvedStatement, job: str) -> list[str]:
    """In words, the rows that a session's formulation has and the paper's has not, as far as the job meets them."""
    return [
        f"{called(statement.says(number), statement.names[number])}: {statement.text(number)}"
        for number in statement.own_rows(job)
    ]


_NOBODY: dict[str, Any] = {"competitors": (), "order": "", "value": math.nan, "infinite": ""}


def _titled(order: Order) -> str:
    return f"{order.label} ({order.unit})" if order.unit else order.label


def _place(job_at: JobAtTime, order: Order) -> list[str]:
    """Where the job stands among those that have a number."""
    place = order.place(job_at.job)
    if job_at.job not in order.values:
        return []
    value, unit = order.values[job_at.job], f" {order.unit}" if order.unit else ""
    shown = clock(value) if order.unit == "s" else f"{short_number(value)}{unit}"
    when = "" if job_at.call is None or order.at_s >= job_at.call.time_s else f", as of {clock(order.at_s)}"
    number = order.says or (shown if math.isfinite(value) else "infinite")
    if place is None:
        return [f"Its {order.label} is {number}{when}; jobs are chosen together, not in the order of it."]
    equal = [name for name in order.values if name != job_at.job and order.equal(name, job_at.job)]
    tied = f", the same as {listed(equal)}" if equal else ""
    decides = f"; between equals {order.ties.rule}" if equal and order.ties is not None else ""
    stands = f"number {place} of {len(order.values)}: {number}{tied}{decides}"
    return [f"By {order.label} (the {order.first} first{when}) it is {stands}."]


def _competitors(job_at: JobAtTime, order: Order | None) -> tuple[Competitor, ...]:
    """Who holds GPUs that the job could use, then who waits too (for a job that has GPUs: whom it won against)."""

    def judged(name: str) -> tuple[float, Comes]:
        if order is None:
            return math.nan, ""
        return order.values.get(name, math.nan), order.comes(name, job_at.job)

    holding = [
        Competitor(
            each.job,
            "holds",
            ", ".join(f"{count} {kind}" for kind, count in each.gpus.items()),
            each.since_s,
            each.until_s,
            *judged(each.job),
        )
        for each in job_at.others
    ]
    waiting = [
        Competitor(name, "waits", "", math.nan, math.nan, *judged(name))
        for name in job_at.waiting
        if name != job_at.job
    ]
    found = [*waiting, *holding] if job_at.state in HOLDS else [*holding, *waiting]
    return tuple(sorted(found, key=lambda one: (one.role != found[0].role, one.comes != "before")))


class NotFaster(NamedTuple):
    """Why a job is on no faster GPUs, in one sentence; and the faster ones, `node/slot` each, free ones first."""

    says: str
    gpus: tuple[str, ...] = ()


def not_faster(run: Run, job: str, at: float) -> NotFaster:
    """Why a job of a run is on no faster GPUs at a time; for a job that waits: on none of its fastest.

    Raises InputError for a job or a time that the run does not have.
    """
    job_at = replace(JobAtTime(run, job, at), elastic=is_elastic(run), mixed=is_mixed(run))
    when = clock(job_at.at_s)
    if job_at.state not in HOLDS and job_at.state != "waiting":
        return NotFaster(course.headline(job_at))
    capacity, every = run.scenario.cluster.capacity, run.scenario.cluster.each_node
    able = {kind for kind, gpus in job_at.needs.items() if capacity[kind] >= gpus}
    machines = [node for node in every if node.accelerator in able]
    speed = {node.name: job_at.usable[node.accelerator] * node.speed for node in machines}
    if not speed:
        return NotFaster(f"{job} can run on no GPUs of the cluster.")
    now, best = min((speed.get(name, 0.0) for name in job_at.held), default=0.0), max(speed.values())
    if best <= now * (1 + TIE):
        return NotFaster(f"At {when} {job} is on the fastest GPUs that it can use.")
    nodes = [node for node in machines if speed[node.name] >= best * (1 - TIE)]
    nodes.sort(key=lambda node: -job_at.free_on.get(node.name, 0))
    kind = nodes[0].accelerator
    slower = any(node.accelerator == kind and node not in nodes for node in every)
    where = listed(node.name for node in nodes) if slower else kind
    times = f", {short_number(best / now, 2)} times as fast for it" if now else ""
    gpus = tuple(f"{node.name}/{slot}" for node in nodes for slot in range(node.gpus))
    free = sum(job_at.free_on.get(node.name, 0) for node in nodes)
    return NotFaster(f"At {when} {job} is not on {where}{times}: {_not_there(job_at, kind, free, nodes)}.", gpus)


def _not_there(job_at: JobAtTime, kind: str, free: int, nodes: Sequence[Node]) -> str:
    """Why a job has no GPUs of these nodes, of a type, of which so many are free."""
    need = job_at.needs[kind]
    told = _of_its_room(job_at, own_statement(job_at.run, job_at.at_s)) if job_at.recorded else Explained()
    why = told.not_on.get(kind) or (told.binding if job_at.state == "waiting" else "")
    if free >= need:
        return why or "the scheduler chose other GPUs for it"
    theirs = Counter(job for node in nodes for job in job_at.on_node(node.name) if job != job_at.job)
    held = listed(f"{job} has {gpus}" for job, gpus in theirs.items())
    left = f"it needs {need} at once, and {free or 'none'} {'is' if free < 2 else 'are'} left"
    lacking = left if need > 1 else "none is left"
    return "; ".join(filter(None, (f"{lacking} ({held})" if held else lacking, why)))


def longest_wait_s(run: Run, job: str) -> float:
    """When the longest time began for which a job of a run had no GPUs; its first start if it never waited."""
    job_at = JobAtTime(run, job, 0.0)
    arrival_s, finish_s = float(job_at.row["arrival_s"]), float(job_at.row["finish_s"])
    until_s = run.end_s if math.isnan(finish_s) else finish_s
    ends = [arrival_s, *(end_s for _, end_s in job_at.spans)]
    starts = [*(start_s for start_s, _ in job_at.spans), until_s]
    waits = [(start_s - end_s, -end_s) for end_s, start_s in zip(ends, starts, strict=True)]
    longest_s, since = max(waits)
    begin_s = -since if longest_s > 0 else starts[0]
    return min(begin_s, run.end_s)
