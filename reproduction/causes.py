"""Whose fault it is: where a measure of ours differs from the paper's, how much each cause moves it.

A cause changes fields of a size. A step goes from how we have it to how the paper, or its authors' program, has it, as
far as that can be had. Each is changed alone at both ends: taken in first (from ours) and left out last (from all of
them). Where steps do not interact the two agree and add up; what they do not add up to is the interaction, and what is
left to the paper's number with all of them is unexplained. Of a claim such as `> 1` nothing is left where it holds. A
probe changes what the paper does not say, or has as we do, so as to tell how much moves a measure: it is taken in
alone, and in no sum.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from reproduction.exhibits import OPERATORS, PROBE, Causes, Claim, Exhibit, claim_of, near
from reproduction.registry import exhibits, sizes_of
from reproduction.runner import ROUNDED, at_seed
from workbench.analysis.metrics.confidence import mean_interval
from workbench.base.arrays import BoolArray, FloatArray
from workbench.base.errors import InputError, counted, one_of

COLUMNS = ("measure", "cause", "from_ours", "low", "high", "from_all")
"""low, high: the 95 % interval of from_ours over seeds, each seed against itself; NaN of one seed."""
ENDS = ["from_ours", "from_all"]
UNEXPLAINED = "unexplained"
ONE_SEED = "One seed: of what is smaller than seeds differ by, nothing is known"
ROUNDING = 1e-9
"""Share of two numbers below which their difference is none."""
DIGITS = 12
"""Behind the point, of differences of kept numbers: of equal ones nothing is left."""
WITH_ALL = -3
"""Of the lines of a measure; behind it are the paper's and what is unexplained."""

JOINED = ("rivals", "stronger")
"""Fields of which each cause has a part: baselines that are had in another way (lines; schemes of Hare by name)."""
SUMS = ("ours", "interaction", "with all")
NO_STEP = "No step to how the paper has it is taken here: all of the difference is unexplained"
PROBES = "A probe is no step to how the paper has it: taken in alone, in no sum, it tells how much moves a measure"
NO_INTERVAL = "Its intervals over seeds are not computed: what is chance is not known"
OTHER = "Of another declaration than today's: compute it anew in another folder (--out)"
FEWER = "Of some measures it is of the seeds in which every line finishes with each of the causes"
UNKNOWN = "What is missing is unknown: a line never finishes a measured job at that load, or none is of the kind"


def gaps() -> Mapping[str, Causes]:
    """What is parted, by the full names of exhibits."""
    return {name: each.gap for name, each in exhibits().items() if each.gap}


def declared(of: Causes) -> str:
    """Digest of what a gap is of and what it varies, as JSON: how and in which order that is written makes no other,
    nor do its seeds, which a gap tells itself."""
    told = (of.size, dict(of.base), sorted(of.measures), dict(of.fields))
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=vars).encode()).hexdigest()[:10]


def caveats(name: str, found: pd.DataFrame, claims: Sequence[Mapping[str, Any]] = ()) -> str:
    """Of a gap what is to be said beside its numbers: that it varied another thing, where it begins beside the row's
    number (claims: of the row, as `Finding`), what is no step, what is not told from chance, what is not varied, why
    some are missing, how many measures are the paper's with all causes, and which these move away from it."""
    of, causes = gaps()[name], found[~found["cause"].str.contains(f"^paper|^{UNEXPLAINED}")]
    probe = causes["cause"].str.startswith(PROBE)
    missing = bool(causes["from_ours"].isna().any() or causes[~probe]["from_all"].isna().any())
    steps = set(causes[~probe]["cause"]) - set(SUMS)
    told = (
        OTHER if found["declared"].iloc[0] != declared(of) else "",
        _outside(found, claims),
        "" if steps else NO_STEP,
        PROBES if probe.any() else "",
        _by_chance(causes[~causes["cause"].isin(SUMS)]) if exhibits()[name].seeded else "",
        of.unvaried,
        UNKNOWN if missing else "",
        FEWER if (found["known"].between(1, found["seeds"] - 1)).any() else "",
        ONE_SEED if isinstance(seeds_of(name, found), int) and (found["known"] == 1).any() else "",
        _met(exhibits()[name], found),
        _away(found),
    )
    return ". ".join(filter(None, told))


