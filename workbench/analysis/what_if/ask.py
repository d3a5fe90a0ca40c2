"""What if one thing were different: the same jobs and seeds as today and with the change, compared pair by pair.

A question lists the runs, `concluded` makes the answer of them; `what_if` does both. So a panel may have the runs made
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.bootstrap import SEED, block_s, check_bootstrap, drawn, varied
from workbench.analysis.calibration.calibrate import usual_phases
from workbench.analysis.calibration.note import assumed, calibration_of
from workbench.analysis.metrics import summary
from workbench.analysis.metrics.confidence import LEVEL
from workbench.analysis.metrics.paired import check_level
from workbench.analysis.metrics.warnings import warnings_of
from workbench.analysis.what_if.change import Change, Configuration
from workbench.analysis.what_if.changes import DensityTo, parse_change
from workbench.analysis.what_if.site_changes import SeveralChanges
from workbench.analysis.what_if.tables import both_sides, difference_table, job_table, of_each, wait_table
from workbench.analysis.what_if.words import conclusions, freer, surprising
from workbench.base.collector import seldom_collected
from workbench.base.errors import NOTHING, InputError, ScenarioError, WorkbenchError, counted, told_of_arguments
from workbench.baselines.mechanisms.slurm.site import read_settings
from workbench.baselines.slurm import Slurm
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.estimators.by_name import belief_of_all
from workbench.session.api import load
from workbench.session.many_runs import Outcome, RunRequest, check_workers, checked_seeds, run_all
from workbench.session.registry import find_scheduler
from workbench.simulation.run import Run

TODAY, SLURM = "today", Slurm.name
MANY_JOBS = 5000


@dataclass(frozen=True, repr=False)
class WhatIfQuestion:
    """The runs of a what-if: today's configuration and each change, every one with every seed.

    Raises InputError and ScenarioError for a change that cannot be made, before anything runs.
    """

    today: Configuration
    changes: tuple[Change, ...]
    seeds: tuple[int, ...]
    bootstrap: bool = False
    level: float = LEVEL
    belief: str | None = None
    until_s: float | None = None
    demand: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        checked_seeds(self.seeds)
        check_bootstrap(self.bootstrap)
        check_level(self.level)
        if not self.changes:
            raise InputError("change", [], "at least one change")
        if not self.today.scenario.jobs:
            raise InputError("jobs", NOTHING, "at least one job to compare")
        self.today.scenario.require_runnable()
        for change in self.changes:
            if self.changes.count(change) > 1:
                raise InputError("change", change.text, "each change once")
        for side in self.sides[1:]:
            self._require_runnable(side)

    @cached_property
    def sides(self) -> tuple[Change | None, ...]:
        """What is run: today (None) and each change; then the same with each other demand."""
        more = [DensityTo(percent) for percent in self.demand]
        with_change = [[each, *(SeveralChanges((each, change)) for change in self.changes)] for each in more]
        return (None, *self.changes, *chain.from_iterable(with_change))

    def _require_runnable(self, change: Change | None) -> None:
        """Raise ScenarioError that names the change, where jobs could run nowhere with it."""
        assert change is not None
        try:
            change.applied(self.today).scenario.require_runnable()
        except ScenarioError as error:
            raise ScenarioError(
                [each._replace(where=f"with {change.text}: {each.where}") for each in error.problems]
            ) from None

    def __repr__(self) -> str:
        changes, pairs = "; ".join(change.text for change in self.changes), counted(len(self.seeds), "pair")
        return f"<WhatIfQuestion: {self.today!r}; {changes}; {pairs}>"

    @property
    def labels(self) -> tuple[str, ...]:
        """Each of `sides` as text, `today` first."""
        return tuple(TODAY if change is None else change.text for change in self.sides)

    @property
    def of_draws(self) -> bool:
        """Whether the pairs after the first have draws of the log."""
        return self.bootstrap and block_s(self.today.scenario) > 0

    @cached_property
    def draws(self) -> tuple[Scenario, ...]:
        """The scenario of each seed, before any change: the first one is the log itself."""
        given = self.today.scenario
        return (given, *(drawn(given, seed) if self.bootstrap else given for seed in self.seeds[1:]))

    def requests(self) -> list[RunRequest]:
        """The runs to make: all of today's by seed, then those of each other side."""
        distinct = {id(draw): draw for draw in self.draws}
        sides = []
        for change in self.sides:
            changed = {key: self._changed(change, draw) for key, draw in distinct.items()}  # once, for runs alike
            pairs = enumerate(zip(self.seeds, self.draws, strict=True))
            sides += [(self._in_phase(changed[id(draw)], number), seed) for number, (seed, draw) in pairs]
        belief = belief_of_all([find_scheduler(side.scheduler) for side, _ in sides], self.belief)
        return [
            RunRequest(
                side.scenario, side.scheduler, dict(side.knobs), seed, belief, self.until_s, detail=_detail(side)
            )
            for side, seed in sides
        ]

    def _changed(self, change: Change | None, draw: Scenario) -> Configuration:
        base = Configuration(draw, self.today.scheduler, self.today.knobs)
        return base if change is None else change.applied(base)

    def _in_phase(self, side: Configuration, pair: int) -> Configuration:
        """The same with Slurm's clocks as in one of the pairs, as no file tells when they run; not where they are set,
        nor, unless pairs have other jobs anyway, of so many jobs that `calibrate` has one phase too."""
        one = usual_phases(len(side.scenario.jobs)) == 1 and not self.of_draws
        if one or side.scheduler != SLURM or side.knobs.get("phase_s"):
            return side
        phase_s = read_settings(side.scenario)["bf_interval"] * part_of(pair)
        return replace(side, knobs={**side.knobs, "phase_s": phase_s}) if phase_s else side

    def said(self, number: int) -> str:
        """What a run of `requests` is, in words."""
        side, seed = divmod(number, len(self.seeds))
        return f"{self.labels[side]}, seed {self.seeds[seed]}"


