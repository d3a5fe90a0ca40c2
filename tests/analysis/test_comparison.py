"""Comparing schedulers: cases, table, ratios, spread, processes, saving."""

import multiprocessing
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import workbench
from widgets.compare_lab.tables import _clearly_best, _pairs, _scale
from workbench.analysis import bootstrap
from workbench.analysis.bootstrap import other_jobs
from workbench.analysis.comparison import PAIRED, Comparison, ComparisonCase, best_of, list_cases, mean_ratios
from workbench.analysis.metrics import MAIN
from workbench.analysis.metrics.cards import pair_as_read, words_of_pairs
from workbench.analysis.metrics.confidence import chance, holm
from workbench.analysis.metrics.summary import change_of
from workbench.base.errors import InputError, ScenarioError
from workbench.scheduling.decision import InvalidDecision
from workbench.scheduling.knob import Knob

SMALL = workbench.preset("start_here")
KEYS = ["scheduler", "belief", "seed"]


def lottery(snapshot, memory, knobs, rng):
    """One job, drawn, on the first node on which it can run."""
    names = list(snapshot.jobs.names)
    rng.shuffle(names)
    for name in names:
        job = snapshot.jobs.jobs[snapshot.jobs.at[name]]
        for node, free in zip(snapshot.nodes.names, snapshot.nodes.free.tolist(), strict=True):
            gpus = {node: job.gpus}
            if free >= job.gpus and snapshot.belief.on_nodes(job, gpus) > 0:
                again = workbench.Assignment(name, gpus, snapshot.now_s + 60)
                return workbench.Decision(assign=(again,)), memory
    return workbench.Decision(), memory


def greedy(snapshot, memory, knobs, rng):
    """Gives away more than there is."""
    job = snapshot.jobs.jobs[0]
    return workbench.Decision(assign=(workbench.Assignment(job.name, {"slow-0": 99}, snapshot.now_s + 60),)), memory


@pytest.fixture(scope="module", autouse=True)
def declared(own_of_module):
    knobs = [Knob("round_s", 60.0, "length", minimum=1)]
    workbench.scheduler("test-compare-lottery", knobs=knobs, round_s=60)(lottery)
    workbench.scheduler("test-compare-greedy", round_s=60)(greedy)


@pytest.fixture(scope="module")
def drawn(declared):
    """An own scheduler that draws, and fifo, with three seeds."""
    return workbench.compare(SMALL, ["test-compare-lottery", "fifo"], seeds=[3, 1, 2])


def test_runs_are_those_of_simulate(drawn):
    assert [(case.label, case.seed) for case in drawn.cases] == [
        (name, seed) for name in ("test-compare-lottery", "fifo") for seed in (3, 1, 2)
    ]
    assert drawn.labels == ("test-compare-lottery", "fifo")
    for case, run in zip(drawn.cases, drawn.runs, strict=True):
        assert run == workbench.simulate(SMALL, case.scheduler, seed=case.seed)


def test_pairs_are_seed_by_seed_with_students_interval_and_ranks(drawn):
    """Recomputed with scipy: the paired t test of fifo against the lottery, and who is first at how many seeds.

    Of ratios the logarithms are tested, so that it does not matter which of the two is written on top."""
    table = drawn.measures.pivot(index="seed", columns="scheduler", values="mean_jct_s")
    mine, base = table["fifo"], table["test-compare-lottery"]
    test = scipy.stats.ttest_rel(mine, base)
    span, by = test.confidence_interval(), np.exp(scipy.stats.ttest_1samp(np.log(mine / base), 0).confidence_interval())
    found = drawn.paired().set_index("measure").loc["mean_jct_s"]
    assert list(drawn.paired().columns) == list(PAIRED) and (found.scheduler, found.seeds) == ("fifo", 3)
    got = (found.difference, found.low, found.high, found.ratio, found.ratio_low, found.ratio_high, found.p)
    wanted = ((mine - base).mean(), span.low, span.high, scipy.stats.gmean(mine / base), *by, test.pvalue)
    assert got == pytest.approx(wanted) and found["rank"] == pytest.approx(1 + (mine > base).mean())
    turned = drawn.paired("fifo").set_index("measure").loc["mean_jct_s"]
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))
    inverse = (turned.ratio, turned.ratio_high, turned.ratio_low)
    assert inverse == pytest.approx((1 / found.ratio, 1 / found.ratio_low, 1 / found.ratio_high))


