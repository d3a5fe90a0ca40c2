"""JupyterLab, Voila and Chromium for tests: started once per run, offline, and gone when the tests are.

A test asks for the fixtures `lab_server` or `voila_server` and `page`, begins with `run_notebook` and, with a lab in
the notebook, `solve_first`, and is decorated with `@browser_test`: all such tests share one server of each kind and one
browser; those of JupyterLab also the page, each with a kernel of its own. A test fails when its page asked for anything
outside this machine or reported an error.
Screenshots taken with `shot` are kept in the folder WORKBENCH_SHOTS, for people to look at.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import nbformat
import pytest
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Request,
    WebSocket,
    expect,
    sync_playwright,
)
from playwright.sync_api import TimeoutError as PlaywrightTimeout

PROJECT = Path(__file__).resolve().parents[1]
START_S = 180.0
STOP_S = 15.0
PATIENCE_S = 120.0
"""How long to wait for what must happen: says nothing about speed, and is long enough for a machine that is busy."""
LONGEST_S = 1800.0
"""Then a test's pages are closed: a key pressed, or a script asked, in a page that hangs would be waited for always."""
PLAYWRIGHT = contextlib.ExitStack()
SCREEN = (1280, 900)
STATUS = ".wb-status"
"""Where a lab says how it stands."""
TO_COME = ".voila-skeleton-container"
"""What Voila shows where a cell's output is to come."""
IDLE = "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
THEMED = "t => document.body.dataset.jpThemeName === t && !document.getElementById('jupyterlab-splash')"
POLL_MS = 100
PLAIN = ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]  # imports nothing of ours
CHROMIUM_FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--js-flags=--min-semi-space-size=64 --max-semi-space-size=128",  # garbage of pages is collected less often
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-address=127.0.0.1",
    "--remote-debugging-port=0",
)
LOCAL = re.compile(r"(https?|wss?)://127\.0\.0\.1[:/]|data:|blob:|about:")
# Opens a notebook in JupyterLab, with a kernel of its own that runs.
OPEN = """async path => {
    const panel = await window.jupyterapp.commands.execute("docmanager:open", {path});
    await panel.revealed;
    await panel.sessionContext.ready;
}"""
# Closes every notebook in JupyterLab, and asks nothing: neither anybody nor the kernels, which go on.
CLOSE = "() => [...window.jupyterapp.shell.widgets('main')].forEach(panel => panel.dispose())"
# Lets JupyterLab's kernel answer all that the page has told it until now, and the page draw that.
SETTLED = """async () => {
    await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code: ""}).done;
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
}"""
# What a promise of the page comes to; an error if that takes too long: Playwright's own `evaluate` waits for ever.
ANSWERED = """async given => {{
    const asked = {script};
    const late = new Promise((_, reject) => setTimeout(reject, {ms}, new Error("no answer within {ms} ms")));
    late.catch(() => null); // afterwards it is no error of the page
    return Promise.race([typeof asked === "function" ? asked(given) : asked, late]);
}}"""
# Has the page tell of what went wrong in its kernel outside cells, which nobody sees otherwise.
LISTEN = """() => window.jupyterapp.shell.currentWidget.sessionContext.iopubMessage.connect((_, {header, content}) => {
    if (header.msg_type !== "stream" || !content.text.includes("Traceback")) return;
    (window.wrongInKernel ??= []).push(content.text);
    console.error("kernel:", content.text);
})"""
# Whether what was pressed is held, if it is of those that say so: the handle of a slider.
HELD = "e => !e.matches('.noUi-handle') || e.matches('.noUi-active')"
# Whether a chart has drawn rows of data, and its canvas has pixels of several colours.
DRAWN = """selector => {
    const chart = document.querySelector(selector), canvas = chart?.querySelector("canvas");
    if (!(Number(chart?.dataset.rows) > 0) || !canvas?.width || !canvas.height) return false;
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data, colours = new Set();
    return new Uint32Array(pixels.buffer).some(pixel => colours.add(pixel).size > 10);
}"""

# A child that must not outlive the tests: the kernel of Linux ends it when its parent dies, however that happens.
DIES_WITH_PARENT = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    if os.getppid() != int(sys.argv[1]):
        sys.exit("the parent is gone already")
