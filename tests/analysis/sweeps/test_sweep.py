"""Sweeps: the table, what is kept and made again, where runs are made, failures, memory."""

import multiprocessing
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pandas as pd
import pytest

import workbench
from tests.analysis.sweeps.support import SMALL, same
from workbench.analysis.metrics import METRICS
from workbench.analysis.sweeps import sweeping
from workbench.analysis.sweeps.sweeping import SweepProgress, measure
from workbench.base.errors import InputError, ScenarioError, WorkbenchError
from workbench.scheduling.knob import Knob
from workbench.session.many_runs import RunRequest
from workbench.simulation.run import run_key

GRID = {"schedulers": ["las", "fifo"], "vary": {"round_s": ["1 min", 720]}, "seeds": [0, 1]}
SHARING = {"space_sharing": [False, True]}
"""Of Gavel's policies: the small scenario does not let jobs share, so every second run fails."""


@pytest.fixture(scope="module")
def grid():
    return workbench.sweep(SMALL, **GRID)


@pytest.fixture
def made(monkeypatch):
    """Keys of the runs that are made in this process."""
    keys = []

    def noted(request, **rest):
        asked = (request.scenario.key(), request.scheduler, request.knobs, request.seed)
        keys.append(run_key(*asked, belief=request.belief, until_s=request.until_s, window=request.window))
        return measure(request, **rest)

    monkeypatch.setattr(sweeping, "measure", noted)
    return keys


# --- The table --------------------------------------------------------------------------------------------------------


def test_a_row_is_a_run_with_every_measure(grid):
    head = ["scenario", "scheduler", "round_s", "seed", "status", "error", "wall_s"]
    assert list(grid.columns) == [*head, *(metric.name for metric in METRICS)]
    asked = [(s, r, seed) for s in ("las", "fifo") for r in (60.0, 720.0) for seed in (0, 1)]
    assert list(grid[["scheduler", "round_s", "seed"]].itertuples(index=False, name=None)) == asked
    assert set(grid["status"]) == {"done"} and set(grid["error"]) == {""} and (grid["wall_s"] > 0).all()
    for row in grid.to_dict("records"):
        expected = workbench.summary(workbench.simulate(SMALL, row["scheduler"], round_s=row["round_s"]))
        assert {name: row[name] for name in expected} == pytest.approx(dict(expected), rel=0, abs=0, nan_ok=True)


def test_a_list_of_points_is_not_a_grid():
    found = workbench.sweep(SMALL, "fifo", vary=[{"round_s": 60}, {"round_s": 360, "blocking": False}], until_s=0)
    assert found["round_s"].tolist() == [60, 360] and found["blocking"].tolist() == [None, False]


def test_a_scheduler_is_not_varied_by_a_knob_that_it_lacks():
    found = workbench.sweep(SMALL, ["fifo", "las"], vary={"blocking": [True, False], "round_s": [60, 90]}, until_s=0)
    rows = list(found[["scheduler", "blocking", "round_s"]].itertuples(index=False, name=None))
    assert rows == [("fifo", b, r) for b in (True, False) for r in (60, 90)] + [("las", None, r) for r in (60, 90)]


def test_scenarios_with_labels(made):
    small = workbench.preset("start_here")
    other = small.replace(seed=5, description="one job less", jobs=small.jobs[:2], schedulers=())
    found = workbench.sweep([(0.5, small), (0.5, other), (0.9, small.replace(name="the same"))], ["fifo"])
    assert found["scenario"].tolist() == [0.5, 0.5, 0.9] and found["seed"].tolist() == [0, 5, 0]
    assert found["jobs"].tolist() == [3, 2, 3]
    assert len(made) == 2, "a scenario by another name is the same: no run of it is made twice"
    assert workbench.sweep({"a": small, "b": other}, ["fifo"], until_s=0)["scenario"].tolist() == ["a", "b"]


def test_knobs_of_an_entry_are_fixed():
    found = workbench.sweep(SMALL, ("fifo", {"blocking": False}), vary={"round_s": [60]}, until_s=0)
    assert list(found.columns[:4]) == ["scenario", "scheduler", "round_s", "seed"]
    with pytest.raises(InputError, match="blocking"):
        workbench.sweep(SMALL, ("fifo", {"blocking": False}), vary={"blocking": [True]})


