"""Gaps between a row and its paper, parted into causes."""

from __future__ import annotations

import ast
import json
import math
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import reproduction
from reproduction import Entry, PaperFigure, causes, gap, table
from reproduction.exhibits import ITSELF, KINDS, PROBE, SECONDS, VARIED, Causes, Claim, Exhibit
from reproduction.gavel import cost
from reproduction.line import Line, rivalled
from reproduction.registry import exhibits as known_exhibits
from reproduction.registry import reproductions, sizes_of
from reproduction.results import KeptResults
from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.session import api

MET = "As the paper says with all causes: {} of 1 measure"
AWAY = "All causes together move 1 of 1 measures away from the paper"


@dataclass(frozen=True)
class TwoNumbers:
    a: float = 0.0
    b: float = 0.0
    rivals: tuple[float, ...] = ()
    seed: int = 0


def only(monkeypatch: pytest.MonkeyPatch, exhibit: Exhibit) -> Exhibit:
    """`p.x` is all that there is, of the size tiny."""
    for module in (causes, table):
        monkeypatch.setattr(module, "exhibits", lambda: {"p.x": exhibit})
    monkeypatch.setattr(causes, "sizes_of", lambda name: {"tiny": TwoNumbers()})
    return exhibit


def test_every_gap_is_of_measures_that_there_are(
    evaluated: Callable[[str], list[PaperFigure]],
) -> None:
    """Some measures exist above the tiny size only. What a cause is worth says its gap alone, which stands with its
    row: a note beside a number gives no reason."""
    above = {"wDMR, P_MIX2, noise 40 %"}
    why = re.compile(
        r"\b(because|so that|, so|therefore|hence|thus|owing to|due to|follows? from|reason for|not varied)\b"
    )
    for paper in reproductions():
        made = dict(zip(paper.figures, evaluated(paper.name), strict=True))
        reasons = [(row.measure, row.note) for figure in made.values() for row in figure.rows if why.search(row.note)]
        assert not reasons
        for exhibit in paper.exhibits:
            if (parted := exhibit.gap) is None or exhibit.compute not in made:
                continue
            kept = KeptResults().gap(f"{paper.name}.{exhibit.name}")
            assert kept is None or set(parted.fields) <= set(kept["cause"]), exhibit.name  # None: the row says so
            assert not {cause.partition(": ")[2] for cause in parted.fields} & set(exhibit.unvaried), exhibit.name
            measures = [row.measure for row in made[exhibit.compute].rows]
            for pattern in parted.measures:
                fits = any(fnmatchcase(measure, pattern) for measure in measures)
                assert fits or pattern in above, (exhibit.name, pattern)


def reads(paper: str) -> Callable[[str], set[str]]:
    """A function from the name of one of a paper's to the fields of a size that it, or another that it names, reads."""
    room = Path(reproduction.__path__[0])
    fields, names = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (room / "line.py", *(room / paper).glob("*.py"))]
    for top in (each for tree in trees for each in tree.body):
        sizes = ("size", "self") if isinstance(top, ast.ClassDef) and top.name.endswith("Size") else ("size",)
        for of in (each for each in ast.walk(top) if isinstance(each, ast.FunctionDef)):
            for each in ast.walk(of):
                if isinstance(each, ast.Attribute):
                    names[of.name].add(each.attr)
                    if isinstance(each.value, ast.Name) and each.value.id in sizes:
                        fields[of.name].add(each.attr)
                elif isinstance(each, ast.Name):
                    names[of.name].add(each.id)

    def found(start: str) -> set[str]:
        seen, left = {start}, [start]
        while left:
            new = names[left.pop()] & names.keys() - seen
            seen |= new
            left += new
        return set().union(*(fields[each] for each in seen))

    return found


def test_a_field_that_a_cause_changes_is_one_of_its_size_and_read_where_its_figure_is_computed() -> None:
    """Also by what it calls. Of a scale that several figures of a paper share, at least one field is. Nothing is
    computed: a field that a size does not have, or has so already, is told by the declaration."""
    of_paper = {paper.name: reads(paper.name) for paper in reproductions()}
    for name, parted in causes.gaps().items():
        compute = known_exhibits()[name].compute
        assert compute is not None
        read = of_paper[name.split(".")[0]](compute.__name__)
        start = replace(sizes_of(name)[parted.size], **parted.base)
        for cause, fields in parted.fields.items():
            assert replace(start, **fields) != start, (name, cause)
            kind, _, words = cause.removeprefix(PROBE).partition(": ")
            assert kind in KINDS and words, (name, cause)
            assert (read & set(fields)) if "scale: " in cause else (set(fields) <= read), (name, cause)


