"""What Hadar and HadarE say of a job at a time: prices and payoff, copies."""

from __future__ import annotations

from dataclasses import replace

from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.papers.hadar.scheduler import LEFT_OVER
from workbench.simulation.job_at_time import HOLDS, Explained, Fact, JobAtTime, Link, Order
from workbench.simulation.schema import PRICE_OF

CHOSEN = "its payoff{worth} is among those that add up to most on the GPUs that there are (8)"
BINDING = {
    "no_room": "there were too few free GPUs on which its gang runs (8, s.t.)",
    "payoff_not_positive": "its payoff, utility less the price of its GPUs until it is done, is not above 0",
    "outbid": "its payoff{worth} is not taken, as on the GPUs that there are the payoffs add up to more without it (8)",
    "worth_nothing": "it can earn nothing any more, and such jobs get, at no price, what all others leave",
    "no_servers": "it was chosen on GPUs counted by type, but these lie on servers that do not hold it (placement)",
    "left_over": "it has GPUs that nobody would pay for, as the payoffs add up to no more for it (8)",
    "stays": CHOSEN,
    "positive_payoff": CHOSEN,
}
"""What decided in the round's problem (`formulations.round`), by the code of the scheduler's reason; worth: ` of 9`."""
GIVEN = ("left_over", "stays", "positive_payoff")
"""Those of jobs that got GPUs."""


NO_COPY = {
    "nodes_down": "the nodes on which a copy of it runs are down",
    "others_there": "other jobs' copies are worth more on the nodes where a copy of it could run",
    "whole_there": "jobs of which no node can run a copy come first, and run whole where a copy of it could run",
    "no_step": "its steps left are split among all of its nodes (knob Split), and those that are free get none",
    "no_room": "no node can run a copy of it, so that it waits for free GPUs for its whole gang",
}
"""What decided that a job has no copy, by the code of the scheduler's reason."""
PAYOFFS = {
    "utility": "what the job's utility rises by with one more copy, less the price of the copy's GPUs until it is done",
    "remaining": "the part of the job's steps left that the copy does in the round",
    "work": "the seconds that the whole cluster would need for the steps that the copy does in the round",
    "balanced": "the seconds that the whole cluster would need for the steps that the copy does in the round, over the "
    "fourth root of those that it would need for the job's steps left",
}
"""What a copy is worth, by the knob `payoff`."""
LACKING = "left over by those that lack steps in this round, and no other job gains more time there"
"""Of the nodes of copies on which no payoff decided."""
UNFORKED = "no node can run a copy of it, and such jobs get GPUs for their whole gang, before the copies"


def hadar(job_at: JobAtTime) -> Explained:
    """The job's payoff beside the others', and the prices of the types that it could use."""
    facts, payoff, utility, call = [], job_at.signals("payoff"), job_at.signals("utility"), job_at.call
    said = job_at.said
    if payoff is not None and utility is not None and job_at.job in utility[1]:
        worth, of = payoff[1][job_at.job], utility[1][job_at.job]
        when = f"at {format_duration(payoff[0], parts=2)}"
        chosen = said is not None and said.code in GIVEN
        at = f"{when}, when it was chosen" if chosen else f"{when}, at the prices of the round's start"
        cost = "price of its GPUs until it is done" if chosen else "price of the GPUs that it would have"
        facts = [Fact("utility", of, at), Fact(cost, of - worth, when)]
        facts.append(Fact("payoff", worth, f"{when}: the first less the second"))
    prices = {kind: job_at.of_cluster(PRICE_OF + kind) for kind in job_at.usable}
    known = {kind: price for kind, price in prices.items() if price is not None and job_at.up[kind]}
    after = "" if call is None else f", once all were chosen at {format_duration(call.time_s, parts=2)}"
    unit = f"utility per GPU and round{after}"
    facts += [Fact(f"price of {kind}", price, unit) for kind, price in known.items()]
    sentences = [
        "The jobs whose payoffs, utility less the price of the GPUs, add up to most (8) have them: several small ones "
        "may be chosen in the place of a larger one, and prices rise with every job taken. Payoffs are at the prices "
        "when a job was chosen, and at those of the round's start for jobs that were not."
    ]
    if known:
        gang = job_at.spec.gpus
        listed = ", ".join(f"{gang * price:.3g} on {kind}" for kind, price in known.items())
        sentences.append(f"At the prices after the last decision its gang of {gang} costs, in each round, {listed}.")
    known_worth = None if payoff is None else payoff[1].get(job_at.job)
    told = "" if known_worth is None else f" of {known_worth:.3g}"
    binding = BINDING.get(said.code, "").format(worth=told) if said is not None else _unasked(job_at)
    order = job_at.order("payoff", "payoff", "", "")
    instead = dict.fromkeys(job_at.usable, "the payoffs add up to most with it where it is (8)") if job_at.held else {}
    links, dear = _links(job_at, order, binding), said is not None and said.code == "payoff_not_positive"
    return Explained(tuple(sentences), tuple(facts), binding, order, links=links, not_on=instead, anyway=dear)


