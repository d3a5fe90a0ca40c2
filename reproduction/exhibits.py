"""What a paper shows, and whether it holds here: exhibits, their claims, and the rule that turns results into verdicts.

The rule, for the mean of a measure over seeds and its 95 % interval (Student's, of ratios above 0 those of their
logarithms: a geometric mean; of a deterministic one the number itself; over spans of a trace, each the mean of its
draws, where seeds are draws of a few), against a number p that the paper prints: near is what lies within `NEAR` of p
and, of a ratio of two things (`Exhibit.ratios`), is at most `ALIKE` times as far from 1 as p, on the same side, and at
least an `ALIKE`-th. It *holds* where the mean is near and no end of the interval further from it than `NEAR` of p; else
a ratio has the *direction* where the whole interval lies on the paper's side of 1 and the mean is at most `FAR` times
as far from it as p, and at least a `FAR`-th; else it is *open* where the interval has what is near; else it *fails*.
A claim without a number, as `> 1`, holds, fails or is open as the whole interval has it, none of it, or a part, and is
open where two things that it has apart are the same in every seed; so is *significantly* read where no number stands.
What a paper says of a curve (`up to p times`) is judged on one point, chosen by the means over seeds, never seed by
seed.

What is unknown in a seed is not left out, as that would keep the seeds that went well: the claim is *open*, whatever
the others say. Jobs that are unfinished at the end count until then. Left out is a seed whose workload has no job that
the measure is of (`Claim.absent`), on which no scheduler has a say.

Of an exhibit, which says all of its claims: *reproduced* where every claim holds; of the others *partly* where some
claim holds or has the direction; *contradicted* where none does and some claim fails; *undecided* where all are open,
their intervals too wide to tell. Nobody types a verdict. *contradicted* is said of what was computed, in the
setting that the row names with its scale: of no row but the counterexamples is that the paper's own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

import pandas as pd

from reproduction.figure import PaperFigure
from workbench.analysis.metrics.confidence import LEVEL, mean_interval, ratio_interval
from workbench.base.arrays import IntArray

NEAR = 0.1
"""ours: share of the paper's number; one point of 0 %."""
ALIKE = 1.5
"""ours: a ratio that is nearer to 1 or further away than by so many times is another lead than the paper's."""
FAR = 10.0
"""ours: beyond so many times as far from 1 as the paper's number, or nearer, a ratio is not what that says."""
POINTS = ("%", "points")
RUNS = 5
"""ours: of what is seconds of a machine; its claims are judged by their 95 % interval."""
MACHINES = 4.0
"""ours: so many times longer or shorter may seconds, or a ratio of them, be on another machine or beside other work."""
AUTHORS = "authors"
"""How the name of a size with the authors' data begins."""
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

_Outcome = Literal["holds", "direction", "open", "fails"]
_Verdict = Literal["reproduced", "partly", "contradicted", "undecided", "not computable here", "not run"]


class Claim(NamedTuple):
    """What a paper says of a measure. measure: its name, `*` for any text; sign `=`: the number that the paper prints
    beside it, or `value` where it says it in words, otherwise one of `OPERATORS` with `value`; less: another measure to
    take off first, seed by seed, or how many times which, `*` being what it is in the measure; absent: it is of jobs of
    a kind that a workload may have none of; word: the paper's, where it has no number and `value` is ours; point: of a
    curve, whose points `*` are of, what is said in place of `*` and behind it of the one that is judged: the largest
    mean over seeds, with `>` the least, or the last in the figure's order (last); steady: a measure that is 0 in every
    seed where a point counts."""

    measure: str
    sign: str = "="
    value: float = math.nan
    less: str | Mapping[str, float] = ""
    absent: bool = False
    word: str = ""
    point: str = ""
    last: bool = False
    steady: str = ""

    def filled(self, other: str, measure: str) -> str:
        """Another measure's name, `*` being what it is in one that the claim is about."""
        begin, _, end = self.measure.partition("*")
        return other.replace("*", measure[len(begin) : len(measure) - len(end)])

    def taken(self, measure: str) -> Mapping[str, float]:
        """`less` by measure, of one that the claim is about."""
        less = {self.less: 1.0} if isinstance(self.less, str) else self.less
        return {self.filled(other, measure): times for other, times in less.items() if other}

    def told(self, measure: str) -> str:
        """A measure that it is about, with what is taken off."""
        if self.point:
            return self.measure.partition("*")[0] + self.point
        less = (
            f" {'-' if times > 0 else '+'} {'' if abs(times) == 1 else f'{abs(times):g} x '}{other}"
            for other, times in self.taken(measure).items()
        )
        return measure + "".join(less)

    def aim(self, paper: float) -> float:
        """What it is held against: the number that the paper prints, or its own."""
        return self.value if math.isnan(paper) else paper

    def text(self, paper: float) -> str:
        """As read in the table."""
        if self.sign != "=":
            return f"{self.sign} {self.value:g}"
        return "= the paper's" if math.isnan(paper) else f"= {paper:.4g}"

    @property
    def ours(self) -> str:
        """What is said beside it where its number is ours."""
        return f' (ours: "{self.word}")' if self.word else ""


