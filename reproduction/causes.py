"""Whose fault it is: where a measure of ours differs from the paper's, how much each cause moves it.

A cause changes fields of a size, from how we have it to how the paper has it, as far as that can be had. Each is
changed alone at both ends: taken in first (from ours) and left out last (from all of them). Where causes do not
interact the two agree and add up; what they do not add up to is the interaction, and what is left to the paper's number
with all of them is unexplained. Of a claim such as `> 1` nothing is left where it holds.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
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
from reproduction.runner import ENOUGH, at_seed
from workbench.base.arrays import BoolArray
from workbench.base.errors import InputError, counted, one_of

COLUMNS = ("measure", "cause", "from_ours", "from_all")
KINDS = ("setting", "data", "belief", "baseline", "mechanism", "scale")
"""What a cause is of; its name begins with it."""
UNEXPLAINED = "unexplained"
FEW_SEEDS = "Few seeds: what is smaller than these differ by is not told from chance"
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
    draws: seeds that are computed one by one, as a row's are, the mean over which is a gap's; 1: those of the size."""

    size: str
    base: Mapping[str, Any]
    measures: tuple[str, ...]
    fields: Fields
    draws: int = 1


JOINED = ("rivals", "stronger")
"""Fields of which each cause has a part: baselines that are had in another way (lines; schemes of Hare by name)."""


def _baseline(words: str, fields: Mapping[str, Any]) -> Fields:
    """A cause: what is compared with is had in another way that its paper or its program leaves open."""
    return {f"baseline: {words}": fields}


def _rivals(*lines: tuple[str, Line]) -> Fields:
    """A cause for each baseline, in words and as it is then."""
    return {name: of for words, line in lines for name, of in _baseline(words, {"rivals": (line,)}).items()}


SPEEDS: Fields = {"data: the authors' speeds": {"measured_speeds": True}}
WIDER: Fields = {"scale: 24 GPUs for 12": {"cluster": "v100=2x4,p100=2x4,k80=2x4"}}
BELIEFS: Fields = {
    "belief: Sia by its bootstrapped model": {"sia_belief": "scaled"},
    "belief: Hops by its three layers": {"hops_belief": ESTIMATORS[LAYERED]},
}
CODED: Fields = {"mechanism: leases given as in the authors' program": {"coded": True}}
MEDIAN_UP: Fields = {"setting: sizes from the median up": {"median_up": True}}
ROUNDS: Fields = {"setting: up to 100 rounds of a job for 30": {"rounds": 100}}
SEEDS = 3
"""Of a gap whose runs are no matter of seconds."""


