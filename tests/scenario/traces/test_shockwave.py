"""Shockwave's 12-column traces: small samples in the format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import ConversionSummary, convert, parse_cluster

SPEEDS = {"v100": {"('beta', 1)": {"null": 2.0}, "('beta', 2)": {"null": 3.0}}}


def line(steps: Any = 100, gpus: Any = 1, mode: str = "static", slo: Any = -1, arrival: Any = 0) -> str:
    cells = ["beta", "python3 main.py", "folder", "--steps", "1", steps, gpus, mode, 4, slo, 999, arrival]
    return "\t".join(str(cell) for cell in cells)


def read(folder: Path, *lines: str, form: str = "shockwave") -> tuple[Scenario, ConversionSummary]:
    (folder / "speeds.json").write_text(json.dumps(SPEEDS))
    (folder / "t.trace").write_text("\n".join(lines) + "\n")
    return convert(form, folder / "t.trace", throughputs=folder / "speeds.json", cluster=parse_cluster("v100=2x2"))


def test_the_columns_are_where_the_format_has_them(tmp_path: Path) -> None:
    scenario, report = read(tmp_path, line(), line(300, 2, "accordion", 1.2, 12.5), line(mode="gns"), line(mode="gns"))
    first, second = scenario.jobs[:2]
    assert (first.name, first.model, first.steps, first.gpus, first.weight) == ("job-0", "beta", 100.0, 1, 4.0)
    assert (first.arrival_s, first.rewards) == (0.0, None)
    assert (second.steps, second.gpus, second.arrival_s) == (300.0, 2, 12.5)
    assert second.rewards == ((pytest.approx(1.2 * 300 / 3.0), 1.0),)
    assert (report.format, report.rows_read, report.rows_kept) == ("shockwave", 4, 4)
    assert "jobs whose batch size would change keep that of their job type: 1 accordion, 2 gns" in report.notes


def test_bad_rows_and_other_forms(tmp_path: Path) -> None:
    _, report = read(tmp_path, line(), line(steps="x"), line()[:-3], line(gpus=0))
    assert [(dropped.reason, dropped.lines) for dropped in report.dropped] == [
        ("total steps is not a finite number", (2,)),
        ("11 columns instead of 12", (3,)),
        ("scale factor not a whole number from 1 to 1000000", (4,)),
    ]
    with pytest.raises(InputError, match=r"this is Shockwave's 12-column form.*--from shockwave"):
        read(tmp_path, line(), form="gavel")
    with pytest.raises(InputError, match=r"this is Gavel's 10-column form \(--from gavel\)"):
        read(tmp_path, "\t".join(["1"] * 10))
