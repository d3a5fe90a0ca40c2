"""A row with another right side or out of force, or a number of the model, in every decision of a run: the whole
schedule, and the cell that does the same.

`relax` and `without` change one decision. Here the change is an own formulation, under a name: whatever runs
an own formulation runs it, and what `Edit.code` gives is that formulation as text.
"""

from __future__ import annotations

import copy
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.analysis.rows.relax_and_without import RowChange, changed, solved_as
from workbench.analysis.rows.stated import MOVES, SolvedStatement, called, last_of
from workbench.base.errors import InputError, Words
from workbench.base.rounding import short_number
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.decision import members
from workbench.scheduling.solvers import Point, Programme, answered_by, watched
from workbench.scheduling.solvers.limits import SENSES
from workbench.session import own_formulation
from workbench.session.api import simulate
from workbench.session.model_numbers import note_numbers, number_of, set_number
from workbench.session.registry import find_formulation, find_scheduler, formulation, scheduler_of
from workbench.session.replay import repeatable, replay
from workbench.simulation.run import Run

if TYPE_CHECKING:
    from workbench.scheduling.solvers.compile import Compiled

NO_SIDE = "None"
MOST_ROWS = 100
"""A problem beside an algorithm is solved again with every run while it has no more rows."""


@dataclass(frozen=True)
class Edit(ABC):
    """A number of a stated model that is another. base: its formulation; part, index: where it stands; before, after:
    the numbers, after None for a row that is out of force; label: what it is called."""

    base: str
    part: str
    index: Any
    before: float
    after: float | None
    label: str

    @property
    @abstractmethod
    def words(self) -> str:
        """What is done."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The same for a cell, whose reader may write another number: it stands in its last line alone."""

    @abstractmethod
    def steps(self) -> list[str]:
        """The lines that do it to a model `m` that has it."""

    @abstractmethod
    def apply(self, model: Any, data: Any) -> None:
        """Change a built model as these lines do."""

    @abstractmethod
    def change(self, statement: SolvedStatement) -> tuple[RowChange, SolvedStatement | None]:
        """What it changes in one decision, and that as solved then, if it has a solution; raises InputError where it
        has nothing of the kind."""

    def lines(self) -> list[str]:
        """The body of the function `mine(m, data)`."""
        if self.index is None:
            return self.steps()
        return [f"if {self.index!r} in m.{self.part}:  # not every decision has it",
                *(f"    {step}" for step in self.steps())]  # fmt: skip

    def code(self, name: str = "mine") -> str:
        """The cell that makes a formulation of it, `name`."""
        body = "\n".join(f"    {line}" for line in self.lines())
        quoted = [json.dumps(text, ensure_ascii=False) for text in (name, self.base, self.title)]
        head = f"@workbench.formulation({quoted[0]}, base={quoted[1]})\ndef {name}(m, data):\n    {quoted[2]}\n\n"
        return f"import workbench\n\n\n{head}{body}\n"

    def simulated(self, run: Run, name: str) -> Run:
        """The run made again with it so in every decision whose model has it, by a formulation called `name`.

        Raises InputError where the run's scheduler goes by no formulation, and what `simulate` raises.
        """

        def change(m: Any, data: Any) -> None:
            self.apply(m, data)

        change.__doc__ = self.words
        formulation(name, base=self.base)(change)
        return _made_by(find_scheduler(name), run)


