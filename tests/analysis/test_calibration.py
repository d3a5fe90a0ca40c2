"""Calibration: logs of a scheduler of the tests' own, with its rule known and hidden; the verdict stands on answers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest

import workbench
from tests.baselines.slurm.as_recorded import faults
from tests.scenario.traces.slurm_dumps import NODES, Ran, dump, limited, when
from tests.scenario.traces.slurm_month import Rules, demand, schedule, written
from workbench.analysis.calibration.calibrate import Calibration, experiments_of, usual_phases
from workbench.analysis.calibration.fit import LogMakespan, fit_of, in_parts, makespan_of
from workbench.analysis.calibration.note import notes_under
from workbench.analysis.hidden_limits import BESIDE_ROOM, PEAKS, beside_room_of, peaks_of, told_hidden
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.slurm.site import KeptNodes, read_site
from workbench.cli import main
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import convert
from workbench.session.registry import find_scheduler
from workbench.simulation.run import Run

QOS = "Name|Priority|GraceTime|MaxTRESPU\nnormal|0|00:00:00|gres/gpu=8\n"


def log(folder: Path, *, known: bool, jobs: int = 150) -> Scenario:
    """A log of which one job of a user runs at a time; known: whether a file says so."""
    files = {"log": dump(*limited(jobs)), "nodes": NODES, "limits": QOS}
    for name, text in files.items():
        (folder / name).write_text(text)
    limits = [folder / "limits"] if known else []
    return convert("sacct", folder / "log", nodes=[folder / "nodes"], limits=limits)[0]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    """Of the log whose rule a file tells, in two phases."""
    return workbench.calibrate(log(tmp_path_factory.mktemp("known"), known=True), phases=2)


def test_a_log_whose_rules_are_known_is_calibrated(known: Calibration, tmp_path: Path) -> None:
    """Waits are the log's, but for the scheduler's pace (the log's own starts at once)."""
    found = known
    assert found.verdict == "calibrated" and found.reasons == []
    assert (found.waits["simulated_s"] - found.waits["recorded_s"]).abs().max() <= 60
    assert found.held_back.median_error < 0.1 and found.held_back.rank_correlation == pytest.approx(1)
    assert all(rival.median_error > 0.3 for rival in found.rivals.values())
    begins = datetime.fromisoformat(str(log(tmp_path, known=True).begins))
    hours = [(begins + timedelta(seconds=at_s)).hour for at_s in found.waits["eligible_s"]]
    assert found.waits["hour"].tolist() == hours and 8 <= hours[0] < 10, "of the day, not since the begin"
    users = found.by("user").set_index("user")
    assert users.loc["a", "recorded_mean_s"] > 3 * users.loc["b", "recorded_mean_s"], "whom the limit holds back"
    assert set(found.waits["part"]) == {-1, 0, 1, 2, 3, 4} and len(found.unexplained()) == 0


def test_a_verdict_is_of_jobs_where_they_ran_whatever_ratios_say(tmp_path: Path) -> None:
    """Jobs may run on v1 by a table, four times as fast: so they do in answers, and in no run that is judged."""
    nodes = NODES.replace("v100:4", "v100:8").replace("big Nodes=a[1-2]", "big Nodes=a[1-2],v1")
    *jobs, last = limited(80)
    small = last._replace(tres="gres/gpu:a100=1,gres/gpu=1")  # of one GPU, which a scenario leaves out
    texts = {"log": dump(*jobs, small), "nodes": nodes, "limits": QOS}
    texts["ratios"] = "by,name,ran_on,to,ratio,low,high\npartition,big,a100,v100,4,3,5\n"
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    site = {"nodes": [tmp_path / "nodes"], "limits": [tmp_path / "limits"]}
    freed = convert("sacct", tmp_path / "log", **site, ratios=tmp_path / "ratios")[0]
    held = workbench.calibrate(convert("sacct", tmp_path / "log", **site)[0], phases=1)
    found = workbench.calibrate(freed, phases=1)
    assert found.waits.equals(held.waits) and found.makespan == held.makespan and found.reasons == held.reasons
    assert found.beside_room.equals(held.beside_room) and len(found.beside_room)
    told = "; 80 jobs kept to the types of the log: assumed speeds are not judged"
    assert found.note().removesuffix(".") == held.note().removesuffix(".") + told and "kept to" not in held.note()
    kept = Calibration.from_json(json.loads(json.dumps(found.to_json()))).kept(freed)
    few = replace(found, folds=found.folds.assign(median_error=math.nan, rank_correlation=math.nan))
    assert "alone unknown" in Calibration.from_json(json.loads(json.dumps(few.to_json()))).note()
    assert kept.notes[0] == found.note() and kept.throughputs == freed.throughputs
    assert (workbench.simulate(kept, "slurm").timeline["node"] == "v1").any()


def test_the_phase_is_fitted_on_the_parts_before(known: Calibration) -> None:
    """Run 2 is nearest everywhere but on the first part, by which the second is told."""
    found = known
    first, real = found.waits["part"] == 0, found.waits["recorded_s"]
    assert found.phases == (0, 15)
    waits = found.waits.assign(**{"run 1": real + 8 * ~first, "run 2": real + 6 * first})
    fitted = replace(found, waits=waits).fitted
    assert fitted is not None and fitted.phase_s == 15 and fitted.averaged_s == 4
    parts = waits["part"].value_counts()
    assert fitted.error_s == pytest.approx(8 * parts[1] / sum(parts[k] for k in range(1, 5)))
    assert "nearest over all: phase_s=15" in replace(found, waits=waits).told_fit()
    waits = waits.assign(**{"run 1": real + 8 * first, "run 2": real + 3 * ~first})
    assert "phase_s" not in replace(found, waits=waits).told_fit(), "the phase before is farther off than the average"


def test_where_no_wait_at_all_would_pass_by_medians_the_mean_is_judged(known: Calibration) -> None:
    short = replace(known, waits=known.waits.assign(recorded_s=20.0))
    assert short.medians_tell_nothing and not known.medians_tell_nothing and "no wait at all" not in known.note()
    near, far = (replace(short, held_back=replace(short.held_back, mean_error=error)) for error in (0.3, 0.4))
    assert "no wait at all" not in "".join(near.reasons)
    assert "(no wait at all would pass too: the mean is off by 30 %), rank" in near.note()
    assert far.reasons[0] == "no wait at all would meet the partition medians, and the mean is off by 40 %"


def test_the_noise_floor_stands_beside_an_error(known: Calibration) -> None:
    """Two runs of ours, 1000 and 1300 s everywhere, are (300 - 30) / 1000 apart, whatever the log has."""
    found = known
    assert found.pace_s == 30 and found.apart < 0.1 and found.reasons == []
    parts = "; held back, 2024-03-04 15:22 to 2024-03-05 11:10 (4 parts, alone 0 %, 0 %, 0 % and 0 %): "
    assert f"{parts}half the jobs are of partitions whose median is within 30 s of the recorded, rank" in found.note()
    waits = found.waits.assign(**{"run 1": 1000.0, "run 2": 1300.0})
    far = replace(found, waits=waits, held_back=replace(found.held_back, median_error=0.5))
    assert far.apart == pytest.approx(0.27)
    assert far.reasons[0].endswith(
        "points), above 30 % (27 % between two runs of ours that differ in their phase alone)"
    )
    assert [usual_phases(count) for count in (4000, 4001, 15_000, 15_001)] == [8, 4, 4, 1]


def test_parts_held_back_are_of_whole_days_where_the_log_is_long_enough() -> None:
    """1000 jobs from 08:00 on: in 20 days the ends of parts are midnights, in 4 each has as many jobs. The error is
    the median over partitions by their jobs: one of three equal ones wrong is none, two are the smaller one's; of two
    it is that of the larger one."""
    for days, whole in ((20, True), (4, False)):
        table = pd.DataFrame({"eligible_s": [days * 86.4 * i for i in range(1000)]})
        table = in_parts(table, 8 * 3600)
        day = (table["eligible_s"] + 8 * 3600) // 86400
        ends = [{*day[table["part"] == part]} for part in range(5)]
        assert (len(set().union(*ends)) == sum(map(len, ends))) == whole
        assert whole or table["part"].value_counts().tolist() == [180] * 5 + [100]
        assert table["part"].iloc[0] == table["part"].iloc[-1] == -1
        assert table["part"][table["part"] >= 0].is_monotonic_increasing
    days = {0: 5, 1: 10, 2: 10, 4: 20, 5: 20, 7: 20, 9: 10, 10: 10, 11: 5}
    hours = [24 * day + (15 if day == 5 else 8) + i / 10 for day, jobs in days.items() for i in range(jobs)]
    days_off = in_parts(pd.DataFrame({"eligible_s": [3600 * hour for hour in hours]}), 0)
    assert {*range(5)} <= {*days_off["part"]}, "no part without jobs, whatever days have none"
    rows = table.assign(partition=[f"p{i % 3}" for i in range(1000)], user="", recorded_s=1000.0, run=1000.0)
    rows.loc[rows["partition"] == "p0", "run"] = 5000.0
    assert fit_of(rows, ["run"], 60.0).median_error == 0
    rows.loc[rows["partition"] == "p1", "run"] = 3000.0
    assert fit_of(rows, ["run"], 60.0).median_error == pytest.approx(1.94)
    rows.loc[rows["partition"] == "p1", "partition"] = "p2"
    assert fit_of(rows, ["run"], 60.0).median_error == pytest.approx(0.94)


def test_a_run_far_off_moves_an_error_little_however_many_runs(known: Calibration) -> None:
    """One run in eight makes all wait a day longer: of all waits together the median is a neighbour of the log's, where
    a mean of medians is 3 h beyond; and the standard error falls with more runs."""
    waits = known.waits
    errors = []
    for count in (8, 32):
        runs = {f"run {i}": waits["recorded_s"] + 86400.0 * (i % 8 == 0) for i in range(count)}
        errors.append(fit_of(waits.assign(**runs), [*runs], 60.0))
    assert errors[0].median_error == pytest.approx(errors[1].median_error) and 0 < errors[0].median_error < 0.3
    assert errors[0].standard_error > 1.5 * errors[1].standard_error > 0
    far = replace(known, waits=waits.assign(**runs), runs=tuple(runs)).by("partition")
    assert (far["simulated_median_s"] < 2 * far["recorded_median_s"]).all()


def test_a_log_whose_limits_are_hidden_is_indicative(tmp_path: Path) -> None:
    found = workbench.calibrate(log(tmp_path, known=False), phases=1)
    assert found.fitted is None and found.verdict == "indicative"
    assert "the held-back error of partition medians is" in found.reasons[0]
    told = "user a in QOS normal has up to 16 GPUs at once, in the log never more than 8: a limit that no file tells?"
    assert [why for why in found.reasons if "at once" in why] == [told]
    assert set(found.unexplained()["user"]) == {"a"}, "those whom the limit held back"


def test_a_verdict_of_an_own_scheduler_is_of_its_code(tmp_path: Path) -> None:
    """Not of another function under the same name; of the same one run again it holds, and of an earlier run of it."""
    fifo, scenario = find_scheduler("fifo"), log(tmp_path, known=True, jobs=60)

    def run_of(kept: Scenario, version: int) -> Run:
        @workbench.scheduler("mine", round_s=60.0)
        def decide(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
            return fifo.decide(snapshot, memory, {"version": version, **fifo.settle({})}, rng)

        return workbench.simulate(kept, "mine")

    run_of(scenario, 1)
    found = workbench.calibrate(scenario, "mine")
    kept = Calibration.from_json(json.loads(json.dumps(found.to_json()))).kept(scenario)
    assert (earlier := run_of(kept, 1)).code and notes_under(earlier)[0] == found.note()
    said = "Calibration: none of mine as it is written now: the verdict in the scenario is of other code."
    assert notes_under(run_of(kept, 2))[0] == said and notes_under(earlier)[0] == found.note()


def test_the_command_keeps_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the scenario, as its first note; once, however often it is calibrated; later answers begin with it."""
    path = tmp_path / "s.json"
    log(tmp_path, known=True, jobs=80).save(path)
    for _ in range(2):
        assert main(["calibrate", str(path), "--phases", "1", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
    assert list(told) == ["partitions", "all", "held_back", "folds", "rivals", "makespan", "verdict"]
    assert [fold["jobs"] for fold in told["folds"]] == [14, 15, 14, 14] and told["folds"][0]["nodes"] == ""
    one = told["partitions"][0]  # all jobs are in one partition
    assert told["all"] == pytest.approx({name: one[name] for name in ("recorded_mean_s", "simulated_mean_s", "jobs")})
    columns = ["name", "recorded_median_s", "simulated_median_s", "recorded_mean_s", "simulated_mean_s", "jobs"]
    assert [list(row) for row in told["partitions"]] == [columns] and told["partitions"][0]["jobs"] == 80
    assert {"median_error", "rank_correlation"} <= told["held_back"].keys()
    assert list(told["rivals"]) == ["yesterday", "fifo", "mean"]
    assert told["makespan"]["simulated_s"] == pytest.approx(told["makespan"]["recorded_s"], abs=60)
    notes = Scenario.load(path).notes
    assert notes[0].startswith(f"Calibration: {told['verdict']}")
    assert not any(note.startswith("Calibration") for note in notes[1:])
    assert main(["simulate", str(path), "--scheduler", "slurm"]) == 0
    assert f"note: {notes[0][:40]}" in capsys.readouterr().err
    assert main(["calibrate", str(path), "--phases", "1", "-o", str(tmp_path / "t.json")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Calibration: ") and "first come, first served" in text
    assert "\nMakespan of the jobs whose end the log has: recorded" in text


def test_who_still_ran_at_the_logs_end_is_in_no_makespan(tmp_path: Path) -> None:
    """Jobs of 8 GPUs for 100, and for 400 s till the cut at 500 s; in the runs each starts 50, and 150 s later: of 500
    GPU times 450, and 350 are before the cut. A third that never starts in the second run counts nowhere. Nothing is
    said of a log that was cut before any end, and where no job starts."""
    jobs = [Ran("1", 0, 0, 100), Ran("2", 0, 100, 400, state="RUNNING")]
    (tmp_path / "nodes").write_text(NODES)
    found = []
    for rows in (jobs, jobs[1:], [*jobs, Ran("3", 0, 0, 480)], [Ran("3", 0, 0, 480)]):
        (tmp_path / "log").write_text(dump(*rows))
        scenario = convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"])[0]
        runs = []
        for late_s in (50, 150):
            table = [(f"job-{each.name}", each.start_s + late_s, each.start_s + each.run_s + late_s) for each in rows]
            jobs_of = pd.DataFrame(table, columns=["job", "first_start_s", "finish_s"])
            jobs_of.loc[(jobs_of["job"] == "job-3") & (late_s == 150), ["first_start_s", "finish_s"]] = math.nan
            runs.append(cast(Run, SimpleNamespace(jobs=jobs_of)))
        found.append(makespan_of(scenario, runs))
    assert found[0] == found[2] == (100, 200, pytest.approx(0.8)) and found[1].text() == found[3].text() == ""
    assert LogMakespan(0.0, 0.0, 1.0).text() == ""
    assert found[0].text().endswith("simulated 3 min 20 s (2.00 of it); by the log's end 80 % of the GPU time has run.")


def test_a_log_without_waits_is_refused() -> None:
    with pytest.raises(InputError, match="scenario: got 0 recorded waits; expected a log with at least 50 jobs"):
        workbench.calibrate("preset:start_here")


def test_four_days_of_a_site_with_its_limits_known_and_hidden(tmp_path: Path) -> None:
    """700 jobs in four partitions under EASY backfill of the tests' own; of account lang most are over its limit, and
    chem, phys and vision share one of the account above them, science. An account whose limit is hidden, GrpTRES or its
    users' MaxJobs, has more GPUs, or a user more jobs, at once than ever in the log; with all limits known that lasts
    for nobody."""
    rules = Rules(most_jobs={"robo": 4}, together={"science": ("chem", "phys", "vision")})
    jobs = schedule(demand(700, 4, 30, 0.9, 3), 30, rules)
    one_by_one = {"user robo4 in account robo": "jobs", "account bio": "GPUs", "account lang": "GPUs"}
    for hidden, beyond in {
        (): {},
        ("lang", "bio", "robo"): one_by_one,
        ("science",): {"account science": "GPUs"},
    }.items():
        files = written(tmp_path, jobs, 30, frozenset(hidden), rules)
        found = workbench.calibrate(convert("sacct", files.pop("log")[0], **files)[0], phases=1 if hidden else 2)
        said = [why for why in found.reasons if "at once, in the log never more than" in why]
        who = {why.partition(" has up to ")[0]: why.partition(" at once")[0].split()[-1] for why in said}
        assert who == beyond and found.verdict == ("indicative" if hidden else "calibrated"), found.reasons
        if not hidden:
            assert found.held_back.median_error < 0.3 and found.held_back.rank_correlation > 0.9, found.held_back
            assert found.held_back.mean_error < 0.1
            assert all(found.held_back.mean_error < rival.mean_error for rival in found.rivals.values())
            quantiles = found.quantiles()
            assert len(quantiles) == 4 * 6 and (quantiles.groupby("partition")["recorded_s"].diff().dropna() >= 0).all()


def test_a_hidden_limit_of_a_user_with_few_jobs_is_seen_by_waits_beside_free_gpus(tmp_path: Path) -> None:
    """27 jobs of robo5, of which four run at once, wait 1.9 h on average, 0.7 h where nothing tells of MaxJobs."""
    rules = Rules(most_jobs={"robo": 4})
    jobs = schedule(demand(700, 4, 30, 1.0, 7), 30, rules)
    for hidden in ("", "robo"):
        files = written(tmp_path, jobs, 30, frozenset({hidden}), rules)
        found = workbench.calibrate(convert("sacct", files.pop("log")[0], **files)[0], phases=1)
        held = found.beside_room.set_index(["group", "user"]).loc["account robo", "robo5"]
        assert (held["recorded"] > 0.05) == (hidden == "robo") and held["simulated"] < 0.01
        assert [why.partition(" wait beside free GPUs")[0] for why in found.reasons] == ["jobs of user robo5"] * bool(
            hidden
        )
        assert Calibration.from_json(json.loads(json.dumps(found.to_json()))).reasons == found.reasons


def test_a_maximum_of_chance_or_waits_that_are_right_are_no_hidden_limit() -> None:
    """The peak of a log that was near it shortly, where the run is so for longer, or at which nobody waited; jobs
    beside free GPUs of somebody whose waits are about as recorded: seen in logs of real controllers."""
    peaks, room = (partial(pd.DataFrame, columns=names) for names in (PEAKS, BESIDE_ROOM))
    chance = ("QOS normal", "ida", "GPUs", 19.0, 24.0, 0.054, 0.013, 0.056, 4)
    alone = ("QOS high", "", "GPUs", 26.0, 32.0, 0.023, 0.072, 0.023, 0)
    bound = ("QOS normal", "ada", "GPUs", 24.0, 61.0, 0.169, 0.247, 0.023, 10)
    right, held = ("QOS normal", "eva", 53, 23, 0.38, 0.11, 0.39), ("QOS normal", "eva", 53, 23, 0.38, 0.11, 0.5)
    assert list(told_hidden(peaks([chance, alone]), room([right]))) == []
    told = list(told_hidden(peaks([chance, alone, bound]), room([held])))
    assert [text.partition(" in QOS")[0].partition(" wait")[0] for text in told] == ["user ada", "jobs of user eva"]


def test_who_waits_at_a_known_limit_tells_nothing_of_another_one(tmp_path: Path) -> None:
    """A user may have 8 GPUs: in the log ten times 4 and four times 1, then twice 4; in the run the small ones at once,
    so eight jobs at once where the log has five. All waited for GPUs."""
    pairs = [(600 * i, gpus) for i in range(10) for gpus in (4, 1, 1, 1, 1)] + [
        (6000 + 600 * (i // 2), 4) for i in range(40)
    ]
    rows = [
        Ran(str(i), 0, start_s, 600, f"gres/gpu:a100={gpus},gres/gpu={gpus}") for i, (start_s, gpus) in enumerate(pairs)
    ]
    (tmp_path / "log").write_text(dump(*rows))
    (tmp_path / "nodes").write_text(NODES)
    scenario = convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"])[0]
    small, large = ([row.name for row in rows if (row.tres.endswith("=1")) == one] for one in (True, False))
    at_s = {name: 600.0 * (i // 8) for i, name in enumerate(small)} | {
        name: 3000 + 600.0 * (i // 2) for i, name in enumerate(large)
    }
    run = pd.DataFrame(
        [(f"job-{name}", at, at + 600) for name, at in at_s.items()], columns=["job", "first_start_s", "finish_s"]
    )
    peaks = peaks_of(scenario, read_site(scenario), [run], 60.0)
    of = peaks[peaks["what"] == "jobs"].iloc[-1]
    assert (of["recorded"], of["simulated"]) == (5, 8) and of["near"] > of["beyond"] > 0.05, peaks
    assert list(told_hidden(peaks, pd.DataFrame(columns=BESIDE_ROOM))) == []


def test_a_partition_far_off_and_a_rival_that_is_nearer_to_medians_are_told(tmp_path: Path) -> None:
    """Of three partitions one may be off by any amount: the median over them does not show it."""
    found = workbench.calibrate(log(tmp_path, known=True), phases=1)
    assert "farther off" not in found.note() and "is nearer" not in found.note()
    waits = found.waits.assign(partition=[f"p{i % 3}" for i in range(len(found.waits))])
    waits.loc[waits["partition"] == "p2", "run 1"] = 5 * waits["recorded_s"] + 600
    near = replace(found.rivals["yesterday"], median_error=0.1, rank_correlation=0.2)
    held_back = replace(found.held_back, median_error=0.2)
    far = replace(found, waits=waits, held_back=held_back, rivals={**found.rivals, "yesterday": near})
    assert "; farther off, in the median: partition p2 " in far.note() and "in the mean" not in far.note()
    some = waits["partition"].isin(["p0", "p1"])
    for times, told in ((1.3, False), (1.4, True)):
        waits = waits.assign(simulated_s=waits["simulated_s"].where(~some, times * waits["recorded_s"]))
        said = replace(far, waits=waits).note()
        assert ("; farther off, in the mean: partition p" in said) == told, "with 50 jobs, by over 35 %"
    quick = waits.assign(recorded_s=1.0, simulated_s=2.0, **{"run 1": 2.0}, partition="p0")
    seconds = replace(found, waits=quick).note()
    assert "; farther off, in the mean: partition p0 2 s, recorded 1 s" in seconds, "no pace counts as none here"
    assert "; yesterday's median is nearer to partition medians (10 %), not to users" in far.note()


def test_a_job_that_ran_twice_holds_each_place_for_its_time(tmp_path: Path) -> None:
    """In the run job 0 lost a1 after an hour and went on on a2: beside it there was room for job 1 all the time, which
    waited, and of which the log knows that a2 was free for it in the second hour."""
    hour = 3600
    jobs = [Ran("0", 0, 0, 2 * hour), Ran("1", 0, 2 * hour, hour, host="a2"), Ran("2", 2 * hour, 3 * hour, hour)]
    (tmp_path / "log").write_text(dump(*jobs))
    (tmp_path / "nodes").write_text(NODES)
    scenario = convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"])[0]
    stays = [("job-0", "a1", 0, 1), ("job-0", "a2", 1, 2), ("job-1", "a2", 2, 3), ("job-2", "a1", 3, 4)]
    rows = [
        ("run", job, node, slot, from_h * hour, to_h * hour) for job, node, from_h, to_h in stays for slot in range(8)
    ]
    timeline = pd.DataFrame(rows, columns=["kind", "job", "node", "slot", "start_s", "end_s"])
    found = beside_room_of(scenario, read_site(scenario), [timeline], 60.0).set_index(["group", "user"])
    assert found.loc["QOS normal", ""]["simulated"] == pytest.approx(1, abs=0.03)


def test_who_waits_beside_nodes_of_a_known_reservation_is_not_held_by_a_hidden_limit(tmp_path: Path) -> None:
    """a2 is reserved in the two hours that job 1 waits for a1."""
    hour = 3600
    jobs = [Ran("0", 0, 0, 2 * hour), Ran("1", 0, 2 * hour, hour), Ran("2", 2 * hour, 3 * hour, hour)]
    (tmp_path / "log").write_text(dump(*jobs))
    (tmp_path / "nodes").write_text(NODES)
    held = []
    for nodes in ("a2", "v1"):
        times = f"StartTime={when(0)} EndTime={when(2 * hour)}"
        (tmp_path / "config").write_text(f"ReservationName=course {times} Nodes={nodes} Users=eve\n")
        files = {"nodes": [tmp_path / "nodes"], "config": [tmp_path / "config"]}
        scenario = convert("sacct", tmp_path / "log", **files)[0]
        timelines = [workbench.simulate(scenario, "slurm").timeline]
        held.append(beside_room_of(scenario, read_site(scenario), timelines, 60.0)["recorded"].max())
    assert held == [0, pytest.approx(1, abs=0.03)]


@pytest.mark.parametrize(("jobs", "days", "nodes", "load"), [(300, 3, 20, 0.9), (400, 4, 20, 1.0), (300, 4, 12, 0.8)])
def test_jobs_of_a_site_run_where_and_as_long_as_they_did(
    tmp_path: Path, jobs: int, days: int, nodes: int, load: float
) -> None:
    files = written(tmp_path, schedule(demand(jobs, days, nodes, load, jobs), nodes), nodes)
    log = files.pop("log")[0]
    run = workbench.simulate(convert("sacct", log, **files)[0], "slurm")
    assert faults(run, log.read_text()) == (jobs, [])


def test_a_change_of_the_real_cluster_is_an_experiment(tmp_path: Path) -> None:
    """a2 of two nodes was away for 6 h: whoever came then waited, recorded and simulated; in as long before nobody."""
    hour = 3600
    jobs = [Ran(str(i), i * hour // 2, i * hour // 2, hour // 3, host="a1") for i in range(60)]
    away = range(20 * hour, 26 * hour)
    jobs += [
        Ran(str(100 + i), away[0] + i * hour, away[0] + i * hour + hour // 2 - 60 * i, hour // 4) for i in range(6)
    ]
    (tmp_path / "log").write_text(dump(*jobs))
    (tmp_path / "nodes").write_text(NODES)
    events = f"NodeName|TimeStart|TimeEnd|State\na2|{when(away[0])}|{when(26 * hour)}|DRAIN\n"
    (tmp_path / "events").write_text(events)
    scenario = convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"], events=[tmp_path / "events"])[0]
    found = workbench.calibrate(scenario, phases=1)
    (row,) = found.experiments.to_dict("records")
    assert (row["change"], row["from_s"], row["to_s"], row["partitions"]) == ("1 node away", away[0], 26 * hour, "big")
    assert row["recorded_before_s"] == 0 and row["recorded_s"] > 300
    assert row["simulated_before_s"] < 60 < row["simulated_s"]
    assert found.told_experiments()[0].startswith("1 node away, 20 h to 1 d 2 h: mean wait in big, before and then")
    kept = ("ReservationName=class", f"StartTime={when(away[0])}", f"EndTime={when(26 * hour)}", "Nodes=a2")
    (tmp_path / "config").write_text(" ".join(kept) + "\n")
    reserved = convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"], config=[tmp_path / "config"])[0]
    (other,) = workbench.calibrate(reserved, phases=1).experiments.to_dict("records")
    assert other == {**row, "change": "1 node reserved (class)"}
    waits = found.waits.assign(partition="big")
    waits["recorded_s"] = waits["simulated_s"] = (waits["eligible_s"] < 10 * hour) * 995.0 + 5
    spans_s = {"old": (-hour, 10 * hour), "twin": (-hour, 10 * hour), "new": (20 * hour, 9000 * hour)}
    its = {"old": frozenset({"a2", "m1"}), "twin": frozenset({"a2", "v1"}), "new": frozenset({"a2"})}
    many = [KeptNodes(name, its[name], *span_s, -hour) for name, span_s in spans_s.items()]
    table = experiments_of(convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"])[0], waits, many)
    then = "then and after: recorded 16 min 40 s, then 5 s; simulated 16 min 40 s, then 5 s."
    said = f"2 nodes reserved (old), 0 s to 10 h: mean wait in big and small, {then}"
    assert replace(found, experiments=table).told_experiments()[0] == said
    assert table["to_s"].tolist() == [10 * hour, 10 * hour, (waits["eligible_s"] + waits["recorded_s"]).max()], (
        "not years later"
    )
    held = found.beside_room["recorded"].max()
    assert held < 0.03, "beside a1 alone, which is free in 10 minutes of 30, not beside a2, known to be away"
