"""A stated problem solved as it stands: its programme, its solution, and the limits by name."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.base.errors import InputError, Words, one_of
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.scheduling.contract import MODEL, Formulation, Result, Route, StatedProblem
from workbench.scheduling.decision import Shares, unit_name
from workbench.scheduling.model_notes import notes
from workbench.scheduling.solvers import (
    ConflictError,
    InfeasibleError,
    Point,
    Programme,
    SolvedModel,
    Solver,
    SolveReport,
    UnboundedError,
    solve_matrix,
    watched,
)
from workbench.scheduling.solvers.limits import SENSES, LimitRows
from workbench.session.registry import scheduler_of
from workbench.session.replay import Replay, replay, solved_in, stated_in
from workbench.simulation.job_at_time import checked_time
from workbench.simulation.run import Run

if TYPE_CHECKING:
    from workbench.scheduling.solvers.compile import Compiled

# What counts as the same in this room; that a row is met: `solvers.limits.MET`.
AGREES = 1e-6
"""Two objectives that differ by less, relative to the larger of them and 1, are of one answer, and one that a changed
row moves by less has not changed: a solver's own 1e-7 of a row or price is as much in a sum of many."""
AS_GOOD = 1e-8
"""Part of the best value that an answer may fall short of it and count as good."""
MOVES = 1e-6
"""A value that differs by less, likewise, has not moved, and one that is nearer to its bound is at it: rounding."""
MOST_TERMS, AT_EACH_END = 8, 3
"""Terms of a sum that a row shows in full, and of a longer one at each end."""
FIRST = "rows of the first of"
_NAME = re.compile(r"\s*(.*?)(?:\s+(<=|>=|=))?\s*")
"""A row as it is asked for: its name, and its sense where it is given."""


