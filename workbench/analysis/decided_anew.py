"""A decision made anew: what would be there had a row been another, and which number of a job would make it run.

The run is simulated again with the changed programme, or the job's changed number, from that decision on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import numpy as np

from workbench.analysis.explanation.course import held_in_words
from workbench.analysis.rows.relax_and_without import answer_with, changed, near_shares, stand_in
from workbench.analysis.rows.stated import SolvedStatement, of_decision
from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.baselines.mechanisms.priority.explain import no_more_promised
from workbench.scheduling.contract import Priced, Scheduler, StatedProblem
from workbench.scheduling.decision import InvalidDecision
from workbench.scheduling.solvers import InfeasibleError, SolverFailedError, UnboundedError, UnkeptError
from workbench.session.api import Beliefs
from workbench.session.registry import scheduler_of
from workbench.session.replay import Replay, replay, shown_with, with_stand
from workbench.simulation.job_at_time import JobAtTime
from workbench.simulation.slot_at_time import SlotAtTime
from workbench.simulation.stop import RunCancelledError

MOST_ROWS = 8
"""Rows that are tried, each by simulating again: those of the jobs and the type in question first."""
MOST_SOLVES = 12
"""Times that the question is decided anew to find what would make a job run."""
TRIES: Mapping[str, tuple[float, ...]] = {
    "price": (0.9, 0.5, 0.01),
    "weight": (1.25, 0.8, 2.0, 0.5, 10.0, 0.1, 100.0),
    "reward": (2.0, 100.0),
    "deadline": (2.0, 8.0),
    "steps": (0.5, 0.1, 0.01),
    "wait": (16.0, 0.5),
}
"""What a parameter is multiplied by, in turn: both more and less of it may bring a job there, and yet more may not."""
WHOLE = ("reward", "deadline")
"""What is another in the whole run when it is tried; all else from the decision on."""
UNKEPT = "no run can do without it"  # more would be given out than there is, or a job may have
UNTRIED = "not tried"
RELAXED = 0.1
"""By how much a row is relaxed before it is left out, relative to its right side, at least to 1."""

_Verdict = Literal["cause", "binding, not decisive"]


class TriedRow(NamedTuple):
    """A row that is met. says: in words; what: was done to it, or why that is not known; then: who would have the
    GPU (empty: nobody); becomes: of the job in question, and of the GPU, in words; of the job in the problem alone,
    where no run can keep that."""

    row: str
    tag: str
    text: str
    says: str
    verdict: _Verdict
    what: str
    then: str = ""
    becomes: str = ""

    @property
    def done(self) -> str:
        """What was done to it, in words."""
        return "taken away" if self.what == "without it" else self.what.replace("relaxed", "loosened")


class DecidedAnew:
    """A GPU at a time, and the run made again to ask what would have been there; or where `job` would have been."""

    def __init__(
        self, slot: SlotAtTime, belief: Beliefs | None, job: str = "", given_up: Callable[[], bool] = lambda: False
    ) -> None:
        self._slot, self._belief, self._job, self._given_up = slot, belief, job, given_up
        self._is = self._seen(slot)
        self._owner = scheduler_of(slot.run)
        self._first = self._again()
        self._about = ""
        decided = self._first.decided
        self.made = format_duration(0.0 if decided is None else decided.snapshot.now_s, parts=2)
        self.divides = decided is not None and decided.decision.shares is not None
        self.without_rows = ""
        self.weight: float | None = None
        self._then: JobAtTime | None = None

    def _again(self, **changed: Any) -> Replay:
        if self._given_up():
            raise RunCancelledError("rows", "given up", "to try each that is met")
        return replay(self._slot.run, self._slot.at_s, belief=self._belief, **changed)

    def _at(self, again: Replay) -> SlotAtTime:
        return SlotAtTime(again.run, self._slot.gpu, min(self._slot.at_s, again.run.end_s))

    def _seen(self, slot: SlotAtTime) -> str:
        """What is asked about: who has the GPU, or what the job has; empty for nobody, and nothing."""
        return held_in_words(slot.of(self._job)) if self._job else slot.unit

    def _differs(self, slot: SlotAtTime | None) -> bool:
        """Whether what is asked about is another, and more than a swap: as many GPUs of nodes that are equal but for
        their names, for the job in question, who had the GPU, or nobody."""
        if slot is None or self._seen(slot) == self._is:
            return False
        bar = {} if self._job else self._slot.now or {}
        about = [str(bar[of]) for of in ("job", "with_job") if bar.get(of)] or ([self._job] if self._job else [])
        if not about:
            return slot.busy_alike() != self._slot.busy_alike()
        return any(slot.held_alike(name) != self._slot.held_alike(name) for name in about)

    # Rows ------------------------------------------------------------------------------------------------------------

    def rows(self, asked: str) -> Iterator[TriedRow]:
        """The constraints that are met, the ones about these jobs and this type first; each is tried."""
        decided = self._first.decided
        if decided is None:
            return
        self._about = self._job or self._slot.job or asked
        try:
            statement = of_decision(self._slot.run, self._first)
        except InputError as error:
            if self._owner.route(self._slot.run.knobs).kind != "algorithm":
                self.without_rows = str(error.value)
            return
        about = {self._slot.job, asked, self._slot.accelerator} if not self._job else {self._job}
        count = len(statement.compiled.rows)
        met = [n for n in np.flatnonzero(statement.limits.tight).tolist() if statement.limits.owner[n] < count]
        met.sort(key=lambda number: not about & set(statement.index(number).split(",")))
        self.without_rows = self._why_not_tried(statement)
        for place, number in enumerate(met):
            tries = not self.without_rows and place < MOST_ROWS
            yield self._tried(statement, number) if tries else _row(statement, number)

    def _why_not_tried(self, statement: SolvedStatement) -> str:
        """Why no row can be tried; empty where they can: with no row changed the same unit is there."""
        if "algorithm" in statement.note:
            return statement.note
        try:
            slot = self._with(statement, "", 0.0)
        except (UnkeptError, InvalidDecision, InputError):
            slot = None
        if slot is None:
            return "what carries it out goes by its own steps, not by the model's answer"
        then = self._seen(slot)
        return "" if then == self._is else f"decided again with no row changed, {then or 'nobody'} is there"

    def _tried(self, statement: SolvedStatement, number: int) -> TriedRow:
        """Relaxed, and if that changes nothing without the row."""
        named = _row(statement, number)
        by = RELAXED * max(1.0, abs(statement.limits.right.item(number)))
        signs = ((by, "relaxed"),) if statement.limits.sense[number] else ((by, "raised"), (-by, "lowered"))
        for change, what in (*((each, f"{said} by {by:.4g}") for each, said in signs), (math.inf, "without it")):
            try:
                slot = own = self._with(statement, named.row, change)
                if self._differs(slot):
                    with suppress(UnkeptError, InvalidDecision, InputError):  # then the nearest alone can be kept
                        own = self._with(statement, named.row, change, near=False) or slot
            except (UnboundedError, InfeasibleError):
                continue  # there is no best answer then
            except (UnkeptError, InvalidDecision, InputError):
                if math.isinf(change):
                    alone = changed(statement, named.row, math.inf)[0].first_of(self._about)
                    named = named._replace(verdict="binding, not decisive", what=UNKEPT, then="", becomes=alone)
                continue
            if slot is None:
                continue  # what is best then cannot be carried out
            then = self._seen(slot)
            if self._differs(slot) and self._differs(own):
                return named._replace(verdict="cause", what=what, then=then, becomes=self._becomes(slot))
            named = named._replace(verdict="binding, not decisive", what=what, then=then)
        return named

    def _becomes(self, slot: SlotAtTime) -> str:
        """What the job in question does, and who has the GPU if that is not said with it."""
        job_at = slot.of(self._about)
        now, was = held_in_words(job_at), held_in_words(self._slot.of(self._about))
        does = f"{'stay' if now == was else 'run'} on {now}" if now else "have no GPU"
        says = f"{self._about} would {'be done' if job_at.state == 'finished' else does}"
        if slot.has(self._about) or (self._job and not was):
            return says + no_more_promised(job_at, self._slot.of(self._about))
        return f"{says}, and {slot.unit or 'nobody'} would have {slot.gpu} ({slot.accelerator})"

    def _with(self, statement: SolvedStatement, row: str, by: float, near: bool = True) -> SlotAtTime | None:
        """The GPU if, from the decision on, a row is relaxed; of several best answers by the one nearest to what was
        decided, or by the solver's own.

        None for a scheduler that cannot go by that. Raises UnkeptError, InvalidDecision and InputError where there is
        less than it then wants.
        """
        answered, stand = [], stand_in(statement, row, by, near)

        def noted(*given: Any) -> Any:
            answered.append(True)
            return stand(*given)

        assert self._first.decided is not None
        since, shares = self._first.since, self._first.decided.decision.shares

        def answer(problem: StatedProblem) -> Mapping[str, FloatArray]:
            answered.append(True)
            return answer_with(problem, row, by, near_shares(problem, shares) if near else None)

        by_answer = None if statement.problem is None else self._owner.answered_by(answer)
        other: Scheduler = by_answer or with_stand(self._owner, noted)
        try:
            again = self._again(choose=lambda number: other if number >= since else self._owner)
        except SolverFailedError as error:
            if isinstance(error, UnkeptError):
                raise
            return None
        return self._at(again) if answered else None

    # What would make it run ------------------------------------------------------------------------------------------

    def otherwise(self, job: str) -> tuple[str, int]:
        """What would make a job have the GPU, by the first of its parameters that would; and decisions anew."""
        about, job_at = self._owner.about(self._slot.run.knobs), self._slot.of(job)
        read = {
            "price": isinstance(self._owner, Priced),
            "weight": "weight" in about,
            "reward": "rewards" in about and bool(job_at.spec.rewards),
            "deadline": "rewards" in about and bool(job_at.spec.rewards),
            "steps": True,
            "wait": self._waited_s(job) > 0,
        }
        names = [name for name, counts in read.items() if counts]
        tried: dict[str, list[float]] = {}
        for name in names:
            tried[name], factor = self._searched(job, name, MOST_SOLVES - sum(map(len, tried.values())))
            if factor is not None:
                since = f" from the decision of {self.made} on, all before as it was"
                why = no_more_promised(self._then, self._slot.of(job)) if self._then else ""
                since += f"{why}; in the whole run it may come out otherwise" if name == "weight" else ""
                how = " in the whole run" if name in WHOLE else since
                return f"{self._would(job, name, factor)}{how}.", sum(map(len, tried.values()))
        anew = ", which computes shares of time anew" if self.divides else ""
        before = f"With all as it was before the decision of {self.made}{anew}"
        said = {name: self._tried_words(job, name, factors) for name, factors in tried.items() if factors}
        whole, since = ("; ".join(w for name, w in said.items() if (name in WHOLE) is each) for each in (True, False))
        parts = "; ".join(filter(None, [since, f"in the whole run {whole}" if whole else ""]))
        return f"{before}, {job} would not be there with what was tried: {parts}.", sum(map(len, tried.values()))

    def _tried_words(self, job: str, name: str, factors: Sequence[float]) -> str:
        old = self._slot.of(job).spec.weight if name == "weight" else 1.0
        percent = 100.0 if name in ("price", "steps") else 1.0
        values = [short_number(factor * old * percent, 4) for factor in sorted(factors)]
        said = " or ".join([", ".join(values[:-1]), values[-1]] if values[1:] else values)
        return {
            "price": f"{said} % of its price",
            "weight": f"a weight of {said} in place of {old:g}",
            "reward": f"rewards {said} times as large",
            "deadline": f"deadlines {said} times as far off",
            "steps": f"{said} % of its steps left",
            "wait": f"{said} times its wait",
        }[name]

    def _waited_s(self, job: str) -> float:
        """How long a job had waited when what is in force was decided."""
        asked = self._first.decided
        row = None if asked is None else asked.snapshot.jobs.at.get(job)
        return 0.0 if asked is None or row is None else float(asked.snapshot.jobs.waited_s[row])

    def _would(self, job: str, name: str, factor: float) -> str:
        kind, gpus = self._slot.accelerator, self._slot.of(job).needs[self._slot.accelerator]
        count = f"{'both' if gpus == 2 else f'all {gpus}'}" if gpus == self._slot.of(job).up[kind] else str(gpus)
        then = f"{job} would have {self._slot.gpu if gpus == 1 else f'{count} {kind}'} then"
        if name == "weight":
            old = self._slot.of(job).spec.weight
            self.weight = float(f"{old * factor:.3g}")
            return f"{then} with a weight of {self.weight:g} in place of {old:g}, found by trying,"
        if name == "price":
            return f"{then} had it to pay only {short_number(100 * factor)} % of the price"
        if name == "steps":
            return f"{then} with {short_number(100 * factor)} % of the steps that it has left"
        if name == "wait":
            shown = [format_duration(self._waited_s(job) * times, parts=2) for times in (1.0, factor)]
            return f"{then} had it waited {shown[1]} in place of {shown[0]}"
        what = "rewards" if name == "reward" else "deadlines"
        times = "times as large" if name == "reward" else "times as far off"
        return f"{then} had it come with {what} {short_number(factor)} {times}"

    def _searched(self, job: str, name: str, most: int) -> tuple[list[float], float | None]:
        """The factors that were tried, at most so many, and one with which it is there, bisected between the first that
        brings it and the last before it on that side."""
        tried: list[float] = []

        def there(factor: float) -> bool:
            tried.append(factor)
            return self._there(job, name, factor)

        factors = (self._factor(job, name, factor) for factor in TRIES[name][:most])
        high = next((factor for factor in factors if there(factor)), None)
        if high is None:
            return tried, None
        side = [1.0, *(factor for factor in tried[:-1] if (factor > 1) == (high > 1))]
        low = max(side) if high > 1 else min(side)
        while len(tried) < most and abs(math.log(high / low)) > 1e-3:
            middle = self._factor(job, name, math.sqrt(low * high))
            if middle in (low, high):
                break
            low, high = (low, middle) if there(middle) else (middle, high)
        return tried, high

    def _there(self, job: str, name: str, factor: float) -> bool:
        since = 0 if name in WHOLE else self._first.since  # it was told them when it came
        owner = self._owner
        other = owner.charging(job, factor) if name == "price" and isinstance(owner, Priced) else owner
        try:
            again = self._again(
                see=shown_with(since, job, name, factor),
                choose=lambda number: other if number >= since else self._owner,
            )
        except InfeasibleError:
            return False  # there is no schedule at all then
        if there := (slot := self._at(again)).has(job):
            self._then = slot.of(job)
        return there

    def _factor(self, job: str, name: str, factor: float) -> float:
        """A factor; a weight has three digits then, so that the one which is said is one that was tried."""
        old = self._slot.of(job).spec.weight if name == "weight" else 0.0
        return float(f"{old * factor:.3g}") / old if old else factor


def _row(statement: SolvedStatement, number: int) -> TriedRow:
    tag = statement.tags.get(statement.parts[number], "")
    name, says = statement.names[number], statement.says(number)
    return TriedRow(name, tag, statement.text(number), says, "binding, not decisive", UNTRIED)
