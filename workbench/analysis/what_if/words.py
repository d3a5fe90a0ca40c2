"""What a what-if comes to, in sentences that an operator can quote."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, get_args

import pandas as pd

from workbench.analysis.bootstrap import left_out
from workbench.analysis.calibration.calibrate import Trust
from workbench.analysis.calibration.note import trust
from workbench.analysis.metrics.summary import amount, change_of
from workbench.analysis.metrics.two_runs import SAME_S, completions_of, gains
from workbench.analysis.what_if.change import Configuration
from workbench.analysis.what_if.site_changes import date_of
from workbench.analysis.what_if.tables import Difference, Waits, each_difference, sooner_and_later
from workbench.base.errors import counted
from workbench.base.labels import listed, unit_beside
from workbench.base.units import clock
from workbench.baselines.mechanisms.slurm.site import COUNT_LIMITS, TRES_LIMITS
from workbench.baselines.slurm import ITS_TYPES, Slurm
from workbench.scenario.cluster import Cluster, Node
from workbench.scenario.faults import Faults
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.slurm_site import CPU
from workbench.session.registry import find_scheduler
from workbench.simulation.intervals import is_refused
from workbench.simulation.run import Run

if TYPE_CHECKING:
    from workbench.analysis.what_if.ask import WhatIf
    from workbench.analysis.what_if.change import Change

SAID = (
    *("mean_jct_s", "mean_wait_s", "makespan_s", "mean_cost_usd", "utilisation", "jobs_unfinished", "jobs_refused"),
    "slo_violations",
)
"""Measures that sentences tell; the table has them all."""
COUNTS = ("jobs_unfinished", "jobs_refused")
"""Told only where they change."""
NO_INTERVAL = "no interval"
WAIT_HEADS = (
    *("Wait of", "Jobs", "Median today", "Median changed", "95th percentile today", "95th percentile changed"),
    *("Sum today", "Sum changed"),
)
RULES = {
    "partitions": ("nodes.attributes.partitions",),
    "limits": tuple(f"entities.attributes.{name}" for name in (*TRES_LIMITS, *COUNT_LIMITS, "MaxWall")),
    "CPUs and memory": ("nodes.attributes.cpus", "nodes.attributes.memory_mb"),
}
"""Of a site, by the attributes that say them: what a scheduler that does not read these does not hold jobs to."""
SLURM = Slurm.name
VERDICTS = get_args(Trust)
OF_CALIBRATION = (
    "Today's mean wait may differ from the calibration's: it counts from when a job came, of an array its first task. "
    "Waits by partition and user begin as the calibration's, not before the jobs on which one depends have ended in "
    "the run and its array's throttle lets it; and the phases of Slurm's clocks are those of the pairs."
)
MOST_USERS, MOST_REASONS, MOST_PARTITIONS = 12, 4, 3
SHORTER, RISE = 0.01, 0.1
"""From which part of a time less capacity does not shorten it, and from which share the GPUs lost do not explain a rise
of utilisation (ours)."""


def interval(low: float, high: float, unit: str) -> str:
    """An interval of differences; empty if there is none, as of pairs that differ by the same."""
    return "" if math.isnan(low) or low == high else f"{change_of(low, unit)} to {change_of(high, unit)}"


def verdict(row: Difference) -> str:
    """`better`, `worse`, `different`, `equal`, `not shown`; `no interval`, of one pair or of pairs alike."""
    if row.difference == 0 and not (row.low < 0 or row.high > 0):
        return "equal"
    if math.isnan(row.low):
        return NO_INTERVAL
    if row.low <= 0 <= row.high:
        return "not shown"
    if not row.better:
        return "different"
    return "better" if (row.difference < 0) == (row.better == "lower") else "worse"


def heads(level: float) -> list[str]:
    """Of the columns of `compared`."""
    return ["Measure", "Today", "Changed", "Difference", f"{100 * level:g} % interval", "Is"]


def compared(row: Difference) -> tuple[str, ...]:
    """A measure before and after as people read it; a unit that the measure's name tells is left out."""
    unit = unit_beside(row.label, row.unit)
    what = verdict(row)
    span = "" if what == "equal" else interval(row.low, row.high, unit)
    return row.label, amount(row.before, unit), amount(row.after, unit), change_of(row.difference, unit), span, what


