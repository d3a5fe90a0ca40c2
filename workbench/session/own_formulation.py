"""Formulations that a session declares: a function that changes a shipped one's model, a class, or a new model.

What is wrong with them is said in one sentence, with the name that they were given: when they are declared, when the
model is built (a part or an index that is not there, no objective), when it is solved (not linear; infeasible, with the
rows that cannot hold together), or when the answer breaks a limit that the paper's reader checks.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import logging
import math
import re
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyomo

from workbench.base.code_digest import digest
from workbench.base.errors import InputError, Words, WorkbenchError, mistake, one_of
from workbench.base.rounding import short_number
from workbench.base.text import on_one_line
from workbench.scheduling import notation
from workbench.scheduling.contract import SLIPS, Data, Formulation, Knobs, Mechanism, Result, StatedProblem
from workbench.scheduling.model_notes import notes
from workbench.scheduling.modelling import pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import (
    ConflictError,
    InfeasibleError,
    Programme,
    SolveError,
    Solver,
    SolverFailedError,
    UnboundedError,
    explained,
)
from workbench.scheduling.solvers.conflict import LIMIT_S
from workbench.session.model_numbers import an_index_of, objective_terms, objectives

AS_READ = 1e-5
"""How far a model's objective may be off what the reader of the base makes of the answer, relative: rounding."""

_Change = Callable[[Any, Any], object]
"""What changes a built model: (m, data), m the base's unsolved Pyomo model, data its instance."""

_BUILT: ContextVar[list[str] | None] = ContextVar("the models built in this solve, by name", default=None)


