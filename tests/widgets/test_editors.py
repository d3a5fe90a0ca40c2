"""The scenario as tables: nothing is lost on the way in and out, and what is wrong is shown where it is."""

from __future__ import annotations

from typing import Any

import pytest

import workbench
from tests.full_scenario import FULL
from widgets.compare_lab.entries import changed_knobs
from widgets.editors.core_panel import CorePanel
from widgets.editors.scenario_tables import Editors, spoken
from widgets.parts.files import MOST_BYTES, Upload
from workbench.base.errors import InputError, Problem, ScenarioError
from workbench.scenario.presets import preset, presets
from workbench.scenario.scenario import Scenario


def shown(scenario: Scenario) -> Editors:
    editors = Editors(lambda: None)
    editors.show(scenario)
    return editors


@pytest.mark.parametrize("name", [name for name, _ in presets()])
def test_every_preset_comes_out_as_it_went_in(name: str) -> None:
    scenario = preset(name)
    editors = shown(scenario)
    assert editors.read() == scenario
    assert all(table.valid for table in editors.tables.values())
    core = CorePanel(lambda: None)
    core.show(editors.part("core"), editors.part("seed"))
    editors.change(**core.parts())
    assert editors.read() == scenario


def test_fields_without_a_column_or_control_are_kept() -> None:
    scenario = Scenario.from_dict(FULL)
    editors, core = shown(scenario), CorePanel(lambda: None)
    core.show(editors.part("core"), editors.part("seed"))
    editors.change(**core.parts())
    assert editors.read() == scenario
    editors.tables["jobs"].edit(0, "steps", "2000")
    changed = editors.read()
    assert changed.jobs[0] == scenario.jobs[0].model_copy(update={"steps": 2000.0})
    assert changed.replace(jobs=scenario.jobs, recorded=scenario.recorded) == scenario


def test_a_deadline_is_the_last_reward_and_an_edit_moves_all_steps_with_it() -> None:
    data = {**FULL, "jobs": [{**FULL["jobs"][0], "rewards": [[60, 2.0], [3600, 1.0], [7200, 0.0]]}]}
    scenario = Scenario.from_dict({**data, "running": []})
    editors = shown(scenario)
    jobs = editors.tables["jobs"]
    assert jobs.rows[0]["deadline_s"] == 3600
    jobs.edit(0, "steps", "2000")
    assert editors.read().jobs[0].rewards == scenario.jobs[0].rewards
    jobs.edit(0, "deadline_s", "2 h")
    assert editors.read().jobs[0].rewards == ((120.0, 2.0), (7200.0, 1.0), (14400.0, 0.0))
    jobs.edit(0, "deadline_s", "")
    assert editors.read().jobs[0].rewards is None
    jobs.edit(0, "deadline_s", "soon")
    with pytest.raises(ScenarioError) as found:
        editors.read()
    assert spoken(found.value.problems[0]).startswith("Jobs, row 1, Deadline: ")


def test_entities_are_added_renamed_and_missed() -> None:
    editors = shown(preset("start_here"))
    jobs, entities = editors.tables["jobs"], editors.tables["entities"]
    assert entities.rows == []
    entities.add()
    entities.edit(0, "policy", "fifo")
    entities.edit(0, "weight", "3")
    jobs.edit(0, "entity", entities.rows[0]["name"])
    read = editors.read()
    assert [(e.weight, e.policy) for e in read.entities] == [(3.0, "fifo")]
    assert read.jobs[0].entity == read.entities[0].name
    entities.edit(0, "name", "physics")
    assert editors.read().jobs[0].entity == "physics"
    entities.edit(0, "weight", "-1")
    entities.add()
    entities.edit(1, "name", "physics")
    with pytest.raises(ScenarioError) as found:
        editors.read()
    said = [spoken(problem) for problem in found.value.problems]
    assert said[0].startswith("Entities, row 1, Weight: ") and len(said) == 2, "all wrong cells at once"
    assert said[1] == "Entities, row 2, Entity: expected a name of its own (row 1 has it already)"
    assert "1.name" in entities.errors
    entities.remove(1)
    entities.edit(0, "weight", "1")
    jobs.edit(1, "entity", "nobody")
    with pytest.raises(ScenarioError) as found:
        editors.read()
    assert spoken(found.value.problems[0]).startswith("Jobs, row 2, Entity: ")
    assert "1.entity" in jobs.errors


