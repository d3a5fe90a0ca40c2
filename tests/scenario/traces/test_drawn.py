"""Models for jobs of traces that name none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import builtin, convert, parse_cluster
from workbench.scenario.traces.timed import GROUPS, draw_models, size_classes
from workbench.session.registry import find_scheduler

HOUR = 3600.0
CLASS_OF = {"a": "S", "b": "S", "c": "M", "d": "L", "e": "XL", "f": "M"}


def test_size_classes_by_gpu_hours() -> None:
    hours = np.array([1e-6, 1.0, 1.001, 10.0, 10.001, 50.0, 55.0, 60.0, 100.0, 1e6])
    assert size_classes(hours * HOUR) == ["S", "S", "M", "M", "L", "L", "XL", "XL", "XL", "XL"]


def test_each_model_of_the_class_is_as_likely() -> None:
    drawn = Counter(draw_models(np.full(10_000, 0.5 * HOUR), CLASS_OF, seed=3))
    assert set(drawn) == {"a", "b"}
    assert abs(drawn["a"] - 5000) < 4 * 50, "four standard deviations of a fair coin"
    assert draw_models(np.array([60 * HOUR]), {"a": "S"}, seed=0) == ["a"], "a class without a model draws from all"


def test_a_draw_depends_on_seed_and_position_alone() -> None:
    hours = np.full(50, 5.0)
    one = draw_models(hours * HOUR, CLASS_OF, seed=1)
    assert one == draw_models(hours * HOUR, CLASS_OF, seed=1) != draw_models(hours * HOUR, CLASS_OF, seed=2)
    assert one[:20] == draw_models(hours[:20] * HOUR, CLASS_OF, seed=1)
    hours[7] = 0.5
    changed = draw_models(hours * HOUR, CLASS_OF, seed=1)
    assert [i for i in range(50) if one[i] != changed[i]] == [7]


def test_every_group_that_is_drawn_from_has_all_classes() -> None:
    for group in GROUPS:
        assert {row["size_class"] for row in builtin.models(group)} == {"S", "M", "L", "XL"}


def log(folder: Path, jobs: int = 200) -> Path:
    """Jobs of half an hour to 80 hours on 1 to 8 GPUs."""
    lines = [
        f"{i} {60 * i} 0 {1800 * (1 + i % 160)} {(1, 2, 4, 8)[i % 4]} " + "-1 " * 5 + "1 " * 8 for i in range(jobs)
    ]
    (folder / "log.swf").write_text("\n".join(lines))
    return folder / "log.swf"


@pytest.mark.parametrize(
    ("cluster", "group"),
    [
        ("v100=8x8", "chronus"),
        ("v100=8x8,p100=4x8,k80=4x8", "gavel"),
        ("v100=8x8,t4=4x8", "hadar"),
        ("rtx3090=8x8,gtx1080ti=4x8", "hops"),
    ],
)
def test_a_cluster_of_other_types_draws_from_models_that_know_them(tmp_path: Path, cluster: str, group: str) -> None:
    """A job lasts its run time on the fastest type; its model is one of its size class; its plan can be carried out."""
    scenario, _ = convert("swf", log(tmp_path), throughputs=None, cluster=parse_cluster(cluster), seed=5)
    class_of = {row["name"]: row["size_class"] for row in builtin.models(group)}
    on = scenario.cluster.types[0]
    speeds = scenario.table.matrix(
        [job.model for job in scenario.jobs], [job.gpus for job in scenario.jobs], types=[on]
    )
    run_s = np.array([job.steps for job in scenario.jobs]) / speeds[:, 0]
    wanted_s = np.array([1800.0 * (1 + int(job.name.removeprefix("job-")) % 160) for job in scenario.jobs])
    assert run_s == pytest.approx(wanted_s, rel=1e-2)
    gpu_time_s = wanted_s * [job.gpus for job in scenario.jobs]
    assert [class_of[job.model] for job in scenario.jobs] == size_classes(gpu_time_s)
    assert Scenario.from_json(scenario.to_json()) == scenario
    for entry in scenario.schedulers:
        find_scheduler(entry.scheduler).settle(entry.knobs)


def test_on_types_that_no_group_knows_together_jobs_run_as_recorded(tmp_path: Path) -> None:
    scenario, report = convert("swf", log(tmp_path), throughputs=None, cluster=parse_cluster("v100=1x8,gtx1080ti=1x8"))
    sizes = [job.gpus for job in scenario.jobs]
    assert (scenario.table.matrix([job.model for job in scenario.jobs], sizes) == 1.0).all()
    assert [job.steps for job in scenario.jobs] == [1800.0 * (1 + i % 160) for i in range(200)]
    assert any("200 jobs with no single type in the trace" in note for note in report.notes)
