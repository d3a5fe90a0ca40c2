"""The plan of a scheduling cycle of SLO leases: whose lease it is now, and whose later (section 3.3.4).

If the last plan, carried on, with the new jobs in it, is within `gap` of what all jobs could earn each for itself, it
stands. Else the programme is solved from there on, as the knob `plan_by` says:
  printed, master: `chronus.leases` with that model;
  auto: the printed model up to `SMALL` variables, else the master, and the printed one again where lifting does not
  keep the promises;
  feasibility: no reward is looked at, any plan that keeps the promises will do (Fig. 7b);
  greedy (ours): jobs keep the leases they had when they came, the earliest that were free; nobody plans again.
The first lease of a plan is then emptied where the knob `first_lease` says so (`LeasePlan.put_off`).
How far a round may go is told in gap and nodes of the search, not in seconds, so that equal runs are equal.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from workbench.papers.chronus.algorithms.guarantees import Promises, leases_of, total_best
from workbench.papers.chronus.algorithms.lease_plan import LeasePlan, improved, of_leases
from workbench.papers.chronus.algorithms.terms import Choice
from workbench.papers.chronus.formulations.leases import LeaseSelection, variables
from workbench.papers.chronus.instance import ChronusInstance, Leases
from workbench.scheduling.contract import Formulation, Knobs
from workbench.scheduling.solvers import KEPT, Solver, TimeLimitError
from workbench.scheduling.solvers.solve_report import MadeBy, SolveReport, relative_gap, report

FORMULATION = LeaseSelection()
JobChoices = Mapping[str, Choice]
"""What jobs run as."""
SMALL = 300
"""Variables up to which `auto` plans by the printed model; with 400 and more it takes seconds a cycle."""
WORSE = (KEPT.status, "optimal", "feasible", "time_limit")
"""Statuses of a plan: carried on as it was, or as a solver says; the worst last."""


def solver_of(knobs: Knobs) -> Solver:
    """How far a solve may go."""
    return Solver(gap=float(knobs["gap"]), node_limit=int(knobs["nodes"]))


def plan(
    data: ChronusInstance, knobs: Knobs, instead: Formulation[Any] | None = None
) -> tuple[Leases, JobChoices, SolveReport]:
    """Leases of all jobs, all guaranteed and in the last plan; what they run as; and how good the plan is.

    instead: the own formulation that plans, whatever the last plan is worth; where it has no plan that keeps
    all promises, the last one goes on. What took time beside building a model counts as solving.
    """
    if not data.jobs:
        return {}, {}, SolveReport("optimal", 0.0, bound=0.0, gap=0.0)
    if instead is not None:
        own = instead.attempt(data, instead.settle({}) | knobs, solver_of(knobs))
        if own is None:
            return data.previous, {}, KEPT
        return leases_of(own.values["leases"]), {}, own
    begun_s = time.perf_counter()
    leases, choices, found = _planned(data, knobs)
    if knobs["first_lease"] == "late":
        leases = of_leases(data.as_in(choices), leases).put_off.leases
    return leases, choices, replace(found, solve_s=time.perf_counter() - begun_s - found.build_s)


def _planned(data: ChronusInstance, knobs: Knobs) -> tuple[Leases, JobChoices, SolveReport]:
    by, gap = str(knobs["plan_by"]), float(knobs["gap"])
    kept = of_leases(data, data.previous)
    if by in ("feasibility", "greedy"):
        chosen = kept if by == "greedy" else kept.shifted_left
        return chosen.leases, chosen.choices, _reported("feasible", chosen, total_best(data))
    bound = total_best(data)
    kept = improved(kept)
    if bound - kept.objective <= gap * abs(bound):
        kept = kept.shifted_left
        return kept.leases, kept.choices, _reported("", kept, bound)
    try:
        found = FORMULATION.run(data, {"form": _form(by, data), "gap": gap}, solver_of(knobs))
    except TimeLimitError:
        kept = kept.shifted_left
        return kept.leases, kept.choices, _reported("time_limit", kept, bound)
    leases, made_by = leases_of(found.values["leases"]), found.made_by
    choices: JobChoices = kept.choices
    if "choice" in found.values:
        choices = {name: Choice(**own) for name, own in found.values["choice"].items() if own is not None}
    if found.objective is not None and found.objective < kept.objective:
        leases, choices = kept.shifted_left.leases, kept.choices
        made_by = "algorithm"
    objective = max(found.objective or 0.0, kept.objective)
    solved = report(objective, found.bound, found.status == "time_limit")
    return leases, choices, replace(solved, build_s=found.build_s, solve_s=found.solve_s, made_by=made_by)


def _form(by: str, data: ChronusInstance) -> str:
    """The model of `chronus.leases` that plans."""
    if by == "auto":
        return "printed" if variables(data) <= SMALL else "master"
    return by


def _reported(status: str, chosen: LeasePlan, bound: float) -> SolveReport:
    solved = report(chosen.objective, bound, timed_out=False)
    return replace(solved, status=status or solved.status)


def kept(promises: Promises) -> SolveReport:
    """The plan of a type that goes on as it is: its objective and bound are those of when it was made.

    Where nobody is promised anything there is no plan, and the algorithm of the spot cluster alone decides.
    """
    gap = relative_gap(promises.objective or 0.0, promises.bound)
    made_by: MadeBy = KEPT.made_by if promises.leases else "algorithm"
    return replace(KEPT, objective=promises.objective, bound=promises.bound, gap=gap, made_by=made_by)


def together(solutions: Sequence[SolveReport]) -> SolveReport:
    """What the plans of several types come to; the status is the worst."""
    if len(solutions) == 1:
        return solutions[0]
    status = max((one.status for one in solutions), key=WORSE.index)
    objective = sum(one.objective or 0.0 for one in solutions)
    promised = [one for one in solutions if one.objective] or solutions
    bounds = [one.bound for one in solutions if one.bound is not None]
    bound = sum(bounds) if len(bounds) == len(solutions) else None
    return SolveReport(
        status,
        objective,
        bound=bound,
        gap=relative_gap(objective, bound),
        build_s=sum(one.build_s for one in solutions),
        solve_s=sum(one.solve_s for one in solutions),
        made_by=min((one.made_by for one in promised), key=get_args(MadeBy).index),
    )