@dataclass(frozen=True)
class RowEdit(Edit):
    """A limit, moved: `part` is a constraint, or with `is_bound` the variable whose bound it is; sense: -1 for >=, 0
    for =, 1 for <=."""

    is_bound: bool
    sense: int

    @classmethod
    def of(cls, statement: SolvedStatement, number: int, after: float | None) -> RowEdit:
        """Limit `number` of a solved statement."""
        limits, owner = statement.limits, statement.owners[number]
        is_bound = int(limits.owner[number]) >= len(statement.compiled.rows)
        sense, right = int(limits.sense[number]), limits.right.item(number)
        index, part = plain(owner.index()), statement.parts[number]
        return cls(statement.name, part, index, right, after, statement.names[number], is_bound, sense)

    @property
    def words(self) -> str:
        sign = SENSES[self.sense]
        if self.after is None:
            return f"Without {self.label} {sign} {short_number(self.before, 4)}"
        return f"{self.label} {sign} {short_number(self.after, 4)} in place of {short_number(self.before, 4)}"

    @property
    def title(self) -> str:
        return self.words if self.after is None else f"Another right side of {self.label}"

    @property
    def _sides(self) -> list[str]:
        """Which sides of it change: a bound's, or a constraint's."""
        names = ("lb", "ub") if self.is_bound else ("lower", "upper")
        return [name for name, applies in zip(names, (self.sense <= 0, self.sense >= 0), strict=True) if applies]

    def steps(self) -> list[str]:
        row = f"m.{self.part}" + ("" if self.index is None else f"[{self.index!r}]")
        by = NO_SIDE if self.after is None else f" + ({self.after:.12g} - {self.before:.12g})"
        new = {side: by if self.after is None else f"row.{side}{by}" for side in self._sides}
        if self.is_bound:
            steps = [f"row.set{side}({text})" for side, text in new.items()]
        elif self.after is None:
            steps = ["row.deactivate()"]
        else:
            steps = [f"row.set_value(({new.get('lower', 'row.lower')}, row.body, {new.get('upper', 'row.upper')}))"]
        seen = "" if self.after is None else f"  # {SENSES[self.sense]} {short_number(self.after, 4)} in the lab"
        return [f"row = {row}", *steps[:-1], steps[-1] + seen]

    def apply(self, model: Any, data: Any) -> None:
        part = model.component(self.part)
        if self.index not in part:
            return
        row, by = part[self.index], None if self.after is None else self.after - self.before
        if not self.is_bound and by is None:
            row.deactivate()
            return
        new = {side: None if by is None else getattr(row, side) + by for side in self._sides}
        if self.is_bound:
            for side, value in new.items():
                (row.setlb if side == "lb" else row.setub)(value)
        else:
            row.set_value((new.get("lower", row.lower), row.body, new.get("upper", row.upper)))

    def change(self, statement: SolvedStatement) -> tuple[RowChange, SolvedStatement | None]:
        by = math.inf if self.after is None else (self.after - self.before) * (-1 if self.sense < 0 else 1)
        return changed(statement, f"{self.label} {SENSES[self.sense]}", by)


@dataclass(frozen=True)
class NumberEdit(Edit):
    """An entry of a parameter, so many times what it is in each decision (of 0: so much more). says: what the parameter
    means; whole: it is a whole number."""

    says: str
    whole: bool

    @property
    def about(self) -> str:
        """What it is, in words."""
        index = self.index if isinstance(self.index, tuple) else () if self.index is None else (self.index,)
        named = ", ".join(dict.fromkeys(map(str, index)))
        return f"{self.says or self.part}{f' ({named})' if named else ''}"

    @property
    def _by(self) -> float:
        assert self.after is not None
        return self.after / self.before if self.before else self.after

    @property
    def words(self) -> str:
        how = "times" if self.before else "plus"
        here = f"here {short_number(self.after or 0.0, 4)} in place of {short_number(self.before, 4)}"
        return f"{self.label} {how} {short_number(self._by)} ({here})"

    @property
    def title(self) -> str:
        return f"Another {self.label}"

    def steps(self) -> list[str]:
        at = f"m.{self.part}" if self.index is None else f"m.{self.part}[{self.index!r}]"
        by = f"* ({self.after:.12g} / {self.before:.12g})" if self.before else f"+ {self.after:.12g}"
        return [f"workbench.set_number(m.{self.part}, {self.index!r}, {at} {by})"]

    def apply(self, model: Any, data: Any) -> None:
        part = model.component(self.part)
        if self.index in part:
            now = number_of(model, self.part, self.index).value
            set_number(part, self.index, now * self._by if self.before else now + self._by)

    def change(self, statement: SolvedStatement) -> tuple[RowChange, SolvedStatement | None]:
        from workbench.scheduling.solvers.compile import compile_model

        problem = statement.problem
        assert problem is not None  # `numbers_of` has none otherwise
        model = problem.formulation.build(problem.data, problem.knobs)
        self.apply(model, problem.data)
        old, new = short_number(self.before, 4), short_number(self.after or 0.0, 4)
        words = f"With {called(self.says, self.label)} {new} in place of {old}"
        return solved_as(statement, compile_model(model), (), words)


def _made_by(own: Scheduler, run: Run) -> Run:
    """A run made again by another scheduler with its knobs."""
    knobs = {knob.name: run.knobs[knob.name] for knob in own.knobs if knob.name in run.knobs}
    return simulate(
        run.scenario,
        own,
        knobs,
        seed=run.seed,
        until_s=run.until_s,
        window=run.window,
        belief=run.belief,
        charge_decisions=repeatable(run),
    )


