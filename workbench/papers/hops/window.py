"""Who may be scheduled (Hops, section 3.6): the service window at the head of the queue, and its adjustment.

Everything is in the order of the queue, the first to be served first. The job at which the summed smallest requests
reach the GPUs of the cluster is the last one inside. (erratum): the adjustment is printed for requests *less* than the
idle GPUs; read at most, for a request may fill them.
"""

from __future__ import annotations

import numpy as np

from workbench.base.errors import InputError
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray


def service_window(least: IntArray, total_gpus: int) -> int:
    """How many jobs at the head of the queue are inside the window; it never skips one.

    least: (jobs,) smallest request of each; total_gpus: of the cluster, busy or not.
    """
    requests = np.asarray(least, dtype=np.int64)
    if len(requests) and requests.min() < 1:
        raise InputError("smallest request of a job", int(requests.min()), "at least 1 GPU")
    if total_gpus < 1:
        raise InputError("GPUs of the cluster", total_gpus, "at least 1")
    reached = int(np.searchsorted(np.cumsum(requests), total_gpus, side="left"))
    return min(reached + 1, len(requests))


def adjusted_window(window: int, rho: FloatArray, least: IntArray, idle_gpus: int) -> IntArray:
    """Positions in the queue of those who may be scheduled onto fragments: the window, and whom it is opened to.

    As long as the jobs inside are more sensitive on average than the queue, the walk from the boundary backward lets in
    whoever is less sensitive than the queue's average and small enough for the idle GPUs. rho: (jobs,) sensitivity,
    finite. The window itself is left as it is where nobody helps.
    """
    rho = np.asarray(rho, dtype=float)
    if not np.isfinite(rho).all():
        raise InputError("sensitivity of a job", float(rho[~np.isfinite(rho)][0]), "a finite number")
    if not 0 <= window <= len(rho):
        raise InputError("window", window, f"0 to the {len(rho)} jobs of the queue")
    inside = list(range(window))
    total = float(rho[:window].sum())
    average = float(rho.mean()) if len(rho) else 0.0
    for position in range(window, len(rho)):
        if not inside or total / len(inside) <= average:
            break
        if rho[position] < average and least[position] <= idle_gpus:
            inside.append(position)
            total += float(rho[position])
    return np.array(inside, dtype=np.int64)