BLIND = {"heterogeneity_aware": False}
QUEUED_LAS = Line("agnostic", "las", BLIND)
LOOKED_UP = {"pairing": "looked_up"}
GANDIVA = Line("agnostic with Gandiva's packing", "gandiva", LOOKED_UP)
FTF_RIVALS = _rivals(("Themis's leases for its programme", Line("agnostic", "themis", {"round_s": 360.0})))
FIFO_RIVALS = _rivals(("who fits passes", Line("agnostic", "fifo", {"blocking": False})))
TRACE_RIVALS = _rivals(
    ("Gavel's policy for the makespan", Line("Gavel", "gavel.makespan")),
    ("Tiresias by Gittins's index", Line("Tiresias", "tiresias", {"rank": "gittins"})),
    ("who fits passes in YARN-CS", Line("YARN-CS", "yarn_cs", {"blocking": False})),
)
SIX_RIVALS = _baseline(
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
"""One cause, as each measure is of one baseline and of no other."""
PAYOFF: Fields = {"mechanism: HadarE's payoff balanced (ours)": {"payoff": "balanced"}}
NODES_RIVALS: Fields = {**PAYOFF, **_rivals(("Gavel's policy for the makespan", Line("Gavel", "gavel.makespan")))}
HARE_LEAST = "weighted JCT, best of the others / Hare, least*"
STRONGER_HOMO = _baseline("Sched_Homo takes the fastest GPUs", {"stronger": ("Sched_Homo",)})
STRONGER: Fields = {**_baseline("who fits passes in Gavel_FIFO", {"stronger": ("Gavel_FIFO",)}), **STRONGER_HOMO}
SIA_RIVALS = _rivals(
    ("Sia's gains from a job's least size, as in its program", Line("Sia", "sia", {"from_least_size": True})),
    ("Gavel without the queue", Line("Gavel", "gavel.max_min_fairness", {"round_s": 300.0})),
)


def _load(rates: str, at: float, rivals: Fields | None = None) -> Causes:
    """Of a figure over loads, at one, as the row has the curve: speeds, a larger cluster, baselines."""
    return Causes("small", {rates: (at,)}, ("mean * jobs/h",), {**SPEEDS, **WIDER, **(rivals or {})}, SEEDS)


def _nodes(*measures: str, others: Fields | None = None) -> Causes:
    """Of a figure of Hadar and HadarE on five nodes: what schedulers are told, how long jobs are, and the others."""
    fields: Fields = {
        "belief: speeds first estimated by (10)": {"belief": "pmi"},
        "setting: jobs twice as long": {"length": 2.0},
        **(others or {}),
    }
    return Causes("full", {}, measures, fields, SEEDS)


def _trace(*measures: str, others: Fields | None = None) -> Causes:
    """Of a figure of Hadar on many jobs: what schedulers are told, the scale, and others."""
    fields: Fields = {
        "belief: speeds learned by three layers": {"belief": ESTIMATORS[LAYERED]},
        "scale: 24 GPUs and 160 jobs": {"jobs": 160, "nodes": 2},
        **(others or {}),
    }
    return Causes("middle", {"jobs": 80, "nodes": 1, "seeds": range(1)}, measures, fields, SEEDS)


def _rounds(*measures: str, others: Fields | None = None, **base: Any) -> Causes:
    """Of a figure of Hare: into how many rounds jobs are cut, the scale, and the others."""
    fields: Fields = {**ROUNDS, "scale: half of the paper's for a quarter": {"part": 0.5}, **(others or {})}
    return Causes("full", {"seeds": range(2), "part": 0.25, **base}, measures, fields)


def _testbed(stronger: Fields, *measures: str) -> Causes:
    """Of a figure of Hare on its testbed: into how many rounds jobs are cut, how many jobs there are, the others."""
    fields: Fields = {**ROUNDS, "setting: twice as many jobs": {"testbed_jobs": 48}, **stronger}
    return Causes("full", {"seeds": range(10)}, measures, fields)


def _many(*measures: str) -> Causes:
    """Of a figure of Hops on 512 GPUs: what is believed, Sia's gangs, and the scale."""
    fields: Fields = {
        **BELIEFS,
        "mechanism: Sia's gangs split over nodes": {"split": True},
        "scale: a quarter of the paper's for an eighth": {
            "shrink": 4,
            "simulated": 125,
            "sweep_shrink": 8,
            "sweep": 62,
        },
    }
    return Causes("small", {}, measures, fields, SEEDS)


DAYS: Fields = {"data: days of the authors' Philly file": {"public": True}}


def _chronus(measures: tuple[str, ...], **base: Any) -> Causes:
    """Of a figure of Chronus, drawn as Helios and as Philly: the authors' file of that, and how fast jobs come."""
    clusters = (("H", 16, 120, 1.0), ("P", 10, 120, 1.0))
    fields: Fields = {**DAYS, "setting: as many jobs a day as in Table 1": {"clusters": clusters}}
    return Causes("full", {"seeds": range(2), **base}, measures, fields)


def _drawn(measures: tuple[str, ...], others: Fields | None = None, **base: Any) -> Causes:
    """Of a figure of Chronus whose jobs no file of the authors has, drawn as Helios: how fast they come."""
    clusters = (("H", 16, 120, 1.0),)
    fields: Fields = {"setting: as many jobs a day as in Table 1": {"clusters": clusters}, **(others or {})}
    return Causes("full", {"clusters": (("H", 16, 120, 8.0),), **base}, measures, fields)


FIG_9: Fields = {
    **CODED,
    "setting: as many jobs a day as in Table 1": {"clusters": (("H", 5, 25, 1.0), ("P", 4, 40, 1.0))},
    **SIX_RIVALS,
}
GAPS: Mapping[str, Causes] = {
    "gavel.tab3": Causes(
        "full",
        {},
        ("*",),
        {
            **SPEEDS,
            **_rivals(
                ("LAS as a queue", Line("LAS", "las", {"round_s": 1200.0, **BLIND})),
                ("Gandiva's pairs looked up", Line("Gandiva", "gandiva", LOOKED_UP)),
            ),
        },
    ),
    "gavel.fig8": _load(
        "single",
        2.0,
        _rivals(
            ("LAS as a queue", QUEUED_LAS),
            ("Gandiva's pairs looked up", GANDIVA),
            ("AlloX without preemption", Line("AlloX", "allox", {"preemptive": False})),
        ),
    ),
    "gavel.fig9": _load("multiple", 1.0),
    "gavel.fig10": _load("multiple", 1.0, FTF_RIVALS),
    "gavel.cost": Causes(
        "small",
        {},
        ("*",),
        {
            **SPEEDS,
            "setting: half as many jobs a day": {"cost_per_day": 4.0},
            "setting: shares with SLOs anew every half hour": {"often": 2.0},
            **WIDER,
        },
        SEEDS,
    ),
    "gavel.fig11": Causes(
        "full",
        {},
        ("throughput lost by a static partition",),
        {**SPEEDS, "setting: ten draws of jobs for three": {"seeds": range(10)}},
    ),
    "gavel.fig14": Causes(
        "small", {"single": (2.0,)}, ("mean JCT, *",), {**SPEEDS, "setting: a higher load": {"single": (2.5,)}}
    ),
    "gavel.fig16": _load("single", 2.0, FIFO_RIVALS),
    "gavel.fig17": _load("single", 2.0, FTF_RIVALS),
    "gavel.fig18": _load("multiple", 1.0, FIFO_RIVALS),
    "gavel.fig19": Causes(
        "small",
        {"batches": (360,)},
        ("makespan, FIFO / Gavel*", "makespan, Gandiva*", "makespan saved*"),
        {
            **SPEEDS,
            "setting: as many jobs a GPU as the paper has at most, 700 on 108 for 360": {"batches": (700,)},
            "setting: shares of pairs anew every half hour": {"often": 4.0},
            **WIDER,
            **_rivals(
                ("who fits passes in FIFO", Line("FIFO", "fifo", {"blocking": False})),
                ("Gandiva's pairs looked up", Line("Gandiva", "gandiva", LOOKED_UP)),
            ),
        },
        SEEDS,
    ),
    "gavel.fig20": _load("multiple", 1.0),
    "chronus.fig6a": _drawn(("profiling delay, mean, dynamic", "wDMR, dynamic", "wDMR, * GPUs")),
    "chronus.fig6b": _drawn(
        ("longest profiling delay*",),
        {
            "scale: submission control of 2 GPUs for 24, on a twelfth of the cluster": {
                "profiler": (("submission_gpus", 2),)
            }
        },
    ),
    "chronus.fig6c": _drawn(
        ("*dynamic / SRTF",),
        {"mechanism: four times the GPUs of the profiling cluster (ours)": {"profiler": (("profile_headroom", 4.0),)}},
    ),
    "chronus.fig6d": _chronus(("wDMR, *_MIX2, noise *",), noise=(0.0, 0.4)),
    "chronus.fig7a": _drawn(("wDMR, leases of *",), CODED, seeds=range(5), lease_min=(5, 20, 60, 120)),
    "chronus.fig7b": _drawn(("wDMR, *objective", "wDMR, *feasibility only"), CODED, seeds=range(5)),
    "chronus.fig7c": _chronus(("wDMR of the unguaranteed*",)),
    "chronus.fig8b": _drawn(("JCT of best effort, *", "wDMR, *")),
    **dict.fromkeys(
        ("chronus.fig9ab", "chronus.fig9cf"),
        Causes("small", {"seeds": range(3)}, ("JCT of best effort, *", "wDMR, [HP]_*"), FIG_9),
    ),
    "hadar.fig4": _trace(
        "TTD, * / Hadar",
        "median, * / Hadar",
        others={"data: no type is slower than a third of the fastest": {"slowest": 1 / 3}, **TRACE_RIVALS},
    ),
    "hadar.rounds": _trace("rounds that change an allocation, Hadar"),
    "hadar.length": _trace("*best round*"),
    "hadar.fig8": _nodes("CRU, * mean over mixes", others=NODES_RIVALS),
    "hadar.fig9": _nodes("TTD, *", others=NODES_RIVALS),
    "hadar.fig10": _nodes("*JCT*", others=NODES_RIVALS),
    "hadar.fig11": _nodes("CRU, slots of*", others=PAYOFF),
    "hadar.fig12": _nodes("CRU, slots of*"),
    "hare.tab3": Causes(
        "full",
        {},
        ("switch / task, *, PipeSwitch", "switch / task, *, Default"),
        {"data: the time of a step by each column of Table 3": {"own_column": True}},
    ),
    "hare.fig12": _testbed(
        STRONGER, "weighted JCT, best of the others / Hare", "weighted JCT, worst of the others / Hare"
    ),
    "hare.fig13": _testbed(STRONGER_HOMO, "jobs done when * are under Hare, Sched_*"),
    "hare.fig14": _rounds("*Sched_Allox / Hare, mean*", "Gavel_FIFO*", HARE_LEAST, others=STRONGER, gpus=(160,)),
    "hare.fig15": Causes(
        "full",
        {"seeds": range(2), "part": 0.25, "jobs": (300,)},
        ("weighted JCT, * / Hare, * jobs",),
        {**ROUNDS, **STRONGER},
    ),
    "hare.fig16": _rounds("weighted JCT, Sched_Allox / Hare, *", HARE_LEAST, others=STRONGER),
    "hare.fig18": _rounds(
        "decrease of weighted JCT*, Hare", others={"setting: synchronising takes five times as long": {"sync": 5.0}}
    ),
    "hops.tab4": _many("makespan, * / Hops", "JCT, * / Hops", "wait, * / Hops", "max LR, * / Hops"),
    "hops.fig11": _many("throughput*"),
    "hops.fig12": _many("max rho*"),
    "hops.fig13": _many("max LR*", "mean JCT*most*"),
    "hops.tab3": Causes(
        "full",
        {},
        ("* / Hops",),
        {**BELIEFS, "mechanism: Sia's gangs split over nodes": {"split": True}, **MEDIAN_UP, **SIA_RIVALS},
        SEEDS,
    ),
    "hops.fig6": Causes(
        "full",
        {},
        ("accuracy*",),
        {
            "data: hosts of a type alike": {"hosts_alike": True},
            "setting: no job has fewer GPUs than its median": {"median_up": True},
        },
        SEEDS,
    ),
    "hops.fig15": Causes(
        "full",
        {"gpus": (128,)},
        ("jobs in the window, * waiting over *",),
        {"setting: all jobs come at once": {"at_once": True}, **MEDIAN_UP},
        SEEDS,
    ),
    "hops.information": Causes(
        "full",
        {},
        ("*, Sia, told bootstrapped / told types",),
        {"mechanism: Sia's gangs split over nodes": {"split": True}, **MEDIAN_UP},
        SEEDS,
    ),
}
ITSELF = "It compares a scheduler with itself: no baseline"
ON_64 = "The same baselines as in hops.tab3, where they are varied"
IN_TAB3 = "Its baselines are varied in gavel.tab3"
NO_BASELINE: Mapping[str, str] = {
    "gavel.cost": "In multiples of each job's own speeds its baseline decides alike: jobs find the types they want",
    "gavel.fig9": IN_TAB3,
    "gavel.fig11": "A static partition by weights has no second form",
    "gavel.fig14": ITSELF,
    "gavel.fig20": "Max-min fairness with one speed for all types, which cancels: the baseline has no second form",
    **dict.fromkeys((f"chronus.fig{number}" for number in ("6a", "6b", "7a", "7b", "8b")), ITSELF),
    **dict.fromkeys(
        ("chronus.fig6d", "chronus.fig7c"),
        f"{ITSELF}. Of H there is no file; beside the authors' days of P the setting changes nothing",
    ),
    "chronus.fig6c": "SRTF with run times known is told all there is, and has no second form",
    **dict.fromkeys(("hadar.rounds", "hadar.length", "hadar.fig11", "hadar.fig12", "hare.fig18"), ITSELF),
    "hare.tab3": "Switches of Default and PipeSwitch are Table 3's own columns",
    "hops.tab4": ON_64,
    "hops.fig11": ON_64,
    "hops.fig12": ON_64,
    "hops.fig13": ON_64,
    "hops.information": ON_64,
    "hops.fig6": ITSELF,
    "hops.fig15": ITSELF,
}
"""Of each gap without a cause `baseline: ...` why."""
ELSEWHERE = (
    "Scale is not varied, as the setting changes the same clusters: the row has others; nor data, as there is no file "
    "of H: chronus.first_days has days of P"
)
OTHER = "Of another declaration than today's: compute it anew in another folder (--out)"
FEWER = "Of some measures it is of the seeds in which every line finishes with each of the causes"
UNKNOWN = "What is missing is unknown: a line never finishes a measured job at that load, or none is of the kind"


def declared(name: str) -> str:
    """Digest of what a gap is of and varies, its seeds aside, which it tells itself; of names that were changed the
    old ones, as another name makes no other gap."""
    of = GAPS[name]
    base = {field: value for field, value in of.base.items() if field != "seeds"}
    said = repr((of.size, base, of.measures, of.fields)).replace("'scaled'", "'bootstrapped'")
    return hashlib.sha256(said.encode()).hexdigest()[:10]


def said(name: str, found: pd.DataFrame) -> str:
    """Of a gap what is to be said beside its numbers: that it varied another thing, why no baseline is varied, why some
    are missing, that it is of few seeds, how many measures are the paper's with all causes, and which these move away
    from it."""
    causes = found[~found["cause"].str.contains(f"^paper|^{UNEXPLAINED}")]
    missing = bool(causes[["from_ours", "from_all"]].isna().any(axis=None))
    told = (
        OTHER if found["declared"].iloc[0] != declared(name) else "",
        NO_BASELINE.get(name),
        ELSEWHERE if name.startswith("chronus.fig9") else "",
        UNKNOWN if missing else "",
        FEWER if (found["known"].between(1, found["seeds"] - 1)).any() else "",
        FEW_SEEDS if exhibits()[name].seeded and found["known"].between(1, ENOUGH - 1).any() else "",
        _met(found),
        _away(found),
    )
    return ". ".join(filter(None, told))


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
    "gavel.load": VARIED + "three policies on two traces; speeds, cluster and baselines in the gaps of Figs. 8 to 18",
    "hadar.information": VARIED + "what is told; the worst mix stands beside the mean over mixes",
    "chronus.first_days": VARIED
    + "seeds are other days and jobs, sizes other clusters; chronus.best_effort has other leases",
    "chronus.best_effort": VARIED + "run times, plans and who gets leases, as in the authors' program",
    "hare.fig17": VARIED + "line 12 as printed beside earliest finish, on the same jobs",
    "hare.fig19": VARIED + "a round is as many steps, or as many more as batches are larger",
    "chronus.guarantee": COUNTEREXAMPLE,
    "hadar.theorem2": "A counterexample without a premise of its proof: nothing is left to explain",
    "hare.lemma2": COUNTEREXAMPLE,
    "hadar.fig3": VARIED + "both ways to read utilisation; the baselines in the gap of Fig. 4",
    "hadar.fig5": SECONDS,
    "hops.fig14": SECONDS,
    "hare.fig7": VARIED + "three designs of a switch; Fig. 7 and the paper's own Table 3 do not agree",
    "chronus.fig8a": VARIED + "how many jobs are hostile",
}
"""Why there is nothing to part."""


