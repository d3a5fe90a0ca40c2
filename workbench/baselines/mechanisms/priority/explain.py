"""What schedulers that divide time say of a job at a time: its shares, what limits them, its priority (Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.base.errors import counted
from workbench.base.labels import listed
from workbench.base.units import format_duration
from workbench.baselines.mechanisms.explain import verb
from workbench.baselines.mechanisms.priority.picking import coarse
from workbench.simulation.job_at_time import HOLDS, TIE, Explained, Explainer, Fact, JobAtTime, Link, Order

if TYPE_CHECKING:
    import pandas as pd

FULL = 1e-6
"""A limit is met when less than this is left of it, relative."""
RULE = (
    "A round goes to the jobs furthest behind: "
    "priority = share of time / its part of the time given out on the type so far."
)
BY_ROUNDS = "A round goes to the jobs furthest behind: priority = share of time / rounds had on the type so far."


class NoShare(NamedTuple):
    """Why a policy gives a job no share: in words, with sentences, numbers, and the order of jobs that it went by."""

    binding: str
    sentences: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    order: Order | None = None


WhyNone = Callable[[JobAtTime, "pd.DataFrame"], NoShare | None]
"""Of a job without a share, from the shares in force; None where there is no more to say than that."""


def explainer(why_none: WhyNone = lambda job_at, block: None, tags: tuple[str, str] = ("", "")) -> Explainer:
    """Shares by type, which limits of the policy's problem they meet, and the priority that the round went by.

    why_none: of a policy that may give a job no share; tags: its paper's equations of a job's time and of capacity.
    """

    def explain(job_at: JobAtTime) -> Explained:
        return _explained(job_at, why_none, tags)

    return explain


explain = explainer()


def _explained(job_at: JobAtTime, why_none: WhyNone, tags: tuple[str, str]) -> Explained:
    order = job_at.order("priority", "priority on the type where it is highest", "", "highest")
    order = None if order is None else order._replace(infinite=INFINITE)
    block, nowhere, call = shares_now(job_at), _fits_nowhere(job_at), job_at.call
    known = None
    if block is not None and order is not None and call is not None and order.at_s == call.time_s:
        known = by_type(job_at, block, order.values)
    if order is not None and known is not None:
        order = order._replace(says=_where_highest(job_at.job, known))
    found = _reasoned(job_at, why_none, tags, order, block, nowhere, known)
    return replace(found, links=_links(job_at, block, known))


def _where_highest(job: str, known: ByType) -> str:
    """A job's highest priority and on which types it has it; empty without one."""
    own = {kind: of[job] for kind, of in known.items() if of.get(job, 0.0) > 0}
    most = max(own.values(), default=0.0)
    kinds = listed(kind for kind, value in own.items() if _same(value, most))
    return f"no time on {kinds} with these shares" if math.isinf(most) else f"{_number(most)} on {kinds}" if own else ""


def _links(job_at: JobAtTime, block: pd.DataFrame | None, known: ByType | None) -> tuple[Link, ...]:
    """Shares in force, ranks in the round, placement."""
    if block is None:
        return (job_at.placement(),)
    rows = _shares_of(block)
    rows.sort(key=lambda row: job_at.job not in row[0].split(" + "))
    shares = Link(
        "share",
        f"Shares of time since {_clock(block)}: "
        + _few([f"{unit} {share:.3g} on {kind}" for unit, kind, share in rows]),
        tuple(Fact(f"share of {unit} on {kind}", share) for unit, kind, share in rows),
    )  # fmt: skip
    call = job_at.call
    if known is None or call is None:
        return shares, job_at.placement()
    ranks = _order_of_choice(job_at, block)
    share_of = {(unit, kind): share for unit, kind, share in rows}
    told = [
        f"{n + 1}. {unit} on {kind}: {_divided(value, share_of[unit, kind])}{tie}"
        for n, (value, unit, kind, tie) in enumerate(ranks)
    ]
    rule = _rule(job_at).partition("priority = ")[2].rstrip(".")
    by_type = job_at.run.knobs.get("pick") == "by_type"
    first = f"{'on each type alone, ' if by_type else ''}larger first"
    rank = Link(
        "rank",
        f"Rank in the round of {format_duration(call.time_s, parts=2)}, {first}, {rule}: {_few(told)}",
        tuple(Fact(f"priority of {unit} on {kind}", value) for value, unit, kind, _ in ranks),
    )
    return shares, rank, job_at.placement()


