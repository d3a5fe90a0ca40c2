"""One page about a run that can be mailed (`workbench.analysis.page`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.analysis import page
from workbench.analysis.calibration.note import assumed, notes_under
from workbench.analysis.charts import Drawing, gantt, jct_cdf, utilisation
from workbench.analysis.metrics import Summary, summary, table
from workbench.base.errors import InputError, counted
from workbench.base.labels import with_unit
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.scenario.cluster import Cluster
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.by_name import maker
from workbench.simulation.run import OWN, Run

GANTT_PX = 300.0
"""Height of the schedule."""


def save_report(run: Run, path: str | Path, *, force: bool = False) -> Summary:
    """Write the page about a run, and return the measures on it; raises InputError as `page.save` does."""
    found = summary(run)
    page.save(run_report(run, found), path, force=force)
    return found


def run_report(run: Run, found: Summary | None = None) -> str:
    """The page about a run: what was run, the cluster, its measures, the schedule, completion times, GPUs in use.

    found: the run's summary, where it is there already.
    """
    if not isinstance(run, Run):
        raise InputError("run", run, "a Run, what `simulate` returns")
    found = found or summary(run)
    scenario, name = run.scenario, run.scenario.name or "a scenario without a name"
    measures = table(found)[["label", "value", "unit"]]
    rows = [(label, with_unit(value, unit)) for label, value, unit in measures.itertuples(index=False)]
    pictures = [
        page.figure(_gantt(run)),
        page.two_columns(
            page.figure(jct_cdf(run.jobs, height=220), page.HALF_PX),
            page.figure(utilisation(run.timeline, cluster=scenario.cluster, end_s=run.end_s, height=220), page.HALF_PX),
        ),
    ]
    head = f"{run.scheduler} on {name}"
    facts = what_was_run(
        scenario, run.scheduler, run.knobs, [run.seed], belief=run.belief, until_s=run.until_s, window=run.window
    )
    set_up = page.section("What was run", page.facts(facts))
    conditions = [("Conditions", " ".join(run.conditions))] if run.conditions else []
    left = set_up + page.section("Cluster", cluster_table(scenario.cluster))
    body = [
        waiting(found),
        page.two_columns(left, page.section("Measures", page.facts([*rows, ("Decided", found.decided), *conditions]))),
        *pictures,
        notes_of(notes_under(run)),
    ]
    if lead := assumed(scenario):
        body.insert(0, page.section("Assumed", page.points(lead)))
    if found.warnings:
        body.insert(0, page.section("Warning", page.points(found.warnings)))
    return page.whole(head, run.headline(), [*body, page.foot(f"run key {run.key()[:16]}")])


def waiting(found: Summary) -> str:
    """A sentence on how long jobs wait; empty where that is not known."""
    mean, median, p95 = (found[f"{name}_wait_s"] for name in ("mean", "median", "p95"))
    if math.isnan(mean + median + p95):
        return ""
    times = [format_duration(value, parts=2) for value in (mean, median, p95)]
    text = f"Jobs wait {times[0]} on average, half of them at most {times[1]}, 95 % at most {times[2]}"
    return f"<p>{page.escaped(text)}: all the time of their lives without GPUs, not only until the first start.</p>"


def notes_of(notes: Sequence[str]) -> str:
    """Where a scenario comes from and what was assumed, as a part of a page; empty where it does not say."""
    return page.section("Where the jobs come from", page.points(notes)) if notes else ""


def cluster_table(cluster: Cluster) -> str:
    """Nodes and prices by accelerator type."""
    rows = []
    for accelerator in cluster.accelerators:
        groups = [group for group in cluster.nodes if group.accelerator == accelerator.name]
        nodes = ", ".join(f"{group.count} x {counted(group.gpus, 'GPU')}" for group in groups)
        if groups:
            price = math.nan if accelerator.price_per_hour is None else accelerator.price_per_hour
            rows.append((accelerator.name, nodes, str(cluster.capacity[accelerator.name]), short_number(price, 4)))
    return page.table(["Type", "Nodes", "GPUs", "USD per GPU and h"], rows, right=(2, 3))


def what_was_run(
    scenario: Scenario,
    scheduler: str,
    knobs: Mapping[str, Any],
    seeds: Sequence[int],
    *,
    belief: str,
    until_s: float | None = None,
    window: tuple[int, int] | None = None,
) -> list[tuple[str, str]]:
    """Name and value of what a reader needs to make the run again; belief, until_s (s), window: as of a `Run`."""
    core = scenario.core
    restart = format_duration(core.restart.restart_s) + (" x (1 + log2 GPUs)" if core.restart.law == "log2" else "")
    arrivals = [job.arrival_s for job in scenario.jobs]
    span = format_duration(max(arrivals, default=0.0) - min(arrivals, default=0.0), parts=2)
    faults = [] if core.faults.mtbf_s is None else [f"mean time between {format_duration(core.faults.mtbf_s, parts=2)}"]
    faults += [counted(len(core.faults.list), "listed outage")] if core.faults.list else []
    return [
        ("Scenario", scenario.name or "without a name"),
        *([("About", scenario.description[:300])] if scenario.description else []),
        ("Jobs", f"{len(scenario.jobs)}, arriving within {span}"),
        ("Scheduler", scheduler),
        _knobs(scheduler, knobs),
        ("Speeds known", _known(belief)),
        *([] if until_s is None else [("Ends at", f"{format_duration(until_s)} at the latest")]),
        *([] if window is None else [("Ends when", f"jobs {window[0]} to {window[1]} by arrival are done")]),
        ("Restart costs", restart),
        ("Node failures", ", ".join(faults) or "none"),
        ("Seeds" if len(seeds) > 1 else "Seed", ", ".join(map(str, seeds))),
    ]


def _known(belief: str) -> str:
    return "by an object of a session" if belief == OWN else f"{belief} ({maker(belief).estimator.title})"


def _knobs(scheduler: str, knobs: Mapping[str, Any]) -> tuple[str, str]:
    """The knobs that are not at their defaults; all of them of a scheduler that this session does not know."""
    from workbench.session.registry import schedulers

    own = next((found for found in schedulers() if found.name == scheduler), None)
    default = {} if own is None else {knob.name: knob.default for knob in own.knobs}
    changed = [f"{name}={value}" for name, value in knobs.items() if name not in default or default[name] != value]
    return "Knobs" if own is None else "Knobs other than default", ", ".join(changed) or "none"


def _gantt(run: Run) -> Drawing:
    return gantt(
        run.timeline,
        run.jobs,
        run.decisions,
        run.events,
        cluster=run.scenario.cluster,
        rounds=False,
        end_s=run.end_s,
        max_height=GANTT_PX,
    )
