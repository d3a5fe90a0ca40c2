"""What of a run should not be believed as it stands, in sentences for people."""

from __future__ import annotations

import numpy as np

from workbench.analysis.metrics.kept import strayed
from workbench.base.units import format_duration
from workbench.simulation.intervals import Intervals, left_s, over_s
from workbench.simulation.run import Run

FAR = 1.5
"""How many times what a log shows is far beyond it (ours)."""


def beyond_the_log(run: Run, intervals: Intervals | None = None) -> tuple[str, ...]:
    """A makespan or a utilisation far beyond what the log of a converted scenario shows, for the same jobs."""
    log, cluster = run.scenario.recorded, run.scenario.cluster
    if log is None:
        return ()
    end, said = over_s(run), []
    if end > FAR * log.end_s:
        then = "in the log the last one had ended" if log.ends_known else "without any waiting it would have ended"
        said.append(
            f"The last job ends after {format_duration(end, parts=2)}; {then} after "
            f"{format_duration(log.end_s, parts=2)}. Do not take waits and makespan for those of the logged cluster: "
            "look at the nodes, at the length of a round, and at the scenario's notes."
        )
    if np.isfinite(left_s(run)).all():
        intervals = intervals or Intervals.of(run)
        used = float(intervals.seconds[intervals.running].sum()) / (cluster.gpus * end)
        logged = log.gpu_s / (cluster.gpus * log.end_s)
        if used > FAR * logged:
            most = "" if log.ends_known else "at most "
            said.append(
                f"Utilisation is {100 * used:.1f} %; the log shows {most}{100 * logged:.1f} % on so many GPUs. Either "
                "its jobs were held back by what is not simulated here, or they run longer than recorded."
            )
    return tuple(said)


def short_of_a_round(run: Run) -> tuple[str, ...]:
    """Of a log most of whose jobs run for less than a round: their waits are those for the next round."""
    round_s = run.knobs.get("round_s")
    if run.scenario.recorded is None or not isinstance(round_s, (int, float)) or round_s <= 0:
        return ()
    gpus = run.jobs["gpus"].to_numpy(dtype=float)
    took_s = (run.jobs["run_s"].to_numpy(dtype=float) / gpus)[run.jobs["finish_s"].notna()]
    if not len(took_s) or (middle_s := float(np.median(took_s))) >= round_s:
        return ()
    return (
        f"Half of the jobs run for {format_duration(middle_s, parts=2)} or less, and jobs start only when a round of "
        f"{format_duration(float(round_s), parts=2)} begins: they wait mostly for the next round. Shorten round_s.",
    )


def warnings_of(run: Run, intervals: Intervals | None = None) -> tuple[str, ...]:
    """All sentences on a run, none where there is nothing to say; intervals: the run's, where there already."""
    return (*beyond_the_log(run, intervals), *short_of_a_round(run), *strayed(run))
