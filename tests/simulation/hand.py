"""What the tests worked out by hand share: two nodes of one GPU, a played script, the spans of a job."""

from __future__ import annotations

from typing import Any

from tests.simulation.support import check, make, rows, script
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Decision
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run

A, B = {"a-0": 1}, {"b-0": 1}
RESTART_10 = {"restart": {"restart_s": 10.0}}
EMPTY = Decision()


def two_nodes(jobs: list[dict[str, Any]], **core: Any) -> Scenario:
    """Nodes a-0 and b-0 of one GPU each, 1 step/s."""
    return make(jobs, {"a": 1, "b": 1}, core=core)


def played(scenario: Scenario, steps: dict[float, Decision], stop: Any = None, **timing: Any) -> Run:
    run = run_loop(scenario, script(steps, **timing), stop=stop)
    check(run)
    return run


def spans(run: Run, job: str) -> list[tuple[str, str, float, float]]:
    return [(node, kind, start_s, end_s) for node, _, _, kind, start_s, end_s in rows(run, job)]
