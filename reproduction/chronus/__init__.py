"""Chronus's evaluation (sections 4 and 5)."""

from functools import partial
from typing import Any

from reproduction.chronus.allocator import figure_8a, figure_8b
from reproduction.chronus.best_effort import BOTH, best_effort
from reproduction.chronus.end_to_end import figure_9ab, figure_9cf
from reproduction.chronus.first_days import SPANS, figure_5, first_days, spans_scale, table_1
from reproduction.chronus.guarantee import guarantee
from reproduction.chronus.lines import KNOWN, OTHERS, PAPERS_THEMIS
from reproduction.chronus.profiler import figure_6a, figure_6b, figure_6c, figure_6d
from reproduction.chronus.selector import figure_7a, figure_7b, figure_7c, figure_7d
from reproduction.chronus.settings import (
    DRAWN,
    HELIOS,
    PHILLY,
    SIZES,
    SLICES,
    ChronusSize,
    drawn_scale,
    first_scale,
)
from reproduction.exhibits import (
    AUTHORS,
    COUNTEREXAMPLE,
    ITSELF,
    NEAR,
    NOBODY,
    SEARCHED,
    VARIED,
    Causes,
    Claim,
    Exhibit,
    Fields,
)
from reproduction.line import Line

TERRIBLY = 2.0
"""ours: the paper's word without a number (§5.2), as at least twice."""
LITTLE = 0.05
"""ours: of wDMR, the paper's words without a number, "strong robustness" (§5.1) and "comparable" (§5.4)."""
BEST = (
    *(Claim(f"wDMR, *, {each.name}", ">", 0, f"wDMR, *, {KNOWN.name}") for each in OTHERS),
    *(Claim(f"JCT of best effort, *{each.name} / {KNOWN.name}", ">", 1, absent=True) for each in OTHERS),
)
"""Of Fig. 9, one of the six at a time, as who is best of them in one seed is so by chance too. Run times are known, as
in the authors' end-to-end runs; with profiles charged wDMR in first_days."""
AWARE = (
    Claim(
        f"JCT of best effort, * [E3G][DSE]* / {KNOWN.name}", value=19.9, point="EDF, 3Sigma or GENIE / Chronus, most"
    ),
    *(
        Claim(f"wDMR, *_SLO, {x}", ">", 0, f"wDMR, *_SLO, {below}")
        for x in ("EDF", "3Sigma")
        for below in (KNOWN.name, "GENIE")
    ),
    *(
        Claim(f"wDMR, *_MIX1, {x}", "<=", LITTLE, f"wDMR, *_MIX1, {y}", word="comparable")
        for of in ("EDF", "3Sigma")
        for x, y in ((of, KNOWN.name), (KNOWN.name, of))
    ),
    Claim(
        "wDMR, *, YARN-CS",
        ">",
        0,
        {f"wDMR, *, {each.name}": 1 if each.name in ("EDF", "3Sigma", "GENIE") else -1 for each in OTHERS[1:]},
    ),
)
"""Of Fig. 9a (§5.4): the deadline-aware three by themselves, and together below the other three; §1: best effort 19.9
times as soon as with them. 14.7 times (abstract) fewer misses are not measured: who misses nothing, as Chronus in most
seeds, has no such ratio."""


def _beside_days(size: ChronusSize) -> str:
    judged = "Chronus is judged with run times known; with profiles charged its wDMR is in chronus.first_days"
    return f"{drawn_scale(size)}; {judged}, of the authors' jobs; best effort on them in chronus.best_effort"


JCT_20 = "JCT of best effort, leases of 20 min"
OFF, ON = "wDMR, {} % hostile, without round-up", "wDMR, {} % hostile, with round-up"
SPREAD = ("users and their batches", "how far run times are apart")
SHORT_JCT = "JCT of short jobs, {} GPUs"
UNVARIED = (
    f"how much jobs ask for while they arrive, {HELIOS.load:g} (H) and {PHILLY.load:g} (P) of all GPUs",
    *SPREAD,
)
"""Of what is drawn: the paper has days of them, and Fig. 5 no numbers."""
DAYS: Fields = {"data: days of the authors' Philly file": {"public": True}}
NO_FILE = f"{ITSELF}. Of H there is no file"
CODED: Fields = {"mechanism: leases given as in the authors' program": {"coded": True}}