def _outside(found: pd.DataFrame, claims: Sequence[Mapping[str, Any]]) -> str:
    """In how many measures, and which, it begins outside of the row's own interval."""
    ours = found[found["cause"] == "ours"].set_index("measure")["from_ours"]
    ends = {each["measure"]: (each["low"], each["high"]) for each in claims if None not in (each["low"], each["high"])}
    both = {measure: (ours[measure], *ends[measure]) for measure in ours.dropna().index if measure in ends}
    out = [name for name, (at, low, high) in both.items() if not np.isclose(np.clip(at, low, high), at, ROUNDED, 0.0)]
    many = f"In {len(out)} of {counted(len(both), 'measure')} it begins outside of the row's own interval"
    return f"{many} and is not of that number: {', '.join(out)}" if out else ""


def _by_chance(causes: pd.DataFrame) -> str:
    """Which causes, in how many measures each, are of an interval that holds 0; that none is kept."""
    if causes["low"].isna().all() and (causes["known"] > 1).any():
        return NO_INTERVAL
    of = ((causes["low"] < 0) & (causes["high"] > 0)).groupby(causes["cause"], sort=False).agg(["sum", "size"])
    told = [f"{cause} ({held} of {size})" for cause, held, size in of.itertuples() if held]
    return f"Not told from chance, as the interval over seeds holds 0: {'; '.join(told)}" if told else ""


def _met(exhibit: Exhibit, found: pd.DataFrame) -> str:
    """How many measures are with all causes as the paper says: nothing is left of a claim, or the number is near."""
    aims, left = (found[found["cause"].str.startswith(begin)] for begin in ("paper", UNEXPLAINED))
    rests = left.set_index("measure")["from_all"].to_dict()
    strict = set(left[left["cause"] != UNEXPLAINED]["measure"])  # as much is not more
    met = known = unknown = 0
    for measure, said, aim in zip(aims["measure"], aims["cause"], aims["from_all"], strict=True):
        rest = rests.get(measure, math.nan)
        known, unknown = known + (not math.isnan(aim - rest)), unknown + (math.isnan(rest) and not math.isnan(aim))
        least, most = near(aim, "", exhibit.is_ratio(measure))
        met += least <= aim - rest <= most if said == "paper" else rest == 0 and measure not in strict
    text = f"As the paper says with all causes: {met} of {counted(known, 'measure')}" if known else ""
    return f"{text}{', ' if text else 'With all causes '}{unknown} unknown" if unknown else text


def _away(found: pd.DataFrame) -> str:
    """Which measures end further from what the paper says, with all causes, than they begin."""
    further, known = [], 0
    for measure, of in found.groupby("measure", sort=False):
        at = of.set_index("cause")["from_ours"]
        said = next(cause for cause in of["cause"] if cause.startswith("paper"))
        sign, _, _ = said.removeprefix("paper").removeprefix(", ").partition(" ")
        ends = [at["ours"], at["with all"]]
        first, last = (0.0 if sign and OPERATORS[sign](end, at[said]) else abs(at[said] - end) for end in ends)
        known += not math.isnan(first - last)
        further += [str(measure)] if last > first and not math.isclose(last, first, rel_tol=ROUNDING) else []
    if not further:
        return ""
    return f"All causes together move {len(further)} of {known} measures away from the paper: {', '.join(further)}"


def seeds_of(name: str, found: pd.DataFrame) -> int | str:
    """How many seeds each number of a gap is the mean of, or why it is of none."""
    return "deterministic" if gaps()[name].draws == 1 else exhibits()[name].told(int(found["seeds"].iloc[0]))