def test_several_beliefs_are_an_axis_and_say_what_it_is_worth_to_know_more():
    beliefs = ["oracle", "noisy:sd=1.5,seed=2", "noisy:sd=0"]
    found = workbench.compare(SMALL, {"lmm": "gavel.max_min_fairness"}, belief=beliefs)
    assert found.labels == ("lmm, oracle", "lmm, noisy:sd=1.5,seed=2", "lmm, noisy:sd=0.0")
    assert list(found.beliefs.values()) == ["oracle", "noisy:sd=1.5,seed=2", "noisy:sd=0.0"]
    pair = found.paired().set_index(["measure", "scheduler"])["ratio"]["mean_jct_s"]
    assert pair["lmm, noisy:sd=1.5,seed=2"] != pytest.approx(1) and pair["lmm, noisy:sd=0.0"] == pytest.approx(1)
    with pytest.raises(InputError, match="each once"):
        workbench.compare(SMALL, ["fifo"], belief=["oracle", "oracle"])
    own = workbench.compare(SMALL, ["fifo", "las", "hops"], belief={"las": "noisy:sd=1.5,seed=2", "hops": "paper"})
    assert own.beliefs == {"fifo": "oracle", "las": "noisy:sd=1.5,seed=2", "hops": "nodes"}
    for wrong, told in (({"la": "oracle"}, "las"), (3, "a list of these")):
        with pytest.raises(InputError, match=told):
            workbench.compare(SMALL, ["las"], belief=wrong)  # type: ignore[arg-type]


def test_each_seed_has_its_own_errors_unless_they_are_named():
    """Else an interval over seeds is one draw of errors, as often as there are seeds."""
    drawn, held = (
        workbench.compare(SMALL, ["gavel.max_min_fairness"], seeds=range(3), belief=belief)
        for belief in ("noisy:sd=1.5", "noisy:sd=1.5,seed=2")
    )
    assert len(set(drawn.table["mean_jct_s"])) > 1 == len(set(held.table["mean_jct_s"]))
    assert drawn["gavel.max_min_fairness", 2] != held["gavel.max_min_fairness", 0]
    assert drawn.table["mean_jct_s"][2] == held.table["mean_jct_s"][0]
    assert set(drawn.beliefs.values()) == {"noisy:sd=1.5"} and all(run.drew for run in drawn.runs)


def test_holm_is_by_hand_and_a_chance_without_spread_is_certain():
    assert holm([0.01, 0.04, np.nan, 0.03]) == pytest.approx([0.03, 0.06, np.nan, 0.06], nan_ok=True)
    assert chance(0.0, 0.0, 3) == 1.0 and chance(2.0, 0.0, 3) == 0.0 and np.isnan(chance(1.0, np.nan, 1))


def test_table_holds_every_measure(drawn):
    assert list(drawn.measures.columns) == [*KEYS, *drawn.summaries[0]]
    for row, run in zip(drawn.measures.to_dict("records"), drawn.runs, strict=True):
        expected = workbench.summary(run)
        for name, value in expected.items():
            assert row[name] == pytest.approx(value, nan_ok=True)


def test_the_short_table_is_the_main_part_of_all(drawn):
    assert list(drawn.table.columns) == [*KEYS, *MAIN] and len(drawn.table.columns) <= 11
    assert drawn.table.equals(drawn.measures[[*KEYS, *MAIN]])


def test_it_says_what_it_is_in_a_line_and_as_a_page_with_units(drawn):
    assert repr(drawn) == "<Comparison: 6 runs of test-compare-lottery, fifo>"
    page = drawn._repr_html_()
    assert (
        "2 schedulers, 6 runs" in page
        and "Mean JCT" in page
        and "<th>Seed</th>" in page
        and "Utilisation (%)</th>" in page
    )
    assert page.count("<tr") == 7
    assert "<th>Seed</th>" not in workbench.compare(SMALL, ["fifo"])._repr_html_()


