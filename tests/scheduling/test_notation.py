"""Symbols, equations, TeX and sizes."""

import pyomo.environ as pyo
import pytest

import workbench.papers.gavel.formulations.max_min_fairness as fairness
from workbench.base.errors import InputError
from workbench.baselines.isolated import Isolated
from workbench.papers.gavel.instance import AllocationInstance
from workbench.scheduling.modelling import parameter
from workbench.scheduling.notation import (
    Equation,
    equations,
    meaning,
    model_size,
    numbered,
    render,
    source,
    symbols,
    tags,
    to_tex,
    with_tex,
)

DATA = AllocationInstance(("a", "b"), ("v100", "k80"), [[4, 1], [2, 1]], [1, 1], [1, 2], [3, 3])


@pytest.fixture(scope="module")
def model():
    return fairness.build(DATA)


def test_symbols_come_from_doc(model):
    table = symbols(model)
    assert list(table.columns) == ["symbol", "meaning", "unit", "part", "kind", "size"]
    rows = {row.part: tuple(row) for row in table.itertuples(index=False)}
    assert rows["JOBS"] == ("m", "active jobs", "", "JOBS", "set", 2)
    assert rows["speed"] == ("T^m_kj", "throughput of job m in k on j", "steps/s", "speed", "param", 4)
    assert rows["share"] == ("X_kj", "share of time on a type", "1", "share", "var", 4)
    assert rows["throughput"][0] == "throughput(m, X)"
    bare = pyo.ConcreteModel()
    bare.part, bare.level = pyo.Var(doc="y_m | part of its time"), pyo.Objective(expr=0, doc="(1) level | %")
    assert [meaning(part) for part in (model.share, bare.part, bare.level)] == [
        *("share of time on a type", "part of its time", "level"),
    ]
    kinds = table.loc[table["part"] != "", "kind"].tolist()
    assert kinds == sorted(kinds, key=["set", "param", "expression", "var"].index)


def test_further_lines_of_doc_explain_symbols_that_are_no_parts(model):
    table = symbols(model)
    at = table["part"].tolist().index("COMBINATIONS") + 1
    assert tuple(table.iloc[at]) == ("C_m", "combinations that job m is in: itself and its pairs", "", "", "", 0)
    assert table["symbol"].is_unique


def test_parts_without_doc_are_left_out(model):
    extra = model.clone()
    extra.helper = pyo.Var()
    assert "helper" not in symbols(extra)["part"].tolist()
    assert tags(extra)["helper"] == ""
    extra.pick, extra.takes = pyo.Var(["a"], [1]), pyo.Param(["a"], [1], ["v100"], initialize=2.0)
    assert numbered(extra) == {"pick[a,1]": "takes: 2 of v100"}, "by its name, where doc says nothing"


@pytest.mark.parametrize("given", [fairness, fairness.MaxMinFairness, fairness.MaxMinFairness(), fairness.__doc__])
def test_equations_come_from_the_docstring(given):
    found = equations(given)
    assert found[0] == Equation("t", "", "§4.1", "worst_job", "max")
    assert found[1] == Equation("sum_{k in C_m} sum_j X_kj <= 1", "m", "2", "job_time")
    assert [line.part for line in found] == [
        "worst_job",
        "job_time",
        "capacity",
        "epigraph",
        "share",
        "level",
        "throughput",
    ]


def test_a_minimum_inside_a_formula_is_no_sense():
    text = "t\n\n  min   max_m x_m              (3, erratum)  longest\n  s.t.  min_j x_j >= 0  for all m  (ours)  low"
    assert equations(text) == [
        Equation("max_m x_m", "", "3, erratum", "longest", "min"),
        Equation("min_j x_j >= 0", "m", "ours", "low"),
    ]


@pytest.mark.parametrize(
    ("plain", "tex"),
    [
        ("", ""),
        ("sum_j X_mj <= 1", r"\sum_{j} X_{mj} \le 1"),
        ("z_m / (w_m P_m) * x", r"\frac{z_{m}}{w_{m} P_{m}} \cdot x"),
        ("rho_m = (t_m + n_m / h_m) / C_m", r"\rho_{m} = \frac{t_{m} + \frac{n_{m}}{h_{m}}}{C_{m}}"),
        ("T^c_mj + x_{j,t+1} != 0", r"T^{c}_{mj} + x_{j , t + 1} \ne 0"),
        ("k = (a / b)^(g / c)", r"k = {\left( \frac{a}{b} \right)}^{\frac{g}{c}}"),
        ("max(0, a - b) / 2", r"\frac{\max\left( 0 , a - b \right)}{2}"),
        ("x in {0, 1}", r"x \in \left\{ 0 , 1 \right\}"),
        ("sum_{m in S_e} w_m^2", r"\sum_{m \in S_{e}} {w_{m}}^{2}"),
        ("N_type >= Umin", r"N_{\mathrm{type}} \ge \mathit{Umin}"),
        ("sum_r w_jsrt z_jkb x_mj y_jo", r"\sum_{r} w_{jsrt} z_{jkb} x_{mj} y_{jo}"),
        ("X^iso + U_min + w^job", r"X^{\mathrm{iso}} + U_{\mathrm{min}} + w^{\mathrm{job}}"),
        ("t free", r"t \text{ free }"),
        ("throughput(m, X) / P_m", r"\frac{\mathrm{throughput}\left( m , X \right)}{P_{m}}"),
        ("n_m / throughput(m, X)", r"\frac{n_{m}}{\mathrm{throughput}\left( m , X \right)}"),
        ("c / P_m (a + b)", r"\frac{c}{P_{m}} \left( a + b \right)"),
        ("c / f_m(a)", r"\frac{c}{f_{m}\left( a \right)}"),
        ("0 where k cannot run", r"0 \text{ where } k \text{ cannot run }"),
        ("rho_m", r"\rho_{m}"),
        ("a / (sum_j c_j)", r"\frac{a}{\sum_{j} c_{j}}"),
    ],
)
def test_plain_text_to_tex(plain, tex):
    assert to_tex(plain) == tex


