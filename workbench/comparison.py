"""Several schedulers on one scenario, over several seeds: their runs, a table of measures, ratios and spread."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from workbench.api import Window, check_plan, check_window, load, simulate
from workbench.contract import Scheduler
from workbench.errors import InputError
from workbench.files import new_folder
from workbench.metrics import MAIN, Summary, comparison_page, summary, with_known
from workbench.papers.paper import find_scheduler, is_own
from workbench.processes import in_processes
from workbench.run import Run, is_result_folder
from workbench.scenario import Plan, Scenario

Entry = str | Scheduler | tuple[str | Scheduler, Mapping[str, Any]] | Plan
"""A scheduler by name or itself, alone or with knobs."""

KEYS = ["scheduler", "seed"]
ENTRIES = "a list of names or (name, {knob: value})"


class Case(NamedTuple):
    """One run to make. label: the scheduler's name, with its knobs where the name alone would not do."""

    label: str
    scheduler: str
    knobs: Mapping[str, Any]
    seed: int


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The runs and their measures, in the order of schedulers and then seeds.

    measures: one row per run, with the columns scheduler (its label), seed and one for each measure of
    `workbench.metrics` (missing: NaN).
    """

    cases: tuple[Case, ...]
    runs: tuple[Run, ...]
    summaries: tuple[Summary, ...]
    measures: pd.DataFrame

    @property
    def table(self) -> pd.DataFrame:
        """`measures` with the main columns only (names end in their unit, `utilisation` is a share).

        They are `metrics.MAIN`, and those of weights and SLOs where some job has one (`metrics.with_known`).
        """
        return self.measures[[*KEYS, *with_known(MAIN, self.summaries)]]

    def __repr__(self) -> str:
        return f"<Comparison: {len(self.runs)} runs of {', '.join(self.labels)}>"

    def _repr_html_(self) -> str:
        return comparison_page([(case.label, case.seed) for case in self.cases], self.summaries)

    @property
    def labels(self) -> tuple[str, ...]:
        """The schedulers' labels, in order."""
        return tuple(dict.fromkeys(case.label for case in self.cases))

    def mean(self) -> pd.DataFrame:
        """Mean of every measure over the seeds, one row per scheduler; NaN if a seed lacks the measure."""
        return self._by_scheduler(lambda values: values.mean(skipna=False))

    def spread(self) -> pd.DataFrame:
        """Sample standard deviation of every measure over the seeds (NaN for one seed), one row per scheduler."""
        return self._by_scheduler(lambda values: values.std(skipna=False))

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
            raise InputError("to", to, "one of " + ", ".join(self.labels))
        base = self.measures[self.measures["scheduler"] == to].set_index("seed")
        found = self.measures.copy()
        for name in self.measures.columns.drop(KEYS):
            divisor = self.measures["seed"].map(base[name].astype(float))
            found[name] = self.measures[name] / divisor.where(divisor != 0)
        return found

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write a folder: table.csv and one folder per run (`Run.load` reads it). It appears whole or not at all."""
        with new_folder(Path(path), is_result_folder, force=force) as folder:
            self.measures.to_csv(folder / "table.csv", index=False)
            for name, run in zip(self.folders(), self.runs, strict=True):
                run.save(folder / name)

    def folders(self) -> list[str]:
        """The name of each run's folder."""
        names: list[str] = []
        for case in self.cases:
            name = re.sub(r"[^\w.=-]+", "_", f"{case.label}-seed-{case.seed}").lstrip(".")[:150]
            names.append(name if name not in names else f"{name}-{len(names)}")
        return names


