"""Hare's evaluation (sections 2.2 and 7)."""

from typing import Any

from reproduction.exhibits import COUNTEREXAMPLE, ITSELF, PRINTED, SEARCHED, VARIED, Causes, Claim, Exhibit, Fields
from reproduction.hare.changes import figure_4, reasons
from reproduction.hare.lemma_2 import lemma_2
from reproduction.hare.settings import SIZES, HareSize, simulated_scale, testbed_scale
from reproduction.hare.simulated import figure_14, figure_15, figure_16, figure_17, figure_18, figure_19
from reproduction.hare.switches import figure_5, figure_6, figure_7, table_3
from reproduction.hare.testbed import figure_12, figure_13

AHEAD = Claim("weighted JCT, best of the others / Hare, least*", ">", 1)
AS_PRINTED = Claim("weighted JCT, best of the others / Hare as printed*", ">", 1)
"""Of Algorithm 1 with line 12 as it is printed; elsewhere a task goes to the GPU on which it ends first (ours)."""
KEPT = "a job of Gavel_FIFO keeps the GPUs that were idle when it began, however slow"
JOBS = "the jobs' lengths, weights and arrivals"
HARDWARE = "Measured on GPUs, which there are none of here."
FEW = "one or two GPUs, as in the paper, whose Fig. 2 and Table 3 the built-in times were made from"
CONSTRUCTED = (
    "By construction here: a round waits for its slowest task, at speeds made from Fig. 2 (ResNet50 for ResNet152); "
    "the page has what follows."
)
LEAST = AHEAD.measure
HOMO: Fields = {"baseline: Sched_Homo takes the fastest GPUs": {"stronger": ("Sched_Homo",)}}
STRONGER: Fields = {"baseline: who fits passes in Gavel_FIFO": {"stronger": ("Gavel_FIFO",)}, **HOMO}
MORE_JOBS: Fields = {"setting: twice as many jobs": {"testbed_jobs": 48}}


def _gap(others: Fields, *measures: str, draws: int = 3, unvaried: str = "", **base: Any) -> Causes:
    """How jobs are cut into rounds and tasks and how long these synchronise, of which the paper has no number, and the
    others."""
    probes: Fields = {
        "setting: up to 100 rounds of a job for 30": {"rounds": 100},
        "setting: eight tasks a round": {"tasks": 8},
        "setting: synchronising takes five times as long": {"sync": 5.0},
        **others,
    }
    return Causes(size="full", base=base, measures=measures, probes=probes, draws=draws, unvaried=unvaried)