def _order_of_choice(job_at: JobAtTime, block: pd.DataFrame) -> list[tuple[float, str, str, str]]:
    """Priority, unit and type of all that have a share, in the order of choice, and what put one behind the one before
    it that has the same priority (as `picking` orders them, `SharePlan.ties`)."""
    assert job_at.call is not None
    names, kinds = list(dict.fromkeys(block["unit"])), list(job_at.run.scenario.cluster.types)
    earlier = job_at.run.shares[job_at.run.shares["time_s"] <= job_at.call.time_s]
    owed_s, share = _owed_s(job_at, earlier), {(unit, kind): each for unit, kind, each in _shares_of(block)}
    value = {key: each for key, each in _priorities(job_at, block).items() if each > 0}
    by_type = job_at.run.knobs.get("pick") == "by_type"

    def rank(key: tuple[str, str]) -> tuple[float, ...]:
        turn = float(kinds.index(key[1]))
        owed, own = round(owed_s.get(key, 0.0), 6), round(share[key], 9)
        return (turn if by_type else 0.0, -coarse(np.array(value[key])).item(), -owed, -own, names.index(key[0]), turn)

    found: list[tuple[float, str, str, str]] = []
    for key in sorted(value, key=rank):
        last = found[-1][1:3] if found else key
        same = last != key and rank(last)[:2] == rank(key)[:2]
        found.append((value[key], *key, _behind(rank(last), rank(key), key[1], _clock(block)) if same else ""))
    return found


def _behind(first: tuple[float, ...], then: tuple[float, ...], kind: str, at: str) -> str:
    """What put the second of two behind the first that has the same priority for a type, by their ranks; at: when the
    shares were computed, up to which they were owed time."""
    if first[2] != then[2]:
        return f", behind the one before: by {at} that one {_over(-first[2])} of {kind}, this one {_over(-then[2])}"
    return ", behind the one before as its share is smaller" if first[3] != then[3] else ", listed after the one before"


MOST_LISTED = 12
"""Shares and ranks that a text names; the facts have all."""


def _few(parts: list[str]) -> str:
    left = len(parts) - MOST_LISTED
    return "; ".join(parts[:MOST_LISTED]) + (f"; and {left} more." if left > 0 else ".")


def _reasoned(
    job_at: JobAtTime,
    why_none: WhyNone,
    tags: tuple[str, str],
    order: Order | None,
    block: pd.DataFrame | None,
    nowhere: str,
    known: ByType | None,
) -> Explained:
    """All but the links."""
    if block is None or nowhere:
        return Explained((_rule(job_at),), binding=nowhere, order=order)
    own = block[[job_at.job in unit.split(" + ") for unit in block["unit"]]]
    sums = own.groupby("accelerator", sort=False)["share"].sum()
    shares = {str(kind): float(share) for kind, share in sums.items()}
    facts = [Fact(f"share of time on {kind}", share) for kind, share in shares.items()]
    taken = given_out(job_at, block)
    facts += [Fact(f"{kind} given out by the shares", taken[kind], f"of {job_at.up[kind]} GPUs") for kind in taken]
    received = _received(order.values.get(job_at.job) if order is not None else None, shares)
    if received is not None:
        what = "rounds had there" if _by_rounds(job_at) else "part of the time received"
        facts.append(Fact(what, received))
    limits = _limits(job_at, shares, taken, tags)
    sentences = [_shares_in_words(job_at, shares, block), *_why_slower(job_at, shares, taken), _rule(job_at)]
    if limits:
        sentences.append(f"Limits that the shares meet: {'; '.join(limits)}.")
    if not shares and job_at.state == "waiting":
        why = _without(job_at, block, why_none)
        binding = why.binding + _left_over(job_at, block) + _kept_idle(job_at, shares)
        return Explained((*sentences, *why.sentences), (*facts, *why.facts), binding, why.order or order)
    if known is not None:
        facts += [Fact(f"priority on {kind}", known[kind][job_at.job]) for kind in shares if job_at.job in known[kind]]
        sentences += _about_ties(job_at, shares, known)
    instead = {} if known is None else _not_on(job_at, shares, known, _clock(block))
    return Explained(tuple(sentences), tuple(facts), _binding(job_at, shares, order, known), order, not_on=instead)


