"""The index of symbols over the papers: each named symbol is in that paper's model, and the map says what holds."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from workbench import paper_map, snapshot_at, symbol_index, symbol_table
from workbench.analysis.symbols import IDEAS, ideas, model_symbols, papers, readable, shared_letters
from workbench.scheduling.notation import symbols
from workbench.session.registry import find_formulation

PAPERS = [room.name for room in papers()]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return symbol_table()


def test_every_symbol_of_the_index_is_in_the_model_that_it_names(table: pd.DataFrame) -> None:
    known = set(zip(table["formulation"], table["symbol"], strict=True))
    for idea in ideas():
        assert idea.symbols, idea.name
        for paper, named in idea.symbols.items():
            assert paper in PAPERS
            for each in named:
                formulation, _, symbol = each.partition(" ")
                assert find_formulation(formulation).name == formulation
                assert (formulation, symbol) in known, f"{idea.name}: {each}"


def test_ideas_have_different_names_and_no_symbol_has_two(table: pd.DataFrame) -> None:
    assert tuple(idea.name for idea in ideas()) == IDEAS and len(set(IDEAS)) == len(IDEAS)
    named = [each for idea in ideas() for found in idea.symbols.values() for each in found]
    assert len(set(named)) == len(named)
    assert set(table["idea"]) == {"", *(idea.name for idea in ideas())}


def test_units_of_one_idea_do_not_contradict_each_other(table: pd.DataFrame) -> None:
    """A deadline is a time, GPUs are counted in GPUs: an index that put `p_j` under `speed` would be found out."""
    units = table[table["idea"] != ""].groupby("idea")["unit"].agg(set)
    assert units["GPUs that there are"] == units["GPUs that a job takes"] == {"GPUs"}
    assert units["arrival"] <= {"s", "slot"} and units["time of a task"] == {"s"}
    assert units["share of time (decided)"] == units["whether a job gets it (decided)"] == {"1"}
    assert units["speed"] <= {"steps/s", "steps", "1"}
    assert units["price of a GPU"] <= {"USD/h", "utility/GPU"}


def test_the_same_idea_has_the_papers_own_letters() -> None:
    index = symbol_index().set_index("idea")
    assert list(index.columns) == PAPERS
    assert index.loc["a job"].tolist() == ["m", "j", "i", "n", "i"]
    assert index.loc["GPUs that there are"].tolist() == ["c_a", "c_r", "S_t", "c_k", "M_kh"]
    assert index.loc["arrival", "hops"] == ""
    shown = symbol_index(tex=True).set_index("idea")
    assert shown.loc["weight or priority", "gavel"] == "$w_{m}$" and shown.loc["arrival", "hops"] == ""


def test_a_letter_is_listed_if_it_means_different_things() -> None:
    letters = shared_letters().set_index("letter")
    assert letters.loc["m", "gavel"] == "a job" and letters.loc["m", "hare"] == "a single server or GPU"
    assert letters.loc["j", "gavel"] == "a type of GPU" and letters.loc["j", "hadar"] == "a job"
    for letter, row in letters.iterrows():
        assert len({idea for cell in row if cell for idea in cell.split("; ")}) > 1, letter


def test_no_symbol_of_a_paper_is_lost(table: pd.DataFrame) -> None:
    assert set(table["paper"]) == set(PAPERS)
    assert not table.duplicated(["paper", "symbol", "meaning"]).any()
    assert (table["meaning"].str.len() > 2).all() and table["symbol"].map(
        lambda s: re.match(r"\S", s) is not None
    ).all()
    assert len(symbol_table(tex=True)) == len(table) > 100


def test_the_map_says_of_each_paper_what_it_is_known_for() -> None:
    found = paper_map().set_index("handles")
    assert list(found.columns) == PAPERS and found.dtypes.eq(bool).all()
    assert found.any(axis="columns").all(), "nobody handles it"
    assert not found.all(axis="columns").any(), "everybody handles it: that tells nobody anything"
    only = {what: [paper for paper in PAPERS if row[paper]] for what, row in found.iterrows()}
    assert only["jobs that share a GPU"] == ["gavel"] and only["forked copies"] == ["hadar"]
    assert only["the number of GPUs is chosen"] == ["hops"] and only["tasks in rounds"] == ["hare"]
    assert only["deadlines or rewards"] == ["gavel", "hadar", "chronus"]
    assert only["speeds that are estimated"] == ["gavel", "hadar", "hops"]


def test_a_table_is_shown_flush_left_and_its_signs_are_text() -> None:
    html = readable(pd.DataFrame({"idea": ["a <b>"], "gavel": ["$x_{m}$"]})).to_html()
    assert "Idea" in html and "a &lt;b&gt;" in html and "$x_{m}$" in html and "text-align: left !important" in html


def test_the_symbols_of_one_model_are_shown_whole_and_as_tex() -> None:
    formulation = find_formulation("gavel.max_min_fairness")
    model = formulation.build(
        formulation.data(snapshot_at("preset:gavel_example"), formulation.settle({})), formulation.settle({})
    )
    page = model_symbols(model).to_html()
    assert "combinations that job m is in: itself and its pairs" in page and "..." not in page
    assert "$T^{m}_{kj}$" in page and ">steps/s<" in page and page.count("<tr>") == 1 + len(symbols(model))