def waited(found: WhatIf, change: Change) -> list[tuple[str, ...]]:
    """Waits of all jobs, of each partition and of the users whose sum changes most, as people read them (`WAIT_HEADS`),
    and what the other users wait together; none where all jobs are one group."""
    table = found.waits[found.waits["change"] == change.text]
    if len(table) == 1:
        return []
    moved = (table["after_total_s"] - table["before_total_s"]).abs()
    users = moved[table["by"] == "user"]
    if len(users) > MOST_USERS + 1:  # a row for one would take as much room
        users = users.nlargest(MOST_USERS)
    shown = table[(table["by"] != "user") | table.index.isin(users.index)]
    rows = (Waits(*row) for row in shown.itertuples(index=False, name=None))
    said = [(_whose(row), _jobs(row), *(amount(s, "s") for s in row[6:12])) for row in rows]
    if len(rest := table.drop(shown.index)):
        counts = (int(rest[name].sum()) for name in ("jobs", "only_before", "only_after"))
        both = (amount(float(rest[name].sum()), "s") for name in ("before_total_s", "after_total_s"))
        jobs = _jobs(Waits(change.text, "user", "", *counts, *[math.nan] * 6))
        said.append((counted(len(rest), "more user"), jobs, *[""] * 4, *both))
    return said


def _whose(row: Waits) -> str:
    """`partition q`, `user ada`; a pseudonym says what it is of itself (`user-4wlp`)."""
    return row.name if row.by == "all" or row.name.startswith(f"{row.by}-") else f"{row.by} {row.name}"


def _jobs(row: Waits) -> str:
    """How many jobs wait on both sides, and how many on one alone."""
    alone = {"today": row.only_before, "changed": row.only_after}
    said = ", ".join(f"{count} {side} alone" for side, count in alone.items() if count)
    return f"{row.jobs}{f' ({said})' if said else ''}"


def freer(found: WhatIf) -> list[str]:
    """Warnings of schedulers that hold jobs to less of a site than today's does, so that they look better than they
    are."""
    was, said = found.runs[0][0], []
    for change, (now, *_) in zip(found.question.changes, found.runs[1:], strict=False):
        lost = find_scheduler(was.scheduler).uses - find_scheduler(now.scheduler).uses
        rules = [what for what, names in RULES.items() if lost.intersection(names, was.scenario.attributes)]
        if rules:
            said.append(
                f"with {change.words}: jobs are not held to the site's {listed(rules)}, as they are today: part of the "
                "difference is that."
            )
    return said


def surprising(found: WhatIf) -> list[str]:
    """Warnings of changes that only take capacity away and yet shorten times or all waiting together, or fill the GPUs
    more than the loss of some explains: a line of jobs may do that (Graham's anomalies), a log that is read wrongly
    does it often; and of partitions that wait longer though capacity is only added."""
    said = list[str]()
    for number, change in enumerate(found.question.changes, start=1):
        was, now = found.runs[0][0].scenario, found.runs[number][0].scenario
        if was.jobs == now.jobs and _only_loses(now, was):
            said += _longer(found, change)
        if was.jobs != now.jobs or not _only_loses(was, now):
            continue
        rows = {
            row.measure: row for row in each_difference(found.differences[found.differences["change"] == change.text])
        }
        times = (rows[name] for name in ("makespan_s", "mean_jct_s", "mean_wait_s") if name in rows)
        less = [row for row in times if row.difference < -SHORTER * row.before and verdict(row) != "not shown"]
        said += [
            f"with {change.words}: {_sentence(row, found)} Less capacity seldom helps: see whether jobs are only "
            "ordered or placed otherwise, or run on types where their speed is not recorded."
            for row in less
        ]
        said += [
            f"with {change.words}: all jobs together wait {amount(every.after_total_s, 's')}, today "
            f"{amount(every.before_total_s, 's')}, though capacity is only taken away: they are ordered or placed "
            f"otherwise{', and those that can no longer run are not among them' * bool(every.only_before)}."
            for every in _waits_by(found, change, "all")  # none where no job waits
            if every.after_total_s < every.before_total_s and "mean_wait_s" not in {row.measure for row in less}
        ]
        if "utilisation" not in rows:
            continue
        row = rows["utilisation"]
        expected = row.before * was.cluster.gpus / now.cluster.gpus
        if row.after > expected + RISE and verdict(row) != "not shown":
            said.append(
                f"with {change.words}: {_sentence(row, found)} The loss of GPUs explains no more than "
                f"{amount(expected, row.unit)}: the same jobs take another time on the GPUs that they get."
            )
    return said