def _days(*measures: str, unvaried: str = ITSELF, **causes: Any) -> Causes:
    """Of a figure of jobs as long as the paper's."""
    return Causes(size="days", measures=measures, draws=10, unvaried=unvaried, **causes)


def _end_to_end(draws: int) -> Causes:
    """Of Fig. 9. Its baselines are one cause, as each measure is of one and of no other."""
    rivals = (
        Line("Themis as in Gavel", "themis"),
        Line("Tiresias", "tiresias", {"rank": "gittins"}),
        Line("EDF", "edf", {"missed": "best_effort"}),
        Line("YARN-CS", "yarn_cs", {"elastic": True}),
    )
    told = "Themis by its own leases, Tiresias by Gittins's index, who is late last in EDF, YARN-CS lends its quotas"
    return Causes(
        size="days",
        measures=("JCT of best effort, *", "wDMR, [HP]_*"),
        steps=CODED,
        probes={f"baseline: {told}": {"rivals": rivals}},
        draws=draws,
        unvaried="Scale is not varied: the row has others; nor data: of H there is no file, chronus.first_days has P's",
    )


_of_days = partial(Exhibit, sizes=DRAWN, scale=first_scale, unvaried=UNVARIED)
_beside_p = partial(Exhibit, unvaried=UNVARIED, spans=SLICES, beside=AUTHORS)
"""Of a row that the authors' days of P stand beside."""
TITLE = "Chronus"
BELIEF = "there is one type; run times as profiled by Chronus, true for the others and where it says known"
EXHIBITS = (
    Exhibit("fig2", "The time of an iteration is stable", reason="Measured on GPUs, which there are none of here."),
    Exhibit(
        "fig5",
        "GPUs are asked for in bursts (5b)",
        figure_5,
        (Claim("GPUs asked for in an hour, variance / *", ">", 1),),
        seeded=False,
        sizes=("authors",),
        scale=lambda size: "Philly's 14 days; Helios, and so 5a, which compares lengths of both, has no public file",
        belief=NOBODY,
    ),
    Exhibit(
        "tab1",
        "Philly's files: 30,940 jobs; 30 % strict, 60 % soft and 10 % best effort in P_MIX2",
        table_1,
        seeded=False,
        sizes=("authors",),
        scale=lambda size: (
            "two of its seven lines: jobs and their kinds as counted in the authors' files, nothing in them is ours; "
            "Helios, Short and MIX1 are not public"
        ),
        belief=NOBODY,
    ),
    _of_days(
        "fig6a",
        "The dynamic profiling cluster has the lowest wDMR: delay 32 s, wDMR 0.05",
        figure_6a,
        (
            Claim("profiling delay, mean, dynamic"),
            Claim("wDMR, dynamic"),
            Claim("profiling delay, mean, 2 GPUs", ">", 0, "profiling delay, mean, dynamic"),  # too small
            *(Claim("wDMR, 19 GPUs", ">", 0, f"wDMR, {x}") for x in ("10 GPUs", "dynamic")),  # too large, at days
            Claim("wDMR, * GPUs", ">=", 0, "wDMR, dynamic"),  # each fixed size by itself, as in BEST
        ),
        no_gap=f"{VARIED}the size of the profiling cluster; shorter jobs that come faster stand beside",
    ),
    _of_days(
        "fig6b",
        "Submission control cuts the longest profiling delay from 2,105 to 960 s",
        figure_6b,
        unvaried=(UNVARIED[0], SPREAD[1]),
        gap=_days(
            "longest profiling delay*",
            steps={
                "scale: submission control of 2 GPUs for 24, on a twelfth of the cluster": {
                    "profiler": (("submission_gpus", 2),)
                }
            },
            probes={"data: four times as many jobs submitted at once (ours)": {"batch": 4 * HELIOS.batch}},
        ),
    ),
    _of_days(
        "fig6c",
        "Short jobs end in the profiler about as soon as under SRTF, and sooner with more GPUs",
        figure_6c,
        (
            Claim("*dynamic / SRTF", "<", 1.1, word="slightly higher"),
            *(Claim(SHORT_JCT.format(x), ">", 0, SHORT_JCT.format(y)) for x, y in ((2, 5), (5, 10), (10, 19))),  # days
        ),
        gap=_days(
            "*dynamic / SRTF",
            probes={
                "mechanism: four times the GPUs of the profiling cluster (ours)": {
                    "profiler": (("profile_headroom", 4.0),)
                }
            },
            unvaried="SRTF with run times known is told all there is, and has no second form",
        ),
    ),
    _beside_p(
        "fig6d",
        "wDMR is robust against errors of run times below 40 %",
        figure_6d,
        (Claim("wDMR, *, noise 20 %", "<=", LITTLE, "wDMR, *, noise 0 %", word="strong robustness"),),
        scale=drawn_scale,
        gap=_days("wDMR, *_MIX2, noise *", steps=DAYS, base={"noise": (0.0, 0.2)}, unvaried=NO_FILE),
    ),
    _beside_p(
        "fig7a",
        "SLO leases of 15 to 30 minutes have the lowest wDMR, those under 10 minutes and longer ones a higher one",
        figure_7a,
        (
            *(Claim(f"wDMR, leases of {other} min", ">", 0, "wDMR, leases of 20 min") for other in (5, 60, 120)),
            *(
                Claim(f"JCT of best effort, leases of {longer} min", sign, 0, {JCT_20: times}, word="does not affect")
                for longer in (60, 120)
                for sign, times in ((">=", 1 - NEAR), ("<=", 1 + NEAR))
            ),
        ),
        scale=first_scale,
        gap=_days("wDMR, leases of *", steps=CODED),
    ),
    _beside_p(
        "fig7b",
        "The objective significantly reduces wDMR, mainly that of soft jobs, which is terribly affected without it",
        figure_7b,
        (
            Claim("wDMR, feasibility only", ">", 0, "wDMR, objective", word="significantly"),
            Claim(
                "wDMR, soft, feasibility only", ">", 0, {"wDMR, soft, objective": TERRIBLY}, word="terribly affected"
            ),
            Claim("wDMR, soft, feasibility only", ">", LITTLE, "wDMR, soft, objective", word="terribly affected"),
            Claim(
                "wDMR, strict, feasibility only",
                "<",
                0,
                {"wDMR, strict, objective": 1, "wDMR, soft, feasibility only": 1, "wDMR, soft, objective": -1},
            ),
        ),
        scale=first_scale,
        no_gap=f"{VARIED}whether leases are given by the objective; shorter jobs that come faster stand beside",
    ),
    _beside_p(
        "fig7c",
        "Jobs that are refused a guarantee miss their deadlines",
        figure_7c,
        (Claim("wDMR of the unguaranteed*", ">", 0.5, word="very high"),),
        scale=drawn_scale,
        gap=_days("wDMR of the unguaranteed*", steps=DAYS, unvaried=NO_FILE),
    ),
    Exhibit(
        "fig7d",
        "A plan takes less than 10 s, also on larger clusters with as many more jobs",
        figure_7d,
        (Claim("longest plan of all", "<", 10),),
        seeded=False,
        timed="*",
        sizes=DRAWN,
        scale=lambda size: f"{first_scale(size)}; and up to {size.scales[-1]} times as large, not what 14 days pile up",
        unvaried=UNVARIED,
    ),
    _of_days(
        "fig8a",
        "Round-up lowers wDMR where jobs have sizes hostile to consolidation, the less the more of them there are",
        figure_8a,
        (
            *(Claim(OFF.format(x), ">", 0, ON.format(x)) for x in (30, 60)),
            Claim(ON.format(30), "<", 0, {OFF.format(30): 1, ON.format(60): 1, OFF.format(60): -1}),
        ),
        no_gap=f"{VARIED}how many jobs are hostile",
    ),
    _of_days(
        "fig8b",
        "Local search shortens best effort against consolidation and quasi-consolidation, and lowers wDMR too",
        figure_8b,
        (
            Claim("JCT of best effort, * local search / consolidated", "<", 1),
            Claim(
                "JCT of best effort, * quasi-consolidated / consolidated",
                ">",
                0,
                "JCT of best effort, * local search / consolidated",
            ),
            *(
                Claim(f"wDMR, {share} % hostile, {other}", ">", 0, f"wDMR, {share} % hostile, local search")
                for share in (30, 60)
                for other in ("consolidated", "quasi-consolidated")
            ),
        ),
        no_gap=f"{VARIED}who places, and how many jobs are hostile; shorter jobs that come faster stand beside",
    ),
    Exhibit(
        "fig9ab",
        "Chronus has the lowest wDMR (up to 14.7 times: no ratio, as on H it misses nothing in most seeds) and the "
        "shortest best effort on all workloads, up to 19.9 times",
        figure_9ab,
        (*AWARE, *BEST),
        scale=_beside_days,
        unvaried=UNVARIED,
        gap=_end_to_end(3),
    ),
    Exhibit(
        "fig9cf",
        "The same at any density of jobs; wDMR grows with it",
        figure_9cf,
        (Claim("wDMR, *% - *%, *", ">", 0), *BEST),
        scale=_beside_days,
        unvaried=SPREAD,
        gap=_end_to_end(10),
    ),
    Exhibit("fig10", "Simulation and Kubernetes agree", reason="Needs a cluster with Kubernetes."),
    Exhibit(
        "first_days",
        "On the authors' Philly files, spans of five days: Chronus misses least (Fig. 9a; drawn: chronus.fig9ab)",
        first_days,
        tuple(
            claim
            for file in ("P_MIX2", "P_SLO")
            for claim in (
                *(
                    Claim(f"wDMR, {file}, {name}", ">", 0, f"wDMR, {file}, Chronus")
                    for name in (PAPERS_THEMIS.name, "GENIE", "EDF")
                ),
                Claim(f"wDMR, {file}, Chronus, run times known", "<", 0, f"wDMR, {file}, {PAPERS_THEMIS.name}"),
            )
        ),
        sizes=("authors", "authors_half", "authors_twice"),
        scale=spans_scale,
        spans=len(SPANS),
        no_gap=f"{VARIED}seeds are other days and jobs, sizes other clusters; chronus.best_effort has other leases",
    ),
    Exhibit(
        "best_effort",
        "On the authors' MIX2 file, spans of five days: best effort is served sooner by Chronus than by Themis (Fig. "
        "9b); the claims by the paper's rules, then by a variant that the paper does not say",
        best_effort,
        (
            Claim(f"JCT of best effort, {PAPERS_THEMIS.name} / Chronus", ">", 1),
            Claim(f"JCT of best effort, {PAPERS_THEMIS.name} / {BOTH}", ">", 1),
            Claim(f"wDMR, {PAPERS_THEMIS.name}", ">", 0, f"wDMR, {BOTH}"),
        ),
        sizes=("authors", "authors_half", "authors_twice"),
        scale=spans_scale,
        spans=len(SPANS),
        no_gap=f"{VARIED}run times, plans and who gets leases, as in the authors' program",
    ),
    Exhibit(
        "guarantee",
        "A job with a guarantee is on time",
        guarantee,
        (Claim("guaranteed jobs that are late", "<=", 0),),
        seeded=False,
        scale=lambda size: SEARCHED,
        no_gap=COUNTEREXAMPLE,
    ),
)
PAGE = (first_days,)  # as kept

__all__ = ["EXHIBITS", "PAGE", "SIZES", "TITLE", "ChronusSize"]
