"""C8: parts of GPUs are not taken for GPUs, and what cannot be read is refused with a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.base.errors import InputError
from workbench.scenario.traces import convert, parse_cluster
from workbench.scenario.traces.report import Report

HEADER = "JobID|Submit|Elapsed|State|AllocTRES|ReqTRES"
PARTS = {
    "gres/gpu:1g.10gb=1,gres/gpu=1": "MIG slice",
    "gres/gpu:a100_3g.20gb=1": "MIG slice",
    "gres/gpu=2,gres/gpu:nvidia_h100_80gb_hbm3_1g.10gb=2": "MIG slice",
    "gres/gpu:1g.5gb+me=1": "MIG slice",
    "gres/shard=2": "shard",
    "gres/gpu=1,gres/shard:a100=4": "shard",
}
WHOLE = ("gres/gpu:a100=1", "gres/gpu:a100=2,gres/gpu=2,gres/shard=0", "gres/gpu=1,gres/gpumem=20G")


def read(folder: Path, tres: list[str], header: str = HEADER, submit: str = "2024-03-01T08:00:00") -> Report:
    rows = [f"{i}|{submit}|01:00:00|COMPLETED|cpu=4,{each},mem=8G|" for i, each in enumerate(tres)]
    (folder / "log").write_text("\n".join([*([header] if header else []), *rows]))
    return convert("sacct", folder / "log", cluster=parse_cluster("a100=2x8"))[1]


def test_parts_of_gpus_are_dropped_counted_and_told(tmp_path: Path) -> None:
    report = read(tmp_path, [*WHOLE, *PARTS])
    assert report.rows_kept == len(WHOLE)
    slices, shards = report.dropped
    assert slices.count == 4 and "MIG slice" in slices.reason and slices.lines == (5, 6, 7, 8)
    assert shards.count == 2 and "gres/shard" in shards.reason and shards.lines == (9, 10)
    assert all("leave GPUs that are" in each.reason for each in report.dropped), "the hint"


@pytest.mark.parametrize("part", PARTS)
def test_a_log_of_nothing_else_is_an_error_with_the_hint(tmp_path: Path, part: str) -> None:
    with pytest.raises(InputError, match=f"1 dropped: a {PARTS[part]}.*leave GPUs that are"):
        read(tmp_path, [part])


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"header": ""}, "no -n"),
        ({"header": HEADER.replace("AllocTRES|ReqTRES", "AllocGRES|ReqGRES")}, "AllocTRES in the place of AllocGRES"),
        ({"header": HEADER.replace("Elapsed", "ElapsedRaw")}, "Elapsed in the place of ElapsedRaw"),
        ({"submit": "1709280000"}, "SLURM_TIME_FORMAT=standard"),
        ({"submit": "2024-03-01T08:00:00+0100"}, "SLURM_TIME_FORMAT=standard"),
    ],
)
def test_other_ways_to_call_sacct_are_refused_with_a_hint(tmp_path: Path, given: dict[str, str], hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        read(tmp_path, ["gres/gpu:a100=1"], **given)
