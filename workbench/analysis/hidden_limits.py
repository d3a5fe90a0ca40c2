"""Limits that no file tells, by what accounts and QOS have at once: in a log, and in runs that do not know them.

What limits count (GrpTRES, GrpJobs, MaxTRESPU, MaxJobs ...) are GPUs and jobs at once: where one binds, the log never
goes beyond it, and a run that does not know it stays beyond for as long as there are jobs; where none does, a run is
beyond the log's peak as shortly as peaks last. So one is told of an account or QOS with many jobs that, itself or by
one of its users, is beyond for a twentieth of the time, where the log was near its peak for at least as long as the
run near its own: a ceiling that binds does that, a maximum of chance not (ours). A fiftieth is enough where the log was
near its peak for long, and three times as long as the run near its own (ours). And at a ceiling that binds jobs wait:
three at least must have spent half of their wait while with them there would have been more at once than ever in the
log (ours), or one run more or less would turn the answer; who waited so at a ceiling that holds in the run too, as
a limit of the files does, tells nothing of another one (ours). Accounts of a tree that share one are looked at
together, where a file tells the tree.

What holds jobs is seen in their waits too, of however few: a job that waits beside GPUs which it could have, held by no
limit of the files, waits for a place in a plan (a job before it in the queue is kept its nodes), and so do jobs of a
run; where somebody's do for a twentieth of the time, and three times as long as in the run, and wait so much longer
that the run's mean wait is off by over 40 %, something holds them that no file tells (ours): a limit, or that GPUs were
away, which looks the same. A limit that hardly binds cannot be seen so.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.base.arrays import BoolArray, FloatArray
from workbench.baselines.mechanisms.slurm.asks import Ask
from workbench.baselines.mechanisms.slurm.free import FreeNow, GpusByNode, recorded_places
from workbench.baselines.mechanisms.slurm.limits import Ledger
from workbench.baselines.mechanisms.slurm.passes import kept_from, reserved
from workbench.baselines.mechanisms.slurm.site import SlurmSite
from workbench.scenario.scenario import Scenario

LEAST_OF_GROUP, MOST_BEYOND = 50, 0.05
NEAR, LEAST_NEAR, LONGER, MOST_BEYOND_CEILING = 0.9, 0.05, 3.0, 0.02
"""What is near a peak, as a part of it; at a ceiling an account is so long near it in the log, and so much longer."""
PEAKS = ["group", "user", "what", "recorded", "simulated", "beyond", "near", "simulated_near", "waiting"]
LEAST_WAITING, PATIENT = 3, 0.5
"""So many jobs must have waited at a peak for this part of their wait, as they do where a limit makes it."""
LEAST_HELD, MOST_LACKING, LOOKS = 6, 0.05, 1000
"""So many jobs must wait beside free GPUs; of how many places may be unknown; how often it is looked."""
MOST_OFF = 0.4
"""Of the mean recorded wait of those that wait beside free GPUs: of six jobs in one run it is off by 39 % by chance."""
BESIDE_ROOM = ["group", "user", "jobs", "held", "recorded", "simulated", "off"]


class Stay(NamedTuple):
    """A job's time on its GPUs (of each node), and since when it had waited for them (s)."""

    name: str
    since_s: float
    start_s: float
    end_s: float
    gpus: GpusByNode