def _by_rounds(job_at: JobAtTime) -> bool:
    """Whether priorities are over the rounds that a job has had (section 3.2)."""
    return job_at.run.knobs.get("priority_over") == "rounds_of_job"


def _rule(job_at: JobAtTime) -> str:
    return BY_ROUNDS if _by_rounds(job_at) else RULE


def _without(job_at: JobAtTime, block: pd.DataFrame, why_none: WhyNone) -> NoShare:
    """Why a waiting job has no share of time."""
    if _older(job_at, block):
        return NoShare("the shares in force are from before it came")
    return why_none(job_at, block) or NoShare("its share of time is 0")


def _fits_nowhere(job_at: JobAtTime) -> str:
    """That too many nodes were down at the last decision: such jobs are left out of the policy's problem."""
    if job_at.state != "waiting" or job_at.call is None:
        return ""
    up = replace(job_at, at_s=job_at.call.time_s).up
    if any(up[kind] >= gpus for kind, gpus in job_at.needs.items()):
        return ""
    then = f"at the last decision, at {format_duration(job_at.call.time_s, parts=2)}"
    return f"{then}, no type on which it runs had {counted(job_at.spec.gpus, 'GPU')} on nodes that were up"


def _left_over(job_at: JobAtTime, block: pd.DataFrame) -> str:
    """Who has GPUs that the job could use, and no share of them either."""
    entitled = {(name, kind) for unit, kind in zip(block["unit"], block["accelerator"], strict=True)
                for name in unit.split(" + ")}  # fmt: skip
    others = dict.fromkeys(
        each.job for each in job_at.others if all((each.job, kind) not in entitled for kind in each.gpus)
    )
    return f"; GPUs left over went to {listed(others)}" if others else ""


def shares_now(job_at: JobAtTime) -> pd.DataFrame | None:
    """The shares in force: those recorded last."""
    until = int(job_at.cells.column("shares", "time_s").searchsorted(job_at.at_s, side="right"))
    if until == 0:
        return None
    last = job_at.cells.column("shares", "decision")[until - 1]
    return job_at.run.shares.iloc[job_at.cells.rows("shares", "decision")[last]]


def no_more_promised(then: JobAtTime, now: JobAtTime) -> str:
    """Why a job that waits has GPUs at the same time of another run, to which no more of its time was promised: its
    turn comes later there, or its shares are of other types. Empty where more was promised, or no time is divided."""
    blocks = [block for each in (then, now) if (block := shares_now(each)) is not None]
    if len(blocks) < 2 or now.state in HOLDS or then.state not in HOLDS:
        return ""
    own = [[row for row in _shares_of(block) if now.job in row[0].split(" + ")] for block in blocks]
    since_s, until_s = float(blocks[1]["time_s"].iloc[0]), min(then.at_s, now.at_s)
    had_s = [sum(max(min(end, until_s) - max(start, since_s), 0.0) for start, end in at.spans) for at in (then, now)]
    if sum(share for *_, share in own[0]) > sum(share for *_, share in own[1]) + FULL:
        return ""
    if had_s[0] < had_s[1] - TICK_S:
        less, than = (format_duration(each, parts=2) for each in had_s)
        return f", as its turn would come later: by then it would have had GPUs for {less}, not for {than}"
    shares = [listed(f"{share:.3g} on {kind}" for _, kind, share in rows) or "0" for rows in own]
    return f", as its shares of time would be {shares[0]}, not {shares[1]}" if shares[0] != shares[1] else ""


