"""Values of a Slurm site's files that its programs never print: they are told, and left out."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.scenario.traces.slurm_text import resources, seconds
from workbench.scenario.traces.trace_file import number

ABOVE_0 = frozenset({"PriorityCalcPeriod", "bf_interval", "bf_resolution", "bf_window"})
"""Of these 0 is what Slurm does not take: the default holds."""
NO_BACKFILL = "bf_interval=-1"
GONE_BY = frozenset(
    [
        *("", "0", "NONE", "FAIR_TREE", "NO_FAIR_TREE", "CALCULATE_RUNNING", "SMALL_RELATIVE_TO_TIME"),
        *("CR_CPU", "CR_CORE", "CR_SOCKET", "CR_MEMORY", "CR_CPU_MEMORY", "CR_CORE_MEMORY", "CR_SOCKET_MEMORY"),
        *("bf_interval", "bf_window", "bf_resolution", "bf_max_job_test", "bf_continue", "defer"),
        *("bf_max_job_user", "bf_max_job_part", "bf_window_linear", "sched_interval", "batch_sched_delay"),
        *("default_queue_depth", "bf_yield_interval", "bf_yield_sleep", "bf_max_time", "max_rpc_cnt"),
        *("sched_min_interval", "bf_max_job_array_resv", "bf_job_part_count_reserve", "bf_min_age_reserve"),
        "partition_job_depth",
    ]
)
"""Flags and SchedulerParameters that slurm goes by, or that change nothing where the controller is quick."""
SPANS = ("MaxTime", "DefaultTime", "MaxWall", "PriorityCalcPeriod", "PriorityDecayHalfLife", "PriorityMaxAge")
NUMBERS = (
    *("PriorityTier", "PriorityJobFactor", "Priority", "UsageFactor", "RawUsage", "FairShareDampeningFactor"),
    *("GrpJobs", "MaxJobs", "MaxJobsPU", "MaxJobsPA", "GrpSubmit", "MaxSubmit", "MaxSubmitPU", "MaxSubmitPA"),
)


def readable(name: str, text: str) -> bool:
    """Whether a value of an entity is one that Slurm prints (`PriorityWeightAge=banana` and `GrpTRES=gres/gpu=-3` are
    not); of SchedulerParameters see `unread_parameters`."""
    found = number(text)
    if name in SPANS:
        span_s = seconds(text) if found is None else found
        return span_s is not None and (span_s > 0 if name in ABOVE_0 else span_s >= 0)
    if "TRES" in name and name != "TRESBillingWeights":
        return None not in resources(text).values()
    if name in NUMBERS or name.startswith("PriorityWeight"):
        return found is not None and found >= 0
    return True


def unread_parameters(record: Mapping[str, str]) -> list[str]:
    """The parts of SchedulerParameters that slurm goes by, and whose number is none (`bf_window=x`)."""
    parts = (part.strip().partition("=") for part in record.get("SCHEDULERPARAMETERS", "").split(","))
    given = [(name, text, number(text)) for name, equals, text in parts if equals and name in GONE_BY]
    return [
        f"{name}={text}"
        for name, text, found in given
        if found is None or (name in ABOVE_0 and found == 0) or (found < 0 and f"{name}={text}" != NO_BACKFILL)
    ]
