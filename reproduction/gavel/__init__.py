"""Gavel's evaluation (sections 2, 7 and appendix A.2)."""

from functools import partial

from reproduction.exhibits import NOBODY, VARIED, Causes, Claim, Exhibit, Fields
from reproduction.gavel.batch import figure_19, table_3
from reproduction.gavel.cost import section_7_3_cost
from reproduction.gavel.estimator import figure_14
from reproduction.gavel.hierarchy import figure_11, figure_21
from reproduction.gavel.information import information
from reproduction.gavel.load import figure_8, figure_9, figure_10, figure_16, figure_17, figure_18, figure_20, loads
from reproduction.gavel.pairs import figure_1a, figure_1b, figure_15
from reproduction.gavel.placement import placement
from reproduction.gavel.program import program
from reproduction.gavel.rounds import figure_13
from reproduction.gavel.runtime import figure_12
from reproduction.gavel.settings import (
    SIZES,
    GavelSize,
    batch_scale,
    cost_scale,
    entities_scale,
    gpus_of,
    physical_scale,
    simulated_scale,
)
from reproduction.information import SEVERAL, UNVARIED
from reproduction.line import Line


def _printed(measure: str, high: bool = False) -> Claim:
    """What the paper prints of a curve of ratios over loads: of its largest point at a load that the second sustains,
    so that it is of at least so much where the first does not; high: of the highest such load ("at high load")."""
    fast = measure.rpartition(" / ")[2]
    point = f"at the highest load that {fast} sustains" if high else f"most at a load that {fast} sustains"
    return Claim(f"{measure}, * jobs/h", point=point, last=high, steady=f"unfinished, {fast}, * jobs/h")


def _ahead(measure: str) -> Claim:
    """That it is above 1 at every load."""
    return Claim(f"{measure}, * jobs/h", ">", 1, point="least over all loads")


JCT, RHO = "mean JCT, agnostic / Gavel", "mean finish-time fairness, agnostic / Gavel"
SHARED = tuple(_printed(f"mean JCT, {slow} / Gavel with space sharing") for slow in ("agnostic", "Gavel"))
PACKED = _printed("mean JCT, agnostic with Gandiva's packing / Gavel with space sharing")

SATURATED = ("a job that is as fast as it can be stays below its part, and others pass it",)
LOADS = ("how long a cluster fills before jobs are measured, and how long those that are not done are waited for",)
FIFO = ("the agnostic line draws a type that has room", "pairs share a GPU where they gain over half")

BLIND, LOOKED_UP = {"heterogeneity_aware": False}, {"pairing": "looked_up"}
GANDIVA: Fields = {"baseline: Gandiva's pairs looked up": {"rivals": (Line("Gandiva", "gandiva", LOOKED_UP),)}}
THEMIS: Fields = {
    "baseline: Themis's leases for its programme": {"rivals": (Line("agnostic", "themis", {"round_s": 360.0}),)}
}


def _passing(name: str, words: str = "") -> Fields:
    """FIFO in which who fits passes."""
    return {f"baseline: who fits passes{words}": {"rivals": (Line(name, "fifo", {"blocking": False}),)}}


WINDOW = {of: getattr(SIZES["authors_steady"], of) for of in ("warm", "measured", "trailing")}
FILLED: Fields = {"setting: jobs are measured once a loaded cluster has filled, as by the authors' program": WINDOW}


def _at(rates: str, at: float, probes: Fields, steps: Fields = FILLED) -> Causes:
    """Of a figure over loads, at one, from a cluster that has just filled."""
    return Causes(size="authors_thrice", measures=("mean * jobs/h",), steps=steps, probes=probes, base={rates: (at,)})


