"""The notebooks: thin, stripped, they run, and what they say is true."""

from __future__ import annotations

import ast
import asyncio
import builtins
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

import workbench
from tests import warm_kernel

PROJECT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((PROJECT / "notebooks").glob("*.ipynb"))
OWN_RUNS = [path for path in NOTEBOOKS if not path.stem.startswith("reproduce_")]
"""Those of the evaluations are run in tests/reproduction, on the figures that are made there."""
MOST_LINES = 72
MOST_WORDS = 1200
OWN_MODEL = "@workbench.formulation("
"""The cell in which a paper's model stands, to be edited: it and exercises alone may define a function."""
EXERCISE, GUESS = "Exercise(", "Guess("
"""In cells that define exercises, short ones, and guesses; both are folded, as they have the answer in them."""
MOST_EXERCISE_LINES = 10
FOLDED = {"jupyter": {"source_hidden": True}}
SOLVED = """
from widgets import Exercise
for each in Exercise.on_page.values():
    assert not each.right, f"{each.name} is solved in the page"
    assert each.case_of, f"{each.name} is the same for all"
    for case in map(each.made, ["", "Ada", "Grace"]):
        assert each.judged(each.solved(case), case) == (True, "Right."), each.judged(each.solved(case), case)
        assert not any(each.judged(empty, case)[0] for empty in (..., None, "", [], lambda *given: None)), each.name
from ipywidgets.widgets.widget import _instances
said = [each.text for each in _instances.values() if type(each).__name__ == "StatusLine"]
assert not any("not solved" in text for text in said), said
"""
"""What holds for every exercise of a page: each makes students' own instances; for its own instance and others the
solution passes, empty ones fail; and that no lab of a page waits for somebody to press Solve."""
STAYS = """
def stays(name, scenario):
    "The rows that are on in a model of the page; its text says which of them do not stand in its cell."
    import pyomo.environ as pyo
    built = workbench.find_formulation(name)
    model = built.build(built.data(workbench.snapshot_at(scenario), built.settle({})), built.settle({}))
    return {part.name for part in model.component_objects(pyo.Constraint, active=True) if len(part)}
"""
"""What claims ask of the models that students edit."""
TAKES_S = {"word": 0.8, "equation": 40, "line": 7, "Do": 100, "Guess": 90, "Draw": 240, "Exercise": 330}
"""Seconds of a lesson's parts, fitted to what two test readers needed for five lessons: docs/teaching/README.md."""
COUNTED = """
import contextlib
from tests.calls import decisions_at_most
decisions_asked = contextlib.ExitStack()
decisions_asked.enter_context(decisions_at_most(%d))
"""
MOST_DECISIONS = {"08_what_if": 40_000, "09_sweep": 10_000}
"""That the runs of a page may ask for, claims included; elsewhere 3000."""
PATIENCE_S = 600.0
"""For a cell: says nothing about speed."""