def test_what_is_shown_again_is_left_alone() -> None:
    editors = shown(preset("start_here"))
    before = {key: table.rows for key, table in editors.tables.items()}
    editors.show(preset("start_here"))
    assert all(table.rows is before[key] for key, table in editors.tables.items())


@pytest.mark.parametrize(
    ("table", "row", "column", "text", "says"),
    [
        ("cluster.nodes", 0, "gpus", "0", "Nodes, row 1, GPUs each: must be at least 1"),
        ("cluster.nodes", 1, "name", "fast", "Nodes, row 2, Name: expected a name of its own (row 1 has it already)"),
        ("cluster.accelerators", 1, "name", "", "GPU types, row 2, Type: required"),
        ("jobs", 2, "gpus", "two", "Jobs, row 3, GPUs: 'two' is not a whole number"),
        ("cluster.nodes", 0, "speed", "-1", "Nodes, row 1, Speed: expected a number >= 1e-06"),
        ("jobs", 0, "steps", "-1", "Jobs, row 1, Steps: expected a number >= 1e-06"),
        ("jobs", 0, "steps", "10", "Jobs, row 1, Steps: expected steps_done below steps (10)"),
        ("jobs", 0, "weight", "-1", "Jobs, row 1, Weight: expected a number >= 1e-06"),
        ("jobs", 1, "gpus", "64", "Jobs, row 2, GPUs: expected 64 GPUs in the cluster"),
        ("jobs", 1, "model", "nothing", "Jobs, row 2, Model: must be one of"),
        ("throughputs", 0, "steps_per_s", "fast", "Throughputs, row 1, Throughput: 'fast' is not a number"),
    ],
)
def test_a_wrong_cell_is_named_and_marked(table: str, row: int, column: str, text: str, says: str) -> None:
    first, *others = preset("start_here").jobs
    scenario = preset("start_here").replace(jobs=[first.model_copy(update={"steps_done": 20.0}), *others])
    editors = shown(scenario)
    was = editors.tables[table].rows[row].get(column)
    editors.tables[table].edit(row, column, text)
    with pytest.raises(ScenarioError) as found:
        editors.read()
    assert spoken(found.value.problems[0]).startswith(says)
    marked = [place for place in editors.tables[table].errors if place.startswith(f"{row}.")]
    assert marked == [f"{row}.{column}"]
    editors.tables[table].edit(row, column, str(was))
    assert editors.read() == scenario
    assert all(table.valid for table in editors.tables.values())


def test_a_cell_that_is_wrong_in_two_ways_stays_wrong() -> None:
    """First the scenario refuses its value, then the table cannot read it."""
    editors = shown(preset("start_here"))
    jobs = editors.tables["jobs"]
    jobs.edit(1, "name", "vision")
    with pytest.raises(ScenarioError):
        editors.read()
    assert jobs.errors["1.name"] == "expected a name of its own (row 1 has it already)"
    jobs.edit(1, "name", "")
    with pytest.raises(ScenarioError):
        editors.read()
    assert jobs.errors["1.name"] == "required"


def test_choices_follow_the_tables_that_define_them() -> None:
    editors = shown(preset("start_here"))
    editors.tables["cluster.accelerators"].add()
    editors.tables["cluster.accelerators"].edit(2, "name", "h100")
    column = next(c for c in editors.tables["cluster.nodes"].columns if c.name == "accelerator")
    assert column.choices == ("v100", "k80", "h100")
    assert next(c for c in editors.tables["throughputs"].columns if c.name == "accelerator").choices == column.choices
    editors.tables["throughputs"].add()
    editors.tables["throughputs"].edit(len(editors.tables["throughputs"].rows) - 1, "model", "mine")
    assert "mine" in next(c for c in editors.tables["jobs"].columns if c.name == "model").choices


