"""A sweep on a Dask cluster: a scheduler and two workers, on the loopback."""

import sys

import distributed
import pytest

from tests.analysis.sweeps.support import SMALL, same
from workbench.analysis.sweeps import sweep
from workbench.base.errors import InputError, WorkbenchError
from workbench.session import many_runs

GRID = {"schedulers": ["las", "fifo"], "vary": {"round_s": [60.0, 720.0]}, "seeds": [0, 1]}


def cluster(workers: int, processes: bool = False) -> distributed.LocalCluster:
    """A cluster that listens on the loopback only, on TCP, without a dashboard."""
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=processes,
        host="127.0.0.1",
        protocol="tcp",
        dashboard_address=None,
        silence_logs=50,
    )


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.long)], ids=["threads", "processes"])
def address(request):
    with cluster(2, request.param) as made:
        yield made.scheduler_address


def test_the_result_is_the_same_and_the_cluster_stays(tmp_path, address):
    expected = sweep(SMALL, **GRID)
    store, told = tmp_path / "s.db", []
    same(
        sweep(SMALL, GRID["schedulers"], vary=GRID["vary"], seeds=[1], dask=address, store=store),
        expected[1::2].reset_index(drop=True),
    )
    same(sweep(SMALL, **GRID, dask=address, store=store, on_progress=told.append), expected)
    assert (told[0].kept, told[-1].done) == (4, 4)
    with distributed.Client(address, set_as_default=False) as client:
        assert len(client.nthreads()) == 2


def test_each_sweep_sends_the_scenario_under_a_name_of_its_own(address):
    names = set()
    for _ in range(2):
        with many_runs.executor_at(address) as (executor, _):
            executor.submit(many_runs.attempt, many_runs.RunRequest(SMALL, "fifo", {}, 0)).result()
            names.add(executor._last[1].key)
    assert len(names) == 2


def test_nobody_at_an_address(monkeypatch):
    monkeypatch.setattr(many_runs, "ANSWER_S", 0.5)
    with pytest.raises(InputError, match=r"dask tcp://127\.0\.0\.1:9: got .*answers"):
        sweep(SMALL, "fifo", dask="tcp://127.0.0.1:9")
    with pytest.raises(InputError, match="dask nonsense"):
        sweep(SMALL, "fifo", dask="nonsense://127")


def test_an_open_port_of_another_machine_is_refused():
    for address in ("tcp://10.0.0.5:8786", "10.0.0.5:8786", "ws://a-host:8786", "tcp://[2001:db8::1]:8786"):
        with pytest.raises(InputError, match=r"expected tls://.* runs code as you"):
            sweep(SMALL, "fifo", dask=address)


def test_a_cluster_without_workers():
    with cluster(0) as made, pytest.raises(WorkbenchError, match="a cluster without workers"):
        sweep(SMALL, "fifo", dask=made.scheduler_address)


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(WorkbenchError, match=r"pip install dlsched-workbench\[dask\]"):
        sweep(SMALL, "fifo", dask="tcp://127.0.0.1:8786")
