"""Hare on the core: the plan is what runs, arrivals are planned for as they come, switches are charged.

Then random scenarios with every knob: faults, arrivals, memory, several types. `WORKBENCH_FUZZ` sets the examples of
each test; default 25.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest import approx

from tests.baselines.mechanisms.support import look, make, scenarios
from tests.simulation.support import rows
from workbench import simulate, summary
from workbench.analysis.contract_rules.schedulers import Watched
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.task_rounds import steps_each
from workbench.papers.hare.algorithms.switching import TABLE_3, cost_of
from workbench.papers.hare.scheduler import Hare, ProfileHistory
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import TaskRounds
from workbench.scheduling.estimators.by_name import maker
from workbench.scheduling.memory import plain
from workbench.simulation.conservation import check
from workbench.simulation.loop import run_loop as run_of
from workbench.simulation.run import Run
from workbench.simulation.task_sequences import switch_table, task_table

FREE: dict[str, Any] = {"switching": "free"}


SCALE_ADAPTIVE = {"synchronisation": "scale_adaptive", "most_rounds": 1}


def finish_s(run: Run) -> dict[str, float]:
    return dict(zip(run.jobs["job"], run.jobs["finish_s"], strict=True))


@given(scenario=scenarios())
def test_without_switches_and_faults_every_job_ends_as_the_last_plan_says(scenario: Scenario) -> None:
    data = scenario.to_dict()
    data.get("core", {}).pop("faults", None)
    run = run_of(Scenario.from_dict(data), Watched(Hare()), FREE)
    assert check(run) == []
    plans = run.signals[run.signals["signal"] == "planned_finish_s"].groupby("job")["value"].last()
    for name, seconds in finish_s(run).items():
        assert seconds == approx(plans[name]), name


def test_one_gpu_goes_by_weight_over_time() -> None:
    jobs = [{"steps": 400, "weight": 1.0}, {"steps": 600, "weight": 3.0}, {"steps": 100, "weight": 1.0}]
    run = simulate(make({"n": ("t", 1)}, jobs), "hare", **FREE)
    assert finish_s(run) == {"j2": 100, "j1": 700, "j0": 1100}
    assert (run.jobs["finish_s"] * run.jobs["weight"]).sum() == 100 + 3 * 700 + 1100


def test_two_gangs_take_turns_on_their_gpus_while_the_other_synchronises() -> None:
    """Each synchronises as long as it computes: both finish as if alone, but for the first turn of the second."""
    data = make({"n": ("t", 2)}, [{"steps": 20, "gpus": 2}] * 2).to_dict()
    data["throughputs"] = [{**row, "sync_s": 1.0} for row in data["throughputs"]]
    run = simulate(Scenario.from_dict(data), "hare", steps_per_round=1, **FREE)
    assert sorted(finish_s(run).values()) == [20.0, 21.0]


def test_an_arrival_is_planned_for_when_it_comes() -> None:
    """The short job gets the GPU at the next round of the long one, which is 10 s of 30 then."""
    scenario = make({"n": ("t", 1)}, [{"steps": 300}, {"steps": 5, "arrival_s": 12.0}])
    run = simulate(scenario, "hare", **FREE)
    assert finish_s(run) == {"j0": 305.0, "j1": 25.0}
    assert run.decisions["cause"].tolist() == ["arrival", "arrival"]


def switched(**knobs: Any) -> list[tuple[float, float]]:
    """Two jobs of two rounds on one GPU that take turns, for their synchronisation: start and end of the switches."""
    data = make({"n": ("t", 1)}, [{"steps": 2}] * 2).to_dict()
    data["throughputs"] = [{**row, "sync_s": 1.0} for row in data["throughputs"]]
    run = simulate(Scenario.from_dict(data), "hare", steps_per_round=1, **knobs)
    assert check(run) == []
    return [(start_s, end_s) for *_, kind, start_s, end_s in rows(run) if kind == "switch"]


def test_a_switch_to_another_job_is_charged_and_the_first_is_free() -> None:
    assert switched(**FREE) == []
    found = switched(switching="custom", switch_s=0.25)
    assert [end_s - start_s for start_s, end_s in found] == [0.25] * 3
    assert found[0] == (1.0, 1.25)


def test_switches_by_the_columns_of_table_3() -> None:
    costs = [switched(switching=name)[0] for name in ("default", "pipeswitch", "hare")]
    seconds = [end_s - start_s for start_s, end_s in costs]
    assert seconds[0] > 3.0 and 0.002 < seconds[1] < 0.013 and 0.0009 < seconds[2] < seconds[1]


def test_slow_switches_delay_jobs() -> None:
    scenario = make({"n": ("t", 2)}, [{"steps": 300, "gpus": 2}, {"steps": 50}, {"steps": 200}])
    found = {name: summary(simulate(scenario, "hare", switching=name))["mean_jct_s"] for name in ("free", "default")}
    assert found["free"] < found["default"] < 1.5 * found["free"]


def test_a_model_seen_before_is_not_profiled_again() -> None:
    """20 steps of 1 s on the one type: j0 waits 20 s, j1 comes when that is done, j2 while it is going on."""
    jobs = [{"steps": 5}, {"steps": 5, "arrival_s": 100.0}, {"steps": 5, "arrival_s": 12.0}]
    run = simulate(make({"n": ("t", 3)}, jobs), "hare", profile_steps=20)
    assert dict(zip(run.jobs["job"], run.jobs["first_start_s"], strict=True)) == {"j0": 20, "j1": 100, "j2": 20}
    seconds = run.signals[run.signals["signal"] == "profile_s"].groupby("job")["value"].unique()
    assert {job: values.tolist() for job, values in seconds.items()} == {"j0": [20], "j1": [0], "j2": [8]}


def test_another_model_is_profiled_on_its_own() -> None:
    """j0's model takes 1 s a step on the one type, j1's 2 s; j2 and j3 come later and wait for nothing."""
    data = make({"n": ("t", 4)}, [{"steps": 5, "arrival_s": 50.0 * number} for number in range(4)]).to_dict()
    data["throughputs"] += [{**row, "model": "other", "steps_per_s": 0.5} for row in data["throughputs"]]
    data["jobs"] = [{**job, "model": model} for job, model in zip(data["jobs"], ["m", "other"] * 2, strict=True)]
    run = simulate(Scenario.from_dict(data), "hare", profile_steps=10)
    assert run.jobs["first_start_s"].tolist() == [10.0, 70.0, 100.0, 150.0]
    assert "profile_s" not in set(simulate(Scenario.from_dict(data), "hare").signals["signal"])


def test_every_type_is_profiled_on_its_own_at_the_same_time() -> None:
    """10 steps: 10 s on type t, 40 s on u. j0 waits for both; j1's model runs on t alone and has 10 s to wait."""
    data = make({"n": ("t", 2), "m": ("u", 1)}, [{"steps": 5}, {"steps": 5}, {"steps": 5, "arrival_s": 60.0}]).to_dict()
    data["throughputs"] = [
        {"model": model, "accelerator": kind, "gpus": 1, "steps_per_s": speed}
        for model, kind, speed in (("m", "t", 1.0), ("m", "u", 0.25), ("other", "t", 1.0))
    ]
    data["jobs"][1]["model"] = "other"
    run = simulate(Scenario.from_dict(data), "hare", profile_steps=10)
    assert run.jobs["first_start_s"].tolist() == [40.0, 10.0, 60.0]


