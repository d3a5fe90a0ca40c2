"""What a formulation must keep: its statement, data, model and answers; and that its programme put together as
arrays is the one that its model compiles to."""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import dis
import inspect
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any, get_args

import numpy as np
import pandas as pd
from pyomo.core.expr.visitor import identify_variables

from workbench.analysis.contract_rules.problems import collecting, heard, line_in, once
from workbench.analysis.contract_rules.proof import differences
from workbench.base.error_origin import at_line, line_of_code
from workbench.base.errors import NOTHING, InputError, Problem, Words, raised
from workbench.base.labels import listed
from workbench.scenario.scenario import Scenario
from workbench.scheduling import notation
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import Programme, SolveError, Solver, SolverName, Sparse, solve_model
from workbench.scheduling.solvers.compile import compile_model, load_point
from workbench.session.api import snapshot_at, time_of_solve

LIMITED = Solver(time_limit_s=60, gap=0.05)
SAME = "the model's at the same values"
POINTS = 2
"""That are not optimal, at which an objective is compared."""
TOLERANCE = 1e-6
"""How far, relative, a recomputed objective may be from the model's."""
_SYMBOL = re.compile(r"\S+( \S+)?")
_PARTS = (pyo.Set, pyo.Param, pyo.Var, pyo.Constraint, pyo.Objective)
_SHOWN = (pyo.Var, pyo.Objective, pyo.Constraint, pyo.Expression)
_MOODS = ("time", "random", "secrets", "numpy.random")
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF")
_KNOBS_OF_ALL = ("preset", "space_sharing")
"""Knobs that choose others, or need a scenario that has pairs."""


def posed(formulation: Formulation[Any], scenario: Scenario, **changed: Any) -> tuple[Any, Knobs]:
    """Data and knobs at the instant of the scenario at which the formulation is solved."""
    knobs = formulation.settle({}) | changed
    return formulation.data(_snapshot(formulation, scenario), knobs), knobs


def _snapshot(formulation: Formulation[Any], scenario: Scenario) -> Snapshot:
    return snapshot_at(scenario, time_of_solve(scenario, formulation), offline=formulation.offline)


def wrong_formulation(formulation: Formulation[Any], scenario: Scenario) -> list[Problem]:
    """All that is wrong with a formulation, solved on a scenario; not what only follows from something that is told.

    Each with `file:line` of its code: where it was raised, or where the part that is named is made, or of the method.
    """
    found = _wrong(formulation, scenario)
    lines = ["" if formulation.own or line_in(each) else _line(formulation, each.where) for each in found]
    return [each._replace(where=at_line(each.where, line)) for each, line in zip(found, lines, strict=True)]


def _line(formulation: Formulation[Any], where: str) -> str:
    named = where.removeprefix(formulation.name)
    kind: Any = type(formulation)
    methods = {", data": kind.data, ", answer": kind.read}
    method = inspect.unwrap(next((each for start, each in methods.items() if named.startswith(start)), kind.build))
    first = line_of_code(method)
    with contextlib.suppress(OSError):  # what is typed at a prompt has no text
        for word in re.findall(r"[^\W\d]\w*", named):
            for number, text in enumerate(inspect.getsourcelines(method)[0]):
                if re.search(rf"\bdef {word}\(|\.{word} = ", text) and number:
                    file, _, line = first.rpartition(":")
                    return f"{file}:{int(line) + number}"
    return first