def _shares_in_words(job_at: JobAtTime, shares: Mapping[str, float], block: pd.DataFrame) -> str:
    if shares:
        return f"Its shares: {' and '.join(f'{share:.3g} of its time on {kind}' for kind, share in shares.items())}."
    if _older(job_at, block):
        return f"It has no share of time yet: the shares in force, of {_clock(block)}, are from before it came."
    return "The policy gives it no share of time."


def _why_slower(job_at: JobAtTime, shares: Mapping[str, float], taken: Mapping[str, float]) -> list[str]:
    """Why a job has time of a type on which it is slower: all of the faster ones is given out."""
    speeds, had = job_at.usable, [kind for kind, share in shares.items() if share > FULL]
    best = max(speeds.values(), default=0.0)
    faster = [kind for kind, speed in speeds.items() if _same(speed, best) and kind in taken]
    slower = [kind for kind in had if speeds.get(kind, best) < best and not _same(speeds[kind], best)]
    if not slower or not faster or any(taken[kind] < job_at.up[kind] * (1 - FULL) for kind in faster):
        return []
    return [
        f"Why time on {listed(slower)}, where it is slower: what it gets is speed times share of time, added up over "
        f"types, and all time on {listed(faster)} is given out by the shares, over time, not in each round."
    ]


def _older(job_at: JobAtTime, block: pd.DataFrame) -> bool:
    """Whether the shares in force are from before the job came (new ones have everybody who is there, be it with 0)."""
    return float(block["time_s"].iloc[0]) < float(job_at.row["arrival_s"])


def _clock(block: pd.DataFrame) -> str:
    return format_duration(float(block["time_s"].iloc[0]), parts=2)


def given_out(job_at: JobAtTime, block: pd.DataFrame) -> dict[str, float]:
    """GPUs of each type that the job could use and that the shares of all add up to."""
    gpus, place, sums = job_at.cells.column("jobs", "gpus"), job_at.cells.place, dict[str, float]()
    for unit, kind, share in zip(block["unit"], block["accelerator"], block["share"].tolist(), strict=True):
        sums[kind] = sums.get(kind, 0.0) + share * int(gpus[place[unit.split(" + ")[0]]])
    return {kind: sums.get(kind, 0.0) for kind in job_at.usable if kind not in job_at.too_small}


def _received(priority: float | None, shares: Mapping[str, float]) -> float | None:
    """Its part of the time so far, from its priority, where it has a share of one type only."""
    if priority is None or len(shares) != 1 or not 0 < priority < float("inf"):
        return None
    return next(iter(shares.values())) / priority


def _limits(
    job_at: JobAtTime, shares: Mapping[str, float], taken: Mapping[str, float], tags: tuple[str, str]
) -> list[str]:
    """The rows of the policy's problem that the shares meet with equality."""
    found = []
    job_time, capacity = (f" ({tag})" if tag else "" for tag in tags)
    if sum(shares.values()) >= 1 - FULL:
        found.append(f"its shares add up to all of its time{job_time}")
    for kind, gpus in taken.items():
        if job_at.up[kind] and gpus >= job_at.up[kind] * (1 - FULL):
            all_of = f"{'all ' if job_at.up[kind] > 1 else ''}{counted(job_at.up[kind], 'GPU')}"
            found.append(f"the shares of all jobs add up to {all_of} of {kind}{capacity}")
    return found


