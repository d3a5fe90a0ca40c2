"""The rows of a problem as they stand in a list: in numbers, with what their words and variables mean; a change of one
as a cell."""

from __future__ import annotations

import html
from typing import NamedTuple

import pandas as pd

from widgets.lab.words import MEANT, quoted
from widgets.parts.chart_page import ROWS_SHOWN
from workbench.analysis.rows.edit import Edit, RowEdit, beside, gpus_of, numbers_of
from workbench.analysis.rows.relax_and_without import RowChange
from workbench.analysis.rows.slack_and_duals import statement_rows
from workbench.analysis.rows.stated import SolvedStatement, solved
from workbench.base.errors import WorkbenchError
from workbench.base.labels import listed
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.scenario.presets import presets
from workbench.scheduling.notation import meaning, numbered
from workbench.scheduling.solvers.errors import SolverFailedError, UnboundedError
from workbench.session.api import load
from workbench.session.registry import scheduler_of
from workbench.simulation.job_at_time import HOLDS, JobAtTime
from workbench.simulation.run import Run

PICK = "pick one to change it"
PICKED = "What a picked row is about lights up; its right side or a number in it can be dragged, or it is switched off."
ANOTHER = "Click a bar in the picture for another job or time."
READ = "Slack: what is left of it, nothing where it binds. Dual: what the objective gains per unit more on the right."
WEIGHT = "weight"
"""What is asked for most of the numbers in a row."""


MOST_OPEN = 6
"""So many variables are told at once what they stand for."""
REFUSED = "No run can keep this change"
LEFT_OVER = (
    "The row bounds shares only: what the shares leave over of a GPU is not left idle, each round gives it to the job "
    "furthest behind its share."
)
"""Where shares of a type may add up to less than there is, and the picture still has it full."""
OTHERWISE = "The run has it so from its start, and came to another decision."
BESIDE = (
    "An algorithm decided. A solver of its problem, in its place, makes the same schedule: so when you change a row "
    "and the schedule changes, it is because of that row."
)


class FoundRows(NamedTuple):
    """Rows of the decision in force at a time of a run, in the order in which they are shown, by their numbers in the
    statement (None: a constant). weights: as `_weights` finds; beside: whether an algorithm decided;
    numbered: what stands behind each variable that has a number."""

    run: Run
    at_s: float
    statement: SolvedStatement
    table: pd.DataFrame
    order: list[int | None]
    weights: str
    beside: bool
    numbered: dict[str, str]

    @property
    def names(self) -> list[str]:
        """Of each row its name with its sense; empty for a constant."""
        names, senses = self.statement.names, self.statement.limits.sense
        return ["" if number is None else f"{names[number]} {senses[number]}" for number in self.order]

    @property
    def in_force(self) -> tuple[float, float]:
        """From when to when the decision holds."""
        made_s, decisions = float(self.table.attrs["at_s"]), self.run.decisions
        anew_s = decisions["time_s"][(decisions["made_by"] != "kept") & (decisions["time_s"] > made_s)]
        return made_s, self.run.end_s if anew_s.empty else float(anew_s.min())


def found_at(run: Run, at_s: float, changed: bool = False) -> FoundRows:
    """The rows of the decision in force at a time, or of the problem beside an algorithm's, those that bind first.
    changed: a row is another in the run, whose problem is solved. Raises as `rows` and `beside` do."""
    by_algorithm = not changed and scheduler_of(run).route(run.knobs).kind == "algorithm"
    statement = beside(run, at_s) if by_algorithm else solved(run, at_s)
    table = statement_rows(statement)
    binding = table["binding"].to_numpy(bool)
    count = len(statement.names)
    order = [*(n for n in range(len(table)) if binding[n]), *(n for n in range(len(table)) if not binding[n])]
    # Of a variable's two bounds the one that binds stands here, else the upper one; the other below all else.
    bounds = {n: name for n, name in enumerate(statement.names) if name in statement.columns}
    first = {name: n for n, name in sorted(bounds.items(), key=lambda each: (binding[each[0]], each[0]))}
    order.sort(key=lambda n: n in bounds and first[bounds[n]] != n)
    shown = [n if n < count else None for n in order[:ROWS_SHOWN]]
    return FoundRows(run, at_s, statement, table, shown, _weights(statement), by_algorithm, numbered(statement.model))


