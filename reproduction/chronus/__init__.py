"""Chronus's evaluation (sections 4 and 5)."""

from reproduction.chronus.allocator import figure_8a, figure_8b
from reproduction.chronus.best_effort import BOTH, best_effort
from reproduction.chronus.end_to_end import figure_9ab, figure_9cf, reasons
from reproduction.chronus.first_days import days_scale, figure_5, first_days, spans_scale, table_1
from reproduction.chronus.guarantee import guarantee
from reproduction.chronus.lines import PAPERS_THEMIS
from reproduction.chronus.profiler import figure_6a, figure_6b, figure_6c, figure_6d
from reproduction.chronus.selector import figure_7a, figure_7b, figure_7c, figure_7d
from reproduction.chronus.settings import SIZES, ChronusSize, drawn_scale
from reproduction.exhibits import NOBODY, SMALLEST, Claim, Exhibit

BEST = "wDMR, best of the six - Chronus, {}least over all points".format
TERRIBLY = 2.0
"""ours: the paper's word without a number (§5.2), as at least twice."""
JCTS = tuple(
    Claim(f"JCT of best effort, *{name} / Chronus", ">", 1, absent=True)
    for name in ("YARN-CS", "EDF", "3Sigma", "GENIE", "Tiresias", PAPERS_THEMIS.name)
)

TITLE = "Chronus"
BELIEF = "there is one type; run times as profiled by Chronus, true for the others and where it says known"
EXHIBITS = (
    Exhibit(
        "fig2",
        "The time of an iteration is stable",
        reason="Measured on GPUs, which there are none of here.",
        seeded=False,
    ),
    Exhibit(
        "fig5",
        "Jobs are submitted in bursts",
        figure_5,
        (Claim("variance / mean of the jobs*", ">", 1),),
        seeded=False,
        sizes=("authors",),
        scale=lambda size: "whole files of the authors, as in the paper",
        belief=NOBODY,
    ),
    Exhibit(
        "tab1",
        "Philly: 30,940 jobs; 30 % strict, 60 % soft and 10 % best effort in P_MIX2",
        table_1,
        seeded=False,
        sizes=("authors",),
        scale=lambda size: "whole files of the authors, as in the paper",
        belief=NOBODY,
    ),
    Exhibit(
        "fig6a",
        "The dynamic profiling cluster has the lowest wDMR: delay 32 s, wDMR 0.05",
        figure_6a,
        (
            Claim("profiling delay, mean, dynamic"),
            Claim("wDMR, dynamic"),
            Claim("wDMR, dynamic / best fixed size", "<=", 1),
        ),
        scale=drawn_scale,
    ),
    Exhibit(
        "fig6b", "Submission control cuts the longest profiling delay from 2,105 to 960 s", figure_6b, scale=drawn_scale
    ),
    Exhibit(
        "fig6c",
        "Short jobs end in the profiler about as soon as under SRTF",
        figure_6c,
        (Claim("*dynamic / SRTF", "<", 1.1),),
        scale=drawn_scale,
    ),
    Exhibit(
        "fig6d",
        "wDMR is robust against errors of run times below 40 %",
        figure_6d,
        tuple(Claim(f"wDMR, {x}_MIX2, noise 40 %", "<=", 0.05, f"wDMR, {x}_MIX2, noise 0 %") for x in "HP"),
        scale=drawn_scale,
    ),
    Exhibit(
        "fig7a",
        "SLO leases of 15 to 30 minutes have the lowest wDMR",
        figure_7a,
        (Claim("length of the lease with the lowest wDMR"),),
        scale=drawn_scale,
    ),
    Exhibit(
        "fig7b",
        "The objective significantly reduces wDMR, mainly that of soft jobs, which is terribly affected without it",
        figure_7b,
        (
            Claim("wDMR, feasibility only", ">", 0, "wDMR, objective"),
            Claim("wDMR, soft, feasibility only", ">", 0, {"wDMR, soft, objective": TERRIBLY}),
            Claim(
                "wDMR, strict, feasibility only",
                "<",
                0,
                {"wDMR, strict, objective": 1, "wDMR, soft, feasibility only": 1, "wDMR, soft, objective": -1},
            ),
        ),
        scale=drawn_scale,
    ),
    Exhibit(
        "fig7c",
        "Jobs that are refused a guarantee miss their deadlines",
        figure_7c,
        (Claim("wDMR of the unguaranteed*", ">", 0.5),),
        scale=drawn_scale,
    ),
    Exhibit(
        "fig7d",
        "A plan takes less than 10 s",
        figure_7d,
        (Claim("longest plan of all", "<", 10),),
        seeded=False,
        timed="*",
        scale=drawn_scale,
    ),
    Exhibit(
        "fig8a",
        "Round-up lowers wDMR where jobs have sizes hostile to consolidation",
        figure_8a,
        (Claim("wDMR, 60 % hostile, without round-up", ">", 0, "wDMR, 60 % hostile, with round-up"),),
        scale=drawn_scale,
    ),
    Exhibit(
        "fig8b",
        "Local search shortens best effort against consolidation",
        figure_8b,
        (Claim("JCT of best effort, *local search / consolidated", "<", 1),),
        scale=drawn_scale,
    ),
    Exhibit(
        "fig9ab",
        "Chronus has the lowest wDMR and the shortest best effort on all workloads",
        figure_9ab,
        (Claim(BEST("run times known, "), ">", 0), Claim(BEST(""), ">", 0), *JCTS),
        scale=drawn_scale,
    ),
    Exhibit(
        "fig9cf",
        "The same at any density of jobs; wDMR grows with it",
        figure_9cf,
        (Claim(BEST("run times known, "), ">", 0), Claim(BEST(""), ">", 0), *JCTS, Claim("wDMR, *% - *%, *", ">", 0)),
        scale=drawn_scale,
    ),
    Exhibit("fig10", "Simulation and Kubernetes agree", reason="Needs a cluster with Kubernetes.", seeded=False),
    Exhibit(
        "first_days",
        "On the authors' Philly files, spans of five days: Chronus misses least",
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
    ),
    Exhibit(
        "best_effort",
        "On the authors' MIX2 file, first days: best effort is served sooner by Chronus than by Themis (Fig. 9b); the "
        "claims by the paper's rules, then by a variant that the paper does not say",
        best_effort,
        (
            Claim(f"JCT of best effort, {PAPERS_THEMIS.name} / Chronus", ">", 1),
            Claim(f"JCT of best effort, {PAPERS_THEMIS.name} / {BOTH}", ">", 1),
            Claim(f"wDMR, {PAPERS_THEMIS.name}", ">", 0, f"wDMR, {BOTH}"),
        ),
        seeded=False,
        sizes=("authors", "authors_half", "authors_twice"),
        scale=days_scale,
    ),
    Exhibit(
        "guarantee",
        "A job with a guarantee is on time",
        guarantee,
        (Claim("guaranteed jobs that are late", "<=", 0),),
        seeded=False,
        scale=lambda size: SMALLEST,
    ),
)
CAUSES = (first_days, reasons)

__all__ = ["CAUSES", "EXHIBITS", "SIZES", "TITLE", "ChronusSize"]