def test_mean_and_spread_over_seeds(drawn):
    mine = drawn.table[drawn.table["scheduler"] == "test-compare-lottery"]["mean_jct_s"]
    assert len(set(mine)) > 1
    assert drawn.mean().loc["test-compare-lottery", "mean_jct_s"] == pytest.approx(np.mean(mine))
    assert drawn.spread().loc["test-compare-lottery", "mean_jct_s"] == pytest.approx(np.std(mine, ddof=1))
    assert drawn.spread().loc["fifo", "mean_jct_s"] == 0
    assert list(drawn.mean().index) == list(drawn.spread().index) == list(drawn.labels)


def test_the_best_of_each_measure_is_marked_the_way_that_is_better():
    means = pd.DataFrame(
        {
            "mean_jct_s": [3.0, 1.0, 1.0 + 1e-12],
            "utilisation": [0.9, 0.8, 0.7],
            "allocated": [0.9, 0.8, 0.7],
            "makespan_s": [5.0, 5.0, 5.0],
            "cost_usd": [1.0, 2.0, np.nan],
        },
        index=["a", "b", "c"],
    )
    best = best_of(means)
    assert best["mean_jct_s"].tolist() == [False, True, True] and best["utilisation"].tolist() == [True, False, False]
    assert not best[["allocated", "makespan_s", "cost_usd"]].to_numpy().any()


def test_the_best_of_a_comparison_is_that_of_its_means(drawn):
    assert drawn.best().equals(best_of(drawn.mean()))
    means = drawn.mean()["mean_jct_s"]
    assert drawn.best()["mean_jct_s"].idxmax() == means.idxmin()


def test_seeds_that_agree_have_no_spread_not_even_the_rounding_of_their_mean(drawn):
    same = drawn.measures.assign(makespan_s=0.1)
    assert same.loc[same["scheduler"] == "fifo", "makespan_s"].std() > 0, "the rounding that this is about"
    assert (replace(drawn, measures=same).spread()["makespan_s"] == 0).all()


def test_one_seed_has_no_spread():
    one = workbench.compare(SMALL, ["fifo"])
    assert one.table["seed"].tolist() == [SMALL.seed]
    assert one.spread().isna().all(axis=None)
    assert one.mean().loc["fifo", "makespan_s"] == one.table["makespan_s"][0]


def test_a_measure_that_a_seed_lacks_has_no_mean():
    cut = workbench.compare(SMALL, ["fifo"], until_s=60, seeds=[0, 1])
    assert np.isnan(cut.mean().loc["fifo", "makespan_s"])
    assert cut.mean().loc["fifo", "jobs_unfinished"] == 3


def test_ratios_pair_the_seeds(drawn):
    ratios = drawn.ratios(to="fifo")
    assert list(ratios.columns) == list(drawn.measures.columns)
    assert ratios[KEYS].equals(drawn.table[KEYS])
    fifo = drawn.table[drawn.table["scheduler"] == "fifo"].set_index("seed")["mean_jct_s"]
    expected = [row.mean_jct_s / fifo[row.seed] for row in drawn.table.itertuples()]
    assert ratios["mean_jct_s"].tolist() == pytest.approx(expected)
    first = drawn.ratios()
    assert first["mean_jct_s"][:3].tolist() == [1, 1, 1]


