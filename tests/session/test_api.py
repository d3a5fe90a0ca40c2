"""Public names, `load`, `snapshot_at`, `solve` and `simulate`."""

from __future__ import annotations

import ast
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Mapping
from html import unescape

import numpy as np
import pytest

import workbench
import workbench.session.api
from workbench.analysis.charts import Drawing
from workbench.analysis.metrics import metric
from workbench.base.errors import InputError, ScenarioError
from workbench.scheduling.contract import Formulation, Result
from workbench.scheduling.declared_room import Room
from workbench.scheduling.knob import Knob
from workbench.session.registry import rooms


def scenario(**rest):
    """Two nodes of 2 GPUs; three jobs at 0, 100 and 200 s, of which the second asks for 2 GPUs."""
    jobs = [
        {"name": "a", "model": "m", "steps": 1000, "steps_done": 400, "attained_s": 50},
        {"name": "b", "model": "m", "steps": 500, "gpus": 2, "arrival_s": 100},
        {"name": "c", "model": "m", "steps": 300, "arrival_s": 200},
    ]
    return workbench.Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "fast"}, {"name": "slow"}],
                "nodes": [
                    {"name": "f", "accelerator": "fast", "gpus": 2},
                    {"name": "s", "accelerator": "slow", "gpus": 2},
                ],
            },
            "jobs": jobs,
            "throughputs": [
                {"model": "m", "accelerator": name, "gpus": gpus, "steps_per_s": speed * gpus}
                for name, speed in (("fast", 2.0), ("slow", 1.0))
                for gpus in (1, 2)
            ],
            **rest,
        }
    )


# --- Public names -----------------------------------------------------------------------------------------------------


def in_new_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout.splitlines()[-1])


def test_import_is_light():
    """`import workbench` loads neither charts nor solvers nor widgets."""
    loaded = in_new_process("import workbench, sys, json; print(json.dumps(list(sys.modules)))")
    heavy = {"altair", "highspy", "numpy", "pandas", "pydantic", "pyomo", "sklearn"}
    assert not (heavy | {"anywidget", "ipywidgets", "widgets"}) & set(loaded)


WITHOUT_PYOMO = [
    "gavel.max_min_fairness",
    "gavel.makespan",
    "hadar",
    "hops",
    "hare",
    "chronus",
    "allox",
    "sia",
    "las",
]
"""Schedulers with an assembly, or an algorithm, of every room."""


def test_a_simulation_without_a_model_needs_no_pyomo_and_no_tables():
    """A rule no solver either; and it alone is enough for the run's page. Data frames are for who reads them."""
    code = f"""
import json, sys, workbench, workbench.cli
run = workbench.simulate("preset:start_here", "fifo")
loaded, page = list(sys.modules), run._repr_html_()
for name in {WITHOUT_PYOMO}:
    workbench.cli.main(["simulate", "preset:start_here", "--scheduler", name])
found = [loaded, page[:9], "pyomo" in sys.modules, "pandas" in sys.modules]
print(json.dumps([*found, len(run.jobs), "pandas" in sys.modules]))
"""
    loaded, page, pyomo, pandas, *then = in_new_process(code)
    assert not {"altair", "pyomo", "scipy", "highspy", "ipywidgets"} & set(loaded)
    assert page == "<p>fifo o" and not pyomo and not pandas and then == [3, True]


@pytest.mark.parametrize("name", workbench.__all__)
def test_every_public_name_is_there(name):
    assert getattr(workbench, name) is not None
    assert name in dir(workbench)


def test_type_checkers_see_the_same_names():
    tree = ast.parse(inspect.getsource(workbench))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname: node.module for node in block.body for alias in node.names}
    assert seen == {name: f"workbench.{module}" for name, module in workbench._MODULES.items()}


def test_unknown_name():
    with pytest.raises(AttributeError, match="nothing_such"):
        workbench.nothing_such  # noqa: B018


def test_no_public_name_is_also_a_module():
    """Importing a module sets it as an attribute of its package: a function of that name would be gone."""
    assert not {info.name for info in pkgutil.iter_modules(workbench.__path__)} & set(workbench.__all__)


