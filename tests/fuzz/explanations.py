"""Whether `workbench.explain` says of a job what the run's tables say of it, read here row by row."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import numpy as np

from workbench.analysis.explanation import Explanation, explain
from workbench.analysis.explanation.course import clock
from workbench.simulation.job_at_time import OF_KIND
from workbench.simulation.run import Run

Row = dict[str, Any]
TIMES = 5


def check_explanations(run: Run, rng: np.random.Generator) -> None:
    """Assert that some jobs at some times are explained, and by what is so: at random times and where rows meet."""
    rows = run.timeline.to_dict("records")
    jobs = run.jobs.to_dict("records")
    edges = [0.0, run.end_s, *run.timeline["start_s"], *run.timeline["end_s"], *run.decisions["time_s"]]
    for _ in range(TIMES if jobs else 0):
        job = jobs[int(rng.integers(len(jobs)))]
        own = [job["arrival_s"], job["finish_s"]] if rng.random() < 0.3 else edges
        at_s = float(own[int(rng.integers(len(own)))])
        if math.isnan(at_s) or at_s > run.end_s or rng.random() < 0.4:
            at_s = float(rng.uniform(0.0, run.end_s))
        found = explain(run, job["job"], at_s)
        try:
            _check(run, found, job, [row for row in rows if job["job"] in (row["job"], row["with_job"])])
            _check_competitors(run, found, rows)
        except AssertionError as error:
            raise AssertionError(f"{job['job']} at {at_s!r} s: {error}; told: {found.reason}") from error


def _check(run: Run, found: Explanation, job: Row, mine: list[Row]) -> None:
    """State, nodes, next start and facts of the job itself."""
    at_s = found.at_s
    now = _now(run, mine, at_s, done=job["finish_s"] <= at_s)
    assert found.state in _states(run, job, now, at_s), f"{found.state}, not {_states(run, job, now, at_s)}"
    if found.state in OF_KIND.values():
        nodes = Counter(node for node, _ in {(row["node"], row["slot"]) for row in now})
        for node, count in nodes.items():
            assert f"{node} x {count}" in found.sentences[0], f"it has {count} GPUs of {node}"
    starts = [row["start_s"] for row in mine if not any(_leads_to(other, row) for other in mine)]
    expected = min((start_s for start_s in starts if start_s > at_s), default=None)
    assert found.next_start_s == expected, f"next start {found.next_start_s}, not {expected}"
    facts = {fact.name: fact for fact in found.facts}
    assert facts["arrival"].value == job["arrival_s"], "another arrival"
    calls = run.decisions[run.decisions["time_s"] <= at_s]
    assert ("last decision" in facts) == bool(len(calls)), "whether there was a decision"
    if len(calls):
        last = (calls["time_s"].iloc[-1], f"s ({calls['cause'].iloc[-1]})")
        assert (facts["last decision"].value, facts["last decision"].unit) == last, "another last decision"
    assert found.state != "waiting" or found.binding, "nothing decided"
    assert found.state != "finished" or clock(job["finish_s"]) in found.sentences[0], "another end"
    assert all(found.sentences) and found.text() and found._repr_html_()
    json.dumps(found.as_json(), allow_nan=False)


def _now(run: Run, rows: list[Row], at_s: float, done: bool) -> list[Row]:
    """The rows that contain a time; at the run's end those that end with it, unless their job is done."""
    last = at_s == run.end_s and not done
    return [row for row in rows if row["start_s"] <= at_s < row["end_s"] or (last and row["end_s"] == at_s)]


def _leads_to(before: Row, row: Row) -> bool:
    """Whether a row begins earlier than another and lasts until it begins."""
    return bool(before["start_s"] < row["start_s"] <= before["end_s"])


def _states(run: Run, job: Row, now: list[Row], at_s: float) -> set[str]:
    """The states that a job may be said to be in."""
    if job["finish_s"] <= at_s:
        return {"finished"}
    if job["arrival_s"] > at_s:
        return {"not_arrived"}
    if now:
        return {OF_KIND[row["kind"]] for row in now}
    verdicts = run.events[(run.events["job"] == job["job"]) & (run.events["event"] == "verdict")]
    refused = job["verdict"] == "refused" and verdicts["time_s"].max() <= at_s
    return {"refused" if refused else "waiting"}


def _check_competitors(run: Run, found: Explanation, rows: list[Row]) -> None:
    """Who is said to hold GPUs holds as many of each type, who is said to wait has none and is there."""
    by_name = {job["job"]: job for job in run.jobs.to_dict("records")}
    for other in found.competitors:
        job = by_name[other.job]
        assert other.job != found.job, "it competes with itself"
        assert job["arrival_s"] <= found.at_s and not job["finish_s"] <= found.at_s, f"{other.job} is not there"
        own = [row for row in rows if other.job in (row["job"], row["with_job"]) and row["kind"] != "sync"]
        held = _now(run, own, found.at_s, done=False)
        assert bool(held) == (other.role == "holds"), f"whether {other.job} has GPUs"
        if held:
            told = sum(int(part.split()[0]) for part in other.gpus.split(", "))
            slots = {(row["node"], row["slot"]) for row in held}
            assert 0 < told <= len(slots), f"{other.job} has {len(slots)} GPUs, not {told}"