@pytest.mark.filterwarnings("error")
def test_none_is_marked_where_mean_and_ratios_say_the_opposite() -> None:
    """Of 20 seeds one favours "a" by so much that its mean is lower, and in the others it is 10 % slower."""
    seconds = {"a": [1100.0] * 19 + [10000.0], "b": [1000.0] * 19 + [13000.0]}
    cases = [ComparisonCase(label, "fifo", {}, seed) for label in seconds for seed in range(20)]
    rows = [(case.label, "oracle", case.seed, seconds[case.label][case.seed]) for case in cases]
    found = Comparison(tuple(cases), (), (), pd.DataFrame(rows, columns=[*KEYS, "mean_jct_s"]))
    means = found.mean()[["mean_jct_s"]]
    pair = found.paired_as_read("b").iloc[0]
    assert means["mean_jct_s"].idxmin() == "a" and pair.ratio_low > 1 and not pair.unsure
    assert not _clearly_best(found, means, [_scale("mean_jct_s")]).any(axis=None)
    assert mean_ratios(found, "b")["a"] == pytest.approx({"seeds": 20, "mean_jct_s": pair.ratio}), "one ratio for both"
    apart = replace(found, cases=(cases[0], cases[-1]), measures=found.measures.iloc[[0, -1]])
    assert mean_ratios(apart, "b")["a"] == pytest.approx({"seeds": 0, "mean_jct_s": np.nan}, nan_ok=True)
    assert pair_as_read({**pair, "seeds": 1}) == ()
    assert pair_as_read({**pair, "ratio": 2.0, "ratio_low": 1.999, "ratio_high": 2.001}) == ("2.00",), "all read alike"
    rows = found.measures[found.measures["scheduler"] == "a"].assign(scheduler="c")
    case = ComparisonCase("c", "fifo", {}, 0)
    three = replace(found, cases=(*cases, case), measures=pd.concat([found.measures, rows]))
    assert three.paired_as_read("b").iloc[0].ratio_low < pair.ratio_low, "of more schedulers each interval is wider"
    late = replace(found, measures=found.measures.assign(slo_violations=[0.0] * 19 + [1.0] + [0.0] * 20))
    pair = late.paired_as_read("b").set_index("measure").loc["slo_violations"]
    assert np.isnan(pair.ratio) and pair.low < 0 < pair.high and pair.unsure, "by the difference, of 1 in 20"
    none = replace(late, measures=late.measures.assign(preemptions=0.0, weighted_miss_rate=[0.0, 0.0008] + [0.0] * 38))
    said, page = words_of_pairs(none.paired_as_read("b"), "a"), _pairs(none, "b")
    ends = (change_of(pair[end], "") for end in ("low", "high"))
    assert said["slo_violations"].startswith(f"  +0.05 ({' to '.join(ends)}), rank") and "preemptions" not in said
    assert {("a", name) for name in said} == {*page}, "where neither ever has any nothing is said"
    assert re.fullmatch(r"  \+0\.004 points \(−0\.00\d points to \+0\.01 points\), rank .*", said["weighted_miss_rate"])
    assert page["a", "weighted_miss_rate"].startswith("+0.004 points (−0.00")
    halved = replace(found, measures=found.measures.assign(mean_jct_s=[500.0] * 20 + [*map(float, range(1000, 1020))]))
    clear = _clearly_best(halved, halved.mean()[["mean_jct_s"]], [_scale("mean_jct_s")])
    assert clear["mean_jct_s"].to_dict() == {"a": True, "b": False}


def test_nothing_is_a_multiple_of_0(drawn):
    assert (drawn.table["jobs_unfinished"] == 0).all()
    assert drawn.ratios()["jobs_unfinished"].isna().all()
    with pytest.raises(InputError, match="fifo"):
        drawn.ratios(to="srtf")


def test_window():
    whole = workbench.compare(SMALL, ["fifo"])
    part = workbench.compare(SMALL, ["fifo"], window=(0, 1))
    assert part.measures["jobs"][0] == 2 and whole.measures["jobs"][0] == 3
    assert part.runs[0].end_s <= whole.runs[0].end_s
    assert part.summaries[0].window == (0, 1)
    said = "Measured are jobs 0 to 1 by arrival; 0 jobs before them for warm-up and 1 job after them for cool-down"
    assert said in part._repr_html_() and "cool-down" not in whole._repr_html_()


def test_plan_of_the_scenario_is_the_default():
    expected = [plan.scheduler for plan in SMALL.schedulers]
    assert [case.scheduler for case in list_cases(SMALL)] == expected
    with pytest.raises(InputError, match="names none"):
        list_cases(SMALL.replace(schedulers=()))