def beside(run: Run, at_s: float) -> SolvedStatement:
    """The problem that an algorithm's decision at a time stands for, where a solver in its place makes the same run:
    what another run does with a changed row is then that row's doing.

    Raises InputError where it makes another run, where no problem is stated or had to be solved, and for one of more
    than `MOST_ROWS` rows; what `simulate` raises.
    """
    owner = scheduler_of(run)
    where, expected = f"rows beside {run.scheduler}", "workbench.chain(run, gpu, at) for its steps"
    if not owner.formulation:
        raise InputError(where, Words("no problem is stated for what its algorithm decides"), expected)
    base = find_formulation(owner.formulation)

    def as_stated(m: Any, data: Any) -> None:
        """As it is stated"""

    def soon(compiled: Compiled, solve: Callable[[Programme], Point]) -> Point:
        count = len(compiled.rows)
        if count > MOST_ROWS:
            got = f"the problem that its algorithm stands for has {count} rows here, too many to solve at every change"
            raise InputError(where, Words(got), expected)
        return solve(compiled.programme)

    own = owner.with_formulation(own_formulation.changed("as_stated", base, as_stated))
    with answered_by(soon):
        if not _made_by(own, run).timeline.equals(run.timeline):
            got = "a solver of its problem, in the algorithm's place, makes another schedule even without a change"
            raise InputError(where, Words(got), expected)
        asked = replay(run, at_s, choose=lambda number: own).solved
        with watched() as models:
            if asked is not None:
                own.decide(asked.snapshot, asked.memory, run.knobs, copy.deepcopy(asked.rng))
    if asked is None or not models:
        raise InputError(where, Words("at this time its algorithm had no problem to solve"), expected)
    return replace(last_of(base.name, models, None), at_s=asked.snapshot.now_s)


def numbers_of(statement: SolvedStatement, number: int) -> list[NumberEdit]:
    """The parameters' entries that a limit is made of, named expressions in it included, and of the objective's those
    about what the limit's own index names (its job), as they are.

    None where the problem is not solved as it stands: what else solves it goes by its data.
    """
    if statement.problem is None:
        return []
    model, owner, seen = statement.model, statement.owners[number], dict[tuple[str, Any], None]()
    note_numbers(model, owner, seen)
    about, of_aim = {*_names(owner.index())}, dict[tuple[str, Any], None]()
    if statement.compiled.objective is not None:
        note_numbers(model, statement.compiled.objective, of_aim)
    seen |= {each: None for each in of_aim if about & {*_names(each[1])}}
    return [_as_it_is(statement, *each) for each in seen]


def _as_it_is(statement: SolvedStatement, part: str, index: Any) -> NumberEdit:
    found = number_of(statement.model, part, index)
    before, whole = float(found.value), isinstance(found.value, int)
    return NumberEdit(statement.name, part, plain(index), before, before, _label(part, index), found.says, whole)


def _label(part: str, index: Any) -> str:
    """`part[index]`."""
    if index is None:
        return part
    return f"{part}[{','.join(map(str, index)) if isinstance(index, tuple) else index}]"


def plain(index: Any) -> Any:
    """An index as Python writes it: numbers of numpy are numbers."""
    if isinstance(index, tuple):
        return tuple(map(plain, index))
    return index.item() if hasattr(index, "item") else index


def jobs_of(statement: SolvedStatement, number: int, run: Run) -> tuple[str, ...]:
    """The jobs of a run with a coefficient in a limit, in the run's order."""
    matrix = statement.limits.matrix
    spans = zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)
    columns = [n for n, (start, end) in enumerate(spans) if number in matrix.indices[start:end]]
    named = {name for n in columns for name in _names(statement.compiled.columns[n].index())}
    return tuple(job for job in run.jobs["job"].tolist() if job in named)


def left_without(before: SolvedStatement, after: SolvedStatement | None, run: Run) -> tuple[str, ...]:
    """The jobs of a run that decides shares, in its order, that have some in the one solution and none in the other."""
    if after is None or not len(run.shares):
        return ()
    had, have = (
        {
            name
            for variable, value in zip(each.compiled.columns, each.point.values.tolist(), strict=True)
            if value > MOVES
            for name in _names(variable.index())
        }
        for each in (before, after)
    )
    return tuple(job for job in run.jobs["job"].tolist() if job in had - have)


def gpus_of(statement: SolvedStatement, number: int, run: Run) -> tuple[str, ...]:
    """The types and nodes of a run that a limit's own index names."""
    cluster = run.scenario.cluster
    known = [*cluster.types, *(node.name for node in cluster.each_node)]
    named = set(_names(statement.owners[number].index()))
    return tuple(name for name in known if name in named)


def _names(index: Any) -> list[str]:
    """The texts of an index, and the jobs of its units."""
    found: list[str] = []
    for each in index if isinstance(index, tuple) else (index,):
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, tuple) and all(isinstance(name, str) for name in each):
            found += members(each)
    return found
