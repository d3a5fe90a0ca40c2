"""What a GPU keeps and what its switches cost: hits by hand, early cleaning, Table 3, and the same in a run.

One row per task of a run: by hand, and on random scenarios that no barrier is crossed and all steps are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from tests.baselines.mechanisms.support import make, scenarios
from workbench import simulate
from workbench.base.errors import InputError
from workbench.papers.hare.algorithms.switching import (
    TABLE_3,
    HeldOnGpu,
    LoadKind,
    ModelsKept,
    Sizes,
    Switches,
    comes,
    cost_of,
    hidden_s,
)
from workbench.papers.hare.scheduler import Hare
from workbench.scenario.scenario import Scenario
from workbench.simulation.conservation import check
from workbench.simulation.loop import run_loop as run_of
from workbench.simulation.run import Run
from workbench.simulation.stop import Until
from workbench.simulation.task_sequences import hit_rate, switch_table, task_table

SIZES = {"a": Sizes(6.0, 2.0), "b": Sizes(5.0, 1.0), "c": Sizes(9.0, 4.0)}


def replay(
    jobs: Iterable[str], sizes: Mapping[str, Sizes], capacity_gb: float | None, kept: ModelsKept | None = None
) -> tuple[list[LoadKind], ModelsKept]:
    """What each task of a GPU's sequence finds, by the jobs of its tasks in turn, and what the GPU holds in the end."""
    now, loads = kept or ModelsKept(), list[LoadKind]()
    for job in jobs:
        load, now = comes(now, job, sizes, capacity_gb)
        loads.append(load)
    return loads, now


def found(jobs: str, capacity_gb: float | None = 8.0) -> list[LoadKind]:
    return replay(jobs, SIZES, capacity_gb)[0]


def test_figure_10_the_model_of_the_first_task_is_still_there_for_the_third() -> None:
    """a's 2 GB fit beside b's peak of 5 in 8 GB; b's 1 GB beside a's peak of 6."""
    assert found("abab") == ["first", "miss", "hit", "hit"]


def test_a_model_that_does_not_fit_beside_the_next_task_is_gone() -> None:
    assert found("aba", 6.9) == ["first", "miss", "miss"]
    assert found("aba", 7.0) == ["first", "miss", "hit"]


def test_the_latest_models_stay() -> None:
    """Beside c's peak of 9 in 11 GB one of b (1 GB, the latest) and a (2 GB) fits, in 12 GB both."""
    assert found("abcb", 11.0)[-1] == "hit" and found("abca", 11.0)[-1] == "miss"
    assert found("abca", 12.0)[-1] == "hit"


def test_older_models_are_not_kept_past_one_that_does_not_fit() -> None:
    """Greedily the latest first: when c's 4 GB do not fit beside b, a's 2 GB before them go as well."""
    sizes = {**SIZES, "b": Sizes(12.5, 1.0)}
    assert replay("acba", sizes, 16.0)[0] == ["first", "miss", "miss", "miss"]
    assert replay("acba", sizes, 18.5)[0] == ["first", "miss", "miss", "hit"]


def test_a_job_after_itself_needs_no_switch() -> None:
    assert found("aaba") == ["first", "same", "miss", "hit"]


def test_without_sizes_nobody_knows() -> None:
    assert found("aba", None) == ["first", "unknown", "unknown"]
    assert replay("aba", {**SIZES, "b": Sizes(None, 1.0)}, 8.0)[0] == ["first", "unknown", "miss"]


@given(st.text("abc", min_size=1, max_size=12), st.floats(9, 30))
def test_what_is_kept_fits_beside_the_task_and_more_memory_keeps_no_less(jobs: str, capacity_gb: float) -> None:
    small, large = ModelsKept(), ModelsKept()
    for job in jobs:
        _, small = comes(small, job, SIZES, capacity_gb)
        _, large = comes(large, job, SIZES, capacity_gb + 4.0)
        held = (SIZES[job].memory_gb or 0.0) + sum(SIZES[other].model_gb or 0.0 for other in small.models)
        assert held <= capacity_gb and set(small.models) <= set(large.models)