def _waits_by(found: WhatIf, change: Change, by: str) -> list[Waits]:
    """The waits of all jobs, or of each partition or user, before and after a change."""
    table = found.waits[(found.waits["change"] == change.text) & (found.waits["by"] == by)]
    return [Waits(*row) for row in table.itertuples(index=False, name=None)]


def _longer(found: WhatIf, change: Change) -> Iterator[str]:
    """Partitions that wait longer, by a part of what they and what all wait today, and which of their jobs are held to
    the type where they ran."""
    rows = [
        row
        for every in _waits_by(found, change, "all")  # none where no job waits
        for row in _waits_by(found, change, "partition")
        if row.after_total_s - row.before_total_s > max(RISE * row.before_total_s, SHORTER * every.before_total_s)
    ]
    if not rows:
        return
    told = [
        f"{row.name} ({amount(row.before_total_s, 's')} in all, then {amount(row.after_total_s, 's')})" for row in rows
    ]
    scenario = found.question.today.scenario
    free = _of_no_type(scenario, {job.name for job in scenario.jobs}, least=2)
    held = sum(count for (partition, _), count in free.items() if partition in {row.name for row in rows})
    why = f" {counted(held, 'job')} there asked for no type of GPU. {OWN_TYPE}" if held else ""
    yield f"with {change.words}: longer waits in partition {listed(told)}, though capacity is only added.{why}"


def _only_loses(was: Scenario, now: Scenario) -> bool:
    """Whether GPUs or the time they are up become less, and nothing more."""
    before, after = was.cluster.capacity, now.cluster.capacity
    fewer = before.keys() >= after.keys() and all(after[name] <= before[name] for name in after) and before != after
    faults, then = was.core.faults, now.core.faults
    same = (faults.mtbf_s, faults.mttr_s) == (then.mtbf_s, then.mttr_s)
    there = {node.name for node in now.cluster.each_node}
    gone = {each for each in faults.list if each.node in there} == set(then.list) and same
    kept = set(faults.list) <= set(then.list) and (faults.mtbf_s is None or same)
    return (fewer and gone) or (was.cluster == now.cluster and faults != then and kept)


def trusted(found: WhatIf, number: int) -> str:
    """In brackets what the calibration came to, to stand beside figures of a change (by its place), and that it is not
    of the scheduler that the change puts in the place of today's; empty where no waits are recorded."""
    word = trust(found.calibration)
    then = found.runs[number + 1][0].scheduler
    other = word in VERDICTS and then != found.question.today.scheduler
    return f" ({word}{f' today, {then} is not' if other else ''})" if word else ""


def cautions(found: WhatIf, number: int) -> list[str]:
    """What to know of a change (by its place) before its answer: what it is, and which jobs can run no longer."""
    change, run = found.question.changes[number], found.runs[number + 1][0]
    remarks = change.remarks(Configuration(run.scenario, run.scheduler, run.knobs))
    today = found.runs[0][0]
    more = (*_outlasts(today, run), *_refused(today, run), *_gone(today, run))
    return [f"With {change.words}: {text}" for text in (*remarks, *more)]


def conclusions(found: WhatIf) -> list[str]:
    """The sentences of `WhatIf.conclusions`."""
    said = [found.calibration] if found.calibration else []
    for number, change in enumerate(found.question.changes):
        said += cautions(found, number)
        rows = found.differences[found.differences["change"] == change.text]
        for row in each_difference(rows):
            if row.measure in SAID and not (row.measure in COUNTS and row.difference == 0):
                said.append(f"With {change.words}: {_sentence(row, found)}{_dates(found, row)}")
        said += [f"With {change.words}: {text}" for text in (*_of_partitions(found, change), of_jobs(found, change))]
        said += _rent(found.question.today.scenario.cluster, found.runs[number + 1][0].scenario.cluster)
    for percent, _, words, *both in found.demand.itertuples(index=False, name=None):
        as_today, then = (amount(each, "s") for each in both)
        said.append(f"At {percent:g} % of the demand, mean wait is {as_today} as today, and {then} with {words}.")
    return [*said, *_caveats(found)]