class OwnFormulation(Formulation[Data]):
    """What an own formulation does beside the class that it is made of: its stated model alone is solved."""

    own = True
    written: Any = None
    """The function or class that the session wrote."""
    base: Formulation[Any] | None = None
    """What it changes: a shipped formulation, or another own one; None for one that is new."""

    def assemble(self, data: Data, knobs: Knobs) -> Programme | None:
        return None

    def read(self, model: pyo.ConcreteModel, data: Data, knobs: Knobs) -> Result:
        """As the base reads it, but for the objective: that is the model's at the solution, as rows that define a
        variable of it may be others too. An own one has its unit behind `|` in `doc=`. Only where the base solves for
        parts of it in turn, in other units (Hops), the reader's stands."""
        found: Result = super().read(model, data, knobs)
        noted = notes(model)
        if (found.objective is None or noted.in_turn) and not noted.own_objective:
            return found
        judged, by_paper = self.judged(model, found), found.objective
        if found.warnings or by_paper is None or math.isclose(judged.objective or 0.0, by_paper, rel_tol=AS_READ):
            return judged
        says = (
            f"{self.name}: the objective, {short_number(judged.objective or 0.0, 6)}, is the model's; the other values "
            f"are by the numbers and the objective of the paper, which comes to {short_number(by_paper, 6)} here."
        )
        return replace(judged, warnings=(says,))

    def judged(self, model: pyo.ConcreteModel, found: Result) -> Result:
        """The result with the value, sense and unit of the model's objective."""
        objective, unit, noted = objective_of(model, self.name), found.unit, notes(model)
        if noted.own_objective:
            unit = (objective.doc or "").partition("|")[2].strip() or "1"
        sense = "max" if objective.sense == pyo.maximize else "min"
        value = float(pyo.value(objective)) * noted.scale
        return replace(found, objective=value, sense=sense, unit=unit)

    def run(self, data: Data, knobs: Knobs, solver: Solver | None = None) -> Result:
        """As the base runs, by the changed model; raises InputError if the base never solves its model as it stands."""
        try:
            return self._run(data, knobs, solver)
        except InfeasibleError as error:
            before = self._base_alone(data, knobs, solver)
            found = explained(error, self.build(data, knobs), solver, before)
            if isinstance(found, ConflictError):
                found.stated = StatedProblem(self, data, knobs, solver)
            raise found from error
        except UnboundedError as error:
            way = "maximised" if objective_of(self.build(data, knobs), self.name).sense == pyo.maximize else "minimised"
            raise UnboundedError(self.name, f"; it is {way}") from error

    def _base_alone(self, data: Data, knobs: Knobs, solver: Solver | None) -> str:
        """What is said of an infeasible change where the base has a solution; nothing where it has none in time: that
        of the solver, but no more than the rows in conflict have."""
        solver = solver or Solver()
        limited = replace(solver, time_limit_s=min(LIMIT_S, solver.time_limit_s or LIMIT_S))
        try:
            alone = None if self.base is None else self.base.attempt(data, knobs, limited)
        except SolveError:
            return ""
        return f"{self.base.name} alone has a solution; with your change " if self.base and alone else ""

    def attempt(self, data: Data, knobs: Knobs, solver: Solver | None = None) -> Result | None:
        """The same, None where it is infeasible, without asking which rows are in conflict."""
        try:
            return self._run(data, knobs, solver)
        except InfeasibleError:
            return None

    def _run(self, data: Data, knobs: Knobs, solver: Solver | None) -> Result:
        built: list[str] = []
        token = _BUILT.set(built)
        try:
            with quiet():
                found = super().run(data, knobs, solver)
        except SolverFailedError as error:  # the base's reader names the base
            raise type(error)(self.name, error.value, error.expected) from error
        finally:
            _BUILT.reset(token)
        if not built and found.solver != "none needed":
            got = Words("a base that does not solve its model as it stands")
            raise InputError(f"formulation {self.name}", got, "another base: there an algorithm of the paper decides")
        if not isinstance(found.values, Mapping):
            raise InputError(f"formulation {self.name}, values", found.values, "{name: value}, what the model says")
        allocation = found.values.get("allocation")
        rows = allocation.values() if isinstance(allocation, Mapping) else ()
        shares = [share for own in rows if isinstance(own, Mapping) for share in own.values()]
        nothing = (shares and not any(shares)) or found.values.get("plan") == {} or found.values.get("leases") == []
        has = "a share" if shares else "GPUs"
        idle = f"{self.name}: no job has {has}, the best by its objective ({found.sense}) is to run nothing."
        return replace(found, warnings=(*found.warnings, *([idle] if nothing else [])))

    def code(self) -> str:
        """A digest of its function or class and the values that it closes over or reads."""
        return digest(self.written, "" if self.base is None else self.base.code())

    def on_paper(self, model: pyo.ConcreteModel, knobs: Knobs) -> tuple[str, str]:
        """What a lab shows of it: the base's statement and what has become of its parts, and the Python text."""
        try:
            source = inspect.getsource(self.written)
        except (OSError, TypeError):
            source = notation.NOT_KEPT
        if self.base is None:
            statement, stated = f"**{self.title}**", set[str]()
        elif isinstance(self.base, OwnFormulation):
            statement, below = self.base.on_paper(model, knobs)
            return statement, f"{source}\n\n{below}"
        else:
            found = self.base.statement(knobs)
            statement, stated = notation.render(found), {line.part for line in notation.equations(found)}
            source = f"{source}\n\n{notation.source(found)}"
        parts = list(model.component_objects((pyo.Objective, pyo.Constraint, pyo.Var), descend_into=False))
        said = [
            f"`{part.local_name}`: {part.doc or part.ctype.__name__}" for part in parts if part.local_name not in stated
        ]
        said += [f"`{part.local_name}` is out of action" for part in parts if not part.active]
        return "\n\n".join([statement, *([f"**As changed by `{self.name}`**", *said] if said else [])]), source


def changed(name: str, base: Formulation[Any], change: _Change) -> Formulation[Any]:
    """The base under a new name, with its model changed by the function after it has been built."""
    _require_arguments(name, change, "mine(m, data), which changes the model m", 2)
    _require_own_names(name, change)
    kind = type(base)

    def build(self: Any, data: Any, knobs: Knobs) -> pyo.ConcreteModel:
        model = kind.build(self, data, knobs)
        noted = notes(model)
        noted.stated = objective_terms(model)
        before = list(model.component_objects((pyo.Var, pyo.Constraint, pyo.Objective), descend_into=False))
        names, said = [part.local_name for part in before], SLIPS.get()
        compared = None if said is None or said.get(name) == "" else (_state(model), _values(model))
        _apply(name, change, model, data)
        for part, called in zip(before, names, strict=True):
            now = model.component(called)
            if now is None and isinstance(part, pyo.Var):
                expected = f"a model that has it still: the answer is read from it (m.{called}[...].fix(0) holds one)"
                raise InputError(f"formulation {name}", Words(f"a model without {called}"), expected)
            if now is not None and now is not part:
                expected = f"another name for yours; m.{called}.deactivate() puts the paper's out of action"
                raise InputError(f"formulation {name}", Words(f"{called} in the place of the paper's"), expected)
        if said is not None and compared is not None:
            found = _slip(name, base, compared, (_state(model), _values(model)))
            said[name] = found and said.get(name, found)
        return _checked(name, model, not _aims_as_stated(model) or noted.own_objective)

    title = title_of(change) or f"{name}, from {base.name}"
    members = {"name": name, "title": title, "build": build, "written": staticmethod(change)}
    return _made(base, {**members, "base": base})


