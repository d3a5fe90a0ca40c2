"""Random scenarios under the scheduler `hare` with every knob: faults, arrivals, memory, several types.

The size is set by `WORKBENCH_FUZZ` (examples of each test; default 25).
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench import simulate
from workbench.baselines.mechanisms.coarsening import steps_each
from workbench.papers.hare.algorithms.switching import TABLE_3, cost_of, switch_table, task_table
from workbench.papers.hare.scheduler import Hare
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import TaskRounds
from workbench.simulation.conservation import check
from workbench.simulation.run import Run

EXAMPLES = int(os.environ.get("WORKBENCH_FUZZ", "25"))
fuzz = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
MODELS = ("VGG19", "ResNet50", "other")
TYPES = ("a", "b")


@st.composite
def worlds(draw: st.DrawFn) -> Scenario:
    """Up to three nodes of two types and six jobs of three models; every model runs on type a and fits there."""
    few = st.integers(1, 3)
    nodes = [{"name": "a0", "accelerator": "a", "gpus": draw(st.integers(3, 4))}]
    nodes += [
        {"name": f"{kind}{i + 1}", "accelerator": kind, "gpus": draw(few), "speed": draw(st.sampled_from([1.0, 0.8]))}
        for i, kind in enumerate(draw(st.lists(st.sampled_from(TYPES), max_size=2)))
    ]
    rows = []
    for model in MODELS:
        for kind in ("a",) if draw(st.booleans()) else TYPES:
            alone = draw(st.sampled_from([0.5, 1.0, 4.0]))
            part = draw(st.sampled_from([0.5, 1.0, 1.2]))  # 1.2: a gang is faster than its GPUs one by one
            sync = draw(st.sampled_from([None, 0.0, 0.7, 5.0]))
            rows += [
                {"model": model, "accelerator": kind, "gpus": n, "steps_per_s": alone * (1 if n == 1 else part * n)}
                | ({} if sync is None or n == 1 else {"sync_s": sync})
                for n in (1, 2, 3)
            ]
    jobs = [
        {
            "name": f"j{i}",
            "model": draw(st.sampled_from(MODELS)),
            "steps": draw(st.sampled_from([1, 7.5, 40, 300])),
            "gpus": draw(few),
            "weight": draw(st.sampled_from([0.5, 1.0, 4.0])),
            "arrival_s": draw(st.sampled_from([0.0, 0.0, 3.3, 20.0, 90.0])),
        }
        | ({"tasks_per_round": draw(few)} if draw(st.booleans()) else {})
        for i in range(draw(st.integers(1, 6)))
    ]
    known = draw(st.booleans())
    models = [
        {"name": name, "memory_gb": draw(st.sampled_from([3.0, 7.0])), "model_gb": draw(st.sampled_from([0.5, 2.0]))}
        for name in MODELS
        if known
    ]
    faults = [
        {"node": f"{draw(st.sampled_from(nodes))['name']}-0", "from_s": start, "to_s": start + draw(st.floats(0.1, 50))}
        for start in draw(st.lists(st.sampled_from([0.0, 2.0, 150.0, 400.0]), max_size=2, unique=True))
    ]
    return Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [
                    {"name": "a", "memory_gb": draw(st.sampled_from([8.0, 11.0]))},
                    {"name": "b"} | ({"memory_gb": draw(st.sampled_from([4.0, 8.0]))} if known else {}),
                ],
                "nodes": nodes,
            },
            "models": models,
            "jobs": jobs,
            "throughputs": rows,
            "core": {"faults": {"list": faults}},
        }
    )


def knobs() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "assignment": st.sampled_from(["earliest_finish", "earliest_available"]),
            "insertion": st.booleans(),
            "synchronisation": st.sampled_from(["relaxed", "scale_fixed", "scale_adaptive"]),
            "relaxation": st.sampled_from(["fluid", "fluid", "fluid", "hare_sched_rl"]),
            "most_rounds": st.sampled_from([1, 3, 8]),
            "steps_per_round": st.sampled_from([None, None, 10]),
            "switching": st.sampled_from(["hare", "hare", "pipeswitch", "default", "custom", "free"]),
            "switch_s": st.sampled_from([0.0, 0.01, 3.0]),
            "speculative_memory": st.booleans(),
            "early_cleaning": st.booleans(),
            "profile_steps": st.sampled_from([0, 0, 5]),
        }
    )


def check_barriers(run: Run) -> None:
    """No task begins, its switch included, before all tasks of the round before have synchronised."""
    if not (run.timeline["job"] != "").any():
        return
    table = task_table(run.timeline)
    assert not table.duplicated(["job", "round", "task"]).any()
    for _, job in table.groupby("job"):
        ends = job.groupby("round")["synchronised_s"].max()
        starts = (job["start_s"] - job["switch_s"]).groupby(job["round"]).min()
        assert (starts.to_numpy()[1:] >= ends.to_numpy()[:-1] - 1e-6).all()


def check_widths(run: Run, given: dict[str, Any]) -> None:
    """Rounds have K tasks, or with scale-adaptive ones at most K, and the tasks of a job are the same in number."""
    if not (run.timeline["job"] != "").any():
        return
    table = task_table(run.timeline)
    jobs = {job.name: job for job in run.scenario.jobs}
    for name, found in table.groupby("job"):
        job = jobs[name]
        wide = job.tasks_per_round or job.gpus
        each = steps_each(job, {"steps_per_round": given["steps_per_round"], "most_rounds": given["most_rounds"]})
        assert len(found) == wide * TaskRounds.of(job.steps, wide, each).count
        widths = found.groupby("round").size()
        assert widths.index.tolist() == list(range(len(widths))) and widths.max() <= wide
        if given["synchronisation"] != "scale_adaptive":
            assert widths.min() == wide


def check_gpus(run: Run) -> None:
    """No GPU does two things at a time; synchronising, which holds none, is left out."""
    held = run.timeline[run.timeline["kind"] != "sync"].sort_values(["node", "slot", "start_s", "end_s"], kind="stable")
    for _, rows in held.groupby(["node", "slot"]):
        assert (rows["start_s"].to_numpy()[1:] >= rows["end_s"].to_numpy()[:-1] - 1e-9).all()


def check_switches(run: Run, given: dict[str, Any]) -> None:
    """What is told of switches is what was charged, within what the design may cost."""
    table, rows = switch_table(run.events), run.timeline[run.timeline["kind"] == "switch"]
    model = {job.name: job.model for job in run.scenario.jobs}
    for row in table.itertuples():
        cost = cost_of(model[row.job])
        costs = {
            "hare": (cost.hare_ms, cost.pipeswitch_ms),
            "pipeswitch": (cost.pipeswitch_ms,) * 2,
            "default": (cost.default_ms,) * 2,
            "custom": (1e3 * given["switch_s"],) * 2,
        }
        low, high = costs[given["switching"]]
        assert low - 1e-9 <= 1e3 * row.switch_s <= high + 1e-9 and row.load in ("hit", "miss", "unknown")
    assert rows["end_s"].sub(rows["start_s"]).sum() <= table["switch_s"].sum() + 1e-9
    if not run.scenario.core.faults.list:
        assert len(rows) == len(table)


@fuzz
@given(scenario=worlds(), given_knobs=knobs())
def test_every_limit_holds_whatever_the_knobs(scenario: Scenario, given_knobs: dict[str, Any]) -> None:
    run = simulate(scenario, "hare", given_knobs)
    assert run.jobs["finish_s"].notna().all() and check(run) == []
    check_barriers(run)
    check_widths(run, given_knobs)
    check_gpus(run)
    check_switches(run, given_knobs)


@settings(fuzz, max_examples=max(5, EXAMPLES // 5))
@given(scenario=worlds(), given_knobs=knobs())
def test_the_same_twice_is_the_same(scenario: Scenario, given_knobs: dict[str, Any]) -> None:
    one, two = (simulate(scenario, "hare", given_knobs) for _ in range(2))
    for name in ("timeline", "events", "jobs", "signals"):
        assert getattr(one, name).equals(getattr(two, name)), name


@settings(fuzz, max_examples=1)
@given(knobs())
def test_the_fuzz_draws_every_knob(given_knobs: dict[str, Any]) -> None:
    assert set(given_knobs) == {knob.name for knob in Hare().knobs}


def test_the_models_of_the_fuzz_have_costs_of_their_own_and_the_mean() -> None:
    assert MODELS[0] in TABLE_3 and MODELS[1] in TABLE_3 and MODELS[2] not in TABLE_3
