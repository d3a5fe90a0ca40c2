"""Scheduling formulations for deep-learning GPU clusters, side by side on one simulation core.

    import workbench

    scenario = workbench.preset("start_here")
    run = workbench.simulate(scenario, "las")
    workbench.summary(run)

Public names are loaded when first used, so that `import workbench` alone imports neither altair nor pyomo.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from workbench.version import VERSION as __version__

if TYPE_CHECKING:
    from workbench.analysis.calibration.calibrate import Calibration as Calibration
    from workbench.analysis.calibration.calibrate import calibrate as calibrate
    from workbench.analysis.chain import Chain as Chain
    from workbench.analysis.chain import chain as chain
    from workbench.analysis.comparison import Comparison as Comparison
    from workbench.analysis.comparison import compare as compare
    from workbench.analysis.exact import ExactAnswer as ExactAnswer
    from workbench.analysis.exact import exact as exact
    from workbench.analysis.explanation import Explanation as Explanation
    from workbench.analysis.explanation import explain as explain
    from workbench.analysis.explanation import one_more as one_more
    from workbench.analysis.metrics.summary import summary as summary
    from workbench.analysis.rows import RowChange as RowChange
    from workbench.analysis.rows import relax as relax
    from workbench.analysis.rows import rows as rows
    from workbench.analysis.rows import without as without
    from workbench.analysis.sweeps import sweep as sweep
    from workbench.analysis.symbols import paper_map as paper_map
    from workbench.analysis.symbols import symbol_index as symbol_index
    from workbench.analysis.symbols import symbol_table as symbol_table
    from workbench.analysis.what_if.ask import WhatIf as WhatIf
    from workbench.analysis.what_if.ask import what_if as what_if
    from workbench.analysis.what_if.marginal import MarginalValues as MarginalValues
    from workbench.analysis.what_if.marginal import marginal_values as marginal_values
    from workbench.base.errors import InputError as InputError
    from workbench.base.errors import ScenarioError as ScenarioError
    from workbench.base.errors import WorkbenchError as WorkbenchError
    from workbench.scenario.cluster import Accelerator as Accelerator
    from workbench.scenario.cluster import Cluster as Cluster
    from workbench.scenario.cluster import NodeGroup as NodeGroup
    from workbench.scenario.job import Job as Job
    from workbench.scenario.job import requirement_set as requirement_set
    from workbench.scenario.presets import preset as preset
    from workbench.scenario.scenario import Entity as Entity
    from workbench.scenario.scenario import Model as Model
    from workbench.scenario.scenario import Scenario as Scenario
    from workbench.scenario.throughput import ColocatedRow as ColocatedRow
    from workbench.scenario.throughput import Scaling as Scaling
    from workbench.scenario.throughput import ThroughputRow as ThroughputRow
    from workbench.scheduling.contract import Formulation as Formulation
    from workbench.scheduling.contract import Result as Result
    from workbench.scheduling.contract import Route as Route
    from workbench.scheduling.contract import Scheduler as Scheduler
    from workbench.scheduling.contract import Timing as Timing
    from workbench.scheduling.decision import Assignment as Assignment
    from workbench.scheduling.decision import Decision as Decision
    from workbench.scheduling.decision import InvalidDecision as InvalidDecision
    from workbench.scheduling.decision import Reason as Reason
    from workbench.scheduling.declared_room import Room as Room
    from workbench.scheduling.knob import Knob as Knob
    from workbench.scheduling.snapshot import JobView as JobView
    from workbench.scheduling.snapshot import NodeView as NodeView
    from workbench.scheduling.snapshot import Snapshot as Snapshot
    from workbench.scheduling.solvers import Solver as Solver
    from workbench.session.api import Run as Run
    from workbench.session.api import allocation_table as allocation_table
    from workbench.session.api import formulations as formulations
    from workbench.session.api import ideal as ideal
    from workbench.session.api import load as load
    from workbench.session.api import route as route
    from workbench.session.api import schedulers as schedulers
    from workbench.session.api import simulate as simulate
    from workbench.session.api import snapshot_at as snapshot_at
    from workbench.session.api import solve as solve
    from workbench.session.api import solve_model as solve_model
    from workbench.session.model_numbers import set_number as set_number
    from workbench.session.read_and_ignored import ignored as ignored
    from workbench.session.registry import find_formulation as find_formulation
    from workbench.session.registry import find_scheduler as find_scheduler
    from workbench.session.registry import formulation as formulation
    from workbench.session.registry import scheduler as scheduler
    from workbench.session.registry import skipped_rooms as skipped_rooms


def _refuse_other(folder: str) -> None:
    """Raise ImportError where the other distribution named `workbench` lies in the same folder.

    Each has written its own `workbench/__init__.py` and more over the other's, whichever was installed last.
    """
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.startswith("workbench-") and name.endswith(".dist-info"):
            raise ImportError(
                f"another project named `workbench` ({name.removesuffix('.dist-info')}) is installed in {folder} too, "
                "and each has overwritten parts of the other; this one is `dlsched-workbench`: "
                "`pip uninstall workbench dlsched-workbench`, then `pip install dlsched-workbench`"
            )


_refuse_other(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# In reading order: what goes in, what is done with it, what comes out, how to write a scheduler of one's own, errors.
_MODULES = {
    name: module
    for module, names in (
        ("session.api", "load"),
        ("scenario.presets", "preset"),
        ("scenario.scenario", "Scenario"),
        ("scenario.cluster", "Cluster Accelerator NodeGroup"),
        ("scenario.job", "Job requirement_set"),
        ("scenario.throughput", "ThroughputRow ColocatedRow Scaling"),
        ("scenario.scenario", "Model Entity"),
        ("session.api", "schedulers formulations solve simulate ideal"),
        ("analysis.comparison", "compare"),
        ("analysis.what_if.ask", "what_if"),
        ("analysis.what_if.marginal", "marginal_values"),
        ("analysis.sweeps", "sweep"),
        ("session.api", "Run"),
        ("analysis.metrics.summary", "summary"),
        ("analysis.explanation", "explain Explanation one_more"),
        ("analysis.exact", "exact ExactAnswer"),
        ("analysis.calibration.calibrate", "calibrate Calibration"),
        ("analysis.chain", "chain Chain"),
        ("analysis.comparison", "Comparison"),
        ("analysis.what_if.ask", "WhatIf"),
        ("analysis.what_if.marginal", "MarginalValues"),
        ("scheduling.contract", "Result"),
        ("session.api", "allocation_table"),
        ("analysis.rows", "rows relax without RowChange"),
        ("scheduling.solvers", "Solver"),
        ("session.api", "solve_model"),
        ("session.registry", "find_formulation find_scheduler scheduler formulation skipped_rooms"),
        ("session.model_numbers", "set_number"),
        ("scheduling.contract", "Scheduler Formulation Timing Route"),
        ("scheduling.knob", "Knob"),
        ("scheduling.declared_room", "Room"),
        ("scheduling.snapshot", "Snapshot JobView NodeView"),
        ("scheduling.decision", "Decision Assignment Reason"),
        ("session.api", "snapshot_at route"),
        ("session.read_and_ignored", "ignored"),
        ("base.errors", "WorkbenchError InputError ScenarioError"),
        ("scheduling.decision", "InvalidDecision"),
        ("analysis.symbols", "symbol_index symbol_table paper_map"),
    )
    for name in names.split()
}

__all__ = [*_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    """A public name, loaded from its module."""
    if name == "testing":
        return importlib.import_module(f"{__name__}.testing")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from workbench.base.collector import seldom_collected

    with seldom_collected():  # modules stay: Python would search them for cycles again and again, a quarter of the time
        value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        if name in ("simulate", "Run"):
            importlib.import_module(f"{__name__}.analysis.metrics")  # so that a run can show itself
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
