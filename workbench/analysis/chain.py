"""`workbench.chain`: from a GPU at a time back to the row, price, order or promise that put a job there, or nobody.

The links are what the run recorded. The first, `rows`, is of the programme behind them: a row that is met is called a
cause only if relaxing it a little, or leaving it out, puts somebody else there in a run that can be kept (it is
simulated again with the changed programme from that decision on), by the best answer nearest to what was decided and by
the solver's own if a run can keep that; all others are binding, not decisive: what is known of them beside that, that
no run can do without it or that it was not tried, stands with the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from workbench.analysis.decided_anew import MOST_ROWS, UNKEPT, UNTRIED, DecidedAnew, TriedRow
from workbench.analysis.explanation.compose import explained, own_statement
from workbench.analysis.explanation.course import DOES, held_in_words, undecided
from workbench.analysis.rows.stated import SolvedStatement
from workbench.base.card import card, folded
from workbench.base.errors import InputError, counted, one_of
from workbench.base.labels import listed
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.session.api import Beliefs
from workbench.simulation.job_at_time import HOLDS, Explained, Fact, JobAtTime, Link
from workbench.simulation.run import Run
from workbench.simulation.slot_at_time import SlotAtTime


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
    question = DecidedAnew(slot, belief) if again and about and not slot.is_down else None
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
        question = DecidedAnew(slot, None, given_up=given_up)
        return _first_of(tuple(question.rows(asked)), question.made, _still(slot)) if there else None
    job_at = JobAtTime(run, job, at)
    if job_at.state not in (*HOLDS, "waiting"):
        return None
    timeline, nodes = run.timeline, run.scenario.cluster.each_node
    mine = ((timeline["job"] == job) | (timeline["with_job"] == job)) & (timeline["kind"] != "sync")
    held = timeline[mine & (timeline["start_s"] <= at) & (timeline["end_s"] > at)]
    gpus = [f"{node}/{slot}" for node, slot in zip(held["node"], held["slot"], strict=True)]
    gpus += [f"{node.name}/0" for node in nodes if node.accelerator in job_at.needs] or [f"{nodes[0].name}/0"]
    question = DecidedAnew(SlotAtTime(run, gpus[0], at), None, job, given_up)
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


def _rows_links(question: DecidedAnew, slot: SlotAtTime, rows: tuple[TriedRow, ...]) -> tuple[Link, ...]:
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


def _summary(
    slot: SlotAtTime,
    asked: str,
    explained: Explained,
    rows: tuple[TriedRow, ...],
    question: DecidedAnew | None,
    statement: SolvedStatement | None,
) -> str:
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
