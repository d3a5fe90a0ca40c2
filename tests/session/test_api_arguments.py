"""Arguments of another type or out of range: each is one InputError that says where, what value and what was expected.

Also what a belief other than the true speeds does.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest

import workbench
import workbench.session.api
from workbench.analysis.metrics import per_job
from workbench.base.errors import InputError, ScenarioError
from workbench.baselines.las import Las
from workbench.scheduling.estimators.oracle import Oracle

FAIR = "gavel.max_min_fairness"
START = "preset:start_here"


def refused(act: Callable[[], Any]) -> InputError:
    with pytest.raises(InputError) as caught:
        act()
    return caught.value


@pytest.mark.parametrize("source", [None, 3, [], {}, "", " "])
@pytest.mark.parametrize(
    "act",
    [
        workbench.load,
        lambda source: workbench.simulate(source, "fifo"),
        lambda source: workbench.solve(source, FAIR),
        workbench.compare,
        workbench.snapshot_at,
        lambda source: workbench.ignored(source, "fifo"),
    ],
)
def test_what_is_no_scenario(act: Callable[[Any], Any], source: Any) -> None:
    error = refused(lambda: act(source))
    assert (error.where, error.value) == ("scenario", source)
    assert error.expected == "a Scenario, the name of a file, or preset:NAME"


def test_the_bare_name_of_a_preset_is_told_how() -> None:
    error = refused(lambda: workbench.simulate("hadar_lab", "fifo"))
    assert 'preset("hadar_lab")' in error.expected and "preset:hadar_lab" in error.expected
    assert "preset(" not in refused(lambda: workbench.simulate("hadar_lob.json", "fifo")).expected


@pytest.mark.parametrize("name", [None, 3, "", [], "fifo.x", "gavel", "preset"])
def test_what_is_no_scheduler_or_formulation(name: Any) -> None:
    for act in (
        lambda: workbench.simulate(START, name),
        lambda: workbench.find_scheduler(name),
        lambda: workbench.ignored(START, name),
    ):
        assert refused(act).where == "scheduler"
    for act in (lambda: workbench.solve(START, name), lambda: workbench.find_formulation(name)):
        assert refused(act).where == "formulation"


def test_a_class_in_place_of_an_instance() -> None:
    assert refused(lambda: workbench.simulate(START, Las)).expected == "an instance of the class: Las()"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"until_s": "x"}, "until"),
        ({"until_s": True}, "until"),
        ({"until_s": -1}, "until"),
        ({"until_s": math.nan}, "until"),
        ({"window": 3}, "window"),
        ({"window": "ab"}, "window"),
        ({"window": (True, True)}, "window"),
        ({"window": (0, 3)}, "window"),
        ({"window": (2, 1)}, "window"),
        ({"window": (0.0, 1)}, "window"),
        ({"window": (0,)}, "window"),
        ({"observers": 3}, "observers"),
        ({"observers": [3]}, "observers"),
        ({"detail": "x"}, "detail"),
        ({"detail": -1}, "detail"),
        ({"detail": True}, "detail"),
        ({"seed": "x"}, "seed"),
        ({"seed": -1}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"belief": 3}, "belief"),
        ({"belief": lambda scenario: 3}, "belief"),
        ({"round_s": None}, "knob round_s"),
        ({"round_s": [1]}, "knob round_s"),
    ],
)
def test_simulate(options: dict[str, Any], where: str) -> None:
    assert refused(lambda: workbench.simulate(START, "fifo", **options)).where == where


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"solver": 3}, "solver"),
        ({"solver": None}, "solver"),
        ({"solver": "gurobi"}, "solver"),
        ({"time_limit_s": "x"}, "time_limit"),
        ({"time_limit_s": 0}, "time_limit"),
        ({"time_limit_s": math.inf}, "time_limit"),
        ({"gap": "x"}, "gap"),
        ({"gap": True}, "gap"),
        ({"gap": -1}, "gap"),
        ({"gap": math.nan}, "gap"),
        ({"at": []}, "at"),
        ({"at": -1}, "at"),
        ({"at": math.inf}, "at"),
    ],
)
def test_solve(options: dict[str, Any], where: str) -> None:
    assert refused(lambda: workbench.solve(START, FAIR, **options)).where == where


@pytest.mark.parametrize("act", [workbench.simulate, workbench.solve])
def test_knobs_in_a_mapping(act: Callable[..., Any]) -> None:
    assert refused(lambda: act(START, FAIR, 3)).expected == "{knob: value}"
    assert refused(lambda: act(START, FAIR, {3: 4})).value == 3
    twice = refused(lambda: act(START, FAIR, {"heterogeneity_aware": True}, heterogeneity_aware=True))
    assert (twice.value, twice.expected) == ("heterogeneity_aware", "each knob once")


def test_measures_and_tables() -> None:
    run = workbench.simulate(START, "fifo")
    for act in (workbench.summary, per_job):
        assert refused(lambda act=act: act(None)).expected == "a Run, what `simulate` returns"
    for window in (3, (0,), ("a", "b"), (0, 3)):
        assert refused(lambda window=window: workbench.summary(run, window)).where == "window"
    assert refused(lambda: workbench.allocation_table(None)).where == "result"  # type: ignore[arg-type]
    assert refused(lambda: workbench.preset([])).where == "preset"  # type: ignore[arg-type]
    assert refused(lambda: workbench.Run.load(None)).where == "path"  # type: ignore[arg-type]
    assert refused(lambda: workbench.Scenario.load(None)).where == "path"  # type: ignore[arg-type]
    assert refused(lambda: workbench.Scenario.from_json(None)).expected == "JSON text"  # type: ignore[arg-type]
    assert refused(lambda: workbench.Scenario.from_frames(None, None, None)).where == "nodes"  # type: ignore[arg-type]


# --- Plans, facts that nobody reads -----------------------------------------------------------------------------------


def planned(*plan: dict[str, Any]) -> workbench.Scenario:
    return workbench.preset("start_here").replace(schedulers=list(plan))


def test_every_entry_of_a_plan_that_cannot_be_is_named() -> None:
    wrong = planned({"scheduler": "fiffo"}, {"scheduler": "las", "knobs": {"no": 1, "round_s": "soon"}})
    with pytest.raises(ScenarioError) as caught:
        workbench.session.api.with_usable_schedulers(wrong, "s.json")
    assert [(p.where, p.value) for p in caught.value.problems] == [
        ("s.json: schedulers[0].scheduler", "fiffo"),
        ("s.json: schedulers[1].knobs.no", "no"),
        ("s.json: schedulers[1].knobs.round_s", "soon"),
    ]
    assert refused(lambda: workbench.compare(wrong)).where == "scenario: schedulers[0].scheduler"
    workbench.session.api.with_usable_schedulers(planned({"scheduler": "las", "knobs": {"round_s": "2 h"}}))
    assert workbench.compare(wrong, ["fifo"]).labels == ("fifo",)  # the plan takes no part


def test_facts_that_a_scheduler_does_not_use() -> None:
    start = workbench.preset("start_here").to_dict()
    start["jobs"][0] |= {"user": "ada", "entity": "research", "weight": 2.0}
    start["entities"] = [{"name": "research", "policy": "fifo", "quota_gpus": 3}]
    start["cluster"]["network_gbps"] = 25
    start["cluster"]["accelerators"][0]["memory_gb"] = 3
    start["models"][0]["load_s"] = [[1.0, 0.5, 0.1]]
    scenario = workbench.Scenario.from_dict(start)
    parts = (
        "entities.policy",
        "entities.quota_gpus",
        "models.load_s",
        "accelerators.memory_gb",
        "cluster.network_gbps",
    )
    assert workbench.ignored(scenario, "fifo") == ("user", "weight", "entity", *parts)

    @workbench.scheduler("test-uses")
    def idle(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        return workbench.Decision(), memory

    found = workbench.find_scheduler("test-uses")
    found.uses = frozenset({"weight", "entities.policy", "models.load_s"})
    assert workbench.ignored(scenario, "test-uses") == ("user", "entity", parts[1], *parts[3:])


def test_built_in_facts_count_as_not_set() -> None:
    assert workbench.ignored("preset:gavel_physical", "fifo") == ()


# --- Belief -----------------------------------------------------------------------------------------------------------


class Backwards(Oracle):
    """Believes that the types' speeds are the other way round."""

    made = 0

    def __init__(self, scenario: workbench.Scenario) -> None:
        super().__init__(scenario)
        type(self).made += 1

    def speeds(self, jobs: Any, placement: Any = "consolidated") -> Any:
        return super().speeds(jobs, placement)[:, ::-1]


