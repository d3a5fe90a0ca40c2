"""What is wrong with an input, by the names of the controls."""

from __future__ import annotations

from widgets.editors.core_panel import SHARING
from widgets.editors.scenario_tables import spoken
from workbench.base.errors import ScenarioError, WorkbenchError


def refusal(error: WorkbenchError, tab: str = "Knobs") -> str:
    """What the labs' process says is wrong, by the names of the controls.

    tab: the one that holds what the core does.
    """
    if error.where == "core.space_sharing":
        return f"Tick \u201c{SHARING}\u201d at the bottom of the tab {tab}: expected {error.expected}"
    return str(error.problem)


def what_is_wrong(error: WorkbenchError) -> str:
    """What is wrong, and where, in the words of the panel."""
    problems = error.problems if isinstance(error, ScenarioError) else (error.problem,)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return spoken(problems[0]) + more
