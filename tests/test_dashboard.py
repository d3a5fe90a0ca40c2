"""The dashboard as a server: who may see what, how many kernels there may be, and how long an idle one lives.

A place is free soon after its browser has vanished without a word, one visitor cannot take all places, and who waits
for a slow cell keeps the connection. What a page says when all places are taken: test_dashboard_browser.py.
"""

from __future__ import annotations

import importlib.util
import json
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import nbformat
import pytest
import websocket

from tests.browser_support import PATIENCE_S, PROJECT, Server, child, free_port, private_home, serving, write_notebook
from workbench.base.text import is_loopback

SOURCE = PROJECT / "tools" / "jupyter" / "dashboard.py"
OWN = 4
IDLE_S = 5
SLOW_S = 6
"""What a cell takes: longer than the server waits for an answer to a ping, which is asked every second."""
FOREIGN = re.compile(r"""(?:\b(?:src|href)\s*=\s*|\bimport\s*\(?\s*|\burl\()["']?((?:https?:)?//[^"'\s)>]+)""")
"""A page that refers to something on another host: a source, a link, an import of a script."""


class Answer(NamedTuple):
    """Status, address in the end, text, and the cookies that are set."""

    status: int
    url: str
    text: str
    cookies: str = ""


def get(url: str, token: str | None = None, method: str = "GET", **headers: str) -> Answer:
    if token is not None:
        headers["Authorization"] = f"token {token}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method, headers=headers), timeout=60) as found:
            return Answer(
                found.status, found.url, found.read().decode(), "; ".join(found.headers.get_all("Set-Cookie", []))
            )
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.url, error.read().decode())


