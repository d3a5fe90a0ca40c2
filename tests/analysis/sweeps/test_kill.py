"""Sweeps that are killed, and sweeps at once: nothing lost, nothing twice, equal to one that was left alone."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import psutil
import pytest

from tests.analysis.sweeps.support import same
from workbench.analysis.sweeps import sweep

SCENARIO = "preset:start_here"
GRID = {"schedulers": ["las", "fifo", "srtf"], "vary": {"round_s": [60.0, 90.0, 720.0]}}
POINTS = 9
COMMAND = "sweep preset:start_here --scheduler las,fifo,srtf --vary round_s=60,90,720 --json"


def started(store, seeds, *more):
    return subprocess.Popen(
        [sys.executable, "-m", "workbench", *COMMAND.split(), "--seeds", f"0:{seeds}", "--store", str(store), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def rows(store):
    """The runs in a store and how long each took; none while it is being made."""
    if not store.exists():
        return {}
    with sqlite3.connect(store, timeout=30) as file:
        if not file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return {}
        return dict(file.execute("SELECT key, wall_s FROM runs"))


def killed_after(store, seeds, ended, delay_s, *more):
    """Start the sweep, kill it once so many runs are kept and a moment has passed; what it leaves."""
    process = started(store, seeds, *more)
    children = []
    try:
        until = time.monotonic() + 240
        while process.poll() is None and len(rows(store)) < ended:
            assert time.monotonic() < until
            time.sleep(0.005)
        time.sleep(delay_s)
        children = [] if process.poll() is not None else psutil.Process(process.pid).children(recursive=True)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode in (-signal.SIGKILL, 0)
    assert psutil.wait_procs(children, timeout=60)[1] == []
    return process.returncode


def check_resumed(store, kills, seeds, *more):
    """Kill a sweep so many times at random points, then let it end: as if nothing had happened."""
    random_ = random.Random(kills)
    runs, kept, stopped = POINTS * seeds, {}, 0
    for kill in range(kills):
        ended = len(kept) + random_.randint(0, max(1, (runs - len(kept)) // (kills - kill)))
        stopped += killed_after(store, seeds, min(ended, runs - 1), random_.uniform(0, 0.1), *more) != 0
        with sqlite3.connect(store, timeout=30) as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found = rows(store)
        assert kept.items() <= found.items(), "a run was lost, or made a second time"
        kept = found
    told = []
    resumed = sweep(SCENARIO, **GRID, seeds=range(seeds), store=store, on_progress=told.append)
    assert told[0].kept == len(kept) and told[-1].ended == runs == len(rows(store))
    assert kept.items() <= rows(store).items()
    same(resumed, sweep(SCENARIO, **GRID, seeds=range(seeds)))
    return stopped


def test_a_sweep_that_was_killed_goes_on(tmp_path):
    assert check_resumed(tmp_path / "s.db", 2, 1) > 0


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 2])
def test_a_sweep_that_was_killed_twenty_times_goes_on(tmp_path, workers):
    assert check_resumed(tmp_path / "s.db", 20, 4, "--workers", str(workers)) > 10


@pytest.mark.long
def test_of_sweeps_at_once_one_writes_and_the_others_are_told_so(tmp_path):
    store = tmp_path / "s.db"
    begun = [started(store, 4, "--workers", workers) for workers in ("1", "2", "1")]
    told = [(process.communicate(timeout=300), process.returncode) for process in begun]
    refused = [out for (out, _), code in told if code == 1]
    assert {code for _, code in told} <= {0, 1}, told
    assert all("a store that another sweep is writing" in out for out in refused)
    made = [json.loads(out)["made"] for (out, _), code in told if code == 0]
    assert sum(made) == len(rows(store)) == POINTS * 4
    same(sweep(SCENARIO, **GRID, seeds=range(4), store=store), sweep(SCENARIO, **GRID, seeds=range(4)))


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C as a signal is for Unix")
@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.long)])
def test_ctrl_c_says_what_is_kept_and_leaves_nobody(tmp_path, workers):
    store = tmp_path / "s.db"
    process = started(store, 4, "--workers", workers)
    until = time.monotonic() + 240
    while len(rows(store)) < 1:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and '"interrupted"' in out
    assert f"are in {store}: the same command goes on from there" in err and "Traceback" not in err
    assert psutil.wait_procs(children, timeout=60)[1] == []
    assert 1 <= len(rows(store)) < POINTS * 4