def test_a_belief_is_what_the_scheduler_sees_and_not_what_happens() -> None:
    """One job may have either type: who believes the slow one to be fast takes it, and runs at its true speed."""
    scenario = workbench.Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "fast"}, {"name": "slow"}],
                "nodes": [{"name": n, "accelerator": n, "gpus": 1} for n in ("fast", "slow")],
            },
            "jobs": [{"name": "a", "model": "m", "steps": 100}],
            "throughputs": [
                {"model": "m", "accelerator": "fast", "steps_per_s": 4},
                {"model": "m", "accelerator": "slow", "steps_per_s": 1},
            ],
        }
    )
    assert workbench.simulate(scenario, "fifo").end_s == 25
    for belief in (Backwards, Backwards(scenario), lambda given: Backwards(given)):
        run = workbench.simulate(scenario, "fifo", belief=belief)
        assert run.end_s == 100 and set(run.timeline["node"]) == {"slow-0"}
    made = Backwards.made
    workbench.simulate(scenario, "fifo", belief=Backwards)
    assert Backwards.made == made + 1  # a class or function makes one for every run


def test_a_scheduler_itself_does_in_place_of_its_name() -> None:
    scenario, fifo = workbench.preset("start_here"), workbench.find_scheduler("fifo")
    assert workbench.simulate(scenario, fifo, round_s=720) == workbench.simulate(scenario, "fifo", round_s=720)
    assert workbench.ignored(scenario, fifo) == workbench.ignored(scenario, "fifo")
    named, given = (workbench.compare(scenario, [s, (s, {"round_s": 720})]) for s in ("fifo", fifo))
    assert named.labels == given.labels and named.table.equals(given.table)
    fairness = workbench.find_scheduler("gavel.max_min_fairness")
    assert workbench.ideal(scenario, fairness).end_s == workbench.ideal(scenario, "gavel.max_min_fairness").end_s
    formulation = workbench.find_formulation("gavel.max_min_fairness")
    assert workbench.solve(scenario, formulation).values == workbench.solve(scenario, formulation.name).values