def seeds_of(name: str, found: pd.DataFrame) -> int | str:
    """How many seeds each number of a gap is the mean of, or why it is of none."""
    return exhibits()[name].told(int(found["seeds"].iloc[0]))


def gap(name: str) -> pd.DataFrame:
    """`COLUMNS` of an exhibit in `GAPS`, in units of its measures, seeds, `declared`, and known: of how many of them a
    measure is, those in which it is known with each of the causes (0: in none); raises InputError for another one.

    Beside the causes each measure has `ours`, `with all`, `interaction` (what `with all` differs from ours by, less the
    sum of the causes), `paper` and `unexplained` (the paper's less `with all`).
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
        size = replace(start, **changed)
        drawn = [at_seed(size, seed) for seed in range(causes.draws)] if causes.draws > 1 else [size]
        tables = [compute(each).table for each in drawn]
        papers.update(tables[0].set_index("measure")["paper"])
        found = pd.concat([table.set_index("measure")["ours"] for table in tables], axis=1)
        return found[[any(fnmatchcase(str(name), each) for each in causes.measures) for name in found.index]]

    papers: dict[str, float] = {}
    every, wanted = tuple(causes.fields), max(len(getattr(start, "seeds", (0,))), causes.draws)
    alone = {cause: values(cause) for cause in every}
    without = {cause: values(*(other for other in every if other != cause)) for cause in every}
    computed = (values(), values(*every), *alone.values(), *without.values())
    lines: list[tuple[str, str, float, float, int]] = []
    for measure in map(str, values().index):
        unknown = np.any([each.loc[measure].isna() for each in computed], axis=0)
        used = ~unknown | unknown.all()

        def at(found: pd.DataFrame, measure: str = measure, used: BoolArray = used) -> float:
            return float(np.mean(found.loc[measure].to_numpy(float)[used]))

        begin, end = at(values()), at(values(*every))
        firsts = {cause: _less(at(alone[cause]), begin) for cause in every}
        lasts = {cause: _less(end, at(without[cause])) for cause in every}
        first, last = (_less(_less(end, begin), sum(of.values())) for of in (firsts, lasts))
        said, aim, rest, left = _left(claim_of(exhibit.claims, measure), papers[measure], end)
        made = [("ours", begin, begin), *((cause, firsts[cause], lasts[cause]) for cause in every)]
        made += [("interaction", first, last), ("with all", end, end), (said, aim, aim), (rest, left, left)]
        known = wanted * int((~unknown).sum()) // unknown.size
        lines += [(measure, *each, known) for each in made]
    return pd.DataFrame(lines, columns=[*COLUMNS, "known"]).assign(seeds=wanted, declared=declared(name))


def as_claimed(name: str, found: pd.DataFrame) -> pd.DataFrame:
    """A gap against what is claimed today; a claim on a difference of measures that are known in all seeds has lines of
    its own, which add up as those of the measures do."""
    ends = list(COLUMNS[2:])
    numbers = found.astype(dict.fromkeys(ends, float))
    of = {str(measure): lines for measure, lines in numbers.groupby("measure", sort=False)}
    whole = {measure for measure, lines in of.items() if (lines["known"] == lines["seeds"]).all()}
    made = dict(of)
    for measure, lines in of.items():
        claim = claim_of(exhibits()[name].claims, measure)
        printed = float(lines["from_all"].iloc[WITH_ALL + 1]) if (lines["cause"] == "paper").any() else math.nan
        made[measure] = _against(None if claim and claim.less else claim, printed, lines)
        if claim and claim.less and {measure, *claim.taken(measure)} <= whole:
            told, less = claim.told(measure), lines.assign(measure=claim.told(measure))
            for other, times in claim.taken(measure).items():
                less[ends] -= times * of[other][ends].to_numpy()
            made[told] = _against(claim._replace(less=""), math.nan, less.round(DIGITS))
    return pd.concat(made.values(), ignore_index=True)


def _against(claim: Claim | None, paper: float, lines: pd.DataFrame) -> pd.DataFrame:
    """The lines of a measure with what the paper says of it and what is left to that."""
    ends, end = list(COLUMNS[2:]), float(lines["from_all"].iloc[WITH_ALL])
    said, aim, rest, left = _left(claim, claim.value if claim and math.isnan(paper) else paper, end)
    made = lines.assign(cause=[*lines["cause"].iloc[: WITH_ALL + 1], said, rest])
    made.loc[made.index[WITH_ALL + 1 :], ends] = [[aim, aim], [left, left]]
    return made


def _left(claim: Claim | None, paper: float, end: float) -> tuple[str, float, str, float]:
    """What the paper says of a measure in words and as a number, and the same of what is left to it: more than a number
    where it must be passed; unknown where it depends on another measure."""
    if claim is None or claim.sign == "=" or claim.less:
        return "paper", paper, UNEXPLAINED, _less(paper, end)
    said, strict = f"paper, {claim.text(paper)}", {"<": ", less than", ">": ", more than"}.get(claim.sign, "")
    if OPERATORS[claim.sign](end, claim.value):
        return said, claim.value, UNEXPLAINED, 0.0
    return said, claim.value, f"{UNEXPLAINED}{strict}", _less(claim.value, end)


def _less(one: float, other: float) -> float:
    """Their difference, none where it is rounding."""
    return 0.0 if math.isclose(one, other, rel_tol=ROUNDING) else one - other
