"""`workbench.chain`: from a GPU at a time back to the row, price, order or promise that put a job there, or nobody.

The links are what the run recorded. The first, `rows`, is of the programme behind them: a row that is met is called a
cause only if relaxing it a little, or leaving it out, puts somebody else there in a run that can be kept (it is
simulated again with the changed programme from that decision on), by the best answer nearest to what was decided and by
the solver's own if a run can keep that; all others are binding, not decisive: what is known of them beside that, that
no run can do without it or that it was not tried, stands with the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from workbench.analysis.explanation.compose import explained, own_statement
from workbench.analysis.explanation.course import DOES, held_in_words, undecided
from workbench.analysis.rows.relax_and_without import answer_with, changed, near_shares, stand_in
from workbench.analysis.rows.stated import SolvedStatement, of_decision
from workbench.base.arrays import FloatArray
from workbench.base.card import card, folded
from workbench.base.errors import InputError, counted, one_of
from workbench.base.labels import listed
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.baselines.mechanisms.priority.explain import no_more_promised
from workbench.scheduling.contract import Priced, Scheduler, StatedProblem
from workbench.scheduling.decision import InvalidDecision
from workbench.scheduling.solvers import InfeasibleError, SolverFailedError, UnboundedError, UnkeptError
from workbench.session.api import Beliefs
from workbench.session.registry import scheduler_of
from workbench.session.replay import Replay, replay, shown_with, with_stand
from workbench.simulation.job_at_time import HOLDS, Explained, Fact, JobAtTime, Link
from workbench.simulation.run import Run
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


@dataclass(frozen=True)
class Chain:
    """Why a GPU has the job it has at a time, or none (`job` empty): links with their numbers, and what they come to.

    summary: begins with a sentence that says it; rows: of the programme behind it that are met; otherwise: what would
    make `asked` run there, empty if not asked; solves: how often that was decided anew; weight: of `asked` that would,
    None where that is something else.
    """

    scheduler: str
    gpu: str
    accelerator: str
    at_s: float
    job: str
    asked: str
    summary: str
    links: tuple[Link, ...]
    rows: tuple[TriedRow, ...]
    otherwise: str
    solves: int
    weight: float | None

    @property
    def causes(self) -> tuple[str, ...]:
        """Rows that, relaxed or left out, would put somebody else there; those that need only be relaxed first."""
        found = [row for row in self.rows if row.verdict == "cause"]
        return tuple(row.row for row in sorted(found, key=lambda row: row.what == "without it"))

    @property
    def brings(self) -> bool:
        """Whether something was found that would make `asked` run there."""
        return self.otherwise.startswith(f"{self.asked} would have ")

    def as_json(self) -> dict[str, Any]:
        """Its fields, as JSON has them; infinite numbers are texts."""

        def plain(value: Any) -> Any:
            return str(value) if isinstance(value, float) and not math.isfinite(value) else value

        links = [
            {"step": link.step, "text": link.text, "facts": [[*map(plain, fact)] for fact in link.facts]}
            for link in self.links
        ]
        return {**asdict(self), "links": links, "rows": [row._asdict() for row in self.rows]}

    def text(self) -> str:
        """For a terminal: the sentence, a line for each link, what would change it."""
        lines = [self.summary, ""]
        lines += [f"{n}. {link.step}: {link.text}" for n, link in enumerate(self.links, start=1)]
        return "\n".join([*lines, *(["", self.otherwise] if self.otherwise else [])])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Chain: {self.summary}>"

    def _repr_html_(self) -> str:
        links = [(link.step, link.text) for link in self.links]
        facts = [(link.step, fact.name, _shown(fact), fact.unit) for link in self.links for fact in link.facts]
        table = folded("The numbers", card("", facts, ("Link", "Number", "Is", "Unit"))) if facts else ""
        return card(self.summary, links, more=[self.otherwise]) + table


def _shown(fact: Fact) -> str:
    return fact.value if isinstance(fact.value, str) else short_number(fact.value, 4)


def chain(
    run: Run, gpu: str, at: float, *, job: str | None = None, again: bool = True, belief: Beliefs | None = None
) -> Chain:
    """Why a GPU (`node/slot`, as `fast-0/1`) has the job that it has at `at` seconds, or is idle, link by link.

    Links: rows, share, rank, placement (policies that divide time), price, payoff, choice (Hadar), gain and weight,
    plan (Hops), order, task, slot (Hare), work, copies, choice (HadarE), promise, lease, placement (Chronus), order,
    choice (others). job: who else might be there, for what would make it run; default: the first that waits and could,
    else the first that runs elsewhere. again: try rows, and bisect a parameter of the job for what would make it run
    (of price, weight, rewards, deadlines, as far as they are read, steps left and wait the first that does), in at most
    12 decisions anew: each simulates the run again up to then. belief: as for `one_more`.

    Raises InputError for a GPU, time or job that there is not, and what `simulate` raises.
    """
    slot = SlotAtTime(run, gpu, at)
    asked = _asked(slot, job)
    about = slot.job or asked
    statement = own_statement(run, slot.at_s) if about else None
    told = Explained() if not about else explained(slot.of(about), statement)
    question = _Question(slot, belief) if again and about and not slot.is_down else None
    rows = () if question is None else tuple(question.rows(asked))
    otherwise, solves = ("", 0) if question is None or not asked else question.otherwise(asked)
    first = () if question is None else _rows_links(question, slot, rows)
    links = (*first, *told.links)
    return Chain(
        run.scheduler, slot.gpu, slot.accelerator, slot.at_s, slot.job, asked,
        _summary(slot, asked, told, rows, question, statement), links, rows, otherwise, solves,
        None if question is None else question.weight,
    )  # fmt: skip


class DecisiveRow(NamedTuple):
    """row: the constraint by its name, empty where no single row decides; text: in words what was done to it and what
    would be otherwise, and that the others need change nothing (an answer that is as good leaves all as it was); rows:
    all that are met."""

    row: str
    text: str
    rows: tuple[TriedRow, ...]


def decisive_row(
    run: Run, job: str, at: float, gpu: str = "", given_up: Callable[[], bool] = lambda: False
) -> DecisiveRow | None:
    """The row of the solved problem that decides where a job is at `at` seconds: that it would have other GPUs or none,
    or if it waits would run, were the row relaxed or left out. gpu: with no job, the row that decides who has a GPU.

    None where the job is not there, where no problem was solved and where no row can be tried. Simulates the run again
    up to then for each row that is met, at most `2 * MOST_ROWS` times. given_up: asked before each of these whether
    nobody waits any more; then it raises RunCancelledError. Raises as `chain` does.
    """
    if not job:
        slot = SlotAtTime(run, gpu, at)
        asked = _asked(slot, None)
        there = bool(slot.job or asked) and not slot.is_down
        question = _Question(slot, None, given_up=given_up)
        return _first_of(tuple(question.rows(asked)), question.made, _still(slot)) if there else None
    job_at = JobAtTime(run, job, at)
    if job_at.state not in (*HOLDS, "waiting"):
        return None
    timeline, nodes = run.timeline, run.scenario.cluster.each_node
    mine = ((timeline["job"] == job) | (timeline["with_job"] == job)) & (timeline["kind"] != "sync")
    held = timeline[mine & (timeline["start_s"] <= at) & (timeline["end_s"] > at)]
    gpus = [f"{node}/{slot}" for node, slot in zip(held["node"], held["slot"], strict=True)]
    gpus += [f"{node.name}/0" for node in nodes if node.accelerator in job_at.needs] or [f"{nodes[0].name}/0"]
    question = _Question(SlotAtTime(run, gpus[0], at), None, job, given_up)
    held_now = held_in_words(job_at)
    return _first_of(
        tuple(question.rows(job)), question.made, f"{job} {f'stays on {held_now}' if held_now else 'still waits'}"
    )


def _first_of(rows: tuple[TriedRow, ...], made: str, still: str) -> DecisiveRow | None:
    """The first decisive row: what was done to it, what changed, and what the others that are met do; or that no single
    row decides. still: what is as it was then."""
    first = next(iter(_decisive(rows)), None)
    unkept = [row.row for row in rows if row.what == UNKEPT]
    alone = next((f"; the problem alone would have, without {row.row}, {row.becomes}"
                  for row in rows if row.what == UNKEPT and row.becomes), "")  # fmt: skip
    tried = [row.row for row in rows if row.verdict != "cause" and row.what not in (UNKEPT, UNTRIED)]
    needed = f"no run can do without {listed(unkept)} (binding, not decisive)" if unkept else ""
    if first is None:
        count = len(tried) + len(unkept)
        among = "" if count == len(rows) else f" of the {count} that were tried"
        done = f"Each that binds was loosened or taken away from {made} on and the problem solved again: {still}"
        why = f"N{needed[1:]}, as nobody could keep what is given out then{alone}" if unkept else ""
        text = ". ".join(filter(None, [f"no row alone{among}", done if tried else "", why]))
        return DecisiveRow("", text, rows) if count else None
    says = f" ({first.says})" if first.says else ""
    found = [f"{first.row}{says}: {first.done} from {made} on, and the problem solved again, {first.becomes}"]
    also = [row.row for row in rows if row.verdict == "cause" and row is not first]
    others = [f"{listed(also)} would change it too"] if also else []
    others += [f"without {listed(tried)} all can stay as it is (binding, not decisive)"] if tried else []
    others += [needed] if needed else []
    found += [f"Of the others, each tried alone, {'; '.join(others)}"] if others else []
    return DecisiveRow(first.row, ". ".join(found), rows)


def _still(slot: SlotAtTime) -> str:
    return f"{slot.gpu} ({slot.accelerator}) {f'still has {slot.unit}' if slot.unit else 'is still idle'}"


def _asked(slot: SlotAtTime, job: str | None) -> str:
    if job is None:
        return next(iter(slot.could), "")
    if job not in slot.could:
        raise InputError(
            "job", job, f"a job that is there, could use the GPU and has it not: {one_of(job, slot.could)}"
        )
    return job


def _rows_links(question: _Question, slot: SlotAtTime, rows: tuple[TriedRow, ...]) -> tuple[Link, ...]:
    """The rows that are met, with what trying them came to; none where an algorithm decides."""
    if not rows:
        return (Link("rows", f"None to show: {question.without_rows}."),) if question.without_rows else ()
    found = _first_of(rows, question.made, _still(slot))
    parts = [] if found is None else [f"Decisive: {found.text}"]
    untried = [row.row for row in rows[:MOST_ROWS] if row.what == UNTRIED]
    parts += [f"Binding, not tried: {'; '.join(untried)}"] if untried else []
    parts += [f"{counted(len(rows) - MOST_ROWS, 'row')} more, not tried"] if len(rows) > MOST_ROWS else []
    why = f" None was tried: {question.without_rows}." if question.without_rows else ""
    text = f"Rows that are met in the problem solved at {question.made}. {'. '.join(parts)}.{why}"
    return (Link("rows", text, tuple(Fact(f"({row.tag}) {row.row}: {row.text}", _judged(row)) for row in rows)),)


def _judged(row: TriedRow) -> str:
    known = {UNKEPT: f", as {UNKEPT}", UNTRIED: f" as far as is known: {UNTRIED}"}
    return row.verdict + known.get(row.what, "")


def _decisive(rows: tuple[TriedRow, ...]) -> list[TriedRow]:
    """Of the causes those that need only be relaxed; without any the first, which is nearest to the question."""
    causes = [row for row in rows if row.verdict == "cause"]
    return [row for row in causes if row.what != "without it"] or causes[:1]


def _summary(slot: SlotAtTime, asked: str, explained: Explained, rows: tuple[TriedRow, ...],
             question: _Question | None, statement: SolvedStatement | None) -> str:  # fmt: skip
    """What the GPU has, in a sentence, and after it the rest of why."""
    when, where = format_duration(slot.at_s, parts=3), f"{slot.gpu} ({slot.accelerator})"
    if slot.is_down:
        return f"{where} is down at {when}."
    first = next(iter(_decisive(rows)), None)
    decisive = ""
    if first and question is not None:
        what, again = ("shares of time", "computed") if question.divides else ("problem", "solved")
        tried = f"with that row {first.done} and the {what} of {question.made} {again} again"
        decisive = f". Decisive: {_in_words(first)}: {tried}, {first.becomes}"
    if rows and not first and not any(row.what == UNTRIED for row in rows):
        decisive = ". No single row is decisive"
    if slot.job:
        reason = f": {explained.binding}" if explained.binding else ""
        return f"{where} has {slot.unit} at {when}{reason}{decisive}."
    if not asked:
        return f"{where} is idle at {when}: no job that is there fits on {slot.accelerator} alone."
    told = [_why_not(slot, name, statement).partition(": ") for name in slot.could[:3]]
    ends = [end for _, _, end in told]
    why, *others = (
        f"{who} likewise" if n and end and end == ends[n - 1] else f"{who}{colon}{end}"
        for n, (who, colon, end) in enumerate(told)
    )
    beside = f". Meanwhile {'; '.join(others)}" if others else ""
    first_of = slot.of(slot.could[0])
    fits = f" that fits on {slot.accelerator} alone" if first_of.waiting else ""
    nobody = "" if first_of.state == "waiting" else f"no job waits{fits}; "
    return f"{where} is idle at {when}: {nobody}{why}{beside}{decisive}."


def _in_words(row: TriedRow) -> str:
    """What a row says, with what it is about."""
    about = row.row.partition("[")[2].rstrip("]").replace(",", ", ")
    return f"{row.says}{f' ({about})' if about else ''}" if row.says else row.row


def _why_not(slot: SlotAtTime, name: str, statement: SolvedStatement | None) -> str:
    """Why a job that could use an idle GPU has it not, as far as room tells."""
    job_at, kind = slot.of(name), slot.accelerator
    need, free = job_at.needs[kind], job_at.free[kind]
    if job_at.state in HOLDS:
        instead = "" if kind in job_at.held_types else explained(job_at, statement).not_on.get(kind, "")
        runs = f"{name} {DOES[job_at.state]} on {listed(job_at.held)} ({listed(sorted(job_at.held_types))})"
        return f"{runs}, as {instead}" if instead else runs
    told, late = explained(job_at, statement), undecided(job_at)
    if need > free and not late and not told.anyway:
        return f"{name} needs {counted(need, 'GPU')} of {kind} at once, and {free} {'is' if free == 1 else 'are'} left"
    return f"{name} waits: {late or told.binding}"


class _Question:
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
