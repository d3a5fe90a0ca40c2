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
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from reproduction.exhibits import NEAR, OPERATORS, Claim, claim_of
from reproduction.information import ESTIMATORS, LAYERED
from reproduction.line import Line
from reproduction.registry import exhibits, sizes_of
from reproduction.runner import ROUNDED, at_seed
from workbench.analysis.metrics.confidence import mean_interval
from workbench.base.arrays import BoolArray, FloatArray
from workbench.base.errors import InputError, counted, one_of

COLUMNS = ("measure", "cause", "from_ours", "low", "high", "from_all")
"""low, high: the 95 % interval of from_ours over seeds, each seed against itself; NaN of one seed."""
ENDS = ["from_ours", "from_all"]
KINDS = ("setting", "data", "belief", "baseline", "mechanism", "scale")
"""What a cause is of; its name begins with it."""
PROBE = "probe, "
"""With it begins the name of a cause that is no step to how the paper has it."""
UNEXPLAINED = "unexplained"
ONE_SEED = "One seed: of what is smaller than seeds differ by, nothing is known"
ROUNDING = 1e-9
"""Share of two numbers below which their difference is none."""
DIGITS = 12
"""Behind the point, of differences of kept numbers: of equal ones nothing is left."""
WITH_ALL = -3
"""Of the lines of a measure; behind it are the paper's and what is unexplained."""


Fields = Mapping[str, Mapping[str, Any]]
"""By cause the fields of a size that it changes."""


class Causes(NamedTuple):
    """size: where it begins, with `base` changed in it; measures: names as in `Claim`; fields: what a cause changes;
    draws: seeds that are computed one by one, as a row's are, the mean over which is a gap's."""

    size: str
    base: Mapping[str, Any]
    measures: tuple[str, ...]
    fields: Fields
    draws: int = 3


JOINED = ("rivals", "stronger")
"""Fields of which each cause has a part: baselines that are had in another way (lines; schemes of Hare by name)."""


def _baseline(words: str, fields: Mapping[str, Any]) -> Fields:
    """A cause: what is compared with is had in another way that its paper or its program leaves open."""
    return {f"baseline: {words}": fields}


def _rivals(*lines: tuple[str, Line]) -> Fields:
    """A cause for each baseline, in words and as it is then."""
    return {name: of for words, line in lines for name, of in _baseline(words, {"rivals": (line,)}).items()}


def _probes(fields: Fields) -> Fields:
    """The same, but no steps to how the paper has it."""
    return {f"{PROBE}{name}": of for name, of in fields.items()}


SPEEDS: Fields = {"data: the authors' speeds": {"measured_speeds": True}}
WIDER: Fields = {"scale: 24 GPUs for 12": {"cluster": "v100=2x4,p100=2x4,k80=2x4"}}
BELIEFS: Fields = {
    "belief: Sia by its bootstrapped model": {"sia_belief": "scaled"},
    "belief: Hops by its three layers": {"hops_belief": ESTIMATORS[LAYERED]},
}
SPLIT: Fields = {"mechanism: Sia's gangs split over nodes": {"split": True}}
CODED: Fields = {"mechanism: leases given as in the authors' program": {"coded": True}}
MEDIAN_UP: Fields = {"setting: sizes from the median up": {"median_up": True}}
LEARNED: Fields = {"belief: speeds learned by three layers": {"belief": ESTIMATORS[LAYERED]}}
SEEDS, MORE = 3, 10
"""Of a gap; of one whose runs are a matter of seconds."""


