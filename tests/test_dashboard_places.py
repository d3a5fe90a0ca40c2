"""A place on the dashboard is free soon after its browser has vanished without a word, one visitor cannot take all
places, and who waits for a slow cell keeps the connection."""

from __future__ import annotations

import json
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
SLOW_S = 8
"""What a cell takes: longer than the server waits for an answer to a ping, which is asked every second."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    options = ("--kernels=5", f"--per-visitor={OWN}", "--Voila.ping_s=1", "--Kernels.away_s=4")
    with serving("voila", tmp_path_factory.mktemp("vanishing"), *options) as found:
        write_notebook(found, "one.ipynb", "print(6 * 7)")
        write_notebook(found, "slow.ipynb", f"import time\ntime.sleep({SLOW_S})\nprint(6 * 7)", "print(8 * 8)")
        yield found


def connected(server: Server, path: str) -> websocket.WebSocket:
    """A browser's connection; it answers pings only while somebody reads from it."""
    address = f"{server.url.replace('http', 'ws')}/{path}"
    header = [f"Authorization: token {server.token}"]
    return websocket.create_connection(address, header=header, timeout=60, sockopt=[(socket.SOL_SOCKET, 9, 1)])


class Browser:
    """What is connected to a kernel and answers pings until it falls silent, or leaves."""

    def __init__(self, server: Server, kernel: str) -> None:
        self._socket = connected(server, f"api/kernels/{kernel}/channels")
        self._socket.settimeout(0.1)
        self._silent = threading.Event()
        self._reader = threading.Thread(target=self._answer, daemon=True)
        self._reader.start()

    def _answer(self) -> None:
        while not self._silent.is_set():
            try:
                self._socket.recv_data_frame(control_frame=True)  # answers pings
            except websocket.WebSocketTimeoutException:
                continue
            except (OSError, websocket.WebSocketException):
                return

    def vanish(self) -> None:
        """Say nothing any more, and leave the connection as it is."""
        self._silent.set()
        self._reader.join(30)

    def leave(self) -> None:
        self.vanish()
        self._socket.shutdown()


def test_a_browser_that_vanishes_frees_its_place_and_one_that_answers_keeps_it(server: Server) -> None:
    address = f"{server.url}/voila/render/one.ipynb"
    gone = kernel_of(get(address, server.token).text)
    vanishing = Browser(server, gone)
    stays = kernel_of(get(address, server.token).text)
    answering = Browser(server, stays)
    unseen = kernel_of(get(address, server.token).text)  # nobody ever connects to it: a request is no visitor
    full = get(address, server.token)
    assert full.status == 503 and "You have too many pages open" in full.text, "2 places are free, but not for this one"
    vanishing.vanish()
    until = time.monotonic() + PATIENCE_S
    for kernel, whose in ((unseen, "a request without a browser"), (gone, "a browser that is gone")):
        while get(f"{server.url}/api/kernels/{kernel}", server.token).status != 404:
            assert time.monotonic() < until, f"{whose} keeps its place"
            time.sleep(0.2)
    assert get(f"{server.url}/api/kernels/{stays}", server.token).status == 200
    vanishing.leave()
    answering.leave()


def test_a_cell_that_takes_longer_than_a_ping_is_shown_when_it_has_run(server: Server) -> None:
    kernel = kernel_of(get(f"{server.url}/voila/render/slow.ipynb", server.token).text)
    browser = Browser(server, kernel)
    cells = connected(server, f"voila/execution/{kernel}")
    cells.send(json.dumps({"action": "execute", "payload": {"kernel_id": kernel}}))
    shown: list[str] = []
    while len(shown) < 2:
        told = json.loads(cells.recv())  # answers pings
        if told["action"] != "initialized":
            shown += [output["text"].strip() for output in told["payload"]["output_cell"]["outputs"]]
    assert shown == ["42", "64"]
    cells.close()
    browser.leave()


def test_by_default_it_takes_less_than_two_minutes(dashboard: ModuleType) -> None:  # noqa: F811
    ping_s, away_s = dashboard.Dashboard.ping_s.default_value, dashboard.Kernels.away_s.default_value
    assert dashboard.longest_s(ping_s, away_s) < 120
    app = dashboard.Dashboard()
    assert app.ping_s == ping_s and 1 <= dashboard.PER_VISITOR < dashboard.Kernels.most_kernels.default_value
