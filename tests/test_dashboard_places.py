"""A place on the dashboard is free soon after its browser has vanished without a word, and one visitor cannot take
all places."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from types import ModuleType

import pytest
import websocket

from tests.browser_support import PATIENCE_S, Server, serving, write_notebook
from tests.test_dashboard import dashboard, get, kernel_of  # noqa: F401

OWN = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    options = ("--kernels=5", f"--per-visitor={OWN}", "--Voila.ping_s=1", "--Kernels.away_s=4")
    with serving("voila", tmp_path_factory.mktemp("vanishing"), *options) as found:
        write_notebook(found, "one.ipynb", "print(6 * 7)")
        yield found


def connected(server: Server, kernel: str) -> websocket.WebSocket:
    """A browser's connection to a kernel; it answers pings only while somebody reads from it."""
    address = f"{server.url.replace('http', 'ws')}/api/kernels/{kernel}/channels"
    header = [f"Authorization: token {server.token}"]
    return websocket.create_connection(address, header=header, timeout=60, sockopt=[(socket.SOL_SOCKET, 9, 1)])


def test_a_browser_that_vanishes_frees_its_place_and_one_that_answers_keeps_it(server: Server) -> None:
    address = f"{server.url}/voila/render/one.ipynb"
    gone = kernel_of(get(address, server.token).text)
    silent = connected(server, gone)
    stays = kernel_of(get(address, server.token).text)
    answering = connected(server, stays)

    def answer() -> None:
        try:
            while True:
                answering.recv_data_frame(control_frame=True)  # answers pings
        except (OSError, websocket.WebSocketException):
            return

    reader = threading.Thread(target=answer, daemon=True)
    reader.start()
    unseen = kernel_of(get(address, server.token).text)  # nobody ever connects to it: a request is no visitor
    full = get(address, server.token)
    assert full.status == 503 and "You have too many pages open" in full.text, "2 places are free, but not for this one"
    until = time.monotonic() + PATIENCE_S
    for kernel, whose in ((unseen, "a request without a browser"), (gone, "a browser that is gone")):
        while get(f"{server.url}/api/kernels/{kernel}", server.token).status != 404:
            assert time.monotonic() < until, f"{whose} keeps its place"
            time.sleep(0.2)
    assert get(f"{server.url}/api/kernels/{stays}", server.token).status == 200
    silent.shutdown()
    answering.shutdown()
    reader.join(30)


def test_by_default_it_takes_less_than_two_minutes(dashboard: ModuleType) -> None:  # noqa: F811
    ping_s, away_s = dashboard.Dashboard.ping_s.default_value, dashboard.Kernels.away_s.default_value
    assert dashboard.longest_s(ping_s, away_s) < 120
    app = dashboard.Dashboard()
    assert app.ping_s == ping_s and 1 <= dashboard.PER_VISITOR < dashboard.Kernels.most_kernels.default_value
