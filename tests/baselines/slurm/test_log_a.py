"""Against the log of a real controller: shares and priorities as sshare and sprio print them, waits as they were."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

import workbench
from tests.baselines.slurm.as_recorded import faults
from workbench.analysis.hidden_limits import peaks_of
from workbench.baselines.mechanisms.slurm.limits import Ledger
from workbench.baselines.mechanisms.slurm.priority import changing, fair_shares, standing
from workbench.baselines.mechanisms.slurm.site import read_site
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import convert
from workbench.scenario.traces.slurm_text import table, timestamp

BEGIN = "2026-11-22T20:31:34"
DRAINED = "NodeName|TimeStart|TimeEnd|State\nv100-05|2026-11-22T20:36:32|2026-11-22T20:41:56|DRAIN\n"


@pytest.fixture(scope="module")
def log(shared: Path) -> Path:
    folder = shared / "data" / "slurm" / "log-a"
    if not folder.is_dir():
        pytest.skip("no log of a real controller beside the project")
    return folder


@pytest.fixture(scope="module")
def scenario(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """All that the controller's own programs say; jobs run on the types where they ran."""
    folder = tmp_path_factory.mktemp("log")

    def unpacked(name: str) -> Path:
        path = folder / Path(name).name
        path.write_bytes(gzip.decompress((log / f"{name}.gz").read_bytes()))
        return path

    (folder / "events.txt").write_text(DRAINED)
    return convert(
        "sacct",
        unpacked("sacct-all-duplicates.txt"),
        nodes=[log / "scontrol-show-nodes.txt", log / "scontrol-show-partitions.txt"],
        limits=[log / "sacctmgr-assoc.txt", log / "sacctmgr-qos.txt"],
        shares=[unpacked("snapshots/sshare-20261122T203132.txt")],
        config=[log / "scontrol-show-config.txt", unpacked("snapshots/reservations-20261122T204300.txt")],
        events=[folder / "events.txt"],
    )[0]


def at(path: Path) -> float:
    """When a snapshot was taken (`...-20261122T203132.txt.gz`), as `moment` has it."""
    day, clock = path.name.partition(".")[0].rpartition("-")[2].split("T")
    found = timestamp(f"{day[:4]}-{day[4:6]}-{day[6:]}T{clock[:2]}:{clock[2:4]}:{clock[4:]}")
    assert found is not None
    return found


def test_fair_shares_are_those_of_sshare(log: Path, scenario: Scenario) -> None:
    """Of every user in every account, every two minutes, from the usage by which they were ranked."""
    site, compared = read_site(scenario), 0
    for path in sorted((log / "snapshots").glob("sshare-*.gz")):
        rows = [row for row in table(gzip.decompress(path.read_bytes()).decode())[1] if row["USER"].strip()]
        users = [(row["USER"].strip(), row["ACCOUNT"].strip()) for row in rows]
        usage = {user: float(row["NORMUSAGE"]) for user, row in zip(users, rows, strict=True)}
        found = fair_shares(site, usage)
        assert [found[user] for user in users] == pytest.approx([float(row["FAIRSHARE"]) for row in rows], abs=1e-5)
        compared += len(users)
    assert compared == 368


def test_parts_of_priorities_are_those_of_sprio(log: Path, scenario: Scenario) -> None:
    """To what sprio rounds; an age is as old as the last PriorityCalcPeriod (60 s: 67 of 2000 points in 30 min)."""
    site, compared = read_site(scenario), 0
    stand, begin_s = standing(site), timestamp(BEGIN)
    assert begin_s is not None
    for path in sorted((log / "snapshots").glob("sprio-*.gz")):
        now_s = at(path)
        for line in gzip.decompress(path.read_bytes()).decode().splitlines()[1:]:
            cells = line.split()
            if (ask := site.asks.get(f"job-{cells[0]}")) is None:
                continue
            ((age, _),), parts = changing(site, [ask], {}, now_s - begin_s), stand[ask.name]
            for name, column in (("job_size", 8), ("partition", 9), ("qos", 10)):
                assert abs(getattr(parts, name) - float(cells[column])) < 1, (cells, parts)
            assert -1 <= age - float(cells[5]) < 67 + 3, (cells, age)
            compared += 1
    assert compared == 799