def _wrong(formulation: Formulation[Any], scenario: Scenario) -> list[Problem]:
    name, problems, model, unlike = formulation.name, list[Problem](), None, False
    answers: dict[SolverName, list[Problem]] = {solver: [] for solver in get_args(SolverName)}
    if not formulation.own:  # whose statement is its base's, and what it changes
        with collecting(f"{name}, docstring", "a statement, line by line", problems):
            problems += _wrong_statement(formulation)
        if not notation.equations(formulation):
            return problems
    with collecting(f"{name}, data", "the numbers of the problem", problems):
        snapshot, knobs = _snapshot(formulation, scenario), formulation.settle({})
        data = formulation.data(snapshot, knobs)
        problems += _not_frozen(f"{name}, data", data)
        if not _fields(data):
            return problems
        if not _same(data, formulation.data(snapshot, knobs)):
            other = Words("other numbers when asked again")
            problems.append(Problem(f"{name}, data", other, "the same for the same snapshot and knobs"))
        with collecting(f"{name}, build", "an unsolved model", problems):
            model, more, varies = _built(formulation, data, knobs)
            problems += more
            if varies:
                return problems
            unlike = any("unordered" in str(each.value) for each in more)  # what is read by place is another's
            if not formulation.own:
                wrong = [*_wrong_model(formulation, model, data, knobs)]
                proven = not wrong and bool(notation.equations(formulation)[0].sense)
                others = _wrong_with_other_knobs(formulation, scenario, proven)
                unproven = [*_unproven(name, formulation.statement(knobs, data), model, knobs)] if proven else []
                unlike |= bool(unproven) or any(each.where == f"{name}, objective" for each in wrong)
                tags = _wrong_tags(name, formulation.statement(knobs, data), model)
                problems += _once_by_part([*tags, *wrong, *unproven, *others])
    if model is not None and not unlike and len([*model.component_data_objects(pyo.Objective, active=True)]) == 1:
        for solver, found in answers.items():
            with collecting(f"{name}, answer", "an answer", found):
                found += _wrong_answer(formulation, data, knobs, dataclasses.replace(LIMITED, name=solver))
    found = [*problems, *once(answers, "with")]
    if not found and not formulation.own:
        with collecting(f"{name}, without jobs", "an answer where nobody is there, such as `trivial` gives", found):
            nobody = scenario.replace(jobs=[], schedulers=[], running=[], entities=[], colocated=[])
            settled = formulation.settle({})
            formulation.run(formulation.data(snapshot_at(nobody, 0.0, offline=formulation.offline), settled), settled)
    return found


def _wrong_statement(formulation: Formulation[Any]) -> Iterator[Problem]:
    """The module's docstring: one objective, first; a line for each part; text that can be typeset."""
    where = f"{formulation.name}, docstring"
    lines = notation.equations(formulation)
    if not lines:
        yield Problem(where, NOTHING, "lines such as `max   t        (§4.1)   worst_job`, the objective first")
        return
    if lines[0].sense not in ("max", "min") or any(line.sense for line in lines[1:]):
        yield Problem(
            where, [line.sense for line in lines if line.sense], "one objective, max or min, in the first line"
        )
    names = [line.part for line in lines]
    for part in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield Problem(where, part, "one line for each part")
    shown = notation.render(formulation)
    if "$$" not in shown:
        yield Problem(where, Words("a formula that notation.to_tex cannot read"), "formulas as in the shipped ones")
    text = re.sub(r"\$\$.*?\$\$|\$.*?\$|`.*?`", "", shown, flags=re.DOTALL)
    for raw in re.findall(r"\b[A-Za-z]\w*[_^]\w*", text):
        yield Problem(f"{where}, text", raw, "a symbol that can be typeset, or code between backquotes")
    if re.search(r":\s*(\n\n|$)", text):
        yield Problem(f"{where}, text", Words("a sentence that ends in a colon"), "what it announces, before equations")


def _not_frozen(where: str, data: Any) -> Iterator[Problem]:
    fields = _fields(data)
    if not fields:
        yield Problem(where, type(data), "a frozen dataclass (or Pydantic model) with the numbers of the problem")
        return
    before = getattr(data, fields[0])
    try:
        setattr(data, fields[0], before)
        yield Problem(where, Words(f"{type(data).__name__} whose fields can be set"), "@dataclass(frozen=True)")
    except (AttributeError, TypeError, ValueError):
        pass
    for field in fields:
        value = getattr(data, field)
        if isinstance(value, np.ndarray) and value.flags.writeable:
            yield Problem(f"{where}, {field}", Words("an array that can be written into"), "read-only (base.arrays)")


def _fields(data: Any) -> list[str]:
    """Of a dataclass or a Pydantic model; none of anything else."""
    declared: Any = getattr(data, "__dataclass_fields__", None) or getattr(type(data), "model_fields", ())
    return list(declared)


def _same(one: Any, two: Any) -> bool:
    """Whether two values are equal, down to the numbers in the fields of their fields."""
    if one is two or type(one) is not type(two):
        return one is two
    if isinstance(one, np.ndarray):
        return bool(one.shape == two.shape) and _same(one.tolist(), two.tolist())
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, Mapping):
        return list(one) == list(two) and all(_same(one[key], two[key]) for key in one)
    parts: Any = getattr(one, "__dataclass_fields__", None) or getattr(one, "__dict__", None)
    if parts is not None:
        return all(_same(getattr(one, part), getattr(two, part, None)) for part in parts)
    return bool(one == two or (one != one and two != two))


