"""Jobs that cannot be forked (ours): no node can run a copy, as their gang is larger than every node.

They run whole, on GPUs of one type on as many nodes as it takes, the one with the least time left first, and keep their
GPUs until they are done.
"""

from __future__ import annotations

import numpy as np

from workbench.baselines.mechanisms.line import Rule, fill
from workbench.baselines.mechanisms.trial import Trial
from workbench.papers.hadar.hadare.copy_view import View
from workbench.scheduling.decision import Unit
from workbench.scheduling.placement import FreeGpus, Gpus


def unforked(view: View) -> dict[Unit, Gpus]:
    """GPUs of the jobs that cannot be forked: those that run go on, then the others in line."""
    snapshot, names = view.snapshot, view.snapshot.jobs.names
    if view.forked.all():
        return {}
    room, kept = FreeGpus(snapshot.nodes), dict[Unit, Gpus]()
    for unit, lease in snapshot.ended.items():
        row = snapshot.jobs.at.get(str(unit)) if isinstance(unit, str) else None
        if row is None or view.forked[row] or len({snapshot.nodes.kind[view.at[node]] for node in lease.gpus}) > 1:
            continue
        if room.keep(room.kind_of(lease.gpus), sum(lease.gpus.values()), lease.gpus):
            kept[unit] = lease.gpus
    rows = [row for row in np.flatnonzero(~view.forked).tolist() if names[row] not in kept]
    fastest = snapshot.belief.speeds(snapshot.jobs).max(axis=1)
    time_s = np.divide(view.steps_left, fastest, out=np.full(len(names), np.inf), where=fastest > 0)
    rows.sort(key=lambda row: time_s[row])
    trial = Trial(snapshot, room)
    fill(rows, Rule(preemptive=False, blocking=False, aware=True, steady=False), trial)
    return {**kept, **trial.placed}