def _links(job_at: JobAtTime, order: Order | None, binding: str) -> tuple[Link, ...]:
    """What its GPUs cost each until it is done, utility less that, the choice and the prices after it."""
    payoffs, utility = {} if order is None else order.values, (job_at.signals("utility") or (0.0, {}))[1]
    found = sorted(((utility[name], worth, name) for name, worth in payoffs.items()), key=lambda each: -each[1])
    costs = [(name, of - worth) for of, worth, name in found]
    sums = [f"{name} {short_number(of, 6)} - {of - worth:.3g} = {short_number(worth, 6)}" for of, worth, name in found]
    price = Link(
        "price",
        "Price of the GPUs until it is done, at the prices when a job was chosen, of others at those of the round's "
        f"start: {', '.join(f'{name} {cost:.3g}' for name, cost in costs)}.",
        tuple(Fact(f"price of the GPUs of {name}", cost, "utility") for name, cost in costs),
    )
    payoff = Link(
        "payoff",
        f"Payoffs, utility less that price: {', '.join(sums)}.",
        tuple(Fact(f"payoff of {name}", worth, "utility") for _, worth, name in found),
    )
    kinds, placed, unit = job_at.run.scenario.cluster.types, job_at.placement(), "utility per GPU and round"
    after = {kind: cost for kind in kinds if (cost := job_at.of_cluster(PRICE_OF + kind)) is not None}
    then = f" Prices once all were chosen, {unit}: {', '.join(f'{kind} {cost:.3g}' for kind, cost in after.items())}."
    choice = Link(
        "choice",
        f"{placed.text} Of {job_at.job}: {binding or 'no reason was given'}.{then if after else ''}",
        (*placed.facts, *(Fact(f"price of {kind} once all were chosen", cost, unit) for kind, cost in after.items())),
    )
    return (price, payoff, choice) if found else (choice,)


def _unasked(job_at: JobAtTime) -> str:
    """Why a job that waits has no reason of its own."""
    if job_at.state in HOLDS:
        return ""
    call = job_at.call
    asked = job_at if call is None else replace(job_at, at_s=call.time_s)
    if job_at.run.knobs["reschedule"] == "waiting" and not any(asked.free.values()):
        return "no GPU was free, and who runs keeps its GPUs until it is done (knob Reschedule)"
    return ""


def hadare(job_at: JobAtTime) -> Explained:
    """How many copies the job has, what they did in the last round, and why it has none."""
    copies, done = job_at.signals("copies"), job_at.signal("last_round_steps")
    facts = [] if copies is None or job_at.job not in copies[1] else [Fact("copies", copies[1][job_at.job])]
    facts += [] if done is None else [Fact("steps of its copies in the last round they had", done, "steps")]
    payoff = job_at.run.knobs["payoff"]
    sentences = [
        "Every job has at most one copy on a node, each with a part of its steps; nodes go to the copies with the "
        f"largest payoff: {PAYOFFS[str(payoff)]}."
    ]
    if job_at.state in HOLDS:
        said, payoffs = job_at.said, job_at.signals("payoff")
        count = 0 if copies is None else int(copies[1].get(job_at.job, 0))
        left = 0 if said is None else said.text.count(LEFT_OVER)
        chosen, worth = count - left, None if payoffs is None else payoffs[1].get(job_at.job)
        paid = "" if worth is None else f", {f'together {worth:.3g}' if chosen > 1 else f'{worth:.3g}'},"
        mine = "its copy" if count == 1 else f"its {f'{count} ' if count else ''}copies"
        among = f"{f'{chosen} of {mine}' if left else mine}{paid} {'was' if chosen == 1 else 'were'} among these"
        other = f"{'the node of the other was' if left == 1 else 'the nodes of the others were'} {LACKING}"
        binding = f"nodes go in turn to the copies with the largest payoff: {among}{f'; {other}' if left else ''}"
        if left and not chosen:
            binding = f"the node{' was' if left == 1 else 's of its copies were'} {LACKING}"
        if said is not None and said.code == "unforked":
            binding = UNFORKED
    else:
        binding = "" if job_at.said is None else NO_COPY.get(job_at.said.code, "")
    return Explained(tuple(sentences), tuple(facts), binding, gang=False, links=_copies_links(job_at, binding))


def _copies_links(job_at: JobAtTime, binding: str) -> tuple[Link, ...]:
    """Steps that copies did in the last round, copies of this one, the choice."""
    links = []
    for step, name, text, unit in (
        ("work", "last_round_steps", "Steps that copies did together in the last round they had", "steps"),
        ("payoff", "payoff", "Payoffs of each job's copies together, at the prices when each was chosen", ""),
        ("copies", "copies", "Copies since the last decision", ""),
    ):
        values = (job_at.signals(name) or (0.0, {}))[1]
        listed = ", ".join(f"{job} {short_number(value)}" for job, value in values.items())
        facts = tuple(Fact(f"{step} of {job}", value, unit) for job, value in values.items())
        links += [Link(step, f"{text}: {listed}.", facts)] if values else []
    placed = job_at.placement()
    why = binding or "no reason was given"
    return (*links, Link("choice", f"{placed.text} Of {job_at.job}: {why}.", placed.facts))