def _built(formulation: Formulation[Any], data: Any, knobs: Knobs) -> tuple[pyo.ConcreteModel, list[Problem], bool]:
    """The model, what `build` did besides, and whether it builds another one when asked again."""
    where, found, texts = f"{formulation.name}, build", list[Problem](), (io.StringIO(), io.StringIO())
    with heard(where, found):
        for text in texts:  # each before another solve makes the values of an earlier one old
            model = formulation.build(data, knobs)
            if not isinstance(model, pyo.ConcreteModel):
                raise InputError("answer", model, "a pyomo ConcreteModel, as `build` returns")
            model.pprint(text)
    if any(not var.stale and not var.fixed for var in model.component_data_objects(pyo.Var)):
        found.append(Problem(where, Words("variables with values of a solve"), "an unsolved model"))
    for part in model.component_objects(pyo.Set):
        if not part.is_constructed() or not all(each.isordered() for each in part.values()):
            found.append(Problem(f"{where}, {part.local_name}", Words("an unordered set"), "a list or tuple in order"))
    moods = [*dict.fromkeys(_moody(type(formulation).build))]
    for each in moods:
        found.append(Problem(where, Words(f"a clock, file or random state: {each}"), "only its data and knobs"))
    first, again = (re.sub(r" at 0x[0-9a-f]+", "", text.getvalue()) for text in texts)  # where an object is kept
    varies = first != again
    if varies and not moods:
        found.append(Problem(where, Words("another model when built again"), "the same for the same data and knobs"))
    return model, found, varies


def _moody(function: Any) -> Iterator[str]:
    """The names in a function that stand for a clock, a file or a random state; what it calls is not searched.

    They are read from its compiled code: what is typed at a prompt has no text.
    """
    function = inspect.unwrap(function)
    known, codes = {**vars(builtins), **function.__globals__}, [function.__code__]
    for code in codes:
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
        text, found = "", None
        for step in dis.get_instructions(code):
            if step.opname in ("EXTENDED_ARG", "CACHE"):
                continue
            if step.opname == "IMPORT_NAME" and step.argval in _MOODS:
                yield step.argval
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                text = f"{text}.{step.argval}"
                found = getattr(found, step.argval, None) if isinstance(found, (ModuleType, type)) else None
            else:
                name = step.argval[-1] if isinstance(step.argval, tuple) else step.argval
                text = name if step.opname.startswith(_LOADS) else ""
                found = known.get(text) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") else None
            home = getattr(found, "__module__", None) or type(getattr(found, "__self__", None)).__module__
            if found is open or home in _MOODS or text.endswith(("datetime.now", "date.today")):
                yield text


def _differences(where: str, statement: Any, model: pyo.ConcreteModel) -> Iterator[Problem]:
    """Docstring's parts against those of the model: objective, constraints, variables and expressions."""
    stated = {line.part: line.tag for line in notation.equations(statement)}
    tags = notation.tags(model)
    for part in (part for part, tag in tags.items() if not tag):
        yield Problem(f"{where}, {part}", NOTHING, "doc= that begins with a tag: (3), (§4.1) or (ours)")
    unstated = [part for part, tag in tags.items() if tag and part not in stated]
    unbuilt = [part for part in stated if part not in tags]
    if len(unstated) == len(unbuilt) == 1:  # one mistake: its name
        yield Problem(f"{where}, {unstated[0]}", unstated[0], f"{unbuilt[0]}, as the docstring says")
        return
    for part in unstated:
        yield Problem(f"{where}, {part}", NOTHING, f"a line of the docstring that ends in ({tags[part]})   {part}")
    for part in unbuilt:
        yield Problem(f"{where}, {part}", NOTHING, "a part of the model for the docstring's line")


def _wrong_tags(where: str, statement: Any, model: pyo.ConcreteModel) -> Iterator[Problem]:
    """Docstring's `(tag) part_name` against the parts' `doc=`."""
    stated, there = {line.part: line.tag for line in notation.equations(statement)}, notation.tags(model)
    for part, tag in there.items():
        if tag and stated.get(part, tag) != tag:
            yield Problem(f"{where}, {part}", f"({tag})", f"({stated[part]}), as the docstring says")