NOBODY = "no scheduler is asked"
SEARCHED = "the smallest instance that breaks it, found by search"
PRINTED = (Claim("*"),)
"""Every number that the paper prints."""

Fields = Mapping[str, Mapping[str, Any]]
"""By cause the fields of a size that it changes; a cause's name begins with one of `KINDS`."""
KINDS = ("setting", "data", "belief", "baseline", "mechanism", "scale")
PROBE = "probe, "
"""With it begins the name of a probe in a gap's lines."""
ITSELF = "It compares a scheduler with itself: no baseline"
SECONDS = "Seconds of one machine and one solver: neither is varied"
COUNTEREXAMPLE = "A counterexample: the statement is false as printed, and no number is left to explain"
VARIED = "Its own measures vary one thing at a time: "


@dataclass(frozen=True, kw_only=True)
class Causes:
    """What `reproduction.gap` parts a row's difference from the paper into.

    size: where it begins, with `base` changed in it; measures: names as in `Claim`; steps: to how the paper, or its
    authors' program, has it; probes: the others; draws: seeds that are computed one by one, as a row's are, the mean
    over which is a gap's; unvaried: why no baseline is varied, or what else is not.
    """

    size: str
    measures: tuple[str, ...]
    steps: Fields = field(default_factory=dict)
    probes: Fields = field(default_factory=dict)
    base: Mapping[str, Any] = field(default_factory=dict)
    draws: int = 3
    unvaried: str = ""

    @property
    def fields(self) -> Fields:
        """Of every cause, by the name that its lines have, probes first."""
        return {**{f"{PROBE}{name}": fields for name, fields in self.probes.items()}, **self.steps}


@dataclass(frozen=True)
class Exhibit:
    """A figure, a table or a number of a paper.

    name: short, as `fig8`; says: the paper's claim; compute: from a size to what we get, None where that is `reason`;
    claims: what decides; seeded: whether another seed is another workload, or else the numbers are what they are;
    timed: a pattern of the measures that are seconds of the machine it runs on, which `RUNS` runs tell: the
    interval of a row is their `spread`; sizes: those that it is computed at, by default all of its paper; scale:
    of a size, against the paper's; belief: what schedulers are told of speeds, by default what its paper's BELIEF
    says; shares: another exhibit of the paper that is measured on the same runs; spans: of seeds on the authors' data
    one after the other are of so many spans of it, which begin again then, 0: each is a draw of its own; beside:
    how sizes are named that decide nothing, as they are of another workload of the paper's or measure other jobs;
    unvaried: what is not as the paper has it and neither its gap nor another row varies, so that it may be a reason;
    gap: what its difference from the paper is parted into; no_gap: why there is nothing to part; ratios: a pattern of
    the measures that are one thing over another, without a unit.
    """

    name: str
    says: str
    compute: Callable[[Any], PaperFigure] | None = None
    claims: tuple[Claim, ...] = PRINTED
    seeded: bool = True
    timed: str = ""
    reason: str = ""
    sizes: tuple[str, ...] | None = None
    scale: Callable[[Any], str] = lambda size: ""
    belief: str = ""
    shares: str = ""
    spans: int = 0
    beside: str = ""
    unvaried: tuple[str, ...] = ()
    gap: Causes | None = None
    no_gap: str = ""
    ratios: str = "* / *"

    def has(self, size: str) -> bool:
        """Whether it is computed at a size of that name."""
        return self.compute is not None and (self.sizes is None or size in self.sizes)

    def told(self, seeds: int) -> int | str:
        """What a table says of the seeds of a result."""
        return seeds if self.seeded and self.compute else f"{seeds} runs" if self.timed else "deterministic"

    def spans_at(self, size: str) -> int:
        """Of how many spans of the authors' trace its seeds are draws at a size, 0: of none."""
        return self.spans if size.startswith(AUTHORS) else 0

    def is_timed(self, measure: str) -> bool:
        """Whether a measure is seconds of the machine it runs on."""
        return fnmatchcase(measure, self.timed)

    def is_ratio(self, measure: str) -> bool:
        """Whether a measure is one thing over another: above 0, and on either side of 1."""
        return fnmatchcase(measure, self.ratios)


