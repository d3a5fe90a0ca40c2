"""`workbench.explain`: one job of a run at one time, explained."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from workbench.analysis.explanation import course
from workbench.analysis.explanation.record import Competitor, Explanation
from workbench.base.labels import listed
from workbench.session.registry import carried_by, find_explainer, scheduler_of
from workbench.simulation.job_at_time import HOLDS, Comes, Explained, JobAtTime, Order
from workbench.simulation.run import Run

CAPACITY = "the number of free GPUs"
NOT_CHOSEN = "the scheduler's choice: GPUs were free, and it gave the job none"
NOT_RECORDED = "not known: the run has not recorded what the scheduler's decision went by (`detail`)"


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


def _composed(job_at: JobAtTime) -> dict[str, Any]:
    sentences = [course.headline(job_at)]
    if job_at.state in ("not_arrived", "finished"):
        parts = [*sentences, *course.afterwards(job_at)]
        return {"sentences": tuple(parts), "binding": "", "facts": tuple(course.facts(job_at))} | _NOBODY
    name = job_at.run.scheduler
    carrier = carried_by(name)
    explainer = find_explainer(carrier or name)
    explained = Explained() if explainer is None else explainer(job_at)
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
        sentences.append(f"The scheduler's reason, given at {course.clock(said.at_s)}: {said.text}.")
    sentences += [sentence for sentence in explained.sentences if sentence not in sentences]
    if explained.order is not None:
        sentences += _place(job_at, explained.order)
    if carrier:
        shown = f"workbench.rows(run, at={job_at.at_s:g})"
        sentences.append(f"What is planned is the answer of the formulation {name}: {shown} says which rows it meets.")
    if not job_at.recorded:
        sentences.append(course.unrecorded(job_at))
    if binding:
        sentences.append(f"What decided: {binding}.")
    sentences += course.afterwards(job_at)
    return {
        "sentences": tuple(sentences),
        "binding": binding,
        "facts": (*course.facts(job_at), *explained.facts),
        "competitors": _competitors(job_at, explained.order),
        "order": "" if explained.order is None else _titled(explained.order),
    }


_NOBODY: dict[str, Any] = {"competitors": (), "order": ""}


def _titled(order: Order) -> str:
    return f"{order.label} ({order.unit})" if order.unit else order.label


def _place(job_at: JobAtTime, order: Order) -> list[str]:
    """Where the job stands among those that have a number."""
    place = order.place(job_at.job)
    if place is None:
        return []
    value, unit = order.values[job_at.job], f" {order.unit}" if order.unit else ""
    when = "" if job_at.call is None or order.at_s >= job_at.call.time_s else f", as of {course.clock(order.at_s)}"
    number = f"{value:.6g}{unit}" if math.isfinite(value) else "infinite"
    equal = [name for name in order.values if name != job_at.job and order.equal(name, job_at.job)]
    tied = f", as {listed(equal)} {'has' if len(equal) == 1 else 'have'}" if equal else ""
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
