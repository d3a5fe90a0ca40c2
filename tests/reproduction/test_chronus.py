"""Chronus's evaluation at the tiny size, recomputed where that can be done another way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pytest import approx

from reproduction import PaperFigure
from reproduction.chronus import EXHIBITS, allocator, end_to_end, lines, profiler, selector, settings
from reproduction.chronus.first_days import DAYS, SPANS, SPANS_LOAD, spans_scale
from reproduction.chronus.settings import SIZES, TRACES, WorkloadSetting, at, is_short
from reproduction.table import rows
from workbench.base.errors import InputError
from workbench.scenario.presets import preset
from workbench.scenario.traces.timed import SCHEDULERS
from workbench.session.api import simulate

TINY = SIZES["tiny"]
HEADER = "job_id,user,num_gpu,submit_time,model_name,duration,expect_time_list,expect_value_list,best_effort,job_type"


@pytest.fixture(scope="module")
def figures(evaluated: Callable[[str], list[PaperFigure]]) -> dict[str, PaperFigure]:
    return {figure.name: figure for figure in evaluated("chronus")}


def test_every_simulated_figure_of_the_evaluation_is_there(figures: dict[str, PaperFigure]) -> None:
    drawn = {f"Fig. {name}" for name in ("6a", "6b", "6c", "6d", "7a", "7b", "7c", "7d", "8a", "8b", "9a-b", "9c-f")}
    assert set(figures) == drawn | {"5.4 trace", "Guarantee"}


def test_the_papers_own_numbers_stand_in_the_tables(figures: dict[str, PaperFigure]) -> None:
    printed = {name: figure.table["paper"].dropna().tolist() for name, figure in figures.items()}
    assert printed["Fig. 6a"] == [32.0, 0.05]
    assert printed["Fig. 6b"] == [2105.0, 960.0, approx(960 / 2105)]
    assert printed["Fig. 7d"] == [10.0]
    assert not any(
        printed[name] for name in ("Fig. 6c", "Fig. 6d", "Fig. 7a", "Fig. 8a", "Fig. 8b", "Fig. 9a-b", "Fig. 9c-f")
    )


def test_full_has_the_papers_points_and_three_seeds() -> None:
    full = SIZES["full"]
    assert len(full.seeds) >= 3 and full.traces == ("H", "P") and {80, 100, 120, 160} <= set(full.densities)
    assert {5, 20, 30} <= set(full.lease_min) and 0.4 in full.noise
    every = end_to_end.workloads(full)
    assert {x for _, x in every} == {f"{trace}_{name}" for trace in "HP" for name in ("SLO", "MIX1", "MIX2")}
    told = next(each for each in EXHIBITS if each.name == "fig9ab").scale
    assert "times as short" in told(full) and "90 jobs within 37 h" in told(SIZES["days"])


def test_the_others_are_those_of_section_4_3_with_the_knobs_of_the_presets() -> None:
    planned = {str(entry["scheduler"]): entry.get("knobs", {}) for entry in SCHEDULERS}
    ours = {line.scheduler: line.knobs for line in lines.ALL if line != lines.KNOWN}
    assert set(ours) == {*planned, lines.PAPERS_THEMIS.scheduler}
    assert all(planned[name].items() <= ours[name].items() for name in planned)
    assert lines.OTHERS[-1] == lines.PAPERS_THEMIS and lines.THEMIS not in lines.OTHERS  # the paper's is judged


def test_jobs_come_as_often_as_in_table_1_and_are_the_traces_load() -> None:
    setting = WorkloadSetting("H", 8, 400, 2.0)
    scenario = settings.drawn(setting, 5)
    window_s = 400 / (2.0 * 6599 / 14 / 96 * 8) * 86400
    assert max(job.arrival_s for job in scenario.jobs) == approx(window_s, rel=0.05)
    model, gpus = [job.model for job in scenario.jobs], [job.gpus for job in scenario.jobs]
    speed = scenario.table.matrix(model, gpus)[:, 0]
    work = sum(job.gpus * job.steps / rate for job, rate in zip(scenario.jobs, speed.tolist(), strict=True))
    assert work / (scenario.cluster.gpus * window_s) == approx(1.4, rel=0.03)
    assert scenario.core == preset("chronus_96x8").core


def test_a_workload_changes_deadlines_and_nothing_else() -> None:
    made = {name: replace(at(TINY), workload=name).scenario(1) for name in ("slo", "mix1", "mix2")}
    plain = {name: [job.model_copy(update={"rewards": None}) for job in found.jobs] for name, found in made.items()}
    assert plain["slo"] == plain["mix1"] == plain["mix2"]
    assert all(len(job.rewards or ()) == 1 for job in made["slo"].jobs)
    assert {len(job.rewards or ()) for job in made["mix1"].jobs} == {0, 1}
    assert {len(job.rewards or ()) for job in made["mix2"].jobs} == {0, 1, 4}


def test_density_adds_and_removes_jobs_of_the_same_workload() -> None:
    whole = at(TINY).scenario(0).jobs
    fewer, more = (at(TINY, density=density).scenario(0).jobs for density in (50, 150))
    assert len(fewer) == len(whole) / 2 and set(fewer) < set(whole)
    assert len(more) == 1.5 * len(whole) and more[: len(whole)] == whole


def test_short_jobs_are_as_many_as_in_the_paper_and_end_in_the_profiler() -> None:
    setting = at(TINY, short=True)
    scenario = setting.scenario(0)
    short = [job for job in scenario.jobs if is_short(job.name)]
    assert len(short) / len(scenario.jobs) == approx(5735 / 12334, abs=0.02)
    assert all(job.rewards is None for job in short)
    run = simulate(scenario, "chronus", profiler.PAPER.knobs)
    kinds = run.timeline.groupby("job")["kind"].unique()
    ended = [job.name for job in short if set(kinds[job.name]) <= {"profile", "restart"}]
    assert len(ended) > 0.9 * len(short)
    others = [job.name for job in scenario.jobs if not is_short(job.name)]
    assert all("run" in kinds[name] for name in others)


def test_hostile_sizes_replace_friendly_ones_of_several_gpus() -> None:
    before, after = (at(TINY, hostile=share).scenario(2).jobs for share in (0.0, 1.0))
    for old, new in zip(before, after, strict=True):
        assert new.gpus == settings.HOSTILE.get(old.gpus, old.gpus) and old.gpus in TRACES["H"].gangs
    assert sum(old.gpus != new.gpus for old, new in zip(before, after, strict=True)) > 3


def test_the_miss_rate_is_that_of_9_with_its_erratum() -> None:
    setting = at(TINY)
    run = simulate(setting.scenario(0), "edf", {}, seed=0)
    missed = []
    for job, finish_s in zip(run.scenario.jobs, run.jobs["finish_s"].tolist(), strict=True):
        if job.rewards:
            earned = [reward for deadline_s, reward in job.rewards if finish_s - job.arrival_s <= deadline_s]
            missed.append(1 - ((earned[0] if earned else 1) - 1) / 99)
    assert lines.measured(setting, lines.EDF, 0)["weighted_miss_rate"] == approx(sum(missed) / len(missed))


def test_known_run_times_are_not_profiled() -> None:
    found = lines.measured(at(TINY), lines.KNOWN, 0)
    assert math.isnan(found["mean_profiling_delay_s"])
    assert lines.measured(at(TINY), lines.CHRONUS, 0)["mean_profiling_delay_s"] > 0


def test_a_lease_below_the_papers_shortens_what_must_not_be_longer() -> None:
    assert selector.of_lease(2).knobs == {"slo_lease_s": 120, "be_lease_s": 120}
    assert selector.of_lease(60).knobs == {"slo_lease_s": 3600, "be_lease_s": 300}


def test_means_leave_out_unknown_values_and_ratios_are_seed_by_seed() -> None:
    rows = [(("a", "x"), 0, 1.0), (("a", "x"), 1, math.nan), (("b", "x"), 0, 4.0), (("b", "x"), 1, 2.0)]
    found = pd.DataFrame(rows, columns=["x", "seed", "value"])
    assert lines.mean(found, ("a", "x"), "value") == 1.0 and lines.mean(found, ("b", "x"), "value") == 3.0
    assert math.isnan(lines.mean(found, ("c", "x"), "value"))
    assert lines.ratio(found, ("b", "x"), ("a", "x"), "value")[0] == 4.0
    assert math.isnan(lines.ratio(found, ("b", "x"), ("a", "x"), "value")[1])
    assert lines.said([0.25, math.nan, 0.5]) == "3 seeds: 0.25 to 0.5."
    assert lines.said([math.nan]) == "1 seed, unknown." and lines.said([0.5]) == "1 seed."


class Swept(Exception):
    """What a figure has run, in place of running it."""

    @classmethod
    def out(cls, points: Any, seeds: range) -> None:
        raise cls(points)


def test_the_authors_file_is_taken_at_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "trace.csv"
    jobs = [f"{i},u{i % 3},1,{10 * i},vgg16,60,90-99,10-5,0,soft" for i in range(48)]
    file.write_text("\n".join([HEADER, *jobs]), encoding="utf-8")
    full, authors = SIZES["full"], SIZES["authors"]
    assert not at(full, "P").public and "drawn as P" in settings.origin(at(full, "P"))
    monkeypatch.setattr(settings, "fetch", lambda name: file)
    assert at(authors).public and authors.traces == ("P",) and not at(TINY).public
    mixed = at(authors, from_file=False, short=True)  # of Short the file has no job, and none of another size
    assert any(is_short(job.name) for job in mixed.scenario(0).jobs) and "drawn as P" in settings.origin(mixed)
    for of, value in (("short", True), ("hostile", 0.6)):
        with pytest.raises(InputError, match=f"jobs at size authors.*{of}.*density.*workload"):
            at(authors, **{of: value})
    for room, figure, public in (
        (selector, "figure_7a", True),
        (profiler, "figure_6a", False),
        (allocator, "figure_8b", False),
    ):
        with monkeypatch.context() as at_sweep, pytest.raises(Swept) as swept:
            at_sweep.setattr(room, "sweep", Swept.out)
            getattr(room, figure)(authors)
        assert {setting.public for setting, _ in swept.value.args[0].values()} == {public}  # not both in a table
    for name in ("fig6d", "fig7a", "fig7b", "fig7c"):  # the paper's are of H, or of H too, which has no file
        row = next(each for each in rows(None, "chronus") if each["id"] == f"chronus.{name}")
        assert row["size"] == row["built_in_data"]["size"] and row["authors_data"]["size"] == "authors"
        assert row["verdict"] == row["built_in_data"]["verdict"]
    for name in ("fig7a", "fig7b"):
        told = [next(each for each in EXHIBITS if each.name == name).scale(size) for size in (full, authors)]
        assert ["the paper's is H_MIX2, 6,599 in 14 days on 96" in each for each in told] == [False, True]
        assert "as P" not in told[0]
    for name in ("fig9ab", "fig9cf"):  # whose claims are of one of two Chronuses
        exhibit = next(each for each in EXHIBITS if each.name == name)
        for each in exhibit.claims:
            told = {each.measure.replace("*", "P"), *each.taken(each.measure.replace("*", "P"))}
            assert f"wDMR, P, {lines.CHRONUS.name}" not in told
            assert not any(each.endswith(f" / {lines.CHRONUS.name}") for each in told)
        best = [each for each in exhibit.claims if each.less == f"wDMR, *, {lines.KNOWN.name}"]
        assert [each.measure for each in best] == [f"wDMR, *, {each.name}" for each in lines.OTHERS]
        assert "judged with run times known" in exhibit.scale(authors)
    setting = replace(at(authors), nodes=60)
    found = setting.scenario(0)
    assert len(found.jobs) == 24 and {job.name for job in found.jobs} <= {f"job-{i}" for i in range(48)}
    assert found.core == at(TINY).scenario(0).core and "authors' Philly file" in settings.origin(setting)


def test_the_spans_have_as_many_jobs_a_node_as_the_authors_files(shared: Path) -> None:
    """Counted by a reader of another make."""
    loads = []
    for path in (shared / "data" / "chronus" / f"trace_job_Philly_{name}.csv" for name in ("MIX2", "SLO")):
        if not path.is_file():
            pytest.skip("no Chronus trace beside the project")
        jobs = pd.read_csv(path).query("num_gpu > 0")
        for day, many in SPANS:
            of = jobs[(jobs["submit_time"] / 1440).between(day or 0, (day or 0) + DAYS, inclusive="left")]
            assert len(of) / 120 == approx(many, abs=0.7)
            loads.append((of["num_gpu"] * of["duration"]).sum() / (120 * 8 * DAYS * 1440))
    assert f"{min(loads):.2f} to {max(loads):.2f}" == SPANS_LOAD and SPANS_LOAD in spans_scale(SIZES["authors"])


def test_the_same_size_gives_the_same_numbers(figures: dict[str, PaperFigure]) -> None:
    lines.measured.cache_clear()
    pd.testing.assert_frame_equal(profiler.figure_6b(TINY).table, figures["Fig. 6b"].table)