@pytest.mark.parametrize(
    "first", ["import workbench.scheduling.solvers, workbench.analysis.comparison, workbench.scenario.presets", "pass"]
)
def test_functions_and_modules_do_not_hide_each_other_and_nothing_is_imported_in_vain(first):
    """Nor is more imported than is used: no other room, and not scipy, whose statistics Pyomo would import next to it,
    which takes longer than most solves."""
    code = f"""
import contextlib, io, json, pkgutil, sys
{first}
import workbench
objective = workbench.solve("preset:gavel_example", "gavel.max_min_fairness").objective
workbench.simulate("preset:start_here", "gavel.max_min_fairness")
solved = list(sys.modules)
from workbench.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["simulate", "preset:start_here", "--scheduler", "gavel.max_min_fairness"])
ran = list(sys.modules)
import workbench.analysis.comparison
from workbench import compare, solve
from workbench.scenario import presets
from workbench.scheduling import solvers
from workbench.scheduling.solvers import Solver
names = [item.__name__ for item in (solvers, workbench.analysis.comparison, presets, solve, compare)]
print(json.dumps([solved, ran, objective, Solver is workbench.Solver, workbench.solve is solve, *names]))
"""
    solved, ran, objective, *rest = in_new_process(code)
    assert objective == pytest.approx(workbench.solve("preset:gavel_example", "gavel.max_min_fairness").objective)
    modules = ["workbench.scheduling.solvers", "workbench.analysis.comparison", "workbench.scenario.presets"]
    assert rest == [True, True, *modules, "solve", "compare"]
    if first == "pass":
        assert "pyomo.environ" in solved and "scipy" not in solved
        assert {name.split(".")[2] for name in ran if name.startswith("workbench.papers.")} == {"gavel"}


# --- load -------------------------------------------------------------------------------------------------------------


def test_load(tmp_path):
    made = scenario()
    made.save(tmp_path / "s.json")
    assert workbench.load(tmp_path / "s.json") == workbench.load(str(tmp_path / "s.json")) == made
    assert workbench.load(made) is made
    assert workbench.load("preset:start_here") == workbench.preset("start_here")
    with pytest.raises(InputError, match="start_here"):
        workbench.load("preset:start_hear")
    with pytest.raises(InputError, match=r"missing\.json"):
        workbench.load(tmp_path / "missing.json")


# --- snapshot_at ------------------------------------------------------------------------------------------------------


def test_snapshot_holds_who_has_arrived_with_what_the_scenario_says():
    seen = workbench.snapshot_at(scenario(), 150.0)
    assert seen.now_s == 150.0
    assert seen.jobs.names == ("a", "b")
    assert seen.jobs.steps_left.tolist() == [600.0, 500.0]
    assert seen.jobs.attained_s.tolist() == [50.0, 0.0]
    assert seen.jobs.waited_s.tolist() == [150.0, 50.0]
    assert seen.capacity.tolist() == [2, 2]
    assert seen.nodes.free.tolist() == [2, 2]
    assert (seen.leases, seen.ended, seen.future) == ({}, {}, ())


def test_arrival_at_the_very_time_counts_as_arrived():
    assert workbench.snapshot_at(scenario(), 100.0).jobs.names == ("a", "b")
    assert workbench.snapshot_at(scenario(), 99.999).jobs.names == ("a",)


def test_snapshot_is_of_the_last_arrival_or_of_all_that_is_to_come():
    assert workbench.snapshot_at(scenario()).now_s == 200.0
    assert workbench.snapshot_at(scenario(), offline=True).now_s == 0.0


def test_offline_snapshot_lists_the_jobs_to_come():
    seen = workbench.snapshot_at(scenario(), 0.0, offline=True)
    assert seen.jobs.names == ("a",)
    assert [job.name for job in seen.future] == ["b", "c"]


def test_what_is_running_shows_at_time_0_only():
    busy = scenario(running=[{"job": "a", "gpus": {"f-0": 1}}])
    now = workbench.snapshot_at(busy, 0.0)
    assert dict(now.ended["a"].gpus) == {"f-0": 1}
    later = workbench.snapshot_at(busy, 10.0)
    assert later.ended == {} and later.leases == {}
    assert later.jobs.steps_left.tolist() == [600.0]
    assert later.jobs.waited_s.tolist() == [10.0]
    assert later.nodes.free.tolist() == [2, 2]


def test_nodes_that_are_down_are_down():
    broken = scenario(core={"faults": {"list": [{"node": "f-0", "from_s": 50, "to_s": 120}]}})
    assert [workbench.snapshot_at(broken, at_s).capacity.tolist() for at_s in (49, 50, 119, 120)] == [
        [2, 2],
        [0, 2],
        [0, 2],
        [2, 2],
    ]


# --- solve ------------------------------------------------------------------------------------------------------------


def test_solve_the_example_of_section_4_1():
    """Gavel 4.1: three jobs on one V100 and one K80; normalised throughputs can all be made equal."""
    result = workbench.solve("preset:gavel_example", "gavel.max_min_fairness")
    assert isinstance(result, Result) and result.status == "optimal"
    reached = list(result.values["normalized_throughput"].values())
    assert reached == pytest.approx([result.objective] * 3, rel=1e-6)