CLAIMS = {
    "00_start_here": """
assert idle.guess("The next job needs two of them") and unsure.guess("they do not tell")
assert cap_moves.guess("translation")
now = fair.timeline[(fair.timeline["start_s"] <= 2700) & (fair.timeline["end_s"] > 2700)]
assert dict(zip(now["job"], now["node"])) == {"game": "slow-0", "translation": "fast-0"}
chain = workbench.chain(fair, "fast-0/1", at=2700)
links = {link.step: link.text for link in chain.links}
assert list(links) == ["rows", "share", "rank", "placement"] and "1. game on k80: no time there" in links["rank"]
assert {row.row for row in chain.rows if row.verdict == "cause"} == {"epigraph[vision]", "epigraph[translation]"}
assert {row.row for row in chain.rows if row.what == "without it"} == {f"epigraph[{job}]" for job in fair.jobs["job"]}
assert "Decisive: no job falls below the common level t (vision): with that row taken away" in chain.summary
ends_of_vision = [end_of_vision(weight) for weight in (1, 2, 10)]
assert ends_of_vision == sorted(ends_of_vision, reverse=True) and ends_of_vision[0] > 150 > 120 > ends_of_vision[2]
fast = [run.shares.query("accelerator == 'v100'")["share"].max() for run in both]
assert fast[0] > 0.5 >= fast[1] - 1e-9
assert later.loc["SRTF", "low"] < 0 < min(later.loc["FIFO", "low"], later.loc["capped", "low"])
lab.scenario.require_runnable()
""",
    "01_gavel": """
assert better.guess("Yes") and never.guess("120 min") and team.guess(0) and winner.guess("shortest_job_first")
assert sooner.guess("Yes") and hurt.guess("talker") and second.guess("job 1")
assert capped.guess(0.6375) and risen.guess(3)
after = lower.table.set_index("variable")["after"]
assert after["share[job 1,v100]"] < shares.loc["job 1", "v100"]
assert after["share[job 2,k80]"] < shares.loc["job 2", "k80"]
assert worth.guess([list(worths)[i] for i in (1, 0, 2)])
assert abs(result.objective - 8 / 11) < 1e-6 and shares.round(2).loc["job 0"].tolist() == [0.45, 0]
assert [round(each, 3) for each in worths.values()] == [0.145, 0.123, 0.273]
assert used.loc["changes"].is_monotonic_decreasing and shares["k80"].idxmax() == "job 2"
assert used["6 min"].drop("changes").idxmin() == "job 2"  # of all the V100's time
assert 0.5 < after["share[job 0,k80]"] < 0.8 and after["share[job 2,k80]"] > 0.1
assert after["share[job 2,v100]"] > shares.loc["job 2", "v100"]
assert "priority" in str(workbench.explain(drawn[1], "job 0", at=360))
first_round = drawn[1].timeline.query("accelerator == 'v100' and start_s == 0")
assert first_round["job"].tolist() == ["job 0"] and shares.loc["job 1", "v100"] > shares.loc["job 2", "v100"]
assert workbench.allocation_table(by_team)["v100"].round(6).tolist() == [0.333333] * 3 + [1, 0]
filled = {name: found.values["normalized_throughput"] for name, found in levels.items()}
assert [round(filled["water_filling"][f"job {i}"], 6) for i in (0, 3)] == [1, 0.666667]
assert sum(filled["max_min_fairness"].values()) < sum(filled["water_filling"].values()) - 0.9
alone, known, estimated = (run.jobs["finish_s"].mean() for run in shared.values())
assert max(known, estimated) < alone
assert "2.125 in the row" in " ".join(worth.box.said) and "2.000 in the cluster" in " ".join(worth.box.said)
done = [(60 * run).tolist() for run in placed.values()]
assert done == [[3600, 4800], [3600, 3600], [3600, 4800], [5400, 3600]]
assert list(won.values()) == ["shortest_job_first", "makespan", "min_cost_slo"]
assert policies.mean()["slo_violations"].idxmin() == "min_cost_slo"
least = policies.best()
assert not least.loc["max_min_fairness", ["mean_jct_s", "makespan_s", "cost_usd", "slo_violations"]].any()
assert abs(mine.objective - result.objective) < 1e-6  # until the model is changed
assert stays("my_fairness", scenario) == {"time", "gpus_of", "no_better", "cap"}  # the same rows
told = [level.judged(answer, 6) for answer in (0.74, 0.7407, 0.741, 0.6, 2 / 3, 0.8)]
assert [right for right, _ in told] == [False, True, True, False, False, False]
assert "Nearly" in told[0][1] and "ruler" in told[-1][1] and abs(2 / 3 - capped.answer()) > capped.within
""",
    "02_hadar": """
assert fewest.guess("6") and tight.guess("1, 0, 0, 0") and lowest.guess("Gavel, shortest") and broken.guess(1000)
assert whole == 6 and steepest.guess("k80") and pays.guess("J1") and meets.guess("less") and near.guess(1.5)
assert later.tolist() == [18, 0, -12] and set(favoured.timeline.query("job == 'J3'")["accelerator"]) == {"v100"}
assert stays("my_round", scenario) == {"once", "free"}
starts = [run.timeline.query("start_s == 0") for run in (pair[0], favoured)]
starts = [first.groupby("job")["accelerator"].unique().map(list) for first in starts]
assert "v100" in starts[0]["J1"] and [*starts[1].index] == ["J2", "J3"]  # J1 waits
assert starts[1]["J3"] == ["v100"] and starts[1]["J2"] == ["p100"]
assert round(early.bound, 1) == 15.2 and [at.payoff.tolist() for at in points.values()] == [[3, 4], [2, 3], [2, 3]]
assert {bound.solved(bound.made(name)) for name in "abcdefghijklmnop"} == {8, 9, 10}
assert not any(bound.judged(n, [3, 2, 2, 1])[0] for n in (7, 8, 0, 3))
assert (measured["bound"] > 10).all() and times == 1  # until the model is changed
assert (three_jobs.completed_within(5), three_jobs.fewest_slots()) == (2, 6)
held = pair[1].timeline.groupby(["job", "start_s"])["accelerator"].nunique()
assert held["J1"].max() == 2  # a round in which J1 uses two types
need, types = {job.name: job.gpus for job in scenario.jobs}, scenario.cluster.types
assert sum(need.values()) > scenario.cluster.gpus and scenario.cluster.gpus - need["J3"] == 4 < need["J1"] + need["J2"]
assert [done_in(gpus, 4) for gpus in ((3, 3, 1), (2, 3, 2))] == [2, 3] and done_in((3, 3, 1), 5) == 3
assert [at.objective for at in points.values()] == [7, 6, 7] and gap["P2"] < gap["P3"] - 2
mean = table["mean_jct_s"]
assert mean["Hadar, every round"] < mean["Hadar"] < mean["Gavel, max-min"] < mean["Hadar, steps over time"]
assert table["moves"]["Hadar, every round"] > 5 * table["moves"]["Hadar"]
assert early.starts and not early.premise and early.ratio > 60 * early.bound
assert (measured["ratio"] >= 1).all() and (measured["ratio"] < measured["bound"]).all() and worse == 2
assert measured["starts"].all() and not measured["premise"].any() and abs(mine.objective - shipped.objective) < 1e-6
""",
    "03_hadare": """
assert idle.guess(2) and done.guess(117.5) and shortest.guess("2") and holds.guess("1") and soonest.guess("work")
assert fastest.guess("a2000-0") and best_slot.guess("M-5") and by_hand.jobs["finish_s"][0] == 117.5
assert (theorem3.cru_by_round(hadare)["assigned"][:-1] > 1 - 1e-9).all()
ends, means = by_forks["TTD (s)"], by_forks["mean JCT (s)"]
assert by_forks["CRU"].is_monotonic_increasing and ends.is_monotonic_decreasing
assert means[5] == means[6] == means[7] and ends[5] == ends[7] < ends[4]
held = [run.timeline.query("kind == 'hold'").eval("end_s - start_s").sum() for run in rounds.values()]
assert max(held) < 30  # copies of a round end together; what is idle is idle after a job's end
assert peak["M-1"] < peak["M-5"] and by_slot.groupby("line")["x"].max().tolist() == [1080, 1080] > peak.tolist()
assert theorem3.premise(checked["premise"][5]) and not theorem3.premise(checked["1 h slots"][5])
assert cru["premise"].is_monotonic_increasing and (cru.loc[5] == cru.loc[6]).all()
assert cru["2 min"][1] > cru["2 min"][2:].max() and cru["1 h slots"].max() < 0.75
assert (by_way.idxmin() == ["work", "remaining"]).all()
assert by_way["makespan_s"].rank()["balanced"] == by_way["mean_jct_s"].rank()["balanced"] == 2
assert 1 < blind.jobs["finish_s"].max() / ends[5] < 1.1 and errors.iloc[1] < errors.iloc[0] / 20
assert loses.guess("LT-0") and pd.concat(first, axis="columns").notna().all(axis=None)
own, theirs = (sorted(run.jobs["finish_s"]) for run in drawn)
assert own == theirs and times == 1  # until the model is changed
""",
    "04_hops": """
assert by_hand.to_numpy().tolist() == [[1, 2], [1, 2], [2, 1], [2, 1], [2, 1]]  # a, b
assert queue["window"].sum() == 4 and set(queue.loc[~queue["window"], "job"]) == {"text"}
assert queue.set_index("job")["sensitive"].pipe(lambda each: each[each].index.tolist()) == ["language"]
assert spread["language"] == 1 and spread["images"] == 2
assert blind.end_s > 1.2 * known.end_s and learned.belief == "layered"
errors = log.table()["error"]
assert (hops.jobs["waited_s"] > 0).all() and errors.is_monotonic_decreasing
assert 0 < errors.iloc[-1] < 0.9 * errors.iloc[0] and set(blind.timeline["job"].tail(4)) == {"language"}
assert blind.timeline["node"].iloc[-1] == "slow-0"
rho, mean_s = tried["max_finish_time_fairness"], tried["mean_jct_s"]
assert rho[0.0] > 1.5 * rho[1.0] and rho[4.0] > rho[1.0] and mean_s[4.0] > mean_s[1.0]
assert (longer[1:] > 0.3).all() and beside["max_latency_ratio"].idxmin() == "hops"
assert stays("my_plan", scenario) == {"at_most_one", "given_once"}  # the same rows
assert hops.timeline.equals(workbench.simulate(scenario, "my_plan").timeline)  # until the model is changed
assert own_plan.timeline.equals(at_power["1"].timeline) and not own_plan.timeline.equals(at_power["0"].timeline)

@workbench.formulation("weightless", base="my_plan")
def weightless(m, data):
    "Without weights"
    m.gained.deactivate()
    m.gains = pyo.Objective(expr=sum(m.gain[i, j] * m.choose[i, j] for i, j in m.CONFIGURATIONS), sense=pyo.maximize)

own_plan = workbench.simulate(scenario, "weightless")
assert same.guess("0")
assert smallest.guess("gavel") and two_gpus.guess("b, then a") and later.guess(11) and fairer.guess("down")
assert inside([(7, 20, 1), (11, 20, 2), (13, 60, 1), (17, 60, 2), (19, 20, 1)]) == 3
""",
    "05_hare": """
blind, apart = simpler.values()
assert [blind.objective, apart.objective, best.objective] == [*three_jobs.TOTALS_S]
assert blind.makespan_s == three_jobs.MAKESPANS_S["a"]
assert sorted(bounds.values()) == list(bounds.values()) and 0 < max(bounds.values()) <= best.objective
assert finish.objective == best.objective < printed.objective
assert list(ends.values()) == [6.0, 4.0, 4.5] and first.guess([short[i] for i in (1, 2, 0)])
assert dear.guess(20) and slower.guess(4.9)
assert weighed.guess(3) and nearest.guess(printed.objective) and over.guess(14) and favoured["J2"] == 2
shown = {"after_arrival", "one_gpu", "completion", "same_gpu", "rounds", "in_order"}  # as the text says
assert stays("my_order", two) == shown
assert all(run.jobs["finish_s"].mod(0.5).eq(0).all() for run in drawn)  # no switch in the picture
assert not smith.judged(["p", "q", 1], smith.case)[0] and "each job once" in smith.judged({*"pqr"}, smith.case)[1]
assert mine.values["completion_s"] == {"J2": 2.5, "J3": 2} and finish.objective == 8.5 < printed.objective
assert hat_s.round(2).tolist() == [0, 2, 0] and middle.round(2).tolist() == [2, 4.5, 6] and work_s == 14 > 2 * middle[2]
assert by_line_12.gpu.tolist() == [0, 1, 0] and round(relaxed.values["completion_s"]["C"], 3) == 6  # on GPU2
assert by_line_12.objective == 21 and round(optimum, 6) == 13 and list_schedule.claimed(lone) == 8
assert later["hare"] < 0.001 and later["default"] > 0.15 and 0.7 < effect.loc["hare", "hits"] < 0.9
assert effect.loc["default", "switch_s"] > 1000 * effect.loc["free", "switch_s"]
owned = [smith.made(name) for name in "abcdefgh"]
assert all(cost(order, own) > cheapest(own) for own in owned for order in usual(own))
told = {smith.judged([*order], own)[1] for own in owned for order in usual(own)}
assert told == {"That forgets the weights.", "That forgets the seconds."}
assert min(hours, key=hours.get) == "Hare" and hours["as printed"] > 4 * hours["Hare"] > 4 * least["interval LP"]
assert abs(mine.objective - workbench.solve(two, "hare.exact").objective) < 1e-6  # until the model is changed
""",
    "06_chronus": """
assert best.objective == 301 and softer.objective == 320 and softer.values["leases"]["d"][0] > 3
assert [(v.job, v.earliest_lease, v.in_the_way) for v in verdicts if not v.guaranteed] == [("d", 4, ("a", "c"))]
assert [(one.objective, one.bound) for one in both.values()] == [(201, 201), (201, 300)]
assert promises["guaranteed"][:3].is_monotonic_decreasing and promises["broken_guarantees"].tolist() == [0, 0, 0, 1]
assert promises.loc["10 min", "preemptions"] > promises.loc["20 min", "preemptions"]
assert found.loc["chronus", shown[1:3]].tolist() == [15, 0] and found["guaranteed"].notna().sum() == 1
assert found["preemptions"].idxmax() == "chronus" and found.loc["chronus", "unguaranteed_miss_rate"] > 0.8
shortest = workbench.simulate("preset:chronus_example", "srtf")
done = shortest.jobs.set_index("job")
owed = {job.name: job.rewards[0][0] for job in shortest.scenario.jobs if job.rewards}
missed = pd.Series({name: done["finish_s"][name] > by for name, by in owed.items()})
work_s = done["attained_s"][missed.index].groupby(missed).mean()
assert work_s[True] > 4 * work_s[False]  # those that miss are longer
assert found["weighted_miss_rate"].nsmallest(2).index.tolist() == ["srtf", "chronus"]
assert mine.objective == best.objective  # until the model is changed
assert stays("my_leases", scenario) == {"in_time", "capacity", "one_deadline"}  # as the text says

assert soft_earns.guess(80) and in_time.guess(3) and refused.guess("d") and how_many.guess(2) and longer.guess("fewer")
assert [not_promised(order) for order in ("dcba", "adcb", "badc")] == [["a"], ["c"], ["c"]]
assert misses.guess("srtf") and that_fit((21, 39)) == [10] and needed(5) == 7 and dear.guess(3)
assert favoured.values["leases"]["a"] and not mine.values["leases"]["a"] and times == 1  # until the model is changed
assert not ask.judged("d", "abcd")[0] and ask.judged(["d"], "abcd")[0]
""",
    "07_compare": """
assert deadlines.guess("chronus") and busiest.guess("No") and sooner.guess(5) and certain.guess(5)
assert sum(job.gpus for job in scenario.jobs) == 85 and not found.failed
assert both_beaten(("hare", "hadar")) == both_beaten(("hadar", names[0])) == ["chronus", "srtf"]
readers = [set(reads.index[reads[part] == "reads"]) for part in ("gpu_choices", "weight", "rewards")]
assert readers == [{"hops"}, {"gavel.max_min_fairness", "hare"}, {"chronus"}]
winners = {"mean_jct_s": "srtf", "max_finish_time_fairness": "srtf", "utilisation": "hadar", "makespan_s": "hadar"}
winners |= {"preemptions": "hare", "weighted_miss_rate": "chronus"}
assert all(best.index[best[measure]].tolist() == [name] for measure, name in winners.items())
assert worth.guess("less than one of them") and own > table["weighted_miss_rate"]["chronus"]  # until it is changed
assert workbench.summary(mine)["mean_jct_s"] > table["mean_jct_s"][names[0]]
assert (slower.sum(), len(due)) == (7, 8)
assert table["weighted_miss_rate"]["chronus"] < table["weighted_miss_rate"]["srtf"]
change = mine.jobs.set_index("job")["finish_s"] - runs[names[0]].jobs.set_index("job")["finish_s"]
assert change[sorted(dated)].mean() < 0 < change.drop(sorted(dated)).mean()  # the others pay, on average
assert table["mean_jct_s"].idxmax() == "hare" and metrics.diverged_s(jobs) == scenario.jobs[0].arrival_s
assert [same_without(name) for name in ("gavel.max_min_fairness", "hadar", "srtf")] == [True] * 3
""",
    "08_what_if": """
from workbench.analysis.metrics.confidence import t_quantile
shown = found.differences.set_index(["change", "measure"])
mean_jct, mean_wait, ends = (shown.xs(name, level="measure") for name in ("mean_jct_s", "mean_wait_s", "makespan_s"))
assert (mean_jct["pairs"] == 8).all() and (mean_jct["high"] < 0).all()
assert (ends["low"] < 0).all() and (ends["high"] > 0).all() and (mean_wait["low"] > 0).tolist() == [False, False, True]
assert mean_jct.loc[changes[1], "after"] < mean_jct.loc[changes[0], "after"] < mean_jct.loc[changes[2], "after"]
own_run = workbench.summary(workbench.simulate(scenario, today))["mean_jct_s"]
assert (mean_jct["before"] == own_run).all() and len(found.runs) == 4 and "its 10 days" in " ".join(found.conclusions)
assert scenario.cluster.gpus == len(scenario.cluster.each_node) == 6 and round(t_quantile(0.95, 6), 3) == 2.447
assert round(relaxed.after, 3) == 0.85 and bought["level"].round(6).tolist()[1:] == [1, 1]
assert by_type[["dual", "one_more"]].idxmax().tolist() == ["v100"] * 2
assert by_type[["dual_per_usd", "one_more_per_usd"]].idxmax().tolist() == ["k80"] * 2
ends_h = bought["last job ends (h)"].tolist()
assert ends_h[1] < ends_h[2] < ends_h[0] and set(bought.index[1:]) == {"2 V100, 1 K80", "1 V100, 2 K80"}
assert jobs[0][["moves", "preemptions"]].to_numpy().sum() == 0  # first in, first out leaves a job where it began
assert 0 < stopped < moved and srtf_h < 0.4 * fifo_h
ran_s = [each["finish_s"] - each["arrival_s"] - each["waited_s"] for each in jobs]
gained = (jobs[0]["waited_s"].mean() - jobs[1]["waited_s"].mean(), ran_s[0].mean() - ran_s[1].mean())
assert gained[1] > 4 * gained[0] > 0 and 2 * waits < fell and 2 * fell > later.sum() == 63
fewer = found.runs[3][0]
assert [run.scenario.cluster.gpus for run in (fewer, *runs)] == [5, 6, 6]
begun = [(run.timeline.groupby("job")["accelerator"].first() == "k80").sum() for run in (fewer, runs[0])]
assert begun[0] < begun[1]  # with a K80 fewer
assert (order, round(stated, 3)) == ({"v100": 0, "k80": 1}, 0.85)  # until the budget is changed
assert spends.guess("one V100") and round(richer_level, 2) == 1.15
two_more = three.replace(cluster={**cluster, "nodes": [nodes[0], {**nodes[1], "count": 3}]})
ran = workbench.simulate(two_more, fair)
assert ran.end_s > drawn[0].end_s > drawn[1].end_s
on = ran.timeline[ran.timeline["accelerator"] == "v100"]
assert (on["end_s"] - on["start_s"]).sum() < 0.4 * ran.end_s  # idle in most rounds
assert order["k80"] == 1
rows_with = [workbench.relax(workbench.solve(three, fair), "capacity[k80]", more_k80).after for more_k80 in (1, 2, 5)]
assert max(rows_with) - min(rows_with) < 1e-6  # by the rows further K80 bring nothing
one = rows.xs("mean_jct_s", level="measure")
assert (one["low"] > 0).all()
from workbench.analysis.what_if import report
assert "<script" not in report.what_if_report(found, values)
assert fastest.guess(changes[1]) and losers.guess(63) and buys.guess("k80") and queue.guess(180)
""",
    "09_sweep": """
by_round = table.groupby(["scheduler", "round_s"])["restarts"].mean()
assert (table["status"] == "done").all() and (told[-1].done, more[0].kept, more[-1].done) == (40, 40, 20)
assert by_round["fifo"].max() == 0 < by_round["las"].iloc[-1] < by_round["las"].iloc[0]
assert wider[wider["scheduler"] != "srtf"]["wall_s"].tolist() == table["wall_s"].tolist(), "taken from the store"
assert changed.guess(10) and (capping["status"] == "done").all() and anew[0].kept == 10
assert by_load.groupby("scenario")["mean_jct_s"].mean().is_monotonic_decreasing
assert [abs(mean) > half for mean, half in later.values()] == [True, False, True]
assert min(later["3 min"][0], later["120 min"][0]) > 0
assert gain[90] == (0, 0) and gain[5][0] > max(gain[5][1], 1.8) and gain[20][0] < gain[20][1]
assert all(mean_interval(hours[s])[1] > 2 * later[name][1] for s, name in ((180, "3 min"), (7200, "120 min")))
assert unsure.guess("10 min") and "both bad" in unsure.because and made.guess(20) and busy.guess("5")
folder.cleanup()
""",
    "10_symbols": """
assert plain.loc["a job"].tolist() == ["m", "j", "i", "n", "i"]
assert used()["k"] == 4 and used()["W"] == 3
assert plain.loc["weight or priority"].ne("").sum() == 3 and plain.loc["what completing is worth"].ne("").sum() == 2
assert handled.set_index("handles").loc["the number of GPUs is chosen"].tolist() == [False, False, True, False, False]
assert set(table["paper"]) == set(names)
""",
    "11_five_statements": """
assert sized.guess("hops") and late.guess("hops") and missed[["gavel.max_min_fairness", "hadar", "chronus"]].eq(0).all()
stopped = beside["stopped"]
assert stopped["hadar"] == stopped["hare"] == 0 and stopped.idxmax() == "hops" and stopped.idxmin() in ("hadar", "hare")
high = [int.from_bytes(each._repr_png_()[0][20:24], "big") / 2 for each in late.show().drawings]
assert len(high) == 5 and sum(high) < 800  # px: all five in a window
assert stopped["gavel.max_min_fairness"] > stopped["chronus"] > 0 and quickest.guess("hadar")
assert promised.guess("no, but earlier than before") and (ends["told"] > ends["before"]).drop("plain").all()
wait, spells = pair[0].jobs.set_index("job").loc["plain"], pair[0].timeline
assert wait["waited_s"] == 12240 and pair[0].scenario.jobs[0].gpus == 4
begins = [360 * n for n in range(int(wait["finish_s"] // 360)) if not (
    (spells["job"] == "plain") & (spells["start_s"] <= 360 * n + 10) & (spells["end_s"] > 360 * n + 10)).any()]
used = [((spells["start_s"] <= at + 10) & (spells["end_s"] > at + 10)).sum() for at in begins]
assert len(begins) == 34 and sum(gpus < 8 for gpus in used) == 7  # another's turn, or too few of a type
assert 0.55 < share < 0.65 and 1.3 < had_h < 1.5 and not readers.judged([*papers[:1], "hadar", "hare"], "weight")[0]
moves, waited_s = (runs["hadar"].jobs.set_index("job")[name] for name in ("moves", "waited_s"))
assert waited_s.idxmax() == "plain" and [worth for _, worth in jobs[3].rewards] == [100, 80, 50, 20]
assert set(moves.index[moves > 0]) == {"elastic", "soft", "late"} and moves.sum() == 4
fastest = max(row.steps_per_s for row in scenario.throughputs if (row.model, row.gpus) == (scenario.jobs[0].model, 4))
assert fastest < scenario.jobs[0].steps / 7200  # in no schedule within two hours
owns = [(4, 3), (4, 4), (4, 5), (5, 3), (5, 4)]
assert [fewest(own) - sum(own) for own in owns] == [2, 2, 2, 1, 1]
for own in owns[:2]:
    ways = (own, (own[0] + 2, own[1] + 1), (4, own[1] + 2), (6, 2), (5, own[1] + 1))
    assert not any(bought.judged(way, own)[0] for way in ways)
    assert loss(own[0], own[1] + 2) == loss(own[0], own[1] + 1) == loss(*own)  # only fast GPUs help
few = scenario.replace(jobs=[job for job in scenario.jobs if job.name != "late"])
heavy = scenario.replace(jobs=[job.model_copy(update={"weight": 10.0}) if job.name == "plain" else job for job in jobs])
assert not workbench.simulate(heavy, "hare").jobs["finish_s"].equals(runs["hare"].jobs["finish_s"])
both = (workbench.simulate(few, "hare"), runs["hare"])
early = [run.timeline.query("start_s < 1800")[["job", "node", "start_s"]] for run in both]
assert early[0].reset_index(drop=True).equals(early[1].reset_index(drop=True))  # no model knows of it before
assert [job.rewards[0][1] for job in jobs if job.rewards] == [100, 100] and abs(missed["hops"] - 149 / 198) < 1e-9
begins = runs["hadar"].timeline.groupby("job")["start_s"].min()
assert begins.drop("late").idxmax() == "plain" and begins["plain"] > 3 * 3600
assert set(runs["hare"].timeline["gpus"]) == {1} and runs["chronus"].timeline["start_s"].min() >= 0
hare = runs["hare"].timeline.query("job == 'plain'")
assert hare.groupby(["node", "slot"])["start_s"].min().nunique() > 1
""",
    "12_build_your_own": """
assert endless.guess("no answer is the best") and {kind for row in crowded for kind in row["gpus"]} == {"v100"}
assert sum(node.gpus for node in more.nodes if node.accelerator == "v100") == 4
assert counted.guess(3) and starved.guess("wide") and {kind for row in fast for kind in row["gpus"]} == {"v100"}
speed = {row.model: row.steps_per_s for row in scenario.throughputs if row.accelerator == "v100"}
assert (speed["wide"], speed["big"] + speed["small"]) == (9, 14)
assert [node.gpus for node in needed.nodes if "not there" in node.name] == [2, 1]
assert {(row["job"], *row["gpus"]) for row in doubled} > {("big", "v100"), ("big", "k80")}
for each, part in ((time, "job_time"), (capacity, "capacity"), (fairness, "epigraph")):
    for said, mistake in own.MISTAKES[part].items():
        assert each.judged(mistake, each.case) == (False, said), (part, said, each.judged(mistake, each.case))
    each.answer(each.solved(each.case))
again = workbench.rows(workbench.solve(scenario, "built"))
for part in ("job_time", "capacity", "epigraph"):
    mine, paper = (each[each["part"] == name] for each, name in ((again, f"my_{part}"), (theirs, part)))
    assert mine["index"].tolist() == paper["index"].tolist() and (mine["right"].array == paper["right"].array).all()
    assert (abs(mine["left"].array - paper["left"].array) < 1e-9).all() and (mine["sense"].array == "<=").all()
assert abs(both["built"].objective - 1) + abs(both["gavel.max_min_fairness"].objective - 1) < 1e-9
assert set(own.SPOILT) - set(found["part"]) == {spoilt.case}
for each in (time, capacity, fairness):
    each.answer()
""",
}
"""What the text of a page says: run behind it, on the values that it has. No page asserts before its readers."""


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def names(notebooks: list[Path]) -> list[str]:
    return [path.stem for path in notebooks]