def _binding(job_at: JobAtTime, shares: Mapping[str, float], order: Order | None, known: ByType | None) -> str:
    """What decided the round for the job."""
    if job_at.state in HOLDS:
        if len(job_at.present) == 1:
            return "it is the only job that is there"
        if job_at.held_types & set(shares):
            held = listed(kind for kind in shares if kind in job_at.held_types)
            return f"it was far enough behind its share of {held} to have its turn before the GPUs were gone"
        return "GPUs that no job with a share of them used"
    if known is not None:
        return "; ".join(_on_type(job_at, kind, known[kind]) for kind in shares) + _kept_idle(job_at, shares)
    if order is None or job_at.job not in order.values:
        return ""
    rivals = [each.job for each in job_at.others if set(each.gpus) & set(shares)]
    ahead = dict.fromkeys(name for name in rivals if order.before(name, job_at.job))
    if ahead:
        return f"{listed(ahead)}, with {'a higher priority' if len(ahead) == 1 else 'higher priorities'}, took the GPUs"
    return "Algorithm 1 had no GPUs left of the types of which it has a share when its turn came"


def _kept_idle(job_at: JobAtTime, shares: Mapping[str, float]) -> str:
    """Why GPUs stay free that the job could use: nobody has them without a share (the knob `leftovers`)."""
    free = [kind for kind, gpus in job_at.needs.items() if kind not in shares and job_at.free[kind] >= gpus]
    if job_at.run.knobs.get("leftovers") != "none" or not free:
        return ""
    return (
        f"; {listed(free)} {verb('stay', free)} free, as nobody has GPUs without a share of them (knob Leftovers: none)"
    )


def _on_type(job_at: JobAtTime, kind: str, priority: Mapping[str, float]) -> str:
    """Why the job has no GPUs of a type of which it has a share."""
    own, gang = priority[job_at.job], job_at.spec.gpus
    if gang > job_at.up[kind]:
        return f"its gang of {gang} does not fit into {counted(job_at.up[kind], 'GPU')} of {kind}"
    ahead, equal = _rivals(dict.fromkeys(each.job for each in job_at.others if kind in each.gpus), priority, own)
    parts = []
    if ahead:
        shown = listed((f"{name} ({_rank(priority[name])})" for name in ahead), 3)
        of = "its share" if len(ahead) == 1 else "their shares"
        parts.append(f"{shown} came before it, further behind {of} than it is ({_rank(own)})")
    if equal:
        same = "as far behind" if ahead else f"as far behind as it is ({_rank(own)})"
        parts.append(
            f"{listed(equal, 3)}, {same}, {'was' if len(equal) == 1 else 'were'} chosen{_tie(job_at, kind, equal)}"
        )
    if not parts:
        parts.append(f"its gang of {gang} did not fit into what was left when its turn came")
    return f"on {kind} {', and '.join(parts)}"


def _tie(job_at: JobAtTime, kind: str, equal: list[str]) -> str:
    """By what jobs with a job's priority for a type came before it: by what they were owed when the shares were
    computed, or by larger shares; empty where that does not tell (`SharePlan.ties`)."""
    call, shares = job_at.call, job_at.run.shares
    if call is None or shares["unit"].str.contains(" + ", regex=False).any():
        return ""
    shares = shares[shares["time_s"] <= call.time_s]
    owed_s, now_s = _owed_s(job_at, shares), float(shares["time_s"].max())
    block = shares[(shares["time_s"] == now_s) & (shares["accelerator"] == kind)]
    share = dict(zip(block["unit"], block["share"], strict=True))
    own_s, owed = owed_s.get((job_at.job, kind), 0.0), [owed_s.get((name, kind), 0.0) for name in equal]
    at = format_duration(now_s, parts=2)
    if all(each > own_s + TICK_S for each in owed):
        told = (f"{name} {_over(each)}" for name, each in zip([*equal, job_at.job], [*owed, own_s], strict=True))
        return f", owed more time there (by {at} {listed(told)})"
    same = all(abs(each - own_s) <= TICK_S for each in owed)
    own = share.get(job_at.job, 0.0)
    if same and all(share.get(name, 0.0) > own and not _same(share[name], own) for name in equal):
        return (
            f", with a larger share ({listed(f'{name} {share[name]:.3g}' for name in equal)}, {job_at.job} {own:.3g})"
        )
    if not same or not all(_same(share.get(name, 0.0), own) for name in equal):
        return ""
    came_s = job_at.run.jobs.set_index("job")["arrival_s"]
    earlier = all(came_s[name] < came_s[job_at.job] for name in equal)
    return ", the earlier to come" if earlier else ", listed before it in the scenario"