def test_allocation_table():
    result = workbench.solve("preset:gavel_example", "gavel.max_min_fairness")
    table = workbench.allocation_table(result)
    assert list(table.index) == ["job 0", "job 1", "job 2"] and list(table.columns) == ["v100", "k80"]
    assert table.loc["job 2", "k80"] == result.values["allocation"]["job 2"]["k80"]
    with pytest.raises(InputError, match="allocation"):
        workbench.allocation_table(Result("optimal", 1.0, "min", "s", {"leases": {}}))


def test_at_defaults_to_the_last_arrival():
    def jobs(**options):
        return list(workbench.solve(scenario(), "gavel.max_min_fairness", **options).values["allocation"])

    assert jobs() == ["a", "b", "c"]
    assert jobs(at=100) == ["a", "b"]
    assert jobs(at=0) == ["a"]


def test_offline_formulations_begin_at_0(monkeypatch):
    seen = []

    class Look(Formulation):
        name, title, offline = "look", "Look", True
        knobs = (Knob("at", 1.0, "bears the name of an argument"),)

        def data(self, snapshot, knobs):
            seen.append((snapshot.now_s, len(snapshot.jobs), len(snapshot.future), knobs["at"]))

        def build(self, data, knobs): ...

        def read(self, model, data, knobs): ...

        def run(self, data, knobs, solver=None):
            return Result("optimal", 0.0, "min", "s", {})

    found = (*rooms(), Room(name="look", formulations=(Look(),)))
    monkeypatch.setattr("workbench.session.registry._rooms_of", lambda name: found)
    workbench.solve(scenario(), "look")
    workbench.solve(scenario(), "look", at=150)
    workbench.solve(scenario(), "look", {"at": 7})
    assert seen == [(0.0, 1, 2, 1.0), (150.0, 2, 1, 1.0), (0.0, 1, 2, 7.0)]


def test_jobs_that_can_run_nowhere_are_named():
    big = scenario(jobs=[{"name": "big", "model": "m", "steps": 1, "gpus": 8}])
    with pytest.raises(ScenarioError, match="big"):
        workbench.solve(big, "gavel.max_min_fairness")
    with pytest.raises(ScenarioError, match="big"):
        workbench.simulate(big, "fifo")


# --- simulate ---------------------------------------------------------------------------------------------------------


def test_simulate_fifo_by_hand():
    """a needs 600 steps at 2 per s, b 500 at 2 x 2 or 2 x 1, c 300; four GPUs are enough for all of them at once."""
    run = workbench.simulate(scenario(), "fifo", round_s=1)
    finish = dict(zip(run.jobs["job"], run.jobs["finish_s"], strict=True))
    assert finish["a"] == pytest.approx(300)
    assert finish["b"] == pytest.approx(350)
    assert finish["c"] == pytest.approx(350)
    assert workbench.summary(run)["jobs_finished"] == 3


def test_seed_defaults_to_the_scenarios():
    assert workbench.simulate(scenario(seed=9), "fifo").seed == 9


def test_until_and_window_end_a_run():
    assert workbench.simulate(scenario(), "fifo", until_s=120).end_s == 120
    assert workbench.simulate(scenario(), "fifo", until_s=0).end_s == 0
    whole = workbench.simulate(scenario(), "fifo", round_s=10)
    first = workbench.simulate(scenario(), "fifo", round_s=10, window=(0, 0))
    assert first.end_s < whole.end_s
    assert not np.isnan(first.jobs["finish_s"][0])
    assert workbench.simulate(scenario(), "fifo", round_s=10, window=(0, 0), until_s=50).end_s == 50
    assert workbench.simulate(scenario(), "fifo", round_s=10, window=(0, 0), until_s=9e9).end_s == first.end_s


def test_observers_hear_of_every_decision():
    heard = []

    class Ear:
        def on_decision(self, progress):
            heard.append(progress.now_s)

    run = workbench.simulate(scenario(), "fifo", observers=[Ear()])
    assert heard == run.decisions["time_s"].tolist()


def test_detail_limits_what_is_recorded():
    full = workbench.simulate("preset:start_here", "gavel.max_min_fairness")
    brief = workbench.simulate("preset:start_here", "gavel.max_min_fairness", detail=1)
    assert len(brief.decisions) == len(full.decisions)
    assert 0 < len(brief.signals) < len(full.signals)
    assert brief.jobs.equals(full.jobs.assign(renewals=brief.jobs["renewals"]))


def test_ignored_properties():
    jobs = [
        {"name": "a", "model": "m", "steps": 1, "weight": 2.0, "rewards": [[10, 1]]},
        {"name": "b", "model": "m", "steps": 1},
    ]
    weighted = scenario(jobs=jobs)
    assert workbench.ignored(weighted, "fifo") == ("weight", "rewards")
    assert workbench.ignored(weighted, "gavel.max_min_fairness") == ("rewards",)
    assert workbench.ignored(scenario(), "fifo") == ()
    assert workbench.ignored(scenario(jobs=[]), "fifo") == ()


