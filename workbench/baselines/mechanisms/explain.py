"""What schedulers that put jobs in a line say of a job at a time (`workbench.simulation.job_at_time`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from workbench.base.errors import counted
from workbench.base.labels import listed
from workbench.base.units import format_duration
from workbench.simulation.job_at_time import Explained, Explainer, JobAtTime, Order


def by_signal(
    signal: str, label: str, unit: str, first: Literal["highest", "lowest"], rule: str, *, keeps: bool = False
) -> Explainer:
    """An explainer for jobs in the order of a recorded signal; rule: how the line is served, in a sentence.

    keeps: jobs that run keep their GPUs, whoever comes before them in the line.
    """

    def explain(job_at: JobAtTime) -> Explained:
        return by_order(job_at, job_at.order(signal, label, unit, first, job_at.by_arrival), rule, keeps=keeps)

    return explain


def arrival(job_at: JobAtTime) -> Order:
    """The order of arrival of the jobs that are there; ties are by position in the scenario."""
    arrivals_s, cells = job_at.run.cells.column("jobs", "arrival_s"), job_at.run.cells
    present_s = {job: float(arrivals_s[cells.place[job]]) for job in job_at.present}
    ties = job_at.by_arrival._replace(rule="as the scenario lists them")
    return Order("arrival", "s", present_s, "lowest", job_at.at_s, ties)


def by_order(
    job_at: JobAtTime,
    order: Order | None,
    rule: str,
    *,
    keeps: bool = False,
    blocking: bool = False,
    passed: str = "nobody passes it",
) -> Explained:
    """The rule, and for a job that waits what it lost to.

    keeps: jobs that run keep their GPUs; blocking: nobody passes a job of the order that waits and could run, or not
    this job, for the reason `passed`.
    """
    if job_at.state != "waiting" or order is None or job_at.job not in order.values:
        return Explained((rule,), order=order)
    return Explained((rule,), binding=_binding(job_at, order, keeps, blocking, passed), order=order)


def _binding(job_at: JobAtTime, order: Order, keeps: bool, blocking: bool, passed: str) -> str:
    """What a waiting job lost to: who blocks the line, jobs before it, those that keep their GPUs, or lack of room."""
    line = [name for name in job_at.waiting if order.before(name, job_at.job)]
    if blocking and line and job_at.has_free_gpus:
        head = min(line, key=lambda name: order.place(name) or 0)
        return f"by {order.label} {head} waits before it and {_does_not_fit(job_at, head)}, and {passed}"
    fitting = {kind for kind, gpus in job_at.needs.items() if job_at.up[kind] >= gpus}
    if not fitting:
        return f"no type on which it runs has {counted(job_at.sizes[0], 'GPU')} on nodes that are up"
    holders = list(dict.fromkeys(each.job for each in job_at.others if fitting & each.gpus.keys()))
    ahead = [name for name in holders if order.before(name, job_at.job)]
    if keeps and holders:
        rest = ", and nobody passes a job that does not fit" if blocking and passed == "nobody passes it" else ""
        first = f"; by {order.label} {listed(line)} {verb('wait', line)} before it{rest}" if line else ""
        held = f"{listed(holders)} {verb('hold', holders)} GPUs on which it could run"
        return f"{held}, and who runs keeps its GPUs{first}"
    if ahead:
        comes, holds = verb("come", ahead), verb("hold", ahead)
        too = f", and {listed(line)} {verb('wait', line)} before it too" if line else ""
        return f"by {order.label} {listed(ahead)} {comes} before it and {holds} GPUs that it could use{too}"
    if holders:
        return f"{listed(holders)} {verb('hold', holders)} the GPUs on which it could run"
    return ""


def _does_not_fit(job_at: JobAtTime, head: str) -> str:
    """That a job before it finds no room, or found none at the last decision if GPUs have become free since."""
    if not replace(job_at, job=head).has_free_gpus or job_at.call is None:
        return "does not fit"
    return f"did not fit at the last decision, at {format_duration(job_at.call.time_s, parts=2)}"


def verb(word: str, names: list[str]) -> str:
    """A verb for one job or several."""
    return f"{word}s" if len(names) == 1 else word