def test_window_until_and_belief_are_those_of_simulate():
    found = workbench.sweep(SMALL, "fifo", window=(0, 1), until_s=9e9, belief="low_rank")
    run = workbench.simulate(SMALL, "fifo", window=(0, 1), belief="low_rank")
    expected = workbench.summary(run, (0, 1))
    assert found["jobs"].tolist() == [2] and found["mean_jct_s"].tolist() == [expected["mean_jct_s"]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"vary": {"nothing_such": [1]}}, "a knob that one of these has: fifo"),
        ({"vary": {"round_s": []}}, "at least one value"),
        ({"vary": {"round_s": "60"}}, "a list of values"),
        ({"vary": {"round_s": [-1.0]}}, "knob round_s"),
        ({"vary": {"round_s": [60, "1 min"]}}, "each point once"),
        ({"vary": []}, "at least one point"),
        ({"vary": "round_s"}, "a list of"),
        ({"vary": [3]}, "a list of"),
        ({"schedulers": ["nothing_such"]}, "fifo"),
        ({"schedulers": []}, "at least one"),
        ({"seeds": [-1]}, "from 0"),
        ({"seeds": 3}, "whole numbers"),
        ({"workers": 0}, "from 1"),
        ({"until_s": -1}, "seconds from 0"),
        ({"until_s": float("nan")}, "seconds from 0"),
        ({"window": (0, 9)}, "last"),
        ({"belief": "nothing_such"}, "low_rank"),
        ({"belief": 3}, "one of oracle, nodes"),
        ({"executor": "threads"}, "concurrent.futures"),
        ({"dask": " "}, "address"),
        ({"out": ""}, "a folder"),
        ({"on_progress": 3}, "a function"),
        ({"scenario": []}, "at least one"),
        ({"scenario": 3}, "a scenario"),
        ({"scenario": [workbench.preset("start_here")]}, "label"),
    ],
)
def test_refuses_before_anything_is_run(options, expected, made):
    given = {"scenario": SMALL, "schedulers": ["fifo"], **options}
    with pytest.raises(InputError, match=expected):
        workbench.sweep(given.pop("scenario"), given.pop("schedulers"), **given)
    assert made == []


def test_a_knob_named_like_a_column_cannot_be_varied(own):
    @workbench.scheduler("test-sweep-odd", knobs=[Knob("status", 1.0, "odd")])
    def odd(snapshot, memory, knobs, rng):
        return workbench.Decision(), memory

    with pytest.raises(InputError, match="another column"):
        workbench.sweep(SMALL, "test-sweep-odd", vary={"status": [1, 2]})


def test_no_shipped_knob_is_named_like_a_column():
    from workbench.analysis.sweeps.runs_to_make import RESERVED
    from workbench.session.registry import is_own

    shipped = [found for found in workbench.schedulers() if not is_own(found.name)]
    assert not RESERVED & {knob.name for found in shipped for knob in found.knobs}


def test_jobs_that_can_run_nowhere_are_named_first(made):
    small = workbench.preset("start_here")
    big = small.replace(jobs=[{"name": "big", "model": small.jobs[0].model, "steps": 1, "gpus": 64}], schedulers=())
    with pytest.raises(ScenarioError, match="big"):
        workbench.sweep([("a", small), ("b", big)], ["fifo"])
    assert made == []


# --- The store --------------------------------------------------------------------------------------------------------


def test_what_is_in_the_store_is_not_made_again(tmp_path, grid, made):
    store = tmp_path / "s.db"
    first = workbench.sweep(SMALL, ["las"], vary=GRID["vary"], seeds=[1], store=store)
    assert len(made) == 2
    told = []
    whole = workbench.sweep(SMALL, **GRID, store=store, on_progress=told.append)
    assert len(made) == len(set(made)) == 6, "of fifo one seed"
    same(whole, grid)
    assert whole["wall_s"][[1, 3]].tolist() == first["wall_s"].tolist(), "the rows of the first sweep"
    pd.testing.assert_frame_equal(workbench.sweep(SMALL, **GRID, store=str(store)), whole)
    assert len(made) == 6
    assert [(p.runs, p.kept, p.done, p.failed) for p in told] == [(8, 2, done, 0) for done in range(7)]


def test_of_seeds_alike_one_is_made_unless_it_drew_or_failed_or_runs_are_saved(tmp_path, made):
    """Seed 1 of a scenario whose nodes fail at random differs from seed 0; without faults it does not."""
    fails = workbench.Scenario.from_dict(
        {**workbench.load(SMALL).to_dict(), "core": {"faults": {"mtbf_s": 3000, "mttr_s": 600}}}
    )
    for scenario, options, runs in ((SMALL, {}, 1), (fails, {}, 3), (SMALL, {"out": tmp_path / "runs"}, 3)):
        made.clear()
        told = []
        found = workbench.sweep(scenario, "fifo", seeds=range(3), on_progress=told.append, **options)
        assert len(made) == runs and told[-1].done == 3
        for seed, row in enumerate(found.to_dict("records")):
            expected = workbench.summary(workbench.simulate(scenario, "fifo", seed=seed))
            assert row["seed"] == seed and row["makespan_s"] == expected["makespan_s"]
    made.clear()
    assert set(workbench.sweep(SMALL, "gavel.max_min_fairness", vary=SHARING, seeds=[0, 1])["status"]) == {
        "done",
        "failed",
    }
    assert len(made) == 3