def test_new_rows_and_copies_have_names_of_their_own() -> None:
    editors = shown(preset("start_here"))
    jobs, nodes = editors.tables["jobs"], editors.tables["cluster.nodes"]
    jobs.duplicate(0)
    jobs.duplicate(0)
    jobs.add()
    nodes.duplicate(1)
    assert [row["name"] for row in jobs.rows] == [
        "vision",
        "vision-3",
        "vision-2",
        "game",
        "translation",
        "translation-2",
    ]
    assert [row["name"] for row in nodes.rows] == ["fast", "slow", "slow-2"]
    assert len(editors.read().jobs) == 6


def test_what_belongs_to_a_removed_row_goes_with_it_and_is_named() -> None:
    scenario = Scenario.from_dict(FULL)
    editors = shown(scenario)
    editors.tables["jobs"].remove(0)
    assert editors.read().running == ()
    assert editors.left_out == "Left out: 1 starting places of jobs or nodes that are no longer there."
    editors.tables["jobs"].undo()
    assert editors.read() == scenario and editors.left_out == ""


def test_a_problem_that_no_table_shows_is_told_as_it_is() -> None:
    assert spoken(Problem("lab: core.faults", None, "both")) == "core.faults: got None; expected both"


@pytest.mark.parametrize(
    ("control", "text", "where"),
    [
        ("_restart", "soon", "Restart"),
        ("_restart", "-1 s", "Restart"),
        ("_seed", "-1", "Seed"),
        ("_seed", "9" * 30, "Seed"),
        ("_mtbf", "0.5 s", "Time between failures"),
        ("_mtbf", "", "Time to repair"),  # a repair of nothing
        ("_mttr", "", "Time to repair"),
        ("_mttr", "0 s", "Time to repair"),
        ("_checkpoint", "often", "Checkpoint every"),
        ("_checkpoint", "0", "Checkpoint every"),
    ],
)
def test_core_panel_says_what_it_cannot_read(control: str, text: str, where: str) -> None:
    changes: list[int] = []
    core = CorePanel(lambda: changes.append(1))
    core.show({"restart": {"restart_s": 5.0}, "faults": {"mtbf_s": 1000.0, "mttr_s": 60.0}, "checkpoint_s": 30.0}, 3)
    assert changes == [] and core.parts()["core"]["restart"]["restart_s"] == 5.0 and core.parts()["seed"] == 3
    getattr(core, control).value = text
    assert changes == [1]
    with pytest.raises(InputError) as found:
        core.parts()
    assert found.value.where == where
    beside = next(name for name, field in core._texts.items() if field.description == where)
    assert "role='alert'" in core._errors[beside].value
    core.show(None, None)
    assert all(error.value == "" for error in core._errors.values())


def test_core_panel_takes_faults_and_checkpoints_as_typed_and_keeps_listed_outages() -> None:
    outages = [{"node": "a-0", "from_s": 0.0, "to_s": 60.0}]
    core = CorePanel(lambda: None)
    core.show({"faults": {"list": outages}}, None)
    core._mtbf.value, core._mttr.value, core._checkpoint.value = "1 d", "2 h", "10 min"
    found = core.parts()["core"]
    assert found["faults"] == {"list": outages, "mtbf_s": 86400.0, "mttr_s": 7200.0}
    assert found["checkpoint_s"] == 600.0
    core._checkpoint.value = "15"
    assert core.parts()["core"]["checkpoint_s"] == 900.0 and core._checkpoint.value == "15 min", "in the field's unit"
    core._mttr.value = core._mtbf.value = core._checkpoint.value = ""
    found = core.parts()["core"]
    assert found["faults"] == {"list": outages, "mtbf_s": None, "mttr_s": None} and found["checkpoint_s"] is None


def renamed(key: str, row: int, name: str) -> dict[str, Any]:
    editors = shown(Scenario.from_dict(FULL))
    editors.tables[key].edit(row, "name", name)
    return editors.read().to_dict()