BLIND = {"heterogeneity_aware": False}
LOOKED_UP = {"pairing": "looked_up"}
GANDIVA = _rivals(("Gandiva's pairs looked up", Line("Gandiva", "gandiva", LOOKED_UP)))
PASSING = {"blocking": False}
FTF_RIVALS = _probes(_rivals(("Themis's leases for its programme", Line("agnostic", "themis", {"round_s": 360.0}))))
FIFO_RIVALS = _probes(_rivals(("who fits passes", Line("agnostic", "fifo", PASSING))))
MAKESPAN_RIVAL = _rivals(("Gavel's policy for the makespan", Line("Gavel", "gavel.makespan")))
TRACE_RIVALS = _rivals(
    ("Tiresias by Gittins's index", Line("Tiresias", "tiresias", {"rank": "gittins"})),
    ("who fits passes in YARN-CS", Line("YARN-CS", "yarn_cs", PASSING)),
)
SIX_RIVALS = _probes(
    _baseline(
        "Themis by its own leases, Tiresias by Gittins's index, who is late last in EDF, YARN-CS lends its quotas",
        {
            "rivals": (
                Line("Themis as in Gavel", "themis"),
                Line("Tiresias", "tiresias", {"rank": "gittins"}),
                Line("EDF", "edf", {"missed": "best_effort"}),
                Line("YARN-CS", "yarn_cs", {"elastic": True}),
            )
        },
    )
)
"""One cause, as each measure is of one baseline and of no other."""
PAYOFF: Fields = _probes({"mechanism: HadarE's payoff balanced (ours)": {"payoff": "balanced"}})
NODES_RIVALS: Fields = {**PAYOFF, **_probes(MAKESPAN_RIVAL)}
HARE_LEAST = "weighted JCT, best of the others / Hare, least*"
STRONGER_HOMO = _baseline("Sched_Homo takes the fastest GPUs", {"stronger": ("Sched_Homo",)})
STRONGER: Fields = {**_baseline("who fits passes in Gavel_FIFO", {"stronger": ("Gavel_FIFO",)}), **STRONGER_HOMO}
MORE_JOBS: Fields = {"setting: twice as many jobs": {"testbed_jobs": 48}}


def _load(rates: str, at: float, rivals: Fields, draws: int = MORE) -> Causes:
    """Of a figure over loads, at one, as the row has the curve: baselines."""
    return Causes("authors_thrice", {rates: (at,)}, ("mean * jobs/h",), rivals, draws)


def _nodes(*measures: str, others: Fields | None = None) -> Causes:
    """Of a figure of Hadar and HadarE on five nodes: what schedulers are told, how long jobs are, and the others."""
    fields: Fields = {
        "belief: speeds first estimated by (10)": {"belief": "pmi"},
        **_probes({"setting: jobs twice as long": {"length": 2.0}}),
        **(others or {}),
    }
    return Causes("full", {}, measures, fields, MORE)


def _hare(others: Fields, *measures: str, draws: int = SEEDS, **base: Any) -> Causes:
    """Of a figure of Hare: into how many rounds jobs are cut, of which the paper has no number, and the others."""
    fields = {"setting: up to 100 rounds of a job for 30": {"rounds": 100}, **others}
    return Causes("full", base, measures, _probes(fields), draws)


def _many(*measures: str) -> Causes:
    """Of a figure of Hops on 512 GPUs: what is believed, Sia's gangs, and the scale."""
    fields: Fields = {
        **BELIEFS,
        **SPLIT,
        "scale: a quarter of the paper's for an eighth": {
            "shrink": 4,
            "simulated": 125,
            "sweep_shrink": 8,
            "sweep": 62,
        },
    }
    return Causes("small", {}, measures, fields)


def _chronus(*measures: str, both: bool = False, others: Fields | None = None, **base: Any) -> Causes:
    """Of a figure of Chronus, drawn as Helios, or as both: how fast jobs come, and the others."""
    clusters = (("H", 16, 120, 1.0), *([("P", 10, 120, 1.0)] if both else []))
    fields: Fields = {"setting: as many jobs a day as in Table 1": {"clusters": clusters}, **(others or {})}
    return Causes("full", base if both else {"clusters": (("H", 16, 120, 8.0),), **base}, measures, fields, MORE)