_loads = partial(Exhibit, scale=simulated_scale, beside="authors_thrice")
"""A figure over loads; a cluster that has just filled is not what the authors' program measures."""
TITLE = "Gavel"
BELIEF = "the true ones by type; agnostic lines by their mean over types"
EXHIBITS = (
    Exhibit(
        "fig1a",
        "Speeds of models differ by type: ResNet-50 is 10 times as fast on a V100 as on a K80, A3C twice",
        figure_1a,
        seeded=False,
        sizes=("authors",),
        scale=lambda size: "two models on two types, as in the paper",
        belief=NOBODY,
        ratios="* over *",
        no_gap=f"{VARIED}two measurements of the authors, and those at their other batch sizes",
    ),
    Exhibit(
        "fig1b",
        "Per dollar a V100 is worth it for some models and not for others",
        figure_1b,
        (Claim("*(paper: above 1)", ">", 1), Claim("*(paper: below 1)", "<", 1)),
        seeded=False,
        scale=lambda size: "two models on three types, as in the paper",
        belief=NOBODY,
    ),
    Exhibit(
        "tab3",
        "Physical cluster, simulated: JCT 3.4 h against 5.2 h, makespan 17.9 h against 21.9 h",
        table_3,
        scale=physical_scale,
        gap=Causes(
            size="authors",
            measures=("*",),
            steps=GANDIVA,
            probes={"baseline: LAS as a queue": {"rivals": (Line("LAS", "las", {"round_s": 1200.0, **BLIND}),)}},
            draws=1,
        ),
    ),
    _loads(
        "fig8",
        "LAS, single-GPU jobs: mean JCT up to 3.5 times lower, AlloX matched",
        figure_8,
        (_ahead(JCT), _printed(JCT), PACKED, _printed("mean JCT, Gavel / AlloX")),
        gap=_at(
            "single",
            5.6,
            steps={
                **FILLED,
                "baseline: Gandiva's pairs looked up": {
                    "rivals": (Line("agnostic with Gandiva's packing", "gandiva", LOOKED_UP),)
                },
                "baseline: AlloX without preemption": {"rivals": (Line("AlloX", "allox", {"preemptive": False}),)},
            },
            probes={"baseline: LAS as a queue": {"rivals": (Line("agnostic", "las", BLIND),)}},
        ),
    ),
    _loads(
        "fig9",
        "LAS, jobs of several GPUs: mean JCT up to 2.2 times lower",
        figure_9,
        (_ahead(JCT), _printed(JCT), PACKED),
        no_gap=f"{VARIED}loads; gavel.tab3 varies its baselines",
    ),
    _loads(
        "fig10",
        "Finish-time fairness, several GPUs: JCT 3 times, unfairness 2.8 times lower",
        figure_10,
        (_ahead(JCT), _printed(JCT), _printed(RHO)),
        gap=_at("multiple", 3.0, THEMIS),
    ),
    Exhibit(
        "cost",
        "Cost policies: 1.4 times cheaper with 35 % of SLOs missed, 1.23 times with none",
        section_7_3_cost,
        scale=cost_scale,
        unvaried=("SLOs that cannot be met are dropped",),
        gap=Causes(
            size="small",
            measures=("*",),
            steps={
                "data: the authors' speeds": {"measured_speeds": True},
                "setting: shares with SLOs anew every half hour": {"often": 2.0},
                "scale: 24 GPUs for 12": {"cluster": "v100=2x4,p100=2x4,k80=2x4"},
            },
            probes={"setting: half as many jobs a day": {"cost_per_day": 4.0}},
            unvaried="In multiples of each job's own speeds its baseline decides alike: jobs find the types they want",
        ),
    ),
    Exhibit(
        "fig11",
        "Fair over entities as jobs come: a static partition has 17 % less throughput",
        figure_11,
        scale=entities_scale,
        unvaried=SATURATED,
    ),
    Exhibit(
        "fig12",
        "An allocation for 2048 jobs takes less than 10 minutes",
        figure_12,
        (Claim("*(paper: below*", "<", 600),),
        seeded=False,
        timed="*",
        scale=lambda size: f"up to {max(size.jobs)} jobs; the paper up to 2048",
        unvaried=("solver and machine", "equal jobs are merged, bottlenecks found by duals"),
    ),
    Exhibit(
        "fig13",
        "Rounds of 6 minutes are almost identical to the ideal; longer rounds cost time",
        figure_13,
        (Claim("*/ ideal*", "<", 1.1, word="almost identical"), Claim("mean JCT, rounds of*/ of*", ">", 1)),
        scale=simulated_scale,
        unvaried=LOADS,
    ),
    Exhibit(
        "fig14",
        "Estimated speeds of pairs are nearly as good as true ones; sharing helps",
        figure_14,
        (
            Claim("mean JCT, sharing, estimated*", "<", 1.1, word="nearly as good"),
            Claim("mean JCT, no sharing*", ">", 1),
        ),
        belief="true ones against low rank, the jobs and pairs that it measures drawn once for all seeds",
        scale=lambda size: f"{gpus_of(size.small)} GPUs, as in the paper, {size.measured} measured jobs",
        unvaried=LOADS,
    ),
    Exhibit(
        "fig15",
        "Many pairs of models gain by sharing a GPU",
        figure_15,
        (Claim("pairs that gain*", ">", 50, word="many"),),
        seeded=False,
        scale=lambda size: "all pairs of the 26 models, as in the paper",
        belief=NOBODY,
    ),
    _loads(
        "fig16",
        "FIFO, single-GPU jobs, at high load: JCT up to 2.7 times lower, up to 3.8 times with space sharing",
        figure_16,
        (_ahead(JCT), _printed(JCT), *SHARED),
        unvaried=FIFO,
        gap=_at("single", 5.6, _passing("agnostic")),
    ),
    _loads(
        "fig17",
        "Finish-time fairness, single-GPU jobs: lower JCT, fairer",
        figure_17,
        (_ahead(JCT), _ahead(RHO)),
        gap=_at("single", 4.0, THEMIS),
    ),
    _loads(
        "fig18",
        "FIFO, several GPUs: lower JCT, space sharing 1.1 times",
        figure_18,
        (_ahead(JCT), SHARED[1]),
        unvaried=FIFO,
        gap=_at("multiple", 2.4, _passing("agnostic")),
    ),
    Exhibit(
        "fig19",
        "Makespan: FIFO 2.5 times, Gandiva 1.4 times as long; 8 % less with space sharing",
        figure_19,
        scale=batch_scale,
        gap=Causes(
            size="authors",
            base={"batches": (700,)},
            measures=("makespan, FIFO / Gavel*", "makespan, Gandiva*", "makespan saved*"),
            steps={"setting: shares of pairs anew every half hour": {"often": 4.0}, **GANDIVA},
            probes=_passing("FIFO", " in FIFO"),
        ),
    ),
    _loads(
        "fig20",
        "Priorities, at high load: JCT of high ones 1.5 times, of low ones 2.7 times lower",
        figure_20,
        tuple(
            claim
            for kind in ("high", "low")
            for of in (f"mean JCT of {kind} priority jobs, agnostic / Gavel",)
            for claim in (_ahead(of), _printed(of, high=True))
        ),
        unvaried=(*LOADS, "weights 5 and 1 are the authors' code's"),
        no_gap=f"{VARIED}loads; the baseline has no second form; Figs. 8, 10 and 16 vary which jobs are measured",
    ),
    Exhibit(
        "load",
        "LAS, FIFO and finish-time fairness sustain more load where they know speeds (Figs. 8 to 10, 16 to 18)",
        loads,
        (Claim("highest steady rate*", ">", 1),),
        sizes=("authors",),
        scale=simulated_scale,
        unvaried=LOADS,
        no_gap=f"{VARIED}three policies on two traces; baselines in gavel.tab3",
    ),
    Exhibit(
        "fig21",
        "Fair over entities, first in first out within: throughputs as their weights",
        figure_21,
        scale=entities_scale,
        unvaried=SATURATED,
    ),
    Exhibit(
        "information",
        "Decisions by speeds of types are better than by none (ours: of estimates the paper has Fig. 14 alone)",
        information,
        (Claim("mean JCT, Gavel, told nothing / told types", ">", 1),),
        belief=SEVERAL,
        unvaried=(*UNVARIED, *LOADS),
        scale=simulated_scale,
    ),
    Exhibit(
        "placement",
        "Speeds of jobs of several GPUs depend on their placement, on slow types less",
        placement,
        (
            Claim("speed spread over nodes / on one, v100, mean", "<", 0.9, word="lower"),
            Claim("what spreading leaves of the speed, k80 / v100", ">", 1.1, word="less on slow types"),
        ),
        seeded=False,
        sizes=("authors",),
        scale=lambda size: "all that the authors measured; their trace on 48 GPUs, whole",
    ),
    Exhibit(
        "program",
        "Whole runs of the authors' own program, but of its agnostic FIFO, are met: within 2 %, FIFO exactly (ours)",
        program,
        (
            Claim("larger difference, fifo_perf", "<=", 1e-7, word="exactly"),
            Claim("larger difference*", "<=", 2, word="met"),
        ),
        seeded=False,
        sizes=("authors",),
        scale=lambda size: "the authors' 100 jobs on 48 GPUs, whole",
        unvaried=("which of several optima a solver finds",),
    ),
)

__all__ = ["EXHIBITS", "SIZES", "TITLE", "GavelSize"]