def test_progress_knows_the_time_left():
    assert SweepProgress(10, 2).left_s is None and SweepProgress(10, 10).left_s == 0
    assert SweepProgress(10, 2, done=3, failed=1, elapsed_s=8.0).left_s == pytest.approx(8.0)
    assert SweepProgress(10, 2, done=3, failed=1).ended == 6


def test_stopping_keeps_what_is_done(tmp_path, grid, made):
    def stop(progress):
        if progress.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workbench.sweep(SMALL, **GRID, store=tmp_path / "s.db", on_progress=stop)
    assert len(made) == 2
    same(workbench.sweep(SMALL, **GRID, store=tmp_path / "s.db"), grid)
    assert len(made) == len(set(made)) == 5


def test_while_a_sweep_writes_a_store_another_may_read_it_and_is_refused_if_it_had_to_write(tmp_path, grid, made):
    """The second inside the first, which goes on undisturbed."""
    store, first = tmp_path / "s.db", {**GRID, "schedulers": ["las"], "seeds": [0]}
    workbench.sweep(SMALL, **first, store=store)
    read = []

    def another(progress):
        if progress.done == 1:
            read.append(workbench.sweep(SMALL, **first, store=store))
            with pytest.raises(WorkbenchError, match=r"s\.db: got a store that another sweep is writing; expected one"):
                workbench.sweep(SMALL, **GRID, store=store)

    same(workbench.sweep(SMALL, **GRID, store=store, on_progress=another), grid)
    assert len(made) == len(set(made)) == 6
    same(read[0], grid[:4:2].reset_index(drop=True))


def test_whole_runs_are_saved_and_missing_ones_are_made_again(tmp_path, made):
    options = {"schedulers": ["fifo"], "vary": {"round_s": [60, 360]}, "store": tmp_path / "s.db"}
    workbench.sweep(SMALL, **options)
    workbench.sweep(SMALL, **options, out=tmp_path / "runs")
    assert len(made) == 4
    assert {workbench.Run.load(folder).key() for folder in (tmp_path / "runs").iterdir()} == set(made)
    workbench.sweep(SMALL, **options, out=tmp_path / "runs")
    assert len(made) == 4


def test_a_run_that_cannot_be_saved_ends_the_sweep_and_is_no_failed_run(tmp_path):
    (tmp_path / "runs").mkdir()
    key = workbench.simulate(SMALL, "fifo").key()
    (tmp_path / "runs" / key).write_text("in the way")
    with pytest.raises(InputError, match="nothing else is overwritten"):
        workbench.sweep(SMALL, "fifo", store=tmp_path / "s.db", out=tmp_path / "runs")
    assert workbench.sweep(SMALL, "fifo", store=tmp_path / "s.db")["status"].tolist() == ["done"]


# --- Failures ---------------------------------------------------------------------------------------------------------


def test_a_run_that_fails_is_a_row_and_not_tried_again_unless_asked(tmp_path, made):
    options = {"schedulers": "gavel.max_min_fairness", "vary": SHARING, "store": tmp_path / "s.db"}
    told = []
    found = workbench.sweep(SMALL, **options, on_progress=told.append)
    assert found["status"].tolist() == ["done", "failed"] and found["error"][0] == ""
    assert "core.space_sharing: got False; expected true" in found["error"][1]
    assert found[[metric.name for metric in METRICS]].iloc[1].isna().all()
    assert (told[-1].done, told[-1].failed, told[-1].left_s) == (1, 1, 0)
    workbench.sweep(SMALL, **options)
    assert len(made) == 2
    same(workbench.sweep(SMALL, **options, retry_failed=True), found)
    assert len(made) == 3 and made[2] == made[1]


def test_a_mistake_in_ones_own_scheduler_is_its_result_and_ends_no_other(own):
    @workbench.scheduler("test-sweep-wrong")
    def wrong(snapshot, memory, knobs, rng):
        raise ZeroDivisionError("a mistake")

    found = workbench.sweep(SMALL, ["test-sweep-wrong", "fifo"])
    assert found["status"].tolist() == ["failed", "done"] and "ZeroDivisionError: a mistake" in found["error"][0]


# --- Where runs are made ----------------------------------------------------------------------------------------------


def test_the_result_does_not_depend_on_where_runs_are_made(tmp_path, grid):
    before = set(multiprocessing.active_children())
    same(workbench.sweep(SMALL, **GRID, workers=2, store=tmp_path / "s.db"), grid)
    assert set(multiprocessing.active_children()) <= before
    with ThreadPoolExecutor(3) as threads:
        same(workbench.sweep(SMALL, **GRID, executor=threads), grid)
        assert threads.submit(int, 3).result() == 3, "the executor is left open"