class Finding(NamedTuple):
    """A claim and what was found: mean and interval over the seeds, or spans, in which the measure is known (seeds).

    paper: the number that it prints, NaN where it has none.
    """

    measure: str
    unit: str
    claim: str
    paper: float
    ours: float
    low: float
    high: float
    seeds: int
    outcome: _Outcome


def claim_of(claims: Sequence[Claim], measure: str) -> Claim | None:
    """The first that is about a measure by itself."""
    return next((each for each in claims if not each.point and fnmatchcase(measure, each.measure)), None)


def findings(exhibit: Exhibit, cells: pd.DataFrame) -> list[Finding]:
    """Every claim of an exhibit, judged; cells: size, seed, measure, unit, paper, ours of one size.

    Of a measure are its first claim and those with the same `Claim.measure`, as what is taken off may differ.
    One on no measure that is among them is open, of no seed, but where a workload may have no such jobs; one that takes
    off a measure that is not is open, too.
    """
    known = {str(measure): rows for measure, rows in cells.groupby("measure", sort=False)}
    found = [
        _on_measure(exhibit, claim, measure, known, cells["seed"].unique())
        for measure, first in ((measure, claim_of(exhibit.claims, measure)) for measure in known)
        for claim in exhibit.claims
        if first and claim.measure == first.measure and not claim.point
    ]
    for claim in exhibit.claims if known else ():
        if claim.point:
            found.append(_on_curve(claim, known))
        elif not claim.absent and not any(fnmatchcase(measure, claim.measure) for measure in known):
            found.append(_unmeasured(claim))
    return [each for each in found if each is not None]


def _on_measure(
    exhibit: Exhibit, claim: Claim, measure: str, known: Mapping[str, pd.DataFrame], seeds: IntArray
) -> Finding | None:
    """None where the paper has no number for it; a seed without the measure is one in which it is unknown."""
    rows = known[measure]
    paper, unit, size = (rows[column].iloc[0] for column in ("paper", "unit", "size"))
    aim = claim.aim(paper)
    if claim.sign == "=" and math.isnan(aim):
        return None
    made = rows.set_index("seed")["ours"].reindex(seeds)
    for other, times in claim.taken(measure).items():
        made = made - times * (known[other].set_index("seed")["ours"] if other in known else math.nan)
        paper = paper - times * (known[other]["paper"].iloc[0] if other in known else math.nan)
    unknown, ratio = bool(made.isna().any()) and not claim.absent, exhibit.is_ratio(measure)
    mean, low, high, count = over_seeds(exhibit, made, size, ratio and not claim.less)
    outcome = "open" if unknown else judged(claim, aim, unit, mean, low, high, ratio)
    return Finding(claim.told(measure), unit, claim.text(aim) + claim.ours, paper, mean, low, high, count, outcome)


def over_seeds(exhibit: Exhibit, made: pd.Series[float], size: str, ratio: bool) -> tuple[float, float, float, int]:
    """Of a measure by seed its mean and interval, and over how many seeds, or spans, in which it is known."""
    if spans := exhibit.spans_at(size):
        made = made.groupby(made.index % spans).mean()
    ours = made.dropna().tolist()
    exact = len(set(ours)) == 1 and (len(ours) > 1 or not exhibit.seeded)
    return *((ours[0],) * 3 if exact else _interval(ours, ratio)), len(ours)


def _on_curve(claim: Claim, known: Mapping[str, pd.DataFrame]) -> Finding:
    """Of ratios."""
    points = _points(claim, known)
    if not points:
        return _unmeasured(claim)
    paper, seeds = float(points[0]["paper"].iloc[0]), points[0]["seed"].nunique()
    aim = claim.aim(paper)
    mean, low, high = _extreme(claim, [rows["ours"].tolist() for rows in points])
    outcome = judged(claim, aim, "1", mean, low, high, ratio=True)
    return Finding(claim.told(""), "1", claim.text(aim) + claim.ours, paper, mean, low, high, seeds, outcome)


