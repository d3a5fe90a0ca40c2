"""The log of a real controller, in every dialect of sacct."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from workbench.scenario.traces import convert


@pytest.fixture
def real(shared: Path, tmp_path: Path) -> Path:
    """A real controller's log, unpacked."""
    folder = shared / "data" / "slurm" / "log-a"
    if not folder.is_dir():
        pytest.skip("no log of a real controller beside the project")
    for path in folder.glob("*"):
        if path.suffix == ".gz":
            (tmp_path / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        elif path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_a_real_log_in_every_dialect(real: Path) -> None:
    """Table with attempts, with steps, and JSON tell the same jobs, as their accounting has them; without attempts
    (-X alone) each as it ran last."""
    nodes = [real / "scontrol-show-nodes.txt", real / "scontrol-show-partitions.txt"]
    names = ("sacct-all-duplicates.txt", "sacct-all-steps-duplicates.txt", "sacct.json")
    (one, _), (steps, _), (other, told) = (convert("sacct", real / name, nodes=nodes) for name in names)
    assert len(one.jobs) == len(steps.jobs) == len(other.jobs) == 730
    facts = [
        {job.name: (job.arrival_s, job.steps, job.gpus, job.model) for job in each.jobs} for each in (one, steps, other)
    ]
    assert facts[0] == facts[1] == facts[2]
    last = {job.name: job.steps for job in convert("sacct", real / "sacct-all.txt", nodes=nodes)[0].jobs}
    assert last == {name: known[1] for name, known in facts[0].items() if "attempt" not in name} and len(last) < 730
    reserved = [
        {job.attributes["reservation"] for job in each.jobs if "reservation" in job.attributes} for each in (one, other)
    ]
    assert reserved == [{"course"}, set()], "in JSON a number that means nothing"
    assert "3 jobs of a reservation whose name sacct --json does not print: as if they named none" in told.notes
    waits = [job.attributes["start_s"] - job.attributes["eligible_s"] for job in one.jobs]
    assert abs(sum(waits) / len(waits) - 67.3) < 0.1
    text = (real / "sacct-all-duplicates.txt").read_text().splitlines()
    at = {name: i for i, name in enumerate(text[0].split("|"))}
    for line in text[1:]:
        cells = line.split("|")
        name = f"job-{cells[at['JobID']]}"
        if name in facts[0] and cells[at["State"]] not in ("REQUEUED", "NODE_FAIL"):
            assert facts[0][name][1] == float(cells[at["ElapsedRaw"]])
    assert {node.name for node in one.cluster.each_node} == {
        *(f"a100-{i:02}" for i in range(1, 9)),
        *(f"h100-{i:02}" for i in range(1, 5)),
        *(f"v100-{i:02}" for i in range(1, 9)),
    }