def told_hidden(peaks: pd.DataFrame, beside_room: pd.DataFrame) -> Iterator[str]:
    """A sentence on each of those that seem to have a limit which no file tells, by their peaks; and on who waits
    longest beside free GPUs, of those half as long the one with the fewest jobs."""
    ceiling = (peaks["near"] > LEAST_NEAR) & (peaks["near"] > LONGER * peaks["simulated_near"])
    ceiling &= (peaks["user"] == "") & (peaks["beyond"] > MOST_BEYOND_CEILING)
    beyond = (peaks["beyond"] > MOST_BEYOND) & (peaks["near"] >= peaks["simulated_near"])
    most = peaks[(ceiling | beyond) & (peaks["waiting"] >= LEAST_WAITING)].sort_values(
        "beyond", ascending=False, kind="stable"
    )
    most = most.drop_duplicates("group")  # who is beyond for longest, first, and nobody twice
    for peak in most[(most["user"] == "") | ~most["user"].duplicated()].to_dict("records"):
        who = f"user {peak['user']} in {peak['group']}" if peak["user"] else peak["group"]
        here = f"{who} has up to {peak['simulated']:g} {peak['what']} at once, in the log never more than"
        yield f"{here} {peak['recorded']:g}: a limit that no file tells?"
    waits = beside_room[(beside_room["held"] >= LEAST_HELD) & (beside_room["recorded"] > MOST_BEYOND)]
    waits = waits[(waits["recorded"] > LONGER * waits["simulated"]) & (waits["off"] > MOST_OFF)]
    waits = waits[waits["recorded"] >= waits["recorded"].max() / 2].sort_values("jobs", kind="stable")
    for wait in waits.head(1).to_dict("records"):
        who = f"user {wait['user']}" if wait["user"] else wait["group"]
        times = f"for {100 * wait['recorded']:.0f} % of the time in the log, {100 * wait['simulated']:.0f} % simulated"
        beside = f"jobs of {who} wait beside free GPUs which no known limit keeps from them, {times}"
        yield f"{beside}: a hidden limit, or nodes that were down, which no file tells?"


def peaks_of(scenario: Scenario, site: SlurmSite, runs: list[pd.DataFrame], pace_s: float) -> pd.DataFrame:
    """By account (and those above it) and QOS, and their users in it, with many jobs: the most GPUs and jobs at once,
    recorded and simulated; for which part of the time it is more than recorded, and for which near the most, recorded
    and simulated; and how many of its jobs waited in the log, over two paces of the schedulers, half of that time or
    more while with them it would have had more at once than ever, and not at a ceiling that the runs keep too.
    runs: the tables `jobs` of some."""
    jobs = [job for job in scenario.jobs if not site.asks[job.name].on_cpus]
    facts = {job.name: job.attributes for job in jobs if {"start_s", "end_s"} <= {*job.attributes}}
    left_s = {name: at_s for at_s, left, name in site.turns if left and not name.endswith("(elsewhere)")}
    names, end_s = [*facts, *left_s], max((float(each["end_s"]) for each in facts.values()), default=0.0)
    asks = [site.asks[name] for name in names]
    groups = _groups(asks, site)
    amounts = {"GPUs": np.array([float(ask.gpus) for ask in asks]), "jobs": np.ones(len(asks))}
    never = [(math.nan, math.nan)] * len(left_s)
    recorded = np.array([*((each["start_s"], each["end_s"]) for each in facts.values()), *never], float).reshape(-1, 2)
    since_s = [float(facts.get(ask.name, {}).get("eligible_s", ask.since_s)) for ask in asks]
    until_s = [*(float(each["start_s"]) for each in facts.values()), *(min(at_s, end_s) for at_s in left_s.values())]
    waits = np.column_stack([since_s, until_s])
    simulated = [run.set_index("job")[["first_start_s", "finish_s"]].reindex(names).to_numpy(float) for run in runs]
    rows = []
    for group, its in sorted(groups.items()):
        for what, amount in amounts.items() if len(its) >= LEAST_OF_GROUP else ():
            log, *found = (_at_once(times_s[its], amount[its]) for times_s in (recorded, *simulated))
            most, *peaks = (held.max(initial=0) for _, held in (log, *found))
            beyond = np.mean([_part(run, most) for run in found])
            near = np.mean([_part(run, NEAR * peak) for run, peak in zip(found, peaks, strict=True)])
            waiting = np.array(its)[_at_peak(log, waits[its], amount[its], 2 * pace_s)]
            rows.append((*group, what, most, max(peaks), beyond, _part(log, NEAR * most), near, {*waiting.tolist()}))
    table = pd.DataFrame(rows, columns=PEAKS)
    known = table[(table["beyond"] == 0) & (table[["near", "simulated_near"]].min(axis=1) > LEAST_NEAR)]
    explained = set[int]().union(*known["waiting"])
    table["waiting"] = [len(waiting - explained) for waiting in table["waiting"]]
    return table


