"""What Hops says of a job at a time: its place in the queue, the service window, its gain and weight in the plan."""

from __future__ import annotations

import math

from workbench.base.labels import words_of
from workbench.simulation.job_at_time import HOLDS, Explained, Fact, JobAtTime, Link, Order

BINDING = {
    "no_room": "(13, erratum) capacity: no idle GPUs on which it runs at one of its sizes",
    "not_chosen": "(11) weighted_gain: under (13, erratum) capacity other jobs of the window add up to more",
    "outside": "the service window (3.6): the smallest requests of the jobs before it reach all GPUs of the cluster",
    "no_idle": "no GPU is idle, and until the round ends nobody gives up any",
    "no_plan": "no plan is made before the next round",
    "coming": "a plan has GPUs for it, which is not carried out yet",
    "between_plans": "all goes on as before until the next plan is carried out",
    "profiled": "it is profiled before it enters the queue",
    "incumbent": "the time limit: the best plan found until then counts",
    "out_of_time": "the time limit: the plan of the round before goes on",
}
"""What decided, by the code of the scheduler's reason."""
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


def explain(moment: JobAtTime) -> Explained:
    """The numbers recorded at the last decision that had them, and what they came to."""
    found = {name: moment.signals(name) for name in NUMBERS}
    facts = [
        Fact(words_of(name), at[1][moment.job], unit)
        for name, unit in NUMBERS.items()
        if (at := found[name]) is not None and moment.job in at[1] and _is_fresh(moment, at[0])
    ]
    rule = words_of(str(moment.run.knobs["priority"]))
    sentences = [f"Each plan is made for the head of the queue, in the order of its {rule}."]
    place, window = _last(moment, "place"), _last(moment, "window")
    if place is not None and window is not None:
        inside = "outside the service window of every plan" if window == 0 else f"in the window of plan {window:.0f}"
        sentences.append(f"When the queue was last planned for it stood at place {place:.0f}, {inside}.")
    gain = _last(moment, "gain")
    binding = BINDING.get(moment.said.code, "") if moment.said is not None else ""
    if moment.state in HOLDS and gain is not None:
        sentences.append(f"The configuration that it was given gains {gain:.3g} times its slowest one.")
        binding = binding or "(11) weighted_gain: it is part of the plan with the largest weighted gain"
    return Explained(tuple(sentences), tuple(facts), binding, _order(moment), links=_links(moment, binding))


def _links(moment: JobAtTime, binding: str) -> tuple[Link, ...]:
    """Gain and weight of each job in the latest plan, and what the plan gave out."""
    found = {name: moment.signals(name) for name in ("weight", "gain")}
    weight, gain = (at[1] if (at := found[name]) is not None else {} for name in ("weight", "gain"))
    names = dict.fromkeys([*weight, *gain])
    listed = "; ".join(f"{name} {gain.get(name, 0.0):.3g} x {weight.get(name, math.nan):.3g}" for name in names)
    facts = [Fact(f"gain of {name} (11)", gain.get(name, 0.0)) for name in names]
    facts += [Fact(f"weight of {name} (11)", value) for name, value in weight.items()]
    valued = Link("gain and weight", f"(11) gain (0: waits) x weight W_i in the latest plan: {listed}.", tuple(facts))
    placed = moment.placement()
    plan = Link("plan", f"{placed.text} Of {moment.job}: {binding or 'no plan is recorded'}.", placed.facts)
    return (valued, plan) if names else (plan,)


def _last(moment: JobAtTime, name: str) -> float | None:
    """The job's own value as last recorded, since it has what it has now."""
    found = moment.signals(name)
    if found is None or moment.job not in found[1] or not _is_fresh(moment, found[0]):
        return None
    return found[1][moment.job]


def _is_fresh(moment: JobAtTime, at_s: float) -> bool:
    """Whether a number is from the time for which the job has had GPUs, or none."""
    return at_s >= moment.since_s


def _order(moment: JobAtTime) -> Order | None:
    return moment.order("priority", words_of(str(moment.run.knobs["priority"])), "", "highest", moment.by_arrival)