def compare(
    scenario: Scenario | str | Path,
    schedulers: Iterable[Entry] | None = None,
    *,
    seeds: Iterable[int] | None = None,
    window: Window | None = None,
    until_s: float | None = None,
    workers: int = 1,
    detail: int | None = None,
    belief: str | None = None,
    on_run: Callable[[Case, Run], None] | None = None,
) -> Comparison:
    """Run each scheduler with each seed on one scenario, and measure.

    schedulers: names or (name, knobs), default: the scenario's plan; seeds: default the scenario's; window: jobs that
    are measured (first and last by arrival), a run ends when they have finished; belief: an estimator by name, made
    anew for each run (see `simulate`); workers: processes; with more than
    one, schedulers declared in this process cannot take part, and a script needs the usual `if __name__ ==
    "__main__":`; on_run is called as runs end. The result does not depend on the number of workers.

    Raises what `simulate` raises, for the first case in order that failed if there is one worker.
    """
    scenario = load(scenario)
    cases = plan_cases(scenario, schedulers, seeds)
    if window is not None:
        check_window(scenario, window)
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError("workers", workers, "a whole number from 1")
    if on_run is not None and not callable(on_run):
        raise InputError("on_run", on_run, "a function of a case and its run")
    scenario.require_runnable()
    if belief is not None and not isinstance(belief, str):
        raise InputError("belief", belief, "an estimator by name, such as low_rank:profiled=0.5")
    options = {"window": window, "until_s": until_s, "detail": detail, "belief": belief}
    if workers == 1 or len(cases) == 1:
        runs = _here(scenario, cases, options, on_run)
    else:
        runs = _in_processes(scenario, cases, options, on_run, min(workers, len(cases)))
    found = tuple(summary(run, window) for run in runs)
    rows = [
        {"scheduler": case.label, "seed": case.seed, **measures.values}
        for case, measures in zip(cases, found, strict=True)
    ]
    return Comparison(cases, tuple(runs), found, pd.DataFrame(rows))


def plan_cases(
    scenario: Scenario, schedulers: Iterable[Entry] | None = None, seeds: Iterable[int] | None = None
) -> tuple[Case, ...]:
    """The runs of a comparison; raises InputError for a scheduler, knob or seed that cannot be."""
    if schedulers is None:
        check_plan(scenario)
    elif isinstance(schedulers, str) or not isinstance(schedulers, Iterable):
        raise InputError("schedulers", schedulers, ENTRIES)
    entries = [_entry(entry) for entry in (scenario.plan if schedulers is None else schedulers)]
    if not entries:
        raise InputError(
            "schedulers", [], "at least one (the scenario has no plan)" if schedulers is None else "at least one"
        )
    names = [name for name, _ in entries]
    labels = [_label(name, knobs) if names.count(name) > 1 else name for name, knobs in entries]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError("schedulers", label, "each scheduler once with the same knobs")
    if seeds is not None and not isinstance(seeds, Iterable):
        raise InputError("seeds", seeds, "a list of whole numbers from 0, each once")
    chosen = [scenario.seed] if seeds is None else list(seeds)
    for seed in chosen:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63 or chosen.count(seed) > 1:
            raise InputError("seeds", seed, "whole numbers from 0, each once")
    if not chosen:
        raise InputError("seeds", chosen, "at least one")
    return tuple(
        Case(label, name, knobs, seed) for label, (name, knobs) in zip(labels, entries, strict=True) for seed in chosen
    )


def _entry(entry: Entry) -> tuple[str, dict[str, Any]]:
    """Name and knobs; both are known to be right afterwards."""
    if isinstance(entry, Plan):
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


def _label(name: str, knobs: Mapping[str, Any]) -> str:
    return f"{name} {', '.join(f'{knob}={value}' for knob, value in knobs.items())}".strip()


def _here(
    scenario: Scenario, cases: Sequence[Case], options: Mapping[str, Any], on_run: Callable[[Case, Run], None] | None
) -> list[Run]:
    runs = []
    for case in cases:
        runs.append(simulate(scenario, case.scheduler, case.knobs, seed=case.seed, **options))
        if on_run is not None:
            on_run(case, runs[-1])
    return runs


def _in_processes(
    scenario: Scenario,
    cases: Sequence[Case],
    options: Mapping[str, Any],
    on_run: Callable[[Case, Run], None] | None,
    workers: int,
) -> list[Run]:
    for case in cases:
        if is_own(case.scheduler):
            expected = "1 worker for a scheduler declared in this process (other processes do not know it)"
            raise InputError("workers", f"{workers} for {case.scheduler}", expected)

    def told(number: int, run: Run) -> None:
        if on_run is not None:
            on_run(cases[number], replace(run, scenario=scenario))

    runs = in_processes(partial(_there, scenario.to_json(), dict(options)), cases, workers, told)
    return [replace(run, scenario=scenario) for run in runs]


def _there(scenario: str, options: Mapping[str, Any], case: Case) -> Run:
    """One case in another process."""
    return simulate(Scenario.from_json(scenario), case.scheduler, case.knobs, seed=case.seed, **options)