def test_what_a_scheduler_reads_depends_on_its_knobs() -> None:
    from workbench.session.read_and_ignored import properties_set, reading

    scenario = workbench.preset("compare_mixed")
    assert properties_set(scenario) == ("gpu_choices", "weight", "rewards")
    plain = {"gpu_choices": "ignores", "weight": "with other knobs", "rewards": "with other knobs"}
    assert reading(scenario, "hadar") == plain
    assert reading(scenario, "hadar", {"utility": "step"}) == {**plain, "rewards": "reads"}
    assert reading(scenario, "srtf") == dict.fromkeys(plain, "ignores")


# A notebook shows of an object briefly what it is; a mistyped name is answered with the near ones

SCENARIO = workbench.preset("start_here")
RUN = workbench.simulate(SCENARIO, "las")
OBJECTS = {
    "preset": workbench.preset("gavel_physical"),
    "result": workbench.solve(workbench.preset("gavel_physical"), "gavel.max_min_fairness"),
    "summary": workbench.summary(RUN),
    "snapshot": workbench.snapshot_at(workbench.preset("gavel_physical")),
    "knob": workbench.find_scheduler("las").knobs[0],
    "scheduler": workbench.find_scheduler("hops"),
    "formulation": workbench.find_formulation("hare.relaxation"),
    "jobs": workbench.snapshot_at(workbench.preset("gavel_physical")).jobs,
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_told_in_a_line_and_a_card(name: str) -> None:
    found = OBJECTS[name]
    assert len(repr(found)) < 300 and " at 0x" not in repr(found)
    if name == "jobs":
        return
    page = found._repr_html_()
    shown = unescape(re.sub(r"<[^>]*>", " ", page))
    assert len(shown) < 4000 and "object at" not in page
    assert "color" not in page and "background" not in page, "the notebook's theme decides, light or dark"


def test_cards_say_what_the_object_holds() -> None:
    told = repr(OBJECTS["preset"]) + OBJECTS["preset"]._repr_html_()
    assert all(text in told for text in ("gavel_physical", "50 jobs", "24 k80", "seed 1", "ResNet-50"))
    noted = SCENARIO.replace(name="<b>", notes=["made <i>up</i>"])._repr_html_()
    assert "&lt;b&gt;" in noted and "Note: made &lt;i&gt;up&lt;/i&gt;" in noted and "<i>" not in noted
    assert all(f"{each.name}: {each.title}" in repr(workbench.schedulers()) for each in workbench.schedulers())
    public = [name for name in dir(SCENARIO) if not name.startswith("_")]
    assert "jobs" in public and not [name for name in public if name.startswith("model_")]


def test_a_summary_is_a_mapping() -> None:
    found = OBJECTS["summary"]
    assert isinstance(found, Mapping) and len(found) == len(dict(found)) > 40
    assert dict(found)["mean_jct_s"] == found["mean_jct_s"] and "mean_jct" not in found
    assert found.get("mean_jct") is None


def test_a_comparison_gives_its_runs_and_a_run_its_chart() -> None:
    one = workbench.compare(SCENARIO, ["las", "fifo"])
    assert one["las"] == RUN and list(one) == ["las", "fifo"]
    several = workbench.compare(SCENARIO, {"a": "las"}, seeds=[0, 1])
    assert several["a", 1].seed == 1
    for key, expected in (("las", "one of a"), ("a", r"comparison\['a', 0\]"), (("a", 7), "a seed of a: 0, 1")):
        with pytest.raises(InputError, match=expected):
            several[key]  # type: ignore[index]
    chart = RUN.gantt(by="job")
    assert isinstance(chart, Drawing) and "3 jobs" in chart.label


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        (lambda: workbench.simulate(SCENARIO, "fiffo"), "fifo"),
        (lambda: workbench.simulate(SCENARIO, "Max_Min_Fairness"), "gavel.max_min_fairness"),
        (lambda: workbench.preset("gavel_phisical"), "gavel_physical"),
        (lambda: workbench.solve(SCENARIO, "gavel.makspan"), "gavel.makespan"),
        (lambda: workbench.simulate(SCENARIO, "las", rounds=3), "round_s"),
        (lambda: metric("mean_jct"), "mean_jct_s"),
        (lambda: OBJECTS["summary"]["makespan"], "makespan_s"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_near_ones(wrong: object, meant: str) -> None:
    with pytest.raises(InputError, match=rf"did you mean .*\b{re.escape(meant)}") as found:
        wrong()  # type: ignore[operator]
    assert len(str(found.value)) < 600, "at most 32 names are listed"