TICK_S = 1e-6
"""Of times owed that differ by less the share decides."""


def _over(owed_s: float) -> str:
    """What was had, against the share."""
    if abs(owed_s) <= TICK_S:
        return "was owed nothing"
    return f"had {format_duration(abs(owed_s), parts=2)} {'more' if owed_s < 0 else 'less'} than its share"


def _owed_s(job_at: JobAtTime, shares: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Seconds by unit and type that they were owed when the last of these shares were computed: what those before
    gave them, less what they had."""
    times_s = sorted(set(shares["time_s"]))
    owed_s = {key: -had_s for key, had_s in _received_s(job_at, 0.0, times_s[-1]).items()}
    lasted_s = {since_s: until_s - since_s for since_s, until_s in pairwise(times_s)}
    for time_s, *key, share in shares[["time_s", "unit", "accelerator", "share"]].itertuples(index=False, name=None):
        owed_s[key[0], key[1]] = owed_s.get((key[0], key[1]), 0.0) + share * lasted_s.get(time_s, 0.0)
    return owed_s


def _not_on(job_at: JobAtTime, shares: Mapping[str, float], known: ByType, since: str) -> dict[str, str]:
    """By type that it could use and has not: why a job that has GPUs has none there; since: of the shares."""
    if job_at.state not in HOLDS:
        return {}
    held = max(job_at.held_types, key=lambda kind: known[kind].get(job_at.job, 0.0))
    there = known[held].get(job_at.job, 0.0)
    found = {}
    for kind in job_at.usable.keys() - job_at.held_types:
        own = known[kind].get(job_at.job, 0.0)
        if kind not in shares:
            found[kind] = f"it has no share of {kind}"
        elif math.isinf(there) and not math.isinf(own):
            found[kind] = (
                f"it had had nothing of its share of {held} since {since}, when shares were computed anew, "
                "so its turn came there first"
            )
        elif there > own:
            found[kind] = f"it was further behind its share of {held} ({_rank(there)}) than of {kind} ({_rank(own)})"
        elif own > there:
            found[kind] = _on_type(job_at, kind, known[kind])
        else:
            found[kind] = f"it was as far behind its share of {held} as of {kind}, and its turn came there first"
    return found


def _rivals(names: Iterable[str], priority: Mapping[str, float], own: float) -> tuple[list[str], list[str]]:
    """Those of these jobs that have a higher priority, and those that have the same one."""
    given = {name: priority.get(name, 0.0) for name in names}
    equal = [name for name, value in given.items() if _same(value, own)]
    return [name for name, value in given.items() if value > own and name not in equal], equal


def _about_ties(job_at: JobAtTime, shares: Mapping[str, float], known: ByType) -> list[str]:
    """Who waits for the same GPUs with no lower a priority, what is infinite, and what decides between equals."""
    if job_at.state != "waiting":
        return []
    said, tied = [], False
    for kind in shares:
        own = known[kind][job_at.job]
        line = [name for name in job_at.waiting if name != job_at.job]
        ahead, equal = _rivals(line, known[kind], own)
        if ahead:
            said.append(f"For {kind} {listed(ahead)} {verb('wait', ahead)} before it too.")
        if equal:
            said.append(f"For {kind} {listed(equal)} {verb('wait', equal)} with the same priority.")
        tied |= bool(equal or _rivals((each.job for each in job_at.others if kind in each.gpus), known[kind], own)[1])
    if any(math.isinf(known[kind][job_at.job]) for kind in shares):
        said.append(
            "A priority is infinite while a job with a share has had no time on the type since shares were computed."
        )
    return [*said, TIES] if tied else said


TIES = "Equal priorities go by the time that is owed, then by share, then by arrival."


def _same(one: float, other: float) -> bool:
    return one == other or math.isclose(one, other, rel_tol=TIE)


INFINITE = "a job with a share that has had no time on the type since shares were computed"
UNSERVED = "no time there with these shares"
"""Of an infinite priority."""


def _rank(priority: float) -> str:
    return UNSERVED if math.isinf(priority) else f"priority {_number(priority)}"


def _divided(priority: float, share: float) -> str:
    """A priority with the share and what it is divided by."""
    if math.isinf(priority):
        return UNSERVED
    return f"{_number(priority)} ({share:.3g} / {share / priority:.3g})"


def _number(priority: float) -> str:
    return "infinite" if math.isinf(priority) else f"{priority:.3g}"


ByType = Mapping[str, Mapping[str, float]]
"""Priorities by type and job."""


def by_type(job_at: JobAtTime, block: pd.DataFrame, best: Mapping[str, float]) -> ByType | None:
    """Priorities at the last decision, from the shares in force and the time received since they were computed.

    block: the shares; best: the largest of each job as recorded. None where these are not what the run's tables give:
    priorities then do not begin at nothing received (the knob `initial_time`), or types are divided by placement.
    """
    call = job_at.call
    kinds = set(job_at.run.scenario.cluster.types)
    if call is None or not set(block["accelerator"]) <= kinds:
        return None
    found: dict[str, dict[str, float]] = {kind: {} for kind in kinds}
    for (unit, kind), value in _priorities(job_at, block).items():
        for name in unit.split(" + "):
            found[kind][name] = max(found[kind].get(name, 0.0), value)
    largest = {name: max((one.get(name, 0.0) for one in found.values()), default=0.0) for name in best}
    return found if all(_close(largest[name], value) for name, value in best.items()) else None


def _priorities(job_at: JobAtTime, block: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Priorities at the last decision by unit and type."""
    assert job_at.call is not None
    time_s, total_s = _received_s(job_at, float(block["time_s"].iloc[0]), job_at.call.time_s), dict[str, float]()
    for (_, kind), seconds in time_s.items():
        total_s[kind] = total_s.get(kind, 0.0) + seconds
    found = {}
    for unit, kind, share in _shares_of(block):
        got_s = time_s.get((unit, kind), 0.0)
        unit_s = float(job_at.run.knobs["round_s"] if _by_rounds(job_at) else total_s.get(kind, 0.0))
        found[unit, kind] = (share * unit_s / got_s if got_s > 0 else math.inf) if share > 0 else 0.0
    return found


def _shares_of(block: pd.DataFrame) -> list[tuple[str, str, float]]:
    """Unit, type and share of each row."""
    return list(zip(block["unit"].astype(str), block["accelerator"].astype(str), block["share"].tolist(), strict=True))


def _close(one: float, other: float) -> bool:
    return one == other or math.isclose(one, other, rel_tol=FULL)


def _received_s(job_at: JobAtTime, since_s: float, until_s: float) -> dict[tuple[str, str], float]:
    """Seconds that units have had on types between two times, by unit and accelerator."""
    cells, names = job_at.cells, ("start_s", "end_s", "unit", "accelerator", "job")
    start_s, end_s, unit, kind, job = (cells.column("timeline", name) for name in names)
    rows = np.flatnonzero((end_s > since_s) & (start_s < until_s) & cells.taken)
    gang = cells.column("jobs", "gpus")[[cells.place[name] for name in job[rows]]]
    seconds = (np.minimum(end_s[rows], until_s) - np.maximum(start_s[rows], since_s)) / gang
    found: dict[tuple[str, str], float] = {}
    for key, each in zip(zip(unit[rows], kind[rows], strict=True), seconds.tolist(), strict=True):
        found[key] = found.get(key, 0.0) + each
    return found
