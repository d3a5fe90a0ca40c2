"""Charts: pure functions from a run's tables to a `Drawing`, and files made of them."""

from workbench.analysis.charts import elastic
from workbench.analysis.charts.allocation import allocation, shares_at
from workbench.analysis.charts.before_after import before_after, job_changes
from workbench.analysis.charts.bound import bound
from workbench.analysis.charts.cdf import cdf, cdf_table, jct_cdf, jct_table
from workbench.analysis.charts.comparison import comparison, comparison_table
from workbench.analysis.charts.curves import curve
from workbench.analysis.charts.deadlines import admission, lease_gantt, planned_leases, run_leases
from workbench.analysis.charts.drawing import Drawing
from workbench.analysis.charts.export import save, to_csv, to_html, to_png, to_svg
from workbench.analysis.charts.fragments import fragments, fragments_by_round, idle_while_waiting
from workbench.analysis.charts.frontier import frontier
from workbench.analysis.charts.gains import configurations_had, gain_matrix, gains_table, is_gain
from workbench.analysis.charts.gangs import gangs, gangs_at
from workbench.analysis.charts.gantt import gantt, run_gantt
from workbench.analysis.charts.load import load_curve
from workbench.analysis.charts.plan import plan
from workbench.analysis.charts.pools import pools, pools_held
from workbench.analysis.charts.prices import is_price, price_course, price_curve, prices
from workbench.analysis.charts.received import received, received_table
from workbench.analysis.charts.rewards import reward_classes, reward_curves
from workbench.analysis.charts.scatter import scatter
from workbench.analysis.charts.series import over_time, queue
from workbench.analysis.charts.service_window import QUEUE_SIGNALS, longest_queue_s, queue_at, service_window
from workbench.analysis.charts.signals import entities, signals
from workbench.analysis.charts.steps import held_gpus
from workbench.analysis.charts.sweep import sweep
from workbench.analysis.charts.tasks import task_rows, tasks
from workbench.analysis.charts.utilisation import utilisation
from workbench.analysis.charts.variants import variants

__all__ = [
    "QUEUE_SIGNALS",
    "Drawing",
    "admission",
    "allocation",
    "before_after",
    "bound",
    "cdf",
    "cdf_table",
    "comparison",
    "comparison_table",
    "configurations_had",
    "curve",
    "elastic",
    "entities",
    "fragments",
    "fragments_by_round",
    "frontier",
    "gain_matrix",
    "gains_table",
    "gangs",
    "gangs_at",
    "gantt",
    "held_gpus",
    "idle_while_waiting",
    "is_gain",
    "is_price",
    "jct_cdf",
    "jct_table",
    "job_changes",
    "lease_gantt",
    "load_curve",
    "longest_queue_s",
    "over_time",
    "plan",
    "planned_leases",
    "pools",
    "pools_held",
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
