"""Scenarios: read, written, validated; one clear error for each thing that can be wrong."""

import copy
import dataclasses
import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

import workbench
from tests.full_scenario import FULL
from workbench.base.errors import InputError, ScenarioError
from workbench.scenario.cluster import Node
from workbench.scenario.frozen import Frozen
from workbench.scenario.job import NOT_ALONE
from workbench.scenario.scenario import MOST_JOBS, Scenario, json_schema


def changed(path: str, value: Any) -> dict[str, Any]:
    """FULL with one value exchanged; the path is written as in an error; `...` removes the key."""
    data = copy.deepcopy(FULL)
    place: Any = data
    *inner, last = path.replace("[", ".[").split(".")
    for part in inner:
        place = place[int(part[1:-1])] if part.startswith("[") else place[part]
    if value is ...:
        del place[last]
    elif last.startswith("["):
        place[int(last[1:-1])] = value
    else:
        place[last] = value
    return data


def test_the_full_scenario_sets_every_field() -> None:
    """So that what is tested with it is tested of all fields, also of those that are added later."""
    given: dict[type[BaseModel], set[str]] = {}

    def gather(part: object) -> None:
        if isinstance(part, BaseModel):
            given.setdefault(type(part), set()).update(part.model_fields_set)
            for name in type(part).model_fields:
                gather(getattr(part, name))
        elif isinstance(part, tuple | list):
            for each in part:
                gather(each)

    gather(Scenario.from_dict(FULL))
    unset = {kind.__name__: set(kind.model_fields) - fields for kind, fields in given.items()}
    assert {name: fields for name, fields in unset.items() if fields} == {}
    assert set(Frozen.__subclasses__()) - set(given) == {Node}, "a node is worked out from its group"


def test_more_jobs_than_fit_are_refused_before_anything_is_read() -> None:
    with pytest.raises(ScenarioError, match="jobs: got 400,001 jobs; expected at most 400,000"):
        Scenario.from_dict({**FULL, "jobs": [None] * (MOST_JOBS + 1)})


@pytest.mark.parametrize(
    ("more", "most_mb"), [({}, 600), ({"rewards": [[9e3, 9.0], [1e4, 5.0]], "attributes": {"a": "b", "c": 1}}, 1000)]
)
def test_as_many_jobs_as_are_allowed_take_no_more_memory_than_is_said(more: dict[str, Any], most_mb: int) -> None:
    """As a thousand do, but for what the scenario needs without jobs; its key, too, is worked out below that."""
    job = {"model": "a3c", "steps": 1.5, "gpus": 1, **({"user": "u", **more} if more else {})}
    peaks = []
    for count in (1000, 3000):
        jobs = [{"name": f"job-{i}", "arrival_s": float(i), **job} for i in range(count)]
        text = json.dumps({name: FULL[name] for name in ("cluster", "throughputs")} | {"jobs": jobs})
        del jobs
        tracemalloc.start()
        Scenario.from_json(text).key()
        peaks.append(tracemalloc.get_traced_memory()[1] + len(text))
        tracemalloc.stop()
    assert 0.5 * most_mb < (peaks[1] - peaks[0]) / 2000 * MOST_JOBS / 1e6 < most_mb - 45  # what is imported


def test_jobs_share_the_names_of_the_fields_that_were_given() -> None:
    kept = {name: FULL[name] for name in ("cluster", "throughputs")}
    jobs = [{"name": name, "model": "a3c", "steps": 1.0} for name in "ab"]
    one, other = Scenario.from_dict({**kept, "jobs": jobs}).jobs
    assert one.model_fields_set is other.model_fields_set and one.model_fields_set == {"name", "model", "steps"}