def test_a_comparison_refuses_a_scheduler_that_is_not_the_one_of_its_name() -> None:
    """Runs are told apart by name, and other processes find schedulers by it."""
    stranger = copy.copy(workbench.find_scheduler("fifo"))
    with pytest.raises(InputError, match="the scheduler that is known as fifo"):
        workbench.compare("preset:start_here", [stranger, "las"])


def test_an_argument_that_there_is_not_is_told_with_those_there_are() -> None:
    asked: dict[Any, tuple[Any, ...]] = {
        workbench.compare: (["las"],),
        workbench.sweep: (["las"],),
        workbench.what_if: ("las", "nodes v100=+1"),
        workbench.calibrate: (),
    }
    for function, given in asked.items():
        with pytest.raises(InputError, match=rf"{function.__name__}: got processes=2; expected workers=2"):
            function("preset:start_here", *given, processes=2)
        with pytest.raises(InputError, match=rf"{function.__name__}: got round_s=720; expected .*workers"):
            function("preset:start_here", *given, round_s=720)
    with pytest.raises(InputError, match="marginal_values: got processes=2; expected one of scenario, formulation"):
        workbench.marginal_values("preset:start_here", processes=2)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="scheduler: got beleif='pmi'; expected one of name, knobs"):
        workbench.scheduler("mine", beleif="pmi")  # type: ignore[call-arg]
    for declare in (workbench.scheduler, workbench.formulation):
        with pytest.raises(InputError, match=rf"{declare.__name__}: got no argument name; expected .*\(name"):
            declare()  # type: ignore[call-arg]
