"""A run of a paper's algorithm beside the exact problem that the algorithm is for, on the same jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.base.card import card
from workbench.base.errors import InputError, counted
from workbench.base.rounding import short_number
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import ExactProblem, Result, Scheduler
from workbench.scheduling.solvers import Solver, TimeLimitError
from workbench.session.api import simulate, snapshot_at
from workbench.session.registry import scheduler_of
from workbench.simulation.run import Run

TIME_LIMIT_S = 20.0
PLANS = ("job", "round", "task", "slot", "gpu", "gpus", "start_s", "end_s", "synchronised_s")
"""Columns of a schedule, of those that a problem has."""


@dataclass(frozen=True, eq=False, repr=False)
class ExactAnswer:
    """What the algorithm's schedule and the best one are worth.

    formulation: of the problem; sense, unit: of its objective, empty where nothing was found; own: what the run is
    worth in its terms; counted: what that sums up, in words; best: the optimum, None if it was not found in time;
    found: what the best schedule found by then is worth, None without one; bound: what no schedule is better than, None
    if unknown; gap: how much worse the run is, relative to the bound (None if unknown, it is 0, or what is counted has
    no zero, as slots that are left; below 0: better, by what the problem leaves out); schedule: the one found, a row
    for each task, or each slot of a job (empty if none was); leaves_out: what the run has and the problem has not;
    sentence: all of this.
    """

    scheduler: str
    formulation: str
    sense: str
    unit: str
    own: float
    best: float | None
    found: float | None
    bound: float | None
    gap: float | None
    status: str
    time_limit_s: float
    schedule: pd.DataFrame
    counted: str
    leaves_out: str
    too_large: str = ""

    @property
    def sentence(self) -> str:
        """What was found."""
        unit = "" if self.unit in ("", "1") else f" {self.unit}"
        most = "most" if self.sense == "max" else "least"
        own = f"{self.scheduler} comes to {short_number(self.own, 6)}{unit}"
        if self.too_large:
            return f"{self.formulation} was not solved, as it is too large ({self.too_large}); {own}."
        if self.best is not None:
            apart = f", {self._off(unit)}"
            if self.beyond:
                apart = ", better than the optimum by what the problem leaves out"
            optimum = f"the {most} {self.counted} that any plan comes to is {short_number(self.best, 6)}{unit}"
            return f"{self.formulation}: {optimum}; {own}{apart}."
        late = f"{self.formulation} was not solved within {self.time_limit_s:g} s"
        if self.bound is None:
            return f"{late}, and no bound is known; {own}."
        word = "above" if self.sense == "max" else "below"
        off = "" if self.beyond or self.own == self.bound else f", at most {self._off(unit)}"
        found = "" if self.found is None else f"the best schedule found comes to {short_number(self.found, 6)}{unit}, "
        return f"{late}: {found}none is {word} {short_number(self.bound, 6)}{unit}; {own}{off}."

    @property
    def beyond(self) -> bool:
        """Whether the run is worth more than any schedule of the problem: by what that leaves out."""
        if self.bound is None:
            return False
        more = self.own - self.bound if self.sense == "max" else self.bound - self.own
        return more > 1e-9 * max(1.0, abs(self.bound))

    def _off(self, unit: str) -> str:
        assert self.bound is not None
        apart = abs(self.own - self.bound)
        if apart <= 1e-9 * max(1.0, abs(self.bound)):
            return "no less" if self.sense == "max" else "no more"
        part = "" if self.gap is None else f" ({100 * self.gap:.2f} %)"
        return f"{short_number(apart)}{unit}{part} {'less' if self.sense == 'max' else 'more'}"

    def as_json(self) -> dict[str, Any]:
        """Plain values for the command line."""
        names = ("scheduler", "formulation", "sense", "unit", "own", "best", "found", "bound", "gap", "status")
        said = {name: getattr(self, name) for name in names}
        more = {"time_limit_s": self.time_limit_s, "sentence": self.sentence, "leaves_out": self.leaves_out}
        return {**said, **more, "schedule": self.schedule.to_dict("records")}

    def __repr__(self) -> str:
        return f"<ExactAnswer: {self.sentence}>"

    def _repr_html_(self) -> str:
        more = [f"Not in the problem: {self.leaves_out}."] if self.leaves_out else []
        rows = [[short_number(cell) if isinstance(cell, float) else str(cell) for cell in row] for row in self._first()]
        return card(self.sentence, rows, list(self.schedule.columns), more)

    def _first(self) -> list[tuple[Any, ...]]:
        return list(self.schedule.head(10).itertuples(index=False, name=None))


def exact(
    source: Run | Scenario | str | Path,
    scheduler: str | Scheduler | None = None,
    given: Mapping[str, Any] | None = None,
    /,
    *,
    time_limit_s: float = TIME_LIMIT_S,
    **knobs: Any,
) -> ExactAnswer:
    """The exact problem of a run's jobs, all known ahead, beside the run of the algorithm that is for it.

    source: a run, or a scenario (also a file or `preset:NAME`) on which the scheduler is simulated first. The solver
    stops after time_limit_s; then the bound stands in the optimum's place. Raises InputError for a scheduler whose
    paper states no such problem, for a run with jobs that have not finished where the objective counts them; what
    `simulate` raises.
    """
    if not isinstance(source, Run):
        if scheduler is None:
            raise InputError("scheduler", scheduler, "the one to simulate; a run has its own")
        source = simulate(source, scheduler, given, **knobs)
    elif scheduler is not None or given or knobs:
        raise InputError("scheduler", scheduler or dict(given or knobs), "none with a run, which has its own")
    if isinstance(time_limit_s, bool) or not isinstance(time_limit_s, (int, float)) or not 0 < time_limit_s < math.inf:
        raise InputError("time_limit_s", time_limit_s, "seconds > 0")
    owner = scheduler_of(source)
    problem = owner.exact(snapshot_at(source.scenario, 0.0, offline=True), source.knobs, source.end_s)
    return _beside(source, problem, float(time_limit_s))


def _beside(run: Run, problem: ExactProblem, time_limit_s: float) -> ExactAnswer:
    finish_s = run.jobs.set_index("job")["finish_s"].reindex(list(problem.data.jobs)).to_numpy(dtype=float)
    own = problem.worth(finish_s)
    if math.isnan(own):
        late = run.jobs["job"][run.jobs["finish_s"].isna()].tolist()
        raise InputError("run", f"{counted(len(late), 'job')} not finished", "a run in which all have")
    found, too_large = _solved(problem, time_limit_s)
    known = found is not None and found.status == "optimal"
    best = found.objective if found is not None and known else None
    bound = best if found is None or known else found.bound
    sense = "" if found is None else found.sense
    gap = None if not bound or not problem.relative else (bound - own if sense == "max" else own - bound) / abs(bound)
    rows = [] if found is None or found.objective is None else problem.plan(found)
    schedule = pd.DataFrame(rows)
    return ExactAnswer(
        scheduler=run.scheduler,
        formulation=problem.formulation.name,
        sense=sense,
        unit="" if found is None else found.unit,
        own=own,
        best=best,
        found=None if found is None else found.objective,
        bound=bound,
        gap=gap,
        status="" if found is None else found.status,
        time_limit_s=time_limit_s,
        schedule=schedule[[name for name in PLANS if name in schedule]],
        counted=problem.counted,
        leaves_out=problem.leaves_out,
        too_large=too_large,
    )


def _solved(problem: ExactProblem, time_limit_s: float) -> tuple[Result | None, str]:
    """The result, None without one; why the problem is too large to be stated, if it is."""
    try:
        return problem.formulation.run(problem.data, problem.knobs, Solver(time_limit_s=time_limit_s)), ""
    except TimeLimitError:
        return None, ""
    except InputError as error:
        return None, f"{error.value}; it takes {error.expected.split(':')[0]}"
