"""Which columns and settings of a site's files are read, and which values Slurm takes: others are told, and left out.

Ranges are those of slurm.conf(5), of sacctmgr(1) and, of SchedulerParameters, of `_load_config` in backfill.c and
`schedule` in job_scheduler.c, Slurm 22.05.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from workbench.scenario.traces.slurm_text import MOST_64, resources, seconds
from workbench.scenario.traces.trace_file import number

AWAY = frozenset(
    [
        *("down", "drain", "drained", "draining", "drng", "fail", "failing", "failg", "unknown", "unk", "future"),
        *("futr", "error", "err", "inval", "invalid", "reboot", "dn"),
    ]
)
"""Words of a node's state in which it takes no jobs."""
THERE = frozenset(
    [
        *("idle", "alloc", "allocated", "mix", "mixed", "comp", "completing", "maint", "resv", "reserved", "plnd"),
        *("planned", "block", "blocked", "boot", "npc", "perfctrs", "pow", "power", "powered", "powering", "cloud"),
    ]
)
"""Those in which it may."""
GOES = frozenset(["maint", "boot", "pow", "power", "powered", "powering"])
"""Of these the words that Slurm puts in place of DOWN too: an event in such a state is there as the node went."""
PARTITION = (
    *("PriorityTier", "PriorityJobFactor", "MaxTime", "DefaultTime", "MaxNodes", "MinNodes", "State", "QoS"),
    *("AllowAccounts", "DenyAccounts", "AllowQos", "DenyQos", "OverSubscribe", "LLN", "MaxCPUsPerNode"),
    *("DefMemPerCPU", "TRESBillingWeights"),
)
QOS = (
    *("Priority", "Flags", "UsageFactor", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpJobs", "GrpSubmit"),
    *("GrpWall", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxWall", "MaxTRESPU", "MaxJobsPU", "MaxSubmitPU"),
    *("MaxTRESPA", "MaxJobsPA", "MaxSubmitPA", "MinTRES"),
)
ASSOCIATION = (
    *("Share", "Priority", "Partition", "GrpJobs", "GrpTRES", "GrpSubmit", "GrpWall", "GrpTRESMins"),
    *("GrpTRESRunMins", "MaxJobs", "MaxTRES", "MaxTRESPerNode", "MaxSubmit", "MaxWall", "MaxTRESMins"),
)
SHARES = ("RawShares", "RawUsage")
RESERVATION = ("Nodes", "Users", "Accounts", "Flags", "PartitionName")
CONFIG = (
    *("AccountingStorageEnforce", "FairShareDampeningFactor", "OverTimeLimit", "PriorityCalcPeriod"),
    *("PriorityDecayHalfLife", "PriorityFavorSmall", "PriorityFlags", "PriorityMaxAge", "PriorityType"),
    *("PriorityUsageResetPeriod", "PriorityWeightAge", "PriorityWeightAssoc", "PriorityWeightFairShare"),
    *("PriorityWeightJobSize", "PriorityWeightPartition", "PriorityWeightQOS", "PriorityWeightTRES"),
    *("SchedulerParameters", "SchedulerType", "SelectType", "SelectTypeParameters"),
)
IGNORED = {
    "config": (
        *("BurstBufferType", "CompleteWait", "Licenses", "PreemptMode", "PreemptType", "PriorityParameters"),
        *("PriorityWeightAssoc", "PrioritySiteFactorPlugin", "PriorityUsageResetPeriod", "SelectType"),
        *("SuspendProgram", "TopologyPlugin"),
    ),
    "partition": ("ExclusiveUser", "LLN", "MaxCPUsPerNode", "OverSubscribe", "PreemptMode", "State"),
    "qos": ("GrpTRESMins", "GrpWall", "LimitFactor", "MaxTRESMins", "Preempt", "UsageThres"),
    "account": ("GrpTRESMins", "GrpWall", "MaxTRESMins", "Partition"),
    "user": ("GrpTRESMins", "GrpWall", "MaxTRESMins", "Partition"),
}
"""Settings that change who starts when, and that the scheduler slurm does not go by."""
QOS_FLAGS = frozenset(
    [
        *("", "DenyOnLimit", "EnforceUsageThreshold", "NoReserve", "OverPartQOS", "PartitionMaxNodes"),
        *("PartitionMinNodes", "PartitionTimeLimit", "RequiresReservation", "UsageFactorSafe"),
    ]
)
"""Flags of a QOS that it goes by, or that change nothing of who starts when."""
RESERVATION_FLAGS = frozenset(
    [
        *("", "MAINT", "OVERLAP", "IGNORE_JOBS", "SPEC_NODES", "ALL_NODES", "ANY_NODES", "PART_NODES", "STATIC"),
        *("FIRST_CORES", "NO_HOLD_JOBS_AFTER_END"),
    ]
)
"""Those of a reservation; of others the printed time and nodes count."""
CHANGES_NOTHING = frozenset(
    ["", "no", "none", "off", "up", "unlimited", "cons_tres", "cons_res", "default", "exclusive", "n/a"]
)
"""What they say (the last word of `preempt/none`) where that makes no difference."""
MOST_16, MOST_32 = 2.0**16 - 3, 2.0**32 - 3
"""The largest numbers of so many bits (beyond stand Slurm's words for none and infinity)."""
DAYS_30 = 30 * 86400.0
PARAMETERS: dict[str, tuple[float, float]] = {
    "bf_interval": (1, 10_800),
    "bf_window": (1, DAYS_30 / 60),
    "bf_resolution": (1, 3600),
    "bf_max_job_test": (1, 1e6),
    "bf_max_job_array_resv": (0, 1000),
    "bf_job_part_count_reserve": (0, 100_000),
    "bf_min_age_reserve": (0, DAYS_30),
    **dict.fromkeys(("bf_max_job_user", "bf_max_job_part", "bf_window_linear", "sched_interval"), (0, MOST_32)),
    **dict.fromkeys(("batch_sched_delay", "default_queue_depth", "partition_job_depth"), (0, MOST_32)),
}
"""Of SchedulerParameters those that slurm goes by, and from where to where they may be."""
OFF = ("bf_interval", "sched_interval")
"""Of these -1 means that it does not run."""
GONE_BY = frozenset(
    [
        *("", "0", "NONE", "FAIR_TREE", "NO_FAIR_TREE", "CALCULATE_RUNNING", "SMALL_RELATIVE_TO_TIME"),
        *("CR_CPU", "CR_CORE", "CR_SOCKET", "CR_MEMORY", "CR_CPU_MEMORY", "CR_CORE_MEMORY", "CR_SOCKET_MEMORY"),
        *("bf_continue", "defer", "bf_yield_interval", "bf_yield_sleep", "bf_max_time", "max_rpc_cnt"),
        *("sched_min_interval", *PARAMETERS),
    ]
)
"""Flags and SchedulerParameters that slurm goes by, or that change nothing where the controller is quick."""
SPANS = {"PriorityCalcPeriod": 1.0} | dict.fromkeys(
    ("MaxTime", "DefaultTime", "MaxWall", "PriorityDecayHalfLife", "PriorityMaxAge"), 0.0
)
"""Times, and how many seconds they are at least."""
COUNTS = (
    *("GrpJobs", "MaxJobs", "MaxJobsPU", "MaxJobsPA", "GrpSubmit", "MaxSubmit", "MaxSubmitPU", "MaxSubmitPA"),
    *("Priority", "Share", "RawShares", "PriorityWeightAge", "PriorityWeightFairShare", "PriorityWeightJobSize"),
    *("PriorityWeightPartition", "PriorityWeightQOS", "PriorityWeightAssoc"),
)
RANGES: dict[str, tuple[float, float]] = {
    **PARAMETERS,
    **dict.fromkeys((*COUNTS, "MaxNodes", "MinNodes"), (0, MOST_32)),
    **dict.fromkeys(("PriorityTier", "PriorityJobFactor"), (0, MOST_16)),
    "FairShareDampeningFactor": (1, MOST_16),
}
"""Whole numbers, from where to where they may be."""
AMOUNTS = ("UsageFactor", "RawUsage")
"""Numbers from 0, not always whole."""
YES, NO = ("yes", "up", "true", "1"), ("no", "down", "false", "0")
ENFORCED = ("associations", "limits", "nojobs", "nosteps", "qos", "safe", "wckeys", "all", "none", "0", "1", "2")
WORDS = {
    "AccountingStorageEnforce": ENFORCED,
    "PriorityType": ("priority/basic", "priority/multifactor"),
    "SchedulerType": ("sched/backfill", "sched/builtin"),
    "PriorityFavorSmall": (*YES, *NO),
    "Share": ("parent",),
    "RawShares": ("parent",),
    **dict.fromkeys(("MaxNodes", "MinNodes"), ("unlimited", "infinite")),
}
"""Words that a setting may be, or (AccountingStorageEnforce) several of them."""
SPAN = "minutes or [days-]hours:minutes:seconds"


def is_away(state: str) -> bool | None:
    """Whether a node of a state (`IDLE+DRAIN`, `down*`) takes no jobs; None of one that Slurm does not have.

    One that is powered down to save power (`IDLE+CLOUD+POWERED_DOWN`, `pow_dn`) takes some: Slurm wakes it for them.
    """
    words = {*re.findall("[a-z]+", re.sub("(pow[a-z]*)_d(ow)?n", r"\1", state.lower()))}
    return True if words & AWAY else False if words & THERE else None


def has_gone(state: str) -> bool:
    """Whether an event in such a state tells that its node went."""
    return bool(is_away(state)) or not GOES.isdisjoint(re.findall("[a-z]+", state.lower()))


def is_yes(value: float | str) -> bool:
    """Whether a setting that is yes or no is yes (`s_p_get_boolean`)."""
    return str(value).lower().removesuffix(".0") in YES


def span_s(value: float | str) -> float | None:
    """Seconds of a time: a number is of minutes (as slurm.conf may have it), -1 for ever, else `[D-]HH:MM:SS`."""
    minutes = number(str(value))
    return seconds(str(value)) if minutes is None else math.inf if minutes == -1 else 60.0 * minutes


def whole(text: str) -> float | None:
    """A whole number of 32 bits from 0, None for anything else."""
    found = number(text)
    return found if found is not None and found.is_integer() and 0 <= found <= MOST_32 else None


def takes(name: str) -> str:
    """What Slurm takes for a setting that is a time, a number or one of some words."""
    if name in SPANS:
        return SPAN + (" above 0" if SPANS[name] else "")
    if name in WORDS and name not in RANGES:
        return f"one of {', '.join(WORDS[name])}"
    low, high = RANGES.get(name, (0, math.inf))
    kind = "whole " if name in RANGES else ""
    upto = f" to {high:.0f}" if high < MOST_32 else ""
    return f"a {kind}number from {low:g}{upto}" + (", or -1: it does not run" if name in OFF else "")


def readable(name: str, text: str) -> bool:
    """Whether Slurm takes a value (not `PriorityWeightAge=banana`, `GrpTRES=gres/gpu=-3`, `bf_window=0`)."""
    found = number(text)
    if name in WORDS and (found is None or name not in RANGES):
        return all(word.strip().lower() in WORDS[name] for word in text.split(","))
    if name in SPANS:
        lasts_s = span_s(text)
        return (
            lasts_s is not None
            and SPANS[name] <= lasts_s
            and (lasts_s < 60 * MOST_32 or (lasts_s == math.inf and not SPANS[name]))
        )
    if is_tres(name):  # weights alone are not whole
        counts = resources(text)
        parts = name == "PriorityWeightTRES"
        return all(
            each is not None and (parts or each.is_integer() or not key.startswith("gres/"))
            for key, each in counts.items()
        )
    if name in RANGES:
        low, high = RANGES[name]
        return found is not None and found.is_integer() and (low <= found <= high or (name in OFF and found == -1))
    return name not in AMOUNTS or (found is not None and 0 <= found < MOST_64)


def is_tres(name: str) -> bool:
    """Whether a setting is a list of resources, each with a number."""
    return "TRES" in name and name != "TRESBillingWeights"


def parameters(parts: Iterable[str]) -> Iterator[tuple[str, str, float | None]]:
    """Of the parts of SchedulerParameters those that slurm goes by: name, text, number (None: Slurm does not take it);
    of one that is there twice the first, in any capitals, and its leading digits (atoi), as Slurm reads them."""
    known = set[str]()
    for part in parts:
        name, _, text = part.strip().partition("=")
        if (name := name.lower()) in PARAMETERS and name not in known:
            known.add(name)
            begin = re.match(r"\s*[+-]?\d+", text, re.ASCII)
            digits = begin[0] if begin else text
            yield name, text, number(digits) if readable(name, digits) else None