def test_labels_name_the_knobs_where_a_name_comes_twice():
    cases = list_cases(SMALL, ["las", ("fifo", {"round_s": 60}), ("fifo", {}), ("fifo", {"blocking": False})])
    assert [case.label for case in cases] == ["las", "fifo round_s=60", "fifo", "fifo blocking=False"]
    assert cases[1] == ComparisonCase("fifo round_s=60", "fifo", {"round_s": 60}, SMALL.seed)


@pytest.mark.parametrize(
    ("schedulers", "options", "expected"),
    [
        ([], {}, "at least one"),
        ("fifo", {}, "a list"),
        (["nothing_such"], {}, "fifo"),
        ([("fifo", {"nothing_such": 1})], {}, "round_s"),
        ([("fifo", {"round_s": "soon"})], {}, "a number"),
        (["fifo", "fifo"], {}, "once"),
        ([("fifo", {"round_s": 9}), ("fifo", {"round_s": 9})], {}, "once"),
        (["fifo"], {"seeds": []}, "at least one"),
        (["fifo"], {"seeds": [1, 1]}, "each once"),
        (["fifo"], {"seeds": [-1]}, "from 0"),
        (["fifo"], {"seeds": [0.5]}, "whole"),
        (["fifo"], {"workers": 0}, "from 1"),
        (["fifo"], {"workers": True}, "from 1"),
        (["fifo"], {"window": (0, 9)}, "last"),
        (3, {}, "schedulers"),
        ([None], {}, "schedulers"),
        (["fifo", ("las",)], {}, "schedulers"),
        ([("las", 3)], {}, "knobs of las"),
        (["fifo"], {"seeds": 3}, "seeds"),
        (["fifo"], {"on_run": 3}, "on_run"),
    ],
)
def test_refuses_before_anything_runs(schedulers, options, expected, monkeypatch):
    monkeypatch.setattr("workbench.analysis.comparison.run_all", lambda *_: pytest.fail("runs were asked for"))
    with pytest.raises(InputError, match=expected):
        workbench.compare(SMALL, schedulers, **options)


def test_jobs_that_can_run_nowhere_are_named_before_anything_runs():
    big = SMALL.replace(jobs=[{"name": "big", "model": SMALL.jobs[0].model, "steps": 1, "gpus": 64}], schedulers=())
    heard = []
    with pytest.raises(ScenarioError, match="big"):
        workbench.compare(big, ["fifo"], on_run=lambda *found: heard.append(found))
    assert heard == []


# --- Processes --------------------------------------------------------------------------------------------------------


def test_the_number_of_processes_does_not_matter_and_own_schedulers_take_part():
    before = set(multiprocessing.active_children())
    heard = []
    names = ["test-compare-lottery", "fifo", "las"]
    several = workbench.compare(SMALL, names, seeds=[0, 1], workers=2, on_run=lambda case, run: heard.append(case))
    one = workbench.compare(SMALL, names, seeds=[0, 1])
    assert several.runs == one.runs and several.cases == one.cases
    pd.testing.assert_frame_equal(several.table, one.table)
    assert sorted(heard) == sorted(several.cases)
    assert set(multiprocessing.active_children()) <= before


def test_a_failure_in_another_process_is_the_same_error():
    stuck = SMALL.replace(core={"faults": {"list": [{"node": "slow-0", "from_s": 0, "to_s": 1}]}})
    before = set(multiprocessing.active_children())
    errors = []
    for workers in (1, 2):
        with pytest.raises(InputError) as caught:
            workbench.compare(stuck, ["fifo", "las"], until_s=float("nan"), workers=workers)
        errors.append((type(caught.value), caught.value.problem.where, str(caught.value), caught.value.exit_code))
    assert errors[0] == errors[1]
    assert set(multiprocessing.active_children()) <= before


def test_a_run_that_fails_is_listed_with_its_reason_and_ends_no_other():
    heard = []
    found = workbench.compare(
        SMALL, ["fifo", "test-compare-greedy", "las"], seeds=[1, 2], on_run=lambda case, run: heard.append(case)
    )
    assert found.labels == ("fifo", "las") and heard == list(found.cases)
    assert [(case.label, case.seed) for case, _ in found.failed] == [
        ("test-compare-greedy", 1),
        ("test-compare-greedy", 2),
    ]
    assert all(isinstance(error, InvalidDecision) and "99" in str(error) for _, error in found.failed)
    assert len(found.measures) == len(found.runs) == len(found.summaries) == 4
    assert list(found.mean().index) == ["fifo", "las"] and "2 failed" in repr(found)
    assert "Failed: test-compare-greedy, seed 1: " in found._repr_html_()


