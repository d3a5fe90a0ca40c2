"""Converted traces of Chronus charge what the authors' simulator charges for a resume."""

from __future__ import annotations

from pathlib import Path

from workbench.scenario.traces import convert, parse_cluster

TRACE = """job_id,user,num_gpu,submit_time,model_name,duration,expect_time_list,expect_value_list,best_effort,job_type
7,u,4,5601,resnet101,96,159,10,0,strict
"""


def test_convert_from_chronus_sets_the_cost_of_a_restart(tmp_path: Path) -> None:
    """30 s x (1 + log2 GPUs): 30, 60, 90 and 150 s on 1, 2, 4 and 16 GPUs."""
    (tmp_path / "t.csv").write_text(TRACE, encoding="utf-8")
    scenario, report = convert("chronus", tmp_path / "t.csv", cluster=parse_cluster("v100=1x8"))
    assert [scenario.core.restart.seconds(gpus) for gpus in (1, 2, 4, 16)] == [30, 60, 90, 150]
    assert any("restart" in note for note in report.notes)