def beside_room_of(
    scenario: Scenario, site: SlurmSite, timelines: Sequence[pd.DataFrame], pace_s: float
) -> pd.DataFrame:
    """By account (and those above it) and QOS, and their users in it: jobs, how many of these the log held for over two
    paces of the schedulers beside GPUs that they could have, with no limit or reservation of the files in the way, and
    for which part of the time there was one, recorded and simulated, and by which part of the mean recorded wait the
    simulated one is too short (what is within a pace is no error). timelines: of some runs. Empty where the log does
    not tell where its jobs ran."""
    jobs, machines = {job.name: job for job in scenario.jobs}, scenario.cluster.each_node
    places, ran = recorded_places(scenario, site), [job for job in scenario.jobs if "start_s" in job.attributes]
    if not places or len(places) < (1 - MOST_LACKING) * len(ran):
        return pd.DataFrame(columns=BESIDE_ROOM)
    log = list[Stay]()
    for name, gpus in places.items():
        start_s, end_s = (float(jobs[name].attributes[key]) for key in ("start_s", "end_s"))
        log.append(Stay(name, site.asks[name].since_s, start_s, end_s, gpus))
    looks_s = np.linspace(0.0, max(job.arrival_s for job in ran), LOOKS)
    at = {machine.name: i for i, machine in enumerate(machines)}
    of_runs = [[stay for stay in _stays(timeline, site, at) if stay.name in places] for timeline in timelines]
    found = [_held_at(scenario, site, stays, looks_s, 2 * pace_s) for stays in (log, *of_runs)]
    waits_s = [_waits_s(stays) for stays in (log, *of_runs)]
    rows, names, in_log = [], [*places], {name for look in found[0] for name in look}
    for group, its in sorted(_groups([site.asks[name] for name in names], site).items()):
        mine = {names[i] for i in its}
        of_time = [float(np.mean([not mine.isdisjoint(look) for look in each])) for each in found]
        both = [name for name in mine if all(name in each for each in waits_s)]
        real_s, *said_s = [float(np.mean([each[name] for name in both])) if both else 0.0 for each in waits_s]
        off = max(real_s - float(np.mean(said_s)) - pace_s, 0.0) / max(real_s, pace_s)
        rows.append((*group, len(mine), len(mine & in_log), of_time[0], float(np.mean(of_time[1:])), off))
    return pd.DataFrame(rows, columns=BESIDE_ROOM)


def _waits_s(stays: Sequence[Stay]) -> dict[str, float]:
    """How long jobs waited in all."""
    found = dict[str, float]()
    for stay in stays:
        found[stay.name] = found.get(stay.name, 0.0) + stay.start_s - stay.since_s
    return found


def _stays(timeline: pd.DataFrame, site: SlurmSite, at: Mapping[str, int]) -> Iterator[Stay]:
    """Where a run's jobs were, each time that one ran. at: the positions of nodes."""
    parts = timeline[timeline["kind"] == "run"].groupby(["job", "start_s", "end_s", "node"])["slot"].nunique()
    gpus = dict[tuple[str, float, float], GpusByNode]()
    for name, start_s, end_s, node, count in parts.reset_index().itertuples(index=False):
        gpus.setdefault((name, start_s, end_s), {})[at[node]] = int(count)
    ended_s = dict[str, float]()
    for (name, start_s, end_s), held in gpus.items():
        yield Stay(name, ended_s.get(name, site.asks[name].since_s), start_s, end_s, held)
        ended_s[name] = end_s


