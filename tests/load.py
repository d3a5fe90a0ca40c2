"""What something costs in seconds of CPU time, which do not depend on what else the machine does."""

from __future__ import annotations

import contextlib

import psutil


def cpu_s(pid: int | None = None) -> float:
    """CPU time so far of a process (this one by default) and of all that it has started: kernels, servers, browsers.

    The difference of two readings is at least the wall time of what went on between them on an idle machine, but for
    what waits.
    """
    total = 0.0
    for process in (root := psutil.Process(pid), *root.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            spent = process.cpu_times()
            total += spent.user + spent.system + spent.children_user + spent.children_system
    return total