def test_if_every_run_fails_the_first_error_is_raised():
    with pytest.raises(InvalidDecision, match="test-compare-greedy"):
        workbench.compare(SMALL, ["test-compare-greedy"], seeds=[1, 2])


# --- Saving -----------------------------------------------------------------------------------------------------------


def test_save(tmp_path, drawn):
    drawn.save(tmp_path / "c")
    table = pd.read_csv(tmp_path / "c" / "table.csv")
    pd.testing.assert_frame_equal(table, drawn.measures, check_dtype=False)
    assert len(set(drawn.folders())) == 6
    for name, run in zip(drawn.folders(), drawn.runs, strict=True):
        assert workbench.Run.load(tmp_path / "c" / name) == run
    with pytest.raises(InputError, match="exists"):
        drawn.save(tmp_path / "c")
    drawn.save(tmp_path / "c", force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c"]


def test_folders_are_plain_names_of_their_own():
    found = workbench.compare(SMALL, [("fifo", {"round_s": 60}), ("fifo", {"round_s": 60.5}), "las"], until_s=0)
    assert all(re.fullmatch(r"[\w.=-]+", name) for name in found.folders())
    assert found.folders()[0] == "fifo_round_s=60-seed-0"


def test_seeds_of_a_bootstrap_have_other_jobs_like_the_scenarios_the_same_for_all() -> None:
    found = workbench.compare(SMALL, ["fifo", "srtf"], seeds=range(5), bootstrap=True)
    again = workbench.compare(SMALL, ["srtf"], seeds=range(5), bootstrap=True)
    of = {seed: found["fifo", seed].scenario for seed in range(5)}
    assert of[0].jobs == SMALL.jobs, "the first has the scenario's own"
    own = {job.name: job for job in SMALL.jobs}
    arrivals_s = sorted(job.arrival_s for job in SMALL.jobs)
    gaps_s = {0.0, *np.diff(arrivals_s).tolist()}
    for seed, scenario in of.items():
        assert scenario.jobs == found["srtf", seed].scenario.jobs == again["srtf", seed].scenario.jobs
        assert len(scenario.jobs) == len(SMALL.jobs) and scenario.jobs[0].arrival_s == arrivals_s[0]
        assert set(np.diff([job.arrival_s for job in scenario.jobs]).tolist()) <= gaps_s
        for job in scenario.jobs:
            like = own[job.name.partition(".")[0]]
            assert job.model_copy(update={"name": like.name, "arrival_s": like.arrival_s}) == like
    assert len({tuple((job.name, job.arrival_s) for job in scenario.jobs) for scenario in of.values()}) > 2
    pair = found.paired().set_index("measure").loc["mean_jct_s"]
    assert pair.ratio_low < pair.ratio < pair.ratio_high
    alike = workbench.compare(SMALL, ["fifo", "srtf"], seeds=range(2)).paired().set_index("measure").loc["mean_jct_s"]
    assert alike.ratio > 0 and alike.seeds == 2
    assert alike[["low", "high", "ratio_low", "ratio_high", "p"]].isna().all(), "without it nothing is left to chance"
    with pytest.raises(InputError, match="bootstrap"):
        workbench.compare(SMALL, ["fifo"], bootstrap="yes")  # type: ignore[arg-type]


def test_a_long_log_is_drawn_in_blocks_and_a_single_job_is_not_drawn() -> None:
    first = SMALL.jobs[0]
    hours = [first.model_copy(update={"name": f"j{hour}", "arrival_s": 3600.0 * hour}) for hour in range(5)]
    log = SMALL.replace(jobs=hours, schedulers=[])
    assert other_jobs(log, 3) == bootstrap.drawn(log, 3) != log
    alone = SMALL.replace(jobs=[first], schedulers=[])
    assert other_jobs(alone, 3) == alone
