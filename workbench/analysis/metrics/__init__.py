"""Measures of a finished run, all from its tables: per job, in sum, over time, and a check that the tables add up.

Every measure is declared with unit, definition and source: `METRICS` (in sum), `PER_JOB` (columns per job).
"""

from workbench.analysis.metrics.cards import comparison_page, run_page, warned
from workbench.analysis.metrics.declared import HEADLINE, MAIN, METRICS, PER_JOB, Metric, metric
from workbench.analysis.metrics.jobs import measures_of_jobs, per_job
from workbench.analysis.metrics.over_time import held_gpus, latency_ratio_over_time, throughput_over_time
from workbench.analysis.metrics.slo import broken_s
from workbench.analysis.metrics.summary import Summary, as_json, as_rows, summary, table, with_known
from workbench.analysis.metrics.two_runs import completions, completions_of, diverged_s, gains, jct_s, job_differences
from workbench.simulation.conservation import Violation, check

__all__ = [
    "HEADLINE",
    "MAIN",
    "METRICS",
    "PER_JOB",
    "Metric",
    "Summary",
    "Violation",
    "as_json",
    "as_rows",
    "broken_s",
    "check",
    "comparison_page",
    "completions",
    "completions_of",
    "diverged_s",
    "gains",
    "held_gpus",
    "jct_s",
    "job_differences",
    "latency_ratio_over_time",
    "measures_of_jobs",
    "metric",
    "per_job",
    "run_page",
    "summary",
    "table",
    "throughput_over_time",
    "warned",
    "with_known",
]