def texts(found: FoundRows) -> tuple[list[str], list[list[str]]]:
    """Heads and rows."""
    worth = "Price of relaxed" if "price_of_relaxed" in found.table else "Dual"
    heads = ["Equation", "In words", "Row in numbers", "Slack", worth, "Binds"]
    cells = _cells(found.statement, found.table)
    return heads, [cells[number] for number in found.order]


def _cells(statement: SolvedStatement, table: pd.DataFrame) -> dict[int | None, list[str]]:
    """The texts of each limit by its number, and of the constant."""
    price, count = "price_of_relaxed" if "price_of_relaxed" in table else "dual", len(statement.names)
    names = [*statement.names, *table["part"][count:]]
    words = [*map(statement.says, range(count)), *[""] * (len(table) - count)]
    return {
        number if number < count else None:
        [f"({tag}) {name}", said, row, "0" if binds else _number(slack), _worth(dual, binds), "yes" if binds else ""]
        for number, (tag, name, said, row, slack, dual, binds) in enumerate(zip(
            table["tag"], names, words, table["row"], table["slack"], table[price], table["binding"], strict=True
        ))
    }  # fmt: skip


MEANINGS = {
    "Slack": "How far the row is from being met with equality: 0 for one that binds",
    "Dual": "What the objective would gain by one unit more on the row's right side, as long as the same rows bind",
    "Price of relaxed": "The dual of the same problem without whole numbers, which itself has none",
    "Binds": "Whether the row is met with equality, so that it may hold something back",
    **MEANT,
}
"""What the words of the list mean, on hover; beside these its variables."""


def variables(found: FoundRows) -> dict[str, str]:
    """What each variable of a problem stands for; of one whose last index is a number, what that is the number of."""
    parts = {part.local_name: part for part in (each.parent_component() for each in found.statement.compiled.columns)}
    said = {str(name): said for name, part in parts.items() if (said := meaning(part))}
    return said | found.numbered


NOTHING = 1e-9
"""What is nearer to 0 than this is what solvers leave of 0."""


def _number(value: float) -> str:
    return "0" if abs(value) < NOTHING else short_number(value)


def _worth(dual: float, binds: bool) -> str:
    """A row with slack has a price in the relaxed problem only, which is said beside it."""
    return _number(dual) if binds or abs(dual) < NOTHING else f"{_number(dual)} (relaxed)"


def _weights(statement: SolvedStatement) -> str:
    """The part of the problem in whose rows weights of jobs stand; empty without one."""
    parts = {part: number for number, part in reversed([*enumerate(statement.parts)])}
    found = (
        part for part, number in parts.items()
        if any(each.says.startswith(WEIGHT) for each in numbers_of(statement, number))
    )  # fmt: skip
    return next(found, "")


def head(found: FoundRows, of_job: str, changed: bool) -> str:
    """What decision the rows are of, that it holds at the time asked for and until when, which are marked; folded,
    how to read and change them, and in which a weight stands. changed: it is of a run in which a row is another."""
    about, (made_s, until_s), at_s = found.table.attrs, found.in_force, found.at_s
    when, at, until = (format_duration(time_s, parts=2) for time_s in (made_s, at_s, until_s))
    holds = f"still hold at {at}, until {until}" if made_s < at_s < until_s else f"in force until {until}"
    weighed = f" A job's weight is a number in its row {found.weights}." if found.weights else ""
    objective = f"{short_number(float(about['objective']))} {about['unit'].removeprefix('1')}".strip()
    what = f"{quoted(about['formulation'])}, objective {objective}"
    of_run = " of the changed run" if changed else ""
    said = html.escape(f"Rows with numbers{of_run}, decided at {when}, {holds}")
    more = html.escape(f"{what}. {PICKED}{weighed} {READ} {ANOTHER}")
    pick = html.escape("; ".join([f": {PICK}", *filter(None, [of_job])]))
    return f"<details><summary><b>{said}</b>{pick}</summary><p>{more}</p></details>"