def test_every_key_survives_the_round_trip(tmp_path: Path) -> None:
    scenario = Scenario.from_dict(FULL)
    assert Scenario.from_json(scenario.to_json()) == scenario
    scenario.save(tmp_path / "s.json")
    assert Scenario.load(tmp_path / "s.json") == scenario
    with pytest.raises(InputError, match="overwrite"):
        scenario.save(tmp_path / "s.json")
    scenario.save(tmp_path / "s.json", force=True)
    jsonschema.validate(scenario.to_dict(), json_schema())


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert json_schema()["title"] == "Workbench scenario"
    for path in ("jobs[0].steps", "cluster.nodes", "jobs[0].unknown"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(changed(path, "x"), json_schema())


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("format", "workbench-scenario/2", "workbench-scenario/1"),
        ("seed", -1, "a number >= 0"),
        ("seed", 1.5, "a whole number"),
        ("extra", 1, "no such key"),
        ("cluster", ..., "the key 'cluster'"),
        ("cluster", None, "an object"),
        ("jobs", {}, "a list"),
        ("jobs[1]", 3, "an object"),
        ("name", "\ud800", "written as UTF-8"),
        ("description", 5, "text"),
        ("jobs[0].name", "\ud800", "written as UTF-8"),
        ("jobs[0].steps", 10**400, "number"),
        ("cluster.accelerators", [], "at least 1"),
        ("cluster.accelerators[0].name", "", "at least 1 character"),
        ("cluster.accelerators[0].name", "a\nb", "without control and bidirectional characters"),
        ("calibrated.key", "x", "64 digits from 0 to f"),
        ("calibrated.key", ..., "the key 'key'"),
        ("cluster.accelerators[0].memory_gb", 0, "a number >= 1e-06"),
        ("cluster.accelerators[1].name", "v100", "a name of its own"),
        ("cluster.nodes", [], "at least 1"),
        ("cluster.nodes[0].accelerator", "v1000", "a name in cluster.accelerators"),
        ("cluster.nodes[0].gpus", 0, "a number >= 1"),
        ("cluster.nodes[0].gpus", 4.0, "a whole number"),
        ("cluster.nodes[0].gpus", 10**9, "a number <= "),
        ("cluster.nodes[0].gpus", True, "a whole number"),
        ("cluster.nodes[0].speed", 0, "a number >= 1e-06"),
        ("cluster.nodes[1].name", "a", "a name of its own"),
        ("jobs[0].name", "a + b", "without ' + '"),
        ("jobs[0].name", "a #1.2", "or ' #1'"),
        ("jobs[0].name", "a #2", "or ' #1'"),
        ("jobs[0].name", 3, "text"),
        ("jobs[0].name", ..., "the key 'name'"),
        ("jobs[1].name", "j0", "a name of its own"),
        ("jobs[0].model", "resnet", "a model with a row in throughputs"),
        ("jobs[0].arrival_s", -1, "a number >= 0"),
        ("jobs[0].arrival_s", math.nan, "finite number"),
        ("jobs[0].arrival_s", "0", "number"),
        ("jobs[0].steps", 0, "a number >= 1e-06"),
        ("jobs[0].steps", math.inf, "finite number"),
        ("jobs[0].steps", None, "number"),
        ("jobs[0].weight", 0, "a number >= 1e-06"),
        ("jobs[0].weight", 1e-300, "a number >= 1e-06"),
        ("jobs[0].weight", 1e300, "a number <= 1,000,000"),
        ("jobs[0].weight", math.nan, "finite number"),
        ("entities[0].weight", 1e7, "a number <= 1,000,000"),
        ("core.space_sharing", 1, "true or false"),
        ("schedulers[0].knobs.preset", "\ud800", "text on one line"),
        ("schedulers", {}, "a list"),
        ("jobs[0].entity", "sales", "a name in entities"),
        ("jobs[0].gpus", 10**7, "a number <= "),
        ("jobs[0].unknown", 1, "no such key"),
        ("throughputs[0].steps_per_s", -1, "a number >= 0"),
        ("throughputs[0].steps_per_s", ..., "the key 'steps_per_s'"),
        ("throughputs[0].accelerator", "tpu", "a name in cluster.accelerators"),
        ("throughputs[0].placement", "anywhere", "consolidated"),
        ("throughputs[0].nodes", 0, "a number >= 1"),
        ("colocated[0].accelerator", "tpu", "a name in cluster.accelerators"),
        ("colocated[0].with_steps_per_s", math.nan, "finite number"),
        ("models[0].load_s", [[0.5, 0.1, 0.1]], "probabilities that add up to 1"),
        ("models[0].model_gb", 1e6, "at most its memory_gb"),
        ("entities[0].policy", "lottery", "fairness"),
        ("running[0].job", "j9", "the name of a job"),
        ("running[0].gpus", {}, "at least 1"),
        ("running[0].gpus", {"a-0": 3}, "the job's 1 or 2 GPUs"),
        ("running[0].gpus", {"c-0": 1}, "the name of a node"),
        ("scaling.efficiency", 1.1, "a number <= 1"),
        ("core.restart.law", "linear", "fixed"),
        ("core.faults.list[0].node", "c-0", "the name of a node"),
        ("core.faults.list[0].to_s", 0, "a number > 0"),
        ("schedulers[0].scheduler", "", "at least 1 character"),
    ],
)
def test_what_is_wrong_is_named(path: str, value: Any, expected: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict(changed(path, value), "s.json")
    error = caught.value
    assert error.where == f"s.json: {path}"
    assert expected in error.expected
    assert error.as_json()["status"] == "invalid_input"
    assert error.exit_code == 2
    for words in ("should", "Input", "valid ", "pattern", "instance"):  # of the validator's own messages
        assert words not in error.expected


def test_what_is_no_object_is_one_problem() -> None:
    for data in (None, [], "text", 3):
        with pytest.raises(ScenarioError, match="expected an object as `workbench schema` describes"):
            Scenario.from_dict(data)


def test_several_problems_are_all_in_the_json() -> None:
    """Each once: a list is not also told to be short by those in it that are wrong."""
    data = changed("jobs[0].steps", -1)
    data["jobs"][0]["colour"] = "red"
    data["jobs"][1]["steps"] = -1
    data["cluster"]["accelerators"] = [{"name": "v100", "prise": 1}]
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict(data, "s.json")
    found = caught.value.as_json()
    places = ("cluster.accelerators[0].prise", "jobs[0].steps", "jobs[0].colour", "jobs[1].steps")
    assert [problem["where"] for problem in found["problems"]] == [f"s.json: {place}" for place in places]
    assert found["error"] == found["problems"][0] and "jobs[1].steps" in str(caught.value)


@pytest.mark.parametrize(("path", "singular"), [("jobs", "job"), ("entities", "entity")])
def test_weights_that_no_solver_can_tell_apart_are_refused(path: str, singular: str) -> None:
    """GLPK takes 1e-6 beside 1e6 for 0; a ratio of a million is solved (`test_weights_at_the_limit`)."""
    data = changed(f"{path}[0].weight", 1e-6)
    other = {**data[path][0], "name": f"another {singular}", "weight": 10.0}
    if path == "jobs":
        data.pop("running", None)
    data[path].append(other)
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict(data, "s.json")
    assert caught.value.where == f"s.json: {path}[0].weight"
    assert "1/1000000 of the largest weight" in caught.value.expected and "has 10" in caught.value.expected
    other["weight"] = 1.0
    assert Scenario.from_dict(data)


@pytest.mark.parametrize("solver", ["highs", "glpk"])
@pytest.mark.parametrize("weights", [(1e-6, 1.0, 1.0), (1e6, 1.0, 1.0), (1e-3, 1e3, 1.0), (1e-6,) * 3, (1e6,) * 3])
def test_weights_at_the_limit(weights: tuple[float, ...], solver: str) -> None:
    """Whatever the weights, the worst-off job is as well off as the objective says, in each solver's answer."""
    start = workbench.preset("start_here").to_dict()
    jobs = [{**job, "weight": weight} for job, weight in zip(start["jobs"], weights, strict=True)]
    found = workbench.solve(Scenario.from_dict({**start, "jobs": jobs}), "gavel.max_min_fairness", solver=solver)
    reached = found.values["normalized_throughput"]
    worst = min(job.get("gpus", 1) / job["weight"] * reached[job["name"]] for job in jobs)
    assert found.objective == pytest.approx(worst, rel=1e-6) and worst > 0
    other = workbench.solve(Scenario.from_dict({**start, "jobs": jobs}), "gavel.max_min_fairness")
    assert found.objective == pytest.approx(other.objective, rel=1e-5)


def test_a_pair_needs_the_speed_of_each_model_alone() -> None:
    data = {**changed("colocated[0].gpus", 2), "scaling": {"law": "none"}}
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict(data, "s.json")
    assert caught.value.where == "s.json: colocated[0].with_model"
    assert "for 2 GPUs of v100 alone" in caught.value.expected
    assert Scenario.from_dict({**data, "scaling": {"law": "power"}})


@pytest.mark.parametrize(
    ("path", "value", "where", "expected"),
    [
        ("jobs[0].steps_done", 1000, "jobs[0].steps_done", "steps_done below steps"),
        ("jobs[0].gpu_choices", [2, 1], "jobs[0].gpu_choices", "rising"),
        ("jobs[0].gpu_choices", [], "jobs[0].gpu_choices", "at least one"),
        ("jobs[0].gpu_choices", [2, 4], "jobs[0].gpu_choices", "to contain gpus"),
        ("jobs[0].rewards", [], "jobs[0].rewards", "job j0: rewards as [deadline_s, reward] pairs"),
        ("jobs[0].rewards", [[2, 1], [1, 1]], "jobs[0].rewards", "job j0: rewards as [deadline_s, reward] pairs"),
        ("jobs[0].rewards", [[0, 1], [2, 1]], "jobs[0].rewards", "job j0: rewards with deadlines above 0 s"),
        ("jobs[0].rewards", [[1, 1], [2, 2]], "jobs[0].rewards", "do not increase"),
        ("core.faults.mttr_s", None, "core.faults", "both, or neither"),
        ("core.faults.list[0].from_s", 60, "core.faults.list[0].to_s", "a time after from_s"),
        ("throughputs[1]", FULL["throughputs"][0], "throughputs[1]", "one row for each case"),
        ("running", [{"job": "j1", "gpus": {"a-0": 1}}], "running[0].job", "arrival_s 0"),
        ("running", [{"job": "j0", "gpus": {"a-0": 1}}] * 2, "running[1].job", "each job once"),
    ],
)
def test_what_disagrees_is_named(path: str, value: Any, where: str, expected: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict(changed(path, value), "s.json")
    assert caught.value.where == f"s.json: {where}"
    assert expected in caught.value.expected


def test_a_pair_in_either_order_is_the_same_pair() -> None:
    data = copy.deepcopy(FULL)
    data["colocated"].append({**FULL["colocated"][0], "model": "a3c", "with_model": "resnet50"})
    with pytest.raises(ScenarioError, match="each unordered pair once"):
        Scenario.from_dict(data)


def test_two_jobs_of_one_model_share_their_gpus_alike() -> None:
    data = copy.deepcopy(FULL)
    data["colocated"] = [{**FULL["colocated"][0], "with_model": "resnet50"}]
    with pytest.raises(ScenarioError, match=r"colocated\[0\].with_steps_per_s: got 1.5; expected 2, as steps_per_s"):
        Scenario.from_dict(data)


def test_too_many_gpus_in_all() -> None:
    with pytest.raises(ScenarioError, match="at most 1000000 GPUs"):
        Scenario.from_dict(
            changed("cluster.nodes[0]", {"name": "a", "accelerator": "v100", "gpus": 1024, "count": 10**5})
        )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        '"x"',
        '{"jobs": [], "jobs": []}',
        '{"seed": NaN}',
        '{"seed": Infinity}',
        "[" * 10**5,
        "9" * 5000,
    ],
)
def test_text_that_is_no_scenario(text: str, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(file)
    assert caught.value.where.startswith(str(file))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe")
    for name in ("missing.json", "latin.json", "."):
        with pytest.raises(InputError, match="readable scenario file"):
            Scenario.load(tmp_path / name)


def test_a_scenario_does_not_change() -> None:
    scenario = Scenario.from_dict(FULL)
    with pytest.raises((ValidationError, dataclasses.FrozenInstanceError)):
        scenario.seed = 3
    other = scenario.replace(seed=3)
    assert (scenario.seed, other.seed) == (FULL["seed"], 3)
    with pytest.raises(ScenarioError):
        scenario.replace(seed=-1)


def test_the_key_leaves_out_what_a_result_does_not_depend_on() -> None:
    scenario = Scenario.from_dict(FULL)
    assert scenario.replace(name="x", description="y", schedulers=()).key() == scenario.key()
    assert scenario.replace(seed=8).key() != scenario.key()
    assert len(scenario.key()) == 64


def test_jobs_are_ordered_by_arrival_then_position() -> None:
    data = changed("running", [])
    data["jobs"] = [{"name": n, "model": "a3c", "steps": 1, "arrival_s": a} for n, a in (("c", 2), ("b", 1), ("a", 1))]
    assert Scenario.from_dict(data).order == (1, 2, 0)


def test_a_job_that_can_run_nowhere_is_named() -> None:
    data = changed("running", [])
    data["jobs"].append({"name": "j2", "model": "resnet50", "steps": 1, "gpus": 9})
    data["throughputs"].append({"model": "resnet50", "accelerator": "v100", "gpus": 9, "steps_per_s": 1})
    with pytest.raises(ScenarioError, match="j2") as caught:
        Scenario.from_dict(data).require_runnable()
    assert caught.value.where == "jobs[2].gpus"
    Scenario.from_dict(FULL).require_runnable()


def test_a_job_that_runs_at_the_start_must_be_able_to() -> None:
    """Nobody would ever take it away from GPUs on which it does no step."""
    data = changed("throughputs[0].steps_per_s", 0)
    data["running"] = [{"job": "j0", "gpus": {"a-0": 1}}]
    with pytest.raises(ScenarioError, match=r"nodes on which j0 \(resnet50\) has a throughput > 0") as caught:
        Scenario.from_dict(data).require_runnable()
    assert caught.value.problems[-1].where == "running[0].gpus"


def test_from_frames() -> None:
    nodes = pd.DataFrame({"name": ["a", "b"], "accelerator": ["v100", "k80"], "gpus": [4, 2], "speed": [1.0, None]})
    jobs = pd.DataFrame({"name": ["x", "y"], "model": ["m", "m"], "steps": [10, 20.5], "user": [None, "ada"]})
    speeds = pd.DataFrame({"model": ["m", "m"], "accelerator": ["v100", "k80"], "steps_per_s": [2.0, 1.0]})
    scenario = Scenario.from_frames(nodes, jobs, speeds, name="frames", network_gbps=10.0)
    assert [a.name for a in scenario.cluster.accelerators] == ["v100", "k80"]
    assert scenario.cluster.network_gbps == 10.0
    assert [node.speed for node in scenario.cluster.nodes] == [1.0, 1.0]
    assert [(job.user, job.steps) for job in scenario.jobs] == [(None, 10.0), ("ada", 20.5)]
    types = pd.DataFrame({"name": ["k80", "v100"], "memory_gb": [12.0, 16.0]})
    assert Scenario.from_frames(nodes, jobs, speeds, accelerators=types).cluster.types == ("k80", "v100")
    with pytest.raises(ScenarioError, match="jobs") as caught:
        Scenario.from_frames(nodes, jobs.assign(steps=[-1, 1]), speeds)
    assert caught.value.where == "data frames: jobs[0].steps"
    with pytest.raises(ScenarioError, match="no such key"):
        Scenario.from_frames(nodes, jobs.assign(color="red"), speeds)


UNSEEN = ("Cs", "Cc", "Cf", "Zl", "Zp")
NAMES = st.text(st.characters(exclude_categories=UNSEEN), min_size=1, max_size=20).filter(
    lambda s: not NOT_ALONE.search(s)
)
AMOUNTS = st.floats(1e-6, 1e12, allow_nan=False)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Small scenarios with arbitrary names and numbers."""
    types = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    models = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    names = draw(st.lists(NAMES, max_size=5, unique=True))
    nodes = [
        {"name": f"n{i}", "accelerator": draw(st.sampled_from(types)), "gpus": draw(st.integers(1, 16))}
        for i in range(3)
    ]
    jobs = [
        {
            "name": name,
            "model": draw(st.sampled_from(models)),
            "arrival_s": draw(st.floats(0, 1e9)),
            "steps": draw(AMOUNTS),
            "gpus": draw(st.integers(1, 64)),
            "weight": draw(st.floats(1e-3, 1e3)),
        }
        for name in names
    ]
    speeds = [
        {"model": model, "accelerator": kind, "steps_per_s": draw(st.just(0) | AMOUNTS)}
        for model in models
        for kind in types
    ]
    return Scenario.from_dict(
        {
            "name": draw(st.text(st.characters(exclude_categories=UNSEEN), max_size=20)),
            "cluster": {"accelerators": [{"name": kind} for kind in types], "nodes": nodes},
            "jobs": jobs,
            "throughputs": speeds,
        }
    )


@given(scenarios())
def test_any_scenario_survives_the_round_trip(scenario: Scenario) -> None:
    again = Scenario.from_json(scenario.to_json())
    assert again == scenario
    assert again.key() == scenario.key()
    assert json.loads(scenario.to_json()) == scenario.to_dict()


def test_a_gap_in_a_column_of_whole_numbers_is_no_fault() -> None:
    """Pandas turns the others into floats; 2.0 GPUs in a data frame are 2 GPUs, 2.5 are an error."""
    nodes = pd.DataFrame({"name": ["a", "b"], "accelerator": ["t", "t"], "gpus": [2, 2], "count": [3, None]})
    jobs = pd.DataFrame({"name": ["x", "y"], "model": ["m", "m"], "steps": [1, 1], "gpus": [2, None]})
    speeds = pd.DataFrame({"model": ["m", "m"], "accelerator": ["t", "t"], "gpus": [1, 2], "steps_per_s": [1.0, 2.0]})
    scenario = Scenario.from_frames(nodes, jobs, speeds)
    assert [job.gpus for job in scenario.jobs] == [2, 1] and scenario.cluster.gpus == 8
    with pytest.raises(ScenarioError, match="gpus"):
        Scenario.from_frames(nodes, jobs.assign(gpus=2.5), speeds)


def frames():
    nodes = pd.DataFrame({"name": ["a", "b"], "accelerator": ["v100", "k80"], "gpus": [1, 1]})
    jobs = pd.DataFrame({"name": ["x", "y"], "model": ["m", "m"], "steps": [10.0, 1.0]})
    rows = pd.DataFrame({"model": ["m", "m"], "accelerator": ["v100", "k80"], "steps_per_s": [2.0, 1.0]})
    return nodes, jobs, rows


def test_frames_with_a_type_that_no_throughput_names():
    nodes, jobs, rows = frames()
    with pytest.raises(InputError, match=r"nodes\[1\].accelerator: got 'k8o'; expected .*: v100, k80"):
        Scenario.from_frames(nodes.assign(accelerator=["v100", "k8o"]), jobs, rows)
    named = pd.DataFrame({"name": ["v100", "k80", "k8o"]})
    spare = Scenario.from_frames(nodes.assign(accelerator=["v100", "k8o"]), jobs, rows, accelerators=named)
    assert spare.cluster.types == ("v100", "k8o")


def test_frames_without_a_value_that_is_needed():
    nodes, jobs, rows = frames()
    with pytest.raises(InputError, match=r"jobs\[0\].steps: got nan; expected a value"):
        Scenario.from_frames(nodes, jobs.assign(steps=[float("nan"), 1.0]), rows)