def _of_partitions(found: WhatIf, change: Change) -> Iterator[str]:
    """Where one partition's jobs surely wait longer or shorter, the farthest first; of one partition nothing."""
    rows = _waits_by(found, change, "partition")
    sure = [row for row in rows if row.low_s > 0 or row.high_s < 0]
    if len(rows) == 1:
        return
    for row in sorted(sure, key=lambda row: -max(row.low_s, -row.high_s))[:MOST_PARTITIONS]:
        before, after = amount(row.before_total_s, "s"), amount(row.after_total_s, "s")
        span = interval(row.low_s, row.high_s, "s")
        level = f"{100 * found.question.level:g} % interval for all {len(rows)} partitions at once"
        said = f"{level} {span}" if span else "by as much in each pair"
        jobs = counted(row.jobs, "job")
        yield f"partition {row.name} ({jobs}) waits {after} in all, today {before} ({said})."


def _sentence(row: Difference, found: WhatIf) -> str:
    before, after = amount(row.before, row.unit), amount(row.after, row.unit)
    name = f"{row.label[0].lower() if row.label[1:2].islower() else row.label[0]}{row.label[1:]}"
    what = verdict(row)
    if what == "equal":
        return f"{name} stays at {before}."
    part = (
        f", {100 * row.difference / row.before:+.1f} %".replace("-", "−") if row.before and row.unit != "share" else ""
    )
    moved = f"{before} to {after} ({change_of(row.difference, row.unit)}{part})"
    if what == NO_INTERVAL:
        count = len(found.question.seeds)
        if count > 1 and not found.question.of_draws:
            return f"{name} goes from {moved}: one answer, not {count}, as the {count} pairs of runs are equal."
        return f"{name} goes from {moved} in one pair of runs, which shows no interval."
    if row.low == row.high:
        return f"{name} goes from {moved}, {what}; in all {row.pairs} pairs by as much."
    span = f"{100 * found.question.level:g} % interval {interval(row.low, row.high, row.unit)} over {row.pairs} pairs"
    if what == "not shown":
        return f"no difference in {name} is shown: {moved}, {span}, which includes 0."
    return f"{name} goes from {moved}, {what}; {span}."


def _dates(found: WhatIf, row: Difference) -> str:
    """When the last job ends, by the calendar of a log that has one."""
    was, becomes = (date_of(found.question.today.scenario, time_s) for time_s in (row.before, row.after))
    return f" The last job ends at {becomes}, today at {was}." if row.measure == "makespan_s" and was else ""


def of_jobs(found: WhatIf, change: Change) -> str:
    """How many jobs are done sooner and later, and by how much on average, who gains and who pays."""
    jobs = found.jobs[found.jobs["change"] == change.text]
    sooner, later, same = sooner_and_later(jobs)
    runs = found.runs[1 + found.question.changes.index(change)]
    over = f"Each job averaged over {counted(len(runs), 'pair')}, " if len(runs) > 1 else ""
    apart_s = jobs["difference_s"][jobs["difference_s"].abs() > SAME_S]
    by = [
        f", by {clock(part.abs().mean())} on average" if len(part) else ""
        for part in (apart_s[apart_s < 0], apart_s[apart_s > 0])
    ]
    ends = f"{sooner} of {counted(len(jobs), 'job')} are done sooner{by[0]}, {later} later{by[1]}"
    text = f"{over}{ends}, {same} at the same time."
    at_once = _unused(found.runs[0][0], runs) + _drawn(found.runs[0][0], runs[0])
    if not sooner + later:
        return f"{text}{at_once}"
    times_s = (jobs[name].to_numpy(float) for name in ("before_s", "after_s"))
    return f"{text} {gains(completions_of(jobs['job'].tolist(), *times_s))}{at_once}"


def _unused(today: Run, changed: Sequence[Run]) -> str:
    """How many GPUs are ever in use at once, of a type that gets more than are; empty where all are."""
    was, now, said = today.scenario.cluster.capacity, changed[0].scenario.cluster.capacity, ""
    for kind in (kind for kind, gpus in now.items() if gpus > was.get(kind, 0)):
        peak = max(_most_at_once(run, kind) for run in changed)
        said += (
            f" At most {peak} of the {now[kind]} GPUs of {kind} are ever in use at once." if peak < now[kind] else ""
        )
    return said


