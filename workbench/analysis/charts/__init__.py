"""Charts: pure functions from a run's tables to a `Drawing`, and files made of them.

The outline of the schedule before a change is in `gantt` for its bars and in `bars_in_rows` for those of tasks."""

from workbench.analysis.charts.areas import entities, logical_clusters, utilisation
from workbench.analysis.charts.bar_charts import before_after, bound, grouped_bars, job_changes, variants
from workbench.analysis.charts.cdf import cdf, cdf_table, jct_cdf
from workbench.analysis.charts.curves import curve, price_curve, speed_errors, sweep
from workbench.analysis.charts.deadlines import admission, lease_gantt, planned_leases, run_leases
from workbench.analysis.charts.drawing import Drawing
from workbench.analysis.charts.export import save, to_csv, to_html, to_png, to_svg
from workbench.analysis.charts.gangs import gangs, gangs_at
from workbench.analysis.charts.gantt import gantt, gantt_slot, plan, run_gantt
from workbench.analysis.charts.heat_maps import (
    allocation,
    configurations_had,
    gain_matrix,
    gains_table,
    is_gain,
    shares_at,
)
from workbench.analysis.charts.received import received, received_table
from workbench.analysis.charts.rewards import reward_classes, reward_curves
from workbench.analysis.charts.scatter import agreement, frontier, scatter
from workbench.analysis.charts.series import (
    fragments_by_round,
    idle_while_waiting,
    is_price,
    over_time,
    price_course,
    prices,
    queue,
    signals,
)
from workbench.analysis.charts.service_window import QUEUE_SIGNALS, longest_queue_s, queue_at, service_window
from workbench.analysis.charts.tasks import task_rows, tasks

__all__ = [
    "QUEUE_SIGNALS",
    "Drawing",
    "admission",
    "agreement",
    "allocation",
    "before_after",
    "bound",
    "cdf",
    "cdf_table",
    "configurations_had",
    "curve",
    "entities",
    "fragments_by_round",
    "frontier",
    "gain_matrix",
    "gains_table",
    "gangs",
    "gangs_at",
    "gantt",
    "gantt_slot",
    "grouped_bars",
    "idle_while_waiting",
    "is_gain",
    "is_price",
    "jct_cdf",
    "job_changes",
    "lease_gantt",
    "logical_clusters",
    "longest_queue_s",
    "over_time",
    "plan",
    "planned_leases",
    "price_course",
    "price_curve",
    "prices",
    "queue",
    "queue_at",
    "received",
    "received_table",
    "reward_classes",
    "reward_curves",
    "run_gantt",
    "run_leases",
    "save",
    "scatter",
    "service_window",
    "shares_at",
    "signals",
    "speed_errors",
    "sweep",
    "task_rows",
    "tasks",
    "to_csv",
    "to_html",
    "to_png",
    "to_svg",
    "utilisation",
    "variants",
]