class NewModel(OwnFormulation[Any]):
    """A model that a function builds from a mechanism's data."""

    mechanism: type[Mechanism]

    def data(self, snapshot: Snapshot, knobs: Knobs) -> Any:
        return self.mechanism.data(snapshot, knobs)

    def build(self, data: Any, knobs: Knobs) -> pyo.ConcreteModel:
        with mistakes(self.name), quiet():
            model = self.written(data)
        _checked(self.name, model, own_objective=True)
        expected = " ".join((self.mechanism.__doc__ or "").split(".")[0].split())
        for part, indices in self.mechanism.variables.items():
            variable = model.component(part)
            if not isinstance(variable, pyo.Var):
                raise InputError(f"formulation {self.name}", Words(f"a model without a variable {part}"), expected)
            if variable.dim() != indices:
                index = (
                    f"with the index {next(iter(variable), None)!r}" if variable.is_indexed() else "without an index"
                )
                raise InputError(f"formulation {self.name}", Words(f"a variable {part} {index}"), expected)
        return model

    def read(self, model: pyo.ConcreteModel, data: Any, knobs: Knobs) -> Result:
        with mistakes(self.name, model):
            values = self.mechanism.values(model, data, self.name)
        return self.judged(model, Result("feasible", None, "", "", values))


def new_model(name: str, written: Callable[[Any], Any], mechanism: type[Mechanism]) -> Formulation[Any]:
    """The formulation of a function that builds a whole model."""
    _require_arguments(name, written, "mine(data), which returns a Pyomo model", 1)
    members = {"name": name, "title": title_of(written) or name, "knobs": mechanism.knobs}
    kind: Any = type("Mine", (NewModel,), {**members, "written": staticmethod(written), "mechanism": mechanism})
    found: Formulation[Any] = kind()
    return found


def subclassed(name: str, kind: type[Formulation[Any]]) -> Formulation[Any]:
    """An instance of an own class, under a name."""
    reads = any(part in vars(kind) for part in ("read", "found", "report"))
    shipped: Any = next((each for each in kind.__mro__ if each.__module__.startswith("workbench.papers.")), None)
    base = shipped() if shipped is not None and "name" in vars(shipped) else None
    own_data = shipped is None or kind.data is not shipped.data

    def stated(self: Any, data: Any, knobs: Knobs) -> pyo.ConcreteModel:
        model = shipped.build(self, data, knobs)
        notes(model).stated = objective_terms(model)
        return model

    def build(self: Any, data: Any, knobs: Knobs) -> pyo.ConcreteModel:
        with mistakes(name), quiet():
            model = named.build(self, data, knobs)
        same = base is not None and not own_data and isinstance(model, pyo.ConcreteModel) and _aims_as_stated(model)
        return _checked(name, model, not reads and not same)

    title = title_of(kind) or name
    below: Any = kind if base is None else type(shipped.__name__, (shipped,), {"build": stated})  # what super() finds
    bases = (below,) if kind in (below, shipped) else (kind, below)
    named: Any = type(kind.__name__, bases, {"name": name, "title": title, "__module__": kind.__module__})
    return _made(named(), {"build": build, "written": kind, "base": base})


def _aims_as_stated(model: pyo.ConcreteModel) -> bool:
    """Whether a model has the objectives that were noted of it, not others, though these may be of the same terms."""
    stated, now = notes(model).stated, objective_terms(model)
    return len(stated) == len(now) and all(
        a is b for one, two in zip(stated, now, strict=True) for a, b in zip(one, two, strict=True)
    )


def _made(base: Formulation[Any], members: dict[str, Any]) -> Formulation[Any]:
    """A copy of the base whose class has these members."""
    kind = type(base)
    members["knobs"] = tuple(knob for knob in base.knobs if knob.name not in base.ways)
    bases = (kind,) if issubclass(kind, OwnFormulation) else (OwnFormulation, kind)
    made: Any = type(kind.__name__, bases, {**members, "__module__": kind.__module__})
    found: Formulation[Any] = made.__new__(made)
    vars(found).update(vars(base))
    return found