os.execvp(sys.argv[2], sys.argv[2:])
"""


browser_test = pytest.mark.browser
"""Marks a test that drives a browser: one worker runs them all, so that they share servers and browser."""


# ---- processes ----


@contextlib.contextmanager
def child(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program with its output in `log`; end it on leaving, and should this process die."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", DIES_WITH_PARENT, str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def private_home(folder: Path) -> dict[str, str]:
    """Return an environment in which nothing of the user's own Jupyter or browser is read or written."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON", "PYTEST", "XDG_"))}
    own = {"HOME": folder}
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR"):
        own[name] = folder / name.split("_")[1].lower()
    for path in own.values():
        path.mkdir(parents=True, exist_ok=True)
    python_path = os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH", "")]))
    return inherited | {name: str(path) for name, path in own.items()} | {"PYTHONPATH": python_path}


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, what: str) -> None:
    """Wait for a program to be ready; raise with the end of its log if it ends or takes too long."""
    deadline = time.monotonic() + START_S
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{what} did not start:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# ---- JupyterLab and Voila ----


@dataclass(frozen=True)
class Server:
    """A running JupyterLab or Voila that serves the notebooks in `root`."""

    kind: Literal["lab", "voila"]
    url: str
    token: str
    root: Path
    log: Path

    def address(self, notebook: str) -> str:
        path = f"lab/tree/{notebook}?reset&" if self.kind == "lab" else f"voila/render/{notebook}?"
        return f"{self.url}/{path}token={self.token}"

    def answers(self) -> bool:
        path = "api/status" if self.kind == "lab" else "voila/static/voila.js"
        try:
            self.request("GET", path)
        except OSError as error:
            return isinstance(error, urllib.error.HTTPError)
        return True

    def request(self, method: str, path: str) -> bytes:
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(f"{self.url}/{path}", method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=10) as response:
            return bytes(response.read())

    def stop_kernels(self) -> None:
        """End JupyterLab's kernels, those too that answer nothing (Voila ends its own when a page closes)."""
        for kernel in json.loads(self.request("GET", "api/kernels")):
            self.request("DELETE", f"api/kernels/{kernel['id']}")


