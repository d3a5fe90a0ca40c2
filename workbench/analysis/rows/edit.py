"""A row with another right side, or out of force, in every decision of a run: the whole schedule, and the cell that
does the same.

`relax` and `without` change one decision. Here the change is an own formulation, under a name: whatever runs
an own formulation runs it, and what `RowEdit.code` gives is that formulation as text.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from workbench.analysis.rows.relax_and_without import RowChange, changed
from workbench.analysis.rows.stated import SolvedStatement
from workbench.base.rounding import short_number
from workbench.scheduling.decision import members
from workbench.scheduling.solvers.limits import SENSES
from workbench.session.api import simulate
from workbench.session.registry import find_scheduler, formulation
from workbench.session.replay import repeatable
from workbench.simulation.run import Run

NO_SIDE = "None"


@dataclass(frozen=True)
class RowEdit:
    """A limit of a stated model, moved. base: its formulation; part, index: of the constraint, or of the variable whose
    bound it is; sense: -1 for >=, 0 for =, 1 for <=; right: its right side, after: the new one, None out of force."""

    base: str
    part: str
    index: Any
    is_bound: bool
    sense: int
    right: float
    after: float | None
    label: str

    @classmethod
    def of(cls, statement: SolvedStatement, number: int, after: float | None) -> RowEdit:
        """Limit `number` of a solved statement."""
        limits, owner = statement.limits, statement.owners[number]
        is_bound = int(limits.owner[number]) >= len(statement.compiled.rows)
        sense, right = int(limits.sense[number]), limits.right.item(number)
        index, part = plain(owner.index()), statement.parts[number]
        return cls(statement.name, part, index, is_bound, sense, right, after, statement.names[number])

    @property
    def words(self) -> str:
        """What is done."""
        sign = SENSES[self.sense]
        if self.after is None:
            return f"Without {self.label} {sign} {short_number(self.right, 4)}"
        return f"{self.label} {sign} {short_number(self.after, 4)} in place of {short_number(self.right, 4)}"

    @property
    def _sides(self) -> list[str]:
        """Which sides of it change: a bound's, or a constraint's."""
        names = ("lb", "ub") if self.is_bound else ("lower", "upper")
        return [name for name, applies in zip(names, (self.sense <= 0, self.sense >= 0), strict=True) if applies]

    def lines(self) -> list[str]:
        """The body of the function `mine(m, data)`."""
        row = f"m.{self.part}" + ("" if self.index is None else f"[{self.index!r}]")
        by = None if self.after is None else self.after - self.right
        new = {
            side: NO_SIDE if by is None else f"row.{side} {'-' if by < 0 else '+'} {abs(by):.12g}"
            for side in self._sides
        }
        if self.is_bound:
            steps = [f"row.set{side}({text})" for side, text in new.items()]
        elif by is None:
            steps = ["row.deactivate()"]
        else:
            steps = [f"row.set_value(({new.get('lower', 'row.lower')}, row.body, {new.get('upper', 'row.upper')}))"]
        steps = [f"row = {row}", *steps]
        if self.index is None:
            return steps
        return [f"if {self.index!r} in m.{self.part}:  # a job that has finished is in no model",
                *(f"    {step}" for step in steps)]  # fmt: skip

    def code(self, name: str = "mine") -> str:
        """The cell that makes a formulation of it, `name`."""
        body = "\n".join(f"    {line}" for line in self.lines())
        quoted = [json.dumps(text, ensure_ascii=False) for text in (name, self.base, self.words)]
        head = f"@workbench.formulation({quoted[0]}, base={quoted[1]})\ndef {name}(m, data):\n    {quoted[2]}\n\n"
        return f"import workbench\n\n\n{head}{body}\n"

    def apply(self, model: Any, data: Any) -> None:
        """Change a built model as the lines of `code` do."""
        part = model.component(self.part)
        if self.index not in part:
            return
        row, by = part[self.index], None if self.after is None else self.after - self.right
        if not self.is_bound and by is None:
            row.deactivate()
            return
        new = {side: None if by is None else getattr(row, side) + by for side in self._sides}
        if self.is_bound:
            for side, value in new.items():
                (row.setlb if side == "lb" else row.setub)(value)
        else:
            row.set_value((new.get("lower", row.lower), row.body, new.get("upper", row.upper)))

    def change(self, statement: SolvedStatement) -> RowChange:
        """What it changes in one decision; raises InputError where that has no such row."""
        by = math.inf if self.after is None else (self.after - self.right) * (-1 if self.sense < 0 else 1)
        return changed(statement, f"{self.label} {SENSES[self.sense]}", by)

    def simulated(self, run: Run, name: str) -> Run:
        """The run made again with the row so in every decision whose model has it, by a formulation called `name`.

        Raises InputError where the run's scheduler goes by no formulation, and what `simulate` raises.
        """

        def change(m: Any, data: Any) -> None:
            self.apply(m, data)

        change.__doc__ = self.words
        formulation(name, base=self.base)(change)
        own = find_scheduler(name)
        knobs = {knob.name: run.knobs[knob.name] for knob in own.knobs if knob.name in run.knobs}
        return simulate(run.scenario, own, knobs, seed=run.seed, belief=run.belief, charge_decisions=repeatable(run))


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


def gpus_of(statement: SolvedStatement, number: int, run: Run) -> tuple[str, ...]:
    """The types and nodes of a run that a limit's own index names."""
    cluster = run.scenario.cluster
    known = [*cluster.types, *(node.name for node in cluster.machines)]
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