def part_of(number: int) -> float:
    """0, 1/2, 1/4, 3/4, 1/8 ...: of as many as a power of two, evenly spaced (van der Corput)."""
    return sum(0.5 ** (place + 1) for place in range(number.bit_length()) if number >> place & 1)


def usual_seeds(scenario: Scenario, scheduler: str, seed: int) -> tuple[int, ...]:
    """Of the pairs where nobody says how many: one; under Slurm one for each phase of its clocks (`calibrate`)."""
    return tuple(range(seed, seed + (usual_phases(len(scenario.jobs)) if scheduler == SLURM else 1)))


def usual_demand(scenario: Scenario, scheduler: str) -> tuple[float, ...]:
    """Percent of the jobs with which a question is asked too where nobody says: of a log under Slurm 110 and 125, but
    of one so long that `calibrate` has one phase none, as they are three times the runs."""
    short = scenario.recorded is not None and usual_phases(len(scenario.jobs)) > 1
    return (110.0, 125.0) if scheduler == SLURM and short else ()


def _detail(side: Configuration) -> int | None:
    """Of long runs without rounds no answer reads shares, signals or reasons, which are most of what is recorded."""
    scheduler = find_scheduler(side.scheduler)
    rounds = scheduler.timing(scheduler.settle(side.knobs)).round_s is not None
    return None if rounds or len(side.scenario.jobs) < MANY_JOBS else 0


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf:
    """The answer. runs: by side (`WhatIfQuestion.sides`) and seed.

    differences: one row per change and measure: change, measure, label, unit, better (lower | higher | empty), before,
    after, difference (after - before), low, high (the interval, NaN without one), pairs.
    jobs: one row per change and job that finished on both sides: change, job, pairs, before_s, after_s, difference_s
    (mean JCT over the pairs). waits: by partition and user, a row as `workbench.analysis.what_if.tables.Waits`. With
    draws of the log all tables show the log itself, and the draws make the intervals.
    """

    question: WhatIfQuestion
    runs: tuple[tuple[Run, ...], ...]
    differences: pd.DataFrame = field(init=False)
    jobs: pd.DataFrame = field(init=False)
    waits: pd.DataFrame = field(init=False)

    def __post_init__(self) -> None:
        before, *after = self.runs[: 1 + len(self.question.changes)]
        changes = [change.text for change in self.question.changes]
        draws = self.question.of_draws
        object.__setattr__(self, "differences", difference_table(before, after, changes, self.question.level, draws))
        own = 1 if draws else None  # jobs of the log itself, which no draw has all of
        shown = before[:own], [runs[:own] for runs in after], changes
        object.__setattr__(self, "jobs", job_table(*shown))
        object.__setattr__(self, "waits", wait_table(*shown, self.question.level))

    @cached_property
    def demand(self) -> pd.DataFrame:
        """One row per other demand and change: percent of the jobs, change, words, mean wait as today and changed (of
        jobs that neither refuses)."""
        count, rows = len(self.question.changes), []
        sides = self.runs
        for i, percent in enumerate(self.question.demand, start=1):
            first = i * (1 + count)
            known = of_each(summary, sides[first])
            for k, change in enumerate(self.question.changes, start=1):
                pair = both_sides(sides[first], sides[first + k], known)
                wait_s = [float(np.mean([each["mean_wait_s"] for each in side])) for side in pair]
                rows.append((percent, change.text, change.words, *wait_s))
        return pd.DataFrame(rows, columns=["percent", "change", "words", "today_s", "changed_s"])

    @property
    def conclusions(self) -> list[str]:
        """What follows, in sentences: what is assumed, warnings, each change in turn, then what varied and what could
        not be told."""
        return [
            *assumed(self.question.today.scenario),
            *(f"Warning: {text}" for text in self.warnings),
            *conclusions(self),
        ]

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What of the answer should not be believed as it stands: of the first pair's runs, and of the differences."""
        sides = ("today" if change is None else f"with {change.words}" for change in self.question.sides)
        first = zip(sides, self.runs, strict=True)
        of_runs = [f"{side}: {text}" for side, runs in first for text in warnings_of(runs[0])]
        return (*of_runs, *freer(self), *surprising(self))

    @cached_property
    def calibration(self) -> str:
        """How near today's simulated waits are to the recorded ones, in a sentence (`calibration_of`)."""
        today = self.question.today
        return calibration_of(today.scenario, today.scheduler, today.knobs, self.runs[0][0].code)

    @property
    def varied(self) -> str:
        """What varies between the pairs, in words."""
        return varied(self.question.today.scenario, self.question.bootstrap, self.chance)

    @property
    def chance(self) -> str:
        """What varies between the pairs beside the jobs, in words."""
        of_phases = any(len({run.knobs.get("phase_s") for run in runs}) > 1 for runs in self.runs)
        return f"when Slurm's clocks run, which no file tells, {SEED}" if of_phases else SEED

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Write a self-contained HTML page of one sheet to mail; raises InputError if the file exists."""
        from workbench.analysis import page
        from workbench.analysis.what_if.report import what_if_report

        page.save(what_if_report(self), path, force=force)

    def __repr__(self) -> str:
        changes = "; ".join(change.text for change in self.question.changes)
        return f"<WhatIf: {changes}; {counted(len(self.question.seeds), 'pair')}>"

    def _repr_html_(self) -> str:
        from workbench.analysis.what_if.report import what_if_fragment

        return what_if_fragment(self)


@told_of_arguments
@seldom_collected()
def what_if(
    scenario: Scenario | str | Path,
    scheduler: str | Scheduler,
    change: str | Change | Iterable[str | Change],
    knobs: Mapping[str, Any] | None = None,
    *,
    seeds: Iterable[int] | None = None,
    bootstrap: bool = False,
    level: float = LEVEL,
    belief: str | None = None,
    until_s: float | None = None,
    demand: Iterable[float] | None = None,
    workers: int = 1,
    on_run: Callable[[int, int], None] | None = None,
) -> WhatIf:
    """Run a scenario as today and with one thing changed, and compare pair by pair.

    change: a `Change` or its text (`nodes v100=+8`; `help("workbench.analysis.what_if.changes")` lists all), or
    several, each of which is compared with today; knobs: of today's scheduler; seeds: one pair of runs for each,
    default the scenario's, under Slurm as many as `calibrate` has phases; bootstrap: draw the log anew, by days, for
    each pair but the first (`workbench.analysis.bootstrap`), else the seed alone differs between them. In each pair
    Slurm's clocks run at another part of their intervals, as no file tells when they do, unless `phase_s` is set (and
    not 0), or of more than 15,000 jobs the seed alone differs.
    level: of the confidence intervals; belief: of both sides, as for `workbench.compare`; until_s: as for
    `workbench.simulate`; demand: both sides also with so many percent of the jobs in the same time, by default
    (110, 125) of a log of at most 15,000 jobs under Slurm, which takes three times as long, and () else; workers: how
    many; on_run: called with the number of runs made and of all.

    Raises InputError and ScenarioError for what cannot be changed or run, and the error of the first run that failed.
    """
    question = ask(
        scenario,
        scheduler,
        change,
        knobs,
        seeds=seeds,
        bootstrap=bootstrap,
        level=level,
        belief=belief,
        until_s=until_s,
        demand=demand,
    )
    check_workers(workers)
    if on_run is not None and not callable(on_run):
        raise InputError("on_run", on_run, "a function of the number of runs made and of all")
    requests, made = question.requests(), 0

    def ended(number: int, outcome: Outcome) -> None:
        nonlocal made
        made += 1
        if on_run is not None:
            on_run(made, len(requests))

    return concluded(question, run_all(requests, workers, ended))


def ask(
    scenario: Scenario | str | Path,
    scheduler: str | Scheduler,
    change: str | Change | Iterable[str | Change],
    knobs: Mapping[str, Any] | None = None,
    *,
    seeds: Iterable[int] | None = None,
    bootstrap: bool = False,
    level: float = LEVEL,
    belief: str | None = None,
    until_s: float | None = None,
    demand: Iterable[float] | None = None,
) -> WhatIfQuestion:
    """The runs of `what_if`, whose arguments these are."""
    scenario = load(scenario)
    today = Configuration(scenario, find_scheduler(scheduler).name, {} if knobs is None else knobs)
    given = [change] if isinstance(change, (str, Change)) else change
    if not isinstance(given, Iterable):
        raise InputError("change", change, "a change, as nodes v100=+8, or a list of them")
    changes = tuple(one if isinstance(one, Change) else parse_change(one) for one in given)
    chosen = usual_seeds(scenario, today.scheduler, scenario.seed) if seeds is None else checked_seeds(seeds)
    others = usual_demand(scenario, today.scheduler) if demand is None else tuple(demand)
    return WhatIfQuestion(today, changes, chosen, bootstrap, level, belief, until_s, others)


def concluded(question: WhatIfQuestion, outcomes: Sequence[Outcome]) -> WhatIf:
    """The answer from the outcomes of `question.requests()`; raises the first failure, saying which run it was."""
    runs: list[Run] = []
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome, WorkbenchError):
            kind = InputError if isinstance(outcome, InputError) else WorkbenchError
            raise kind(f"{question.said(number)}: {outcome.where}", outcome.value, outcome.expected)
        runs.append(outcome)
    count = len(question.seeds)
    return WhatIf(question, tuple(tuple(runs[i : i + count]) for i in range(0, len(runs), count)))