@contextlib.contextmanager
def serving(kind: Literal["lab", "voila"], folder: Path, *more: str, token: bool = True) -> Iterator[Server]:
    """Start a server as `make lab` or `make dashboard` does, on a free port of this machine only, with a token.

    more: further options of a dashboard, which may have no token.
    """
    root = folder / "notebooks"
    root.mkdir(parents=True)
    word = secrets.token_hex(16) if token else ""
    server = Server(kind, f"http://127.0.0.1:{free_port()}", word, root, folder / f"{kind}.log")
    port = server.url.rpartition(":")[2]
    if kind == "lab":
        options = [
            "lab",
            "--no-browser",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={root}",
            f"--IdentityProvider.token={server.token}",
            "--LabApp.expose_app_in_browser=True",
        ]
    else:
        asked = [f"--token={server.token}"] if token else []
        options = ["dashboard", "--no-browser", f"--port={port}", *asked, *more, str(root)]
    home = private_home(folder / "home")
    # The programs for charts, which take two seconds to make, are kept where the user's other kernels find them, too.
    home["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    plain = Path(home["JUPYTER_DATA_DIR"], "kernels", "plain", "kernel.json")
    plain.parent.mkdir(parents=True)
    plain.write_text(json.dumps({"argv": PLAIN, "display_name": "Plain", "language": "python"}), encoding="utf-8")
    # Tests save by themselves: of two saves at once the second asks in a dialog what to do with the first.
    saving = Path(home["JUPYTERLAB_SETTINGS_DIR"], "@jupyterlab", "docmanager-extension", "plugin.jupyterlab-settings")
    saving.parent.mkdir(parents=True)
    saving.write_text(json.dumps({"autosave": False}), encoding="utf-8")
    with child([str(PROJECT / "tools" / "serve"), *options], env=home, cwd=root, log=server.log) as process:
        wait_until(server.answers, process, server.log, kind)
        yield server


def write_notebook(server: Server, name: str, *cells: str, heading: str = "", kernel: str = "python3") -> str:
    """Put a notebook with these code cells where the server finds it; return its path there.

    heading: the Markdown above them. kernel: or `plain`.
    """
    above = [nbformat.v4.new_markdown_cell(heading)] if heading else []
    notebook = nbformat.v4.new_notebook(cells=[*above, *map(nbformat.v4.new_code_cell, cells)])
    notebook.metadata["kernelspec"] = {"name": kernel, "display_name": kernel, "language": "python"}
    nbformat.write(notebook, server.root / name)
    return name


# ---- Chromium ----


def chromium_path() -> str | None:
    """Return the browser that WORKBENCH_CHROMIUM names, or the first found."""
    return subprocess.run(PROJECT / "tools" / "find_chromium", stdout=subprocess.PIPE, text=True).stdout.strip() or None


@contextlib.contextmanager
def chromium(executable: str, folder: Path) -> Iterator[str]:
    """Run a headless Chromium; yield the address at which Playwright can drive it.

    It is not started through Playwright, whose synchronous interface keeps an event loop running in the main thread
    for as long as it lives: other tests in this worker could then not use asyncio.
    """
    profile = folder / "profile"
    flags = [*CHROMIUM_FLAGS, f"--user-data-dir={profile}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    port_file, log = profile / "DevToolsActivePort", folder / "chromium.log"
    with child([executable, *flags, "about:blank"], env=private_home(folder / "home"), cwd=folder, log=log) as process:
        wait_until(lambda: port_file.exists() and "\n" in port_file.read_text(), process, log, "Chromium")
        yield f"http://127.0.0.1:{port_file.read_text().splitlines()[0]}"


@cache
def pages_of(browser: str) -> BrowserContext:
    """Return where the pages of the browser at that address are, driven by Playwright until `PLAYWRIGHT` is closed."""
    context = PLAYWRIGHT.enter_context(sync_playwright()).chromium.connect_over_cdp(browser).contexts[0]
    context.set_default_timeout(1000 * PATIENCE_S)
    expect.set_options(timeout=1000 * PATIENCE_S)
    return context


def close_pages(browser: str) -> None:
    """Close all pages of the browser at that address, whoever drives them: then what waits for one fails."""
    with urllib.request.urlopen(f"{browser}/json/list", timeout=STOP_S) as listed:
        pages = [each["id"] for each in json.load(listed) if each["type"] == "page"]
    for each in pages:
        urllib.request.urlopen(f"{browser}/json/close/{each}", timeout=STOP_S).close()


@dataclass
class Problems:
    """What a page did that it should not have; `allowed` are patterns of errors that a test provokes on purpose, what
    anywidget says of a page that needs more than two seconds to load a widget (widgets/parts/slow_page.js), and what
    JupyterLab's debugger, which asks something of every new kernel, says where the notebook is closed before.

    Requests to other machines are noted here and end in Chromium, which resolves no name and no address but ours: to
    hold each back until Playwright lets it go would switch off the cache.
    """

    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    allowed: list[str] = field(
        default_factory=lambda: ["Failed to initialize model", "Canceled future for debug_request"]
    )

    def watch(self, page: Page) -> None:
        for source, event, note in self._listeners(page):
            source.on(event, note)

    def leave(self, page: Page) -> None:
        for source, event, note in self._listeners(page):
            source.remove_listener(event, note)

    def _listeners(self, page: Page) -> Sequence[tuple[Any, str, Callable[..., None]]]:
        of_page = {"websocket": self._websocket, "pageerror": self._uncaught, "console": self._console}
        return [(page.context, "request", self._request), *((page, event, note) for event, note in of_page.items())]

    def _uncaught(self, error: Error) -> None:
        self.errors.append(f"uncaught: {error}")

    def _request(self, request: Request) -> None:
        if not LOCAL.match(request.url):
            self.outside.append(request.url)

    def _websocket(self, socket: WebSocket) -> None:
        if not LOCAL.match(socket.url):
            self.outside.append(socket.url)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" or (message.type == "warning" and message.text.startswith(("chart:", "WARN "))):
            self.errors.append(f"console: {message.text} ({message.location.get('url', '')[-80:]})")

    def check(self) -> None:
        assert not self.outside, f"the page asked for things outside this machine: {self.outside}"
        unexpected = [e for e in self.errors if not any(re.search(pattern, e) for pattern in self.allowed)]
        assert not unexpected, f"the page reported errors: {unexpected}"


# ---- what tests do ----


def answered(page: Page, script: str, arg: object = None, *, patience_s: float = PATIENCE_S) -> Any:
    """What JavaScript that waits for the kernel, the server or axe-core comes to; raises Error if it does not end."""
    return page.evaluate(ANSWERED.format(script=script.rstrip(";"), ms=round(1000 * patience_s)), arg)


def open_notebook(page: Page, server: Server, path: str) -> None:
    """Open a notebook: in JupyterLab with its kernel idle and nothing run yet; in Voila everything runs."""
    if server.kind == "lab" and page.url.startswith(server.url):
        answered(page, OPEN, path)
    else:
        page.goto(server.address(path), wait_until="commit")
    if server.kind == "lab":
        comes_true(page, "window.jupyterapp !== undefined")
        answered(page, "window.jupyterapp.restored.then(() => true)")
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
        comes_true(page, IDLE)
        page.evaluate("window.jupyterapp.shell.collapseLeft()")
        page.evaluate(LISTEN)
    else:
        page.wait_for_selector("#rendered_cells", state="visible")
        comes_true(page, f"!document.querySelector('{TO_COME}')")


def run_all_cells(page: Page) -> None:
    """Run all cells of the open notebook and wait until they are done; in Voila they run by themselves."""
    if page.evaluate("window.jupyterapp?.commands.hasCommand('notebook:run-all-cells') ?? false"):
        assert answered(page, "window.jupyterapp.commands.execute('notebook:run-all-cells')"), "a cell failed"


def run_notebook(page: Page, server: Server, name: str, *cells: str) -> None:
    """Write a notebook of these code cells, open it, and wait until all of it has run."""
    open_notebook(page, server, write_notebook(server, name, *cells))
    run_all_cells(page)


def solve_first(page: Page) -> None:
    """Press Solve in a lab that has just appeared, unless it opened solved, and wait until its run is done."""
    if not wait_for_text(page, STATUS, "not solved|Done").startswith("Done"):
        page.locator("button.wb-solve").first.click()
    wait_for_text(page, STATUS, r"Done: \d+ (rounds?|decisions?): ")


def soon(page: Page, holds: Callable[[], None]) -> None:
    """Repeat an assertion until it holds, for what a page does some time after it was asked to."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return holds()
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        page.wait_for_timeout(100)


def comes_true(page: Page, script: str, arg: object = None, why: str = "") -> None:
    """Wait until a JavaScript condition holds, asked now and then: at each frame, as usual, costs more than the page.

    So does Playwright's `expect` of an element that is not seen yet: at each try it puts the whole page into words.
    Wait for such an element with its `wait_for`.

    why: is said if it does not.
    """
    try:
        page.wait_for_function(script, arg=arg, polling=POLL_MS)
    except PlaywrightTimeout as late:
        raise AssertionError(why or script) from late


def status_after(page: Page, before: str) -> None:
    """Wait until a lab's status says something else than `before`."""
    comes_true(page, "([s, before]) => document.querySelector(s).innerText !== before", [STATUS, before])


def wait_for_text(page: Page, selector: str, pattern: str) -> str:
    """Wait until the element's text matches a regular expression; return the text."""
    try:
        comes_true(
            page,
            "([s, pattern]) => new RegExp(pattern, 's').test(document.querySelector(s)?.textContent ?? '')",
            [selector, pattern],
        )
    except AssertionError as late:
        found = page.locator(selector).all_text_contents()
        raise AssertionError(f"{selector} should say {pattern!r}, says {found}") from late
    return page.locator(selector).first.text_content() or ""


def open_page(page: Page, name: str) -> None:
    """Open one of the five pages of a lab."""
    page.locator(".wb-pages > .lm-TabBar .lm-TabBar-tab").get_by_text(name, exact=True).click()


def grab(page: Page, what: Locator, across: float = 0.5, down: float = 0.5, at: str = "") -> tuple[float, float]:
    """Press the pointer, at shares of its width and height, on what stands still; return where in the page that is.

    What the kernel tells meanwhile moves a slider from under the pointer: if its handle is not held, once more.

    at: a JavaScript function from the element to both shares, where only what is drawn tells them.
    """
    where = (0.0, 0.0)

    def held() -> None:
        nonlocal where, across, down
        page.mouse.up()
        across, down = told = what.evaluate(at) if at else (across, down)
        box = what.bounding_box()
        assert box is not None
        what.hover(position={"x": across * box["width"], "y": down * box["height"]})
        box = what.bounding_box()
        assert box is not None
        where = (box["x"] + across * box["width"], box["y"] + down * box["height"])
        page.mouse.move(*where)
        page.mouse.down()
        assert what.evaluate(HELD) and (not at or what.evaluate(at) == told)

    soon(page, held)
    return where


def use_theme(page: Page, name: Literal["Dark", "Light"]) -> None:
    """Change JupyterLab's theme and wait until its splash is gone: of two splashes the second to fade fails."""
    theme = f"JupyterLab {name}"
    answered(page, "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    comes_true(page, THEMED, theme)


def see_chart(page: Page, chart: str, view: str, label: str) -> None:
    """Choose a chart of a lab's page Measures and see it drawn.

    view: the class of the chart after `wb-view-`; label: what its description for a screen reader says.
    """
    open_page(page, "Measures")
    lists = page.locator(".wb-chart-which:visible")
    lists.locator("option").get_by_text(chart, exact=True).wait_for(state="attached")  # a new run has a list of its own
    lists.locator("select").select_option(label=chart)
    page.locator(f".wb-view-{view}").wait_for()
    drawn(page, view, label)
    page.locator(f".wb-view-{view} canvas").scroll_into_view_if_needed()


def drawn(page: Page, view: str, label: str) -> None:
    """See a chart drawn: rows, and more on the canvas than one colour. Arguments as for `see_chart`."""
    comes_true(page, DRAWN, f".wb-view-{view}")
    chart = page.locator(f".wb-view-{view}")
    expect(chart.locator("[role=figure]")).to_have_attribute("aria-label", re.compile(label))
    expect(chart.locator(".wb-error-note")).to_be_hidden()


def shot(page: Page, name: str) -> None:
    """Keep a picture of the page for people to look at, if WORKBENCH_SHOTS names a folder."""
    if folder := os.environ.get("WORKBENCH_SHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.bring_to_front()  # of a page in the background there is none
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


# ---- fixtures and hooks ----


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Let go of Playwright before a test that drives no browser."""
    if nextitem is None or nextitem.get_closest_marker("browser") is None:
        PLAYWRIGHT.close()
        pages_of.cache_clear()


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return the JupyterLab of this run."""
    with serving("lab", tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="session")
def voila_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return the Voila of this run."""
    with serving("voila", tmp_path_factory.mktemp("voila"), "--kernels=100") as server:
        yield server


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of the Chromium of this run."""
    executable = chromium_path()
    if executable is None:
        reason = "no Chromium: set WORKBENCH_CHROMIUM or put chromium on PATH (tools/find_chromium --install)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with chromium(executable, tmp_path_factory.mktemp("chromium")) as address:
        yield address


@pytest.fixture
def problems() -> Problems:
    """Return the record of what the page should not have done, checked at the end of the test."""
    return Problems()


@pytest.fixture
def page(browser: str, problems: Problems, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Return an empty page as wide as a small laptop; for JupyterLab the one that a test before has left open there."""
    lab: Server | None = request.getfixturevalue("lab_server") if "lab_server" in request.fixturenames else None
    failed_before = request.session.testsfailed
    context = pages_of(browser)
    of_lab = (each for each in context.pages if lab and each.url.startswith(lab.url))
    opened = next(of_lab, None) or context.new_page()
    stay = set(context.pages) - {opened}
    opened.bring_to_front()
    opened.set_viewport_size({"width": SCREEN[0], "height": SCREEN[1]})
    problems.watch(opened)
    late = threading.Timer(LONGEST_S, close_pages, [browser])
    late.start()
    try:
        yield opened
        shot(opened, re.sub(r"\W+", "-", request.node.name).strip("-"))
    finally:
        late.cancel()
        try:
            if lab and request.session.testsfailed == failed_before:
                opened.evaluate(CLOSE)
                stay.add(opened)
            if lab:
                lab.stop_kernels()
        finally:
            problems.leave(opened)
            for each in set(context.pages) - stay:
                each.close()
    problems.check()