def _drawn(today: Run, changed: Run) -> str:
    """How many jobs of a pair that have other GPUs today run on a type that gets more, and how many of them end later:
    why more GPUs may be worse; empty where none ends later."""
    was, now, said = today.scenario.cluster.capacity, changed.scenario.cluster.capacity, ""
    end_s = [run.jobs.set_index("job")["finish_s"] for run in (today, changed)]
    later = set(end_s[0].index[end_s[1].reindex(end_s[0].index) > end_s[0] + SAME_S])
    for kind in (kind for kind, gpus in now.items() if gpus > was.get(kind, 0)):
        before, after = (set(line["job"][line["accelerator"] == kind]) for line in (today.timeline, changed.timeline))
        fresh = (after - before) & set(end_s[0].index)
        if fresh & later:
            said += f" In the first pair {counted(len(fresh), 'job')} without GPUs of {kind} today "
            said += f"{'has' if len(fresh) == 1 else 'have'} some then; done later of these: {len(fresh & later)}."
    return said


def _most_at_once(run: Run, kind: str) -> int:
    """GPUs of a type that jobs have at the same time, at most."""
    line = run.timeline
    line = line[(line["accelerator"] == kind) & (line["job"] != "") & (line["kind"] != "sync")]
    changes = pd.concat([pd.Series(1, line["start_s"]), pd.Series(-1, line["end_s"])])
    return int(changes.groupby(level=0).sum().cumsum().max()) if len(changes) else 0


def _refused(today: Run, changed: Run) -> list[str]:
    """How many jobs that run today are refused then, and why, the most frequent reasons first; and how many that are
    refused today run then."""
    was, now = (set(run.jobs["job"][is_refused(run)]) for run in (today, changed))
    there = [set(run.jobs["job"]) for run in (today, changed)]
    lost, more = (now - was) & there[0], (was - now) & there[1]
    whose = (
        "averages and waits below are of the jobs that run on both sides"
        if there[0] == there[1]  # else averages are also of those that one side alone has (`both_sides`)
        else "averages below are without the jobs that one side alone refuses"
    )
    found = [f"{counted(len(lost), 'job')} can no longer run; {whose}."] if lost else []
    verdicts = changed.events[changed.events["event"] == "verdict"]
    reasons = verdicts.loc[verdicts["job"].isin(lost), "reason"].value_counts()
    why = [f"{counted(n, 'job')} can start no more: {why}." for why, n in reasons.items() if why != "refused"]
    left = len(why) - MOST_REASONS
    found += [*why[:MOST_REASONS], *([f"{counted(left, 'more reason')} for refusals."] if left > 0 else [])]
    found += _held_to_types(changed.scenario, {*verdicts["job"][verdicts["reason"].str.endswith(ITS_TYPES)]} & lost)
    return [*found, f"{counted(len(more), 'job')} that today cannot run can; {whose}."] if more else found


OWN_TYPE = "Here a job runs only on types where it ran in the log; `workbench convert --ratios` adds others."


def _of_no_type(scenario: Scenario, names: Set[str], least: int = 1) -> Counter[tuple[str, str]]:
    """How many of these jobs Slurm may start on any type of their partition that is large enough, as they asked for
    none, where there are so many: by partition and types."""
    nodes, free = dict[str, list[Node]](), Counter[tuple[str, str]]()
    for node in scenario.cluster.each_node:
        for name in str(node.attributes.get("partitions", "")).split(","):
            nodes.setdefault(name, []).append(node)
    for job in (each for each in scenario.jobs if each.name in names):
        said, partition = job.attributes, str(job.attributes.get("partition"))
        each = job.gpus / float(said.get("nodes", 1.0))
        able = {n.accelerator for n in nodes.get(partition, ()) if n.gpus >= each and n.accelerator != CPU}
        if len(able) >= least and not said.keys() & {"asked", "features", "nodelist"}:
            free[partition, listed(sorted(able))] += 1
    return free


def _held_to_types(scenario: Scenario, lost: set[str], least: int = 1) -> Iterator[str]:
    """Which refused jobs Slurm may start, as they asked for no type and their partition has another left."""
    for (partition, types), count in _of_no_type(scenario, lost, least).items():
        yield (
            f"{count} of these asked for no type of GPU: Slurm may start them on {types} of partition {partition}. "
            + OWN_TYPE
        )