DAYS: Fields = {"data: days of the authors' Philly file": {"public": True}}
DUE = ("JCT of best effort, *", "wDMR, [HP]_*")
GAPS: Mapping[str, Causes] = {
    "gavel.tab3": Causes(
        "authors",
        {},
        ("*",),
        {
            **GANDIVA,
            **_probes(_rivals(("LAS as a queue", Line("LAS", "las", {"round_s": 1200.0, **BLIND})))),
        },
        1,
    ),
    "gavel.fig8": _load(
        "single",
        3.5,
        {
            **_rivals(
                ("Gandiva's pairs looked up", Line("agnostic with Gandiva's packing", "gandiva", LOOKED_UP)),
                ("AlloX without preemption", Line("AlloX", "allox", {"preemptive": False})),
            ),
            **_probes(_rivals(("LAS as a queue", Line("agnostic", "las", BLIND)))),
        },
        SEEDS,
    ),
    "gavel.fig10": _load("multiple", 2.2, FTF_RIVALS),
    "gavel.cost": Causes(
        "small",
        {},
        ("*",),
        {
            **SPEEDS,
            "setting: shares with SLOs anew every half hour": {"often": 2.0},
            **WIDER,
            **_probes({"setting: half as many jobs a day": {"cost_per_day": 4.0}}),
        },
    ),
    "gavel.fig16": _load("single", 3.5, FIFO_RIVALS),
    "gavel.fig17": _load("single", 3.5, FTF_RIVALS),
    "gavel.fig18": _load("multiple", 2.2, FIFO_RIVALS),
    "gavel.fig19": Causes(
        "authors",
        {"batches": (700,)},
        ("makespan, FIFO / Gavel*", "makespan, Gandiva*", "makespan saved*"),
        {
            "setting: shares of pairs anew every half hour": {"often": 4.0},
            **GANDIVA,
            **_probes(_rivals(("who fits passes in FIFO", Line("FIFO", "fifo", PASSING)))),
        },
    ),
    "chronus.fig6a": _chronus("profiling delay, mean, dynamic", "wDMR, dynamic", "wDMR, * GPUs"),
    "chronus.fig6b": _chronus(
        "longest profiling delay*",
        others={
            "scale: submission control of 2 GPUs for 24, on a twelfth of the cluster": {
                "profiler": (("submission_gpus", 2),)
            }
        },
    ),
    "chronus.fig6c": _chronus(
        "*dynamic / SRTF",
        others=_probes(
            {
                "mechanism: four times the GPUs of the profiling cluster (ours)": {
                    "profiler": (("profile_headroom", 4.0),)
                }
            }
        ),
    ),
    "chronus.fig6d": _chronus("wDMR, *_MIX2, noise *", both=True, others=DAYS, noise=(0.0, 0.4)),
    "chronus.fig7a": Causes("days", {}, ("wDMR, leases of *",), CODED, MORE),
    "chronus.fig7c": _chronus("wDMR of the unguaranteed*", both=True, others=DAYS),
    "chronus.fig8b": _chronus("JCT of best effort, *", "wDMR, *"),
    "chronus.fig9ab": Causes("days", {}, DUE, {**CODED, **SIX_RIVALS}),
    "chronus.fig9cf": Causes("days", {}, DUE, {**CODED, **SIX_RIVALS}, MORE),
    "hadar.fig4": Causes(
        "full",
        {},
        ("TTD, * / Hadar", "median, * / Hadar"),
        _probes(
            {
                **LEARNED,
                "data: no type is slower than a third of the fastest": {"slowest": 1 / 3},
                **MAKESPAN_RIVAL,
                **TRACE_RIVALS,
            }
        ),
    ),
    "hadar.length": Causes("middle", {}, ("*best round*",), _probes(LEARNED)),
    "hadar.fig8": _nodes("CRU, * mean over mixes", others=NODES_RIVALS),
    "hadar.fig9": _nodes("TTD, *", others=NODES_RIVALS),
    "hadar.fig10": _nodes("*JCT*", others=NODES_RIVALS),
    "hadar.fig11": _nodes("CRU, slots of*", others=PAYOFF),
    "hadar.fig12": _nodes("CRU, slots of*"),
    "hare.fig12": _hare(
        {**MORE_JOBS, **STRONGER},
        "weighted JCT, best of the others / Hare",
        "weighted JCT, worst of the others / Hare",
        draws=MORE,
    ),
    "hare.fig13": _hare({**MORE_JOBS, **STRONGER_HOMO}, "jobs done when * are under Hare, Sched_*", draws=MORE),
    "hare.fig14": _hare(STRONGER, "*Sched_Allox / Hare, mean*", "Gavel_FIFO*", HARE_LEAST),
    "hare.fig15": _hare(STRONGER, "weighted JCT, * / Hare, * jobs", jobs=(300,)),
    "hare.fig16": _hare(STRONGER, "weighted JCT, Sched_Allox / Hare, *", HARE_LEAST),
    "hare.fig18": _hare(
        {"setting: synchronising takes five times as long": {"sync": 5.0}}, "decrease of weighted JCT*, Hare"
    ),
    "hops.tab4": _many("makespan, * / Hops", "JCT, * / Hops", "wait, * / Hops", "max LR, * / Hops"),
    "hops.fig11": _many("throughput*"),
    "hops.fig12": _many("max rho*"),
    "hops.fig13": _many("max LR*", "mean JCT*most*"),
    "hops.tab3": Causes(
        "full",
        {},
        ("* / Hops",),
        {
            **BELIEFS,
            **SPLIT,
            **_rivals(
                (
                    "Sia's gains from a job's least size, as in its program",
                    Line("Sia", "sia", {"from_least_size": True}),
                ),
            ),
            **_probes(
                {
                    **MEDIAN_UP,
                    **_rivals(("Gavel without the queue", Line("Gavel", "gavel.max_min_fairness", {"round_s": 300.0}))),
                }
            ),
        },
    ),
    "hops.fig6": Causes(
        "full",
        {},
        ("accuracy*",),
        _probes(
            {
                "data: hosts of a type alike": {"hosts_alike": True},
                "setting: no job has fewer GPUs than its median": {"median_up": True},
            }
        ),
    ),
}
ITSELF = "It compares a scheduler with itself: no baseline"
ON_64 = "The same baselines as in hops.tab3, where they are varied"
NO_BASELINE: Mapping[str, str] = {
    "gavel.cost": "In multiples of each job's own speeds its baseline decides alike: jobs find the types they want",
    **dict.fromkeys((f"chronus.fig{number}" for number in ("6a", "6b", "7a", "8b")), ITSELF),
    **dict.fromkeys(
        ("chronus.fig6d", "chronus.fig7c"),
        f"{ITSELF}. Of H there is no file; beside the authors' days of P the setting changes nothing",
    ),
    "chronus.fig6c": "SRTF with run times known is told all there is, and has no second form",
    **dict.fromkeys(("hadar.length", "hadar.fig11", "hadar.fig12", "hare.fig18"), ITSELF),
    "hops.tab4": ON_64,
    "hops.fig11": ON_64,
    "hops.fig12": ON_64,
    "hops.fig13": ON_64,
    "hops.fig6": ITSELF,
}
"""Of each gap without a cause `baseline: ...` why."""
ELSEWHERE = (
    "Scale is not varied, as the setting changes the same clusters: the row has others; nor data, as there is no file "
    "of H: chronus.first_days has days of P"
)
SUMS = ("ours", "interaction", "with all")
NO_STEP = "No step to how the paper has it is left that can be had: all of the difference is unexplained"
PROBES = "A probe is no step to how the paper has it: taken in alone, in no sum, it tells how much moves a measure"
NO_INTERVAL = "Its intervals over seeds are not computed: what is chance is not known"
OTHER = "Of another declaration than today's: compute it anew in another folder (--out)"
FEWER = "Of some measures it is of the seeds in which every line finishes with each of the causes"
UNKNOWN = "What is missing is unknown: a line never finishes a measured job at that load, or none is of the kind"