TITLE = "Hare"
BELIEF = "the true times of tasks, for all alike; Sched_Homo uses their mean over types, Gavel_FIFO none"
EXHIBITS = (
    Exhibit(
        "fig1",
        "Three jobs: completion times add up to 10.5 s oblivious to speeds, 9 s a GPU each, 8.5 s interleaved",
        reason="Its table of times is not in the text; the built-in example's are chosen to give these sums.",
    ),
    Exhibit(
        "fig2",
        "ResNet50 is 2 times as fast on a T4 and 7 times on a V100 as on a K80, GraphSAGE 2 times on a V100",
        reason=f"{HARDWARE} The built-in speeds were made from these numbers.",
    ),
    Exhibit("fig3", "GraphSAGE uses a V100 for less than 30 %", reason=HARDWARE),
    Exhibit(
        "fig4",
        "A round whose tasks may run in sequence ends sooner than one at a fixed scale",
        figure_4,
        (Claim("completion of job n*", ">", 1), Claim("weighted JCT*", ">", 1)),
        scale=simulated_scale,
    ),
    Exhibit(
        "fig5", "A faster GPU beside a K80 brings no acceleration, as gradients wait for the K80", reason=CONSTRUCTED
    ),
    Exhibit("fig6", "The K80 is always busy, the V100 rarely for more than half of the time", reason=CONSTRUCTED),
    Exhibit(
        "fig7",
        "Switching costs about 9 times as much as training; with it the GPU is used for half at most (Fig. 8)",
        figure_7,
        (Claim("*switch* / training*, Default"), Claim("time in which the GPU computes, Default", "<", 50)),
        seeded=False,
        scale=lambda size: FEW,
        no_gap=f"{VARIED}three designs of a switch; Fig. 7 and the paper's own Table 3 do not agree",
    ),
    Exhibit("fig11", "Times of training and synchronising hardly vary between rounds", reason=HARDWARE),
    Exhibit(
        "tab3",
        "Time of a switch over that of a task, by model and way of switching",
        reason="A switch takes its milliseconds, a task its Hare column's: held against itself; the page has both.",
    ),
    Exhibit(
        "fig12",
        "Testbed: the others' weighted JCT is 1.91 to 4.05 times Hare's",
        figure_12,
        (Claim("weighted JCT, * of the others / Hare"), AS_PRINTED),
        scale=testbed_scale,
        unvaried=(JOBS, KEPT),
        gap=_gap(
            {**MORE_JOBS, **STRONGER},
            "weighted JCT, best of the others / Hare",
            "weighted JCT, worst of the others / Hare",
            draws=10,
        ),
    ),
    Exhibit(
        "fig13",
        "Within 25 min Hare has done 90.5 % of the jobs, Sched_Allox 66.7 %, Sched_Homo 56.5 %",
        figure_13,
        (
            Claim("jobs done within 25 min, Hare"),
            *(
                Claim(f"jobs done within 25 min, {name}", "<", 0, "jobs done within 25 min, Hare")
                for name in ("Sched_Allox", "Sched_Homo")
            ),
            Claim("jobs done when*"),
        ),
        scale=testbed_scale,
        unvaried=(JOBS,),
        gap=_gap({**MORE_JOBS, **HOMO}, "jobs done when * are under Hare, Sched_*", draws=10),
    ),
    Exhibit(
        "fig14",
        "Ahead at any number of GPUs, of Sched_Allox by about 2 times, which is ahead of the others, Gavel_FIFO last; "
        "with more GPUs all take less",
        figure_14,
        (
            AHEAD,
            AS_PRINTED,
            Claim("Gavel_FIFO has the largest*", ">", 99, word="last"),
            Claim("weighted JCT, * / Sched_Allox, mean*", ">", 1),
            Claim("weighted JCT, *, * GPUs / *", "<", 1),
            *PRINTED,
        ),
        scale=simulated_scale,
        unvaried=(JOBS,),
        gap=_gap(STRONGER, "*Sched_Allox / Hare, mean*", "Gavel_FIFO*", LEAST),
    ),
    Exhibit(
        "fig15",
        "With 300 jobs the others take 2.20 to 5.13 times as long; gaps (read as minutes and as ratios) grow with jobs",
        figure_15,
        (
            AHEAD,
            AS_PRINTED,
            Claim("* - Hare, minutes*", ">", 1),
            Claim("* / Hare, weighted JCT a job, *", ">", 1),
            *PRINTED,
        ),
        scale=simulated_scale,
        unvaried=(JOBS,),
        gap=_gap(STRONGER, "weighted JCT, * / Hare, * jobs", jobs=(300,)),
    ),
    Exhibit(
        "fig16",
        "Ahead at any heterogeneity, by more with more of it, Sched_Homo close at the low level, Sched_Allox 2 times "
        "as long at each",
        figure_16,
        (
            AHEAD,
            AS_PRINTED,
            Claim("weighted JCT, Sched_Homo / Hare, low", value=1, word="close"),
            *(
                Claim(f"weighted JCT, {name} / Hare, high", ">", 0, f"weighted JCT, {name} / Hare, low")
                for name in ("Gavel_FIFO", "SRTF", "Sched_Homo")
            ),
            *PRINTED,
        ),
        scale=simulated_scale,
        unvaried=(JOBS, KEPT),
        gap=_gap(STRONGER, "weighted JCT, Sched_Allox / Hare, *", LEAST),
    ),
    Exhibit(
        "fig17",
        "More NLP jobs lengthen, more recognition jobs shorten the JCT of all schemes; Hare stays ahead",
        figure_17,
        (
            AHEAD,
            AS_PRINTED,
            Claim("weighted JCT, *, NLP 40 % / *", ">", 1),
            Claim("weighted JCT, *, Rec. 40 % / *", "<", 1),
        ),
        scale=simulated_scale,
        unvaried=("lengths of jobs by class",),
        no_gap=f"{VARIED}line 12 as printed beside earliest finish, on the same jobs",
    ),
    Exhibit(
        "fig18",
        "From 10 to 25 Gbit/s Hare's weighted JCT falls by 31.2 %",
        figure_18,
        (AHEAD, AS_PRINTED, *PRINTED),
        scale=simulated_scale,
        unvaried=(JOBS,),
        gap=_gap({}, "decrease of weighted JCT*, Hare", unvaried=ITSELF),
    ),
    Exhibit(
        "fig19",
        "The batch size has no big influence, but for Sched_Homo",
        figure_19,
        (
            AHEAD,
            AS_PRINTED,
            Claim("weighted JCT, Sched_Homo, * B_0 / B_0", ">", 1),
            Claim("weighted JCT, *, * B_0 / B_0", value=1, word="no big influence"),
        ),
        scale=simulated_scale,
        unvaried=(JOBS, "synchronising less often, with larger batches, saves time"),
        no_gap=f"{VARIED}a round is as many steps, or as many more as batches are larger",
    ),
    Exhibit(
        "lemma2",
        "Lemma 2: the tasks up to one on its GPU take no longer than twice its H",
        lemma_2,
        (Claim("largest left side of (10)*", "<=", 1),),
        seeded=False,
        scale=lambda size: SEARCHED,
        no_gap=COUNTEREXAMPLE,
    ),
)
PAGE = (figure_5, figure_6, table_3, reasons)

__all__ = ["EXHIBITS", "PAGE", "SIZES", "TITLE", "HareSize"]