SHRUNK = {"part": 0.2, "rounds": 5, "steps": 300, "learning_rates": (0.3,), "seeds": range(2)}
"""In place of what a cause changes these fields to, so that it takes less."""


class Reached(BaseException):
    """A cause changes what is run: this scheduler, or a file of the authors, is asked for."""


@pytest.mark.long
def test_a_cause_reaches_what_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each changes at least one run's scenario, scheduler, knobs or belief, or which file is read; where none is
    simulated, the answer. A baseline changes its own run and none before it."""
    known: dict[tuple[str, ...], Any] = {}
    simulated = api.run_loop

    def run(scenario: Scenario, scheduler: Any, knobs: Any, *, belief: Any, seed: Any, **others: Any) -> Any:
        told = {name: value for name, value in vars(belief).items() if isinstance(value, int | float | str)}
        of = (type(scheduler).__qualname__, scheduler.name, type(belief).__name__, *map(str, (told, seed)))
        key = (json.dumps(scenario.to_dict()), str(sorted(dict(knobs).items())), *of)
        if key not in known and cause:
            raise Reached(scheduler.name)
        if key not in known:
            known[key] = simulated(scenario, scheduler, knobs, belief=belief, seed=seed, **others)
        return known[key]

    def file(name: str) -> None:
        raise Reached(name)

    every = known_exhibits()  # loads them all
    monkeypatch.setattr(api, "run_loop", run)
    for module in [each for name, each in sys.modules.items() if name.startswith("reproduction.")]:
        if hasattr(module, "fetch"):
            monkeypatch.setattr(module, "fetch", file)
    for name, parted in causes.gaps().items():
        compute, tiny = every[name].compute, replace(sizes_of(name)["tiny"], name="reached")
        assert compute is not None
        cause = ""
        plain = compute(tiny).table["ours"]
        for cause, fields in parted.fields.items():
            try:
                changed = {field: SHRUNK.get(field, fields[field]) for field in fields}
                if "public" in fields:  # of the authors' files there is one of P
                    changed["clusters"] = (("P", 4, 16, 8.0),)
                found = compute(replace(tiny, **changed))
            except Reached as reached:
                rivals = [line.scheduler for line in fields.get("rivals", ())]
                assert not rivals or str(reached) in rivals, (name, cause, reached)
            else:
                assert not found.table["ours"].equals(plain), (name, cause)


def test_a_baseline_is_varied_or_a_sentence_says_why_not() -> None:
    for name, reason in ((name, each.no_gap) for name, each in known_exhibits().items() if each.no_gap):
        assert known_exhibits()[name].gap is None, name
        assert re.match(f"A counterexample|{SECONDS}|{VARIED}.", reason), name
    varied = {name for name, of in causes.gaps().items() if any("baseline: " in cause for cause in of.fields)}
    said_why = {name for name, of in causes.gaps().items() if of.unvaried and "Scale is" not in of.unvaried}
    assert len(varied) >= 12 and varied.isdisjoint(said_why) and varied | said_why == set(causes.gaps())


def test_what_is_said_of_a_gap() -> None:
    made = [("ours", 1.0), ("data: a", 0.0), ("probe, data: b", 1.0), ("with all", 1.0), ("paper", math.nan)]
    lines = [("m", cause, at, at, at, at) for cause, at in made]
    found = pd.DataFrame(lines, columns=list(causes.COLUMNS)).assign(seeds=3, known=3)
    plain = found[found["cause"] != "probe, data: b"]

    def said(name: str, found: pd.DataFrame, **claim: Any) -> str:
        row = [{"measure": "m", "low": 0.5, "high": 1.5} | claim]
        return causes.caveats(name, found.assign(declared=causes.declared(causes.gaps()[name])), row)

    assert said("hare.fig12", plain) == "" and said("hops.fig6", plain) == ITSELF
    assert said("hare.fig12", found) == causes.PROBES
    assert said("hare.fig12", found[found["cause"] != "data: a"]) == f"{causes.NO_STEP}. {causes.PROBES}"
    beside = "In 1 of 1 measure it begins outside of the row's own interval and is not of that number: m"
    assert said("hare.fig12", plain, low=1.1) == said("hare.fig12", plain, high=0.9) == beside
    assert said("hare.fig12", plain, low=None) == said("hare.fig12", plain, measure="n", low=1.1) == ""
    chance = plain.assign(low=-1.0)
    told = "Not told from chance, as the interval over seeds holds 0: data: a (1 of 1)"
    assert said("hare.fig12", chance.assign(high=1.0)) == told and said("hare.fig12", chance.assign(high=-0.5)) == ""
    assert said("hare.fig12", plain.assign(low=math.nan)) == causes.NO_INTERVAL
    unknown = f"{ITSELF}. {causes.UNKNOWN}"
    assert said("hops.fig6", plain.assign(from_ours=math.nan)) == unknown
    other = causes.declared(causes.gaps()["hare.fig13"])
    assert causes.caveats("hare.fig12", plain.assign(declared=other)) == causes.OTHER
    ends = [("ours", 2.0), ("data: a", 0.0), ("with all", 1.5), ("paper", 3.0), ("unexplained", 1.25)]
    away = pd.DataFrame([("m", cause, end, end, end, end) for cause, end in ends], columns=list(causes.COLUMNS)).assign(
        seeds=1, known=1
    )
    assert said("hops.tab3", away, low=None) == f"{causes.ONE_SEED}. {MET.format(0)}. {AWAY}: m"
    assert causes.seeds_of("gavel.tab3", away) == "deterministic"  # the authors' traces
    nearer = away.replace({"paper": "paper, > 3", 1.5: 3.5, 2.0: -9.0, 1.25: 0.0})
    lost = away.replace({1.5: math.nan, 1.25: math.nan})
    assert said("hops.tab3", lost).endswith("With all causes 1 unknown")
    assert said("hops.tab3", nearer.assign(seeds=3, known=3), low=None) == MET.format(1)


def test_a_declaration_is_the_same_however_it_is_written() -> None:
    one = causes.gaps()["hare.fig12"]
    order = {name: dict(reversed(fields.items())) for name, fields in reversed(one.probes.items())}
    same = replace(one, probes=order, measures=[*reversed(one.measures)], draws=1)
    assert causes.declared(same) == causes.declared(one)
    for of in ({"base": {"jobs": (1,)}}, {"size": "tiny"}, {"steps": one.probes, "probes": {}}):
        assert causes.declared(replace(one, **of)) != causes.declared(one), of


def test_the_page_on_papers_says_which_gaps_are_kept() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")
    told: set[str] = set()
    for line in re.findall(r"^\| .+; [A-Z].+ \|$", page.partition("## What they are compared")[2], re.M):
        paper = line.partition("; ")[2].partition(",")[0].lower()
        for part in re.split("[;|]", line):
            words, said, places = (*re.split("(gaps? of |not kept: )", part, maxsplit=1), "", "")[:3]
            assert not re.search("gap|kept", words), part
            kind, names = "", set[str]()
            for place in places.split(", ") if said else ():
                kind = {"T": "tab", "F": "fig"}.get(place[0], kind)
                first, *last = re.findall(r"\d+[a-f]?(?:-[a-f])?", place)
                numbers = range(int(first), int(last[0]) + 1) if last else [first.replace("-", "")]
                names |= {f"{paper}.{kind}{number}" for number in numbers}
            assert names <= set(causes.gaps()), part
            assert {KeptResults().gap(name) is not None for name in names} <= {said.startswith("gap")}, (part, names)
            told |= names
    varied = {name for name, of in causes.gaps().items() if any("baseline: " in cause for cause in of.fields)}
    assert varied <= told, varied - told


def test_the_baseline_of_the_cost_policies_has_no_second_form_where_jobs_find_the_types_they_want() -> None:
    """The reason that its gap gives; where they do not, it has."""
    tiny = replace(sizes_of("gavel.cost")["tiny"], cost_jobs=14)  # on 12 GPUs
    for per_day, alike in ((tiny.cost_per_day, True), (100 * tiny.cost_per_day, False)):
        scenario = cost.jobs_with_deadlines(replace(tiny, cost_per_day=per_day), 0)
        lines = (Line("throughput", "gavel.max_throughput", {"normalised": each}) for each in (False, True))
        one, other = (line.run(scenario).timeline for line in lines)
        assert one.equals(other) == alike


def test_a_rival_takes_the_place_of_the_line_of_its_name() -> None:
    lines = (Line("a", "sia", {"split": True}, "oracle"), Line("b", "las"))
    more, other = Line("a", "sia", {"p": 0.5}), Line("b", "fifo", {"blocking": False})
    found = rivalled(lines, (more, other))
    assert [(line.scheduler, dict(line.knobs), line.belief) for line in found] == [
        ("sia", {"split": True, "p": 0.5}, "oracle"),  # knobs beside the line's own
        ("fifo", {"blocking": False}, None),
    ]
    assert rivalled(lines, ()) == lines
    with pytest.raises(InputError, match=r"rivals.*'c'.*a, b"):
        rivalled(lines, (Line("c", "las"),))


def test_a_gap_adds_up_from_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 3 + a + b + a b, with a and b from 0 to 1, whose paper has 10: each alone 1, last 2, interaction 1 and -1.
    A probe of a at 5 moves ours by 5 and is in no sum."""

    def compute(size: TwoNumbers) -> PaperFigure:
        return PaperFigure("F", "t", (Entry("m", "1", 10.0, 3.0 + size.a + size.b + size.a * size.b, "w.", "s"),))

    of = Causes(size="tiny", measures=("m",), steps={"a": {"a": 1.0}, "b": {"b": 1.0}}, probes={"c": {"a": 5.0}})
    exhibit = only(monkeypatch, Exhibit("x", "says", compute, gap=of))
    found = gap("p.x").set_index("cause")[["from_ours", "from_all"]]
    assert found.loc["a"].tolist() == found.loc["b"].tolist() == [1.0, 2.0]
    assert found.loc["interaction"].tolist() == [1.0, -1.0] and found.loc["unexplained"].tolist() == [4.0, 4.0]
    assert found.loc["with all"].tolist() == [6.0, 6.0]
    assert found.loc["probe, c"].tolist() == pytest.approx([5.0, math.nan], nan_ok=True)
    with pytest.raises(InputError, match=r"p\.x"):
        gap("p.y")
    for sign, value, rest, left in (
        ("<", 10.0, "unexplained", 0.0),  # with all it is 6
        (">", 10.0, "unexplained, more than", 4.0),
        (">", 6.0, "unexplained, more than", 0.0),  # as much is not more
        (">=", 6.0, "unexplained", 0.0),
    ):
        only(monkeypatch, replace(exhibit, claims=(Claim("m", sign, value),)))
        found = gap("p.x").set_index("cause")["from_ours"]
        assert found[rest] == left and found[f"paper, {sign} {value:g}"] == value
    made = [("probe, c", 1.0, 0.5, None), ("a", None, None, None), ("b", 1.0, 0.5, 2.0), ("paper", 2.0, None, 2.0)]
    lines = [
        {"measure": "m", "cause": name, "from_ours": one, "low": low, "high": low and 3 * low, "from_all": other}
        for name, one, low, other in (*made, (rest, 0.0, None, None))
    ]
    shown = {"a": "unknown", "b": "1 (0.5 to 1.5) / 2", "paper": "2", "unexplained": "0 / unknown"}
    assert [*table.parted(lines).iloc[0].items()] == [("measure", "m"), *shown.items(), ("probe, c", "1 (0.5 to 1.5)")]