def _unmeasured(claim: Claim) -> Finding:
    said = claim.text(claim.value) + claim.ours
    return Finding(claim.told(claim.measure), "", said, math.nan, math.nan, math.nan, math.nan, 0, "open")


def _interval(ours: Sequence[float], ratio: bool) -> tuple[float, float, float]:
    """Their mean, and from where to where it is expected; NaN of none."""
    if ratio:
        return ratio_interval(ours)
    mean, half = mean_interval(ours)
    return mean, mean - half, mean + half


def _points(claim: Claim, known: Mapping[str, pd.DataFrame]) -> list[pd.DataFrame]:
    """Of a claim on a curve the points that count: known in every seed, and steady."""
    of = {measure: rows for measure, rows in known.items() if fnmatchcase(measure, claim.measure)}
    zero = {measure for measure, rows in known.items() if (rows["ours"] == 0).all()}
    steady = [rows for measure, rows in of.items() if not claim.steady or claim.filled(claim.steady, measure) in zero]
    known_all = [rows for rows in steady if rows["ours"].notna().all()]
    return known_all[-1:] if claim.last else known_all


def _extreme(claim: Claim, points: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """The largest (with `>` the least) of the means of ratios over seeds, and its interval: from the largest (least)
    lower to the largest (least) upper end of the points' own. The end that lies towards the others, which any of them
    may pass by chance, is of intervals that hold for all of them together (Bonferroni); the outer one needs none."""
    own, joint = ([ratio_interval(each, 1 - (1 - LEVEL) / count) for each in points] for count in (1, len(points)))
    if claim.sign == ">":
        return min(each[0] for each in own), min(each[1] for each in own), min(each[2] for each in joint)
    return max(each[0] for each in own), max(each[1] for each in joint), max(each[2] for each in own)


def spread(runs: Sequence[float]) -> tuple[float, float]:
    """From where to where seconds, ratios or differences of them are expected elsewhere, by the runs here; an order of
    magnitude away from them is outside."""
    ends = [end for each in runs for end in (each / MACHINES, each * MACHINES)]
    return min(ends, default=math.nan), max(ends, default=math.nan)


def judged(claim: Claim, paper: float, unit: str, mean: float, low: float, high: float, ratio: bool) -> _Outcome:
    """By the rule above; what is known of one seed only, or of none, is open."""
    if math.isnan(mean) or math.isnan(high - low):
        return "open"
    ends = (low, high)
    if claim.sign != "=":
        kept = [OPERATORS[claim.sign](end, claim.value) for end in ends]
        if claim.less and not any(kept) and low == high == claim.value == 0:
            return "open"  # the two are never apart
        return "holds" if all(kept) else "open" if any(kept) else "fails"
    least, most = near(paper, unit, ratio)
    if least <= mean <= most and max(mean - low, high - mean) <= _off(paper, unit):
        return "holds"
    lead = (mean - 1) / (paper - 1) if ratio and paper != 1 else 0.0
    if 1 / FAR <= lead <= FAR and all((end - 1) * (paper - 1) > 0 for end in ends):
        return "direction"
    return "open" if low <= most and least <= high else "fails"


def near(paper: float, unit: str, ratio: bool) -> tuple[float, float]:
    """From where to where a number is near one of the paper's, by the rule above."""
    least, most = paper - _off(paper, unit), paper + _off(paper, unit)
    if not ratio or paper == 1:
        return least, most
    nearer, further = sorted(1 + (paper - 1) * times for times in (1 / ALIKE, ALIKE))
    return max(least, nearer), min(most, further)


def _off(paper: float, unit: str) -> float:
    """How far from one of the paper's numbers `NEAR` of it is."""
    return NEAR * abs(paper) or (1.0 if unit in POINTS else 0.0)


def verdict(exhibit: Exhibit, found: Sequence[Finding]) -> _Verdict:
    """Of an exhibit, by the rule above."""
    if exhibit.compute is None:
        return "not computable here"
    outcomes = {each.outcome for each in found}
    if not outcomes:
        return "not run"
    if outcomes == {"holds"}:
        return "reproduced"
    if outcomes & {"holds", "direction"}:
        return "partly"
    return "contradicted" if "fails" in outcomes else "undecided"
