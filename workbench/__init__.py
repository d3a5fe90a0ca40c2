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
    from workbench.api import Run as Run
    from workbench.api import allocation_table as allocation_table
    from workbench.api import formulations as formulations
    from workbench.api import ideal as ideal
    from workbench.api import ignored as ignored
    from workbench.api import load as load
    from workbench.api import schedulers as schedulers
    from workbench.api import simulate as simulate
    from workbench.api import snapshot_at as snapshot_at
    from workbench.api import solve as solve
    from workbench.api import solve_model as solve_model
    from workbench.cluster import Accelerator as Accelerator
    from workbench.cluster import Cluster as Cluster
    from workbench.cluster import NodeGroup as NodeGroup
    from workbench.comparison import Comparison as Comparison
    from workbench.comparison import compare as compare
    from workbench.contract import Formulation as Formulation
    from workbench.contract import Result as Result
    from workbench.contract import Scheduler as Scheduler
    from workbench.contract import Timing as Timing
    from workbench.decision import Assignment as Assignment
    from workbench.decision import Decision as Decision
    from workbench.decision import InvalidDecision as InvalidDecision
    from workbench.decision import JobView as JobView
    from workbench.decision import NodeView as NodeView
    from workbench.decision import Reason as Reason
    from workbench.decision import Snapshot as Snapshot
    from workbench.errors import InputError as InputError
    from workbench.errors import ScenarioError as ScenarioError
    from workbench.errors import WorkbenchError as WorkbenchError
    from workbench.explanation import Explanation as Explanation
    from workbench.explanation import explain as explain
    from workbench.explanation import one_more as one_more
    from workbench.job import Job as Job
    from workbench.job import requirement_set as requirement_set
    from workbench.knob import Knob as Knob
    from workbench.metrics import summary as summary
    from workbench.papers.paper import find_formulation as find_formulation
    from workbench.papers.paper import find_scheduler as find_scheduler
    from workbench.papers.paper import scheduler as scheduler
    from workbench.presets import preset as preset
    from workbench.scenario import Entity as Entity
    from workbench.scenario import Model as Model
    from workbench.scenario import Scenario as Scenario
    from workbench.solvers import Solver as Solver
    from workbench.sweeps import sweep as sweep
    from workbench.symbols import paper_map as paper_map
    from workbench.symbols import symbol_index as symbol_index
    from workbench.symbols import symbol_table as symbol_table
    from workbench.throughput import ColocatedRow as ColocatedRow
    from workbench.throughput import Scaling as Scaling
    from workbench.throughput import ThroughputRow as ThroughputRow
    from workbench.whatif.ask import WhatIf as WhatIf
    from workbench.whatif.ask import what_if as what_if
    from workbench.whatif.marginal import MarginalValues as MarginalValues
    from workbench.whatif.marginal import marginal_values as marginal_values


def _refuse_other(folder: str) -> None:
    """Raise ImportError where the other distribution named `workbench` lies in the same folder.

    Its folders `api` and `batch` hide our modules of these names, whichever was installed last.
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
        ("api", "load"),
        ("presets", "preset"),
        ("scenario", "Scenario"),
        ("cluster", "Cluster Accelerator NodeGroup"),
        ("job", "Job requirement_set"),
        ("throughput", "ThroughputRow ColocatedRow Scaling"),
        ("scenario", "Model Entity"),
        ("api", "schedulers formulations solve simulate ideal"),
        ("comparison", "compare"),
        ("whatif.ask", "what_if"),
        ("whatif.marginal", "marginal_values"),
        ("sweeps", "sweep"),
        ("api", "Run"),
        ("metrics", "summary"),
        ("explanation", "explain Explanation one_more"),
        ("comparison", "Comparison"),
        ("whatif.ask", "WhatIf"),
        ("whatif.marginal", "MarginalValues"),
        ("contract", "Result"),
        ("api", "allocation_table"),
        ("solvers", "Solver"),
        ("api", "solve_model"),
        ("papers.paper", "find_formulation find_scheduler scheduler"),
        ("contract", "Scheduler Formulation Timing"),
        ("knob", "Knob"),
        ("decision", "Snapshot JobView NodeView Decision Assignment Reason"),
        ("api", "snapshot_at ignored"),
        ("errors", "WorkbenchError InputError ScenarioError"),
        ("decision", "InvalidDecision"),
        ("symbols", "symbol_index symbol_table paper_map"),
    )
    for name in names.split()
}

__all__ = [*_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    """A public name, loaded from its module."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