@pytest.fixture(scope="module")
def dashboard() -> ModuleType:
    spec = importlib.util.spec_from_file_location("workbench_dashboard", SOURCE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    options = ("--kernels=5", f"--per-visitor={OWN}", "--Voila.ping_s=1", "--Kernels.away_s=4")
    with serving("voila", tmp_path_factory.mktemp("dashboard"), *options) as found:
        write_notebook(found, "one.ipynb", "print(6 * 7)", kernel="plain")
        slow = f"import time\ntime.sleep({SLOW_S})\nprint(6 * 7)"
        write_notebook(found, "slow.ipynb", slow, "print(8 * 8)", kernel="plain")
        yield found


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server without a token that soon ends kernels which nobody uses."""
    options = (f"--idle={IDLE_S}", "--Kernels.cull_interval=1")
    with serving("voila", tmp_path_factory.mktemp("forgetful"), *options, token=False) as found:
        write_notebook(found, "one.ipynb", "print(6 * 7)", heading="# Heading\n\n$x$", kernel="plain")
        yield found


@pytest.fixture(scope="module", autouse=True)
def idle(forgetful: Server) -> str:
    """A kernel that nobody uses, and that is to end while the other tests wait."""
    page = get(f"{forgetful.url}/voila/render/one.ipynb")
    assert "_xsrf=" in page.cookies, "with it a page that is left ends its kernel at once"
    kernel = kernel_of(page.text)
    assert json.loads(get(f"{forgetful.url}/api/kernels/{kernel}").text)["id"] == kernel
    return kernel


def kernel_of(page: str) -> str:
    match = re.search(r'"kernelId": "([0-9a-f-]+)"', page)
    assert match is not None
    return match[1]


def test_without_the_token_there_is_neither_a_page_nor_a_kernel(server: Server) -> None:
    for path in ("", "voila/tree", "voila/render/one.ipynb", "voila/render/none.ipynb"):
        for token in (None, "wrong"):
            found = get(f"{server.url}/{path}", token)
            assert "/login" in found.url or found.status == 403, path
            assert "kernelId" not in found.text and "voila/render/one.ipynb" not in found.text
    for path in ("api/kernels/0-0-0-0-0", "voila/api/contents/one.ipynb"):
        assert get(f"{server.url}/{path}").status == 403
    assert get(f"{server.url}/voila/files/one.ipynb").status in (403, 404)
    assert get(f"{server.url}/", server.token).status == 200


def test_who_has_no_token_is_asked_for_it_and_cannot_set_a_password(server: Server) -> None:
    jar = urllib.request.HTTPCookieProcessor()
    browser = urllib.request.build_opener(jar)
    asked = browser.open(f"{server.url}/", timeout=60).read().decode()
    assert "These pages open with a token" in asked and "That is not the token" not in asked and "assword:" not in asked
    sent = {"_xsrf": next(each.value for each in jar.cookiejar if each.name == "_xsrf") or ""}

    def post(**fields: str) -> Answer:
        data = urllib.parse.urlencode({**sent, **fields}).encode()
        try:
            with browser.open(f"{server.url}/login?next=%2F", data, timeout=60) as found:
                return Answer(found.status, found.url, found.read().decode())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.url, error.read().decode())

    wrong = post(password="wrong")
    assert wrong.status == 401 and "That is not the token" in wrong.text
    opened = post(password=server.token, new_password="mine")
    assert opened.status == 200 and "voila/render/one.ipynb" in opened.text
    assert not list(server.root.parent.rglob("jupyter_server_config.json"))
    jar.cookiejar.clear()
    browser.open(f"{server.url}/", timeout=60).read()
    sent["_xsrf"] = next(each.value for each in jar.cookiejar if each.name == "_xsrf") or ""
    assert post(password="mine").status == 401


def test_a_page_elsewhere_does_not_reach_a_server_on_this_machine_under_another_name(server: Server) -> None:
    assert get(f"{server.url}/", server.token, Host="evil.example").status == 403


def test_on_this_machine_alone_no_token_is_needed_and_pages_refer_to_no_other_host(forgetful: Server) -> None:
    names = {"listing": "", "page": "voila/render/one.ipynb", "missing": "voila/render/none.ipynb"}
    found = {name: get(f"{forgetful.url}/{path}").text for name, path in names.items()}
    assert 'href="/voila/render/one.ipynb"><strong>Heading</strong>' in found["listing"]
    assert "Heading" in found["page"] and "404" in found["missing"]
    assert not any(map(FOREIGN.findall, found.values()))


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
    """And, while that is waited for, a cell that takes longer than a ping is shown when it has run."""
    address = f"{server.url}/voila/render/one.ipynb"
    working = kernel_of(get(f"{server.url}/voila/render/slow.ipynb", server.token).text)
    waiting = Browser(server, working)
    with ThreadPoolExecutor() as beside:
        shown = beside.submit(slow_cells, server, working)
        gone = kernel_of(get(address, server.token).text)
        vanishing = Browser(server, gone)
        stays = kernel_of(get(address, server.token).text)
        answering = Browser(server, stays)
        unseen = kernel_of(get(address, server.token).text)  # nobody ever connects to it: a request is no visitor
        full = get(address, server.token)
        assert full.status == 503 and "You have too many pages open" in full.text, "a place is free, not for this one"
        assert get(f"{server.url}/api/kernels/{unseen}", server.token, "DELETE").status == 204
        again = get(address, server.token)
        assert again.status == 200 and kernel_of(again.text) not in (gone, stays, unseen), "a freed place can be used"
        unseen = kernel_of(again.text)
        vanishing.vanish()
        ends(server, unseen, "a request without a browser")
        ends(server, gone, "a browser that is gone")
        assert shown.result() == ["42", "64"]
    for kernel in (stays, working):
        assert get(f"{server.url}/api/kernels/{kernel}", server.token).status == 200
    for browser in (vanishing, answering, waiting):
        browser.leave()


def ends(server: Server, kernel: str, whose: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while get(f"{server.url}/api/kernels/{kernel}", server.token).status != 404:
        assert time.monotonic() < until, f"{whose} keeps its place"
        time.sleep(0.2)


def slow_cells(server: Server, kernel: str) -> list[str]:
    """What the cells of the slow page print, to a browser that answers pings all the time."""
    cells = connected(server, f"voila/execution/{kernel}")
    cells.send(json.dumps({"action": "execute", "payload": {"kernel_id": kernel}}))
    shown: list[str] = []
    while len(shown) < 2:
        told = json.loads(cells.recv())  # answers pings
        if told["action"] != "initialized":
            shown += [output["text"].strip() for output in told["payload"]["output_cell"]["outputs"]]
    cells.close()
    return shown


def test_an_idle_kernel_is_ended_and_its_page_can_find_out(forgetful: Server, idle: str) -> None:
    ends(forgetful, idle, "an idle kernel")


def test_beyond_this_machine_an_empty_token_is_refused_and_none_is_made_up(tmp_path: Path) -> None:
    serve = [str(PROJECT / "tools" / "serve"), "dashboard", "--no-browser", "--ip=0.0.0.0", f"--port={free_port()}"]
    home = private_home(tmp_path / "home")
    refused = subprocess.run([*serve, "--token=", str(tmp_path)], env=home, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2 and "expected a token" in refused.stderr and "Traceback" not in refused.stderr
    log = tmp_path / "log"
    with child([*serve, str(tmp_path)], env=home, cwd=tmp_path, log=log) as process:
        until = time.monotonic() + 60
        while not (made := re.search(r"http://\S+:(\d+)/\?token=([0-9a-f]{20,})", log.read_text())):
            assert process.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.2)
        url = f"http://127.0.0.1:{made[1]}/"
        assert "/login" in get(url).url and get(url, made[2]).status == 200


def test_which_addresses_only_this_machine_can_reach() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.1.2.3", "::1")))
    assert not any(map(is_loopback, ("", "0.0.0.0", "::", "*", "192.168.1.7", "a-host", "localhost.org")))


@pytest.mark.parametrize(
    ("cells", "title", "sentence", "kind"),
    [
        (
            [nbformat.v4.new_markdown_cell("# A *title*\n\nBy Doe and others. One **bold** [link](http://x.y). Two."),
             nbformat.v4.new_code_cell("lab = GavelLab()")],
            "A title", "One bold link.", "lab",
        ),
        (
            [nbformat.v4.new_markdown_cell("# T"), nbformat.v4.new_markdown_cell("| a |\n\nWhat `max_jobs` does?\nNo")],
            "T", "What max_jobs does?", "page",
        ),
        (
            [nbformat.v4.new_markdown_cell("# T\n\nA job is $m$ or $j$, and *is a\nline* there? Yes.")],
            "T", "A job is m or j, and is a line there?", "page",
        ),
        ([nbformat.v4.new_code_cell("1")], "x", "", "page"),
    ],
)  # fmt: skip
def test_a_card_says_what_a_notebook_is_about(
    dashboard: ModuleType, tmp_path: Path, cells: list[object], title: str, sentence: str, kind: str
) -> None:
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "x.ipynb")
    assert dashboard.card_of(tmp_path / "x.ipynb") == ("x.ipynb", title, sentence, kind)


def test_every_notebook_of_ours_has_a_card_with_a_sentence(dashboard: ModuleType) -> None:
    cards = [dashboard.card_of(path) for path in sorted((PROJECT / "notebooks").glob("*.ipynb"))]
    assert len({card.sentence for card in cards}) == len(cards), "each has a sentence of its own"
    assert {card.path for card in cards if card.kind == "lab"} >= {"01_gavel.ipynb", "06_chronus.ipynb"}
    for card in cards:
        assert len(card.title) > 3 and 20 < len(card.sentence) < 240, card


def test_by_default_a_place_is_free_within_two_minutes(dashboard: ModuleType) -> None:
    ping_s, away_s = dashboard.Dashboard.ping_s.default_value, dashboard.Kernels.away_s.default_value
    assert dashboard.longest_s(ping_s, away_s) < 120
    app = dashboard.Dashboard()
    assert app.ping_s == ping_s and 1 <= dashboard.PER_VISITOR < dashboard.Kernels.most_kernels.default_value
