"""Why a job was guaranteed or not, told afterwards: the question of admission asked again, with its explanation (ours).

The scheduler gives its verdicts without looking for the earliest deadline that it would have accepted, nor for the jobs
in the way. Both follow from what it knew: the guaranteed jobs of that cycle, what was left of each, and the GPUs
outside the profiling cluster. Clusters of one accelerator type and one size of nodes (section 3.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.chronus.admission import admit
from workbench.papers.chronus.guarantees import Claims, steps_from, worth_meeting
from workbench.papers.chronus.instance import Instance
from workbench.papers.chronus.terms import next_boundary
from workbench.scheduling.decision import Snapshot

STUDY = "admission"


def explain(snapshot: Snapshot, given: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict on `job` beside the jobs of `guaranteed`, as JSON has it.

    snapshot: all jobs, known ahead; given: job; guaranteed (names); at_s, when the verdict was given; remaining_s of
    each of them then; running: those that hold GPUs until the next SLO lease; gpus: that the plan reckons with, outside
    the profiling cluster, in the first lease and in later ones; knobs: of the run. Found: guaranteed, how, why,
    in_the_way, earliest_s and rewards' last deadline that would do (None: no deadline would), leases of the plan if
    there is one, start_s and lease_s of these leases.
    Raises InputError for a job that is not there or has no deadline, and for several types.
    """
    data = instance(snapshot, given)
    found = admit(data, str(given["job"]))
    return {
        "job": found.job,
        "guaranteed": found.guaranteed,
        "how": found.how,
        "why": found.why,
        "earliest_s": found.earliest_s,
        "in_the_way": list(found.in_the_way),
        "leases": None if found.leases is None else {name: list(own) for name, own in found.leases.items()},
        "start_s": data.start_s,
        "lease_s": data.lease_s,
    }


def instance(snapshot: Snapshot, given: Mapping[str, Any]) -> Instance:
    """The plan's instance that the question is about; see `explain`."""
    knobs, at_s = given["knobs"], float(given["at_s"])
    slo_s, miss = int(knobs["slo_lease_s"]), float(knobs["miss_reward"])
    start_s = next_boundary(at_s, slo_s)
    every = {job.name: job for job in (*snapshot.jobs.jobs, *snapshot.future)}
    names = [*given["guaranteed"], str(given["job"])]
    for name in names:
        if name not in every:
            raise InputError("admission, job", name, "a job of the scenario")
    remaining, running = given["remaining_s"], set(given["running"])
    ahead = {name: start_s - at_s if name in running else 0.0 for name in names}
    left = [max(0.0, float(remaining[name]) - ahead[name]) for name in names]
    kept = [
        row for row, (name, seconds) in enumerate(zip(names, left, strict=True)) if seconds > 0 or name == names[-1]
    ]
    claims = Claims(
        tuple(names[row] for row in kept),
        tuple(every[names[row]].gpus for row in kept),
        tuple(left[row] for row in kept),
        tuple(
            steps_from(worth_meeting(every[names[row]].rewards, miss), every[names[row]].arrival_s, start_s)
            for row in kept
        ),
    )
    sure = np.arange(len(kept)) < len(kept) - 1
    return claims.instance([int(gpus) for gpus in given["gpus"]], _node_gpus(snapshot, knobs), start_s, knobs, sure, {})


def _node_gpus(snapshot: Snapshot, knobs: Mapping[str, Any]) -> int | None:
    """The size of nodes for which gangs are rounded up, None if they are not; so also where nodes differ in size."""
    if len(snapshot.types) > 1:
        expected = "one accelerator type (Chronus, 3.1): on several each type has a plan of its own"
        raise InputError("admission explained", f"{len(snapshot.types)} types", expected)
    sizes = set(snapshot.nodes.gpus.tolist())
    return sizes.pop() if knobs["round_up"] and knobs["topology"] and len(sizes) == 1 else None


STUDIES = {STUDY: explain}
