"""Attributes: facts that the core knows nothing of, seen by the schedulers that declare them."""

from __future__ import annotations

import copy
import math
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import workbench
from tests.full_scenario import FULL
from widgets.editors.scenario_tables import Editors
from workbench.analysis.metrics import per_job
from workbench.base.errors import InputError, ScenarioError
from workbench.baselines.isolated import IsolatedPolicy
from workbench.baselines.mechanisms.share_scheduler import ShareScheduler
from workbench.scenario.scenario import Scenario, json_schema
from workbench.scenario.traces import convert


@pytest.fixture
def scenario() -> Scenario:
    data = workbench.preset("start_here").to_dict()
    data["jobs"][0]["attributes"] = {"lora_rank": 8, "team": "a b"}
    data["jobs"][1]["attributes"] = {"lora_rank": 16}
    data["cluster"]["nodes"][0]["attributes"] = {"rack": "r1"}
    data["models"] = [{"name": data["jobs"][0]["model"], "attributes": {"family": "cnn"}}]
    return Scenario.from_dict(data)


ALL = ("attributes.lora_rank", "attributes.team", "models.attributes.family", "nodes.attributes.rack")


def test_they_stay_with_their_owner_in_json_frames_tables_and_copies(scenario: Scenario) -> None:
    assert scenario.attributes == ALL
    assert Scenario.from_json(scenario.to_json()) == scenario
    assert scenario.key() != workbench.preset("start_here").key()
    assert scenario.replace(seed=3).attributes == ALL
    assert len({*scenario.jobs, *Scenario.from_json(scenario.to_json()).jobs}) == len(scenario.jobs), "they have a hash"
    editors = Editors(lambda: None)
    editors.show(scenario)
    assert editors.read() == scenario
    table = per_job(workbench.simulate(scenario, "fifo"))
    assert table["attributes.lora_rank"].tolist()[:2] == [8, 16] and table["attributes.team"].isna().tolist() == [
        False,
        True,
        True,
    ]
    jobs = pd.DataFrame({"name": ["a", "b"], "model": "m", "steps": 1.0, "attributes.rank": [2.0, None]})
    nodes = pd.DataFrame({"name": ["n"], "accelerator": "v100", "gpus": 1})
    speeds = pd.DataFrame({"model": ["m"], "accelerator": "v100", "steps_per_s": 1.0})
    made = Scenario.from_frames(nodes, jobs, speeds)
    assert [job.attributes for job in made.jobs] == [{"rank": 2.0}, {}]