def test_early_cleaning_hides_what_fits_before_the_task_is_gone() -> None:
    """A task falls from 6 to 2 GB in the last 2 of 3 s; the next model, 1 GB, fits in 8 GB from the start, in 5 GB
    once 2 of 4 GB are freed, half way through the backward pass, in 2.5 GB only when the task is gone."""
    before, after = SIZES["a"], SIZES["b"]
    assert hidden_s(3.0, before, after, 0.0, 8.0) == 3.0
    assert hidden_s(3.0, before, after, 0.0, 5.0) == approx(1.0)
    assert hidden_s(3.0, before, after, 1.0, 6.0) == approx(1.0)
    assert hidden_s(3.0, before, after, 0.0, 2.5) == 0.0
    assert hidden_s(3.0, before, after, 0.0, None) == 0.0


def test_table_3_is_found_by_the_paper_s_names_and_those_of_the_workload() -> None:
    assert cost_of("VGG19 (Cifar10)") is TABLE_3["VGG19"] and cost_of("ResNet-50 (batch size 16)").hare_ms == 2.04
    assert cost_of("LSTM").pipeswitch_ms == approx(sum(cost.pipeswitch_ms for cost in TABLE_3.values()) / 8)
    for cost in TABLE_3.values():
        assert cost.hare_ms < cost.pipeswitch_ms < 13 < 3000 < cost.default_ms
        assert cost.hare_percent < cost.pipeswitch_percent < 9 < 93 < cost.default_percent


def seconds(jobs: str, capacity_gb: float | None, step_s: float = 0.0, **knobs: Any) -> list[float]:
    """Milliseconds of the switches of a sequence whose models are all VGG19 (4.01 ms a miss, 2.77 ms a hit)."""
    switches = Switches(Hare().settle(knobs), dict.fromkeys("abc", "VGG19"), SIZES, {})
    held, spent = HeldOnGpu(), []
    for job in jobs:
        paid, kept = switches.next(held, job, capacity_gb)
        held = HeldOnGpu(kept, step_s)
        spent.append(round(1e3 * paid.switch_s, 9))
    return spent


def test_a_hit_costs_hare_s_column_and_a_miss_pipeswitch_s() -> None:
    assert seconds("abab", 8.0, early_cleaning=False) == [0, 4.01, 2.77, 2.77]
    assert seconds("abab", 8.0, early_cleaning=False, speculative_memory=False) == [0, 4.01, 4.01, 4.01]


def test_early_cleaning_shortens_a_miss_down_to_hare_s_column() -> None:
    """Half a millisecond of the step before can be used, or as much as is needed."""
    assert seconds("ab", 8.0, 0.0005) == [0, 3.51]
    assert seconds("ab", 8.0, 1.0) == [0, 2.77]
    assert seconds("ab", 8.0, 1.0, early_cleaning=False) == [0, 4.01]


def test_without_sizes_hare_s_mean_is_charged_if_both_are_on() -> None:
    assert seconds("ab", None) == [0, 2.77]
    assert seconds("ab", None, early_cleaning=False) == [0, 4.01]


def test_the_other_columns_know_no_hits() -> None:
    assert seconds("abab", 8.0, switching="pipeswitch") == [0, 4.01, 4.01, 4.01]
    assert seconds("aab", 8.0, switching="default") == [0, 0, 3288.94]
    assert seconds("ab", 8.0, switching="custom", switch_s=0.5) == [0, 500]
    assert seconds("ab", 8.0, switching="free") == [0, 0]


def turns(memory_gb: float, arrival_s: float = 0.0, faults: Any = None, **knobs: Any) -> Run:
    """Two jobs of four rounds that take turns on one GPU while the other synchronises; 1 GB models, 5 GB at peak."""
    data = make({"n": ("t", 1)}, [{"steps": 4}, {"steps": 4, "arrival_s": arrival_s}]).to_dict()
    data["throughputs"] = [{**row, "sync_s": 1.0} for row in data["throughputs"]]
    data["cluster"]["accelerators"] = [{"name": "t", "memory_gb": memory_gb}]
    data["models"] = [{"name": "m", "memory_gb": 5.0, "model_gb": 1.0}]
    data["core"] = {"faults": {"list": faults or []}}
    return simulate(Scenario.from_dict(data), "hare", steps_per_round=1, **{"early_cleaning": False, **knobs})