def in_none(found: FoundRows, job: str) -> str:
    """That a job is in no row, and which earlier decision gave it what it has."""
    then = JobAtTime(found.run, job, found.at_s)
    earlier = then.state in HOLDS and then.since_s < found.in_force[0]
    return f"{job} is in none of them" + (
        f": what it has was decided before, at {format_duration(then.since_s, parts=2)}" if earlier else ""
    )


def notes(found: FoundRows) -> str:
    """What is to be minded of them; and what stands behind variables that have a number, folded where they are many."""
    said = found.table.attrs["notes"]
    texts = [f"<p class='wb-note'>{html.escape(note[0].upper() + note[1:])}.</p>" for note in said]
    if known := found.numbered:
        told = [f"<br><code>{html.escape(name)}</code> {html.escape(of)}" for name, of in known.items()]
        more = f"<br>and {len(told) - ROWS_SHOWN:,} more" if len(told) > ROWS_SHOWN else ""
        lines, parts = "".join(told[:ROWS_SHOWN]) + more, dict.fromkeys(name.partition("[")[0] for name in known)
        summary = f"<summary>What each {html.escape(listed(parts))} is</summary>"
        texts.append(f"<details class='wb-note'{' open' * (len(known) <= MOST_OPEN)}>{summary}{lines}</details>")
    return "".join(texts)


def cell(edit: Edit, run: Run) -> str:
    """A cell that makes the formulation, and holds it against what decided the run, over five seeds."""
    default = scheduler_of(run).settle({})
    own = {knob: value for knob, value in run.knobs.items() if value != default.get(knob)}
    entries = ", ".join(f"({name!r}, {own!r})" if own else repr(name) for name in (run.scheduler, "mine"))
    name = run.scenario.name
    known = name in {each for each, _ in presets()} and load(f"preset:{name}") == run.scenario
    scenario = repr(f"preset:{name}") if known else "lab.scenario"
    lines = [
        f"beside = CompareLab({scenario}, [{entries}])",
        "beside.set(seeds=5)",
        "beside.compare()",
        "beside.widget",
    ]
    return "\n".join(["from widgets import CompareLab", edit.code(), "", *lines, ""])


def refused(wrong: WorkbenchError) -> str:
    """Why no run can keep a change, and when the first one could not."""
    says = f"{wrong.value}; needed: {wrong.expected}"
    if isinstance(wrong, UnboundedError):
        says = "nothing bounds the objective any more, so that no schedule is the best"
    elif isinstance(wrong, SolverFailedError) and " GPUs " in str(wrong.value):  # the answer takes more than there is
        says = f"{wrong.value}; more of them are had under Set-up"
    return f"{REFUSED}: {', '.join([*getattr(wrong, '__notes__', ())[:1], says])}."


def of_run(edit: Edit, change: RowChange, found: FoundRows) -> list[str]:
    """What has to be known of a run with another schedule, to see that it is the change's doing."""
    if change.after is None:
        return [OTHERWISE]
    less = isinstance(edit, RowEdit) and edit.after is not None and edit.after < edit.before
    of_shares = less and len(found.run.shares) > 0
    number = found.statement.names.index(edit.label) if of_shares else 0
    return [LEFT_OVER] if of_shares and gpus_of(found.statement, number, found.run) else []


def of_decision(change: RowChange) -> str:
    """What a change does to the decision alone; the change itself stands above."""
    said = change.text().removeprefix(f"{change.change}: ")
    return said[:1].upper() + said[1:]