def lines_of(name: str, source: str) -> list[int]:
    """How many lines each call of that name has."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        (end or 0) - n + 1
        for call in calls
        if getattr(call.func, "id", "") == name
        for n, end in [(call.lineno, call.end_lineno)]
    ]


def minutes(notebook: Any) -> float:
    """What a lesson takes up to its "Further", by the words, equations and lines in it, and by what there is to do."""
    texts = [cell.source.startswith("## Further") for cell in notebook.cells]
    cells = notebook.cells[: texts.index(True) if True in texts else None]
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    words = re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL).split()
    parts = {"Do": text.count("**Do:**"), "equation": text.count("$$") // 2, "line": 0}
    for source in (cell.source for cell in cells if cell.cell_type == "code"):
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
        for name in ("Guess", "Draw", "Exercise"):
            found = [call for call in calls if getattr(call.func, "id", "") == name]
            parts[name] = parts.get(name, 0) + len(found)
            if name == "Guess":
                told = [
                    at
                    for call in found
                    for at in (call.args[0], *(k.value for k in call.keywords if k.arg == "because"))
                ]
                held = (node.value for at in told for node in ast.walk(at) if isinstance(node, ast.Constant))
                words += [word for value in held if isinstance(value, str) for word in value.split()]
        shown = [k.value for call in calls for k in call.keywords if k.arg == "parts" and isinstance(k.value, ast.List)]
        parts["equation"] += sum(len(each.elts) for each in shown)
        if EXERCISE not in source and GUESS not in source:
            parts["line"] += sum(re.match(r"\s*(#|from |import |$)", line) is None for line in source.splitlines())
    return (len(words) * TAKES_S["word"] + sum(TAKES_S[name] * n for name, n in parts.items())) / 60


def test_there_are_notebooks() -> None:
    assert {"00_start_here", "01_gavel"} <= set(names(NOTEBOOKS))


def test_letters_that_gavel_has_in_other_lessons_stand_beside_those_of_its_models() -> None:
    told = read(PROJECT / "notebooks/10_symbols.ipynb").cells[4].source
    for lesson in ("00_start_here", "01_gavel", "12_build_your_own"):
        said = "".join(cell.source for cell in read(PROJECT / f"notebooks/{lesson}.ipynb").cells)
        assert {*re.findall(r"\b(?:[XT]_\{mj\}|c_j)", said)} <= {*re.findall(r"\b[XTc]_\{?\w+\}?", told)}, lesson


def test_means_of_stops_are_not_cut_off_once_there_are_seeds() -> None:
    means = pd.DataFrame({"mean_jct_s": 3600.0, "makespan_s": 7200.0, "preemptions": [2.6, 3.0]}, index=["a", "b"])
    (cell,) = (source for source in code(read(PROJECT / "notebooks/11_five_statements.ipynb")) if '"stopped"' in source)
    exec(cell, page := {"found": SimpleNamespace(mean=means.copy), "missed": pd.Series(0.5, means.index)})
    assert page["beside"]["stopped"].tolist() == [2.6, 3.0]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names(NOTEBOOKS))
def test_a_notebook_is_thin_and_stripped(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    cells = code(notebook)
    trees = [ast.parse(source) for source in cells]
    own = [source for source in cells if OWN_MODEL in source and EXERCISE not in source]
    assert len(own) == (path.stem[:2] in {f"{n:02}" for n in (*range(10), 11, 12)}), "a model stands in one cell"
    asked = [source for source in cells if EXERCISE in source]
    assert all(lines <= MOST_EXERCISE_LINES for source in asked for lines in lines_of("Exercise", source))
    thin = [source for source in cells if source not in own + asked]
    lines = [line for source in thin for line in source.splitlines() if line.strip() and not line.startswith("#")]
    assert (
        len(lines) - sum(n for source in thin for n in lines_of("Guess", source) + lines_of("Draw", source))
        <= MOST_LINES
    )
    for tree in map(ast.parse, thin):
        held = [
            node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        ]
        assert not held, "logic belongs in the packages"
    words = sum(len(cell.source.split()) for cell in notebook.cells if cell.cell_type == "markdown")
    assert path not in OWN_RUNS or words <= MOST_WORDS
    stated = re.search(r"\*\*Time:\*\* (\d+) minutes\.", notebook.cells[0].source)
    assert path not in OWN_RUNS or (stated and int(stated[1]) == round(minutes(notebook))), minutes(notebook)
    assert path not in OWN_RUNS or (20 <= minutes(notebook) <= 40) == (path.stem != "00_start_here"), minutes(notebook)
    asserts = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    assert bool(asserts) == (path not in OWN_RUNS), "what a lesson claims is checked behind it, in CLAIMS"
    assert (path.stem in CLAIMS) == (path in OWN_RUNS) and notebook.cells[0].source.startswith("# ")
    for cell in notebook.cells:
        assert cell.get("outputs", []) == [] and cell.get("execution_count") is None and cell.get("id")
        folds = cell.cell_type == "code" and (EXERCISE in cell.source or GUESS in cell.source)
        assert cell.metadata == (FOLDED if folds else {})
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert "widgets" not in notebook.metadata and str(PROJECT) not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names(NOTEBOOKS))
def test_what_a_notebook_points_to_exists(path: Path) -> None:
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target
    for name in re.findall(r"`workbench\.([A-Za-z_.]+)[(`]", text):
        found: Any = workbench
        for part in name.split("."):
            found = getattr(found, part)


@pytest.mark.parametrize("path", OWN_RUNS, ids=names(OWN_RUNS))
def test_what_a_section_under_further_needs_stands_in_it_or_in_the_lesson(path: Path) -> None:
    """As the pages say: each such section stands by itself."""
    core, own, further = set(dir(builtins)), set[str](), False
    alone = any("stands by itself" in cell.source for cell in read(path).cells)
    for cell in read(path).cells if alone else ():
        if cell.cell_type == "markdown":
            further = further or cell.source.startswith("## Further")
            own = set() if further and re.search("^### ", cell.source, re.MULTILINE) else own
            continue
        nodes = [*ast.walk(ast.parse(cell.source))]
        made = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        made |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        made |= {(node.asname or node.name).split(".")[0] for node in nodes if isinstance(node, ast.alias)}
        read_here = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        assert not further or read_here <= core | own | made, read_here - core - own - made
        (own if further else core).update(made)


def shows_widgets(cell: Any) -> bool:
    return any("application/vnd.jupyter.widget-view+json" in out.get("data", {}) for out in cell.get("outputs", []))


@pytest.fixture(scope="module")
def warm() -> Iterator[Path]:
    """Where the kernels of `warm_kernel` are found."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")])))
        with warm_kernel.serving(OWN_RUNS) as folder:
            yield folder


@pytest.mark.parametrize("path", OWN_RUNS, ids=names(OWN_RUNS))
def test_a_notebook_runs(path: Path, tmp_path: Path, warm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a copy, with the kernel's events pumped after cells that show widgets, so that labs live."""
    shutil.copy(path, tmp_path)
    monkeypatch.setenv("JUPYTER_PATH", str(warm))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    notebook = read(tmp_path / path.name)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(COUNTED % MOST_DECISIONS.get(path.stem, 3000)))
    notebook.cells.append(nbformat.v4.new_code_cell(f"{STAYS}{CLAIMS[path.stem]}{SOLVED}decisions_asked.close()"))
    client = NotebookClient(notebook, timeout=PATIENCE_S, resources={"metadata": {"path": str(tmp_path)}})

    async def run() -> None:
        async with client.async_setup_kernel():
            for index, cell in enumerate(notebook.cells):
                await client.async_execute_cell(cell, index)
                await asyncio.sleep(0.1 if shows_widgets(cell) else 0)

    asyncio.run(run())
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.get("text")
            shown = output.get("data", {}).get("text/html", "")
            assert "...</td>" not in shown and not re.search(r">-0(\.0*)?<", shown), "cut, or minus 0"
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == [path.name], "a notebook leaves no files"