def test_a_run_tells_hits_from_misses() -> None:
    run = turns(6.0)
    table = switch_table(run.events)
    assert list(zip(table["job"], table["round"], table["load"], strict=True)) == [
        ("j1", 0, "miss"),
        *((job, number, "hit") for number in (1, 2, 3) for job in ("j0", "j1")),
    ]
    assert hit_rate(table) == approx(6 / 7) and set(table["gpu"]) == {"n-0/0"}
    assert hit_rate(switch_table(turns(5.5).events)) == 0.0
    assert switch_table(turns(6.0, switching="free").events).empty


@pytest.mark.parametrize("arrival_s", [0.0, 1.5, 2.5])
@pytest.mark.parametrize("knobs", [{}, {"early_cleaning": True}, {"switching": "pipeswitch"}])
def test_what_is_told_is_what_was_charged_also_after_plans_were_made_anew(
    arrival_s: float, knobs: dict[str, Any]
) -> None:
    run = turns(6.0, arrival_s, **knobs)
    table, rows = switch_table(run.events), run.timeline[run.timeline["kind"] == "switch"]
    told = zip(table["job"], table["time_s"], table["time_s"] + table["switch_s"], strict=True)
    assert [value for row in told for value in row] == approx(
        [value for row in zip(rows["job"], rows["start_s"], rows["end_s"], strict=True) for value in row]
    )
    assert len(table) >= 3


def test_without_speculative_memory_every_switch_is_a_miss() -> None:
    table = switch_table(turns(6.0, speculative_memory=False).events)
    assert len(table) == 7 and set(table["load"]) == {"miss"}
    assert table["switch_s"].tolist() == approx([cost_of("m").pipeswitch_ms / 1e3] * 7)


def test_early_cleaning_says_how_much_sooner_a_model_is_loaded() -> None:
    """In 5.5 GB the next model, 1 GB, fits once 0.5 of 4 GB are freed; there is time enough to hide all it may."""
    table, cost = switch_table(turns(5.5, early_cleaning=True).events), cost_of("m")
    assert set(table["load"]) == {"miss"} and table["switch_s"].tolist() == approx([cost.hare_ms / 1e3] * 7)
    assert table["sooner_s"].tolist() == approx([(cost.pipeswitch_ms - cost.hare_ms) / 1e3] * 7)


@pytest.mark.parametrize("second", [{"from_s": 2.5, "to_s": 3.0}, {"from_s": 2.5, "to_s": 2.5000001}])
def test_a_fault_empties_the_memory_of_its_node(second: dict[str, float]) -> None:
    """By 2.5 s both models are on the GPU; whoever is next after the fault misses, and so does the other one."""
    table = switch_table(turns(6.0, faults=[{"node": "n-0", **second}]).events)
    after = table[table["time_s"] >= 2.5]
    assert after["load"].tolist()[:2] == ["miss", "miss"] and set(after["load"].tolist()[2:]) == {"hit"}
    assert set(after["job"].tolist()[:2]) == {"j0", "j1"}


def test_a_fault_while_nobody_is_there_empties_it_too() -> None:
    """j0 is done at 8 s, the node fails from 50 to 60 s, j1 comes at 100 s: its model has to be loaded."""
    table = switch_table(turns(6.0, 100.0, [{"node": "n-0", "from_s": 50.0, "to_s": 60.0}]).events)
    assert table[["job", "round", "load"]].values.tolist() == [["j1", 0, "miss"]]


def test_a_fault_before_its_first_task_takes_nothing_from_a_gpu() -> None:
    table = switch_table(turns(6.0, faults=[{"node": "n-0", "from_s": 0.0, "to_s": 1.0}]).events)
    assert table["load"].tolist() == ["miss", *["hit"] * 6]


def test_events_that_are_not_hare_s_are_refused() -> None:
    events = turns(6.0).events
    with pytest.raises(InputError, match="as Hare records it"):
        switch_table(events.assign(reason="because"))


def two_rounds(**knobs: Any) -> Any:
    """Two jobs of two rounds take turns on one GPU; a task computes 1 s, synchronises 1 s."""
    data = make({"n": ("t", 1)}, [{"steps": 2}] * 2).to_dict()
    data["throughputs"] = [{**row, "sync_s": 1.0} for row in data["throughputs"]]
    return simulate(Scenario.from_dict(data), "hare", steps_per_round=1, **knobs)