@pytest.mark.parametrize(
    "plain", ["a $ b", "(a", "a)", "a /", "/ a", "x_{a$}", "(a]", "f(a", "a / sum_j c_j", "sum_j / 2"]
)
def test_what_it_cannot_read(plain):
    assert to_tex(plain) is None


@pytest.mark.parametrize("formulation", [fairness.MaxMinFairness(), Isolated()])
def test_render_is_tex_with_every_line_and_the_notes(formulation):
    text = render(formulation)
    assert text.count("$$") == 2
    for line in equations(formulation):
        name = line.part.replace("_", r"\_")
        assert rf"\text{{({line.tag}) {name}}}" in text
    assert text.count(r"\max\quad") == text.count(r"\text{s.t.}\quad") == 1
    assert text.count("{") == text.count("}")
    assert "(ours): the" in text
    start, notes = render(formulation, folded=True).split("<details>")
    assert "(ours): the" not in start and notes.rstrip().endswith("</details>") and "(ours): the" in notes


def test_render_of_some_parts_only():
    text = render(fairness.MaxMinFairness(), parts=["epigraph", "capacity"])
    assert text.count(r"\text{(") == 2 and "epigraph" in text and "(ours): the" not in text
    with pytest.raises(InputError, match=r"parts.*'cap'.*capacity"):
        render(fairness.MaxMinFairness(), parts=["cap"])


def test_render_falls_back_to_plain_text():
    text = render("Odd.\n\nmin   a $ b          (1)  cost\ns.t.  a >= b     for all m  (2)  low\n\nA note.")
    assert text.startswith("**Odd.**\n\n```text\nmin a $ b")
    assert "a >= b" in text
    assert text.endswith("for all m                (2) low\n```\n\nA note.")
    assert render("Only words.") == "**Only words.**"


@pytest.mark.parametrize(
    ("plain", "marked"),
    [
        ("n_m are the steps of job m", r"$n_{m}$ are the steps of job m"),
        ("with v_m = M - m, where M", r"with $v_{m} = M - m$, where M"),
        ("of X / 2, a (X_equal) part", r"of $\frac{X}{2}$, a ($X_{\mathrm{equal}}$) part"),
        ("knob `slo_dropped` of t_m", r"knob `slo_dropped` of $t_{m}$"),
        ("sum_{k in C_m} X_kj", r"$\sum_{k \in C_{m}} X_{kj}$"),
        ("weights 3, 1, 1 on 3 GPUs of 1/M", "weights 3, 1, 1 on 3 GPUs of 1/M"),
        ("x_m / sum_m w_m", "`x_m / sum_m w_m`"),
        ("`z_jtb` and `mu_j` of `Hare_Sched`", r"$z_{jtb}$ and $\mu_{j}$ of `Hare_Sched`"),
        ("`x_m / sum_m w_m`", "`x_m / sum_m w_m`"),
    ],
)
def test_symbols_within_a_text(plain, marked):
    assert with_tex(plain) == marked


def test_source_is_what_builds_the_model():
    shown = source(fairness.MaxMinFairness())
    assert shown.startswith('"""Max-min fairness') and "def build(" in shown and "def lay_out(" in shown
    assert source(fairness.MaxMinFairness) == shown and "def assemble(" not in shown and "def objective(" not in shown


def test_model_size(model):
    size = model_size(model)
    assert size == (5, 0, 6, 4 + 4 + 2 * 3)
    assert str(size) == "5 variables, 6 constraints, 14 nonzeros"
    other = model.clone()
    other.share["a", "v100"].fix(0)
    other.share["b", "v100"].domain = pyo.Binary
    assert str(model_size(other)).startswith("4 variables (1 whole), 6 constraints")


def test_a_parameter_is_one_of_pyomos():
    """Filled behind Pyomo's back: it is what Pyomo makes of the same numbers, in a model's copy too."""
    numbers = {("a", 1): 2.0, ("a", 2): 3.0, ("b", 1): 5.0}
    model = pyo.ConcreteModel()
    model.ours = parameter(numbers=numbers, doc="v | value | 1")
    model.pyomos = pyo.Param(pyo.SetOf(tuple(numbers)), initialize=numbers, within=pyo.Any, doc="v | value | 1")
    for found in (model.ours, model.clone().ours):
        assert type(found) is type(model.pyomos) and len(found) == len(model.pyomos)
        assert [*found.items()] == [*model.pyomos.items()] == [*numbers.items()]
        assert found.doc == model.pyomos.doc and found["b", 1] * 2 == 10.0
        with pytest.raises(TypeError, match="immutable"):
            found["a", 1] = 7.0
