"""A Dask cluster by the address of its scheduler, as an executor. Needs `distributed` (the extra `dask`).

Who reaches an open port of a Dask cluster runs code as you: its tasks are pickled functions. So a scheduler that other
machines can reach must speak TLS, with certificates as the configuration of Dask names them (`distributed.comm.tls`).
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any
from urllib.parse import urlsplit

from workbench.base.errors import InputError, Words, WorkbenchError, why
from workbench.base.text import is_loopback

EXPECTED = "the address of a Dask scheduler that answers, such as tls://10.0.0.5:8786 or, here, tcp://127.0.0.1:8786"
ANSWER_S = 20.0
"""How long to wait for the first answer of a cluster."""


@contextlib.contextmanager
def executor_at(address: str) -> Iterator[tuple[Executor, int]]:
    """An executor on the cluster and the number of its threads; disconnected at the end, which leaves the cluster.

    Raises InputError where nobody answers; WorkbenchError where `distributed` is not installed, the cluster has no
    worker, or workers ended while they had a task.
    """
    distributed = _library()
    if not isinstance(address, str) or not address.strip():
        raise InputError("dask", address, EXPECTED)
    _check_secure(address)
    try:
        distributed.comm.resolve_address(address)  # a client of an address that is none waits for it to the end
        client = distributed.Client(address, timeout=ANSWER_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"dask {address}", why(error), EXPECTED) from None
    with client:
        threads = sum(client.nthreads().values())
        if threads == 0:
            raise WorkbenchError(f"dask {address}", Words("a cluster without workers"), "at least one worker")
        try:
            yield client.get_executor(), threads
        except distributed.KilledWorker as error:
            found = Words(f"workers that ended while they had a task: {error}")
            raise WorkbenchError(f"dask {address}", found, "workers with memory enough") from None


def _check_secure(address: str) -> None:
    """Raise InputError for an address on another machine without TLS: tasks and answers are pickled code."""
    scheme, _, rest = address.rpartition("://")
    if (scheme or "tcp") not in ("tcp", "ws", "ucx") or is_loopback(urlsplit(f"//{rest}").hostname or ""):
        return
    expected = "tls://..., as who reaches an open port runs code as you (certificates: distributed.comm.tls in Dask)"
    raise InputError("dask", address, expected)


def _library() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        found = Words("no package distributed")
        raise WorkbenchError("dask", found, "`pip install dlsched-workbench[dask]`") from None