def test_a_known_model_is_profiled_on_a_type_that_is_new_to_it_only() -> None:
    first, ready_s = ProfileHistory().profiled("m", {"t": 1.0}, 10, 0.0)
    then, later_s = first.profiled("m", {"t": 1.0, "u": 4.0}, 10, 100.0)
    assert (ready_s, later_s) == (10.0, 140.0)
    assert {pair.accelerator: done_s for pair, done_s in then.done_s} == {"t": 10.0, "u": 140.0}


@pytest.mark.parametrize(
    ("belief", "synchronisation"), [("pmi", "relaxed"), ("layered", "scale_adaptive"), ("low_rank", "relaxed")]
)
def test_beliefs_of_models_with_facts_run_and_keep_the_work(belief: str, synchronisation: str) -> None:
    run = simulate("preset:hare_testbed", "hare", belief=maker(belief), synchronisation=synchronisation)
    assert all(model.model_gb is not None and model.memory_gb is not None for model in run.scenario.models)
    assert check(run) == [] and run.jobs["finish_s"].notna().all()


def test_a_failed_node_s_tasks_are_planned_again() -> None:
    """4 rounds of 2 tasks of 5 s; a-0 fails after 2 s of round 1. From then on b-0 does all, one by one."""
    faults = {"list": [{"node": "a-0", "from_s": 7.0, "to_s": 1000.0}]}
    scenario = make({"a": ("t", 1), "b": ("t", 1)}, [{"steps": 40, "gpus": 2}], core={"faults": faults})
    run = simulate(scenario, "hare", most_rounds=4, **FREE)
    assert check(run) == []
    assert run.decisions["cause"].tolist() == ["arrival", "fault"]
    assert run.jobs["steps_lost"].sum() == approx(2.0) and finish_s(run)["j0"] == approx(10 + 5 * 5)


