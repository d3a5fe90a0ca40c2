"""What Hops says of a job at a time: its place in the queue, the service window, its gain and weight in the plan."""

from __future__ import annotations

import math

from workbench.base.labels import words_of
from workbench.base.units import format_duration
from workbench.simulation.job_at_time import HOLDS, Explained, Fact, JobAtTime, Link, Order

CHOSEN = "it is part of the plan with the largest gain (11), {weighed}"
BINDING = {
    "no_room": "no idle GPUs on which it runs at one of its sizes (13, erratum)",
    "not_chosen": "the plan gains more by other jobs on the GPUs that there are (11)",
    "outside": "jobs before it in the queue ask for all GPUs already, so that it is outside the service window (§3.6)",
    "no_idle": "no GPU is idle, and until the round ends nobody gives up any",
    "no_plan": "no plan is made before the next round",
    "coming": "a plan has GPUs for it, which is not carried out yet",
    "between_plans": "all goes on as before until the next plan is carried out",
    "profiled": "it is profiled before it enters the queue",
    "incumbent": "the best plan found within the time limit counts",
    "out_of_time": "the plan of the round before goes on, as the time limit was over",
}
"""What decided, by the code of the scheduler's reason."""
OF_ROOM = frozenset({"no_room", "not_chosen", "no_idle", "incumbent"})
"""Those that more free GPUs might undo."""
NUMBERS = {
    "priority": "",
    "latency_ratio": "wait / expected run time",
    "age_s": "s, expected run time (9)",
    "place": "in the queue, at the first plan",
    "window": "first plan whose window it was in (0: none)",
    "let_in": "by the adjustment of the window",
    "sensitivity": "rho (10)",
    "weight": "W_i (11)",
    "gain": "G_ij (11), over its slowest configuration",
    "learning_rate": "over that of its smallest size",
}


def explain(job_at: JobAtTime) -> Explained:
    """The numbers recorded at the last decision that had them, and what they came to."""
    found = {name: job_at.signals(name) for name in NUMBERS}
    facts = [
        Fact(words_of(name), at[1][job_at.job], unit)
        for name, unit in NUMBERS.items()
        if (at := found[name]) is not None and job_at.job in at[1] and _is_fresh(job_at, at[0])
    ]
    rule = words_of(str(job_at.run.knobs["priority"]))
    sentences = [f"Each plan is made for the head of the queue, in the order of its {rule}."]
    place, window = _last(job_at, "place"), _last(job_at, "window")
    if place is not None and window is not None:
        inside = "outside the service window of every plan" if window == 0 else f"in the window of plan {window:.0f}"
        sentences.append(f"When the queue was last planned for it stood at place {place:.0f}, {inside}.")
    gain = _last(job_at, "gain")
    binding = BINDING.get(job_at.said.code, "") if job_at.said is not None else ""
    if job_at.state in HOLDS and gain is not None:
        sentences.append(f"The configuration that it was given gains {gain:.3g} times its slowest one.")
        binding = binding or CHOSEN.format(weighed=_weighed(job_at))
    there = BINDING["profiled"] if job_at.state == "profiled" else "the plan gains most with it where it is (11)"
    instead = dict.fromkeys(job_at.usable, there) if job_at.held else {}
    links, anyway = _links(job_at, binding), job_at.said is not None and job_at.said.code not in OF_ROOM
    order = _order(job_at)
    return Explained(tuple(sentences), tuple(facts), binding, order, links=links, not_on=instead, anyway=anyway)


def _weighed(job_at: JobAtTime) -> str:
    """What priorities were to the plan by the knob lambda, and the job's own weight."""
    power, weight = float(job_at.run.knobs["lambda"]), _last(job_at, "weight")
    if power == 0:
        return "whatever the priorities (lambda 0)"
    if math.isinf(power):
        return "the highest priority first (lambda infinite)"
    return "weighted by priority" + ("" if weight is None else f": its weight is {weight:.3g}")


def _links(job_at: JobAtTime, binding: str) -> tuple[Link, ...]:
    """Gain and weight of each job in the latest plan that it was in, and what GPUs jobs have now."""
    placed = job_at.placement()
    plan = Link("plan", f"{placed.text} Of {job_at.job}: {binding or 'no plan is recorded'}.", placed.facts)
    found = job_at.signals("weight") or job_at.signals("gain")
    if found is None:
        return (plan,)
    told = job_at.run.signals
    told = told[told["time_s"] == found[0]]
    weight, gain = (
        dict(zip(told["job"][told["signal"] == name], told["value"][told["signal"] == name], strict=True))
        for name in ("weight", "gain")
    )
    names = dict.fromkeys([*weight, *gain])
    listed = "; ".join(f"{name} {gain.get(name, 0.0):.3g} x {weight.get(name, math.nan):.3g}" for name in names)
    facts = [Fact(f"gain of {name} (11)", gain.get(name, 0.0)) for name in names]
    facts += [Fact(f"weight of {name} (11)", value) for name, value in weight.items()]
    when = f"the plan of {format_duration(found[0], parts=2)}"
    text = f"(11) gain (0: not chosen) x weight W_i in {when}: {listed}."
    return Link("gain and weight", text, tuple(facts)), plan


def _last(job_at: JobAtTime, name: str) -> float | None:
    """The job's own value as last recorded, since it has what it has now."""
    found = job_at.signals(name)
    if found is None or job_at.job not in found[1] or not _is_fresh(job_at, found[0]):
        return None
    return found[1][job_at.job]


def _is_fresh(job_at: JobAtTime, at_s: float) -> bool:
    """Whether a number is from the time for which the job has had GPUs, or none."""
    return at_s >= job_at.since_s


def _order(job_at: JobAtTime) -> Order | None:
    return job_at.order("priority", words_of(str(job_at.run.knobs["priority"])), "", "highest", job_at.by_arrival)
