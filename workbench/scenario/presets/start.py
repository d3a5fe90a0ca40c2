"""The scenario to start with."""

from __future__ import annotations

from workbench.scenario.presets.parts import HOUR, cluster_of, node_groups, plan_of
from workbench.scenario.presets.registry import Data, register
from workbench.scenario.traces.synthetic import Workload


@register
def start_here() -> Data:
    """Three jobs on two V100 and one K80 for about three hours: more GPUs asked for than there are (ours)."""
    cluster = cluster_of(node_groups(("fast", "v100", 1, 2), ("slow", "k80", 1, 1)))
    work = Workload.build(cluster, "gavel", reference="v100")
    jobs = [
        work.job("vision", "ResNet-50 (batch size 64)", 2, 1.5 * HOUR, 0.0),
        work.job("game", "A3C", 1, 1.0 * HOUR, 600.0),
        work.job("translation", "Transformer (batch size 64)", 1, 1.0 * HOUR, 1800.0),
    ]
    return {**work.scenario(jobs), "plan": plan_of("gavel.max_min_fairness", "las", "fifo")}