def _unproven(where: str, statement: Any, model: pyo.ConcreteModel, knobs: Knobs) -> Iterator[Problem]:
    """What the docstring's lines say otherwise than the parts, see `contract_rules.proof`."""
    for each in differences(statement, model, knobs):
        yield Problem(f"{where}, {each.where}", Words(each.model), f"what the docstring says: {each.line}")


def _wrong_model(formulation: Formulation[Any], model: pyo.ConcreteModel, data: Any, knobs: Knobs) -> Iterator[Problem]:
    where = formulation.name
    told = [*_differences(where, formulation.statement(knobs, data), model)]
    yield from told
    lines = notation.equations(formulation)
    active = list(model.component_data_objects(pyo.Objective, active=True))
    senses = [{pyo.maximize: "max", pyo.minimize: "min"}[each.sense] for each in active]
    missing = lines and not senses and any(each.where == f"{where}, {lines[0].part}" for each in told)
    if lines and lines[0].sense and senses != [lines[0].sense] and not missing:
        yield Problem(f"{where}, objective", senses, f"one active objective, {lines[0].sense} as in the docstring")
    table = notation.symbols(model)
    twice = list(table.loc[table["symbol"].duplicated(), "symbol"])
    for symbol in twice:
        yield Problem(f"{where}, symbols", symbol, "one meaning for each symbol")
    stated = set(re.findall(r"[A-Za-z]+(?:\^[a-z]+)?_[a-z]+", " ".join(line.formula for line in lines)))
    for symbol in sorted(s for s in stated if s.split("_")[0] not in ("sum", "max", "min")):
        if not twice and symbol not in set(table["symbol"]):
            yield Problem(f"{where}, symbols", symbol, "doc= of a set, parameter or variable for it")
    yield from _wrong_parts(where, model, table)
    shown = re.sub(r'""".*?"""', "", notation.source(formulation.statement(formulation.settle({}))), flags=re.DOTALL)
    parts = [part.local_name for part in model.component_objects(_SHOWN, descend_into=False)]
    hidden = [each for each in parts if not re.search(rf"\.{each} = pyo\.|\b{each}=pyo\.|\bdef {each}\(", shown)]
    if hidden and notation.NOT_KEPT not in shown:
        expected = "parts that functions of its room add, reached from `build` by name: a lab shows their source"
        yield Problem(f"{where}, {listed(hidden)}", Words("not in the source that is shown"), expected)


def _wrong_parts(where: str, model: pyo.ConcreteModel, table: pd.DataFrame) -> Iterator[Problem]:
    """Names of parts; symbol, meaning and unit of sets, parameters and variables."""
    rows = {str(row["part"]): row for row in table.to_dict("records")}
    for part in model.component_objects(_PARTS, descend_into=False):
        name, is_set = part.local_name, isinstance(part, pyo.Set)
        if is_set and not part.doc and "_" in name:
            continue  # an index set that Pyomo made itself
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*" if is_set else r"[a-z][a-z0-9_]*", name):
            yield Problem(f"{where}, {name}", name, "CAPITALS" if is_set else "small letters, digits and _")
        if isinstance(part, (pyo.Set, pyo.Param, pyo.Var)):
            row = rows.get(name, {"symbol": "", "meaning": "", "unit": ""})
            if not (_SYMBOL.fullmatch(row["symbol"]) and row["meaning"] and (row["unit"] or is_set)):
                yield Problem(f"{where}, {name}", part.doc or NOTHING, "doc= symbol | meaning | unit")


def _once_by_part(problems: Sequence[Problem]) -> list[Problem]:
    """What is wrong with a part as built whatever the knobs say once, as it is told first."""
    found: dict[tuple[str, str, str], Problem] = {}
    for each in problems:
        found.setdefault((each.where.partition(", ")[2], repr(each.value), each.expected), each)
    return [*found.values()]


def _wrong_with_other_knobs(formulation: Formulation[Any], scenario: Scenario, proven: bool) -> Iterator[Problem]:
    """Whatever a knob says, what is said to state the problem has the parts of the model that is built.

    proven: whether also their formulas are held to it; not where names or letters are wrong already.
    """
    for knob in formulation.knobs:
        for value in () if knob.name in _KNOBS_OF_ALL else _other_values(knob):
            data, knobs = posed(formulation, scenario, **{knob.name: value})
            where = f"{formulation.name} with {knob.name}={value}"
            stated, model = formulation.statement(knobs, data), formulation.build(data, knobs)
            yield from _wrong_tags(where, stated, model)
            yield from [*_differences(where, stated, model)] or (
                _unproven(where, stated, model, knobs) if proven else ()
            )