def declared(name: str) -> str:
    """Digest of what a gap is of and varies, its seeds aside, which it tells itself; of names that were changed the
    old ones, as another name makes no other gap."""
    of = GAPS[name]
    said = repr((of.size, dict(of.base), of.measures, of.fields)).replace("'scaled'", "'bootstrapped'")
    return hashlib.sha256(said.encode()).hexdigest()[:10]


def said(name: str, found: pd.DataFrame, claims: Sequence[Mapping[str, Any]] = ()) -> str:
    """Of a gap what is to be said beside its numbers: that it varied another thing, where it begins beside the row's
    number (claims: of the row, as `Finding`), what is no step, what is not told from chance, why no baseline is varied,
    why some are missing, how many measures are the paper's with all causes, and which these move away from it."""
    causes = found[~found["cause"].str.contains(f"^paper|^{UNEXPLAINED}")]
    probe = causes["cause"].str.startswith(PROBE)
    missing = bool(causes["from_ours"].isna().any() or causes[~probe]["from_all"].isna().any())
    steps = set(causes[~probe]["cause"]) - set(SUMS)
    told = (
        OTHER if found["declared"].iloc[0] != declared(name) else "",
        _beside(found, claims),
        "" if steps else NO_STEP,
        PROBES if probe.any() else "",
        _by_chance(causes[~causes["cause"].isin(SUMS)]) if exhibits()[name].seeded else "",
        NO_BASELINE.get(name),
        ELSEWHERE if name.startswith("chronus.fig9") else "",
        UNKNOWN if missing else "",
        FEWER if (found["known"].between(1, found["seeds"] - 1)).any() else "",
        ONE_SEED if isinstance(seeds_of(name, found), int) and (found["known"] == 1).any() else "",
        _met(found),
        _away(found),
    )
    return ". ".join(filter(None, told))


