"""Hops's evaluation (sections 2 and 4.2 to 4.7)."""

from reproduction.exhibits import ITSELF, PRINTED, SECONDS, VARIED, Causes, Claim, Exhibit, Fields
from reproduction.hops.information import information
from reproduction.hops.physical import figure_6, figure_7, figure_9, figure_10, reasons, table_3
from reproduction.hops.planning import LARGE, figure_14, figure_15
from reproduction.hops.settings import SIZES, HopsSize, physical_scale, plan_scale, simulated_scale, sweep_scale
from reproduction.hops.simulated import figure_11, figure_12, figure_13, table_4
from reproduction.hops.starving import starving
from reproduction.information import ESTIMATORS, LAYERED, LAYERS, SEVERAL, UNVARIED
from reproduction.line import Line

OVER_HOPS = (
    Claim("* / Hops"),
    *(Claim(f"fragments, {name}", ">", 0, "fragments, Hops") for name in ("Sia", "Gavel")),
)
MUCH = 2.0
"""ours: "approximately 3 times" (4.7) of seconds of another machine, as at least twice."""
FAIR = "jobs with rho above 1, Hops, FTF"
LENGTHS = ("the jobs' lengths",)
SOLVED = ("one core and HiGHS, servers taken together; the paper: Gurobi, server by server",)
HARDWARE = "Measured on GPUs, which there are none of here."
STEPS: Fields = {
    "belief: Sia by its bootstrapped model": {"sia_belief": "scaled"},
    "belief: Hops by its three layers": {"hops_belief": ESTIMATORS[LAYERED]},
    "mechanism: Sia's gangs split over nodes": {"split": True},
}


def _many(*measures: str) -> Causes:
    """Of a figure on 512 GPUs: what is believed, Sia's gangs, and the scale."""
    quarter = {"shrink": 4, "simulated": 125, "sweep_shrink": 8, "sweep": 62}
    return Causes(
        size="small",
        measures=measures,
        steps={**STEPS, "scale: a quarter of the paper's for an eighth": quarter},
        unvaried="The same baselines as in hops.tab3, where they are varied",
    )