def test_a_round_that_is_begun_anew_with_fewer_tasks_has_those_alone() -> None:
    """Two tasks are broken off; then other jobs leave one GPU of three."""
    faults = {"list": [{"node": "n0-0", "from_s": 2.0, "to_s": 4.0}]}
    jobs = [{"steps": 8, "gpus": 2, "weight": 0.1}, *({"arrival_s": 3, "steps": 1} for _ in range(2))]
    no_faster = [{"model": "m", "accelerator": "t", "gpus": n, "steps_per_s": 0.5} for n in (1, 2)]
    run = simulate(make({"n0": ("t", 3)}, jobs, core={"faults": faults}, throughputs=no_faster), "hare", SCALE_ADAPTIVE)
    tasks = task_table(run)
    own = tasks[tasks["job"] == tasks["job"].iloc[0]]
    assert own["task"].tolist() == [0, 0] and own["steps"].sum() == approx(8)


@pytest.mark.parametrize("down", [[], [{"node": "a-0", "from_s": 0.0, "to_s": 60.0}]])
def test_rounds_of_more_tasks_than_gpus_cannot_start_together_also_once_the_node_is_back(down: list[Any]) -> None:
    scenario = make({"a": ("t", 1)}, [{"steps": 40, "tasks_per_round": 5}], core={"faults": {"list": down}})
    with pytest.raises(InputError, match="5"):
        simulate(scenario, "hare", synchronisation="scale_fixed")


def test_finer_rounds_are_stated_and_close_for_one_job() -> None:
    scenario = make({"n": ("t", 2)}, [{"steps": 1000, "gpus": 2}])
    ends = [finish_s(simulate(scenario, "hare", most_rounds=most, **FREE))["j0"] for most in (30, 60)]
    assert ends == [500.0, 500.0]


def test_the_reason_says_how_a_job_was_planned() -> None:
    hare, scenario = Hare(), make({"n": ("t", 2)}, [{"steps": 1000, "gpus": 2}])
    knobs = hare.settle({})
    decision, memory = hare.decide(look(scenario), hare.start(scenario, knobs), knobs, None)  # type: ignore[arg-type]
    assert decision.why["j0"].text == (
        "30 rounds of 2 tasks of 17 steps to go, by the plan from 0 s, first on t, to 8 min 20 s"
    )
    json.dumps(plain(memory))