def title_of(written: Any) -> str:
    """The first line of its docstring, without a full stop."""
    own = written.__dict__.get("__doc__") if isinstance(written, type) else written.__doc__
    return ((own or "").strip() or " ").splitlines()[0].rstrip(". ")


def _require_arguments(name: str, function: Any, expected: str, count: int) -> None:
    where = f"formulation {name}"
    if not callable(function):
        raise InputError(where, function, expected)
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        got = f"{getattr(function, '__name__', function)}{inspect.signature(function)}"
        raise InputError(where, Words(got), expected) from None


def _require_own_names(name: str, change: Any) -> None:
    """Raise InputError for what declares nothing, a decorator of Pyomo's without brackets and a bare relation, and for
    two parts of one name, of which Pyomo keeps the last; where the source is kept."""
    try:
        (function,) = ast.parse(textwrap.dedent(inspect.getsource(change))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return
    if not isinstance(function, ast.FunctionDef) or not function.args.args:
        return
    model, found = function.args.args[0].arg, set[str]()

    def of_model(each: ast.expr) -> bool:
        return isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == model

    for each in function.body:
        parts = set[str]()
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call):
            parts = {ast.unparse(target) for target in each.targets if of_model(target)}
        elif isinstance(each, ast.FunctionDef) and each.decorator_list:
            said, parts = ast.unparse(each.decorator_list[0]), {f"{model}.{each.name}"}
            if of_model(each.decorator_list[0]):
                got = Words(f"@{said} over {each.name}")
                raise InputError(f"formulation {name}", got, f"@{said}() or @{said}(m.JOBS), with brackets")
        if parts & found:
            got = Words(f"two parts called {', '.join(sorted(parts & found))}")
            raise InputError(f"formulation {name}", got, "another name for one of them")
        found |= parts
    left: list[ast.AST] = list(function.body)
    while left:
        here = left.pop()
        if isinstance(here, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            continue  # what a rule does not return, Pyomo tells
        left += ast.iter_child_nodes(here)
        relation = here.value if isinstance(here, ast.Expr) else None
        if isinstance(relation, ast.Compare) and any(
            isinstance(each, ast.Name) and each.id == model for each in ast.walk(relation)
        ):
            got = Words(f"{ast.unparse(relation)}, which is in no constraint")
            raise InputError(f"formulation {name}", got, f"{model}.NAME = pyo.Constraint(expr={ast.unparse(relation)})")


# --- The model as it was changed --------------------------------------------------------------------------------------


def _apply(name: str, change: _Change, model: pyo.ConcreteModel, data: Any) -> None:
    """Change the model; its mistakes are told in one sentence."""
    model.name = name  # that of what it says of mistakes
    with mistakes(name, model), quiet():
        found = change(model, data)
    if found is not None and found is not model:
        got = Words(f"a function that returns {type(found).__name__}")
        raise InputError(f"formulation {name}", got, "one that changes the model m, and returns nothing")


_Compared = tuple[list[Any], dict[str, float]]
"""`_state` and `_values` of a model."""


def _state(model: pyo.ConcreteModel) -> list[Any]:
    """What a solve goes by: of variables domain, bounds and what they are fixed at; rows, objectives, expressions and
    numbers that may change."""
    found: list[Any] = []
    for each in model.component_data_objects(pyo.Var):
        found += [each, each.domain, *each.bounds, each.fixed and each.value]
    for each in model.component_data_objects((pyo.Constraint, pyo.Objective), active=True):
        found += [each, each.expr]
    found += [each.sense for each in model.component_data_objects(pyo.Objective, active=True)]
    found += [each.expr for each in model.component_data_objects(pyo.Expression)]
    for part in model.component_objects(pyo.Param):
        found += [pyo.value(part[index], exception=False) for index in part] if part.mutable else []
    return found


def _slip(name: str, base: Formulation[Any], before: _Compared, after: _Compared) -> str:
    """What is said of a change that holds nothing to anything, or that changes nothing; empty for a real one."""
    only = {key: value for key, value in after[1].items() if value != before[1].get(key)}
    for key, value in only.items():
        return f"{name}: {key} was given the value {value:g}, which holds it to nothing; .fix({value:g}) would."
    nothing = f"{name} changes nothing of {base.name} here: it adds no row, and no bound or objective is another."
    return nothing if _alike(before[0], after[0]) else ""


def _alike(one: list[Any], other: list[Any]) -> bool:
    """Whether two states are the same: objects themselves, as Pyomo's `==` makes rows, and numbers by value."""
    plain = (int, float)
    return len(one) == len(other) and all(
        a is b or (isinstance(a, plain) and isinstance(b, plain) and a == b) for a, b in zip(one, other, strict=True)
    )


def _values(model: pyo.ConcreteModel) -> dict[str, float]:
    """Values of variables that are not fixed, by name."""
    found = model.component_data_objects(pyo.Var)
    return {each.name: each.value for each in found if not each.fixed and each.value is not None}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Pyomo logs what it is about to raise."""
    log = logging.getLogger("pyomo")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


@contextlib.contextmanager
def mistakes(name: str, model: pyo.ConcreteModel | None = None) -> Iterator[None]:
    """Raise InputError for what Pyomo refuses, and for what Python does, there with the line."""
    try:
        yield
    except WorkbenchError:
        raise
    except Exception as error:
        text = str(error.args[0]) if error.args else type(error).__name__
        got = mistake(error)
        if _is_of_pyomo(error):
            text = " ".join(re.split("\nThis error is usually|\n *Constraint rules must", text)[0].split())
            got = Words(on_one_line(text).rstrip("."))
        raise InputError(f"formulation {name}", got, _expected(text, error, model)) from error


def _is_of_pyomo(error: BaseException) -> bool:
    """Whether it was raised in Pyomo itself, rather than in the function that calls it."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename).is_relative_to(Path(pyomo.__file__).parent)


EXPECTED = (
    ("immutable parameter", "workbench.set_number(m.PARAMETER, index, number), which makes the rows anew with it"),
    ("to bool", "no `if`, `max`, `min` or `in` over variables: rules branch on numbers, the rest is a constraint"),
    ("rule returned None", "a relation after `return`, or pyo.Constraint.Skip where there is no row"),
    ("trivial Boolean", "a relation with a variable in it, or pyo.Constraint.Skip where there is no row"),
    ("strict inequality", "<=, >= or =="),
    (
        "single expression|positional argument",
        "a rule of the model and an index for each set: def row(m, job) over m.JOBS",
    ),
    ("non-numeric type", "numbers, parameters and variables in a row, not other rows"),
    ("'NoneType'", "variables themselves in a row: before the solve their `.value` is None"),
    ("'(str|list)'|multiply sequence", "numbers where a row has numbers, without quotes or brackets"),
    ("read-only", "a copy of it to write into, such as data.capacity.copy()"),
)
"""What would have been right, by what an error says."""


def _expected(text: str, error: BaseException, model: pyo.ConcreteModel | None) -> str:
    """What would have been right: a part that there is, an index that the part has, or one of `EXPECTED`."""
    missing = re.search(r"has no attribute '(.*?)'", text)
    if isinstance(error, AttributeError) and missing and model is not None:
        parts = [part.local_name for part in model.component_objects(descend_into=False) if part.doc]
        return f"a part of the model: {one_of(missing[1], parts)}"
    indexed = re.search(r"indexed component '(.*?)'", text)
    part = model.component(indexed[1]) if indexed and model is not None else None
    if isinstance(error, KeyError) and part is not None:
        return an_index_of(part)
    otherwise = "a linear model that Pyomo can build" if _is_of_pyomo(error) else "a function that Python can run"
    return next((expected for said, expected in EXPECTED if re.search(said, text)), otherwise)


def _checked(name: str, model: Any, own_objective: bool) -> pyo.ConcreteModel:
    """The model, named as the formulation is, so that a solver's errors name it too.

    own_objective: whether its objective may be another than the one that the base's reader computes anew.
    """
    if not isinstance(model, pyo.ConcreteModel):
        expected = "a pyomo ConcreteModel; `return m` ends the function" if model is None else "a pyomo ConcreteModel"
        raise InputError(f"formulation {name}", model, expected)
    objective_of(model, name)
    model.name = name
    noted = notes(model)
    noted.own_objective, noted.scale = own_objective, 1.0 if own_objective else noted.scale
    built = _BUILT.get()
    if built is not None:
        built.append(name)
    return model


def objective_of(model: pyo.ConcreteModel, name: str) -> Any:
    """The one active objective; raises InputError for none or several."""
    found = objectives(model)
    if len(found) == 1:
        return found[0]
    if not found:
        got, expected = "a model without an active objective", "one: m.NAME = pyo.Objective(expr=...)"
    else:
        got = f"several active objectives: {', '.join(each.local_name for each in found)}"
        expected = "one (m.NAME.deactivate() puts one out of action)"
    raise InputError(f"formulation {name}", Words(got), expected)