TITLE = "Hops"
BELIEF = "the true ones: Hops by server, Sia and Gavel by type"
EXHIBITS = (
    Exhibit(
        "fig1", "One type of GPU has other speeds in other servers; jobs gain differently by more GPUs", reason=HARDWARE
    ),
    Exhibit(
        "fig6",
        "Where loading is stable, speeds are predicted with an accuracy above 95 %",
        figure_6,
        (Claim("accuracy, stable loading, *", ">", 95),),
        belief=LAYERS,
        scale=physical_scale,
        unvaried=("built-in speeds grow with GPUs by a power law (ours), not by the paper's formula",),
        gap=Causes(
            size="full",
            measures=("accuracy*",),
            probes={
                "data: hosts of a type alike": {"hosts_alike": True},
                "setting: no job has fewer GPUs than its median": {"median_up": True},
            },
            unvaried=ITSELF,
        ),
    ),
    Exhibit(
        "fig7",
        "Where loading is unstable, predictions come nearer with every execution",
        figure_7,
        (Claim("mean error, unstable loading, at the end / at first", "<", 1),),
        belief=LAYERS,
        scale=physical_scale,
    ),
    Exhibit("fig8", "How long the 25 jobs are", reason="A histogram without numbers; lengths here are ours."),
    Exhibit(
        "tab3",
        "64 GPUs: makespan 9.51 h against 11.68 (Sia) and 14.46 (Gavel), JCT, waits, latency ratios",
        table_3,
        OVER_HOPS,
        scale=physical_scale,
        unvaried=LENGTHS,
        gap=Causes(
            size="full",
            measures=("* / Hops",),
            steps={
                **STEPS,
                "baseline: Sia's gains from a job's least size, as in its program": {
                    "rivals": (Line("Sia", "sia", {"from_least_size": True}),)
                },
            },
            probes={
                "setting: sizes from the median up": {"median_up": True},
                "baseline: Gavel without the queue": {
                    "rivals": (Line("Gavel", "gavel.max_min_fairness", {"round_s": 300.0}),)
                },
            },
        ),
    ),
    Exhibit(
        "fig9",
        "All of Hops's jobs have a latency ratio up to 0.37; its curves of JCT and LR lie before the others'",
        figure_9,
        (Claim("jobs with a latency ratio up to 0.37, Hops", ">=", 100), Claim("mean *", ">", 1)),
        scale=physical_scale,
        shares="tab3",
        unvaried=LENGTHS,
        no_gap=f"{VARIED}the scheduler, on the runs of hops.tab3, whose gap has its causes",
    ),
    Exhibit(
        "fig10",
        "Simulated results are similar to those of the physical cluster",
        reason="Needs the physical cluster; the page has what learning speeds costs in its place.",
    ),
    Exhibit(
        "tab4",
        "512 GPUs: makespan 10.48 h against 12.36 and 15.42, largest latency ratio 3.22 against 78.5 and 70.4, "
        "less than one fragment",
        table_4,
        (*OVER_HOPS, Claim("fragments, Hops", "<", 1)),
        scale=simulated_scale,
        unvaried=LENGTHS,
        gap=_many("makespan, * / Hops", "JCT, * / Hops", "wait, * / Hops", "max LR, * / Hops"),
    ),
    Exhibit(
        "fig11",
        "The cluster's throughput is higher under Hops",
        figure_11,
        (Claim("throughput*", ">", 1, word="significantly"),),
        scale=simulated_scale,
        shares="tab4",
        unvaried=LENGTHS,
        gap=_many("throughput*"),
    ),
    Exhibit(
        "fig12",
        "Largest finish-time fairness 2.15 against 28.27 (Sia) and 32.01 (Gavel), fewer jobs above 1",
        figure_12,
        (*(Claim(f"jobs with rho above 1, {name}", ">", 0, FAIR) for name in ("Sia", "Gavel")), *PRINTED),
        scale=simulated_scale,
        unvaried=LENGTHS,
        gap=_many("max rho*"),
    ),
    Exhibit(
        "fig13",
        "LAS, SJF and SRTF let jobs wait 80 times as long as they run, LR at most 3; JCT by arrival rate",
        figure_13,
        (Claim("max LR, priority LR", "<=", 3), Claim("max LR*", ">", 80), Claim("mean JCT*most*", ">", 0)),
        scale=sweep_scale,
        unvaried=(*LENGTHS, "the least sizes of jobs"),
        gap=_many("max LR*", "mean JCT*most*"),
    ),
    Exhibit(
        "fig14",
        "A plan with a gap of 1 % takes less than 10 s, significantly less than without one",
        figure_14,
        (
            Claim("plan with a gap of 1 %*", "<", 10),
            Claim("plans whose gap*", ">", 50, word="most cases"),
            Claim("plan without a gap, longest", ">", 0, "plan with a gap of 1 %, longest", word="significantly"),
        ),
        seeded=False,
        timed="plan w*",
        scale=plan_scale,
        unvaried=SOLVED,
        no_gap=SECONDS,
    ),
    Exhibit(
        "fig15",
        "The time of a plan is stable from 1000 waiting jobs on, as a window limits them; 10 s for 500 GPUs, with a "
        "gap of 5 % 6 s for 1000 and 17 s for 1500 (read as at most, on another machine), 3 times as long with 1 %",
        figure_15,
        (
            Claim(f"plan, most jobs over {LARGE}", "<", 1.1, word="stable"),
            Claim("plan, 512 GPUs, gap 1%", "<", 10),
            Claim("plan, 1024 GPUs, gap 5%", "<", 6.6, word="about 6 s"),
            Claim("plan, 1504 GPUs, gap 5%", "<", 18.7, word="around 17 s"),
            Claim("plan, 1504 GPUs, gap 1%", ">", 0, {"plan, 1504 GPUs, gap 5%": MUCH}, word="about 3 times"),
        ),
        seeded=False,
        timed="plan, *",
        scale=plan_scale,
        unvaried=SOLVED,
        no_gap=SECONDS,
    ),
    Exhibit(
        "information",
        "Sia's bootstrapped speeds can keep it from configurations; here (ours) whether its jobs end later with them",
        information,
        (Claim("*, Sia, told bootstrapped / told types", ">", 1),),
        belief=SEVERAL,
        unvaried=UNVARIED,
        scale=physical_scale,
    ),
)
PAGE = (figure_10, reasons, starving)

__all__ = ["EXHIBITS", "PAGE", "SIZES", "TITLE", "HopsSize"]