def gap(name: str) -> pd.DataFrame:
    """`COLUMNS` of an exhibit in `gaps`, in units of its measures, seeds, `declared`, and known: of how many of them a
    measure is, those in which it is known with each of the causes (0: in none); raises InputError for another one.

    Beside the causes each measure has `ours`, `with all` (steps), `interaction` (what that differs from ours by, less
    the sum of the steps), `paper` and `unexplained` (the paper's less `with all`); a probe has no `from_all`.
    """
    if name not in (of := gaps()):
        raise InputError("exhibit", name, one_of(name, of))
    causes, exhibit = of[name], exhibits()[name]
    start = replace(sizes_of(name)[causes.size], **causes.base)
    compute = exhibit.compute
    assert compute is not None

    @cache
    def values(*taken: str) -> pd.DataFrame:
        """(measures x draws) ours."""
        changed: dict[str, Any] = {}
        for field, value in (each for cause in taken for each in causes.fields[cause].items()):
            changed[field] = (*changed.get(field, ()), *value) if field in JOINED else value
        tables = [compute(at_seed(replace(start, **changed), seed)).table for seed in range(causes.draws)]
        papers.update(tables[0].set_index("measure")["paper"])
        found = pd.concat([table.set_index("measure")["ours"] for table in tables], axis=1)
        return found[[any(fnmatchcase(str(name), each) for each in causes.measures) for name in found.index]]

    papers: dict[str, float] = {}
    steps = tuple(causes.steps)
    alone = {cause: values(cause) for cause in causes.fields}
    without = {cause: values(*(other for other in steps if other != cause)) for cause in steps}
    computed = (values(), values(*steps), *alone.values(), *without.values())
    lines: list[tuple[str, str, float, float, float, float, int]] = []
    for measure in map(str, values().index):
        unknown = np.any([each.loc[measure].isna() for each in computed], axis=0)
        used, known = ~unknown | unknown.all(), int((~unknown).sum())

        def at(found: pd.DataFrame, measure: str = measure, used: BoolArray = used) -> FloatArray:
            return found.loc[measure].to_numpy(float)[used]

        begin, end = at(values()), at(values(*steps))
        firsts = {cause: _less(at(alone[cause]), begin) for cause in alone}
        lasts = {cause: _less(end, at(without[cause])) for cause in steps}
        first, last = (_less(_less(end, begin), sum(of[each] for each in steps)) for of in (firsts, lasts))
        said, aim, rest, left = _left(claim_of(exhibit.claims, measure), papers[measure], float(np.mean(end)))
        made = [
            ("ours", begin, begin),
            *((cause, firsts[cause], lasts.get(cause, np.array(math.nan))) for cause in alone),
        ]
        for cause, one, other in (*made, ("interaction", first, last), ("with all", end, end)):
            mean, half = mean_interval(one)
            lines.append((measure, cause, mean, mean - half, mean + half, float(np.mean(other)), known))
        lines += [(measure, each, to, math.nan, math.nan, to, known) for each, to in ((said, aim), (rest, left))]
    return pd.DataFrame(lines, columns=[*COLUMNS, "known"]).assign(seeds=causes.draws, declared=declared(causes))


def as_claimed(name: str, found: pd.DataFrame) -> pd.DataFrame:
    """A gap against what is claimed today; a claim on a difference of measures that are known in all seeds has lines of
    its own, which add up as those of the measures do."""
    numbers = found.astype(dict.fromkeys(COLUMNS[2:], float))
    of = {str(measure): lines for measure, lines in numbers.groupby("measure", sort=False)}
    whole = {measure for measure, lines in of.items() if (lines["known"] == lines["seeds"]).all()}
    made = dict(of)
    for measure, lines in of.items():
        claim = claim_of(exhibits()[name].claims, measure)
        printed = float(lines["from_all"].iloc[WITH_ALL + 1]) if (lines["cause"] == "paper").any() else math.nan
        made[measure] = _against(None if claim and claim.less else claim, printed, lines)
        if claim and claim.less and {measure, *claim.taken(measure)} <= whole:
            told = claim.told(measure)
            less = lines.assign(measure=told, low=math.nan, high=math.nan)
            for other, times in claim.taken(measure).items():
                less[ENDS] -= times * of[other][ENDS].to_numpy()
            made[told] = _against(claim._replace(less=""), math.nan, less.round(DIGITS))
    return pd.concat(made.values(), ignore_index=True)


def _against(claim: Claim | None, paper: float, lines: pd.DataFrame) -> pd.DataFrame:
    """The lines of a measure with what the paper says of it and what is left to that."""
    end = float(lines["from_all"].iloc[WITH_ALL])
    said, aim, rest, left = _left(claim, claim.value if claim and math.isnan(paper) else paper, end)
    made = lines.assign(cause=[*lines["cause"].iloc[: WITH_ALL + 1], said, rest])
    made.loc[made.index[WITH_ALL + 1 :], ENDS] = [[aim, aim], [left, left]]
    return made


def _left(claim: Claim | None, paper: float, end: float) -> tuple[str, float, str, float]:
    """What the paper says of a measure in words and as a number, and the same of what is left to it: more than a number
    where it must be passed; unknown where it depends on another measure."""
    if claim is None or claim.sign == "=" or claim.less:
        return "paper", paper, UNEXPLAINED, float(_less(paper, end))
    said, strict = f"paper, {claim.text(paper)}", {"<": ", less than", ">": ", more than"}.get(claim.sign, "")
    if OPERATORS[claim.sign](end, claim.value):
        return said, claim.value, UNEXPLAINED, 0.0
    return said, claim.value, f"{UNEXPLAINED}{strict}", float(_less(claim.value, end))


def _less(one: FloatArray | float, other: FloatArray | float) -> FloatArray:
    """Their differences, none where it is rounding."""
    return np.where(np.isclose(one, other, ROUNDING, 0.0), 0.0, np.subtract(one, other))
