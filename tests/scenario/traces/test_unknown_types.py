"""A log of GPUs without built-in speeds converts, and its jobs run as recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench
from workbench.scenario.traces import convert, parse_cluster

RAN = {"a100": 3600, "h100": 1234, "v100": 77777, "l40s": 1, "mi250x": 86400}


def test_a_dump_of_any_types_converts_and_each_job_runs_as_recorded(tmp_path: Path) -> None:
    """Alone on the cluster each job lasts what the log says, on the type that it says, and can run on no other."""
    rows = [
        f"{i}|ada|2024-03-01T08:00:00|{s // 86400}-{s // 3600 % 24:02}:{s // 60 % 60:02}:{s % 60:02}|COMPLETED|"
        f"gres/gpu:{name}=2,gres/gpu=2|gres/gpu=2"
        for i, (name, s) in enumerate(RAN.items())
    ]
    (tmp_path / "log").write_text("\n".join(["JobID|User|Submit|Elapsed|State|AllocTRES|ReqTRES", *rows]))
    cluster = "A100=1x2,h100=1x8,v100=2x4,l40s=1x4,MI250X=1x8"
    scenario, report = convert("sacct", tmp_path / "log", cluster=parse_cluster(cluster))
    assert (report.rows_kept, report.dropped) == (5, ())
    speeds = scenario.table.matrix([job.model for job in scenario.jobs], [2] * 5)
    assert ((speeds > 0) == [[i == j for j in range(5)] for i in range(5)]).all()
    run = workbench.simulate(scenario, "fifo")
    jobs = run.jobs
    assert (jobs["finish_s"] - jobs["arrival_s"]).tolist() == pytest.approx(list(RAN.values()))
    on = run.timeline[run.timeline["job"] != ""].groupby("job", sort=False)["accelerator"].unique()
    assert [list(on[job.name]) for job in scenario.jobs] == [[name] for name in scenario.cluster.types]


@pytest.mark.parametrize("format", ["helios", "swf"])
def test_a_log_without_types_runs_as_recorded_on_types_without_speeds(tmp_path: Path, format: str) -> None:
    text = {
        "swf": "7 0 0 3600 4 " + "-1 " * 5 + "1 " * 8,
        "helios": "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
        "7,ada,v,4,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-09 19:41:01,3600,0",
    }[format]
    (tmp_path / "log").write_text(text)
    scenario, report = convert(format, tmp_path / "log", cluster=parse_cluster("a100=1x8,h100=1x8"))
    assert scenario.table.matrix([scenario.jobs[0].model], [4]).tolist() == [[1.0, 1.0]]
    assert scenario.jobs[0].steps == 3600.0
    assert any("may run on any" in note for note in report.notes)


def test_a_real_log_of_three_types(shared: Path) -> None:
    """What ran on each type of a real controller's log is what its own accounting says."""
    log = shared / "data" / "slurm" / "log-a" / "sacct-workbench.txt"
    if not log.is_file():
        pytest.skip("no public traces beside the project")
    scenario, report = convert("sacct", log, cluster=parse_cluster("a100=8x8,h100=4x8,v100=8x4"))
    assert (report.rows_read, report.rows_kept) == (1515, 726)
    told = (
        "jobs run as long as recorded, on the type where they ran and on no other: v100 (238), a100 (336), h100 (150), "
        "a100 or v100 (2)"
    )
    assert told in report.notes
    recorded = {}
    for line in log.read_text().splitlines()[1:]:
        cells = line.split("|")
        hours, minutes, seconds = map(int, cells[3].split(":"))
        recorded[f"job-{cells[0]}"] = 3600 * hours + 60 * minutes + seconds
    for job in scenario.jobs:
        speeds = scenario.table.matrix([job.model], [job.gpus])
        assert job.steps == recorded[job.name] and set(speeds.ravel()) <= {0.0, 1.0}