def _held_at(
    scenario: Scenario, site: SlurmSite, stays: Sequence[Stay], looks_s: FloatArray, patience_s: float
) -> list[list[str]]:
    """At each time the jobs that wait since longer than `patience_s` although they fit beside what runs, on nodes that
    are not known to be away nor kept from them by a reservation, and no limit holds them."""
    free, ledger = FreeNow.of_site(site), Ledger.of_site(site)
    free = free.with_gpus(np.array([node.gpus for node in scenario.cluster.each_node]))
    asks = [site.asks[stay.name] for stay in stays]
    able = {ask.kind: free.able(ask, site) for ask in {ask.kind: ask for ask in asks}.values()}
    since, start = (np.array([stay[column] for stay in stays]) for column in (1, 2))
    changes = [(stay.start_s, -1, stay) for stay in stays] + [(stay.end_s, 1, stay) for stay in stays]
    changes.sort(key=lambda change: change[:2])
    bit = {node.name: 1 << free.place[i] for i, node in enumerate(scenario.cluster.each_node)}
    outages = [(each.from_s, each.to_s, bit[each.node]) for each in scenario.core.faults.list]
    done, found = 0, list[list[str]]()
    for at_s in looks_s.tolist():
        upto = bisect_right(changes, at_s, done, key=lambda change: change[0])
        for _, sign, stay in changes[done:upto]:
            free.change(site.asks[stay.name], stay.gpus.items(), sign)
            ledger.count(site.asks[stay.name], stay.gpus.items(), -sign)
        done, fits, away = upto, dict[tuple[str, int], bool](), 0
        for from_s, to_s, node in outages:
            away |= node if from_s <= at_s < to_s else 0
        kept, held = reserved(site, free, at_s), list[str]()
        for ask in [asks[i] for i in np.flatnonzero((since + patience_s <= at_s) & (at_s < start))]:
            if ledger.reason(ask) is None:
                may = able[ask.kind] & ~away & ~(kept_from(kept, ask, at_s) if kept or ask.reservation else 0)
                if (key := (ask.shape, may)) not in fits:
                    fits[key] = free.fits_now(ask, may)
                held += [ask.name] if fits[key] else []
        found.append(held)
    return found


def _groups(asks: Sequence[Ask], site: SlurmSite) -> dict[tuple[str, str], list[int]]:
    """The places of jobs by account (and those above it) and QOS, and (user) by their users in it."""
    groups: dict[tuple[str, str], list[int]] = {}
    for i, ask in enumerate(asks):
        for name in [f"{word} {of}" for word, of in (("account", ask.account), ("QOS", ask.qos)) if of]:
            for user in {"", ask.user}:
                groups.setdefault((name, user), []).append(i)
        for name in site.above.get(ask.account, ())[1:]:
            if name != "root":
                groups.setdefault((f"account {name}", ""), []).append(i)
    return groups


def _at_once(times_s: FloatArray, amount: FloatArray) -> tuple[FloatArray, FloatArray]:
    """When (s, also the last end) how much is held at once. times_s: start and end of each job (jobs, 2), of one that
    did not run not finite."""
    ran = np.isfinite(times_s).all(axis=1)
    changes = np.stack([amount, -amount], axis=1)[ran]
    at_s, place = np.unique(times_s[ran], return_inverse=True)
    held: FloatArray = np.bincount(place.ravel(), changes.ravel(), len(at_s)).cumsum().astype(float)
    return at_s, held[:-1]


def _at_peak(
    at_once: tuple[FloatArray, FloatArray], waits_s: FloatArray, amount: FloatArray, patience_s: float
) -> BoolArray:
    """Which jobs waited for longer than `patience_s`, and for half of that or more while there was no room for them
    below the most that was held. waits_s: from and until (jobs, 2)."""
    (at_s, held), found = at_once, np.zeros(len(amount), dtype=bool)
    for each in np.unique(amount) if len(held) else ():
        mine = np.flatnonzero((amount == each) & (waits_s[:, 1] - waits_s[:, 0] > patience_s))
        full_s = np.concatenate([[0.0], np.cumsum(np.diff(at_s) * (held + each > held.max()))])
        within_s = np.diff(np.interp(waits_s[mine], at_s, full_s), axis=1)
        found[mine] = (within_s >= PATIENT * np.diff(waits_s[mine], axis=1))[:, 0]
    return found


def _part(at_once: tuple[FloatArray, FloatArray], most: float) -> float:
    """For which part of the time more than so much is held."""
    span_s, held = np.diff(at_once[0]), at_once[1]
    return float(span_s[held > most].sum() / max(span_s.sum(), 1.0))