def test_a_renamed_type_is_renamed_wherever_it_is_named() -> None:
    found = renamed("cluster.accelerators", 0, "a100")
    assert [node["accelerator"] for node in found["cluster"]["nodes"]] == ["a100", "k80"]
    assert [row["accelerator"] for row in found["throughputs"]] == ["a100", "a100", "k80", "a100"]
    assert [row["accelerator"] for row in found["colocated"]] == ["a100"]


def test_a_renamed_job_or_node_keeps_where_it_runs_and_when_it_is_down() -> None:
    assert renamed("jobs", 0, "first")["running"] == [{"job": "first", "gpus": {"a-0": 1}}]
    found = renamed("cluster.nodes", 0, "rack-7")
    assert found["running"] == [{"job": "j0", "gpus": {"rack-7-0": 1}}]
    assert found["core"]["faults"]["list"][0]["node"] == "rack-7-0"


def test_names_exchanged_in_one_paste_are_exchanged_everywhere() -> None:
    editors = shown(Scenario.from_dict(FULL))
    editors.tables["cluster.accelerators"].paste(0, "name", "k80\nv100")
    assert [row["accelerator"] for row in editors.tables["cluster.nodes"].rows] == ["k80", "v100"]
    editors.tables["cluster.accelerators"].edit(0, "name", "h100")
    assert editors.tables["cluster.accelerators"].message == "Renamed in 5 other places too."


def test_a_new_name_and_back_changes_nothing_and_a_name_taken_is_an_error() -> None:
    scenario = Scenario.from_dict(FULL)
    editors = shown(scenario)
    types = editors.tables["cluster.accelerators"]
    types.edit(0, "name", "")
    with pytest.raises(ScenarioError):
        editors.read()
    types.edit(0, "name", "h100")
    types.undo()
    types.undo()
    assert editors.read() == scenario
    types.edit(0, "name", "k80")  # two of one name: neither is followed
    with pytest.raises(ScenarioError):
        editors.read()
    assert editors.tables["cluster.nodes"].rows[0]["accelerator"] == "v100"
    types.edit(0, "name", "v100")
    assert editors.read() == scenario


# The button that takes a file: what it hands on, and what it is told of a file that the page did not send


@pytest.fixture
def received() -> list[Any]:
    return []


@pytest.fixture
def button(received: list[Any]) -> Upload:
    return Upload("Open", "a file", received.extend, lambda *told: received.append(told), expected="use convert")


def test_a_file_is_handed_on_without_its_folder(button: Upload, received: list[Any]) -> None:
    button._handle_custom_msg({"kind": "files", "names": ["../../x.csv", "y"]}, [b"abc", b"d"])
    assert [(found["name"], bytes(found["content"])) for found in received] == [("x.csv", b"abc"), ("y", b"d")]


def test_a_file_that_was_not_sent_is_told_with_its_size_and_what_to_do(button: Upload, received: list[Any]) -> None:
    button._handle_custom_msg({"kind": "too_large", "names": ["year.csv"], "bytes": 12_345_678}, [])
    assert received == [("year.csv", "got 12.3 MB; expected at most 8 MB here; use convert")]
    assert button.most_bytes == MOST_BYTES
    button._handle_custom_msg({"kind": "too_large", "names": ["a", "b"], "bytes": 9e6}, [])
    assert received[1] == ("2 files", "got 9.0 MB; expected at most 8 MB here; use convert")


def test_a_file_that_the_browser_cannot_read_is_told(button: Upload, received: list[Any]) -> None:
    button._handle_custom_msg({"kind": "unreadable", "names": ["gone.csv"], "why": "NotFoundError"}, [])
    assert received == [("gone.csv", "got NotFoundError; expected a file that the browser can read")]


def test_knobs_are_told_from_the_preset_that_was_chosen() -> None:
    found = workbench.find_scheduler("gavel.max_min_fairness")
    authors = found.settle({"preset": "authors"})
    assert changed_knobs(found, found.settle({})) == {}
    assert changed_knobs(found, authors) == {"preset": "authors"}
    other = {**authors, "round_s": 7.0}
    assert found.settle(changed_knobs(found, other)) == other