def _other_values(knob: Knob) -> Sequence[Any]:
    """What else it may say: the other of two, each choice, a smaller part (not: a size, that makes another problem)."""
    if knob.kind == "bool":
        return [not knob.default]
    if knob.kind == "float" and knob.unit == "1" and isinstance(knob.default, float) and knob.minimum > -math.inf:
        return [(knob.default + knob.minimum) / 2]
    return knob.choices or ()


def _wrong_answer(formulation: Formulation[Any], data: Any, knobs: Knobs, solver: Solver) -> Iterator[Problem]:
    """What `read` gives, whose objective is held to the model's; one that iterates has a `run` of its own instead."""
    where = f"{formulation.name}, answer"
    sense = "" if formulation.own else notation.equations(formulation)[0].sense
    if not sense:
        sense = "max" if _objective(formulation.build(data, knobs)).sense == pyo.maximize else "min"
    found: Any
    stated = model = None
    if formulation.repeats:
        found = formulation.run(data, knobs, solver)
    else:
        model = formulation.build(data, knobs)
        compiled = compile_model(model)
        point = formulation.solve(compiled.programme, data, knobs, formulation.options(knobs, solver))
        load_point(model, compiled, point)
        solved = point.solved
        stated, found = pyo.value(_objective(model)), formulation.read(model, data, knobs)
        found = found.reported(solved) if isinstance(found, Result) else found
    if not isinstance(found, Result):
        yield Problem(where, found, "a workbench.Result")
        return
    if found.status not in ("optimal", "feasible"):
        yield Problem(f"{where}, status", found.status, "optimal or feasible")
    if found.sense != sense:
        yield Problem(f"{where}, sense", found.sense, f"{sense}, as in the docstring")
    if not found.unit:
        yield Problem(f"{where}, unit", NOTHING, "the objective's unit, 1 if it has none")
    wrong = [*_wrong_objective(where, found, sense, stated)]
    yield from wrong
    if solver == LIMITED:
        if model is not None and not wrong:
            yield from _wrong_elsewhere(where, formulation, model, data, knobs)
        if _text(found) != _text(formulation.run(data, knobs, solver)):
            yield Problem(where, Words("another answer to the same question"), "the same values again")
    else:
        _text(found)


