"""The rule that turns results into verdicts."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from reproduction import PaperFigure, exhibits, table
from reproduction.exhibits import Claim, Exhibit, findings, judged, verdict
from reproduction.registry import exhibits as known
from reproduction.results import KeptResults
from tests.reproduction.conftest import cells
from workbench.analysis.metrics.confidence import ratio_interval


@pytest.mark.parametrize(
    ("sign", "value", "paper", "unit", "mean", "half", "outcome"),
    [
        ("=", math.nan, 2.0, "1", 2.1, 0.1, "holds"),
        ("=", math.nan, 2.0, "1", 2.1, 0.3, "direction"),  # too wide to be near, above 1 for certain
        ("=", math.nan, 2.0, "1", 11.0, 0.1, "direction"),
        ("=", math.nan, 2.0, "1", 1.11, 0.01, "direction"),
        ("=", math.nan, 2.0, "1", 1.09, 0.01, "fails"),  # more than ten times nearer to 1
        ("=", math.nan, 2.0, "1", 11.1, 0.1, "fails"),  # more than ten times as far from 1
        ("=", math.nan, 2.0, "1", 1.9, 1.0, "open"),
        ("=", math.nan, 2.0, "1", 0.9, 0.2, "fails"),
        ("=", math.nan, 1.2, "1", 1.14, 0.01, "holds"),
        ("=", math.nan, 1.2, "1", 1.12, 0.01, "direction"),  # within a tenth, but little more than half of the lead
        ("=", math.nan, 1.05, "1", 0.97, 0.01, "fails"),  # within a tenth, and behind
        ("=", math.nan, 0.8, "1", 0.86, 0.01, "holds"),
        ("=", math.nan, 0.8, "1", 0.88, 0.01, "direction"),
        ("=", math.nan, 2.0, "h", 4.0, 0.1, "fails"),  # hours have no side
        ("=", math.nan, 0.0, "%", 0.9, 0.0, "holds"),
        ("=", math.nan, 1.59, "%", 2.52, 0.0, "fails"),  # a point is near 0 only
        (">", 1.0, math.nan, "1", 1.5, 0.4, "holds"),
        (">", 1.0, math.nan, "1", 1.5, 0.6, "open"),
        ("<=", 1.0, math.nan, "1", 1.5, 0.4, "fails"),
        (">", 1.0, math.nan, "1", 1.5, math.nan, "open"),  # one seed
    ],
)
def test_a_claim_is_judged_by_the_rule(
    sign: str, value: float, paper: float, unit: str, mean: float, half: float, outcome: str
) -> None:
    assert judged(Claim("m", sign, value), paper, unit, mean, mean - half, mean + half, unit == "1") == outcome


def test_the_interval_of_a_ratio_has_no_end_below_0_that_of_others_has() -> None:
    both = {"a / b": [0.1, 0.1, 6.0], "a less b": [0.1, 0.1, 6.0]}
    exhibit = Exhibit("x", "says", lambda size: PaperFigure("F", "t", ()), (Claim("a *", ">", 1),))
    ratio, other = findings(exhibit, cells(both))
    assert other.low < 0 < ratio.low < ratio.ours < other.ours < other.high < ratio.high
    assert ratio.low * ratio.high == pytest.approx(ratio.ours**2) and ratio.ours == pytest.approx(0.06 ** (1 / 3))
    taken = replace(exhibit, claims=(Claim("a / b", ">", 0, "one"),))
    (less,) = findings(taken, cells({"a / b": [1.1, 1.1, 7.0], "one": [1.0, 1.0, 1.0]}))
    assert less[4:7] == pytest.approx(other[4:7])  # a difference of ratios is none
    near = [each._replace(measure="m") for each in findings(exhibit, cells({"a / b": [1.0, 1.01], "a b": [1.0, 1.01]}))]
    assert near[0].low == pytest.approx(near[1].low, rel=1e-2) and near[0].high == pytest.approx(near[1].high, rel=1e-2)


def test_a_claim_on_a_curve_is_of_the_point_that_the_means_over_seeds_choose() -> None:
    """Of those that are known and steady in every seed; the end of its interval towards the others holds for all."""
    up_to = Claim("a / b, * jobs/h", value=3, point="most", steady="open, b, * jobs/h")
    exhibit = Exhibit(
        "x", "says", lambda size: PaperFigure("F", "t", ()), (Claim("a / b, * jobs/h", ">", 1, point="least"), up_to)
    )
    curve = {1: [1.4, 1.6, 1.5], 2: [1.2, 1.9, 2.0], 3: [8.0, 1.0, 1.2], 4: [9.0, 9.0, math.nan]}
    kept = cells({f"a / b, {rate} jobs/h": of for rate, of in curve.items()} |
                 {f"open, b, {rate} jobs/h": [0.0, 0.0, 2.0 * (rate == 3)] for rate in curve})  # fmt: skip
    least, most = findings(exhibit, kept)
    level = 1 - 0.05 / 2  # of two points
    assert (most.measure, most.claim, most.seeds) == ("a / b, most", "= 3", 3)
    ends = {at: (ratio_interval(curve[at], level), ratio_interval(curve[at])) for at in (1, 2)}
    low, high = (max(ends[at][of][1 + of] for at in ends) for of in (0, 1))
    assert most[4:7] == pytest.approx((4.56 ** (1 / 3), low, high))
    assert (least.measure, least.claim, least.ours) == ("a / b, least", "> 1", pytest.approx(3.36 ** (1 / 3)))
    assert least.low == min(ratio_interval(curve[at])[1] for at in (1, 2, 3))
    (last,) = findings(replace(exhibit, claims=(up_to._replace(last=True),)), kept)
    assert last[4:7] == pytest.approx(ratio_interval(curve[2]))
    assert findings(exhibit, kept[~kept["measure"].str.startswith("a")])[1].outcome == "open"


def test_only_what_compares_two_has_a_direction() -> None:
    """A share of jobs is below 1 whatever is found, and a largest ratio of a job above it."""
    exhibit = Exhibit("x", "says", lambda size: PaperFigure("F", "t", ()))
    kept = cells({"a / b": [0.2, 0.21, 0.22], "a over b": [0.2, 0.21, 0.22], "a": [0.2, 0.21, 0.22]}).assign(paper=0.8)
    for ratios, outcomes in (("* / *", "direction fails fails"), ("* over *", "fails direction fails")):
        found = findings(replace(exhibit, ratios=ratios), kept)
        assert [each.outcome for each in found] == outcomes.split()  # the exhibit says it, not its measures' names
        (ratio,) = (each for each in found if each.outcome == "direction")
        assert ratio.low * ratio.high == pytest.approx(ratio.ours**2)  # and its mean is a geometric one
    alike = findings(exhibit, cells({"a": [23.1222] * 3}).assign(paper=30.0))[0]
    assert alike.low == alike.ours == alike.high  # by no digit of a mean


def test_what_a_paper_says_does_not_change_must_neither_grow_nor_shrink() -> None:
    kept = cells({"a / b": [0.95, 0.951], "c / b": [0.8, 0.801], "d / b": [1.2, 1.201]})
    exhibit = Exhibit("x", "says", lambda size: PaperFigure("F", "t", ()), (Claim("*", value=1, word="as long"),))
    found = findings(exhibit, kept)
    assert {each.claim for each in found} == {'= 1 (ours: "as long")'}
    assert [each.outcome for each in found] == ["holds", "fails", "fails"]
    assert all(math.isnan(each.paper) for each in found)  # it prints none


def test_a_trend_is_told_by_the_interval_of_the_difference() -> None:
    def at(size: str, ours: float, half: float, seeds: int = 3) -> dict[str, object]:
        claim = {"measure": "m", "ours": ours, "low": ours - half, "high": ours + half, "seeds": seeds}
        return {"size": size, "claims": [claim]}

    authors = at("authors", 1.0, 0.03)
    for ours, half, seeds, trend in (
        (1.05, 0.03, 3, "holds"),
        (1.2, 0.1, 3, "grows"),
        (0.8, 0.1, 3, "shrinks"),
        (1.2, 0.25, 3, "open"),
        (1.2, 0.0, 1, "open"),
    ):
        kept = [at("small", 9.0, 0.0), authors, at("authors_thrice", 9.0, 0.0), at("authors_whole", ours, half, seeds)]
        assert table.trends(kept) == [
            {"measure": "m", "from": "authors", "to": size, "trend": to}
            for size, to in (("authors_thrice", "grows"), ("authors_whole", trend))
        ]


def test_a_verdict_follows_from_the_claims_seed_by_seed() -> None:
    above, below = Claim("a", ">", 1), Claim("a", ">", 0, "b")
    exhibit = Exhibit("x", "says", lambda size: PaperFigure("F", "t", ()), (above, below))
    kept = cells({"a": [2.0, 4.0, 6.0], "b": [1.0, 3.0, 5.0]})
    assert [each.outcome for each in findings(exhibit, kept)] == ["open", "holds"]  # both: they name the same
    paired = Exhibit("x", "says", exhibit.compute, (below,))
    found = findings(paired, kept)
    assert (found[0].measure, found[0].ours, found[0].low, found[0].high) == ("a - b", 1.0, 1.0, 1.0)
    never = kept.assign(ours=kept["ours"].where(kept["measure"] == "a", kept["ours"] + 1))  # apart in no seed
    as_much = replace(paired, claims=(below._replace(sign=">="),))
    assert [findings(each, never)[0].outcome for each in (paired, as_much)] == ["open", "holds"]
    assert verdict(paired, found) == "reproduced"
    several = Exhibit("x", "says", exhibit.compute, (Claim("a", ">", 0, {"b": 2.0, "c": -1.0}),))
    twice = findings(several, cells({"a": [2.0, 4.0, 6.0], "b": [1.0, 3.0, 5.0], "c": [0.0, 1.0, 2.0]}))[0]
    assert (twice.measure, twice.ours, twice.outcome) == ("a - 2 x b + c", -1.0, "open")
    starred = replace(exhibit, claims=(Claim("* of a", "<", 0, "* of b"),), spans=2)
    of = cells({"x of a": [1.0, 5.0, 3.0], "x of b": [2.0, 6.0, 5.0], "y of b": [0.0, 0.0, 0.0]})
    assert [findings(starred, of.assign(size=size))[0][0::4][:2] for size in ("full", "authors")] == [
        ("x of a - x of b", pytest.approx(-4 / 3)),  # over seeds
        ("x of a - x of b", pytest.approx(-1.25)),  # over spans, of which the first has two seeds
    ]
    assert findings(starred, of.assign(size="authors"))[0].seeds == 2
    gone = findings(replace(paired, claims=(below, Claim("d", "<", 2, word="few"))), kept)[1]
    assert (gone.measure, gone.claim, gone.outcome, gone.seeds) == ("d", '< 2 (ours: "few")', "open", 0)
    for claim, said in (
        (Claim("d", "<", 0, "a"), ("d - a", "< 0")),
        (Claim("* of d", less={"* of e": -2.0}), ("* of d + 2 x * of e", "= the paper's")),
        (Claim("a", "<", 0, "d"), ("a - d", "< 0")),  # what it takes off is not kept
    ):
        (gone,) = findings(replace(paired, claims=(claim,)), kept)
        assert (gone.measure, gone.claim, gone.outcome, gone.seeds) == (*said, "open", 0)
    assert verdict(paired, [found[0]._replace(outcome="fails")]) == "contradicted"
    assert verdict(paired, [*found, found[0]._replace(outcome="fails")]) == "partly"
    opened, failed = (found[0]._replace(outcome=outcome) for outcome in ("open", "fails"))
    assert verdict(paired, [*found, opened]) == verdict(paired, [failed._replace(outcome="direction")]) == "partly"
    assert verdict(paired, [opened]) == "undecided" and verdict(paired, [opened, failed]) == "contradicted"
    assert verdict(paired, []) == "not run" and verdict(Exhibit("y", "says"), []) == "not computable here"


def test_what_is_unknown_in_a_seed_leaves_a_claim_open_but_where_there_is_no_such_job() -> None:
    """That a line that never ends is behind by no number is no reason to go by the other seeds."""
    kept = cells({"a": [2.0, 2.1, 2.2, math.nan], "b": [1.0, 1.0, 1.0, 1.0]})
    outcomes = []
    for claim in (Claim("a", ">", 1), Claim("a", "<", 1), Claim("a", ">", 0, "b"), Claim("a", ">", 1, absent=True)):
        (found,) = findings(Exhibit("x", "says", lambda size: PaperFigure("F", "t", ()), (claim,)), kept)
        assert found.seeds == 3 and found.ours == pytest.approx(1.1 if claim.less else 2.1)
        outcomes.append(found.outcome)
    assert outcomes == ["open", "open", "open", "holds"]
    for missing in (kept[kept["ours"].notna()], kept.query("measure == 'b' or seed > 0")):  # no line at all
        (found,) = findings(
            Exhibit("x", "says", lambda size: PaperFigure("F", "t", ()), (Claim("a", ">", 1),)), missing
        )
        assert found.outcome == "open"
    absent = {name: [each.measure for each in exhibit.claims if each.absent] for name, exhibit in known().items()}
    for name in filter(absent.get, absent):
        # of ten jobs none may be
        assert all(measure.startswith("JCT of best effort, ") for measure in absent[name]), name
        of = KeptResults().read(name).query("measure.str.startswith('JCT of best effort, ')")
        points = of.assign(point=of["measure"].str.rpartition(", ")[0], unknown=of["ours"].isna())
        assert (points.groupby(["size", "seed", "point"])["unknown"].nunique() == 1).all(), name  # whoever schedules


def test_a_difference_stands_beside_the_difference_of_the_papers_numbers() -> None:
    kept = cells({"a": [3.0, 3.1, 3.2], "b": [1.0, 1.0, 1.1], "c": [1.0, 1.0, 1.1]})
    kept["paper"] = kept["measure"].map({"a": 5.0, "b": 2.0})
    for other, times, paper in (("b", 1.0, 3.0), ("b", 2.0, 1.0), ("c", 1.0, math.nan), ("d", 1.0, math.nan)):
        claim = Claim("a", ">", 0, {other: times})
        (found,) = findings(Exhibit("x", "says", lambda size: PaperFigure("F", "t", ()), (claim,)), kept)
        assert found.paper == pytest.approx(paper, nan_ok=True)


def test_what_is_sure_of_several_claims_is_less_than_of_each_alone() -> None:
    """Each of the intervals leaves 0 out; with all three corrected for (Holm) the first alone is sure."""
    half = pd.Series([0.4, 0.9, 0.95])
    claims = pd.DataFrame({"ours": 1.0, "low": 1 - half, "high": 1 + half, "seeds": 10})
    assert [len(table.surely(claims.loc[[row]])) for row in claims.index] == [1, 1, 1]
    assert table.surely(claims).index.tolist() == [0]


def test_the_rule_is_told_where_it_stands() -> None:
    assert all(word in str(exhibits.__doc__) for word in ("holds", "direction", "open", "fails", "Nobody types"))
