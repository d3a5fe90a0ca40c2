"""Many runs of a lab: in processes and, for the notebook's own schedulers, in a thread; told, timed and cancelled."""

from __future__ import annotations

import time
from typing import Any

import psutil
import pytest

import workbench
from tests.widgets.lab.support import run, until
from widgets.work.many import BatchProgress, ManyWork, workers
from widgets.work.process import process_work
from workbench.base.errors import InputError
from workbench.session.many_runs import RunRequest
from workbench.simulation.run import Run

SMALL = workbench.preset("start_here")


def request(scheduler: str = "fifo", **rest: Any) -> RunRequest:
    return RunRequest(**{"scenario": SMALL, "scheduler": scheduler, "knobs": {}, "seed": 3, **rest})


class Told:
    """Hears what becomes of a batch."""

    def __init__(self) -> None:
        self.found: dict[int, Any] = {}
        self.ends: list[tuple[str, str]] = []
        self.work = ManyWork(self.found.__setitem__, lambda state, text: self.ends.append((state, text)))


def test_runs_are_told_as_they_end_own_ones_and_failures_included() -> None:
    @workbench.scheduler("test-many-own", round_s=60)
    def decide(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        """Stops at once: a job that cannot be given anything."""
        return workbench.Decision(), None

    async def story() -> None:
        told = Told()
        asked = [
            request("srtf", until_s=100.0),
            request("test-many-own", until_s=600.0),
            request("nobody"),
            request("las", window=(0, 1), detail=1),
            request("test-many-own", window=(0, 1)),
            request("las", window=(0, 1), until_s=50.0),
            request("test-many-own", window=(0, 1), until_s=600.0),
        ]
        told.work.submit(asked)
        assert told.work.busy and str(told.work.far) == "0 of 7 runs"
        await until(lambda: told.ends)
        assert told.ends == [("done", "")] and set(told.found) == set(range(7)) and not told.work.busy
        assert told.found[0] == workbench.simulate(SMALL, "srtf", seed=3, until_s=100)
        assert told.found[1] == workbench.simulate(SMALL, "test-many-own", seed=3, until_s=600)
        assert told.found[2].where == "scheduler"
        assert told.found[3] == workbench.simulate(SMALL, "las", seed=3, window=(0, 1), detail=1)
        assert told.found[4].where.startswith("simulation at")  # it never gives a GPU to anybody: stalled
        for number, name, until_s in ((5, "las", 50.0), (6, "test-many-own", 600.0)):
            assert told.found[number].end_s == until_s, "the earlier of the two"
            assert told.found[number] == workbench.simulate(SMALL, name, seed=3, window=(0, 1), until_s=until_s)
        assert all(each.scenario is SMALL for each in told.found.values() if isinstance(each, Run))

    run(story)


def computing() -> list[psutil.Process]:
    """The processes in which the labs' process computes; tests before may have left processes of their own."""
    process = process_work()._process
    assert process is not None
    children = psutil.Process(process.pid).children(recursive=True)
    return [child for child in children if "spawn" in " ".join(child.cmdline())]


def test_cancel_ends_the_processes_and_keeps_what_has_ended() -> None:
    """The long runs are begun in the labs' process, and then anew in processes of their own."""

    async def story() -> None:
        told, large = Told(), workbench.preset("hadar_simulated")
        told.work.submit([request(), *(request("las", scenario=large, knobs={"round_s": 1.0}) for _ in range(3))])
        await until(lambda: told.found)
        assert str(told.work.far).startswith("1 of 4 runs, about ")
        await until(lambda: len(computing()) >= workers())
        busy = computing()
        told.work.cancel()
        assert told.ends == [("cancelled", "")] and list(told.found) == [0] and not told.work.busy
        assert psutil.wait_procs(busy, timeout=20)[1] == []
        told.work.cancel()
        assert len(told.ends) == 1
        told.work.submit([request("las")])
        await until(lambda: len(told.ends) == 2)
        assert told.ends[1] == ("done", "") and told.found[0] == workbench.simulate(SMALL, "las", seed=3)

    run(story)


def test_a_new_batch_silences_the_one_before() -> None:
    async def story() -> None:
        told = Told()
        told.work.submit([request(), request("las")])
        told.work.submit([request("srtf")])
        await until(lambda: told.ends)
        assert told.ends == [("done", "")] and set(told.found) == {0} and told.found[0].scheduler == "srtf"

    run(story)


def test_what_cannot_be_asked_is_refused_before_anything_runs() -> None:
    told = Told()
    with pytest.raises(InputError, match="window"):
        told.work.submit([request(), request(window=(0, 99))])
    assert not told.work.busy


def test_the_time_left_follows_from_the_runs_that_have_ended() -> None:
    assert str(BatchProgress(2, 6, 90.4)) == "2 of 6 runs, about 2 min left" or str(
        BatchProgress(2, 6, 90.4)
    ).startswith("2 of 6 runs")
    told = Told()
    told.work._requests, told.work._ended, told.work._busy = (request(),) * 4, {0}, True
    told.work._began_s = time.monotonic() - 10
    assert told.work.far.left_s == pytest.approx(30, rel=0.05)