def test_limits_hold_back_whom_squeue_says(log: Path, scenario: Scenario) -> None:
    """No job of the log began beyond a limit; and of those that squeue newly says a limit holds back, it did in the
    minute before (squeue keeps a reason until the job is tried again, so older ones tell nothing)."""
    site, begin_s = read_site(scenario), timestamp(BEGIN)
    assert begin_s is not None
    spans = {job.name: (job.attributes["start_s"], job.attributes["end_s"]) for job in scenario.jobs}
    ledgers, empty = dict[float, Ledger](), Ledger.of_site(site)
    for at_s in sorted({at_s for span in spans.values() for at_s in span}):
        ledgers[at_s] = replace(empty, used=[0.0] * len(empty.used), held={})
        for name, (start_s, end_s) in spans.items():
            if start_s < at_s < end_s or start_s == at_s == end_s:
                ledgers[at_s].add(site.asks[name], {}, site.asks[name].limit_s)
        began = [site.asks[name] for name, (start_s, _) in spans.items() if start_s == at_s]
        for ask in began:
            assert ledgers[at_s].reason(ask) is None, (ask, ledgers[at_s].reason(ask))
            ledgers[at_s].add(ask, {}, ask.limit_s)
    before, same, other = dict[str, str](), Counter[str](), list[str]()
    for path in sorted((log / "snapshots").glob("squeue-2*.txt.gz")):
        now_s = at(path) - begin_s
        table = csv.DictReader(gzip.decompress(path.read_bytes()).decode().splitlines(), delimiter="|")
        reasons = {row["JOBID"]: row["REASON"] for row in table if row["STATE"] == "PENDING"}
        for number, reason in reasons.items():
            asked = site.asks.get(f"job-{number}")
            if asked is not None and reason.startswith(("QOS", "Assoc")) and before.get(number) != reason:
                then = [ledger.reason(asked) for at_s, ledger in ledgers.items() if now_s - 60 < at_s <= now_s]
                if any(found is not None and found.code == reason for found in then):
                    same[reason] += 1
                else:
                    other.append(f"{reason} of {asked.name} at {now_s:g} s")
        before = reasons
    assert len(other) <= 0.1 * sum(same.values()), (same, other)
    assert same["QOSMaxGRESPerUser"] > 40 and same["QOSGrpGRES"] > 5, same


def test_jobs_run_where_and_as_long_as_they_did(log: Path, scenario: Scenario) -> None:
    text = gzip.decompress((log / "sacct-all-duplicates.txt.gz").read_bytes()).decode()
    run = workbench.simulate(scenario, "slurm")
    assert faults(run, text) == (730, [])
    site = read_site(scenario)
    peaks = peaks_of(scenario, site, [run.jobs], site.settings["bf_interval"]).set_index(["group", "user", "what"])
    assert peaks.loc[("QOS high", "", "GPUs")][["recorded", "simulated", "waiting"]].tolist() == [26, 32, 0]
    waiting = {of: peaks.loc[(*of, "GPUs"), "waiting"] for of in (("QOS long", ""), ("QOS normal", "ada"))}
    assert waiting == {("QOS long", ""): 0, ("QOS normal", "ada"): 0}, "limits that the run keeps too"


def test_waits_are_as_they_were(scenario: Scenario) -> None:
    """Mean waits within 15 % over all and 35 % in each partition with 50 jobs, nearer than each rival's; job by job the
    median start is off by what two phases of backfill's clock are apart, which no file says; no user's mean is out of
    its rank; debug's jobs find the nodes that others left them (25 s where nodes are filled in order)."""
    found = workbench.calibrate(scenario, phases=4)
    assert abs(found.waits["simulated_s"].mean() / found.waits["recorded_s"].mean() - 1) < 0.15
    for row in found.by("partition").to_dict("records"):
        if row["jobs"] >= 50:
            assert abs(row["simulated_mean_s"] / row["recorded_mean_s"] - 1) < 0.35, row
    starts = found.waits[["partition", "recorded_s", *found.runs]].set_index("partition")
    off = starts[[*found.runs]].sub(starts["recorded_s"], axis=0).abs().groupby("partition").median().mean(axis=1)
    pairs = [(starts[one] - starts[other]).abs() for one, other in combinations(found.runs, 2)]
    apart = sum(each.groupby("partition").median() for each in pairs) / len(pairs)
    assert (off[["batch", "h100", "long"]] <= 1.25 * apart[["batch", "h100", "long"]] + 1).all(), (off, apart)
    assert all(found.held_back.mean_error < rival.mean_error for rival in found.rivals.values())
    assert found.held_back.rank_correlation > 0.85
    assert found.by("partition").set_index("partition").loc["debug", "simulated_mean_s"] < 12


def test_a_limit_of_a_whole_qos_that_no_file_tells_is_named(scenario: Scenario) -> None:
    """QOS long may have 16 GPUs, a user of QOS normal 24: hidden, both are found with their numbers, known neither, and
    in one run nothing else (QOS high had more at once there than in the log, by chance)."""
    hidden = {"GrpTRES", "MaxTRESPU"}
    entities = [
        {**dict(each), "attributes": {name: value for name, value in each.attributes.items() if name not in hidden}}
        if each.name.startswith("qos ")
        else each
        for each in scenario.entities
    ]
    assert workbench.calibrate(scenario, phases=1).reasons == []
    reasons = workbench.calibrate(scenario.replace(entities=entities), phases=1).reasons
    beyond = {why.partition(" has up to ")[0]: why for why in reasons if "at once, in the log never more than" in why}
    assert beyond.keys() == {"user ada in QOS normal", "QOS long"}
    for who, most in (("user ada in QOS normal", 24), ("QOS long", 16)):
        assert f"GPUs at once, in the log never more than {most}: a limit that no file tells?" in beyond[who]