@pytest.mark.long
def test_an_executor_of_processes_gives_the_same(grid):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        same(workbench.sweep(SMALL, **GRID, executor=pool, workers=1), grid)


def draws(snapshot, memory, knobs, rng):
    """The first job that a node can run, in an order drawn."""
    names = list(snapshot.jobs.names)
    rng.shuffle(names)
    for name in names:
        job = snapshot.jobs.jobs[snapshot.jobs.at[name]]
        for node, free in zip(snapshot.nodes.names, snapshot.nodes.free.tolist(), strict=True):
            if free >= job.gpus and snapshot.belief.on_nodes(job, {node: job.gpus}) > 0:
                return workbench.Decision((workbench.Assignment(name, {node: job.gpus}, snapshot.now_s + 60),)), memory
    return workbench.Decision(), memory


def test_a_scheduler_of_the_session_takes_part_here_and_in_threads(tmp_path, own):
    workbench.scheduler("test-sweep-draws", round_s=60)(draws)
    here = workbench.sweep(SMALL, "test-sweep-draws", seeds=range(4))
    assert here["mean_jct_s"].nunique() > 1, "seeds matter"
    with ThreadPoolExecutor(2) as threads:
        same(workbench.sweep(SMALL, "test-sweep-draws", seeds=range(4), executor=threads), here)
    same(workbench.sweep(SMALL, "test-sweep-draws", seeds=range(4), store=tmp_path / "s.db"), here)
    for options in ({"workers": 2}, {"dask": "tcp://127.0.0.1:1"}):
        same(workbench.sweep(SMALL, "test-sweep-draws", seeds=range(4), **options), here)
    beside = workbench.sweep(SMALL, ["test-sweep-draws", "las"], workers=2)
    same(beside, workbench.sweep(SMALL, ["test-sweep-draws", "las"]))


class Counting(Executor):
    """Runs a task when its result is waited for; remembers how many it held at most."""

    def __init__(self):
        self.given, self.ended, self.most, self.threads = 0, 0, 0, ThreadPoolExecutor(1)

    def submit(self, function, /, *args):
        self.given += 1
        self.most = max(self.most, self.given - self.ended)
        return self.threads.submit(self.run, function, *args)

    def run(self, function, *args):
        """It has ended before its result is known: who waits for that may hand in the next at once."""
        try:
            return function(*args)
        finally:
            self.ended += 1


def test_few_tasks_are_with_an_executor_at_a_time(monkeypatch):
    executor = Counting()
    monkeypatch.setattr(sweeping, "do", lambda request: workbench.simulate(SMALL, "fifo", until_s=0))
    vary = {"round_s": range(60, 75)}
    workbench.sweep(SMALL, ["fifo"], vary=vary, executor=executor, workers=2)
    executor.threads.shutdown()
    assert 2 <= executor.most <= 4


class Broken(Executor):
    """Does two tasks, then breaks down."""

    def __init__(self, error):
        self.left, self.error = 2, error

    def submit(self, function, /, *args):
        future = Future()
        if self.left:
            self.left -= 1
            future.set_result(function(*args))
        elif self.error is None:
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_exception(self.error)
        return future


@pytest.mark.parametrize("error", [BrokenProcessPool("a child died"), None])
def test_an_executor_that_breaks_down_is_told_and_what_had_ended_is_kept(tmp_path, error, made):
    with pytest.raises(WorkbenchError, match=r"workers: got (a child died|.*thrown tasks away)"):
        workbench.sweep(SMALL, **GRID, executor=Broken(error), store=tmp_path / "s.db")
    told = []
    workbench.sweep(SMALL, **GRID, store=tmp_path / "s.db", on_progress=told.append)
    assert told[0].kept == 4, "two runs, with their seeds"


def test_workers_with_another_version_make_nothing(tmp_path, monkeypatch):
    """A cluster may have another version installed than where the sweep is started."""
    monkeypatch.setattr(sweeping, "measure", lambda request, folder, version: measure(request, folder, "0.0.1"))
    with pytest.raises(WorkbenchError, match=r"workers: got workbench .*; expected workbench 0\.0\.1"):
        workbench.sweep(SMALL, "fifo", store=tmp_path / "s.db")
    monkeypatch.undo()
    assert workbench.sweep(SMALL, "fifo", store=tmp_path / "s.db")["status"].tolist() == ["done"]


def test_measures_and_not_runs_come_back():
    outcome = measure(RunRequest(SMALL, "fifo", {}, 0))
    assert set(outcome.measures) == {metric.name for metric in METRICS}
    assert all(isinstance(value, float | int | np.number) for value in outcome.measures.values())