def test_a_scheduler_sees_those_it_declares(scenario: Scenario) -> None:
    seen: list[Any] = []
    uses = ["attributes.lora_rank", "nodes.attributes.rack"]

    @workbench.scheduler("largest_rank", round_s=600, uses=uses)
    def decide(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        """The job of the largest rank alone."""
        jobs, nodes = snapshot.jobs, snapshot.nodes
        seen.append(({job.name: job.attributes for job in jobs.jobs}, snapshot.cluster.each_node, snapshot.models))
        first = max(jobs.jobs, key=lambda job: job.attributes.get("lora_rank", 0))
        node = next(i for i, free in enumerate(nodes.free) if free >= first.gpus)
        run = workbench.Assignment(first.name, {nodes.names[node]: first.gpus}, snapshot.now_s + 600)
        return workbench.Decision((run,)), memory

    run = workbench.simulate(scenario, "largest_rank")
    jobs, machines, models = seen[0]
    assert jobs[scenario.jobs[0].name] == {"lora_rank": 8}, "the team is not declared"
    assert machines[0].attributes == {"rack": "r1"} and models[0].attributes == {}
    ends = run.jobs.set_index("job")["finish_s"]
    assert ends[scenario.jobs[1].name] < ends[scenario.jobs[0].name]
    assert run.scenario == scenario
    assert workbench.ignored(scenario, "largest_rank") == ("attributes.team", "models.attributes.family")
    assert set(ALL) <= set(workbench.ignored(scenario, "fifo"))
    assert set(uses) <= workbench.find_scheduler("largest_rank").uses


def ask(scenario: Any, read: Any, *more: str) -> workbench.Run:
    """A run in which a scheduler reads something of its first snapshot."""

    @workbench.scheduler("asks", uses=["attributes.lora_rank", "nodes.attributes.rack", *more])
    def decide(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        """Gives nobody anything."""
        read(snapshot)
        return workbench.Decision(), memory

    return workbench.simulate(scenario, "asks", until_s=400)


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (
            lambda s: s.jobs.jobs[0].attributes["lora_rnk"],
            "got 'lora_rnk'; expected what the scheduler declares",
        ),
        (
            lambda s: s.jobs.jobs[0].attributes.get("lora_rnk"),
            r"\(did you mean lora_rank\?\); to declare it:",
        ),
        (lambda s: "team" in s.jobs.jobs[0].attributes, r"got 'team'; .* to declare it: uses = {\"attributes.team\"}"),
        (lambda s: s.jobs.jobs[0].attributes["size"], "got 'size'; expected what is set: one of lora_rank"),
        (lambda s: s.cluster.each_node[0].attributes["row"], 'nodes.attributes: .*; to .* {"nodes.attributes.row"}'),
        (lambda s: s.models[0].attributes.get("family"), "models.attributes: .* declares: nothing .there are none."),
    ],
)
def test_what_is_not_declared_cannot_be_asked_for(scenario: Scenario, read: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        ask(scenario, read, "attributes.size")


def test_what_nobody_has_is_told(scenario: Scenario) -> None:
    ask(scenario, lambda s: [job.attributes.get("lora_rank") for job in s.jobs.jobs])
    with pytest.raises(InputError, match=r"got 'x'; expected what the scheduler declares: one of lora_rank; .*\.x"):
        ask("preset:start_here", lambda s: s.jobs.jobs[0].attributes["x"])
    with pytest.raises(KeyError, match=r"what is set: nothing \(there are none\); a scheduler declares what it reads"):
        workbench.preset("start_here").jobs[0].attributes["x"]
    copied = pickle.loads(pickle.dumps(scenario.seen_by(ALL[:1])))
    assert copied.jobs[0].attributes == {"lora_rank": 8} and copy.deepcopy(copied) == copied
    with pytest.raises(KeyError):
        copied.jobs[0].attributes.get("team")


def test_a_run_without_them_is_the_same(scenario: Scenario) -> None:
    plain = workbench.simulate("preset:start_here", "gavel.max_min_fairness")
    other = workbench.simulate(scenario, "gavel.max_min_fairness")
    pd.testing.assert_frame_equal(plain.timeline, other.timeline)


@pytest.mark.parametrize("value", [True, math.nan, math.inf, 10**400, "", "a\nb", "\u202eabc", [1], None, "x" * 201])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(ScenarioError, match=r"jobs\[0\]\.attributes\.x: .* expected a finite number, or text of 1 to"):
        Scenario.from_dict({**FULL, "jobs": [{**FULL["jobs"][0], "attributes": {"x": value}}, *FULL["jobs"][1:]]})


@pytest.mark.parametrize("name", ["", ".x", "a.b", " a", "x" * 61, "a\n"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ScenarioError, match=r"jobs\[0\]\.attributes: .* expected names of 1 to 60 letters"):
        Scenario.from_dict({**FULL, "jobs": [{**FULL["jobs"][0], "attributes": {name: 1}}, *FULL["jobs"][1:]]})


def test_the_schema_says_so() -> None:
    found = json_schema()["$defs"]["Job"]["properties"]["attributes"]
    assert found["additionalProperties"] == {"type": ["number", "string"]} and "propertyNames" in found


def test_declarations_that_are_none_are_refused() -> None:
    for declare in (partial(workbench.scheduler, "mine"), partial(ShareScheduler, "mine", "Mine", IsolatedPolicy())):
        with pytest.raises(InputError, match="scheduler mine, uses: got 'weight'; expected a set of texts"):
            declare(uses="weight")
        with pytest.raises(InputError, match=r"mine, uses: got 'models.load'; expected .*\(did you mean models.load_s"):
            declare(uses=["weight", "attributes.lora_rank", "models.load"])


LOG = """JobID|Submit|Start|End|Elapsed|State|AllocTRES|User|Partition|QOS
1|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|01:00:00|COMPLETED|gres/gpu=1|ann|short|007
2|2026-01-01T00:00:10|2026-01-01T00:00:10|2026-01-01T01:00:10|01:00:00|COMPLETED|gres/gpu=1|bob||12
3|2026-01-01T00:00:20|2026-01-01T00:00:20|2026-01-01T01:00:20|01:00:00|COMPLETED|gres/gpu=1|bob|a\u202eb|1
"""
CLUSTER = {"accelerators": [{"name": "v100"}], "nodes": [{"name": "n", "accelerator": "v100", "gpus": 4}]}


def test_columns_of_a_log_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(LOG, encoding="utf-8")
    found, report = convert("sacct", log, cluster=CLUSTER, keep=["Partition", "QOS"])
    kept = [
        {name: value for name, value in job.attributes.items() if name in ("Partition", "QOS")} for job in found.jobs
    ]
    assert kept == [{"Partition": "short", "QOS": "007"}, {"QOS": 12.0}, {"QOS": 1.0}]
    assert "1 cell of Partition over 200 letters or not printable: not kept, the jobs are" in report.notes
    with pytest.raises(InputError, match=r"keep: got 'Account'; expected a column of .*: JobID, Submit"):
        convert("sacct", log, cluster=CLUSTER, keep=["Account"])
    with pytest.raises(InputError, match="keep: got 'Account'; expected nothing: swf has no named columns; chronus,"):
        convert("swf", log, cluster=CLUSTER, keep=["Account"])
