"""Several schedulers on one scenario, over several seeds: their runs, a table of measures, ratios and spread."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workbench.analysis.bootstrap import check_bootstrap, other_jobs
from workbench.analysis.calibration.note import notes_under
from workbench.analysis.metrics import MAIN, Summary, comparison_page, metric, summary, with_known
from workbench.analysis.metrics.confidence import LEVEL, chance, holm, ratio_interval
from workbench.analysis.metrics.paired import SAME, paired
from workbench.base.arrays import FloatArray
from workbench.base.errors import (
    InputError,
    UnknownNameError,
    Words,
    WorkbenchError,
    counted,
    one_of,
    told_of_arguments,
)
from workbench.base.files import new_folder
from workbench.base.text import for_spreadsheet
from workbench.scenario.scenario import Scenario, SchedulerEntry
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.estimators.by_name import belief_of_all
from workbench.session.api import WITHOUT, Window, check_window, load, with_usable_schedulers
from workbench.session.deciding_time import Charge, checked
from workbench.session.many_runs import Outcome, RunRequest, check_workers, checked_seeds, run_all
from workbench.session.registry import find_scheduler
from workbench.simulation.run import Run
from workbench.simulation.saved_run import is_result_folder

Contender = str | Scheduler | tuple[str | Scheduler, Mapping[str, Any]] | SchedulerEntry
"""A scheduler by name or itself, alone or with knobs."""
Contenders = Iterable[Contender] | Mapping[str, Contender]
"""Schedulers, or `{label: scheduler}` to call them something else than their names."""
_Belief = str | Sequence[str] | Mapping[str, str]
"""An estimator by name, several of them, or one by the label of each scheduler."""

KEYS = ["scheduler", "belief", "seed"]
PAIRED = ("scheduler", "measure", "seeds", "difference", "low", "high", "ratio", "ratio_low", "ratio_high", "p", "rank")
ENTRIES = "a list of names or (name, {knob: value}), or these by label: {label: name}"


class ComparisonCase(NamedTuple):
    """A scheduler with its knobs and one seed. label: what it was called, else its name, with its knobs where that
    would not do."""

    label: str
    scheduler: str
    knobs: Mapping[str, Any]
    seed: int


class Failed(NamedTuple):
    """A run that could not be made, and why."""

    case: ComparisonCase
    error: WorkbenchError


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The runs and their measures, in the order of schedulers and then seeds.

    measures: one row per run, with the columns scheduler (its label), belief (the estimator that told it speeds), seed
    and one for each measure of `workbench.analysis.metrics` (missing: NaN); failed: the runs that could not be made,
    which are in none of the others.
    """

    cases: tuple[ComparisonCase, ...]
    runs: tuple[Run, ...]
    summaries: tuple[Summary, ...]
    measures: pd.DataFrame
    failed: tuple[Failed, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        """`measures` with the main columns only (names end in their unit, `utilisation` is a share).

        They are `metrics.MAIN`, and those of weights and SLOs where some job has one (`metrics.with_known`).
        """
        return self.measures[[*KEYS, *with_known(MAIN, self.summaries)]]

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"<Comparison: {counted(len(self.runs), 'run')} of {', '.join(self.labels)}{failed}>"

    def _repr_html_(self) -> str:
        failed = [f"{case.label}, seed {case.seed}: {error}" for case, error in self.failed]
        names = [(case.label, run.belief, case.seed) for case, run in zip(self.cases, self.runs, strict=True)]
        return comparison_page(names, self.summaries, failed, self.notes, self.runs[0].conditions)

    @property
    def notes(self) -> tuple[str, ...]:
        """The scenario's notes, with what calibration says of each scheduler (`notes_under`)."""
        firsts = {case.label: run for case, run in reversed([*zip(self.cases, self.runs, strict=True)])}
        return notes_under(*(firsts[label] for label in self.labels))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the schedulers that have a run, in order."""
        return tuple(dict.fromkeys(case.label for case in self.cases))

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def __getitem__(self, key: str | tuple[str, int]) -> Run:
        """The run of a scheduler by its label; of several seeds `comparison["las", 3]`, the one of seed 3.

        Raises UnknownNameError for a run that there is not.
        """
        label, *seeds = key if isinstance(key, tuple) else (key,)
        mine = {case.seed: run for case, run in zip(self.cases, self.runs, strict=True) if case.label == label}
        if not mine:
            raise UnknownNameError("comparison", label, one_of(label, self.labels))
        if not seeds and len(mine) > 1:
            expected = f"a label and a seed, such as comparison[{label!r}, {next(iter(mine))}]"
            raise UnknownNameError("comparison", Words(f"{label} with {counted(len(mine), 'seed')}"), expected)
        seed = seeds[0] if seeds else next(iter(mine))
        if seed not in mine:
            raise UnknownNameError("comparison", key, f"a seed of {label}: {', '.join(map(str, mine))}")
        return mine[seed]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.labels)

    @property
    def beliefs(self) -> dict[str, str]:
        """The estimator that told each scheduler speeds, by label."""
        return {case.label: run.belief for case, run in zip(self.cases, self.runs, strict=True)}

    def ended(self) -> pd.DataFrame:
        """Over how many runs `mean` and `spread` are, rows as theirs: runs (made), of (asked for, so far as known)."""
        made = [case.label for case in self.cases]
        asked = made + [case.label for case, _ in self.failed]
        counts = {label: (made.count(label), asked.count(label)) for label in self.labels}
        return pd.DataFrame.from_dict(counts, orient="index", columns=["runs", "of"]).rename_axis("scheduler")

    def mean(self) -> pd.DataFrame:
        """Mean of every measure over the seeds that have a run, one row per scheduler; NaN if one lacks the measure.

        `ended` says how many those are: a run that failed is in no mean.
        """
        return self._by_scheduler(lambda values: values.mean(skipna=False))

    def spread(self) -> pd.DataFrame:
        """Sample standard deviation of every measure over the seeds (NaN for one seed), one row per scheduler."""
        return self._by_scheduler(_deviation)

    def best(self) -> pd.DataFrame:
        """Which schedulers have the best mean of each measure (`metric(name).better` says which way), rows as `mean`.

        All that are equally good count; none where neither way is better, where a scheduler lacks the measure or where
        all have the same.
        """
        return best_of(self.mean())

    def _by_scheduler(self, over_seeds: Callable[[pd.DataFrame], pd.Series[float]]) -> pd.DataFrame:
        values = self.measures.drop(columns=KEYS).astype(float)
        rows = {label: over_seeds(values[self.measures["scheduler"] == label]) for label in self.labels}
        return pd.DataFrame(rows).T.rename_axis("scheduler")

    def ratios(self, to: str | None = None) -> pd.DataFrame:
        """Every measure as a multiple of the same one, at the same seed, of the scheduler `to` (default: the first).

        Same rows and columns as `measures`; NaN where either is missing or the divisor is 0 (0 / 0 included).
        """
        to = self.labels[0] if to is None else to
        if to not in self.labels:
            raise InputError("to", to, one_of(to, self.labels))
        base = self.measures[self.measures["scheduler"] == to].set_index("seed")
        found = self.measures.copy()
        for name in self.measures.columns.drop(KEYS):
            divisor = self.measures["seed"].map(base[name].astype(float))
            found[name] = self.measures[name] / divisor.where(divisor != 0)
        return found

    def paired(self, to: str | None = None, level: float = LEVEL) -> pd.DataFrame:
        """Every other scheduler against `to` (default: the first), seed by seed: a row for each and for each measure.

        Columns: scheduler, measure; seeds, those at which both have it; difference and ratio (theirs over that of
        `to`), means over these seeds, of ratios the geometric; low, high and ratio_low, ratio_high, the intervals at
        `level` (Student's t, `ratio_interval`; NaN for one seed, and where neither differs from seed to seed: nothing
        is left to chance); p, how likely so large a mean difference is if there is none, corrected after Holm for the
        schedulers that this measure compares; rank, the scheduler's mean rank among all at the seeds that all have, 1
        the best (NaN where neither way is better). A seed is one chance of the same scenario, or one draw of its jobs:
        intervals say nothing of other scenarios. Raises InputError for `to`.
        """
        to = self.labels[0] if to is None else to
        if to not in self.labels:
            raise InputError("to", to, one_of(to, self.labels))
        names, seeds = self.measures.columns.drop(KEYS), list(dict.fromkeys(self.measures["seed"]))
        by = {label: self.measures[self.measures["scheduler"] == label].set_index("seed") for label in self.labels}
        values = np.stack([by[label][names].reindex(seeds).to_numpy(dtype=float) for label in self.labels])
        base, rows = values[self.labels.index(to)], list[tuple[Any, ...]]()
        for at, name in enumerate(names):
            ranks = _ranks(values[:, :, at], metric(str(name)).better)
            mine: list[tuple[Any, ...]] = [
                (label, name, *_pair(values[number, :, at], base[:, at], level), ranks[number])
                for number, label in enumerate(self.labels)
                if label != to and np.isfinite(values[number, :, at] - base[:, at]).any()
            ]
            corrected = holm([row[-2] for row in mine])
            rows += [(*row[:-2], p, row[-1]) for row, p in zip(mine, corrected, strict=True)]
        return pd.DataFrame(rows, columns=list(PAIRED))

    def paired_as_read(self, to: str | None = None) -> pd.DataFrame:
        """`paired` for who reads a measure's row at once, with the column `unsure`: whether a difference is not shown.

        All others' intervals together hold at `LEVEL` (Bonferroni: each at 1 - (1 - LEVEL) / others), and unsure is
        that one has 1 in it, without a ratio that of the difference 0. Raises InputError for `to`.
        """
        found = self.paired(to, 1.0 - (1.0 - LEVEL) / max(len(self.labels) - 1, 1))
        near = found["ratio_low"].le(1.0) & found["ratio_high"].ge(1.0)
        found["unsure"] = near.where(found["ratio"].notna(), found["low"].le(0.0) & found["high"].ge(0.0))
        return found

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write a folder: table.csv and one folder per run (`Run.load` reads it). It appears whole or not at all."""
        with new_folder(Path(path), is_result_folder, force=force) as folder:
            for_spreadsheet(self.measures).to_csv(folder / "table.csv", index=False)
            for name, run in zip(self.folders(), self.runs, strict=True):
                run.save(folder / name)

    def folders(self) -> list[str]:
        """The name of each run's folder."""
        names: list[str] = []
        for case in self.cases:
            name = re.sub(r"[^\w.=-]+", "_", f"{case.label}-seed-{case.seed}").lstrip(".")[:150]
            names.append(name if name not in names else f"{name}-{len(names)}")
        return names


def mean_ratios(found: Comparison, to: str) -> dict[str, dict[str, float]]:
    """The geometric mean ratios of each scheduler to another, over the seeds that both have (`seeds` of them)."""
    base = {case.seed for case in found.cases if case.label == to}
    ratios = found.ratios(to)
    paired = ratios[ratios["seed"].isin(base)]
    means: dict[str, dict[str, float]] = {}
    for label in found.labels:
        mine = paired[paired["scheduler"] == label].drop(columns=KEYS)
        means[label] = {
            "seeds": len(mine),
            **{str(name): ratio_interval(values)[0] for name, values in mine.items()},
        }
    return means


@told_of_arguments
def compare(
    scenario: Scenario | str | Path,
    schedulers: Contenders | None = None,
    *,
    seeds: Iterable[int] | None = None,
    window: Window | None = None,
    until_s: float | None = None,
    workers: int = 1,
    detail: int | None = None,
    belief: _Belief | None = None,
    charge_decisions: Charge | None = None,
    bootstrap: bool = False,
    on_run: Callable[[ComparisonCase, Run], None] | None = None,
) -> Comparison:
    """Run each scheduler with each seed on one scenario, and measure.

    schedulers: names or (name, knobs), also by label, `{"old": "las", "new": ("srtf", knobs)}`; default: the
    scenario's; seeds: default the scenario's; window: jobs that are measured (first and last by arrival), a run
    ends when they have finished; workers: how many (see `workbench.session.many_runs.run_all`; with more than one a
    script needs the usual `if __name__ == "__main__":`); on_run is called as runs end. The result does not depend on
    the number of workers.

    belief: an estimator by name, made anew for each run (see `simulate`), or `paper`: each scheduler is told what its
    paper says it knows. By default all are told the same: what all their papers say, and where these differ the true
    speeds of types (`oracle`). `{label: estimator}`: each its own. Several in a list: each scheduler runs with each of
    them, as `LABEL, BELIEF`, so that `paired` says what it is worth to know more. charge_decisions: simulated seconds
    that each decision of each takes, or `measured`, see `simulate`. bootstrap: every seed but the first has other jobs
    like the scenario's, the same for all schedulers (`workbench.analysis.bootstrap.other_jobs`); else seeds differ in
    the chances of a run alone, and where nothing in it is left to chance all give the same.

    A run that fails for a stated reason (a limit broken, a problem without a solution, a mistake in a function of the
    session's own) stands in `failed` and ends no other. If all fail, the first one's error is raised; so is what is
    wrong with the scenario or the arguments.
    """
    scenario = load(scenario)
    scenario = with_usable_schedulers(scenario) if schedulers is None else scenario
    cases = list_cases(scenario, schedulers, seeds)
    if window is not None:
        check_window(scenario, window)
    check_workers(workers)
    if on_run is not None and not callable(on_run):
        raise InputError("on_run", on_run, "a function of a case and its run")
    scenario.require_runnable()
    known, cases = with_beliefs(cases, belief)
    charge = None if charge_decisions is None else checked(charge_decisions)
    check_bootstrap(bootstrap)
    of = jobs_of(scenario, [case.seed for case in cases], bootstrap)
    requests = [
        RunRequest(of[case.seed], case.scheduler, case.knobs, case.seed, text, until_s, window, detail, charge)
        for case, text in zip(cases, known, strict=True)
    ]

    def ended(number: int, outcome: Outcome) -> None:
        if on_run is not None and isinstance(outcome, Run):
            on_run(cases[number], outcome)

    return compared(cases, run_all(requests, workers, ended), window)


def jobs_of(scenario: Scenario, seeds: Sequence[int], bootstrap: bool) -> dict[int, Scenario]:
    """The scenario that each seed runs on: the first the given one, the others draws of it, if it is to be drawn."""
    return {seed: other_jobs(scenario, seed) if bootstrap and seed != seeds[0] else scenario for seed in set(seeds)}


def with_beliefs(
    cases: Sequence[ComparisonCase], belief: _Belief | None
) -> tuple[list[str], tuple[ComparisonCase, ...]]:
    """What each run is told, and the cases: those given, or, with a list of beliefs, each with each of them."""
    schedulers = [find_scheduler(case.scheduler) for case in cases]
    if belief is None or isinstance(belief, str):
        return [belief_of_all(schedulers, belief)] * len(cases), tuple(cases)
    if isinstance(belief, Mapping):
        labels = [case.label for case in cases]
        for label in belief:
            if label not in labels:
                raise InputError("belief", label, one_of(label, labels))
        return [belief_of_all(schedulers, belief.get(label)) for label in labels], tuple(cases)
    if not isinstance(belief, Sequence):
        raise InputError("belief", belief, "an estimator by name, a list of these, or {label: estimator}")
    each = [belief_of_all(schedulers, text) for text in belief]
    if not each or len(set(each)) < len(each):
        raise InputError("belief", list(belief), "at least one estimator, each once")
    both = [(text, case._replace(label=f"{case.label}, {text}")) for text in each for case in cases]
    return [text for text, _ in both], tuple(case for _, case in both)


def compared(
    cases: Sequence[ComparisonCase],
    outcomes: Sequence[Outcome],
    window: Window | None = None,
    known: dict[int, Summary] | None = None,
) -> Comparison:
    """The comparison of what came of each case; raises the first one's error if there is no run at all.

    known: of runs that are compared again and again, by `id`, to which those of new ones are added.
    """
    pairs = list(zip(cases, outcomes, strict=True))
    of = {} if known is None else known
    of |= {id(run): summary(run, window) for run in outcomes if isinstance(run, Run) and id(run) not in of}
    failed = tuple(Failed(case, outcome) for case, outcome in pairs if isinstance(outcome, WorkbenchError))
    if len(failed) == len(pairs):
        raise failed[0].error
    made = [(case, outcome, of[id(outcome)]) for case, outcome in pairs if isinstance(outcome, Run)]
    rows = [
        {"scheduler": case.label, "belief": run.belief, "seed": case.seed, **measures} for case, run, measures in made
    ]
    return Comparison(
        cases=tuple(case for case, _, _ in made),
        runs=tuple(run for _, run, _ in made),
        summaries=tuple(measures for _, _, measures in made),
        measures=pd.DataFrame(rows),
        failed=failed,
    )


def _pair(mine: FloatArray, base: FloatArray, level: float) -> tuple[float, ...]:
    """(seeds,) values of two schedulers, NaN where one is missing: the columns of `PAIRED` from seeds to p."""
    found = paired(base, mine, level)
    both = np.isfinite(mine - base)
    by = np.divide(mine[both], base[both], out=np.full(found.pairs, math.nan), where=base[both] != 0)
    ratio, *reach = ratio_interval(by, level)
    if np.ptp(mine[both]) == np.ptp(base[both]) == 0.0:  # nothing is left to chance: seeds are no sample
        return found.pairs, found.difference, math.nan, math.nan, ratio, math.nan, math.nan, math.nan
    p = chance(found.difference, found.high - found.difference, found.pairs, level)
    return found.pairs, found.difference, found.low, found.high, ratio, *reach, p


def _ranks(values: FloatArray, better: str) -> list[float]:
    """(schedulers, seeds) values: mean rank of each scheduler over the seeds that all have, equal ones share theirs."""
    whole = values[:, ~np.isnan(values).any(axis=0)]
    if not better or not whole.size:
        return [math.nan] * len(values)
    return [float(rank) for rank in pd.DataFrame(whole).rank(ascending=better == "lower").mean(axis=1)]


def _deviation(values: pd.DataFrame) -> pd.Series[float]:
    """The standard deviation of each column; 0, without the rounding of their mean, where all values are the same."""
    found = values.std(skipna=False)
    apart = values.max() - values.min() > SAME * values.abs().max()
    return found.where(apart | found.isna(), 0.0)


def best_of(means: pd.DataFrame) -> pd.DataFrame:
    """Which rows are the best in each column, a measure of `METRICS`; see `Comparison.best`."""
    found = pd.DataFrame(False, index=means.index, columns=means.columns)
    for name in means.columns:
        values, better = means[name], metric(str(name)).better
        if not better or values.isna().any():
            continue
        best = values.min() if better == "lower" else values.max()
        near = (values - best).abs() <= SAME * max(abs(best), SAME)
        found[name] = near & ~near.all()
    return found


def list_cases(
    scenario: Scenario, schedulers: Contenders | None = None, seeds: Iterable[int] | None = None
) -> tuple[ComparisonCase, ...]:
    """The runs of a comparison; raises InputError for a scheduler, label, knob or seed that cannot be."""
    if schedulers is None:
        scenario = with_usable_schedulers(scenario)
    elif isinstance(schedulers, str) or not isinstance(schedulers, Iterable):
        raise InputError("schedulers", schedulers, ENTRIES)
    given = scenario.schedulers if schedulers is None else schedulers
    entries = [_entry(entry) for entry in (given.values() if isinstance(given, Mapping) else given)]
    if not entries:
        why = ("the scenario names none", *(note for note in scenario.notes if note.startswith(WITHOUT)))[-1]
        raise InputError("schedulers", [], "at least one" + (f" ({why})" if schedulers is None else ""))
    for name, knobs in entries:
        if entries.count((name, knobs)) > 1:
            raise InputError("schedulers", _label(name, knobs), "each scheduler once with the same knobs")
    labels = _labels(given, entries)
    chosen = (scenario.seed,) if seeds is None else checked_seeds(seeds)
    return tuple(
        ComparisonCase(label, name, knobs, seed)
        for label, (name, knobs) in zip(labels, entries, strict=True)
        for seed in chosen
    )


def _entry(entry: Contender) -> tuple[str, dict[str, Any]]:
    """Name and knobs; both are known to be right afterwards."""
    if isinstance(entry, SchedulerEntry):
        entry = (entry.scheduler, entry.knobs)
    if isinstance(entry, (str, Scheduler)):
        entry = (entry, {})
    if not isinstance(entry, (tuple, list)) or len(entry) != 2:
        raise InputError("schedulers", entry, ENTRIES)
    named, knobs = entry
    found = find_scheduler(named)
    if find_scheduler(found.name) is not found:
        raise InputError("schedulers", found, f"the scheduler that is known as {found.name}")
    found.settle(knobs)
    return found.name, dict(knobs)


def _labels(given: Contenders, entries: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """What the schedulers are called: as given, else by name, with the knobs of those that come more than once."""
    if isinstance(given, Mapping):
        for label in given:
            if not isinstance(label, str) or not label.strip():
                raise InputError("schedulers", label, "a label: text that is not empty")
        return list(given)
    names = [name for name, _ in entries]
    labels = [_label(name, knobs) if names.count(name) > 1 else name for name, knobs in entries]
    for label in labels:
        if labels.count(label) > 1:  # two values that read alike, as 60 and "60"
            raise InputError("schedulers", label, "each scheduler once with the same knobs")
    return labels


def _label(name: str, knobs: Mapping[str, Any]) -> str:
    return f"{name} {', '.join(f'{knob}={value}' for knob, value in knobs.items())}".strip()