@dataclass(frozen=True, eq=False)
class SolvedStatement:
    """A stated model, solved: a problem's own, or one of several that were solved in turn.

    name: of the formulation; problem: None for one of several, or one that a scheduler states within its steps; solver:
    how it was solved; at_s: of the decision, None for a `Result`; note: what to bear in mind; several: how many
    programmes were solved in turn, of which this is one; unit: of the objective, empty where it is not known.
    """

    name: str
    problem: StatedProblem | None
    model: Any
    compiled: Compiled
    point: Point
    solver: Solver
    at_s: float | None = None
    note: str = ""
    unit: str = ""

    @cached_property
    def limits(self) -> LimitRows:
        """Rows and bounds."""
        return LimitRows.of(self.compiled.programme, self.point)

    @cached_property
    def tags(self) -> dict[str, str]:
        """The paper's tag of each part of the model."""
        from workbench.scheduling.notation import tags

        return tags(self.model)

    def says(self, number: int) -> str:
        """What the model's `doc=` says of the part that a limit is of; empty where it says nothing."""
        from workbench.scheduling.notation import meaning

        return meaning(self.model.find_component(self.parts[number]))

    def solve(self, programme: Programme) -> Point:
        """A programme like its own, solved in the same way; raises the errors of `workbench.scheduling.solvers`."""
        problem = self.problem
        if problem is None:
            return solve_matrix(programme, self.solver)
        return problem.formulation.solve(programme, problem.data, problem.knobs, self.solver)

    @property
    def scale(self) -> float:
        """A unit of the programme's objective in those of the result: models may be solved in what suits a solver."""
        return notes(self.model).scale

    @property
    def value(self) -> float:
        """What the programme comes to, in the result's units."""
        return self.point.solved.value * self.scale

    @property
    def objective(self) -> str:
        """The name of the objective's part; empty where there is none."""
        found = self.compiled.objective
        return "" if found is None else str(found.parent_component().local_name)

    @property
    def aim(self) -> str:
        """The objective in the model's own words, and its name."""
        from workbench.scheduling.notation import meaning

        found = self.compiled.objective
        return "" if found is None else called(meaning(found.parent_component()), self.objective)

    @cached_property
    def owners(self) -> tuple[Any, ...]:
        """The constraint or variable of each limit."""
        every = (*self.compiled.rows, *self.compiled.columns)
        return tuple(every[each] for each in self.limits.owner.tolist())

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The name of each column's variable."""
        return tuple(str(each.name) for each in self.compiled.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """`part[index]` of each limit."""
        return tuple(str(each.name) for each in self.owners)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The part of the model of each limit."""
        return tuple(str(each.parent_component().local_name) for each in self.owners)

    def index(self, number: int) -> str:
        """A limit's index in its part; empty for a part without one."""
        return self.names[number].removeprefix(self.parts[number])[1:-1]

    def own_rows(self, job: str) -> list[int]:
        """Numbers of the rows that are met, are about a job, by their index or a variable's, and are not the shipped
        formulation's."""
        problem = self.problem
        if problem is None:
            return []
        base = shipped_base(problem.formulation)
        shipped = set() if base is None else {*unsolved(replace(problem, formulation=base)).parts}
        of_job = [job in name.partition("[")[2].rstrip("]").split(",") for name in self.columns]
        return [
            number
            for number in np.flatnonzero(self.limits.tight).tolist()
            if self.limits.owner[number] < len(self.compiled.rows)
            and self.parts[number] not in shipped
            and (job in self.index(number).split(",") or any(of_job[column] for column in self._by_row[number][0]))
        ]

    def find(self, name: str) -> tuple[int, ...]:
        """Numbers of the limits called `part`, `part[index]`, or `part[index] <=` where it has two sides.

        Raises InputError with the nearest names.
        """
        given = _NAME.fullmatch(name if isinstance(name, str) else "")
        asked, sense = given.groups() if given else ("", None)
        wanted = next((sign for sign, text in SENSES.items() if text == sense), None)
        here = [
            number
            for number, (part, full) in enumerate(zip(self.parts, self.names, strict=True))
            if asked in (part, full) and (not sense or self.limits.sense[number] == wanted)
        ]
        if not here:
            known = [*dict.fromkeys(self.parts), *dict.fromkeys(self.names)]
            raise InputError(
                "row", name, f"{asked} without a sense, or its own" if asked in known else one_of(asked, known)
            )
        return tuple(here)

    def text(self, number: int) -> str:
        """A limit in numbers, as the programme has it: variables on the left, the number on the right."""
        limits = self.limits
        matrix = self._by_row
        terms = list(zip(*matrix[number], strict=True))
        shown = [
            _term(value, self.columns[column], first=not n)
            for n, (column, value) in enumerate(terms)
            if len(terms) <= MOST_TERMS or not AT_EACH_END <= n < len(terms) - AT_EACH_END
        ]
        if len(terms) > MOST_TERMS:
            shown.insert(AT_EACH_END, f"+ ... {len(terms) - 2 * AT_EACH_END} more ...")
        return f"{' '.join(shown)} {SENSES[int(limits.sense[number])]} {short_number(limits.right.item(number))}"

    @cached_property
    def _by_row(self) -> list[tuple[list[int], list[float]]]:
        matrix = self.limits.matrix
        column = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
        order = np.lexsort((column, matrix.indices))
        ends = np.searchsorted(matrix.indices[order], np.arange(matrix.shape[0] + 1))
        columns, values = column[order].tolist(), matrix.data[order].tolist()
        return [(columns[a:b], values[a:b]) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def shipped_base(own: Any) -> Formulation[Any] | None:
    """The shipped formulation that a session's changes; None for a new model."""
    while own is not None and own.own:
        own = own.base
    return own  # type: ignore[no-any-return]


def called(says: str, name: str) -> str:
    """A part of a model by its own words first, its name after."""
    return f'"{says}" ({name})' if says else name


def _term(value: float, name: str, first: bool) -> str:
    sign = "- " if value < 0 else "" if first else "+ "
    number = "" if abs(value) == 1 else f"{short_number(abs(value))} "
    return f"{sign}{number}{name}"


def solved(found: Result | Run, at: float | None = None) -> SolvedStatement:
    """The statement behind a result, or behind the decision that is in force at a time of a run: the programme that
    its formulation states, or where several were solved in turn the last of them.

    Raises InputError where nothing states it: a result that carries no problem, an answer without a model, a decision
    by an algorithm; and the errors of `workbench.scheduling.solvers`.
    """
    if isinstance(found, Run):
        at_s = checked_time(found, found.end_s if at is None else at)
        made = of_decision(found, replay(found, at_s))
        if made.at_s is None or at_s <= made.at_s:
            return made
        now, then = (format_duration(time_s, parts=2) for time_s in (at_s, made.at_s))
        earlier = f"what is in force at {now} was decided at {then}"
        return replace(made, note="; ".join(filter(None, (made.note, earlier))))
    if not isinstance(found, Result):
        raise InputError("rows, of", found, "a run (workbench.simulate) or a result of workbench.solve")
    if at is not None:
        raise InputError("at", at, "no time: a result is of one time (`workbench.solve(..., at=)`)")
    problem = found.problem
    if problem is None:
        raise InputError("result", found, "one that workbench.solve gave: it carries what was solved")
    several = len(found.iterations)
    in_turn = f"{several} programmes that were solved in turn" if several > 1 else ""
    for name, value in _choices(problem, found):
        alone = replace(problem, knobs={**problem.knobs, name: value})
        note = f"rows of that by {name}={value!r}, whose answer it is, of {in_turn}"
        statement = _as_it_stands(alone, found.objective, None, note=note, given=found.values)
        if statement is not None:
            return statement
    note = f"{FIRST} {in_turn}" if in_turn else ""
    statement = _as_it_stands(problem, found.objective, found.gap, note=note, given=found.values)
    if statement is not None:
        return statement
    name = problem.formulation.name
    models = _in_turn(problem)
    if not models:
        raise InputError(f"rows of {name}", Words("an answer that no model gave"), "one of a model that is solved")
    return last_of(name, models, found.objective)


def _choices(problem: StatedProblem, found: Result) -> list[tuple[str, Any]]:
    """Knobs and their values of programmes that were solved in turn, which each of these alone would state."""
    steps, knobs = found.iterations if len(found.iterations) > 1 else (), problem.formulation.knobs
    return [(at.name, step[at.name]) for step in steps for at in knobs if step.get(at.name) in (at.choices or ())]


def _in_turn(problem: StatedProblem) -> list[SolvedModel]:
    """The models that its formulation solves for it, as stated."""
    with watched() as models:
        problem.formulation.run(problem.data, {**problem.knobs, MODEL.name: "pyomo"}, problem.solver)
    return models


def of_decision(run: Run, again: Replay) -> SolvedStatement:
    """The same of a run that was made again up to a time."""
    owner, asked = scheduler_of(run), again.decided
    route = owner.route(run.knobs)
    if asked is None:
        raise InputError("at", again.run.end_s, "a time by which a programme had been solved")
    made, at_s = stated_in(run, again), asked.snapshot.now_s
    if made is not None:
        shares = asked.decision.shares if route.kind == "same programme" else None  # else they are not its variables
        statement = _as_it_stands(made.problem, made.objective, made.gap, at_s, given=_allocation(shares))
        if statement is not None:
            return statement
    try:
        models = solved_in(run, again) if made is None else _in_turn(made.problem)
    except ConflictError as error:
        got = Words(f"a model without a plan: {error.conflict.sentence()}")
        raise InputError(f"rows of {run.scheduler}", got, _instead(route, run, again.run.end_s)) from error
    if not models:
        sentence = route.sentence.rstrip(".")
        why = sentence if route.kind == "algorithm" else f"{sentence}; at {at_s:g} s no model is solved"
        raise InputError(f"rows of {run.scheduler}", Words(why), _instead(route, run, again.run.end_s))
    solved = asked.decision.solved
    by_algorithm = solved is not None and solved.made_by == "algorithm"
    note = f"the decision is an algorithm's: {route.reason}" if by_algorithm else ""
    objective = None if solved is None else solved.objective
    return replace(last_of(route.formulation or run.scheduler, models, objective, note), at_s=at_s)


def _instead(route: Route, run: Run, at_s: float) -> str:
    """What to ask in the place of rows; where a model decided before, when."""
    expected = "workbench.chain(run, gpu, at) for its steps"
    made = run.decisions[run.decisions["made_by"].isin(["model", "assembly"]) & (run.decisions["time_s"] <= at_s)]
    if len(made):
        expected += f", or the time at which a model was solved last, {made['time_s'].iloc[-1]:g} s"
    if route.formulation:
        expected += f", or workbench.rows(workbench.solve(scenario, {route.formulation!r}, at=...))"
    return expected


def last_of(name: str, models: Sequence[SolvedModel], objective: float | None, note: str = "") -> SolvedStatement:
    """The last of the models that were solved in turn; objective: what all of them came to."""
    model, compiled, point, solver = models[-1]
    made = SolvedStatement(name, None, model, compiled, point, solver)
    notes = [f"rows of the last of {len(models)} programmes that were solved in turn"] if len(models) > 1 else []
    if objective is not None and not _agree(made.value, objective, AGREES):
        of_all = "all of them" if len(models) > 1 else "the answer"
        notes.append(f"this programme comes to {short_number(made.value, 6)}, {of_all} to {short_number(objective, 6)}")
    return replace(made, note="; ".join([*notes, *([note] if note else [])]))


def unsolved(problem: StatedProblem) -> SolvedStatement:
    """A problem's statement without a solution: what it comes to is NaN."""
    compiled = compiled_of(problem)
    nowhere = Point(np.full(len(compiled[1].columns), np.nan), None, None, SolveReport("", None))
    return _statement(problem, *compiled, nowhere)


def compiled_of(problem: StatedProblem) -> tuple[Any, Compiled]:
    """The model of a problem, and its programme."""
    from workbench.scheduling.solvers.compile import compile_model

    model = problem.formulation.build(problem.data, problem.knobs)
    return model, compile_model(model, _options(problem).start)


def _options(problem: StatedProblem) -> Solver:
    """As `Formulation.run` takes them."""
    return problem.formulation.options(problem.knobs, problem.solver or Solver())


def _statement(problem: StatedProblem, model: Any, compiled: Compiled, point: Point) -> SolvedStatement:
    return SolvedStatement(problem.formulation.name, problem, model, compiled, point, _options(problem))


def _as_it_stands(
    problem: StatedProblem,
    objective: float | None,
    gap: float | None,
    at_s: float | None = None,
    note: str = "",
    given: Mapping[str, Any] | None = None,
) -> SolvedStatement | None:
    """Solved as it stands; None where that is not what was found: several programmes were solved in turn.

    objective: what it must come to, within the gap that it was found to, None where that is not known; given: values
    of the answer, as far as they are known, so that it is told if this is another one. Raises InputError where nothing
    is to decide.
    """
    from workbench.scheduling.solvers.compile import load_point

    name = problem.formulation.name
    if problem.formulation.trivial(problem.data, problem.knobs) is not None:
        raise InputError(f"rows of {name}", Words("nothing to decide"), "a time at which some job may be given GPUs")
    if problem.formulation.last_decides and not problem.formulation.own:
        return None
    model, compiled = compiled_of(problem)
    statement = _statement(problem, model, compiled, Point(np.zeros(0), None, None, SolveReport("", None)))
    try:
        point = statement.solve(compiled.programme)
    except (InfeasibleError, UnboundedError):
        return None
    load_point(model, compiled, point)
    answer = problem.formulation.read(model, problem.data, problem.knobs)
    statement = replace(statement, point=point, at_s=at_s, unit=answer.unit)
    # of whole numbers something better may be made; there are no duals that must add up
    value: float | None = answer.objective if compiled.programme.mixed else statement.value
    if value is not None and not _agree(statement.value, value, AGREES):
        made = f"what is made of its answer to {short_number(value, 6)}"
        note = "; ".join(filter(None, (note, f"the programme comes to {short_number(statement.value, 6)}, {made}")))
    left = 0.0 if note.startswith(FIRST) else gap or 0.0  # by the others, it may be
    early = point.solved.status == "time_limit" or max(left, point.solved.gap or 0.0) > AGREES
    why = "the search ended before the best was proven" if early else "there are several best answers"
    if given is not None and _apart(given, answer.values) > MOVES:
        note = "; ".join(filter(None, (note, f"{why}, and what was decided is another than these rows'")))
    elif given is None and early:
        note = "; ".join(filter(None, (note, f"{why}: what was decided may be another than these rows'")))
    within = AGREES + (gap or 0.0) + (point.solved.gap or 0.0)
    if objective is not None and (value is None or not _agree(value, objective, within)):
        return None
    return replace(statement, note=note)


def _allocation(shares: Shares | None) -> Mapping[str, Any] | None:
    """Shares that were decided, as a result has them."""
    if shares is None:
        return None
    kinds = [str(kind) for kind in shares.types]
    rows = zip(shares.units, shares.values.tolist(), strict=True)
    return {"allocation": {unit_name(unit): dict(zip(kinds, row, strict=True)) for unit, row in rows}}


def _apart(given: Any, answer: Any) -> float:
    """By how much an answer's numbers are off those given, at most, at what both have; infinite for other words."""
    if isinstance(given, Mapping) and isinstance(answer, Mapping):
        return max((_apart(given[key], answer[key]) for key in given.keys() & answer.keys()), default=0.0)
    if isinstance(given, (list, tuple)) and isinstance(answer, (list, tuple)) and len(given) == len(answer):
        return max((_apart(*pair) for pair in zip(given, answer, strict=True)), default=0.0)
    if isinstance(given, (int, float)) and isinstance(answer, (int, float)):
        return abs(given - answer) / max(1.0, abs(given))
    return 0.0 if given == answer else math.inf


def _agree(one: float, other: float, within: float) -> bool:
    return abs(one - other) <= within * max(1.0, abs(other))