def _gone(today: Run, changed: Run) -> Iterator[str]:
    """How many machines of a site a change takes away, and from which partitions."""
    left, lost, of = {node.name for node in changed.scenario.cluster.each_node}, set[str](), dict[str, set[str]]()
    gpus = 0
    for node in today.scenario.cluster.each_node:
        machine = node.name.partition("/")[0]
        for partition in filter(None, str(node.attributes.get("partitions", "")).split(",")):
            of.setdefault(partition, set()).add(machine)
        if node.name not in left:
            lost.add(machine)
            gpus += node.gpus * (node.accelerator != CPU)
    parts = [f"{len(its & lost)} of {len(its)} of partition {name}" for name, its in of.items() if its & lost]
    if parts:
        yield f"{counted(len(lost), 'node')} with {counted(gpus, 'GPU')} less: {listed(parts, 5)}."


def _outlasts(today: Run, changed: Run) -> Iterator[str]:
    """Of outages of a change that end after today's last job: how many jobs wait for that, and what the others wait."""
    more = set(changed.scenario.core.faults.list) - set(today.scenario.core.faults.list)
    last_s, to_s = float(today.jobs["finish_s"].max()), max((each.to_s for each in more), default=0.0)
    jobs = changed.jobs.set_index("job")
    late = jobs.index[jobs["finish_s"] >= to_s]
    if to_s > last_s and len(late):
        waited_s = [run.jobs.loc[~run.jobs["job"].isin(late), "waited_s"].mean() for run in (today, changed)]
        was, now = (amount(float(wait_s), "s") for wait_s in waited_s)
        others = "" if all(map(math.isnan, waited_s)) else f" The others wait {now} on average, today {was}."
        yield (
            f"the outage ends {amount(to_s - last_s, 's')} after today's last job, and {counted(len(late), 'job')} can "
            f"end only then: means and makespan below are of that wait.{others}"
        )
        yield from _held_to_types(changed.scenario, set(late), 2)
    elif to_s > last_s:
        rest = amount(to_s - last_s, "s")
        yield f"the outage goes on for {rest} after today's last job: who comes then is not known."


def _rent(before: Cluster, after: Cluster) -> list[str]:
    """What all GPUs cost an hour, idle or not, if that changes."""
    was, becomes = usd_per_hour(before), usd_per_hour(after)
    if before == after or math.isnan(was + becomes) or was == becomes:
        return []
    return [f"All GPUs of the cluster together, idle ones included, then cost {becomes:,.2f} USD/h, today {was:,.2f}."]


def usd_per_hour(cluster: Cluster) -> float:
    """The price of all GPUs for an hour, in use or not; NaN if a price is not known."""
    price = {a.name: math.nan if a.price_per_hour is None else a.price_per_hour for a in cluster.accelerators}
    return sum(price[name] * gpus for name, gpus in cluster.capacity.items())


def _caveats(found: WhatIf) -> list[str]:
    """What varied, and what the numbers cannot say."""
    count = len(found.question.seeds)
    notes = [f"What varies between {counted(count, 'pair')} of runs: {found.varied}."] if count > 1 else []
    today = found.question.today
    if today.scheduler == SLURM and trust(found.calibration) in VERDICTS:
        notes.append(OF_CALIBRATION)
    if count > 1 and not found.question.bootstrap and (found.differences["pairs"] == 1).all():
        clocks = ", and Slurm's clocks run in one phase" if found.question.today.scheduler == SLURM else ""
        notes.append(
            f"All seeds gave equal runs: nothing random plays a part here{clocks}. `bootstrap` varies the jobs."
        )
    if found.differences["low"].notna().any():
        notes.append(left_out(found.question.today.scenario, found.question.bootstrap, found.chance))
    elif count == 2 and found.question.of_draws:
        notes.append("One draw of the log: there is no interval. From three seeds on there is one.")
    if count == 1:
        notes.append("One pair of runs: there is no interval. More seeds, or `bootstrap`, give one.")
    if any(run.scenario.core.faults != Faults() for run, *_ in found.runs):
        notes.append("Utilisation and node utilisation (CRU) count the GPUs of a node that is down as there and idle.")
    if math.isnan(usd_per_hour(found.question.today.scenario.cluster)):
        notes.append("The cost is not known, as some accelerator type has no price_per_hour.")
    return notes