def _text(found: Result) -> str:
    try:
        return json.dumps(found.values, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError("values", raised(error), "what JSON can hold: of an array its `tolist()`") from error


def _objective(model: pyo.ConcreteModel) -> Any:
    [found] = model.component_data_objects(pyo.Objective, active=True)
    return found


def _wrong_elsewhere(
    where: str, formulation: Formulation[Any], model: pyo.ConcreteModel, data: Any, knobs: Knobs
) -> Iterator[Problem]:
    """The objective as `read` has it against the model's, at feasible points that are not optimal.

    A point: the least of random costs, at which what the objective does not name is held while it is optimised, so that
    what follows from the rest (the t of a max-min) does so. Where that is not all that follows, what one part alone
    decides is held instead. Points that `read` refuses, or a solver, are none.
    """
    objective, best = _objective(model), pyo.value(_objective(model))
    parts = {part.local_name: [v for v in part.values() if not v.fixed] for part in model.component_objects(pyo.Var)}
    named = {v.parent_component().local_name for v in identify_variables(objective.expr)}
    rest = [each for part, each in parts.items() if part not in named]
    held = [[v for each in rest or parts.values() for v in each], *(rest if len(rest) > 1 else ())]
    for seed in range(POINTS):
        rng = np.random.default_rng(seed)
        at = _least(model, objective, [v for each in parts.values() for v in each], rng)
        found = [_compared(formulation, model, data, knobs, [(v, at[v.name]) for v in each]) for each in held if at]
        pairs = [(stated, said) for stated, said in filter(None, found) if not _near(stated, best)]
        if pairs and not any(_near(*pair) for pair in pairs):
            stated, said = pairs[0]
            yield Problem(f"{where}, objective away from the optimum", _beside(said, stated), SAME)
            return


def _beside(said: float, stated: float) -> Words:
    return Words(f"{said:.9g} where the model has {stated:.9g}")


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= TOLERANCE * max(1.0, abs(one))


def _least(
    model: pyo.ConcreteModel, objective: Any, variables: Sequence[Any], rng: np.random.Generator
) -> dict[str, float]:
    """A feasible point, by variable: the least of random costs; empty where there is none to be had."""

    def cost(variable: Any) -> float:
        low, high = variable.bounds
        sign = rng.choice([-1.0, 1.0]) if low is not None and high is not None else (high is None) - (low is None)
        return float(rng.uniform(0.1, 1.0) * sign)

    objective.deactivate()
    model.random_costs = pyo.Objective(expr=sum(cost(variable) * variable for variable in variables))
    try:
        solve_model(model, dataclasses.replace(LIMITED, gap=1e6))
    except SolveError:
        return {}
    finally:
        model.del_component("random_costs")
        objective.activate()
    return {v.name: v.value if v.is_continuous() else round(v.value) for v in variables}


def _compared(
    formulation: Formulation[Any], model: pyo.ConcreteModel, data: Any, knobs: Knobs, held: Sequence[tuple[Any, float]]
) -> tuple[float, float] | None:
    """The model's objective and the one that `read` gives, at the best point with some variables held; None if none."""
    for variable, value in held:
        variable.fix(value)
    try:
        solve_model(model, LIMITED)
        said = formulation.read(model, data, knobs).objective
    except SolveError:
        return None
    finally:
        for variable, _ in held:
            variable.unfix()
    return float(pyo.value(_objective(model))), math.nan if said is None else said


def _wrong_objective(where: str, found: Result, sense: str, stated: float | None) -> Iterator[Problem]:
    """A number, that of the model at the same values (stated), and no better than the bound."""
    if found.objective is None or not math.isfinite(found.objective):
        yield Problem(f"{where}, objective", found.objective, "a number")
        return
    slack = TOLERANCE * max(1.0, abs(found.objective))
    if stated is not None and not _near(stated, found.objective):
        yield Problem(f"{where}, objective", _beside(found.objective, stated), SAME)
        return
    better = 0.0 if found.bound is None else (found.bound - found.objective) * (1 if sense == "max" else -1)
    if better < -slack:
        yield Problem(f"{where}, bound", found.bound, f"no worse than the objective, {found.objective}")


def difference(model: pyo.ConcreteModel, assembled: Programme) -> Problem | None:
    """The first difference between a programme and the one that a model compiles to."""
    compiled = compile_model(model)
    stated = compiled.programme
    columns, rows = ([each.name for each in parts] for parts in (compiled.columns, compiled.rows))
    for kind, names, own in (("columns", columns, assembled.columns), ("rows", rows, assembled.rows)):
        here = getattr(stated, kind)
        for name in dict.fromkeys((*here, *own)):
            if name not in own or name not in here or not np.array_equal(here[name], own[name]):
                return Problem(f"{kind} of {name}", own.get(name, NOTHING), f"the model's, {here.get(name, 'none')}")
        at = 0 if kind == "rows" else 1
        if assembled.matrix.shape[at] != len(names):
            return Problem(kind, assembled.matrix.shape[at], f"the model's {len(names)}")
    both = (assembled, stated)
    for part in ("name", "maximise", "offset"):
        if getattr(assembled, part) != getattr(stated, part):
            return Problem(part, getattr(assembled, part), f"the model's, {getattr(stated, part)}")
    for part in ("integer", "cost", "lower", "upper", "row_lower", "row_upper"):
        names = rows if part.startswith("row_") else columns
        nothing = np.zeros(len(names), dtype=bool)
        found, expected = ((nothing if each is None else each).tolist() for each in (getattr(p, part) for p in both))
        for name, value, wanted in zip(names, found, expected, strict=True):
            if value != wanted:
                return Problem(f"{part} of {name}", value, f"the model's, {wanted!r}")
    return _entries_apart(stated.matrix, assembled.matrix, rows, columns)


def _entries_apart(stated: Sparse, assembled: Sparse, rows: list[str], columns: list[str]) -> Problem | None:
    """The first coefficient that differs, column by column."""
    for column, name in enumerate(columns):
        here, own = (
            dict(zip(of.indices[spot].tolist(), of.data[spot].tolist(), strict=True))
            for of in (stated, assembled)
            for spot in [slice(of.indptr[column], of.indptr[column + 1])]
        )
        for row in sorted({*here, *own}):
            if here.get(row) != own.get(row):
                where = f"coefficient of {name} in {rows[row]}"
                return Problem(where, own.get(row, NOTHING), f"the model's, {here.get(row, 'none')!r}")
    return None
