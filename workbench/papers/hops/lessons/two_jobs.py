"""The smallest example in which lambda matters (ours): three idle GPUs of one server, two jobs on one GPU or two."""

from __future__ import annotations

from workbench.papers.hops.instance import HopsInstance, JobConfigurations


def two_jobs(priority_of_b: float = 1.0, gpus: int = 3) -> HopsInstance:
    """Jobs a, of priority 3, and b: a second GPU makes a 1.5 times as fast and b 1.8 times.

    With three GPUs a gets two of them where `0.5 * 3^lambda > 0.8 * priority_of_b^lambda`.
    """
    options = [
        JobConfigurations("a", 3.0, [({"server": 1}, 10.0), ({"server": 2}, 15.0)]),
        JobConfigurations("b", priority_of_b, [({"server": 1}, 10.0), ({"server": 2}, 18.0)]),
    ]
    return HopsInstance.of({"server": gpus}, options)
