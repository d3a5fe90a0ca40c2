"""Whole runs of the authors' own program on the trace of their physical cluster's batch, and ours by `preset=authors`.

What they give was written down from their code (stanford-futuredata/gavel, commit c4fa400, with two small repairs) on
`minimize_makespan.trace`: GPUs one to a server, rounds of 6 minutes, seed 0. In the runs of its agnostic `fifo` that
we have all jobs are on one type from the first round on; we take that for a bug (inferred), and it is not here. What
is left of differences: allocations are not unique, and their solver stops at another point of the face of optima;
their bisection for the makespan begins with another interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reproduction.figure import Entry, PaperFigure
from reproduction.gavel.settings import HOUR, GavelSize, authors_trace
from reproduction.line import Line


class Policy(NamedTuple):
    """A policy of theirs as ours. scheduler, knobs: beside those of the preset; seeds: knobs of what it draws."""

    scheduler: str
    knobs: Mapping[str, Any] = {}
    seeds: Mapping[str, int] = {"shuffle_seed": 5}

    def line(self, name: str, round_s: float = 360.0, seed: int = 0) -> Line:
        """Ours; seed: of their run."""
        drawn = {knob: seed + more for knob, more in self.seeds.items()}
        return Line(name, self.scheduler, {"preset": "authors", "round_s": round_s, **drawn, **self.knobs})


AGNOSTIC = {"heterogeneity_aware": False}
POLICIES: Mapping[str, Policy] = {
    "max_min_fairness_perf": Policy("gavel.max_min_fairness"),
    "max_min_fairness": Policy("gavel.max_min_fairness", AGNOSTIC),
    "max_min_fairness_water_filling_perf": Policy("gavel.water_filling"),
    "min_total_duration_perf": Policy("gavel.makespan"),
    "min_total_duration": Policy("gavel.makespan", AGNOSTIC),
    "finish_time_fairness_perf": Policy("gavel.finish_time_fairness"),
    "finish_time_fairness": Policy("gavel.finish_time_fairness", AGNOSTIC),
    "max_sum_throughput_perf": Policy("gavel.max_throughput"),
    "isolated": Policy("isolated"),
    "fifo_perf": Policy("fifo", {}, {}),
    "fifo_packed": Policy("fifo", {"space_sharing": True}, {}),
    "gandiva": Policy("gandiva", {}, {"pair_seed": 0}),
    "allox": Policy("allox", {}, {}),
}
"""By their names; not `fifo`, see above."""
THEIRS: Mapping[str, tuple[float, float]] = {
    "fifo_perf": (40257.93455146647, 90701.29176628863),
    "finish_time_fairness": (39094.23952359872, 78866.03875760485),
    "finish_time_fairness_perf": (36333.209398195206, 70400.45686045189),
    "gandiva": (35074.73103099473, 75994.46215184794),
    "isolated": (37581.229034210024, 82944.7782712321),
    "max_min_fairness": (37768.07178342122, 82777.30714389158),
    "max_min_fairness_perf": (35658.96609658877, 68521.82279310738),
    "max_min_fairness_water_filling_perf": (35655.93431962575, 68808.10544640082),
    "max_sum_throughput_perf": (36928.59470186418, 80946.36900948755),
    "min_total_duration": (71950.2868194059, 76634.70674822295),
    "min_total_duration_perf": (63774.72597367845, 64720.83535237932),
}
"""Mean JCT and end of the last job, in s."""

OTHER = "Ours; with the shares of a log of theirs rounds are equal."


def program(size: GavelSize) -> PaperFigure:
    """Mean JCT and end of each run, theirs and ours, and the larger difference of the two."""
    scenario, rows = authors_trace("gavel_makespan", nodes_of=1), []
    for name, (jct_s, end_s) in THEIRS.items():
        jobs = POLICIES[name].line(name).run(scenario).jobs
        ours = {"mean JCT": (jobs["finish_s"] - jobs["arrival_s"]).mean(), "end": jobs["finish_s"].max(skipna=False)}
        theirs = {"mean JCT": jct_s, "end": end_s}
        off = max(abs(float(ours[measure]) / theirs[measure] - 1) for measure in theirs)
        why = "Greedy: equal in every round." if name == "fifo_perf" else OTHER
        rows.append(Entry(f"larger difference, {name}", "%", None, 100 * off, why, "their program"))
        rows += [
            Entry(f"{measure}, {name}", "h", theirs[measure] / HOUR, float(value) / HOUR, why, "their program")
            for measure, value in ours.items()
        ]
    return PaperFigure("Their program", "Whole runs of Gavel's simulator", tuple(rows))