def test_a_claim_on_a_difference_is_parted_as_its_measures_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of .3 + .1 a and .2 + .2 b, a and b from 0 to 1: with all as much, which is not more, and lost digits are no
    difference. A measure that nothing is claimed of has no aim, and so is not parted."""

    def compute(size: TwoNumbers) -> PaperFigure:
        ours = {"m": 0.3 + 0.1 * size.a, "n": 0.2 + 0.2 * size.b}
        return PaperFigure("F", "t", tuple(Entry(name, "1", None, value, "w.", "s") for name, value in ours.items()))

    fields = {"setting: a": {"a": 1.0}, "setting: b": {"b": 1.0}}
    of = Causes(size="tiny", measures=("m", "n"), steps=fields)
    exhibit = only(monkeypatch, Exhibit("x", "says", compute, (Claim("m", ">", 0, "n"),), gap=of))
    KeptResults(tmp_path / "twice").add_gap("p.x", pd.concat([gap("p.x")] * 2), 1.0, "c")
    with pytest.raises(InputError, match=r"gap\.p\.x\.csv: got 'm, ours'.*once"):
        KeptResults(tmp_path / "twice").gap("p.x")
    KeptResults(tmp_path).add_gap("p.x", gap("p.x"), 1.0, "c")
    found = table._gap("p.x", KeptResults(tmp_path), [
        {"measure": "m - n", "outcome": "open", "low": 0.11, "high": 0.2},
        {"measure": "m", "outcome": "open", "low": None, "high": None},
    ])  # fmt: skip
    assert found is not None and "In 1 of 1 measure it begins outside of the row's own interval" in found["said"]
    assert found is not None and found["not_parted"] == ["m"] and MET.format(0) in found["said"]
    lines = {each["cause"]: each["from_all"] for each in found["lines"] if each["measure"] == "m - n"}
    assert lines == {
        "ours": 0.1,
        "setting: a": 0.1,
        "setting: b": -0.2,
        "interaction": 0.0,
        "with all": 0.0,
        "paper, > 0": 0.0,
        "unexplained, more than": 0.0,
    }
    few = gap("p.x").assign(known=lambda lines: (lines["measure"] == "m").astype(int))
    assert set(causes.as_claimed("p.x", few)["measure"]) == {"m", "n"}  # of other seeds they are not one from another
    for claims, said, left in (  # of what is kept as "paper, > 0.3"
        ((), "paper", math.nan),
        ((Claim("m", "<", 0.35),), "paper, < 0.35", -0.05),
        ((Claim("m", value=0.2),), "paper", -0.2),
    ):
        only(monkeypatch, replace(exhibit, claims=(Claim("m", ">", 0.3),)))
        kept = causes.as_claimed("p.x", gap("p.x"))
        assert set(kept[kept["measure"] == "m"]["cause"]) >= {"paper, > 0.3", "unexplained"}
        only(monkeypatch, replace(exhibit, claims=claims))
        today = causes.as_claimed("p.x", kept).query("measure == 'm'")
        assert today["cause"].iloc[-2] == said and today["from_all"].iloc[-1] == pytest.approx(left, nan_ok=True)


def test_a_gap_is_of_the_seeds_in_which_all_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a times the seed, which is unknown at the last one with a: 0 and 1 are left."""

    def compute(size: TwoNumbers) -> PaperFigure:
        ours = math.nan if size.a and size.seed == 2 else 10.0 * size.seed + size.a * size.seed
        return PaperFigure("F", "t", (Entry("m", "1", 10.0, ours, "w.", "s"),))

    only(monkeypatch, Exhibit("x", "says", compute, gap=Causes(size="tiny", measures=("m",), steps={"a": {"a": 1.0}})))
    found = gap("p.x").set_index("cause")
    assert found.loc[["ours", "a", "with all"], "from_ours"].tolist() == [5.0, 0.5, 5.5]
    assert found.loc["a", ["low", "high"]].tolist() == pytest.approx([0.5 - 6.3531, 0.5 + 6.3531], abs=1e-3)  # paired
    assert set(found["known"]) == {2} and set(found["seeds"]) == {3}
    assert causes.FEWER in causes.caveats("p.x", gap("p.x"))


def test_baselines_that_are_had_in_another_way_are_causes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(size: TwoNumbers) -> PaperFigure:
        return PaperFigure("F", "t", (Entry("m", "1", 10.0, sum(size.rivals), "w.", "s"),))

    fields = {"one": {"rivals": (2.0,)}, "other": {"rivals": (5.0,)}}
    only(monkeypatch, Exhibit("x", "says", compute, gap=Causes(size="tiny", measures=("m",), steps=fields)))
    found = gap("p.x").set_index("cause")["from_ours"]
    assert found[["one", "other", "with all", "interaction"]].tolist() == [2.0, 5.0, 7.0, 0.0]