def test_a_job_is_planned_from_where_its_first_task_to_start_is() -> None:
    """In Fig. 1 a task of J2 starts at 1.5 s, before the one of the smaller number."""
    run = simulate("preset:hare_example", "hare")
    starts = run.timeline.groupby("job")["start_s"].min()
    said = run.reasons.set_index("job")["text"]
    for job, start_s in starts.items():
        assert f"by the plan from {start_s:.3g} s" in said[job]


def test_the_paper_s_relaxation_orders_the_tasks_of_small_problems_and_says_its_bound() -> None:
    scenario = make({"n": ("t", 1)}, [{"steps": 40}, {"steps": 60, "weight": 3.0}, {"steps": 10}])
    run = simulate(scenario, "hare", steps_per_round=1000, relaxation="hare_sched_rl", **FREE)
    assert finish_s(run) == {"j2": 10.0, "j1": 70.0, "j0": 110.0}
    first = run.decisions.iloc[0]
    assert first["objective"] == approx(330.0) and 0 < first["bound"] <= 330.0 * (1 + 1e-9)
    large = make({"n": ("t", 64)}, [{"steps": 9000, "gpus": 64}] * 9)
    with pytest.raises(InputError, match="fewer jobs or coarser rounds"):
        simulate(large, "hare", relaxation="hare_sched_rl")


def test_a_run_says_how_coarse_its_rounds_are_and_where_times_were_clamped() -> None:
    """A gang of two at 3 steps/s is faster than two GPUs of 1 step/s one by one."""
    data = make({"n": ("t", 2)}, [{"steps": 1000, "gpus": 2}]).to_dict()
    data["throughputs"] = [{**row, "steps_per_s": 3.0 if row.get("gpus") == 2 else 1.0} for row in data["throughputs"]]
    run = simulate(Scenario.from_dict(data), "hare", **FREE)
    said = run.events[run.events["event"] == "start"]["reason"].tolist()
    assert len(said) == 1 and said[0].startswith("30 rounds of 2 tasks of 17 steps to go")
    assert "a gang is faster than its GPUs one by one" in said[0]
    assert run.signals.set_index("signal")["value"]["steps_per_round"] == 17


@pytest.mark.parametrize("knobs", [{"most_rounds": 0}, {"switching": "x"}, {"switch_s": -1.0}, {"steps_per_round": 0}])
def test_knobs_out_of_range_are_refused(knobs: dict[str, Any]) -> None:
    with pytest.raises(Exception, match="knob"):
        simulate(make({"n": ("t", 1)}, [{"steps": 5}]), "hare", **knobs)


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
    table = task_table(run)
    assert not table.duplicated(["job", "round", "task"]).any()
    for _, job in table.groupby("job"):
        ends = job.groupby("round")["synchronised_s"].max()
        starts = (job["start_s"] - job["switch_s"]).groupby(job["round"]).min()
        assert (starts.to_numpy()[1:] >= ends.to_numpy()[:-1] - 1e-6).all()


def check_widths(run: Run, given: dict[str, Any]) -> None:
    """Rounds have K tasks, or with scale-adaptive ones at most K, and the tasks of a job are the same in number."""
    if not (run.timeline["job"] != "").any():
        return
    table = task_table(run)
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
    for _, own in held.groupby(["node", "slot"]):
        assert (own["start_s"].to_numpy()[1:] >= own["end_s"].to_numpy()[:-1] - 1e-9).all()


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
    run = run_of(scenario, Watched(Hare()), given_knobs)
    assert run.jobs["finish_s"].notna().all() and check(run) == []
    check_barriers(run)
    check_widths(run, given_knobs)
    check_gpus(run)
    check_switches(run, given_knobs)


@settings(fuzz, max_examples=1)
@given(knobs())
def test_the_fuzz_draws_every_knob(given_knobs: dict[str, Any]) -> None:
    assert set(given_knobs) == {knob.name for knob in Hare().knobs}


def test_the_models_of_the_fuzz_have_costs_of_their_own_and_the_mean() -> None:
    assert MODELS[0] in TABLE_3 and MODELS[1] in TABLE_3 and MODELS[2] not in TABLE_3
