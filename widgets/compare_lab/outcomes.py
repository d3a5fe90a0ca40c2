"""What a person has set to be compared, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from widgets.editors.scheduler_choice import short_titles
from workbench.analysis.comparison import Comparison, ComparisonCase, compared, jobs_of, list_cases, with_beliefs
from workbench.analysis.metrics import Summary
from workbench.base.errors import WorkbenchError
from workbench.scenario.scenario import Scenario
from workbench.session.many_runs import Outcome, RunRequest
from workbench.simulation.run import Run


class CompareSetting(NamedTuple):
    """entries: schedulers by name with their knobs; seeds: how many, from the scenario's on; beliefs: estimators by
    name, or `paper`; with several of them each scheduler runs with each; bootstrap: as in `workbench.compare`.
    """

    scenario: Scenario
    entries: tuple[tuple[str, Mapping[str, Any]], ...]
    seeds: int
    beliefs: tuple[str, ...]
    bootstrap: bool

    def is_as(self, other: CompareSetting | None) -> bool:
        """Whether both ask for the same runs: which schedulers a scenario names, as a saved one does, plays no part."""
        if other is None or self[1:] != other[1:]:
            return False
        names = (name for name in type(self.scenario).model_fields if name != "schedulers")
        return all(getattr(self.scenario, name) == getattr(other.scenario, name) for name in names)

    def cases(self) -> tuple[ComparisonCase, ...]:
        """The runs to make; raises InputError for what cannot be compared."""
        return self._beliefs_and_cases()[1]

    def requests(self) -> list[RunRequest]:
        """The same as `workbench.session.many_runs` asks for them."""
        beliefs, cases = self._beliefs_and_cases()
        of = jobs_of(self.scenario, [case.seed for case in cases], self.bootstrap)
        return [
            RunRequest(of[case.seed], case.scheduler, case.knobs, case.seed, belief)
            for belief, case in zip(beliefs, cases, strict=True)
        ]

    def _beliefs_and_cases(self) -> tuple[list[str], tuple[ComparisonCase, ...]]:
        """What each run is told of speeds, and the runs."""
        first = self.scenario.seed
        cases = list_cases(self.scenario, self.entries, range(first, first + self.seeds))
        return with_beliefs(cases, self.beliefs if len(self.beliefs) > 1 else self.beliefs[0])


class Outcomes:
    """What has come of a setting's cases so far. over: nothing more will come."""

    def __init__(self, setting: CompareSetting) -> None:
        self.setting = setting
        self.over = False
        self.cases = setting.cases()
        self.runs: dict[int, Run] = {}
        self.failures: dict[int, WorkbenchError] = {}
        self._summaries: dict[int, Summary] = {}

    @property
    def waits(self) -> bool:
        """Whether a case is still to come."""
        return not self.over and len(self.runs) + len(self.failures) < len(self.cases)

    @property
    def labels(self) -> tuple[str, ...]:
        """The schedulers' labels, in order."""
        return tuple(dict.fromkeys(case.label for case in self.cases))

    def titled(self, label: str) -> str:
        """A label with the scheduler called as in the list."""
        name = next(case.scheduler for case in self.cases if case.label == label)
        title = next(title for title, known in short_titles() if known == name)
        return label.replace(name, title, 1)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return tuple(dict.fromkeys(case.seed for case in self.cases))

    def take(self, number: int, found: Outcome) -> None:
        """A case has ended."""
        if isinstance(found, Run):
            self.runs[number] = found
        else:
            self.failures[number] = found

    def run_of(self, label: str, seed: int) -> Run | None:
        """A scheduler's run with a seed, if there is one yet."""
        return next(
            (self.runs[n] for n, case in enumerate(self.cases) if case[::3] == (label, seed) and n in self.runs), None
        )

    def runs_of(self, seed: int) -> dict[str, Run]:
        """Each scheduler's run with a seed, by label, of those that have one yet."""
        found = {label: self.run_of(label, seed) for label in self.labels}
        return {label: run for label, run in found.items() if run is not None}

    def why_not(self, label: str) -> WorkbenchError | None:
        """The first failure of a scheduler."""
        return next((why for n, why in sorted(self.failures.items()) if self.cases[n].label == label), None)

    def comparison(self) -> Comparison:
        """What there is as a `Comparison`; raises the first failure if there is no run."""
        ended = sorted({*self.runs, *self.failures})
        found: Mapping[int, Outcome] = {**self.runs, **self.failures}
        return compared([self.cases[n] for n in ended], [found[n] for n in ended], known=self._summaries)