def test_a_row_by_hand() -> None:
    found = task_table(two_rounds(switching="custom", switch_s=0.25))
    assert found[["job", "round", "task", "switch_s", "start_s", "end_s", "synchronised_s"]].values.tolist() == [
        ["j0", 0, 0, 0.0, 0.0, 1.0, 2.0],
        ["j1", 0, 0, 0.25, 1.25, 2.25, 3.25],
        ["j0", 1, 0, 0.25, 2.5, 3.5, 4.5],
        ["j1", 1, 0, 0.25, 3.75, 4.75, 5.75],
    ]
    assert found["steps"].tolist() == [1.0] * 4 and set(found["node"]) == {"n-0"}


def test_a_run_of_gangs_has_no_tasks() -> None:
    with pytest.raises(InputError, match="task sequences"):
        task_table(simulate(make({"n": ("t", 1)}, [{"steps": 2}]), "fifo"))


@pytest.mark.parametrize(("sync_s", "fails_s"), [(0.0, 20.5), (0.0, 21.0), (1.0, 34.5), (1.0, 34.75)])
def test_a_task_of_fewer_steps_is_whole_although_the_other_of_its_round_begins_anew(
    sync_s: float, fails_s: float
) -> None:
    """A round narrower than others moves tasks: 7, 7 and 7, 7 and 6, then 6 steps. The failure takes the last 7."""
    data = make({"n": ("t", 4)}, [{"steps": 1, "gpus": 3}, {"steps": 40, "tasks_per_round": 2}]).to_dict()
    data["throughputs"] = [{**row, "sync_s": sync_s} for row in data["throughputs"]]
    data["core"] = {"faults": {"list": [{"node": "n-0", "from_s": fails_s, "to_s": fails_s + 1}]}}
    knobs = {"synchronisation": "scale_adaptive", "most_rounds": 3, "switching": "custom", "switch_s": 0.5}
    run = simulate(Scenario.from_dict(data), "hare", **knobs)
    assert task_table(run).query("job == 'j1'")["steps"].tolist() == approx([7, 7, 7, 6, 7, 6])


@given(
    scenario=scenarios(),
    sync_s=st.sampled_from([None, 0.3, 5.0]),
    switching=st.sampled_from(["hare", "default", "free"]),
    synchronisation=st.sampled_from(["relaxed", "scale_fixed"]),
    assignment=st.sampled_from(["earliest_finish", "earliest_available"]),
    insertion=st.booleans(),
    most_rounds=st.sampled_from([1, 3, 30]),
    until=st.sampled_from([250.0, 20_000.0]),
)
def test_no_barrier_is_crossed_no_gpu_double_booked_and_no_step_lost(
    scenario: Scenario, sync_s: float | None, until: float, **knobs: Any
) -> None:
    data = scenario.to_dict()
    data["throughputs"] = [row | ({} if sync_s is None else {"sync_s": sync_s}) for row in data["throughputs"]]
    data["throughputs"] += [{**row, "gpus": 1} for row in data["throughputs"] if row.get("gpus", 1) > 1]
    scenario = Scenario.from_dict(data)
    if knobs["synchronisation"] == "scale_fixed":
        types = {
            job.name: {
                row.accelerator for row in scenario.throughputs if row.model == job.model and row.steps_per_s > 0
            }
            for job in scenario.jobs
        }
        room = {name: sum(scenario.cluster.capacity.get(kind, 0) for kind in kinds) for name, kinds in types.items()}
        if any(room[job.name] < job.gpus for job in scenario.jobs):
            return
    run = run_of(scenario, Hare(), knobs, stop=Until(until))
    assert check(run) == []
    found = task_table(run) if (run.timeline["job"] != "").any() else None
    if found is None:
        return
    assert not found.duplicated(["job", "round", "task"]).any()
    for _, job in found.groupby("job"):
        ends = job.groupby("round")["synchronised_s"].max()
        starts = (job["start_s"] - job["switch_s"]).groupby(job["round"]).min()
        assert list(ends.index) == list(range(len(ends)))
        assert (starts.to_numpy()[1:] >= ends.to_numpy()[:-1] - 1e-6).all()
    done = run.jobs.set_index("job")
    steps = found.groupby("job")["steps"].sum().reindex(done.index, fill_value=0.0)
    whole = done["finish_s"].notna()
    assert np.allclose(steps[whole], done["steps"][whole])
