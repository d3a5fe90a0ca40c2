"""What is measured: name, label, unit, which way is better, definition, source. The one place where it is said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from workbench.base.errors import UnknownNameError, one_of
from workbench.simulation.schema import Column, Table

_Better = Literal["lower", "higher", ""]


DOES_NOT_APPLY, NO_SUCH_JOB = "does not apply", "no such job"
"""Why a value is missing: a scheduler, cluster or trace to which the measure says nothing; a mean over no jobs."""


class Metric(NamedTuple):
    """A measure of a whole run. unit: `s`, `USD`, `1` (a ratio), `share` (a ratio from 0 to 1) or what is counted.

    better: which way is better, empty if neither; source: the paper, or `ours`. missing: what a run without a value is
    told of, where that is always for the same reason.
    """

    name: str
    label: str
    unit: str
    better: _Better
    definition: str
    source: str = "ours"
    missing: str = "unknown"


WAIT = (
    "time without GPUs from arrival to completion, or to the run's end for a job unfinished then: before the first "
    "start and after every loss of GPUs. A job holds GPUs while any copy or task of it, its pair or its profile does, "
    "restarts, switches and idle holding included; not while its tasks only synchronise"
)
"""Every second of a job's life is either this or holding GPUs: JCT = wait + time holding. What came before the scenario
is not known, and not counted."""

PER_JOB = Table(
    "per_job",
    "one row for each job, in the scenario's order; missing where undefined (most for a job that has not finished)",
    (
        Column("job", "job"),
        Column("model", "model"),
        Column("gpus", "GPUs asked for", "GPUs", "int"),
        Column("size_class", "class, by size or kind of deadline, else empty"),
        Column("entity", "entity, else empty"),
        Column("weight", "weight", "", "float"),
        Column("arrival_s", "arrival", "s", "float"),
        Column("finish_s", "completion", "s", "float"),
        Column("jct_s", "job completion time: from arrival to completion", "s", "float"),
        Column("first_start_s", "first start, as a time of the run; missing if it never had GPUs", "s", "float"),
        Column("wait_s", f"{WAIT}; missing if it was refused, or the run ended before it came", "s", "float"),
        Column(
            "finish_time_fairness",
            "rho = JCT / T_id; T_id: run time of its steps on 1/n of the cluster's GPUs, at least its smallest size, "
            "mean over types by their GPUs; n: mean number of jobs present in its life. Types on which it cannot run "
            "are left out",
            "1",
            "float",
        ),
        Column(
            "latency_ratio",
            "wait / expected run time without waiting, mean over types by their GPUs, the ones on which it cannot run "
            "left out",
            "1",
            "float",
        ),
        Column("preemptions", "times that it lost its GPUs before completion", "", "int"),
        Column("restarts", "times that it paid for a restart or move", "", "int"),
        Column("moves", "times that a new assignment put it on other GPUs without a pause", "", "int"),
        Column("cost_usd", "GPU-hours held x price of the type, a pair's half to each", "USD", "float"),
        Column("attained_s", "GPU-seconds held, before the scenario included", "GPU-s", "float"),
        Column(
            "reward_share",
            "(reward - lowest) / (highest - lowest): 1 if done by its first deadline; lowest, what a miss earns, is 1, "
            "or 0 where the highest is not above it. Unfinished: what it would be at the run's end, 0 if refused; "
            "missing for best effort",
            "1",
            "float",
        ),
    ),
)

_CLUSTER = "end: the last completion, or the run's end if jobs are left; duration: from the first arrival to the end"

_WHOLE = (
    Metric(
        "makespan_s",
        "Makespan",
        "s",
        "lower",
        "time of the last completion, from time 0; unknown while jobs are unfinished",
        "Gavel 4.2; Hadar: TTD",
    ),
    Metric(
        "utilisation",
        "Utilisation",
        "share",
        "higher",
        f"GPU time computing (run, profile) / (all GPUs x time from 0 to the end). {_CLUSTER}",
        "Gavel, the authors' simulator",
    ),
    Metric(
        "gru",
        "GPU utilisation (GRU)",
        "share",
        "higher",
        f"GPU time computing / (all GPUs x duration). {_CLUSTER}",
        "Hadar, evaluation",
    ),
    Metric(
        "cru",
        "Node utilisation (CRU)",
        "share",
        "higher",
        f"time in which some GPU of a node computes, over all nodes / (nodes x duration). {_CLUSTER}. HadarE counts "
        "the last slot in full instead",
        "HadarE, Theorem 3",
    ),
    Metric(
        "allocated",
        "GPUs held",
        "share",
        "",
        "GPU time held, restarts and idle holding included / (all GPUs x duration)",
    ),
    Metric(
        "availability",
        "Availability",
        "share",
        "higher",
        "time in which GPUs are on nodes that are up / (all GPUs x the run's length). Known where nodes may fail",
        missing=DOES_NOT_APPLY,
    ),
    Metric(
        "lost_work",
        "Work lost to failures",
        "share",
        "lower",
        "running GPU time whose steps a failure took back / all running GPU time; a lost step counts with the mean GPU "
        "time of its job's steps. Known where nodes may fail",
        missing=DOES_NOT_APPLY,
    ),
    Metric(
        "steps_per_s",
        "Throughput",
        "steps/s",
        "higher",
        "steps run, those lost to faults included / duration",
    ),
    Metric(
        "normalised_throughput",
        "Normalised throughput",
        "jobs",
        "higher",
        "the same with each job's steps/s divided by those of its gang on its fastest type",
        "Gavel 4.1",
    ),
    Metric(
        "fragments_gpus",
        "Fragments per round",
        "GPUs",
        "lower",
        "idle GPUs while jobs wait, after the decision with which a round begins; mean over rounds",
        "Hops 4.2",
    ),
    Metric(
        "changed_rounds",
        "Rounds that change an allocation",
        "share",
        "lower",
        "rounds after which some unit's GPUs differ from those before / rounds; does not apply to a run in task "
        "sequences, where every task is placed for itself",
        "Hadar, evaluation",
        missing=DOES_NOT_APPLY,
    ),
    Metric(
        "rounds",
        "Rounds",
        "rounds",
        "",
        "decisions, and round boundaries with jobs present at which the scheduler had asked to be left out. A round "
        "begins only while a job is there: the log of Gavel's simulator counts one more, the empty one after the last",
    ),
    Metric("decisions", "Decisions", "decisions", "", "calls of the scheduler"),
)

_MEASURED = (
    Metric("jobs", "Jobs measured", "jobs", "", "all jobs, or those of the window"),
    Metric("jobs_finished", "Jobs finished", "jobs", "higher", "measured jobs that have finished"),
    Metric("jobs_unfinished", "Jobs unfinished", "jobs", "lower", "measured jobs neither finished nor refused"),
    Metric("jobs_refused", "Jobs refused", "jobs", "lower", "measured jobs that the scheduler refused", "Chronus 4"),
    Metric(
        "mean_first_start_s",
        "Mean time to first start",
        "s",
        "lower",
        "from arrival to the first GPUs, those of a profile too; mean over measured jobs that have had some and were "
        "not refused. What they wait later is not in it",
    ),
    Metric(
        "preemptions",
        "Preemptions",
        "preemptions",
        "lower",
        "times that jobs lost their GPUs; going on at once on other GPUs is a move, a GPU's switch to another job's "
        "task is neither. Sum over measured jobs",
    ),
    Metric("restarts", "Restarts", "restarts", "lower", "sum over measured jobs"),
    Metric("moves", "Moves", "moves", "lower", "times that jobs went on at once on other GPUs; sum over measured jobs"),
    Metric(
        "weighted_jct_s",
        "Total weighted JCT",
        "s x weight",
        "lower",
        "sum over measured jobs of weight x JCT; unknown while some are unfinished",
        "Hare 5.1, 7.2",
    ),
    Metric("cost_usd", "Cost", "USD", "lower", "sum over measured jobs; unknown if a price is", "Gavel 4.2"),
)

_SLO = (
    Metric(
        "slo_violations",
        "SLO violations",
        "jobs",
        "lower",
        "measured jobs not done by their SLO, the last deadline with a reward above 0: those that finished later or "
        "were refused, and those unfinished whose deadline was over at the run's end; does not apply if no job has an "
        "SLO",
        "Gavel 7.3",
        missing=DOES_NOT_APPLY,
    ),
    Metric(
        "slo_violation_rate",
        "SLO violation rate",
        "share",
        "lower",
        "the same / measured jobs with an SLO",
        "Gavel 7.3",
        missing=DOES_NOT_APPLY,
    ),
    Metric(
        "weighted_miss_rate",
        "Weighted deadline miss rate",
        "share",
        "lower",
        "1 - the share of its highest reward that a job attains, mean over measured jobs with rewards",
        "Chronus (9), erratum: as printed it is the attained share",
        missing=DOES_NOT_APPLY,
    ),
    Metric(
        "reward_attained",
        "Attained share of rewards",
        "share",
        "higher",
        "share of its highest reward that a job attains, mean over measured jobs with rewards",
        "Chronus (9) as printed",
        missing=DOES_NOT_APPLY,
    ),
    Metric(
        "strict_miss_rate",
        "Weighted miss rate, strict",
        "share",
        "lower",
        "the weighted deadline miss rate of jobs with one deadline",
        "Chronus 5.2",
        missing=NO_SUCH_JOB,
    ),
    Metric(
        "soft_miss_rate",
        "Weighted miss rate, soft",
        "share",
        "lower",
        "the weighted deadline miss rate of jobs with several deadlines",
        "Chronus 5.2",
        missing=NO_SUCH_JOB,
    ),
    Metric(
        "best_effort_jct_s",
        "Mean JCT of best effort",
        "s",
        "lower",
        "mean JCT over measured jobs without rewards that have finished; left out if no job has an SLO",
        "Chronus 5.4",
        missing=NO_SUCH_JOB,
    ),
    Metric(
        "guaranteed",
        "Jobs guaranteed",
        "jobs",
        "higher",
        "measured jobs with an SLO that had a guarantee at some time; does not apply to a scheduler without verdicts",
        "Chronus 3.3",
        missing=DOES_NOT_APPLY,
    ),
    Metric(
        "unguaranteed",
        "Jobs unguaranteed",
        "jobs",
        "lower",
        "measured jobs with an SLO that never had a guarantee: refused, or treated as best effort",
        "Chronus 3.3",
        missing=DOES_NOT_APPLY,
    ),
    Metric(
        "unguaranteed_miss_rate",
        "Weighted miss rate, unguaranteed",
        "share",
        "",
        "the weighted deadline miss rate of these; near 1 where those that are turned down could not be in time",
        "Chronus 5.2",
        missing=NO_SUCH_JOB,
    ),
    Metric(
        "broken_guarantees",
        "Broken guarantees",
        "jobs",
        "lower",
        "measured jobs that had a guarantee and were not done by their last deadline with a reward above 0",
        "Chronus 3.3",
        missing=DOES_NOT_APPLY,
    ),
    Metric(
        "mean_profiling_delay_s",
        "Mean profiling delay",
        "s",
        "lower",
        "from arrival to the begin of the first profile, mean over measured jobs that have one",
        "Chronus 5.1",
        missing=NO_SUCH_JOB,
    ),
    Metric(
        "max_profiling_delay_s",
        "Largest profiling delay",
        "s",
        "lower",
        "the longest of these",
        "Chronus 5.1",
        missing=NO_SUCH_JOB,
    ),
    Metric(
        "renewals",
        "Lease renewals",
        "renewals",
        "",
        "assignments given to measured jobs again on the same GPUs when they ended",
        "Chronus 3.3",
    ),
    Metric(
        "suspensions",
        "Suspensions",
        "suspensions",
        "lower",
        "times that measured jobs lost their GPUs before completion, the ends of profiles left out",
        "Chronus 3.3",
    ),
)

COLUMNS: dict[str, tuple[str, str, str]] = {
    "jct_s": ("JCT", "s", "Gavel 7"),
    "wait_s": ("wait without GPUs", "s", "ours"),
    "finish_time_fairness": ("finish-time fairness ρ", "1", "Themis; Hops 4.4"),
    "latency_ratio": ("latency ratio", "1", "Hops (8)-(9)"),
    "preemptions": ("preemptions per job", "preemptions", "ours"),
    "restarts": ("restarts per job", "restarts", "ours"),
    "moves": ("moves per job", "moves", "ours"),
    "cost_usd": ("cost per job", "USD", "Gavel 4.2"),
    "attained_s": ("GPU time per job", "GPU-s", "Tiresias"),
}
"""Columns of `PER_JOB` that are summarised: label, unit, source."""

STATISTICS = {
    "mean": "Mean",
    "median": "Median",
    "p95": "95th percentile of",
    "p99": "99th percentile of",
    "max": "Largest",
}
CHOSEN = {"jct_s": ("mean", "median", "p99", "max"), "wait_s": ("mean", "median", "p95", "max")}
"""The statistics of a column, where they are others than mean, 99th percentile and largest."""


def _statistics() -> list[Metric]:
    meaning = {column.name: column.meaning for column in PER_JOB.columns} | {"wait_s": WAIT}
    found = []
    for name, (label, unit, source) in COLUMNS.items():
        over = "measured jobs that were not refused" if name == "wait_s" else "the measured jobs that have finished"
        for statistic in CHOSEN.get(name, ("mean", "p99", "max")):
            definition = f"{statistic} over {over}: {meaning[name]}"
            word = STATISTICS[statistic]
            found.append(Metric(f"{statistic}_{name}", f"{word} {label}", unit, "lower", definition, source))
    return found


METRICS: tuple[Metric, ...] = (*_statistics()[:4], *_WHOLE, *_MEASURED, *_SLO, *_statistics()[4:])

HEADLINE = (
    "mean_jct_s",
    "median_jct_s",
    "p99_jct_s",
    "makespan_s",
    "utilisation",
    "cru",
    "mean_wait_s",
    "max_finish_time_fairness",
    "max_latency_ratio",
    "preemptions",
    "fragments_gpus",
    "changed_rounds",
    "cost_usd",
    "jobs_finished",
    "jobs_unfinished",
)
"""The few that a short table shows."""

MAIN = (
    "mean_jct_s",
    "makespan_s",
    "utilisation",
    "cru",
    "max_finish_time_fairness",
    "preemptions",
    "cost_usd",
    "jobs_unfinished",
)
"""The fewer that schedulers are first compared by."""

OF_SLOS = tuple(found.name for found in _SLO)
"""Known where some job has an SLO."""

MAIN_OF_SLOS = (
    "slo_violations",
    "slo_violation_rate",
    "weighted_miss_rate",
    "best_effort_jct_s",
    "unguaranteed",
    "broken_guarantees",
)
"""Shown after those, where they are known."""

OF_FAULTS = ("availability", "lost_work")
"""Known where nodes may fail, and shown there."""

WEIGHTED = "weighted_jct_s"
"""Shown after those, where some job has a weight other than 1."""

_BY_NAME = {found.name: found for found in METRICS}


MARK = "★"
"""Stands beside the best."""


def all_best(name: str, values: Sequence[float], texts: Sequence[str]) -> list[int]:
    """Which of the values of a metric read as the best of them does; none where neither way is better, a value is
    unknown, or all read the same. texts: the values as people read them."""
    better = _BY_NAME[name].better if name in _BY_NAME else ""
    if not better or any(map(math.isnan, values)) or len(set(texts)) < 2:
        return []
    best = texts[list(values).index(min(values) if better == "lower" else max(values))]
    return [at for at, text in enumerate(texts) if text == best]


def metric(name: str) -> Metric:
    """The metric of that name; raises UnknownNameError (a KeyError) if there is none."""
    if name not in _BY_NAME:
        raise UnknownNameError("metric", name, one_of(name, _BY_NAME))
    return _BY_NAME[name]
