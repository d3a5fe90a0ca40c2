"""What every formulation in the registry must keep: docstring and model agree, knobs are declared, numbers come back.

A new paper is covered without a line here, if `PRESETS` has a scenario whose jobs it can take.
"""

import inspect
import json
import math
import re
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest

from workbench.base.errors import InputError
from workbench.scenario.presets import preset
from workbench.scheduling import notation
from workbench.scheduling.contract import Formulation, Result
from workbench.scheduling.solvers import Solver
from workbench.session.api import snapshot_at, time_of_solve
from workbench.session.registry import find_formulation, formulations

PRESETS = {"hadar": "hadar_example", "hops": "hops_64", "hare": "hare_example", "chronus": "chronus_96x8"}
"""Scenario by the first word of the name; all others take Gavel's three jobs."""
FORMULATIONS = formulations()
EVERY = pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda formulation: formulation.name)
LIMITED = Solver("highs", time_limit_s=60, gap=0.05)
SYMBOL = re.compile(r"^\S+( \S+)?$")


def snapshot_of(formulation):
    """The instant of the formulation's own preset at which it is solved."""
    scenario = preset(PRESETS.get(formulation.name.split(".")[0], "gavel_example"))
    return snapshot_at(scenario, time_of_solve(scenario, formulation.name), offline=formulation.offline)


def example(formulation):
    """Data and knobs of the formulation's own preset."""
    knobs = formulation.settle({})
    return formulation.data(snapshot_of(formulation), knobs), knobs


@pytest.fixture(scope="module")
def built():
    """Model of each formulation, built once."""
    cache = {}

    def build(formulation):
        if formulation.name not in cache:
            cache[formulation.name] = formulation.build(*example(formulation))
        return cache[formulation.name]

    return build


@pytest.fixture(scope="module")
def answered():
    """Answer of HiGHS to each formulation on its preset, found once."""
    cache = {}

    def answer(formulation):
        if formulation.name not in cache:
            cache[formulation.name] = formulation.run(*example(formulation), LIMITED)
        return cache[formulation.name]

    return answer


def test_there_are_formulations_and_their_names_differ():
    names = [formulation.name for formulation in FORMULATIONS]
    assert {"gavel.max_min_fairness", "isolated"} <= set(names)
    assert len(set(names)) == len(names)
    for name in names:
        assert find_formulation(name).name == name


@EVERY
def test_title_knobs_and_presets(formulation):
    assert isinstance(formulation, Formulation)
    assert formulation.title and not formulation.title.endswith(".")
    names = [knob.name for knob in formulation.knobs]
    assert len(set(names)) == len(names)
    for knob in formulation.knobs:
        assert knob.check(knob.default) == knob.default
        assert knob.help
    settled = formulation.settle({})
    assert settled == {knob.name: knob.default for knob in formulation.knobs} or "preset" in settled
    for chosen in formulation.presets.values():
        assert set(chosen) <= set(names)
    with pytest.raises(InputError):
        formulation.settle({"no such knob": 1})


@EVERY
def test_docstring_and_model_say_the_same(formulation, built):
    """Objective, constraints and decision variables: the docstring's `(tag) part_name` and the parts' `doc=`."""
    stated = {line.part: line.tag for line in notation.equations(formulation)}
    modelled = notation.tags(built(formulation))
    missing = {part for part, tag in modelled.items() if not tag}
    assert not missing, f"doc= without a tag: {missing}"
    assert stated == modelled


@EVERY
def test_no_symbol_has_two_meanings(formulation, built):
    table = notation.symbols(built(formulation))
    assert table["symbol"].is_unique, table.loc[table["symbol"].duplicated(), "symbol"].tolist()


@EVERY
def test_every_symbol_of_the_statement_is_in_the_table(formulation, built):
    known = set(notation.symbols(built(formulation))["symbol"])
    text = " ".join(line.formula for line in notation.equations(formulation))
    stated = set(re.findall(r"[A-Za-z]+(?:\^[a-z]+)?_[a-z]+", text))
    assert {s for s in stated if s.split("_")[0] not in ("sum", "max", "min")} <= known


@EVERY
def test_the_text_has_no_raw_symbols_and_no_sentence_without_its_end(formulation):
    text = re.sub(r"\$\$.*?\$\$|\$.*?\$|`.*?`", "", notation.render(formulation), flags=re.DOTALL)
    assert not re.findall(r"\b[A-Za-z]\w*[_^]\w*", text)
    assert not re.search(r":\s*(\n\n|$)", text)