def _beside(found: pd.DataFrame, claims: Sequence[Mapping[str, Any]]) -> str:
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


def _met(found: pd.DataFrame) -> str:
    """How many measures are with all causes as the paper says: nothing is left of a claim, of a number `NEAR` of it."""
    ends = found.set_index("measure")["from_all"]
    of = found["cause"].set_axis(found["measure"])
    aims, left = (ends[of.str.startswith(begin)].dropna() for begin in ("paper", UNEXPLAINED))
    near = NEAR * aims.abs() * (of[of.str.startswith("paper")] == "paper")
    strict = of[of.str.startswith(f"{UNEXPLAINED}, ")].index  # as much is not more
    met = (left.abs() <= near.reindex(left.index)) & ~left.index.isin(strict)
    text = f"As the paper says with all causes: {met.sum()} of {counted(len(met), 'measure')}" if len(met) else ""
    unknown = len(aims) - len(met)
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


SECONDS = "Seconds of one machine and one solver: neither is varied"
COUNTEREXAMPLE = "A counterexample: the statement is false as printed, and no number is left to explain"
VARIED = "Its own measures vary one thing at a time: "
NOT_PARTED: Mapping[str, str] = {
    "gavel.fig1a": VARIED + "two measurements of the authors, and those at their other batch sizes",
    "gavel.fig9": VARIED + "loads, and sizes of the cluster, with the authors' speeds; its baselines in gavel.tab3",
    "gavel.fig20": VARIED
    + "loads, and sizes of the cluster, with the authors' speeds; the baseline has no second form",
    "gavel.load": VARIED + "three policies on two traces; baselines in gavel.tab3",
    "hadar.information": VARIED + "what is told; the worst mix stands beside the mean over mixes",
    "chronus.first_days": VARIED
    + "seeds are other days and jobs, sizes other clusters; chronus.best_effort has other leases",
    "chronus.best_effort": VARIED + "run times, plans and who gets leases, as in the authors' program",
    "hare.fig17": VARIED + "line 12 as printed beside earliest finish, on the same jobs",
    "hare.fig19": VARIED + "a round is as many steps, or as many more as batches are larger",
    "chronus.guarantee": COUNTEREXAMPLE,
    "hadar.fig1": COUNTEREXAMPLE,
    "hadar.theorem2": "A counterexample without a premise of its proof: nothing is left to explain",
    "hare.lemma2": COUNTEREXAMPLE,
    "hadar.rounds": VARIED + "scale: a third of the jobs stands beside; readings of the algorithm on the page",
    "hadar.fig3": VARIED + "both ways to read utilisation; the baselines in the gap of Fig. 4",
    "hadar.fig5": SECONDS,
    "hops.fig9": VARIED + "the scheduler, on the runs of hops.tab3, whose gap has its causes",
    "hops.fig14": SECONDS,
    "hops.fig15": SECONDS,
    "hare.fig7": VARIED + "three designs of a switch; Fig. 7 and the paper's own Table 3 do not agree",
    "chronus.fig8a": VARIED + "how many jobs are hostile",
}
"""Why there is nothing to part."""


def seeds_of(name: str, found: pd.DataFrame) -> int | str:
    """How many seeds each number of a gap is the mean of, or why it is of none."""
    return "deterministic" if GAPS[name].draws == 1 else exhibits()[name].told(int(found["seeds"].iloc[0]))


def gap(name: str) -> pd.DataFrame:
    """`COLUMNS` of an exhibit in `GAPS`, in units of its measures, seeds, `declared`, and known: of how many of them a
    measure is, those in which it is known with each of the causes (0: in none); raises InputError for another one.

    Beside the causes each measure has `ours`, `with all` (steps), `interaction` (what that differs from ours by, less
    the sum of the steps), `paper` and `unexplained` (the paper's less `with all`); a probe has no `from_all`.
    """
    if name not in GAPS:
        raise InputError("exhibit", name, one_of(name, GAPS))
    causes, exhibit = GAPS[name], exhibits()[name]
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
    steps = tuple(cause for cause in causes.fields if not cause.startswith(PROBE))
    alone = {cause: values(cause) for cause in sorted(causes.fields, key=steps.__contains__)}  # probes first
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
    return pd.DataFrame(lines, columns=[*COLUMNS, "known"]).assign(seeds=causes.draws, declared=declared(name))


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