@EVERY
def test_what_states_the_problem_follows_the_knobs(formulation):
    """Whatever a knob says, what is said to state the problem has the parts of the model that is built."""
    knobs = formulation.settle({})
    named = [knob for knob in formulation.knobs if knob.name not in ("preset", "space_sharing")]
    for knob in named:
        for value in knob.choices or () if knob.kind == "str" else [not knob.default] if knob.kind == "bool" else []:
            changed = {**knobs, knob.name: value}
            model = formulation.build(formulation.data(snapshot_of(formulation), changed), changed)
            stated = {line.part: line.tag for line in notation.equations(formulation.statement(changed))}
            assert stated == notation.tags(model), (knob.name, value)


@EVERY
def test_one_line_for_each_part_and_one_objective(formulation):
    lines = notation.equations(formulation)
    assert len({line.part for line in lines}) == len(lines)
    assert [line.sense for line in lines].count("") == len(lines) - 1
    assert lines[0].sense in ("max", "min")


@EVERY
def test_sense_of_the_objective(formulation, built):
    [active] = built(formulation).component_data_objects(pyo.Objective, active=True)
    assert {pyo.maximize: "max", pyo.minimize: "min"}[active.sense] == notation.equations(formulation)[0].sense


@EVERY
def test_every_set_and_param_says_symbol_meaning_unit(formulation, built):
    model = built(formulation)
    table = notation.symbols(model).set_index("part")
    for type_, needs_unit in ((pyo.Set, False), (pyo.Param, True), (pyo.Var, True)):
        for part in model.component_objects(type_, descend_into=False):
            if type_ is pyo.Set and part.local_name not in table.index and "_" in part.local_name:
                continue  # an index set that Pyomo made itself
            row = table.loc[part.local_name]
            assert SYMBOL.match(row["symbol"]), part.local_name
            assert row["meaning"], part.local_name
            assert row["unit"] or not needs_unit, part.local_name


@EVERY
def test_names_of_parts(formulation, built):
    for part in built(formulation).component_objects((pyo.Set, pyo.Param, pyo.Var, pyo.Constraint, pyo.Objective)):
        if isinstance(part, pyo.Set):
            assert part.local_name.upper() == part.local_name or not part.doc, part.local_name
        else:
            assert re.fullmatch(r"[a-z][a-z0-9_]*", part.local_name), part.local_name


@EVERY
def test_rendering(formulation):
    text = notation.render(formulation)
    assert "$$" in text, "the formula has something that notation.to_tex cannot read"
    for line in notation.equations(formulation):
        assert line.part.replace("_", r"\_") in text
    assert "def build" in notation.source(formulation)


@EVERY
def test_build_neither_solves_nor_prints(formulation, capsys):
    data, knobs = example(formulation)
    model = formulation.build(data, knobs)
    assert capsys.readouterr().out == ""
    assert all(variable.stale for variable in model.component_data_objects(pyo.Var) if not variable.fixed)


@EVERY
@pytest.mark.parametrize("name", ["highs", "glpk"])
def test_result_on_its_preset(formulation, name, answered):
    limited = replace(LIMITED, name=name)
    found = answered(formulation) if limited == LIMITED else formulation.run(*example(formulation), limited)
    assert isinstance(found, Result)
    assert found.status in ("optimal", "feasible")
    assert found.sense == notation.equations(formulation)[0].sense
    assert found.objective is not None and math.isfinite(found.objective)
    if found.bound is not None:
        slack = 1e-6 * max(1.0, abs(found.objective))
        better = found.bound - found.objective if found.sense == "max" else found.objective - found.bound
        assert better >= -slack
    assert found.unit
    assert found.build_s >= 0 and found.solve_s >= 0
    json.dumps(found.values, allow_nan=False)


@EVERY
def test_the_answer_repeats(formulation, answered):
    again = formulation.run(*example(formulation), LIMITED)
    assert json.dumps(answered(formulation).values) == json.dumps(again.values)


@EVERY
def test_the_source_reads_no_clock_file_or_random_state_while_building(formulation):
    text = inspect.getsource(type(formulation).build)
    assert not re.search(r"\b(open|random|time\.)\b", text)


@EVERY
def test_data_is_frozen(formulation):
    data, _ = example(formulation)
    field = next(iter(getattr(data, "__dataclass_fields__", None) or type(data).model_fields))
    with pytest.raises((AttributeError, TypeError, ValueError)):
        setattr(data, field, None)
    for value in vars(data).values():
        assert not (isinstance(value, np.ndarray) and value.flags.writeable)
